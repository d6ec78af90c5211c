"""Which checks are made of what, by tier; a mechanism joins by one line of `MECHANISMS`."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pypgm.audit.accounting import (
    check_accounting_library,
    check_conversions,
    check_exact_loss,
    check_line_costs,
)
from pypgm.audit.answers import check_answers
from pypgm.audit.attacks import (
    audit_pairs,
    check_gaussian_audit,
    check_other_sampler,
    check_precision_of_draws,
    check_precision_of_releases,
)
from pypgm.audit.blocks import check_stability
from pypgm.audit.budgets import check_budgets
from pypgm.audit.closed import check_closed
from pypgm.audit.columns import check_samples, check_unknown_keys
from pypgm.audit.command import check_command
from pypgm.audit.composition import check_composed_loss, check_exported_events, check_guarantees
from pypgm.audit.declared import check_declared
from pypgm.audit.doors import DOORS, check_door
from pypgm.audit.engines import ENGINES, check_engine
from pypgm.audit.failures import check_failures
from pypgm.audit.fields import check_regressions
from pypgm.audit.finding import Check, Finding
from pypgm.audit.fuzz import check_fuzz
from pypgm.audit.laws import Law
from pypgm.audit.ledgers import check_ledger_races
from pypgm.audit.limits import LIMITED, SLOW, check_time_limit
from pypgm.audit.mechanisms import Runs, check_calibration, check_charges, check_noninterference, run_pairs
from pypgm.audit.operators import check_operators, check_sensitivities, check_wide_sensitivities
from pypgm.audit.options import check_options
from pypgm.audit.pairs import Pair, binary_pairs, far_pairs, neighbour_pairs
from pypgm.audit.person_keys import check_person_keys
from pypgm.audit.person_promises import check_promises
from pypgm.audit.persons import check_persons
from pypgm.audit.randomness import (
    check_seeds,
    check_streams,
    noise_words,
)
from pypgm.audit.related import check_related
from pypgm.audit.roundings import check_amplification, check_tails
from pypgm.audit.samplers import SCALES, check_branches, check_chi_square, check_coins, check_exponential_coins
from pypgm.audit.scores import check_scores
from pypgm.audit.selection import check_parameters, check_selection_laws, check_selection_loss
from pypgm.audit.sensitivity import check_conservation
from pypgm.audit.settings import SETTINGS
from pypgm.audit.settled import check_open_sets
from pypgm.audit.shapes import CHOOSING, SHAPES, check_batches, check_shapes
from pypgm.audit.single_steps import PURE_STEPS, STEPS, many_answers, sampled
from pypgm.audit.sources import check_sources
from pypgm.audit.spellings import check_spelling
from pypgm.audit.steps import ASKED, COLUMNS, asked_checks
from pypgm.audit.subjects import (
    FEWER,
    FIELD_RADIUS,
    LEARNERS,
    MECHANISMS,
    SPELLED,
    SPELLINGS,
    SPIN_RADIUS,
    SPINS,
    chosen_network,
    own_regressions,
    sampled_network,
    staged_network,
)
from pypgm.audit.trace import Mechanism
from pypgm.audit.whole import check_claims, check_of
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy
from pypgm.privacy.sampler import Sampler

__all__ = ["MEASUREMENTS", "MECHANISMS", "NAMES", "STEPS", "suite"]

MEASUREMENTS: dict[str, Callable[[NDArray[np.int64]], Any]] = {
    "discrete Gaussian": Sampler().gaussian(Fraction(4)),
    "discrete Laplace": Sampler().laplace(Fraction(2)),
}
"""Noise primitives that the precision attack is tried on."""

_NOTHING: set[tuple[str, Callable[[Runs], Finding]]] = {("many answers", check_calibration)}
_NOTHING.add(("regressions of a caller", check_answers))
_NOTHING |= {(name, check_answers) for name in ("selection by a stated score", "bounds", "bins of a schema")}
"""Checks that a subject gives nothing to: no neighbours, no measurement, no selection that can be worked out again."""

NAMES = tuple(dict.fromkeys(name.split(",")[0] for name in {**MECHANISMS, **FEWER, **LEARNERS, **SPINS}))
"""Mechanisms and learners that an audit can be of."""

T = TypeVar("T")

_BATCHED = ("many measurements", "selection against two models", "selection by a stated score", "screen")


def suite(tier: int, names: Collection[str] = ()) -> list[Check]:
    """Return the checks of a tier: 0 is deterministic; 1 adds statistics for CI; 2 adds them for a night instead.

    Parameters
    ----------
    tier : int
    names : collection of str, optional
        Mechanisms and learners, of `NAMES`: their own checks alone. By default of all, and of what they rest on.

    Raises
    ------
    ValueError
        If the tier is not 0, 1 or 2, or a name is not known.
    """
    if tier not in {0, 1, 2}:
        raise ValueError(f"tier must be 0, 1 or 2, got {tier}")
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise ValueError(f"an audit is of {', '.join(NAMES)}, got {', '.join(map(repr, unknown))}")
    checks = _of_mechanisms(names) if names else [*_foundations(), *_of_mechanisms()]
    if tier == 1:
        # An integer tells nothing, however often it is released: a few hundred releases see every place of noise.
        checks += _of_releases(names, runs=200_000, releases=200)
        checks += [] if names else _statistical(cases=260, draws=1_000_000, others=100_000)
    elif tier == 2:
        checks += _of_releases(names, runs=2_000_000, releases=20_000)
        checks += [] if names else _statistical(cases=5000, draws=100_000_000, others=1_000_000)
    return checks


def _foundations() -> list[Check]:
    """Return the checks of what all mechanisms rest on: samplers, sensitivities, ledgers, single steps, the command."""
    checks: list[Check] = [check_coins, check_exponential_coins, check_branches, check_related, check_persons]
    checks += [check_person_keys, check_promises]
    checks += [check_operators, check_sensitivities, check_wide_sensitivities]
    checks += [check_composed_loss, check_guarantees, check_exported_events]
    checks += [partial(check_engine, name) for name in ENGINES]
    checks += [check_unknown_keys, check_open_sets, check_samples, check_stability]
    checks += [check_sources, check_closed, check_ledger_races]
    checks += [check_declared, *(partial(check_door, name) for name in DOORS)]
    checks += [partial(check_time_limit, name, *how) for name in LIMITED for how in ((), SLOW)]
    checks += [check_scores, check_selection_laws, check_parameters, check_amplification, check_tails]
    checks += [check for name in (*ASKED, *COLUMNS) for check in asked_checks(name)]
    checks += [check_exact_loss, check_conversions, check_line_costs, check_accounting_library, check_streams]
    checks.append(partial(check_streams, noise_words, forks=0, each=100_000))
    checks += [check_command, partial(check_command, ("--rows", "50", "--quiet")), check_budgets]
    for name, mechanism in STEPS.items():
        checks += _observed(name, mechanism, Budget(rho=2))
    for name, mechanism in PURE_STEPS.items():
        checks += _observed(name, mechanism, Budget(epsilon=2))
    # Sampling protects under add-remove with one record a person alone, and is refused elsewhere.
    checks += _observed("sample", sampled, Budget(epsilon=1), neighbour_pairs([Privacy()]))
    for budget in (Budget(rho=2), Budget(epsilon=2)):
        checks += _observed("regressions of a caller", own_regressions, budget, _crossed())
    checks += _observed("many answers", many_answers, Budget(rho=2), far_pairs()[:1])
    checks += [partial(check_options, "questions")]
    checks += [partial(check_shapes, name, mechanism) for name, mechanism in STEPS.items()]
    checks += [partial(check_shapes, name, mechanism, pure=True) for name, mechanism in PURE_STEPS.items()]
    checks += [partial(check_batches, name, STEPS[name]) for name in _BATCHED]
    return checks


def _of_mechanisms(names: Collection[str] = ()) -> list[Check]:
    """Return the checks of whole mechanisms and learners, of all if none is named."""

    def those(known: Mapping[str, T]) -> dict[str, T]:
        return {name: own for name, own in known.items() if not names or name.split(",")[0] in names}

    checks: list[Check] = []
    for name, mechanism in those(MECHANISMS).items():
        checks += _observed(name, mechanism, Budget(rho=2))
        checks += [partial(check_conservation, name, mechanism), partial(check_seeds, name, mechanism)]
        checks += [partial(check_failures, name, SPELLED[name])]
        checks += [partial(check_spelling, name, SPELLED[name], spelling) for spelling in SPELLINGS]
    crossed = _crossed()
    if those({"learn_private": sampled_network}):
        # Sampling protects under add-remove with one record a person alone, and is refused elsewhere.
        checks += _observed("sampled first stage", sampled_network, Budget(epsilon=1), neighbour_pairs([Privacy()]))
        checks += _observed("two stages", staged_network, Budget(epsilon=2), crossed)
        checks += _observed("chosen structure", chosen_network, Budget(epsilon=2), crossed)
    for name, mechanism in those({**FEWER, **LEARNERS}).items():
        regressed = partial(check_regressions, radius=FIELD_RADIUS) if name == "learn_pairwise" else None
        checks += _observed(name, mechanism, Budget(rho=2), crossed, regressed)
        if name in LEARNERS:
            checks += _observed(f"{name}, pure", mechanism, Budget(epsilon=2), crossed)
        checks += [partial(check_conservation, name, mechanism, 25), partial(check_seeds, name, mechanism)]
        checks += [partial(check_failures, name, SPELLED[name])]
        checks.append(partial(check_spelling, name, SPELLED[name], "epsilon, delta, privacy", [Privacy("replace")]))
        several = Privacy(records_per_person=3)
        checks.append(partial(check_spelling, name, SPELLED[name], "the schema's number", [several]))
        shapes = SHAPES[3:4] if name == "learn_pairwise" else SHAPES[2:4]  # it has a regression for each two codes
        checks.append(partial(check_shapes, name, mechanism, shapes))
    for name, learner in those(SPINS).items():
        regressed = partial(check_regressions, radius=SPIN_RADIUS) if name == "learn_ising" else None
        checks += _observed(name, learner, Budget(rho=2), binary_pairs(), regressed)
    checks += [partial(check_options, name) for name in those(SETTINGS) if name != "questions"]
    checks += [partial(check_shapes, "wide, choosing", m, CHOOSING) for m in those({"wide": FEWER["wide"]}).values()]
    checks += [partial(check_shapes, name, mechanism) for name, mechanism in those(MECHANISMS).items()]
    return checks


def _crossed() -> list[Pair]:
    return [pair for pair in neighbour_pairs() if pair.name.startswith("crossed")]


def _observed(
    name: str,
    mechanism: Mechanism,
    budget: Budget,
    pairs: list[Pair] | None = None,
    regressed: Callable[[Runs], Finding] | None = None,
) -> list[Check]:
    """Return the checks of a mechanism's runs, which are made once; of regressions their scores and losses too."""
    runs = functools.cache(lambda: run_pairs(name, mechanism, budget, pairs))
    checks: list[Callable[[Runs], Finding]] = [check_calibration, check_charges, check_answers]
    checks += [check_claims, check_noninterference]
    checks += [regressed, check_selection_loss] if regressed else []
    return [partial(check_of, each, runs, name) for each in checks if (name, each) not in _NOTHING]


