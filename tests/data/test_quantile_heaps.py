"""Bins by quantiles: heaps at the bounds and declared ones, tails, and what `from_types` makes of types."""

from __future__ import annotations

import numpy as np
import pytest

import pypgm
from pypgm import Budget, Ledger, Schema
from pypgm.data import Integer, QuantileBins, Real
from pypgm.data.schema.schema import as_any_schema
from pypgm.privacy import settle

COLUMNS = {
    "cents": Real(0, 1000, bins=1, decimals=2),
    "doubles": Real(0, 1000, bins=1),
    "whole": Integer(0, 1000, width=1001),
    "around": Real(-500, 500, bins=1, decimals=1),
}


def settled(column, values, quantiles=20, heaps=()):
    ledger = Ledger(Budget(epsilon=20))
    schema = pypgm.OpenSchema({"a": QuantileBins(column, quantiles, "1/2", heaps)})
    return settle(schema, {"a": values}, None, ledger).columns["a"], ledger


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("end", ["low", "high"])
def test_a_heap_at_a_bound_is_a_bin_of_its_own(name, end):
    column = COLUMNS[name]
    draw = np.random.default_rng(3)
    spread = draw.uniform(column.low + 1, column.high - 1, 4000).round()
    values = np.where(draw.random(4000) < 0.35, getattr(column, end), spread)
    own, _ = settled(column, values)
    code = own.encode([getattr(column, end)])[0]
    assert set(own.decode(np.repeat(code, 200), 0).tolist()) == {getattr(column, end)}
    decoded = own.decode(own.encode(values)[0], 1)
    assert (decoded == getattr(column, end)).sum() == (values == getattr(column, end)).sum()
    assert own.encode(decoded)[0].tolist() == own.encode(values)[0].tolist()
    assert len(set(own.labels)) == own.size
    assert Schema.from_dict({"a": own.to_dict()}).columns["a"] == own


@pytest.mark.parametrize("name", COLUMNS)
def test_declared_heaps_cost_nothing_and_are_no_quantiles(name):
    column = COLUMNS[name]
    draw = np.random.default_rng(3)
    values = np.where(draw.random(4000) < 0.9, 7.0, draw.uniform(100, 400, 4000).round())
    own, ledger = settled(column, values, 5, heaps=[0, 7])
    others, without = settled(column, values, 5)
    assert ledger.spent() == without.spent()
    for heap in (0, 7):
        code = own.encode([heap])[0]
        assert set(own.decode(np.repeat(code, 100), 0).tolist()) == {heap}
        assert own.encode([heap + 1])[0] != code
    assert sum(100 < edge < 400 for edge in own.edges) == 4
    assert sum(100 < edge < 400 for edge in others.edges) < 2
    entry = QuantileBins(column, 5, "1/2", heaps=[0, 7]).to_dict() | {"within": "uniform"}
    assert as_any_schema({"a": {k: v for k, v in entry.items() if k != "within"} | {"within": "uniform"}}).open[
        "a"
    ] == (QuantileBins(column, 5, "1/2", [0, 7]))


@pytest.mark.parametrize(
    ("heaps", "problem"),
    [([-1], "from 0 to 9"), ([0.5], "of 0 decimals"), ([True], "from 0 to 9"), (["0"], "from 0 to 9")],
)
def test_heaps_are_numbers_of_the_column(heaps, problem):
    with pytest.raises(ValueError, match=f"heaps needs numbers {problem}"):
        QuantileBins(Integer(0, 9), 4, 0.1, heaps)
    with pytest.raises(TypeError, match="heaps needs a list"):
        QuantileBins(Integer(0, 9), 4, 0.1, 0)


SHAPES = {  # values and far public bounds
    "lognormal": (lambda draw, n: draw.lognormal(7.5, 1.5, n), 0, 1e6),
    "narrow lognormal": (lambda draw, n: draw.lognormal(7.5, 0.5, n), 0, 1e6),
    "uniform": (lambda draw, n: draw.uniform(0, 1000, n), 0, 1000),
    "uniform inside": (lambda draw, n: draw.uniform(200, 700, n), 0, 10_000),
    "normal": (lambda draw, n: draw.normal(50, 15, n), -1000, 1000),
    "negative": (lambda draw, n: -draw.lognormal(3, 1, n), -100_000, 0),
    "exponential": (lambda draw, n: draw.exponential(100, n), 0, 100_000),
    "gamma": (lambda draw, n: draw.gamma(0.5, 100, n), 0, 100_000),
    "years": (lambda draw, n: draw.normal(1990, 10, n), 1900, 2100),
}


