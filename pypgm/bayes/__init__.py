"""Bayesian networks: conditional tables in, exact answers out."""

from pypgm.bayes.learning import fit_score, learn
from pypgm.bayes.network import BayesianNetwork

__all__ = ["BayesianNetwork", "fit_score", "learn"]
