"""Words of Python in a message: arguments of public calls, and the calls themselves."""

from __future__ import annotations

import functools
import inspect
import re

import pypgm

_CALL = re.compile(r"\b(?:[A-Z][a-z]+)+\((?=[^)]*=)|\bpypgm\.[a-zA-Z_]+\(")
_ARGUMENT = re.compile(r"(?<![\w'\"=.-])([a-z][a-z_]*)=")
_NAME = re.compile(r"(?<![\w'\"=./-])[a-z]+(?:_[a-z]+)+(?![\w'\"=./(-])")


@functools.cache
def arguments():
    """Return the names of the arguments of all that is public, and of its methods."""
    found = set()
    places = [pypgm, *(getattr(pypgm, name) for name in ("mechanisms", "privacy", "bayes", "mrf", "data"))]
    things = [getattr(place, name) for place in places for name in place.__all__]
    for thing in things:
        for call in [thing, *(vars(thing).values() if isinstance(thing, type) else [])]:
            if callable(call):
                try:
                    found.update(inspect.signature(call).parameters)
                except (TypeError, ValueError):
                    continue
    return found - {"self"}


def python_in(message):
    """Return the words of Python in a message; evidence of ``--given`` has names of the table."""
    if message.startswith("--given"):
        return []
    named = [name for name in _ARGUMENT.findall(message) if name in arguments()]
    return [*_CALL.findall(message), *named, *(name for name in _NAME.findall(message) if name in arguments())]
