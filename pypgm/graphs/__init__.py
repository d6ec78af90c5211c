"""Junction trees, region graphs, and evidence on their attributes."""

from pypgm.graphs.evidence import Likelihood
from pypgm.graphs.junction_tree import JunctionTree, TreeCost, TreeNode
from pypgm.graphs.region_graph import RegionGraph

__all__ = ["JunctionTree", "Likelihood", "RegionGraph", "TreeCost", "TreeNode"]
