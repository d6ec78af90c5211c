"""Kronecker queries of a model: every block against dense algebra, sharing, cancellation, evidence, refusals."""

from __future__ import annotations

import itertools
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
import reference
from hypothesis import assume, given
from hypothesis import strategies as st
from random_models import chain, evidence_on, models

import pypgm
from pypgm import (
    CliqueVector,
    ConditionWarning,
    Dataset,
    Domain,
    GraphicalModel,
    ImpossibleEvidenceError,
    KroneckerQuery,
    ModelTooLargeError,
    queries,
)

TOTAL = 1000.0


def dense(block, size):
    """Return the matrix of a block, whatever it is."""
    if hasattr(block, "entries"):
        entries = block.entries.toarray() if hasattr(block.entries, "toarray") else block.entries
        return np.asarray(entries, dtype=float)
    return np.stack([block.matvec(unit) for unit in np.eye(size)], axis=1)


def contracted(domain, joint, query):
    """Return kron(Q_1, ..., Q_d) @ joint, one matrix after the other, the attributes of the query in its order."""
    table = reference.project(domain, joint, query.attributes)
    for axis, (attribute, block) in enumerate(query.blocks.items()):
        matrix = dense(block, domain.size(attribute))
        table = np.moveaxis(np.tensordot(matrix, table, axes=([1], [axis])), 0, axis)
    return table


@st.composite
def blocks_of(draw, size):
    kind = draw(st.integers(0, 11))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    low = int(rng.integers(0, size))
    levels = rng.normal(size=size) * 10.0 ** rng.integers(-3, 6)
    return [
        lambda: queries.Identity(size),
        lambda: queries.total(size),
        lambda: queries.Subset([low], size),
        lambda: queries.subset_sum(rng.permutation(size)[: low + 1], size),
        lambda: queries.Prefix(size),
        lambda: queries.AllRange(size),
        lambda: queries.RangeList(size, [(low, size - 1), (0, low)]),
        lambda: queries.Partition(rng.integers(0, 3, size=size), 3),
        lambda: queries.mean(levels),
        lambda: queries.moments(levels, 3, centre=float(levels.mean()), scale=float(np.ptp(levels)) or 1.0),
        lambda: queries.Matrix(rng.integers(-5, 6, size=(int(rng.integers(1, 6)), size))),
        lambda: rng.normal(size=(int(rng.integers(1, 6)), size)),
    ][kind]()


@st.composite
def questions(draw, domain):
    attributes = draw(st.lists(st.sampled_from(domain.attributes), max_size=4, unique=True))
    return KroneckerQuery({a: draw(blocks_of(domain.size(a))) for a in attributes})


@st.composite
def cases(draw):
    potentials = draw(models())
    asked = draw(st.lists(questions(potentials.domain), min_size=1, max_size=4))
    evidence, likelihoods = draw(evidence_on(potentials.domain))
    return potentials, asked, evidence, likelihoods


@pytest.mark.filterwarnings("ignore::pypgm.ConditionWarning")
@given(cases())
def test_against_dense_algebra(case):
    potentials, asked, evidence, likelihoods = case
    table = reference.log_joint(potentials)
    assume(table.max() > -np.inf)
    model = GraphicalModel(potentials, TOTAL)

    def check(answers, joint):
        for query, answer in zip(asked, answers, strict=True):
            assert answer.shape == query.shape
            bound = contracted(
                potentials.domain,
                joint,
                KroneckerQuery({a: np.abs(dense(b, potentials.domain.size(a))) for a, b in query.blocks.items()}),
            )
            wanted = contracted(potentials.domain, joint, query)
            assert (np.abs(answer - wanted) <= 1e-10 * bound.max(initial=TOTAL * 1e-2)).all()

    check(model.answer(asked), reference.joint(table, TOTAL))
    for query, together in zip(asked, model.answer(asked), strict=True):
        np.testing.assert_array_equal(model.answer(query).shape, together.shape)
    table = reference.with_evidence(potentials.domain, table, likelihoods)
    if table.max() > -np.inf:
        check(model.answer(asked, evidence), reference.joint(table, TOTAL))
    else:
        with pytest.raises(ImpossibleEvidenceError):
            model.answer(asked, evidence)


