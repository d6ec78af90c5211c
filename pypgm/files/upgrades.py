"""Upgrades of files of earlier formats: each step turns the fields of one version into those of the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypgm.files.format import VERSION
from pypgm.files.sharing import shared

Fields = dict[str, Any]


def upgraded(fields: Fields, version: int) -> Fields:
    """Return the fields of a file of any version as those of the present one; ``version`` stays that of the file."""
    for step in range(version, VERSION):
        fields = UPGRADES[step](fields)
    return fields


def _from_2(fields: Fields) -> Fields:
    """Give fields their present names, name those that a release may have left out, and share measurements.

    A release has no version of its own. The line that charged each measurement is unknown.
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
    """Add to a release the reason why pairs were left out, which its mechanism implied, and drop the old digest."""
    if fields.get("release", {}).get("mechanism") == "wide":
        fields["release"]["unmeasured"] = "hidden by noise"
    return fields


UPGRADES: dict[int, Callable[[Fields], Fields]] = {2: _from_2, 3: _from_3}
"""Steps by the version they read."""
