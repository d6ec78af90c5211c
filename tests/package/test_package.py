"""The package as installed: its version, facts about the build, what an import costs, and that it is enough."""

from __future__ import annotations

import ast
import importlib.metadata
import json
import os
import pickle
import pkgutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

import pypgm
from pypgm.files.stored_model import READERS
from pypgm.reconstruction.weighted_records import WeightedRecords

INIT = Path(pypgm.__file__)
HERE = f"import sys; sys.path.insert(0, {str(INIT.parents[1])!r}); import pypgm\n"
MODULES = [m.name for m in pkgutil.iter_modules(pypgm.__path__) if not m.name.startswith("_")]


def test_version_is_the_one_of_the_metadata():
    assert pypgm.__version__ == importlib.metadata.version("pypgm")
    assert pypgm.build_info()["version"] == pypgm.__version__


def test_one_version_and_one_licence_are_stated():
    about = importlib.metadata.metadata("pypgm")
    assert about["License-Expression"] == "Apache-2.0"
    assert {"LICENSE", "LICENSES_bundled.txt"} <= set(about.get_all("License-File"))
    root = Path(__file__).parents[2]
    citation = (root / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    assert {f"version: {pypgm.__version__}", "license: Apache-2.0"} <= set(citation)
    newest = (root / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ", 1)[1]
    assert newest.startswith(pypgm.__version__)


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


def said(program, *arguments):
    """Run a program that has imported the package alone, and return the words it prints."""
    command = [sys.executable, "-I", "-c", HERE + program, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def test_import_takes_what_is_used():
    loaded = "print(*(m for m in sys.modules if m.startswith('pypgm') or m in {'numpy', 'scipy', 'networkx'}))"
    assert set(said(loaded)) == {"pypgm", "pypgm._base", "pypgm._base.lazy", "pypgm._base.waiting", "pypgm._core"}


def test_all_names_leave_heavy_packages_alone():
    imported = set(said("from pypgm import *\nprint(*sys.modules)"))
    assert {"pypgm.mechanisms", "pypgm.bayes", "pypgm.release"} <= imported
    heavy = {"matplotlib", "scipy", "networkx", "pandas", "polars", "pyarrow", "narwhals", "duckdb", "ibis"}
    # A mebibyte each and more, and of use in few calls; numpy.random brings `secrets` with it.
    heavy |= {"numpy.ma", "numpy.random", "secrets", "hashlib", "concurrent.futures", "logging", "http"}
    # NumPy before 2 brings some of them itself.
    assert imported & heavy <= set(said("import numpy\nprint(*sys.modules)"))


def test_an_estimate_of_partitions_leaves_scipy_alone():
    program = """
import numpy as np
query = pypgm.queries.Partition([0, 0, 1, 1, 2, 2])
measurement = pypgm.LinearMeasurement([3.0, 4.0, 5.0], ("a", "b"), query=query)
pypgm.estimate(pypgm.Domain({"a": 2, "b": 3}), [measurement])
print(*sys.modules)
"""
    assert "scipy" not in said(program)


LAZY = [pypgm, pypgm.bayes, pypgm.data, pypgm.data.draft, pypgm.inference, pypgm.intervals, pypgm.mechanisms]


@pytest.mark.parametrize("package", [*LAZY, pypgm.privacy, pypgm.reconstruction], ids=lambda package: package.__name__)
def test_names_for_type_checkers_are_those_that_are_imported(package):
    stub = ast.parse(Path(package.__file__).with_suffix(".pyi").read_text())
    listed = [(alias.name, alias.asname, node.level) for node in stub.body for alias in node.names]
    assert [(name, name) for name, _, _ in listed] == [(name, exported) for name, exported, _ in listed]
    assert dir(package) == sorted(name for name, _, _ in listed)
    assert len(set(dir(package))) == len(listed)
    assert package.__all__ == [name for name, _, level in listed if not level]
    assert all(hasattr(package, name) for name in dir(package))


def test_a_release_of_a_file_takes_what_it_uses(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c\n" + "0,1,1\n1,0,1\n" * 50)
    program = """
domain = pypgm.Domain({"a": 2, "b": 2, "c": 2})
release = pypgm.synthesize(sys.argv[1], domain, epsilon=1, delta=1e-9)
release.write(sys.argv[2])
print(release.report and "", *sys.modules)
"""
    loaded = set(said(program, tmp_path / "t.csv", tmp_path / "synthetic.csv"))
    assert {"pypgm.data.sources.table", "pypgm.mechanisms._wide", "pypgm.privacy.private_table"} <= loaded
    of_others = {"data.sources.engine", "data.sources.streamed", "data.draft.warnings", "privacy.settling"}
    of_others |= {"inference.oracles", "intervals.known", "reconstruction.weights", "files.record_parts"}
    assert not loaded & {f"pypgm.{name}" for name in of_others}


def test_a_network_takes_what_it_uses():
    loaded = set(said("pypgm.bayes.BayesianNetwork\nprint(*sys.modules)"))
    assert not loaded & {"pypgm.bayes.private_learning", "pypgm.privacy", "pypgm.reconstruction", "pypgm.models"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process a module, made from one that has the package alone")
def test_names_are_found_after_an_import_of_the_package_alone():
    # What one module imports would hide what another lacks.
    names = {m: [n for n, home in pypgm._HOMES.items() if m in {home.removeprefix("pypgm."), n}] for m in MODULES}
    program = """
import json, os, traceback
for first, names in json.loads(sys.argv[1]).items():
    child = os.fork()
    if not child:
        try:
            for name in names:
                assert getattr(pypgm, name).__doc__, name
            module = getattr(pypgm, first)
            assert all(hasattr(module, name) for name in getattr(module, "__all__", []))
            assert module.__name__ == f"pypgm.{first}"
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        print(first)
"""
    assert said(program, json.dumps(names)) == []


def test_what_is_no_name_is_refused():
    with pytest.raises(AttributeError, match="module 'pypgm' has no attribute 'bayesian'"):
        pypgm.bayesian  # noqa: B018 - asked for its error
    assert not hasattr(pypgm, "np")


def whole_kinds():
    """Return a model or a release of each kind that files hold, by the names of their classes."""
    data = pypgm.Dataset({"a": [0, 1] * 50, "b": [1, 0] * 50}, pypgm.Domain({"a": 2, "b": 2}))
    measured = [pypgm.LinearMeasurement([[30.0, 20], [25, 25]], ("a", "b"), stddev=2.0)]
    made = [
        pypgm.estimate(data.domain, measured),
        pypgm.estimate(data.domain, measured, oracle="region_graph"),
        WeightedRecords(data),
        pypgm.mechanisms.mst(data, epsilon=1, delta=1e-6),
        pypgm.bayes.learn_private(data, [("a", "b")], 1),
        pypgm.mrf.learn_ising(data, radius=1.0, epsilon=1, delta=1e-6, steps=2),
    ]
    return [*made, made[-2].model, made[-1].model]


def described(thing):
    return [type(thing).__name__, type(getattr(thing, "model", thing)).__name__]


def test_a_file_and_a_pickle_import_what_their_kind_needs(tmp_path):
    kinds = whole_kinds()
    assert {model.archive()["kind"] for model in kinds} == set(READERS)
    assert {type(thing).__name__ for thing in kinds} >= {"NetworkRelease", "FieldRelease"}
    for thing in kinds:
        thing.save(tmp_path / "whole.pgm")
        (tmp_path / "pickled").write_bytes(pickle.dumps(thing))
        tell = "print(type(thing).__name__, type(getattr(thing, 'model', thing)).__name__)"
        assert said(f"thing = pypgm.load(sys.argv[1])\n{tell}", tmp_path / "whole.pgm") == described(thing)
        loaded = f"import pickle\nthing = pickle.load(open(sys.argv[1], 'rb'))\n{tell}"
        assert said(loaded, tmp_path / "pickled") == described(thing)


def test_threads_may_use_names_first_at_the_same_time():
    program = """
import threading
names = ["estimate", "mechanisms", "load", "data", "Budget"]
start, failed = threading.Barrier(len(names)), []
def look(name):
    start.wait()
    try:
        thing = getattr(pypgm, name)
        name == "mechanisms" and thing.mst
    except Exception as error:
        failed.append(error)
threads = [threading.Thread(target=look, args=(name,)) for name in names]
[t.start() for t in threads]
[t.join() for t in threads]
print(len(failed), hasattr(pypgm.bayes, "a.b"))
"""
    assert [said(program) for _ in range(3)] == [["0", "False"]] * 3


def test_a_module_may_be_imported_and_looked_up_at_the_same_time():
    program = """
import threading
start, done = threading.Barrier(2), []
def imported():
    start.wait()
    import pypgm.audit
    done.append(1)
def looked_up():
    start.wait()
    done.append(pypgm.audit.check)
threads = [threading.Thread(target=f, daemon=True) for f in (imported, looked_up)]
[t.start() for t in threads]
[t.join(30) for t in threads]
print(len(done))
"""
    assert [said(program) for _ in range(3)] == [["2"]] * 3
