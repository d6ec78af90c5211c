"""Each place that docs/map.md names exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = re.findall(r"`((?:pypgm|cpp)/[\w./]+)(?::([\w.:]+))?`", (ROOT / "docs" / "map.md").read_text(encoding="utf-8"))


OFTEN_SOUGHT = {
    "the sampler of the discrete Gaussian": ("cpp/core/noise/noise.hpp", "add_discrete_gaussian"),
    "where a cell of a CSV file becomes a code": ("pypgm/data/closed.py", "Closed.encoder"),
    "the sensitivity of the counts of a pair": ("pypgm/queries/partition.py", "Partition._sensitivity"),
    "the update of a message of Convex-GBP": ("cpp/core/simd/message_kernels.hpp", "MessageKernels"),
    "the rule that ends an estimate": ("pypgm/estimation/stop_rule.py", "Validation"),
    "what a file of a release holds": ("pypgm/files/format.py", "FILES"),
    "the screen of wide": ("pypgm/mechanisms/pair_dependence.py", "screened"),
    "a step of Prox-PGM": ("cpp/core/fit/descent.cpp", "Descent::try_step"),
    "a charge of the ledger": ("pypgm/privacy/ledger.py", "Ledger.charge"),
    "the tree of MST": ("pypgm/mechanisms/_mst.py", "select_tree"),
    "what a query given evidence computes": ("pypgm/models/model.py", "Model.query"),
    "the region graph of triples": ("pypgm/graphs/region_closure.py", "saturate"),
}


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


@pytest.mark.parametrize("thing", OFTEN_SOUGHT)
def test_what_is_often_sought_is_on_the_map(thing):
    assert OFTEN_SOUGHT[thing] in PLACES


@pytest.mark.parametrize(("path", "name"), PLACES)
def test_a_place_of_the_map_exists(path, name):
    if (ROOT / path).is_dir():
        return
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".py"):
        assert not name or name in set(names_of(ast.parse(text).body))
    else:
        assert not name or re.search(rf"\b{re.escape(name)}\s*[({{]", text)
