"""Types that list their values in a definition, which are public, as a schema is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_POLARS_ENUM = b"_PL_ENUM_VALUES2"  # the key under which Polars notes the values of an Enum in an Arrow field


def values_of_types(frame: Any) -> dict[str, list[str]]:  # noqa: ANN401 - of a package that may be missing
    """Return the values of each column whose type lists them in a definition; no record is read.

    Those are columns of polars' ``Enum``, and the same in Arrow, with the note that Polars makes of it. All other types
    with a list of values may have it from the records, and do not say so: pandas' ``category``, ordered or not, by
    ``astype``; polars' ``Categorical``; a dictionary of Arrow, by ``dictionary_encode``; and DuckDB's ``ENUM``, which
    DuckDB itself makes of a ``category`` of pandas.

    Parameters
    ----------
    frame : data frame
        Of any library; one that is neither of Polars nor of Arrow has no such type.
    """
    root = type(frame).__module__.partition(".")[0]
    if root == "polars":
        kinds = {name: kind for name, kind in frame.collect_schema().items() if type(kind).__name__ == "Enum"}
        return {name: values for name, kind in kinds.items() if (values := kind.categories.to_list())}
    return values_in_arrow(frame.schema) if root == "pyarrow" else {}


def values_in_arrow(schema: Any) -> dict[str, list[str]]:  # noqa: ANN401 - of a package that may be missing
    """Return the values of each field of an Arrow schema that is an enumeration, as `values_of_types` does."""
    listed = {}
    for entry in schema:
        note = (entry.metadata or {}).get(_POLARS_ENUM)
        if note is not None and hasattr(entry.type, "value_type"):
            values = list(_noted(note))
            known = [value for value in values if value is not None]
            if known and len(known) == len(values):
                listed[entry.name] = known
    return listed


def _noted(note: bytes) -> Iterator[str | None]:
    """Yield the values of a note of Polars, each after its length in bytes; None where it is written otherwise.

    Examples
    --------
    >>> list(_noted("2;ä3;y;30;".encode())), list(_noted(b"7;x"))
    (['ä', 'y;3', ''], [None])
    """
    while note:
        length, _, note = note.partition(b";")
        size = int(length) if length.isdigit() and len(length) <= len(str(len(note))) else -1
        if not 0 <= size <= len(note):
            yield None
            return
        try:
            yield note[:size].decode()
        except UnicodeDecodeError:
            yield None
        note = note[size:]
