"""Private settling of a schema's open columns: values that nobody can list, and bins by quantiles."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.data import Categorical, Integer, OpenSchema, Real, Schema
from pypgm.data.columns.numbers import Numeric, as_number
from pypgm.data.columns.open_columns import OpenColumn, OpenSet, QuantileBins
from pypgm.data.columns.values import Values, as_list, bare, is_number, is_plain, plain
from pypgm.data.schema.person import Keys, content_keys
from pypgm.data.sources.frames import as_columns, check_columns
from pypgm.data.sources.open_values import OpenValues, counted_values
from pypgm.domain import listed
from pypgm.privacy.arguments import relation_of, warn_at_door
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_column import CountedColumn, PrivateColumn, sparse_histogram
from pypgm.privacy.quantiles import private_bounds, private_quantiles
from pypgm.privacy.rational import as_fraction
from pypgm.privacy.relation import Privacy
from pypgm.privacy.sampler import Sampler
from pypgm.queries import Identity, Neighbours

_DIGITS = 400  # digits before or after the point of a number that may be a label: more than a double has


def settle(
    schema: OpenSchema,
    columns: Mapping[str, Any] | OpenValues,
    privacy: Privacy | Neighbours | None,
    ledger: Ledger,
    *,
    sampler: Sampler | None = None,
) -> Schema:
    """Return a schema with no open column, each settled for the share of the budget that it states.

    An `OpenSet` gets the values whose noisy counts reach the threshold of `sparse_histogram`; all open sets together
    may use the delta that the budget reserves. The bins of `QuantileBins` begin at `private_quantiles` of its public
    grid.

    Parameters
    ----------
    schema : OpenSchema
    columns : mapping of str to sequence, shape (n_records,), or OpenValues
        The raw values of each open column, of the columns that identify persons, by which some records of each person
        are kept, and of the weight, by which a record counts; or those of a table that is counted where it is. No value
        of an open column shows before it is charged for.
    privacy : Privacy, "add-remove" or "replace", optional
        The neighbour relation, as for `PrivateTable`: the schema says how many records a person has.
    ledger : Ledger
        The ledger of all charges; the rest of its budget is for the records.
    sampler : Sampler, optional
        The source of all draws, later for the records too; the ledger marks one with a seed as not private.

    Raises
    ------
    BudgetError
        If the shares exceed the rest of the budget; then nothing is charged.
    ValueError
        If a column is missing, the relation has another number of records per person than the schema states, or there
        are open sets and the budget reserves no delta, or has none; before anything is charged.

    Examples
    --------
    >>> from pypgm import Budget, Ledger, OpenSchema, PrivateTable, mechanisms
    >>> from pypgm.data import Integer, OpenSet, QuantileBins
    >>> schema = OpenSchema({"job": OpenSet(share=0.5), "age": QuantileBins(Integer(0, 99), 2, share=0.25)})
    >>> ledger = Ledger(Budget(rho=8, reserved_delta=1e-9))
    >>> raw = {"job": ["cook"] * 500 + ["spy"], "age": [20] * 100 + [60] * 401}
    >>> found = settle(schema, raw, None, ledger)
    >>> found.columns["job"].labels, found.columns["age"].size
    (('cook', 'other'), 2)
    >>> ledger.remaining() >= 2
    True
    >>> with PrivateTable(found.encode(raw), None, ledger) as table:
    ...     release = mechanisms.wide(table)  # for all that is left
    >>> release.schema == found, [line.within for line in release.ledger.lines][:2]
    (True, ['settle / job', 'settle / age / quantiles'])
    """
    relation = relation_of(privacy, schema)
    n_sets = sum(isinstance(column, OpenSet) for column in schema.open.values())
    if n_sets and (ledger.budget.unit != "rho" or not ledger.remaining_delta()):
        raise ValueError(
            "unlisted values are found with a probability of failure: "
            "the budget needs delta, and part of it reserved, as Budget(epsilon=1, delta=1e-9, reserved_delta=1e-10)"
        )
    keys = None if isinstance(columns, OpenValues) else _checked_keys(schema, columns)
    times = None if isinstance(columns, OpenValues) else _times(schema, columns)
    drawing = Sampler(n_threads=0) if sampler is None else sampler
    deltas = ledger.remaining_delta() if n_sets else Fraction(0)
    warn_at_door(schema, ledger.budget)
    amounts = {name: as_fraction("share", c.share) * ledger.budget.limit for name, c in schema.open.items()}
    values_of: dict[str, CountedColumn] = {}
    closed = {}
    with ledger.allocate("settle", amount=sum(amounts.values()), reserved_delta=deltas, alone=False) as parts:
        if isinstance(columns, OpenValues):
            counted = columns if schema.person is None else columns.kept(drawing.secret())
            values_of.update((name, _counted(counted, name, column)) for name, column in schema.open.items())
        else:
            kept = _kept_values(schema, columns, keys, drawing)
            values_of.update((name, _held(kept[name], column, times)) for name, column in schema.open.items())
        for name, column in schema.open.items():
            delta = deltas / n_sets if isinstance(column, OpenSet) else Fraction(0)
            with parts.allocate(name, amount=amounts[name], reserved_delta=delta, alone=False) as part:
                values = PrivateColumn(values_of[name], relation, part, sampler=drawing)
                closed[name] = _settled(column, values, amounts[name], delta)
    return schema.closed(closed)


def counts_needed(schema: OpenSchema, budget: Budget, privacy: Privacy | Neighbours | None = None) -> dict[str, int]:
    """Return the noisy count that a value of each open set needs to be found by `settle`, before any table is read.

    It is in the law of the charge, which does not depend on the records: that of a table without any is read.

    Parameters
    ----------
    schema : OpenSchema
    budget : Budget
        The whole budget, with delta reserved if there are open sets.
    privacy
        The neighbour relation, as for `settle`.

    Raises
    ------
    ValueError
        As `settle`.

    Examples
    --------
    >>> from pypgm import Budget, OpenSchema
    >>> from pypgm.data import OpenSet
    >>> schema = OpenSchema({"job": OpenSet(share=0.5), "sex": ["F", "M"]})
    >>> counts_needed(schema, Budget(epsilon=1, delta=1e-9, reserved_delta=1e-10))
    {'job': 52}
    """
    ledger = Ledger(budget)
    with warnings.catch_warnings():  # whoever reads records is warned
        warnings.simplefilter("ignore")
        settle(schema, {name: [] for name in (*schema.open, *schema.unit_columns)}, privacy, ledger)
    laws = {charge.within: charge.law for charge in ledger.snapshot().lines}
    sets = (name for name, column in schema.open.items() if isinstance(column, OpenSet))
    return {name: getattr(laws[f"settle / {name}"], "threshold", None) or 0 for name in sets}


def _checked_keys(schema: OpenSchema, columns: Mapping[str, Values]) -> Keys | None:
    """Return the keys of the records' persons, if the schema names one; ``ValueError`` if a column does not fit."""
    missing = [name for name in schema.open if name not in columns]
    if missing:
        raise ValueError(f"column {missing[0]!r} is open and its values are missing")
    check_columns({name: columns[name] for name in (*schema.open, *schema.key_columns) if name in columns})
    if schema.person is None:
        return None
    keys = schema.person.keys(columns)
    if uneven := [name for name in schema.open if len(columns[name]) != len(keys)]:
        others = listed(list(map(repr, schema.key_columns)))
        raise ValueError(f"column {uneven[0]!r} and {others} need equal numbers of values")
    return keys


