"""Records that satisfy chosen queries best: the optimisation of mechanisms that synthesise records.

No private record is looked at: whatever is found here, only its quality is at stake.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.errors import ModelTooLargeError
from pypgm.graphs import JunctionTree

Optimiser = Literal["ascent", "exact"]
CostLaw = Literal["exponential", "laplace"]

_TREE_CELLS = 1 << 20  # of a junction tree that max-product takes; integer programming above
_SWEEPS = 20
_RESTARTS = 4
_SKIPPED = 0.2  # of the cells, left out of a greedy start, so that starts differ

Values = Mapping["tuple[Clique, int]", float]
"""Worth of a record in a cell of a clique, added up over cells."""
Columns = NDArray[np.int64]


class RecordSearch:
    """Best records, random costs and uniform draws of one stream, which protects nobody: it begins at a known number.

    Parameters
    ----------
    domain : Domain
    seed : int
    optimiser : {"ascent", "exact"}
        See `best_records`.
    """

    def __init__(self, domain: Domain, seed: int, optimiser: Optimiser) -> None:
        self._domain, self._optimiser = domain, optimiser
        self._rng = np.random.default_rng(seed)

    def best(self, values: Values, costs: NDArray[np.float64] | None = None) -> Columns:
        """Return a record for each row of costs, one without any by default."""
        rows = np.zeros((1, sum(self._domain.shape))) if costs is None else costs
        return best_records(self._domain, values, rows, self._rng, self._optimiser)

    def costs(self, records: int, scale: float, law: CostLaw) -> NDArray[np.float64]:
        """Return random costs of all values of all attributes, a row for each record."""
        shape = (records, sum(self._domain.shape))
        return self._rng.exponential(scale, shape) if law == "exponential" else self._rng.laplace(0.0, scale, shape)

    def uniform(self, below: int, count: int) -> list[int]:
        """Return some integers below a number."""
        return [int(i) for i in self._rng.integers(below, size=count)]


def best_records(
    domain: Domain,
    values: Values,
    costs: NDArray[np.float64],
    rng: np.random.Generator,
    optimiser: Optimiser = "ascent",
) -> Columns:
    """Return a record for each row of costs: its cells are worth most, less the cost of its values.

    Parameters
    ----------
    domain : Domain
    values : mapping of (clique, cell) to float
        The cell in C order over the clique.
    costs : ndarray, shape (records, sum of the sizes of all attributes)
        Cost of each value of each attribute, for each requested record.
    rng : Generator
        Generator of the starts of ascents.
    optimiser : {"ascent", "exact"}
        "ascent" changes one value at a time from several starts until nothing is gained, for all records together;
        "exact" is max-product where a junction tree of the cliques is small, else integer programming (HiGHS).

    Returns
    -------
    ndarray of int64, shape (records, attributes)

    Examples
    --------
    >>> from pypgm import Domain
    >>> domain = Domain({"a": 2, "b": 3})
    >>> wanted = {(("a", "b"), 5): 1.0, (("b",), 0): 0.5}
    >>> best_records(domain, wanted, np.zeros((1, 5)), np.random.default_rng(0), "exact")
    array([[1, 2]])
    """
    if optimiser == "ascent":
        return _ascended(domain, values, costs, rng)
    cliques = list(dict.fromkeys(clique for clique, _ in values))
    try:
        tree = JunctionTree(domain, [*cliques, *((a,) for a in domain)])
    except ModelTooLargeError:
        tree = None
    if tree is not None and tree.cost.cells <= _TREE_CELLS:
        return np.array([_by_max_product(tree, domain, values, row) for row in costs]).reshape(len(costs), len(domain))
    return np.array([_by_integer_program(domain, values, row) for row in costs]).reshape(len(costs), len(domain))


def _by_max_product(tree: JunctionTree, domain: Domain, values: Values, costs: NDArray[np.float64]) -> list[int]:
    worth = CliqueVector(domain, tree.cliques)
    first = {clique: i for i, clique in reversed(list(enumerate(tree.cliques)))}
    for (clique, cell), value in values.items():
        ordered = domain.canonical(clique)
        codes = np.unravel_index(cell, domain.sizes(clique))
        place = dict(zip(clique, codes, strict=True))
        worth.table(first[ordered])[np.ravel_multi_index([place[a] for a in ordered], domain.sizes(ordered))] += value
    starts = _starts(domain)
    for i, size in enumerate(domain.shape):
        worth.table(len(tree.cliques) - len(domain) + i)[:] -= costs[starts[i] : starts[i] + size]
    best, _ = tree.map(worth)
    codes_of = [domain.labels.get(a) for a in domain]
    return [
        int(best[a]) if labels is None else labels.index(best[a]) for a, labels in zip(domain, codes_of, strict=True)
    ]


def _by_integer_program(domain: Domain, values: Values, costs: NDArray[np.float64]) -> list[int]:
    """Maximise by HiGHS: a binary variable for each value, one in [0, 1] for each cell.

    A cell's variable is at most each of its values' variables if it has a gain, and at least their sum less one for
    all but one if it has a cost.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    starts, width = _starts(domain), sum(domain.shape)
    rows: list[tuple[dict[int, float], float, float]] = []
    for i, size in enumerate(domain.shape):
        rows.append((dict.fromkeys(range(starts[i], starts[i] + size), 1.0), 1.0, 1.0))
    worth = np.concatenate([-costs, np.fromiter(values.values(), np.float64, len(values))])
    for j, ((clique, cell), value) in enumerate(values.items(), width):
        codes = np.unravel_index(cell, domain.sizes(clique))
        columns = [starts[domain.index(a)] + int(code) for a, code in zip(clique, codes, strict=True)]
        if value > 0:
            rows += [({j: 1.0, v: -1.0}, -math.inf, 0.0) for v in columns]
        else:
            rows.append(({j: 1.0} | dict.fromkeys(columns, -1.0), 1.0 - len(columns), math.inf))
    entries = [(i, v, x) for i, (row, _, _) in enumerate(rows) for v, x in row.items()]
    at_row, at_column, entry = zip(*entries, strict=True)
    matrix = csr_array((entry, (at_row, at_column)), shape=(len(rows), worth.size))
    bounds = LinearConstraint(matrix, [row[1] for row in rows], [row[2] for row in rows])
    whole = np.arange(worth.size) < width
    solution: Any = milp(-worth, integrality=whole.astype(int), bounds=Bounds(0, 1), constraints=bounds).x
    return [int(np.argmax(solution[s : s + n])) for s, n in zip(starts, domain.shape, strict=True)]


