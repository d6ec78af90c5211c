"""Models of both kinds have the same methods, and the same answers where both are exact."""

from __future__ import annotations

import inspect
import itertools

import numpy as np
import pytest

import pypgm
from pypgm import (
    CliqueVector,
    Constraint,
    Domain,
    GraphicalModel,
    KroneckerQuery,
    LinearMeasurement,
    RegionGraph,
    queries,
)
from pypgm import RegionGraphModel as Regions

DOMAIN = Domain({"a": 3, "b": ["x", "y"], "c": [1.0, 2.0, 5.0], "d": 2})
CLIQUES = [("a", "b"), ("b", "c"), ("c", "d")]
TOTAL = 600.0
EVIDENCE = {"b": "y", "d": np.array([0.5, 2.0])}
OWN = {GraphicalModel: {"tree"}, Regions: {"graph", "bounded_tree", "tree_cells"}}
MEASURED = [LinearMeasurement(np.arange(1.0, 1 + DOMAIN.size(c)) * 20, c, 8.0) for c in CLIQUES]
RULES = [Constraint(("a", "b"), forbidden=[(0, "y")]), Constraint(("c", "d"), mapping=[0, 1, 1])]


def pair():
    """Return the same distribution as a model of either kind."""
    rng = np.random.default_rng(0)
    potentials = CliqueVector(DOMAIN, CLIQUES, rng.normal(size=sum(map(DOMAIN.size, CLIQUES))))
    potentials["a", "b"].datavector()[1] = -np.inf
    tree = GraphicalModel(potentials, TOTAL)
    graph = RegionGraph.junction_tree(DOMAIN, CLIQUES)
    marginals = CliqueVector.from_factors(DOMAIN, tree.project_many(graph.regions))
    return tree, Regions(graph, marginals, TOTAL)


PAIR = pair()
BOTH = pytest.mark.parametrize("model", PAIR, ids=lambda m: type(m).__name__)
ESTIMATED = [
    pypgm.estimate(DOMAIN, MEASURED, oracle=o, constraints=RULES, stop="optimum") for o in ("exact", "region_graph")
]


def surface(kind):
    return {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}


def test_both_have_the_same_attributes_and_signatures():
    public = [{n for n in {*dir(m), *vars(m)} if not n.startswith("_")} - OWN[type(m)] for m in PAIR]
    assert public[0] == public[1]
    methods = [{n: f for n, f in surface(type(m)).items() if inspect.isfunction(f)} for m in PAIR]
    assert (
        methods[0].keys()
        == methods[1].keys()
        >= {
            *(
                "project",
                "project_many",
                "query",
                "answer",
                "expectation",
                "standard_error",
                "standard_error_many",
                "save",
            ),
            *("map", "log_partition", "log_probability", "synthetic_data", "archive"),
        }
    )
    for name, method in methods[0].items():
        assert inspect.signature(method) == inspect.signature(methods[1][name]), name
    for name in ("query", "answer", "project", "project_many", "synthetic_data", "standard_error"):
        assert {"time_limit", "progress"} <= inspect.signature(methods[0][name]).parameters.keys()


