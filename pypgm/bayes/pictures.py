"""Pictures of a private network: its graph with the budget of each table, a conditional table with its errors."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pypgm.bayes.allocation import children_of
from pypgm.bayes.checks import ordered
from pypgm.canvas import new_figure
from pypgm.data.codebook import label_texts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pypgm.bayes.network import BayesianNetwork
    from pypgm.factor import Factor

__all__ = ["draw_graph", "draw_table", "layers"]

_INK, _PALE, _BAR = "#2b2f36", "#c6cad1", "#2563a8"
_MOST_BARS = 48


def draw_graph(network: BayesianNetwork, values: Mapping[str, float], what: str, ax: Axes | None = None) -> Axes:
    """Draw a network from the top down, each attribute in the colour of a number, with a colour bar.

    Parameters
    ----------
    network : BayesianNetwork
    values : mapping of str to float
        A number of each attribute.
    what : str
        Of what, beside the colour bar.
    ax : matplotlib Axes, optional
        New ones by default.

    Raises
    ------
    ImportError
        If matplotlib, the extra ``plot``, is not there.
    """
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    rows = layers(network)
    wide = max(map(len, rows))
    ax = new_figure(max(5.0, 1.3 * wide), max(2.5, 1.2 * len(rows))).subplots() if ax is None else ax
    places = {a: ((i + 0.5) / len(row), -float(depth)) for depth, row in enumerate(rows) for i, a in enumerate(row)}
    shade = ScalarMappable(Normalize(0, max(values.values()) or 1.0), colormaps["YlGnBu"])
    size = float(np.clip(90 / max(wide, 6), 3, 9))
    for child, parents in network.parents.items():
        for parent in parents:
            arrow = {"arrowstyle": "-|>", "color": _PALE, "shrinkA": size, "shrinkB": size, "lw": 1.0}
            ax.annotate("", places[child], places[parent], arrowprops=arrow, zorder=1)
    for a, (x, y) in places.items():
        colour = shade.to_rgba(np.array(values[a]))
        dark = np.dot(np.ravel(colour)[:3], [0.299, 0.587, 0.114]) < 0.6
        box = {"boxstyle": "round,pad=0.35", "facecolor": colour, "edgecolor": _PALE}
        ax.text(x, y, a, ha="center", va="center", fontsize=size, color="white" if dark else _INK, bbox=box, zorder=2)
    ax.set_xlim(0, 1)
    ax.set_ylim(-len(rows) + 0.5, 0.5)
    ax.set_axis_off()
    ax.figure.colorbar(shade, ax=ax, label=what, shrink=0.7)
    return ax


def draw_table(table: Factor, errors: Factor, ax: Axes | None = None) -> Axes:
    """Draw a conditional table as bars with error bars, a group for each combination of the parents' values.

    Parameters
    ----------
    table : Factor
        Probabilities, axes (parents, attribute). Of a table of more than 48 cells the first groups are drawn.
    errors : Factor
        Standard errors with the same ax.
    ax : matplotlib Axes, optional
        New ones by default.

    Raises
    ------
    ImportError
        If matplotlib, the extra ``plot``, is not there.
    """
    *parents, attribute = table.domain.attributes
    size = table.domain.shape[-1]
    texts = {a: label_texts(table.domain, a) or list(map(str, range(table.domain.size(a)))) for a in table.domain}
    n_rows = table.domain.size(parents)
    shown = min(n_rows, max(1, _MOST_BARS // max(1, size)))
    ax = new_figure(6.0, 1.0 + 0.24 * shown * (size + 1)).subplots() if ax is None else ax
    places = [row * (size + 1) + i for row in range(shown) for i in range(size)]
    bars, spreads = (f.datavector()[: shown * size] for f in (table, errors))
    ax.barh(places, bars, 0.8, color=_BAR)
    # An error bar stays within what a probability can be.
    reach = [np.minimum(spreads, bars), np.minimum(spreads, np.maximum(1 - bars, 0.0))]
    ax.errorbar(bars, places, xerr=reach, fmt="none", ecolor=_INK, elinewidth=1.0, capsize=2.0)
    ax.set_yticks(places, texts[attribute] * shown, fontsize=8, color=_INK)
    for row, values in enumerate(itertools.islice(itertools.product(*(texts[p] for p in parents)), shown)):
        given = ", ".join(f"{p} = {v}" for p, v in zip(parents, values, strict=True))
        ax.text(0.0, row * (size + 1) - 0.6, given, fontsize=8, color=_INK, va="bottom", fontweight="bold")
    ax.set_xlim(0, 1)
    ax.set_ylim(shown * (size + 1) - 1.0, -1.6)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    left_out = "" if shown == n_rows else f" (first {shown} of {n_rows} groups)"
    title = f"P({attribute}{' | ' if parents else ''}{', '.join(parents)}){left_out}"
    ax.set_title(textwrap.fill(title, 60), loc="left", fontsize=11, color=_INK)
    return ax


def layers(network: BayesianNetwork) -> list[list[str]]:
    """Return the attributes by the length of the longest path from a root, each row near its parents and children.

    Examples
    --------
    >>> from pypgm import Domain
    >>> from pypgm.bayes import BayesianNetwork
    >>> net = BayesianNetwork(Domain({"a": 1, "b": 1}), {"a": ["b"]}, {"a": [[1]], "b": [1]})
    >>> layers(net)
    [['b'], ['a']]
    """
    depth: dict[str, int] = {}
    for a in ordered(network.domain, network.parents):
        depth[a] = max((depth[p] + 1 for p in network.parents[a]), default=0)
    rows = [[a for a in network.domain if depth[a] == d] for d in range(max(depth.values(), default=-1) + 1)]
    children = children_of(network.domain, network.parents)
    place = {a: (i + 0.5) / len(row) for row in rows for i, a in enumerate(row)}
    for sweep in range(8):  # down by the mean place of the parents, up by that of the children
        near, turns = (network.parents, rows[1:]) if sweep % 2 == 0 else (children, rows[-2::-1])
        for row in turns:
            wanted = {a: np.mean([place[b] for b in near[a]]) if near[a] else place[a] for a in row}
            row.sort(key=wanted.__getitem__)
            place.update({a: (i + 0.5) / len(row) for i, a in enumerate(row)})
    return rows
