"""Evidence is written in Python as on the command line."""

from __future__ import annotations

import contextlib
import datetime

import numpy as np
import pytest

import pypgm
from pypgm import CliqueVector, Domain, GraphicalModel, cli

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


DAYS = [datetime.date(2020, month, 5) for month in range(1, 13)]
KINDS = {  # of each kind of column its declaration, and some values of the table with their labels or codes
    "whole": ({"kind": "integer", "low": 0, "high": 99, "width": 10}, {35: BINS[3], 45: BINS[4], 47: BINS[4]}),
    "real": ({"kind": "real", "low": 0, "high": 10, "bins": 4}, {3.2: "[2.5, 5)", 7: "[5, 7.5)", 9.5: "[7.5, 10]"}),
    "day": (
        {"kind": "date", "low": "2020-01-01", "high": "2020-12-31", "resolution": "quarter"},
        {DAYS[1]: "2020-Q1", DAYS[4]: "2020-Q2", np.datetime64("2020-05-01"): "2020-Q2"},
    ),
    "flag": ({"kind": "boolean", "values": ["no", "yes"], "null": True}, {True: "yes", False: "no", None: ""}),
    "label": (["a", "b", "3"], {"a": "a", 3: "3"}),
    "code": (5, {3: 3, 4.0: 4}),
}


@pytest.fixture(scope="module")
def every_kind():
    rng = np.random.default_rng(1)
    columns = {name: rng.choice(np.array([*known], object), 300) for name, (_, known) in KINDS.items()}
    schema = {"sex": ["F", "M"], **{name: column for name, (column, _) in KINDS.items()}}
    sex = np.where([value == 35 for value in columns["whole"]], "F", rng.choice(["F", "M"], 300))
    return pypgm.synthesize({"sex": sex, **columns}, schema, epsilon=20, delta=1e-9, unsafe_seed=0)


@pytest.mark.parametrize("kind", KINDS)
def test_values_of_a_list_are_read_as_they_are_alone(every_kind, kind):
    """What a list is given as, its answer is the mixture of those of its labels, and each is that of its value."""
    known = KINDS[kind][1]
    joint = every_kind.project(("sex", kind))
    places = {label: code for code, label in enumerate(joint.domain.labels.get(kind, range(5)))}
    for value, label in known.items():
        alone = every_kind.query("sex", {kind: value}).values
        np.testing.assert_array_equal(alone, every_kind.model.query("sex", {kind: label}).values)
    for n in range(1, len(known) + 1):
        values, codes = [*known][:n], [places[label] for label in {*[*known.values()][:n]}]
        summed = joint.values[:, codes].sum(axis=1)
        for given in (values, tuple(values), set(values)):
            found = every_kind.query("sex", {kind: given}).values
            np.testing.assert_allclose(found, summed / summed.sum(), rtol=1e-9)


@pytest.mark.parametrize(
    ("given", "bins"),
    [
        (range(30, 50), BINS[3:5]),
        (np.array([35, 45]), BINS[3:5]),
        ([35, "60.."], [BINS[3], *BINS[6:]]),
        (["35", "40..49"], BINS[3:5]),
        ([35, 36], BINS[3:4]),
        ({35.0}, BINS[3:4]),
    ],
)
def test_several_values_and_ranges_stand_for_their_bins(release, given, bins):
    found, same = (release.query("sex", {"age": known}).values for known in (given, bins))
    np.testing.assert_allclose(found, same, rtol=1e-12)


@pytest.mark.parametrize("given", [150, [35, 150], range(95, 120), True, [[35]], DAYS[0]])
def test_what_is_no_value_of_the_table_is_refused_alone_and_in_a_list(release, given):
    with pytest.raises(ValueError, match="attribute 'age' needs a whole number from 0 to 99, or one of its bins"):
        release.query("sex", {"age": given})


@pytest.mark.parametrize("given", [[35, 35], [0.5] * 11, [i / 10 for i in range(11)]])
def test_a_list_of_values_that_may_hold_likelihoods_is_refused(release, given):
    with pytest.raises(ValueError, match="'age' is a list that may mean two things"):
        release.query("sex", {"age": given})


