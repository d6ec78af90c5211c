"""Interfaces that estimators and models share."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from pypgm.compat.mbi.clique_vector import CliqueVector
from pypgm.compat.mbi.domain import Domain
from pypgm.compat.mbi.factor import Factor


@runtime_checkable
class Projectable(Protocol):
    """Object with marginals."""

    @property
    def domain(self) -> Domain: ...
    def project(self, attributes: Any) -> Factor: ...
    def supports(self, attributes: Any) -> bool: ...


@runtime_checkable
class Model(Projectable, Protocol):
    """Object with marginals and records."""

    def synthetic_data(self, rows: int | None = None) -> Any: ...


@runtime_checkable
class MarginalOracle(Protocol):
    """Marginals of potentials."""

    def __call__(self, potentials: CliqueVector, total: float = 1.0) -> CliqueVector: ...
