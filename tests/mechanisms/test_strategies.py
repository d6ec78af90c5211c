"""Strategies of marginals, runs and contrasts: published errors, dense linear algebra, convex solvers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

import pypgm
from pypgm import Domain, queries, workloads
from pypgm.mechanisms.strategies import contrast_cost, contrast_strategy, energies, marginal_strategy, run_counts, runs
from pypgm.privacy import Privacy
from pypgm.queries import AllRange, Identity, Partition, Prefix
from pypgm.reconstruction import least_squares

CPS = pypgm.Domain({"a": 100, "b": 50, "c": 7, "d": 4, "e": 2})
ADULT = pypgm.Domain(list("abcdefghijklmn"), [85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2])
LOANS = pypgm.Domain(list("abcdefghijkl"), [101, 101, 101, 101, 3, 8, 36, 6, 51, 4, 5, 15])
FIRE = pypgm.Domain(list("abcdefghijklmno"), [2, 11, 15, 32, 5, 9, 2, 11, 42, 8, 8, 46, 12, 10, 28])
TITANIC = pypgm.Domain(list("abcdefghi"), [3, 3, 2, 91, 9, 7, 100, 3, 9])
MSNBC = pypgm.Domain({f"site_{i}": 18 for i in range(16)})
SMALL = pypgm.Domain({"a": 2, "b": 3, "c": 4})


def with_total(work):
    return workloads.Workload(work.domain, [(), *work])


# Xiao et al. 2023, tables of RMSE at privacy cost 1, which is rho = 1/2.
@pytest.mark.parametrize(
    ("domain", "figures"),
    [
        (CPS, (1.744, 2.035, 2.048, 2.276)),
        (ADULT, (3.047, 6.359, 10.515, 10.665)),
        (LOANS, (2.875, 5.634, 8.702, 8.876)),
    ],
)
def test_contrasts_have_the_published_errors(domain, figures):
    works = [workloads.all_k_way(domain, k) for k in (1, 2, 3)] + [with_total(workloads.up_to_k_way(domain, 3))]
    assert [round(contrast_strategy(w).rmse(w, 0.5), 3) for w in works] == list(figures)


@pytest.mark.parametrize(
    ("domain", "pairs", "triples"), [(FIRE, 7.59, 13.83), (TITANIC, 3.28, 4.39), (MSNBC, 10.07, 20.90)]
)
def test_contrasts_have_the_errors_of_the_closed_form(domain, pairs, triples):
    """The root of the mean over cells of the squared error of the optimum at rho = 1/2, by another calculation."""
    for k, figure in ((2, pairs), (3, triples)):
        work = workloads.all_k_way(domain, k)
        assert round(contrast_strategy(work).rmse(work, 0.5), 2) == figure


def marginal(domain, clique):
    """Return the 0/1 matrix that sums the full table to a marginal."""
    factors = [np.eye(n) if a in clique else np.ones((1, n)) for a, n in zip(domain, domain.shape, strict=True)]
    return kron(factors)


def contrast(domain, clique):
    """Return the orthonormal contrasts of a marginal, as a matrix on the full table."""
    factors = []
    for a, n in zip(domain, domain.shape, strict=True):
        basis = np.linalg.qr(np.column_stack([np.ones(n), np.eye(n)[:, 1:]]))[0].T[1:]
        factors.append(basis if a in clique else np.ones((1, n)))
    return kron(factors)


def kron(factors):
    product = np.ones((1, 1))
    for f in factors:
        product = np.kron(product, f)
    return product


def expected_error(work, strategy, rows, cost):
    """Return the summed squared error of the least squares answers at rho = 1, by dense linear algebra."""
    weighted = [
        answered(q, rows(work.domain, c)) * math.sqrt(2 * share / cost(c))
        for c, q, share in zip(strategy.cliques, strategy.queries, strategy.shares, strict=True)
    ]
    covariance = np.linalg.pinv(np.vstack(weighted).T @ np.vstack(weighted), rcond=1e-10)
    asked = np.vstack(
        [
            math.sqrt(w) * answered(q, marginal(work.domain, c)[in_order(work.domain, c)])
            for c, q, w in zip(work, work.queries, work.weights, strict=True)
        ]
    )
    return np.trace(asked @ covariance @ asked.T)


def in_order(domain, clique):
    """Return the position of each cell of a clique among those of its attributes in the domain's order."""
    own = domain.canonical(clique)
    cells = np.arange(domain.size(clique)).reshape(domain.sizes(own))
    return cells.transpose([own.index(a) for a in clique]).ravel()


def answered(query, rows):
    """Return a query of the answers that rows give."""
    return rows if query is None else query.to_sparse() @ rows


