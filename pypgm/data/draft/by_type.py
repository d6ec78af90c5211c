"""Columns of a draft whose type decides: its values are listed by it, or no column reads them."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pypgm.data.columns.values import Values, is_missing, value_text
from pypgm.data.draft.column import NULLS
from pypgm.data.draft.gaps import LISTED
from pypgm.data.draft.warnings import note
from pypgm.data.sources.dictionaries import ordered_dictionaries
from pypgm.data.sources.layout import is_ordered
from pypgm.data.sources.objects import CONTAINERS, NESTED, are_of, is_nested, kind_in, span_in
from pypgm.data.sources.source import FrameTable, Source
from pypgm.domain import Label

_SPANNING = "spans of time: write them as numbers of a unit, such as minutes"
_PERIODS = "periods: write them as dates, such as their first days"
_SPANS = re.compile(r"timedelta64|duration", re.IGNORECASE)


class TypeEvidence:
    """Facts about the columns of a table that its types give: values they list, and types that no column reads.

    Parameters
    ----------
    source : Source
        Table that is drafted.
    """

    def __init__(self, source: Source) -> None:
        types = source.layout.types
        self.unread = {name: NESTED for name, kind in types.items() if is_nested(kind)}
        self.unread |= {name: _PERIODS for name, kind in types.items() if kind.startswith("period[")}
        self._declared = dict(source.categories)
        self._listed = {**_categories(source), **ordered_dictionaries(source), **self._declared}
        self._spans = {name for name, kind in types.items() if _SPANS.match(kind)}
        self._objects: dict[str, set[str]] = {name: set() for name, kind in types.items() if kind == "object"}
        self._ordinal = {name for name, kind in types.items() if is_ordered(kind)}

    def flat(self, columns: Mapping[str, Values]) -> dict[str, Values]:
        """Return columns with nothing in those that hold lists, records or maps; objects that are such are noted."""
        self.unread |= {name: NESTED for name, values in columns.items() if are_of(values, CONTAINERS)}
        self._spans |= {name for name, values in columns.items() if are_of(values, {datetime.timedelta})}
        for name, kinds in self._objects.items():
            if kind := kind_in(columns[name]):
                kinds.add(kind)
        return {name: [None] * len(values) if name in self.unread else values for name, values in columns.items()}

    def objects(self, name: str, fields: Mapping[str, Any]) -> dict[str, str]:
        """Return the entry for the kind that all objects of a column have, if its declaration does not tell it."""
        kinds = self._objects.get(name, set())
        if len(kinds) > 1:
            kinds = {kind.partition(" ")[0] if kind.startswith("Decimal") else kind for kind in kinds}
        is_text = kinds == {"str"} and fields["kind"] == "categorical"
        is_kept = len(kinds) == 1 and kinds != {"several"} and not is_text and fields["kind"] != "open"
        return {"objects": next(iter(kinds))} if is_kept else {}

    def declared(self, name: str, counts: Counter[str]) -> tuple[dict[str, Any], str] | None:
        """Return the declaration of a column by its type, or the reason to drop it; None if the type decides nothing.

        Parameters
        ----------
        name : str
        counts : Counter of str
            Number of records of each text of the column.
        """
        if name in self.unread:
            return {}, self.unread[name]
        if name in self._spans:
            spans = [text for text in counts if text not in NULLS]
            if len(spans) > LISTED and all(_is_of_a_day(span_in(text)) for text in spans):
                return None  # as times of day
            if not spans or len(spans) > LISTED:
                return {}, _SPANNING if spans else "it is empty"
            return self._entry(name, sorted(spans, key=span_in), counts), ""
        values = self._listed.get(name, [])
        if not values or (name not in self._declared and len(values) > LISTED) or _are_booleans(values):
            return None
        return self._entry(name, values, counts), ""

    def _entry(self, name: str, values: Sequence[Any], counts: Counter[str]) -> dict[str, Any]:
        """Return the declaration of a column of listed values."""
        fields: dict[str, Any] = {"kind": "categorical", "values": list(values)}
        if name in self._ordinal | self._spans:
            fields["ordinal"] = True
        nulls = sorted(text for text in counts if text in NULLS and text not in _texts(values))
        if nulls:
            fields["null"] = nulls
        return fields | ({} if name in self._declared else {"warning": note("values")})


def _categories(source: Source) -> dict[str, list[Label]]:
    """Return the categories of the columns of a frame of pandas that are labels."""
    frame = source.frame if isinstance(source, FrameTable) else None
    if type(frame).__module__.partition(".")[0] != "pandas" or frame is None:
        return {}
    listed = {}
    for name, kind in zip(frame.columns, frame.dtypes, strict=True):
        values = kind.categories.tolist() if hasattr(kind, "categories") else []
        if type(next(iter(values), None)).__name__ == "Interval":
            values = list(map(str, values))
        if values and all(isinstance(value, Label) and not is_missing(value) for value in values):
            listed[str(name)] = values
    return listed


def _is_of_a_day(span: datetime.timedelta) -> bool:
    return datetime.timedelta() <= span < datetime.timedelta(days=1)


def _are_booleans(values: Collection[Label]) -> bool:
    return {str(value).casefold() for value in values} == {"false", "true"}


def _texts(values: Collection[Label]) -> set[str]:
    return {value_text(value) or "" for value in values}
