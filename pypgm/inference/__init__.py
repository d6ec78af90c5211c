"""Inference: exact marginals by message passing and by variable elimination, and pseudo-marginals on region graphs."""

"""Exact inference: marginals by message passing and by variable elimination, answers to queries."""

from pypgm.inference.convex_gbp import ConvexGbp, convex_gbp
from pypgm.inference.exact import marginals
from pypgm.inference.variable_elimination import max_elimination, variable_elimination

__all__ = ["ConvexGbp", "convex_gbp", "marginals", "variable_elimination"]
__all__ = ["marginals", "max_elimination", "variable_elimination"]
