"""Bayesian networks: conditional tables in, exact answers out."""

from pypgm.bayes.answers import AnswerComparison, compare_answers, map_agreement
from pypgm.bayes.bounds import ErrorBounds, error_bounds
from pypgm.bayes.comparison import TableComparison, compare_tables
from pypgm.bayes.counted import CountedNetwork
from pypgm.bayes.learning import fit_score, learn
from pypgm.bayes.network import BayesianNetwork
from pypgm.bayes.network_release import NetworkRelease
from pypgm.bayes.private_learning import learn_private
from pypgm.bayes.private_structure import PrivateStructure

__all__ = [
    "AnswerComparison",
    "BayesianNetwork",
    "CountedNetwork",
    "ErrorBounds",
    "NetworkRelease",
    "PrivateStructure",
    "TableComparison",
    "compare_answers",
    "compare_tables",
    "error_bounds",
    "fit_score",
    "learn",
    "learn_private",
    "map_agreement",
]
