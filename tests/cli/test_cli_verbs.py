"""The verbs around a release: what was planned, answers as JSON, and how far it is from its table."""

from __future__ import annotations

import itertools
import json
import random
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pypgm
from pypgm import Budget, Domain, Privacy, cli, mechanisms
from pypgm.models.model import Model
from pypgm.reporting.quality import rounded

DOMAIN = Domain({"age": 5, "sex": ["F", "M"], "income": [1, 2.5]})


HERE = f"import sys; sys.path.insert(0, {str(Path(pypgm.__file__).parents[1])!r}); from pypgm.cli import main\n"
needs_stdout = pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs /dev/stdout")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    age = rng.integers(0, 5, 400)
    data = pypgm.Dataset({"age": age, "sex": rng.integers(0, 2, 400), "income": (age > 2).astype(int)}, DOMAIN)
    pypgm.write_table(data, "people.csv")
    (tmp_path / "domain.json").write_text(json.dumps({"age": 5, "sex": ["F", "M"], "income": [1, 2.5]}))
    mechanisms.mst(data, epsilon=10, delta=1e-9, unsafe_seed=1).save("people.pgm")
    return tmp_path


def test_answers_as_json(folder, capsys):
    assert cli.main(["query", "people.pgm", "sex,income", "age", "--json", "--draws", "0"]) == 0
    first, second = json.loads(capsys.readouterr().out)["answers"]
    values = pypgm.load("people.pgm").project(("sex", "income")).values
    assert first["attributes"] == ["sex", "income"]
    assert first["given"] == {}
    assert first["cells"][1] == {"sex": "F", "income": 2.5, "count": pytest.approx(values[0, 1])}
    assert [cell["age"] for cell in second["cells"]] == [0, 1, 2, 3, 4]
    assert cli.main(["query", "people.pgm", "age", "--given", "sex=F", "--out", "age.json", "--draws", "2"]) == 0
    (table,) = json.loads((folder / "age.json").read_text())["answers"]
    assert table["given"] == {"sex": ["F"]}
    assert table["basis"] in {"measured", "unmeasured"}
    assert sum(cell["probability"] for cell in table["cells"]) == pytest.approx(1)
    assert all(cell["expected_error"] >= 0 for cell in table["cells"])
    assert cli.main(["query", "people.pgm", "age", "--out", "ages.json", "--format", "csv", "--draws", "0"]) == 0
    assert (folder / "ages.json").read_text().startswith("age,count\n")
    assert cli.main(["query", "people.pgm", "sex", "--given", "sex=F", "--draws", "2"]) == 0
    assert capsys.readouterr().out.startswith("sex,probability,expected_error,basis\nF,")


def test_attributes_that_are_called_like_the_numbers_beside_them(folder, capsys):
    names = ("count", "expected_error", "basis")
    data = pypgm.Dataset({a: [0, 1] * 50 for a in names}, Domain(dict.fromkeys(names, 2)))
    mechanisms.wide(data, epsilon=10, delta=1e-9).save("named.pgm")
    ask = ["query", "named.pgm", "count,expected_error,basis", "--draws", "2"]
    assert cli.main(ask) == 0
    assert capsys.readouterr().out.startswith("count,expected_error,basis,count_,expected_error_,basis_\n0,0,0,")
    assert cli.main([*ask, "--json"]) == 0
    cell = json.loads(capsys.readouterr().out)["answers"][0]["cells"][1]
    assert [cell[a] for a in names] == [0, 0, 1]
    assert cell["count_"] >= 0


def test_names_with_line_breaks_are_asked_for_in_quotes(folder, capsys):
    data = pypgm.Dataset({"a\nb": [0, 1], "c": [0, 1]}, Domain({"a\nb": 2, "c": 2}))
    mechanisms.wide(data, epsilon=10, delta=1e-9).save("named.pgm")
    assert cli.main(["query", "named.pgm", "a\nb"]) == 2
    assert "line break in a name or a value: write it in double quotes" in capsys.readouterr().err
    assert cli.main(["query", "named.pgm", '"a\nb"', "--draws", "0"]) == 0
    assert cli.main(["query", "named.pgm", "c", "--given", "c=x\ny"]) == 2
    assert "line break" in capsys.readouterr().err


