"""Columns that are derived are asked for like others: answers are exactly those of what they follow from."""

from __future__ import annotations

import itertools
import json
import random

import numpy as np
import pytest

import pypgm
from pypgm import cli
from pypgm.data import Categorical, Derived, Integer, OpenSet

CITIES = {"Ash": "North", "Elm": "North", "Fox": "South"}
FEES = {("Ash", True): "low", ("Elm", True): "high", ("Fox", True): "low"}
COLUMNS = {
    "city": Categorical(["Ash", "Elm", "Fox"]),
    "member": {"kind": "boolean", "values": ["no", "yes"], "null": True},
    "age": {"kind": "integer", "low": 0, "high": 39, "width": 10},
    "region": {"kind": "derived", "from": "city", "mapping": CITIES},
    "coast": {"kind": "derived", "from": "region", "mapping": {"North": "yes", "South": "no"}},
    "stage": {"kind": "derived", "from": "age", "mapping": [[{"to": 19}, "young"], [{"from": 20}, "old"]]},
    "odd": {"kind": "derived", "from": "age", "mapping": [[{"to": 17}, "young"], [{"from": 18}, "old"]]},
    "twice": {"kind": "derived", "sum": ["age", "age"]},
    "fee": {
        "kind": "derived",
        "from": ["city", "member"],
        "mapping": [[["Ash", "yes"], "low"], [["Elm", "yes"], "high"], [[["Fox"], "yes"], "low"]],
        "other": "none",
    },
}


def release_of(n=400, **options):
    draw = random.Random(3)
    columns = {**COLUMNS, "city": ["Ash", "Elm", "Fox"]}
    table = {
        "city": [draw.choice(["Ash", "Elm", "Fox"]) for _ in range(n)],
        "member": [draw.choice([True, False, None]) for _ in range(n)],
        "age": [draw.randrange(40) for _ in range(n)],
    }
    return pypgm.synthesize(table, columns, **{"epsilon": 5, "delta": 1e-9, "mechanism": "mst"} | options)


@pytest.fixture(scope="module")
def release():
    return release_of()


def counted(release, names):
    """Return the counts of values of columns by going through all cells of the columns that are read."""
    joint = release.model.project(("city", "member", "age"))
    found = {}
    for city, member, age in itertools.product(*(range(joint.domain.size(a)) for a in joint.domain)):
        town, is_member = ["Ash", "Elm", "Fox"][city], [False, True, None][member]
        values = {
            "city": town,
            "member": ["no", "yes", ""][member],
            "region": CITIES[town],
            "coast": {"North": "yes", "South": "no"}[CITIES[town]],
            "stage": ["young", "young", "old", "old"][age],
            "fee": "" if is_member is None else FEES.get((town, is_member), "none"),
        }
        key = tuple(values[name] for name in names)
        found[key] = found.get(key, 0.0) + float(joint.values[city, member, age])
    return found


@pytest.mark.parametrize(
    "names",
    [
        ("region",),
        ("coast", "member"),
        ("fee",),
        ("region", "city"),
        ("stage", "fee", "coast"),
        ("member", "region", "fee"),
        ("stage",),
    ],
)
def test_counts_are_those_of_the_columns_that_they_follow_from(release, names):
    found = release.project(names)
    assert found.domain.attributes == names
    labels = [found.domain.labels[name] for name in names]
    shown = dict(zip(itertools.product(*labels), found.datavector().tolist(), strict=True))
    expected = counted(release, names)
    assert all(shown[key] == pytest.approx(count) for key, count in expected.items())
    assert sum(shown.values()) == pytest.approx(sum(expected.values()))


def test_probabilities_given_what_is_derived(release):
    joint = counted(release, ("region", "fee", "member"))
    part = {key: count for key, count in joint.items() if key[1] == "low"}
    found = release.query(("member", "region"), {"fee": "low"})
    assert found["yes", "North"] == pytest.approx(part["North", "low", "yes"] / sum(part.values()))
    assert found.values.sum() == pytest.approx(1)
    assert release.query("coast", {"city": "Fox"})["no"] == pytest.approx(1)
    assert release.query("coast", {"region": ["North", "South"], "member": "no"}).values.sum() == pytest.approx(1)
    assert release.query("age", {"member": "no"}).values == pytest.approx(
        release.model.query("age", {"member": "no"}).values
    )
    with pytest.raises(pypgm.ImpossibleEvidenceError, match="'fee', 'region' has probability zero"):
        release.query("age", {"fee": "high", "region": "South"})


def test_what_is_none_of_the_model_names_the_columns_that_it_follows_from(release):
    for name in ("odd", "twice"):
        for ask in (release.project, release.query):
            with pytest.raises(ValueError, match=f"column '{name}' is made when records are decoded, of 'age'"):
                ask(name)
    for ask in (release.expected_error, release.marginal):
        with pytest.raises(ValueError, match="'fee' follows from 'city', 'member': the error is known only for"):
            ask(("age", "fee"))
    with pytest.raises(ValueError, match="unknown attribute 'regoin'"):
        release.project(("regoin", "fee"))


