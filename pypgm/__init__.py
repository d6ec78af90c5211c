"""pypgm: graphical models from differentially private marginals."""

from __future__ import annotations

from pypgm import bayes, mechanisms, queries
from pypgm._core import __version__, build_info
from pypgm.clique_vector import CliqueVector
from pypgm.data import Dataset, read_table
from pypgm.domain import Domain
from pypgm.errors import BudgetError, ImpossibleEvidenceError, ModelTooLargeError
from pypgm.estimation import LinearMeasurement
from pypgm.factor import Factor
from pypgm.graphs import JunctionTree
from pypgm.inference import marginals, variable_elimination
from pypgm.io import read_uai
from pypgm.models import GraphicalModel, estimate, load
from pypgm.privacy import Budget, Ledger, Privacy

__all__ = [
    "Budget",
    "BudgetError",
    "CliqueVector",
    "Dataset",
    "Domain",
    "Factor",
    "GraphicalModel",
    "ImpossibleEvidenceError",
    "JunctionTree",
    "Ledger",
    "LinearMeasurement",
    "ModelTooLargeError",
    "Privacy",
    "__version__",
    "bayes",
    "build_info",
    "estimate",
    "load",
    "marginals",
    "mechanisms",
    "queries",
    "read_table",
    "read_uai",
    "variable_elimination",
]
