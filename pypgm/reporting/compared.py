"""Two tables side by side: distances of each column and pair, means, quantiles, missing values, one score.

Values are compared as they stand in files, so that bins and "other" of a release count too.
"""

from __future__ import annotations

import datetime
import itertools
import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pypgm._base.html import Shown
from pypgm.data import OpenSchema, Schema
from pypgm.data.columns.bins import Binned
from pypgm.data.columns.column import Column, Reader
from pypgm.data.columns.dates import day_in
from pypgm.data.columns.number_text import WRITTEN, written_as
from pypgm.data.columns.numbers import number_in
from pypgm.data.draft.column import NULLS
from pypgm.data.schema.weight import Weight
from pypgm.data.sources.files import write_text
from pypgm.reporting.distance import BINS, Both, apart, bins_of
from pypgm.reporting.drawings import squares_of
from pypgm.reporting.template import rendered

NOT_PRIVATE = "these numbers come from the records themselves; they must not be published"
SCORE = (
    "100 less the percentage of records that would have to change for the synthetic table to agree with the real one, "
    "the mean of a column and that of a pair of columns, averaged"
)
_POOLED = 20  # values of a column in a pair: the most frequent ones, all others are one
_MOST_PAIRS = 5000
_MAX_WEIGHTED = 1 << 20  # records of a weighted table, which are compared as texts
_LISTED = 100  # pairs that a page lists
_EMPTY = frozenset({"nat", *map(str.casefold, NULLS)})
_FORMATS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y")
_QUANTILES = (0.05, 0.5, 0.95)
_AS_TEXTS = "its values are compared as texts"
_SHOWN = 40  # characters of a value

Kind = Literal["number", "date", "text"]


@dataclass(frozen=True, slots=True)
class ColumnPair:
    """A column of two tables.

    Attributes
    ----------
    name : str
    kind : {"number", "date", "text"}
        Kind of its values in the first table.
    points : float
        Percentage of the records of one table that would have to change to agree with the other.
    chance : float
        The same for two tables of these sizes drawn from the same people.
    missing : tuple of float
        Share of missing values in each, 0 .. 1.
    distinct : tuple of int
        Number of different values in each.
    mean : tuple of float, optional
        Mean of numbers in each.
    quantiles : tuple of tuple of float, optional
        5 %, median and 95 % quantiles of numbers in each; dates count as days since 1970.
    note : str
        Values of the first table that are not numbers or dates where others are.
    in_bins : float, optional
        Percentage of records to change where only the bins and listed values of the schema count; where it has none
        for the column, None. The rest of `points` is what the schema loses.
    """

    name: str
    kind: Kind
    points: float
    chance: float
    missing: Both
    distinct: tuple[int, int]
    mean: Both | None = None
    quantiles: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    note: str = ""
    in_bins: float | None = None


