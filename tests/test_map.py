"""The most probable assignment: brute force, ties, evidence, libDAI graphs, impossible cases."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from libdai import read_fg
from models import chain, evidence_on, models

import pypgm
from pypgm import CliqueVector, Domain, GraphicalModel, ImpossibleEvidenceError, JunctionTree


def value_of(potentials, codes, likelihoods=None):
    """Return the sum of the potentials and log-likelihoods of an assignment."""
    cells = [tuple(codes[a] for a in clique) for clique in potentials.cliques]
    total = sum(
        float(potentials.table(i).reshape(potentials.domain.sizes(c))[cell])
        for i, (c, cell) in enumerate(zip(potentials.cliques, cells, strict=True))
    )
    with np.errstate(divide="ignore"):
        return total + sum(float(np.log(w[codes[a]])) for a, w in (likelihoods or {}).items())


def found_map(potentials, evidence=None):
    return JunctionTree(potentials.domain, potentials.cliques).map(potentials, evidence)


@st.composite
def models_with_evidence(draw):
    potentials = draw(models())
    return potentials, *draw(evidence_on(potentials.domain))


@given(models_with_evidence())
def test_value_and_assignment_against_the_joint_table(case):
    potentials, evidence, likelihoods = case
    table = reference.with_evidence(potentials.domain, reference.log_joint(potentials), likelihoods)
    if table.max() == -np.inf:
        with pytest.raises(ImpossibleEvidenceError, match="no joint assignment"):
            found_map(potentials, evidence)
        return
    codes, value = found_map(potentials, evidence)
    assert tuple(codes) == potentials.domain.attributes
    assert value == pytest.approx(table.max(), rel=1e-12, abs=1e-11)
    assert value_of(potentials, codes, likelihoods) == pytest.approx(value, rel=1e-12, abs=1e-11)


@pytest.mark.parametrize("seed", range(200))
def test_ties_go_to_the_lexicographically_smallest(seed):
    # Small integers: sums are exact, and ties abound.
    rng = np.random.default_rng(seed)
    domain = _random_domain(rng)
    cliques = [
        tuple(rng.choice(domain.attributes, min(len(domain), rng.integers(0, 4)), replace=False))
        for _ in range(rng.integers(0, 9))
    ]
    potentials = CliqueVector(domain, cliques)
    potentials.values[:] = rng.integers(0, 3, potentials.values.size)
    potentials.values[rng.random(potentials.values.size) < 0.1] = -np.inf
    evidence = {
        a: [int(c) for c in rng.choice(domain.size(a), rng.integers(1, domain.size(a) + 1), replace=False)]
        for a in domain.attributes
        if rng.random() < 0.3
    }
    likelihoods = {a: np.isin(np.arange(domain.size(a)), v).astype(float) for a, v in evidence.items()}
    table = reference.with_evidence(domain, reference.log_joint(potentials), likelihoods)
    if table.max() == -np.inf:
        with pytest.raises(ImpossibleEvidenceError):
            found_map(potentials, evidence)
        return
    codes, value = found_map(potentials, evidence)
    # The first cell in C order is the lexicographically smallest.
    assert value == table.max()
    assert tuple(codes.values()) == np.unravel_index(np.argmax(table), domain.shape)


def _random_domain(rng):
    n = int(rng.integers(1, 8))
    return Domain([f"x{i}" for i in range(n)], [int(s) for s in rng.integers(1, 5, n)])


def test_everything_tied_and_nothing_given():
    potentials = chain(300, 3)
    codes, value = found_map(potentials)
    assert set(codes.values()) == {0}
    assert value == 0
    assert JunctionTree(Domain({}), []).map(CliqueVector(Domain({}), [])) == ({}, 0.0)
    # Equal neighbours or different ones, as a chain tells: two maximisers, of which the first begins with 0.
    rng = np.random.default_rng(0)
    potentials = chain(200, 2)
    differ = rng.random(199) < 0.5
    for i, d in enumerate(differ):
        potentials.table(i)[:] = [0, 1, 1, 0] if d else [1, 0, 0, 1]
    codes, value = found_map(potentials)
    assert list(codes.values()) == [0, *(np.cumsum(differ) % 2)]
    assert value == 199
    codes, _ = found_map(potentials, {"x0": [1]})
    assert list(codes.values()) == [1, *((1 + np.cumsum(differ)) % 2)]


def test_a_tie_leaves_what_it_does_not_touch_alone():
    """A grid of 400 attributes is solved in a tenth of a second; searching each of them for ties takes a minute."""
    n = 20
    edges = [((i, j), (i + di, j + dj)) for i in range(n) for j in range(n) for di, dj in ((0, 1), (1, 0))]
    cliques = [(f"x{a}_{b}", f"x{c}_{d}") for (a, b), (c, d) in edges if max(c, d) < n]
    domain = Domain({f"x{i}_{j}": 2 for i in range(n) for j in range(n)})
    potentials = CliqueVector(domain, cliques, np.random.default_rng(0).normal(size=4 * len(cliques)))
    alone, value = found_map(potentials)
    wider = Domain({"free": 3, **dict.fromkeys(domain, 2), "tied": 2})
    found, same = found_map(CliqueVector(wider, [*cliques, ("x0_0", "tied")], [*potentials.values, 0, 0, 0, 0]))
    assert found == {"free": 0, **alone, "tied": 0}
    assert same == pytest.approx(value)


def test_labels_come_back_and_evidence_holds():
    domain = Domain({"sex": ["F", "M"], "age": 3, "year": [1999, 2001]})
    potentials = CliqueVector(domain, [("sex", "age"), ("age", "year")], [0, 1, 2, 3, 0, 0, 1, 0, 0, 5, 0, 0])
    assert found_map(potentials) == ({"sex": "F", "age": 1, "year": 2001}, 6.0)
    assert found_map(potentials, {"year": 1999}) == ({"sex": "M", "age": 0, "year": 1999}, 4.0)
    weights = np.array([1.0, np.exp(-9.0)])
    codes, value = found_map(potentials, {"year": weights})
    assert codes == {"sex": "M", "age": 0, "year": 1999}
    assert value == pytest.approx(4.0)
    with pytest.raises(ImpossibleEvidenceError, match="the evidence on year"):
        found_map(potentials, {"year": np.zeros(2)})
    with pytest.raises(ValueError, match="the tree was built for"):
        JunctionTree(domain, ["age"]).map(potentials)


def max_elimination(potentials):
    """Return the largest sum of potentials, eliminating one attribute after the other from tables in NumPy."""
    domain = potentials.domain
    live = [(c, potentials.table(i).reshape(domain.sizes(c))) for i, c in enumerate(potentials.cliques)]
    for attribute in domain.attributes:
        met = [x for x in live if attribute in x[0]]
        live = [x for x in live if attribute not in x[0]]
        scope = domain.canonical({a for c, _ in met for a in c} or [attribute])
        table = np.zeros(domain.sizes(scope))
        for clique, cells in met:
            table = table + cells.reshape([domain.size(a) if a in clique else 1 for a in scope])
        live.append((tuple(a for a in scope if a != attribute), table.max(axis=scope.index(attribute))))
    return float(sum(table for _, table in live))


@pytest.mark.parametrize("name", ["maxprodbug", "maxprodbug2", "jtreemapbug", "alarm", "testfast"])
def test_libdai_graphs_against_max_elimination(data_dir, name):
    potentials = read_fg(data_dir / "libdai" / f"{name}.fg")
    codes, value = found_map(potentials)
    assert value == pytest.approx(max_elimination(potentials), rel=1e-12)
    assert value_of(potentials, codes) == pytest.approx(value, rel=1e-12)


def test_long_hidden_markov_model_by_viterbi():
    steps, states = 3000, 3
    rng = np.random.default_rng(3)
    transition = np.log(rng.dirichlet(np.ones(states), size=states))
    emission = np.log(rng.random((steps, states)))
    potentials = chain(steps, states)
    potentials.values[:] = np.tile(transition.ravel(), steps - 1)
    evidence = {f"x{t}": np.exp(emission[t]) for t in range(steps)}
    codes, value = found_map(potentials, evidence)
    best, back = emission[0], []
    for t in range(1, steps):
        scores = best[:, None] + transition
        back.append(scores.argmax(axis=0))
        best = scores.max(axis=0) + emission[t]
    path = [int(best.argmax())]
    for step in reversed(back):
        path.append(int(step[path[-1]]))
    assert list(codes.values()) == path[::-1]
    assert value == pytest.approx(best.max(), rel=1e-12)


def test_hash_order_of_evidence_does_not_matter():
    potentials = chain(6, 3, np.random.default_rng(1))
    pairs = [("x0", 1), ("x5", 2), ("x3", [0, 1])]
    answers = [found_map(potentials, dict(order)) for order in itertools.permutations(pairs)]
    assert all(codes == answers[0][0] for codes, _ in answers)


@given(models_with_evidence())
def test_a_model_has_the_map_and_the_log_partition_of_its_tree(case):
    potentials, evidence, _ = case
    try:
        model = GraphicalModel(potentials, 7.0)
        wanted = model.tree.map(potentials, evidence)
    except ImpossibleEvidenceError:
        return
    assert model.map(evidence) == wanted
    assert model.map() == model.tree.map(potentials)
    assert model.log_partition(evidence) == model.tree.log_partition(potentials, evidence)
    assert model.log_partition() == model.tree.log_partition(potentials)


def test_attributes_that_are_functions_of_others_are_in_the_map_of_a_model():
    domain = Domain({"zip": 4, "state": ["A", "B"], "c": 2})
    counts = np.array([[5.0, 1], [2, 3], [4, 30], [6, 7]])
    measured = [pypgm.LinearMeasurement(counts, ("zip", "c"), stddev=0.1)]
    mapping = pypgm.Constraint(("zip", "state"), mapping=[0, 0, 1, 1])
    model = pypgm.estimate(domain, measured, constraints=[mapping], stop="optimum")
    assert model.map()[0] == {"zip": 2, "state": "B", "c": 1}
    assert model.map({"state": "A"})[0] == {"zip": 0, "state": "A", "c": 0}
    found, log_weight = model.map({"c": 0})
    assert found == {"zip": 3, "state": "B", "c": 0}
    assert np.exp(log_weight - model.log_partition()) == pytest.approx(6 / 58, rel=0.01)
