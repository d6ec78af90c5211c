"""Figure 2b of the Private-PGM paper: the time of an iteration by the number of attributes, for three estimators."""

from __future__ import annotations

import time

import numpy as np

import pypgm
from bench.paper.figure import Claim, Figure, Results, Values
from bench.paper.workload import PAPER
from pypgm.reconstruction import least_squares, multiplicative_weights

SIZES = {
    "one model": (3, 4, 5, 6, 7, 10, 30, 100, 300, 1000),
    "weights": (3, 4, 5, 6, 7),
    "least squares": (3, 4, 5, 6, 7),
}
WEIGHTS_LOOPS = {3: 400, 4: 100, 5: 20, 6: 3, 7: 1}  # enough to be timed


def _chain(d: int, rng: np.random.Generator) -> tuple[pypgm.Domain, list[pypgm.LinearMeasurement]]:
    """Return triples of adjacent attributes of ten values, measured with noise."""
    domain = pypgm.Domain({f"x{i}": 10 for i in range(d)})
    cliques = [domain.attributes[i : i + 3] for i in range(d - 2)]
    return domain, [pypgm.LinearMeasurement(rng.normal(1.0, 1.0, 1000), c, 1.0) for c in cliques]


def _seconds(method: str, d: int, rng: np.random.Generator, loops: int) -> float:
    domain, noisy = _chain(d, rng)
    began = time.perf_counter()
    if method == "one model":
        step = 1e-4 / d
        return pypgm.estimate(
            domain, noisy, 1000.0, stepsize=step, iterations=loops, stop="optimum", tolerance=0
        ).fit.seconds
    if method == "weights":
        multiplicative_weights(domain, noisy, 1000.0, iterations=loops)
    else:
        least_squares(domain, noisy)
    return time.perf_counter() - began


def _run(seed: int, method: str, d: int) -> Values:
    rng = np.random.default_rng([seed, d])
    loops = WEIGHTS_LOOPS[d] if method == "weights" else max(20, 4000 // d)
    if method == "least squares":
        _seconds(method, 3, rng, 1)  # whatever comes with the first call
        return {("seconds", f"{method}, whole", d): _seconds(method, d, rng, 1)}
    short, long = (_seconds(method, d, rng, n) for n in (loops, 3 * loops))
    return {("seconds", f"{method}, an iteration", d): max(long - short, 1e-7) / (2 * loops)}


def _power(results: Results, line: str, least: int) -> float:
    """Return the slope of log time by log attributes from `least` attributes on."""
    places = [x for x in sorted(results.places("seconds", line)) if x >= least]
    return float(np.polyfit(np.log(places), np.log([results.of("seconds", line, x) for x in places]), 1)[0])


def _linear(results: Results) -> tuple[bool, str]:
    power = _power(results, "one model, an iteration", 10)
    last = results.of("seconds", "one model, an iteration", 1000)
    return power < 1.5, f"as d to the power {power:.2f} from 10 to 1,000; {1e3 * last:.3g} ms at 1,000"


def _exponential(results: Results) -> tuple[bool, str]:
    growths = {}
    for line in ("weights, an iteration", "least squares, whole"):
        growths[line] = (results.of("seconds", line, 7) / results.of("seconds", line, 5)) ** 0.5
    return all(growth > 3 for growth in growths.values()), ", ".join(f"{k} {v:.3g} times" for k, v in growths.items())


FIGURES = [
    Figure(
        name="pgm-size",
        paper=PAPER,
        title="Figure 2b: time by attributes",
        setting="All triples of adjacent attributes of ten values: an iteration of mirror descent on the model, a "
        "sweep of multiplicative weights over the joint table, and LSMR on it as a whole. No numbers are printed in "
        "the paper.",
        axes=("attributes", "seconds"),
        jobs={(method, d): 2 for method, sizes in SIZES.items() for d in sizes},
        run=_run,
        claims=[
            Claim("an iteration of one model is linear in the attributes, up to 1,000", _linear),
            Claim("the others grow about tenfold an attribute", _exponential),
        ],
        logs="xy",
    )
]
