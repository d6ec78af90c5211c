"""Count records into tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from pypgm._base.memory import check_fits, short
from pypgm._base.numeric import checked_threads
from pypgm._core import build_info
from pypgm.data._tabulate import MAX_CELLS, Bits, Columns
from pypgm.domain import Clique, Domain
from pypgm.errors import ModelTooLargeError

_CELL_BYTES = 16  # of a count, and of the number that is made of it
_GRAIN = 1 << 18  # codes a thread must have to read before a second one pays for itself
_BIT_CELLS = 32  # of a pair without the first values, up to which it is counted by its values' bits ...
_BIT_ROWS = 1 << 20  # ... of so many rows at once
_BITS = 64  # rows counted at once


def count(
    columns: Mapping[str, NDArray[Any]], domain: Domain, cliques: Sequence[Clique], n_threads: int = 0
) -> list[NDArray[np.int64]]:
    """Count the records of each cell of some cliques' tables, exactly.

    One pass over the rows a clique, or for many pairs of few values over the bits that say which rows have a value. The
    counts do not depend on the number of threads.

    Parameters
    ----------
    columns : mapping of str to 1-D integer array
        Codes of each attribute; any integer type and stride.
    domain : Domain
    cliques : sequence of tuple of str
        The attributes of each table, in the order of its axes.
    n_threads : int, default 0
        Threads across cliques; 0 takes all the machine has.

    Returns
    -------
    list of ndarray of int64, shape (domain.size(clique),)
        Number of records of each cell, in C order over the clique as given.

    Raises
    ------
    ValueError
        If a clique does not fit the domain, `n_threads` is negative, or a code lies outside its range.
    ModelTooLargeError
        If the tables do not fit half of the memory available or one has 2^32 cells or more; it is raised before
        memory is taken.

    Examples
    --------
    >>> count({"a": np.array([0, 1, 1])}, Domain({"a": 3}), [("a",)])
    [array([1, 2, 0])]
    """
    borrowed, positions = _borrow(columns, domain, cliques)
    ends = np.cumsum([0, *_checked_sizes(borrowed, domain, cliques, positions)])
    cells = np.zeros(ends[-1], dtype=np.int64)
    by_bits = _by_bits(borrowed, positions) if borrowed.n_rows > 0 else []
    rest = sorted({*range(len(cliques))}.difference(by_bits))
    threads = _threads(n_threads, len(rest), borrowed.n_rows * sum(len(cliques[i]) for i in rest))
    tables = [cells[first:last] for first, last in itertools.pairwise(ends.tolist())]
    inside = _run(borrowed.count, threads, [positions[i] for i in rest], [tables[i] for i in rest])
    pairs = np.array([positions[i] for i in by_bits], dtype=np.int64).reshape(-1, 2)
    if not (inside and _count_by_bits(borrowed, pairs, ends[by_bits], cells, n_threads)):
        _refuse_codes(columns, domain)
    return tables


def add_weights(
    columns: Mapping[str, NDArray[Any]], domain: Domain, clique: Clique, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Add each record's weight to its cell of a clique's table, in the order of the rows.

    Parameters
    ----------
    columns, domain, clique
        See `count`.
    weights : ndarray of float64, shape (n_records,)

    Returns
    -------
    ndarray of float64, shape (domain.size(clique),)
        Sum of weights of each cell, in C order over the clique as given.

    Raises
    ------
    ValueError, ModelTooLargeError
        See `count`.

    Examples
    --------
    >>> add_weights({"a": np.array([0, 1, 1])}, Domain({"a": 3}), ("a",), np.array([0.5, 2.0, 1.0]))
    array([0.5, 3. , 0. ])
    """
    borrowed, (position,) = _borrow(columns, domain, [clique])
    table = np.zeros(_checked_sizes(borrowed, domain, [clique], [position]))
    if not borrowed.add_weights(position, weights, table):
        _refuse_codes(columns, domain)
    return table


def check_codes(columns: Mapping[str, NDArray[Any]], domain: Domain) -> None:
    """Check that the codes of each column lie in the attribute's range.

    Raises
    ------
    ValueError
        It names the column, the row and the range, and never the code: records are private.
    """
    borrowed, _ = _borrow(columns, domain, [domain.attributes])
    for position, (name, size) in enumerate(zip(domain.attributes, domain.shape, strict=True)):
        row = borrowed.first_outside(position)
        if row >= 0:
            allowed = f"codes from 0 to {size - 1}"
            raise ValueError(f"column {name!r} needs {allowed}; row {row} (the first is 0) has another value")


def _refuse_codes(columns: Mapping[str, NDArray[Any]], domain: Domain) -> NoReturn:
    """Say which code the counter met outside its range."""
    check_codes(columns, domain)
    raise ValueError("a column changed while it was counted")


def _borrow(
    columns: Mapping[str, NDArray[Any]], domain: Domain, cliques: Sequence[Clique]
) -> tuple[Columns, list[list[int]]]:
    """Hand the columns the cliques need to the compiled counter, and number them."""
    positions = [domain.indices(clique) for clique in cliques]
    needed = sorted(set(itertools.chain.from_iterable(positions)))
    place = {index: i for i, index in enumerate(needed)}
    chosen = [columns[a] for a in domain.names(needed)]
    n_rows = len(next(iter(columns.values()), ()))
    # No code reaches 2^63, so a larger size (a table over it is refused later) allows the same codes as 2^63.
    borrowed = Columns(chosen, [min(domain.shape[i], 1 << 63) for i in needed], n_rows)
    return borrowed, [[place[i] for i in clique] for clique in positions]


def _checked_sizes(
    columns: Columns, domain: Domain, cliques: Sequence[Clique], positions: Sequence[list[int]]
) -> list[int]:
    """Return the cells of each clique's table; ``ModelTooLargeError`` if they do not fit memory."""
    if not cliques:
        return []
    of_column = columns.sizes
    sizes = [math.prod([of_column[i] for i in axes]) for axes in positions]
    largest = cliques[sizes.index(max(sizes))]
    named = f"clique {largest}" if len(largest) <= 12 else f"a clique of {len(largest)} attributes"
    what = f"counting {named} needs {short(domain.size(largest))} cells"
    if max(sizes) >= MAX_CELLS:
        raise ModelTooLargeError(f"{what}; one table holds less than {MAX_CELLS:,}: count smaller cliques")
    check_fits(_CELL_BYTES * sum(sizes), None, what, "count fewer or smaller cliques at a time")
    return sizes


def _threads(n_threads: int, n_cliques: int, work: int) -> int:
    available = checked_threads(n_threads) or int(build_info()["threads"])
    return max(1, min(available, n_cliques, work // _GRAIN))


def _by_bits(columns: Columns, positions: Sequence[list[int]]) -> list[int]:
    """Return which cliques are pairs of few values, if there are more of them than values."""
    sizes = columns.sizes
    pairs = [i for i, axes in enumerate(positions) if len(axes) == 2 and _few(sizes[axes[0]], sizes[axes[1]])]
    chosen = set(itertools.chain.from_iterable(positions[i] for i in pairs))
    return pairs if sum(sizes[i] for i in chosen) <= len(pairs) else []


def _few(rows: int, columns: int) -> bool:
    return (rows - 1) * (columns - 1) <= _BIT_CELLS


def _count_by_bits(
    columns: Columns, pairs: NDArray[np.int64], starts: NDArray[np.int64], cells: NDArray[np.int64], n_threads: int
) -> bool:
    """Add the rows of each cell of some pairs' tables; return whether all codes were in range."""
    chosen = np.unique(pairs).tolist()
    for first in range(0, columns.n_rows if chosen else 0, _BIT_ROWS):
        bits = Bits(columns, chosen, first, min(_BIT_ROWS, columns.n_rows - first))
        if not bits.inside:
            return False
        n = _threads(n_threads, len(pairs), columns.n_rows * len(pairs) // _BITS)
        parts = [part.reshape(-1) for part in np.array_split(pairs, n)]
        _run(bits.count, n, parts, np.array_split(starts, n), [cells] * n)
    return True


def _run(job: Callable[..., bool | None], n_threads: int, *arguments: Sequence[Any]) -> bool:
    """Do a job for each set of arguments; return whether one returned False, which ends the work."""
    if n_threads == 1:
        return all(done is not False for done in map(job, *arguments))
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(n_threads) as pool:
        return all(done is not False for done in pool.map(job, *arguments))