@given(models(), st.data())
def test_blocks_of_ones_and_identities_are_marginals(potentials, data):
    """X11: a query of blocks I and 1 is the marginal that variable elimination finds."""
    assume(reference.log_joint(potentials).max() > -np.inf)
    domain = potentials.domain
    kept = {a: data.draw(st.booleans()) for a in data.draw(st.permutations(domain.attributes))}
    query = KroneckerQuery({a: (queries.Identity if k else queries.total)(domain.size(a)) for a, k in kept.items()})
    clique = tuple(a for a, k in kept.items() if k)
    answer = GraphicalModel(potentials, TOTAL).answer(query)
    wanted = pypgm.variable_elimination(potentials, clique, TOTAL)
    np.testing.assert_allclose(answer.reshape(wanted.values.shape), wanted.values, rtol=1e-10, atol=1e-12 * TOTAL)


def small_model(seed=0):
    domain = Domain({"age": 8, "sex": ["F", "M"], "job": 5, "zip": 6})
    potentials = CliqueVector(domain, [("age", "sex"), ("sex", "job"), ("job", "zip")])
    potentials.values[:] = np.random.default_rng(seed).normal(size=potentials.values.size)
    return GraphicalModel(potentials, TOTAL)


def test_against_the_whole_kronecker_matrix_with_negative_entries():
    model = small_model()
    rng = np.random.default_rng(1)
    matrices = {a: rng.normal(size=(2, model.domain.size(a))) for a in model.domain}
    whole = np.ones((1, 1))
    for matrix in matrices.values():
        whole = np.kron(whole, matrix)
    joint = reference.joint(reference.log_joint(model.potentials), TOTAL)
    answer = model.answer(KroneckerQuery(matrices))
    assert answer.shape == (2, 2, 2, 2)
    np.testing.assert_allclose(answer.reshape(-1), whole @ joint.reshape(-1), rtol=0, atol=1e-11 * TOTAL)


def test_what_the_blocks_are():
    model = small_model()
    pair = model.project(("zip", "age")).values
    both = {"zip": queries.Identity(6)}

    def ask(block):
        return model.answer(KroneckerQuery({**both, "age": block}))

    close = {"rtol": 1e-12, "atol": 1e-12 * TOTAL}
    np.testing.assert_allclose(ask(queries.Prefix(8)), pair.cumsum(1), **close)
    np.testing.assert_allclose(ask(queries.Subset([3], 8)), pair[:, 3:4], **close)
    np.testing.assert_allclose(ask(queries.subset_sum([0, 7], 8)), pair[:, [0, 7]].sum(1, keepdims=True), **close)
    np.testing.assert_allclose(ask(queries.RangeList(8, [(2, 5)])), pair[:, 2:6].sum(1, keepdims=True), **close)
    groups = [0, 0, 1, 1, 1, 2, 2, 2]
    compressed = ask(queries.Partition(groups))
    np.testing.assert_allclose(compressed, np.add.reduceat(pair, [0, 2, 5], axis=1), **close)
    np.testing.assert_allclose(compressed.sum(1), pair.sum(1), **close)
    levels = np.arange(8) * 10.0 + 5
    np.testing.assert_allclose(ask(queries.mean(levels))[:, 0], pair @ levels, **close)
    powers = ask(queries.moments(levels, 3, centre=40.0, scale=20.0))
    np.testing.assert_allclose(powers[:, 1], pair @ ((levels - 40) / 20) ** 2, **close)
    assert model.answer(KroneckerQuery({})) == pytest.approx(TOTAL)
    np.testing.assert_allclose(model.answer(KroneckerQuery({"age": queries.total(8)})), [TOTAL], rtol=1e-12)


