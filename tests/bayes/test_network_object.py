"""What a network can be asked for and made into, against the joint table of all its attributes and networkx."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest

import pypgm
from pypgm import CliqueVector, Domain, Factor, ImpossibleEvidenceError, JunctionTree
from pypgm.bayes import BayesianNetwork, CountedNetwork, compare_networks
from pypgm.io import read_uai_model
from pypgm.mrf import MarkovRandomField

ABC = Domain({"a": ["x", "y"], "b": 3, "c": ["0", "1"], "d": 2})
ARCS = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]


def network(seed=0, arcs=ARCS, domain=ABC):
    rng = np.random.default_rng(seed)
    parents = {child: [p for p, c in arcs if c == child] for child in domain}
    tables = {a: rng.dirichlet([1] * domain.size(a), domain.sizes(parents[a])) for a in domain}
    return BayesianNetwork(domain, arcs, tables, name="abc")


def joint(net):
    """Return the probabilities of all cells, axes in the domain's order."""
    letters = {a: i for i, a in enumerate(net.domain)}
    parts = itertools.chain(*((t.values, [letters[a] for a in t.domain]) for t in net.tables.values()))
    return np.einsum(*parts, list(range(len(letters))))


def counted(data):
    return data.project(data.domain.attributes).values / len(data)


# Records.


def test_records_given_evidence_are_independent_draws_from_the_posterior():
    net, rows = network(), 40_000
    wanted = joint(net)
    wanted[:, [0], :, :] = 0
    wanted[:, :, :, 0] *= 0.25
    wanted /= wanted.sum()
    evidence = {"b": {1, 2}, "d": pypgm.Likelihood([1, 4])}
    np.testing.assert_allclose(counted(net.sample(rows, 0, evidence=evidence)), wanted, atol=5 * np.sqrt(0.25 / rows))
    coin = BayesianNetwork({"a": 2, "b": 2}, [], {"a": [0.5, 0.5], "b": [0.5, 0.5]})
    same = [len(set(coin.sample(2, seed, evidence={"b": 1}).columns["a"].tolist())) == 1 for seed in range(200)]
    assert 60 < sum(same) < 140
    with pytest.raises(ImpossibleEvidenceError):
        coin.replace_table("a", [1, 0]).sample(3, 0, evidence={"a": 1})


def test_records_after_an_intervention():
    net, rows = network(1), 40_000
    truncated = joint(net.replace_table("c", [0.0, 1.0], parents=()))
    np.testing.assert_array_equal(joint(net.do({"c": 1})), truncated)
    np.testing.assert_allclose(counted(net.sample(rows, 0, do={"c": "1"})), truncated, atol=5 * np.sqrt(0.25 / rows))
    seen = truncated[:, 2] / truncated[:, 2].sum()
    drawn = counted(net.sample(rows, 0, do={"c": 1}, evidence={"b": 2}))[:, 2]
    np.testing.assert_allclose(drawn, seen, atol=5 * np.sqrt(0.25 / rows))


# What is missing.


def holed(net, seed=0, rows=40):
    columns, rng = net.sample(rows, seed).columns, np.random.default_rng(seed)
    labels = {a: net.domain.labels.get(a, range(9)) for a in net.domain}
    return {a: [None if rng.random() < 0.4 else labels[a][code] for code in columns[a]] for a in net.domain}


@pytest.mark.parametrize("whole", [True, False])
def test_missing_values_are_filled_as_the_joint_table_says(whole):
    net = network(2)
    frame = holed(net)
    if not whole:
        del frame["c"]
    one, together = net.impute(frame), net.impute(frame, "joint")
    labels = {a: list(net.domain.labels.get(a, range(9))) for a in net.domain}
    for row in range(40):
        cut = tuple(
            slice(None) if frame.get(a, [None] * 40)[row] is None else labels[a].index(frame[a][row])
            for a in net.domain
        )
        table = joint(net)[cut]
        free = [a for a, place in zip(net.domain, cut, strict=True) if isinstance(place, slice)]
        unseen = tuple(i for i, a in enumerate(free) if a not in frame)
        both = table.sum(axis=unseen)
        missing = [a for a in free if a in frame]
        best = np.unravel_index(both.argmax(), both.shape) if missing else ()
        for i, a in enumerate(missing):
            alone = both.sum(axis=tuple(j for j in range(len(missing)) if j != i))
            assert one[a][row] == labels[a][alone.argmax()]
            assert together[a][row] == labels[a][best[i]]
        for a in frame:
            if a not in missing:
                assert one[a][row] == together[a][row] == frame[a][row]


