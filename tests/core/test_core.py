"""The compiled core checks what it is handed, whatever Python promised."""

from __future__ import annotations

import numpy as np
import pytest

from pypgm import _core


@pytest.fixture(scope="module")
def tree():
    return _core.JunctionTree([2, 3, 2], [[0, 1], [1, 2]])


ZEROS = np.zeros(12)

REFUSED_TREES = [
    (([2, 0], []), "every attribute needs at least one value"),
    (([2, 2], [[1, 0]]), "cliques must be ascending attribute indices below 2"),
    (([2, 2], [[0, 0]]), "cliques must be ascending"),
    (([2, 2], [[0, 2]]), "cliques must be ascending"),
    (([2, 2], [[-1, 0]]), "cliques must be ascending"),
    (([2, 2], [], [0]), "order must hold 2 entries, got 1"),
    (([2, 2], [], [0, 0]), "order must be a permutation"),
    (([2, 2], [], [0, 2]), "order must be a permutation"),
    (([2, 2], [], [0, -1]), "order must be a permutation"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED_TREES)
def test_refused_trees(arguments, message):
    with pytest.raises(ValueError, match=message):
        _core.JunctionTree(*arguments)


REFUSED_CALLS = [
    ((np.zeros(11), [], 1.0, 1), ValueError, "potentials must hold 12 entries, got 11"),
    ((ZEROS, [(3, np.zeros(2))], 1.0, 1), ValueError, "evidence names attribute 3, the tree has 3"),
    ((ZEROS, [(-1, np.zeros(2))], 1.0, 1), ValueError, "evidence names attribute -1"),
    ((ZEROS, [(1, np.zeros(2))], 1.0, 1), ValueError, "log_likelihood must hold 3 entries, got 2"),
    ((ZEROS, [], 1.0, -1), ValueError, "n_threads must be 0"),
    ((ZEROS.astype(np.float32), [], 1.0, 1), TypeError, "incompatible function arguments"),
    ((np.zeros(24)[::2], [], 1.0, 1), TypeError, "incompatible function arguments"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), REFUSED_CALLS)
def test_refused_propagations(tree, arguments, error, message):
    for method in (tree.marginals, tree.tables):
        with pytest.raises(error, match=message):
            method(*arguments)
    potentials, evidence, _, n_threads = arguments
    for method in (tree.log_partition, tree.max_log_weight):
        with pytest.raises(error, match=message):
            method(potentials, evidence, n_threads)


REFUSED_TABLES = [
    ((np.zeros(6), [2, 3], [1]), ValueError, "kept must hold 2 entries, got 1"),
    ((np.zeros(0), [2, 0], [1, 0]), ValueError, "every axis needs at least one entry"),
    ((np.zeros(5), [2, 3], [1, 0]), ValueError, "table must hold 6 entries, got 5"),
    ((np.zeros(6), [2, 3], [1, 0], -1), ValueError, "n_threads must be 0"),
    ((np.zeros(6, dtype=np.float32), [2, 3], [1, 0]), TypeError, "incompatible function arguments"),
    ((np.zeros((2, 3)).T, [2, 3], [1, 0]), TypeError, "incompatible function arguments"),
]


@pytest.mark.parametrize("name", ["reduce_sum", "reduce_max", "reduce_logsumexp"])
@pytest.mark.parametrize(("arguments", "error", "message"), REFUSED_TABLES)
def test_refused_reductions(name, arguments, error, message):
    with pytest.raises(error, match=message):
        getattr(_core, name)(*arguments)


@pytest.mark.parametrize("name", ["expand_assign", "expand_add"])
def test_refused_expansions(name):
    expand = getattr(_core, name)
    with pytest.raises(ValueError, match="large must hold 6 entries, got 5"):
        expand(np.zeros(5), [2, 3], np.zeros(2), [1, 0])
    with pytest.raises(ValueError, match="small must hold 2 entries, got 3"):
        expand(np.zeros(6), [2, 3], np.zeros(3), [1, 0])
    with pytest.raises(ValueError, match="kept must hold 2 entries"):
        expand(np.zeros(6), [2, 3], np.zeros(2), [1])
    frozen = np.zeros(6)
    frozen.setflags(write=False)
    with pytest.raises(ValueError, match="not writeable"):
        expand(frozen, [2, 3], np.zeros(2), [1, 0])


def asked_of(answers, rows, starts=(), coefficients=(), axes=()):
    """Return the map of some entries."""
    rows, starts = np.asarray(rows, dtype=np.int32), np.asarray(starts, dtype=np.int64)
    return _core.LinearMap(answers, rows, starts, np.asarray(coefficients, dtype=np.float64), False, axes)


REFUSED_MAPS = [
    ((2, [0, 2]), r"rows must lie in \[0, 2\), got 2"),
    ((2, [0, -1]), r"rows must lie in \[0, 2\), got -1"),
    ((2, [0, 1], [0, 1, 2], [1.0]), "coefficients must hold 2 entries, got 1"),
    ((2, [0, 1], (), [1.0, 2.0]), "coefficients must hold 0 entries, got 2"),
    ((2, [0, 1], [0, 3, 2], [1.0, 2.0]), "starts must ascend from 0 to the number of entries"),
    ((2, [0, 1], [1, 1, 2], [1.0, 2.0]), "starts must ascend"),
    ((2, [0, 1], [0, 1, 1], [1.0, 2.0]), "starts must ascend"),
    ((4, [0, 1], (), (), [2]), "axes' answers must hold 4 entries, got 2"),
    ((4, [0, 1], (), (), [2, 3]), "axes must be the shape of the answers"),
    ((4, [0, 1], (), (), [4, 0]), "axes must be the shape of the answers"),
    ((4, [0, 1], (), (), [2**63, 2**63]), "axes must be the shape of the answers"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED_MAPS)
def test_refused_maps(arguments, message):
    with pytest.raises(ValueError, match=message):
        asked_of(*arguments)


REFUSED_MEASUREMENTS = [
    ((2, None, np.zeros(6), np.ones(6)), "a measurement names table 2, there are 2"),
    ((-1, None, np.zeros(6), np.ones(6)), "a measurement names table -1"),
    ((0, None, np.zeros(5), np.ones(5)), "values must hold 6 entries, got 5"),
    ((0, None, np.zeros(6), np.ones(5)), "weights must hold 6 entries, got 5"),
    ((0, asked_of(1, np.zeros(5)), np.zeros(1), np.ones(1)), "a map's cells must hold 6 entries, got 5"),
    ((0, asked_of(2, np.zeros(6)), np.zeros(1), np.ones(1)), "values must hold 2 entries, got 1"),
]


@pytest.mark.parametrize(("measurement", "message"), REFUSED_MEASUREMENTS)
def test_refused_measurements(tree, measurement, message):
    with pytest.raises(ValueError, match=message):
        _core.Descent(tree, [(*measurement, np.empty(0), 0.0)], 1.0, ZEROS)


def test_refused_descents(tree):
    with pytest.raises(ValueError, match="potentials must hold 12 entries, got 3"):
        _core.Descent(tree, [], 1.0, np.zeros(3))
    with pytest.raises(ValueError, match="n_threads must be 0"):
        _core.Descent(tree, [], 1.0, ZEROS, -1)
    held_out = (0, None, np.zeros(6), np.ones(6), np.zeros(2), 0.0)
    with pytest.raises(ValueError, match="held_out must hold 6 entries, got 2"):
        _core.Descent(tree, [held_out], 1.0, ZEROS)


@pytest.mark.parametrize("least", [0.0, -1.0, float("nan")])
def test_an_enumeration_without_end_is_refused(least):
    for law in (_core.enumerate_laplace, _core.enumerate_gaussian):
        with pytest.raises(ValueError, match="least must be more than 0"):
            law(1, 2, least)
    with pytest.raises(ValueError, match="least must be more than 0"):
        _core.enumerate_selection(np.array([1, 2]), 1, 1, least)


@pytest.mark.parametrize("n", [0, 1, 5, 300])
def test_weights_are_raked_as_in_numpy(n):
    """Against the same steps in NumPy; weights that meet all sums stay as they are."""
    rng = np.random.default_rng(n)
    weights = rng.exponential(size=n) * (rng.random(n) < 0.8)
    keys = [rng.integers(0, k, n).astype(np.uint32) for k in (1, 7, 40)]
    targets = [
        (key, np.where(rng.random(k) < 0.8, rng.exponential(9, k), 0)) for key, k in zip(keys, (1, 7, 40), strict=True)
    ]
    expected = weights.copy()
    for _ in range(3):
        for key, sums in targets:
            present = np.bincount(key, expected, sums.size)
            due = np.minimum(sums / np.maximum(present, 1e-9), 1e3)
            expected *= np.where(present > 0, due, 1)[key]
    given = weights.copy()
    assert _core.rake(weights, targets, 3) == pytest.approx(expected, rel=1e-12)
    assert np.array_equal(weights, given)
    met = [(key, np.bincount(key, weights, sums.size).astype(float)) for key, sums in targets]
    assert _core.rake(weights, met, 5) == pytest.approx(weights, rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones(3), [(np.zeros(2, np.uint32), np.ones(1))], 1), "groups of a target must hold 3 entries, got 2"),
        ((np.ones(2), [(np.array([0, 1], np.uint32), np.ones(1))], 1), "below 1"),
        ((np.ones(1), [(np.zeros(1, np.uint32), np.ones(0))], 1), "below 0"),
        ((np.ones(2), [], -1), "passes must be at least 0, got -1"),
    ],
)
def test_refused_rakings(arguments, message):
    with pytest.raises(ValueError, match=message):
        _core.rake(*arguments)
