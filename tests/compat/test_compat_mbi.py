"""The surface of mbi over the engine: each answer against NumPy on the joint table."""

from __future__ import annotations

import dataclasses
import io
import itertools

import numpy as np
import pytest

from pypgm.compat import mbi, options
from pypgm.compat.mbi import (
    CliqueVector,
    Constraint,
    Dataset,
    Domain,
    Factor,
    LinearMeasurement,
    MarkovRandomField,
    callbacks,
    clique_utils,
    estimation,
    junction_tree,
    marginal_loss,
    marginal_oracles,
)

DOMAIN = Domain(["a", 7, "c", "d"], [2, 3, 4, 2])  # names may be integers
CLIQUES = [("a", 7), ("c", 7), ("d", "c"), ("d",)]


def random_vector(rng, cliques=CLIQUES):
    return CliqueVector(
        DOMAIN, cliques, {c: Factor(DOMAIN.project(c), rng.normal(size=DOMAIN.project(c).shape)) for c in cliques}
    )


def joint(potentials, total=1.0):
    summed = Factor.zeros(potentials.domain)
    for table in potentials.tables.values():
        summed = summed + table
    weights = np.exp(summed.values - summed.values.max())
    return Factor(potentials.domain, total * weights / weights.sum())


def measured(rng, cliques=CLIQUES[:3], noise=0.0):
    table = Factor(DOMAIN, rng.random(DOMAIN.shape) * 20)
    return table, [
        LinearMeasurement(table.project(c).datavector() + noise * rng.normal(size=DOMAIN.size(c)), c) for c in cliques
    ]


def test_domains():
    assert str(DOMAIN) == "Domain(a: 2, 7: 3, c: 4, d: 2)"
    assert DOMAIN.size({"a", "c"}) == 8
    assert DOMAIN.size(()) == 1
    assert DOMAIN.canonical(["c", "a", "x"]) == ("a", "c")
    assert DOMAIN.marginalize(["c", "x"]).attrs == ("a", 7, "d")
    assert Domain(["a"], [2.7]).shape == (2,)
    assert Domain(["a"], [2], [["x", "y"]]) == Domain(["a"], [2])
    with pytest.raises(ValueError, match="Cannot project"):
        DOMAIN.project(("x",))
    with pytest.raises(ValueError, match="other sizes"):
        DOMAIN.merge(Domain(["a"], [3]))


def test_factors_are_named_arrays():
    rng = np.random.default_rng(0)
    x, y = rng.random((2, 3)), rng.random((3, 4))
    f, g = Factor(Domain(["a", "b"], [2, 3]), x), Factor(Domain(["b", "c"], [3, 4]), y)
    np.testing.assert_allclose((f * g).values, np.einsum("ab,bc->abc", x, y))
    np.testing.assert_allclose((f + g).project(("c", "a")).values, (x[:, :, None] + y).sum(axis=1).T)
    np.testing.assert_allclose(f.logsumexp("b").values, np.log(np.exp(x).sum(axis=1)))
    np.testing.assert_allclose(f.slice({"b": np.int64(1), "z": 0}).values, x[:, 1])
    np.testing.assert_allclose((3 - f).values, 3 - x)
    assert float(f.sum()) == pytest.approx(x.sum())
    empty = Factor(Domain(["a"], [2]), [0.0, 1.0])
    assert (Factor.ones(empty.domain) / empty).values[0] == np.inf
    assert empty.log().dot(empty) == 0
    for refused in (lambda: f + x, lambda: f.pad("mesh"), lambda: float(f), lambda: Factor(f.domain, [1.0])):
        with pytest.raises((TypeError, ValueError)):
            refused()


def test_vectors_take_both_spellings():
    attr = pytest.importorskip("attr")
    vector = CliqueVector.ones(DOMAIN, [("a", 7), ("c",)])
    assert CliqueVector(domain=DOMAIN, cliques=[], arrays={}).tables == {}
    assert vector.cliques + [("d",)] == [("a", 7), ("c",), ("d",)]  # noqa: RUF005 - a list, as consumers add one
    assert isinstance(vector.cliques + (("d",),), tuple)  # noqa: RUF005
    larger = attr.evolve(vector, domain=DOMAIN.merge(Domain(["z"], [5])))
    assert larger.domain["z"] == 5
    assert larger.arrays is larger.tables
    grown = vector.expand([(7, "a", "d"), ("d",)])
    assert grown[7, "a", "d"].values.shape == (3, 2, 2)
    assert not grown[("d",)].values.any()  # what fits nowhere is dropped
    with pytest.raises(KeyError):
        vector[7, "a"]


