"""Drafts find dates and times in whatever spelling, and declare the format that writes them as they were."""

from __future__ import annotations

import datetime
import random
import re

import pytest

import pypgm
from pypgm.data.columns.date_text import DateFormat
from pypgm.data.draft import draft_schema
from pypgm.data.draft.date_reader import date_readers, midnight_of

DAYS = [
    "%Y-%m-%d",
    "%Y-%-m-%-d",
    "%d.%m.%Y",
    "%-d.%-m.%Y",
    "%-m/%-d/%Y",
    "%d%^b%Y",
    "%d-%b-%Y",
    "%d-%^b-%y",
    "%B %-d, %Y",
]
CLOCKS = ["", " %H:%M", "T%H:%M:%S", " %-H:%M", " %-I:%M %p", " %I:%M:%S %p", "T%H:%M:%S.%3f", " %H:%M:%S.%6f"]
ZONES = ["", "Z", "+02:00", "+00", " UTC"]
OTHERS = ["%Y%m%d", "%Y%m", "%d%m%Y", "%-m%d%Y", "%m%d%Y", "%b-%Y", "%^b-%Y", "%YQ%q", "%Y-Q%q", "%Y-%m", "%m/%Y"]
OTHERS += [
    "%-H%M",
    "%H%M",
    "%H:%M",
    "%-H:%M",
    "%H:%M:%S",
    "%s",
    "%s%3f",
    "%d%^b%Y:%H:%M:%S",
    "%m/%d/%Y 12:00 AM",
    "%b-%y",
]


def spellings(draw, n):
    yield from OTHERS
    for _ in range(n):
        clock = draw.choice(CLOCKS)
        yield draw.choice(DAYS) + clock + (draw.choice(ZONES) if ":%S" in clock and "%p" not in clock else "")


def texts_of(draw, form, n=400):
    given, first = DateFormat(form), datetime.datetime(draw.choice([1985, 2004]), 2, 1)
    days = draw.choice([400, 4000])
    times = [
        first + datetime.timedelta(days=draw.randrange(days), microseconds=draw.randrange(86_400_000_000))
        for _ in range(n)
    ]
    return [given.written(time) for time in times]


def test_readers_find_the_format_that_writes_texts_as_they_are():
    draw = random.Random(1)
    for form in spellings(draw, 150):
        texts = texts_of(draw, form)
        if form.startswith("%s") and int(texts[0][:10]) < 946_684_800:
            continue  # seconds of the last century are plain numbers
        forms = []
        for reader in date_readers(list(dict.fromkeys(texts))).values():
            try:
                dates = [reader.read(text) for text in texts]
            except ValueError:
                continue
            if reader.is_likely():
                forms.append(reader.form or "%Y-%m-%d")
                assert all(reader.low <= date <= reader.high for date in dates)
        assert forms[:1] == [form], (form, texts[:3], forms)


@pytest.mark.filterwarnings("ignore::pypgm.errors.DraftWarning")
def test_drafted_times_come_back_in_their_spelling():
    draw = random.Random(2)
    forms = [
        "%Y%m",
        "%-H%M",
        "%d%^b%Y:%H:%M:%S",
        "%-m/%-d/%Y %-I:%M %p",
        "%Y-%m-%dT%H:%M:%S.%3fZ",
        "%YQ%q",
        "%b-%Y",
        "%s",
    ]
    columns = {form: texts_of(random.Random(3), form, 600) for form in forms}
    columns["%s"] = [str(1_600_000_000 + draw.randrange(10**8)) for _ in range(600)]
    release = pypgm.synthesize(columns, draft_schema(columns), epsilon=3, delta=1e-9, unsafe_seed=1, mechanism="mst")
    made = release.schema.cells(release.synthetic_data(500, rng=1).columns, 2)
    for form in forms:
        given = DateFormat(form)
        texts = made[form].texts().tolist()
        assert [given.written(given.read(text)) for text in texts] == texts
        assert len({*texts}) > 3


WHOLE = {
    "months that are none": [y * 100 + m for y in range(1990, 2020) for m in range(13)],
    "ages": list(range(18, 90)),
    "minutes": list(range(60)),
    "halves of hundreds": list(range(50, 2350, 50)),
    "rooms": [floor * 100 + room for floor in range(1, 9) for room in range(1, 40)],
    "numbers": [7 * i for i in range(340)],
    "in a row": list(range(1_200_000_000, 1_200_000_900)),
    "accounts": [10**9 + 31_415_926 * i for i in range(250)],
    "postcodes": [200_100 + 7 * i for i in range(90)],
    "amounts of eight digits": [20_000_000 + 4321 * i for i in range(300)],
}


