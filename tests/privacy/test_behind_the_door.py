"""Behind the door nothing that depends on a value raises, and what raises holds no count."""

import math
import re
import traceback
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pypgm
from pypgm import Dataset, Domain
from pypgm.mechanisms import mst
from pypgm.privacy import (
    Budget,
    Ledger,
    Privacy,
    PrivateColumn,
    PrivateTable,
    private_bounds,
    private_quantiles,
    sparse_histogram,
)
from pypgm.queries import Partition

POWERS = [-8.0, -4.0, -2.0, -1.0, 1.0, 2.0, 4.0, 8.0]


class Angry:
    """A value that tries to be heard."""

    def __float__(self):
        raise RuntimeError("the secret")

    __hash__ = __eq__ = __str__ = __index__ = __len__ = __iter__ = __float__


class AngryFloat(float):
    def __float__(self):
        raise RuntimeError("the secret")


class AngryText(str):
    __slots__ = ()
    __str__ = __hash__ = __eq__ = __lt__ = __float__ = Angry.__float__


ODD = [
    *(math.nan, None, "n/a", "", b"bytes", [1, 2], {}, Angry(), AngryFloat(1), AngryText("a"), 1j, np.complex128(1j)),
    *(math.inf, -math.inf, 10**400, -(10**400), "1e999", Decimal("sNaN"), Decimal("1e999999"), Fraction(10**500)),
    *("long text " * 10_000, np.float32("nan"), np.str_("7"), np.int8(3), "3.5", " 4 ", np.ma.masked, np.array([1, 2])),
    *(True, np.datetime64(0, "D"), np.longdouble("1e4000"), np.array(["x"], dtype="S1")[0]),
]


def column(values, neighbours="add-remove", **more):
    ledger = Ledger(Budget(rho=10**6, reserved_delta="0.1"))
    return PrivateColumn(values, Privacy(neighbours), ledger, **more)


def asked_everything(values, neighbours="add-remove"):
    """Ask a column all there is to ask; return what was charged."""
    private = column(values, neighbours)
    private_quantiles(private, [0, 0.5, 1], range(10), rho=1)
    private_bounds(private, POWERS, scale=2)
    private_bounds(private, [0, 1], variance=2)
    sparse_histogram(private, delta=1e-7, rho="1/8")
    return [(line.on, line.cost, dict(line.parameters)) for line in private.ledger.lines]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_no_value_is_an_error_and_none_changes_what_is_charged(neighbours):
    clean = asked_everything([1.0, 2.0, 3.0], neighbours)
    for odd in ODD:
        assert asked_everything([1.0, odd, 3.0], neighbours) == clean
    assert asked_everything(ODD, neighbours) == clean
    for dtype in (object, np.longdouble, "U9", "S9", "f4", "i1", "u8", bool, complex, "M8[D]", "m8[s]"):
        assert asked_everything(np.zeros(4, dtype=dtype), neighbours) == clean
    assert asked_everything(np.ma.masked_array([1.0, 2.0], [True, False]), neighbours) == clean
    assert asked_everything((), neighbours) == clean


def test_nulls_have_no_rank_and_others_are_clamped():
    many = 2000
    values = [None, math.nan, "n/a", "5", Decimal(5), 5, 10**400, np.float64(5)] * many
    private = column(values)
    assert private_quantiles(private, [0.5, 0.75, 0.9], [0, 5, 6, 7], rho=10).tolist()[:2] == [5, 5]
    assert private_bounds(private, POWERS, scale="1/40") == (4, 8)
    infinite = column([math.inf, -math.inf] * many)
    assert private_bounds(infinite, POWERS, scale="1/40") == (-8, 8)


def test_keys_are_text_and_integers_alone():
    values = ["a", 1, True, 1.0, np.int64(1), None, math.nan, b"a", 2.5, ("t",), np.str_("a"), 10**30] * 500
    found = sparse_histogram(column(values), delta=1e-7, scale="1/40")
    assert found == {1: 2000, 10**30: 500, "a": 1000}
    for same in (np.array([3, 3, 4] * 500), np.array([3.0, 3.0, 4.0, math.nan, 2.5] * 500)):
        assert sparse_histogram(column(same), delta=1e-7, scale="1/40") == {3: 1000, 4: 500}
    text = np.array(["b", "a", "b"] * 500)
    assert list(sparse_histogram(column(text), delta=1e-7, scale="1/40").items()) == [("a", 500), ("b", 1000)]


def test_one_null_does_not_turn_other_keys_into_others():
    """An array of one type would make floats or text of all numbers, for everybody to see."""
    clean = [1, 2] * 500
    for odd in (None, math.nan, "x", 2.5):
        assert sparse_histogram(column([*clean, odd]), delta=1e-7, scale="1/40") == {1: 500, 2: 500}


@given(st.lists(st.sampled_from([0, 1, 2, None, math.inf]), max_size=6), st.data())
def test_scores_and_cells_with_nulls_by_brute_force(values, data):
    """A record may also come from or go to null: no answer changes by more than is charged for."""
    from pypgm.privacy.quantiles import _cell_counts, rank_scores

    points, q = np.array([0.0, 1.0, 2.0]), Fraction(1, 4)
    extra, other = (data.draw(st.sampled_from([0, 2, None, -math.inf])) for _ in range(2))
    for relation, neighbour in (("add-remove", values), ("replace", [*values, other])):
        one, two = column([*values, extra], relation), column(neighbour, relation)
        scores = [rank_scores(*c.trusted_access.numbers(points), q, points) for c in (one, two)]
        change = scores[0] - scores[1]
        assert change.max() - change.min() <= Privacy(relation).quantile_score_range(q)
        for grid in (points, points[:2]):
            cells = _cell_counts(one.trusted_access, grid) - _cell_counts(two.trusted_access, grid)
            private_bounds(one, grid, scale=5)
            assert np.abs(cells).sum() <= one.ledger.lines[-1].parameters["sensitivity"]


