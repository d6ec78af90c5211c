"""Approximate answers of models whose junction tree does not fit, and what bounds them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pypgm._base.memory import check_fits, memory_limit
from pypgm._base.numeric import as_generator
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique
from pypgm.errors import ModelTooLargeError
from pypgm.graphs.junction_tree import check_possible
from pypgm.graphs.region_graph import RegionGraph
from pypgm.inference._convex_gbp import convex_gbp
from pypgm.inference.blankets import Blankets
from pypgm.inference.mini_buckets import Draws, MiniBuckets, bucket_scopes, min_fill_order

_BUCKET_CELLS = (2**12, 2**16, 2**20)  # of the largest part of a bucket
_MOST_CELLS = 2**24  # of all buckets together: a second or two
_WORTH = 0.1  # share of the draws that they should be worth, before larger buckets are tried
_REGION_CELLS = (2**8, 2**12)  # of the regions that mini-buckets give
_TABLE_BYTES = 24.0  # of a cell of a bucket: its table, and two while it is made
_LONGEST = 4  # attributes of a cycle's region
_SWEEPS = 2000
FEWEST = 100  # effective draws from which on an estimate is trusted
N_DRAWS = 10_000
_ANNEALED = 200  # draws
_CLIMBED = 10  # of the draws, and of the annealed ones, those of the largest weight
_ROUNDING = 1e-6  # natural logs by which an exact log Z may be above its bound


@dataclass(frozen=True, eq=False)
class Approximated:
    """An approximation of a model without evidence, its draws and joint tables.

    Attributes
    ----------
    oracle, log_z, converged, regions
        See `Approximation`.
    draws : Draws
        Weighted draws of all attributes.
    tables : CliqueVector or None
        Marginals of the regions, probabilities; None if they come from the draws.
    """

    oracle: Literal["region_graph", "sampling"]
    log_z: float
    converged: bool
    draws: Draws
    potentials: CliqueVector
    tables: CliqueVector | None = None
    regions: str = ""

    def project(self, clique: Clique) -> NDArray[np.float64]:
        """Return the probabilities of a clique; of regions only if one holds it."""
        return self._by_draws(clique)[0] if self.tables is None else self.tables.project(clique).datavector()

    def is_worse_than_draws(self) -> bool:
        """Return whether the marginals of regions seem farther from the model than those of the draws.

        They differ by the errors of both, of which the draws' are known: these are the smaller part then.
        """
        distance = variance = 0.0
        for a in self.potentials.domain:
            by_draws, squares = self._by_draws((a,))
            distance += float(((by_draws - self.project((a,))) ** 2).sum())
            variance += squares
        return distance > 2 * variance

    def _by_draws(self, clique: Clique) -> tuple[NDArray[np.float64], float]:
        if clique not in self._kept:
            self._kept[clique] = self._blankets.marginal(self.draws, self.potentials.domain.indices(clique))
        return self._kept[clique]

    @cached_property
    def _kept(self) -> dict[Clique, tuple[NDArray[np.float64], float]]:
        return {}

    @cached_property
    def _blankets(self) -> Blankets:
        return Blankets(self.potentials)


def approximated(
    potentials: CliqueVector,
    oracle: Literal["region_graph", "sampling", "auto"],
    targets: Sequence[Clique] = (),
    *,
    n_draws: int = N_DRAWS,
    rng: np.random.Generator | int | None = 0,
    max_bytes: float | None = None,
    n_threads: int = 0,
) -> Approximated:
    """Approximate a model by region graphs or draws.

    Region graphs are tried from coarse to fine: the tables with the parts that they share, cycles of pairs, and
    mini-buckets of more and more cells. The first is taken that converges to the log Z that independent draws estimate,
    as far as they can tell; else that which comes nearest. A graph whose log Z is above the bound is never taken while
    there is another one. "auto" tries no fine ones if the draws are good, and takes the draws if no graph agrees with
    them, or if their marginals seem better than the graph's.

    Parameters
    ----------
    potentials : CliqueVector
        Natural logs.
    oracle : {"region_graph", "sampling", "auto"}
    targets : sequence of cliques
        Cliques that a region has to hold.
    n_draws : int
    rng : Generator or int, optional
        Source of the draws.
    max_bytes : float, optional
        Memory that tables may take; half of the available memory by default.
    n_threads : int
        0 for all threads.

    Raises
    ------
    ImpossibleEvidenceError
        If no joint assignment has any weight, or none was found.
    ModelTooLargeError
        If a region that a table or target needs does not fit.
    """
    order = min_fill_order(len(potentials.domain), potentials.scopes)
    draws = drawn(potentials, order, n_draws, as_generator(rng), max_bytes)
    by_draws = Approximated("sampling", draws.log_z, draws.effective_size >= FEWEST, draws, potentials)
    if oracle == "sampling":
        check_possible(draws.log_z, None)
        return by_draws
    are_good = draws.effective_size >= _WORTH * n_draws
    best: tuple[bool, float] = False, -np.inf
    answer = by_draws
    for regions, is_fine, graph in _graphs(potentials, targets, order, max_bytes):
        if oracle == "auto" and is_fine and are_good:
            break
        result = convex_gbp(potentials, graph, "bethe", iterations=_SWEEPS, n_threads=n_threads)
        is_possible, apart = result.converged and result.dual <= draws.log_bound + _ROUNDING, _apart(draws, result.dual)
        if (is_possible, -apart) >= best:
            best, tables = (is_possible, -apart), result.marginals
            agrees = is_possible and not apart and by_draws.converged  # few draws vouch for nothing
            answer = Approximated("region_graph", result.dual, agrees, draws, potentials, tables, regions)
            if agrees:
                break
    if oracle == "auto" and by_draws.converged and (not answer.converged or answer.is_worse_than_draws()):
        return by_draws
    return answer


def _apart(draws: Draws, log_z: float) -> float:
    """Return how far a log Z is from what draws say of it: three standard errors of many, the interval of few."""
    if draws.effective_size >= FEWEST:
        return max(0.0, abs(log_z - draws.log_z) - 3 / math.sqrt(draws.effective_size))
    low, high = draws.interval()
    return max(0.0, low - log_z, log_z - high)


def drawn(
    potentials: CliqueVector,
    order: Sequence[int],
    n_draws: int,
    rng: np.random.Generator,
    max_bytes: float | None = None,
) -> Draws:
    """Return weighted draws from mini-buckets, as large as it takes for them to be worth something.

    Raises
    ------
    ImpossibleEvidenceError
        If no joint assignment has any weight.
    """
    limit = min(memory_limit(max_bytes), _TABLE_BYTES * _MOST_CELLS)
    best: Draws | None = None
    for cells in _BUCKET_CELLS:
        needed = _bucket_bytes(potentials, order, cells)
        if best is not None and (best.effective_size >= _WORTH * n_draws or needed > limit):
            break
        check_fits(needed, max_bytes, f"mini-buckets of {cells} cells of {len(order)} attributes", "pass max_bytes")
        buckets = MiniBuckets(potentials, order, cells)
        check_possible(buckets.log_bound, None)
        draws = buckets.draw(n_draws, rng)
        best = draws if best is None or draws.effective_size >= best.effective_size else best
        if buckets.is_exact:
            break
    assert best is not None
    return best


def best_found(potentials: CliqueVector) -> tuple[NDArray[np.intp], float, float]:
    """Return an assignment of large weight, its log-weight, and an upper bound of the largest log-weight.

    Mini-buckets are decoded, draws are climbed from at once and after annealing; the best of all counts.

    Examples
    --------
    >>> from pypgm import Domain
    >>> best_found(CliqueVector(Domain({"a": 2, "b": 2}), [("a", "b")], [0.0, 1.0, 0.0, 3.0]))
    (array([1, 1]), 3.0, 3.0)
    """
    order = min_fill_order(len(potentials.domain), potentials.scopes)
    bound, result = np.inf, list[NDArray[np.intp]]()
    limit = min(memory_limit(None), _TABLE_BYTES * _MOST_CELLS)
    for cells in _BUCKET_CELLS:
        if result and _bucket_bytes(potentials, order, cells) > limit:
            break
        buckets = MiniBuckets(potentials, order, cells, maximum=True)
        bound = min(bound, buckets.log_bound)
        result.append(buckets.decode())
        if buckets.is_exact:
            break
    blankets = Blankets(potentials)
    if not buckets.is_exact:
        rng = np.random.default_rng(0)
        draws = drawn(potentials, order, N_DRAWS, rng)
        codes = draws.counted[0][:, np.argsort(-draws.counted[1])]
        for tried in (codes, blankets.annealed(codes[:, :_ANNEALED], rng)):
            likeliest = np.argsort(-buckets.log_weights(tried))[:_CLIMBED]
            result += [tried[:, i] for i in likeliest]
    result = [blankets.climbed(codes) for codes in result]
    log_weights = buckets.log_weights(np.stack(result, axis=1))
    best = int(log_weights.argmax())
    return result[best], float(log_weights[best]), bound


def _bucket_bytes(potentials: CliqueVector, order: Sequence[int], cells: float) -> float:
    shape = potentials.domain.shape
    return _TABLE_BYTES * sum(math.prod([shape[a] for a in s]) for s in _scopes(potentials, order, cells))


def _scopes(potentials: CliqueVector, order: Sequence[int], cells: float) -> list[tuple[int, ...]]:
    return bucket_scopes(potentials.domain.shape, potentials.scopes, order, cells)


def _graphs(
    potentials: CliqueVector, targets: Sequence[Clique], order: Sequence[int], max_bytes: float | None
) -> Iterator[tuple[str, bool, RegionGraph]]:
    """Yield region graphs from coarse to fine, and whether they are fine; those after the first only if they fit."""
    domain, cliques = potentials.domain, [*potentials.cliques, *((a,) for a in potentials.domain)]
    known = [c for c in targets if potentials.find(c) is None]

    def graph(extra: Iterable[Clique]) -> RegionGraph:
        return RegionGraph.saturated(domain, cliques, extra=[*known, *extra], max_bytes=max_bytes)

    yield "tables", False, graph(())
    with suppress(ModelTooLargeError):
        if all(len(clique) <= 2 for clique in (*potentials.cliques, *known)):
            yield "cycles", False, graph(domain.names(sorted(c)) for c in short_cycles(len(domain), potentials.scopes))
        for cells in _REGION_CELLS:
            yield f"mini-buckets of {cells} cells", True, graph(map(domain.names, _scopes(potentials, order, cells)))


def short_cycles(n_attributes: int, pairs: Iterable[Sequence[int]], most: int = _LONGEST) -> list[tuple[int, ...]]:
    """Return short cycles that span all cycles of a graph, the longer ones cut along chords.

    Examples
    --------
    >>> short_cycles(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])
    [(3, 2, 1, 0), (3, 0, 4)]
    """
    near: list[set[int]] = [set() for _ in range(n_attributes)]
    part = list(range(n_attributes))

    def part_of(v: int) -> int:
        while part[v] != v:
            part[v] = part[part[v]]
            v = part[v]
        return v

    result: list[tuple[int, ...]] = []
    for a, b in sorted({(min(p), max(p)) for p in pairs if len(p) == 2}):
        cycle = _path(near, a, b) if part_of(a) == part_of(b) else []
        part[part_of(a)] = part_of(b)
        near[a].add(b)
        near[b].add(a)
        while len(cycle) > most:
            result.append(tuple(cycle[:most]))
            cycle = [cycle[0], *cycle[most - 1 :]]
        result += [tuple(cycle)] if cycle else []
    return result


def _path(near: Sequence[set[int]], a: int, b: int) -> list[int]:
    """Return a shortest path between two vertices that are connected."""
    before = {a: a}
    waiting = deque([a])
    while b not in before:
        v = waiting.popleft()
        for w in sorted(near[v] - before.keys()):
            before[w] = v
            waiting.append(w)
    path = [b]
    while path[-1] != a:
        path.append(before[path[-1]])
    return path[::-1]
