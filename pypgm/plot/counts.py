"""Pictures of answers: marginals with their errors, all pairs at once, conditional tables."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from pypgm._base.canvas import BLUE, GREY, INK, PALE, RED, axes_of, new_figure, plain_text
from pypgm._base.clock import Clock
from pypgm._base.constraints import Positive
from pypgm._base.numeric import checked_integer
from pypgm._base.shade import STRONGEST, shade
from pypgm._base.signatures import checked
from pypgm._base.student import LEVEL, LEVEL_TEXT, REACH, level_text, reach_of
from pypgm._base.terminal import escaped, label_text
from pypgm.bayes.network_release import NetworkRelease
from pypgm.data import Dataset
from pypgm.data.sources.files import replacing
from pypgm.domain import Clique, as_clique, check_kind
from pypgm.evaluation import evaluate
from pypgm.factor import Factor
from pypgm.models.estimated_again import Simulation
from pypgm.models.expected_error import expectation, usual_draws
from pypgm.models.model import Model
from pypgm.report import cells, compare

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from numpy.typing import NDArray

    from pypgm.intervals.known import ReleaseErrors
    from pypgm.release import Release


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
    figure.suptitle(title, x=0.01, ha="left", fontsize=15, fontweight="bold", color=INK)
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower left", ncols=3, frameon=False, fontsize=11)
    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=144)


def _panel(panel: Axes, synthetic: Factor, unsafe_data: Factor, errors: Factor | None, title: str) -> None:
    names, real, drawn = zip(*compare(synthetic, unsafe_data=unsafe_data), strict=True)
    places = range(len(names))
    panel.barh([p - 0.2 for p in places], real, 0.38, color=GREY, label="real (not private)")
    panel.barh([p + 0.2 for p in places], drawn, 0.38, color=BLUE, label="synthetic")
    reach = [0.0] * len(names)
    if errors is not None:
        reach = (REACH * errors.datavector()).tolist()
        heights = [p + 0.2 for p in places]
        label = f"error to expect ({LEVEL_TEXT})"
        panel.errorbar(drawn, heights, xerr=reach, fmt="none", ecolor=INK, elinewidth=1.2, capsize=2, label=label)
    for shift, counts, ends in ((-0.2, real, [0.0] * len(names)), (0.2, drawn, reach)):
        for place, count, end in zip(places, counts, ends, strict=True):
            panel.annotate(
                f"{count:,.0f}",
                (max(count + end, 0.0), place + shift),
                (4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
                color=INK,
            )
    panel.set_yticks(list(places), names, color=INK)
    panel.invert_yaxis()
    panel.margins(x=0.12)
    panel.set_title(title, loc="left", fontsize=12, color=INK)
    panel.xaxis.set_visible(False)
    panel.tick_params(axis="y", length=0)
    panel.spines[["top", "right", "bottom"]].set_visible(False)
    panel.spines["left"].set_color(PALE)


_MAX_BARS, _MAX_ATTRIBUTES = 60, 40
_CELLS = 10**6  # of a pair whose error is computed, at most


@checked()
def marginal(
    answers: Release | Model[Any],
    clique: str | Iterable[str],
    ax: Axes | None = None,
    *,
    synthetic: Dataset | None = None,
    unsafe_data: Dataset | None = None,
    errors: bool = True,
    level: Annotated[float, Positive(below=1)] = LEVEL,
) -> Axes:
    """Draw a marginal as bars with error bars; beside them those of synthetic and of real records.

    Parameters
    ----------
    answers : Release or model
    clique : str or sequence of str
        Attributes; at most 60 cells are drawn, those with the largest counts.
    ax : matplotlib Axes, optional
        New axes by default.
    synthetic : Dataset, optional
        Records drawn from the release.
    unsafe_data : Dataset, optional
        The real records. The picture is then not private, and says so.
    errors : bool
        Whether to draw error bars where the errors are known: they take some estimates.
    level : float
        Share of the true counts that error bars are to hold.

    Raises
    ------
    ValueError
        If the clique is not in the domain.
    ImportError
        If matplotlib, the extra ``plot``, is not installed.

    Examples
    --------
    >>> import pypgm
    >>> data = pypgm.Dataset({"a": [0, 1, 1] * 99}, pypgm.Domain({"a": ["no", "yes"]}))
    >>> release = pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9)
    >>> marginal(release, "a", synthetic=release.synthetic_data())  # doctest: +SKIP
    <Axes: >
    """
    names = as_clique(clique)
    counts = answers.project(names)
    texts = [escaped(" · ".join(map(label_text, cell[:-1]))) if names else "all records" for cell in cells(counts)]
    model = counts.datavector()
    sides = [("model", model, BLUE)]
    for label, records, colour in (("synthetic", synthetic, "#8fb8de"), ("real (not private)", unsafe_data, RED)):
        if records is not None:
            scaled = records.project(names).datavector() * (float(model.sum()) / max(1, len(records)))
            sides.append((label, scaled, colour))
    kept = _largest(model)
    spread = _errors_of(answers, names)[kept] if errors and _knows_errors(answers) else None
    ax = axes_of(ax, 6.5, 0.9 + 0.2 * len(kept) * max(1.3, len(sides)))
    thick = 0.84 / len(sides)
    with plain_text():
        for i, (label, values, colour) in enumerate(sides):
            at = np.arange(len(kept)) + (i - (len(sides) - 1) / 2) * thick
            ax.barh(at, values[kept], thick * 0.92, color=colour, label=label)
            if i == 0 and spread is not None:
                shown = np.where(np.isfinite(spread), reach_of(level) * spread, 0.0)
                reach = [np.minimum(shown, np.maximum(values[kept], 0.0)), shown]
                ax.errorbar(values[kept], at, xerr=reach, fmt="none", ecolor=INK, elinewidth=1.1, capsize=2.5)
        ax.set_yticks(range(len(kept)), [texts[i] for i in kept], fontsize=9, color=INK, parse_math=False)
        ax.invert_yaxis()
        ax.set_xlim(left=min(0.0, float(model[kept].min(initial=0.0))))
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x", color=PALE)
        ax.set_axisbelow(True)
        ax.spines[["top", "right", "left"]].set_visible(False)
        left = f", the largest {len(kept)} of {model.size:,}" if len(kept) < model.size else ""
        title = " × ".join(map(escaped, names)) or "all records"
        whiskers = f"; whiskers hold {level_text(level)} of errors" if spread is not None else ""
        ax.set_title(f"{title}: records{left}{whiskers}", loc="left", fontsize=10, color=INK)
        if len(sides) > 1:
            ax.legend(frameon=False, fontsize=9)
    return ax


def pairs(
    answers: Release | Model[Any],
    ax: Axes | None = None,
    *,
    attributes: Sequence[str] | None = None,
    unsafe_data: Dataset | None = None,
    draws: int | None = None,
) -> Axes:
    """Draw a heat map of the expected errors of all pairs of attributes, in percentage points.

    Errors are expected total variation distances, shares of the records; the diagonal has those of single attributes.
    Unmeasured pairs are marked by a dot: how far they depend beyond what others imply is guessed, or bounded by the
    screen of the release.

    Parameters
    ----------
    answers : Release or model
        Release or model that holds its measurements.
    ax : matplotlib Axes, optional
        New axes by default.
    attributes : sequence of str, optional
        Attributes whose pairs are drawn; by default all, or the first 40.
    unsafe_data : Dataset, optional
        The real records: distances are then the true ones, and the picture is not private and says so.
    draws : int, optional
        Number of made-up tables, two or more, from which the expected error is computed. By default as many as for a
        report, whose figures those of a release then are.

    Raises
    ------
    ValueError
        If an attribute is unknown, there are fewer than two draws, or the model does not hold its measurements.
    TypeError
        If the errors of its kind of model are unknown.
    ImportError
        If matplotlib, the extra ``plot``, is not installed.

    Examples
    --------
    >>> import pypgm
    >>> data = pypgm.Dataset({"a": [0, 1] * 99, "b": [1, 0] * 99}, pypgm.Domain({"a": 2, "b": 2}))
    >>> pairs(pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9))  # doctest: +SKIP
    <Axes: >
    """
    model = _model(answers)
    names = as_clique(attributes) if attributes is not None else model.domain.attributes[:_MAX_ATTRIBUTES]
    model.domain.indices(names)
    wanted = [c for c in itertools.combinations_with_replacement(names, 2) if model.domain.size(set(c)) <= _CELLS]
    cliques = [tuple(dict.fromkeys(c)) for c in wanted]
    if unsafe_data is not None:
        distances = evaluate(model, cliques=cliques, unsafe_data=unsafe_data).values
    elif isinstance(model, Model):
        distances = _expected_distances(answers, model, cliques, draws)
    else:
        raise TypeError(f"a {type(model).__name__} does not know its errors: pass unsafe_data")
    grid = np.full((len(names), len(names)), np.nan)
    at = {a: i for i, a in enumerate(names)}
    apart = []
    knows = isinstance(model, Model) and model.recipe is not None
    for (a, b), value in zip(wanted, distances, strict=True):
        i, j = at[a], at[b]
        grid[i, j] = grid[j, i] = 100 * value
        if knows and isinstance(model, Model) and i != j and model.basis((a, b)) in {"unmeasured", "unknown"}:
            apart += [(i, j), (j, i)]
    return _heat_map(grid, [*map(escaped, names)], apart, unsafe_data is not None, ax)


def _expected_distances(
    answers: Release | Model[Any], model: Model[Any], cliques: Sequence[Clique], draws: int | None
) -> NDArray[np.float64]:
    """Return expected total variation distances: of a release those that its report shows."""
    draws = usual_draws(model) if draws is None else checked_integer("draws", draws, 2)
    with Clock() as clock:
        simulation = Simulation(model, cliques, None, draws, np.random.default_rng(0), clock)
        known: ReleaseErrors | None = getattr(answers, "_known", None)
        far = expectation(simulation if known is None else known.informed(simulation)).distances
    return np.asarray(far.mean(axis=0))


def _heat_map(
    grid: NDArray[np.float64], names: list[str], apart: list[tuple[int, int]], is_real: bool, ax: Axes | None
) -> Axes:
    from matplotlib.colors import PowerNorm

    n = len(names)
    side = float(np.clip(2.6 + 0.42 * n, 4.0, 13.0))
    ax = axes_of(ax, side + 0.6, side)
    with plain_text():
        image = ax.imshow(grid, cmap=_shades(), norm=PowerNorm(0.5, 0.0, STRONGEST, clip=True))
        size = float(np.clip(120 / max(n, 1), 5, 9))
        if n <= 20:
            for i, j in itertools.product(range(n), repeat=2):
                if np.isfinite(grid[i, j]):
                    ink = "white" if shade(grid[i, j]) > 0.6 else INK
                    ax.text(
                        j,
                        i,
                        f"{grid[i, j]:.{1 if grid[i, j] >= 10 else 2}f}",
                        ha="center",
                        va="center",
                        fontsize=size,
                        color=ink,
                    )
        if apart:
            rows, columns = np.transpose(apart)
            ax.scatter(columns + 0.38, rows - 0.38, s=16, color=INK, edgecolors="white", label="not measured together")
            below = -0.02 if n > 20 else -0.04 - 0.02 * max(map(len, names))
            ax.legend(loc="upper left", bbox_to_anchor=(0.0, below), frameon=False, fontsize=8)
        ax.set_xticks(range(n), names, rotation=90, fontsize=size + 1, color=INK, parse_math=False)
        ax.set_yticks(range(n), names, fontsize=size + 1, color=INK, parse_math=False)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        title = "Error of pairs from the real records (not private)" if is_real else "Expected error of pairs"
        ax.set_title(title, loc="left", fontsize=11, color=RED if is_real else INK)
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.7, label="percentage points (total variation)")
        marks = (0, 1, 5, 10, STRONGEST)
        bar.set_ticks(marks, labels=[f"{points:g}" for points in marks])
    return ax


def _shades() -> Colormap:
    """Return the colours from white to that of a page."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("shades", ["white", BLUE])


