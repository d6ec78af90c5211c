"""Columns of every kind, and values of every kind that records may have."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np

from pypgm.data import Boolean, Categorical, Codes, Date, Integer, Real

BERLIN = dt.timezone(dt.timedelta(hours=2))
COLUMNS = {
    "texts": Categorical(
        ["a", "1", "2", "1.0", "01", "2.5", "True", "false", "2020-01-31", "2020-01-31 05:00:00", "9007199254740993"],
        other=True,
        null=["", "-999"],
    ),
    "numbers": Categorical([1, 2.5, 0.1, 2**53 + 1, 1e20], other=True, null="-999"),
    "booleans": Categorical([True, False, "x"], other=True, null="?"),
    "boolean": Boolean(null="NA"),
    "boolean of numbers": Boolean(["1", "2"], null="-999"),
    "codes": Codes(5, null="-999"),
    "integer": Integer(0, 9, outside="other", null="-999"),
    "clipped": Integer(0, 9, outside="clip", null="-999"),
    "real": Real(0, 9, bins=9, outside="null", null="-999"),
    "day": Date("2020-01-01", "2020-12-31", "day", outside="other", null="1900-01-01"),
    "hour": Date("2020-01-30", "2020-02-02", "hour", outside="null", null=""),
    "digits": Date("2020-01-01", "2020-12-31", "month", "%Y%m%d", outside="other", null="0"),
}
VALUES = {
    "int": [1, 2, 4, -999],
    "wide": [2**53 + 1, 2**53 + 3, 1],
    "float": [1.0, 2.5, 0.1, -999.0],
    "decimal": [Decimal("1.00"), Decimal("2.5"), Decimal("-999")],
    "boolean": [True, False, True],
    "text": ["1", "01", "1.0", " a ", "true"],
    "date": [dt.date(2020, 1, 31), dt.date(2020, 2, 1), dt.date(1900, 1, 1)],
    "time": [dt.datetime(2020, 1, 31, 5), dt.datetime(2020, 2, 1, 23, 59, 59, 999999)],
    "zone": [
        dt.datetime(2020, 1, 31, 0, 30, tzinfo=dt.timezone.utc),
        dt.datetime(2020, 2, 1, 5, tzinfo=dt.timezone.utc),
    ],
    "day": [20200131, 20200201],
}
ODD = [
    *(None, float("nan"), Decimal("NaN"), Decimal("sNaN"), float("inf"), np.datetime64("NaT", "D")),
    *(1, True, 0, False, 1.0, 2.5, Decimal("1.0"), Fraction(5, 2), np.float32(0.1), np.int8(1), np.bool_(True)),
    *(2**53 + 1, float(2**53), 10**30, -1, 1 + 0j, 1j, -999.0),
    *("1", "1.0", "x", "", " 1 ", "-999", "2020-01-31T05:00:00+02:00", b"1", b"\xff", [1]),
    *(dt.date(2020, 1, 31), dt.datetime(2020, 1, 31), dt.datetime(2020, 1, 31, 2, 30, tzinfo=BERLIN), dt.timedelta(1)),
    *(np.datetime64("2020-01-31"), np.datetime64("2020-01-31T05", "ns"), np.datetime64("40000-01-01")),
]


def objects(values):
    """Return values in an array that leaves each as it is."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
