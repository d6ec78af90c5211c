"""Tables that a class of one's own counts: releases of the records' own, nothing before the charge, no false counts."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from page_blocks import blocks_of, run

import pypgm
from pypgm.data import Integer, OpenSchema, OpenSet, Person, QuantileBins, checked_counts, scan
from pypgm.data.sources import counted
from pypgm.privacy.observer import Observer, observed_by

PAGE = Path(__file__).parents[2] / "docs" / "your_table.md"
KNOWN = pypgm.Domain({"a": 3, "sex": ["F", "M"], "c": 7})
OPEN = OpenSchema(
    {"a": 3, "job": OpenSet("0.1"), "sex": ["F", "M"], "wage": QuantileBins(Integer(0, 99), 5, "0.1"), "c": 7}
)
FORMS = {
    "flat": lambda tables: tables,
    "lists": lambda tables: [table.tolist() for table in tables],
    "unsigned": lambda tables: [table.astype(np.uint64) for table in tables],
    "one by one": lambda tables: (table.astype(np.int16) for table in tables),
}


class Own:
    """Raw records, counted by the schema that comes with the call."""

    def __init__(self, raw, domain=KNOWN, form=FORMS["flat"]):
        self.raw, self.domain, self.form, self.calls = raw, domain, form, []

    def count(self, cliques, schema):
        self.calls.append("count")
        tables = schema.encode({name: self.raw[name] for name in schema.columns}).count(cliques)
        return self.form(tables)

    def distinct(self, column):
        self.calls.append("distinct")
        return Counter(self.raw[column]).items()


def records(seed, n=2000):
    rng = np.random.default_rng(seed)
    jobs = ["cook", "smith", "spy", "clerk"]
    raw = {
        "a": rng.integers(0, 3, n),
        "job": [jobs[i] for i in rng.choice(4, n, p=[0.5, 0.3, 0.199, 0.001])],
        "sex": rng.choice(["F", "M"], n),
        "wage": np.minimum(rng.exponential(20, n), 99).astype(int),
        "c": rng.integers(0, 7, n),
    }
    return {name: list(values) for name, values in raw.items()}


def closed(raw):
    return pypgm.Schema.of(KNOWN).encode({name: raw[name] for name in KNOWN})


def same_releases(one, other):
    assert one.ledger.lines == other.ledger.lines
    for m, n in zip(one.measurements, other.measurements, strict=True):
        assert m.clique == n.clique
        np.testing.assert_array_equal(m.values, n.values)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(3))
def test_releases_are_those_of_the_records(form, seed):
    raw = records(seed)
    data = closed(raw)
    for name in ("wide", "mst", "hdmm"):
        mechanism = getattr(pypgm.mechanisms, name)
        more = {} if name == "mst" else {"workload": 2}  # beyond pairs `wide` searches records alone
        expected = mechanism(data, epsilon=1, delta=1e-9, unsafe_seed=seed, **more)
        found = mechanism(Own(raw, form=FORMS[form]), epsilon=1, delta=1e-9, unsafe_seed=seed, **more)
        same_releases(found, expected)
        schema = {"schema": pypgm.Schema.of(KNOWN)}
        same_releases(mechanism(Own(raw), epsilon=1, delta=1e-9, unsafe_seed=seed, **schema, **more), expected)
        for given in ([], [KNOWN]):
            own = Own(raw, form=FORMS[form])
            same_releases(
                pypgm.synthesize(own, *given, epsilon=1, delta=1e-9, mechanism=name, unsafe_seed=seed, **more), expected
            )


@pytest.mark.parametrize("n", [10**8, 10**9, 10**10])
def test_tables_far_beyond_memory_are_released(n):
    class Large(Own):
        def count(self, cliques, schema):
            return [table * (n // 2000) for table in super().count(cliques, schema)]

    raw = records(0)
    for name in ("wide", "mst", "screen"):
        release = getattr(pypgm.mechanisms, name)(Large(raw), epsilon=0.5, delta=1e-9, unsafe_seed=1)
        exact = closed(raw).project(("a", "c")).values / 2000
        assert np.abs(release.model.project(("a", "c")).values / n - exact).sum() < 0.2
        assert release.model.total == pytest.approx(n, rel=1e-4)


def test_learners_and_resumed_releases_take_counts():
    raw = records(0)
    data, how = closed(raw), {"epsilon": 1, "unsafe_seed": 2}
    one, other = (pypgm.bayes.learn_private(t, [("a", "sex"), ("a", "c")], **how) for t in (data, Own(raw)))
    assert one.ledger.lines == other.ledger.lines
    same_releases(other, one)
    one, other = (pypgm.mechanisms.mst(t, epsilon=1, delta=1e-9, unsafe_seed=2) for t in (data, Own(raw)))
    again = other.resume(Own(raw), pypgm.Budget(epsilon=2, delta=1e-9))
    more = pypgm.mechanisms.mst(again, measurements=other.measurements)
    assert len(more.measurements) > len(one.measurements)


def test_cells_may_have_the_shape_of_their_table():
    raw = records(0)
    cliques = [("c", "a"), ("sex",), (), ("a", "sex", "c")]
    shapes = [KNOWN.sizes(clique) for clique in cliques]
    form = {"form": lambda tables: [t.reshape(shape) for t, shape in zip(tables, shapes, strict=True)]}
    for found, expected in zip(checked_counts(Own(raw, **form), cliques), closed(raw).count(cliques), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("seed", range(3))
def test_open_columns_are_those_of_the_frame(seed):
    raw = records(seed)
    how = {"epsilon": 2, "delta": 1e-6, "unsafe_seed": seed, "workload": 2}
    one, found = (pypgm.synthesize(table, OPEN, **how) for table in (raw, Own(raw)))
    assert found.schema == one.schema
    assert found.schema.columns["job"].labels == ("cook", "smith", "spy", "other")
    same_releases(found, one)
    same_releases(pypgm.mechanisms.wide(Own(raw), schema=OPEN, **how), one)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("schema", [None, OPEN])
@pytest.mark.parametrize("mechanism", ["wide", "mst", "aim"])
def test_nothing_is_counted_before_it_is_charged(neighbours, schema, mechanism):
    lines, early = [], []  # what is raised after a charge has a text of its own

    class Charges(Observer):
        def charged(self, ledger, line):
            lines.append(line)

    class Watched(Own):
        def count(self, cliques, schema):
            early.extend([] if lines and "quantile" not in lines[-1].on else cliques)
            return super().count(cliques, schema)

        def distinct(self, column):
            paid = {"job": "keys", "wage": "quantile 4/5"}[column]
            early.extend([] if lines[-1].on.startswith(paid) else [column])
            return super().distinct(column)

    own = Watched(records(0))
    with observed_by(Charges()):
        pypgm.synthesize(own, schema, epsilon=1, delta=1e-9, mechanism=mechanism, neighbours=neighbours)
    assert early == ([()] if neighbours == "replace" else [])
    assert set(own.calls) == ({"count", "distinct"} if schema else {"count"})


BROKEN = {
    "another shape": (
        lambda t: [x[:-1] for x in t],
        r"\('a',\) need 3 whole numbers, 0 or more, got an array of",
    ),
    "too many cells": (lambda t: [np.append(x, 0) for x in t], "got an array of shape"),
    "another order of axes": (
        lambda t: [np.zeros((7, 3), int) if x.size == 21 else x for x in t],
        "got an array of",
    ),
    "negative": (lambda t: [x - x.max() - 1 for x in t], "need 3 whole numbers, 0 or more, got negative ones"),
    "fractions": (lambda t: [x / 2 for x in t], "got numbers of type float64"),
    "whole floats": (lambda t: [x * 1.0 for x in t], "got numbers of type float64"),
    "nothing known": (lambda t: [x * np.nan for x in t], "got numbers of type float64"),
    "truths": (lambda t: [x > 0 for x in t], "got numbers of type bool"),
    "objects": (lambda t: [[2**70] * x.size for x in t], "got numbers of type object"),
    "texts": (lambda t: [x.astype(str) for x in t], "got numbers of type <U"),
    "masked": (lambda t: [np.ma.masked_less(x, x.max()) for x in t], "got an array that may have masked ones"),
    "too large": (lambda t: [x + 2**61 for x in t], r"together at most 2\^53"),
    "too few tables": (lambda t: t[1:], "a table for each of 6 cliques, got 5"),
    "too many tables": (lambda t: [*t, t[0]], "a table for each of 6 cliques, got 7"),
    "no tables": (lambda t: None, "count needs tables, got NoneType"),
    "sums that differ": (lambda t: [x + i for i, x in enumerate(t)], "the table changed while it was counted"),
    "margins that differ": (lambda t: [np.roll(x, x.size > 7) for x in t], "the table changed while it was counted"),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_what_cannot_be_counts_is_refused(broken, caplog):
    form, told = BROKEN[broken]
    cliques = [("a",), ("sex",), ("c",), ("a", "sex"), ("a", "c"), ("sex", "c")]
    with pytest.raises((TypeError, ValueError), match=told):
        checked_counts(Own(records(0), form=form), cliques)
    ledger = pypgm.Ledger(pypgm.Budget(rho=1))
    with pypgm.PrivateTable(Own(records(0), form=form), None, ledger) as table:
        assert ledger.spent() == 0
        with pytest.raises(pypgm.ReleaseError, match="the reason is withheld") as caught:
            table.measure_many(cliques, rho=0.5)
        assert caught.value.__cause__ is caught.value.__context__ is None
    assert 0 < ledger.spent() <= 0.5
    assert [entry.getMessage() for entry in caplog.records if "changed" not in entry.getMessage()] == []


def test_errors_of_the_engine_are_withheld(caplog):
    def fails(tables):
        raise KeyError("the value of a record")

    with pytest.raises(KeyError, match="the value of a record"):  # to whoever holds the records
        checked_counts(Own(records(0), form=fails), ["a"])
    with pytest.raises(pypgm.ReleaseError) as released:
        pypgm.synthesize(Own(records(0), form=fails), epsilon=1, delta=1e-9)
    assert "value of a record" not in f"{released.value!r} {released.value.__context__!r} {caplog.text}"


@pytest.mark.parametrize(
    "pairs",
    [[("cook", -1)], [("cook", 1.0)], [("cook", True)], [("cook", 2**60)], [("cook",)], ["cook"], None, [("a", "b")]],
)
def test_distinct_values_have_counts(pairs):
    own = Own(records(0))
    own.distinct = lambda column: pairs
    with pytest.raises(pypgm.ReleaseError, match="the reason is withheld"):
        pypgm.synthesize(own, OPEN, epsilon=1, delta=1e-9)


def test_a_table_that_changed_is_refused(monkeypatch):
    own, ledger = Own(records(0)), pypgm.Ledger(pypgm.Budget(rho=1))
    with pypgm.PrivateTable(own, None, ledger) as table:
        table.measure("a", rho=0.1)
        own.raw = records(1)
        with pytest.raises(pypgm.ReleaseError):
            table.measure(("a", "sex"), rho=0.1)
        own.raw = records(0)
        table.measure(("a", "c"), rho=0.1)


@pytest.mark.parametrize("schema", [None, OPEN])
def test_a_release_holds_no_table(schema):
    own = Own(records(0))
    gone = weakref.ref(own)
    release = pypgm.synthesize(own, schema, epsilon=1, delta=1e-9)
    del own
    gc.collect()
    assert gone() is None
    assert len(release.measurements)


def test_known_counts_need_no_other_call(monkeypatch):
    own, ledger = Own(records(0)), pypgm.Ledger(pypgm.Budget(rho=1))
    with pypgm.PrivateTable(own, None, ledger) as table:
        for clique in (("a", "c", "sex"), "a", ("c", "sex"), ()):
            table.measure(clique, rho=0.1)
    assert own.calls == ["count"]
    monkeypatch.setattr(counted, "_KEPT_CELLS", 0)
    checked_counts(own, ["a"])


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"a": 3, "sex": ["F", "M"]}, "the schema is over .*, Own counts"),
        ({"sex": ["F", "M"], "a": 3, "c": 7}, "the schema is over"),
        ({"a": 3, "sex": ["F", "M"], "c": 8}, "the schema is over"),
        ({"a": 3, "sex": ["M", "F"], "c": 7}, "the schema and Own have different labels of 'sex'"),
        (OpenSchema({"a": 4, "sex": ["F", "M"], "c": OpenSet("0.1")}), "the schema is over"),
        (pypgm.Schema(pypgm.Schema.of(KNOWN).columns, person=Person("id", 2)), "keep 2 of each in the engine"),
    ],
)
def test_a_schema_of_another_table_is_refused_before_anything_is_counted(schema, told):
    own = Own(records(0))
    for call in (pypgm.synthesize, pypgm.mechanisms.mst):
        with pytest.raises(ValueError, match=told):
            call(own, schema=schema, epsilon=1, delta=1e-9)
    assert own.calls == []


def test_a_table_needs_a_domain_and_gives_no_rows():
    with pytest.raises(TypeError, match=r"domain needs a pypgm.Domain, got dict"):
        pypgm.synthesize(Own(records(0), {"a": 3}), epsilon=1, delta=1e-9)
    with pytest.raises(TypeError, match="only records can be sampled"):
        pypgm.PrivateTable(Own(records(0)), None, pypgm.Ledger(pypgm.Budget(epsilon=1))).subsample(0.5, epsilon=1)
    with pytest.raises(TypeError, match="is an object of Known, got the class itself"):
        pypgm.synthesize(type("Known", (Own,), {"domain": KNOWN}), epsilon=1, delta=1e-9)
    pytest.importorskip("narwhals")
    with pytest.raises(TypeError, match="got Own"):
        scan(Own(records(0)), KNOWN)


def test_columns_of_these_names_make_no_counted_table():
    raw = {"domain": [0, 1] * 50, "count": [1, 0] * 50, "distinct": [1, 1] * 50}
    for package in ("pandas", "polars", "pyarrow"):
        library = pytest.importorskip(package)
        frame = library.table(raw) if package == "pyarrow" else library.DataFrame(raw)
        pypgm.synthesize(frame, dict.fromkeys(raw, 2), epsilon=1, delta=1e-9)
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        relation = connection.sql("select 0 as domain, 1 as count, 1 as distinct")
        pypgm.synthesize(relation, dict.fromkeys(raw, 2), epsilon=1, delta=1e-9)


def test_the_example_of_the_page_runs():
    pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    (block,) = [block for block in blocks_of(PAGE) if "DaskCounts" in block]
    assert len(block.splitlines()) <= 40
    frame = pandas.DataFrame(records(0))
    names = run(PAGE, [block], frame=frame, schema=OPEN)
    assert names["release"].schema.columns["job"].labels == ("cook", "smith", "spy", "other")
    table = names["DaskCounts"](names["from_pandas"](frame, npartitions=7), KNOWN)
    how = {"epsilon": 2, "delta": 1e-6, "unsafe_seed": 1, "workload": 2}
    one, other = (pypgm.synthesize(t, OPEN, **how) for t in (frame, table))
    same_releases(one, other)
