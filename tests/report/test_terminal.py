"""Names, labels and paths reach a terminal as printable characters, one line where one line is meant."""

from __future__ import annotations

import json
import os
import pathlib
import pickle
import subprocess
import sys
import unicodedata

import numpy as np
import pytest
from fuzz_pgm import pack, unpack

import pypgm
from pypgm import Dataset, Domain, cli, mechanisms
from pypgm._base.terminal import escaped, escaped_json
from pypgm.cli.command import _VERBS

NASTY = "x\x1b[2J\x1b[H\nguarantee: epsilon 0.001\r\x9b31m\u2028\u202e\u2066\x7f\x85\x00\ufeff\u200b"
DOMAIN = Domain({f"a{NASTY}": [f"l{NASTY}", "two"], "b": 3, "c": 2})
ROWS = np.random.default_rng(0).integers(0, 6, 300)
DATA = Dataset({f"a{NASTY}": ROWS % 2, "b": ROWS % 3, "c": (ROWS > 2).astype(int)}, DOMAIN)


def is_safe(text):
    return all(c.isprintable() or c == "\n" for c in text)


@pytest.fixture(scope="module")
def release():
    return mechanisms.mst(DATA, epsilon=1, delta=1e-9, unsafe_seed=1)


def test_what_is_escaped():
    for c in map(chr, [*range(0x3000), *range(0xD7F0, 0xE000), *range(0xFE00, 0x10000), *range(0xE0000, 0xE0200)]):
        odd = unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"} or (
            unicodedata.category(c) == "Cf" and c not in "\u200c\u200d"
        )
        if odd:
            assert escaped(c).isprintable()
            assert escaped(c).isascii()
            assert escaped(c).startswith("\\")
        elif unicodedata.category(c) not in {"Cn", "Co"}:
            assert escaped(c) == c


@pytest.mark.parametrize("text", ["", "plain", "café \u00a0 \u4e2d\u6587 \U0001f600", "a\\b", "\u0646\u200c\u0645"])
def test_what_people_write_stays(text):
    assert escaped(text) == text


def test_escapes_of_json_mean_the_same():
    text = json.dumps({NASTY: [NASTY, "\ud800", "\U0001f600"]}, ensure_ascii=False, indent=1)
    assert json.loads(escaped_json(text)) == json.loads(text)
    assert is_safe(escaped_json(text))
    assert "\U0001f600" in escaped_json(text)


def texts_of(release):
    """Yield what Python prints of a release and of what is in it."""
    model, ledger = release.model, release.ledger
    things = [release, model, model.domain, model.potentials, ledger, release.project(DOMAIN.attributes[0])]
    things += [release.synthetic_data(5, 0), *release.measurements, *ledger.lines, release.query("b"), model.cliques]
    things += [pypgm.evaluate(model, cliques=[DOMAIN.attributes[:1]], unsafe_data=DATA), model.domain.labels]
    things += [pypgm.JunctionTree(DOMAIN, model.cliques), pypgm.RegionGraph.saturated(DOMAIN, model.cliques)]
    things += [pypgm.Constraint(DOMAIN.attributes[:2], forbidden=[(0, 0)])]
    yield from (f(thing) for thing in things for f in (str, repr))
    yield from (
        release.report(),
        release.report(ledger=True),
        release.summary(),
        release.guarantee,
        ledger.report(),
        ledger.report(2),
    )


def test_nothing_that_python_prints_moves_the_terminal(release):
    assert all(map(is_safe, texts_of(release)))
    for text in (release.report(), release.report(ledger=True), release.summary()):
        assert sum(line.startswith("guarantee") for line in text.splitlines()) == 1


def test_nothing_that_a_mark_or_a_ledger_says_moves_the_terminal(release, tmp_path):
    release.save(tmp_path / "r.pgm")
    header, arrays = unpack((tmp_path / "r.pgm").read_bytes())
    for line in header["release"]["ledger"]["lines"]:
        line["within"] = NASTY
        line["what"] = NASTY if line["what"] == "select" else line["what"]
    header["release"]["ledger"]["not_private"] = header["not_private"] = NASTY
    header["release"] |= {"options": {NASTY: NASTY, "b": [NASTY]}, "log": [{NASTY: NASTY}], "pypgm": NASTY}
    (tmp_path / "r.pgm").write_bytes(pack(header, arrays))
    found = pypgm.load(tmp_path / "r.pgm")
    for text in texts_of(found):
        assert is_safe(text)


