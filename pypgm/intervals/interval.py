"""Intervals for the answer of the original records, about any statistic of the synthetic ones."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from pypgm._base.constraints import AtLeast, Positive, check_attributes
from pypgm._base.html import Shown
from pypgm._base.numeric import as_generator
from pypgm._base.student import reach_of, upper_end
from pypgm.errors import EstimateInterruptedWarning
from pypgm.intervals.heavy_bins import HeavyBin, widened
from pypgm.intervals.reading import numbers_of
from pypgm.models.expected_error import Basis, basis

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm._base.clock import Clock
    from pypgm.data import Dataset
    from pypgm.intervals.made_up import MadeUpTables
    from pypgm.intervals.reading import Statistic
    from pypgm.models.model import Model

    Array = NDArray[np.float64]

Target = Literal["records", "population"]
Combine = Literal["larger", "both"]

_BASES: tuple[Basis, ...] = ("unknown", "unmeasured", "merged", "measured")  # the weakest first
_MIN_TABLES = 2  # tables of each kind on which an error is seen
_MOST_TRUTHS = 10_000  # drawn tables; scores for all of them are made at once, before any looks at the clock
_SHOWN = 6  # answers that a text shows


@dataclass(frozen=True, slots=True, eq=False)
class Interval(Shown):
    """A statistic of the synthetic records with an interval for the same statistic of the original records.

    Attributes
    ----------
    answer : ndarray, float, dict, or a series or frame of pandas
        Statistic of the records of ``release.to_frame(rng=0)``.
    low, high : same type as the answer
        Ends of the interval: infinite where an attribute was never measured, NaN where the answer is not finite.
        They are not clipped: an end may be below 0 of a count, above 1 of a rate, or, of a mean, beyond the bounds of
        the column.
    level : float
        Probability with which the interval is to hold the true answer.
    target : {"records", "population"}
        Owner of that answer: the original records, or the population that they were drawn from.
    attributes : tuple of str
        Attributes that the statistic reads, or was declared to read, in the order of the domain.
    basis : {"measured", "merged", "unmeasured", "unknown"}
        Basis of the weakest pair of them, see `GraphicalModel.basis`: merged where the answer depends on how
        values lie within bins, unknown if it is not finite.
    in_bins : bool
        Whether the answer depends on how values lie within bins.
    is_extreme : bool
        Whether the answer is the least or largest value of a column, which few of the synthetic records have.
    views : mapping of str to values of that type
        Half the length by each view of the error: "worlds", "truths", "bins" if the answer depends on how values lie
        within bins, and "sampling" for a population.
    worlds, truths : int
        Numbers of tables of each kind that the views come from.
    heavy_bins : tuple of str
        Bins with more than a third of the records that the answer falls into: the interval holds all of each.
    """

    answer: Any
    low: Any
    high: Any
    level: float
    target: Target
    attributes: tuple[str, ...]
    basis: Basis
    in_bins: bool
    is_extreme: bool
    views: dict[str, Any]
    worlds: int
    truths: int
    heavy_bins: tuple[str, ...] = ()

    @property
    def is_constant(self) -> bool:
        """Return whether the answer is the same on every table, so that the interval has no length."""
        return np.array_equal(numbers_of(self.low), numbers_of(self.high))

    @property
    def promise(self) -> str:
        """Measured reliability of intervals for statistics of this kind, at a level of 0.9.

        See the table of ``bench/bench_intervals.py`` in ``bench/README.md``.
        """
        if self.is_constant and not self.attributes:
            return "the answer is the same on every drawn table, so nothing is known of its error"
        heavy = f"more than a third of the records are in a bin that it falls into, {', '.join(self.heavy_bins)}"
        known = f"{heavy}, and the interval holds it; besides, {self._promise}" if self.heavy_bins else self._promise
        if not self.is_extreme:
            return known
        extremes = "extremes are not held: a few records decide them, and these are noise"
        return f"{extremes}; of other answers, {known}" if np.size(numbers_of(self.answer)) > 1 else extremes

    @property
    def _promise(self) -> str:
        if self.basis == "unknown" and not np.isfinite(numbers_of(self.answer)).any():
            return "the answer is no finite number on the synthetic records, so there is no interval"
        if self.basis == "unknown":
            return "nothing is known of an attribute that was never measured"
        if len(self.attributes) < 2 and self.basis == "measured":
            return (
                "counts, means and quantiles of one attribute were held about as often as the level says; nothing is "
                "promised of what a few records decide, such as extremes"
            )
        if len(self.attributes) < 2 and self.in_bins:
            return (
                "how values lie within bins was not measured, and the interval allows for that: quantiles "
                "were held more often than the level says, means about as often, sums a little less; means and sums "
                "were not where bounds are far beyond nearly all values"
            )
        if len(self.attributes) < 2:
            return (
                "values were measured in groups: where the release has an answer of each, as by mst, counts and "
                "quantiles were held about as often as the level says, means a little less; else how a group is shared "
                "is a guess"
            )
        unseen = ", but in 31 to 67 % where columns that were not asked together decide each other"
        unseen = unseen if self.basis == "unmeasured" else ""
        if len(self.attributes) > 2:
            unseen += (
                ", but in 31 to 62 % where three columns depend on each other beyond their pairs and noise is small"
            )
        return (
            f"counts, rates and means by group were held about as often as the level says, or a little less{unseen}; "
            "nothing is promised of odds ratios, coefficients of regressions and correlations: "
            "the true error may be larger than these intervals"
        )

    def __repr__(self) -> str:
        read = ", ".join(self.attributes) or "no attribute"
        what = f"{self.level:g} of the {self.target}, reads {read}, {self.basis}"
        labels = _labels(self.answer)
        ends = (numbers_of(value).ravel() for value in (self.answer, self.low, self.high))
        each = [f"{answer:.6g}, {low:.6g} to {high:.6g}" for answer, low, high in zip(*ends, strict=True)]
        texts = [f"{label}: {value}" if label else value for label, value in zip(labels, each, strict=True)]
        more = f"; and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
        return f"Interval({'; '.join(texts[:_SHOWN])}{more}; {what}: {self.promise})"


def _labels(answer: Any) -> list[str]:  # noqa: ANN401 - as a statistic gave it
    """Return the label of each number of an answer, or its place if it has none."""
    if isinstance(answer, Mapping):
        within = [(label, *place) for label, value in answer.items() for place in np.ndindex(np.shape(value))]
        return [", ".join(map(str, labels)) for labels in within]
    if hasattr(answer, "columns"):
        return [f"{row}, {column}" for row in answer.index for column in answer.columns]
    if hasattr(answer, "index") and np.ndim(answer):
        return [str(label) for label in answer.index]
    places = np.ndindex(np.shape(answer))
    return [", ".join(map(str, place)) for place in places]


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """Request for an interval, checked.

    Attributes
    ----------
    statistic : Statistic
        Statistic of the interval.
    frame : callable
        Function of records and a source of draws within bins that returns the statistic's frame.
    attributes : tuple of str
        Attributes that it reads.
    drawn : tuple of str
        Attributes that its frames are made of: all where the answer is another without the columns that it reads not.
    in_bins : bool
        Whether its answer depends on how values lie within bins.
    is_extreme : bool
        Whether the statistic is an extreme value of a column.
    heavy : sequence of HeavyBin
        Bins with much of the records, whose values move its answer.
    level, target, worlds, truths, combine, rng
        Arguments of `Release.interval`.
    """

    statistic: Statistic
    frame: Callable[[Dataset, np.random.Generator, np.random.Generator | None], Any]
    attributes: tuple[str, ...]
    drawn: tuple[str, ...]
    in_bins: bool
    is_extreme: bool
    heavy: Sequence[HeavyBin]
    level: Annotated[float, Positive(below=1)]
    target: Target
    worlds: Annotated[int, AtLeast(2)]
    truths: Annotated[int, AtLeast(2, most=_MOST_TRUTHS)]
    combine: Combine
    rng: np.random.Generator | int | None

    def __post_init__(self) -> None:
        check_attributes(self)

    def statistic_of(self, records: Dataset, what: str, scattered: np.random.Generator | None = None) -> Array:
        """Return the statistic of records, values in bins by the same draws for all, or by drawn distributions."""
        return self.statistic(self.frame(records, np.random.default_rng(0), scattered), what)


def interval_of(made_up: MadeUpTables, answer: Array, request: Request, clock: Clock) -> Interval:
    """Return the interval about the answer of the synthetic records.

    Raises
    ------
    TimeoutError
        If there is no time for two tables of each kind.
    ValueError
        If the statistic fails on a table, or gives numbers of another shape.
    """
    of_truths: list[tuple[Array, Array]] = []
    of_worlds: list[tuple[Array, Array]] = []
    try:
        _ask(made_up, request, clock, of_truths, of_worlds)
    except KeyboardInterrupt:
        if min(len(of_truths), len(of_worlds)) < _MIN_TABLES:
            raise
        ended = f"Ctrl-C ended the interval after {len(of_worlds)} made-up tables: it is of those"
        warnings.warn(ended, EstimateInterruptedWarning, stacklevel=4)
    if min(len(of_truths), len(of_worlds)) < _MIN_TABLES:
        steps = "two drawn tables and two estimates of made-up ones"
        raise TimeoutError(f"{steps} take longer than time_limit={clock.time_limit:g}")
    with np.errstate(invalid="ignore"):  # infinite values have no difference
        errors = {"worlds": [made - t for made, t in of_worlds], "truths": [t - answer for t, _ in of_truths]}
        if request.in_bins:
            errors["bins"] = [moved - t for t, moved in of_truths]
    views = {name: _half(view, request.level) for name, view in errors.items()}
    combined = np.maximum if request.combine == "larger" else np.hypot
    half = combined(views["worlds"], views["truths"])
    if request.in_bins:  # no answer says anything of bins: their error is independent of that of noise and model
        half = np.hypot(half, views["bins"])
    if request.target == "population":
        views["sampling"] = _sampling([true for _, true in of_worlds], request.level)
        half = np.hypot(half, views["sampling"])
    weakest = weakest_basis(made_up.known.model, request.attributes)
    if weakest == "unknown":
        half = np.full_like(half, np.inf)
    if weakest == "measured" and request.in_bins:
        weakest = "merged"
    is_number = np.isfinite(answer)
    if is_number.size and not is_number.any():
        weakest = "unknown"
    middle, half = np.where(is_number, (answer, half), np.nan)
    low, high, heavy = widened(request.heavy, middle - half, middle + half)
    labelled = request.statistic.labelled
    return Interval(
        answer=labelled(answer),
        low=labelled(low),
        high=labelled(high),
        level=request.level,
        target=request.target,
        attributes=request.attributes,
        basis=weakest,
        in_bins=request.in_bins,
        is_extreme=request.is_extreme,
        views={name: labelled(view) for name, view in views.items()},
        worlds=len(of_worlds),
        truths=len(of_truths),
        heavy_bins=heavy,
    )


def _ask(
    made_up: MadeUpTables,
    request: Request,
    clock: Clock,
    of_truths: list[tuple[Array, Array]],
    of_worlds: list[tuple[Array, Array]],
) -> None:
    """Compute the statistic on drawn true tables, with values moved within bins too, then on made-up ones, in time."""
    n_threads, workers = made_up.n_threads, made_up.workers
    drawn = made_up.known.truths(request.attributes, request.truths, n_threads, request.drawn, workers)
    seed = int(as_generator(request.rng).integers(2**63))  # tables have their own sources, whichever thread draws them
    scattered = np.random.default_rng([seed, 1])

    def table(number: int) -> Dataset:
        return drawn.records(number, np.random.default_rng([seed, 0, number]), request.drawn)

    with closing(workers.ahead(table, request.truths)) as tables:
        while len(of_truths) < request.truths:
            if clock.tick(partial("{}/{} drawn tables".format, len(of_truths), request.truths)):
                return
            records = next(tables)
            moved = request.statistic_of(records, "a drawn table", scattered)
            of_truths.append((request.statistic_of(records, "a drawn table") if request.in_bins else moved, moved))
    with closing(made_up.releases(request.drawn)) as worlds:
        for released, true in worlds:
            both = request.statistic_of(released, "a made-up release"), request.statistic_of(true, "a made-up table")
            of_worlds += [both]  # one by one: Ctrl-C keeps those already made


def _half(errors: Sequence[Array], level: float) -> Array:
    """Return half the length of the interval about 0 for such errors; NaN errors are ignored.

    It is infinite where more errors are infinite than an interval may miss.
    """
    values = np.asarray(errors)
    known = np.isfinite(values)
    n = known.sum(axis=0)
    squares = np.square(np.where(known, values, 0.0)).sum(axis=0) / np.maximum(n, 1)
    n = np.where(np.isinf(values).mean(axis=0) > 1 - level, 0, n)
    numbers, which = np.unique(n, return_inverse=True)
    ends = [upper_end(int(k), level) if k >= _MIN_TABLES else math.inf for k in numbers]
    with np.errstate(invalid="ignore"):
        half = np.asarray(ends)[which.reshape(n.shape)] * np.sqrt(squares)
    return np.asarray(np.where(n >= _MIN_TABLES, half, np.inf))


def _sampling(answers: Sequence[Array], level: float) -> Array:
    """Return half the length of the interval for the error of sampling from a population."""
    values = np.asarray(answers)
    known = np.isfinite(values)
    n = np.maximum(known.sum(axis=0), 2)
    off = np.where(known, values - np.where(known, values, 0.0).sum(axis=0) / n, 0.0)
    return np.asarray(reach_of(level) * np.sqrt(np.square(off).sum(axis=0) / (n - 1)))


def weakest_basis(model: Model[Any], attributes: Sequence[str]) -> Basis:
    """Return the basis of the weakest pair of attributes."""
    pairs = [(a, b) for i, a in enumerate(attributes) for b in attributes[i + 1 :]]
    bases = {basis(model, clique) for clique in [*((a,) for a in attributes), *pairs]}
    return next((weak for weak in _BASES if weak in bases), "measured")
