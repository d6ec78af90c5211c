"""Values that the types of a table list, and their order, where a definition and not the records gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pypgm.data.columns.values import is_missing
from pypgm.domain import Label

_POLARS_ENUM = b"_PL_ENUM_VALUES2"  # the key under which Polars notes the values of an Enum in an Arrow field


def values_of_types(frame: Any) -> dict[str, list[Label]]:  # noqa: ANN401 - of a package that may be missing
    """Return the values of each column whose type lists them in a definition, in its order; no record is read.

    Such columns have polars' type ``Enum``, or the same in Arrow, with the note that Polars makes of it, or an ordered
    ``category`` of pandas whose order no library makes. Other types with a list of values may have taken it from the
    records without saying so: pandas' ``category`` without an order, or in the order of its values, by ``astype``;
    polars' ``Categorical``; a dictionary of Arrow, by ``dictionary_encode``; and DuckDB's ``ENUM``, which DuckDB
    itself makes of a ``category`` of pandas.

    Parameters
    ----------
    frame : data frame
        A frame of any library; only pandas, Polars and Arrow have such types.
    """
    root = type(frame).__module__.partition(".")[0]
    if root == "pandas":
        types = zip(frame.columns, frame.dtypes, strict=True)
        return {name: values for name, kind in types if (values := declared_categories(kind))}
    if root == "polars":
        kinds = {name: kind for name, kind in frame.collect_schema().items() if type(kind).__name__ == "Enum"}
        return {name: values for name, kind in kinds.items() if (values := kind.categories.to_list())}
    return values_in_arrow(frame.schema) if root == "pyarrow" else {}


def declared_categories(kind: Any) -> list[Label]:  # noqa: ANN401 - of a package that may be missing
    """Return the categories of an ordered type of pandas in an order that somebody wrote down; else none.

    pandas sorts categories that it takes from records: sorted ones may be theirs.
    """
    if not getattr(kind, "ordered", False):
        return []
    values: list[Any] = kind.categories.tolist()
    if not all(isinstance(value, Label) and not is_missing(value) for value in values):
        return []
    return values if in_natural_order(values) not in (None, values) else []


def in_natural_order(values: Sequence[Any]) -> list[Any] | None:
    """Return values in the order of their numbers or letters; None for values that share no such order.

    Examples
    --------
    >>> in_natural_order(["mid", "lo"]), in_natural_order([33, 2.5]), in_natural_order([1, "a"])
    (['lo', 'mid'], [2.5, 33], None)
    """
    try:
        return sorted(values)
    except TypeError:
        return None


def values_in_arrow(schema: Any) -> dict[str, list[Label]]:  # noqa: ANN401 - of a package that may be missing
    """Return the values of each field of an Arrow schema that is an enumeration, as `values_of_types` does."""
    listed: dict[str, list[Label]] = {}
    for entry in schema:
        note = (entry.metadata or {}).get(_POLARS_ENUM)
        if note is not None and hasattr(entry.type, "value_type"):
            values = list(_noted(note))
            known: list[Label] = [value for value in values if value is not None]
            if known and len(known) == len(values):
                listed[entry.name] = known
    return listed


def with_enums(schema: Any, listed: Mapping[str, Sequence[Label]]) -> Any:  # noqa: ANN401
    """Return an Arrow schema with the notes by which Polars reads dictionaries of texts as enumerations.

    Parameters
    ----------
    schema : pyarrow.Schema
    listed : mapping of str to sequence
        Values of the dictionaries in their order.
    """
    for name, values in listed.items():
        place = schema.get_field_index(name)
        if all(isinstance(value, str) for value in values):
            note = b"".join(b"%d;%b" % (len(text), text) for text in (str(value).encode() for value in values))
            schema = schema.set(place, schema.field(place).with_metadata({_POLARS_ENUM: note}))
    return schema


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
