"""A run's reservation in an account: its lines are entered there before records are read."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

from pypgm._base.text import checked_text
from pypgm.errors import BudgetError, warn_caller
from pypgm.privacy.account_entry import AccountEntry
from pypgm.privacy.account_rows import AccountHead, head_of
from pypgm.privacy.account_store import Execute, Store
from pypgm.privacy.budget import Budget
from pypgm.privacy.charge import Charge
from pypgm.privacy.observer import Observer, the_observer
from pypgm.privacy.rational import exact_sum
from pypgm.privacy.relation import Privacy

if TYPE_CHECKING:
    from pypgm.privacy.ledger import Ledger


class Reservation:
    """Budget of one run in an account, made by `Account.reserve`; a context that settles the run at its end.

    Attributes
    ----------
    entry : AccountEntry
        The account, the run and the amount, as the release names them.
    observer : Observer
        The observer for the run's own ledger, ``Ledger(budget, reservation.observer)``: enters each line in the
        account.
    """

    __slots__ = ("_budget", "_earlier", "_head", "_process", "_store", "_token", "_within", "entry")

    def __init__(
        self,
        store: Store,
        head: AccountHead,
        entry: AccountEntry,
        *,
        token: str,
        budget: Budget,
        earlier: tuple[Fraction, Fraction],
    ) -> None:
        self._store, self._head, self._token, self._budget, self._earlier = store, head, token, budget, earlier
        self._within, self._process = "", os.getpid()
        self.entry = entry

    def __reduce__(self) -> NoReturn:
        raise TypeError("a reservation is of one process: reserve in the process that charges")

    def __repr__(self) -> str:
        return f"Reservation({self.entry.text})"

    @property
    def observer(self) -> Observer:
        """The observer for a ledger of this run."""
        return _Entering(self, None)

    def attach(self, ledger: Ledger, *, has_lines: bool = False) -> None:
        """Enter the lines of a ledger in the account, from now on, before the ledger has them.

        Raises
        ------
        ValueError
            If the ledger has lines already, unless `has_lines` says that the account knows them, or open allocations;
            or is of another run.
        """
        if any(part._open for part in ledger._parts):
            raise ValueError(
                "the ledger has open allocations, whose charges the account would not have: make a new one"
            )
        if not isinstance(ledger._observer, _Entering):
            if ledger.lines and not has_lines:
                raise ValueError("the ledger has charges that the account does not know: make a new one")
            ledger._observer = _Entering(self, ledger._observer)
        elif ledger._observer.reservation.entry != self.entry:
            raise ValueError("the ledger is of another run of an account: make a new one")

    def within(self, name: str) -> Reservation:
        """Return the same reservation, whose lines stand under a name, for one of several tables of the run."""
        how: dict[str, Any] = {"token": self._token, "budget": self._budget, "earlier": self._earlier}
        part = Reservation(self._store, self._head, self.entry, **how)
        part._within = name
        return part

    def check(self, privacy: Privacy) -> None:
        """Raise ``ValueError`` for a relation that is not the account's, or protects less."""
        self._head.check(privacy)

    def check_table(self, table: str | None) -> None:
        """Raise ``ValueError`` for the name of another table; None is the one that was reserved for."""
        if table is not None:
            self._head.check_table(checked_text("table", table))

    def enter(self, ledger: Ledger, lines: Sequence[Charge], *, were_first: bool = False) -> None:
        """Enter lines of a ledger, all of them or none; durable when it returns.

        Parameters
        ----------
        ledger : Ledger
        lines : sequence of Charge
        were_first : bool
            Whether they were drawn before the account existed: in Gaussian differential privacy it may then have no
            other lines, whose costs count on what they leave.

        Raises
        ------
        BudgetError
            If the run was settled meanwhile, or they exceed its budget.
        ValueError
            If the ledger is for another relation, or for none yet, its costs are not those of the run's budget, or
            the lines came before others of the account.
        OSError
            If the account cannot be reached; whether the lines stand there is then unknown, and they count.
        """
        if ledger.privacy is None:
            raise ValueError("a charge to an account needs a neighbour relation: ledger.bind(Privacy(...)), or a table")
        run = self.entry.run
        if ledger.budget.accounting != self._budget.accounting:
            raise ValueError(f"run {run} has {self._budget!r}, the ledger another kind of budget, {ledger.budget!r}")
        with self._store.transaction() as execute:
            head = head_of(execute)
            head.check(ledger.privacy)
            others = "SELECT 1 FROM account_runs WHERE run != ? AND (state = 'open' OR spent != '0') LIMIT 1"
            if were_first and head.budget.accounting == "gdp" and execute(others, run):
                needed = "a release made elsewhere is resumed before the account has other runs, as it came first"
                raise ValueError(f"{needed}: {head.name} has some")
            charged, failing, bound, mark = self._amounts(execute)
            self._check_left(lines, charged)
            cost = exact_sum([charged, *(line.cost for line in lines)])
            delta = exact_sum([failing, *(line.delta for line in lines)])
            if cost > self._budget.limit - self._earlier[0] or delta > self._budget.reserved_delta - self._earlier[1]:
                raise BudgetError(f"run {run} of {head.name} reserved less than it charges")
            relation = json.dumps(ledger.privacy.to_dict())
            if not head.relation_text:
                execute("UPDATE account SET relation = ?", relation)
            ((number,),) = execute("SELECT COUNT(*) FROM account_lines WHERE run = ?", run)
            for i, line in enumerate(lines, number + 1):
                named = line.within_part(self._within) if self._within else line
                execute("INSERT INTO account_lines VALUES (?, ?, ?)", run, i, json.dumps(named.to_dict()))
            is_one_step = ledger.budget.unit != head.budget.unit and cost > 0
            values = str(self.entry.amount if is_one_step else cost), str(delta), bound or relation
            names = "charged = ?, spent = ?, spent_delta = ?, relation = ?, not_private = ?"
            statement = f"UPDATE account_runs SET {names} WHERE run = ?"
            execute(statement, str(cost), *values, mark or ledger.not_private, run)

    def _check_left(self, lines: Sequence[Charge], charged: Fraction) -> None:
        """Raise ``ValueError`` for a line whose cost counts on more than the run has left."""
        left = self._budget.limit - self._earlier[0] - charged
        for line in lines:
            if line.left is not None and line.left > left:
                raise ValueError(f"{line.what} on {line.on} counts on more than run {self.entry.run} has left")
            left -= line.cost

    def _amounts(self, execute: Execute) -> tuple[Fraction, Fraction, str, str]:
        """Return the charged amounts, the relation and the mark of the run; `BudgetError` if it is settled."""
        statement = "SELECT charged, spent_delta, relation, not_private FROM account_runs"
        rows = execute(f"{statement} WHERE run = ? AND token = ? AND state = 'open'", self.entry.run, self._token)
        if not rows:
            raise BudgetError(f"run {self.entry.run} of {self.entry.name} was settled: nothing more is charged to it")
        charged, delta, relation, mark = rows[0]
        return Fraction(charged), Fraction(delta), relation, mark

    def settle(self) -> None:
        """Give back what was not charged, for good; nothing if the run is settled already."""
        if self._process != os.getpid():  # a forked child: the run is its parent's
            return
        with self._store.transaction() as execute:
            execute(
                "UPDATE account_runs SET state = 'settled' WHERE run = ? AND token = ?", self.entry.run, self._token
            )

    def __enter__(self) -> Reservation:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Settle the run; warn where the account cannot be reached, as a paid release is not lost for it."""
        try:
            self.settle()
        except OSError as error:
            warn_caller(f"run {self.entry.run} keeps its reservation until it is settled: {error}", RuntimeWarning)


class _Entering(Observer):
    """Observer that enters lines in an account before the ledger has them, beside what another one does."""

    def __init__(self, reservation: Reservation, inner: Observer | None) -> None:
        self.reservation, self._inner = reservation, inner

    def _next(self) -> Observer:
        return self._inner or the_observer()

    def entering(self, ledger: object, lines: Sequence[object]) -> None:
        """Enter the lines of one charge, as the ledger's root names them."""
        self._next().entering(ledger, lines)
        named = [line for line in lines if isinstance(line, Charge)]
        part: Ledger = ledger  # type: ignore[assignment] # observers know no ledgers
        while part._parent is not None:
            named = [line.within_part(part._name) for line in named]
            part = part._parent
        self.reservation.enter(part, named)

    def charged(self, ledger: object, line: object) -> None:
        """Pass a line on."""
        self._next().charged(ledger, line)

    def allocated(self, ledger: object, part: object) -> None:
        """Pass an allocation on."""
        self._next().allocated(ledger, part)
