"""Columns of which exactly one is true in each record: one attribute, from which all of them follow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.bins import Binned
from pypgm.data.columns.categorical import Categorical
from pypgm.data.columns.column import Column, Misfit
from pypgm.data.columns.difference import Difference
from pypgm.data.columns.made import Cells, Made
from pypgm.domain import listed

_MIN_COLUMNS = 2  # columns


@dataclass(frozen=True)
class OneOf:
    """Rule that exactly one of several columns is true in each record, by the meaning of the columns.

    A table that has another record is refused. Inside they are one attribute, whose values are the names of the
    columns: they cost as much as one column, and the rule holds in every synthetic record.

    Parameters
    ----------
    one_of : sequence of str
        Two columns or more, each of two values, the second of which is true: booleans, integers 0 and 1, or others.

    Examples
    --------
    >>> from pypgm import Schema
    >>> from pypgm.data import Boolean
    >>> schema = Schema({name: Boolean(["0", "1"]) for name in "abc"}, rules=[OneOf(["a", "b", "c"])])
    >>> schema.domain
    Domain(a..c: 3)
    >>> data = schema.encode({"a": [1, 0], "b": [0, 0], "c": [0, 1]})
    >>> {name: values.tolist() for name, values in schema.decode(data).items()}
    {'a': ['1', '0'], 'b': ['0', '0'], 'c': ['0', '1']}
    """

    one_of: Sequence[str]

    def __post_init__(self) -> None:
        names: Any = self.one_of
        if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(n, str) for n in names):
            raise TypeError(f"one_of needs a list of columns, got {names!r}")
        if len(names) < _MIN_COLUMNS or len(set(names)) < len(names):
            raise ValueError(f"one_of needs two or more different columns, got {listed([*map(repr, names)])}")
        object.__setattr__(self, "one_of", tuple(names))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(self.one_of)

    @property
    def attribute(self) -> str:
        """Name of the attribute that stands for the columns: of the first and the last of them."""
        return f"{self.one_of[0]}..{self.one_of[-1]}"

    def to_dict(self) -> dict[str, Any]:
        """Return the entry of the rule in a schema file."""
        return {"one_of": list(self.one_of)}


@dataclass(frozen=True)
class Block(Categorical):
    """The attribute of columns of which exactly one is true: its values are their names."""

    kind = "one of"

    @property
    def allowed(self) -> str:
        """The condition, in words."""
        return f"exactly one of {listed([*map(repr, self.values)], 6)} to be true"

    def coded(self, codes: Mapping[str, NDArray[Any]]) -> tuple[NDArray[Any], Misfit | None]:
        """Return the code of each record, given the codes of the columns, and the first record without one."""
        columns = [np.asarray(codes[str(name)]) for name in self.values]
        block, n_true = np.zeros(len(columns[0]), dtype=self.dtype), np.zeros(len(columns[0]), dtype=np.int64)
        for code, column in enumerate(columns):
            n_true += column == 1
            block[column == 1] = code
        wrong = np.flatnonzero(n_true != 1)
        return block, Misfit(int(wrong[0]), f"needs {self.allowed}, and has none or several") if wrong.size else None


@dataclass(frozen=True)
class Member(Made):
    """A column that is read as part of a block, and follows from it."""

    block: str
    place: int
    column: Column
    kind = "one of several"

    @property
    def sources(self) -> tuple[str, ...]:
        """The block."""
        return (self.block,)

    def made(self, cells: Mapping[str, Cells], rows: range, rng: np.random.Generator) -> Cells:
        """Return the values that follow from the block."""
        del rows, rng
        return self.of_codes(np.asarray(cells[self.block].codes) == self.place)

    def of_codes(self, codes: NDArray[Any]) -> Cells:
        """Return the cells of codes, 0 and 1."""
        codes = np.asarray(codes, dtype=np.int64)
        if not isinstance(self.column, Binned):
            return Cells(self.column, codes)
        first, _ = self.column.ends()
        return Cells(self.column, codes, self.column.of_steps(first[codes]))

    def _problems(self) -> Iterator[str]:
        yield from ()


def blocks_of(rules: Sequence[OneOf]) -> dict[str, Block]:
    """Return the attributes of rules."""
    return {rule.attribute: Block(rule.columns) for rule in rules}


def members_of(rules: Sequence[OneOf], declared: Mapping[str, object]) -> dict[str, Member]:
    """Return the columns that rules name, as parts of their blocks.

    Raises
    ------
    ValueError
        If a column is none that may be true or false, or in two rules, or the name of an attribute is taken.
    """
    members: dict[str, Member] = {}
    for rule in rules:
        if rule.attribute in declared:
            raise ValueError(f"the attribute of a rule one_of is {rule.attribute!r}, and a column has this name")
        for place, name in enumerate(rule.columns):
            column = declared[name]
            if name in members:
                raise ValueError(f"column {name!r} comes in two rules one_of")
            if not isinstance(column, Column) or not _is_flag(column):
                needed = "needs exactly two values and no null, of which the second is true"
                raise ValueError(f"column {name!r} in a rule one_of {needed}")
            members[name] = Member(rule.attribute, place, column)
    return members


def _is_flag(column: Column) -> bool:
    if isinstance(column, Difference) or (column.size, column.n_values) != (2, 2):
        return False
    if not isinstance(column, Binned):
        return True
    return bool(column.per_unit) and np.array_equal(*column.ends())
