"""Whole mechanisms: records and a budget in, a release out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypgm import _later
from pypgm.mechanisms.registry import MECHANISMS

_NAMES = {  # by the module they are in
    **{f"pypgm.mechanisms._{name}": (name,) for name in MECHANISMS},
    "pypgm.mechanisms.related": ("parent_rows", "synthesize_related"),
    "pypgm.mechanisms.related_release": ("RelatedRelease", "RelatedTables"),
    "pypgm.mechanisms.run": ("Options",),
    "pypgm.planning": ("Plan", "plan"),
    "pypgm.release": ("Release",),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}

if TYPE_CHECKING:
    from pypgm.mechanisms._adaptive_grid import adaptive_grid as adaptive_grid
    from pypgm.mechanisms._aim import aim as aim
    from pypgm.mechanisms._dualquery import dualquery as dualquery
    from pypgm.mechanisms._fem import fem as fem
    from pypgm.mechanisms._hdmm import hdmm as hdmm
    from pypgm.mechanisms._jam import jam as jam
    from pypgm.mechanisms._mst import mst as mst
    from pypgm.mechanisms._mwem import mwem as mwem
    from pypgm.mechanisms._privbayes import privbayes as privbayes
    from pypgm.mechanisms._screen import screen as screen
    from pypgm.mechanisms._wide import wide as wide
    from pypgm.mechanisms.related import parent_rows as parent_rows
    from pypgm.mechanisms.related import synthesize_related as synthesize_related
    from pypgm.mechanisms.related_release import RelatedRelease as RelatedRelease
    from pypgm.mechanisms.related_release import RelatedTables as RelatedTables
    from pypgm.mechanisms.run import Options as Options
    from pypgm.planning import Plan as Plan
    from pypgm.planning import plan as plan
    from pypgm.release import Release as Release
else:
    __all__ = list(_HOMES)
    __getattr__ = _later(__name__, _HOMES)


def __dir__() -> list[str]:
    return list(_HOMES)
