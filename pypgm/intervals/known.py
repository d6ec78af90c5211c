"""Errors of a release by its own answers, computed once: records of the model, left-out pairs, drawn tables."""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pypgm._base.ahead import Workers
from pypgm.estimation.pair_screen import PairScreen, farthest
from pypgm.estimation.total import estimate_total
from pypgm.intervals.left_out import CrossValidatedPairs
from pypgm.intervals.truths import TrueTables
from pypgm.models.estimated_again import Simulation, recipe_of

if TYPE_CHECKING:
    from pypgm.data import Dataset
    from pypgm.domain import Clique
    from pypgm.estimation.measurement import LinearMeasurement, Unmeasured
    from pypgm.models.model import Model

    Draw = Callable[[Model[Any], "int | None", "Clique | None", np.random.Generator], Dataset]

_TIMES = 3  # records of the model that are weighted, for each record that it has
_MAX_POOL = 3 * 10**6  # at most
_EFFECTS: dict[Unmeasured, float] = {  # ratio of effect sizes: unmeasured pairs relative to measured ones
    "hidden by noise": 0.25,
    "not asked": 0.5,  # the tree or the rounds of the mechanism had no place for them
}


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
        self.model, self._ordinal, self.draw, self._answers = model, ordinal, draw, answers
        self._by_rules = by_rules
        self._unmeasured, self._screen = _EFFECTS[unmeasured], screen
        self._farthest: dict[Clique, float] = {}
        self.rows = max(1, round(model.total))
        self._left_out: CrossValidatedPairs | None = None
        self.estimates: dict[int, Model[Any]] = {}  # of made-up tables, by their numbers

    def records(self) -> tuple[Dataset, np.random.Generator]:
        """Return the records that statistics are computed on, and the source of what is drawn for them next.

        Made-up tables are drawn from them with replacement.
        """
        records, source = self._records
        return records, copy.deepcopy(source)

    @cached_property
    def _records(self) -> tuple[Dataset, np.random.Generator]:
        source = np.random.default_rng(0)
        return self.draw(self.model, None, None, source), source

    def _weighted(self, attributes: Clique | None) -> Dataset:
        """Return the records of the model that are weighted, with some attributes or all; those are kept."""
        if attributes is None or self._by_rules or len(attributes) == len(self.model.domain):
            return self._all_weighted
        return self.draw(self.model, self._n_weighted, attributes, np.random.default_rng([0, 1]))

    @cached_property
    def _all_weighted(self) -> Dataset:
        return self.draw(self.model, self._n_weighted, None, np.random.default_rng([0, 1]))

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
        self,
        attributes: Collection[str],
        n: int,
        n_threads: int,
        others: Collection[str] | None = None,
        workers: Workers | None = None,
    ) -> TrueTables:
        """Return a sampler of `n` true tables of some attributes, and of those that they are functions of.

        Its records have some others as well, by default all. Other threads, if there are any, help to set it up.
        """
        from statistics import NormalDist  # takes a while

        if self._left_out is None:
            self._left_out = CrossValidatedPairs(self.model, self._ordinal, n_threads, self._answers)
        inner = self.model.folding.inner.canonical(self.model.folding.clique(tuple(attributes)))
        # A few independent draws may all be near the middle, the same for each question: they are spread evenly.
        normal = NormalDist()
        scores = np.array([normal.inv_cdf((i + 0.5) / n) for i in np.random.default_rng([0, 3]).permutation(n)])
        scores /= max(float(np.sqrt(np.mean(np.square(scores)))), 1e-300)
        rows = np.maximum(1.0, self.rows + self.total_stddev * scores)
        left_out, workers = self._left_out, workers or Workers()
        held = None if others is None else self.model.domain.canonical({*inner, *others})
        weighted = workers.begin(partial(self._weighted, held))  # by a thread while this one predicts
        pairs = list(itertools.combinations(inner, 2))
        if pairs:
            left_out.predict(workers)
        far = self._far([p for p in pairs if p not in left_out.pairs], n_threads)
        left_out.prepare(inner, rows, workers)
        return TrueTables(left_out, inner, workers.result(weighted), rows, self._unmeasured, farthest=far)

    def _far(self, pairs: Collection[Clique], n_threads: int) -> Mapping[Clique, float]:
        """Return how far a screen leaves the true tables of pairs from the model, in total variation."""
        new = [p for p in pairs if p not in self._farthest and frozenset(p) in self._dependence]
        for pair, table in zip(new, self.model.project_many(new, n_threads=n_threads), strict=True):
            self._farthest[pair] = farthest(self._dependence, table)
        return self._farthest
