"""Constraints of parameters, declared in annotations; applied by `signatures.checked` and `check_attributes`."""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pypgm._base.numeric import MAX_THREADS, check_choice, checked_integer, checked_real, shown

_DECLARING = re.compile(r"Annotated\[|Literal\[|^\w+( \| None)?$")  # or a name, of a Literal perhaps
_ANNOTATED = re.compile(r"Annotated\[(\w+), \w+(?:\(.*?\))?\]")


@dataclass(frozen=True)
class AtLeast:
    """Range of an int from `least`, or of a finite float from 0, its only bound, to below `below`.

    An int above `most` is replaced by `most`.

    Examples
    --------
    >>> Constraint(int, AtLeast(1)).checked("iterations", 0)
    Traceback (most recent call last):
        ...
    ValueError: iterations must be at least 1, got 0
    """

    least: int
    below: float = math.inf
    most: int | None = None


THREADS = AtLeast(0, most=MAX_THREADS)
"""Number of threads, 0 for all."""


@dataclass(frozen=True)
class Positive:
    """Range of a float above 0 and below `below`; infinity is in it where `infinite`."""

    below: float = math.inf
    infinite: bool = False


@dataclass(frozen=True)
class Constraint:
    """The values that an annotation lets a parameter have.

    Parameters
    ----------
    kind : type
        int, float, or the type of the choices.
    bound : AtLeast, Positive or tuple
        The range of a number, or the choices of a ``Literal``.
    optional : bool
        Whether None is let through.
    """

    kind: type
    bound: AtLeast | Positive | tuple[Any, ...]
    optional: bool = False

    def checked(self, name: str, value: object) -> Any:  # noqa: ANN401 - a number or one of the choices
        """Return the value as the function takes it.

        Raises
        ------
        TypeError
            If the value is not a number.
        ValueError
            If the value is out of range, or not one of the choices.
        """
        if value is None and self.optional:
            return None
        if isinstance(self.bound, tuple):
            check_choice(name, value, self.bound)
            return value
        zero, below = isinstance(self.bound, AtLeast), self.bound.below
        if self.kind is int:
            assert isinstance(self.bound, AtLeast)
            whole = checked_integer(name, value, self.bound.least)
            if whole >= below:
                raise ValueError(f"{name} must be below {below:g}, got {shown(whole)}")
            return whole if self.bound.most is None else min(whole, self.bound.most)
        number = checked_real(name, value, zero=zero, infinite=isinstance(self.bound, Positive) and self.bound.infinite)
        if not (number < below or below == math.inf):
            raise ValueError(f"{name} must be in {'[' if zero else '('}0, {below:g}), got {shown(value)}")
        return number


def plain(annotation: object) -> object:
    """Return an annotation as it is shown: its text, without the declared constraints.

    Examples
    --------
    >>> plain("Annotated[int, AtLeast(1)] | None")
    'int | None'
    """
    text = getattr(annotation, "__forward_arg__", annotation)
    return _ANNOTATED.sub(r"\1", text) if isinstance(text, str) else text


@cache
def constraints_of(owner: Callable[..., Any] | type) -> dict[str, Constraint]:
    """Return the constraints that the annotations of a function, a ``TypedDict`` or a dataclass declare, by name.

    Examples
    --------
    >>> def run(method: Literal["fast", "exact"], rows: Annotated[int, AtLeast(0)] | None = None) -> None: ...
    >>> constraints_of(run)["rows"]
    Constraint(kind=<class 'int'>, bound=AtLeast(least=0, below=inf, most=None), optional=True)
    """
    declared: dict[str, Constraint] = {}
    for part in reversed(owner.__mro__) if isinstance(owner, type) else [owner]:
        namespace = getattr(part, "__globals__", None) or vars(sys.modules[part.__module__])
        for name, annotation in inspect.get_annotations(part).items():
            constraint = _declared(annotation, namespace)
            if constraint is not None:
                declared[name] = constraint
    return declared


def _declared(annotation: object, namespace: dict[str, Any]) -> Constraint | None:
    """Return the constraint of an annotation, or None: it is a number with a bound, or one of some literals."""
    text = getattr(annotation, "__forward_arg__", annotation)
    if isinstance(text, str):
        if not _DECLARING.search(text):  # such as np.random.Generator, which would be imported
            return None
        module = getattr(annotation, "__forward_module__", None)
        try:
            annotation = eval(text, vars(sys.modules[module]) if isinstance(module, str) else namespace)
        except NameError:  # a name that only type checkers import
            if "[" in text:
                raise
            return None
    parts = get_args(annotation) if get_origin(annotation) in {Union, UnionType} else (annotation,)
    kinds = [part for part in parts if part is not NoneType]
    if len(kinds) != 1:
        return None
    first, *rest = get_args(kinds[0]) or (None,)
    if get_origin(kinds[0]) is Literal:
        return Constraint(type(first), (first, *rest), NoneType in parts)
    bound = next((b for b in rest if isinstance(b, AtLeast | Positive)), None)
    return (
        None if bound is None or get_origin(kinds[0]) is not Annotated else Constraint(first, bound, NoneType in parts)
    )


def check_attributes(instance: object, options: type | None = None) -> None:
    """Check the attributes of a frozen dataclass, and keep the checked values.

    Parameters
    ----------
    instance : dataclass
    options : TypedDict, optional
        Class that declares their constraints; the class itself by default.
    """
    for name, constraint in constraints_of(options or type(instance)).items():
        object.__setattr__(instance, name, constraint.checked(name, getattr(instance, name)))


def one_of(what: str, **given: object) -> str:
    """Return the name of the one argument that is given; ``ValueError`` if none is, or several are.

    Examples
    --------
    >>> one_of("a selection", rho=1, epsilon=None)
    'rho'
    """
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 1:
        *some, last = given
        needed = f"{', '.join(some)} and {last}"
        raise ValueError(f"{what} takes exactly one of {needed}, got {' and '.join(names) or 'none'}")
    return names[0]
