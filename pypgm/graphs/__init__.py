"""Junction trees and what is known about their attributes."""

from pypgm.graphs.junction_tree import JunctionTree, TreeCost, TreeNode

__all__ = ["JunctionTree", "TreeCost", "TreeNode"]
