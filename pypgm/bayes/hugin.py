"""Text of a Bayesian network in HUGIN's format .net: read into plain parts, and written."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from pypgm.bayes.bif import Description
from pypgm.bayes.block_text import Parts, Tokens, family, identifiers, quoted
from pypgm.factor import Factor

_NOT_READ = {"continuous", "decision", "utility", "function", "class"}


def parse_hugin(text: str, path: str = "text") -> Description:
    """Read a network from the text of a .net file, in whose tables the attribute's own value varies fastest.

    A table without data is uniform, as HUGIN reads it.

    Raises
    ------
    ValueError
        If the text is not a whole network of discrete attributes.

    Examples
    --------
    >>> found = parse_hugin('net { } node a { states = ("x" "y"); } potential (a) { data = (0.25 0.75); }')
    >>> found.labels, found.tables["a"]
    ({'a': ('x', 'y')}, array([0.25, 0.75]))
    """
    tokens, parts = Tokens(text, path, "a HUGIN network", r"%[^\n]*"), Parts(path)
    names: dict[str, str] = {}
    title = "unknown"
    while tokens.more():
        word = tokens.name("a block")
        word = tokens.name("'node'") if word == "discrete" else word
        if word == "net":
            title = next(iter(_fields(tokens).get("name", [])), title)
        elif word == "node":
            node = tokens.name("the name of a node")
            fields = _fields(tokens)
            parts.add(node, fields.get("states", []))
            if "pypgm_name" in fields:
                names[node] = "".join(fields["pypgm_name"])
        elif word == "potential":
            child, parents = family(tokens)
            fields = _fields(tokens)
            shape = parts.shape(child, parents)
            if "model_data" in fields or "model_nodes" in fields:
                parts.fail(child, f"the table of {child!r} is an expression: write its numbers by HUGIN before")
            if "data" in fields:
                table = parts.numbers(child, fields["data"], math.prod(shape)).reshape(shape)
            else:
                table = np.full(shape, 1 / shape[-1])
                parts.network.notes.append(f"{child!r}: no data; all its values are equally likely")
            parts.set(child, parents, table)
        elif word in _NOT_READ:
            tokens.fail(f"networks of discrete nodes are read, got {word!r}")
        else:
            tokens.fail_at_block(word, "net, node or potential")
    return parts.whole(title, names)


def _fields(tokens: Tokens) -> dict[str, list[str]]:
    """Return the words of each field of a block."""
    tokens.expect("{")
    fields: dict[str, list[str]] = {}
    while not tokens.skips("}"):
        name = tokens.name("a field")
        tokens.expect("=")
        fields[name] = tokens.until(";")
    return fields


def format_hugin(name: str, labels: Mapping[str, Sequence[str]], tables: Mapping[str, Factor]) -> Iterator[str]:
    """Yield the text of a .net file; each number is the shortest that reads back as the same double.

    Nodes whose names HUGIN does not take get others, beside their own in a field of the user's.
    """
    ids = identifiers(labels)
    yield f"net\n{{\n  name = {quoted(name)};\n}}\n"
    for a, values in labels.items():
        extra = "" if ids[a] == a else f"  label = {quoted(a)};\n  pypgm_name = {quoted(a)};\n"
        yield f"node {ids[a]}\n{{\n  states = ({' '.join(map(quoted, values))});\n{extra}}}\n"
    for a, table in tables.items():
        given = [ids[p] for p in table.domain.attributes[:-1]]
        rows = table.values.reshape(-1, len(labels[a])).tolist()
        shape = table.domain.shape[:-1]
        body = "\n  ".join(_row(row, i, shape) for i, row in enumerate(rows))
        head = " | ".join([ids[a], *([" ".join(given)] if given else [])])
        yield f"potential ({head})\n{{\n  data =\n  {body};\n}}\n"


def _row(row: Sequence[float], number: int, shape: Sequence[int]) -> str:
    """Return a row of a table in parentheses, and those that open and close before and after it."""
    steps = [math.prod(shape[i:]) for i in range(len(shape))]
    opened = sum(number % step == 0 for step in steps)
    closed = sum((number + 1) % step == 0 for step in steps)
    return "(" * (opened + 1) + " ".join(map(repr, row)) + ")" * (closed + 1)