@pytest.mark.parametrize("decimals", [None, 2])
@pytest.mark.parametrize("name", SHAPES)
def test_tails_have_the_mean_of_many_shapes(name, decimals):
    """One public rule for all: within bins of exact quantiles, a mean is not 15 % off, in units of the deviation."""
    shape, low, high = SHAPES[name]
    values = shape(np.random.default_rng(1), 100_000).clip(low, high)
    values = values if decimals is None else values.round(decimals)
    tails, even = (
        QuantileBins(Real(low, high, bins=1, decimals=decimals, within=within), 20, "0.1").closed(
            np.quantile(values, np.arange(1, 20) / 20).round(2)
        )
        for within in ("tails", "uniform")
    )
    codes = tails.encode(values)[0]
    drawn = tails.decode(codes, 1)
    assert tails.encode(drawn)[0].tolist() == codes.tolist()
    assert abs(drawn.mean() - values.mean()) < 0.06 * values.std()
    assert drawn.std() < 1.5 * values.std()
    if name not in {"uniform", "years"}:
        assert even.decode(codes, 1).std() > 1.5 * values.std()


def test_tails_skip_a_heap_at_the_end_and_scatter():
    column = Real(0, 1000, edges=[1e-9, 8, 10, 20, 1000], within="tails")
    values = column.decode(np.repeat([0, 4, 5], 5000), 1).reshape(3, -1)
    assert values[1].max() < 1000 == values[2].min()
    assert np.median(values[1]) < 60
    own = [column.scattered(np.random.default_rng(i)).decode(np.repeat(4, 5000), 1).mean() for i in range(5)]
    assert len({round(mean, 6) for mean in own}) == 5


def test_types_give_quantiles_and_statements_about_columns():
    frame = {
        "amount": np.array([1.5, 20.0]),
        "whole": np.array([1, 2]),
        "age": np.array([1, 2]),
        "size": ["S", "L"],
        "note": ["x", "y"],
        "number": np.array([7, 8]),
        "who": np.array([7, 8]),
    }
    bounds = {"amount": (0.0, 1e6), "whole": (1, 5000), "age": (0, 99), "size": ["S", "M", "L"]}
    person = {"column": "who", "at_most": 2}
    schema = Schema.from_types(frame, bounds, drop=["note"], ids=["number"], ordinal=["size"], person=person)
    assert {n: (c.quantiles, c.heaps, c.share) for n, c in schema.open.items()} == {
        "amount": (20, (0,), 0.1),
        "whole": (20, (), 0.1),
    }
    assert (schema.drop, list(schema.made), schema.records_per_person) == (("note",), ["number"], 2)
    assert schema.declared["size"].ordinal
    assert {c.column.outside for c in schema.open.values()} | {schema.declared["age"].outside} == {"clip"}
    strict = Schema.from_types(frame, bounds, outside="refuse", drop=["note", "number", "who"])
    assert strict.declared["age"].outside == "refuse"


@pytest.mark.parametrize(
    ("stated", "problem"),
    [
        ({"drop": ["notes"]}, "drop names 'notes', and the table has no such column.*'note'"),
        ({"ids": ["no"]}, "ids names 'no', and"),
        ({"ordinal": "sizes"}, "ordinal names 'sizes', and"),
        ({"person": {"column": "him", "at_most": 1}}, "person names 'him', and"),
        ({"drop": ["age"]}, "column 'age' is in drop and in bounds"),
        ({"drop": ["note"], "ids": ["note"]}, "column 'note' is in drop and in ids"),
        ({"ids": ["note"], "ordinal": ["note"]}, "column 'note' is in ids and in ordinal"),
        ({"ordinal": ["flag"]}, "'flag' is in ordinal, and is a boolean"),
        ({"outside": "other"}, "outside must be clip or refuse"),
    ],
)
def test_statements_that_do_not_fit(stated, problem):
    frame = {"age": np.array([1, 2]), "size": ["S", "L"], "note": ["x", "y"], "flag": np.array([True, False])}
    with pytest.raises(ValueError, match=problem):
        Schema.from_types(frame, {"age": (0, 99), "size": ["S", "L"]}, **stated)


@pytest.mark.parametrize("heap", [0.0, -2.5, 3.0, 1e-9])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_heap_is_labelled_by_its_number(heap, is_first):
    low = heap if is_first else heap - 1
    behind = float(np.nextafter(heap, np.inf))
    labels = Real(low, heap + 8, edges=[*([] if is_first else [heap]), behind, heap + 4]).labels
    text, low_text, middle, high = (f"{x:g}" for x in (heap, low, heap + 4, heap + 8))
    before = [] if is_first else [f"[{low_text}, {text})"]
    assert list(labels) == [*before, text, f"({text}, {middle})", f"[{middle}, {high}]"]


