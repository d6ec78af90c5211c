"""Contents of a release: every number, text and array that can be reached from it."""

from __future__ import annotations

import contextlib
import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

_CLOCK = {"seconds"}  # fields that hold wall time
_CLOSED = (type, types.ModuleType, types.BuiltinFunctionType)
_ATOMS = {str, bytes, int, float, complex, bool, type(None)}  # without parts; subclasses may have some


def contents(root: object) -> dict[str, Any]:
    """Return the reachable text, numbers and arrays (as type, shape and bytes) of an object, by path."""
    values: dict[str, Any] = {}
    for path, thing in _walk(root):
        if isinstance(thing, np.ndarray):
            values[path] = (str(thing.dtype), thing.shape, thing.tobytes())
        elif isinstance(thing, str | bytes | int | float | complex | np.generic | None):
            values[path] = repr(thing)
    return values


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the paths at which two contents differ."""
    return [path for path in {**one, **other} if one.get(path, "missing") != other.get(path, "missing")]


def reaches(root: object, wanted: Callable[[object], bool]) -> str:
    """Return the path of the first reachable thing that is `wanted`, empty if there is none."""
    return next((path for path, thing in _walk(root) if wanted(thing)), "")


def _walk(root: object) -> Iterator[tuple[str, object]]:
    seen: set[int] = set()
    alive: list[object] = []  # keeps ids from being used again
    queue: deque[tuple[str, object]] = deque([("release", root)])
    while queue:
        path, thing = queue.popleft()
        yield path, thing
        if type(thing) in _ATOMS or id(thing) in seen or isinstance(thing, _CLOSED):
            continue
        seen.add(id(thing))
        alive.append(thing)
        queue.extend((f"{path}{name}", part) for name, part in _parts(thing))


def _parts(thing: object) -> Iterator[tuple[str, object]]:
    if isinstance(thing, np.ndarray):
        if thing.base is not None:
            yield ".base", thing.base
        if thing.dtype == object:
            yield from ((f"[{i}]", part) for i, part in enumerate(thing.ravel()))
    elif isinstance(thing, Mapping):
        yield ".keys()", ", ".join(map(repr, thing))  # the order of a mapping may depend on records too
        for key, part in thing.items():
            yield f"[{key!r}]", part
    elif isinstance(thing, list | tuple | set | frozenset):
        yield from ((f"[{i}]", part) for i, part in enumerate(thing))
    elif isinstance(thing, types.MethodType):
        yield ".__self__", thing.__self__
    elif isinstance(thing, types.FunctionType):
        for name, cell in zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=True):
            yield f".{name}", cell.cell_contents
    else:
        yield from _fields(thing)


def _fields(thing: object) -> Iterator[tuple[str, object]]:
    _work_out(thing)
    slots = [name for kind in type(thing).__mro__ for name in _names(kind)]
    values = {name: getattr(thing, name) for name in slots if hasattr(thing, name)}
    for name, part in {**values, **getattr(thing, "__dict__", {})}.items():
        if name not in _CLOCK:
            yield f".{name}", part


def _work_out(thing: object) -> None:
    """Evaluate the cached properties of a frozen object, so that their values are compared, not their presence."""
    kind = type(thing)
    if getattr(getattr(kind, "__dataclass_params__", None), "frozen", False):
        for name in (
            n for owner in kind.__mro__ for n, value in vars(owner).items() if isinstance(value, cached_property)
        ):
            with contextlib.suppress(Exception):  # a property that raises keeps nothing
                getattr(thing, name)


def _names(kind: type) -> list[str]:
    slots = kind.__dict__.get("__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    hidden = kind.__name__.lstrip("_")
    return [f"_{hidden}{n}" if n.startswith("__") and not n.endswith("__") else n for n in names]
