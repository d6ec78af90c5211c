"""Estimators: parameters as scikit-learn has them, the release of `synthesize`, pickles, and records on conditions."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pypgm
from pypgm.integrations import sdv, smartnoise

PEOPLE = {"age": [31, 7, 44] * 60, "sex": ["F", "M", "F"] * 60}
SCHEMA = {"age": {"kind": "integer", "low": 0, "high": 99, "width": 10}, "sex": ["F", "M"]}
HOW = {"epsilon": 20, "delta": 1e-9, "schema": SCHEMA, "mechanism": "mst", "iterations": 3}
METADATA = {"columns": {"age": {"sdtype": "numerical"}, "sex": {"sdtype": "categorical"}}}
KINDS = {
    "pypgm": pypgm.Synthesizer,
    "smartnoise": smartnoise.Synthesizer,
    "sdv": lambda *a, **how: sdv.Synthesizer(METADATA, *a, **how),
}
TOOL_PARAMS = {"metadata"}

# Those of scikit-learn's checks that fit no table: all others fit arrays of random numbers and a target.
CHECKS = [
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_estimators_unfitted",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
]


@pytest.mark.parametrize("name", CHECKS)
def test_the_checks_of_scikit_learn_that_fit_no_table(name):
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    if not hasattr(checks, name):  # in another release
        pytest.skip(f"scikit-learn has no {name}")
    getattr(checks, name)("Synthesizer", pypgm.Synthesizer())


def test_scikit_learn_clones_and_pipes():
    sklearn = pytest.importorskip("sklearn.base")
    pipeline = pytest.importorskip("sklearn.pipeline")
    fitted = pypgm.Synthesizer(**HOW).fit(PEOPLE)
    other = sklearn.clone(fitted)
    assert other.get_params() == fitted.get_params()
    assert not hasattr(other, "release_")
    piped = pipeline.Pipeline([("synthesizer", other)]).set_params(synthesizer__epsilon=9)
    assert piped.fit(PEOPLE)[-1].release_.ledger.budget.epsilon == 9


def test_nothing_of_scikit_learn_is_needed(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sklearn", None)
    assert pypgm.Synthesizer(**HOW).fit(PEOPLE).get_params() == {"bounds": None} | HOW


OPTIONS = st.dictionaries(
    st.sampled_from(["mechanism", "workload", "neighbours", "n_threads", "time_limit"]), st.integers(0, 5)
)


@pytest.mark.parametrize("kind", KINDS)
@given(OPTIONS, OPTIONS, st.floats(0.1, 9))
def test_parameters_are_those_that_were_given(kind, first, then, epsilon):
    """What was given comes back, is never checked before `fit`, and makes an equal synthesizer."""
    made = KINDS[kind](epsilon, 1e-9, **first)
    params = made.get_params()
    assert {n: v for n, v in params.items() if n not in {"schema", "bounds", *TOOL_PARAMS}} == {
        "epsilon": epsilon,
        "delta": 1e-9,
    } | first
    assert type(made)(**params).get_params() == params
    assert copy.deepcopy(made).get_params() == pickle.loads(pickle.dumps(made)).get_params() == params
    assert made.set_params(**then) is made
    assert made.get_params() == params | then
    assert all(f"{n}={v!r}" in repr(made) for n, v in then.items())


@pytest.mark.parametrize("kind", KINDS)
def test_fit_is_synthesize_and_changes_no_parameter(kind):
    pytest.importorskip("pandas")
    given = PEOPLE if kind == "pypgm" else pytest.importorskip("pandas").DataFrame(PEOPLE)
    made = KINDS[kind](**HOW, unsafe_seed=7)
    params, before = made.get_params(), copy.deepcopy(SCHEMA)
    with pytest.raises(ValueError, match="after fit"):
        made.sample(3)
    assert made.fit(given) is made
    assert made.get_params() == params
    assert before == SCHEMA
    how = {name: value for name, value in HOW.items() if name != "schema"}
    release = pypgm.synthesize(given, SCHEMA, unsafe_seed=7, **how)
    assert made.release_.ledger.spent() == release.ledger.spent() > 0
    for one, other in zip(made.release_.measurements, release.measurements, strict=True):
        np.testing.assert_array_equal(one.values, other.values)

    again = pickle.loads(pickle.dumps(made))  # by the file of the release
    assert again.get_params() == params
    for drawn in (made.sample(40, rng=3), again.sample(40, rng=3)):
        assert all((drawn[name] == made.release_.to_frame(40, 3)[name]).all() for name in PEOPLE)
    men = made.sample(20, {"sex": "M", "age": "0..39"}, rng=1)
    assert set(men["sex"]) == {"M"}
    assert max(men["age"]) < 40
    assert len(made.sample()["age"]) == pytest.approx(180, abs=30)


def test_what_comes_without_a_schema_is_refused_with_a_draft_and_bounds_make_one():
    with pytest.raises(TypeError, match='"age"'):
        pypgm.Synthesizer(1, 1e-9).fit(PEOPLE)
    bounds = {"age": (0, 99), "sex": ["F", "M"]}
    made = pypgm.Synthesizer(20, 1e-9, bounds=bounds, mechanism="mst", iterations=3).fit(PEOPLE)
    assert made.release_.schema == pypgm.Schema.from_types(PEOPLE, bounds=bounds)
    with pytest.raises(TypeError, match="bounds need a mapping"):
        pypgm.Synthesizer(1, 1e-9, bounds=5).fit(PEOPLE)
    with pytest.raises(TypeError, match="target"):
        made.fit(PEOPLE, PEOPLE["sex"])


@pytest.mark.parametrize("name", ["fit", "sample", "release_", "get_params", "_x", "__class__"])
def test_no_parameter_hides_a_method_or_vanishes(name):
    for call in (
        lambda: pypgm.Synthesizer(**HOW, **{name: 1}),
        lambda: pypgm.Synthesizer(**HOW).set_params(**{name: 1}),
    ):
        with pytest.raises(TypeError, match=name):
            call()


def test_bounds_go_with_what_else_a_schema_from_types_takes():
    pytest.importorskip("pandas")
    table = PEOPLE | {"number": list(range(len(PEOPLE["age"]))), "note": ["x"] * len(PEOPLE["age"])}
    bounds, stated = {"age": (0, 99), "sex": ["F", "M"]}, {"drop": ["note"], "ids": ["number"]}
    how = {"mechanism": "mst", "iterations": 3}
    made = pypgm.Synthesizer(20, 1e-9, bounds=bounds, **stated, **how).fit(table)
    assert made.release_.schema == pypgm.Schema.from_types(table, bounds, **stated)
    assert made.get_params() == {"epsilon": 20, "delta": 1e-9, "schema": None, "bounds": bounds, **stated, **how}
    assert set(made.sample(5)) == {*PEOPLE, "number"}
    with pytest.raises(TypeError, match="drop"):
        pypgm.Synthesizer(20, 1e-9, schema=SCHEMA, **stated, **how).fit(PEOPLE)
    with pytest.raises(ValueError, match=r"bounds of 'number', .*drop= leaves"):
        pypgm.Synthesizer(20, 1e-9, bounds=bounds, **how).fit(table)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [({"seed": 1}, TypeError), ({"epsilon": None}, TypeError), ({"mechanism": "best"}, ValueError)],
)
def test_a_wrong_parameter_is_refused_by_fit_before_anything_is_spent(wrong, error):
    ledger = pypgm.Synthesizer(**HOW).set_params(**wrong)
    with pytest.raises(error):
        ledger.fit(PEOPLE)
    assert not hasattr(ledger, "release_")


def test_the_classes_of_other_packages_are_synthesizers():
    for made in (smartnoise.Synthesizer, sdv.Synthesizer):
        assert issubclass(made, pypgm.Synthesizer)
        assert "y" in inspect.signature(sdv.Synthesizer.fit).parameters
