"""Lines of a ledger: a step, the law it draws from, and the cost that follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any, get_args

from pypgm.privacy.budget import Unit, check_new
from pypgm.privacy.costs import cost_before
from pypgm.privacy.laws import DiscreteGaussian, Law, law_of, own_law
from pypgm.privacy.rational import Number, as_fraction, significant_down

COUNTING = "counting groups of columns"
"""Purpose of a measurement of any number of columns."""

_PURPOSES = {  # of what is done
    "measure": COUNTING,
    "select": "choosing what to count",
    "screen": "choosing what to count",
    "bounds": "finding bounds",
    "sample": "drawing a sample of the records",
}
_SETTLE, _QUANTILES = "settle / ", " / quantiles"  # allocations of `pypgm.privacy.settle`


@dataclass(frozen=True, slots=True, init=False)
class Charge:
    """Line of a ledger, whose cost follows from its law and is never given.

    Parameters
    ----------
    what : str
        The step: "measure", "select".
    on : str
        The object of the step: the clique, or the candidates.
    law : Law
        The law of the draw, one of `pypgm.privacy.laws`; `Stated` for a step of one's own, whose cost the ledger cannot
        check.
    unit : {"rho", "epsilon"}
        The unit of the ledger's budget.
    within : str
        The allocation it was charged to, "outer / inner"; empty for the ledger itself.
    left : number, optional
        The amount that the whole ledger had left, or less, where it adds up costs in Gaussian differential privacy.

    Attributes
    ----------
    cost : Fraction
        The cost of the step, in the unit.

    Raises
    ------
    ValueError
        If the law has no guarantee in the unit, or there is an amount left under a pure budget.
    TypeError
        If the law is not a `Law`.

    Examples
    --------
    >>> from pypgm.privacy.laws import DiscreteGaussian, Stated
    >>> Charge("measure", "(age)", DiscreteGaussian(variance=2, squared_sensitivity=1)).cost
    Fraction(1, 4)
    >>> Charge("train", "a model of my own", Stated(epsilon=0.1, delta=1e-9), unit="epsilon").cost
    Fraction(1, 10)
    >>> round(float(Charge("train", "a model of my own", Stated(epsilon=0.1), left=1).cost), 6)
    0.005006
    """

    what: str
    on: str
    law: Law
    unit: Unit
    within: str
    left: Fraction | None
    cost: Fraction = field(init=False)

    def __init__(
        self, what: str, on: str, law: Law, *, unit: Unit = "rho", within: str = "", left: Number | None = None
    ) -> None:
        check_new(self, "cost")
        if unit not in get_args(Unit):
            raise ValueError(f"a charge is in 'rho' or 'epsilon', got {unit!r}")
        exact = None if left is None else as_fraction("left", left)
        if exact is not None and (unit == "epsilon" or exact < 0):
            raise ValueError("an amount left is at least 0, and of a charge in rho")
        kept = own_law(law)
        cost = kept.cost(unit) if exact is None else kept.gdp_cost(exact)
        self._fill((what, on, within), kept, unit, exact, cost)

    def _fill(self, named: tuple[str, str, str], law: Law, unit: Unit, left: Fraction | None, cost: Fraction) -> None:
        what, on, within = named
        put = object.__setattr__  # not in a loop, which takes twice as long: a ledger may have a million lines
        put(self, "what", str(what))
        put(self, "on", str(on))
        put(self, "law", law)
        put(self, "unit", unit)
        put(self, "within", str(within))
        put(self, "left", left)
        put(self, "cost", cost)

    def _like(self, what: str, on: str, within: str, left: Fraction | None) -> Charge:
        """Return a line of the same law, which needs no new check."""
        other = object.__new__(Charge)
        cost = self.cost if left is None or left == self.left else self.law.gdp_cost(left)
        other._fill((what, on, within), self.law, self.unit, left, cost)
        return other

    def within_part(self, name: str) -> Charge:
        """Return the line as it stands in the ledger from which the allocation of this name was taken."""
        return self._like(self.what, self.on, f"{name} / {self.within}" if self.within else name, self.left)

    @property
    def noise(self) -> str:
        """The name of the law."""
        return self.law.name

    @property
    def parameters(self) -> Mapping[str, Fraction]:
        """Parameters of the law."""
        return MappingProxyType(self.law.parameters)

    @property
    def delta(self) -> Fraction:
        """Probability that the step fails to protect: of a threshold, or stated; otherwise 0."""
        return self.law.delta

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that `from_dict` takes: text only, rationals as "a/b"."""
        return {
            "what": self.what,
            "on": self.on,
            "noise": self.noise,
            "parameters": {name: str(value) for name, value in self.law.parameters.items()},
            "unit": self.unit,
            **({} if self.left is None else {"left": str(self.left)}),
            "cost": str(self.cost),
            **({"delta": str(self.delta)} if self.delta else {}),
            **({"within": self.within} if self.within else {}),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Charge:
        """Return the charge that `to_dict` described.

        Raises
        ------
        ValueError
            If the law is unknown or has other parameters, one is out of its range or not finite, the law does not keep
            its delta, or the stored cost is not that of the law.
        KeyError
            If an entry is missing.
        """
        law = law_of(fields["noise"], dict(fields["parameters"]), fields.get("delta", 0))
        named = {"unit": fields["unit"], "within": fields.get("within", ""), "left": fields.get("left")}
        line = cls(fields["what"], fields["on"], law, **named)
        if line.cost != as_fraction("cost", fields["cost"]):
            raise ValueError(f"{line.what} on {line.on} costs {line.cost}, not {fields['cost']} as stored")
        return line

    def __reduce__(self) -> tuple[Callable[..., Charge], tuple[dict[str, Any]]]:
        return (Charge.from_dict, (self.to_dict(),))


def purpose_of(charge: Charge) -> str:
    """Return the purpose of a charge in words; that of a step of one's own is its name.

    Examples
    --------
    >>> from pypgm.privacy.laws import Exponential
    >>> purpose_of(Charge("select", "8 pairs", Exponential(1, 1), unit="epsilon"))
    'choosing what to count'
    >>> within = "settle / age / quantiles"
    >>> purpose_of(Charge("select", "quantile 1/2", Exponential(1, 1), unit="epsilon", within=within))
    'finding the bins of age'
    """
    _, is_settled, name = charge.within.partition(_SETTLE)
    if not is_settled:
        return _PURPOSES.get(charge.what, charge.what)
    of_bins = name.endswith(_QUANTILES)
    return f"finding the {'bins' if of_bins else 'values'} of {name.removesuffix(_QUANTILES)}"


def fixed_amount(lines: Sequence[Charge]) -> Fraction:
    """Return the amount of Gaussian differential privacy of lines whose parameters were fixed, and of nothing else.

    It may be more than what they cost in a ledger, whose rest is counted on as noise to come.
    """
    amount = Fraction(0)
    for line in reversed(lines):
        gaussian = isinstance(line.law, DiscreteGaussian)
        amount += line.law.gdp_cost(amount) if gaussian else cost_before(amount, *line.law.bounded)
    return amount


_LEFT_BITS = 48  # of what was left


def charges(entries: Sequence[tuple[str, str, Law, str]], unit: Unit, left: Fraction | None = None) -> list[Charge]:
    """Return lines made of step, object, law and allocation; a law that entries share is checked and copied once.

    Parameters
    ----------
    left : Fraction, optional
        The amount left before the first of them, in Gaussian differential privacy.
    """
    first: dict[int, Charge] = {}
    lines = []
    for what, on, law, within in entries:
        short = None if left is None else significant_down(left, _LEFT_BITS) if left > 0 else Fraction(0)
        lines.append(_line(first, (what, on, within), law, unit, short))
        left = None if left is None else left - lines[-1].cost
    return lines


def copies(lines: Sequence[Charge]) -> list[Charge]:
    """Return copies of lines, costs computed anew; a law that lines share is checked and copied once."""
    first: dict[int, Charge] = {}
    return [_line(first, (line.what, line.on, line.within), line.law, line.unit, line.left) for line in lines]


def _line(first: dict[int, Charge], named: tuple[str, str, str], law: Law, unit: Unit, left: Fraction | None) -> Charge:
    """Return a line of this step, object and allocation, like the first one of the law if there is one."""
    what, on, within = named
    known = first.get(id(law))
    if known is not None:
        return known._like(what, on, within, left)
    line = first[id(law)] = Charge(what, on, law, unit=unit, within=within, left=left)
    return line
