"""At most so many records of each person are kept, wherever records come from, by that person's records alone."""

import collections
import itertools
import sys

import numpy as np
import pytest
from selfcheck import persons

import pypgm
from pypgm.data import Integer, OpenSet, Person, StreamedTable, scan, write_table
from pypgm.data.schema import person as person_module
from pypgm.data.sources.streamed import kept_in_duckdb

DOMAIN = {"a": 3, "b": 2}
NAMES = ("a", "b")


def schema_of(at_most=2, column="id", **more):
    return pypgm.Schema(dict(DOMAIN), person=Person(column, at_most, **more))


def generated(seed, n_persons=6, most=7):
    """Return a table of a few persons with several records each, some alike, in any order."""
    rng = np.random.default_rng(seed)
    ids = np.repeat(np.arange(n_persons), rng.integers(0, most, n_persons))
    rng.shuffle(ids)
    n = len(ids)
    return {"id": [f"P{i}" for i in ids], "a": rng.integers(0, 3, n).tolist(), "b": rng.integers(0, 2, n).tolist()}


def some(raw, chosen):
    return {name: list(itertools.compress(values, chosen)) for name, values in raw.items()}


def codes(table, folder):
    """Return the records of a table as a multiset of (a, b)."""
    del folder
    counted = table.count([NAMES])[0].reshape(3, 2)
    return collections.Counter({cell: int(n) for cell, n in np.ndenumerate(counted) if n})


def in_memory(raw, schema, folder):
    del folder
    return schema.encode(raw)


def in_pandas(raw, schema, folder):
    del folder
    return schema.encode(pytest.importorskip("pandas").DataFrame(raw))


def in_csv(raw, schema, folder):
    path = folder / "t.csv"
    path.write_text("id,a,b\n" + "".join(f"{i},{a},{b}\n" for i, a, b in zip(*raw.values(), strict=True)))
    return pypgm.read_table(path, schema)


def in_parquet(raw, schema, folder):
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(_arrow(raw), folder / "t.parquet")
    return pypgm.read_table(folder / "t.parquet", schema)


def in_pieces(raw, schema, folder):
    del folder

    def pieces(names, rows):
        del rows
        for start in range(0, max(1, len(raw["id"])), 3):
            yield {name: raw[name][start : start + 3] for name in names}

    return StreamedTable(pieces, list(raw), schema)


def scanned_csv(raw, schema, folder):
    in_csv(raw, schema, folder)
    return scan(folder / "t.csv", schema)


def scanned_parquet(raw, schema, folder):
    in_parquet(raw, schema, folder)
    return scan(folder / "t.parquet", schema)


def in_duckdb(raw, schema, folder):
    del folder
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    connection = duckdb.connect()
    connection.register("t", _arrow(raw))
    connection.execute("create table u as select * from t")
    return scan(connection.table("u"), schema)


def _arrow(raw):
    arrow = pytest.importorskip("pyarrow")
    kinds = [("id", arrow.string()), *((name, arrow.int64()) for name in NAMES)]
    return arrow.table({name: raw[name] for name, _ in kinds}, arrow.schema(kinds))


SOURCES = [in_memory, in_pandas, in_csv, in_parquet, in_pieces, scanned_csv, scanned_parquet, in_duckdb]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("at_most", [1, 2, 3])
def test_a_whole_person_changes_no_more_records_than_are_kept(source, at_most, tmp_path):
    """Over all neighbours of generated tables: what is kept of the others is the same, to the last record."""
    schema, secret = schema_of(at_most), bytes(range(16))
    for seed in range(3):
        raw = generated(seed)
        whole = source(raw, schema, tmp_path)
        kept = codes(whole.kept(secret), tmp_path)
        sizes = collections.Counter(raw["id"])
        assert kept.total() == sum(min(n, at_most) for n in sizes.values())
        for somebody in sizes:
            alone = some(raw, [i == somebody for i in raw["id"]])
            rest = some(raw, [i != somebody for i in raw["id"]])
            of_rest = codes(source(rest, schema, tmp_path).kept(secret), tmp_path)
            of_one = codes(source(alone, schema, tmp_path).kept(secret), tmp_path)
            assert of_rest + of_one == kept
            assert of_one.total() == min(sizes[somebody], at_most)


@pytest.mark.parametrize("source", SOURCES)
def test_what_is_kept_does_not_depend_on_the_order_of_the_table(source, tmp_path):
    schema, secret = schema_of(2), b"a known secret ."
    raw = generated(1, n_persons=9)
    expected = codes(source(raw, schema, tmp_path).kept(secret), tmp_path)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(raw["id"]))
        shuffled = {name: [values[i] for i in order] for name, values in raw.items()}
        assert codes(source(shuffled, schema, tmp_path).kept(secret), tmp_path) == expected


