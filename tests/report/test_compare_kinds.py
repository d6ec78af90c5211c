"""Two tables side by side: numbers and dates are read as a schema says they are written, and what is not is said."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pypgm
from pypgm import cli
from pypgm.data.sources.dialect import Dialect
from pypgm.data.sources.layout import Layout
from pypgm.reporting.compared import compare_texts
from pypgm.reporting.distance import bins_of

_MARKS = {"decimal": ",", "thousands": "."}
_SCHEMA = {
    "x": {"kind": "real", "low": 0, "high": 9000, "decimals": 2, "bins": 20, **_MARKS},
    "more": {"kind": "difference", "from": "x", "low": 0, "high": 100, "decimals": 2, "bins": 5},
    "both": {"kind": "derived", "sum": ["x", "more"]},
    "day": {"kind": "date", "low": "2020-01-01", "high": "2020-12-31", "resolution": "month", "format": "%d.%m.%Y"},
    "left": {"kind": "difference", "from": "day", "unit": "day", "low": 0, "high": 30},
    "code": ["1,5", "2,5"],
}
_KINDS = {"x": "number", "more": "number", "both": "number", "day": "date", "left": "date", "code": "text"}


@pytest.fixture
def written(tmp_path):
    """Return the folder of a release and of its own records, written as the schema says."""
    rng = np.random.default_rng(0)
    n, schema = 3000, pypgm.Schema.from_dict(_SCHEMA)
    codes = {name: rng.integers(0, column.size, n) for name, column in schema.columns.items()}
    layout = Layout(dialect=Dialect(";"))
    pypgm.data.write_table(schema.records(codes), tmp_path / "real.csv", schema, 0, layout=layout)
    release = pypgm.synthesize(tmp_path / "real.csv", schema, epsilon=100, delta=1e-9, delimiter=";")
    release.save(tmp_path / "made.pgm")
    release.write(tmp_path / "made.csv", rng=0)
    (tmp_path / "schema.json").write_text(json.dumps(_SCHEMA))
    return tmp_path


def _facts(capsys, *arguments):
    capsys.readouterr()
    assert cli.main(["compare", *map(str, arguments), "--delimiter", ";", "--unsafe", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("flags", [[], ["--decimal", ",", "--thousands", "."]])
def test_both_sides_are_read_by_the_marks_of_the_schema(written, capsys, flags):
    assert "." in (written / "real.csv").read_text().partition("\n")[2].partition(";")[0]  # thousands
    for made, own in (("made.pgm", []), ("made.csv", ["--schema", written / "schema.json"])):
        told = _facts(capsys, written / made, written / "real.csv", *own, *flags)
        assert {c["name"]: c["kind"] for c in told["columns"]} == _KINDS
        assert all(c["points"] < 3 * c["chance"] + 1 for c in told["columns"]), told["columns"]
        assert not any(c["note"] for c in told["columns"])


def test_what_is_no_text_has_no_marks(written):
    pandas = pytest.importorskip("pandas")
    release = pypgm.load(written / "made.pgm")
    texts = pandas.read_csv(written / "real.csv", dtype=str, sep=";")
    numbers = texts.assign(x=[float(text.replace(".", "").replace(",", ".")) for text in texts["x"]])
    numbers = numbers.assign(day=pandas.to_datetime(texts["day"], format="%d.%m.%Y"))
    found = [pypgm.compare(release, frame) for frame in (texts, numbers)]
    assert found[0].columns == found[1].columns
    assert [c.kind for c in found[0].columns] == [*_KINDS.values()]


def test_a_column_that_falls_back_to_texts_says_so():
    numbers = list(map(str, range(100)))
    known = pypgm.Schema({"a": pypgm.data.Integer(0, 99)})
    told = {
        "strays": compare_texts({"a": [*numbers, "x", "y"]}, {"a": numbers}),
        "dates": compare_texts({"a": ["2020-01-01", "2020-01-02", "soon"]}, {"a": ["2020-01-01"]}),
        "marks": compare_texts({"a": ["1.234,56", "234,56", "7"]}, {"a": numbers}),
        "texts": compare_texts({"a": ["x", "y", "z", "1"]}, {"a": numbers}),
        "declared": compare_texts({"a": [*numbers, "x", "y"]}, {"a": numbers}, known),
        "missing": compare_texts({"a": [*numbers, "-", "NA"]}, {"a": numbers}),
    }
    assert {name: (found.columns[0].kind, found.columns[0].note) for name, found in told.items()} == {
        "strays": ("text", "'x' and 1 more are no numbers: its values are compared as texts"),
        "dates": ("text", "'soon' is no date: its values are compared as texts"),
        "marks": (
            "text",
            "its values are compared as texts: they may be numbers with decimal ',' and thousands '.', "
            "which a schema or an option says",
        ),
        "texts": ("text", ""),
        "declared": ("number", "'x' and 1 more are no numbers"),
        "missing": ("number", ""),
    }
    assert told["declared"].columns[0].points == pytest.approx(100 * 2 / 102)


def test_the_command_and_the_page_say_it(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("a\n" + "\n".join(map(str, range(9))) + "\n")
    (tmp_path / "b.csv").write_text("a\n" + "\n".join([*map(str, range(9)), "x<y"]) + "\n")
    page = tmp_path / "page.html"
    assert cli.main(["compare", *map(str, (tmp_path / "a.csv", tmp_path / "b.csv")), "--unsafe"]) == 0
    assert "in a         'x<y' is no number: its values are compared as texts" in capsys.readouterr().out
    pytest.importorskip("jinja2")
    pypgm.compare(tmp_path / "a.csv", tmp_path / "b.csv").report_html(page)
    assert "x&lt;y" in page.read_text()


@pytest.mark.parametrize("seed", range(40))
def test_a_bin_is_one_frequent_value_or_a_small_part_of_the_rest(seed):
    rng = np.random.default_rng(seed)
    values = np.sort(rng.choice(10**6, int(rng.integers(21, 80)), replace=False))
    counts = rng.integers(0, rng.choice([1, 2, 3, 1000]), values.size)  # of few records, and of none
    heaps = rng.choice(values.size, int(rng.integers(4)), replace=False)
    counts[heaps] += rng.choice([0, 500, 10**6])
    starts = bins_of(values, counts)
    assert starts[0] == values[0]
    assert (np.diff(starts) > 0).all()
    assert np.isin(starts, values).all()
    bins = np.searchsorted(starts, values, side="right")
    frequent = (counts > 0) & (20 * counts >= counts.sum())
    assert all((bins == code).sum() == 1 for code in bins[frequent])
    rest = counts[~frequent]
    for code in np.unique(bins[~frequent]):
        assert counts[bins == code].sum() <= rest.sum() / 20 + rest.max()


def test_numbers_of_two_heaps_and_few_others_are_compared():
    there = [*["1000.5", "2000.5"] * 300, *map(str, range(18, 37))]
    table = {"x": there}
    (column,) = compare_texts(table, {"x": there[::-1]}).columns
    assert column.kind == "number"
    assert column.points == 0


@settings(max_examples=50)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
def test_means_and_quantiles_of_any_numbers_are_those_of_exact_sums(numbers):
    texts = [repr(number) for number in numbers]
    (column,) = compare_texts({"x": texts}, {"x": texts}).columns
    mean = float(sum(map(Fraction, numbers)) / len(numbers))
    most = max(map(abs, numbers))
    assert column.mean == pytest.approx((mean, mean), rel=1e-9, abs=1e-12 * most)
    assert column.quantiles[0][1] == pytest.approx(float(sum(map(Fraction, middle(numbers))) / 2), abs=1e-12 * most)


def middle(numbers):
    """Return the two numbers between which half of all lie, which may be one."""
    ordered, n = sorted(numbers), len(numbers)
    return ordered[(n - 1) // 2], ordered[n // 2]
