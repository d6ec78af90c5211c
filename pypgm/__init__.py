"""pypgm: graphical models from differentially private marginals.

Three ways in:

- **A table that must not be shown.** ``release = pypgm.synthesize(table, schema, epsilon=1, delta=1e-9)`` spends a
  privacy budget once; ``release.to_frame()`` gives synthetic records as the table has them, ``release.marginal("age")``
  counts with their errors, ``release.report_html(path)`` a page to show. ``pypgm.Schema.from_types(table)`` begins the
  schema. ``pypgm.mechanisms`` has each method by name, ``pypgm.mechanisms.plan`` says beforehand what one would do, and
  ``pypgm.privacy`` what a mechanism of one's own needs.
- **Noisy answers of one's own.** ``pypgm.estimate(pypgm.Domain({"age": 85, "sex": ["F", "M"]}), measurements)`` with
  `LinearMeasurement` gives the one model that explains them best: ``model.project(...)``, ``model.query(...)``,
  ``model.synthetic_data()``.
- **A graphical model.** ``pypgm.bayes`` for Bayesian networks, ``pypgm.mrf`` for Markov random fields,
  ``pypgm.JunctionTree``, ``pypgm.marginals``, ``pypgm.read_uai`` for inference alone.

Pictures are in ``pypgm.plot``; objects show themselves at the end of a notebook's cell. ``python -m pypgm.audit``
checks the privacy of a mechanism. The command ``pypgm`` does the same as the first way without a line of Python.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from threading import RLock
from typing import TYPE_CHECKING

from pypgm import _waiting as _waiting  # before anything that imports the core

_NAMES = {  # by the module they are in
    "pypgm": ("bayes", "data", "mechanisms", "mrf", "queries", "reconstruction", "workloads"),
    "pypgm._core": ("__version__", "build_info"),
    "pypgm.clique_vector": ("CliqueVector",),
    "pypgm.comparison": ("compare",),
    "pypgm.data": ("Dataset", "OpenSchema", "Schema", "read_domain", "read_schema", "read_table", "write_table"),
    "pypgm.domain": ("Domain",),
    "pypgm.errors": (
        "BudgetError",
        "ConditionWarning",
        "ImpossibleEvidenceError",
        "ModelTooLargeError",
        "ReleaseError",
    ),
    "pypgm.estimation": ("Constraint", "Fit", "LinearMeasurement", "losses"),
    "pypgm.evaluation": ("Evaluation", "evaluate"),
    "pypgm.factor": ("Factor",),
    "pypgm.graphs": ("JunctionTree", "Likelihood", "RegionGraph"),
    "pypgm.inference": ("convex_gbp", "marginals", "variable_elimination"),
    "pypgm.io": ("read_uai", "write_uai"),
    "pypgm.models": ("GraphicalModel", "RegionAnswer", "RegionGraphModel", "estimate"),
    "pypgm.privacy": ("Budget", "Ledger", "LedgerReport", "Privacy", "PrivateColumn", "PrivateTable"),
    "pypgm.queries": ("KroneckerQuery",),
    "pypgm.release": ("Release", "load"),
    "pypgm._synthesize": ("synthesize",),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}
# Modules that have a name here too, and that ``import *`` leaves alone.
_MODULES = ("audit", "errors", "estimation", "graphs", "inference", "models", "planning", "plot", "privacy")
_ONE_AT_A_TIME = RLock()  # packages import each other: of two threads one would see what the other has half made


def _later(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return what imports a name of a package, or a module of it, where it is used first: nobody uses all of them."""

    def find(name: str) -> object:
        home = homes.get(name, package)
        if home != package:
            with _ONE_AT_A_TIME:
                found = getattr(importlib.import_module(home), name)
        # Modules without: a thread that imports one, which locks it, may ask here for another.
        elif name.isidentifier() and name[0] != "_" and importlib.util.find_spec(f"{package}.{name}") is not None:
            found = importlib.import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, found)
        return found

    return find


if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pypgm import audit as audit
    from pypgm import bayes as bayes
    from pypgm import data as data
    from pypgm import errors as errors
    from pypgm import estimation as estimation
    from pypgm import graphs as graphs
    from pypgm import inference as inference
    from pypgm import mechanisms as mechanisms
    from pypgm import models as models
    from pypgm import mrf as mrf
    from pypgm import planning as planning
    from pypgm import plot as plot
    from pypgm import privacy as privacy
    from pypgm import queries as queries
    from pypgm import reconstruction as reconstruction
    from pypgm import workloads as workloads
    from pypgm._core import __version__ as __version__
    from pypgm._core import build_info as build_info
    from pypgm._synthesize import synthesize as synthesize
    from pypgm.clique_vector import CliqueVector as CliqueVector
    from pypgm.comparison import compare as compare
    from pypgm.data import Dataset as Dataset
    from pypgm.data import OpenSchema as OpenSchema
    from pypgm.data import Schema as Schema
    from pypgm.data import read_domain as read_domain
    from pypgm.data import read_schema as read_schema
    from pypgm.data import read_table as read_table
    from pypgm.data import write_table as write_table
    from pypgm.domain import Domain as Domain
    from pypgm.errors import BudgetError as BudgetError
    from pypgm.errors import ConditionWarning as ConditionWarning
    from pypgm.errors import ImpossibleEvidenceError as ImpossibleEvidenceError
    from pypgm.errors import ModelTooLargeError as ModelTooLargeError
    from pypgm.errors import ReleaseError as ReleaseError
    from pypgm.estimation import Constraint as Constraint
    from pypgm.estimation import Fit as Fit
    from pypgm.estimation import LinearMeasurement as LinearMeasurement
    from pypgm.estimation import losses as losses
    from pypgm.evaluation import Evaluation as Evaluation
    from pypgm.evaluation import evaluate as evaluate
    from pypgm.factor import Factor as Factor
    from pypgm.graphs import JunctionTree as JunctionTree
    from pypgm.graphs import Likelihood as Likelihood
    from pypgm.graphs import RegionGraph as RegionGraph
    from pypgm.inference import convex_gbp as convex_gbp
    from pypgm.inference import marginals as marginals
    from pypgm.inference import variable_elimination as variable_elimination
    from pypgm.io import read_uai as read_uai
    from pypgm.io import write_uai as write_uai
    from pypgm.models import GraphicalModel as GraphicalModel
    from pypgm.models import RegionAnswer as RegionAnswer
    from pypgm.models import RegionGraphModel as RegionGraphModel
    from pypgm.models import estimate as estimate
    from pypgm.privacy import Budget as Budget
    from pypgm.privacy import Ledger as Ledger
    from pypgm.privacy import LedgerReport as LedgerReport
    from pypgm.privacy import Privacy as Privacy
    from pypgm.privacy import PrivateColumn as PrivateColumn
    from pypgm.privacy import PrivateTable as PrivateTable
    from pypgm.queries import KroneckerQuery as KroneckerQuery
    from pypgm.release import Release as Release
    from pypgm.release import load as load
else:
    __all__ = list(_HOMES)
    __getattr__ = _later(__name__, _HOMES)


def __dir__() -> list[str]:
    return [*_HOMES, *_MODULES]
