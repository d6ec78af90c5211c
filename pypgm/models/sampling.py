"""Records of a junction tree: drawn by randomised rounding or independently, and moved towards further marginals."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, NamedTuple

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
from pypgm.inference.region_index import RegionIndex, maximal

_INDEPENDENT_RECORD_BYTES = 48  # of a record while a clique is drawn: its group, its number, where it was found
_INDEPENDENT_CELL_BYTES = 24  # of a cell of a table: its weight, and its edge twice


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
        Beliefs over the cliques of the nodes; they agree on separators and may have any positive sum.
    rows : int
        Number of records.
    rng : Generator
    clock : Clock
        Shows progress, node by node.

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
    check_fits(
        rows * (8 * len(domain) + _INDEPENDENT_RECORD_BYTES) + _INDEPENDENT_CELL_BYTES * largest,
        None,
        what,
        "ask for fewer",
    )
    for i, (node, table) in enumerate(zip(tree.nodes, tables, strict=True)):
        clock.tick(partial("{}/{} cliques of records".format, i, len(tree.nodes)))
        new = tuple(a for a in node.clique if a not in node.separator)
        if not new:
            continue  # the only node of a tree without attributes
        if rows < domain.size(node.separator):
            ordered, group = _rows_at(table, codes, node.separator, new), np.arange(rows)
        else:
            ordered = table.transpose((*node.separator, *new)).datavector().reshape(domain.size(node.separator), -1)
            group = _position(codes, node.separator, domain.sizes(node.separator), rows)
        drawn = _drawn(ordered, group, rng.random(rows))
        codes |= zip(new, np.unravel_index(drawn, domain.sizes(new)), strict=True)
    return {a: codes[a].astype(np.min_scalar_type(-n)) for a, n in zip(domain.attributes, domain.shape, strict=True)}


def _rows_at(
    table: Factor, codes: Mapping[str, NDArray[np.int64]], separator: Clique, new: Clique
) -> NDArray[np.float64]:
    """Return the weights of the new attributes' values for each record: fewer rows than the whole table has."""
    shape = table.domain.shape
    strides = {a: math.prod(shape[i + 1 :]) for i, a in enumerate(table.domain)}
    offsets = np.zeros(1, dtype=np.int64)
    for a in new:
        offsets = np.add.outer(offsets, strides[a] * np.arange(table.domain.size(a))).reshape(-1)
    start = sum((strides[a] * codes[a] for a in separator), np.zeros(1, dtype=np.int64))
    weights: NDArray[np.float64] = table.datavector()[np.add.outer(start, offsets)]
    return weights


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


_SWEEPS = 20
_NOISE = 0.2  # of the L1 distance that noise leaves in a marginal: what refinement may leave ...
_MAX_SHARE = 1e-2  # ... of the records at most
_ABSOLUTE = math.sqrt(2 / math.pi)  # of a standard deviation: the mean absolute value
_BLOCK_BYTES = 2**24  # of the blocks of records that are refined beside each other
_REFINED_COUNT_BYTES = (
    48  # of a count that records are refined towards: what was asked for, its target, and what there is
)


def code_bytes(domain: Domain) -> int:
    """Return the bytes of a record whose codes have the smallest types that hold them."""
    return sum(np.min_scalar_type(-size).itemsize for size in domain.shape)


def stages(
    domain: Domain, cliques: Sequence[Clique], *, alone: bool, noisy: bool, most: int | None = None
) -> list[list[Clique]]:
    """Return the cliques that records are refined towards, first with other pairs unless `alone`.

    Records that are refined only towards the cliques lose the model's dependence of other pairs. Those of the fewest
    cells are taken, at most as many as there are cliques, or `most`. For a `noisy` model all are targets at once: the
    gain of the cliques by themselves is far below the noise.
    """
    if alone or not cliques:
        return [[*cliques]] if cliques else []
    held = {pair for clique in cliques for pair in itertools.combinations(clique, 2)}
    outside = itertools.islice(
        (pair for pair in _small_pairs(domain) if pair not in held), len(cliques) if most is None else most
    )
    first = [*cliques, *outside]
    return [first] if noisy or len(first) == len(cliques) else [first, [*cliques]]


