"""Whole mechanisms: records and a budget in, a release out."""

from __future__ import annotations

from pypgm.mechanisms._adaptive_grid import adaptive_grid
from pypgm.mechanisms._aim import aim
from pypgm.mechanisms._dualquery import dualquery
from pypgm.mechanisms._fem import fem
from pypgm.mechanisms._hdmm import hdmm
from pypgm.mechanisms._jam import jam
from pypgm.mechanisms._mst import mst
from pypgm.mechanisms._mwem import mwem
from pypgm.mechanisms._privbayes import privbayes
from pypgm.mechanisms._screen import screen
from pypgm.mechanisms._wide import wide
from pypgm.mechanisms.related import parent_rows, synthesize_related
from pypgm.mechanisms.related_release import RelatedRelease, RelatedTables
from pypgm.mechanisms.run import Options
from pypgm.planning import Plan, plan
from pypgm.release import Release

__all__ = [
    "Options",
    "Plan",
    "RelatedRelease",
    "RelatedTables",
    "Release",
    "adaptive_grid",
    "aim",
    "dualquery",
    "fem",
    "hdmm",
    "jam",
    "mst",
    "mwem",
    "parent_rows",
    "plan",
    "privbayes",
    "screen",
    "synthesize_related",
    "wide",
]
