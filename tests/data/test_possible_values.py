"""Values of synthetic records: none that cannot exist, whatever the columns of a table are made of."""

from __future__ import annotations

import csv
import datetime
import random
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

import pypgm
from pypgm.data.draft import draft_schema

N = 600

pytestmark = [
    pytest.mark.filterwarnings("ignore::pypgm.errors.DraftWarning"),
    pytest.mark.filterwarnings("ignore::pypgm.errors.WeakGuaranteeWarning"),
]


class Column(NamedTuple):
    """Texts of a column, and which texts it could have."""

    texts: list[str]
    is_possible: Callable[[str], bool]


def listed(draw, values, weights=None):
    values = [str(value) for value in values]
    return Column(draw.choices(values, weights, k=N), set(values).__contains__)


def between(draw, low, high, codes=()):
    """Whole numbers, each of which is possible, and codes for no answer."""
    texts = [str(draw.choice(codes) if codes and draw.random() < 0.1 else draw.randint(low, high)) for _ in range(N)]
    return Column(texts, lambda text: text in map(str, codes) or low <= int(text) <= high)


def tolls(draw):
    amounts = sorted({round(draw.uniform(0, 40), 2) for _ in range(draw.randint(2, 8))} | {0.0})
    return listed(draw, [f"{amount:.2f}" for amount in amounts], [5, *[1] * (len(amounts) - 1)])


def marks(draw):
    return listed(draw, [f"{1 + third / 3:.2f}" for third in range(draw.randint(5, 12))])


def signed(draw):
    return listed(draw, [-0.5, 0, 0.5])


def postcodes(draw):
    return listed(draw, sorted(draw.sample(range(10_000, 99_999), draw.randint(3, 40))))


def few_codes(draw):
    return listed(draw, [*range(1, draw.randint(3, 5)), 7, 60, 61, 99])


def many_codes(draw):
    return listed(draw, range(1010, 1010 + 90 * draw.randint(61, 75), 90))


def scale(draw):
    high = draw.choice([4, 5])
    return between(draw, 1, high, draw.choice([[8, 9], [9], [7, 8, 9], [98, 99], [-8, -9], [99]]))


def incomes(draw):
    return between(draw, 1, draw.randint(12, 25), draw.choice([[98, 99], [97, 98, 99], [-1], [-98, -99], [998]]))


def hours(draw):
    return between(draw, 0, 89, draw.choice([[998, 999, -1], [998, 999], [-8, -9, -1], [-2147483648]]))


def ages(draw):
    return between(draw, 18, 89, draw.choice([[], [99], [999]]))


def months(draw):
    first = draw.randint(1990, 2015)
    values = [f"{first + i // 12}{i % 12 + 1:02}" for i in range(12 * draw.randint(2, 8))]
    return Column(draw.choices(values, k=N), lambda text: 1 <= int(text[4:]) <= 12 and len(text) == 6)


def clock(draw):
    texts = [str(100 * draw.randrange(24) + draw.randrange(60)) for _ in range(N)]
    return Column(texts, lambda text: int(text) % 100 < 60 and int(text) < 2400)


def first_days(draw):
    year = draw.randint(1990, 2015)
    texts = [datetime.date(year + draw.randrange(8), draw.randint(1, 12), 1).isoformat() for _ in range(N)]
    return Column(texts, lambda text: datetime.date.fromisoformat(text).day == 1)


def days(draw):
    first = datetime.date(draw.randint(1950, 2015), 1, 1)
    form = draw.choice(["%Y-%m-%d", "%d.%m.%Y", "%Y%m%d", "%d%m%Y", "%m/%d/%Y", "%d%b%Y", "%d%b%Y:%H:%M:%S"])
    texts = [(first + datetime.timedelta(draw.randrange(900))).strftime(form) for _ in range(N)]

    def is_date(text):
        try:
            datetime.datetime.strptime(text, form)
        except ValueError:
            return False
        return True

    return Column(texts, is_date)


def waves(draw):
    values = sorted(datetime.date(2018 + wave, draw.randint(2, 11), draw.randint(2, 27)) for wave in range(4))
    return listed(draw, [day.isoformat() for day in values])


def amounts(draw):
    texts = [f"{draw.lognormvariate(6, 1):.2f}" if draw.random() < 0.7 else "0.00" for _ in range(N)]
    return Column(texts, lambda text: float(text) >= 0 and len(text.partition(".")[2]) == 2)


def words(draw):
    return listed(draw, draw.sample(["red", "green", "blue", "black", "white"], draw.randint(2, 5)))


def with_texts(draw):
    column = between(draw, 20, 64)
    texts = [draw.choice(["unknown", "."]) if draw.random() < 0.05 else text for text in column.texts]
    return Column(texts, lambda text: text in {"unknown", "."} or 20 <= int(text) <= 64)


KINDS = [
    tolls,
    marks,
    signed,
    postcodes,
    few_codes,
    many_codes,
    scale,
    incomes,
    hours,
    ages,
    months,
    clock,
    first_days,
    days,
    waves,
    amounts,
    words,
    with_texts,
]


def _table(seed, folder):
    """Write a generated table, and return its columns and its draft."""
    draw = random.Random(seed)
    columns = {kind.__name__: kind(draw) for kind in draw.sample(KINDS, 5)}
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(columns)
        rows.writerows(zip(*(column.texts for column in columns.values()), strict=True))
    draft = draft_schema(folder / "t.csv")
    assert {*draft["columns"], *draft.get("drop", {})} == {*columns}
    return columns, draft


def _strange(columns, draft, texts):
    """Return the columns with values that cannot exist, with one of these and the declaration."""
    wrong = {}
    for name, entry in draft["columns"].items():
        marks = {"other"} if entry["kind"] == "open" else set()
        strange = [text for text in texts[name] if text not in marks and not _holds(columns[name].is_possible, text)]
        if strange:
            wrong[name] = strange[0], {key: value for key, value in entry.items() if key != "values"}
    return wrong


def _holds(is_possible, text):
    try:
        return is_possible(text)
    except ValueError:
        return False


@pytest.mark.parametrize("seed", range(24))
def test_no_synthetic_value_is_impossible(seed, tmp_path):
    columns, draft = _table(seed, tmp_path)
    pypgm.synthesize(tmp_path / "t.csv", draft, epsilon=5, delta=1e-9, unsafe_seed=seed).write(tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        made = list(csv.DictReader(file))
    assert _strange(columns, draft, {name: [row[name] for row in made] for name in draft["columns"]}) == {}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1500, 50))
def test_no_value_of_a_draft_is_impossible(first, tmp_path):
    """Whatever a model would draw: by records of any codes, in bins that are not yet found."""
    for seed in range(first, first + 50):
        columns, draft = _table(seed, tmp_path)
        schema = pypgm.Schema.from_dict(draft).provisional
        draw = np.random.default_rng(seed)
        codes = {name: draw.integers(0, column.size, 300) for name, column in schema.columns.items()}
        texts = {name: column.texts(codes[name], draw).tolist() for name, column in schema.columns.items()}
        assert _strange(columns, draft, texts) == {}, seed
