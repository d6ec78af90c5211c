"""Figures 2a to 2c of the paper on relaxed consistency: errors of region graphs, and the time of an estimate."""

from __future__ import annotations

import csv
import itertools
from collections import defaultdict
from collections.abc import Iterable

import numpy as np

import pypgm
from bench.paper.figure import Claim, Figure, Results, Values, distance, folder

PAPER = "Relaxed marginal consistency: McKenna, Pradhan, Sheldon and Miklau 2021"
DOMAIN = pypgm.Domain({f"x{i}": 4 for i in range(8)})
TRIPLES = list(itertools.combinations(DOMAIN.attributes, 3))
RECORDS = 10_000
TEMPERATURE = 3.0
MEASURED = (5, 10, 15, 25, 35, 45)
ORACLES = {"exact": "exact", "region graph": "approx", "factor graph": "pairwise", "all triples": "approx2"}
IN, OUT = "measured triples", "unmeasured triples"


def _tree(rng: np.random.Generator) -> list[tuple[str, str]]:
    """Return a tree drawn evenly from all labelled trees, by its Pruefer code."""
    code = rng.integers(8, size=6)
    degree = np.bincount(code, minlength=8) + 1
    edges = []
    for node in code:
        leaf = int(np.flatnonzero(degree == 1)[0])
        edges.append((leaf, int(node)))
        degree[[leaf, node]] -= 1
    a, b = np.flatnonzero(degree == 1)
    return [(f"x{min(e)}", f"x{max(e)}") for e in [*edges, (int(a), int(b))]]


def _instance(seed: int, m: int) -> tuple[dict[tuple[str, ...], np.ndarray], list[pypgm.LinearMeasurement]]:
    """Return the counts of all triples, and noisy ones of m of them."""
    rng = np.random.default_rng(seed)
    potentials = pypgm.CliqueVector(DOMAIN, _tree(rng))
    potentials.values[:] = TEMPERATURE * rng.normal(size=potentials.values.size)
    joint = pypgm.GraphicalModel(potentials, 1.0).project(DOMAIN.attributes).datavector()
    table = pypgm.Factor(DOMAIN, rng.multinomial(RECORDS, joint / joint.sum()))
    truth = {t: table.project(t).datavector() for t in TRIPLES}
    chosen = [TRIPLES[i] for i in rng.choice(len(TRIPLES), m, replace=False)]
    noisy = [
        pypgm.LinearMeasurement(truth[t] + rng.laplace(scale=m, size=64), t, np.sqrt(2.0) * m, noise="laplace")
        for t in chosen
    ]
    return truth, noisy


def _errors(seed: int, m: int) -> Values:
    truth, noisy = _instance(seed, m)
    inside = [x.clique for x in noisy]
    outside = [t for t in TRIPLES if t not in set(inside)]
    oracles = {
        "exact": "exact",
        "region graph": "region_graph",
        "factor graph": "factor_graph",
        "all triples": pypgm.RegionGraph.saturated(DOMAIN, inside, extra=TRIPLES),
    }

    def error(answers: Iterable[pypgm.Factor], triples: list[tuple[str, ...]]) -> float:
        return float(np.mean([distance(a.datavector(), truth[t]) for a, t in zip(answers, triples, strict=True)]))

    values = {(IN, "noisy", m): float(np.mean([distance(x.values, truth[x.clique]) for x in noisy]))}
    for name, oracle in oracles.items():
        model = pypgm.estimate(DOMAIN, noisy, float(RECORDS), oracle=oracle, stop="optimum")
        values[IN, name, m] = error(model.project_many(inside), inside)
        method = None if name == "exact" else {"method": "local"}
        values[OUT, name, m] = error(model.project_many(outside, **(method or {})), outside)
        if name == "region graph":
            values[OUT, "region graph, combined", m] = error(model.project_many(outside, method="combined"), outside)
            stopped = pypgm.estimate(DOMAIN, noisy, float(RECORDS), oracle=oracle)
            values[IN, "region graph, default stop", m] = error(stopped.project_many(inside), inside)
    return values


