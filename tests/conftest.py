"""Fixtures of all tests: seeded hypothesis, and data from outside where there is some."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("pypgm", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("pypgm")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of public tables and models; skip the test where there is none."""
    folder = os.environ.get("PYPGM_DATA")
    if not folder:
        pytest.skip("PYPGM_DATA is not set")
    return Path(folder)


@pytest.fixture
def ends_by_itself():
    """Fail where a test waits for ever, for what takes for ever or for a pipe that nobody writes to."""

    def give_up(*_):
        raise AssertionError("this takes for ever")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(
        signal.ITIMER_REAL, 30
    )  # far more than any such test takes, and far less than what it guards against
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
