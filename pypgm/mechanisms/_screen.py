"""Screen: score all pairs of the workload with a little budget, then measure those worth their noise, on one tree."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pypgm._base.numeric import checked_real
from pypgm.data.sources.frames import Frame
from pypgm.domain import Clique
from pypgm.errors import ModelTooLargeError
from pypgm.inference.bounded_tree import within
from pypgm.mechanisms.one_way import Independent, independent, measure_singles
from pypgm.mechanisms.pair_allocation import allocate, asked_pairs, hidden
from pypgm.mechanisms.pair_dependence import screened
from pypgm.mechanisms.run import Options, Run
from pypgm.mechanisms.tables import of_tables
from pypgm.privacy.noise import drawable_variance
from pypgm.privacy.private_table import Counts, PrivateTable
from pypgm.privacy.rational import Number
from pypgm.privacy.selector import SCREEN_BITS
from pypgm.release import ModelRelease
from pypgm.workloads import WorkloadLike

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Chosen on adult, titanic and fire, all pairs, epsilon .1 to 10; see bench/README.md.
_SINGLES = Fraction(1, 10)  # of rho, for single attributes
_SCREEN = Fraction(1, 20)  # of rho, for the errors of all pairs
_PENALTIES = 0.0, 0.5, 1.0  # powers of the number of cells that divide a pair's worth in rankings for the tree
_LEVELS = 24  # of noise, each the root of 2 times the one before; the first is what a single pair gets for all

Array = NDArray[np.float64]


@of_tables
def screen(
    data: Counts | PrivateTable | Frame,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    workload: WorkloadLike | None = None,
    tree_bytes: float = 8e7,
    **options: Unpack[Options],
) -> ModelRelease:
    r"""Release a model of the records from the pairs that are worth their cost, on one junction tree, in three steps.

    The first step measures single attributes. The second screens all pairs of the workload at once: how far each is
    from the independent model, with noise. By these distances, and by the part of each that noise would hide, some of
    the pairs and the noise of each are chosen such that the expected error over the workload is least, while their
    junction tree stays small. The third step measures them for all that is left. There is one estimate and no further
    round.

    Parameters
    ----------
    data : Dataset, PrivateTable, or any table with `schema`
        Unweighted records, possibly none; an open table spends all that its ledger has left.
    epsilon, delta : number
        The guarantee; a float means its shortest decimal. `delta` must be more than 0.
    workload : Workload, int, str or list of clique, optional
        Workload of whole marginals; all pairs by default. Larger marginals count as all of their pairs. Single
        attributes are measured in any case.
    tree_bytes : float
        The most memory that the tables of the junction tree take, 8 bytes per cell; the estimate takes three times as
        much. Larger pairs are not measured. A region graph holds all pairs that repay their cost, however many they
        are.
    **options
        `budget`, `neighbours`, `privacy`, `time_limit` and all others of `pypgm.mechanisms.Options`; `oracle="auto"`
        means "exact" here.

    Returns
    -------
    Release
        Model, measurements (attributes, then pairs) and ledger; ``release.log`` has a line for each measured pair: the
        part of the records (total variation) that the screen found unexplained, and the standard deviation of its
        noise.

    Raises
    ------
    ValueError
        If the budget is pure or out of range, the records are weighted, the domain has no attributes, the workload is
        over another domain or has queries other than whole marginals, or `tree_bytes` is not above 0.
    ModelTooLargeError
        If the estimate from single attributes (on a region graph, from all pairs) does not fit; then nothing was spent.
    TypeError
        If the budget or the relation is given twice or not at all.

    Notes
    -----
    Attributes get a tenth of rho and the screen a twentieth. A record changes every distance by at most 1 (2 where it
    is replaced), all P of them by the root of P in the L2 norm, whose squared noise they share: 12,000 pairs are
    screened with noise ten times that of 120. The part of their spread that noise explains is removed by shrinking the
    distances to their mean. If it explains all, pairs are chosen only by their cells.

    A pair whose error is e if it is not measured, and of which noise hides h, has the expected error
    ``(e^-2 + h^-2)^(-1/2)``. One multiplier weighs the sum of these errors against rho, over all pairs and 24 levels of
    noise. Pairs that save most error, in all or for each cell or root of a cell, are taken while the tree has room;
    the best of the three rankings is kept.

    Examples
    --------
    >>> import pypgm
    >>> domain = pypgm.Domain({"a": 2, "b": 3, "c": 2})
    >>> data = pypgm.Dataset({"a": [0, 1] * 500, "b": [2, 0] * 500, "c": [0, 0, 1, 1] * 250}, domain)
    >>> release = screen(data, epsilon=10, delta=1e-9)
    >>> release.project(("a", "b")).values.round(-2)
    array([[  0.,   0., 500.],
           [500.,   0.,   0.]])
    """
    tree_cells = checked_real("tree_bytes", tree_bytes, infinite=True) / 8
    run = Run("screen", data, epsilon, delta, auto="exact", **options)
    if len(run.domain) == 0:
        raise ValueError("screen needs at least one attribute")
    workload_pairs = asked_pairs(run, workload)
    weights = {pair: weight for pair, weight in workload_pairs.items() if run.domain.size(pair) <= tree_cells}
    singles = [(a,) for a in run.domain]
    run.check_fits([*singles, *(weights if run.oracle == "region_graph" else singles)])
    _check_screen(run, len(weights))
    measured = measure_singles(run, run.rho * _SINGLES if weights else run.rho)
    start = independent(run, measured)
    log: list[dict[str, object]] = []
    if weights:
        unexplained = _screened(run, list(weights), start, run.rho * _SCREEN)
        levels, costs = _chosen(run, weights, start, unexplained, tree_cells)
        left = run.table.ledger.remaining()
        if levels:
            parts = [float(costs[level]) for level in levels.values()]
            answers = run.table.measure_many(list(levels), rho=left, weights=parts)
            log = [{"clique": m.clique, "unexplained": unexplained[m.clique], "stddev": m.stddev} for m in answers]
        else:
            answers = measure_singles(run, left)
        measured += answers
    run.close()
    model = run.estimate(measured, start.model(run.domain))
    return run.release(model, measured, log, workload=workload, tree_bytes=tree_bytes)


def _check_screen(run: Run, pairs: int) -> None:
    """Raise ``ValueError`` where the noise of the screen is beyond what can be drawn: before anything is spent."""
    change = run.table.privacy.l1_score_range // 2 << SCREEN_BITS
    if pairs and run.rho > 0:
        drawable_variance(pairs * change**2 / (2 * run.rho * _SCREEN))


def _screened(run: Run, pairs: Sequence[Clique], start: Independent, rho: Fraction) -> dict[Clique, float]:
    """Return each pair's share of records outside the cells that independence predicts, noisy and shrunk."""
    scores, stddev = screened(run, pairs, start.counts, rho)
    mean, variance = scores.mean(), scores.var()
    signal = max(0.0, 1 - stddev**2 / variance) if variance > 0 else 0.0
    shrunk = mean + signal * (scores - mean)
    return dict(zip(pairs, np.clip(shrunk / (2 * start.total), 0.0, 1.0).tolist(), strict=True))


