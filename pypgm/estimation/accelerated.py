"""Accelerated mirror descent with a measured step, ended where the measurements say that noise begins to be fitted."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from pypgm import _core
from pypgm.clique_vector import CliqueVector
from pypgm.estimation.compiled import Compiled, compiled_measurements, safe_step
from pypgm.estimation.fit import Fit, Options, Status, Watch

if TYPE_CHECKING:
    from pypgm.estimation.measurement import LinearMeasurement
    from pypgm.graphs import JunctionTree

__all__ = ["accelerated"]

_GAP_EVERY = 50  # iterations between certificates and between looks at a restart
_CAUTION = 0.9  # of the step the last move would have permitted
_GROWTH = 1.2
_MAX_GROWTH = 1000.0  # of the step over the safe one
_PATIENCE = 0.25  # of the iterations so far, without a better validation
_MIN_PATIENCE = 10
_THINNING = 0.5  # how the noise is shared between what is fitted and what validates
_LEAST_TO_VALIDATE = 4  # oracle calls: a start and a step of each path
_SWEEPS = 10  # of proportional fitting: the marginals then miss the average by less than 1e-5 a clique


def accelerated(
    tree: JunctionTree,
    measurements: Sequence[LinearMeasurement],
    total: float,
    start: CliqueVector,
    options: Options,
    *,
    stop: Literal["validated", "optimum"],
    rng: np.random.Generator,
) -> tuple[CliqueVector, CliqueVector, Fit]:
    r"""Minimise :math:`L(\mu) = \frac12 \sum w (Q\mu - y)^2` over the marginals of distributions on a domain.

    The answer is an average of marginals along the path, to which potentials are fitted at the end. With
    ``stop="validated"`` the path is first run on measurements to which further noise was added, and compared with
    independent ones that noise taken away leaves; it then runs on the measurements themselves for as many
    iterations as were best.

    Parameters
    ----------
    tree : JunctionTree
        Built for the distinct cliques of the measurements.
    measurements : sequence of LinearMeasurement
        Each on one of those cliques.
    total : float
        Number of records, counts.
    start : CliqueVector
        Potentials to start from, natural logs; -inf entries are structural zeros and stay.
    options : Options
        Limits, tolerance, callback, and when the work began.
    stop : {"validated", "optimum"}
        Where to end.
    rng : Generator
        Source of the noise that thins the measurements.

    Returns
    -------
    potentials, marginals : CliqueVector
        Natural logs, and counts.
    fit : Fit
        How it ended.

    References
    ----------
    Auslender and Teboulle: Interior gradient and proximal methods for convex and conic optimization, 2006 (the
    path); Oliveira, Lei, Tibshirani: Unbiased risk estimation via coupled bootstrap, 2021, and Neufeld, Dharamshi,
    Gao, Witten: Data thinning for convolution-closed distributions, 2024 (the stop).
    """
    watch = Watch(options)
    step = safe_step(measurements, total)
    whole = compiled_measurements(tree, measurements)

    def path(arrays: list[Compiled], calls: int) -> _Path:
        core = _core.Acceleration(tree.plan, arrays, total, start.values, options.n_threads)
        return _Path(core, step, options, watch, calls)

    try:
        if stop == "optimum" or options.iterations < _LEAST_TO_VALIDATE:
            run = path(whole, 0)
            status = run.follow(options.iterations - 1, to_tolerance=True) or "iterations"
        else:
            run = path(_thinned(whole, rng), 0)
            status, best = run.validate(options.iterations // 2)
            if status == "converged":
                # Noise too small to be fitted: the tolerance is where the measurements themselves end.
                run = path(whole, run.calls)
                status = run.follow(options.iterations - run.calls, to_tolerance=True) or "iterations"
            elif status in {"validated", "iterations"}:
                run = path(whole, run.calls)
                status = run.follow(min(best, options.iterations - run.calls)) or status
    finally:
        watch.close()
    run.core.settle(_SWEEPS)
    # The loss and its bound are those of the answer itself, whatever the path ran on.
    answer = _core.Descent(tree.plan, whole, total, run.core.potentials, options.n_threads)
    seconds = time.perf_counter() - options.started
    fit = Fit(status, answer.loss, answer.gap(), run.calls, seconds, tuple(run.history))
    return (
        CliqueVector(start.domain, start.cliques, answer.potentials),
        CliqueVector(start.domain, start.cliques, answer.marginals),
        fit,
    )


def _thinned(arrays: Sequence[Compiled], rng: np.random.Generator) -> list[Compiled]:
    """Split each answer y, of variance v, into y + c xi to fit and y - xi / c to validate, where xi ~ Normal(0, v).

    The two have the same mean; for Gaussian noise they are independent, for any noise of that variance uncorrelated.
    """
    thinned = []
    for clique, rows, values, weights, _ in arrays:
        noise = rng.normal(0.0, 1.0 / np.sqrt(weights))
        thinned.append((clique, rows, values + _THINNING * noise, weights, values - noise / _THINNING))
    return thinned


class _Path:
    """The iterates of accelerated mirror descent; how far a step goes follows from what the last one met."""

    def __init__(self, core: _core.Acceleration, safe: float, options: Options, watch: Watch, calls: int) -> None:
        self.core = core
        self.calls = calls + 1
        self.history = [core.loss()]
        self._safe = safe
        self._step = safe
        self._weight = 0.0
        self._taken = 0
        self._gap: float | None = None
        self._options = options
        self._watch = watch

    def validate(self, limit: int) -> tuple[Status, int]:
        """Run until the held-out loss has not fallen for a while; return why it ended and the best iteration.

        Only a loss that goes on falling says that noise is fitted: where both have risen the path has overshot, and
        will come back.
        """
        best, best_loss, fitted_at_best = 1, math.inf, math.inf
        try:
            while self.calls < limit:
                if self._is_optimal():
                    return "converged", best
                held_out = self._advance()
                if held_out < best_loss:
                    best, best_loss, fitted_at_best = self._taken, held_out, self.history[-1]
                idle = self._taken - best
                if idle >= max(_MIN_PATIENCE, _PATIENCE * self._taken) and self.history[-1] < fitted_at_best:
                    return "validated", best
                ended = self._watched()
                if ended is not None:
                    return ended, best
        except KeyboardInterrupt:
            return "interrupted", best
        return "iterations", best

    def follow(self, steps: int, *, to_tolerance: bool = False) -> Status | None:
        """Take some steps; return why it ended before, None if it did not."""
        try:
            for _ in range(steps):
                if to_tolerance and self._is_optimal():
                    return "converged"
                self._advance()
                ended = self._watched()
                if ended is not None:
                    return ended
        except KeyboardInterrupt:
            return "interrupted"
        return None

    def _advance(self) -> float:
        """Take one step; return the held-out loss."""
        alpha = self._step
        s = (alpha + math.sqrt(alpha * alpha + 4 * alpha * self._weight)) / 2
        a = s / (self._weight + s)
        self._weight += s
        loss, held_out, slope, curvature = self.core.advance(s, a)
        self.calls += 1
        self._taken += 1
        self.history.append(loss)
        permitted = -s * slope / curvature if curvature > 0 else alpha
        longest = min(_GROWTH * alpha, _MAX_GROWTH * self._safe)
        self._step = min(max(_CAUTION * permitted, self._safe), longest)
        if self._taken % _GAP_EVERY == 0 and self.core.restart():
            self._weight = 0.0
        return held_out

    def _is_optimal(self) -> bool:
        tolerance = self._options.tolerance
        if tolerance == 0 or self._taken % _GAP_EVERY:
            return False
        self._gap = self.core.gap()
        return self._gap <= tolerance * (1 + abs(self.core.loss()))

    def _watched(self) -> Status | None:
        return self._watch.ended(self.calls, self.history[-1], self._gap)
