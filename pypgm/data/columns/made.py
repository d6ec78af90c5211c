"""Columns that are never read: derived from others or made up; the order in which they are made."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.categorical import Categorical
from pypgm.data.columns.column import Column, fields_of
from pypgm.data.columns.numbers import Integer
from pypgm.data.sources.frames import imported


def in_order(sources: Mapping[str, Sequence[str]], circular: str) -> list[str]:
    """Return names such that each comes after its sources, otherwise in the given order.

    The time is proportional to the number of names and sources, and there is no recursion, however long a chain is.

    Parameters
    ----------
    sources : mapping of str to sequence of str
        Sources of each name; sources without an entry come before all.
    circular : str
        Text of the error for a column that follows from itself.

    Raises
    ------
    ValueError
        If a name follows from itself, directly or by way of others.

    Examples
    --------
    >>> in_order({"c": ["b", "a"], "b": ["a"], "d": ["c"]}, "is made of itself")
    ['b', 'c', 'd']
    """
    ordered: dict[str, None] = {}
    for name in sources:
        path = {} if name in ordered else {name: iter(sources[name])}  # each waits for the next one
        while path:
            last, left = next(reversed(path.items()))
            source = next((other for other in left if other in sources and other not in ordered), None)
            if source is None:
                del path[last]
                ordered[last] = None
            elif source in path:
                raise ValueError(f"column {source!r} {circular}")
            else:
                path[source] = iter(sources[source])
    return list(ordered)


_FORMAT = re.compile(r"[^{}]*\{(:0?[0-9]{0,2}d?)?\}[^{}]*")
_PROVIDER = re.compile(r"[a-z][a-z0-9_]*")
_LOCALE = re.compile(r"[a-z]{2,3}(_[A-Z]{2})?")
_MOST_ROWS = 2**31 - 1  # of records that are decoded at once
_LONGEST = 1000  # characters of a value that is made up


class Cells(NamedTuple):
    """Cells of a column: its codes for some records, and values drawn for them."""

    column: Column
    codes: NDArray[Any]
    values: NDArray[Any] | None = None
    """Positions of codes that are not values but were drawn within bins, or made."""

    def some(self, records: slice) -> Cells:
        """Return the cells of some of the records."""
        return Cells(self.column, self.codes[records], None if self.values is None else self.values[records])

    def decoded(self) -> NDArray[Any]:
        """Return the values, as `Column.decode` does."""
        return self.column.shown(self.codes, self.values)

    def texts(self) -> NDArray[Any]:
        """Return the texts of the cells in a file."""
        return self.column.written(self.codes, self.values)

    def plain(self) -> Cells:
        """Return the cells with numbers written with a decimal point and no other mark."""
        return self._replace(column=self.column.unmarked())


def constant(column: Column, values: NDArray[Any]) -> Cells:
    """Return cells of values that are all of a column's first code."""
    return Cells(column, np.zeros(len(values), dtype=np.int64), values)


@dataclass(frozen=True)
class Made(ABC):
    """A column that is made when records are decoded.

    It costs nothing: a table's column of its name is never read, whatever it holds, and need not be there.
    """

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        if problems := list(self._problems()):
            raise ValueError("; ".join(problems))

    @property
    def sources(self) -> tuple[str, ...]:
        """Columns that this one is made of."""
        return ()

    def check(self, columns: Mapping[str, Column], name: str) -> None:
        """Raise ``ValueError`` if the column cannot be made of these; open ones are provisional."""
        del columns, name

    @abstractmethod
    def made(self, cells: Mapping[str, Cells], rows: range, rng: np.random.Generator) -> Cells:
        """Return the cells of some rows, given the cells of the sources."""

    @abstractmethod
    def _problems(self) -> Iterator[str]:
        """Yield the problems of the declaration."""

    def to_dict(self) -> dict[str, Any]:
        """Return the entry of the column in a schema file."""
        return {"kind": self.kind, **fields_of(self)}


