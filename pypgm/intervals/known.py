"""Errors of a release by its own answers, computed once: records of the model, made-up tables, left-out pairs."""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
import time
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pypgm import _core
from pypgm._base.ahead import ahead
from pypgm._base.clock import Clock
from pypgm.data import Dataset
from pypgm.estimation.pair_screen import PairScreen, farthest
from pypgm.estimation.total import estimate_total
from pypgm.intervals.left_out import CrossValidatedPairs
from pypgm.intervals.truths import TrueTables
from pypgm.models.estimated_again import EstimatedAgain, Simulation, recipe_of

if TYPE_CHECKING:
    from pypgm.domain import Clique
    from pypgm.estimation.measurement import LinearMeasurement, Unmeasured
    from pypgm.models.model import Model

    Draw = Callable[[Model[Any], "int | None", "Clique | None", np.random.Generator], Dataset]

_GRAIN = 1 << 17  # codes of a made-up table that a second thread is worth: of fewer, most time is Python's own
_TIMES = 3  # records of the model that are weighted, for each record that it has
_MAX_POOL = 3 * 10**6  # at most
_EFFECTS: dict[Unmeasured, float] = {  # ratio of effect sizes: unmeasured pairs relative to measured ones
    "hidden by noise": 0.25,
    "not asked": 0.5,  # the tree or the rounds of the mechanism had no place for them
}


class MadeUpRelease(NamedTuple):
    """A made-up table, and the records that would have been released of it."""

    released: Dataset
    true: Dataset