def _small_pairs(domain: Domain) -> Iterator[Clique]:
    """Yield the pairs of attributes by the cells of their tables, those of as many in the domain's order."""
    names, of_size = domain.attributes, defaultdict[int, list[int]](list)
    for i, size in enumerate(domain.shape):
        of_size[size].append(i)
    for cells in sorted({a * b for a, b in itertools.combinations_with_replacement(of_size, 2)}):
        runs = [
            _ascending(of_size[a], of_size[cells // a]) for a in of_size if cells % a == 0 and cells // a in of_size
        ]
        yield from ((names[i], names[j]) for i, j in heapq.merge(*runs))


def _ascending(first: Sequence[int], second: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of positions that ascend, one of each."""
    return ((i, j) for i in first for j in second[bisect_right(second, i) :])


def refined_records(
    records: Mapping[str, NDArray[np.signedinteger]],
    index: RegionIndex,
    rows: int,
    rng: np.random.Generator,
    clock: Clock,
    *,
    noise: float = 0.0,
) -> dict[str, NDArray[np.signedinteger]]:
    """Change values of records, one at a time, if that brings the counts nearer to the regions' marginals.

    Attributes that no region relates stay as they were drawn, as far as the regions allow. Cells that are exactly 0 in
    a region receive no record.

    Parameters
    ----------
    records : mapping of str to ndarray of int
        Codes, a column for each attribute in the domain's order.
    index : RegionIndex
        The pseudo-marginals.
    rows : int
        Number of records.
    rng : Generator
        Source of one 64-bit seed.
    clock : Clock
        Shows the sweeps over the records, and ends them once its time is over.
    noise : float
        Standard deviation of the counts that the marginals were estimated from: they need not be met much better.

    Raises
    ------
    ModelTooLargeError
        If the records and the marginals do not fit in memory.
    """
    names, cells = index.domain.attributes, index.marginals.values.size
    what = f"refining {short(rows)} records of {len(names)} attributes towards {short(cells)} counts"
    kept = 2 * rows * code_bytes(index.domain)  # as they were drawn, and as they are returned
    check_fits(kept + _BLOCK_BYTES + _REFINED_COUNT_BYTES * cells, None, what, "ask for fewer records")
    seed = int(rng.integers(2**64, dtype=np.uint64))
    targets = [
        (list(index.domain.indices(c)), np.ascontiguousarray(rows * index.probabilities(c)))
        for c in maximal(index.marginals.cliques)
    ]
    spread = _ABSOLUTE * noise * rows / index.total if index.total > 0 else math.inf
    enough = sum(min(_MAX_SHARE * rows, _NOISE * float(np.minimum(counts, spread).sum())) for _, counts in targets)
    columns, _ = _core.refine_records(
        [np.ascontiguousarray(records[a]) for a in names],
        list(index.domain.shape),
        targets,
        _SWEEPS,
        enough,
        seed,
        lambda visited: clock.tick(lambda: f"{visited / rows:.1f} sweeps over {rows} records, at most {_SWEEPS}"),
        n_threads=clock.n_threads,
    )
    return dict(zip(names, columns, strict=True))


MAX_RECORDS = 2**31 - 1
"""Most records that the core counts."""
_RECORD_BYTES = 5  # of a record besides: the value dealt to it, and what is counted of the threads' parts
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
    if rows > MAX_RECORDS:
        raise ValueError(f"at most {MAX_RECORDS} records can be drawn, got {short(rows)}")
    domain, nodes = tree.domain, tree.nodes
    seed = int(as_generator(rng).integers(2**64, dtype=np.uint64))
    text = f"{rows} records of {len(domain)} attributes"
    check_fits(rows * (code_bytes(domain) + _RECORD_BYTES), None, text, "ask for fewer")
    watch = clock or Clock()
    sampler = _core.RecordSampler(rows, len(domain), seed, watch.n_threads)
    steps = steps_of(tree)
    for i, (table, draws) in enumerate(zip(tables, steps, strict=True)):
        watch.tick(partial("{}/{} cliques of records".format, i, len(nodes)))
        for step in draws:
            part = step.table(table)
            with step.named_in_errors():
                indices = domain.indices(part.domain.attributes)
                sampler.draw(part.datavector(), indices, *step.layout(part.domain))
    return {name: sampler.take_column(i) for i, name in enumerate(domain.attributes)}


class Step(NamedTuple):
    """One draw: the attributes of a clique that are not given yet."""

    clique: Clique
    given: Clique
    kept: Clique
    """Attributes whose counts are kept close to their expectation."""

    def table(self, belief: Factor) -> Factor:
        """Return the weights of the clique's cells, of a belief over the clique of its node."""
        table = belief if len(self.clique) == len(belief.domain) else belief.project(self.clique)
        cells = table.datavector()
        with np.errstate(over="ignore"):
            total = float(cells.sum())
        if not (np.isfinite(total) and total > 0 and cells.min() >= 0):
            raise ValueError(
                f"the table of clique {table.domain.attributes} needs finite entries >= 0 with a positive, finite sum; "
                f"got the least entry {cells.min()} and the sum {total}"
            )
        return table

    def layout(self, domain: Domain) -> tuple[tuple[int, ...], list[bool], list[bool]]:
        """Return the sizes of a table's axes, which of them are given, and which have counts that are kept close."""
        return domain.shape, [a in self.given for a in domain], [a in self.kept for a in domain]

    @contextlib.contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Name the clique where the core refuses a draw."""
        try:
            yield
        except ValueError as error:
            raise ValueError(f"clique {self.clique} with separator {self.given}: {error}") from None


def steps_of(tree: JunctionTree) -> list[list[Step]]:
    """Return the draws of each node in the order of the nodes; `ModelTooLargeError` if one does not fit in memory."""
    steps = [[*_steps(node, margin)] for node, margin in zip(tree.nodes, _margins(tree), strict=True)]
    for clique, given, kept in itertools.chain.from_iterable(steps):
        what = partial("drawing from the table over {} and its {} cells".format, clique, tree.domain.size(clique))
        check_fits(drawing_bytes(tree.domain, clique, given, kept), None, what, "use smaller cliques")
    return steps


def _steps(node: TreeNode, margin: Clique) -> Iterator[Step]:
    if node.separator or margin == node.clique:
        yield Step(node.clique, node.separator, margin)
    else:
        # The rest first, so that its counts are next to their expectations as well.
        rest = tuple(a for a in node.clique if a not in margin)
        yield Step(rest, (), rest)
        yield Step(node.clique, rest, margin)


def drawing_bytes(domain: Domain, clique: Clique, given: Clique, margin: Clique) -> int:
    """Return the bytes that drawing a clique takes at most, records apart, given some of its attributes."""
    columns = tuple(a for a in margin if a not in given)
    return _CELL_BYTES * domain.size(clique) + _COLUMN_BYTES * domain.size(columns) + _GROUP_BYTES * domain.size(given)


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
