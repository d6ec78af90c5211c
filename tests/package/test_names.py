"""Names a user can reach."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pypgm

ROOT = Path(__file__).parents[2]
HOME = Path(pypgm.__file__).parent
MODULES = (*sorted(set(dir(pypgm)) - set(pypgm.__all__)), "evaluation", "release")  # that users go by name


def name_of(path):
    parts = path.relative_to(HOME.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PARSED = {name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in HOME.rglob("*.py")}


def assigned(tree):
    """Return the names that a module assigns at its top."""
    targets = [t for n in tree.body for t in getattr(n, "targets", [getattr(n, "target", None)])]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def defined(tree):
    """Return the names that a module defines, and does not import."""
    return assigned(tree) | {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}


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


def test_a_list_of_names_stands_where_users_import_from():
    # Elsewhere the underscore says what a module keeps to itself, and a list would repeat it.
    conf = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    pages = re.findall(r'^    "(pypgm[\w.]*)":', conf, re.MULTILINE)
    public = {*pages, *(f"pypgm.{name}" for name in MODULES)}
    listed = {name for name, tree in PARSED.items() if "__all__" in assigned(tree)}
    others = {importlib.import_module(name) for name in listed - public}
    assert len(pages) > 20
    assert not [m for m in others if not hasattr(m, "__path__") and set(m.__all__) <= defined(PARSED[m.__name__])]


def test_a_name_with_an_underscore_is_of_its_module_alone():
    taken = {
        f"{name} takes {alias.name} from {node.module}"
        for name, tree in PARSED.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").startswith("pypgm")
        for alias in node.names
        if alias.name.startswith("_") and alias.name.strip("_") == alias.name[1:]
        if f"{node.module}.{alias.name}" not in {*PARSED, "pypgm._core"} and alias.name != "_later"
    }
    assert taken == set()
