"""Count records into tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from pypgm._core import build_info
from pypgm.data._tabulate import MAX_CELLS, Columns
from pypgm.domain import Clique, Domain
from pypgm.errors import ModelTooLargeError
from pypgm.memory import check_fits, short
from pypgm.numeric import checked_threads

__all__ = ["add_weights", "check_codes", "count"]

_CELL_BYTES = 16  # of a count, and of the number that is made of it
_GRAIN = 1 << 18  # codes a thread must have to read before a second one pays for itself
_Table = TypeVar("_Table", bound=NDArray[Any])


def count(
    columns: Mapping[str, NDArray[Any]], domain: Domain, cliques: Sequence[Clique], n_threads: int = 0
) -> list[NDArray[np.int64]]:
    """Count the records of each cell of some cliques' tables, exactly.

    One pass over the rows a clique; the counts do not depend on the number of threads.

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
    tables = [np.zeros(size, dtype=np.int64) for size in _checked_sizes(domain, cliques)]
    work = borrowed.n_rows * sum(map(len, cliques))
    inside = _run(borrowed.count, positions, tables, _threads(n_threads, len(cliques), work))
    if not inside:
        _refuse_codes(columns, domain)
    return tables


def add_weights(
    columns: Mapping[str, NDArray[Any]], domain: Domain, clique: Clique, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Add each record's weight to its cell of a clique's table, in the order of the rows.

    Parameters
    ----------
    columns, domain, clique
        As in `count`.
    weights : ndarray of float64, shape (n_records,)

    Returns
    -------
    ndarray of float64, shape (domain.size(clique),)
        Sum of weights of each cell, in C order over the clique as given.

    Raises
    ------
    ValueError, ModelTooLargeError
        As in `count`.

    Examples
    --------
    >>> add_weights({"a": np.array([0, 1, 1])}, Domain({"a": 3}), ("a",), np.array([0.5, 2.0, 1.0]))
    array([0.5, 3. , 0. ])
    """
    borrowed, (position,) = _borrow(columns, domain, [clique])
    table = np.zeros(_checked_sizes(domain, [clique]))
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
    needed = sorted({i for clique in cliques for i in domain.indices(clique)})
    place = {attribute: i for i, attribute in enumerate(domain.attributes[i] for i in needed)}
    chosen = [columns[attribute] for attribute in place]
    n_rows = len(next(iter(columns.values()), ()))
    # No code reaches 2^63, so a larger size (a table over it is refused later) allows the same codes as 2^63.
    borrowed = Columns(chosen, [min(domain.shape[i], 1 << 63) for i in needed], n_rows)
    return borrowed, [[place[a] for a in clique] for clique in cliques]


def _checked_sizes(domain: Domain, cliques: Sequence[Clique]) -> list[int]:
    """Return the cells of each clique's table; ``ModelTooLargeError`` if they do not fit memory."""
    if not cliques:
        return []
    sizes = [domain.size(clique) for clique in cliques]
    largest = cliques[sizes.index(max(sizes))]
    named = f"clique {largest}" if len(largest) <= 12 else f"a clique of {len(largest)} attributes"
    what = f"counting {named} needs {short(max(sizes))} cells"
    if max(sizes) >= MAX_CELLS:
        raise ModelTooLargeError(f"{what}; one table holds less than {MAX_CELLS:,}: count smaller cliques")
    check_fits(_CELL_BYTES * sum(sizes), None, what, "count fewer or smaller cliques at a time")
    return sizes


def _threads(n_threads: int, n_cliques: int, work: int) -> int:
    asked = checked_threads(n_threads) or int(build_info()["threads"])
    return max(1, min(asked, n_cliques, work // _GRAIN))


def _run(
    count_one: Callable[[list[int], _Table], bool],
    positions: Sequence[list[int]],
    tables: Sequence[_Table],
    n_threads: int,
) -> bool:
    if n_threads == 1:
        return all(map(count_one, positions, tables))
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(n_threads) as pool:
        return all(pool.map(count_one, positions, tables))
