"""MWEM: in each round, measure the query that the model answers worst, then re-estimate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, get_args

from pypgm._base.numeric import check_choice, checked_integer, checked_real
from pypgm.data.sources.frames import Frame
from pypgm.domain import Clique
from pypgm.mechanisms.run import Options, Run
from pypgm.mechanisms.tables import of_tables
from pypgm.mechanisms.tree_limit import TREE_BYTES, check_any_fits, check_compared, may_fit, that_fit, warn_left_out
from pypgm.privacy.arguments import as_budget
from pypgm.privacy.noise import laplace_stddev
from pypgm.privacy.private_table import Counts, PrivateTable
from pypgm.privacy.rational import Number
from pypgm.privacy.trusted_query import trusted_on
from pypgm.queries import Identity, LinearQuery, Subset
from pypgm.reconstruction.weights import joined, multiplicative_weights
from pypgm.release import ModelRelease

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from pypgm.domain import Domain
    from pypgm.estimation import LinearMeasurement
    from pypgm.models import GraphicalModel, RegionGraphModel
    from pypgm.privacy.l1_selector import L1Selector
    from pypgm.privacy.selector import StatedSelector
    from pypgm.workloads import Workload, WorkloadLike

Asks = Literal["marginals", "cells"]
Estimator = Literal["model", "weights"]

_TOTAL = Fraction(1, 100)  # of the budget, for a private number of records
_LEAST_NOISE = 1e-100  # least standard deviation in an estimate
_MEASURING = Fraction(9, 10)  # of the cost of a round
_MEASURING_PURE = Fraction(1, 2)  # where noise grows with the steps themselves, not with their root


@of_tables
def mwem(
    data: Counts | PrivateTable | Frame,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    workload: WorkloadLike | None = None,
    asks: Asks = "marginals",
    rounds: int | None = None,
    estimator: Estimator = "model",
    tree_bytes: float = TREE_BYTES,
    **options: Unpack[Options],
) -> ModelRelease:
    r"""Release a model that learns, in rounds of equal cost, the part of a workload that it answers worst.

    A private number of records is measured first. Each round selects, by an exact exponential mechanism,
    the marginal of the workload (or the single count) whose distance from the model most exceeds the error that its
    own noise would leave; measures it; and estimates again. No query is measured twice.

    Parameters
    ----------
    data : Dataset, PrivateTable, or any table with `schema`
        Unweighted records, possibly none; an open table spends all that its ledger has left.
    epsilon, delta : number
        The guarantee; a float means its shortest decimal. Without `delta` it is pure and the noise exact discrete
        Laplace, else exact discrete Gaussian.
    workload : Workload, int, str or list of clique, optional
        Marginals, or sums over groups of their cells, to be answered well; all pairs of attributes by default. Weights
        multiply distances. Public numbers, such as the sum of all cells under "replace", are not measured.
    asks : {"marginals", "cells"}
        Unit of a round: a marginal of the workload with its queries, or one cell of a marginal.
    rounds : int, optional
        At most one for each attribute by default.
    estimator : {"model", "weights"}
        "model" explains all measurements by the graphical model of maximum entropy. "weights" is MWEM as published:
        multiplicative weights on the joint tables of the attributes that were measured together, which must fit.
    tree_bytes : float
        See `aim`: memory limit of the junction tree's tables, or of the largest joint table of "weights", in the last
        round, and in proportion before: larger queries wait, and a marginal whose own table exceeds it is left out,
        with a warning if it is in `workload`. A region graph (``oracle="region_graph"``) has no limit, and its answers
        beyond the measured marginals take all of them into account.
    **options
        See `aim`.

    Returns
    -------
    Release
        Model, measurements in the order they were taken, and ledger; ``release.log`` has a line for each round.

    Raises
    ------
    ValueError
        If the budget is out of range, the records are weighted, the workload is over another domain or has a query
        that is not a sum over cells, an option is out of range, or `measurements`, constraints (a schema's rules too)
        or regions come with "weights".
    ModelTooLargeError
        If the single attributes, or the marginals of all questions together, do not fit in memory, or no marginal in
        `tree_bytes`; then nothing was spent.
    TypeError
        If the budget or the relation is given twice or not at all.

    References
    ----------
    Hardt, Ligett and McSherry 2012, "A Simple and Practical Algorithm for Differentially Private Data Release";
    McKenna, Sheldon and Miklau 2019, "Graphical-model based estimation and inference for differential privacy".

    Examples
    --------
    >>> import pypgm
    >>> domain = pypgm.Domain({"a": 2, "b": 3, "c": 2})
    >>> data = pypgm.Dataset({"a": [0, 1, 1] * 99, "b": [2, 0, 1] * 99, "c": [0] * 297}, domain)
    >>> release = mwem(data, epsilon=5, rounds=2)
    >>> [m.clique for m in release.measurements][0], len(release.log)
    ((), 2)
    """
    for name, value, kinds in (("asks", asks, get_args(Asks)), ("estimator", estimator, get_args(Estimator))):
        check_choice(name, value, kinds)
    if rounds is not None:
        rounds = checked_integer("rounds", rounds, 1)
    tree_bytes = checked_real("tree_bytes", tree_bytes, infinite=True)
    if estimator == "weights" and (options.get("measurements") or options.get("oracle", "auto") != "auto"):
        raise ValueError("multiplicative weights rest on the run's own measurements: pass no measurements or oracle")
    run = Run("mwem", data, epsilon, delta, budget_of=as_budget, auto="exact", **options)
    if estimator == "weights":
        run.refuse_constraints("multiplicative weights take no constraints")
    every = _questions(run, run.checked_workload(workload), asks)
    questions = [q for q in every if may_fit(run, q.clique, tree_bytes)]
    run.check_fits([()])  # the first estimate, of the total alone
    run.check_fits([(a,) for a in run.domain])
    check_compared(run, list({run.domain.canonical(q.clique) for q in questions}))
    search = _Search(run, questions, estimator, tree_bytes)
    check_any_fits(run, [q.clique for q in every], search.open(tree_bytes), tree_bytes)
    warn_left_out(run, workload, tree_bytes)
    search.go(rounds or max(1, len(run.domain)))
    run.close()
    settings = {"workload": workload, "asks": asks, "rounds": rounds, "estimator": estimator, "tree_bytes": tree_bytes}
    return run.release(search.model, search.measured, search.log, **settings)


@dataclass(frozen=True, slots=True)
class _Question:
    """Question of a round: a query on a marginal, all of its cells if there is no query, or one cell."""

    clique: Clique
    weight: Fraction
    query: LinearQuery | None = None
    cell: int | None = None

    def measured(self, domain: Domain) -> LinearQuery | None:
        """Return the query as a measurement takes it."""
        return self.query if self.cell is None else Subset([self.cell], domain.size(self.clique))

    def answers(self, domain: Domain) -> int:
        """Return the number of answers of the query."""
        if self.cell is not None:
            return 1
        return domain.size(self.clique) if self.query is None else self.query.shape[0]

    def answer(self, model: GraphicalModel | RegionGraphModel) -> NDArray[np.float64]:
        """Return the model's answer to the query on the marginal."""
        cells = model.project(self.clique).datavector()
        return cells if self.query is None else self.query.matvec(cells)


def _questions(run: Run, workload: Workload, asks: Asks) -> list[_Question]:
    """Return the questions of a workload; ``ValueError`` for queries that the rounds cannot compare."""
    questions = []
    for clique, query, weight in zip(workload, workload.queries, workload.weights, strict=True):
        if query is not None and (asks == "cells" or not query.has_unit_columns):
            needed = "whole marginals" if asks == "cells" else "cells or sums over groups of cells"
            raise ValueError(f"a round asks for {needed}, got {query!r} on {clique}")
        if asks == "cells":
            questions += [_Question(clique, weight, cell=i) for i in range(run.domain.size(clique))]
        else:
            questions.append(_Question(clique, weight, query))
    if asks == "marginals" and len({run.domain.canonical(q.clique) for q in questions}) < len(questions):
        raise ValueError("the workload names a marginal more than once: pass one query on it")
    return [q for q in questions if run.total is None or _changes(run.domain, q)]


def _changes(domain: Domain, question: _Question) -> bool:
    """Return whether replacing a record can change an answer; it cannot change a sum over all cells."""
    if question.query is None:
        return domain.size(question.clique) > 1
    _, _, query = trusted_on(domain, question.clique, question.query)
    return query.squared_l2_sensitivity("replace") > 0


class _Search:
    """The questions, the measurements so far, and their model."""

    def __init__(self, run: Run, questions: Sequence[_Question], estimator: Estimator, tree_bytes: float) -> None:
        self.run, self.questions, self.estimator, self.tree_bytes = run, questions, estimator, tree_bytes
        self.pure = run.table.ledger.budget.unit == "epsilon"
        self.left = list(range(len(questions)))
        self.measured: list[LinearMeasurement] = []
        self.log: list[dict[str, object]] = []
        self.model: GraphicalModel | RegionGraphModel

    def go(self, rounds: int) -> None:
        """Measure the total if it is private, then take the rounds; each costs an equal part of the rest."""
        n_rounds = min(rounds, len(self.questions))
        self._check_pure(n_rounds)
        if self.run.total is None:
            self.measured.append(self._measure((), None, self.run.rho * _TOTAL))
        self.model = self.run.estimate(self.measured)
        self.selector = self._new_selector() if self.questions else None
        for number in range(n_rounds):
            if self.run.ended(self.model):
                return
            among = self.open(self.tree_bytes * (number + 1) / n_rounds) or self.open(self.tree_bytes)
            if not among:
                self.run.end_where_nothing_fits()
                return
            with self.run.last_that_fits():
                self._round(among, self.run.table.ledger.remaining() / (n_rounds - number))

    def open(self, limit: float) -> list[int]:
        """Return the questions not yet asked that leave the junction tree small."""
        known = [m.clique for m in (*self.run.given, *self.measured)]
        cliques = list(dict.fromkeys(self.questions[i].clique for i in self.left))
        if self.estimator == "weights":
            fit = {
                c for c in cliques if 8 * max(map(self.run.domain.size, joined(self.run.domain, [*known, c]))) <= limit
            }
        else:
            fit = {cliques[i] for i in that_fit(self.run, known, cliques, limit)}
        return [i for i in self.left if self.questions[i].clique in fit]

    def _check_pure(self, rounds: int) -> None:
        """Raise ``ValueError`` where noise of a later step would be none in floating point: before anything is spent.

        Parts left over by selections make the last rounds' larger by less than half.
        """
        dearest = max(_MEASURING_PURE / max(rounds, 1), _TOTAL) * self.run.rho * Fraction(3, 2)
        if self.pure and dearest > 0 and laplace_stddev(1 / dearest) < _LEAST_NOISE:
            raise ValueError(f"noise of scale {float(1 / dearest):.3g} is zero in floating point: epsilon is too large")

    def _round(self, among: list[int], amount: Fraction) -> None:
        measuring = amount * (_MEASURING_PURE if self.pure else _MEASURING)
        chosen = self._select(among, amount - measuring, measuring)
        self.left.remove(chosen)
        question = self.questions[chosen]
        measured = self._measure(question.clique, question.measured(self.run.domain), measuring)
        self.measured.append(measured)
        self.model = self._estimate()
        row: dict[str, object] = {"clique": question.clique, "stddev": measured.stddev, "candidates": len(among)}
        self.log.append(row if question.cell is None else row | {"cell": question.cell})

    def _select(self, among: list[int], amount: Fraction, measuring: Fraction) -> int:
        """Draw the question whose distance most exceeds its noise, times its weight."""
        assert self.selector is not None
        questions = [self.questions[i] for i in among]
        weights = [q.weight for q in questions]
        noise = self._noise(measuring)
        offsets = [-float(q.weight) * noise * q.answers(self.run.domain) for q in questions]
        self.selector.compare(self._compared())
        if self.pure:
            return self.selector.select(among, epsilon=amount, weights=weights, offsets=offsets)
        return self.selector.select(among, rho=amount, weights=weights, offsets=offsets)

    def _new_selector(self) -> L1Selector | StatedSelector:
        table, cliques = self.run.table, [q.clique for q in self.questions]
        if self.questions[0].cell is not None:
            return table.selector(cliques, self._compared(), sensitivity=1)
        queries = {q.clique: q.query for q in self.questions}
        return table.l1_selector(cliques, self._compared(), queries.__getitem__)

    def _compared(self) -> Callable[..., Any]:
        """Return the terms of the comparison with the present model: its answers, or the error of each cell."""
        if self.questions[0].cell is None:
            of = {q.clique: q for q in self.questions}
            return lambda clique: of[clique].answer(self.model)
        tables = {c: self.model.project(c).datavector() for c in {q.clique for q in self.questions}}
        cells = [int(q.cell or 0) for q in self.questions]
        expected = [round(float(tables[q.clique][cell])) for q, cell in zip(self.questions, cells, strict=True)]
        return lambda number, counts: abs(int(counts[cells[number]]) - expected[number])

    def _measure(self, clique: Clique, query: LinearQuery | None, amount: Fraction) -> LinearMeasurement:
        table = self.run.table
        linear_query = Identity(table.domain.size(clique)) if query is None else query
        if self.pure:
            return table.measure(clique, query, scale=table.privacy.l1_sensitivity(linear_query) / amount)
        return table.measure(clique, query, rho=amount)

    def _noise(self, amount: Fraction) -> float:
        """Return the mean absolute noise of an answer."""
        privacy = self.run.table.privacy
        if self.pure:
            return float(privacy.l1_sensitivity(Identity(2)) / amount)
        return math.sqrt(2 / math.pi) * self.run.stddev(amount)

    def _estimate(self) -> GraphicalModel | RegionGraphModel:
        if self.estimator == "model":
            return self.run.estimate(self.measured)
        limit = self.run.clock.time_limit
        left = None if limit is None else max(limit - self.run.clock.seconds, 1e-9)
        return multiplicative_weights(self.run.domain, self.measured, self.model.total, time_limit=left)
