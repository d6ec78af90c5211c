"""Constraints: cells that no record can have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm._base.constraints import one_of
from pypgm.compat.mbi.domain import Clique, Domain
from pypgm.compat.mbi.factor import Factor


@dataclass(frozen=True, eq=False)
class Constraint:
    """Structural zeros of a few attributes: cells that may or may not hold records, or a function of the first.

    Examples
    --------
    >>> Constraint(Domain(["fine", "coarse"], [3, 2]), mapping=[0, 1, 1]).potential.values
    array([[  0., -inf],
           [-inf,   0.],
           [-inf,   0.]])
    """

    domain: Domain
    valid: Any = None
    invalid: Any = None
    mapping: Any = None
    weights: Factor | None = field(default=None, repr=False)
    """Natural logs of possible cells, if an estimate left some that no clique of its model holds."""

    def __post_init__(self) -> None:
        name = one_of("a constraint", valid=self.valid, invalid=self.invalid, mapping=self.mapping)
        cells = np.asarray(getattr(self, name))
        object.__setattr__(self, name, cells)
        if name != "mapping":
            if cells.ndim != 2 or cells.shape[1] != len(self.domain):
                raise ValueError(f"{name} needs a column for each of {self.domain}, got shape {cells.shape}")
        elif len(self.domain) != 2 or cells.shape != self.domain.shape[:1]:
            raise ValueError(f"mapping needs two attributes and a value for each of the first, got {cells.shape}")
        if cells.dtype.kind not in "iu":
            raise ValueError(f"{name} needs integers, got {cells.dtype}")
        columns = self._cells()
        if any(c.size and (c.min() < 0 or c.max() >= n) for c, n in zip(columns, self.domain.shape, strict=True)):
            raise ValueError(f"{name} needs codes within {self.domain}")

    def _cells(self) -> tuple[NDArray[Any], ...]:
        if self.mapping is not None:
            return np.arange(len(self.mapping)), self.mapping
        return tuple((self.invalid if self.valid is None else self.valid).T)

    @property
    def clique(self) -> Clique:
        """The attributes, sorted."""
        return tuple(sorted(self.domain.attributes))

    @property
    def is_deterministic(self) -> bool:
        """Whether the second attribute is a function of the first."""
        return self.mapping is not None

    @property
    def potential(self) -> Factor:
        """Table with 0 for cells that records may have, and -inf elsewhere."""
        if self.weights is not None:
            return self.weights
        named, others = (-np.inf, 0.0) if self.invalid is not None else (0.0, -np.inf)
        values = np.full(self.domain.shape, others)
        values[self._cells()] = named
        return Factor(self.domain, values)
