"""Weighted records: each counts as often as its weight says, at every door, and never more than the schema allows."""

from __future__ import annotations

import json
from decimal import Decimal
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selfcheck.weights import check_weights

import pypgm
from pypgm.data import Codes, Integer, OpenSet, QuantileBins, Rule, Weight, scan
from pypgm.mechanisms.tables import mechanism_names
from pypgm.privacy import settle
from pypgm.privacy.counts import WeightedCounts
from pypgm.reporting.facts import Facts

K = 7
DOMAIN = pypgm.Domain({"a": 3, "b": 2, "c": 4})
SCHEMA = pypgm.Schema({a: Codes(DOMAIN.size(a)) for a in DOMAIN}, weight={"column": "w", "at_most": K})
FIELDS = {"columns": {"a": 3, "b": ["F", "M"]}, "weight": {"column": "w", "at_most": K}}
EXACT = {"variance": "1/1000"}  # noise that rounds to nothing


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    raw = {a: rng.integers(0, DOMAIN.size(a), n) for a in DOMAIN}
    return raw | {"b": np.minimum(raw["a"], 1), "w": rng.integers(0, 2 * K, n)}


def repeated(raw):
    """The unweighted table in which each record stands as often as it counts."""
    times = np.minimum(raw["w"], K)
    return pypgm.Dataset({a: np.repeat(raw[a], times) for a in DOMAIN}, DOMAIN)


def test_one_record_more_changes_what_is_counted_by_no_more_than_is_charged():
    finding = check_weights(("wide", "mst", "aim", "hdmm", "adaptive_grid", "screen", "mwem", "privbayes"))
    assert (finding.result, finding.defects) == ("ok", ()), finding.detail


FEW = {"iterations": 3}
OF = {"aim": {"rounds": 2}, "mwem": {"rounds": 2}, "fem": {"rounds": 2}, "hdmm": {"workload": 2}}


@pytest.mark.parametrize("name", [name for name in mechanism_names() if name not in {"jam", "dualquery", "wide"}])
def test_a_mechanism_answers_as_if_each_record_stood_as_often_as_it_counts(name):
    """The proof of its privacy in one line: equal counts, and a relation of as many records, on the same noise."""
    how = {"epsilon": 3, "delta": 1e-9, "unsafe_seed": 5, **FEW, **OF.get(name, {})}
    weighted = pypgm.synthesize(table(), SCHEMA, mechanism=name, **how)
    plain = getattr(pypgm.mechanisms, name)(repeated(table()), privacy=pypgm.Privacy(records_per_person=K), **how)
    assert [m.clique for m in weighted.measurements] == [m.clique for m in plain.measurements]
    for one, other in zip(weighted.measurements, plain.measurements, strict=True):
        np.testing.assert_array_equal(one.values, other.values)
        assert one.stddev == other.stddev
    assert weighted.ledger.spent() == plain.ledger.spent()
    assert weighted.model.total == plain.model.total


def test_the_population_is_what_is_estimated():
    pytest.importorskip("pandas")
    release = pypgm.synthesize(table(2000), SCHEMA, epsilon=20, delta=1e-9)
    population = repeated(table(2000))
    assert release.model.total == pytest.approx(len(population), abs=100)
    np.testing.assert_allclose(
        release.project(("a", "b")).values, population.project(("a", "b")).values, atol=8 * K * 3
    )
    assert "w" not in release.schema.columns
    assert set(release.to_frame(5)) == set(DOMAIN)
    assert release.privacy == pypgm.Privacy("add-remove", K, weight="w")
    assert f"weighted by 'w', counted at most {K} times" in release.promise.protects
    assert "weighted population" in release.report()
    with pytest.raises(ValueError, match="design"):
        release.interval(lambda records: records["a"].mean(), target="population")
    # The owner of the table compares with the weighted counts.
    known = pypgm.evaluate(release.model, SCHEMA.encode(table(2000)), cliques=[("a", "b"), ("c",)])
    plain = pypgm.evaluate(release.model, population, cliques=[("a", "b"), ("c",)])
    np.testing.assert_array_equal(known.values, plain.values)


VALUES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3 * K)), max_size=12)
SPELLED = {
    "ints": list,
    "uint8": lambda w: np.array(w, np.uint8),
    "floats": lambda w: np.array(w, float),
    "float16": lambda w: np.array(w, np.float16),
    "texts": lambda w: [f"{x}.0" for x in w],
    "decimals": lambda w: [*map(Decimal, w)],
}


