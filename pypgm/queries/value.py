"""Objects that never change and are equal if they are made of equal arguments."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np


class Value:
    """An immutable object.

    Attributes
    ----------
    _arguments : tuple
        Arguments from which its class makes an equal one.
    _text : str
        Text of its representation.
    """

    _arguments: tuple[Any, ...]
    _text: str

    def _set(self, **fields: object) -> None:
        """Set the arguments of the object, once; arrays become read-only."""
        for value in fields.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        self.__dict__.update(fields)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} does not change; make another one (got {name}={value!r})")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a {type(self).__name__} does not change; {name!r} cannot be deleted")

    def __reduce__(self) -> tuple[type[Value], tuple[Any, ...]]:
        return (type(self), self._arguments)

    def _state(self) -> tuple[Any, ...]:
        """Return hashable values that are equal for equal objects of one class."""
        return tuple(a.tobytes() if isinstance(a, np.ndarray) else a for a in self._arguments)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Value):
            return NotImplemented
        return self is other or (type(self) is type(other) and self._state() == other._state())

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((type(self), self._state()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._text})"
