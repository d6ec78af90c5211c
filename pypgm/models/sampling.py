"""Records drawn from a junction tree by randomised rounding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm._base.clock import Clock
from pypgm._base.constraints import AtLeast
from pypgm._base.memory import check_fits, short
from pypgm._base.numeric import as_generator
from pypgm._base.signatures import checked
from pypgm.domain import Clique, Domain
from pypgm.factor import Factor
from pypgm.graphs.junction_tree import JunctionTree, TreeNode

_MAX_RECORDS = 2**31 - 1  # that the core counts
_CODE_BYTES = 5  # of a record's code while it is drawn, and in the smallest type
_RECORD_BYTES = 8  # of a record besides: its place in the order in which values are dealt
_CELL_BYTES = 48  # of a cell of a table drawn from: its weight and count, its fraction and links while it is rounded
_COLUMN_BYTES = 56  # of a new value whose count is kept close: its mean, and its slack and links as those of a cell
_GROUP_BYTES = 112  # of a value of the attributes a table is drawn given: its counts, sums, and places in lists


@checked()
def draw_records(
    tree: JunctionTree,
    tables: Sequence[Factor],
    rows: Annotated[int, AtLeast(0)],
    rng: np.random.Generator | int | None = None,
    *,
    clock: Clock | None = None,
) -> dict[str, NDArray[np.signedinteger]]:
    r"""Draw records whose marginals are as close to a model's as integers can be.

    The model is the product over the nodes of table(clique) / table(separator). Attributes are drawn node by node: the
    table over separator and new attributes, scaled to `rows`, is rounded at random to integers that keep its margins,
    and the new values are dealt in random order to the records that share a separator value. Expected counts are the
    model's to a fraction of a record. New attributes are independent of all others given the separator, as the model
    says.

    If all cliques are single attributes or pairs, every count over a clique and every one-way count is less than 2
    from the model's, scaled to `rows`. In larger cliques every count over a clique is less than 2 from
    :math:`n_s\, p(\text{new} \mid s)`, with :math:`n_s` the records that have the separator value :math:`s`.
    Structural zeros stay zero, whatever becomes of the one-way counts.

    Parameters
    ----------
    tree : JunctionTree
        Its nodes are drawn in their order, each given its separator.
    tables : sequence of Factor
        Belief over the clique of each node: non-negative, any positive sum. Zeros are structural. Tables of
        neighbouring cliques should agree on their separator.
    rows : int
        Number of records, at least 0.
    rng : Generator, int or None, optional
        Source of the one 64-bit seed on which, with the tree and its tables, the records depend.
    clock : Clock, optional
        Shows the nodes; records are never half drawn, so that they take the time they take.

    Returns
    -------
    dict of str to ndarray of int8, int16 or int32, shape (rows,)
        Codes of each attribute, in the domain's order; the smallest type that holds them.

    Raises
    ------
    ValueError
        If a table has a negative, infinite or NaN entry or no positive sum, or gives probability 0 to a separator
        value that an earlier node has drawn; if `rows` is negative, or rows or the cells of a table exceed
        2,147,483,647.
    ModelTooLargeError
        If the records, or the work space of the largest table, do not fit in memory.
    TypeError
        If `rows` is not an integer.

    References
    ----------
    L. H. Cox, A constructive procedure for unbiased controlled rounding, J. Amer. Statist. Assoc. 82 (1987).

    Examples
    --------
    >>> import pypgm
    >>> tree = pypgm.JunctionTree(pypgm.Domain({"a": 2, "b": 2}), [("a", "b")])
    >>> records = draw_records(tree, [pypgm.Factor(tree.domain, [0.1, 0.2, 0.3, 0.4])], 1000, rng=0)
    >>> np.bincount(2 * records["a"] + records["b"]).tolist()
    [100, 200, 300, 400]
    """
    if rows > _MAX_RECORDS:
        raise ValueError(f"at most {_MAX_RECORDS} records can be drawn, got {short(rows)}")
    domain, nodes = tree.domain, tree.nodes
    seed = int(as_generator(rng).integers(2**64, dtype=np.uint64))
    text = f"{rows} records of {len(domain)} attributes"
    check_fits(rows * (_CODE_BYTES * len(domain) + _RECORD_BYTES), None, text, "ask for fewer")
    sampler = _core.RecordSampler(rows, len(domain), seed)
    margins = _margins(tree)
    for node, margin in zip(nodes, margins, strict=True):
        for draw in _draws(node, margin):
            what = partial("drawing from the table over {} and its {} cells".format, draw[0], domain.size(draw[0]))
            check_fits(drawing_bytes(domain, *draw), None, what, "use smaller cliques")
    watch = clock or Clock()
    for i, (node, table, margin) in enumerate(zip(nodes, tables, margins, strict=True)):
        watch.tick(partial("{}/{} cliques of records".format, i, len(nodes)))
        for clique, given, kept in _draws(node, margin):
            whole = len(clique) == len(node.clique)
            _draw(sampler, domain, table if whole else table.project(clique), given, kept)
    return {
        name: sampler.take_column(i).astype(np.min_scalar_type(-size))
        for i, (name, size) in enumerate(zip(domain.attributes, domain.shape, strict=True))
    }


def _draws(node: TreeNode, margin: Clique) -> Iterator[tuple[Clique, Clique, Clique]]:
    """Yield the cliques drawn for a node, the attributes that each is given, and those whose counts are kept close."""
    if node.separator or margin == node.clique:
        yield node.clique, node.separator, margin
    else:
        # The rest first, so that its counts are next to their expectations as well.
        rest = tuple(a for a in node.clique if a not in margin)
        yield rest, (), rest
        yield node.clique, rest, margin


def drawing_bytes(domain: Domain, clique: Clique, given: Clique, margin: Clique) -> int:
    """Return the bytes that drawing a clique takes at most, records apart, given some of its attributes."""
    columns = tuple(a for a in margin if a not in given)
    return _CELL_BYTES * domain.size(clique) + _COLUMN_BYTES * domain.size(columns) + _GROUP_BYTES * domain.size(given)


def _draw(sampler: _core.RecordSampler, domain: Domain, table: Factor, separator: Clique, margin: Clique) -> None:
    clique, cells = table.domain.attributes, table.datavector()
    with np.errstate(over="ignore"):
        total = float(cells.sum())
    if not (np.isfinite(total) and total > 0 and cells.min() >= 0):
        raise ValueError(
            f"the table of clique {clique} needs finite entries >= 0 with a positive, finite sum; "
            f"got the least entry {cells.min()} and the sum {total}"
        )
    given = [a in separator for a in clique]
    kept = [a in margin for a in clique]
    try:
        sampler.draw(cells, domain.indices(clique), table.domain.shape, given, kept)
    except ValueError as error:
        raise ValueError(f"clique {clique} with separator {separator}: {error}") from None


def _margins(tree: JunctionTree) -> list[Clique]:
    """Choose for each node the margin whose counts are kept close to their expectation.

    It is the largest separator that becomes complete with the node, since the counts of a separator are what the next
    node starts from. Without one it is the new attributes, and in a root only the largest attribute.
    """
    domain = tree.domain
    first: dict[str, int] = {}
    largest: dict[int, Clique] = {}
    for i, node in enumerate(tree.nodes):
        if node.separator:
            owner = max(first[a] for a in node.separator)
            largest[owner] = max(largest.get(owner, node.separator), node.separator, key=domain.size)
        for name in node.clique:
            first.setdefault(name, i)
    margins = []
    for i, node in enumerate(tree.nodes):
        fresh = tuple(a for a in node.clique if a not in node.separator)
        alone = tuple(sorted(fresh, key=domain.size, reverse=True)[:1])
        margins.append(largest.get(i, fresh if node.separator else alone))
    return margins
