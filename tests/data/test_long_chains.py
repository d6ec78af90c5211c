"""Columns that are made of others, in chains of any length: made in one pass, at every door, in linear work."""

from __future__ import annotations

import itertools
import json
import random
import sys
from functools import partial

import numpy as np
import pytest

import pypgm
from pypgm import Dataset, Schema
from pypgm.cli import main
from pypgm.privacy import Privacy
from pypgm.reporting.facts import losses_of

BASES = {
    "n": {"kind": "integer", "low": 0, "high": 9},
    "day": {"kind": "date", "low": "2000-01-01", "high": "2000-12-31"},
    "x": ["u", "v"],
    "y": ["u", "v"],
}
ROW = {"n": [4, 4], "day": ["2000-02-03", "2000-12-31"], "x": ["v", "u"], "y": ["u", "u"]}
NUMBERS = {"kind": "difference", "low": 0, "high": 3}
DAYS = {"kind": "difference", "low": 0, "high": 2, "unit": "day"}
STEPS = {  # how a column of each kind of chain is made of the one before and the one before that
    "differences": lambda one, _: {**NUMBERS, "from": one or "n"},
    "differences of dates": lambda one, _: {**DAYS, "from": one or "day"},
    "differences from one": lambda *_: {**DAYS, "from": "day"},
    "mappings": lambda one, _: {"kind": "derived", "from": one or "x", "mapping": {"u": "v", "v": "u"}},
    "mappings with other": lambda one, _: {"kind": "derived", "from": one or "x", "mapping": {"u": "u"}, "other": "v"},
    "mappings of two": lambda one, two: {
        "kind": "derived",
        "from": [one or "x", two or "y"],
        "mapping": [[["u", "u"], "v"]],
        "other": "u",
    },
    "sums": lambda one, _: {"kind": "derived", "sum": [one or "n", "n"]},
    "spans": lambda one, _: {"kind": "derived", "difference": ["n", one or "n"]},
}
ORDERS = {
    "forward": lambda names: names,
    "backward": lambda names: names[::-1],
    "shuffled": lambda names: random.Random(1).sample(names, len(names)),
}


def chain(kind, order, length):
    """Return a schema in which each column is made of the one before, in some order of declaration."""
    names = [f"c{i}" for i in range(length)]
    before = [None, None, *names]
    made = {name: STEPS[kind](before[i + 1], before[i]) for i, name in enumerate(names)}
    return {"columns": {**BASES, **{name: made[name] for name in ORDERS[order](names)}}}


def records_of(schema):
    """Return two records: each number is one more than the one that it is the difference from, or the same."""
    found = dict(ROW)
    for name in schema.columns:
        if name not in ROW:
            dates = bool(schema.columns[name].unit)
            found[name] = ROW["day"] if dates else [5 + int(name[1:]), 4]
    return found


def expected(kind, length):
    """Return what the last column holds, worked out without the schema; None where it is drawn, or not followed."""
    if kind == "differences":
        return [4 + length, 4]
    if kind == "mappings":
        return ["v" if length % 2 == 0 else "u", "u" if length % 2 == 0 else "v"]
    if kind == "mappings with other":
        return ["v", "u"]
    if kind == "sums":
        return [4 * (length + 1)] * 2
    if kind == "spans":
        return [-4 * (length - 1)] * 2
    if kind.startswith("differences"):
        return [np.datetime64("2000-02-03"), np.datetime64("2000-12-31")]
    return None


def steps(work):
    """Return how many lines of Python work takes, those of loops in one line too: they grow as its time does."""
    count = itertools.count()

    def trace(frame, event, _):
        if event == "line":
            next(count)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return next(count)


def check_doors(kind, order, length, folder):
    """Take a chain through every door that a schema has."""
    told, names = chain(kind, order, length), [f"c{i}" for i in range(length)]
    (folder / "s.json").write_text(json.dumps(told))
    schema = pypgm.read_schema(folder / "s.json")
    assert schema == Schema.from_dict(told) == Schema(schema.declared) == Schema.from_dict(schema.to_dict())
    data = schema.encode(records_of(schema))
    found = schema.decode(data, rng=0)
    assert list(found) == [*told["columns"]]
    assert expected(kind, length) in (None, found[names[-1]].tolist(), list(found[names[-1]]))
    assert all((again[name] == found[name]).all() for again in [schema.decode(data, rng=0)] for name in names)
    check_release(schema, folder)


def check_release(schema, folder):
    """Take a release by a schema through the doors that a release file has."""
    data = schema.encode({name: values * 20 for name, values in records_of(schema).items()})
    with pypgm.PrivateTable(data, "add-remove", pypgm.Ledger(pypgm.Budget(rho=1)), unsafe_seed=0) as table:
        measured = (table.measure("n", rho="1/2"), table.measure("x", rho="1/2"))
        model = pypgm.estimate(schema.domain, measured, iterations=2)
        release = pypgm.Release(model, measured, table.ledger, "own", schema=schema)
    release.save(folder / "r.pgm")
    again = pypgm.load(folder / "r.pgm")
    assert again.schema == schema
    if len(schema.domain) > 100:
        return  # what follows depends on how many attributes a model has
    assert again.summary()
    assert main(["info", str(folder / "r.pgm")]) == 0
    assert main(["sample", str(folder / "r.pgm"), "--out", str(folder / "s.csv"), "--rows", "3"]) == 0


