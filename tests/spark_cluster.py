"""Counts of a Spark cluster that loses an executor in the midst: a process of its own, as a session is one a process.

Run: python tests/spark_cluster.py FOLDER, which has `schema.json` and the Parquet files `part-*.parquet`; it writes
`counts.npz`, with the counts of all pairs, and prints what was killed when.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np

import pypgm
from pypgm.data import EngineTable

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.files.maxPartitionBytes": "1m",  # each file is a task
    "spark.sql.files.openCostInBytes": "1m",
}
LONGEST = 300  # seconds


def executors(context):
    """Return the processes of the executors of one session, by the address of its driver."""
    address = f"@127.0.0.1:{context.getConf().get('spark.driver.port')}"
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:  # it has ended
            continue
        if "CoarseGrainedExecutorBackend" in line and address in line:
            found.append(int(process.name))
    return found


def kill_in_the_midst(context, killed):
    """Kill an executor as soon as some tasks of a stage have ended, and more have not."""
    tracker, end = context.statusTracker(), time.monotonic() + LONGEST
    while not killed and time.monotonic() < end:
        for stage in map(tracker.getStageInfo, tracker.getActiveStageIds()):
            if stage is not None and 2 <= stage.numCompletedTasks <= stage.numTasks - 4:
                process = executors(context)[0]
                os.kill(process, signal.SIGKILL)
                killed |= {"process": process, "ended": stage.numCompletedTasks, "tasks": stage.numTasks}
                return
        time.sleep(0.005)


def main(folder):
    import ibis
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config(
        "spark.sql.warehouse.dir", f"{folder}/house"
    )
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    context = session.sparkContext
    context.setLogLevel("OFF")
    table = ibis.pyspark.connect(session).read_parquet(f"{folder}/part-*.parquet")
    counted = EngineTable(table, pypgm.read_schema(folder / "schema.json"))
    before = executors(context)
    killed = {}
    watch = threading.Thread(target=kill_in_the_midst, args=(context, killed), daemon=True)
    watch.start()
    pairs = list(itertools.combinations(counted.domain, 2))
    tables = counted.count(pairs)
    np.savez(folder / "counts.npz", **{"|".join(pair): table for pair, table in zip(pairs, tables, strict=True)})
    print(json.dumps({"killed": killed, "before": before, "after": executors(context)}))
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
