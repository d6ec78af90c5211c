"""Run of a mechanism: its table, budget, estimates and release."""

from __future__ import annotations

import contextlib
import copy
import math
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, cast, get_args

from pypgm._base.clock import Clock
from pypgm._base.numeric import check_choice
from pypgm.data import Dataset
from pypgm.domain import Clique, Domain
from pypgm.errors import ModelTooLargeError
from pypgm.estimation import Constraint, LinearMeasurement
from pypgm.estimation.constraint import as_constraints, fold, folded_measurement
from pypgm.estimation.limits import LIMIT_DEFAULTS, Limits
from pypgm.estimation.losses import L2, Loss
from pypgm.estimation.methods import check_estimate_fits
from pypgm.files.stored_model import ReleasedModel
from pypgm.graphs import JunctionTree, RegionGraph
from pypgm.graphs.junction_tree import tree_of_scopes
from pypgm.models._estimate import checked_measurements, estimated
from pypgm.models.model import Model
from pypgm.privacy.arguments import BudgetOf, gaussian_budget
from pypgm.privacy.entry import Entry, Handed, LearnerOptions
from pypgm.privacy.private_table import Counts, PrivateTable
from pypgm.privacy.rational import Number
from pypgm.queries import Identity, LinearQuery
from pypgm.queries.folded import folded
from pypgm.reconstruction.weighted_records import WeightedRecords
from pypgm.release import Release
from pypgm.workloads import Workload, WorkloadLike, all_k_way, as_workload

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from pypgm.data import Schema
    from pypgm.estimation.measurement import Unmeasured
    from pypgm.estimation.pair_screen import PairScreen
    from pypgm.estimation.steps import Pace
    from pypgm.models import GraphicalModel, RegionGraphModel

    _Model: TypeAlias = GraphicalModel | RegionGraphModel


Released = TypeVar("Released", bound="ReleasedModel")

Oracle = Literal["auto", "exact", "region_graph"]

_LEAST_SECONDS = 1e-9  # an estimate takes no limit of zero; from a nanosecond it takes one step
_TREE_BYTES = 2**25  # of the tables of a tree that "auto" takes: hundreds of passes over them take seconds


class Mapped:
    """Domain without the attributes that mappings determine, which are put back into the model.

    Parameters
    ----------
    domain : Domain
        Domain of the records.
    constraints : iterable of Constraint
        Mappings and structural zeros.

    Attributes
    ----------
    domain : Domain
        Domain of all attributes.
    constraints : tuple of Constraint
        The zeros, over the attributes that are left.

    Raises
    ------
    ValueError
        If a constraint does not fit the domain, or an attribute follows from two others, or from itself.
    TypeError
        If something is not a constraint.
    """

    def __init__(self, domain: Domain, constraints: Iterable[Constraint]) -> None:
        given = tuple(constraints)
        self.domain = domain
        self._folding, masks = fold(domain, given)
        self.constraints = given
        if self._folding.sources:
            inner = self._folding.inner
            self.constraints = tuple(Constraint(c, allowed=mask.reshape(inner.sizes(c))) for c, mask in masks)

    def __bool__(self) -> bool:
        return bool(self._folding.sources)

    def table(self, table: PrivateTable) -> PrivateTable:
        """Return the records without the attributes that follow from others, which are never counted."""
        return table.over(self._folding.inner) if self else table

    def names(self, names: Iterable[str] | None) -> tuple[str, ...] | None:
        """Return the attributes among these that are left."""
        return None if names is None else tuple(name for name in names if name not in self._folding.sources)

    def clique(self, clique: Clique) -> Clique:
        """Return the attributes that are left from which those of a clique follow: to predict these predicts those."""
        return self._folding.clique(clique) if self else clique

    def records(self, records: Dataset) -> Dataset:
        """Return public records over the attributes that do not follow from others."""
        if not self or records.domain != self.domain:
            return records
        inner = self._folding.inner
        return Dataset({name: records.columns[name] for name in inner}, inner, records.weights)

    def measurements(self, given: Sequence[LinearMeasurement]) -> Sequence[LinearMeasurement]:
        """Return measurements restated for the attributes that are left."""
        return [folded_measurement(self._folding, m) for m in given] if self else given

    def workload(self, requested: Workload) -> Workload:
        """Return a workload on the remaining attributes whose answers determine the answers to a given workload."""
        if not self or requested.domain != self.domain:
            return requested
        whole: dict[Clique, Fraction] = {}
        others: list[tuple[Clique, LinearQuery, Fraction]] = []
        for clique, query, weight in zip(requested.cliques, requested.queries, requested.weights, strict=True):
            inner = self._folding.clique(clique)
            if query is None:
                whole[inner] = whole.get(inner, Fraction(0)) + weight
            elif self._folding.sources.keys().isdisjoint(clique):
                others.append((clique, query, weight))
            else:
                others.append((inner, folded(query, self._folding.cells(clique)), weight))
        cliques, queries = [*whole, *(c for c, _, _ in others)], [*[None] * len(whole), *(q for _, q, _ in others)]
        return Workload(self._folding.inner, cliques, queries, [*whole.values(), *(w for _, _, w in others)])

    def model(self, model: Released) -> Released:
        """Return a model of the attributes that are left as one of all."""
        if not self:
            return model
        if isinstance(model, WeightedRecords):
            whole = WeightedRecords(self._whole(model.data))
            whole.fit, whole.not_private = model.fit, model.not_private
            return cast("Released", whole)
        assert isinstance(model, Model)  # of which there are no others where there are mappings
        copied = copy.copy(model)
        copied.folding, copied.domain = self._folding, self.domain
        return cast("Released", copied)

    def _whole(self, records: Dataset) -> Dataset:
        return Dataset(self._folding.records(records.columns), self.domain, records.weights)


