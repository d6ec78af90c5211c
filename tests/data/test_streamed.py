"""Tables read in pieces: the same counts, and the same releases, as in memory."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

import pypgm
from pypgm.data import Categorical, Codes, Real, Schema, StreamedTable, scan
from pypgm.data.sources import counted, streamed

DOMAIN = pypgm.Domain({"a": 5, "sex": ["F", "M", "x"], "c": 40})
CLIQUES = [("a", "sex"), ("c", "a"), (), ("sex",), ("c", "sex", "a")]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return pypgm.Dataset(
        {"a": rng.integers(0, 5, 7000), "sex": rng.integers(0, 3, 7000), "c": rng.integers(0, 40, 7000)}, DOMAIN
    )


def raw(data):
    return {"c": data.columns["c"], "a": data.columns["a"], "sex": np.array(["F", "M", "x"])[data.columns["sex"]]}


def in_pieces(columns, size=999):
    n = len(columns["a"])

    def pieces(names, rows):
        assert rows >= 1
        for first in range(0, n, size):
            yield {name: columns[name][first : first + size] for name in names}

    return pieces


def same_counts(table, data):
    assert table.n_records == len(table) == data.n_records
    assert table.domain == data.domain
    for found, expected in zip(table.count(CLIQUES), data.count(CLIQUES), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_counts_and_releases_are_those_of_the_records(data):
    table = StreamedTable(in_pieces(raw(data)), ["c", "a", "sex"], DOMAIN)
    same_counts(table, data)
    assert repr(table) == "StreamedTable(7000 records; a: 5, sex: 3, c: 40)"
    for mechanism in (pypgm.mechanisms.mst, pypgm.mechanisms.wide):
        one, other = (mechanism(source, 1, 1e-9, unsafe_seed=3) for source in (data, table))
        assert [line.cost for line in one.ledger.lines] == [line.cost for line in other.ledger.lines]
        for m, n in zip(one.measurements, other.measurements, strict=True):
            assert m.clique == n.clique
            np.testing.assert_array_equal(m.values, n.values)


def test_samples_are_those_of_the_records(data):
    table = StreamedTable(in_pieces(raw(data)), ["c", "a", "sex"], DOMAIN)
    found = []
    for records in (data, table):
        private = pypgm.PrivateTable(records, None, pypgm.Ledger(pypgm.Budget(epsilon=9)), unsafe_seed=1)
        found.append(private.subsample(0.5, epsilon=1).measure("c", scale=1).values)
    np.testing.assert_array_equal(*found)


def test_what_has_no_records_cannot_be_sampled(data):
    class Tables:
        domain, weights, n_records, count = data.domain, None, len(data), data.count

    private = pypgm.PrivateTable(Tables(), None, pypgm.Ledger(pypgm.Budget(epsilon=1)))
    with pytest.raises(TypeError, match="only records can be sampled"):
        private.subsample(0.5, epsilon=0.1)
    assert private.ledger.spent() == 0


def test_a_table_that_does_not_fit_is_refused_at_the_beginning(data):
    columns = raw(data)
    columns["c"] = columns["c"].copy()
    columns["c"][3000] = 40
    columns["sex"] = columns["sex"].astype(object)
    columns["sex"][1234] = "zebra"
    with pytest.raises(ValueError, match="column 'sex', row 1234") as caught:
        StreamedTable(in_pieces(columns), ["c", "a", "sex"], DOMAIN)
    assert "zebra" not in str(caught.value)
    with pytest.raises(ValueError, match="column 'c', row 3000"):
        StreamedTable(in_pieces({**columns, "sex": raw(data)["sex"]}), ["c", "a", "sex"], DOMAIN)
    with pytest.raises(ValueError, match="lacks a column for 'sex'"):
        StreamedTable(in_pieces(columns), ["c", "a"], DOMAIN)


def test_a_table_that_changes_is_noticed(data):
    columns = raw(data)
    table = StreamedTable(in_pieces(columns), ["c", "a", "sex"], DOMAIN)
    messages = set()
    for fewer in (1, 2, 1500):
        columns["a"] = raw(data)["a"][:-fewer]
        with pytest.raises(ValueError, match=r"^the table changed while it was counted$") as caught:
            table.count([("a", "sex", "c")])
        messages.add(str(caught.value))
    assert len(messages) == 1  # how many records there are is shown to nobody


NAMES = ["x", "y", "z"]


CHANGES = {
    "all records": lambda rng, columns: {**columns, "y": np.zeros_like(columns["y"])},
    "one record": lambda rng, columns: {**columns, "z": np.where(np.arange(60) == 7, 1, columns["z"])},
    "some leave, as many come": lambda rng, columns: {n: np.where(np.arange(60) % 3, v, 2) for n, v in columns.items()},
}


@pytest.mark.parametrize("opening", [0, 9, 1 << 22])
@pytest.mark.parametrize("kept", [0, 1 << 24])
@pytest.mark.parametrize("change", CHANGES)
def test_as_many_other_records_are_noticed_by_their_margins(opening, kept, change, monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(counted, "_OPENING_CELLS", opening)
    monkeypatch.setattr(counted, "_KEPT_CELLS", kept)
    before = {name: np.array([2, 0, 1] * 20)[rng.permutation(60)] for name in NAMES}
    before["z"][7] = 0
    held = dict(before)
    table = StreamedTable(
        lambda names, rows: iter([{n: held[n] for n in names}]), NAMES, pypgm.Domain(dict.fromkeys(NAMES, 3))
    )
    table.count([("x", "z"), "y"])
    held.update(CHANGES[change](rng, before))
    with pytest.raises(pypgm.errors.SourceError, match=r"^the table changed while it was counted$"):
        table.count([("z", "y", "x")])
    held.update(before)
    expected = pypgm.Dataset(before, table.domain).count([("y", "x")])
    np.testing.assert_array_equal(table.count([("y", "x")]), expected)  # nothing of the other records was kept


def test_a_pair_that_changed_is_noticed_where_its_margins_did_not():
    held = {"x": np.array([0, 0, 1, 1]), "y": np.array([0, 0, 1, 1]), "z": np.array([0, 1, 0, 1])}
    domain = pypgm.Domain(dict.fromkeys(NAMES, 2))
    table = StreamedTable(lambda names, rows: iter([{n: held[n] for n in names}]), NAMES, domain)
    held["x"] = held["x"][::-1]
    with pytest.raises(pypgm.errors.SourceError, match="changed"):
        table.count([("z", "x", "y")])


def test_a_file_that_was_written_again_is_noticed(data, files, tmp_path):
    """By size, by time, and by its footer where both are as before."""
    from pyarrow import parquet

    paths = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    for path in paths:
        shutil.copy(files / path.name, path)
    rows = parquet.read_table(paths[1])
    time = os.stat(paths[1]).st_mtime_ns
    clique = [("a", "sex", "c")]

    def longer():
        paths[1].write_bytes(paths[1].read_bytes() + b" ")

    def turned():
        parquet.write_table(rows.take(np.arange(len(rows))[::-1]), paths[1])
        os.utime(paths[1], ns=(time, time))

    for change in (longer, lambda: os.utime(paths[1], ns=(1, 1)), turned):
        shutil.copy(files / "two.parquet", paths[1])
        os.utime(paths[1], ns=(time, time))
        table = scan(paths, DOMAIN)
        change()
        with pytest.raises(pypgm.errors.SourceError, match=r"two\.parquet changed while it was counted$"):
            table.count(clique)
        shutil.copy(files / "two.parquet", paths[1])
        os.utime(paths[1], ns=(time, time))
        np.testing.assert_array_equal(table.count(clique), data.count(clique))


def test_a_file_that_changes_while_the_table_is_opened_is_noticed(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a\n" + "0\n" * 9)
    real = streamed.csv_pieces

    def pieces(*arguments):
        yield from real(*arguments)
        path.write_text("a\n" + "1\n" * 8)

    monkeypatch.setattr(streamed, "csv_pieces", pieces)
    with pytest.raises(pypgm.errors.SourceError, match=r"t\.csv changed while it was counted$"):
        scan(path, pypgm.Domain({"a": 2}))


def test_files_of_a_dataset_and_of_duckdb_have_versions(files, tmp_path):
    arrow, duckdb = pytest.importorskip("pyarrow.dataset"), pytest.importorskip("duckdb")
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table t as select 0 as a from range(9)")
    shutil.copy(files / "one.parquet", tmp_path)
    of_dataset = scan(arrow.dataset(tmp_path / "one.parquet"), DOMAIN)
    of_database = scan(path, pypgm.Domain({"a": 2}), table="t")
    os.utime(tmp_path / "one.parquet", ns=(1, 1))
    with duckdb.connect(str(path)) as connection:
        connection.execute("update t set a = 1")
    for table in (of_dataset, of_database):
        with pytest.raises(pypgm.errors.SourceError, match=r"changed while it was counted$"):
            list(table.codes_of(["a"]))


def test_the_log_says_that_the_table_changed_and_the_error_does_not(caplog):
    held = {"a": [0, 1, 1], "b": [0, 1, 1], "c": [0, 0, 1]}
    domain = pypgm.Domain(dict.fromkeys("abc", 2))
    table = StreamedTable(lambda names, rows: iter([{n: held[n] for n in names}]), list(held), domain)
    private = pypgm.PrivateTable(table, None, pypgm.Ledger(pypgm.Budget(rho=2)))
    held["c"] = [0, 0, 0]
    with pytest.raises(pypgm.errors.ReleaseError) as caught:
        private.measure(("a", "b", "c"), rho=1)
    assert "changed" not in str(caught.value)
    assert caplog.messages == ["a step failed after it was charged: the table changed while it was counted"]
    assert private.ledger.spent() == 1


@pytest.fixture(scope="module")
def files(data, tmp_path_factory):
    pytest.importorskip("duckdb")
    arrow = pytest.importorskip("pyarrow")
    folder = tmp_path_factory.mktemp("scan")
    table = arrow.table(raw(data))
    from pyarrow import csv, parquet

    parquet.write_table(table.slice(0, 4000), folder / "one.parquet")
    parquet.write_table(table.slice(4000), folder / "two.parquet")
    csv.write_csv(table, folder / "all.csv")
    return folder


def test_files_are_scanned(data, files):
    import duckdb

    same_counts(scan([files / "one.parquet", files / "two.parquet"], DOMAIN), data)
    same_counts(scan(str(files / "*.parquet"), DOMAIN), data)
    same_counts(scan(files / "all.csv", DOMAIN), data)
    connection = duckdb.connect()
    same_counts(scan(connection.sql(f"select *, 1 as one from '{files}/*.parquet'"), DOMAIN, ignore_extra=True), data)
    few = scan(connection.sql(f"select * from '{files}/*.parquet' where a < 2"), DOMAIN)
    assert len(few) == int((data.columns["a"] < 2).sum())


def test_scans_are_refused(files):
    with pytest.raises(ValueError, match=r"column 'sex', row \d+ .*: needs one of 'F', 'M'"):
        scan(files / "all.csv", pypgm.Domain({"a": 5, "sex": ["F", "M"], "c": 40}))
    with pytest.raises(FileNotFoundError, match=r"none\.parquet"):
        scan(files / "none.parquet", DOMAIN)
    with pytest.raises(FileNotFoundError, match="no such file can be read"):
        scan(files / "none*.parquet", DOMAIN)
    with pytest.raises(ValueError, match="files of one kind"):
        scan([files / "all.csv", files / "one.parquet"], DOMAIN)
    with pytest.raises(ValueError, match="columns that the domain does not: 'c'"):
        scan(files / "all.csv", DOMAIN.project(("a", "sex")))


DIALECTS = {
    "late quotes": ("a,b\n" + "0,x\n1,x\n" * 15000 + '1,"y"\n' * 1000).encode(),
    "single quotes": b"a,b\n" + b"0,'x'\n1,y\n" * 50,
    "late line break": ("a,b\n" + "0,x\n" * 30000 + '1,"x\ny"\n').encode(),
    "doubled quotes": b'a,b\n0,"a ""b"""\n1,"y"\n',
    "spaces before quotes": b'a,b\n0, "y"\n1,y\n',
    "semicolons": b"a,b\n" + b"0,x;y|z\n1,y\n" * 50,
    "empty label": b"a,b\n" + b'0,\n1,""\n1,x\n' * 50,
    "byte order mark": b"\xef\xbb\xbfa,b\n0,x\n1,y\n",
    "blank lines": b"b,a\n\nx,0\n\ny,1\n\n",
    "mixed line ends": b"a,b\n0,x\r\n1,y\n",
}