def test_clique_utilities():
    assert clique_utils.maximal_subset([("b",), ("a", "b"), ("b", "a"), ("c",)]) == [("a", "b"), ("c",)]
    assert clique_utils.downward_closure([("a", "b")], include_empty=True) == [(), ("a",), ("b",), ("a", "b")]


def test_junction_trees_hold_every_attribute():
    tree, order = junction_tree.make_junction_tree(DOMAIN, [("c", "a"), ("c", 7)])
    assert {a for node in tree for a in node} == set(DOMAIN) == set(order)
    assert ("d",) in tree
    assert set(junction_tree.maximal_cliques(tree)) == set(tree)
    sent = junction_tree.message_passing_order(tree)
    for i, (source, target) in enumerate(sent):
        needed = {(n, source) for n in tree.neighbors(source) if n != target}
        assert needed <= set(sent[:i])
    assert len(sent) == 2 * tree.number_of_edges()
    assert junction_tree.hypothetical_model_size(Domain(["a"], [9]), []) == 9 * 8 / 2**20
    wide = Domain(range(40), [100] * 40)
    assert junction_tree.hypothetical_model_size(wide, cliques=[tuple(range(40))]) > 1e60


@pytest.mark.parametrize("oracle", ["message_passing_stable", "message_passing_hugin", "brute_force_marginals"])
def test_oracles_are_exact(oracle):
    potentials = random_vector(np.random.default_rng(1))
    found = getattr(marginal_oracles, oracle)(potentials, 10.0)
    for c in CLIQUES:
        np.testing.assert_allclose(found[c].values, joint(potentials, 10.0).project(c).values)
    assert marginal_oracles.message_passing_stable(CliqueVector(DOMAIN, [], {})).cliques == ()


def test_elimination_and_product_queries():
    potentials = random_vector(np.random.default_rng(2))
    table = joint(potentials, 6.0)
    asked = marginal_oracles.variable_elimination(potentials, ("d", "a"), 6.0, {"c": np.int64(1)})
    np.testing.assert_allclose(asked.values, table.slice({"c": 1}).project(("d", "a")).normalize(6.0).values)
    with pytest.raises(ValueError, match="Evidence attributes"):
        marginal_oracles.variable_elimination(potentials, ("a",), evidence={"a": 0})
    sums = marginal_oracles.kron_query(potentials, {"a": np.ones((1, 2)), "c": np.eye(4)}, 6.0)
    assert sums.domain.attributes == ("a_answer", "c_answer")
    np.testing.assert_allclose(sums.values[0], table.project("c").values)


def test_constraints_are_exact():
    domain = Domain(["x", "y", "z"], [4, 2, 3])
    rule = Constraint(domain.project(("x", "y")), mapping=np.array([0, 0, 1, 1]))
    rng = np.random.default_rng(3)
    tables = {c: Factor(domain.project(c), rng.random(domain.size(c))) for c in [("x", "z"), ("y",)]}
    potentials = CliqueVector(domain, tables, tables)
    wanted = joint(
        CliqueVector(domain, [*potentials.cliques, ("x", "y")], potentials.tables | {("x", "y"): rule.potential})
    )
    found = marginal_oracles.message_passing_stable(potentials, constraints=(rule,))
    np.testing.assert_allclose(found["x", "z"].values, wanted.project(("x", "z")).values)
    told = [LinearMeasurement(rng.random(12) * 50, ("x", "z")), LinearMeasurement([90.0, 60.0], "y")]
    for kind in (estimation.MirrorDescent, estimation.LBFGS):
        model = kind().estimate(domain, told, 150.0, constraints=[rule])
        assert set(model.cliques) == {("x", "z"), ("y",)}
        assert model.project(("x", "y")).values[rule.potential.values < 0].sum() == 0
        assert model.project(("x", "y")).values.sum() == pytest.approx(150)
        # The model is that of its potentials and constraints, which its marginals show.
        again = MarkovRandomField(model.potentials, model.marginals, model.total, model.constraints)
        np.testing.assert_allclose(again.engine.project(("x", "z")).values, model.project(("x", "z")).values, atol=1e-6)
        records = model.synthetic_data().to_dict()
        assert (records["y"] == rule.mapping[records["x"]]).all()


