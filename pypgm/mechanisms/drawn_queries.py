"""Queries drawn by exponential mechanisms, from which record-finding mechanisms learn, and their likelihood."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pypgm._base.memory import check_fits, short
from pypgm._base.numeric import check_choice, checked_integer
from pypgm.clique_vector import CliqueVector
from pypgm.data import Dataset, tabulate
from pypgm.domain import Clique, Domain
from pypgm.errors import EstimateInterruptedWarning
from pypgm.estimation.constraint import as_constraints
from pypgm.estimation.fit import Fit
from pypgm.estimation.losses import Custom
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.mechanisms.run import Options, Run
from pypgm.models import GraphicalModel, RegionGraphModel
from pypgm.privacy.cell_selector import Drawn
from pypgm.reconstruction.best_records import Optimiser, RecordSearch
from pypgm.reconstruction.weighted_records import WeightedRecords
from pypgm.release import Release
from pypgm.workloads import WorkloadLike

Array = NDArray[np.float64]
Estimator = Literal["model", "records"]
Learn = Callable[["DrawnQueries", float], None]

_TOTAL = Fraction(1, 100)  # of the budget, for a private number of records
_ITERATIONS = 150  # from the records on; a likelihood does not say where noise begins to be fitted
_MOST_RECORDS = 2.0**40  # limit on counts of cells: offsets of this size can still be drawn with
_CELL_BYTES = 160  # counts, scores and offsets of a cell and its complement, while they are drawn from
_VALUE_BYTES = 64  # per value: its costs for all starts of a record, and the results of the starts
_START = 0.3  # of the seconds left, at most, for the start of an estimate
_LARGE_SCORE = 20.0  # a score whose exp, 5e8, may drown the others


class RoundsLikelihood:
    r"""Rounds that drew cells, or their complements, by scores which differ in few cells.

    With scores :math:`b_q + o_{tq}` of the cells, their negatives for the complements, a round has the mass
    :math:`\sum_q 2 \cosh(b_q + o_{tq})`. Where b is small that is the sum without offsets, which all rounds share, and
    its changes in the cells that have one: a mass is at least twice the number of cells, so the differences are exact
    enough. Where b is large the terms are added up one by one.

    Parameters
    ----------
    cells : int

    Examples
    --------
    >>> rounds = RoundsLikelihood(3)
    >>> rounds.add(np.array([0.0, -1.0, 0.0]), [(2, False)])
    >>> value, slope = rounds.loss(np.zeros(3))
    >>> bool(np.isclose(value, np.log(4 + np.exp(1) + np.exp(-1)))), slope.shape
    (True, (3,))
    """

    def __init__(self, cells: int) -> None:
        self._n_cells = cells
        self._rounds: list[tuple[NDArray[np.int64], Array, list[tuple[int, bool]], float]] = []
        self._terms: _Terms | None = None

    @property
    def n_drawn(self) -> int:
        """Number of queries drawn in all rounds."""
        return sum(len(drawn) for _, _, drawn, _ in self._rounds)

    def add(self, offsets: Array, drawn: Sequence[tuple[int, bool]]) -> None:
        """Keep a round: the offset of each cell, and the cells that were drawn or whose complements were."""
        moved = np.flatnonzero(offsets)
        moved = moved if moved.size else np.zeros(1, np.int64)  # a round has a cell
        fixed = sum((-1.0 if is_complement else 1.0) * float(offsets[cell]) for cell, is_complement in drawn)
        self._rounds.append((moved, offsets[moved], list(drawn), fixed))  # whole, whenever Ctrl-C comes

    @cached_property
    def _whole(self) -> tuple[NDArray[np.int64], Array, NDArray[np.int64]]:
        """Cells and offsets of all rounds, and where a round begins: nothing is added later."""
        cells, offsets, _, _ = zip(*self._rounds, strict=True)
        return np.concatenate(cells), np.concatenate(offsets), np.cumsum([0, *map(len, cells)])

    def _ready(self, base: Array) -> _Terms:
        """Return the terms for the cells that have been large so far, which are few and stay large."""
        is_large = np.abs(base) > _LARGE_SCORE
        if self._terms is None or (is_large & ~self._terms.is_large).any():
            if self._terms is not None:
                is_large |= self._terms.is_large
            self._terms = _Terms(is_large, *self._whole)
        return self._terms

    @cached_property
    def _evidence(self) -> tuple[Array, Array, float]:
        """Numbers of draws of the rounds; draws of each cell less those of its complement; offsets of all rounds."""
        net = np.zeros(self._n_cells)
        for _, _, drawn, _ in self._rounds:
            for cell, is_complement in drawn:
                net[cell] += -1.0 if is_complement else 1.0
        counts = np.array([len(drawn) for _, _, drawn, _ in self._rounds], np.float64)
        return counts, net, sum(fixed for _, _, _, fixed in self._rounds)

    def loss(self, base: Array) -> tuple[float, Array]:
        """Return the negative log-likelihood for the scores without offsets, and its gradient, shape (cells,)."""
        counts, net, fixed = self._evidence
        terms = self._ready(base)
        large, small = terms.large, np.where(terms.is_large, 0.0, base)
        scores = terms.offsets + base[large]
        tops = np.maximum(terms.tops, np.abs(scores).max(axis=1, initial=_LARGE_SCORE))
        scales, shift = np.exp(-tops), np.exp(terms.tops - tops)
        up, down = np.exp(small), np.exp(-small)
        scores_up, scores_down = np.exp(scores - tops[:, None]), np.exp(-scores - tops[:, None])
        mass = scales * float((up + down)[~terms.is_large].sum()) + shift * (terms.up @ up + terms.down @ down)
        mass += (scores_up + scores_down).sum(axis=1)
        weights = counts / mass
        slope: Array = float(weights @ scales) * (up - down) - net
        slope += (weights * shift) @ terms.up * up - (weights * shift) @ terms.down * down
        slope[large] += weights @ (scores_up - scores_down)
        return float(counts @ (tops + np.log(mass)) - net @ base) - fixed, slope


class _Terms:
    """Terms that do not change with the scores, in units of exp(top) of each round.

    Attributes
    ----------
    is_large, large : ndarray
        Cells that are added up one by one.
    offsets : ndarray, shape (rounds, large cells)
    tops : ndarray, shape (rounds,)
        The largest offset of another cell.
    up, down : csr_array, shape (rounds, cells)
        Change that the offset of another cell makes in the exp of its score, and of its complement's.
    """

    def __init__(
        self, is_large: NDArray[np.bool_], cells: NDArray[np.int64], offsets: Array, begins: NDArray[np.int64]
    ) -> None:
        from scipy.sparse import csr_array

        self.is_large, self.large = is_large, np.flatnonzero(is_large)
        are_large, rows = is_large[cells], np.repeat(np.arange(begins.size - 1), np.diff(begins))
        self.offsets = np.zeros((begins.size - 1, self.large.size))
        self.offsets[rows[are_large], np.searchsorted(self.large, cells[are_large])] = offsets[are_large]
        moved = np.where(are_large, 0.0, offsets)
        self.tops = np.maximum.reduceat(np.abs(moved), begins[:-1])
        shift, shape = self.tops[rows], (begins.size - 1, is_large.size)
        none = np.exp(-shift)
        self.up = csr_array((np.exp(moved - shift) - none, cells, begins), shape)
        self.down = csr_array((np.exp(-moved - shift) - none, cells, begins), shape)


class DrawnQueries:
    r"""Cells, or the complements of cells, drawn with probabilities in proportion to exp of a score.

    In round t the score of a query with the answer y (a share of the records) is :math:`s_t (w_t y + o_t)`, o being
    public. With :math:`n_{tq}` the times that it was drawn, the likelihood of shares y is

    .. math:: \prod_t \prod_q \Bigl(\frac{e^{s_t (w_t y_q + o_{tq})}}{\sum_r e^{s_t (w_t y_r + o_{tr})}}\Bigr)^{n_{tq}},

    whose negative logarithm is convex. The share of a complement is 1 - y.

    Parameters
    ----------
    domain : Domain
    cliques : iterable of clique
        Cliques, each in the domain's order.

    Attributes
    ----------
    log : list of dict
        A line for each query drawn.
    records : list of ndarray of int64, shape (records, attributes)
        Records of each round, filled in by the mechanism.
    """

    def __init__(self, domain: Domain, cliques: Iterable[Clique]) -> None:
        self.domain, self.cliques = domain, list(cliques)
        self._starts = np.concatenate([[0], np.cumsum([domain.size(c) for c in self.cliques])])
        self.log: list[dict[str, object]] = []
        self.records: list[NDArray[np.int64]] = []
        self._rounds: dict[float, RoundsLikelihood] = {}
        self._n_rounds = 0

    @property
    def cells(self) -> int:
        """Number of cells of all cliques: half of the queries."""
        return int(self._starts[-1])

    def shares(self, records: NDArray[np.int64]) -> Array:
        """Return the share of some records in each cell."""
        columns = {a: np.ascontiguousarray(records[:, i]) for i, a in enumerate(self.domain)}
        tables = tabulate.count(columns, self.domain, self.cliques, 1)
        return np.concatenate([np.asarray(t, np.float64) for t in tables]) / len(records)

    def split(self, cells: Array) -> list[Array]:
        """Return numbers of all cells as an array for each clique."""
        return np.split(cells, self._starts[1:-1])

    def add(self, rate: float, offsets: Array, drawn: Sequence[Drawn]) -> None:
        """Keep a round: its rate in shares, s w; the offsets s o of the cells' scores; and the drawn queries.

        The score of a complement is that of the share 1 - y with the offset ``-rate - offset`` moved to the same
        constant: the negative of its cell's.
        """
        rounds = self._rounds.get(rate, RoundsLikelihood(self.cells))
        rounds.add(offsets, [(int(self._starts[clique]) + cell, flag) for clique, cell, flag in drawn])
        self._rounds[rate] = rounds
        self._n_rounds += 1
        named = [(self.cliques[clique], cell, is_complement) for clique, cell, is_complement in drawn]
        self.log += [
            {"clique": c, "cell": cell, "complement": flag, "round": self._n_rounds} for c, cell, flag in named
        ]

    def query(self, number: int) -> Drawn:
        """Return the query at a position among all cells, and then all complements."""
        is_complement, flat = divmod(number, self.cells)
        clique = int(np.searchsorted(self._starts, flat, side="right")) - 1
        return clique, flat - int(self._starts[clique]), bool(is_complement)

    def loss(self, marginals: CliqueVector, total: float) -> tuple[float, CliqueVector]:
        """Return the negative log-likelihood of marginals in counts, and its gradient."""
        value, gradient = 0.0, np.zeros(self.cells)
        for rate, rounds in self._rounds.items():
            part, slope = rounds.loss(marginals.values * (rate / total))
            value += part
            gradient += slope * (rate / total)
        return value, marginals.like(gradient)

    def model(
        self, run: Run, records: Dataset, known: Sequence[LinearMeasurement], are_independent: bool
    ) -> GraphicalModel | RegionGraphModel:
        """Return the model of maximum likelihood, found from the model of some records on.

        The records satisfy the drawn queries: a start far nearer to the optimum than the uniform one. If nothing was
        drawn, or there are publicly no records, it is the model of the other public knowledge.
        """
        if not self._rounds or run.total == 0:
            return run.estimate(known)
        total = float(records.project(()).values)
        measured = [_answered(records, c, total, are_independent) for c in self.cliques]
        start = run.fit(measured, part=_START)
        if start.fit is not None and start.fit.status == "interrupted":
            return start
        # The gradient of each draw's term is a difference of means of vectors with one entry of the rate.
        lipschitz = sum(rounds.n_drawn * rate * rate for rate, rounds in self._rounds.items()) / total**2
        loss = Custom(lambda m: self.loss(m, total), self.cliques, lipschitz=max(lipschitz, 1e-300))
        return run.fit_loss(loss, self.cliques, total, start)


class SearchRounds:
    """The rounds of a mechanism that finds records by the queries it draws.

    Attributes
    ----------
    run : Run
    queries : DrawnQueries
    total : float
        Number of records.
    samples : int
        Number of records or queries in each round.
    search : RecordSearch
    records : list of ndarray
        Records of each round, as in `queries`.
    """

    def __init__(self, run: Run, queries: DrawnQueries, total: float, samples: int, search: RecordSearch) -> None:
        self.run, self.queries, self.total = run, queries, total
        self.samples, self.search, self.records = samples, search, queries.records


def _answered(records: Dataset, clique: Clique, total: float, are_independent: bool) -> LinearMeasurement:
    """Return the answers of records, with the mean standard deviation of a cell."""
    counts = records.project(clique).datavector()
    variance = (1 - float(((counts / total) ** 2).sum())) / counts.size if are_independent else 1.0
    variance = max(variance, 1 / records.n_records / counts.size)
    return LinearMeasurement(counts, clique, total * math.sqrt(variance / records.n_records))


def check_options(estimator: Estimator, optimiser: Optimiser, samples: int, options: Options) -> int:
    """Raise where an option of both mechanisms is out of range; return the samples; give an estimate its iterations."""
    for name, value, kinds in (("estimator", estimator, Estimator), ("optimiser", optimiser, Optimiser)):
        check_choice(name, value, get_args(kinds))
    zeros = [c for c in as_constraints(options.get("constraints")) if getattr(c, "kind", "") != "mapping"]
    of_models = options.get("measurements"), zeros, options.get("oracle", "auto") != "auto"
    if estimator == "records" and any(of_models):
        raise ValueError("records rest on the run's own queries: pass no measurements, constraints or oracle")
    options.setdefault("iterations", _ITERATIONS)
    return checked_integer("samples", samples, 1)


def release_of(
    run: Run,
    workload: WorkloadLike | None,
    learn: Learn,
    estimator: Estimator,
    *,
    samples: int,
    are_independent: bool,
    **settings: object,
) -> Release:
    """Return the release of a run: measure the total if it is private, learn, then estimate.

    Ctrl-C during learning, once a query is drawn, keeps the result so far; during the estimate that follows it is
    raised.

    Parameters
    ----------
    run : Run
    workload : Workload, int, str, list of clique or None
        Workload of whole marginals; ``ValueError`` for other queries.
    learn : callable
        Draws queries, which it adds with its records, given the number of records.
    estimator : {"model", "records"}
    samples : int
        Number of samples of a round.
    are_independent : bool
        Whether records are random draws, whose answers deviate as in a sample; else each is a best answer.
    **settings
        Options for the release.
    """
    checked = run.checked_workload(workload)
    if any(query is not None for query in checked.queries):
        raise ValueError("queries are drawn among the cells of whole marginals; the workload asks other queries")
    cliques = list(dict.fromkeys(run.domain.canonical(c) for c in checked if run.domain.size(c) > 1))
    _check_learns(run, cliques, samples)
    if estimator == "model":
        run.check_fits(cliques)
    else:
        run.refuse_constraints("records rest on the run's own queries")
    queries = DrawnQueries(run.domain, cliques)
    total, measured = _measured_total(run)
    ended = _interrupted(learn, queries, total)
    run.close()
    records = _weighted(run.domain, np.concatenate(queries.records), 0.0 if run.total == 0 else total)
    model = (
        WeightedRecords(records) if estimator == "records" else queries.model(run, records, measured, are_independent)
    )
    if ended:
        _mark_interrupted(run, model, len(queries.records))
    settings |= {"workload": workload, "estimator": estimator, "samples": samples}
    return run.release(model, measured, queries.log, **settings)


def _check_learns(run: Run, cliques: Sequence[Clique], samples: int) -> None:
    """Raise `ModelTooLargeError` where the queries, or a round's records, would not fit: before anything is spent."""
    cells, values = sum(map(run.domain.size, cliques)), sum(run.domain.shape)
    most = run.max_bytes
    what = f"{short(2 * cells)} queries on {len(cliques):,} marginals"
    check_fits(_CELL_BYTES * cells, most, what, "pass a workload of fewer or smaller marginals, or max_bytes")
    what = f"{samples:,} samples a round over {short(values)} values"
    check_fits(_VALUE_BYTES * samples * values, most, what, "pass fewer samples, or max_bytes")


