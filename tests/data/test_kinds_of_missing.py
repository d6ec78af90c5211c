"""Kinds of missing values that are told apart: codes of their own at every door, and written as they were."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

import pypgm
from pypgm import Schema
from pypgm.data import EngineTable, OpenSet, read_table, scan, write_table
from pypgm.data.columns.values import is_missing
from pypgm.data.schema.evidence import read_evidence
from pypgm.data.sources.layout import Layout
from pypgm.reporting.words import labels_of

KINDS = {
    "categorical": ({"values": ["a", "b"]}, ["a", "b"]),
    "listed": ({"kind": "categorical", "values": [1, 2.5, 7]}, ["1", "2.5", "7"]),
    "other": ({"kind": "categorical", "values": ["a", "b"], "other": True}, ["a", "zebra"]),
    "boolean": ({"values": ["no", "yes"]}, ["no", "yes"]),
    "codes": ({"size": 9}, ["0", "8"]),
    "integer": ({"low": 0, "high": 89, "width": 9}, ["0", "41", "89"]),
    "clipped": ({"kind": "integer", "low": 0, "high": 9, "outside": "clip"}, ["0", "12"]),
    "elsewhere": ({"kind": "integer", "low": 0, "high": 9, "outside": "other"}, ["0", "12"]),
    "real": ({"low": 0, "high": 9, "bins": 4, "decimals": 1}, ["0.5", "8.9"]),
    "date": ({"low": "2024-01-01", "high": "2024-12-31", "format": "%Y%m%d"}, ["20240131", "20241201"]),
}
SPELLINGS = (
    {"98": "does not know", "99": "refused"},
    {"99": "", "98": ""},
    {"-1": "", "": "left blank", "998.0": "not asked"},
    {"?": "unknown", " n/a ": "does not apply", "": ""},
)
CASES = list(itertools.product(KINDS, SPELLINGS))
ONE_OF_EACH = [(kind, SPELLINGS[i % len(SPELLINGS)]) for i, kind in enumerate(KINDS)]


def example(kind, null, rows=60):
    """Return a schema, texts of its column, and the code of each by the declaration alone."""
    entry, values = KINDS[kind]
    schema = Schema.from_dict({"columns": {"x": {"kind": kind, **entry, "null": null}, "y": ["p", "q"]}})
    texts = [*values, *null] * (rows // (len(values) + len(null)) + 1)
    places = {text: place for place, text in enumerate(null)}
    codes = [
        schema.columns["x"].null_codes[places[text]] if text in null else int(schema.columns["x"].encode([text])[0][0])
        for text in texts
    ]
    return schema, texts, codes


def codes_of(data):
    return data.columns["x"].tolist()


@pytest.mark.parametrize(("kind", "null"), CASES)
def test_each_kind_has_a_code_a_label_and_its_text(kind, null):
    schema, texts, codes = example(kind, null)
    column = schema.columns["x"]
    assert column.null_code == column.null_codes[0]
    assert len(set(column.null_codes)) == len(null)
    assert list(column.labels[-len(null) :]) == [meaning or text for text, meaning in null.items()]
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    assert codes_of(schema.encode({"x": texts, "y": ["p"] * len(texts)})) == codes
    nulls = np.array(column.null_codes)
    assert column.texts(nulls, 0).tolist() == list(null)
    assert all(map(is_missing, column.decode(nulls, 0).tolist()))
    none = list(null).index("") if "" in null else 0
    assert column.encode([None, float("nan")])[0].tolist() == [column.null_codes[none]] * 2
    as_one = Schema.from_dict({"columns": {"x": column.to_dict() | {"null": list(null)}}}).columns["x"]
    assert as_one.null_codes == (column.null_code,), "a list has one code"


@pytest.mark.parametrize(("kind", "null"), ONE_OF_EACH)
def test_texts_and_numbers_of_every_source_have_the_same_codes(kind, null, tmp_path, monkeypatch):
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    schema, texts, codes = example(kind, null)
    table = {"x": texts, "y": ["p"] * len(texts)}
    frame = pandas.DataFrame(table)
    frame.to_csv(tmp_path / "small.csv", index=False)
    size = 1 << 17  # more rows than DuckDB looks at before it reads
    monkeypatch.setattr("pypgm.data.sources.arrow_csv._MIN_BYTES", size)
    rows = size // sum(map(len, texts)) + 2
    pandas.concat([frame] * rows).to_csv(tmp_path / "large.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for source in (frame, arrow.table(table)):
        assert codes_of(schema.encode(source)) == codes
    for name in ("small.csv", "t.parquet"):
        assert codes_of(read_table(tmp_path / name, schema)) == codes
    if null in SPELLINGS[::3]:  # of Arrow's reader
        assert codes_of(read_table(tmp_path / "large.csv", schema)) == codes * rows
    counts = scan(str(tmp_path / "large.csv"), schema).count([("x",)])[0]
    np.testing.assert_array_equal(counts, np.bincount(codes, minlength=schema.domain.size(("x",))) * rows)
    numbers = pandas.to_numeric(pandas.Series(texts), errors="coerce")
    if "?" not in null and not numbers.drop(numbers.index[[not t for t in texts]]).isna().any():
        for typed in (
            pandas.DataFrame({"x": numbers, "y": "p"}),
            arrow.table({"x": numbers.to_numpy(), "y": table["y"]}),
        ):
            assert codes_of(schema.encode(typed)) == codes


@pytest.mark.parametrize(("kind", "null"), CASES)
@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # of Ibis
def test_engines_count_each_kind(kind, null):
    arrow, ibis = pytest.importorskip("pyarrow"), pytest.importorskip("ibis")
    pytest.importorskip("duckdb")
    schema, texts, codes = example(kind, null)
    as_numbers = (
        [None if not text else float(text) for text in texts] if _are_numbers(texts) and kind != "date" else None
    )
    for values in filter(None, (texts, as_numbers)):
        connection = ibis.duckdb.connect()
        connection.con.register("t", arrow.table({"x": values, "y": ["p"] * len(texts)}))
        counts = EngineTable(connection.table("t"), schema).count([("x",)])[0]
        np.testing.assert_array_equal(counts, np.bincount(codes, minlength=schema.domain.size(("x",))))


def _are_numbers(texts):
    return all(text.replace(".", "").removeprefix("-").isdigit() for text in texts if text)


@pytest.mark.parametrize(("kind", "null"), CASES)
def test_files_have_each_kind_as_it_was(kind, null, tmp_path):
    pytest.importorskip("pyarrow")
    schema, texts, codes = example(kind, null)
    records = schema.encode({"x": texts, "y": ["p"] * len(texts)})
    for name in ("t.csv", "t.parquet"):
        layout = Layout("pyarrow", {"x": "string", "y": "string"}) if name == "t.parquet" else Layout()
        write_table(records, tmp_path / name, schema, 0, layout=layout)
        assert codes_of(read_table(tmp_path / name, schema)) == codes


def test_a_type_without_nulls_has_the_numbers_and_other_types_have_nulls():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    schema = Schema.from_dict({"columns": {"x": {"kind": "integer", "low": 0, "high": 9, "null": SPELLINGS[0]}}})
    given = [98, 3, 99, 0, 98]
    for made, missing in (
        (pandas.DataFrame({"x": np.array(given, dtype="int16")}), given),
        (pandas.DataFrame({"x": pandas.array(given, dtype="Int64")}), [None, 3, None, 0, None]),
        (pandas.DataFrame({"x": given}, dtype="float64"), [None, 3, None, 0, None]),
        (polars.DataFrame({"x": given}), [None, 3, None, 0, None]),
    ):
        records = schema.encode(made)
        back = Layout.of(made).frame(schema.cells(records.columns, np.random.default_rng(0)))
        assert str(back["x"].dtype) == str(made["x"].dtype)
        is_pandas = isinstance(made, pandas.DataFrame)
        listed = back["x"].astype(object).where(back["x"].notna(), None).tolist() if is_pandas else back["x"].to_list()
        assert listed == missing


@pytest.mark.parametrize("kind", ["int64", "int8", "float32", "float64", "string"])
def test_parquet_has_the_numbers_again(kind, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    null = {"98": "does not know", "99": "refused", "": ""}
    schema = Schema.from_dict({"columns": {"x": {"kind": "integer", "low": 0, "high": 9, "null": null}}})
    table = arrow.table({"x": arrow.array([98, 3, None, 99], "int64").cast(kind)})
    write_table(schema.encode(table), tmp_path / "t.parquet", schema, 0, layout=Layout.of(table))
    assert parquet.read_table(tmp_path / "t.parquet").equals(table)


def test_differences_rules_and_derived_columns_take_each_kind_for_missing():
    null = {"98": "does not know", "99": "refused", "": ""}
    number = {"kind": "integer", "low": 0, "high": 9, "null": null}
    schema = Schema.from_dict(
        {
            "columns": {
                "a": number,
                "b": number,
                "later": {"kind": "difference", "from": "a", "low": 0, "high": 3, "null": null},
                "sum": {"kind": "derived", "sum": ["a", "b"], "null": "none"},
                "size": {"kind": "derived", "from": "a", "mapping": [[{"to": 4}, "low"]], "other": "high", "null": "?"},
                "why": ["x", "y"],
            },
            "rules": ["a <= b", {"blank": "b", "unless": {"why": "x"}}],
        }
    )
    values = {"a": ["98", "1", "", "99", "2"], "b": ["3", "5", "4", "5", "6"], "why": ["x"] * 5}
    values["later"] = ["99", "98", "", "12", "3"]
    values["later"][3] = "98"
    records = schema.encode(values)
    first = schema.columns["later"].null_codes
    assert records.columns["later"].tolist() == [first[1], first[0], first[2], first[0], 1]
    assert schema.columns["later"].decode(np.array(first)).tolist() == [None] * 3
    written = {
        name: cells.texts().tolist() for name, cells in schema.cells(records.columns, np.random.default_rng(0)).items()
    }
    assert {name: written[name] for name in values} == values
    assert written["sum"] == ["none", "6", "none", "none", "8"]
    assert written["size"] == ["?", "low", "?", "?", "low"]
    for text in null:
        schema.encode({"a": ["1"], "b": [text], "later": [""], "why": ["y"]})
    with pytest.raises(ValueError, match="a rule forbids"):
        schema.encode({"a": ["1"], "b": ["5"], "later": [""], "why": ["y"]})


def test_evidence_names_one_kind_or_all():
    schema, _, _ = example("integer", SPELLINGS[0])
    column = schema.columns["x"]
    for given, labels in (
        ("98", {"does not know"}),
        (99, {"refused"}),
        ("refused", {"refused"}),
        ("(missing)", {"does not know", "refused"}),
        (None, {"does not know", "refused"}),
    ):
        read = read_evidence(schema.domain, {"x": given}, schema)["x"]
        assert (read if isinstance(read, set) else {read}) == labels
    assert set(read_evidence(schema.domain, {"x": "80.."}, schema)["x"]) <= set(column.labels[: column.n_values])
    assert labels_of(schema.domain, "x", schema)[-2:] == ["does not know", "refused"]


def test_a_release_has_each_kind_as_often_as_the_table(tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    frame = pandas.DataFrame({"hours": rng.choice([1, 8, 16, 98, 99], 4000, p=[0.2, 0.3, 0.2, 0.2, 0.1])})
    schema = {"hours": {"kind": "integer", "low": 0, "high": 16, "null": SPELLINGS[0]}}
    release = pypgm.synthesize(frame, schema, epsilon=5, delta=1e-9)
    made = release.to_frame()
    assert made.dtypes.equals(frame.dtypes)
    for value in (98, 99):
        assert abs((made.hours == value).mean() - (frame.hours == value).mean()) < 0.02
    among = frame.hours[frame.hours < 90].mean()
    assert abs(release.interval(lambda drawn: float(drawn["hours"].mean())).answer - among) < 0.3
    release.write(tmp_path / "t.csv")
    written = pandas.read_csv(tmp_path / "t.csv")
    assert set(written.hours) <= {*range(17), 98, 99}
    assert pypgm.compare(frame, made, schema=release.schema).columns[0].points < 5


def test_open_columns_keep_kinds_apart():
    column = OpenSet(share=0.1, null={"?": "unknown", "": ""}).closed(["a", "?", "unknown"])
    assert column.labels == ("a", "other", "unknown", "")
    assert column.encode(["?", "", None, "b"])[0].tolist() == [2, 3, 3, 1]
    assert OpenSet(share=0.1, null={"?": "unknown"}).to_dict()["null"] == {"?": "unknown"}


@pytest.mark.parametrize(
    ("null", "why"),
    [
        ({"98": "x", "98.0": "y"}, "more than once"),
        ({"0": "x", "0.0": "y"}, "more than once"),
        ({"?": "x", " ?": "y"}, "more than once"),
        ({"98": "x", "99": "x"}, "one meaning"),
        ({"98": 1}, "null needs texts"),
        ({"98": "5"}, "needs words"),
        ({"98": "also", "also": ""}, "one meaning"),
    ],
)
def test_kinds_that_cannot_be_told_apart_are_refused(null, why):
    with pytest.raises(ValueError, match=why):
        Schema.from_dict({"columns": {"x": {"kind": "integer", "low": 0, "high": 9, "null": null}}})
