"""What is kept of a column tells what was declared, and not which values it has met."""

from __future__ import annotations

import copy
import pickle

import pytest

from pypgm import Schema
from pypgm.data import Boolean, Categorical, Codes, Date, Integer, Real

COLUMNS = {
    "texts": (Categorical(["x", "y"], other=True, null=True), ["z", 5, None, True, ""]),
    "numbers": (Categorical([1, 2.5], other=True, null=True), [7, "1.0", None, True]),
    "flag": (Boolean(["no", "yes"], null="-1"), ["-1", None]),
    "code": (Codes(3, null="-1"), [-1, None, "2"]),
    "whole": (Integer(0, 9, null="-1"), [-1, None, "4"]),
    "share": (Real(0, 1, bins=2, null="-1"), [-1, None, "0.5"]),
    "day": (Date("2020-01-01", "2020-01-31", null=True), ["", None, "2020-01-07"]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_pickle_is_the_same_whatever_was_encoded(name):
    column, values = COLUMNS[name]
    before = {keep: keep(Schema({name: column})) for keep in (pickle.dumps, pickled_copy)}
    for value in values:
        schema = Schema({name: copy.deepcopy(column)})
        schema.encode({name: [value]})
        assert {keep: keep(schema) for keep in before} == before
        assert pickle.loads(pickle.dumps(schema)) == schema
        assert pickle.loads(pickle.dumps(schema)).encode({name: [value]}).count([(name,)])[0].sum() == 1


def pickled_copy(schema):
    return pickle.dumps(copy.deepcopy(schema))
