"""Mutants of models in the UAI format."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

from mutating import NUMBERS, ODD, data_files, mutated_text

import pypgm
from pypgm.io import read_uai_model, write_uai

SUFFIX = ".uai"
_OWN = {
    "pair": b"MARKOV\n2\n2 3\n2\n1 0\n2 0 1\n\n2\n 1 2\n\n6\n 1 2 3\n 4 5 6\n",
    "net": b"BAYES 2  2 2  2  1 1  2 1 0  2  0.2 0.8  4  0.5 0.5 1.0 0.0",
    "none": b"MARKOV 1 2 1 0 1 7e0",
}
_TOKENS = [*NUMBERS, *ODD, b"MARKOV", b"BAYES", b"0 0", b"1 1"]


def seeds() -> dict[str, bytes]:
    """Return small models of the repository and of hand."""
    return _OWN | data_files("uai_small/*.uai", 20_000) | data_files("uai/*.uai.gz", 20_000)


mutated = partial(mutated_text, tokens=_TOKENS)


def use(path: str) -> str:
    """Read a model as vectors and as it stands, write it and read it again."""
    potentials, model = pypgm.read_uai(path), read_uai_model(path)
    if [set(c) for c in potentials.cliques] != [set(t.domain.attributes) for t in model.tables]:
        return "other scopes in the two readers"
    with tempfile.TemporaryDirectory() as folder:
        again = Path(folder) / "again.uai"
        write_uai(model, again)
        read = read_uai_model(again)
    same = (read.kind, read.domain) == (model.kind, model.domain) and len(read.tables) == len(model.tables)
    for one, other in zip(read.tables, model.tables, strict=False):
        same = same and one.domain == other.domain and bool((one.values == other.values).all())
    return "" if same else "another model after it is written and read again"
