"""Wide: measure all pairs of a workload at once, each at a resolution chosen for it, and interactions beyond them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from pypgm._base.interrupts import interrupts_held
from pypgm.data.sources.frames import Frame
from pypgm.domain import Clique, Domain
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.estimation.total import estimate_total
from pypgm.mechanisms.better_start import MAX_PAIRS, estimate_from_better_start, mark_interrupted
from pypgm.mechanisms.choices import CHOOSING, Choices, rho_of_choices
from pypgm.mechanisms.interactions import BEYOND_PAIRS, SEARCH_SHARE, Search, with_sets
from pypgm.mechanisms.one_way import POWER, denoised, independent, measure_singles, total_of
from pypgm.mechanisms.pair_allocation import PairAllocation, asked_pairs, with_targets
from pypgm.mechanisms.pair_dependence import chances, dependence, screened
from pypgm.mechanisms.rank_products import RankProducts, rho_of_products
from pypgm.mechanisms.resolution import Resolution, contrasts_cost
from pypgm.mechanisms.run import Options, Run
from pypgm.mechanisms.tables import of_tables
from pypgm.mechanisms.target_pairs import TARGETS_SHARE, measure_halves, measure_strongest
from pypgm.mechanisms.triples import SCREEN_SHARE, Triples, spared
from pypgm.privacy.private_table import Counts, PrivateTable
from pypgm.privacy.rational import Number
from pypgm.privacy.selector import SCREEN_BITS
from pypgm.release import ModelRelease
from pypgm.workloads import WorkloadLike

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from pypgm.mechanisms.one_way import Independent
    from pypgm.mechanisms.pair_allocation import Question
    from pypgm.models import GraphicalModel, RegionGraphModel

    _Model = GraphicalModel | RegionGraphModel

T = TypeVar("T")

# Chosen on made-up tables and on adult, titanic, fire and msnbc, epsilon .1 to 10; see bench/README.md.
_SINGLES_SHARE = 0.1  # of rho, for single attributes before the number of records is known; also their least
_ALL_SINGLES = 0.9  # forecast share of single attributes from which on they get all of rho
_SCREEN = 0.03  # of rho, at most, for the screen
_MOST_SCREEN_NOISE = 2.0 ** (30 - SCREEN_BITS)  # records; twice as much is the most that can be drawn, of any table
_SCREEN_NOISE = 0.005  # of the records (total variation): noise in a distance that is low enough
_BLIND = 0.05  # of the records: noise in the mean distance of all pairs above which there is no screen, nor a pick
_KNOWN = 0.15  # of the number of records: its noise below which attributes are measured by their contrasts
_MIN_REPEAT = 0.01  # of rho, below which single attributes are not measured again
_ROWS = 0.25  # of N / sigma: number of groups in which a pair is measured
_FIRST_LOOK = Fraction(1, 4)  # of the budget of pairs, for their first measurements
_ROUGH_TIME = 0.3  # of the seconds left, at most, for the estimate from those answers
_FURTHER = 1.5  # multiple of the validated iterations whose mean with these is the answer: associations shrink less
_ABSOLUTE = 0.4  # of the standard deviation: half the mean absolute error, which total variation counts
_LOSS = 0.02  # of the forecast error of all pairs: most that a search may add to it
_MIN_CHOSEN = 0.5  # of the pairs of targets: if fewer are chosen beside picked ones, all are measured in halves
_STEPS = 8  # steps of a pair's share of the budget in a factor of two
_MAX_RECORDS = 2.0**36  # a noisy total above it is all noise, and risks could overflow: there is no screen, nor a pick


@of_tables
def wide(
    data: Counts | PrivateTable | Frame,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    workload: WorkloadLike | None = None,
    targets: str | Sequence[str] = (),
    ordinal: Collection[str] | None = None,
    **options: Unpack[Options],
) -> ModelRelease:
    """Release a model of the records from all pairs of attributes, each measured at its best resolution.

    1. A part of the budget measures single attributes.
    2. A screen measures how far all pairs are from independence, with noise.
    3. A forecast from the screen chooses the pairs to measure and the further budget of single attributes.
    4. For some pairs the product of both ranks is summed: a linear dependence, which noise in cells would hide.
    5. For each chosen pair one exponential mechanism chooses the resolution, all cells or sums over groups of cells, by
       the distance of the independent model from the records and by the error that noise would hide.
    6. A quarter of the rest measures all of these at once with exact discrete Gaussian noise, the interaction of each
       pair alone (`pypgm.queries.Contrasts`): single attributes are known, so it costs less.
    7. A model of these answers suggests resolutions and shares for the rest of the budget: the pairs are measured
       again.
    8. Before that, where budget and records are enough, a search for interactions that this model does not explain: see
       `pypgm.mechanisms.interactions.Search`.
    9. Where pairs have less noise than a sample of as many records, what they can spare measures triples: see
       `pypgm.mechanisms.triples.Triples`.
    10. One estimate explains all measurements of attributes and pairs. It starts from the independent model or, where
        that explains held-out answers better, from an exact estimate of the pairs that depend most, as many as a small
        junction tree holds. Interactions and triples are fitted beside what it says.

    There may be hundreds of attributes: no junction tree has to hold all pairs.

    Parameters
    ----------
    data : Dataset, PrivateTable, or any table with `schema`
        Unweighted records, possibly none; an open table spends all that its ledger has left.
    epsilon, delta : number
        The guarantee; a float means its shortest decimal. `delta` must be more than 0.
    workload : Workload, int, str or list of clique, optional
        Workload of whole marginals. Larger marginals count as all of their pairs, which leave less error than the
        marginals themselves would where noise is not small, and interactions and triples are looked for within
        them. By default all pairs count, and interactions of up to seven attributes are searched for. Single
        attributes are measured in any case.
    targets : str or sequence of str
        Attributes to be predicted from the others; none by default. Their pairs together count as much as all other
        pairs of the workload, and get half of rho or more where single attributes would get most of it.
    ordinal : collection of str, optional
        Attributes whose neighbouring codes are alike: they are grouped in runs of codes, others by frequency. By
        default the ordinal columns of the schema of the records; without one, attributes without labels and those
        whose labels are all numbers.
    **options
        `budget`, `neighbours`, `privacy`, `time_limit` and all others of `pypgm.mechanisms.Options`.

    Returns
    -------
    Release
        Model, measurements (attributes first, once to four times, then products of ranks, then pairs, up to three
        times, then interactions and triples) and ledger.

    Raises
    ------
    ValueError
        If the budget is pure or out of range, the records are weighted, the domain has no attributes, the workload is
        over another domain or has queries other than whole marginals, or an attribute is unknown.
    ModelTooLargeError
        If the estimate from all pairs does not fit; then nothing was spent.
    TypeError
        If the budget or the relation is given twice or not at all.

    Notes
    -----
    The budget of single attributes before the screen minimises a forecast of the error from the domain and the noisy
    number of records. With few records or little budget they get all of it: if that forecast is nine tenths of rho, if
    noise in the mean distance of all pairs exceeds a twentieth of the records, or if the screen finds no pair worth its
    noise. Where there are targets, attributes get half of rho at most, and the rest measures one number of each pair of
    a target in these cases: how often halves of both attributes' values go together. Where a screen would hide which
    pairs of targets are the strongest, exponential mechanisms pick two of them, for six hundredths of rho, and 16 % of
    rho measures these finely; the rest then measures halves, too, if fewer than half of targets' pairs are chosen.
    If noise alone explains the counts of attributes, the estimate starts from the uniform model. The screen costs three
    hundredths of rho at most and choices a twentieth, both less if their noise is low enough anyway. If noise would
    hide the differences between resolutions, the forecast chooses them.

    One estimate keeps the same share of all its measurements. Pairs with less signal than noise are therefore not
    measured: an estimate that has to follow the other pairs would follow their noise as well.

    Noise in many small cells hides linear dependence, on which regressions, correlations and odds ratios rest; so does
    leaving a pair out. At most a twentieth of rho therefore measures for such pairs one sum over the records, of the
    product of both ranks. The estimate is the mean of the best fit to held-out answers and of one a little beyond it:
    its total variation is less than that of either, and associations shrink less.

    The search compares sums over the records of products of signs, +1 or -1 for each value of some attributes, with the
    model's. The parity of some columns, which no smaller set of them shows, is such a product. One exponential
    mechanism picks the set of two to seven attributes whose sum is furthest, for at most a fiftieth of rho. The sum
    itself is then measured, for at most a two-hundredth: unless it is beyond chance, noise and the error of the model,
    the search ends, and what is left of rho is spent as without it. Else the interaction is measured in groups of
    values, and the search goes on. It gets at most 15 % of rho in all, and where pairs are measured no more than raises
    their forecast error by 2 %, but for one selection and as much for the interaction it finds. Tables of counts
    without records, as of databases, are not searched.

    Triples are asked where the noise of pairs is below that of a sample of as many records, and would stay so with less
    of the budget: up to three quarters of it are divided among the triples by a forecast, from one screen of their
    distances from the model of the pairs, of the errors in triples. It counts the errors of their pairs as well.

    One record changes a distance by at most one record (two where it is replaced), and all P of them together by at
    most the root of P times that. One record changes a product of ranks, from -8 to 8, by at most 64 (128 where it is
    replaced). One record changes a risk, an integer of units of 2^-10 records, by at most 2 records; see
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
    run.further = _FURTHER
    run.unmeasured = "hidden by noise"
    if len(run.domain) == 0:
        raise ValueError("wide needs at least one attribute")
    ordinal = run.ordinal if ordinal is None else run.mapped.names(ordinal)
    ordered = _ordered(run.domain, ordinal)
    targets = run.whole.domain.canonical(targets)
    aims = run.mapped.clique(targets)
    weights = with_targets(asked_pairs(run, workload), aims)
    run.check_fits([*((a,) for a in run.domain), *weights])
    # 1. Single attributes.
    singles = measure_singles(run, run.rho * Fraction(str(_SINGLES_SHARE)) if weights else run.rho)
    # 1. to 9. Pairs, interactions, triples, and single attributes with the rest of the budget.
    within = None if workload is None else list(map(run.domain.canonical, run.checked_workload(workload)))
    of_targets = {pair: a for a in reversed(aims) for pair in weights if a in pair}
    wanted = _Wanted(weights, of_targets, ordered, within)
    answers = _measure_pairs(run, wanted, singles) if weights else _Answers()
    if weights and not answers.searched and not run.is_interrupted:
        answers = _measure_sets_alone(run, wanted, singles, answers)
    if weights and run.table.ledger.remaining() > run.rho * Fraction(_MIN_REPEAT):
        _kept(run, lambda: _measure_again(run, singles, run.table.ledger.remaining()))
    run.close()
    # 10. One estimate.
    start = independent(run, singles, alone=not answers.followed_sets and (answers.is_faint or not answers.followed))
    known = [*denoised(start, singles), *answers.followed]
    model = answers.last or estimate_from_better_start(run, known, start.model(run.domain))
    if answers.followed_sets and not run.ended(model):
        model = with_sets(run, known, answers.followed_sets, model)
    _mark_if_interrupted(run, model)
    return run.release(
        model, [*singles, *answers.pairs, *answers.sets], workload=workload, targets=targets or None, ordinal=ordinal
    )


