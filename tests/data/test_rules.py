"""Rules across columns: read, checked on tables, and kept to by models and records."""

from __future__ import annotations

import csv
import json
import operator
import re

import numpy as np
import pytest

import pypgm
from pypgm import Budget, Constraint, OpenSchema, Schema, cli, mechanisms
from pypgm.data import Categorical, Comparison, Date, Integer, OpenSet, QuantileBins, Real, Rule, StreamedTable
from pypgm.data.sources.table import read_open_table

COLUMNS = {
    "age": Integer(0, 99, width=10),
    "married": ["no", "yes"],
    "job": Categorical(["none", "clerk", "cook"], null="?"),
    "floor": 3,
}
YOUNG = Rule(["age", "married"], [[{"to": 17}, "yes"]])
IDLE = Rule(["job", "age", "floor"], [[["clerk", "cook"], {"to": "[0, 10)"}, {"from": 1}], ["?", 99, 0]])
SCHEMA = Schema(COLUMNS, rules=[YOUNG, IDLE])


def records(n=2000):
    rng = np.random.default_rng(0)
    data = {name: rng.integers(0, size, n) for name, size in zip(SCHEMA.domain, SCHEMA.domain.shape, strict=True)}
    fits = ~forbidden(data)
    return pypgm.Dataset({name: codes[fits] for name, codes in data.items()}, SCHEMA.domain)


def forbidden(codes):
    age, job, floor = codes["age"], codes["job"], codes["floor"]
    idle = (np.isin(job, [1, 2]) & (age == 0) & (floor >= 1)) | ((job == 3) & (age == 9) & (floor == 0))
    return ((age <= 1) & (codes["married"] == 1)) | idle


def test_a_rule_forbids_cells():
    codes = dict(zip(SCHEMA.domain, np.indices(SCHEMA.domain.shape), strict=True))
    young = YOUNG.mask(SCHEMA.columns)[codes["age"], codes["married"]]
    idle = IDLE.mask(SCHEMA.columns)[codes["job"], codes["age"], codes["floor"]]
    assert ((young | idle) == forbidden(codes)).all()
    dates = {"hired": Date("2020-01-01", "2024-12-31", "year"), "left": Date("2020-01-01", "2024-12-31", "year")}
    early = Rule(["hired", "left"], [[y, {"to": str(int(y) - 1)}] for y in ("2021", "2022", "2023", "2024")])
    assert (early.mask(Schema(dates).columns) == np.tri(5, k=-1, dtype=bool)).all()


def test_files_have_rules(tmp_path):
    SCHEMA.save(tmp_path / "s.json")
    told = json.loads((tmp_path / "s.json").read_text())
    assert told["rules"][0] == {"columns": ["age", "married"], "forbidden": [[{"to": 17}, "yes"]]}
    assert pypgm.read_schema(tmp_path / "s.json") == SCHEMA
    assert Schema(COLUMNS) != SCHEMA


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"columns": ["age"], "forbidden": [[3]]}, "in its declaration: got ['age']"),
        ({"columns": ["age", "age"], "forbidden": [[3, 3]]}, "two different columns"),
        ({"columns": ["age", "sex"], "forbidden": [[3, 3]]}, "a rule names 'sex', and no such column is declared"),
        ("age < flor", "a rule names 'flor', and no such column is declared; the nearest is 'floor'"),
        (
            {"columns": ["age", "town"], "forbidden": [[3, "x"]]},
            "names 'town', and must name a declared column whose values are known: neither an open one",
        ),
        ({"columns": ["age", "married"], "forbidden": []}, "needs combinations of 2 entries"),
        ({"columns": ["age", "married"], "forbidden": [[3]]}, "needs combinations of 2 entries"),
        ({"columns": ["age", "married"], "forbidden": [[3, "maybe"]]}, "a rule on 'married' needs one of 'no', 'yes'"),
        ({"columns": ["age", "married"], "forbidden": [[{}, "no"]]}, "a rule on 'age' has a range that is not"),
        ({"columns": ["age", "married"], "forbidden": [[{"at": 3}, "no"]]}, "has a range that is not"),
        ({"columns": ["age", "married"], "forbidden": [[{"from": 0}, ["no", "yes"]]]}, "leaves no record possible"),
        ({"columns": ["age", "married"], "forbidden": [[{"from": 30, "to": 20}, "no"]]}, "ends before it begins"),
        ({"columns": ["age", "married"]}, "rules needs a list of objects with columns and forbidden, each a list"),
        (3, "rules needs a list of objects"),
        (
            "start == age",
            "two different columns with <=, <, >= or > between them, such as 'start <= end', got 'start == age'",
        ),
    ],
)
def test_rules_that_do_not_fit(rule, message):
    told = OpenSchema({**COLUMNS, "town": OpenSet(0.1)}).to_dict() | {"rules": [rule]}
    with pytest.raises(ValueError, match=re.escape(message)):
        Schema.from_dict(told)