VERBS = [
    ["info", "r.pgm"],
    ["query", "r.pgm", "a", "b", "--draws", "2"],
    ["query", "r.pgm", "a", "--format", "json"],
    ["query", "r.pgm", f"no{NASTY}"],
    ["query", "r.pgm", "a", "--given", f"b{NASTY}=1"],
    ["query", f"no{NASTY}.pgm", "a"],
    ["account", "show", f"no{NASTY}"],
    ["account", "create", f"no{NASTY}", "--epsilon", "1", "--table", NASTY],
    ["query", "network.bif", "n"],
    ["compare", "r.pgm", "people.csv", "--unsafe"],
    ["compare", "r.pgm", "other.csv", "--unsafe"],
    ["plan", "schema.json", "--records", "100", "--epsilon", "1", "--delta", "1e-9"],
    ["plan", "bad.json", "--records", "100", "--epsilon", "1", "--delta", "1e-9"],
    ["schema", "init", "people.csv"],
    ["schema", "init", "people.csv", "--out", f"out{NASTY[1:5]}.json"],
    ["sample", "r.pgm", "--out", f"out{NASTY[1:5]}.csv"],
    ["synth", "other.csv", "--domain", "schema.json", "--epsilon", "1", "--delta", "1e-9", "--out", "o.csv"],
    ["synth", "people.csv", "--domain", "schema.json", "--epsilon", "1", "--delta", "1e-9", "--out", "o.csv"],
    ["info", f"no{NASTY}"],
    [f"no{NASTY}"],
    ["sample", "r.pgm", "--rows", NASTY, "--out", "o.csv"],
    ["report", "r.pgm", "--title", NASTY, "--out", f"out{NASTY[1:5]}.html"],
    ["report", f"no{NASTY}", "--out", "o.html"],
    ["demo", "--epsilon", NASTY],
    ["completion", NASTY],
]


@pytest.fixture
def folder(release, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = NASTY.replace("\x00", "")
    labels = [f"l{kept}", "two"]
    data = Dataset(dict(zip("abc", DATA.columns.values(), strict=True)), Domain({"a": labels, "b": 3, "c": 2}))
    mechanisms.mst(data, epsilon=1, delta=1e-9, unsafe_seed=1).save("r.pgm")
    names = Domain({f"a{kept}": labels, "b": 3, "c": 2})
    pypgm.write_table(data, "people.csv")
    pypgm.write_table(Dataset(dict(zip(names, DATA.columns.values(), strict=True)), names), "other.csv")
    pathlib.Path("schema.json").write_text(json.dumps({"a": labels, "b": 3, "c": 2}), encoding="utf-8")
    pathlib.Path("bad.json").write_text(json.dumps({"columns": {NASTY: {"kind": NASTY}}}), encoding="utf-8")
    network = f'network "n{kept}" {{ }}\nvariable a {{ type discrete [ 2 ] {{ "u{kept}", v }}; }}\n'
    network += "probability ( a ) { table 0.5, 0.5; }"
    pathlib.Path("network.bif").write_text(network, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("number", range(len(VERBS)))
def test_nothing_that_the_command_prints_moves_the_terminal(number, folder, capsys):
    cli.main(VERBS[number])
    for text in capsys.readouterr():
        assert is_safe(text)
        assert sum(line.startswith("guarantee: epsilon 0.001") for line in text.splitlines()) == 0


def test_every_verb_of_the_command_is_tried():
    assert {words[0] for words in VERBS} >= {*_VERBS}


def test_a_query_into_a_file_is_exact(folder, capsys):
    assert cli.main(["query", "r.pgm", "a", "--draws", "0"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("l")
    assert cli.main(["query", "r.pgm", "a", "--draws", "0", "--out", "q.csv"]) == 0
    kept = NASTY.replace("\x00", "")
    assert kept in pathlib.Path("q.csv").read_bytes().decode()
    assert cli.main(["query", "r.pgm", "a", "--draws", "0", "--out", "q.json"]) == 0
    assert json.loads(pathlib.Path("q.json").read_bytes())["answers"][0]["cells"][0]["a"] == f"l{kept}"


def test_a_label_that_no_encoding_has_is_shown(tmp_path):
    """A lone surrogate in a label, with an output that is strict."""
    data = Dataset({"a": [0, 1] * 40}, Domain({"a": ["\ud800", "x"]}))
    mechanisms.mst(data, epsilon=1, delta=1e-9, unsafe_seed=1).save(tmp_path / "r.pgm")
    code = "import sys; from pypgm.cli import main; sys.exit(main(sys.argv[1:]))"
    for verb in (["info", "r.pgm"], ["query", "r.pgm", "a", "--draws", "0"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *verb],
            cwd=tmp_path, capture_output=True, check=False, env=os.environ | {"PYTHONIOENCODING": "utf-8:strict"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert b"\\ud800" in done.stdout


def test_pickles_keep_names_as_they_are(release):
    assert pickle.loads(pickle.dumps(release)).model.domain == DOMAIN


def test_nothing_that_an_error_of_the_library_says_moves_the_terminal(release):
    model, name = release.model, DOMAIN.attributes[0]
    calls = [
        lambda: model.project("nothing"),
        lambda: model.project((name, name)),
        lambda: model.query("b", {name: f"no{NASTY}"}),
        lambda: model.query(f"no{NASTY}"),
        lambda: DOMAIN.size(f"no{NASTY}"),
        lambda: Domain({"a": [NASTY, NASTY]}),
        lambda: Dataset({name: [5], "b": [0], "c": [0]}, DOMAIN),
        lambda: pypgm.LinearMeasurement([np.nan], name),
        lambda: pypgm.LinearMeasurement([1, 2, 3], name).checked(DOMAIN),
        lambda: pypgm.workloads.all_k_way(DOMAIN, 9),
        lambda: pypgm.Constraint((name, "b")),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"\w") as error:
            call()
        assert is_safe(str(error.value)), error.value
