"""Numbers on their way into samplers and charges: rounded to the safe side, and hardly; counts as integers alone."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from pypgm import _core
from pypgm.audit.finding import Finding, finding
from pypgm.audit.laws import SAMPLERS
from pypgm.privacy.access import selection_epsilon
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.noise import drawable_rate, drawable_scale, drawable_variance
from pypgm.privacy.rational import as_fraction, isqrt_down, round_down, round_up, significant_down

__all__ = ["check_integer_noise", "check_roundings"]

Found = Iterator[tuple[str, str]]

_MAX_ERROR = Fraction(1, 1 << 20)


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
    defects: list[tuple[str, str]] = []
    numbers = _numbers()
    for value in numbers:
        up = {"variance": drawable_variance(value), "scale": drawable_scale(value), "round_up": round_up(value, 48)}
        down = {"rate": drawable_rate(value), "round_down": round_down(value, 48), "bits": significant_down(value, 44)}
        root = isqrt_down(value, 32)
        down["root"] = root**2
        for (name, rounded), least, most in (
            *((item, value, value * (1 + _MAX_ERROR)) for item in up.items()),
            *((item, value * (1 - _MAX_ERROR), value) for item in down.items()),
        ):
            if not least <= rounded <= most:
                defects.append(("rounding", f"{name} of {value} becomes {float(rounded):.17g}"))
        defects.extend(_costs(value))
    written = {0.1: "1/10", 1e-9: "1/1000000000", 0.3: "3/10", Decimal("0.70"): "7/10", np.float64(2.5): "5/2"}
    for number, text in written.items():
        if as_fraction("a number", number) != Fraction(text):
            defects.append(("rounding", f"{number!r} is read as {as_fraction('a number', number)}"))
    return finding("roundings", "rationals", defects, f"{len(numbers)} rationals, each to its safe side")


def _costs(value: Fraction) -> Found:
    """Demand that selections of the epsilon made from a rho cost that rho together, or hardly less."""
    for has_range, count in itertools.product((True, False), (1, 3)):
        divisor = 8 if has_range else 2
        of_rho, pure = Ledger(Budget(rho=value)), Ledger(Budget(epsilon=value))
        spent = count * selection_epsilon(of_rho, value, None, count, has_range=has_range) ** 2 / divisor
        if not value * (1 - _MAX_ERROR) <= spent <= value:
            yield "rounding", f"{count} selections of rho {value} cost {float(spent):.17g}"
        if count * selection_epsilon(pure, None, value, count, has_range=has_range) != value:
            yield "rounding", f"{count} selections of epsilon {value} do not cost that"


def check_integer_noise(core: Any = _core) -> Finding:
    """Demand that every function of the core that makes noise takes and gives int64 alone."""
    defects = []
    words = r"noise|laplace|gaussian|normal|gumbel|geometric|exponential|select|permute"
    makers = [n for n in dir(core) if re.search(words, n) and not n.startswith(("enumerate_", "scripted_"))]
    for name in makers:
        for numbers in (np.zeros(3), np.zeros(3, dtype=np.float32), np.zeros(3, dtype=np.int32)):
            try:
                getattr(core, name)(numbers, 1, 1)
            except TypeError:
                continue
            defects.append(("floats released", f"{name} takes {numbers.dtype}"))
    defects += [("floats released", f"{name} is gone") for name in SAMPLERS if name not in makers]
    return finding("integer noise", ", ".join(makers), defects, "int64 in, int64 out, nothing else")
