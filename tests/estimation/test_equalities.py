"""Where two ways must lead to one answer: mechanisms at their limits, written out by hand, under both relations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from data_of import chain

from pypgm import Budget, Dataset, Domain, Ledger, Privacy, PrivateTable, estimate, mechanisms, workloads
from pypgm.bayes import PrivateStructure
from pypgm.mechanisms.tables import mechanism_names
from pypgm.queries import Identity

DOMAIN = Domain({"a": 2, "b": 3, "c": 4, "d": 2})


DATA = chain(DOMAIN, 2000)
DRAWING = {"dualquery", "fem"}
MEASURING = [name for name in mechanism_names() if name not in DRAWING]


def released(name, data, budget, **more):
    if name == "jam":
        more["public"] = chain(data.domain, 50)
    return getattr(mechanisms, name)(data, budget=budget, **more)


def product(release, pair):
    """Return the table of a pair that two independent attributes have."""
    one, two = (release.project(a).values for a in pair)
    return np.outer(one, two) / release.model.total


@pytest.mark.parametrize("name", MEASURING)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_without_noise_to_speak_of_two_attributes_are_answered_exactly(name, neighbours):
    rng = np.random.default_rng(0)
    first = rng.integers(3, size=2000)  # the second follows it: what leaves their pair out would be seen at once
    data = Dataset({"a": first, "b": first + rng.integers(2, size=2000)}, Domain({"a": 3, "b": 4}))
    release = released(name, data, Budget(rho=10**8), neighbours=neighbours)
    np.testing.assert_allclose(release.project(("a", "b")).values, data.project(("a", "b")).values, atol=0.5)


@pytest.mark.parametrize(
    ("name", "unit"), [*((name, "rho") for name in MEASURING), ("mwem", "epsilon"), ("privbayes", "epsilon")]
)
def test_replaced_records_need_twice_the_noise_of_a_table_or_its_root(name, unit):
    """Of counts of all cells: D1 is 1 and 2, D2 is 1 and the root of 2."""
    for neighbours, d1, squared_d2 in (("add-remove", 1, 1), ("replace", 2, 2)):
        release = released(name, DATA, Budget(**{unit: 1}), neighbours=neighbours, iterations=2)
        lines = [line for line in release.ledger.lines if line.what == "measure"]
        whole = [
            (line.parameters, line.cost)
            for line, m in zip(lines, release.measurements, strict=True)
            if m.clique and (m.query is None or isinstance(m.query, Identity))
        ]
        assert whole
        for drawn, cost in whole:
            if unit == "rho":
                assert 2 * cost * drawn["variance"] == squared_d2
            else:
                assert cost * drawn["scale"] == d1


def test_aim_on_single_attributes_is_gaussian_noise_and_independence():
    release = mechanisms.aim(DATA, budget=Budget(rho=2), workload=workloads.all_k_way(DOMAIN, 1))
    assert {len(m.clique) for m in release.measurements} == {1}
    measured = estimate(DOMAIN, release.measurements)
    for pair in itertools.combinations(DOMAIN, 2):
        np.testing.assert_allclose(release.project(pair).values, product(release, pair), rtol=1e-9)
        np.testing.assert_allclose(release.project(pair).values, measured.project(pair).values, rtol=1e-2)


def test_privbayes_without_parents_is_independence():
    structure = PrivateStructure(max_parents=0)
    for estimator in ("model", "tables"):
        release = mechanisms.privbayes(DATA, 4, structure=structure, estimator=estimator, unsafe_seed=1)
        for pair in itertools.combinations(DOMAIN, 2):
            np.testing.assert_allclose(release.project(pair).values, product(release, pair), rtol=1e-9)
        for m in release.measurements:
            shares = np.maximum(m.values, 0) / np.maximum(m.values, 0).sum()
            np.testing.assert_allclose(release.project(m.clique).values / release.model.total, shares, atol=2e-3)


def test_mst_on_two_attributes_is_two_measurements_a_choice_of_one_and_a_third():
    data = chain(Domain({"a": 3, "b": 4}), 2000)
    release = mechanisms.mst(data, budget=Budget(rho="3/10"), compress=False, unsafe_seed=7)
    table = PrivateTable(data, Privacy(), Ledger(Budget(rho="3/10")), unsafe_seed=7)
    by_hand = [table.measure(a, variance=10) for a in "ab"]
    assert table.l1_selector([("a", "b")], lambda pair: np.zeros(12)).select([0], rho="1/10") == 0
    by_hand.append(table.measure(("a", "b"), variance=5))
    assert [m.clique for m in release.measurements] == [("a",), ("b",), ("a", "b")]
    for found, expected in zip(release.measurements, by_hand, strict=True):
        np.testing.assert_array_equal(found.values, expected.values)
    assert release.ledger.spent() == pytest.approx(table.ledger.spent(), rel=1e-9)
    model = estimate(data.domain, by_hand)
    np.testing.assert_array_equal(release.project(("a", "b")).values, model.project(("a", "b")).values)
