"""Queries that state less than what a record changes."""

from __future__ import annotations

from mutate import Mutant
from operators import instead
from selfcheck.operators import check_sensitivities

MUTANTS = [
    Mutant(
        "running sums forget the last answer under replace and add-remove alike",
        "pypgm.queries.prefix",
        "Prefix._sensitivity",
        instead("neighbours == 'replace'", "1"),
        check_sensitivities,
        "sensitivity",
    ),
]
