"""Where raw values of records flow in a source, and where an array or a frame is made of several of them at once.

NumPy, pandas, Polars and Arrow make one type of all values of a column, so that one record decides what the others are.
Parameters are raw by their annotation; what is assigned from them, taken out of them or looped over is raw as well, and
so is a parameter of the same module to which such a thing is handed. Any other call makes something else of values.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

MAKERS = {"array", "asarray", "asanyarray", "fromiter", "unique", "stack", "column_stack", "concatenate", "hstack"}
MAKERS |= {"vstack", "atleast_1d", "atleast_2d", "ndim", "shape", "isin", "isnan", "DataFrame", "Series", "table"}
MAKERS |= {"from_dict", "from_records", "from_pydict", "from_pylist", "from_arrays", "chunked_array", "record_batch"}
MAKERS |= {
    "factorize",
    "float_array",
    "real_array",
    "infer_objects",
    "convert_dtypes",
    "to_numeric",
    "ascontiguousarray",
}
"""Names of calls that look at all values of a column to make one type of them."""

_KEEP = {
    "list",
    "tuple",
    "zip",
    "iter",
    "enumerate",
    "reversed",
    "sorted",
    "dict",
    "set",
    "as_list",
    "as_values",
    "next",
}
_KEEP |= {"tolist", "items", "values", "get", "copy", "flatten", "ravel", "reshape", "as_columns", "collected"}
"""Names of calls that hand on the values they are given."""

_OF_TYPE = {"dtype", "ndim", "shape", "type", "schema"}
"""Attributes that tell of a column what it is, and nothing of its values."""

_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {
    **dict.fromkeys((ast.Attribute, ast.Subscript, ast.Starred, ast.NamedExpr, ast.DictComp), ("value",)),
    **dict.fromkeys((ast.List, ast.Tuple, ast.Set), ("elts",)),
    **dict.fromkeys((ast.Dict, ast.BoolOp), ("values",)),
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.GeneratorExp), ("elt",)),
    ast.IfExp: ("body", "orelse"),
}
"""Of which parts the value of an expression is made."""

_ARRAYS = {"ndarray"}
_LISTS = {"list", "tuple", "Sequence"}


class Made(NamedTuple):
    """A call that makes an array or a frame of raw values."""

    function: str
    line: int
    call: str


def made_of_raw_values(source: str, is_raw: Callable[[str, str], bool]) -> tuple[list[Made], set[str]]:
    """Return such calls of a source, and the functions that raw values reach.

    Parameters
    ----------
    source : str
    is_raw : callable
        ``is_raw(name, annotation)`` says whether a parameter holds raw values of several records.
    """
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    raw = {
        f: {a.arg for a in _arguments(f) if is_raw(a.arg, ast.unparse(a.annotation or ast.Constant(0)))}
        for f in functions
    }
    while True:
        before = {f: set(names) for f, names in raw.items()}
        for function in functions:
            _spread(function, raw[function])
            for call in _calls(function):
                for callee in (f for f in functions if f.name == _called(call)):
                    _hand_over(call, callee, raw, raw[function])
        if raw == before:
            break
    found = [
        Made(function.name, call.lineno, ast.unparse(call))
        for function in functions
        for call in _calls(function)
        if _called(call) in MAKERS and _of_raw(call, raw[function] - _typed(call, parents))
    ]
    return found, {function.name for function, names in raw.items() if names}


def _arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    given = function.args
    return [*given.posonlyargs, *given.args, *given.kwonlyargs]


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function, not those of functions in it that have parameters of the same name."""
    for child in ast.iter_child_nodes(function):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _own(child)


def _calls(function: ast.AST) -> list[ast.Call]:
    return [node for node in _own(function) if isinstance(node, ast.Call)]


