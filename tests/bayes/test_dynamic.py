"""Dynamic networks beside the unrolled network; tables of independent causes beside enumeration; renaming, priors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pypgm import Dataset, Domain, Likelihood
from pypgm.bayes import BayesianNetwork, DynamicNetwork, learn, noisy_adder, noisy_max, noisy_or
from pypgm.errors import ImpossibleEvidenceError, ModelTooLargeError

SEEDS = range(6)


def random_dynamic(seed, n=4):
    rng = np.random.default_rng(seed)
    domain = Domain({"a": ["x", "y"], "b": 3, "c": 2, "d": 2} if n == 4 else {"a": 2})
    names = domain.attributes

    def parents(with_before):
        found = {a: [p for p in names[:i] if rng.random() < 0.5] for i, a in enumerate(names)}
        for a in names if with_before else ():
            found[a] += [f"{p}[t-1]" for p in names if rng.random() < 0.4]
        return found

    def tables(of):
        sizes = {**{a: domain.size(a) for a in names}, **{f"{a}[t-1]": domain.size(a) for a in names}}
        return {a: rng.dirichlet(np.ones(domain.size(a)), tuple(sizes[p] for p in of[a])) for a in names}

    one, two = parents(False), parents(True)
    return DynamicNetwork(BayesianNetwork(domain, one, tables(one)), two, tables(two)), rng


@pytest.mark.parametrize("seed", SEEDS)
def test_filtering_and_smoothing_are_queries_of_the_unrolled_network(seed):
    net, _ = random_dynamic(seed)
    evidence = [{"d": 1}, None, {"b": 2, "a": "x"}, {"c": Likelihood([0.2, 0.7])}, {}]
    whole = net.unroll(len(evidence))

    def until(end):
        return {f"{a}[{t}]": v for t, e in enumerate(evidence[:end]) for a, v in (e or {}).items()}

    filtered, smoothed = net.filter(evidence), net.smooth(evidence)
    for t in range(len(evidence)):
        for a in net.domain:
            assert filtered[t][a].values == pytest.approx(whole.query(f"{a}[{t}]", until(t + 1)).values, abs=1e-12)
            assert smoothed[t][a].values == pytest.approx(whole.query(f"{a}[{t}]", until(5)).values, abs=1e-12)
    assert net.log_probability(evidence) == pytest.approx(whole.log_probability(until(5)))


def test_long_sequences_and_impossible_evidence():
    first = BayesianNetwork({"s": 2}, {}, {"s": [1, 0]})
    net = DynamicNetwork(first, [("s[t-1]", "s")], {"s": [[0.5, 0.5], [0, 1]]})
    assert net.filter([None] * 400)[-1]["s"].values == pytest.approx([0, 1])
    evidence = [{"s": 0}, {"s": 1}, {"s": 0}]
    assert net.log_probability(evidence) == -np.inf
    with pytest.raises(ImpossibleEvidenceError, match="slice 2"):
        net.filter(evidence)
    assert net.filter([]) == []
    alone = DynamicNetwork(first, {}, {"s": [0.25, 0.75]})
    assert alone.smooth([None, None])[1]["s"].values == pytest.approx([0.25, 0.75])
    assert alone.unroll(2).query("s[1]").values == pytest.approx([0.25, 0.75])
    with pytest.raises(ValueError, match="slice before"):
        DynamicNetwork(first, [("s", "s[t-1]")], {"s": [1, 0]})
    with pytest.raises(TypeError, match="tables need a mapping"):
        DynamicNetwork(first, {}, None)
    with pytest.raises(ValueError, match="rename it"):
        DynamicNetwork(first.add("s[t-1]", 2, [0.5, 0.5]), {}, {})
    with pytest.raises(ValueError, match="n_slices"):
        net.unroll(0)


@pytest.mark.parametrize("evidence", [None, 3, {"a": "x"}, "a"])
def test_evidence_that_is_no_sequence_of_slices_is_refused(evidence):
    net, _ = random_dynamic(0)
    for question in (net.filter, net.smooth, net.log_probability):
        with pytest.raises(TypeError, match="evidence of slices needs a sequence"):
            question(evidence)


@pytest.mark.parametrize("seed", SEEDS)
def test_tables_of_independent_causes_are_those_of_all_contributions(seed):
    rng = np.random.default_rng(seed)
    sizes, n = rng.integers(2, 4, 3), 3
    causes = [rng.dirichlet(np.ones(n), size) for size in sizes]
    leak = rng.dirichlet(np.ones(n))
    largest, total, capped = (np.zeros((*sizes, k)) for k in (n, 4 * (n - 1) + 1, 4))
    for amounts in itertools.product(range(n), repeat=4):
        for x in np.ndindex(*sizes):
            p = leak[amounts[3]] * np.prod([causes[i][x[i], amounts[i]] for i in range(3)])
            largest[(*x, max(amounts))] += p
            total[(*x, sum(amounts))] += p
            capped[(*x, min(sum(amounts), 3))] += p
    assert noisy_max(causes, leak) == pytest.approx(largest)
    assert noisy_adder(causes, leak) == pytest.approx(total)
    assert noisy_adder(causes, leak, size=4) == pytest.approx(capped)
    assert noisy_adder(causes) == pytest.approx(noisy_adder(causes, [1, 0, 0])[..., :-2])
    assert noisy_max(causes) == pytest.approx(noisy_max(causes, [1, 0, 0]))
    p = rng.random(4)
    table = noisy_or(p[:3], p[3])
    for x in np.ndindex(2, 2, 2):
        assert table[x][0] == pytest.approx((1 - p[3]) * np.prod((1 - p[:3]) ** x))
    assert noisy_or(p[:3])[0, 0, 0].tolist() == [1, 0]


@pytest.mark.parametrize(
    "call",
    [
        lambda: noisy_or([0.5, 1.5]),
        lambda: noisy_or([0.5], leak=-1),
        lambda: noisy_max([]),
        lambda: noisy_max([[[0.5, 0.5]], [[1, 0, 0]]]),
        lambda: noisy_max([[[0.5, 0.4]]]),
        lambda: noisy_max([[0.5, 0.5]]),
        lambda: noisy_adder([[[1, 0]]], size=0),
        lambda: noisy_adder([[[1, 0]]], leak=[[1, 0]]),
    ],
)
def test_unsuitable_causes_are_refused(call):
    with pytest.raises(ValueError, match=r"cause|probability|row|leak|size"):
        call()
    for wrong in (lambda: noisy_or([0.5], leak="x"), lambda: noisy_max(5), lambda: noisy_adder(None)):
        with pytest.raises(TypeError, match=r"leak must|each cause"):
            wrong()


def test_tables_of_too_many_causes_are_refused():
    with pytest.raises(ModelTooLargeError, match="causes"):
        noisy_or([0.5] * 60)


def test_renaming_changes_names_alone():
    net, _ = random_dynamic(0)
    net = net.unroll(2)
    names = {a: f"new {a}" for a in net.domain}
    labels = {a: [f"v{i}" for i in range(net.domain.size(a))] for a in net.domain.attributes[:3]}
    other = net.rename(names, labels)
    for a in net.domain:
        assert other.query(names[a]).values.tolist() == net.query(a).values.tolist()
    assert other.domain.labels["new a[0]"] == ("v0", "v1")
    back = other.rename({new: old for old, new in names.items()}, {"new a[0]": ["x", "y"]})
    assert back.domain.attributes == net.domain.attributes
    swapped = net.rename({"a[0]": "a[1]", "a[1]": "a[0]"})
    assert swapped.query("a[1]").values.tolist() == net.query("a[0]").values.tolist()
    for given in ({"names": {"z": "q"}}, {"names": {"a[0]": "a[1]"}}, {"labels": {"a[0]": ["x"]}}):
        with pytest.raises(ValueError, match=r"z|names|labels"):
            net.rename(**given)


def test_a_prior_network_counts_as_records_of_its_own():
    rng = np.random.default_rng(0)
    domain = Domain({"a": 2, "b": 3, "c": 2})
    prior = BayesianNetwork(domain, [("a", "b"), ("c", "b")], {
        "a": [0.3, 0.7], "b": rng.dirichlet(np.ones(3), (2, 2)), "c": [0.5, 0.5]
    })  # fmt: skip
    data = Dataset({a: rng.integers(0, domain.size(a), 30) for a in domain}, domain)
    for structure in ([("a", "b")], [("c", "a"), ("b", "a")]):
        learned = learn(data, structure, prior=prior, strength=5)
        for a in domain:
            family = (*learned.parents[a], a)
            counts = data.project(family).values + 5 * prior.query(family).values
            assert learned.tables[a].values == pytest.approx(counts / counts.sum(axis=-1, keepdims=True))
    frame = {a: [None, *data.columns[a][1:].tolist()] for a in domain}
    assert learn(frame, prior, domain=domain, prior=prior, strength=1e9).tables["b"].values == pytest.approx(
        prior.tables["b"].values, abs=1e-6
    )
    with pytest.raises(ValueError, match="domain"):
        learn(data, [], prior=prior.rename({"a": "z"}))
