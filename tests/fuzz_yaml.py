"""Mutants of schemas in YAML."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import fuzz_schema
from mutating import mutated_text

import pypgm
from pypgm.data.schema.schema_file import parse_yaml

SUFFIX = ".yaml"
_OWN = """columns:
  age: {kind: integer, low: 0, high: 99, width: 10}
  country: [no, se, 01234, "yes"]
  day: {kind: date, low: 2020-01-01, high: 2020-12-31, resolution: month}   # a comment
  q: {kind: real, low: 0, high: 1e2, bins: {quantiles: 4, share: 0.05}}
  o:
    kind: open
    share: 0.1
    null: ['', "?"]
drop: [id]
rules:
  - {columns: [country, age], forbidden: [[se, 5]]}
records_per_person: 2
"""
_SHORT = "age: 85\nsex:\n- F\n- M  # a comment\nn: [1, 2.5, 'no']\n"
_TOKENS = [
    *fuzz_schema.TOKENS,
    b"&a ",
    b"*a",
    b"!!python/object/apply:os.system ['true']",
    b"!!binary x",
    b"? ",
    b"- ",
    b"  ",
]
_TOKENS += [
    b"---\n",
    b"...\n",
    b"<<: *a\n",
    b"%YAML 9.9\n",
    b"yes",
    b"no",
    b"2020-01-01",
    b"1:30",
    b"0o7",
    b"01234",
    b"~",
]
_TOKENS += [
    b"!!set {a}",
    b"| ",
    b"> ",
    b".nan",
    b"-.inf",
    b"'",
    b'"\\U99999999"',
    b"#",
    b"a: {<<: {b: 1}}",
    b"!x ",
    b"1e5",
]


def seeds() -> dict[str, bytes]:
    """Return schemas in YAML and one that is JSON as well."""
    texts = {
        "own": _OWN,
        "short": _SHORT,
        "flow": "{a: 3, b: ['x', y z]}",
        "json": json.dumps(fuzz_schema.SCHEMA, indent=1),
    }
    return {name: text.encode() for name, text in texts.items()}


mutated = partial(mutated_text, tokens=_TOKENS)


def use(path: str) -> str:
    """Read a schema; what it holds is the same as JSON."""
    schema = pypgm.read_schema(path)
    parsed = parse_yaml(Path(path).read_text(encoding="utf-8-sig"))
    if pypgm.Schema.from_dict(json.loads(json.dumps(parsed))) != schema:
        return "another schema as JSON"
    return fuzz_schema.wrong_with(schema)
