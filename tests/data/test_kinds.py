"""A value of the wrong kind is refused with what was needed and how to make it."""

from __future__ import annotations

import numpy as np
import pytest

import pypgm

DOMAIN = pypgm.Domain({"a": 2, "b": 2})
MEASURED = pypgm.LinearMeasurement([1.0, 2.0], "a")
BUDGET = {"epsilon": 1, "delta": 1e-9}
DICT = {"a": 2, "b": 2}
NO_DOMAIN = r"domain needs a pypgm.Domain, got dict: pypgm.Domain\(.*\) makes one"
NO_DATA = r"data needs a pypgm.Dataset, got (str|dict): mechanisms take frames and files with schema="
NO_VECTOR = r"potentials needs a pypgm.CliqueVector, got \w+: pypgm.CliqueVector\("

REFUSED = {
    "estimate: domain": (lambda: pypgm.estimate(DICT, [MEASURED]), NO_DOMAIN),
    "estimate: tuple": (
        lambda: pypgm.estimate(DOMAIN, [MEASURED, ([1, 2], "a")]),
        r"measurements\[1\] needs a pypgm.LinearMeasurement, got tuple: pypgm.LinearMeasurement\(",
    ),
    "estimate: one": (lambda: pypgm.estimate(DOMAIN, MEASURED), "needs a sequence of pypgm.LinearMeasurement, got one"),
    "estimate: oracle": (
        lambda: pypgm.estimate(DOMAIN, [MEASURED], oracle=np.array(["exact", "region_graph"])),
        "oracle must be 'exact', 'region_graph', 'factor_graph' or a pypgm.RegionGraph, got ndarray",
    ),
    "estimate: no oracle": (lambda: pypgm.estimate(DOMAIN, [MEASURED], oracle=None), "oracle must be .* got NoneType"),
    "estimate: rng": (
        lambda: pypgm.estimate(DOMAIN, [MEASURED], rng=1.5),
        r"rng must be a whole number of at least 0, a numpy.random.Generator or None, got 1\.5",
    ),
    "estimate: rng of an optimum": (
        lambda: pypgm.estimate(DOMAIN, [MEASURED], rng="x", stop="optimum"),
        "rng must be a whole number of at least 0",
    ),
    "tree": (lambda: pypgm.JunctionTree(DICT, ["a"]), NO_DOMAIN),
    "vector": (lambda: pypgm.CliqueVector(DICT, ["a"]), NO_DOMAIN),
    "factor": (lambda: pypgm.Factor(DICT, [1, 2]), NO_DOMAIN),
    "dataset": (lambda: pypgm.Dataset({"a": [0], "b": [1]}, DICT), NO_DOMAIN),
    "regions": (lambda: pypgm.RegionGraph.saturated(DICT, ["a"]), NO_DOMAIN),
    "marginals": (lambda: pypgm.marginals(np.zeros(2)), NO_VECTOR),
    "elimination": (lambda: pypgm.variable_elimination(np.zeros(2), "a"), NO_VECTOR),
    "model": (lambda: pypgm.GraphicalModel({"a": 1}, 3), NO_VECTOR),
    "clique: mapping": (
        lambda: pypgm.GraphicalModel(pypgm.CliqueVector(DOMAIN, ["a"]), 3).project({"a": 1}),
        r"a clique needs an attribute or a sequence of attributes, got \{'a': 1\}",
    ),
    "clique: number": (lambda: pypgm.CliqueVector(DOMAIN, [3]), "sequence of attributes, got 3"),
    "cliques: string": (
        lambda: pypgm.GraphicalModel(pypgm.CliqueVector(DOMAIN, ["a"]), 3).project_many("ab"),
        "several cliques need a list, got the string 'ab'",
    ),
    "evidence: list": (
        lambda: pypgm.GraphicalModel(pypgm.CliqueVector(DOMAIN, ["a"]), 3).project("a", ["b"]),
        "evidence needs a mapping of attribute to value, got list",
    ),
    "clique: two strings": (
        lambda: pypgm.GraphicalModel(pypgm.CliqueVector(DOMAIN, ["a"]), 3).project("a", "b"),
        "got the text 'b'; a clique of several attributes is one tuple of names",
    ),
    "mst: path": (lambda: pypgm.mechanisms.mst("people.csv", **BUDGET), NO_DATA),
    "mst: dict": (lambda: pypgm.mechanisms.mst({"a": [0, 1]}, **BUDGET), NO_DATA),
    "evaluate": (
        lambda: pypgm.evaluate("people.csv", "model.pgm", cliques=["a"]),
        "a must be a model, a release, a Dataset, .* got str",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_kinds_are_refused(name):
    call, message = REFUSED[name]
    with pytest.raises(TypeError, match=message):
        call()


def test_measurements_come_in_any_iterable():
    wanted = pypgm.estimate(DOMAIN, [MEASURED], total=3.0).project("a").values
    found = pypgm.estimate(DOMAIN, (m for m in [MEASURED]), total=3.0).project("a").values
    np.testing.assert_array_equal(found, wanted)
    assert pypgm.estimate(DOMAIN, iter([MEASURED])).total == 3.0


def test_an_answer_with_too_many_axes_is_refused():
    domain = pypgm.Domain({f"x{i}": 2 for i in range(40)})
    model = pypgm.GraphicalModel(pypgm.CliqueVector(domain, [(a,) for a in domain]), 3)
    with pytest.raises(ValueError, match="an axis for each attribute, 32 at most, got a query on 40"):
        model.answer(pypgm.KroneckerQuery({a: [[1, 1]] for a in domain}))
