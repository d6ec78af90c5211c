"""Gaps between the numbers of a column: codes for no answer at the ends, and numbers between which there are none."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

LISTED = 60
"""Different values of a column that are listed, at most."""

_CODE = re.compile(r"9+|8+|7+|9*9[678]")  # digits that surveys have for no answer
_LIMITS = {2**31, 2**31 - 1, 2**63, 2**15, 2**15 - 1}  # of integer types, for a missing value, without a sign
_EXPECTED = 10  # records that would be in a gap if there could be any
_REPEATED = 5  # records of a listed number, on average
_SURELY = 3  # records of a number beside a gap that is not left by chance
_NEARLY_ALL = 0.8  # gaps of a column of codes
_MAX_CODES = 9  # at one end
_MAX_EXACT = 2.0**52  # below it a double holds every number
_OTHERS = 10  # different numbers that are not negative, beside which -1 means something else


def missing_codes(counts: Mapping[float, int]) -> list[float]:
    """Return the numbers at both ends that stand for no answer, by their digits and the gap before the others.

    Parameters
    ----------
    counts : mapping of float to int
        Number of records of each number.

    Examples
    --------
    >>> missing_codes({**dict.fromkeys(range(1, 17), 50), 98: 9, 99: 12})
    [98, 99]
    >>> missing_codes({**dict.fromkeys(range(90), 40), -1: 5, 998: 3, 999: 4})
    [-1, 998, 999]
    >>> missing_codes(dict.fromkeys(range(100), 9))
    []
    """
    numbers = sorted(counts)
    high = _run_above(numbers, counts)
    rest = numbers[: len(numbers) - len(high)]
    mirrored = [-number for number in reversed(rest)]
    low = _run_below(mirrored)
    return sorted([*(-number for number in low), *high])


def _run_above(numbers: Sequence[float], counts: Mapping[float, int]) -> list[float]:
    """Return the longest run of codes at the upper end that a gap divides from the other numbers."""
    for length in range(min(_MAX_CODES, len(numbers) - 2), 0, -1):
        rest, run = numbers[:-length], list(numbers[-length:])
        if all(map(_is_code, run)) and _has_nines(run) and _is_gap(rest, run[0], counts):
            return run
    return []


def _run_below(numbers: Sequence[float]) -> list[float]:
    """Return the run of codes at the lower end, of numbers with their signs changed."""
    for length in range(min(_MAX_CODES, len(numbers) - 2), 0, -1):
        rest, run = numbers[:-length], list(numbers[-length:])
        if not all(_is_code(number) or 1 <= number <= 9 for number in run):
            continue
        if run[0] - rest[-1] > max(1, rest[-1] - rest[0]) and run[0] > 0:
            return run
        is_scale = run == [*range(1, length + 1)] and length > 1  # -2, -1, 0, 1, 2
        if rest[-1] <= 0 < run[0] and len(rest) >= _OTHERS and not is_scale:
            return run
    return []


def _is_code(number: float) -> bool:
    return float(number).is_integer() and (int(number) in _LIMITS or bool(_CODE.fullmatch(str(int(number)))))


def _has_nines(run: Sequence[float]) -> bool:
    """Return whether sevens stand beside other codes: alone they are a number like any other."""
    return any(set(str(int(number))) != {"7"} for number in run)


def _is_gap(numbers: Sequence[float], code: float, counts: Mapping[float, int]) -> bool:
    """Return whether there would be records between numbers and the code above them if it were one of them.

    The numbers of records per whole number are continued beyond the last ones as they rise or fall there.
    """
    span, gap = numbers[-1] - numbers[0], code - numbers[-1]
    if gap > max(1, span):
        return True
    n_last = max(1, len(numbers) // 8)
    last, before = numbers[-n_last:], numbers[-2 * n_last : -n_last]
    if gap <= 1 or not before:
        return False
    density = sum(counts[n] for n in last) / (last[-1] - before[-1])
    earlier = sum(counts[n] for n in before) / max(1, last[0] - before[0])
    ratio = min(1.0, (density / earlier) ** (1 / (last[-1] - before[-1])))
    expected = density * float(np.power(ratio, np.arange(1, min(gap, 1000))).sum())
    return expected >= _EXPECTED


def _gaps(counts: Mapping[float, int], unit: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whether numbers lie between neighbours, and whether records would have them if they were possible."""
    numbers = np.array(sorted(counts))
    records = np.array([counts[number] for number in numbers.tolist()])
    fewest = np.minimum(records[1:], records[:-1])
    with np.errstate(over="ignore"):  # of numbers near the largest ones
        between = np.round(np.diff(numbers) / unit) - 1
        return between > 0, (between * fewest >= _EXPECTED) & (fewest >= _SURELY)


def is_list(counts: Mapping[float, int], unit: float) -> bool:
    """Return whether a column has a few numbers that repeat, and none between them.

    Parameters
    ----------
    counts : mapping of float to int
        Number of records of each number.
    unit : float
        Least distance of two numbers of so many decimals.

    Examples
    --------
    >>> is_list({0.0: 900, 6.55: 80, 12.75: 20}, 0.01), is_list(dict.fromkeys(range(20, 65), 30), 1)
    (True, False)
    """
    if len(counts) == 1:
        return not float(min(counts)).is_integer()  # of a whole number bounds say the same
    if not is_short(counts):
        return False
    low, high = min(counts), max(counts)
    return bool(_gaps(counts, unit)[1].any()) or (high - low) / unit >= 2 * LISTED


def is_short(counts: Mapping[float, int]) -> bool:
    """Return whether there are a few numbers, and these repeat.

    Examples
    --------
    >>> is_short({1: 20, 2: 30}), is_short({1: 2, 2: 3}), is_short(dict.fromkeys(range(99), 30))
    (True, False, False)
    """
    return 1 < len(counts) <= LISTED and sum(counts.values()) >= _REPEATED * len(counts)


def step_of(counts: Mapping[float, int], unit: float) -> float:
    """Return the largest step, in units, of which all numbers are multiples from the least one on.

    Examples
    --------
    >>> step_of({1000: 3, 1050: 1, 1225: 2}, 1), step_of({0.0: 1, 0.125: 1, 0.5: 1}, 0.001)
    (25, 0.125)
    """
    places = np.round((np.array(sorted(counts)) - min(counts)) / unit)
    is_exact = len(places) > 1 and places[-1] < _MAX_EXACT
    return unit * (int(np.gcd.reduce(places.astype(np.int64))) if is_exact else 1)


def is_sparse(counts: Mapping[float, int], unit: float) -> bool:
    """Return whether there are gaps between nearly all numbers, where others would be expected if they could be any.

    Examples
    --------
    >>> is_sparse(dict.fromkeys([code**2 for code in range(90)], 15), 1), is_sparse(dict.fromkeys(range(500), 15), 1)
    (True, False)
    """
    is_gap, is_empty = _gaps(counts, unit)
    return bool(is_gap.size and is_gap.mean() >= _NEARLY_ALL and is_empty.sum() >= _NEARLY_ALL * is_gap.sum())
