"""Rules across columns: combinations of values that no record can have."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pypgm._base.memory import check_fits, short
from pypgm._base.terminal import escaped
from pypgm.data.columns.bins import UnreadableError
from pypgm.data.columns.column import Column
from pypgm.data.columns.listed_numbers import ListedNumbers, listed_line
from pypgm.data.columns.within import can_hold
from pypgm.data.dataset import Dataset
from pypgm.data.schema.rule_comparison import MOST_CELLS, Comparison
from pypgm.domain import Clique, Label, listed

Entry = Label | Sequence[Label] | Mapping[str, Label]

_MOST_DRAWS = 1000  # records for each one that keeps the rules, before a model is said to give none
_SHOWN = 5  # rows that break a rule and are named


class Counted(Protocol):
    """A table that can be counted."""

    def count(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        """Count the records of each cell of some cliques' tables."""


@runtime_checkable
class Ordered(Protocol):
    """A table that is read piece by piece, in the same order each time."""

    def codes_of(self, names: Sequence[str]) -> Iterable[Mapping[str, NDArray[Any]]]:
        """Return the codes of some columns, piece by piece."""


@dataclass(frozen=True)
class Rule:
    """Combinations that no record can have, by the meaning of the columns, never by the records.

    Parameters
    ----------
    columns : sequence of str
        At least two.
    forbidden : sequence of sequences
        Combinations, each with an entry for every column: a value or a label, a list of alternatives, or
        ``{"from": value, "to": value}`` for all between two, in the order of the codes; either end may be left out. A
        number stands for its bin.

    Examples
    --------
    >>> from pypgm.data import Categorical, Integer
    >>> columns = {"age": Integer(0, 99, width=10), "married": Categorical(["no", "yes"])}
    >>> Rule(["age", "married"], [[{"to": 9}, "yes"]]).mask(columns).sum(axis=0).tolist()
    [0, 1]
    """

    columns: Sequence[str]
    forbidden: Sequence[Sequence[Entry]]

    def __post_init__(self) -> None:
        if not _all_are(self.columns, str) or len(set(self.columns)) != len(self.columns) or len(self.columns) < 2:
            message = "a rule needs at least two different columns; values of a single one belong in its declaration"
            raise ValueError(f"{message}: got {self.columns!r}")
        object.__setattr__(self, "columns", tuple(self.columns))
        if not _all_are(self.forbidden, Sequence) or any(isinstance(cell, str) for cell in self.forbidden):
            raise TypeError(f"the rule on {escaped(', '.join(self.columns))} needs lists of entries")
        plain = [tuple(tuple(e) if isinstance(e, list) else e for e in cell) for cell in self.forbidden]
        object.__setattr__(self, "forbidden", tuple(plain))
        if not self.forbidden or any(len(cell) != len(self.columns) for cell in self.forbidden):
            raise ValueError(
                f"the rule on {escaped(', '.join(self.columns))} needs combinations of {len(self.columns)} entries"
            )

    def mask(self, columns: Mapping[str, Column]) -> NDArray[np.bool_]:
        """Return whether each combination of codes is forbidden, in the order of the rule's columns.

        Raises
        ------
        ValueError
            If a column is unknown or open, or does not have a value.
        """
        shape = [_column(columns, name).size for name in self.columns]
        message = f"the rule on {', '.join(self.columns)} needs {short(math.prod(shape))} cells"
        check_fits(math.prod(shape), MOST_CELLS, message, "make bins wider")
        forbidden = np.zeros(shape, dtype=bool)
        of_columns = [columns[name] for name in self.columns]
        for codes in cells_named(self.columns, of_columns, self.forbidden):
            forbidden[np.ix_(*codes)] = True
        if forbidden.all():
            raise ValueError(f"the rule on {escaped(', '.join(self.columns))} leaves no record possible")
        return forbidden

    refused = mask  # whether a table that has a record of each combination is refused

    def to_dict(self) -> dict[str, Any]:
        """Return the entry of the rule in a schema file."""
        cells = [[list(e) if isinstance(e, tuple) else e for e in cell] for cell in self.forbidden]
        return {"columns": list(self.columns), "forbidden": cells}


