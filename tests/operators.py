"""Defects as operators on the syntax tree of a function: what a careless change makes, wherever it is made.

An operator says what may stand in the place of a node. A change is one of an operator's sites in a function, which are
counted from 0 in the order of the text: rewording what is beside it breaks none.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

__all__ = ["OPERATORS", "Change", "Operator", "changes", "function_in", "instead", "sites"]

Function = ast.FunctionDef


@dataclass(frozen=True)
class Operator:
    """What may stand in the place of a node of a function; called with the number of a site, a change."""

    name: str
    instead: Callable[[ast.AST], Iterator[ast.AST]]

    def __call__(self, site: int = 0) -> Change:
        return Change(self, site)

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Change:
    """An operator at one of its sites."""

    operator: Operator
    site: int = 0

    def __repr__(self) -> str:
        return f"{self.operator.name}({self.site or ''})"

    def apply(self, tree: ast.Module, at: str) -> None:
        """Make the change in a function of a module; ``ValueError`` if there is no such function or site."""
        function = function_in(tree, at)
        found = sites(self.operator, function)
        if self.site >= len(found):
            raise ValueError(f"{self!r}: {at} has {len(found)} sites")
        before, after = found[self.site]
        _Replaced(before, after).visit(function)
        ast.fix_missing_locations(tree)


class _Replaced(ast.NodeTransformer):
    def __init__(self, before: ast.AST, after: ast.AST) -> None:
        self.before, self.after = before, after

    def visit(self, node: ast.AST) -> ast.AST:
        return self.after if node is self.before else self.generic_visit(node)


def function_in(tree: ast.Module, at: str) -> Function:
    """Return the function of a module, or the method of a class, "Class.method"; ``ValueError`` if there is none."""
    *within, own = at.split(".")
    scope: ast.AST = tree
    for name in within:
        scope = next((n for n in ast.iter_child_nodes(scope) if isinstance(n, ast.ClassDef) and n.name == name), tree)
    found = [n for n in ast.iter_child_nodes(scope) if isinstance(n, Function) and n.name == own]
    if not found:
        raise ValueError(f"there is no function {at}")
    return found[-1]


def changes(tree: ast.Module) -> Iterator[tuple[str, Change]]:
    """Yield every change of every operator in every function of a module, with the function's name."""
    for at in _functions(tree, ""):
        for operator in OPERATORS:
            yield from ((at, operator(site)) for site in range(len(sites(operator, function_in(tree, at)))))


def _functions(scope: ast.AST, within: str) -> Iterator[str]:
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, Function):
            yield within + node.name
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{within}{node.name}.")


def sites(operator: Operator, function: Function) -> list[tuple[ast.AST, ast.AST]]:
    """Return what may be replaced, and by what, in the order of the text."""
    return [(node, other) for part in function.body for node in _walked(part) for other in operator.instead(node)]


