"""Single steps, checked like whole mechanisms."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.audit.subjects import FIELD_RADIUS
from pypgm.audit.trace import Mechanism, WatchedRecords
from pypgm.data import Integer, OpenSchema, QuantileBins
from pypgm.domain import Clique
from pypgm.mrf.frank_wolfe import Feature, FrankWolfe, Node, Regressions
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_column import PrivateColumn
from pypgm.privacy.private_table import L1Selector, PrivateTable
from pypgm.privacy.quantiles import private_bounds, private_quantiles
from pypgm.privacy.relation import Privacy
from pypgm.privacy.settling import settle
from pypgm.queries import Contrasts, Partition, Prefix
from selfcheck.scores import exact_rank_scores


def _step(step: Callable[[PrivateTable, Fraction], Any]) -> Mechanism:
    """Return a mechanism that spends its whole budget on one step, or on a step repeated."""

    def mechanism(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
        table = PrivateTable(data, privacy, Ledger(budget), **more)
        done = step(table, budget.limit)
        measured = done if isinstance(done, list) else [] if isinstance(done, int) else [done]
        return SimpleNamespace(ledger=table.ledger, measurements=measured, chosen=done)

    return mechanism


def _attributes(table: PrivateTable) -> tuple[str, str, str]:
    first, second, *others = table.domain.attributes
    return first, second, others[-1]


def _pair(table: PrivateTable) -> Clique:
    return _attributes(table)[:2]


def _groups(cells: int) -> Partition:
    return Partition([min(1, cell) for cell in range(cells)])


def _pairs(table: PrivateTable) -> list[Clique]:
    return list(itertools.combinations(table.domain.attributes, 2))


def _selector(table: PrivateTable, *, grouped: bool = False) -> L1Selector:
    if not grouped:
        return table.l1_selector(_pairs(table), lambda pair: np.full(table.domain.size(pair), 2.3))
    return table.l1_selector(
        _pairs(table), lambda _: np.array([1.7, 40.2]), lambda pair: _groups(table.domain.size(pair))
    )


def _all(table: PrivateTable) -> list[int]:
    return list(range(len(_pairs(table))))


def _laplace(table: PrivateTable, epsilon: Fraction) -> Any:
    third, first = _attributes(table)[2], _attributes(table)[0]
    return table.measure((third, first), scale=Fraction(table.privacy.l1_sensitivity(Partition([0, 1]))) / epsilon)


def _many(table: PrivateTable, rho: Fraction) -> Any:
    first, second, third = _attributes(table)
    return table.measure_many([first, (second, third), first], rho=rho, weights=[1, "1/3", 2])


def _running_sums(table: PrivateTable, rho: Fraction) -> Any:
    first = _attributes(table)[0]
    return table.measure(first, Prefix(table.domain.size((first,))), rho=rho)


def _tree(table: PrivateTable, rho: Fraction) -> int:
    selector, left = _selector(table, grouped=True), _all(table)
    for _ in range(len(table.domain) - 1):
        left.remove(selector.select(left, rho=rho / len(table.domain)))
    return left[0]


def _parts(table: PrivateTable, rho: Fraction) -> Any:
    """Measure with all that remains of the ledger after parts were allocated and returned."""
    with table.ledger.allocate("part", amount=rho / 2) as part, part.allocate("part of it", fraction=1):
        pass
    return table.measure(_pair(table), rho=table.ledger.remaining())


def _again(times: int, step: Callable[[PrivateTable, Fraction], Any]) -> Mechanism:
    def repeated(table: PrivateTable, rho: Fraction) -> Any:
        done = [step(table, rho / times) for _ in range(times)]
        return done if not isinstance(done[0], int) else sum(done)

    return _step(repeated)


_QUANTILES = [Fraction(1, 4), Fraction(1, 2), Fraction(1, 2), Fraction(1), Fraction(1, 3)]


def _two_models(table: PrivateTable, rho: Fraction) -> int:
    selector, pairs = _selector(table), _pairs(table)
    weights, offsets = [[1 / (1 + i % 5) for i in _all(table)], [i % 3 - 0.7 for i in _all(table)]]
    first = selector.select(rho=rho / 2, weights=weights, offsets=offsets)
    selector.compare(lambda clique: np.arange(table.domain.size(clique)), [*pairs[first:], table.domain.attributes[:3]])
    return selector.permute_and_flip(None, rho=rho / 2, weights=[*weights[first:], 0.9])


def _stated(table: PrivateTable, rho: Fraction) -> int:
    def signed(number: int, counts: NDArray[np.int64]) -> int:
        return int(counts[0]) * (1 if number % 2 else -1)

    return table.selector(_pairs(table), signed, sensitivity=1).select(rho=rho, weights=[i % 3 for i in _all(table)])


def _screen(table: PrivateTable, rho: Fraction) -> Any:
    return _selector(table).screen(_all(table)[::-1], rho=rho, weights=[1 / (1 + i % 5) for i in _all(table)])


def _quantiles(times: int) -> Mechanism:
    def mechanism(data: Any, budget: Budget, privacy: Privacy) -> Any:
        ledger, first = Ledger(budget), next(iter(data.domain))
        column, grid = PrivateColumn(data.unnoted(first), privacy, ledger), _grid(data)
        quantiles = [private_quantiles(column, _QUANTILES, grid, rho=budget.limit / times) for _ in range(times)]

        def hidden(records: WatchedRecords) -> Sequence[Any]:
            values = records.unnoted(first)
            return [exact_rank_scores(values, q, grid) for q in _QUANTILES] * times

        return SimpleNamespace(ledger=ledger, measurements=[], result=quantiles, hidden=hidden)

    return mechanism


def _settled(data: Any, budget: Budget, privacy: Privacy) -> Any:
    """Find the bins of a column by quantiles, with the whole budget."""
    ledger, first = Ledger(budget), next(iter(data.domain))
    column = QuantileBins(Integer(0, data.domain.size((first,)) - 1), 3, share=1)
    schema = settle(OpenSchema({first: column}), {first: data.unnoted(first)}, privacy, ledger)

    def hidden(records: WatchedRecords) -> Sequence[Any]:
        thirds = (Fraction(1, 3), Fraction(2, 3))
        return [exact_rank_scores(records.unnoted(first), q, column.grid.tolist()) for q in thirds]

    return SimpleNamespace(ledger=ledger, measurements=[], result=schema.to_dict(), hidden=hidden)


def _bounds(data: Any, budget: Budget, privacy: Privacy) -> Any:
    ledger, first = Ledger(budget), next(iter(data.domain))
    grid = [*_grid(data), float(data.domain.size((first,)))]
    bounds = private_bounds(PrivateColumn(data.unnoted(first), privacy, ledger), grid, rho=budget.limit)

    def hidden(records: WatchedRecords) -> Sequence[NDArray[np.int64]]:
        return [np.histogram(records.unnoted(first), np.array(grid))[0]]

    return SimpleNamespace(ledger=ledger, measurements=[], result=bounds, hidden=hidden)


def _grid(data: Any) -> list[float]:
    return [float(value) for value in range(data.domain.size((next(iter(data.domain)),)))]


STEPS: dict[str, Mechanism] = {
    "gaussian measurement": _step(lambda t, rho: t.measure(_pair(t), rho=rho)),
    "measurement of groups": _step(lambda t, rho: t.measure(_pair(t), _groups(t.domain.size(_pair(t))), rho=rho)),
    "running sums": _step(_running_sums),
    "measurement of contrasts": _step(
        lambda t, rho: t.measure(_pair(t), Contrasts([t.domain.size((a,)) for a in _pair(t)]), rho=rho)
    ),
    "many measurements": _step(_many),
    "measurement of the total": _step(
        lambda t, rho: t.measure_total(variance=t.ledger.variance_of(rho, t.privacy.records_per_person**2))
    ),
    "the same measurement again": _again(3, lambda t, rho: t.measure(_pair(t), rho=rho)),
    "a part of the ledger": _step(_parts),
    "selection": _step(lambda t, rho: _selector(t).select(_all(t), rho=rho)),
    "selection of two": _step(lambda t, rho: sum(_selector(t).select_top(_all(t), 2, rho=rho))),
    "the same selection again": _again(3, lambda t, rho: _selector(t).select(_all(t), rho=rho)),
    "selections of groups": _step(_tree),
    "selection against two models": _step(_two_models),
    "selection by a stated score": _step(_stated),
    "screen": _step(_screen),
    "permute-and-flip": _step(lambda t, rho: _selector(t).permute_and_flip(_all(t), rho=rho)),
    "quantiles": _quantiles(1),
    "the same quantiles again": _quantiles(2),
    "bounds": _bounds,
    "bins of a schema": _settled,
}
"""Single steps; budgets are in rho."""

PURE_STEPS: dict[str, Mechanism] = {
    "laplace measurement": _step(_laplace),
    "pure selection": _step(lambda t, epsilon: _selector(t).select(_all(t), epsilon=epsilon)),
    "pure permute-and-flip": _step(lambda t, epsilon: _selector(t).permute_and_flip(_all(t), epsilon=epsilon)),
}
"""Single steps with a pure budget."""

many_answers: Mechanism = _again(1100, lambda t, rho: t.measure(_attributes(t)[2], rho=rho))
"""More measurements in a row than any mechanism takes."""


def sampled(data: Any, budget: Budget, privacy: Privacy) -> Any:
    """Measure a sample of the records; for add-remove with one record a person."""
    table = PrivateTable(data, privacy, Ledger(budget))
    sample = table.subsample(Fraction(1, 2), epsilon=Fraction(1, 2))
    first = next(iter(data.domain))
    return SimpleNamespace(ledger=table.ledger, measurements=[sample.measure(first, scale=Fraction(2))])


def own_regressions(data: Any, budget: Budget, privacy: Privacy) -> Any:
    """Learn regressions chosen by a caller: of three codes, two pairs share their second code."""
    table = PrivateTable(data, privacy, Ledger(budget))
    regressions = Regressions([Feature((1,)), Feature((2,))], [Node(0, [(0, 1), (2, 1)], [0, 1])], FIELD_RADIUS, 2)
    FrankWolfe(table, regressions).solve([budget.limit])
    return SimpleNamespace(ledger=table.ledger)
