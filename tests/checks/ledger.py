"""A ledger against a plain list of what was charged to it, and all ways to a second budget."""

from __future__ import annotations

import copy
import os
import pickle
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from selfcheck.ledgers import JournalWithALineMore

from pypgm.audit.finding import Finding, finding
from pypgm.audit.pairs import neighbour_pairs
from pypgm.errors import BudgetError
from pypgm.privacy.budget import Budget, Unit
from pypgm.privacy.charge import Charge
from pypgm.privacy.laws import DiscreteGaussian, Stated
from pypgm.privacy.ledger import Ledger, LedgerReport
from pypgm.privacy.observer import Observer
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.relation import Privacy

__all__ = ["check_ledger", "check_ledger_files", "check_ledger_threads", "check_second_budgets"]

Found = Iterator[tuple[str, str]]

_LIMIT, _RESERVED = Fraction(3), Fraction(1, 100)
_AMOUNTS = [Fraction(n, d) for n in (0, 1, 2, 7) for d in (1, 3, 1009)]
_DELTAS = [Fraction(0), Fraction(0), Fraction(1, 1000), Fraction(1, 101), Fraction(1, 50)]
_BIT = Fraction(1, 1 << 100)  # far less than floats tell
_RELATIONS = [Privacy(), Privacy("replace"), Privacy(records_per_person=2)]


class _Book:
    """A limit and the amounts charged in it and in its parts: what a ledger must say."""

    def __init__(self, limit: Fraction, reserved: Fraction, parent: _Book | None = None) -> None:
        self.limit, self.reserved, self.parent = limit, reserved, parent
        self.open = True
        self.parts: list[_Book] = []
        self.charged: list[tuple[Fraction, Fraction]] = []

    def spent(self) -> tuple[Fraction, Fraction]:
        return sum((c for c, _ in self.charged), Fraction(0)), sum((d for _, d in self.charged), Fraction(0))

    def left(self) -> tuple[Fraction, Fraction]:
        if not self.open:
            return Fraction(0), Fraction(0)
        spent, failed = self.spent()
        for part in self.parts:
            within = part.spent() if part.open else (part.limit, part.reserved)
            spent, failed = spent + part.limit - within[0], failed + part.reserved - within[1]
        return self.limit - spent, self.reserved - failed

    def fits(self, cost: Fraction, delta: Fraction) -> bool:
        left, reserved = self.left()
        return self.open and cost <= left and delta <= reserved

    def charge(self, cost: Fraction, delta: Fraction) -> None:
        book: _Book | None = self
        while book is not None:
            book.charged.append((cost, delta))
            book = book.parent


