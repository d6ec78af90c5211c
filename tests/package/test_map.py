"""Each place that docs/map.md names exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = re.findall(r"`((?:pypgm|cpp)/[\w./]+)(?::([\w.:]+))?`", (ROOT / "docs" / "map.md").read_text(encoding="utf-8"))


def names_of(body, prefix=""):
    """Yield the names that a module or a class binds, those of methods after that of the class."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield prefix + node.name
        if isinstance(node, ast.ClassDef):
            yield from names_of(node.body, f"{prefix}{node.name}.")
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (prefix + target.id for target in targets if isinstance(target, ast.Name))


def test_the_map_has_three_ways():
    assert len(PLACES) > 50


@pytest.mark.parametrize(("path", "name"), PLACES)
def test_a_place_of_the_map_exists(path, name):
    if (ROOT / path).is_dir():
        return
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".py"):
        assert not name or name in set(names_of(ast.parse(text).body))
    else:
        assert not name or re.search(rf"\b{re.escape(name)}\s*[({{]", text)
