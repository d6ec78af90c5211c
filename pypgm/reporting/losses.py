"""Losses of a table on its way into a release: records, detail, columns, and values that became "other"."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from pypgm._base.terminal import escaped
from pypgm.data import Schema
from pypgm.data.columns.bins import Binned
from pypgm.data.columns.derived import Derived
from pypgm.data.columns.derived_images import images_of
from pypgm.data.columns.made import Made
from pypgm.files.stored_model import ReleasedModel
from pypgm.privacy.relation import Privacy
from pypgm.reporting.words import many, percent


class Losses(NamedTuple):
    """Losses of a table, by its schema and the release.

    Attributes
    ----------
    coarsened : mapping of str to str
        Columns of which only bins are known, and the number of bins.
    cut : mapping of str to str
        Columns of numbers or dates beyond whose bounds values were moved, or have become missing or "other".
    other : mapping of str to float
        Columns in which values became "other", and the share of such records, 0 .. 1, by the release.
    kept : mapping of str to int
        Number of the other values of these columns.
    made : mapping of str to str
        Columns that were not read, the source of their values, and the share that a mapping turns into its "other".
    dropped : tuple of str
        Columns that were left out.
    missing : mapping of str to float
        Columns that may have missing values, and their share, 0 .. 1, by the release: partly noise.
    persons : mapping of str to int
        The columns that name persons, as one text, and the most records kept of each person.
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
        """Columns of which no value was kept."""
        return tuple(name for name, values in self.kept.items() if not values)

    @property
    def at_most(self) -> int | None:
        """Number of records of each person that were kept at most; None where all were."""
        return next(iter(self.persons.values()), None)

    def sentences(self) -> list[str]:
        """Return the losses in words; everything else was kept.

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
    """Return the losses of a table; without a schema its values were codes of unknown meaning.

    Parameters
    ----------
    model : GraphicalModel, RegionGraphModel or CountedNetwork
    schema : Schema or None
        Schema of the release, without open columns.
    privacy : Privacy
        Columns that name persons, and the most records kept of each.
    """
    persons = {", ".join(privacy.person): privacy.records_per_person} if privacy.person else {}
    if schema is None:
        return Losses({}, {}, {}, {}, {}, (), persons=persons)
    columns = schema.columns
    coarse = {name: bins for name, column in columns.items() if (bins := column.coarseness)}
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
    """Return the share of missing values, 0 .. 1, of each column that may have some."""
    codes = {name: column.null_code for name, column in schema.columns.items() if column.null_code is not None}
    total = max(model.total, 1e-300)
    return {name: float(model.project(name).values[code]) / total for name, code in codes.items()}


def _missing_text(shares: Mapping[str, float]) -> str:
    """Return shares of missing values in words.

    Examples
    --------
    >>> _missing_text({"job": 0.0213, "sex": 0.0})
    'missing (allowed by the schema; a few come from noise): job 2.1 %, sex 0.0 % of records'
    """
    shown = ", ".join(f"{escaped(name)} {percent(share)}" for name, share in shares.items())
    return f"missing (allowed by the schema; a few come from noise): {shown} of records"


def _lost_to_other(model: ReleasedModel, schema: Schema) -> Iterator[tuple[str, float]]:
    """Yield the share of records of each mapped column whose value is not in its mapping."""
    mapped = {name: column for name, column in schema.made.items() if isinstance(column, Derived)}
    other_of = {n: c.other for n, c in mapped.items() if c.other not in (None, *(image for _, image in c.pairs))}
    for name, (parents, cells) in images_of(schema, other_of):
        labels: list[object] = list(cells.column.labels or ())
        is_other = np.asarray(cells.codes) == labels.index(other_of[name])
        with contextlib.suppress(ValueError, MemoryError):  # it is of too many columns
            yield name, float(model.project(parents).values.ravel()[is_other].sum()) / max(model.total, 1e-300)


def _made_of(column: Made, lost: float | None) -> str:
    """Return the source of a column's values, and the share of records whose value is not in its mapping."""
    if not column.sources:
        return "no real values"
    text = f"from {', '.join(column.sources)}"
    if lost is None or not isinstance(column, Derived):
        return text
    return f"{text}; {percent(lost)} of records have {str(column.other)!r}, for values that the mapping has not"


def _moved(column: Binned) -> str:
    texts = {"clip": "moved to the nearest bound", "null": "missing", "other": '"other"'}
    return texts[column.outside]


def _listed(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{name} ({what})" for name, what in columns.items())
