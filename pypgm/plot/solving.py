"""Pictures of what was fitted: its graph, the course of its loss, and its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pypgm._base.canvas import BLUE, GREY, INK, PALE, RED, axes_of, plain_text
from pypgm.bayes.network import BayesianNetwork
from pypgm.bayes.network_release import NetworkRelease
from pypgm.estimation.fit import Fit
from pypgm.graphs import JunctionTree, RegionGraph
from pypgm.models.model import Model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pypgm.release import Release


def tree(shown: JunctionTree | Model[Any] | Release, ax: Axes | None = None) -> Axes:
    """Draw a junction tree: its cliques with the sizes of their tables, and in grey the attributes that two share.

    Parameters
    ----------
    shown : JunctionTree, or a model with one
        A model on a region graph has one for its records if that fits.
    ax : matplotlib Axes, optional
        New axes by default.

    Raises
    ------
    TypeError
        If the argument is not a tree and has none.
    ImportError
        If matplotlib, the extra ``plot``, is not installed.

    Examples
    --------
    >>> from pypgm import Domain, JunctionTree
    >>> tree(JunctionTree(Domain({"a": 2, "b": 3, "c": 4}), [("a", "b"), ("b", "c")]))  # doctest: +SKIP
    <Axes: >
    """
    drawn = getattr(getattr(shown, "model", shown), "tree", shown)
    if not isinstance(drawn, JunctionTree):
        raise TypeError(f"tree needs a JunctionTree or a model that has one, got {type(shown).__name__}")
    return drawn.plot(ax)


def regions(shown: RegionGraph | Model[Any] | Release, ax: Axes | None = None) -> Axes:
    """Draw a region graph: its regions with the sizes of their tables, larger regions above those they contain.

    Parameters
    ----------
    shown : RegionGraph, or a model or release that has one
    ax : matplotlib Axes, optional
        New axes by default.

    Raises
    ------
    TypeError
        If the argument is not a region graph and has none.
    ImportError
        If matplotlib, the extra ``plot``, is not installed.

    Examples
    --------
    >>> from pypgm import Domain, RegionGraph
    >>> graph = RegionGraph.saturated(Domain({"a": 2, "b": 3, "c": 4}), [("a", "b"), ("b", "c")])
    >>> regions(graph)  # doctest: +SKIP
    <Axes: >
    """
    drawn = getattr(getattr(shown, "model", shown), "graph", shown)
    if not isinstance(drawn, RegionGraph):
        raise TypeError(f"regions needs a RegionGraph or a model on one, got {type(shown).__name__}")
    return drawn.plot(ax)


def network(shown: BayesianNetwork | NetworkRelease, ax: Axes | None = None) -> Axes:
    """Draw a Bayesian network from the top down; tables of a release are coloured by their shares of the budget.

    Parameters
    ----------
    shown : BayesianNetwork or NetworkRelease
    ax : matplotlib Axes, optional
        New axes by default.

    Raises
    ------
    TypeError
        If the argument is neither.
    ImportError
        If matplotlib, the extra ``plot``, is not installed.

    Examples
    --------
    >>> from pypgm import Domain
    >>> from pypgm.bayes import BayesianNetwork
    >>> net = BayesianNetwork(Domain({"a": 2, "b": 2}), {"b": ["a"]}, {"a": [0.5, 0.5], "b": [[1, 0], [0, 1]]})
    >>> network(net)  # doctest: +SKIP
    <Axes: >
    """
    if not isinstance(shown, BayesianNetwork | NetworkRelease):
        raise TypeError(f"network needs a BayesianNetwork or the release of one, got {type(shown).__name__}")
    return shown.plot(ax)


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
