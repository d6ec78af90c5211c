"""Approximate answers: bounds that hold, draws and regions near the joint table, warnings where they are not."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
import reference
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_models import causes, evidence_on, ising, models

from pypgm import (
    ApproximationWarning,
    CliqueVector,
    Domain,
    ImpossibleEvidenceError,
    ModelTooLargeError,
    RegionGraph,
    convex_gbp,
    read_uai,
)
from pypgm.inference import approximate
from pypgm.inference.approximate import approximated, best_found, short_cycles
from pypgm.inference.blankets import Blankets
from pypgm.inference.conditioned import Component
from pypgm.inference.mini_buckets import MiniBuckets, bucket_scopes, min_fill_order
from pypgm.mrf import MarkovRandomField

CELLS = [1, 4, 16, 2**12]


def ordered(potentials):
    return min_fill_order(len(potentials.domain), potentials.scopes)


@settings(max_examples=80)
@given(models(most=5), st.sampled_from(CELLS))
def test_mini_buckets_bound_log_z_and_the_largest_weight(potentials, cells):
    table = reference.log_joint(potentials)
    log_z, largest = reference.log_sum_exp(table), table.max(initial=-np.inf)
    buckets = MiniBuckets(potentials, ordered(potentials), cells)
    assert buckets.log_bound >= log_z - 1e-9 * (1 + abs(log_z)) or log_z == -np.inf
    if buckets.is_exact:
        assert buckets.log_bound == pytest.approx(log_z, rel=1e-9, abs=1e-9)
    most = MiniBuckets(potentials, ordered(potentials), cells, maximum=True)
    assert most.log_bound >= largest - 1e-9 * (1 + abs(largest)) or largest == -np.inf
    if most.is_exact and largest > -np.inf:
        assert table[tuple(most.decode())] == pytest.approx(largest, rel=1e-9, abs=1e-9)


@settings(max_examples=60)
@given(models(most=5), st.sampled_from(CELLS))
def test_draws_have_their_weights_and_none_is_above_the_bound(potentials, cells):
    buckets = MiniBuckets(potentials, ordered(potentials), cells)
    if buckets.log_bound == -np.inf:
        return
    draws, table = buckets.draw(50, np.random.default_rng(0)), reference.log_joint(potentials)
    np.testing.assert_allclose(buckets.log_weights(draws.codes), table[tuple(draws.codes)], rtol=1e-9, atol=1e-9)
    slack = 1e-9 * (1 + np.abs(potentials.values[np.isfinite(potentials.values)]).sum())
    assert draws.log_weights.max() <= draws.log_bound + slack
    if draws.log_weights.max() > -np.inf:
        low, high = draws.interval()
        assert low <= draws.log_z <= high + slack


@settings(max_examples=40)
@given(models(most=5), st.sampled_from(CELLS), st.data())
def test_marginals_of_draws_are_the_means_given_the_other_attributes(potentials, cells, data):
    """With the sum of the squared standard errors of their cells."""
    buckets = MiniBuckets(potentials, ordered(potentials), cells)
    draws = buckets.draw(50, np.random.default_rng(0)) if buckets.log_bound > -np.inf else None
    if draws is None or draws.log_weights.max() == -np.inf:
        return
    table, shape = reference.log_joint(potentials), potentials.domain.shape
    scope = data.draw(st.lists(st.sampled_from(range(len(shape))), min_size=1, max_size=3, unique=True))
    terms = []
    for codes, weight in zip(draws.codes.T, draws.weights, strict=True):
        cells = np.zeros([shape[a] for a in scope])
        if weight:
            row = table[tuple(slice(None) if a == scope[0] else c for a, c in enumerate(codes))]
            cells[(slice(None), *codes[scope[1:]])] = np.exp(row - reference.log_sum_exp(row))
        terms.append(cells.ravel())
    wanted = draws.weights @ np.array(terms)
    found, squares = Blankets(potentials).marginal(draws, scope)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-9)
    assert squares == pytest.approx(draws.weights**2 @ ((terms - wanted) ** 2).sum(axis=1), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("coupling", [0.3, 2.0])
def test_regions_and_draws_are_told_apart(coupling):
    """The better one is taken, unless both are about as good: few draws are worse than regions, many are better."""
    field = ising(5, coupling=coupling)
    exact = field.marginals()
    for n_draws in (300, 30_000):
        options = {"n_draws": n_draws, "rng": 0}
        by = {o: approximated(field.potentials, o, **options) for o in ("region_graph", "sampling")}
        far = {o: sum(((f.project((a,)) - exact[a].values) ** 2).sum() for a in exact) for o, f in by.items()}
        taken = "sampling" if by["region_graph"].is_worse_than_draws() else "region_graph"
        assert far[taken] <= 4 * min(far.values())


def test_the_mean_weight_is_z_and_the_interval_holds_it():
    field = ising(4, coupling=1.5)
    log_z = field.log_partition()
    buckets = MiniBuckets(field.potentials, ordered(field.potentials), 4)
    assert not buckets.is_exact
    held, means = 0, []
    for seed in range(40):
        draws = buckets.draw(500, np.random.default_rng(seed))
        low, high = draws.interval()
        held += low <= log_z <= high
        means.append(np.exp(draws.log_weights - log_z).mean())
    assert held >= 38
    assert abs(np.mean(means) - 1) < 4 * np.std(means) / math.sqrt(40)


def test_an_order_adds_few_edges_and_buckets_hold_every_table():
    rng = np.random.default_rng(0)
    for _ in range(20):
        n = int(rng.integers(2, 12))
        scopes = [rng.choice(n, min(n, int(rng.integers(1, 4))), replace=False).tolist() for _ in range(n)]
        order = min_fill_order(n, scopes)
        assert sorted(order) == list(range(n))
        found = bucket_scopes([2] * n, scopes, order, 8)
        assert all(any(set(s) <= set(b) for b in found) for s in scopes)
        assert all(2 ** len(b) <= 8 for b in found)
    tree = [(i, (i - 1) // 2) for i in range(1, 31)]
    assert max(map(len, bucket_scopes([2] * 31, tree, min_fill_order(31, tree), 2**31))) == 2


def test_short_cycles_close_every_cycle():
    rng = np.random.default_rng(1)
    for _ in range(20):
        pairs = [p for p in itertools.combinations(range(8), 2) if rng.random() < 0.4]
        cycles = short_cycles(8, pairs)
        assert all(3 <= len(c) <= 4 for c in cycles)
        # Over the field of two elements the cycles' edges and chords span the space of all cycles.
        edges = {frozenset(p) for p in pairs} | {
            frozenset(e) for c in cycles for e in zip(c, (*c[1:], c[0]), strict=True)
        }
        index = {e: i for i, e in enumerate(sorted(edges, key=sorted))}
        rows = [sum(1 << index[frozenset(e)] for e in zip(c, (*c[1:], c[0]), strict=True)) for c in cycles]
        rank = 0
        while rows:
            row = rows.pop()
            if row:
                rank += 1
                rows = [r ^ row if r & (row & -row) else r for r in rows]
        components = len({min(reach(v, edges)) for v in range(8)})
        assert rank == len(edges) - 8 + components


def reach(vertex, edges):
    found, waiting = {vertex}, [vertex]
    while waiting:
        v = waiting.pop()
        more = {w for e in edges if v in e for w in e} - found
        found |= more
        waiting += more
    return found


@settings(max_examples=25)
@given(st.data())
def test_any_oracle_answers_with_any_evidence(data):
    """Probabilities, zero where they are zero, and exact on what is a tree."""
    potentials = data.draw(models(most=4))
    evidence, likelihoods = data.draw(evidence_on(potentials.domain))
    table = reference.with_evidence(potentials.domain, reference.log_joint(potentials), likelihoods)
    field, log_z = MarkovRandomField(potentials), reference.log_sum_exp(table)
    probabilities = reference.joint(table) if log_z > -np.inf else None
    for oracle in ("region_graph", "sampling", "auto"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ApproximationWarning)
            if log_z == -np.inf:
                with pytest.raises(ImpossibleEvidenceError):
                    field.approximation(evidence, oracle=oracle)
                continue
            found = field.approximation(evidence, oracle=oracle)
        assert list(found.marginals) == list(potentials.domain)
        assert found.log_z_bound >= log_z - 1e-9 * (1 + abs(log_z))
        for a, marginal in found.marginals.items():
            wanted = reference.project(potentials.domain, probabilities, (a,))
            assert marginal.values.sum() == pytest.approx(1)
            assert (marginal.values[wanted == 0] < 1e-9).all()
            if oracle == "auto":
                np.testing.assert_allclose(marginal.values, wanted, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("coupling", [0.5, 1.0])
def test_cycles_mend_what_pairs_miss(coupling):
    field = ising(6, coupling=coupling)
    exact, log_z = field.marginals(), field.log_partition()
    found = field.approximation(oracle="region_graph")
    assert found.converged
    assert found.oracle == "region_graph"
    assert abs(found.log_z - log_z) < 0.05
    assert found.log_z_interval[0] <= log_z <= found.log_z_interval[1] <= found.log_z_bound + 1e-12
    assert max(np.abs(found.marginals[a].values - exact[a].values).max() for a in exact) < 0.02
    by_draws = field.approximation(oracle="sampling")
    assert max(np.abs(by_draws.marginals[a].values - exact[a].values).max() for a in exact) < 0.03
    pair = ("0,0", "5,5")
    for oracle in ("region_graph", "sampling"):
        joint = field.query(pair, {"2,2": 1}, oracle=oracle)
        assert joint.domain.attributes == pair
        np.testing.assert_allclose(joint.values, field.query(pair, {"2,2": 1}).values, atol=0.02)


def test_a_network_and_a_field_too_wide_are_answered_by_name():
    net = causes(25, 25, 5)
    record = net.sample(1, rng=3)
    evidence = {f"f{i}": int(record.columns[f"f{i}"][0]) for i in range(12)}
    row = {a: [v] for a, v in evidence.items()}
    calls = {
        "marginals": lambda oracle: net.marginals(evidence, oracle=oracle)["d3"].values,
        "query": lambda oracle: net.query("d3", evidence, oracle=oracle).values,
        "pair": lambda oracle: net.query(("d3", "f20"), evidence, oracle=oracle).values.sum(axis=1),
        "predict": lambda oracle: net.predict_proba(row, "d3", oracle=oracle)["d3"][0],
    }
    wanted = calls["query"]("auto")
    for name, call in calls.items():
        for oracle in ("region_graph", "sampling", "auto"):
            np.testing.assert_allclose(call(oracle), wanted, atol=0.03, err_msg=f"{name} by {oracle}")
    for oracle in ("sampling", "auto"):
        column = net.sample(4000, 0, evidence=evidence, oracle=oracle).columns["d3"]
        np.testing.assert_allclose(np.bincount(column, minlength=2) / 4000, wanted, atol=0.03)
    exact = net.log_probability(evidence)
    for oracle in ("region_graph", "sampling", "auto"):
        assert net.log_probability(evidence, oracle=oracle) == pytest.approx(exact, abs=0.3)
        frame = {a: [v, None] for a, v in evidence.items()}
        np.testing.assert_allclose(net.log_likelihood(frame, oracle=oracle)[0], exact, atol=0.3)


def test_a_grid_too_wide_names_an_oracle_that_answers():
    field = ising(30)
    with pytest.raises(ModelTooLargeError, match='oracle="auto"'):
        field.marginals()
    found = field.approximation()
    assert found.converged
    low, high = found.log_z_interval
    assert low <= found.log_z <= high <= found.log_z_bound
    assert field.log_partition(oracle="auto") == found.log_z
    with pytest.warns(ApproximationWarning, match="none has more than"):
        values, log_weight = field.map(oracle="auto")
    assert log_weight == pytest.approx(field.log_partition(values))
    codes = np.array(list(values.values()))
    assert (Blankets(field.potentials).climbed(codes) == codes).all()


def test_the_best_values_are_the_most_probable_ones_where_the_bound_says_so():
    for seed in range(8):
        field = ising(4, seed, coupling=2)
        codes, log_weight, bound = best_found(field.potentials)
        assert bound >= log_weight - 1e-9
        if bound <= log_weight + 1e-9:
            assert dict(zip(field.domain, codes.tolist(), strict=True)) == field.map()[0]


def too_wide(field, monkeypatch, least=0):
    """Refuse the exact answers of a field, and of its components of so many attributes or more."""
    field._answers.fits = False
    for name in ("marginals", "draw", "map"):
        setattr(field._answers, name, _too_large)
    monkeypatch.setattr(Component, "fits", lambda self, _: len(self.frame.domain) < least)


def side_by_side(fields):
    """Return the field of the attributes of several, and the fields, by names of their own."""
    parts = []
    for k, field in enumerate(fields):
        names = {a: f"{k}:{a}" for a in field.domain}
        domain = Domain(list(names.values()), field.domain.shape)
        cliques = [[names[a] for a in clique] for clique in field.cliques]
        parts.append(MarkovRandomField(CliqueVector(domain, cliques, field.potentials.values)))
    domain = Domain({a: part.domain[a] for part in parts for a in part.domain})
    cliques = [clique for part in parts for clique in part.cliques]
    return MarkovRandomField(CliqueVector(domain, cliques, np.concatenate([p.potentials.values for p in parts]))), parts


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(models(least=1, most=5, zeros=False), st.integers(0, 100))
def test_only_the_components_that_do_not_fit_are_approximated(monkeypatch, small, seed):
    few = MarkovRandomField(
        CliqueVector(small.domain, small.cliques, 3 * small.values / np.abs(small.values).max(initial=1))
    )
    whole, parts = side_by_side([few, ising(3, seed, coupling=1), few, ising(3, seed + 1)])
    log_z = sum(part.log_partition() for part in parts)
    corner, at = "1:0,0", f"2:{small.domain.attributes[0]}"
    evidence = {at: 0, corner: 1}
    given = [{a: v for a, v in evidence.items() if a in part.domain} for part in parts]
    with monkeypatch.context() as patched:
        too_wide(whole, patched, least=9)
        patched.setattr(approximate, "_BUCKET_CELLS", (8,))  # else draws would be exact
        found = whole.approximation()
        assert found.oracle != "exact"
        assert found.log_z == pytest.approx(log_z, abs=0.1)
        assert found.log_z_interval[0] <= log_z <= found.log_z_interval[1]
        assert log_z <= found.log_z_bound + 1e-9
        for k in (0, 2):
            for a, table in parts[k].marginals().items():
                np.testing.assert_allclose(found.marginals[a].values, table.values, atol=1e-12)
        for k in (1, 3):
            for a, table in parts[k].marginals().items():
                np.testing.assert_allclose(found.marginals[a].values, table.values, atol=0.02)
        # Attributes of different components are independent; those that are known stay known.
        targets = ("3:1,1", at, "1:1,1", f"0:{small.domain.attributes[0]}", corner)
        joint = whole.query(targets, evidence, oracle="auto")
        assert joint.domain.attributes == targets
        for a in targets:
            k = int(a[0])
            wanted = (
                parts[k].query(a, given[k]).values
                if a not in evidence
                else np.eye(1, whole.domain.size(a), evidence[a])[0]
            )
            np.testing.assert_allclose(joint.project(a).values, wanted, atol=0.02)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ApproximationWarning)  # the bound may not prove it
            values, log_weight = whole.map(evidence, oracle="auto")
        best = [part.map(known) for part, known in zip(parts, given, strict=True)]
        assert log_weight == pytest.approx(sum(weight for _, weight in best), abs=1e-9)
        assert log_weight == pytest.approx(whole._answers.log_partition(values), abs=1e-9)


def test_records_of_components(monkeypatch):
    whole, parts = side_by_side([ising(2, 1), ising(3, 2), ising(3, 3)])
    evidence = {"1:0,0": 1, "0:0,0": 0}
    wanted = {
        a: t.values
        for part in parts
        for a, t in part.marginals({k: v for k, v in evidence.items() if k in part.domain}).items()
    }
    too_wide(whole, monkeypatch, least=9)
    records = whole._answers.records(4000, np.random.default_rng(0), evidence, "auto")
    assert set(records) == set(whole.domain)
    drawn = whole.synthetic_data(3000, 1, evidence=evidence).columns
    for a, column in records.items():
        np.testing.assert_allclose(np.bincount(drawn[a], minlength=2) / 3000, wanted[a], atol=0.03)
        np.testing.assert_allclose(np.bincount(column, minlength=2) / 4000, wanted[a], atol=0.03)


def test_what_no_component_makes_possible_is_refused(monkeypatch):
    impossible = CliqueVector(Domain({"x": 2, "y": 2}), [("x", "y")], [-np.inf, 0.0, -np.inf, 0.0])
    whole, _ = side_by_side([ising(3), MarkovRandomField(impossible)])
    too_wide(whole, monkeypatch, least=9)
    calls = [whole.approximation, lambda e: whole.map(e, oracle="auto")]
    calls.append(lambda e: whole._answers.records(5, np.random.default_rng(0), e, "auto"))
    for call in calls:
        with pytest.raises(ImpossibleEvidenceError, match="1:y"):
            call({"1:y": 0})


def test_a_limit_of_memory_is_one_of_exact_answers():
    field = ising(4)
    with pytest.raises(ModelTooLargeError, match="junction tree"):
        field.approximation(oracle="exact", max_bytes=100)
    assert field.approximation(oracle="exact", max_bytes=1e6).oracle == "exact"
    assert field.approximation(max_bytes=1e6).oracle == "exact"


def test_the_best_values_are_found_where_no_bound_proves_it(monkeypatch):
    """Strong couplings of random signs between all attributes, of which all joint values can be tried."""
    monkeypatch.setattr(approximate, "_BUCKET_CELLS", (8,))
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(12)]
    pairs = list(itertools.combinations(names, 2))
    for _ in range(6):
        values = [np.outer(x, [1, -1]).ravel() for x in rng.normal(size=(len(pairs), 2)) * 2]
        potentials = CliqueVector(Domain(names, [2] * 12), pairs, np.concatenate(values))
        codes, log_weight, bound = best_found(potentials)
        table = reference.log_joint(potentials)
        assert log_weight == pytest.approx(table.max())
        assert table[tuple(codes)] == pytest.approx(log_weight)
        assert bound > log_weight


@pytest.mark.parametrize(("name", "worst"), [("Grids_14", 0.05), ("Promedus_34", 0.05), ("CSP_12", 0.06)])
def test_problems_of_a_competition(data_dir, name, worst, monkeypatch):
    """Where message passing alone is wrong by tens of nats, "auto" takes the draws."""
    potentials = read_uai(data_dir / "uai" / f"{name}.uai.gz")
    evidence = _pairs((data_dir / "uai" / f"{name}.uai.evid").read_text())
    log_z = float((data_dir / "uai" / f"{name}.uai.PR").read_text().split()[1]) * math.log(10)
    numbers = iter((data_dir / "uai" / f"{name}.uai.MAR").read_text().split()[2:])
    truth = [[float(next(numbers)) for _ in range(int(next(numbers)))] for _ in potentials.domain]
    field = MarkovRandomField(potentials)
    too_wide(field, monkeypatch)
    found = field.approximation(evidence)
    assert found.converged
    assert found.log_z == pytest.approx(log_z, abs=0.5)
    assert found.log_z_interval[0] <= log_z <= found.log_z_interval[1] <= found.log_z_bound
    errors = [np.abs(found.marginals[a].values - t).max() for a, t in zip(potentials.domain, truth, strict=True)]
    assert np.mean(errors) < worst


def _too_large(*_, **__):
    raise ModelTooLargeError


def _pairs(text):
    words = [int(w) for w in text.split()]
    words = words[1:] if len(words) % 2 else words[2:]
    return {str(a): v for a, v in zip(words[::2], words[1::2], strict=True)}


def test_what_nothing_can_answer_is_doubted(monkeypatch):
    """Strong couplings of random signs between all attributes."""
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(40)]
    pairs = list(itertools.combinations(names, 2))
    values = [x * np.outer([1, -1], [1, -1]).ravel() for x in rng.normal(size=len(pairs)) * 1.5]
    field = MarkovRandomField(CliqueVector(Domain(names, [2] * 40), pairs, np.concatenate(values)))
    monkeypatch.setattr(approximate, "_REGION_CELLS", ())  # finer graphs take long, and say no more
    for oracle in ("sampling", "region_graph"):
        with pytest.warns(ApproximationWarning, match="may be far"):
            found = field.approximation(oracle=oracle)
        assert not found.converged
        assert found.log_z_interval[1] - found.log_z_interval[0] > 1


# The double loop of message passing.


@pytest.mark.parametrize("coupling", [0.2, 1.0, 2.0])
@pytest.mark.parametrize("tolerance", [1e-6, 1e-4])
def test_what_ends_the_loop_is_what_is_reported(coupling, tolerance):
    field = ising(8, coupling=coupling)
    cycles = [field.domain.names(sorted(c)) for c in short_cycles(64, field.potentials.scopes)]
    graph = RegionGraph.saturated(field.domain, field.cliques, extra=cycles)
    result = convex_gbp(field.potentials, graph, "bethe", iterations=3000, tolerance=tolerance)
    assert result.converged
    assert result.feasibility <= tolerance
    assert result.iterations < 3000
    warm = convex_gbp(field.potentials, graph, "bethe", iterations=3000, tolerance=tolerance, state=result.state)
    assert warm.converged
    assert warm.iterations <= 3
    np.testing.assert_allclose(warm.marginals.values, result.marginals.values, atol=100 * tolerance)


def test_more_sweeps_a_tangent_end_a_swing(data_dir):
    potentials = read_uai(data_dir / "uai" / "Grids_14.uai.gz")
    cycles = [potentials.domain.names(sorted(c)) for c in short_cycles(len(potentials.domain), potentials.scopes)]
    graph = RegionGraph.saturated(potentials.domain, potentials.cliques, extra=cycles)
    assert convex_gbp(potentials, graph, "bethe", iterations=2000).converged