def _ascended(domain: Domain, values: Values, costs: NDArray[np.float64], rng: np.random.Generator) -> Columns:
    """Return the best of some ascents that change one attribute at a time, for each row of costs.

    From anywhere else than a greedy start they would end at once: a cell of three attributes gains nothing from one.
    """
    starts, wanted = _starts(domain), len(costs)
    rows = np.tile(costs, (_RESTARTS, 1))
    cells = _Cells(domain, values)
    records = cells.greedy(rows, starts, rng.random((len(rows), len(values))) < _SKIPPED)
    worth, missed = np.full(len(rows), -math.inf), cells.missed(records)
    for _ in range(_SWEEPS):
        for i, size in enumerate(domain.shape):
            costs_of = rows[:, starts[i] : starts[i] + size]
            records[:, i] = cells.best(i, records[:, i], costs_of, missed)
        now = (missed == 0) @ cells.value - sum(
            rows[np.arange(len(rows)), starts[i] + records[:, i]] for i in range(len(domain))
        )
        if not (now > worth + 1e-9).any():
            break
        worth = now
    best = np.argmax(worth.reshape(_RESTARTS, wanted), axis=0)
    chosen: Columns = records.reshape(_RESTARTS, wanted, len(domain.shape))[best, np.arange(wanted)]
    return chosen


class _Cells:
    """The cells that are worth something, as the values that a record in them has."""

    def __init__(self, domain: Domain, values: Values) -> None:
        self.shape = domain.shape
        self.value = np.fromiter(values.values(), np.float64, len(values))
        self.codes = np.full((len(values), len(domain)), -1)
        for j, (clique, cell) in enumerate(values):
            for a, code in zip(clique, np.unravel_index(cell, domain.sizes(clique)), strict=True):
                self.codes[j, domain.index(a)] = code
        self.of = [np.flatnonzero(self.codes[:, i] >= 0) for i in range(len(domain))]
        codes = [self.codes[involved, i] for i, involved in enumerate(self.of)]
        self.members = [1.0 * (c[:, None] == np.arange(n)) for c, n in zip(codes, domain.shape, strict=True)]

    def greedy(self, costs: NDArray[np.float64], starts: list[int], is_skipped: NDArray[np.bool_]) -> Columns:
        """Return records of the cheapest values, except for cells taken one by one, most valuable first.

        Parameters
        ----------
        costs : ndarray, shape (records, sum of the sizes)
        starts : list of int
            Position at which each attribute's values begin in it.
        is_skipped : ndarray, shape (records, cells)
            Cells that a record leaves aside.

        Returns
        -------
        ndarray of int64, shape (records, attributes)
        """
        price = [costs[:, start : start + size] for start, size in zip(starts, self.shape, strict=True)]
        least = np.stack([p.min(axis=1) for p in price], axis=1)
        records = np.stack([p.argmin(axis=1) for p in price], axis=1)
        is_set = np.zeros(records.shape, dtype=bool)
        for j in np.argsort(-self.value, kind="stable"):
            if self.value[j] <= 0:
                break
            fixed = np.flatnonzero(self.codes[j] >= 0)
            code = self.codes[j, fixed]
            prices = np.stack([price[i][:, c] for i, c in zip(fixed, code, strict=True)], axis=1)
            taken = (~is_set[:, fixed] | (records[:, fixed] == code)).all(axis=1) & ~is_skipped[:, j]
            taken &= self.value[j] > np.where(is_set[:, fixed], 0.0, prices - least[:, fixed]).sum(axis=1)
            rows = np.flatnonzero(taken)[:, None]
            records[rows, fixed], is_set[rows, fixed] = code, True
        return records

    def missed(self, records: Columns) -> Columns:
        """Return the number of values of each cell that each record lacks, shape (records, cells)."""
        misses = np.zeros((len(records), len(self.value)), dtype=np.int64)
        for i, involved in enumerate(self.of):
            misses[:, involved] += records[:, i, None] != self.codes[involved, i]
        return misses

    def best(self, attribute: int, now: NDArray[np.int64], costs: NDArray[np.float64], missed: Columns) -> Columns:
        """Return the value of an attribute that makes most of each record, shape (records,); correct what is missed."""
        involved, members = self.of[attribute], self.members[attribute]
        codes = self.codes[involved, attribute]
        others = missed[:, involved] - (now[:, None] != codes)
        choice: Columns = np.argmax(((others == 0) * self.value[involved]) @ members - costs, axis=1)
        missed[:, involved] = others + (choice[:, None] != codes)
        return choice


def _starts(domain: Domain) -> list[int]:
    """Return the place where each attribute's values begin among the values of all attributes."""
    return [0, *np.cumsum(domain.shape)[:-1].tolist()]
