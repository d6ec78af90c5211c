"""Pictures of a private network: its graph with the budget of each table, a conditional table with its errors."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pypgm._base.canvas import BLUE, INK, axes_of, plain_text
from pypgm._base.student import LEVEL_TEXT, REACH
from pypgm.data.columns.codebook import label_texts
from pypgm.graphs.pictures import draw_graph as draw_nodes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pypgm.domain import Clique, Domain
    from pypgm.factor import Factor

_MAX_BARS = 48


def draw_graph(
    domain: Domain, parents: Mapping[str, Clique], values: Mapping[str, float], what: str, ax: Axes | None = None
) -> Axes:
    """Draw a network from the top down, each attribute in the colour of a number, with a colour bar.

    Parameters
    ----------
    domain : Domain
    parents : mapping of str to tuple of str
        Parents of each attribute.
    values : mapping of str to float
        A number of each attribute.
    what : str
        Label of the colour bar.
    ax : matplotlib Axes, optional
        New axes by default.

    Raises
    ------
    ImportError
        If matplotlib, the extra ``plot``, is not installed.
    """
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    shade = ScalarMappable(Normalize(0, max(values.values()) or 1.0), colormaps["YlGnBu"])
    colours = [shade.to_rgba(np.array(values[a])) for a in domain]
    ax = draw_nodes(list(domain), arcs_of(domain, parents), ax, colours=colours, extra=(1.4, 0.3))
    ax.figure.colorbar(shade, ax=ax, label=what, shrink=0.7, aspect=25)
    return ax


def arcs_of(domain: Domain, parents: Mapping[str, Clique]) -> list[tuple[int, int]]:
    """Return the arcs of a network, from parent to child, by position in the domain."""
    at = {a: i for i, a in enumerate(domain)}
    return [(at[p], at[child]) for child, tails in parents.items() for p in tails]


def draw_table(table: Factor, errors: Factor, ax: Axes | None = None) -> Axes:
    """Draw a conditional table as bars with 90 % error bars, a group for each combination of the parents' values.

    Parameters
    ----------
    table : Factor
        Probabilities, axes (parents, attribute). The first groups of a table of more than 48 cells are drawn.
    errors : Factor
        Standard errors with the same axes.
    ax : matplotlib Axes, optional
        New axes by default.

    Raises
    ------
    ImportError
        If matplotlib, the extra ``plot``, is not installed.
    """
    *parents, attribute = table.domain.attributes
    size = table.domain.shape[-1]
    texts = {a: label_texts(table.domain, a) or list(map(str, range(table.domain.size(a)))) for a in table.domain}
    n_rows = table.domain.size(parents)
    shown = min(n_rows, max(1, _MAX_BARS // max(1, size)))
    ax = axes_of(ax, 6.0, 1.0 + 0.24 * shown * (size + 1))
    with plain_text():
        places = [row * (size + 1) + i for row in range(shown) for i in range(size)]
        bars, spreads = table.datavector()[: shown * size], REACH * errors.datavector()[: shown * size]
        ax.barh(places, bars, 0.8, color=BLUE)
        # An error bar stays within [0, 1].
        reach = [np.minimum(spreads, bars), np.minimum(spreads, np.maximum(1 - bars, 0.0))]
        ax.errorbar(bars, places, xerr=reach, fmt="none", ecolor=INK, elinewidth=1.0, capsize=2.0)
        ax.set_yticks(places, texts[attribute] * shown, fontsize=8, color=INK, parse_math=False)
        for row, values in enumerate(itertools.islice(itertools.product(*(texts[p] for p in parents)), shown)):
            given = ", ".join(f"{p} = {v}" for p, v in zip(parents, values, strict=True))
            ax.text(0.0, row * (size + 1) - 0.6, given, fontsize=8, color=INK, va="bottom", fontweight="bold")
        ax.set_xlim(0, 1)
        ax.set_ylim(shown * (size + 1) - 1.0, -1.6)
        ax.tick_params(axis="y", length=0)
        ax.spines[["top", "right", "left"]].set_visible(False)
        left_out = "" if shown == n_rows else f" (first {shown} of {n_rows} groups)"
        title = f"P({attribute}{' | ' if parents else ''}{', '.join(parents)}){left_out}"
        title += f"; whiskers hold {LEVEL_TEXT} of errors"
        ax.set_title(textwrap.fill(title, 60), loc="left", fontsize=11, color=INK)
    return ax
