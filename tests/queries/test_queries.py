import itertools
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, eye_array

import pypgm
from pypgm import queries
from pypgm.estimation.problem import is_compiled
from pypgm.queries import (
    AllRange,
    Contrasts,
    Identity,
    Kronecker,
    Matrix,
    Partition,
    Prefix,
    RangeList,
    Subset,
    Union,
    UserOperator,
    on_lattice,
)
from pypgm.queries.folded import folded
from pypgm.queries.neighbours import MAX_COLUMNS

RELATIONS = ("add-remove", "replace")
groups = st.lists(st.integers(0, 4), min_size=1, max_size=7)
sizes = st.integers(1, 7)
signed = st.integers(1, 5).flatmap(
    lambda cells: st.lists(st.lists(st.integers(-4, 4), min_size=cells, max_size=cells), min_size=1, max_size=4)
)


@st.composite
def range_lists(draw):
    size = draw(sizes)
    ends = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)).map(sorted)
    return RangeList(size, draw(st.lists(ends, min_size=1, max_size=6)))


@st.composite
def subsets(draw):
    size = draw(sizes)
    cells = draw(st.permutations(range(size)))[: draw(st.integers(1, size))]
    return Subset(cells, size, [draw(st.integers(-3, 3)) for _ in cells])


simple = st.one_of(
    sizes.map(Identity),
    groups.map(Partition),
    groups.map(lambda g: Partition(g, 6)),
    sizes.map(Prefix),
    sizes.map(AllRange),
    sizes.map(queries.total),
    signed.map(Matrix),
    signed.map(lambda rows: Matrix(csr_array(np.array(rows)))),
    range_lists(),
    subsets(),
    st.lists(st.integers(2, 4), max_size=2).map(Contrasts),
)
every = st.one_of(simple, st.lists(simple, min_size=1, max_size=3).map(Kronecker))


def as_user_operator(entries):
    return UserOperator(
        entries.shape,
        lambda x: entries @ x,
        lambda y: entries.T @ y,
        lambda norm: np.linalg.norm(entries, norm, axis=0),
    )


real = signed.map(lambda rows: np.array(rows) * np.resize([0.5, 1.0, 0.0, -0.25], np.shape(rows)))
leaves = st.one_of(every, real.map(Matrix), real.map(lambda rows: Matrix(csr_array(rows))), real.map(as_user_operator))


@st.composite
def composites(draw):
    kind = draw(st.sampled_from(["leaf", "union", "folded", "product"]))
    first = draw(leaves)
    if kind == "union":
        return Union([first, *(q for q in draw(st.lists(leaves, max_size=3)) if q.shape[1] == first.shape[1])])
    if kind == "folded":
        return folded(first, np.array(draw(st.lists(st.integers(0, first.shape[1] - 1), min_size=1, max_size=8))))
    return Kronecker([first, draw(leaves)]) if kind == "product" else first


def matrix(query):
    return np.stack([query.matvec(row) for row in np.eye(query.shape[1], dtype=np.int64)], axis=1)


def by_brute_force(query, neighbours, norm):
    columns = matrix(query).T
    if neighbours == "add-remove":
        differences = list(columns)
    else:
        differences = [a - b for a, b in itertools.product(columns, repeat=2)]
    return max(int((np.abs(d) ** norm).sum()) for d in differences)


@given(every)
def test_sensitivities_equal_brute_force(query):
    for neighbours in RELATIONS:
        squared = query.squared_l2_sensitivity(neighbours)
        assert query.sensitivity(neighbours, 1) == by_brute_force(query, neighbours, 1)
        assert squared == by_brute_force(query, neighbours, 2)
        assert query.sensitivity(neighbours, 2) == pytest.approx(squared**0.5)
        assert isinstance(squared, int)
        entries = matrix(query)
        widest = np.abs(entries) if neighbours == "add-remove" else entries.max(axis=1) - entries.min(axis=1)
        exact = not isinstance(query, Kronecker) or entries.min() >= 0
        assert query.largest_change(neighbours) == widest.max() or (
            not exact and query.largest_change(neighbours) > widest.max()
        )


