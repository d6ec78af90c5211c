"""Other packages' interfaces over pypgm's engine, so that scripts written for them run as they are.

`pypgm.compat.mbi` has the names of mbi 1.1 and 2.0, `pypgm.compat.mbi2021` those of the generation before. What
imports `mbi` itself is served by `install_as_mbi`, or by ``python -m pypgm.compat run script.py``.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Sequence
from typing import Literal

from pypgm.compat._options import OPTIONS

__all__ = ["install_as_mbi", "options", "uninstall"]

_GENERATIONS = {"mbi": "pypgm.compat.mbi", "2021": "pypgm.compat.mbi2021"}


class _Aliases(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `mbi` and its modules in this package: the same modules under both names."""

    def __init__(self, home: str) -> None:
        self.home = home

    def _real(self, name: str) -> str:
        return self.home + name.removeprefix("mbi")

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if fullname != "mbi" and not fullname.startswith("mbi."):
            return None
        real = importlib.util.find_spec(self._real(fullname))
        if real is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=real.submodule_search_locations is not None)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = importlib.import_module(self._real(spec.name))
        self._own = module.__spec__
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        module.__spec__ = self._own  # the import system has set that of the alias


def install_as_mbi(generation: Literal["mbi", "2021"] = "mbi", *, jax: bool = True) -> None:
    """Let ``import mbi`` find this package's surface, until `uninstall`.

    Parameters
    ----------
    generation : {"mbi", "2021"}
        The surface of mbi 1.1 and 2.0, or that of the generation before.
    jax : bool
        Whether ``jax.numpy`` is NumPy where JAX is not installed: OpenDP asks it for a type, and for nothing else.

    Raises
    ------
    ImportError
        If the real mbi was imported already.
    """
    if generation not in _GENERATIONS:
        raise ValueError(f"generation must be one of {[*_GENERATIONS]}, got {generation!r}")
    home = _GENERATIONS[generation]
    here = sys.modules.get("mbi")
    if here is not None and here.__name__ != home:
        raise ImportError("mbi was imported already: call install_as_mbi before")
    if here is None:
        sys.meta_path.insert(0, _Aliases(home))
        importlib.import_module("mbi")
        # Under both names: else an import of a module would put it where its package has a function of that name.
        sys.modules |= {"mbi" + name[len(home) :]: m for name, m in sys.modules.items() if name.startswith(f"{home}.")}
    if jax and "jax" not in sys.modules and importlib.util.find_spec("jax") is None:
        sys.modules |= _jax_stub()


def uninstall() -> None:
    """Undo `install_as_mbi`."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Aliases)]
    for name in [name for name, module in sys.modules.items() if _is_ours(name, module)]:
        del sys.modules[name]


def _is_ours(name: str, module: object) -> bool:
    if name == "mbi" or name.startswith("mbi."):
        return getattr(module, "__name__", "").startswith("pypgm.compat.")
    return name in {"jax", "jax.numpy"} and getattr(sys.modules.get("jax"), "is_stub", False)


def _jax_stub() -> dict[str, types.ModuleType]:
    """Return what stands for JAX: NumPy, and a class of arrays that nothing is an instance of."""
    import numpy as np

    stub = types.ModuleType("jax", "NumPy under the name of jax.numpy.")
    stub.__spec__ = importlib.machinery.ModuleSpec("jax", None, is_package=True)
    stub.numpy, stub.Array, stub.is_stub = np, type("Array", (), {}), True  # type: ignore[attr-defined]
    return {"jax": stub, "jax.numpy": np}


def options(*, stop: Literal["optimum", "validated"] | None = None, tolerance: float | None = None) -> None:
    """Set where all estimates of the compatible surface end; see `pypgm.estimate`.

    Parameters
    ----------
    stop : {"optimum", "validated"}, optional
        At the least loss, as mbi's do, or where noise begins to be fitted, which has the least expected error.
    tolerance : float, optional
        Loss that may be left, relative; 1e-6 unless it is set.
    """
    if stop is not None:
        if stop not in {"optimum", "validated"}:
            raise ValueError(f"stop must be 'optimum' or 'validated', got {stop!r}")
        OPTIONS["stop"] = stop
    if tolerance is not None:
        OPTIONS["tolerance"] = float(tolerance)