def _times(schema: OpenSchema, columns: Mapping[str, Values]) -> list[int] | None:
    """Return how often each record counts, if the schema names a weight; ``ValueError`` if a column does not fit."""
    if schema.weight is None:
        return None
    name = schema.weight.column
    if name not in columns:
        raise ValueError(f"column {name!r} is the weight of a record and its values are missing")
    times: list[int] = schema.weight.times(as_columns({name: columns[name]})[name]).tolist()
    if uneven := [other for other in schema.open if len(columns[other]) != len(times)]:
        raise ValueError(f"column {uneven[0]!r} and the weight {name!r} need equal numbers of values")
    return times


def _counted(values: OpenValues, name: str, column: OpenColumn) -> CountedColumn:
    """Return a column whose values are counted where they are, and read as histograms take them."""

    def pieces() -> Iterator[tuple[Iterable[object], Iterable[int]]]:
        return ((_as_read(part, column), counts) for part, counts in values.distinct(name, column))

    def below(points: NDArray[np.float64]) -> NDArray[np.int64]:
        return values.below(name, column, points) if isinstance(column, QuantileBins) else np.zeros(0, np.int64)

    return CountedColumn(pieces, below)


def _held(values: Values, column: OpenColumn, times: list[int] | None) -> CountedColumn:
    """Return a column whose values are in memory, counted, by weight if there are any, and read as histograms do."""

    def pieces() -> Iterator[tuple[Iterable[object], Iterable[int]]]:
        some, counts = counted_values(values) if times is None else (values, times)
        yield _as_read(some, column), counts

    return CountedColumn(pieces, lambda points: np.zeros(len(points) + 1, np.int64))


