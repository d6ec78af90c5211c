"""Records behind a ledger: columns of raw values, read by declared rules, and histograms of their unknown keys."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import repeat
from typing import Any, NoReturn, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from pypgm.data.sources.tally import Tally
from pypgm.privacy.access import ChargedNoise, ColumnAccess
from pypgm.privacy.budget import check_new
from pypgm.privacy.fixed_errors import fixed_errors, unwarned
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.rational import Number, as_fraction
from pypgm.privacy.relation import Privacy
from pypgm.privacy.sampler import Sampler
from pypgm.queries import Identity


class Guarded:
    """Records behind a ledger, which is bound to their relation; not counted, iterated, copied or pickled."""

    __slots__ = ("__weakref__", "_ledger", "_privacy", "_sampler")

    def __init__(self, privacy: Privacy, ledger: Ledger, sampler: Sampler) -> None:
        check_new(self, "_ledger")
        if type(ledger) is not Ledger:  # nor a subclass, which could charge less than the law costs
            raise TypeError(f"records need a Ledger, got {type(ledger).__name__}: a copy of a ledger cannot be charged")
        if type(sampler) is not Sampler:  # nor a subclass, which could draw less noise than charged
            raise TypeError(f"records need a Sampler, got {type(sampler).__name__}")
        ledger.bind(privacy)
        self._privacy = privacy.copy()  # a copy: no later change of the caller's changes a sensitivity
        self._ledger = ledger
        self._sampler = sampler
        if sampler.not_private:
            ledger.mark_not_private(sampler.not_private)

    @property
    def privacy(self) -> Privacy:
        """The neighbour relation."""
        return self._privacy

    @property
    def ledger(self) -> Ledger:
        """The ledger to which answers are charged."""
        return self._ledger

    def __repr__(self) -> str:
        return f"{type(self).__name__}(records behind a ledger)"

    def __len__(self) -> int:
        raise TypeError("the number of private records is not shown; measure it")

    def __iter__(self) -> NoReturn:
        raise TypeError("a private table or column gives no records, only charged answers")

    def __getitem__(self, key: object) -> NoReturn:
        raise TypeError("a private table or column gives no records, only charged answers")

    def __bool__(self) -> bool:
        return True

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a private table or column is neither pickled nor copied")

    def __copy__(self) -> NoReturn:
        raise TypeError("a private table or column is neither pickled nor copied")

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        raise TypeError("a private table or column is neither pickled nor copied")


_MAX_FLOAT = int(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True, eq=False)
class TableColumn:
    """A column of a table: the values of its codes, the number of records of each, and a check that it is open."""

    levels: Sequence[object]
    count: Callable[[], NDArray[np.int64]]
    check_open: Callable[[], object]


@dataclass(frozen=True, slots=True, eq=False)
class CountedColumn:
    """A column counted where its records are.

    Attributes
    ----------
    pieces : callable
        Gives values, and the number of records of each, some at a time; a value may come again.
    below : callable
        Takes rising points: how many further numbers are below each, and last how many there are, shape (points + 1,).
    """

    pieces: Callable[[], Iterable[tuple[Iterable[object], Iterable[int]]]]
    below: Callable[[NDArray[np.float64]], NDArray[np.int64]]


class PrivateColumn(Guarded):
    """Column of raw values behind a ledger, for questions that come before a table can be encoded.

    `private_quantiles`, `private_bounds` and `sparse_histogram` take it; `PrivateTable.column` makes one of an
    attribute. No value is looked at before a charge, and none can raise an error:

    - as a number, a value is read by ``float``; numbers too large are infinite; NaN, None, text that is not a number
      and all other values are nulls, which have no rank and are counted in no cell;
    - as a key, a value is itself if it is text or an integer (1.0 and True are 1); all other values are nulls, which
      are never released.

    Parameters
    ----------
    values : sequence or ndarray, shape (records,)
        The values; kept, not copied.
    privacy : Privacy
        The neighbour relation.
    ledger : Ledger
        The ledger to which every answer is charged; bound to the relation.
    unsafe_seed : int, optional
        Draw all noise from this number: the same every time, and private for nobody. The ledger says so.
    sampler : Sampler, optional
        The sampler of another column or table, in place of `unsafe_seed`.

    Raises
    ------
    TypeError
        If the values are not a sequence, such as a text or an iterator.
    ValueError
        If the values have more than one dimension, or the ledger is bound to another relation.

    Examples
    --------
    >>> from pypgm import Budget
    >>> PrivateColumn([31, None, "n/a"], Privacy(), Ledger(Budget(rho=1)))
    PrivateColumn(records behind a ledger)
    """

    __slots__ = ("__values",)

    def __init__(
        self,
        values: Iterable[object] | TableColumn | CountedColumn,
        privacy: Privacy,
        ledger: Ledger,
        *,
        unsafe_seed: int | None = None,
        sampler: Sampler | None = None,
    ) -> None:
        if not isinstance(values, TableColumn | CountedColumn):
            if isinstance(values, str | bytes) or not hasattr(type(values), "__len__"):
                raise TypeError(f"a column needs a sequence of values, got {type(values).__name__}")
            if getattr(values, "ndim", 1) != 1:
                raise ValueError("a column needs values of one dimension")
        source = Sampler(unsafe_seed, n_threads=0) if sampler is None else sampler
        super().__init__(privacy, ledger, source)
        self.__values = values

    @property
    def trusted_access(self) -> ColumnAccess:
        """Access to the raw values, for the steps of this package, which charge before they look."""
        return ColumnAccess(self._privacy, self._ledger, self._sampler, self.__check_open, self.__numbers, self.__keys)

    def __check_open(self) -> None:
        """Raise ``ValueError`` if the column is of a closed table; to be called before a charge."""
        if isinstance(self.__values, TableColumn):
            self.__values.check_open()

    def __numbers(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return rising numbers, each point and one that stands for all between two, and the number of records of each.

        To be called after the charge.
        """
        ends = np.unique([points, np.nextafter(points, np.inf)])
        given = self.__values
        below = given.below(ends) if isinstance(given, CountedColumn) else np.zeros(ends.size + 1, dtype=np.int64)
        per_cell = np.diff(below, prepend=0)
        for values, counts in self.__pieces():
            numbers = _as_numbers(values)
            times = np.fromiter(counts, np.int64, numbers.size)
            known = ~np.isnan(numbers)
            np.add.at(per_cell, np.searchsorted(ends, numbers[known], side="right"), times[known])
        return np.concatenate([[-np.inf], ends]), per_cell

    def __keys(self) -> Iterator[tuple[list[str | int], NDArray[np.int64]]]:
        """Yield some keys at a time, numbers first, with the number of records of each; called after the charge."""
        with Tally() as tally:
            with unwarned():
                for values, counts in self.__pieces():
                    tally.add(map(_as_key, values), counts)
            yield from tally.chunks()

    def __pieces(self) -> Iterable[tuple[Iterable[object], Iterable[int]]]:
        """Return values, and the number of records of each; a value may come again."""
        given = self.__values
        if isinstance(given, CountedColumn):
            return given.pieces()
        if isinstance(given, TableColumn):
            return [(given.levels, given.count().tolist())]
        return [(given, repeat(1))]


