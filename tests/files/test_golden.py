"""Files of every version of the format are read, and say what the version that wrote them read from them."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pypgm
from pypgm.files.file import write_file

HERE = Path(__file__).parents[1] / "golden"
FOLDERS = {folder.name: json.loads((folder / "answers.json").read_text()) for folder in sorted(HERE.glob("[0-9]*"))}
FILES = [(version, name) for version, told in FOLDERS.items() for name in told]


def of_script():
    spec = importlib.util.spec_from_file_location("make_golden", HERE / "make.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


SCRIPT = of_script()


def same(value, stored):
    """Return whether a value is what is stored, numbers but for their last digits."""
    if isinstance(stored, dict):
        return (
            isinstance(value, dict) and value.keys() == stored.keys() and all(same(value[k], stored[k]) for k in value)
        )
    if isinstance(stored, list):
        return len(value) == len(stored) and all(map(same, value, stored))
    if isinstance(stored, float):
        return value == pytest.approx(stored, rel=1e-6, abs=1e-9)
    return value == stored


@pytest.mark.filterwarnings("ignore::pypgm.errors.OlderFileWarning")
@pytest.mark.parametrize(("version", "name"), FILES)
def test_a_file_says_what_it_said(version, name, tmp_path):
    found = pypgm.load(HERE / version / f"{name}.pgm")
    stored = FOLDERS[version][name]
    told = json.loads(json.dumps(SCRIPT.answers(found)))
    # Errors to expect are means over tables that are drawn: of three when they were stored, one in 400 is 8 times off.
    if "expected_error" in stored:
        model = getattr(found, "model", found)
        errors = model.expected_error(model.domain.attributes[0], draws=30).values
        np.testing.assert_array_equal(np.isinf(errors), np.isinf(stored["expected_error"]))
        known = np.isfinite(errors)
        ratios = errors[known] / np.array(stored["expected_error"])[known]
        assert ((ratios > 1 / 8) & (ratios < 8)).all()
    assert {k for k in stored if k != "expected_error" and not same(told[k], stored[k])} == set()
    found.save(tmp_path / "again.pgm")
    again = json.loads(json.dumps(SCRIPT.answers(pypgm.load(tmp_path / "again.pgm"))))
    assert again == told


@pytest.mark.filterwarnings("ignore::pypgm.errors.OlderFileWarning")
@pytest.mark.parametrize("version", FOLDERS)
def test_files_say_why_pairs_were_left_out_and_older_ones_by_their_mechanism(version):
    for name in FOLDERS[version]:
        found = pypgm.load(HERE / version / f"{name}.pgm")
        if isinstance(found, pypgm.Release):
            assert found.unmeasured == ("hidden by noise" if found.mechanism == "wide" else "not asked")


def test_a_file_that_does_not_say_why_has_the_wider_errors():
    fields = pypgm.load(HERE / "4" / "wide.pgm").archive()
    del fields["release"]["unmeasured"]
    found = pypgm.release._of_archive(fields, "file")
    assert found.unmeasured == "not asked"


def test_each_folder_has_each_kind():
    newest = FOLDERS[max(FOLDERS, key=int)]
    assert newest.keys() == SCRIPT.made().keys()
    for version, told in FOLDERS.items():
        assert told.keys() == newest.keys()
        assert {path.stem for path in (HERE / version).glob("*.pgm")} == told.keys()


def test_equal_measurements_of_a_release_stay_several(tmp_path):
    domain = pypgm.Domain({"a": 2})
    table = pypgm.PrivateTable(pypgm.Dataset({"a": [0, 1]}, domain), pypgm.Privacy(), pypgm.Ledger(pypgm.Budget(rho=9)))
    counts = table.measure("a", rho=1)
    twice = (counts, counts, table.measure("a", rho=1))
    pypgm.Release(pypgm.estimate(domain, twice, iterations=3), twice, table.ledger, "own").save(tmp_path / "own.pgm")
    again = pypgm.load(tmp_path / "own.pgm")
    assert [m.values.tolist() for m in again.measurements] == [m.values.tolist() for m in twice]
    assert len(again.model.recipe.measurements) == 3


@pytest.mark.filterwarnings("ignore::pypgm.errors.OlderFileWarning")
@pytest.mark.parametrize("version", FOLDERS)
def test_a_release_is_read_as_one_of_its_class_whatever_its_mechanism_is_called(version, tmp_path):
    kinds = {"network": "NetworkRelease", "field": "FieldRelease"}
    for name in FOLDERS[version]:
        found = pypgm.load(HERE / version / f"{name}.pgm")
        if isinstance(found, pypgm.Release):
            assert type(found).__name__ == kinds.get(name, "Release")
            replace(found, mechanism="our own").save(path := tmp_path / f"{name}.pgm")
            assert type(pypgm.load(path)) is type(found)


def test_a_release_of_a_kind_that_nobody_knows_is_refused(tmp_path):
    fields = pypgm.load(HERE / "4" / "mst.pgm").archive()
    assert "kind" not in fields["release"]
    fields["release"]["kind"] = "graph"
    write_file(tmp_path / "graph.pgm", fields)
    with pytest.raises(ValueError, match="kind"):
        pypgm.load(tmp_path / "graph.pgm")
