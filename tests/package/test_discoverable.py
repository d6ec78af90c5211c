"""Completion, ``help`` and ``dir`` for somebody who sees the package first."""

from __future__ import annotations

import dataclasses
import inspect
import pydoc
import re

import pytest

import pypgm
from pypgm import CliqueVector, Dataset, Domain, Factor
from pypgm.estimation.limits import LimitOptions, Limits
from pypgm.mechanisms.run import DEFAULTS, Options, Run
from pypgm.mechanisms.tables import mechanism_named, mechanism_names


@pytest.mark.parametrize("name", mechanism_names())
def test_a_mechanism_lists_every_option(name):
    parameters = inspect.signature(mechanism_named(name)).parameters
    assert Options.__annotations__.keys() <= parameters.keys()
    assert not [p for p in parameters.values() if p.kind is p.VAR_KEYWORD]
    for option in Options.__annotations__:
        assert option in pydoc.render_doc(mechanism_named(name), renderer=pydoc.plaintext).split("Release\n")[0]


def test_defaults_are_those_of_a_run():
    of_run = inspect.signature(Run.__init__).parameters
    for option in Options.__annotations__.keys() & of_run.keys():
        assert of_run[option].default == DEFAULTS.get(option), option


TAKING_LIMITS = [
    pypgm.estimate,
    pypgm.bayes.learn_private,
    *(getattr(pypgm.mrf, f"learn_{name}") for name in ("ising", "pairwise", "t_wise", "structure")),
    *map(mechanism_named, mechanism_names()),
]


@pytest.mark.parametrize("function", TAKING_LIMITS, ids=lambda function: function.__name__)
def test_limits_are_spelled_in_one_place_and_listed_in_all(function):
    assert LimitOptions.__annotations__.keys() == {field.name for field in dataclasses.fields(Limits)}
    code, listed = inspect.unwrap(function).__code__, inspect.signature(function).parameters
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    assert not LimitOptions.__annotations__.keys() & set(parameters)
    assert len([name for name in parameters if name not in {"data", "epsilon", "delta"}]) <= 12
    assert {"progress", "n_threads"} <= listed.keys()
    if function.__module__.partition(".mrf")[1] == "":
        assert LimitOptions.__annotations__.keys() <= listed.keys()


def test_what_is_meant_by_an_unknown_limit():
    one, data = pypgm.LinearMeasurement([1, 2], "a"), Dataset({"a": [0]}, Domain({"a": 2}))
    with pytest.raises(TypeError, match="'max_iterations'; did you mean 'iterations'"):
        pypgm.estimate(data.domain, [one], max_iterations=3)
    with pytest.raises(TypeError, match="'methods'; the nearest is 'method'"):
        pypgm.estimate(data.domain, [one], methods="auto")
    with pytest.raises(TypeError, match="'alocation'; the nearest is 'allocation'"):
        pypgm.bayes.learn_private(data, [], 1, alocation="uniform")
    with pytest.raises(TypeError, match="learn_ising takes account, budget, n_threads, "):
        pypgm.mrf.learn_ising(data, 1, radius=1.0, time_limit=3)


def test_options_of_errors_are_listed_filled_in_and_refused_by_name():
    model = pypgm.estimate(Domain({"a": 2}), [pypgm.LinearMeasurement([40, 60], "a")])
    for method, draws in (("expected_error", 20), ("standard_error", 50), ("marginal", 20)):
        for owner, more in ((pypgm.GraphicalModel, True), (pypgm.Release, False)):
            listed = inspect.signature(getattr(owner, method)).parameters
            assert (listed["draws"].default, listed["rng"].default) == (draws, 0)
            assert ("n_threads" in listed, "progress" in listed) == (more, more)
            assert (listed["draws"].annotation, listed["time_limit"].annotation) == ("int", "float | None")
        with pytest.raises(
            TypeError, match=f"{method} got an unexpected keyword argument 'drawz'; the nearest is 'draws'"
        ):
            getattr(model, method)("a", drawz=3)
        with pytest.raises(TypeError, match="unexpected keyword argument 'options'"):
            getattr(model, method)("a", options=3)
    assert (model.expected_error("a").values == model.expected_error("a", draws=20, rng=0).values).all()
    with pytest.raises(TypeError, match="project_many got an unexpected keyword argument 'started'"):
        model.project_many(["a"], started=1.0)


def test_limits_reach_the_estimate_of_a_network():
    data = Dataset({"a": [0, 1] * 9, "b": [0, 1, 1] * 6, "c": [1, 0, 0] * 6}, Domain(dict.fromkeys("abc", 2)))
    arcs = [("a", "b"), ("b", "c")]
    fits = [
        pypgm.bayes.learn_private(data, arcs, 1, unsafe_seed=0, tolerance=0, iterations=n, callback=None).model.fit
        for n in (1, 3)
    ]
    assert [(fit.status, fit.iterations) for fit in fits] == [("iterations", 1), ("iterations", 3)]


def test_what_passes_options_on_lists_them():
    both = inspect.signature(pypgm.mechanisms.synthesize_related).parameters
    assert {"time_limit", "budget", "unsafe_seed"} <= both.keys()
    assert not {"neighbours", "privacy", "measurements", "constraints", "schema"} & both.keys()
    whole = inspect.signature(pypgm.synthesize).parameters
    assert {"time_limit", "progress", "options"} <= whole.keys()  # and those of the mechanism
    assert {"neighbours", "privacy"} <= whole.keys()


def test_completion_of_notebooks_knows_the_options():
    jedi = pytest.importorskip("jedi")
    interpreter = jedi.Interpreter("wide(data, epsilon=1, pro", [{"wide": pypgm.mechanisms.wide, "data": None}])
    assert "progress=" in [c.name for c in interpreter.complete()]


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("seed", "unsafe_seed"),
        ("n_iters", "iterations"),
        ("verbose", "progress"),
        ("epsilom", ""),
    ],
)
def test_an_option_that_is_none_names_the_one_that_is_meant(wrong, meant):
    data = Dataset({"a": [0]}, Domain({"a": 2}))
    with pytest.raises(TypeError, match=f"did you mean '{meant}'" if meant else "a mechanism takes"):
        pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9, **{wrong: 1})


def test_a_plan_names_the_budget_and_how_many_records_it_takes():
    domain = Domain({"a": 2})
    with pytest.raises(TypeError, match="plan got an unexpected keyword argument 'rho'; did you mean 'budget'"):
        pypgm.mechanisms.plan("mst", domain, rho=1)
    assert pypgm.mechanisms.plan("mst", domain, 1, 1e-9, n_records=10**13 - 1).n_records == 10**13 - 1
    for n in (10**13, 10**30):
        with pytest.raises(ValueError, match=rf"n_records must be below 1e\+13, got {n}"):
            pypgm.mechanisms.plan("mst", domain, 1, 1e-9, n_records=n)


def test_keys_are_offered():
    domain = Domain({"sex": ["F", "M"], "n": 2})
    assert domain._ipython_key_completions_() == ["sex", "n"]
    assert Dataset({"sex": [0], "n": [1]}, domain)._ipython_key_completions_() == ["sex", "n"]
    factor = Factor(domain, [[1, 2], [3, 4]])
    keys = factor._ipython_key_completions_()
    assert keys == [("F", 0), ("F", 1), ("M", 0), ("M", 1)]
    assert [factor[k] for k in keys] == [1, 2, 3, 4]
    assert factor.project("sex")._ipython_key_completions_() == ["F", "M"]
    assert len(Factor(Domain({"a": 3000}), [0.0] * 3000)._ipython_key_completions_()) == 1000
    vector = CliqueVector(domain, [("sex",), ("sex", "n")])
    assert [vector[k].domain.attributes for k in vector._ipython_key_completions_()] == [("sex",), ("sex", "n")]


def test_the_package_says_how_to_begin():
    text = pypgm.__doc__
    for entry in ("pypgm.synthesize", "pypgm.estimate", "pypgm.bayes", "pypgm.plot", "pypgm.audit"):
        assert entry in text
    for name in re.findall(r"pypgm\.(\w+)", text):
        assert name in dir(pypgm), name
    assert {"privacy", "models", "plot", "audit", "planning", "errors"} <= set(dir(pypgm))


def test_a_table_that_was_asked_before_says_that_its_budget_is_spent():
    data = Dataset({"a": [0, 1], "b": [0, 1]}, Domain({"a": 2, "b": 2}))
    ledger = pypgm.Ledger(pypgm.Budget(epsilon=1, delta=1e-9))
    with pypgm.PrivateTable(data, pypgm.Privacy(), ledger) as table:
        pypgm.mechanisms.wide(table)
        with pytest.raises(pypgm.BudgetError, match=r"all of Budget\(epsilon=1, delta=1e-09\) was spent"):
            pypgm.mechanisms.wide(table)


def test_texts_where_codes_are_needed_name_what_takes_texts():
    domain = Domain({"sex": ["F", "M"]})
    with pytest.raises(TypeError, match=r"pypgm\.Dataset\.from_frame\(columns, domain\) takes labels"):
        Dataset({"sex": ["F", "M"]}, domain)
    assert Dataset.from_frame({"sex": ["F", "M"]}, domain)["sex"].tolist() == [0, 1]
