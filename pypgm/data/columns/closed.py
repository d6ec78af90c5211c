"""Columns of closed lists of values: their base class, booleans and codes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.column import Column, Encoder, Misfit, NumberUse, as_tuple, taken, unless_flag
from pypgm.data.columns.values import (
    BY_VALUE,
    Exact,
    Values,
    as_list,
    is_number,
    is_plain,
    plain,
    read_number,
    spelled_number,
)
from pypgm.domain import Label

_TWO_TEXTS = "values needs two texts, those of false and of true"


class RefusedError(KeyError):
    """A value has no code."""


class _Book(dict[Any, int]):
    """The codes of the values of one type that were met; a book of text finds other values too, and keeps none."""

    def __init__(self, find: Callable[[object], int], kind: type) -> None:
        super().__init__()
        self._find = find
        self._kept = {kind, NoneType} & BY_VALUE

    def __missing__(self, value: object) -> int:
        code = self._find(value)
        if type(value) in self._kept:
            self[value] = code
        return code


class _Books(dict[type, _Book]):
    """A book for each type: to Python 1, 1.0 and True are one key."""

    def __init__(self, find: Callable[[object], int]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, kind: type) -> _Book:
        book = self[kind] = _Book(self._find, kind)
        return book


class Closed(Column):
    """A column of a closed list of values."""

    numbers_are: NumberUse = "values"
    may_have_other = False
    """Whether all other values may have a code of their own."""

    def encoder(self) -> Encoder:
        """Return an encoder that looks values up, and keeps the codes of the values that it has met."""
        books = _Books(self._code)

        def encode(values: Values) -> tuple[NDArray[Any], Misfit | None]:
            if is_plain(values, "biuf"):
                distinct, places = np.unique(values, return_inverse=True)
                distinct_codes, problem = encode(distinct.tolist())
                if problem is None:
                    return distinct_codes[places], None
            given = as_list(values)
            kinds = {str} if given and type(given[0]) is str else set(map(type, given)) - {NoneType}
            try:
                if len(kinds) == 1:
                    return np.fromiter(map(books[kinds.pop()].__getitem__, given), self.dtype, len(given)), None
                return np.fromiter((books[type(v)][v] for v in given), self.dtype, len(given)), None
            except (KeyError, TypeError):  # TypeError: an object that cannot be a key, such as a list
                return self._one_by_one(given)

        return encode

    def shown(self, codes: NDArray[Any], values: NDArray[Any] | None) -> NDArray[Any]:
        """Return the value of each code, or values that were made."""
        return self._decoded(codes) if values is None else values

    @abstractmethod
    def _decoded(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return the value of each code; nulls are None."""

    def _code(self, value: object) -> int:
        """Return the code of a value, or raise `RefusedError`."""
        bare = plain(value)
        if isinstance(bare, str):
            kind = self.null_texts.get(bare)
            code = self._of_text(bare) if kind is None else self.null_codes[kind]
        elif isinstance(bare, bool):
            code = self._of_boolean(bare)
        elif is_number(bare):
            kind = self.kind_of_null(bare)
            code = self._of_number(bare) if kind is None else self.null_codes[kind]
        else:
            code = self.none_code if bare is None else self._of_other(bare)
        if code is None and bare is not None and not (isinstance(bare, str) and not bare):
            code = self.other_code
        if code is None:
            raise RefusedError
        return code

    @abstractmethod
    def _of_text(self, text: str) -> int | None:
        """Return the code of a text without spaces around it, if it has one."""

    @abstractmethod
    def _of_number(self, number: Exact) -> int | None:
        """Return the code of a number, if it has one."""

    def _of_boolean(self, value: bool) -> int | None:
        """Return the code of a boolean, if it has one."""
        del value
        return None

    def _of_other(self, value: object) -> int | None:
        """Return the code of a value of another kind, if it has one."""
        del value
        return None

    def _one_by_one(self, values: Values) -> tuple[NDArray[Any], Misfit | None]:
        """Return the codes of values, up to the first without one, and its problem."""
        codes = np.zeros(len(values), self.dtype)
        row = 0
        try:
            for row, value in enumerate(values):
                codes[row] = self._code(value)
        except RefusedError:
            # An empty text is another value too: the refusal depends on the schema, not on the value.
            ways = [] if "" in self.nulls else ['"null": "" allows empty ones']
            ways += ['"other": true allows all others'] if self.may_have_other and self.other_label is None else []
            hint = f" ({', '.join(ways)})" if ways else ""
            return codes, Misfit(row, f"needs {self.allowed}, and has another value" + hint)
        return codes, None


