"""Records from a seed."""

from __future__ import annotations

import numpy as np

from pypgm.compat.mbi._engine import finished
from pypgm.compat.mbi.dataset import Dataset
from pypgm.compat.mbi.markov_random_field import MarkovRandomField


def synthetic_data(model: MarkovRandomField, rows: int, seed: int = 0) -> Dataset:
    """Return the records that `MarkovRandomField.synthetic_data` draws after ``numpy.random.seed(seed)``."""
    return model.records(rows, int(np.random.RandomState(seed).randint(0, 2**31 - 1)))


precompile = finished