def test_records_that_break_a_rule_are_refused(tmp_path):
    raw = {"age": [30, 17], "married": ["yes", "yes"], "job": ["cook", "cook"], "floor": [0, 0]}
    in_row = "columns 'age', 'married', row 1 (the first is 0): records have a combination that a rule forbids"
    with pytest.raises(ValueError, match=re.escape(in_row)):
        SCHEMA.encode(raw)
    many = {name: [values[1]] * 7 for name, values in raw.items()}
    with pytest.raises(ValueError, match=r"rows 0, 1, 2, 3, 4, … \(the first is 0\): records"):
        SCHEMA.encode(many)
    assert SCHEMA.encode(raw | {"age": [30, 20]}).n_records == 2
    (tmp_path / "t.csv").write_text("age,married,job,floor,town\n30,yes,cook,0,x\n17,yes,cook,0,x\n")
    in_line = in_row.replace("row 1 (the first", "row 2 (the header").replace("is 0", "is row 0")
    with pytest.raises(ValueError, match=r"t\.csv: " + re.escape(in_line)):
        pypgm.read_table(tmp_path / "t.csv", SCHEMA, ignore_extra=True)
    with pytest.raises(ValueError, match=re.escape(in_row)):
        StreamedTable(lambda *_: iter([raw]), list(raw), SCHEMA)
    opened = OpenSchema({**COLUMNS, "town": OpenSet(0.1)}, rules=[YOUNG])
    with pytest.raises(ValueError, match=re.escape(in_line)):
        read_open_table(tmp_path / "t.csv", opened)


@pytest.mark.parametrize("oracle", ["exact", "region_graph"])
@pytest.mark.parametrize("name", ["mst", "hdmm", "aim", "mwem", "privbayes", "wide"])
def test_models_and_records_keep_to_rules(name, oracle):
    zeros = Constraint.of_rules(SCHEMA)
    mechanism = getattr(mechanisms, name)
    how = {"constraints": zeros, "oracle": oracle, "iterations": 50, "unsafe_seed": 1}
    release = mechanism(records(), budget=Budget(rho=1), **how)
    for rule in SCHEMA.rules:
        table = release.project(rule.columns)
        assert np.abs(table.values[rule.mask(SCHEMA.columns)]).max() < 1e-6
    assert not forbidden(release.synthetic_data(3000, 0).columns).any()
    free = mechanism(records(), budget=Budget(rho=1), **(how | {"constraints": ()}))
    assert max(np.abs(free.project(r.columns).values[r.mask(SCHEMA.columns)]).max() for r in SCHEMA.rules) > 1e-3


def test_constraints_that_a_mechanism_does_not_take():
    data, zeros = records(), Constraint.of_rules(SCHEMA)
    budget = {"budget": Budget(rho=1)}
    with pytest.raises(ValueError, match="unknown attribute 'sex'"):
        mechanisms.mst(data, constraints=[Constraint("sex", forbidden=[0])], **budget)
    with pytest.raises(TypeError, match=r"constraints must be pypgm\.Constraint"):
        mechanisms.mst(data, constraints=[YOUNG], **budget)
    with pytest.raises(ValueError, match="conditional tables take no constraints"):
        mechanisms.privbayes(data, constraints=zeros, estimator="tables", **budget)
    with pytest.raises(ValueError, match="multiplicative weights take no constraints"):
        mechanisms.mwem(data, constraints=zeros, estimator="weights", **budget)


