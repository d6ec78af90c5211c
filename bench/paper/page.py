"""The page of all figures, and their plots, from the results that are kept."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import NullFormatter

from bench.paper.figure import Figure, Key, Results

HEAD = """# The four papers, figure by figure

`python -m bench.paper` runs every figure and table of the four papers behind this package, `python -m bench.paper NAME`
one of them; `--page FOLDER` writes this page from the results kept in `bench/paper/results/`. Tables show our value,
its standard error if there are several seeds, and the published value in brackets. In plots, solid lines with dots are
ours; dashed lines and crosses are published. "Optimum" is the estimate defined in the papers; the package's default
stops before it fits noise, and mostly has smaller errors. `PYPGM_DATA` names the folder with the data and the published
results, which are not part of this package.

"""
VERDICTS = {
    (True, True): "Reproduces",
    (True, False): "Does not reproduce",
    (False, True): "Beside the paper, holds",
    (False, False): "Beside the paper, does not hold",
}
rcParams.update({"font.size": 8, "axes.titlesize": 8, "savefig.dpi": 95})


def write(figures: Sequence[Figure], folder: Path) -> None:
    """Write the page, and a plot of each figure whose runs are complete, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "reproduction.md").write_text(text(figures), encoding="utf-8")
    for figure, results in complete(figures):
        draw(figure, results, folder / "reproduction" / f"{figure.name}.png")


def complete(figures: Sequence[Figure]) -> list[tuple[Figure, Results]]:
    """Return these figures with their results."""
    measured = [(figure, Results.read(figure.name)) for figure in figures]
    return [(figure, results) for figure, results in measured if figure.complete(results)]


def text(figures: Sequence[Figure]) -> str:
    """Return the page."""
    whole = complete(figures)
    parts = [HEAD, summary(whole)]
    for paper, group in itertools.groupby(whole, key=lambda pair: pair[0].paper):
        parts.append(f"## {paper}\n\n")
        parts += [section(figure, results) for figure, results in group]
    return "".join(parts).rstrip() + "\n"


def summary(measured: Sequence[tuple[Figure, Results]]) -> str:
    """Return a table of the figures: which claims hold, and how long they take."""
    lines = ["| figure | command | claims that reproduce | seeds | run time |", "|---|---|---|---|---|"]
    total = 0.0
    for figure, results in measured:
        verdicts = [claim.check(results)[0] for claim in figure.claims if claim.published]
        verdict = f"{sum(verdicts)} of {len(verdicts)}" if verdicts else "none is made"
        seconds = sum(results.runs.values())
        total += seconds
        place = figure.title.lower().translate({ord(c): None for c in ",.:()'"}).replace(" ", "-")
        lines.append(
            f"| [{figure.title}](#{place}) | `{figure.name}` | {verdict} | {seeds_of(results)} | {seconds:.0f} s |"
        )
    return "\n".join(lines) + f"\n\nAll of it: {total / 60:.0f} minutes on two cores that other work shared.\n\n"


def digest(figures: Sequence[Figure]) -> str:
    """Return the part of docs/measured.md on the figures: how many claims reproduce, and those that do not."""
    lines, missed = ["| figure | command | claims that reproduce |", "|---|---|---|"], []
    for figure, results in complete(figures):
        verdicts = [(claim.text, *claim.check(results)) for claim in figure.claims if claim.published]
        kept = f"{sum(holds for _, holds, _ in verdicts)} of {len(verdicts)}" if verdicts else "no claim is made"
        lines.append(f"| {figure.title} | `{figure.name}` | {kept} |")
        missed += [f"- `{figure.name}`: {claim}: {shown}." for claim, holds, shown in verdicts if not holds]
    return "\n".join([*lines, "", "Claims that do not reproduce, with our values:", "", *missed, ""])


def seeds_of(results: Results) -> str:
    """Return how many seeds the jobs have."""
    counts = sorted({sum(job == other for other, _ in results.runs) for job, _ in results.runs})
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def section(figure: Figure, results: Results) -> str:
    """Return what the page tells of a figure."""
    verdicts = []
    for claim in figure.claims:
        holds, reason = claim.check(results)
        verdicts.append(f"- **{VERDICTS[claim.published, holds]}**: {claim.text}: {reason}.")
    versions = ", ".join(sorted(results.versions))
    ran = f"Version {versions}, seeds: {seeds_of(results)}, {sum(results.runs.values()):.0f} s."
    alt = f"{figure.axes[1]} by {figure.axes[0]}"
    picture = f"![{alt}](reproduction/{figure.name}.png)"
    parts = [f"### {figure.title}", f"{figure.setting} {ran}", picture, table(figure, results), "\n".join(verdicts)]
    return "\n\n".join(part for part in parts if part) + "\n\n"