def a_frame(raw, folder, schema):
    return pytest.importorskip("pandas").DataFrame({name: list(values) for name, values in raw.items()})


def a_parquet_file(raw, folder, schema):
    parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    parquet.write_table(arrow.table({name: list(values) for name, values in raw.items()}), folder / "t.parquet")
    return str(folder / "t.parquet")


def a_relation(raw, folder, schema):
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    relation = duckdb.connect().read_parquet(a_parquet_file(raw, folder, schema))
    return relation if hasattr(schema, "open") and schema.open else scan(relation, schema)


TABLES = {**persons.SOURCES, "frame": a_frame, "Parquet": a_parquet_file, "relation": a_relation}


@pytest.mark.parametrize("mechanism", persons.BUDGETS)
@pytest.mark.parametrize("name", TABLES)
def test_a_release_on_equal_outcomes_does_not_tell_of_a_person(name, mechanism):
    """A person of five records more, of whom two are kept: nothing changes but what was hidden, as far as charged."""
    assert list(persons.of_releases(name, TABLES[name], mechanism, persons.SCHEMA)) == []


@pytest.mark.parametrize("name", ["columns", "CSV", "frame", "Parquet"])
def test_open_columns_do_not_tell_of_a_person(name):
    assert list(persons.of_releases(name, TABLES[name], "mst", persons.OPEN)) == []


def test_each_record_of_a_person_is_kept_equally_often():
    """Also of records that are alike: two of three are kept, over 3000 secrets."""
    schema = schema_of(2)
    data = schema.encode({"id": [7] * 3, "a": [0, 0, 2], "b": [0, 0, 0]})
    rng = np.random.default_rng(0)
    twos = [int((data.kept(rng.bytes(16)).columns["a"] == 2).sum()) for _ in range(3000)]
    assert abs(np.mean(twos) - 2 / 3) < 4 * np.sqrt(2 / 9 / 3000)


def test_a_release_draws_another_secret_each_time():
    schema = schema_of(1)
    data = schema.encode({"id": [7] * 3, "a": [0, 1, 2], "b": [0, 0, 0]})
    budget = pypgm.Budget(rho=10**6)
    seen = {
        tuple(pypgm.PrivateTable(data, None, pypgm.Ledger(budget)).measure("a", rho=10**5).values.tolist())
        for _ in range(40)
    }
    assert seen == {(1, 0, 0), (0, 1, 0), (0, 0, 1)}


def test_records_beyond_memory_are_chosen_alike(monkeypatch):
    rng = np.random.default_rng(0)
    n = 20_000
    raw = {"id": rng.integers(0, 3000, n), "a": rng.integers(0, 3, n), "b": rng.integers(0, 2, n)}
    data, secret = schema_of(2).encode(raw), rng.bytes(16)
    expected = data.is_kept(secret)
    monkeypatch.setattr(person_module, "_SORTED_AT_ONCE", 999)
    monkeypatch.setattr(person_module, "_HELD", 1000)
    table = in_pieces_of(raw, 700)
    np.testing.assert_array_equal(table.kept(secret).count([NAMES])[0], data.where(expected).count([NAMES])[0])
    np.testing.assert_array_equal(data.is_kept(secret), expected)


def in_pieces_of(raw, rows):
    def pieces(names, _):
        for start in range(0, len(raw["id"]), rows):
            yield {name: raw[name][start : start + rows] for name in names}

    return StreamedTable(pieces, list(raw), schema_of(2))


def test_pieces_in_another_order_are_refused():
    raw = generated(3, n_persons=20)
    turned = []

    def pieces(names, _):
        yield {name: (values[::-1] if turned else values) for name, values in raw.items() if name in names}

    table = StreamedTable(pieces, list(raw), schema_of(1))
    kept = table.kept(b"x" * 16)
    turned.append(True)
    with pytest.raises(ValueError, match="changed while it was counted"):
        kept.count([NAMES])


def test_several_columns_name_a_person_together(tmp_path):
    raw = {"ward": ["1", "11", "1", "1"], "bed": ["12", "2", "12", "3"], "a": [0, 1, 2, 0], "b": [0, 0, 1, 1]}
    schema = schema_of(1, column=["ward", "bed"])
    assert codes(schema.encode(raw).kept(b"y" * 16), tmp_path).total() == 3


