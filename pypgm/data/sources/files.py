"""Files that are read whole or not at all, and written whole or not at all."""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from io import BufferedReader
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Literal, TextIO, cast

from pypgm._base.file_kind import HTML, JSON, START, XML, binary_kind, next_step, text_kind
from pypgm.data.sources.dialect import COMMAS, Dialect
from pypgm.data.sources.remote import is_remote, open_remote

MOST_TEXT = 1 << 24
"""Most characters of a file that is read whole: a file of a few kilobytes may unpack to several gigabytes."""

ZIP_MAGIC = b"PK\x03\x04"  # that releases begin with, and workbooks of Excel
NO_TEXT = "a text has half a surrogate pair, which no file of text can hold"
_GZIP_MAGIC = b"\x1f\x8b"
MAX_FIELD = 1 << 24
"""Most characters of a field, and of a line, of a table: all that a quote which never closes can take."""

_NO_TABLES = (HTML, JSON, XML)  # texts that would be read as a table of one column
_PEEKED = 64  # lines in which a space before a quote is looked for
_ROWS = 1 << 12  # that are written at a time
_BLOCK = 1 << 16  # characters that lines are read of at a time
_SEPARATORS = ";\t|,"  # that a table with one column may have been meant to have
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n?")  # that Excel writes before the header
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))  # of the order of bytes
_LINKS = 40  # that are followed from one name, as the system does


def as_path(path: str | os.PathLike[str]) -> Path:
    r"""Return a path whose name the system takes.

    Raises
    ------
    ValueError
        If the name has a NUL, or half a surrogate pair that stands for no byte.
    TypeError
        If it is not a path.

    Examples
    --------
    >>> as_path("a\0b")
    Traceback (most recent call last):
    ValueError: a path must not have a NUL, got 'a\x00b'
    """
    try:
        place = Path(path)
        os.fsencode(place)
    except UnicodeEncodeError:
        raise ValueError(f"a path must not have half a surrogate pair, got {os.fspath(path)!a}") from None
    except TypeError:
        raise TypeError(f"a path must be a text or path-like, got {type(path).__name__}") from None
    if "\0" in str(place):
        raise ValueError(f"a path must not have a NUL, got {str(place)!r}")
    return place


def check_no_pipe(path: str | os.PathLike[str], what: str = "a table") -> None:
    """Raise ``ValueError`` if a file that is read more than once is a pipe, which can be read only once."""
    if as_path(path).is_fifo():
        raise ValueError(f"{os.fspath(path)} is a pipe, and {what} is read more than once: write it to a file")


def check_local(path: str | os.PathLike[str]) -> None:
    """Raise ``ValueError`` if a result would be written behind an address: nothing there is replaced in one step."""
    if is_remote(path):
        raise ValueError(f"{os.fspath(path)} is an address: write a file of this machine, and copy it there")


def open_bytes(path: str | os.PathLike[str]) -> BufferedReader:
    """Open a file to read its bytes: one of this machine, or behind an address such as ``s3://…``."""
    if is_remote(path):
        return open_remote(os.fspath(path))
    return as_path(path).open("rb")


def csv_rows(path: str | os.PathLike[str], file: TextIO, dialect: Dialect = COMMAS) -> Iterator[list[str]]:
    """Yield the header of a CSV file and its records; ``ValueError`` names the first line of a malformed row.

    A mark of the order of bytes is left out, a first line ``sep=;`` that names the delimiter, what the dialect says is
    no record, and the blank field after a delimiter that ends each record but not the header.
    """
    rows = _every_row(path, file, dialect)
    # Blank lines stand around titles; without any, one at the beginning is an error.
    has_title = bool(dialect.skip or dialect.comment)
    if (header := next(filter(None, rows) if has_title else rows, None)) is None:
        return
    yield header
    for _ in islice(filter(None, rows), dialect.header_lines - 1):
        pass
    if (first := next(filter(None, rows), None)) is None:
        return
    if len(first) != len(header) + 1 or first[-1].strip():
        yield first
        yield from rows
        return
    # One record alone may have a blank field too many because it has a delimiter in a text.
    for number, row in enumerate(chain([first], filter(None, rows)), 1):
        if len(row) != len(first) or row[-1].strip():
            needed = f"needs {len(header)} fields and a delimiter after the last, as row 1 has, got {len(row)} fields"
            raise ValueError(f"{os.fspath(path)}: row {number} (the header is row 0): {needed}")
        yield row[:-1]


