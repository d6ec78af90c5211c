"""What a release can hold as its model, and how each kind of model is read from its file."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import os

    import numpy as np
    from numpy.typing import NDArray

    from pypgm.clique_vector import CliqueVector
    from pypgm.data import Dataset
    from pypgm.domain import Clique, Domain
    from pypgm.estimation.fit import Fit
    from pypgm.factor import Factor
    from pypgm.graphs.evidence import Evidence

__all__ = ["KINDS", "Reader", "ReleasedModel", "reader_of"]


class ReleasedModel(Protocol):
    """What a release asks of its model.

    Attributes
    ----------
    not_private : str
        Why the model protects nobody; empty where it does. Set by the release, kept in the file.
    """

    not_private: str

    @property
    def domain(self) -> Domain:
        """All attributes."""

    @property
    def total(self) -> float:
        """Number of records."""

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """What the model has a table of."""

    @property
    def potentials(self) -> CliqueVector:
        """Natural logs of its tables."""

    @property
    def fit(self) -> Fit | None:
        """How its estimate ended; None where nothing was optimised."""

    def project(self, clique: str | Iterable[str]) -> Factor:
        """Return the marginal of any clique, in counts."""

    def query(self, targets: str | Iterable[str], evidence: Evidence | None = None) -> Factor:
        """Return the joint probabilities of some attributes, given what is known of others."""

    def synthetic_data(
        self,
        rows: int | None = None,
        rng: np.random.Generator | int | None = None,
        *,
        evidence: Evidence | None = None,
    ) -> Dataset:
        """Return records drawn from the model, given what is known; by default the rounded total."""

    def archive(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the header and the arrays of its file; ``header["kind"]`` is a key of `KINDS`."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file."""


Reader = Callable[[dict[str, Any], "dict[str, NDArray[Any]]"], ReleasedModel]

KINDS: dict[str, Reader] = {}
"""Readers of files by the ``kind`` in their header, for models of packages that build on this one.

A package adds its own where the model is defined. A reader raises `KeyError`, `TypeError` or `ValueError` where the
file is not whole; `not_private` is restored by the caller.
"""

_HOMES = {"bayesian network": "pypgm.bayes", "markov random field": "pypgm.mrf"}
"""Packages that are imported where they are used first, and the kinds they add."""


def reader_of(kind: str) -> Reader | None:
    """Return the reader of files of a kind, None where there is none."""
    if kind in _HOMES:
        importlib.import_module(_HOMES[kind])
    return KINDS.get(kind)
