"""Names of a package that are imported when they are used first: nobody uses all of them."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
import sys
from collections.abc import Callable
from threading import RLock

_NAME = re.compile(r"^from (\S+) import (\w+) as \2$", re.MULTILINE)
_ONE_AT_A_TIME = RLock()  # packages import each other: of two threads one would see what the other has half made
_MAX_WAIT = 1.0  # seconds, then a thread goes on: the one that holds the lock may wait for a module that it imports


def attached(
    package: str,
) -> tuple[dict[str, str], list[str], Callable[[str], object], Callable[[], list[str]]]:
    """Return the module of each name in a package's stub, and the package's ``__all__``, ``__getattr__``, ``__dir__``.

    The stub ``__init__.pyi`` beside the package is the one list of its names, for type checkers too; each is a line
    ``from module import name as name``. Modules imported ``from .`` are no part of ``__all__``. (The package
    lazy_loader reads stubs likewise, but no names of other packages, and without a lock.)

    Parameters
    ----------
    package : str
        ``__name__`` of the package.

    Returns
    -------
    homes, names, getattr, dir
        Module by name; and what the package binds as ``__all__``, ``__getattr__`` and ``__dir__``.
    """
    stub = pkgutil.get_data(package, "__init__.pyi")
    if stub is None:
        raise ImportError(f"{package} has no stub __init__.pyi, which lists its names")
    listed = {name: module for module, name in _NAME.findall(stub.decode())}
    homes = {name: package if module == "." else module for name, module in listed.items()}
    names = [name for name, module in listed.items() if module != "."]

    def attribute(name: str) -> object:
        home = homes.get(name, package)
        is_module = home == package
        if is_module:
            home = f"{package}.{name}"
            if not name.isidentifier() or name[0] == "_" or importlib.util.find_spec(home) is None:
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
        is_held = _ONE_AT_A_TIME.acquire(timeout=_MAX_WAIT)
        try:
            module = importlib.import_module(home)
        finally:
            if is_held:
                _ONE_AT_A_TIME.release()
        value = module if is_module else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return homes, names, attribute, lambda: list(homes)
