"""What fits into other packages: synthesizers with their methods, and what OpenDP releases."""

from __future__ import annotations

import sys
import types

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import pypgm
from pypgm.compat import install_as_mbi, mbi, uninstall
from pypgm.integrations import opendp, sdv, smartnoise

ROWS = 600
BOUNDS = {"age": (0, 99)}
METADATA = {"columns": {"age": {"sdtype": "numerical"}, "sex": {"sdtype": "categorical"}, "mail": {"sdtype": "email"}}}


def people():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("narwhals")
    rng = np.random.default_rng(0)
    age = rng.integers(0, 100, ROWS)
    sex = np.where(rng.random(ROWS) < 0.9, np.where(age < 50, "F", "M"), "F")
    return pandas.DataFrame({"age": age, "sex": sex, "mail": [f"{i}@x.org" for i in range(ROWS)]})


def test_the_table_of_smartnoise():
    frame = people().drop(columns="mail")
    synthesizer = smartnoise.Synthesizer(epsilon=20.0, bounds=BOUNDS)
    with pytest.raises(ValueError, match="after fit"):
        synthesizer.sample(3)
    synthesizer.fit(frame, categorical_columns=["sex"], continuous_columns=["age"], preprocessor_eps=0.5)
    records = synthesizer.sample(2000)
    assert (records.dtypes == frame.dtypes).all()
    assert len(records) == 2000
    for value in ("F", "M"):
        assert (records.sex == value).mean() == pytest.approx((frame.sex == value).mean(), abs=0.03)
    young = records.sex[records.age < 50]
    assert (young == "F").mean() > 0.9
    assert synthesizer.release_.ledger.spent() > 0
    np.random.seed(0)  # noqa: NPY002
    first = synthesizer.sample(50)
    np.random.seed(0)  # noqa: NPY002
    assert first.equals(synthesizer.sample(50))


def test_the_number_of_records_is_not_given_away():
    # As many as there are would tell it: epsilon is small, and so is the chance that it is met.
    rows = [("F", 0), ("M", 1)] * 50
    schema = {"0": ["F", "M"], "1": [0, 1]}
    counts = {len(smartnoise.Synthesizer(0.2, 1e-6, schema=schema).fit_sample(rows)) for _ in range(6)}
    assert len(counts) > 1


def test_arrays_and_rows_come_back_as_they_went_in():
    rows = [("F", 0), ("M", 1)] * 300
    synthesizer = smartnoise.Synthesizer(20.0)
    synthesizer.fit(rows, transformer={"0": ["F", "M"], "1": [0, 1]})
    drawn = synthesizer.sample(400)
    assert sum(row in {("F", 0), ("M", 1)} for row in drawn) > 380
    assert {type(row) for row in drawn} == {tuple}
    table = np.array([[0, 2], [1, 0]] * 300, dtype=np.int16)
    drawn = smartnoise.Synthesizer(20.0, schema={"0": 2, "1": 3}).fit_sample(table)
    assert drawn.dtype == np.int16
    assert (drawn[:, 0] * 2 + drawn[:, 1] == 2).mean() > 0.95
    with pytest.raises(ValueError, match="bounds of '0', '1'"):
        smartnoise.Synthesizer().fit(table)
    theirs = type("Transformer", (), {"__module__": "snsynth.transform"})()
    with pytest.raises(TypeError, match="schema of pypgm"):
        smartnoise.Synthesizer().fit(table, transformer=theirs)


def test_the_table_of_sdv(tmp_path):
    frame = people()
    asked = types.SimpleNamespace(to_dict=lambda: {"tables": {"people": METADATA}})
    synthesizer = sdv.Synthesizer(asked, epsilon=20.0, bounds=BOUNDS)
    assert synthesizer.get_metadata() is asked
    synthesizer.fit(frame)
    records = synthesizer.sample(num_rows=500)
    assert list(records) == list(frame)
    assert not set(records.mail.astype(str)) & set(frame.mail)  # never read
    assert (records.sex[records.age < 50] == "F").mean() > 0.9
    old = types.SimpleNamespace(get_num_rows=lambda: 40, get_column_values=lambda: {"sex": "M"})
    assert set(synthesizer.sample_from_conditions([old, old]).sex) == {"M"}
    assert len(synthesizer.sample_from_conditions([old, old])) == 80
    synthesizer.save(tmp_path / "release.pgm")
    assert list(sdv.Synthesizer.load(tmp_path / "release.pgm").sample(7)) == list(frame)
    with pytest.raises(ValueError, match="bounds of 'age'"):
        sdv.Synthesizer(METADATA).fit(frame)
    with pytest.raises(ValueError, match="one table"):
        sdv.Synthesizer({"tables": {"a": METADATA, "b": METADATA}})