def _walked(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all below it, but what an error says, in the order of the text."""
    yield node
    for child in () if isinstance(node, ast.Raise) else ast.iter_child_nodes(node):
        yield from _walked(child)


def _no_factor(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from (node.left, node.right)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.FloorDiv | ast.Pow):
        yield node.left


def _no_addend(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield node.left
        if isinstance(node.op, ast.Add):
            yield node.right


def _one_case(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    elif isinstance(node, ast.BoolOp):
        yield from (_of_others(node, value) for value in node.values)


def _of_others(node: ast.BoolOp, left_out: ast.expr) -> ast.expr:
    others = [value for value in node.values if value is not left_out]
    return others[0] if len(others) == 1 else ast.BoolOp(node.op, others)


def _tested(answer: bool) -> Callable[[ast.AST], Iterator[ast.AST]]:
    def instead(node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, ast.If):
            yield ast.If(ast.Constant(answer), node.body, node.orelse)

    return instead


def _first_only(node: ast.AST) -> Iterator[ast.AST]:
    def first(given: ast.expr) -> ast.expr:
        every = ast.Call(ast.Name("list", ast.Load()), [given], [])
        return ast.Subscript(every, ast.Slice(upper=ast.Constant(1)), ast.Load())

    if isinstance(node, ast.For):
        yield ast.For(node.target, first(node.iter), node.body, node.orelse)
    elif isinstance(node, ast.comprehension):
        yield ast.comprehension(node.target, first(node.iter), node.ifs, node.is_async)


def _no_filter(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.comprehension):
        for i in range(len(node.ifs)):
            yield ast.comprehension(node.target, node.iter, node.ifs[:i] + node.ifs[i + 1 :], node.is_async)


def _skipped(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield ast.Pass()


def _not_kept(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Assign | ast.AugAssign) and isinstance(
        node.targets[0] if isinstance(node, ast.Assign) else node.target, ast.Attribute | ast.Subscript
    ):
        yield ast.Pass()


def _unguarded(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.With):
        for i, item in enumerate(node.items):
            if item.optional_vars is None:
                others = [*node.items[:i], *node.items[i + 1 :]]
                always = ast.If(ast.Constant(value=True), node.body, [])
                yield ast.With(others, node.body) if others else always


def _as_given(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call) and node.args and not isinstance(node.args[0], ast.Starred):
        yield from (given for given in node.args if not isinstance(given, ast.Constant | ast.Starred))


def _other_extreme(node: ast.AST) -> Iterator[ast.AST]:
    names = {"max": "min", "min": "max", "sum": "max", "maximum": "minimum", "minimum": "maximum", "all": "any"}
    names |= {"any": "all", "ceil": "floor", "floor": "ceil", "round_up": "round_down", "round_down": "round_up"}
    if isinstance(node, ast.Name) and node.id in names:
        yield ast.Name(names[node.id], node.ctx)
    elif isinstance(node, ast.Attribute) and node.attr in names:
        yield ast.Attribute(node.value, names[node.attr], node.ctx)


_NEXT: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}


def _off_by_one(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for i, one in enumerate(node.ops):
            if type(one) in _NEXT:
                yield ast.Compare(node.left, [*node.ops[:i], _NEXT[type(one)](), *node.ops[i + 1 :]], node.comparators)


def _not_passed(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call):
        for i, keyword in enumerate(node.keywords):
            if keyword.arg is not None:
                yield ast.Call(node.func, node.args, node.keywords[:i] + node.keywords[i + 1 :])


def _one_more(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield ast.Constant(node.value + 1)


def _one_less(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value > 0:
        yield ast.Constant(node.value - 1)


def _constant(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        yield ast.Return(ast.Constant(1))


no_factor = Operator("no_factor", _no_factor)
no_addend = Operator("no_addend", _no_addend)
one_case = Operator("one_case", _one_case)
never = Operator("never", _tested(answer=False))
always = Operator("always", _tested(answer=True))
first_only = Operator("first_only", _first_only)
no_filter = Operator("no_filter", _no_filter)
skipped = Operator("skipped", _skipped)
not_kept = Operator("not_kept", _not_kept)
unguarded = Operator("unguarded", _unguarded)
as_given = Operator("as_given", _as_given)
other_extreme = Operator("other_extreme", _other_extreme)
off_by_one = Operator("off_by_one", _off_by_one)
not_passed = Operator("not_passed", _not_passed)
one_more = Operator("one_more", _one_more)
one_less = Operator("one_less", _one_less)
constant = Operator("constant", _constant)


def instead(before: str, after: str, site: int = 0) -> Change:
    """Return a change of one function's own: an expression in the place of another one, however that is laid out."""
    old, new = (ast.parse(text, mode="eval").body for text in (before, after))
    wanted = _without_context(old)

    def other(node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, ast.expr) and _without_context(node) == wanted:
            yield new

    return Change(Operator(f"{before} -> {after}", other), site)


def _without_context(node: ast.AST) -> str:
    return ast.dump(node).replace("ctx=Store()", "ctx=Load()")


OPERATORS = (
    *(no_factor, no_addend, one_case, never, always, first_only, no_filter, skipped, not_kept, unguarded),
    *(as_given, other_extreme, off_by_one, not_passed, one_more, one_less, constant),
)
