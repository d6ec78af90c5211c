"""Which checks are made of what, by tier; a mechanism joins by one line of `MECHANISMS`."""

from __future__ import annotations

import functools
import itertools
import logging
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm import mechanisms
from pypgm.audit.accounting import (
    check_accounting_library,
    check_conversions,
    check_exact_loss,
    check_line_costs,
    check_thresholds,
)
from pypgm.audit.answers import check_answers
from pypgm.audit.attacks import (
    audit_pairs,
    check_gaussian_audit,
    check_other_sampler,
    check_precision_of_draws,
    check_precision_of_releases,
)
from pypgm.audit.columns import check_closed, check_samples, check_unknown_keys
from pypgm.audit.composition import check_composed_loss, check_exported_events, check_guarantees
from pypgm.audit.finding import Check
from pypgm.audit.ledger import check_ledger, check_ledger_files, check_ledger_threads, check_second_budgets
from pypgm.audit.mechanisms import check_calibration, check_charges, check_noninterference, run_pairs
from pypgm.audit.operators import check_operators, check_sensitivities, check_wide_sensitivities
from pypgm.audit.pairs import Pair, neighbour_pairs
from pypgm.audit.randomness import (
    check_integer_noise,
    check_open_table,
    check_seeds,
    check_source,
    check_streams,
    noise_words,
)
from pypgm.audit.roundings import check_amplification, check_roundings, check_tails
from pypgm.audit.samplers import SCALES, Law, check_branches, check_chi_square, check_coins, check_exponential_coins
from pypgm.audit.selection import check_parameters, check_selection_laws
from pypgm.audit.sensitivity import check_conservation, check_query_sensitivity
from pypgm.audit.steps import ASKED, COLUMNS, asked_checks
from pypgm.audit.trace import Mechanism
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.noise import add_discrete_gaussian, add_discrete_laplace
from pypgm.privacy.private_column import PrivateColumn
from pypgm.privacy.private_table import L1Selector, PrivateTable
from pypgm.privacy.quantiles import private_bounds, private_quantiles
from pypgm.privacy.relation import Privacy
from pypgm.queries import Contrasts, Partition

__all__ = ["MEASUREMENTS", "MECHANISMS", "STEPS", "suite"]


_LOG = logging.getLogger(__name__)


