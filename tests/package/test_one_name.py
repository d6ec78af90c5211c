"""Parameters have one name and one default in every public signature."""

from __future__ import annotations

import importlib
import inspect
from collections import defaultdict

import pytest

import pypgm
from pypgm import Domain
from pypgm.mechanisms.tables import mechanism_named, mechanism_names, takes

PACKAGES = (
    *("bayes", "data", "estimation", "evaluation", "graphs", "inference", "io", "mechanisms", "models", "mrf"),
    *("planning", "plot", "privacy", "queries", "reconstruction", "release", "workloads"),
)

# What a user meets once need not be named so again: these stood for what has another name.
ELSEWHERE = {
    **dict.fromkeys(("n", "n_rows", "number"), "rows"),
    **dict.fromkeys(("n_estimate", "records"), "n_records"),
    **dict.fromkeys(("seed", "random_state"), "rng"),
    "as_frame": "to_frame",
    "ordered": "ordinal",
    "noise_law": "noise",
    "replicates": "draws",
    **dict.fromkeys(("verbose", "show_progress"), "progress"),
    **dict.fromkeys(("max_iter", "n_iterations", "sweeps"), "iterations"),
    **dict.fromkeys(("tol", "epsilon_tolerance"), "tolerance"),
    **dict.fromkeys(("timeout", "max_seconds"), "time_limit"),
    **dict.fromkeys(("n_jobs", "threads"), "n_threads"),
}
REQUIRED = inspect.Parameter.empty
DEFAULTS = {
    "n_threads": {0},
    "progress": {False},
    "unsafe_seed": {None},
    "neighbours": {None},
    "decimal": {"."},
    "thousands": {""},
    "delimiter": {","},
    "encoding": {"utf-8"},
    "ignore_extra": {False},
    "rows": {None, REQUIRED},
    "epsilon": {None, REQUIRED},
    "delta": {None, REQUIRED},
    "budget": {None, REQUIRED},
    **{key: {None} for key in ("time_limit", "max_bytes", "callback", "workload", "constraints", "evidence", "ax")},
}
# An estimate has a seed of its own, and None is its name.
DRAWS_RECORDS = {
    "decode",
    "draw",
    "example",
    "impute",
    "sample",
    "synthetic_data",
    "texts",
    "to_batches",
    "to_frame",
    "write",
    "write_table",
    "estimate",
}


def functions():
    """Yield every public function and method with its name, and whether it makes a value object."""
    for package in ("pypgm", *(f"pypgm.{name}" for name in PACKAGES)):
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", dir(module)):
            thing = getattr(module, name)
            if not getattr(thing, "__module__", "").startswith("pypgm"):
                continue
            if inspect.isfunction(thing):
                yield f"{package}.{name}", thing
            elif inspect.isclass(thing):
                members = vars(thing).items()
                methods = [(k, getattr(v, "__func__", v)) for k, v in members if not k.startswith("_")]
                yield from ((f"{package}.{name}.{k}", v) for k, v in methods if inspect.isfunction(v))


SIGNATURES = {name: inspect.signature(function).parameters for name, function in functions()}


def test_no_name_stands_for_what_has_another():
    others = {
        n: ELSEWHERE.keys() & parameters.keys()
        for n, parameters in SIGNATURES.items()
        if ELSEWHERE.keys() & parameters.keys()
    }
    assert len(SIGNATURES) > 250
    assert not others


def test_a_name_has_one_default():
    defaults = defaultdict(set)
    for name, parameters in SIGNATURES.items():
        for parameter in parameters.values() if not name.endswith(".head") else ():
            allowed = DEFAULTS.get(parameter.name, set())
            if allowed and parameter.default is not REQUIRED and parameter.default not in allowed:
                defaults[parameter.name].add((name, parameter.default))
    assert not defaults


def test_figures_are_the_same_each_time_and_records_are_not():
    for name, parameters in SIGNATURES.items():
        if "rng" in parameters and parameters["rng"].default is not REQUIRED:
            assert parameters["rng"].default == (None if name.rpartition(".")[2] in DRAWS_RECORDS else 0), name


@pytest.mark.parametrize("name", [n for n in mechanism_names() if takes(n, "workload") and n != "jam"])
@pytest.mark.parametrize("workload", [2, "2", [("a", "b"), ("b", "c"), ("a", "c")]], ids=str)
def test_a_workload_is_written_in_python_as_on_the_command_line(name, workload):
    domain = Domain(dict.fromkeys("abc", 2))
    data = pypgm.Dataset({a: [0, 1] * 20 for a in domain}, domain)
    how = {"epsilon": 1, "delta": 1e-9, "unsafe_seed": 0, "iterations": 2}
    release, same = (
        mechanism_named(name)(data, workload=w, **how) for w in (workload, pypgm.workloads.all_k_way(domain, 2))
    )
    assert {frozenset(c) for c in release.options["workload"]["cliques"]} == set(map(frozenset, ["ab", "bc", "ac"]))
    assert sorted(m.clique for m in release.measurements) == sorted(m.clique for m in same.measurements)


def test_a_schema_is_whatever_says_what_a_table_is(tmp_path):
    table, file = tmp_path / "people.csv", tmp_path / "schema.json"
    table.write_text("age,sex\n31,F\n7,M\n", encoding="utf-8")
    file.write_text('{"age": 85, "sex": ["F", "M"]}', encoding="utf-8")
    domain = Domain({"age": 85, "sex": ["F", "M"]})
    schema = pypgm.Schema.of(domain)
    for given in (schema, domain, {"age": 85, "sex": ["F", "M"]}, file, str(file)):
        assert pypgm.read_table(table, schema=given).project("age").values.sum() == 2
        assert pypgm.data.scan(table, schema=given).n_records == 2
        assert pypgm.synthesize(table, given, epsilon=1, delta=1e-9).model.domain == domain
    for known in (schema, domain):
        assert pypgm.Dataset.from_frame({"age": [31], "sex": ["M"]}, schema=known)["sex"].tolist() == [1]
    with pytest.raises(TypeError, match="schema needs a Schema, a Domain, a mapping or a path, got int"):
        pypgm.read_table(table, 3)


def test_a_plan_takes_what_a_mechanism_takes():
    domain = Domain(dict.fromkeys("abc", 2))
    data = pypgm.Dataset({a: [0, 1] * 20 for a in domain}, domain)
    budget = pypgm.Budget(epsilon=1, delta=1e-9)
    same = [
        pypgm.mechanisms.plan("hdmm", over, n_records=40, **how)
        for over, how in (
            (domain, {"epsilon": 1, "delta": 1e-9, "workload": 2}),
            (pypgm.Schema.of(domain), {"budget": budget, "workload": "2", "neighbours": "add-remove"}),
            (data, {"budget": budget, "privacy": pypgm.Privacy()}),
        )
    ]
    assert len({(plan.cliques, plan.stddev, plan.n_records) for plan in same}) == 1