def _chosen(
    run: Run, weights: Mapping[Clique, float], start: Independent, unexplained: Mapping[Clique, float], limit: float
) -> tuple[dict[Clique, int], Array]:
    """Return the noise level of each pair to be measured, and the share of the budget that each level costs."""
    pairs = list(weights)
    costs = np.exp2(-np.arange(_LEVELS, dtype=np.float64))
    stddevs = run.stddev(run.table.ledger.remaining()) / np.sqrt(costs)
    noise = np.array([hidden(start.counts(p), stddevs) for p in pairs])
    errors, counted = np.array([unexplained[p] for p in pairs]), np.array(list(weights.values()))
    levels, risks = allocate(errors, noise, costs, counted)
    if run.oracle == "region_graph":
        return {pair: int(level) for pair, level in zip(pairs, levels, strict=True) if level >= 0}, costs
    saved = counted * errors - risks
    cells = np.array([run.domain.size(p) for p in pairs], np.float64)
    position = {pair: i for i, pair in enumerate(pairs)}
    best: tuple[float, dict[Clique, int]] = 0.0, {}
    for penalty in _PENALTIES:
        ranked = [pairs[i] for i in np.argsort(-saved / cells**penalty, kind="stable") if saved[i] > 0]
        held = _held(run, ranked, limit)
        rows = [position[pair] for pair in held]
        levels, risks = allocate(errors[rows], noise[rows], costs, counted[rows])
        gain = float((counted[rows] * errors[rows] - risks).sum())
        if gain > best[0]:
            best = gain, {pair: int(level) for pair, level in zip(held, levels, strict=True) if level >= 0}
    return best[1], costs


def _held(run: Run, ranked: Sequence[Clique], limit: float) -> list[Clique]:
    """Take pairs in their order while the junction tree, including the given measurements, stays within a limit."""
    known = [m.clique for m in run.given] + [c.clique for c in run.constraints]
    forced = [pair for clique in map(run.domain.canonical, known) for pair in itertools.combinations(clique, 2)]
    while True:
        held = within(run.domain, [*forced, *ranked], limit, len(forced))[len(forced) :]
        try:
            run.check_fits([*((a,) for a in run.domain), *held])
        except ModelTooLargeError:  # the estimate needs more than the tables of its tree, see `max_bytes`
            if not held:
                raise
            limit /= 2
        else:
            return held
