"""One run of a mechanism: the table it asks, what it may spend, how it estimates, and what it hands out."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, get_args

from pypgm.clock import Clock
from pypgm.domain import Clique, nearest
from pypgm.errors import BudgetError, ModelTooLargeError
from pypgm.estimation import Constraint, fit
from pypgm.estimation.constraint import as_constraints
from pypgm.estimation.losses import L2, Loss
from pypgm.estimation.methods import check_estimate_fits
from pypgm.graphs import JunctionTree, RegionGraph
from pypgm.mechanisms.mapped import Mapped, Released
from pypgm.memory import short
from pypgm.models._estimate import checked_measurements, estimate, estimated
from pypgm.numeric import checked_threads
from pypgm.privacy.arguments import as_budget, gaussian_budget, one_relation
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_table import Counts, PrivateTable
from pypgm.privacy.rational import Number
from pypgm.privacy.relation import Privacy
from pypgm.privacy.sampler import NoiseBackend
from pypgm.privacy.shown_charges import shown_ledger
from pypgm.progress import Bar
from pypgm.queries import Identity, Neighbours
from pypgm.release import Release
from pypgm.workloads import Workload, WorkloadLike, all_k_way, as_workload

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from pypgm.data import Schema
    from pypgm.data.schema import SchemaLike
    from pypgm.domain import Domain
    from pypgm.estimation import FitState, LinearMeasurement
    from pypgm.models import GraphicalModel, RegionGraphModel

    _Model: TypeAlias = GraphicalModel | RegionGraphModel

__all__ = ["DEFAULTS", "Options", "Oracle", "Run", "check_noise"]

Oracle = Literal["auto", "exact", "region_graph"]

_MOST_NOISE = 2**22  # records: standard deviation of a count that has the whole budget
_ALL = 10**6  # a part of a budget below one in so many is what dividing it left over
_LEAST_SECONDS = 1e-9  # an estimate takes no limit of zero; from a nanosecond it takes one step
_TREE_BYTES = 2**25  # of the tables of a tree that "auto" takes: hundreds of passes over them take seconds


class _How(TypedDict, total=False):
    """Options that go to every estimate of a run."""

    iterations: int | None
    tolerance: float | None
    max_bytes: float | None
    callback: Callable[[FitState], object] | None
    progress: bool


class Options(_How, total=False):
    """What every mechanism takes by keyword besides options of its own.

    Parameters
    ----------
    budget : Budget
        Instead of epsilon and delta. With an open `PrivateTable` there is neither: all that its ledger has left is
        spent.
    neighbours : {"add-remove", "replace"}, optional
        Whose presence is protected: "add-remove" (the default) keeps the number of records private. How many records a
        person may have is what the schema of the records says, else 1.
    privacy : Privacy, optional
        Instead of `neighbours`; also says how many records a person may have, and may not contradict the schema.
    schema : Schema, Domain, mapping or path, optional
        Of a table that is not encoded: `data` may then be whatever `pypgm.synthesize` takes, a frame, the path of a CSV
        or Parquet file, a DuckDB relation or an Ibis table. What the schema leaves open is found first.
    measurements : sequence of LinearMeasurement, optional
        Taken before or elsewhere: the estimate rests on them too, and the release holds them first. Their cost is in
        its ledger where they come with a resumed table, see `Release.resume`.
    constraints : sequence of Constraint, optional
        What is publicly known, as in `pypgm.estimate`: cells that no record can have, of which the model and its
        records have none, and attributes that are functions of others. Nothing of these is read or measured: the
        mechanism runs without them, and they are exact in the model and its records. What the rules of the schema of
        the records forbid comes by itself.
    oracle : {"auto", "exact", "region_graph"}
        As in `pypgm.estimate`; "auto" is exact where the tables of the junction tree take at most 32 MiB.
    iterations, tolerance, max_bytes, callback, progress, n_threads
        As in `pypgm.estimate`; None is its default. A callback sees released quantities only. Progress is one bar of
        what is charged, the share of the budget that is spent, and the estimates.
    time_limit : float, optional
        Seconds for the whole run, after which its estimate ends with the best so far. What comes before it, choosing
        what to measure and measuring it, takes the time it takes, and so does the start of an estimate.
    backend : {"pypgm", "opendp"}
        Whose samplers draw the noise of the measurements; OpenDP's need the extra ``[opendp]``.
    unsafe_seed : int, optional
        For tests and demonstrations: draw all noise from this number. The release is then the same every time and
        private for nobody, and its ledger and its model say so.
    """

    budget: Budget | None
    neighbours: Neighbours | None
    privacy: Privacy | None
    schema: SchemaLike | None
    measurements: Sequence[LinearMeasurement]
    constraints: Sequence[Constraint] | None
    oracle: Oracle
    time_limit: float | None
    n_threads: int
    backend: NoiseBackend
    unsafe_seed: int | None


DEFAULTS: Mapping[str, object] = {"measurements": (), "oracle": "auto", "progress": False} | {
    "n_threads": 0,
    "backend": "pypgm",
}
"""Of `Options`, where it is not None."""

# What a user may mean by a name that is none of the options.
_MEANT = {"seed": "unsafe_seed", "rng": "unsafe_seed", "random_state": "unsafe_seed", "noise": "backend"} | {
    "n_iters": "iterations",
    "n_iter": "iterations",
    "max_iter": "iterations",
    "verbose": "progress",
}


def _checked(oracle: Oracle, n_threads: int, how: _How) -> dict[str, Any]:
    """Return those that are given, checked before anything is spent."""
    if oracle not in get_args(Oracle):
        raise ValueError(f"oracle must be one of {get_args(Oracle)}, got {oracle!r}")
    unknown = how.keys() - _How.__annotations__.keys()
    if unknown:
        names = sorted(Options.__annotations__)
        other = _MEANT.get(min(unknown))
        near = nearest(min(unknown), names) or f"; all mechanisms take {', '.join(names)}"
        meant = near if other is None else f"; did you mean {other!r}?"
        raise TypeError(f"a mechanism got an unexpected keyword argument {min(unknown)!r}{meant}")
    given: dict[str, Any] = {name: value for name, value in how.items() if value is not None}
    options = fit.SolverOptions(**{"iterations": 1, "tolerance": 0.0, **given}, n_threads=n_threads)
    return {name: getattr(options, name) for name in given}


def _of_rules(schema: Schema | None) -> tuple[Constraint, ...]:
    return () if schema is None else Constraint.of_rules(schema)


def _check_left(ledger: Ledger) -> None:
    """Raise `BudgetError` where a table was asked before, and that took all of its budget."""
    left, budget = ledger.remaining(), ledger.budget
    if ledger.lines and left * _ALL < budget.limit:
        part = "nothing" if left == 0 else f"less than a millionth ({float(left):.3g})"
        whole = f"all of {budget!r} was spent: {part} of its {budget.unit} {float(budget.limit):.6g} is left"
        raise BudgetError(f"the ledger of this table: {whole}; a mechanism takes what is left of one")


def check_noise(name: str, privacy: Privacy, unit: str, amount: Fraction) -> None:
    """Raise ``ValueError`` where parts of a budget would need noise beyond what can be drawn: before any is spent.

    With at most `_MOST_NOISE` on a count from all of it, noise of a part of 2^-18 (of rho) is below 2^31.
    """
    if amount <= 0:
        return
    squared = Fraction(privacy.squared_l2_sensitivity(Identity(2)), 2) / amount
    if unit == "epsilon":
        squared = 2 * (Fraction(privacy.l1_sensitivity(Identity(2))) / amount) ** 2
    if squared > _MOST_NOISE**2:
        left = f"all of the budget leaves noise of {short(math.isqrt(math.ceil(squared)))} records on a single count"
        beyond = "is beyond what can be drawn (2^62): epsilon, or rho, is too small"
        raise ValueError(f"{left}, and that of the parts {name} takes {beyond}")


class Run:
    """The table, the budget and the options of one call of a mechanism, of Gaussian noise or of any.

    Parameters
    ----------
    name : str
        The mechanism's.
    data : Dataset or PrivateTable
        Unweighted records, possibly none; or a private table, which stays open.
    epsilon, delta : number, optional
        The guarantee.
    pure : bool
        Whether the mechanism takes a budget without delta too.
    **options
        See `Options`.

    Attributes
    ----------
    name : str
    table : PrivateTable
    rho : Fraction
        What may be spent; epsilon where the budget is pure.
    total : int or None
        Number of records where it is public.
    clock : Clock
        Of `time_limit`.
    oracle : str
        As in `Options`.
    given : tuple of LinearMeasurement
        Those taken before.
    mapped : Mapped
        The attributes that follow from others, which the run goes on without.
    constraints : tuple of Constraint
        Structural zeros: of the schema's rules, and those given.

    Raises
    ------
    ValueError
        If the budget is out of range, or pure and that does not do, the records are weighted, or an option is out of
        range.
    TypeError
        If the budget or the relation is given twice or not at all.
    """

    def __init__(
        self,
        name: str,
        data: Counts | PrivateTable,
        epsilon: Number | None = None,
        delta: Number | None = None,
        *,
        pure: bool = False,
        budget: Budget | None = None,
        neighbours: Neighbours | None = None,
        privacy: Privacy | None = None,
        schema: object = None,
        measurements: Sequence[LinearMeasurement] = (),
        constraints: Sequence[Constraint] | None = None,
        oracle: Oracle = "auto",
        backend: NoiseBackend = "pypgm",
        unsafe_seed: int | None = None,
        time_limit: float | None = None,
        n_threads: int = 0,
        **how: Unpack[_How],
    ) -> None:
        if schema is not None:
            raise TypeError("an open table has its schema already")
        n_threads = checked_threads(n_threads)
        self.name = name
        self.clock = Clock(name, time_limit)
        self._is_full = False
        self.oracle, self._n_threads, self._how = oracle, n_threads, _checked(oracle, n_threads, how)
        self._is_own = not isinstance(data, PrivateTable)
        self._bar = Bar(name, shares=self._is_own) if self._how.get("progress") else None
        self._how |= {} if self._bar is None else {"progress": self._bar}
        checked = as_budget if pure else partial(gaussian_budget, name)
        if isinstance(data, PrivateTable):
            asked = (epsilon, delta, budget, neighbours, privacy, unsafe_seed)
            if any(a is not None for a in asked) or not (isinstance(backend, str) and backend == "pypgm"):
                raise TypeError("an open table has its budget, relation, backend and seed already")
            checked(None, None, data.ledger.budget)
            self.table = data
        else:
            ledger = shown_ledger(checked(epsilon, delta, budget), self._bar)
            relation = one_relation(neighbours, privacy)
            self.table = PrivateTable(
                data, relation, ledger, n_threads=n_threads, backend=backend, unsafe_seed=unsafe_seed
            )
        self.rho: Fraction = self.table.ledger.remaining()
        if not self._is_own:
            _check_left(self.table.ledger)
        check_noise(name, self.table.privacy, self.table.ledger.budget.unit, self.rho)
        self.total = self.table.public_total
        self.mapped = Mapped(self.table.domain, [*_of_rules(self.table.schema), *as_constraints(constraints)])
        self.constraints = self.mapped.constraints
        taken = checked_measurements(self.table.domain, measurements)
        self._whole, self.table = self.table, self.mapped.table(self.table)
        self._check_possible()
        self.given = tuple(m.checked(self.domain) for m in self.mapped.measurements(taken))
        common = {"oracle": oracle, "backend": backend, "time_limit": self.clock.time_limit, **self._how}
        self._options_kept: dict[str, object] = {
            n: _kept(v) for n, v in common.items() if n not in {"callback", "progress"} and v is not None
        }

    @property
    def max_bytes(self) -> float | None:
        """What structures may take, as given."""
        return self._how.get("max_bytes")

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

    def asked(self, workload: WorkloadLike | None) -> Workload:
        """Return a workload, checked; all pairs of attributes where there is none."""
        if workload is None:
            return all_k_way(self.domain, min(2, len(self.domain)))
        found = self.mapped.workload(as_workload(self._whole.domain, workload))
        if found.domain != self.domain:
            raise ValueError(f"the workload is over {found.domain!r}, the records are over {self.domain!r}")
        return found

    def stddev(self, rho: Fraction | float) -> float:
        """Return the standard deviation of Gaussian noise on cells that costs rho."""
        return math.sqrt(self.table.privacy.squared_l2_sensitivity(Identity(2)) / (2 * float(rho)))

    def ended(self, model: _Model) -> bool:
        """Return whether no estimate may follow that of a model: time or memory is over, or a user ended it."""
        by_itself = model.fit is None or model.fit.status not in {"time", "interrupted", "callback"}
        return self.clock.is_past_limit or self._is_full or not by_itself

    def check_fits(self, cliques: Sequence[Clique]) -> None:
        """Raise `ModelTooLargeError` where an estimate from these cliques would not fit: before anything is spent."""
        self._planned([*cliques, *(m.clique for m in self.given)])

    def estimate(self, measurements: Sequence[LinearMeasurement], prior: GraphicalModel | None = None) -> _Model:
        """Return the model that explains measurements of this run, and those it was given, best; near a prior one."""
        return self.fit([*self.given, *measurements], prior)

    @contextlib.contextmanager
    def last_that_fits(self) -> Iterator[None]:
        """Within it is a round: where it takes more memory than it may, the model stays that of before; see `ended`.

        What was paid for is in the measurements.
        """
        try:
            yield
        except ModelTooLargeError as error:
            end = f"{self.name} ends with the model it has, which may not explain the last measurement of the release"
            self._end_full(f"{end}: {error}")

    def end_where_nothing_fits(self) -> None:
        """Say that no marginal may be asked for its size: what is not spent stays unspent, see `ended`."""
        left = float(self.table.ledger.remaining() / self.rho)
        reason = f"no marginal left to ask fits, with what was measured, in tree_bytes and memory: {self.name} ends"
        self._end_full(f"{reason} with {left:.0%} of the budget unspent")

    def _end_full(self, reason: str) -> None:
        self._is_full = True
        warnings.warn(reason, RuntimeWarning, stacklevel=5)

    def fit(
        self,
        measurements: Sequence[LinearMeasurement],
        prior: GraphicalModel | None = None,
        part: float = 1.0,
        *,
        oracle: Literal["exact"] | None = None,
        is_start: bool = False,
    ) -> _Model:
        """Return the model that explains these measurements alone, in at most a part of the seconds that are left.

        The oracle is the run's own by default. A start for another estimate takes less time, and is a little off.
        """
        # Where there are publicly no records the answers are noise alone.
        fitted = [] if self.total == 0 else measurements
        chosen, seconds = oracle or self._planned([m.clique for m in fitted]), self._seconds_left()
        how = self._how | {"time_limit": None if seconds is None else part * seconds, "prior": prior}
        how |= {"constraints": self.constraints}
        how |= {"n_threads": self._n_threads, "is_start": is_start}
        return estimated(self.domain, fitted, self.total, chosen, **how)

    def fit_loss(self, loss: Loss, cliques: Sequence[Clique], total: float, start: _Model) -> _Model:
        """Return the model of the least loss over the marginals of cliques and what the run was given, from a start."""
        oracle, seconds = self._planned([*cliques, *(m.clique for m in self.given)]), self._seconds_left()
        whole = loss + L2(self.given) if self.given else loss
        how = self._how | {"time_limit": seconds, "stop": "optimum", "warm_start": start}
        how |= {"constraints": self.constraints}
        return estimate(self.domain, [], total, loss=whole, oracle=oracle, n_threads=self._n_threads, **how)

    def tree(self, cliques: Sequence[Clique]) -> JunctionTree:
        """Return the junction tree of cliques; `ModelTooLargeError` if it, or an estimate on it, does not fit."""
        tree = JunctionTree(self.domain, cliques, max_bytes=self.max_bytes)
        answers = 2 * sum(map(self.domain.size, cliques))  # a table is measured once, or once and again
        check_estimate_fits(tree, (), "accelerated", self.max_bytes, answers)
        return tree

    def _check_possible(self) -> None:
        """Raise ``ValueError`` where constraints leave no record possible: before anything is spent.

        A small tree tells for certain; larger ones are left to the oracle of the run.
        """
        if self.constraints:
            oracle = self._planned([], "exact" if self.oracle == "exact" else "auto")
            how: dict[str, Any] = {"constraints": self.constraints, "iterations": 1, "max_bytes": self.max_bytes}
            estimate(self.domain, [], 1, oracle=oracle, n_threads=self._n_threads, **how)

    def _planned(self, cliques: Sequence[Clique], oracle: Oracle | None = None) -> Literal["exact"] | RegionGraph:
        """Return the oracle of an estimate from these cliques; `ModelTooLargeError` if it does not fit."""
        asked = self.oracle if oracle is None else oracle
        # An estimate has one table for each set of attributes, however often they are measured.
        cliques = list(dict.fromkeys(map(self.domain.canonical, [*cliques, *(c.clique for c in self.constraints)])))
        if asked == "exact" or not any(cliques):  # a region graph needs a region
            self.tree(cliques)
            return "exact"
        if asked == "auto":
            with contextlib.suppress(ModelTooLargeError):
                if self.tree(cliques).cost.table_bytes <= _TREE_BYTES:
                    return "exact"
        return RegionGraph.saturated(self.domain, cliques, max_bytes=self.max_bytes)

    def _seconds_left(self) -> float | None:
        limit = self.clock.time_limit
        return None if limit is None else max(limit - self.clock.seconds, _LEAST_SECONDS)

    def close(self) -> None:
        """Let go of the records: what follows needs released numbers alone. A table that came open stays so."""
        if self._is_own:
            self._whole.close()

    def release(
        self,
        model: Released,
        measurements: Sequence[LinearMeasurement],
        log: Sequence[Mapping[str, Any]] = (),
        **own: object,
    ) -> Release[Released]:
        """Return what the mechanism hands out, with the common options and its own, given by keyword."""
        if self._bar is not None:
            self._bar.close()
        options = {name: _kept(value) for name, value in own.items() if value is not None} | self._options_kept
        known: dict[str, Any] = {"log": tuple(log), "schema": self.table.schema}
        return Release(
            self.mapped.model(model), (*self.given, *measurements), self.table.ledger, self.name, options, **known
        )


def _kept(value: object) -> object:
    """Return an option as JSON holds it."""
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Workload):
        return {"cliques": list(value.cliques), "weights": [str(w) for w in value.weights]}
    return sorted(map(str, value)) if isinstance(value, Collection) else repr(value)
