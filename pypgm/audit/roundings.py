"""Numbers on their way into samplers and charges: each is rounded to the safe side, and hardly at all."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import numpy as np

from pypgm.audit.finding import Finding, finding
from pypgm.audit.laws import DIGITS, gaussian_tail, laplace_tail
from pypgm.privacy.noise import drawable_scale, drawable_variance
from pypgm.privacy.rational import as_fraction, isqrt_down, round_down, round_up, significant_down
from pypgm.privacy.selection import drawable_rate, selection_epsilon
from pypgm.privacy.subsampling import amplified_epsilon
from pypgm.privacy.thresholds import gaussian_threshold, laplace_threshold

__all__ = ["check_amplification", "check_roundings", "check_tails"]

Found = Iterator[tuple[str, str]]

_CLOSE = Fraction(1, 1 << 20)


def _numbers() -> list[Fraction]:
    """Return rationals of many sizes, with few bits and with more than any sampler takes."""
    rng = np.random.default_rng(3)
    plain = [Fraction(n, d) for n, d in itertools.product((1, 2, 3, 7, 1000), (1, 2, 3, 999, 1001, 1024))]
    odd = []
    for bits in (20, 40, 61, 63, 80, 130):
        for shift in (-12, -3, 0, 5, 20):
            n, d = (int.from_bytes(rng.bytes(bits // 8 + 1), "big") | 1 for _ in range(2))
            odd.append(Fraction(n, d) * Fraction(2) ** shift)
    return plain + odd


def check_roundings() -> Finding:
    """Demand noise parameters rounded up, rates and roots down, numbers as they are written: exactly, in rationals."""
    found: list[tuple[str, str]] = []
    numbers = _numbers()
    for value in numbers:
        up = {"variance": drawable_variance(value), "scale": drawable_scale(value), "round_up": round_up(value, 48)}
        down = {"rate": drawable_rate(value), "round_down": round_down(value, 48), "bits": significant_down(value, 44)}
        root = isqrt_down(value, 32)
        down["root"] = root**2
        for (name, rounded), least, most in (
            *((item, value, value * (1 + _CLOSE)) for item in up.items()),
            *((item, value * (1 - _CLOSE), value) for item in down.items()),
        ):
            if not least <= rounded <= most:
                found.append(("rounding", f"{name} of {value} becomes {float(rounded):.17g}"))
        found.extend(_costs(value))
    written = {0.1: "1/10", 1e-9: "1/1000000000", 0.3: "3/10", Decimal("0.70"): "7/10", np.float64(2.5): "5/2"}
    for number, text in written.items():
        if as_fraction("a number", number) != Fraction(text):
            found.append(("rounding", f"{number!r} is read as {as_fraction('a number', number)}"))
    return finding("roundings", "rationals", found, f"{len(numbers)} rationals, each to its safe side")


def _costs(value: Fraction) -> Found:
    """Demand that selections of the epsilon made from a rho cost that rho together, or hardly less."""
    for divisor, count in itertools.product((8, 2), (1, 3)):
        spent = count * selection_epsilon(value, None, divisor, count) ** 2 / divisor
        if not value * (1 - _CLOSE) <= spent <= value:
            yield "rounding", f"{count} selections of rho {value} cost {float(spent):.17g}"
        if count * selection_epsilon(None, value, divisor, count) != value:
            yield "rounding", f"{count} selections of epsilon {value} do not cost that"


def check_amplification() -> Finding:
    """Demand the epsilon of a sample no less than log(1 + rate (exp(epsilon) - 1)) to 120 digits, and hardly more."""
    rates = [
        Fraction(1, 2),
        Fraction(1, 100),
        Fraction(999, 1009),
        Fraction(1001, 10**9 + 7),
        Fraction(2**40 + 1, 2**47),
    ]
    epsilons = [Fraction(1, 10**6), Fraction(1, 3), Fraction(1), Fraction(17, 4), Fraction(30), Fraction(1000)]
    found: list[tuple[str, str]] = []
    for rate, epsilon in itertools.product(rates, epsilons):
        r, e = (DIGITS.divide(Decimal(x.numerator), Decimal(x.denominator)) for x in (rate, epsilon))
        inside = DIGITS.add(Decimal(1), DIGITS.multiply(r, DIGITS.subtract(DIGITS.exp(e), Decimal(1))))
        true = Fraction(DIGITS.ln(inside))
        stated = amplified_epsilon(rate, epsilon)
        if not true <= stated <= true * (1 + _CLOSE):
            found.append(
                ("accounting", f"rate {rate}, epsilon {epsilon}: {float(stated):.17g}, {float(true):.17g} true")
            )
        if amplified_epsilon(Fraction(1), epsilon) != epsilon:
            found.append(("accounting", f"a sample of all records at epsilon {epsilon} is amplified"))
    figures = f"{len(rates) * len(epsilons)} points, never below"
    return finding("amplification", "Poisson samples", found, figures)


def check_tails() -> Finding:
    """Demand thresholds that noise reaches with at most the given probability, and none much higher: odd parameters."""
    found: list[tuple[str, str]] = []
    scales = [Fraction(1, 9), Fraction(2, 3), Fraction(1), Fraction(1009, 97), Fraction(2000003, 1999)]
    chances = [Fraction(1, 10), Fraction(1, 10**5), Fraction(7, 10**10), Fraction(1, 10**20)]
    for scale, chance in itertools.product(scales, chances):
        least = laplace_threshold(scale, chance), gaussian_threshold(scale**2, chance)
        tails = laplace_tail(scale, least[0]), gaussian_tail(scale**2, least[1])
        for law, at, tail in zip(("Laplace", "Gaussian"), least, tails, strict=True):
            if at < 1 or tail > float(chance) * (1 + 1e-9):
                found.append(
                    ("accounting", f"{law} noise of {scale} reaches {at} with {tail:.3e}, not {float(chance):g}")
                )
            if at > 2 + 2 * float(scale) * max(math.log(1 / chance), math.sqrt(2 * math.log(1 / chance))):
                found.append(("accounting", f"{law} noise of {scale}: {at} is far beyond {float(chance):g}"))
    return finding("tails", "thresholds", found, f"{2 * len(scales) * len(chances)} tails, summed or in closed form")