def test_rows_that_sum_to_nothing_are_not_searched_for_the_total(monkeypatch):
    def search(*_, **__):
        raise AssertionError("thousands of products for an answer that is known")

    monkeypatch.setattr("scipy.sparse.linalg.lsmr", search)
    interactions = queries.Union(
        [queries.Contrasts([40, 30]), queries.Contrasts([4, 30], [np.arange(40) // 10, np.arange(30)])]
    )
    assert interactions.total_weights(np.ones(interactions.shape[0])) is None


@given(every, st.integers(0, 2**32))
def test_adjoint_and_total(query, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=query.shape[1]), rng.normal(size=query.shape[0])
    assert query.matvec(x) @ y == pytest.approx(x @ query.rmatvec(y))
    np.testing.assert_allclose(query.matvec(x), matrix(query) @ x, atol=1e-9)
    dense = matrix(query)
    assert query.shape == dense.shape
    for norm in (1, 2):
        np.testing.assert_allclose(query.column_norms(norm), np.linalg.norm(dense, norm, axis=0), atol=1e-12)
    reached = dense.T @ np.linalg.lstsq(dense.T.astype(float), np.ones(dense.shape[1]), rcond=None)[0]
    assert query.supports_total == np.allclose(reached, 1, atol=1e-7)
    whole = rng.integers(-(2**40), 2**40, query.shape[1])
    assert query.matvec(whole).dtype == np.int64
    assert query.matvec(whole).tolist() == (dense.astype(object) @ whole.astype(object)).tolist()


@given(composites(), st.integers(0, 2**32))
def test_every_query_describes_the_matrix_it_is(query, seed):
    rng = np.random.default_rng(seed)
    dense = query.to_sparse().toarray()
    rows, cells = query.shape
    assert dense.shape == (rows, cells)
    assert np.count_nonzero(dense) <= query.nnz
    table, answers = rng.normal(size=(2, cells, 3)), rng.normal(size=(2, rows, 3))
    np.testing.assert_allclose(query.apply(table, 1), np.einsum("ra,bac->brc", dense, table), atol=1e-9)
    np.testing.assert_allclose(query.transpose(answers, -2), np.einsum("ra,brc->bac", dense, answers), atol=1e-9)
    assert np.vdot(query.apply(table, 1), answers) == pytest.approx(np.vdot(table, query.transpose(answers, 1)))
    np.testing.assert_allclose(query.matvec(table[0, :, 0]), dense @ table[0, :, 0], atol=1e-9)
    np.testing.assert_allclose(query.rmatvec(answers[0, :, 0]), dense.T @ answers[0, :, 0], atol=1e-9)
    assert query.is_integer <= (dense == np.rint(dense)).all()
    assert query.is_non_negative <= (dense >= 0).all()
    assert query.has_unit_columns <= (dense.sum(0) == 1).all()
    if query.is_identity:
        np.testing.assert_array_equal(dense, np.eye(cells))
    if query.form().running:
        np.testing.assert_array_equal(dense, np.arange(rows)[:, None] >= query.form().columns)
    if query.groups is not None:
        np.testing.assert_array_equal(query.groups, dense.argmax(0))
    for norm in (1, 2):
        np.testing.assert_allclose(query.column_norms(norm), np.linalg.norm(dense, norm, axis=0), atol=1e-9)
        np.testing.assert_allclose(query.magnitudes(norm).to_sparse().toarray(), np.abs(dense) ** norm, atol=1e-9)
    weights = rng.uniform(0.1, 2.0, rows)
    scaled = (dense * np.sqrt(weights)[:, None]).T
    assert (query.column_squares(weights) >= np.square(scaled).sum(1) - 1e-9).all()
    widest = max(np.square(a - b).sum() for a, b in itertools.product(scaled, repeat=2))
    assert query.largest_squared_distance(weights) >= widest - 1e-9
    if query.has_acute_columns:
        assert (scaled @ scaled.T >= -1e-9).all()


@settings(max_examples=30)
@given(composites(), st.integers(0, 2**32))
def test_every_query_knows_the_best_way_to_the_total(query, seed):
    stddev = np.random.default_rng(seed).uniform(0.5, 2.0, query.shape[0])
    dense = query.to_sparse().toarray()
    for noise in (stddev, np.ones_like(stddev)):
        scaled = dense / noise[:, None]
        wanted = np.linalg.lstsq(scaled.T, np.ones(dense.shape[1]), rcond=None)[0]
        exists = np.allclose(scaled.T @ wanted, 1, atol=1e-7)
        found = query.total_weights(noise)
        assert (found is not None) == query.supports_total == exists
        if exists:
            np.testing.assert_allclose(dense.T @ found, 1, atol=1e-5)
            # Partitions and cells: every combination is the best one.
            assert np.square(found * noise).sum() <= np.square(wanted).sum() * (1 + 1e-5) + 1e-9


@given(composites())
def test_no_sensitivity_is_understated_and_real_entries_have_none(query):
    dense = query.to_sparse().toarray()
    changes = {"add-remove": dense.T, "replace": [a - b for a, b in itertools.product(dense.T, repeat=2)]}
    for neighbours, differences in changes.items():
        if not query.is_integer:
            for ask in (query.l1_sensitivity, query.squared_l2_sensitivity, query.largest_change):
                with pytest.raises(ValueError, match="real entries and no exact sensitivity"):
                    ask(neighbours)
            continue
        exact = [(query.l1_sensitivity, 1), (query.squared_l2_sensitivity, 2)]
        for ask, norm in exact:
            found = ask(neighbours)
            assert type(found) is int
            assert found == max(int((np.abs(d) ** norm).sum()) for d in differences)
        assert query.largest_change(neighbours) >= max(int(np.abs(d).max()) for d in differences)


def test_a_union_has_one_noise_level_a_part():
    levels = Union([Identity(4), Partition([0, 0, 1, 1]), queries.total(4)])
    truth = np.array([10.0, 20.0, 30.0, 40.0])
    stddev = levels.spread([4.0, 2.0, 0.5])
    assert stddev.tolist() == [4.0] * 4 + [2.0] * 2 + [0.5]
    measured = pypgm.LinearMeasurement(levels.matvec(truth), "a", stddev, levels)
    model = pypgm.estimate(pypgm.Domain({"a": 4}), [measured], stop="optimum", tolerance=1e-8)
    np.testing.assert_allclose(model.project("a").values, truth, rtol=1e-4)
    # The same as its parts, measured one by one.
    values = levels.matvec(truth) + np.random.default_rng(3).normal(size=7) * stddev
    own = [(values[:4], 4.0, None), (values[4:6], 2.0, levels.parts[1]), (values[6:], 0.5, levels.parts[2])]
    parts = [pypgm.LinearMeasurement(y, "a", s, q) for y, s, q in own]
    both = [
        pypgm.estimate(pypgm.Domain({"a": 4}), ms, stop="optimum", tolerance=1e-10)
        for ms in ([pypgm.LinearMeasurement(values, "a", stddev, levels)], parts)
    ]
    assert both[0].total == pytest.approx(both[1].total)
    np.testing.assert_allclose(both[0].project("a").values, both[1].project("a").values, rtol=1e-4)
    wide = Union([AllRange(3000), Prefix(3000)])  # bounds: the sums of the parts'
    assert wide.squared_l2_sensitivity("replace") == 3001**2 // 4 + 2999
    for bad, message in (([], "at least one query"), ([Identity(2), Identity(3)], "the same cells")):
        with pytest.raises(ValueError, match=message):
            Union(bad)
    with pytest.raises(ValueError, match=r"levels needs shape \(3,\)"):
        levels.spread([1.0])


def test_a_product_of_partitions_runs_in_the_compiled_loop():
    product = Kronecker([Partition([0, 1, 1]), queries.total(1), Identity(4)])
    same = Partition(product.groups, 8)
    assert same.to_sparse().toarray().tolist() == product.to_sparse().toarray().tolist()
    answers = np.random.default_rng(5).uniform(1, 20, 8)
    for domain in (pypgm.Domain({"a": 3, "b": 4}), pypgm.Domain({"b": 4, "a": 3})):  # the clique in order, and not
        measured = [pypgm.LinearMeasurement(answers, ("a", "b"), 2.0, q) for q in (product, same)]
        assert all(map(is_compiled, measured))
        one, other = (pypgm.estimate(domain, [m]).project(("a", "b")).values for m in measured)
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(product.matvec(one.reshape(-1)), answers, atol=1.0)
    assert Kronecker([Identity(3), Prefix(2)]).groups is None


def test_real_factors_make_a_real_product():
    query = Kronecker([Matrix([[0.5, 1.0]]), Prefix(2)])
    np.testing.assert_allclose(query.matvec([1, 2, 3, 4]), [0.5 + 3, 0.5 + 1 + 3 + 4])
    assert query.sensitivity("add-remove", 1) == pytest.approx(2.0)
    assert query.sensitivity("replace", 1) == pytest.approx(1.5)


@pytest.mark.parametrize(("rows", "cells"), [(6, 4), (4, 6)])
def test_norms_of_an_operator_are_those_of_its_matrix_to_the_last_bit(rows, cells):
    rng = np.random.default_rng(0)
    matrix, weights = rng.normal(size=(rows, cells)), rng.random(rows)
    own, dense = UserOperator((rows, cells), lambda x: matrix @ x, lambda y: matrix.T @ y), Matrix(matrix)
    for norm in (1, 2):
        np.testing.assert_array_equal(own.column_norms(norm), dense.column_norms(norm))
    np.testing.assert_array_equal(own.column_squares(weights), dense.column_squares(weights))
    large = UserOperator((rows, cells), lambda x: 1e150 * (matrix @ x), lambda y: 1e150 * (matrix.T @ y))
    with pytest.raises(ValueError, match="finite entries of the query"):
        large.column_squares(weights * 1e20)


def test_norms_of_an_operator_take_the_memory_of_a_few_columns():
    n = 1000
    query = UserOperator((n, n), np.cumsum, lambda y: np.cumsum(y[::-1])[::-1])
    tracemalloc.start()
    try:
        np.testing.assert_allclose(query.column_norms(1), np.arange(n, 0, -1))
        assert tracemalloc.get_traced_memory()[1] < 30 * 8 * n  # the matrix has 1000 columns
    finally:
        tracemalloc.stop()


def test_a_scipy_operator_is_a_query():
    from scipy.sparse.linalg import aslinearoperator

    operator = aslinearoperator(np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]]))
    query = UserOperator(operator.shape, operator.matvec, operator.rmatvec)
    assert query.column_norms(1).tolist() == [1, 3, 3]
    assert pypgm.LinearMeasurement([3.0, 4.0], "a", query=operator).query.matvec([1, 1, 1]).tolist() == [3, 4]


