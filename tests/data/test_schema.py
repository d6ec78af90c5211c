"""Schemas: a table's columns declared, read from a file, and used both ways."""

from __future__ import annotations

import builtins
import json
import pickle
import re

import numpy as np
import pytest

import pypgm
from pypgm import Schema
from pypgm.data import Boolean, Categorical, Codes, Date, Integer, Real

WHOLE = {
    "comment": "an example",
    "columns": {
        "age": {"kind": "integer", "low": 0, "high": 99, "width": 10, "warning": "read from the data"},
        "sex": ["F", "M"],
        "floor": 4,
        "wage": {"kind": "real", "low": 0, "high": 1000, "bins": 4, "decimals": 2, "outside": "clip", "null": True},
        "hired": {"kind": "date", "low": "2020-01-01", "high": "2024-12-31", "resolution": "month"},
        "active": {"kind": "boolean", "values": ["no", "yes"]},
        "job": {"kind": "categorical", "values": ["clerk", "cook"], "other": True, "null": ["?", ""]},
        "grade": {"kind": "codes", "size": 5, "ordinal": False},
    },
    "drop": ["id"],
    "records_per_person": 3,
}
RAW = {
    "id": ["a", "b"],
    "age": ["31", "99"],
    "sex": ["F", "M"],
    "floor": ["0", "3"],
    "wage": ["12.5", ""],
    "hired": ["2020-01-31", "2024-12-01"],
    "active": ["yes", "no"],
    "job": ["cook", "?"],
    "grade": [0, 4],
}


def write(path, told):
    path.write_text(told if isinstance(told, str) else json.dumps(told))
    return path


def test_a_file_declares_columns(tmp_path):
    schema = pypgm.read_schema(write(tmp_path / "schema.json", WHOLE))
    assert schema.columns == {
        "age": Integer(0, 99, width=10),
        "sex": Categorical(["F", "M"]),
        "floor": Codes(4),
        "wage": Real(0, 1000, bins=4, decimals=2, outside="clip", null=True),
        "hired": Date("2020-01-01", "2024-12-31", "month"),
        "active": Boolean(["no", "yes"]),
        "job": Categorical(["clerk", "cook"], other=True, null=["?", ""]),
        "grade": Codes(5, ordinal=False),
    }
    assert schema.drop == ("id",)
    assert schema.records_per_person == 3
    assert schema.ordinal == ("age", "floor", "wage", "hired")
    assert schema.domain.shape == (10, 2, 4, 5, 60, 2, 4, 5)
    assert schema.domain.labels["wage"] == ("[0, 250)", "[250, 500)", "[500, 750)", "[750, 1000]", "")
    assert repr(schema).startswith("Schema(age: integer 10, sex: categorical 2, floor: codes 4, ")


def test_lists_of_numbers_are_ordinal():
    assert Schema({"a": [1, 2.5, 4], "b": ["1", "2"], "c": [True, False], "d": 3}).ordinal == ("a", "d")
    domain = pypgm.Domain({"a": [1, 2.5, 4], "b": ["1", "2"], "d": 3})
    assert Schema.of(domain).ordinal == ("a", "d")


def test_a_schema_goes_both_ways():
    schema = Schema.from_dict(WHOLE)
    data = schema.encode(RAW)
    assert {n: c.tolist() for n, c in data.columns.items()} == {
        "age": [3, 9],
        "sex": [0, 1],
        "floor": [0, 3],
        "wage": [0, 4],
        "hired": [0, 59],
        "active": [1, 0],
        "job": [1, 3],
        "grade": [0, 4],
    }
    back = schema.decode(data, rng=0)
    again = schema.encode(back)
    assert all((again.columns[n] == data.columns[n]).all() for n in schema.columns)
    assert back["job"].tolist() == ["cook", None]
    assert back["active"].tolist() == ["yes", "no"]
    assert {n: v.tolist() for n, v in schema.decode(data, 0).items() if n != "wage"} == {
        n: v.tolist() for n, v in back.items() if n != "wage"
    }
    assert schema.decode(data, 1)["age"].tolist() != back["age"].tolist()


