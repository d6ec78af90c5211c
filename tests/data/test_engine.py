"""Tables in engines: counted there, with the counts and releases of the same records in memory."""

from __future__ import annotations

import logging
import warnings
from contextlib import closing

import numpy as np
import pytest
from engines import ENGINES

import pypgm
from pypgm.data import Boolean, Categorical, Date, EngineTable, Integer, Person, Real, Rule, scan
from pypgm.data.sources import counted, engine_groups, engine_texts
from pypgm.data.sources.foreign import guarded
from pypgm.data.sources.frames import as_columns

ibis = pytest.importorskip("ibis")
pytest.importorskip("pandas")
pytest.importorskip("narwhals")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # those of the engines' own drivers

SCHEMA = pypgm.Schema(
    {
        "dept": 7,
        "age": Integer(0, 99, width=7),
        "job name": Categorical(["office", "a'b", 'q"x'], null="?"),
        "wage": Real(0, 100, bins=9, outside="clip"),
        "year": Integer(2000, 2009, null="?", outside="other"),
        "hired": Date("2020-01-01", "2022-12-31", "month"),
        "active": Boolean(["no", "yes"]),
    }
)
CLIQUES = [("age", "dept"), ("dept",), (), ("hired", "job name", "wage"), ("active", "age"), ("dept", "age"), ("year",)]
TYPES = {
    "duckdb": "INT, VARCHAR, DOUBLE, INT, DATE, BOOLEAN, SMALLINT",
    "sqlite": "INT, TEXT, REAL, INT, DATE, BOOLEAN, INT",
    "postgres": "INT, TEXT, DOUBLE PRECISION, INT, DATE, BOOLEAN, SMALLINT",
    "spark": "INT, STRING, DOUBLE, INT, DATE, BOOLEAN, SMALLINT",
    "mysql": "INT, VARCHAR(9), DOUBLE, INT, DATE, BOOLEAN, SMALLINT",
    "clickhouse": "INT, VARCHAR, DOUBLE, INT, Date32, BOOLEAN, SMALLINT",
}


@pytest.fixture(scope="module")
def raw():
    rng = np.random.default_rng(0)
    n = 700
    columns = {
        "age": rng.integers(0, 100, n),
        "job name": rng.choice(np.array(["a'b", "office", 'q"x', None], dtype=object), n),
        "wage": np.round(rng.normal(50, 40, n), 2),
        "year": rng.integers(1998, 2012, n).astype(object),
        "hired": np.datetime64("2020-01-01") + rng.integers(0, 900, n),
        "active": rng.integers(0, 2, n).astype(bool),
        "dept": rng.integers(0, 7, n),
    }
    columns["year"][:9] = None
    columns["wage"][:3] = 0, 100, 100 / 9
    return columns


@pytest.fixture(params=ENGINES)
def own(request):
    with closing(ENGINES[request.param](ibis)) as engine:
        yield engine


def of_records(own, raw):
    """Return a table of the records, under the names that SQL gives its columns with an alias."""
    quote = "`" if own.name == "spark" else '"'
    names = [f"{quote}{name}{quote} {kind}" for name, kind in zip(raw, TYPES[own.name].split(", "), strict=True)]
    texts = {"sqlite": ("1", "0")}.get(own.name, ("TRUE", "FALSE"))

    def sql(value):
        if value is None:
            return "NULL"
        if isinstance(value, bool):
            return texts[0] if value else texts[1]
        if isinstance(value, int | float):
            return repr(value)
        return (
            "'" + str(value).replace("'", "''") + "'"
            if own.name != "spark"
            else f'"{str(value).replace(chr(34), chr(92) + chr(34))}"'
        )

    rows = zip(*(column.tolist() for column in raw.values()), strict=True)
    cast = "CAST({} AS DATE)" if own.name != "sqlite" else "{}"
    return own.made(
        names,
        [[cast.format(sql(v)) if n == "hired" else sql(v) for n, v in zip(raw, row, strict=True)] for row in rows],
    )


def test_counts_and_releases_of_memory(own, raw):
    name = of_records(own, raw)
    table, data = own.opened(name), SCHEMA.encode(raw)
    source = EngineTable(table, SCHEMA)
    assert len(source) == len(data)
    for found, expected in zip(source.count(CLIQUES), data.count(CLIQUES), strict=True):
        np.testing.assert_array_equal(found, expected)
    one, other = (pypgm.mechanisms.mst(of, 1, 1e-9, unsafe_seed=3) for of in (data, source))
    assert [line.cost for line in one.ledger.lines] == [line.cost for line in other.ledger.lines]
    for m, n in zip(one.measurements, other.measurements, strict=True):
        assert m.clique == n.clique
        np.testing.assert_array_equal(m.values, n.values)
    for column, declared, why in (
        ("job name", Categorical(["office"]), "needs one of 'office', and has another value"),
        ("job name", Integer(0, 50), "needs a whole number from 0 to 50, and is not a whole number"),
        ("age", Integer(0, 50), "needs a whole number from 0 to 50, and has another value"),
    ):
        with pytest.raises(ValueError, match=f"column '{column}': {why}"):
            EngineTable(table, pypgm.Schema({**SCHEMA.columns, column: declared}))
    with pytest.raises(ValueError, match="lacks a column for 'more'"):
        EngineTable(table, pypgm.Schema({**SCHEMA.columns, "more": 3}))


