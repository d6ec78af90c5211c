"""Queries of engines: short for each kind of column and dialect, few of them, and joined with long lists of texts."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from contextlib import closing

import numpy as np
import pytest
from engines import ENGINES

import pypgm
from pypgm.data import Boolean, Categorical, Codes, Date, EngineTable, Integer, Real, Rule
from pypgm.data.sources import counted, engine
from pypgm.data.sources.engine_codes import code_of
from pypgm.data.sources.engine_groups import Queries, covers
from pypgm.data.sources.engine_texts import Texts, list_in_sql

ibis = pytest.importorskip("ibis")
sqlglot = pytest.importorskip("sqlglot")
for package in ("pandas", "pyarrow", "narwhals"):
    pytest.importorskip(package)
pytestmark = pytest.mark.filterwarnings("ignore")  # those of the engines' own drivers

WITH_TEXTS = ["bigquery", "snowflake", "trino", "databricks", "clickhouse", "postgres", "duckdb", "mysql"]
DIALECTS = [*WITH_TEXTS, "mssql"]
WITH_TIMES = {"hour", "minute", "second"}
DATES = {
    f"{kind} by {step}": (
        kind,
        Date("1931-05-07", "1931-05-07" if step in WITH_TIMES else "2031-12-30", step, outside="clip", null=""),
    )
    for kind in ("date", "timestamp")
    for step in ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
    if kind == "timestamp" or step not in WITH_TIMES
}
KINDS = {
    **DATES,
    "date for times": ("date", Date("2020-01-01", "2020-12-31", "month", "%Y-%m-%d %H:%M", outside="clip")),
    "width": ("int64", Integer(0, 999_999, width=10, outside="null", null="")),
    "edges": ("int16", Integer(0, 1000, edges=[1, 10, 100], outside="clip", null="-1")),
    "wholes of decimals": ("decimal(18,4)", Integer(0, 120, width=10, null="")),
    "doubles": ("float64", Real(0, 100, bins=10, outside="clip", null="NaN")),
    "decimals": ("decimal(12,2)", Real(0, 100, bins=10, outside="other", null="")),
    "flag": ("boolean", Boolean(["no", "yes"], null="")),
    "codes": ("int32", Codes(16)),
    "list": ("int64", Categorical([1, 2, 5, 9], null="")),
}


@pytest.fixture
def dialect(request, monkeypatch):
    connection = type("Connection", (), {"character_set_name": lambda self: "utf8mb4"})()
    backend = type("Backend", (), {"name": request.param, "con": connection})()
    monkeypatch.setattr("ibis.expr.types.core.Expr.get_backend", lambda self: backend)
    return request.param


@pytest.mark.parametrize("dialect", DIALECTS, indirect=True)
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_column_is_short_in_each_dialect(dialect, kind):
    of_engine, column = KINDS[kind]
    table = ibis.table({"x": of_engine}, name="t")
    code, problem = code_of(table, "x", column)
    assert problem is None
    query = str(ibis.to_sql(table.select(c0=code), dialect=dialect, pretty=False))
    assert len(query) <= 1000
    assert query.casefold().count("year") <= 1 + ("FROM_PARTS" in query)  # is extracted once


@pytest.mark.parametrize("dialect", WITH_TEXTS, indirect=True)
@pytest.mark.parametrize("n", [3, 20, 500])
def test_texts_are_compared_once_in_each_dialect(dialect, n):
    table = ibis.table({"x": "string", "y": "int64"}, name="t")
    texts = Texts(table, {"x": Categorical([f"v{i}" for i in range(n)], null="")})
    keys = [f"v{i}".encode().hex().upper() for i in range(n)]
    assert texts.encode("x", ["=-1", *keys]) == {"=-1": -1} | {key: i for i, key in enumerate(keys)}
    joined, codes, lists = texts.joined(["x"])
    query = str(ibis.to_sql(joined.select(c0=codes["x"], y=joined.y), dialect=dialect, pretty=False))
    assert len(lists) == (n == 500)
    assert len(query) <= 1000
    assert query.count("hex") + query.count("HEX") + query.count("Hex") == 1
    for of_list in lists.values():
        sqlglot.parse_one(of_list, dialect=dialect)
        written = {"clickhouse": "{},{}", "mysql": '["{}",{}]'}.get(dialect, "('{}',{})")
        assert all(written.format(key, i) in of_list for i, key in enumerate(keys))


@pytest.mark.parametrize("longest", [500_000, 10])
def test_a_query_has_the_lists_of_its_own_columns(monkeypatch, longest):
    """Two columns of 15,000 texts are counted by queries that engines take: those have a million characters at most."""
    pytest.importorskip("duckdb")
    monkeypatch.setattr(counted, "_KEPT_CELLS", 0)
    monkeypatch.setattr(engine, "_LONGEST_LISTS", longest)
    n, queries, answer = 15_000, [], Queries._answer
    monkeypatch.setattr(
        Queries, "_answer", lambda self, query, kinds: queries.append(query) or answer(self, query, kinds)
    )
    texts = [f"label number {i}" for i in range(n)]
    with own("duckdb") as of_duckdb:
        select = "SELECT 'label number ' || i AS a, 'label number ' || (i * 7 % 15000) AS b, i % 7 AS c"
        of_duckdb.run(f"CREATE TABLE long AS {select} FROM range({n}) AS r(i)")
        source = EngineTable(of_duckdb.opened("long"), pypgm.Schema({"a": texts, "b": texts, "c": 7}))
        queries.clear()
        found = source.count([("a", "c"), ("b", "c"), ("c",), ()])
    values = {"a": texts, "b": [texts[i * 7 % n] for i in range(n)], "c": [i % 7 for i in range(n)]}
    expected = source.schema.encode(values).count([("a", "c"), ("b", "c"), ("c",), ()])
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(queries) >= 2
    assert max(map(len, queries)) < 900_000


def own(name):
    return closing(ENGINES[name](ibis))


@pytest.mark.parametrize("name", ENGINES)
def test_long_lists_of_texts_are_joined(name, monkeypatch):
    """The counts of texts that only their bytes tell apart are those of memory, and a new text is a change."""
    monkeypatch.setattr(counted, "_KEPT_CELLS", 0)
    texts = [f"{t}{i}" for i in range(60) for t in ("Ort ", "ort ", "Örtchen ", "O\u0308rtchen ")]
    schema = pypgm.Schema({"a": Categorical(texts, null=""), "b": 3, "c": Categorical([*texts, "other"], null="-")})
    rng = np.random.default_rng(0)
    rows = [[texts[i], int(i) % 3, texts[-1 - i]] for i in rng.integers(0, len(texts), 500)]
    rows[7][0], rows[8][0], rows[9][2] = None, " " + texts[5] + " ", "-"
    with own(name) as engine:
        kind = {"sqlite": "TEXT COLLATE NOCASE", "spark": "STRING"}.get(name, "VARCHAR")
        sql = [["NULL" if v is None else f"'{v}'" if isinstance(v, str) else str(v) for v in row] for row in rows]
        made = engine.made([f"a {kind}", "b INT", f"c {kind}"], sql)
        source = EngineTable(engine.opened(made), schema)
        cliques = [("a",), ("b", "a"), ("c", "a"), ("c", "b"), ()]
        data = schema.encode(dict(zip("abc", map(list, zip(*rows, strict=True)), strict=True)))
        for found, expected in zip(source.count(cliques), data.count(cliques), strict=True):
            np.testing.assert_array_equal(found, expected)
        source.end_snapshot()
        if name in {"spark", "clickhouse"}:  # whose tables are not updated
            engine.add(made, [sql[0]])
        else:
            engine.run(f"UPDATE {made} SET c = 'OTHER' WHERE a = 'Ort 3'")
        with pytest.raises(ValueError, match=r"^the table changed while it was counted$"):
            source.count([("c",)])


@pytest.mark.parametrize("kind", ["BIGINT", "DECIMAL(20,2)", "DOUBLE"])
def test_long_lists_of_numbers_have_the_codes_of_memory(kind):
    rng = np.random.default_rng(1)
    labels = [int(x) for x in rng.permutation(5000)[:400]]
    schema = pypgm.Schema({"a": Categorical(labels, null="-1", other=True), "b": Categorical(sorted(labels), null="7")})
    values = rng.integers(-2, 5002, 900)
    values[:5] = -1, labels[0], labels[1], max(labels), min(labels)
    held = {"a": values.tolist(), "b": [v if v in labels else None for v in values.tolist()]}
    with own("duckdb") as engine:
        sql = [["NULL" if v is None else str(v) for v in row] for row in zip(*held.values(), strict=True)]
        source = EngineTable(engine.opened(engine.made([f"a {kind}", f"b {kind}"], sql)), schema)
    for found, expected in zip(source.count(["a", "b"]), schema.encode(held).count(["a", "b"]), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", [n for n in ENGINES if n != "sqlite"])
def test_opening_is_one_query(name, monkeypatch):
    """Texts, misfits, single attributes and rules come from one query, and one more for what texts decide."""
    queries = []
    answer = Queries._answer
    monkeypatch.setattr(
        Queries, "_answer", lambda self, query, kinds: queries.append(query) or answer(self, query, kinds)
    )
    rule = Rule(["n", "m"], [[{"from": 2}, {"from": 2}]])
    columns = {"t": ["x", "y"], "n": 3, "u": ["p", "q"], "m": 3}
    rows = [["'x'", "0", "'q'", "2"], ["'y'", "2", "'q'", "0"], ["'x'", "1", "'p'", "1"]]
    kind = "STRING" if name == "spark" else "VARCHAR"
    with own(name) as engine:
        table = engine.opened(engine.made([f"t {kind}", "n INT", f"u {kind}", "m INT"], rows))
        source = EngineTable(table, pypgm.Schema(columns, rules=[rule]))
        singles = source.count(["t", "n", "u", "m"])
        assert [c.tolist() for c in singles] == [[2, 1], [1, 1, 1], [1, 2], [1, 1, 1]]
        assert len(queries) == 1
        source.count([("t", "n")])
        assert len(queries) == 2
        with pytest.raises(ValueError, match=r"2 problems:\n.*'t'.*\n.*'n'"):
            EngineTable(table, pypgm.Schema({**columns, "t": ["x"], "n": 2}))


@pytest.mark.parametrize("name", [*WITH_TEXTS, "mssql", "sqlite"])
def test_the_query_of_groups_is_well_formed_in_each_dialect(name, monkeypatch):
    """It names each column that is grouped, and its answer has as many columns whatever the sets."""
    dialect = {"mssql": "tsql"}.get(name, name)
    answers, backend = [], type("Backend", (), {"name": name, "dialect": dialect})()
    empty = {"k0": np.zeros(0, dtype=np.int64), "t": np.zeros(0, dtype=object), "n": np.zeros(0, dtype=np.int64)}
    monkeypatch.setattr(Queries, "_answer", lambda _, query, kinds: answers.append((query, [*kinds])) or empty)
    sets = [("a", "b", "c"), ("a", "d"), ("t",), ("u",), ()]
    Queries(backend).groups("(SELECT * FROM r)", sets, {"a": 3, "b": 4, "c": 2, "d": 90})
    ((query, columns),) = answers
    assert columns == ["k0", "t", "n"]
    parsed = sqlglot.parse_one(query, dialect=dialect)
    assert parsed.named_selects == columns
    assert {column.name for column in parsed.find_all(sqlglot.exp.Column)} >= set("abcdtu")


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("size", [2**13, 2**60])
def test_groups_by_any_sets_are_those_of_a_counter(name, size, monkeypatch):
    """Groups of texts and of codes, -1 among them, are told apart however many cells their sets have."""
    rng = np.random.default_rng(size)
    sizes = dict.fromkeys("abcd", size) | {"e": 1}
    codes = {a: rng.choice([-1, 0, n // 2, n - 1], 40).tolist() for a, n in sizes.items()}
    held = {**codes, "t": rng.choice(["x", "y", "z"], 40).tolist()}
    every = [c for k in range(6) for c in itertools.combinations(held, k)]
    sets = [*{every[i]: None for i in rng.integers(0, len(every), 12)}, ()]
    answers, answer = [], Queries._answer

    def noted(self, query, kinds):
        answers.append((dict(kinds), answer(self, query, kinds)))
        return answers[-1][1]

    monkeypatch.setattr(Queries, "_answer", noted)
    with own(name) as of_engine:
        kinds = [f"{a} BIGINT" for a in codes] + ["t STRING" if name == "spark" else "t VARCHAR(9)"]
        values = [[f"'{v}'" if isinstance(v, str) else str(v) for v in row] for row in zip(*held.values(), strict=True)]
        table = of_engine.opened(of_engine.made(kinds, values))
        queries = Queries(table.get_backend())
        found = queries.groups(queries.query(table, {}), sets, sizes)
    for names, (columns, counts) in found.items():
        groups = zip(*(columns[a].tolist() for a in names), strict=True) if names else [()]
        rows = zip(*(held[a] for a in names), strict=True) if names else [()] * 40
        assert dict(zip(groups, counts.tolist(), strict=True)) == Counter(rows)
    for of_row, columns in answers:
        assert len(of_row) <= 3 + 4 * (size > 2**13)  # a number, a text and the count, if 64 bits hold the cells
        assert len(columns["n"]) == sum(len(counts) for _, counts in found.values())


@pytest.mark.parametrize("size", [2**40, 2**62, 2**63 - 1])
def test_columns_whose_counts_do_not_fit_are_refused_before_they_are_counted(size):
    with own("duckdb") as of_engine:
        table = of_engine.opened(of_engine.made(["a BIGINT", "b BIGINT"], [["0", "1"], ["1", "0"]]))
        with pytest.raises(pypgm.ModelTooLargeError, match=r"leave out 'b'.*declare fewer values"):
            EngineTable(table, pypgm.Schema({"a": 2, "b": size}))


@pytest.mark.parametrize("seed", range(20))
def test_covers_have_each_clique_and_few_cells(seed):
    rng = np.random.default_rng(seed)
    names = [f"x{i}" for i in range(8)]
    domain = pypgm.Domain({a: int(rng.integers(1, 30)) for a in names})
    every = [c for k in range(4) for c in itertools.combinations(names, k)]
    cliques = [tuple(rng.permutation(every[i])) for i in rng.integers(0, len(every), 30)]
    n_cells = int(rng.integers(1, 5000))
    found = covers(domain, cliques, n_cells)
    assert sorted(c for within in found.values() for c in within) == sorted(set(cliques))
    for cover, within in found.items():
        assert all(set(clique) <= set(cover) for clique in within)
        assert domain.size(cover) <= max(n_cells, *(domain.size(c) for c in within))
        assert cover == domain.canonical(cover)
    assert math.prod(domain.shape) > n_cells or len(found) == 1


def test_lists_in_sql_have_names_and_types():
    assert "STRUCT<k STRING, c INT64>" in list_in_sql("bigquery", ["k", "c"], {"61": 0})
    assert 'AS listed("k", "c")' in list_in_sql("snowflake", ["k", "c"], {"61": 0})
