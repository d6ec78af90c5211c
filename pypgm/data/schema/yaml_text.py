"""YAML of schema files: plain data with the meanings of YAML 1.2, in which ``no`` and ``01234`` are texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pypgm._base.numeric import whole_of
from pypgm.data.columns.codebook import distinct

MOST_YAML = 1 << 19
"""Characters of a file of YAML, at most: it takes ten times as long to read as JSON, which holds the same."""

_DEPTH = 100  # collections within each other
_WORDS: dict[str, object] = dict.fromkeys(("", "~", "null", "Null", "NULL"))
_WORDS |= dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_TEXT = "tag:yaml.org,2002:str"


class _Open:
    """A list or an object that is being read."""

    def __init__(self, is_object: bool) -> None:
        self.is_object = is_object
        self.values: list[Any] = []
        self.names: list[str] = []

    @property
    def wants_name(self) -> bool:
        return self.is_object and len(self.names) == len(self.values)

    def whole(self) -> object:
        return distinct(list(zip(self.names, self.values, strict=True))) if self.is_object else self.values


def parse_yaml(text: str) -> object:
    """Return the data of a YAML text of one document; names are texts as written.

    Raises
    ------
    ValueError
        If it is not YAML, has an alias, a tag or several documents, or a name comes twice in an object.
    ImportError
        If PyYAML is not installed.

    Examples
    --------
    >>> parse_yaml("{country: [no, se], zip: [01234], null: 5, 2020: true}")  # doctest: +SKIP
    {'country': ['no', 'se'], 'zip': ['01234'], 'null': 5, '2020': True}
    """
    import yaml

    root = _Open(is_object=False)
    stack = [root]
    events = iter(yaml.parse(text, Loader=yaml.SafeLoader))
    while (event := _next(events)) is not None:
        _take(event, stack)
    if len(root.values) > 1:
        raise ValueError("must be one YAML document, but has several")
    return root.values[0] if root.values else None


def _next(events: Iterator[Any]) -> Any:  # noqa: ANN401 - of a package that may be missing
    """Return the next event, None at the end."""
    try:
        return next(events, None)
    except Exception as error:
        # Besides errors of its own it raises those of Python, such as of an escape beyond Unicode.
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f" at line {mark.line + 1}, column {mark.column + 1}"
        raise ValueError(f"must be YAML, but is not{where}") from None


def _take(event: Any, stack: list[_Open]) -> None:  # noqa: ANN401 - of a package that may be missing
    """Add the content of an event to the open collection, or open or close one."""
    kind = type(event).__name__
    line = event.start_mark.line + 1
    if kind == "AliasEvent":
        raise ValueError(f"line {line}: aliases such as *{event.anchor[:20]} are not read: write the value out")
    if getattr(event, "tag", None) not in {None, "!", _TEXT}:
        raise ValueError(f"line {line}: tags such as {event.tag[:40]} are not read")
    if kind in {"SequenceStartEvent", "MappingStartEvent"}:
        if stack[-1].wants_name:
            raise ValueError(f"line {line}: a name must be a text, but is a collection")
        if len(stack) > _DEPTH:
            raise ValueError(f"line {line}: nested too deep to hold attributes")
        stack.append(_Open(kind == "MappingStartEvent"))
    elif kind in {"SequenceEndEvent", "MappingEndEvent"}:
        whole = stack.pop().whole()
        stack[-1].values.append(whole)
    elif kind == "ScalarEvent":
        if stack[-1].wants_name:
            stack[-1].names.append(event.value)
        else:
            is_plain = event.implicit[0] and event.style is None
            stack[-1].values.append(_scalar(event.value, line) if is_plain else event.value)


def _scalar(text: str, line: int) -> object:
    """Return the value of a text without quotes."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        number = whole_of(text.lstrip("+-"))
        if number is None:
            raise ValueError(f"line {line}: an integer has {len(text)} digits: more than are read")
        return -number if text.startswith("-") else number
    return float(text) if _FLOAT.fullmatch(text) else text