@pytest.mark.parametrize("other", [False, True])
def test_texts_are_all_looked_at_or_refused(own, other, monkeypatch):
    monkeypatch.setattr(engine_texts, "MAX_TEXTS", 5)
    schema = pypgm.Schema({"a": Categorical([f"t{i}" for i in range(6)][: 3 if other else 6], other=other)})
    for n in range(1, 7):
        texts = [f"t{i}" for i in range(n)] * 2
        name = own.table("VARCHAR(9)", [[f"'{text}'"] for text in texts], "a")
        if n == 6:
            with pytest.raises(ValueError, match="more than 5 texts"):
                EngineTable(own.opened(name), schema)
        else:
            (found,) = EngineTable(own.opened(name), schema).count(["a"])
            np.testing.assert_array_equal(found, schema.encode({"a": texts}).count(["a"])[0])


def test_a_broken_rule_of_an_engine_is_one_text(own):
    schema = pypgm.Schema({"a": 4, "b": 5}, rules=[Rule(["a", "b"], [[{"from": 1}, {"from": 1}]])])
    told = set()
    for a, b in [("1", "1"), ("3", "4"), ("2", "1")]:
        name = own.table("integer", [["0", "3"], [a, b], ["0", "4"]], "ab")
        with pytest.raises(ValueError, match=r"a combination that a rule forbids$") as error:
            EngineTable(own.opened(name), schema)
        told.add(str(error.value))
    assert len(told) == 1


def test_a_refusal_does_not_tell_how_many_values_do_not_fit(own):
    schema = pypgm.Schema({"a": 3, "b": Integer(0, 9)})
    told = set()
    for n in (1, 3):
        name = own.table("integer", [["7", "1"]] * n + [["0", "2"]] * 4, "ab")
        with pytest.raises(ValueError, match="column 'a'") as error:
            EngineTable(own.opened(name), schema)
        told.add(str(error.value))
    assert len(told) == 1


@pytest.mark.parametrize("own", ["sqlite"], indirect=True)
def test_sets_of_an_engine_without_grouping_sets(own, monkeypatch):
    monkeypatch.setattr(counted, "_KEPT_CELLS", 0)  # each count asks the engine
    name = own.table("integer", [["1", "0", "NULL"], ["0", "1", "2"], ["1", "0", "2"]], "abc")
    schema = pypgm.Schema({"a": 2, "b": 2, "c": Categorical([2, 3], null=True)})
    source = EngineTable(own.opened(name), schema)
    assert not source._queries.has_sets
    cliques = [("a",), ("b", "a"), (), ("c",), ("a", "b", "c")]
    expected = schema.encode({"a": [1, 0, 1], "b": [0, 1, 0], "c": [None, 2, 2]}).count(cliques)
    for most in (100, 2):
        monkeypatch.setattr(engine_groups, "_MAX_SELECTS", most)
        for found, right in zip(source.count(cliques), expected, strict=True):
            np.testing.assert_array_equal(found, right)


def assert_tells_nothing(error):
    """Check that no text of an error, nor of one that it came from, has the value of a record."""
    while error is not None:
        assert "secret" not in f"{error!r} {error}"
        assert error.__context__ is error.__cause__
        error = error.__cause__


BROKEN = {
    "duckdb": "CAST(a AS INTEGER)",
    "sqlite": "json_extract(a, '$')",
    "postgres": "CAST(a AS INTEGER)",
    "spark": "CAST(a AS INTEGER)",
    "mysql": "POW(IF(a = '7', 1, 1e308), 2)",
    "clickhouse": "CAST(a AS INTEGER)",
}


def test_errors_of_engines_hold_no_record(own, capfd, caplog, recwarn):
    kind = {"spark": "STRING"}.get(own.name, "VARCHAR(30)")
    name = own.table(kind, [["'7'"], ["'secret-of-anna'"]], ["a"])
    view = "VIEW" if own.name in {"mysql", "clickhouse"} else "TEMP VIEW"
    own.run(
        f"CREATE OR REPLACE {view} broken AS SELECT {BROKEN[own.name]} AS a FROM {name}"
        if own.name != "sqlite"
        else f"CREATE VIEW broken AS SELECT {BROKEN[own.name]} AS a FROM {name} WHERE a <> '7'"
    )
    table = own.opened("broken") if own.name != "sqlite" else own.opened(name).mutate(a=ibis.literal(1)).select("a")
    if own.name == "sqlite":
        table = own.connection.sql("SELECT * FROM broken", schema=ibis.schema({"a": "int64"}))
    capfd.readouterr()
    with pytest.raises(ValueError, match=r"failed with \w+, whose text is not shown") as caught:
        EngineTable(table, pypgm.Schema({"a": Integer(0, 9)}))
    assert_tells_nothing(caught.value)
    assert "secret" not in "".join(capfd.readouterr()) + caplog.text + "".join(str(w.message) for w in recwarn.list)


