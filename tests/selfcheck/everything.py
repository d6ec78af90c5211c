"""All checks of this tree: those of `pypgm.audit`, which a wheel has, and those of this package alone."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from pypgm.audit import tiers
from pypgm.audit.answers import check_answers
from pypgm.audit.finding import Check, Finding
from pypgm.audit.mechanisms import Runs, check_calibration
from pypgm.audit.pairs import far_pairs, neighbour_pairs
from pypgm.audit.subjects import FEWER, LEARNERS, MECHANISMS, SPELLED
from pypgm.audit.tiers import NAMES, crossed_pairs, of_names
from pypgm.privacy.budget import Budget
from pypgm.privacy.gdp import gdp_delta, gdp_epsilon, gdp_rho
from pypgm.privacy.relation import Privacy
from selfcheck.accounting import (
    check_accounting_library,
    check_conversions,
    check_exact_loss,
    check_line_costs,
)
from selfcheck.accounts import check_accounts
from selfcheck.blocks import check_stability
from selfcheck.closed import check_closed
from selfcheck.columns import check_samples, check_unknown_keys
from selfcheck.command import check_command
from selfcheck.composition import check_charged_loss, check_composed_loss, check_exported_events, check_guarantees
from selfcheck.declared import check_declared
from selfcheck.doors import DOORS, check_door
from selfcheck.engines import ENGINES, check_engine
from selfcheck.fuzz import check_fuzz
from selfcheck.gdp import check_bounded_steps, check_game, check_gdp_rho, check_inverses, check_steps_fall
from selfcheck.ledgers import check_amounts_left, check_ledger_races
from selfcheck.limits import LIMITED, SLOW, check_time_limit
from selfcheck.operators import check_operators, check_sensitivities, check_wide_sensitivities
from selfcheck.options import check_options
from selfcheck.person_keys import check_person_keys
from selfcheck.person_promises import check_promises
from selfcheck.persons import check_persons
from selfcheck.related import check_related
from selfcheck.roundings import check_amplification, check_tails
from selfcheck.scores import check_scores
from selfcheck.settings import SETTINGS
from selfcheck.settled import check_open_sets
from selfcheck.shapes import CHOOSING, SHAPES, check_batches, check_shapes
from selfcheck.single_steps import PURE_STEPS, STEPS, many_answers, own_regressions, sampled
from selfcheck.sources import check_sources
from selfcheck.spellings import SPELLINGS, check_spelling
from selfcheck.steps import ASKED, COLUMNS, asked_checks
from selfcheck.weights import check_weights

__all__ = ["NAMES", "suite"]

_WITHOUT: dict[str, tuple[Callable[[Runs], Finding], ...]] = {"many answers": (check_calibration,)}
_WITHOUT |= dict.fromkeys(
    ("regressions of a caller", "selection by a stated score", "bounds", "bins of a schema"), (check_answers,)
)
"""Checks that a subject gives nothing to: no neighbours, no measurement, no selection that can be worked out again."""

_BATCHED = ("many measurements", "selection against two models", "selection by a stated score", "screen")

_CASES = {0: 0, 1: 260, 2: 5000}
"""Random cases of mechanisms in each tier."""


def suite(tier: int, names: Collection[str] = ()) -> list[Check]:
    """Return all checks of a tier, of mechanisms by name or of all: this package's own, then those of `pypgm.audit`."""
    audited = tiers.suite(tier, names)
    fuzzed = [partial(check_fuzz, _CASES[tier])] if tier and not names else []
    return [*([] if names else _foundations()), *_of_mechanisms(names), *audited, *fuzzed]


def _foundations() -> list[Check]:
    """Return the checks of queries, ledgers, sources, doors, single steps and the command."""
    checks: list[Check] = [check_related, check_persons, check_person_keys, check_promises, check_weights]
    checks += [check_operators, check_sensitivities, check_wide_sensitivities]
    checks += [check_composed_loss, check_charged_loss, check_guarantees, check_exported_events]
    checks += [check_steps_fall, check_bounded_steps, check_inverses, check_gdp_rho, check_game]
    checks += [partial(check_engine, name) for name in ENGINES]
    checks += [check_unknown_keys, check_open_sets, check_samples, check_stability]
    checks += [check_sources, check_closed, check_ledger_races, check_accounts, check_amounts_left]
    checks += [check_declared, *(partial(check_door, name) for name in DOORS)]
    checks += [partial(check_time_limit, name, *how) for name in LIMITED for how in ((), SLOW)]
    checks += [check_scores, check_amplification, check_tails]
    checks += [check for name in (*ASKED, *COLUMNS) for check in asked_checks(name)]
    checks += [check_exact_loss, check_conversions, partial(check_conversions, gdp_epsilon, gdp_rho, gdp_delta, 17)]
    checks += [check_line_costs, check_accounting_library]
    checks += [check_command, partial(check_command, ("--rows", "50", "--quiet"))]
    return [*checks, *_steps()]


def _steps() -> list[Check]:
    """Return the checks of single steps."""
    checks: list[Check] = []
    for name, mechanism in STEPS.items():
        checks += _observed(name, mechanism, Budget(rho=2))
    for name, mechanism in PURE_STEPS.items():
        checks += _observed(name, mechanism, Budget(epsilon=2))
    # Sampling protects under add-remove with one record a person alone, and is refused elsewhere.
    checks += _observed("sample", sampled, Budget(epsilon=1), neighbour_pairs([Privacy()]))
    for budget in (Budget(rho=2), Budget(epsilon=2)):
        checks += _observed("regressions of a caller", own_regressions, budget, crossed_pairs())
    checks += _observed("many answers", many_answers, Budget(rho=2), far_pairs()[:1])
    checks += [partial(check_options, "questions")]
    checks += [partial(check_shapes, name, mechanism) for name, mechanism in STEPS.items()]
    checks += [partial(check_shapes, name, mechanism, pure=True) for name, mechanism in PURE_STEPS.items()]
    checks += [partial(check_batches, name, STEPS[name]) for name in _BATCHED]
    return checks


def _observed(name: str, *run: Any) -> list[Check]:
    return tiers.observed_checks(name, *run, without=_WITHOUT.get(name, ()))


def _of_mechanisms(names: Collection[str]) -> list[Check]:
    """Return the checks of a mechanism's spellings, options and tables of other shapes, of all if none is named."""
    checks: list[Check] = []
    for name in of_names(MECHANISMS, names):
        checks += [partial(check_spelling, name, SPELLED[name], spelling) for spelling in SPELLINGS]
    for name, mechanism in of_names({**FEWER, **LEARNERS}, names).items():
        checks.append(partial(check_spelling, name, SPELLED[name], "epsilon, delta, privacy", [Privacy("replace")]))
        several = Privacy(records_per_person=3)
        checks.append(partial(check_spelling, name, SPELLED[name], "the schema's number", [several]))
        shapes = SHAPES[3:4] if name == "learn_pairwise" else SHAPES[2:4]  # it has a regression for each two codes
        checks.append(partial(check_shapes, name, mechanism, shapes))
    checks += [partial(check_options, name) for name in of_names(SETTINGS, names) if name != "questions"]
    for mechanism in of_names({"wide": FEWER["wide"]}, names).values():
        checks.append(partial(check_shapes, "wide, choosing", mechanism, CHOOSING))
    return checks + [partial(check_shapes, name, mechanism) for name, mechanism in of_names(MECHANISMS, names).items()]
