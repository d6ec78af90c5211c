"""Spark as a cluster: an executor that dies while it counts changes no count."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pypgm
from pypgm.data import Categorical, Date, Integer, Real

SCRIPT = Path(__file__).parents[1] / "spark_cluster.py"
SCHEMA = pypgm.Schema(
    {
        "age": Integer(0, 99, width=7),
        "job": Categorical(["office", "ä", "A", "a"], null="?", other=True),
        "wage": Real(0, 100, bins=9, outside="clip", null="?"),
        "hired": Date("2020-01-01", "2022-12-31", "month"),
        "dept": 7,
    }
)

pytestmark = pytest.mark.slow


def records(part, rows=20_000):
    rng = np.random.default_rng(part)
    wage = np.round(rng.normal(50, 40, rows), 2)
    wage[:3] = np.nan, np.inf, -0.0
    return {
        "age": rng.integers(0, 100, rows),
        "job": rng.choice(np.array(["office", "ä", "A", "a", "a ", "b", None], dtype=object), rows),
        "wage": wage,
        "hired": (np.datetime64("2020-01-01") + rng.integers(0, 900, rows)).astype("datetime64[D]"),
        "dept": rng.integers(0, 7, rows),
    }


def test_an_executor_of_spark_that_is_killed_changes_no_count(tmp_path):
    if not os.environ.get("PYPGM_SPARK"):
        pytest.skip("PYPGM_SPARK is not set: whether a local Spark is started for tests")
    for package in ("pyspark", "ibis", "pandas"):
        pytest.importorskip(package)
    arrow, parquet = (pytest.importorskip(package) for package in ("pyarrow", "pyarrow.parquet"))
    pairs = list(itertools.combinations(SCHEMA.domain, 2))
    expected = [np.zeros(SCHEMA.domain.size(pair), np.int64) for pair in pairs]
    for part in range(24):
        raw = records(part)
        parquet.write_table(arrow.table(raw), tmp_path / f"part-{part}.parquet")
        expected = [table + more for table, more in zip(expected, SCHEMA.encode(raw).count(pairs), strict=True)]
    SCHEMA.save(tmp_path / "schema.json")
    run = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True, check=False, timeout=500)
    assert run.returncode == 0, run.stderr[-3000:]
    told = json.loads(run.stdout.splitlines()[-1])
    assert len(told["before"]) == 2
    assert told["killed"]["process"] in told["before"]
    assert told["killed"]["process"] not in told["after"]
    assert 0 < told["killed"]["ended"] < told["killed"]["tasks"] == 24
    with np.load(tmp_path / "counts.npz") as found:
        for pair, table in zip(pairs, expected, strict=True):
            np.testing.assert_array_equal(found["|".join(pair)], table)
