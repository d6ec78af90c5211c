"""Bayesian networks: conditional tables in, exact answers out."""

from pypgm.bayes.network import BayesianNetwork

__all__ = ["BayesianNetwork"]