@dataclass(frozen=True, slots=True)
class ComparedTables(Shown):
    """Comparison of a synthetic table with the real one. It is not private.

    Attributes
    ----------
    records : tuple of int
        Numbers of records, the real table first.
    columns : tuple of ColumnPair
        Columns that both tables have, in the order of the first.
    pairs : mapping of (str, str) to (float, float)
        Percentage of the records that would have to change for two columns together, and that expected by chance.
    only : tuple of tuple of str
        Columns that only one table has.
    made : tuple of str
        Columns that were made up without reading the real ones, such as ids: they are in no score.
    """

    records: tuple[int, int]
    columns: tuple[ColumnPair, ...]
    pairs: Mapping[tuple[str, str], Both]
    only: tuple[tuple[str, ...], tuple[str, ...]]
    made: tuple[str, ...] = ()
    _values: tuple[Mapping[str, NDArray[Any]], ...] = field(repr=False, compare=False, default=())

    @property
    def column_score(self) -> float:
        """Score of the columns: 100 less the mean of their points."""
        return 100.0 - float(np.mean([c.points for c in self.columns]))

    @property
    def in_bins(self) -> float | None:
        """Mean points of the columns where only bins of the schema count; None where it has none for any column."""
        known = [c.points if c.in_bins is None else c.in_bins for c in self.columns]
        return None if all(c.in_bins is None for c in self.columns) else float(np.mean(known))

    @property
    def pair_score(self) -> float:
        """Score of the pairs: 100 less the mean of their points; for a single column its own score."""
        return 100.0 - float(np.mean([p for p, _ in self.pairs.values()])) if self.pairs else self.column_score

    @property
    def score(self) -> float:
        """Mean of both scores: 100 where the tables agree in all columns and pairs."""
        return (self.column_score + self.pair_score) / 2

    def __str__(self) -> str:
        return f"score {self.score:.1f} of 100: {SCORE}; not private: {NOT_PRIVATE}"

    def report_html(self, path: str | os.PathLike[str]) -> None:
        """Write it as one HTML file that loads nothing, marked as not for publication.

        Raises
        ------
        ImportError
            If jinja2, the extra ``report``, is not installed.
        OSError
            If the file cannot be written.
        """
        far = {pair: points for pair, (points, _) in self.pairs.items()}
        worst = sorted(self.pairs.items(), key=lambda entry: -entry[1][0])[:_LISTED]
        squares = squares_of([c.name for c in self.columns], far) if far else None
        text = rendered(
            "compared.html",
            title="Synthetic and real",
            tables=self,
            worst=worst,
            squares=squares,
            score=SCORE,
            quantile=shown_quantile,
            number=shown_number,
        )
        write_text(path, text)

    def sdmetrics(self) -> Any:  # noqa: ANN401 - a class of another package
        """Return SDV's own quality report of the two tables, ``sdmetrics.reports.QualityReport``.

        It measures each column's shape and each pair's trend differently from `score`: by the agreement of
        correlations, for example, for two columns of numbers.

        Raises
        ------
        ImportError
            If sdmetrics, the extra ``sdmetrics``, is not installed.
        """
        try:
            import pandas as pd
            from sdmetrics.reports import QualityReport
        except ImportError as error:
            raise ImportError('SDV\'s report needs sdmetrics: pip install "pypgm[sdmetrics]"') from error
        types = {"number": "numerical", "date": "datetime", "text": "categorical"}
        frames = []
        for values in self._values:
            frame = pd.DataFrame(dict(values))
            for c in self.columns:
                if c.kind == "date":
                    frame[c.name] = pd.to_datetime(frame[c.name], unit="D")
            frames.append({"table": frame})
        report = QualityReport()
        about = {"columns": {c.name: {"sdtype": types[c.kind]} for c in self.columns}}
        report.generate(*frames, {"tables": {"table": about}}, verbose=False)
        return report

    def sdmetrics_scores(self) -> dict[str, float]:
        """Return the scores of `sdmetrics` by name, 0 .. 1, the overall one first."""
        report = self.sdmetrics()
        parts = report.get_properties()
        return {"overall": report.get_score(), **parts.dropna().set_index("Property")["Score"].to_dict()}


