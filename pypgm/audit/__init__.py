"""Checks that a release is what it says; ``python -m pypgm.audit`` makes them all.

Each check is a function that takes what it looks at (a mechanism, a sampler, a conversion), so that it can be tried on
broken ones, and returns a `Finding` that names the defects it found.
"""

from __future__ import annotations

from pypgm.audit.finding import DEFECTS, Finding
from pypgm.audit.own_mechanism import check
from pypgm.audit.pairs import Pair
from pypgm.audit.report import run
from pypgm.audit.tiers import MECHANISMS, suite

__all__ = ["DEFECTS", "MECHANISMS", "Finding", "Pair", "check", "run", "suite"]