def _ordered(domain: Domain, given: Collection[str] | None) -> frozenset[str]:
    """Return the attributes whose neighbouring codes are alike."""
    if given is not None:
        return frozenset(domain.canonical(given))
    named = {a for a, labels in domain.labels.items() if any(isinstance(v, str | bool) for v in labels)}
    return frozenset(domain) - named


def _share(run: Run, pairs: Mapping[Clique, float], total: float) -> float:
    """Return the part of rho for attributes, only from the domain and the number of records.

    With A and B the errors that noise adds to a pair if attributes or pairs got all of rho, and noise falling as the
    root of the part w that each gets, ``A / sqrt(w) + B / sqrt(1 - w)`` is least at ``1 / (1 + (B / A)^(2/3))``.
    """
    domain, rho = run.domain, float(run.rho)
    sizes, unit = np.array(domain.shape, float), run.stddev(1.0)
    cost = sizes**POWER
    one_way = np.minimum(1.0, _ABSOLUTE * sizes * unit / np.sqrt(rho * cost / cost.sum()) / total)
    weights = np.fromiter(pairs.values(), np.float64, len(pairs))
    sides = np.array([domain.indices(pair) for pair in pairs]).T
    stddevs = unit / np.sqrt(rho * weights**POWER / np.sum(weights**POWER))  # noise of least weighted sum
    rows = np.minimum(sizes[sides].prod(axis=0), np.maximum(4.0, _ROWS * total / stddevs))
    of_attributes = np.sum(weights * 2 * one_way[sides].sum(axis=0))
    of_pairs = np.sum(weights * _ABSOLUTE * stddevs * rows / total)
    return max(_SINGLES_SHARE, 1 / (1 + float((of_pairs / of_attributes) ** POWER)))


