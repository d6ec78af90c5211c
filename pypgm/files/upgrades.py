"""Files of earlier formats, a version at a time: each step makes of the fields of one those of the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypgm.files.format import VERSION
from pypgm.files.sharing import shared

Fields = dict[str, Any]


def upgraded(fields: Fields, version: int) -> Fields:
    """Return the fields of a file of a version as those of the present one; ``version`` says what was read."""
    for step in range(version, VERSION):
        fields = UPGRADES[step](fields)
    return fields


def _from_2(fields: Fields) -> Fields:
    """Give fields their names of today, name what a release may have left out, and share measurements.

    A release has no version of its own. Which line charged which measurement is not known.
    """
    fields["kind"] = fields.get("kind") or "junction tree"
    if "prior_cells" in fields:
        fields["tree_cells"] = fields.pop("prior_cells")
    if "origin" in fields:
        fields["recipe"] = _recipe(fields.pop("origin"))
    if "release" in fields:
        fields["release"] = {"options": {}, "pypgm": "", "log": []} | fields["release"]
        fields["release"].pop("version")
    return shared(fields)


def _recipe(origin: Fields) -> Fields:
    earlier = origin.pop("earlier")
    return origin | {"prior_recipe": None if earlier is None else _recipe(earlier)}


def _from_3(fields: Fields) -> Fields:
    """Say of a release why pairs were left out, which followed from its mechanism; the digest is of something else."""
    if fields.get("release", {}).get("mechanism") == "wide":
        fields["release"]["unmeasured"] = "hidden by noise"
    return fields


UPGRADES: dict[int, Callable[[Fields], Fields]] = {2: _from_2, 3: _from_3}
"""By the version they read."""
