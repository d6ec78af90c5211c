"""Formats of dates: what is written is read back, what is read is written as it was, and nothing impossible is read."""

from __future__ import annotations

import datetime
import random

import numpy as np
import pytest

from pypgm.data import Date
from pypgm.data.columns.date_text import DateFormat

DAYS = [
    "%Y-%m-%d",
    "%Y-%-m-%-d",
    "%d.%m.%Y",
    "%-d.%-m.%Y",
    "%-m/%-d/%Y",
    "%m/%d/%Y",
    "%d%^b%Y",
    "%d-%b-%Y",
    "%B %-d, %Y",
]
DAYS += ["%Y%m%d", "%d%m%Y", "%-m%d%Y", "%e %b %Y", "%d %B %Y"]
SEPARATORS = [" ", "T", ":"]
CLOCKS = ["%H:%M:%S", "%-H:%M:%S", "%k:%M:%S", "%I:%M:%S %p", "%-I:%M:%S %p", "%l:%M:%S %^p", "%I:%M:%S %P", "%H%M%S"]
FRACTIONS = ["", ".%3f", ",%6f", ".%f", ".%7f"]
ZONES = ["", "Z", " UTC", "+02:00", "+00", "%z", "%:z", "%:::z"]
OF_DAYS = ["%Y%m", "%b-%Y", "%YQ%q", "%Y-Q%q", "%Y", "%^b%Y", "%m/%Y"]
EDGES = ["1900-01-01T00:00:00", "2099-12-31T23:59:59.999999", "2000-02-29T12:00:00", "1996-02-29T00:30:05.000001"]


def times(draw):
    """Return times from 1900 to 2099, some of them at edges."""
    if draw.random() < 0.2:
        return datetime.datetime.fromisoformat(draw.choice(EDGES))
    first = datetime.datetime(1900, 1, 1)
    time = first + datetime.timedelta(days=draw.randrange(73_049), microseconds=draw.randrange(86_400_000_000))
    return time.replace(hour=0, minute=draw.choice([0, 59]), second=0) if draw.random() < 0.2 else time


