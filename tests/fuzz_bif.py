"""Mutants of Bayesian networks in BIF."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from mutating import NUMBERS, ODD, data_files, mutated_text

from pypgm.bayes import BayesianNetwork

SUFFIX = ".bif"
_OWN = b"""network "a net" { property "x ; }" ; }
variable a { type discrete [ 2 ] { "yes, no", no }; property p = { q } ; }
variable b { type discrete [ 3 ] { x, y, z }; }
variable c { type discrete[2] { 0 1 }; } // a comment
probability ( a ) { table 0.3, 0.7; }
probability ( b | a ) { (no) 0.1, 0.2, 0.7; default 0.2, 0.3, 0.5; }
/* another */ probability ( c | a, b ) { table 0 .1 .2 .3 .4 .5 1 .9 .8 .7 .6 .5; }
"""
_TOKENS = [*NUMBERS, *ODD, *b'{ } ( ) | ; , " "" // /* */ table default probability variable network'.split()]
_TOKENS += [b"property", b"type discrete", b"[ 2 ]", b"[ 99999999999 ]", b"[ -1 ]", b'{"}{"' * 100, b"{}" * 200]
_TOKENS += [b"function = max", b"a", b"b", b"yes", b"no"]


def seeds() -> dict[str, bytes]:
    """Return small networks of the repository and one with all ways to write."""
    return {"own": _OWN} | data_files("bif/*.bif.gz", 40_000) | data_files("bif_dialects/*.bif", 20_000)


mutated = partial(mutated_text, tokens=_TOKENS)


def use(path: str) -> str:
    """Read a network, ask it, and write and read it again."""
    net = BayesianNetwork.read_bif(path)
    for name, table in net.tables.items():
        rows = table.values.reshape(-1, net.domain.size((name,)))
        if not (rows >= 0).all() or np.abs(rows.sum(axis=1) - 1).max() > 0.1:
            return f"the rows of {name!r} are no probabilities"
    for last in net.domain.attributes[-1:]:
        answer = net.query(last).values
        if not (answer >= 0).all() or abs(answer.sum() - 1) > 1e-6:
            return f"the probabilities of {last!r} sum to {answer.sum()}"
    with tempfile.TemporaryDirectory() as folder:
        again = Path(folder) / "again.bif"
        net.write_bif(again)
        read = BayesianNetwork.read_bif(again)
    same = read.domain == net.domain and read.parents == net.parents and read.name == net.name
    same = same and all((read.tables[a].values == net.tables[a].values).all() for a in net.domain)
    return "" if same else "another network after it is written and read again"
