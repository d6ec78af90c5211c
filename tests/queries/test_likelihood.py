"""Evidence: values, sets of values, likelihoods, and which is which."""

from __future__ import annotations

import numpy as np
import pytest

from pypgm import CliqueVector, Domain, GraphicalModel, Likelihood

DOMAIN = Domain({"a": 3, "sex": ["F", "M"]})
MODEL = GraphicalModel(CliqueVector(DOMAIN, [("a", "sex")], np.log([1.0, 2, 3, 4, 5, 6])), 21.0)


def given(evidence):
    return MODEL.query("sex", {"a": evidence}).values


def test_a_likelihood_and_a_float_array_mean_the_same():
    weights = [0.5, 0.0, 2.0]
    wanted = np.array([0.5 * 1 + 2 * 5, 0.5 * 2 + 2 * 6])
    for evidence in (Likelihood(weights), Likelihood(np.array(weights)), np.array(weights), np.float32(weights)):
        np.testing.assert_allclose(given(evidence), wanted / wanted.sum())


def test_whole_numbers_are_a_likelihood_where_that_is_said():
    np.testing.assert_allclose(given(Likelihood([0, 1, 2])), np.array([3 + 10, 4 + 12]) / 29)


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint16])
def test_an_array_of_integers_is_read_as_the_list_of_its_entries(dtype):
    for codes in ([0, 2], [1], [2, 1, 0]):
        assert given(np.array(codes, dtype=dtype)).tolist() == given(codes).tolist()


@pytest.mark.parametrize("values", [[], [[1.0, 2.0]], 3.0, [0.0, 0.0], [1.0, -1.0], [1.0, np.nan], [np.inf, 1.0]])
def test_what_is_no_likelihood_is_refused(values):
    with pytest.raises(ValueError, match="a likelihood needs"):
        Likelihood(values)


@pytest.mark.parametrize(
    ("values", "came"),
    [(np.array([1j, 2, 3]), "dtype complex"), (np.ma.array([1.0, 2, 3], mask=[1, 0, 0]), "a masked")],
)
def test_a_likelihood_is_of_real_numbers(values, came):
    for make in (Likelihood, given):
        with pytest.raises(TypeError, match=f"a likelihood.* must be real numbers, got {came}"):
            make(values)


def test_a_likelihood_has_one_number_for_each_value():
    with pytest.raises(ValueError, match=r"a likelihood of 'a' needs shape \(3,\), got \(2,\)"):
        given(Likelihood([1, 2]))


def test_a_likelihood_keeps_what_it_was_given():
    values = np.array([1.0, 2.0])
    likelihood = Likelihood(values)
    values[0] = 9
    assert likelihood.values.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        likelihood.values[0] = 3