@pytest.mark.parametrize("decimals", [None, 2])
def test_a_release_with_earlier_labels_of_heaps_loads(tmp_path, monkeypatch, decimals):
    pytest.importorskip("pandas")
    table = {"a": [0.0, 2.5, 7.25, 10.0] * 50, "b": ["x", "y"] * 100}
    behind = 0.01 if decimals else 5e-324
    schema = Schema({"a": Real(0, 10, edges=[behind, 5, 10], decimals=decimals, null=[""]), "b": ["x", "y"]})
    with monkeypatch.context() as earlier:
        earlier.setattr(Real, "value_labels", Real.earlier_labels)
        old = pypgm.synthesize(table, Schema.from_dict(schema.to_dict()), epsilon=9, delta=1e-9)
        old.save(tmp_path / "old.pgm")
    assert old.model.domain != schema.domain
    release = pypgm.load(tmp_path / "old.pgm")
    assert release.model.domain == old.model.domain
    assert set(release.to_frame()["a"]) >= {0.0, 10.0}
    assert release.query("b", {"a": 0.0}).values.shape == (2,)
    assert "points off" in release.report()
    with pytest.raises(ValueError, match="the schema is over"):
        Schema({"a": Real(0, 10, edges=[behind, 6, 10]), "b": ["x", "y"]}).check_domain(old.model.domain)


def test_a_bin_of_a_third_of_the_records_is_named_with_what_is_lost():
    """In the text of a release and, by the same words, on its page; a heap in a bin of its own is none."""
    values = np.where(np.arange(3000) % 10 < 9, 5.0, 90.0)
    for edges, is_named in ([25, 50], True), ([5, 5.0001, 50], False):
        schema = Schema({"a": Real(0, 100, edges=edges, decimals=4 if not is_named else None), "b": ["x", "y"]})
        release = pypgm.synthesize({"a": values, "b": ["x", "y"] * 1500}, schema, epsilon=9, delta=1e-9, unsafe_seed=0)
        told = " ".join(release.report().split())
        assert ("90 % of records in [0, 25)" in told) == is_named


@pytest.mark.slow
def test_amounts_with_a_heap_and_a_tail_are_kept_and_their_intervals_hold():
    """Of 10,000 amounts, 35 % zero and else lognormal with far bounds, by types alone at epsilon 1."""
    pandas = pytest.importorskip("pandas")
    statistics = {
        "mean": lambda table: float(table["amount"].astype(float).mean()),
        "median": lambda table: float(table["amount"].astype(float).median()),
        "zeros": lambda table: float((table["amount"].astype(float) == 0).mean()),
    }
    errors, held = {name: [] for name in statistics}, {name: [] for name in statistics}
    for seed in range(40):
        draw = np.random.default_rng(seed)
        amounts = np.where(draw.random(10_000) < 0.35, 0, draw.lognormal(7.5, 1.5, 10_000))
        frame = pandas.DataFrame({"amount": amounts.round(2).clip(0, 1e6)})
        schema = Schema.from_types(frame, bounds={"amount": (0.0, 1e6)})
        release = pypgm.synthesize(frame, schema, epsilon=1, delta=1e-9, unsafe_seed=seed)
        synthetic = release.to_frame(10_000, rng=seed)
        for name, statistic in statistics.items():
            real, interval = statistic(frame), release.interval(statistic)
            errors[name].append(statistic(synthetic) / real - 1)
            held[name].append(interval.low <= real <= interval.high)
    for name in statistics:
        assert abs(np.mean(errors[name])) < 0.15, name
        assert np.mean(np.abs(errors[name]) < 0.15) >= (0.8 if name == "mean" else 1), name
        assert np.mean(held[name]) >= 0.85, name


@pytest.mark.parametrize(
    "column",
    [
        Integer(-(10**15), 10**15, width=2 * 10**15 + 1, outside="clip"),
        Integer(3, 10**9, width=10**9, outside="clip"),
        Real(-1e15, 1e15, bins=1, outside="clip"),
        Real(-1, 3, bins=1, decimals=2, outside="clip"),
    ],
)
def test_any_two_of_its_powers_bound_a_column(column):
    """The bounds are found after they are paid for: none may be refused."""
    bins = QuantileBins(column, 16, "1/10", find_bounds=True)
    powers = bins.powers.tolist()
    for step in (1, 7, len(powers) - 1):
        for low, high in zip(powers, powers[step:], strict=False):
            found = bins.bounded(low, high)
            assert found.column.low <= max(low, column.low) + 1e-12  # of columns without decimals
            assert found.column.high >= min(high, column.high) - 1e-12
            assert found.assumed(1).low == found.column.low
