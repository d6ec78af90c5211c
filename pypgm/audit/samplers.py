"""Checks of the core's samplers: word by word, coin by coin, branch by branch, and by many draws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from pypgm import _core
from pypgm.audit.finding import Finding, finding
from pypgm.audit.laws import NOISES, Noise
from pypgm.privacy import sampler as shipped

Sampler = Callable[[Noise, Fraction, int], NDArray[np.int64]]
Found = Iterator[tuple[str, str]]

ALPHA = 1e-9
"""Chance that a sound sampler fails one statistical test."""

SCALES = tuple(
    map(Fraction, ["3/10", "1/2", "7/10", "1", "2", "27/10", "5", "10", "100", "1234567/12345", "1000", "10000"])
)
"""Scales of the statistical tests: 24 samplers with two laws."""

_WORD = 1 << 64
_DIGITS = Context(prec=60)
_DEPTH = 40  # coins followed
_ODDS = tuple(map(Fraction, ("0", "1/2", "1/3", "2/7", "999999/1000003", f"5/{2**40}")))


def adder(law: Noise, parameter: Fraction) -> shipped.Adder:
    """Return a function that adds the shipped sampler's draws to counts; parameter: scale or variance."""
    add: shipped.Adder = getattr(shipped.Sampler(), law.short)(parameter)
    return add


def draw(law: Noise, scale: Fraction, n: int) -> NDArray[np.int64]:
    """Return n draws of the shipped sampler; the scale of a Gaussian is its sigma."""
    zeros = np.zeros(n, dtype=np.int64)
    return np.asarray(adder(law, scale**law.power)(zeros))


def check_coins(
    coin: Callable[..., Any] = _core.scripted_coin, below: Callable[..., Any] = _core.scripted_below
) -> Finding:
    """Compare coins and uniform integers from scripted words with the exact partition of the 2^64 words."""
    defects = [*itertools.chain.from_iterable(_digits(coin, p, k) for p in _ODDS for k in (1, 2, 3, 129, 1000))]
    defects += itertools.chain.from_iterable(_shares(below, n) for n in (1, 2, 3, 7, 10, 1000))
    return finding("coins from words", "coin, uniform integer", defects, "three words deep, at each word that decides")