class Options(LearnerOptions, total=False):
    """Keywords that every mechanism takes besides options of its own.

    These, `schema`, `budget`, `neighbours`, `privacy` and `unsafe_seed` of `pypgm.privacy.PrivateOptions`, and the
    limits of its estimates, `pypgm.estimation.Limits`.

    Parameters
    ----------
    measurements : sequence of LinearMeasurement, optional
        Taken before or elsewhere: the estimate rests on them too, and the release holds them first. Their cost is in
        its ledger if they come with a resumed table, see `Release.resume`.
    constraints : sequence of Constraint, optional
        Public knowledge, as in `pypgm.estimate`: cells that no record can have, which the model and its records leave
        empty, and attributes that are functions of others. Nothing of these is read or measured: the mechanism runs
        without them, and they are exact in the model and its records. Combinations that the rules of the records'
        schema forbid are added automatically.
    oracle : {"auto", "exact", "region_graph"}
        As in `pypgm.estimate`; "auto" is exact where the tables of the junction tree take at most 32 MiB.
    """

    measurements: Sequence[LinearMeasurement]
    constraints: Sequence[Constraint] | None
    oracle: Oracle


DEFAULTS: Mapping[str, object] = {**LIMIT_DEFAULTS, "measurements": (), "oracle": "auto"}
"""Defaults of `Options` other than None."""


def _of_rules(schema: Schema | None) -> tuple[Constraint, ...]:
    return () if schema is None else Constraint.of_rules(schema)


