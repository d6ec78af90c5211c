"""Each long call of the core hears Ctrl-C, and lets other threads of Python run meanwhile."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
from functools import partial
from operator import methodcaller
from pathlib import Path

import numpy as np
import pytest

from pypgm import _core

SOON = 0.3  # seconds into a job of many
LATE = 3.0  # seconds, of the clock or of the processor, until it is heard: half a second, and a busy machine

# The timer is a thread of Python: it sends the signal only where the job has let go of the interpreter.
INTERRUPTED = f"""
import os, signal, sys, threading, time
from core import test_core_interrupts as own
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
job = own.JOBS[sys.argv[1]]()
clocks = time.monotonic, time.process_time
def interrupt():
    begun.extend(clock() for clock in clocks)
    os.kill(os.getpid(), signal.SIGINT)
begun = []
started = time.monotonic()
timer = threading.Timer({SOON}, interrupt)
timer.start()
try:
    job()
    print("finished", time.monotonic() - started, 0)
except KeyboardInterrupt:
    late = [time.monotonic() - started - {SOON}] + [clock() - then for clock, then in zip(clocks, begun)]
    print("interrupted", min(late[1:]), late[0])
timer.join()
"""

RNG = np.random.default_rng(0)


def one_large_table():
    sampler = _core.RecordSampler(1_000_000, 2, 0)
    cells = RNG.random(2500 * 2500)
    return lambda: [sampler.draw(cells, [0, 1], [2500, 2500], [0, 0], [1, 1]) for _ in range(20)]


def many_records():
    sampler = _core.RecordSampler(30_000_000, 2, 0)
    sampler.draw(np.ones(2), [0], [2], [0], [1])
    return lambda: [sampler.draw(np.ones(4), [0, 1], [2, 2], [1, 0], [0, 1]) for _ in range(100)]


def triangle(size, repeats=1):
    pairs = [[0, 1], [1, 2], [0, 2]] * repeats
    return _core.JunctionTree([size] * 3, pairs), np.zeros(3 * size * size * repeats)


def proportional_fitting():
    tree, potentials = triangle(150, 200)
    fitting = _core.ProportionalFitting(tree, potentials + 1, potentials, 1.0, 1)
    return fitting.sweep


def largest_weight():
    tree, potentials = triangle(3000)
    return lambda: tree.max_log_weight(potentials, [], 1)


def tangent():
    tree, potentials = triangle(150, 200)
    return lambda: _core.tangent(tree, potentials, potentials, 1.0, 1)


def solver():
    tree, potentials = triangle(2000)
    return lambda: _core.Descent(tree, [], 1.0, potentials, 1)


def fitted():
    tree, potentials = triangle(60)
    targets = RNG.random(potentials.size)
    return lambda: _core.fitted_potentials(tree, targets, targets[:3600].sum(), potentials, 10**6, 1)


def plan():
    return lambda: _core.JunctionTree([1] * 4000, [list(range(4000))])


def grid():
    n = 140
    pairs = [[n * i + j, n * i + j + d] for d in (1, n) for i in range(n - 1) for j in range(n - 1)]
    gibbs = _core.GibbsPlan(4, 100_000, 1, 1, 0)
    return lambda: _core.gibbs_potentials([2] * n * n, pairs, RNG.random(4 * len(pairs)), gibbs, 1)


def sweep_of_regions():
    regions = [[0, 1, 2], *[[i] for i in range(3)] * 200]
    graph = _core.RegionGraph([150] * 3, regions, [(0, i) for i in range(1, len(regions))])
    convex = _core.ConvexGbp(graph, np.ones(len(regions)), np.zeros(graph.cells), 1)
    return lambda: [convex.sweep() for _ in range(100)]


def sweeps_of_regions():
    graph = _core.RegionGraph([50] * 2, [[0, 1], [0], [1]], [(0, 1), (0, 2)])
    return lambda: _core.RegionAcceleration(graph, np.ones(3), 1.0, 1).begin(-1.0, 2**31 - 1)


def regression():
    features, labels = np.ones((10_000, 200), np.int8), np.ones(10_000, np.int8)
    return lambda: _core.sparsitron(features, labels, features, labels, 1.0, 10_000)


def sums():
    codes = np.zeros((1, 100_000), np.uint8)
    table = np.zeros(2 * _core.LOGISTIC_BINS + 1, np.int16)
    made = _core.LogisticSums(codes, [([0], -1)] * 20_000, [(0, 0, 1)] * 64, table)
    chosen, amounts = np.zeros(64, np.uint32), np.zeros(64, np.int32)
    return lambda: [made.step(chosen, amounts, 1, 1) for _ in range(50)]


JOBS = {
    "one large table": one_large_table,
    "many records": many_records,
    "proportional fitting": proportional_fitting,
    "largest weight": largest_weight,
    "tangent": tangent,
    "solver": solver,
    "fitted potentials": fitted,
    "plan": plan,
    "grid": grid,
    "a sweep of regions": sweep_of_regions,
    "sweeps of regions": sweeps_of_regions,
    "regression": regression,
    "sums": sums,
    "noise": lambda: lambda: _core.add_discrete_gaussian(np.zeros(40_000_000, np.int64), 10**6, 1),
    "coins": lambda: lambda: [_core.flip_coins(300_000_000, 1, 3) for _ in range(10)],
    "selection": lambda: lambda: _core.select_top(np.zeros(1_000_000, np.int64), 1, 1, 500_000),
    "enumeration": lambda: lambda: _core.enumerate_gaussian(10**6, 1, 1e-300),
}


@pytest.mark.parametrize(
    "name",
    [
        name if name in {"one large table", "largest weight"} else pytest.param(name, marks=pytest.mark.slow)
        for name in JOBS
    ],
)
def test_ctrl_c_is_heard(name):
    # Where the tests lie: the process imports it, and the package that is installed, not the one in the tree.
    command = [sys.executable, "-c", INTERRUPTED, name]
    here = Path(__file__).parents[1]
    run = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=300, check=True)
    word, late, _ = run.stdout.split()
    assert word == "interrupted"
    assert float(late) < LATE


def test_a_call_that_never_began_leaves_its_object_whole():
    # A signal that is pending when the core is called: what comes before the call must not look at signals.
    tree = _core.JunctionTree([2, 2], [[0, 1]])
    fitting = _core.ProportionalFitting(tree, np.ones(4), np.zeros(4), 1.0, 1)
    sends = partial(getattr(ctypes.CDLL(None), "raise"), signal.SIGINT)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            list(map(methodcaller("__call__"), [sends, fitting.sweep]))
    finally:
        signal.signal(signal.SIGINT, before)
    assert fitting.sweep() >= 0


WORKS_AT_THE_END = """
import threading, time
import numpy as np
from pypgm import _core
tree = _core.JunctionTree([1000, 1000], [[0, 1]])
descent = _core.Acceleration(tree, [(0, None, np.ones(10**6), np.ones(1), np.empty(0), 0.0)], 1.0, np.zeros(10**6), 1)
tree = _core.JunctionTree([3000, 3000, 3000], [[0, 1], [1, 2], [0, 2]])
begun = threading.Event()
def work():
    begun.set()
    JOB
threading.Thread(target=work, daemon=True).start()
begun.wait()
time.sleep(0.3)
"""


@pytest.mark.parametrize(
    "job", ["while True: descent.advance(1e-9, 0.5)", "tree.max_log_weight(np.zeros(27_000_000), [], 1)"]
)
def test_python_ends_while_a_thread_works(job):
    command = [sys.executable, "-c", WORKS_AT_THE_END.replace("JOB", job)]
    run = subprocess.run(command, capture_output=True, timeout=300, check=False)
    assert (run.returncode, run.stderr) == (0, b"")
