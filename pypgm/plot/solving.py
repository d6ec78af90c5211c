"""Pictures of an estimate: the course of its loss, and its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pypgm._base.canvas import BLUE, GREY, INK, PALE, RED, axes_of, plain_text
from pypgm.estimation.fit import Fit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pypgm.models.model import Model
    from pypgm.release import Release

_ENDS = {
    "validated": "ended where noise begins to be fitted",
    "converged": "reached the tolerance",
    "iterations": "ran out of iterations",
    "time": "ran out of time",
    "callback": "ended by its callback",
    "interrupted": "interrupted",
}


def convergence(fitted: Fit | Model[Any] | Release, ax: Axes | None = None) -> Axes:
    """Draw the loss of an estimate after each step, its end, and the gap to the optimum.

    Parameters
    ----------
    fitted : Fit, or a model or release that was estimated
    ax : matplotlib Axes, optional
        New axes by default.

    Raises
    ------
    TypeError
        If the argument was not estimated.
    ImportError
        If matplotlib, the extra ``plot``, is not installed.

    Examples
    --------
    >>> import pypgm
    >>> model = pypgm.estimate(pypgm.Domain({"a": 2}), [pypgm.LinearMeasurement([40, 60], "a")])
    >>> convergence(model)  # doctest: +SKIP
    <Axes: >
    """
    fit = getattr(getattr(fitted, "model", fitted), "fit", fitted)
    if not isinstance(fit, Fit):
        raise TypeError(f"convergence needs a Fit or what was estimated, got {type(fitted).__name__}")
    losses = np.array(fit.history or (fit.loss,), dtype=np.float64)
    steps = np.arange(len(losses))
    ax = axes_of(ax, 5.6, 3.4)
    with plain_text():
        ax.plot(steps, losses, color=BLUE, lw=2, marker="o", ms=3 if len(losses) < 40 else 0, label="loss")
        end = f"{_ENDS.get(fit.status, fit.status)}, {fit.iterations} iterations"
        ax.plot([steps[-1]], [fit.loss], "o", color=RED, ms=6, label=end)
        if fit.gap is not None and np.isfinite(fit.gap):
            least = max(0.0, fit.loss - fit.gap)
            ax.axhspan(
                least, fit.loss, color=GREY, alpha=0.25, lw=0, label=f"gap: the optimum is at most {fit.gap:.3g} below"
            )
        positive = losses[np.isfinite(losses) & (losses > 0)]
        if positive.size > 1 and positive.max() > 30 * positive.min():
            ax.set_yscale("log")
        ax.set_xlabel("step")
        ax.set_ylabel("loss")
        ax.grid(color=PALE)
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_title(f"Estimate, {fit.seconds:.2g} s", loc="left", fontsize=11, color=INK)
        ax.legend(loc="upper right", frameon=False, fontsize=9)
    return ax