def test_norms_beyond_exact_float64_are_bounded_from_above():
    tall = Kronecker([Matrix(np.full((2**10, 1), 2**17)), Matrix([[1, -1]] * 2**11)])  # 2^55 exactly, signed
    for query in (folded(tall, np.array([0, 1, 1])), Union([tall, tall])):
        parts = len(query.parts) if isinstance(query, Union) else 1
        assert query.squared_l2_sensitivity("add-remove") >= parts * 2**55
        assert query.squared_l2_sensitivity("replace") >= parts * 2**57


def test_integers_that_int64_would_wrap_are_refused():
    for call in (
        lambda: Subset([0], 2, weights=[-(2**63)]),
        lambda: Subset([0], 2, weights=np.array([2**64 - 5], dtype=np.uint64)),
        lambda: Matrix(csr_array(np.array([[2**64 - 5]], dtype=np.uint64))),
        lambda: Matrix(np.array([[-(2**63)]])),
        lambda: RangeList(2, np.array([[0, 2**64 - 1]], dtype=np.uint64)),
    ):
        with pytest.raises(ValueError, match=r"below 2\^18|fit int64"):
            call()
    assert AllRange(np.int32(100_000)).squared_l2_sensitivity("add-remove") == 100_001**2 // 4
    with pytest.raises(TypeError, match="need integers"):
        RangeList(3, [(0, 1.5)])
    with pytest.raises(TypeError, match="integer"):
        Prefix(2.5)