def _every_row(path: str | os.PathLike[str], file: TextIO, dialect: Dialect) -> Iterator[list[str]]:
    """Yield the rows of a CSV file from its header on, without comments."""
    # The limit of all readers is raised, never lowered again: another thread may be reading.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_FIELD))
    n_before, places = dialect.skip, None
    try:
        lines = _lines(file)
        for _ in islice(lines, dialect.skip):
            pass
        first = next(lines, "").removeprefix("\ufeff")
        if not dialect.skip and (named := _SEPARATOR_LINE.fullmatch(first)):
            _check_separator(path, named[1], dialect.delimiter)
            first, n_before = "", 1
        start = [first] if first else []
        for text in islice(lines, _PEEKED):
            start.append(text)
            if len(text) >= _BLOCK:
                break
        places = _RowLines(chain(start, lines), n_before, dialect.comment)
        is_spaced = _has_spaced_quotes(start, dialect)
        rows = csv.reader(places, strict=True, skipinitialspace=is_spaced, **dialect.csv_options)
        for row in rows:
            yield row
            places.is_new = True
    except csv.Error:
        line = 1 + n_before if places is None else places.first
        message = f"{os.fspath(path)} is not a CSV file: a quote does not close, or a field is too long"
        way_out = "a quote within a field is written twice, with no backslash"
        raise ValueError(f"{message}, in the row that begins in line {line}; {way_out}") from None


class _RowLines:
    """Lines of a file without comments, which stand between rows and never in one.

    Attributes
    ----------
    first : int
        Number of the line in which the current row begins.
    is_new : bool
        Set by the reader of rows when a row is complete.
    """

    def __init__(self, lines: Iterable[str], n_before: int, comment: str) -> None:
        self._lines, self._n_before, self._comment = lines, n_before, comment
        self.first, self.is_new = n_before + 1, True

    def __iter__(self) -> Iterator[str]:
        for number, line in enumerate(self._lines, self._n_before + 1):
            if self.is_new:
                if self._comment and line.startswith(self._comment):
                    continue
                self.first, self.is_new = number, False
            if len(line) >= MAX_FIELD:
                raise csv.Error
            yield line


def _has_spaced_quotes(lines: Sequence[str], dialect: Dialect) -> bool:
    """Return whether spaces stand before a quote that opens a field."""
    mark = dialect.delimiter
    if mark == " " or not any(f'{mark} "' in line or f"{mark}  " in line for line in lines):
        return False
    rows = csv.reader(lines, **dialect.csv_options)
    return any(re.match(' +"', field) for row in rows for field in row)


def _check_separator(path: str | os.PathLike[str], named: str, delimiter: str) -> None:
    if named != delimiter:
        message = f"{os.fspath(path)} begins with a line that says sep={named}"
        raise ValueError(f"{message}, and the delimiter is {delimiter!r}: delimiter={named!r} or --delimiter sets it")


def _lines(file: TextIO) -> Iterator[str]:
    """Yield the lines of a file; one that is longer than may be kept in memory comes in parts."""
    while block := file.read(_BLOCK):
        block += file.readline(MAX_FIELD)
        yield from io.StringIO(block, newline="")


def separator_hint(header: Sequence[str], delimiter: str) -> str:
    """Return a hint at another delimiter, if a header of one column contains it; else ""."""
    marks = [repr(mark) for mark in _SEPARATORS if len(header) == 1 and mark in header[0] and mark != delimiter]
    return f"; it has {marks[0]} in it: delimiter={marks[0]} or --delimiter says so" if marks else ""


def csv_chunks(rows: Iterator[list[str]], n_fields: int, size: int) -> Iterator[tuple[list[list[str]], str]]:
    """Yield about `size` rows at a time without blank ones, up to a row of wrong length, and its problem."""
    first_row = 1
    while chunk := list(islice(rows, size)):
        problem = ""
        if {*map(len, chunk)} != {n_fields}:
            chunk = [row for row in chunk if row]
            for row, fields in enumerate(chunk, first_row):
                if len(fields) != n_fields:
                    problem = f"row {row} (the header is row 0): needs {n_fields} fields, got {len(fields)}"
                    chunk = chunk[: row - first_row]
                    break
        first_row += len(chunk)
        if chunk or problem:
            yield chunk, problem


def write_rows(
    file: TextIO,
    rows: Iterable[Iterable[object]],
    dialect: Dialect = COMMAS,
    *,
    in_quotes: bool = False,
    line_end: str = "\n",
) -> None:
    r"""Write rows as a CSV file has them.

    A field with a line break of any kind is in quotes, and so is every field if `in_quotes`.

    Examples
    --------
    >>> file = io.StringIO()
    >>> write_rows(file, [["a\rb", "c"]])
    >>> file.getvalue()
    '"a\rb",c\n'
    """
    quoting: Literal[0, 1] = csv.QUOTE_ALL if in_quotes else csv.QUOTE_MINIMAL
    # A writer quotes characters of its line end; some versions of Python quote no other line break.
    options: dict[str, Any] = {**dialect.csv_options, "quoting": quoting, "lineterminator": "\r\n"}
    left = iter(rows)
    while some := list(islice(left, _ROWS)):
        if not in_quotes and (plain := _without_quotes(some, dialect.delimiter, line_end)) is not None:
            file.write(plain)
            continue
        text = io.StringIO(newline="")
        csv.writer(text, **options).writerows(some)
        whole = text.getvalue()
        if whole.count("\n") == whole.count("\r") == len(some):
            file.write(whole.replace("\r\n", line_end))
        else:  # a field has a line break, which stays as it is
            csv.writer(_Lines(file, line_end), **options).writerows(some)