def table(release: NetworkRelease, attribute: str, ax: Axes | None = None) -> Axes:
    """Draw a conditional table of a private network with 90 % error bars.

    Parameters
    ----------
    release : NetworkRelease
    attribute : str
    ax : matplotlib Axes, optional
        New axes by default.

    Raises
    ------
    ValueError
        If the attribute is unknown.
    TypeError
        If the release is of another kind of model.
    ImportError
        If matplotlib, the extra ``plot``, is not installed.

    Examples
    --------
    >>> table(release, "rain")  # doctest: +SKIP
    <Axes: >
    """
    check_kind("release", release, NetworkRelease, "pypgm.bayes.learn_private makes one")
    return release.plot_table(attribute, ax)


def _model(answers: Any) -> Model[Any]:  # noqa: ANN401 - a release or a model
    model: Model[Any] = getattr(answers, "model", answers)
    return model


def _knows_errors(answers: object) -> bool:
    model = getattr(answers, "model", answers)
    return isinstance(model, Model) and model.recipe is not None


def _errors_of(answers: Any, names: tuple[str, ...]) -> NDArray[np.float64]:  # noqa: ANN401
    errors: NDArray[np.float64] = answers.expected_error(names).datavector()
    return errors


def _largest(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the places of the largest values, in their order."""
    if values.size <= _MAX_BARS:
        return np.arange(values.size)
    return np.sort(np.argsort(-values, kind="stable")[:_MAX_BARS])
