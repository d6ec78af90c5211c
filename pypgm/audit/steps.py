"""Every way to ask a private table for one thing, each asked for a small part of its budget."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm.audit.answers import check_answers
from pypgm.audit.finding import Check, Finding, finding
from pypgm.audit.mechanisms import Runs, check_calibration, check_charges, check_noninterference, run_pairs
from pypgm.audit.pairs import PRIVACIES, far_pairs, neighbour_pairs
from pypgm.audit.selection import check_selection_loss
from pypgm.audit.trace import Trace
from pypgm.domain import Clique
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.privacy.budget import Budget
from pypgm.privacy.cell_selector import CellSelector
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_column import PrivateColumn
from pypgm.privacy.private_table import L1Selector, PrivateTable
from pypgm.privacy.quantiles import private_bounds, private_quantiles
from pypgm.privacy.real_queries import measure_real
from pypgm.privacy.relation import Privacy
from pypgm.queries import Identity, Kronecker, LinearQuery, Matrix, Partition, Prefix, RangeList, Subset, Union

__all__ = ["ASKED", "COLUMNS", "asked_checks", "check_asked"]

Ask = Callable[[PrivateTable, Fraction], Any]

_PAIRS = (("a", "b"), ("b", "c"), ("a", "c"))
_GROUPS: dict[Clique, Partition | None] = {
    ("a", "b"): Partition([0, 1, 0, 1, 1, 1]),
    ("b", "c"): Partition([0, 1, 0, 1]),
    ("a", "c"): None,
}
_ODD = Fraction(3 * 10**18 + 1, 3 * 10**18 - 1)  # next to 1, and more than samplers take: all is rounded
_SPARE = 1 << 20  # times what is asked is in the budget: who spends too much is not stopped


def _estimate(pair: Clique) -> ArrayLike:
    """Return estimates off the grid, on that side of the counts where all scores change by as much as they can."""
    return [7.3 + i / 7 for i in range(4)] if pair == ("b", "c") else [2.3 + i / 7 for i in range(6)]


def _selector(table: PrivateTable, grouped: bool = False) -> L1Selector:
    if not grouped:
        return table.l1_selector(_PAIRS, _estimate)
    return table.l1_selector(_PAIRS, lambda p: [2.3] * (2 if p != ("a", "c") else 6), lambda p: _GROUPS[p])


def _signed(number: int, counts: NDArray[np.int64]) -> int:
    return 5 * int(counts[0]) * (1 if number % 2 else -1)


class _Lying(Partition):
    """A query of one's own that answers five times what it says."""

    def _sensitivity(self, neighbours: Any, norm: Any) -> int:
        del neighbours, norm
        return 1

    def _apply(self, table: NDArray[Any]) -> NDArray[Any]:
        return 5 * super()._apply(table)


class _Squares:
    """Products of one's own that are linear on single records alone."""

    shape = (3, 3)

    def matvec(self, x: ArrayLike) -> NDArray[Any]:
        return np.asarray(x) ** 2

    def rmatvec(self, y: ArrayLike) -> NDArray[Any]:
        return np.asarray(y)


def _lie(size: int) -> LinearQuery:
    return _Lying(list(range(size)))


def _cells(table: PrivateTable) -> CellSelector:
    return table.cell_selector(_PAIRS)


def _offsets(table: PrivateTable) -> list[Any]:
    return [np.arange(table.domain.size(pair)) * 1.3 - 2 for pair in _PAIRS]


def _refused(ask: Callable[[], Any]) -> str:
    """Return a fixed text for what is refused: a refusal is an answer that costs nothing."""
    try:
        return f"{ask()}"
    except ValueError:
        return "refused"


