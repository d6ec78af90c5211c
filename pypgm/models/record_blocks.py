"""Records of a model in blocks: each can be drawn by itself, and the counts of all are those of one rounding."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm._base.clock import Clock
from pypgm._base.memory import check_fits, short
from pypgm.data import Dataset
from pypgm.domain import Clique
from pypgm.factor import Factor
from pypgm.graphs.junction_tree import JunctionTree
from pypgm.models.sampling import MAX_RECORDS, Step, steps_of

BLOCK = 1 << 17
"""Records of a block: few enough that they take little memory, many enough that dividing the counts takes little time.
"""

_BRANCHES = 16  # groups that a larger group of blocks is divided into
_CELL_BYTES = 60  # of a cell with records: its position and its count, and both in two parts while it is divided


class Block(NamedTuple):
    """Records of a block, and the generator of what is drawn for them after that, such as values within bins."""

    data: Dataset
    rng: np.random.Generator


class _Node(NamedTuple):
    """A clique as it is dealt: its table has a row for each value of the separator."""

    clique: Clique
    """The attributes of the separator, then the new ones."""
    sizes: tuple[int, ...]
    n_given: int
    """Attributes of the separator."""
    owner: int
    """Earlier node whose clique has them."""
    axes: tuple[int, ...]
    """Their axes in that clique."""

    @property
    def n_new(self) -> int:
        """Number of joint values of the new attributes."""
        return math.prod(self.sizes[self.n_given :])

    @property
    def n_rows(self) -> int:
        """Number of joint values of the separator."""
        return math.prod(self.sizes[: self.n_given])


class _Counts(NamedTuple):
    """Cells of a node's table that have records, in ascending order, and how many they have."""

    cells: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, cells: NDArray[np.int64], counts: NDArray[np.int64]) -> _Counts:
        there = np.flatnonzero(counts)
        return cls(cells[there], counts[there])

    def present(self, sizes: Sequence[int], axes: Sequence[int]) -> NDArray[np.int64]:
        """Return the number of records of each joint value of some axes of the table."""
        of_axis = np.unravel_index(self.cells, sizes)
        position = np.zeros(self.cells.size, dtype=np.int64)
        for axis in axes:
            position = position * sizes[axis] + of_axis[axis]
        n = math.prod(sizes[axis] for axis in axes)
        return np.bincount(position, weights=self.counts, minlength=n).astype(np.int64)  # exact: below 2^53

    def divided(self, n_new: int, present: NDArray[np.int64], rng: np.random.Generator) -> tuple[_Counts, _Counts]:
        """Return the counts of some of the records, of which each row has `present`, and of the others.

        Each cell of a row, and each run of cells, gets its share of the row's records, rounded down or up; the
        expectation is the share itself.
        """
        if not self.cells.size:
            return self, self
        row = self.cells // n_new
        first = np.flatnonzero(np.diff(row, prepend=-1))
        lengths = np.diff(first, append=row.size)
        cumulated = np.cumsum(self.counts)
        before = cumulated[first] - self.counts[first]
        totals = np.diff(before, append=cumulated[-1])
        offsets = rng.integers(0, totals)
        # The products fit: counts are below 2^31.
        shares = (cumulated - np.repeat(before, lengths)) * np.repeat(present[row[first]], lengths)
        up_to = (shares + np.repeat(offsets, lengths)) // np.repeat(totals, lengths)
        counts = np.diff(up_to, prepend=0)
        counts[first] = up_to[first]
        return _Counts.of(self.cells, counts), _Counts.of(self.cells, self.counts - counts)


