"""Every single request to a private table, each for a small part of its budget."""

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
from pypgm.audit.tiers import check_of
from pypgm.audit.trace import WatchedRecords
from pypgm.domain import Clique
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.privacy.budget import Budget
from pypgm.privacy.cell_selector import CellSelector
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_column import PrivateColumn
from pypgm.privacy.private_table import L1Selector, PrivateTable, measure_real
from pypgm.privacy.quantiles import private_bounds, private_quantiles
from pypgm.privacy.relation import Privacy
from pypgm.privacy.sign_selector import SignSelector
from pypgm.queries import Identity, Kronecker, LinearQuery, Matrix, Partition, Prefix, RangeList, Subset, Union
from selfcheck.scores import exact_rank_scores

Ask = Callable[[PrivateTable, Fraction], Any]

_PAIRS = (("a", "b"), ("b", "c"), ("a", "c"))
_GROUPS: dict[Clique, Partition | None] = {
    ("a", "b"): Partition([0, 1, 0, 1, 1, 1]),
    ("b", "c"): Partition([0, 1, 0, 1]),
    ("a", "c"): None,
}
_ODD = Fraction(3 * 10**18 + 1, 3 * 10**18 - 1)  # close to 1, and too fine for samplers: everything is rounded
_SPARE = 1 << 20  # budget as a multiple of the request, so that overspending is not stopped


def _estimate(pair: Clique) -> ArrayLike:
    """Return estimates off the grid, on the side of the counts where all scores change as much as possible."""
    return [7.3 + i / 7 for i in range(4)] if pair == ("b", "c") else [2.3 + i / 7 for i in range(6)]


def _selector(table: PrivateTable, grouped: bool = False) -> L1Selector:
    if not grouped:
        return table.l1_selector(_PAIRS, _estimate)
    return table.l1_selector(_PAIRS, lambda p: [2.3] * (2 if p != ("a", "c") else 6), lambda p: _GROUPS[p])


def _signed(number: int, counts: NDArray[np.int64]) -> int:
    return 5 * int(counts[0]) * (1 if number % 2 else -1)


class _Lying(Partition):
    """Custom query whose answers are five times its declared ones."""

    def _sensitivity(self, neighbours: Any, norm: Any) -> int:
        del neighbours, norm
        return 1

    def _apply(self, table: NDArray[Any]) -> NDArray[Any]:
        return 5 * super()._apply(table)


class _Squares:
    """Custom products that are linear on single records alone."""

    shape = (3, 3)

    def matvec(self, x: ArrayLike) -> NDArray[Any]:
        return np.asarray(x) ** 2

    def rmatvec(self, y: ArrayLike) -> NDArray[Any]:
        return np.asarray(y)


def _lie(size: int) -> LinearQuery:
    return _Lying(list(range(size)))


def _cells(table: PrivateTable) -> CellSelector:
    return table.cell_selector(_PAIRS)


def _signs(table: PrivateTable) -> SignSelector:
    """Return a selector of sets of signs of the three attributes: the last value of each against the others."""
    signs = {name: np.arange(table.domain.size((name,))) == table.domain.size((name,)) - 1 for name in table.domain}
    return table.sign_selector({a: [s] for a, s in signs.items()}, [np.array([[0, 1], [0, 2]]), np.array([[0, 1, 2]])])


def _offsets(table: PrivateTable) -> list[Any]:
    return [np.arange(table.domain.size(pair)) * 1.3 - 2 for pair in _PAIRS]


def _refused(ask: Callable[[], Any]) -> str:
    """Return a fixed text for a refusal, which is an answer that costs nothing."""
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
    "a selection of signs": ("rho", lambda t, x: _signs(t).select([9.3, -4, 1 / 3], [1, 0.9, 1 / 3], rho=x)),
    "a selection of signs, odd epsilon": (
        "epsilon",
        lambda t, x: _signs(t).select([9.3, -4, 0], None, [True, False, True], epsilon=x),
    ),
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
"""Requests by name: the unit of their cost, and a function of a private table and the cost."""


_RAW: tuple[object, ...] = (None, 1.5, "7")  # raw values of the codes of "a"

