"""Interface of an estimated model of any kind, for starts, errors and refinements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from pypgm.clique_vector import CliqueVector
from pypgm.estimation.constraint import Masks
from pypgm.factor import Factor
from pypgm.files.stored_model import ReleasedModel
from pypgm.inference.folding import Folding
from pypgm.models.recipe import Recipe


class EstimatedModel(ReleasedModel, Protocol):
    """A model that may have been estimated from measurements."""

    @property
    def is_exact(self) -> bool:
        """Whether marginals are those of one joint distribution."""

    @property
    def marginals(self) -> CliqueVector:
        """Counts, over the cliques or regions of the model."""

    @property
    def folding(self) -> Folding:
        """The attributes that inference runs on, and those that follow from them."""

    @property
    def masks(self) -> Masks:
        """Structural zeros."""

    @property
    def recipe(self) -> Recipe | None:
        """Recipe of the estimate: its measurements and options."""

    def project_many(self, cliques: Iterable[str | Iterable[str]], *, n_threads: int = 0) -> Sequence[Factor]:
        """Return the marginals of many cliques in counts, in the given order."""
