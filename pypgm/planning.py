"""Plans of a mechanism: a rehearsal on made-up records, before anything is spent."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from pypgm._base.clock import now
from pypgm._base.constraints import AtLeast
from pypgm._base.html import Shown
from pypgm._base.signatures import checked
from pypgm._base.terminal import escaped
from pypgm.data import Dataset, Schema
from pypgm.data.columns.derived_images import read_names
from pypgm.domain import check_domain
from pypgm.privacy.arguments import as_budget, one_relation
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy
from pypgm.report import noise_of, together
from pypgm.workloads import as_workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.domain import Clique, Domain
    from pypgm.factor import Factor
    from pypgm.privacy.ledger_report import LedgerReport
    from pypgm.privacy.rational import Number
    from pypgm.queries import Neighbours
    from pypgm.workloads import WorkloadLike

__all__ = ["Plan", "plan"]

_RECORDS = 50_000  # different made-up records at most; of more, each stands for several
_CLASSES = 8  # kinds of made-up people, which make their attributes depend on each other
# Two tables that real ones are mostly between. The weights of n values are gamma variates of shape n to a power, from
# few frequent values of each attribute to evener ones: the powers are halfway from that in the middle, of the reference
# priors 1 and 1/n, to either. What a kind of people makes of the weights are gamma variates of the second shape.
_TABLES = ((-0.75, 2.0), (-0.25, 0.5))
_ATTRIBUTES = 300  # at most, evenly spaced among all, that pairs are of
_PAIRS = 100  # pairs that the error is computed from
_CELLS = 10**6  # of a pair that the error is computed from
_MOST_RECORDS = 10**13  # selectors take estimates that sum to less than 2^44


@dataclass(frozen=True, slots=True)
class Plan(Shown):
    """Measurements that a mechanism would make, and the expected error of its answers.

    Attributes
    ----------
    mechanism : str
        Its name.
    n_records : int
        Assumed number of records.
    cliques : tuple of tuple of str
        Cliques that would be measured; a mechanism that chooses by the records chooses others of the same kind.
    numbers : tuple of int
        Number of answers of each clique.
    stddev : tuple of float
        Standard deviation of the noise in each number, in records; for a sum of counts, scaled to one count.
    error : float
        Mean total variation distance of pairs of attributes between model and records, 0 .. 1: the geometric mean of
        both rehearsals.
    low, high : float
        The same of the rehearsal that errs less, and of the other.
    seconds : float
        Wall time of one rehearsal; reading and counting the records comes on top.
    bytes : float or None
        Peak memory of the process, plus the codes of the records that are not made up: the geometric mean of the two
        rehearsals. None if the system does not report it.
    distances : mapping of tuple of str to float
        The distance of each attribute, and of the pairs that were looked at, as `error` is.
    targets : tuple of str
        Attributes to be predicted from the others.
    interactions : float or None
        The sum of signs, as a part of the records, from which on `wide` finds an interaction of three and more
        attributes by itself where pairs explain none of it; None where nothing is searched.
    """

    mechanism: str
    n_records: int
    cliques: tuple[Clique, ...]
    numbers: tuple[int, ...]
    stddev: tuple[float, ...]
    error: float
    low: float
    high: float
    seconds: float
    bytes: float | None
    distances: Mapping[Clique, float] = field(default_factory=dict)
    targets: Clique = ()
    interactions: float | None = None

    @property
    def target_error(self) -> float:
        """Mean of `distances` over the pairs of the targets that were looked at; NaN without a target."""
        of_targets = [d for c, d in self.distances.items() if len(c) == 2 and not set(c).isdisjoint(self.targets)]
        return float(np.mean(of_targets)) if of_targets else float("nan")

    def __str__(self) -> str:
        wide = max((len(escaped(", ".join(c))) for c in self.cliques), default=0)
        rows = together(zip(self.cliques, self.numbers, self.stddev, strict=True))
        lines = [
            f"{self.mechanism} on {self.n_records:,} records would measure {len(set(self.cliques)):,} marginals",
            *(f"  {escaped(', '.join(c)):<{wide}}  {n:>9,} numbers  noise {s:.3g} records" for c, n, s in rows),
            f"{self.expected()} (mean total variation)",
            "  of the model, on two tables of made-up records: of few frequent values that hardly depend on each",
            "  other, and of evener ones that depend much; records drawn add to it",
            *self._of_targets(),
            self.interactions_found(),
            f"time: {self.seconds:.1f} s beside reading the table",
        ]
        lines = list(filter(None, lines))
        return "\n".join([*lines, *([] if self.bytes is None else [f"memory: {self.bytes / 2**20:,.0f} MiB"])])

    def _of_targets(self) -> list[str]:
        if math.isnan(self.target_error):
            return []
        names = escaped(", ".join(self.targets))
        return [f"expected error of pairs with {names}: {100 * self.target_error:.2g} percentage points in the middle"]

    def interactions_found(self) -> str:
        """Return which interactions a search would find, in words; nothing for mechanisms without one."""
        if self.mechanism != "wide":
            return ""
        if self.interactions is None:
            return "interactions of three and more columns: not looked for, with this workload, budget and records"
        share = 50 + 50 * self.interactions
        return (
            "interactions of three and more columns, each cut in halves: found if the number of upper halves is odd "
            f"(or even) in {share:.0f} % of the records, by chance in 50 %; more are needed where pairs are noisy"
        )

    def expected(self) -> str:
        """Return the expected error of pairs as a range, in words."""
        low, middle, high = (f"{100 * error:.2g}" for error in (self.low, self.error, self.high))
        return f"expected error of pairs: {low} to {high} percentage points, {middle} in the middle"


@checked()
def plan(
    mechanism: str,
    domain: Domain | Schema | Dataset,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    budget: Budget | None = None,
    workload: WorkloadLike | None = None,
    targets: str | Sequence[str] = (),
    n_records: Annotated[int, AtLeast(1, below=_MOST_RECORDS)] = 10_000,
    neighbours: Neighbours | None = None,
    privacy: Privacy | None = None,
) -> Plan:
    """Return the plan of a mechanism, only from public knowledge: no record is read and nothing is spent.

    The mechanism is rehearsed on two tables of records made up over the domain, mixtures of eight kinds of people. In
    one attributes have few frequent values and hardly depend on each other, in the other values are evener and depend
    much. Its measurements and their noise are those on any such table; its error depends on the table. Between both is
    where the error of a real one is expected: `bench/README.md` compares them with the errors of `wide` on real
    tables and networks. It is the error of the model, without the error of drawing records.

    Parameters
    ----------
    mechanism : str
        Its name in `pypgm.mechanisms`.
    domain : Domain, Schema or Dataset
        Attributes and sizes; no record of a dataset is read.
    epsilon, delta : number, optional
        Budget that would be spent.
    budget : Budget, optional
        Instead of both.
    workload : Workload, int, str or list of clique, optional
        Workload, if the mechanism takes one.
    targets : str or sequence of str
        Attributes to be predicted from the others, if the mechanism takes them; none by default. `Plan.target_error`
        forecasts the error of their pairs.
    n_records : int
        Number of records, as publicly known or guessed; never counted in the table.
    neighbours, privacy
        The relation, as in `pypgm.mechanisms.Options`.

    Raises
    ------
    ValueError
        If there is no such mechanism, it takes no workload, no targets or no such budget, a target is unknown or
        repeated, or the number is not positive or is 10^13 or more.
    ModelTooLargeError
        If its estimate would not fit.

    Examples
    --------
    >>> import pypgm
    >>> domain = pypgm.Domain({"age": 10, "sex": 2, "job": 5})
    >>> found = plan("hdmm", domain, epsilon=1, delta=1e-9, n_records=5000)
    >>> found.cliques
    (('age', 'sex'), ('age', 'job'), ('sex', 'job'))
    >>> [round(s) for s in found.stddev], 0 < found.low < found.error < found.high < 0.2
    ([10, 8, 12], True)
    """
    from pypgm.mechanisms.tables import mechanism_named  # that package has this function

    schema = domain if isinstance(domain, Schema) else None
    domain = domain.domain if isinstance(domain, Schema | Dataset) else domain
    check_domain(domain)
    targets = domain.canonical(read_names(schema, targets))
    whole, relation = as_budget(epsilon, delta, budget), one_relation(neighbours, privacy)
    options: dict[str, Any] = {"targets": targets} if targets else {}
    options |= {} if workload is None else {"workload": workload}
    options |= {"privacy" if isinstance(relation, Privacy) else "neighbours": relation, "unsafe_seed": 0}
    run = mechanism_named(mechanism)
    seconds, releases, peaks = 0.0, [], []
    for power, likeness in reversed(_TABLES):  # the table of evener values first: it makes smaller trees
        data = _Crowd(_made_up(domain, min(n_records, _RECORDS), power, likeness), n_records)
        started = now()
        releases.append((data, run(data, budget=whole, **options)))
        seconds = max(seconds, now() - started)
        peaks.append(_bytes(domain, n_records))  # before answers take more
    errors, both, looked_at = [], [], _looked_at(domain)
    largest = max(map(len, looked_at), default=0)
    for data, release in reversed(releases):
        cliques = dict.fromkeys([*looked_at, *_pairs_of(domain, targets)])
        distances = {c: _distance(release.project(c), data.records.project(c)) for c in cliques}
        largest_distances = [distances[c] for c in looked_at if len(c) == largest]
        errors.append(float(np.mean(largest_distances)) if largest_distances else float("nan"))
        both.append(distances)
    measured = release.measurements  # of the table that depends more
    return Plan(
        mechanism=mechanism,
        n_records=n_records,
        cliques=tuple(m.clique for m in measured),
        numbers=tuple(m.values.size for m in measured),
        stddev=tuple(float(noise_of(m)) for m in measured),
        error=math.sqrt(math.prod(errors)),
        low=min(errors),
        high=max(errors),
        seconds=seconds,
        bytes=None if None in peaks else math.sqrt(math.prod(p or 0.0 for p in peaks)),
        distances={c: math.sqrt(d * both[1][c]) for c, d in both[0].items()},
        targets=targets,
        interactions=_least_interaction(domain, release.ledger, n_records, workload) if mechanism == "wide" else None,
    )


def _least_interaction(
    domain: Domain, ledger: LedgerReport, n_records: int, workload: WorkloadLike | None
) -> float | None:
    """Return the least sum of signs that a search of `wide` finds, as a part of the records; None for none."""
    from pypgm.mechanisms.interactions import reach_beyond_pairs

    cliques = None if workload is None else list(as_workload(domain, workload))
    privacy = ledger.privacy or Privacy()
    reach = reach_beyond_pairs(domain, float(ledger.budget.limit), privacy, n_records, cliques)
    return reach.least if reach.can_tell else None


class _Crowd:
    """A weighted sample: each record stands for n // k records, the first n % k for one more."""

    weights = None

    def __init__(self, records: Dataset, n_records: int) -> None:
        self.records, self.domain, self._n_records = records, records.domain, n_records
        self._times, more = divmod(n_records, len(records))
        self._more = Dataset({a: c[:more] for a, c in records.columns.items()}, self.domain)

    @property
    def n_records(self) -> int:
        """Number of records that these stand for."""
        return self._n_records

    def count(self, cliques: Sequence[Clique], n_threads: int = 0) -> list[NDArray[np.int64]]:
        """Return the table of each clique, as `Dataset.count` does."""
        tables = self.records.count(cliques, n_threads)
        if self._n_records == len(self.records):
            return tables
        more = self._more.count(cliques, n_threads)
        return [self._times * table + rest for table, rest in zip(tables, more, strict=True)]


