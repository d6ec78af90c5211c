"""The site's page of the time and memory of whole jobs, and its pictures, from performance.json."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

KEPT = Path(__file__).parent / "performance.json"


@dataclasses.dataclass
class Row:
    """A line of the page: a job, its seconds, a peer's, and what the least it has to do takes.

    Attributes
    ----------
    curve, x : str, float
        The curve of a picture it is a point of, "axis: line", and where it lies.
    cells, moved : float
        Cells whose exponentials, and bytes whose copy, no way to do the job can do without.
    """

    job: str
    seconds: float
    curve: str = ""
    x: float = 0
    peer: str = ""
    peer_seconds: float = 0
    cells: float = 0
    moved: float = 0
    unit: str = "s"


HEAD = """# What whole jobs take

Measured by `python bench/bench_performance.py`; with `--cases` some parts run again, and other lines stay. Seconds
are of the processor, user and system, of a process that runs the job alone, without reading the data; `exp` counts them
in passes of NumPy's exp over 10^7 cells in the same process, the unit of the machine in that moment. A peer's seconds
are of the same run on the same machine. The limit is what no way to do the job can do without: exponentials of its
cells, or a copy of the bytes that have to be read and written, at the speed of that process. Answers are checked before
a line is kept. Iterations at a fixed step and mbi are by the clock, which other work slows. The machine had two cores
and was busy with other work {load}: ratios tell more than seconds, and a quiet one takes less. Growth itself is tested
by counting calls and plans (`tests/package/test_growth.py`), not by time.

Not in this run: dpsynth and the mechanisms of mbi, which the package index does not have; SmartNoise, OpenDP and more
of mbi, pgmpy and pyAgrum are [beside ours](../measured.md) in environments of their own.

"""
COLUMNS = ("job", "threads", "s", "exp", "peer", "peer, s", "times ours", "limit, s", "times the limit")
TIMES = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|\n"
OTHERS = """
## What `plan` announces, and how often tables are read

A process's most memory, and seconds of a run by the clock; beside them what `plan` says without the records.

| what | measured | announced | announced / measured |
|---|---|---|---|
"""


def kept() -> list[dict]:
    """Return the rows of all cases that were run."""
    return json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else []


def write(folder: Path) -> None:
    """Write the page and its pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = kept()
    (folder / "performance.md").write_text(_page(rows), encoding="utf-8")
    _draw(rows, folder / "performance")


def _page(kept: list[dict]) -> str:
    """Return the page of all lines that are kept."""
    loads = [round(row["load"]) for row in kept]
    parts = [HEAD.format(load=f"(load {min(loads)} to {max(loads)})")]
    axes = dict.fromkeys(row["curve"].partition(":")[0] for row in kept if row["curve"])
    parts += [f"![Seconds by {axis}](performance/{axis}.svg)\n" for axis in axes]
    parts += ["\n", TIMES, *(line(row) for row in kept if row["unit"] == "s"), OTHERS]
    parts += [line(row) for row in kept if row["unit"] != "s"]
    return "".join(parts)


def line(row: dict) -> str:
    """Return a row of a table of the page."""
    if row["unit"] != "s":
        announced = row["peer_seconds"]
        beside = f"{announced:.3g} | {announced / row['seconds']:.2f}" if row["peer"] else " | "
        return f"| {row['job']} | {row['seconds']:.3g} {row['unit']} | {beside} |\n"
    ours, theirs = row["seconds"], row["peer_seconds"]
    least = max(row["cells"] * row["exp"], row["moved"] * row["copy"])
    cells = [row["job"], row["threads"], f"{ours:.3g}", f"{ours / row['exp'] / 1e7:.3g}", row["peer"]]
    cells += [f"{theirs:.3g}", f"{theirs / ours:.3g}"] if row["peer"] else ["", ""]
    cells += [f"{least:.2g}", f"{ours / least:.3g}"] if least else ["", ""]
    return f"| {' | '.join(map(str, cells))} |\n"


def _draw(kept: list[dict], pictures: Path) -> None:
    """Draw seconds by columns, cells and records, of one thread."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    rcParams.update({"font.size": 9, "svg.hashsalt": "pypgm", "svg.fonttype": "none"})
    curves: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for row in kept:
        if row["curve"] and row["threads"] == 1:
            axis, _, line = row["curve"].partition(": ")
            curves.setdefault(axis, {}).setdefault(line, []).append((row["x"], row["seconds"]))
    pictures.mkdir(exist_ok=True)
    for axis, lines in curves.items():
        canvas = Figure(figsize=(6, 3), layout="constrained")
        axes = canvas.add_subplot(xscale="log", yscale="log", xlabel=axis, ylabel="CPU seconds")
        for curve, points in lines.items():
            axes.plot(*zip(*sorted(points), strict=True), "o-", markersize=3, label=curve.replace("`", ""))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.spines[["top", "right"]].set_visible(False)
        canvas.legend(loc="outside right upper", frameon=False)
        canvas.savefig(pictures / f"{axis}.svg", metadata={"Date": None})