def test_a_schema_is_kept(tmp_path):
    schema = Schema.from_dict(WHOLE)
    schema.save(tmp_path / "kept.json")
    assert pypgm.read_schema(tmp_path / "kept.json") == schema
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert hash(Schema.from_dict(schema.to_dict())) == hash(schema)
    assert schema != Schema({"age": 3})
    assert schema != 3


def test_a_domain_file_is_a_schema(tmp_path):
    path = write(tmp_path / "domain.json", {"age": 85, "sex": ["F", "M"], "columns": ["a"]})
    schema = pypgm.read_schema(path)
    assert schema.domain == pypgm.read_domain(path)
    assert Schema.of(schema.domain) == schema
    assert schema.domain.labels == {"sex": ("F", "M"), "columns": ("a",)}


def test_yaml(tmp_path):
    pytest.importorskip("yaml")
    text = "columns:\n  sex: [F, M]\n  hired: {kind: date, low: 2020-01-01, high: 2020-12-31}\ndrop: [id]\n"
    schema = pypgm.read_schema(write(tmp_path / "schema.yaml", text))
    assert schema == Schema({"sex": ["F", "M"], "hired": Date("2020-01-01", "2020-12-31")}, drop=["id"])
    Schema.from_dict(WHOLE).save(tmp_path / "json.yml")
    assert pypgm.read_schema(tmp_path / "json.yml") == Schema.from_dict(WHOLE)
    for wrong, message in [
        ("a: [1, 2", "must be YAML, but is not at line 1"),
        ("a: 1\na: 2", "attribute 'a' comes more than once"),
        ("a:\n  kind: codes\n  size: 2\n  size: 3", "attribute 'size' comes more than once"),
    ]:
        with pytest.raises(ValueError, match=message):
            pypgm.read_schema(write(tmp_path / "wrong.yml", wrong))


def test_yaml_without_its_package(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *args):
        if name == "yaml":
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"needs the extra: pip install pypgm\[yaml\]"):
        pypgm.read_schema(write(tmp_path / "schema.yaml", "a: 3"))


@pytest.mark.parametrize(
    ("told", "messages"),
    [
        ([], ["needs an object of attributes"]),
        ({}, ["needs an object of attributes"]),
        ({"columns": {}}, ["columns needs at least one column"]),
        ({"age": 0}, ["attribute 'age' needs at least one value, got size 0"]),
        ({"age": 4.5}, ["attribute 'age' needs a size or a list of labels, got 4.5"]),
        ({"age": True}, ["'age' needs a size or a list of labels, got true"]),
        ({"age": "x"}, ["'age' needs a size or a list of labels"]),
        ({"age": []}, ["'age' needs at least one label"]),
        ({"sex": ["F", "F"]}, ["label 'F' comes more than once"]),
        ({"sex": [["F"], "M"]}, ["needs labels that are text or numbers"]),
        ({"age": {"low": 0}}, ["'age' needs a kind: one of categorical, boolean, codes, integer, real, date"]),
        ({"age": {"kind": []}}, ["'age' needs a kind"]),
        ({"age": {"kind": "integer", "hi": 3}}, ["integer has no 'hi'", "needs low, high"]),
        ({"age": {"kind": "codes"}}, ["'age' needs size"]),
        (
            {"a": {"kind": "real", "low": 0, "high": 1, "bins": {"quantiles": 4, "share": 0.1}, "share": 0.1}},
            ["'a': real has no 'share', only low, high, bins, edges, decimals,"],
        ),
        (
            {"a": {"kind": "integer", "low": 0, "high": 9, "bins": {"quantile": 4, "share": 0.1}}},
            ["'a': bins has no 'quantile', only quantiles, share", "'a' needs quantiles"],
        ),
        ({"a": {"kind": "integer", "high": 9, "bins": {"quantiles": 4, "share": 0.1}}}, ["'a' needs low"]),
        ({"age": {"kind": "boolean", "values": 3}}, ["attribute 'age': "]),
        ({"columns": {"a": 2}, "drops": []}, ["'drops' is none of columns, drop, rules, records_per_person"]),
        ({"columns": {"a": 2}, "drop": "id"}, ["drop needs a list of names"]),
        ({"columns": {"a": 2}, "drop": ["a"]}, ["column 'a' is declared and dropped"]),
        ({"columns": {"a": 2}, "records_per_person": 0}, ["records_per_person needs a whole number, 1 or more, got 0"]),
        ({"a": {"kind": "integer", "low": 0, "high": 9, "null": 5}}, ["'a': null needs texts"]),
        (
            {"a": {"kind": "real", "low": -1.7e308, "high": 1.7e308, "bins": 4}},
            ["'a': low and high are further apart than numbers of double precision reach"],
        ),
        ({3: 4}, ["names of columns are text, got 3"]),
        (
            {
                "columns": {
                    "a": {"kind": "integer", "low": 3, "high": 1, "outside": "x"},
                    "b": 0,
                    "c": {"kind": "real", "low": 0, "high": 1, "null": [3]},
                },
                "drop": 7,
            },
            [
                "has 6 problems:",
                "drop needs a list",
                "'a': outside must be",
                "'a': low must be below high",
                "'b' needs at least one value",
                "'c': null needs texts",
                "'c' needs either bins or edges",
            ],
        ),
    ],
)
def test_all_that_is_wrong_with_a_file_is_told_at_once(told, messages):
    with pytest.raises(ValueError, match="in this file") as caught:
        Schema.from_dict(told, "in this file")
    assert all(message in str(caught.value) for message in messages)


