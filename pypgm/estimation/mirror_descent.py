"""Mirror descent on the marginal polytope, with a line search that needs no step size and a certificate."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pypgm import _core
from pypgm.clique_vector import CliqueVector
from pypgm.estimation.compiled import compiled_measurements, safe_step
from pypgm.estimation.fit import Fit, Options, Status, StepSize, Watch

if TYPE_CHECKING:
    from pypgm.estimation.measurement import LinearMeasurement
    from pypgm.graphs import JunctionTree

__all__ = ["mirror_descent"]

_GAP_EVERY = 10  # iterations between certificates: each costs half a propagation
_MAX_HALVINGS = 30
_MAX_IDLE = 20  # steps without descent after which rounding must be what hides it
_GROWTH = 1.5
_MAX_GROWTH = 1000.0  # of the step over the safe one


def mirror_descent(
    tree: JunctionTree,
    measurements: Sequence[LinearMeasurement],
    total: float,
    start: CliqueVector,
    options: Options,
) -> tuple[CliqueVector, CliqueVector, Fit]:
    r"""Minimise :math:`L(\mu) = \frac12 \sum w (Q\mu - y)^2` over the marginals of distributions on a domain.

    The step :math:`\theta \leftarrow \theta - \alpha \nabla L(\mu)` is accepted if the loss falls at least as the
    Bregman model of smoothness :math:`1/\alpha` says, with the symmetric divergence; a rejected step is halved, an
    accepted one grows.

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
        Limits, tolerance, step size, callback, and when the work began.

    Returns
    -------
    potentials, marginals : CliqueVector
        The best point found: natural logs, and counts.
    fit : Fit
        How it ended.

    References
    ----------
    McKenna, Sheldon, Miklau: Graphical-model based estimation and inference for differential privacy, ICML 2019,
    Algorithm 1; Bauschke, Bolte, Teboulle: A descent lemma beyond Lipschitz gradient continuity, 2017.
    """
    problem = tree.plan, compiled_measurements(tree, measurements), total, start.values
    core: _core.Descent | _core.SteadyDescent
    if options.stepsize is None:
        core = _core.Descent(*problem, options.n_threads)
    else:
        core = _core.SteadyDescent(*problem, _step(options.stepsize, 1), options.n_threads)
    run = _Run(core, total, safe_step(measurements, total), options)
    status = run.to_the_end()
    potentials, marginals = core.potentials, core.marginals
    fit = Fit(status, core.loss, run.gap, run.calls, time.perf_counter() - options.started, tuple(run.history))
    return (
        CliqueVector(start.domain, start.cliques, potentials),
        CliqueVector(start.domain, start.cliques, marginals),
        fit,
    )


def _step(stepsize: StepSize, number: int) -> float:
    """Return the length of the step of that number, from 1."""
    alpha = stepsize(number) if callable(stepsize) else stepsize
    if alpha is None or not 0 < alpha < math.inf:
        raise ValueError(f"stepsize needs to be positive and finite, got {alpha} for step {number}")
    return alpha


class _Run:
    """One descent and where it stands; the core keeps the best point."""

    def __init__(self, core: _core.Descent | _core.SteadyDescent, total: float, safe: float, options: Options) -> None:
        self.core = core
        self.total = total
        self.options = options
        self.safe_step = safe
        self.step = 2 * safe
        self.calls = 1
        self.steps = 0
        self.idle = 0
        self.gap: float | None = None
        self.loss = core.loss
        self.lowest = core.loss
        self.history = [core.loss]

    def to_the_end(self) -> Status:
        watch = Watch(self.options)
        try:
            status = self._loop(watch)
        except KeyboardInterrupt:
            status = "interrupted"
        finally:
            watch.close()
        if self.options.tolerance == 0 or self.gap is None:
            self.gap = self.core.gap()
        return status

    def _loop(self, watch: Watch) -> Status:
        options = self.options
        while self.calls < options.iterations:
            if options.tolerance > 0 and self.steps % _GAP_EVERY == 0:
                self.gap = self.core.gap()
                if self.gap <= options.tolerance * (1 + abs(self.core.loss)):
                    return "converged"
            if not self._advance():
                self.gap = self.core.gap()
                return "converged"
            ended = watch.ended(self.calls, self.loss, self.gap)
            if ended is not None:
                return ended
        return "iterations"

    def _advance(self) -> bool:
        """Take one step; return whether there may be more to gain."""
        if isinstance(self.core, _core.SteadyDescent):
            found = True
            # The core is told the step after the one it takes.
            self.loss = self.core.advance(_step(self.options.stepsize, self.steps + 2))
            self.calls += 1
        else:
            found = self._search(self.core)
            self.loss = self.core.loss
        self.steps += 1
        self.idle = 0 if self.loss < self.lowest else self.idle + 1
        self.lowest = min(self.lowest, self.loss)
        self.history.append(self.loss)
        exhausted = not found or (self.idle >= _MAX_IDLE and self.options.stepsize is None)
        # A tolerance of 0 runs all iterations, whatever rounding leaves of them.
        return not exhausted or self.options.tolerance == 0

    def _search(self, core: _core.Descent) -> bool:
        for _ in range(_MAX_HALVINGS):
            core.try_step(self.step)
            self.calls += 1
            slope, curvature = core.change()
            # The Bregman model of this step allows curvature / 2 <= total / step * KL. With KL the mean of both
            # directions the right side is -slope / 2, free of differences of large logarithms.
            if curvature <= -slope:
                core.accept()
                self.step = min(self.step * _GROWTH, _MAX_GROWTH * self.safe_step)
                return True
            self.step /= 2
            if self.calls >= self.options.iterations:
                return True
        # Rounding hides any descent that is left.
        return False