ESTIMATORS = ["MirrorDescent", "DualAveraging", "InteriorGradient", "LBFGS", "UniversalAcceleratedMethod"]


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_estimators_find_consistent_answers(kind):
    table, told = measured(np.random.default_rng(4))
    calls = []
    model = getattr(estimation, kind)().estimate(DOMAIN, told, callback_fn=calls.append, iters=220)
    assert model.cliques == (("a", 7), ("c", 7), ("d", "c"))
    for m in told:
        np.testing.assert_allclose(model.project(m.clique).datavector(), m.noisy_measurement, atol=0.02)
        assert calls[-1].project(m.clique).domain.attributes == m.clique
    assert len(calls) == 5  # one for each 50 iterations asked for, the last rounded up
    assert model.total == pytest.approx(table.values.sum())
    independent = table.project(("a", 7)) * table.project(("c", 7)) / table.project(7)
    np.testing.assert_allclose(model.project(("a", "c")).values, independent.project(("a", "c")).values, atol=0.05)


def test_least_squares_has_no_better_neighbour():
    # Brute force: no small move on the simplex of the joint table lowers the loss.
    rng = np.random.default_rng(5)
    _, told = measured(rng, [("a", 7), (7, "c"), ("a", "c")], noise=4.0)
    loss = marginal_loss.from_linear_measurements(told, DOMAIN)
    model = estimation.mirror_descent(DOMAIN, told, known_total=400.0)
    here = joint(model.potentials, 400.0)
    least = loss(here)
    assert loss(model) == pytest.approx(least)
    for _ in range(200):
        other = Factor(DOMAIN, rng.dirichlet(np.full(DOMAIN.size(), 0.1)) * 400)
        assert loss(here * 0.99 + other * 0.01) >= least - 1e-3 * (1 + least)


def test_what_measures_no_record_is_uniform():
    model = estimation.mirror_descent(DOMAIN, [])
    assert (model.total, model.cliques) == (1.0, ())
    assert model.synthetic_data(5).records == 5
    model = estimation.mirror_descent(DOMAIN, [LinearMeasurement(np.array([80]), ())])
    np.testing.assert_allclose(model.project(("c", "a")).values, 10.0)
    assert model.synthetic_data(rows=0).records == 80


def test_bad_measurements_are_refused():
    for bad in (
        LinearMeasurement([1.0, np.nan], "a"),
        LinearMeasurement([1.0, 2.0, 3.0], "a"),
        LinearMeasurement([1.0, 2.0], "unknown"),
        LinearMeasurement([1.0, 2.0], "a", query=lambda f: f.normalize().datavector()),
        LinearMeasurement([1.0, 2.0], "a", query=lambda f: f.datavector() ** 2),
    ):
        with pytest.raises(ValueError, match=r"'a'|unknown"), np.errstate(all="ignore"):
            estimation.mirror_descent(DOMAIN, [bad], known_total=10)


@pytest.mark.parametrize(
    "query",
    [
        marginal_loss.WeightedQuery(np.array([1.0, 0.0, 2.0, 0.5])),
        marginal_loss.SlicedQuery(1),
        lambda f: f.datavector()[:2],
        lambda f: np.cumsum(f.datavector()),
        lambda f: f.values @ np.arange(8).reshape(4, 2),
    ],
)
def test_queries_reach_the_engine(query):
    true = Factor(DOMAIN.project("c"), [5.0, 9.0, 2.0, 4.0])
    m = LinearMeasurement(query(true), "c", 0.5, query)
    model = estimation.mirror_descent(DOMAIN, [m], known_total=20.0)
    np.testing.assert_allclose(query(model.project("c")), query(true), atol=0.05)


