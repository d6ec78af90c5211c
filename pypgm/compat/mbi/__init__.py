"""The surface of mbi 1.1 and 2.0 over pypgm's engine: what was imported from `mbi` is imported from here.

Arrays are NumPy's, of float64. Where the releases differ both ways of writing work; see ``docs/migrating.md``.
"""

from __future__ import annotations

from pypgm.compat.mbi import (
    approximate_oracles,
    callbacks,
    clique_utils,
    estimation,
    extensions,
    junction_tree,
    marginal_loss,
    marginal_oracles,
)
from pypgm.compat.mbi._api import MarginalOracle, Model, Projectable
from pypgm.compat.mbi._model_summary import ModelSummary, summarize
from pypgm.compat.mbi._serialization import load, save
from pypgm.compat.mbi.clique_utils import Clique
from pypgm.compat.mbi.clique_vector import CliqueVector
from pypgm.compat.mbi.constraint import Constraint
from pypgm.compat.mbi.dataset import Dataset, JaxDataset
from pypgm.compat.mbi.domain import Domain
from pypgm.compat.mbi.estimation import Estimator
from pypgm.compat.mbi.factor import Factor
from pypgm.compat.mbi.marginal_loss import (
    DatavectorQuery,
    LinearMeasurement,
    MarginalLossFn,
    SlicedQuery,
    WeightedQuery,
)
from pypgm.compat.mbi.markov_random_field import MarkovRandomField

__all__ = [
    "Clique",
    "CliqueVector",
    "Constraint",
    "Dataset",
    "DatavectorQuery",
    "Domain",
    "Estimator",
    "Factor",
    "JaxDataset",
    "LinearMeasurement",
    "MarginalLossFn",
    "MarginalOracle",
    "MarkovRandomField",
    "Model",
    "ModelSummary",
    "Projectable",
    "SlicedQuery",
    "WeightedQuery",
    "approximate_oracles",
    "callbacks",
    "clique_utils",
    "estimation",
    "extensions",
    "junction_tree",
    "load",
    "marginal_loss",
    "marginal_oracles",
    "save",
    "summarize",
]