@dataclass(frozen=True)
class Blank:
    """Rule that a column has no value unless another one has, by the meaning of the columns.

    Parameters
    ----------
    column : str
        Column that allows nulls.
    unless : str, or mapping of str to an entry
        The other column: its name, for any value but null; or its required value, as an entry of a `Rule`.

    Examples
    --------
    >>> from pypgm.data import Categorical
    >>> columns = {"member": Categorical(["no", "yes"]), "plan": Categorical(["basic", "gold"], null=True)}
    >>> Blank("plan", unless={"member": "yes"}).mask(columns).astype(int)
    array([[1, 1, 0],
           [0, 0, 0]])
    """

    column: str
    unless: str | Mapping[str, Entry] = field(hash=False)

    def __post_init__(self) -> None:
        needed = "a column and unless, another column or an object of one with its values"
        if not isinstance(self.column, str) or not isinstance(self.unless, str | Mapping):
            raise TypeError(f"a rule on blanks needs {needed}")
        if self.columns[0] == self.column or not (isinstance(self.unless, str) or len(self.unless) == 1):
            raise ValueError(f"a rule on blanks of {self.column!r} needs {needed}")

    @property
    def columns(self) -> tuple[str, str]:
        """The other column, and the one that is blank."""
        other = self.unless if isinstance(self.unless, str) else next(iter(self.unless), self.column)
        return str(other), self.column

    @property
    def names_values(self) -> bool:
        """True if the rule names values of the other column, and not only that it is not null."""
        return not isinstance(self.unless, str)

    def mask(self, columns: Mapping[str, Column]) -> NDArray[np.bool_]:
        """Return whether each combination of codes is forbidden; open columns are provisional."""
        other, blank = (_column(columns, name) for name in self.columns)
        if blank.null_code is None:
            raise ValueError(f"column {self.column!r} is blank by a rule, and needs null, the text of a blank")
        if isinstance(self.unless, str):
            if other.null_code is None:
                raise ValueError(f"a rule on blanks of {self.column!r} names {self.columns[0]!r}, which is never null")
            met = np.delete(np.arange(other.size), other.null_codes)
        else:
            met = codes_named(self.columns[0], other, self.unless[self.columns[0]])
        forbidden = np.ones((other.size, blank.size), dtype=bool)
        forbidden[met] = False
        forbidden[:, blank.null_codes] = False
        return forbidden

    refused = mask  # whether a table that has a record of each combination is refused

    def to_dict(self) -> dict[str, Any]:
        """Return the entry of the rule in a schema file."""
        unless = self.unless if isinstance(self.unless, str) else dict(self.unless)
        return {"blank": self.column, "unless": unless}


AnyRule = Rule | Comparison | Blank


def _all_are(entries: object, kind: type) -> bool:
    """Return whether an object is a list of entries of a kind."""
    return isinstance(entries, Sequence) and not isinstance(entries, str) and all(isinstance(e, kind) for e in entries)


def broken_rules(
    rules: Sequence[AnyRule], columns: Mapping[str, Column], table: Counted, first_row: int = 0
) -> list[str]:
    """Return which rules a table breaks and, where its records are at hand, in which rows; weights do not matter."""
    if isinstance(table, Dataset):
        table = Dataset(table.columns, table.domain)
    counts = table.count([tuple(rule.columns) for rule in rules])
    masks = [rule.refused(columns) for rule in rules]
    return [
        f"columns {', '.join(map(repr, rule.columns))}{_rows(rule, mask, table, first_row)}: "
        "records have a combination that a rule forbids"
        for rule, mask, table_counts in zip(rules, masks, counts, strict=True)
        if table_counts[mask.reshape(-1)].any()
    ]


def drawn_by_rules(
    rules: Sequence[AnyRule], columns: Mapping[str, Column], draw: Callable[[int | None], Dataset]
) -> Dataset:
    """Return records that keep all rules; records that break a rule are drawn again.

    They are distributed as the records that keep the rules are where records are drawn independently.

    Parameters
    ----------
    rules, columns
        Rules of a schema.
    draw : callable
        Function that draws that many records; None stands for a number of its own.

    Raises
    ------
    ValueError
        If hardly any of the records that are drawn keep the rules.
    """
    keep = partial(_kept, rules, columns, [rule.mask(columns) for rule in rules])
    records = draw(None)
    kept = [keep(records)]
    wanted, drawn = len(records), len(records)
    while (left := wanted - sum(map(len, kept))) > 0:
        if drawn > _MOST_DRAWS * wanted:
            raise ValueError("hardly any records of the model keep the rules of the schema: release.model draws others")
        more = draw(min(max(2 * left, 100), 10 * wanted))
        kept.append(keep(more))
        drawn += len(more)
    if len(kept) == 1:
        return records
    joined = {a: np.concatenate([part.columns[a] for part in kept])[:wanted] for a in records.domain}
    return Dataset(joined, records.domain)


