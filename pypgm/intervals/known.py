"""What a release tells of its own errors, made once and kept: records of its model, made-up tables, left-out pairs."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property, partial
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pypgm.data import Dataset
from pypgm.estimation.total import estimate_total
from pypgm.intervals.left_out import LeftOut
from pypgm.intervals.truths import Truths
from pypgm.models.estimated_again import Simulation, estimated_again, recipe_of

if TYPE_CHECKING:
    from pypgm.clock import Clock
    from pypgm.estimation.measurement import LinearMeasurement, Unmeasured
    from pypgm.models.model import Model

    Draw = Callable[[Model[Any], "int | None", np.random.Generator], Dataset]

_NORMAL = NormalDist()
_POOL = 3  # times as many records of the model as it has are weighted
_MOST = 3 * 10**6  # of them at most
_EFFECTS: dict[Unmeasured, float] = {  # those of unmeasured pairs, as a part of the effects in measured ones
    "hidden by noise": 0.25,
    "not asked": 0.5,  # a tree or a number of rounds had no place for them
}


class World(NamedTuple):
    """The records that would have been released of a made-up table, and the table."""

    released: Dataset
    true: Dataset


class Known:
    """What a release tells of its own errors.

    All of it follows from the released answers. What is random has seeds of its own, so that it is the same for every
    question, whatever was asked before.

    Parameters
    ----------
    model : Model
        Of the release.
    unmeasured : {"hidden by noise", "not asked"}
        Why the mechanism left out the pairs that it did not measure.
    ordinal : collection of str
        Attributes whose neighbouring codes are alike.
    draw : callable
        Draws records of a model that keep the rules of the table.
    answers : sequence of LinearMeasurement
        All that were released: the model may rest on sums of them alone.
    """

    def __init__(
        self,
        model: Model[Any],
        unmeasured: Unmeasured,
        ordinal: Collection[str],
        draw: Draw,
        answers: Sequence[LinearMeasurement],
    ) -> None:
        recipe_of(model)  # else its errors are not known
        self.model, self._ordinal, self._draw, self._answers = model, ordinal, draw, answers
        self._unmeasured = _EFFECTS[unmeasured]
        self.rows = max(1, round(model.total))
        self._pool: Dataset | None = None
        self._left_out: LeftOut | None = None
        self._worlds: list[World] = []

    @property
    def pool(self) -> Dataset:
        """Records of the model."""
        if self._pool is None:
            rows = min(_POOL * self.rows, max(self.rows, _MOST))
            self._pool = self._draw(self.model, rows, np.random.default_rng([0, 1]))
        return self._pool

    @property
    def total_stddev(self) -> float:
        """That of the number of records: a model may follow denoised answers, which have less noise."""
        return math.sqrt(max(self._variances_of_total))

    @property
    def shared(self) -> float:
        """The standard deviation of an error of the total that answers the model follows have beside their noise."""
        by_released, by_followed = self._variances_of_total
        return math.sqrt(max(by_released - by_followed, 0.0))

    @cached_property
    def _variances_of_total(self) -> tuple[float, float]:
        """Those of the number of records, by the released answers and by those that the model follows."""
        recipe = recipe_of(self.model)
        if recipe.total_is_known:
            return 0.0, 0.0
        by_released = by_followed = estimate_total(self.model.domain, recipe.measurements)[1]
        with contextlib.suppress(ValueError):  # a release need not hold what its model rests on
            by_released = estimate_total(self.model.domain, self._answers)[1]
        return by_released, by_followed

    def truths(self, attributes: Collection[str], n: int, clock: Clock) -> Truths:
        """Return what draws so many true tables of some attributes and of what they follow from."""
        if self._left_out is None:
            self._left_out = LeftOut(self.model, self._ordinal, clock.n_threads, self._answers)
        inner = self.model.folding.inner.canonical(self.model.folding.clique(tuple(attributes)))
        # A few independent draws may all happen to be near the middle, for each question alike: they are spread evenly.
        scores = np.array([_NORMAL.inv_cdf((i + 0.5) / n) for i in np.random.default_rng([0, 3]).permutation(n)])
        scores /= max(float(np.sqrt(np.mean(np.square(scores)))), 1e-300)
        rows = np.maximum(1.0, self.rows + self.total_stddev * scores)
        return Truths(self._left_out, inner, self.pool, rows, self._unmeasured)

    def worlds(self, n: int, clock: Clock) -> Iterator[World]:
        """Yield made-up tables and their releases, fewer where the time is over; those that were made are kept."""
        again, done = estimated_again(self.model, recipe_of(self.model), clock), 0
        while done < n and not clock.tick(partial("{}/{} made-up tables".format, done, n)):
            if done == len(self._worlds):
                made = self._made(again, np.random.default_rng([0, 2, done]), clock)
                if made is None:
                    clock.over = True  # though no tick has seen it
                    return
                self._worlds.append(made)
            yield self._worlds[done]
            done += 1

    def _made(self, again: Callable[[Sequence[Any]], Any], rng: np.random.Generator, clock: Clock) -> World | None:
        """Draw a table with replacement from the pool, measure it and estimate again; None if there is no time."""
        model, measurements = self.model, recipe_of(self.model).measurements
        chosen = rng.integers(0, len(self.pool), self.rows) if len(self.pool) else np.zeros(0, dtype=np.intp)
        true = Dataset({a: np.asarray(c)[chosen] for a, c in self.pool.columns.items()}, model.domain)
        scale = max(float(model.total), 0.0) / self.rows
        counts = true.count([m.clique for m in measurements], clock.n_threads)
        asked = Simulation(model, [], None, 1, rng, clock, self.shared)
        released = again(asked.of_tables(c * scale for c in counts))
        if released.fit is not None and released.fit.status == "time":
            return None
        return World(self._draw(released, None, rng), true)
