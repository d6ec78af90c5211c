"""One record more changes what a door hands on by itself alone, at every door and in every container."""

from __future__ import annotations

import numpy as np
import pytest

for package in ("pandas", "polars", "pyarrow", "narwhals", "duckdb", "ibis"):
    pytest.importorskip(package)

from door_cases import SUBJECTS  # noqa: E402 - it imports what may be missing
from doors import FAMILIES  # noqa: E402
from selfcheck.fuzz import fuzz  # noqa: E402

import pypgm  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # of Ibis

N_PARTS, N_CASES = 4, 2500
RELEASED, N_RELEASED = ("release", "typed", "CSV released"), 800  # a release takes as long as ten counts
DOORS = {door for _, doors in FAMILIES.values() for door in doors}


def told(done):
    return [f"seed {seed}: {case}: {found.detail}" for seed, case, found in done.failed]


def test_some_records_change_what_is_handed_on_by_themselves():
    done = fuzz(range(200), subjects=SUBJECTS)
    assert told(done) == []
    assert done.ran.total() > 100


@pytest.mark.slow
@pytest.mark.parametrize("part", range(N_PARTS))
def test_thousands_of_records_change_what_is_handed_on_by_themselves(part):
    first = part * N_CASES
    counted = fuzz(range(first, first + N_CASES), only=SUBJECTS.keys() - {*RELEASED}, subjects=SUBJECTS)
    released = fuzz(range(first, first + N_RELEASED), only=RELEASED, subjects=SUBJECTS)
    assert told(counted) + told(released) == []
    assert {door for door in DOORS if not counted.ran[door] + released.ran[door]} == set()
    assert counted.ran.total() > N_CASES / 3


def of_one_type(data):
    """Return columns of rows as SmartNoise's door once did."""
    return {str(i): np.asarray(column) for i, column in enumerate(zip(*data, strict=True))}


def guessed(values):
    """Return a list as NumPy takes it."""
    return np.asarray(values) if isinstance(values, list) else values


def counted_alike(values, *_):
    """Return the codes that the first value's type has alone."""
    return [value if isinstance(value, type(values[0])) else None for value in values]


PLANTED = {
    "columns of rows": (pypgm.integrations.smartnoise, "_columns", of_one_type, "release"),
    "lists": (pypgm.data.sources.frames, "as_values", guessed, "encode"),
    "lists of labels": (pypgm.data.sources.frames, "as_values", guessed, "labels"),
    "lists of networks": (pypgm.bayes.frames, "column_values", guessed, "network"),
    "values of objects": (pypgm.data.columns.closed, "as_list", counted_alike, "from_frame"),
    "codes": (pypgm.data.dataset, "whole_array", np.asarray, "codes"),
    "codes of mbi": (pypgm.compat.mbi.dataset, "whole_array", np.asarray, "mbi"),
    "rows of parents": (pypgm.mechanisms.related, "whole_array", np.asarray, "codes"),
    "keys": (pypgm.mechanisms.related, "as_values", guessed, "keys"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_door_that_makes_one_type_of_values_is_found(name, monkeypatch):
    module, function, defect, family = PLANTED[name]
    monkeypatch.setattr(module, function, defect)
    begins = range(0, 600, 20)
    assert any(fuzz(range(first, first + 20), subjects={family: SUBJECTS[family]}).failed for first in begins)