def test_no_table_is_made_that_the_query_does_not_need():
    # Thirty attributes of a hundred values: their joint table has 1e60 cells, the answers have one or two.
    domain = Domain([f"x{i}" for i in range(30)], [100] * 30)
    potentials = CliqueVector(domain, [(f"x{i}", f"x{i + 1}") for i in range(29)])
    rng = np.random.default_rng(2)
    potentials.values[:] = rng.normal(size=potentials.values.size)
    model = GraphicalModel(potentials, 1.0)
    chosen = {a: queries.RangeList(100, [(10, 79)]) for a in domain}
    inside = np.zeros(100)
    inside[10:80] = 1
    weights = [np.exp(potentials.table(i).reshape(100, 100)) for i in range(29)]

    def forward(mask):
        log, row = 0.0, mask.copy()
        for w in weights:
            row = (row @ w) * mask
            log += np.log(row.sum())
            row /= row.sum()
        return log

    wanted = np.exp(forward(inside) - forward(np.ones(100)))
    assert model.answer(KroneckerQuery(chosen)).item() == pytest.approx(wanted, rel=1e-10)
    plan_cells = model._calibrated._plans.plan(
        [(i, 1) for i in range(30)], [(tuple(range(30)), tuple(range(30)))]
    ).cost["largest_cells"]
    assert plan_cells <= 100 * 100
    with pytest.raises(ModelTooLargeError, match="need 1e"):
        model.answer(KroneckerQuery({a: queries.Identity(100) for a in domain}))


def test_answers_with_too_many_rows_are_refused():
    domain = Domain({"a": 10_000, "b": 10_000})
    model = GraphicalModel(CliqueVector(domain, ["a", "b"]), 1.0)
    every = KroneckerQuery({"a": queries.AllRange(10_000), "b": queries.AllRange(10_000)})
    with pytest.raises(ModelTooLargeError, match=r"need 2.5e\+15 cells"):
        model.answer(every)


def test_queries_of_a_batch_share_messages():
    potentials = chain(60, 6, np.random.default_rng(3))
    model = GraphicalModel(potentials, TOTAL)
    asked = [KroneckerQuery({"x0": queries.mean(np.arange(6)), "x59": queries.Subset([i], 6)}) for i in range(6)]
    together = model.answer(asked)
    for query, answer in zip(asked, together, strict=True):
        np.testing.assert_array_equal(model.answer(query), answer)
    plans = model._calibrated._plans
    blocks = [(0, 1), *((59, 1) for _ in range(6))]
    pair = (0, 59)
    steps = plans.plan(blocks, [(pair, (0, 1 + i)) for i in range(6)]).cost["steps"]
    alone = sum(plans.plan(blocks, [(pair, (0, 1 + i))]).cost["steps"] for i in range(6))
    assert steps < 0.6 * alone


@pytest.mark.parametrize("n_threads", [0, 2, 3])
def test_threads_change_no_bit(n_threads):
    model = small_model()
    rng = np.random.default_rng(4)
    asked = [
        KroneckerQuery({a: rng.normal(size=(3, model.domain.size(a))), b: queries.Prefix(model.domain.size(b))})
        for a, b in itertools.permutations(model.domain, 2)
    ]
    one = model.answer(asked, n_threads=1)
    more = model.answer(asked, n_threads=n_threads)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(one, more, strict=True))


# Cancellation.


def test_cancellation_is_said():
    model = small_model()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # neither signs nor large levels alone are a reason
        model.answer(KroneckerQuery({"age": queries.mean(1e9 + np.arange(8.0)), "sex": [[1, -1]]}))
    uniform = GraphicalModel(CliqueVector(Domain({"a": 2, "b": 2}), ["a", "b"]), 1.0)
    with pytest.warns(ConditionWarning, match=r"cancel in 1 of 1 answers to a query on a, b: .* the answer"):
        uniform.answer(KroneckerQuery({"a": [[1.0, -1.0 + 1e-10]], "b": queries.total(2)}))
    with pytest.warns(ConditionWarning, match="cancel in 1 of 2 answers"):
        uniform.answer([KroneckerQuery({"a": [[1, -1], [1, 1]]})])


