"""One line of a ledger: what was drawn from which law, and what that costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal, get_args

from pypgm.privacy.budget import Unit, check_new
from pypgm.privacy.rational import Number, as_fraction
from pypgm.privacy.subsampling import amplified_epsilon
from pypgm.privacy.thresholds import gaussian_threshold, laplace_threshold

__all__ = ["Charge", "NoiseLaw", "cost_of"]

NoiseLaw = Literal[
    "discrete Gaussian", "discrete Laplace", "exponential mechanism", "permute-and-flip", "Poisson sample", "stated"
]

_SELECTION = frozenset({"epsilon", "score_range"})
_PARAMETERS: dict[str, frozenset[str]] = {
    "discrete Gaussian": frozenset({"variance", "squared_sensitivity"}),
    "discrete Laplace": frozenset({"scale", "sensitivity"}),
    "exponential mechanism": _SELECTION,
    "permute-and-flip": _SELECTION,
    "Poisson sample": frozenset({"rate", "inner_epsilon", "epsilon"}),
    "stated": frozenset({"rho"}),
}
_THRESHOLD = frozenset({"threshold", "records_per_person"})
_REPEATED = frozenset({"draws", "composed"})
_OF_NOISE = (frozenset({"largest_change"}), _THRESHOLD | {"largest_change"})  # what noise may have besides
_ADDED = {"discrete Gaussian", "discrete Laplace"}
_MAY_BE_ZERO = {"squared_sensitivity", "sensitivity", "largest_change"}
_INTEGERS = {"squared_sensitivity", "sensitivity", "largest_change", "score_range"} | _THRESHOLD | _REPEATED


@dataclass(frozen=True, slots=True, init=False)
class Charge:
    """One line of a ledger; its cost follows from law and parameters, and is never given.

    Parameters
    ----------
    what : str
        What was done: "measure", "select".
    on : str
        What it was done to: the clique, or the candidates.
    noise : str
        The law that was drawn from; "stated" for a step of one's own, whose cost the ledger cannot check.
    parameters : mapping of str to number
        What the draw used, exactly: ``variance`` and ``squared_sensitivity`` of a "discrete Gaussian", ``scale`` and
        ``sensitivity`` of a "discrete Laplace" (both with ``largest_change`` where it is known, and then with
        ``threshold`` and ``records_per_person`` of a histogram of unknown keys), ``epsilon`` and ``score_range`` of an
        "exponential mechanism" (with ``draws`` and ``composed`` where one line is for many of them, of which a person
        changes no more than `composed` by the full range) or of "permute-and-flip", ``rate``, ``inner_epsilon`` and the
        amplified ``epsilon`` of a "Poisson sample", ``rho`` or ``epsilon`` of what is "stated".
    unit : {"rho", "epsilon"}
        The unit of the ledger's budget.
    delta : number
        Probability that the step fails to protect, in [0, 1): of a threshold, or stated; else 0.
    within : str
        The allocation it was charged to, "outer / inner"; empty for the ledger itself.

    Attributes
    ----------
    cost : Fraction
        What it costs, in the unit.

    Raises
    ------
    ValueError
        If the law is unknown or has other parameters, one is out of its range or not finite, the law has no guarantee
        in the unit, or the law does not keep its delta.
    TypeError
        If a parameter is no number.

    Examples
    --------
    >>> Charge("measure", "(age)", "discrete Gaussian", {"variance": 2, "squared_sensitivity": 1}).cost
    Fraction(1, 4)
    >>> Charge("train", "a model of my own", "stated", {"epsilon": 0.1}, unit="epsilon", delta=1e-9).cost
    Fraction(1, 10)
    """

    what: str
    on: str
    noise: NoiseLaw
    parameters: Mapping[str, Fraction]
    unit: Unit
    delta: Fraction
    within: str
    cost: Fraction = field(init=False)

    def __init__(
        self,
        what: str,
        on: str,
        noise: NoiseLaw,
        parameters: Mapping[str, Number],
        *,
        unit: Unit = "rho",
        delta: Number = 0,
        within: str = "",
    ) -> None:
        check_new(self, "cost")
        if unit not in get_args(Unit):
            raise ValueError(f"a charge is in 'rho' or 'epsilon', got {unit!r}")
        exact, fails = _checked(noise, parameters), as_fraction("delta", delta)
        _check_delta(noise, exact, fails)
        values: dict[str, object] = {
            "what": str(what),
            "on": str(on),
            "within": str(within),
            "noise": noise,
            "unit": unit,
        }
        values |= {"parameters": MappingProxyType(exact), "delta": fails, "cost": cost_of(noise, exact, unit)}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """Return what `from_dict` takes: text only, rationals as "a/b"."""
        return {
            "what": self.what,
            "on": self.on,
            "noise": self.noise,
            "parameters": {name: str(value) for name, value in self.parameters.items()},
            "unit": self.unit,
            "cost": str(self.cost),
            **({"delta": str(self.delta)} if self.delta else {}),
            **({"within": self.within} if self.within else {}),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Charge:
        """Return the charge that `to_dict` described.

        Raises
        ------
        ValueError
            If the stored cost is not the one that law and parameters have.
        KeyError
            If an entry is missing.
        """
        rest = {"unit": stored["unit"], "delta": stored.get("delta", 0), "within": stored.get("within", "")}
        line = cls(stored["what"], stored["on"], stored["noise"], dict(stored["parameters"]), **rest)
        if line.cost != as_fraction("cost", stored["cost"]):
            raise ValueError(f"{line.what} on {line.on} costs {line.cost}, not {stored['cost']} as stored")
        return line

    def __reduce__(self) -> tuple[Callable[..., Charge], tuple[dict[str, Any]]]:
        return (Charge.from_dict, (self.to_dict(),))


def cost_of(noise: str, parameters: Mapping[str, Fraction], unit: Unit) -> Fraction:
    """Return what a draw costs in a unit; ``ValueError`` if it has no guarantee there.

    In rho a discrete Gaussian costs D / (2 variance) with D the squared L2 sensitivity, a pure step of epsilon
    epsilon^2 / 2, an exponential mechanism, whose loss has range epsilon, epsilon^2 / 8; as many as compose cost that
    many times as much.
    """
    if unit == "epsilon" and (noise == "discrete Gaussian" or "rho" in parameters):
        what = "Gaussian noise" if noise == "discrete Gaussian" else "rho"
        raise ValueError(f"{what} has no pure guarantee; a budget with delta > 0 or rho is needed")
    if noise == "discrete Gaussian":
        return parameters["squared_sensitivity"] / (2 * parameters["variance"])
    if "rho" in parameters:
        return parameters["rho"]
    laplace = noise == "discrete Laplace"
    epsilon = parameters["sensitivity"] / parameters["scale"] if laplace else parameters["epsilon"]
    times = parameters.get("composed", Fraction(1))
    return times * (epsilon if unit == "epsilon" else epsilon**2 / (8 if noise == "exponential mechanism" else 2))


def _checked(noise: str, parameters: Mapping[str, Number]) -> dict[str, Fraction]:
    if noise not in _PARAMETERS:
        raise ValueError(f"a charge needs one of the laws {', '.join(_PARAMETERS)}, got {noise!r}")
    exact = {name: as_fraction(name, value) for name, value in parameters.items()}
    needed, more = _PARAMETERS[noise], frozenset(exact) - _PARAMETERS[noise]
    is_claim = noise == "stated" and set(exact) == {"epsilon"}
    may = _OF_NOISE if noise in _ADDED else (_REPEATED,) if noise == "exponential mechanism" else ()
    if not is_claim and (needed - set(exact) or (more and more not in may)):
        raise ValueError(f"a charge of {noise!r} needs the parameters {sorted(needed)}, got {sorted(exact)}")
    for name, value in exact.items():
        if value < 0 or (value == 0 and name not in _MAY_BE_ZERO and noise != "stated"):
            least = "at least 0" if name in _MAY_BE_ZERO or noise == "stated" else "more than 0"
            raise ValueError(f"{name} of a charge must be {least}, got {value}")
        if name in _INTEGERS and value.denominator != 1:
            raise ValueError(f"{name} of a charge must be an integer, got {value}")
    if exact.get("composed", 0) > exact.get("draws", 0):
        raise ValueError(f"{exact['composed']} draws of a charge cannot compose, there are {exact['draws']}")
    if noise == "Poisson sample" and exact["epsilon"] != amplified_epsilon(exact["rate"], exact["inner_epsilon"]):
        raise ValueError("epsilon of a Poisson sample must be that of its rate and inner epsilon, amplified")
    return exact


def _check_delta(noise: str, parameters: Mapping[str, Fraction], delta: Fraction) -> None:
    if not 0 <= delta < 1:
        raise ValueError(f"delta of a charge must lie in [0, 1), got {delta}")
    if "threshold" in parameters:
        if delta == 0:
            raise ValueError("a threshold fails with a probability: its delta must be more than 0")
        # Of k records that one person brings to keys of their own, at most k keys reach it, each with delta / k.
        k = int(parameters["records_per_person"])
        gaussian = noise == "discrete Gaussian"
        parameter = parameters["variance" if gaussian else "scale"]
        needed = (gaussian_threshold if gaussian else laplace_threshold)(parameter, delta / k)
        if parameters["threshold"] < k + needed:
            raise ValueError(f"a threshold of {parameters['threshold']} fails with more than delta {delta}")
    elif delta and noise != "stated":
        raise ValueError(f"{noise} does not fail; a delta is charged with a threshold or a stated step")