class _Answers(NamedTuple):
    """Measurements of pairs and of larger sets, those among them for the estimate, and a model if it is the last.

    Answers are faint where those for the estimate are single numbers of pairs that noise would hide.
    """

    pairs: Sequence[LinearMeasurement] = ()
    followed: Sequence[LinearMeasurement] = ()
    sets: Sequence[LinearMeasurement] = ()
    followed_sets: Sequence[LinearMeasurement] = ()
    last: _Model | None = None
    searched: bool = False
    is_faint: bool = False


class _Wanted(NamedTuple):
    """Pairs with their weights, each target's pairs, attributes with alike neighbours, marginals to be searched."""

    weights: Mapping[Clique, float]
    of_targets: Mapping[Clique, str]
    ordered: Collection[str]
    within: Sequence[Clique] | None


def _measure_pairs(run: Run, wanted: _Wanted, singles: list[LinearMeasurement]) -> _Answers:
    """Measure single attributes again, then the pairs that are worth their noise, if any; those of targets always."""
    weights, aimed, ordered, within = wanted
    total = total_of(run, singles)
    share, rho = _share(run, weights, total), _rho_of_screen(run, len(weights), total)
    reserve = TARGETS_SHARE if aimed else 0.0
    if share >= _ALL_SINGLES or rho == 0:
        _measure_again(run, singles, run.rho * Fraction(1 - reserve - _SINGLES_SHARE) if aimed else Fraction(0))
        is_known = run.total != 0 and total < _MAX_RECORDS
        strong = measure_strongest(run, aimed, independent(run, singles), ordered, math.inf) if is_known else []
        halves = _in_halves(run, wanted, singles)
        return halves._replace(pairs=[*strong, *halves.pairs], followed=[*strong, *halves.followed])
    # What single attributes leave for a search, and as much for pairs: they would take all but a few hundredths of rho.
    is_searched = Search(run, independent(run, singles), ordered, within, orders=BEYOND_PAIRS).can_tell
    reserve = max(reserve, 2 * SEARCH_SHARE if is_searched else 0.0)
    # 1. Single attributes, with the share that the number of records suggests.
    _measure_again(run, singles, run.rho * Fraction(min(share, 1 - reserve) - _SINGLES_SHARE))
    start = independent(run, singles)
    spent, ledger = run.rho - run.table.ledger.remaining(), run.table.ledger
    # 2. The screen, and the strongest pairs of targets if its noise would hide them.
    seen = run.table.privacy.l1_score_range / 2 * math.sqrt(len(weights) / (2 * rho)) / (2 * total)
    strong = measure_strongest(run, aimed, start, ordered, seen)
    chance = chances(list(weights), start)
    dependences = dependence(screened(run, list(weights), start, chance, rho), chance, start)
    # 3. The forecast, for the budget left by products of ranks.
    lines = rho_of_products(run, len(weights), total)
    allocation = PairAllocation(run, weights, start, ordered, dependences)
    questions, more = allocation.chosen(float(ledger.remaining()) - CHOOSING * float(run.rho) - lines, float(spent))
    # Where a screen hides which pairs of targets are strongest, they look alike: a budget too small for all of them
    # would go to a few.
    if strong and sum(pair in questions for pair in aimed) < _MIN_CHOSEN * len(aimed):
        questions = {}
    # 4. Products of ranks.
    ranks = RankProducts(start, ordered)
    products = ranks.measured(run, dependences, questions) if lines > 0 else []
    telling = ranks.telling(products, questions)
    if not questions:
        halves = _in_halves(run, wanted, singles)
        halved = halves._replace(pairs=[*products, *strong, *halves.pairs], is_faint=not telling)
        return halved._replace(followed=[*telling, *strong, *halves.followed])
    # 3. The forecast share of single attributes.
    _measure_again(run, singles, Fraction(max(0.0, min(more, float(ledger.remaining() - run.rho * Fraction(reserve))))))
    # 5. to 9. The chosen pairs, and what lies beyond them.
    search = Search(run, independent(run, singles), ordered, within, orders=BEYOND_PAIRS)
    spare = allocation.spared(questions, _LOSS)
    telling = [*telling, *strong]
    pairs, triples, last = _measure_asked(
        run, wanted, questions, singles, telling=telling, search=search, of_search=spare
    )
    sets, followed = [*search.measured, *triples], [*search.followed, *triples]
    return _Answers([*products, *strong, *pairs], [*telling, *pairs], sets, followed, last, searched=True)


