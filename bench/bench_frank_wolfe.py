"""Private Frank-Wolfe for all nodes of an Ising model: scores are checked against NumPy, then steps are timed.

Run: ``python bench/bench_frank_wolfe.py [--records N] [--nodes P] [--steps T] [--repeat R] [--whole]``. The peer is the
gradient of each node in NumPy on floats, the same run. ``--whole`` also takes all steps of `mrf.learn_ising`.
"""

from __future__ import annotations

import argparse
import statistics
import time
import tracemalloc

import numpy as np
from harness import timed

from pypgm import Budget, Dataset, Domain, _core, mrf

RADIUS = 2.0
TOP = 2**15 - 1


def records(n: int, p: int) -> np.ndarray:
    """Codes of a chain of spins, a row a node."""
    rng = np.random.default_rng(0)
    codes = np.empty((p, n), dtype=np.uint8)
    codes[0] = rng.integers(0, 2, n)
    for i in range(1, p):
        codes[i] = codes[i - 1] ^ (rng.random(n) < 0.3)
    return codes


class Kernel:
    """The sums of the core, a step after the other along a fixed path."""

    def __init__(self, codes: np.ndarray, n_threads: int) -> None:
        p, bins = len(codes), _core.LOGISTIC_BINS
        table = np.rint(TOP / (1 + np.exp(-RADIUS * np.arange(-bins, bins + 1) / bins))).astype(np.int16)
        features = [([i], -1) for i in range(p)] + [([], -1)]
        self.sums = _core.LogisticSums(codes, features, [(i, 1, 0) for i in range(p)], table)
        self.p, self.t, self.n_threads = p, 1, n_threads
        self.amounts, self.weights = np.zeros(p, dtype=np.int32), np.zeros((p, p + 1))

    def step(self) -> np.ndarray:
        """Return the sums before the next vertex; all nodes then go towards their left neighbour."""
        t, left = self.t, (np.arange(self.p) - 1) % self.p
        scale = 0 if t == 1 else (2 * _core.LOGISTIC_BINS << 32) // (t * (t + 1))
        chosen = self.sums.step(left.astype(np.uint32), self.amounts, scale, self.n_threads)
        self.weights[np.arange(self.p), left] += self.amounts
        self.amounts = np.full(self.p, t + 1, dtype=np.int32)
        self.t += 1
        return chosen

    def real_weights(self) -> np.ndarray:
        """Return the weights that the last sums were made with."""
        t = self.t - 1
        return 2 * RADIUS / (t * (t + 1)) * self.weights


def naive(x: np.ndarray, weights: np.ndarray, nodes: list[int]) -> np.ndarray:
    """Return the sums of y x sigma(-y <w, x>) of some nodes, in floats."""
    gradients = []
    for i in nodes:
        y = x[:, i]
        gradients.append(x.T @ (y / (1 + np.exp(y * (x @ weights[i])))))
    return np.array(gradients)


def check(codes: np.ndarray) -> None:
    """Compare the sums after some steps with those in floats: a response is rounded by half, a margin to the grid."""
    kernel = Kernel(codes, 0)
    for _ in range(7):
        sums = kernel.step()
    x = np.column_stack([2.0 * codes.T - 1, np.ones(codes.shape[1])])
    true = naive(x, kernel.real_weights(), list(range(len(codes))))
    assert np.abs(sums / TOP - true).max() <= codes.shape[1] * (0.5 / TOP + RADIUS / _core.LOGISTIC_BINS)


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, value in (("records", 100_000), ("nodes", 100), ("steps", 300), ("repeat", 5)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--whole", action="store_true")
    given = parser.parse_args()
    check(records(3000, 12))
    codes = records(given.records, given.nodes)
    x = np.column_stack([2.0 * codes.T - 1, np.ones(given.records)])
    kernels = {n: Kernel(codes, n) for n in (1, 0)}
    few, times = list(range(min(4, given.nodes))), {name: [] for name in ("one thread", "all threads", "NumPy")}
    for _ in range(given.repeat):
        for name, run, share in (
            ("one thread", kernels[1].step, 1.0),
            ("all threads", kernels[0].step, 1.0),
            ("NumPy", lambda: naive(x, np.full((given.nodes, given.nodes + 1), 0.01), few), given.nodes / len(few)),
        ):
            times[name].append(timed(run)[1] * share)
    middle = {name: statistics.median(took) for name, took in times.items()}
    for name, seconds in middle.items():
        ratio = middle["NumPy"] / seconds
        print(f"{name:12s} {1e3 * seconds:9.1f} ms a step, {given.steps * seconds:8.1f} s in all, {ratio:6.1f} x NumPy")
    if given.whole:
        whole(codes, given.steps)


def whole(codes: np.ndarray, steps: int) -> None:
    """Time `mrf.learn_ising`, selections and reading included; then again on a tenth with Python's memory traced."""
    domain = Domain([f"x{i}" for i in range(len(codes))], [2] * len(codes))
    start, used = time.perf_counter(), time.process_time()
    mrf.learn_ising(
        Dataset({f"x{i}": c for i, c in enumerate(codes)}, domain), radius=1.0, budget=Budget(rho=1), steps=steps
    )
    seconds, used = time.perf_counter() - start, time.process_time() - used
    print(f"learn_ising  {seconds:9.1f} s, {used:.1f} s of all processors")
    n = codes.shape[1]
    tracemalloc.start()
    mrf.learn_ising(
        Dataset({f"x{i}": c for i, c in enumerate(codes)}, domain), radius=1.0, budget=Budget(rho=1), steps=2
    )
    traced, margins = tracemalloc.get_traced_memory()[1], 4 * codes.size
    print(
        f"memory       {traced / 2**20:9.1f} MiB of Python's and {margins / 2**20:.1f} MiB of margins, "
        f"{(traced + margins) / (n * len(codes)):.1f} bytes a record and node"
    )


if __name__ == "__main__":
    main()
