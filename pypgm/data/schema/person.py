"""The person that records are of: which columns name one, and how many records of each are kept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields
from typing import IO, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.column import Encoder, Misfit, guarded_encoder
from pypgm.data.columns.values import EXACT, Values, as_keys, as_list, is_plain, value_text
from pypgm.domain import listed

Keys = NDArray[np.bytes_]
"""A key of 16 bytes for the person of each record, empty where it has none, shape (n_records,)."""

Missing = Literal["refuse", "alone"]

KEY = np.dtype("S16")
NO_KEY = '; "null": "alone" of the person takes each such record for a separate person'
"""End of the refusal of records that name no person."""

_HASHED = b"\xff"  # begins the key of a long text; no text in UTF-8 begins with it
_SORTED_AT_ONCE = 1 << 22  # records
_PARTS = 64  # into which more are divided by their persons
_HELD = 1 << 22  # bytes of a part in memory; the rest goes to a file without a name
_COMPARED = np.dtype([("person", np.uint64, 2), ("content", np.uint64), ("row", np.int64)])
_STEP = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio


@dataclass(frozen=True)
class Person:
    """The columns that name the person a record is of, and how many records of each person are kept.

    The columns are read, never published and never attributes. Which records of a person are kept is decided by that
    person's records alone, and by a key that each release draws anew: not by their order in the table, nor by the
    records of others. So adding or removing a person changes at most `at_most` records, whatever the table holds: the
    schema's `records_per_person`.

    Parameters
    ----------
    column : str or sequence of str
        Column that names a person, or several that do so together. Values are distinguished as they are written,
        without white space around them; a whole number is one text whatever its type.
    at_most : int
        Records of each person that are kept, 1 or more; public.
    null : {"refuse", "alone"}
        Treatment of a record without a value there: refused with the table, or a person of its own.
    warning : str
        Warning of a draft about the column, until somebody has confirmed it.

    Raises
    ------
    ValueError
        If no column is named, one is named twice, or `at_most` or `null` is out of range.
    TypeError
        If a name is not a text.

    Examples
    --------
    >>> from pypgm import Schema
    >>> schema = Schema({"ward": ["A", "B"]}, person=Person("NHS Number", at_most=2))
    >>> schema.records_per_person
    2
    >>> schema.encode({"NHS Number": [7, 7, 7, 8], "ward": ["A", "B", "A", "A"]})
    Dataset(4 records; ward: 2)
    """

    column: str | Sequence[str]
    at_most: int
    null: Missing = "refuse"
    warning: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.column, str):
            if isinstance(self.column, Mapping) or not isinstance(self.column, Sequence):
                raise TypeError(f"person needs the name of a column or a list of names, got {self.column!r}")
            object.__setattr__(self, "column", tuple(self.column))
        if not all(isinstance(name, str) for name in self.columns):
            raise TypeError(f"person needs names of columns, which are text, got {self.column!r}")
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise ValueError(f"person needs at least one column, each once, got {self.column!r}")
        if type(self.at_most) is not int or not 1 <= self.at_most < 1 << 53:
            raise ValueError(f"person: at_most needs a whole number, 1 or more, got {self.at_most!r}")
        if self.null not in get_args(Missing):
            raise ValueError(f'person: null needs "refuse" or "alone", got {self.null!r}')
        if not isinstance(self.warning, str):
            raise TypeError(f"person: warning needs a text, got {type(self.warning).__name__}")

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return (self.column,) if isinstance(self.column, str) else tuple(self.column)

    @property
    def reading(self) -> dict[str, KeyColumn]:
        """Columns that make keys of values, by the names of the columns."""
        return {name: KeyColumn(is_needed=self.null == "refuse") for name in self.columns}

    def to_dict(self) -> dict[str, Any]:
        """Return the entry of the person in a schema file."""
        given = {f.name: value for f in fields(self) if (value := getattr(self, f.name)) != f.default}
        return given | ({} if isinstance(self.column, str) else {"column": list(self.columns)})

    def keys(self, columns: Mapping[str, Values], table: str = "the table") -> Keys:
        """Return the key of each record's person, of raw values, or of what `reading` made of them.

        Raises
        ------
        ValueError
            If a column is missing, or a record has no value where one is needed: its row, never a value.
        """
        missing = [repr(name) for name in self.columns if name not in columns]
        if missing:
            raise ValueError(f"{table} lacks a column for {listed(missing)}, which names the person of each record")
        parts: list[Keys] = []
        for name, column in self.reading.items():
            values = columns[name]
            if isinstance(values, np.ndarray) and values.dtype == KEY:
                keys, problem = values, column.missing(values)
            else:
                keys, problem = guarded_encoder(column)(values)
            if problem is not None:
                raise ValueError(f"{table}: {problem.of(name)}")
            parts.append(keys)
        if len(set(map(len, parts))) != 1:
            raise ValueError(f"{table}: columns {listed(list(map(repr, self.columns)))} need equal numbers of values")
        return parts[0] if len(parts) == 1 else _joined(parts)

    def kept(self, keys: Keys, content: Iterable[NDArray[Any]], secret: bytes) -> NDArray[np.bool_]:
        """Return which records are kept, given their codes column by column; see `Selection`."""
        with Selection(self.at_most) as selection:
            selection.add(keys, content)
            return selection.kept(secret)


@dataclass(frozen=True)
class KeyColumn:
    """A column that names persons: its values become keys instead of codes.

    Texts of up to 15 bytes are keys themselves; longer ones are replaced by a hash of 120 bits.

    Parameters
    ----------
    is_needed : bool
        Whether each record has to have a value.
    """

    is_needed: bool = True
    dtype = KEY
    allowed = "a value that names a person"

    def encoder(self) -> Encoder:
        """Return an encoder that turns values into keys piece by piece."""

        def encode(values: Values) -> tuple[Keys, Misfit | None]:
            if is_plain(values, "iu"):
                numbers, places = np.unique(values, return_inverse=True)
                keys = np.array([*map(_key, numbers.tolist()), b""], KEY)[places]
            else:
                given = as_list(values)
                known = as_keys(given)
                if known is None:
                    keys = np.array(list(map(_key, given)), KEY)
                else:
                    key_of = {key: _key(value) for key, value in known[1].items()}
                    keys = np.array([key_of[key] for key in known[0]], KEY)
            return keys, self.missing(keys) or _inexact(values)

        return encode

    def missing(self, keys: Keys) -> Misfit | None:
        """Return the first record that has to have a value and has none."""
        is_missing = keys == b""
        if self.is_needed and is_missing.any():
            return Misfit(int(is_missing.argmax()), f"needs {self.allowed}, and has none{NO_KEY}")
        return None


def _inexact(values: Values) -> Misfit | None:
    """Return the first float that stands for several whole numbers, and so for several persons."""
    if is_plain(values, "iub"):
        return None
    for row, value in enumerate(as_list(values)):
        if isinstance(value, float | np.floating) and EXACT <= abs(value) < math.inf:
            return Misfit(row, "needs a whole number or text that names a person, and has a float of 2^53 or more")
    return None


def content_keys(values: Values) -> Keys:
    """Return a key of each value of any column: a value that raises an error when it is read counts as missing."""

    def key(value: object) -> bytes:
        try:
            return _key(value)
        except KeyboardInterrupt:
            raise
        except BaseException:  # whatever a value does, no error may tell of it
            return b""

    return np.array([key(value) for value in as_list(values)], KEY)


def _key(value: object) -> bytes:
    """Return the key of a value, empty of a missing one."""
    text = value_text(value)
    if text is None:  # bytes that are no text
        return _hashed(bytes(value))  # type: ignore[call-overload]
    spelled = text.encode("utf-8", "surrogatepass")
    return spelled if len(spelled) < KEY.itemsize and b"\0" not in spelled else _hashed(spelled)


def blake2b(spelled: bytes = b"", *, digest_size: int = 64) -> Any:  # noqa: ANN401
    """Return the hash of that name, as hashlib has it."""
    import hashlib  # a mebibyte, of use for long keys and for pieces alone

    return hashlib.blake2b(spelled, digest_size=digest_size)


def _hashed(spelled: bytes) -> bytes:
    digest: bytes = blake2b(spelled, digest_size=KEY.itemsize - 1).digest()
    return _HASHED + digest


def _joined(parts: Sequence[Keys]) -> Keys:
    """Return one key for the keys of several columns, empty where one of them is."""
    whole = np.stack(parts, axis=1)
    key_of = {row: _hashed(row) for row in set(map(bytes, whole))}
    keys = np.array([key_of[bytes(row)] for row in whole], KEY)
    return np.where((whole == b"").any(axis=1), np.bytes_(b""), keys)


class Selection:
    """The records that are kept of each person, decided for each person by that person's records alone.

    The records of a person are sorted by their content, whatever their order in the table. If they are too many, a
    hash of the person, the place in that order and a secret decides which are kept. Equal records may stand for each
    other, so the records that are kept are a function of the secret and of the person's records, as a multiset. Records
    without a person are kept.

    Beyond some millions of records, the compared data (24 bytes per record: hashes and a row) lie in files without a
    name, each of which holds the records of some persons and is sorted by itself.

    Parameters
    ----------
    at_most : int
        Records of each person that are kept.
    """

    def __init__(self, at_most: int) -> None:
        self._at_most = at_most
        self._pieces: list[NDArray[np.void]] = []
        self._n_held = self._n_records = 0
        self._files: list[IO[bytes]] = []
        self._stack = ExitStack()

    def __enter__(self) -> Selection:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, keys: Keys, content: Iterable[NDArray[Any]]) -> None:
        """Add the records of the next piece of a table: the keys of their persons, and their codes column by column."""
        piece = np.empty(len(keys), _COMPARED)
        piece["person"] = np.ascontiguousarray(keys).view(np.uint64).reshape(-1, 2)
        piece["content"] = _hash_of(content, len(keys))
        piece["row"] = np.arange(self._n_records, self._n_records + len(keys))
        self._pieces.append(piece)
        self._n_records += len(keys)
        self._n_held += len(keys)
        if self._n_held > _SORTED_AT_ONCE:
            self._divide()

    def kept(self, secret: bytes) -> NDArray[np.bool_]:
        """Return which records are kept, shape (n_records,), by a secret of 16 bytes."""
        is_kept = np.ones(self._n_records, bool)
        if self._files:
            self._divide()
        for records in self._parts():
            is_kept[self._left_out(records, np.frombuffer(secret, np.uint64))] = False
        return is_kept

    def _divide(self) -> None:
        """Write the records that are held to the files of their persons."""
        if not self._files:
            import tempfile

            new = tempfile.SpooledTemporaryFile
            self._files = [self._stack.enter_context(new(_HELD)) for _ in range(_PARTS)]
        records = np.concatenate([*self._pieces, np.empty(0, _COMPARED)])
        parts = _mixed(records["person"][:, 0] ^ _mixed(records["person"][:, 1])) % np.uint64(_PARTS)
        order = np.argsort(parts, kind="stable")
        ends = np.searchsorted(parts[order], np.arange(_PARTS + 1, dtype=np.uint64))
        for file, first, last in zip(self._files, ends[:-1], ends[1:], strict=True):
            file.write(records[order[first:last]].tobytes())
        self._pieces, self._n_held = [], 0

    def _parts(self) -> Iterator[NDArray[np.void]]:
        """Yield records such that all of a person are together."""
        if not self._files:
            yield np.concatenate([*self._pieces, np.empty(0, _COMPARED)])
        for file in self._files:
            file.seek(0)
            yield np.frombuffer(file.read(), _COMPARED)

    def _left_out(self, records: NDArray[np.void], secret: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the rows of records beyond those kept of their persons."""
        persons = records["person"]
        order = np.lexsort((records["content"], persons[:, 1], persons[:, 0]))
        first, second = persons[order, 0], persons[order, 1]
        begins = np.ones(len(order), bool)
        begins[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
        number = np.cumsum(begins) - 1  # of the person
        starts = np.flatnonzero(begins)
        place = np.arange(len(order)) - starts[number]
        has_too_many = (np.bincount(number, minlength=len(starts)) > self._at_most) & ((first | second)[starts] != 0)
        chosen = np.flatnonzero(has_too_many[number])
        number, place = number[chosen], place[chosen].astype(np.uint64)
        drawn = _mixed(_mixed(first[chosen] ^ secret[0]) ^ _mixed(second[chosen] ^ secret[1]) + place * _STEP)
        drawn_order = np.lexsort((drawn, number))
        starts = np.searchsorted(number, number)  # which the order by draws does not change
        rank = np.arange(len(chosen)) - starts
        left_out: NDArray[np.int64] = records["row"][order[chosen[drawn_order[rank >= self._at_most]]]]
        return left_out


def _hash_of(content: Iterable[NDArray[Any]], n_records: int) -> NDArray[np.uint64]:
    """Return a hash of each record's contents, of codes or keys column by column."""
    hashes = np.zeros(n_records, np.uint64)
    for column in content:
        parts = np.ascontiguousarray(column).view(np.uint64).reshape(-1, 2).T if column.dtype == KEY else [column]
        for part in parts:
            hashes = _mixed(hashes + _STEP ^ part.astype(np.uint64))
    return hashes


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers of 64 bits mixed one to one, by the finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    mixed: NDArray[np.uint64] = numbers ^ (numbers >> np.uint64(31))
    return mixed