def test_default_query_is_the_older_one():
    m = LinearMeasurement([1.0, 2.0], ["a"])
    assert m.clique == ("a",)
    assert m.query == Factor.datavector
    assert m.query == mbi.DatavectorQuery()
    assert m.query != mbi.DatavectorQuery(use_for_total_estimation=False)
    only = [m, LinearMeasurement([50.0, 50.0], ("d",), query=mbi.DatavectorQuery(use_for_total_estimation=False))]
    assert estimation.minimum_variance_unbiased_total(only) == 3.0


def test_starts_keep_their_cliques_and_dependence():
    rng = np.random.default_rng(6)
    start = random_vector(rng, [("c", "a", 7)])
    m = LinearMeasurement([30.0, 70.0], "a")
    model = estimation.mirror_descent(DOMAIN, [m], potentials=start)
    assert model.cliques == start.cliques
    # Measured is a alone: given it, the others are as the start had them.
    given_a = [f.project(("a", "c", 7)) / f.project("a") for f in (joint(start), model)]
    np.testing.assert_allclose(given_a[1].values, given_a[0].values, rtol=1e-3)
    attr = pytest.importorskip("attr")
    wider = DOMAIN.merge(Domain(["z"], [3]))
    told = [m, LinearMeasurement([1.0, 2, 3], "z")]
    again = estimation.mirror_descent(wider, told, potentials=attr.evolve(start, domain=wider))
    assert again.project("z").values.sum() == pytest.approx(again.total)


def test_losses_of_ones_own():
    target = np.array([30.0, 70.0])

    def pair(mu):
        gap = mu.project("a").values - target
        return float(gap @ gap), CliqueVector(DOMAIN, [("a",)], {("a",): Factor(DOMAIN.project("a"), 2 * gap)})

    loss = marginal_loss.MarginalLossFn([("a",)], pair)
    np.testing.assert_allclose(estimation.LBFGS().estimate(DOMAIN, loss, 100.0).project("a").values, target, atol=0.01)
    table, _ = measured(np.random.default_rng(7))
    mu = CliqueVector.from_projectable(table, CLIQUES[:3])
    model = estimation.mle_from_marginals(mu, float(table.sum()))
    for c in mu.cliques:
        np.testing.assert_allclose(model.project(c).values, mu[c].values, atol=0.05)
    with pytest.warns(UserWarning, match="known_total is assumed to be 1"):
        assert estimation.MirrorDescent().estimate(DOMAIN, loss).total == 1.0


def test_a_loss_without_gradient_says_what_to_do(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "jax", None)
    monkeypatch.setitem(__import__("sys").modules, "autograd", None)
    loss = marginal_loss.MarginalLossFn([("a",)], lambda mu: mu.project("a").values.sum())
    with pytest.raises(TypeError, match=r"return \(value, CliqueVector\)"):
        estimation.MirrorDescent().estimate(DOMAIN, loss, 1.0)


def test_foreign_oracles_run():
    _, told = measured(np.random.default_rng(8))

    def brute(potentials, total=1.0):
        table = joint(potentials, total)
        return CliqueVector.from_projectable(table, potentials.cliques)

    model = estimation.MirrorDescent(brute).estimate(DOMAIN, told, iters=400)
    for m in told:
        np.testing.assert_allclose(model.project(m.clique).datavector(), m.noisy_measurement, rtol=0.05)


def test_pseudo_marginals_agree_on_a_tree():
    _, told = measured(np.random.default_rng(9))
    found = mbi.approximate_oracles.mirror_descent(DOMAIN, told, stepsize=1.0)
    for m in told:
        np.testing.assert_allclose(found.project(m.clique).datavector(), m.noisy_measurement, atol=0.1)
    with pytest.raises(ValueError, match="needs a stepsize"):
        estimation.mirror_descent(DOMAIN, told, stateful=True)


def test_validated_stop_is_asked_for():
    _, told = measured(np.random.default_rng(10), noise=5.0)
    loss = marginal_loss.from_linear_measurements(told)
    at_optimum = loss(estimation.mirror_descent(DOMAIN, told))
    options(stop="validated")
    try:
        assert loss(estimation.mirror_descent(DOMAIN, told)) > at_optimum
    finally:
        options(stop="optimum")
    with pytest.raises(ValueError, match="'optimum' or 'validated'"):
        options(stop="soon")


