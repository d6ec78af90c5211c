"""Each place that docs/map.md names exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = re.findall(
    r"`((?:pypgm|cpp)/[\w./]+)(?::([\w.:()]+))?`", (ROOT / "docs" / "map.md").read_text(encoding="utf-8")
)


OFTEN_SOUGHT = {
    "the sampler of the discrete Gaussian": ("cpp/core/noise/noise.hpp", "DiscreteGaussian::operator()"),
    "where a cell of a CSV file becomes a code": ("pypgm/data/columns/closed.py", "Closed.encoder"),
    "the sensitivity of all cells of a pair": ("pypgm/queries/partition.py", "Identity"),
    "the sensitivity of what wide measures of a pair": ("pypgm/queries/contrasts.py", "Contrasts._sensitivity"),
    "the update of a message of Convex-GBP": ("cpp/core/simd/message_kernels.cpp", "update_messages"),
    "the formula of that update": ("cpp/core/regions/convex_gbp.hpp", "ConvexGbp"),
    "what makes held-out answers": ("pypgm/estimation/stop_rule.py", "left_to_validate"),
    "the rule that ends an estimate": ("pypgm/estimation/stop_rule.py", "Validation"),
    "what a file of a release holds": ("pypgm/files/format.py", "FILES"),
    "the screen of wide": ("pypgm/mechanisms/pair_dependence.py", "screened"),
    "the draw of the screen's noise": ("pypgm/privacy/selector.py", "Selector.screen"),
    "a step of the default": ("cpp/core/fit/acceleration.cpp", "Acceleration::advance"),
    "a step of the default over regions": (
        "cpp/core/regions/region_acceleration.cpp",
        "RegionAcceleration::advance",
    ),
    "Prox-PGM over regions": ("pypgm/estimation/region_descent.py", "region_descent"),
    "where a range of evidence is read": ("pypgm/data/schema/evidence.py", "codes_of_text"),
    "a step of Prox-PGM": ("cpp/core/fit/descent.cpp", "Descent::try_step"),
    "a charge of the ledger": ("pypgm/privacy/ledger.py", "Ledger.charge"),
    "the tree of MST": ("pypgm/mechanisms/_mst.py", "select_tree"),
    "what a query given evidence computes": ("pypgm/models/model.py", "Model.query"),
    "the region graph of triples": ("pypgm/graphs/region_graph.py", "saturate"),
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


def after_brackets(text, start):
    """Return where the brackets that open at a place have closed."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] in "({") - (text[place] in ")}")
        if depth == 0:
            return place + 1
    return len(text)


def is_defined(name, text):
    """Return whether C++ has the definition of a class or a function, not only its declaration or a call of it.

    What follows the arguments of a definition is its body, after words such as const or what a constructor begins with.
    """
    text = re.sub(r"//.*", "", text)
    owner, _, member = name.rpartition("::")
    classes = {
        scope: re.search(rf"\b(?:class|struct) {re.escape(scope)}\b[^;{{(]*(?={{)", text) for scope in (name, owner)
    }
    if classes[name]:
        return True
    for match in re.finditer(rf"\b{re.escape(name)}\s*(?=\()", text):
        if re.match(r"[\s\w]*(?::[^;]*)?{", text[after_brackets(text, match.end()) :]):
            return True
    body = classes[owner] and text[classes[owner].end() : after_brackets(text, classes[owner].end())]
    return bool(owner and body) and is_defined(member, body)


@pytest.mark.parametrize(
    ("text", "defined"),
    [
        ("void f(int (*g)(int)) {", True),
        ("int A::f() const {", True),
        ("f(int a)\n    : a_(a) {}", True),
        ("struct f {", True),
        ("void f(int a);", False),
        ("if (f(a)) { g(); }", False),
        ("int b = f(a); if (b) {", False),
        ("class f;", False),
    ],
)
def test_a_definition_is_told_apart_from_a_declaration_and_a_call(text, defined):
    assert is_defined("f", text) == defined


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
        assert not name or is_defined(name, text)
