"""A junction tree within a budget of cells, fitted to the pseudo-marginals of a region graph."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm._base.clock import Clock
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.factor import Factor
from pypgm.graphs.junction_tree import JunctionTree
from pypgm.inference.calibrated import Calibrated
from pypgm.inference.region_index import Cliques, RegionIndex, maximal

_PATIENCE = 4  # refusals in a row, in multiples of the attributes, after which no more pairs are tried
_LEAST_PATIENCE = 100
_MET = 1e-8  # mean L1 distance of the constraints, for a total of 1, at which fitting ends
_LEAST_SWEEPS, _MOST_SWEEPS = 8, 60
_SWEPT_CELLS = 4e7  # of all sweeps: less than a second
_NEARLY_MET = 1e-4  # the distance at which fitting ends after the least sweeps and ...
_SWEPT_CELLS_NEAR = 1e7  # ... so many cells
_SLOW_SWEEPS = 8
_AT_ODDS = 2e-3  # a mean L1 distance that slow progress alone does not explain
_PROGRESS = 0.9  # the distance must fall to this part over these sweeps, or the constraints are at odds


@dataclass(frozen=True, eq=False)
class BoundedTree:
    """A graphical model whose junction tree is small.

    Attributes
    ----------
    pairs : tuple of cliques
        The pairs of attributes it keeps together, in the order they were chosen.
    tree : JunctionTree
        Built for the constraints, ``tree.cliques``: the largest parts that a region and a clique of the tree share.
    targets : CliqueVector
        Constraints from the regions, probabilities.
    potentials : CliqueVector
        Natural logs, on the constraints.
    tables : list of Factor
        Marginals of the cliques of the tree, probabilities.
    distance : float
        Mean over the constraints of the L1 distance between the tree's marginals and the targets.
    holds_all : bool
        Whether every region lies in a clique of the tree, so that the tree is the exact model.
    """

    pairs: tuple[Clique, ...]
    tree: JunctionTree
    targets: CliqueVector
    potentials: CliqueVector
    tables: list[Factor]
    distance: float
    holds_all: bool

    def marginals(self, cliques: Sequence[Clique], *, n_threads: int = 0) -> list[NDArray[np.float64]]:
        """Return probabilities over some cliques (each in the domain's order), C order.

        They are kept for later calls, as many as the tree's own tables have cells.
        """
        new = [c for c in dict.fromkeys(cliques) if c not in self._kept]
        tables = self._calibrated.project_many(new, Clock(n_threads=n_threads))
        tables_of = self._kept | {c: f.datavector() for c, f in zip(new, tables, strict=True)}
        if sum(table.size for table in tables_of.values()) <= self.tree.cost.cells:
            self._kept.update(tables_of)
        return [tables_of[c] for c in cliques]

    @cached_property
    def _kept(self) -> dict[Clique, NDArray[np.float64]]:
        return {}

    @cached_property
    def _calibrated(self) -> Calibrated:
        return Calibrated.of(self.tree, self.tables, 1.0)


def mutual_information(tables: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
    """Return the mutual information, in nats, of the two attributes of pairs' tables, whose cells are the last axis."""
    joint = tables.reshape(*tables.shape[:-1], rows, -1)
    joint = joint / joint.sum(axis=(-2, -1), keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):  # where there is no weight nothing is read
        logs = np.log(joint) - np.log(joint.sum(axis=-1, keepdims=True)) - np.log(joint.sum(axis=-2, keepdims=True))
    return np.asarray(np.sum(joint * np.where(joint > 0, logs, 0.0), axis=(-2, -1)))


def within(
    domain: Domain, pairs: Sequence[Clique], max_cells: float, forced: int = 0, clock: Clock | None = None
) -> list[Clique]:
    """Take pairs in order while their junction tree stays within the limit of cells; the first are `forced`."""

    def tick(tried: int) -> bool:
        return clock is not None and clock.tick(lambda: f"{tried} junction trees tried for {len(pairs)} pairs")

    taken = _core.choose_pairs(
        list(domain.shape),
        [list(domain.indices(p)) for p in pairs],
        forced,
        max_cells,
        max(_LEAST_PATIENCE, _PATIENCE * len(domain)),
        tick,
    )
    return [p for p, take in zip(pairs, taken, strict=True) if take]


def joined_within(
    domain: Domain,
    pairs: Sequence[Clique],
    max_cells: float,
    kept: Sequence[Clique] = (),
    clock: Clock | None = None,
) -> list[Clique]:
    """Take the kept pairs and a spanning forest, whatever they need, then pairs in their order as `within`."""
    forest = dict.fromkeys(_joining(kept, pairs))
    ranked = [*kept, *forest, *(p for p in pairs if p not in forest)]
    return within(domain, ranked, max_cells, forced=len(kept) + len(forest), clock=clock)


def plan_bounded_tree(
    index: RegionIndex,
    measured: Iterable[Clique],
    *,
    max_cells: float = 1e6,
    kept: Sequence[Clique] | None = None,
    clock: Clock | None = None,
) -> BoundedTree:
    """Choose the pairs, the tree and its constraints; the potentials are 0 and the tables uniform.

    Parameters
    ----------
    index : RegionIndex
        The pseudo-marginals.
    measured : iterable of cliques
        The measured regions in the order of measurement; all their pairs are candidates.
    max_cells : float
        Cells of the tree's cliques. The kept pairs and a spanning forest are taken whatever they need.
    kept : sequence of pairs, optional
        Pairs an earlier tree has kept, in adaptive measuring: others follow in the order of measurement. Without an
        earlier tree pairs are ranked by mutual information.
    clock : Clock, optional
        Shows the pairs tried; once its time is over no more are.
    """
    domain = index.domain
    regions = list(dict.fromkeys(measured))
    pairs = list(dict.fromkeys(p for r in regions for p in itertools.combinations(r, 2)))
    if kept is None:
        gains = _gains(index, pairs)
        ranked = sorted(pairs, key=lambda p: -gains[p])
    else:
        earlier = set(kept)
        ranked = [p for p in pairs if p not in earlier]
    chosen = tuple(joined_within(domain, ranked, max_cells, kept or (), clock))
    shape = JunctionTree(domain, chosen)
    constraints = _constraints(domain, [n.clique for n in shape.nodes], index.marginals.cliques)
    tree = JunctionTree(domain, constraints, order=shape.order)
    targets = CliqueVector(domain, constraints, np.concatenate([index.probabilities(c) for c in constraints]))
    nodes = Cliques(n.clique for n in tree.nodes)
    holds_all = all(map(nodes.holds, index.marginals.cliques))
    uniform = [Factor(domain.project(n.clique), np.ones(domain.size(n.clique))).normalize() for n in tree.nodes]
    return BoundedTree(chosen, tree, targets, CliqueVector(domain, constraints), uniform, np.inf, holds_all)


def fit_proportionally(
    plan: BoundedTree, start: BoundedTree | None, clock: Clock, *, enough: float = 0.0
) -> tuple[BoundedTree, bool]:
    """Fit a planned tree to its targets, from the potentials of an earlier one if there is one.

    It takes 8 to 60 walks through the tree, fewer if they are slow.

    Parameters
    ----------
    plan : BoundedTree
        Result of `plan_bounded_tree`.
    start : BoundedTree, optional
        An earlier tree.
    clock : Clock
        Shows the sweeps, and ends them once its time is over.
    enough : float
        The distance at which fitting ends after the least sweeps.

    Returns
    -------
    tree : BoundedTree
        Tree after fitting.
    realisable : bool
        False if the constraints seem to be at odds with each other, so that they cannot all be met.
    """
    potentials = CliqueVector(plan.targets.domain, plan.targets.cliques)
    if start is not None:
        _carry_over(start, plan, potentials)
    fitting = _core.ProportionalFitting(plan.tree.plan, plan.targets.values, potentials.values, 1.0, clock.n_threads)
    near, most = (
        int(min(_MOST_SWEEPS, max(_LEAST_SWEEPS, c / plan.tree.cost.cells))) for c in (_SWEPT_CELLS_NEAR, _SWEPT_CELLS)
    )
    seen: list[float] = []
    realisable = True
    while len(seen) < most and realisable and not (seen and clock.over):
        seen.append(fitting.sweep())
        clock.tick(lambda: f"{len(seen)} sweeps of the junction tree, constraints {seen[-1]:.2g} apart")
        met = max(_NEARLY_MET if len(seen) >= near else _MET, enough if len(seen) >= _LEAST_SWEEPS else 0.0)
        if seen[-1] <= met:
            break
        slow = len(seen) > _SLOW_SWEEPS and seen[-1] > max(_AT_ODDS, _PROGRESS * seen[-1 - _SLOW_SWEEPS])
        realisable = not slow and np.isfinite(seen[-1])
    fitted, tables = potentials.like(fitting.potentials), plan.tree.split(fitting.tables)
    return replace(plan, potentials=fitted, tables=tables, distance=seen[-1]), realisable


def _gains(index: RegionIndex, pairs: Sequence[Clique]) -> dict[Clique, float]:
    """Return mutual information less what noise in a table of that size brings on average."""
    alike = defaultdict[tuple[int, ...], list[Clique]](list)
    for pair in pairs:
        alike[index.domain.sizes(pair)].append(pair)
    gains = dict[Clique, float]()
    for (rows, columns), group in alike.items():
        information = mutual_information(np.array([index.probabilities(p) for p in group]), rows)
        gains |= dict(zip(group, information - (rows - 1) * (columns - 1) / (2 * index.total), strict=True))
    return gains


def _joining(kept: Sequence[Clique], pairs: Sequence[Clique]) -> list[Clique]:
    """Return the pairs that join two parts of the graph so far, taken in order."""
    above: dict[str, str] = {}

    def part(attribute: str) -> str:
        while above.setdefault(attribute, attribute) != attribute:
            above[attribute] = above[above[attribute]]
            attribute = above[attribute]
        return attribute

    joining: list[Clique] = []
    for i, (a, b) in enumerate([*kept, *pairs]):
        if i >= len(kept) and part(a) != part(b):
            joining.append((a, b))
        above[part(a)] = part(b)
    return joining


def _constraints(domain: Domain, nodes: Sequence[Clique], regions: Sequence[Clique]) -> list[Clique]:
    """Return the maximal elements of {region ∩ tree clique}, in the order of the regions' first attributes."""
    parts = itertools.chain.from_iterable(map(Cliques(nodes).shared, regions))
    return sorted(maximal(parts), key=domain.indices)


def _carry_over(start: BoundedTree, plan: BoundedTree, potentials: CliqueVector) -> None:
    """Add an earlier tree's potentials to the smallest constraints that hold them, impossible zeros left out."""
    for i, scope in enumerate(start.potentials.cliques):
        home = potentials.find(scope)
        if home is not None:
            potentials.add(home, scope, start.potentials.table(i))
    # A cell the earlier tree ruled out and the new targets allow starts afresh.
    impossible = np.isneginf(potentials.values) & (plan.targets.values > 0)
    potentials.values[impossible] = 0.0