@pytest.mark.parametrize("name", WHOLE)
def test_plain_numbers_are_no_dates(name):
    values = WHOLE[name] * 3
    for given in (values, list(map(str, values))):
        assert (
            draft_schema({"a": given, "k": ["x", "y"] * (len(values) // 2) + ["x"] * (len(values) % 2)})["columns"]
            .get("a", {})
            .get("kind")
            != "date"
        )


def test_a_few_other_texts_leave_a_sample_its_dates():
    texts = [f"{1 + i % 28}/{1 + i % 12}/2020 {i % 12 + 1}:05 PM" for i in range(300)]
    readers = date_readers(["unknown", *texts[:40], "n/k", *texts[40:]])
    assert "%d/%m/%Y %I:%M %p" in readers


def test_several_offsets_are_left_out_and_several_digits_read():
    texts = [f"2020-0{1 + i % 9}-01T0{i % 7}:00:0{i % 5}+0{1 + i % 2}:00" for i in range(90)]
    told = draft_schema({"a": texts})["columns"]["a"]
    assert told["format"] == "%Y-%m-%dT%H:%M:%S%:z"
    texts = [datetime.datetime(2020, 1 + i % 12, 1, 5, 6, 7, i % 3 * 1000).isoformat() for i in range(300)]
    told = draft_schema({"a": texts})["columns"]["a"]
    assert told["format"] == "%Y-%m-%dT%H:%M:%S.%6f"
    schema = pypgm.Schema.from_dict({"columns": {"a": {name: told[name] for name in told if name != "warning"}}})
    assert schema.encode({"a": texts}).n_records == 300


def test_midnight_is_part_of_a_format_of_days():
    texts = [f"{d.month}/{d.day}/{d.year} 12:00:00 AM" for d in (datetime.date(2020, 1, 1 + i % 28) for i in range(99))]
    assert draft_schema({"a": texts})["columns"]["a"]["format"] == "%-m/%-d/%Y 12:00:00 AM"
    assert midnight_of("%H:%M") == "%H:%M"


@pytest.mark.filterwarnings("ignore::pypgm.errors.DraftWarning")
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_typed_times_come_back_as_fine_as_they_were(library):
    frames = pytest.importorskip(library)
    pytest.importorskip("narwhals")
    draw = random.Random(5)
    times = [
        datetime.datetime(2020, 1, 1) + datetime.timedelta(seconds=draw.randrange(200 * 86_400)) for _ in range(500)
    ]
    frame = frames.DataFrame(
        {
            "s": times,
            "m": [t.replace(second=0) for t in times],
            "d": [t.replace(hour=0, minute=0, second=0) for t in times],
        }
    )
    made = pypgm.synthesize(
        frame, draft_schema(frame), epsilon=3, delta=1e-9, unsafe_seed=1, mechanism="mst"
    ).to_frame()
    assert made.dtypes[0] == frame.dtypes[0] if library == "polars" else (made.dtypes == frame.dtypes).all()
    seen = {name: list(map(str, made[name].to_list())) for name in ("s", "m", "d")}
    assert sum(text.endswith(":00") for text in seen["s"]) < 100
    assert all(re.fullmatch(r".* \d\d:\d\d:00", text) for text in seen["m"])
    assert len({text[-8:] for text in seen["m"]}) > 100
    assert all(text.endswith("00:00:00") for text in seen["d"])


@pytest.mark.filterwarnings("ignore::pypgm.errors.DraftWarning")
@pytest.mark.parametrize("kind", ["texts", "spans", "times"])
def test_spans_of_minutes_keep_their_mean(kind):
    frames = pytest.importorskip("pandas")
    pytest.importorskip("narwhals")
    draw = random.Random(6)
    seconds = [draw.randrange(180, 1260) for _ in range(3000)]
    spans = [datetime.timedelta(seconds=n) for n in seconds]
    values = {
        "texts": [f"{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}" for n in seconds],
        "spans": spans,
        "times": [(datetime.datetime(1900, 1, 1) + span).time() for span in spans],
    }[kind]
    frame = frames.DataFrame({"a": values, "k": ["x", "y"] * 1500})
    draft = draft_schema(frame)
    told = draft["columns"]["a"]
    assert (told["kind"], told["resolution"], told["low"][:11]) == ("date", "minute", "1900-01-01T")
    made = pypgm.synthesize(frame, draft, epsilon=3, delta=1e-9, unsafe_seed=1, mechanism="mst").to_frame()["a"]
    found = [str(value).rpartition(" ")[2].split(":") for value in made]
    mean = sum(int(h) * 3600 + int(m) * 60 + float(s) for h, m, s in found) / len(found)
    assert abs(mean - sum(seconds) / len(seconds)) < 40
    assert kind != "spans" or made.dtype == frame["a"].dtype


@pytest.mark.filterwarnings("ignore::pypgm.errors.DraftWarning")
def test_months_as_whole_numbers_come_back_as_numbers_of_their_type():
    frames = pytest.importorskip("pandas")
    pytest.importorskip("narwhals")
    months = [y * 100 + m for y in range(2015, 2020) for m in range(1, 13)] * 20
    frame = frames.DataFrame({"whole": months, "gaps": [None if i % 9 == 0 else m for i, m in enumerate(months)]})
    draft = draft_schema(frame)
    assert {column["format"] for column in draft["columns"].values()} == {"%Y%m"}
    made = pypgm.synthesize(frame, draft, epsilon=3, delta=1e-9, unsafe_seed=1, mechanism="mst").to_frame()
    assert made.dtypes.to_dict() == frame.dtypes.to_dict()
    for name in ("whole", "gaps"):
        assert made[name].dropna().mod(100).between(1, 12).all()
    assert made["gaps"].isna().any()