class ReleaseErrors:
    """Errors of a release, as far as its own answers determine them.

    All draws have their own seeds, so that they are the same for every question, whatever came before.

    Parameters
    ----------
    model : Model
        Model of the release.
    unmeasured : {"hidden by noise", "not asked"}
        Reason why the mechanism left out the pairs that it did not measure.
    ordinal : collection of str
        Attributes whose neighbouring codes are alike.
    draw : callable
        Draws records of a model, with some of its attributes or all, that keep the rules of the table.
    by_rules : bool
        Whether rules relate attributes, so that records are drawn with all.
    answers : sequence of LinearMeasurement
        All released answers; the model may rest only on sums of them.
    screen : PairScreen, optional
        Noisy distances of pairs from independence.
    """

    def __init__(
        self,
        model: Model[Any],
        unmeasured: Unmeasured,
        ordinal: Collection[str],
        draw: Draw,
        answers: Sequence[LinearMeasurement],
        *,
        by_rules: bool,
        screen: PairScreen | None = None,
    ) -> None:
        recipe_of(model)  # raises where the errors are unknown
        self.model, self._ordinal, self._draw, self._answers = model, ordinal, draw, answers
        self._by_rules = by_rules
        self._unmeasured, self._screen = _EFFECTS[unmeasured], screen
        self._farthest: dict[Clique, float] = {}
        self.rows = max(1, round(model.total))
        self._left_out: CrossValidatedPairs | None = None
        self._estimates: dict[int, Model[Any]] = {}  # of made-up tables, by their numbers

    def records(self) -> tuple[Dataset, np.random.Generator]:
        """Return the records that statistics are computed on, and the source of what is drawn for them next.

        Made-up tables are drawn from them with replacement.
        """
        records, source = self._records
        return records, copy.deepcopy(source)

    @cached_property
    def _records(self) -> tuple[Dataset, np.random.Generator]:
        source = np.random.default_rng(0)
        return self._draw(self.model, None, None, source), source

    def _weighted(self, attributes: Clique | None) -> Dataset:
        """Return the records of the model that are weighted, with some attributes or all; those are kept."""
        if attributes is None or self._by_rules or len(attributes) == len(self.model.domain):
            return self._all_weighted
        return self._draw(self.model, self._n_weighted, attributes, np.random.default_rng([0, 1]))

    @cached_property
    def _all_weighted(self) -> Dataset:
        return self._draw(self.model, self._n_weighted, None, np.random.default_rng([0, 1]))

    @property
    def _n_weighted(self) -> int:
        return min(_TIMES * self.rows, max(self.rows, _MAX_POOL))

    @property
    def total_stddev(self) -> float:
        """Standard deviation of the number of records. Models fitted to denoised answers have a smaller one."""
        return math.sqrt(max(self._variances_of_total))

    @property
    def shared(self) -> float:
        """Standard deviation of the error of the total in denoised answers, beside their noise."""
        by_released, by_followed = self._variances_of_total
        return math.sqrt(max(by_released - by_followed, 0.0))

    @cached_property
    def _variances_of_total(self) -> tuple[float, float]:
        """Variances of the number of records, by the released answers and by those that the model was fitted to."""
        recipe = recipe_of(self.model)
        if recipe.total_is_known:
            return 0.0, 0.0
        by_released = by_followed = estimate_total(self.model.domain, recipe.measurements)[1]
        with contextlib.suppress(ValueError):  # a release need not hold the answers of its model
            by_released = estimate_total(self.model.domain, self._answers)[1]
        return by_released, by_followed

    @cached_property
    def _dependence(self) -> dict[frozenset[str], float]:
        """Total variation of pairs from independence."""
        return {} if self._screen is None else self._screen.dependence()

    def informed(self, simulation: Simulation) -> Simulation:
        """Return a simulation with what this release knows beside its model."""
        return replace(simulation, shared=self.shared, dependence=self._dependence)

    def truths(
        self, attributes: Collection[str], n: int, clock: Clock, others: Collection[str] | None = None
    ) -> TrueTables:
        """Return a sampler of `n` true tables of some attributes, and of those that they are functions of.

        Its records have some others as well, by default all.
        """
        from statistics import NormalDist  # takes a while

        if self._left_out is None:
            self._left_out = CrossValidatedPairs(self.model, self._ordinal, clock.n_threads, self._answers)
        inner = self.model.folding.inner.canonical(self.model.folding.clique(tuple(attributes)))
        # A few independent draws may all be near the middle, the same for each question: they are spread evenly.
        normal = NormalDist()
        scores = np.array([normal.inv_cdf((i + 0.5) / n) for i in np.random.default_rng([0, 3]).permutation(n)])
        scores /= max(float(np.sqrt(np.mean(np.square(scores)))), 1e-300)
        rows = np.maximum(1.0, self.rows + self.total_stddev * scores)
        left_out = self._left_out
        far = self._far([p for p in itertools.combinations(inner, 2) if p not in left_out.pairs], clock)
        held = None if others is None else self.model.domain.canonical({*inner, *others})
        return TrueTables(left_out, inner, self._weighted(held), rows, self._unmeasured, farthest=far)

    def _far(self, pairs: Collection[Clique], clock: Clock) -> Mapping[Clique, float]:
        """Return how far a screen leaves the true tables of pairs from the model, in total variation."""
        new = [p for p in pairs if p not in self._farthest and frozenset(p) in self._dependence]
        for pair, table in zip(new, self.model.project_many(new, n_threads=clock.n_threads), strict=True):
            self._farthest[pair] = farthest(self._dependence, table)
        return self._farthest

    def threads(self, clock: Clock, n: int) -> int:
        """Return how many threads are to make n tables: none where Python alone takes most of the time."""
        n_codes = len(self._records[0]) * len(self.model.domain)  # drawn before threads read them
        threads = min(clock.n_threads or int(_core.build_info()["threads"]), n_codes // _GRAIN, n)
        return threads if threads > 1 else 0

    def worlds(self, attributes: Clique, n: int, clock: Clock) -> Generator[MadeUpRelease, None, None]:
        """Yield made-up tables and their releases with some attributes, fewer when time is up.

        The models estimated from the tables are kept for the next question. Threads make several tables at once.
        """
        threads, inner = self.threads(clock, n), clock
        if threads:  # clocks of its thread have not stood still
            inner = Clock(time_limit=clock.time_limit, started=time.perf_counter() - clock.seconds, n_threads=1)
        again = EstimatedAgain(self.model, recipe_of(self.model), inner)
        job = partial(self._world, again, attributes, inner)
        made = ahead(job, n, threads, lambda: again.is_paced or len(self._estimates) >= n)
        try:
            for done in range(n):
                if clock.tick(partial("{}/{} made-up tables".format, done, n)):
                    return
                estimate, world = next(made)
                if estimate is None or world is None:
                    clock.over = True  # though no tick has seen it
                    return
                self._estimates.setdefault(done, estimate)
                yield world
        finally:
            inner.over = inner.over or threads > 0  # which ends estimates that nobody waits for
            made.close()

    def _world(
        self, again: EstimatedAgain, attributes: Clique, clock: Clock, done: int
    ) -> tuple[Model[Any] | None, MadeUpRelease | None]:
        """Return the model of a made-up table, and the table with its release; None if there is no time."""
        rng, records = np.random.default_rng([0, 2, done]), self._records[0]
        rows = rng.integers(0, len(records), self.rows) if len(records) else np.zeros(0, dtype=np.intp)
        estimate = self._estimates.get(done) or self._estimated(again, records._taken(rows), rng, clock)
        if estimate is None:
            return None, None
        released = self._draw(estimate, None, attributes, np.random.default_rng([0, 4, done]))
        return estimate, MadeUpRelease(released, records._taken(rows, attributes))

    def _estimated(
        self, again: EstimatedAgain, true: Dataset, rng: np.random.Generator, clock: Clock
    ) -> Model[Any] | None:
        """Measure a made-up table and estimate again; None if there is no time."""
        model, measurements = self.model, recipe_of(self.model).measurements
        scale = max(float(model.total), 0.0) / self.rows
        cliques = list(dict.fromkeys(m.clique for m in measurements))
        counts = dict(zip(cliques, true.count(cliques, clock.n_threads), strict=True))
        simulation = Simulation(model, [], None, 1, rng, clock, self.shared)
        released: Any = again(simulation.of_tables(counts[m.clique] * scale for m in measurements))
        return None if released.fit is not None and released.fit.status == "time" else released
