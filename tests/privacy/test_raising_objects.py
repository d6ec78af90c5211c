"""Objects whose own methods raise errors: the column and the row are named, and what the error says is not told."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pytest

import pypgm
from pypgm.data import Boolean, Categorical, Codes, Date, Integer, Real
from pypgm.data.columns.open_columns import OpenSet, QuantileBins
from pypgm.errors import TableError

COLUMNS = {
    "categorical": (Categorical(["a", "b"]), "a"),
    "numbers": (Categorical([1, 2]), 1),
    "others": (Categorical(["a"], other=True), "a"),
    "boolean": (Boolean(), True),
    "codes": (Codes(3), 1),
    "integer": (Integer(0, 9), 1),
    "clipped": (Integer(0, 9, outside="clip"), 1),
    "real": (Real(0, 9, bins=3), 1.0),
    "date": (Date("2020-01-01", "2020-01-09"), "2020-01-02"),
    "open": (OpenSet(share="0.1"), "a"),
    "quantiles": (QuantileBins(Integer(0, 9, width=10), 4, "0.1"), 1),
}
KINDS = {
    object: (),
    str: ("a",),
    int: (1,),
    float: (1.0,),
    bytes: (b"a",),
    Decimal: ("1",),
    datetime.date: (2020, 1, 2),
    np.float64: (1.0,),
}
METHODS = [
    "__hash__",
    "__eq__",
    "__ne__",
    "__lt__",
    "__str__",
    "__repr__",
    "__int__",
    "__index__",
    "__float__",
    "__array__",
]
METHODS += ["__len__", "__iter__", "__getattribute__", "strip", "decode", "is_nan"]
SECRET = "a value of a record"


def raising(kind, method, error=RuntimeError):
    """Return an object of a kind whose method raises an error that quotes it, and otherwise as the kind has it."""

    def fail(*_):
        raise error(SECRET)

    body = {method: fail} | ({"__hash__": kind.__hash__} if method == "__eq__" else {})
    return type("Raising", (kind,), body)(*KINDS[kind])


def check_refusal(error):
    said, around = str(error), (error.__context__, error.__cause__)
    assert type(error) in {ValueError, TableError}
    assert SECRET not in said
    assert around == (None, None)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", COLUMNS)
def test_what_an_object_raises_is_not_told(name, method):
    column, good = COLUMNS[name]
    schema = pypgm.Schema.from_dict({"c": column.to_dict()})
    for kind in KINDS:
        values = np.empty(3, object)
        values[0], values[1], values[2] = good, raising(kind, method), good
        for given in (values, values.tolist()):
            error = None
            try:
                schema.provisional.encode({"c": given})
            except Exception as raised:
                error = raised
            if error is not None:
                check_refusal(error)
                assert "column 'c', row 1 (the first is 0)" in str(error)


@pytest.mark.parametrize("error", [ValueError, KeyError, TypeError, OSError, RecursionError])
def test_an_object_that_raises_is_named_by_its_row_and_nothing_is_charged(error):
    values = ["a", "b", raising(object, "__hash__", error)]
    with pytest.raises(ValueError, match=r"column 'c', row 2 \(the first is 0\)") as raised:
        pypgm.synthesize({"c": values}, pypgm.Schema({"c": ["a", "b"]}), epsilon=1, delta=1e-9)
    check_refusal(raised.value)


def test_what_fails_only_beside_others_has_the_code_that_it_has_alone():
    values = [raising(str, "__eq__") for _ in range(3)]
    codes, problem = OpenSet(share="0.1").provisional.encode(values)
    assert problem is None or SECRET not in problem.what
    assert len(codes) == 3


def test_no_memory_is_said_to_be_that():
    with pytest.raises(MemoryError, match="the values of a column do not fit in memory"):
        pypgm.Schema({"c": 3}).encode({"c": [1, raising(object, "__hash__", MemoryError)]})


@pytest.mark.parametrize("method", ["__array__", "__len__", "__int__", "__index__", "__float__"])
def test_codes_that_raise(method):
    for kind in (object, int):
        values = [1, raising(kind, method)]
        error = None
        try:
            pypgm.Dataset({"a": values}, pypgm.Domain({"a": 3}))
        except Exception as raised:
            error = raised
        assert error is None or (SECRET not in str(error) and error.__context__ is None)


@pytest.mark.parametrize("library", ["pandas"])
def test_a_frame_of_objects_that_raise(library):
    module = pytest.importorskip(library)
    pytest.importorskip("narwhals")
    frame = module.DataFrame({"c": module.Series(["a", raising(object, "__str__")], dtype=object)})
    with pytest.raises(ValueError, match="row 1") as raised:
        pypgm.Schema({"c": ["a", "b"]}).encode(frame)
    check_refusal(raised.value)
