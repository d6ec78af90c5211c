"""pypgm: graphical models from differentially private marginals."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from pypgm import _waiting as _waiting  # before anything that imports the core
from pypgm import data, queries, workloads
from pypgm._core import __version__, build_info
from pypgm.clique_vector import CliqueVector
from pypgm.data import Dataset, Schema, read_domain, read_schema, read_table, write_table
from pypgm.domain import Domain
from pypgm.errors import BudgetError, ConditionWarning, ImpossibleEvidenceError, ModelTooLargeError
from pypgm.estimation import Constraint, Fit, LinearMeasurement, losses
from pypgm.evaluation import Evaluation, evaluate
from pypgm.factor import Factor
from pypgm.graphs import JunctionTree, Likelihood, RegionGraph
from pypgm.inference import convex_gbp, marginals, variable_elimination
from pypgm.io import read_uai, write_uai
from pypgm.models import Answer, GraphicalModel, RegionGraphModel, estimate
from pypgm.privacy import Budget, Ledger, LedgerReport, Privacy, PrivateColumn, PrivateTable
from pypgm.queries import KroneckerQuery
from pypgm.release import Release, load

if TYPE_CHECKING:
    from pypgm import bayes, mechanisms, mrf, reconstruction

__all__ = [
    "Answer",
    "Budget",
    "BudgetError",
    "CliqueVector",
    "ConditionWarning",
    "Constraint",
    "Dataset",
    "Domain",
    "Evaluation",
    "Factor",
    "Fit",
    "GraphicalModel",
    "ImpossibleEvidenceError",
    "JunctionTree",
    "KroneckerQuery",
    "Ledger",
    "LedgerReport",
    "Likelihood",
    "LinearMeasurement",
    "ModelTooLargeError",
    "Privacy",
    "PrivateColumn",
    "PrivateTable",
    "RegionGraph",
    "RegionGraphModel",
    "Release",
    "Schema",
    "__version__",
    "bayes",
    "build_info",
    "convex_gbp",
    "data",
    "estimate",
    "evaluate",
    "load",
    "losses",
    "marginals",
    "mechanisms",
    "mrf",
    "queries",
    "read_domain",
    "read_schema",
    "read_table",
    "read_uai",
    "reconstruction",
    "variable_elimination",
    "workloads",
    "write_table",
    "write_uai",
]


def __getattr__(name: str) -> ModuleType:
    """Import a package where it is used first: an estimate needs none of these, and they take as long as the rest."""
    if name in {"bayes", "mechanisms", "mrf", "reconstruction"}:
        return importlib.import_module(f"pypgm.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
