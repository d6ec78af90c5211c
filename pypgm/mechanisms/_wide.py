"""Wide: measure all pairs of a workload at once, each at a resolution of its own, and estimate."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pypgm.data.frames import Frame
from pypgm.domain import Clique, Domain
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.mechanisms.asked_pairs import asked_pairs
from pypgm.mechanisms.better_start import MAX_PAIRS, estimate_from_better_start, mark_interrupted
from pypgm.mechanisms.choices import ROWS, Choices, rho_of_choices
from pypgm.mechanisms.one_way import POWER, Independent, independent, measure_singles, total_of
from pypgm.mechanisms.run import Options, Run
from pypgm.mechanisms.tables import of_tables
from pypgm.privacy.private_table import Counts, PrivateTable
from pypgm.privacy.rational import Number
from pypgm.privacy.relation import Privacy
from pypgm.queries import Contrasts, Identity, LinearQuery
from pypgm.release import ModelRelease
from pypgm.workloads import WorkloadLike

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from pypgm.mechanisms.resolution import Resolution
    from pypgm.models import GraphicalModel, RegionGraphModel

__all__ = ["wide"]

# Chosen on adult, titanic and fire, all pairs, epsilon .03 to 10; see bench/README.md.
_FIRST = 0.1  # of rho, that single attributes get before it is known how many records there are; also their least
_MOST = 0.9  # of rho, that they get at most
_HIDING = 0.5  # of the records: noise in every sum over a pair above which they get all of it
_LOOK = Fraction(1, 4)  # of what pairs get, that they are first asked with
_ROUGH = 0.3  # of the seconds left, that the estimate from those answers gets at most
_ABSOLUTE = 0.4  # of the standard deviation: half the mean absolute error, which total variation counts

Array = NDArray[np.float64]


@of_tables
def wide(
    data: Counts | PrivateTable | Frame,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    workload: WorkloadLike | None = None,
    ordinal: Collection[str] | None = None,
    **options: Unpack[Options],
) -> ModelRelease:
    """Release a model of the records from all pairs of attributes, each measured as finely as it is worth.

    A part of the budget measures single attributes. For each pair one exponential mechanism then chooses what to ask:
    nothing, all cells, or sums over groups of cells, by how far the independent model is from the records and by what
    noise would hide. All choices are measured at once with exact discrete Gaussian noise, of each pair the
    interaction alone (`pypgm.queries.Contrasts`): single attributes are known, so it costs less. A quarter of what is
    left does so; a model of these answers tells what to ask with the rest, and how much of it each pair is worth. One
    estimate explains all measurements; it starts from the independent model or, where that explains held-out answers
    better, from an exact estimate of the pairs that depend most, as many as a small junction tree holds. Attributes may
    be hundreds: no junction tree has to hold all pairs.

    Parameters
    ----------
    data : Dataset, PrivateTable, or any table with `schema`
        Unweighted records, possibly none; of an open table all that its ledger has left is spent.
    epsilon, delta : number
        The guarantee; a float means its shortest decimal. `delta` must be more than 0.
    workload : Workload, int, str or list of clique, optional
        Of whole marginals; all pairs by default. Of larger marginals all pairs are measured, which leave less error
        than the marginals themselves would. Single attributes are measured in any case.
    ordinal : collection of str, optional
        Attributes whose neighbouring codes are alike: they are grouped in runs of codes, others by frequency. By
        default the ordinal columns of the schema of the records; without one, attributes without labels and those
        whose labels are all numbers.
    **options
        `budget`, `neighbours`, `privacy`, `time_limit` and all others of `pypgm.mechanisms.Options`.

    Returns
    -------
    Release
        Model, measurements (attributes first, once or twice, then pairs, also once or twice) and ledger.

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
    noise is below a hundredth of the records anyway. Where noise would hide what there is to choose, every pair is
    asked once, in groups.

    One record changes a risk, an integer of units of 2^-10 records, by at most 2 records; see
    `pypgm.mechanisms.resolution.risk`.

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
    ordinal = run.ordinal if ordinal is None else run.mapped.names(ordinal)
    runs = _ordered(run.domain, ordinal)
    weights = asked_pairs(run, workload)
    run.check_fits([*((a,) for a in run.domain), *weights])
    measured, pairs_tell = _measure_singles(run, weights)
    last = None
    start = independent(run, measured, alone=not pairs_tell)
    if pairs_tell:
        of_pairs, last = _measure_pairs(run, weights, start, runs, measured)
        measured += of_pairs or measure_singles(run, run.table.ledger.remaining())
    run.close()
    model = last or estimate_from_better_start(run, measured, start.model(run.domain))
    return run.release(model, measured, workload=workload, ordinal=ordinal)


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
    parts = _parts(pairs)
    for pair, weight in pairs.items():
        stddev = run.stddev(rho * parts[pair])
        rows = min(domain.size(pair), max(4.0, ROWS * total / stddev))
        of_attributes += weight * 2 * sum(one_way[a] for a in pair)
        of_pairs += weight * _ABSOLUTE * stddev * rows / total
    share = float(np.clip(1 / (1 + (of_pairs / of_attributes) ** POWER), _FIRST, _MOST))
    least_noise = run.stddev((1 - share) * rho * max(parts.values()))
    return 1.0 if least_noise > _HIDING * total else share