def test_records_of_children_are_independent():
    # Two children of one parent, which mbi 1.1.0 makes comonotone.
    domain = Domain(["parent", "one", "two"], [2, 4, 4])
    potentials = CliqueVector.zeros(domain, [("parent", "one"), ("parent", "two")])
    model = MarkovRandomField(potentials, CliqueVector.ones(domain, potentials.cliques), 16000)
    np.random.seed(0)  # noqa: NPY002 - what mbi's records depend on
    for method in ("round", "sample"):
        pairs = model.synthetic_data(method=method).project(("one", "two")).datavector() / 16000
        assert np.abs(pairs - 1 / 16).sum() / 2 < 0.03
    assert model.synthetic_data(7.9).records == 7
    assert model.synthetic_data(5).data["one"].dtype == np.int64
    np.random.seed(1)  # noqa: NPY002
    first = model.synthetic_data(100).data["one"]
    np.random.seed(1)  # noqa: NPY002
    assert (model.synthetic_data(100).data["one"] == first).all()
    with pytest.raises(ValueError, match="'round' or 'sample'"):
        model.synthetic_data(method="other")


def test_datasets():
    domain = Domain(["a", "b"], [2, 3])
    data = Dataset({"b": [0, 2, 2], "a": [1, 1, 0]}, domain, [1.0, 2.0, 4.0])
    np.testing.assert_array_equal(data.project(("b", "a")).values, [[0, 1], [0, 0], [4, 2]])
    assert float(data.project(())) == 7
    np.testing.assert_array_equal(Dataset(np.array([[1, 0], [0, 2]]), domain).data["b"], [0, 2])
    assert data.drop("a").domain.attributes == ("b",)
    small = data.compress({"b": np.array([0, 1, 1])})
    np.testing.assert_array_equal(small.data["b"], [0, 1, 1])
    assert set(small.decompress({"b": np.array([0, 1, 1])}).data["b"][1:]) <= {1, 2}
    for bad in ({"a": [0]}, {"a": [0], "b": [3]}, {"a": [0], "b": [0.5]}, {"a": [0], "b": [0, 1]}, {}):
        with pytest.raises(ValueError, match=r"need|invalid"):
            Dataset(bad, domain)


