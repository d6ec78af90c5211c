"""Request for an estimate, its options checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.estimation.constraint import Masks
from pypgm.estimation.independence import independent_potentials
from pypgm.estimation.limits import SolverOptions
from pypgm.estimation.loss import Loss
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.estimation.region_descent import Sweeps
from pypgm.inference.folding import Folding
from pypgm.models.estimated_model import EstimatedModel

Prior = EstimatedModel | CliqueVector | None
"""A model to start from and stay near; where an estimate is done again, the logs that it started from."""


@dataclass(frozen=True)
class Request:
    """A loss to be minimised over the models of a domain, and where to start; see `pypgm.estimate`.

    Attributes
    ----------
    loss : Loss
        Sum of the marginals, counts.
    measurements : sequence of LinearMeasurement
        The model has their cliques; they suggest the independent model.
    total : float
        Number of records, counts.
    options : SolverOptions
        Limits, rule of stopping, and progress.
    method : str
        Method of solution. "accelerated" starts from the independent model if there is no other, all others from
        the uniform one.
    folding : Folding
        The attributes that inference runs on, and those that follow from them.
    masks : sequence of (clique, bool array)
        Structural zeros.
    prior, warm_start : model, optional
        At most one of them, to start from. All cliques of a prior stay in the model; where some of a warm start are
        lost, the start is the independent model if that has the smaller loss. Where an estimate is done again the
        prior is the vector of natural logs that it started from.
    how : Sweeps
        Options of the search for marginals over a region graph.
    """

    loss: Loss
    measurements: Sequence[LinearMeasurement]
    total: float
    options: SolverOptions
    method: str
    folding: Folding
    masks: Masks
    prior: Prior = None
    warm_start: EstimatedModel | None = None
    how: Sweeps = field(default_factory=Sweeps)

    @property
    def first(self) -> Prior:
        """The prior or the warm start."""
        return self.warm_start if self.prior is None else self.prior

    @property
    def domain(self) -> Domain:
        """The attributes that inference runs on."""
        return self.folding.inner

    @property
    def cliques(self) -> list[Clique]:
        """The distinct cliques that the loss reads, that were measured and that have zeros, in the domain's order."""
        measured = (m.clique for m in self.measurements)
        wanted = dict.fromkeys([*self.loss.cliques, *measured, *(clique for clique, _ in self.masks)])
        return list(dict.fromkeys(map(self.domain.canonical, wanted)))

    def independent(
        self, cliques: Sequence[Clique], answers: Sequence[LinearMeasurement] | None = None
    ) -> CliqueVector:
        """Return potentials over cliques of the independent model that the measurements, or other answers, suggest."""
        suggesting = self.measurements if answers is None else answers
        return independent_potentials(self.domain, cliques, suggesting, self.total or 1.0)
