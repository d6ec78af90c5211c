"""A mapping may have a missing value for all values that it does not list."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pypgm import Schema
from pypgm.data import Derived

_IMAGES = ("x", 7, None)


@pytest.mark.parametrize("source", ["listed", "numbers"])
def test_other_may_be_missing_and_need_not_be_given(source):
    values = ["a", "b", "c"] if source == "listed" else [0, 1, 2]
    column = values if source == "listed" else {"kind": "integer", "low": 0, "high": 2}
    for images in itertools.product((*_IMAGES, ...), repeat=len(values)):
        pairs = [[value, image] for value, image in zip(values, images, strict=True) if image is not ...]
        derived = {"kind": "derived", "from": "s", "mapping": pairs, "other": None}
        if all(image in {None, ...} for image in images):
            continue
        schema = Schema.from_dict({"columns": {"s": column, "d": derived}})
        assert Schema.from_dict(schema.to_dict()) == schema, "a stored release has the same schema"
        decoded = schema.decode(schema.encode({"s": values}))["d"].tolist()
        assert decoded == [None if image is ... else image for image in images]
        left_out = {name: value for name, value in derived.items() if name != "other"}
        if ... in images:
            with pytest.raises(ValueError, match="no entry for"):
                Schema.from_dict({"columns": {"s": column, "d": left_out}})


def test_the_file_of_a_schema_says_whether_other_is_given():
    assert "other" not in Derived("s", {"a": 1}).to_dict()
    assert Derived("s", {"a": 1}, other=None).to_dict()["other"] is None
    made = Schema({"s": ["a", "b"], "d": Derived("s", {"a": 1}, other=None)})
    assert made.decode(made.encode({"s": np.array(["b"])}))["d"].tolist() == [None]