def test_records_without_pandas(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    column = Dataset({"a": [1, 0]}, Domain(["a"], [2])).df["a"]
    assert column.to_numpy().tolist() == [1, 0]


def test_lipschitz_bounds_the_curvature():
    told = [LinearMeasurement(np.zeros(DOMAIN.size(c)), c, s) for c, s in (((7, "a"), 2.0), ((7,), 1.0), (("c",), 0.5))]
    loss = marginal_loss.from_linear_measurements(told, DOMAIN)
    assert loss.lipschitz == pytest.approx(max(1 / 4 + 2, 4.0))
    assert loss.lipschitz == pytest.approx(marginal_loss.calculate_l2_lipschitz(DOMAIN, loss.cliques, loss), rel=1e-3)
    other = [dataclasses.replace(told[0], query=lambda f: f.datavector() * 2)]
    assert marginal_loss.calculate_l2_lipschitz_from_metadata(DOMAIN, other) is None
    assert marginal_loss.from_linear_measurements(other, domain=DOMAIN).lipschitz == pytest.approx(1.0, rel=1e-3)


def test_callbacks_take_data_or_a_domain():
    table, told = measured(np.random.default_rng(11))
    lines = []
    callbacks.set_log_fn(lambda *parts, **_: lines.append(parts))
    try:
        for second in (DOMAIN, table):
            shown = callbacks.default(told, second)
            estimation.mirror_descent(DOMAIN, told, callback_fn=shown, iters=100)
            assert [row[0] for row in shown.summary["data"]] == [0, 50]
            assert ("L2 Error" in shown.summary["columns"]) == (second is table)
    finally:
        callbacks.set_log_fn(print)
    assert lines[0][:3] == ("step", "L2 Loss", "L1 Loss")


def test_files_hold_models_and_nothing_else():
    _, told = measured(np.random.default_rng(12))
    model = estimation.mirror_descent(DOMAIN, told)
    buffer = io.BytesIO()
    mbi.save({"model": model, "told": [*told, 3]}, buffer)
    buffer.seek(0)
    back = mbi.load(buffer)
    assert back["model"].cliques == model.cliques
    np.testing.assert_array_equal(back["model"].potentials["a", 7].values, model.potentials["a", 7].values)
    assert back["told"][0].query == told[0].query
    with pytest.raises(TypeError, match="got object"):
        mbi.save([object()], io.BytesIO())
    with pytest.raises(ValueError, match="pickles"):
        mbi.load(io.BytesIO(b"\x80\x04K\x01."))


def test_summaries_count_cells():
    summary = mbi.summarize(DOMAIN, [("a", 7), (7, "c")])
    assert (summary.num_jtree_nodes, summary.total_jtree_cells, summary.treewidth) == (3, 6 + 12 + 2, 1)
    assert summary.memory_bytes == 8 * (20 + 2 * 3)
    assert "48 total cells" in str(summary)


def test_extensions_without_an_optimizer():
    table, told = measured(np.random.default_rng(13))
    mixture = mbi.extensions.MixtureOfProductsEstimator(num_components=20).estimate(DOMAIN, told, iters=600)
    rng = np.random.default_rng(0)
    public = Dataset({a: rng.integers(n, size=3000) for a, n in DOMAIN.config.items()}, DOMAIN)
    weighted = mbi.extensions.ReweightedDatasetEstimator(public).estimate(DOMAIN, told, iters=300)
    for model, m in itertools.product((mixture, weighted), told):
        assert np.abs(model.project(m.clique).datavector() - m.noisy_measurement).sum() < 0.05 * table.values.sum()
        assert isinstance(model, mbi.Model)
    assert mixture.synthetic_data(50).records == weighted.synthetic_data(50).records == 50


def test_what_needs_jax_says_so():
    with pytest.raises(ImportError, match="JAX"):
        from pypgm.compat.mbi.einsum import scan_einsum  # noqa: F401
    with pytest.raises(TypeError, match="mesh"):
        estimation.mirror_descent(DOMAIN, [], mesh=object())
    with pytest.raises(TypeError, match="return_messages"):
        marginal_oracles.message_passing_stable(random_vector(np.random.default_rng(0)), return_messages=True)


def test_a_field_that_is_no_code_is_named_by_its_row(tmp_path):
    for text in ("anna", "0.5", "", "inf", "1e400"):
        (tmp_path / "t.csv").write_text(f"a,b\n1,0\n{text},0\n")
        with pytest.raises(ValueError, match=r"column 'a' needs integers, row 1 \(the first is 0\) has none") as error:
            Dataset.load(str(tmp_path / "t.csv"), Domain(["a", "b"], [2, 2]))
        assert error.value.__cause__ is error.value.__context__ is None
        assert "anna" not in str(error.value)
    with pytest.raises(ValueError, match="the file has no column 'c'"):
        Dataset.load(str(tmp_path / "t.csv"), Domain(["c"], [2]))
    (tmp_path / "t.csv").write_text("a,b\n1,0\n0.0,1e0\n")
    assert Dataset.load(str(tmp_path / "t.csv"), Domain(["a", "b"], [2, 2])).data["b"].tolist() == [0, 1]


def test_codes_are_integers_one_by_one():
    domain = Domain(["a", "b"], [3, 2])
    for column in ([True, False], [True, 0, 2], [np.bool_(True), 0]):
        with pytest.raises(ValueError, match="column 'a' needs integers, got bool"):
            Dataset({"a": column, "b": [0] * len(column)}, domain)
    assert Dataset([(np.uint64(2), 0), (np.int8(1), 1)], domain).data["a"].tolist() == [2, 1]
    with pytest.raises(ValueError, match="column 'b' needs integers, got float64"):
        Dataset([(0, 1.0), (1, 0)], domain)
    with pytest.raises(ValueError, match="data needs 2 columns, got 3"):
        Dataset([(0, 1, 1)], domain)
