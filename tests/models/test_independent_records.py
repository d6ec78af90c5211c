"""Records as independent draws: their law, zeros, and evidence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

import pypgm


def random_model(rng, cliques=(("a", "b"), ("b", "c"), ("d",)), zeros=0.0):
    domain = pypgm.Domain({"a": 3, "b": 4, "c": 2, "d": 3})
    potentials = pypgm.CliqueVector(domain, cliques)
    potentials.values[:] = rng.normal(size=potentials.values.size)
    potentials.values[rng.random(potentials.values.size) < zeros] = -np.inf
    return pypgm.GraphicalModel(potentials, total=1000.0)


@pytest.mark.parametrize(
    "cliques", [(("a", "b"), ("b", "c"), ("d",)), (("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"))]
)
def test_counts_are_those_of_a_sample(cliques):
    model = random_model(np.random.default_rng(0), cliques)
    expected = model.query(tuple("abcd")).values.reshape(-1)
    n, statistics = 4000, []
    for seed in range(20):
        counts = model.synthetic_data(n, rng=seed, method="independent").project(tuple("abcd")).values.reshape(-1)
        statistics.append(((counts - n * expected) ** 2 / (n * expected)).sum())
    # Their sum is chi-square: neither closer to the model than a sample, nor further.
    degrees = 20 * (expected.size - 1)
    assert chi2.ppf(1e-4, degrees) < sum(statistics) < chi2.ppf(1 - 1e-4, degrees)


def test_zeros_and_evidence_are_exact():
    model = random_model(np.random.default_rng(3), zeros=0.3)
    records = model.synthetic_data(20_000, rng=0, method="independent")
    table = model.project(("a", "b", "c")).values
    assert not records.project(("a", "b", "c")).values[table == 0].any()
    known = model.synthetic_data(500, rng=0, method="independent", evidence={"d": 1})
    assert (known.columns["d"] == 1).all()


def test_the_last_cells_without_weight_are_never_drawn():
    from pypgm.models.sampling import _drawn

    weights = np.array([[0.0, 0.1, 0.2, 0.0], [0.3, 0.0, 0.0, 0.0]])
    uniforms = np.array([0.0, np.nextafter(1.0, 0.0)] * 2)
    assert _drawn(weights, np.array([0, 0, 1, 1]), uniforms).tolist() == [1, 2, 0, 0]


def test_methods_differ_and_are_named():
    model = random_model(np.random.default_rng(5))
    one = model.synthetic_data(100, rng=0, method="independent").columns["a"]
    assert (one == model.synthetic_data(100, rng=0, method="independent").columns["a"]).all()
    assert model.synthetic_data(0, method="independent").n_records == 0


def test_a_region_graph_draws_as_well():
    domain = pypgm.Domain({"a": 2, "b": 2, "c": 2})
    pairs = [("a", "b"), ("b", "c"), ("a", "c")]
    told = [pypgm.LinearMeasurement([[40, 10], [10, 40]], c) for c in pairs]
    model = pypgm.estimate(domain, told, oracle="region_graph")
    records = model.synthetic_data(4000, rng=0, method="independent")
    assert records.project(("a", "b")).values[0, 0] == pytest.approx(1600, abs=200)


def test_mappings_are_kept():
    domain = pypgm.Domain({"fine": 4, "coarse": 2})
    rule = pypgm.Constraint(("fine", "coarse"), mapping=[0, 0, 1, 1])
    model = pypgm.estimate(domain, [pypgm.LinearMeasurement([9, 8, 7, 6], "fine")], constraints=[rule])
    records = model.synthetic_data(50, rng=0, method="independent").columns
    assert (records["coarse"] == records["fine"] // 2).all()