def test_seeds_and_empty_names_are_called_what_they_are(folder, capsys):
    assert cli.main(["sample", "people.pgm", "--out", "s.csv", "--seed", "-1"]) == 2
    assert "--seed: needs a whole number, 0 or more" in capsys.readouterr().err
    assert cli.main(["sample", "people.pgm", "--out", ""]) == 2
    assert "'' must be a file to write" in capsys.readouterr().err
    assert cli.main(["query", "people.pgm", "age", "--given", "sex"]) == 2
    assert capsys.readouterr().err.endswith("an attribute of the model, got 'sex'\n")


@pytest.mark.parametrize("verb", [["sample", "people.pgm", "--rows", "3"], ["query", "people.pgm", "age"]])
def test_what_a_file_holds_is_not_written_over(folder, capsys, verb):
    Path("table.csv").write_text("age\n3\n")
    assert cli.main([*verb, "--out", "table.csv"]) == 2
    assert "table.csv already exists and is not overwritten" in capsys.readouterr().err
    assert Path("table.csv").read_text() == "age\n3\n"
    Path("empty.csv").touch()
    assert cli.main([*verb, "--out", "empty.csv"]) == 0
    assert Path("empty.csv").stat().st_size > 0


def test_a_dash_is_no_stream(folder, capsys):
    pypgm.Schema({"a": ["x", "y"]}).save("s.json")
    Path("t.csv").write_text("a\nx\n")
    for verb in (
        ["sample", "people.pgm", "--out", "-"],
        ["query", "people.pgm", "age", "--out", "-"],
        ["schema", "init", "t.csv", "--out", "-"],
        ["synth", "t.csv", "--schema", "s.json", "--epsilon", "1", "--delta", "1e-9", "--out", "-"],
        [
            "synth",
            "t.csv",
            "--schema",
            "s.json",
            "--epsilon",
            "1",
            "--delta",
            "1e-9",
            "--out",
            "o.csv",
            "--release",
            "-",
        ],
    ):
        assert cli.main(verb) == 2
        assert capsys.readouterr().err == "pypgm: standard output is /dev/stdout, and a file named - is ./-\n"


@needs_stdout
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "link.csv"])
def test_records_to_a_stream(folder, name):
    Path("link.csv").symlink_to("/dev/stdout")
    sample = ["sample", "people.pgm", "--rows", "3", "--seed", "1", "--quiet", "--out"]
    assert cli.main([*sample, "made.csv"]) == 0
    made = Path("made.csv").read_bytes()
    command = [sys.executable, "-c", f"{HERE}sys.exit(main(sys.argv[1:]))", *sample, name]
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, made, b"")
    with Path("all.csv").open("wb") as file:
        file.write(b"before\n")
        file.flush()
        number = Path("all.csv").stat().st_ino
        assert subprocess.run(command, stdout=file, check=False).returncode == 0
        file.write(b"after\n")
    assert Path("all.csv").read_bytes() == b"before\n" + made + b"after\n"
    assert Path("all.csv").stat().st_ino == number


def test_a_value_that_is_not_declared_is_no_other_value(folder, capsys):
    columns = {
        "department": pypgm.data.Categorical(["HR", "IT", "Sales"], other=True, null="?"),
        "wage": pypgm.data.Integer(0, 9, outside="other"),
        "days": pypgm.data.Integer(0, 9, outside="null", null=True),
    }
    raw = {"department": ["HR", "IT", "x", "?"] * 50, "wage": ["3", "x", "4", "99"] * 50, "days": ["1", ""] * 100}
    schema = pypgm.Schema(columns)
    release = mechanisms.mst(schema.encode(raw), epsilon=10, delta=1e-9, unsafe_seed=1)
    replace(release, schema=schema).save("staff.pgm")
    query = ["query", "staff.pgm", "wage", "--draws", "0", "--given"]
    for good in ("department=other", "department= IT", "department=?", "wage=other", "wage=3.0", "days="):
        assert cli.main([*query, good]) == 0
    capsys.readouterr()
    for bad, message in {
        "department=ITT": "'Sales', 'other', '?'; '?' or '(missing)' asks for a missing value; the nearest is 'IT'",
        "wage=99": "needs a whole number from 0 to 9",
        "wage=x": "needs a whole number from 0 to 9",
        "days=10": "needs a whole number from 0 to 9",
        "Departmnt=IT": "with an attribute of the model, got 'Departmnt=IT'; the nearest is 'department'",
        "zip=3": "with an attribute of the model, got 'zip=3'; it has 'department', 'wage', 'days'",
    }.items():
        assert cli.main([*query, bad]) == 2
        assert message in capsys.readouterr().err