def test_all_that_is_wrong_with_a_table_is_told_at_once_and_no_value():
    schema = Schema.from_dict(WHOLE)
    wrong = RAW | {"age": ["31", "secret"], "wage": ["secret", "1"], "job": ["", "secret"], "more": [1, 2]}
    with pytest.raises(ValueError, match="the table has 3 problems") as caught:
        schema.encode(wrong)
    text = str(caught.value)
    assert "has columns that the domain does not: 'more'; ignore_extra=True" in text
    assert 'the list "drop" of the schema' in text
    assert "column 'age', row 1 (the first is 0): needs a whole number from 0 to 99, and is not a whole number" in text
    assert "column 'wage', row 0 (the first is 0): needs a number from 0 to 1000, and is not a number" in text
    assert "secret" not in text
    comma = "is not a number, but may have a decimal comma: decimal=',' or --decimal , says so"
    with pytest.raises(ValueError, match=re.escape(comma)) as caught:
        schema.encode(RAW | {"wage": ["1", "12,5"]})
    assert "12,5" not in str(caught.value)
    del wrong["floor"]
    with pytest.raises(ValueError, match="lacks a column for 'floor'"):
        schema.encode(wrong)
    with pytest.raises(ValueError, match=r"lacks a column for 'floor' \('Floor' has another case\)$"):
        schema.encode({"Floor" if name == "floor" else name: values for name, values in RAW.items()})
    assert schema.encode(RAW | {"more": [1, 2]}, ignore_extra=True).n_records == 2


def test_schemas_that_do_not_fit():
    with pytest.raises(ValueError, match="at least one column"):
        Schema({})
    with pytest.raises(TypeError, match=r"column 'a' needs a column of pypgm\.data, a size or a list"):
        Schema({"a": "FM"})
    with pytest.raises(ValueError, match="is over Domain"):
        Schema({"a": 2}).decode(pypgm.Dataset({"a": [1]}, pypgm.Domain({"a": 3})))
    with pytest.raises(TypeError, match="domain needs a pypgm"):
        Schema.of({"a": 3})


def test_encoded_records_are_as_small_as_may_be():
    data = Schema({"a": 256, "b": 257}).encode({"a": np.arange(256), "b": np.arange(256)})
    assert (data.columns["a"].dtype, data.columns["b"].dtype) == (np.uint8, np.uint16)


WIDE = {
    "real": Real(0, 1, bins=20_000, null="?"),
    "whole": Integer(0, 19_999, outside="other"),
    "time": Date("2020-01-01", "2022-12-31", "hour"),
}