class _Sequence:
    """Random acts on a ledger and its parts, each beside its book."""

    def __init__(self, number: int) -> None:
        self.rng = np.random.default_rng(number)
        self.tree = [(Ledger(Budget(rho=_LIMIT, reserved_delta=_RESERVED)), _Book(_LIMIT, _RESERVED))]
        self.bound: Privacy | None = None
        self.mark = ""
        self.last = Fraction(1, 3), Fraction(0)

    def run(self, steps: int) -> Found:
        acts = [
            self.charge,
            self.charge,
            self.charge,
            self.allocate,
            self.close,
            self.copies,
            self.says,
            self.meanwhile,
        ]
        for _ in range(steps):
            ledger, book = self.tree[int(self.rng.integers(len(self.tree)))]
            try:
                yield from acts[int(self.rng.integers(len(acts)))](ledger, book)
            except (ArithmeticError, TypeError, ValueError) as error:
                yield "ledger sums", f"{type(error).__name__}: {error}"
            yield from self.compare()

    def charge(self, ledger: Ledger, book: _Book) -> Found:
        if self.rng.random() < 0.6:
            self.last = self.one_of(_AMOUNTS), self.one_of(_DELTAS)
        cost, delta = self.last
        fits = book.fits(cost, delta)
        try:
            ledger.charge("do", "it", Stated(rho=cost, delta=delta))
        except BudgetError:
            if fits:
                yield "ledger sums", f"a charge of {cost} and delta {delta} is refused where {book.left()} are left"
        else:
            book.charge(cost, delta)
            if not book.open:
                yield "second budget", "a closed part is charged"
            elif not fits:
                yield "overdrawn ledger", f"a charge of {cost} and delta {delta} is taken"

    def meanwhile(self, ledger: Ledger, book: _Book) -> Found:
        """Charge, and enter the line once more while lines are summed, as another thread would."""
        before = len(book.charged)
        yield from self.charge(ledger, book)
        if len(book.charged) == before or not book.fits(*self.last):
            return
        journal = JournalWithALineMore(ledger._journal)
        self.keep(journal)
        ledger.spent()
        self.keep(list(journal))
        if journal.has_come:
            book.charge(*self.last)

    def keep(self, journal: list[Any]) -> None:
        """Let the ledger and its parts have other lines."""
        for ledger, _ in self.tree:
            ledger._journal = journal

    def allocate(self, ledger: Ledger, book: _Book) -> Found:
        amount, delta = self.one_of([a for a in _AMOUNTS if a > 0]), self.one_of(_DELTAS)
        fits = book.fits(amount, delta)
        share: dict[str, Any] = {"fraction": amount / book.limit} if self.rng.random() < 0.5 else {"amount": amount}
        try:
            part = ledger.allocate("part", **share, reserved_delta=delta)
        except BudgetError:
            if fits:
                yield "ledger sums", f"an allocation of {amount} is refused where {book.left()} are left"
            return
        book.parts.append(_Book(amount, delta, book))
        self.tree.append((part, book.parts[-1]))
        if not book.open:
            yield "second budget", "a closed part is allocated from"
        elif not fits:
            yield "overdrawn ledger", f"an allocation of {amount} and delta {delta} is taken, {book.left()} are left"

    def close(self, ledger: Ledger, book: _Book) -> Found:
        if book.parent is not None and any(part.open for part in book.parts):
            try:
                ledger.close()
            except ValueError:
                return
            yield "second budget", "a part is closed while parts of its own are open"
            return
        ledger.close()
        book.open = book.parent is None

    def copies(self, ledger: Ledger, book: _Book) -> Found:
        for copied in (copy.deepcopy(ledger), Ledger.from_dict(ledger.to_dict())):
            if (copied.spent(), copied.spent_delta()) != book.spent() or len(copied.lines) != len(book.charged):
                yield "ledger sums", "a copy has other sums than its ledger"
            if (copied.privacy, copied.not_private) != (self.bound, self.mark):
                yield "mark lost", "a copy has another relation or mark than its ledger"

    def says(self, ledger: Ledger, _: _Book) -> Found:
        """Bind the ledger to a relation, and mark it."""
        privacy = self.one_of(_RELATIONS)
        try:
            ledger.bind(privacy)
        except ValueError:
            if self.bound in {None, privacy}:
                yield "mark lost", f"{privacy} is refused, bound to {self.bound}"
        else:
            if self.bound not in {None, privacy}:
                yield "mark lost", f"bound to {self.bound}, {privacy} is taken"
            self.bound = self.bound or privacy
        if self.rng.random() < 0.3:
            ledger.mark_not_private("an audit")
            self.mark = "an audit"

    def compare(self) -> Found:
        for ledger, book in self.tree:
            if (ledger.spent(), ledger.spent_delta()) != book.spent() or len(ledger.lines) != len(book.charged):
                yield "ledger sums", f"{ledger.spent()} is said to be spent, {book.spent()[0]} was"
            if (ledger.remaining(), ledger.remaining_delta()) != book.left():
                yield "ledger sums", f"{ledger.remaining()} is said to be left, {book.left()[0]} is"
            if _takes_more(ledger, book):
                yield "overdrawn ledger", f"the least bit more than the {book.left()[0]} that are left is taken"
            if (ledger.privacy, ledger.not_private) != (self.bound, self.mark):
                yield "mark lost", f"{ledger.privacy}, {ledger.not_private!r}: it is {self.bound}, {self.mark!r}"

    def one_of(self, things: Sequence[Any]) -> Any:
        return things[int(self.rng.integers(len(things)))]