KEYS = [7, "7", " 7 ", 7.0, np.int8(7), np.float32(7), np.str_("7"), b"7"]
OTHERS = ["07", "7.0", True, "true ", 7.5, "x" * 40, "x" * 41, "7\0", "é", 2**70, "\udcff"]


def test_a_person_is_one_text_whatever_its_type():
    keys = schema_of().encode({"id": KEYS, "a": [0] * 8, "b": [0] * 8}).persons
    assert len(set(keys.tolist())) == 1
    n = len(OTHERS)
    keys = schema_of().encode({"id": [*OTHERS, 7], "a": [0] * (n + 1), "b": [0] * (n + 1)}).persons
    assert len(set(keys.tolist())) == n  # True and "true" are one


@pytest.mark.parametrize("missing", ["", None, float("nan"), "  "])
def test_a_record_of_nobody_is_refused_or_a_person_of_its_own(missing, tmp_path):
    raw = {"id": ["P", missing, missing, missing], "a": [0, 1, 1, 2], "b": [0] * 4}
    with pytest.raises(ValueError, match=r"column 'id', row 1.*needs a value that names a person, and has none"):
        schema_of(1).encode(raw)
    kept = schema_of(1, null="alone").encode(raw).kept(b"z" * 16)
    assert codes(kept, tmp_path).total() == 4


@pytest.mark.parametrize("source", [in_csv, in_parquet, scanned_csv, in_duckdb])
def test_every_source_refuses_records_of_nobody_or_keeps_them(source, tmp_path):
    raw = {"id": ["P", "", "", "P"], "a": [0, 1, 1, 2], "b": [0] * 4}
    with pytest.raises(ValueError, match="needs a value that names a person"):
        source(raw, schema_of(1), tmp_path)
    assert codes(source(raw, schema_of(1, null="alone"), tmp_path).kept(b"z" * 16), tmp_path).total() == 3


@pytest.mark.parametrize("source", SOURCES)
def test_white_space_around_a_key_makes_nobody_another_person(source, tmp_path):
    """Of any kind: an engine's own trim knows blanks alone, or those of ASCII."""
    spaces = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace() and chr(code) not in "\r\n"]
    ids = ["7", *(f"{space}7{space}" for space in spaces)]
    raw = {"id": ids, "a": [0] * len(ids), "b": [0] * len(ids)}
    assert codes(source(raw, schema_of(1), tmp_path).kept(b"z" * 16), tmp_path).total() == 1


