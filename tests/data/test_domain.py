"""Domain: sizes, orders, algebra, and every refusal."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypgm.domain import Domain, as_clique

NAMES = st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=6, unique=True)


@st.composite
def domains(draw):
    names = draw(NAMES)
    sizes = draw(st.lists(st.integers(1, 50), min_size=len(names), max_size=len(names)))
    return Domain(names, sizes)


@st.composite
def domains_and_cliques(draw):
    domain = draw(domains())
    order = draw(st.permutations(domain.attributes))
    return domain, tuple(order[: draw(st.integers(0, len(order)))])


@pytest.fixture
def people():
    return Domain({"age": 85, "sex": ["F", "M"], "income": 2})


def test_mapping_and_names_give_the_same_domain(people):
    other = Domain(["age", "sex", "income"], (85, 2, 2), labels={"sex": ["F", "M"]})
    assert people == other
    assert hash(people) == hash(other)
    assert people.attributes == ("age", "sex", "income")
    assert people.shape == (85, 2, 2)
    assert people.labels == {"sex": ("F", "M")}


def test_numpy_integers_are_sizes():
    assert Domain(["a"], np.array([3])).shape == (3,)
    assert all(type(size) is int for size in Domain(["a"], np.array([3])).shape)


def test_domain_without_attributes_has_one_cell():
    assert Domain({}).size() == 1
    assert len(Domain([], [])) == 0


def test_size_is_exact_beyond_64_bits():
    assert Domain({str(i): 10 for i in range(50)}).size() == 10**50


def test_order_asked_is_kept_and_canonical_is_the_domain_s(people):
    assert people.indices(("income", "age")) == (2, 0)
    assert people.sizes(("income", "age")) == (2, 85)
    assert people.project(("income", "age")).attributes == ("income", "age")
    assert people.canonical(("income", "age")) == ("age", "income")


def test_one_name_is_a_clique_of_one(people):
    assert as_clique("age") == ("age",)
    assert as_clique(["age", "sex"]) == ("age", "sex")
    assert people.size("age") == 85
    assert people.project("sex") == Domain({"sex": ["F", "M"]})


def test_labels_cannot_be_changed_from_outside(people):
    with pytest.raises(TypeError, match="item assignment"):
        people.labels["age"] = ("young", "old")
    assert people.labels == {"sex": ("F", "M")}


def test_equality_sees_order_sizes_and_labels(people):
    assert people != people.project(("sex", "age", "income"))
    assert people != Domain({"age": 84, "sex": ["F", "M"], "income": 2})
    assert people != Domain({"age": 85, "sex": ["M", "F"], "income": 2})
    assert people != Domain({"age": 85, "sex": 2, "income": 2})
    assert people != people.attributes


def test_container_protocol(people):
    assert list(people) == ["age", "sex", "income"]
    assert len(people) == 3
    assert "sex" in people
    assert "zip" not in people


def test_repr_is_short():
    assert repr(Domain({"age": 85, "sex": ["F", "M"]})) == "Domain(age: 85, sex: 2)"
    assert repr(Domain({str(i): 2 for i in range(100)})).endswith("… (100 in all))")


@given(domains_and_cliques())
def test_projection_keeps_sizes(case):
    domain, clique = case
    part = domain.project(clique)
    assert part.attributes == clique
    assert part.shape == domain.sizes(clique)
    assert part.size() == domain.size(clique) == math.prod(domain.sizes(clique))


@given(domains_and_cliques())
def test_canonical_is_sorted_by_index_and_idempotent(case):
    domain, clique = case
    canonical = domain.canonical(clique)
    assert sorted(domain.indices(clique)) == list(domain.indices(canonical))
    assert domain.canonical(canonical) == canonical


@given(domains_and_cliques())
def test_projection_of_a_projection_is_one_projection(case):
    domain, clique = case
    assert domain.project(clique).project(clique[::-1]) == domain.project(clique[::-1])
    assert domain.project(domain.attributes) == domain


@given(domains())
def test_index_inverts_attributes(domain):
    assert [domain.index(name) for name in domain] == list(range(len(domain)))


REFUSED_DOMAINS = [
    (({"a": 2}, [2]), TypeError, "go with a sequence of names"),
    (({"a": 2}, None, {"a": ["x", "y"]}), TypeError, "go with a sequence of names"),
    ((["a"],), TypeError, "needs their shape"),
    ((["a", "b"], [2]), ValueError, "2 attributes need as many sizes, got 1"),
    ((["a", "a"], [2, 3]), ValueError, "'a' comes more than once"),
    (({"a": 0},), ValueError, "'a' needs at least one value, got size 0"),
    (({"a": -3},), ValueError, "'a' needs at least one value, got size -3"),
    (({"a": []},), ValueError, "'a' needs at least one value"),
    (({"a": 2.0},), TypeError, "'a' needs an integer size, got 2.0"),
    (({"a": True},), TypeError, "'a' needs an integer size, got True"),
    (({"a": None},), TypeError, "'a' needs an integer size, got None"),
    (({"a": "FM"},), TypeError, "'a' needs a size or a list of labels"),
    (({1: 2},), TypeError, "attribute names are strings, got 1"),
    (({"a": ["x", "x"]},), ValueError, "label 'x' comes more than once"),
    (({"a": [(0, 1), (1, 0)]},), TypeError, r"a label must be a single value, got \(0, 1\)"),
    ((["a"], [3], {"a": ["x", "y"]}), ValueError, "'a' has 3 values, got 2 labels"),
    ((["a"], [2], {"b": ["x", "y"]}), ValueError, "unknown attribute 'b'"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), REFUSED_DOMAINS)
def test_refused_domains(arguments, error, message):
    with pytest.raises(error, match=message):
        Domain(*arguments)


@pytest.mark.parametrize("method", ["index", "indices", "sizes", "size", "project", "canonical"])
def test_unknown_attribute_is_named(people, method):
    with pytest.raises(ValueError, match="unknown attribute 'zip'; the domain has age, sex, income"):
        getattr(people, method)("zip")


def test_unhashable_attribute_is_unknown(people):
    with pytest.raises(ValueError, match="unknown attribute"):
        people.index(["age"])


@pytest.mark.parametrize("method", ["indices", "sizes", "size", "project", "canonical"])
def test_repeated_attribute_is_named(people, method):
    with pytest.raises(ValueError, match="names attribute 'age' more than once"):
        getattr(people, method)(("age", "sex", "age"))


@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan"), np.datetime64("NaT", "D")])
def test_what_means_missing_is_no_label(missing):
    with pytest.raises(ValueError, match="attribute 'rain': a label must be a value, got"):
        Domain({"rain": ["yes", missing]})
    with pytest.raises(ValueError, match="attribute 'rain': a label must be a value, got"):
        Domain(["rain"], [1], {"rain": [missing]})
