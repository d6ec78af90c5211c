"""Accounts: budgets that outlive a process, from which every run on a table takes its own."""

from __future__ import annotations

import datetime
import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pypgm._base.terminal import escaped
from pypgm.errors import BudgetError
from pypgm.privacy.account_entry import AccountEntry
from pypgm.privacy.account_store import TABLES, Execute, Store, store_at
from pypgm.privacy.budget import Budget, Unit, own_budget, short
from pypgm.privacy.charge import Charge
from pypgm.privacy.laws import Stated
from pypgm.privacy.ledger_report import LedgerReport
from pypgm.privacy.rational import exact_sum
from pypgm.privacy.relation import Privacy, known_by
from pypgm.queries import Neighbours

if TYPE_CHECKING:
    from pypgm.mechanisms.related_release import RelatedRelease
    from pypgm.privacy.account_run import Reservation
    from pypgm.released import Released

_FORMAT = 1
_COLUMNS = "run, key, what, day, budget, amount, delta, spent, spent_delta, relation, not_private, state, path, digest"
_HEAD = "format, name, identity, budget, table_name, neighbours, person, relation, state"


@dataclass(frozen=True, slots=True)
class AccountRun:
    """Run of an account.

    Attributes
    ----------
    run : int
        The number of the run, from 1.
    key : str
        The key under which it was reserved; empty for none.
    what : str
        The mechanism or learner.
    day : str
        The day of the reservation, UTC.
    budget : Budget
        The budget of the run.
    amount, delta : Fraction
        The amount that was reserved, in the account's unit, and the probability of failure.
    spent, spent_delta : Fraction
        The part of these that the lines of the run took so far.
    is_settled : bool
        Whether the rest has gone back; until then all of the amount counts as spent.
    relation : Privacy or None
        The neighbour relation; None where nothing was charged yet.
    not_private : str
        The reason why the run protects nobody; empty if it protects.
    path, digest : str
        File of the release and its digest, where `Account.keep` has set them.
    """

    run: int
    key: str
    what: str
    day: str
    budget: Budget
    amount: Fraction
    delta: Fraction
    spent: Fraction
    spent_delta: Fraction
    is_settled: bool
    relation: Privacy | None
    not_private: str
    path: str
    digest: str

    @property
    def taken(self) -> tuple[Fraction, Fraction]:
        """The amount and the probability of failure that nobody else can have."""
        return (self.spent, self.spent_delta) if self.is_settled else (self.amount, self.delta)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, rationals as "a/b"."""
        return {
            "run": self.run,
            **({"key": self.key} if self.key else {}),
            "what": self.what,
            "day": self.day,
            "budget": _arguments(self.budget),
            "state": "settled" if self.is_settled else "reserved",
            **{name: str(getattr(self, name)) for name in ("amount", "delta", "spent", "spent_delta")},
            **({} if self.relation is None else {"privacy": self.relation.to_dict()}),
            **{name: value for name in ("not_private", "path", "digest") if (value := getattr(self, name))},
        }


class Change(NamedTuple):
    """Line of an account's history that is no run: its day, what was done, by whom and why."""

    day: str
    what: str
    by: str
    why: str


