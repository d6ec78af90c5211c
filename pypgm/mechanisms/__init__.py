"""Whole mechanisms: records and a budget in, a release out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypgm import _later

_NAMES = {  # by the module they are in
    "pypgm.mechanisms._adaptive_grid": ("adaptive_grid",),
    "pypgm.mechanisms._aim": ("aim",),
    "pypgm.mechanisms._dualquery": ("dualquery",),
    "pypgm.mechanisms._fem": ("fem",),
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
