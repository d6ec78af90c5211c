"""Pictures of marginals."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pypgm._base.canvas import new_figure
from pypgm._base.student import LEVEL_TEXT, REACH
from pypgm.data.sources.files import replacing
from pypgm.factor import Factor
from pypgm.report import compare

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_REAL, _SYNTHETIC, _INK, _PALE = "#b8bcc4", "#2563a8", "#2b2f36", "#e6e8ec"


def bars(
    path: str | os.PathLike[str],
    synthetic: Sequence[Factor],
    title: str,
    *,
    unsafe_data: Sequence[Factor],
    errors: Sequence[Factor | None] = (),
    titles: Sequence[str] = (),
) -> None:
    """Draw real and synthetic counts as bars, a panel for each table; the real ones are marked as not private.

    Parameters
    ----------
    path : str or path-like
        A PNG file, written whole or not at all.
    synthetic : sequence of Factor
        Counts of the synthetic records.
    title : str
    unsafe_data : sequence of Factor
        Counts of the real records over the same attributes.
    errors : sequence of Factor or None, optional
        Expected error of each synthetic count, drawn as a 90 % error bar.
    titles : sequence of str, optional
        Titles of the panels; by default the names of the attributes.

    Raises
    ------
    ImportError
        If matplotlib, the extra ``plot``, is not installed.
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
    bars_of = errors or [None] * len(synthetic)
    names = titles or [" × ".join(table.domain.attributes) for table in synthetic]
    for panel, drawn, real, spread, name in zip(panels, synthetic, unsafe_data, bars_of, names, strict=False):
        _panel(panel, drawn, real, spread, name)
    for panel in panels[len(synthetic) :]:
        panel.set_visible(False)
    figure.suptitle(title, x=0.01, ha="left", fontsize=15, fontweight="bold", color=_INK)
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower left", ncols=3, frameon=False, fontsize=11)
    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=144)


def _panel(panel: Axes, synthetic: Factor, unsafe_data: Factor, errors: Factor | None, title: str) -> None:
    names, real, drawn = zip(*compare(synthetic, unsafe_data=unsafe_data), strict=True)
    places = range(len(names))
    panel.barh([p - 0.2 for p in places], real, 0.38, color=_REAL, label="real (not private)")
    panel.barh([p + 0.2 for p in places], drawn, 0.38, color=_SYNTHETIC, label="synthetic")
    reach = [0.0] * len(names)
    if errors is not None:
        reach = (REACH * errors.datavector()).tolist()
        heights = [p + 0.2 for p in places]
        label = f"error to expect ({LEVEL_TEXT})"
        panel.errorbar(drawn, heights, xerr=reach, fmt="none", ecolor=_INK, elinewidth=1.2, capsize=2, label=label)
    for shift, counts, ends in ((-0.2, real, [0.0] * len(names)), (0.2, drawn, reach)):
        for place, count, end in zip(places, counts, ends, strict=True):
            panel.annotate(
                f"{count:,.0f}",
                (max(count + end, 0.0), place + shift),
                (4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
                color=_INK,
            )
    panel.set_yticks(list(places), names, color=_INK)
    panel.invert_yaxis()
    panel.margins(x=0.12)
    panel.set_title(title, loc="left", fontsize=12, color=_INK)
    panel.xaxis.set_visible(False)
    panel.tick_params(axis="y", length=0)
    panel.spines[["top", "right", "bottom"]].set_visible(False)
    panel.spines["left"].set_color(_PALE)
