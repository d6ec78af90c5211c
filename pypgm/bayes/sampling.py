"""Records drawn from conditional tables, parents first."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pypgm._base.memory import check_fits
from pypgm._base.numeric import as_generator, checked_integer
from pypgm.factor import Factor

_ATTRIBUTE_BYTES = 42  # for each record, while an attribute is drawn


def draw_ancestral(
    tables: Mapping[str, Factor],
    order: Sequence[str],
    n_records: int,
    rng: np.random.Generator | int | None = None,
    known: Mapping[str, NDArray[np.integer]] | None = None,
) -> dict[str, NDArray[np.integer]]:
    """Draw independent records from a network, all records of an attribute at once.

    Parameters
    ----------
    tables : mapping of str to Factor
        Probabilities of each attribute, axes (parents, attribute).
    order : sequence of str
        All attributes, parents before children.
    n_records : int
    rng : Generator or int, optional
    known : mapping of str to ndarray of int, shape (n_records,), optional
        Codes of attributes that are drawn already.

    Returns
    -------
    dict of str to ndarray of int, shape (n_records,)
        Codes, in the order of the tables; those drawn here of the smallest type that holds them. Values of probability
        0 are never drawn.

    Examples
    --------
    >>> from pypgm import Domain
    >>> draw_ancestral({"a": Factor(Domain({"a": 2}), [0.0, 1.0])}, ["a"], 3)
    {'a': array([1, 1, 1], dtype=uint8)}
    """
    n_records = checked_integer("the number of records", n_records)
    generator = as_generator(rng)
    bytes_each = _ATTRIBUTE_BYTES + sum(np.min_scalar_type(t.domain.shape[-1]).itemsize for t in tables.values())
    check_fits(bytes_each * n_records, None, f"{n_records} records of {len(tables)} attributes", "ask for fewer")
    columns: dict[str, NDArray[np.integer]] = dict(known or {})
    if n_records == 1:
        return _draw_one(tables, order, generator, columns)
    for attribute in order:
        if attribute in columns:
            continue
        table = tables[attribute]
        rows = np.zeros(n_records, dtype=np.intp)
        for parent, size in zip(table.domain.attributes[:-1], table.domain.shape[:-1], strict=True):
            rows = rows * size + columns[parent]
        columns[attribute] = draw_rows(table.values.reshape(-1, table.domain.shape[-1]), rows, generator)
    return {attribute: columns[attribute] for attribute in tables}


def _draw_one(
    tables: Mapping[str, Factor],
    order: Sequence[str],
    rng: np.random.Generator,
    known: Mapping[str, NDArray[np.integer]],
) -> dict[str, NDArray[np.integer]]:
    """Draw a single record, the one that `draw_rows` would draw.

    Arrays of one number take four times as long: by them a record of pigs given evidence takes 4.6 times what all
    marginals given it take, by plain numbers half (bench_approximate.py).
    """
    codes = {attribute: int(column[0]) for attribute, column in known.items()}
    left = [attribute for attribute in order if attribute not in codes]
    for attribute, uniform in zip(left, rng.random(len(left)).tolist(), strict=True):
        table = tables[attribute]
        row = table.values[tuple([codes[parent] for parent in table.domain.attributes[:-1]])].tolist()
        sums = list(itertools.accumulate(row))
        codes[attribute] = bisect.bisect_right([total / sums[-1] for total in sums], uniform)
    one = {a: np.array([codes[a]], np.min_scalar_type(max(tables[a].domain.shape[-1] - 1, 0))) for a in left}
    return {attribute: known[attribute] if attribute in known else one[attribute] for attribute in tables}


def draw_rows(
    table: NDArray[np.float64], rows: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[np.unsignedinteger]:
    """Draw one value from each of some rows of a table: the first whose cumulative probability exceeds a uniform."""
    size = table.shape[1]
    if len(rows) < len(table):  # the other rows are not needed
        table, rows = table[rows], np.arange(len(rows))
    cumulative = np.cumsum(table, axis=1)
    # The last entry is then exactly 1, above every uniform.
    cumulative /= cumulative[:, -1:]
    uniform = rng.random(len(rows))
    codes = np.zeros(len(rows), dtype=np.min_scalar_type(max(size - 1, 0)))
    step = 1 << max(size - 1, 1).bit_length() - 1
    while step:
        # Bisection: the value is `codes` or later; is it `codes + step` or later?
        ahead = codes.astype(np.intp) + step
        later = cumulative[rows, np.minimum(ahead, size) - 1] <= uniform
        codes += (later & (ahead < size)).astype(codes.dtype) * codes.dtype.type(step)
        step >>= 1
    return codes
