"""Inference: exact marginals and answers by messages and by elimination; pseudo-marginals on region graphs."""

from pypgm.inference._convex_gbp import ConvexGbp, convex_gbp
from pypgm.inference._variable_elimination import max_elimination, variable_elimination
from pypgm.inference.calibrated import marginals
from pypgm.inference.oracles import Approximation

__all__ = ["Approximation", "ConvexGbp", "convex_gbp", "marginals", "max_elimination", "variable_elimination"]
