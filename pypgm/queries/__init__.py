"""Linear queries on the marginal of one clique, and products of them on named attributes."""

from __future__ import annotations

from pypgm.queries.all_range import AllRange, all_range
from pypgm.queries.identity import Identity, identity
from pypgm.queries.kronecker import Kronecker, kronecker
from pypgm.queries.kronecker_query import Block, KroneckerQuery
from pypgm.queries.levels import mean, moments
from pypgm.queries.matrix import IntegerMatrix, matrix, on_lattice
from pypgm.queries.partition import Partition, partition, total
from pypgm.queries.prefix import Prefix, prefix
from pypgm.queries.range_list import RangeList, range_list
from pypgm.queries.real import LinearQuery, RealMatrix, UserOperator, real_matrix, user_operator
from pypgm.queries.sensitivity import Neighbours
from pypgm.queries.sparse import SparseMatrix, sparse_matrix
from pypgm.queries.subset import Subset, permutation, subset, subset_sum, weighted

__all__ = [
    "AllRange",
    "Block",
    "Identity",
    "IntegerMatrix",
    "Kronecker",
    "KroneckerQuery",
    "LinearQuery",
    "Neighbours",
    "Partition",
    "Prefix",
    "Query",
    "RangeList",
    "RealMatrix",
    "SparseMatrix",
    "Subset",
    "UserOperator",
    "all_range",
    "identity",
    "kronecker",
    "matrix",
    "mean",
    "moments",
    "on_lattice",
    "partition",
    "permutation",
    "prefix",
    "range_list",
    "real_matrix",
    "sparse_matrix",
    "subset",
    "subset_sum",
    "total",
    "user_operator",
    "weighted",
]

Query = Identity | Partition | Prefix | AllRange | RangeList | Subset | IntegerMatrix | SparseMatrix | Kronecker
"""Integer queries, which a private table measures exactly; an estimate takes any `LinearQuery`."""
