"""Text of a Bayesian network in Microsoft's format .dsc: read into plain parts, and written."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from pypgm.bayes.bif import Description
from pypgm.bayes.block_text import Parts, Tokens, family, quoted
from pypgm.factor import Factor


def parse_dsc(text: str, path: str = "text") -> Description:
    """Read a network from the text of a .dsc file, whose rows name the numbers of the parents' values.

    Raises
    ------
    ValueError
        If the text is not a whole network of discrete attributes.

    Examples
    --------
    >>> node = 'node a { type : discrete [2] = { "x", "y" }; }'
    >>> parse_dsc(f'belief network "n" {node} probability ( a ) {{ 0.25, 0.75; }}').tables["a"]
    array([0.25, 0.75])
    """
    tokens, parts = Tokens(text, path, "a network in the format .dsc", r"//[^\n]*|/\*.*?\*/"), Parts(path)
    title = "unknown"
    while tokens.more():
        word = tokens.name("a block")
        if word == "belief":
            if tokens.name("'network'") != "network":
                tokens.fail("'network' must follow 'belief'")
            kind, title = tokens.take()
            if kind not in {"word", "string"}:
                tokens.fail("the name of the network must stand here")
        elif word == "node":
            node = tokens.name("the name of a node")
            parts.add(node, _states(tokens))
        elif word == "probability":
            _probability(tokens, parts)
        else:
            tokens.fail_at_block(word, "belief network, node or probability")
    return parts.whole(title, {})


def _states(tokens: Tokens) -> list[str]:
    """Return the values of a node; other fields are skipped."""
    tokens.expect("{")
    states: list[str] = []
    while not tokens.skips("}"):
        name = tokens.name("a field")
        if not tokens.skips(":"):
            tokens.expect("=")
        if name != "type":
            tokens.until(";")
            continue
        if (kind := tokens.name("the type")) != "discrete":
            tokens.fail(f"networks of discrete nodes are read, got the type {kind[:40]!r}")
        tokens.expect("[")
        tokens.until("]")
        tokens.expect("=")
        tokens.expect("{")
        states = tokens.until("}")
        tokens.skips(";")
    return states


def _probability(tokens: Tokens, parts: Parts) -> None:
    child, parents = family(tokens)
    shape = parts.shape(child, parents)
    tokens.expect("{")
    needed = math.prod(shape[:-1])
    rows: dict[int, list[float]] = {}
    while not tokens.skips("}"):
        row = 0
        if parents:
            tokens.expect("(")
            codes = tokens.until(")")
            good = len(codes) == len(parents) and all(c.isascii() and c.isdigit() and len(c) < 10 for c in codes)
            if not good or any(int(c) >= size for c, size in zip(codes, shape, strict=False)):
                tokens.fail(f"a row of {child!r} needs the numbers of its {len(parents)} parents' values")
            row = int(np.ravel_multi_index([int(c) for c in codes], shape[:-1]))
            tokens.expect(":")
        if row in rows:
            tokens.fail(f"a row of {child!r} stands twice")
        rows[row] = parts.numbers(child, tokens.until(";"), shape[-1]).tolist()
    if len(rows) != needed:
        parts.fail(child, f"the table of {child!r} needs {needed} rows, got {len(rows)}")
    parts.set(child, parents, np.array([rows[row] for row in range(needed)]).reshape(shape))


def format_dsc(name: str, labels: Mapping[str, Sequence[str]], tables: Mapping[str, Factor]) -> Iterator[str]:
    """Yield the text of a .dsc file; each number is the shortest that reads back as the same double."""
    yield f"belief network {quoted(name)}\n"
    for a, values in labels.items():
        inside = ", ".join(map(quoted, values))
        yield f"node {_name(a)}\n{{\n  type : discrete [ {len(values)} ] = {{ {inside} }};\n}}\n"
    for a, table in tables.items():
        given = table.domain.attributes[:-1]
        rows = table.values.reshape(-1, len(labels[a])).tolist()
        keys = itertools.product(*(range(size) for size in table.domain.shape[:-1]))
        heads = (f"({', '.join(map(str, key))}) : " if given else "" for key in keys)
        body = "".join(f"  {head}{', '.join(map(repr, row))};\n" for head, row in zip(heads, rows, strict=True))
        head = " | ".join([_name(a), *([", ".join(map(_name, given))] if given else [])])
        yield f"probability ( {head} )\n{{\n{body}}}\n"


def _name(text: str) -> str:
    return text if text.isidentifier() and text.isascii() else quoted(text)