WORKS = [
    workloads.all_k_way(SMALL, 2),
    workloads.up_to_k_way(SMALL, 3),
    workloads.Workload(SMALL, [("c", "a"), "b", "a"], weights=[3, 1, 0.5]),
]


@pytest.mark.parametrize("work", WORKS)
def test_the_error_is_that_of_least_squares(work):
    found = contrast_strategy(work)
    cost = {c: contrast_cost(SMALL, c, Privacy()) for c in found.cliques}
    assert found.squared_error == pytest.approx(expected_error(work, found, contrast, cost.get), rel=1e-9)
    found = marginal_strategy(work)
    assert found.squared_error == pytest.approx(expected_error(work, found, marginal, lambda _: 1), rel=1e-9)
    for strategy in (found, contrast_strategy(work)):
        assert strategy.shares.sum() == pytest.approx(1)
        assert strategy.shares.min() > 0


@pytest.mark.parametrize("work", WORKS)
def test_shares_of_marginals_are_the_convex_optimum(work):
    found = marginal_strategy(work, tolerance=1e-6)
    cliques = [c for k in range(4) for c in itertools.combinations(SMALL.attributes, k)]

    def error(logs):
        shares = np.exp(logs - np.logaddexp.reduce(logs))
        rows = np.vstack([marginal(SMALL, c) * math.sqrt(2 * s) for c, s in zip(cliques, shares, strict=True)])
        asked = np.vstack([math.sqrt(w) * marginal(SMALL, c) for c, w in zip(work, work.weights, strict=True)])
        return np.trace(asked @ np.linalg.pinv(rows.T @ rows, rcond=1e-12) @ asked.T)

    peer = optimize.minimize(error, np.zeros(len(cliques)), options={"maxiter": 300})
    assert found.relative_gap <= 2e-6
    assert found.squared_error <= peer.fun * (1 + 1e-5)
    assert contrast_strategy(work).squared_error <= found.squared_error * (1 + 1e-9)


POWERS_OF_TWO = pypgm.Domain({"a": 8, "b": 3, "c": 4})
RANGED = [
    workloads.ranges(POWERS_OF_TWO, ["a"], ["a"]),
    workloads.prefixes(POWERS_OF_TWO, workloads.all_k_way(POWERS_OF_TWO, 2), ["a", "c"]),
    workloads.ranges(POWERS_OF_TWO, [("a", "b", "c"), ("b", "a"), "c"], ["c", "a"]),
    workloads.from_queries(POWERS_OF_TWO, [("a", Prefix(8)), ("a", AllRange(8)), (("a", "b"), None)]),
]


@pytest.mark.parametrize("work", RANGED)
def test_the_error_with_runs_is_that_of_least_squares(work):
    found = marginal_strategy(work)
    assert any(isinstance(q, Partition) for q in found.queries)
    assert found.squared_error == pytest.approx(expected_error(work, found, marginal, lambda _: 1), rel=1e-9)
    cells = marginal_strategy(workloads.Workload(work.domain, work.cliques, weights=work.weights))
    assert found.squared_error < expected_error(work, cells, marginal, lambda _: 1)


@pytest.mark.parametrize("size", [5, 7, 13, 50, 101])
@pytest.mark.parametrize("kind", [workloads.prefixes, workloads.ranges])
def test_runs_of_different_lengths_change_the_error_little(kind, size):
    domain = pypgm.Domain({"a": size})
    work = kind(domain, ["a"], ["a"])
    found = marginal_strategy(work)
    true = expected_error(work, found, marginal, lambda _: 1)
    assert found.squared_error == pytest.approx(true, rel=0.04 if size < 32 else 0.02)
    # No unbiased answers err less than the singular values of the workload say.
    singular = np.linalg.svd(work.queries[0].to_sparse().toarray(), compute_uv=False)
    assert 1 <= true / (singular.sum() ** 2 / size / 2) < 1.2**2


@given(st.integers(1, 40), st.sampled_from([Prefix, AllRange, Identity, None]))
def test_energies_are_traces_of_projections(size, kind):
    counts = run_counts(size) if size > 1 else [1]
    query = None if kind is None else kind(size)
    asked = np.eye(size) if query is None else query.to_sparse().toarray()
    seen = []
    for count in counts:
        indicator = runs(size, count).to_sparse().toarray()
        projection = indicator.T @ (indicator / indicator.sum(1, keepdims=True))
        seen.append(np.trace(asked @ projection @ asked.T))
    np.testing.assert_allclose(energies(query, size, counts), np.diff([0, *seen]), rtol=1e-9, atol=1e-6)


