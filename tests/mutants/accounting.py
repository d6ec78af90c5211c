"""Conversions of costs and thresholds that are wrong in one place."""

from __future__ import annotations

from mutate import Mutant

from pypgm.audit.accounting import check_thresholds

MUTANTS = [
    Mutant(
        "the threshold of Laplace noise forgets half of the law",
        "pypgm.privacy.thresholds",
        "excess = -as_decimal(probability).ln() - (1 + q).ln()",
        "excess = -as_decimal(probability).ln() - (4 + q).ln()",
        check_thresholds,
        "accounting",
    ),
]
