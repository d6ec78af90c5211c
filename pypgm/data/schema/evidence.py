"""Evidence on attributes, as people write it: a value of the table, several, or a range such as ``30..40``."""

from __future__ import annotations

import contextlib
import csv
import datetime
from collections.abc import Mapping, Sequence, Set
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from pypgm._base.numeric import whole_of
from pypgm._base.terminal import MISSING, missing_code
from pypgm.data.columns.bins import Binned, UnreadableError
from pypgm.data.columns.categorical import Categorical
from pypgm.data.columns.codebook import label_texts
from pypgm.data.columns.column import Column
from pypgm.data.columns.listed_numbers import ListedNumbers, listed_line
from pypgm.data.columns.numbers import Integer, Real
from pypgm.data.columns.values import as_list, is_number, plain
from pypgm.data.schema.one_of import Member
from pypgm.data.schema.schema import Schema
from pypgm.domain import Domain, listed, nearest

_TO = ".."  # between the ends of a range


def read_evidence(domain: Domain, evidence: Mapping[str, Any] | None, schema: Schema | None) -> dict[str, Any] | None:
    """Return evidence whose values, alone or in a list, are labels, or codes of attributes without labels.

    With a schema, any value of the table is one: a number, date or boolean as a text. Without one, only ranges of
    labels and codes are read; everything else stays as it is.

    Raises
    ------
    ValueError
        If something is not a value, or a list may hold likelihoods.

    Examples
    --------
    >>> from pypgm import Schema
    >>> from pypgm.data import Integer
    >>> schema = Schema({"age": Integer(0, 99, width=10)})
    >>> read_evidence(schema.domain, {"age": 35}, schema)
    {'age': '[30, 40)'}
    >>> sorted((read_evidence(schema.domain, {"age": [35, "49..59"]}, schema) or {})["age"])
    ['[30, 40)', '[40, 50)', '[50, 60)']
    """
    if not isinstance(evidence, Mapping):
        return evidence
    members = {} if schema is None else {n: c.column for n, c in schema.made.items() if isinstance(c, Member)}
    whole = {name: _read(domain, name, given, schema) if name in domain else given for name, given in evidence.items()}
    for name in members.keys() & evidence.keys():
        alone = Schema({name: members[name]})
        whole[name] = _read(alone.domain, name, evidence[name], alone)
    return whole


def _read(domain: Domain, name: str, given: object, schema: Schema | None) -> object:
    # An array of floats is a likelihood.
    several = as_list(given) if isinstance(given, np.ndarray) and given.ndim and given.dtype.kind not in "fc" else given
    if not isinstance(several, list | tuple | range | Set):
        if not _is_value(given):
            return given
        values = _values(domain, name, given, schema)
        return values[0] if len(values) == 1 else set(values)
    if isinstance(several, list | tuple):
        _check_clear(name, several, domain.size((name,)))
    if schema is None and (isinstance(several, range) or not any(isinstance(v, str) and _TO in v for v in several)):
        return given
    return {label for value in several for label in _values(domain, name, value, schema)}


def _values(domain: Domain, name: str, value: object, schema: Schema | None) -> Sequence[Any]:
    """Return the labels, or the codes of an attribute without labels, that a value or a range stands for."""
    labels = domain.labels.get(name)
    if isinstance(value, str):
        if (labels is not None and value in labels) or (schema is None and _TO not in value):
            return [value]  # one that is not a label is not a value of the domain, which says so
        codes = codes_of_text(domain, name, value, schema)
    elif schema is None:
        return [value]
    else:
        column = schema.columns[name]
        is_missing = plain(value) is None
        code = None if is_missing else _code_by(column, value)
        codes = [*column.null_codes] if is_missing else [] if code is None else [code]
        if not codes:
            raise ValueError(f"attribute {name!r} needs {_needed(domain, name, column)}, got {value!r}")
    return codes if labels is None else [labels[code] for code in codes]


def _is_value(given: object) -> bool:
    """Return whether an object may be a value of a table, rather than, for example, a likelihood."""
    value = plain(given)
    return value is None or isinstance(
        value, str | int | float | Decimal | Fraction | datetime.date | datetime.timedelta
    )


def _check_clear(name: str, values: Sequence[Any], size: int) -> None:
    """Raise ``ValueError`` for a list that may hold a likelihood for each value, as other packages read it."""
    with contextlib.suppress(TypeError):  # an object that cannot be a key is not a value, and refused elsewhere
        has_repeats = len(set(values)) < len(values)
        are_parts = (isinstance(value, int | float | np.number | np.bool_) and 0 <= value <= 1 for value in values)
        if has_repeats or (len(values) == size > 1 and all(are_parts)):
            ways = "pypgm.Likelihood([...]) has a likelihood for each value, a set such as {0, 1} the values it may be"
            raise ValueError(f"evidence on {name!r} is a list that may mean two things: {ways}")


