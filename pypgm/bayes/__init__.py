"""Bayesian networks: conditional tables in, exact answers out."""

from pypgm.bayes.comparison import TableComparison, compare_tables
from pypgm.bayes.counted import CountedNetwork
from pypgm.bayes.learning import fit_score, learn
from pypgm.bayes.network import BayesianNetwork
from pypgm.bayes.network_release import NetworkRelease
from pypgm.bayes.private_learning import learn_private
from pypgm.bayes.private_structure import PrivateStructure

__all__ = [
    "BayesianNetwork",
    "CountedNetwork",
    "NetworkRelease",
    "PrivateStructure",
    "TableComparison",
    "compare_tables",
    "fit_score",
    "learn",
    "learn_private",
]
