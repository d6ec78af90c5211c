"""Ledgers of privacy spent: exact, charged before data is read, never overdrawn."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from pypgm._base.constraints import one_of
from pypgm.errors import BudgetError
from pypgm.privacy.budget import Budget, short
from pypgm.privacy.charge import Charge, charges
from pypgm.privacy.costs import gaussian_variance, pure_steps
from pypgm.privacy.laws import Law
from pypgm.privacy.ledger_report import LedgerReport
from pypgm.privacy.observer import Observer, the_observer
from pypgm.privacy.rational import EPSILON_BITS, Number, as_fraction, exact_sum, isqrt_down
from pypgm.privacy.relation import Privacy

__all__ = ["Charge", "Ledger", "LedgerReport"]

_FORKS: list[int] = []  # one entry for each fork between the first process and this one

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _FORKS.append(os.getpid()))


class Ledger(LedgerReport):
    """A budget and the charges to it, in exact rationals.

    A mechanism charges before it reads data. A charge that does not fit raises and changes nothing. The cost of a line
    follows from its law, see `pypgm.privacy.laws`, and in Gaussian differential privacy from the amount left before.
    Under a pure budget costs are epsilons, and a Gaussian, which has none, is refused. Probabilities of failure add up
    separately, against the budget's `reserved_delta`.

    A ledger exists once: copies and pickles of it are a `LedgerReport`, and a forked child is refused. Several threads
    may charge it. All its charges are for one neighbour relation, that of the first table entered.

    An interrupt at any point leaves the ledger usable. Each change is one assignment: a line, an allocation or its end
    exists or not; the amounts spent, held and left follow only from these.

    Parameters
    ----------
    budget : Budget
        The most that can be charged.
    observer : Observer, optional
        Receives each line before it is entered; by default the observer of the process, if there is one.

    References
    ----------
    Bun and Steinke 2016 (zCDP); Canonne, Kamath and Steinke 2020 (discrete Gaussian); Cesar and Rogers 2021 (range);
    Dong, Roth and Su 2022, Smith and Thakurta 2022 (Gaussian differential privacy, adaptively).

    Examples
    --------
    >>> from pypgm.privacy.laws import DiscreteGaussian
    >>> ledger = Ledger(Budget(rho=1))
    >>> _ = ledger.charge("measure", "age", DiscreteGaussian(variance=2, squared_sensitivity=1))
    >>> ledger.remaining()
    Fraction(3, 4)
    """

    __slots__ = ("_alone", "_journal", "_lock", "_name", "_observer", "_open", "_parent", "_parts", "_process", "_sums")

    def __init__(self, budget: Budget, observer: Observer | None = None) -> None:
        super().__init__(budget)
        self._observer = observer
        self._journal: list[dict[Ledger, Charge]] = []  # each line, as the root and its parts name it
        self._parts: tuple[Ledger, ...] = ()  # the open ones, and some closed ones
        self._sums = (0, Fraction(0), Fraction(0))  # entries of the journal, and the sums of the lines among them
        self._lock = threading.RLock()
        self._parent: Ledger | None = None
        self._name = ""
        self._alone = True
        self._open = True
        self._process = (os.getpid(), len(_FORKS))

    def _root(self) -> Ledger:
        return self if self._parent is None else self._parent._root()

    @property
    def privacy(self) -> Privacy | None:
        """The neighbour relation the charges are for; None before a table has named it."""
        return self._root()._privacy

    def bind(self, privacy: Privacy) -> None:
        """Set the neighbour relation of all charges, for good; ``ValueError`` if there is another one."""
        root = self._root()
        if type(privacy) is not Privacy:  # nor to a subclass, whose sensitivities would be its own
            raise TypeError(f"a ledger is bound to a Privacy, got {type(privacy).__name__}")
        with self._lock:
            if root._privacy is not None and root._privacy != privacy:
                raise ValueError(f"this ledger's charges are for {root._privacy}, a table came with {privacy}")
            if root._privacy is None or not privacy.is_of_people:  # a relation of records is the weaker promise
                root._privacy = privacy.copy()

    @property
    def not_private(self) -> str:
        """The reason why the charges protect nobody; empty if they protect."""
        return self._root()._not_private

    def mark_not_private(self, reason: str) -> None:
        """Mark the ledger for good, in reports and files, as protecting nobody, with the reason."""
        if not isinstance(reason, str) or not reason.strip():
            raise ValueError(f"a not-private mark needs a reason, and is never removed; got {reason!r}")
        root = self._root()
        with self._lock:
            root._not_private = root._not_private or reason

    @property
    def lines(self) -> tuple[Charge, ...]:
        """The charges, in the order they came."""
        return tuple(views[self] for views in tuple(self._journal) if self in views)

    def spent(self) -> Fraction:
        """Return the sum of the charges, in the budget's unit."""
        return self._summed()[0]

    def remaining(self) -> Fraction:
        """Return the amount that can still be charged or allocated, in the budget's unit; 0 once closed."""
        with self._lock:
            return self._budget.limit - self.spent() - self._held()[0] if self._is_open() else Fraction(0)

    def spent_delta(self) -> Fraction:
        """Return the sum of the probabilities of failure that were charged."""
        return self._summed()[1]

    def remaining_delta(self) -> Fraction:
        """Return the rest of the budget's `reserved_delta`; 0 once closed."""
        with self._lock:
            left = self._budget.reserved_delta - self.spent_delta() - self._held()[1]
            return left if self._is_open() else Fraction(0)

    def _summed(self) -> tuple[Fraction, Fraction]:
        """Return the sums of costs and deltas of the lines; earlier lines are not added up again."""
        seen, cost, fails = self._sums
        new = self._journal[seen:]
        if new:
            lines = [views[self] for views in new if self in views]
            cost += exact_sum(line.cost for line in lines)
            fails += exact_sum(line.delta for line in lines)
            self._sums = seen + len(new), cost, fails
        return cost, fails

    def _held(self) -> tuple[Fraction, Fraction]:
        """Return the amounts that open parts may still spend, and their probabilities of failure."""
        parts = [part for part in self._parts if part._open]
        amounts = (part._budget.limit - part.spent() for part in parts)
        deltas = (part._budget.reserved_delta - part.spent_delta() for part in parts)
        return sum(amounts, Fraction(0)), sum(deltas, Fraction(0))

    def _is_open(self) -> bool:
        return self._open and (self._parent is None or self._parent._is_open())

    def check_alone(self) -> None:
        """Raise ``ValueError`` for a part whose costs count on the rest of the whole ledger: it has no report."""
        if not self._alone and self._budget.accounting == "gdp":
            counts = f"allocation {self._name!r}, made with alone=False, counts on what the whole ledger has left"
            raise ValueError(f"{counts}: a release and a report need a part made without it")

    def epsilon(self, delta: Number | None = None) -> float:
        """Return the guarantee, as `LedgerReport.epsilon`; ``ValueError`` as `check_alone`."""
        self.check_alone()
        return super().epsilon(delta)

    def realised_epsilon(self, delta: Number | None = None) -> float:
        """Return the epsilon of the charges, as `LedgerReport.realised_epsilon`; ``ValueError`` as `check_alone`."""
        self.check_alone()
        return super().realised_epsilon(delta)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of a report, as `LedgerReport.to_dict`; ``ValueError`` as `check_alone`."""
        self.check_alone()
        return super().to_dict()

    def snapshot(self) -> LedgerReport:
        """Return the charges so far as a report, which cannot be charged; ``ValueError`` as `check_alone`."""
        self.check_alone()
        return LedgerReport(self._budget, self.lines, self.privacy, self.not_private)

    def _left(self) -> Fraction | None:
        """Return the amount that sets the price of a step in Gaussian differential privacy; None in other units."""
        if self._budget.accounting != "gdp":
            return None
        return self._budget.limit - self.spent() if self._alone or self._parent is None else self._parent._left()

    def epsilon_of(self, amount: Number, steps: int = 1, *, has_range: bool = False, others: Number = 0) -> Fraction:
        """Return an epsilon of each of some steps that cost an amount together, if they are charged next.

        Parameters
        ----------
        amount : number
            In the budget's unit, more than 0.
        steps : int
            The number of steps, each as costly.
        has_range : bool
            Whether the losses of a step lie in an interval of length epsilon, as an exponential mechanism's do; else
            between -epsilon and epsilon.
        others : number
            The amount that steps charged before these will have cost.

        Raises
        ------
        ValueError
            If the amount is not above 0.

        Examples
        --------
        >>> round(float(Ledger(Budget(rho=1)).epsilon_of("1/2", has_range=True)), 6)
        2.0
        """
        exact = _above_zero(self._budget.unit, amount)
        if self._budget.unit == "epsilon":
            return exact / steps
        with self._lock:
            left = self._left()
        rho = exact if left is None else pure_steps(exact, steps, left - as_fraction("others", others))
        return isqrt_down((8 if has_range else 2) * rho / steps, EPSILON_BITS)

    def variance_of(self, amount: Number, squared_sensitivity: int) -> Fraction:
        """Return the variance of discrete Gaussian noise that costs an amount of rho.

        Raises
        ------
        ValueError
            If the amount is not above 0, no record changes the answer, or the budget is pure.

        Examples
        --------
        >>> Ledger(Budget(rho=1)).variance_of("1/2", 2)
        Fraction(2, 1)
        """
        exact = _above_zero(self._budget.unit, amount)
        if self._budget.unit == "epsilon":
            raise ValueError("Gaussian noise has no pure guarantee; a budget with delta > 0 or rho is needed")
        if squared_sensitivity == 0:
            raise ValueError("no record changes this answer, so rho gives no variance; pass variance")
        if self._budget.accounting == "zcdp":
            return squared_sensitivity / (2 * exact)
        return gaussian_variance(exact, squared_sensitivity)

    def allocate(
        self,
        name: str,
        *,
        amount: Number | None = None,
        fraction: Number | None = None,
        reserved_delta: Number = 0,
        alone: bool = True,
    ) -> Ledger:
        """Set aside part of the remaining budget, in a separate ledger.

        The part's charges are entered here as well, under its name. Until it is closed the part is held; closing it (at
        the end of a ``with`` block) returns the unspent rest and ends all charging to it. Allocations may be nested.

        Parameters
        ----------
        name : str
            The name shown with the charges.
        amount, fraction : number
            Exactly one: an amount in the budget's unit, or a part of the budget's limit.
        reserved_delta : number
            The amount set aside for probabilities of failure.
        alone : bool
            Whether steps cost what they would in a ledger of this amount, so that its report stands by itself. If not,
            steps of bounded loss cost less in Gaussian differential privacy, as all that the whole ledger has left
            counts; a part like this has no report, and no release is made from it.

        Raises
        ------
        BudgetError
            If less than that remains, the part is closed, or this is another process; then nothing is held.

        Examples
        --------
        >>> from pypgm.privacy.laws import DiscreteLaplace
        >>> ledger = Ledger(Budget(rho=1))
        >>> with ledger.allocate("totals", fraction="1/2") as part:
        ...     _ = part.charge("measure", "()", DiscreteLaplace(scale=2, sensitivity=1))
        >>> ledger.spent(), ledger.remaining()
        (Fraction(1, 8), Fraction(7, 8))
        """
        one_of("an allocation", amount=amount, fraction=fraction)
        wanted = (
            as_fraction("fraction", fraction) * self._budget.limit
            if fraction is not None
            else as_fraction("amount", amount if amount is not None else 0)
        )
        delta = as_fraction("reserved_delta", reserved_delta)
        part = Ledger(self._budget.of_amount(wanted, delta), self._observer)
        part._alone = alone
        self._check_process(f"allocation {name!r}")
        part._parent, part._name, part._lock, part._journal = self, str(name), self._lock, self._journal
        part._sums = (len(self._journal), Fraction(0), Fraction(0))  # the journal has no line of it yet
        try:
            with self._lock:
                self._check(f"allocation {name!r}", wanted, delta)
                (self._observer or the_observer()).allocated(self, part)
                self._parts = (*(other for other in self._parts if other._open), part)
            return part  # noqa: TRY300 - not in an else: an interrupt here is caught as well
        except BaseException:
            part._open = False  # nobody received it, so nothing is held
            raise

    def close(self) -> None:
        """End an allocation: its unspent rest returns to the ledger it came from, and nothing more is charged."""
        self._check_process("closing an allocation")
        with self._lock:
            if self._parent is None or not self._open:
                return
            if any(part._open for part in self._parts):
                raise ValueError(f"allocation {self._name!r} has open allocations of its own; close them first")
            self._open = False

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        if self._parent is not None:
            self._open = False  # its own allocations, which an error may have left open, end with it

    def charge(self, what: str, on: str, law: Law, *, within: str = "") -> Charge:
        """Charge a step by the law that it will draw from.

        Parameters
        ----------
        what : str
            The step: "measure", "select".
        on : str
            The object of the step: the clique, or the candidates.
        law : Law
            Law of `pypgm.privacy.laws`. The ledger cannot check the cost of a user's own step, `Stated`: its report
            names it as the caller's claim.
        within : str
            The place of the line in another ledger, "outer / inner", which goes into the line.

        Returns
        -------
        Charge
            The line.

        Raises
        ------
        BudgetError
            If the step costs more than is left, or this is a closed part or another process; then nothing is entered.
        ValueError
            If the law has no guarantee in the budget's unit.
        TypeError
            If the law is none of `pypgm.privacy.laws`.

        Examples
        --------
        >>> from pypgm.privacy.laws import Stated
        >>> ledger = Ledger(Budget(rho=1))
        >>> ledger.charge("train", "a tree", Stated(epsilon=1)).cost
        Fraction(1, 2)
        """
        return self._charge([(what, on, law, within)])[0]

    def charge_many(self, what: str, laws: Sequence[tuple[str, Law]], *, within: str = "") -> list[Charge]:
        """Charge many steps at once: all of them, or none if they do not fit together.

        Parameters
        ----------
        what : str
            Name of the step, the same each time.
        laws : sequence of (str, Law)
            The object of each step, and the law that it will draw from; a law that several steps share is checked once.
        within : str
            See `charge`.

        Returns
        -------
        list of Charge
            The lines.

        Raises
        ------
        BudgetError, ValueError, TypeError
            See `charge`.

        Examples
        --------
        >>> from pypgm.privacy.laws import Stated
        >>> ledger, half = Ledger(Budget(rho=1)), Stated(rho="1/2")
        >>> [line.on for line in ledger.charge_many("train", [("a tree", half), ("a forest", half)])]
        ['a tree', 'a forest']
        >>> ledger.remaining()
        Fraction(0, 1)
        """
        return self._charge([(what, on, law, within) for on, law in laws])

    def _charge(self, entries: Sequence[tuple[str, str, Law, str]]) -> list[Charge]:
        what, on, _, within = entries[0] if entries else ("", "", None, "")
        of_all = within or f"a charge of {len(entries)} steps"
        named = f"{what} on {on}" if len(entries) == 1 else of_all
        self._check_process(named)
        with self._lock:
            lines = charges(entries, self._budget.unit, self._left())
            self._check(named, exact_sum(line.cost for line in lines), exact_sum(line.delta for line in lines))
            (self._observer or the_observer()).entering(self, lines)
            for line in lines:
                self._enter(line)
        return lines

    def _check_process(self, what: str) -> None:
        # Before the lock: a forked child may have inherited it locked.
        if self._process != (os.getpid(), len(_FORKS)):
            raise BudgetError(f"{what}: a ledger is charged in the process that made it; this is another one")

    def _check(self, what: str, cost: Fraction, delta: Fraction) -> None:
        if not self._is_open():
            raise BudgetError(f"{what}: the allocation {self._name!r} is closed")
        left = self.remaining()
        if cost > left:
            unit = self._budget.unit
            raise BudgetError(
                f"{what} needs {unit} {short(cost)}, {short(left)} of {short(self._budget.limit)} is left"
            )
        if delta > self.remaining_delta():
            raise BudgetError(
                f"{what} needs delta {short(delta)}, {short(self.remaining_delta())} of the reserved "
                f"{short(self._budget.reserved_delta)} is left: pass reserved_delta to the budget"
            )

    def _enter(self, line: Charge) -> None:
        (self._observer or the_observer()).charged(self, line)
        views, ledger, view = {self: line}, self, line
        while ledger._parent is not None:
            view = view.within_part(ledger._name)
            ledger = ledger._parent
            views[ledger] = view
        self._journal.append(views)

    def _allocated(self) -> str:
        held = self._held()[0]
        return f", {short(held)} allocated" if held else ""


def _above_zero(unit: str, amount: Number) -> Fraction:
    exact = as_fraction(unit, amount)
    if exact <= 0:
        raise ValueError(f"{unit} must be more than 0, got {amount}")
    return exact
