"""Linear queries on the marginal of one clique, and products of them on named attributes."""

from __future__ import annotations

from pypgm.queries.all_range import AllRange, all_range
from pypgm.queries.identity import Identity, identity
from pypgm.queries.kronecker import Kronecker, kronecker
from pypgm.queries.kronecker_query import Block, KroneckerQuery
from pypgm.queries.levels import RealMatrix, mean, moments
from pypgm.queries.matrix import IntegerMatrix, matrix, on_lattice
from pypgm.queries.partition import Partition, partition, total
from pypgm.queries.prefix import Prefix, prefix
from pypgm.queries.rows import point, ranges, subset
from pypgm.queries.sensitivity import Neighbours

__all__ = [
    "AllRange",
    "Block",
    "Identity",
    "IntegerMatrix",
    "Kronecker",
    "KroneckerQuery",
    "Neighbours",
    "Partition",
    "Prefix",
    "Query",
    "RealMatrix",
    "all_range",
    "identity",
    "kronecker",
    "matrix",
    "mean",
    "moments",
    "on_lattice",
    "partition",
    "point",
    "prefix",
    "ranges",
    "subset",
    "total",
]

Query = Identity | Partition | Prefix | AllRange | IntegerMatrix | Kronecker
