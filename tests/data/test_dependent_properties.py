"""Properties of generated schemas of dependent columns, by what files hold and arithmetic of their own."""

from __future__ import annotations

import csv
import datetime
import random
from decimal import ROUND_HALF_EVEN, Decimal

import numpy as np
import pytest

import pypgm
from pypgm import Schema
from pypgm.mechanisms.tables import mechanism_named, mechanism_names

QUICK = ["mst", "hdmm", "privbayes"]


def drawn(draw):
    """Return a schema file of columns that depend on each other in ways that are drawn."""
    null = {"null": ""} if draw.random() < 0.5 else {}
    places = [f"p{i}" for i in range(draw.randrange(2, 6))]
    known = places[: draw.randrange(1, len(places) + 1)]
    whole = {"kind": "integer", "low": draw.randrange(-20, 5), "high": draw.randrange(10, 60), "width": 7}
    parts = {"kind": "real", "low": draw.randrange(-20, 5), "high": 40, "bins": 3, "decimals": draw.randrange(3)}
    first = draw.choice([whole, parts])
    columns = {
        "id": {"kind": "id", "format": draw.choice(["{}", "N{:04}", "{:06d}/x"]), "start": draw.randrange(100)},
        "place": {"kind": "categorical", "values": places, **null},
        "zone": {
            "kind": "derived",
            "from": "place",
            "mapping": {p: f"z{i % 2}" for i, p in enumerate(known)},
            "other": "?",
        },
        "a": draw.choice([whole, parts]) | null,
        "b": first,
        "more": {"kind": "difference", "from": "b", "low": -3, "high": 11, "width": 4},
        "total": {"kind": "derived", draw.choice(["sum", "product", "difference"]): ["a", "b"]},
        "start": {
            "kind": "date",
            "low": "2019-02-28",
            "high": "2024-02-29",
            "resolution": draw.choice(["year", "month"]),
        }
        | null,
        "end": {"kind": "difference", "from": "start", "unit": draw.choice(["day", "week", "month", "year"]), "low": 0}
        | null,
        "x": {"kind": "categorical", "values": ["u", "v"], "null": ""},
    }
    columns["end"] |= {"high": draw.randrange(1, 30), "edges": [1]}
    columns["start"] |= draw.choice([{}, {"format": "%d/%m/%Y"}])
    columns["total"] |= draw.choice([{}, {"decimals": draw.randrange(3)}])
    columns["span"] = {"kind": "derived", "difference": ["start", "end"], "unit": columns["end"]["unit"]}
    unless = "place" if null and draw.random() < 0.3 else {"place": draw.sample(places, len(places) - 1)}
    return {"columns": columns, "rules": [{"blank": "x", "unless": unless}, "a <= b"]}


def records(schema, seed, n=300):
    """Return records that keep the rules, all else drawn."""
    draw = np.random.default_rng(seed)
    codes = {name: draw.integers(0, column.size, 9 * n) for name, column in schema.columns.items()}
    keeps = np.ones(9 * n, dtype=bool)
    for rule in schema.rules:
        keeps &= ~rule.mask(schema.columns)[tuple(codes[name] for name in rule.columns)]
    return schema.records({name: own[keeps][:n] for name, own in codes.items()})


def check(told, rows):
    """Check all that a schema promises of the records of a file."""
    columns, blank = told["columns"], told["rules"][0]["unless"]
    start, form = columns["id"]["start"], columns["start"].get("format", "%Y-%m-%d")
    for i, row in enumerate(rows):
        assert row["id"] == columns["id"]["format"].format(start + i)
        assert row["zone"] == ("" if not row["place"] else columns["zone"]["mapping"].get(row["place"], "?"))
        if row["x"]:
            assert row["place"] != "" if blank == "place" else row["place"] in blank["place"]
        a, b, more = (Decimal(row[name]) if row[name] else None for name in ("a", "b", "more"))
        assert -3 <= more - b <= 11
        if a is None:
            assert row["total"] == ""
        else:
            assert a <= b
            total = {"sum": a + b, "product": a * b, "difference": b - a}
            exact = next(total[name] for name in total if name in columns["total"])
            digits = columns["total"].get("decimals")
            exact = exact if digits is None else exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN)
            assert Decimal(row["total"]) == exact
        if not (row["start"] and row["end"]):
            assert row["span"] == ""
            continue
        begin, end = (datetime.datetime.strptime(row[name], form).date() for name in ("start", "end"))
        apart = units(begin, end, columns["end"]["unit"])
        assert 0 <= apart <= columns["end"]["high"]
        assert row["span"] == str(apart)


def units(begin, end, unit):
    if unit in {"day", "week"}:
        return (end - begin).days // {"day": 1, "week": 7}[unit]
    months = (end.year - begin.year) * 12 + end.month - begin.month - (end.day < begin.day)
    return months // {"month": 1, "year": 12}[unit]


def released(name, told, seed, folder):
    schema = Schema.from_dict(told)
    data = records(schema, seed)
    own = {"public": data} if name == "jam" else {}
    how = {"budget": pypgm.Budget(epsilon=4, delta=1e-9), "unsafe_seed": seed} | own
    mechanism_named(name)(data, **how).save(folder / "r.pgm")
    release = pypgm.load(folder / "r.pgm")
    assert release.schema == schema
    release.write(folder / "s.csv", 120, rng=seed)
    with open(folder / "s.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(told["columns"])
    assert len(pypgm.read_table(folder / "s.csv", schema)) == 120  # what is written fits the schema
    return rows


@pytest.mark.parametrize("seed", range(6))
def test_records_keep_what_a_generated_schema_promises(seed, tmp_path):
    told = drawn(random.Random(seed))
    check(told, released(QUICK[seed % 3], told, seed, tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("name", mechanism_names())
def test_every_mechanism_keeps_what_generated_schemas_promise(name, tmp_path):
    for seed in range(100, 106):
        folder = tmp_path / str(seed)
        folder.mkdir()
        told = drawn(random.Random(seed))
        check(told, released(name, told, seed, folder))
