"""The dialogue that finishes a schema on a terminal: one question at a time, each answer saved, nothing lost."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from drafted import drafted, without_warnings

from pypgm import cli
from pypgm.data import Schema
from pypgm.data.draft.questions import questions_of
from pypgm.data.draft.text import schema_text

DRAFT = {
    "comment": "mine",
    "columns": {
        "age": {"kind": "integer", "low": 18, "high": 77, "warning": "bounds; null? 98, 99", "null": ["98", "99"]},
        "came": {"kind": "date", "low": "2024-01-01", "high": "2024-12-31", "resolution": "month"},
        "left": {
            "kind": "date",
            "low": "2024-01-01",
            "high": "2024-12-31",
            "resolution": "month",
            "warning": "order came",
        },
        "city": {"kind": "categorical", "values": ["Oslo", "Rome"], "warning": "values"},
    },
    "warning": "person?",
    "proposals": {"left": {"order came": ["came <= left"]}},
}


class Terminal(io.StringIO):
    """Lines that somebody types; then Ctrl-C, or the end of the input."""

    def __init__(self, lines, *, is_interrupted=False):
        super().__init__("".join(f"{line}\n" for line in lines))
        self.is_interrupted = is_interrupted

    def isatty(self):
        return True

    def readline(self, *size):
        line = super().readline(*size)
        if not line and self.is_interrupted:
            raise KeyboardInterrupt
        return line


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.json").write_text(schema_text(DRAFT), encoding="utf-8")
    return tmp_path


@pytest.fixture
def typed(monkeypatch, folder):
    def run(*lines, path="s.json", **how):
        monkeypatch.setattr("sys.stdin", Terminal(lines, **how))
        status = cli.main(["schema", "check", path])
        return status, json.loads(Path(path).read_text(encoding="utf-8"))

    return run


def test_each_question_is_asked_and_its_answer_is_in_the_file(typed, capsys):
    answers = ["c", "", "2", "c", "0", "120", "k", "1", "c", "Oslo, Rome, Bern"]
    status, saved = typed(*answers)
    assert status == 0
    assert saved == {
        "comment": "mine",
        "columns": {
            "age": {"kind": "integer", "low": 0, "high": 120, "null": ["98", "99"]},
            "came": DRAFT["columns"]["came"],
            "left": DRAFT["columns"]["came"],
            "city": {"kind": "categorical", "values": ["Oslo", "Rome", "Bern"]},
        },
        "records_per_person": 2,
        "rules": ["came <= left"],
    }
    said = capsys.readouterr().out
    assert all(f"({i} of 5)" in said for i in range(1, 6))
    assert "1: " in said
    assert '"came <= left"' in said
    assert "s.json: no question is open\nnext  pypgm plan s.json" in said


@pytest.mark.parametrize(
    ("lines", "person"),
    [
        (["c", "id", "3"], {"person": {"column": "id", "at_most": 3}}),
        (["c", "id, day", "3"], {"person": {"column": ["id", "day"], "at_most": 3}}),
        (["c", "", "3"], {"records_per_person": 3}),
        (["k"], {}),
    ],
)
def test_a_person_is_named_by_columns_or_by_how_many_records_one_has(typed, lines, person):
    _, saved = typed(*lines)
    assert {name: saved[name] for name in ("person", "records_per_person") if name in saved} == person
    assert "warning" not in saved


@pytest.mark.parametrize("n_answers", range(4))
@pytest.mark.parametrize("is_interrupted", [False, True])
def test_answers_before_the_end_are_kept_and_the_next_run_goes_on(typed, capsys, n_answers, is_interrupted):
    status, saved = typed(*"k" * n_answers, is_interrupted=is_interrupted)
    assert status == (5 if is_interrupted else 1)
    assert len(questions_of(saved)) == 5 - n_answers
    if is_interrupted:
        assert "interrupted; all answers so far are in s.json" in capsys.readouterr().err
    status, saved = typed(*"k" * (5 - n_answers))
    assert (status, questions_of(saved)) == (0, [])
    assert Schema.from_dict(saved) == Schema.from_dict(DRAFT)


def test_questions_may_wait_and_columns_be_left_out(typed):
    status, saved = typed("s", "d", "s", "k")
    assert status == 1
    assert [(q.subject, q.note.code) for q in questions_of(saved)] == [("the table", "person?"), ("left", "order")]
    assert saved["drop"] == ["age"]
    assert typed("q") == (1, saved)
    assert typed("x", "", "c", "", "", "q") == (1, saved)  # keys that mean nothing, and no new value


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["c", "200", ""], "low"),
        (["c", "young", ""], "low"),
        (["e", '{"kind": "integer"}'], "needs low"),
        (["e", "no JSON"], "not taken"),
    ],
)
def test_an_answer_that_makes_no_schema_is_refused_and_asked_again(typed, capsys, lines, why):
    status, saved = typed("k", *lines, "k", "q")
    assert status == 1
    assert saved["columns"]["age"] == {**DRAFT["columns"]["age"], "warning": "null? 98, 99"}
    said = capsys.readouterr().out
    assert "not taken: " in said
    assert why in said


def test_a_column_may_be_declared_anew_and_a_code_be_a_value(typed):
    _, saved = typed("s", "e", '{"kind": "codes", "codes": 100, "warning": "mine"}', "q")
    assert saved["columns"]["age"] == {"kind": "codes", "codes": 100, "warning": "mine"}
    Path("s.json").write_text(schema_text(DRAFT), encoding="utf-8")
    _, saved = typed("s", "s", "c", "99", "q")
    assert saved["columns"]["age"]["null"] == ["99"]
    Path("s.json").write_text(schema_text(DRAFT), encoding="utf-8")
    _, saved = typed("s", "s", "c", "null", "q")
    assert "null" not in saved["columns"]["age"]


def test_what_is_open_is_listed_for_scripts(folder, monkeypatch, capsys):
    before = Path("s.json").read_bytes()
    monkeypatch.setattr("sys.stdin", io.StringIO())
    for flags in ([], ["--list"], ["--json"]):
        assert cli.main(["schema", "check", "s.json", *flags]) == 1
        said, error = capsys.readouterr()
        assert ("no terminal" in error) == (not flags)
        if flags == ["--json"]:
            facts = json.loads(said)["open"]
            assert [fact["code"] for fact in facts] == ["person?", "bounds", "null?", "order", "values"]
            assert facts[3]["proposals"] == ["came <= left"]
            assert facts[2]["details"] == ["98", "99"]
        else:
            assert [line.partition(":")[0] for line in said.splitlines()] == [
                *("the table", "age", "age", "left", "city"),
            ]
    assert Path("s.json").read_bytes() == before
    Path("s.json").write_text(json.dumps(without_warnings(DRAFT)), encoding="utf-8")
    assert cli.main(["schema", "check", "s.json", "--list"]) == 0
    assert capsys.readouterr() == ("", "")


def test_drafts_are_kept_as_they_are(typed, folder):
    for _, draft in drafted(25):
        Path("d.json").write_text(schema_text(draft), encoding="utf-8")
        status, saved = typed(*"k" * len(questions_of(draft)), path="d.json")
        assert status == 0
        assert {**saved, "codes": 0} == {**without_warnings(draft), "codes": 0}


@pytest.mark.parametrize("name", ["no.json", "s.yaml", "bad.json"])
def test_what_is_no_schema_or_cannot_be_saved_is_refused(folder, monkeypatch, capsys, name):
    pytest.importorskip("yaml")
    Path("s.yaml").write_text(schema_text(DRAFT), encoding="utf-8")
    Path("bad.json").write_text('{"columns": {"a": {"kind": "integer"}}}', encoding="utf-8")
    monkeypatch.setattr("sys.stdin", Terminal("k"))
    assert cli.main(["schema", "check", name]) == 2
    assert capsys.readouterr().err.startswith(f"pypgm: {name}")


def test_names_are_escaped_on_the_terminal(typed, capsys):
    draft = {"columns": {"a\x1b[2J\u202e": {"kind": "integer", "low": 0, "high": 1, "warning": "far? \x1b7"}}}
    Path("n.json").write_text(json.dumps(draft), encoding="utf-8")
    assert typed("k", path="n.json")[0] == 0
    assert all(c.isprintable() or c == "\n" for c in capsys.readouterr().out)


def test_a_draft_says_how_to_go_on(folder, capsys):
    Path("t.csv").write_text("age,city\n" + "".join(f"{18 + i % 60},{'ab'[i % 2]}\n" for i in range(200)))
    assert cli.main(["schema", "init", "t.csv", "--out", "t.json"]) == 0
    said = capsys.readouterr().err
    assert "NOT private: " in said
    assert "questions are open, about the table, age, city" in said
    assert "pypgm schema check t.json" in said
    assert max(map(len, said.splitlines())) < 400
