"""Conversions of costs and thresholds that are wrong in one place."""

from __future__ import annotations

from mutate import Mutant
from operators import instead
from selfcheck.roundings import check_tails

MUTANTS = [
    Mutant(
        "the threshold of Laplace noise forgets half of the law",
        "pypgm.privacy.thresholds",
        "laplace_threshold",
        instead("1 + q", "4 + q"),
        check_tails,
        "accounting",
    ),
]