def _kept(
    rules: Sequence[AnyRule], columns: Mapping[str, Column], masks: Sequence[NDArray[np.bool_]], data: Dataset
) -> Dataset:
    """Return the records that break no rule, and whose bins have values that break none."""
    keeps = np.ones(len(data), dtype=bool)
    for rule, mask in zip(rules, masks, strict=True):
        keeps &= ~mask[tuple(data.columns[name] for name in rule.columns)]
    possible = can_hold(rules, columns, data.columns)
    keeps &= True if possible is None else possible
    return Dataset({a: column[keeps] for a, column in data.columns.items()}, data.domain)


def _rows(rule: AnyRule, mask: NDArray[np.bool_], table: Counted, first_row: int) -> str:
    """Return the rows of records that break a rule; "" for records that are counted elsewhere."""
    rows: list[int] = []
    first = first_row
    for codes in _pieces(rule, table):
        broken = mask[tuple(codes[name] for name in rule.columns)]
        rows += (np.flatnonzero(broken)[: _SHOWN + 1] + first).tolist()
        first += broken.size
        if len(rows) > _SHOWN:
            break
    begin = "the header is row 0" if first_row else "the first is 0"
    shown = ", ".join([*map(str, rows[:_SHOWN]), *(["…"] if len(rows) > _SHOWN else [])])
    return f", row{'s' if len(rows) > 1 else ''} {shown} ({begin})" if rows else ""


def _pieces(rule: AnyRule, table: Counted) -> Iterable[Mapping[str, NDArray[Any]]]:
    """Return the codes of a rule's columns, piece by piece, if the table has its records in an order."""
    if isinstance(table, Dataset):
        return [table.columns]
    return table.codes_of(rule.columns) if isinstance(table, Ordered) else ()


def _column(columns: Mapping[str, Column], name: str) -> Column:
    if name not in columns:
        needed = "a declared column whose values are known: neither an open one nor one in bins of quantiles"
        raise ValueError(f"a rule names {name!r}, and must name {needed}")
    return columns[name]


def cells_named(
    names: Sequence[str], columns: Sequence[Column], cells: Iterable[Sequence[Entry]]
) -> Iterator[list[NDArray[np.int64]]]:
    """Yield, for each combination of entries, the codes of each column that its entry stands for.

    Raises
    ------
    ValueError
        If an entry is not a value of its column, or all together stand for too many combinations of codes, as many
        overlapping ranges may: a small file would take long.
    """
    left = MOST_CELLS
    for cell in cells:
        codes = [codes_named(*of_one) for of_one in zip(names, columns, cell, strict=True)]
        left -= math.prod(map(len, codes))
        if left < 0:
            message = f"ranges of {listed([repr(name) for name in names])} overlap"
            raise ValueError(f"{message} in more than {MOST_CELLS:,} combinations of values: name each once")
        yield codes


def codes_named(name: str, column: Column, entry: Entry) -> NDArray[np.int64]:
    """Return the codes that an entry of a rule stands for: a value, a list of values, or a range of them."""
    if isinstance(entry, Mapping):
        if not entry or set(entry) - {"from", "to"}:
            raise ValueError(f"a rule on {name!r} has a range that is not {{'from': value, 'to': value}}")
        if (line := listed_line(column)) is not None:
            return _codes_between(name, line, entry)
        low = _code(name, column, entry["from"]) if "from" in entry else 0
        high = _code(name, column, entry["to"]) if "to" in entry else column.n_values - 1
        if low > high:
            raise ValueError(f"a rule on {name!r} has a range that ends before it begins")
        return np.arange(low, high + 1)
    values = entry if isinstance(entry, Sequence) and not isinstance(entry, str) else [entry]
    return np.array([code for value in values for code in _codes(name, column, value)], dtype=np.int64)


def _codes(name: str, column: Column, value: Label | None) -> tuple[int, ...]:
    """Return the code of a value, or those of all nulls."""
    return column.null_codes if value is None and column.null_codes else (_code(name, column, value),)


def _codes_between(name: str, line: ListedNumbers, entry: Mapping[str, Any]) -> NDArray[np.int64]:
    """Return the codes of the listed numbers in a range, whose ends need not be listed."""
    try:
        low, high = (line.place_of(entry[end]) if end in entry else None for end in ("from", "to"))
    except UnreadableError:
        raise ValueError(f"a rule on {name!r} has a range of numbers that ends in another value") from None
    codes = line.between(low, high)
    if not codes:
        raise ValueError(f"a rule on {name!r} has a range without a number of the list")
    return np.array(codes, dtype=np.int64)


def _code(name: str, column: Column, value: Label | None) -> int:
    """Return the code of a label, or of a value."""
    if str(value) in column.codes_by_label:
        return column.codes_by_label[str(value)]
    codes, problem = column.encode([value])
    if problem is not None:
        raise ValueError(f"a rule on {name!r} needs {column.allowed}, or one of its labels")
    return int(codes[0])
