"""The JSON Schema of schema files says what `read_schema` takes."""

from __future__ import annotations

import dataclasses
import json
import re
import runpy
from pathlib import Path
from typing import get_args

import pytest

import pypgm
from pypgm.data import JSON_SCHEMA
from pypgm.data.columns.bins import Outside, Within
from pypgm.data.columns.dates import Resolution
from pypgm.data.schema.schema_file import KINDS

TEXT = json.loads(JSON_SCHEMA.read_text(encoding="utf-8"))
DEFINED = TEXT["$defs"]
REAL = {"kind": "real", "low": 0, "high": 1}
TAKEN = [
    {"age": 85, "sex": ["F", "M"]},
    {"$schema": "x.json", "columns": {"a": {"kind": "codes", "size": 3, "ordinal": False}}, "comment": "of ours"},
    {"columns": {"a": {"kind": "boolean", "values": ["no", "yes"], "null": "?"}, "b": 2}, "drop": ["id"]},
    {"a": {"kind": "categorical", "values": [1, "x", 2.5], "other": "else", "null": ["", "?"], "ordinal": True}},
    {"a": {"kind": "integer", "low": 0, "high": 9, "width": 5, "outside": "clip", "within": "lower", "null": True}},
    {"a": {"kind": "categorical", "values": [0, 6.55], "decimals": 2, "null": {"98": "does not know", "": ""}}},
    {"a": {"kind": "integer", "low": 0, "high": 9, "bins": {"quantiles": 3, "share": "1/20"}}},
    {"a": {**REAL, "bins": 4, "decimals": 2, "warning": "drafted"}, "b": {**REAL, "edges": [0.5]}},
    {"a": {"kind": "date", "low": "2020-01-01", "high": "2020-12-31", "resolution": "week", "format": "%d.%m.%Y"}},
    {"a": {"kind": "open", "share": 0.05, "other": "rest", "null": ""}},
    {"a": {"kind": "id"}, "b": {"kind": "id", "format": "ID-{:07}", "start": 10}, "c": 2},
    {"a": {"kind": "fake", "faker": "name"}, "b": {"kind": "fake", "faker": "city", "locale": "de_DE"}, "c": 2},
    {"a": ["x", "y"], "b": {"kind": "derived", "from": "a", "mapping": {"x": 1}, "other": 2, "null": ""}},
    {
        "a": ["x", "y"],
        "b": ["u"],
        "c": {"kind": "derived", "from": ["a", "b"], "mapping": [[["x", "u"], 1], [[["x", "y"], "u"], 2]]},
    },
    {
        "a": {**REAL, "bins": 2},
        "b": {"kind": "derived", "from": "a", "mapping": [[{"to": 0.5}, "x"], [[1], "y"]], "other": ""},
    },
    {
        "a": {"kind": "integer", "low": 0, "high": 9},
        "b": {"kind": "difference", "from": "a", "low": 0, "high": 5, "width": 2, "outside": "clip", "within": "lower"},
        "c": {"kind": "difference", "from": "b", "low": -1.5, "high": 5, "bins": 2, "decimals": 1, "null": True},
        "d": {"kind": "derived", "sum": ["a", "b"]},
        "e": {"kind": "derived", "product": ["a", "b", "c"], "decimals": 1},
        "f": {"kind": "derived", "difference": ["a", "d"]},
    },
    {
        "a": {"kind": "date", "low": "2020-01-01", "high": "2020-12-31"},
        "b": {
            "kind": "difference",
            "from": "a",
            "low": 0,
            "high": 5,
            "unit": "month",
            "edges": [3],
            "format": "%Y%m%d",
        },
        "c": {"kind": "derived", "difference": ["a", "b"], "unit": "week"},
    },
    {
        "columns": {"a": ["x", "y"], "b": {"kind": "categorical", "values": ["u"], "null": ""}},
        "rules": [{"blank": "b", "unless": {"a": ["x"]}}],
    },
    {
        "columns": {
            "a": {"kind": "boolean"},
            "b": ["no", "yes"],
            "c": {"kind": "derived", "from": "a"},
            "d": {"kind": "derived", "from": "a", "unless": {"x": ["u"]}, "null": "-"},
            "x": ["u", "v"],
        },
        "rules": [{"one_of": ["a", "b"], "warning": "read from the records"}],
    },
    {
        "columns": {"a": ["x", "y"], "b": {"kind": "integer", "low": 0, "high": 9}, "c": {**REAL, "bins": 2}},
        "rules": ["b <= c", {"columns": ["a", "b"], "forbidden": [["x", [0, 3]]]}],
        "records_per_person": 3,
    },
]
REFUSED = [
    {},
    {"a": {"kind": "codes"}},
    {"a": {"kind": "real", "low": 0}},
    {"a": {"kind": "colour", "values": ["red"]}},
    {"a": {**REAL, "bins": 4, "width": 2}},
    {"a": {"kind": "categorical", "values": ["x"], "ordinal": "no"}},
    {"a": {"kind": "date", "low": "2020-01-01", "high": "2020-12-31", "resolution": "decade"}},
    {"a": {"kind": "open", "share": 2}},
    {"a": True},
    {"a": 2, "b": {"kind": "id", "format": 7}},
    {"a": 2, "b": {"kind": "fake"}},
    {"a": 2, "b": {"kind": "derived", "from": ["a"]}},
    {"a": 2, "b": {"kind": "derived", "from": "a", "unless": {"a": 1, "c": 1}}},
    {"columns": {"a": 2, "b": 2}, "rules": [{"one_of": ["a"]}]},
    {"a": 2, "b": {"kind": "derived", "from": "a", "mapping": {"0": 1, "1": 1}, "sum": ["a", "a"]}},
    {"a": 2, "b": {"kind": "derived", "sum": ["a"]}},
    {"a": 2, "b": {"kind": "difference", "low": 0, "high": 3}},
    {"columns": {"a": 2, "b": 2}, "rules": [{"blank": "a"}]},
    {"columns": {"a": 2}, "records_per_person": 0},
    {"columns": {"a": 2}, "rule": []},
    {"columns": {"a": 2, "b": 2}, "rules": [{"columns": ["a"], "forbidden": [[0]]}]},
]