ASKED: dict[str, tuple[str, Ask]] = {
    "selection": ("rho", lambda t, x: _selector(t).select([0, 1, 2], rho=x)),
    "selection, odd epsilon": ("epsilon", lambda t, x: _selector(t).select([2, 0, 1], epsilon=x)),
    "selection, odd epsilon in rho": ("rho", lambda t, x: _selector(t).select([2, 0], epsilon=x / 2)),
    "selection among groups": ("rho", lambda t, x: _selector(t, grouped=True).select([0, 1, 2], rho=x)),
    "selection of two": ("rho", lambda t, x: _selector(t).select_top([0, 1, 2], 2, rho=x)),
    "selection of three": ("epsilon", lambda t, x: _selector(t).select_top([0, 1, 2], 3, epsilon=x)),
    "selection among running sums": (
        "rho",
        lambda t, x: _refused(
            lambda: t.l1_selector(_PAIRS, _estimate, lambda p: Prefix(t.domain.size(p))).select([0, 1, 2], rho=x)
        ),
    ),
    "draws of counts": ("rho", lambda t, x: _cells(t).draw(-3, _offsets(t), 17.6, 4, rho=x)),
    "a draw of counts, odd epsilon": ("epsilon", lambda t, x: _cells(t).draw(1, _offsets(t), 3, epsilon=x)),
    "permute-and-flip": ("rho", lambda t, x: _selector(t).permute_and_flip([0, 1, 2], rho=x)),
    "a screen": ("rho", lambda t, x: _selector(t).screen([2, 0, 2, 2], rho=x, weights=["1/9", 1, "1/9", "1/2"])),
    "a screen by a stated score": (
        "rho",
        lambda t, x: t.selector(_PAIRS, _signed, sensitivity=5).screen(rho=x, weights=["1/9", 1, "1/2"]),
    ),
    "permute-and-flip, odd epsilon": ("epsilon", lambda t, x: _selector(t).permute_and_flip([1, 2], epsilon=x)),
    "quantiles": ("rho", lambda t, x: private_quantiles(t.column("a"), ["1/4", "2/7", 1, 0], [0, 1, 2], rho=x)),
    "quantiles, odd epsilon": (
        "epsilon",
        lambda t, x: private_quantiles(t.column("a"), ["3/4", "1/3"], [-1, 0.5, 1, 1.5, 2], epsilon=x),
    ),
    "bounds": ("rho", lambda t, x: private_bounds(t.column("a"), [0, 1, 2, 3], rho=x)),
    "bounds, pure": (
        "epsilon",
        lambda t, x: private_bounds(t.column("a"), [-4, 0, 1, 2, 3], scale=4 * t.privacy.records_per_person / x),
    ),
    "cells": ("rho", lambda t, x: t.measure(("c", "a"), rho=x)),
    "cells, pure": ("epsilon", lambda t, x: t.measure("a", scale=2 * t.privacy.records_per_person / x)),
    "a list of ranges": ("rho", lambda t, x: t.measure("a", RangeList(3, [(0, 0), (0, 1), (2, 2), (2, 2)]), rho=x)),
    "a subset": ("rho", lambda t, x: t.measure(("a", "b"), Subset([5, 0, 3], 6, [-3, 2, 1]), rho=x)),
    "one cell": ("rho", lambda t, x: t.measure(("a", "b"), Subset([5], 6), rho=x)),
    "unit by signed": (
        "rho",
        lambda t, x: t.measure(("b", "a"), Kronecker([Identity(2), Matrix([[1, -1, 2]])]), rho=x),
    ),
    "a union": ("rho", lambda t, x: t.measure("a", Union([Prefix(3), Matrix([[1, 0, -2]])]), rho=x)),
    "a query that lies": ("rho", lambda t, x: t.measure("a", _lie(3), rho=x)),
    "a product that lies": ("rho", lambda t, x: t.measure(("b", "a"), Kronecker([Identity(2), _lie(3)]), rho=x)),
    "a union that lies": ("rho", lambda t, x: t.measure("a", Union([_lie(3), Prefix(3)]), rho=x)),
    "products that lie": ("rho", lambda t, x: t.measure("a", _Squares(), rho=x)),
    "on a lattice": (
        "rho",
        lambda t, x: measure_real(t, "a", [[0.3, -0.7, 1], [0, 0.2, 0.9]], lattice=64, rho=x).measurement,
    ),
    "real queries on cells": ("rho", lambda t, x: measure_real(t, "a", [[0.3, -0.7, 1.1]], rho=x).measurement),
    "many, weighted": (
        "rho",
        lambda t, x: t.measure_many(
            ["a", ("b", "c"), "a"], [None, None, Matrix([[3, -1, 0]])], rho=x, weights=[1, "1/3", 2]
        ),
    ),
}
"""What is asked, in which unit, and how: each is called with a private table and what it may cost."""


