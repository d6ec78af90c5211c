"""Refusals of every verb by the command's own options; `conftest` looks at what all other tests make it say."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spoken import arguments, python_in

import pypgm
from pypgm import cli
from pypgm.cli.spelling import spelled

BY = ["--by", "me", "--why", "a test"]
SYNTH = ["synth", "people.csv", "--schema", "schema.json", "--out", "out.csv", "--epsilon", "1", "--delta", "1e-9"]
ACCOUNT = [*SYNTH, "--account", "people.account"]
PLAN = ["plan", "schema.json", "--records", "100", "--epsilon", "1", "--delta", "1e-9"]
CREATE = ["account", "create"]
REFUSED = [
    [*CREATE, "people.account", "--rho", "1"],
    [*CREATE, "people.account", "--epsilon", "3", "--delta", "1e-8", "--table", "visits"],
    [*CREATE, "people.account", "--epsilon", "3", "--delta", "1e-8", "--person", "id"],
    [*CREATE, "people.account", "--epsilon", "3", "--delta", "1e-8", "--neighbours", "add-remove"],
    [*CREATE, "new.account", "--rho", "1", "--epsilon", "1"],
    [*CREATE, "new.account", "--rho", "0"],
    [*CREATE, "new.account", "--delta", "1e-9"],
    [*CREATE, "new.account", "--epsilon", "1", "--delta", "1e-9", "--reserved-delta", "1e-8"],
    [*CREATE, "new.account", "--epsilon", "1", "--delta", "1e-9", "--person", "id", "--neighbours", "replace"],
    [*CREATE, "people.csv", "--rho", "1"],
    [*CREATE, "none/new.account", "--rho", "1"],
    *(["account", verb, "none.account"] for verb in ("show", "history")),
    ["account", "widen", "people.account", "--rho", "9", *BY],
    ["account", "widen", "people.account", "--epsilon", "1", "--delta", "1e-9", *BY],
    ["account", "widen", "people.account", "--epsilon", "4", "--delta", "1e-8", "--by", " ", "--why", ""],
    ["account", "close", "people.account", "--by", "", "--why", "x"],
    ["account", "settle", "people.account", "7", *BY],
    ["account", "settle", "people.account", str(10**20), *BY],
    ["account", "reserve", "people.account", "--what", "x"],
    ["account", "reserve", "people.account", "--what", "x", "--rho", "1"],
    ["account", "reserve", "people.account", "--what", "x", "--epsilon", "9"],
    ["account", "reserve", "people.account", "--what", "x", "--epsilon", "1/10", "--delta", "1e-9"],
    ["account", "reserve", "pure.account", "--what", "x", "--rho", "1/10"],
    ACCOUNT,
    [*ACCOUNT, "--neighbours", "replace", "--epsilon", "50"],
    [*ACCOUNT, "--neighbours", "replace", "--table", "visits"],
    [*SYNTH, "--account", "pure.account"],
    [*SYNTH, "--account", "person.account"],
    [*SYNTH, "--account", "many.account"],
    *([*SYNTH, "--time-limit", text] for text in ("0", "-1", "x")),
    *([*SYNTH, "--mechanism", name, "--workload", k] for name, k in itertools.product(["mst", "hdmm"], ["9", "x"])),
    *([*SYNTH, option, text] for option in ("--epsilon", "--delta") for text in ("0", "2", "-1", "1e-300")),
    [*SYNTH, "--delimiter", ";;"],
    [*SYNTH, "--delimiter", ";"],
    [*SYNTH, "--encoding", "utf-16"],
    [*SYNTH, "--table", "x"],
    [*SYNTH, "--schema", "big.json"],
    [*SYNTH, "--schema", "big.json", "--mechanism", "mst"],
    [*SYNTH, "--schema", "narrow.json"],
    *([*PLAN, option, text] for option in ("--records", "--epsilon", "--delta") for text in ("0", "-1", "x")),
    [*PLAN, "--schema", "big.json"],
    ["query", "out.pgm", "c"],
    ["query", "out.pgm", "a", "--oracle", "auto"],
    ["sample", "out.pgm", "--rows", "-1", "--out", "x.csv"],
    ["info", "out.pgm", "--account", "people.account"],
    ["report", "out.pgm", "people.csv", "--out", "page.html"],
    ["compare", "out.pgm", "people.csv"],
]  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("a,b\n" + "0,x\n1,y\n" * 50)
    Path("schema.json").write_text(json.dumps({"a": 2, "b": ["x", "y"]}))
    Path("narrow.json").write_text(json.dumps({"a": 2}))
    Path("big.json").write_text(json.dumps({"a": 2 * 10**6, "b": 3 * 10**6}))
    data = pypgm.Dataset({"a": [0, 1]}, pypgm.Domain({"a": 2}))
    pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9).save("out.pgm")
    of_people = {"table": "people.csv", "neighbours": "replace"}
    pypgm.Account("people.account", budget=pypgm.Budget(epsilon=3, delta=1e-8), **of_people)
    pypgm.Account("pure.account", budget=pypgm.Budget(epsilon=3))
    pypgm.Account("person.account", budget=pypgm.Budget(epsilon=3, delta=1e-8), person="id")
    many = pypgm.Account("many.account", budget=pypgm.Budget(epsilon=3, delta=1e-8))
    relation = pypgm.Privacy("add-remove", 5)
    pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9, privacy=relation, account=many)
    return tmp_path


@pytest.mark.parametrize("call", REFUSED, ids=" ".join)
def test_a_refusal_names_the_options_of_the_command(folder, call, said_in_words_of_the_command, capsys):
    if call[0] in {"synth", "plan"}:
        Path("out.pgm").unlink()
    status = cli.main(call)
    assert said_in_words_of_the_command or status == 0
    for message in said_in_words_of_the_command:
        assert not python_in(message), message
        assert "  " not in message


def test_words_of_python_are_noticed():
    assert {"rho", "time_limit", "neighbours", "max_bytes", "budget"} <= arguments()
    for text in ("rho=1", "pass budget= to", "leave time_limit out", "Budget(rho=1)", "pypgm.Account(x)", "a, by= or"):
        assert python_in(text), text
    for text in ("--rho 1", "'rho=1'", "the budget is 1", "people_2026.csv", "a (b) = c"):
        assert not python_in(text), text


names = st.sampled_from(["rho", "time_limit", "neighbours", "reserved_delta", "by"])


@given(name=names, value=st.sampled_from(["", "1", "'replace'", '"replace"', "1e-9"]), options=st.sets(names))
def test_an_argument_is_the_option_of_its_name_and_texts_stay(name, value, options):
    option = f"--{name.replace('_', '-')}" if name in options else name
    shown = value.strip("'\"")
    assert spelled(f"needs {name}={value}, or more", options) == f"needs {option}{' ' * bool(shown)}{shown}, or more"
    for kept in (f"--given '{name}={value}'", f"got '{name}=1'", f"{name}.csv", f"/{name}/x.csv: 1 = 1", "x = 1"):
        assert spelled(kept, options) == kept
