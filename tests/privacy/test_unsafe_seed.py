"""A seed is taken under one name alone, makes a run the same every time, and is told wherever the run is kept."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest

import pypgm
from pypgm.mechanisms import mst
from pypgm.privacy import Budget, Ledger
from pypgm.privacy.sampler import Sampler

DOMAIN = pypgm.Domain({"a": 3, "b": 2, "c": 2})
DATA = pypgm.Dataset({"a": [0, 1, 2, 2], "b": [0, 1, 1, 1], "c": [1, 0, 0, 1]}, DOMAIN)


def values(**more):
    return [m.values.tolist() for m in mst(DATA, epsilon=0.1, delta=1e-9, iterations=2, **more).measurements]


def test_a_seeded_release_is_the_same_every_time():
    assert values(unsafe_seed=7) == values(unsafe_seed=7) == values(unsafe_seed=np.int64(7))
    assert values(unsafe_seed=7) != values(unsafe_seed=8)
    assert values() != values()


def test_each_sampler_follows_its_seed():
    zeros = np.zeros(50, dtype=np.int64)
    for draw in (
        lambda own: own.gaussian(Fraction(100))(zeros).tolist(),
        lambda own: own.laplace(Fraction(100))(zeros).tolist(),
        lambda own: [own.select(zeros, Fraction(1)) for _ in range(50)],
        lambda own: own.coins(200, Fraction(1, 2)).tolist(),
    ):
        assert draw(Sampler(2**64 - 1)) == draw(Sampler(2**64 - 1))
        assert draw(Sampler(0)) != draw(Sampler(1))
        assert draw(Sampler()) != draw(Sampler())


def test_it_is_told_wherever_the_run_is_kept(tmp_path):
    seeded, private = mst(DATA, 1, 1e-9, iterations=2, unsafe_seed=7), mst(DATA, 1, 1e-9, iterations=2)
    assert seeded.ledger.not_private == "noise drawn from a seed"
    assert private.ledger.not_private == ""
    for release, told in ((seeded, True), (private, False)):
        texts = [release.ledger.report(), repr(release.ledger), repr(release), repr(release.model)]
        assert ["not private" in text for text in texts] == [told] * 4
        assert ["protects nobody" in text for text in (release.summary(), release.report())] == [told] * 2
        for again in (Ledger.from_dict(release.ledger.to_dict()), pickle.loads(pickle.dumps(release.ledger))):
            assert again.not_private == release.ledger.not_private
        release.model.save(tmp_path / "model.npz")
        assert pypgm.load(tmp_path / "model.npz").not_private == release.ledger.not_private


@pytest.mark.parametrize(
    ("more", "error", "message"),
    [
        ({"seed": 7}, TypeError, "unexpected keyword"),
        ({"rng": np.random.default_rng(7)}, TypeError, "unexpected keyword"),
        ({"unsafe_seed": np.random.default_rng(7)}, TypeError, "unsafe_seed needs an int, got Generator"),
        ({"unsafe_seed": True}, TypeError, "unsafe_seed needs an int, got bool"),
        ({"unsafe_seed": 1.5}, TypeError, "unsafe_seed needs an int, got float"),
        ({"unsafe_seed": -1}, ValueError, r"unsafe_seed must lie in 0\.\.2\^64 - 1, got -1"),
        ({"unsafe_seed": 2**64}, ValueError, "unsafe_seed must lie"),
    ],
)
def test_refusals(more, error, message):
    with pytest.raises(error, match=message):
        values(**more)


def test_the_mark_stays_and_reaches_the_ledger_an_allocation_came_from():
    ledger = Ledger(Budget(rho=1))
    with ledger.allocate("part", fraction="1/2") as outer, outer.allocate("inner", fraction="1/2") as inner:
        inner.mark_not_private("one reason")
    assert outer.not_private == ledger.not_private == "one reason"
    assert "not private  one reason" in str(ledger)
