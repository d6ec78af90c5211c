"""Mutants of schemas in JSON."""

from __future__ import annotations

import json
from functools import partial

from mutating import NUMBERS, ODD, data_files, mutated_text

import pypgm

SUFFIX = ".json"
SCHEMA = {
    "columns": {
        "age": {"kind": "integer", "low": 0, "high": 99, "width": 10},
        "sex": ["F", "M"],
        "pay": {"kind": "real", "low": 0, "high": 100, "bins": 5, "decimals": 2, "outside": "clip"},
        "day": {"kind": "date", "low": "2020-01-01", "high": "2020-12-31", "resolution": "month", "null": True},
        "ok": {"kind": "boolean"},
        "job": {"kind": "categorical", "values": ["cook", "nurse", "x,y", "é"], "other": "other"},
        "k": {"kind": "codes", "size": 3},
    },
    "drop": ["id"],
    "rules": [{"columns": ["sex", "k"], "forbidden": [["F", 2]]}, "age <= pay"],
}
OPEN = {
    "columns": {
        "q": {"kind": "real", "low": 0, "high": 100, "bins": {"quantiles": 4, "share": 0.05}},
        "o": {"kind": "open", "share": "1/10", "null": "?"},
        "when": {
            "kind": "date",
            "low": "2020-01-01",
            "high": "2020-01-03",
            "resolution": "hour",
            "format": "%Y-%m-%d %H",
        },
        "edges": {"kind": "integer", "low": 0, "high": 9, "edges": [3, 5], "within": "tails"},
    },
    "records_per_person": 2,
}
_WORDS = [
    b"null",
    b"true",
    b"false",
    b'""',
    b'"F"',
    b'"open"',
    b'"kind"',
    b'"integer"',
    b'"real"',
    b'"date"',
    b'"codes"',
]
_WORDS += [b'"boolean"', b'"categorical"', b'"2020-13-01"', b'"0001-01-01"', b'"9999-12-31T23"', b'"hour"', b'"week"']
_WORDS += [
    b'"quantiles": 5',
    b'"bins": 1000000',
    b'"bins": 1000000000',
    b'"width": 1e-300',
    b'"width": 0',
    b'"size": 1e9',
]
_WORDS += [
    b'"share": 2',
    b'"share": "1e-999999999"',
    b'"other": true',
    b'"null": "F"',
    b'"null": ["", "-1"]',
    b'"edges": [1, 2, 3]',
]
_WORDS += [
    b'"outside": "null"',
    b'"outside": "other"',
    b'"rules": ["age < pay"]',
    b'"records_per_person": 0',
    b'"labels": []',
]
_WORDS += [
    b'"age"',
    b'"sex"',
    b'"format": "%Y%q"',
    b'"format": "%Y%Y"',
    b'"format": "%d"',
    b'"decimals": 400',
    b'"decimals": 0',
]
_WORDS += [
    b'"\\ud800"',
    b'"\\u0000"',
    b'"a\\nb"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"[" * 2000,
    b'{"a":' * 2000,
    b'"<" ',
]
TOKENS = [*NUMBERS, *ODD, *_WORDS]


def seeds() -> dict[str, bytes]:
    """Return schemas with all there is, and domains of the repository."""
    schemas = {"closed": SCHEMA, "open": OPEN, "short": {"age": 85, "sex": ["F", "M"], "n": [1, 2.5, False]}}
    return {n: json.dumps(s).encode() for n, s in schemas.items()} | data_files("*/domain.json", 20_000)


mutated = partial(mutated_text, tokens=TOKENS)


def use(path: str) -> str:
    """Read a schema, look at its domain and labels, and make it again of what it says."""
    return wrong_with(pypgm.read_schema(path))


def wrong_with(schema: pypgm.Schema) -> str:
    """Return what is wrong with a schema that was read."""
    fields = json.loads(json.dumps(schema.to_dict()))
    if pypgm.Schema.from_dict(fields) != schema:
        return "another schema of what it says itself"
    if not schema.open:
        domain = schema.domain
        small = [a for a in domain if a in domain.labels and domain.size((a,)) < 10_000]
        if any(len(set(map(str, domain.labels[a]))) != domain.size((a,)) for a in small):
            return "labels that read the same"
    return "" if repr(schema) else "no text"