@given(st.integers(2, 200))
def test_each_number_of_runs_divides_those_before(size):
    counts = run_counts(size)
    assert counts[0] == 1
    assert counts[-1] == size
    for few, many in itertools.pairwise(counts):
        coarse, fine = runs(size, few).groups, runs(size, many).groups
        assert np.unique(np.stack([coarse, fine]), axis=1).shape[1] == many
        assert np.bincount(fine).min() >= size // many


def test_one_marginal_is_measured_whole():
    work = workloads.Workload(SMALL, [("a", "b", "c")])
    found = marginal_strategy(work)
    assert found.cliques == (("a", "b", "c"),)
    assert [found.rmse(work, 0.5), contrast_strategy(work).rmse(work, 0.5)] == pytest.approx([1, 1])


def test_the_number_of_records_is_measured_alone():
    work = workloads.Workload(SMALL, [()])
    for strategy in (marginal_strategy, contrast_strategy):
        assert strategy(work).cliques == ((),)
        assert strategy(work).rmse(work, 0.5) == pytest.approx(1)


@pytest.mark.parametrize("work", WORKS)
def test_the_error_is_that_of_least_squares_answers_to_noise(work):
    found, rng = marginal_strategy(work), np.random.default_rng(0)
    squared = []
    for _ in range(400):
        noise = [
            pypgm.LinearMeasurement(rng.normal(0, s, SMALL.size(c)), c, s)
            for c, s in zip(found.cliques, np.sqrt(0.5 / found.shares), strict=True)
        ]
        answers = least_squares(SMALL, noise)
        errors = [(answers.project(c).values ** 2).sum() for c in work]
        squared.append(float(np.dot(np.array(work.weights, float), errors)))
    spread = np.std(squared) / len(squared) ** 0.5
    assert abs(np.mean(squared) - found.squared_error) < 4 * spread < 0.2 * found.squared_error


def test_many_attributes_take_no_tables():
    domain = pypgm.Domain({f"x{i}": 2 + i % 9 for i in range(40)})
    found = marginal_strategy(workloads.all_k_way(domain, 3))
    assert found.relative_gap <= 2.1e-3
    assert contrast_strategy(workloads.all_k_way(domain, 3)).squared_error < found.squared_error


@pytest.mark.parametrize("clique", [(), ("a",), ("a", "b"), ("a", "b", "c")])
@pytest.mark.parametrize("people", [1, 3])
def test_costs_are_the_largest_distance_of_neighbours(clique, people):
    rows = contrast(SMALL, clique)
    columns = rows.T
    alone = max(float((c**2).sum()) for c in columns)
    apart = max(float(((c - d) ** 2).sum()) for c in columns for d in columns)
    assert contrast_cost(SMALL, clique, Privacy(records_per_person=people)) == pytest.approx(people**2 * alone)
    assert contrast_cost(SMALL, clique, Privacy("replace", people)) == pytest.approx(people**2 * apart, abs=1e-12)


def test_the_public_number_of_records_is_not_measured():
    work = workloads.all_k_way(SMALL, 2)
    assert () in contrast_strategy(work).cliques
    assert () not in contrast_strategy(work, Privacy("replace")).cliques


def test_queries_that_no_strategy_is_for_are_refused():
    with pytest.raises(ValueError, match="every cell"):
        contrast_strategy(workloads.prefixes(SMALL, ["c"], ["c"]))
    with pytest.raises(ValueError, match=r"product of queries, one for each attribute of \('a', 'b'\)"):
        marginal_strategy(workloads.from_queries(SMALL, [(("a", "b"), Prefix(6))]))


def test_a_total_of_many_tables_is_nearly_the_best_in_little_time(monkeypatch):
    domain = Domain({"a": 50, "b": 50})
    found = marginal_strategy(workloads.prefixes(domain, [("a", "b")], ["a", "b"]))
    own = [i for i, clique in enumerate(found.cliques) if len(clique) == 2]
    both = queries.Union([found.queries[i] or queries.Identity(2500) for i in own])
    noise = both.spread(found.shares[own] ** -0.5)
    solved = both.total_weights(noise)
    monkeypatch.setattr("pypgm.queries.union._MOST_SOLVED", 0)
    quick = both.total_weights(noise)
    np.testing.assert_allclose(both.rmatvec(quick), 1.0)
    assert np.square(quick * noise).sum() == pytest.approx(np.square(solved * noise).sum(), rel=0.01)


def test_tables_that_do_not_fit_are_refused():
    domain = Domain({"a": 20_000, "b": 20_000})
    work = workloads.prefixes(domain, [("a", "b")], ["a", "b"])
    with pytest.raises(pypgm.ModelTooLargeError, match=r"measures \d+ tables in runs of .* cells; .* in wider bins"):
        marginal_strategy(work)
