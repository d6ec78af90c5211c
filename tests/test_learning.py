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
    with pytest.raises(TypeError, match="data needs a pypgm"):
        learn({"a": [0]}, [])
