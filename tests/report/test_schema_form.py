"""The page on which a schema is finished: harmless whatever its names are, and what it saves is what was answered."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from drafted import TABLES, drafted, without_warnings
from html_page import Page

import pypgm.reporting
from pypgm import cli
from pypgm.data import Schema
from pypgm.data.draft.questions import answered, questions_of
from pypgm.data.draft.text import schema_text

pytest.importorskip("jinja2")

from pypgm.reporting.form import form_page, form_state

NODE = shutil.which("node")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SCRIPT = Path(pypgm.reporting.__file__).with_name("form.js")
FINISH = """
const finished = new Function(require("fs").readFileSync(process.argv[1], "utf8") + "; return finished")();
const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(cases.map(([state, answers]) => finished(state, answers))));
"""
NONE = {"settled": [], "accepted": [], "dropped": [], "droppedRules": [], "newRules": [], "changes": {}}


def finished(cases):
    """Return what the script of the page makes of states and answers."""
    if NODE is None:
        pytest.skip("needs node")
    given = json.dumps(cases)
    done = subprocess.run([NODE, "-e", FINISH, str(SCRIPT)], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def unchanged(draft):
    """Return the answers of somebody who answers nothing."""
    known = {name: json.dumps(value) for name, value in draft.get("person", {}).items() if name != "warning"}
    records = json.dumps(draft["records_per_person"]) if "records_per_person" in draft else None
    return {**NONE, "person": known or None, "recordsPerPerson": records}


def answers_of(draft, draw):
    """Return answers on the page, and the schema with the same answers in Python."""
    questions, names, answers = questions_of(draft), list(draft["columns"]), unchanged(draft)
    fields, declared = draft, set()
    dropped = [name for name in names if draw.random() < 0.15][: len(names) - 1]
    for i, question in enumerate(questions):
        if question.name in dropped and question.place == "columns":
            continue
        takes = [j for j, proposal in enumerate(question.proposals) if draw.random() < 0.4]
        if any("kind" in question.proposals[j] for j in takes):
            takes = takes[-1:] if question.name not in declared else []
            declared.add(question.name)
        is_open = any(
            (q.place, q.name, q.note) == (question.place, question.name, question.note) for q in questions_of(fields)
        )
        if is_open and (takes or draw.random() < 0.5):
            fields = answered(fields, question, {"accept": takes})
            answers["settled"] = [*answers["settled"], i]
            answers["accepted"] = [*answers["accepted"], *([i, j] for j in takes)]
    for place, name in enumerate(names):
        entry = fields["columns"][name]
        if name in dropped:
            left = [question for question in questions_of(fields) if question.name == name]
            if left:
                fields = answered(fields, left[0], {"drop": True})
                answers["dropped"] = [*answers["dropped"], place]
        elif name not in declared and draw.random() < 0.4:
            change = {field: draw.choice([1.0, 10**17 + 1, "x", ["a", "b"]]) for field in draw.sample(list(entry), 1)}
            change = {field: value for field, value in change.items() if field not in {"kind", "warning"}}
            fields = {**fields, "columns": {**fields["columns"], name: {**entry, **change}}}
            answers["changes"] = {**answers["changes"], place: {f: json.dumps(v) for f, v in change.items()}}
    return answers, fields


def test_the_page_saves_what_python_makes_of_the_same_answers():
    cases, expected = [], []
    for seed, (_, draft) in enumerate(drafted()):
        for turn in range(2):
            answers, fields = answers_of(draft, random.Random(1000 * turn + seed))
            cases.append([form_state(draft, "s.json"), answers])
            expected.append(fields)
    saved = finished(cases)
    assert len(saved) == 2 * TABLES
    for text, fields in zip(saved, expected, strict=True):
        got = json.loads(text)
        assert got == fields
        assert list(got["columns"]) == list(fields["columns"])


def test_a_page_without_an_answer_saves_the_draft_and_one_with_all_the_schema_without_warnings():
    drafts = [draft for _, draft in drafted()]
    states = [form_state(draft, "s.json") for draft in drafts]
    kept = [{**unchanged(draft), "settled": [*range(len(questions_of(draft)))]} for draft in drafts]
    for draft, text in zip(
        drafts, finished([[s, unchanged(d)] for s, d in zip(states, drafts, strict=True)]), strict=True
    ):
        assert json.loads(text) == draft
    for draft, text in zip(drafts, finished([*map(list, zip(states, kept, strict=True))]), strict=True):
        saved = json.loads(text)
        assert {**saved, "codes": 0} == {**without_warnings(draft), "codes": 0}
        assert Schema.from_dict(saved) == Schema.from_dict(draft)


def test_numbers_that_a_browser_cannot_hold_and_names_that_it_would_sort_stay_as_they_are():
    columns = {str(i): {"kind": "integer", "low": 0, "high": 2**53 + i, "warning": "bounds"} for i in (7, 1, 3)}
    columns["__proto__"] = {"kind": "real", "low": 0.1, "high": 1e300, "bins": 4}
    columns["list"] = ["F", "M"]
    draft = {"columns": columns, "records_per_person": 3, "rules": ["1 <= 3"], "drop": ["b"]}
    text = finished([[form_state(draft, "s.json"), unchanged(draft)]])[0]
    assert json.loads(text) == draft
    assert list(json.loads(text)["columns"]) == ["7", "1", "3", "__proto__", "list"]


def test_persons_rules_bins_and_drops_are_saved():
    bins = {"quantiles": 4, "share": 0.1, "warning": "many"}
    draft = {
        "columns": {"a": {"kind": "integer", "low": 0, "high": 9, "bins": bins}, "b": {"kind": "codes", "codes": 3}},
        "person": {"column": "id", "at_most": 9, "warning": "at_most id"},
        "rules": ["a <= b", {"columns": ["a", "b"], "forbidden": [[1, 1]], "warning": "seen"}],
        "drop": ["x"],
    }
    state, answers = form_state(draft, "s.json"), unchanged(draft)
    more = {"settled": [0, 1, 2], "person": {"column": '"id"', "at_most": "2"}, "newRules": ['"b <= a"']}
    settled, other = finished(
        [
            [state, {**answers, **more}],
            [state, {**answers, "dropped": [1], "droppedRules": [1], "person": None, "recordsPerPerson": "3"}],
        ]
    )
    settled, other = json.loads(settled), json.loads(other)
    assert settled["person"] == {"column": "id", "at_most": 2}
    assert settled["rules"] == ["a <= b", {"columns": ["a", "b"], "forbidden": [[1, 1]]}, "b <= a"]
    assert settled["columns"]["a"]["bins"] == {"quantiles": 4, "share": 0.1}
    assert "person" not in other
    assert (other["records_per_person"], other["drop"], other["rules"]) == (3, ["x", "b"], ["a <= b"])


def test_the_page_loads_nothing_and_runs_only_its_script(tmp_path):
    for i, (_, draft) in enumerate(drafted(40)):
        text = form_page(draft, f"<b>{i}</b>\u202e.json")
        page = Page(re.sub(r"(<script[^>]*>).*?(</script>)", r"\1\2", text, flags=re.DOTALL))
        assert (page.wrong, page.open) == ([], [])
        scripts = re.findall(r"<script[^>]*>(.*?)</script>", text, re.DOTALL)
        assert len(scripts) == 2
        assert "<" not in scripts[0]
        digest = base64.b64encode(hashlib.sha256(scripts[1].encode()).digest()).decode()
        assert f"script-src 'sha256-{digest}'" in text.replace("&#39;", "'")
        assert "default-src 'none'" in text
        for tag, attributes in page.elements:
            assert tag not in {"iframe", "object", "embed", "img", "b"}
            assert not [name for name in attributes if name.startswith("on")]
            assert attributes.get("src") is None
        assert all(c.isprintable() or c == "\n" for c in text)
        assert all(question.note.sentence.split()[0] in page.text for question in questions_of(draft))


def test_the_command_writes_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    draft = drafted(1)[0][1]
    Path("s.json").write_text(schema_text(draft), encoding="utf-8")
    assert cli.main(["schema", "form", "s.json", "--out", "form.html"]) == 0
    assert "wrote form.html" in capsys.readouterr().err
    assert Path("form.html").read_text(encoding="utf-8") == form_page(draft, "s.json")
    assert cli.main(["schema", "form", "s.json", "--out", "form.html"]) == 2
    assert cli.main(["schema", "form", "s.json", "--out", "form.txt"]) == 2


@pytest.mark.slow
def test_a_browser_saves_what_was_typed(tmp_path):
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("needs a browser")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for i, (_, draft) in enumerate(drafted(5)):
            (tmp_path / "form.html").write_text(form_page(draft, "s.json"), encoding="utf-8")
            page = browser.new_page(viewport={"width": 500, "height": 800})
            heard = []
            for event in ("console", "pageerror", "dialog", "requestfailed"):
                page.on(event, lambda what, event=event, heard=heard: heard.append((event, str(what))))
            page.goto((tmp_path / "form.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") == 500
            assert _saved(page, tmp_path) == draft
            bounded = next(
                (p for p, entry in enumerate(draft["columns"].values()) if "bounds" in entry.get("warning", "")), None
            )
            if bounded is not None:
                page.fill(f'[data-column="{bounded}"][data-field="low"]', "[")
                assert page.is_disabled("#save") or draft["columns"][[*draft["columns"]][bounded]]["kind"] == "date"
                page.fill(f'[data-column="{bounded}"][data-field="low"]', "-7")
                assert not page.text_content("#done").startswith("0 of ")
                low = [*_saved(page, tmp_path)["columns"].values()][bounded]["low"]
                assert low in {-7, "-7"}
                page.fill(f'[data-column="{bounded}"][data-field="null"]', "98")
                assert [*_saved(page, tmp_path)["columns"].values()][bounded]["null"] in (["98"], 98)
                page.reload()
            for box in page.query_selector_all("input[data-question]"):
                box.check()
            assert page.text_content("#done").split()[0] == str(len(questions_of(draft)))
            assert {**_saved(page, tmp_path), "codes": 0} == {**without_warnings(draft), "codes": 0}
            for box in page.query_selector_all("input[data-drop]")[:1]:
                box.check()
                assert next(iter(draft["columns"])) in _saved(page, tmp_path)["drop"]
            assert heard == [], i
            page.close()
        browser.close()


def _saved(page, folder):
    with page.expect_download() as download:
        page.click("#save")
    assert download.value.suggested_filename == "s.json"
    download.value.save_as(folder / "saved.json")
    return json.loads((folder / "saved.json").read_text(encoding="utf-8"))
