"""A column: how raw values become codes, and codes values again. All is declared, nothing guessed."""

from __future__ import annotations

import contextlib
import copy
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.values import EXACT, Exact, Values, read_number
from pypgm.domain import Label

NumberUse = Literal["values", "codes", "places", "digits", "nothing"]
Reader = tuple[Literal["number", "date"], Callable[[str], float]]
_OBJECTS = re.compile(r"str|bytes|bool|int|float|date|time|timedelta|UUID|Decimal( \d)?|(datetime|Timestamp)( \S+)?")
_RAISES = "needs a value, and has an object that raises an error where it is compared or read"


class Misfit(NamedTuple):
    """The first value of a column that does not fit: its place and the reason, never the value."""

    row: int
    what: str

    def of(self, name: str, first_row: int = 0, begin: str = "") -> str:
        """Return the text of the misfit for a column whose values begin at some row."""
        return f"column {name!r}, row {first_row + self.row} ({begin or 'the first is 0'}): {self.what}"


Encoder = Callable[[Values], tuple[NDArray[Any], Misfit | None]]
"""Encoder of values that remembers the spellings it met, for a table that is read in pieces."""


def _is_worked_out(kind: type, name: str) -> bool:
    return isinstance(getattr(kind, name, None), cached_property)


class NullKind(NamedTuple):
    """A kind of missing value that is kept apart from others: its text in a table, and its meaning, if it has one."""

    text: str
    meaning: str = ""

    @property
    def label(self) -> str:
        """Label of its code: the meaning, else the text."""
        return self.meaning or self.text


class Readable(Protocol):
    """A column that a reader of tables can encode."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the codes."""

    def encoder(self) -> Encoder:
        """Return an encoder that turns values into codes piece by piece."""


