"""Structural zeros and functions between attributes: exact, cheap, the same as dense tables say, or refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

import pypgm
from pypgm import Constraint, Domain, LinearMeasurement, queries
from pypgm.estimation.constraint import fold

DOMAIN = Domain({"x": 3, "state": ["A", "B"], "zip": 5, "y": 2})
CODES = [1, 0, 0, 1, 1]
INSIDE = Constraint(("zip", "state"), mapping=CODES)
DENSE = Constraint(("zip", "state"), allowed=np.array(CODES)[:, None] == np.arange(2))
OPTIONS = {"stop": "optimum", "tolerance": 1e-8, "iterations": 20000}


def measured(seed, cliques=(("state", "x"), ("zip", "y"), ("x", "y")), spread=1.0):
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(DOMAIN.size(), 2.0)).reshape(DOMAIN.shape) * 400
    truth = truth * (np.array(CODES)[None, None, :, None] == np.arange(2)[None, :, None, None])
    exact = [reference.project(DOMAIN, truth, c) for c in cliques]
    return [
        LinearMeasurement(t + spread * rng.normal(size=t.shape), c, spread) for t, c in zip(exact, cliques, strict=True)
    ]


def subsets(domain):
    return [c for n in range(len(domain) + 1) for c in itertools.permutations(domain.attributes, n)]


# A mapping is the mask of its graph, without the mask's table.


@settings(max_examples=10)
@given(st.integers(0, 10000))
def test_a_mapping_is_the_mask_of_its_graph(seed):
    ms = measured(seed)
    light, dense = (pypgm.estimate(DOMAIN, ms, 400.0, constraints=[c], **OPTIONS) for c in (INSIDE, DENSE))
    assert light.fit.loss == pytest.approx(dense.fit.loss, abs=1e-5)
    for clique in subsets(DOMAIN):
        np.testing.assert_allclose(light.project(clique).values, dense.project(clique).values, atol=0.02)


@pytest.fixture(scope="module")
def pair():
    """Return one model twice: without the coarse attribute inside, and with a dense table of both."""
    light = pypgm.estimate(DOMAIN, measured(1), constraints=[INSIDE])
    joint = light.project(DOMAIN.attributes)
    return light, pypgm.GraphicalModel(pypgm.CliqueVector.from_factors(DOMAIN, [joint.log()]), light.total)


def test_all_answers_are_those_of_the_dense_model(pair):
    light, dense = pair
    assert light.domain == DOMAIN
    assert "state" not in light.potentials.domain
    for evidence in (None, {"state": "B"}, {"state": ["A", "B"], "zip": [1, 3], "x": np.array([0.1, 0.5, 2.0])}):
        found, wanted = (m.project_many(subsets(DOMAIN), evidence) for m in pair)
        for a, b in zip(found, wanted, strict=True):
            assert a.domain == b.domain
            np.testing.assert_allclose(a.values, b.values, atol=1e-9)
        np.testing.assert_allclose(light.query("zip", evidence).values, dense.query("zip", evidence).values, atol=1e-12)
    assert light.log_probability({"state": "B"}) == pytest.approx(dense.log_probability({"state": "B"}))
    np.testing.assert_allclose(light.project("zip", {"state": "A"}).values[[0, 3, 4]], 0)


@pytest.mark.parametrize(
    "blocks",
    [
        {"state": queries.total(2)},
        {"x": queries.Prefix(3), "state": queries.Identity(2)},
        {"state": queries.Matrix([[1, -1]]), "x": queries.Identity(3)},
        {"state": queries.Matrix([[1, -1]]), "y": queries.Identity(2), "zip": queries.Matrix([[1, 2, 3, 4, 5]])},
        {"zip": queries.Prefix(5), "state": queries.Identity(2)},
        {"zip": queries.Partition([0, 0, 1, 1, 1]), "x": queries.total(3), "state": queries.Matrix([[3, 1]])},
    ],
)
def test_kronecker_queries_and_means(pair, blocks):
    light, dense = (m.answer(pypgm.KroneckerQuery(blocks)) for m in pair)
    np.testing.assert_allclose(light, dense, atol=1e-8)
    means = [m.expectation("zip", ("state",), levels=[1, 5, 2, 8, 9]).values for m in pair]
    np.testing.assert_allclose(*means)


def test_records_keep_the_mapping(pair):
    records = pair[0].synthetic_data(500, rng=0)
    assert list(records.columns) == list(DOMAIN.attributes)
    np.testing.assert_array_equal(records.columns["state"], np.array(CODES)[records.columns["zip"]])
    assert np.abs(records.project("state").values - 500 * pair[0].query("state").values).max() < 5


def test_a_file_keeps_the_mapping(pair, tmp_path):
    pair[0].save(tmp_path / "m.npz")
    again = pypgm.load(tmp_path / "m.npz")
    assert again.domain == DOMAIN
    for clique in subsets(DOMAIN):
        np.testing.assert_allclose(again.project(clique).values, pair[0].project(clique).values, atol=1e-9)


@pytest.mark.parametrize(
    "query",
    [queries.Identity(6), queries.Partition([0, 1, 1, 2, 0, 3], 5), queries.Matrix(np.arange(12).reshape(2, 6) - 5)],
)
def test_every_query_is_asked_of_the_fine_attribute(query):
    folding, _ = fold(DOMAIN, [INSIDE])
    m = LinearMeasurement(np.zeros(query.shape[0]), ("x", "state"), 1.0, query)
    folded = pypgm.estimation.constraint.folded_measurement(folding, m)
    assert folded.clique == ("x", "zip")
    rng = np.random.default_rng(0)
    fine = rng.random((3, 5))
    coarse = np.stack([fine[:, np.array(CODES) == k].sum(1) for k in range(2)], axis=1)
    np.testing.assert_allclose(folded.query.matvec(fine.ravel()), query.matvec(coarse.ravel()))
    y = rng.random(query.shape[0])
    np.testing.assert_allclose(y @ folded.query.matvec(fine.ravel()), folded.query.rmatvec(y) @ fine.ravel())


def test_mappings_chain():
    domain = Domain({"land": 2, "zip": 6, "state": 3})
    given = [Constraint(("state", "land"), mapping=[0, 1, 1]), Constraint(("zip", "state"), mapping=[0, 0, 1, 1, 2, 2])]
    model = pypgm.estimate(domain, [LinearMeasurement([10, 30], "land")], constraints=given)
    np.testing.assert_allclose(model.project("zip").values, [5, 5, 7.5, 7.5, 7.5, 7.5], rtol=1e-3)
    np.testing.assert_allclose(model.project(("land", "state")).values, [[10, 0, 0], [0, 15, 15]], rtol=1e-3)


def test_a_large_mapping_costs_what_it_has_values():
    domain = Domain({"fine": 60_000, "coarse": 3_000, "x": 3})
    codes = np.arange(60_000) // 20
    rng = np.random.default_rng(0)
    ms = [
        LinearMeasurement(rng.poisson(5.0, 60_000), "fine", 1.0),
        LinearMeasurement(rng.poisson(30.0, 9_000), ("coarse", "x"), 1.0),
    ]
    model = pypgm.estimate(domain, ms, constraints=[Constraint(("fine", "coarse"), mapping=codes)], iterations=8)
    assert model.tree.cost.cells <= 180_000
    records = model.synthetic_data(1000, rng=0)
    np.testing.assert_array_equal(records.columns["coarse"], codes[records.columns["fine"]])
    sums = np.add.reduceat(model.project("fine").values, np.arange(0, 60_000, 20))
    np.testing.assert_allclose(model.project("coarse").values, sums)


# Cells.


@pytest.mark.parametrize("stop", [None, "optimum"])
@pytest.mark.parametrize("method", ["accelerated", "mirror_descent"])
def test_forbidden_cells_are_exactly_empty(stop, method):
    forbidden = [("A", 0), ("B", 4), ("B", 2)]
    constraint = Constraint(("state", "zip"), forbidden=forbidden)
    rng = np.random.default_rng(3)
    ms = [LinearMeasurement(rng.poisson(30, 15), ("x", "zip")), LinearMeasurement(rng.poisson(60, 4), ("state", "y"))]
    model = pypgm.estimate(DOMAIN, ms, constraints=[constraint], stop=stop, method=method)
    table = model.project(("state", "zip")).values
    for state, code in forbidden:
        assert table["AB".index(state), code] == 0
    assert (table > 0).sum() == 7
    assert np.isfinite(model.marginals.values).all()
    assert model.fit.gap >= -1e-9 * model.fit.loss
    seen = model.synthetic_data(300, rng=1).project(("state", "zip")).values
    assert (seen[table == 0] == 0).all()


def test_the_optimum_is_that_among_distributions_without_these_cells():
    ms = measured(4, (("state", "x"), ("zip", "x")))
    model = pypgm.estimate(DOMAIN, ms, 400.0, constraints=[DENSE], **OPTIONS)
    mask = np.broadcast_to((np.array(CODES)[None, :] == np.arange(2)[:, None])[None, :, :, None], DOMAIN.shape)
    stacked = np.vstack([reference.query_matrix(DOMAIN, m) for m in ms])[:, mask.ravel()]
    answers = np.concatenate([m.values for m in ms])
    from scipy.optimize import nnls

    heavy = 1e4
    solution, _ = nnls(
        np.vstack([stacked, np.full(stacked.shape[1], heavy)]), np.append(answers, 400.0 * heavy), maxiter=10000
    )
    least = 0.5 * np.sum((stacked @ solution - answers) ** 2)
    assert model.fit.loss == pytest.approx(least, rel=1e-4, abs=1e-4)


def test_all_ways_to_say_it_are_the_same():
    mask = np.ones((2, 5), dtype=bool)
    mask[0, 3] = mask[1, 1] = False
    cells = [(s, z) for i, s in enumerate("AB") for z in range(5) if mask[i, z]]
    ways = [
        Constraint(("state", "zip"), allowed=mask),
        Constraint(("state", "zip"), forbidden=~mask),
        Constraint(("zip", "state"), allowed=mask.T),
        Constraint(["state", "zip"], allowed=cells),
        Constraint(("state", "zip"), forbidden=[("A", 3), ("B", 1)]),
    ]
    found = [fold(DOMAIN, [w])[1][0] for w in ways]
    assert {c for c, _ in found} == {("state", "zip")}
    for _, own in found:
        np.testing.assert_array_equal(own, mask.ravel())
    single = fold(DOMAIN, [Constraint("zip", forbidden=[1, 4])])[1][0]
    np.testing.assert_array_equal(single[1], [True, False, True, True, False])
    images = Constraint(("zip", "state"), mapping={0: "B", 1: "A", 2: "A", 3: "B", 4: "B"})
    np.testing.assert_array_equal(images.codes(DOMAIN), CODES)


def test_lists_of_truth_values_are_a_mask_where_labels_are_numbers():
    domain = Domain({"a": [0, 1], "b": [0, 1], "flag": [False, True]})
    pair = [[True, False], [True, True]]
    assert Constraint(("a", "b"), allowed=pair).mask(domain).tolist() == [True, False, True, True]
    assert Constraint(("a", "b"), forbidden=pair).mask(domain).tolist() == [False, True, False, False]
    assert Constraint("a", allowed=[False, True]).mask(domain).tolist() == [False, True]
    assert Constraint(("a", "flag"), allowed=pair).mask(domain).tolist() == [True, False, True, True]
    assert Constraint("flag", allowed=[True]).mask(domain).tolist() == [False, True]
    assert Constraint(("a", "flag"), allowed=[(0, True)]).mask(domain).tolist() == [False, True, False, False]
    with pytest.raises(ValueError, match="'a' has no label True"):  # tuples are cells, and a truth value is no number
        Constraint(("a", "b"), allowed=[(True, False)]).mask(domain)
    with pytest.raises(ValueError, match=r"clique|'a' has no label True"):
        Constraint(("a", "b"), allowed=[[True, False], [True]]).mask(domain)


def test_cells_of_a_coarse_attribute_are_forbidden_through_the_fine_one():
    model = pypgm.estimate(
        DOMAIN, measured(5), constraints=[INSIDE, Constraint(("x", "state"), forbidden=[(2, "A"), (0, "B")])]
    )
    table = model.project(("x", "state", "zip")).values
    assert (table[2, 0] == 0).all()
    assert (table[0, 1] == 0).all()
    assert model.cliques.count(("x", "zip")) == 1


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Constraint("x"), ValueError, "exactly one of allowed, forbidden and mapping, got none"),
        (lambda: Constraint("x", allowed=[0], forbidden=[1]), ValueError, "exactly one"),
        (lambda: Constraint("x", mapping=[0, 1, 2]), ValueError, "a fine and a coarse attribute"),
        (lambda: Constraint("q", allowed=[0]), ValueError, "unknown attribute 'q'"),
        (lambda: Constraint(("x", "x"), allowed=[(0, 0)]), ValueError, "more than once"),
        (lambda: Constraint(("x", "y"), allowed=np.ones((2, 3), bool)), ValueError, r"needs shape \(3, 2\)"),
        (
            lambda: Constraint(("x", "y"), allowed=[[True, False]] * 2),
            ValueError,
            r"needs shape \(3, 2\), got \(2, 2\)",
        ),
        (lambda: Constraint("x", allowed=[True]), ValueError, r"needs shape \(3,\), got \(1,\)"),
        (lambda: Constraint(("x", "y"), allowed=np.ones((3, 2), int)), TypeError, "needs truth values, got int64"),
        (lambda: Constraint(("x", "y"), allowed=[(0, 7)]), ValueError, "codes of 'y' are 0 to 1, got 7"),
        (lambda: Constraint(("x", "y"), allowed=[(0,)]), ValueError, "needs 2 values"),
        (lambda: Constraint(("x", "state"), allowed=[(0, "C")]), ValueError, "no label 'C'"),
        (lambda: Constraint(("zip", "state"), mapping=[0, 1]), ValueError, "needs 5 integer codes"),
        (lambda: Constraint(("zip", "state"), mapping=[0.0, 1, 0, 1, 1]), ValueError, "needs 5 integer codes"),
        (lambda: Constraint(("zip", "state"), mapping=[0, 1, 2, 0, 0]), ValueError, "codes of 'state' are 0 to 1"),
        (lambda: Constraint(("zip", "state"), mapping={0: "A"}), ValueError, "4 have none"),
        (
            lambda: [Constraint(("x", "y"), mapping=[0, 0, 1]), Constraint(("y", "x"), mapping=[0, 1])],
            ValueError,
            "circle",
        ),
        (lambda: [INSIDE, Constraint(("x", "state"), mapping=[0, 0, 1])], ValueError, "follows from 'zip' already"),
        (lambda: "x", TypeError, "must be pypgm.Constraint"),
        (lambda: [Constraint("x", allowed=[0]), Constraint("x", forbidden=[0])], ValueError, "no record possible"),
    ],
)
def test_refusals(make, error, message):
    def estimated():
        made = make()
        return pypgm.estimate(DOMAIN, measured(0), constraints=made if isinstance(made, list) else [made])

    with pytest.raises(error, match=message):
        estimated()


@pytest.mark.parametrize("oracle", ["exact", "region_graph", "factor_graph"])
@pytest.mark.parametrize(
    ("constraints", "named"),
    [
        ([Constraint("x", allowed=[])], r"\('x',\)"),
        (
            [Constraint("y", allowed=[0]), Constraint(("x", "y"), forbidden=[(i, 0) for i in range(3)])],
            r".*\('x', 'y'\)",
        ),
    ],
)
def test_constraints_that_leave_nothing_are_named(oracle, constraints, named):
    with pytest.raises(ValueError, match=f"the constraints on {named} leave no record possible"):
        pypgm.estimate(DOMAIN, measured(0), oracle=oracle, constraints=constraints)


def test_a_loss_of_ones_own_knows_nothing_of_mappings():
    with pytest.raises(ValueError, match="with a mapping among the constraints"):
        pypgm.estimate(DOMAIN, measured(0), constraints=[INSIDE], loss=lambda m: (0.0, m))


def test_a_constraint_keeps_what_it_was_given():
    mask = np.array([[True, False], [True, True], [False, True]])
    constraint = Constraint(("x", "y"), allowed=mask)
    mask[:] = True
    assert constraint.mask(DOMAIN).tolist() == [True, False, True, True, False, True]


def test_a_single_constraint_is_no_sequence():
    with pytest.raises(TypeError, match="constraints needs a sequence of pypgm"):
        pypgm.estimate(DOMAIN, measured(0), constraints=INSIDE)
