"""Mechanisms by their names."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable

from pypgm.release import Release

_WITH_MORE = {"jam"}  # said here, so that nobody who asks has to import all mechanisms

BEST = "wide"
"""What is taken where nobody names one: the least error on every table tried."""


def mechanism_names() -> list[str]:
    """Return the names of all mechanisms: those that `pypgm.mechanisms` has from a module of their name, as `_mst`.

    Examples
    --------
    >>> "mst" in mechanism_names()
    True
    """
    homes = sys.modules[__package__]._HOMES
    return sorted(name for name, home in homes.items() if home == f"{__package__}._{name}")


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
    names = mechanism_names()
    if name not in names:
        raise ValueError(f"mechanism must be one of {', '.join(names)}, got {name!r}")
    found: Callable[..., Release] = getattr(sys.modules[__package__], name)
    return found


def needs_more(name: str) -> bool:
    """Return whether a mechanism needs more than records and a budget, such as public records.

    Examples
    --------
    >>> needs_more("jam"), needs_more("mst")
    (True, False)
    """
    return name in _WITH_MORE


def takes(name: str, option: str) -> bool:
    """Return whether a mechanism has an option of its own, such as ``workload``.

    Examples
    --------
    >>> takes("wide", "workload"), takes("mst", "workload")
    (True, False)
    """
    return option in inspect.signature(mechanism_named(name)).parameters
