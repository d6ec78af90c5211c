"""Accounts: budgets that outlive a process, from which every run on a table takes its own."""

from __future__ import annotations

import copy
import json
import os
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol

from pypgm import _core
from pypgm._base.numeric import checked_integer, shown
from pypgm._base.process import process_mark
from pypgm._base.terminal import escaped
from pypgm._base.text import checked_text
from pypgm.errors import BudgetError
from pypgm.privacy.account_entry import AccountEntry
from pypgm.privacy.account_rows import (
    FORMAT,
    HEAD,
    AccountHead,
    AccountRun,
    Change,
    arguments_of,
    check_key,
    check_left,
    columns_of,
    head_of,
    left_of,
    n_fitting,
    persons_text,
    price,
    runs_of,
    today,
)
from pypgm.privacy.account_run import Reservation
from pypgm.privacy.account_store import NUMBERS, TABLES, Execute, Store, store_at
from pypgm.privacy.budget import Budget, Unit, own_budget, short
from pypgm.privacy.charge import Charge
from pypgm.privacy.ledger_report import LedgerReport
from pypgm.privacy.rational import exact_sum
from pypgm.privacy.relation import Privacy
from pypgm.queries import Neighbours

__all__ = ["Account", "AccountRun", "Change", "ChargedRelease"]


class ChargedRelease(Protocol):
    """Release that may name a run of an account."""

    @property
    def account(self) -> AccountEntry | None:
        """The run, if the release was charged to an account."""

    @property
    def ledger(self) -> LedgerReport:
        """The charges of the release."""


