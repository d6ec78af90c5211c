"""Defects as operators on the syntax tree of a function: the results of a careless change, wherever it is made.

An operator yields the replacements of a node. A change is one of an operator's sites in a function, which are counted
from 0 in the order of the text: rewording the lines around it breaks none.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["OPERATORS", "Change", "Operator", "changes", "function_in", "instead", "put", "sites"]

Function = ast.FunctionDef
Replacement = ast.AST | list[ast.stmt]


@dataclass(frozen=True)
class Operator:
    """A name and the replacements of a node of a function; called with the number of a site, a change.

    One that a defect has of its own finds its place in the texts of errors and in decorators as well.
    """

    name: str
    instead: Callable[[ast.AST], Iterator[Replacement]]
    is_own: bool = False

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
        """Make the change in a function or constant of a module; ``ValueError`` as in `replaced`."""
        _Replaced(*self.replaced(tree, at)).visit(tree)
        ast.fix_missing_locations(tree)

    def replaced(self, tree: ast.Module, at: str) -> tuple[ast.AST, Replacement]:
        """Return a node and its replacement; ``ValueError`` if the function, the site or a name does not exist."""
        function = function_in(tree, at)
        places = sites(self.operator, function)
        if self.site >= len(places):
            raise ValueError(f"{self!r}: {at} has {len(places)} sites")
        before, after = places[self.site]
        new = ast.Module(after) if isinstance(after, list) else after
        names = {node.id for node in ast.walk(new) if isinstance(node, ast.Name)} - {*dir(builtins)}
        unknown = names.difference(_bound(function), _bound(new), *(_bound(part, inner=False) for part in tree.body))
        if unknown:
            raise ValueError(f"{self!r}: {at} knows no {', '.join(sorted(unknown))}")
        return before, after


class _Replaced(ast.NodeTransformer):
    def __init__(self, before: ast.AST, after: Replacement) -> None:
        self.before, self.after = before, after

    def visit(self, node: ast.AST) -> Any:
        return self.after if node is self.before else self.generic_visit(node)


def _bound(scope: ast.AST, *, inner: bool = True) -> Iterator[str]:
    """Yield the names that a part of a module binds, within its own functions too if `inner`."""
    if isinstance(scope, ast.FunctionDef | ast.ClassDef):
        yield scope.name
        if not inner:
            return
    for node in ast.walk(scope):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.ExceptHandler | ast.FunctionDef | ast.MatchAs) and node.name:
            yield node.name


def function_in(tree: ast.Module, at: str) -> ast.stmt:
    """Return a function of a module, a method "Class.method" or the assignment of a constant; else ``ValueError``."""
    *within, name = at.split(".")
    scope: ast.AST = tree
    for part in within:
        scope = next((n for n in ast.iter_child_nodes(scope) if isinstance(n, ast.ClassDef) and n.name == part), tree)
    functions = [n for n in ast.iter_child_nodes(scope) if isinstance(n, Function) and n.name == name]
    constants = [n for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == at]
    if not functions + constants:
        raise ValueError(f"there is no function {at}")
    return (functions + constants)[-1]


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


def sites(operator: Operator, function: ast.stmt) -> list[tuple[ast.AST, Replacement]]:
    """Return the nodes that may be replaced, each with its replacement, in the order of the text."""
    parts: list[ast.AST] = [function]
    if isinstance(function, Function):
        parts = [*function.body, *(function.decorator_list if operator.is_own else [])]
    nodes = (node for part in parts for node in _walked(part, errors=operator.is_own))
    return [(node, other) for node in nodes for other in operator.instead(node)]


def _walked(node: ast.AST, *, errors: bool) -> Iterator[ast.AST]:
    """Yield a node and all below it, the texts of errors only if `errors`, in the order of the text."""
    yield node
    for child in ast.iter_child_nodes(node) if errors or not isinstance(node, ast.Raise) else ():
        yield from _walked(child, errors=errors)


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
    """Return a change of one function's own: another expression, or statements in the place of a statement.

    In `before`, X, Y and Z stand for any expressions, each for the same one wherever it occurs, and ``...`` for any
    expression or, at the end of arguments or statements, for the rest of them; they stand for the same in `after`.
    """
    pattern, new = _parsed(before), _parsed(after)
    if not (isinstance(pattern, ast.expr) and isinstance(new, ast.expr)):
        pattern, new = (ast.Expr(part) if isinstance(part, ast.expr) else part for part in (pattern, new))

    def other(node: ast.AST) -> Iterator[Replacement]:
        meaning: dict[str, Any] = {}
        if _matches(pattern, node, meaning):
            yield _filled(new, meaning)

    return Change(Operator(f"{before} -> {after}", other, is_own=True), site)


def put(text: str, *, before: str = "", after: str = "", site: int = 0) -> Change:
    """Return a change of one function's own: statements put before or after the one that holds a pattern."""
    pattern, new = _parsed(before or after), ast.parse(text).body

    def other(node: ast.AST) -> Iterator[Replacement]:
        for part in _of_statement(node) if isinstance(node, ast.stmt) else ():
            meaning: dict[str, Any] = {}
            if _matches(pattern, part, meaning):
                put_in = _filled(new, meaning)
                yield [*put_in, node] if before else [node, *put_in]
                return

    return Change(Operator(f"{text} -> {before or after}", other, is_own=True), site)