def _mst(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    def tell(state: Any) -> None:
        _LOG.debug("%d %r", state.iteration, state.loss)  # observed: a callback must not be told of records either

    return mechanisms.mst(data, budget=budget, privacy=privacy, iterations=2, callback=tell, **more)


MECHANISMS: dict[str, Mechanism] = {"mst": _mst}
"""Whole mechanisms, called as mechanism(data, budget, privacy, **more), with as little estimation as they can do."""


def _step(step: Callable[[PrivateTable, Fraction], Any]) -> Mechanism:
    """Return a mechanism that takes one step with its whole budget."""

    def mechanism(data: Any, budget: Budget, privacy: Privacy) -> Any:
        table = PrivateTable(data, privacy, Ledger(budget))
        done = step(table, budget.limit)
        measured = done if isinstance(done, list) else [] if isinstance(done, int) else [done]
        return SimpleNamespace(ledger=table.ledger, measurements=measured, chosen=done)

    return mechanism


_PAIRS = (("a", "b"), ("b", "c"), ("a", "c"))


def _selector(table: PrivateTable) -> L1Selector:
    return table.l1_selector(_PAIRS, lambda pair: np.full(table.domain.size(pair), 2.3))


def _select(table: PrivateTable, rho: Fraction) -> int:
    return _selector(table).select([0, 1, 2], rho=rho)


def _quantiles(data: Any, budget: Budget, privacy: Privacy) -> Any:
    ledger = Ledger(budget)
    column = PrivateColumn(data.unnoted("a"), privacy, ledger)
    found = private_quantiles(column, ["1/4", "1/2", 1], [0, 1, 2], rho=budget.limit)
    return SimpleNamespace(ledger=ledger, measurements=[], found=found)


STEPS: dict[str, Mechanism] = {
    "gaussian measurement": _step(lambda t, rho: t.measure(("a", "b"), rho=rho)),
    "laplace measurement": _step(
        lambda t, rho: t.measure(("c", "a"), scale=Fraction(t.privacy.l1_sensitivity(Partition([0, 1]))) / rho)
    ),
    "measurement of groups": _step(lambda t, rho: t.measure("a", Partition([0, 1, 1]), rho=rho)),
    "measurement of contrasts": _step(lambda t, rho: t.measure(("b", "a"), Contrasts([2, 3]), rho=rho)),
    "many measurements": _step(lambda t, rho: t.measure_many(["a", ("b", "c"), "a"], rho=rho, weights=[1, "1/3", 2])),
    "measurement of the total": _step(
        lambda t, rho: t.measure_total(variance=Fraction(t.privacy.records_per_person**2) / (2 * rho))
    ),
    "selection": _step(_select),
    "selection of two": _step(lambda t, rho: sum(_selector(t).select_top([0, 1, 2], 2, rho=rho))),
    "permute-and-flip": _step(lambda t, rho: _selector(t).permute_and_flip([0, 1, 2], rho=rho)),
    "quantiles": _quantiles,
    "bounds": _step(lambda t, rho: int(sum(private_bounds(t.column("a"), [0, 1, 2, 3], rho=rho)))),
}
"""Single steps, looked at in the same way as whole mechanisms."""


def _sampled(data: Any, budget: Budget, privacy: Privacy) -> Any:
    table = PrivateTable(data, privacy, Ledger(budget))
    sample = table.subsample(Fraction(1, 2), epsilon=Fraction(1, 2))
    return SimpleNamespace(ledger=table.ledger, measurements=[sample.measure("a", scale=Fraction(2))])


MEASUREMENTS: dict[str, Callable[[NDArray[np.int64]], Any]] = {
    "discrete Gaussian": lambda counts: add_discrete_gaussian(counts, Fraction(4)),
    "discrete Laplace": lambda counts: add_discrete_laplace(counts, Fraction(2)),
}
"""Noise primitives that the precision attack is tried on."""


def suite(tier: int) -> list[Check]:
    """Return the checks of a tier: 0 is deterministic; 1 adds statistics for CI; 2 adds them for a night instead.

    Raises
    ------
    ValueError
        If the tier is not 0, 1 or 2.
    """
    if tier not in {0, 1, 2}:
        raise ValueError(f"tier must be 0, 1 or 2, got {tier}")
    checks = _deterministic()
    if tier == 1:
        checks += _statistical(draws=1_000_000, others=100_000, runs=200_000, releases=2000)
    elif tier == 2:
        checks += _statistical(draws=100_000_000, others=1_000_000, runs=2_000_000, releases=20_000)
    return checks


def _deterministic() -> list[Check]:
    checks: list[Check] = [check_coins, check_exponential_coins, check_branches]
    checks += [check_operators, check_sensitivities, check_wide_sensitivities]
    checks += [check_composed_loss, check_guarantees, check_exported_events]
    checks += [check_unknown_keys, check_samples, check_closed]
    checks += [check_selection_laws, check_parameters, check_roundings, check_amplification, check_tails]
    checks += [check for name in (*ASKED, *COLUMNS) for check in asked_checks(name)]
    checks += [check_query_sensitivity, check_exact_loss, check_conversions, check_line_costs, check_thresholds]
    checks += [check_accounting_library, check_integer_noise, check_source, check_open_table, check_streams]
    checks.append(partial(check_streams, noise_words, forks=0, each=100_000))
    checks += [check_ledger, check_ledger_files, check_ledger_threads, check_second_budgets]
    for name, mechanism in STEPS.items():
        budget = Budget(epsilon=2) if name.startswith("laplace") else Budget(rho=2)
        checks += _observed(name, mechanism, budget)
    # Sampling protects under add-remove with one record a person alone, and is refused elsewhere.
    checks += _observed("sample", _sampled, Budget(epsilon=1), neighbour_pairs([Privacy()]))
    for name, mechanism in MECHANISMS.items():
        checks += _observed(name, mechanism, Budget(rho=2))
        checks += [partial(check_conservation, name, mechanism), partial(check_seeds, name, mechanism)]
    return checks


def _observed(name: str, mechanism: Mechanism, budget: Budget, pairs: list[Pair] | None = None) -> list[Check]:
    runs = functools.cache(lambda: run_pairs(name, mechanism, budget, pairs))
    return [
        lambda: check_calibration(runs()),
        lambda: check_charges(runs()),
        lambda: check_answers(runs()),
        lambda: check_noninterference(runs()),
    ]


def _statistical(*, draws: int, others: int, runs: int, releases: int) -> list[Check]:
    laws: tuple[Law, Law] = ("laplace", "gaussian")
    checks: list[Check] = [partial(check_chi_square, law, s, draws) for law, s in itertools.product(laws, SCALES)]
    # OpenDP's Laplace sampler takes long at large scales.
    checks += [partial(check_other_sampler, law, s, others) for law, s in itertools.product(laws, SCALES[3:9:2])]
    for name, mechanism in MECHANISMS.items():
        checks += [partial(check_gaussian_audit, name, mechanism, pair, runs) for pair in audit_pairs()]
    checks += [partial(check_precision_of_draws, name, measure, draws) for name, measure in MEASUREMENTS.items()]
    checks += [partial(check_precision_of_releases, name, m, releases) for name, m in MECHANISMS.items()]
    return checks
