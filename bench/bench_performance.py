"""Whole jobs and how they grow: CPU seconds of one process each, answers checked first; writes docs/performance.md.

Run: [PYPGM_DATA=...] python bench/bench_performance.py [--threads 1 2] [--cases wide,mst,...] [--write]

Each case runs in a process of its own for each number of threads: CPU seconds, user and system, of the job alone,
without reading the data; beside it NumPy's exp over 10^7 cells in the same process, the unit of the machine in that
moment. Cases on the adult table need PYPGM_DATA. With `--write` the page of the documentation has the new lines, each
in the place of that of the same job and threads.
"""

from __future__ import annotations

import argparse
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
from harness import binary, check

Line = tuple[str, float]
PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
HEAD = """# What whole jobs take

CPU seconds of one process, user and system, threads as named: the job alone, without reading the data. `exp` is NumPy's
over 10^7 cells in the same process, the unit of the machine in that moment. Made by `python bench/bench_performance.py
--write`, on a shared machine of two cores that was busy with other work (load {load:.0f}): ratios tell more than
seconds, and a quiet machine takes less. Every answer is checked before its line is printed; growth itself is tested by
counting calls and plans (`tests/package/test_growth.py`), not by time. Iterations, kernels and peers are measured by
the other files of [bench/](../bench/README.md).

| job | threads | CPU s | exp |
|---|---|---|---|
"""


timed = partial(harness.timed, clock=time.process_time)


def error(data, source, n_pairs: int = 200) -> float:
    """Return the mean total variation of some pairs."""
    pairs = list(itertools.combinations(data.domain, 2))
    some = [pairs[i] for i in np.random.default_rng(1).permutation(len(pairs))[:n_pairs]]
    scale = len(data) / source.total if hasattr(source, "total") else len(data) / len(source)
    apart = [np.abs(data.project(p).values - scale * source.project(p).values).sum() for p in some]
    return float(np.mean(apart)) / 2 / len(data)


def first() -> Iterator[Line]:
    """Import and a first estimate."""

    def job():
        import pypgm

        domain = pypgm.Domain({"a": 3, "b": 4, "c": 2})
        pairs = [pypgm.LinearMeasurement(np.ones(domain.size(p)), p) for p in itertools.combinations(domain, 2)]
        return pypgm.estimate(domain, pairs, 12)

    model, seconds = timed(job)
    np.testing.assert_allclose(model.project(("a", "b")).values, 1.0, atol=0.2)
    yield "import of pypgm, NumPy apart, and an estimate of three pairs", seconds


def wide() -> Iterator[Line]:
    """All pairs of binary columns."""
    from pypgm import mechanisms

    for attributes in (20, 40, 60, 100, 200):
        data = binary(attributes)
        release, seconds = timed(lambda data=data: mechanisms.wide(data, 1, 1e-9, unsafe_seed=0))
        check(release.ledger.spent() <= release.ledger.budget.limit, "more than the budget was spent")
        check(error(data, release.model) < 0.06, "the model is no better than single attributes")
        yield f"`wide`, {attributes} binary columns, {attributes * (attributes - 1) // 2:,} pairs", seconds


def read() -> Iterator[Line]:
    """Files of many columns."""
    import pypgm
    from pypgm.data import scan

    for n in (4_000, 16_000):
        codes, domain = np.random.default_rng(0).integers(0, 2, (20, n)), pypgm.Domain({f"x{i}": 2 for i in range(n)})
        with tempfile.TemporaryDirectory() as made:
            path = Path(made) / "wide.csv"
            path.write_text("\n".join(map(",".join, [domain.attributes, *codes.astype(str)])), encoding="utf-8")
            for name, job in (("read_table", pypgm.read_table), ("scan", scan)):
                table, seconds = timed(lambda path=path, domain=domain, job=job: job(path, domain))
                counted = table.count([("x7",)])[0]
                check(list(counted) == list(np.bincount(codes[:, 7], minlength=2)), "other records were read")
                yield f"`{name}` of a CSV file of {n:,} columns, 20 records", seconds


def measure_many() -> Iterator[Line]:
    """Charges and noise of many pairs."""
    import pypgm

    data = binary(200, 100)
    pairs = list(itertools.combinations(data.domain, 2))
    table = pypgm.PrivateTable(data, "add-remove", pypgm.Ledger(pypgm.Budget(rho=1)), n_threads=1)
    measured, seconds = timed(lambda: table.measure_many(pairs, rho=1))
    check(len(measured) == len(pairs) and table.ledger.remaining() == 0, "not all was measured, or spent")
    yield f"`measure_many`, {len(pairs):,} pairs of binary columns, 100 records", seconds


def mst() -> Iterator[Line]:
    """Spanning trees of binary columns."""
    from pypgm import mechanisms

    for attributes in (50, 100, 200):
        data = binary(attributes)
        release, seconds = timed(lambda data=data: mechanisms.mst(data, 1, 1e-9, unsafe_seed=0))
        check(len(release.measurements) == 2 * attributes - 1, "that is no spanning tree")
        yield f"`mst`, {attributes} binary columns", seconds