@pytest.mark.parametrize("case", DIALECTS)
def test_csv_files_are_scanned_as_they_are_read(tmp_path, case):
    path = tmp_path / "table.csv"
    path.write_bytes(DIALECTS[case])
    labels = ["x", "y", "'x'", "x\ny", 'a "b"', "x;y|z", *([""] if case == "empty label" else [])]
    schema = Schema({"a": Codes(2), "b": Categorical(labels, other=True)})
    one, other = scan(path, schema), pypgm.read_table(path, schema)
    for found, expected in zip(one.count(["a", ("a", "b")]), other.count(["a", ("a", "b")]), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_scan_honours_how_a_table_is_written(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes("w;b\n1,5;é\n0,5;x\n".encode("latin-1"))
    schema = Schema({"w": Real(0, 2, bins=2), "b": Categorical(["é", "x"])})
    how = {"delimiter": ";", "encoding": "latin-1", "decimal": ","}
    np.testing.assert_array_equal(
        scan(path, schema, **how).count([("w", "b")]), pypgm.read_table(path, schema, **how).count([("w", "b")])
    )
    with pytest.raises(ValueError, match="only a CSV file has a dialect"):
        scan(_parquet(tmp_path), schema, **how)


def _parquet(folder):
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    parquet.write_table(arrow.table({"a": [0] * 5000, "b": ["Alice Smith"] * 5000}), folder / "t.parquet")
    return folder / "t.parquet"


def assert_tells_nothing(error):
    while error is not None:
        assert "Alice" not in f"{error!s}{error!r}"
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize(
    "line", [b"1,Alice Smith,HIV+\n", b"Alice Smith\n", b'1,"Alice Smith\n', b'1,"Alice" Smith\n', b"1,Alice\xff\n"]
)
def test_errors_of_csv_scans_hold_no_record(tmp_path, line):
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\n" + b"0,x\n" * 3 + line)
    with pytest.raises(ValueError, match=r"table\.csv") as caught:
        scan(path, Schema({"a": Codes(2), "b": Categorical(["x"], other=True)}))
    assert_tells_nothing(caught.value)
    if line.count(b",") != 1:
        assert "row 4 (the header is row 0): needs 2 fields" in str(caught.value)


def test_errors_of_duckdb_hold_no_record(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    schema = Schema({"a": Codes(2), "b": Categorical(["Alice Smith"])})
    path = _parquet(tmp_path)
    table = scan(path, schema)
    path.write_bytes(path.read_bytes()[:-20])
    for read in (lambda: scan(path, schema), lambda: list(table.codes_of(["b"]))):
        with pytest.raises(ValueError, match=r"t\.parquet (is damaged|changed)") as caught:
            read()
        assert_tells_nothing(caught.value)
    relation = duckdb.connect().sql("select 0 as a, cast(b as int) as b from (values ('1'), ('Alice Smith')) as t(b)")
    with pytest.raises(ValueError, match="reading the relation failed with") as caught:
        scan(relation, schema)
    assert_tells_nothing(caught.value)


def counted_passes():
    """Return a table of dependent columns in pieces, and a list of the columns that each pass has read."""
    rng = np.random.default_rng(0)
    base = rng.integers(0, 4, 2000)
    columns = {f"x{i}": (base + rng.integers(0, 2 + i % 3, 2000)) % (3 + i % 3) for i in range(6)}
    passes = []

    def pieces(names, rows):
        passes.append(list(names))
        yield {name: columns[name] for name in names}

    domain = pypgm.Domain({name: 3 + i % 3 for i, name in enumerate(columns)})
    table = StreamedTable(pieces, list(columns), domain)
    passes.clear()
    return table, pypgm.Dataset(columns, domain), passes


@pytest.mark.parametrize("name", ["wide", "mst", "aim", "mwem", "adaptive_grid", "hdmm", "fem", "dualquery"])
def test_a_mechanism_of_pairs_reads_a_table_only_to_open_it_and_others_twice_more(name):
    table, _, passes = counted_passes()
    more = {"workload": 2} if name == "wide" else {}  # else it searches beyond pairs
    getattr(pypgm.mechanisms, name)(table, epsilon=1, delta=1e-9, unsafe_seed=0, **more)
    assert len(passes) <= (0 if name in {"wide", "mst", "hdmm"} else 2)


def test_a_search_beyond_pairs_reads_a_table_once_and_each_set_it_finds_once():
    table, data, passes = counted_passes()
    release = pypgm.mechanisms.wide(table, epsilon=3, delta=1e-9, unsafe_seed=0)
    sets = {m.clique for m in release.measurements if len(m.clique) > 2}
    assert sets
    assert len(passes) <= 1 + len(sets)
    again = pypgm.mechanisms.wide(data, epsilon=3, delta=1e-9, unsafe_seed=0)
    assert [m.values.tolist() for m in again.measurements] == [m.values.tolist() for m in release.measurements]


@pytest.mark.parametrize("most", [0, 30, 1 << 24])
def test_what_was_counted_is_summed_and_not_read_again(most, monkeypatch):
    monkeypatch.setattr(counted, "_KEPT_CELLS", most)
    table, data, passes = counted_passes()
    rng = np.random.default_rng(1)
    for _ in range(40):
        sizes = rng.integers(0, 4, rng.integers(1, 4))
        cliques = [tuple(rng.permutation(list(data.domain))[:n].tolist()) for n in sizes]
        for found, expected in zip(table.count(cliques), data.count(cliques), strict=True):
            assert found.tolist() == expected.tolist()
            np.add(found, 1, out=found)  # what is handed out is not what is kept
    before = len(passes)
    table.count([("x0", "x1")])
    table.count(["x1", ("x1", "x0"), ()])
    assert len(passes) - before == (0 if most > 30 else 2)


@pytest.mark.parametrize(("rows", "size"), [(2, 1), (4, 3), (10, 3), (1000, 999)])
def test_each_record_counts_once_however_pieces_are_put_together(rows, size, data, monkeypatch):
    monkeypatch.setattr(streamed, "_ROWS", rows)
    few = {name: values[:2000] for name, values in raw(data).items()}
    table = StreamedTable(in_pieces(few, size), ["c", "a", "sex"], DOMAIN)
    assert table.n_records == 2000
    parts = list(table.codes_of(["a", "sex"]))
    assert np.concatenate([part["a"] for part in parts]).tolist() == few["a"].tolist()
    assert table.count(["a"])[0].tolist() == np.bincount(few["a"], minlength=5).tolist()


def test_an_error_in_a_late_piece_of_duckdb_holds_no_record():
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    late = "case when i = 2999999 then 'Alice Smith' else '1' end"
    relation = duckdb.connect().sql(f"select cast({late} as int) as a, 0 as b from range(3000000) as t(i)")
    with pytest.raises(ValueError, match=r"^reading the relation failed") as caught:
        scan(relation, pypgm.Domain({"a": 2, "b": 1}))
    assert_tells_nothing(caught.value)


def test_no_table_is_counted_twice_in_a_pass(monkeypatch):
    monkeypatch.setattr(counted, "_PAIRS_PER_COLUMN", 0)  # which the opening pass counts otherwise
    table, data, _ = counted_passes()
    passes, scanned = [], table._scan
    table._scan = lambda cliques, *rest: (passes.append([frozenset(c) for c in cliques]), scanned(cliques, *rest))
    pairs = [("x0", "x1"), ("x2", "x1"), ("x3", "x0")]
    table.count(pairs[:1])
    for found, expected in zip(table.count(pairs), data.count(pairs), strict=True):
        assert found.tolist() == expected.tolist()
    assert [len(p) for p in passes] == [1, 14]  # the second pass takes all pairs that are left
    assert [len(set(p)) for p in passes] == [1, 14]
