"""Records from a seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

from pypgm.compat.mbi._engine import Bridge, done
from pypgm.compat.mbi.constraint import Constraint
from pypgm.compat.mbi.dataset import Dataset
from pypgm.compat.mbi.domain import Domain
from pypgm.compat.mbi.markov_random_field import MarkovRandomField

__all__ = ["precompile", "synthetic_data"]


def synthetic_data(model: MarkovRandomField, rows: int, seed: int = 0) -> Dataset:
    """Return records of a model, the same for the same seed."""
    records = model.engine.synthetic_data(int(rows), rng=seed)
    names = Bridge.of(model.domain).names
    return Dataset({a: np.asarray(records.columns[n], dtype=np.int64) for a, n in names.items()}, model.domain)


def precompile(
    domain: Domain, cliques: Iterable[object], rows: int, constraints: Sequence[Constraint] = ()
) -> Future[Any]:
    """Return a finished future: there is nothing to compile."""
    del domain, cliques, rows, constraints
    return done()
