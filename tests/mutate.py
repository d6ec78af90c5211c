"""Planted defects: one place of a module's own text changed, in the functions that everybody has imported already."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from operators import Change, instead

from pypgm.audit.finding import Finding

__all__ = ["UNCHARGED", "Mutant", "at", "checks_by_defect", "planted"]


Check = Callable[[], Finding | list[Finding]]
Row = tuple[str, str, Change, Check, str]

UNCHARGED = "type(table)(table._PrivateTable__data, table.privacy, type(table.ledger)(table.ledger.budget))"
"""The same private table with the whole of its budget once more, as an expression of a change."""


@dataclass(frozen=True)
class Mutant:
    """A defect: its module, function and change, and the check that must report it by name.

    Bodies and defaults of functions and methods may change, and constants of the module that its own functions read.
    """

    name: str
    module: str
    at: str
    by: Change
    check: Check
    defect: str

    def planted_in(self, text: str) -> ast.Module:
        """Return the module's text with the defect; ``ValueError`` where there is no such place."""
        tree = ast.parse(text)
        try:
            self.by.apply(tree, self.at)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error} in {self.module}") from None
        return tree


def at(place: str, check: Check, defect: str) -> Callable[..., Row]:
    """Return a function from a change, or the texts of `instead`, to the row of a defect at "module:function"."""
    module, function = place.split(":")

    def row(change: Change | str, *texts: Any) -> Row:
        by = instead(change, *texts) if isinstance(change, str) else change
        return f"pypgm.{module}", function, by, check, defect

    return row


def checks_by_defect(file: Path) -> dict[str, str]:
    """Return the name of the check of each defect, from a file that lists the defects of each check."""
    listed = json.loads(file.read_text(encoding="utf-8"))
    return {defect: check for check, defects in listed.items() for defect in defects}


@contextmanager
def planted(mutant: Mutant) -> Iterator[None]:
    """Change the functions and constants of a module in place, and its text for who reads it; undo both at the end."""
    module = importlib.import_module(mutant.module)
    tree = mutant.planted_in(inspect.getsource(module))
    broken = types.ModuleType(module.__name__)
    broken.__dict__.update(__package__=module.__package__, __file__=module.__file__)
    exec(compile(tree, str(module.__file__), "exec"), broken.__dict__)
    undo: list[Callable[[], None]] = []
    _swap(vars(module), vars(broken), mutant.module, undo)
    if not undo:
        raise ValueError(f"{mutant.name}: the replacement changes no function and no constant")
    try:
        with _read_as(Path(str(module.__file__)), tree):
            yield
    finally:
        for step in reversed(undo):
            step()


@contextmanager
def _read_as(file: Path, tree: ast.Module) -> Iterator[None]:
    """Let a file be read as a text that it does not hold."""
    read = Path.read_text

    def read_text(self: Path, *given: Any, **named: Any) -> str:
        return ast.unparse(tree) if self.resolve() == file.resolve() else read(self, *given, **named)

    with patch.object(Path, "read_text", read_text):
        yield


def _swap(names: Any, broken: Any, home: str, undo: list[Callable[[], None]]) -> None:
    for name, value in list(names.items()):
        changed = broken.get(name)
        if isinstance(value, type) and value.__module__ == home and isinstance(changed, type):
            _swap(vars(value), vars(changed), home, undo)
        elif isinstance(names, dict) and isinstance(value, int | float | str | tuple) and changed != value:
            if not name.startswith("__"):
                undo.append(lambda name=name, value=value: names.__setitem__(name, value))
                names[name] = changed
        else:
            for before, after in zip(_functions(value), _functions(changed), strict=False):
                if before.__module__ == home:
                    _swap_function(before, after, undo)


def _functions(value: Any) -> list[Any]:
    """Return the functions behind a function, property, class or static method, or a wrapper of one."""
    if isinstance(value, property):
        return [f for f in (value.fget, value.fset) if f is not None]
    if isinstance(value, classmethod | staticmethod):
        return _functions(value.__func__)
    if hasattr(value, "__wrapped__"):
        return [*([value] if isinstance(value, types.FunctionType) else []), *_functions(value.__wrapped__)]
    return [value] if isinstance(value, types.FunctionType) else []


def _swap_function(before: Any, after: Any, undo: list[Callable[[], None]]) -> None:
    for part in ("__code__", "__defaults__", "__kwdefaults__"):
        old, new = getattr(before, part), getattr(after, part)
        if (_meaning(old) != _meaning(new)) if part == "__code__" else (repr(old) != repr(new)):
            undo.append(lambda part=part, old=old: setattr(before, part, old))
            setattr(before, part, new)


def _meaning(code: types.CodeType) -> tuple[Any, ...]:
    """Return the code of a function, without its place in the file."""
    constants = tuple(_meaning(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts)
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars
