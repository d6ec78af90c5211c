"""pypgm: graphical models from differentially private marginals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypgm import _waiting as _waiting  # before anything that imports the core
from pypgm._core import __version__, build_info
from pypgm._lazy import attach

if TYPE_CHECKING:
    from pypgm import bayes, data, mechanisms, mrf, queries, reconstruction, workloads
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

__getattr__, __dir__ = attach(
    __name__,
    {
        "pypgm.audit": (),
        "pypgm.bayes": (),
        "pypgm.clique_vector": ("CliqueVector",),
        "pypgm.data": ("Dataset", "Schema", "read_domain", "read_schema", "read_table", "write_table"),
        "pypgm.domain": ("Domain",),
        "pypgm.errors": ("BudgetError", "ConditionWarning", "ImpossibleEvidenceError", "ModelTooLargeError"),
        "pypgm.estimation": ("Constraint", "Fit", "LinearMeasurement", "losses"),
        "pypgm.evaluation": ("Evaluation", "evaluate"),
        "pypgm.factor": ("Factor",),
        "pypgm.graphs": ("JunctionTree", "Likelihood", "RegionGraph"),
        "pypgm.inference": ("convex_gbp", "marginals", "variable_elimination"),
        "pypgm.io": ("read_uai", "write_uai"),
        "pypgm.mechanisms": (),
        "pypgm.models": ("Answer", "GraphicalModel", "RegionGraphModel", "estimate"),
        "pypgm.mrf": (),
        "pypgm.plot": (),
        "pypgm.privacy": ("Budget", "Ledger", "LedgerReport", "Privacy", "PrivateColumn", "PrivateTable"),
        "pypgm.queries": ("KroneckerQuery",),
        "pypgm.reconstruction": (),
        "pypgm.release": ("Release", "load"),
        "pypgm.report": (),
        "pypgm.workloads": (),
    },
)
