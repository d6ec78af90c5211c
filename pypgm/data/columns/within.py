"""Values drawn within bins so that rules on two columns hold for the values, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.bins import Binned
from pypgm.data.columns.column import Column
from pypgm.data.columns.listed_numbers import line_of
from pypgm.data.schema.rule_comparison import Comparison

_DRAWS = 20  # of all values that a rule compares, before they are drawn one after the other; of one that reads as null

Codes = Mapping[str, "NDArray[Any]"]


def values_within(
    rules: Sequence[object], columns: Mapping[str, Column], codes: Codes, rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Return a value for each code of the columns that have bins; all comparisons hold, wherever bins allow it.

    If a value breaks one, all compared values are drawn again, so that they follow the distribution of those that keep
    it. If that takes long, as in bins that hardly overlap, values are drawn one after the other among those that leave
    the rest possible.

    Examples
    --------
    >>> from pypgm.data import Integer
    >>> columns = {"low": Integer(0, 99, width=100), "high": Integer(0, 99, width=100)}
    >>> codes = {name: np.zeros(5, int) for name in columns}
    >>> values = values_within([Comparison("low < high")], columns, codes, np.random.default_rng(0))
    >>> (values["low"] < values["high"]).all().item()
    True
    """
    drawn = {n: column.drawn(codes[n], rng) for n, column in columns.items() if isinstance(column, Binned)}
    for group in _groups(rules):
        held = _Group(group, columns, codes)
        drawn |= {n: line.drawn(codes[n], rng) for n, line in held.columns.items() if n not in drawn}
        for _ in range(_DRAWS):
            rows = held.broken(drawn)
            if not rows.size:
                break
            for name, column in held.columns.items():
                drawn[name][rows] = column.drawn(codes[name][rows], rng)
        else:
            rows = held.broken(drawn)
            possible, steps = held.one_after_the_other(rows, rng)
            for name, column in held.columns.items():
                drawn[name][rows[possible]] = column.of_steps(steps[name][possible])
    return {n: values for n, values in drawn.items() if isinstance(columns[n], Binned)}


def can_hold(rules: Sequence[object], columns: Mapping[str, Column], codes: Codes) -> NDArray[np.bool_] | None:
    """Return whether the bins of each record hold values that fit together; None if pairs of bins decide it."""
    possible: NDArray[np.bool_] | None = None
    for group in _groups(rules):
        held = _Group(group, columns, codes)
        if len(held.columns) > 2:
            fits = held.fitting(held.bounds(np.arange(held.n_rows)))
            possible = fits if possible is None else possible & fits
    return possible


def _groups(rules: Sequence[object]) -> list[list[Comparison]]:
    """Return comparisons in groups that share columns; the group of the last one comes last."""
    comparisons = [rule for rule in rules if isinstance(rule, Comparison)]
    compared: dict[str, list[str]] = {}
    for rule in comparisons:
        for one, other in (rule.columns, rule.columns[::-1]):
            compared.setdefault(one, []).append(other)
    group: dict[str, str] = {}
    for start in compared:
        waiting = [] if start in group else [start]
        while waiting:
            name = waiting.pop()
            if name not in group:
                group[name] = start
                waiting += compared[name]
    rules_of: dict[str, list[Comparison]] = {}
    for rule in reversed(comparisons):
        rules_of.setdefault(group[rule.columns[0]], []).append(rule)
    return [reversed_rules[::-1] for reversed_rules in reversed(rules_of.values())]


