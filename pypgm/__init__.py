"""pypgm: graphical models from differentially private marginals."""

from __future__ import annotations

from pypgm._core import __version__, build_info
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Domain
from pypgm.errors import BudgetError, ImpossibleEvidenceError, ModelTooLargeError
from pypgm.estimation import LinearMeasurement
from pypgm.factor import Factor
from pypgm.graphs import JunctionTree
from pypgm.inference import marginals, variable_elimination
from pypgm.io import read_uai
from pypgm.models import GraphicalModel, estimate, load

__all__ = [
    "BudgetError",
    "CliqueVector",
    "Domain",
    "Factor",
    "GraphicalModel",
    "ImpossibleEvidenceError",
    "JunctionTree",
    "LinearMeasurement",
    "ModelTooLargeError",
    "__version__",
    "build_info",
    "estimate",
    "load",
    "marginals",
    "read_uai",
    "variable_elimination",
]
