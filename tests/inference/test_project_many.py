"""Many projections at once: the same as one by one, in order, in parallel, within memory, without the GIL."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest
import reference
from hypothesis import assume, given
from hypothesis import strategies as st
from random_models import chain, evidence_on, models

from pypgm import CliqueVector, Domain, GraphicalModel, ImpossibleEvidenceError, ModelTooLargeError
from pypgm._base.clock import Clock

TOTAL = 1000.0
CLOSE = {"rtol": 1e-10, "atol": 1e-12 * TOTAL}


@st.composite
def asked(draw):
    potentials = draw(models())
    clique = st.lists(st.sampled_from(potentials.domain.attributes), max_size=4, unique=True).map(tuple)
    return potentials, draw(st.lists(clique, max_size=12))


@given(asked(), st.data())
def test_against_brute_force_and_one_by_one(case, data):
    potentials, cliques = case
    evidence, likelihoods = data.draw(evidence_on(potentials.domain))
    table = reference.log_joint(potentials)
    assume(table.max() > -np.inf)
    model = GraphicalModel(potentials, TOTAL)
    joint = reference.joint(table, TOTAL)
    for clique, many in zip(cliques, model.project_many(cliques), strict=True):
        assert many.domain.attributes == clique
        np.testing.assert_allclose(many.values, reference.project(potentials.domain, joint, clique), **CLOSE)
        np.testing.assert_allclose(many.values, model.project(clique).values, rtol=0, atol=1e-12 * TOTAL)
    table = reference.with_evidence(potentials.domain, table, likelihoods)
    if table.max() == -np.inf:
        with pytest.raises(ImpossibleEvidenceError):
            model.project_many(cliques, evidence)
        return
    joint = reference.joint(table, TOTAL)
    for clique, many in zip(cliques, model.project_many(cliques, evidence), strict=True):
        np.testing.assert_allclose(many.values, reference.project(potentials.domain, joint, clique), **CLOSE)
        np.testing.assert_allclose(model.project(clique, evidence).values, many.values, **CLOSE)


def random_tree(n=15, largest=12, seed=0, extra=3):
    """A tree of pairs with a few triples over it."""
    rng = np.random.default_rng(seed)
    names = [f"x{i}" for i in range(n)]
    domain = Domain(names, rng.integers(2, largest, size=n).tolist())
    cliques = [(names[i], names[int(rng.integers(0, i))]) for i in range(1, n)]
    cliques += [tuple(rng.choice(names, 3, replace=False)) for _ in range(extra)]
    potentials = CliqueVector(domain, cliques)
    potentials.values[:] = rng.normal(size=potentials.values.size)
    return potentials


def all_pairs_and_triples(model):
    names = model.domain.attributes
    return [c for k in (2, 3) for c in itertools.combinations(names, k)]


def test_all_pairs_and_triples_of_fifteen_attributes():
    model = GraphicalModel(random_tree(), TOTAL)
    cliques = all_pairs_and_triples(model)
    many = model.project_many(cliques)
    for clique, factor in zip(cliques, many, strict=True):
        np.testing.assert_allclose(factor.values, model.project(clique).values, rtol=0, atol=1e-12 * TOTAL)
    by_clique = dict(zip(cliques, many, strict=True))
    for clique in cliques[105:]:
        for pair in itertools.combinations(clique, 2):
            np.testing.assert_allclose(by_clique[clique].project(pair).values, by_clique[pair].values, **CLOSE)


@pytest.mark.parametrize("n_threads", [0, 1, 2, 5])
def test_threads_and_repetition_change_no_bit(n_threads):
    model = GraphicalModel(random_tree(seed=1, largest=30, extra=1), TOTAL)
    cliques = all_pairs_and_triples(model)
    first = model.project_many(cliques)
    again = model.project_many(cliques, n_threads=n_threads)
    assert all(a.values.tobytes() == b.values.tobytes() for a, b in zip(first, again, strict=True))


def test_nothing_repeated_and_any_order():
    model = GraphicalModel(random_tree(n=6), TOTAL)
    assert model.project_many([]) == []
    cliques = [("x3", "x0"), ("x0", "x3"), (), "x5", ("x3", "x0"), ("x4", "x1", "x2", "x0")]
    found = model.project_many(cliques)
    assert [f.domain.attributes for f in found[:4]] == [("x3", "x0"), ("x0", "x3"), (), ("x5",)]
    np.testing.assert_array_equal(found[0].values, found[1].values.T)
    np.testing.assert_array_equal(found[0].values, found[4].values)
    assert found[2].values == pytest.approx(TOTAL)
    for refused, message in ((["x0", "zip"], "unknown attribute 'zip'"), ([("x0", "x0")], "more than once")):
        with pytest.raises(ValueError, match=message):
            model.project_many(refused)


def test_ends_of_a_long_chain_share_their_way():
    potentials = chain(2000, 3, np.random.default_rng(3))
    model = GraphicalModel(potentials, 1.0)
    far = model.project_many([("x0", f"x{i}") for i in (1999, 1000, 10)])
    product = np.eye(3)
    backward = np.ones(3)
    for index in reversed(range(1999)):
        weights = np.exp(potentials.table(index).reshape(3, 3))
        product, backward = weights @ product, weights @ backward
        product /= product.sum()
        backward /= backward.sum()
    np.testing.assert_allclose(far[0].values, product, rtol=1e-10)
    np.testing.assert_allclose(far[1].project("x0").values, far[2].project("x0").values, rtol=1e-12)


def test_answers_that_do_not_fit_are_refused_and_tight_memory_is_shared_out():
    model = GraphicalModel(random_tree(seed=2), TOTAL)
    cliques = all_pairs_and_triples(model)
    calibrated = model._calibrated
    with pytest.raises(ModelTooLargeError, match=r"answers \(560\) need .* cells; .* ask for fewer at a time"):
        calibrated.project_many(cliques, Clock(), max_bytes=1000)
    returned = sum(8 * model.domain.size(c) for c in cliques)
    plan = calibrated._plans.plan([], [(model.domain.indices(c), (-1,) * len(c)) for c in cliques])
    whole = calibrated.project_many(cliques, Clock())
    tight = calibrated.project_many(cliques, Clock(), max_bytes=returned + plan.cost["bytes"] / 8)
    for a, b in zip(whole, tight, strict=True):
        np.testing.assert_allclose(a.values, b.values, rtol=1e-12)
    with pytest.raises(ModelTooLargeError, match=r"the table over \(x.* needs"):
        calibrated.project_many([cliques[-1]], Clock(), max_bytes=8 * model.domain.size(cliques[-1]) + 8)
    wide = GraphicalModel(chain(40, 10), 1.0)
    with pytest.raises(ModelTooLargeError, match=r"need 1e\+40 cells"):
        wide.project(wide.domain.attributes)


def test_two_python_threads_compute_at_the_same_time():
    """While one long call is under way another thread makes many short ones: neither holds the interpreter."""
    rng = np.random.default_rng(5)
    domain = Domain({"a": 90, "b": 90, "c": 90, "d": 90, "e": 90})
    potentials = CliqueVector(domain, [("a", "b", "c"), ("c", "d"), ("d", "e")])
    potentials.values[:] = rng.normal(size=potentials.values.size)
    long = GraphicalModel(potentials, 1.0)
    short = GraphicalModel(random_tree(n=4), 1.0)
    short.project(("x0", "x3"))
    done = threading.Event()
    calls = [0]

    def keep_asking():
        while not done.is_set():
            short.project_many([("x0", "x3")], n_threads=1)
            calls[0] += 1

    other = threading.Thread(target=keep_asking)
    other.start()
    try:
        overlapped = 0
        for _ in range(20):
            before = calls[0]
            long.project_many([("a", "b", "e")], n_threads=1)
            overlapped = max(overlapped, calls[0] - before)
            if overlapped >= 5:
                break
    finally:
        done.set()
        other.join()
    assert overlapped >= 5
