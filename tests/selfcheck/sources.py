"""Sources of records compared with the codes of their values: the same counts from each."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from pypgm.audit.finding import Finding, finding
from pypgm.data import Boolean, Categorical, Column, Integer, Real, Schema
from pypgm.data.sources.opened import opened
from pypgm.data.sources.source import open_source
from selfcheck.containers import TYPED, UNTYPED, Columns, Container, is_there, reading_of, typed

_EXACT = 1 << 53  # from here on doubles do not distinguish consecutive integers

_VALUES: dict[str, tuple[Column, Sequence[object]]] = {
    "text": (Categorical(["x", "a long name"], null=True), ["x", "a long name", None]),
    "number": (Categorical([_EXACT, _EXACT + 1, _EXACT + 2], null=True), [_EXACT, _EXACT + 1, _EXACT + 2, None]),
    "whole": (Integer(0, _EXACT - 1, edges=[9, _EXACT - 1], null=True), [8, 9, _EXACT - 1, None]),
    "share": (Real(0, 1, edges=[0.1, 0.3], null=True), [0.05, 0.1, 0.3, None]),
    "flag": (Boolean(["False", "True"], null=True), [False, True, None]),
}
"""Columns, and the value of each of their codes."""

_SCHEMA = Schema({name: column for name, (column, _) in _VALUES.items()})


def check_sources(containers: Sequence[str] = (*TYPED, *UNTYPED)) -> Finding:
    """Count the same records from every container: the cells must be those of their codes.

    Values lie beyond what doubles tell apart, beside nulls and where bins begin; a file is read in many blocks. Tables
    have nulls in each column or in none, many records or one.
    """
    known = {**TYPED, **UNTYPED}
    there = [name for name in containers if is_there(known[name])]
    defects = [wrong for name in there for wrong in _wrong_counts(name, known[name])]
    return finding("sources", "counts", defects, f"{len(there)} containers, {len(_VALUES)} columns, equal integers")


def _wrong_counts(name: str, container: Container) -> Iterator[tuple[str, str]]:
    cliques = [clique for k in (0, 1, 2) for clique in itertools.combinations(_VALUES, k)]
    for n, has_nulls in ((90, True), (90, False), (1, True)):
        codes = _codes(n, has_nulls=has_nulls)
        raw: Columns = {
            a: typed((_VALUES[a][1][code] for code in values.tolist()), _VALUES[a][1]) for a, values in codes.items()
        }
        wanted = _SCHEMA.records(codes).count(cliques)
        try:
            with container(raw) as source:
                held = opened(open_source(source, **reading_of(source)), _SCHEMA)
                counts = held.records(_SCHEMA).count(cliques)
                held.close()
        except Exception as error:
            yield "wrong counts", f"{name}: {n} records that fit are refused: {type(error).__name__}: {error}"
            continue
        for clique, one, other in zip(cliques, counts, wanted, strict=True):
            if not np.array_equal(one, other):
                yield "wrong counts", f"{name}: {clique} has {one.tolist()}, {other.tolist()} by its codes"


def _codes(n: int, *, has_nulls: bool) -> dict[str, NDArray[np.integer]]:
    rng = np.random.default_rng(n)
    sizes = {a: len(values) - (not has_nulls) for a, (_, values) in _VALUES.items()}
    return {a: rng.integers(0, size, n).astype(_VALUES[a][0].dtype) for a, size in sizes.items()}