def test_labels_of_many_bins_are_made_when_they_are_read(monkeypatch):
    made = []
    for kind in (Real, Integer, Date):
        of_kind = kind.value_labels.fget
        monkeypatch.setattr(kind, "value_labels", property(lambda own, of=of_kind: made.append(own.kind) or of(own)))
    schema = Schema(WIDE)
    data = schema.encode({"real": [0.5, "?"], "whole": [3, -1], "time": ["2020-01-01T00:00", "2022-12-31T23:00"]})
    again = pickle.loads(pickle.dumps(schema.domain))
    assert again == schema.domain == Schema(WIDE).domain
    assert data.domain.project(("time", "real")).shape == (26_304, 20_001)
    assert list(schema.domain.labels) == list(WIDE)
    schema.decode(data)
    assert made == []
    assert schema.domain.labels["real"][-2:] == ("[0.99995, 1]", "?")
    assert again.labels["whole"][-2:] == (19_999, "other")
    assert made == ["real", "integer"]
    assert schema.domain == pypgm.Domain({name: column.labels for name, column in WIDE.items()})
    assert schema.domain != Schema(WIDE | {"whole": Integer(1, 20_000, outside="other")}).domain
    assert repr(schema.domain.project("real").labels).startswith("{'real': ('[0, 5e-05)',")


def test_a_null_that_reads_like_one_of_many_bins_is_refused():
    with pytest.raises(ValueError, match=r"label '\[0, 5e-05\)' comes more than once"):
        Schema({"x": Real(0, 1, bins=20_000, null="[0, 5e-05)")})


def test_bins_of_even_width_begin_where_their_labels_say():
    tenths = Real(0, 1, bins=10, decimals=1)
    assert tenths.encode([round(0.1 * i, 1) for i in range(11)])[0].tolist() == [*range(10), 9]
    assert tenths.decode(np.arange(9), rng=0).tolist() == [round(0.1 * i, 1) for i in range(9)]
    thirds = Real(0.1, 1.1, bins=3)
    assert thirds.bounds_and_starts()[2].tolist() == pytest.approx([0.1, 0.1 + 1 / 3, 0.1 + 2 / 3])


def test_bounds_beyond_the_doubles_are_refused():
    with pytest.raises(ValueError, match="low, high and edges need finite numbers"):
        Real(0, 10**400, bins=3)


@pytest.mark.parametrize(
    ("column", "needed"),
    [
        ({"kind": "boolean", "values": 5}, "values needs two texts"),
        ({"kind": "boolean", "values": {"no": 0, "yes": 1}}, "values needs two texts"),
        ({"kind": "integer", "low": 0, "high": 9, "edges": 5}, "edges needs a list of numbers"),
        ({"kind": "real", "low": 0, "high": 9, "edges": True}, "edges needs a list of numbers"),
        ({"kind": "date", "low": "2000-01-01", "high": "2001-01-01", "format": 5}, "format needs a text"),
        ({"kind": "date", "low": "2000-01-01", "high": "2001-01-01", "format": ["%d"]}, "format needs a text"),
        ({"kind": "categorical", "values": ["a"], "null": [[]]}, "null needs texts"),
        ({"kind": "categorical", "values": ["a"], "null": {"x": 1}}, "null needs texts"),
        ({"kind": "categorical", "values": ["a"], "ordinal": "false"}, "ordinal needs true or false, got 'false'"),
        ({"kind": "codes", "size": 3, "ordinal": 0}, "ordinal needs true or false, got 0"),
        ({"kind": "categorical", "values": ["a"], "other": 1}, "other needs true, false or a text"),
        ({"kind": "categorical", "values": ["a"], "other": ["b"]}, "other needs true, false or a text"),
        ({"kind": "categorical", "values": ["a"], "edges": None}, "categorical has no 'edges'"),
    ],
)
def test_an_entry_of_another_kind_is_refused_in_words(tmp_path, column, needed):
    (tmp_path / "schema.json").write_text(json.dumps({"columns": {"c": column}}))
    with pytest.raises(ValueError, match=needed) as refused:
        pypgm.read_schema(tmp_path / "schema.json")
    assert "attribute 'c'" in str(refused.value)