def _in_halves(run: Run, wanted: _Wanted, singles: Sequence[LinearMeasurement]) -> _Answers:
    """Measure the pairs of targets, if any, with what a search for interactions leaves of the budget."""
    _, aimed, ordered, within = wanted
    if not aimed:
        return _Answers()
    start = independent(run, singles)
    spared = run.rho * Fraction(SEARCH_SHARE) if Search(run, start, ordered, within).can_tell else Fraction(0)
    halves = _kept(run, lambda: measure_halves(run, aimed, start, ordered, _left(run) - spared))
    return _Answers(halves, halves, is_faint=True)


def _measure_asked(
    run: Run,
    wanted: _Wanted,
    questions: Mapping[Clique, Question],
    singles: Sequence[LinearMeasurement],
    *,
    telling: Sequence[LinearMeasurement],
    search: Search,
    of_search: float,
) -> tuple[list[LinearMeasurement], list[LinearMeasurement], _Model | None]:
    """Measure the chosen pairs, and triples, with the rest of the budget, of which a search may have a part.

    Return a model as well if it is the last.
    """
    start = independent(run, singles)
    # 5. At which resolution.
    choices = Choices(run, questions, start)
    choosing = rho_of_choices(run.table.privacy, float(run.rho), len(questions), start.total)
    chosen = choices.drawn(Fraction(choosing)) if choosing > 0 else choices.forecast()
    worth = {pair: how.worth for pair, how in questions.items()}
    # 6. All at once; with all of the rest if there are too many pairs for a model.
    if len(questions) > MAX_PAIRS:
        return _kept(run, lambda: _measure(run, chosen, worth, _left(run))), [], None
    most = of_search * float(_left(run))
    pairs = _kept(run, lambda: _measure(run, chosen, worth, _left(run) * _FIRST_LOOK))
    triples: list[LinearMeasurement] = []
    known = [*run.given, *denoised(start, singles), *telling, *pairs]

    def fit(sets: Sequence[LinearMeasurement], before: _Model | None = None) -> _Model:
        return run.fit([*known, *sets], start.model(run.domain) if before is None else before, _ROUGH_TIME)

    rough = model = fit([])
    _mark_if_interrupted(run, rough)
    try:
        # 7. The resolutions that this model suggests.
        suggested = choices.suggested(rough)
        chosen |= {pair: resolution for pair, (resolution, _) in suggested.items()}
        worth |= {pair: wanted.weights[pair] * gain for pair, (_, gain) in suggested.items()}
        # 8. Interactions that it does not explain.
        if search.can_tell and not run.ended(rough):
            model = search.go(rough, pairs, [*questions, *(m.clique for m in known)], fit, most) or rough
        # 9. Triples, where pairs have less noise than a sample of so many records.
        if not run.ended(model):
            beside = [*questions, *(m.clique for m in [*known, *search.followed])]
            with interrupts_held():
                triples = _measure_triples(run, wanted, model, start, resolutions=chosen, worth=worth, beside=beside)
    except KeyboardInterrupt:
        mark_interrupted(rough)
    pairs = [*pairs, *_kept(run, lambda: _measure(run, chosen, worth, _left(run)))]
    _mark_if_interrupted(run, rough)
    return pairs, triples, rough if run.ended(rough) else None