def test_draws_of_missing_values_are_from_their_joint_posterior():
    net, rows = network(3), 20_000
    filled = net.impute({"a": [None] * rows, "b": [None] * rows, "d": [1] * rows}, "sample", rng=0)
    wanted = joint(net).sum(axis=2)[:, :, 1]
    found = np.zeros((2, 3))
    np.add.at(found, ((filled["a"] == "y").astype(int), filled["b"].astype(int)), 1 / rows)
    np.testing.assert_allclose(found, wanted / wanted.sum(), atol=5 * np.sqrt(0.25 / rows))


def test_a_frame_is_imputed_as_one_of_its_kind():
    pd = pytest.importorskip("pandas")
    net = network(2)
    frame = pd.DataFrame(holed(net), index=range(40, 0, -1))
    filled = net.impute(frame)
    assert list(filled.columns) == list(frame.columns)
    assert filled.index.equals(frame.index)
    assert not filled.isna().any().any()
    with pytest.raises(ValueError, match=r"how must be one of .'mode', 'joint', 'sample'., got 'best'"):
        net.impute(frame, "best")
    sure = net.replace_table("a", [1, 0])
    with pytest.raises(ImpossibleEvidenceError, match="a row with missing ones have probability zero"):
        sure.impute({"a": ["y"], "b": [None]})


# The graph.


def test_separation_and_blankets_are_those_of_networkx():
    nx = pytest.importorskip("networkx")
    separated = getattr(nx, "is_d_separator", None) or nx.d_separated
    rng, names = np.random.default_rng(0), list("abcdefg")
    for _ in range(30):
        arcs = [(p, c) for p, c in itertools.combinations(names, 2) if rng.random() < 0.3]
        net = network(arcs=arcs, domain=Domain(dict.fromkeys(names, 2)))
        graph = net.to_networkx()
        one, other, *given = rng.permutation(names)[: rng.integers(2, 6)].tolist()
        assert net.is_d_separated(one, other, given) == separated(graph, {one}, {other}, set(given))
        assert set(net.children[one]) == set(graph.successors(one))
        rest = [a for a in names if a != one]
        for a in rest:  # outside of the blanket, and only there, all others leave nothing to say
            assert (a in net.markov_blanket(one)) != net.is_d_separated(one, a, [b for b in rest if b != a])
    with pytest.raises(ValueError, match="more than once"):
        net.is_d_separated("a", "b", "a")


# Networks of a network.


