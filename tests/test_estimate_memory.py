"""What an estimate takes is announced, refused where it does not fit, and not exceeded."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from peak_memory import printed_numbers

import pypgm
from pypgm import Domain, LinearMeasurement, ModelTooLargeError
from pypgm.estimation.methods import estimate_bytes
from pypgm.models.sampling import draw_records

METHODS = ["accelerated", "mirror_descent", "dual_averaging", "interior_gradient", "universal", "lbfgs"]


@pytest.mark.parametrize("method", METHODS)
def test_an_estimate_is_refused_beforehand(method):
    domain = Domain({"a": 40, "b": 50})
    m = LinearMeasurement(np.full(2000, 5.0), ("a", "b"))
    tree = pypgm.JunctionTree(domain, [("a", "b")])
    needed = estimate_bytes(tree, [m], method)
    assert needed > 2 * tree.cost.bytes
    pypgm.estimate(domain, [m], 1e4, method=method, iterations=4, max_bytes=needed)
    message = rf"'{method}' keeps up to \d+ copies of the 2e\+03 cells of 1 cliques; .*another method, or pass"
    with pytest.raises(ModelTooLargeError, match=message):
        pypgm.estimate(domain, [m], 1e4, method=method, iterations=4, max_bytes=needed - 1)


def test_an_estimate_takes_more_the_more_is_measured():
    tree = pypgm.JunctionTree(Domain({"a": 40, "b": 50}), [("a", "b")])
    m = LinearMeasurement(np.full(2000, 5.0), ("a", "b"))
    assert estimate_bytes(tree, [m, m], "accelerated") > estimate_bytes(tree, [m], "accelerated")


def test_derivatives_of_marginals_take_the_tables_of_the_tree():
    domain = Domain({f"x{i}": 40 for i in range(6)})
    tree = pypgm.JunctionTree(domain, [(f"x{i}", f"x{j}") for i in range(3) for j in range(3, 6)])
    assert estimate_bytes(tree, [], "universal") < tree.cost.table_bytes < estimate_bytes(tree, [], "lbfgs")


DRAWN = """
import sys, numpy as np, pypgm
from pypgm.models.sampling import draw_records, drawing_bytes
sizes = list(map(int, sys.argv[1:]))
domain = pypgm.Domain({f"x{i}": size for i, size in enumerate(sizes)})
tree = pypgm.JunctionTree(domain, [domain.attributes])
table = pypgm.Factor(domain, np.random.default_rng(0).random(domain.size()))
before = peak()
draw_records(tree, [table], 1000, 0)
largest = max(domain.attributes, key=lambda a: domain.size((a,)))
rest = tuple(a for a in domain.attributes if a != largest)
draws = [(domain.attributes, rest, (largest,))] if rest else [((largest,), (), (largest,))]
print(peak() - before, max(drawing_bytes(domain, *draw) for draw in draws))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak where Linux tells it")
@pytest.mark.parametrize("sizes", [(3_000_000,), (1500, 2000)])
def test_drawing_records_takes_what_is_announced(sizes):
    peak, announced = printed_numbers(DRAWN, *map(str, sizes))
    assert peak <= 1.1 * announced
    assert announced <= 2.5 * peak


def test_records_of_a_table_too_large_are_refused_beforehand(monkeypatch):
    domain = Domain({"a": 2000, "b": 3000})
    tree = pypgm.JunctionTree(domain, [("a", "b")])
    table = pypgm.Factor(domain, np.ones(6_000_000))
    monkeypatch.setattr("pypgm.memory._available", lambda: 4e8)
    with pytest.raises(ModelTooLargeError, match=r"drawing from the table over \('a', 'b'\) and its 6000000 cells"):
        draw_records(tree, [table], 10)


MEASURED = """
import sys, numpy as np, pypgm
from pypgm.estimation.methods import estimate_bytes
kind, method, stop, loss = sys.argv[1:]
def estimated(kind, n):
    source = np.random.RandomState(0)
    if kind == "chain":
        domain = pypgm.Domain([f"x{i}" for i in range(n)], [10] * n)
        cliques = [domain.attributes[i : i + 3] for i in range(n - 2)]
    else:
        sizes = [60, 9, 16, 7, 15, 6, 5, 2, 100, 90, 50, 42, 2, 16]
        domain = pypgm.Domain([f"x{i}" for i in range(14)], sizes)
        pairs = {tuple(sorted(source.choice(14, 2, replace=False))) for _ in range(n)}
        cliques = [tuple(domain.attributes[i] for i in pair) for pair in sorted(pairs)]
    cells = [domain.size(c) for c in cliques]
    ms = [pypgm.LinearMeasurement(1e5 / k + source.normal(0, 50, k), c, 50.0) for c, k in zip(cliques, cells)]
    before = peak()
    model = pypgm.estimate(domain, ms, 1e5, method=method, stop=stop, loss=loss, iterations=26, tolerance=0)
    taken = peak() - before
    return taken, estimate_bytes(model.tree, ms, method)
estimated(kind, 5)
print(*estimated(kind, 200 if kind == "chain" else 40))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak where Linux tells it")
@pytest.mark.parametrize(
    ("method", "stop", "loss"),
    [
        ("accelerated", "validated", "l2"),
        ("accelerated", "optimum", "l2"),
        ("accelerated", "optimum", "huber"),
        ("mirror_descent", "optimum", "l2"),
        ("mirror_descent", "optimum", "l1"),
        ("dual_averaging", "optimum", "l2"),
        ("interior_gradient", "optimum", "l2"),
        ("universal", "optimum", "l2"),
        ("lbfgs", "optimum", "l2"),
    ],
)
@pytest.mark.parametrize("kind", ["chain", "pairs"])
def test_peak_is_the_one_announced(kind, method, stop, loss):
    peak, announced = printed_numbers(MEASURED, kind, method, stop, loss)
    assert announced > 2**22
    assert peak <= 1.3 * announced
    assert announced <= 4 * peak
