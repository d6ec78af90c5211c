"""Bayesian networks: posteriors against the joint table, what may be left out, batches, samples, every refusal."""

from __future__ import annotations

import csv
import gzip
import itertools
import json

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import evidence_on
from scipy import stats

import pypgm
from pypgm import Dataset, Domain, Factor, ImpossibleEvidenceError, ModelTooLargeError
from pypgm.bayes import BayesianNetwork, division
from pypgm.bayes.batch import posteriors
from pypgm.bayes.checks import NetworkError
from pypgm.bayes.sampling import draw_rows

CLOSE = {"rtol": 1e-11, "atol": 1e-13}  # sums of a few thousand products of doubles


def random_network(rng, n=6, largest=3, zeros=0.0, *, error=0.0):
    names = [f"x{i}" for i in rng.permutation(n)]
    sizes = rng.integers(1, largest + 1, n)
    domain = Domain(names, sizes)
    order = rng.permutation(names).tolist()
    parents = {m: rng.permutation(order[:i])[: rng.integers(0, 4)].tolist() for i, m in enumerate(order)}
    tables = {}
    for m in names:
        cells = rng.random(domain.sizes((*parents[m], m))) + 0.01
        cells[rng.random(cells.shape) < zeros] = 0
        cells[..., 0] += cells.sum(axis=-1) == 0
        cells /= cells.sum(axis=-1, keepdims=True)
        tables[m] = cells * (1 + error * rng.uniform(-1, 1, (*cells.shape[:-1], 1)))
    return BayesianNetwork(domain, parents, tables)


def joint(net):
    """Return the whole table of probabilities; rows of the tables are divided by their sums."""
    letters = {a: i for i, a in enumerate(net.domain)}
    rows = {a: t.values / t.values.sum(axis=-1, keepdims=True) for a, t in net.tables.items()}
    parts = itertools.chain(*((rows[a], [letters[b] for b in t.domain]) for a, t in net.tables.items()))
    return np.einsum(*parts, list(range(len(letters))))


def weighted(net, table, likelihoods):
    for attribute, likelihood in likelihoods.items():
        shape = [-1 if a == attribute else 1 for a in net.domain]
        table = table * np.asarray(likelihood, dtype=float).reshape(shape)
    return table


def onto(net, table, targets):
    letters = {a: i for i, a in enumerate(net.domain)}
    return np.einsum(table, list(range(len(letters))), [letters[a] for a in targets])


