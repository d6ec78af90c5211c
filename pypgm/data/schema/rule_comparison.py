"""Rules that compare two columns, such as ``start <= end``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pypgm._base.memory import check_fits
from pypgm.data.columns.bins import Binned
from pypgm.data.columns.column import Column
from pypgm.data.columns.listed_numbers import ListedNumbers, line_of

MOST_CELLS = 1 << 28
"""Combinations of values that a rule may speak of: each has a byte."""


_ORDER = re.compile("<=|>=|<|>")


@dataclass(frozen=True)
class Comparison:
    """Rule that values of one column never exceed the values of another, by the meaning of the columns.

    It forbids two bins none of whose values fit together, and leaves bins that overlap, and nulls, alone.

    Parameters
    ----------
    text : str
        Two columns of numbers, or two of dates, with ``<=``, ``<``, ``>=`` or ``>`` between them.

    Attributes
    ----------
    columns : tuple of str
        Both columns; the one whose values are never larger comes first.
    order : str
        Sign between them.

    Examples
    --------
    >>> from pypgm.data import Integer
    >>> years = Integer(2000, 2003)
    >>> Comparison("start <= end").mask({"start": years, "end": years}).astype(int)
    array([[0, 0, 0, 0],
           [1, 0, 0, 0],
           [1, 1, 0, 0],
           [1, 1, 1, 0]])
    """

    text: str
    columns: tuple[str, str] = field(init=False)
    order: str = field(init=False)

    def __post_init__(self) -> None:
        plain = self.text.strip() if isinstance(self.text, str) else ""
        match = _ORDER.search(plain, 1)
        low, high = (plain[: match.start()].rstrip(), plain[match.end() :].lstrip()) if match else ("", "")
        if match is None or not high or low == high:
            needed = "two different columns with <=, <, >= or > between them, such as 'start <= end'"
            raise ValueError(f"a comparison needs {needed}, got {self.text!r}")
        object.__setattr__(self, "columns", (low, high) if "<" in match[0] else (high, low))
        object.__setattr__(self, "order", match[0])

    @property
    def is_strict(self) -> bool:
        """True if the two may not be equal."""
        return "=" not in self.order

    def mask(self, columns: Mapping[str, Column]) -> NDArray[np.bool_]:
        """Return whether each pair of bins holds no two values in the order of the rule.

        Pairs are in the order of `columns`.

        Raises
        ------
        ValueError
            If a column is unknown, they are of unlike kinds, or no pair is left.
        """
        low, high = self._lines(columns)
        least, most = low.ends()[0] / (low.per_unit or 1), high.ends()[1] / (high.per_unit or 1)
        return self._forbidden(low, high, least, most, np.full(most.size, self.is_strict))

    def refused(self, columns: Mapping[str, Column]) -> NDArray[np.bool_]:
        """Return whether each pair of codes breaks the rule, whatever the values within the bins.

        They are less than those of `mask`: values that were clipped may have been in order.
        """
        low, high = self._lines(columns)
        (_, _, first), (_, highest, starts) = low.bounds_and_starts(), high.bounds_and_starts()
        is_list = isinstance(high, ListedNumbers)
        least = first.copy()
        most = starts.copy() if is_list else np.append(starts[1:] - int(high.is_whole), highest)
        if low.outside == "clip":
            least[0] = -np.inf
        if high.outside == "clip":
            most[-1] = np.inf
        is_strict = np.full(most.size, self.is_strict)
        is_strict[:-1] |= not (high.is_whole or is_list)  # whose bins but the last do not hold their end
        return self._forbidden(low, high, least, most, is_strict)

    def _forbidden(
        self,
        low: Binned,
        high: Binned,
        least: NDArray[np.float64],
        most: NDArray[np.float64],
        is_strict: NDArray[np.bool_],
    ) -> NDArray[np.bool_]:
        beyond = (least[:, None] > most) | ((least[:, None] == most) & is_strict)
        if beyond.all():
            raise ValueError(f"the rule {self.text!r} leaves no record possible")
        mask = np.zeros((low.size, high.size), dtype=bool)
        mask[: low.n_values, : high.n_values] = beyond
        return mask

    def _lines(self, columns: Mapping[str, Column]) -> tuple[Binned, Binned]:
        low, high = (_line(columns, name, self.text) for name in self.columns)
        if low.scale != high.scale:
            kinds = f"{self.columns[0]!r} is {low.scale_words}, {self.columns[1]!r} is {high.scale_words}"
            needed = "two columns of numbers, or two of dates, both with hours or both without"
            raise ValueError(f"the rule {self.text!r} needs {needed}: {kinds}")
        message = f"the rule {self.text!r} needs {low.size * high.size:.3g} pairs of bins"
        check_fits(low.size * high.size, MOST_CELLS, message, "make bins wider")
        return low, high

    def to_dict(self) -> str:
        """Return the entry of the rule in a schema file."""
        return self.text


def check_together(rules: Iterable[object]) -> None:
    """Raise ``ValueError`` if no values satisfy two comparisons, even where their bins do.

    Examples
    --------
    >>> check_together([Comparison("start <= end"), Comparison("start > end")])
    Traceback (most recent call last):
    ValueError: the rules 'start <= end' and 'start > end' on columns 'start', 'end' contradict each other
    """
    comparisons = [rule for rule in rules if isinstance(rule, Comparison)]
    strictest: dict[tuple[str, str], Comparison] = {}
    for rule in comparisons:
        known = strictest.setdefault(rule.columns, rule)
        strictest[rule.columns] = rule if rule.is_strict and not known.is_strict else known
    for other in comparisons:
        one = strictest.get(other.columns[::-1])
        if one is not None and (one.is_strict or other.is_strict):
            first, second = sorted((one, other), key=comparisons.index)
            named = ", ".join(map(repr, first.columns))
            raise ValueError(f"the rules {first.text!r} and {second.text!r} on columns {named} contradict each other")


def _line(columns: Mapping[str, Column], name: str, text: str) -> Binned:
    line = line_of(columns.get(name))
    if line is not None:
        return line
    needed = "a declared column of numbers or dates in known bins, not in bins of quantiles"
    raise ValueError(f"the rule {text!r} names {name!r}, and must name {needed}")
