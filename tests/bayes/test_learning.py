"""Conditional tables from records: counts by hand, priors, every form of a structure, every refusal."""

from __future__ import annotations

import math

import networkx
import numpy as np
import pytest

from pypgm import Dataset, Domain, ModelTooLargeError
from pypgm.bayes import BayesianNetwork, fit_score, learn
from pypgm.bayes.checks import NetworkError

DOMAIN = Domain({"a": ["x", "y"], "b": 3, "c": 2})
ARCS = [("a", "b"), ("b", "c"), ("a", "c")]


def records(n=500, seed=0):
    rng = np.random.default_rng(seed)
    return Dataset({a: rng.integers(0, DOMAIN.size(a), n) for a in DOMAIN}, DOMAIN)


def same(first, second):
    assert dict(first.parents) == dict(second.parents)
    return all(np.array_equal(first.tables[a].values, second.tables[a].values) for a in first.domain)


def test_tables_are_ratios_of_counts():
    data = records()
    net = learn(data, ARCS)
    counts = np.zeros((3, 2, 2))
    np.add.at(counts, (data.columns["b"], data.columns["a"], data.columns["c"]), 1)
    assert net.parents["c"] == ("b", "a")
    np.testing.assert_allclose(net.tables["c"].values, counts / counts.sum(-1, keepdims=True), rtol=1e-15)


@pytest.mark.parametrize(("prior", "added"), [("k2", 2.0), ("bdeu", 2.0 / 12)])
def test_priors_add_to_each_cell(prior, added):
    data = records(40)
    table = learn(data, ARCS, prior=prior, strength=2.0).tables["c"].values
    counts = data.project(("b", "a", "c")).values + added
    np.testing.assert_allclose(table, counts / counts.sum(-1, keepdims=True), rtol=1e-15)


def test_rows_without_records_are_uniform():
    net = learn(records(0), ARCS)
    assert all((net.tables[a].values == 1 / DOMAIN.size(a)).all() for a in DOMAIN)


def test_tiny_and_huge_weights_keep_their_ratios():
    for weight in (1e-300, 1e300):
        data = Dataset({"a": [0, 1, 1, 1]}, Domain({"a": 2}), weights=[weight] * 4)
        np.testing.assert_allclose(learn(data, []).tables["a"].values, [0.25, 0.75], rtol=1e-15)


def test_a_structure_comes_in_every_form(tmp_path):
    data = records()
    net = learn(data, ARCS)
    net.write_bif(tmp_path / "net.bif")
    for structure in (net, {"b": "a", "c": ["b", "a"]}, tmp_path / "net.bif", str(tmp_path / "net.bif")):
        assert same(learn(data, structure), net)
    assert learn(data, []).parents == {"a": (), "b": (), "c": ()}
    graph = networkx.DiGraph(ARCS)  # which keeps arcs by their parents
    assert same(learn(data, graph), learn(data, list(graph.edges)))
    again = BayesianNetwork.read_bif(tmp_path / "net.bif")
    assert same(again, net)


@pytest.mark.parametrize(
    ("structure", "error", "message"),
    [
        ([("a", "b"), ("b", "a")], NetworkError, "in a circle"),
        ([("a", "a")], NetworkError, "more than once"),
        ([("a", "b"), ("a", "b")], NetworkError, "comes twice"),
        ([("a", "z")], ValueError, "unknown attribute 'z'"),
        ([("z", "a")], ValueError, "unknown attribute 'z'"),
        ([("a", "b", "c")], TypeError, "an arc is a pair"),
        (["ab"], TypeError, "an arc is a pair"),
        (networkx.Graph(ARCS), TypeError, "needs a directed graph"),
        (3, TypeError, "a structure is a network"),
    ],
)
def test_refused_structures(structure, error, message):
    with pytest.raises(error, match=message):
        learn(records(), structure)


def test_thirty_parents_are_refused_before_a_record_is_read():
    names = [f"x{i}" for i in range(31)]
    domain = Domain(names, [10] * 31)
    data = Dataset({a: [0] for a in names}, domain)
    with pytest.raises(ModelTooLargeError, match="the table of 'x30', of 30 parents"):
        learn(data, [(a, "x30") for a in names[:-1]])


@pytest.mark.parametrize("options", [{"prior": "none"}, {"strength": 0}, {"strength": math.inf}])
def test_refused_options(options):
    with pytest.raises(ValueError, match="must be"):
        learn(records(), ARCS, **options)


def test_scores_are_penalised_likelihoods():
    data = records(200)
    net = learn(data, ARCS)
    likelihood = sum(
        math.log(net.query(DOMAIN.attributes).values[tuple(int(data.columns[a][i]) for a in DOMAIN)])
        for i in range(200)
    )
    free = 1 + 2 * 2 + 6
    assert fit_score(net, data, "log_likelihood") == pytest.approx(likelihood, rel=1e-12)
    assert fit_score(net, data, "aic") == pytest.approx(likelihood - free, rel=1e-12)
    assert fit_score(net, data, "bic") == pytest.approx(likelihood - free / 2 * math.log(200), rel=1e-12)


