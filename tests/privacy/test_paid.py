"""What a mechanism cannot do is refused before anything is charged, and nothing ends it after that."""

from __future__ import annotations

import numpy as np
import pytest

import pypgm
from pypgm import (
    Budget,
    Constraint,
    Dataset,
    Domain,
    Ledger,
    LinearMeasurement,
    ModelTooLargeError,
    Schema,
    mechanisms,
    queries,
)
from pypgm.bayes import PrivateStructure
from pypgm.data import Integer, OpenSchema, QuantileBins
from pypgm.mechanisms.tables import mechanism_named, mechanism_names
from pypgm.reconstruction import multiplicative_weights
from pypgm.workloads import Workload

DOMAIN = Domain({"a": 4, "b": 4, "c": 4})


def records(n=20):
    rng = np.random.default_rng(0)
    return Dataset({name: rng.integers(4, size=n) for name in DOMAIN}, DOMAIN)


def options_of(name, data):
    return {"public": Dataset({a: [0] for a in data.domain}, data.domain)} if name == "jam" else {}


@pytest.mark.parametrize("oracle", ["auto", "exact", "region_graph"])
@pytest.mark.parametrize("name", mechanism_names())
def test_constraints_that_leave_no_record_possible(name, oracle, monkeypatch):
    monkeypatch.setattr(Ledger, "charge", lambda *_: pytest.fail("charged"))
    below = np.tril(np.ones((4, 4), bool))
    apart = [Constraint(("a", "b"), forbidden=below), Constraint(("a", "b"), forbidden=~below)]
    how = {"budget": Budget(rho=1), "oracle": oracle}
    with pytest.raises(ValueError, match="leave no record possible"):
        mechanism_named(name)(records(), constraints=apart, **how, **options_of(name, records()))
    circle = Schema({a: Integer(0, 3) for a in DOMAIN}, rules=["a < b", "b < c", "c < a"])
    nobody = circle.encode({a: [] for a in DOMAIN})
    with pytest.raises(ValueError, match="leave no record possible"):
        mechanism_named(name)(nobody, **how, **options_of(name, nobody))


@pytest.mark.parametrize("name", mechanism_names())
def test_rules_in_another_order_than_the_columns(name):
    schema = Schema({a: Integer(0, 3) for a in DOMAIN}, rules=["c <= a", "b <= a"])
    rows = np.sort(np.random.default_rng(0).integers(4, size=(50, 3)), axis=1)
    data = schema.encode({"a": rows[:, 2], "b": rows[:, 1], "c": rows[:, 0]})
    how = {"budget": Budget(rho=1), "iterations": 5, "unsafe_seed": 1, **options_of(name, data)}
    release = mechanism_named(name)(data, **how)
    made = release.synthetic_data(300, rng=0).columns
    assert (made["c"] <= made["a"]).all()
    assert (made["b"] <= made["a"]).all()


@pytest.mark.parametrize("estimator", ["model", "weights"])
@pytest.mark.parametrize("budget", [Budget(rho=1), Budget(epsilon=1)])
def test_mwem_does_not_ask_what_is_public(estimator, budget):
    asked = Workload(DOMAIN, [("a",), ("b",)], [queries.Partition([0] * 4), None])
    how = {"workload": asked, "rounds": 2, "estimator": estimator, "unsafe_seed": 1}
    release = mechanisms.mwem(records(), budget=budget, neighbours="replace", **how)
    assert [m.clique for m in release.measurements] == [("b",)]
    both = mechanisms.mwem(records(), budget=budget, **how)
    assert {m.clique for m in both.measurements} == {(), ("a",), ("b",)}


def test_multiplicative_weights_of_noise_beyond_the_total():
    rng = np.random.default_rng(0)
    noisy = [LinearMeasurement(rng.integers(-(10**6), 10**6, 16), ("a", "b")) for _ in range(3)]
    found = multiplicative_weights(DOMAIN, noisy, 2.0)
    assert found.project(("a", "b")).values.sum() == pytest.approx(2)


@pytest.mark.parametrize("name", ["mst", "privbayes"])
def test_a_tree_that_constraints_make_too_wide_leaves_what_fits(name):
    names = "abcdefgh"
    rng = np.random.default_rng(1)
    chain = [rng.integers(6, size=3000)]
    while len(chain) < len(names):
        chain.append(np.where(rng.random(3000) < 0.95, chain[-1], rng.integers(6, size=3000)))
    domain = Domain(dict.fromkeys(names, 6))
    data = Dataset(dict(zip(names, chain, strict=True)), domain)
    one = np.zeros((6, 6), bool)
    one[0, 5] = True
    far = [Constraint((names[i], names[i + 4]), forbidden=one) for i in range(4)]
    how = {"budget": Budget(rho=9), "constraints": far, "oracle": "exact", "max_bytes": 2e5, "iterations": 3}
    more = {"structure": PrivateStructure(max_parents=1)} if name == "privbayes" else {}
    with pytest.warns(RuntimeWarning, match=f"{name}: the model of all measurements does not fit"):
        release = mechanism_named(name)(data, unsafe_seed=1, **how, **more)
    assert release.ledger.remaining() < 1e-9
    made = release.synthetic_data(500, rng=0).columns
    assert not any(((made[names[i]] == 0) & (made[names[i + 4]] == 5)).any() for i in range(4))


OPEN = OpenSchema({"age": QuantileBins(Integer(0, 99), 3, share="1/4"), "sex": ["F", "M"]})


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"iterations": -1}, ValueError),
        ({"no_option": 1}, TypeError),
        ({"unsafe_seed": "1"}, TypeError),
        ({"constraints": [Constraint("job", forbidden=[0])]}, ValueError),
        ({"mechanism": "mwem", "asks": "nothing"}, ValueError),
        ({"mechanism": "wide", "ordinal": ["job"]}, ValueError),
        ({"mechanism": "hdmm", "max_bytes": 1}, ModelTooLargeError),
    ],
)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_options_are_refused_before_open_columns_are_paid_for(options, error, neighbours, monkeypatch):
    raw = {"age": [20, 60] * 50, "sex": ["F", "M"] * 50}
    assert pypgm.synthesize(raw, OPEN, epsilon=1, delta=1e-9, neighbours=neighbours).ledger.lines
    monkeypatch.setattr("pypgm.privacy.settling.settle", lambda *_, **__: pytest.fail("charged"))
    with pytest.raises(error):
        pypgm.synthesize(raw, OPEN, epsilon=1, delta=1e-9, neighbours=neighbours, **options)