def _statistical(*, cases: int, draws: int, others: int) -> list[Check]:
    laws: tuple[Law, Law] = ("laplace", "gaussian")
    checks: list[Check] = [partial(check_fuzz, cases)]
    checks += [partial(check_chi_square, law, s, draws) for law, s in itertools.product(laws, SCALES)]
    # OpenDP's Laplace sampler takes long at large scales.
    checks += [partial(check_other_sampler, law, s, others) for law, s in itertools.product(laws, SCALES[3:9:2])]
    checks += [partial(check_precision_of_draws, name, measure, draws) for name, measure in MEASUREMENTS.items()]
    return checks


def _of_releases(names: Collection[str], *, runs: int, releases: int) -> list[Check]:
    """Return the attacks on whole releases, of all mechanisms and learners if none is named."""
    whole = {**MECHANISMS, **FEWER, **LEARNERS}
    checks: list[Check] = []
    for name, mechanism in whole.items():
        if names and name.split(",")[0] not in names:
            continue
        # The others draw by the same primitives, and a run of theirs takes up to twenty times as long.
        times = runs if name in MECHANISMS else runs // 20
        checks += [partial(check_gaussian_audit, name, mechanism, pair, times) for pair in audit_pairs()]
        checks.append(partial(check_precision_of_releases, name, mechanism, releases))
    return checks
