"""Records with some attributes alone: as near to the model as records with all."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import pypgm
from pypgm import Dataset, Domain
from pypgm._base.student import upper_end


def fitted(seed, oracle, constraints=()):
    """Return a model of noisy pairs of five attributes."""
    rng = np.random.default_rng(seed)
    domain = Domain({a: int(n) for a, n in zip("abcde", rng.integers(2, 6, 5), strict=True)})
    kind = rng.integers(0, 3, 3000)
    data = Dataset({a: (kind + rng.integers(0, 2, 3000)) % domain.size(a) for a in domain}, domain)
    pairs = [p for p in itertools.combinations(domain, 2) if rng.random() < 0.7] or [("a", "b")]
    tables = [data.project(p).datavector() + rng.normal(0, 5, domain.size(p)) for p in pairs]
    measured = [pypgm.LinearMeasurement(y, p, 5.0) for y, p in zip(tables, pairs, strict=True)]
    return pypgm.estimate(domain, measured, 3000.0, oracle=oracle, constraints=constraints, iterations=100)


def furthest(records, model, cliques):
    return max(float(np.abs(records.project(c).values - model.project(c).values).sum()) for c in cliques)


@pytest.mark.parametrize(("seed", "oracle"), [*itertools.product(range(4), ["exact", "region_graph"])])
def test_they_are_as_near_to_the_model_as_records_with_all(seed, oracle):
    model, rng = fitted(seed, oracle), np.random.default_rng(seed)
    everything = model.synthetic_data(rng=0)
    for size in (1, 2, 3, 4):
        chosen = tuple(rng.permutation(list(model.domain))[:size].tolist())
        some = model._records_of(chosen, None, np.random.default_rng(1))
        assert (some.domain, len(some)) == (model.domain.project(model.domain.canonical(chosen)), 3000)
        cliques = [*itertools.combinations(some.domain, 2), *((a,) for a in some.domain)]
        # Records of a tree are not refined: pairs outside its cliques are as far as those of a sample.
        by_chance = 0 if oracle == "region_graph" else max(np.sqrt(model.project(c).values).sum() for c in cliques)
        assert furthest(some, model, cliques) <= 1.3 * furthest(everything, model, cliques) + 20 + by_chance
        if any({*chosen} <= {*c} for c in model.potentials.cliques) and size < 3:  # rounded
            assert np.abs(some.project(chosen).values - model.project(chosen).values).max() < 2


@pytest.mark.parametrize("oracle", ["exact", "region_graph"])
def test_functions_of_attributes_and_impossible_cells_stay(oracle):
    never = pypgm.Constraint(("a", "b"), allowed=np.arange(9).reshape(3, 3) != 4)
    domain, rng = Domain({"a": 3, "b": 3, "c": 2, "d": 2}), np.random.default_rng(0)
    columns = {a: rng.integers(0, n, 500) for a, n in zip("ab", (3, 3), strict=True)} | {"d": rng.integers(0, 2, 500)}
    data = Dataset({**columns, "c": (columns["a"] > 0).astype(int)}, domain)
    measured = [
        pypgm.LinearMeasurement(data.project(p).datavector() + 1.0, p, 2.0) for p in itertools.combinations("abd", 2)
    ]
    follows = pypgm.Constraint(("a", "c"), mapping=[0, 1, 1])
    model = pypgm.estimate(domain, measured, 500.0, oracle=oracle, constraints=[never, follows])
    for chosen in (("c",), ("b", "c"), ("a", "b", "c"), ("a", "b", "d")):
        some = model._records_of(chosen, 700, np.random.default_rng(2))
        assert (some.domain.attributes, len(some)) == (chosen, 700)
        if {"a", "b"} <= {*chosen}:
            assert not ((some["a"] == 1) & (some["b"] == 1)).any()
        if {"a", "c"} <= {*chosen}:
            assert (some["c"] == (some["a"] > 0)).all()


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_ends_of_intervals_are_the_quantiles(level):
    special = pytest.importorskip("scipy.special")
    degrees = [1, 2, 3, 7, 20, 200, np.inf]
    expected = [special.ndtri((1 + level) / 2) if np.isinf(k) else special.stdtrit(k, (1 + level) / 2) for k in degrees]
    assert [upper_end(k, level) for k in degrees] == pytest.approx(expected, rel=1e-8)
