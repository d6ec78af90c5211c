"""The pages on installing and on R: their blocks run, their extras and versions are the package's, as in its recipe."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import pypgm
from pypgm import cli

ROOT = Path(__file__).parents[2]


def blocks(page, kind):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


@pytest.fixture
def people(tmp_path, monkeypatch):
    """Make a folder with a table of people and its schema, and go there."""
    monkeypatch.chdir(tmp_path)
    rng, n = np.random.default_rng(0), 400
    ages, sexes = rng.integers(18, 90, n).tolist(), rng.choice(["F", "M"], n).tolist()
    rows = [f"{age},{400 * age + 0.5},{sex}\n" for age, sex in zip(ages, sexes, strict=True)]
    Path("people.csv").write_text("".join(["age,income,sex\n", *rows]))
    columns = {
        "age": pypgm.data.Integer(0, 119, width=20),
        "income": pypgm.data.Real(0, 200000, bins=5, decimals=2),
        "sex": ["F", "M"],
    }
    pypgm.Schema(columns).save("schema.json")


def test_what_r_calls_runs_in_python(people, capsys):
    pytest.importorskip("pandas")
    pytest.importorskip("narwhals")
    (code,) = blocks("r.md", "python")
    names = {}
    exec(code, names)
    assert names["synthetic"].dtypes.equals(names["people"].dtypes)
    assert names["shown"].columns.tolist() == ["sex", "count", "low", "high", "error"]
    assert "guarantee" in capsys.readouterr().out
    r, _ = blocks("r.md", "r")
    assert len(r.splitlines()) == 10
    # Each call of R is one of the block of Python.
    for called in re.findall(r"\$(\w+)\(", r):
        assert f".{called}(" in code, called


def test_the_lines_for_a_shell_run(people, capsys):
    pytest.importorskip("jinja2")
    (lines,) = blocks("r.md", "sh")
    assert len(lines.splitlines()) == 10
    for line in lines.splitlines():
        _, *arguments = shlex.split(line.partition(" > ")[0])
        if arguments[:2] != ["schema", "check"]:  # asks on a terminal
            assert cli.main(arguments) == 0, capsys.readouterr().err
    assert Path("women.csv").read_text().count(",F\n") == 1000


def test_the_page_names_the_extras_of_the_package():
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    text = (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")
    named = {
        name for row in re.findall(r"^\| (`.*?`) \|", text, flags=re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    of_users = set(project["project"]["optional-dependencies"]) - {"test", "conformance", "docs", "lint", "bench"}
    assert named == of_users
    assert f"pypgm-{pypgm.__version__}-cp313" in text
    first, last = (
        int(version.split(".")[1]) for version in re.search(r"CPython from (3\.\d+) to (3\.\d+)", text).groups()
    )
    built = project["tool"]["cibuildwheel"]["build"].split()
    assert built == [f"cp3{minor}-*" for minor in range(first, last + 1)]
    assert project["project"]["requires-python"] == f">=3.{first}"


def test_the_recipe_of_conda_is_of_this_package():
    yaml = pytest.importorskip("yaml")
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    assert recipe["context"]["version"] == project["project"]["version"]
    run = {entry.replace(" ", "") for entry in recipe["requirements"]["run"]}
    assert run == {"python", *(entry.split(";")[0] for entry in project["project"]["dependencies"])}
    host = {entry.replace(" ", "") for entry in recipe["requirements"]["host"] if isinstance(entry, str)}
    assert host == {"python", "pip", *project["build-system"]["requires"]}
    assert all((ROOT / name).is_file() for name in recipe["about"]["license_file"])


def test_each_wheel_is_tested_by_the_command_of_the_readme():
    tomllib = pytest.importorskip("tomllib")
    wheels = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["cibuildwheel"]
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## Test\n")[1]
    command = re.search(r"bin/pytest (.*)", section)[1]
    assert wheels["test-command"] == f"pytest {{project}}/{command}"
    assert f".[{wheels['test-extras'][0]}]" in section
