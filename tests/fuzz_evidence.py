"""Mutants of evidence in the UAI format."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from mutating import NUMBERS, ODD, data_files, mutated_text

from pypgm.io import read_uai_evidence

SUFFIX = ".evid"
_OWN = {"two": b"2 0 1 3 0\n", "older": b"1\n2 0 1 3 0\n", "none": b"0\n", "one": b"1 4 2"}
_TOKENS = [*NUMBERS, *ODD, b"0 1", b"3 0", b"1\n2", b"7"]


def seeds() -> dict[str, bytes]:
    """Return evidence of the repository and of hand."""
    return _OWN | data_files("uai_small/*.evid", 5000) | data_files("uai/*.evid", 5000)


mutated = partial(mutated_text, tokens=_TOKENS)


def use(path: str) -> str:
    """Read evidence, and compare it with what the words say."""
    evidence = read_uai_evidence(path)
    words = Path(path).read_text(encoding="utf-8-sig").split()
    numerals = [f"{word}" for pair in evidence.items() for word in pair]
    rest = [word.lstrip("0") or "0" for word in words]
    heads = ([], ["0"], [str(len(evidence))], ["1", str(len(evidence))])
    if not evidence:
        return "" if not rest or rest[0] == "0" or rest[:2] == ["1", "0"] else "no evidence of a file with some"
    numbers = [str(int(word)) for word in rest]
    return "" if numbers in [[*head, *numerals] for head in heads] else f"{numerals} of {numbers[:20]}"