def _kept_values(
    schema: OpenSchema, columns: Mapping[str, Values], keys: Keys | None, sampler: Sampler
) -> Mapping[str, Values]:
    """Return the values of the open columns in the records that are kept of each person."""
    if schema.person is None or keys is None:
        return columns
    content = [content_keys(columns[name]) for name in schema.open]
    is_kept = schema.person.kept(keys, content, sampler.secret())
    return {name: list(compress(as_list(columns[name]), is_kept)) for name in schema.open}


def _settled(
    column: OpenColumn, values: PrivateColumn, amount: Fraction, delta: Fraction
) -> Categorical | Integer | Real:
    """Return a column settled for an amount of the budget."""
    if isinstance(column, OpenSet):
        return column.closed(sparse_histogram(values, delta=delta, rho=amount))
    if column.find_bounds:
        amount /= 2
        column = column.bounded(*private_bounds(values, column.powers, **_noise_for(amount, values, column)))
    cost = {"rho": amount} if values.ledger.budget.unit == "rho" else {"epsilon": amount}
    steps = [Fraction(i, column.quantiles) for i in range(1, column.quantiles)]
    # Points beyond all records lack only the records outside of a quantile, of which the outer ones have few.
    parts = [1 / min(step, 1 - step) ** 2 for step in steps]
    return column.closed(private_quantiles(values, steps, column.grid, **cost, parts=parts))


def _noise_for(amount: Fraction, values: PrivateColumn, column: QuantileBins) -> dict[str, Fraction]:
    """Return the noise that counts of the cells between powers of 2 cost an amount for."""
    if values.ledger.budget.unit == "rho":
        return {"rho": amount}
    cells = Identity(len(column.powers))  # and one of nulls, which takes the place of the last point
    return {"scale": values.trusted_access.privacy.l1_sensitivity(cells) / amount}


class _Values:
    """Values of a column as histograms take them: nulls are None, booleans are texts, texts have no spaces around them.

    Values of an open set are texts and whole numbers; any other value becomes the text by which it is encoded.
    """

    def __init__(self, values: Values, column: OpenColumn) -> None:
        self._values, self._column = values, column.provisional
        self._heaps = frozenset(() if isinstance(column, OpenSet) else map(float, column.heaps))

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[object]:
        return map(self._value_of, as_list(self._values))  # masked values are None

    def _value_of(self, value: object) -> object:
        column = self._column
        try:
            content = bare(value)
            content = str(content) if isinstance(content, bool | np.bool_) else content
            if isinstance(content, str):
                read = column.plain_text if isinstance(column, Numeric) else _writable
                return None if content in column.null_texts else self._unless_heap(read(content))
            is_null = bool(column.null_numbers) and plain(content) in column.null_numbers
            return None if is_null else self._unless_heap(content) if isinstance(column, Numeric) else _key(content)
        except KeyboardInterrupt:
            raise
        except BaseException:  # whatever a value does, no error may reveal it
            return None

    def _unless_heap(self, number: object) -> object:
        """Return a number, but None, which has no rank, if it has a bin of its own whatever the records are."""
        return None if self._heaps and as_number(number) in self._heaps else number


def _as_read(values: Values, column: OpenColumn) -> Iterable[object]:
    """Return values as histograms take them: all numbers of an array at once, but those that may be nulls or heaps."""
    if not isinstance(column, QuantileBins):
        return _Values(values, column)
    if is_plain(values, "iuf") and (values.dtype.kind != "f" or values.dtype.itemsize == 8):
        numbers = np.array(values, dtype=np.float64)
        doubtful = np.isin(numbers, [*map(float, column.provisional.null_numbers), *map(float, column.heaps)])
        if doubtful.any():
            some = _Values(values[doubtful], column)
            numbers[doubtful] = [np.nan if number is None else as_number(number) for number in some]
        return numbers
    return _Values(values, column)


def _writable(text: str) -> str:
    """Return a text that a file can hold; ``UnicodeEncodeError`` for any other, which is not a label."""
    text.encode()
    return text


def _key(value: object) -> str | int | None:
    """Return the number or text of the label to which a value that is no text is encoded; None if it has none.

    Examples
    --------
    >>> import datetime
    >>> [_key(v) for v in (7.0, 2.5, Decimal("2.50"), 1e20, datetime.time(9, 30), datetime.timedelta(hours=2))]
    [7, '2.5', '2.5', '1e+20', '09:30:00', '2:00:00']
    """
    number = plain(value)
    if not is_number(number):
        return None if number is None else str(number)
    if isinstance(number, Decimal) and not (number.is_finite() and abs(number.adjusted()) <= _DIGITS):
        return None
    if number == int(number):
        return int(number) if abs(number) < 10**_DIGITS else None
    return None if isinstance(number, Fraction) else format(number, "f").rstrip("0")