@settings(max_examples=25)
@given(VALUES, st.sampled_from(list(SPELLED)))
def test_weights_of_every_type_add_up_without_a_limit_but_their_own(rows, spelling):
    codes, weights = [a for a, _ in rows], [w for _, w in rows]
    schema = pypgm.Schema({"a": 3}, weight=Weight("w", K))
    data = schema.encode({"a": codes, "w": SPELLED[spelling](weights)})
    expected = [sum(min(w, K) for a, w in rows if a == code) for code in range(3)]
    assert data.project("a").values.tolist() == expected
    with pypgm.PrivateTable(data, None, pypgm.Ledger(pypgm.Budget(rho=10**9))) as private:
        answer = private.measure("a", **EXACT)
        assert answer.values.tolist() == expected
        assert private.measure_total(**EXACT).values.tolist() == [sum(expected)]
        charge = private.ledger.lines[0]
        with pytest.raises(ValueError, match="record"):
            private.subsample("1/2", epsilon=1)
    assert charge.cost == K * K * 1000 / 2  # rho of noise that covers one record of the largest weight
    by_hand = pypgm.Dataset({"a": codes}, schema.domain, weights, schema=schema)  # not cut where it is made
    with pypgm.PrivateTable(by_hand, None, pypgm.Ledger(pypgm.Budget(rho=10**9))) as private:
        assert private.measure("a", **EXACT).values.tolist() == expected


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=9))
def test_a_rule_holds_of_every_record_whatever_its_weight(rows):
    schema = pypgm.Schema({"a": 2, "b": 2}, rules=[Rule(["a", "b"], [[0, 1]])], weight=Weight("w", K))
    raw = {name: [row[i] for row in rows] for i, name in enumerate("abw")}
    broken = [i for i, (a, b, _) in enumerate(rows) if (a, b) == (0, 1)]
    doors = [schema.encode, lambda raw: pypgm.synthesize(raw, schema, 1, 1e-9, mechanism="mst", iterations=1)]
    for door in doors:
        if broken:
            with pytest.raises(ValueError, match=f"'a', 'b', rows? {broken[0]}.* combination that a rule forbids"):
                door(raw)
        else:
            door(raw)


TYPES = ("u1", "i1", "i2", "u8", "f2", "f4", "f8")
BOUNDS = st.one_of(st.integers(1, 9), st.integers(2000, 4100), st.integers(2**24, 2**25), st.just(2**31 - 1))


@settings(max_examples=60)
@given(st.lists(st.integers(0, 2**31), max_size=6), st.sampled_from(TYPES), BOUNDS)
def test_a_short_type_of_numbers_does_not_move_the_bound_of_a_weight(weights, kind, at_most):
    most = 60_000 if kind == "f2" else 2**31 if kind in {"u8", "f4", "f8"} else np.iinfo(kind).max
    column = np.minimum(weights, most).astype(kind)
    assert Weight("w", at_most).times(column).tolist() == [min(int(w), at_most) for w in column]


@settings(max_examples=25)
@given(st.lists(st.floats(0, 3 * K), max_size=8))
def test_fractions_are_rounded_where_the_schema_says_so(weights):
    raw = {"a": [0] * len(weights), "w": weights}
    rounded = pypgm.Schema({"a": 3}, weight=Weight("w", K, "round")).encode(raw)
    assert rounded.project("a").values[0] == sum(round(min(w, K)) for w in weights)


@pytest.mark.parametrize("wrong", [None, -1, 2.5, float("nan"), float("inf"), "many", "", -0.5, True])
def test_what_is_no_weight_is_refused_by_its_row_before_anything_is_charged(wrong):
    raw = {"a": [0, 1, 2], "b": [0, 1, 1], "c": [0, 0, 0], "w": [1, wrong, 987654]}
    with pytest.raises(ValueError, match="column 'w', row 1") as caught:
        pypgm.synthesize(raw, SCHEMA, epsilon=1, delta=1e-9)
    assert "987654" not in str(caught.value)


