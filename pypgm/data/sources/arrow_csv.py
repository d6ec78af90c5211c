"""Large CSV files read by Arrow, several times as fast as by the plain reader and with the same result.

Files that Arrow reads otherwise, or refuses, are left to the plain reader, which says what is wrong: a quote within a
field, a line that ends in a bare carriage return, a record of other fields, a value that no column has.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pypgm.data.columns.column import Encoder, Misfit, Readable
from pypgm.data.columns.numbers import Numeric
from pypgm.data.sources.dialect import COMMAS, Dialect
from pypgm.data.sources.encoding import Growing
from pypgm.data.sources.files import MAX_FIELD, check_encoding, open_text

_MIN_BYTES = 1 << 20  # bytes of a file that take as long to read as Arrow takes to import
_BLOCK = 1 << 24  # bytes that are read at a time
_MAX_BLOCKS = 4  # that a row may be as long as
_MAX_LOOKED_UP = 4096  # different values of a column that are looked up one by one
_CR, _LF, _QUOTE = b'\r\n"'


def arrow_codes(
    path: str | os.PathLike[str],
    header: Sequence[str],
    columns: Mapping[str, Readable],
    *,
    dialect: Dialect = COMMAS,
    texts: Mapping[str, list[str]],
) -> dict[str, NDArray[Any]] | None:
    """Return the codes of each column of a CSV file in UTF-8; None where that is for the plain reader.

    Parameters
    ----------
    path : str or path-like
    header : sequence of str
        The fields of the first row.
    columns : mapping of str to Column
        All are in the header, once.
    dialect : Dialect
    texts : mapping of str to list
        Lists that the texts of some columns are appended to, if codes are returned.

    Returns
    -------
    dict of str to ndarray of unsigned integers, shape (n_records,), or None

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is compressed, and the compressed data are damaged.
    """
    if not _is_suited(path, dialect):
        return None
    delimiter = dialect.delimiter
    try:
        csv = importlib.import_module("pyarrow.csv")
    except ImportError:
        return None
    by_name = {name: number for number, name in enumerate(header)}
    numbers = {name: by_name[name] for name in columns}
    encoders = {name: column.encoder() for name, column in columns.items()}
    all_codes = Growing(columns)
    held: dict[str, list[str]] = {name: [] for name in texts}
    with open_text(path) as file:
        n_before = dialect.header_lines
        for block in _blocks(file.buffer, dialect):
            table = None if block is None else _parsed(csv, block, len(header), delimiter, numbers.values())
            if table is None:
                return None
            n_left_out = min(n_before, table.num_rows)
            n_before -= n_left_out
            for name, number in numbers.items():
                column_texts = _distinct(table.column(str(number)).slice(n_left_out))
                if column_texts is None:
                    return None
                places, distinct = column_texts
                codes, problem = _codes(distinct, columns[name], encoders[name])
                if problem is not None:
                    return None
                all_codes.append(name, codes[places])
                if name in held:
                    given = distinct.to_pylist()
                    held[name].extend(map(given.__getitem__, places.tolist()))
    for name, fields in held.items():
        texts[name].extend(fields)
    return all_codes.whole()


def _is_suited(path: str | os.PathLike[str], dialect: Dialect) -> bool:
    """Return whether a file is large enough, and of a dialect that this reader knows, for Arrow to read it."""
    is_utf8 = check_encoding(dialect.encoding) == "utf-8"
    is_plain = is_utf8 and not dialect.comment and len(dialect.delimiter.encode()) == 1
    return is_plain and Path(path).is_file() and Path(path).stat().st_size >= _MIN_BYTES


def _skipped(file: BinaryIO, n_lines: int) -> bool:
    """Skip the lines before a header; False where the plain reader may end them elsewhere."""
    for _ in range(n_lines):
        if not (line := file.readline(_BLOCK)):
            break
        if len(line) == _BLOCK or line.count(b"\r") != line.count(b"\r\n"):
            return False
    return True


def _blocks(file: BinaryIO, dialect: Dialect) -> Iterator[bytes | None]:
    """Yield a file in blocks of whole rows; None for a block whose rows the two readers may split differently."""
    left, delimiter = b"", dialect.delimiter
    if not _skipped(file, dialect.skip):
        yield None
    while data := file.read(_BLOCK):
        left += data
        end = _end_of_rows(left)
        if end:
            yield left[:end] if _is_regular(left[:end], delimiter) else None
            left = left[end:]
        elif len(left) > _MAX_BLOCKS * _BLOCK:
            yield None
    if left:
        yield left if _is_regular(left, delimiter) else None


def _end_of_rows(block: bytes) -> int:
    """Return the end of the last whole row of a block; 0 if there is none."""
    if _QUOTE not in block:
        return block.rfind(_LF) + 1
    seen = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(seen == _LF)
    outside = np.searchsorted(np.flatnonzero(seen == _QUOTE), ends) % 2 == 0
    return int(ends[outside][-1]) + 1 if outside.any() else 0


def _is_regular(block: bytes, delimiter: str) -> bool:
    """Return whether lines end in line feeds, and quotes are around fields or doubled within such."""
    if block.count(b"\r") != block.count(b"\r\n") or b"\0" in block:
        return False
    if _QUOTE not in block:
        return True
    around = np.frombuffer(b"\n" + block + b"\n", np.uint8)
    quotes = np.flatnonzero(around == _QUOTE)
    if len(quotes) % 2:
        return False
    opened, closed = quotes[::2], quotes[1::2]
    doubled = opened[1:] == closed[:-1] + 1
    borders = (_CR, _LF, ord(delimiter))
    begins, ends = np.isin(around[opened - 1], borders), np.isin(around[closed + 1], borders)
    return bool(begins[0] and ends[-1] and (begins[1:] | doubled).all() and (ends[:-1] | doubled).all())


def _parsed(csv: Any, block: bytes, n_fields: int, delimiter: str, wanted: Iterable[int]) -> Any:  # noqa: ANN401
    """Return some columns of a block as texts, by their numbers; None where Arrow refuses it."""
    names = list(map(str, range(n_fields)))
    arrow = importlib.import_module("pyarrow")
    try:
        # Memory of Arrow: one of its threads may be the last to hold the table, and a thread that drops an object of
        # Python, once Python has ended, aborts the process.
        memory = arrow.allocate_buffer(len(block))
        np.frombuffer(memory, np.uint8)[:] = np.frombuffer(block, np.uint8)
        return csv.read_csv(
            arrow.BufferReader(memory),
            csv.ReadOptions(column_names=names),
            csv.ParseOptions(delimiter=delimiter, newlines_in_values=_QUOTE in block),
            csv.ConvertOptions(
                column_types=dict.fromkeys(names, "string"),
                strings_can_be_null=False,
                include_columns=list(map(str, wanted)),
            ),
        )
    except MemoryError:
        raise
    except Exception:  # which the plain reader gives words
        return None


def _distinct(column: Any) -> tuple[NDArray[np.int32], Any] | None:  # noqa: ANN401
    """Return the index of each text of a column among its distinct texts, and those; None if one is too long."""
    compute = importlib.import_module("pyarrow.compute")
    whole = column.combine_chunks().dictionary_encode()
    if len(whole.dictionary) and compute.max(compute.utf8_length(whole.dictionary)).as_py() > MAX_FIELD:
        return None
    return _held(whole.indices, np.int32), whole.dictionary


def _held(array: Any, dtype: DTypeLike) -> NDArray[Any]:  # noqa: ANN401
    """Return the numbers of an array, none of them null; its own `to_numpy` imports pandas."""
    return np.frombuffer(array.buffers()[1] or b"", dtype)[array.offset : array.offset + len(array)]


def _codes(distinct: Any, column: Readable, encode: Encoder) -> tuple[NDArray[Any], Misfit | None]:  # noqa: ANN401
    """Return the codes of distinct texts; many numbers are read at once, to the same doubles as one by one."""
    if len(distinct) <= _MAX_LOOKED_UP or not isinstance(column, Numeric):
        return encode(distinct.to_pylist())
    compute = importlib.import_module("pyarrow.compute")
    plain = compute.match_substring_regex(distinct, _number(*column.marks))
    codes = np.empty(len(distinct), column.dtype)
    mask = _held(plain.cast("uint8"), np.uint8) == 1
    numbers = distinct.filter(plain)
    for mark, point in ((column.thousands, ""), (column.decimal, ".")):
        numbers = compute.replace_substring(numbers, mark, point) if mark not in {"", point} else numbers
    codes[mask], problem = encode(_held(numbers.cast("float64"), np.float64))
    if problem is None:
        codes[~mask], problem = encode(distinct.filter(compute.invert(plain)).to_pylist())
    return codes, problem


def _number(decimal: str, thousands: str) -> str:
    """Return the pattern of texts that Arrow reads as the plain reader does, once their marks are plain."""
    point, mark = re.escape(decimal), re.escape(thousands)
    groups = f"|[0-9]{{1,3}}({mark}[0-9]{{3}}){{1,4}}" if thousands else ""
    return f"^-?([0-9]{{1,17}}{groups})({point}[0-9]{{1,17}})?$"
