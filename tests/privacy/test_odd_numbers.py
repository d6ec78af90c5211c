"""Options that are odd objects: read once, refused in words and before anything is spent."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import pypgm
from pypgm import Budget, Dataset, Domain, Ledger, LinearMeasurement, Privacy, PrivateTable, mechanisms

DOMAIN = Domain({"a": 2, "b": ["x", "y", "z"]})
ROWS = np.arange(300)
DATA = Dataset({"a": ROWS % 2, "b": ROWS % 3}, DOMAIN)
MEASURED = [LinearMeasurement([150.0, 150.0], "a", stddev=1.0), LinearMeasurement([90.0, 110, 100], "b", stddev=1.0)]
MANY_DIGITS = Fraction(10**5000, 3)


class Once:
    """A number that is another one when it is read again."""

    def __init__(self, value):
        self.left = [value]

    def __index__(self):
        return self.left.pop()

    def __float__(self):
        return float(self.left.pop())


def table():
    ledger = Ledger(Budget(epsilon=1, delta=1e-9))
    return PrivateTable(DATA, Privacy(), ledger)


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("mst", "iterations", 20),
        ("mst", "tolerance", 0.1),
        ("mst", "max_bytes", 1e9),
        ("mst", "n_threads", 1),
        ("mst", "time_limit", 100),
        ("aim", "rounds", 2),
        ("aim", "tree_bytes", 1e8),
        ("jam", "rounds", 2),
        ("jam", "tree_bytes", 1e8),
        ("mwem", "rounds", 2),
        ("mwem", "tree_bytes", 1e8),
        ("fem", "rounds", 2),
        ("fem", "samples", 20),
        ("dualquery", "samples", 20),
        ("screen", "tree_bytes", 1e6),
        ("adaptive_grid", "threshold", 3),
    ],
)
def test_an_option_of_a_mechanism_is_read_once(name, option, value):
    options = {"rounds": 2} if name in {"aim", "jam", "mwem", "fem", "dualquery"} else {}
    options |= {"public": DATA} if name == "jam" else {}
    mechanism = getattr(mechanisms, name)
    pure = name in {"fem", "dualquery"}
    release = mechanism(DATA, budget=Budget(epsilon=1, delta=0 if pure else 1e-9), **{**options, option: Once(value)})
    assert release.model.total >= 0


@pytest.mark.parametrize("option", ["iterations", "tolerance", "stepsize", "time_limit", "max_bytes", "n_threads"])
def test_an_option_of_an_estimate_is_read_once(option):
    value = {"max_bytes": 10**6, "stepsize": 1e-3}.get(option, 1)
    assert pypgm.estimate(DOMAIN, MEASURED, **{option: Once(value)}).total > 0


def test_a_number_of_draws_is_read_once():
    model = pypgm.estimate(DOMAIN, MEASURED)
    assert model.expected_error("a", draws=Once(3), rng=0).values.shape == (2,)
    assert model.standard_error("a", method="bootstrap", draws=Once(3), rng=0).values.shape == (2,)


@pytest.mark.parametrize("flag", [np.array(3), np.array([1, 2]), np.ma.masked, "no", None, 1])
@pytest.mark.parametrize("option", ["compress", "progress"])
def test_a_flag_that_is_none_is_refused_before_anything_is_spent(flag, option):
    if option == "progress" and flag is None:
        return  # the default of every option that all mechanisms share
    own = table()
    with own, pytest.raises(TypeError, match=f"{option} must be True or False"):
        mechanisms.mst(own, **{option: flag})
    assert own.ledger.spent() == 0


NUMBERS = {
    "a fraction of many digits": MANY_DIGITS,
    "an integer of many digits below 0": -(10**5000),
    "a signalling NaN": Decimal("sNaN"),
    "a time": np.timedelta64(3, "s"),
}
PLACES = {
    "tolerance": lambda value: pypgm.estimate(DOMAIN, MEASURED, tolerance=value),
    "stepsize": lambda value: pypgm.estimate(DOMAIN, MEASURED, stepsize=value),
    "iterations": lambda value: pypgm.estimate(DOMAIN, MEASURED, iterations=value),
    "total": lambda value: pypgm.estimate(DOMAIN, MEASURED, value),
    "unsafe_seed": lambda value: mechanisms.mst(DATA, epsilon=1, delta=1e-9, unsafe_seed=value),
    "epsilon": lambda value: Budget(epsilon=value, delta=2),
    "weights": lambda value: Dataset({"a": [0], "b": [0]}, DOMAIN, weights=[value]),
}


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("place", PLACES)
def test_a_number_that_is_none_is_refused_in_words(number, place):
    with pytest.raises((TypeError, ValueError)) as refused:
        PLACES[place](NUMBERS[number])
    assert type(refused.value) in {TypeError, ValueError}
    told = str(refused.value)
    assert place in told or (place == "epsilon" and "delta" in told)
    assert not any(word in told for word in ("ufunc", "4300", "InvalidOperation", "convert"))


@pytest.mark.parametrize("label", [Decimal("sNaN"), Decimal("NaN")])
def test_a_label_of_decimal_that_is_no_number(label):
    with pytest.raises(ValueError, match="a label must be a value"):
        Domain({"a": [label, "z"]})


@pytest.mark.parametrize("total", [5e-324, 1e-200, 1e200])
def test_a_total_beyond_the_numbers_of_estimates(total):
    with pytest.raises(ValueError, match="total must be 0, or from 1e-100 to 1e\\+100"):
        pypgm.estimate(DOMAIN, MEASURED, total)


@pytest.mark.parametrize("given", [5, [1], np.zeros(3), None])
def test_columns_that_are_no_mapping(given):
    with pytest.raises(TypeError, match="records need a mapping"):
        Dataset(given, DOMAIN)
    with pytest.raises(TypeError, match="a schema needs a mapping"):
        pypgm.Schema(given)


@pytest.mark.parametrize(
    ("backend", "error", "message"),
    [
        *((other, ValueError, "backend must be one of") for other in (np.ma.masked, np.array("pypgm"), 5)),
        ("opendp", TypeError, "an open table has its budget"),
    ],
)
def test_another_source_of_noise_than_that_of_an_open_table(backend, error, message):
    own = table()
    with own, pytest.raises(error, match=message):
        mechanisms.mst(own, backend=backend)
    assert own.ledger.spent() == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: Domain({"a": 1 << 1001}),
        lambda: Domain({"a": 10**5000}),
        lambda: Privacy(records_per_person=1 << 53),
        lambda: Privacy(records_per_person=10**5000),
        lambda: LinearMeasurement([1, 2], [1], 1.0),
        lambda: LinearMeasurement([1, 2], [None], 1.0),
    ],
)
def test_what_is_beyond_all_tables_is_refused_in_words(make):
    with pytest.raises((TypeError, ValueError), match=r"values at most|below 2\^53|names of attributes"):
        make()
