"""Marks: whatever comes of a ledger that protects nobody says so, by every way to ask and however it was marked."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from selfcheck.steps import ASKED, COLUMNS, Ask

from pypgm.audit.contents import reaches
from pypgm.audit.finding import Finding, finding
from pypgm.audit.pairs import neighbour_pairs
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_column import PrivateColumn
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.relation import Privacy

__all__ = ["check_marks"]

Enter = Callable[[Callable[..., Any], Ledger], Any]


def _of_a_part(enter: Callable[..., Any], ledger: Ledger) -> Any:
    part = ledger.allocate("part", fraction="1/2")
    part.mark_not_private("an audit")
    return enter(ledger)


def _of_a_whole(enter: Callable[..., Any], ledger: Ledger) -> Any:
    ledger.mark_not_private("an audit")
    return enter(ledger.allocate("part", fraction="1/2"))


_WAYS: dict[str, Enter] = {
    "a seed": lambda enter, ledger: enter(ledger, 3),
    "seed 0": lambda enter, ledger: enter(ledger, 0),
    "a marked part": _of_a_part,
    "a marked whole": _of_a_whole,
}
"""How a ledger comes to protect nobody, before or while records are entered."""


def _of_a_sample(table: PrivateTable, amount: Fraction) -> Any:
    sample = table.subsample("1/2", epsilon=amount)
    return [sample.measure("a", scale=2 / amount), sample.ledger.snapshot()]


_MORE: dict[str, tuple[str, Ask]] = {
    "a sample": ("epsilon", _of_a_sample),
    "the total": ("rho", lambda t, x: t.measure_total(variance=1 / x)),
}


def check_marks(asks: Mapping[str, tuple[str, Ask]] = {**ASKED, **_MORE}) -> Finding:
    """Ask for each thing where nobody is protected: measurements, screens and ledgers that come of it are marked."""
    data = neighbour_pairs([Privacy()])[-1].one

    def table(ledger: Ledger, seed: int | None = None) -> PrivateTable:
        return PrivateTable(data, Privacy(), ledger, unsafe_seed=seed)

    def column(ledger: Ledger, seed: int | None = None) -> PrivateColumn:
        return PrivateColumn(data.columns["a"], Privacy(), ledger, unsafe_seed=seed)

    questions: list[tuple[str, str, Callable[[Any, Fraction], Any], Callable[..., Any]]] = [
        *((name, unit, ask, table) for name, (unit, ask) in asks.items()),
        *((name, unit, ask, column) for name, (unit, ask) in COLUMNS.items()),
    ]
    defects: list[tuple[str, str]] = []
    for (name, unit, ask, enter), (mark, entered) in itertools.product(questions, _WAYS.items()):
        ledger = Ledger(Budget(rho=1000) if unit == "rho" else Budget(epsilon=1000))
        done = ask(entered(enter, ledger), Fraction(1))
        path = reaches([done, ledger.snapshot()], lambda thing: getattr(thing, "not_private", "marked") == "")
        if path:
            defect = "seed not declared" if "seed" in mark else "mark lost"
            defects.append((defect, f"{name} by {mark}: {path} does not say that it is not private"))
    return finding("marks", f"{len(questions)} questions", defects, f"{len(_WAYS)} ways to protect nobody")
