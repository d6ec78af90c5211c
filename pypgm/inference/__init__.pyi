from pypgm.inference._convex_gbp import ConvexGbp as ConvexGbp
from pypgm.inference._convex_gbp import convex_gbp as convex_gbp
from pypgm.inference._variable_elimination import max_elimination as max_elimination
from pypgm.inference._variable_elimination import variable_elimination as variable_elimination
from pypgm.inference.calibrated import marginals as marginals
from pypgm.inference.oracles import Approximation as Approximation
