"""Who spent how much privacy on what: exact, charged first, never overdrawn."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from pypgm.errors import BudgetError
from pypgm.privacy.budget import Budget
from pypgm.privacy.rational import Number
from pypgm.privacy.zcdp import zcdp_epsilon

__all__ = ["Charge", "Ledger", "NoiseLaw"]

NoiseLaw = Literal["discrete Gaussian", "discrete Laplace", "exponential mechanism"]


@dataclass(frozen=True, slots=True)
class Charge:
    """One line of a ledger.

    Attributes
    ----------
    what : str
        What was done: "measure", "select".
    on : str
        What it was done to: the clique, or the candidates.
    cost : Fraction
        What it cost, in the ledger's unit.
    noise : str
        The law that was drawn from.
    parameters : dict of str to Fraction
        The parameters the draw used, exactly; the cost follows from them alone.
    """

    what: str
    on: str
    cost: Fraction
    noise: NoiseLaw
    parameters: Mapping[str, Fraction] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.cost < 0:
            raise ValueError(f"a charge is at least 0, got {self.cost}")


class Ledger:
    """A budget and what was charged to it, in exact rationals.

    A mechanism charges before it reads data. A charge that does not fit raises and changes nothing. Costs in rho:
    a discrete Gaussian of variance parameter s on squared L2 sensitivity D costs D / (2 s), a pure step of e costs
    e^2 / 2, an exponential mechanism of e (whose loss has range e) e^2 / 8. Under a pure budget costs are epsilons,
    and a Gaussian, which has none, is refused. Safe to charge from several threads.

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
    >>> ledger.remaining
    Fraction(3, 4)
    """

    __slots__ = ("_budget", "_lines", "_lock", "_not_private", "_spent")

    def __init__(self, budget: Budget) -> None:
        if not isinstance(budget, Budget):
            raise TypeError(f"a ledger needs a Budget, got {type(budget).__name__}")
        self._budget = budget
        self._lines: list[Charge] = []
        self._spent = Fraction(0)
        self._not_private = ""
        self._lock = threading.Lock()

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

    @property
    def lines(self) -> tuple[Charge, ...]:
        """The charges, in the order they came."""
        with self._lock:
            return tuple(self._lines)

    @property
    def spent(self) -> Fraction:
        """The sum of the charges, in the budget's unit."""
        with self._lock:
            return self._spent

    @property
    def remaining(self) -> Fraction:
        """What can still be charged, in the budget's unit."""
        return self._budget.limit - self.spent

    def charge_gaussian(self, what: str, on: str, *, variance: Fraction, squared_sensitivity: int) -> Charge:
        """Charge discrete Gaussian noise by the variance parameter that will be drawn with.

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
        return self.charge(Charge(what, on, cost, "discrete Gaussian", parameters))

    def charge_laplace(self, what: str, on: str, *, scale: Fraction, sensitivity: int) -> Charge:
        """Charge discrete Laplace noise by the scale that will be drawn with; ``BudgetError`` if it does not fit."""
        epsilon = Fraction(sensitivity) / scale
        cost = epsilon if self._budget.unit == "epsilon" else epsilon**2 / 2
        parameters = {"scale": scale, "sensitivity": Fraction(sensitivity)}
        return self.charge(Charge(what, on, cost, "discrete Laplace", parameters))

    def charge_exponential(self, what: str, on: str, *, epsilon: Fraction, score_range: int) -> Charge:
        """Charge an exponential mechanism by the epsilon it will be drawn with; ``BudgetError`` if it does not fit."""
        cost = epsilon if self._budget.unit == "epsilon" else epsilon**2 / 8
        parameters = {"epsilon": epsilon, "score_range": Fraction(score_range)}
        return self.charge(Charge(what, on, cost, "exponential mechanism", parameters))

    def charge(self, line: Charge) -> Charge:
        """Enter a line.

        Raises
        ------
        BudgetError
            If it costs more than is left; then nothing is entered.
        """
        with self._lock:
            left = self._budget.limit - self._spent
            if line.cost > left:
                unit = self._budget.unit
                raise BudgetError(
                    f"{line.what} on {line.on} needs {unit} {_short(line.cost)}, {_short(left)} of "
                    f"{_short(self._budget.limit)} is left"
                )
            self._lines.append(line)
            self._spent += line.cost
        return line

    def report(self) -> str:
        """Return a table of the charges, one a line, and the sum."""
        unit = self._budget.unit
        rows: list[tuple[str, str, str, str]] = [("what", "on", "noise", unit)]
        for line in self.lines:
            shown = ", ".join(f"{name} {_short(value)}" for name, value in line.parameters.items())
            rows.append((line.what, line.on, f"{line.noise} ({shown})", _short(line.cost)))
        rows.append(("spent", f"of {self._budget!r}", f"{_short(self.remaining)} left", _short(self.spent)))
        if self._not_private:
            rows.append(("not private", self._not_private, "", ""))
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)

    def epsilon(self, delta: Number | None = None) -> float:
        """Return the epsilon that was spent, rounded up; under zCDP for a `delta`, by default the budget's own."""
        if self._budget.unit == "epsilon":
            return float(self.spent)
        wanted = self._budget.delta if delta is None else delta
        if wanted is None:
            raise ValueError("a budget in rho names no delta; pass delta")
        return zcdp_epsilon(self.spent, wanted)

    def to_dict(self) -> dict[str, Any]:
        """Return what `from_dict` takes: text and lists only, rationals as "a/b"."""
        budget = self._budget
        wanted = {"rho": budget.limit} if budget.epsilon is None else {"epsilon": budget.epsilon, "delta": budget.delta}
        reason = {"not_private": self._not_private} if self._not_private else {}
        return {
            **reason,
            "budget": {name: str(value) for name, value in wanted.items()},
            "lines": [
                {
                    "what": line.what,
                    "on": line.on,
                    "cost": str(line.cost),
                    "noise": line.noise,
                    "parameters": {name: str(value) for name, value in line.parameters.items()},
                }
                for line in self.lines
            ],
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
                parameters = {str(name): Fraction(value) for name, value in line["parameters"].items()}
                ledger.charge(Charge(line["what"], line["on"], Fraction(line["cost"]), line["noise"], parameters))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a stored ledger: {error!r}") from error
        return ledger

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return (Ledger.from_dict, (self.to_dict(),))

    def __str__(self) -> str:
        return self.report()

    def __repr__(self) -> str:
        unit = self._budget.unit
        spent = f"{len(self.lines)} charges, {unit} {_short(self.spent)} spent"
        return f"Ledger({self._budget!r}: {spent}{', not private' if self._not_private else ''})"


def _short(value: Fraction) -> str:
    return f"{float(value):.6g}"
