"""What a table lost on its way into a release: records, detail, columns, and values that became "other"."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from pypgm.data import Schema
from pypgm.data.bins import Binned
from pypgm.data.columns import Column
from pypgm.data.dates import Date
from pypgm.data.derived import Derived
from pypgm.data.derived_images import images_of
from pypgm.data.made import Made
from pypgm.data.numbers import Integer
from pypgm.models.stored_model import ReleasedModel
from pypgm.privacy.relation import Privacy
from pypgm.reporting.words import many, percent
from pypgm.terminal import escaped


class Losses(NamedTuple):
    """What a table lost, by its schema and what was released.

    Attributes
    ----------
    coarsened : mapping of str to str
        Columns whose values are known as bins alone, and in how many.
    cut : mapping of str to str
        Columns of numbers or dates beyond whose bounds values were moved, or have become missing or "other".
    other : mapping of str to float
        Columns in which values became "other", and the share of records that have it, 0 .. 1, by the release.
    kept : mapping of str to int
        How many values those columns have besides.
    made : mapping of str to str
        Columns that were not read, what their values are made of, and how many of a mapping are its "other".
    dropped : tuple of str
        Columns that were left out.
    missing : mapping of str to float
        Columns that the schema lets have missing values, and the share of records that have none, 0 .. 1, by the
        release: the table's own, and noise.
    persons : mapping of str to int
        The columns by which persons are known, as one text, and how many records of each person were kept at most.
    """

    coarsened: Mapping[str, str]
    cut: Mapping[str, str]
    other: Mapping[str, float]
    kept: Mapping[str, int]
    made: Mapping[str, str]
    dropped: tuple[str, ...]
    missing: Mapping[str, float] = MappingProxyType({})
    persons: Mapping[str, int] = MappingProxyType({})

    @property
    def emptied(self) -> tuple[str, ...]:
        """The columns of which no value was kept."""
        return tuple(name for name, values in self.kept.items() if not values)

    @property
    def at_most(self) -> int | None:
        """Number of records of each person that were kept at most; None where all were."""
        return next(iter(self.persons.values()), None)

    def sentences(self) -> list[str]:
        """Return what was lost in words; what is not said was kept as it is.

        Examples
        --------
        >>> Losses({"age": "10 bins"}, {}, {"city": 0.253}, {"city": 16}, {}, ("name",)).sentences()
        ['coarsened: age (10 bins)', '"other": city (25 % of records; 16 values kept)', 'left out: name']
        """
        sentences = [
            f"records: at most {k:,} of each person, by {names}, were kept, and all counts are of these; how many were "
            "left out is private"
            for names, k in self.persons.items()
        ]
        if self.coarsened:
            sentences.append(f"coarsened: {_listed(self.coarsened)}")
        if self.cut:
            sentences.append(f"beyond their bounds: {_listed(self.cut)}")
        if self.other:
            columns = {n: f"{percent(s)} of records; {many(self.kept[n], 'value')} kept" for n, s in self.other.items()}
            sentences.append(f'"other": {_listed(columns)}')
        if self.missing:
            sentences.append(_missing_text(self.missing))
        if self.made:
            sentences.append(f"made anew: {_listed(self.made)}")
        if self.dropped:
            sentences.append(f"left out: {', '.join(self.dropped)}")
        return sentences


def losses_of(model: ReleasedModel, schema: Schema | None, privacy: Privacy) -> Losses:
    """Return what a table lost; without a schema its values were codes, and nothing is known of what they stood for.

    Parameters
    ----------
    model : GraphicalModel, RegionGraphModel or CountedNetwork
    schema : Schema or None
        Of the release: in it nothing is open any more.
    privacy : Privacy
        Which columns name persons, and how many records of each are kept.
    """
    persons = {", ".join(privacy.person): privacy.records_per_person} if privacy.person else {}
    if schema is None:
        return Losses({}, {}, {}, {}, {}, (), persons=persons)
    columns = schema.columns
    coarse = {name: bins for name, column in columns.items() if (bins := _bins(column))}
    cut = {n: _moved(c) for n, c in columns.items() if isinstance(c, Binned) and c.outside != "refuse"}
    total = max(model.total, 1e-300)
    other = {
        n: float(model.project(n).values[c.other_code]) / total for n, c in columns.items() if c.other_code is not None
    }
    missing = _missing_shares(model, schema)
    lost = dict(_lost_to_other(model, schema))
    made = {name: _made_of(column, lost.get(name)) for name, column in schema.made.items()}
    kept = {n: columns[n].n_values for n in other}
    return Losses(coarse, cut, other, kept, made, tuple(schema.drop), missing, persons)


def _missing_shares(model: ReleasedModel, schema: Schema) -> dict[str, float]:
    """Return of each column that may have missing values the share of the records in which it has, 0 .. 1."""
    codes = {name: column.null_code for name, column in schema.columns.items() if column.null_code is not None}
    total = max(model.total, 1e-300)
    return {name: float(model.project(name).values[code]) / total for name, code in codes.items()}


def _missing_text(shares: Mapping[str, float]) -> str:
    """Return shares of missing values in words.

    Examples
    --------
    >>> _missing_text({"job": 0.0213, "sex": 0.0})
    'missing, as the schema lets them and some by noise: job 2.1 %, sex 0.0 % of records'
    """
    shown = ", ".join(f"{escaped(name)} {percent(share)}" for name, share in shares.items())
    return f"missing, as the schema lets them and some by noise: {shown} of records"


def _lost_to_other(model: ReleasedModel, schema: Schema) -> Iterator[tuple[str, float]]:
    """Yield which part of the records has, in a mapped column, what it has for values that its mapping has not."""
    mapped = {name: column for name, column in schema.made.items() if isinstance(column, Derived)}
    other_of = {n: c.other for n, c in mapped.items() if c.other not in (None, *(image for _, image in c.pairs))}
    for name, (parents, cells) in images_of(schema, other_of):
        labels: list[object] = list(cells.column.labels or ())
        is_other = np.asarray(cells.codes) == labels.index(other_of[name])
        with contextlib.suppress(ValueError, MemoryError):  # it is of too many columns
            yield name, float(model.project(parents).values.ravel()[is_other].sum()) / max(model.total, 1e-300)


def _made_of(column: Made, lost: float | None) -> str:
    """Return what a column is made of, and how many records have what it has for values that its mapping has not."""
    if not column.sources:
        return "no real values"
    text = f"from {', '.join(column.sources)}"
    if lost is None or not isinstance(column, Derived):
        return text
    return f"{text}; {percent(lost)} of records have {str(column.other)!r}, for values that the mapping has not"


def _bins(column: Column) -> str:
    """Return how many bins a column has where they are wider than its values; else nothing."""
    if isinstance(column, Date):
        is_cut = not column.has_times and any(hour in column.format for hour in ("%H", "%I", "%c", "%X"))
        by = f"by {column.resolution}" if is_cut or column.resolution not in {"day", "hour"} else ""
        return f"{by}, the time of day is lost" if is_cut else by
    if isinstance(column, Integer) and column.n_values == column.high - column.low + 1:
        return ""
    return f"{column.n_values:,} bins" if isinstance(column, Binned) else ""


def _moved(column: Binned) -> str:
    texts = {"clip": "moved to the nearest bound", "null": "missing", "other": '"other"'}
    return texts[column.outside]


def _listed(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{name} ({what})" for name, what in columns.items())