def test_weights_that_were_put_beside_codes_are_checked_as_well():
    data = pypgm.Dataset({a: [0, 1, 1] for a in DOMAIN}, DOMAIN, [1, 2.5, 3], schema=SCHEMA)
    ledger = pypgm.Ledger(pypgm.Budget(rho=1))
    with pytest.raises(ValueError, match="column 'w', row 1"):
        pypgm.PrivateTable(data, None, ledger)
    assert not ledger.lines


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, K)), min_size=1, max_size=12), st.data())
def test_a_cap_of_large_sums_brings_no_neighbours_further_apart(rows, data):
    """One record moves one cell by no more than its weight, at any sum; where sums are small, nothing is capped."""
    domain, limit = DOMAIN.project(("a", "b")), data.draw(st.integers(6, 60))
    fewer = [*rows]
    a, b, weight = fewer.pop(data.draw(st.integers(0, len(rows) - 1)))
    with mock.patch("pypgm.privacy.counts.EXACT_LIMIT", limit):
        tables = []
        for records in (rows, fewer):
            columns = np.array(records, dtype=int).reshape(-1, 3).T
            codes = dict(zip("ab", columns, strict=False))
            tables.append(WeightedCounts(pypgm.Dataset(codes, domain, columns[2]), Weight("w", K)))
        for clique, cell in ((("a", "b"), 2 * a + b), (("b",), b), ((), 0)):
            (more,), (less,) = (table.count([clique]) for table in tables)
            change = more - less
            assert 0 <= change[cell] <= weight
            assert not np.delete(change, cell).any()
            assert more.sum() < limit
            if sum(w for *_, w in rows) * more.size < limit:
                assert more.sum() == sum(w for *_, w in rows)
        assert 0 <= tables[0].n_records - tables[1].n_records <= weight


def test_no_sum_of_weights_is_refused():
    most = 2**31 - 1
    weights = np.broadcast_to(np.int64(most), 2**22 + 2**12)
    data = pypgm.Dataset({"a": np.zeros(len(weights), np.uint8)}, pypgm.Domain({"a": 2}), weights)
    counts = WeightedCounts(data, Weight("w", most))
    assert counts.n_records == 2**53 - 1 < len(weights) * most
    assert counts.count([("a",)])[0].tolist() == [2**52 - 1, 0]


class _Counted:
    domain = DOMAIN

    def count(self, cliques, schema):
        raise AssertionError("counted")

    def distinct(self, column):
        raise AssertionError("counted")


REFUSED = {
    "pieces": lambda folder: scan(_csv(folder), SCHEMA),
    "DuckDB": lambda folder: pytest.importorskip("duckdb") and scan(_relation(folder), SCHEMA),
    "counts": lambda folder: pypgm.synthesize(_Counted(), SCHEMA, epsilon=1, delta=1e-9),
    "replaced": lambda folder: pypgm.synthesize(table(), SCHEMA, epsilon=1, delta=1e-9, neighbours="replace"),
    "another bound": lambda folder: pypgm.synthesize(
        table(), SCHEMA, epsilon=1, delta=1e-9, privacy=pypgm.Privacy(records_per_person=K - 1)
    ),
    "no weights": lambda folder: pypgm.mechanisms.mst(
        pypgm.Dataset({a: [0] for a in DOMAIN}, DOMAIN, schema=SCHEMA), epsilon=1, delta=1e-9
    ),
    "no bound": lambda folder: pypgm.mechanisms.mst(
        pypgm.Dataset({a: [0] for a in DOMAIN}, DOMAIN, [1]), epsilon=1, delta=1e-9
    ),
    "records themselves": lambda folder: pypgm.mrf.learn_structure(
        SCHEMA.encode(table()), epsilon=1, delta=1e-9, radius=1.0, eta=0.1
    ),
    "a person as well": lambda folder: pypgm.Schema(
        {"a": 3}, weight=Weight("w", 2), person={"column": "id", "at_most": 2}
    ),
    "records of a person": lambda folder: pypgm.Schema({"a": 3}, weight=Weight("w", 2), records_per_person=3),
    "a column": lambda folder: pypgm.Schema({"a": 3, "w": 9}, weight=Weight("w", 2)),
    "too large": lambda folder: Weight("w", 1 << 31),
    "nothing": lambda folder: Weight("w", 0),
}


def _csv(folder):
    path = folder / "t.csv"
    raw = {name: values.tolist() for name, values in table(9).items()}
    path.write_text("\n".join([",".join(raw), *(",".join(map(str, row)) for row in zip(*raw.values(), strict=True))]))
    return path


def _relation(folder):
    import duckdb

    return duckdb.connect().read_csv(str(_csv(folder)))