def _made_up(domain: Domain, rows: int, power: float, likeness: float) -> Dataset:
    """Return records of several kinds of people, each kind with its own distributions.

    Fewer records are the first of more, so that forecasts change steadily with their number.
    """
    rng = np.random.default_rng(0)
    ends = rng.dirichlet(np.ones(_CLASSES)).cumsum()[:-1]
    kind = np.searchsorted(ends, rng.random(rows))
    columns = {}
    for i, (attribute, size) in enumerate(zip(domain.attributes, domain.shape, strict=True)):
        rng = np.random.default_rng([1, i])
        values = min(size, 10**6)
        base = rng.gamma(values**power, size=values) + 1e-12
        columns[attribute] = column = np.zeros(rows, dtype=_code_type(size))
        weights = [base * rng.gamma(likeness, size=values) + 1e-300 for _ in range(_CLASSES)]
        where = rng.random(rows)
        for k, class_weights in enumerate(weights):
            ends = class_weights.cumsum()
            column[kind == k] = np.searchsorted(ends[:-1], where[kind == k] * ends[-1], side="right")
    return Dataset(columns, domain)


def _looked_at(domain: Domain) -> list[Clique]:
    """Return the attributes and the pairs of them that the rehearsal is judged by."""
    # A column of one value, such as an open one of which no value is found, is never wrong.
    names = tuple(a for a in domain if domain.size(a) > 1) or domain.attributes
    some = names[:: -(-len(names) // _ATTRIBUTES)] if names else ()
    pairs = _some(domain, itertools.combinations(some, 2))
    return [*((a,) for a in some if domain.size((a,)) <= _CELLS), *pairs]


def _pairs_of(domain: Domain, targets: Clique) -> list[Clique]:
    """Return pairs of the targets that a rehearsal looks at."""
    names = [a for a in domain if domain.size(a) > 1]
    return _some(domain, (c for c in itertools.combinations(names, 2) if not set(c).isdisjoint(targets)))


def _some(domain: Domain, pairs: Iterable[Clique]) -> list[Clique]:
    """Return some of the pairs whose tables are small, in their order."""
    small = [c for c in pairs if domain.size(c) <= _CELLS]
    chosen = np.random.default_rng(0).permutation(len(small))[:_PAIRS]
    return [small[i] for i in sorted(chosen.tolist())]


def _distance(model: Factor, records: Factor) -> float:
    """Return the total variation distance of two tables as shares."""
    a, b = (t.datavector() / max(1.0, float(t.datavector().sum())) for t in (model, records))
    return 0.5 * float(np.abs(a - b).sum())


def _bytes(domain: Domain, n_records: int) -> float | None:
    """Return the peak memory of this process, and the memory of the codes of records that were not made up."""
    try:
        resource: Any = importlib.import_module("resource")
    except ImportError:  # Windows
        return None
    peak = float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * 1024
    more = n_records - min(n_records, _RECORDS)
    return peak + more * sum(_code_type(size).itemsize for size in domain.shape)


def _code_type(size: int) -> np.dtype[Any]:
    """Return the type of an attribute's codes in memory."""
    return np.min_scalar_type(max(size - 1, 0))
