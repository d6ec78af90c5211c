"""Records drawn independently of each other from a junction tree."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pypgm._base.clock import Clock
from pypgm._base.memory import check_fits
from pypgm.factor import Factor
from pypgm.graphs.junction_tree import JunctionTree

_RECORD_BYTES = 48  # of a record while a clique is drawn: its group, its number, where it was found
_CELL_BYTES = 24  # of a cell of a table: its weight, and its edge twice


def independent_records(
    tree: JunctionTree, tables: Sequence[Factor], rows: int, rng: np.random.Generator, clock: Clock
) -> dict[str, NDArray[np.signedinteger]]:
    """Draw records that are independent and identically distributed.

    Attributes are drawn node by node, the new ones of each given its separator, by the inverse of their cumulated
    probabilities; zeros stay exact.

    Parameters
    ----------
    tree : JunctionTree
        Its nodes are drawn in their order.
    tables : sequence of Factor
        Belief over the clique of each node, which agree on separators; of any positive sum.
    rows : int
        Number of records.
    rng : Generator
    clock : Clock
        Shows the nodes.

    Returns
    -------
    dict of str to ndarray of int8, int16 or int32, shape (rows,)
        Codes of each attribute, in the domain's order; the smallest type that holds them.

    Raises
    ------
    ModelTooLargeError
        If the records, or a table while it is drawn from, do not fit in memory.
    """
    domain, codes = tree.domain, dict[str, "NDArray[np.int64]"]()
    largest = max((domain.size(node.clique) for node in tree.nodes), default=0)
    what = f"{rows} records of {len(domain)} attributes"
    check_fits(rows * (8 * len(domain) + _RECORD_BYTES) + _CELL_BYTES * largest, None, what, "ask for fewer")
    for i, (node, table) in enumerate(zip(tree.nodes, tables, strict=True)):
        clock.tick(partial("{}/{} cliques of records".format, i, len(tree.nodes)))
        new = tuple(a for a in node.clique if a not in node.separator)
        ordered = table.transpose((*node.separator, *new)).datavector().reshape(domain.size(node.separator), -1)
        group = _position(codes, node.separator, domain.sizes(node.separator), rows)
        drawn = _drawn(ordered, group, rng.random(rows))
        codes |= zip(new, np.unravel_index(drawn, domain.sizes(new)), strict=True)
    return {a: codes[a].astype(np.min_scalar_type(-n)) for a, n in zip(domain.attributes, domain.shape, strict=True)}


def _position(
    codes: dict[str, NDArray[np.int64]], names: Sequence[str], sizes: Sequence[int], rows: int
) -> NDArray[np.int64]:
    """Return the position of each record's values in a table over some attributes."""
    position = np.zeros(rows, dtype=np.int64)
    for name, size in zip(names, sizes, strict=True):
        position = position * size + codes[name]
    return position


def _drawn(weights: NDArray[np.float64], group: NDArray[np.int64], uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return a column for each record, by the weights of its row."""
    edges = np.cumsum(weights, axis=1)
    sums = edges[:, -1:].copy()
    # Behind one another the rows' running shares are increasing: one search finds all. A cell without weight has the
    # edge of the one before, and the last that has any the edge 1 itself, so that none of them is ever found.
    np.divide(edges, sums, out=edges, where=sums > 0)
    edges += np.arange(len(edges))[:, None]
    below = np.nextafter(group + 1.0, 0.0)
    indices = np.searchsorted(edges.reshape(-1), np.minimum(group + uniforms, below), side="right")
    return np.asarray(indices - group * weights.shape[1])
