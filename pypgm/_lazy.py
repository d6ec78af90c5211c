"""Names of a package that are imported where they are used first: nobody needs all of them, and all take memory."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence

__all__ = ["attach"]


def attach(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], object], Callable[[], Sequence[str]]]:
    """Return the ``__getattr__`` and the ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        Its full name.
    homes : mapping of str to sequence of str
        Modules, by their full names, and what the package has from each of them. A module of the package itself is
        one of its names too.
    """
    home_of = {name: home for home, names in homes.items() for name in names}
    modules = {home.rpartition(".")[2]: home for home in homes if home.rpartition(".")[0] == package}

    def find(name: str) -> object:
        if name in home_of:
            found = getattr(importlib.import_module(home_of[name]), name)
        elif name in modules:
            found = importlib.import_module(modules[name])
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, found)
        return found

    def names() -> Sequence[str]:
        return sorted({*vars(sys.modules[package]), *home_of, *modules})

    return find, names
