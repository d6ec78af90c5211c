"""Values of the dictionaries of Arrow, in their order: they may be values of the records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pypgm.data.columns.values import is_missing
from pypgm.data.sources.layout import is_ordered
from pypgm.data.sources.source import EncodedRecords, FrameTable, Source
from pypgm.domain import Label


def ordered_dictionaries(source: Source) -> dict[str, list[Label]]:
    """Return the values of the ordered dictionaries of a table in their order; none where its pieces disagree.

    Somebody has put them in that order, unless it is that of numbers or letters, but which values they are may depend
    on the records. Only what a schema lists of them may be used for a release.

    Parameters
    ----------
    source : Source
        Table whose types are those of Arrow; others have no dictionaries.
    """
    if isinstance(source, EncodedRecords):
        return {}
    names = [name for name, kind in source.layout.types.items() if "dictionary<" in kind and is_ordered(kind)]
    orders: dict[str, list[Label]] = {}
    is_one = dict.fromkeys(names, True)
    for piece in _pieces(source, names) if names else ():
        for name in names:
            values = _labels(piece.column(name).dictionary.to_pylist())
            is_one[name] &= bool(values) and orders.setdefault(name, values) == values
    return {name: values for name, values in orders.items() if is_one[name]}


def _pieces(source: Source, names: list[str]) -> Iterator[Any]:
    """Yield batches of some columns."""
    if not isinstance(source, FrameTable):
        yield from source.pieces(names)
    elif type(source.frame).__module__.partition(".")[0] == "pyarrow":
        frame = source.frame.select(names)
        yield from frame.to_batches() if hasattr(frame, "to_batches") else [frame]


def _labels(values: list[Any]) -> list[Label]:
    """Return values that are labels; none if one is not."""
    return values if all(isinstance(value, Label) and not is_missing(value) for value in values) else []