class _Group:
    """Comparisons and their columns; a bound is in steps of its column."""

    def __init__(self, rules: Sequence[Comparison], columns: Mapping[str, Column], codes: Codes) -> None:
        self.rules, self._codes = rules, codes
        names = dict.fromkeys(name for rule in rules for name in rule.columns)
        self.columns = {name: line for name in names if (line := line_of(columns[name])) is not None}
        self.n_rows = len(codes[next(iter(names))])

    def broken(self, drawn: Mapping[str, NDArray[Any]]) -> NDArray[np.intp]:
        """Return the rows whose values break a rule."""
        places = {n: self._places(n, column.steps_of(drawn[n])) for n, column in self.columns.items()}
        rows = np.arange(self.n_rows)
        breaks = np.zeros(self.n_rows, dtype=bool)
        for rule in self.rules:
            low, high = (places[name] for name in rule.columns)
            breaks |= self._applies(rule, rows) & ((low > high) | ((low == high) & rule.is_strict))
        return np.flatnonzero(breaks)

    def bounds(self, rows: NDArray[np.intp]) -> dict[str, list[NDArray[Any]]]:
        """Return the lower and upper bound of each value, given the bins of all columns."""
        bounds = {}
        for name, column in self.columns.items():
            codes = np.minimum(self._codes[name][rows].astype(np.int64), column.n_values - 1)
            bounds[name] = [end[codes] for end in column.ends()]
        return self._narrowed(bounds, rows)

    def fitting(self, bounds: Mapping[str, list[NDArray[Any]]]) -> NDArray[np.bool_]:
        """Return whether each record has values within bounds."""
        fits: NDArray[np.bool_] = np.logical_and.reduce([low <= high for low, high in bounds.values()])
        return fits

    def one_after_the_other(
        self, rows: NDArray[np.intp], rng: np.random.Generator
    ) -> tuple[NDArray[np.bool_], dict[str, NDArray[Any]]]:
        """Return the rows that have values that fit together, and the values, in steps."""
        bounds = self.bounds(rows)
        fits = self.fitting(bounds)
        for name, column in self.columns.items():
            low, high = bounds[name]
            steps = _between(column, low, np.maximum(low, high), rng)
            bounds = self._narrowed(bounds | {name: [steps, np.where(fits, steps, high)]}, rows)
        return fits, {name: low for name, (low, _) in bounds.items()}

    def _narrowed(self, bounds: dict[str, list[NDArray[Any]]], rows: NDArray[np.intp]) -> dict[str, list[NDArray[Any]]]:
        """Return narrowed bounds: any value between those of a column leaves the others possible.

        This holds for inequalities of two columns each, once every path between columns was followed.
        """
        narrowed = {name: [low.copy(), high.copy()] for name, (low, high) in bounds.items()}
        for _ in self.columns:
            is_done = True
            for rule in self.rules:
                first, second = rule.columns
                is_so = self._applies(rule, rows)
                least = self._beyond(second, self._places(first, narrowed[first][0]), rule.is_strict, 1)
                most = self._beyond(first, self._places(second, narrowed[second][1]), rule.is_strict, -1)
                low, high = narrowed[second][0], narrowed[first][1]
                rises, falls = is_so & (low < least), is_so & (high > most)
                np.copyto(low, least, where=rises)
                np.copyto(high, most, where=falls)
                is_done = is_done and not (rises.any() or falls.any())
            if is_done:
                break
        return narrowed

    def _applies(self, rule: Comparison, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return whether both columns of a rule have values, not nulls or others."""
        has = [self._codes[name][rows] < self.columns[name].n_values for name in rule.columns]
        return has[0] & has[1]

    def _places(self, name: str, steps: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(steps / (self.columns[name].per_unit or 1), dtype=np.float64)

    def _beyond(self, name: str, places: NDArray[np.float64], is_strict: bool, sign: int) -> NDArray[Any]:
        """Return the nearest steps of a column that are not below places, or not above them, or not there either."""
        unit = self.columns[name].per_unit
        if unit == 0:
            return np.nextafter(places, sign * np.inf) if is_strict else places
        steps = (sign * np.ceil(sign * places * unit)).astype(np.int64)
        steps -= sign * (sign * ((steps - sign) / unit) >= sign * places)  # as in `Real`, the quotient counts
        short = sign * (steps / unit)
        return steps + sign * ((short <= sign * places) if is_strict else (short < sign * places))


def _between(column: Binned, low: NDArray[Any], high: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Return steps between bounds, again where they read as null, as long as that does not take long."""
    steps: NDArray[Any] = np.zeros(len(low), low.dtype)
    rows = np.arange(len(low))
    for _ in range(_DRAWS):
        least, most = low[rows], high[rows]
        steps[rows] = rng.integers(least, most, endpoint=True) if column.per_unit else rng.uniform(least, most)
        rows = rows[column.reads_as_null(column.of_steps(steps[rows]))]
        if not rows.size:
            break
    return steps