class Account:
    """A budget for all runs on one table, in a file or a database: it outlives the processes that spend it.

    A run reserves its own budget here before it reads a record, in a transaction; enters each line before the records
    are counted for it; and gives back at its end what it did not charge. Runs at once, in any processes and on any
    machines that reach the account, never exceed the budget. A process that is killed leaves its reservation, which
    counts as spent until somebody settles the run by the lines that it entered.

    The account holds lines, budgets, labels and names of columns, as ledgers do, and no value of a record.

    Parameters
    ----------
    place : path or str
        A file of SQLite on a disk of this machine; or a URL ``postgresql://user@host/database``, whose schema holds
        one account.
    budget : Budget, optional
        The most that all runs may cost together: makes the account if none is there. Runs with unlisted values take
        part of its `reserved_delta`.
    table : str, optional
        The name of the table. An account that has one takes runs on this table alone: on a path, as it is typed, or a
        table of a database, by that name. Whoever opens the account by it says that its runs are on this table,
        whatever their records come from: a frame has no name, and a path may be another spelling.
    person : str or sequence of str, optional
        The column that identifies persons in every run, or several; by default the first run decides.
    neighbours : {"add-remove", "replace"}, optional
        The neighbour relation of every run; by default the first run decides.

    Raises
    ------
    FileNotFoundError
        If no account is there, and no budget to make one.
    OSError
        If the account cannot be reached, or a file is on a file system of the network.
    ValueError
        If the account that is there has another budget, table, person or relation.

    Examples
    --------
    >>> import pathlib, tempfile, pypgm
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.account"
    >>> account = Account(path, budget=Budget(rho=1), table="people")
    >>> data = pypgm.Dataset({"a": [0, 1, 1]}, pypgm.Domain({"a": 2}))
    >>> release = pypgm.mechanisms.mst(data, budget=Budget(rho="1/4"), account=account)
    >>> account.spent(), account.remaining(), str(release.account and release.account.text)
    (Fraction(1, 4), Fraction(3, 4), 'people.account, run 1, rho 0.25 reserved')
    """

    __slots__ = ("_store", "_table")

    _store: Store
    _table: str | None  # of the runs that name none

    def __init__(
        self,
        place: str | os.PathLike[str],
        *,
        budget: Budget | None = None,
        table: str | None = None,
        person: str | Sequence[str] | None = None,
        neighbours: Neighbours | None = None,
    ) -> None:
        columns, table = columns_of(person), None if table is None else checked_text("table", table)
        made = Privacy(neighbours or "add-remove", 1 if columns else None, columns or ())  # refuses what does not fit
        neighbours = made.neighbours if neighbours else None
        wanted = None if budget is None else own_budget(budget)
        self._store, self._table = store_at(place, create=budget is not None), table
        with self._store.transaction(reads=wanted is None) as execute:
            if not self._store.is_filled(execute):
                if wanted is None:
                    raise FileNotFoundError(f"no account in {self._store.name}: pass budget= to create one")
                self._fill(execute, wanted, table, columns, neighbours)
            head = head_of(execute)
        values: dict[str, tuple[object, object]] = {"budget": (wanted, head.budget), "table": (table, head.table)}
        values |= {"person": (columns, head.person), "neighbours": (neighbours, head.neighbours)}
        for name, (given, kept) in values.items():
            if given is not None and given != kept:
                raise ValueError(f"the account {head.name} has {name} {kept!r}, got {given!r}: leave {name} out")

    def _fill(
        self,
        execute: Execute,
        budget: Budget,
        table: str | None,
        person: tuple[str, ...] | None,
        neighbours: Neighbours | None,
    ) -> None:
        """Make the tables of a new account."""
        for statement in TABLES:
            execute(statement)
        columns = "" if person is None else json.dumps(person)
        kept = json.dumps(arguments_of(budget))
        values = (FORMAT, self._store.name, _identity(), kept, table or "", neighbours or "", columns, "")
        execute(f"INSERT INTO account ({HEAD}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", *values, "open")
        _note(execute, f"created with {budget!r}", "", "")

    def _read(self) -> tuple[AccountHead, tuple[AccountRun, ...]]:
        with self._store.transaction(reads=True) as execute:
            return head_of(execute), runs_of(execute)

    def _first(self) -> AccountHead:
        with self._store.transaction(reads=True) as execute:
            return head_of(execute)

    @property
    def name(self) -> str:
        """The name of the account, as releases have it: that of its file when it was made."""
        return self._first().name

    @property
    def identity(self) -> str:
        """The number that tells this account from others of its name."""
        return self._first().identity

    @property
    def budget(self) -> Budget:
        """The budget of all runs together."""
        return self._first().budget

    @property
    def unit(self) -> Unit:
        """The unit of the account's amounts."""
        return self.budget.unit

    @property
    def table(self) -> str:
        """The name of the table; empty if none was given."""
        return self._first().table

    def on(self, table: str | None) -> Account:
        """Return the same account for runs on a table, in place of the one for which it was opened; None is that one.

        Raises
        ------
        ValueError
            If the account has the name of another table.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> account = Account(pathlib.Path(tempfile.mkdtemp()) / "a", budget=Budget(rho=1), table="people")
        >>> account.on("visits")
        Traceback (most recent call last):
        ValueError: a is for the table 'people', the run is on 'visits'
        """
        name = self._table if table is None else checked_text("table", table)
        self._first().check_table(name)
        account = copy.copy(self)
        account._table = name
        return account

    @property
    def relation(self) -> Privacy:
        """The neighbour relation of all runs: of the first one, or before it as the account was made."""
        head = self._first()
        columns = head.person or ()
        made = Privacy(head.neighbours or "add-remove", 1 if columns else None, columns)  # type: ignore[arg-type]
        return head.relation or made

    @property
    def is_closed(self) -> bool:
        """Whether no run can reserve any more."""
        return self._first().state == "closed"

    def runs(self) -> tuple[AccountRun, ...]:
        """Return the runs, in the order of their reservations."""
        return self._read()[1]

    def run_of(self, key: str) -> AccountRun | None:
        """Return the last run that was reserved under a key, if there is one; none has the empty key."""
        wanted = checked_text("key", key)
        return next((run for run in reversed(self.runs()) if wanted and run.key == wanted), None)

    def lines(self, run: int) -> tuple[Charge, ...]:
        """Return the lines of a run, in the order in which it was charged."""
        if (number := checked_integer("run", run)) not in NUMBERS:
            return ()
        with self._store.transaction(reads=True) as execute:
            rows = execute("SELECT charge FROM account_lines WHERE run = ? ORDER BY line", number)
        return tuple(Charge.from_dict(json.loads(text)) for (text,) in rows)

    def changes(self) -> tuple[Change, ...]:
        """Return what was done beside runs: creation, settling by a person, widening, closing."""
        with self._store.transaction(reads=True) as execute:
            rows = execute("SELECT day, what, by_whom, why FROM account_changes ORDER BY change")
        return tuple(Change(*row) for row in rows)

    def spent(self) -> Fraction:
        """Return the amount that settled runs spent, in the account's unit."""
        return exact_sum(run.spent for run in self.runs() if run.is_settled)

    def reserved(self) -> Fraction:
        """Return the amount that unsettled runs hold, in the account's unit."""
        return exact_sum(run.amount for run in self.runs() if not run.is_settled)

    def remaining(self) -> Fraction:
        """Return the amount that a new run can reserve, in the account's unit; 0 once closed."""
        head, runs = self._read()
        return Fraction(0) if head.state == "closed" else left_of(head.budget, runs)[0]

    def n_fitting(self, budget: Budget) -> int:
        """Return how many further runs of a budget are certain to fit, of at most 1000; 0 once closed.

        Each is counted with all of its budget, though a run gives back what it does not charge.

        Raises
        ------
        ValueError
            If the budget does not compose with that of the account.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> Account(pathlib.Path(tempfile.mkdtemp()) / "a", budget=Budget(rho=1)).n_fitting(Budget(rho="2/5"))
        2
        """
        wanted, (head, runs) = own_budget(budget), self._read()
        left = left_of(head.budget, runs)
        price(wanted, head.budget, left[0])  # raises where they do not compose
        return 0 if head.state == "closed" else n_fitting(wanted, head.budget, left)

    def reserve(
        self, budget: Budget, *, what: str, key: str = "", table: str | None = None, after: LedgerReport | None = None
    ) -> Reservation:
        """Reserve the budget of a run, before it reads a record.

        Parameters
        ----------
        budget : Budget
            The budget of the run.
        what : str
            The mechanism or learner.
        key : str
            A key that no other run has which is at work, or has a release.
        table : str, optional
            The name of the table, which has to be the account's; by default that for which the account was opened.
        after : LedgerReport, optional
            Charges in this budget that stand in the account already, those of an earlier run: only the rest is
            reserved.

        Returns
        -------
        Reservation
            Context that settles the run at its end; pass it as ``account=`` to one mechanism or learner.

        Raises
        ------
        BudgetError
            If the account has less than that left, or is closed.
        ValueError
            If the budget does not compose with that of the account, the table is another one or has no name, or a run
            that is at work or has a release has the key.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> account = Account(pathlib.Path(tempfile.mkdtemp()) / "a", budget=Budget(rho=1))
        >>> with account.reserve(Budget(rho="1/2"), what="a query"):
        ...     account.remaining()
        Fraction(1, 2)
        >>> account.remaining()
        Fraction(1, 1)
        """
        kept, token = own_budget(budget), f"{_identity()} {process_mark()}"
        what, key = checked_text("what", what), checked_text("key", key)
        table = self._table if table is None else checked_text("table", table)
        if after is not None and (
            after.budget.accounting != kept.accounting
            or after.spent() > kept.limit
            or after.spent_delta() > kept.reserved_delta
        ):
            raise ValueError(f"{budget!r} is not enough for the earlier charges, of {after.budget!r}")
        earlier = (Fraction(0), Fraction(0)) if after is None else (after.spent(), after.spent_delta())
        with self._store.transaction() as execute:
            head, runs = head_of(execute), runs_of(execute)
            head.check_table(table)
            if head.state == "closed":
                raise BudgetError(f"{head.name} is closed: nothing more can be reserved")
            check_key(head, runs, key)
            left, left_delta = left_of(head.budget, runs)
            amount = price(kept, head.budget, left, earlier[0])
            delta = kept.reserved_delta - earlier[1]
            check_left(head, runs, amount, left, "")
            check_left(head, runs, delta, left_delta, " in probabilities of failure, which its budget has to reserve")
            run = len(runs) + 1
            kinds = {"run": run, "token": token, "key": key, "what": what, "day": today()}
            kinds |= {"budget": json.dumps(arguments_of(kept)), "amount": str(amount), "delta": str(delta)}
            kinds |= {
                "charged": "0",
                "spent": "0",
                "spent_delta": "0",
                "relation": "",
                "not_private": "",
                "state": "open",
            }
            kinds |= {"path": "", "digest": ""}
            marks = ", ".join("?" * len(kinds))
            execute(f"INSERT INTO account_runs ({', '.join(kinds)}) VALUES ({marks})", *kinds.values())
        entry = AccountEntry(head.name, head.identity, run, head.budget.unit, amount)
        return Reservation(self._store, head, entry, token=token, budget=kept, earlier=earlier)

    def check(self, privacy: Privacy) -> None:
        """Raise ``ValueError`` for a relation that is not the account's, or protects less."""
        self._first().check(privacy)

    def check_table(self, table: str | None = None) -> None:
        """Raise ``ValueError`` for the name of another table; None stands for the table that the account is for."""
        self.on(table)

    def settle(self, run: int, *, by: str, why: str) -> AccountRun:
        """Settle the run of a process that has ended, by the lines it entered: the rest of its budget goes back.

        A line is entered before records are read for it, so that nothing the run has shown is left out. If the process
        is still at work, its next charge is refused.

        Parameters
        ----------
        run : int
            Number of the run.
        by, why : str
            Name of the person, and the reason; they stay in the account.

        Raises
        ------
        ValueError
            If no such run is open, or a text is empty.
        """
        number = checked_integer("run", run)
        with self._store.transaction() as execute:
            by, why = _reason(by, why)
            if not any(known.run == number and not known.is_settled for known in runs_of(execute)):
                raise ValueError(f"{head_of(execute).name} has no open run {shown(number)}")
            execute("UPDATE account_runs SET state = 'settled', token = '' WHERE run = ?", number)
            _note(execute, f"settled run {number}", by, why)
            return next(known for known in runs_of(execute) if known.run == number)

    def widen(self, budget: Budget, *, by: str, why: str) -> None:
        """Replace the budget by a larger one of the same kind.

        What was published before has then been promised more than holds from now on.

        Parameters
        ----------
        budget : Budget
        by, why : str
            Name of the person, and the reason; they stay in the account.

        Raises
        ------
        ValueError
            If the budget is smaller or of another kind, or a text is empty.
        BudgetError
            If the account is closed.
        """
        wanted = own_budget(budget)
        with self._store.transaction() as execute:
            head = head_of(execute)
            by, why = _reason(by, why)
            if head.state == "closed":
                raise BudgetError(f"{head.name} is closed")
            if wanted.accounting != head.budget.accounting:
                raise ValueError(f"{head.name} has {head.budget!r}, {budget!r} is of another kind")
            if wanted.limit < head.budget.limit or wanted.reserved_delta < head.budget.reserved_delta:
                raise ValueError(f"{head.name} has {head.budget!r}, {budget!r} is less")
            execute("UPDATE account SET budget = ?", json.dumps(arguments_of(wanted)))
            _note(execute, f"widened from {head.budget!r} to {wanted!r}", by, why)

    def close(self, *, by: str, why: str) -> None:
        """Close the account for good: no run can reserve any more; those at work finish.

        Parameters
        ----------
        by, why : str
            Name of the person, and the reason; they stay in the account.
        """
        with self._store.transaction() as execute:
            by, why = _reason(by, why)
            if head_of(execute).state != "closed":
                execute("UPDATE account SET state = 'closed'")
                _note(execute, "closed", by, why)

    def keep(self, run: int, path: str | os.PathLike[str], digest: str) -> None:
        """Set the file of a run's release and its digest, which a later call under the same key finds.

        Parameters
        ----------
        run : int
            Number of the run.
        path : path-like
            File of the release.
        digest : str
            Digest of the file.

        Raises
        ------
        ValueError
            If there is no such run.
        """
        number, file = checked_integer("run", run), checked_text("path", os.fspath(path))
        digest = checked_text("digest", digest)
        with self._store.transaction() as execute:
            if not any(known.run == number for known in runs_of(execute)):
                raise ValueError(f"{head_of(execute).name} has no run {shown(number)}")
            execute("UPDATE account_runs SET path = ?, digest = ? WHERE run = ?", file, digest, number)

    def check_release(self, release: ChargedRelease) -> str:
        """Return a sentence on the run of a release; raise if this account does not have it.

        Raises
        ------
        ValueError
            If the release names no account or another one, or its run, amount or lines are not those of the account.
        """
        entry, (head, runs) = release.account, self._read()
        if entry is None:
            raise ValueError(f"the release names no account: {head.name} does not have it")
        if entry.identity != head.identity:
            raise ValueError(f"the release is of the account {escaped(entry.name)} ({entry.identity}), not {head.name}")
        run = runs[entry.run - 1] if 0 < entry.run <= len(runs) else None
        if run is None or run.amount != entry.amount:
            raise ValueError(f"{head.name} has no run {entry.run} that reserved {entry.unit} {entry.amount}")
        kept, lines = (
            [(c.what, c.on, c.law.name, str(c.law.parameters)) for c in each]
            for each in (self.lines(run.run), release.ledger.lines)
        )
        # A resumed release has lines of earlier runs first; of an open table the account may have later ones, and of
        # one of two related tables those of the other.
        more, n = len(lines) - len(kept), len(lines)
        is_there = bool(lines) == bool(kept) and lines[max(more, 0) :] in (kept[:n], kept[-n:])
        if more > 0 and is_there:
            before = [self.lines(other.run) for other in runs if other.run < run.run]
            known = Counter((c.what, c.on, c.law.name, str(c.law.parameters)) for each in before for c in each)
            is_there = not Counter(lines[:more]) - known
        if not is_there:
            raise ValueError(f"the lines of run {run.run} in {head.name} are not those of the release")
        state = f"{'settled' if run.is_settled else 'still open'}, {entry.unit} {short(run.taken[0])}"
        return f"{head.name} has the release: run {run.run}, {state} of {head.budget!r}"

    def report(self) -> str:
        """Return the runs, what is left and the changes as text."""
        head, runs = self._read()
        unit = head.budget.unit
        rows = [("run", "what", "day", "state", str(unit)), *map(_row, runs)]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        table = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        table = [table[0], *(line for i, run in enumerate(runs, 1) for line in (table[i], *_names(run)))]
        spent = exact_sum(run.spent for run in runs if run.is_settled)
        held = exact_sum(run.amount for run in runs if not run.is_settled)
        left = "closed" if head.state == "closed" else f"{short(left_of(head.budget, runs)[0])} left"
        amounts = f"{short(spent)} spent, {short(held)} reserved, {left} of {unit} {short(head.budget.limit)}"
        changes = (f"{c.day}  {escaped(c.what)}{f', by {c.by}: {c.why}' if c.by else ''}" for c in self.changes())
        first = f"{escaped(head.name)}: {head.budget!r}{_scope(head)}"
        return "\n".join([first, *table, amounts, *(escaped(change) for change in changes)])

    def to_dict(self) -> dict[str, Any]:
        """Return the whole account: text, numbers and lists only, rationals as "a/b"."""
        head, runs = self._read()
        relation = {} if head.relation is None else {"privacy": head.relation.to_dict()}
        return {
            "name": head.name,
            "identity": head.identity,
            "budget": arguments_of(head.budget),
            "unit": head.budget.unit,
            "limit": str(head.budget.limit),
            **({"table": head.table} if head.table else {}),
            **({"neighbours": head.neighbours} if head.neighbours else {}),
            **({} if head.person is None else {"person": list(head.person)}),
            **relation,
            "state": head.state,
            "remaining": str(Fraction(0) if head.state == "closed" else left_of(head.budget, runs)[0]),
            "runs": [run.to_dict() | {"lines": [line.to_dict() for line in self.lines(run.run)]} for run in runs],
            "changes": [change._asdict() for change in self.changes()],
        }

    def __repr__(self) -> str:
        head, runs = self._read()
        return f"Account({head.name}: {head.budget!r}, {len(runs)} runs, {short(left_of(head.budget, runs)[0])} left)"