def test_late_blocks_are_judged_too():
    uniform = GraphicalModel(CliqueVector(Domain({"a": 2}), ["a"]), 1.0)
    with pytest.warns(ConditionWarning, match="cancel in 1 of 3 answers"):
        answer = uniform.answer(KroneckerQuery({"a": [[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]]}))
    np.testing.assert_array_equal(answer, [0.5, 0.5, 0.0])


def test_huge_and_tiny_blocks():
    model = small_model()
    huge = model.answer(KroneckerQuery({"age": np.full((1, 8), 1e250), "zip": np.full((1, 6), 1e-250)}))
    np.testing.assert_allclose(huge, [[TOTAL]], rtol=1e-12)
    np.testing.assert_allclose(model.answer(KroneckerQuery({"age": np.full((1, 8), 1e-290)})), [TOTAL * 1e-290])


def test_large_answers_are_made_in_parts_that_a_time_limit_ends(monkeypatch):
    model, ranges = small_model(), {"age": queries.AllRange(8), "zip": queries.AllRange(6)}
    whole = model.answer(KroneckerQuery(ranges))
    monkeypatch.setattr("pypgm.inference.kronecker._CHUNK_CELLS", 50)
    np.testing.assert_array_equal(model.answer(KroneckerQuery(ranges)), whole)
    times = itertools.count()  # a second from each look to the next: the tables are done before the limit
    monkeypatch.setattr("pypgm._base.clock.now", lambda: float(next(times)))
    with pytest.raises(TimeoutError, match="the exact answer takes longer than time_limit=10"):
        model.answer(KroneckerQuery(ranges), time_limit=10.0)


# Conditional expectations.


def test_conditional_expectations():
    model = small_model()
    levels = np.arange(8.0) ** 2
    table = model.project(("zip", "sex", "age")).values
    means = model.expectation("age", ("zip", "sex"), levels)
    assert means.domain.attributes == ("zip", "sex")
    np.testing.assert_allclose(means.values, table @ levels / table.sum(-1), rtol=1e-12)
    np.testing.assert_allclose(model.expectation("age", levels=levels).values, table.sum((0, 1)) @ levels / TOTAL)
    given_sex = model.expectation("age", "zip", levels, {"sex": "M"})
    np.testing.assert_allclose(given_sex.values, means.values[:, 1], rtol=1e-12)


def test_a_mean_over_nobody_is_nan():
    domain = Domain({"age": [20, 40, 60], "sex": ["F", "M"]})
    potentials = CliqueVector(domain, [("age", "sex")])
    potentials["age", "sex"].values[:, 1] = -np.inf
    means = GraphicalModel(potentials, TOTAL).expectation("age", "sex").values
    assert means[0] == pytest.approx(40.0)
    assert np.isnan(means[1])


# One concept: what is measured can be asked.


def test_a_query_that_was_measured_is_asked_of_the_model():
    domain = Domain({"sex": 2, "age": 4})
    rng = np.random.default_rng(6)
    data = Dataset({a: rng.integers(0, domain.size(a), size=500) for a in domain}, domain)
    query = KroneckerQuery({"age": queries.Prefix(4), "sex": queries.Identity(2)})
    ledger = pypgm.Ledger(pypgm.Budget(rho=10**9))
    table = pypgm.privacy.PrivateTable(data, pypgm.Privacy(), ledger)
    measured = table.measure(query.attributes, query.operator, variance=Fraction(1, 10**6))
    cells = np.maximum(data.project(("sex", "age")).values, 1e-300)
    model = GraphicalModel(CliqueVector(domain, [("sex", "age")], np.log(cells).reshape(-1)), 500.0)
    np.testing.assert_allclose(model.answer(query).reshape(-1), measured.values, atol=1e-6)