def _without_quotes(rows: Sequence[Iterable[object]], delimiter: str, line_end: str) -> str | None:
    """Return rows of texts as a CSV file has them; None if a field needs quotes, or may."""
    try:
        lengths = {len(cast("Sequence[str]", row)) for row in rows}
        n_fields = min(lengths) if len(lengths) == 1 else 0
        if n_fields < 2:  # a row of one empty field has quotes
            return None
        whole = "\n".join(map(delimiter.join, cast("Sequence[Sequence[str]]", rows)))
    except TypeError:  # a row that can be read only once, or a field of another type
        return None
    as_many = whole.count(delimiter) == len(rows) * (n_fields - 1) and whole.count("\n") == len(rows) - 1
    if not as_many or '"' in whole or "\r" in whole:
        return None
    return (whole if line_end == "\n" else whole.replace("\n", line_end)) + line_end


def write_header(file: TextIO, names: Sequence[str], dialect: Dialect = COMMAS, line_end: str = "\n") -> None:
    """Write the names of columns as the first line of a CSV file.

    A name that begins with a byte order mark is in quotes, so that the mark does not begin the file.
    """
    write_rows(file, [names], dialect, in_quotes=names[0].startswith("\ufeff"), line_end=line_end)


class _Lines:
    """Output of a writer of rows, with the line ends of pypgm's files."""

    def __init__(self, file: TextIO, line_end: str) -> None:
        self._write, self._line_end = file.write, line_end

    def write(self, line: str) -> int:
        return self._write(f"{line[:-2]}{self._line_end}")


@contextlib.contextmanager
def open_text(path: str | os.PathLike[str], encoding: str | None = None) -> Iterator[TextIO]:
    """Open a text file, plain or compressed with gzip, and name its faults in plain words.

    Parameters
    ----------
    path : str or path-like
        Its first bytes say whether the file is compressed, not its name.
    encoding : str, optional
        As Python names it; by default UTF-8, where no other may be chosen. Of UTF-8 a byte order mark is left out.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is not text in that encoding, of a kind whose first bytes tell, no encoding has that name, or
        compressed data are broken or end too early.

    Examples
    --------
    >>> with open_text("table.csv.gz") as file:  # doctest: +SKIP
    ...     header = file.readline()
    """
    codec = check_encoding("utf-8" if encoding is None else encoding)
    with open_bytes(path) as file:
        packed = file.peek(START).startswith(_GZIP_MAGIC)
        raw = gzip.GzipFile(fileobj=file) if packed else file
        try:
            start = raw.peek(START)
            if encoding is not None:
                _check_mark(path, start, codec)
            if kind := binary_kind(start):
                step = "" if encoding is None else next_step(kind)
                raise ValueError(f"{os.fspath(path)} must be text, but is {kind}{' in gzip' if packed else ''}{step}")
            if encoding is not None and (kind := text_kind(start.decode(codec, "replace"))) in _NO_TABLES:
                raise ValueError(f"{os.fspath(path)} is no CSV file: it is {kind}{next_step(kind)}")
            with io.TextIOWrapper(
                cast("BinaryIO", raw), encoding="utf-8-sig" if codec == "utf-8" else codec, newline=""
            ) as text:
                yield text
        except EOFError:
            raise ValueError(f"{os.fspath(path)} is truncated: its compressed data end too early") from None
        except (gzip.BadGzipFile, zlib.error):
            raise ValueError(f"{os.fspath(path)} is damaged: its compressed data do not unpack") from None
        except UnicodeError as error:
            if isinstance(error, UnicodeDecodeError):
                # It holds records, and stays the context of the error that is raised.
                error.object, error.args = b"", ()
            shown = "UTF-8" if codec == "utf-8" else encoding
            way_out = (
                "; another is chosen with encoding or --encoding, such as cp1252, of Windows, or latin-1"
                if encoding
                else ""
            )
            raise ValueError(f"{os.fspath(path)} must be text in {shown}, but is not{way_out}") from None


def _check_mark(path: str | os.PathLike[str], start: bytes, codec: str) -> None:
    """Raise ``ValueError`` if a file begins with the byte order mark of another encoding."""
    marked = next((name for mark, name in _MARKS if start.startswith(mark)), "")
    if marked and not codec.startswith(("utf-16", "utf-32") if marked == "utf-16" else "utf-8"):
        begins = f"{os.fspath(path)} must be text in {codec.upper()}, and begins with the byte order mark of {marked}"
        raise ValueError(f"{begins}: encoding={marked!r} or --encoding {marked} says so")