def _called(call: ast.Call) -> str:
    """Return the last name of what is called; of `partial`, what it will call."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name == "partial" and call.args:
        inner = call.args[0]
        return inner.attr if isinstance(inner, ast.Attribute) else getattr(inner, "id", "")
    return name


def _given(call: ast.Call) -> list[ast.expr]:
    is_partial = getattr(call.func, "id", getattr(call.func, "attr", "")) == "partial"
    return [*call.args[is_partial:], *(keyword.value for keyword in call.keywords)]


def _spread(function: ast.AST, raw: set[str]) -> None:
    """Add the names that are assigned from raw values."""
    for node in _own(function):
        if isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            pairs = [(node.target, node.value)]
        elif isinstance(node, ast.For | ast.comprehension):
            pairs = [(node.target, node.iter)]
        else:
            continue
        for target, value in pairs:
            if _holds(value, raw):
                raw.update(name.id for name in ast.walk(target) if isinstance(name, ast.Name))


def _holds(value: ast.AST, raw: set[str]) -> bool:
    """Return whether an expression is raw values, or something that has them in it."""
    return value.id in raw if isinstance(value, ast.Name) else any(_holds(part, raw) for part in _parts(value))


def _parts(value: ast.AST) -> list[ast.AST]:
    """Return the parts of an expression whose values it hands on."""
    if isinstance(value, ast.Call):
        if _called(value) not in _KEEP and not (_called(value) == "map" and _maps_on(value)):
            return []
        return [*_given(value), *([value.func.value] if isinstance(value.func, ast.Attribute) else [])]
    if isinstance(value, ast.Attribute) and value.attr in _OF_TYPE:
        return []
    parts = [getattr(value, name) for name in _FIELDS.get(type(value), ())]
    return [each for part in parts for each in (part if isinstance(part, list) else [part])]


def _maps_on(call: ast.Call) -> bool:
    """Return whether a map hands on what it is given: one of `list` or of another such name."""
    return bool(call.args) and getattr(call.args[0], "id", "") in _KEEP


def _hand_over(
    call: ast.Call, callee: ast.FunctionDef | ast.AsyncFunctionDef, raw: dict[ast.AST, set[str]], own: set[str]
) -> None:
    names = [argument.arg for argument in _arguments(callee)]
    positional = names[names[:1] == ["self"] or names[:1] == ["cls"] :]
    for name, value in zip(positional, call.args, strict=False):
        if _holds(value, own):
            raw[callee].add(name)
    raw[callee].update(k.arg for k in call.keywords if k.arg in names and _holds(k.value, own))


def _of_raw(call: ast.Call, raw: set[str]) -> bool:
    """Return whether a call makes one thing of several raw values: not of one alone, and not of objects."""
    types = [k.value for k in call.keywords if k.arg == "dtype"] + call.args[1:2]
    if any(isinstance(kind, ast.Name) and kind.id == "object" for kind in types):
        return False
    given = [
        each
        for each in _given(call)
        if not (isinstance(each, ast.List) and len(each.elts) == 1 and not isinstance(each.elts[0], ast.Starred))
    ]
    is_of = isinstance(call.func, ast.Attribute) and _holds(call.func.value, raw)
    return is_of or any(_holds(each, raw) for each in given)


def _typed(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> set[str]:
    """Return names that are known to be arrays where a node stands, by a look at their type."""
    found = set()
    while (parent := parents.get(node)) is not None and not isinstance(node, ast.FunctionDef):
        if isinstance(parent, ast.If | ast.IfExp):
            body = parent.body if isinstance(parent.body, list) else [parent.body]
            is_body = any(node is each for each in body)
            if node is not parent.test:
                found |= _arrays(parent.test, is_so=is_body)
        if isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.And):
            for each in parent.values[: parent.values.index(node)]:
                found |= _arrays(each, is_so=True)
        node = parent
    return found


def _arrays(test: ast.expr, *, is_so: bool) -> set[str]:
    """Return the names that are arrays if a test is so, or if it is not."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return set().union(*(_arrays(each, is_so=True) for each in test.values)) if is_so else set()
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _arrays(test.operand, is_so=not is_so)
    if not isinstance(test, ast.Call) or not test.args or not isinstance(test.args[0], ast.Name):
        return set()
    if _called(test) == "is_plain":
        return {test.args[0].id} if is_so else set()
    kinds = {n.attr if isinstance(n, ast.Attribute) else getattr(n, "id", "") for n in ast.walk(test.args[-1])} - {"np"}
    is_array = _called(test) == "isinstance" and (kinds - {""} <= _ARRAYS if is_so else bool(kinds & _LISTS))
    return {test.args[0].id} if is_array else set()