def compare_texts(
    first: Mapping[str, Sequence[str]],
    second: Mapping[str, Sequence[str]],
    schema: Schema | OpenSchema | None = None,
) -> ComparedTables:
    """Compare two tables of texts, column by column and pair by pair.

    Parameters
    ----------
    first : mapping of str to sequence of str
        The real table; its values decide the types of columns and the bins. If the schema names the weight of its
        records, they stand as often as they count.
    second : mapping of str to sequence of str
        The synthetic one.
    schema : Schema or OpenSchema, optional
        Declares missing values, numbers and dates, how dates are written, and the columns that are made up.

    Raises
    ------
    ValueError
        If the tables have no column in common, or a table has no records.

    Examples
    --------
    >>> found = compare_texts({"a": ["x", "y"], "b": ["1", "2"]}, {"a": ["x", "x"], "b": ["1", ""]})
    >>> [(c.name, c.kind, c.points, c.missing[1]) for c in found.columns], found.pairs["a", "b"][0]
    ([('a', 'text', 50.0, 0.0), ('b', 'number', 50.0, 0.5)], 50.0)
    """
    if schema is not None and schema.weight is not None and schema.weight.column in first:
        first = _weighted(first, schema.weight)
    names = [name for name in first if name in second]
    if not names:
        raise ValueError("the tables have no column in common")
    made = tuple(name for name in names if _is_made_up(name, schema))
    if len(made) == len(names):
        raise ValueError("the tables have no column in common but those that are made up")
    sizes = len(first[names[0]]), len(second[names[0]])
    if not min(sizes):
        raise ValueError("a table without records cannot be compared")
    columns = [_Column(name, first[name], second[name], schema) for name in names if name not in made]
    pairs = {}
    step = max(1, -(-math.comb(len(columns), 2) // _MOST_PAIRS))
    for a, b in itertools.islice(itertools.combinations(columns, 2), 0, None, step):
        n = b.n_pooled
        codes = [pa * n + pb for pa, pb in zip(a.pooled, b.pooled, strict=True)]
        pairs[a.name, b.name] = apart(codes, a.n_pooled * n)
    only = tuple(n for n in first if n not in second), tuple(n for n in second if n not in first)
    values = tuple({c.name: c.typed(i) for c in columns} for i in range(2))
    return ComparedTables(sizes, tuple(column.pair() for column in columns), pairs, only, made, values)


def _weighted(table: Mapping[str, Sequence[str]], weight: Weight) -> dict[str, Sequence[str]]:
    """Return a table in which each record stands as often as it counts, or in proportion if there are too many."""
    ends = np.cumsum(weight.times(table[weight.column]))
    total = int(ends[-1]) if ends.size else 0
    n = min(total, _MAX_WEIGHTED)
    rows = np.searchsorted(ends, (np.arange(n) + 0.5) * (total / max(1, n)), side="right")
    return {name: [values[i] for i in rows] for name, values in table.items() if name != weight.column}


def _is_made_up(name: str, schema: Schema | OpenSchema | None) -> bool:
    """Return whether a column is made without reading any, such as an id."""
    return schema is not None and name in schema.made and not schema.made[name].sources


def shown_quantile(column: ColumnPair, value: float) -> str:
    """Return a quantile as text: a number, or a date as days since 1970."""
    if column.kind == "date":
        return (datetime.date(1970, 1, 1) + datetime.timedelta(round(value))).isoformat()
    return shown_number(value)


def shown_number(value: float) -> str:
    """Return a number to four digits, or all digits of a large whole part.

    Examples
    --------
    >>> shown_number(12345.6), shown_number(0.123456)
    ('12,346', '0.1235')
    """
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.4g}"


class _Column:
    """A column of both tables as codes: bins of numbers, or values; the last code is for missing ones."""

    def __init__(
        self, name: str, first: Sequence[str], second: Sequence[str], schema: Schema | OpenSchema | None
    ) -> None:
        self.name = name
        declared = None if schema is None else schema.provisional.written.get(name)
        nulls = _EMPTY if declared is None else {text.strip().casefold() for text in declared.nulls} | {""}
        self.texts = [
            np.array([t if (t := text.strip()).casefold() not in nulls else "" for text in column], dtype=object)
            for column in (first, second)
        ]
        distinct = [set(texts.tolist()) - {""} for texts in self.texts]
        self.distinct = len(distinct[0]), len(distinct[1])
        self.kind, read, self.note = _kind(distinct[0], declared)
        self.missing = tuple(float(np.mean(texts == "")) for texts in self.texts)
        self.values: list[NDArray[np.float64]] = []
        if read is None:
            self.codes, self.n_codes = self._coded()
        else:
            places = {text: read(text) for text in distinct[0] | distinct[1]} | {"": math.nan}
            self.values = [np.array([places[t] for t in texts.tolist()], dtype=np.float64) for texts in self.texts]
            self.codes, self.n_codes = self._binned()
        self.pooled, self.n_pooled = _pooled(self.codes, self.n_codes)
        is_known = schema is not None and name not in schema.open and schema.provisional.columns.get(name) is declared
        self.in_bins = self._in_bins(declared) if is_known and declared is not None else None

    def _coded(self) -> tuple[list[NDArray[np.int64]], int]:
        """Return the code of each text, including those only in the second table."""
        book = {text: i for i, text in enumerate(dict.fromkeys(t for texts in self.texts for t in texts.tolist()))}
        return [np.array([book[t] for t in texts.tolist()], dtype=np.int64) for texts in self.texts], len(book)

    def _in_bins(self, column: Column) -> float | None:
        """Return the percentage of records to change in the codes of the schema's column; None where values misfit."""
        if isinstance(column, Binned) and self.values and column.scale != "seconds":
            missing = [texts == "" for texts in self.texts]
            encoded = [
                column.codes_of(np.nan_to_num(values), is_missing, np.isnan(values) & ~is_missing)
                for values, is_missing in zip(self.values, missing, strict=True)
            ]
        else:
            null = column.nulls[0] if column.nulls else ""
            encoded = [column.encode(np.where(texts == "", null, texts)) for texts in self.texts]
        if any(problem is not None for _, problem in encoded):
            return None
        return apart([codes for codes, _ in encoded], column.size)[0]

    def _binned(self) -> tuple[list[NDArray[np.int64]], int]:
        """Return the bin of each number by quantiles of the first table: 0 is missing, 1 is not a number at all."""
        values, counts = np.unique(self.values[0][np.isfinite(self.values[0])], return_counts=True)
        starts = bins_of(values, counts)
        codes = []
        for numbers, texts in zip(self.values, self.texts, strict=True):
            # A number between two of few values is neither of them.
            bins = np.searchsorted(starts, numbers, side="right") + 2
            if values.size <= BINS:
                bins = np.where(np.isin(numbers, values), bins, 1)
            codes.append(np.where(texts == "", 0, np.where(np.isnan(numbers), 1, bins)))
        return codes, starts.size + 3

    def typed(self, at: int) -> NDArray[Any]:
        """Return the values of one table: numbers, days since 1970, or texts; None stands for a missing text."""
        return self.values[at] if self.values else np.array([t or None for t in self.texts[at].tolist()], dtype=object)

    def pair(self) -> ColumnPair:
        points, chance = apart(self.codes, self.n_codes)
        facts = self.name, self.kind, points, chance, (self.missing[0], self.missing[1]), self.distinct
        there = [v[np.isfinite(v)] for v in self.values]
        if not there or not min(v.size for v in there):
            return ColumnPair(*facts, note=self.note, in_bins=self.in_bins)
        (mean, quantiles), (other_mean, others) = map(_mean_and_quantiles, there)
        means = (mean, other_mean) if self.kind == "number" else None
        return ColumnPair(*facts, means, (quantiles, others), self.note, self.in_bins)


def _mean_and_quantiles(values: NDArray[np.float64]) -> tuple[float, tuple[float, ...]]:
    """Return the mean and the quantiles of numbers, of which sums and differences may overflow."""
    exponent = int(np.frexp(np.abs(values).max())[1])
    parts = np.ldexp(values, -exponent)
    return math.ldexp(parts.mean(), exponent), tuple(np.ldexp(np.quantile(parts, _QUANTILES), exponent).tolist())


def _kind(distinct: set[str], declared: Column | None) -> tuple[Kind, Callable[[str], float] | None, str]:
    """Return the kind of a column, a reader of its numbers (NaN for other texts), and a note on values that are none.

    A declared column of numbers or dates counts as such if some value does; any other column if all values do.
    """
    if not distinct:
        return "text", None, ""
    known = None if declared is None else declared.reader()
    looks: list[Reader] = [("number", number_in), *(("date", partial(day_in, formats=(f,))) for f in ("", *_FORMATS))]
    candidates = looks if known is None else [known]
    (kind, read), strays = candidates[0], distinct
    for other, reader in candidates:
        left = {text for text in distinct if math.isnan(reader(text))}
        if len(left) < len(strays):
            kind, read, strays = other, reader, left
        if not left:
            return kind, read, ""
    if declared is None and kind == "number" and None not in (places := {written_as(text) for text in strays}):
        decimal, thousands = WRITTEN[max(place for place in places if place is not None)]
        marks = f"decimal {decimal!r}" + (f" and thousands {thousands!r}" if thousands else "")
        return "text", None, f"{_AS_TEXTS}: they may be numbers with {marks}, which a schema or an option says"
    if known is None and (declared is not None or 2 * len(strays) > len(distinct)):
        return "text", None, ""
    more = f" and {len(strays) - 1:,} more are no {kind}s" if len(strays) > 1 else f" is no {kind}"
    reason = f"{min(strays)[:_SHOWN]!r}{more}"
    if known is not None and len(strays) < len(distinct):
        return kind, read, reason
    return "text", None, f"{reason}: {_AS_TEXTS}"


def _pooled(codes: Sequence[NDArray[np.int64]], n_codes: int) -> tuple[list[NDArray[np.int64]], int]:
    """Return codes of the most frequent values of the first table, and one code for all others."""
    if n_codes <= _POOLED + 3:
        return list(codes), n_codes
    most = [code for code, _ in Counter(codes[0].tolist()).most_common(_POOLED)]
    book = np.full(n_codes, len(most))
    book[most] = np.arange(len(most))
    return [book[column] for column in codes], len(most) + 1
