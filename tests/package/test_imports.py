"""Imports inside the package, those for annotations too: no circle, and packages only from those above them."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import networkx as nx

import pypgm

ROOT = Path(pypgm.__file__).parent
# A package imports only from those above it; of one line, from each other without a circle of modules.
ORDER = [
    {"_core", "_base", "errors", "domain", "factor", "clique_vector"},
    {"queries"},
    {"data"},
    {"graphs"},
    {"inference"},
    {"estimation"},
    {"files", "models"},
    {"reconstruction"},
    {"intervals"},
    {"privacy"},
    {"released"},
    {"report", "reporting", "release_fields"},
    {"release", "workloads"},
    {"bayes"},
    {"mrf"},
    {"mechanisms", "planning"},
    {"io"},
    {"jobs"},
    {"evaluation", "comparison", "_synthesize", "_synthesizer"},
    {"compat"},
    {"integrations"},
    {"audit"},
    {"plot"},
    {"notebook", "demo"},
    {"cli"},
    {"__main__"},
]


def module_name(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in ROOT.rglob("*.py")}
PARSED = {name: ast.parse(path.read_text()) for name, path in MODULES.items()}


def imports(node):
    """Yield the modules of the package that code imports, inside functions and for annotations too."""
    for child in ast.walk(node):
        if isinstance(child, ast.Import):
            yield from (name.name for name in child.names if name.name in MODULES)
        elif isinstance(child, ast.ImportFrom) and child.level == 0 and child.module in MODULES:
            for name in child.names:
                inner = f"{child.module}.{name.name}"
                yield inner if inner in MODULES and child.module in {"pypgm", "pypgm.privacy"} else child.module


@cache
def graph():
    return nx.DiGraph(
        (name, other)
        for name in MODULES
        for other in imports(PARSED[name])
        # A package runs before its modules whoever asks for them, and none of them asks for what it is in.
        if other != name and not name.startswith(f"{other}.")
    )


def test_no_module_knows_one_that_knows_it():
    """Imports for annotations count as well."""
    assert [sorted(c) for c in nx.strongly_connected_components(graph()) if len(c) > 1] == []


def test_packages_import_downward():
    level = {package: i for i, packages in enumerate(ORDER) for package in packages}
    upward = []
    for name, other in graph().edges:
        here, there = (full.split(".")[1] if "." in full else "" for full in (name, other))
        if here and level[here] < level.get(there, len(ORDER)):
            upward.append(f"{name} -> {other}")
    assert upward == []


def test_selectors_know_no_private_table():
    whole = graph()
    knowing = {name.rsplit(".", 1)[1] for name in whole.predecessors("pypgm.privacy.private_table")}
    assert not knowing & {
        "access",
        "selector",
        "l1_selector",
        "cell_selector",
        "sign_selector",
        "guarded",
        "private_column",
        "quantiles",
    }


def test_nothing_is_patched_and_no_underscore_of_a_table_is_read():
    text = {name: path.read_text() for name, path in MODULES.items()}
    assert [
        name for name, one in text.items() if re.search(r"mock\.patch|patch\.object|(?<!_)\btable\._(?!_)", one)
    ] == []
