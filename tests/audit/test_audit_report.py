"""A run of checks ends with a report, whatever one of them ends in."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pytest

from pypgm.audit import run
from pypgm.audit.__main__ import main
from pypgm.audit.finding import Finding
from pypgm.audit.report import outcomes
from pypgm.data.sources.foreign import guarded, missing_package
from pypgm.reporting.audited import read_audit

GOOD = Finding("good", "x", "ok", "fine")


def good():
    return GOOD


def check_that_raises(subject, number):
    raise ZeroDivisionError(f"{number} of {subject}")


def check_without_a_package():
    import no_such_package.part  # noqa: F401


def check_that_exits():
    sys.exit(0)


def check_that_is_interrupted():
    raise KeyboardInterrupt


def guarded_import():
    guarded("asking", check_without_a_package)


def import_from_an_import():
    try:
        check_without_a_package()
    except ImportError:
        raise ImportError("the backend is missing", name="backend.part") from None


def name_that_is_not_there():
    from json import no_such_name  # noqa: F401


def module_that_is_not_there():
    import pypgm.no_such_module  # noqa: F401


def other_error_after_an_import():
    try:
        check_without_a_package()
    except ImportError:
        raise ValueError("what was done in its place is wrong")  # noqa: B904


BROKEN = [partial(check_that_raises, "wide", 3), check_without_a_package, check_that_exits]


def test_the_checks_after_one_that_ends_in_an_exception_are_made():
    handed = []
    findings = run([*BROKEN, good], handed.append)
    assert [(f.check, f.subject, f.result, f.detail) for f in findings] == [
        ("that raises", "wide", "failed", "check ended: ZeroDivisionError: 3 of wide"),
        ("without a package", "", "skipped", "no_such_package is not installed"),
        ("that exits", "", "failed", "check ended: SystemExit: 0"),
        ("good", "x", "ok", "fine"),
    ]
    assert [f.defects for f in findings] == [("check ended",), (), ("check ended",), ()]
    assert handed == findings


@pytest.mark.parametrize(
    ("check", "result"),
    [
        (guarded_import, "skipped"),
        (import_from_an_import, "skipped"),
        (name_that_is_not_there, "failed"),
        (module_that_is_not_there, "failed"),
        (other_error_after_an_import, "failed"),
    ],
)
def test_a_check_is_skipped_for_a_missing_package_alone(check, result):
    findings = outcomes(check)
    assert [f.result for f in findings] == [result]
    assert result == "failed" or findings[0].detail == "no_such_package is not installed"


def test_an_error_names_what_is_to_be_installed():
    with pytest.raises(ModuleNotFoundError, match=r"reading needs the package no_such_package$") as caught:
        guarded("reading", import_from_an_import)
    assert missing_package(caught.value) == "no_such_package"
    with pytest.raises(ImportError, match="reading needs more of json than is installed"):
        guarded("reading", name_that_is_not_there)
    assert missing_package(ValueError()) == ""


@pytest.mark.parametrize(
    ("checks", "status", "ended"),
    [
        ([*BROKEN, good], 1, ["failed", "skipped", "failed", "ok"]),
        ([check_without_a_package, good], 0, ["skipped", "ok"]),
        ([good, check_that_is_interrupted, good], 5, ["ok", "not exercised"]),
        ([*BROKEN, check_that_is_interrupted], 5, ["failed", "skipped", "failed", "not exercised"]),
    ],
)
def test_the_command_writes_its_report_and_says_in_its_status_that_not_all_is_well(
    capsys, tmp_path, checks, status, ended
):
    out = tmp_path / "audit.json"
    with patch("pypgm.audit.__main__.suite", lambda *_: checks):
        assert main(["--out", str(out)]) == status
    assert [f.result for f in read_audit(out).findings] == ended
    said = capsys.readouterr().out
    assert f"{len(ended)} checks, " in said
    assert said.endswith(f"wrote {out}\n")


def test_a_mechanism_whose_module_ends_in_an_error_is_refused(tmp_path, monkeypatch, capsys):
    (tmp_path / "broken_mechanism.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SystemExit) as caught:
        main(["broken_mechanism:release"])
    assert caught.value.code == 2
    assert "ZeroDivisionError" in capsys.readouterr().err


WITHOUT = """
import importlib.abc, sys

class Without(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "pyarrow_hotfix":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Without())
sys.path.append(sys.argv[2])  # tests
from pypgm.audit import __main__
from selfcheck.engines import ENGINES, check_engine
from functools import partial
from unittest.mock import patch
__main__.suite = lambda *_: [partial(check_engine, name) for name in ENGINES]
sys.exit(__main__.main(["--out", sys.argv[1]]))
"""


@pytest.mark.slow
def test_an_ibis_that_lacks_a_package_of_its_own_is_skipped_by_the_name_of_that(tmp_path):
    pytest.importorskip("ibis")
    pytest.importorskip("duckdb")
    out = tmp_path / "audit.json"
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, out, Path(__file__).parents[1]],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    findings = json.loads(out.read_text())["findings"]
    assert {(f["result"], f["detail"]) for f in findings} == {("skipped", "pyarrow_hotfix is not installed")}
