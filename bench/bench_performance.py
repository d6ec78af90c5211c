"""Whole jobs: seconds, a peer's in the same run, the machine's limit, how they grow; kept in performance.json.

Run: [PYPGM_DATA=...] python bench/bench_performance.py [--cases wide,mst,...] [--threads 1] [--mbi PYTHON]

Each case runs in a process of its own: CPU seconds, user and system, of the job alone, without reading the data. In the
same process NumPy's exp and a copy of an array are timed: what the machine takes for a cell and for a byte. Cases on
the adult table and on networks need PYPGM_DATA; pgmpy and pyAgrum run where they can be imported (with PYTHONPATH,
say), mbi in the environment whose Python is given. Figures are kept in performance.json, those of other cases stay;
the site has a page made from that file. Without `--cases` all run but those that take minutes: `vast` and `others`.
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import importlib.util
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import harness
import numpy as np
import performance_page
from harness import binary, check
from performance_page import Row

HERE = Path(__file__).parent
OPTIONS = argparse.Namespace()
timed = partial(harness.timed, clock=time.process_time)


def error(data, source, n_pairs: int = 200) -> float:
    """Return the mean total variation of some pairs."""
    pairs = list(itertools.combinations(data.domain, 2))
    some = [pairs[i] for i in np.random.default_rng(1).permutation(len(pairs))[:n_pairs]]
    scale = len(data) / source.total if hasattr(source, "total") else len(data) / len(source)
    apart = [np.abs(data.project(p).values - scale * source.project(p).values).sum() for p in some]
    return float(np.mean(apart)) / 2 / len(data)


def first() -> Iterator[Row]:
    """Import and a first estimate."""

    def job():
        import pypgm

        domain = pypgm.Domain({"a": 3, "b": 4, "c": 2})
        pairs = [pypgm.LinearMeasurement(np.ones(domain.size(p)), p) for p in itertools.combinations(domain, 2)]
        return pypgm.estimate(domain, pairs, 12)

    model, seconds = timed(job)
    np.testing.assert_allclose(model.project(("a", "b")).values, 1.0, atol=0.2)
    yield Row("import of pypgm, NumPy apart, and an estimate of three pairs", seconds)


def wide() -> Iterator[Row]:
    """All pairs of binary columns, and of more records."""
    for attributes in (20, 40, 60, 100, 200):
        yield _wide(attributes, 5_000, "columns", attributes)
    for n in (20_000, 100_000, 500_000):
        yield _wide(30, n, "records", n)


def vast() -> Iterator[Row]:
    """The same of many columns."""
    yield _wide(500, 5_000, "columns", 500)


def _wide(attributes: int, n: int, axis: str, x: int) -> Row:
    from pypgm import mechanisms

    data, pairs = binary(attributes, n), attributes * (attributes - 1) // 2
    release, seconds = timed(lambda: mechanisms.wide(data, 1, 1e-9, unsafe_seed=0))
    harness.check_spent(release)
    check(error(data, release.model) < 0.06, "the model is no better than single attributes")
    job = f"`wide`, {attributes} binary columns, {n:,} records"
    return Row(job, seconds, f"{axis}: `wide`, binary", x, moved=2 * n * pairs)


def mst() -> Iterator[Row]:
    """Spanning trees of binary columns."""
    from pypgm import mechanisms

    for attributes in (100, 200, 400):
        data = binary(attributes)
        release, seconds = timed(lambda data=data: mechanisms.mst(data, 1, 1e-9, unsafe_seed=0))
        check(len(release.measurements) == 2 * attributes - 1, "that is no spanning tree")
        moved = len(data) * attributes * (attributes - 1)
        yield Row(f"`mst`, {attributes} binary columns", seconds, "columns: `mst`, binary", attributes, moved=moved)


def read() -> Iterator[Row]:
    """Files of many columns."""
    import pypgm
    from pypgm.data import scan

    for n in (4_000, 16_000):
        codes, domain = np.random.default_rng(0).integers(0, 2, (20, n)), pypgm.Domain({f"x{i}": 2 for i in range(n)})
        with tempfile.TemporaryDirectory() as made:
            path = Path(made) / "wide.csv"
            path.write_text("\n".join(map(",".join, [domain.attributes, *codes.astype(str)])), encoding="utf-8")
            peer = {}
            if importlib.util.find_spec("pandas"):
                import pandas

                peer = {"peer": "pandas", "peer_seconds": timed(pandas.read_csv, path)[1]}
            for name, job in (("read_table", pypgm.read_table), ("scan", scan)):
                table, seconds = timed(job, path, domain)
                counted = table.count([("x7",)])[0]
                check(list(counted) == list(np.bincount(codes[:, 7], minlength=2)), "other records were read")
                line = f"`{name}` of a CSV file of {n:,} columns, 20 records"
                yield Row(line, seconds, f"columns: `{name}`", n, moved=path.stat().st_size, **peer)


def measure_many() -> Iterator[Row]:
    """Charges and noise of many pairs."""
    import pypgm

    data = binary(200, 100)
    pairs = list(itertools.combinations(data.domain, 2))
    table = pypgm.PrivateTable(data, "add-remove", pypgm.Ledger(pypgm.Budget(rho=1)), n_threads=1)
    measured, seconds = timed(lambda: table.measure_many(pairs, rho=1))
    check(len(measured) == len(pairs) and table.ledger.remaining() == 0, "not all was measured, or spent")
    drawn = timed(lambda: np.random.default_rng(0).normal(size=4 * len(pairs)))[1]
    job = f"`measure_many`, {len(pairs):,} pairs of binary columns, 100 records"
    yield Row(job, seconds, peer="NumPy's normal numbers alone", peer_seconds=drawn)


def adult() -> Iterator[Row]:
    """Releases and records of the adult table."""
    from pypgm import mechanisms, workloads

    data = harness.table("adult")
    pairs = 2 * len(data) * len(data.domain) * (len(data.domain) - 1) // 2
    release, seconds = timed(lambda: mechanisms.wide(data, 1, 1e-9, unsafe_seed=0))
    model_error = error(data, release.model)
    check(model_error < 0.04, "the model is far off")
    yield Row("`wide`, adult, all pairs, epsilon 1", seconds, moved=pairs)
    for which in ("first draw", "again"):
        records, seconds = timed(lambda: release.synthetic_data(rng=0))
        check(error(data, records) < 1.05 * model_error + 0.001, "the records are far from their model")
        yield Row(f"its synthetic records, {which}", seconds, moved=2 * len(data) * len(data.domain))
    records, seconds = timed(lambda: release.synthetic_data(10**6, rng=0))
    yield Row("a million of its records", seconds, moved=2e6 * len(data.domain))
    release, seconds = timed(lambda: mechanisms.aim(data, 10, 1e-9, unsafe_seed=1))
    check(error(data, release.model) < 0.02, "the model is far off")
    yield Row("`aim`, adult, all pairs, epsilon 10", seconds, moved=pairs)
    triples = workloads.with_target(data.domain, "income>50K", 3)
    release, seconds = timed(lambda: mechanisms.wide(data, 10, 1e-9, workload=triples, unsafe_seed=0))
    harness.check_spent(release)
    yield Row("`wide`, adult, triples with a target, epsilon 10", seconds, moved=pairs)


def intervals() -> Iterator[Row]:
    """Intervals of statistics that read one column of adult, five, and all."""
    from pypgm import mechanisms

    data = harness.table("adult")
    names, codes = data.domain.attributes, data.columns
    release = mechanisms.wide(data, 1, 1e-9, unsafe_seed=0)
    for what, read in (
        ("the mean of a column", names[:1]),
        ("that of another", names[2:3]),
        ("the means of five columns", names[:5]),
        ("the means of all", names),
    ):
        interval, seconds = timed(release.interval, lambda table, read=read: [np.mean(table[a]) for a in read])
        held = [
            low <= np.mean(codes[a]) <= high for a, low, high in zip(read, interval.low, interval.high, strict=True)
        ]
        check(sum(held) >= 0.7 * len(read), "intervals do not hold the means")
        check(len(interval.attributes) == len(read), "other columns are read")
        yield Row(f"interval of {what}, adult", seconds)


def records() -> Iterator[Row]:
    """Records of models of many columns, and of columns of many values."""
    import pypgm

    rng = np.random.default_rng(0)
    domain = pypgm.Domain({f"x{i}": 2 for i in range(10_000)})
    chain = list(itertools.pairwise(domain))
    model = pypgm.GraphicalModel(pypgm.CliqueVector(domain, chain, rng.normal(0, 1, 4 * len(chain))), 1000.0)
    drawn, seconds = timed(model.synthetic_data, 1000, 0, evidence={"x5000": 1})
    wanted = model.query("x5001", {"x5000": 1}).values[1]
    check(drawn["x5000"].all(), "the evidence does not hold")
    check(abs(drawn["x5001"].mean() - wanted) < 0.05, "a neighbour does not follow")
    yield Row("1,000 records given evidence, a chain of 10,000 columns", seconds, moved=2e7)
    for d in (500, 1000, 4000):
        yield _drawn(_banded(rng, [2] * d), 3, "a band of pairs of {} binary columns", "columns: records of a band", d)
    yield _drawn(
        _banded(rng, [2 + 262 * (i % 6 == 0) + i for i in range(24)]), 12, "pairs of {} columns of up to 282 values"
    )


def triples() -> Iterator[Row]:
    """Triples that no region holds, of columns of up to 501 values."""
    import pypgm

    data, rng = _banded(np.random.default_rng(0), [501, 12, 7, 5, 40, 15, 9, 2, 100], 20_000), np.random.default_rng(1)
    pairs, triples = (list(itertools.combinations(data.domain, k)) for k in (2, 3))
    noisy = [data.project(p).datavector() + rng.normal(0, 8, data.domain.size(p)) for p in pairs]
    measured = [pypgm.LinearMeasurement(y, p, 8.0) for y, p in zip(noisy, pairs, strict=True)]
    model = pypgm.estimate(data.domain, measured, len(data), oracle="region_graph", iterations=100)
    tables, seconds = timed(model.project_many, triples[:69])
    check(np.mean([table.violation for table in tables]) < 1e-3, "the triples are far from what regions say of pairs")
    cells = sum(table.values.size for table in tables)
    yield Row(f"69 triples that no region holds, {cells:,} cells", seconds, cells=cells)


def _banded(rng: np.random.Generator, sizes: list[int], n: int = 5_000):
    import pypgm

    columns: dict[str, np.ndarray] = {}
    for i, size in enumerate(sizes):
        fresh = rng.integers(0, size, n)
        near = [columns[f"x{j}"] % size for j in range(max(0, i - 3), i)]
        columns[f"x{i}"] = np.where(rng.random(n) < 0.3, fresh, near[rng.integers(len(near))]) if near else fresh
    return pypgm.Dataset(columns, pypgm.Domain(list(columns), sizes))


def _drawn(data, width: int, what: str, curve: str = "", x: int = 0) -> Row:
    """Draw as many records as there were from what noisy pairs of near columns say of all."""
    import pypgm

    rng, names = np.random.default_rng(1), data.domain.attributes
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 : i + 1 + width]]
    noisy = [data.project(p).datavector() + rng.normal(0, 10, data.domain.size(p)) for p in pairs]
    measured = [pypgm.LinearMeasurement(y, p, 10.0) for y, p in zip(noisy, pairs, strict=True)]
    model = pypgm.estimate(data.domain, measured, len(data), oracle="region_graph")
    drawn, seconds = timed(model.synthetic_data, len(data), 0)
    check(harness.total_variation(drawn, model, pairs[:50]) < 0.1, "the records are far from their model")
    line = f"{len(data):,} records, {what.format(f'{len(names):,}')}"
    return Row(line, seconds, curve, x, moved=2 * len(data) * len(names))


def others() -> Iterator[Row]:
    """Further mechanisms, with their defaults."""
    from pypgm import mechanisms

    data = harness.table("adult")
    for name in ("hdmm", "mwem", "adaptive_grid", "privbayes", "fem", "screen"):
        release, seconds = timed(lambda name=name: getattr(mechanisms, name)(data, 1, 1e-9, unsafe_seed=0))
        harness.check_spent(release)
        yield Row(f"`{name}`, adult, defaults, epsilon 1", seconds)


def scans() -> Iterator[Row]:
    """Number of passes over a table in a file, once it is open."""
    from pypgm import mechanisms
    from pypgm.data import scan

    folder = harness.data_folder() / "adult"
    for name in ("wide", "mst", "aim"):
        table, passes = scan(folder / "adult.csv.gz", harness.table("adult").domain), []
        counted = table._scan
        table._scan = lambda *given, scan=counted, seen=passes: (seen.append(1), scan(*given))[1]
        getattr(mechanisms, name)(table, 1, 1e-9, unsafe_seed=0)
        yield Row(f"how often `{name}` reads a file, adult", len(passes), unit="times")


def plans() -> Iterator[Row]:
    """Memory and seconds as `plan` announces them, each beside a run in a process of its own."""
    import multiprocessing

    from bench_plan import announced_by_plan, used_by_run

    for mechanism, table in (("wide", "adult"), ("aim", "adult"), ("mst", "adult"), ("wide", "60 binary columns")):
        with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
            announced, used = (pool.apply(job, (mechanism, table)) for job in (announced_by_plan, used_by_run))
        for unit, promised, measured in zip(("MiB", "s by the clock"), announced, used, strict=True):
            what = "memory" if unit == "MiB" else "time"
            yield Row(f"{what} of `{mechanism}`, {table}", measured, peer="plan", peer_seconds=promised, unit=unit)


def star() -> Iterator[Row]:
    """Plans of many pairs around one attribute."""
    import pypgm

    for n in (1_000, 4_000, 8_000):
        domain = pypgm.Domain({"c": 3} | {f"x{i}": 2 for i in range(n)})
        cliques = [("c", f"x{i}") for i in range(n)]
        tables = np.random.default_rng(0).normal(0, 0.1, (n, 3, 2))
        potentials = pypgm.CliqueVector(domain, cliques, tables.ravel())
        messages = np.log(np.exp(tables).sum(axis=2))
        logs = messages.sum(axis=0) - messages[7] + tables[7, :, 1]
        wanted = np.exp(logs - logs.max())
        tree, seconds = timed(pypgm.JunctionTree, domain, cliques)
        model = pypgm.GraphicalModel(potentials, 1.0, tree=tree)
        answer, more = timed(model.query, "c", {"x7": 1})
        np.testing.assert_allclose(answer.values, wanted / wanted.sum(), rtol=1e-9)
        yield Row(f"`JunctionTree` of a star of {n:,} pairs", seconds, "columns: tree of a star", n)
        yield Row(f"a query with evidence on a star of {n:,} pairs", more, "columns: query on it", n, cells=6 * n)
        _, more = timed(model.query, "x0", {"x7": 1})
        yield Row(f"another of that evidence on a star of {n:,} pairs", more)


def closure() -> Iterator[Row]:
    """Closures of wide cliques."""
    import pypgm

    names = [f"x{i}" for i in range(20)]
    for n in (20, 30, 45):
        rng = np.random.default_rng(0)
        cliques = [tuple(names[i] for i in sorted(rng.permutation(20)[:14])) for _ in range(n)]
        domain = pypgm.Domain(dict.fromkeys(names, 2))
        graph, seconds = timed(pypgm.RegionGraph.saturated, domain, cliques, max_bytes=1e12)
        regions = list(map(set, graph.regions))
        held = set(map(frozenset, regions))
        met = [frozenset(regions[i] & regions[j]) for i, j in rng.integers(len(regions), size=(500, 2))]
        check(all(m in held or not m for m in met), "the regions are not closed under intersection")
        yield Row(f"closure of {n} cliques of 14 of 20 attributes, {len(regions):,} regions", seconds)


def chains() -> Iterator[Row]:
    """An iteration on chains of triples: at a fixed step beside mbi's, and of the default estimate."""
    import bench_descent as descent

    import pypgm

    for d in (10, 30, 100, 1000):
        domain, measured = descent.chain_problem(d)
        cells, n = 1000 * (d - 2), max(10, 2000 // d)
        peer = {}
        if OPTIONS.mbi and d <= 100:
            peer = {"peer": "mbi 2.0.0", "peer_seconds": descent.with_mbi(OPTIONS.mbi, str(d), n, 3, 1)[2] / 1e3}
        descent.check(pypgm.estimate(domain, measured, 1e5, stepsize=descent.STEP, tolerance=0, iterations=20))
        seconds = descent.seconds_per_iteration(domain, measured, n, OPTIONS.threads)
        moved = {"cells": cells, "moved": 32 * cells if d > 100 else 0}
        of = f"{d:,} attributes, {cells:,} cells"
        yield Row(f"iteration at a fixed step, {of}", seconds, "cells: fixed step", cells, **moved, **peer)
        how = {"stop": "optimum", "tolerance": 0, "n_threads": OPTIONS.threads}
        jobs = [partial(pypgm.estimate, domain, measured, 1e5, iterations=k * n, **how) for k in (1, 3)]
        few, many = (harness.median_seconds(job, 3, time.process_time) for job in jobs)
        yield Row(f"of the default estimate, {of}", (many - few) / 2 / n, "cells: default estimate", cells, **moved)


def networks() -> Iterator[Row]:
    """Everyday tasks on a network, beside pgmpy and pyAgrum."""
    if not (importlib.util.find_spec("pgmpy") and importlib.util.find_spec("pyagrum")):
        return  # without peers `bench_networks.py` has the figures
    import bench_network_tasks as tasks

    for task in tasks.tasks(harness.network_file("alarm")):
        seconds = harness.median_seconds(task.ours, 3, time.process_time)
        peers = {p: u * harness.median_seconds(call, 1, time.process_time) for p, (call, u) in task.peers.items()}
        peer = min(peers, key=peers.__getitem__)
        yield Row(f"{task.name}, alarm", seconds, peer=peer, peer_seconds=peers[peer])


def synth() -> Iterator[Row]:
    """The command on the adult table."""
    import pypgm

    folder = harness.data_folder() / "adult"
    with tempfile.TemporaryDirectory() as made:
        out = Path(made) / "synthetic.csv"
        files = [str(folder / "adult.csv.gz"), "--schema", str(folder / "domain.json"), "--out", str(out)]
        command = [sys.executable, "-m", "pypgm", "synth", *files, "--epsilon", "1", "--delta", "1e-9"]
        subprocess.run(command, check=True, capture_output=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        data = harness.table("adult")
        check(error(data, pypgm.read_table(out, data.domain)) < 0.04, "the records are far off")
        moved = out.stat().st_size + len(gzip.decompress((folder / "adult.csv.gz").read_bytes()))
    yield Row("`pypgm synth`, adult, defaults, whole process", used.ru_utime + used.ru_stime, moved=moved)


CASES = {
    job.__name__: job
    for job in (
        first,
        synth,
        read,
        wide,
        vast,
        measure_many,
        mst,
        adult,
        intervals,
        records,
        triples,
        others,
        scans,
        plans,
    )
}
CASES |= {job.__name__: job for job in (star, closure, chains, networks)}
NEED_DATA = {"synth", "adult", "intervals", "others", "scans", "plans", "networks"}


def main() -> None:
    """Run the cases, keep and print their lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cases", default=",".join(case for case in CASES if case not in {"vast", "others"}))
    parser.add_argument("--mbi", help="the Python of an environment that has mbi")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args(namespace=OPTIONS)
    if arguments.one:
        rows = [dataclasses.asdict(row) for row in CASES[arguments.one]()]
        machine = {"exp": _seconds(np.exp), "copy": _seconds(np.copy) / 16, "threads": OPTIONS.threads}
        print(json.dumps([row | machine | {"load": os.getloadavg()[0]} for row in rows]))
        return
    for case in filter(None, arguments.cases.split(",")):
        if case in NEED_DATA and "PYPGM_DATA" not in os.environ:
            print(f"{case}: skipped without PYPGM_DATA")
            continue
        command = [sys.executable, *sys.argv, "--one", case]
        environment = os.environ | {"OMP_NUM_THREADS": str(OPTIONS.threads)}
        ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        rows_of_case = json.loads(ran.stdout.splitlines()[-1])
        kept = {(row["job"], row["unit"], row["threads"]): row for row in [*performance_page.kept(), *rows_of_case]}
        performance_page.KEPT.write_text(json.dumps([*kept.values()], indent=0) + "\n", encoding="utf-8")
        print("".join(map(performance_page.line, rows_of_case)), end="", flush=True)


def _seconds(pass_over) -> float:
    """Return the seconds of a pass over 10^7 cells, the median of five, for one of them."""
    cells = np.linspace(-9, 0, 10**7)
    return harness.median_seconds(lambda: pass_over(cells), clock=time.process_time) / cells.size


if __name__ == "__main__":
    main()
