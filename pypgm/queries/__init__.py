"""Linear queries on the marginal of one clique."""

from __future__ import annotations

from pypgm.queries.identity import Identity
from pypgm.queries.partition import Partition
from pypgm.queries.sensitivity import Neighbours

__all__ = ["Identity", "Neighbours", "Partition", "Query"]

Query = Identity | Partition
