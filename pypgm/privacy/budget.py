"""Budgets: the most privacy that a release may cost."""

from __future__ import annotations

import copy
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, cast, get_args

from pypgm._base.numeric import shown
from pypgm._base.text import checked_text
from pypgm.privacy.gdp import gdp_rho
from pypgm.privacy.rational import Number, as_fraction
from pypgm.privacy.zcdp import zcdp_rho

Unit = Literal["rho", "epsilon"]
Accounting = Literal["gdp", "zcdp", "pure"]


@dataclass(frozen=True, slots=True, init=False)
class Budget:
    """A bound on the privacy loss of everything charged to one ledger.

    Either ``Budget(epsilon=..., delta=...)``, ``Budget(epsilon=...)`` (pure differential privacy) or
    ``Budget(rho=...)`` (zero-concentrated). A float means its shortest decimal, so 0.1 is exactly 1/10.

    Parameters
    ----------
    epsilon : int, float, Fraction, Decimal or str, optional
        More than 0.
    delta : int, float, Fraction, Decimal or str, optional
        In [0, 1); 0 is pure differential privacy.
    rho : int, float, Fraction, Decimal or str, optional
        More than 0; without epsilon and delta.
    reserved_delta : int, float, Fraction, Decimal or str
        Part of the guarantee's delta that is kept for steps which fail with some probability, such as the threshold
        of a histogram with unknown keys; beside epsilon and delta it must stay below `delta`. 0 by default.
    accounting : {"gdp", "zcdp"}, optional
        Kind of privacy that charges in rho add up in: Gaussian differential privacy, where rho is mu^2 / 2, by default
        with epsilon and delta; or zCDP, by default with rho. For the same epsilon and delta, Gaussian differential
        privacy allows noise smaller by 4 to 8 %; zCDP takes steps of which only a rho is known.

    Attributes
    ----------
    unit : {"rho", "epsilon"}
        The unit of charges: rho, or epsilon if the budget is pure.
    accounting : {"gdp", "zcdp", "pure"}
        The kind of privacy whose costs are added up.
    limit : Fraction
        The most that can be charged, in that unit. From (epsilon, delta) it is a rho rounded down.
    epsilon, delta : Fraction or None
        The numbers given.
    reserved_delta : Fraction
        The most that can be charged in probabilities of failure.

    Raises
    ------
    ValueError
        If a number is out of its range or not finite, or the combination is none of the three.

    Examples
    --------
    >>> Budget(epsilon=0.1).limit
    Fraction(1, 10)
    >>> budget = Budget(epsilon=1, delta=1e-9)
    >>> budget.unit, budget.accounting, round(float(budget.limit), 4)
    ('rho', 'gdp', 0.0166)
    """

    unit: Unit
    accounting: Accounting
    limit: Fraction
    epsilon: Fraction | None
    delta: Fraction | None
    reserved_delta: Fraction

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        reserved_delta: Number = 0,
        accounting: Accounting | None = None,
    ) -> None:
        check_new(self, "limit")
        accounting = cast("Accounting | None", None if accounting is None else checked_text("accounting", accounting))
        if rho is not None and (epsilon is not None or delta is not None):
            raise ValueError("a budget is either rho or epsilon with delta, not both")
        if rho is None and epsilon is None:
            raise ValueError("a budget needs epsilon (with delta or without) or rho")
        exact_epsilon = None if epsilon is None else _positive("epsilon", epsilon)
        exact_delta = None if exact_epsilon is None else _delta(0 if delta is None else delta)
        reserved = _delta(reserved_delta)
        if exact_delta and reserved >= exact_delta:
            raise ValueError(f"reserved_delta must stay below delta {shown(delta)}, got {shown(reserved_delta)}")
        unit: Unit = "epsilon" if exact_delta == 0 else "rho"
        if rho is not None:
            limit = _positive("rho", rho)
        elif exact_epsilon is not None and exact_delta:
            convert = zcdp_rho if accounting == "zcdp" else gdp_rho
            limit = convert(exact_epsilon, exact_delta - reserved)
        else:
            limit = exact_epsilon or Fraction(0)
        kind = _accounting(accounting, unit, "zcdp" if exact_epsilon is None else "gdp")
        values = {"unit": unit, "accounting": kind, "limit": limit, "epsilon": exact_epsilon, "delta": exact_delta}
        for name, value in (values | {"reserved_delta": reserved}).items():
            object.__setattr__(self, name, value)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that make an equal budget: the numbers given, exactly, and an unusual accounting."""
        named = {"rho": self.limit} if self.epsilon is None else {"epsilon": self.epsilon, "delta": self.delta}
        named["reserved_delta"] = self.reserved_delta
        given: dict[str, Any] = {name: value for name, value in named.items() if value}
        usual = "zcdp" if self.epsilon is None else "gdp"
        return given if self.accounting in ("pure", usual) else given | {"accounting": self.accounting}

    def of_amount(self, amount: Fraction, reserved_delta: Fraction = Fraction(0)) -> Budget:
        """Return a budget of an amount in the same unit and accounting: a part of this one."""
        if self.unit == "epsilon":
            return Budget(epsilon=amount, reserved_delta=reserved_delta)
        return Budget(rho=amount, reserved_delta=reserved_delta, accounting=self.accounting)

    def __repr__(self) -> str:
        texts = {n: repr(v) if isinstance(v, str) else short(v) for n, v in self.arguments().items()}
        return f"Budget({', '.join(f'{name}={text}' for name, text in texts.items())})"


def own_budget(budget: Budget) -> Budget:
    """Return a copy of a budget; ``TypeError`` for anything else, a subclass included."""
    if type(budget) is not Budget:
        raise TypeError(f"a ledger needs a Budget, got {type(budget).__name__}: subclasses are refused")
    return copy.copy(budget)


def check_new(thing: object, field: str) -> None:
    """Raise ``TypeError`` if an immutable object, which has this field already, is initialised again."""
    if hasattr(thing, field):
        raise TypeError(f"a {type(thing).__name__} cannot be initialised again; make another one")


def _accounting(given: str | None, unit: Unit, usual: Accounting) -> Accounting:
    if unit == "epsilon":
        if given not in (None, "pure"):
            raise ValueError(f"a pure budget adds up epsilons; accounting={given!r} needs a delta, or rho")
        return "pure"
    if given is None:
        return usual
    if given not in get_args(Accounting) or given == "pure":
        raise ValueError(f"accounting of a budget with delta, or of rho, is 'gdp' or 'zcdp', got {given!r}")
    return "zcdp" if given == "zcdp" else "gdp"


def _positive(name: str, value: Number) -> Fraction:
    exact = as_fraction(name, value)
    if exact <= 0:
        raise ValueError(f"{name} must be more than 0, got {shown(value)}")
    if exact > Fraction(sys.float_info.max):
        raise ValueError(f"{name} must be at most {sys.float_info.max:.3g}, the largest double, but is more")
    return exact


def _delta(value: Number) -> Fraction:
    exact = as_fraction("delta", value)
    if not 0 <= exact < 1:
        raise ValueError(f"delta must lie in [0, 1), got {shown(value)}")
    return exact


def short(value: Fraction) -> str:
    """Return a rational to six digits."""
    return f"{float(value):.6g}"
