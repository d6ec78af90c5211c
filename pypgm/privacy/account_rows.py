"""Rows of an account as objects: its own line and its runs; what is left, and what a run's budget costs."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from pypgm._base.process import has_ended
from pypgm._base.text import checked_text
from pypgm.domain import listed
from pypgm.errors import BudgetError
from pypgm.privacy.account_store import Execute
from pypgm.privacy.budget import Budget, short
from pypgm.privacy.charge import Charge
from pypgm.privacy.laws import Stated
from pypgm.privacy.rational import exact_sum
from pypgm.privacy.relation import Privacy, known_by

FORMAT = 1
"""Format of the tables of an account."""
MOST_FITTING = 1000
"""Runs up to which those that fit are counted: what a step costs may depend on what the steps before it have left."""
HEAD = "format, name, identity, budget, table_name, neighbours, person, relation, state"
"""Columns of the account's own line."""
_COLUMNS = (
    "run, key, what, day, budget, amount, delta, spent, spent_delta, relation, not_private, state, path, digest, token"
)


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
    process : str
        The mark of the process that reserved, see `has_ended`; empty where there is none, or for a settled run.
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
    process: str = ""

    @property
    def has_ended(self) -> bool | None:
        """Whether the process of the run has ended, if it is open; None where this cannot be seen from here."""
        return has_ended(self.process)

    @property
    def state(self) -> str:
        """The state in words: settled, or reserved by a process that has ended or is at work, as far as is known."""
        known = {True: ", its process has ended", False: ", at work", None: ""}
        return "settled" if self.is_settled else f"reserved{known[self.has_ended]}"

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
            "budget": arguments_of(self.budget),
            "state": "settled" if self.is_settled else "reserved",
            **({} if (ended := self.has_ended) is None else {"has_ended": ended}),
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


class AccountHead(NamedTuple):
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
        """The budget of all runs together."""
        return _budget(self.budget_text)

    @property
    def person(self) -> tuple[str, ...] | None:
        """The columns that identify persons, as the account was made; None if the first run decides."""
        return tuple(json.loads(self.person_text)) if self.person_text else None

    @property
    def relation(self) -> Privacy | None:
        """The relation of the first run; None before it."""
        return _relation(self.relation_text)

    def check_table(self, table: str | None) -> None:
        """Raise ``ValueError`` for another table, or one without a name, where the account names its own."""
        if not self.table or table == self.table:
            return
        if table is None:
            advice = f"pypgm.Account(..., table={self.table!r}) says that they are of it"
            raise ValueError(f"{self.name} is for the table {self.table!r}, these records have no name: {advice}")
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
                f"{self.name} protects {persons_text(columns)}, the schema of the run {persons_text(privacy.person)}: "
                "a schema names the column by person="
            )
        if first is None or first.person:  # where a person is named, all records of theirs are protected
            return
        # One record is one, whatever it weighs; a person's records are all protected by their number alone.
        if first.is_of_people and (privacy.records_per_person < first.records_per_person or not privacy.is_of_people):
            needed = f"{self.name} protects persons with up to {first.records_per_person} records"
            least = f"records_per_person={first.records_per_person} or more"
            raise ValueError(f"{needed}, the run {privacy.sentence}: state {least} in the schema")


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


def n_fitting(budget: Budget, whole: Budget, left: tuple[Fraction, Fraction]) -> int:
    """Return how many runs of a budget fit into what is left, at most `MOST_FITTING`.

    Examples
    --------
    >>> n_fitting(Budget(rho="1/4"), Budget(rho=1), (Fraction(7, 8), Fraction(0)))
    3
    """
    (amount, delta), n = left, 0
    while n < MOST_FITTING and (cost := price(budget, whole, amount)) <= amount and budget.reserved_delta <= delta:
        amount, delta, n = amount - cost, delta - budget.reserved_delta, n + 1
    return n


def head_of(execute: Execute) -> AccountHead:
    """Return the account's own line; ``ValueError`` if another version of pypgm wrote it."""
    head = AccountHead(*execute(f"SELECT {HEAD} FROM account")[0])
    if head.format != FORMAT:
        raise ValueError(f"{head.name} has format {head.format}, which another version of pypgm wrote: use that one")
    return head


def runs_of(execute: Execute) -> tuple[AccountRun, ...]:
    """Return all runs, in the order of their reservations."""
    return tuple(map(_run, execute(f"SELECT {_COLUMNS} FROM account_runs ORDER BY run")))


def _run(row: tuple[Any, ...]) -> AccountRun:
    run, key, what, day, text, *amounts, relation, not_private, state, path, digest, token = row
    budget, (amount, delta, spent, spent_delta) = _budget(text), map(Fraction, amounts)
    return AccountRun(
        run, key, what, day, budget, amount, delta, spent, spent_delta, state == "settled",
        _relation(relation), not_private, path, digest, token.partition(" ")[2] if state == "open" else "",
    )  # fmt: skip


def left_of(budget: Budget, runs: Sequence[AccountRun]) -> tuple[Fraction, Fraction]:
    """Return the amount and the probability of failure that no run has."""
    taken = [run.taken for run in runs]
    return budget.limit - exact_sum(t for t, _ in taken), budget.reserved_delta - exact_sum(d for _, d in taken)


def check_left(head: AccountHead, runs: Sequence[AccountRun], amount: Fraction, left: Fraction, kind: str) -> None:
    """Raise `BudgetError` if a run needs more than is left, and name the runs that hold theirs."""
    if amount <= left:
        return
    held = [run for run in runs if not run.is_settled]
    ended = [str(run.run) for run in held if run.has_ended]
    known = f", as that of {listed(ended)}" if ended else ""
    numbers = ", ".join(str(run.run) for run in held)
    advice = f"; open runs hold theirs ({numbers}): settle those whose process has ended{known}" if held else ""
    unit = "delta" if kind else head.budget.unit
    raise BudgetError(f"a run needs {unit} {short(amount)} of {head.name}, {short(left)} is left{kind}{advice}")


def check_key(head: AccountHead, runs: Sequence[AccountRun], key: str) -> None:
    """Raise ``ValueError`` if a run that is open, or has a release, has the same key."""
    for run in runs:
        if key and run.key == key and (run.digest or not run.is_settled):
            is_open = {
                True: "to be settled, as its process has ended",
                False: "at work",
                None: "at work, or to be settled",
            }
            state = "has a release" if run.digest else f"is open: {is_open[run.has_ended]}"
            raise ValueError(f"run {run.run} of {head.name} has the same key, and {state}")


def persons_text(columns: Sequence[str]) -> str:
    """Return the persons that columns identify as text."""
    return f"persons {known_by(columns)[:-2]}" if columns else "no persons named by a column"


def columns_of(person: object) -> tuple[str, ...] | None:
    """Return the columns that identify persons, of one name or several; ``TypeError`` for anything else."""
    if person is None or isinstance(person, str):
        return None if person is None else (checked_text("person", person),)
    if not isinstance(person, Sequence) or isinstance(person, bytes | bytearray | memoryview):
        raise TypeError(f"person must be a str or a list of them, got {type(person).__name__}")
    return tuple(checked_text("person", name) for name in person)


def today() -> str:
    """Return the day: no finer time, which might depend on how long records took to read."""
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()


def arguments_of(budget: Budget) -> dict[str, str]:
    """Return the arguments of a budget as texts."""
    return {name: str(value) for name, value in budget.arguments().items()}


@lru_cache(maxsize=1024)
def _budget(text: str) -> Budget:
    return Budget(**json.loads(text))


def _relation(text: str) -> Privacy | None:
    return Privacy(**json.loads(text)) if text else None