def _digits(coin: Callable[..., Any], p: Fraction, k: int) -> Found:
    """Check a coin on the digits of p / k in base 2^64: true below a digit, false above, undecided on it."""
    rest = p / k
    prefix: list[int] = []
    for _ in range(3):
        rest *= _WORD
        digit = math.floor(rest)
        rest -= digit
        tried = {0, digit - 1, digit, digit + 1, digit // 2, (digit + _WORD) // 2, _WORD - 1}
        for word in sorted(w for w in tried if 0 <= w < _WORD):
            wanted = True if word < digit else False if word > digit or rest == 0 else None
            if _decided(coin, [*prefix, word], p, k) != wanted:
                yield "wrong law", f"a coin of {p}/{k} after {len(prefix)} words errs at word {word}"
        prefix.append(digit)
        if rest == 0:
            return


def _decided(coin: Callable[..., Any], words: list[int], p: Fraction, k: int) -> bool | None:
    try:
        return bool(coin(np.array(words, dtype=np.uint64), p.numerator, p.denominator, k)[0])
    except IndexError:
        return None


def _shares(below: Callable[..., Any], n: int) -> Found:
    """Count the words that give each of n outcomes: 2^64 // n for all of them."""
    for outcome in range(n):
        first, last = -(-outcome * _WORD // n), -(-(outcome + 1) * _WORD // n) - 1
        inner = [(first + last) // 2, last]
        share = last - first + 1
        try:
            inner = [first, *inner] if below(np.array([first], dtype=np.uint64), n)[0] == outcome else [-1]
        except IndexError:  # the word is rejected
            share -= 1
        if share != _WORD // n or any(w < 0 or below(np.array([w], dtype=np.uint64), n)[0] != outcome for w in inner):
            yield "wrong law", f"outcome {outcome} of {n} has {share} words"


def check_exponential_coins(coin_exp: Callable[..., Any] = _core.scripted_coin_exp) -> Finding:
    """Sum the exact probabilities of all branches of exp(-p) down to 40 coins, in rationals."""
    defects, widest = [], Fraction(0)
    for p in (Fraction(0), Fraction(1, 3), Fraction(1), Fraction(99, 100), Fraction(7, 3), Fraction(1, 10**9)):
        lower, missing = _bracket(coin_exp, p)
        true = _exp(-p)
        widest = max(widest, missing)
        if not lower - Fraction(1, 10**50) <= true <= lower + missing + Fraction(1, 10**50):
            defects.append(("wrong law", f"exp(-{p}) is {float(true):.9f}, the coin has {float(lower):.9f}"))
    return finding("exponential coins", "exp(-p) for 6 p", defects, f"depth {_DEPTH}, open mass {float(widest):.1e}")


def _bracket(coin_exp: Callable[..., Any], p: Fraction) -> tuple[Fraction, Fraction]:
    """Return the probability of the branches that end true, and of the branches left open."""
    lower, missing = Fraction(0), Fraction(0)
    stack: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    while stack:
        outcomes, mass = stack.pop()
        result, odds = coin_exp(np.array(outcomes, dtype=np.uint8), p.numerator, p.denominator)
        if result is None and len(outcomes) < _DEPTH and mass > Fraction(1, 2**120):
            chance = Fraction(*odds[-1])
            stack += [((*outcomes, 1), mass * chance), ((*outcomes, 0), mass * (1 - chance))]
        elif result is None:
            missing += mass
        elif result:
            lower += mass
    return lower, missing


def _exp(exponent: Fraction) -> Fraction:
    ratio = _DIGITS.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
    return Fraction(_DIGITS.exp(ratio))


def enumerate_law(law: Noise, parameter: Fraction, least: float) -> Mapping[int, float]:
    """Return lower bounds on the shipped sampler's probabilities from its branches; parameter: scale or variance."""
    follow = getattr(_core, f"enumerate_{law.short}")
    law_of_results: Mapping[int, float] = follow(parameter.numerator, parameter.denominator, least)
    return law_of_results


def check_branches(enumerate_: Callable[[Noise, Fraction, float], Mapping[int, float]] = enumerate_law) -> Finding:
    """Enumerate the branches of the samplers: the mass of each result must bracket its exact probability."""
    defects: list[tuple[str, str]] = []
    opens = []
    for law, (parameter, least) in [(noise, case) for noise in NOISES for case in noise.enumerated]:
        masses = enumerate_(law, parameter, least)
        exact = dict(zip(*(part.tolist() for part in law.pmf(float(law.scale(parameter)), 400)), strict=True))
        opens.append(1 - sum(masses.values()))
        defects.extend(_outside(f"{law.short} {parameter}", masses, exact, opens[-1]))
    scores = np.array([5, 0, -3, 7, 7], dtype=np.int64)
    masses = _core.enumerate_selection(scores, 3, 10, 1e-7)
    weights = np.exp(0.3 * (scores - 7))
    opens.append(1 - sum(masses.values()))
    defects.extend(_outside("selection", masses, dict(enumerate((weights / weights.sum()).tolist())), opens[-1]))
    figures = f"{len(opens)} laws, open mass {min(opens):.1e} to {max(opens):.1e}"
    subject = ", ".join([*(noise.short for noise in NOISES), "selection"])
    return finding("branches of the samplers", subject, defects, figures)


def _outside(subject: str, masses: Mapping[int, float], exact: Mapping[int, float], missing: float) -> Found:
    for value, mass in masses.items():
        true = exact.get(value, 0.0)
        if not mass - 1e-12 <= true <= mass + missing + 1e-12:
            yield "wrong law", f"{subject}: {value} has {mass:.9f} to {mass + missing:.9f}, its law {true:.9f}"
        if subject != "selection" and abs(masses.get(-value, 0.0) - mass) > 1e-12:
            yield "wrong law", f"{subject}: {value} and {-value} are not equally likely"


def check_chi_square(law: Noise, scale: Fraction, n: int = 1_000_000, sampler: Sampler = draw) -> Finding:
    """Compare the frequencies of n draws with the exact law at level 1e-9 (finds a scale off by 0.8 % at n = 1e6)."""
    edges, chances = _cells(law, float(scale))
    observed = np.zeros(chances.size)
    for first in range(0, n, 1_000_000):
        drawn = sampler(law, scale, min(1_000_000, n - first))
        observed += np.bincount(np.searchsorted(edges, drawn, side="right"), minlength=chances.size)
    p = p_value(observed, chances * n)
    defects = [("wrong law", f"chi-square p = {p:.1e} over {n} draws")] if p < ALPHA else []
    return finding("chi-square", f"{law.short}, scale {float(scale):g}", defects, f"p = {p:.3f}, n = {n:.0e}")


def _cells(law: Noise, scale: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the edges of about sixty cells and the exact probability of each."""
    spread = scale * math.sqrt(2 / law.power)
    z, chances = law.pmf(scale, int(40 * scale) + 40)
    step = max(1, int(spread / 8))
    edges = np.arange(-int(4 * spread) // step * step, int(4 * spread) + step + 1, step)
    mass = np.bincount(np.searchsorted(edges, z, side="right"), weights=chances, minlength=edges.size + 1)
    return edges, mass.astype(np.float64)


def p_value(observed: NDArray[np.float64], expected: NDArray[np.float64]) -> float:
    """Return the chi-square p-value, with cells of expectation below 10 joined."""
    keep = expected >= 10
    expected = np.append(expected[keep], expected[~keep].sum())
    observed = np.append(observed[keep], observed[~keep].sum())
    if expected[-1] < 10:  # still too rare for the statistic: joined with the rarest other cell
        rarest = int(expected[:-1].argmin())
        expected[rarest] += expected[-1]
        observed[rarest] += observed[-1]
        expected, observed = expected[:-1], observed[:-1]
    return float(stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), expected.size - 1))
