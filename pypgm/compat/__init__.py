"""Other packages' interfaces over pypgm's engine, so that scripts written for them run as they are.

`pypgm.compat.mbi` has the names of all releases of mbi. Scripts that import `mbi` itself run after `install_as_mbi`, or
by ``python -m pypgm.compat run script.py``.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.metadata
import importlib.util
import pkgutil
import sys
import types
import warnings
from pathlib import Path
from typing import Any, Literal

__all__ = ["install_as_mbi", "options", "uninstall"]

_HOME = "pypgm.compat.mbi"
OPTIONS: dict[str, Any] = {"stop": "optimum", "tolerance": 1e-6}
"""Options for `pypgm.estimate` of all estimates of the compatible surface."""


def install_as_mbi(generation: str | None = None, *, jax: bool = True) -> None:
    """Let ``import mbi`` find this package's surface, until `uninstall`.

    Parameters
    ----------
    generation : str, optional
        Not needed any more, and warned about: one surface has the names of all releases.
    jax : bool
        Whether ``jax.numpy`` is NumPy if JAX is not installed: OpenDP needs one type of it, and nothing else.

    Raises
    ------
    ImportError
        If the real mbi was imported already.
    """
    if generation is not None:
        warnings.warn("one surface has the names of all releases of mbi: leave the generation out", stacklevel=2)
    if getattr(sys.modules.get("mbi"), "__name__", _HOME) != _HOME:
        raise ImportError("mbi was imported already: call install_as_mbi before")
    surface = importlib.import_module(_HOME)
    for module in pkgutil.walk_packages(surface.__path__, f"{_HOME}."):
        importlib.import_module(module.name)
    sys.modules |= {"mbi" + n[len(_HOME) :]: m for n, m in sys.modules.items() if f"{n}.".startswith(f"{_HOME}.")}
    sys.modules |= {f"mbi.{old}": sys.modules[f"mbi.{new}"] for old, new in surface.OLDER_PLACES.items()}
    if not any(isinstance(finder, _Metadata) for finder in sys.meta_path):
        sys.meta_path.append(_Metadata())
    if jax and "jax" not in sys.modules and importlib.util.find_spec("jax") is None:
        sys.modules |= _jax_stub()


def uninstall() -> None:
    """Undo `install_as_mbi`."""
    is_stub = getattr(sys.modules.get("jax"), "is_stub", False)
    for name, module in list(sys.modules.items()):
        is_alias = name.split(".")[0] == "mbi" and getattr(module, "__name__", "").startswith("pypgm.compat.")
        if is_alias or (is_stub and name in {"jax", "jax.numpy"}):
            del sys.modules[name]
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Metadata)]


class _Metadata(importlib.metadata.DistributionFinder):
    """Answers for the version of mbi where mbi is not installed."""

    def find_spec(self, *_: Any) -> None:
        """Find no module."""

    def find_distributions(self, context: Any = None) -> Any:
        """Return mbi's, if that is asked for."""
        return iter([_Distribution()] if getattr(context, "name", None) == "mbi" else [])


class _Distribution(importlib.metadata.Distribution):
    def read_text(self, filename: str) -> str | None:
        version = sys.modules[_HOME].__version__
        return f"Metadata-Version: 2.1\nName: mbi\nVersion: {version}\n" if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Path:
        return Path(__file__).parent / "mbi" / str(path)


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