@pytest.mark.parametrize("name", REFUSED)
def test_where_weights_are_not_counted_they_are_refused(name, tmp_path):
    with pytest.raises((ValueError, TypeError), match=r"weight|records_per_person|row|table of counts"):
        REFUSED[name](tmp_path)


def test_a_file_is_read_with_its_weights(tmp_path):
    path = _csv(tmp_path)
    data = pypgm.read_table(path, SCHEMA)
    assert data.project("a").values.tolist() == SCHEMA.encode(table(9)).project("a").values.tolist()
    release = pypgm.synthesize(path, SCHEMA, epsilon=9, delta=1e-9, mechanism="mst", iterations=3)
    release.write(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines()[0] == "a,b,c"
    again = pypgm.load(_saved(release, tmp_path / "r.pgm"))
    assert (again.schema, again.privacy) == (release.schema, release.privacy)
    table_again = again.resume(data, pypgm.Budget(epsilon=12, delta=1e-9))
    assert table_again.privacy == release.privacy


def _saved(thing, path):
    thing.save(path)
    return path


def test_a_schema_keeps_its_weight(tmp_path):
    schema = pypgm.Schema.from_dict(FIELDS)
    assert schema.to_dict()["weight"] == FIELDS["weight"]
    assert pypgm.read_schema(_saved(schema, tmp_path / "s.json")) == schema != pypgm.Schema.from_dict(FIELDS["columns"])
    json.loads((tmp_path / "s.json").read_text())
    assert schema.of_records().weight is None
    bounds = {"a": (0, 2), "b": (0, 1), "c": (0, 3)}
    typed = pypgm.Schema.from_types(table(3), bounds=bounds, weight=FIELDS["weight"])
    assert typed.weight == schema.weight
    assert list(typed.columns) == list(DOMAIN)
    for entry, why in (({"column": "w"}, "at_most"), ({"column": 3, "at_most": 2}, "name"), ("w", "object")):
        with pytest.raises(ValueError, match=f"weight.*{why}"):
            pypgm.Schema.from_dict(FIELDS | {"weight": entry})


def test_what_is_open_is_found_by_weights():
    schema = pypgm.OpenSchema(
        {"job": OpenSet("1/4"), "age": QuantileBins(Integer(0, 99), 2, "1/4")}, weight=Weight("w", 50)
    )
    raw = {"job": ["cook"] * 60 + ["spy"] * 2, "age": [10] * 60 + [90] * 2, "w": [0] * 59 + [1] + [50, 60]}
    ledger = pypgm.Ledger(pypgm.Budget(rho=10**9, reserved_delta=1e-9))
    found = settle(schema, raw, None, ledger)
    assert found.weight == schema.weight
    assert found.columns["age"].edges[0] > 10
    assert "spy" in found.columns["job"].labels
    assert found.encode(raw).project("job")["spy"] == 100
    release = pypgm.synthesize(raw, schema, epsilon=900, delta=1e-9, mechanism="mst", iterations=3)
    assert release.model.total == pytest.approx(101, abs=40)


def test_what_is_said_of_a_release_is_of_the_weighted_population(tmp_path):
    """The comparison, the page, the losses, JSON and the plan count as the release does."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 400)
    raw = {"a": [["x", "y", "z"][i] for i in codes], "w": np.where(codes == 0, 40, rng.integers(0, 5, 400)).tolist()}
    schema = {"columns": {"a": ["x", "y", "z"]}, "weight": {"column": "w", "at_most": 50}}
    release = pypgm.synthesize(raw, schema, epsilon=20, delta=1e-9)
    assert release.model.project("a")["x"] > 0.8 * release.model.total
    compared = pypgm.compare(release, raw)
    assert compared.score > 98
    assert compared.only == ((), ())
    pytest.importorskip("jinja2")
    release.report_html(tmp_path / "page.html")
    for text in (release.report(), (tmp_path / "page.html").read_text()):
        assert "weighted population" in text
        assert "at most 50 times" in text
    facts = Facts(release).to_dict()
    assert (facts["weight"], facts["lost"]["weights"]) == ("w", {"w": 50})
    plan = pypgm.mechanisms.plan("wide", release.schema, 1, 1e-9, n_records=9000, privacy=release.privacy)
    assert plan.n_records == 9000
    plain = pypgm.Dataset({"a": codes}, release.model.domain)
    with pytest.raises(ValueError, match="weights, 'w'"):
        release.resume(plain, pypgm.Budget(epsilon=30, delta=1e-9))