@given(signed, st.integers(0, 2**32), st.sampled_from([Matrix, as_user_operator]))
def test_real_queries_equal_brute_force(rows, seed, made):
    rng = np.random.default_rng(seed)
    dense = np.array(rows) * rng.choice([0.0, 0.5, 1.0], np.shape(rows))
    query = made(dense)
    x, y = rng.normal(size=dense.shape[1]), rng.normal(size=dense.shape[0])
    np.testing.assert_allclose(query.matvec(x), dense @ x, atol=1e-12)
    np.testing.assert_allclose(query.rmatvec(y), dense.T @ y, atol=1e-12)
    reached = dense.T @ np.linalg.lstsq(dense.T, np.ones(dense.shape[1]), rcond=None)[0]
    assert query.supports_total == np.allclose(reached, 1, atol=1e-7)
    for norm, neighbours in itertools.product((1, 2), RELATIONS):
        columns = dense.T
        changes = columns if neighbours == "add-remove" else [a - b for a, b in itertools.product(columns, repeat=2)]
        wanted = max(np.linalg.norm(c, norm) for c in changes)
        assert query.sensitivity(neighbours, norm) == pytest.approx(wanted, abs=1e-7)


def test_large_queries_have_bounds():
    wide = Matrix(eye_array(5000, format="csr") * 0.5)
    assert wide.sensitivity("replace", 1) == 1.0
    assert wide.supports_total
    sparse = Matrix(csr_array(eye_array(5000, dtype=np.int64)))
    assert (sparse.l1_sensitivity("replace"), sparse.squared_l2_sensitivity("replace")) == (2, 2)
    assert Matrix(-sparse.entries).squared_l2_sensitivity("replace") == 4
    assert sparse.supports_total
    ranges = RangeList(10_000, [(i, i) for i in range(10_000)])
    assert ranges.squared_l2_sensitivity("replace") == 2
    assert ranges.supports_total
    assert not RangeList(10_000, [(i, i) for i in range(9_999)]).supports_total
    assert RangeList(10_000, [*((i, i) for i in range(10_000)), (0, 9999)]).supports_total


