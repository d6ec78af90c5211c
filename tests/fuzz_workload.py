"""Mutants of workloads: lists of marginals in JSON."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from mutating import NUMBERS, ODD, mutated_text

import pypgm
from pypgm.cli.arguments import workload_named

SUFFIX = ".json"
_DOMAIN = pypgm.Domain({"a": 2, "b": 3, "c": 4, "é": 2})
_TOKENS = [
    *NUMBERS,
    *ODD,
    b'"a"',
    b'"c"',
    b'"x"',
    b"[]",
    b"[",
    b"]",
    b",",
    b'""',
    b"null",
    b"[" * 3000,
    b'["a"],' * 3000,
]
_TOKENS += [b'"\\u00e9"', b'"\\ud800"', b"{}", b'{"a": 1}']


def seeds() -> dict[str, bytes]:
    """Return lists of marginals."""
    lists = ['[["a", "b"], ["c"], ["é", "a", "c"]]', '[["a"]]', '[\n ["a", "b"],\n ["c", "é"],\n ["b"],\n ["a"]\n]\n']
    return {f"list {i}": text.encode() for i, text in enumerate(lists)}


mutated = partial(mutated_text, tokens=_TOKENS)


def use(path: str) -> str:
    """Read a workload; its marginals are those of the list."""
    workload = workload_named(_DOMAIN, path)
    listed = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    return "" if [set(c) for c in workload] == [set(c) for c in listed] else "other marginals"
