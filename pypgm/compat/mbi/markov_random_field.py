"""Estimated models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

import pypgm
from pypgm._base.numeric import numpy_seed
from pypgm.compat.mbi._engine import Bridge, model_of
from pypgm.compat.mbi.clique_utils import Cliques
from pypgm.compat.mbi.clique_vector import CliqueVector
from pypgm.compat.mbi.constraint import Constraint
from pypgm.compat.mbi.dataset import Dataset
from pypgm.compat.mbi.domain import Domain, as_clique, every_spelling
from pypgm.compat.mbi.factor import Factor


@every_spelling
@dataclass(frozen=True, eq=False)
class MarkovRandomField:
    """A distribution, by its log-potentials, and its marginals over the same cliques in counts.

    Attributes
    ----------
    engine : pypgm.GraphicalModel
        The same model with all that pypgm knows of it: error bars, conditional queries, files.
    """

    potentials: CliqueVector
    marginals: CliqueVector
    total: float = 1
    constraints: Sequence[Constraint] = ()

    @cached_property
    def engine(self) -> pypgm.GraphicalModel:
        return model_of(self.potentials, self.total, self.constraints)

    @property
    def domain(self) -> Domain:
        return self.potentials.domain

    @property
    def cliques(self) -> Cliques:
        return self.potentials.cliques

    def project(self, attributes: object) -> Factor:
        """Return the marginal of any attributes, in counts."""
        names = as_clique(attributes)
        if self.marginals.supports(names):
            return self.marginals.project(names)
        bridge = Bridge.of(self.domain)
        return bridge.table(names, self.engine.project(bridge.clique(names)))

    def supports(self, attributes: object) -> bool:
        return self.domain.supports(attributes)

    def synthetic_data(self, rows: int | None = None, method: Literal["round", "sample"] = "round") -> Dataset:
        """Return records: of counts rounded at random, or independent draws; seeded by NumPy's global state."""
        if method not in {"round", "sample"}:
            raise ValueError(f"method must be 'round' or 'sample', got {method!r}")
        return self.records(int(rows or self.total), numpy_seed(), "rounding" if method == "round" else "independent")

    def records(self, rows: int, seed: int, method: Literal["rounding", "independent"] = "rounding") -> Dataset:
        """Return records of the engine, at least one."""
        drawn = self.engine.synthetic_data(max(1, rows), rng=seed, method=method).columns
        names = Bridge.of(self.domain).names
        return Dataset({a: np.asarray(drawn[name], dtype=np.int64) for a, name in names.items()}, self.domain)