def released():
    """A table as OpenDP makes it: keys, one of them missing, and measurements by clique, one of them a total."""
    table = np.array([[40.0, 10, 3], [5, 60, 2]])
    told = [
        mbi.LinearMeasurement(table.ravel(), ("a", "b"), 2.0),
        mbi.LinearMeasurement(table.sum(0)[:2], ("b",), 1.0, lambda f: f.datavector()[:2]),
        mbi.LinearMeasurement([table.sum()], (), 1.0),
    ]
    marginals = types.SimpleNamespace(flatten=lambda: told)
    return table, types.SimpleNamespace(keys={"a": [0, 1], "b": ["x", "y", None]}, marginals=marginals)


def test_measurements_of_a_release_of_opendp():
    table, release = released()
    domain, measurements = opendp.measurements(release)
    assert tuple(domain.labels["b"]) == ("x", "y", "null")
    for m in measurements:
        np.testing.assert_allclose(m.linear_map.matvec(marginal(table, m.clique)), m.values)
    model = pypgm.estimate(domain, measurements, stop="optimum")
    np.testing.assert_allclose(model.project(("a", "b")).values, table, atol=0.05)
    assert model.total == pytest.approx(table.sum())


def marginal(table, clique):
    return table.sum(axis=tuple(i for i, a in enumerate("ab") if a not in clique)).ravel()


def test_an_estimator_for_those_who_keep_mbi():
    # Whatever mbi is there makes the model; here it is the compatible surface.
    install_as_mbi()
    try:
        own = mbi.Domain(["a", "b"], [2, 3])
        table, release = released()
        told = release.marginals.flatten()
        model = opendp.estimator(own, told)
        assert isinstance(model, sys.modules["mbi"].MarkovRandomField)
        np.testing.assert_allclose(model.project(("a", "b")).values, table, atol=0.1)
        # A start keeps what is not measured: the odds of b for each a.
        again = opendp.estimator(own, [mbi.LinearMeasurement([20.0, 80.0], "a")], potentials=model.potentials)
        given = again.project(("a", "b")).values / np.array([[20.0], [80.0]])
        np.testing.assert_allclose(given, table / table.sum(axis=1, keepdims=True), rtol=0.01)
    finally:
        uninstall()


def test_rows_are_read_value_by_value():
    """A value of another type among others is "other", and leaves their codes as they are."""
    schema = {"0": {"kind": "categorical", "values": ["True", "False"], "other": True}, "1": ["a", "b"]}
    rows = [(True, "a"), (False, "b")] * 300
    objects = np.empty((601, 2), dtype=object)
    objects[:] = [*rows, (5, "a")]
    for given in ([*rows, (5, "a")], [(5, "a"), *rows], objects):
        synthesizer = smartnoise.Synthesizer(50.0, schema=schema, mechanism="mst")
        synthesizer.fit(given)
        assert synthesizer.release_.model.project("0").values[:2].min() > 250
    fields = np.array([("a", 1), ("b", 2)] * 300, dtype=[("x", "U1"), ("y", "i8")])
    drawn = smartnoise.Synthesizer(50.0, schema={"0": ["a", "b"], "1": [1, 2]}).fit_sample(fields)
    assert drawn.dtype == fields.dtype


def test_rows_have_no_types_that_their_values_decide():
    with pytest.raises(ValueError, match="bounds of '0', '1'"):
        smartnoise.Synthesizer().fit([(True, 1), (False, 2)])


@pytest.mark.parametrize("rows", [[], np.empty((0, 2), dtype=object)])
def test_no_rows_are_a_table(rows):
    """Whether there is a record at all is as private as whether there is one more."""
    synthesizer = smartnoise.Synthesizer(1.0, schema={"0": ["a", "b"], "1": 3})
    synthesizer.fit(rows)
    assert synthesizer.release_.model.domain.attributes == ("0", "1")


@pytest.mark.parametrize("name", ["mst", "MWEM", "wide"])
def test_create_fits_numbers_of_any_magnitude_within_epsilon(name):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("narwhals")
    rng = np.random.default_rng(0)
    numbers = {"age": rng.integers(18, 90, 2000), "wage": rng.lognormal(9, 1, 2000), "sex": ["F", "M"] * 1000}
    made = smartnoise.Synthesizer.create(name, epsilon=3, delta=1e-6)
    made.fit(pandas.DataFrame(numbers), preprocessor_eps=1)
    ledger = made.release_.ledger
    assert ledger.spent() <= ledger.budget.limit
    assert ledger.budget.epsilon == 3
    columns = made.release_.schema.columns
    assert (columns["age"].low, columns["age"].high) == (16, 128)
    assert 1 < columns["wage"].low < columns["wage"].high < 2e6
    drawn = made.sample_conditional(50, "\"sex\" = 'F' AND age = '20..60'")
    assert set(drawn["sex"]) == {"F"}
    assert drawn["age"].between(16, 80).all()  # the bins that 20 to 60 meet
    assert len(made.sample(samples=7)) == 7