def _of_statement(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a statement and its expressions, without the statements in it."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt):
            yield from _of_statement(child)


def _parsed(text: str) -> Any:
    """Return the expression that a text is; else its one statement, or the list of its statements."""
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        statements = ast.parse(text).body
        return statements[0] if len(statements) == 1 else statements


def _is_rest(pattern: object) -> bool:
    value = pattern.value if isinstance(pattern, ast.Expr) else pattern
    return isinstance(value, ast.Constant) and value.value is ...


def _matches(pattern: Any, node: Any, meaning: dict[str, Any]) -> bool:
    """Return whether a node is like a pattern, and note in `meaning` what its X, Y and Z stand for."""
    if isinstance(pattern, list):
        if pattern and _is_rest(pattern[-1]) and len(node) >= len(pattern) - 1:
            pattern, node, rest = pattern[:-1], node[: len(pattern) - 1], node[len(pattern) - 1 :]
            meaning["..."] = [*meaning.get("...", []), *rest]
        pairs = zip(pattern, node, strict=False)
        return len(pattern) == len(node) and all(_matches(*pair, meaning) for pair in pairs)
    if isinstance(node, ast.expr) and _is_rest(pattern):
        return True
    if isinstance(node, ast.expr) and isinstance(pattern, ast.Name) and pattern.id in _WILD:
        return _without_context(meaning.setdefault(pattern.id, node)) == _without_context(node)
    if not isinstance(pattern, ast.AST):
        return bool(pattern == node) and type(pattern) is type(node)
    fields = [field for field in pattern._fields if field not in {"ctx", "kind", "type_comment"}]
    if isinstance(pattern, ast.Call) and pattern.args and _is_rest(pattern.args[-1]):
        fields.remove("keywords")
        meaning["..."] = getattr(node, "keywords", [])
    return type(pattern) is type(node) and all(_matches(getattr(pattern, f), getattr(node, f), meaning) for f in fields)


def _filled(new: Any, meaning: dict[str, Any]) -> Any:
    """Return a copy of an expression, or of statements, with what X, Y and Z stand for."""
    if isinstance(new, list):
        return [_filled(statement, meaning) for statement in new]
    return _Meant(meaning).visit(copy.deepcopy(new))


class _Meant(ast.NodeTransformer):
    def __init__(self, meaning: dict[str, Any]) -> None:
        self.meaning = meaning

    def visit_Name(self, node: ast.Name) -> ast.AST:
        known = copy.deepcopy(self.meaning.get(node.id, node))
        if hasattr(known, "ctx"):
            known.ctx = node.ctx
        return known

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if node.args and _is_rest(node.args[-1]):
            rest = copy.deepcopy(self.meaning["..."])
            node.args[-1:] = [part for part in rest if not isinstance(part, ast.keyword)]
            node.keywords += [part for part in rest if isinstance(part, ast.keyword)]
        return node

    def visit_Expr(self, node: ast.Expr) -> Any:
        return copy.deepcopy(self.meaning["..."]) if _is_rest(node) else self.generic_visit(node)


_WILD = {"X", "Y", "Z"}


def _without_context(node: ast.AST) -> str:
    return ast.dump(node).replace("ctx=Store()", "ctx=Load()")


OPERATORS = (
    *(no_factor, no_addend, one_case, never, always, first_only, no_filter, skipped, not_kept, unguarded),
    *(as_given, other_extreme, off_by_one, not_passed, one_more, one_less, constant),
)
