"""Pictures of marginals."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pypgm.canvas import new_figure
from pypgm.data.files import replacing
from pypgm.factor import Factor
from pypgm.report import compare

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["bars"]

_REAL, _SYNTHETIC, _INK, _PALE = "#b8bcc4", "#2563a8", "#2b2f36", "#e6e8ec"


def bars(
    path: str | os.PathLike[str], synthetic: Sequence[Factor], title: str, *, unsafe_data: Sequence[Factor]
) -> None:
    """Draw real beside synthetic counts as bars, a panel a table, and mark the real ones as not private.

    Parameters
    ----------
    path : str or path-like
        A PNG file, written whole or not at all.
    synthetic : sequence of Factor
        Counts of the synthetic records.
    title : str
    unsafe_data : sequence of Factor
        Counts of the real records over the same attributes.

    Raises
    ------
    ImportError
        If matplotlib, the extra ``plot``, is not there.
    OSError
        If the picture cannot be written.

    Examples
    --------
    >>> bars("ages.png", [synthetic.project("age")], "Ages", unsafe_data=[data.project("age")])  # doctest: +SKIP
    """
    heights = [1.0 + max(t.datavector().size for t in synthetic[i : i + 2]) for i in range(0, len(synthetic), 2)]
    figure = new_figure(11, 1.2 + 0.4 * sum(heights))
    figure.set_facecolor("white")
    grid = figure.subplots(len(heights), 2, squeeze=False, gridspec_kw={"height_ratios": heights})
    panels = list(grid.flat)
    for panel, drawn, real in zip(panels, synthetic, unsafe_data, strict=False):
        _panel(panel, drawn, real)
    for panel in panels[len(synthetic) :]:
        panel.set_visible(False)
    figure.suptitle(title, x=0.01, ha="left", fontsize=15, fontweight="bold", color=_INK)
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower left", ncols=2, frameon=False, fontsize=11)
    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=144)


def _panel(panel: Axes, synthetic: Factor, unsafe_data: Factor) -> None:
    names, real, drawn = zip(*compare(synthetic, unsafe_data=unsafe_data), strict=True)
    places = range(len(names))
    panel.barh([p - 0.2 for p in places], real, 0.38, color=_REAL, label="real (not private)")
    panel.barh([p + 0.2 for p in places], drawn, 0.38, color=_SYNTHETIC, label="synthetic")
    for shift, counts in ((-0.2, real), (0.2, drawn)):
        for place, count in zip(places, counts, strict=True):
            panel.annotate(
                f"{count:,.0f}",
                (max(count, 0.0), place + shift),
                (4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
                color=_INK,
            )
    panel.set_yticks(list(places), names, color=_INK)
    panel.invert_yaxis()
    panel.margins(x=0.12)
    panel.set_title(" × ".join(synthetic.domain.attributes), loc="left", fontsize=12, color=_INK)
    panel.xaxis.set_visible(False)
    panel.tick_params(axis="y", length=0)
    panel.spines[["top", "right", "bottom"]].set_visible(False)
    panel.spines["left"].set_color(_PALE)