def test_the_command_keeps_to_rules(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    SCHEMA.save("s.json")
    pypgm.write_table(records(), "t.csv", SCHEMA, 0)
    synth = ["synth", "t.csv", "--schema", "s.json", "--out", "o.csv", "--epsilon", "1", "--delta", "1e-9"]
    assert cli.main(synth) == 0
    with open("o.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert not any(int(r["age"]) < 20 and r["married"] == "yes" for r in rows)
    assert pypgm.load("o.pgm").schema == SCHEMA
    assert pypgm.read_table("o.csv", SCHEMA).n_records == len(rows)
    capsys.readouterr()
    (tmp_path / "o.csv").unlink()
    assert cli.main([*synth, "--release", "p.pgm", "--mechanism", "privbayes"]) == 0
    assert pypgm.read_table("o.csv", SCHEMA).n_records > 0


CLOSED = {
    "low": Integer(0, 9, width=5),
    "high": Real(0, 10, bins=4, outside="clip"),
    "from": Date("2000-01-01", "2000-12-31", "quarter", null=""),
    "to": Date("2000-02-01", "2000-12-31", "month", outside="other"),
    "at": Date("2000-01-01", "2000-01-02", "hour"),
    "kind": ["x", "y"],
}


def values(column):
    """Return values of each code: both ends of each bin, and beyond the ends where they are clipped."""
    low, high, starts = column.bounds_and_starts()
    ends = [np.nextafter(e, low) if isinstance(column, Real) else e - 1 for e in starts[1:]]
    found = [[a, b] for a, b in zip(starts, [*ends, high], strict=True)]
    if column.outside == "clip":
        found[0][0], found[-1][1] = -1e9, 1e9
    return found


@pytest.mark.parametrize("order", ["<=", "<", ">=", ">"])
@pytest.mark.parametrize("pair", [("low", "high"), ("high", "low"), ("from", "to"), ("to", "from"), ("high", "other")])
def test_comparisons_forbid_bins_of_which_no_values_fit(pair, order):
    columns = Schema(CLOSED | {"other": Real(0, 8, edges=[1, 5])}).columns
    rule = Comparison(f" {pair[0]} {order} {pair[1]}")
    found = rule.mask(columns)
    fits = {"<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt}[order]
    left, right = (columns[name] for name in pair)
    for i, one in enumerate(values(left)):
        for j, other in enumerate(values(right)):
            possible = any(fits(a, b) for a in one for b in other)
            assert found[(i, j) if rule.columns == pair else (j, i)] != possible, (one, other)
    assert found.sum() == found[: columns[rule.columns[0]].n_values, : columns[rule.columns[1]].n_values].sum()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("low <= kind", "names 'kind', and must name a declared column of numbers or dates"),
        ("low <= from", "'low' is integer, 'from' is date"),
        ("at > to", "two of dates, both with hours or both without"),
        ("low <= low", "two different columns with <=, <, >= or > between them"),
        ("low = high", "two different columns with <=, <, >= or > between them"),
        ("late < early", "leaves no record possible"),
    ],
)
def test_comparisons_that_do_not_fit(rule, message):
    with pytest.raises(ValueError, match=message):
        Schema(CLOSED | {"early": Integer(0, 3), "late": Integer(3, 9)}, rules=[rule])


def test_files_compare_columns(tmp_path):
    columns = {"start": {"kind": "integer", "low": 0, "high": 9}, "end": {"kind": "integer", "low": 0, "high": 9}}
    told = {"columns": columns, "rules": ["start <= end"]}
    (tmp_path / "s.json").write_text(json.dumps(told))
    schema = pypgm.read_schema(tmp_path / "s.json")
    assert schema == Schema.from_dict(schema.to_dict())
    assert schema.to_dict()["rules"] == ["start <= end"]
    with pytest.raises(ValueError, match=r"columns 'start', 'end', row 1 .*a rule forbids"):
        schema.encode({"start": [3, 4], "end": [3, 3]})
    data = schema.encode({"start": [3, 4, 0] * 100, "end": [3, 5, 9] * 100})
    release = mechanisms.mst(data, epsilon=1, delta=1e-9, constraints=pypgm.Constraint.of_rules(schema))
    made = release.synthetic_data(rng=0).columns
    assert (made["start"] <= made["end"]).all()
    with pytest.raises(ValueError, match="or of texts such as 'start <= end'"):
        Schema.from_dict(told | {"rules": [3]})


def test_streamed_records_that_break_a_rule_are_named_by_their_rows():
    schema = Schema({"start": 9, "end": Integer(0, 9), "last": Integer(0, 9)}, rules=["end <= last"])

    def pieces(names, rows):
        for k in range(5):
            yield {"start": [0, 1], "end": [3, 3 + k], "last": [5, 5]}

    with pytest.raises(ValueError, match=r"columns 'end', 'last', rows 7, 9 \(the first is 0\): records have a"):
        StreamedTable(pieces, ["start", "end", "last"], schema)


def from_csv(schema, columns, folder):
    rows = [f"{x},{y}\n" for x, y in zip(*columns.values(), strict=True)]
    (folder / "t.csv").write_text("a,b\n" + "".join(rows))
    return pypgm.read_table(folder / "t.csv", schema)


WAYS = {
    "codes": lambda schema, columns, _: schema.check_rules(pypgm.Dataset(columns, schema.domain)),
    "frame": lambda schema, columns, _: schema.encode(columns),
    "pieces": lambda schema, columns, _: StreamedTable(lambda *__: [columns], ["a", "b"], schema),
    "csv": from_csv,
}


@pytest.mark.parametrize("way", WAYS)
def test_an_error_of_a_rule_does_not_tell_which_combination_a_record_has(way, tmp_path):
    schema = Schema({"a": 4, "b": 5}, rules=[Rule(["a", "b"], [[{"from": 1}, {"from": 1}]])])
    told = set()
    for a, b in [(1, 1), (3, 4), (2, 1), (1, 3)]:
        with pytest.raises(ValueError, match="a combination that a rule forbids") as error:
            WAYS[way](schema, {"a": [0, a, 0], "b": [3, b, 4]}, tmp_path)
        told.add(str(error.value))
    assert len(told) == 1


@pytest.mark.parametrize("rules", [["a < b", "b < a"], ["a <= b", "a > b"], ["a >= b", "b > a"]])
def test_comparisons_that_contradict_each_other_are_refused_within_one_bin_too(rules):
    one_bin = Integer(0, 9, width=10)
    with pytest.raises(ValueError, match="contradict each other"):
        Schema({"a": one_bin, "b": one_bin}, rules=rules)
    assert len(Schema({"a": one_bin, "b": one_bin}, rules=["a <= b", "b <= a"]).rules) == 2


def test_a_comparison_of_a_column_in_quantiles_names_it():
    columns = {"a": Integer(0, 9), "b": QuantileBins(Integer(0, 9), 4, "0.05")}
    with pytest.raises(ValueError, match=r"'a <= b' names 'b', and must name .* not in bins of quantiles"):
        OpenSchema(columns, rules=["a <= b"])


def test_days_are_not_compared_with_hours():
    columns = {"from": Date("2024-01-01", "2024-01-05", "hour"), "to": Date("2024-01-01", "2024-01-05")}
    with pytest.raises(
        ValueError, match="both with hours or both without: 'from' is date with resolution hour, 'to' is"
    ):
        Schema(columns, rules=["from <= to"])
    columns["from"] = Date("2024-01-01", "2024-01-31", "month", format="%Y-%m-%d %H:%M")
    with pytest.raises(ValueError, match="'from' is date with resolution month and a format with hours, 'to' is"):
        Schema(columns, rules=["from <= to"])
