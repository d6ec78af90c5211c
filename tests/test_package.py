"""The package as installed: its version, facts about the build, and what an import costs."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from importlib.resources import files

import pytest

import pypgm


def test_version_is_the_one_of_the_metadata():
    assert pypgm.__version__ == importlib.metadata.version("pypgm")
    assert pypgm.build_info()["version"] == pypgm.__version__


def test_build_info_tells_compiler_instruction_set_openmp_and_threads():
    info = pypgm.build_info()
    assert info["instruction_set"] in {"baseline", "avx2", "avx512"}
    assert isinstance(info["compiler"], str)
    assert info["compiler"]
    assert info["openmp"] >= 0
    assert info["threads"] >= 1
    if info["openmp"] == 0:
        assert info["threads"] == 1


@pytest.mark.parametrize("name", pypgm.__all__)
def test_every_public_name_exists_and_is_documented(name):
    assert getattr(pypgm, name).__doc__


def test_public_names_are_sorted_and_unique():
    assert sorted(set(pypgm.__all__)) == sorted(pypgm.__all__)


def test_package_is_typed():
    assert files("pypgm").joinpath("py.typed").is_file()


def test_import_leaves_heavy_packages_alone():
    # -I: the child sees the installed package, never the source tree it may be started in.
    program = "import sys, pypgm; print(*sorted(sys.modules), sep='\\n')"
    done = subprocess.run([sys.executable, "-I", "-c", program], check=True, capture_output=True, text=True)
    imported = set(done.stdout.split())
    assert "pypgm" in imported
    assert not imported & {"matplotlib", "scipy", "networkx"}


def test_a_file_imports_the_package_that_its_model_is_of(tmp_path):
    data = pypgm.Dataset({"a": [0, 1] * 50, "b": [1, 0] * 50}, pypgm.Domain({"a": 2, "b": 2}))
    pypgm.bayes.learn_private(data, [("a", "b")], 1).save(tmp_path / "network.pgm")
    pypgm.mrf.learn_ising(data, 1.0, 1, 1e-6, steps=2).save(tmp_path / "field.pgm")
    code = """
import sys, pypgm
packages = {"pypgm.bayes", "pypgm.mrf", "pypgm.mechanisms", "pypgm.reconstruction"}
print(sorted(packages & set(sys.modules)))
for path in sys.argv[1:]:
    release = pypgm.load(path)
    print(type(release).__name__, type(release.model).__name__)
"""
    paths = [str(tmp_path / name) for name in ("network.pgm", "field.pgm")]
    told = subprocess.run([sys.executable, "-I", "-c", code, *paths], check=True, capture_output=True, text=True).stdout
    assert told.splitlines() == ["[]", "NetworkRelease CountedNetwork", "FieldRelease MarkovRandomField"]
    with pytest.raises(AttributeError, match="module 'pypgm' has no attribute 'bayesian'"):
        pypgm.bayesian  # noqa: B018 - asked for its error
    assert {"bayes", "mechanisms", "mrf", "reconstruction"} <= set(dir(pypgm))
