"""The independent model that measurements suggest: where an estimate starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.estimation.stacked_measurements import StackedMeasurements
from pypgm.factor import Factor

_Variances = NDArray[np.float64] | float  # of each value, or of all

_DRAWS = 8  # of what answers to a general query allow: variances within a half suffice
_SEED = 0
_FLOOR = 0.3  # of a count's standard error: nothing measured is ruled out at the start


def independent_potentials(
    domain: Domain, cliques: Sequence[Clique], measurements: Sequence[LinearMeasurement], total: float
) -> CliqueVector:
    """Return potentials of the product of one-way marginals, computed from all measurements that hold an attribute.

    A measurement is projected onto the attribute, a group's answer spread evenly over its cells, answers to other
    queries turned into cells by damped least squares; projections are averaged with the inverses of their variances,
    floored at a fraction of their standard error, and normalised.

    Parameters
    ----------
    domain : Domain
        All attributes.
    cliques : sequence of cliques
        Cliques that receive the potentials, each attribute's in the first clique that has it.
    measurements : sequence of LinearMeasurement
        Noisy answers, counts.
    total : float
        Number of records, counts.

    Returns
    -------
    CliqueVector
        Natural logs; attributes in no clique stay uniform.
    """
    start = CliqueVector(domain, cliques)
    known: dict[str, tuple[NDArray[np.float64], _Variances]] = {}
    for m in measurements:
        for attribute, counts, variances in _one_ways(domain, m, total):
            before = known.get(attribute)
            sums = (counts / variances, 1.0 / variances)
            known[attribute] = sums if before is None else (before[0] + sums[0], before[1] + sums[1])
    homes = {attribute: i for i, c in reversed(list(enumerate(start.cliques))) for attribute in c}
    for attribute, (weighted, weights) in known.items():
        floor = _FLOOR / np.sqrt(weights)
        counts = np.maximum(weighted / weights, floor)
        log_share = np.log(counts / max(total, counts.sum()))
        start.add(homes[attribute], (attribute,), log_share)
    return start


def _one_ways(
    domain: Domain, measurement: LinearMeasurement, total: float
) -> Iterator[tuple[str, NDArray[np.float64], _Variances]]:
    """Yield each attribute, the counts of its values that a measurement suggests, and their variances."""
    query = measurement.linear_map
    if query.is_interaction:
        return
    if query.is_identity:
        clique, shape = measurement.clique, domain.sizes(measurement.clique)
        answers, stddev = measurement.values.astype(np.float64, copy=False), measurement.stddev
        for axis, (attribute, size) in enumerate(zip(clique, shape, strict=True)):
            kept = [i == axis for i in range(len(clique))]
            one_way = _core.reduce_sum(answers, shape, kept, 1)
            if isinstance(stddev, float):
                yield attribute, one_way, stddev * stddev * (answers.size // size)
            else:
                yield attribute, one_way, _core.reduce_sum(np.square(stddev), shape, kept, 1)
        return
    cells = domain.project(measurement.clique)
    groups = query.groups
    if groups is not None:
        for axis, attribute in enumerate(cells.attributes):
            yield attribute, *_of_groups(measurement, np.moveaxis(groups.reshape(cells.shape), axis, 0))
        return
    if measurement.values.size == 1:
        yield from _of_one_answer(cells, measurement, total)
        return
    mean, *draws = _cells(cells, measurement, total)
    for attribute in cells.attributes:
        one_way = mean.project(attribute).values
        # Few draws: the mean over the values steadies the variance of each.
        each = np.mean([np.square(d.project(attribute).values - one_way) for d in draws], axis=0)
        yield attribute, one_way, 0.5 * (each + each.mean())


def _of_groups(
    measurement: LinearMeasurement, groups: NDArray[np.integer[Any]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return counts and variances of the first axis, where each group's answer is spread evenly over its cells."""
    answers, variance = measurement.values.astype(np.float64), np.square(measurement.spread())
    size, n_groups = len(groups), answers.size
    met = (np.arange(size)[:, None] * n_groups + groups.reshape(size, -1)).reshape(-1)
    met.sort(kind="stable")  # which takes one pass where groups are of neighbouring cells, as those of ranges
    begins = np.flatnonzero(np.diff(met, prepend=-1))
    value, group = np.divmod(met[begins], n_groups)
    share = np.diff(begins, append=met.size) / np.bincount(groups.reshape(-1), minlength=n_groups)[group]
    weights = (share * answers[group], np.square(share) * variance[group])
    counts, variances = (np.bincount(value, weight, size).astype(np.float64) for weight in weights)
    return counts, variances


def _of_one_answer(
    cells: Domain, measurement: LinearMeasurement, total: float
) -> Iterator[tuple[str, NDArray[np.float64], NDArray[np.float64]]]:
    """Yield what `_cells` draws, in closed form, without SciPy."""
    row, stddev, n = measurement.linear_map.rmatvec(np.ones(1)), float(np.mean(measurement.spread())), cells.size()
    gain = float(row @ row) + (stddev / total) ** 2
    change = (float(measurement.values[0]) - total / n * float(row.sum())) / gain
    for attribute, size in zip(cells.attributes, cells.shape, strict=True):
        sums = Factor(cells, row).project(attribute).values
        least = n / size * stddev * stddev / gain  # by the answer's smallest eigenvalue: for what rounding takes away
        each = np.maximum(total * total * (n / size - np.square(sums) / gain), least)
        yield attribute, total / size + change * sums, 0.5 * (each + each.mean())


def _cells(domain: Domain, measurement: LinearMeasurement, total: float) -> list[Factor]:
    """Return the cells that answers to any query suggest, followed by draws of other cells that they allow.

    Cells are taken as independent a priori, normal around evenly spread records with the total for a deviation; the
    answers then leave a normal distribution, whose mean and draws are solutions of damped least squares.
    """
    from scipy.sparse.linalg import LinearOperator, lsmr

    cells, rows = domain.size(), measurement.values.size
    queries = StackedMeasurements(domain, [domain.attributes], [measurement])
    operator: Any = LinearOperator((rows, cells), matvec=queries.answers, rmatvec=queries.transposed, dtype=np.float64)

    def solved(start: NDArray[np.float64], answers: NDArray[np.float64]) -> Factor:
        missing = answers - queries.answers(start)
        limit = 2 * min(cells, rows) + 100
        change = lsmr(operator, missing, damp=1.0 / total, atol=1e-4, btol=1e-4, conlim=0, maxiter=limit)[0]
        return Factor(domain, start + change)

    even = np.full(cells, total / cells)
    rng = np.random.default_rng(_SEED)
    draws = [
        solved(even + total * rng.normal(size=cells), queries.values + rng.normal(size=rows)) for _ in range(_DRAWS)
    ]
    return [solved(even, queries.values), *draws]


def nearest(counts: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Return the non-negative counts of sum `total` that are nearest to noisy ones of equal variances."""
    falling = np.sort(counts)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, counts.size + 1)
    above = np.flatnonzero(falling > excess)  # none where one count towers over the total by more than doubles resolve
    return np.asarray(np.maximum(0.0, counts - excess[above[-1] if above.size else 0]))
