"""A time limit decides what is released: it must not depend on how long private records take to be read."""

from __future__ import annotations

import itertools
import threading
import warnings

import numpy as np
import pytest

import pypgm
from pypgm import mechanisms
from pypgm._base.clock import Clock, now, standing_still
from pypgm.mechanisms.tables import mechanism_names
from pypgm.privacy.fixed_errors import fixed_errors

DOMAIN = pypgm.Domain({f"a{i}": 3 for i in range(5)})
RECORDS = pypgm.Dataset({a: np.random.default_rng(i).integers(0, 3, 500) for i, a in enumerate(DOMAIN)}, DOMAIN)

OWN = {"jam": {"public": RECORDS}}  # what a mechanism takes besides


class Time:
    """A clock that goes 1/1024 s each time it is looked at, and as far as it is put forward; sums are exact."""

    def __init__(self, monkeypatch):
        self.seconds = 0.0
        monkeypatch.setattr("time.perf_counter", self)

    def __call__(self):
        self.seconds += 1 / 1024
        return self.seconds

    def fail(self):
        """Take long, and fail."""
        self.seconds += 100
        raise ValueError


class SlowTable:
    """Records that take a time to be asked anything."""

    weights = None

    def __init__(self, time, taken):
        self._time, self._taken = time, taken

    def _waited(self, answer):
        self._time.seconds += self._taken
        return answer

    @property
    def domain(self):
        return DOMAIN

    @property
    def n_records(self):
        return self._waited(len(RECORDS))

    def count(self, cliques, n_threads=0):
        return self._waited(RECORDS.count(cliques, n_threads))


def released(name, taken, limit, monkeypatch):
    """Return what a mechanism tells of records whose reading takes a time, by a clock of our own."""
    time = Time(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pypgm.errors.TimeLimitWarning)
        release = getattr(mechanisms, name)(
            SlowTable(time, taken), 1, 1e-9, time_limit=limit, unsafe_seed=1, n_threads=1, **OWN.get(name, {})
        )
    lines = [(line.what, line.on, line.cost) for line in release.ledger.lines]
    answers = [(m.clique, np.asarray(m.values).tolist()) for m in release.measurements]
    return lines, answers, list(release.log), release.model.fit


@pytest.mark.parametrize("limit", [1 / 64, 1 / 16])
@pytest.mark.parametrize("name", mechanism_names())
def test_a_release_is_the_same_however_long_its_records_take(name, limit, monkeypatch):
    quick, *slow = (released(name, taken, limit, monkeypatch) for taken in (0.0, 1 / 64, 128.0))
    assert all(found == quick for found in slow)


def test_a_limit_ends_rounds_all_the_same(monkeypatch):
    counts = {limit: len(released("aim", 100.0, limit, monkeypatch)[2]) for limit in (1 / 64, 1 / 16, 128.0)}
    assert counts[1 / 64] < counts[128.0]


def test_clocks_stand_still_in_steps_within_steps(monkeypatch):
    time = Time(monkeypatch)
    clock, begun = Clock(time_limit=50), now()
    for depth in itertools.chain(range(4), range(4)):
        with fixed_errors:
            time.seconds += 100
            for _ in range(depth):
                with standing_still:
                    time.seconds += 100
            time.seconds += 100
        with pytest.raises(pypgm.errors.ReleaseError), fixed_errors:
            time.fail()
    assert now() - begun < 1
    assert not clock.is_past_limit
    time.seconds += 51
    assert clock.is_past_limit


def test_clocks_of_another_thread_go_on(monkeypatch):
    time = Time(monkeypatch)
    seen = []

    def work():
        begun = now()
        time.seconds += 100
        seen.append(now() - begun)

    with standing_still:
        other = threading.Thread(target=work)
        other.start()
        other.join()
    assert seen[0] > 100
