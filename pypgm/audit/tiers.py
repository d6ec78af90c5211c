"""Checks by tier and subject; a mechanism joins by one line in `subjects.py`."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pypgm.audit.answers import check_answers
from pypgm.audit.attacks import (
    audit_pairs,
    check_gaussian_audit,
    check_other_sampler,
    check_precision_of_draws,
    check_precision_of_releases,
)
from pypgm.audit.budgets import check_budgets, check_conservation
from pypgm.audit.fields import check_regressions
from pypgm.audit.finding import Check, Finding, finding
from pypgm.audit.laws import NOISES
from pypgm.audit.mechanisms import (
    Runs,
    check_calibration,
    check_charges,
    check_failures,
    check_noninterference,
    run_pairs,
)
from pypgm.audit.pairs import PRIVACIES, Pair, binary_pairs, neighbour_pairs
from pypgm.audit.randomness import (
    check_seeds,
    check_streams,
    noise_words,
)
from pypgm.audit.samplers import SCALES, adder, check_branches, check_chi_square, check_coins, check_exponential_coins
from pypgm.audit.selection import check_parameters, check_selection_laws, check_selection_loss
from pypgm.audit.subjects import (
    FEWER,
    FIELD_RADIUS,
    LEARNERS,
    MECHANISMS,
    SPELLED,
    SPIN_RADIUS,
    SPINS,
    chosen_network,
    sampled_network,
    staged_network,
)
from pypgm.audit.trace import Mechanism, Trace
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy

__all__ = ["MEASUREMENTS", "MECHANISMS", "NAMES", "crossed_pairs", "observed_checks", "of_names", "suite"]


def followed(check: str, subject: str, runs: Sequence[Runs]) -> Finding:
    """Run every check of runs, and return one finding with the defects of all."""
    checks = (check_calibration, check_charges, check_answers, check_noninterference, check_claims)
    findings = [each(one) for one in runs for each in checks]
    failed = [(defect, f"{f.subject}: {f.detail}") for f in findings for defect in f.defects]
    looked_at = {f.check for f in findings if f.result != "not exercised"}
    figures = f"{sum(len(one.traces) for one in runs)} pairs, {len(looked_at)} checks of each"
    idle = sorted({f.check for f in findings} - looked_at)
    if idle:
        figures += f"; nothing to look at for {', '.join(idle)}"
    # A mechanism may release no measurement and no ledger; but it draws, and charges for it.
    return finding(check, subject, failed, figures, exercised={"calibration", "charges"} <= looked_at)


def check_of(check: Callable[[Runs], Finding], runs: Callable[[], Runs], subject: str) -> Finding:
    """Run one check of runs that several share; the subject is for the finding if the runs raise."""
    del subject
    return check(runs())


def check_claims(runs: Runs) -> Finding:
    """Compare the relation, budget, lines and total that a release states with those of its run."""
    defects: list[tuple[str, str]] = []
    compared = 0
    for pair, one, other in runs.traces:
        for trace in (one, other):
            if getattr(trace.release, "ledger", None) is not None:
                compared += 1
                defects.extend(_claims(trace, runs.budget, pair.privacy))
    return finding("claims", runs.subject, defects, f"{compared} releases say what they are", exercised=compared)


def _claims(trace: Trace, budget: Budget, privacy: Privacy) -> Iterator[tuple[str, str]]:
    ledger = trace.release.ledger
    # Steps that all are draws are added up in zCDP, where they cost less: the same epsilon and delta are claimed.
    stated, wanted = ({**b.arguments(), "accounting": ""} for b in (ledger.budget, budget))
    if stated != wanted:
        yield "wrong claim", f"{ledger.budget!r} is claimed, {budget!r} was asked for"
    for name, claimed in (("ledger", ledger.privacy), ("release", getattr(trace.release, "privacy", ledger.privacy))):
        if claimed != privacy:
            yield "wrong claim", f"the {name} names {claimed}, {privacy} was asked for"
    lines = [(line.noise, dict(line.parameters), line.cost) for line in ledger.lines]
    entered = [(line.noise, dict(line.parameters), line.cost) for line in trace.charges]
    if not trace.sampled and lines != entered:
        yield "wrong claim", f"the ledger has {len(lines)} lines, {len(entered)} were charged"
    if not trace.sampled and ledger.spent() != sum((line.cost for line in trace.charges), Fraction(0)):
        yield "wrong claim", f"{ledger.spent()} is said to be spent, which is not the sum of what was charged"
    if hasattr(trace.release, "summary"):
        summary = " ".join(trace.release.summary().split())
        relation = f"{privacy.neighbours} neighbours, {privacy.records_per_person} record(s) a person"
        if relation not in summary or not _states(trace.release.guarantee, budget):
            yield "wrong claim", "the summary states another relation or guarantee than was asked for"


def _states(line: str, budget: Budget) -> bool:
    """Return True if a line states the guarantee, as the shortest decimal of a float that is not below it."""
    word, amount = ("rho", budget.limit) if budget.epsilon is None else ("epsilon", budget.epsilon)
    stated = re.search(rf"{word} (\S+?)(?:,|$)", line)
    if stated is None:
        return False
    near = float(stated[1])
    return amount <= Fraction(stated[1]) and not (near > 0 and amount <= Fraction(repr(math.nextafter(near, 0))))


MEASUREMENTS: dict[str, Callable[[NDArray[np.int64]], Any]] = {
    law.name: adder(law, Fraction(2) ** law.power) for law in NOISES
}
"""Noise primitives to run the precision attack on."""

NAMES = tuple(dict.fromkeys(name.split(",")[0] for name in {**MECHANISMS, **FEWER, **LEARNERS, **SPINS}))
"""Mechanisms and learners that can be audited."""

T = TypeVar("T")


def of_names(subjects: Mapping[str, T], names: Collection[str]) -> dict[str, T]:
    """Return the subjects of the named mechanisms, or all subjects if no mechanism is named."""
    return {name: subject for name, subject in subjects.items() if not names or name.split(",")[0] in names}


def suite(tier: int, names: Collection[str] = ()) -> list[Check]:
    """Return the checks of a tier: 0 is deterministic; 1 adds statistics for CI; 2 adds them for a night instead.

    Parameters
    ----------
    tier : int
    names : collection of str, optional
        Mechanisms and learners, of `NAMES`, for their own checks alone. By default all of them, samplers and budgets.

    Raises
    ------
    ValueError
        If the tier is not 0, 1 or 2, or a name is not known.
    """
    if tier not in {0, 1, 2}:
        raise ValueError(f"tier must be 0, 1 or 2, got {tier}")
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise ValueError(f"an audit covers {', '.join(NAMES)}, got {', '.join(map(repr, unknown))}")
    checks = _of_mechanisms(names) if names else [*_foundations(), *_of_mechanisms()]
    if tier == 1:
        # An integer reveals nothing, however often it is released: a few hundred releases reach every noisy value.
        checks += _of_releases(names, runs=200_000, releases=200)
        checks += [] if names else _statistical(draws=1_000_000, others=100_000)
    elif tier == 2:
        checks += _of_releases(names, runs=2_000_000, releases=20_000)
        checks += [] if names else _statistical(draws=100_000_000, others=1_000_000)
    return checks


def _foundations() -> list[Check]:
    """Return the checks of samplers, their laws and streams, and of budgets, on which all mechanisms rest."""
    checks: list[Check] = [check_coins, check_exponential_coins, check_branches, check_selection_laws, check_parameters]
    return [*checks, check_streams, partial(check_streams, noise_words, forks=0, each=100_000), check_budgets]


def _of_mechanisms(names: Collection[str] = ()) -> list[Check]:
    """Return the checks of mechanisms and learners, of all if none is named."""
    checks: list[Check] = []
    for name, mechanism in of_names(MECHANISMS, names).items():
        checks += observed_checks(name, mechanism, Budget(rho=2))
        checks += [partial(check_conservation, name, mechanism), partial(check_seeds, name, mechanism)]
        checks += [partial(check_failures, name, SPELLED[name])]
    crossed = crossed_pairs()
    if not names or "learn_private" in names:
        # Sampling protects under add-remove with one record a person alone, and is refused elsewhere.
        checks += observed_checks(
            "sampled first stage", sampled_network, Budget(epsilon=1), neighbour_pairs(PRIVACIES[:1])
        )
        checks += observed_checks("two stages", staged_network, Budget(epsilon=2), crossed)
        checks += observed_checks("chosen structure", chosen_network, Budget(epsilon=2), crossed)
    for name, mechanism in of_names({**FEWER, **LEARNERS}, names).items():
        regressed = partial(check_regressions, radius=FIELD_RADIUS) if name == "learn_pairwise" else None
        checks += observed_checks(name, mechanism, Budget(rho=2), crossed, regressed)
        if name in LEARNERS:
            checks += observed_checks(f"{name}, pure", mechanism, Budget(epsilon=2), crossed)
        checks += [partial(check_conservation, name, mechanism, 25), partial(check_seeds, name, mechanism)]
        checks += [partial(check_failures, name, SPELLED[name])]
    for name, learner in of_names(SPINS, names).items():
        regressed = partial(check_regressions, radius=SPIN_RADIUS) if name == "learn_ising" else None
        checks += observed_checks(name, learner, Budget(rho=2), binary_pairs(), regressed)
    return checks


def crossed_pairs() -> list[Pair]:
    """Return the neighbours that change the scores of two cliques most, in opposite directions."""
    return [pair for pair in neighbour_pairs() if pair.name.startswith("crossed")]


def observed_checks(
    name: str,
    mechanism: Mechanism,
    budget: Budget,
    pairs: list[Pair] | None = None,
    regressed: Callable[[Runs], Finding] | None = None,
    *,
    without: Collection[Callable[[Runs], Finding]] = (),
) -> list[Check]:
    """Return the checks of a mechanism's runs, which happen once; `regressed` checks the scores of regressions."""
    runs = functools.cache(lambda: run_pairs(name, mechanism, budget, pairs))
    checks: list[Callable[[Runs], Finding]] = [check_calibration, check_charges, check_answers]
    checks += [check_claims, check_noninterference]
    checks += [regressed, check_selection_loss] if regressed else []
    return [partial(check_of, each, runs, name) for each in checks if each not in without]


def _statistical(*, draws: int, others: int) -> list[Check]:
    checks: list[Check] = [partial(check_chi_square, law, s, draws) for law, s in itertools.product(NOISES, SCALES)]
    # OpenDP's Laplace sampler takes long at large scales.
    checks += [partial(check_other_sampler, law, s, others) for law, s in itertools.product(NOISES, SCALES[3:9:2])]
    checks += [partial(check_precision_of_draws, name, measure, draws) for name, measure in MEASUREMENTS.items()]
    return checks


def _of_releases(names: Collection[str], *, runs: int, releases: int) -> list[Check]:
    """Return the attacks on whole releases, of all mechanisms and learners if none is named."""
    checks: list[Check] = []
    for name, mechanism in of_names({**MECHANISMS, **FEWER, **LEARNERS}, names).items():
        # The others draw from the same primitives, and take up to twenty times as long.
        times = runs if name in MECHANISMS else runs // 20
        checks += [partial(check_gaussian_audit, name, mechanism, pair, times) for pair in audit_pairs()]
        checks.append(partial(check_precision_of_releases, name, mechanism, releases))
    return checks
