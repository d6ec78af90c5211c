"""Triples in bulk: where they are asked, within what, what a screen of them charges, and what they gain."""

from __future__ import annotations

import itertools
import signal
import sys

import numpy as np
import pytest

import pypgm
from pypgm.mechanisms import wide
from pypgm.mechanisms.interactions import Search
from pypgm.mechanisms.one_way import independent, measure_singles
from pypgm.mechanisms.run import Run
from pypgm.mechanisms.triples import Spare, Triples
from pypgm.privacy import Budget, Privacy, PrivateTable
from pypgm.privacy.selector import SCREEN_BITS
from pypgm.queries import Kronecker, Partition


def interacting(n, seed=0):
    """Return records of six attributes, half of which are noisy functions of two or three others."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.integers(0, 4, (3, n))
    d = np.where(rng.random(n) < 0.2, rng.integers(0, 4, n), np.where(a > 1, b, 3 - b))
    e = np.where(rng.random(n) < 0.2, rng.integers(0, 3, n), np.where(b == c, 0, np.where(a == c, 1, 2)))
    f = np.where(rng.random(n) < 0.2, rng.integers(0, 2, n), (b * c + a) % 5 > 1)
    columns = dict(zip("abcdef", (a, b, c, d, e, f), strict=True))
    return pypgm.Dataset(columns, pypgm.Domain(dict.fromkeys("abcd", 4) | {"e": 3, "f": 2}))


DATA = interacting(6000)


def in_bulk(release):
    """Return the triples measured besides those that a search found, of which it measures a sum as well."""
    of_three = [m for m in release.measurements if len(m.clique) == 3]
    found = {m.clique for m in of_three if isinstance(m.query, Kronecker)}
    return {m.clique for m in of_three} - found


def lines_of(release, what):
    return [line for line in release.ledger.lines if line.what == what]


def screens(release):
    return lines_of(release, "screen")


def error(release, order, data=DATA):
    return pypgm.evaluate(
        release.model, cliques=list(itertools.combinations(data.domain, order)), unsafe_data=data
    ).mean


def test_triples_are_nearer_and_pairs_below_the_noise_of_sampling(monkeypatch):
    release = wide(DATA, 10, 1e-9, unsafe_seed=0)
    monkeypatch.setattr("pypgm.mechanisms._wide.spared", lambda *_, **__: None)
    without = wide(DATA, 10, 1e-9, unsafe_seed=0)
    again = np.random.default_rng(0).integers(0, len(DATA), len(DATA))
    fresh = pypgm.Dataset({a: column[again] for a, column in DATA.columns.items()}, DATA.domain)
    assert in_bulk(release)
    assert len(screens(release)) == 2
    assert not in_bulk(without)
    assert error(release, 3) < 0.8 * error(without, 3)
    pairs = list(itertools.combinations(DATA.domain, 2))
    assert error(release, 2) < pypgm.evaluate(fresh, cliques=pairs, unsafe_data=DATA).mean


@pytest.mark.parametrize(("n", "epsilon"), [(6000, 0.1), (300, 1), (100, 3)])
def test_where_pairs_are_noisy_they_spare_nothing(n, epsilon):
    release = wide(interacting(n), epsilon, 1e-9, unsafe_seed=0)
    assert len(screens(release)) <= 1
    assert not in_bulk(release)


@pytest.mark.parametrize(
    ("workload", "allowed"),
    [
        (2, []),
        (3, list(itertools.combinations("abcdef", 3))),
        ([("a", "b", "d"), ("c", "f")], [("a", "b", "d")]),
        ([("a", "b", "c", "e"), ("d", "f")], list(itertools.combinations("abce", 3))),
    ],
)
def test_triples_are_within_the_marginals_of_a_workload(workload, allowed):
    release = wide(DATA, 10, 1e-9, workload=workload, unsafe_seed=1)
    of_three = {m.clique for m in release.measurements if len(m.clique) == 3}
    assert of_three <= set(allowed)
    assert bool(of_three) == bool(allowed)
    assert len(screens(release)) == 1 + bool(allowed)


@pytest.mark.parametrize("privacy", [Privacy(), Privacy("replace"), Privacy(records_per_person=3)], ids=str)
def test_no_neighbour_moves_the_screened_distances_further_than_is_charged(privacy, monkeypatch):
    """Distances over groups, recomputed record by record, of all neighbours that differ in one person."""
    rng = np.random.default_rng(3)
    data, charged = interacting(60, seed=1), []
    run = Run("wide", data, budget=Budget(rho=50), privacy=privacy, unsafe_seed=0)
    start = independent(run, measure_singles(run, run.rho / 10))
    worth = dict.fromkeys(itertools.combinations("abcdef", 2), 1.0)
    triples = Triples(run, start, "abc", worth, None)
    own = PrivateTable.l1_selector
    monkeypatch.setattr(PrivateTable, "l1_selector", lambda *a: (charged.append(a[1:]), own(*a))[1])
    triples.measured(start.model(run.domain), Spare(30.0, 20.0, 0.01), run.rho / 20, weights=worth, beside=[])
    (line,) = [line for line in run.table.ledger.lines if line.what == "screen"]
    ((cliques, expected, query),) = charged
    codes = np.stack([data.columns[a] for a in data.domain], axis=1)

    def distances(rows):
        records = pypgm.Dataset(dict(zip(data.domain, rows.T, strict=True)), data.domain)
        return np.array([np.abs(query(t).matvec(records.project(t).datavector()) - expected(t)).sum() for t in cliques])

    assert len(cliques) == 20
    assert all(isinstance(query(t), Partition) for t in cliques)
    k, base = privacy.records_per_person or 1, distances(codes)
    for _ in range(100):
        new = np.tile(rng.integers(0, data.domain.shape), (k, 1))
        kept = codes if privacy.neighbours == "add-remove" else codes[k:]
        moved = distances(np.vstack([kept, new])) - base
        assert (moved**2).sum() <= line.parameters["squared_sensitivity"] / 4**SCREEN_BITS + 1e-6


def test_many_attributes_have_few_triples_of_few_cells():
    sizes = {f"x{i}": 2 + 40 * (i % 3 == 0) for i in range(40)}
    rng = np.random.default_rng(0)
    data = pypgm.Dataset({a: rng.integers(0, n, 500) for a, n in sizes.items()}, pypgm.Domain(sizes))
    run = Run("wide", data, 1, 1e-9, unsafe_seed=0)
    start = independent(run, measure_singles(run, run.rho / 10))
    worth = {p: float(p[0] == "x7" or p[1] == "x7") for p in itertools.combinations(sizes, 2)}
    triples = Triples(run, start, (), worth, None).cliques
    assert len(triples) <= 2925
    assert sum(map(data.domain.size, triples)) <= 1 << 18
    assert len(set(map(frozenset, triples))) == len(triples)
    assert any("x7" in t for t in triples)


class CtrlC:
    """Ctrl-C at the n-th line of the package that a private table reaches for triples or for a search beyond pairs."""

    def __init__(self, at=None):
        self.at, self.reached, self.inside = at, 0, 0

    def __enter__(self):
        # A job in the background ignores it.
        self.before = sys.gettrace(), signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.settrace(self._call)
        return self

    def __exit__(self, *_):
        sys.settrace(self.before[0])
        signal.signal(signal.SIGINT, self.before[1])

    def _call(self, frame, event, arg):
        if frame.f_code in {Triples.measured.__code__, Search._ask.__code__}:
            self.inside += 1
            return self._asking
        return self._line if self.inside and "pypgm/privacy/" in frame.f_code.co_filename else None

    def _asking(self, frame, event, arg):
        self.inside -= event == "return"
        return self._line(frame, event, arg) and self._asking

    def _line(self, frame, event, arg):
        self.reached += event == "line"
        if event == "line" and self.reached == self.at:
            signal.raise_signal(signal.SIGINT)
        return self._line


def test_ctrl_c_loses_no_answer_that_is_paid_for():
    with CtrlC() as every:
        whole = wide(DATA, 10, 1e-9, unsafe_seed=0)
    assert in_bulk(whole)
    for at in np.linspace(1, 0.95 * every.reached, 6).astype(int):  # later runs find some queries in caches
        with CtrlC(at), pytest.warns(pypgm.errors.EstimateInterruptedWarning):
            release = wide(DATA, 10, 1e-9, unsafe_seed=0)
        assert release.model.fit.status == "interrupted"
        assert len(lines_of(release, "measure")) == len(release.measurements)
        assert release.ledger.spent() > 0.999 * release.ledger.budget.limit


def test_what_does_not_fit_in_memory_is_not_asked(monkeypatch):
    monkeypatch.setattr(Run, "fits", lambda *_: False)
    release = wide(DATA, 10, 1e-9, unsafe_seed=0)
    assert len(screens(release)) == 2
    assert not in_bulk(release)
    assert release.ledger.spent() > 0.999 * release.ledger.budget.limit


def test_a_plan_forecasts_triples_as_a_release_has_them():
    planned = pypgm.mechanisms.plan("wide", DATA.domain, epsilon=10, delta=1e-9, n_records=6000)
    assert any(len(c) == 3 for c in planned.cliques)
    less = pypgm.mechanisms.plan("wide", DATA.domain, epsilon=0.1, delta=1e-9, n_records=6000)
    assert not any(len(c) == 3 for c in less.cliques)


@pytest.mark.parametrize(("n", "rho"), [(2**34, 1e-8), (2**35, 3e-9)])  # of triples; of pairs
def test_a_screen_whose_noise_cannot_be_drawn_is_not_made(n, rho):
    domain = pypgm.Domain({f"x{i}": 2 for i in range(12)})
    planned = pypgm.mechanisms.plan("wide", domain, budget=Budget(rho=rho), n_records=n)
    assert not any(len(c) == 3 for c in planned.cliques)