def codes_of_text(domain: Domain, name: str, text: str, schema: Schema | None) -> list[int]:
    """Return the codes of a value, of several with commas between them, or of a range; a value comes first.

    Parameters
    ----------
    domain : Domain
    name : str
        An attribute of it.
    text : str
        A label, or any spelling that a column of the schema accepts; ``(missing)``, as it is shown, where there may be
        none; ``30..40``, ``30..`` and ``..40`` are ranges, in the
        order of the codes, nulls and other values aside.
    schema : Schema, optional
        Schema of the table with this domain.

    Raises
    ------
    ValueError
        If part of the text is not a value, or a range is empty.

    Examples
    --------
    >>> codes_of_text(Domain({"age": 85}), "age", "83..", None)
    [83, 84]
    """
    column = None if schema is None else schema.columns[name]
    code, needed = _code_of(domain, name, text, schema)
    if code is not None:
        return [code]
    if column is not None and text.strip() == MISSING and column.null_codes:
        return [*column.null_codes]
    parts = split_text(text)
    if len(parts) > 1 and not isinstance(column, Integer | Real):  # whose numbers may be written 40,000
        return [code for part in parts for code in codes_of_text(domain, name, part, schema)]
    ends = text.split(_TO)
    if len(ends) != 2 or not any(ends):
        raise ValueError(f"attribute {name!r} needs {needed}{_hint(domain, name, text, len(parts) > 1)}")
    if (line := listed_line(column)) is not None:
        return _codes_between(name, line, text, ends, needed)
    aside = set() if column is None else {*column.null_codes, column.other_code}
    inside = [code for code in range(domain.size((name,))) if code not in aside]
    places = [inside[0], inside[-1]]
    for i, end in enumerate(ends):
        if end:
            code, _ = _code_of(domain, name, end, schema)
            if code not in inside:
                raise ValueError(f"attribute {name!r} needs {needed} at the ends of a range, got {end!r}")
            places[i] = inside[inside.index(code)]
    in_range = [code for code in inside if places[0] <= code <= places[1]]
    if not in_range:
        raise ValueError(f"no value of attribute {name!r} is in the range: {ends[0]!r} comes after {ends[1]!r}")
    return in_range


def _codes_between(name: str, line: ListedNumbers, text: str, ends: Sequence[str], needed: str) -> list[int]:
    """Return the codes of the listed numbers in a range, whose ends need not be listed."""
    try:
        low, high = (line.place_of(end) if end else None for end in ends)
    except UnreadableError:
        raise ValueError(f"attribute {name!r} needs {needed} at the ends of a range, got {text!r}") from None
    codes = line.between(low, high)
    if not codes:
        raise ValueError(f"no value of attribute {name!r} is in the range {text!r}")
    return codes


def _code_of(domain: Domain, name: str, value: str, schema: Schema | None) -> tuple[int | None, str]:
    """Return the code of a label or, by a schema, of a value, if it has one, and a description of allowed values."""
    texts, size, bare = label_texts(domain, name), domain.size((name,)), value.strip()
    if texts is None:
        number = whole_of(bare.removeprefix("+"))
        code = number if number is not None and number < size else None
    else:
        code = next((texts.index(text) for text in (value, bare) if text in texts), None)
    if code is None and bare == MISSING and schema is None:
        code = missing_code(domain.labels.get(name, ()))
    if code is not None or schema is None:
        return code, f"an integer from 0 to {size - 1}" if texts is None else f"one of {listed([*map(repr, texts)])}"
    column = schema.columns[name]
    return _code_by(column, value), _needed(domain, name, column)


def _code_by(column: Column, value: object) -> int | None:
    """Return the code that a column has for a value; None for a null or another value that is not declared."""
    codes, problem = column.encode([value])
    # A value that is not declared may be a typing error: other values are asked for by their label.
    is_stray = problem is not None or codes[0] == column.other_code or _is_no_null(column, value, codes[0])
    return None if is_stray else int(codes[0])


def _needed(domain: Domain, name: str, column: Column) -> str:
    """Return a description of the values of an attribute."""
    first = domain.labels.get(name, ("",))[0]
    is_binned = isinstance(column, Binned) and type(first) is str
    if isinstance(column, Categorical) and not column.values:  # of an open column
        needed = f"one of {listed([*map(repr, domain.labels.get(name, ()))])}, as no value of it was found"
    else:
        needed = column.allowed + (f", or one of its bins such as {first!r}" if is_binned else "")
    nulls = [repr(kind.label) for kind in column.null_kinds]
    return needed + (f"; {listed(nulls)} or {MISSING!r} asks for a missing value" if nulls else "")


def _hint(domain: Domain, name: str, text: str, is_list: bool) -> str:
    """Return a guess at the meaning of a text that is not a value, as the end of a sentence."""
    if is_list:
        return f"; of several values give a list, --given again and again, or a range: {name}=30{_TO}39"
    labels = domain.labels.get(name)
    if labels is not None and text.strip().removeprefix("-").isdigit():
        return "; a number in a text is a value, not a code"
    return nearest(text, labels or ())


def _is_no_null(column: Column, value: object, code: int) -> bool:
    """Return whether a value that is not null would get the code of nulls."""
    plain_value = plain(value)
    return code in column.null_codes and not (
        plain_value is None
        or str(plain_value) in column.null_texts
        or (is_number(plain_value) and plain_value in column.null_numbers)
    )


def split_text(text: str) -> list[str]:
    """Return the parts between the commas of a text; ``ValueError`` for a line break outside quotes."""
    try:
        return next(csv.reader([text]), [])
    except csv.Error:
        way_out = "write it in double quotes within the argument"
        raise ValueError(f"{text!r} has a line break in a name or a value: {way_out}") from None