def test_ranges_of_values_that_are_declared(folder, capsys):
    columns = {
        "job": pypgm.data.Categorical(["cook", "driver", "a, b", "x..y"]),
        "wage": pypgm.data.Integer(0, 99, width=10, outside="null", null=True),
        "hired": pypgm.data.Date("2000-01-01", "2004-12-31", "year"),
    }
    schema = pypgm.Schema(columns)
    raw = {
        "job": ["cook", "driver", "a, b", "x..y"] * 50,
        "wage": ["3", "15", "", "30"] * 50,
        "hired": [f"200{i % 5}-03-04" for i in range(200)],
    }
    release = mechanisms.mst(schema.encode(raw), epsilon=100, delta=1e-9, unsafe_seed=1)
    replace(release, schema=schema).save("staff.pgm")
    for given, left in {
        "wage=12..20": {"[10, 20)", "[20, 30)"},
        "wage=..9": {"[0, 10)"},
        "job=cook,x..y": {"cook", "x..y"},
        "job=a, b": {"a, b"},
        'job="a, b",driver': {"a, b", "driver"},
        "job=driver..": {"driver", "a, b", "x..y"},
        "hired=2001-05-05..2002-01-01": {"2001", "2002"},
    }.items():
        name = given.partition("=")[0]
        assert cli.main(["query", "staff.pgm", name, "--json", "--draws", "0", "--given", given]) == 0
        (table,) = json.loads(capsys.readouterr().out)["answers"]
        assert set(map(str, table["given"][name])) == left
    for bad, message in {
        "wage=..": "needs a whole number from 0 to 99",
        "wage=25..5": "no value of attribute 'wage' is in the range: '25' comes after '5'",
        "wage=20..200": "at the ends of a range, got '200'",
        "wage=..99..": "needs a whole number from 0 to 99",
        "wage=1,000": "needs a whole number from 0 to 99",
        "job=cook,nurse": "needs one of 'cook', 'driver'",
        "hired=21..": "at the ends of a range, got '21'",
    }.items():
        assert cli.main(["query", "staff.pgm", "job", "--given", bad]) == 2
        assert message in capsys.readouterr().err


def test_evidence_that_a_rule_forbids(folder, capsys):
    rule = pypgm.data.Rule(["age", "sex"], [[0, "M"]])
    schema = pypgm.Schema({"age": 5, "sex": ["F", "M"]}, rules=[rule])
    data = schema.encode({"age": [i % 5 for i in range(200)], "sex": ["F"] * 200})
    constraints = pypgm.Constraint.of_rules(schema)
    release = mechanisms.mst(data, epsilon=10, delta=1e-9, unsafe_seed=1, constraints=constraints)
    replace(release, schema=schema).save("ruled.pgm")
    given = ["--given", "age=0", "--given", "sex=M"]
    for verb in (["query", "ruled.pgm", "age"], ["sample", "ruled.pgm", "--rows", "3", "--out", "o.csv"]):
        assert cli.main([*verb, *given]) == 2
        assert "the model, or a rule of its schema, gives this combination no prob" in capsys.readouterr().err


def test_mechanisms_that_need_public_records_are_not_offered(folder, capsys):
    schema = ["synth", "people.csv", "--schema", "domain.json", "--epsilon", "1", "--delta", "1e-9", "--out", "o.csv"]
    assert cli.main([*schema, "--mechanism", "jam"]) == 2
    assert "invalid choice: 'jam' (choose from" in capsys.readouterr().err
    assert cli.main(["plan", "domain.json", *schema[4:8], "--records", "9", "--mechanism", "jam"]) == 2
    assert "'jam'," not in capsys.readouterr().err.partition("choose from")[2]


