"""What every test may use: seeded hypothesis, and data from outside where there is some."""

from __future__ import annotations

import os
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
