"""What is looked at: whole mechanisms, single steps on any domain, and the public ways to ask for a mechanism."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pypgm import mechanisms, mrf
from pypgm.audit.answers import exact_rank_scores
from pypgm.audit.trace import Mechanism, WatchedRecords
from pypgm.bayes import PrivateStructure, learn_private
from pypgm.data import Dataset, Integer, QuantileBins, Schema
from pypgm.domain import Clique
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_column import PrivateColumn
from pypgm.privacy.private_table import L1Selector, PrivateTable
from pypgm.privacy.quantiles import private_bounds, private_quantiles
from pypgm.privacy.relation import Privacy
from pypgm.privacy.settling import settle
from pypgm.queries import Contrasts, Partition, Prefix

__all__ = [
    "FEWER",
    "FIELD_RADIUS",
    "LEARNERS",
    "MECHANISMS",
    "PURE_STEPS",
    "SPELLED",
    "SPELLINGS",
    "SPINS",
    "SPIN_RADIUS",
    "STEPS",
    "chosen_network",
    "many_answers",
    "sampled",
    "sampled_network",
]


_LOG = logging.getLogger(__name__)


def _mst(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    def tell(state: Any) -> None:
        _LOG.debug("%d %r", state.iteration, state.loss)  # observed: a callback must not be told of records either

    return mechanisms.mst(data, budget=budget, privacy=privacy, iterations=2, callback=tell, **more)


def _hdmm(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    return mechanisms.hdmm(data, budget=budget, privacy=privacy, callback=_stop, **more)


def _aim(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    return _few_rounds(data, budget=budget, privacy=privacy, **more)


def _three_steps(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    return _plausible(data, budget=budget, privacy=privacy, **more)


def _jam(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    return _beside_public(data, budget=budget, privacy=privacy, **more)


def _beside_public(data: Any, *arguments: Any, **more: Any) -> Any:
    """Learn from a few records that are public, and from the private ones."""
    codes = np.arange(7)
    public = Dataset({a: codes % data.domain.size((a,)) for a in data.domain}, data.domain)
    return mechanisms.jam(data, *arguments, public=public, iterations=2, rounds=3, **more)


def _mwem(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    return _three_rounds(data, budget=budget, privacy=privacy, **more)


def _dualquery(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    return _few_draws(data, budget=budget, privacy=privacy, **more)


def _fem(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    return _few_leaders(data, budget=budget, privacy=privacy, **more)


def _screen_pairs(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    return mechanisms.screen(data, budget=budget, privacy=privacy, callback=_stop, **more)


def _wide(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    return mechanisms.wide(data, budget=budget, privacy=privacy, callback=_stop, **more)


def _stop(state: Any) -> bool:
    """End an estimate once it has begun."""
    _LOG.debug("%d %r", state.iteration, state.loss)
    return True


def _learned(data: Any, *arguments: Any, **more: Any) -> Any:
    """Learn a chain over the attributes."""
    return learn_private(data, list(itertools.pairwise(data.domain.attributes)), *arguments, **more)


def _learn(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    law: Literal["gaussian", "laplace"] = "gaussian" if budget.unit == "rho" else "laplace"
    return _learned(data, budget=budget, privacy=privacy, noise_law=law, callback=_stop, **more)


_CHOSEN = PrivateStructure(usefulness="1/99", max_parents=2)


def _privbayes(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    return _chosen(data, budget=budget, privacy=privacy, callback=_stop, **more)


def chosen_network(data: Any, budget: Budget, privacy: Privacy) -> Any:
    """Learn a network whose structure is chosen from the same records."""
    return learn_private(data, _CHOSEN, budget=budget, privacy=privacy, callback=_stop)


def sampled_network(data: Any, budget: Budget, privacy: Privacy) -> Any:
    """Learn a network in two stages, the first on a sample; for add-remove with one record a person."""
    return _learned(data, budget=budget, privacy=privacy, paper=True)


FIELD_RADIUS = 0.01
"""Of a ball so small that all responses are next to their bound: a person changes scores by almost their range."""

SPIN_RADIUS = 0.5


def _pairwise(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    return _field(data, budget=budget, privacy=privacy, **more)


def _field(data: Any, *arguments: Any, **more: Any) -> Any:
    return mrf.learn_pairwise(data, FIELD_RADIUS, *arguments, steps=2, **more)


def _ising(data: Any, budget: Budget, privacy: Privacy) -> Any:
    return mrf.learn_ising(data, SPIN_RADIUS, budget=budget, privacy=privacy, steps=4)


def _t_wise(data: Any, budget: Budget, privacy: Privacy) -> Any:
    return mrf.learn_t_wise(data, SPIN_RADIUS, 3, budget=budget, privacy=privacy)  # as many steps as its total asks for


_chosen = partial(mechanisms.privbayes, structure=_CHOSEN)

MECHANISMS: dict[str, Mechanism] = {"mst": _mst, "hdmm": _hdmm}
"""Whole mechanisms, called as mechanism(data, budget, privacy, **more), with as little estimation as they can do."""

_few_rounds = partial(mechanisms.aim, iterations=2, rounds=5)

_plausible = partial(mechanisms.grid, iterations=2)

FEWER: dict[str, Mechanism] = {"aim": _aim, "grid": _three_steps, "jam": _jam, "screen": _screen_pairs, "wide": _wide}
"""Whole mechanisms that take the same steps on the same run, for which fewer tables are looked at."""

_three_rounds = partial(mechanisms.mwem, iterations=2, rounds=3)
_few_draws = partial(mechanisms.dualquery, iterations=2, rounds=3, samples=2, rate="1/10")
_few_leaders = partial(mechanisms.fem, iterations=2, rounds=3, samples=2)

LEARNERS: dict[str, Mechanism] = {
    "learn_private": _learn,
    "privbayes": _privbayes,
    "mwem": _mwem,
    "dualquery": _dualquery,
    "fem": _fem,
    "learn_pairwise": _pairwise,
}
"""Learners and mechanisms that are looked at under pure budgets too."""

SPINS: dict[str, Mechanism] = {"learn_ising": _ising, "learn_t_wise": _t_wise}
"""Learners of fields of attributes with two values; but for the regressions they are `learn_pairwise`."""

SPELLED: dict[str, Callable[..., Any]] = {
    "mst": partial(mechanisms.mst, iterations=2),
    "hdmm": partial(mechanisms.hdmm, callback=_stop),
    "aim": _few_rounds,
    "grid": _plausible,
    "jam": _beside_public,
    "screen": partial(mechanisms.screen, callback=_stop),
    "wide": partial(mechanisms.wide, callback=_stop),
    "learn_private": partial(_learned, callback=_stop),
    "privbayes": partial(_chosen, callback=_stop),
    "mwem": _three_rounds,
    "dualquery": _few_draws,
    "fem": _few_leaders,
    "learn_pairwise": _field,
}
"""The same mechanisms and learners as their users call them."""

Spelling = Callable[[Callable[..., Any], Any, Fraction, Fraction, Privacy], Any]

SPELLINGS: dict[str, Spelling] = {
    "epsilon, delta, privacy": lambda f, data, e, d, p: f(data, e, d, privacy=p),
    "epsilon=, delta=": lambda f, data, e, d, p: f(data, epsilon=str(e), delta=str(d), privacy=p),
    "budget=": lambda f, data, e, d, p: f(data, budget=Budget(epsilon=e, delta=d), privacy=p),
    "progress=": lambda f, data, e, d, p: f(data, e, d, privacy=p, progress=True),
    "noise=": lambda f, data, e, d, p: f(data, e, d, privacy=p, noise="opendp"),
    "reserved_delta=": lambda f, data, e, d, p: f(
        data, budget=Budget(epsilon=e, delta=d, reserved_delta=d * 9 / 10), privacy=p
    ),
    "open table": lambda f, data, e, d, p: f(PrivateTable(data, p, Ledger(Budget(epsilon=e, delta=d)))),
    "n_threads=": lambda f, data, e, d, p: f(data, e, d, privacy=p, n_threads=2),
    "neighbours=": lambda f, data, e, d, p: f(data, e, d, neighbours=p.neighbours),
    "no relation": lambda f, data, e, d, _: f(data, e, d),
}
"""Ways to ask a mechanism for (epsilon, delta) under a relation; the last two can say less than all relations."""


def _step(step: Callable[[PrivateTable, Fraction], Any]) -> Mechanism:
    """Return a mechanism that takes one step, or one step again and again, with its whole budget."""

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
    """Measure on all that is left of the ledger after parts of it were set aside and returned."""
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
        found = [private_quantiles(column, _QUANTILES, grid, rho=budget.limit / times) for _ in range(times)]

        def hidden(records: WatchedRecords) -> Sequence[Any]:
            values = records.unnoted(first)
            return [exact_rank_scores(values, q, grid) for q in _QUANTILES] * times

        return SimpleNamespace(ledger=ledger, measurements=[], found=found, hidden=hidden)

    return mechanism


def _settled(data: Any, budget: Budget, privacy: Privacy) -> Any:
    """Find the bins of a column by quantiles, for all of the budget."""
    ledger, first = Ledger(budget), next(iter(data.domain))
    column = QuantileBins(Integer(0, data.domain.size((first,)) - 1), 3, share=1)
    found = settle(Schema({first: column}), {first: data.unnoted(first)}, privacy, ledger)

    def hidden(records: WatchedRecords) -> Sequence[Any]:
        thirds = (Fraction(1, 3), Fraction(2, 3))
        return [exact_rank_scores(records.unnoted(first), q, column.grid.tolist()) for q in thirds]

    return SimpleNamespace(ledger=ledger, measurements=[], found=found.to_dict(), hidden=hidden)


def _bounds(data: Any, budget: Budget, privacy: Privacy) -> Any:
    ledger, first = Ledger(budget), next(iter(data.domain))
    grid = [*_grid(data), float(data.domain.size((first,)))]
    found = private_bounds(PrivateColumn(data.unnoted(first), privacy, ledger), grid, rho=budget.limit)

    def hidden(records: WatchedRecords) -> Sequence[NDArray[np.int64]]:
        return [np.histogram(records.unnoted(first), np.array(grid))[0]]

    return SimpleNamespace(ledger=ledger, measurements=[], found=found, hidden=hidden)


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
        lambda t, rho: t.measure_total(variance=Fraction(t.privacy.records_per_person**2) / (2 * rho))
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
"""Single steps, looked at in the same way as whole mechanisms; budgets are in rho."""

PURE_STEPS: dict[str, Mechanism] = {
    "laplace measurement": _step(_laplace),
    "pure selection": _step(lambda t, epsilon: _selector(t).select(_all(t), epsilon=epsilon)),
    "pure permute-and-flip": _step(lambda t, epsilon: _selector(t).permute_and_flip(_all(t), epsilon=epsilon)),
}
"""Single steps under a pure budget."""

many_answers: Mechanism = _again(1100, lambda t, rho: t.measure(_attributes(t)[2], rho=rho))
"""More answers than any mechanism asks for one after the other."""


def sampled(data: Any, budget: Budget, privacy: Privacy) -> Any:
    """Measure a sample of the records; for add-remove with one record a person."""
    table = PrivateTable(data, privacy, Ledger(budget))
    sample = table.subsample(Fraction(1, 2), epsilon=Fraction(1, 2))
    first = next(iter(data.domain))
    return SimpleNamespace(ledger=table.ledger, measurements=[sample.measure(first, scale=Fraction(2))])
