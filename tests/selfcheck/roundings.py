"""Rounding of amplified epsilons and thresholds, to the safe side and hardly beyond it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction

from pypgm.audit.finding import Finding, finding
from pypgm.audit.laws import DIGITS, GAUSSIAN, LAPLACE
from pypgm.privacy.laws import amplified_epsilon
from pypgm.privacy.noise import gaussian_threshold, laplace_threshold

Found = Iterator[tuple[str, str]]

_TOLERANCE = Fraction(1, 1 << 20)


def check_amplification() -> Finding:
    """Check that a sample's epsilon is at least log(1 + rate (exp(epsilon) - 1)) to 120 digits, and hardly more."""
    rates = [*map(Fraction, ["1/2", "1/100", "999/1009", "1001/1000000007"]), Fraction(2**40 + 1, 2**47)]
    epsilons = [*map(Fraction, ["1/1000000", "1/3", "1", "17/4", "30", "1000"])]
    defects: list[tuple[str, str]] = []
    for rate, epsilon in itertools.product(rates, epsilons):
        r, e = (DIGITS.divide(Decimal(x.numerator), Decimal(x.denominator)) for x in (rate, epsilon))
        inside = DIGITS.add(Decimal(1), DIGITS.multiply(r, DIGITS.subtract(DIGITS.exp(e), Decimal(1))))
        true = Fraction(DIGITS.ln(inside))
        stated = amplified_epsilon(rate, epsilon)
        if not true <= stated <= true * (1 + _TOLERANCE):
            defects.append(
                ("accounting", f"rate {rate}, epsilon {epsilon}: {float(stated):.17g}, {float(true):.17g} true")
            )
        if amplified_epsilon(Fraction(1), epsilon) != epsilon:
            defects.append(("accounting", f"a sample of all records at epsilon {epsilon} is amplified"))
    figures = f"{len(rates) * len(epsilons)} points, never below"
    return finding("amplification", "Poisson samples", defects, figures)


def check_tails(
    laplace: Callable[..., int] = laplace_threshold, gaussian: Callable[..., int] = gaussian_threshold
) -> Finding:
    """Check that noise of odd parameters reaches thresholds with at most the given probability, and none far higher."""
    defects: list[tuple[str, str]] = []
    scales = [Fraction(1, 9), Fraction(2, 3), Fraction(1), Fraction(1009, 97), Fraction(2000003, 1999)]
    chances = [Fraction(1, 10), Fraction(1, 10**5), Fraction(7, 10**10), Fraction(1, 10**20)]
    for scale, chance in itertools.product(scales, chances):
        least = laplace(scale, chance), gaussian(scale**2, chance)
        tails = LAPLACE.tail(scale, least[0]), GAUSSIAN.tail(scale**2, least[1])
        for law, at, tail in zip(("Laplace", "Gaussian"), least, tails, strict=True):
            if at < 1 or tail > float(chance) * (1 + 1e-9):
                defects.append(
                    ("accounting", f"{law} noise of {scale} reaches {at} with {tail:.3e}, not {float(chance):g}")
                )
            if law == "Laplace" and at > 1 and LAPLACE.tail(scale, at - 1) <= float(chance) * (1 - 1e-9):
                defects.append(("accounting", f"Laplace noise of {scale}: {at} is not the least for {float(chance):g}"))
            if at > 2 + 2 * float(scale) * max(math.log(1 / chance), math.sqrt(2 * math.log(1 / chance))):
                defects.append(("accounting", f"{law} noise of {scale}: {at} is far beyond {float(chance):g}"))
    return finding("tails", "thresholds", defects, f"{2 * len(scales) * len(chances)} tails, summed or in closed form")
