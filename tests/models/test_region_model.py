"""Region-graph models: what they answer, draw, save and refuse."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import reference
from region_models import consistent_model, random_joint

import pypgm
from pypgm import CliqueVector, Domain, KroneckerQuery, LinearMeasurement, RegionGraph, RegionGraphModel
from pypgm.inference.bounded_tree import mutual_information

DOMAIN = Domain({"sex": ["F", "M"], "age": 3, "year": [1999, 2000], "rate": 4})
CLIQUES = [("sex", "age"), ("age", "year"), ("year", "rate"), ("sex", "rate")]
NOISE = 4.0


@pytest.fixture
def joint():
    return random_joint(DOMAIN, np.random.default_rng(3))


@pytest.fixture
def model(joint):
    return consistent_model(DOMAIN, joint, CLIQUES)


def measured(joint, rng, cliques=CLIQUES, stddev=NOISE):
    tables = [reference.project(DOMAIN, joint, c).ravel() for c in cliques]
    return [
        LinearMeasurement(t + rng.normal(scale=stddev, size=t.size), c, stddev)
        for t, c in zip(tables, cliques, strict=True)
    ]


# Answers.


def test_project_many_is_project_in_the_order_asked(model):
    cliques = [("year", "sex"), "age", (), ("rate", "age"), ("age", "rate"), ("year", "sex")]
    for found, clique in zip(model.project_many(cliques), cliques, strict=True):
        wanted = model.project(clique)
        assert found.domain == wanted.domain
        assert (found.method, found.violation) == (wanted.method, wanted.violation)
        np.testing.assert_array_equal(found.datavector(), wanted.datavector())
        assert found.datavector().sum() == pytest.approx(model.total)


def test_axes_come_as_asked(model):
    one, other = model.project(("rate", "age")), model.project(("age", "rate"))
    assert one.domain.attributes == ("rate", "age")
    np.testing.assert_array_equal(one.values, other.values.T)
    assert other.transpose(("rate", "age")).violation == other.violation


def test_answers_own_their_cells(model):
    answer = model.project(("sex", "age"))
    answer.values[:] = 0
    assert model.project(("sex", "age")).values.sum() == pytest.approx(model.total)


def test_query_conditions_the_joint_answer(model):
    joint = model.project(("age", "sex", "rate")).values
    np.testing.assert_allclose(model.query(("rate", "age"), {"sex": "M"}).values, joint[:, 1].T / joint[:, 1].sum())
    likelihood = np.array([1.0, 0.5, 0.0, 2.0])
    weighed = np.einsum("asr,r->a", joint, likelihood)
    np.testing.assert_allclose(
        model.query("age", {"sex": ["F", "M"], "rate": likelihood}).values, weighed / weighed.sum()
    )
    np.testing.assert_allclose(model.query("age").values, model.project("age").values / model.total)
    inside = model.query("sex", {"sex": "M"}).values
    np.testing.assert_allclose(inside, [0, 1])


def test_counts_under_evidence_come_from_the_joint_answer(model):
    joint = model.project(("age", "sex", "rate"))
    found = model.project(("rate", "age"), {"sex": "M"}, method="combined")
    kept = joint.values[:, 1].T
    np.testing.assert_allclose(found.values, kept * model.total / kept.sum())
    assert (found.method, found.violation) == ("combined", joint.violation)
    many = model.project_many([("rate", "age"), "sex"], {"sex": "M"})
    np.testing.assert_array_equal(many[0].values, found.values)
    np.testing.assert_allclose(many[1].values, [0, model.total])


def test_kronecker_answers_contract_the_projection(model):
    weights = np.array([[1.0, 2.0, -1.0]])
    query = KroneckerQuery({"age": weights, "rate": pypgm.queries.Prefix(4)})
    table = model.project(("age", "rate")).values
    np.testing.assert_allclose(model.answer(query), np.cumsum(weights @ table, axis=1), rtol=1e-9)
    both = model.answer([query, KroneckerQuery({"sex": np.eye(2)})], {"year": 1999})
    given = model.project(("age", "year", "rate")).values[:, 0]
    np.testing.assert_allclose(both[0], np.cumsum(weights @ given, axis=1) * model.total / given.sum(), rtol=1e-9)
    sex = model.project(("sex", "year")).values[:, 0]
    np.testing.assert_allclose(both[1], sex * model.total / sex.sum())


def test_repr_tells_what_it_is(model):
    cells = sum(DOMAIN.size(r) for r in model.graph.regions)
    assert repr(model) == f"RegionGraphModel(4 attributes, 8 regions, total 1000, {cells} cells)"
    assert repr(model.project(("age", "rate"))).endswith(")")
    assert "combined, violation" in repr(model.project(("age", "rate")))
    assert model.domain == DOMAIN
    assert model.cliques == tuple(CLIQUES)


def test_potentials_are_logs_of_marginals_unless_given(joint, model):
    result = pypgm.convex_gbp(model.potentials, model.graph, total=model.total, tolerance=1e-10)
    np.testing.assert_allclose(result.marginals.values, model.marginals.values, rtol=1e-6)
    zero = CliqueVector(DOMAIN, model.graph.regions)
    assert np.shares_memory(
        RegionGraphModel(model.graph, model.marginals, 1000.0, potentials=zero).potentials.values, zero.values
    )


# Estimates.


def test_oversaturated_asks_the_clique_of_the_estimate(joint):
    measurements = measured(joint, np.random.default_rng(0))
    model = pypgm.estimate(DOMAIN, measurements, 1000.0, oracle="region_graph", stop="optimum")
    answer = model.project(("rate", "age"), method="oversaturated")
    graph = RegionGraph.saturated(DOMAIN, CLIQUES, extra=[("age", "rate")])
    wider = pypgm.estimate(DOMAIN, measurements, 1000.0, oracle=graph, stop="optimum")
    np.testing.assert_allclose(answer.values, wider.project(("rate", "age")).values, rtol=1e-9)
    assert answer.method == "oversaturated"
    assert answer.violation < 0.05


@pytest.mark.parametrize("stddev", [1e-3, 200.0])
def test_noise_does_not_narrow_the_tree(joint, stddev):
    cliques = list(itertools.combinations(DOMAIN.attributes, 2))
    answers = measured(joint, np.random.default_rng(1), cliques, stddev)
    model = pypgm.estimate(DOMAIN, answers, 1000.0, oracle="region_graph")
    assert len(model.bounded_tree.pairs) == 6
    narrow = RegionGraphModel(model.graph, model.marginals, 1000.0, recipe=model.recipe, tree_cells=10)
    assert len(narrow.bounded_tree.pairs) == 3


def test_measuring_on_grows_the_tree_and_keeps_what_it_had(joint):
    cliques = [("age", "year"), ("year", "rate"), ("sex", "rate"), ("sex", "age"), ("age", "rate"), ("sex", "year")]
    previous = None
    for n in range(1, len(cliques) + 1):
        model = consistent_model(DOMAIN, joint, cliques[:n], previous=previous, tree_cells=30.0)
        kept = () if previous is None else previous.bounded_tree.pairs
        assert model.bounded_tree.pairs[: len(kept)] == kept
        previous = model
    assert model.bounded_tree.pairs[:3] == tuple(DOMAIN.canonical(c) for c in cliques[:3])
    assert len(model.bounded_tree.pairs) < 6
    again = consistent_model(DOMAIN, joint, cliques, previous=model, tree_cells=30.0)
    assert again.bounded_tree.pairs == model.bounded_tree.pairs


# Synthetic records.


def tv(table, other):
    return np.abs(table - other).sum() / (2 * other.sum())


@pytest.mark.parametrize("cells", [1.0, 1e6])
def test_records_have_the_pseudo_marginals(joint, cells):
    joint = 5 * joint
    model = consistent_model(DOMAIN, joint, CLIQUES, tree_cells=cells)
    records = model.synthetic_data(rng=0)
    assert len(records) == 5000
    for clique in CLIQUES:
        distance = tv(records.project(clique).values, model.project(clique).values)
        assert distance <= 0.5 * DOMAIN.size(clique) / 5000


@pytest.mark.parametrize("seed", range(3))
def test_records_moved_from_another_model_are_as_near_as_new_ones(joint, seed):
    rng = np.random.default_rng(seed)
    joint = 5 * joint
    joint[1, :, 0] = 0
    cliques = [*CLIQUES, DOMAIN.attributes[:3]]
    model = consistent_model(DOMAIN, joint, cliques, tree_cells=1.0)
    other = consistent_model(DOMAIN, 5 * random_joint(DOMAIN, rng), CLIQUES, tree_cells=1.0)
    rows = round(joint.sum())
    moved = model._records_near(other.synthetic_data(rows, rng=seed), seed)
    assert len(moved) == rows
    assert moved.project(("sex", "year")).values[1, 0] == 0
    for clique in cliques:
        assert tv(moved.project(clique).values, model.project(clique).values) <= 0.5 * DOMAIN.size(clique) / rows


def test_records_refined_towards_noisy_marginals(joint):
    rng = np.random.default_rng(2)
    joint = 10 * joint
    model = pypgm.estimate(DOMAIN, measured(joint, rng, stddev=60.0), 10_000.0, oracle="region_graph", stop="optimum")
    records = model.synthetic_data(rng=1)
    truth = {c: reference.project(DOMAIN, joint, c) for c in CLIQUES}
    own = np.mean([tv(model.project(c).values, truth[c]) for c in CLIQUES])
    drawn = np.mean([tv(records.project(c).values, truth[c]) for c in CLIQUES])
    assert drawn <= 1.3 * own + 0.5 * np.mean([DOMAIN.size(c) for c in CLIQUES]) / 10_000


def test_records_depend_on_the_seed_alone(model):
    one, two, other = (model.synthetic_data(300, rng=s) for s in (7, 7, 8))
    assert all(np.array_equal(one.columns[a], two.columns[a]) for a in DOMAIN.attributes)
    assert not all(np.array_equal(one.columns[a], other.columns[a]) for a in DOMAIN.attributes)
    assert len(model.synthetic_data(0)) == 0


def test_records_keep_structural_zeros(joint):
    joint[1, :, 0] = 0
    joint[:, 2, :, 3] = 0
    cliques = [("sex", "year"), ("age", "rate"), ("sex", "age"), ("year", "rate")]
    records = consistent_model(DOMAIN, joint, cliques, tree_cells=1.0).synthetic_data(rng=4)
    assert records.project(("sex", "year")).values[1, 0] == 0
    assert records.project(("age", "rate")).values[2, 3] == 0


# Files.


def test_file_comes_back_with_the_same_bits(model, tmp_path):
    path = tmp_path / "region.model"
    model.not_private = "a test"
    model.save(path)
    again = pypgm.load(path)
    assert isinstance(again, RegionGraphModel)
    assert again.domain == DOMAIN
    assert again.domain.labels == DOMAIN.labels
    assert (again.graph.regions, again.graph.edges) == (model.graph.regions, model.graph.edges)
    assert (again.cliques, again.total, again.fit) == (model.cliques, model.total, model.fit)
    assert again.not_private == "a test"
    assert again.marginals.values.tobytes() == model.marginals.values.tobytes()
    assert again.potentials.values.tobytes() == model.potentials.values.tobytes()
    asked = ("age", "rate")
    assert again.project(asked).datavector().tobytes() == model.project(asked).datavector().tobytes()
    assert "not private" in repr(again)


def test_estimate_comes_back_with_its_fit(joint, tmp_path):
    model = pypgm.estimate(DOMAIN, measured(joint, np.random.default_rng(0)), oracle="factor_graph")
    model.save(tmp_path / "m")
    again = pypgm.load(tmp_path / "m")
    assert again.fit == model.fit
    assert again.tree_cells == model.tree_cells
    asked = ("age", "rate")
    answers = [m.project(asked, method="oversaturated").values.tobytes() for m in (model, again)]
    assert answers[0] == answers[1]
    errors = [m.standard_error("age", draws=3).values.tobytes() for m in (model, again)]
    assert errors[0] == errors[1]
    bare = RegionGraphModel(model.graph, model.marginals, model.total)
    with pytest.raises(ValueError, match="needs a model with its measurements"):
        bare.project(asked, method="oversaturated")


# Refusals.


def test_refusals(joint, model):
    graph, marginals = model.graph, model.marginals
    cases = [
        ({"marginals": CliqueVector(DOMAIN, CLIQUES)}, "marginals need a table for each of"),
        (
            {"marginals": CliqueVector(DOMAIN, graph.regions, marginals.values * np.nan)},
            "finite entries of at least 0",
        ),
        ({"marginals": CliqueVector(DOMAIN, graph.regions, -marginals.values)}, "finite entries of at least 0"),
        ({"marginals": CliqueVector(DOMAIN, graph.regions, 2 * marginals.values)}, "needs the sum 1000, got 2000"),
        ({"total": 0.0}, "total must be positive"),
        ({"potentials": CliqueVector(DOMAIN, CLIQUES)}, "potentials need a table for each of"),
    ]
    for change, text in cases:
        given = {"graph": graph, "marginals": marginals, "total": 1000.0, **change}
        with pytest.raises(ValueError, match=text):
            RegionGraphModel(given.pop("graph"), given.pop("marginals"), given.pop("total"), **given)
    small = Domain({"a": 2, "b": 2})
    other = consistent_model(small, random_joint(small, np.random.default_rng(0)), [("a", "b")])
    with pytest.raises(ValueError, match="previous needs a model over"):
        RegionGraphModel(graph, marginals, 1000.0, previous=other)
    plain = Domain(model.domain.attributes, model.domain.shape)
    unnamed = RegionGraph.saturated(plain, graph.cliques)
    other = RegionGraphModel(unnamed, CliqueVector(plain, graph.regions, marginals.values), 1000.0)
    with pytest.raises(ValueError, match="labels of 'sex' differ: of code 0 'F' is needed, got no label"):
        RegionGraphModel(graph, marginals, 1000.0, previous=other)
    with pytest.raises(ValueError, match=r"method must be one of combined, .* got 'exact'"):
        model.project("age", method="exact")
    with pytest.raises(ValueError, match="unknown attribute 'height'"):
        model.project(("age", "height"))
    with pytest.raises(ValueError, match="more than once"):
        model.query(("age", "age"))
    with pytest.raises(pypgm.ImpossibleEvidenceError, match="age has probability zero"):
        model.query("sex", {"age": np.zeros(3)})


def test_tables_that_do_not_fit_are_refused():
    domain = Domain({f"x{i}": 1000 for i in range(8)})
    pairs = [(f"x{i}", f"x{i + 1}") for i in range(7)]
    graph = RegionGraph.factor_graph(domain, [(a,) for a in domain.attributes] + pairs[:1])
    cells = np.concatenate([np.full(domain.size(r), 10.0 / domain.size(r)) for r in graph.regions])
    model = RegionGraphModel(graph, CliqueVector(domain, graph.regions, cells), 10.0)
    with pytest.raises(pypgm.ModelTooLargeError, match=r"1e\+24 cells.*leave out 'x0' \(1000 values\)"):
        model.project(domain.attributes)


def test_answers_that_do_not_fit_together_are_refused():
    domain = Domain({f"x{i}": 100 for i in range(40)})
    graph = RegionGraph.factor_graph(domain, [(a,) for a in domain.attributes])
    model = RegionGraphModel(graph, CliqueVector(domain, graph.regions, np.full(4000, 0.1)), 10.0)
    with pytest.raises(pypgm.ModelTooLargeError, match=r"9880 answers need 9.88e\+09 cells.*fewer at a time"):
        model.project_many(list(itertools.combinations(domain.attributes, 3)))


def test_dependence_of_a_table_with_hardly_any_weight_in_a_row():
    # The product of such a row and column is 0 as a double, and no warning comes of it.
    table = np.array([1e-200, 1e-180, 1.0, 0.0])
    assert 0 < mutual_information(table, 2) < 1e-170
    assert mutual_information(np.array([0.5, 0, 0, 0.5]), 2) == pytest.approx(np.log(2))


def test_a_region_is_read_before_a_larger_one_of_as_many_cells():
    domain = pypgm.Domain({"a": 1, "b": 2, "c": 2})
    measurements = [
        pypgm.LinearMeasurement(np.full(4, 25.0), ("a", "b", "c"), 10.0),
        pypgm.LinearMeasurement([40.0, 10.0, 10.0, 40.0], ("b", "c"), 0.1),
    ]
    model = pypgm.estimate(domain, measurements, 100.0, oracle="factor_graph", stop="optimum", tolerance=1e-9)
    np.testing.assert_allclose(model.project(("b", "c")).values, [[40, 10], [10, 40]], atol=1e-3)
