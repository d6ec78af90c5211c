"""Calls of mechanisms and learners: options that all of them spell alike, and the records behind a ledger."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from pypgm._base.clock import standing_still
from pypgm._base.memory import short
from pypgm._base.progress import Bar
from pypgm._base.signatures import split_options
from pypgm.data.sources.counted_table import as_counted
from pypgm.errors import BudgetError
from pypgm.estimation.limits import LimitOptions, Limits
from pypgm.privacy.arguments import BudgetOf, as_budget, one_relation
from pypgm.privacy.budget import Budget
from pypgm.privacy.charge import Charge
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.observer import Observer, the_observer
from pypgm.privacy.private_table import Counts, PrivateTable
from pypgm.privacy.rational import Number
from pypgm.privacy.relation import Privacy
from pypgm.queries import Identity, Neighbours

if TYPE_CHECKING:
    from pypgm.data import OpenSchema, Schema
    from pypgm.data.schema.schema import SchemaLike
    from pypgm.domain import Domain
    from pypgm.estimation import LinearMeasurement
    from pypgm.privacy.account import Account
    from pypgm.privacy.account_run import Reservation


R = TypeVar("R")

_MAX_NOISE = 2**22  # records: standard deviation of a count that has the whole budget
_ROUNDING_PARTS = 10**6  # a remainder below one in so many parts of the budget is a rounding error of dividing it


class PrivateOptions(TypedDict, total=False):
    """Keywords of every call that spends a budget on records: the protection and its randomness.

    Parameters
    ----------
    schema : Schema, Domain, mapping or path, optional
        The schema of a table that is not encoded: `data` may then be whatever `pypgm.synthesize` takes, a frame, the
        path of a file or folder, a DuckDB relation or an Ibis table. Columns that the schema leaves open are
        settled first.
    budget : Budget
        Instead of epsilon and delta. An open `PrivateTable` takes neither: all that its ledger has left is spent.
    neighbours : {"add-remove", "replace"}, optional
        The neighbour relation: "add-remove" (the default) keeps the number of records private. The schema of the
        records says how many records a person may have, else 1.
    privacy : Privacy, optional
        Instead of `neighbours`; also says how many records a person may have, and may not contradict the schema.
    account : Account, optional
        The account of the table, from which the run takes its budget; see `pypgm.Account`.
    unsafe_seed : int, optional
        For tests and demonstrations: draw all noise from this number. The release is then the same every time and
        private for nobody, and its ledger and its model say so.
    """

    schema: SchemaLike | None
    budget: Budget | None
    neighbours: Neighbours | None
    privacy: Privacy | None
    account: Account | Reservation | None
    unsafe_seed: int | None


class LearnerOptions(PrivateOptions, LimitOptions, total=False):
    """Keywords of every learner from private records."""


class Handed:
    """Records on their way to an `Entry`, taken out once: from then on no frame of a traceback holds them.

    Examples
    --------
    >>> handed = Handed("records")
    >>> handed.take(), handed
    ('records', Handed(records))
    """

    __slots__ = ("__held",)

    def __init__(self, data: object) -> None:
        self.__held = [as_counted(data)]

    def __repr__(self) -> str:
        return "Handed(records)"

    @property
    def is_open(self) -> bool:
        """Whether the records are a private table, which its caller opened."""
        return isinstance(self.__held[0], PrivateTable)

    @property
    def is_encoded(self) -> bool:
        """Whether the records are codes, of a private table or not; their class decides, no record is read."""
        return self.is_open or hasattr(type(self.__held[0]), "n_records")

    @property
    def domain(self) -> Domain | None:
        """Attributes and sizes of encoded records."""
        return getattr(self.__held[0], "domain", None) if self.is_encoded else None

    @property
    def schema(self) -> Schema | None:
        """The schema of encoded records, if they know it."""
        return getattr(self.__held[0], "schema", None) if self.is_encoded else None

    @property
    def path(self) -> str | os.PathLike[str] | None:
        """The path of a table that is named by one."""
        return self.__held[0] if isinstance(self.__held[0], str | os.PathLike) else None

    @property
    def open_schema(self) -> OpenSchema | None:
        """The schema of a scan whose open columns have still to be settled."""
        return getattr(self.__held[0], "open_schema", None) if self.is_encoded else None

    def take(self) -> Any:  # noqa: ANN401 - a table of any kind
        """Return the records and forget them."""
        return self.__held.pop()

    def drop(self) -> None:
        """Forget the records if they were not taken."""
        self.__held.clear()


class Entry:
    """A call of a mechanism or a learner: its limits, its progress bar, and the table it reads.

    Parameters
    ----------
    name : str
        The mechanism or learner, as its release names it.
    data : Dataset or PrivateTable
        Unweighted records, possibly none; or a private table, all of whose budget is spent, and which stays open. If
        they come as `Handed`, they are taken out.
    epsilon, delta : number, optional
        The guarantee.
    options : mapping
        The keywords of the call, those of `PrivateOptions` among them.
    limits : TypedDict
        The limits that the learner takes.
    what : str
        The taker of the options, as errors name it; the last part of the name by default.
    names : collection of str
        Its other keywords, for the hint of an error.
    budget_of : callable
        Returns the budget that is given in one of two forms; raises if it does not suit the learner.

    Attributes
    ----------
    name : str
    limits : Limits
    table : PrivateTable
    whole : PrivateTable
        The table as it was entered.

    Raises
    ------
    ValueError
        If the records are weighted, an option is out of range, or parts of the budget would need more noise than can
        be drawn.
    BudgetError
        If the budget of an open table is spent.
    TypeError
        If the budget or the relation is given twice or not at all, or for a table that has them already.
    """

    def __init__(
        self,
        name: str,
        data: Counts | PrivateTable | Handed,
        epsilon: Number | None,
        delta: Number | None,
        options: Mapping[str, Any],
        *,
        limits: type = LimitOptions,
        what: str = "",
        names: Collection[str] = (),
        budget_of: BudgetOf = as_budget,
    ) -> None:
        handed = data if isinstance(data, Handed) else Handed(data)
        del data  # from here on no traceback holds the records
        private, limited = split_options(what or name.rpartition(".")[2], options, PrivateOptions, limits, names=names)
        self.name, given = name, Limits(**limited)
        self._is_own = not handed.is_open
        self._bar = Bar(name, shares=self._is_own) if given.progress else None
        self.limits = replace(given, progress=self._bar or False)
        how: dict[str, Any] = {"bar": self._bar, "n_threads": given.n_threads, "budget_of": budget_of}
        self.whole = self.table = entered(handed, epsilon, delta, private, **how)
        ledger = self.table.ledger
        if not self._is_own:
            ledger.check_alone()
            _check_left(ledger)
        check_noise(name, self.table.privacy, ledger.budget.unit, ledger.remaining())

    def close(self) -> None:
        """Drop the records, as later steps need released numbers alone. A table that came open stays open."""
        if self._is_own:
            self.whole.close()

    def end(self) -> None:
        """End the bar."""
        if self._bar is not None:
            self._bar.close()

    def issued(
        self,
        kind: Callable[..., R],
        model: object,
        measurements: Sequence[LinearMeasurement],
        **fields: Any,  # noqa: ANN401 - those of the kind
    ) -> R:
        """Return the release, of one of several classes: the model, the measurements and the ledger; ends the call."""
        self.end()
        known = {"schema": self.table.schema, "account": self.whole.account_entry}
        return kind(model, tuple(measurements), self.table.ledger, self.name, **known, **fields)


def _check_left(ledger: Ledger) -> None:
    """Raise `BudgetError` if earlier questions to a table spent all of its budget."""
    left, budget = ledger.remaining(), ledger.budget
    if ledger.lines and left * _ROUNDING_PARTS < budget.limit:
        part = "nothing" if left == 0 else f"less than a millionth ({float(left):.3g})"
        whole = f"all of {budget!r} was spent: {part} of its {budget.unit} {float(budget.limit):.6g} is left"
        raise BudgetError(f"the ledger of this table: {whole}; a mechanism takes what is left of one")


def check_noise(name: str, privacy: Privacy, unit: str, amount: Fraction) -> None:
    """Raise ``ValueError``, before anything is spent, if parts of a budget would need more noise than can be drawn.

    With at most `_MAX_NOISE` on a count from all of it, noise of a part of 2^-18 (of rho) is below 2^31.
    """
    if amount <= 0:
        return
    squared = Fraction(privacy.squared_l2_sensitivity(Identity(2)), 2) / amount
    if unit == "epsilon":
        squared = 2 * (Fraction(privacy.l1_sensitivity(Identity(2))) / amount) ** 2
    if squared > _MAX_NOISE**2:
        left = f"all of the budget leaves noise of {short(math.isqrt(math.ceil(squared)))} records on a single count"
        beyond = "is beyond what can be drawn (2^62): epsilon, or rho, is too small"
        raise ValueError(f"{left}, and that of the parts {name} takes {beyond}")


def entered(
    handed: Handed,
    epsilon: Number | None,
    delta: Number | None,
    options: PrivateOptions,
    *,
    bar: Bar | None,
    n_threads: int,
    budget_of: BudgetOf = as_budget,
) -> PrivateTable:
    """Return the private table of some records, whose charges move the progress bar, if any; an open table as it is.

    Parameters
    ----------
    budget_of : callable
        Returns the budget that is given in one of two forms; raises if it does not suit the learner.

    Raises
    ------
    TypeError
        If an open table is given a budget, a relation, noise or a schema: it has them already.
    """
    budget, neighbours, privacy = options.get("budget"), options.get("neighbours"), options.get("privacy")
    seed, account = options.get("unsafe_seed"), options.get("account")
    if handed.is_open:
        if options.get("schema") is not None:
            raise TypeError("an open table has its schema already")
        terms = (epsilon, delta, budget, neighbours, privacy, account, seed)
        if any(a is not None for a in terms):
            raise TypeError("an open table has its budget, relation, account and seed already")
        table: PrivateTable = handed.take()
        budget_of(None, None, table.ledger.budget)
        return table
    of_run = budget_of(epsilon, delta, budget)
    if account is not None:  # which adds up in its own accounting
        of_run = as_budget(epsilon, delta, budget)
    ledger, relation = shown_ledger(of_run, bar), one_relation(neighbours, privacy)
    with standing_still:
        return PrivateTable(handed.take(), relation, ledger, n_threads=n_threads, unsafe_seed=seed, account=account)


def shown_ledger(budget: Budget, bar: Bar | None) -> Ledger:
    """Return a ledger whose charges move a progress bar, if there is one.

    Parameters
    ----------
    budget : Budget
    bar : Bar or None

    Examples
    --------
    >>> from pypgm import Budget
    >>> shown_ledger(Budget(rho=1), None).remaining()
    Fraction(1, 1)
    """
    if bar is None:
        return Ledger(budget)
    shown = _ShownCharges(bar)
    shown.ledger = Ledger(budget, shown)
    return shown.ledger


class _ShownCharges(Observer):
    """Observer that shows each line before it is entered, and so before data is read: nothing shown is private."""

    ledger: Ledger

    def __init__(self, bar: Bar) -> None:
        self._bar = bar

    def charged(self, ledger: object, line: Charge) -> None:  # type: ignore[override]
        """Show a line, and the share of the whole budget spent including it."""
        the_observer().charged(ledger, line)
        share = float((self.ledger.spent() + line.cost) / self.ledger.budget.limit)
        self._bar.show(lambda: f"{line.what} {line.on}", share)

    def allocated(self, ledger: object, part: object) -> None:
        """Pass the allocation on to the observer of the process."""
        the_observer().allocated(ledger, part)