def test_without_a_schema_a_number_is_no_value_of_a_bin_and_a_list_may_have_ranges(release):
    with pytest.raises(ValueError, match=r"'age' has no label 35; .*a number is a value here, not a code"):
        release.model.query("sex", {"age": 35})
    model = GraphicalModel(CliqueVector(Domain({"x": 9, "y": 2}), [("x", "y")]), 10.0)
    several = (model.query("x", {"x": known}).values for known in ([0, "3..4", "8.."], [0, 3, 4, 8]))
    np.testing.assert_array_equal(*several)


def test_a_missing_value_is_asked_for_as_it_is_shown(tmp_path, capsys):
    columns = {
        "age": {"kind": "integer", "low": 0, "high": 99, "width": 10, "null": True},
        "job": {"kind": "categorical", "values": ["cook", "nurse"], "null": ["NA", ""]},
        "born": {"kind": "date", "low": "2000-01-01", "high": "2000-12-31", "resolution": "month", "null": ["?"]},
        "home": {"kind": "derived", "from": "age", "mapping": [[{"to": 29}, "city"], [{"from": 30}, "land"]]},
        "sex": ["F", "M"],
    }
    rng = np.random.default_rng(0)
    schema = pypgm.Schema.from_dict(columns)
    codes = {name: rng.integers(0, column.size, 400) for name, column in schema.columns.items()}
    release = pypgm.mechanisms.mst(schema.records(codes), epsilon=5, delta=1e-9, unsafe_seed=0)
    release.save(tmp_path / "r.pgm")
    last = {name: np.eye(column.size)[-1] for name, column in schema.columns.items()}  # the code of nulls
    for name, text in (("age", ""), ("job", "NA"), ("born", "?"), ("home", "")):
        same = release.query("sex", {"age" if name == "home" else name: last["age" if name == "home" else name]}).values
        for given in (None, float("nan"), np.datetime64("NaT", "s"), "(missing)", text, ["(missing)"]):
            np.testing.assert_allclose(release.query("sex", {name: given}).values, same, rtol=1e-12)
        assert cli.main(["query", str(tmp_path / "r.pgm"), "sex", "--given", f"{name}=(missing)", "--draws", "0"]) == 0
        printed = [float(line.split(",")[1]) for line in capsys.readouterr().out.splitlines()[1:]]
        np.testing.assert_allclose(printed, same, rtol=1e-8)
    assert cli.main(["query", str(tmp_path / "r.pgm"), "sex", "--given", "age=none"]) == 2
    assert "'' or '(missing)' asks for a missing value" in capsys.readouterr().err
    for none in (None, "(missing)"):
        with pytest.raises(ValueError, match="attribute 'sex' needs one of 'F', 'M'"):
            release.query("age", {"sex": none})


def test_dates_of_every_type_are_those_of_their_texts():
    columns = {
        "day": {"kind": "date", "low": "2020-01-01", "high": "2020-12-31", "resolution": "month", "format": "%d.%m.%Y"},
        "hour": {"kind": "date", "low": "2020-05-01", "high": "2020-05-02", "resolution": "hour"},
        "sex": ["F", "M"],
    }
    rng = np.random.default_rng(0)
    schema = pypgm.Schema.from_dict(columns)
    codes = {name: rng.integers(0, column.size, 400) for name, column in schema.columns.items()}
    release = pypgm.mechanisms.mst(schema.records(codes), epsilon=5, delta=1e-9, unsafe_seed=0)
    time = datetime.datetime(2020, 5, 1, 7, 30)
    times = {"day": [time, time.date(), np.datetime64(time, "D"), np.datetime64(time, "ns")], "hour": [time]}
    with contextlib.suppress(ImportError):
        import pandas

        times = {name: [*values, pandas.Timestamp(time)] for name, values in times.items()}
    for name, text in (("day", "01.05.2020"), ("hour", "2020-05-01T07:59")):
        same = release.query("sex", {name: text}).values
        for value in times[name]:
            for given in (value, [value], {value}):
                np.testing.assert_array_equal(release.query("sex", {name: given}).values, same)