def test_few_answers_on_many_cells_make_a_small_matrix():
    few = RangeList(10**6, [(0, 10**6 - 1), (5, 6)])
    assert few.to_sparse().sum(axis=1).tolist() == [10**6, 2]


def test_signs_of_factors_count_in_a_product():
    # Columns of opposite sign: the distance is twice the norm, which the rule for non-negative entries would miss.
    for factor in (Subset([0], 2, [-1]), Matrix(csr_array(np.array([[1, -1]]))), Matrix([[1, -1]])):
        query = Kronecker([factor, AllRange(5000)])
        assert query.squared_l2_sensitivity("replace") == 4 * query.squared_l2_sensitivity("add-remove")


def test_the_table_of_known_sensitivities():
    """Section 0.4 of the papers' slips: the total under replace, prefix sums, and a signed row."""
    n = 9
    known = {
        Identity(n): (1, 1, 2, 2),
        queries.total(n): (1, 1, 0, 0),
        Prefix(n): (n, n, n - 1, n - 1),
        AllRange(n): (25, 25, 25, 25),
        Matrix([[1, -1] + [0] * 7]): (1, 1, 2, 4),
        Kronecker([Identity(3), Matrix([[1, -1]])]): (1, 1, 2, 4),
    }
    for query, expected in known.items():
        found = [f(r) for r in RELATIONS for f in (query.l1_sensitivity, query.squared_l2_sensitivity)]
        assert tuple(found) == expected


def test_closed_forms_and_large_products():
    adult = Kronecker([Identity(85), Prefix(99), Identity(2)])
    assert adult.shape == (85 * 99 * 2, 85 * 99 * 2)
    assert (adult.l1_sensitivity("replace"), adult.squared_l2_sensitivity("replace")) == (198, 198)
    assert adult.matvec(np.ones(adult.shape[1], dtype=np.int64)).reshape(85, 99, 2)[3, :, 1].tolist() == list(
        range(1, 100)
    )
    wide = Kronecker([Prefix(100), Prefix(100)])  # 10^4 distinct columns: bounds
    assert (wide.l1_sensitivity("replace"), wide.squared_l2_sensitivity("replace")) == (20_000, 20_000)
    signed = Kronecker([Matrix([[1, -1]]), AllRange(5000)])
    assert signed.squared_l2_sensitivity("replace") == 4 * AllRange(5000).squared_l2_sensitivity("add-remove")
    assert signed.l1_sensitivity("replace") == 2 * AllRange(5000).l1_sensitivity("add-remove")
    large = Kronecker([Matrix(np.full((2**10, 2), 2**16)), Matrix(np.eye(2, dtype=int) * 2 - 1)])
    assert large.squared_l2_sensitivity("replace") == 2**45
    larger = Kronecker([Matrix(np.full((2**10, 2), 2**17)), Matrix([[1, -1]] * 2**8)])
    assert larger.squared_l2_sensitivity("replace") == 4 * 2**52


