"""Convex GBP: the optimum it finds, invariances, exactness on trees, structural zeros, refusals."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import cliques_of, domains, potentials_over

import pypgm
from pypgm import CliqueVector, Domain, Factor, ImpossibleEvidenceError, RegionGraph, _core, convex_gbp

TERNARY = Domain({f"x{i}": 3 for i in range(8)})
CYCLE = Domain({"a": 2, "b": 3, "c": 2})
RING = [("a", "b"), ("b", "c"), ("a", "c")]


def triples(rng, n, domain=TERNARY):
    return [tuple(rng.choice(domain.attributes, 3, replace=False)) for _ in range(n)]


def random_potentials(graph, seed, spread=1.0):
    vector = CliqueVector(graph.domain, graph.regions)
    vector.values[:] = np.random.default_rng(seed).normal(size=vector.values.size) * spread
    return vector


def value(graph, potentials, kappa, beliefs):
    """sum of <theta, b> + kappa H(b)."""
    total = 0.0
    for i in range(len(graph.regions)):
        b, theta = beliefs.table(i), potentials.table(i)
        positive = b > 0
        total += float(theta[positive] @ b[positive]) - kappa[i] * float(b[positive] @ np.log(b[positive]))
    return total


def violation(graph, beliefs):
    return [
        np.abs(beliefs[graph.regions[p]].project(graph.regions[c]).values - beliefs[graph.regions[c]].values).sum()
        for p, c in graph.edges
    ]


def constraints_of(graph):
    """Rows A and right sides c of the local polytope, A b = c over all tables: sums to 1, agreement along edges."""
    offsets = np.cumsum([0, *(graph.domain.size(r) for r in graph.regions)])
    rows = np.zeros((len(graph.regions), offsets[-1]))
    for i in range(len(graph.regions)):
        rows[i, offsets[i] : offsets[i + 1]] = 1.0
    blocks = [rows]
    for p, c in graph.edges:
        own = graph.domain.project(graph.regions[p])
        sums = [Factor(own, row).project(graph.regions[c]).datavector() for row in np.eye(own.size())]
        block = np.zeros((offsets[c + 1] - offsets[c], offsets[-1]))
        block[:, offsets[p] : offsets[p + 1]] = np.stack(sums, axis=1)
        block[:, offsets[c] : offsets[c + 1]] = -np.eye(len(block))
        blocks.append(block)
    every = np.concatenate(blocks)
    return every, np.where(np.arange(len(every)) < len(graph.regions), 1.0, 0.0)


def polished(tables, theta, weights, rows, sides):
    """Newton's steps on the dual of the entropy program from near its optimum, to what rounding leaves.

    Stationary beliefs are exp((theta - A'u) / kappa - 1), and the multipliers u those for which A b = c.
    """

    def solved(scale, right):
        hessian = (rows * scale) @ rows.T
        # Rows depend on each other; the right side lies in their span, where a ridge this small changes nothing.
        return np.linalg.solve(hessian + 1e-11 * np.trace(hessian) / len(rows) * np.eye(len(rows)), right)

    u = solved(np.ones(len(tables)), rows @ (theta - weights * (1 + np.log(tables))))
    for _ in range(20):
        b = np.exp((theta - rows.T @ u) / weights - 1)
        missed = rows @ b - sides
        if np.abs(missed).max() < 1e-13:
            break
        u += solved(b / weights, missed)
    assert np.abs(missed).max() < 1e-11
    return b


def solved_by_a_generic_solver(graph, potentials, kappa):
    """The entropy program itself, by an interior-point method; value and tables, the latter polished.

    The solver's stop bounds the value, and a value to 1e-7 leaves tables that are only known to about 1e-5.
    """
    cvxpy = pytest.importorskip("cvxpy")
    rows, sides = constraints_of(graph)
    theta, weights = potentials.values, np.repeat(kappa, [graph.domain.size(r) for r in graph.regions])
    b = cvxpy.Variable(rows.shape[1], nonneg=True)
    program = cvxpy.Problem(cvxpy.Maximize(theta @ b + weights @ cvxpy.entr(b)), [rows @ b == sides])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that it stops short of 1e-9: values are compared to 1e-6
        program.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    tables = polished(np.maximum(b.value, 1e-12), theta, weights, rows, sides)
    np.testing.assert_allclose(tables, b.value, atol=1e-4)
    return program.value, tables


@pytest.mark.slow
def test_a_cycle_reaches_the_optimum_of_a_generic_solver():
    graph = RegionGraph.saturated(CYCLE, RING)
    potentials = random_potentials(graph, 3, 2.0)
    kappa = np.random.default_rng(0).uniform(0.3, 3.0, len(graph.regions))
    best, tables = solved_by_a_generic_solver(graph, potentials, kappa)
    found = convex_gbp(potentials, graph, kappa, tolerance=1e-12)
    assert found.dual == pytest.approx(best, abs=1e-6)
    assert value(graph, potentials, kappa, found.marginals) == pytest.approx(best, abs=1e-6)
    np.testing.assert_allclose(found.marginals.values, tables, atol=1e-6)


@pytest.mark.slow
def test_thirty_triples_reach_the_optimum_of_a_generic_solver():
    graph = RegionGraph.saturated(TERNARY, triples(np.random.default_rng(5), 30))
    potentials = random_potentials(graph, 6)
    kappa = np.ones(len(graph.regions))
    best, tables = solved_by_a_generic_solver(graph, potentials, kappa)
    found = convex_gbp(potentials, graph, kappa, tolerance=1e-10)
    assert found.dual == pytest.approx(best, abs=1e-6)
    assert value(graph, potentials, kappa, found.marginals) == pytest.approx(best, abs=1e-6)
    np.testing.assert_allclose(found.marginals.values, tables, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_edges_and_schedule_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    cliques = triples(rng, 8)
    kappa = None if seed == 0 else rng.uniform(0.2, 3.0, 100)
    found = []
    for minimal in (False, True):
        graph = RegionGraph.saturated(TERNARY, cliques, minimal=minimal)
        potentials = random_potentials(graph, seed)
        own = None if kappa is None else kappa[: len(graph.regions)]
        for schedule in ("sequential", "parallel"):
            result = convex_gbp(potentials, graph, own, schedule=schedule, tolerance=1e-9, iterations=20_000)
            assert result.converged
            found.append(result)
    for other in found[1:]:
        np.testing.assert_allclose(other.marginals.values, found[0].marginals.values, atol=1e-6)
        assert other.dual == pytest.approx(found[0].dual, abs=1e-7)
        assert abs(other.gap) < 1e-6


def test_counting_numbers_change_the_answer_and_nothing_else_does():
    graph = RegionGraph.saturated(CYCLE, RING)
    potentials = random_potentials(graph, 0)
    plain = convex_gbp(potentials, graph)
    other = convex_gbp(potentials, graph, np.full(len(graph.regions), 2.0))
    assert np.abs(plain.marginals.values - other.marginals.values).max() > 1e-3
    parallel = convex_gbp(potentials, graph, schedule="parallel", damping=0.8, iterations=5)
    assert np.abs(parallel.state - convex_gbp(potentials, graph, schedule="parallel", iterations=5).state).max() > 1e-3


@given(st.data())
def test_beliefs_are_consistent_and_the_bounds_enclose_the_optimum(data):
    domain = data.draw(domains(least=2, most=5, largest=3))
    cliques = data.draw(cliques_of(domain, least=1, width=3).filter(any))
    graph = RegionGraph.saturated(domain, cliques)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    kappa = rng.uniform(0.3, 3.0, len(graph.regions))
    potentials = random_potentials(graph, rng.integers(2**32), 3.0)
    early = convex_gbp(potentials, graph, kappa, iterations=2)
    late = convex_gbp(potentials, graph, kappa, 50.0, tolerance=1e-9, iterations=5000)
    assert late.converged
    assert max(violation(graph, late.marginals), default=0.0) < 1e-5
    for i in range(len(graph.regions)):
        assert late.marginals.table(i).sum() == pytest.approx(50.0)
    best = value(graph, potentials, kappa, late.marginals / 50.0)
    assert late.dual == pytest.approx(best, abs=1e-5)
    # Sweeps never raise the dual value, and each result encloses the optimum.
    assert early.dual >= late.dual - 1e-9
    assert early.dual - early.gap <= best + 1e-6


def test_sequential_sweeps_never_raise_the_dual_value():
    graph = RegionGraph.saturated(TERNARY, triples(np.random.default_rng(1), 12))
    potentials = random_potentials(graph, 1, 5.0)
    state, duals = None, []
    for _ in range(15):
        result = convex_gbp(potentials, graph, iterations=1, state=state)
        state = result.state
        duals.append(result.dual)
    assert all(later <= earlier + 1e-9 for earlier, later in itertools.pairwise(duals))


def test_a_state_goes_on_where_another_call_ended():
    graph = RegionGraph.saturated(TERNARY, triples(np.random.default_rng(2), 10))
    potentials = random_potentials(graph, 2)
    first = convex_gbp(potentials, graph, iterations=4, tolerance=0)
    resumed = convex_gbp(potentials, graph, iterations=4, tolerance=0, state=first.state)
    whole = convex_gbp(potentials, graph, iterations=8, tolerance=0)
    np.testing.assert_allclose(resumed.marginals.values, whole.marginals.values, atol=1e-12)
    assert convex_gbp(potentials, graph, state=convex_gbp(potentials, graph, tolerance=1e-9).state).iterations <= 2


def test_one_clique_is_a_softmax_and_no_potentials_are_uniform():
    domain = Domain({"a": 3, "b": 2})
    graph = RegionGraph.saturated(domain, [("a", "b")])
    theta = np.arange(6.0)
    result = convex_gbp(CliqueVector(domain, [("a", "b")], theta), graph, [2.0], 10.0)
    np.testing.assert_allclose(result.marginals.values, 10 * np.exp(theta / 2) / np.exp(theta / 2).sum())
    ring = RegionGraph.factor_graph(CYCLE, RING)
    flat = convex_gbp(CliqueVector(CYCLE, ring.regions), ring)
    np.testing.assert_allclose(flat.marginals["a", "b"].values, 1 / 6)
    assert flat.gap == pytest.approx(0.0, abs=1e-12)


def test_gap_of_graphs_that_are_not_closed():
    chain = Domain({"a": 2, "b": 3, "c": 2, "d": 2})
    cliques = [("a", "b", "c"), ("b", "c", "d"), ("a", "d")]
    for graph in (RegionGraph.junction_tree(chain, cliques), RegionGraph.factor_graph(chain, cliques)):
        result = convex_gbp(random_potentials(graph, 4), graph, tolerance=1e-11, iterations=5000)
        assert abs(result.gap) < 1e-6


@settings(max_examples=30)
@given(st.data())
def test_structural_zeros_stay_exactly_zero_and_nothing_is_nan(data):
    domain = data.draw(domains(least=2, most=5, largest=3))
    cliques = data.draw(cliques_of(domain, least=1, width=3).filter(any))
    graph = RegionGraph.saturated(domain, cliques)
    potentials = data.draw(potentials_over(domain, graph.regions))
    potentials.values[:] = np.clip(
        potentials.values, -30, 30, where=np.isfinite(potentials.values), out=potentials.values
    )
    try:
        result = convex_gbp(potentials, graph, iterations=200)
    except ImpossibleEvidenceError:
        return
    assert np.isfinite(result.marginals.values).all()
    assert (result.marginals.values[np.isneginf(potentials.values)] == 0).all()
    # What a child rules out its parents rule out, and the other way round.
    for p, c in graph.edges:
        parent, child = graph.regions[p], graph.regions[c]
        below = result.marginals[child].values == 0
        above = result.marginals[parent].project(child).values == 0
        np.testing.assert_array_equal(below, above)


def test_the_same_bits_for_any_number_of_threads():
    domain = Domain({f"x{i}": 10 for i in range(40)})
    rng = np.random.default_rng(0)
    graph = RegionGraph.saturated(domain, triples(rng, 400, domain))
    potentials = random_potentials(graph, 0)
    one, two = (convex_gbp(potentials, graph, iterations=3, n_threads=n) for n in (1, 2))
    np.testing.assert_array_equal(one.marginals.values, two.marginals.values)
    np.testing.assert_array_equal(one.state, two.state)
    assert (one.dual, one.feasibility) == (two.dual, two.feasibility)


def test_impossible_zeros():
    potentials = CliqueVector(CYCLE, RING, np.zeros(6 + 6 + 4))
    potentials["a", "b"].values[0] = -np.inf
    potentials["a", "c"].values[1] = -np.inf
    with pytest.raises(ImpossibleEvidenceError, match="no weight"):
        convex_gbp(potentials, RegionGraph.saturated(CYCLE, RING))


TREE = [("x0", "x1"), ("x1", "x2", "x3"), ("x2", "x3", "x4"), ("x4", "x5")]
LOOP = [(f"x{i}", f"x{(i + 1) % 6}") for i in range(6)]


@pytest.mark.parametrize("kind", ["bethe", "tree_reweighted"])
def test_named_counting_numbers_are_exact_on_trees_and_near_on_cycles(kind):
    domain = TERNARY.project([f"x{i}" for i in range(6)])
    for seed in range(3):
        vector = CliqueVector(domain, TREE)
        vector.values[:] = np.random.default_rng(seed).normal(size=vector.values.size)
        exact = pypgm.marginals(vector)
        for graph in (RegionGraph.junction_tree(domain, TREE), RegionGraph.saturated(domain, TREE)):
            found = convex_gbp(vector, graph, kind, tolerance=1e-10, iterations=5000)
            assert found.converged
            for clique in TREE:
                np.testing.assert_allclose(found.marginals[clique].values, exact[clique].values, atol=1e-7)
            assert found.dual == pytest.approx(pypgm.JunctionTree(domain, TREE).log_partition(vector), abs=1e-6)
        loop = CliqueVector(domain, LOOP)
        loop.values[:] = np.random.default_rng(seed).normal(size=loop.values.size)
        graph, exact = RegionGraph.saturated(domain, LOOP), pypgm.marginals(loop)
        near, plain = (convex_gbp(loop, graph, k, iterations=5000).marginals for k in (kind, "ones"))
        apart = [max(np.abs(m[c].values - exact[c].values).max() for c in LOOP) for m in (near, plain)]
        assert apart[0] < 0.5 * apart[1]


def test_counting_numbers_by_name():
    graph = RegionGraph.saturated(CYCLE, RING)
    np.testing.assert_array_equal(graph.counting_numbers("ones"), np.ones(6))
    np.testing.assert_array_equal(graph.counting_numbers("bethe"), [1, 1, 1, -1, -1, -1])
    reweighted = graph.counting_numbers("tree_reweighted")
    # Every forest on a ring of three has two of its pairs, and counts each attribute once.
    assert reweighted[:3].sum() == pytest.approx(2.0)
    for a in CYCLE:
        assert sum(n for n, r in zip(reweighted, graph.regions, strict=True) if a in r) == pytest.approx(1.0)
    potentials = random_potentials(graph, 9)
    bound = convex_gbp(potentials, graph, "tree_reweighted", tolerance=1e-9, iterations=5000).dual
    joint = pypgm.JunctionTree(CYCLE, graph.regions).log_partition(potentials)
    assert bound >= joint
    with pytest.raises(ValueError, match="counting_numbers must be one of"):
        graph.counting_numbers("other")


def forest_by_scanning(scopes, start, used):
    """Grow a forest as the counting numbers do: of all regions that may join, the first by size and use."""
    taken, covered = [(start, frozenset())], set(scopes[start])
    while True:
        ranked = []
        for i, s in enumerate(scopes):
            shared = max((s & scopes[t] for t, _ in taken), key=len)
            if not s <= covered and s & covered == shared and (not shared or shared in scopes):
                ranked.append((-len(shared), -len(s), used[i], i, shared))
        if not ranked:
            return taken
        *_, best, shared = min(ranked, key=lambda r: r[:4])
        taken.append((best, shared))
        covered |= scopes[best]


def test_reweighted_numbers_are_the_means_over_forests():
    rng = np.random.default_rng(0)
    for _ in range(30):
        n = int(rng.integers(2, 9))
        domain = Domain([f"x{i}" for i in range(n)], [2] * n)
        scopes = [
            rng.choice(n, int(rng.integers(1, min(n, 4) + 1)), replace=False) for _ in range(int(rng.integers(1, 12)))
        ]
        cliques = [domain.names(sorted(map(int, scope))) for scope in scopes]
        for graph in (RegionGraph.saturated(domain, cliques), RegionGraph.factor_graph(domain, cliques)):
            regions = [frozenset(r) for r in graph.regions]
            roots = sorted(set(range(len(regions))) - {child for _, child in graph.edges})
            used, wanted = np.zeros(len(regions)), np.zeros(len(regions))
            for k in range(16):
                for region, shared in forest_by_scanning(regions, roots[k * len(roots) // 16], used.copy()):
                    wanted[region] += 1 / 16
                    used[region] += 1
                    if shared:
                        wanted[regions.index(shared)] -= 1 / 16
            np.testing.assert_array_equal(graph.counting_numbers("tree_reweighted"), wanted)


GRAPH = RegionGraph.saturated(CYCLE, RING)
ZERO = CliqueVector(CYCLE, RING)
BAD = {
    "kappa 0": (lambda: convex_gbp(ZERO, GRAPH, [1.0, 1.0, 0.0, 1.0, 1.0, 1.0]), r"\('b', 'c'\) has 0.0"),
    "kappa < 0": (lambda: convex_gbp(ZERO, GRAPH, [-1.0] * 6), r"\('a', 'b'\) has -1.0"),
    "kappa number": (lambda: convex_gbp(ZERO, GRAPH, [1.0]), "6 regions need as many counting numbers"),
    "scope": (lambda: convex_gbp(CliqueVector(CYCLE, [("a", "b", "c")]), GRAPH), "no region holds clique"),
    "domain": (lambda: convex_gbp(CliqueVector(TERNARY, ["x0"]), GRAPH), "region graph is over"),
    "nan": (lambda: convex_gbp(CliqueVector(CYCLE, ["a"], [np.nan, 0.0]), GRAPH), "NaN"),
    "damped": (lambda: convex_gbp(ZERO, GRAPH, damping=0.5), "needs no damping"),
    "state": (lambda: convex_gbp(ZERO, GRAPH, state=np.zeros(3)), "the state needs 14 finite messages"),
    "core: kappa": (lambda: _core.ConvexGbp(GRAPH.plan, np.zeros(6), np.zeros(GRAPH.cells)), "positive"),
    "core: potentials": (lambda: _core.ConvexGbp(GRAPH.plan, np.ones(6), np.zeros(3)), "potentials must hold"),
}


@pytest.mark.parametrize("name", BAD)
def test_refusals(name):
    call, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        call()


def test_exact_beliefs_where_the_graph_is_one_region():
    domain = Domain({"a": 2, "b": 2, "c": 2})
    vector = CliqueVector(domain, [("a", "b"), ("b", "c"), ("a", "b", "c")])
    vector.values[:] = np.random.default_rng(0).normal(size=vector.values.size)
    graph = RegionGraph.from_edges(domain, [("a", "b", "c")], [])
    exact = pypgm.marginals(vector)
    found = convex_gbp(vector, graph).marginals
    np.testing.assert_allclose(found["a", "b", "c"].values, exact["a", "b", "c"].values)


@pytest.mark.parametrize("schedule", ["sequential", "parallel"])
@pytest.mark.parametrize("numbers", [None, "bethe", "tree_reweighted"])
def test_potentials_further_apart_than_doubles(numbers, schedule):
    # Marginals of parents underflow, which is no structural zero.
    domain = Domain({"a": 2, "b": 2, "c": 2})
    vector = CliqueVector(domain, [("a", "b"), ("b", "c")], 1000.0 * np.arange(8))
    found = convex_gbp(vector, RegionGraph.saturated(domain, vector.cliques), numbers, schedule=schedule)
    assert found.converged
    assert found.dual == pytest.approx(10_000)
    for clique in vector.cliques:
        np.testing.assert_allclose(found.marginals[clique].values, pypgm.marginals(vector)[clique].values, atol=1e-12)


def test_a_structural_zero_among_counting_numbers_that_are_taken_back():
    domain = Domain({"a": 2, "b": 2, "c": 2})
    vector = CliqueVector(domain, [("a", "b"), ("b", "c")], [-np.inf, 0, 0, 0, 1, 2, 3, 4])
    found = convex_gbp(vector, RegionGraph.junction_tree(domain, vector.cliques), "bethe").marginals
    np.testing.assert_allclose(found["b"].values, pypgm.marginals(vector).project("b").values, atol=1e-6)