def test_what_smartnoise_cannot_have_is_refused_before_anything_is_spent():
    with pytest.raises(ValueError, match="synth must be one of"):
        smartnoise.Synthesizer.create("dpctgan")
    made = smartnoise.Synthesizer(epsilon=1)
    for bad in (1, -1, "a"):
        with pytest.raises(ValueError, match="preprocessor_eps"):
            made.fit([(1,)] * 9, preprocessor_eps=bad)
    with pytest.raises(ValueError, match="equalities"):
        made.sample_conditional(3, "age > 3")


@pytest.mark.parametrize("data", [np.zeros(3), [5, 6], [None], ["ab"], [("a",), ("b", 1)]])
def test_what_are_no_rows_is_refused(data):
    with pytest.raises((TypeError, ValueError), match=r"rows need|list of rows"):
        smartnoise.Synthesizer(1.0, schema={"0": ["a", "b"], "1": 2}).fit(data)


def test_columns_that_are_not_there_are_refused():
    for given, error in ((["zz"], ValueError), ("sex", TypeError), (5, TypeError)):
        with pytest.raises(error, match="columns"):
            smartnoise.Synthesizer(1.0).fit(people(), categorical_columns=given)


VALUES = st.sampled_from(["F", "a'b", "x and y", "", "1", "=", "é"])


@hypothesis.given(
    st.dictionaries(st.sampled_from(["sex", "a b", "and", "x_1"]), VALUES, min_size=1),
    st.sampled_from(['"%s"', "[%s]"]),
)
def test_conditions_are_read_as_they_are_written(values, quoted):
    text = "  AND ".join(f"{quoted % name} = '{value.replace(chr(39), chr(39) * 2)}'" for name, value in values.items())
    assert smartnoise._conditions(text) == values
    for wrong in (f"{text} and", f"{text} OR a = 1", f"{text} AND {quoted % next(iter(values))} = 'other'"):
        with pytest.raises(ValueError, match="condition needs"):
            smartnoise._conditions(wrong)


@pytest.mark.parametrize(
    "text", [" " * 100_000 + "=", "a" * 100_000, "a " * 50_000, "a" + " " * 100_000, "a=b" + " " * 100_000 + "c"]
)
def test_long_conditions_take_no_longer_than_their_length(text):
    with pytest.raises(ValueError, match="condition needs"):
        smartnoise._conditions(text)


@pytest.mark.parametrize(
    "metadata",
    [None, 5, "x", {}, {"columns": 5}, {"columns": ["a"]}, {"columns": {"a": None}}, {"tables": {}}, {"tables": [{}]}],
)
def test_what_is_no_metadata_is_refused(metadata):
    with pytest.raises((TypeError, ValueError), match="metadata needs"):
        sdv.Synthesizer(metadata)


@hypothesis.given(st.sampled_from([1e-3, 0.5, 3.0]), st.sampled_from([1e-9, 1e-3]), st.integers(0, 40))
def test_groups_cost_what_their_members_do(epsilon, delta, distance):
    dp = types.SimpleNamespace(max_divergence=lambda: None, approximate=lambda measure: measure)
    _, cost = opendp._cost(dp, pypgm.Budget(epsilon=epsilon, delta=delta))
    cost_of_group = cost(distance)
    passes = delta * sum(np.exp(epsilon * np.arange(distance)))
    assert cost_of_group == pytest.approx((epsilon * distance, min(1.0, passes)), rel=1e-9)
    assert cost_of_group[1] >= min(1.0, passes * (1 - 1e-13))
    assert cost(2**32 - 1)[1] == 1.0


def test_a_primary_key_of_several_columns_is_one_person():
    columns = {"id": {"sdtype": "id"}, "day": {"sdtype": "id"}, "sex": {"sdtype": "categorical"}}
    metadata = {"primary_key": ["id", "day"], "columns": columns}
    learner = sdv.Synthesizer(metadata, epsilon=5.0, delta=1e-6, bounds={"sex": ["F", "M"]}, mechanism="mst")
    learner.fit({"id": [1, 2] * 100, "day": [*range(200)], "sex": ["F", "M"] * 100})
    assert learner.release_.schema.person.columns == ("id", "day")


def test_a_primary_key_is_the_person():
    metadata = {"primary_key": "id", "columns": {"id": {"sdtype": "id"}, "sex": {"sdtype": "categorical"}}}
    learner = sdv.Synthesizer(metadata, epsilon=5.0, delta=1e-6, bounds={"sex": ["F", "M"]})
    learner.fit({"id": [*range(300), *[7] * 300], "sex": ["F", "M"] * 300})
    assert learner.release_.schema.person.columns == ("id",)
    assert abs(float(learner.release_.model.total) - 300) < 60  # one record of each