def test_more_distinct_columns_than_are_compared_give_bounds():
    entries = np.stack([np.arange(MAX_COLUMNS + 1), np.ones(MAX_COLUMNS + 1, dtype=int)])
    query = Matrix(entries)
    assert query.l1_sensitivity("replace") == 2 * (MAX_COLUMNS + 1)
    assert query.squared_l2_sensitivity("replace") == 2 * (MAX_COLUMNS**2 + 1)
    assert Matrix(-entries).squared_l2_sensitivity("replace") == 4 * (MAX_COLUMNS**2 + 1)
    assert query.largest_change("replace") == MAX_COLUMNS
    exact = Matrix(entries[:, :MAX_COLUMNS])
    assert exact.l1_sensitivity("replace") == MAX_COLUMNS - 1
    assert exact.squared_l2_sensitivity("replace") == (MAX_COLUMNS - 1) ** 2


def test_constructors_and_values():
    assert queries.permutation([1, 0]).matvec([5, 6]).tolist() == [6, 5]
    assert queries.weighted([2, 3], [1, 0]) == Subset([1, 0], 2, [2, 3])
    assert queries.weighted([0.5, 2.0]).matvec([4, 4]).tolist() == [2, 8]
    product = Kronecker([Prefix(2), Matrix([[1, 2]])])
    more = (Subset([0], 2), RangeList(2, [(0, 1)]), Matrix([[0.5]]), AllRange(3), Identity(4))
    more += (Contrasts([2, 3]), Contrasts([2]))
    more += (queries.Union([Prefix(2), Matrix([[1, 2]])]), Matrix([[1, 2]]), Matrix([[1.0, 2.0]]))
    assert Matrix([[1, 2]]) == Matrix(csr_array([[1, 2]])) != Matrix([[1.0, 2.0]])
    for query in (product, *more):
        assert repr(query).startswith(type(query).__name__)
        assert pickle.loads(pickle.dumps(query)) == query
        assert hash(pickle.loads(pickle.dumps(query))) == hash(query)
        assert query != Prefix(2)
        with pytest.raises(AttributeError, match="does not change"):
            query.shape = (1, 1)
        with pytest.raises(AttributeError, match="cannot be deleted"):
            del query.shape
    assert repr(product) == "Kronecker(Prefix(size=2), Matrix(1 answers on 2 cells))"


def test_queries_on_a_lattice_are_their_nearest_integers():
    assert on_lattice([[0.1, -0.26]], 10).entries.toarray().tolist() == [[1, -3]]
    for entries, scale in (([[np.nan]], 2), ([[1e9]], 2), ([[1.0]], 0)):
        with pytest.raises(ValueError, match=r"finite|scale"):
            on_lattice(entries, scale)


def test_integer_sums_are_exact_beyond_float64():
    large = 2**53
    assert Partition([0, 0, 1]).matvec(np.array([large, 1, 3])).tolist() == [large + 1, 3]
    assert Identity(1).matvec(np.array([large + 1])).tolist() == [large + 1]


