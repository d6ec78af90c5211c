"""The names of mbi before 1.0, against NumPy on the joint table."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from pypgm.compat import install_as_mbi, mbi, uninstall

DOMAIN = mbi.Domain(["a", "b", "c"], [2, 3, 4])


def table():
    return np.random.default_rng(0).random(DOMAIN.shape) * 20


def measured(q=np.eye):
    t = table()
    pairs = {("a", "b"): t.sum(2), ("b", "c"): t.sum(0)}
    return t, [
        (q(x.size), q(x.size) @ x.ravel() if q(x.size) is not None else x.ravel(), 1.0, c) for c, x in pairs.items()
    ]


@pytest.mark.parametrize("engine", ["MD", "RDA", "IG"])
def test_estimates(engine):
    t, told = measured(lambda n: aslinearoperator(sparse.eye(n)) if engine == "MD" else np.eye(n))
    seen = []
    model = mbi.FactoredInference(DOMAIN, iters=500).estimate(told, engine=engine, callback=seen.append)
    assert model.total == pytest.approx(t.sum())
    np.testing.assert_allclose(model.project(("a", "b")).values, t.sum(2), atol=0.02)
    independent = t.sum(2)[:, :, None] * t.sum(0) / t.sum((0, 2))[:, None]
    np.testing.assert_allclose(model.datavector(flatten=False), independent, atol=0.02)
    sums = model.krondot([np.ones((1, 2)), np.eye(3), np.ones((1, 4))])
    np.testing.assert_allclose(sums[0, :, 0], t.sum((0, 2)), atol=0.02)
    assert seen[-1]["a", "b"].values.sum() == pytest.approx(model.total)
    assert sorted(model.potentials) == sorted(model.cliques) == [("a", "b"), ("b", "c")]
    again = model.belief_propagation(model.potentials)
    np.testing.assert_allclose(again["b", "c"].values, model.marginals["b", "c"].values)
    assert model.synthetic_data(50).project("a").datavector().sum() == 50


def test_zeros_metrics_and_refusals():
    t, told = measured()
    model = mbi.FactoredInference(DOMAIN, structural_zeros={("a", "c"): [(0, 1), (1, 3)]}).estimate(told)
    assert model.project(("a", "c")).values[[0, 1], [1, 3]].max() == 0
    with pytest.raises(ValueError, match="stepsize"):
        mbi.FactoredInference(DOMAIN, metric="L1").estimate(told)

    def metric(mu):
        gap = mu["a", "b"].values - t.sum(2)
        slopes = mu * 0.0
        slopes["a", "b"] = mbi.Factor(DOMAIN.project(("a", "b")), gap)
        return 0.5 * (gap**2).sum(), slopes

    own = mbi.FactoredInference(DOMAIN, metric=metric).estimate(told)
    np.testing.assert_allclose(own.project(("a", "b")).values, t.sum(2), atol=0.02)
    for bad in ((told[0],), [told[0][:3]], [(np.eye(5), *told[0][1:])]):
        with pytest.raises(ValueError, match=r"measurement|query"):
            mbi.FactoredInference(DOMAIN).estimate(bad)
    with pytest.raises(ValueError, match="pickle"):
        mbi.GraphicalModel.load("model")


def test_models_of_records():
    rng = np.random.default_rng(1)
    data = mbi.Dataset({a: rng.integers(n, size=400) for a, n in DOMAIN.config.items()}, DOMAIN)
    assert data.project("b").records == 400
    model = mbi.GraphicalModel(DOMAIN, [("a", "b"), ("c",)])
    model.fit(data)
    counts = data.project(("a", "b")).datavector(flatten=False)
    np.testing.assert_allclose(model.project(("a", "b")).values, counts, atol=0.05)


def test_tables_and_vectors():
    f = mbi.Factor(DOMAIN.project("a"), np.array([0.0, 2.0]))
    assert (f / 2).values.tolist() == [0, 1]
    f += 1.0
    assert f.values.tolist() == [1, 3]
    assert DOMAIN.sort().attributes == ("a", "b", "c")
    vector = mbi.CliqueVector.zeros(DOMAIN, [("a", "b")])
    vector.combine({("a",): f})
    assert (vector.cliques != [("a", "b")]) is False
    assert vector.cliques != [("a",)]
    assert (vector + dict(vector)).dot(vector) == 2 * vector.dot(dict(vector)) == 2 * 3 * (1 + 9)
    assert (vector - vector * 2).dot(vector) == -3 * (1 + 9)


@pytest.mark.parametrize("oracle", ["convex", "pairwise-convex"])
def test_local_answers(oracle):
    t, told = measured()
    model = mbi.LocalInference(DOMAIN, marginal_oracle=oracle).estimate(told)
    np.testing.assert_allclose(model.project(("a", "b")).values, t.sum(2), atol=0.2)
    with pytest.warns(UserWarning, match="not convex"):
        mbi.LocalInference(DOMAIN, marginal_oracle="approx")


def test_public_records_and_mixtures():
    t, told = measured()
    rng = np.random.default_rng(2)
    public = mbi.Dataset({a: rng.integers(n, size=2000) for a, n in DOMAIN.config.items()}, DOMAIN)
    weighted = mbi.PublicInference(public).estimate(told)
    mixture = mbi.MixtureInference(DOMAIN, components=10, iters=400).estimate(told)
    for found in (weighted.project(("a", "b")).datavector(), mixture.project(("a", "b")).datavector()):
        assert np.abs(found - t.sum(2).ravel()).sum() < 0.05 * t.sum()


def test_under_the_name_of_mbi():
    with pytest.warns(UserWarning, match="leave the generation out"):
        install_as_mbi("2021")
    try:
        from mbi import Dataset, FactoredInference
        from mbi.local_inference import LocalInference

        assert FactoredInference is mbi.FactoredInference
        assert Dataset is mbi.Dataset
        assert LocalInference is mbi.LocalInference
    finally:
        uninstall()


def test_a_log_is_written(capsys):
    _, told = measured()
    mbi.FactoredInference(DOMAIN, log=True, iters=60).estimate(told)
    assert capsys.readouterr().out.splitlines()[0].split("\t") == ["iteration", "l1_loss", "l2_loss", "feasibility"]


@pytest.mark.parametrize("kind", [mbi.RegionGraph, mbi.FactorGraph])
def test_graphs_whose_cliques_form_a_tree_are_exact(kind):
    rng, cliques = np.random.default_rng(3), [("a", "b"), ("b", "c")]
    tables = {c: mbi.Factor(DOMAIN.project(c), rng.normal(size=DOMAIN.project(c).shape)) for c in cliques}
    joint = np.exp(tables["a", "b"].values[:, :, None] + tables["b", "c"].values)
    joint *= 7 / joint.sum()
    graph = kind(DOMAIN, cliques, total=7.0, convex=False)
    np.testing.assert_allclose(graph.marginals["a", "b"].values, 7 / 6)
    seen = []
    marginals = graph.belief_propagation(tables, callback=seen.append)
    np.testing.assert_allclose(marginals["a", "b"].values, joint.sum(2), rtol=1e-4)
    np.testing.assert_allclose(graph.project("c").values, joint.sum((0, 1)), rtol=1e-4)
    assert seen == [marginals]
    assert mbi.CliqueVector.from_data(graph, cliques).dot(tables) == pytest.approx(marginals_dot(marginals, tables))


def marginals_dot(marginals, tables):
    return sum(float((marginals[c].values * t.values).sum()) for c, t in tables.items())


def test_functions_of_models_are_those_of_numpy():
    from pypgm.compat.mbi import graphical_model, junction_tree

    rng, cliques = np.random.default_rng(4), [("a", "b"), ("b", "c")]
    one, other = (mbi.Factor(DOMAIN.project(c), rng.random(DOMAIN.project(c).shape)) for c in cliques)
    product = np.einsum("ab,bc->ac", one.values, other.values)
    np.testing.assert_allclose(graphical_model.variable_elimination([one, other], ["b"]).values, product)
    counts = graphical_model.variable_elimination_logspace([one.log(), other.log()], ["b"], 5.0)
    np.testing.assert_allclose(counts.values, product * 5 / product.sum())
    assert graphical_model.greedy_order(DOMAIN, cliques, ["c", "a"]) == ["a", "c"]
    tree = junction_tree.JunctionTree(DOMAIN, cliques)
    assert {*map(frozenset, tree.maximal_cliques())} == {*map(frozenset, cliques)}
    assert {*tree.separator_axes().values()} == {("b",)}
    assert all({node} == tree.neighbors()[other] for node, (other,) in tree.neighbors().items())
    model = mbi.GraphicalModel(DOMAIN, cliques)
    assert model.neighbors == model.tree.neighbors()


def test_a_loss_and_its_gradient_are_those_of_the_measurements():
    _, answers = measured()
    engine = mbi.FactoredInference(DOMAIN)
    assert engine.mirror_descent(answers) < 1e-3
    rng = np.random.default_rng(5)
    one, other = (mbi.CliqueVector.random(DOMAIN, engine.model.cliques, rng) for _ in range(2))
    (loss, slopes), (_, beside) = engine._marginal_loss(one), engine._marginal_loss(other)
    expected = sum(np.sum((one.project(c).datavector() - y) ** 2) / 2 for _, y, _, c in answers)
    assert loss == pytest.approx(expected)
    change, moved = slopes - beside, one - other
    assert change.dot(change) <= engine._lipschitz(answers) ** 2 * moved.dot(moved) * (1 + 1e-9)


def test_a_projection_is_counts_with_its_records_that_a_pickle_leaves_out():
    data = mbi.Dataset({"a": [0, 1, 1], "b": [0, 2, 2], "c": [3, 3, 3]}, DOMAIN, np.array([1.0, 2.0, 4.0]))
    pair = data.project(("a", "b"))
    assert pair.records == 3
    assert pair.weights.tolist() == [1, 2, 4]
    assert pair.drop("a").domain.attributes == ("b",)
    again = pickle.loads(pickle.dumps(pair))
    np.testing.assert_array_equal(again.values, pair.values)
    assert not hasattr(again, "records")
    assert not hasattr(pair + 1.0, "records")
