"""Threads that meet in the middle of a ledger's sums, interleaved by hand, and amounts that costs count on."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np

from pypgm.audit.finding import Finding, finding
from pypgm.audit.laws import LAWS
from pypgm.errors import BudgetError
from pypgm.privacy.budget import Budget
from pypgm.privacy.charge import Charge
from pypgm.privacy.laws import DiscreteGaussian, DiscreteLaplace, Exponential, Law, PermuteAndFlip, Stated
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.ledger_report import LedgerReport

Found = Iterator[tuple[str, str]]


def check_ledger_races() -> Finding:
    """Charge a part and its whole at once, and enter a line while others are summed."""
    defects = []
    if _part_and_whole() > 1:
        defects.append(("ledger race", "a part and its whole are both charged the whole budget"))
    if _spent_of_two_lines() != 2:
        defects.append(("ledger race", "a line entered while others are summed is in no sum"))
    return finding("ledger races", "Ledger", defects, "a part and its whole, and a line in the middle of a sum")


def _part_and_whole() -> int:
    """Charge a whole ledger, and meanwhile its part, each with everything; return the number of charges accepted."""
    whole = Ledger(Budget(rho=1))
    part = whole.allocate("part", amount=1)
    held, halfway, tried = Ledger._held, threading.Event(), threading.Event()
    passed: list[Ledger] = []

    def slow(self: Ledger) -> Any:
        if self is whole and not halfway.is_set():
            halfway.set()
            tried.wait(0.05)  # a sound ledger lets nobody charge a part while it sums
        return held(self)

    def charge(ledger: Ledger) -> None:
        try:
            ledger.charge("do", "it", Stated(rho=1))
        except BudgetError:
            return
        passed.append(ledger)

    def second() -> None:
        if halfway.wait(1):
            charge(part)
            tried.set()

    with patch("pypgm.privacy.ledger.Ledger._held", slow):
        workers = [threading.Thread(target=charge, args=(whole,)), threading.Thread(target=second)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return len(passed)


class JournalWithALineMore(list[Any]):
    """Lines of a ledger that append their last line again as soon as they were read for a sum."""

    has_come = False

    def __getitem__(self, key: Any) -> Any:
        lines = super().__getitem__(key)
        if not self.has_come and isinstance(key, slice) and lines:
            self.has_come = True
            self.append(lines[-1])
        return lines


def _spent_of_two_lines() -> int:
    """Return the amount spent on a line that is entered again while it is summed."""
    ledger = Ledger(Budget(rho=2))
    ledger.charge("do", "it", Stated(rho=1))
    ledger._journal = JournalWithALineMore(ledger._journal)
    ledger.spent()
    return int(ledger.spent())


def check_amounts_left(sequences: int = 25, steps: int = 25) -> Finding:
    """Charge ledgers in Gaussian differential privacy and their parts at random, and look at what costs count on.

    No line may count on more than was left before it in the whole ledger, or cost less than the audit's own figure; a
    file of it is read as it was written, and forged ones are refused.
    """
    defects: list[tuple[str, str]] = []
    count = 0
    for number in range(sequences):
        ledger = _charged_at_random(np.random.default_rng(number), steps)
        count += len(ledger.lines)
        defects.extend(_counted_on(ledger))
        defects.extend(_forged(ledger))
    defects.extend(_odd_lines())
    return finding("amounts left", "Ledger", defects[:5], f"{count} lines, none counts on more than was left")


def _charged_at_random(rng: np.random.Generator, steps: int) -> Ledger:
    ledger = Ledger(Budget(epsilon="3/2", delta="1/1000000", reserved_delta="1/10000000"))
    open_parts = [ledger]
    for _ in range(steps):
        at = open_parts[int(rng.integers(len(open_parts)))]
        amount = at.remaining() * Fraction(float(rng.uniform(0.02, 0.5)))
        try:
            if rng.random() < 0.15:
                open_parts.append(at.allocate("part", amount=amount, alone=bool(rng.integers(2))))
            elif rng.random() < 0.1 and at is open_parts[-1] and at is not ledger:
                at.close()
                open_parts.pop()
            else:
                laws = [_law(rng, at, amount / 4) for _ in range(3)]
                at.charge_many("do", [("it", law) for law in (laws if rng.random() < 0.5 else laws[:1] * 3)])
        except BudgetError:
            continue
    return ledger


def _law(rng: np.random.Generator, ledger: Ledger, amount: Fraction) -> Law:
    epsilon = ledger.epsilon_of(amount, int(rng.integers(1, 9)), has_range=True)
    laws: list[Callable[[], Law]] = [
        lambda: DiscreteGaussian(ledger.variance_of(amount, 3), 3),
        lambda: Exponential(epsilon, 2),
        lambda: Exponential(epsilon, 2, 9, 4),
        lambda: PermuteAndFlip(epsilon / 2, 1),
        lambda: DiscreteLaplace(4 / epsilon, 3, 1),
        lambda: DiscreteLaplace(4 / epsilon, 3),
        lambda: Stated(epsilon=epsilon / 2),
    ]
    return laws[int(rng.integers(len(laws)))]()


def _counted_on(ledger: Ledger) -> Found:
    left = ledger.budget.limit
    for line in ledger.lines:
        if line.left is None or line.left > left:
            counted = "nothing" if line.left is None else f"{float(line.left):.9g}"
            yield "wrong charge", f"a line counts on {counted} left, of {float(left):.9g}"
            return
        owed = LAWS[line.noise].owed(line.parameters, "rho", line.left)
        if line.cost < owed:
            where = f"{line.noise}, {float(line.left):.9g} left"
            yield "wrong charge", f"{where}: {float(owed):.9g} is owed, {float(line.cost):.9g} charged"
        left -= line.cost
    if left < 0:
        yield "overdrawn ledger", f"{float(-left):.9g} more than the budget is charged"


def _forged(ledger: Ledger) -> Found:
    """Store a ledger and read it; then with more left before its last step, and in the accounting of zCDP."""
    sound = ledger.to_dict()
    try:
        if LedgerReport.from_dict(sound).to_dict() != sound:
            yield "ledger sums", "a stored ledger is read as another one"
    except (BudgetError, ValueError) as error:
        yield "ledger sums", f"a stored ledger is refused: {error}"
    lines = [line.to_dict() for line in ledger.lines]
    first, last = ledger.lines[0], ledger.lines[-1]
    more = Charge(last.what, last.on, last.law, within=last.within, left=ledger.budget.limit).to_dict()
    named = {name: value for name, value in sound["budget"].items() if name != "accounting"}
    forged = {"more left than there was": sound | {"lines": [*lines[:-1], more]}} if last is not first else {}
    forged["no accounting"] = sound | {"budget": named}
    for name, fields in forged.items():
        try:
            LedgerReport.from_dict(fields)
        except (BudgetError, ValueError):
            continue
        yield "unchecked import", f"a ledger with {name} is read"


def _odd_lines() -> Found:
    """Make lines whose amount left is none, and reports of lines that have another accounting than their budget."""
    step = PermuteAndFlip("1/10", 1)
    makers: dict[str, Callable[[], object]] = {
        "a negative amount left": lambda: Charge("do", "it", step, left=-1),
        "an amount left of a pure budget": lambda: Charge("do", "it", step, unit="epsilon", left=1),
        "a rho in Gaussian differential privacy": lambda: Charge("do", "it", Stated(rho="1/10"), left=1),
    }
    budgets = {kind: Budget(rho=1, accounting=kind) for kind in ("gdp", "zcdp")}
    for kind, left in itertools.product(budgets, (None, 1)):
        if (left is None) == (kind == "gdp"):
            line = Charge("do", "it", step, left=left)
            makers[f"a line of another accounting than {kind}"] = lambda line=line, kind=kind: LedgerReport(
                budgets[kind], [line]
            )
    for name, make in makers.items():
        try:
            make()
        except (BudgetError, ValueError):
            continue
        yield "unchecked import", f"{name} is taken"