def _interrupted(learn: Learn, queries: DrawnQueries, total: float) -> bool:
    """Learn from drawn queries; return whether Ctrl-C ended it, and raise it if no query was drawn."""
    try:
        learn(queries, total)
    except KeyboardInterrupt:
        if not queries.log:
            raise
        warnings.warn(
            f"Ctrl-C ended the mechanism after {len(queries.records)} rounds: its release is the best so far",
            EstimateInterruptedWarning,
            stacklevel=4,
        )
        return True
    return False


def _mark_interrupted(run: Run, model: GraphicalModel | RegionGraphModel | WeightedRecords, rounds: int) -> None:
    """Mark a model as learnt until Ctrl-C; a second one, during its estimate, is raised."""
    if model.fit is None:
        model.fit = Fit("interrupted", math.nan, None, rounds, run.clock.seconds, ())
    elif model.fit.status == "interrupted":
        raise KeyboardInterrupt
    else:
        model.fit = replace(model.fit, status="interrupted")


def _weighted(domain: Domain, records: NDArray[np.int64], total: float) -> Dataset:
    """Return records that represent `total` records, each equally many."""
    columns = {a: np.ascontiguousarray(records[:, i]) for i, a in enumerate(domain)}
    return Dataset(columns, domain, np.full(len(records), total / len(records)))


def _measured_total(run: Run) -> tuple[float, list[LinearMeasurement]]:
    """Return the number of records, at least 1, measured where it is private."""
    if run.total is not None:
        return max(1.0, float(run.total)), []
    table, amount = run.table, run.rho * _TOTAL
    if table.ledger.budget.unit == "epsilon":
        measurement = table.measure_total(scale=table.privacy.records_per_person / amount)
    else:
        measurement = table.measure_total(rho=amount)
    return min(max(1.0, float(measurement.values[0])), _MOST_RECORDS), [measurement]
