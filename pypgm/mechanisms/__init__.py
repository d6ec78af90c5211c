"""Whole mechanisms: records and a budget in, a release out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypgm._lazy import attach

if TYPE_CHECKING:
    from pypgm.mechanisms._aim import aim
    from pypgm.mechanisms._dualquery import dualquery
    from pypgm.mechanisms._fem import fem
    from pypgm.mechanisms._grid import grid
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
    "aim",
    "dualquery",
    "fem",
    "grid",
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

__getattr__, __dir__ = attach(
    __name__,
    {
        "pypgm.mechanisms._aim": ("aim",),
        "pypgm.mechanisms._dualquery": ("dualquery",),
        "pypgm.mechanisms._fem": ("fem",),
        "pypgm.mechanisms._grid": ("grid",),
        "pypgm.mechanisms._hdmm": ("hdmm",),
        "pypgm.mechanisms._jam": ("jam",),
        "pypgm.mechanisms._mst": ("mst",),
        "pypgm.mechanisms._mwem": ("mwem",),
        "pypgm.mechanisms._privbayes": ("privbayes",),
        "pypgm.mechanisms._screen": ("screen",),
        "pypgm.mechanisms._wide": ("wide",),
        "pypgm.mechanisms.related": ("parent_rows", "synthesize_related"),
        "pypgm.mechanisms.related_release": ("RelatedRelease", "RelatedTables"),
        "pypgm.mechanisms.run": ("Options",),
        "pypgm.planning": ("Plan", "plan"),
        "pypgm.release": ("Release",),
    },
)
