"""Queries that state less than what a record changes."""

from __future__ import annotations

from mutate import Mutant

from pypgm.audit.sensitivity import check_query_sensitivity

MUTANTS = [
    Mutant(
        "running sums forget the last answer under replace and add-remove alike",
        "pypgm.queries.prefix",
        'return self.shape[1] - (neighbours == "replace")',
        "return self.shape[1] - 1",
        check_query_sensitivity,
        "sensitivity",
    ),
]
