"""A time limit shorter than the first step towards an estimate is told of before that begins."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pypgm
from pypgm.errors import TimeLimitWarning
from pypgm.graphs import JunctionTree
from pypgm.models.tree_estimate import _warn_of_long_steps

LARGE = pypgm.Domain({"a": 1500, "b": 1500, "c": 1500})
RING = [("a", "b"), ("b", "c"), ("a", "c")]


def answers(domain):
    return [pypgm.LinearMeasurement(np.full(domain.sizes(pair), 2.0), pair, stddev=5.0) for pair in RING]


def mechanism(measurements, time_limit):
    data = pypgm.Dataset({name: [0, 1] for name in LARGE}, LARGE)
    how = {"oracle": "exact", "time_limit": time_limit}
    return pypgm.mechanisms.mst(data, 1, 1e-9, measurements=measurements, **how)


@pytest.mark.parametrize("call", [lambda taken, limit: pypgm.estimate(LARGE, taken, time_limit=limit), mechanism])
def test_a_step_longer_than_the_limit_is_told_before_it_begins(call):
    told = r"time_limit=\S+ is looked at between steps.*3.38e\+09 of them over \(a, b, c\); oracle='region_graph'"
    with warnings.catch_warnings():
        warnings.simplefilter("error", TimeLimitWarning)  # which ends the call before any table is made
        with pytest.raises(TimeLimitWarning, match=told):
            call(answers(LARGE), 3)


def test_it_is_told_where_the_package_was_called_and_only_where_it_is_so():
    tree = JunctionTree(LARGE, RING)
    with pytest.warns(TimeLimitWarning) as heard:
        _warn_of_long_steps(tree, 3.0)
    (one,) = heard
    assert one.filename == __file__
    small = pypgm.Domain({"a": 20, "b": 20, "c": 20})
    with warnings.catch_warnings():
        warnings.simplefilter("error", TimeLimitWarning)
        for limit in (None, 100.0, float("inf")):
            _warn_of_long_steps(tree, limit)
        pypgm.estimate(small, answers(small), time_limit=1e-9)