def uniform(schema):
    return pypgm.GraphicalModel(pypgm.CliqueVector(schema.domain, [], []))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", STEPS)
def test_work_grows_as_the_columns_do(kind, order):
    """Four times the columns take four times the work, and not sixteen."""
    schemas = [Schema.from_dict(chain(kind, order, length)) for length in (40, 160)]
    doors = {
        "read": lambda schema: Schema.from_dict(schema.to_dict()),
        "encode": lambda schema: schema.encode(records_of(schema)),
        "decode": lambda schema: schema.decode(Dataset({a: [0] for a in schema.domain}, schema.domain), rng=0),
        "losses": lambda schema: losses_of(uniform(schema), schema, Privacy()),
    }
    for door, work in doors.items():
        few, many = (steps(lambda schema=schema, work=work: work(schema)) for schema in schemas)
        assert many < 4.5 * few, door


def numbers(length):
    return {f"c{i}": {"kind": "integer", "low": 0, "high": 9} for i in range(length)}


def listed(length):
    return [f"v{i}" for i in range(length)]


GROWING = {
    "columns": lambda n: {"columns": numbers(n), "drop": [f"d{i}" for i in range(n)]},
    "a chain of comparisons": lambda n: {"columns": numbers(n), "rules": [f"c{i} <= c{i + 1}" for i in range(n - 1)]},
    "comparisons with one": lambda n: {"columns": numbers(n), "rules": [f"c0 <= c{i}" for i in range(1, n)]},
    "one comparison again": lambda n: {"columns": numbers(2), "rules": ["c0 <= c1"] * n},
    "blanks": lambda n: {
        "columns": {
            **{f"c{i}": {"kind": "categorical", "values": ["u"], "null": ""} for i in range(n)},
            "x": ["u", "v"],
        },
        "rules": [{"blank": f"c{i}", "unless": {"x": "v"}} for i in range(n)],
    },
    "blanks of open columns": lambda n: {
        "columns": {**{f"c{i}": {"kind": "open", "share": "1e-9", "null": ""} for i in range(n)}, "x": ["u", "v"]},
        "rules": [{"blank": f"c{i}", "unless": {"x": "v"}} for i in range(n)],
    },
    "labels": lambda n: {
        "columns": {"x": listed(n), "y": {"kind": "categorical", "values": [*range(n)], "other": "z"}}
    },
    "forbidden combinations": lambda n: {
        "columns": {"x": listed(n), "y": ["u", "v"]},
        "rules": [{"columns": ["x", "y"], "forbidden": [[label, "u"] for label in listed(n)]}],
    },
    "forbidden ranges": lambda n: {
        "columns": {"x": listed(n), "y": ["u", "v"]},
        "rules": [{"columns": ["x", "y"], "forbidden": [[{"from": label}, "u"] for label in listed(n)]}],
    },
    "a mapping of labels": lambda n: {
        "columns": {"x": listed(n), "y": {"kind": "derived", "from": "x", "mapping": {v: f"w{v}" for v in listed(n)}}}
    },
    "a mapping of ranges": lambda n: {
        "columns": {
            "x": listed(n),
            "y": {"kind": "derived", "from": "x", "mapping": [[{"from": v}, f"w{v}"] for v in listed(n)]},
        }
    },
    "a mapping of numbers": lambda n: {
        "columns": {
            "x": {"kind": "integer", "low": 0, "high": n - 1},
            "y": {"kind": "derived", "from": "x", "mapping": [[i, f"w{i}"] for i in range(n)]},
        }
    },
    "a sum": lambda n: {"columns": {**numbers(n), "s": {"kind": "derived", "sum": [*numbers(n)]}}},
}


@pytest.mark.parametrize("what", GROWING)
def test_work_grows_as_the_schema_does(what):
    few, many = (steps(partial(Schema.from_dict, GROWING[what](n))) for n in (50, 200))
    assert many < 5 * few  # n log n


def test_ranges_that_overlap_in_too_many_combinations_are_refused():
    """Each of a small number of entries may stand for as many combinations as a mapping or a rule may have."""
    names = {name: [f"{name}{i}" for i in range(4000)] for name in "xy"}
    every = [{"from": "x0"}, {"from": "y0"}]
    mapping = {"kind": "derived", "from": ["x", "y"], "mapping": [[every, i] for i in range(30)]}
    with pytest.raises(ValueError, match=r"ranges of 'x', 'y' overlap in more than 268,435,456 combinations"):
        Schema.from_dict({"columns": {**names, "z": mapping}})
    with pytest.raises(ValueError, match=r"ranges of 'x', 'y' overlap in more than 268,435,456 combinations"):
        Schema.from_dict({"columns": names, "rules": [{"columns": ["x", "y"], "forbidden": [every] * 30}]})


@pytest.mark.parametrize("kind", STEPS)
def test_chains_deeper_than_calls_may_be(kind, tmp_path):
    check_doors(kind, "shuffled", 1200, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", STEPS)
def test_chains_of_thousands(kind, tmp_path):
    check_doors(kind, "backward", 2500, tmp_path)
