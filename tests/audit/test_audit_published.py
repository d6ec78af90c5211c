"""An audit as it is published: what a file may hold, what its page says, and that a digest is the same everywhere."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest
from selfcheck import everything

import pypgm
from pypgm import Domain, audit, cli, mechanisms
from pypgm.audit import Finding
from pypgm.audit.__main__ import main
from pypgm.audit.mechanisms import run_pairs
from pypgm.audit.pairs import neighbour_pairs
from pypgm.audit.tiers import NAMES
from pypgm.reporting.audited import AuditReport, audit_text, read_audit, write_audit

ROOT = Path(pypgm.__file__).parent
FOUND = (
    Finding("calibration", "mst", "ok", "64 draws", (), 1.5),
    Finding("charges", "mst", "not exercised", "no line"),
    Finding("chi-square", "laplace", "ok", "p = 0.3"),
    Finding("engine", "duckdb", "skipped", "duckdb is not installed"),
)
AUDIT = AuditReport(FOUND, ("mst",), 1)
NASTY = "<script>alert(1)</script>\x1b[2J\u202e{{ 7 * 7 }}"


def one(*fields, **more):
    return AuditReport((Finding(*fields),), **more)


def release(mechanism="mst"):
    data = pypgm.Dataset({"a": [0, 1] * 50, "b": [1, 0] * 50}, Domain({"a": 2, "b": 2}))
    return getattr(mechanisms, mechanism)(data, epsilon=1, delta=1e-9)


def test_a_file_gives_the_audit_back(tmp_path):
    write_audit(tmp_path / "a.json", AUDIT)
    assert read_audit(tmp_path / "a.json") == AUDIT


def test_the_digest_is_of_what_was_found_and_of_nothing_that_a_machine_decides():
    same = [
        AuditReport(FOUND[::-1], ("mst",), 1, python="3.99", numpy="9", system="Other"),
        AuditReport((Finding("calibration", "mst", "ok", "64 draws", (), 99.0), *FOUND[1:]), ("mst",), 1),
        AuditReport((*FOUND[:2], Finding("chi-square", "laplace", "ok", "p = 0.7")), ("mst",), 1),
    ]
    assert {audit.digest for audit in same} == {AUDIT.digest}
    other = [
        AuditReport(FOUND, ("wide",), 1),
        AuditReport(FOUND, ("mst",), 0),
        AuditReport(FOUND, ("mst",), 1, pypgm="9"),
        AuditReport(FOUND[1:], ("mst",), 1),
        AuditReport((Finding("calibration", "mst", "ok", "1 draw"), *FOUND[1:]), ("mst",), 1),
    ]
    assert len({audit.digest for audit in [AUDIT, *other]}) == 6


def changed(tmp_path, change):
    write_audit(tmp_path / "a.json", AUDIT)
    held = json.loads((tmp_path / "a.json").read_text())
    change(held)
    (tmp_path / "b.json").write_text(json.dumps(held))
    return tmp_path / "b.json"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda a: a["findings"][1].update(result="ok"), "was changed"),
        (lambda a: a.update(pypgm="9.9"), "was changed"),
        (lambda a: a["findings"].pop(), "none"),
        (lambda a: a["findings"][0].update(result="fine"), r"findings\[0\]\.result needs"),
        (lambda a: a["findings"][0].update(seconds=float("nan")), r"seconds needs a finite number"),
        (lambda a: a["findings"][0].update(defects=[1]), r"defects\[0\] needs text"),
        (lambda a: a.update(findings={}), "findings needs"),
        (lambda a: a.update(more=1), "more"),
        (lambda a: a.pop("digest"), "digest"),
        (lambda a: a.update(format="another"), "format needs"),
    ],
)
def test_a_file_that_is_no_audit_is_refused(tmp_path, change, said):
    path = changed(tmp_path, change)
    if said == "none":  # a check that needs another library is not in the digest
        assert len(read_audit(path).findings) == 3
    else:
        with pytest.raises(ValueError, match=said):
            read_audit(path)


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '"x"', "[" * 100_000, "\x00", '{"format": "pypgm audit 1"}'])
def test_what_is_no_json_of_an_audit_is_refused(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ValueError, match=r"a\.json"):
        read_audit(tmp_path / "a.json")


def test_the_page_says_what_was_not_exercised_and_obeys_nothing():
    pytest.importorskip("jinja2")
    text = audit_text("a.html", AuditReport((*FOUND, Finding(NASTY, NASTY, "failed", NASTY, (NASTY,))), (NASTY,)))
    assert "<script" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "{{ 7 * 7 }}" in text
    words = " ".join(re.sub(r"<[^>]*>", " ", text).split())
    assert "checks that failed: 1" in words
    assert "1 not exercised (they met nothing" in words
    assert "Not exercised by this audit: Other ways to run a mechanism" in words
    assert "charges a draw without its charge" in words
    row = re.search(r"charges</th>.*?</tr>", text, re.DOTALL).group()
    assert "1 not exercised" in row
    assert "ok" not in row
    assert "Not exercised by this audit: answers" in words
    assert not re.search(r"https?:|url\(|@import", text)


def test_a_page_of_a_release_says_where_an_audit_does_not_speak_for_it(tmp_path, capsys):
    pytest.importorskip("jinja2")
    made = release()
    made.save(tmp_path / "r.pgm")
    write_audit(tmp_path / "a.json", one("calibration", "mst", "ok", "64 draws", mechanisms=("mst",)))
    write_audit(tmp_path / "b.json", one("calibration", "wide", "ok", "64 draws", mechanisms=("wide",), pypgm="0.1"))
    paths = {name: str(tmp_path / name) for name in ("r.pgm", "a.json", "b.json", "a.html", "b.html", "c.html")}
    for name in "ab":
        arguments = [paths["r.pgm"], "--audit", paths[f"{name}.json"], "--out", paths[f"{name}.html"]]
        assert cli.main(["report", *arguments]) == 0
    fits, doubtful = ((tmp_path / f"{name}.html").read_text(encoding="utf-8") for name in "ab")
    assert "64 draws" in fits
    assert "was not exercised by this audit" not in fits
    assert "mst, which made this release, was not exercised by this audit" in doubtful
    assert "the audit is of pypgm 0.1, the release was made by" in doubtful
    assert "planted" not in doubtful.split("<body>")[1].replace("what was planted for it", "")
    capsys.readouterr()
    assert cli.main(["report", paths["r.pgm"], "--audit", paths["r.pgm"], "--out", paths["c.html"]]) == 2
    assert "must be text, but is a release" in capsys.readouterr().err
    assert not (tmp_path / "c.html").exists()


def test_a_page_alone_is_as_the_release_says(tmp_path):
    pytest.importorskip("jinja2")
    release().report_html(tmp_path / "r.html")
    assert "The audit" not in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_what_the_package_knows_of_its_checks_is_what_was_tried():
    """Each check of the audit says what it can see, those of planted defects among them."""
    names = set()
    for path in [*(ROOT / "audit").glob("*.py"), *Path(everything.__file__).parent.glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"finding", "skipped", "followed"}:
                names |= {node.args[0].value} if isinstance(node.args[0], ast.Constant) else set()
    groups = json.loads((ROOT / "reporting" / "checks.json").read_text(encoding="utf-8"))
    known = [name for group in groups for name in group["checks"]]
    assert len(known) == len(set(known))
    assert names - {"case"} <= set(known)
    planted = json.loads((ROOT / "reporting" / "planted.json").read_text(encoding="utf-8"))
    assert set(planted) - set(known) == {"mutant"}
    assert all(group["blind"] and all(group["checks"].values()) for group in groups)


@pytest.mark.parametrize(("suite", "least"), [(audit.suite, 5), (everything.suite, 6)], ids=["wheel", "everything"])
def test_a_mechanism_has_checks_of_its_own(suite, least):
    """The whole tier consists of those of each mechanism and of what all rest on, none twice."""
    sizes = {name: len(suite(0, [name])) for name in NAMES}
    assert min(sizes.values()) >= least
    assert len(suite(0, NAMES)) == sum(sizes.values()) < len(suite(0))
    assert len(suite(1, ["mst"])) > sizes["mst"]
    with pytest.raises(ValueError, match=r"an audit covers mst, .*, got 'most'"):
        suite(0, ["most"])


def test_the_command_audits_a_mechanism_of_ones_own(tmp_path, capsys, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "mine_under_audit.py").write_text("def own(table):\n    return table.measure('a', rho=1)\n")
    monkeypatch.setattr("pypgm.audit.report.run_pairs", brief)
    assert main(["mine_under_audit:own", "--out", str(tmp_path / "a.json")]) == 0
    assert "4 checks, 0 failed" in capsys.readouterr().out
    assert read_audit(tmp_path / "a.json").mechanisms == ("mine_under_audit:own",)
    for arguments in (["mine_under_audit:no"], ["most"], ["mst", "--out", "a.txt"]):
        with pytest.raises(SystemExit):
            main(arguments)


def brief(name, mechanism, budget, _, **more):
    """Run on three pairs of tables alone."""
    return run_pairs(name, mechanism, budget, neighbour_pairs()[:3], **more)
