"""The surface of mbi 1.1 and 2.0 over pypgm's engine: names of `mbi` are imported from here.

Arrays are NumPy's, of float64. Where the two releases differ, both spellings work; see ``docs/migrating.md``.
"""

from __future__ import annotations

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
from pypgm.compat.mbi.estimation import MarginalOracle as MarginalOracle
from pypgm.compat.mbi.estimation import Model as Model
from pypgm.compat.mbi.estimation import Projectable as Projectable
from pypgm.compat.mbi.factor import Factor as Factor
from pypgm.compat.mbi.marginal_loss import DatavectorQuery as DatavectorQuery
from pypgm.compat.mbi.marginal_loss import LinearMeasurement as LinearMeasurement
from pypgm.compat.mbi.marginal_loss import MarginalLossFn as MarginalLossFn
from pypgm.compat.mbi.marginal_loss import SlicedQuery as SlicedQuery
from pypgm.compat.mbi.marginal_loss import WeightedQuery as WeightedQuery
from pypgm.compat.mbi.markov_random_field import MarkovRandomField as MarkovRandomField
