"""Calls that must raise before a record is read or anything is charged, with every table in the same words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from pypgm import mechanisms
from pypgm.audit.finding import Finding, finding
from pypgm.audit.pairs import neighbour_pairs
from pypgm.audit.trace import Trace, observe
from pypgm.bayes.private_learning import learn_private
from pypgm.data import Dataset, Schema
from pypgm.data.sources.encoding import columns_of
from pypgm.privacy.budget import Budget
from pypgm.privacy.laws import DiscreteGaussian, DiscreteLaplace, Stated
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_column import PrivateColumn, sparse_histogram
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.quantiles import private_bounds, private_quantiles
from pypgm.privacy.relation import Privacy
from pypgm.queries import Partition, Prefix

__all__ = ["check_refusals"]

Found = Iterator[tuple[str, str]]
Call = Callable[[Any], object]

_MUCH = 10**9


def _selector(table: PrivateTable, cells: int = 6) -> Any:
    return table.l1_selector([("a", "b"), ("a", "c")], lambda _: np.zeros(cells))


def _estimated(table: PrivateTable, estimate: list[float] | None) -> object:
    def estimated(_: object) -> list[float]:
        if estimate is None:
            raise RuntimeError("no estimate")
        return estimate

    return table.l1_selector([("a", "b"), ("a", "c")], estimated).select([0, 1], rho=1)


def _closed_selection(table: PrivateTable) -> object:
    selector = _selector(table)
    table.close()
    return selector.select([0, 1], rho=1)


def _closed_column(table: PrivateTable) -> object:
    column = table.column("a")
    table.close()
    return private_quantiles(column, ["1/2"], [0, 1], rho=1)


TABLE_CALLS: dict[str, Call] = {
    "an unknown attribute": lambda t: t.measure("z", rho=1),
    "an attribute twice": lambda t: t.measure(("a", "a"), rho=1),
    "no noise": lambda t: t.measure("a"),
    "two kinds of noise": lambda t: t.measure("a", rho=1, variance=1),
    "Gaussian and Laplace noise": lambda t: t.measure("a", scale=1, variance=1),
    "rho 0": lambda t: t.measure("a", rho=0),
    "a negative rho": lambda t: t.measure("a", rho=-1),
    "rho that is no number": lambda t: t.measure("a", rho=math.nan),
    "infinite rho": lambda t: t.measure("a", rho=math.inf),
    "rho that is text": lambda t: t.measure("a", rho="much"),
    "rho that is true": lambda t: t.measure("a", rho=True),
    "variance 0": lambda t: t.measure("a", variance=0),
    "a scale that underflows": lambda t: t.measure("a", scale=Fraction(1, 10**5)),
    "infinite variance": lambda t: t.measure("a", variance=math.inf),
    "more than there is": lambda t: t.measure("a", rho=_MUCH),
    "more than there is, by Laplace noise": lambda t: t.measure("a", scale="1/1000"),
    "a query of another size": lambda t: t.measure("a", Partition([0, 1]), rho=1),
    "a query that is none": lambda t: t.measure("a", np.eye(3), rho=1),
    "no cliques": lambda t: t.measure_many([], rho=1),
    "fewer queries than cliques": lambda t: t.measure_many(["a", "b"], [None], rho=1),
    "fewer weights than cliques": lambda t: t.measure_many(["a", "b"], rho=1, weights=[1]),
    "a weight of 0": lambda t: t.measure_many(["a", "b"], rho=1, weights=[1, 0]),
    "many for more than there is": lambda t: t.measure_many(["a", "b"], rho=_MUCH),
    "many with an unknown one": lambda t: t.measure_many(["a", "z"], rho=1),
    "a total without noise": lambda t: t.measure_total(),
    "a total for more than there is": lambda t: t.measure_total(variance="1/1000000"),
    "an unknown column": lambda t: t.column("z"),
    "nothing to select among": lambda t: _selector(t).select([], rho=1),
    "a candidate that is none": lambda t: _selector(t).select([0, 2], rho=1),
    "a negative candidate": lambda t: _selector(t).select([-1], rho=1),
    "a selection for nothing": lambda t: _selector(t).select([0, 1]),
    "a selection for two prices": lambda t: _selector(t).select([0, 1], rho=1, epsilon=1),
    "a selection of rho 0": lambda t: _selector(t).select([0, 1], rho=0),
    "a selection of negative epsilon": lambda t: _selector(t).select([0, 1], epsilon=-1),
    "a selection for more than there is": lambda t: _selector(t).select([0, 1], rho=_MUCH),
    "the best none": lambda t: _selector(t).select_top([0, 1], 0, rho=1),
    "the best three of two": lambda t: _selector(t).select_top([0, 1], 3, rho=1),
    "the best two for more than there is": lambda t: _selector(t).select_top([0, 1], 2, rho=_MUCH),
    "permute-and-flip for more than there is": lambda t: _selector(t).permute_and_flip([0, 1], rho=_MUCH),
    "permute-and-flip for nothing": lambda t: _selector(t).permute_and_flip([0, 1]),
    "an estimate of another size": lambda t: _selector(t, 5).select([0, 1], rho=1),
    "an estimate that is no number": lambda t: _estimated(t, [math.nan] * 6),
    "an estimate without end": lambda t: _estimated(t, [math.inf] * 6),
    "an estimate too large": lambda t: _estimated(t, [2.0**50] * 6),
    "an estimate that raises": lambda t: _estimated(t, None),
    "running sums to select among": lambda t: t.l1_selector([("a",)], lambda _: [0] * 3, lambda _: Prefix(3)).select(
        [0], rho=1
    ),
    "a sample at rate 0": lambda t: t.subsample(0, epsilon=1),
    "a sample at rate 2": lambda t: t.subsample(2, epsilon=1),
    "a sample for epsilon 0": lambda t: t.subsample("1/2", epsilon=0),
    "a sample for more than there is": lambda t: t.subsample("1/2", epsilon=1000),
    "a quantile above 1": lambda t: private_quantiles(t.column("a"), [2], [0, 1], rho=1),
    "a quantile that is no number": lambda t: private_quantiles(t.column("a"), [math.nan], [0, 1], rho=1),
    "no quantile": lambda t: private_quantiles(t.column("a"), [], [0, 1], rho=1),
    "a grid that falls": lambda t: private_quantiles(t.column("a"), ["1/2"], [1, 0], rho=1),
    "no grid": lambda t: private_quantiles(t.column("a"), ["1/2"], [], rho=1),
    "a grid without end": lambda t: private_quantiles(t.column("a"), ["1/2"], [0, math.inf], rho=1),
    "quantiles for more than there is": lambda t: private_quantiles(t.column("a"), ["1/2"], [0, 1], rho=_MUCH),
    "bounds between one point": lambda t: private_bounds(t.column("a"), [0], rho=1),
    "bounds for more than there is": lambda t: private_bounds(t.column("a"), [0, 1], rho=_MUCH),
    "keys with delta 0": lambda t: sparse_histogram(t.column("a"), delta=0, rho=1),
    "keys with more delta than is reserved": lambda t: sparse_histogram(t.column("a"), delta="1/2", rho=1),
    "keys for more than there is": lambda t: sparse_histogram(t.column("a"), delta=1e-9, rho=_MUCH),
    "a measurement of a closed table": lambda t: t.close() or t.measure("a", rho=1),
    "many of a closed table": lambda t: t.close() or t.measure_many(["a"], rho=1),
    "the total of a closed table": lambda t: t.close() or t.measure_total(variance=1000),
    "a selector of a closed table": lambda t: t.close() or _selector(t),
    "a sample of a closed table": lambda t: t.close() or t.subsample("1/2", epsilon=1),
    "a column of a closed table": _closed_column,
    "a selection after the table is closed": _closed_selection,
    "a part for more than there is": lambda t: t.ledger.allocate("part", amount=_MUCH),
    "a negative part": lambda t: t.ledger.allocate("part", amount=-1),
    "a charge that is none": lambda t: t.ledger.charge("do", "it", "free"),
    "a charge of another unit": lambda t: t.ledger.charge("do", "it", Stated(epsilon=-1)),
    "a charge without end": lambda t: t.ledger.charge("do", "it", Stated(rho=math.inf)),
    "a negative charge": lambda t: t.ledger.charge("do", "it", Stated(rho=-1)),
    "variance that is no number in a charge": lambda t: t.ledger.charge(
        "do", "it", DiscreteGaussian(variance=math.nan, squared_sensitivity=1)
    ),
    "a sensitivity below 0 in a charge": lambda t: t.ledger.charge(
        "do", "it", DiscreteLaplace(scale=1, sensitivity=-1)
    ),
}
"""Calls on a private table over `pairs.DOMAIN` that must raise, whatever the records."""


def _bound(privacy: Privacy) -> Ledger:
    ledger = Ledger(Budget(rho=1))
    ledger.bind(privacy)
    return ledger


def _column(values: Any, privacy: Privacy) -> object:
    return PrivateColumn(values, privacy, Ledger(Budget(rho=1)))


_OTHER = Privacy("replace", 7)
_enter: Any = PrivateTable  # with arguments that no type checker lets through
_mst: Any = mechanisms.mst
ENTRIES: dict[str, Callable[[Any, Any], object]] = {
    "records that are none": lambda data, p: _enter([data], p, Ledger(Budget(rho=1))),
    "weighted records": lambda data, p: _enter(_weighted(data), p, Ledger(Budget(rho=1))),
    "a ledger of another relation": lambda data, p: _enter(data, p, _bound(_OTHER)),
    "a report in the place of a ledger": lambda data, p: _enter(data, p, Ledger(Budget(rho=1)).snapshot()),
    "a generator as a seed": lambda data, p: _enter(
        data, p, Ledger(Budget(rho=1)), unsafe_seed=np.random.default_rng(1)
    ),
    "another number than the schema's": lambda data, p: _enter(_of_three(data), p, Ledger(Budget(rho=1))),
    "another number than the schema's in a mechanism": lambda data, p: _mst(_of_three(data), 1, 1e-9, privacy=p),
    "another number than the schema's in a learner": lambda data, p: learn_private(_of_three(data), {}, 1, privacy=p),
    "no budget": lambda data, p: _mst(data, privacy=p),
    "a budget twice": lambda data, p: _mst(data, 1, 1e-9, budget=Budget(rho=1), privacy=p),
    "a relation twice": lambda data, p: _mst(data, 1, 1e-9, neighbours="replace", privacy=p),
    "an unknown relation": lambda data, _: _mst(data, 1, 1e-9, neighbours="bounded"),
    "no delta": lambda data, p: _mst(data, 1, privacy=p),
    "epsilon 0": lambda data, p: _mst(data, 0, 1e-9, privacy=p),
    "delta 1": lambda data, p: _mst(data, 1, 1, privacy=p),
    "a negative delta": lambda data, p: _mst(data, 1, -1e-9, privacy=p),
    "more delta reserved than there is": lambda data, p: _mst(
        data, budget=Budget(epsilon=1, delta=1e-9, reserved_delta=1e-9), privacy=p
    ),
    "epsilon that is no number": lambda data, p: _mst(data, math.nan, 1e-9, privacy=p),
    "weighted records in a mechanism": lambda data, p: _mst(_weighted(data), 1, 1e-9, privacy=p),
    "a seed by another name": lambda data, p: _mst(data, 1, 1e-9, privacy=p, seed=3),
    "a column of columns": lambda data, p: _column(np.stack([data.unnoted(a) for a in data.domain], axis=1), p),
    "a column of text": lambda data, p: _column("".join(map(str, data.unnoted("a"))), p),
    "a column that is read once": lambda data, p: _column(iter(data.unnoted("a")), p),
    "a column of bytes": lambda data, p: _column(data.unnoted("a").tobytes(), p),
}
"""Ways to enter records that must raise, whatever they are."""


def _of_three(data: Any) -> Any:
    """Return the records, as of a schema that states three a person."""
    data.schema = Schema(columns_of(data.domain), records_per_person=3)
    return data


def _weighted(data: Any) -> Dataset:
    columns = {name: data.unnoted(name) for name in data.domain}
    return Dataset(columns, data.domain, weights=np.ones(len(next(iter(columns.values())))))


def check_refusals(calls: Mapping[str, Call] = TABLE_CALLS, entries: Mapping[str, Any] = ENTRIES) -> Finding:
    """Make calls that must raise: with every table in the same words, and nothing read, drawn or charged before."""
    found: list[tuple[str, str]] = []
    pairs = [p for p in neighbour_pairs([Privacy()]) if p.name.startswith(("crossed", "empty, [0, 0, 0"))]
    for pair in pairs:
        for name, call in calls.items():
            budget = Budget(rho=10)
            found.extend(_refused(name, [_called(call, data, budget, pair.privacy) for data in (pair.one, pair.other)]))
        for name, enter in entries.items():

            def entered(data: Any, _: Budget, privacy: Privacy, enter: Any = enter) -> object:
                return enter(data, privacy)

            traces = [observe(entered, data, Budget(rho=10), pair.privacy) for data in (pair.one, pair.other)]
            found.extend(_refused(name, traces))
    return finding("refusals", "private tables", found, f"{len(calls) + len(entries)} calls, none read or charged")


def _called(call: Call, data: Dataset, budget: Budget, privacy: Privacy) -> Trace:
    return observe(lambda records, limit, own: call(PrivateTable(records, own, Ledger(limit))), data, budget, privacy)


def _refused(name: str, traces: list[Trace]) -> Found:
    for trace in traces:
        if not trace.error:
            yield "not refused", f"{name} is taken"
        elif trace.charges:
            yield "charged for nothing", f"{name} is refused after a charge"
        elif any(kind in {"read", "total", "coins", "draw"} for kind, _ in trace.events):
            yield "read before the charge", f"{name} is refused after the records were read"
    if traces[0].error != traces[1].error:
        yield "exception tells", f"{name} is refused in words that depend on the records"