def cut(form, time):
    """Return a time as fine as a format of days and a clock writes it."""
    digits = form.digits
    unit = 10 ** (6 - min(digits, 6))
    return time.replace(microsecond=time.microsecond // unit * unit)


def test_formats_read_what_they_write_and_write_what_they_read():
    draw = random.Random(1)
    for _ in range(1500):
        text = draw.choice(DAYS) + draw.choice(SEPARATORS) + draw.choice(CLOCKS)
        form = DateFormat(text + draw.choice(FRACTIONS) + draw.choice(ZONES))
        for time in [times(draw) for _ in range(3)]:
            spelled = form.written(time)
            assert form.read(spelled) == cut(form, time), (form.form, spelled)
            assert form.written(*form.read_with_zone(spelled)) == spelled


def test_formats_of_days_and_months_read_what_they_write():
    draw = random.Random(2)
    for form in map(DateFormat, [*DAYS, *OF_DAYS]):
        for _ in range(60):
            time = times(draw)
            spelled = form.written(time)
            read = form.read(spelled)
            assert form.written(read) == spelled
            assert read.year == time.year
            if form.form in DAYS:
                assert read.date() == time.date()


@pytest.mark.parametrize("form", ["%s", "%s%3f", "%s%6f", "%s.%3f"])
def test_seconds_from_1970_on_are_read_and_written(form):
    draw, given = random.Random(3), DateFormat(form)
    for _ in range(200):
        time = cut(given, times(draw))
        if time.year >= 1971:
            assert given.read(given.written(time)) == time


def test_clock_times_as_whole_numbers():
    form = DateFormat("%-H%M")
    for minute in range(24 * 60):
        number = minute // 60 * 100 + minute % 60
        time = form.read(str(number))
        assert (time.hour * 60 + time.minute, form.written(time)) == (minute, str(number))
    for number in (60, 199, 2400, 12345):
        with pytest.raises(ValueError, match="needs a date in the format"):
            form.read(str(number))


@pytest.mark.parametrize(
    ("form", "texts"),
    [
        ("%Y%m", ["201500", "201513", "20151", "2015", "201512 "]),
        ("%-m%d%Y", ["0322020", "1322020", "2302021", "13012020"]),
        ("%d%m%Y", ["31022020", "00012020"]),
        ("%YQ%q", ["2021Q0", "2021Q5"]),
        ("%H:%M", ["24:00", "12:60", "-1:00"]),
        ("%I:%M %p", ["13:00 PM", "00:30 AM"]),
        ("%d%^b%Y", ["31FEB2021", "05MRZ2021"]),
    ],
)
def test_impossible_dates_are_no_dates(form, texts):
    for text in texts:
        with pytest.raises(ValueError, match="needs a date in the format"):
            DateFormat(form).read(text)


def test_a_day_of_a_number_without_its_zero_is_no_other_day():
    assert DateFormat("%-m%d%Y").read("1152021") == datetime.datetime(2021, 1, 15)  # and not the fifth of November
    assert DateFormat("%m%d%Y").read("1152021") == datetime.datetime(2021, 1, 15)


def test_letters_and_zeros_are_read_in_any_spelling():
    assert DateFormat("%d%^b%Y").read("5mar2021") == DateFormat("%-d%b%Y").read("05MAR2021")
    assert DateFormat("%Y-%m-%d %H:%M:%S.%3f").read("2021-3-5 7:08:09") == datetime.datetime(2021, 3, 5, 7, 8, 9)


@pytest.mark.parametrize("form", ["%d.%d.%Y", "%d.%m.%Y%", "%j %q", "%-j"])
def test_formats_that_are_none_are_refused(form):
    with pytest.raises(ValueError, match=r"the format .* has"):
        DateFormat(form)
    with pytest.raises(ValueError, match="format"):
        Date("2020-01-01", "2020-12-31", "month", form)


COLUMNS = {
    "month": Date("2015-01-01", "2023-12-31", "month", "%Y%m"),
    "american": Date("2015-01-01", "2016-12-31", "day", "%-m%d%Y"),
    "clock": Date("1900-01-01", "1900-01-01", "hour", "%-H%M"),
    "minutes": Date("1900-01-01T06:00", "1900-01-01T08:00", "minute", "%H:%M"),
    "sas": Date("2021-01-01", "2021-12-31", "month", "%d%^b%Y:%H:%M:%S"),
    "zoned": Date("2021-01-01", "2021-12-31", "week", "%Y-%m-%dT%H:%M:%S.%3fZ"),
    "seconds": Date("2021-01-01T00:00:00", "2021-01-01T00:10:00", "second"),
    "epoch": Date("2021-01-01", "2021-12-31", "quarter", "%s%3f"),
    "quarter": Date("2021-01-01", "2022-12-31", "quarter", "%YQ%q"),
    "postgres": Date("2021-01-01", "2022-12-31", "year", "%Y-%m-%d %H:%M:%S.%6f+00"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_written_values_are_encoded_as_their_code_and_written_again(name):
    column = COLUMNS[name]
    codes = np.random.default_rng(4).integers(0, column.n_values, 400)
    values = column.drawn(codes, 5)
    texts = column.written(codes, values)
    assert column.encode(texts.tolist())[0].tolist() == codes.tolist()
    assert column.encode(values)[0].tolist() == codes.tolist()
    assert [column.spelling.written(column.spelling.read(t)) for t in texts if column.spelling] == [
        t for t in texts if column.spelling
    ]
    if texts[0].isdigit():
        assert column.encode(np.array([int(text) for text in texts]))[0].tolist() == codes.tolist()


@pytest.mark.parametrize("name", ["sas", "zoned", "epoch", "postgres"])
def test_times_within_coarse_bins_are_drawn_as_fine_as_the_format(name):
    column = COLUMNS[name]
    drawn = column.decode(np.zeros(500, int), 0)
    first, last = column.ends()
    assert len({*(drawn.astype("datetime64[s]").astype(np.int64) % 60).tolist()}) > 50
    steps = column.steps_of(drawn)
    assert first[0] <= steps.min() < steps.max() <= last[0]
    assert steps.max() - steps.min() > 0.9 * (last[0] - first[0])
    assert (column.steps_of(column.of_steps(steps)) == steps).all()


def test_a_column_of_days_takes_no_time_and_one_of_hours_needs_it():
    day = np.array(["2021-02-03"], "datetime64[D]")
    assert COLUMNS["sas"].encode(day)[1] is None  # midnight
    assert COLUMNS["seconds"].encode(day)[1] is not None


def test_clock_times_are_read_as_objects_and_labels_have_no_day():
    column = COLUMNS["clock"]
    assert column.encode([datetime.time(14, 30), 1430, "1430"])[0].tolist() == [14, 14, 14]
    assert column.labels[:2] == ("00:00", "01:00")
