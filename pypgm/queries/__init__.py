"""Linear queries on the marginal of one clique."""

from __future__ import annotations

from pypgm.queries.all_range import AllRange, all_range
from pypgm.queries.identity import Identity, identity
from pypgm.queries.kronecker import Kronecker, kronecker
from pypgm.queries.matrix import IntegerMatrix, matrix, on_lattice
from pypgm.queries.partition import Partition, partition, total
from pypgm.queries.prefix import Prefix, prefix
from pypgm.queries.sensitivity import Neighbours

__all__ = [
    "AllRange",
    "Identity",
    "IntegerMatrix",
    "Kronecker",
    "Neighbours",
    "Partition",
    "Prefix",
    "Query",
    "all_range",
    "identity",
    "kronecker",
    "matrix",
    "on_lattice",
    "partition",
    "prefix",
    "total",
]

Query = Identity | Partition | Prefix | AllRange | IntegerMatrix | Kronecker