def _as_numbers(values: Iterable[object]) -> NDArray[np.float64]:
    if type(values) is np.ndarray and values.dtype.kind in "biuf":
        with np.errstate(all="ignore"):  # a long double may overflow: no warning
            return values.astype(np.float64)
    with unwarned():
        return np.array([_as_number(value) for value in values], dtype=np.float64)


def _as_number(value: object) -> float:
    try:
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, int | Fraction):  # float raises beyond the largest double
            beyond = math.inf if Fraction(plain) > _MAX_FLOAT else -math.inf
            return float(plain) if -_MAX_FLOAT <= Fraction(plain) <= _MAX_FLOAT else beyond
        return float(plain) if isinstance(plain, float | str | Decimal) else math.nan
    except KeyboardInterrupt:
        raise
    except BaseException:  # whatever a value does, no error may reveal it
        return math.nan


def _as_key(value: object) -> str | int | None:
    try:
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, str):
            return str.__str__(plain)
        if isinstance(plain, int) or (isinstance(plain, float) and plain.is_integer()):
            return int(plain)
    except KeyboardInterrupt:
        raise
    except BaseException:  # as above
        return None
    return None


def sparse_histogram(
    column: PrivateColumn,
    *,
    delta: Number,
    rho: Number | None = None,
    scale: Number | None = None,
    variance: Number | None = None,
) -> dict[str | int, int]:
    """Count the records of every key that occurs, and release the keys whose noisy count reaches a threshold.

    Keys that only one person has are released with probability at most `delta`, over all such keys together; this
    probability is charged besides the noise, against the budget's `reserved_delta`.

    Parameters
    ----------
    column : PrivateColumn
        The key of every record, a text or an integer; other values are never released. With k records per person the
        threshold is k higher.
    delta : number
        The probability of failure, in (0, 1).
    rho, scale, variance : number
        Exactly one: the cost of discrete Gaussian noise, the scale of discrete Laplace, or the parameter of
        discrete Gaussian noise.

    Returns
    -------
    dict of str or int to int
        Noisy counts by key, in the order of the keys.

    Raises
    ------
    BudgetError
        If the charge does not fit; then nothing was read.
    ValueError
        If not exactly one of `rho`, `scale` and `variance` is given, or a number is out of range.

    Notes
    -----
    If no key that only one person has is released, the rest is noise on counts of keys that both tables have. A person
    with k records has at most k keys alone, each of count at most k, so with Z the noise and t = threshold - k such a
    key is released with probability at most k P(Z >= t), which the threshold keeps at or below `delta`.

    References
    ----------
    Korolova, Kenthapadi, Mishra and Ntoulas 2009, "Releasing Search Queries and Clicks Privately"; Bun and Steinke 2016
    (approximate zCDP).

    Examples
    --------
    >>> from pypgm import Budget, Ledger, Privacy
    >>> ledger = Ledger(Budget(epsilon=1, delta=1e-6, reserved_delta=1e-9))
    >>> drinks = PrivateColumn(["tea"] * 1000 + ["secret", None], Privacy(), ledger)
    >>> list(sparse_histogram(drinks, delta=1e-9, scale=9))
    ['tea']
    """
    access = column.trusted_access
    access.check_open()
    fail = as_fraction("delta", delta)
    if not 0 < fail < 1:
        raise ValueError(f"delta must lie in (0, 1), got {delta}")
    noise = access.charge_noise(Identity(2), "histogram", "keys", rho=rho, scale=scale, variance=variance, delta=fail)
    with fixed_errors:
        return _released(access, noise)


def _released(access: ColumnAccess, noise: ChargedNoise) -> dict[str | int, int]:
    released: dict[str | int, int] = {}
    threshold = noise.law.threshold or 0
    for keys, counts in access.histogram():
        noisy = noise.add(counts).tolist()
        released |= {key: count for key, count in zip(keys, noisy, strict=True) if count >= threshold}
    return released