def test_a_column_of_a_table_stands_for_labels():
    domain = Domain({"age": ["20", "31", "n/a"], "code": 4})
    data = Dataset({"age": [0, 1, 1, 2] * 500, "code": [3, 3, 3, 0] * 500}, domain)
    table = PrivateTable(data, Privacy(), Ledger(Budget(rho=10**6, reserved_delta="0.1")))
    assert private_quantiles(table.column("age"), [0.5], [20, 25, 31, 40], rho=100).tolist() == [31]
    assert sparse_histogram(table.column("age"), delta=1e-7, scale="1/40") == {"20": 500, "31": 1000, "n/a": 500}
    assert private_bounds(table.column("code"), [-1, 1, 2, 3, 4], scale="1/40") == (-1, 4)
    assert sparse_histogram(table.column("code"), delta=1e-7, scale="1/40") == {0: 500, 3: 1500}
    kept = table.column("code")
    table.close()
    with pytest.raises(ValueError, match="closed"):
        private_bounds(kept, [0, 4], scale=1)


@pytest.mark.parametrize("n", [5, 500])
def test_what_is_wrong_is_said_without_the_length(n):
    said = []
    for make in (
        lambda: column(np.zeros((n, n))),
        lambda: column(iter(range(n))),
        lambda: column("x" * n),
        lambda: column(np.float64(n)),
    ):
        with pytest.raises((TypeError, ValueError)) as error:
            make()
        said.append(str(error.value))
    assert not any(str(n) in text for text in said)


# --- frames of tracebacks ---


class Noted(Dataset):
    """Records that note when they are counted."""

    counted = False

    def count(self, cliques, n_threads=0):
        self.counted = True
        return super().count(cliques, n_threads)


def noted():
    return Noted({"a": [0, 1, 1] * 7, "b": [1, 0, 1] * 7}, Domain({"a": 2, "b": 2}))


def broken(clique):
    raise RuntimeError("a defect of the caller's")


@pytest.mark.parametrize(
    "ask",
    [
        lambda t: t.l1_selector([("a",), ("b",)], broken).select([0], rho=1),
        lambda t: t.l1_selector([("a",), ("b",)], lambda c: [0, 0] if c == ("a",) else broken(c)).select([0], rho=1),
        lambda t: t.l1_selector([("a",)], lambda c: [0, 0], broken).select_top([0], 1, rho=1),
        lambda t: t.l1_selector([("a",)], lambda c: [math.nan, 0]).permute_and_flip([0], rho=1),
        lambda t: t.l1_selector([("a",)], lambda c: [0] * 9).select([0], rho=1),
        lambda t: t.l1_selector([("a",)], lambda c: [0], lambda c: Partition([0, 0, 1])).select([0], rho=1),
    ],
)
def test_callables_are_asked_before_a_record_is_counted_or_charged(ask):
    data = noted()
    table = PrivateTable(data, Privacy(), Ledger(Budget(rho=10)))
    with pytest.raises((RuntimeError, ValueError)):
        ask(table)
    assert not data.counted
    assert table.ledger.lines == ()


def test_frames_of_a_traceback_show_the_same_for_any_records():
    """As debuggers and error reporters print them: every local of every frame of pypgm."""

    def shown(records):
        data = Dataset({"a": records, "b": records}, Domain({"a": 2, "b": 2}))
        try:
            mst(data, epsilon=1, delta=1e-9, callback=broken, unsafe_seed=3, n_threads=1)
        except RuntimeError as error:
            frames = traceback.TracebackException.from_exception(error, capture_locals=True).stack
            return [f.locals for f in frames if "pypgm" in f.filename and "tests" not in f.filename][:2]

    entered = shown([0, 1, 1] * 300)
    assert entered
    assert all(frame.get("data", "Handed(records)") == "Handed(records)" for frame in entered)
    assert any("records behind a ledger" in text for frame in entered for text in frame.values())
    assert not re.search(r"\b900\b", str(entered))  # an address may hold these digits


def test_reprs_of_what_is_private_are_fixed_texts():
    none = Noted({"a": [], "b": []}, noted().domain)
    one, two = (PrivateTable(data, Privacy(), Ledger(Budget(rho=1))) for data in (noted(), none))
    assert repr(one) == repr(two) == f"{one}"
    assert repr(one.column("a")) == repr(two.column("a")) == "PrivateColumn(records behind a ledger)"
    selectors = [t.l1_selector([("a",)], lambda c: [0, 0]) for t in (one, two)]
    for selector in selectors:
        selector.select([0], rho="1/2")
    assert repr(selectors[0]) == repr(selectors[1]) == "L1Selector(scores behind a ledger)"


def test_a_table_is_read_with_words_about_rows_and_never_values(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("a,b\n0,1\n0,secret\n")
    with pytest.raises(ValueError, match="row 2") as error:
        pypgm.read_table(path, Domain({"a": 2, "b": 2}))
    assert "secret" not in "".join(traceback.format_exception(error.value))
    with pytest.raises(ValueError, match="row 1") as error:
        Dataset({"a": [0, 77]}, Domain({"a": 2}))
    assert "77" not in str(error.value)
