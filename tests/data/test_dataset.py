"""Dataset: what it keeps, counts and refuses."""

from __future__ import annotations

import numpy as np
import pytest

from pypgm._base import memory
from pypgm.data import Dataset
from pypgm.domain import Domain
from pypgm.errors import ModelTooLargeError

DOMAIN = Domain({"a": 3, "b": ["x", "y"]})


def test_columns_are_kept_as_they_are():
    table = np.arange(12, dtype=np.int16).reshape(6, 2) % 2
    data = Dataset({"a": table[:, 0], "b": table[::-1, 1]}, DOMAIN)
    assert np.shares_memory(data.columns["a"], table)
    assert data.columns["b"].strides == (-4,)
    assert data.count([("a", "b")])[0].tolist() == [0, 6, 0, 0, 0, 0]


@pytest.mark.parametrize("weights", [np.array([1j, 2.0]), np.ma.array([1.0, 2.0], mask=[1, 0])])
def test_weights_are_real_numbers(weights):
    with pytest.raises(TypeError, match="weights must be real numbers"):
        Dataset({"a": [0, 1], "b": [1, 0]}, DOMAIN, weights=weights)


@pytest.mark.parametrize("dtype", [">i4", "<u2", ">u8"])
def test_byte_order_does_not_matter(dtype):
    data = Dataset({"a": np.array([0, 2, 2], dtype=dtype), "b": [1, 0, 1]}, DOMAIN)
    assert data.count([("a",)])[0].tolist() == [1, 0, 2]


def test_unaligned_columns_count():
    records = np.zeros(5, dtype=[("pad", "i1"), ("a", "i4")])
    records["a"] = [0, 1, 2, 2, 1]
    data = Dataset({"a": records["a"]}, Domain({"a": 3}))
    assert data.count([("a",)])[0].tolist() == [1, 2, 2]


def test_columns_take_the_order_of_the_domain():
    data = Dataset({"b": [0, 1], "a": [2, 0]}, DOMAIN)
    assert list(data.columns) == ["a", "b"]


def test_no_records():
    data = Dataset({"a": [], "b": np.empty(0, dtype=np.int8)}, DOMAIN)
    assert data.n_records == len(data) == 0
    assert data.count([("a", "b"), ()])[1].tolist() == [0]
    assert data.project(("b", "a")).values.tolist() == [[0.0] * 3] * 2


def test_project_takes_axes_as_asked():
    data = Dataset({"a": [2, 0, 2], "b": [1, 0, 0]}, DOMAIN)
    factor = data.project(("b", "a"))
    assert factor.domain.attributes == ("b", "a")
    assert factor.values.tolist() == [[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]


def test_weights_add_up():
    data = Dataset({"a": [2, 0, 2], "b": [1, 0, 0]}, DOMAIN, weights=[0.5, 2, 0])
    assert data.project("a").values.tolist() == [2.0, 0.0, 0.5]
    assert data.n_records == 3
    with pytest.raises(ValueError, match="without weights"):
        data.count([("a",)])


def test_a_domain_without_attributes():
    assert Dataset({}, Domain({})).n_records == 0
    assert Dataset({}, Domain({}), weights=[1.0, 2.0]).n_records == 2


def test_repr():
    assert repr(Dataset({"a": [0], "b": [1]}, DOMAIN)) == "Dataset(1 records; a: 3, b: 2)"
    assert "weighted" in repr(Dataset({"a": [0], "b": [1]}, DOMAIN, weights=[1.0]))


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ({"a": [0]}, ValueError, "missing: 'b'"),
        ({"a": [0], "b": [0], "c": [0]}, ValueError, "without an attribute in the domain: 'c'"),
        ({"a": [0, 1], "b": [0]}, ValueError, "equal lengths, got 2 for 'a' and 1 for 'b'"),
        ({"a": [[0]], "b": [0]}, ValueError, r"'a' needs one dimension, got shape \(1, 1\)"),
        ({"a": [0.0], "b": [0]}, TypeError, "'a' needs integer codes, got dtype float64; give missing values"),
        ({"a": [np.nan], "b": [0]}, TypeError, "'a' needs integer codes"),
        ({"a": [True], "b": [0]}, TypeError, "uint8"),
        ({"a": ["x"], "b": [0]}, TypeError, "from_frame.* takes labels"),
        ({"a": np.ma.array([0], mask=[1]), "b": [0]}, TypeError, "masked array"),
        ({"a": [0, 977], "b": [0, 0]}, ValueError, "'a' needs codes from 0 to 2; row 1 "),
        ({"a": [0, 1], "b": [0, -977]}, ValueError, "'b' needs codes from 0 to 1; row 1 "),
        ({"a": np.array([2**63 + 977], dtype=np.uint64), "b": [0]}, ValueError, "'a' needs codes from 0 to 2; row 0 "),
    ],
)
def test_refused_columns(columns, error, message):
    with pytest.raises(error, match=message) as caught:
        Dataset(columns, DOMAIN)
    assert "977" not in str(caught.value)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], r"one entry for each of 2 records, got shape \(1,\)"),
        ([1.0, np.nan], "row 1"),
        ([np.inf, 1.0], "row 0"),
        ([1.0, -3.0], "row 1"),
    ],
)
def test_refused_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        Dataset({"a": [0, 1], "b": [0, 1]}, DOMAIN, weights=weights)


def test_refused_cliques():
    data = Dataset({"a": [0], "b": [0]}, DOMAIN)
    with pytest.raises(ValueError, match="unknown attribute 'z'"):
        data.count([("a", "z")])
    with pytest.raises(ValueError, match="more than once"):
        data.project(("a", "a"))
    with pytest.raises(TypeError, match="sequence of cliques"):
        data.count("a")
    with pytest.raises(ValueError, match="n_threads"):
        data.count([("a",)], n_threads=-1)


def test_a_table_too_large_is_refused_before_memory_is_taken():
    domain = Domain([f"x{i}" for i in range(1200)], [10] * 1200)
    data = Dataset({name: [] for name in domain}, domain)
    with pytest.raises(ModelTooLargeError, match=r"a clique of 1200 attributes needs 1e\+1200 cells; one table holds"):
        data.count([domain.attributes])
    with pytest.raises(ModelTooLargeError, match=r"clique .*'x0'.* needs 1e\+10 cells; one table holds"):
        data.project(domain.attributes[:10])


def test_tables_that_do_not_fit_memory_together_are_refused(monkeypatch):
    monkeypatch.setattr(memory, "_available", lambda: 2.0**26)
    domain = Domain({"a": 1024, "b": 1024, "c": 1024})
    data = Dataset({name: [0] for name in domain}, domain)
    assert len(data.count([("a", "b"), ("b", "c")])) == 2
    with pytest.raises(ModelTooLargeError, match=r"all tables need 0.0469 GiB, the limit is 0.0312 GiB: count fewer"):
        data.count([("a", "b"), ("b", "c"), ("a", "c")])


def test_codes_changed_after_construction_are_refused():
    column = np.zeros(5000, dtype=np.int8)
    data = Dataset({"a": column}, Domain({"a": 3}))
    column[4321] = 77
    with pytest.raises(ValueError, match="row 4321"):
        data.count([("a",)])
    weighted = Dataset({"a": np.zeros(5000, dtype=np.int8)}, Domain({"a": 3}), weights=np.ones(5000))
    weighted.columns["a"][17] = -1
    with pytest.raises(ValueError, match="row 17"):
        weighted.project("a")