def test_a_query_is_a_value():
    a = KroneckerQuery({"x": [[1, 2]], "y": queries.mean([0.5, 1.5])})
    assert a == pickle.loads(pickle.dumps(a))
    assert hash(a) == hash(pickle.loads(pickle.dumps(a)))
    assert a != KroneckerQuery({"y": queries.mean([0.5, 1.5]), "x": [[1, 2]]})
    assert a != 3
    assert a.shape == (1, 1)
    assert repr(a) == "KroneckerQuery(x: Matrix(1 answers on 2 cells), y: Matrix(1 answers on 2 cells))"
    real = queries.Matrix([[1.0]])
    assert real != 3
    for change in (lambda: setattr(real, "shape", 3), lambda: delattr(real, "shape")):
        with pytest.raises(AttributeError, match="a Matrix does not change"):
            change()
    assert isinstance(KroneckerQuery({"x": [[2**40]]}).blocks["x"], queries.Matrix)


REFUSED = [
    (lambda: KroneckerQuery({"x": [1.0, 2.0]}), "rows and columns, got shape"),
    (lambda: KroneckerQuery({"x": np.zeros((0, 2))}), "rows and columns, got shape"),
    (lambda: KroneckerQuery({"x": [[np.nan, 1.0]]}), "finite entries"),
    (lambda: KroneckerQuery({"x": queries.mean([1.0, 2.0])}).operator, "query of 'x' has real entries; on_lattice"),
    (lambda: KroneckerQuery({}).operator, "one query an attribute"),
    (lambda: small_model().answer(KroneckerQuery({"age": queries.Prefix(7)})), "'age' has 8 values, .* is for 7"),
    (lambda: small_model().answer(KroneckerQuery({"size": queries.Prefix(7)})), "unknown attribute 'size'"),
    (lambda: small_model().expectation("age"), "'age' has no numeric labels; pass levels="),
    (lambda: small_model().expectation("sex"), "'sex' has no numeric labels"),
    (lambda: small_model().expectation("zoo"), "'zoo'"),
    (lambda: small_model().expectation("age", "age", np.ones(8)), "more than once"),
    (lambda: small_model().expectation("age", (), np.ones(7)), "'age' has 8 values"),
    (lambda: queries.moments([], 1), "one number per cell"),
    (lambda: queries.moments([1.0], 0), "order of at least 1"),
    (lambda: queries.moments([1.0], 1, scale=0.0), "positive scale"),
    (lambda: queries.moments([1e200], 2), "finite entries"),
]


@pytest.mark.parametrize(("refused", "message"), REFUSED)
def test_refused(refused, message):
    with pytest.raises(ValueError, match=message):
        refused()


@pytest.mark.parametrize(
    ("query", "place", "came"),
    [
        ({"age": np.eye(8)}, "query", "dict"),
        (queries.Prefix(8), "query", "Prefix"),
        ("age", "query", "str"),
        (None, "query", "NoneType"),
        (np.eye(8), r"query\[0\]", "ndarray"),
        ([KroneckerQuery({}), queries.Prefix(8)], r"query\[1\]", "Prefix"),
    ],
)
def test_what_is_no_kronecker_query_is_refused(query, place, came):
    with pytest.raises(TypeError, match=rf"{place} needs a pypgm\.KroneckerQuery.*, got {came}: pypgm.KroneckerQuery"):
        small_model().answer(query)


# Evidence.


@given(models(), st.data())
def test_log_probability_of_evidence(potentials, data):
    table = reference.log_joint(potentials)
    assume(table.max() > -np.inf)
    evidence, likelihoods = data.draw(evidence_on(potentials.domain))
    model = GraphicalModel(potentials, TOTAL)
    weighed = reference.with_evidence(potentials.domain, table, likelihoods)
    if weighed.max() == -np.inf:
        with pytest.raises(ImpossibleEvidenceError, match="has probability zero"):
            model.log_probability(evidence)
    else:
        wanted = reference.log_sum_exp(weighed) - reference.log_sum_exp(table)
        assert model.log_probability(evidence) == pytest.approx(wanted, rel=1e-11, abs=2e-10)
