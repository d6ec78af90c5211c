"""What ``help`` and completion say of functions that take a dictionary of options: each option by its name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

__all__ = ["with_options"]

F = TypeVar("F", bound=Callable[..., Any])


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
