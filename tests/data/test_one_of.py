"""Rules that exactly one of several columns is true: exact in every record, whatever door the table comes by."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import pypgm
from pypgm.data import Boolean, Categorical, Codes, Derived, Integer, OneOf, OpenSet, scan
from pypgm.data.draft.draft import draft_schema
from pypgm.data.draft.warnings import meaning
from pypgm.data.sources.engine import EngineTable

KINDS = {
    "texts": (Boolean(["0", "1"]), ["0", "1"]),
    "booleans": (Boolean(), [False, True]),
    "integers": (Integer(0, 1), [0, 1]),
    "codes": (Codes(2), [0, 1]),
    "words": (Categorical(["no", "yes"]), ["no", "yes"]),
    "numbers": (Categorical([0, 1]), [0, 1]),
}


def block(n, size, seed=0, words=(0, 1), prefix="s"):
    """Return columns of which one is true in each record, and which one."""
    rng = np.random.default_rng(seed)
    place = rng.choice(size, n, p=rng.dirichlet(np.ones(size)))
    place[:size] = range(size)
    return {f"{prefix}{k}": [words[int(code == k)] for code in place] for k in range(size)}, place


def schema_of(names, column, more=None, **options):
    return pypgm.Schema({**dict.fromkeys(names, column), **(more or {})}, rules=[OneOf(list(names))], **options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [2, 3, 20])
def test_records_come_back_as_they_were(kind, size):
    column, words = KINDS[kind]
    columns, place = block(200, size, words=words)
    schema = schema_of(columns, column, {"age": Integer(0, 9)})
    assert schema.domain.shape == (size, 10)
    assert not schema.unread
    data = schema.encode(columns | {"age": [3] * 200})
    assert data.columns[schema.domain.attributes[0]].tolist() == place.tolist()
    decoded = schema.decode(data, rng=0)
    assert list(decoded) == [*columns, "age"]
    assert {name: [words.index(v) if kind == "words" else int(v) for v in decoded[name]] for name in columns} == {
        name: [words.index(v) for v in values] for name, values in columns.items()
    }


@pytest.mark.parametrize("seed", range(10))
def test_every_synthetic_record_keeps_the_rule_at_any_budget(seed):
    columns, _ = block(300, 20, seed)
    others, _ = block(300, 4, seed + 1, prefix="w")
    columns = {**columns, "age": [i % 10 for i in range(300)], **others}
    declared = {name: Boolean(["0", "1"]) if name != "age" else Integer(0, 9) for name in columns}
    rules = [OneOf([f"s{k}" for k in range(20)]), OneOf([f"w{k}" for k in range(4)])]
    schema = pypgm.Schema(declared, rules=rules)
    release = pypgm.synthesize(columns, schema, epsilon=0.05, delta=1e-9, unsafe_seed=seed)
    cells = schema.decode(release.synthetic_data(500, rng=seed), rng=0)
    for rule in rules:
        assert (sum(cells[name].astype(int) for name in rule.columns) == 1).all()


@pytest.mark.parametrize("wrong", [[0, 0, 0], [1, 1, 0], [1, 1, 1]])
def test_a_table_that_breaks_the_rule_is_refused_by_its_row(wrong):
    schema = schema_of("abc", Boolean(["0", "1"]))
    rows = [[1, 0, 0], [0, 0, 1], wrong]
    message = r"column 'a\.\.c', row 2 .*exactly one of 'a', 'b', 'c' to be true, and has none or several"
    with pytest.raises(ValueError, match=message):
        schema.encode(dict(zip("abc", zip(*rows, strict=True), strict=True)))


@pytest.mark.parametrize(
    ("columns", "rules", "message"),
    [
        ({"a": Boolean(null=True), "b": Boolean()}, [["a", "b"]], "'a' in a rule one_of needs exactly two values"),
        ({"a": Integer(0, 2), "b": Boolean()}, [["a", "b"]], "'a' in a rule one_of needs exactly two values"),
        ({"a": Boolean(), "b": Boolean(), "a..b": Boolean()}, [["a", "b"]], "'a..b', and a column has this name"),
        ({"a": Boolean(), "b": Boolean(), "c": Boolean()}, [["a", "b"], ["b", "c"]], "'b' comes in two rules"),
        ({"a": Boolean(), "b": Derived("a", {"false": "x", "true": "y"})}, [["a", "b"]], "made of other columns"),
        ({"a": Boolean()}, [["a", "z"]], "a rule names 'z'"),
        ({"a": Boolean(), "b": Boolean()}, ["a <= b", ["a", "b"]], "in a rule one_of: no other rule can name it"),
    ],
)
def test_schemas_that_contradict_themselves_are_refused(columns, rules, message):
    with pytest.raises(ValueError, match=message):
        pypgm.Schema(columns, rules=[OneOf(rule) if isinstance(rule, list) else rule for rule in rules])


@pytest.mark.parametrize("names", [["a"], ["a", "a"], [], "ab", ["a", 1]])
def test_a_rule_needs_two_columns(names):
    with pytest.raises((TypeError, ValueError), match="one_of needs"):
        OneOf(names)


def test_a_schema_file_has_the_rule(tmp_path):
    schema = schema_of("abc", Boolean(["0", "1"]), {"age": Integer(0, 9)})
    schema.save(tmp_path / "schema.json")
    assert json.loads((tmp_path / "schema.json").read_text())["rules"] == [{"one_of": ["a", "b", "c"]}]
    assert pypgm.read_schema(tmp_path / "schema.json") == schema
    with pytest.raises(ValueError, match="one_of needs"):
        pypgm.Schema.from_dict({"columns": {"a": ["0", "1"]}, "rules": [{"one_of": ["a"]}]})


def test_queries_and_evidence_name_the_columns(tmp_path):
    columns, place = block(2000, 4)
    columns["age"] = [int(p) for p in place]
    schema = schema_of([f"s{k}" for k in range(4)], Boolean(["0", "1"]), {"age": Integer(0, 9)})
    release = pypgm.synthesize(columns, schema, epsilon=50, delta=1e-9, unsafe_seed=0)
    shares = np.bincount(place, minlength=4) / len(place)
    for k in range(4):
        assert release.query(f"s{k}").values == pytest.approx([1 - shares[k], shares[k]], abs=0.02)
        for value in (1, "1", True):
            answer = release.query("age", {"s0..s3": f"s{k}"}).values
            assert release.query("age", {f"s{k}": value}).values == pytest.approx(answer)
    both = release.query(("s0", "s1")).values
    assert both[1, 1] == 0
    release.save(tmp_path / "r.pgm")
    again = pypgm.Release.load(tmp_path / "r.pgm")
    assert again.schema == schema
    assert again.query("s1").values.tolist() == release.query("s1").values.tolist()


def test_children_have_the_block_of_their_parents_as_one_column(tmp_path):
    columns, _ = block(300, 4)
    rng = np.random.default_rng(0)
    parents = schema_of(columns, Boolean(["0", "1"]), {"age": Integer(0, 9)}).encode(columns | {"age": [5] * 300})
    children = pypgm.Dataset({"x": rng.integers(0, 3, 600)}, pypgm.Domain({"x": 3}))
    of = rng.integers(0, 300, 600)
    related = pypgm.mechanisms.synthesize_related(
        parents, children, of, epsilon=9, delta=1e-9, max_children=9, unsafe_seed=0
    )
    related.children.save(tmp_path / "c.pgm")
    schema = pypgm.Release.load(tmp_path / "c.pgm").schema
    assert schema == related.children.schema
    assert schema.columns["s0..s3"] == Categorical([f"s{k}" for k in range(4)])


def test_open_columns_stand_beside_a_block():
    columns, _ = block(2000, 5)
    columns["job"] = ["cook", "clerk"] * 1000
    schema = pypgm.OpenSchema(
        {**{f"s{k}": Boolean(["0", "1"]) for k in range(5)}, "job": OpenSet(share="0.1")},
        rules=[OneOf([f"s{k}" for k in range(5)])],
    )
    release = pypgm.synthesize(columns, schema, epsilon=5, delta=1e-6, unsafe_seed=0)
    decoded = release.schema.decode(release.synthetic_data(100, rng=0))
    assert (sum(decoded[f"s{k}"].astype(int) for k in range(5)) == 1).all()
    assert set(decoded["job"]) <= {"cook", "clerk", "other"}


def written(path, columns):
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(columns)
        out.writerows(zip(*columns.values(), strict=True))


@pytest.mark.parametrize("n", [50, 120_000])
def test_files_small_and_large(tmp_path, n):
    columns, place = block(n, 6)
    columns["age"] = [i % 10 for i in range(n)]
    schema = schema_of([f"s{k}" for k in range(6)], Boolean(["0", "1"]), {"age": Integer(0, 9)})
    written(tmp_path / "t.csv", columns)
    data = pypgm.read_table(tmp_path / "t.csv", schema)
    assert data.columns["s0..s5"].tolist() == place.tolist()
    table = scan(tmp_path / "t.csv", schema)
    assert table.count([("s0..s5",)])[0].tolist() == np.bincount(place, minlength=6).tolist()
    columns["s0"][40], columns["s1"][40] = 1, 1
    columns["s2"][40] = columns["s3"][40] = columns["s4"][40] = columns["s5"][40] = 0
    written(tmp_path / "wrong.csv", columns)
    for read in (pypgm.read_table, scan):
        with pytest.raises(ValueError, match=r"row 4[01] .*exactly one of"):
            read(tmp_path / "wrong.csv", schema)


def test_written_tables_have_the_columns_in_their_places(tmp_path):
    pandas = pytest.importorskip("pandas")
    columns, _ = block(300, 4)
    frame = pandas.DataFrame({"s0": columns["s0"], "age": [i % 10 for i in range(300)], **columns})
    frame["s2"] = frame.s2.astype("int8")
    schema = pypgm.Schema(
        {name: Integer(0, 9) if name == "age" else Boolean(["0", "1"]) for name in frame},
        rules=[OneOf(list(columns))],
    )
    release = pypgm.synthesize(frame, schema, epsilon=1, delta=1e-9, unsafe_seed=0)
    made = release.to_frame(rng=0)
    assert list(made) == list(frame)
    assert made.dtypes.to_dict() == frame.dtypes.to_dict()
    assert (made[list(columns)].sum(axis=1) == 1).all()
    release.write(tmp_path / "out.csv", rng=0)
    again = pandas.read_csv(tmp_path / "out.csv")
    assert list(again) == list(frame)
    assert (again[list(columns)].sum(axis=1) == 1).all()


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # of Ibis
def test_engines_and_relations_count_a_block():
    duckdb = pytest.importorskip("duckdb")
    pandas = pytest.importorskip("pandas")
    columns, place = block(500, 5)
    frame = pandas.DataFrame(columns)
    schema = schema_of(columns, Boolean(["0", "1"]))
    counts = np.bincount(place, minlength=5).tolist()
    connection = duckdb.connect()
    connection.register("seen", frame)
    connection.execute("create table t as select * from seen")
    assert scan(connection.sql("select * from t"), schema).count([("s0..s4",)])[0].tolist() == counts
    ibis = pytest.importorskip("ibis")
    engine = ibis.duckdb.from_connection(connection)
    assert EngineTable(engine.table("t"), schema).count([("s0..s4",)])[0].tolist() == counts
    connection.execute("update t set s1 = 1, s2 = 1 where s3 = 1")
    with pytest.raises(ValueError, match="exactly one of"):
        EngineTable(engine.table("t"), schema)


@pytest.mark.parametrize("format_", ["parquet", "arrow", "polars"])
def test_typed_tables(tmp_path, format_):
    columns, place = block(300, 4, words=(False, True))
    schema = schema_of(columns, Boolean())
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(columns)
    if format_ == "parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "t.parquet")
        data = pypgm.read_table(tmp_path / "t.parquet", schema)
    else:
        data = schema.encode(table if format_ == "arrow" else pytest.importorskip("polars").from_arrow(table))
    assert data.columns["s0..s3"].tolist() == place.tolist()
    assert draft_schema(columns)["columns"]["s0"]["kind"] == "boolean"


@pytest.mark.filterwarnings("ignore::pypgm.errors.DraftWarning")
@pytest.mark.parametrize("seed", range(2))
def test_a_draft_as_it_is_keeps_the_blocks_of_a_table_of_forest_cover(seed):
    rng = np.random.default_rng(seed)
    soils, _ = block(3000, 20, seed, prefix="Soil_Type")
    areas, _ = block(3000, 4, seed, prefix="Wilderness_Area")
    numbers = {f"x{i}": rng.integers(0, 40, 3000).tolist() for i in range(11)}
    flags = {f"f{i}": rng.integers(0, 2, 3000).tolist() for i in range(11)}
    columns = {**numbers, **areas, **soils, **flags}
    draft = draft_schema(columns)
    assert [rule["one_of"] for rule in draft["rules"]] == [list(areas), list(soils)]
    assert all("exactly one" in meaning(rule["warning"]) for rule in draft["rules"])
    release = pypgm.synthesize(columns, draft, epsilon=2, delta=1e-9, unsafe_seed=seed)
    decoded = release.schema.decode(release.synthetic_data(rng=seed), rng=0)
    for names in (areas, soils):
        assert (sum(decoded[name].astype(int) for name in names) == 1).all()


@pytest.mark.parametrize("seed", range(80))
def test_a_draft_finds_the_planted_blocks_and_no_others(seed):
    rng = np.random.default_rng(seed)
    words = [(0, 1), (False, True), ("no", "yes"), ("N", "Y")][seed % 4]
    size = int(rng.integers(3, 9))
    planted, _ = block(300, size, seed, words)
    flags = {f"f{i}": [words[int(v)] for v in rng.random(300) < rng.choice([0.02, 0.3, 0.5])] for i in range(6)}
    columns = {**flags, **planted}
    order = list(columns) if seed % 2 else list(rng.permutation(list(columns)))
    found = [rule["one_of"] for rule in draft_schema({name: columns[name] for name in order}).get("rules", [])]
    assert [sorted(names) for names in found] == [sorted(planted)]
    assert "rules" not in draft_schema(flags)
    broken = {name: list(values) for name, values in planted.items()}
    one = next(name for name in broken if broken[name][-1] == words[1])
    broken[one][-1] = words[0]
    assert "rules" not in draft_schema(flags | broken)
