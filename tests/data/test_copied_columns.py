"""Derived columns that are copies of others, and that are missing unless a condition allows a value."""

from __future__ import annotations

import json

import numpy as np
import pytest

import pypgm
from pypgm.data import Boolean, Categorical, Codes, Date, Derived, Difference, Integer, OpenSet, Real

N = 300
SOURCES = {
    "date": Date("2024-01-01", "2024-12-31", resolution="month"),
    "format": Date("2024-01-01", "2024-12-31", format="%d.%m.%Y", null="-"),
    "integer": Integer(0, 99, width=10),
    "real": Real(0, 1, bins=4, decimals=2, null=""),
    "texts": Categorical(["x", "y"]),
    "other": Categorical(["x", "y"], other=True, null="?"),
    "boolean": Boolean(["no", "yes"]),
    "codes": Codes(4),
}


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("unless", [None, {"died": "no"}, {"died": ["no", ""]}, "died"])
def test_a_copy_is_equal_or_missing_as_its_condition_says(kind, unless):
    source, died = SOURCES[kind], Categorical(["no", "yes"], null="")
    schema = pypgm.Schema({"a": source, "died": died, "b": Derived("a", unless=unless)})
    assert list(schema.domain) == ["a", "died"]
    rng = np.random.default_rng(0)
    codes = {name: rng.integers(0, schema.domain.size(name), N) for name in schema.domain}
    cells = schema.cells(codes, rng)
    a, b = cells["a"].texts(), cells["b"].texts()
    codes_of = {"no": 0, "yes": 1, "": 2}
    named = {None: [], "died": ["no", "yes"]}.get(unless) if not isinstance(unless, dict) else unless["died"]
    missing = [codes_of[text] for text in ([named] if isinstance(named, str) else named)]
    is_missing = np.isin(codes["died"], missing)
    null = (source.nulls or ("",))[0]
    assert b.tolist() == np.where(is_missing, null, a).tolist()
    decoded = cells["b"].decoded()
    for i in np.flatnonzero(is_missing):
        assert decoded[i] is None or decoded[i] != decoded[i]
    kept = ~is_missing & (a != null)
    assert decoded[kept].tolist() == cells["a"].decoded()[kept].tolist()


def test_a_condition_goes_with_every_function():
    schema = pypgm.Schema(
        {
            "x": Integer(0, 9),
            "y": Integer(0, 9),
            "ok": Boolean(["no", "yes"]),
            "sum": Derived(sum=["x", "y"], unless={"ok": "no"}),
            "name": Derived("x", [({"to": 4}, "low"), ({"from": 5}, "high")], unless={"ok": "no"}),
            "again": Derived("sum"),
        }
    )
    decoded = schema.decode(schema.encode({"x": [1, 7], "y": [2, 9], "ok": ["yes", "no"]}))
    assert [decoded["sum"][0], decoded["name"][0], decoded["again"][0]] == [3, "low", 3]
    assert decoded["name"][1] is None
    assert decoded["sum"][1] is None
    assert decoded["again"][1] is None


def test_a_death_on_the_day_of_discharge():
    rng = np.random.default_rng(1)
    admitted = np.datetime64("2024-01-01") + rng.integers(0, 300, N)
    discharged = admitted + rng.integers(0, 30, N)
    died = np.where(rng.random(N) < 0.2, "yes", "no")
    table = {"in": admitted, "out": discharged, "died": died.tolist()}
    schema = {
        "in": {"kind": "date", "low": "2024-01-01", "high": "2024-12-31"},
        "out": {"kind": "difference", "from": "in", "low": 0, "high": 29, "unit": "day"},
        "died": {"kind": "boolean", "values": ["no", "yes"]},
        "death": {"kind": "derived", "from": "out", "unless": {"died": "no"}},
    }
    release = pypgm.synthesize(table, schema, epsilon=1, delta=1e-9, unsafe_seed=0)
    decoded = release.schema.decode(release.synthetic_data(rng=0), rng=0)
    is_dead = decoded["died"] == "yes"
    assert 0 < is_dead.sum() < len(is_dead)
    assert (decoded["death"][is_dead] == decoded["out"][is_dead]).all()
    assert np.isnat(decoded["death"][~is_dead]).all()


def test_queries_and_files_know_a_copy(tmp_path):
    columns = {"a": ["x", "y"] * 100, "died": ["no", "no", "yes", "yes"] * 50}
    schema = pypgm.Schema({"a": ["x", "y"], "died": ["no", "yes"], "b": Derived("a", unless={"died": "no"})})
    release = pypgm.synthesize(columns, schema, epsilon=50, delta=1e-9, unsafe_seed=0)
    assert release.query("b").values == pytest.approx([0.25, 0.25, 0.5], abs=0.02)
    assert release.query("b", {"died": "no"}).values == pytest.approx([0, 0, 1], abs=1e-9)
    schema.save(tmp_path / "s.json")
    entry = {"kind": "derived", "from": "a", "unless": {"died": "no"}}
    assert json.loads((tmp_path / "s.json").read_text())["columns"]["b"] == entry
    assert pypgm.read_schema(tmp_path / "s.json") == schema
    release.save(tmp_path / "r.pgm")
    assert pypgm.Release.load(tmp_path / "r.pgm").schema == schema


def test_a_copy_of_an_open_column():
    again = Derived("job", unless={"x": 0})
    schema = pypgm.OpenSchema({"job": OpenSet(share="0.1"), "x": Integer(0, 3), "again": again})
    table = {"job": ["cook", "clerk"] * 500, "x": [0, 0, 1, 1] * 250}
    release = pypgm.synthesize(table, schema, epsilon=5, delta=1e-6, unsafe_seed=0)
    decoded = release.schema.decode(release.synthetic_data(rng=0), rng=0)
    assert set(decoded["job"]) >= {"cook", "clerk"}
    expected = [None if x == 0 else job for job, x in zip(decoded["job"], decoded["x"], strict=True)]
    assert decoded["again"].tolist() == expected


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"source": "a", "unless": {"w": 3}}, "unless needs values of a column of listed ones, and 'w' has bins"),
        ({"source": "a", "unless": "a"}, "unless names 'a', which is never null"),
        ({"source": "a", "unless": {"died": "maybe"}}, "needs one of"),
        ({"source": "z"}, "made of 'z'"),
        ({"source": "n", "null": "?"}, "null is that of the column it is a copy of"),
        ({"source": "d"}, None),
    ],
)
def test_what_cannot_be_copied_is_refused(column, message):
    columns = {
        "a": Categorical(["x", "y"]),
        "n": Categorical(["x", "y"], null=""),
        "w": Integer(0, 9, width=5),
        "died": Categorical(["no", "yes"]),
        "i": Date("2024-01-01", "2024-12-31"),
        "d": Difference("i", 0, 9, unit="day"),
    }
    if message is None:
        assert pypgm.Schema({**columns, "b": Derived(**column)}).written["b"].has_dates
        return
    with pytest.raises(ValueError, match=message):
        pypgm.Schema({**columns, "b": Derived(**column)})


@pytest.mark.parametrize("unless", [1, [], {}, {"a": 1, "b": 2}, {1: 2}])
def test_a_condition_names_one_column(unless):
    with pytest.raises(ValueError, match="unless needs another column"):
        Derived("a", unless=unless)


def test_an_empty_mapping_is_no_copy():
    with pytest.raises(ValueError, match="needs exactly one of mapping"):
        Derived("a", {})