def table(figure: Figure, results: Results) -> str:
    """Return a row for each panel and place, a column for each line; panels with other lines are apart."""
    keys = [key for key in dict.fromkeys([*results.ours, *results.published]) if figure.shown(key)]
    panels: dict[str, list[str]] = {}
    for panel, line, _ in keys:
        panels.setdefault(panel, [])
        if line not in panels[panel]:
            panels[panel].append(line)
    kinds: dict[tuple[str, ...], list[str]] = {}
    for panel, lines in panels.items():
        kinds.setdefault(tuple(lines), []).append(panel)
    parts = []
    for lines, group in kinds.items():
        head = f"| | {figure.axes[0]} | " + " | ".join(lines) + " |"
        rows = [head, "|" + "---|" * (len(lines) + 2)]
        for panel in group:
            places = dict.fromkeys(x for p, _, x in keys if p == panel)
            for x in places if figure.bars else sorted(places):
                cells = " | ".join(cell(results, (panel, line, x)) for line in lines)
                rows.append(f"| {panel} | {x if isinstance(x, str) else short(x)} | {cells} |")
        parts.append("\n".join(rows))
    return "\n\n".join(parts)


def cell(results: Results, key: Key) -> str:
    """Return our value and the published one."""
    shown = ""
    if key in results.ours:
        spread = results.spread(key)
        shown = short(results.centre(key)) + ("" if np.isnan(spread) else f" ± {short(spread, 2)}")
    return shown + (f" ({short(results.published[key])})" if key in results.published else "")


def short(value: float, digits: int = 3) -> str:
    """Return a number with three digits, without a leading zero."""
    if value and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.{digits - 1}e}"
    text = f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:,.0f}"
    text = np.format_float_positional(float(text.replace(",", "")), trim="-") if "," not in text else text
    return text[1:] if text.startswith("0.") else text


def draw(figure: Figure, results: Results, path: Path) -> None:
    """Draw a panel for each of the figure's."""
    keys = [key for key in dict.fromkeys([*results.ours, *results.published]) if figure.panels(key[0])]
    panels = list(dict.fromkeys(panel for panel, _, _ in keys))
    columns = min(4, len(panels))
    rows = -(-len(panels) // columns)
    canvas = Canvas(figsize=(max(3.2 * columns, 4.4), 2.6 * rows), layout="constrained", facecolor="white")
    every = canvas.subplots(rows, columns, squeeze=False).ravel()
    names = list(dict.fromkeys(line for _, line, _ in keys))
    colours = {name: f"C{i % 10}" for i, name in enumerate(names)}
    for axes, panel in zip(every, panels, strict=False):
        of_panel = [key for key in keys if key[0] == panel]
        (bars if figure.bars else lines)(axes, results, of_panel, colours)
        axes.set_title(panel, loc="left")
        axes.set_xlabel("" if figure.bars else figure.axes[0])
        if "x" in figure.logs:
            axes.set_xscale("log")
        if "y" in figure.logs:
            axes.set_yscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.spines[["top", "right"]].set_visible(False)
    for axes in every[len(panels) :]:
        axes.set_visible(False)
    for axes in every[::columns]:
        axes.set_ylabel(figure.axes[1])
    handles = {label: h for axes in every for h, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    canvas.legend(
        handles.values(),
        handles,
        loc="outside lower center",
        ncols=max(1, int(canvas.get_figwidth() / 2)),
        frameon=False,
    )
    path.parent.mkdir(exist_ok=True)
    canvas.savefig(path, pil_kwargs={"optimize": True})


def lines(axes: Axes, results: Results, keys: Sequence[Key], colours: dict[str, str]) -> None:
    """Draw our lines with dots, the published ones dashed."""
    for name in dict.fromkeys(line for _, line, _ in keys):
        of_line = sorted((key for key in keys if key[1] == name), key=lambda key: key[2])
        ours = [key for key in of_line if key in results.ours]
        if ours:
            values = np.array([results.centre(key) for key in ours])
            spread = np.nan_to_num([results.spread(key) for key in ours])
            reach = [np.minimum(spread, 0.9 * np.abs(values)), spread]  # a logarithmic axis has no 0
            places = [key[2] for key in ours]
            axes.errorbar(places, values, reach, fmt=".-", color=colours[name], label=name, lw=1.2)
        theirs = [key for key in of_line if key in results.published]
        if theirs:
            values = [results.published[key] for key in theirs]
            style = "--" if len(theirs) > 1 else "x"
            label = None if ours else name
            axes.plot([key[2] for key in theirs], values, style, color=colours[name], label=label, alpha=0.7, lw=1)


def bars(axes: Axes, results: Results, keys: Sequence[Key], colours: dict[str, str]) -> None:
    """Draw a bar a name and line, the published one hatched beside it."""
    places = list(dict.fromkeys(key[2] for key in keys))
    series = []
    for name in dict.fromkeys(line for _, line, _ in keys):
        of_line = [key for key in keys if key[1] == name]
        for label, held in (
            (name, {k: results.centre(k) for k in of_line if k in results.ours}),
            (f"{name}, published", results.published),
        ):
            values = {key[2]: held[key] for key in of_line if key in held}
            if values:
                series.append((label, colours[name], values))
    width = 0.8 / len(series)
    for i, (label, colour, values) in enumerate(series):
        hatch = {"hatch": "///", "alpha": 0.5} if label.endswith("published") else {}
        x = [places.index(place) + (i - (len(series) - 1) / 2) * width for place in values]
        axes.bar(x, list(values.values()), width, color=colour, label=label, **hatch)
    axes.set_xticks(range(len(places)), places)
