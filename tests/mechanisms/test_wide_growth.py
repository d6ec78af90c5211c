"""How the work of `wide` grows with its pairs: counted in calls, never in seconds."""

import itertools
from fractions import Fraction

import numpy as np

import pypgm
from pypgm import queries
from pypgm.mechanisms import pair_forecasts, wide
from pypgm.privacy import trusted_query
from pypgm.privacy.laws import DiscreteGaussian
from pypgm.privacy.rational import exact_sum


def calls(monkeypatch, owner, name):
    """Return the arguments of the calls of a function from now on."""
    taken, own = [], getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *given, **options: (taken.append(given), own(*given, **options))[1])
    return taken


def test_pairs_of_a_release_share_some_tens_of_laws_and_one_query(monkeypatch):
    names = [f"x{i}" for i in range(30)]
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 2, (3000, 30))
    for i in range(1, 30):  # the closer, the more they depend
        codes[:, i] = np.where(rng.random(3000) < 0.9 * i / 30, codes[:, i - 1], codes[:, i])
    data = pypgm.Dataset(dict(zip(names, codes.T, strict=True)), pypgm.Domain(dict.fromkeys(names, 2)))
    made = calls(monkeypatch, DiscreteGaussian, "_with_threshold")
    copied = calls(monkeypatch, trusted_query, "_copied")
    listed = calls(monkeypatch, pair_forecasts, "resolutions")
    release = wide(data, budget=pypgm.Budget(rho=1), unsafe_seed=0)
    pairs = [m for m in release.measurements if isinstance(m.query, queries.Contrasts) and len(m.clique) == 2]
    assert len(pairs) > 600  # in two stages
    assert len({m.stddev for m in pairs}) < 100
    assert len({id(m.query) for m in pairs}) <= 2
    assert len(made) < 300
    assert len(copied) < len(pairs)
    assert len(listed) <= 435
    assert release.ledger.spent() <= 1


def test_a_start_asks_an_earlier_model_for_what_depends_in_it_alone(monkeypatch):
    domain = pypgm.Domain({f"x{i}": 2 + i % 2 for i in range(6)})

    def measured(cliques):
        return [pypgm.LinearMeasurement(np.full(domain.size(c), 900 / domain.size(c)), c, 3.0) for c in cliques]

    fitted, singles = measured(itertools.combinations(domain, 2)), [(a,) for a in domain]
    independent = pypgm.estimate(domain, measured(singles))
    joined = pypgm.estimate(domain, measured([("x0", "x1"), ("x4", "x1"), *singles]))
    asked = calls(monkeypatch, pypgm.GraphicalModel, "project_many")
    options = {"oracle": "region_graph", "stop": "optimum", "iterations": 1}
    pypgm.estimate(domain, fitted, 900, prior=independent, **options)
    pypgm.estimate(domain, fitted, 900, prior=joined, **options)
    assert [[c for c in cliques if len(c) > 1] for _, cliques in asked] == [
        [],
        [("x0", "x1"), ("x0", "x4"), ("x1", "x4")],
    ]


def test_a_sum_of_costs_adds_each_of_them_once():
    class Counted(Fraction):
        seen = 0

        @property
        def denominator(self):
            Counted.seen += 1
            return super().denominator

    third, half = Counted(1, 3), Counted(1, 2)
    assert exact_sum([third] * 1000 + [half] * 7) == Fraction(2021, 6)
    assert Counted.seen < 10
