"""Words of the field, not metaphors: in comments, docstrings and pages, and in the names that code binds."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest
from first_sentence import EARLY, complaint

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
# A name that code does not bind, and what to write in its place.
RETIRED_NAMES = {
    "told": "text, message, fields, options, rows: what it holds",
    "asked": "requested, wanted, cliques, targets, budget: what was asked for",
    "own": "counts, table, keywords, options, values: what it is",
    "found": "columns, positions, matches, match, error, tables: the thing that was found",
    "way": "method, direction, path, format",
    **dict.fromkeys(("_MOST", "_LARGEST", "_MANY", "_ENOUGH", "_LOOK"), "_MAX_… and the noun that is limited"),
    **dict.fromkeys(("_LEAST", "_FEW", "_LITTLE", "_FIRST"), "_MIN_… or _MAX_… and the noun that is limited"),
    **dict.fromkeys(("_LARGE", "_SMALL", "_SHARP", "_CLOSE", "_ROUGH"), "the quantity, and that it is a threshold"),
    **dict.fromkeys(("_HALF", "_SHARE", "_PART"), "the whole and its part, as _BUDGET_SHARE"),
    "_ABOUT": "_DESCRIPTION",
    "_EXAMPLES": "_USAGE, _MAX_SHOWN: what the examples show, or how many of them",
}
NO_NOUN = f"no noun in the first {EARLY} words"


def names_bound(tree):
    """Yield each name that a module binds, with its line: variables, parameters, attributes, functions, captures."""
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            names = [node.id if isinstance(node, ast.Name) else node.attr]
        elif isinstance(node, ast.arg):
            names = [node.arg]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler):
            names = [node.name]
        elif isinstance(node, ast.MatchAs | ast.MatchStar | ast.MatchMapping):
            names = [node.rest if isinstance(node, ast.MatchMapping) else node.name]
        elif isinstance(node, ast.alias):
            names = [node.asname]
        yield from ((node.lineno, name) for name in names if name)


def retired(name):
    """Return what to write in the place of a name; empty of one that may stand."""
    return RETIRED_NAMES.get(name) or RETIRED_NAMES.get(name.strip("_"), "")


def described(tree):
    """Yield the docstrings of a module, its classes and its functions, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "lineno", 1), text


def trees():
    """Yield each module of the package that is read, by its path in it."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE), ast.parse(path.read_text(encoding="utf-8"))


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
    places = [
        f"{place}: …{text[max(0, m.start() - 30) : m.end() + 20]}… → {RETIRED[pattern]}"
        for place, text in PROSE
        for m in re.finditer(pattern, text, re.IGNORECASE)
    ]
    assert places == []


def test_a_name_says_what_it_holds():
    bound = [
        f"{path}:{line} {name} → {retired(name)}"
        for path, tree in trees()
        for line, name in names_bound(tree)
        if retired(name)
    ]
    assert bound == []


@pytest.mark.parametrize(
    "source",
    [
        "told = 1",
        "told: int = 1",
        "(a, *told) = b",
        "x.told = 1",
        "(told := 1)",
        "for told in x: ...",
        "[told for told in x]",
        "with a as told: ...",
        "import a as told",
        "from a import b as _told",
        "def told(): ...",
        "class told: ...",
        "def f(told): ...",
        "def f(*, _told=1): ...",
        "def f(**told): ...",
        "lambda told: 1",
        "try: ...\nexcept A as told: ...",
        "match x:\n    case [told]: ...",
        "match x:\n    case [*told]: ...",
        "match x:\n    case {1: 2, **told}: ...",
        "match x:\n    case A(b=told): ...",
    ],
)
def test_a_retired_name_is_seen_wherever_it_is_bound(source):
    assert [name for _, name in names_bound(ast.parse(source)) if retired(name)] != []


@pytest.mark.parametrize("source", ["told_by = 1", "f(told=1)", "x.told", "'told'", "most = 1", "import own.found"])
def test_other_names_and_uses_may_stand(source):
    assert [name for _, name in names_bound(ast.parse(source)) if retired(name)] == []


def test_the_first_sentence_of_a_docstring_names_its_object_early():
    stumbles = [
        f"{path}:{line} {complaint(text)}: {text.splitlines()[0]}"
        for path, tree in trees()
        for line, text in described(tree)
        if complaint(text)
    ]
    assert stumbles == []


@pytest.mark.parametrize(
    "text",
    [
        "Return the counts of a clique, in the order of the domain.",
        "Number of records; with weights, their sum.",
        "The cost of a line, in the budget's unit.",
        "One line of a ledger.",
        "No record is read.",
        "Take one step.",
        "Return the least count that is shown.",
        "None: every record counts once.",
        "Whether the records were dropped.",
        "``python -m pypgm``: the command.",
        "`Selector` of one table.",
        "All marginals of a model.\n\nWhat it says further down is not looked at.",
        "Exact draws on integers: the one place where releases get their randomness.",
        "Return the first and the last number of each bin.",
        "Return where the second stage of a run begins.",
    ],
)
def test_sentences_that_may_stand(text):
    assert complaint(text) == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("What is kept of a release.", "begins with What"),
        ("How far one network is from another.", "begins with How"),
        ("Of the tables of the tree.", "begins with Of"),
        ("That of the number of records.", "begins with That"),
        ("Those of the law.", "begins with Those"),
        ("As there; draws are made up.", "begins with As"),
        ("Within it new axes are those of a figure.", "begins with Within"),
        ("It is blank.", "begins with It"),
        ("One of some candidates.", "begins with One of"),
        ("All that was written.", "begins with All that"),
        ("None of these holds.", "begins with None of"),
        ("Return what was charged so far, as a record.", NO_NOUN),
        ("Return what can still be charged, in the budget's unit.", NO_NOUN),
        ("Tell what was made.", NO_NOUN),
        ("The most that can be charged.", "begins with most that"),
        ("Refuse: the function is another package's.", NO_NOUN),
        ("Return the least and the most that can be charged to the ledger.", NO_NOUN),
        ("Really quickly measured.", NO_NOUN),
    ],
)
def test_sentences_that_a_reader_stops_at(text, reason):
    assert complaint(text) == reason


def test_methods_stand_under_their_published_names():
    rows = [
        line.split("|")[1:4]
        for line in (ROOT / "docs" / "glossary.md").read_text().splitlines()
        if "`" in line and line.startswith("  |")
    ]
    named = {match[1]: mbi for _, method, mbi in rows if (match := re.search(r'"(\w+)"', method))}
    assert named.keys() == METHODS.keys() | {"region_graph"}
    names = {method: named[method].split("`")[1] for method in METHODS if "`" in named[method]}
    assert len(names) > 4
    assert all(hasattr(pypgm.compat.mbi.estimation, name) for name in names.values())
    assert "accelerated" in pypgm.estimate.__doc__
    assert all(name in pypgm.estimate.__doc__ for name in ("Prox-PGM", "RDA", "MirrorDescent", "InteriorGradient"))