def _published_errors() -> Values:
    rows = defaultdict(list)
    names = {theirs: ours for ours, theirs in ORACLES.items()}
    with (folder() / "published" / "exact_vs_approx.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            m = int(row["measurements"])
            if float(row["temperature"]) == TEMPERATURE and m in MEASURED and row["oracle"] in names:
                rows[IN, names[row["oracle"]], m].append(float(row["error_in"]))
                rows[OUT, names[row["oracle"]], m].append(float(row["error_out"]))
                rows[IN, "noisy", m].append(float(row["baseline_in"]))
    return {key: float(np.nanmean(values)) for key, values in rows.items()}


def _ordered(results: Results) -> tuple[bool, str]:
    ordered = {}
    for m in results.places(IN, "exact"):
        order = [results.of(IN, name, m) for name in ("exact", "region graph", "factor graph", "noisy")]
        ordered[m] = order == sorted(order)
    return all(ordered.values()), f"at {sum(ordered.values())} of {len(ordered)} numbers of triples"


def _as_published(panel: str, line: str, theirs: str | None = None) -> Claim:
    def check(results: Results) -> tuple[bool, str]:
        pairs = {
            m: (results.of(panel, line, m), results.published.get((panel, theirs or line, m)))
            for m in results.places(panel, line)
        }
        ratios = {m: ours / value for m, (ours, value) in pairs.items() if value}
        return np.mean(list(ratios.values())) < 1.1, "ours over theirs " + ", ".join(
            f"{r:.2f} at {m}" for m, r in ratios.items()
        )

    name = f"{line}, beside the published {theirs}" if theirs else line
    return Claim(f"errors of {name}, on {panel}, or less, within 10 % in the mean", check)


ATTRIBUTES, VALUES, LOOPS = 100, 10, 25
SIZES = {"region graph": (1, 11, 42, 109, 1048, 4714, 10_000), "exact": (1, 11, 24, 42)}


def _seconds(_: int, method: str, k: int) -> Values:
    """Return the seconds of 25 iterations over random triples."""
    rng = np.random.default_rng(k)
    names = [f"x{i:02}" for i in range(ATTRIBUTES)]
    domain = pypgm.Domain(dict.fromkeys(names, VALUES))
    triples: set[tuple[int, ...]] = set()
    while len(triples) < k:
        triples.add(tuple(sorted(rng.choice(ATTRIBUTES, 3, replace=False).tolist())))
    noisy = [
        pypgm.LinearMeasurement(rng.normal(10.0, 14.0, VALUES**3), tuple(names[i] for i in t), 14.0)
        for t in sorted(triples)
    ]
    model = pypgm.estimate(
        domain,
        noisy,
        10_000.0,
        oracle="exact" if method == "exact" else "region_graph",
        stop="optimum",
        tolerance=0,
        iterations=LOOPS,
    )
    return {("random triples", method, k): model.fit.seconds}


def _published_seconds() -> Values:
    names = {"approx": "region graph", "exact": "exact"}
    with (folder() / "published" / "exact_vs_approx_large.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["selection"] == "random"]
    values = {("random triples", names[r["oracle"]], int(r["measurements"])): float(r["time"]) for r in rows}
    return dict(sorted(values.items(), key=lambda item: (item[0][1], item[0][2])))


def _scales(results: Results) -> tuple[bool, str]:
    parts = [
        f"{ours:.2g} s at {k} ({theirs:.3g})"
        for k, ours, theirs in results.beside("random triples", "region graph")
        if k >= 1000
    ]
    times = dict.fromkeys(results.places("random triples", "region graph"))
    return 10_000 in times and bool(parts), ", ".join(parts)


FIGURES = [
    Figure(
        name="regions-errors",
        paper=PAPER,
        title="Figures 2a, 2b: errors on measured and unmeasured triples",
        setting="Eight attributes of four values, 10,000 records of a random tree model at temperature 3, random "
        "triples measured with Laplace noise of a scale of their number; mean total variation at the optimum. "
        '"all triples" is the over-saturated graph. Published means are of other draws of the data.',
        axes=("triples measured", "mean total variation"),
        jobs={(m,): 5 for m in MEASURED},
        run=_errors,
        published=_published_errors,
        claims=[
            Claim("exact errs least, then the region graph, the factor graph and the noisy tables", _ordered),
            *(_as_published(IN, name) for name in ORACLES),
            *(_as_published(OUT, name) for name in ORACLES),
            _as_published(OUT, "region graph, combined", "region graph"),
        ],
        logs="y",
    ),
    Figure(
        name="regions-size",
        paper=PAPER,
        title="Figure 2c: time by the number of triples",
        setting="Random triples of a hundred attributes of ten values, 25 iterations; the published times are of two "
        "cores of 2.4 GHz, with random triples (its greedy choice is not run).",
        axes=("triples measured", "seconds"),
        jobs={(method, k): 1 for method, sizes in SIZES.items() for k in sizes},
        run=_seconds,
        published=_published_seconds,
        claims=[Claim("an estimate over the region graph takes 10,000 triples", _scales)],
        logs="xy",
        shown=lambda key: key[2] in SIZES["region graph"] + SIZES["exact"],
    ),
]
