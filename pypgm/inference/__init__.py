"""Inference: exact marginals and answers by messages and by elimination; pseudo-marginals on region graphs."""

from pypgm.inference.convex_gbp import ConvexGbp, convex_gbp
from pypgm.inference.exact import marginals
from pypgm.inference.variable_elimination import max_elimination, variable_elimination

__all__ = ["ConvexGbp", "convex_gbp", "marginals", "max_elimination", "variable_elimination"]
