"""Possible true tables, drawn given all answers and reached by weighting records of the model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pypgm import _core
from pypgm.intervals.scales import TAUS, joined, positive

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.data import Dataset
    from pypgm.domain import Clique
    from pypgm.intervals.left_out import CrossValidatedPairs

    Array = NDArray[np.float64]
    Codes = NDArray[np.intp]
    Groups = NDArray[np.uint32]

_HIDDEN = 0.5  # log effect that is possible where noise would hide it, whatever was measured
_TRIPLES = 0.5  # smallest effects of three attributes, relative to those of pairs
_MOST_JOINED = 5  # attributes at most of which triples are looked at
_PASSES = 8  # of raking
_DEEPEST = 8  # halvings of the values
_MAX_BLOCKS = 100_000  # blocks of a clique at most
_MOST_SPREAD = 2.0  # standard deviation of the log effects of a cell, summed over scales, at most


class _Blocks(NamedTuple):
    """Blocks of a clique's cells at one scale.

    Attributes
    ----------
    blocks : list of ndarray of int
        Block of each value of each attribute.
    hidden : ndarray
        Log effect that noise would hide in each block.
    """

    blocks: list[Codes]
    hidden: Array


class TrueTables:
    """Sampler of possible true tables of some attributes, given the answers of a release.

    Threads may draw several at once.

    Parameters
    ----------
    predictions : CrossValidatedPairs
        Measured pairs beside predictions without their answers.
    attributes : sequence of str
        Attributes of the domain that inference runs on, in its order.
    records : Dataset
        Records of the model, which are weighted.
    rows : ndarray of float
        Number of records of each drawn table.
    ratio : float
        Effect sizes: unmeasured pairs relative to measured ones.
    farthest : mapping of clique to float
        Total variation of unmeasured pairs from the model that a screen leaves possible: effects make no more.
    """

    def __init__(
        self,
        predictions: CrossValidatedPairs,
        attributes: Sequence[str],
        records: Dataset,
        rows: Array,
        ratio: float,
        *,
        farthest: Mapping[Clique, float],
    ) -> None:
        self._predictions, self._attributes, self._ratio = predictions, tuple(attributes), ratio
        self.weighted, self._rows = records, rows
        columns = [np.asarray(records.columns[a]) for a in self._attributes]
        self._order = np.lexsort(columns[::-1]) if columns else np.arange(len(records))
        new = np.zeros(len(records), dtype=bool)
        new[:1] = True
        for column in columns:
            ordered = column[self._order]
            new[1:] |= ordered[1:] != ordered[:-1]
        starts = np.flatnonzero(new)
        self._mass = np.diff(starts, append=len(records))
        self.first = self._order[starts]
        self._codes = {a: c[self.first].astype(np.intp) for a, c in zip(self._attributes, columns, strict=True)}
        pairs = list(itertools.combinations(self._attributes, 2))
        self._measured: list[Clique] = [p for p in pairs if p in predictions.pairs]
        self._groups = {p: self._key(predictions.pairs[p].groups, p) for p in self._measured}
        self._farthest = farthest
        triples = itertools.combinations(self._attributes, 3) if len(self._attributes) <= _MOST_JOINED else ()
        single = [(a,) for a in self._attributes]
        self._groups |= {(a,): self._key([self._measured_groups(a)], (a,)) for a in self._attributes}
        self._halvings = {c: self._halved(c) for c in (*single, *pairs, *triples) if self._is_open(c)}
        self._cells = {c: self._combinations(c) for c in self._halvings}
        self._tables = {c: self._table(c) for c in self._halvings}

    def drawn(self, number: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the counts of a drawn table, one of a number, in the cells that records of the model are in."""
        total = float(self._rows[number])
        weights = self._drawn_weights(total, rng)
        due = np.cumsum(weights) * (total / max(weights.sum(), 1e-300))
        return np.asarray(np.diff(np.floor(due + rng.random()).astype(np.int64), prepend=0))

    def records(self, number: int, rng: np.random.Generator, attributes: Clique) -> Dataset:
        """Return a drawn table, one of a number, with some attributes: records of the model."""
        counts = self.drawn(number, rng)
        starts = np.cumsum(self._mass) - self._mass
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        # Records of a cell occur equally often, but for one.
        each = within * np.repeat(self._mass, counts) // np.maximum(np.repeat(counts, counts), 1)
        return self.weighted._taken(self._order[np.repeat(starts, counts) + each], attributes)

    def _drawn_weights(self, total: float, rng: np.random.Generator) -> Array:
        """Return the weights of the cells: drawn effects, raked to drawn tables of the measured cliques."""
        predictions = self._predictions
        targets: list[tuple[Clique, Array]] = []
        for a in self._attributes:
            if tree := predictions.polya_tree(a, total):
                targets.append(((a,), tree.drawn(rng)))
                continue
            side = predictions.sides[a]
            sums = (np.bincount(side.groups, values) for values in (side.counts, side.variances))
            counts, noise = (np.asarray(values, dtype=np.float64) for values in sums)
            variances = noise / (1 + noise / counts**2)
            draw = counts + rng.normal(size=counts.size) * np.sqrt(variances)
            targets.append(((a,), positive(draw, counts, variances, 0 * counts, rng)))
        sizes = {}
        for pair in self._measured:
            sizes[pair] = predictions.size(pair, rng)
            targets.append((pair, predictions.pairs[pair].drawn(sizes[pair], rng)))
        logs = np.zeros(self._mass.size)
        for clique, halvings in self._halvings.items():
            tau = 0.0 if len(clique) == 1 else float(TAUS[sizes.get(clique) or predictions.size(None, rng)])
            logs += self._effects(clique, halvings, tau, rng)
        weights = np.exp(logs - logs.max(initial=-np.inf)) * self._mass
        wanted = [(self._groups[c], t * (len(self._order) / t.sum())) for c, t in reversed(targets)]  # pairs first
        return _core.rake(weights, wanted, _PASSES)

    def _limited(self, clique: Clique, effects: Array) -> Array:
        """Return log effects of a clique, smaller where they would take a pair farther than its screen leaves."""
        if clique not in self._farthest:
            return effects
        mass = self._tables[clique]
        weights = mass * np.exp(effects)
        far = 0.5 * float(np.abs(weights / weights.sum() - mass / mass.sum()).sum())
        return np.asarray(effects * min(1.0, self._farthest[clique] / max(far, 1e-300)))

    def _key(self, groups: Sequence[Codes], clique: Clique) -> Groups:
        """Return the index of each cell in a table of groups of values."""
        return _index(groups, [self._codes[a] for a in clique]).astype(np.uint32)

    def _measured_groups(self, attribute: str) -> Codes:
        """Return the group of each value of an attribute whose counts are drawn."""
        side = self._predictions.sides[attribute]
        return side.groups if self._predictions.polya_tree(attribute) is None else np.arange(side.counts.size)

    def _combinations(self, clique: Clique) -> Groups | None:
        """Return each cell's combination of values of a clique if there are fewer of them than cells."""
        sizes = [self._predictions.sides[a].counts.size for a in clique]
        return self._key([np.arange(k) for k in sizes], clique) if math.prod(sizes) < self._mass.size else None

    def _table(self, clique: Clique) -> Array | Codes:
        """Return the records of each combination of values of a clique, or of each cell if there are fewer of them."""
        cells, n_cells = self._cells[clique], math.prod(b.size for b in self._halvings[clique][0].blocks)
        return self._mass if cells is None else np.bincount(cells, self._mass, n_cells)

    def _is_open(self, clique: Clique) -> bool:
        """Return whether effects of a clique are drawn: not where each of its cells was measured."""
        if len(clique) == 1:
            groups = self._predictions.sides[clique[0]].groups
            return int(groups.max()) + 1 < groups.size and self._predictions.polya_tree(clique[0]) is None
        pair = self._predictions.pairs.get(clique)
        if pair is not None:
            return pair.is_merged
        return not any(measured.issuperset(clique) for measured in self._predictions.whole)

    def _halved(self, clique: Clique) -> list[_Blocks]:
        """Return the blocks of a clique at each scale: its values or measured groups of them, halved by mass."""
        sides = [self._predictions.sides[a] for a in clique]
        pair = self._predictions.pairs.get(clique) if len(clique) > 1 else None
        groups = pair.groups if pair else [np.zeros(s.counts.size, dtype=np.intp) for s in sides]
        noise = self._predictions.noise
        if len(clique) == 1:
            groups = [sides[0].groups]
            noise = float(np.sqrt(np.median(np.bincount(groups[0], sides[0].variances))))
        places = [_Places(g, s.counts, s.ranks) for g, s in zip(groups, sides, strict=True)]
        total = max(float(sides[0].counts.sum()), 1e-300)
        scales: list[_Blocks] = []
        before: list[int] = []
        for level in range(1, _DEEPEST):
            blocks = [p.runs(2**level) for p in places]
            sizes = [int(b.max()) + 1 for b in blocks]
            if sizes == before or math.prod(sizes) > _MAX_BLOCKS:
                break
            before = sizes
            mass, cells = np.full((), total), np.ones(())
            for block, side in zip(blocks, sides, strict=True):
                mass = np.multiply.outer(mass, np.bincount(block, side.counts) / total)
                cells = np.multiply.outer(cells, np.bincount(block))
            # An unmeasured pair is hidden in the noise of a sum over the block's cells.
            sums = np.sqrt(cells) if pair is None and len(clique) == 2 else 1.0
            scales.append(_Blocks(blocks, (_HIDDEN / (1 + mass / (noise * sums))).ravel()))
        return scales

    def _effects(self, clique: Clique, halvings: list[_Blocks], tau: float, rng: np.random.Generator) -> Array:
        """Return drawn log effects of the cells within measured groups, of mean weight about 1."""
        codes, cells = [self._codes[a] for a in clique], self._cells[clique]
        effects_and_variances = np.zeros((2, codes[0].size if cells is None else self._tables[clique].size))
        for blocks, hidden in halvings:
            if len(clique) == 1:
                spread = hidden
            elif len(clique) == 3:
                spread = max(_TRIPLES * tau / _HIDDEN, 1.0) * hidden
            else:
                spread = np.maximum(tau if clique in self._groups else self._ratio * tau, hidden)
            of_blocks = np.stack([rng.normal(size=spread.size) * spread, spread**2])
            effects_and_variances += (
                of_blocks.take(_index(blocks, codes), axis=1) if cells is None else _over(of_blocks, blocks)
            )
        effects, variances = effects_and_variances
        share = np.minimum(1.0, _MOST_SPREAD / np.sqrt(np.maximum(variances, 1e-12)))
        drawn = self._limited(clique, np.asarray(share * effects - share**2 * variances / 2))
        return drawn if cells is None else drawn[cells]