class _Head(NamedTuple):
    """The account's own line."""

    format: int
    name: str
    identity: str
    budget_text: str
    table: str
    neighbours: str
    person_text: str
    relation_text: str
    state: str

    @property
    def budget(self) -> Budget:
        return _budget(self.budget_text)

    @property
    def person(self) -> tuple[str, ...] | None:
        return tuple(json.loads(self.person_text)) if self.person_text else None

    @property
    def relation(self) -> Privacy | None:
        return _relation(self.relation_text)

    def check_table(self, table: str | None) -> None:
        """Raise ``ValueError`` for another table, if one is named."""
        if table and self.table and table != self.table:
            raise ValueError(f"{self.name} is for the table {self.table!r}, the run is on {table!r}")

    def check(self, privacy: Privacy) -> None:
        """Raise ``ValueError`` for a relation that is not the account's, or protects less."""
        first, columns = self.relation, self.person
        wanted = self.neighbours or (first.neighbours if first else privacy.neighbours)
        if privacy.neighbours != wanted:
            raise ValueError(f"{self.name} is for neighbours={wanted!r}, the run has {privacy.neighbours!r}")
        if columns is None and first is not None:
            columns = first.person
        if columns is not None and privacy.person != columns:
            raise ValueError(
                f"{self.name} protects {_persons(columns)}, the schema of the run {_persons(privacy.person)}: "
                "a schema names the column by person="
            )
        if first is None or first.person:  # where a person is named, all records of theirs are protected
            return
        if privacy.records_per_person < first.records_per_person or (first.is_of_people and not privacy.is_of_people):
            needed = f"{self.name} protects persons with up to {first.records_per_person} records"
            least = f"records_per_person={first.records_per_person} or more"
            raise ValueError(f"{needed}, the run {privacy.sentence}: state {least} in the schema")


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
        The name of the table.
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
    >>> account.spent(), account.remaining(), release.account.text
    (Fraction(1, 4), Fraction(3, 4), 'people.account, run 1, rho 0.25 reserved')
    """

    __slots__ = ("_store",)

    _store: Store

    def __init__(
        self,
        place: str | os.PathLike[str],
        *,
        budget: Budget | None = None,
        table: str | None = None,
        person: str | Sequence[str] | None = None,
        neighbours: Neighbours | None = None,
    ) -> None:
        columns = None if person is None else (person,) if isinstance(person, str) else tuple(person)
        if neighbours is not None or columns:
            Privacy(neighbours or "add-remove", 1 if columns else None, columns or ())  # raises where they do not fit
        wanted = None if budget is None else own_budget(budget)
        self._store = store_at(place, create=budget is not None)
        with self._store.transaction(reads=wanted is None) as execute:
            if not self._store.is_filled(execute):
                if wanted is None:
                    raise FileNotFoundError(f"no account in {self._store.name}: pass budget= to create one")
                self._fill(execute, wanted, table, columns, neighbours)
            head = _head(execute)
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
        kept = json.dumps(_arguments(budget))
        values = (_FORMAT, self._store.name, secrets.token_hex(8), kept, table or "", neighbours or "", columns, "")
        execute(f"INSERT INTO account ({_HEAD}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", *values, "open")
        _note(execute, f"created with {budget!r}", "", "")

    def _read(self) -> tuple[_Head, tuple[AccountRun, ...]]:
        with self._store.transaction(reads=True) as execute:
            return _head(execute), _runs(execute)

    def _first(self) -> _Head:
        with self._store.transaction(reads=True) as execute:
            return _head(execute)

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

    @property
    def is_closed(self) -> bool:
        """Whether no run can reserve any more."""
        return self._first().state == "closed"

    def runs(self) -> tuple[AccountRun, ...]:
        """Return the runs, in the order of their reservations."""
        return self._read()[1]

    def run_of(self, key: str) -> AccountRun | None:
        """Return the last run that was reserved under a key, if there is one."""
        return next((run for run in reversed(self.runs()) if run.key == key), None)

    def lines(self, run: int) -> tuple[Charge, ...]:
        """Return the lines of a run, in the order in which it was charged."""
        with self._store.transaction(reads=True) as execute:
            rows = execute("SELECT charge FROM account_lines WHERE run = ? ORDER BY line", run)
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
        return Fraction(0) if head.state == "closed" else _left(head.budget, runs)[0]

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
            The name of the table, which has to be the account's.
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
            If the budget does not compose with that of the account, the table is another one, or a run that is at
            work or has a release has the key.

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
        from pypgm.privacy.account_run import Reservation

        kept, token = own_budget(budget), secrets.token_hex(8)
        earlier = (Fraction(0), Fraction(0)) if after is None else (after.spent(), after.spent_delta())
        with self._store.transaction() as execute:
            head, runs = _head(execute), _runs(execute)
            head.check_table(table)
            if head.state == "closed":
                raise BudgetError(f"{head.name} is closed: nothing more can be reserved")
            _check_key(head, runs, key)
            left, left_delta = _left(head.budget, runs)
            amount = price(kept, head.budget, left, earlier[0])
            delta = kept.reserved_delta - earlier[1]
            _check_left(head, runs, amount, left, "")
            _check_left(head, runs, delta, left_delta, " in probabilities of failure (reserved_delta of its budget)")
            run = len(runs) + 1
            kinds = {"run": run, "token": token, "key": key, "what": what, "day": _today()}
            kinds |= {"budget": json.dumps(_arguments(kept)), "amount": str(amount), "delta": str(delta)}
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
        return Reservation(self, head, entry, token=token, budget=kept, earlier=earlier)

    def check(self, privacy: Privacy) -> None:
        """Raise ``ValueError`` for a relation that is not the account's, or protects less."""
        self._first().check(privacy)

    def check_table(self, table: str | None) -> None:
        """Raise ``ValueError`` for the name of another table; None is any."""
        self._first().check_table(table)

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
        with self._store.transaction() as execute:
            _check_reason(by, why)
            if not execute("SELECT 1 FROM account_runs WHERE run = ? AND state = 'open'", run):
                raise ValueError(f"{_head(execute).name} has no open run {run}")
            execute("UPDATE account_runs SET state = 'settled', token = '' WHERE run = ?", run)
            _note(execute, f"settled run {run}", by, why)
            return next(other for other in _runs(execute) if other.run == run)

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
            head = _head(execute)
            _check_reason(by, why)
            if head.state == "closed":
                raise BudgetError(f"{head.name} is closed")
            if wanted.accounting != head.budget.accounting:
                raise ValueError(f"{head.name} has {head.budget!r}, {budget!r} is of another kind")
            if wanted.limit < head.budget.limit or wanted.reserved_delta < head.budget.reserved_delta:
                raise ValueError(f"{head.name} has {head.budget!r}, {budget!r} is less")
            execute("UPDATE account SET budget = ?", json.dumps(_arguments(wanted)))
            _note(execute, f"widened from {head.budget!r} to {wanted!r}", by, why)

    def close(self, *, by: str, why: str) -> None:
        """Close the account for good: no run can reserve any more; those at work finish.

        Parameters
        ----------
        by, why : str
            Name of the person, and the reason; they stay in the account.
        """
        with self._store.transaction() as execute:
            _check_reason(by, why)
            if _head(execute).state != "closed":
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
        """
        with self._store.transaction() as execute:
            execute("UPDATE account_runs SET path = ?, digest = ? WHERE run = ?", os.fspath(path), digest, run)

    def check_release(self, release: Released | RelatedRelease) -> str:
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
        kept, lines = ([(c.what, c.on, c.law) for c in each] for each in (self.lines(run.run), release.ledger.lines))
        shared = min(len(kept), len(lines))
        # A resumed release has earlier lines first; of an open table the account may have later ones.
        if (kept[:shared] != lines[:shared] and kept[-shared:] != lines[-shared:]) or (lines and not shared):
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
        spent = exact_sum(run.spent for run in runs if run.is_settled)
        held = exact_sum(run.amount for run in runs if not run.is_settled)
        left = "closed" if head.state == "closed" else f"{short(_left(head.budget, runs)[0])} left"
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
            "budget": _arguments(head.budget),
            "unit": head.budget.unit,
            "limit": str(head.budget.limit),
            **({"table": head.table} if head.table else {}),
            **({"neighbours": head.neighbours} if head.neighbours else {}),
            **({} if head.person is None else {"person": list(head.person)}),
            **relation,
            "state": head.state,
            "remaining": str(Fraction(0) if head.state == "closed" else _left(head.budget, runs)[0]),
            "runs": [run.to_dict() | {"lines": [line.to_dict() for line in self.lines(run.run)]} for run in runs],
            "changes": [change._asdict() for change in self.changes()],
        }

    def __repr__(self) -> str:
        head, runs = self._read()
        return f"Account({head.name}: {head.budget!r}, {len(runs)} runs, {short(_left(head.budget, runs)[0])} left)"


def price(budget: Budget, whole: Budget, left: Fraction, earlier: Fraction = Fraction(0)) -> Fraction:
    """Return what a run's budget costs an account of which some is left; ``ValueError`` where they do not compose.

    Equal kinds add up, and mu^2 / 2 of Gaussian differential privacy is as much rho. A pure run in an account that is
    not is one step of its epsilon.

    Examples
    --------
    >>> price(Budget(epsilon="1/2"), Budget(rho=1), Fraction(1))
    Fraction(1, 8)
    """
    kinds = budget.accounting, whole.accounting
    if kinds[0] == kinds[1] or kinds == ("gdp", "zcdp"):
        return budget.limit - earlier
    if kinds[0] == "pure":
        if earlier:
            raise ValueError("a pure release in an account with delta is one step: it cannot be resumed there")
        in_gdp = left if kinds[1] == "gdp" else None
        return Charge("run", "records", Stated(epsilon=budget.limit), unit=whole.unit, left=in_gdp).cost
    if kinds[1] == "pure":
        raise ValueError(f"the account's {whole!r} is pure, the run's {budget!r} is not: give the run an epsilon alone")
    raise ValueError(f"the account has {whole!r}, whose runs are given epsilon and delta: {budget!r} has no such bound")


def _head(execute: Execute) -> _Head:
    head = _Head(*execute(f"SELECT {_HEAD} FROM account")[0])
    if head.format != _FORMAT:
        raise ValueError(f"{head.name} has format {head.format}, which another version of pypgm wrote: use that one")
    return head


def _runs(execute: Execute) -> tuple[AccountRun, ...]:
    return tuple(map(_run, execute(f"SELECT {_COLUMNS} FROM account_runs ORDER BY run")))


def _run(row: tuple[Any, ...]) -> AccountRun:
    run, key, what, day, text, *amounts, relation, not_private, state, path, digest = row
    budget, (amount, delta, spent, spent_delta) = _budget(text), map(Fraction, amounts)
    return AccountRun(
        run, key, what, day, budget, amount, delta, spent, spent_delta, state == "settled",
        _relation(relation), not_private, path, digest,
    )  # fmt: skip


def _left(budget: Budget, runs: Sequence[AccountRun]) -> tuple[Fraction, Fraction]:
    """Return the amount and the probability of failure that no run has."""
    taken = [run.taken for run in runs]
    return budget.limit - exact_sum(t for t, _ in taken), budget.reserved_delta - exact_sum(d for _, d in taken)


def _check_left(head: _Head, runs: Sequence[AccountRun], amount: Fraction, left: Fraction, kind: str) -> None:
    if amount <= left:
        return
    held = [str(run.run) for run in runs if not run.is_settled]
    advice = f"; open runs hold theirs ({', '.join(held)}): settle those whose process has ended" if held else ""
    unit = "delta" if kind else head.budget.unit
    raise BudgetError(f"a run needs {unit} {short(amount)} of {head.name}, {short(left)} is left{kind}{advice}")


def _check_key(head: _Head, runs: Sequence[AccountRun], key: str) -> None:
    for run in runs:
        if key and run.key == key and (run.digest or not run.is_settled):
            state = "has a release" if run.digest else "is open: at work, or to be settled"
            raise ValueError(f"run {run.run} of {head.name} has the same key, and {state}")


def _check_reason(by: str, why: str) -> None:
    if not all(isinstance(text, str) and text.strip() for text in (by, why)):
        raise ValueError("a change of an account needs by= and why=, a person and a reason: they stay in it")


def _note(execute: Execute, what: str, by: str, why: str) -> None:
    ((number,),) = execute("SELECT COUNT(*) + 1 FROM account_changes")
    execute("INSERT INTO account_changes VALUES (?, ?, ?, ?, ?)", number, _today(), what, by, why)


def _row(run: AccountRun) -> tuple[str, str, str, str, str]:
    state = ("settled" if run.is_settled else "reserved") + (", not private" if run.not_private else "")
    return str(run.run), escaped(run.what), run.day, state, short(run.taken[0])


def _scope(head: _Head) -> str:
    """Return the table and the protected unit of an account as text."""
    table = f", table {escaped(head.table)}" if head.table else ""
    stated = f", protects {_persons(head.person or ())}" if head.person else ""
    return table + (f", protects {head.relation.sentence}" if head.relation is not None else stated)


def _persons(columns: Sequence[str]) -> str:
    return f"persons {known_by(columns)[:-2]}" if columns else "no persons named by a column"


def _today() -> str:
    """Return the day: no finer time, which might depend on how long records took to read."""
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()


def _arguments(budget: Budget) -> dict[str, str]:
    return {name: str(value) for name, value in budget.arguments().items()}


@lru_cache(maxsize=1024)
def _budget(text: str) -> Budget:
    return Budget(**json.loads(text))


def _relation(text: str) -> Privacy | None:
    return Privacy(**json.loads(text)) if text else None