class Run(Entry):
    """The table, the budget and the options of one call of a mechanism, with Gaussian or other noise.

    Parameters
    ----------
    name : str
        The mechanism's.
    data : Dataset or PrivateTable
        Unweighted records, possibly none; or a private table, which stays open.
    epsilon, delta : number, optional
        The guarantee.
    budget_of : callable, optional
        Function of epsilon, delta and a budget, of which one form is given; by default a pure budget is refused.
    auto : str
        Oracle that ``"auto"`` stands for.
    **options
        See `Options`; an estimate takes the limits of the run.

    Attributes
    ----------
    name : str
    table : PrivateTable
    rho : Fraction
        Budget of the mechanism in rho, or in epsilon if it is pure.
    total : int or None
        Number of records, if it is public.
    clock : Clock
        Clock of `time_limit`.
    oracle : str
        See `Options`.
    given : tuple of LinearMeasurement
        Measurements taken before.
    mapped : Mapped
        The domain without attributes that follow from others.
    constraints : tuple of Constraint
        Structural zeros: of the schema's rules, and those given.
    further : float
        Multiple of the validated number of iterations that estimates go on to (default 1), see `SolverOptions`.
    unmeasured : {"not asked", "hidden by noise"}
        Reason why the mechanism leaves out pairs, see `Release`.
    screen : PairScreen, optional
        Noisy distances of pairs from independence, which the release keeps.
    is_interrupted : bool
        Whether Ctrl-C came while something was measured: answers are kept, and the next model is the last.

    Raises
    ------
    ValueError
        If the budget is out of range, or pure and that does not do, the records are weighted, or an option is out of
        range.
    TypeError
        If the budget or the relation is given twice or not at all.
    """

    unmeasured: Unmeasured = "not asked"
    screen: PairScreen | None = None
    is_interrupted = False

    def __init__(
        self,
        name: str,
        data: Counts | PrivateTable | Handed,
        epsilon: Number | None = None,
        delta: Number | None = None,
        *,
        budget_of: BudgetOf | None = None,
        measurements: Sequence[LinearMeasurement] = (),
        constraints: Sequence[Constraint] | None = None,
        oracle: Oracle = "auto",
        auto: Oracle = "auto",
        **options: Unpack[LearnerOptions],
    ) -> None:
        check_choice("oracle", oracle, get_args(Oracle))
        oracle = auto if oracle == "auto" else oracle
        how: dict[str, Any] = {"what": "a mechanism", "names": Options.__annotations__}
        how["budget_of"] = budget_of or partial(gaussian_budget, name)
        super().__init__(name, data, epsilon, delta, options, **how)
        self.oracle, self.further, self._is_full = oracle, 1.0, False
        self._options_kept: dict[str, object] = {"oracle": oracle, **self.limits.kept()}
        self.rho: Fraction = self.table.ledger.remaining()
        self.total = self.table.public_total
        self.mapped = Mapped(self.table.domain, [*_of_rules(self.table.schema), *as_constraints(constraints)])
        self.constraints = self.mapped.constraints
        taken = checked_measurements(self.table.domain, measurements)
        self.table = self.mapped.table(self.table)
        self._check_possible()
        self.given = tuple(m.checked(self.domain) for m in self.mapped.measurements(taken))
        self.clock = Clock(name, self.limits.time_limit)  # from here on: how long records take to enter tells of them

    @property
    def max_bytes(self) -> float | None:
        """Given memory limit of structures, in bytes."""
        return self.limits.max_bytes

    @property
    def domain(self) -> Domain:
        """Attributes and sizes."""
        return self.table.domain

    @property
    def ordinal(self) -> tuple[str, ...] | None:
        """Attributes whose order means something, as the schema of the records says; None where they have none."""
        return None if self.table.schema is None else self.mapped.names(self.table.schema.ordinal)

    def refuse_constraints(self, why: str, *, mappings: bool = False) -> None:
        """Raise ``ValueError`` where there are zeros, or mappings, that a release cannot keep: before any charge."""
        if self.constraints or (mappings and self.mapped):
            of_rules = self.table.schema is not None and self.table.schema.rules
            raise ValueError(f"{why}: pass no constraints{', and records of a schema without rules' * bool(of_rules)}")

    def checked_workload(self, workload: WorkloadLike | None) -> Workload:
        """Return a checked workload, all pairs of attributes by default."""
        if workload is None:
            return all_k_way(self.domain, min(2, len(self.domain)))
        given = as_workload(self.whole.domain, workload)
        if not any(given):
            raise ValueError(
                "a workload needs a marginal of at least one attribute, got none but the number of records"
            )
        reduced = self.mapped.workload(given)
        if reduced.domain != self.domain:
            raise ValueError(f"the workload is over {reduced.domain!r}, the records are over {self.domain!r}")
        return reduced

    def stddev(self, rho: Fraction | float) -> float:
        """Return the standard deviation of Gaussian noise on cells that costs rho, as forecasts scale it.

        The noise that is charged has a variance larger by up to 1/12 of a count; see `Ledger.variance_of`.
        """
        return math.sqrt(self.table.privacy.squared_l2_sensitivity(Identity(2)) / (2 * float(rho)))

    def ended(self, model: _Model) -> bool:
        """Return whether a model is the last: time or memory is used up, or the user ended it."""
        by_itself = model.fit is None or model.fit.status not in {"time", "interrupted", "callback"}
        return self.clock.is_past_limit or self._is_full or not by_itself

    def check_fits(self, cliques: Sequence[Clique]) -> None:
        """Raise `ModelTooLargeError` where an estimate from these cliques would not fit: before anything is spent."""
        self._planned([*cliques, *(m.clique for m in self.given)])

    def fits(self, cliques: Sequence[Clique]) -> bool:
        """Return whether an estimate from these cliques fits in memory."""
        try:
            self.check_fits(cliques)
        except ModelTooLargeError:
            return False
        return True

    def estimate(self, measurements: Sequence[LinearMeasurement], prior: GraphicalModel | None = None) -> _Model:
        """Return the model that best explains measurements of this run, and those it was given, near a prior one."""
        return self.fit([*self.given, *measurements], prior)

    @contextlib.contextmanager
    def last_that_fits(self) -> Iterator[None]:
        """Context of a round: if it needs too much memory, the model before it stays the last one; see `ended`.

        Measurements already paid for are kept.
        """
        try:
            yield
        except ModelTooLargeError as error:
            end = f"{self.name} ends with the model it has, which may not explain the last measurement of the release"
            self._end_full(f"{end}: {error}")

    def end_where_nothing_fits(self) -> None:
        """Warn that every marginal left is too large: the rest of the budget stays unspent, see `ended`."""
        left = float(self.table.ledger.remaining() / self.rho)
        reason = f"no further marginal fits in tree_bytes and memory beside the measured ones: {self.name} ends"
        self._end_full(f"{reason} with {left:.0%} of the budget unspent")

    def _end_full(self, reason: str) -> None:
        self._is_full = True
        warnings.warn(reason, RuntimeWarning, stacklevel=5)

    def fit(
        self,
        measurements: Sequence[LinearMeasurement],
        prior: _Model | None = None,
        part: float = 1.0,
        *,
        oracle: Literal["exact"] | None = None,
        is_start: bool = False,
        trial: Sequence[LinearMeasurement] | None = None,
        pace: Pace | None = None,
    ) -> _Model:
        """Return the model that explains only these measurements, in at most a part of the remaining seconds.

        The oracle is the run's own by default. A start for another estimate takes less time, and is a little
        off; an estimate at a known pace also takes less time. See `SolverOptions` for `trial` and `pace`.
        """
        # Where there are publicly no records the answers are noise alone.
        fitted = [] if self.total == 0 else measurements
        chosen, seconds = oracle or self._planned([m.clique for m in fitted]), self._seconds_left()
        limits = replace(self.limits, time_limit=None if seconds is None else part * seconds)
        how: dict[str, Any] = {"prior": prior, "constraints": self.constraints, "is_start": is_start}
        how |= {"trial": trial, "pace": pace, "further": self.further}
        return estimated(self.domain, fitted, self.total, chosen, limits, **how)

    def fit_loss(self, loss: Loss, cliques: Sequence[Clique], total: float, start: _Model) -> _Model:
        """Return the model of least loss over the marginals of cliques and of the given measurements, from a start."""
        oracle, seconds = self._planned([*cliques, *(m.clique for m in self.given)]), self._seconds_left()
        whole = loss + L2(self.given) if self.given else loss
        limits = replace(self.limits, time_limit=seconds)
        how: dict[str, Any] = {"stop": "optimum", "warm_start": start, "constraints": self.constraints}
        return estimated(self.domain, [], total, oracle, limits, loss=whole, **how)

    def tree(self, scopes: Iterable[Sequence[int]], room: float | None = None) -> JunctionTree:
        """Return the junction tree of cliques; `ModelTooLargeError` if it, or an estimate on it, does not fit.

        Parameters
        ----------
        scopes : iterable of sequence of int
            The cliques as ascending positions in the domain, found once for many trees.
        room : float, optional
            Memory limit in bytes, looked up once for many trees; the available memory by default.
        """
        most = self.max_bytes if room is None else room
        tree = tree_of_scopes(self.domain, scopes, most)
        # A table is measured once, or once and again.
        check_estimate_fits(tree, (), "accelerated", most, 2 * tree.given_cells)
        return tree

    def _check_possible(self) -> None:
        """Raise ``ValueError`` where constraints leave no record possible: before anything is spent.

        A small tree decides with certainty; larger ones are left to the oracle of the run.
        """
        if self.constraints:
            oracle = self._planned([], "exact" if self.oracle == "exact" else "auto")
            limits = Limits(iterations=1, max_bytes=self.max_bytes, n_threads=self.limits.n_threads)
            estimated(self.domain, [], 1, oracle, limits, constraints=self.constraints)

    def _planned(self, cliques: Sequence[Clique], oracle: Oracle | None = None) -> Literal["exact"] | RegionGraph:
        """Return the oracle of an estimate from these cliques; `ModelTooLargeError` if it does not fit."""
        wanted = self.oracle if oracle is None else oracle
        # An estimate has one table for each set of attributes, however often they are measured.
        named = dict.fromkeys([*cliques, *(c.clique for c in self.constraints)])
        scopes = list(dict.fromkeys([tuple(sorted(self.domain.indices(c))) for c in named]))
        if wanted == "exact" or not any(scopes):  # a region graph needs a region
            self.tree(scopes)
            return "exact"
        if wanted == "auto":
            with contextlib.suppress(ModelTooLargeError):
                if self.tree(scopes).cost.table_bytes <= _TREE_BYTES:
                    return "exact"
        return RegionGraph.saturated(self.domain, [self.domain.names(s) for s in scopes], max_bytes=self.max_bytes)

    def _seconds_left(self) -> float | None:
        limit = self.clock.time_limit
        return None if limit is None else max(limit - self.clock.seconds, _LEAST_SECONDS)

    def release(
        self,
        model: Released,
        measurements: Sequence[LinearMeasurement],
        log: Sequence[Mapping[str, Any]] = (),
        **settings: object,
    ) -> Release[Released]:
        """Return the release, with the common options and those of the mechanism, given by keyword."""
        options = {name: _kept(value) for name, value in settings.items() if value is not None} | self._options_kept
        known = {"options": options, "log": tuple(log), "unmeasured": self.unmeasured, "screen": self.screen}
        release: Release[Released] = self.issued(
            Release, self.mapped.model(model), (*self.given, *measurements), **known
        )
        return release


def _kept(value: object) -> object:
    """Return an option as JSON holds it."""
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Workload):
        return {"cliques": list(value.cliques), "weights": [str(w) for w in value.weights]}
    return sorted(map(str, value)) if isinstance(value, Collection) else repr(value)
