"""Linear queries on the marginal of one clique, and products of them on named attributes."""

from __future__ import annotations

from pypgm.queries.contrasts import Contrasts
from pypgm.queries.kronecker import Kronecker, KroneckerQuery
from pypgm.queries.matrix import Matrix, mean, moments, on_lattice
from pypgm.queries.neighbours import Neighbours
from pypgm.queries.partition import Identity, Partition, Subset, permutation, subset_sum, total, weighted
from pypgm.queries.query import LinearQuery
from pypgm.queries.ranges import AllRange, Prefix, RangeList
from pypgm.queries.union import Union
from pypgm.queries.user_operator import Products, UserOperator

__all__ = [
    "BUILT_IN",
    "AllRange",
    "Contrasts",
    "Identity",
    "Kronecker",
    "KroneckerQuery",
    "LinearQuery",
    "Matrix",
    "Neighbours",
    "Partition",
    "Prefix",
    "Products",
    "RangeList",
    "Subset",
    "Union",
    "UserOperator",
    "mean",
    "moments",
    "on_lattice",
    "permutation",
    "subset_sum",
    "total",
    "weighted",
]

BUILT_IN = (AllRange, Contrasts, Identity, Matrix, Partition, Prefix, RangeList, Subset)
"""The classes of queries on a clique whose answers and sensitivities are this package's own; parts of products too."""
