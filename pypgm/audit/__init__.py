"""Checks of the privacy of releases; ``python -m pypgm.audit`` runs them all.

Each check is a function of its subject (a mechanism, a sampler), so that it can be tried on broken ones, and returns a
`Finding` with the names of the defects.
"""

from __future__ import annotations

from pypgm.audit.finding import DEFECTS, Finding
from pypgm.audit.pairs import Pair
from pypgm.audit.report import check, run
from pypgm.audit.tiers import MECHANISMS, suite

__all__ = ["DEFECTS", "MECHANISMS", "Finding", "Pair", "check", "run", "suite"]
