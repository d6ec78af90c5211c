"""Who spent how much privacy on what: exact, charged first, never overdrawn."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from pypgm.errors import BudgetError
from pypgm.privacy.budget import Budget
from pypgm.privacy.charge import Charge, NoiseLaw
from pypgm.privacy.rational import Number, as_fraction
from pypgm.privacy.zcdp import zcdp_epsilon

__all__ = ["Charge", "Ledger", "NoiseLaw"]

_NONE = Fraction(0)


class Ledger:
    """A budget and what was charged to it, in exact rationals.

    A mechanism charges before it reads data. A charge that does not fit raises and changes nothing. Costs in rho:
    a discrete Gaussian of variance parameter s on squared L2 sensitivity D costs D / (2 s), a pure step of e costs
    e^2 / 2, an exponential mechanism of e (whose loss has range e) e^2 / 8. Under a pure budget costs are epsilons,
    and a Gaussian, which has none, is refused. Probabilities of failure add up beside them, against the budget's
    `reserved_delta`. Safe to charge from several threads.

    Parameters
    ----------
    budget : Budget
        The most that can be charged.

    References
    ----------
    Bun and Steinke 2016 (zCDP); Canonne, Kamath and Steinke 2020 (discrete Gaussian); Cesar and Rogers 2021 (range).

    Examples
    --------
    >>> ledger = Ledger(Budget(rho=1))
    >>> _ = ledger.charge_gaussian("measure", "age", variance=Fraction(2), squared_sensitivity=1)
    >>> ledger.remaining()
    Fraction(3, 4)
    """

    __slots__ = (
        "_budget",
        "_held",
        "_held_delta",
        "_lines",
        "_lock",
        "_name",
        "_not_private",
        "_open",
        "_parent",
        "_spent",
        "_spent_delta",
    )

    def __init__(self, budget: Budget) -> None:
        if not isinstance(budget, Budget):
            raise TypeError(f"a ledger needs a Budget, got {type(budget).__name__}")
        self._budget = budget
        self._lines: list[Charge] = []
        self._spent = self._spent_delta = Fraction(0)
        self._held = self._held_delta = Fraction(0)
        self._not_private = ""
        self._lock = threading.RLock()
        self._parent: Ledger | None = None
        self._name = ""
        self._open = True

    @property
    def budget(self) -> Budget:
        """The most that can be charged."""
        return self._budget

    @property
    def not_private(self) -> str:
        """Why the charges protect nobody; empty where they do."""
        return self._not_private

    def mark_not_private(self, reason: str) -> None:
        """Say for good, in reports and files, that what is charged here protects nobody, and why."""
        self._not_private = reason
        if self._parent is not None:
            self._parent.mark_not_private(reason)

    @property
    def lines(self) -> tuple[Charge, ...]:
        """The charges, in the order they came."""
        with self._lock:
            return tuple(self._lines)

    def spent(self) -> Fraction:
        """Return the sum of the charges, in the budget's unit."""
        with self._lock:
            return self._spent

    def remaining(self) -> Fraction:
        """Return what can still be charged or allocated, in the budget's unit; 0 once closed."""
        with self._lock:
            return self._budget.limit - self._spent - self._held if self._open else Fraction(0)

    def spent_delta(self) -> Fraction:
        """Return the sum of the probabilities of failure that were charged."""
        with self._lock:
            return self._spent_delta

    def remaining_delta(self) -> Fraction:
        """Return what is left of the budget's `reserved_delta`; 0 once closed."""
        with self._lock:
            left = self._budget.reserved_delta - self._spent_delta - self._held_delta
            return left if self._open else Fraction(0)

    def allocate(
        self, name: str, *, amount: Number | None = None, fraction: Number | None = None, reserved_delta: Number = 0
    ) -> Ledger:
        """Set part of what remains aside, in a ledger of its own.

        Its charges are entered here as well, under its name. Until it is closed the part is held; closing (at the end
        of a ``with`` block) returns what was not spent and ends all charging to it. Allocations may be nested.

        Parameters
        ----------
        name : str
            Shown with the charges.
        amount, fraction : number
            Exactly one: an amount in the budget's unit, or a part of the budget's limit.
        reserved_delta : number
            What is set aside for probabilities of failure.

        Raises
        ------
        BudgetError
            If less than that remains; then nothing is held.

        Examples
        --------
        >>> ledger = Ledger(Budget(rho=1))
        >>> with ledger.allocate("totals", fraction="1/2") as part:
        ...     _ = part.charge_laplace("measure", "()", scale=Fraction(2), sensitivity=1)
        >>> ledger.spent(), ledger.remaining()
        (Fraction(1, 8), Fraction(7, 8))
        """
        if (amount is None) == (fraction is None):
            raise ValueError("an allocation takes exactly one of amount and fraction")
        wanted = (
            as_fraction("fraction", fraction) * self._budget.limit
            if fraction is not None
            else as_fraction("amount", amount if amount is not None else 0)
        )
        delta = as_fraction("reserved_delta", reserved_delta)
        unit = self._budget.unit
        part = Ledger(
            Budget(rho=wanted, reserved_delta=delta) if unit == "rho" else Budget(epsilon=wanted, reserved_delta=delta)
        )
        with self._lock:
            self._check(f"allocation {name!r}", wanted, delta)
            self._held += wanted
            self._held_delta += delta
        part._parent, part._name, part._lock = self, name, self._lock
        part._not_private = self._not_private
        return part

    def close(self) -> None:
        """End an allocation: what was not spent returns to the ledger it came from, and nothing more is charged."""
        with self._lock:
            if self._parent is None or not self._open:
                return
            if self._held > 0 or self._held_delta > 0:
                raise ValueError(f"allocation {self._name!r} has open allocations of its own; close them first")
            self._parent._held -= self._budget.limit - self._spent
            self._parent._held_delta -= self._budget.reserved_delta - self._spent_delta
            self._open = False

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def charge_gaussian(
        self,
        what: str,
        on: str,
        *,
        variance: Fraction,
        squared_sensitivity: int,
        largest_change: int | None = None,
        delta: Fraction = _NONE,
    ) -> Charge:
        """Charge discrete Gaussian noise by the variance parameter that will be drawn with.

        `largest_change` is the most one answer changes, where it is known: what a numerical accountant needs.

        Raises
        ------
        BudgetError
            If it does not fit.
        ValueError
            If the budget is pure.
        """
        if self._budget.unit == "epsilon":
            raise ValueError("Gaussian noise has no pure guarantee; a budget with delta > 0 or rho is needed")
        cost = Fraction(squared_sensitivity) / (2 * variance)
        parameters = {"variance": variance, "squared_sensitivity": Fraction(squared_sensitivity)}
        parameters |= {} if largest_change is None else {"largest_change": Fraction(largest_change)}
        return self.charge(Charge(what, on, cost, "discrete Gaussian", parameters, delta))

    def charge_laplace(
        self,
        what: str,
        on: str,
        *,
        scale: Fraction,
        sensitivity: int,
        largest_change: int | None = None,
        delta: Fraction = _NONE,
    ) -> Charge:
        """Charge discrete Laplace noise by the scale that will be drawn with; otherwise as `charge_gaussian`."""
        cost = self.cost_of_pure(Fraction(sensitivity) / scale)
        parameters = {"scale": scale, "sensitivity": Fraction(sensitivity)}
        parameters |= {} if largest_change is None else {"largest_change": Fraction(largest_change)}
        return self.charge(Charge(what, on, cost, "discrete Laplace", parameters, delta))

    def charge_exponential(self, what: str, on: str, *, epsilon: Fraction, score_range: int) -> Charge:
        """Charge an exponential mechanism by the epsilon it will be drawn with; ``BudgetError`` if it does not fit."""
        cost = self.cost_of_range(epsilon)
        parameters = {"epsilon": epsilon, "score_range": Fraction(score_range)}
        return self.charge(Charge(what, on, cost, "exponential mechanism", parameters))

    def charge_permute_and_flip(self, what: str, on: str, *, epsilon: Fraction, score_range: int) -> Charge:
        """Charge permute-and-flip, whose loss has no range: epsilon, or epsilon^2 / 2; else as `charge_exponential`."""
        cost = self.cost_of_pure(epsilon)
        parameters = {"epsilon": epsilon, "score_range": Fraction(score_range)}
        return self.charge(Charge(what, on, cost, "permute-and-flip", parameters))

    def cost_of_pure(self, epsilon: Fraction) -> Fraction:
        """Return what an epsilon-DP step costs in the budget's unit: epsilon, or epsilon^2 / 2 in rho."""
        return epsilon if self._budget.unit == "epsilon" else epsilon**2 / 2

    def cost_of_range(self, epsilon: Fraction) -> Fraction:
        """Return what a step costs whose loss has range epsilon: epsilon, or epsilon^2 / 8 in rho."""
        return epsilon if self._budget.unit == "epsilon" else epsilon**2 / 8

    def charge(self, line: Charge) -> Charge:
        """Enter a line.

        Raises
        ------
        BudgetError
            If it costs more than is left; then nothing is entered.
        """
        with self._lock:
            self._check(f"{line.what} on {line.on}", line.cost, line.delta)
            self._enter(line)
        return line

    def _check(self, what: str, cost: Fraction, delta: Fraction) -> None:
        if not self._open:
            raise BudgetError(f"{what}: the allocation {self._name!r} is closed")
        left = self.remaining()
        if cost > left:
            unit = self._budget.unit
            limit = _short(self._budget.limit)
            raise BudgetError(f"{what} needs {unit} {_short(cost)}, {_short(left)} of {limit} is left")
        if delta > self.remaining_delta():
            raise BudgetError(
                f"{what} needs delta {_short(delta)}, {_short(self.remaining_delta())} of the reserved "
                f"{_short(self._budget.reserved_delta)} is left: pass reserved_delta to the budget"
            )

    def _enter(self, line: Charge) -> None:
        self._lines.append(line)
        self._spent += line.cost
        self._spent_delta += line.delta
        if self._parent is not None:
            self._parent._held -= line.cost
            self._parent._held_delta -= line.delta
            within = f"{self._name} / {line.within}" if line.within else self._name
            self._parent._enter(replace(line, within=within))

    def report(self) -> str:
        """Return a table of the charges, one a line, and the sum."""
        unit = self._budget.unit
        rows: list[tuple[str, str, str, str]] = [("what", "on", "noise", unit)]
        for line in self.lines:
            shown = ", ".join(f"{name} {_short(value)}" for name, value in line.parameters.items())
            shown += f", delta {_short(line.delta)}" if line.delta else ""
            what = f"{line.within}: {line.what}" if line.within else line.what
            rows.append((what, line.on, f"{line.noise} ({shown})", _short(line.cost)))
        left = f"{_short(self.remaining())} left" + (f", {_short(self._held)} allocated" if self._held else "")
        left += f", delta {_short(self.spent_delta())}" if self.spent_delta() else ""
        rows.append(("spent", f"of {self._budget!r}", left, _short(self.spent())))
        if self._not_private:
            rows.append(("not private", self._not_private, "", ""))
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)

    def epsilon(self, delta: Number | None = None) -> float:
        """Return the epsilon that was spent, rounded up, at a `delta` (by default the budget's own).

        Under zCDP by the conversion of `zcdp_epsilon`, from which probabilities of failure are taken off first; under
        a pure budget the sum of the epsilons, which holds at any delta of at least those probabilities.

        Raises
        ------
        ValueError
            If no delta is named, or it is at most what was charged in probabilities of failure.
        """
        if self._budget.unit == "epsilon":
            return math.nextafter(float(self.spent()), math.inf) if self.spent() else 0.0
        wanted = self._budget.delta if delta is None else delta
        if wanted is None:
            raise ValueError("a budget in rho names no delta; pass delta")
        left = as_fraction("delta", wanted) - self.spent_delta()
        if left < 0 or (left == 0 and self.spent_delta() > 0):
            raise ValueError(f"delta must be more than the {_short(self.spent_delta())} that was charged, got {wanted}")
        return zcdp_epsilon(self.spent(), left)

    def to_dict(self) -> dict[str, Any]:
        """Return what `from_dict` takes: text and lists only, rationals as "a/b"."""
        reason = {"not_private": self._not_private} if self._not_private else {}
        return {
            **reason,
            "budget": {name: str(value) for name, value in self._budget.arguments().items()},
            "lines": [line.to_dict() for line in self.lines],
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Ledger:
        """Return the ledger that `to_dict` described.

        Raises
        ------
        BudgetError
            If the lines overdraw the budget.
        ValueError
            If something is missing or no number.
        """
        try:
            ledger = cls(Budget(**stored["budget"]))
            ledger.mark_not_private(str(stored.get("not_private", "")))
            for line in stored["lines"]:
                ledger.charge(Charge.from_dict(line))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a stored ledger: {error!r}") from error
        return ledger

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return (Ledger.from_dict, (self.to_dict(),))

    def __str__(self) -> str:
        return self.report()

    def __repr__(self) -> str:
        unit = self._budget.unit
        spent = f"{len(self.lines)} charges, {unit} {_short(self.spent())} spent"
        return f"Ledger({self._budget!r}: {spent}{', not private' if self._not_private else ''})"


def _short(value: Fraction) -> str:
    return f"{float(value):.6g}"
