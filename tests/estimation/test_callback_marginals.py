"""What callbacks see of an estimate, and estimates from potentials."""

from __future__ import annotations

import numpy as np
import pytest

import pypgm
from pypgm.estimation.methods import METHODS

DOMAIN = pypgm.Domain({"a": 2, "b": 3, "c": 2})
TOLD = [
    pypgm.LinearMeasurement([[40, 10, 5], [10, 35, 20]], ("a", "b"), stddev=3.0),
    pypgm.LinearMeasurement([[30, 20], [28, 17], [9, 16]], ("b", "c"), stddev=2.0),
]


@pytest.mark.parametrize(
    ("options"),
    [
        *({"method": method} for method in METHODS),
        {"method": "mirror_descent", "loss": "l1"},
        {"oracle": "region_graph"},
    ],
)
def test_marginals_have_the_loss_that_is_told(options):
    seen = []
    loss = (pypgm.losses.L1 if options.get("loss") == "l1" else pypgm.losses.L2)(TOLD)

    def look(state):
        seen.append((state.loss, state.marginals))

    pypgm.estimate(DOMAIN, TOLD, 120.0, stop="optimum", iterations=60, callback=look, **options)
    assert seen
    for value, marginals in seen:
        assert loss.on(DOMAIN, marginals.cliques)(marginals.values)[0] == pytest.approx(value, rel=1e-6, abs=1e-6)
        assert marginals.project(("a", "b")).values.sum() == pytest.approx(120)
    assert not np.shares_memory(seen[0][1].values, seen[-1][1].values)


@pytest.mark.parametrize("role", ["prior", "warm_start"])
def test_potentials_are_a_start(role):
    rng = np.random.default_rng(0)
    start = pypgm.CliqueVector(DOMAIN, [("a", "b", "c")], rng.normal(size=12))
    model = pypgm.GraphicalModel(start, 1.0)
    options = {"stop": "optimum"} if role == "prior" else {}
    by_model, by_potentials = (pypgm.estimate(DOMAIN, TOLD, 120.0, **{role: s}, **options) for s in (model, start))
    np.testing.assert_array_equal(
        by_model.project(("a", "b", "c")).values, by_potentials.project(("a", "b", "c")).values
    )
    with pytest.raises(TypeError, match="a GraphicalModel or a CliqueVector, got ndarray"):
        pypgm.estimate(DOMAIN, TOLD, **{role: np.zeros(3)})
