"""Runs that are charged to an account: of a learner, of a private table, of a resumed release."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from pypgm._base.text import checked_text
from pypgm.privacy.account import Account, ChargedRelease
from pypgm.privacy.account_entry import AccountEntry
from pypgm.privacy.account_run import Reservation
from pypgm.privacy.budget import Budget
from pypgm.privacy.laws import Stated
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.rational import Number
from pypgm.privacy.relation import Privacy


class _Resumable(ChargedRelease, Protocol):
    @property
    def privacy(self) -> Privacy: ...

    @property
    def mechanism(self) -> str: ...


def as_account(given: object) -> Account | Reservation | None:
    """Return the argument of an account; ``TypeError`` for anything else, such as its path."""
    if given is None or isinstance(given, Account | Reservation):
        return given
    raise TypeError(f"account needs a pypgm.Account, got {type(given).__name__}: pypgm.Account(path) opens one")


def on_table(given: object, source: object, table: str | None = None) -> Account | Reservation | None:
    """Return the argument of an account for runs on a table: by its name, by its path as it is typed, or neither.

    Raises
    ------
    ValueError
        If the account is for another table, or the records have no name and the account is opened for none.
    """
    account = as_account(given)
    if isinstance(account, Reservation):
        account.check_table(table)  # which was named as it was reserved
        return account
    path = os.fspath(source) if isinstance(source, str | os.PathLike) else None
    if account is None or table is not None:
        return account and account.on(table)
    return account.on(path if account._table is None and isinstance(path, str) else None)


def charged_to(account: Account | Reservation, ledger: Ledger, privacy: Privacy) -> Reservation:
    """Return the reservation to whose account a ledger is charged from now on: a new one of its budget, or the given.

    Raises
    ------
    BudgetError
        If the account has less than the budget left.
    ValueError
        If the account is for another relation, or the ledger has lines that it does not know.
    """
    if isinstance(account, Reservation):
        account.check(privacy)
        account.attach(ledger)
        return account
    if ledger.lines:
        raise ValueError("the ledger has charges that the account does not know: pass a new one, or use release.resume")
    run = account.reserve(ledger.budget, what="private table")
    try:
        return charged_to(run, ledger, privacy)
    except BaseException:
        run.end()
        raise


def paid_for(
    account: Account,
    what: str,
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    rho: Number | None = None,
    key: str = "",
) -> AccountEntry:
    """Enter a release that is made by other means, as one stated step, for good; to be called before it is made.

    Parameters
    ----------
    account : Account
    what : str
        The release.
    epsilon, rho : number
        Exactly one: its guarantee. An account of epsilon and delta takes an epsilon.
    delta : number
        The delta of its guarantee, from the `reserved_delta` of the account's budget.
    key : str
        A key under which nothing more can be reserved.

    Raises
    ------
    BudgetError, ValueError
        See `Account.reserve`.
    """
    what = checked_text("what", what)
    how: dict[str, Any] = {name: value for name, value in {"epsilon": epsilon, "rho": rho}.items() if value is not None}
    budget, law = Budget(**how, reserved_delta=delta), Stated(**how, delta=delta)
    with account.reserve(budget, what=what, key=key, table=account.table or None) as run:
        ledger = Ledger(budget, run.observer)
        ledger.bind(account.relation)
        ledger.charge("release", what, law)
        account.keep(run.entry.run, "", "made by other means")  # so that its key stays taken
    return run.entry


@contextmanager
def resumed(account: Account | None, release: _Resumable, ledger: Ledger) -> Iterator[Reservation | None]:
    """Context of a run whose ledger begins with the charges of a release; an error ends the run.

    Where the release is of the same account, its charges stand there and are not entered again.
    """
    if account is None:
        if release.account is not None:
            paid = f"the release was paid by the account {release.account.name}"
            raise ValueError(f"{paid}, which would not know what is charged now: pass account=pypgm.Account(...)")
        yield None
        return
    if not isinstance(account, Account):
        raise TypeError(f"account needs a pypgm.Account, got {type(account).__name__}")
    is_there = release.account is not None and release.account.identity == account.identity
    if is_there:
        account.check_release(release)
    what = f"{release.mechanism}, resumed"
    run = account.reserve(ledger.budget, what=what, after=ledger if is_there else None)
    try:
        ledger.bind(release.privacy)
        run.attach(ledger, has_lines=True)
        if not is_there and ledger.lines:
            run.enter(ledger, ledger.lines, were_first=True)
        yield run
    except BaseException:
        run.end()
        raise


@contextmanager
def reserved(given: object, budget: Budget, what: str) -> Iterator[Reservation | None]:
    """Context of one run: what it reserved in an account, if there is one; settled at its end if it is made here."""
    account = as_account(given)
    if not isinstance(account, Account):
        yield account
        return
    with account.reserve(budget, what=what) as reservation:
        yield reservation
