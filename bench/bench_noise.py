"""Seconds for exact noise, selection and a measurement of a million cells.

Run: python bench/bench_noise.py [--draws N]

Draws are first compared with their exact law by a chi-square test. Times are the median of seven, beside numpy's float
draws, which no release may use; the million cells are counted, noised and returned as one call of a mechanism makes it.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from functools import partial

import numpy as np
from harness import check, median_seconds
from scipy import stats

import pypgm
from pypgm.privacy import PrivateTable
from pypgm.privacy.sampler import Sampler

SCALES = [Fraction(1, 2), Fraction(2), Fraction(27, 10), Fraction(100), Fraction(12345, 7)]


def draw(law: str, scale: Fraction, n: int, n_threads: int = 1) -> np.ndarray:
    zeros = np.zeros(n, dtype=np.int64)
    if law == "laplace":
        return Sampler(n_threads=n_threads).laplace(scale)(zeros)
    return Sampler(n_threads=n_threads).gaussian(scale**2)(zeros)


def p_value(law: str, scale: Fraction, n: int, n_threads: int) -> float:
    """Chi-square of draws against the exact law, on cells of at least a thousandth of the mass."""
    reach = int(60 * scale) + 60
    z = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(z) / float(scale) if law == "laplace" else -(z**2) / (2 * float(scale) ** 2))
    cumulated = np.cumsum(weights) / weights.sum()
    edges = np.unique(np.searchsorted(cumulated, np.linspace(0.001, 0.999, 400)))
    inner = cumulated[edges]
    expected = n * np.diff(np.concatenate([[0.0], inner, [1.0]]))
    drawn = np.searchsorted(z[edges], draw(law, scale, n, n_threads))
    observed = np.bincount(drawn, minlength=edges.size + 1)
    return float(stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), expected.size - 1))


def bench_draws(n: int) -> None:
    float_draws = median_seconds(lambda: np.random.default_rng(0).normal(size=n), 7)
    for law in ("gaussian", "laplace"):
        for scale in SCALES:
            for n_threads in (1, 2):
                p = p_value(law, scale, n, n_threads)
                if p < 1e-9:
                    raise SystemExit(f"{law} {scale}: draws do not follow their law (p = {p:.2g})")
            one, two = (median_seconds(partial(draw, law, scale, n, t), 7) for t in (1, 2))
            print(
                f"{n:,} {law:>8} of scale {float(scale):8.2f}  1 thread {one:6.3f} s ({one / float_draws:4.1f} numpy "
                f"normal)  2 threads {two:6.3f} s (ratio {one / two:.2f})"
            )


def bench_selection() -> None:
    scores = np.random.default_rng(0).integers(0, 10**6, 1000)
    rate = Fraction(1, 5000)
    weights = np.exp(float(rate) * (scores - scores.max()))
    chosen = np.bincount([Sampler().select(scores, rate) for _ in range(20_000)], minlength=1000)
    likely = weights / weights.sum() > 1e-3
    expected = 20_000 * np.append(weights[likely], weights[~likely].sum()) / weights.sum()
    observed = np.append(chosen[likely], chosen[~likely].sum())
    if stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), expected.size - 1) < 1e-9:
        raise SystemExit("selections do not follow their law")
    for name, select in (
        ("exponential mechanism", lambda r: Sampler().select(scores, r)),
        ("permute-and-flip", lambda r: Sampler().permute_and_flip(scores, r)),
        ("top 10 by peeling", lambda r: Sampler().select_top(scores, r, 10)),
    ):
        for r in (rate, Fraction(1, 10**9), Fraction(10)):
            seconds = median_seconds(lambda r=r, select=select: select(r), 101)
            print(f"1,000 candidates, {name:>21}, rate {float(r):9.2g}  {seconds * 1e3:7.3f} ms")


def bench_measurement() -> None:
    rng = np.random.default_rng(0)
    for shape, rows in (((10, 10), 1000), ((1000, 1000), 1_000_000)):
        domain = pypgm.Domain(("a", "b"), shape)
        data = pypgm.Dataset({n: rng.integers(0, s, rows) for n, s in zip("ab", shape, strict=True)}, domain)
        for n_threads in (1, 2):
            table = PrivateTable(data, pypgm.Privacy(), pypgm.Ledger(pypgm.Budget(rho=1000)), n_threads=n_threads)
            exact = table.measure(("a", "b"), variance=Fraction(1, 1000)).values
            check(
                np.array_equal(exact, data.count([("a", "b")])[0]),
                "a measurement with hardly any noise is not the count",
            )
            seconds = median_seconds(lambda t=table: t.measure(("a", "b"), variance=Fraction(10**4)), 3)
            print(
                f"a measurement of {domain.size():,} cells on {rows:,} records, {n_threads} thread(s)  {seconds:6.3f} s"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=1_000_000)
    bench_draws(10_000)
    bench_draws(parser.parse_args().draws)
    bench_selection()
    bench_measurement()


if __name__ == "__main__":
    main()
