"""Signatures of functions: options of a dictionary by their names in ``help``, wrong ones refused, values checked."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypedDict, TypeVar, cast

from pypgm._base.constraints import constraints_of, plain
from pypgm.domain import nearest

F = TypeVar("F", bound=Callable[..., Any])

# Options that a user may mean by other names.
_MEANT = {"seed": "unsafe_seed", "rng": "unsafe_seed", "random_state": "unsafe_seed"} | {
    "n_iters": "iterations",
    "n_iter": "iterations",
    "max_iter": "iterations",
    "max_iterations": "iterations",
    "rho": "budget",
    "verbose": "progress",
}


def with_options(
    options: type, defaults: Mapping[str, object] | None = None, *, apart: Collection[str] = (), more: bool = False
) -> Callable[[F], F]:
    """Return a decorator that writes out the options of a ``TypedDict`` in a function's signature.

    Type checkers read ``Unpack`` of it; `inspect.signature`, ``help`` and the completion of notebooks do not.

    Parameters
    ----------
    options : TypedDict
        Options that ``**options`` takes.
    defaults : mapping, optional
        Defaults of the options other than None.
    apart : collection of str
        Options that this function does not take.
    more : bool
        Whether the function takes other options as well.

    Examples
    --------
    >>> from typing import TypedDict
    >>> Options = TypedDict("Options", {"progress": bool})
    >>> @with_options(Options, {"progress": False})
    ... def run(data, **options): ...
    >>> print(str(inspect.signature(run)).replace("'", ""))
    (data, *, progress: bool = False)
    """

    def expanded(function: F) -> F:
        signature = inspect.signature(function)
        every = [p.replace(annotation=plain(p.annotation)) for p in signature.parameters.values()]
        named = [p for p in every if p.kind is not p.VAR_KEYWORD]
        taken = {p.name for p in named} | set(apart)
        added = [
            inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=(defaults or {}).get(n), annotation=plain(t))
            for n, t in options.__annotations__.items()
            if n not in taken
        ]
        rest = [p for p in every if p.kind is p.VAR_KEYWORD] if more else []
        function.__signature__ = signature.replace(parameters=[*named, *added, *rest])  # type: ignore[attr-defined]
        return function

    return expanded


class _NoOptions(TypedDict):
    pass


def checked(options: type = _NoOptions, defaults: Mapping[str, object] | None = None) -> Callable[[F], F]:
    """Return a decorator of functions whose arguments are checked, as their annotations declare, before they run.

    Not for functions of private records: a traceback would hold their arguments.

    Parameters
    ----------
    options : TypedDict
        Keywords of ``**options`` of the function, which are checked too; written out in its signature.
    defaults : mapping, optional
        Defaults of the options other than None; the function receives every option.

    Examples
    --------
    >>> from typing import Annotated
    >>> from pypgm._base.constraints import AtLeast
    >>> @checked()
    ... def half(rows: Annotated[int, AtLeast(0)]) -> float: return rows / 2
    >>> half(-1)
    Traceback (most recent call last):
        ...
    ValueError: rows must be at least 0, got -1
    """

    def expanded(function: F) -> F:
        known = [n for n, p in inspect.signature(function).parameters.items() if p.kind is not p.VAR_KEYWORD]
        filled = {name: (defaults or {}).get(name) for name in options.__annotations__}
        constraints = {**constraints_of(options), **constraints_of(function)}
        names = {*known, *filled}
        positions = [(i, n, constraints[n]) for i, n in enumerate(known) if n in constraints]

        @functools.wraps(function)
        def called(*arguments: object, **given: object) -> object:
            if not given.keys() <= names:
                further = {name: value for name, value in given.items() if name not in known}
                split_options(function.__name__, further, options, names=known)
            for name, value in given.items():
                if name in constraints:
                    given[name] = constraints[name].checked(name, value)
            if positions and positions[0][0] < len(arguments):
                values = list(arguments)
                for i, name, constraint in positions:
                    if i < len(values):
                        values[i] = constraint.checked(name, values[i])
                arguments = tuple(values)
            return function(*arguments, **(filled | given))

        called.__constraints__ = constraints  # type: ignore[attr-defined]
        return with_options(options, defaults)(cast("F", called))

    return expanded


def split_options(what: str, given: Mapping[str, Any], *kinds: type, names: Collection[str] = ()) -> list[Any]:
    """Return the options of each ``TypedDict``, checked.

    Parameters
    ----------
    what : str
        Name of the function that takes them, for an error.
    given : mapping
        The keywords of a call.
    *kinds : TypedDict
    names : collection of str
        Other keywords it takes, for the hint of an error.

    Raises
    ------
    TypeError
        If an option is unknown; the message names the one that may be meant. Or if a value is of another type.
    ValueError
        If a value is out of range.

    Examples
    --------
    >>> from typing import TypedDict
    >>> Options = TypedDict("Options", {"progress": bool, "n_threads": int})
    >>> split_options("the run", {"progress": True}, Options)
    [{'progress': True}]
    """
    known = set().union(*(kind.__annotations__ for kind in kinds))
    unknown = given.keys() - known
    if unknown:
        all_names = sorted({*names} | known)
        wrong, other = min(unknown), _MEANT.get(min(unknown))
        near = nearest(wrong, all_names) or f"; {what} takes {', '.join(all_names)}"
        meant = f"; did you mean {other!r}?" if other in all_names else near
        raise TypeError(f"{what} got an unexpected keyword argument {wrong!r}{meant}")
    parts: list[dict[str, Any]] = []
    for kind in kinds:
        options = {name: value for name, value in given.items() if name in kind.__annotations__}
        constraints = constraints_of(kind)
        parts.append(options | {n: c.checked(n, options[n]) for n, c in constraints.items() if n in options})
    return parts
