"""Lines of a ledger: a step, the law it draws from, and the cost that follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any, get_args

from pypgm.privacy.budget import Unit, check_new
from pypgm.privacy.laws import Law, law_of, own_law
from pypgm.privacy.rational import as_fraction

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

    Attributes
    ----------
    cost : Fraction
        The cost of the step, in the unit.

    Raises
    ------
    ValueError
        If the law has no guarantee in the unit.
    TypeError
        If the law is not a `Law`.

    Examples
    --------
    >>> from pypgm.privacy.laws import DiscreteGaussian, Stated
    >>> Charge("measure", "(age)", DiscreteGaussian(variance=2, squared_sensitivity=1)).cost
    Fraction(1, 4)
    >>> Charge("train", "a model of my own", Stated(epsilon=0.1, delta=1e-9), unit="epsilon").cost
    Fraction(1, 10)
    """

    what: str
    on: str
    law: Law
    unit: Unit
    within: str
    cost: Fraction = field(init=False)

    def __init__(self, what: str, on: str, law: Law, *, unit: Unit = "rho", within: str = "") -> None:
        check_new(self, "cost")
        if unit not in get_args(Unit):
            raise ValueError(f"a charge is in 'rho' or 'epsilon', got {unit!r}")
        kept = own_law(law)
        self._fill(str(what), str(on), kept, unit, str(within), kept.cost(unit))

    def _fill(self, *values: object) -> None:
        for name, value in zip(Charge.__slots__, values, strict=True):
            object.__setattr__(self, name, value)

    def _like(self, what: str, on: str, within: str) -> Charge:
        """Return a line of the same law, which needs no new check."""
        other = object.__new__(Charge)
        other._fill(str(what), str(on), self.law, self.unit, str(within), self.cost)
        return other

    def within_part(self, name: str) -> Charge:
        """Return the line as it stands in the ledger from which the allocation of this name was taken."""
        return self._like(self.what, self.on, f"{name} / {self.within}" if self.within else name)

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
        line = cls(fields["what"], fields["on"], law, unit=fields["unit"], within=fields.get("within", ""))
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


def charges(entries: Sequence[tuple[str, str, Law, str]], unit: Unit) -> list[Charge]:
    """Return lines made of step, object, law and allocation; a law that entries share is checked and copied once."""
    first: dict[int, Charge] = {}
    lines = []
    for what, on, law, within in entries:
        known = first.get(id(law))
        line = Charge(what, on, law, unit=unit, within=within) if known is None else known._like(what, on, within)
        first.setdefault(id(law), line)
        lines.append(line)
    return lines