def test_compare(folder, capsys):
    assert cli.main(["compare", "people.pgm", "people.csv"]) == 2
    assert "--unsafe" in capsys.readouterr().err
    assert cli.main(["compare", "people.pgm", "people.csv", "--unsafe"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("NOT PRIVATE")
    model, data = pypgm.load("people.pgm"), pypgm.read_table("people.csv", DOMAIN)
    pairs = [("age", "sex"), ("age", "income"), ("sex", "income")]
    found = pypgm.evaluate(model, cliques=pairs, unsafe_data=data)
    assert f"{rounded(100 * found.mean)} points of pairs" in " ".join(said.split())
    assert cli.main(["compare", "people.pgm", "people.csv", "--unsafe", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["answers"]["pairs"] == pytest.approx(100 * found.mean)


def test_of_many_attributes_the_pairs_of_some_are_compared(folder, capsys, monkeypatch):
    monkeypatch.setattr("pypgm.cli.compare._ATTRIBUTES", 2)
    assert cli.main(["compare", "people.pgm", "people.csv", "--unsafe", "--json"]) == 0
    model, data = pypgm.load("people.pgm"), pypgm.read_table("people.csv", DOMAIN)
    found = pypgm.evaluate(model, cliques=[("age", "income")], unsafe_data=data)
    assert json.loads(capsys.readouterr().out)["answers"]["pairs"] == pytest.approx(100 * found.mean)


def test_plan_on_the_command_line(folder, capsys):
    budget = ["--records", "400", "--epsilon", "1", "--delta", "1e-9"]
    assert cli.main(["plan", "domain.json", *budget, "--mechanism", "hdmm", "--workload", "1"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("guarantee epsilon 1.0, delta 1e-09")
    assert "3 single columns by hdmm" in said
    assert re.search(r"columns about [\d.]+ points off on average; most .* pairs [\d.]+ to [\d.]+ points off", said)
    assert cli.main(["plan", "domain.json", *budget, "--mechanism", "wide", "--ledger"]) == 0
    listed = capsys.readouterr().out.partition("columns  ")[2].partition("noise in each, records\n")[2]
    rows = [(line.split("  ")[0], line.split()[-2]) for line in listed.splitlines()]
    assert len(set(rows)) == len(rows) >= 3  # the same numbers of the same columns, measured twice, stand there once
    assert cli.main(["plan", "domain.json", *budget[2:], "--records", "0"]) == 2
    assert "1 or more" in capsys.readouterr().err
    assert cli.main(["plan", "domain.json", *budget, "--mechanism", "mst", "--workload", "1"]) == 2
    assert "takes no workload" in capsys.readouterr().err


def test_plan_of_open_columns(folder, capsys):
    open_columns = {
        "columns": {
            "employer": {"kind": "open", "share": 0.25},
            "pay": {"kind": "integer", "low": 0, "high": 999, "bins": {"quantiles": 4, "share": 0.25}},
        }
    }
    Path("open.json").write_text(json.dumps(open_columns), encoding="utf-8")
    budget = ["--records", "800", "--epsilon", "1", "--delta", "1e-9", "--mechanism", "hdmm", "--workload", "1"]
    assert cli.main(["plan", "open.json", *budget, "--open-values", "7", "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    counts = planned["counts"]
    assert planned["open"] == [{"column": "employer", "found_from": 72, "values": 7, "n_found": 7}]
    assert [(c["columns"], c["numbers"]) for c in counts] == [(["employer"], 8), (["pay"], 4)]
    # Half of the budget goes to what is open, a tenth of delta too.
    left = Budget(epsilon=1, delta=1e-9, reserved_delta=1e-10).limit / 2
    domain = Domain({"employer": 8, "pay": 4})
    closed = mechanisms.plan("hdmm", domain, budget=Budget(rho=left, accounting="gdp"), workload=1, n_records=800)
    assert [c["noise"] for c in counts] == pytest.approx(closed.stddev, rel=5e-3)
    for given, why in ([], "without --open-values"), (["--open-values", "20"], "20 values have about 40 each:"):
        assert cli.main(["plan", "open.json", *budget, *given]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "open employer: a value is found where about 72 records have it" in said
        assert f'employer: {why} all values are forecast to become "other", 100 points off' in said
        assert cli.main(["plan", "open.json", *budget, *given, "--json"]) == 0
        planned = json.loads(capsys.readouterr().out)
        assert {"columns": ["employer"], "points": 100.0} in planned["points"]
        assert planned["open"][0]["n_found"] == 0


@pytest.mark.parametrize("seed", range(12))
def test_a_plan_says_the_count_from_which_values_are_found(folder, capsys, seed):
    rng = np.random.default_rng(seed)
    shares = {name: round(float(rng.uniform(0.02, 0.3)), 3) for name in ("a", "b")[: 1 + seed % 2]}
    schema = {"columns": {n: {"kind": "open", "share": s} for n, s in shares.items()} | {"sex": ["F", "M"]}}
    schema |= {"records_per_person": int(rng.integers(1, 5))}
    Path("open.json").write_text(json.dumps(schema), encoding="utf-8")
    epsilon, delta = float(f"{rng.uniform(0.3, 8):.3g}"), float(f"1e-{rng.integers(5, 13)}")
    relation = ["add-remove", "replace"][int(rng.integers(2))]
    budget = ["--epsilon", str(epsilon), "--delta", str(delta), "--neighbours", relation]
    assert cli.main(["plan", "open.json", "--records", "500", *budget, "--mechanism", "mst", "--json"]) == 0
    needed = {c["column"]: c["found_from"] for c in json.loads(capsys.readouterr().out)["open"]}
    often = {name: 3 * n for name, n in needed.items()}
    rows = max(often.values()) + 40
    table = {n: ["often"] * often[n] + [f"rare {i}" for i in range(rows - often[n])] for n in shares}
    settings = {"neighbours": relation, "mechanism": "mst"}
    release = pypgm.synthesize(table | {"sex": ["F"] * rows}, schema, epsilon=epsilon, delta=delta, **settings)
    laws = {line.within: line.law for line in release.ledger.lines}
    assert needed == {name: laws[f"settle / {name}"].threshold for name in shares}
    assert {name: release.schema.columns[name].labels[0] for name in shares} == dict.fromkeys(shares, "often")


@pytest.mark.parametrize(
    "command",
    [["plan", "open.json", "--records", "400"], ["synth", "people.csv", "--schema", "open.json", "--out", "o.csv"]],
)
def test_shares_that_leave_nothing_for_the_records_are_refused(folder, capsys, command):
    Path("open.json").write_text(json.dumps({"columns": {"sex": {"kind": "open", "share": 1}}}), encoding="utf-8")
    assert cli.main([*command, "--epsilon", "1", "--delta", "1e-9"]) == 2
    assert "leave nothing of the budget" in capsys.readouterr().err


def test_a_plan_says_the_noise_of_the_run(folder):
    budget = Budget(epsilon=1, delta=1e-9)
    data = pypgm.read_table("people.csv", DOMAIN)
    for name in ("hdmm", "mst"):
        planned = mechanisms.plan(name, DOMAIN, budget=budget, n_records=400)
        release = mechanisms.mst(data, budget=budget) if name == "mst" else mechanisms.hdmm(data, budget=budget)
        assert sorted(planned.stddev) == pytest.approx(sorted(float(m.stddev) for m in release.measurements))
        assert name == "mst" or planned.numbers == tuple(DOMAIN.size(c) for c in planned.cliques)


def test_a_plan_of_many_records_has_their_noise(folder):
    budget = Budget(epsilon=1, delta=1e-9)
    few, many = (mechanisms.plan("hdmm", DOMAIN, budget=budget, n_records=n) for n in (400, 10**9))
    assert many.stddev == pytest.approx(few.stddev, rel=1e-3)
    assert 0 < many.low <= many.high < 1e-6 < few.low
    assert many.bytes > 3 * 10**9
    pure = mechanisms.plan("privbayes", DOMAIN, budget=Budget(epsilon=1), n_records=400)
    assert pure.error > 0


def test_a_plan_knows_relation_workload_and_little_budget():
    budget = Budget(rho=0.01)
    ways = {"replace": Privacy("replace"), "two": Privacy(records_per_person=2), "one": Privacy()}
    noise = {
        n: mechanisms.plan("hdmm", DOMAIN, budget=budget, n_records=100, privacy=p).stddev[0] for n, p in ways.items()
    }
    assert noise["one"] * 1.4 == pytest.approx(noise["replace"], rel=0.02)
    assert noise["one"] * 2 == pytest.approx(noise["two"], rel=0.01)
    work = pypgm.workloads.all_k_way(DOMAIN, 1)
    assert mechanisms.plan("hdmm", DOMAIN, budget=budget, workload=work, n_records=100).cliques == tuple(work)
    errors = [mechanisms.plan("wide", DOMAIN, budget=Budget(rho=rho), n_records=5000).error for rho in (1e-5, 1e-3, 1)]
    assert errors == sorted(errors, reverse=True)


@pytest.mark.parametrize(
    ("mechanism", "thresholds"),
    [("wide", [50_000]), ("mst", [300, 50_000, 100_000]), ("privbayes", [50_000, 100_000])],
)
def test_a_plan_says_about_the_same_of_one_record_more(mechanism, thresholds):
    domain = Domain({"a": 3, "b": 4, "c": 30, "d": 40})
    for threshold in thresholds:
        plans = [
            mechanisms.plan(mechanism, domain, epsilon=1, delta=1e-9, n_records=threshold + more) for more in (0, 1)
        ]
        for name in ("low", "error", "high"):
            one, another = (getattr(plan, name) for plan in plans)
            assert one == pytest.approx(another, rel=0.1), (mechanism, threshold, name)


def test_a_plan_is_a_range(capsys, folder):
    plan = mechanisms.plan("wide", DOMAIN, epsilon=1, delta=1e-9, n_records=400)
    assert 0 < plan.low < plan.error < plan.high
    ends = [f"{100 * error:.2g}" for error in (plan.low, plan.high)]
    told = f"expected error of pairs: {' to '.join(ends)} percentage points"
    assert told in str(plan)
    assert told in plan._repr_html_()
    command = ["plan", "domain.json", "--records", "400", "--epsilon", "1", "--delta", "1e-9"]
    assert cli.main(command) == 0
    assert re.search(r"pairs +[\d.]+ to [\d.]+ points off", capsys.readouterr().out)
    assert cli.main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [found[name] for name in ("low", "error", "high")] == pytest.approx(
        [100 * error for error in (plan.low, plan.error, plan.high)]
    )


def test_a_plan_looks_at_all_pairs_of_a_target(monkeypatch):
    monkeypatch.setattr(pypgm.planning, "_PAIRS", 9)  # fewer than there are
    for seed in range(2):
        rng = np.random.default_rng(seed)
        domain = Domain({f"x{i}": int(k) for i, k in enumerate(rng.integers(2, 6, 9))})
        target = f"x{rng.integers(9)}"
        of_target = [c for c in itertools.combinations(domain.attributes, 2) if target in c]
        aimed, plain = (
            mechanisms.plan("wide", domain, epsilon=1, delta=1e-9, n_records=500, targets=t) for t in (target, ())
        )
        assert aimed.targets == (target,)
        assert set(of_target) <= set(aimed.distances)
        assert aimed.target_error == pytest.approx(np.mean([aimed.distances[c] for c in of_target]))
        assert np.isnan(plain.target_error)
        assert f"pairs with {target}:" in str(aimed)
        assert "pairs with" not in str(plain)


def test_a_plan_says_how_near_the_pairs_of_a_target_will_be(folder, capsys):
    Path("schema.json").write_text(json.dumps({"columns": {"age": 5, "sex": ["F", "M"], "pay": 4}}), encoding="utf-8")
    command = ["plan", "schema.json", "--records", "900", "--epsilon", "1", "--delta", "1e-9", "--target", "sex"]
    plan = mechanisms.plan(
        "wide", Domain({"age": 5, "sex": ["F", "M"], "pay": 4}), 1, 1e-9, n_records=900, targets=["sex"]
    )
    assert cli.main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["targets"] == ["sex"]
    assert told["target_error"] == pytest.approx(100 * plan.target_error)
    assert cli.main(command) == 0
    assert re.search(r"target +pairs with sex about [\d.]+ points off on average", capsys.readouterr().out)
    assert cli.main([*command, "--mechanism", "mst"]) == 2
    assert "takes no targets" in capsys.readouterr().err


def test_a_plan_of_one_attribute():
    assert 0 < mechanisms.plan("mst", Domain({"a": 3}), budget=Budget(rho=0.01), n_records=100).error < 1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"mechanism": "best"}, ValueError, "mechanism must be one of"),
        ({"workload": 1}, ValueError, "takes no workload"),
        ({"targets": "sex"}, ValueError, "takes no targets"),
        ({"targets": "sux"}, ValueError, "unknown attribute 'sux'"),
        ({"n_records": 0}, ValueError, "n_records"),
        ({"budget": Budget(epsilon=1)}, ValueError, "delta"),
        ({"epsilon": 1}, TypeError, "not both"),
        ({"budget": None}, TypeError, "needs a budget"),
        ({"budget": 1.0}, TypeError, "needs a Budget"),
        ({"domain": {"a": 2}}, TypeError, "Domain"),
        ({"neighbours": "replace", "privacy": Privacy()}, TypeError, "not both"),
    ],
)
def test_refused_plans(arguments, error, message):
    with pytest.raises(error, match=message):
        mechanisms.plan(**{"mechanism": "mst", "domain": DOMAIN, "budget": Budget(rho=1)} | arguments)


def test_numbers_and_dates_as_evidence_say_what_they_are(folder, capsys):
    columns = {
        "age": pypgm.data.Integer(20, 69, width=10),
        "hired": pypgm.data.Date("2020-01-01", "2021-12-31", "quarter"),
        "sex": ["F", "M"],
    }
    schema = pypgm.Schema(columns)
    data = schema.records({"age": [0, 1] * 50, "hired": [0, 7] * 50, "sex": [0, 1] * 50})
    release = mechanisms.mst(data, 9, 1e-9)
    release.save("told.pgm")
    for given, said in {
        "age=3": "from 20 to 69, or one of its bins such as '[20, 30)'; a number in a text is a value, not a code",
        "age>=30": "got 'age>=30'; a range with both its ends is age=30..",
        "age < 30": "; a range with both its ends is age=..30",
        "age = 30": "; without blanks it is age=30",
        "ages=30": "; the nearest is 'age'",
        "pay>30": "; it has 'age', 'hired', 'sex'",
        "age=30,40": "of several values give a list, --given again and again, or a range: age=30..39",
        "hired=2020-02": "an ISO date from 2020-01-01 to 2021-12-31, or one of its bins such as '2020-Q1'",
    }.items():
        assert cli.main(["query", "told.pgm", "sex", "--draws", "0", "--given", given]) == 2
        assert said in capsys.readouterr().err
    with pytest.raises(
        ValueError, match=r"has no label 35; its labels are '\[20, 30\)'.* a number is a value here, not"
    ):
        release.model.query("sex", {"age": 35})


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion(shell, capsys):
    pytest.importorskip("shtab")
    assert cli.main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for word in ("synth", "report", "epsilon", "neighbours", "add-remove"):
        assert word in script


def test_bash_completes(tmp_path):
    pytest.importorskip("shtab")
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash")
    made = subprocess.run(
        [sys.executable, "-c", f"{HERE}main(['completion', 'bash'])"], capture_output=True, check=True
    )
    (tmp_path / "pypgm.bash").write_bytes(made.stdout)
    (tmp_path / "people.csv").touch()

    def completed(*words):
        given = " ".join(f'"{word}"' for word in ("pypgm", *words))
        ask = f"source pypgm.bash; COMP_WORDS=({given}); COMP_CWORD={len(words)}; _shtab_pypgm; echo ${{COMPREPLY[@]}}"
        done = subprocess.run([bash, "-c", ask], cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.stdout.split()

    assert completed("syn") == ["synth"]
    assert "--epsilon" in completed("synth", "--eps")
    assert completed("synth", "--neighbours", "r") == ["replace"]


def test_completion_without_shtab_names_the_extra(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert cli.main(["completion", "bash"]) == 2
    assert "pypgm[completion]" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb"])
def test_every_verb_takes_every_kind_of_file(kind, tmp_path, monkeypatch, capsys):
    """With open columns and quantiles, which the draft itself proposes."""
    arrow = pytest.importorskip("pyarrow")
    parquet, duckdb = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    draw = random.Random(1)
    table = {
        "town": [f"town {min(draw.randrange(90), draw.randrange(90))}" for _ in range(2000)],
        "wage": [round(draw.lognormvariate(8, 1.2), 2) for _ in range(2000)],
        "sex": [draw.choice("FM") for _ in range(2000)],
    }
    rows = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
    Path("t.csv").write_text("\n".join([",".join(table), *rows]))
    parquet.write_table(arrow.table(table), "t.parquet")
    with duckdb.connect("t.duckdb") as connection:
        connection.execute("create table people as select * from 't.parquet'")
    source = [f"t.{kind}", *(["--table", "people"] if kind == "duckdb" else [])]
    budget, out = ["--epsilon", "5", "--delta", "1e-9"], f"o.{'csv' if kind == 'csv' else 'parquet'}"
    for arguments in (
        ["schema", "init", *source, "--out", "s.json"],
        ["plan", "s.json", "--records", "2000", "--open-values", "9", *budget, "--mechanism", "mst"],
        ["synth", *source, "--schema", "s.json", *budget, "--out", out, "--mechanism", "mst", "--release", "r.pgm"],
        ["sample", "r.pgm", "--rows", "9", "--out", "more.csv"],
        ["query", "r.pgm", "sex", "--given", "wage=1000..2000"],
        ["info", "r.pgm"],
        ["compare", "r.pgm", *source, "--unsafe"],
    ):
        assert cli.main(arguments) == 0, capsys.readouterr().err
    assert list(pypgm.read_schema("s.json").open) == ["town", "wage"]


@pytest.mark.parametrize(("rows", "rules"), [([], []), (["--rows", "50"], []), ([], ["start <= end"])])
def test_the_records_of_synth_can_be_drawn_again_and_serve_its_figures(folder, capsys, monkeypatch, rows, rules):
    """Made-up tables are drawn from the records that are written, where these are as many as the model has."""
    rng = np.random.default_rng(len(rules))
    start = rng.integers(0, 40, 900)
    table = "".join(f"{a},{a + b},{c}\n" for a, b, c in zip(start, rng.integers(0, 9, 900), start % 3, strict=True))
    Path("t.csv").write_text(f"start,end,kind\n{table}")
    ends = {"kind": "integer", "low": 0, "high": 49, "width": 5}
    Path("t.json").write_text(json.dumps({"columns": {"start": ends, "end": ends, "kind": 3}, "rules": rules}))
    draw, drawn = Model.synthetic_data, []
    monkeypatch.setattr(Model, "synthetic_data", lambda *given, **how: drawn.append(given) or draw(*given, **how))
    budget = ["--epsilon", "1", "--delta", "1e-9", "--mechanism", "mst"]
    asked = ["synth", "t.csv", "--schema", "t.json", *budget, "--out", "o.csv", "--release", "o.pgm", *rows, "--json"]
    assert cli.main(asked) == 0
    assert rules or len(drawn) == (3 if rows else 2)  # once for what drawn true tables say of the largest error
    first = json.loads(capsys.readouterr().out)
    assert cli.main(["info", "o.pgm", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["quality"] == first["quality"]
    assert cli.main(["sample", "o.pgm", "--seed", "0", "--out", "again.csv", *rows, "--quiet"]) == 0
    assert Path("again.csv").read_bytes() == Path("o.csv").read_bytes()
    Path("o.csv").rename("before.csv")
    assert cli.main(asked) == 0
    assert Path("before.csv").read_bytes() == Path("o.csv").read_bytes()


def test_a_verb_imports_no_other_and_no_mechanism_that_does_not_run(folder):
    """Nobody waits for what is not used: other verbs, mechanisms, drafts, pages, and packages that are slow to load."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 40, 3000)
    rows = "\n".join(f"{x},{(x + y) % 40},{x // 14}" for x, y in zip(a, rng.integers(0, 20, 3000), strict=True))
    Path("t.csv").write_text(f"a,b,c\n{rows}\n")
    Path("t.json").write_text('{"a": 40, "b": 40, "c": 3}')
    asked = ["synth", "t.csv", "--schema", "t.json", "--epsilon", "1", "--delta", "1e-9", "--out", "o.csv", "--quiet"]
    unused = {"cli.compare", "cli.query", "mechanisms._aim", "data.draft.draft", "data.draft.typed", "reporting.card"}
    unused |= {"reporting.compared", "reporting.drawings", "reporting.page", "reporting.audited"}
    looked = {*map("pypgm.{}".format, unused), "scipy", "networkx", "pandas", "pyarrow", "statistics", "zoneinfo"}
    code = f"{HERE}assert main({asked}) == 0\nprint({looked} & set(sys.modules) or 'none')"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "none\n"
    assert "Kronecker" in {type(m.linear_map).__name__ for m in pypgm.load("o.pgm").measurements}
