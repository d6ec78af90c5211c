"""Records that tests of several folders build alike."""

from __future__ import annotations

import numpy as np

from pypgm import Dataset, Domain


def chain(domain: Domain, n: int = 4000, seed: int = 0) -> Dataset:
    """Return records in which each attribute depends on the one before it, and every pair has independent cells too."""
    rng = np.random.default_rng(seed)
    columns, last = {}, rng.integers(0, 12, n)
    for name, size in zip(domain, domain.shape, strict=True):
        last = np.where(rng.random(n) < 0.8, last, rng.integers(0, 12, n))
        columns[name] = last % size
    return Dataset(columns, domain)
