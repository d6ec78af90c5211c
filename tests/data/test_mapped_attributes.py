"""Attributes that are functions of others: mechanisms neither read nor measure them, and their records have them."""

from __future__ import annotations

import numpy as np
import pytest

import pypgm
from pypgm import Budget, Constraint, Domain, mechanisms
from pypgm.mechanisms.tables import mechanism_named, mechanism_names
from pypgm.workloads import Workload

DOMAIN = Domain({"shire": ["A", "B", "C"], "zip": 6, "age": 4, "land": 2})
STATES = np.array([2, 0, 0, 1, 1, 1])
LANDS = np.array([1, 0, 0])
KNOWN = [Constraint(("zip", "shire"), mapping=STATES), Constraint(("shire", "land"), mapping=LANDS)]
SEEN = {"shire", "land"}


class Watched:
    """Records that are counted, and never by the attributes that follow from others."""

    weights, n_records = None, 400

    def __init__(self):
        rng = np.random.default_rng(0)
        zips = rng.integers(0, 6, 400)
        self.domain = DOMAIN
        whole = {
            "shire": STATES[zips],
            "zip": zips,
            "age": (zips + rng.integers(0, 2, 400)) % 4,
            "land": LANDS[STATES[zips]],
        }
        self.data = pypgm.Dataset(whole, DOMAIN)

    def count(self, cliques, n_threads=0):
        assert not SEEN & {a for clique in cliques for a in clique}
        return self.data.count(cliques, n_threads)


def check(release):
    assert release.model.domain == DOMAIN
    records = release.synthetic_data(300, rng=0).columns
    assert (records["shire"] == STATES[records["zip"]]).all()
    assert (records["land"] == LANDS[records["shire"]]).all()
    both = release.project(("zip", "shire")).values
    assert both.sum() == pytest.approx(release.model.total)
    assert (both[np.arange(6), STATES].sum()) == pytest.approx(both.sum())
    assert not any(SEEN & set(m.clique) for m in release.measurements)
    assert not any(name in line.on for line in release.ledger.lines for name in SEEN)


@pytest.mark.parametrize("name", mechanism_names())
def test_every_mechanism_takes_mappings(name, tmp_path):
    data = Watched()
    own = {"jam": {"public": data.data}}.get(name, {})
    sampled = name in {"privbayes", "dualquery", "fem"}
    how = {"budget": Budget(epsilon=2, delta=1e-9), "constraints": KNOWN, "unsafe_seed": 0} | own
    release = mechanism_named(name)(data.data if sampled else data, **how)
    check(release)
    release.save(tmp_path / "r.pgm")
    check(pypgm.load(tmp_path / "r.pgm"))


@pytest.mark.parametrize(
    ("name", "own"), [("mwem", {"estimator": "weights"}), ("fem", {"estimator": "records"}), ("aim", {"rounds": 3})]
)
def test_models_without_trees_take_mappings(name, own):
    asked = Workload(DOMAIN, [("shire", "age"), ("land", "age"), ("zip",)], weights=[1, 2, 3])
    how = {"budget": Budget(epsilon=2, delta=1e-9), "constraints": KNOWN, "unsafe_seed": 0} | own
    check(mechanism_named(name)(Watched().data, **how, workload=asked))


def test_workloads_measurements_and_zeros_speak_of_mapped_attributes():
    zero = Constraint(("shire", "age"), forbidden=[("C", 3)])
    sums = Workload(DOMAIN, [("shire",), ("age",)], [pypgm.queries.Prefix(3), None])
    given = [pypgm.LinearMeasurement([150, 150, 100], "shire", 5.0)]
    how = {"budget": Budget(epsilon=2, delta=1e-9), "constraints": [*KNOWN, zero], "unsafe_seed": 0}
    release = mechanisms.hdmm(Watched(), workload=sums, measurements=given, **how)
    assert release.project(("shire", "age")).values[2, 3] == 0
    assert {m.clique for m in release.measurements} <= {("zip",), ("age",), ()}
    more = release.resume(Watched(), Budget(epsilon=3, delta=1e-9))
    again = mechanisms.mst(more, constraints=[*KNOWN, zero], measurements=release.measurements)
    assert again.project(("shire", "age")).values[2, 3] == 0
    assert (again.synthetic_data(50, rng=1).columns["shire"] < 3).all()


def test_what_contradicts_itself_is_refused_before_a_charge():
    how = {"budget": Budget(epsilon=2, delta=1e-9)}
    table = pypgm.PrivateTable(Watched(), "add-remove", pypgm.Ledger(how["budget"]))
    for wrong, why in (
        ([*KNOWN, Constraint(("age", "land"), mapping=[0, 0, 1, 1])], "follows from 'shire' already"),
        ([Constraint(("zip", "zap"), mapping=[0] * 6)], "zap"),
        ([Constraint(("zip", "shire"), mapping=[0, 1])], "needs 6 integer codes"),
    ):
        with pytest.raises(ValueError, match=why):
            mechanisms.wide(table, constraints=wrong)
    with pytest.raises(ValueError, match="conditional tables take no constraints"):
        mechanisms.privbayes(table, constraints=KNOWN, estimator="tables")
    with pytest.raises(TypeError, match="constraints needs a sequence of"):
        mechanisms.wide(table, constraints=KNOWN[0])
    assert table.ledger.spent() == 0


def test_a_part_of_a_table_ends_with_it():
    table = pypgm.PrivateTable(Watched(), "add-remove", pypgm.Ledger(Budget(rho=1)))
    part = table.over(Domain({"zip": 6, "age": 4}))
    with pytest.raises(ValueError, match="shire"):
        part.measure("shire", rho="1/4")
    with pytest.raises(ValueError, match="a part of"):
        table.over(Domain({"zip": 5}))
    assert part.measure("zip", rho="1/4").clique == ("zip",)
    table.close()
    with pytest.raises(ValueError, match="closed"):
        part.measure("zip", rho="1/4")
    assert float(table.ledger.spent()) == 0.25
