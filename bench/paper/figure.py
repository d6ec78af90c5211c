"""A figure or table of a paper: its runs here, what is published beside them, and what the paper claims of it."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import pypgm

RESULTS = Path(__file__).with_name("results")

Key = tuple[str, str, float | str]  # panel, line, place on the axis
Values = Mapping[Key, float]


@dataclass
class Results:
    """Measured values, one for each seed, with published values and the runs made."""

    ours: dict[Key, list[float]] = field(default_factory=dict)
    published: dict[Key, float] = field(default_factory=dict)
    runs: dict[tuple[str, int], float] = field(default_factory=dict)  # seconds by job and seed
    versions: set[str] = field(default_factory=set)

    def of(self, panel: str, line: str, place: float | str) -> float:
        """Return our value."""
        return self.centre((panel, line, place))

    def centre(self, key: Key) -> float:
        """Return the mean over the seeds."""
        return float(np.mean(self.ours[key]))

    def spread(self, key: Key) -> float:
        """Return the standard error of the mean; NaN of a single value."""
        values = self.ours[key]
        return float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else np.nan

    def places(self, panel: str, line: str) -> list[float | str]:
        """Return where a line of a panel has values of ours."""
        return [place for p, name, place in self.ours if (p, name) == (panel, line)]

    def beside(self, panel: str, line: str) -> list[tuple[float | str, float, float]]:
        """Return each place that has both values: the place, ours, the published one."""
        pairs = [(x, self.published.get((panel, line, x))) for x in self.places(panel, line)]
        return [(x, self.of(panel, line, x), theirs) for x, theirs in pairs if theirs is not None]

    @classmethod
    def read(cls, name: str) -> Results:
        """Return what was kept of a figure, nothing if there is no file."""
        path = RESULTS / f"{name}.json"
        if not path.exists():
            return cls()
        kept = json.loads(path.read_text(encoding="utf-8"))
        return cls(
            {tuple(key): values for *key, _, values in kept["rows"] if values},
            {tuple(key): theirs for *key, theirs, _ in kept["rows"] if theirs is not None},
            {(job, seed): seconds for job, seed, seconds in kept["runs"]},
            set(kept["versions"]),
        )

    def write(self, name: str) -> None:
        """Keep all of it, a line a row."""
        keys = dict.fromkeys([*self.ours, *self.published])
        rows = [[*key, self.published.get(key), self.ours.get(key, [])] for key in keys]
        runs = [[*run, seconds] for run, seconds in self.runs.items()]
        parts = {"versions": sorted(self.versions), "runs": runs, "rows": rows}
        fields = [
            f'"{k}": [\n' + ",\n".join(json.dumps(v, ensure_ascii=False) for v in vs) + "\n]" for k, vs in parts.items()
        ]
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{name}.json").write_text("{\n" + ",\n".join(fields) + "\n}\n", encoding="utf-8")


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, or of ours, and what says whether it holds here: a verdict and the figures behind it."""

    text: str
    check: Callable[[Results], tuple[bool, str]]
    published: bool = True


@dataclass(frozen=True)
class Figure:
    """Figure of a paper: `run(seed, *job)` measures all of a job's values for a seed.

    `jobs` says how many seeds each job has; `shown` which rows the table has; lines in `bars` have names as places.
    """

    name: str
    paper: str
    title: str
    setting: str
    axes: tuple[str, str]  # labels
    jobs: Mapping[tuple[Any, ...], int]
    run: Callable[..., Values]
    claims: Sequence[Claim] = ()
    published: Callable[[], Values] = dict
    logs: str = ""  # "x", "y" or "xy"
    bars: bool = False
    shown: Callable[[Key], bool] = lambda _: True
    panels: Callable[[str], bool] = lambda _: True  # which are drawn

    def complete(self, results: Results) -> bool:
        """Say whether each job was run."""
        return {" ".join(map(str, job)) for job in self.jobs} <= {job for job, _ in results.runs}

    def measure(self, most_seeds: int | None = None) -> None:
        """Make the runs that are not kept yet, first seeds first, and keep each as it ends."""
        results = Results.read(self.name)
        results.published = {key: rounded(value) for key, value in self.published().items()}
        most = max(self.jobs.values()) if most_seeds is None else most_seeds
        for seed in range(most):
            for job, seeds in self.jobs.items():
                name = " ".join(map(str, job))
                if seed >= seeds or (name, seed) in results.runs:
                    continue
                began = time.perf_counter()
                values = self.run(seed, *job)
                results.runs[name, seed] = round(time.perf_counter() - began, 2)
                results.versions.add(pypgm.__version__)
                for key, value in values.items():
                    results.ours.setdefault(key, []).append(rounded(value))
                results.write(self.name)
                print(f"{self.name}: {name}, seed {seed}, {results.runs[name, seed]:.1f} s", flush=True)
        results.write(self.name)


def rounded(value: float) -> float:
    """Return a value as it is kept, with four digits."""
    return float(f"{value:.4g}")


def folder() -> Path:
    """Return the folder of the tables and of the published results."""
    if "PYPGM_DATA" not in os.environ:
        sys.exit("PYPGM_DATA must name the folder that holds a folder of each table, and published/")
    return Path(os.environ["PYPGM_DATA"])


def load(table: str) -> pypgm.Dataset:
    """Return a public table."""
    (path,) = (folder() / table).glob("*.csv*")
    return pypgm.read_table(path, pypgm.read_domain(folder() / table / "domain.json"))


def private_table(data: pypgm.Dataset, epsilon: int | Fraction, seed: int) -> pypgm.PrivateTable:
    """Open a table whose number of records is public, for a pure budget."""
    ledger = pypgm.Ledger(pypgm.Budget(epsilon=epsilon))
    return pypgm.PrivateTable(data, pypgm.Privacy("replace"), ledger, unsafe_seed=seed)


def check_budget(*releases: Any) -> None:
    """Raise where a release has spent more than its budget."""
    for release in releases:
        if release.ledger.spent() > release.ledger.budget.limit:
            raise AssertionError(f"{release.ledger.spent()} was spent of {release.ledger.budget.limit}")


def distance(answered: np.ndarray, true: np.ndarray) -> float:
    """Return the total variation of counts from others, as a part of the latter's sum."""
    return float(np.abs(answered - true).sum() / true.sum() / 2)
