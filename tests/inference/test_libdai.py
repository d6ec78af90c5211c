"""Factor graphs of libDAI, a program of others: its exact marginals, and the graphs that once broke its own MAP."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from libdai import read_fg

from pypgm import CliqueVector, JunctionTree, variable_elimination

GRAPHS = ["testfast", "alarm", "hoi1", "hoi2", "hoi3", "hoi4", "jtreemapbug", "maxprodbug", "twofactors", "zeroes1"]


@pytest.mark.parametrize("name", GRAPHS)
def test_exact_marginals(data_dir, name):
    known = json.loads((data_dir / "libdai" / "exact_marginals.json").read_text())[name]
    potentials = read_fg(data_dir / "libdai" / f"{name}.fg")
    assert len(potentials.domain) == known["nvars"]
    assert len(potentials.cliques) == known["nfactors"]
    # A table of zeros over each attribute asks for its marginal.
    singles = CliqueVector(potentials.domain, [(a,) for a in potentials.domain])
    asked = CliqueVector(
        potentials.domain, [*potentials.cliques, *singles.cliques], np.concatenate([potentials.values, singles.values])
    )
    tree = JunctionTree(asked.domain, asked.cliques)
    assert tree.log_partition(asked) == pytest.approx(known["lnZ"], rel=1e-12, abs=1e-12)
    found = tree.marginals(asked)
    assert set(potentials.domain) == set(known["marginals"])
    for attribute, probabilities in known["marginals"].items():
        np.testing.assert_allclose(found.project(attribute).values, probabilities, rtol=0, atol=1e-13)
        eliminated = variable_elimination(potentials, attribute).values
        np.testing.assert_allclose(eliminated, probabilities, rtol=0, atol=1e-13)


def test_printed_marginals(data_dir):
    """What libDAI prints of its exact method, to its four digits."""
    text = (data_dir / "libdai" / "testfast.out").read_text()
    block = text[text.index("EXACT") :].splitlines()[1:17]
    potentials = read_fg(data_dir / "libdai" / "testfast.fg")
    for line in block:
        name, printed = re.fullmatch(r"# \(\{x(\d+)\}, \((.*)\)\)\s*", line).groups()
        found = variable_elimination(potentials, name).values
        assert [f"{p:.3e}" for p in found] == printed.split(", ")


def test_first_attribute_of_a_table_varies_fastest(tmp_path):
    path = tmp_path / "two.fg"
    path.write_text("# a comment\n1\n\n2\n1 0\n2 3\n3\n1 5\n2 7\n0 1\n")
    potentials = read_fg(path)
    table = np.exp(potentials["1", "0"].values)
    np.testing.assert_allclose(table, [[1, 7, 0], [5, 0, 0]], rtol=1e-15)
