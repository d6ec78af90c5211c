"""Text of schema files, a line for each field: what people edit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pypgm._base.terminal import escaped_json

_NESTED = {"columns": 2, "proposals": 2, "person": 1, "drop": 1, "codes": 1}  # levels of objects with a line an entry


def schema_text(fields: Mapping[str, Any]) -> str:
    """Return the content of a schema file as text.

    Examples
    --------
    >>> print(schema_text({"columns": {"age": {"kind": "integer", "low": 0, "high": 9}, "sex": ["F", "M"]}}), end="")
    {
     "columns": {
      "age": {
       "kind": "integer",
       "low": 0,
       "high": 9
      },
      "sex": ["F", "M"]
     }
    }
    """
    entries = [f' "{name}": {_text(value, _NESTED.get(name, 0), 1)}' for name, value in fields.items()]
    return escaped_json("{\n" + ",\n".join(entries) + "\n}\n")


def _text(value: object, n_levels: int, depth: int) -> str:
    """Return a value with a line for each of its entries, down to a number of levels."""
    start, end = "\n" + " " * (depth + 1), "\n" + " " * depth
    if n_levels and value and isinstance(value, Mapping):
        entries = [f"{_json(name)}: {_text(entry, n_levels - 1, depth + 1)}" for name, entry in value.items()]
        return "{" + start + f",{start}".join(entries) + end + "}"
    if depth == 1 and value and isinstance(value, list):
        return "[" + start + f",{start}".join(map(_json, value)) + end + "]"
    return _json(value)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
