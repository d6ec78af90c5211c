"""Pictures of junction trees, region graphs and networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pypgm.bayes.network import BayesianNetwork
from pypgm.bayes.network_release import NetworkRelease
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
