"""Wide: measure all pairs of a workload at once, each at a resolution of its own, and estimate."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pypgm.domain import Clique, Domain
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.mechanisms.asked_pairs import asked_pairs
from pypgm.mechanisms.better_start import estimate_from_better_start
from pypgm.mechanisms.one_way import POWER, Independent, independent, measure_singles, total_of
from pypgm.mechanisms.resolution import GRID, GROUPS_SENSITIVITY, Resolution, resolutions, risk
from pypgm.mechanisms.run import Options, Run
from pypgm.privacy.private_table import Counts, PrivateTable
from pypgm.privacy.rational import Number
from pypgm.privacy.relation import Privacy
from pypgm.queries import Contrasts, Identity, LinearQuery
from pypgm.release import Release
from pypgm.workloads import Workload

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["wide"]

# Chosen on adult, titanic and fire, all pairs, epsilon .03 to 10; see bench/README.md.
_FIRST = 0.1  # of rho, that single attributes get before it is known how many records there are; also their least
_MOST = 0.9  # of rho, that they get at most
_HIDING = 0.5  # of the records: noise in every sum over a pair above which they get all of it
_CHOICE = 0.05  # of rho, that choosing resolutions gets at most
_SHARP = 0.01  # of the records: noise in a risk that is low enough
_BLUNT = 0.10  # of the records: noise in a risk above which nothing is chosen, and every pair is asked in groups
_ROWS = 0.25  # of N / sigma: how many groups a pair is asked in
_ABSOLUTE = 0.4  # of the standard deviation: half the mean absolute error, which total variation counts
_MAX_CELLS = 10**6  # of a pair that may be asked for all its cells
_MAX_RECORDS = 2.0**40  # above it, noise is all there is, or risks could overflow: nothing is chosen

Array = NDArray[np.float64]


def wide(
    data: Counts | PrivateTable,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    workload: Workload | None = None,
    ordered: Collection[str] | None = None,
    **options: Unpack[Options],
) -> Release:
    """Release a model of the records from all pairs of attributes, each measured as finely as it is worth.

    A part of the budget measures single attributes. For each pair one exponential mechanism then chooses what to ask:
    nothing, all cells, or sums over groups of cells, by how far the independent model is from the records and by what
    noise would hide. What is left measures all choices at once with exact discrete Gaussian noise, of each pair the
    interaction alone (`pypgm.queries.Contrasts`): single attributes are known, so it costs less. One estimate
    explains all measurements; it starts from the independent model or, where that explains held-out answers better,
    from an exact estimate of the pairs that depend most, as many as a small junction tree holds. Attributes may be
    hundreds: no junction tree has to hold all pairs.

    Parameters
    ----------
    data : Dataset or PrivateTable
        Unweighted records, possibly none; of an open table all that its ledger has left is spent.
    epsilon, delta : number
        The guarantee; a float means its shortest decimal. `delta` must be more than 0.
    workload : Workload, optional
        Of whole marginals; all pairs by default. Of larger marginals all pairs are measured, which leave less error
        than the marginals themselves would. Single attributes are measured in any case.
    ordered : collection of str, optional
        Attributes whose neighbouring codes are alike: they are grouped in runs of codes, others by frequency. By
        default those without labels and those whose labels are all numbers.
    **options
        `budget`, `neighbours`, `privacy`, `time_limit` and all others of `pypgm.mechanisms.Options`.

    Returns
    -------
    Release
        Model, measurements (attributes first, once or twice, then pairs) and ledger.

    Raises
    ------
    ValueError
        If the budget is pure or out of range, the records are weighted, the domain has no attributes, the workload is
        over another domain or asks other queries than every cell, or an attribute is unknown.
    ModelTooLargeError
        If the estimate from all pairs does not fit; then nothing was spent.
    TypeError
        If the budget or the relation is given twice or not at all.

    Notes
    -----
    How much single attributes get, between a tenth and nine tenths of rho, minimises a forecast of the error from the
    domain and the noisy number of records: few records and little budget leave the most to single attributes, and all
    of it where noise in a sum over any pair would be more than half of the records. Where noise alone explains what
    they say, the estimate starts from the uniform model. A choice costs at most a twentieth of rho, less where its
    noise is below a hundredth of the records anyway.

    A risk is an integer of which one record changes at most 3 units, see `pypgm.mechanisms.resolution.risk`.

    Examples
    --------
    >>> import pypgm
    >>> domain = pypgm.Domain({"a": 2, "b": 3, "c": 2})
    >>> data = pypgm.Dataset({"a": [0, 1] * 500, "b": [2, 0] * 500, "c": [0, 0, 1, 1] * 250}, domain)
    >>> release = wide(data, epsilon=10, delta=1e-9)
    >>> release.project(("a", "b")).values.round(-2)
    array([[  0.,   0., 500.],
           [500.,   0.,   0.]])
    """
    run = Run("wide", data, epsilon, delta, **options)
    del data  # tracebacks from here on do not hold the records
    if len(run.domain) == 0:
        raise ValueError("wide needs at least one attribute")
    runs = _ordered(run.domain, ordered)
    weights = asked_pairs(run, workload)
    run.check_fits([*((a,) for a in run.domain), *weights])
    measured, pairs_tell = _measure_singles(run, weights)
    start = independent(run, measured, alone=not pairs_tell)
    if pairs_tell:
        asked = _choose(run, weights, start, runs) if run.total != 0 else {}
        left = run.table.ledger.remaining()
        measured += _measure(run, asked, weights, left) if asked else measure_singles(run, left)
    run.close()
    model = estimate_from_better_start(run, measured, start.model(run.domain))
    return run.release(model, measured, workload=workload, ordered=ordered)


def _ordered(domain: Domain, given: Collection[str] | None) -> frozenset[str]:
    """Return the attributes whose neighbouring codes are alike."""
    if given is not None:
        return frozenset(domain.canonical(given))
    named = {a for a, labels in domain.labels.items() if any(isinstance(v, str | bool) for v in labels)}
    return frozenset(domain) - named


def _measure_singles(run: Run, pairs: Mapping[Clique, float]) -> tuple[list[LinearMeasurement], bool]:
    """Measure every attribute, and once more where noise would hide the pairs; return whether it leaves any to tell."""
    if not pairs:
        return measure_singles(run, run.rho), False
    measured = measure_singles(run, run.rho * Fraction(str(_FIRST)))
    share = _share(run, pairs, total_of(run, measured))
    if share == 1:
        return [*measured, *measure_singles(run, run.table.ledger.remaining())], False
    more = share - _FIRST
    return [*measured, *(measure_singles(run, run.rho * Fraction(more)) if more > 1e-3 else [])], True


def _share(run: Run, pairs: Mapping[Clique, float], total: float) -> float:
    """Return the part of rho for attributes, from the domain and the number of records alone; 1 if pairs tell nothing.

    With A and B for what noise adds to the error of a pair if attributes or pairs got all of rho, and noise falling as
    the root of the part w that each gets, ``A / sqrt(w) + B / sqrt(1 - w)`` is least at ``1 / (1 + (B / A)^(2/3))``.
    """
    domain, rho = run.domain, float(run.rho)
    cost = {a: domain.size((a,)) ** POWER for a in domain}
    all_costs = sum(cost.values())
    one_way = {
        a: min(1.0, _ABSOLUTE * domain.size((a,)) * run.stddev(rho * cost[a] / all_costs) / total) for a in domain
    }
    of_attributes, of_pairs = 0.0, 0.0
    for (pair, weight), part in zip(pairs.items(), _parts(pairs), strict=True):
        stddev = run.stddev(rho * part)
        rows = min(domain.size(pair), max(4.0, _ROWS * total / stddev))
        of_attributes += weight * 2 * sum(one_way[a] for a in pair)
        of_pairs += weight * _ABSOLUTE * stddev * rows / total
    share = float(np.clip(1 / (1 + (of_pairs / of_attributes) ** POWER), _FIRST, _MOST))
    least_noise = run.stddev((1 - share) * rho * max(_parts(pairs)))
    return 1.0 if least_noise > _HIDING * total else share


def _parts(pairs: Mapping[Clique, float]) -> list[float]:
    """Return what part of rho each pair gets: that minimises the weighted sum of their noise."""
    powers = [weight**POWER for weight in pairs.values()]
    whole = math.fsum(powers)
    return [power / whole for power in powers]


def _measure(
    run: Run, asked: Mapping[Clique, Resolution], pairs: Mapping[Clique, float], rho: Fraction
) -> list[LinearMeasurement]:
    """Measure what was chosen to be asked: of each pair its contrasts, for the same noise in each sum at less cost."""
    queries: list[LinearQuery | None] = []
    weights = []
    for pair, resolution in asked.items():
        contrasts, cells = resolution.contrasts(), resolution.query
        queries.append(contrasts if contrasts is not None or cells is None or cells.is_identity else cells)
        weights.append(pairs[pair] ** POWER * _cost(run.table.privacy, contrasts))
    return run.table.measure_many(list(asked), queries, rho=rho, weights=weights)


def _cost(privacy: Privacy, contrasts: Contrasts | None) -> float:
    """Return what part of the cost of all sums contrasts with the same noise have."""
    if contrasts is None:
        return 1.0
    gain = math.prod(n * n if n > 2 else 2 for n in contrasts.sizes)  # their squared singular values
    return privacy.squared_l2_sensitivity(contrasts) / gain / privacy.squared_l2_sensitivity(Identity(2))


def _choose(
    run: Run, pairs: Mapping[Clique, float], start: Independent, runs: Collection[str]
) -> dict[Clique, Resolution]:
    """Choose what is asked of each pair, privately where the budget is worth it; pairs left out are not asked."""
    privacy, total = run.table.privacy, start.total
    choosing = _for_choices(privacy, float(run.rho), len(pairs), total)
    left = float(run.table.ledger.remaining()) - choosing
    noise = {pair: run.stddev(left * part) for pair, part in zip(pairs, _parts(pairs), strict=True)}
    found: dict[Clique, list[Resolution]] = {}
    for pair in pairs:
        of_pair, in_runs = [start.shares[a] for a in pair], [a in runs for a in pair]
        found[pair] = resolutions(of_pair, in_runs, _ROWS * total / noise[pair], max_cells=_MAX_CELLS)
    if choosing > 0:
        chosen = _drawn(run, found, start, noise, Fraction(choosing))
    else:
        chosen = {pair: _blind(options) for pair, options in found.items()}
    return {pair: r for pair, r in chosen.items() if r.query is not None}


def _for_choices(privacy: Privacy, rho: float, n_pairs: int, total: float) -> float:
    """Return what choices of resolutions may cost; 0 where they would be no better than blind ones."""
    # The exponential mechanism of range R and rate epsilon = sqrt(8 rho) adds Gumbel noise of scale R / epsilon.
    scale = GROUPS_SENSITIVITY * privacy.l1_score_range / total / math.sqrt(8 / n_pairs)
    choosing = min(_CHOICE * rho, (scale / _SHARP) ** 2)
    return choosing if scale <= _BLUNT * math.sqrt(choosing) and total < _MAX_RECORDS else 0.0


def _blind(options: Sequence[Resolution]) -> Resolution:
    """Return what is asked without looking: groups of both attributes, or all cells of a small table."""
    named = {r.name: r for r in options}
    return named.get("groups") or named.get("cells") or named["nothing"]


def _drawn(
    run: Run,
    found: Mapping[Clique, Sequence[Resolution]],
    start: Independent,
    noise: Mapping[Clique, float],
    rho: Fraction,
) -> dict[Clique, Resolution]:
    """Draw a resolution of each pair by an exponential mechanism on minus its risk."""
    candidates = [(pair, resolution) for pair, options in found.items() for resolution in options]

    def score(number: int, counts: NDArray[np.int64]) -> int:
        pair, resolution = candidates[number]
        return -risk(counts, start.counts(pair), resolution.query, noise[pair])

    changes = GRID * GROUPS_SENSITIVITY * (2 if run.table.privacy.total_is_public else 1)
    selector = run.table.selector([pair for pair, _ in candidates], score, sensitivity=changes)
    numbers: dict[Clique, list[int]] = {}
    for number, (pair, _) in enumerate(candidates):
        numbers.setdefault(pair, []).append(number)
    each = rho / len(found)
    return {pair: candidates[selector.select(among, rho=each)][1] for pair, among in numbers.items()}
