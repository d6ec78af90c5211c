"""The surface of mbi over pypgm's engine, of all its releases: names of `mbi` are imported from here.

Arrays are NumPy's, of float64. Where releases differ, each spelling works; see ``docs/migrating.md``.
"""

from __future__ import annotations

import importlib
from typing import Any

from pypgm.compat.mbi import approximate_oracles as approximate_oracles
from pypgm.compat.mbi import callbacks as callbacks
from pypgm.compat.mbi import clique_utils as clique_utils
from pypgm.compat.mbi import estimation as estimation
from pypgm.compat.mbi import extensions as extensions
from pypgm.compat.mbi import junction_tree as junction_tree
from pypgm.compat.mbi import marginal_loss as marginal_loss
from pypgm.compat.mbi import marginal_oracles as marginal_oracles
from pypgm.compat.mbi._model_summary import ModelSummary as ModelSummary
from pypgm.compat.mbi._model_summary import summarize as summarize
from pypgm.compat.mbi._serialization import load as load
from pypgm.compat.mbi._serialization import save as save
from pypgm.compat.mbi.callbacks import set_log_fn as set_log_fn
from pypgm.compat.mbi.clique_vector import CliqueVector as CliqueVector
from pypgm.compat.mbi.constraint import Constraint as Constraint
from pypgm.compat.mbi.dataset import Dataset as Dataset
from pypgm.compat.mbi.dataset import JaxDataset as JaxDataset
from pypgm.compat.mbi.domain import Clique as Clique
from pypgm.compat.mbi.domain import Domain as Domain
from pypgm.compat.mbi.estimation import Estimator as Estimator
from pypgm.compat.mbi.estimation import Model as Model
from pypgm.compat.mbi.factor import Factor as Factor
from pypgm.compat.mbi.factor import Projectable as Projectable
from pypgm.compat.mbi.marginal_loss import DatavectorQuery as DatavectorQuery
from pypgm.compat.mbi.marginal_loss import LinearMeasurement as LinearMeasurement
from pypgm.compat.mbi.marginal_loss import MarginalLossFn as MarginalLossFn
from pypgm.compat.mbi.marginal_loss import SlicedQuery as SlicedQuery
from pypgm.compat.mbi.marginal_loss import WeightedQuery as WeightedQuery
from pypgm.compat.mbi.marginal_oracles import MarginalOracle as MarginalOracle
from pypgm.compat.mbi.markov_random_field import MarkovRandomField as MarkovRandomField

__version__ = "2.0.0"
OLDER_PLACES = {
    "experimental.mixture_of_products": "extensions.mixture_of_products",
    "experimental.public_support": "extensions.reweighted_dataset",
    "extensions.constraints": "extensions.message_passing",
    "factor_graph": "graphical_model",
    "local_inference": "inference",
    "mixture_inference": "inference",
    "public_inference": "inference",
    "region_graph": "graphical_model",
}
"""Modules of other releases, and where their names are now."""
_LAZY = {
    "FactorGraph": "graphical_model",
    "FactoredInference": "inference",
    "GraphicalModel": "graphical_model",
    "JunctionTree": "junction_tree",
    "LocalInference": "inference",
    "MixtureInference": "inference",
    "PublicInference": "inference",
    "RegionGraph": "graphical_model",
    "synthetic_data": "extensions.synthetic_data",
}
_REFUSED = {
    "einsum": "it only steers JAX's compiler",
    "mechanism": "its noise is of floating-point numbers, which is not private: see pypgm.measure",
    "torch_factor": "tables are NumPy arrays here, without torch",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    if name in _REFUSED:
        raise ImportError(f"mbi.{name} is not here: {_REFUSED[name]}")
    if name in {"inference", "graphical_model"} or name in OLDER_PLACES:
        return importlib.import_module(f"{__name__}.{OLDER_PLACES.get(name, name)}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