@dataclass(frozen=True, kw_only=True)
class Column(ABC):
    """Public declaration of one column.

    The codes of its values come first; then, if declared, one code for all other values, and those of nulls.

    Parameters
    ----------
    null : bool, str, sequence of str, or mapping of str to str
        Texts that stand for a missing value, and get their own code; True is the empty text. One that reads as
        a number is that number too. None, NaN and NaT are always nulls. Without it nulls are refused. A mapping of
        texts to their meanings, such as ``{"98": "does not know", "99": "refused"}``, has a code for each text, which
        is written as it was; None has that of the empty text, or else the first.
    objects : str
        Kind of Python objects that columns of objects in frames of pandas get, such as "date" and "Decimal 2".
    """

    null: bool | str | Sequence[str] | Sequence[NullKind] | Mapping[str, str] = ()
    objects: str = ""
    kind: ClassVar[str]
    families: ClassVar[frozenset[str]] = frozenset()
    """Families of types, such as "int", whose columns are of this kind where nothing but the type is known."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "null", _as_null(self.null))
        if problems := list(self._problems()):
            raise ValueError("; ".join(problems))

    def __getstate__(self) -> dict[str, object]:
        """Return the declaration without cached values, which may reveal which values were met."""
        return {name: value for name, value in vars(self).items() if not _is_worked_out(type(self), name)}

    @property
    def nulls(self) -> tuple[str, ...]:
        """Texts that stand for a missing value."""
        given: Any = self.null
        return tuple(entry.text if isinstance(entry, NullKind) else entry for entry in given)

    @cached_property
    def null_kinds(self) -> tuple[NullKind, ...]:
        """Kinds of missing values, each with the text that is written: one for all texts of a list."""
        given: Any = self.null
        return tuple(entry for entry in given if isinstance(entry, NullKind)) or tuple(map(NullKind, given[:1]))

    @cached_property
    def null_texts(self) -> Mapping[str, int]:
        """The texts of nulls, without spaces around them, and the place of the kind of each."""
        is_apart = len(self.null_kinds) > 1
        return {text.strip(): i * is_apart for i, text in enumerate(self.nulls) if isinstance(text, str)}

    @cached_property
    def null_numbers(self) -> Mapping[Decimal, int]:
        """The numbers that mean that there is no value, and the place of the kind of each."""
        read = ((read_number(text), kind) for text, kind in self.null_texts.items())
        return {number: kind for number, kind in read if number is not None}

    def kind_of_null(self, value: Exact) -> int | None:
        """Return the place of the kind of missing value that a number means; None if it means none."""
        if value in {math.inf, -math.inf}:  # by the text that a file has for it
            return self.null_texts.get("inf" if value > 0 else "-inf")
        numbers: Mapping[Any, int] = self.null_numbers
        return numbers.get(value)

    @cached_property
    def none_kind(self) -> int:
        """Place of the kind of a missing value without a text, such as None: that of the empty text, or the first."""
        return self.null_texts.get("", 0)

    @property
    @abstractmethod
    def n_values(self) -> int:
        """Number of codes, except those of other values and of nulls."""

    @property
    @abstractmethod
    def value_labels(self) -> tuple[Label, ...] | None:
        """Labels of the codes of declared values; None where each code is its own label."""

    @property
    def earlier_labels(self) -> tuple[Label, ...] | None:
        """The labels of declared values in releases of earlier versions."""
        return self.value_labels

    @property
    def value_texts(self) -> list[str]:
        """Texts of those codes in a file."""
        return list(map(str, range(self.n_values) if self.value_labels is None else self.value_labels))

    @property
    def other_label(self) -> str | None:
        """Label of all values that are not declared; None where they have no code."""
        return None

    @property
    @abstractmethod
    def is_ordinal(self) -> bool:
        """True if the order of the codes means something."""

    @property
    @abstractmethod
    def allowed(self) -> str:
        """Description of the allowed values."""

    @property
    @abstractmethod
    def numbers_are(self) -> NumberUse:
        """Meaning of a number of an engine to the column: a value that it may name, a code, or a place on its line.

        Of "digits" it is read as the text it is written with, and of "nothing" it is no value.
        """

    @property
    def value_types(self) -> frozenset[type]:
        """The types of declared values: str, bool, and object for all others."""
        return frozenset({object})

    @property
    def coarseness(self) -> str:
        """Words for the bins where they are wider than the values; else nothing."""
        return ""

    def reader(self) -> Reader | None:
        """Return the kind of values in a file and a reader of their texts, NaN for others; None to go by their look."""
        return None

    @property
    def size(self) -> int:
        """Number of codes."""
        return self.n_values + (self.other_label is not None) + len(self.null_kinds)

    @cached_property
    def labels(self) -> tuple[Label, ...] | None:
        """A readable label for each code; None where the codes are their own."""
        extra: list[Label] = [] if self.other_label is None else [self.other_label]
        extra += [kind.label for kind in self.null_kinds]
        values = self.value_labels
        if values is None:
            return (*range(self.n_values), *extra) if extra else None
        return (*values, *extra)

    @cached_property
    def codes_by_label(self) -> Mapping[str, int]:
        """The code of each label, by its text."""
        return {str(label): code for code, label in reversed([*enumerate(self.labels or ())])}

    @property
    def null_codes(self) -> tuple[int, ...]:
        """The codes of nulls, the last ones, one for each kind; none where they are refused."""
        return tuple(range(self.size - len(self.null_kinds), self.size))

    @property
    def null_code(self) -> int | None:
        """The first code of nulls; None where they are refused."""
        return next(iter(self.null_codes), None)

    @property
    def none_code(self) -> int | None:
        """The code of a null without a text, such as None; None where nulls are refused."""
        codes = self.null_codes
        return codes[self.none_kind] if codes else None

    def is_null(self, codes: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which codes are those of nulls."""
        return np.asarray(np.asarray(codes, dtype=np.int64) >= self.size - len(self.null_kinds))

    @property
    def other_code(self) -> int | None:
        """The code of other values; None where they are refused."""
        return None if self.other_label is None else self.n_values

    def scattered(self, rng: np.random.Generator) -> Column:
        """Return the column with a drawn distribution of values within each bin; itself if it has no bins."""
        del rng
        return self

    def _with(self, **changed: object) -> Column:
        """Return the column with attributes that no declaration has."""
        other = copy.copy(self)
        other.__dict__.update(changed)
        return other

    def with_null(self, text: str) -> Column:
        """Return the column with a code for nulls, which has none yet."""
        return self._with(null=(text,))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest unsigned type that holds the codes."""
        return np.min_scalar_type(min(self.size, 1 << 63) - 1)

    @abstractmethod
    def encoder(self) -> Encoder:
        """Return an encoder that turns values into codes piece by piece."""

    def encode(self, values: Values) -> tuple[NDArray[Any], Misfit | None]:
        """Return the code of each value, and the problem of the first without one.

        The code of a value depends only on that value, by the rules of docs/your_table.md, whatever its type and the
        other values. Give values of declared types: a reader that guesses types from all records, as `pandas.read_csv`
        does without a dtype, may change a value before it comes here.

        Parameters
        ----------
        values : sequence or ndarray, shape (n_records,)

        Returns
        -------
        codes : ndarray of unsigned int, shape (n_records,)
            Without meaning where there is a problem.
        problem : Misfit or None

        Examples
        --------
        >>> from pypgm.data import Categorical
        >>> codes, problem = Categorical(["F", "M"], null="?").encode(["M", "?", None, " F"])
        >>> codes.tolist(), problem
        ([1, 2, 2, 0], None)
        >>> _, wrong = Categorical(["F", "M"], null=True).encode(["M", "zebra"])
        >>> print(wrong and wrong.what)
        needs one of 'F', 'M', '', and has another value ("other": true allows all others)
        """
        return guarded_encoder(self)(values)

    def decode(self, codes: NDArray[Any], rng: np.random.Generator | int | None = None) -> NDArray[Any]:
        """Return a value for each code; nulls are None, NaN or NaT.

        Parameters
        ----------
        codes : ndarray of int, shape (n_records,)
        rng : numpy.random.Generator or int, optional
            Source of the values within a bin.

        Returns
        -------
        ndarray, shape (n_records,)
            An array of objects if an array of numbers or dates cannot hold all values: labels, ``other`` and None.
        """
        return self.shown(codes, self.drawn(codes, rng))

    def texts(self, codes: NDArray[Any], rng: np.random.Generator | int | None = None) -> NDArray[Any]:
        """Return the text that a file has for each code, shape (n_records,)."""
        return self.written(codes, self.drawn(codes, rng))

    def drawn(self, codes: NDArray[Any], rng: np.random.Generator | int | None) -> NDArray[Any] | None:
        """Return a value within the bin of each code; None where codes are values."""
        del codes, rng
        return None

    @abstractmethod
    def shown(self, codes: NDArray[Any], values: NDArray[Any] | None) -> NDArray[Any]:
        """Return the result of `decode` for values that were drawn."""

    def written(self, codes: NDArray[Any], values: NDArray[Any] | None) -> NDArray[Any]:
        """Return the result of `texts` for values that were drawn."""
        if values is None:
            texts = self.value_texts
            texts += [] if self.other_label is None else [self.other_label]
            return taken([*texts, *(kind.text for kind in self.null_kinds)], codes)
        return np.array([*map(str, values.tolist()), None], object)[:-1]

    def unmarked(self) -> Column:
        """Return the column with numbers written with a decimal point and no other mark."""
        return self

    def of_family(self, codes: NDArray[Any], values: NDArray[Any] | None, family: str) -> NDArray[Any] | None:
        """Return the values that a type of a family, such as "int", is made of; None if it is of those of `shown`."""
        return self.written(codes, values).astype(object) if family == "text" else None

    def null_values(self, family: str) -> list[object]:
        """Return a number or text of a type for each code of a null that is kept apart, and None for others."""
        given: Any = self.null
        if not given or not isinstance(given[0], NullKind):
            return [None] * len(self.null_kinds)
        texts = [kind.text.strip() for kind in self.null_kinds]
        if family == "text":
            return [text or None for text in texts]
        make: Any = {"int": int, "float": float, "decimal": str}.get(family)
        numbers = [read_number(text) for text in texts]
        fit = [n is not None and abs(n) < EXACT and (family != "int" or n == int(n)) for n in numbers]
        return [make(n) if make is not None and fits else None for n, fits in zip(numbers, fit, strict=True)]

    def fits(self, family: str) -> bool:
        """Return whether types of a family may hold the values at all."""
        del family
        return True

    def extremes(self) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return the codes, and values drawn for them, that a type must hold to hold all values of the column."""
        return np.arange(self.size), None

    def to_dict(self) -> dict[str, Any]:
        """Return the entry of the column in a schema file."""
        plain = {n: list(value) if isinstance(value, tuple) else value for n, value in fields_of(self).items()}
        return {"kind": self.kind, **plain, **null_entry(self.null)}

    def _problems(self) -> Iterator[str]:
        """Yield the problems of the declaration of nulls and other values."""
        if not isinstance(self.objects, str) or (self.objects and not _OBJECTS.fullmatch(self.objects)):
            yield "objects needs a kind of Python objects, such as 'date', 'time' or 'Decimal 2'"
        kinds = self.null_kinds
        if not all(isinstance(text, str) for text in (*self.nulls, *(kind.meaning for kind in kinds))):
            yield "null needs texts"
            return
        numbers = [read_number(text) for text in self.null_texts]
        n_different = len(self.null_numbers) + numbers.count(None)
        if len(set(self.nulls)) != len(self.nulls) or (len(kinds) > 1 and n_different != len(kinds)):
            yield "a text of null comes more than once"
        elif len({kind.label for kind in kinds}) != len(kinds):
            yield "two texts of null have one meaning: a list of texts has one code"
        elif any(read_number(kind.meaning.strip()) is not None for kind in kinds):
            yield "a meaning of null needs words, not a number"
        if self.other_label is not None and self.other_label in self.nulls:
            yield f"{self.other_label!r} is a null and the label of other values"