def test_likelihoods_may_be_small():
    tiny = {"b": pypgm.Likelihood([1e-200, 2e-200]), "c": pypgm.Likelihood([3e-300, 0, 1e-300])}
    wanted = {"b": pypgm.Likelihood([1, 2]), "c": pypgm.Likelihood([3, 0, 1])}
    for model in PAIR:
        np.testing.assert_allclose(model.project("a", tiny).values, model.project("a", wanted).values, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_likelihoods_of_an_attribute_and_what_follows_from_it_may_be_far_from_1(scale):
    domain = pypgm.Domain({"zip": 4, "state": 2})
    mapping = [pypgm.Constraint(("zip", "state"), mapping=[0, 0, 1, 1])]
    answers = [pypgm.LinearMeasurement([10.0, 20, 30, 40], "zip")]
    given = {"zip": pypgm.Likelihood([scale, scale, scale, 3 * scale]), "state": pypgm.Likelihood([scale, 2 * scale])}
    for oracle in ("exact", "region_graph"):
        model = pypgm.estimate(domain, answers, 100.0, constraints=mapping, stop="optimum", oracle=oracle)
        found = model.query("zip", given)
        np.testing.assert_allclose(found.values, np.array([10, 20, 60, 240]) / 330, rtol=1e-4)
        wanted = np.log(3.3) + 2 * np.log(scale)
        assert model.log_probability(given) == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize("evidence", [None, EVIDENCE, {"a": range(1, 3)}, {"c": pypgm.Likelihood([1, 0, 3])}])
def test_both_answer_alike(evidence):
    cliques = [c for n in range(4) for c in itertools.permutations(DOMAIN.attributes, n)]
    for clique, *tables in zip(cliques, *(m.project_many(cliques, evidence, n_threads=1) for m in PAIR), strict=True):
        np.testing.assert_allclose(tables[0].values, tables[1].values, atol=1e-6 * TOTAL)
        assert [t.domain.attributes for t in tables] == [clique] * 2
        np.testing.assert_array_equal(PAIR[1].project(clique, evidence).values, tables[1].values)
    asked = KroneckerQuery({"c": queries.Prefix(3), "a": [[1, -1, 2]]})
    wanted = [asked, KroneckerQuery({})]
    calls = {
        "query": lambda m: m.query(("d", "a"), evidence, time_limit=1e6).values,
        "answer": lambda m: m.answer(asked, evidence, time_limit=1e6),
        "answers": lambda m: np.concatenate([x.reshape(-1) for x in m.answer(wanted, evidence)]),
        "expectation": lambda m: m.expectation("c", "a", evidence=evidence).values,
        "log_partition": lambda m: m.log_partition(evidence) - m.log_partition(),
        "log_probability": lambda m: m.log_probability(evidence) if evidence else 0.0,
        "map": lambda m: m.map(evidence)[1] - m.log_partition(),
    }
    for name, call in calls.items():
        np.testing.assert_allclose(*map(call, PAIR), atol=1e-6 * TOTAL, rtol=1e-6, err_msg=name)
    assert PAIR[0].map(evidence)[0] == PAIR[1].map(evidence)[0]
    assert PAIR[1].log_partition() == pytest.approx(0, abs=1e-9)


@BOTH
@pytest.mark.parametrize("evidence", [{"b": "y"}, {"a": 2, "d": [1]}, {"c": np.array([0.0, 1, 3])}])
def test_records_given_evidence(model, evidence):
    records = model.synthetic_data(500, rng=0, evidence=evidence)
    for clique in [*CLIQUES, ("a", "d")]:
        wanted = 500 / TOTAL * model.project(clique, evidence).values
        np.testing.assert_allclose(records.project(clique).values, wanted, atol=8)
        assert not records.project(clique).values[wanted == 0].any()
    with pytest.raises(pypgm.ImpossibleEvidenceError):
        model.synthetic_data(5, evidence={"a": 0, "b": "y"})


LIMITED = {
    "query": lambda model: model.query(("b", "d"), time_limit=1e-9),
    "answer": lambda model: model.answer(KroneckerQuery({"b": [[1, 2]], "d": [[1, 2]]}), time_limit=1e-9),
}


@pytest.mark.parametrize("name", LIMITED)
def test_time_limits(name):
    tree, regions = PAIR
    with pytest.raises(TimeoutError, match="time_limit=1e-09"):
        LIMITED[name](tree)
    fresh = Regions(regions.graph, regions.marginals, TOTAL)  # its tree is not made yet
    with pytest.warns(pypgm.errors.TimeLimitWarning) as caught:
        LIMITED[name](fresh)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("model", ESTIMATED, ids=["tree", "regions"])
def test_constraints_hold_and_are_told(model, tmp_path):
    assert model.project(("b", "a")).values[1, 0] == 0
    np.testing.assert_array_equal(model.project(("c", "d")).values == 0, [[False, True], [True, False], [True, False]])
    assert model.domain == DOMAIN
    records = model.synthetic_data(300, rng=0)
    assert records.project(("a", "b")).values[0, 1] == 0
    np.testing.assert_array_equal(records.columns["d"], records.columns["c"] > 0)
    assert model.map({"a": 0})[0]["b"] == "x"
    found = {c.clique: c for c in model.constraints}
    assert found.keys() == {("a", "b"), ("c", "d")}
    assert found["c", "d"].codes(DOMAIN).tolist() == [0, 1, 1]
    assert found["a", "b"].mask(DOMAIN).tolist() == [True, False, True, True, True, True]
    model.save(tmp_path / "m.pgm")
    again = pypgm.load(tmp_path / "m.pgm")
    assert repr(again.constraints) == repr(model.constraints)
    for m in (model, again):
        assert m.standard_error(("a", "b"), draws=4).values[0, 1] == 0
    np.testing.assert_array_equal(again.project(("b", "d")).values, model.project(("b", "d")).values)


def test_estimates_under_constraints_agree():
    tree, regions = ESTIMATED
    for clique in [*CLIQUES, ("a", "d"), "d"]:
        np.testing.assert_allclose(tree.project(clique).values, regions.project(clique).values, atol=0.02 * tree.total)
    errors = [m.standard_error("b", draws=40).values for m in ESTIMATED]
    np.testing.assert_allclose(*errors, rtol=0.4)


@BOTH
def test_levels_of_impossible_values_do_not_count(model):
    for level in (np.inf, -np.inf, np.nan):
        assert model.expectation("b", levels=[1, level], evidence={"b": "x"}).values == pytest.approx(1.0)
        means = model.expectation("b", "a", levels=[level, 2.0]).values  # with a = 0 the value y is impossible
        np.testing.assert_array_equal(means, [level] * 3)
        np.testing.assert_allclose(model.expectation("b", "a", levels=[3.0, level]).values, [3.0, level, level])
    assert np.isnan(model.expectation("b", levels=[np.inf, -np.inf]).values)


@BOTH
def test_levels_are_real_numbers(model):
    for levels in (np.array([1j, 2]), np.ma.array([1.0, 2.0], mask=[1, 0])):
        with pytest.raises(TypeError, match="levels must be real numbers"):
            model.expectation("b", levels=levels)


@BOTH
def test_unknown_ways_to_answer_are_refused(model):
    other = "combined" if model.is_exact else "exact"
    for call in (model.project, lambda c, **o: model.project_many([c], **o)):
        with pytest.raises(ValueError, match=f"got '{other}'"):
            call("a", method=other)
    with pytest.raises(ValueError, match="does not hold the measurements"):
        model.standard_error("a")


@BOTH
@pytest.mark.parametrize("evidence", [None, EVIDENCE, {"c": pypgm.Likelihood([1, 0, 3])}])
def test_any_oracle_answers_what_rests_on_all_assignments(model, evidence):
    """Tables of a tree leave an approximation nothing to be wrong about, but for the noise of draws."""
    log_z, (values, log_weight) = model.log_partition(evidence), model.map(evidence)
    for oracle in ("exact", "region_graph", "sampling", "auto"):
        assert model.log_partition(evidence, oracle=oracle) == pytest.approx(log_z, abs=1e-5)
        if evidence:
            wanted = model.log_probability(evidence)
            assert model.log_probability(evidence, oracle=oracle) == pytest.approx(wanted, abs=2e-5)
    assert model.map(evidence, oracle="auto") == (values, log_weight)
    for ask, other in itertools.product((model.log_partition, model.map), ("other", None, ["exact"])):
        with pytest.raises(ValueError, match="oracle must be one of"):
            ask(evidence, oracle=other)
    with pytest.raises(ValueError, match="oracle must be one of"):
        model.map(evidence, oracle="sampling")


def test_the_joint_distribution_of_wide_regions_is_approximated_on_request():
    domain = Domain({f"x{i}": 40 for i in range(12)})
    graph = RegionGraph.factor_graph(domain, list(itertools.combinations(domain.attributes, 2)))
    cells = np.concatenate([np.full(domain.size(r), 1.0 / domain.size(r)) for r in graph.regions])
    model = Regions(graph, CliqueVector(domain, graph.regions, cells), 1.0)
    for call in (model.log_partition, model.map, lambda: model.log_probability({"x0": 1})):
        with pytest.raises(
            pypgm.ModelTooLargeError, match="junction tree of all regions; `bounded_tree` is one"
        ) as caught:
            call()
        assert str(caught.value).count('oracle="auto" approximates') == 1
    assert model.log_partition(oracle="auto") == pytest.approx(0, abs=1e-6)
    assert model.log_probability({"x0": 1, "x7": [0, 2]}, oracle="auto") == pytest.approx(np.log(2 / 1600), abs=0.05)
    assert model.map({"x3": 5}, oracle="auto")[0]["x3"] == 5
