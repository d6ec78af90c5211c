"""One line of a ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

__all__ = ["Charge", "NoiseLaw"]

NoiseLaw = Literal[
    "discrete Gaussian", "discrete Laplace", "exponential mechanism", "permute-and-flip", "Poisson sample"
]


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
    delta : Fraction
        Probability that the step fails to protect; 0 for most.
    within : str
        The allocation it was charged to, "outer / inner"; empty for the ledger itself.
    """

    what: str
    on: str
    cost: Fraction
    noise: NoiseLaw
    parameters: Mapping[str, Fraction] = field(default_factory=dict)
    delta: Fraction = Fraction(0)
    within: str = ""

    def __post_init__(self) -> None:
        if self.cost < 0 or self.delta < 0:
            raise ValueError(f"a charge is at least 0, got {min(self.cost, self.delta)}")

    def to_dict(self) -> dict[str, Any]:
        """Return what `from_dict` takes: text only, rationals as "a/b"."""
        return {
            "what": self.what,
            "on": self.on,
            "cost": str(self.cost),
            "noise": self.noise,
            "parameters": {name: str(value) for name, value in self.parameters.items()},
            **({"delta": str(self.delta)} if self.delta else {}),
            **({"within": self.within} if self.within else {}),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Charge:
        """Return the charge that `to_dict` described; a missing entry is a ``KeyError``."""
        parameters = {str(name): Fraction(value) for name, value in stored["parameters"].items()}
        rest = (Fraction(stored.get("delta", 0)), str(stored.get("within", "")))
        return cls(stored["what"], stored["on"], Fraction(stored["cost"]), stored["noise"], parameters, *rest)