def read_text(path: str | os.PathLike[str], encoding: str | None = None, most: int = MOST_TEXT) -> str:
    """Return the text of a file, as `open_text` reads it; ``ValueError`` if it is too long.

    Parameters
    ----------
    path : str or path-like
    encoding : str, optional
        See `open_text`.
    most : int
        Largest number of characters, unpacked.

    Examples
    --------
    >>> text = read_text("network.bif.gz")  # doctest: +SKIP
    """
    with open_text(path, encoding) as file:
        text = file.read(most + 1)
        if len(text) > most:
            raise ValueError(f"{os.fspath(path)} holds more than {most:,} characters, too many to read")
    return text


def check_encoding(encoding: str) -> str:
    """Return Python's name of a text encoding; ``ValueError`` if there is no such encoding."""
    try:
        codec = codecs.lookup(encoding)
        "".encode(codec.name)
    except (LookupError, TypeError, ValueError):
        raise ValueError(f"no text encoding is called {encoding!r}; latin-1, cp1252 and utf-16 are examples") from None
    return codec.name


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Write a file that appears under its name when it is complete, and not at all if writing fails.

    The bytes go to a temporary file in the same directory, which then takes the name. An existing path that is not a
    regular file (a pipe) is written to directly, and so is an open stream (``/dev/stdout``), whatever it leads to.

    Parameters
    ----------
    path : str or path-like

    Raises
    ------
    OSError
        With the name of the file, whatever part of the writing failed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "greeting")
    ...     with replacing(path) as file:
    ...         count = file.write(b"hello")
    ...     path.read_bytes()
    b'hello'
    """
    check_local(path)
    stream = open_stream(path)
    target = Path(os.path.realpath(path))
    is_replaced = stream is None and (not Path(path).exists() or target.is_file())
    draft = target.with_name(f".{os.urandom(8).hex()}.part")  # not longer than a system allows, whatever the name
    try:
        if is_replaced:
            with draft.open("xb") as file:
                yield file
            draft.replace(target)
        else:
            # A duplicate goes on where the stream is, where the same file opened anew would be written from its start.
            with open(path if stream is None else os.dup(stream), "wb") as file:
                yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
    finally:
        if is_replaced:
            draft.unlink(missing_ok=True)


def open_stream(path: str | os.PathLike[str]) -> int | None:
    """Return the descriptor of an open stream of this process that a path names, as ``/dev/stdout`` does."""
    streams = {os.path.realpath(folder) for folder in ("/dev/fd", "/proc/self/fd")}
    place = as_path(path)
    for _ in range(_LINKS):
        if re.fullmatch("[0-9]{1,9}", place.name) and os.path.realpath(place.parent) in streams:
            return int(place.name)
        if not place.is_symlink():
            break
        place = place.parent / place.readlink()
    return None


@contextlib.contextmanager
def replacing_text(path: str | os.PathLike[str], encoding: str = "utf-8") -> Iterator[TextIO]:
    r"""Write a text file as `replacing` does; a name that ends in ``.gz`` compresses it.

    The same text gives the same bytes: no time and no name go into the compressed file.

    Parameters
    ----------
    path : str or path-like
    encoding : str
        Encoding of the text.

    Examples
    --------
    >>> with replacing_text("table.csv.gz") as file:  # doctest: +SKIP
    ...     file.write("age,sex\n")
    """
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(replacing(path))
        if os.fspath(path).endswith(".gz"):
            packed = gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=6, mtime=0)
            file = cast("BinaryIO", stack.enter_context(packed))
        text = io.TextIOWrapper(file, encoding=encoding, newline="")
        try:
            yield text
        except UnicodeEncodeError as error:
            error.object, error.args = "", ()
            raise ValueError(f"{os.fspath(path)}: {NO_TEXT}") from None
        text.flush()
        text.detach()


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file as `replacing_text` does."""
    with replacing_text(path) as file:
        file.write(text)


def is_weight(word: str) -> bool:
    """Return whether a word is a number as model files write them: finite and not negative.

    Parameters
    ----------
    word : str

    Examples
    --------
    >>> [is_weight(word) for word in ("0.5", "1e-300", "-1", "nan", "1_000")]
    [True, True, False, False, False]
    """
    try:
        # Python's own underscores in numbers are not the formats'.
        return 0 <= float(word) < float("inf") and "_" not in word
    except ValueError:
        return False


def has_contents(path: str) -> bool:
    """Return whether a path is that of a regular file with contents."""
    place = Path(os.path.realpath(as_path(path)))
    return open_stream(path) is None and place.is_file() and place.stat().st_size > 0
