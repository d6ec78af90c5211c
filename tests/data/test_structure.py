"""Relations between columns that a draft finds: all that are planted, none elsewhere, in one piece or several."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

import pypgm
from pypgm.data.draft.date_reader import DateReader
from pypgm.data.draft.draft import draft_schema
from pypgm.data.draft.structure import Structure

N = 400
SEEDS = range(60)


def independent(rng, n_columns=6):
    """Return texts of columns that have nothing to do with each other, some blank at random."""
    columns = {}
    for i in range(n_columns):
        texts = [f"v{code}" for code in rng.integers(0, rng.integers(2, 9), N)]
        blank = rng.random(N) < rng.choice([0, 0.1, 0.5])
        columns[f"c{i}"] = ["" if is_blank else text for text, is_blank in zip(texts, blank, strict=True)]
    return columns


def read(columns, n_pieces=1, readers=None):
    structure = Structure()
    for rows in np.array_split(np.arange(N), n_pieces):
        structure.add({name: [texts[i] for i in rows] for name, texts in columns.items()}, readers)
    return structure


def days(numbers):
    first = datetime.date(2024, 1, 1)
    return [(first + datetime.timedelta(int(n))).isoformat() for n in numbers]


@pytest.mark.parametrize("seed", SEEDS)
def test_columns_that_have_nothing_to_do_with_each_other_have_no_relation(seed):
    rng = np.random.default_rng(seed)
    columns = independent(rng)
    dates = {name: days(rng.integers(0, 99, N)) for name in "de"}
    structure = read(columns | dates, readers={name: DateReader("") for name in dates})
    assert not list(structure.dependences.pairs())
    assert not list(structure.blanks.pairs())
    assert not list(structure.orders.pairs(dates))


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_planted_is_found_in_one_piece_and_in_several(seed):
    rng = np.random.default_rng(seed)
    columns = independent(rng)
    cities = rng.integers(0, 12, N)
    lands = rng.integers(0, 3, 12)
    lands[:3] = 0, 1, 2
    columns["city"], columns["land"] = [f"t{c}" for c in cities], [f"l{c}" for c in lands[cities]]
    member = rng.random(N) < 0.5
    columns["member"] = ["yes" if is_one else "no" for is_one in member]
    columns["plan"] = [f"p{rng.integers(4)}" if is_one else "" for is_one in member]
    begin = rng.integers(0, 90, N)
    columns["begin"], columns["end"] = days(begin), days(begin + rng.integers(0, 9, N))
    names = list(rng.permutation(list(columns)))
    columns = {name: columns[name] for name in names}
    for n_pieces in (1, 3):
        readers = {name: DateReader("") for name in ("begin", "end")}
        structure = read(columns, n_pieces, readers)
        mapping = {f"t{c}": f"l{lands[c]}" for c in set(cities.tolist())}
        found = {pair[:2]: pair[2] for pair in structure.dependences.pairs()}
        assert found.pop(("plan", "member"))["p0"] == "yes"
        assert found == {("city", "land"): mapping}
        assert ("member", "plan", ["yes"]) in structure.blanks.pairs()
        assert [pair[:2] for pair in structure.orders.pairs(readers)] == [("begin", "end")]


def test_a_relation_that_the_last_record_breaks_is_none():
    base = [f"t{i % 12}" for i in range(N)]
    other = [f"l{i % 12 % 3}" for i in range(N - 1)] + ["l2"]
    assert (N - 1) % 12 % 3 != 2
    for n_pieces in (1, 5):
        assert not list(read({"city": base, "land": other}, n_pieces).dependences.pairs())
        blank = [*["" if i % 2 else "x" for i in range(N - 1)], "x"]
        by = [f"m{i % 2}" for i in range(N)]
        assert not list(read({"by": by, "blank": blank}, n_pieces).blanks.pairs())


def test_a_value_that_comes_late_belongs_to_the_function():
    base = ["a", "b"] * 150 + ["c", "d"] * 50
    other = [{"a": "x", "b": "y", "c": "x", "d": "z"}[text] for text in base]
    for n_pieces in (1, 4):
        ((one, two, mapping),) = read({"one": base, "two": other}, n_pieces).dependences.pairs()
        assert (one, two, mapping) == ("one", "two", {"a": "x", "b": "y", "c": "x", "d": "z"})


def test_a_column_of_very_many_values_may_still_be_blank_by_another():
    n = 30_000
    member = ["yes" if i % 2 else "no" for i in range(n)]
    structure = Structure()
    structure.add({"member": member, "note": [f"text {i}" if i % 2 else "" for i in range(n)]})
    assert list(structure.blanks.pairs()) == [("member", "note", ["yes"])]
    assert not list(structure.dependences.pairs())


@pytest.mark.parametrize("seed", SEEDS)
def test_columns_that_have_nothing_to_do_with_each_other_are_no_copies_and_have_no_empty_cells(seed):
    rng = np.random.default_rng(seed)
    structure = read(independent(rng) | {"age": rng.integers(0, 99, N).astype(str).tolist()}, n_pieces=1 + seed % 3)
    assert not list(structure.copies.in_order())
    assert not list(structure.empty.of_values())
    assert not list(structure.blocks.among(["c0", "c1", "c2"]))


@pytest.mark.parametrize("seed", SEEDS)
def test_copies_are_found_with_the_condition_by_which_they_are_blank(seed):
    rng = np.random.default_rng(seed)
    columns = independent(rng)
    columns["out"] = days(rng.integers(0, 90, N))
    cause = rng.choice(["alive", "home", "hospital"], N)
    is_dead = cause != "alive"
    columns["cause"] = cause.tolist()
    columns["death"] = [day if dead else "" for day, dead in zip(columns["out"], is_dead, strict=True)]
    columns["again"] = columns["out"]
    columns = {name: columns[name] for name in rng.permutation(list(columns))}
    first, second = (name for name in columns if name in {"out", "again"})
    for n_pieces in (1, 3):
        found = {copy.name: copy for copy in read(columns, n_pieces).copies.in_order()}
        assert found == {
            second: (first, second, None),
            "death": (first, "death", ("cause", ["alive"])),
        }


@pytest.mark.parametrize("seed", SEEDS)
def test_empty_cells_are_found(seed):
    rng = np.random.default_rng(seed)
    n = 3000
    ward = rng.integers(0, 5, n)
    sex = np.where(ward == 2, 0, rng.integers(0, 2, n))
    age = np.where(ward == 3, rng.integers(0, 18, n), rng.integers(0, 100, n))
    columns = {
        "age": age.astype(str).tolist(),
        "ward": [f"w{code}" for code in ward],
        "sex": ["FM"[code] for code in sex],
        "other": [f"o{code}" for code in rng.integers(0, 6, n)],
    }
    columns = {name: columns[name] for name in rng.permutation(list(columns))}
    draft = draft_schema(columns)
    rules = empties(draft)
    entries = {tuple(rule["columns"]): rule["forbidden"] for rule in rules}
    by_sex = entries.pop(("ward", "sex"), None) or entries.pop(("sex", "ward"))
    assert sorted(by_sex[0]) == ["M", "w2"]
    assert entries == {("ward", "age"): [["w3", {"from": 18}]]}
    schema = pypgm.Schema.from_dict({"columns": draft["columns"], "rules": rules})
    schema.check_rules(schema.encode(columns))


def empties(draft):
    """Return the rules that are proposed for combinations that never come."""
    proposals = (of_column.items() for of_column in draft.get("proposals", {}).values())
    return [rule for notes in proposals for note, rules in notes if note.startswith("never ") for rule in rules]


def test_wide_bins_hide_part_of_an_empty_range():
    rng = np.random.default_rng(0)
    ward = rng.integers(0, 2, 3000)
    pay = np.where(ward == 1, rng.integers(0, 1790, 3000), rng.integers(0, 10_000, 3000))
    columns = {"ward": [f"w{code}" for code in ward], "pay": pay.astype(str).tolist()}
    draft = draft_schema(columns)
    (rule,) = empties(draft)
    width = draft["columns"]["pay"]["width"]
    assert rule["forbidden"] == [["w1", {"from": -(-1790 // width) * width}]]
    assert width > 1
    schema = pypgm.Schema.from_dict({"columns": draft["columns"], "rules": [rule]})
    schema.check_rules(schema.encode(columns))