def _kept(run: Run, measure: Callable[[], T]) -> T:
    """Return the result of a measurement, which is paid for: Ctrl-C meanwhile is noted, a second one raised."""
    kept: list[T] = []
    try:
        with interrupts_held():
            kept.append(measure())
    except KeyboardInterrupt:
        if not kept:
            raise
        run.is_interrupted = True
    return kept[0]


def _mark_if_interrupted(run: Run, model: _Model) -> None:
    """Mark a model as the last one if Ctrl-C came while something was measured."""
    if run.is_interrupted and not run.ended(model):
        mark_interrupted(model)


def _measure_triples(
    run: Run,
    wanted: _Wanted,
    model: _Model,
    start: Independent,
    *,
    resolutions: Mapping[Clique, Resolution],
    worth: Mapping[Clique, float],
    beside: Sequence[Clique],
) -> list[LinearMeasurement]:
    """Measure triples with what the pairs can spare."""
    parts = _costs(run, resolutions, worth)
    spare = spared(run, model, float(_left(run)), weights=wanted.weights, resolutions=resolutions, parts=parts)
    triples = Triples(run, start, wanted.ordered, worth, wanted.within)
    if spare is None or not triples.cliques:
        return []
    screen = _rho_of_screen(run, len(triples.cliques), start.total, SCREEN_SHARE * spare.most)
    return triples.measured(model, spare, screen, weights=wanted.weights, beside=beside) if screen > 0 else []


