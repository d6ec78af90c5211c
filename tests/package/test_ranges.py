"""Numbers at the edge: no records, no double, no such number of threads, no such attribute."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pypgm
from pypgm import CliqueVector, Domain, Factor, GraphicalModel, KroneckerQuery, LinearMeasurement, RegionGraph
from pypgm.inference import max_elimination

DOMAIN = Domain({"a": 3, "b": 2})
POTENTIALS = CliqueVector(DOMAIN, [("a", "b")], np.linspace(0, 1, 6))
HUGE = GraphicalModel(POTENTIALS, 1e308)
NONE = pypgm.Dataset({"a": np.zeros(0, int), "b": np.zeros(0, int)}, DOMAIN)


def test_a_public_total_of_0_makes_no_records(tmp_path):
    release = pypgm.mechanisms.mst(NONE, 1, 1e-9, neighbours="replace", unsafe_seed=0)
    assert release.model.total == 0
    assert len(release.synthetic_data()) == 0
    assert ", 0 real ones\n" in release.summary()
    release.save(tmp_path / "none.pgm")
    assert pypgm.load(tmp_path / "none.pgm").model.total == 0


def test_a_model_of_no_records_has_probabilities():
    model, one = GraphicalModel(POTENTIALS, 0), GraphicalModel(POTENTIALS, 1)
    for evidence in (None, {"b": 1}):
        assert not model.project("a", evidence).values.any()
        assert not any(t.values.any() for t in model.project_many(["a", ("b", "a")], evidence))
        np.testing.assert_array_equal(model.query("a", evidence).values, one.query("a", evidence).values)
        levels = [1.0, 2.0, 4.0]
        np.testing.assert_array_equal(model.expectation("a", "b", levels).values, one.expectation("a", "b", levels))
        assert model.answer(KroneckerQuery({"a": [[1, 2, 3]]}), evidence).tolist() == [0]
    assert model.map() == one.map()
    assert model.log_partition() == one.log_partition()
    assert not model.marginals.values.any()
    assert len(model.synthetic_data(5)) == 5
    empty = pypgm.estimate(DOMAIN, [LinearMeasurement([4.0, 1, 1], "a")], total=0)
    assert empty.total == 0
    assert not empty.project("a").values.any()
    np.testing.assert_allclose(empty.standard_error("a", draws=3).values, 0)
    with pytest.raises(ValueError, match="total must be positive"):
        pypgm.estimate(DOMAIN, [LinearMeasurement([4.0, 1, 1], "a")], total=0, oracle="region_graph")


def test_beyond_doubles_is_infinity_without_a_warning():
    regions = RegionGraph.saturated(DOMAIN, [("a", "b")])
    wide = pypgm.RegionGraphModel(regions, CliqueVector(DOMAIN, regions.regions, np.full(6, 1e308 / 6)), 1e308)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (HUGE, wide):
            assert model.answer(KroneckerQuery({"a": [[1, 2, 300]]})).tolist() == [np.inf]
            assert model.answer(KroneckerQuery({"a": [[900, 800, 300]] * 4})).tolist() == [np.inf] * 4
            assert model.expectation("a", levels=[1, 2, 1e300]).values == pytest.approx(
                1e300 * model.query("a").values[2]
            )
            given = model.project("b", {"a": np.array([1e300, 1e300, 1])}).values
            assert given.sum() == pytest.approx(1e308)
        table = HUGE.project("a")
        for wider in (
            table * 100,
            table * 9 + table * 9,
            table / 1e-9,
            (table * 2).sum(),
            Factor(DOMAIN, [999.0] * 6).exp(),
        ):
            assert np.isinf(wider.values).any()
        assert "sum inf" in repr(table * 1.9)
        vector = CliqueVector(DOMAIN, ["a"], [1e308] * 3)
        for wider in (vector + vector, vector * 9, vector / 0.1, vector.exp(), -vector - vector):
            assert np.isinf(wider.values).all()
    line = GraphicalModel(CliqueVector(Domain({"x": 40}), ["x"]), 1e308)
    steps = 1e300 * (np.eye(40) - np.eye(40, k=1))
    with pytest.raises(OverflowError, match=r"ask for the parts"):
        line.answer(KroneckerQuery({"x": steps}))


def test_joint_weights_beyond_doubles():
    potentials = CliqueVector(DOMAIN, [("a", "b"), ("a",)], np.full(9, 1e308))
    tree = pypgm.JunctionTree(DOMAIN, potentials.cliques)
    assert tree.log_partition(potentials) == np.inf
    for call in (tree.marginals, tree.map, tree.tables, lambda p: GraphicalModel(p, 5)):
        with pytest.raises(ValueError, match=r"must add up to less than 1.8e308"):
            call(potentials)
    lonely = GraphicalModel(CliqueVector(DOMAIN, [("a", "b")], np.full(6, 1.7e308)), 6.0)
    assert lonely.log_partition() == 1.7e308
    np.testing.assert_allclose(lonely.project("a").values, 2)


THREADED = {
    "estimate": lambda n: pypgm.estimate(DOMAIN, [LinearMeasurement(np.ones(3), "a")], n_threads=n),
    "regions": lambda n: pypgm.estimate(
        DOMAIN, [LinearMeasurement(np.ones(3), "a")], oracle="region_graph", n_threads=n
    ),
    "project_many": lambda n: HUGE.project_many(["a"], n_threads=n),
    "answer": lambda n: HUGE.answer(KroneckerQuery({"a": [[1, 1, 1]]}), n_threads=n),
    "standard_error": lambda n: pypgm.estimate(DOMAIN, [LinearMeasurement(np.ones(3), "a")]).standard_error(
        "a", draws=2, n_threads=n
    ),
    "marginals": lambda n: pypgm.marginals(POTENTIALS, n_threads=n),
    "elimination": lambda n: pypgm.variable_elimination(POTENTIALS, "a", n_threads=n),
    "max_elimination": lambda n: max_elimination(POTENTIALS, "a", n_threads=n),
    "tables": lambda n: HUGE.tree.tables(POTENTIALS, n_threads=n),
    "attributes": lambda n: HUGE.tree.attribute_marginals(POTENTIALS, n_threads=n),
    "log_partition": lambda n: HUGE.tree.log_partition(POTENTIALS, n_threads=n),
    "convex_gbp": lambda n: pypgm.convex_gbp(POTENTIALS, RegionGraph.saturated(DOMAIN, ["a", ("a", "b")]), n_threads=n),
    "count": lambda n: NONE.count(["a"], n_threads=n),
    "table": lambda n: pypgm.mechanisms.mst(NONE, 1, 1e-9, n_threads=n),
}


@pytest.mark.parametrize("name", THREADED)
def test_numbers_of_threads(name):
    call = THREADED[name]
    for many in (2**40, 2**80, np.int64(3)):
        call(many)  # capped
    for bad in (1.5, "2", None, True):
        with pytest.raises(TypeError, match=f"n_threads must be an integer, got {bad!r}"):
            call(bad)
    with pytest.raises(ValueError, match="n_threads must be at least 0, got -1"):
        call(-1)


TOO_LARGE = {
    "tree": lambda domain: pypgm.JunctionTree(domain, [("a", "b")]),
    "elimination": lambda domain: pypgm.variable_elimination(CliqueVector(domain, ["b"]), "a"),
    "regions": lambda domain: RegionGraph.saturated(domain, [("a", "b")]),
    "factors": lambda domain: RegionGraph.factor_graph(domain, [("a", "b")]),
    "estimate": lambda domain: pypgm.estimate(domain, [LinearMeasurement([1, 2], "b")]),
    "table": lambda domain: Factor(Domain({"b": 2}), [1, 2]).expand(domain),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_sizes_beyond_64_bits_are_refused(name):
    with pytest.raises(pypgm.ModelTooLargeError, match=r"'a' has 1.18e\+21 values|needs 2.36e\+21 cells"):
        TOO_LARGE[name](Domain({"a": 2**70, "b": 2}))
    with pytest.raises(pypgm.ModelTooLargeError, match=r"9\.22e|1\.84e"):
        TOO_LARGE[name](Domain({"a": 2**63 - 1, "b": 2}))


def test_a_measurement_names_each_attribute_once():
    with pytest.raises(ValueError, match=r"names each attribute once, got \('a', 'b', 'a'\)"):
        LinearMeasurement(np.ones(18), ("a", "b", "a"))


def test_how_a_fit_is_shown():
    fit = pypgm.estimate(DOMAIN, [LinearMeasurement([4.0, 1, 1], "a")]).fit
    shown = repr(fit)
    assert shown.startswith(f"Fit({fit.status}, loss {fit.loss:.6g}, gap {fit.gap:.3g}, {fit.iterations} iterations, ")
    assert len(shown) < 90
    assert "gap None" in repr(pypgm.estimation.fit.Fit("time", 1.0, None, 1, 0.5, ()))
