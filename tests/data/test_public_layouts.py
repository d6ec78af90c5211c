"""Layouts of releases and messages: nothing of them changes with a record."""

from __future__ import annotations

import datetime

import pytest

import pypgm
from pypgm import Schema
from pypgm.data import Categorical
from pypgm.data.columns.date_text import DateFormat

pytestmark = pytest.mark.filterwarnings("ignore::pypgm.errors.WeakGuaranteeWarning")


@pytest.mark.parametrize("last", ["M", "L"])
def test_an_order_of_some_values_is_not_kept(last):
    """A type may list the values of the records in the order in which they came."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("narwhals")
    values = [*["S", "M"] * 200, "S", last]
    sizes = pandas.Categorical(values, list(dict.fromkeys(values)), ordered=True)
    frame = pandas.DataFrame({"size": sizes, "n": [0, 1] * 201})
    schema = Schema({"size": ["L", "M", "S", "XL"], "n": 3})
    assert dict(pypgm.synthesize(frame, schema, epsilon=1, delta=1e-9).layout.orders) == {}
    whole = frame.assign(size=pandas.Categorical(values, ["XL", "L", "M", "S"], ordered=True))
    kept = pypgm.synthesize(whole, schema, epsilon=1, delta=1e-9).layout.orders
    assert dict(kept) == {"size": ("XL", "L", "M", "S")}


@pytest.mark.parametrize("end", [b"\r", b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [b"x,1", b"x,12", b"x,1\r", b"x,1\n"])
def test_line_ends_are_those_of_the_names(end, last, tmp_path):
    if last[-1:] in b"\r\n" and last[-1:] not in end:
        pytest.skip("a line end of another kind")
    (tmp_path / "t.csv").write_bytes(b"a,n" + end + (b"x,1" + end) * 300 + last)
    schema = Schema({"a": ["x", "y"], "n": 20})
    release = pypgm.synthesize(tmp_path / "t.csv", schema, epsilon=1, delta=1e-9)
    assert release.layout.crlf == (end == b"\r\n")


@pytest.mark.parametrize(
    "text", ['{"Alice Smith": {"hiv": "yes"}}', '{"age": 3}\n{"age": 4, "Alice Smith is HIV+": 1}\n']
)
def test_no_error_shows_a_name_of_json(text, tmp_path):
    (tmp_path / "p.jsonl").write_text(text)
    with pytest.raises(ValueError, match=r"JSON|ignore_extra") as refused:
        pypgm.synthesize(tmp_path / "p.jsonl", {"age": {"kind": "integer", "low": 0, "high": 99}}, epsilon=1)
    assert "Alice" not in str(refused.value)


def test_categories_of_bins_and_other_values_have_an_order():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("narwhals")
    frame = pandas.DataFrame({"v": pandas.Categorical([i % 9 for i in range(400)]), "n": [0, 1] * 200})
    bins = {"kind": "integer", "low": 0, "high": 5, "edges": [1, 3, 5], "outside": "other"}
    made = pypgm.synthesize(frame, {"columns": {"v": bins, "n": 2}}, epsilon=1, delta=1e-9).to_frame(rng=1)
    assert {str(value) for value in made.v} <= {*map(str, range(6)), "other"}


@pytest.mark.parametrize("values", [[1e22, 3], [1e16, 3], [123456789012, 1]])
def test_decimals_of_listed_numbers_are_of_numbers_that_a_double_tells_apart(values):
    with pytest.raises(ValueError, match="at most 15 digits"):
        Categorical(values, decimals=9)


@pytest.mark.parametrize("form", ["%e", "%k", "%l"])
def test_a_space_stands_in_front_of_one_digit_only(form):
    times = [datetime.datetime(2020, 11, day, hour) for day in (5, 15) for hour in (9, 11)]
    assert {len(DateFormat(f"{form}|").written(time)) for time in times} == {3}