_NOISE = {"discrete Gaussian", "discrete Laplace"}
_RAW: tuple[object, ...] = (None, 1.5, "7")  # what the codes of "a" stand for in a column of raw values

COLUMNS: dict[str, tuple[str, Callable[[PrivateColumn, Fraction], Any]]] = {
    "bounds of one cell": ("rho", lambda c, x: private_bounds(c, [0, 2], rho=x)),
    "bounds of one cell, pure": (
        "epsilon",
        lambda c, x: private_bounds(c, [0, 2], scale=2 * c.privacy.records_per_person / x),
    ),
    "bounds beside nulls": ("rho", lambda c, x: private_bounds(c, [-1, 0, 1, 2, 6], rho=x)),
    "quantiles beside nulls": ("rho", lambda c, x: private_quantiles(c, ["1/2", "1/3"], [0, 1, 2, 8], rho=x)),
}
"""The same for columns of raw values, nulls among them."""

_SCORED: dict[str, tuple[list[int], bool]] = {
    "selection": ([0, 1, 2], False),
    "selection, odd epsilon": ([2, 0, 1], False),
    "selection, odd epsilon in rho": ([2, 0], False),
    "selection among groups": ([0, 1, 2], True),
    "selection of two": ([0, 1, 2], False),
    "selection of three": ([0, 1, 2], False),
    "permute-and-flip": ([0, 1, 2], False),
    "permute-and-flip, odd epsilon": ([1, 2], False),
}
_RANKED: dict[str, tuple[list[str], list[float]]] = {
    "quantiles": (["1/4", "2/7", "1", "0"], [0, 1, 2]),
    "quantiles, odd epsilon": (["3/4", "1/3"], [-1, 0.5, 1, 1.5, 2]),
}

_REFUSED = {"selection among running sums"}
_CHOSEN = {*_SCORED, *_RANKED, "draws of counts", "a draw of counts, odd epsilon", "quantiles beside nulls"}
_NOT_RECOUNTED = {name for name in (*ASKED, *COLUMNS) if name.startswith(("bounds", "quantiles", "draws", "a draw of"))}
_NOT_RECOUNTED |= {"a screen by a stated score"}


def check_asked(names: Sequence[str] = (*ASKED, *COLUMNS)) -> list[Finding]:
    """Ask for each thing on neighbours: what it hides, charges, says and releases; it costs no more than asked."""
    return [check() for name in names for check in asked_checks(name)]


def asked_checks(name: str) -> list[Check]:
    """Return the checks of one thing that is asked, which share their runs."""
    runs = functools.cache(lambda: _runs(name))
    checks = [check_noninterference, _check_cost]
    if name in _REFUSED:
        checks += [_check_refused]
    else:
        checks += [check_calibration, check_charges]
        checks += [check_selection_loss] if name in _CHOSEN else [_check_changes]
        checks += [] if name in _NOT_RECOUNTED else [check_answers]
        checks += [_check_scores] if name in {*_SCORED, *_RANKED} else []
    return [partial(_on, check, runs) for check in checks]


def _on(check: Callable[[Runs], Finding], runs: Callable[[], Runs]) -> Finding:
    return check(runs())


def _runs(name: str) -> Runs:
    unit = (COLUMNS if name in COLUMNS else ASKED)[name][0]
    budget = Budget(rho=_SPARE * _ODD) if unit == "rho" else Budget(epsilon=2 * _SPARE * _ODD)

    def mechanism(data: Any, limit: Budget, privacy: Any) -> Any:
        ledger, amount = Ledger(limit), limit.limit / _SPARE
        if name in COLUMNS:
            done = COLUMNS[name][1](PrivateColumn([_RAW[c] for c in data.unnoted("a")], privacy, ledger), amount)
        else:
            done = ASKED[name][1](PrivateTable(data, privacy, ledger), amount)
        measured = [m for m in (done if isinstance(done, list) else [done]) if isinstance(m, LinearMeasurement)]
        return SimpleNamespace(ledger=ledger, measurements=measured, found=done)

    return run_pairs(
        name, mechanism, budget, [*neighbour_pairs([*PRIVACIES, Privacy(records_per_person=5)]), *far_pairs()]
    )


