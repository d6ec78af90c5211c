"""Exact inference: marginals by message passing and by variable elimination."""

from pypgm.inference.exact import marginals
from pypgm.inference.variable_elimination import variable_elimination

__all__ = ["marginals", "variable_elimination"]
