"""Names a user can reach."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

import pypgm


def modules():
    yield pypgm
    for module in pkgutil.walk_packages(pypgm.__path__, "pypgm."):
        if module.name.startswith("pypgm.compat.mbi"):  # whose names are those of another package
            continue
        if not module.name.endswith("__main__"):
            yield importlib.import_module(module.name)


def test_no_function_hides_a_module_of_its_name():
    hidden = [
        f"{module.__name__}.{inner.name}"
        for module in modules()
        for inner in pkgutil.iter_modules(getattr(module, "__path__", []))
        if not isinstance(getattr(module, inner.name, module), ModuleType)
    ]
    assert hidden == []