def _reason(by: object, why: object) -> tuple[str, str]:
    """Return the person and the reason of a change."""
    person, reason = checked_text("by", by), checked_text("why", why)
    if not (person.strip() and reason.strip()):
        raise ValueError("a change of an account needs a person and a reason, which stay in it: by and why")
    return person, reason


def _identity() -> str:
    """Return a name that no other account or run has."""
    return f"{int(_core.secure_words(1)[0]):016x}"


def _note(execute: Execute, what: str, by: str, why: str) -> None:
    ((number,),) = execute("SELECT COUNT(*) + 1 FROM account_changes")
    execute("INSERT INTO account_changes VALUES (?, ?, ?, ?, ?)", number, today(), what, by, why)


def _row(run: AccountRun) -> tuple[str, str, str, str, str]:
    state = run.state + (", not private" if run.not_private else "")
    return str(run.run), escaped(run.what), run.day, state, short(run.taken[0])


def _names(run: AccountRun) -> list[str]:
    """Return the lines that say the key of a run, and the file of its release, as far as it has them."""
    named = (("key", run.key), ("release", run.path))
    return [f"     {name} {escaped(value)}" for name, value in named if value]


def _scope(head: AccountHead) -> str:
    """Return the table and the protected unit of an account as text."""
    table = f", table {escaped(head.table)}" if head.table else ""
    stated = f", protects {persons_text(head.person or ())}" if head.person else ""
    return table + (f", protects {head.relation.sentence}" if head.relation is not None else stated)
