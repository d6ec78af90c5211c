"""Encoding of raw columns as codes, with all that is wrong reported at once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.categorical import Categorical
from pypgm.data.columns.closed import Codes
from pypgm.data.columns.column import Column, Encoder, Readable, guarded_encoder
from pypgm.data.columns.made import Made
from pypgm.data.columns.open_columns import OpenColumn
from pypgm.data.columns.values import Values
from pypgm.data.schema.person import KeyColumn
from pypgm.data.sources.frames import Frame, as_columns
from pypgm.domain import Domain, Label, check_domain, listed

_SPARE = 8  # an array grows by one part in so many at least, so that it is not copied for each piece
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")


def encoded(
    columns: Mapping[str, Readable], table: Frame, *, drop: Sequence[str] = (), ignore_extra: bool = False
) -> dict[str, NDArray[Any]]:
    """Return the codes of a table's columns.

    Parameters
    ----------
    columns : mapping of str to Column
        Declared columns.
    table : mapping of str to sequence, or data frame
        Raw values.
    drop : sequence of str
        Columns that are left out.
    ignore_extra : bool
        Leave out all others that are not declared, instead of refusing them.

    Raises
    ------
    ValueError
        If anything is wrong; the message lists every fault, never a value.
    """
    given = as_columns(table)
    problems = name_problems(columns, list(given), drop=drop, ignore_extra=ignore_extra)
    encoders = {name: guarded_encoder(column) for name, column in columns.items() if name in given}
    return _encoded(encoders, given, problems, "the table", 0)


def encoded_pieces(
    columns: Mapping[str, Readable], pieces: Iterable[Frame], what: str
) -> Iterator[dict[str, NDArray[Any]]]:
    """Yield the codes of a table's columns piece by piece; `what` is the name of the table in an error.

    Raises
    ------
    ValueError
        If a piece does not fit; the message lists all faults of the first such piece.
    """
    encoders = {name: guarded_encoder(column) for name, column in columns.items()}
    first = 0
    for piece in pieces:
        codes = _encoded(encoders, as_columns(piece), [], what, first)
        first += len(next(iter(codes.values()), ()))
        yield codes


def _encoded(
    encoders: Mapping[str, Encoder], given: Mapping[str, Values], problems: list[str], what: str, first: int
) -> dict[str, NDArray[Any]]:
    """Return the codes of columns whose values begin at some row; raise all problems, those given too."""
    results = {name: encode(given[name]) for name, encode in encoders.items()}
    problems += [problem.of(name, first) for name, (_, problem) in results.items() if problem is not None]
    refuse(what, problems)
    return {name: codes for name, (codes, _) in results.items()}


class Growing:
    """Codes of columns that are read in pieces, without a second copy of all pieces while they are joined.

    Parameters
    ----------
    columns : mapping of str to Readable

    Examples
    --------
    >>> from pypgm.data import Integer
    >>> codes = Growing({"age": Integer(0, 99)})
    >>> for piece in ([3, 1], [2]):
    ...     codes.append("age", np.array(piece, np.uint8))
    >>> codes.whole()
    {'age': array([3, 1, 2], dtype=uint8)}
    """

    def __init__(self, columns: Mapping[str, Readable]) -> None:
        self._buffers = {name: np.empty(0, column.dtype) for name, column in columns.items()}
        self._lengths = dict.fromkeys(columns, 0)

    def append(self, name: str, piece: NDArray[Any]) -> None:
        """Append a piece of a column's codes."""
        buffer, start = self._buffers[name], self._lengths[name]
        end = self._lengths[name] = start + len(piece)
        if end > len(buffer):
            buffer.resize(max(end, len(buffer) + len(buffer) // _SPARE), refcheck=False)
        np.copyto(buffer[start:end], piece, casting="safe")

    def whole(self) -> dict[str, NDArray[Any]]:
        """Return all codes; no more can be appended then."""
        for name, buffer in self._buffers.items():
            buffer.resize(self._lengths[name], refcheck=False)
        return self._buffers


def name_problems(
    columns: Mapping[str, object], names: Sequence[str], *, drop: Sequence[str] = (), ignore_extra: bool = False
) -> list[str]:
    """Return the problems of the names of a table's columns."""
    times, left_out = Counter(names), set(drop)
    alike = {name.casefold(): name for name in names}  # which, but for its case, is a declared name and no value
    missing = [
        repr(name) + (f" ({alike[name.casefold()]!r} has another case)" if name.casefold() in alike else "")
        for name in columns
        if name not in times
    ]
    repeated = [repr(name) for name in columns if times[name] > 1]
    extra = [repr(name) for name in names if name not in columns and name not in left_out]
    problems = [f"lacks a column for {listed(missing)}"] if missing else []
    keys = [name for name in columns if name not in times and isinstance(columns[name], KeyColumn)]
    if keys and len(keys) == len(missing):  # of a table that lacks other columns too, it says nothing
        problems[0] += ", which names persons; synthetic records have none, and are read by schema.of_records()"
    problems += [f"has more than one column for {listed(repeated)}"] if repeated else []
    # Where a name is missing, the header may be a record: its texts are not shown.
    if extra and not missing and not ignore_extra:
        way_out = 'ignore_extra=True or --ignore-extra leaves them out, or the list "drop" of the schema'
        problems.append(f"has columns that the domain does not: {listed(extra)}; {way_out}")
    return problems


def check_writable(names: Iterable[object]) -> None:
    """Raise ``ValueError`` if no file can have a column of such a name."""
    unwritable = [name for name in names if isinstance(name, str) and _UNWRITABLE.search(name)]
    if unwritable:
        raise ValueError(f"the name of column {unwritable[0]!a} has a NUL or half a surrogate pair: no table holds it")


def problems_error(name: str, problems: Sequence[str]) -> ValueError:
    """Return an error that lists all that is wrong with a file or a table."""
    if len(problems) > 1:
        return ValueError(f"{name} has {len(problems)} problems:\n  " + ";\n  ".join(problems))
    verb = problems[0].split(" ", 1)[0] in {"is", "lacks", "has", "needs"}
    return ValueError(f"{name}{' ' if verb else ': '}{problems[0]}")


def refuse(name: str, problems: Sequence[str]) -> None:
    """Raise ``ValueError`` that lists all that is wrong with a file or a table, if anything is."""
    if problems:
        raise problems_error(name, problems)


def columns_of(domain: Domain, *, with_nulls: bool = False) -> dict[str, Column]:
    """Return the columns of a domain: labels are values, sizes are codes; with nulls, the last code is theirs."""
    check_domain(domain)
    columns: dict[str, Column] = {}
    codes = lru_cache(maxsize=None)(Codes)  # one for all attributes of a size
    for name, size in zip(domain.attributes, domain.shape, strict=True):
        given = domain.labels.get(name)
        labels = None if given is None else [_as_label(label) for label in given]
        is_blank = any(isinstance(label, str) and not label.strip() for label in labels or ())
        null = ("\0" if is_blank else "") if with_nulls else ()
        try:
            columns[name] = codes(size, null=null) if labels is None else _listed(labels, null)
        except ValueError as error:
            raise ValueError(f"attribute {name!r}: {error}") from None
    return columns


def as_column(name: str, given: object) -> Column | OpenColumn | Made:
    """Return the column of a declaration; a size stands for `Codes`, labels for `Categorical`, ordinal if numbers.

    Raises
    ------
    TypeError
        If it is not of one of these kinds.
    """
    if isinstance(given, Column | OpenColumn | Made):
        return given
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        return _listed(given)
    if isinstance(given, int) and not isinstance(given, bool):
        return Codes(given)
    raise TypeError(f"column {name!r} needs a column of pypgm.data, a size or a list of labels, got {given!r}")


def _listed(labels: Sequence[Label], null: str | tuple[str, ...] = ()) -> Categorical:
    """Return the column of a list of labels, whose order means something where all are numbers."""
    ordinal = all(isinstance(v, int | float) and not isinstance(v, bool) for v in labels)
    return Categorical(labels, ordinal=ordinal, null=null)


def _as_label(label: object) -> Label:
    """Return a label as a Python number or a text."""
    plain = label.item() if isinstance(label, np.generic) else label
    return plain if isinstance(plain, Label) else str(plain)
