"""Imports inside the package: no cycles, and packages only from those above them."""

from __future__ import annotations

import ast
from pathlib import Path

import networkx as nx

import pypgm

ROOT = Path(pypgm.__file__).parent
# A package imports only from those above it; of one line, from each other without a cycle of modules.
ORDER = [
    {"_core", "errors", "_waiting", "fields", "html", "numeric", "terminal"},
    {"canvas", "clock", "domain", "factor", "clique_vector", "memory"},
    {"queries"},
    {"data"},
    {"graphs"},
    {"inference"},
    {"estimation"},
    {"files"},
    {"models"},
    {"reconstruction"},
    {"privacy", "report", "reporting"},
    {"release", "release_fields", "workloads"},
    {"bayes"},
    {"mrf"},
    {"mechanisms", "planning"},
    {"io"},
    {"audit"},
]


def module_name(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in ROOT.rglob("*.py")}


def is_for_types(node):
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def imports(node):
    """Yield the modules of the package that run-time code imports, inside functions too."""
    for child in ast.iter_child_nodes(node):
        if is_for_types(child):
            continue
        if isinstance(child, ast.Import):
            yield from (name.name for name in child.names if name.name in MODULES)
        elif isinstance(child, ast.ImportFrom) and child.level == 0 and child.module in MODULES:
            for name in child.names:
                inner = f"{child.module}.{name.name}"
                yield inner if inner in MODULES and child.module == "pypgm" else child.module
        yield from imports(child)


def graph():
    return nx.DiGraph(
        (name, other)
        for name, path in MODULES.items()
        for other in imports(ast.parse(path.read_text()))
        # A package runs before its modules whoever asks for them, and none of them asks for what it is in.
        if other != name and not name.startswith(f"{other}.")
    )


def test_imports_have_no_cycle():
    assert [sorted(c) for c in nx.strongly_connected_components(graph()) if len(c) > 1] == []


def test_packages_import_downward():
    level = {package: i for i, packages in enumerate(ORDER) for package in packages}
    upward = []
    for name, other in graph().edges:
        here, there = (full.split(".")[1] if "." in full else "" for full in (name, other))
        if here in level and level[here] < level.get(there, len(ORDER)):
            upward.append(f"{name} -> {other}")
    assert upward == []
