"""What all mechanisms share: options are refused before anything is spent, open tables, earlier measurements."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

from pypgm import (
    Budget,
    Dataset,
    Domain,
    Ledger,
    LinearMeasurement,
    ModelTooLargeError,
    Privacy,
    PrivateTable,
    estimate,
    mechanisms,
)
from pypgm.mechanisms import hdmm, mst, privbayes, wide
from pypgm.mechanisms import tables as registry
from pypgm.mechanisms.run import Run
from pypgm.mechanisms.tables import mechanism_named, mechanism_names, needs_more

DOMAIN = Domain({"a": 2, "b": 3, "c": 4})
DATA = Dataset({"a": [0, 1, 1] * 40, "b": [2, 0, 1] * 40, "c": [3, 3, 0] * 40}, DOMAIN)
MECHANISMS = {"mst": mst, "hdmm": hdmm, "privbayes": privbayes, "wide": wide}


def opened(rho=1, seed=None):
    return PrivateTable(DATA, Privacy(), Ledger(Budget(rho=rho)), unsafe_seed=seed)


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=list(MECHANISMS))
@pytest.mark.parametrize(
    ("more", "error", "message"),
    [
        ({"iterations": 1.5}, TypeError, "iterations"),
        ({"iterations": 0}, ValueError, "iterations"),
        ({"tolerance": -1.0}, ValueError, "tolerance"),
        ({"time_limit": -1.0}, ValueError, "time_limit"),
        ({"max_bytes": 0}, ValueError, "max_bytes"),
        ({"n_threads": -1}, ValueError, "n_threads"),
        ({"callback": 3}, TypeError, "callback must be callable, got int"),
        ({"oracle": "gibbs"}, ValueError, "oracle must be one of"),
        ({"measurements": [3]}, TypeError, r"measurements\[0\] needs"),
        ({"measurements": [LinearMeasurement([1, 2], "b")]}, ValueError, "3 cells"),
        ({"rng": 3}, TypeError, "unexpected keyword argument 'rng'"),
        ({"budget": Budget(rho=1)}, TypeError, "an open table has its budget"),
        ({"epsilon": 1}, TypeError, "an open table has its budget"),
        ({"neighbours": "replace"}, TypeError, "an open table has its budget"),
        ({"unsafe_seed": 3}, TypeError, "an open table has its budget"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_spent(mechanism, more, error, message):
    table = opened()
    with pytest.raises(error, match=message):
        mechanism(table, **more)
    assert table.ledger.spent() == 0


@pytest.mark.parametrize("name", ["aim", "dualquery", "hdmm", "mwem", "screen", "wide"])
@pytest.mark.parametrize("workload", [0, 2.5, "pairs", [("a", "nothing")]])
def test_what_is_no_workload_is_refused_before_anything_is_spent(name, workload):
    table = opened()
    with pytest.raises((TypeError, ValueError), match=r"needs a number|must be 1\.\.|unknown attribute"):
        getattr(mechanisms, name)(table, workload=workload)
    assert table.ledger.spent() == 0


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=list(MECHANISMS))
def test_an_open_table_is_asked_like_records_and_stays_open(mechanism):
    table = opened(seed=5)
    release = mechanism(table, iterations=3)
    alone = mechanism(DATA, budget=Budget(rho=1), iterations=3, unsafe_seed=5)
    assert [m.values.tolist() for m in release.measurements] == [m.values.tolist() for m in alone.measurements]
    assert release.ledger.lines == alone.ledger.lines
    assert not table.closed
    assert table.ledger.remaining() < 1e-9


def test_an_open_table_with_a_pure_budget_is_refused():
    table = PrivateTable(DATA, Privacy(), Ledger(Budget(epsilon=1)))
    with pytest.raises(ValueError, match="mst draws Gaussian noise"):
        mst(table)


def test_a_release_is_gone_on_with_by_another_mechanism():
    first = mst(DATA, budget=Budget(rho=1), iterations=3, unsafe_seed=1)
    table = first.resume(DATA, Budget(rho=3), unsafe_seed=2)
    second = hdmm(table, measurements=first.measurements, oracle="exact")
    assert second.measurements[: len(first.measurements)] == first.measurements
    assert second.ledger.spent() > 2.9
    model = estimate(DOMAIN, second.measurements)
    np.testing.assert_array_equal(second.project(("a", "c")).values, model.project(("a", "c")).values)


def test_auto_takes_a_tree_where_it_is_small_and_regions_where_it_is_not():
    large = Domain({f"a{i}": 40 for i in range(5)})
    records = Dataset({a: np.arange(100) % 40 for a in large}, large)
    regions, tree = (hdmm(d, budget=Budget(rho=1), iterations=2).model for d in (records, DATA))
    assert type(tree).__name__ == "GraphicalModel"
    assert type(regions).__name__ == "RegionGraphModel"


@pytest.mark.parametrize("oracle", ["exact", "region_graph", "auto"])
def test_an_estimate_that_does_not_fit_is_refused_before_anything_is_spent(oracle):
    large = Domain({f"a{i}": 40 for i in range(5)})
    table = PrivateTable(Dataset({a: [1] for a in large}, large), Privacy(), Ledger(Budget(rho=1)))
    with pytest.raises(ModelTooLargeError):
        hdmm(table, oracle=oracle, max_bytes=2**10)
    assert table.ledger.spent() == 0


def test_the_time_of_a_run_ends_its_estimate():
    release = mst(DATA, budget=Budget(rho=1), time_limit=1e-6, tolerance=0.0)
    assert release.model.fit.status == "time"


def test_where_there_are_publicly_no_records_nothing_is_fitted():
    none = Dataset({a: [] for a in DOMAIN}, DOMAIN)
    run = Run("any", none, budget=Budget(rho=1), neighbours="replace")
    assert run.total == 0
    assert run.estimate([LinearMeasurement([5, 3], "a")]).project("a").values.tolist() == [0.0, 0.0]


ODD = {"rounds": 5, "samples": 5}
EVERY = {name: {} for name in mechanism_names()} | {"dualquery": ODD, "fem": ODD, "jam": {"public": DATA}}
PURE = {"mwem", "privbayes", "dualquery", "fem"}


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("name", EVERY)
def test_a_budget_is_refused_before_anything_is_spent_or_suffices(name, neighbours):
    refused = set()
    for epsilon in ("1e-20", "1e-9", "1e-7", "1e-6", "1e-5", "1e4", "1e5", "1e9"):
        for delta in ("1e-9", 0) if name in PURE else ("1e-9",):
            ledger = Ledger(Budget(epsilon=epsilon, delta=delta))
            table = PrivateTable(DATA, Privacy(neighbours), ledger)
            try:
                getattr(mechanisms, name)(table, iterations=2, **EVERY[name])
            except ValueError:
                refused.add((epsilon, ledger.spent()))
    assert {("1e-20", 0), ("1e-9", 0)} <= refused
    assert not any(spent for _, spent in refused), refused


def test_both_budgets_of_related_tables_are_looked_at_before_anything_is_spent(monkeypatch):
    def ran(*_, **__):
        raise AssertionError

    monkeypatch.setattr("pypgm.mechanisms.related.mechanism_named", lambda name: ran)
    children = Dataset({"d": [0, 1]}, Domain({"d": 2}))
    with pytest.raises(ValueError, match="all of the budget leaves noise of"):
        mechanisms.synthesize_related(DATA, children, [0, 1], max_children=10**4, epsilon=1e-3, delta=1e-9)


def test_no_constraints_may_be_said_as_none():
    given, without = (mst(DATA, epsilon=1, delta=1e-9, unsafe_seed=1, **how) for how in ({"constraints": None}, {}))
    np.testing.assert_array_equal(given.project("a").values, without.project("a").values)
    found = estimate(DOMAIN, [LinearMeasurement([3, 4], "a")], constraints=None)
    np.testing.assert_allclose(found.project("a").values, [3, 4])


def test_an_unknown_option_names_the_one_that_was_meant():
    with pytest.raises(TypeError, match="'iteratons'; the nearest is 'iterations'"):
        mst(DATA, epsilon=1, delta=1e-9, iteratons=3)
    with pytest.raises(TypeError, match=r"a mechanism takes .*time_limit"):
        mst(DATA, epsilon=1, delta=1e-9, zzz=3)


@pytest.mark.filterwarnings("ignore:no further marginal fits")
@pytest.mark.parametrize("name", ["wide", "mst", "adaptive_grid", "mwem"])
def test_at_any_limit_of_memory_it_is_refused_unspent_or_runs_to_the_end(name):
    domain = Domain({"a": 40, "b": 30, "c": 2, "d": 7, "e": 12})
    data = Dataset({a: [0, 1] * 500 for a in domain}, domain)
    outcomes = []
    for max_bytes in np.geomspace(2e4, 1e7, 20):
        table = PrivateTable(data, Privacy(), Ledger(Budget(epsilon=20, delta=1e-9)))
        try:
            getattr(mechanisms, name)(table, max_bytes=float(max_bytes), iterations=3)
        except ModelTooLargeError:
            assert table.ledger.spent() == 0, max_bytes
            outcomes.append(False)
        else:
            outcomes.append(True)
    assert outcomes == sorted(outcomes)
    assert set(outcomes) == {False, True}


@pytest.mark.parametrize("name", mechanism_names())
def test_the_registry_names_what_a_mechanism_needs_besides_records(name):
    _, *rest = inspect.signature(mechanism_named(name)).parameters.values()
    required = tuple(p.name for p in rest if p.default is p.empty and p.kind is not p.VAR_KEYWORD)
    assert registry.MECHANISMS[name] == required
    assert needs_more(name) == bool(required)


def test_every_module_of_a_mechanism_is_in_the_registry():
    modules = {path.stem for path in Path(mechanisms.__file__).parent.glob("_[a-z]*.py")}
    assert modules == {f"_{name}" for name in registry.MECHANISMS}
