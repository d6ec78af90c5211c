"""Bayesian networks: conditional tables in, exact answers out."""

from pypgm.bayes.comparison import TableComparison, compare_tables
from pypgm.bayes.counted import CountedNetwork
from pypgm.bayes.learning import fit_score, learn
from pypgm.bayes.network import BayesianNetwork

__all__ = ["BayesianNetwork", "CountedNetwork", "TableComparison", "compare_tables", "fit_score", "learn"]