@dataclass(frozen=True)
class Boolean(Closed):
    """False or true.

    Parameters
    ----------
    values : pair of str
        Spellings of false and true in a table, in this order; capitals make no difference. Booleans stand for
        themselves, and so do the numbers 0 and 1, unless a text is a number itself: then numbers are recognized by
        value. Values are decoded to these texts, or to booleans where they are "false" and "true" themselves.
    null, objects
        See `Column`.

    Examples
    --------
    >>> active = Boolean(["no", "yes"])
    >>> active.encode(["Yes", "no"])[0].tolist(), active.decode(np.array([1, 0])).tolist()
    ([1, 0], ['yes', 'no'])
    >>> Boolean().decode(np.array([1, 0])).tolist()
    [True, False]
    """

    values: Sequence[str] = ("false", "true")
    kind = "boolean"
    families = frozenset({"bool"})
    n_values = 2
    is_ordinal = False  # of two values no order matters

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", as_tuple(self.values, _TWO_TEXTS))
        super().__post_init__()

    @property
    def value_labels(self) -> tuple[Label, ...]:
        """Texts of the two values in a file."""
        return tuple(self.values)

    @property
    def allowed(self) -> str:
        """The two values, in words."""
        return " or ".join(map(repr, self.values))

    def _decoded(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return the texts, or booleans if they are equivalent; None for nulls, which needs an array of objects."""
        nothing = [None] * len(self.null_kinds)
        if [text.casefold() for text in self.values] != ["false", "true"]:
            return taken([*self.values, *nothing], codes)
        return taken([False, True, *nothing], codes) if nothing else np.asarray(codes) == 1

    def of_family(self, codes: NDArray[Any], values: NDArray[Any] | None, family: str) -> NDArray[Any] | None:
        """Return booleans also for types of numbers, which are made of 0 and 1."""
        return (
            np.asarray(codes) == 1 if family in {"bool", "int", "float"} else super().of_family(codes, values, family)
        )

    @cached_property
    def _texts(self) -> dict[str, int]:
        return {text.strip().casefold(): code for code, text in enumerate(self.values)}

    @cached_property
    def _numbers(self) -> dict[Exact, int]:
        spelled: dict[Exact, int] = {
            number: code for text, code in self._texts.items() if (number := spelled_number(text)) is not None
        }
        return spelled or {0: 0, 1: 1}

    def _of_text(self, text: str) -> int | None:
        return self._texts.get(text.casefold())

    def _of_number(self, number: Exact) -> int | None:
        return self._numbers.get(number)

    def _of_boolean(self, value: bool) -> int:
        return int(value)

    def _problems(self) -> Iterator[str]:
        yield from super()._problems()
        folded = [v.strip().casefold() if isinstance(v, str) else v for v in self.values]
        if len(folded) != 2 or not all(isinstance(v, str) and v for v in folded) or folded[0] == folded[1]:
            yield _TWO_TEXTS
        elif {text.casefold() for text in self.null_texts} & set(folded) or self.null_numbers.keys() & set(
            map(spelled_number, folded)
        ):
            yield "a text of null is that of a value"


@dataclass(frozen=True)
class Codes(Closed):
    """Values that are codes already: whole numbers from 0.

    Parameters
    ----------
    codes : int
        Number of values.
    ordinal : bool
        Whether their order means something, as it does of ages in years.
    null, objects
        See `Column`.

    Examples
    --------
    >>> Codes(85).encode(["07", 84])[0].tolist()
    [7, 84]
    """

    codes: int
    ordinal: bool = True
    kind = "codes"
    numbers_are = "codes"
    value_labels = None  # the codes are their own

    @property
    def n_values(self) -> int:
        """Number of codes."""
        return self.codes

    @property
    def is_ordinal(self) -> bool:
        """True if the order of the codes means something."""
        return self.ordinal

    @property
    def allowed(self) -> str:
        """The range, in words."""
        return f"an integer from 0 to {self.codes - 1}"

    def _decoded(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return the codes; with nulls an array of objects, None where there is no value."""
        return self._or([None] * len(self.null_kinds), codes) if self.nulls else np.asarray(codes)

    def extremes(self) -> tuple[NDArray[Any], None]:
        """Return the first code, the last one and that of nulls."""
        return np.array([0, self.n_values - 1, *range(self.n_values, self.size)]), None

    def written(self, codes: NDArray[Any], values: NDArray[Any] | None) -> NDArray[Any]:
        """Return the texts of the codes, each made once, and those of nulls."""
        if values is not None:
            return super().written(codes, values)
        few = self.size <= len(codes)
        distinct, places = (np.arange(self.size), codes) if few else np.unique(codes, return_inverse=True)
        return taken([*map(str, self._or([kind.text for kind in self.null_kinds], distinct))], places)

    def of_family(self, codes: NDArray[Any], values: NDArray[Any] | None, family: str) -> NDArray[Any] | None:
        """Return texts of the codes for types of texts."""
        given = super().of_family(codes, values, family)
        return None if given is None else np.array([*map(str, given.tolist()), None], object)[:-1]

    def _or(self, nulls: Sequence[str | None], codes: NDArray[Any]) -> NDArray[Any]:
        values = np.asarray(codes).astype(object)
        for code, null in zip(self.null_codes, nulls, strict=True):
            values[np.asarray(codes) == code] = null
        return values

    def encoder(self) -> Encoder:
        """Return an encoder that checks integers at once, and reads all other values one by one."""
        piecewise = super().encoder()

        def encode(values: Values) -> tuple[NDArray[Any], Misfit | None]:
            if is_plain(values, "iu") and not ((values < 0) | (values >= self.codes)).any():
                return values.astype(self.dtype), None
            return piecewise(values)

        return encode

    def _of_text(self, text: str) -> int | None:
        number = read_number(text)
        if number is None:
            return None
        kind = self.kind_of_null(number)
        return self._of_number(number) if kind is None else self.null_codes[kind]

    def _of_number(self, number: Exact) -> int | None:
        return int(number) if 0 <= number < self.codes and number == int(number) else None

    def _problems(self) -> Iterator[str]:
        yield from super()._problems()
        if isinstance(self.codes, bool) or not isinstance(self.codes, int):
            yield f"needs a whole number of codes, got {self.codes!r}"
        elif self.codes < 1:
            yield f"needs at least one value, got size {self.codes}"
        elif self.codes >= 1 << 63:
            yield "needs a size below 2^63"
        elif any(self._of_number(number) is not None for number in self.null_numbers):
            yield "a text of null is that of a code"
        yield from unless_flag("ordinal", self.ordinal)
