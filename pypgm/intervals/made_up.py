"""Made-up tables and the records that would have been released of them."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pypgm import _core
from pypgm._base.ahead import Workers
from pypgm._base.clock import Clock
from pypgm.data import Dataset
from pypgm.models.estimated_again import EstimatedAgain, Simulation, recipe_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.domain import Clique
    from pypgm.intervals.known import ReleaseErrors
    from pypgm.models.model import Model

_GRAIN = 1 << 17  # codes of a made-up table that a second thread is worth: of fewer, most time is Python's own


class MadeUpRelease(NamedTuple):
    """A made-up table, and the records that would have been released of it."""

    released: Dataset
    true: Dataset


class MadeUpTables:
    """Context in which threads estimate from made-up tables, from its beginning; they depend on no statistic.

    The models are kept by the errors of the release, for the next question.

    Parameters
    ----------
    known : ReleaseErrors
        Errors of the release, which has the records that tables are drawn from, with replacement.
    n : int
        Number of tables.
    clock : Clock
        Limits of the call.

    Attributes
    ----------
    workers : Workers
        Threads, for other jobs as well.
    """

    def __init__(self, known: ReleaseErrors, n: int, clock: Clock) -> None:
        self.known, self._n, self._clock = known, n, clock
        self._records = known.records()[0]  # drawn before threads read them
        n_codes = len(self._records) * len(self._records.domain)
        threads = min(clock.n_threads or int(_core.build_info()["threads"]), n_codes // _GRAIN, n)
        self.workers = Workers(max(threads - 1, 0))
        self._within = clock
        if self.workers.n:
            self._within = Clock(time_limit=clock.time_limit, started=clock.started, n_threads=1)
        self._again = EstimatedAgain(known.model, recipe_of(known.model), self._within)
        begun = range(n if self._again.is_paced else 1) if self.workers.n else ()
        self._begun = {i: self.workers.begin(partial(self._estimated, i)) for i in begun if i not in known.estimates}

    @property
    def n_threads(self) -> int:
        """Threads of a step of the calling thread: one while others work as well."""
        return self._within.n_threads

    def releases(self, attributes: Clique) -> Generator[MadeUpRelease, None, None]:
        """Yield made-up tables and their releases with some attributes, fewer when time is up."""
        n = self._n
        made = self.workers.ahead(
            partial(self._made, attributes), n, lambda: self._again.is_paced or len(self.known.estimates) >= n
        )
        try:
            for done in range(n):
                if self._clock.tick(partial("{}/{} made-up tables".format, done, n)):
                    return
                release = next(made)
                if release is None:
                    self._clock.over = True  # though no tick has seen it
                    return
                yield release
        finally:
            made.close()

    def _made(self, attributes: Clique, number: int) -> MadeUpRelease | None:
        """Return a made-up table with its release; None if there is no time."""
        estimate = self.known.estimates.get(number)
        if estimate is None:
            begun = self._begun.get(number)
            estimate = self.workers.result(begun) if begun else self._estimated(number)
        if estimate is None:
            return None
        released = self.known.draw(estimate, None, attributes, np.random.default_rng([0, 4, number]))
        return MadeUpRelease(released, self._records._taken(self._rows(number)[0], attributes))

    def _rows(self, number: int) -> tuple[NDArray[np.intp], np.random.Generator]:
        """Return the records that make up a table, and the source of the noise about it."""
        rng, n = np.random.default_rng([0, 2, number]), len(self._records)
        return rng.integers(0, n, self.known.rows) if n else np.zeros(0, dtype=np.intp), rng

    def _estimated(self, number: int) -> Model[Any] | None:
        """Measure a made-up table, estimate again and keep the model; None if there is no time."""
        model, clock = self.known.model, self._within
        rows, rng = self._rows(number)
        measurements = recipe_of(model).measurements
        scale = max(float(model.total), 0.0) / self.known.rows
        cliques = list(dict.fromkeys(m.clique for m in measurements))
        counts = dict(zip(cliques, self._records._taken(rows).count(cliques, clock.n_threads), strict=True))
        simulation = Simulation(model, [], None, 1, rng, clock, self.known.shared)
        released: Any = self._again(simulation.of_tables(counts[m.clique] * scale for m in measurements))
        if released.fit is not None and released.fit.status == "time":
            return None
        estimate: Model[Any] = self.known.estimates.setdefault(number, released)
        return estimate

    def __enter__(self) -> MadeUpTables:
        return self

    def __exit__(self, *exit_of: object) -> None:
        if self.workers.n:
            self._within.over = True  # which ends estimates that nobody waits for
        self.workers.__exit__(*exit_of)
