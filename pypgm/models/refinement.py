"""Synthetic records moved towards marginals they were not drawn from."""

from __future__ import annotations

import heapq
import itertools
import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm._base.clock import Clock
from pypgm._base.memory import check_fits, short
from pypgm.domain import Clique, Domain
from pypgm.inference.region_index import RegionIndex, maximal

_SWEEPS = 20
_NOISE = 0.2  # of the L1 distance that noise leaves in a marginal: what refinement may leave ...
_MAX_SHARE = 1e-2  # ... of the records at most
_ABSOLUTE = math.sqrt(2 / math.pi)  # of a standard deviation: the mean absolute value
_CODE_BYTES = 16  # of a code: as it was drawn, as the core takes it and returns it, and as it is returned
_CELL_BYTES = 48  # of a count that records are refined towards: as it was asked for, its target, and what there is


def stages(domain: Domain, cliques: Sequence[Clique], *, alone: bool, noisy: bool) -> list[list[Clique]]:
    """Return the cliques that records are refined towards, first with other pairs unless `alone`.

    Records that are refined only towards the cliques lose the model's dependence of other pairs. Those of the fewest
    cells are taken, at most as many as there are cliques. For a `noisy` model all are targets at once: the gain of the
    cliques by themselves is far below the noise.
    """
    if alone or not cliques:
        return [[*cliques]] if cliques else []
    held = {pair for clique in cliques for pair in itertools.combinations(clique, 2)}
    outside = itertools.islice((pair for pair in _small_pairs(domain) if pair not in held), len(cliques))
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
    check_fits(_CODE_BYTES * rows * len(names) + _CELL_BYTES * cells, None, what, "ask for fewer records")
    seed = int(rng.integers(2**64, dtype=np.uint64))
    targets = [
        (list(index.domain.indices(c)), np.ascontiguousarray(rows * index.probabilities(c)))
        for c in maximal(index.marginals.cliques)
    ]
    spread = _ABSOLUTE * noise * rows / index.total if index.total > 0 else math.inf
    enough = sum(min(_MAX_SHARE * rows, _NOISE * float(np.minimum(counts, spread).sum())) for _, counts in targets)
    columns, _ = _core.refine_records(
        [records[a].astype(np.int32) for a in names],
        list(index.domain.shape),
        targets,
        _SWEEPS,
        enough,
        seed,
        lambda visited: clock.tick(lambda: f"{visited / rows:.1f} sweeps over {rows} records, at most {_SWEEPS}"),
    )
    return {a: column.astype(records[a].dtype) for a, column in zip(names, columns, strict=True)}