COLUMNS: dict[str, tuple[str, Callable[[PrivateColumn, Fraction], Any]]] = {
    "bounds of one cell": ("rho", lambda c, x: private_bounds(c, [0, 2], rho=x)),
    "bounds of one cell, pure": (
        "epsilon",
        lambda c, x: private_bounds(c, [0, 2], scale=2 * c.privacy.records_per_person / x),
    ),
    "bounds beside nulls": ("rho", lambda c, x: private_bounds(c, [-1, 0, 1, 2, 6], rho=x)),
    "quantiles beside nulls": ("rho", lambda c, x: private_quantiles(c, ["1/2", "1/3"], [0, 1, 2, 8], rho=x)),
}
"""Requests to columns of raw values, nulls among them."""

_RANKED: dict[str, tuple[list[str], list[float]]] = {
    "quantiles": (["1/4", "2/7", "1", "0"], [0, 1, 2]),
    "quantiles, odd epsilon": (["3/4", "1/3"], [-1, 0.5, 1, 1.5, 2]),
}
_REFUSED = {"selection among running sums"}
_CHOSEN = ("selection", "permute-and-flip", "quantiles", "draws of", "a draw of")
_NOT_RECOUNTED = ("bounds", "quantiles beside", "draws of", "a draw of", "a screen by a stated score")


def check_asked(names: Sequence[str] = (*ASKED, *COLUMNS)) -> list[Finding]:
    """Check each request on neighbours: hidden numbers, charges, output, release, and its cost."""
    return [check() for name in names for check in asked_checks(name)]


def asked_checks(name: str) -> list[Check]:
    """Return the checks of one request, which share their runs."""
    runs = functools.cache(lambda: _runs(name))
    checks = [check_noninterference, _check_cost]
    if name in _REFUSED:
        checks += [_check_refused]
    else:
        checks += [check_calibration, check_charges]
        checks += [check_selection_loss] if name.startswith(_CHOSEN) else []
        checks += [] if name.startswith(_NOT_RECOUNTED) else [check_answers]
    return [partial(check_of, check, runs, name) for check in checks]


def _runs(name: str) -> Runs:
    unit = (COLUMNS if name in COLUMNS else ASKED)[name][0]
    budget = Budget(rho=_SPARE * _ODD) if unit == "rho" else Budget(epsilon=2 * _SPARE * _ODD)

    def ranks(records: WatchedRecords) -> list[list[int]]:
        quantiles, grid = _RANKED[name]
        return [exact_rank_scores(records.unnoted("a"), Fraction(q), grid) for q in quantiles]

    hidden = ranks if name in _RANKED else None

    def mechanism(data: Any, limit: Budget, privacy: Any) -> Any:
        ledger, amount = Ledger(limit), limit.limit / _SPARE
        if name in COLUMNS:
            done = COLUMNS[name][1](PrivateColumn([_RAW[c] for c in data.unnoted("a")], privacy, ledger), amount)
        else:
            done = ASKED[name][1](PrivateTable(data, privacy, ledger), amount)
        measured = [m for m in (done if isinstance(done, list) else [done]) if isinstance(m, LinearMeasurement)]
        return SimpleNamespace(ledger=ledger, measurements=measured, result=done, hidden=hidden)

    return run_pairs(
        name, mechanism, budget, [*neighbour_pairs([*PRIVACIES, Privacy(records_per_person=5)]), *far_pairs()]
    )


def _check_cost(runs: Runs) -> Finding:
    defects = [
        ("overspent", f"tables {pair.name}: {float(one.spent):.9g} is charged, more than was asked for")
        for pair, one, _ in runs.traces
        if one.spent > runs.budget.limit / _SPARE
    ]
    return finding("cost asked for", runs.subject, defects, f"{len(runs.traces)} runs, none costs more")


def _check_refused(runs: Runs) -> Finding:
    defects = [
        ("score sensitivity", f"tables {pair.name}: it is answered, and no range of its scores is known")
        for pair, one, _ in runs.traces
        if one.release is not None and one.release.result != "refused"
    ]
    return finding("refusal", runs.subject, defects, f"{len(runs.traces)} runs, each refused")