@st.composite
def networks(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    zeros, error = draw(st.sampled_from([0.0, 0.4])), draw(st.sampled_from([0.0, 5e-5]))
    return random_network(rng, draw(st.integers(1, 6)), zeros=zeros, error=error)


SPRINKLER = Domain({"rain": ["no", "yes"], "sprinkler": ["off", "on"], "grass": ["dry", "wet"]})


@pytest.fixture
def sprinkler():
    parents = {"sprinkler": "rain", "grass": ("sprinkler", "rain")}
    tables = {
        "rain": [0.8, 0.2],
        "sprinkler": [[0.6, 0.4], [0.99, 0.01]],
        "grass": [[[1.0, 0.0], [0.2, 0.8]], [[0.1, 0.9], [0.01, 0.99]]],
    }
    return BayesianNetwork(SPRINKLER, parents, tables, name="sprinkler")


# Posteriors.


@given(networks(), st.data())
def test_answers_are_those_of_the_joint_table(net, data):
    evidence, likelihoods = data.draw(evidence_on(net.domain))
    targets = data.draw(st.lists(st.sampled_from(net.domain.attributes), max_size=3, unique=True))
    table = weighted(net, joint(net), likelihoods)
    if table.sum() == 0:
        assert net.log_probability(evidence) == -np.inf
        for ask in (lambda: net.marginals(evidence), lambda: net.query(targets, evidence)):
            with pytest.raises(ImpossibleEvidenceError):
                ask()
        return
    assert net.log_probability(evidence) == pytest.approx(np.log(table.sum()), rel=1e-11, abs=1e-11)
    found = net.query(targets, evidence)
    assert found.domain.attributes == tuple(targets)
    np.testing.assert_allclose(found.values, onto(net, table, targets) / table.sum(), **CLOSE)
    for attribute, factor in net.marginals(evidence).items():
        np.testing.assert_allclose(factor.values, onto(net, table, [attribute]) / table.sum(), **CLOSE)


def test_a_textbook_posterior(sprinkler):
    # 0.35768768: the well-known answer of the sprinkler network.
    assert sprinkler.query("rain", {"grass": "wet"}).values[1] == pytest.approx(0.16038 / 0.44838, rel=1e-12)
    assert list(sprinkler.marginals()) == ["rain", "sprinkler", "grass"]
    assert sprinkler.log_probability({}) == sprinkler.log_probability(None) == 0.0
    assert sprinkler.log_probability({"grass": "wet"}) == pytest.approx(np.log(0.44838), rel=1e-12)


@pytest.mark.parametrize("zeros", [0.0, 0.4])
def test_one_plan_answers_all_values_of_the_same_attributes(monkeypatch, zeros):
    rng = np.random.default_rng(3)
    made, plan = [], pypgm._core.plan_elimination
    monkeypatch.setattr(pypgm._core, "plan_elimination", lambda *a: made.append(a) or plan(*a))
    for _ in range(20):
        net = random_network(rng, 6, zeros=zeros)
        table, (target, *known, soft) = joint(net), rng.permutation(net.domain.attributes)[:4].tolist()
        made.clear()
        for codes in itertools.product(*map(range, net.domain.sizes(known))):
            likelihood = rng.random(net.domain.size(soft)) + 0.1
            evidence = dict(zip(known, codes, strict=True))
            likely = {a: np.eye(net.domain.size(a))[code] for a, code in evidence.items()} | {soft: likelihood}
            posterior = weighted(net, table, likely)
            evidence[soft] = pypgm.Likelihood(likelihood)
            if posterior.sum() == 0:
                with pytest.raises(ImpossibleEvidenceError):
                    net.query(target, evidence)
            else:
                expected = onto(net, posterior, [target]) / posterior.sum()
                np.testing.assert_allclose(net.query(target, evidence).values, expected, **CLOSE)
        assert len(made) == 1


def test_impossible_evidence_raises_wherever_it_stands(sprinkler):
    evidence = {"grass": "wet", "rain": "no", "sprinkler": "off"}
    for ask in (sprinkler.marginals, lambda e: sprinkler.query("rain", e), lambda e: sprinkler.query((), e)):
        with pytest.raises(ImpossibleEvidenceError, match="grass, rain, sprinkler"):
            ask(evidence)
    for oracle in ("exact", "region_graph", "sampling", "auto"):
        assert sprinkler.log_probability(evidence, oracle=oracle) == -np.inf


def test_a_long_hidden_markov_model_does_not_underflow():
    rng = np.random.default_rng(0)
    steps = 3000
    names = [f"{kind}{i}" for i in range(steps) for kind in "hx"]
    initial, transition, emission = (
        rng.dirichlet(np.ones(3)),
        rng.dirichlet(np.ones(3), 3),
        rng.dirichlet(np.ones(4), 3),
    )
    parents = {f"h{i}": f"h{i - 1}" for i in range(1, steps)} | {f"x{i}": f"h{i}" for i in range(steps)}
    tables = {m: emission if m[0] == "x" else initial if m == "h0" else transition for m in names}
    net = BayesianNetwork(Domain(names, [3, 4] * steps), parents, tables)
    seen = rng.integers(0, 4, steps)
    evidence = {f"x{i}": int(v) for i, v in enumerate(seen)}
    state, wanted = initial * emission[:, seen[0]], 0.0
    for v in seen[1:]:
        wanted += np.log(state.sum())
        state = (state / state.sum()) @ transition * emission[:, v]
    wanted += np.log(state.sum())
    assert net.log_probability(evidence) == pytest.approx(wanted, rel=1e-12)
    last = f"h{steps - 1}"
    np.testing.assert_allclose(net.query(last, evidence).values, state / state.sum(), rtol=1e-10)


def test_disconnected_attributes():
    net = BayesianNetwork(Domain({"a": 2, "b": 3}), {}, {"a": [0.3, 0.7], "b": [0.2, 0.3, 0.5]})
    np.testing.assert_allclose(net.query(("b", "a")).values, np.outer([0.2, 0.3, 0.5], [0.3, 0.7]), rtol=1e-14)


# The most probable values.


@given(networks(), st.data())
def test_most_probable_values_are_those_of_the_joint_table(net, data):
    evidence, likelihoods = data.draw(evidence_on(net.domain))
    some = st.lists(st.sampled_from(net.domain.attributes), max_size=3, unique=True)
    targets = data.draw(st.one_of(st.none(), some, st.permutations(net.domain.attributes)))
    table = weighted(net, joint(net), likelihoods)
    if table.sum() == 0:
        with pytest.raises(ImpossibleEvidenceError):
            net.map(targets, evidence)
        return
    asked = net.domain.attributes if targets is None else tuple(targets)
    found, log_value = net.map(targets, evidence)
    wanted = onto(net, table, asked)
    assert tuple(found) == asked
    assert log_value == pytest.approx(np.log(wanted.max()), rel=1e-10, abs=1e-10)
    assert wanted[tuple(found.values())] == pytest.approx(wanted.max(), rel=1e-10)


def test_joint_values_are_not_the_values_of_each_alone(sprinkler):
    domain = Domain({"a": 2, "b": ["x", "y", "z"]})
    net = BayesianNetwork(domain, {"b": "a"}, {"a": [0.4, 0.6], "b": [[1, 0, 0], [0.34, 0.33, 0.33]]})
    assert net.map() == ({"a": 0, "b": "x"}, pytest.approx(np.log(0.4)))
    assert net.map("a") == ({"a": 1}, pytest.approx(np.log(0.6)))
    assert net.map(("b", "a"), {"a": 1}) == ({"b": "x", "a": 1}, pytest.approx(np.log(0.6 * 0.34)))
    assert net.map("b", {"a": 1}) == ({"b": "x"}, pytest.approx(np.log(0.6 * 0.34)))
    assert net.map((), {"a": 1}) == ({}, pytest.approx(np.log(0.6)))
    assert sprinkler.map("rain", {"grass": "wet"})[0] == {"rain": "no"}


def test_ties_of_targets_go_to_the_lexicographically_first():
    domain = Domain({"a": 2, "b": 2, "c": 2})
    pair = np.full((2, 2), 0.5)
    net = BayesianNetwork(domain, {"b": "a"}, {"a": [0.5, 0.5], "b": pair, "c": [0.5, 0.5]})
    assert net.map()[0] == {"a": 0, "b": 0, "c": 0}
    different = np.array([[0.0, 1.0], [1.0, 0.0]])
    net = BayesianNetwork(domain, {"b": "a"}, {"a": [0.5, 0.5], "b": different, "c": [0.5, 0.5]})
    for asked in (("b", "a"), ("a", "b")):
        found = net.map(asked)[0]
        assert (found["a"], found["b"]) == (0, 1)
    assert net.map()[0] in ({"a": 0, "b": 1, "c": 0}, {"a": 1, "b": 0, "c": 0})


def test_targets_whose_table_does_not_fit_are_refused_with_their_size(data_dir):
    net = BayesianNetwork.read_bif(data_dir / "bif" / "pigs.bif.gz")
    leaves = [a for a in net.domain if not any(a in p for p in net.parents.values())][:60]
    with pytest.raises(ModelTooLargeError, match="GiB"):
        net.map(leaves)
    # All attributes, and known ones, need no such table.
    found, log_value = net.map(None, dict.fromkeys(leaves, "1"))
    assert all(found[a] == "1" for a in leaves)
    logs = sum(
        np.log(net.tables[a].values[tuple(int(found[b]) for b in net.tables[a].domain.attributes)]) for a in net.domain
    )
    assert log_value == pytest.approx(logs, rel=1e-12)
    assert net.map(leaves[:30], dict.fromkeys(leaves[:30], "1"))[0] == dict.fromkeys(leaves[:30], "1")


# What is left out.


def test_printed_digits_of_a_child_do_not_weigh_its_parents():
    domain = Domain({"a": 2, "b": 2, "c": 2})
    tables = {"a": [0.5, 0.5], "b": [[0.50003, 0.50003], [0.5, 0.5]], "c": [[0.5, 0.5], [0.1, 0.9]]}
    net = BayesianNetwork(domain, {"b": "a", "c": "a"}, tables)
    assert {a for a in domain if "'" + a + "'" in " ".join(net.notes)} == {"b"}
    np.testing.assert_array_equal(net.tables["b"].values, tables["b"])
    for answer in (net.query("a"), net.marginals()["a"]):
        np.testing.assert_allclose(answer.values, 0.5, rtol=1e-13)
    np.testing.assert_allclose(net.predict_proba({"c": [None]}, "a")["a"][0], 0.5, rtol=1e-13)
    for evidence, p in (({"a": 0}, 0.5), ({"b": 0}, 0.5), ({"a": 0, "b": 1}, 0.25)):
        assert net.log_probability(evidence) == pytest.approx(np.log(p), rel=1e-12)
        assert net.log_likelihood({a: [v] for a, v in evidence.items()})[0] == pytest.approx(np.log(p), rel=1e-12)
    assert net.map(["a", "b"])[1] == pytest.approx(np.log(0.25), rel=1e-12)
    assert net.map()[1] == pytest.approx(np.log(0.25 * 0.9), rel=1e-12)
    exact = BayesianNetwork(domain, net.parents, {**tables, "b": [[0.5, 0.5], [0.5, 0.5]]})
    assert pypgm.bayes.compare_networks(net, exact).kl == pytest.approx(0, abs=1e-15)


@given(networks(), st.data())
def test_answers_do_not_depend_on_what_is_left_out(net, data):
    names = st.lists(st.sampled_from(net.domain.attributes), min_size=1, max_size=2, unique=True)
    targets, known = data.draw(names), data.draw(names)
    evidence = dict.fromkeys(known, 0)
    try:
        whole = net.marginals(evidence)
    except ImpossibleEvidenceError:
        return
    found = net.query(targets, evidence)
    for attribute in targets:
        np.testing.assert_allclose(found.project(attribute).values, whole[attribute].values, rtol=0, atol=1e-11)


@given(networks(), st.data())
def test_marginals_do_not_depend_on_how_a_network_is_divided(net, data):
    evidence, likelihoods = data.draw(evidence_on(net.domain))
    table = weighted(net, joint(net), likelihoods)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(division, "_BYTES_PLANNED", 0)  # to plan is worth everything
        divided = net._divided(evidence)
        assert {a for part in divided for a in part.domain} == set(net.domain)
        assert all({*evidence} <= {*part.domain} for part in divided)
        if table.sum() == 0:
            with pytest.raises(ImpossibleEvidenceError):
                net.marginals(evidence)
            return
        for attribute, factor in net.marginals(evidence).items():
            np.testing.assert_allclose(factor.values, onto(net, table, [attribute]) / table.sum(), **CLOSE)


@settings(max_examples=30)
@given(networks(), st.data())
def test_rows_do_not_depend_on_how_a_network_is_divided(net, data):
    columns = data.draw(st.lists(st.sampled_from(net.domain.attributes), min_size=1, max_size=2, unique=True))
    frame = {a: [None, 0, net.domain.size(a) - 1] for a in columns}
    targets = data.draw(st.permutations([a for a in net.domain if a not in columns]))
    if not targets:
        return
    whole = net.predict_proba(frame, targets, impossible="nan")
    likely = net.log_likelihood(frame)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(division, "_BYTES_PLANNED", 0)
        fresh = BayesianNetwork(net.domain, net.parents, net.tables)
        found = fresh.predict_proba(frame, targets, impossible="nan")
        assert list(found) == list(whole) == targets
        for t in targets:
            np.testing.assert_allclose(found[t], whole[t], **CLOSE)
        np.testing.assert_allclose(fresh.log_likelihood(frame), likely, rtol=1e-11, atol=1e-11)


def pairs_of_roots(n_roots, size):
    """Return a network in which every two roots have a child."""
    rng = np.random.default_rng(0)
    roots = [f"r{i}" for i in range(n_roots)]
    parents = {f"c{a}{b}": (a, b) for a, b in itertools.combinations(roots, 2)}
    domain = Domain(dict.fromkeys([*roots, *parents], size))
    shapes = {a: domain.sizes(parents.get(a, ())) for a in domain}
    return BayesianNetwork(domain, parents, {a: rng.dirichlet(np.ones(size), shape) for a, shape in shapes.items()})


@pytest.mark.parametrize(("n_roots", "size"), [(9, 8), (20, 10)])
def test_marginals_take_no_tree_of_children_that_are_unknown(n_roots, size):
    net = pairs_of_roots(n_roots, size)
    for evidence in ({}, {"r0": 1}, {"cr0r1": 2}):
        divided = net._divided(evidence)
        assert sum(part.tree.cost.bytes for part in divided) < 2e7
        found = net.marginals(evidence)
        assert list(found) == list(net.domain)
        for attribute in ("r0", "r2", "cr0r2", f"cr1r{n_roots - 1}"):
            np.testing.assert_allclose(found[attribute].values, net.query(attribute, evidence).values, **CLOSE)
    rows = net.predict_proba({"r0": [1, None]})
    np.testing.assert_allclose(rows["cr0r2"][0], net.query("cr0r2", {"r0": 1}).values, **CLOSE)
    np.testing.assert_allclose(rows["cr0r2"][1], net.query("cr0r2").values, **CLOSE)


def test_a_network_is_divided_once_for_all_values_of_the_same_attributes(monkeypatch):
    net = pairs_of_roots(8, 8)
    net.marginals({"r0": 1})
    monkeypatch.setattr(pypgm._core, "JunctionTree", None)
    assert net.marginals({"r0": 2})["r0"].values.tolist() == [0, 0, 1, 0, 0, 0, 0, 0]


def test_a_query_answers_where_the_whole_tree_does_not_fit():
    """Forty parents of one child are too many for a table, and none of them asks for it."""
    rng = np.random.default_rng(0)
    grid = 12
    names = [f"g{i}.{j}" for i in range(grid) for j in range(grid)]
    parents = {
        f"g{i}.{j}": [p for p in (f"g{i - 1}.{j}", f"g{i}.{j - 1}") if p in names]
        for i in range(grid)
        for j in range(grid)
    }
    sizes = dict.fromkeys(names, 20)
    tables = {n: rng.dirichlet(np.ones(20), size=(20,) * len(parents[n])) for n in names}
    net = BayesianNetwork(Domain(sizes), parents, tables)
    with pytest.raises(ModelTooLargeError, match="GiB"):
        net.marginals()
    np.testing.assert_allclose(net.query("g0.1").values, tables["g0.0"] @ tables["g0.1"], rtol=1e-12)
    # Nor does it matter to rows in which all but one attribute are known.
    frame = {n: [3] for n in names if n != "g5.5"}
    scores = tables["g5.5"][3, 3] * tables["g5.6"][3, :, 3] * tables["g6.5"][:, 3, 3]
    np.testing.assert_allclose(net.predict_proba(frame)["g5.5"][0], scores / scores.sum(), rtol=1e-12)


# Batches.


@given(networks(), st.data())
def test_batches_answer_as_single_queries_do(net, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n_rows = data.draw(st.integers(0, 8))
    columns = [a for a in net.domain if rng.random() < 0.7]
    targets = data.draw(st.sampled_from([None, net.domain.attributes[:1], net.domain.attributes]))
    frame = {
        a: [None if rng.random() < 0.3 else int(v) for v in rng.integers(0, net.domain.size(a), n_rows)]
        for a in columns
    }
    if not columns:
        n_rows = 0
    elif not set(net.domain) - set(columns if targets is None else ()) or (targets and set(columns) <= set(targets)):
        with pytest.raises(ValueError, match=r"every (attribute has a column|column is a target)"):
            net.predict_proba(frame, targets)
        return
    found = net.predict_proba(frame, targets, impossible="nan")
    values = net.predict(frame, targets, impossible="nan")
    asked = [a for a in net.domain if a not in columns] if targets is None else list(targets)
    assert list(found) == list(values) == asked
    logs = net.log_likelihood({a: frame[a] for a in columns if a not in asked})
    for row in range(n_rows):
        evidence = {a: frame[a][row] for a in columns if a not in asked and frame[a][row] is not None}
        if columns and set(columns) - set(asked):
            assert logs[row] == pytest.approx(net.log_probability(evidence), rel=1e-10, abs=1e-10)
        for target in asked:
            try:
                wanted = net.query(target, evidence).values
            except ImpossibleEvidenceError:
                assert np.isnan(found[target][row]).all()
                assert values[target][row] is None
            else:
                np.testing.assert_allclose(found[target][row], wanted, rtol=1e-10, atol=1e-13)
                assert found[target][row][values[target][row]] == found[target][row].max()


def test_rows_of_very_different_probability():
    """Twelve hundred observations, in one table: neither row swamps the other."""
    n = 1200
    names = ["hidden", "other", *(f"x{i}" for i in range(n))]
    parents = dict.fromkeys(names[2:], "hidden") | {"other": "hidden"}
    tables = {m: [[0.9, 0.1], [0.8, 0.2]] for m in names[1:]} | {"hidden": [0.5, 0.5]}
    net = BayesianNetwork(Domain(names, [2] * len(names)), parents, tables)
    frame = {f"x{i}": [0, 1, i % 2] for i in range(n)}
    found = net.predict_proba(frame, ("hidden", "other"))
    for row in range(3):
        ones = [0, n, n // 2][row]
        odds = ones * np.log(0.2 / 0.1) + (n - ones) * np.log(0.8 / 0.9)
        wanted = np.exp(-np.logaddexp(0, [odds, -odds]))
        np.testing.assert_allclose(found["hidden"][row], wanted, rtol=1e-9, atol=1e-300)
        np.testing.assert_allclose(found["other"][row], wanted @ [[0.9, 0.1], [0.8, 0.2]], rtol=1e-9)


def test_frames_of_all_kinds(sprinkler):
    pd = pytest.importorskip("pandas")
    columns = {"grass": ["wet", None, "dry", "wet"], "sprinkler": ["on", "off", None, "on"]}
    wanted = sprinkler.predict_proba(columns)["rain"]
    np.testing.assert_array_equal(wanted[0], wanted[3])
    frame = pd.DataFrame(columns, index=[9, 3, 5, 3])
    masked = np.ma.array(["wet", "dry", "dry", "wet"], mask=[0, 1, 0, 0], dtype=object)
    categories = frame.astype("category")
    for given_as in (
        frame,
        categories,
        {**columns, "grass": masked},
        frame.astype("string"),
    ):
        np.testing.assert_array_equal(sprinkler.predict_proba(given_as)["rain"], wanted)
    found = sprinkler.predict(frame)
    assert isinstance(found, pd.DataFrame)
    assert found.index.tolist() == [9, 3, 5, 3]
    assert found["rain"].tolist() == ["no", "no", "no", "no"]
    data = Dataset({"grass": [1, 0], "sprinkler": [1, 1]}, SPRINKLER.project(("grass", "sprinkler")))
    np.testing.assert_array_equal(sprinkler.predict_proba(data)["rain"][0], wanted[0])
    swapped = Domain({"grass": ["wet", "dry"], "sprinkler": ["off", "on"]})
    data = Dataset({"grass": [0, 1], "sprinkler": [1, 1]}, swapped)
    np.testing.assert_array_equal(sprinkler.predict_proba(data)["rain"][0], wanted[0])


def test_probabilities_become_frames_with_labels_as_columns(sprinkler):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = pandas.DataFrame({"grass": ["wet", None]}, index=["p", "q"])
    found = sprinkler.predict_proba(frame)
    one = sprinkler.predict_proba(frame, "rain").to_frame()
    assert (list(one.columns), list(one.index)) == (["no", "yes"], ["p", "q"])
    np.testing.assert_allclose(one.values, found["rain"], rtol=1e-12)
    several = found.to_frame()
    assert list(several.columns) == [(a, v) for a in ("rain", "sprinkler") for v in SPRINKLER.labels[a]]
    np.testing.assert_array_equal(several["rain"]["yes"], found["rain"][:, 1])
    named = sprinkler.predict_proba(polars.DataFrame({"grass": ["wet"]})).to_frame("polars")
    assert named.columns == ["rain=no", "rain=yes", "sprinkler=off", "sprinkler=on"]
    assert named["rain=yes"][0] == found["rain"][0, 1]
    number = BayesianNetwork({"a": [2, 1], "b": 2}, [], {"a": [0.2, 0.8], "b": [0.5, 0.5]})
    assert number.predict_proba({"b": [0, 1]}).to_frame()[1].tolist() == pytest.approx([0.8, 0.8])
    twice = BayesianNetwork({"a": ["1", 1]}, [], {"a": [0.5, 0.5]}).predict_proba({}, "a")
    with pytest.raises(ValueError, match="read the same as text"):
        twice.to_frame("polars")


def test_arrow_tables(sprinkler):
    pa = pytest.importorskip("pyarrow")
    columns = {"grass": ["wet", None, "dry", "wet"], "sprinkler": ["on", "off", None, "on"]}
    plain = pa.table(columns)
    coded = pa.table({name: plain[name].dictionary_encode() for name in columns})
    for table in (plain, coded, plain.to_batches()[0]):
        wanted = sprinkler.predict_proba(columns)["rain"]
        np.testing.assert_array_equal(sprinkler.predict_proba(table)["rain"], wanted)
        np.testing.assert_array_equal(sprinkler.log_likelihood(table), sprinkler.log_likelihood(columns))
        found = sprinkler.predict(table)
        assert type(found) is type(table)
        assert found.to_pydict() == {"rain": ["no", "no", "no", "no"]}
    with pytest.raises(ValueError, match=r"'grass', row 1 .*: needs one of 'dry', 'wet', or None where it is unknown"):
        sprinkler.predict(pa.table({"grass": ["wet", "red"]}))


def test_a_target_column_is_left_aside(sprinkler):
    alone = sprinkler.predict_proba({"grass": ["wet"]}, "rain")
    beside = sprinkler.predict_proba({"grass": ["wet"], "rain": ["nonsense"]}, "rain")
    np.testing.assert_array_equal(alone["rain"], beside["rain"])
    assert sprinkler.predict({"rain": ["no", "yes"]}, "sprinkler")["sprinkler"].tolist() == ["off", "off"]


def test_impossible_rows(sprinkler):
    frame = {"grass": ["dry", "wet", "wet"], "rain": ["no"] * 3, "sprinkler": ["off"] * 3}
    with pytest.raises(ImpossibleEvidenceError, match=r"2 of 3 rows have probability zero, the first is row 1"):
        sprinkler.predict_proba({k: frame[k] for k in ("grass", "rain", "sprinkler")}, ())
    net = BayesianNetwork(
        Domain({**{a: SPRINKLER.labels[a] for a in SPRINKLER}, "z": 2, "y": 2}),
        {**sprinkler.parents},
        {**sprinkler.tables, "z": [0.2, 0.8], "y": [1.0, 0.0]},
    )
    found = net.predict(frame, impossible="nan")
    assert found["z"].tolist() == [1, None, None]
    np.testing.assert_array_equal(np.isnan(net.predict_proba(frame, impossible="nan")["z"][:, 0]), [False, True, True])
    every = {k: v[1:] for k, v in frame.items()}
    assert np.isnan(net.predict_proba(every, impossible="nan")["y"]).all()
    np.testing.assert_array_equal(net.log_likelihood(frame)[1:], [-np.inf, -np.inf])
    with pytest.raises(ImpossibleEvidenceError, match="row 1"):
        net.predict(frame)


def test_chunks_shrink_until_they_fit(monkeypatch, sprinkler):
    """A batch that does not fit is cut; the answers stay."""
    from pypgm.bayes import batch

    sizes = []
    whole = batch._posteriors

    def small(model, codes):
        sizes.append(len(codes))
        if len(codes) > 2:
            raise ModelTooLargeError("too large")
        return whole(model, codes)

    net = random_network(np.random.default_rng(3), 6, largest=4)
    columns = {a: np.arange(9) % net.domain.size(a) for a in net.domain.attributes[:3]}
    targets = net.domain.attributes[3:]
    wanted = posteriors(net.domain, list(net.tables.values()), columns, 9, targets)
    monkeypatch.setattr(batch, "_posteriors", small)
    found = posteriors(net.domain, list(net.tables.values()), columns, 9, targets)
    assert max(sizes) > 2 >= min(sizes)
    for t in targets:
        np.testing.assert_allclose(found.probabilities[t], wanted.probabilities[t], **CLOSE)

    def never(model, codes):
        raise ModelTooLargeError("too large")

    monkeypatch.setattr(batch, "_posteriors", never)
    with pytest.raises(ModelTooLargeError):
        posteriors(net.domain, list(net.tables.values()), columns, 9, targets)


def test_a_network_may_have_an_attribute_called_row():
    net = BayesianNetwork(Domain({"row": 2, "b": 2}), {"b": "row"}, {"row": [0.5, 0.5], "b": [[1, 0], [0.5, 0.5]]})
    np.testing.assert_allclose(net.predict_proba({"b": [0, 1]})["row"], [[2 / 3, 1 / 3], [0, 1]], rtol=1e-14)


# Samples.


def test_samples_follow_the_marginals(data_dir):
    net = BayesianNetwork.read_bif(data_dir / "bif" / "insurance.bif.gz")
    data = net.sample(20_000, rng=1)
    assert data.domain == net.domain
    p_values = []
    for attribute, factor in net.marginals().items():
        counts, expected = data.project(attribute).values, 20_000 * factor.values
        assert (counts[expected == 0] == 0).all()
        kept = expected > 0
        p_values.append(stats.chisquare(counts[kept], expected[kept] * counts.sum() / expected.sum()).pvalue)
    assert min(p_values) > 1e-3 / len(p_values)
    for child in ("Accident", "ThisCarCost"):
        table = net.tables[child]
        counts = data.project(table.domain.attributes).values
        assert (counts[table.values == 0] == 0).all()
        expected = counts.sum(axis=-1, keepdims=True) * table.values
        kept = expected > 5
        assert stats.chi2.sf(((counts - expected)[kept] ** 2 / expected[kept]).sum(), kept.sum()) > 1e-3


def test_samples_of_all_sizes():
    rng = np.random.default_rng(0)
    for size in (1, 2, 3, 4, 5, 255, 256, 257):
        table = rng.dirichlet(np.ones(size))
        table[rng.random(size) < 0.3] = 0
        table[0] += 1 - table.sum()
        net = BayesianNetwork(Domain({"a": size}), {}, {"a": table})
        codes = net.sample(5000, rng=0).columns["a"]
        assert codes.dtype == np.min_scalar_type(size - 1)
        uniform = np.random.default_rng(0).random(5000)
        np.testing.assert_array_equal(codes, np.searchsorted(np.cumsum(table) / table.sum(), uniform, side="right"))
    assert len(net.sample(0)) == 0
    np.testing.assert_array_equal(net.sample(9, 7).columns["a"], net.sample(9, np.random.default_rng(7)).columns["a"])


@pytest.mark.parametrize("oracle", ["exact", "sampling", "auto"])
def test_more_records_than_fit_are_refused_at_once(sprinkler, oracle):
    known = {"grass": "wet", "rain": "no", "sprinkler": "on"}
    for evidence in (None, {"grass": "wet"}, known):
        for rows in (10**13, 2**62, 10**30):
            with pytest.raises(ModelTooLargeError, match=f"{rows} records of 3 attributes.*ask for fewer"):
                sprinkler.sample(rows, evidence=evidence, oracle=oracle)


ABBREVIATED = {
    "A": "asia",
    "S": "smoke",
    "T": "tub",
    "L": "lung",
    "B": "bronc",
    "E": "either",
    "X": "xray",
    "D": "dysp",
}


@given(networks(), st.data())
def test_records_given_evidence_are_records_of_the_domain(net, data):
    given_values, likelihoods = data.draw(evidence_on(net.domain))
    if not weighted(net, joint(net), likelihoods).sum():
        return
    for evidence in (None, given_values):
        records = net.sample(3, 0, evidence=evidence)
        checked = Dataset(records.columns, net.domain)
        assert list(records.columns) == list(net.domain)
        assert (records.project(net.domain).values == checked.project(net.domain).values).all()
        assert (records.weights, records.schema, records.persons, len(records)) == (None, None, None, 3)
        assert (net.log_likelihood(records) > -np.inf).all()
        for a, likelihood in likelihoods.items() if evidence else ():
            assert likelihood[records[a]].all()


@given(networks(), st.integers(0, 99))
def test_a_single_record_is_drawn_as_many_are(net, seed):
    rng, drawn = np.random.default_rng(seed), {}
    for a in net._order:
        table = net.tables[a].values
        row = np.ravel_multi_index([drawn[p] for p in net.parents[a]] or [[0]], table.shape[:-1] or (1,))
        drawn[a] = draw_rows(table.reshape(-1, table.shape[-1]), row, rng)
    one = net.sample(1, seed)
    assert {a: (codes.tolist(), codes.dtype) for a, codes in one.columns.items()} == {
        a: (drawn[a].tolist(), drawn[a].dtype) for a in net.domain
    }


def test_records_of_the_network_itself(data_dir):
    """The log-likelihood of records drawn by another program is minus the entropy, give or take."""
    net = BayesianNetwork.read_bif(data_dir / "bif" / "asia.bif.gz")
    labels = json.loads((data_dir / "samples" / "asia.states.json").read_text())
    with gzip.open(data_dir / "samples" / "asia.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    frame = {ABBREVIATED[a]: [labels[a][int(row[a])] for row in rows] for a in labels}
    found = net.log_likelihood(frame)
    assert np.isfinite(found).all()
    table = joint(net)
    logs = np.log(np.where(table > 0, table, 1.0))
    entropy, variance = -(table * logs).sum(), (table * logs**2).sum() - (table * logs).sum() ** 2
    assert abs(found.mean() + entropy) < 4 * np.sqrt(variance / len(rows))
    kept = {a: column for a, column in frame.items() if a != "lung"}
    right = np.mean(np.array(net.predict(kept)["lung"]) == np.array(frame["lung"]))
    assert right > 0.95


# Structure.


def test_what_a_network_is_made_of(sprinkler):
    assert sprinkler.parents == {"rain": (), "sprinkler": ("rain",), "grass": ("sprinkler", "rain")}
    assert sprinkler.tables["grass"].domain.attributes == ("sprinkler", "rain", "grass")
    assert repr(sprinkler) == "BayesianNetwork('sprinkler': 3 attributes, 3 arcs, 14 probabilities)"
    assert sprinkler.notes == ()
    assert "width       2" in str(sprinkler.tree)
    graph = sprinkler.to_networkx()
    assert networkx.is_directed_acyclic_graph(graph)
    assert set(graph.edges) == {("rain", "sprinkler"), ("sprinkler", "grass"), ("rain", "grass")}
    assert graph.nodes["rain"] == {"size": 2, "labels": ("no", "yes")}
    with pytest.raises(ValueError, match="read-only"):
        sprinkler.tables["rain"].values[0] = 1
    with pytest.raises(TypeError):
        sprinkler.tables["rain"] = None


def test_tables_are_copied_and_factors_accepted(sprinkler):
    prior = np.array([0.8, 0.2])
    tables = {a: t.transpose(SPRINKLER.canonical(t.domain.attributes)) for a, t in sprinkler.tables.items()} | {
        "rain": prior
    }
    net = BayesianNetwork(SPRINKLER, sprinkler.parents, tables)
    prior[:] = 0
    for attribute in SPRINKLER:
        np.testing.assert_array_equal(net.tables[attribute].values, sprinkler.tables[attribute].values)


def test_rows_may_miss_one_by_printed_digits():
    net = BayesianNetwork(Domain({"a": 3}), {}, {"a": [0.3333, 0.3333, 0.3333]})
    assert net.notes == ("'a': rows sum to 1 within 1.0e-04, not exactly; answers divide each by its sum",)
    assert BayesianNetwork(Domain({"a": 3}), {}, {"a": [0.1, 0.2, 0.7]}).notes == ()


AB = Domain({"a": 2, "b": ["x", "y"]})
HALF = {"a": [0.5, 0.5], "b": [0.5, 0.5]}


@pytest.mark.parametrize(
    ("parents", "tables", "message"),
    [
        ({"c": "a"}, HALF, "unknown attribute 'c'"),
        ({"a": "c"}, HALF, "unknown attribute 'c'"),
        ({"a": ("b", "b")}, HALF, "names attribute 'b' more than once"),
        ({"a": "a"}, HALF, "names attribute 'a' more than once"),
        ({}, {**HALF, "c": [1.0]}, "unknown attribute 'c'"),
        ({}, {"a": [0.5, 0.5]}, "each attribute needs a table of probabilities; 'b' has none"),
        ({}, {**HALF, "a": [0.5, 0.25, 0.25]}, r"the table of 'a' needs shape \(2,\), of \(a\), got \(3,\)"),
        ({"b": "a"}, HALF, r"the table of 'b' needs shape \(2, 2\), of \(a, b\), got \(2,\)"),
        (
            {"b": "a"},
            {**HALF, "b": Factor(AB.project("b"), [0.5, 0.5])},
            r"must be over \('a', 'b'\), got \('b',\)",
        ),
        ({}, {**HALF, "a": [1.5, -0.5]}, "probabilities of 'a' must be finite and at least 0"),
        ({}, {**HALF, "a": [np.nan, 1]}, "probabilities of 'a' must be finite and at least 0"),
        ({}, {**HALF, "a": [np.inf, 1]}, "probabilities of 'a' must be finite and at least 0"),
        ({}, {**HALF, "a": [0.5, 0.4999]}, None),
        ({}, {**HALF, "a": [0.5, 0.4998]}, "probabilities of 'a' must sum to 1 within 0.0001, got 0.9998"),
        ({"a": "b"}, {**HALF, "a": [[0.5, 0.5], [0.5, 0.6]]}, "probabilities of 'a' given b=y must sum to 1"),
        ({"b": "a"}, {**HALF, "b": [[0.5, 0.5], [0.5, -0.5]]}, "probabilities of 'b' given a=1 must be finite"),
        ({"a": "b", "b": "a"}, {"a": np.full((2, 2), 0.5), "b": np.full((2, 2), 0.5)}, "in a circle: a <- b <- a"),
    ],
)
def test_refused_networks(parents, tables, message):
    if message is None:
        BayesianNetwork(AB, parents, tables)
        return
    with pytest.raises(ValueError, match=message):
        BayesianNetwork(AB, parents, tables)


class Twins:
    """A data frame with two columns of one name."""

    columns = ("rain", "rain")


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda n: n.query("snow"), ValueError, "unknown attribute 'snow'"),
        (lambda n: n.query(("rain", "rain")), ValueError, "more than once"),
        (lambda n: n.query("rain", {"snow": 1}), ValueError, "unknown attribute 'snow'"),
        (
            lambda n: n.query("rain", {"grass": "red"}),
            ValueError,
            "'grass' has no label 'red'; its labels are 'dry', 'wet'",
        ),
        (
            lambda n: n.query("rain", {"grass": 1}),
            ValueError,
            "'grass' has no label 1; .* a number is a value here, not",
        ),
        (lambda n: n.marginals({"grass": "red"}), ValueError, "no label 'red'"),
        (lambda n: n.log_probability({"grass": []}), ValueError, "needs at least one value"),
        (lambda n: n.sample(-1), ValueError, "must be at least 0, got -1"),
        (lambda n: n.sample(1.5), TypeError, "must be an integer, got 1.5"),
        (lambda n: n.sample(True), TypeError, "must be an integer, got True"),
        (lambda n: n.predict({"rain": ["no"]}, "snow"), ValueError, "unknown attribute 'snow'"),
        (lambda n: n.predict({"rain": ["no"]}, ("grass", "grass")), ValueError, "more than once"),
        (lambda n: n.predict({"snow": ["no"]}), ValueError, "columns without an attribute in the network: 'snow'"),
        (lambda n: n.predict({"rain": ["no", "maybe"]}), ValueError, "'rain', row 1 .*: needs one of 'no', 'yes'"),
        (lambda n: n.predict({"rain": ["no"], "grass": ["dry", "wet"]}), ValueError, "columns need equal lengths"),
        (lambda n: n.predict({"rain": np.array([["no"], ["yes"]])}), ValueError, "needs one dimension"),
        (lambda n: n.predict({"rain": [0.5]}), ValueError, "needs one of 'no', 'yes'"),
        (lambda n: n.predict([1, 2]), TypeError, "a frame must be a mapping of columns"),
        (lambda n: n.predict({"rain": ["no"]}, impossible="maybe"), ValueError, "'raise', 'nan'., got 'maybe'"),
        (
            lambda n: n.predict(Twins()),
            ValueError,
            "columns of different names",
        ),
        (
            lambda n: n.predict(Dataset({"snow": [0]}, Domain({"snow": 1}))),
            ValueError,
            "columns without an attribute in the network: 'snow'",
        ),
        (lambda n: n.predict(Dataset({"rain": [0]}, Domain({"rain": 3}))), ValueError, "'rain' needs 2 values, got 3"),
        (
            lambda n: n.predict(Dataset({"rain": [0]}, Domain({"rain": ["no", "snow"]}))),
            ValueError,
            "'rain' has no label 'snow'",
        ),
    ],
)
def test_refused_questions(sprinkler, ask, error, message):
    with pytest.raises(error, match=message):
        ask(sprinkler)


@pytest.mark.parametrize(
    ("parents", "message"),
    [(["rain"], "names attribute 'rain' more than once"), (["sun"], "unknown attribute 'sun'")],
)
def test_parents_that_cannot_be_make_no_network(parents, message):
    with pytest.raises(NetworkError, match=message) as caught:
        BayesianNetwork(Domain({"rain": 2}), {"rain": parents}, {"rain": np.full((2, 2), 0.5)})
    assert caught.value.attribute == "rain"


def test_probabilities_are_real_numbers():
    with pytest.raises(TypeError, match="the table of 'rain' must be real numbers, got dtype complex128"):
        BayesianNetwork(Domain({"rain": 2}), {}, {"rain": np.array([1, 1j])})