def _takes_more(ledger: Ledger, book: _Book) -> bool:
    """Return whether a charge is taken of more than is left, or of more delta, by `_BIT`."""
    left, reserved = (max(amount, Fraction(0)) for amount in book.left())
    for cost, delta in ((left + _BIT, Fraction(0)), (Fraction(0), reserved + _BIT)):
        try:
            ledger.charge("do", "it", Stated(rho=cost, delta=delta))
        except BudgetError:
            continue
        return True
    return False


def check_ledger(sequences: int = 60, steps: int = 40) -> Finding:
    """Charge, allocate, close, copy, bind and mark at random: each sum, refusal and mark is that of a plain list."""
    defects: list[tuple[str, str]] = []
    for number in range(sequences):
        defects.extend(_Sequence(number).run(steps))
        if defects:
            break
    return finding("ledger model", "Ledger", defects, f"{sequences} sequences of {steps} acts, equal rationals")


class _Slow(Observer):
    """Holds each thread up between the check and the entry of its charge, or of its part."""

    not_private = ""

    def charged(self, ledger: object, line: object) -> None:
        """Wait."""
        del ledger, line
        time.sleep(0.02)

    def allocated(self, ledger: object, part: object) -> None:
        """Wait."""
        del ledger, part
        time.sleep(0.02)


def check_ledger_threads(threads: int = 3) -> Finding:
    """Hold each thread up between the check and the entry of its charge: one of them may pass, no more."""
    defects = []
    acts: dict[str, Callable[[Ledger], object]] = {
        "charge": lambda ledger: ledger.charge("do", "it", Stated(rho=1)),
        "allocation": lambda ledger: ledger.allocate("all", amount=1),
    }
    for name, act in acts.items():
        for part in (False, True):
            ledger = Ledger(Budget(rho=1), _Slow())
            passed = _together(act, ledger.allocate("part", amount=1) if part else ledger, threads)
            if passed != 1:
                defects.append(("ledger race", f"{passed} of {threads} threads pass with a {name} of all there is"))
    return finding("ledger threads", "Ledger", defects, f"{threads} threads at once, one of them is let through")


def _together(act: Callable[[Ledger], object], ledger: Ledger, threads: int) -> int:
    passed: list[int] = []

    def work() -> None:
        try:
            act(ledger)
        except BudgetError:
            return
        passed.append(1)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return len(passed)


def check_second_budgets() -> Finding:
    """Copy, pickle, store and fork a ledger, and keep parts that were closed: none of them may be charged."""
    ledger = Ledger(Budget(rho=1))
    part = ledger.allocate("part", amount="1/2")
    data = neighbour_pairs([Privacy()])[-1].one
    copies: dict[str, Callable[[Ledger], Any]] = {
        "copy": copy.copy,
        "deep copy": copy.deepcopy,
        "pickle": lambda one: pickle.loads(pickle.dumps(one)),
        "old pickle": lambda one: pickle.loads(pickle.dumps(one, protocol=0)),
        "file": lambda one: Ledger.from_dict(one.to_dict()),
        "snapshot": Ledger.snapshot,
    }
    defects, count = [], 0
    for name, make in copies.items():
        for one in (ledger, part):
            count += 1
            if _can_be_charged(make(one), data):
                defects.append(("second budget", f"a {name} of a ledger is charged"))
    part.close()
    if _can_be_charged(part, data):
        defects.append(("second budget", "a closed part is charged"))
    if hasattr(os, "fork"):
        defects += [("second budget", f"{name} in a forked child") for name in _in_a_child(ledger)]
    return finding("second budgets", "Ledger", defects, f"{count} copies, a closed part and a child that cannot charge")


