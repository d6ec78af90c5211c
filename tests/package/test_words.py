"""Words of the field, not metaphors: what comments, docstrings and pages do not say."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import pytest

import pypgm
import pypgm.compat.mbi
from pypgm.estimation.methods import METHODS

ROOT = Path(__file__).parents[2]
PACKAGE = Path(pypgm.__file__).parent
# A pattern that prose does not have, and what to write in its place.
RETIRED = {
    r"one behind the other": "packed",
    r"\b(one|the|a|this|that) door\b": "the private table, whose access is charged",
    r"\blets? go of|let go\b": "closes, drops",
    r"\b(is|are|was|were|be|been) told\b(?! apart)": "receives, is given, is shown",
    r"\bbegun anew\b": "restarted",
    r"\bgoes? the way (up|down)|\bthe way back\b": "the upward or the downward pass",
    r"\bwhat ends it where\b|\bof all of it\b|\bof all such\b(?! \w)": "the subject and the verb",
    r"\bshare of the team\b": "a thread's chunk",
    r"\basks? for (data|records|counts)\b": "reads",
}


def prose_of_python(path):
    """Yield comments and strings that are no code, with their lines."""
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type == tokenize.COMMENT or (
            token.type == tokenize.STRING and before in {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
        ):
            yield token.start[0], token.string
        if token.type not in {tokenize.NL, tokenize.COMMENT}:
            before = token.type


def prose():
    """Yield each place with the text that is there, its lines joined."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield from ((f"{path.name}:{line}", text) for line, text in prose_of_python(path))
    for folder, kinds in (("cpp", ("*.hpp", "*.cpp")), ("docs", ("*.md",))):
        for path in sorted(p for kind in kinds for p in (ROOT / folder).rglob(kind) if "printed" not in p.parts):
            text = path.read_text(encoding="utf-8")
            yield path.name, text if folder == "docs" else "\n".join(re.findall(r"//.*", text))


PROSE = [
    (place, " ".join(" ".join(re.sub(r"^\s*(#|///?<?)", "", line) for line in text.split("\n")).split()))
    for place, text in prose()
]


@pytest.mark.parametrize("pattern", RETIRED)
def test_a_retired_word_is_not_written(pattern):
    found = [
        f"{place}: …{text[max(0, m.start() - 30) : m.end() + 20]}… → {RETIRED[pattern]}"
        for place, text in PROSE
        for m in re.finditer(pattern, text, re.IGNORECASE)
    ]
    assert found == []


def test_methods_stand_under_their_published_names():
    rows = [
        line.split("|")[1:4]
        for line in (ROOT / "docs" / "glossary.md").read_text().splitlines()
        if "`" in line and line.startswith("  |")
    ]
    named = {
        found[1]: mbi.split("`")[1::2][0]
        for _, method, mbi in rows
        if (found := re.search(r'"(\w+)"', method)) and "`" in mbi
    }
    assert named.keys() | {"accelerated"} == METHODS.keys() | {"region_graph"}
    assert all(hasattr(pypgm.compat.mbi.estimation, name) for method, name in named.items() if method != "region_graph")
    assert "accelerated" in pypgm.estimate.__doc__
    assert all(name in pypgm.estimate.__doc__ for name in ("Prox-PGM", "RDA", "MirrorDescent", "InteriorGradient"))
