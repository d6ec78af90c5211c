"""Mechanisms by their names."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pypgm.release import Release

MECHANISMS: Mapping[str, tuple[str, ...]] = {
    "adaptive_grid": (),
    "aim": (),
    "dualquery": (),
    "fem": (),
    "hdmm": (),
    "jam": ("public",),
    "mst": (),
    "mwem": (),
    "privbayes": (),
    "screen": (),
    "wide": (),
}
"""Required options of each mechanism, besides records and a budget: known without importing all mechanisms.

The mechanism of a name is the function of that name in the module `_NAME`.
"""

BEST = "wide"
"""The default: the least error on every table tried."""


def mechanism_names() -> list[str]:
    """Return the names of all mechanisms.

    Examples
    --------
    >>> "mst" in mechanism_names()
    True
    """
    return sorted(MECHANISMS)


def mechanism_named(name: str) -> Callable[..., Release]:
    """Return the mechanism of a name.

    Raises
    ------
    ValueError
        If there is none.

    Examples
    --------
    >>> mechanism_named("mst").__name__
    'mst'
    """
    if name not in MECHANISMS:
        raise ValueError(f"mechanism must be one of {', '.join(mechanism_names())}, got {name!r}")
    mechanism: Callable[..., Release] = getattr(sys.modules[__package__], name)
    return mechanism


def needs_more(name: str) -> bool:
    """Return whether a mechanism needs more than records and a budget, such as public records.

    Examples
    --------
    >>> needs_more("jam"), needs_more("mst")
    (True, False)
    """
    return bool(MECHANISMS[name])


def takes(name: str, option: str) -> bool:
    """Return whether a mechanism has a specific option, such as ``workload``.

    Examples
    --------
    >>> takes("wide", "workload"), takes("mst", "workload")
    (True, False)
    """
    return option in inspect.signature(mechanism_named(name)).parameters