class RecordBlocks:
    """Records along a junction tree, in blocks.

    The counts of every clique are rounded once, for all records, as `draw_records` does. They are divided among the
    blocks: each block gets its share of every count, rounded such that separators agree and that the blocks sum to the
    counts of the one rounding. A block depends on the seed and its number alone, so that it can be drawn without the
    others.

    Parameters
    ----------
    tree : JunctionTree
    tables : sequence of Factor
        See `draw_records`.
    rows : int
        Records of all blocks.
    seed : int
        Non-negative.
    size : int
        Records of a block; the last one has what is left.
    clock : Clock, optional
        Shows the cliques whose counts are rounded.

    Raises
    ------
    ValueError
        See `draw_records`.
    ModelTooLargeError
        If the counts do not fit in memory.

    Examples
    --------
    >>> import pypgm
    >>> tree = pypgm.JunctionTree(pypgm.Domain({"a": 2, "b": 2}), [("a", "b")])
    >>> blocks = RecordBlocks(tree, [pypgm.Factor(tree.domain, [0.1, 0.2, 0.3, 0.4])], 1000, 0, size=300)
    >>> [int(records["a"].sum()) for records, _ in blocks.drawn()]
    [210, 210, 210, 70]
    """

    def __init__(
        self,
        tree: JunctionTree,
        tables: Sequence[Factor],
        rows: int,
        seed: int,
        *,
        size: int = BLOCK,
        clock: Clock | None = None,
    ) -> None:
        if rows > MAX_RECORDS:
            raise ValueError(f"at most {MAX_RECORDS} records can be drawn, got {short(rows)}")
        self.domain, self.rows, self.size = tree.domain, rows, size
        self._seed = seed
        self._nodes: list[_Node] = []
        self._counts: list[_Counts] = []
        rng, watch = self.generator(), clock or Clock()
        for i, (belief, steps) in enumerate(zip(tables, steps_of(tree), strict=True)):
            watch.tick(partial("{}/{} cliques of records".format, i, len(tree.nodes)))
            self._round(belief, steps, rng)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return -(-self.rows // self.size)

    def generator(self, *numbers: int) -> np.random.Generator:
        """Return the generator of a block by its number, or of a step of the division."""
        return np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=numbers))

    def rows_of(self, first: int, last: int) -> int:
        """Return the number of records of a range of blocks."""
        return min(last * self.size, self.rows) - first * self.size

    def _round(self, belief: Factor, steps: Sequence[Step], rng: np.random.Generator) -> None:
        """Round the counts of a clique; they are drawn in two steps where some of its attributes come first."""
        owner, axes, rest = 0, tuple[int, ...](), None
        for step in steps:
            table = step.table(belief)
            given = tuple(a for a in table.domain if a in step.given)
            if rest is not None:
                present = rest.project(given).datavector().astype(np.int64)
            elif given:
                owner = next(i for i, node in enumerate(self._nodes) if {*given} <= {*node.clique})
                axes = tuple(map(self._nodes[owner].clique.index, given))
                present = self._counts[owner].present(self._nodes[owner].sizes, axes)
            else:
                present = np.array([self.rows])
            seed = int(rng.integers(2**64, dtype=np.uint64))
            with step.named_in_errors():
                drawn = _core.draw_counts(table.datavector(), *step.layout(table.domain), present, seed)
            rest = Factor(table.domain, drawn)
        given = () if not axes else given
        clique = (*given, *(a for a in table.domain if a not in given))
        cells = drawn.reshape(table.domain.shape).transpose(table.domain.indices(clique)).ravel()
        there = np.flatnonzero(cells)
        what = partial("dividing the counts of {} and its {} cells".format, clique, there.size)
        check_fits(_CELL_BYTES * there.size, None, what, "use smaller cliques")
        self._nodes.append(_Node(clique, self.domain.sizes(clique), len(given), owner, axes))
        self._counts.append(_Counts(there, cells[there].astype(np.int64)))

    def drawn(
        self, first: int = 0, last: int | None = None
    ) -> Iterator[tuple[dict[str, NDArray[np.signedinteger]], np.random.Generator]]:
        """Yield the records of some blocks, as `draw_records` returns them, with the generator of the block."""
        end = self.n_blocks if last is None else last
        for block, counts in self._divided(self._counts, (0, self.n_blocks), (first, end)):
            rng = self.generator(block)
            yield self._dealt(self.rows_of(block, block + 1), counts, rng), rng

    def _divided(
        self, counts: Sequence[_Counts], group: tuple[int, int], wanted: tuple[int, int]
    ) -> Iterator[tuple[int, Sequence[_Counts]]]:
        """Yield the wanted blocks of a group, each with its counts."""
        first, last = group
        if last - first == 1:
            if wanted[0] <= first < wanted[1]:
                yield first, counts
            return
        step = 1
        while step * _BRANCHES < last - first:
            step *= _BRANCHES
        for start in range(first, min(last, wanted[1]), step):
            end = min(start + step, last)
            here = counts
            if end < last:
                here, counts = self._split(counts, (start, end))
            if end > wanted[0]:  # else only the counts that it leaves are needed
                yield from self._divided(here, (start, end), wanted)

    def _split(self, counts: Sequence[_Counts], group: tuple[int, int]) -> tuple[list[_Counts], list[_Counts]]:
        """Return the counts of the first group of blocks, and of those that follow it."""
        rng = self.generator(*group)
        ours: list[_Counts] = []
        rest: list[_Counts] = []
        for node, table in zip(self._nodes, counts, strict=True):
            present = np.array([self.rows_of(*group)])
            if node.n_given:
                present = ours[node.owner].present(self._nodes[node.owner].sizes, node.axes)
            mine, others = table.divided(node.n_new, present, rng)
            ours.append(mine)
            rest.append(others)
        return ours, rest

    def _dealt(
        self, rows: int, counts: Sequence[_Counts], rng: np.random.Generator
    ) -> dict[str, NDArray[np.signedinteger]]:
        """Deal the counts of a block to its records."""
        sampler = _core.RecordSampler(rows, len(self.domain), int(rng.integers(2**64, dtype=np.uint64)))
        for node, table in zip(self._nodes, counts, strict=True):
            given = [i < node.n_given for i in range(len(node.clique))]
            cells, counted = table.cells, table.counts.astype(np.int32)
            sampler.deal(cells, counted, self.domain.indices(node.clique), node.sizes, given)
        return {
            name: sampler.take_column(i).astype(np.min_scalar_type(-size))
            for i, (name, size) in enumerate(zip(self.domain.attributes, self.domain.shape, strict=True))
        }
