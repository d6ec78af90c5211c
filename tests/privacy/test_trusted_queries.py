"""No query is measured with a sensitivity that is not its own: weights do not overflow, claims are not believed."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.linalg import aslinearoperator

from pypgm import Dataset, Domain, queries
from pypgm.privacy import Budget, Ledger, Privacy, PrivateTable

DATA = Dataset({"a": [0, 1, 1], "b": [2, 0, 1]}, Domain({"a": 2, "b": 3}))
RELATIONS = ("add-remove", "replace")
HUGE = [-(2**63), 2**63 - 1, 2**62, -(2**53), 2**32, -(2**18), 2**18]


def table(neighbours="add-remove", k=1, budget=None):
    return PrivateTable(DATA, Privacy(neighbours, k), Ledger(budget or Budget(rho=10**12)))


@pytest.mark.parametrize("huge", HUGE)
@pytest.mark.parametrize("size", [2, 6])
def test_weights_that_would_overflow_are_refused(huge, size):
    for make in (
        lambda: queries.Subset([0], size, weights=[huge]),
        lambda: queries.Subset([0, 1], size, weights=[huge, 1]),
        lambda: queries.Subset([1, 0], size, weights=[1, huge]),
        lambda: queries.weighted([huge] + [1] * (size - 1)),
        lambda: queries.Matrix([[huge] + [0] * (size - 1)]),
        lambda: queries.Matrix(csr_array(np.array([[huge] + [1] * (size - 1)]))),
        lambda: queries.Kronecker([queries.Subset([0], size, weights=[huge]), queries.Identity(2)]),
        lambda: queries.Kronecker([queries.Matrix([[2**10] * size]), queries.Matrix([[2**9]])]),
        lambda: queries.Union([queries.Identity(size), queries.Matrix([[huge] * size])]),
        lambda: queries.on_lattice([[float(huge)] * size], 1),
    ):
        with pytest.raises(ValueError, match=r"2\^18|2\^51|int64"):
            make()


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("k", [1, 2, 2**20])
def test_the_largest_weights_are_charged_exactly(neighbours, k):
    """Of Python's integers, beyond what int64 or a double holds."""
    most = 2**18 - 1
    for query, column, pair in (
        (queries.Subset([0], 2, weights=[-most]), most, most),
        (queries.Subset([0, 1], 2, weights=[-most, most]), most, 2 * most),
        (queries.Matrix([[-most, most]]), most, 2 * most),
    ):
        private = table(neighbours, k, Budget(rho=10**60))
        private.measure("a", query, scale=7)
        private.measure("a", query, variance=7)
        change = k * (column if neighbours == "add-remove" else pair)
        laplace, gauss = private.ledger.lines
        assert laplace.cost == Fraction(change, 7) ** 2 / 2
        squared = k**2 * (most**2 if neighbours == "add-remove" else query.squared_l2_sensitivity("replace"))
        assert gauss.cost == Fraction(squared, 14)


class Modest(queries.Partition):
    """Says that nobody changes it."""

    def l1_sensitivity(self, neighbours):
        return 0

    squared_l2_sensitivity = largest_change = l1_sensitivity


class Thief(queries.Prefix):
    """Keeps what it is applied to."""

    seen = ()

    def matvec(self, x):
        type(self).seen += (np.array(x).tolist(),)
        return super().matvec(x)


class Products:
    """A query of functions alone, with a sensitivity that is wrong."""

    shape = (2, 6)

    def matvec(self, x):
        return np.array([x[0] + 5 * x[1], x[2]])

    def rmatvec(self, y):
        return np.array([y[0], 5 * y[0], y[1], 0, 0, 0])

    def l1_sensitivity(self, neighbours):
        return 0


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_the_sensitivity_of_a_query_of_ones_own_is_found_on_its_matrix(neighbours):
    clique, exact = ("a", "b"), DATA.count([("a", "b")])[0]
    own = queries.UserOperator((2, 6), Products().matvec, Products().rmatvec)
    matrix = queries.Matrix([[1, 5, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]])
    modest = Modest([0, 0, 1, 1, 2, 2])
    dense = np.array([[1, 2, 3, 4, 5, 6]])
    for query, true in (
        (Products(), matrix),
        (own, matrix),
        (modest, queries.Partition([0, 0, 1, 1, 2, 2])),
        (queries.Union([queries.Identity(6), Modest([0] * 6)]), queries.Union([queries.Identity(6), queries.total(6)])),
        (queries.Kronecker([Modest([0, 1]), queries.Identity(3)]), queries.Identity(6)),
        (aslinearoperator(dense), queries.Matrix(dense)),
    ):
        private = table(neighbours, 2)
        measured = private.measure(clique, query, variance="1/1000")
        private.measure(clique, query, scale=9)
        gauss, laplace = private.ledger.lines
        assert gauss.parameters["squared_sensitivity"] == 4 * true.squared_l2_sensitivity(neighbours)
        assert laplace.parameters["sensitivity"] == 2 * true.l1_sensitivity(neighbours)
        assert measured.values.tolist() == true.matvec(exact).tolist()


def test_a_query_of_ones_own_is_handed_no_count():
    Thief.seen = ()
    table().measure("b", Thief(3), variance="1/1000")
    assert sorted(Thief.seen) == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]


def test_queries_of_ones_own_that_cannot_be_looked_at_are_refused():
    halves = queries.UserOperator((1, 6), lambda x: x.sum(keepdims=True) / 2, lambda y: np.full(6, y[0] / 2))
    for query, message in ((halves, "real entries"), ("sums", "needs shape"), (3, "needs shape")):
        private = table()
        with pytest.raises((ValueError, TypeError), match=message):
            private.measure(("a", "b"), query, rho=1)
        assert private.ledger.lines == ()
    wide = Domain({"a": 5000})
    private = PrivateTable(Dataset({"a": []}, wide), Privacy(), Ledger(Budget(rho=1)))
    with pytest.raises(ValueError, match="up to 4096 cells"):
        private.measure("a", Modest([0] * 5000), rho=1)


def test_a_selection_compares_by_queries_it_trusts():
    class Sums(queries.Matrix):
        has_unit_columns = True

    private = table()
    selector = private.l1_selector([("a",)], lambda c: [0, 0], lambda c: Sums([[9, 0], [0, 9]]))
    with pytest.raises(ValueError, match="compares cells or sums"):
        selector.select([0], rho=1)
    assert private.ledger.lines == ()


def test_ranges_and_sums_count_in_integers():
    """Many ranges over one cell: sums of counts, not of squares of floats."""
    query = queries.RangeList(3, [(0, 2)] * 1000 + [(1, 1)] * 24)
    assert query.l1_sensitivity("add-remove") == query.squared_l2_sensitivity("add-remove") == 1024
    assert queries.subset_sum([0, 2], 3).l1_sensitivity("replace") == 1
