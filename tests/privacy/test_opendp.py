"""Noise drawn by OpenDP behind the same door, and against our own; skipped where it is not installed."""

import sys
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from pypgm import Dataset, Domain
from pypgm.mechanisms import mst
from pypgm.privacy import Budget, Ledger, Privacy, PrivateTable, opendp_noise
from pypgm.privacy.sampler import Sampler

DATA = Dataset({"a": [0, 1, 1, 2] * 5}, Domain({"a": 3}))


def table(**options):
    return PrivateTable(DATA, Privacy(), Ledger(Budget(rho=10**9)), backend="opendp", **options)


def test_parameters_are_floats_rounded_to_more_noise():
    for value in (Fraction(1, 3), Fraction(2), Fraction(10**20 + 1, 7)):
        scale, variance = opendp_noise.drawable_scale(value), opendp_noise.drawable_variance(value)
        assert 0 <= scale / value - 1 < 1e-15
        assert 0 <= variance / value - 1 < 1e-15
        assert Fraction(float(scale)) == scale
    for call in (opendp_noise.drawable_scale, opendp_noise.drawable_variance):
        with pytest.raises(ValueError, match="more than 0"):
            call(Fraction(0))


def test_a_missing_package_is_named_before_anything_is_charged(monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp", None)
    private = table()
    with pytest.raises(ImportError, match=r"pypgm\[opendp\]"):
        private.measure("a", scale=Fraction(1))
    assert private.ledger.lines == ()


def test_no_seed_is_taken():
    with pytest.raises(ValueError, match="takes no seed"):
        table(unsafe_seed=1).measure("a", scale=Fraction(1))


def test_measurements_are_counts_plus_noise_charged_by_what_is_drawn():
    pytest.importorskip("opendp", reason="OpenDP is not installed")
    private = table()
    assert private.measure("a", variance=Fraction(1, 1000)).values.tolist() == [5, 10, 5]
    assert private.measure("a", scale=Fraction(1, 1000)).values.dtype == np.int64
    noisy = private.measure("a", rho=Fraction(1, 3))
    lines = private.ledger.lines
    assert lines[2].parameters["variance"] >= Fraction(3, 2)
    assert 0 <= 1 - lines[2].cost * 3 < 1e-14
    assert noisy.stddev == pytest.approx(1.5**0.5)
    with pytest.raises(ValueError, match="square of a float"):
        opendp_noise.gaussian(Fraction(2))


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_two_sample_chi_square_against_our_own(law):
    pytest.importorskip("opendp", reason="OpenDP is not installed")
    zeros = np.zeros(20_000, dtype=np.int64)
    if law == "gaussian":
        theirs, ours = opendp_noise.gaussian(Fraction(9))(zeros), Sampler().gaussian(Fraction(9))(zeros)
    else:
        theirs, ours = opendp_noise.laplace(Fraction(3))(zeros), Sampler().laplace(Fraction(3))(zeros)
    edges = np.concatenate([[-(10**6)], np.arange(-7, 9), [10**6]])
    observed = np.array([np.histogram(drawn, edges)[0] for drawn in (theirs, ours)])
    assert stats.chi2_contingency(observed).pvalue > 1e-9


def test_a_mechanism_draws_from_the_backend_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp", None)
    with pytest.raises(ImportError, match=r"pypgm\[opendp\]"):
        mst(DATA, 1, 1e-9, backend="opendp")
