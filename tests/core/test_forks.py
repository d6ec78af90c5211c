"""A forked child computes with one thread: the threads of its parent are not in it, and waiting for them never ends."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pypgm
from pypgm import CliqueVector, Domain, _core

pytestmark = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork here")

FORKED = """
import os, sys
from core import test_forks as own
wanted = own.threaded()
child = os.fork()
if child == 0:
    os._exit(0 if own.threaded() == wanted and own.records() else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

POOL = """
import multiprocessing
from core import test_forks as own
wanted = own.threaded()
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert set(pool.map(own.threaded, [2, 0, 5])) == {wanted}
assert own.threaded() == wanted
"""


def threaded(n_threads=2):
    """Return the bytes of an answer that two threads work on, one way and, on a thread of its own, the other."""
    table = np.random.default_rng(0).random(4_000_000)
    large = _core.reduce_sum(table, [2000, 2000], [1, 0], n_threads)
    domain = Domain({f"x{i}": 60 for i in range(3)})
    potentials = CliqueVector(domain, [("x0", "x1", "x2")], 0.1 * table[: 60**3])
    repeated = CliqueVector(domain, [("x0", "x1"), ("x1", "x2"), ("x0", "x2")], table[: 3 * 3600])
    trees = [pypgm.JunctionTree(domain, p.cliques).marginals(p, n_threads=n_threads) for p in (potentials, repeated)]
    return b"".join([large.tobytes(), *(tree.values.tobytes() for tree in trees)])


def records():
    """Draw records by a call that is watched on a thread of its own."""
    sampler = _core.RecordSampler(200_000, 1, 0)
    sampler.draw(np.ones(200_000), [0], [200_000], [0], [1])
    return sampler.take_column(0).size == 200_000


@pytest.mark.parametrize("code", [FORKED, POOL], ids=["fork", "pool"])
def test_a_forked_child_answers_as_its_parent(code):
    command = [sys.executable, "-W", "ignore", "-c", code]
    here = Path(__file__).parents[1]
    done = subprocess.run(command, check=False, cwd=here, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
