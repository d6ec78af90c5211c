"""Answers beyond the regions: against exact models, dense fitting, a generic solver, and each other."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from region_models import consistent_model, random_joint, true_tables

import pypgm
from pypgm import CliqueVector, Domain, RegionGraph, RegionGraphModel
from pypgm._base.clock import Clock
from pypgm.inference.bounded_tree import fit_proportionally, joined_within, plan_bounded_tree
from pypgm.inference.out_of_model import combined_answers, expanded_answers, local_answers
from pypgm.inference.region_index import RegionIndex, maximal

ABCDE = Domain({"a": 2, "b": 3, "c": 2, "d": 4, "e": 3})
CYCLE = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]
TRIPLES = [("a", "b", "c"), ("b", "c", "d"), ("a", "d", "e"), ("c", "e")]


def index_of(domain, cliques, cells, total=1.0):
    return RegionIndex(CliqueVector(domain, cliques, cells), total)


def noisy_pairs(rng, spread=0.1):
    """Return an index of the pairs of three attributes that agree on no joint table."""
    domain = Domain({"a": 3, "b": 3, "c": 3})
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    cells = [rng.dirichlet(np.full(9, spread)) for _ in pairs]
    return index_of(domain, pairs, np.concatenate(cells))


@pytest.fixture
def rng():
    return np.random.default_rng(5)


# Problem 4.


@pytest.mark.parametrize("cliques", [CYCLE, TRIPLES], ids=["cycle", "triples"])
def test_local_is_the_table_of_largest_entropy_where_one_has_all_marginals(cliques, rng):
    joint = random_joint(ABCDE, rng)
    model = consistent_model(ABCDE, joint, cliques)
    for clique in (("a", "b", "d"), ("b", "d", "e"), ("a", "b", "d", "e")):
        index = RegionIndex(model.marginals, model.total)
        small = ABCDE.project(clique)
        known = {p: index.probabilities(p).reshape(ABCDE.sizes(p)) for p in index.intersections(clique)}
        dense = reference.fitted(small, known, 1.0, sweeps=2000)
        answer = model.project(clique, method="local")
        np.testing.assert_allclose(answer.values / model.total, dense, atol=1e-9)
        assert answer.method == "local"
        assert answer.violation < 1e-12


def least_violation(index, clique, steps=20000):
    """Return the least half sum of squared differences, by accelerated projected gradients on the dense table."""
    domain = index.domain.project(clique)
    parts = index.intersections(clique)
    eye = np.eye(domain.size()).reshape(*domain.shape, -1)
    rows, goals = [], []
    for part in parts:
        away = tuple(i for i, a in enumerate(clique) if a not in part)
        rows.append(eye.sum(axis=away).reshape(-1, domain.size()))
        goals.append(index.probabilities(part))
    matrix, goal = np.concatenate(rows), np.concatenate(goals)
    smooth = np.linalg.norm(matrix, 2) ** 2
    here = ahead = np.full(domain.size(), 1 / domain.size())
    momentum = 1.0
    for _ in range(steps):
        there = reference.onto_simplex(ahead - matrix.T @ (matrix @ ahead - goal) / smooth)
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead, here, momentum = there + (momentum - 1) / faster * (there - here), there, faster
    return 0.5 * np.sum((matrix @ here - goal) ** 2), matrix, goal


@pytest.mark.parametrize("spread", [0.3, 3.0])
def test_local_violates_least_where_no_table_has_all_marginals(spread, rng):
    index = noisy_pairs(rng, spread)
    (answer,) = local_answers(index, [("a", "b", "c")], Clock(), iterations=4000)
    least, matrix, goal = least_violation(index, ("a", "b", "c"))
    found = 0.5 * np.sum((matrix @ answer.values - goal) ** 2)
    assert found <= least * (1 + 1e-4) + 1e-12
    assert found - least <= answer.gap + 1e-12
    assert answer.violation == pytest.approx(np.abs(matrix @ answer.values - goal).sum() / 3)
    assert answer.violation > 1e-3


def test_more_iterations_lower_the_gap(rng):
    index = noisy_pairs(rng)
    few, many = (local_answers(index, [("a", "b", "c")], Clock(), iterations=n)[0] for n in (3, 300))
    assert many.gap < few.gap
    assert few.iterations <= 6


def test_answers_are_the_same_bits_for_any_number_of_threads(rng):
    joint = random_joint(ABCDE, rng)
    cliques = [c for k in (2, 3, 4) for c in itertools.combinations(ABCDE.attributes, k)]
    one, two = (consistent_model(ABCDE, joint, TRIPLES).project_many(cliques, n_threads=n) for n in (1, 2))
    for a, b in zip(one, two, strict=True):
        assert a.datavector().tobytes() == b.datavector().tobytes()


# X5, and the tests of section D.


def test_regions_that_agree_as_nearly_as_an_estimate_makes_them_take_sweeps_alone():
    rng = np.random.default_rng(0)
    domain = Domain(dict.fromkeys("abcdef", 60))
    single = rng.dirichlet(np.full(60, 0.3), size=6)
    measured = []
    for pair in [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f"), ("a", "d"), ("a", "c"), ("b", "d")]:
        i, j = ("abcdef".index(x) for x in pair)
        table = np.outer(single[i], single[j]) * np.exp(rng.normal(size=(60, 60)) / 2)
        table *= 50_000 / table.sum()
        measured.append(pypgm.LinearMeasurement(table + 50 * rng.normal(size=(60, 60)), pair, 50.0))
    model = pypgm.estimate(domain, measured, oracle="region_graph")
    (answer,) = local_answers(RegionIndex(model.marginals, model.total), [("a", "b", "c")], Clock())
    assert answer.violation <= 1e-8
    assert answer.iterations <= 20  # from 1e-8 on no more is to be had; descent would go on to 800


def test_tables_at_odds_take_the_fewer_steps_the_more_cells_they_have(rng):
    pairs, steps = [("a", "b"), ("b", "c"), ("a", "c")], []
    for n in (20, 40, 70):
        index = index_of(
            Domain(dict.fromkeys("abc", n)), pairs, np.concatenate([rng.dirichlet(np.ones(n * n)) for _ in pairs])
        )
        (answer,) = local_answers(index, [("a", "b", "c")], Clock())
        steps.append(answer.iterations * n**3)
    assert max(steps) <= 2.1e7


@pytest.mark.slow
def test_tables_of_millions_of_cells_take_fewer_steps(rng):
    domain = Domain(dict.fromkeys("abc", 200))
    pairs = [("a", "b"), ("b", "c"), ("a", "c")]  # at odds with each other
    index = index_of(domain, pairs, np.concatenate([rng.dirichlet(np.ones(40_000)) for _ in pairs]))
    (answer,) = local_answers(index, [("a", "b", "c")], Clock())
    assert 25 <= answer.iterations <= 50


def test_one_large_table_has_the_same_bits_for_any_number_of_threads(rng):
    domain = Domain(dict.fromkeys("abc", 80))
    pairs = [("a", "b"), ("b", "c")]
    index = index_of(domain, pairs, np.concatenate([rng.dirichlet(np.ones(6400)) for _ in pairs]))
    one, two = (local_answers(index, [("a", "b", "c")], Clock(n_threads=n), iterations=3)[0] for n in (1, 2))
    assert one.values.tobytes() == two.values.tobytes()


def test_factor_graph_answers_are_products_of_single_marginals(rng):
    joint = random_joint(ABCDE, rng)
    model = consistent_model(ABCDE, joint, [(a,) for a in ABCDE.attributes], kind="factor_graph")
    index = RegionIndex(model.marginals, model.total)
    for clique in (("a", "c"), ("b", "d", "e")):
        product = model.total
        for i, a in enumerate(clique):
            shape = [-1 if k == i else 1 for k in range(len(clique))]
            product = product * (reference.project(ABCDE, joint, (a,)) / model.total).reshape(shape)
        size = ABCDE.size(clique)
        uniform = local_answers(index, [clique], Clock(), [np.full(size, 1 / size)])[0].values * model.total
        for values in (
            model.project(clique, method="local").datavector(),
            model.project(clique, method="combined").datavector(),
            uniform,
        ):
            np.testing.assert_allclose(values, product.ravel(), atol=1e-7)
        np.testing.assert_allclose(model.project(clique, method="expanded").datavector(), product.ravel(), atol=1.0)


def test_expanded_goes_to_local_as_its_counting_number_goes_to_zero(rng):
    model = consistent_model(ABCDE, random_joint(ABCDE, rng), CYCLE)
    index = RegionIndex(model.marginals, model.total)
    local = local_answers(index, [("a", "c", "d")], Clock())[0].values
    apart = []
    for number in (0.3, 0.03, 0.003):
        (found,) = expanded_answers(model.graph, index, [("a", "c", "d")], Clock(), counting_number=number)
        apart.append(np.abs(found.values - local).sum())
    assert apart[0] > apart[1] > apart[2]
    assert apart[2] < 1e-2


def test_a_clique_all_of_whose_pairs_regions_hold_needs_no_tree(rng):
    model = consistent_model(ABCDE, random_joint(ABCDE, rng), list(itertools.combinations("abcd", 2)))
    answers = model.project_many([("c", "a", "b"), ("a", "b", "c", "d")])
    assert [a.method for a in answers] == ["local", "local"]
    assert model._bounded is None
    for answer in answers:
        own = model.project(answer.domain.attributes, method="local")
        np.testing.assert_array_equal(answer.values, own.values)
    mixed = model.project_many([("a", "e"), ("a", "b", "c"), ("a", "b", "e"), "e"])
    assert [a.method for a in mixed] == ["combined", "local", "combined", "combined"]
    np.testing.assert_array_equal(mixed[1].values, answers[0].transpose(("a", "b", "c")).values)


def test_chain_is_answered_exactly_through_the_middle(rng):
    joint = random_joint(ABCDE, rng)
    model = consistent_model(ABCDE, joint, [("a", "b"), ("b", "c")])
    ab, bc, b = (reference.project(ABCDE, joint, c) for c in (("a", "b"), ("b", "c"), ("b",)))
    through = np.einsum("ab,bc,b->ac", ab, bc, 1 / b)
    np.testing.assert_allclose(model.project(("c", "a")).values, through.T, rtol=1e-9)
    a, c = ab.sum(1), bc.sum(0)
    np.testing.assert_allclose(
        model.project(("a", "c"), method="local").values, np.outer(a, c) / model.total, rtol=1e-9
    )


def test_uniform_prior_makes_combined_local(rng):
    index = noisy_pairs(rng)
    uniform = np.full(27, 1 / 27)
    (a,) = local_answers(index, [("a", "b", "c")], Clock())
    (b,) = local_answers(index, [("a", "b", "c")], Clock(), [uniform])
    np.testing.assert_array_equal(a.values, b.values)


@pytest.mark.parametrize("method", [None, "combined", "local", "submodel", "expanded"])
def test_cliques_inside_a_region_are_read_off_it(method, rng):
    joint = random_joint(ABCDE, rng)
    model = consistent_model(ABCDE, joint, TRIPLES)
    for clique in (("c", "a"), ("d", "c", "b"), "e"):
        answer = model.project(clique, method=method)
        np.testing.assert_allclose(answer.values, reference.project(ABCDE, joint, clique), rtol=1e-12)
        assert answer.method == "region"
        assert answer.violation < 1e-12


def test_regions_that_disagree_are_told(rng):
    domain = Domain({"a": 2, "b": 2, "c": 2})
    graph = RegionGraph.factor_graph(domain, [("a", "b"), ("b", "c")])
    cells = {r: np.full(domain.size(r), 100 / domain.size(r)) for r in graph.regions}
    cells["a", "b"] = np.array([40.0, 20, 10, 30])
    model = RegionGraphModel(graph, CliqueVector(domain, graph.regions, np.concatenate(list(cells.values()))), 100)
    assert model.project("a").violation == pytest.approx(0.2)
    assert model.project("b").violation == 0.0


def test_tree_that_holds_all_regions_is_the_exact_model(rng):
    potentials = CliqueVector(ABCDE, [("a", "b", "c"), ("b", "c", "d"), ("d", "e")])
    potentials.values[:] = 2 * rng.normal(size=potentials.values.size)
    exact = pypgm.GraphicalModel(potentials, 500.0)
    graph = RegionGraph.junction_tree(ABCDE, potentials.cliques)
    tables = true_tables(ABCDE, reference.joint(reference.log_joint(potentials), 500.0), graph.regions)
    model = RegionGraphModel(graph, tables, 500.0)
    assert model.bounded_tree.holds_all
    for clique in (("a", "e"), ("c", "e", "a"), ("a", "d", "e", "b"), ABCDE.attributes):
        np.testing.assert_allclose(model.project(clique).values, exact.project(clique).values, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("method", ["combined", "submodel"])
def test_cycle_is_answered_as_by_the_exact_model(method, rng):
    joint = random_joint(ABCDE, rng)
    model = consistent_model(ABCDE, joint, CYCLE)
    small = Domain({a: ABCDE.size(a) for a in "abcd"})
    dense = reference.fitted(small, {c: reference.project(ABCDE, joint, c) for c in CYCLE}, model.total, sweeps=3000)
    wanted = reference.project(small, dense, ("a", "c"))
    np.testing.assert_allclose(model.project(("a", "c"), method=method).values, wanted, rtol=1e-6)
    assert np.abs(model.project(("a", "c"), method="local").values - wanted).sum() > 1


def test_all_methods_agree_with_what_regions_say_of_parts(rng):
    joint = random_joint(ABCDE, rng)
    model = consistent_model(ABCDE, joint, TRIPLES)
    for method, most in (("combined", 1e-9), ("local", 1e-9), ("submodel", 1e-6), ("expanded", 1e-2)):
        answer = model.project(("a", "c", "d", "b"), method=method)
        assert answer.violation < most
        assert answer.method == method
        bcd = answer.project(("b", "c", "d")).values
        np.testing.assert_allclose(bcd, reference.project(ABCDE, joint, ("b", "c", "d")), atol=2 * most * model.total)


def test_attributes_no_region_has_are_uniform_and_independent(rng):
    joint = random_joint(ABCDE, rng)
    model = consistent_model(ABCDE, joint, [("a", "b")])
    answer = model.project(("e", "a", "d"))
    a = reference.project(ABCDE, joint, ("a",))
    np.testing.assert_allclose(answer.values, np.broadcast_to(a[None, :, None] / 12, (3, 2, 4)), rtol=1e-12)
    np.testing.assert_allclose(model.project(("d", "e")).values, model.total / 12, rtol=1e-12)
    assert model.project(()).values == pytest.approx(model.total)


@given(st.integers(0, 2**32 - 1))
def test_structural_zeros_stay_exact(seed):
    rng = np.random.default_rng(seed)
    joint = random_joint(ABCDE, rng)
    cliques = list(itertools.combinations("abcde", 2))
    measured = [cliques[i] for i in rng.choice(len(cliques), 5, replace=False)]
    a, b = measured[0]
    forbidden = [slice(None)] * 5
    forbidden[ABCDE.index(a)], forbidden[ABCDE.index(b)] = 0, 1
    joint[tuple(forbidden)] = 0.0
    model = consistent_model(ABCDE, joint, measured)
    for c in "abcde":
        if c in (a, b):
            continue
        for method in ("combined", "local", "submodel"):
            table = model.project((a, b, c), method=method).values
            assert (table[0, 1] == 0.0).all()
            assert table.sum() == pytest.approx(joint.sum())


# The bounded tree.


def test_pairs_are_taken_that_join_attributes_then_those_for_which_the_tree_has_cells():
    domain = pypgm.Domain(dict.fromkeys("abcde", 2))
    ranked = [("a", "b"), ("a", "c"), ("b", "c"), ("a", "d"), ("c", "d")]
    forest = [("a", "b"), ("a", "c"), ("a", "d")]
    assert joined_within(domain, ranked, 1) == forest
    assert joined_within(domain, ranked, 14) == [*forest, ("b", "c")]  # cells abc and ad, and e
    assert joined_within(domain, ranked, 20) == [*forest, ("b", "c"), ("c", "d")]
    assert joined_within(domain, ranked, 20, clock=Clock(time_limit=1e-9)) == forest
    assert joined_within(domain, ranked, 1, kept=[("c", "d")]) == [("c", "d"), ("a", "b"), ("a", "c")]
    assert joined_within(domain, [], 1) == []


def test_tree_stays_within_its_cells_but_keeps_a_forest(rng):
    domain = Domain({f"x{i}": 10 for i in range(6)})
    pairs = list(itertools.combinations(domain.attributes, 2))
    joint = random_joint(domain, rng, spread=8.0)
    graph = RegionGraph.saturated(domain, pairs)
    index = RegionIndex(true_tables(domain, joint, graph.regions), joint.sum())
    for limit in (1, 600, 2000, 1e5, 1e6):
        plan = plan_bounded_tree(index, pairs, max_cells=limit)
        assert plan.tree.cost.cells <= max(limit, 500)
        assert len(plan.pairs) >= 5
        assert plan.holds_all == (limit == 1e6)
    measured = plan_bounded_tree(index, pairs[::-1], max_cells=500, kept=())
    assert measured.pairs == (pairs[14], pairs[13], pairs[11], pairs[8], pairs[4])
    kept = plan_bounded_tree(index, pairs, max_cells=500, kept=measured.pairs)
    assert kept.pairs == measured.pairs


def test_constraints_are_the_largest_shared_parts(rng):
    joint = random_joint(ABCDE, rng)
    index = RegionIndex(consistent_model(ABCDE, joint, TRIPLES).marginals, joint.sum())
    plan = plan_bounded_tree(index, TRIPLES, max_cells=1)
    for node in plan.tree.nodes:
        for region in TRIPLES:
            shared = set(node.clique) & set(region)
            assert not shared or any(shared <= set(c) for c in plan.tree.cliques)
    assert maximal(plan.tree.cliques) == sorted(plan.tree.cliques, key=len, reverse=True)


def test_fit_starts_where_the_last_one_ended(rng):
    joint = random_joint(ABCDE, rng)
    index = RegionIndex(consistent_model(ABCDE, joint, CYCLE).marginals, joint.sum())
    plan = plan_bounded_tree(index, CYCLE)
    first, realisable = fit_proportionally(plan, None, Clock())
    again, _ = fit_proportionally(plan, first, Clock(time_limit=1e-9))
    cold, _ = fit_proportionally(plan, None, Clock(time_limit=1e-9))
    assert realisable
    assert again.distance < 1e-7 < cold.distance


def test_targets_at_odds_are_fitted_by_least_squares():
    domain = Domain({"a": 2, "b": 2, "c": 2})
    equal, differ = np.array([50.0, 0, 0, 50]), np.array([0, 50.0, 50, 0])
    graph = RegionGraph.saturated(domain, [("a", "b"), ("a", "c"), ("b", "c")])
    cells = np.concatenate([equal, equal, differ, np.full(6, 50.0)])
    model = RegionGraphModel(graph, CliqueVector(domain, graph.regions, cells), 100.0)
    answer = model.project(("a", "b", "c"))
    assert np.isfinite(answer.values).all()
    assert answer.datavector().sum() == pytest.approx(100)
    # Each of the six tables with one pair violated is as good; symmetry makes all weigh the same.
    assert answer.violation > 0.1
    assert 0 < model.bounded_tree.distance < 1


def test_prior_that_rules_out_what_regions_need_is_doubted(rng):
    joint = random_joint(ABCDE, rng)
    model = consistent_model(ABCDE, joint, [("a", "b"), ("b", "c")])
    index = RegionIndex(model.marginals, model.total)

    class Blind:
        def marginals(self, cliques, *, n_threads=0):
            return [np.eye(2).ravel() for _ in cliques]

    (answer,) = combined_answers(index, Blind(), [("a", "c")], Clock())
    assert answer.violation < 1e-9
