"""Exact inference against brute force: every way to a marginal, zeros, ranges, evidence, impossible cases."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from hypothesis import assume, given
from hypothesis import strategies as st
from random_models import chain, evidence_on, models, potentials_over

import pypgm
from pypgm import CliqueVector, Domain, GraphicalModel, ImpossibleEvidenceError, JunctionTree

TOTAL = 1000.0
# Sums of at most 4^6 cells of at most TOTAL; a potential of 1e4 is itself known to 1e-12 only.
CLOSE = {"rtol": 1e-11, "atol": 1e-12 * TOTAL}


@st.composite
def models_with_evidence(draw):
    potentials = draw(models())
    evidence, likelihoods = draw(evidence_on(potentials.domain))
    table = reference.with_evidence(potentials.domain, reference.log_joint(potentials), likelihoods)
    return potentials, evidence, table


@st.composite
def possible_models(draw):
    potentials, evidence, table = draw(models_with_evidence())
    assume(table.max() > -np.inf)
    order = draw(st.permutations(potentials.domain.attributes))
    clique = tuple(order[: draw(st.integers(0, 3))])
    return potentials, evidence, table, clique


@st.composite
def possible_trees(draw):
    potentials, evidence, table, _ = draw(possible_models())
    return (
        potentials,
        evidence,
        table,
        JunctionTree(potentials.domain, potentials.cliques),
        reference.joint(table, TOTAL),
    )


@given(possible_trees())
def test_marginals_and_partition_function(case):
    potentials, evidence, table, tree, joint = case
    result = tree.marginals(potentials, TOTAL, evidence)
    assert result.cliques == potentials.cliques
    for index, clique in enumerate(potentials.cliques):
        wanted = reference.project(potentials.domain, joint, clique)
        np.testing.assert_allclose(result.table(index), wanted.ravel(), **CLOSE)
    log_z = reference.log_sum_exp(table)
    assert tree.log_partition(potentials, evidence) == pytest.approx(log_z, rel=1e-12, abs=1e-11)
    np.testing.assert_array_equal(
        pypgm.marginals(potentials, TOTAL, evidence=evidence).values, result.values, "one-shot function"
    )


@given(possible_trees())
def test_tables_of_the_tree_itself(case):
    potentials, evidence, _, tree, joint = case
    for node, found in zip(tree.nodes, tree.tables(potentials, TOTAL, evidence), strict=True):
        assert found.domain.attributes == node.clique
        np.testing.assert_allclose(found.values, reference.project(potentials.domain, joint, node.clique), **CLOSE)


@given(possible_trees())
def test_marginals_of_single_attributes(case):
    potentials, evidence, _, tree, joint = case
    found = tree.attribute_marginals(potentials, TOTAL, evidence)
    assert tuple(found) == potentials.domain.attributes
    for attribute, counts in found.items():
        np.testing.assert_allclose(counts, reference.project(potentials.domain, joint, (attribute,)), **CLOSE)


@st.composite
def bipartite_models(draw):
    """Pairs between two layers: the cliques of the tree are far larger than what is given."""
    left, right = draw(st.integers(2, 3)), draw(st.integers(2, 4))
    sizes = draw(st.lists(st.integers(1, 5), min_size=left + right, max_size=left + right))
    domain = Domain([f"x{i}" for i in range(left + right)], sizes)
    cliques = [(f"x{i}", f"x{j}") for i in range(left) for j in range(left, left + right)]
    return draw(potentials_over(domain, draw(st.permutations(cliques)), zeros=draw(st.booleans())))


@given(bipartite_models(), st.data())
def test_implicit_cliques(potentials, data):
    evidence, likelihoods = data.draw(evidence_on(potentials.domain))
    table = reference.with_evidence(potentials.domain, reference.log_joint(potentials), likelihoods)
    assume(table.max() > -np.inf)
    tree = JunctionTree(potentials.domain, potentials.cliques)
    joint = reference.joint(table, TOTAL)
    result = tree.marginals(potentials, TOTAL, evidence)
    for index, clique in enumerate(potentials.cliques):
        np.testing.assert_allclose(
            result.table(index), reference.project(potentials.domain, joint, clique).ravel(), **CLOSE
        )
    assert tree.log_partition(potentials, evidence) == pytest.approx(reference.log_sum_exp(table), rel=1e-12, abs=1e-11)
    singles = tree.attribute_marginals(potentials, TOTAL, evidence)
    for attribute, counts in singles.items():
        np.testing.assert_allclose(counts, reference.project(potentials.domain, joint, (attribute,)), **CLOSE)


@given(possible_models())
def test_variable_elimination_of_any_clique(case):
    potentials, evidence, table, clique = case
    found = pypgm.variable_elimination(potentials, clique, TOTAL, evidence)
    assert found.domain.attributes == clique
    wanted = reference.project(potentials.domain, reference.joint(table, TOTAL), clique)
    np.testing.assert_allclose(found.values, wanted, **CLOSE)


@given(possible_models())
def test_projections_and_queries_of_a_model(case):
    potentials, evidence, table, clique = case
    model = GraphicalModel(potentials, TOTAL)
    prior = reference.joint(reference.log_joint(potentials), TOTAL)
    found = model.project(clique)
    assert found.domain.attributes == clique
    np.testing.assert_allclose(found.values, reference.project(potentials.domain, prior, clique), **CLOSE)
    answer = model.query(clique, evidence)
    np.testing.assert_allclose(
        answer.values, reference.project(potentials.domain, reference.joint(table), clique), rtol=1e-9, atol=1e-12
    )
    assert answer.values.sum() == pytest.approx(1.0, abs=1e-12)


@given(models_with_evidence())
def test_impossible_is_said_never_invented(case):
    potentials, evidence, table = case
    assume(table.max() == -np.inf)
    tree = JunctionTree(potentials.domain, potentials.cliques)
    assert tree.log_partition(potentials, evidence) == -np.inf
    for refused in (tree.marginals, tree.attribute_marginals, tree.tables):
        with pytest.raises(ImpossibleEvidenceError, match="no joint assignment keeps any weight"):
            refused(potentials, TOTAL, evidence)
    with pytest.raises(ImpossibleEvidenceError, match="no joint assignment"):
        pypgm.variable_elimination(potentials, (), TOTAL, evidence)


def test_impossible_evidence_names_its_attributes():
    potentials = CliqueVector(Domain({"a": 2, "b": 2}), [("a", "b")], [0.0, -np.inf, -np.inf, -np.inf])
    model = GraphicalModel(potentials, 1.0)
    with pytest.raises(ImpossibleEvidenceError, match="the evidence on a, b"):
        model.query("b", {"a": 1, "b": 0})
    with pytest.raises(ImpossibleEvidenceError, match="under the potentials"):
        GraphicalModel(CliqueVector(Domain({"a": 2}), ["a"], [-np.inf, -np.inf]), 1.0)


@given(models(zeros=False), st.lists(st.sampled_from([-1e4, -3.0, 0.5, 1e4]), min_size=7, max_size=7))
def test_shifts_change_nothing_but_log_z(potentials, shifts):
    tree = JunctionTree(potentials.domain, potentials.cliques)
    shifted = potentials + 0.0
    for index in range(len(potentials)):
        shifted.table(index)[:] += shifts[index]
    # The shifted potentials are known to 1e-12 only, and so are the logarithms of their marginals.
    np.testing.assert_allclose(
        tree.marginals(shifted, TOTAL).values, tree.marginals(potentials, TOTAL).values, rtol=1e-10, atol=1e-9
    )
    moved = tree.log_partition(shifted) - tree.log_partition(potentials)
    assert moved == pytest.approx(sum(shifts[: len(potentials)]), abs=1e-9)


@given(models())
def test_evidence_as_a_vector_of_ones_is_no_evidence(potentials):
    assume(reference.log_joint(potentials).max() > -np.inf)
    domain = potentials.domain
    nothing = {a: np.ones(domain.size(a)) for a in domain}
    exact = reference.joint(reference.log_joint(potentials, np.longdouble))
    # A sum of doubles is known to a rounding of its terms, and its exponential to that relatively: 1e-12, as long as
    # logarithms stay below a thousand in all.
    largest = [np.abs(t[np.isfinite(t)]).max(initial=0.0) for t in map(potentials.table, range(len(potentials)))]
    near = max(1e-12, 4 * np.finfo(float).eps * sum(largest))
    for evidence in (None, nothing):
        found = pypgm.marginals(potentials, evidence=evidence)
        for index, clique in enumerate(potentials.cliques):
            wanted = reference.project(domain, exact, clique).ravel().astype(float)
            np.testing.assert_allclose(found.table(index), wanted, rtol=near, atol=1e-12)


def test_evidence_by_label_code_set_and_likelihood():
    domain = Domain({"sex": ["F", "M"], "age": 4, "year": [1999, 2000, 2001]})
    rng = np.random.default_rng(5)
    potentials = CliqueVector(domain, [("sex", "age"), ("age", "year")], rng.normal(size=20))
    model = GraphicalModel(potentials, 1.0)

    def answer(**evidence):
        return model.query("age", evidence).values

    np.testing.assert_array_equal(answer(year=2001), answer(year=np.int16(2001)))
    np.testing.assert_array_equal(answer(year=2001), answer(year="2001"))
    np.testing.assert_array_equal(answer(sex="M"), answer(sex=np.str_("M")))
    np.testing.assert_array_equal(answer(sex="M"), answer(sex=np.array([0.0, 1.0])))
    np.testing.assert_array_equal(answer(year=2001), answer(year=np.array([0.0, 0.0, 1.0])))
    np.testing.assert_array_equal(answer(year=[1999, 2001]), answer(year=np.array([1.0, 0.0, 1.0])))
    for several in ([1999, 2001], (2001, 1999), {1999, 2001}, frozenset({1999, 2001}), np.array([1999, 2001])):
        np.testing.assert_array_equal(answer(year=several), answer(year=[1999, 2001]))
    np.testing.assert_allclose(
        answer(sex=np.array([0.2, 0.6])), answer(sex=np.array([1.0, 3.0])), rtol=1e-14, err_msg="scale is free"
    )
    np.testing.assert_array_equal(model.query(("age", "sex"), {"sex": "F"}).values[:, 1], np.zeros(4))


BOOLEAN = {"flag": [False, True]}
REFUSED_EVIDENCE = [
    ({"zip": 1}, ValueError, "unknown attribute 'zip'"),
    ({"age": 4}, ValueError, "codes of 'age' are 0 to 3, got 4"),
    ({"age": -1}, ValueError, "codes of 'age' are 0 to 3, got -1"),
    ({"age": "old"}, TypeError, "'age' has no labels, so its values are codes, got 'old'"),
    ({"age": [0.2, 0.3, 0.5, 0]}, ValueError, r"a list that may mean two things: pypgm.Likelihood\(\[...\]\) has"),
    ({"age": 1.0}, TypeError, "'age' has no labels"),
    ({"age": True}, TypeError, "'age' has no labels"),
    ({"age": None}, TypeError, "'age' has no labels"),
    ({"sex": "X"}, ValueError, "'sex' has no label 'X'; its labels are 'F', 'M'"),
    ({"sex": 2}, ValueError, "'sex' has no label 2; its labels are 'F', 'M'; a number is a value here"),
    ({"year": 0}, ValueError, "'year' has no label 0; its labels are 1999, 2000, 2001"),
    ({"age": []}, ValueError, "evidence on 'age' needs at least one value"),
    ({"age": [0, 7]}, ValueError, "codes of 'age' are 0 to 3, got 7"),
    ({"age": np.ones(3)}, ValueError, r"a likelihood of 'age' needs shape \(4,\), got \(3,\)"),
    ({"age": np.array([1.0, -1.0, 0.0, 0.0])}, ValueError, "a likelihood of 'age' needs finite entries"),
    ({"age": np.array([1.0, np.nan, 0.0, 0.0])}, ValueError, "a likelihood of 'age' needs finite entries"),
    ({"age": np.array([1.0, np.inf, 0.0, 0.0])}, ValueError, "a likelihood of 'age' needs finite entries"),
]


@pytest.mark.parametrize(("evidence", "error", "message"), REFUSED_EVIDENCE)
def test_refused_evidence(evidence, error, message):
    domain = Domain({"sex": ["F", "M"], "age": 4, "year": [1999, 2000, 2001]})
    potentials = CliqueVector(domain, [("sex", "age")])
    for refused in (
        lambda: pypgm.marginals(potentials, evidence=evidence),
        lambda: JunctionTree(domain, potentials.cliques).log_partition(potentials, evidence),
        lambda: pypgm.variable_elimination(potentials, "sex", evidence=evidence),
        lambda: GraphicalModel(potentials, 1.0).query("sex", evidence),
    ):
        with pytest.raises(error, match=message):
            refused()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_potentials_that_are_no_logarithms(bad):
    domain = Domain({"a": 2, "b": 2})
    potentials = CliqueVector(domain, [("a",), ("a", "b")], [0, 0, 0, bad, 0, 0])
    message = r"potentials need finite logarithms or -inf; the table over \('a', 'b'\) holds NaN or \+inf"
    for refused in (
        lambda: pypgm.marginals(potentials),
        lambda: JunctionTree(domain, potentials.cliques).log_partition(potentials),
        lambda: pypgm.variable_elimination(potentials, "a"),
        lambda: GraphicalModel(potentials, 1.0),
    ):
        with pytest.raises(ValueError, match=message):
            refused()


@pytest.mark.parametrize("total", [0.0, -1.0, np.nan, np.inf])
def test_totals_that_are_none(total):
    potentials = CliqueVector(Domain({"a": 2}), ["a"])
    for refused in (
        lambda: pypgm.marginals(potentials, total),
        lambda: JunctionTree(potentials.domain, ["a"]).tables(potentials, total),
        lambda: pypgm.variable_elimination(potentials, "a", total),
        lambda: GraphicalModel(potentials, total or -0.5),  # 0 is a number of records
    ):
        with pytest.raises(ValueError, match="total must be positive and finite"):
            refused()


def test_refused_potentials_cliques_and_threads():
    domain = Domain({"a": 2, "b": 2})
    potentials = CliqueVector(domain, [("a", "b")])
    tree = JunctionTree(domain, ["a"])
    with pytest.raises(ValueError, match=r"the tree was built for \(\('a',\),\).*, got potentials over"):
        tree.marginals(potentials)
    with pytest.raises(ValueError, match="n_threads must be at least 0"):
        pypgm.marginals(potentials, n_threads=-1)
    for clique, message in (("zip", "unknown attribute 'zip'"), (("a", "a"), "'a' more than once")):
        for refused in (
            lambda c=clique: pypgm.variable_elimination(potentials, c),
            lambda c=clique: GraphicalModel(potentials, 1.0).project(c),
            lambda c=clique: GraphicalModel(potentials, 1.0).query(c),
            lambda c=clique: GraphicalModel(potentials, 1.0).query(c, {"b": 0}),
        ):
            with pytest.raises(ValueError, match=message):
                refused()


# Edges.


def log_space_chain(n_attributes, depth):
    """Pairs (0, -depth), (-depth, 0) against each other: linear weights vanish, logarithms do not."""
    potentials = chain(n_attributes, 2)
    for index in range(len(potentials)):
        potentials.table(index)[:] = [0, -depth, -depth, 0] if index % 2 else [-depth, 0, 0, -depth]
    return potentials


@pytest.mark.parametrize("depth", [10.0, 370.0, 700.0, 745.0, 800.0, 1e4])
def test_strongly_conflicting_chains(depth):
    potentials = log_space_chain(6, depth)
    # Evidence against the chain at both ends, and a single potential that tips the balance by little.
    ends = {"x0": np.array([1.0, 1e-300]), "x5": np.array([1e-300, 1.0])}
    table = reference.with_evidence(potentials.domain, reference.log_joint(potentials), ends)
    joint = reference.joint(table)
    result = pypgm.marginals(potentials, evidence=ends)
    for clique in potentials.cliques:
        np.testing.assert_allclose(
            result[clique].values, reference.project(potentials.domain, joint, clique), rtol=1e-9, atol=1e-13
        )


def test_two_factors_that_meet_only_below_the_smallest_double():
    domain = Domain({"a": 2})
    potentials = CliqueVector(domain, ["a", "a"], [0.0, -800.0, -800.0, 0.0])
    np.testing.assert_allclose(pypgm.marginals(potentials).values, 0.5, rtol=1e-12)
    tree = JunctionTree(domain, potentials.cliques)
    assert tree.log_partition(potentials) == pytest.approx(-800 + np.log(2), rel=1e-15)


@given(st.integers(0, 2**32 - 1), st.sampled_from([300.0, 740.0, 800.0, 2000.0]))
def test_random_conflicts(seed, depth):
    rng = np.random.default_rng(seed)
    domain = Domain({f"x{i}": int(rng.integers(2, 4)) for i in range(6)})
    cliques = [tuple(rng.choice(domain.attributes, 2, replace=False)) for _ in range(7)]
    potentials = CliqueVector(domain, cliques)
    potentials.values[:] = rng.choice([0.0, -depth, -1.0, -np.inf], size=potentials.values.size, p=[0.4, 0.4, 0.1, 0.1])
    table = reference.log_joint(potentials)
    assume(table.max() > -np.inf)
    joint = reference.joint(table)
    result = pypgm.marginals(potentials)
    for index, clique in enumerate(potentials.cliques):
        np.testing.assert_allclose(
            result.table(index), reference.project(domain, joint, clique).ravel(), rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("top", [709.0, 709.8, 710.4, 2129.7, 3549.3])
def test_terms_of_nothing_whose_exponents_are_large(top):
    """Where a zero meets a weight of 2^1024 the power of two is no double: nothing comes of it, not NaN."""
    rng = np.random.default_rng(int(10 * top))
    domain = Domain({"a": 2, "b": 3})
    for _ in range(500):
        potentials = CliqueVector(domain, ["a", "b", ("a", "b")], np.round(500 * rng.normal(size=11)))
        potentials.values[rng.random(11) < 0.4] = -np.inf
        potentials.values[rng.integers(11)] = top
        joint = reference.log_joint(potentials)
        if np.isneginf(joint).all():
            with pytest.raises(ImpossibleEvidenceError):
                pypgm.marginals(potentials)
            continue
        wanted = np.exp(joint - np.logaddexp.reduce(joint, axis=None)).reshape(domain.shape)
        found = pypgm.marginals(potentials)
        np.testing.assert_allclose(found[("a", "b")].values, wanted, atol=1e-9)
        np.testing.assert_allclose(found["b"].values, wanted.sum(0), atol=1e-9)


@pytest.mark.parametrize("total", [1e15, 1e40, 1e300])
def test_large_totals_of_conflicting_chains(total):
    rng = np.random.default_rng(2)
    for _ in range(50):
        domain = Domain({f"x{i}": int(size) for i, size in enumerate(rng.integers(1, 4, 4))})
        potentials = CliqueVector(domain, [("x0", "x1"), ("x1", "x2"), ("x2", "x3")])
        potentials.values[:] = 300 * rng.normal(size=potentials.values.size)
        shares = pypgm.marginals(potentials).values
        np.testing.assert_allclose(pypgm.marginals(potentials, total).values / total, shares, rtol=1e-12, atol=1e-300)
    table = pypgm.Factor(Domain({"a": 2}), [1.2e-300, 1.3e-300]).normalize(total)
    np.testing.assert_allclose(table.values / total, [0.48, 0.52])


def test_whole_rows_of_minus_infinity():
    domain = Domain({"a": 3, "b": 2, "c": 3})
    potentials = CliqueVector(domain, [("a", "b"), ("b", "c")])
    potentials["a", "b"].values[1] = -np.inf
    potentials["b", "c"].values[:, 2] = -np.inf
    result = pypgm.marginals(potentials, 12.0)
    np.testing.assert_allclose(result["a", "b"].values, [[3, 3], [0, 0], [3, 3]], rtol=1e-14)
    np.testing.assert_allclose(result["b", "c"].values, [[3, 3, 0], [3, 3, 0]], rtol=1e-14)


def test_single_valued_isolated_empty_duplicate_and_nested():
    domain = Domain({"one": 1, "a": 2, "alone": 5, "b": 3, "another": 1})
    cliques = [(), ("a", "one"), ("b", "a"), ("a", "b"), ("a",), (), ("another",)]
    potentials = CliqueVector(domain, cliques)
    potentials.values[:] = np.random.default_rng(0).normal(size=potentials.values.size)
    table = reference.log_joint(potentials)
    joint = reference.joint(table, TOTAL)
    result = pypgm.marginals(potentials, TOTAL)
    for index, clique in enumerate(potentials.cliques):
        np.testing.assert_allclose(result.table(index), reference.project(domain, joint, clique).ravel(), rtol=1e-12)
    model = GraphicalModel(potentials, TOTAL)
    np.testing.assert_allclose(model.project("alone").values, TOTAL / 5, rtol=1e-14)
    np.testing.assert_allclose(model.project(("alone", "a")).values.sum(0), result["a"].values, rtol=1e-12)
    assert model.project(()).values == pytest.approx(TOTAL)
    assert model.tree.log_partition(potentials) == pytest.approx(reference.log_sum_exp(table), rel=1e-13)


def test_no_attributes_and_no_cliques():
    nothing = GraphicalModel(CliqueVector(Domain({}), []), 7.0)
    assert nothing.project(()).values == 7.0
    uniform = GraphicalModel(CliqueVector(Domain({"a": 2, "b": 2}), []), 8.0)
    np.testing.assert_array_equal(uniform.project(("b", "a")).values, np.full((2, 2), 2.0))
    assert uniform.tree.log_partition(uniform.potentials) == pytest.approx(np.log(4))


def test_hidden_markov_model_of_three_thousand_steps():
    steps, states = 3000, 3
    rng = np.random.default_rng(1)
    initial = rng.dirichlet(np.ones(states))
    transition = rng.dirichlet(np.ones(states), size=states)
    likelihoods = rng.random((steps, states)) * 10.0 ** rng.integers(-8, 1, size=(steps, 1))
    domain = Domain({f"s{t}": states for t in range(steps)})
    cliques = [("s0",), *((f"s{t}", f"s{t + 1}") for t in range(steps - 1))]
    values = np.concatenate([np.log(initial), np.tile(np.log(transition).ravel(), steps - 1)])
    potentials = CliqueVector(domain, cliques, values)
    evidence = {f"s{t}": likelihoods[t] for t in range(steps)}
    tree = JunctionTree(domain, cliques)
    log_evidence = reference.forward(initial, transition, likelihoods)
    assert np.isfinite(log_evidence)
    assert tree.log_partition(potentials, evidence) == pytest.approx(log_evidence, rel=1e-12)
    marginals = tree.marginals(potentials, evidence=evidence)
    singles = tree.attribute_marginals(potentials, evidence=evidence)
    assert np.isfinite(marginals.values).all()
    np.testing.assert_allclose(singles["s1500"], marginals["s1500", "s1501"].values.sum(1), rtol=1e-11)
    # The same observed: a step's state is known, and every table that holds it is smaller.
    seen = {f"s{t}": int(likelihoods[t].argmax()) for t in range(0, steps, 3)}
    exactly = [np.eye(states)[seen[f"s{t}"]] if t % 3 == 0 else likelihoods[t] for t in range(steps)]
    with np.errstate(divide="ignore"):
        known = reference.forward(initial, transition, np.array(exactly))
    assert tree.log_partition(potentials, {**evidence, **seen}) == pytest.approx(known, rel=1e-12)
    ones = [marginals.table(i).sum() for i in range(steps)]
    np.testing.assert_allclose(ones, 1.0, rtol=1e-12)


def test_ten_thousand_attributes_in_a_chain():
    rng = np.random.default_rng(2)
    potentials = chain(10_000, 2, rng)
    tree = JunctionTree(potentials.domain, potentials.cliques)
    assert tree.cost.width == 1
    assert tree.cost.cells == 4 * 9999
    result = tree.marginals(potentials, 10.0)
    # Forward and backward messages of a chain, each step scaled.
    weights = np.exp(potentials.values.reshape(-1, 2, 2))
    ahead, behind = np.ones((10_000, 2)), np.ones((10_000, 2))
    for t in range(9999):
        ahead[t + 1] = ahead[t] @ weights[t]
        ahead[t + 1] /= ahead[t + 1].sum()
        back = 9998 - t
        behind[back] = weights[back] @ behind[back + 1]
        behind[back] /= behind[back].sum()
    wanted = ahead[:-1, :, None] * weights * behind[1:, None, :]
    wanted *= 10.0 / wanted.sum((1, 2), keepdims=True)
    np.testing.assert_allclose(result.values.reshape(-1, 2, 2), wanted, rtol=1e-11)


def test_ends_of_a_long_chain():
    potentials = chain(3000, 3, np.random.default_rng(3), spread=3.0)
    product = np.eye(3)
    for index in range(2999):
        product = product @ np.exp(potentials.table(index).reshape(3, 3))
        product /= product.sum()
    model = GraphicalModel(potentials, 1.0)
    np.testing.assert_allclose(model.project(("x2999", "x0")).values, product.T, rtol=1e-10)
    np.testing.assert_allclose(pypgm.variable_elimination(potentials, ("x0", "x2999")).values, product, rtol=1e-10)