def table() -> Iterator[Line]:
    """Releases and records of the adult table."""
    from pypgm import mechanisms

    data = harness.table("adult")
    release, seconds = timed(lambda: mechanisms.wide(data, 1, 1e-9, unsafe_seed=0))
    own = error(data, release.model)
    check(own < 0.04, "the model is far off")
    yield "`wide`, adult, all pairs, epsilon 1", seconds
    records, seconds = timed(lambda: release.synthetic_data(rng=0))
    check(error(data, records) < 1.05 * own + 0.001, "the records are far from their model")
    yield "its synthetic records, first draw", seconds
    _, seconds = timed(lambda: release.synthetic_data(rng=1))
    yield "its synthetic records, again", seconds
    release, seconds = timed(lambda: mechanisms.aim(data, 10, 1e-9, unsafe_seed=1))
    check(error(data, release.model) < 0.02, "the model is far off")
    yield "`aim`, adult, all pairs, epsilon 10", seconds


def star() -> Iterator[Line]:
    """Plans of many pairs around one attribute."""
    import pypgm

    for n in (1_000, 2_000, 4_000, 8_000):
        domain = pypgm.Domain({"c": 3} | {f"x{i}": 2 for i in range(n)})
        cliques = [("c", f"x{i}") for i in range(n)]
        tables = np.random.default_rng(0).normal(0, 0.1, (n, 3, 2))
        potentials = pypgm.CliqueVector(domain, cliques, tables.ravel())
        messages = np.log(np.exp(tables).sum(axis=2))
        logs = messages.sum(axis=0) - messages[7] + tables[7, :, 1]
        wanted = np.exp(logs - logs.max())
        tree, seconds = timed(lambda d=domain, c=cliques: pypgm.JunctionTree(d, c))
        model = pypgm.GraphicalModel(potentials, 1.0, tree=tree)
        answer, more = timed(lambda m=model: m.query("c", {"x7": 1}))
        np.testing.assert_allclose(answer.values, wanted / wanted.sum(), rtol=1e-9)
        yield f"`JunctionTree` of a star of {n:,} pairs", seconds
        yield f"a query with evidence on a star of {n:,} pairs", more
        _, more = timed(lambda m=model: m.query("x0", {"x7": 1}))
        yield f"another of that evidence on a star of {n:,} pairs", more


def closure() -> Iterator[Line]:
    """Closures of wide cliques."""
    import pypgm

    names = [f"x{i}" for i in range(20)]
    for n in (20, 30, 40):
        rng = np.random.default_rng(0)
        cliques = [tuple(names[i] for i in sorted(rng.permutation(20)[:14])) for _ in range(n)]
        domain = pypgm.Domain(dict.fromkeys(names, 2))
        graph, seconds = timed(lambda d=domain, c=cliques: pypgm.RegionGraph.saturated(d, c, max_bytes=1e12))
        regions = list(map(set, graph.regions))
        held = set(map(frozenset, regions))
        pairs = rng.integers(len(regions), size=(500, 2))
        met = [frozenset(regions[i] & regions[j]) for i, j in pairs]
        check(all(m in held or not m for m in met), "the regions are not closed under intersection")
        yield f"closure of {n} cliques of 14 of 20 attributes, {len(regions):,} regions", seconds


def synth() -> Iterator[Line]:
    """The command on the adult table."""
    import pypgm

    folder = Path(os.environ["PYPGM_DATA"]) / "adult"
    with tempfile.TemporaryDirectory() as made:
        out = Path(made) / "synthetic.csv"
        asked = [str(folder / "adult.csv.gz"), "--schema", str(folder / "domain.json"), "--out", str(out)]
        command = [sys.executable, "-m", "pypgm", "synth", *asked, "--epsilon", "1", "--delta", "1e-9"]
        subprocess.run(command, check=True, capture_output=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        data = harness.table("adult")
        check(error(data, pypgm.read_table(out, data.domain)) < 0.04, "the records are far off")
    yield "`pypgm synth`, adult, defaults, whole process", used.ru_utime + used.ru_stime


JOBS = (first, synth, read, wide, measure_many, mst, table, star, closure)
CASES = {job.__name__: job for job in JOBS}


def main() -> None:
    """Run the cases, print their lines, and write the page where it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps([*CASES[asked.one](), ("exp", exp_seconds())]))
        return
    rows, load = [], os.getloadavg()[0]
    for case, threads in itertools.product(asked.cases.split(","), asked.threads):
        if case in {"synth", "table"} and "PYPGM_DATA" not in os.environ:
            print(f"{case}: skipped without PYPGM_DATA")
            continue
        command = [sys.executable, __file__, "--one", case]
        environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
        ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        *lines, (_, unit) = json.loads(ran.stdout)
        rows += [f"| {job} | {threads} | {seconds:.3g} | {seconds / unit:.3g} |" for job, seconds in lines]
        print(*rows[-len(lines) :], sep="\n", flush=True)
    if asked.write:
        before = PAGE.read_text(encoding="utf-8").partition("|---|---|---|---|\n")[2].splitlines()
        by_job = {row.rpartition(" | ")[0].rpartition(" | ")[0]: row for row in [*before, *rows]}
        PAGE.write_text(HEAD.format(load=load) + "\n".join(by_job.values()) + "\n", encoding="utf-8")


def exp_seconds() -> float:
    """Return the CPU seconds of NumPy's exp over 10^7 cells, the median of five."""
    cells = np.linspace(-9, 0, 10**7)
    return harness.median_seconds(lambda: np.exp(cells), clock=time.process_time)


if __name__ == "__main__":
    main()
