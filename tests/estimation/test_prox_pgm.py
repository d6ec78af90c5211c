"""Prox-PGM over region graphs as published: Theorem 2, inner sweeps, damping, steps too large, recipes, refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import nnls

import pypgm
from pypgm import Domain, Factor, LinearMeasurement, RegionGraph
from pypgm._base.clock import Clock
from pypgm.models.estimated_again import EstimatedAgain

DOMAIN = Domain({"a": 2, "b": 3, "c": 2, "d": 2})
PAIRS = list(itertools.combinations("abcd", 2))
N, SIGMA = 500.0, 15.0
SAFE = 2 * SIGMA**2 / N  # of every cell of a pair, counted once
RNG = np.random.default_rng(7)
TRUTH = Factor(DOMAIN, RNG.dirichlet(np.full(DOMAIN.size(), 0.3)) * N)
COUNTS = [TRUTH.project(c).values for c in PAIRS]
MEASURED = [
    LinearMeasurement(t + SIGMA * RNG.normal(size=t.shape), c, SIGMA) for c, t in zip(PAIRS, COUNTS, strict=True)
]
GRAPH = RegionGraph.saturated(DOMAIN, PAIRS)
HARD = 1e4  # the weight of what has to hold exactly, beside that of a measured cell
RANDOM = RNG.uniform(0.3, 3.0, len(GRAPH.regions))


def prox(oracle=GRAPH, **options):
    own = {"method": "mirror_descent", "tolerance": 1e-9, "iterations": 10_000}
    return pypgm.estimate(DOMAIN, MEASURED, N, oracle=oracle, **own | options)


@pytest.fixture(scope="module")
def wanted():
    """The least loss of tables of the pairs that agree on single attributes, and these: a quadratic program as such."""
    sizes = [DOMAIN.size(c) for c in PAIRS]
    ends = np.cumsum([0, *sizes])

    def summed(i, attribute):
        """The matrix that sums a pair's cells to an attribute's counts, among all cells."""
        table = np.zeros((DOMAIN.size(attribute), ends[-1]))
        kept = np.indices([DOMAIN.size(a) for a in PAIRS[i]])[PAIRS[i].index(attribute)].ravel()
        table[kept, np.arange(ends[i], ends[i + 1])] = 1
        return table

    rows = []
    for attribute in DOMAIN:
        first, *others = [summed(i, attribute) for i, c in enumerate(PAIRS) if attribute in c]
        rows += [(first - other)[:-1] for other in others]
    sums = np.zeros((len(PAIRS), ends[-1]))
    for i in range(len(PAIRS)):
        sums[i, ends[i] : ends[i + 1]] = 1
    flat = np.concatenate([np.full(size, N / size) for size in sizes])
    noisy = np.concatenate([m.values.ravel() for m in MEASURED])
    level = HARD * np.vstack([*rows, sums])
    found, _ = nnls(np.vstack([np.eye(ends[-1]), level]), np.concatenate([noisy, level @ flat]))
    return 0.5 * np.square(found - noisy).sum() / SIGMA**2, np.split(found, ends[1:-1])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stepsize": SAFE},
        {"counting_numbers": RANDOM},
        {"counting_numbers": RANDOM[::-1], "stepsize": 0.3 * SAFE},
        {"counting_numbers": RANDOM, "damping": 0.5},
        {"counting_numbers": "tree_reweighted"},
        {"oracle": RegionGraph.saturated(DOMAIN, PAIRS, minimal=True), "damping": 0.3},
        {"method": "accelerated", "stop": "optimum", "counting_numbers": RANDOM},
    ],
    ids=["search", "step", "random", "reversed", "damped", "tree-reweighted", "minimal", "accelerated"],
)
def test_theorem_2_the_optimum_depends_on_no_counting_numbers_edges_or_schedule(wanted, options):
    least, tables = wanted
    model = prox(**options)
    assert model.fit.loss == pytest.approx(least, rel=1e-6)
    for clique, table in zip(PAIRS, tables, strict=True):
        np.testing.assert_allclose(model.project(clique).datavector(), table, atol=0.05)


def test_counting_numbers_change_the_way_there():
    one, other = (prox(counting_numbers=k, iterations=40, stepsize=0.1 * SAFE, tolerance=0) for k in (None, RANDOM))
    assert np.abs(one.marginals.values - other.marginals.values).max() > 1


@pytest.mark.parametrize("inner", [1, 3])
def test_inner_sweeps_are_counted_and_the_answer_agrees_with_itself(wanted, inner):
    model = prox(inner=inner, stepsize=SAFE, tolerance=0, iterations=301)
    steps = len(model.fit.history) - 1
    assert inner * (steps - 1) < model.fit.iterations <= inner * steps + 50  # the start takes some
    assert wanted[0] * (1 - 1e-9) <= model.fit.loss <= wanted[0] * (1 + 1e-3)
    for parent, child in model.graph.edges:
        small = model.graph.regions[child]
        above = model.marginals[model.graph.regions[parent]].project(small).values
        np.testing.assert_allclose(above, model.marginals[small].values, atol=1e-4)


@pytest.mark.parametrize("inner", [None, 1, 2])
@pytest.mark.parametrize("times", [8, 100])
def test_a_step_that_is_too_large_says_so(inner, times):
    with pytest.warns(pypgm.errors.StepSizeWarning, match="stepsize is too large"):
        model = prox(stepsize=times * SAFE, inner=inner, iterations=600, tolerance=1e-6)
    assert model.fit.status == "iterations"
    assert model.fit.loss <= model.fit.history[0] * (1 + 1e-12)


def test_losses_that_are_not_smooth_need_a_step():
    l1 = prox(loss="l1", stepsize=0.05 * SAFE, iterations=3000)
    assert l1.fit.loss < 0.5 * l1.fit.history[0]
    with pytest.raises(ValueError, match="needs a stepsize"):
        prox(loss="l1")


def test_structural_zeros_and_starts_are_kept():
    zeros = [pypgm.Constraint(("a", "b"), forbidden=[(0, 1)])]
    plain = prox("region_graph", constraints=zeros, method="accelerated", stop="optimum")
    for options in ({}, {"counting_numbers": RANDOM}, {"prior": prox(iterations=50), "stepsize": SAFE}):
        model = prox("region_graph", constraints=zeros, **options)
        assert model.project(("a", "b")).values[0, 1] == 0
        assert model.fit.loss == pytest.approx(plain.fit.loss, rel=1e-5)
    impossible = [pypgm.Constraint(("a", "b"), forbidden=list(np.ndindex(2, 3)))]
    with pytest.raises(pypgm.ImpossibleEvidenceError, match="leave no record possible"):
        prox(constraints=impossible)


@pytest.mark.parametrize(
    "options",
    [{"counting_numbers": RANDOM, "stepsize": SAFE / 2, "inner": 2}, {"damping": 0.5}],
    ids=["steps", "damped"],
)
def test_a_recipe_does_it_again_from_a_file_too(options, tmp_path):
    model = prox(iterations=200, tolerance=1e-6, **options)
    model.save(tmp_path / "model.pgm")
    for own in (model, pypgm.load(tmp_path / "model.pgm")):
        kept = {name: own.recipe.options[name] for name in options}
        np.testing.assert_array_equal(kept.pop("counting_numbers", 0), options.get("counting_numbers", 0))
        assert kept == {name: value for name, value in options.items() if name != "counting_numbers"}
        again = EstimatedAgain(own, own.recipe, Clock())(own.recipe.measurements)
        np.testing.assert_array_equal(again.marginals.values, model.marginals.values)
    assert 0 < model.expected_error(("a", "b"), draws=2, rng=0).values.max() < N
    assert model.project(("a", "b", "c"), method="oversaturated").values.sum() == pytest.approx(N)


REFUSED = {
    "exact": ({"oracle": "exact", "inner": 1}, "inner need a region graph"),
    "method": ({"method": "lbfgs"}, "method='accelerated' or 'mirror_descent'"),
    "accelerated": ({"method": "accelerated", "inner": 2}, "are options of method='mirror_descent'"),
    "negative": ({"method": "accelerated", "counting_numbers": "tree_reweighted"}, "counting numbers must be positive"),
    "bethe": ({"counting_numbers": "bethe"}, "'bethe' need not be concave"),
    "zero": ({"counting_numbers": np.zeros(len(GRAPH.regions))}, "counting numbers must be positive"),
    "few": ({"counting_numbers": [1.0]}, "need as many counting numbers"),
    "name": ({"counting_numbers": "kikuchi"}, "counting_numbers must be one of"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    options, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        prox(**options)