def _can_be_charged(ledger: Any, data: Any) -> bool:
    for act in (
        lambda: ledger.charge("do", "it", Stated(rho="1/8")),
        lambda: ledger.allocate("part", amount="1/8"),
        lambda: PrivateTable(data, Privacy(), ledger).measure("a", rho="1/8"),
    ):
        try:
            act()
        except (AttributeError, BudgetError, TypeError):
            continue
        return True
    return False


def _in_a_child(ledger: Ledger) -> list[str]:
    acts: dict[str, Callable[[], object]] = {
        "a charge": lambda: ledger.charge("do", "it", Stated(rho="1/8")),
        "an allocation": lambda: ledger.allocate("part", amount="1/8"),
    }
    out, into = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # no thread of this process holds the ledger
        child = os.fork()
    if child == 0:
        passed = b""
        try:
            for i, act in enumerate(acts.values()):
                try:
                    act()
                except BudgetError:
                    continue
                passed += b"%d" % i
            os.write(into, passed)
        finally:
            os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as pipe:
        passed = pipe.read()
    os.waitpid(child, 0)
    return [name for i, name in enumerate(acts) if b"%d" % i in passed]


def check_ledger_files() -> Finding:
    """Store a ledger, change one entry, and read it: what does not follow from laws and budget must be refused."""
    ledger = Ledger(Budget(rho=1, reserved_delta="1/100"))
    ledger.charge("measure", "a", DiscreteGaussian(variance=1, squared_sensitivity=1))
    ledger.charge("do", "it", Stated(rho="1/4", delta="1/200"))
    pure = Charge("do", "it", Stated(epsilon="1/8"), unit="epsilon")
    sound = ledger.to_dict()
    defects: list[tuple[str, str]] = []
    lines: list[dict[str, Any]] = sound["lines"]
    broken: dict[str, dict[str, Any]] = {
        "a cost below that of its law": {"lines": [lines[0] | {"cost": "1/1000"}]},
        "a cost that is no number": {"lines": [lines[1] | {"cost": "nan"}]},
        "more lines than fit": {"lines": lines * 2},
        "more delta than is reserved": {"lines": [lines[1] | {"delta": "1/50"}]},
        "a line in another unit": {"lines": [pure.to_dict()]},
        "an unknown law": {"lines": [lines[0] | {"noise": "none"}]},
        "a negative parameter": {"lines": [lines[0] | {"parameters": {"variance": "-1", "squared_sensitivity": "1"}}]},
        "a lower budget": {"budget": {"rho": "1/2"}},
        "another relation than there is": {"privacy": {"neighbours": "none", "records_per_person": 1}},
    }
    for name, change in broken.items():
        defects.extend(_taken(f"a file with {name}", partial(Ledger.from_dict, sound | change)))
    forged = Charge("do", "it", Stated(rho=100))
    object.__setattr__(forged, "cost", Fraction(0))
    free = _Free(rho=100)
    defects.extend(_taken("a law with a cost of its own", lambda: ledger.charge("do", "it", free)))
    defects.extend(_taken("a report of such a line", lambda: LedgerReport(ledger.budget, [forged])))
    if Ledger.from_dict(sound).to_dict() != sound:
        defects.append(("ledger sums", "a stored ledger is read as another one"))
    return finding("ledger files", "Ledger", defects, f"{len(broken) + 2} changed entries, each refused")


class _Free(Stated):
    """Costs nothing, whatever it is."""

    __slots__ = ()

    def cost(self, unit: Unit) -> Fraction:
        """Return nothing."""
        return 0 * Stated.cost(self, unit)


def _taken(what: str, act: Callable[[], object]) -> Found:
    try:
        act()
    except (BudgetError, TypeError, ValueError):
        return
    yield "unchecked import", f"{what} is taken"