def _measure_sets_alone(run: Run, wanted: _Wanted, singles: Sequence[LinearMeasurement], answers: _Answers) -> _Answers:
    """Measure interactions, of pairs as well, where noise would hide each pair of the workload."""
    start = independent(run, singles)
    known = [*run.given, *denoised(start, singles), *answers.followed]
    search = Search(run, start, wanted.ordered, wanted.within)
    if search.can_tell:
        try:
            search.go(
                None, (), [m.clique for m in known], lambda sets, _: run.fit([*known, *sets], start.model(run.domain))
            )
        except KeyboardInterrupt:
            run.is_interrupted = True
    return answers._replace(sets=search.measured, followed_sets=search.followed)


def _rho_of_screen(run: Run, n_cliques: int, total: float, most: float = math.inf) -> Fraction:
    """Return the cost of a screen of many cliques, at most so much.

    It is 0, for none, if even their mean distance would be lost in noise, or if the noise could not be drawn.
    """
    change = run.table.privacy.l1_score_range / 2
    noise = min(2 * _SCREEN_NOISE * total, _MOST_SCREEN_NOISE)
    rho = min(_SCREEN * float(run.rho), most, n_cliques / 2 * (change / noise) ** 2)
    of_all = change / math.sqrt(2 * rho)
    of_each, of_mean = of_all * math.sqrt(n_cliques), of_all / (2 * total)
    can_tell = of_mean < _BLIND and of_each < 2 * _MOST_SCREEN_NOISE and total < _MAX_RECORDS and run.total != 0
    return Fraction(rho) if can_tell else Fraction(0)


def _left(run: Run) -> Fraction:
    """Return the rest of rho to 53 bits: exact sums of thousands of charges are slow to compute with."""
    return Fraction(math.nextafter(float(run.table.ledger.remaining()), 0.0))


def _measure_again(run: Run, singles: list[LinearMeasurement], rho: Fraction) -> None:
    """Measure single attributes further, unless rho is little: their contrasts where the number of records is known."""
    if rho > run.rho * Fraction(_MIN_REPEAT):
        total, variance = estimate_total(run.domain, singles) if run.total is None else (run.total, 0.0)
        singles += measure_singles(run, rho, contrasts=math.sqrt(variance) < _KNOWN * total)


def _measure(
    run: Run, resolutions: Mapping[Clique, Resolution], worth: Mapping[Clique, float], rho: Fraction
) -> list[LinearMeasurement]:
    """Measure pairs at the chosen resolutions, by contrasts, which cost less for the same noise in each sum.

    Parts of the budget come in steps of nine per cent: near the best ones errors hardly differ, and thousands of pairs
    share some tens of laws.
    """
    costs = _costs(run, resolutions, worth)
    weights = np.exp2(np.rint(_STEPS * np.log2(costs)) / _STEPS).tolist()
    return run.table.measure_many(
        list(resolutions), [r.measured_query() for r in resolutions.values()], rho=rho, weights=weights
    )


def _costs(run: Run, resolutions: Mapping[Clique, Resolution], worth: Mapping[Clique, float]) -> list[float]:
    """Return the parts of the budget of pairs that minimise their errors, up to a factor."""
    return [worth[pair] ** POWER * contrasts_cost(run.table.privacy, r.sizes) for pair, r in resolutions.items()]
