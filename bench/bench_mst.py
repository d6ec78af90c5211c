"""`pypgm synth --mechanism mst` on adult as a whole process: seconds, peak memory, the distance of model and table.

Run: PYPGM_DATA=... python bench/bench_mst.py

The command is run five times at epsilon 1, delta 1e-9; each model is compared with the table over all 91 pairs of
attributes by mean total variation. Beside it stands the product of the exact one-way marginals, the answer to beat. The
output is checked before anything is reported: columns, codes, and that the model's marginals sum to its total.
"""

from __future__ import annotations

import itertools
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from harness import check, data_folder, table, timed

import pypgm

RUNS = 5


def main() -> None:
    folder, data = data_folder() / "adult", table("adult")
    pairs = list(itertools.combinations(data.domain, 2))
    truth = dict(zip(pairs, data.count(pairs), strict=True))

    def distance(project: Callable[[tuple[str, ...]], object]) -> float:
        shares = (np.asarray(project(p)).ravel() for p in pairs)
        both = zip(pairs, shares, strict=True)
        return float(np.mean([np.abs(s / s.sum() - truth[p] / data.n_records).sum() / 2 for p, s in both]))

    one_way = {a: data.project(a).values for a in data.domain}
    print(f"product of exact one-way marginals: {distance(lambda p: np.outer(one_way[p[0]], one_way[p[1]])):.4f}")
    seconds, errors = [], []
    for run in range(RUNS):
        with tempfile.TemporaryDirectory() as out:
            model_path = Path(out) / "adult.pgm"
            command = [Path(sys.executable).with_name("pypgm"), "synth", folder / "adult.csv.gz", "--mechanism", "mst"]
            command += ["--schema", folder / "domain.json", "--epsilon", "1", "--delta", "1e-9"]
            command += ["--out", Path(out) / "synthetic.csv", "--model", model_path]
            seconds.append(timed(subprocess.run, command, check=True, capture_output=True)[1])
            synthetic = pypgm.read_table(Path(out) / "synthetic.csv", data.domain)
            model = pypgm.load(model_path).model
        right = synthetic.n_records == round(model.total) and np.isclose(model.project("age").values.sum(), model.total)
        check(right, "the synthetic table or the model does not hold the model's total")
        errors.append(distance(lambda p, m=model: m.project(p).values))
        print(f"run {run + 1}: {seconds[-1]:.2f} s, mean total variation {errors[-1]:.4f}, {model.fit.status}")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**10
    print(f"median {statistics.median(seconds):.2f} s, {statistics.median(errors):.4f}; largest process {peak:.0f} MiB")


if __name__ == "__main__":
    main()
