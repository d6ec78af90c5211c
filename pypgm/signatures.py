"""Functions that take a dictionary of options: each option by its name in ``help``, and a wrong one refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from pypgm.domain import nearest

F = TypeVar("F", bound=Callable[..., Any])

# What a user may mean by a name that is none of the options.
_MEANT = {"seed": "unsafe_seed", "rng": "unsafe_seed", "random_state": "unsafe_seed"} | {
    "n_iters": "iterations",
    "n_iter": "iterations",
    "max_iter": "iterations",
    "max_iterations": "iterations",
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
        What ``**options`` takes.
    defaults : mapping, optional
        Of the options that have another one than None.
    apart : collection of str
        Options that this function does not take.
    more : bool
        Whether it takes others besides.

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
        own = inspect.signature(function)
        named = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        taken = {p.name for p in named} | set(apart)
        added = [
            inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=(defaults or {}).get(n), annotation=_text(t))
            for n, t in options.__annotations__.items()
            if n not in taken
        ]
        rest = [p for p in own.parameters.values() if p.kind is p.VAR_KEYWORD] if more else []
        function.__signature__ = own.replace(parameters=[*named, *added, *rest])  # type: ignore[attr-defined]
        return function

    return expanded


def _text(annotation: object) -> object:
    """Return an annotation as it was written."""
    return getattr(annotation, "__forward_arg__", annotation)


def split_options(what: str, given: Mapping[str, Any], *kinds: type, names: Collection[str] = ()) -> list[Any]:
    """Return the options of each ``TypedDict``.

    Parameters
    ----------
    what : str
        Who takes them, as an error says it.
    given : mapping
        The keywords of a call.
    *kinds : TypedDict
    names : collection of str
        What it takes by keyword besides, for the hint of an error.

    Raises
    ------
    TypeError
        If one of them is of no kind; the message names the one that may be meant.

    Examples
    --------
    >>> from typing import TypedDict
    >>> Options = TypedDict("Options", {"progress": bool, "n_threads": int})
    >>> split_options("the run", {"progress": True}, Options)
    [{'progress': True}]
    """
    known = [kind.__annotations__.keys() for kind in kinds]
    unknown = given.keys() - set().union(*known)
    if unknown:
        all_names = sorted({*names}.union(*known))
        wrong, other = min(unknown), _MEANT.get(min(unknown))
        near = nearest(wrong, all_names) or f"; {what} takes {', '.join(all_names)}"
        meant = f"; did you mean {other!r}?" if other in all_names else near
        raise TypeError(f"{what} got an unexpected keyword argument {wrong!r}{meant}")
    return [{n: value for n, value in given.items() if n in of_kind} for of_kind in known]
