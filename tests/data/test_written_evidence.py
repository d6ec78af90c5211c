"""Evidence is written in Python as on the command line."""

from __future__ import annotations

import numpy as np
import pytest

import pypgm
from pypgm import CliqueVector, Domain, GraphicalModel

SCHEMA = {
    "age": {"kind": "integer", "low": 0, "high": 99, "width": 10, "null": True},
    "sex": ["F", "M"],
}
NOTHING = pypgm.data.Categorical([], other=True)
BINS = [f"[{n}, {n + 10})" for n in range(0, 90, 10)] + ["[90, 99]"]


@pytest.fixture(scope="module")
def release():
    rng = np.random.default_rng(0)
    columns = {"age": rng.integers(0, 100, 400), "sex": rng.choice(["F", "M"], 400)}
    return pypgm.synthesize(columns, {n: SCHEMA[n] for n in columns}, epsilon=5, delta=1e-9, unsafe_seed=0)


@pytest.mark.parametrize(
    ("text", "bins"),
    [("30..40", BINS[3:5]), ("65..", BINS[6:]), ("..9", BINS[:1]), ("35", BINS[3:4]), ("[30, 40)", BINS[3:4])],
)
def test_a_release_reads_values_and_ranges_by_its_schema(release, text, bins):
    found, same = (release.query("sex", {"age": known}).values for known in (text, bins))
    np.testing.assert_array_equal(found, same)
    drawn = release.synthetic_data(50, rng=0, evidence={"age": text}).project("age").values
    assert set(np.flatnonzero(drawn)) <= {release.model.domain.labels["age"].index(b) for b in bins}
    for method in (release.marginal, release.expected_error, release.standard_error):
        a, b = (method("sex", {"age": known}, draws=2) for known in (text, bins))
        assert repr(a) == repr(b)


def test_a_model_reads_ranges_of_codes_and_labels():
    domain = Domain({"age": 85, "size": ["S", "M", "L"], "odd": ["a..b", "c"]})
    rng = np.random.default_rng(1)
    model = GraphicalModel(CliqueVector(domain, [("age", "size"), ("odd",)], rng.normal(size=85 * 3 + 2)), 100.0)
    for text, several in (("30..40", range(30, 41)), ("83..", [83, 84]), ("..1", [0, 1])):
        same = model.query("size", {"age": several}).values
        np.testing.assert_array_equal(model.query("size", {"age": text}).values, same)
    same = model.query("age", {"size": ["M", "L"]}).values
    np.testing.assert_array_equal(model.query("age", {"size": "M.."}).values, same)
    assert model.query("odd", {"odd": "a..b"}).values.tolist() == [1, 0]  # a label is itself


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("40..30", "no value of attribute 'age' is in the range: '40' comes after '30'"),
        ("30..old", "at the ends of a range, got 'old'"),
        ("old", "attribute 'age' needs a whole number from 0 to 99"),
        ("30,40", "give a list"),
    ],
)
def test_what_is_no_value_is_refused(release, text, message):
    with pytest.raises(ValueError, match=message):
        release.query("sex", {"age": text})


def test_evidence_of_a_column_of_which_no_value_was_found_says_so():
    schema = pypgm.OpenSchema({"job": pypgm.data.OpenSet("1/4"), "sex": ["F", "M"]}).closed({"job": NOTHING})
    model = pypgm.mechanisms.mst(schema.records({"job": [0] * 40, "sex": [0, 1] * 20}), 1, 1e-9)
    with pytest.raises(ValueError, match="'job' needs one of 'other', as no value of it was found"):
        model.query("sex", {"job": "cook"})