def test_equal_networks(tmp_path):
    net = network()
    for same in (net.copy(), copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert same == net
        assert hash(same) == hash(net)
    turned = net.replace_table(
        "d", Factor(ABC.project(("c", "b", "d")), net.tables["d"].values.swapaxes(0, 1)), ("c", "b")
    )
    assert turned == net
    assert turned.parents["d"] == ("c", "b")
    for other in (network(1), net.do({"a": "x"}), net.remove("d"), "abc"):
        assert net != other
    net.save(tmp_path / "net.pgm")
    assert pypgm.load(tmp_path / "net.pgm") == net
    labelled = network(domain=Domain({a: ["u", "v"] for a in ABC}))
    labelled.write_bif(tmp_path / "net.bif")
    assert BayesianNetwork.read_bif(tmp_path / "net.bif") == labelled
    for reader, path in (("BayesianNetwork.read_bif", "net.bif"), ("pypgm.read_uai", "net.uai")):
        if path == "net.uai":
            pypgm.write_uai(net, tmp_path / path)
        with pytest.raises(ValueError, match=f"{reader} reads it"):
            pypgm.load(tmp_path / path)


def test_networks_are_changed_into_others():
    net = network()
    more = net.add("e", ["low", "high"], {0: [0.5, 0.5], 1: [0.25, 0.75]}, parents="d")
    assert more.domain.attributes == (*ABC, "e")
    np.testing.assert_allclose(joint(more).sum(axis=-1), joint(net))
    assert more.remove("e") == net
    np.testing.assert_allclose(joint(more.remove(["d", "e"])), joint(net).sum(axis=-1))
    with pytest.raises(ValueError, match="'b' has the children d: remove them too, or replace their tables"):
        net.remove("b")
    with pytest.raises(ValueError, match="the network has an attribute 'a': `replace_table`"):
        net.add("a", 2, [0.5, 0.5])
    with pytest.raises(ValueError, match="in a circle"):
        net.replace_table("a", np.full((2, 2), 0.5), parents="d")
    released = CountedNetwork(net.domain, net.parents, net.tables, total=50)
    released.not_private = "planted"
    changed = released.do({"a": "y"})
    assert (type(changed), changed.total, changed.not_private) == (CountedNetwork, 50, "planted")


def test_a_network_is_made_of_any_form_of_graph():
    nx = pytest.importorskip("networkx")
    net = network()
    told = {a: ABC[a] for a in ABC}
    for structure in (ARCS, nx.DiGraph(ARCS), net, {"b": "a", "c": "a", "d": ("b", "c")}):
        assert BayesianNetwork(told, structure, net.tables) == net
    assert BayesianNetwork.from_networkx(net.to_networkx(), net.tables) == net
    with pytest.raises(ValueError, match="node 'a' of the graph needs a size, or labels"):
        BayesianNetwork.from_networkx(nx.DiGraph(ARCS), net.tables)


# Beside other models.


def test_trees_and_files_take_a_network(tmp_path):
    net = network()
    assert JunctionTree.of(net).cliques == net.potentials.cliques
    pypgm.write_uai(net, tmp_path / "net.uai")
    model = read_uai_model(tmp_path / "net.uai")
    assert model.kind == "BAYES"
    for mine, read in zip(net.tables.values(), model.tables, strict=True):
        assert mine.values.tolist() == read.values.tolist()
    field = MarkovRandomField(net.potentials)
    pypgm.write_uai(field, tmp_path / "field.uai")
    assert pypgm.read_uai(tmp_path / "field.uai").values.tolist() == pytest.approx(net.potentials.values.tolist())
    with pytest.raises(TypeError, match=r"model needs a pypgm.CliqueVector, got str"):
        pypgm.write_uai("net", tmp_path / "no.uai")


def test_a_field_answers_as_its_weights_do():
    nx = pytest.importorskip("networkx")
    rng = np.random.default_rng(4)
    scopes = [("a", "b"), ("b", "d"), ("c", "d"), ("c",)]
    factors = [Factor(own := ABC.project(scope), rng.integers(0, 5, own.size()).astype(float)) for scope in scopes]
    field = MarkovRandomField.from_factors(ABC, factors)
    weights = np.einsum(*itertools.chain(*((f.values, [ABC.index(a) for a in f.domain]) for f in factors)), range(4))
    assert (weights == 0).any()
    assert np.exp(field.log_partition()) == pytest.approx(weights.sum())
    known = weights[:, :, 1]
    assert np.exp(field.log_partition({"c": 1})) == pytest.approx(known.sum())
    assert np.exp(field.log_probability({"c": "1"})) == pytest.approx(known.sum() / weights.sum())
    found = field.marginals({"c": "1"})
    np.testing.assert_allclose(found["b"].values, known.sum(axis=(0, 2)) / known.sum())
    assert found["c"].values.tolist() == [0, 1]
    values, log_weight = field.map()
    assert np.exp(log_weight) == pytest.approx(weights.max())
    cell = [labels.index(values[a]) for a, labels in ((a, list(ABC.labels.get(a, range(3)))) for a in ABC)]
    assert weights[tuple(cell)] == weights.max()
    graph = field.to_networkx()
    assert {frozenset(edge) for edge in graph.edges} == {frozenset(scope) for scope in scopes if len(scope) == 2}
    assert nx.get_edge_attributes(graph, "weight")[("a", "b")] > 0
    with pytest.raises(ValueError, match="must be finite, or -inf"):
        MarkovRandomField(CliqueVector(ABC, ["a"], [0, np.inf]))
    with pytest.raises(ValueError, match="without structural zeros"):
        _ = field.weights


def test_a_field_is_drawn():
    pytest.importorskip("matplotlib")
    field = MarkovRandomField(network().potentials)
    assert len(field.plot().lines) == 5


def test_networks_are_compared_as_their_joint_tables_are():
    one, other = network(5), network(6, arcs=[("b", "a"), ("a", "c"), ("b", "c")], domain=ABC)
    p, q = joint(one), joint(other)
    found = compare_networks(one, other)
    assert found.kl == pytest.approx((p * np.log(p / q)).sum(), rel=1e-12)
    assert found.reverse_kl == pytest.approx((q * np.log(q / p)).sum(), rel=1e-12)
    assert found.hellinger == pytest.approx(np.sqrt(1 - np.sqrt(p * q).sum()), rel=1e-12)
    assert (found.missing, found.extra, found.reversed, found.structural_hamming) == (2, 1, 1, 4)
    same = compare_networks(one, one.copy())
    assert same.kl == pytest.approx(0, abs=1e-14)
    assert same.hellinger == pytest.approx(0, abs=1e-7)
    sure = one.do({"a": "x"})
    assert compare_networks(one, sure).kl == np.inf
    assert compare_networks(sure, one).kl < np.inf
    assert compare_networks(sure, one.do({"a": "y"})).hellinger == 1
