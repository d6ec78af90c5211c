"""Questions about a network, beside the joint table of small random networks."""

from __future__ import annotations

import inspect
import itertools
import warnings
from functools import partial

import numpy as np
import pytest

from pypgm import Domain, Likelihood, bayes
from pypgm.bayes import (
    BayesianNetwork,
    entropy,
    explanations,
    findings_worth,
    mutual_information,
    sensitivity,
)
from pypgm.errors import ImpossibleEvidenceError, ModelTooLargeError, TimeLimitWarning

SEEDS = range(6)


def random_network(seed, n=5, zeros=True):
    """Return a network of 2 or 3 labels or codes, a third of the cells of each row zero if there are zeros."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, n).tolist()
    domain = Domain(
        {a: [f"{a}{v}" for v in range(k)] if k == 3 else k for a, k in zip("abcdefgh", sizes, strict=False)}
    )
    order = rng.permutation(domain.attributes).tolist()
    parents = {a: [b for b in order[:i] if rng.random() < 0.5][:3] for i, a in enumerate(order)}
    tables = {}
    for a, members in parents.items():
        table = rng.dirichlet(np.ones(domain.size(a)), domain.sizes(members))
        if zeros:
            table *= rng.random(table.shape) > 1 / 3
            table[..., 0] += (table.sum(axis=-1) == 0) * 1.0
        tables[a] = table / table.sum(axis=-1, keepdims=True)
    return BayesianNetwork(domain, parents, tables)


def joint(net, evidence=None):
    """Return the probabilities of all attributes together, and the evidence if there is any."""
    letters = dict(zip(net.domain, "abcdefghij", strict=False))
    tables = [(("".join(letters[x] for x in t.domain)), t.values) for t in net.tables.values()]
    whole = np.einsum(",".join(s for s, _ in tables) + "->" + "".join(letters.values()), *(v for _, v in tables))
    for a, given in (evidence or {}).items():
        shape = [-1 if b == a else 1 for b in net.domain]
        whole = whole * np.asarray(given.values if isinstance(given, Likelihood) else given, float).reshape(shape)
    return whole


def evidence_of(net, seed):
    """Return possible evidence: a value of one attribute, and likelihoods of another, as arrays of floats."""
    codes = net.sample(1, seed).columns
    first, *_, last = net.domain
    rng = np.random.default_rng(seed)
    return {first: np.eye(net.domain.size(first))[codes[first][0]], last: rng.random(net.domain.size(last)) + 0.1}


def shannon(p):
    p = p[p > 0]
    return -(p * np.log(p)).sum()


def summed(net, table, kept):
    return table.sum(axis=tuple(i for i, a in enumerate(net.domain) if a not in kept))


@pytest.mark.parametrize("seed", SEEDS)
def test_information_is_that_of_the_joint_table(seed):
    net = random_network(seed)
    for evidence in (None, evidence_of(net, seed)):
        table = joint(net, evidence)
        table /= table.sum()
        assert entropy(net, evidence=evidence) == pytest.approx(shannon(table), abs=1e-9)
        h = {s: shannon(summed(net, table, s)) for k in range(4) for s in itertools.combinations("abcde", k)}
        for kept in ("b", "ad", "bce"):
            assert entropy(net, tuple(kept), evidence) == pytest.approx(h[tuple(kept)], abs=1e-9)
        expected = h["b", "d"] + h["c", "d"] - h["b", "c", "d"] - h["d",]
        assert mutual_information(net, "b", "c", evidence, given="d") == pytest.approx(expected, abs=1e-9)
        expected = h["a", "b"] + h["c",] - h["a", "b", "c"]
        assert mutual_information(net, ("a", "b"), "c", evidence) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_findings_are_worth_their_mutual_information(seed):
    net = random_network(seed)
    for evidence in (None, evidence_of(net, seed)):
        worth = findings_worth(net, "c", evidence)
        assert set(worth) == set(net.domain) - {"c"} - set(evidence or {})
        assert list(worth.values()) == sorted(worth.values(), reverse=True)
        for a, value in worth.items():
            assert value == pytest.approx(mutual_information(net, "c", a, evidence), abs=1e-9)
    assert list(findings_worth(net, "c", findings="a")) == ["a"]


@pytest.mark.parametrize("seed", SEEDS)
def test_sensitivities_are_the_slopes_of_the_answer(seed):
    net = random_network(seed, 4)
    evidence = {"d": evidence_of(net, seed)["d"]}
    if np.count_nonzero(evidence["d"]) == 0:
        evidence = None
    value = net.map("b", evidence)[0]["b"]
    found = sensitivity(net, {"b": value}, evidence)
    code = net.domain.labels["b"].index(value) if "b" in net.domain.labels else value
    step = 1e-6

    def answer(attribute, cell, theta):
        table = net.tables[attribute].values.copy()
        row, x = table[cell[:-1]], cell[-1]
        rest = 1 - row[x]
        others = row * (1 - theta) / rest if rest > 0 else np.full_like(row, (1 - theta) / (len(row) - 1))
        others[x] = theta
        table[cell[:-1]] = others
        return net.replace_table(attribute, table).query("b", evidence).values[code]

    for attribute, slopes in found.items():
        for cell in np.ndindex(slopes.shape):
            theta = net.tables[attribute].values[cell]
            low, high = max(0.0, theta - step), min(1.0, theta + step)
            slope = (answer(attribute, cell, high) - answer(attribute, cell, low)) / (high - low)
            assert slopes[cell] == pytest.approx(slope, abs=2e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_explanations_are_the_largest_cells(seed):
    net = random_network(seed)
    for evidence in (None, evidence_of(net, seed)):
        table = joint(net, evidence)
        ordered = np.sort(table[table > 0])[::-1]
        for k in (1, 7, 10_000):
            found = explanations(net, k, evidence)
            assert len({tuple(values.values()) for values, _ in found}) == len(found) == min(k, len(ordered))
            assert np.exp([log for _, log in found]) == pytest.approx(ordered[: len(found)], rel=1e-9)
            assert np.exp(net.log_probability(found[-1][0])) > 0
        few = summed(net, table, "bd").reshape(-1)
        few = np.sort(few[few > 0])[::-1]
        found = explanations(net, 4, evidence, iter(("d", "b")))
        assert [list(values) for values, _ in found] == [["d", "b"]] * len(found)
        assert np.exp([log for _, log in found]) == pytest.approx(few[:4], rel=1e-9)


def test_explanations_that_take_long_end_with_the_most_probable_ones(capsys):
    net = random_network(0)
    whole = explanations(net, 10_000)
    with pytest.warns(TimeLimitWarning, match="ended the explanations"):
        assert explanations(net, 10_000, time_limit=1e-9) == whole[:1]
    assert explanations(net, 10_000, time_limit=1000, progress=True) == whole
    assert "explanations" in capsys.readouterr().err
    for targets in (None, net.domain.attributes[0]):
        with pytest.raises(ValueError, match="time_limit"):
            explanations(net, 1, targets=targets, time_limit=-1.0)


def test_the_time_limit_of_explanations_warns_only_where_more_are_left(monkeypatch):
    """At whichever look at the clock time is over: the ones found are the most probable, and the last one is known."""
    net = BayesianNetwork(
        {"a": 2, "b": 2, "c": 2},
        [("a", "b"), ("b", "c")],
        {"a": [0.4, 0.6], **{x: [[1, 0], [0.25, 0.75]] for x in "bc"}},
    )
    whole = explanations(net, 8)
    assert len(whole) == 4
    monkeypatch.setattr("pypgm._base.clock.now", partial(next, itertools.count()))
    for k, limit in itertools.product((1, 3, 4, 8), range(1, 40)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = explanations(net, k, time_limit=limit)
        assert found == whole[: len(found)]
        assert len(found) >= 1
        assert [w.category for w in caught] == [TimeLimitWarning] * (len(found) < min(k, 4))


def test_more_explanations_than_fit_are_refused_at_once():
    names = [f"x{i}" for i in range(60)]
    net = BayesianNetwork(dict.fromkeys(names, 2), [], {a: [0.4, 0.6] for a in names})
    with pytest.raises(ModelTooLargeError, match=r"1000000000000000 explanations.*ask for fewer"):
        explanations(net, 10**15)
    assert len(explanations(net, 10**15, targets=("x3", "x5"))) == 4


def test_unsuitable_questions_are_refused():
    net = BayesianNetwork({"a": 2, "b": 2}, [("a", "b")], {"a": [1, 0], "b": [[0.5, 0.5], [0.5, 0.5]]})
    for call in (
        lambda: entropy(net, evidence={"a": 1}),
        lambda: findings_worth(net, "b", {"a": 1}),
        lambda: sensitivity(net, {"b": 0}, {"a": 1}),
        lambda: explanations(net, 1, {"a": 1}),
        lambda: explanations(net, 1, {"a": 1}, "b"),
    ):
        with pytest.raises(ImpossibleEvidenceError):
            call()
    for message, call in {
        "evidence": lambda: sensitivity(net, {"a": 0}, {"a": 0}),
        "at least 1": lambda: explanations(net, 0),
        "at least one target": lambda: explanations(net, 1, targets=()),
        "finding about itself": lambda: findings_worth(net, "a", findings=["a"]),
        "'c'": lambda: entropy(net, "c"),
    }.items():
        with pytest.raises(ValueError, match=message):
            call()


NET = BayesianNetwork({"a": 2, "b": 2}, [("a", "b")], {"a": [0.5, 0.5], "b": [[1, 0], [0.5, 0.5]]})
QUESTIONS = {
    "entropy": lambda net, given: bayes.entropy(net, "a", given),
    "mutual_information": lambda net, given: bayes.mutual_information(net, "a", "b", given),
    "findings_worth": lambda net, given: bayes.findings_worth(net, "a", given),
    "sensitivity": bayes.sensitivity,
    "sensitivity given": lambda net, given: bayes.sensitivity(net, {"a": 0}, given),
    "explanations": lambda net, given: bayes.explanations(net, 1, given),
    "counterfactual": lambda net, given: bayes.counterfactual(net, "b", given, {"a": 0}),
    "twin_network": bayes.twin_network,
    "query": lambda net, given: BayesianNetwork.query(net, "a", given) if net is NET else bayes.entropy(net),
    "adjustment_sets": lambda net, _: bayes.adjustment_sets(net, "a", "b"),
    "is_adjustment_set": lambda net, _: bayes.is_adjustment_set(net, "a", "b", ()),
    "independencies": lambda net, _: bayes.independencies(net),
    "moral_edges": lambda net, _: bayes.moral_edges(net),
    "compare_networks": lambda net, _: bayes.compare_networks(NET, net),
    "DynamicNetwork": lambda net, _: bayes.DynamicNetwork(net, [], {}),
}


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
def test_what_is_no_network_or_no_mapping_is_refused(ask):
    for net in (None, 5, "net.bif", {}):
        with pytest.raises(TypeError, match="BayesianNetwork is needed"):
            ask(net, {"b": 0})
    if "_" in inspect.signature(ask).parameters:
        return
    for given in (5, "b", ["b"]):
        with pytest.raises(TypeError, match="needs a mapping"):
            ask(NET, given)
    assert bayes.explanations(NET, np.int64(1)) == bayes.explanations(NET, 1)