def test_partition_is_a_value():
    a = Partition([0, 1, 1])
    assert a == Partition(np.array([0, 1, 1], dtype=np.int8))
    assert hash(a) == hash(Partition([0, 1, 1]))
    assert a != Partition([0, 1, 1], 3)
    assert pickle.loads(pickle.dumps(a)) == a
    with pytest.raises(AttributeError):
        a.groups = 3
    with pytest.raises(ValueError, match="read-only"):
        a.groups[0] = 1
    assert repr(a) == "Partition(3 cells into 2 groups)"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Identity(2).matvec([1]), ValueError, r"x needs shape \(2,\)"),
        (lambda: Identity(2).rmatvec([1]), ValueError, r"y needs shape \(2,\)"),
        (lambda: Partition([]), ValueError, "one entry per cell"),
        (lambda: Partition([0.5]), TypeError, "integers"),
        (lambda: Partition([0, -1]), ValueError, "must lie in"),
        (lambda: Partition([0, 3], 3), ValueError, r"0\.\.2"),
        (lambda: Partition([0, 1]).matvec([1]), ValueError, r"x needs shape \(2,\)"),
        (lambda: Partition([0, 1, 1]).rmatvec([1]), ValueError, r"y needs shape \(2,\)"),
        (lambda: Partition([0, 1]).squared_l2_sensitivity("bounded"), ValueError, "neighbours"),
        (lambda: Prefix(2).matvec([1]), ValueError, r"x needs shape \(2,\)"),
        (lambda: Prefix(2).l1_sensitivity("swap"), ValueError, "neighbours"),
        (lambda: AllRange(2).rmatvec([1, 2]), ValueError, r"y needs shape \(3,\)"),
        (lambda: AllRange(2).l1_sensitivity("swap"), ValueError, "neighbours"),
        (lambda: Matrix([[0.5]]).l1_sensitivity("replace"), ValueError, "on_lattice"),
        (lambda: Matrix([1, 2]), ValueError, "rows and columns"),
        (lambda: Matrix(np.zeros((0, 2), dtype=int)), ValueError, "rows and columns"),
        (lambda: Matrix([[2**18]]), ValueError, r"below 2\^18"),
        (lambda: Matrix(np.full((2**18, 1), 2**17)), ValueError, r"less than 2\^51"),
        (lambda: Matrix([[1, 2]]).matvec([1]), ValueError, r"x needs shape \(2,\)"),
        (lambda: Matrix([[1, 2]]).rmatvec([1, 2]), ValueError, r"y needs shape \(1,\)"),
        (lambda: Matrix([[1]]).l1_sensitivity("swap"), ValueError, "neighbours"),
        (lambda: Matrix([[1]]).squared_l2_sensitivity("swap"), ValueError, "neighbours"),
        (lambda: Kronecker([]), ValueError, "one query an attribute"),
        (lambda: Subset([], 2), ValueError, "at least one"),
        (lambda: Subset([0, 0], 2), ValueError, "different numbers"),
        (lambda: Subset([2], 2), ValueError, r"0\.\.1"),
        (lambda: Subset([[0]], 2), ValueError, "one dimension"),
        (lambda: Subset([0.5], 2), TypeError, "integers"),
        (lambda: Subset([0], 2, [1, 2]), ValueError, "one integer below"),
        (lambda: Subset([0], 2, [2**18]), ValueError, "one integer below"),
        (lambda: Subset([0], 2).l1_sensitivity("swap"), ValueError, "neighbours"),
        (lambda: RangeList(2, []), ValueError, "first, last"),
        (lambda: RangeList(2, [(1, 0)]), ValueError, "first <= last"),
        (lambda: RangeList(2, [(0, 2)]), ValueError, "< 2"),
        (lambda: RangeList(2, [(0, 1)]).l1_sensitivity("swap"), ValueError, "neighbours"),
        (lambda: Matrix([1.0]), ValueError, "rows and columns"),
        (lambda: Matrix([[np.nan]]), ValueError, "finite entries"),
        (lambda: UserOperator((0, 1), None, None, None), ValueError, "positive integers"),
        (lambda: UserOperator((1, 1), lambda x: x, lambda y: 2 * y, lambda n: np.ones(1)), ValueError, "transpose"),
        (lambda: UserOperator((1, 2), lambda x: x, lambda y: y, lambda n: np.ones(2)), ValueError, "matvec needs"),
        (lambda: UserOperator((1, 1), lambda x: x, lambda y: y, lambda n: -np.ones(1)), ValueError, "not negative"),
        (lambda: Matrix(csr_array((0, 2), dtype=np.int64)), ValueError, "rows and columns"),
        (lambda: Matrix(csr_array([[2**18]])), ValueError, r"below 2\^18"),
        (lambda: Matrix(csr_array(np.full((2**18, 1), 2**17))), ValueError, r"less than 2\^51"),
        (lambda: Matrix(csr_array([[1]])).l1_sensitivity("swap"), ValueError, "neighbours"),
        (lambda: Kronecker([[[1]]]), ValueError, "one query an attribute"),
        (lambda: Kronecker([Matrix([[2**9]])] * 2), ValueError, r"below 2\^18"),
        (lambda: Kronecker([Prefix(2)] * 2).matvec([1]), ValueError, r"x needs shape \(4,\)"),
        (lambda: Kronecker([Prefix(2)] * 2).rmatvec([1]), ValueError, r"y needs shape \(4,\)"),
        (lambda: Kronecker([Prefix(2)]).l1_sensitivity("swap"), ValueError, "neighbours"),
        (lambda: Kronecker([Prefix(2)]).squared_l2_sensitivity("swap"), ValueError, "neighbours"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


@given(every, st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_squared_norms_are_those_of_the_answers(query, count, seed):
    tables = np.random.default_rng(seed).normal(size=(query.shape[1], count))
    answers = np.stack([query.matvec(table) for table in tables.T], axis=1)
    np.testing.assert_allclose(query.squared_norms(tables), np.square(answers).sum(axis=0), rtol=1e-9, atol=1e-9)