@pytest.mark.parametrize("kind", KINDS)
def test_an_entry_has_the_fields_of_its_class(kind):
    shown = {"codes": "size", "source": "from", "first": "from"}
    fields = {shown.get(field.name, field.name) for field in dataclasses.fields(KINDS[kind])}
    more = {"codes": {"codes"}, "integer": {"bins"}}.get(kind, set())
    assert set(DEFINED[kind]["properties"]) == fields | more | {"kind", "comment", "warning"}
    assert DEFINED[kind]["properties"]["kind"] == {"const": kind}


def test_words_are_those_there_are():
    assert DEFINED["outside"]["enum"] == list(get_args(Outside))
    assert DEFINED["within"]["enum"] == list(get_args(Within))
    assert DEFINED["date"]["properties"]["resolution"]["enum"] == list(get_args(Resolution))


def test_both_take_and_refuse_the_same():
    validator = pytest.importorskip("jsonschema").Draft202012Validator
    validator.check_schema(TEXT)
    for told in TAKEN:
        assert [error.message for error in validator(TEXT).iter_errors(told)] == []
        schema = pypgm.Schema.from_dict(told)
        assert validator(TEXT).is_valid(json.loads(json.dumps(schema.to_dict())))
    for told in REFUSED:
        assert not validator(TEXT).is_valid(told)
        with pytest.raises((TypeError, ValueError)):
            pypgm.Schema.from_dict(told)


def test_schemas_of_the_documentation_are_valid():
    validator = pytest.importorskip("jsonschema").Draft202012Validator(TEXT)
    found = 0
    for page in (Path(__file__).parents[2] / "docs" / name for name in ("schema.md", "your_table.md")):
        for block in re.findall(r"```json\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            found += 1
            assert validator.is_valid(json.loads(block)), page
    assert found


def test_the_page_of_the_schema_has_every_field():
    script = Path(__file__).parents[2] / ".ci" / "schema_page"
    if not script.exists():
        pytest.skip("the scripts of the repository are not here")
    made = runpy.run_path(str(script))["page"]()
    assert (Path(__file__).parents[2] / "docs" / "schema.md").read_text(encoding="utf-8") == made
    for kind in KINDS:
        part = made.partition(f"### {kind}\n")[2].partition("\n##")[0]
        for name in DEFINED[kind]["properties"]:
            assert name in {"kind", "comment", "warning"} or f"| `{name}`" in part
    assert not re.search(r"\|  \|$", made, re.MULTILINE)
