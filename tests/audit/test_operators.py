"""Operators on syntax trees: what they make of a function, and that a change names a place."""

from __future__ import annotations

import ast
import importlib
import inspect

import pytest
from mutants import MUTANTS
from operators import OPERATORS, Operator, changes, instead, put

from pypgm.privacy import relation

TEXT = """
class Some:
    def method(self, xs, k=2):
        \"\"\"2 * k is no code.\"\"\"
        with self.lock:
            self.charge(xs)
        if k > 3 and xs:
            raise ValueError(f"{2 * k}")
        return sum(2 * x for x in xs if x) + max(k, 1, key=abs)
"""


def made(change, at="Some.method", text=TEXT):
    tree = ast.parse(text)
    change.apply(tree, at)
    return ast.unparse(tree)


def test_every_operator_changes_what_it_names():
    one = {operator.name: operator for operator in OPERATORS}
    parts = {
        ("no_factor", 0): "sum((2 for x in xs if x))",
        ("no_factor", 1): "sum((x for x in xs if x))",
        ("no_addend", 0): "return sum((2 * x for x in xs if x))",
        ("one_case", 0): "if xs:",
        ("one_case", 1): "if k > 3:",
        ("never", 0): "if False:",
        ("always", 0): "if True:",
        ("first_only", 0): "for x in list(xs)[:1] if x",
        ("no_filter", 0): "for x in xs) ",
        ("skipped", 0): "pass",
        ("unguarded", 0): "if True:\n            self.charge(xs)",
        ("as_given", 1): "return (2 * x for x in xs if x) +",
        ("other_extreme", 0): "max((2 * x",
        ("other_extreme", 1): "min(k, 1, key=abs)",
        ("off_by_one", 0): "k >= 3",
        ("not_passed", 0): "max(k, 1)",
        ("one_more", 0): "k > 4",
        ("one_less", 0): "k > 2",
        ("constant", 0): "return 1",
    }
    for (name, site), part in parts.items():
        assert part.strip() in made(one[name](site)), name
    assert made(instead("k  >  3", "k > 30")) == made(one["one_more"]()).replace("k > 4", "k > 30")
    kept = made(one["not_kept"](), "f", "def f(self):\n    self.x = 1\n    y = 2")
    assert kept == "def f(self):\n    pass\n    y = 2"


@pytest.mark.parametrize(
    ("change", "at"),
    [
        (OPERATORS[0](2), "Some.method"),
        (OPERATORS[0](), "Some.other"),
        (instead("q", "1"), "Some.method"),
        (instead("sum(X) + X", "1"), "Some.method"),
        (instead("k", "unknown"), "Some.method"),
    ],
)
def test_a_place_that_is_not_there_is_an_error(change, at):
    with pytest.raises(ValueError, match=r"sites|no function|knows no unknown"):
        made(change, at)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (instead("X > 3 and Y", "Y or X > 4"), "if xs or k > 4:"),
        (instead("sum(...)", "0"), "return 0 + max"),
        (instead("X + max(Y, 1, key=Z)", "max(X, Y)"), "return max(sum((2 * x for x in xs if x)), k)"),
        (instead("with X:\n    ...", "xs = X"), "xs = self.lock\n"),
        (instead("self.charge(X)", "X = 1\nself.charge(X)"), "xs = 1\n            self.charge(xs)"),
        (instead("return X", ""), "}')"),
        (instead("max(k, ...)", "min(...)"), "min(1, key=abs)"),
        (instead("with X:\n    ...", "if X:\n    ..."), "if self.lock:\n            self.charge(xs)\n"),
        (instead("self.charge(X)", "X = 1"), "xs = 1"),
        (instead("2 * k", "xs"), "{xs}"),
        (put("k = 1", before="self.lock"), "k = 1\n        with self.lock"),
        (put("k = 1", before="self.charge(...)"), "k = 1\n            self.charge(xs)"),
        (put("k = X", after="self.charge(X)"), "self.charge(xs)\n            k = xs"),
    ],
)
def test_a_change_finds_its_place_whatever_the_names(change, part):
    assert part in made(change)
    assert ast.dump(ast.parse(made(change))) != ast.dump(ast.parse(TEXT))


def test_a_constant_is_a_place():
    assert made(instead("1 << X", "X"), "LIMIT", "LIMIT = 1 << 4") == "LIMIT = 4"


def test_all_changes_of_a_module_compile_and_differ():
    text = inspect.getsource(relation)
    before = ast.unparse(ast.parse(text))
    variants = [(at, change.operator, made(change, at, text)) for at, change in changes(ast.parse(text))]
    for _, operator, after in variants:
        assert isinstance(operator, Operator)
        compile(after, "relation", "exec")
        assert after != before
    assert {at for at, *_ in variants} >= {"Privacy.__init__", "Privacy.l1_score_range", "Privacy.cell_score_range"}


def problem_of(mutant, tree):
    """Return why a mutant cannot be planted, or "" if it can."""
    try:
        mutant.by.replaced(tree, mutant.at)
    except ValueError as error:
        return f"{mutant.name}: {error} in {mutant.module}"
    return ""


def test_every_planted_defect_finds_its_place():
    """A function that was moved or renamed shows here, not in the slow tests alone."""
    modules = {m.module for m in MUTANTS}
    trees = {module: ast.parse(inspect.getsource(importlib.import_module(module))) for module in modules}
    assert list(filter(None, (problem_of(m, trees[m.module]) for m in MUTANTS))) == []