def _index(groups: Sequence[Codes], codes: Sequence[Codes]) -> Codes:
    """Return the index of each record's codes in a table of groups of values."""
    index = np.zeros(codes[0].size, dtype=np.intp)
    for group, column in zip(groups, codes, strict=True):
        index = index * (int(group.max()) + 1) + group[column]
    return index


def _over(of_blocks: Array, blocks: Sequence[Codes]) -> Array:
    """Return rows of numbers of blocks as rows of numbers of the combinations of values in them."""
    table = of_blocks.reshape(len(of_blocks), *(int(block.max()) + 1 for block in blocks))
    for axis in range(len(blocks), 0, -1):  # the last axis first, so that whole rows of most cells are copied
        table = table.take(blocks[axis - 1], axis=axis)
    return table.reshape(len(of_blocks), -1)


class _Places:
    """Places of values within their groups, in an order in which neighbours are alike."""

    def __init__(self, groups: Codes, counts: Array, ranks: Codes) -> None:
        self._groups, self._place = groups, np.zeros(groups.size, dtype=np.intp)
        self._share, self._size = np.zeros(groups.size), np.zeros(groups.size, dtype=np.intp)
        for j in range(int(groups.max()) + 1):
            members = np.flatnonzero(groups == j)
            members = members[np.argsort(ranks[members])]
            mass = counts[members]
            self._place[members], self._size[members] = np.arange(members.size), members.size
            self._share[members] = (np.cumsum(mass) - mass / 2) / mass.sum()  # of the group's mass, up to the middle

    def runs(self, n: int) -> Codes:
        """Return the block of each value: each group is cut into n runs of about equal mass, or into its values."""
        cut = np.minimum(self._place, np.floor(self._share * n).astype(np.intp))
        return joined([self._groups, np.where(self._size > n, cut, self._place)])