@dataclass(frozen=True)
class Id(Made):
    """A new number for each record.

    Parameters
    ----------
    format : str
        Pattern of the text: anything, with ``{}`` for the number or, with zeros before it up to a length, ``{:07}``.
        With ``{}`` only, values are whole numbers.
    start : int
        The first number; the others follow.

    Examples
    --------
    >>> from pypgm import Schema
    >>> schema = Schema({"id": Id("ID-{:04}"), "sex": ["F", "M"]})
    >>> schema.decode(schema.encode({"sex": ["M", "F"]}))["id"].tolist()
    ['ID-0001', 'ID-0002']
    """

    format: str = "{}"
    start: int = 1
    kind = "id"

    def made(self, cells: Mapping[str, Cells], rows: range, rng: np.random.Generator) -> Cells:
        """Return the numbers of the rows."""
        del cells, rng
        numbers = np.arange(self.start + rows.start, self.start + rows.stop)
        if self.format == "{}":
            high = self.start + _MOST_ROWS - 1
            return constant(Integer(self.start, high, width=_MOST_ROWS), numbers)
        texts = np.array([*map(self.format.format, numbers.tolist()), None], dtype=object)[:-1]
        return constant(Categorical([self.format.format(self.start)]), texts)

    def _problems(self) -> Iterator[str]:
        if not isinstance(self.format, str) or not _FORMAT.fullmatch(self.format):
            yield "format needs a text with one place for a number, such as 'ID-{:07}'"
        if type(self.start) is not int or not 0 <= self.start < 2**52:
            yield "start needs a whole number, 0 or more"


@dataclass(frozen=True)
class Fake(Made):
    """Values that are made up by the package Faker, which is the extra ``[fake]``: names, addresses and others.

    Parameters
    ----------
    faker : str
        Faker's name of them, such as "name", "email" or "city".
    locale : str
        Language and country, such as "de_DE".

    Notes
    -----
    They are drawn with the records: equal random numbers give equal values, by one version of Faker.

    Examples
    --------
    >>> Fake("name").to_dict()
    {'kind': 'fake', 'faker': 'name'}
    """

    faker: str
    locale: str = "en_US"
    kind = "fake"

    def check_there(self) -> None:
        """Raise an error if such values cannot be made: the package is missing, or has none."""
        self._values(1, 0)

    def made(self, cells: Mapping[str, Cells], rows: range, rng: np.random.Generator) -> Cells:
        """Return a text for each row."""
        del cells
        texts = self._values(len(rows), int(rng.integers(2**63)))
        return constant(Categorical(texts[:1] or ["x"]), np.array([*texts, None], dtype=object)[:-1])

    def _values(self, n: int, seed: int) -> list[str]:
        source = imported("faker", f"a column of {self.kind!r}", "fake")
        refused = f"Faker makes no {self.faker!r} of texts for the locale {self.locale!r}"
        try:
            generator = source.Faker(self.locale)
        except AttributeError:
            raise ValueError(refused) from None
        generator.seed_instance(seed)
        if not any(callable(getattr(provider, self.faker, None)) for provider in generator.get_providers()):
            raise ValueError(refused)
        make = getattr(generator, self.faker)
        try:
            values = [make() for _ in range(n)]
        except Exception:
            raise ValueError(refused) from None
        if any(isinstance(value, bytes) for value in values):
            raise ValueError(refused)
        texts = list(map(str, values))
        if any(len(text) > _LONGEST for text in texts):
            raise ValueError(refused)
        return texts

    def _problems(self) -> Iterator[str]:
        if not isinstance(self.faker, str) or not _PROVIDER.fullmatch(self.faker):
            yield "faker needs the name of what Faker makes, such as 'name'"
        if not isinstance(self.locale, str) or not _LOCALE.fullmatch(self.locale):
            yield "locale needs a text such as 'en_US'"


def made_in_order(made: Mapping[str, Made], known: Collection[str]) -> list[str]:
    """Return the names of columns that are made such that each comes after those that it is made of.

    Raises
    ------
    ValueError
        If a column is made of a missing one, or of itself by way of others.
    """
    sources = {name: column.sources for name, column in made.items()}
    for name, of in sources.items():
        missing = [source for source in of if source not in known and source not in made]
        if missing:
            raise ValueError(f"column {name!r} is made of {missing[0]!r}, and no such column is declared")
    return in_order(sources, "is made of itself, by way of others")
