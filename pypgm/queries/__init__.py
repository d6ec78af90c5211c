"""Linear queries on the table of a clique: what a measurement measures."""

from __future__ import annotations

from pypgm.queries.base import Neighbours, Query
from pypgm.queries.identity import Identity
from pypgm.queries.partition import Partition

__all__ = ["Identity", "Neighbours", "Partition", "Query"]