def _parts(pairs: Mapping[Clique, float]) -> dict[Clique, float]:
    """Return what part of rho each pair gets: that minimises the weighted sum of their noise."""
    powers = {pair: weight**POWER for pair, weight in pairs.items()}
    whole = math.fsum(powers.values())
    return {pair: power / whole for pair, power in powers.items()}


def _measure_pairs(
    run: Run,
    pairs: Mapping[Clique, float],
    start: Independent,
    runs: Collection[str],
    known: Sequence[LinearMeasurement],
) -> tuple[list[LinearMeasurement], GraphicalModel | RegionGraphModel | None]:
    """Measure pairs as drawn, and again as a model of these answers suggests; return also that, if it is the last."""
    ledger = run.table.ledger
    if run.total == 0:
        return [], None
    choosing = rho_of_choices(run.table.privacy, float(run.rho), len(pairs), start.total)
    choices = Choices(run, _parts(pairs), start, runs, float(ledger.remaining()) - choosing)
    if choosing == 0:
        return _measure(run, choices.blind(), pairs, ledger.remaining()), None
    drawn = choices.drawn(Fraction(choosing))
    if not drawn or len(pairs) > MAX_PAIRS:
        return _measure(run, drawn, pairs, ledger.remaining()), None
    measured = _measure(run, drawn, pairs, ledger.remaining() * _LOOK)
    rough = run.fit([*run.given, *known, *measured], start.model(run.domain), _ROUGH)
    suggested: Mapping[Clique, tuple[Resolution, float]] = {}
    try:
        suggested = choices.suggested(rough)
    except KeyboardInterrupt:
        mark_interrupted(rough)
    worth = {pair: pairs[pair] * gain for pair, (_, gain) in suggested.items()}
    asked = {pair: resolution for pair, (resolution, _) in suggested.items()}
    measured += _measure(run, asked or drawn, worth or pairs, ledger.remaining())
    return measured, rough if run.ended(rough) else None


def _measure(
    run: Run, asked: Mapping[Clique, Resolution], pairs: Mapping[Clique, float], rho: Fraction
) -> list[LinearMeasurement]:
    """Measure what was chosen to be asked: of each pair its contrasts, for the same noise in each sum at less cost."""
    if not asked:
        return []
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
    gain = contrasts.squared_singular_value
    return privacy.squared_l2_sensitivity(contrasts) / gain / privacy.squared_l2_sensitivity(Identity(2))
