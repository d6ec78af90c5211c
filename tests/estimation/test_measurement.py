"""Measurements and the number of records: forms, refusals, best linear unbiased totals."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from random_models import domains

from pypgm import Domain, LinearMeasurement
from pypgm.estimation import estimate_total
from pypgm.queries import Identity, Partition

DOMAIN = Domain({"a": 2, "b": 3})


def test_integers_stay_integers_and_floats_floats():
    exact = LinearMeasurement([2**60 + 1, -3], "a")
    assert exact.values.dtype == np.int64
    assert exact.values[0] == 2**60 + 1
    assert LinearMeasurement(np.array([1, 2], dtype=np.uint8), "a").values.dtype == np.int64
    assert LinearMeasurement(np.array([1.5, 2], dtype=np.float32), "a").values.dtype == np.float64


def test_values_are_copied_flat_and_frozen():
    values = np.arange(6.0).reshape(2, 3)
    m = LinearMeasurement(values, ("a", "b"), stddev=np.ones(6))
    values[0, 0] = 9
    np.testing.assert_array_equal(m.values, np.arange(6))
    assert m.clique == ("a", "b")
    for array in (m.values, m.stddev):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        m.noise = "laplace"


def test_weights_are_inverse_variances():
    np.testing.assert_array_equal(LinearMeasurement([1, 2], "a", stddev=2.0).weights(), [0.25, 0.25])
    np.testing.assert_array_equal(LinearMeasurement([1, 2], "a", stddev=[1.0, 2.0]).weights(), [1.0, 0.25])


def test_repr_tells_what_was_measured():
    assert repr(LinearMeasurement([1, 2], "a", 2.0)) == "LinearMeasurement(a: 2 values, stddev 2, gaussian)"
    text = repr(LinearMeasurement([1, 2], "a", [1, 2], Identity(2), "laplace"))
    assert "stddev each" in text
    assert "laplace" in text


REFUSED = [
    (([1, 2, 3, 4], ("a", "a")), ValueError, r"names each attribute once, got \('a', 'a'\)"),
    (([1, np.nan], "a"), ValueError, r"measurement of \('a',\) must be finite"),
    (([1, np.inf], "a"), ValueError, r"measurement of \('a',\) must be finite"),
    ((["1", "2"], "a"), TypeError, r"measurement of \('a',\) must be real numbers, got dtype <U1"),
    (([True, False], "a"), TypeError, "must be real numbers, got dtype bool"),
    (([1j, 2], "a"), TypeError, "must be real numbers, got dtype complex128"),
    ((np.ma.masked_less([1, 2], 2), "a"), TypeError, "got a masked array: fill or drop the masked entries"),
    (([None, 2], "a"), TypeError, "must be real numbers, got dtype object"),
    ((np.array([2**63, 0], dtype=np.uint64), "a"), ValueError, r"measurement of \('a',\) must fit int64"),
    (([1, 2], "a", "3"), TypeError, r"stddev of the measurement of \('a',\) must be real numbers, got dtype <U1"),
    (([1, 2], "a", True), TypeError, "stddev of .* must be real numbers, got dtype bool"),
    (([1, 2], "a", None), TypeError, "stddev of .* must be real numbers, got dtype object"),
    (([1, 2], "a", 0.0), ValueError, r"measurement of \('a',\) needs a positive finite stddev"),
    (([1, 2], "a", -1.0), ValueError, "needs a positive finite stddev"),
    (([1, 2], "a", np.nan), ValueError, "needs a positive finite stddev"),
    (([1, 2], "a", [1.0, np.inf]), ValueError, "needs a positive finite stddev"),
    (([1, 2], "a", [1.0, 1.0, 1.0]), ValueError, r"needs one stddev or 2, got shape \(3,\)"),
    (([1, 2], "a", 1.0, Partition([0, 0])), ValueError, r"the query on \('a',\) has 1 rows, got 2 values"),
    (([1, 2], "a", 1.0, None, "uniform"), ValueError, "must be one of .*, got 'uniform'"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), REFUSED)
def test_refused_measurements(arguments, error, message):
    with pytest.raises(error, match=message):
        LinearMeasurement(*arguments)


MISFITS = [
    (LinearMeasurement([1, 2], "zip"), "unknown attribute 'zip'"),
    (LinearMeasurement([1, 2, 3], "a"), r"clique \('a',\) has 2 cells, its measurement 3 values"),
    (LinearMeasurement([1], "b", query=Partition([0, 0])), r"clique \('b',\) has 3 cells, its query is for 2"),
    (LinearMeasurement([1, 2], "b", query=Identity(2)), r"clique \('b',\) has 3 cells, its query is for 2"),
]


@pytest.mark.parametrize(("measurement", "message"), MISFITS)
def test_measurements_that_do_not_fit_the_domain(measurement, message):
    with pytest.raises(ValueError, match=message):
        measurement.checked(DOMAIN)


# The number of records.


def test_two_cliques_halve_the_variance():
    once = [LinearMeasurement([3, 5], "a", 2.0)]
    assert estimate_total(DOMAIN, once) == (8.0, 8.0)
    total, variance = estimate_total(DOMAIN, [*once, LinearMeasurement([5, 7], "a", 2.0)])
    assert total == pytest.approx(10.0, rel=1e-12)
    assert variance == pytest.approx(4.0, rel=1e-12)


def test_axes_of_a_clique_do_not_matter():
    values = np.arange(6.0).reshape(2, 3)
    spread = np.arange(1.0, 7.0).reshape(2, 3)
    one = [LinearMeasurement(values, ("a", "b"), spread.ravel()), LinearMeasurement(values + 1, ("a", "b"))]
    two = [LinearMeasurement(values.T, ("b", "a"), spread.T.ravel()), LinearMeasurement(values + 1, ("a", "b"))]
    assert estimate_total(DOMAIN, one) == pytest.approx(estimate_total(DOMAIN, two), rel=1e-12)


@st.composite
def mixtures(draw):
    """Several measurements on one clique: cells and groups of cells, with any noise."""
    domain = draw(domains(least=1, most=3, largest=4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cells = domain.size()
    measurements = []
    for grouped in draw(st.lists(st.booleans(), min_size=1, max_size=4)):
        query = Partition(rng.integers(0, min(3, cells), cells), min(3, cells)) if grouped else None
        rows = query.shape[0] if query else cells
        spread = rng.uniform(0.5, 5.0, rows) if rng.random() < 0.5 else float(rng.uniform(0.5, 5.0))
        clique = tuple(rng.permutation(domain.attributes).tolist())
        measurements.append(LinearMeasurement(rng.normal(100, 10, rows), clique, spread, query))
    return domain, measurements


@given(mixtures())
def test_total_is_that_of_dense_least_squares(case):
    domain, measurements = case
    matrix = np.vstack([reference.query_matrix(domain, m) for m in measurements])
    answers = np.concatenate([m.values for m in measurements])
    variances = np.concatenate([1 / m.weights() for m in measurements])
    wanted, variance = reference.total_by_least_squares(matrix, answers, variances)
    found = estimate_total(domain, measurements)
    assert found[0] == pytest.approx(max(1.0, wanted), rel=1e-6)
    assert found[1] == pytest.approx(variance, rel=1e-6)


def test_total_is_unbiased_and_as_spread_as_it_says():
    rng = np.random.default_rng(3)
    truth = np.array([[30.0, 5.0, 12.0], [1.0, 40.0, 9.0]])
    spread = rng.uniform(0.5, 4.0, 6)
    totals = []
    for _ in range(400):
        noisy = [
            LinearMeasurement(truth.ravel() + rng.normal(size=6) * spread, ("a", "b"), spread),
            LinearMeasurement(truth.sum(0) + rng.normal(size=3), "b"),
            LinearMeasurement(truth.sum() + rng.normal(size=1) * 2, "a", 2.0, Partition([0, 0])),
        ]
        total, variance = estimate_total(DOMAIN, noisy)
        totals.append(total)
    # Four standard errors of a mean and of a variance of 400 draws.
    assert np.mean(totals) == pytest.approx(truth.sum(), abs=4 * np.sqrt(variance / 400))
    assert np.var(totals) == pytest.approx(variance, rel=4 * np.sqrt(2 / 400))


def test_total_is_at_least_one():
    assert estimate_total(DOMAIN, [LinearMeasurement([-30, 2], "a", 20.0)])[0] == 1.0
    with pytest.raises(ValueError, match=r"counts sum to -28, with a standard error of 1\.4"):
        estimate_total(DOMAIN, [LinearMeasurement([-30, 2], "a")])


def test_total_needs_a_measurement():
    with pytest.raises(ValueError, match="no measurement tells the total number of records"):
        estimate_total(DOMAIN, [])
