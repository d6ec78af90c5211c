"""Strategies for prefixes and ranges of one attribute: expected errors beside cells, a factorisation and a bound.

Run: python bench/bench_range_strategies.py [--sizes 64,256,1024]

The error is the root of the mean squared error over all answers at rho = 1/2 (noise of standard deviation 1 on a
histogram), by dense least squares; the strategy's own forecast is checked against it. Beside it, as ratios to the
error: measuring every value (cells); the square-root factorisation of running sums (prefixes alone), whose real-valued
answers exact integer noise is not for; and the bound of the workload's singular values, below which no unbiased
Gaussian strategy errs.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np
from harness import check, print_table, timed

from pypgm import Domain, workloads
from pypgm.mechanisms.strategies import marginal_strategy


def main() -> None:
    parser = argparse.ArgumentParser(description="Strategies for prefixes and ranges of one attribute.")
    parser.add_argument("--sizes", default="64,256,1024")
    sizes = map(int, parser.parse_args().sizes.split(","))
    kinds = (workloads.prefixes, workloads.ranges)
    columns = {"workload": "", "values": "", "RMSE": ".3f", "cells": ".2f", "root": ".2f", "bound": ".2f", "s": ".3f"}
    each = itertools.product(sizes, kinds)
    print_table(columns, (errors(k.__name__, k(Domain({"a": size}), ["a"], ["a"]), size) for size, k in each))


def errors(name: str, work: workloads.Workload, size: int) -> list[object]:
    """Return the error of a strategy, and how much larger that of each peer is."""
    strategy, seconds = timed(marginal_strategy, work)
    gram, n_answers = gram_of(name, size), work.answers()
    measured = np.zeros((size, size))
    for clique, query, share in zip(strategy.cliques, strategy.queries, strategy.shares, strict=True):
        rows = np.ones((1, size)) if not clique else np.eye(size) if query is None else query.to_sparse().toarray()
        measured += share * rows.T @ rows
    squared = float(np.trace(np.linalg.solve(measured, gram)))
    forecast = 2 * strategy.squared_error
    check(abs(forecast / squared - 1) <= 0.04, f"the forecast is {forecast}, least squares give {squared}")
    error = np.sqrt(squared / n_answers)
    bound = np.sqrt(np.maximum(np.linalg.eigvalsh(gram), 0)).sum() / np.sqrt(size * n_answers)
    cells = np.sqrt(np.trace(gram) / n_answers)
    root = root_error(size) / error if name == "prefixes" else None
    return [name, size, error, cells / error, root, bound / error, seconds]


def gram_of(name: str, size: int) -> np.ndarray:
    """Return Q^T Q: how many answers two values are in together."""
    first, last = np.minimum.outer(np.arange(size), np.arange(size)), np.maximum.outer(np.arange(size), np.arange(size))
    together = size - last if name == "prefixes" else (first + 1) * (size - last)
    return together.astype(np.float64)


def root_error(size: int) -> float:
    """Return the error of running sums through the square root of their matrix, measured with Gaussian noise."""
    coefficients = np.cumprod([1.0, *((2 * k - 1) / (2 * k) for k in range(1, size))])
    squares = np.cumsum(np.square(coefficients))
    return float(np.sqrt(squares[-1] * squares.mean()))


if __name__ == "__main__":
    main()
