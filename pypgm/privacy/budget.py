"""How much privacy a release may cost."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from pypgm.privacy.rational import Number, as_fraction
from pypgm.privacy.zcdp import zcdp_rho

__all__ = ["Budget", "Unit"]

Unit = Literal["rho", "epsilon"]


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
        More than 0; alone.

    Attributes
    ----------
    unit : {"rho", "epsilon"}
        What charges are counted in: rho of zCDP, or epsilon where the budget is pure.
    limit : Fraction
        The most that can be charged, in that unit. From (epsilon, delta) it is a rho rounded down.
    epsilon, delta : Fraction or None
        What was asked for.

    Raises
    ------
    ValueError
        If a number is out of its range or not finite, or the combination is none of the three.

    Examples
    --------
    >>> Budget(epsilon=0.1).limit
    Fraction(1, 10)
    >>> Budget(epsilon=1, delta=1e-9).unit
    'rho'
    """

    unit: Unit
    limit: Fraction
    epsilon: Fraction | None
    delta: Fraction | None

    def __init__(
        self, *, epsilon: Number | None = None, delta: Number | None = None, rho: Number | None = None
    ) -> None:
        if rho is not None and (epsilon is not None or delta is not None):
            raise ValueError("a budget is either rho or epsilon with delta, not both")
        if rho is None and epsilon is None:
            raise ValueError("a budget needs epsilon (with delta or without) or rho")
        exact_epsilon = None if epsilon is None else _positive("epsilon", epsilon)
        exact_delta = None if exact_epsilon is None else _delta(0 if delta is None else delta)
        unit: Unit = "epsilon" if exact_delta == 0 else "rho"
        if rho is not None:
            limit = _positive("rho", rho)
        elif exact_epsilon is not None and exact_delta:
            limit = zcdp_rho(exact_epsilon, exact_delta)
        else:
            limit = exact_epsilon or Fraction(0)
        for name, value in (("unit", unit), ("limit", limit), ("epsilon", exact_epsilon), ("delta", exact_delta)):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        if self.epsilon is None:
            return f"Budget(rho={_short(self.limit)})"
        if not self.delta:
            return f"Budget(epsilon={_short(self.epsilon)})"
        return f"Budget(epsilon={_short(self.epsilon)}, delta={_short(self.delta)})"


def _positive(name: str, value: Number) -> Fraction:
    exact = as_fraction(name, value)
    if exact <= 0:
        raise ValueError(f"{name} must be more than 0, got {value}")
    return exact


def _delta(value: Number) -> Fraction:
    exact = as_fraction("delta", value)
    if not 0 <= exact < 1:
        raise ValueError(f"delta must lie in [0, 1), got {value}")
    return exact


def _short(value: Fraction) -> str:
    return f"{float(value):.6g}"