def _check_cost(runs: Runs) -> Finding:
    found = [
        ("overspent", f"tables {pair.name}: {float(one.spent):.9g} is charged, more than was asked for")
        for pair, one, _ in runs.traces
        if one.spent > runs.budget.limit / _SPARE
    ]
    return finding("cost asked for", runs.subject, found, f"{len(runs.traces)} runs, none costs more")


def _check_refused(runs: Runs) -> Finding:
    found = [
        ("score sensitivity", f"tables {pair.name}: it is answered, and no range of its scores is known")
        for pair, one, _ in runs.traces
        if one.release is not None and one.release.found != "refused"
    ]
    return finding("refusal", runs.subject, found, f"{len(runs.traces)} runs, each refused")


def _check_changes(runs: Runs) -> Finding:
    """Demand that no single answer changes by more than the largest change on its line, which composition rests on."""
    found, compared = [], 0
    for pair, one, other in runs.traces:
        lines = [line for line in one.charges if "largest_change" in line.parameters]
        draws = [[draw for draw in trace.draws if draw.law in _NOISE] for trace in (one, other)]
        for line, draw, twin in zip(lines, *draws, strict=False):
            compared += 1
            change = int(np.abs(draw.private - twin.private).max(initial=0)) if pair.neighbours else 0
            if change > line.parameters["largest_change"]:
                stated = line.parameters["largest_change"]
                found.append(("sensitivity", f"tables {pair.name}: an answer changes by {change}, {stated} is stated"))
    return finding("largest changes", runs.subject, found, f"{compared} draws", exercised=compared)


def _check_scores(runs: Runs) -> Finding:
    """Work out each score again, in Python's integers, from the records of the table entered."""
    found, compared = [], 0
    for pair, one, other in runs.traces:
        for trace in (one, other):
            true = _scores(runs.subject, trace)
            compared += len(true)
            if len(true) != len(trace.draws) and not trace.diverged and true:
                found.append(
                    ("wrong score", f"tables {pair.name}: {len(trace.draws)} draws, {len(true)} were asked for")
                )
            for draw, wanted in zip(trace.draws, true, strict=False):
                if draw.private.tolist() != wanted:
                    found.append(
                        ("wrong score", f"tables {pair.name}: {draw.private.tolist()}, {wanted} by definition")
                    )
    figures = f"{compared} lists of scores, equal integers"
    return finding("scores", runs.subject, found, figures, exercised=compared)


def _scores(subject: str, trace: Trace) -> list[list[int]]:
    if subject in _SCORED:
        among, grouped = _SCORED[subject]
        return [[_distance(trace, _PAIRS[i], grouped) for i in among]]
    if subject not in _RANKED:
        return []
    records = [code for code, n in enumerate(trace.records.recount(("a",)).tolist()) for _ in range(n)]
    quantiles, grid = _RANKED[subject]
    return [[_rank_score(records, Fraction(q), point) for point in grid] for q in quantiles]


def _distance(trace: Trace, pair: Clique, grouped: bool) -> int:
    counts = trace.records.recount(pair).tolist()
    groups = {"ab": [0, 1, 0, 1, 1, 1], "bc": [0, 1, 0, 1]}.get("".join(pair)) if grouped else None
    if groups is not None:
        counts = [sum(c for c, g in zip(counts, groups, strict=True) if g == group) for group in range(2)]
    estimates = [2.3] * len(counts) if grouped else np.asarray(_estimate(pair)).tolist()
    return sum(abs(c * 2**16 - round(Fraction(e) * 2**16)) for c, e in zip(counts, estimates, strict=True))


def _rank_score(records: Sequence[int], quantile: Fraction, point: float) -> int:
    a, b = quantile.numerator, quantile.denominator
    less, more = sum(r < point for r in records), sum(r > point for r in records)
    n = len(records)
    return -max(0, (b - a) * less - a * (n - less), a * more - (b - a) * (n - more))