def test_records_have_what_a_table_of_several_columns_says(release, tmp_path):
    records = release.synthetic_data(200, rng=0)
    found = release.schema.decode(records, rng=0)
    for city, member, fee in zip(found["city"], found["member"], found["fee"], strict=True):
        wanted = None if member is None else FEES.get((city, member in {True, "yes"}), "none")
        assert fee == wanted
    lines = [
        "city,fee,member",
        *(f"{c},{FEES.get((c, m == 'yes'), 'none')},{m}" for c in CITIES for m in ("no", "yes")),
    ]
    (tmp_path / "fees.csv").write_text("\n".join(lines))
    told = {**release.schema.to_dict()["columns"], "fee": {**COLUMNS["fee"], "mapping": "fees.csv"}}
    del told["fee"]["other"]
    (tmp_path / "schema.json").write_text(json.dumps(told))
    again = pypgm.read_schema(tmp_path / "schema.json")
    assert again.decode(records, rng=0)["fee"].tolist() == found["fee"].tolist()
    assert pypgm.Schema.from_dict(again.to_dict()) == again


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (Derived(["a", "b"], [(("x", "u"), 1)]), r"no entry for \['x', 'v'\], \['y', 'u'\], \['y', 'v'\]; other gives"),
        (
            Derived(["a", "n"], [(("x", 3), 1)], other=2),
            "a mapping of several columns needs listed values, and 'n' has",
        ),
        (Derived(["a", "o"], [(("x", "p"), 1)]), "needs other, what it has for the values of 'o'"),
        (Derived(["a", "b"], [(("x", "w"), 1)], other=2), "needs one of 'u', 'v'"),
    ],
)
def test_a_table_that_is_not_whole_is_refused(column, why):
    known = {"a": ["x", "y"], "b": ["u", "v"], "n": Integer(0, 9), "o": OpenSet(share="0.1")}
    with pytest.raises(ValueError, match=why):
        pypgm.OpenSchema({**known, "c": column})


def test_pairs_that_have_no_entry_for_each_column_are_refused():
    for source, pairs in ((["a", "b"], [("x", 1)]), (["a", "b"], {"x": 1}), (["a", "a"], [(("x", "x"), 1)]), ([], [])):
        with pytest.raises(
            ValueError, match=r"a list of one entry for each|a list of different ones|needs exactly one"
        ):
            Derived(source, pairs)


def test_targets_and_workloads_name_derived_columns():
    release = release_of(mechanism="hdmm", workload=[("fee", "age"), "coast"])
    cliques = {frozenset(m.clique) for m in release.measurements}
    assert frozenset({"city", "member", "age"}) in cliques
    data = release.schema.encode({"city": ["Ash", "Fox"] * 99, "member": [True, None] * 99, "age": [3, 20] * 99})
    again = pypgm.mechanisms.hdmm(data, epsilon=1, delta=1e-9, workload=["coast"])
    assert [m.clique for m in again.measurements] == [("city",)]
    grid = release_of(mechanism="adaptive_grid", targets="fee")
    assert np.isfinite(grid.expected_error(("city", "member")).values).all()


def test_the_command_asks_for_them(release, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    release.save("r.pgm")
    assert cli.main(["query", "r.pgm", "region,age", "city"]) == 0
    first, second = capsys.readouterr().out.split("\n\n")
    assert first.splitlines()[0] == "region,age,count"
    assert second.splitlines()[0] == "city,count,expected_error,basis"
    assert cli.main(["query", "r.pgm", "fee", "--given", "region=South", "--draws", "0"]) == 0
    shown = dict(line.split(",") for line in capsys.readouterr().out.splitlines()[1:])
    assert float(shown["high"]) == 0
    assert cli.main(["query", "r.pgm", "age", "--given", "stage=young", "--draws", "0"]) == 0
    assert [line.endswith(",0") for line in capsys.readouterr().out.splitlines()[1:]] == [False, False, True, True]
    assert cli.main(["query", "r.pgm", "age", "--given", "fee=low"]) == 2
    assert "follows from 'city', 'member' together: give those" in capsys.readouterr().err


@pytest.mark.parametrize("given", [[], ["--given", "age=0..9"]])
def test_columns_that_are_all_derived_are_answered_without_errors(tmp_path, monkeypatch, capsys, release, given):
    monkeypatch.chdir(tmp_path)
    release.save("r.pgm")
    unit = "probability" if given else "count"
    for asked in ("region", "region,coast"):
        assert cli.main(["query", "r.pgm", asked, *given]) == 0
        assert capsys.readouterr().out.partition("\n")[0] == f"{asked},{unit}"


@pytest.mark.parametrize("oracle", ["exact", "region_graph"])
def test_no_cliques_have_no_errors(oracle):
    m = [pypgm.LinearMeasurement([4.0, 6.0], "a", stddev=1.0), pypgm.LinearMeasurement([5.0, 5.0], "b", stddev=1.0)]
    model = pypgm.estimate(pypgm.Domain({"a": 2, "b": 2}), m, 10, oracle=oracle)
    assert model.expected_error_many([]) == model.standard_error_many([]) == model.project_many([]) == []


def test_white_space_after_a_comma_belongs_to_no_name_that_lacks_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    domain = pypgm.Domain({"a": 2, " b": 2, "c": 2})
    data = pypgm.Dataset({name: [0, 1] * 20 for name in domain}, domain)
    pypgm.mechanisms.mst(data, epsilon=9, delta=1e-9).save("r.pgm")
    assert cli.main(["query", "r.pgm", "a, b", "a, c ", "--draws", "0"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if "count" in line] == ["a, b,count", "a,c,count"]
