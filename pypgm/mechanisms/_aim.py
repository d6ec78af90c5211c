"""AIM: repeatedly measure the marginal the model fits worst relative to its noise, then re-estimate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pypgm._base.numeric import check_choice, checked_integer, checked_real
from pypgm.data.sources.frames import Frame
from pypgm.estimation.steps import Pace
from pypgm.mechanisms.better_start import estimate_from_better_start, estimate_from_exact, is_small
from pypgm.mechanisms.one_way import independent, measure_singles
from pypgm.mechanisms.run import Options, Run
from pypgm.mechanisms.tables import of_tables
from pypgm.mechanisms.tree_limit import TREE_BYTES, check_compared, may_fit, that_fit, warn_left_out
from pypgm.privacy.l1_selector import GRID_BITS, l1_distance, on_grid
from pypgm.privacy.private_table import Counts, PrivateTable
from pypgm.privacy.rational import Number
from pypgm.release import ModelRelease

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from pypgm.domain import Clique
    from pypgm.estimation import LinearMeasurement
    from pypgm.models import GraphicalModel, RegionGraphModel
    from pypgm.workloads import Workload, WorkloadLike


GRID = 1 << GRID_BITS
"""Units of a record in which savings are counted."""

Array = NDArray[np.float64]


def hidden(expected: Array, noise: float) -> float:
    """Return the part of a table, in counts, that noise of some mean absolute size hides from an estimate.

    The error of a cell is the noise, and at most twice its expected count: answers below 0 are not believed, and
    counts missing elsewhere are too many here.

    Examples
    --------
    >>> hidden(np.array([1.0, 50.0]), 10.0)
    12.0
    """
    return float(np.minimum(noise, 2 * expected).sum())


def saving(counts: NDArray[np.int64], expected: NDArray[np.int64], hiding: int) -> int:
    r"""Return the error :math:`e - (e^{-2} + h^{-2})^{-1/2}` that a measurement would take away, in units of the grid.

    Here e is the L1 distance of the counts from the expected ones and h the part that noise hides: the remaining error
    is about the smaller one. It rises with e, and no faster than e (its derivative is :math:`(1 + e^2/h^2)^{-3/2}`),
    so one record more or less changes the saving by at most `GRID`; rounded down to integers it still does, since
    :math:`\lfloor x + k \rfloor = \lfloor x \rfloor + k`. The counts are secret, and so is what comes out.

    Parameters
    ----------
    counts : ndarray of int64, shape (cells,)
        Counts of the records.
    expected : ndarray of int64, shape (cells,)
        Released counts in units of the grid; see `pypgm.privacy.l1_selector.on_grid`.
    hiding : int
        Error that noise hides, in units of the grid, at least 0.

    Examples
    --------
    >>> round(saving(np.array([7, 0]), np.array([4 * GRID, 3 * GRID]), 8 * GRID) / GRID, 3)  # e = 6, h = 8
    1.2
    """
    distance = l1_distance(counts, expected)
    if hiding == 0:
        return distance
    squares = distance * distance + hiding * hiding
    return distance - math.isqrt(distance * distance * hiding * hiding // squares)


Score = Literal["noise", "risk"]

_MEASURING = Fraction(9, 10)  # of the cost of a round
_ROUNDS = 4  # of an attribute; 16 have 4 % more error on adult and 10 % more on titanic
_SOONER = 4  # times the budget of a round: half the noise, and a choice twice as sharp
_VALIDATED = 8  # rounds with one validated estimate: the others take as many iterations as were best in it
_LEAK = 0.5  # of the hidden error of a table, by which noise alone moves an estimate; see bench/README.md


@of_tables
def aim(
    data: Counts | PrivateTable | Frame,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    workload: WorkloadLike | None = None,
    rounds: int | None = None,
    score: Score = "noise",
    tree_bytes: float = TREE_BYTES,
    **options: Unpack[Options],
) -> ModelRelease:
    r"""Release a model that learns, round by round, the marginals a workload needs most.

    All single attributes are measured first, larger ones with less noise. Each round selects, by an exact exponential
    mechanism, the marginal whose distance from the model most exceeds the error that its own noise would leave,
    weighted by its overlap with the workload; measures it with exact discrete Gaussian noise; and estimates again.
    Where a measurement taught no more than noise, the following rounds get four times the budget.

    Parameters
    ----------
    data : Dataset, PrivateTable, or any table with `schema`
        Unweighted records, possibly none; an open table spends all that its ledger has left.
    epsilon, delta : number
        The guarantee; a float means its shortest decimal. `delta` must be more than 0.
    workload : Workload, int, str or list of clique, optional
        Marginals to be answered well, all pairs of attributes by default. They and all smaller marginals within them
        may be measured; queries on them are ignored.
    rounds : int, optional
        Number of rounds that the first noise would last; 4 for each attribute by default (16 as published).
    score : {"noise", "risk"}
        Score of a marginal: the excess of its error over the noise of all its cells, as published, counting for a cell
        at most twice its expected count; or the error that an estimate would remove. "risk" selects larger marginals,
        and counts a step as learning nothing below half of the error that noise hides.
    tree_bytes : float
        Memory limit of the junction tree's tables when the budget is spent, and in proportion to the spent part
        before: larger candidates wait, and a marginal whose own table exceeds it is left out, with a warning if it is
        in `workload`; 8 MiB by default. A region graph has no such limit.
    **options
        `budget`, `neighbours`, `privacy`, `time_limit` and all others of `pypgm.mechanisms.Options`; `oracle="auto"`
        means "exact" here. When time or memory (with a warning) runs out, or Ctrl-C ends an estimate, no round
        follows, and the rest of the budget stays unspent.

    Returns
    -------
    Release
        Model, measurements in the order they were taken, and ledger; ``release.log`` has a line for each round.

    Raises
    ------
    ValueError
        If the budget is pure or out of range, the records are weighted, the workload is over another domain, an option
        is out of range, or the domain has no attributes.
    ModelTooLargeError
        If the single attributes, or all candidates together, do not fit in memory; then nothing was spent.
    TypeError
        If the budget or the relation is given twice or not at all.

    Notes
    -----
    Marginals that no round selects follow from the selected ones: of log odds ratios, correlations and Cramér's V of
    six tables at epsilon 1 a release kept 7 to 102, 4 to 95 and 9 to 93 %.

    References
    ----------
    McKenna, Mullins, Sheldon and Miklau 2022, "AIM: An Adaptive and Iterative Mechanism for Differentially Private
    Synthetic Data".

    Examples
    --------
    >>> import pypgm
    >>> domain = pypgm.Domain({"a": 2, "b": 3})
    >>> data = pypgm.Dataset({"a": [0, 1, 1] * 999, "b": [2, 0, 1] * 999}, domain)
    >>> release = aim(data, epsilon=1, delta=1e-9, rounds=4)
    >>> [m.clique for m in release.measurements][:2], release.log[0]["clique"]
    ([('a',), ('b',)], ('a', 'b'))
    """
    if rounds is not None:
        rounds = checked_integer("rounds", rounds, 1)
    tree_bytes = checked_real("tree_bytes", tree_bytes, infinite=True)
    check_choice("score", score, get_args(Score))
    run = Run("aim", data, epsilon, delta, auto="exact", **options)
    if len(run.domain) == 0:
        raise ValueError("aim needs at least one attribute")
    search = _Search(run, run.checked_workload(workload), score, tree_bytes)
    warn_left_out(run, workload, tree_bytes)
    search.begin(run.rho / (rounds or _ROUNDS * len(run.domain)))
    while search.goes_on():
        with run.last_that_fits():
            search.round()
    run.close()
    settings = {"workload": workload, "rounds": rounds, "score": score, "tree_bytes": tree_bytes}
    return run.release(search.final(), search.measured, search.log, **settings)


class _Search:
    """Measurements so far, their model, and the cost of a round."""

    def __init__(self, run: Run, workload: Workload, score: Score, tree_bytes: float) -> None:
        self.run, self.score, self.tree_bytes = run, score, tree_bytes
        self.weights = workload.closure()
        public = run.total is not None
        run.check_fits([c for c in self.weights if len(c) == 1])
        # Under replace nobody changes a single cell.
        changed = [c for c in self.weights if run.domain.size(c) > 1 or not public]
        self.candidates = [c for c in changed if len(c) == 1 or may_fit(run, c, tree_bytes)]
        check_compared(run, self.candidates)
        self.measured: list[LinearMeasurement] = []
        self.log: list[dict[str, object]] = []
        self.is_last = not self.candidates
        self._bytes: dict[Clique, float] = {}  # see `that_fit`
        self.pace: Pace | None = None  # of the last estimate which was validated
        self.model: GraphicalModel | RegionGraphModel

    def begin(self, rate: Fraction) -> None:
        """Measure all single attributes of the workload, each for the cost of a measurement in a round."""
        table, self.rate = self.run.table, rate
        singles = [c for c in self.candidates if len(c) == 1]
        rho = min(rate * _MEASURING * len(singles), self.run.rho / 2)
        self.measured = measure_singles(self.run, rho, singles)
        # By what rounds may spend, not by what they do: the finest noise there is leaves most of a vast budget.
        self.left = self.run.rho - rho
        self.start = independent(self.run, self.measured).model(self.run.domain)
        self.model = self.run.estimate(self.measured, self.start)
        if self.score == "noise":
            self.selector = table.l1_selector(self.candidates, self._answer)
        else:
            changes = GRID * (2 if table.privacy.total_is_public else 1)
            self.savings = table.selector(self.candidates, lambda *_: 0, sensitivity=changes)

    def goes_on(self) -> bool:
        """Return whether there is budget, and nothing has ended the estimates."""
        return not (self.is_last or self.run.ended(self.model))

    def round(self) -> None:
        """Select a marginal, measure it, estimate; the last round spends the rest."""
        table = self.run.table
        self.is_last = self.left <= 2 * self.rate
        rate = self.left if self.is_last else self.rate
        noise = self._noise(rate)
        spent = 1 - float(self.left / self.run.rho)
        among = that_fit(self.run, self._known(), self.candidates, spent * self.tree_bytes, self._bytes)
        if not among:
            self.model = self._estimated()
            self.run.end_where_nothing_fits()
            return
        self.left -= rate
        clique, before = self._selected([self.candidates[i] for i in among], rate * (1 - _MEASURING), noise)
        part = self._moved_by_noise(clique, rate, among)
        measured = table.measure(clique, rho=table.ledger.remaining() if self.is_last else rate * _MEASURING)
        self.measured.append(measured)
        self.model = self._estimated() if self.is_last else self._rough()
        learnt = float(np.abs(self._answer(clique) - before).sum())
        self.log.append({"clique": clique, "stddev": measured.stddev, "learnt": learnt, "candidates": len(among)})
        if learnt <= part * hidden(before, noise):
            self.rate *= _SOONER

    def final(self) -> GraphicalModel | RegionGraphModel:
        """Return the model of all that was measured, on a region graph from the start that explains it better."""
        if self.run.oracle != "region_graph" or self.run.ended(self.model):
            return self.model
        if is_small(self.run, self._explained()):
            return self.model
        return estimate_from_better_start(self.run, self.measured, self.start)

    def _estimated(self) -> GraphicalModel | RegionGraphModel:
        if self.run.oracle == "region_graph":
            return estimate_from_exact(self.run, self._explained(), self.start)
        return self.run.estimate(self.measured, self.start)

    def _rough(self) -> GraphicalModel | RegionGraphModel:
        """Return an estimate to choose the next marginal by, in a third of the time."""
        if self.run.oracle == "region_graph":
            return self._estimated()
        if len(self.log) % _VALIDATED == 0:
            self.pace = None
        model = self.run.fit(self._explained(), self.start, is_start=True, pace=self.pace)
        if self.pace is None and model.fit is not None:
            self.pace = Pace(len(model.fit.history) - 1)
        return model

    def _explained(self) -> list[LinearMeasurement]:
        return [*self.run.given, *self.measured]

    def _selected(self, cliques: Sequence[Clique], rho: Fraction, noise: float) -> tuple[Clique, Array]:
        """Return a marginal, drawn by how much there is to learn from it at this noise, and what the model expects."""
        weights = [self.weights[clique] for clique in cliques]
        answers = [table.datavector() for table in self.model.project_many(cliques)]
        hiding = [hidden(answer, noise) for answer in answers]
        if self.score == "noise":
            offsets = [Fraction(-float(w) * most) for w, most in zip(weights, hiding, strict=True)]
            self.selector.compare(dict(zip(cliques, answers, strict=True)).__getitem__, cliques)
            chosen = self.selector.select(rho=rho, weights=weights, offsets=offsets)
        else:
            goals = [on_grid(clique, answer, answer.size) for clique, answer in zip(cliques, answers, strict=True)]
            drowned = [round(GRID * most) for most in hiding]
            self.savings.compare(lambda i, counts: saving(counts, goals[i], drowned[i]), cliques)
            chosen = self.savings.select(rho=rho, weights=weights)
        return cliques[chosen], answers[chosen]

    def _moved_by_noise(self, clique: Clique, rate: Fraction, among: Sequence[int]) -> float:
        """Return the share of the hidden error by which noise alone moves a marginal, even with nothing to learn.

        The mean of more independent answers has less noise. If all current candidates are known well, a small step
        does not show what waits for a larger tree.
        """
        known = self._known()
        if clique in known and (self.score == "risk" or known.issuperset(self.candidates[i] for i in among)):
            return 0.0
        if self.score == "risk":
            return _LEAK
        precision = self.run.stddev(rate * _MEASURING) ** -2
        before = math.fsum(m.stddev**-2 for m in self.measured if self.run.domain.canonical(m.clique) == clique)
        return precision / math.sqrt(max(before * (before + precision), precision * precision))

    def _known(self) -> set[Clique]:
        return {self.run.domain.canonical(m.clique) for m in (*self.run.given, *self.measured)}

    def _answer(self, clique: Clique) -> NDArray[np.float64]:
        return self.model.project(clique).datavector()

    def _noise(self, rate: Fraction) -> float:
        """Return the mean absolute noise of a cell in a round that costs so much."""
        return math.sqrt(2 / math.pi) * self.run.stddev(rate * _MEASURING)
