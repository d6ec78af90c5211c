"""Adjustment, counterfactuals and what graphs imply, by brute force over small random networks."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

from pypgm import Domain
from pypgm.bayes import (
    BayesianNetwork,
    adjustment_sets,
    counterfactual,
    independencies,
    is_adjustment_set,
    moral_edges,
    mutual_information,
    twin_network,
)

SEEDS = range(6)


def random_network(seed, n=5):
    rng = np.random.default_rng(seed)
    domain = Domain([*"abcdef"[:n]], rng.integers(2, 4, n).tolist())
    order = rng.permutation(domain.attributes).tolist()
    parents = {a: [b for b in order[:i] if rng.random() < 0.5][:3] for i, a in enumerate(order)}
    tables = {a: rng.dirichlet(np.ones(domain.size(a)), domain.sizes(p)) for a, p in parents.items()}
    return BayesianNetwork(domain, parents, tables)


@pytest.mark.parametrize("seed", SEEDS)
def test_graphs_imply_what_networkx_and_the_numbers_say(seed):
    net = random_network(seed)
    assert set(map(frozenset, moral_edges(net))) == set(map(frozenset, nx.moral_graph(net.to_networkx()).edges))
    implied = independencies(net)
    for a, (others, parents) in implied.items():
        assert mutual_information(net, a, others, given=parents) == pytest.approx(0, abs=1e-9)
        assert net.is_d_separated(a, others, parents)
    for a in set(net.domain) - set(implied):
        assert {a, *net.parents[a], *nx.descendants(net.to_networkx(), a)} == set(net.domain)


@pytest.mark.parametrize("seed", SEEDS)
def test_adjustment_sets_give_the_effect_of_interventions(seed):
    net = random_network(seed)
    for cause, effect in itertools.permutations(net.domain, 2):
        others = [a for a in net.domain if a not in (cause, effect)]
        subsets = [s for k in range(len(others) + 1) for s in itertools.combinations(others, k)]
        good = [set(s) for s in subsets if is_adjustment_set(net, cause, effect, s)]
        minimal = [s for s in good if not any(t < s for t in good)]
        found = list(adjustment_sets(net, cause, effect))
        assert sorted(map(len, found)) == list(map(len, found))
        assert {frozenset(s) for s in found} == {frozenset(s) for s in minimal}
        for given in found[:3]:
            joint = net.query((*given, cause, effect)).values
            conditional = joint / joint.sum(axis=-1, keepdims=True)
            weights = joint.sum(axis=(-2, -1))
            adjusted = (weights[..., None, None] * conditional).sum(axis=tuple(range(len(given))))
            for value in range(net.domain.size(cause)):
                done = net.do({cause: value}).query(effect).values
                assert adjusted[value] == pytest.approx(done, abs=1e-9)


def test_only_observed_attributes_are_adjusted_for():
    half, flip = [0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]]
    arcs = [("u", "v"), ("v", "x"), ("u", "y"), ("x", "y")]
    net = BayesianNetwork(dict.fromkeys("uvxy", 2), arcs, {"u": half, "v": flip, "x": flip, "y": [flip, flip]})
    assert list(adjustment_sets(net, "x", "y")) == [("u",), ("v",)]
    assert list(adjustment_sets(net, "x", "y", observed="v")) == [("v",)]
    assert list(adjustment_sets(net, "x", "y", observed=())) == []
    assert not is_adjustment_set(net, "u", "y", "v")
    for call in (lambda: adjustment_sets(net, "x", "x"), lambda: adjustment_sets(net, "x", "z")):
        with pytest.raises(ValueError, match="attribute"):
            call()


def functional(seed):
    """Return a network in which all attributes but three roots are functions of their parents."""
    rng = np.random.default_rng(seed)
    domain = Domain({"u": 3, "v": 2, "w": 2, "x": 2, "y": 3, "z": 2})
    parents = {"x": ["u"], "y": ["x", "v", "u"], "z": ["y", "w"]}
    functions = {a: rng.integers(0, domain.size(a), domain.sizes(p)) for a, p in parents.items()}
    tables = {a: np.eye(domain.size(a))[f] for a, f in functions.items()}
    roots = {a: rng.dirichlet(np.ones(domain.size(a))) for a in "uvw"}
    return BayesianNetwork(domain, parents, tables | roots), functions, roots


@pytest.mark.parametrize("seed", SEEDS)
def test_counterfactuals_are_those_of_the_functions(seed):
    net, f, roots = functional(seed)

    def world(u, v, w, x=None):
        x = f["x"][u] if x is None else x
        y = f["y"][x, v, u]
        return {"u": u, "v": v, "w": w, "x": int(x), "y": int(y), "z": int(f["z"][y, w])}

    seen = {a: int(net.sample(1, seed).columns[a][0]) for a in "xz"}
    for x in range(2):
        expected = np.zeros((2, 3))
        for u, v, w in itertools.product(range(3), range(2), range(2)):
            fact = world(u, v, w)
            if all(fact[a] == value for a, value in seen.items()):
                then = world(u, v, w, x)
                expected[then["z"], then["u"]] += roots["u"][u] * roots["v"][v] * roots["w"][w]
        found = counterfactual(net, ("z", "u"), seen, {"x": x})
        assert found.domain.attributes == ("z", "u")
        assert found.values == pytest.approx(expected / expected.sum(), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_world_of_a_twin_is_its_own_network(seed):
    net = random_network(seed)
    for a in net.domain:
        twin, names = twin_network(net, {a: 1})
        done = net.do({a: 1})
        for b in net.domain:
            assert twin.query(b).values == pytest.approx(net.query(b).values)
            assert twin.query(names.get(b, b)).values == pytest.approx(done.query(b).values)
    twin, names = twin_network(BayesianNetwork({"a": 2, "a'": 2}, {}, {"a": [1, 0], "a'": [1, 0]}), {"a": 1, "a'": 1})
    assert len(twin.domain) == 4
    assert twin.query(tuple(names.values())).values[1, 1] == 1
