"""Texts of names, strings and marks, as other packages write networks: read word by word."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from pypgm._base.file_kind import it_looks_like
from pypgm.bayes.bif import Description
from pypgm.bayes.checks import NetworkError
from pypgm.data.sources.files import is_weight
from pypgm.domain import listed

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_MARKS = "(){}[]=;:,|"
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class Tokens:
    """The words of a text, one after the other.

    Parameters
    ----------
    text : str
    path : str
        Name of the text in messages.
    kind : str
        What the text should be, in messages.
    comment : str
        Regular expression of a comment.
    """

    def __init__(self, text: str, path: str, kind: str, comment: str) -> None:
        self.text, self.path, self.kind = text, path, kind
        marks = re.escape(_MARKS)
        # Linear in the text: no two repetitions that meet can take the same character.
        string, bare = r'"(?P<string>(?:[^"\\]|\\.)*)"', rf'(?P<word>[^\s"{marks}{comment[0]}]+)'
        word = re.compile(rf"\s+|{comment}|{string}|(?P<mark>[{marks}])|{bare}", re.DOTALL)
        self._tokens: list[tuple[str, str, int]] = []
        end = 0
        while match := word.match(text, end):
            end = match.end()
            if match.lastgroup is not None:
                self._tokens.append((match.lastgroup, match[match.lastgroup], match.start()))
        if end != len(text):
            wrong = "a quote must be closed, and the file ends" if text[end] == '"' else f"got {text[end]!r}"
            self._fail_at(end, wrong + it_looks_like(text, kind))
        self._next = 0

    def _fail_at(self, position: int, message: str) -> NoReturn:
        raise ValueError(f"{self.path}, line {self.text.count(chr(10), 0, position) + 1}: {message}")

    def fail(self, message: str) -> NoReturn:
        """Raise ``ValueError`` with the line of the word read last."""
        at = min(max(self._next - 1, 0), len(self._tokens) - 1)
        self._fail_at(self._tokens[at][2] if self._tokens else 0, message)

    def fail_at_block(self, word: str, blocks: str) -> NoReturn:
        """Raise the error of a word with which no block begins."""
        self.fail(f"a block must begin with {blocks}, got {word[:40]!r}{it_looks_like(self.text, self.kind)}")

    def more(self) -> bool:
        """Return whether a word is left."""
        return self._next < len(self._tokens)

    def take(self) -> tuple[str, str]:
        """Return the kind and text of the next word, ("end", "") at the end."""
        if not self.more():
            return "end", ""
        kind, text, _ = self._tokens[self._next]
        self._next += 1
        return kind, _ESCAPE.sub(r"\1", text) if kind == "string" else text

    def skips(self, mark: str) -> bool:
        """Pass over a mark if it is next; return whether it was."""
        if self.more() and self._tokens[self._next][:2] == ("mark", mark):
            self._next += 1
            return True
        return False

    def name(self, what: str) -> str:
        """Return the next name, quoted or not; fail if there is none."""
        kind, text = self.take()
        if kind not in {"word", "string"}:
            self.fail(f"{what} must stand here, got {text or 'the end of the file'!r}")
        return text

    def expect(self, mark: str) -> None:
        """Pass over a mark; fail if it does not stand here."""
        kind, text = self.take()
        if (kind, text) != ("mark", mark):
            self.fail(f"{mark!r} must stand here, got {text or 'the end of the file'!r}")

    def until(self, stops: str) -> list[str]:
        """Return the words and strings up to a mark outside of brackets, without marks, and pass it."""
        words: list[str] = []
        depth = 0
        while True:
            kind, text = self.take()
            if kind == "end":
                self.fail(f"{' or '.join(map(repr, stops))} must follow, and the file ends")
            if kind == "mark":
                if depth == 0 and text in stops:
                    return words
                depth += (text in "({[") - (text in ")}]")
            else:
                words.append(text)


def family(tokens: Tokens) -> tuple[str, tuple[str, ...]]:
    """Return the child and the parents of ``( child | parent parent )``, with commas or without."""
    tokens.expect("(")
    child = tokens.name("an attribute")
    if tokens.skips(")"):
        return child, ()
    tokens.expect("|")
    return child, tuple(tokens.until(")"))


class Parts:
    """The parts of a network as a file gives them, checked one by one.

    Parameters
    ----------
    path : str
        Name of the text in messages.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.network = Description()

    def fail(self, attribute: str, message: str) -> NoReturn:
        """Raise the error of an attribute."""
        raise NetworkError(attribute, f"{self.path}: {message}")

    def add(self, name: str, labels: Iterable[str]) -> None:
        """Add an attribute with its values."""
        if name in self.network.labels:
            self.fail(name, f"the node {name!r} is declared twice")
        self.network.labels[name] = tuple(labels)
        if not self.network.labels[name]:
            self.fail(name, f"the node {name!r} needs states, and has none")

    def shape(self, child: str, parents: tuple[str, ...]) -> tuple[int, ...]:
        """Return the shape of the table of a family, which must be declared, and not have a table yet."""
        if unknown := [a for a in (*parents, child) if a not in self.network.labels]:
            self.fail(child, f"the table of {child!r} names {unknown[0]!r}, which is no node")
        if child in self.network.tables:
            self.fail(child, f"{child!r} has two tables")
        return tuple(len(self.network.labels[a]) for a in (*parents, child))

    def numbers(self, child: str, words: list[str], needed: int) -> NDArray[np.float64]:
        """Return so many numbers, finite and at least 0."""
        bad = next((word for word in words if not is_weight(word)), None)
        if bad is not None or len(words) != needed:
            what = f"got {bad[:40]!r}" if bad is not None else f"got {len(words)}"
            self.fail(child, f"the table of {child!r} needs {needed} finite numbers of at least 0, {what}")
        return np.array(list(map(float, words)))

    def set(self, child: str, parents: tuple[str, ...], table: NDArray[np.float64]) -> None:
        """Set the table of an attribute."""
        self.network.parents[child], self.network.tables[child] = parents, table

    def whole(self, name: str, names: dict[str, str]) -> Description:
        """Return the network, in which some attributes get other names."""
        if missing := [a for a in self.network.labels if a not in self.network.tables]:
            self.fail(missing[0], f"nodes need a table each; {listed(missing)} has none")
        at = {a: names.get(a, a) for a in self.network.labels}
        if len(set(at.values())) < len(at):
            raise ValueError(f"{self.path}: two nodes have the same name")
        return Description(
            name,
            {at[a]: labels for a, labels in self.network.labels.items()},
            {at[a]: tuple(at[p] for p in self.network.parents[a]) for a in self.network.labels},
            {at[a]: self.network.tables[a] for a in self.network.labels},
            notes=self.network.notes,
        )


def identifiers(names: Iterable[str]) -> dict[str, str]:
    """Return names that a program may use: the same where they are letters, digits and underscores, else made-up ones.

    Examples
    --------
    >>> identifiers(["rain", "wet grass", "x1"])
    {'rain': 'rain', 'wet grass': 'x2', 'x1': 'x1'}
    """
    listed_names = list(names)
    taken = {name for name in listed_names if _IDENTIFIER.fullmatch(name)}
    ids = {}
    number = 0
    for name in listed_names:
        ids[name] = name
        if name not in taken:
            while (made := f"x{number}") in taken or number == 0:
                number += 1
            taken.add(made)
            ids[name] = made
    return ids


def quoted(text: str) -> str:
    """Return a text in double quotes, those in it behind a backslash; ``ValueError`` if it has a line break."""
    if "\n" in text or "\r" in text:
        raise ValueError(f"the file cannot hold {text!r}: it has a line break")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