def test_a_number_that_is_none_is_no_person_of_duckdb(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.execute("create table u as select 'nan'::double as id, 0 as a, 0 as b from range(9)")
    with pytest.raises(ValueError, match="needs a value that names a person"):
        scan(connection.table("u"), schema_of(1))
    alone = scan(connection.table("u"), schema_of(1, null="alone"))
    assert codes(alone.kept(b"z" * 16), tmp_path).total() == 9


def test_the_column_is_read_and_never_published(tmp_path):
    raw = generated(0, n_persons=40)
    release = pypgm.synthesize(raw, schema_of(), epsilon=1, delta=1e-9)
    assert "id" not in release.model.domain
    assert sorted(release.schema.decode(release.synthetic_data(rng=0), rng=0)) == ["a", "b"]
    release.save(tmp_path / "r.pgm")
    assert b"P7" not in (tmp_path / "r.pgm").read_bytes()
    again = pypgm.load(tmp_path / "r.pgm")
    assert again.schema.person == Person("id", 2)
    assert again.privacy.sentence == (
        "whether any one person (known by 'id', at most 2 records kept) is in the real table at all"
    )
    made = pypgm.Schema({**DOMAIN, "id": pypgm.data.Id("N{:03}")}, person={"column": "id", "at_most": 2})
    data = pypgm.synthesize(raw, made, epsilon=1, delta=1e-9).synthetic_data(rng=0)
    assert made.decode(data, rng=0)["id"][:2].tolist() == ["N001", "N002"]


def test_the_number_of_records_is_that_of_the_kept():
    raw = {"id": ["P"] * 900 + [f"Q{i}" for i in range(100)], "a": [0] * 1000, "b": [0] * 1000}
    release = pypgm.synthesize(raw, schema_of(1), budget=pypgm.Budget(rho=1000))
    assert abs(release.model.total - 101) < 5


@pytest.mark.parametrize("kind", ["open", "quantiles"])
def test_what_is_open_is_found_in_the_kept_records(kind):
    """One person with a thousand records of a value of their own makes it no more frequent than two would."""
    column = OpenSet("1/2") if kind == "open" else pypgm.data.QuantileBins(Integer(0, 99), 2, "1/2")
    schema = pypgm.OpenSchema({"v": column, "b": 2}, person=Person("id", 2))
    values = [7] * 300 + [95] * 5000
    ids = [f"P{i}" for i in range(300)] + ["spy"] * 5000
    raw = {"id": ids, "v": values if kind == "quantiles" else list(map(str, values)), "b": [0] * 5300}
    release = pypgm.synthesize(raw, schema, epsilon=20, delta=1e-6)
    found = release.schema.columns["v"]
    assert ("95" not in found.labels) if kind == "open" else found.edges[0] < 50
    assert abs(release.model.total - 302) < 60


def test_columns_that_name_a_person_together_are_told_together():
    assert "(known by 'a' and 'b', at most 2 records kept)" in pypgm.Privacy("add-remove", 2, ["a", "b"]).sentence


def test_a_call_that_contradicts_the_person_is_refused():
    data = schema_of(2).encode(generated(0))
    with pytest.raises(ValueError, match="at most 2 records of each person are kept, and records_per_person is 3"):
        pypgm.Schema(dict(DOMAIN), person=Person("id", 2), records_per_person=3)
    with pytest.raises(ValueError, match="records_per_person=2"):
        pypgm.mechanisms.mst(data, 1, 1e-9, privacy=pypgm.Privacy(records_per_person=1))
    for call in (
        lambda: pypgm.mechanisms.mst(data, 1, 1e-9, neighbours="replace"),
        lambda: pypgm.synthesize(generated(0), schema_of(2), epsilon=1, delta=1e-9, neighbours="replace"),
        lambda: pypgm.Privacy("replace", 2, ["id"]),
    ):
        with pytest.raises(ValueError, match=r'needs "add-remove".*state records_per_person without a person'):
            call()
    with pytest.raises(
        ValueError, match="column 'a' names the person of a record and is never published: take it out of columns, or"
    ):
        pypgm.Schema(dict(DOMAIN), person=Person("a", 2))
    with pytest.raises(ValueError, match=r"lacks a column for 'id', which names persons; synthetic records have none"):
        schema_of().encode({"a": [0], "b": [1]})
    with pytest.raises(ValueError, match=r"lacks a column for 'id', 'b'") as refused:
        schema_of().encode({"a": [0]})
    assert "synthetic" not in str(refused.value)  # a table that lacks more is some other table


def test_records_put_together_by_hand_say_whom_they_are_of():
    schema, raw = schema_of(1), generated(2)
    columns = {name: raw[name] for name in NAMES}
    bare = pypgm.Dataset(columns, schema.domain, schema=schema)
    for run in (
        lambda data: pypgm.mechanisms.wide(data, 1, 1e-9),
        lambda data: pypgm.PrivateTable(data, None, pypgm.Ledger(pypgm.Budget(rho=1))),
        lambda data: pypgm.bayes.learn_private(data, [("a", "b")], 1, 1e-9),
        lambda data: pypgm.mrf.learn_pairwise(data, 1, 1e-6, radius=1),
    ):
        with pytest.raises(ValueError, match="whom 'id' names: these records need persons="):
            run(bare)
    named = pypgm.Dataset(columns, schema.domain, schema=schema, persons=raw["id"])
    whole = schema.encode(raw)
    np.testing.assert_array_equal(named.persons, whole.persons)
    rows = np.arange(0, len(whole), 2)
    part = {name: codes[rows] for name, codes in whole.columns.items()}
    assert len(pypgm.Dataset(part, whole.domain, schema=schema, persons=whole.persons[rows]).persons) == len(rows)
    with pytest.raises(ValueError, match="persons need one value for each of"):
        pypgm.Dataset(columns, schema.domain, schema=schema, persons=raw["id"][1:])
    with pytest.raises(ValueError, match="need a schema that names the person"):
        pypgm.Dataset(columns, schema.domain, persons=raw["id"])


DECLARATIONS = [
    ({"column": []}, "at least one column"),
    ({"column": ["id", "id"]}, "each once"),
    ({"column": "id", "at_most": 0}, "at_most needs a whole number, 1 or more"),
    ({"column": "id", "at_most": True}, "at_most needs a whole number"),
    ({"column": "id", "at_most": 2.0}, "at_most needs a whole number"),
    ({"column": "id", "null": "keep"}, 'null needs "refuse" or "alone"'),
    ({"column": 3}, "name of a column"),
    ({"column": "id", "most": 3}, "person has no 'most'"),
    ({}, "needs 'column'|needs column"),
    ("id", "person needs an object"),
]


@pytest.mark.parametrize(("entry", "why"), DECLARATIONS)
def test_what_is_wrong_with_a_person_is_said(entry, why):
    given = {"at_most": 1, **entry} if isinstance(entry, dict) else entry
    with pytest.raises(ValueError, match=why):
        pypgm.Schema.from_dict({"columns": dict(DOMAIN), "person": given})


def test_a_schema_keeps_its_person(tmp_path):
    given = {"columns": dict(DOMAIN), "person": {"column": ["id", "c"], "at_most": 2, "null": "alone", "comment": "x"}}
    schema = pypgm.Schema.from_dict(given)
    assert schema.person == Person(("id", "c"), 2, "alone")
    schema.save(tmp_path / "s.json")
    again = pypgm.data.read_schema(tmp_path / "s.json")
    assert again == schema
    assert again.records_per_person == again.stated_records_per_person == 2
    assert schema != pypgm.Schema(dict(DOMAIN), records_per_person=2)
    assert schema.of_records().person is None
    assert schema.of_records().drop == ("id", "c")


def test_related_tables_keep_a_persons_parents_with_their_children():
    """Over all neighbours: a person with all parents and children is at most 2 parents and 2 x 3 children."""
    parents_of = pypgm.Schema({"p": 4}, person=Person("who", 2))
    children = pypgm.Domain({"q": 5})
    from pypgm.mechanisms.related import joined

    for seed in range(12):
        rng = np.random.default_rng(seed)
        n, m = int(rng.integers(3, 12)), int(rng.integers(5, 40))
        who, p = rng.integers(0, 4, n), rng.integers(0, 4, n)
        of, q = rng.integers(-1, n, m), rng.integers(0, 5, m)

        def tables(rows, who=who, p=p, of=of, q=q):
            chosen = np.flatnonzero(rows)
            new = np.full(len(rows), -1)
            new[chosen] = np.arange(len(chosen))
            stay = (of < 0) | rows[np.maximum(of, 0)]
            parents = parents_of.encode({"who": who[chosen], "p": p[chosen]})
            rest = pypgm.Dataset({"q": q[stay]}, children)
            where = np.where(of[stay] < 0, -1, new[np.maximum(of[stay], 0)])
            return joined(parents, rest, where, max_children=3, secret=b"s" * 16)

        whole = [t.count([t.domain.attributes])[0] for t in tables(np.ones(n, bool))]
        for somebody in set(who.tolist()):
            less = [t.count([t.domain.attributes])[0] for t in tables(who != somebody)]
            assert np.abs(whole[0] - less[0]).sum() <= 2
            assert np.abs(whole[1] - less[1]).sum() <= 6
            assert (whole[0] >= less[0]).all()
            assert (whole[1] >= less[1]).all()


def test_related_releases_say_whose_records_are_kept():
    parents = pypgm.Schema({"p": 4}, person=Person("who", 2)).encode({"who": ["A", "A", "B"], "p": [0, 1, 2]})
    children = pypgm.Dataset({"q": [0, 1, 1, 0]}, pypgm.Domain({"q": 2}))
    how = {"max_children": 2, "epsilon": 1, "delta": 1e-9, "mechanism": "mst"}
    release = pypgm.mechanisms.synthesize_related(parents, children, [0, 0, 1, 2], **how)
    assert release.parents.privacy == pypgm.Privacy("add-remove", 2, ["who"])
    assert release.children.privacy == pypgm.Privacy("add-remove", 4, ["who"])
    named = pypgm.Schema({"q": 2}, person=Person("who", 2)).encode(
        {"who": "AABC", "q": [0, 1, 1, 0]} | {"who": [*"AABC"]}
    )
    with pytest.raises(ValueError, match="schema of the children names a person"):
        pypgm.mechanisms.synthesize_related(parents, named, [0, 0, 1, 2], **how)


def test_names_of_columns_are_no_queries():
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    names = ['i"d', "select 1", "*"]
    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    relation = duckdb.connect().sql(f"select * from (values ('P', 1, 0), ('P', 2, 1), ('Q', 0, 0)) t({quoted})")
    kept = kept_in_duckdb(relation, Person(names[0], 1), names[1:], b"q" * 16)
    assert kept.columns == names[1:]
    assert len(kept.fetchall()) == 2


def test_a_written_table_has_no_person(tmp_path):
    schema = schema_of()
    data = schema.encode(generated(0))
    write_table(data, tmp_path / "t.csv", schema)
    assert (tmp_path / "t.csv").read_text().splitlines()[0] == "a,b"
