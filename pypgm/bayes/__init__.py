"""Bayesian networks: conditional tables in, exact answers out."""

from pypgm.bayes.comparison import TableComparison, compare_tables
from pypgm.bayes.learning import fit_score, learn
from pypgm.bayes.network import BayesianNetwork

__all__ = ["BayesianNetwork", "TableComparison", "compare_tables", "fit_score", "learn"]