def test_refused_scores():
    net = learn(records(), ARCS)
    with pytest.raises(ValueError, match="criterion must be"):
        fit_score(net, records(), "bde")
    with pytest.raises(ValueError, match="at least one"):
        fit_score(net, records(0), "aic")
    for criterion in ("bdeu", "k2"):
        with pytest.raises(ValueError, match="needs records without missing values"):
            fit_score(net, {"a": ["x", None], "b": [0, 1], "c": [0, 1]}, criterion)
    with pytest.raises(TypeError, match="a frame must be a mapping"):
        learn("abc", [])


def test_a_frame_is_learned_from_as_it_is():
    frame = {
        "i": [2, 0, 2, None],
        "t": ["y", "x", "y", "x"],
        "w": [True, False, None, True],
        "f": [1.0, 2.0, None, 2.0],
    }
    net = learn(frame, [("i", "t")])
    assert dict(net.domain.labels) == {"i": (0, 2), "t": ("x", "y"), "w": (False, True), "f": (1, 2)}
    assert net.query("t", {"i": 2}).values.round(6).tolist() == [0, 1]
    with pytest.raises(ValueError, match="column 'i' has no value: pass domain="):
        learn({"i": [None], "t": ["x"]}, [])
    with pytest.raises(ValueError, match="unknown attribute 'u'"):
        learn(frame, [("u", "t")])


def test_weights_count_as_repeated_records():
    data = records(30)
    times = np.random.default_rng(1).integers(0, 4, 30)
    repeated = Dataset({a: np.repeat(data.columns[a], times) for a in DOMAIN}, DOMAIN)
    frame = {a: [DOMAIN.labels.get(a, range(3))[code] for code in data.columns[a]] for a in DOMAIN}
    assert same(learn(data, ARCS, weights=times), learn(repeated, ARCS))
    assert same(learn(frame, ARCS, domain=DOMAIN, weights=times), learn(repeated, ARCS))
    for wrong, message in (([1.0], "one for each record"), (-np.ones(30), "at least 0")):
        with pytest.raises(ValueError, match=message):
            learn(data, ARCS, weights=wrong)
    with pytest.raises(ValueError, match="weights of their own"):
        learn(Dataset(data.columns, DOMAIN, weights=times), ARCS, weights=times)


@pytest.mark.parametrize("gone", [0.0, 0.3])
def test_prior_counts_of_ones_own(gone):
    rng = np.random.default_rng(2)
    data = records(50)
    labels = {a: DOMAIN.labels.get(a, range(3)) for a in DOMAIN}
    frame = {a: [None if rng.random() < gone else labels[a][code] for code in data.columns[a]] for a in DOMAIN}
    shapes = {"a": (2,), "b": (2, 3), "c": (3, 2, 2)}
    by_hand = {a: np.full(shape, 0.75) for a, shape in shapes.items()}
    for own in (by_hand, {"a": 0.75, "b": [0.75] * 3, "c": 0.75}):
        assert same(
            learn(frame, ARCS, domain=DOMAIN, prior=own), learn(frame, ARCS, domain=DOMAIN, prior="k2", strength=0.75)
        )
    if not gone:
        uneven = learn(data, ARCS, prior={"b": [[5, 0, 0], [0, 0, 0]]}, strength=2).tables["b"].values
        counts = data.project(("a", "b")).values + np.array([[10, 0, 0], [0, 0, 0]])
        np.testing.assert_allclose(uneven, counts / counts.sum(axis=1, keepdims=True))
    for wrong, message in (
        ({"z": 1}, "unknown attribute 'z'"),
        ({"b": [1, 2]}, "'b' need shape"),
        ({"b": -1}, "at least 0"),
    ):
        with pytest.raises(ValueError, match=message):
            learn(data, ARCS, prior=wrong)


@pytest.mark.parametrize("criterion", ["bdeu", "k2"])
def test_marginal_likelihoods_are_those_of_one_record_after_the_other(criterion):
    data, strength = records(40), 3.0
    net, found = learn(data, ARCS), 0.0
    for i in range(40):  # each predicted by the network of those before
        before = Dataset({a: data.columns[a][:i] for a in DOMAIN}, DOMAIN)
        now = Dataset({a: data.columns[a][i : i + 1] for a in DOMAIN}, DOMAIN)
        found += learn(before, ARCS, prior=criterion, strength=strength).log_likelihood(now)[0]
    assert fit_score(net, data, criterion, strength=strength) == pytest.approx(found, rel=1e-12)