def _as_null(given: Any) -> tuple[Any, ...]:  # noqa: ANN401 - it is checked afterwards
    """Return the texts of nulls, or their kinds where each text has a code of its own."""
    if isinstance(given, Mapping):
        return tuple(NullKind(text, meaning) for text, meaning in given.items())
    texts = {True: ("",), False: ()}[given] if isinstance(given, bool) else given
    return (texts,) if isinstance(texts, str) else as_tuple(texts, "null needs texts")


def null_entry(null: Any) -> dict[str, Any]:  # noqa: ANN401 - of any column
    """Return the entry of nulls in a schema file, if there is one.

    Examples
    --------
    >>> null_entry(("?", "")), null_entry((NullKind("99", "refused"),)), null_entry(())
    ({'null': ['?', '']}, {'null': {'99': 'refused'}}, {})
    """
    kinds = {kind.text: kind.meaning for kind in null if isinstance(kind, NullKind)}
    return {"null": kinds or list(null)} if null else {}


def guarded_encoder(column: Readable) -> Encoder:
    """Return an encoder for values that may be objects of any type, whose own methods may raise errors.

    The text of such an error may hold a value, and is not kept: the first value that raises one by itself is named by
    its row. If none does, as they fail only together, each has the code that it has by itself.
    """
    encode = column.encoder()

    def guarded(values: Values) -> tuple[NDArray[Any], Misfit | None]:
        is_too_large = False
        try:
            return encode(values)
        except MemoryError:
            is_too_large = True
        except Exception:
            pass
        if is_too_large:
            raise MemoryError("the values of a column do not fit in memory")
        codes = np.zeros(len(values), column.dtype)
        for row in range(len(values)):
            problem: Misfit | None = Misfit(row, _RAISES)
            with contextlib.suppress(Exception):
                (codes[row],), problem = column.encoder()(values[row : row + 1])
            if problem is not None:
                return codes, problem._replace(row=row)
        return codes, None

    return guarded


def fields_of(column: Any) -> dict[str, Any]:  # noqa: ANN401 - any dataclass
    """Return the fields of a declaration that differ from their defaults."""
    return {f.name: value for f in fields(column) if (value := getattr(column, f.name)) != f.default}


def unless_flag(name: str, given: object) -> Iterator[str]:
    """Yield the problem of an entry that should be true or false and is neither."""
    if not isinstance(given, bool):
        yield f"{name} needs true or false, got {given!r}"


def as_tuple(values: object, needed: str) -> tuple[Any, ...]:
    """Return the entries of a list; ``TypeError`` with the text `needed` for anything else.

    Examples
    --------
    >>> as_tuple([18, 65], "edges needs a list of numbers")
    (18, 65)
    """
    if isinstance(values, Mapping | str | bytes) or not isinstance(values, Iterable):
        raise TypeError(needed)
    return tuple(values)


def taken(values: Sequence[object], codes: NDArray[Any]) -> NDArray[Any]:
    """Return the value of each code, as objects."""
    chosen: NDArray[Any] = np.array([*values, None], dtype=object)[codes]
    return chosen
