"""Other packages' interfaces over pypgm's engine, so that scripts written for them run as they are.

`pypgm.compat.mbi` has the names of mbi 1.1 and 2.0, `pypgm.compat.mbi2021` those of the generation before. Scripts that
import `mbi` itself run after `install_as_mbi`, or by ``python -m pypgm.compat run script.py``.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import pkgutil
import sys
import types
from typing import Any, Literal

__all__ = ["install_as_mbi", "options", "uninstall"]

_GENERATIONS = {"mbi": "pypgm.compat.mbi", "2021": "pypgm.compat.mbi2021"}
OPTIONS: dict[str, Any] = {"stop": "optimum", "tolerance": 1e-6}
"""Options for `pypgm.estimate` of all estimates of the compatible surface."""


def install_as_mbi(generation: Literal["mbi", "2021"] = "mbi", *, jax: bool = True) -> None:
    """Let ``import mbi`` find this package's surface, until `uninstall`.

    Parameters
    ----------
    generation : {"mbi", "2021"}
        The surface of mbi 1.1 and 2.0, or that of the generation before.
    jax : bool
        Whether ``jax.numpy`` is NumPy if JAX is not installed: OpenDP needs one type of it, and nothing else.

    Raises
    ------
    ImportError
        If the real mbi was imported already.
    """
    if generation not in _GENERATIONS:
        raise ValueError(f"generation must be one of {[*_GENERATIONS]}, got {generation!r}")
    home = _GENERATIONS[generation]
    if getattr(sys.modules.get("mbi"), "__name__", home) != home:
        raise ImportError("mbi was imported already: call install_as_mbi before")
    surface = importlib.import_module(home)
    for module in pkgutil.walk_packages(getattr(surface, "__path__", []), f"{home}."):
        importlib.import_module(module.name)
    sys.modules |= {"mbi" + n[len(home) :]: m for n, m in sys.modules.items() if f"{n}.".startswith(f"{home}.")}
    if jax and "jax" not in sys.modules and importlib.util.find_spec("jax") is None:
        sys.modules |= _jax_stub()


def uninstall() -> None:
    """Undo `install_as_mbi`."""
    is_stub = getattr(sys.modules.get("jax"), "is_stub", False)
    for name, module in list(sys.modules.items()):
        is_alias = name.split(".")[0] == "mbi" and getattr(module, "__name__", "").startswith("pypgm.compat.")
        if is_alias or (is_stub and name in {"jax", "jax.numpy"}):
            del sys.modules[name]


def _jax_stub() -> dict[str, types.ModuleType]:
    """Return a stand-in for JAX: NumPy, and a class of arrays without instances."""
    import numpy as np

    stub = types.ModuleType("jax", "NumPy under the name of jax.numpy.")
    stub.__spec__ = importlib.machinery.ModuleSpec("jax", None, is_package=True)
    stub.__dict__.update(numpy=np, Array=type("Array", (), {}), is_stub=True)
    return {"jax": stub, "jax.numpy": np}


def options(*, stop: Literal["optimum", "validated"] | None = None, tolerance: float | None = None) -> None:
    """Set the stopping rule of all estimates of the compatible surface; see `pypgm.estimate`.

    Parameters
    ----------
    stop : {"optimum", "validated"}, optional
        Stop at the least loss, as mbi does, or when noise begins to be fitted, which has the least expected error.
    tolerance : float, optional
        Relative loss that may remain; 1e-6 unless it is set.
    """
    if stop is not None:
        if stop not in {"optimum", "validated"}:
            raise ValueError(f"stop must be 'optimum' or 'validated', got {stop!r}")
        OPTIONS["stop"] = stop
    if tolerance is not None:
        OPTIONS["tolerance"] = float(tolerance)
