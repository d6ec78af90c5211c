"""Whole persons, named by a column: changes by one more person with all records."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import pypgm
from pypgm.audit.finding import Finding, finding
from pypgm.audit.mechanisms import Runs, check_calibration, check_charges, same_run
from pypgm.audit.pairs import DOMAIN, Pair
from pypgm.audit.trace import core_with, observe
from pypgm.data import Dataset, Integer, OpenSchema, OpenSet, Person, QuantileBins, Schema, StreamedTable, scan
from pypgm.mechanisms.related import joined
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.relation import Privacy
from pypgm.privacy.settling import settle

Raw: TypeAlias = Mapping[str, Sequence[Any]]
Source: TypeAlias = Callable[[Raw, Path, Schema], Any]
"""Function that makes a table of raw columns, in a folder for its files."""

_PERSON = Person("id", at_most=2)
SCHEMA = Schema({"a": 3, "b": 2, "c": 2}, person=_PERSON)
OPEN = OpenSchema(
    {"a": OpenSet("1/4"), "b": QuantileBins(Integer(0, 1), 2, "1/8"), "c": 2}, person=Person("id", at_most=2)
)
_PURE = Budget(epsilon=4)
BUDGETS = {
    **dict.fromkeys(("wide", "mst", "aim", "hdmm", "adaptive_grid", "screen"), Budget(epsilon=4, delta="1/1000000")),
    **dict.fromkeys(("mwem", "privbayes"), _PURE),
}
"""Mechanisms whose whole releases are compared, with their budgets."""

_OPEN_BUDGET = Budget(epsilon=4, delta="1/1000000", reserved_delta="1/10000000")
_OTHERS: Raw = {
    "id": [f"P{i // 2}" for i in range(24)],
    **{a: [i * (1 + j) % DOMAIN.size(a) for i in range(24)] for j, a in enumerate(DOMAIN)},
}
_HERS: Raw = {"id": ["somebody"] * 5, "a": [2, 2, 2, 2, 0], "b": [1, 1, 1, 1, 0], "c": [0, 0, 0, 1, 1]}
_WITH_HER = {name: [*_HERS[name][:2], *values, *_HERS[name][2:]] for name, values in _OTHERS.items()}


def of_mapping(raw: Raw, folder: Path, schema: Schema) -> Raw:
    """Return the columns unchanged."""
    del folder, schema
    return raw


def of_csv(raw: Raw, folder: Path, schema: Schema) -> str:
    """Return the path of a CSV file."""
    del schema
    path = folder / "table.csv"
    lines = [",".join(raw), *(",".join(map(str, row)) for row in zip(*raw.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def of_pieces(raw: Raw, folder: Path, schema: Schema) -> StreamedTable:
    """Return a table read in pieces."""
    del folder

    def pieces(names: Sequence[str], rows: int) -> Iterator[dict[str, Sequence[Any]]]:
        del rows
        for start in range(0, max(1, len(raw["id"])), 7):
            yield {name: raw[name][start : start + 7] for name in names}

    return StreamedTable(pieces, list(raw), schema)


def of_scan(raw: Raw, folder: Path, schema: Schema) -> StreamedTable:
    """Return a CSV file read in pieces."""
    return scan(of_csv(raw, folder, schema), schema)


SOURCES: Mapping[str, Source] = {"columns": of_mapping, "CSV": of_csv, "pieces": of_pieces, "scan": of_scan}


def check_persons(
    pairs: int = 20, sources: Mapping[str, Source] = SOURCES, mechanisms: Sequence[str] = ("mst", "wide", "mwem")
) -> Finding:
    """Compare the records kept of tables with and without each person, and whole releases of both on equal outcomes.

    The records kept of the others must be the same, whatever the person's records, and of the person's own no more than
    the schema says. Releases are observed with and without a person of five records, from tables of several kinds.
    """
    wrong = [each for seed in range(pairs) for each in (*_of_neighbours(seed), *_of_parents(seed), *_of_open(seed))]
    for name, source in sources.items():
        for mechanism in mechanisms:
            wrong += list(of_releases(name, source, mechanism, SCHEMA))
    for name in ("columns", "CSV"):
        if name in sources:
            wrong += list(of_releases(name, sources[name], "mst", OPEN))
    figures = f"{pairs} tables, {len(sources)} kinds of tables, {len(mechanisms)} mechanisms"
    return finding("persons", "records of a person", wrong, figures)


def _generated(seed: int) -> dict[str, list[Any]]:
    """Return a small table of a few persons, some of whose records are alike, in any order."""
    rng = np.random.default_rng(seed)
    ids = rng.permutation(np.repeat(np.arange(6), rng.integers(0, 6, 6)))
    codes = {a: rng.integers(0, DOMAIN.size(a), len(ids)).tolist() for a in DOMAIN}
    return {"id": ids.tolist(), "ward": (ids // 2).tolist(), "bed": (ids % 2).tolist(), **codes}


def _rows(raw: Raw, chosen: Sequence[bool]) -> dict[str, list[Any]]:
    return {name: [value for value, here in zip(values, chosen, strict=True) if here] for name, values in raw.items()}


def _of_neighbours(seed: int) -> Iterator[tuple[str, str]]:
    rng = np.random.default_rng(seed)
    named: tuple[str, ...] = ("id",) if seed % 2 else ("ward", "bed")
    schema = Schema({a: DOMAIN.size(a) for a in DOMAIN}, person=Person(named, int(rng.integers(1, 4))))
    raw, secret = _generated(seed), rng.bytes(16)

    def kept(table: Raw) -> Counter[Any]:
        data = schema.encode(table, ignore_extra=True).kept(secret)
        return Counter(zip(*(data.columns[a].tolist() for a in DOMAIN), strict=True))

    turned = rng.permutation(len(raw["id"]))
    if kept(raw) != kept({name: [values[i] for i in turned] for name, values in raw.items()}):
        yield "sensitivity", f"table {seed}: which records are kept depends on their order"
    for somebody in dict.fromkeys(raw["id"]):
        whole, less = kept(raw), kept(_rows(raw, [i != somebody for i in raw["id"]]))
        moved = (whole - less).total() + (less - whole).total()
        if moved > schema.records_per_person:
            change = f"{moved} records change with one person, {schema.records_per_person} are declared"
            yield "lost user bound", f"table {seed}: {change}"
        elif less - whole:
            yield "sensitivity", f"table {seed}: a person more takes records of others away"
        elif whole.total() != sum(min(raw["id"].count(i), schema.records_per_person) for i in set(raw["id"])):
            yield "wrong counts", f"table {seed}: not as many records of each person are kept as there are, or may be"


def _of_parents(seed: int) -> Iterator[tuple[str, str]]:
    """Compare parents and children of tables with and without each person; all parents have children."""
    rng = np.random.default_rng(seed)
    who, of = rng.integers(0, 3, 9), rng.integers(0, 9, 30)
    codes = rng.integers(0, 3, 9), rng.integers(0, 2, 30)
    schema, children = Schema({"a": 3}, person=Person("who", 2)), DOMAIN.project(("b",))

    def counts(stay: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
        row_of = np.where(stay, np.cumsum(stay) - 1, -1)
        parents = schema.encode({"who": who[stay], "a": codes[0][stay]})
        table = Dataset({"b": codes[1][stay[of]]}, children)
        tables = joined(parents, table, row_of[of][stay[of]], max_children=3, secret=b"known to an audit"[:16])
        return [each.count([each.domain.attributes])[0] for each in tables]

    for somebody in range(3):
        pairs = zip(counts(np.ones(9, bool)), counts(who != somebody), (2, 6), strict=True)
        for one, other, most in pairs:
            if (moved := int(np.abs(one - other).sum())) > most:
                yield "lost user bound", f"tables {seed}: {moved} records change with one person, {most} are declared"


def _of_open(seed: int) -> Iterator[tuple[str, str]]:
    """Compare the hidden numbers of an open column in a table and in the same table in another order."""
    raw, rng = _generated(seed), np.random.default_rng(seed)
    schema = OpenSchema({"a": OpenSet("1/4")}, person=Person("id", 1))
    turned = rng.permutation(len(raw["id"]))
    hidden: list[NDArray[np.int64]] = []

    def noted(counts: NDArray[np.int64], *_: Any, **__: Any) -> NDArray[np.int64]:
        hidden.append(np.sort(counts))
        return counts

    with core_with(flip_coins=lambda count, *_: np.arange(count) % 3 == 0, add_discrete_gaussian=noted):
        for columns in (raw, {name: [values[i] for i in turned] for name, values in raw.items()}):
            settle(schema, columns, None, Ledger(Budget(rho=8, reserved_delta="1/100000")))
    if len(hidden) != 2 or not np.array_equal(hidden[0], hidden[1]):
        yield "sensitivity", f"table {seed}: the records in which open values are found depend on their order"


def of_releases(
    name: str,
    source: Source,
    mechanism: str,
    schema: Schema | OpenSchema,
    tables: Sequence[Raw] = (_WITH_HER, _OTHERS),
) -> Iterator[tuple[str, str]]:
    """Compare releases of a table with and without a person of five records, or of other tables, on equal outcomes."""
    where = f"{mechanism}, {name}"
    budget = BUDGETS[mechanism] if isinstance(schema, Schema) else _OPEN_BUDGET
    weight = "" if schema.weight is None else schema.weight.column
    privacy = Privacy("add-remove", schema.records_per_person, schema.key_columns, weight)
    traces: list[Any] = []
    empty = Dataset({a: [] for a in DOMAIN}, DOMAIN)
    with tempfile.TemporaryDirectory() as folder:
        for columns in tables:
            table = source(columns, Path(folder), schema.provisional)
            known = {} if hasattr(table, "schema") else {"schema": schema}

            def released(_: Any, whole: Budget, __: Any, table: Any = table, known: Any = known) -> Any:
                return getattr(pypgm.mechanisms, mechanism)(table, budget=whole, **known)

            traces.append(observe(released, empty, budget, privacy, like=traces[0] if traces else None))
    one, other = traces
    runs = Runs(where, budget, ((Pair("one person", empty, empty, privacy, neighbours=True), one, other),))
    checks = [check_calibration, check_charges] if isinstance(schema, Schema) else [check_calibration]
    for checked in (check(runs) for check in checks):
        yield from ((defect, f"{where}: {checked.detail}") for defect in checked.defects)
    yield from ((defect, f"{where}: {what}") for defect, what in same_run(one, other))
    if one.error:
        yield "no release", f"{where}: {one.error}"
