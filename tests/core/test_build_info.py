"""PYPGM_ISA: every instruction set of the machine gives the same marginals, any other name is a clean error."""

import os
import subprocess
import sys

import numpy as np
import pytest

SETS = ["baseline", "avx2", "avx512"]

MARGINALS = """
import itertools, sys
import numpy as np, pypgm
domain = pypgm.Domain({f"x{i}": 3 + i for i in range(6)})
cliques = list(itertools.combinations(domain.attributes, 2))[::2]
rng = np.random.default_rng(0)
cells = sum(domain.size(c) for c in cliques)
found = pypgm.marginals(pypgm.CliqueVector(domain, cliques, rng.normal(0, 3, cells)), 1.0)
print(pypgm._core.build_info()["instruction_set"])
print(*(x.hex() for x in found.values.tolist()))
"""


def run(isa, folder):
    environment = os.environ | {"PYPGM_ISA": isa}
    return subprocess.run(
        [sys.executable, "-c", MARGINALS], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_every_instruction_set_gives_the_same_marginals(tmp_path):
    tables = []
    for isa in SETS:
        found = run(isa, tmp_path)
        if found.returncode != 0:
            assert isa != "baseline", found.stderr
            assert f"an instruction set of this machine, up to {SETS[len(tables) - 1]}, got {isa}" in found.stderr
            break
        used, values = found.stdout.splitlines()
        assert isa in used.lower().replace("-", "")
        tables.append(np.array([float.fromhex(x) for x in values.split()]))
    for table in tables[1:]:
        np.testing.assert_allclose(table, tables[0], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("isa", ["avx1024", "AVX2 "])
def test_an_unknown_instruction_set_is_an_import_error(isa, tmp_path):
    found = run(isa, tmp_path)
    assert found.returncode == 1
    assert "ImportError: PYPGM_ISA needs to be an instruction set of this machine" in found.stderr