def test_errors_of_readers_hold_no_record():
    pytest.importorskip("duckdb")

    class Series:
        def __array__(self):
            return np.zeros(1)

        def __iter__(self):
            raise RuntimeError("secret")

    with pytest.raises(ValueError, match="reading column 'a' failed with RuntimeError") as caught:
        as_columns({"a": Series()})
    assert_tells_nothing(caught.value)
    import duckdb

    relation = duckdb.sql("SELECT CAST(a AS INTEGER) AS a FROM (VALUES ('7'), ('secret-of-anna')) v(a)")
    with pytest.raises(ValueError, match="reading the relation failed with") as caught:
        scan(relation, pypgm.Schema({"a": Integer(0, 9)}))
    assert_tells_nothing(caught.value)


def raise_(error):
    raise error


def test_guarded_steps_say_nothing(caplog, capfd):
    def step():
        warnings.warn("secret", stacklevel=1)
        logging.getLogger("engine").critical("secret")
        raise UnicodeDecodeError("utf-8", b"secret", 0, 1, "secret")

    before = list(warnings.filters)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with pytest.raises(ValueError, match=r"^a step failed with UnicodeDecodeError, whose text") as caught:
            guarded("a step", step)
    assert_tells_nothing(caught.value)
    assert not told
    assert not caplog.records
    assert "secret" not in "".join(capfd.readouterr())
    assert list(warnings.filters) == before
    logging.getLogger("engine").critical("heard")
    assert "heard" in caplog.text
    with pytest.raises(FileNotFoundError, match="No such file or directory: 'a step'"):
        guarded("a step", lambda: open("/nonexistent/secret"))  # noqa: SIM115
    with pytest.raises(OSError, match="Input/output error: 'a step'") as caught:
        guarded("a step", lambda: raise_(OSError(5, "secret", "secret")))
    assert_tells_nothing(caught.value)
    with pytest.raises(ImportError, match="a step needs the package no_such_package"):
        guarded("a step", lambda: __import__("no_such_package"))


def test_refusals():
    with pytest.raises(TypeError, match=r"needs an ibis.Table, got dict"):
        EngineTable({}, SCHEMA)


PERSONS = [("NHS no", [7, 7, 7, 8, 8, 9]), ("who", ["a", "a", "A", "a", "b ", "b"])]  # whose case and spaces differ


@pytest.mark.parametrize(("name", "ids"), PERSONS)
def test_of_each_person_so_many_records_are_kept(own, name, ids):
    """Without any one person the engine keeps the same records of the others, and at most two of hers."""
    kind = {int: "INT", str: {"sqlite": "TEXT", "spark": "STRING"}.get(own.name, "VARCHAR")}[type(ids[0])]
    schema, secret = pypgm.Schema({"a": 3, "b": 2}, person=Person(name, 2)), bytes(range(16))
    rng = np.random.default_rng(0)
    people = rng.choice(np.array(ids, object), 30).tolist()
    rows = [(p, *map(int, rng.integers(0, [3, 2]))) for p in people]

    def opened(rows):
        quote = "`" if own.name == "spark" else '"'
        made = own.made([f"{quote}{name}{quote} {kind}", "a INT", "b INT"], [list(map(repr, row)) for row in rows])
        return EngineTable(own.opened(made), schema)

    if own.name == "sqlite":
        with pytest.raises(ValueError, match="sqlite has no hash to choose among their records"):
            opened(rows)
        return
    counted = opened(rows).kept(secret).count([("a", "b")])[0]
    for somebody in {str(p).strip() for p in people}:
        hers = [row for row in rows if str(row[0]).strip() == somebody]
        rest = [row for row in rows if str(row[0]).strip() != somebody]
        alone, without = (opened(part).kept(secret).count([("a", "b")])[0] for part in (hers, rest))
        np.testing.assert_array_equal(alone + without, counted)
        assert alone.sum() == min(2, len(hers))
    nobody = opened(rows[:2]).schema.person
    made = own.made(
        [f"{name!r}".replace("'", "`" if own.name == "spark" else '"') + f" {kind}", "a INT"], [["NULL", "1"]]
    )
    with pytest.raises(ValueError, match="needs a value that names a person in each record"):
        EngineTable(own.opened(made), pypgm.Schema({"a": 3}, person=nobody))
    alone = pypgm.Schema({"a": 3}, person=Person(name, 1, null="alone"))
    assert len(EngineTable(own.opened(made), alone).kept(secret)) == 1
