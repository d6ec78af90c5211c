"""The page on tables by kind of source: its blocks and commands run, in order, except those of servers."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import pypgm
from pypgm import cli

PAGE = Path(__file__).parents[2] / "docs" / "your_table.md"


@pytest.mark.filterwarnings("ignore::pypgm.errors.DraftWarning")
def test_the_page_runs(tmp_path, monkeypatch, capsys):
    for package in ("pandas", "narwhals", "duckdb", "pyarrow"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    names = {}
    for kind, block in re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL):
        if kind == "python" and "doctest: skip" not in block:
            exec(compile(block, str(PAGE), "exec"), names)
        for line in block.splitlines() if kind == "sh" else ():
            _, *arguments = shlex.split(line)
            assert cli.main(arguments) == 0, capsys.readouterr().err
    assert names["both"].n_records == 6000
    assert names["release"].model.total > 1000
    assert pypgm.read_schema("schema.json").provisional.columns["wage"].marks == (",", ".")
    assert Path("synthetic.csv").read_bytes().startswith("\ufeffborn;wage;city\n".encode())
    assert re.fullmatch(
        r"\d\d\.\d\d\.\d{4};\d\.\d{3},\d\d;\w+", Path("again.csv").read_text(encoding="utf-8-sig").split("\n")[1]
    )
