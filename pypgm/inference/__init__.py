"""Exact inference: marginals by message passing and by variable elimination, answers to queries."""

from pypgm.inference.exact import marginals
from pypgm.inference.variable_elimination import max_elimination, variable_elimination

__all__ = ["marginals", "max_elimination", "variable_elimination"]
