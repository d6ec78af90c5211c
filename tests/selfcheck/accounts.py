"""Accounts against a list of what was reserved and charged; resumed releases, and relations that protect less."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from pypgm.audit.finding import Finding, finding
from pypgm.data import Dataset
from pypgm.domain import Domain
from pypgm.errors import BudgetError
from pypgm.privacy.account import Account
from pypgm.privacy.budget import Budget
from pypgm.privacy.laws import Stated
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.relation import Privacy

Found = Iterator[tuple[str, str]]

_LIMIT, _RESERVED = Fraction(3), Fraction(1, 100)
_AMOUNTS = [Fraction(n, d) for n in (1, 2, 7) for d in (1, 3, 1009)]
_DELTAS = [Fraction(0), Fraction(0), Fraction(1, 1000), Fraction(1, 101)]
_BIT = Fraction(1, 1 << 100)  # far less than floats tell
_BY = {"by": "a person", "why": "a check"}


class _Run:
    """A run and its ledger, beside what they must say."""

    def __init__(self, account: Account, amount: Fraction, delta: Fraction) -> None:
        budget = Budget(rho=amount, reserved_delta=delta)
        self.handle = account.reserve(budget, what="a run")
        # More than was reserved: the account has to notice.
        self.ledger = Ledger(Budget(rho=amount + 9, reserved_delta=Fraction(1, 2)), self.handle.observer)
        self.ledger.bind(Privacy())
        self.amount, self.delta, self.open = amount, delta, True
        self.charged: list[tuple[Fraction, Fraction]] = []

    def spent(self) -> tuple[Fraction, Fraction]:
        return sum((c for c, _ in self.charged), Fraction(0)), sum((d for _, d in self.charged), Fraction(0))

    def taken(self) -> tuple[Fraction, Fraction]:
        return (self.amount, self.delta) if self.open else self.spent()


def check_accounts() -> Finding:
    """Run random sequences of reserving, charging and settling, and compare an account with a list."""
    with tempfile.TemporaryDirectory() as folder:
        defects = [found for i in range(6) for found in _sequence(Path(folder) / str(i), i)]
        defects += _resumed(Path(folder))
        defects += _relations(Path(folder))
    return finding("accounts", "Account", defects, "6 sequences of 30 acts, resumed releases, and 4 relations")


def _sequence(path: Path, number: int) -> Found:
    rng = np.random.default_rng(number)
    account = Account(path, budget=Budget(rho=_LIMIT, reserved_delta=_RESERVED))
    runs: list[_Run] = []
    for _ in range(30):
        act = rng.integers(8)
        amount, delta = _AMOUNTS[rng.integers(len(_AMOUNTS))], _DELTAS[rng.integers(len(_DELTAS))]
        run = runs[rng.integers(len(runs))] if runs else None
        if act < 2 or run is None:
            if act == 1:  # all that is left, or hardly more
                left = _LIMIT - sum(run.taken()[0] for run in runs)
                amount = max(left, Fraction(0)) + _BIT * int(rng.integers(2)) or amount
            yield from _reserve(account, runs, amount, delta)
        elif act < 6:
            yield from _charge(run, amount, delta)
        else:
            if act == 6:
                run.handle.settle()
            elif run.open:
                account.settle(run.handle.entry.run, **_BY)
            run.open = False
        yield from _compared(account, runs)


def _reserve(account: Account, runs: list[_Run], amount: Fraction, delta: Fraction) -> Found:
    taken = [run.taken() for run in runs]
    fits = amount <= _LIMIT - sum(t for t, _ in taken) and delta <= _RESERVED - sum(d for _, d in taken)
    try:
        runs.append(_Run(account, amount, delta))
    except BudgetError:
        if fits:
            yield "ledger sums", "an account refuses a run that fits"
        return
    if not fits:
        yield "overdrawn ledger", "an account reserves more than it has"


def _charge(run: _Run, cost: Fraction, delta: Fraction) -> Found:
    spent, failed = run.spent()
    fits = run.open and spent + cost <= run.amount and failed + delta <= run.delta
    before = run.ledger.lines
    try:
        run.ledger.charge("do", "it", Stated(rho=cost, delta=delta))
    except BudgetError:
        if fits:
            yield "ledger sums", "an account refuses a line that fits"
        if run.ledger.lines != before:
            yield "ledger sums", "a line that the account refuses is in the ledger"
        return
    if not fits:
        yield "overdrawn ledger", "a run charges more than it reserved, or after it was settled"
    run.charged.append((cost, delta))


def _compared(account: Account, runs: list[_Run]) -> Found:
    every = account.runs()
    if [(r.spent, r.spent_delta) for r in every] != [run.spent() for run in runs]:
        yield "ledger sums", "what the runs of an account spent is not what was charged"
    if [r.is_settled for r in every] != [not run.open for run in runs]:
        yield "ledger sums", "an account has other open runs than there are"
    if account.remaining() != _LIMIT - sum(run.taken()[0] for run in runs):
        yield "ledger sums", "what is left of an account is not what nobody has"
    if runs and account.lines(len(runs)) != runs[-1].ledger.lines:
        yield "uncharged draw", "lines of a ledger are missing in its account"


def _resumed(folder: Path) -> Found:
    """Resume one release twice, in its account and in one that does not have it."""
    from pypgm.mechanisms import mst

    data = Dataset({"a": [0, 1, 1] * 9}, Domain({"a": 2}))
    account = Account(folder / "first", budget=Budget(rho=2))
    release = mst(data, budget=Budget(rho=1), account=account)
    tables: list[Any] = []
    for _ in range(3):
        try:
            tables.append(release.resume(data, Budget(rho="7/5"), account=account))
        except BudgetError:
            break
        except ValueError as error:
            yield "uncharged draw", str(error)
            return
        table = tables[-1]
        table.measure("a", rho=table.ledger.remaining())
    more = sum((table.ledger.spent() - release.ledger.spent() for table in tables), Fraction(0))
    for table in tables:
        table.close()
    if len(tables) != 2 or account.spent() != release.ledger.spent() + more:
        yield "second budget", "releases that are resumed from one spend more than their account has"
    other = Account(folder / "other", budget=Budget(rho=2))
    release.resume(data, Budget(rho="7/5"), account=other).close()
    if other.spent() != release.ledger.spent():
        yield "second budget", "a release that is resumed in another account costs nothing there"


def _relations(folder: Path) -> Found:
    """Charge an account under relations that are not its own, or protect less."""
    cases = [({"neighbours": "replace"}, Privacy()), ({"person": "id"}, Privacy("add-remove", 2))]
    account = Account(folder / "bound", budget=Budget(rho=9))
    yield from _refusal(account, Privacy("add-remove", 3), refused=False)
    yield from _refusal(account, Privacy("add-remove", 2), refused=True)
    for i, (made, privacy) in enumerate(cases):
        yield from _refusal(Account(folder / f"case {i}", budget=Budget(rho=9), **made), privacy, refused=True)


def _refusal(account: Account, privacy: Privacy, *, refused: bool) -> Found:
    with account.reserve(Budget(rho=1), what="a run") as run:
        ledger = Ledger(Budget(rho=1), run.observer)
        ledger.bind(privacy)
        try:
            ledger.charge("do", "it", Stated(rho=1))
        except ValueError:
            if not refused:
                yield "ledger sums", f"an account refuses its own relation {privacy}"
        else:
            if refused:
                yield "mark lost", f"an account takes {privacy}, which protects less"
