"""What a sampler takes and refuses, whoever calls it, and that it says where nobody is protected."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from pypgm.privacy.observer import Observer, observed_by
from pypgm.privacy.sampler import Sampler

SCORES, HALF = np.array([0, 10**6, 10**3]), Fraction(1, 2)
BEYOND = Fraction(2**80 + 1, 2**80 - 1)  # more bits than samplers take
OTHERS = [[0, 1], SCORES.astype(float), SCORES.astype(np.int32), SCORES.reshape(1, 3)]


@pytest.mark.parametrize("given", OTHERS, ids=["a list", "floats", "int32", "two dimensions"])
def test_integers_of_one_dimension_alone_are_taken(given):
    sampler = Sampler()
    for ask in (sampler.select, sampler.permute_and_flip, lambda s, r: sampler.select_top(s, r, 1)):
        with pytest.raises(TypeError, match="one-dimensional int64 array of scores"):
            ask(given, HALF)
    for law in (sampler.gaussian, sampler.laplace):
        with pytest.raises(TypeError, match="one-dimensional int64 array of counts"):
            law(HALF)(given)


def test_what_cannot_be_drawn_with_exactly_is_refused():
    sampler = Sampler()
    for ask, name in ((sampler.gaussian, "variance"), (sampler.laplace, "scale")):
        with pytest.raises(ValueError, match=rf"{name} .* cannot be drawn exactly"):
            ask(BEYOND)
    with pytest.raises(ValueError, match=r"rate .* cannot be drawn exactly"):
        sampler.select(SCORES, BEYOND)


def test_as_many_as_there_are_can_be_selected_and_one():
    sampler = Sampler()
    assert sampler.select_top(SCORES, Fraction(1), 1) == [1]
    assert sampler.select_top(SCORES, Fraction(1), 3) == [1, 2, 0]
    for count in (0, 4):
        with pytest.raises(ValueError, match=r"takes 1\.\.3 of 3"):
            sampler.select_top(SCORES, Fraction(1), count)


def test_memory_of_any_layout_is_drawn_on():
    wide = np.zeros((5, 2), dtype=np.int64)[:, 0]
    assert Sampler().gaussian(Fraction(1))(wide).shape == (5,)
    assert Sampler().select(np.array([[0, 7], [10**6, 7]])[:, 0], Fraction(1)) == 1


def test_it_says_that_nobody_is_protected_where_a_seed_or_an_observer_draws():
    class Watched(Observer):
        not_private = "watched"

    assert Sampler().not_private == ""
    assert Sampler(np.int64(3)).not_private == "noise drawn from a seed"
    with observed_by(Watched()):
        assert (Sampler().not_private, Sampler(3).not_private) == ("watched", "noise drawn from a seed")
