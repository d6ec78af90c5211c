"""What is known of an attribute, as people write it: a value, several, or a range such as ``30..40``."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from typing import Any

import numpy as np

from pypgm.data.bins import Binned
from pypgm.data.categorical import Categorical
from pypgm.data.codebook import label_texts
from pypgm.data.columns import Column
from pypgm.data.numbers import Integer, Real
from pypgm.data.schema import Schema
from pypgm.domain import Domain, listed, nearest
from pypgm.numeric import whole_of

_TO = ".."  # between the ends of a range


def read_evidence(domain: Domain, evidence: Mapping[str, Any] | None, schema: Schema | None) -> dict[str, Any] | None:
    """Return evidence whose texts and numbers that are no labels are read by the schema: values, and ranges of them.

    Examples
    --------
    >>> from pypgm import Schema
    >>> from pypgm.data import Integer
    >>> schema = Schema({"age": Integer(0, 99, width=10)})
    >>> read_evidence(schema.domain, {"age": "35..59"}, schema)
    {'age': ['[30, 40)', '[40, 50)', '[50, 60)']}
    """
    if not isinstance(evidence, Mapping):
        return evidence
    return {name: _read(domain, name, value, schema) for name, value in evidence.items()}


def _read(domain: Domain, name: str, value: object, schema: Schema | None) -> object:
    labels = domain.labels.get(name)
    if schema is not None and labels is not None and isinstance(value, int | float | np.number):
        value = value if isinstance(value, bool) or value in labels else str(value)  # a value of the table
    if not isinstance(value, str) or name not in domain or (labels is not None and value in labels):
        return value
    if schema is None and _TO not in value:
        return value  # no value of the domain, which says so
    codes = codes_of_text(domain, name, value, schema)
    return set(codes) if labels is None else [labels[code] for code in codes]


def codes_of_text(domain: Domain, name: str, text: str, schema: Schema | None) -> list[int]:
    """Return the codes of a value, of several with commas between them, or of a range; what is itself a value is one.

    Parameters
    ----------
    domain : Domain
    name : str
        An attribute of it.
    text : str
        A label, or what a column of the schema takes for a value; ``30..40``, ``30..`` and ``..40`` are ranges, in the
        order of the codes, nulls and other values aside.
    schema : Schema, optional
        Of the table that the domain is of.

    Raises
    ------
    ValueError
        If part of the text is no value, or a range is empty.

    Examples
    --------
    >>> codes_of_text(Domain({"age": 85}), "age", "83..", None)
    [83, 84]
    """
    code, needed = _code_of(domain, name, text, schema)
    if code is not None:
        return [code]
    column = None if schema is None else schema.columns[name]
    parts = split_text(text)
    if len(parts) > 1 and not isinstance(column, Integer | Real):  # whose numbers may be written 40,000
        return [code for part in parts for code in codes_of_text(domain, name, part, schema)]
    ends = text.split(_TO)
    if len(ends) != 2 or not any(ends):
        raise ValueError(f"attribute {name!r} needs {needed}{_hint(domain, name, text, len(parts) > 1)}")
    aside = set() if column is None else {column.null_code, column.other_code}
    inside = [code for code in range(domain.size((name,))) if code not in aside]
    places = [inside[0], inside[-1]]
    for i, end in enumerate(ends):
        if end:
            code, _ = _code_of(domain, name, end, schema)
            if code not in inside:
                raise ValueError(f"attribute {name!r} needs {needed} at the ends of a range, got {end!r}")
            places[i] = inside[inside.index(code)]
    found = [code for code in inside if places[0] <= code <= places[1]]
    if not found:
        raise ValueError(f"no value of attribute {name!r} is in the range: {ends[0]!r} comes after {ends[1]!r}")
    return found


def _code_of(domain: Domain, name: str, value: str, schema: Schema | None) -> tuple[int | None, str]:
    """Return the code of a label or, by a schema, of a value, if it has one, and what would have one."""
    texts, size, bare = label_texts(domain, name), domain.size((name,)), value.strip()
    if texts is None:
        number = whole_of(bare.removeprefix("+"))
        code = number if number is not None and number < size else None
    else:
        code = next((texts.index(text) for text in (value, bare) if text in texts), None)
    if code is not None or schema is None:
        return code, f"an integer from 0 to {size - 1}" if texts is None else f"one of {listed([*map(repr, texts)])}"
    column = schema.columns[name]
    codes, problem = column.encode([value])
    # A value that is not declared may be a typing error: other values are asked for by their label, which is above.
    strays = problem is not None or codes[0] == column.other_code or _is_no_null(column, value, codes[0])
    labels = domain.labels.get(name, ())
    bins = (
        f", or one of its bins such as {labels[0]!r}" if isinstance(column, Binned) and type(labels[0]) is str else ""
    )
    needed = column.allowed
    if isinstance(column, Categorical) and not column.values:  # of an open column
        needed = f"one of {listed([*map(repr, labels)])}, as no value of it was found"
    return (None if strays else int(codes[0])), f"{needed}{bins}"


def _hint(domain: Domain, name: str, text: str, is_list: bool) -> str:
    """Return what may have been meant by a text that is no value, as the end of a sentence."""
    if is_list:
        return f"; of several values give a list, --given again and again, or a range: {name}=30{_TO}39"
    labels = domain.labels.get(name)
    if labels is not None and text.strip().removeprefix("-").isdigit():
        return "; a number in a text is a value, not a code"
    return nearest(text, labels or ())


def _is_no_null(column: Column, value: str, code: int) -> bool:
    """Return whether a value that no text of null is would become one."""
    return code == column.null_code and value.strip() not in column.nulls


def split_text(text: str) -> list[str]:
    """Return what stands between the commas of a text; ``ValueError`` where a line breaks outside quotes."""
    try:
        return next(csv.reader([text]), [])
    except csv.Error:
        way_out = "write it in double quotes within the argument"
        raise ValueError(f"{text!r} has a line break in a name or a value: {way_out}") from None
