"""What a mechanism would do with a budget: a rehearsal on made-up records, before anything is spent."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from pypgm.clock import now
from pypgm.data import Dataset, Schema
from pypgm.domain import check_domain
from pypgm.html import Shown
from pypgm.numeric import checked_integer
from pypgm.privacy.arguments import as_budget, one_relation
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy
from pypgm.report import noise_of, together
from pypgm.terminal import escaped

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.domain import Clique, Domain
    from pypgm.factor import Factor
    from pypgm.privacy.rational import Number
    from pypgm.queries import Neighbours
    from pypgm.workloads import WorkloadLike

__all__ = ["Plan", "plan"]

_RECORDS = 50_000  # made-up records at most; of more, the budget is scaled so that noise is as large beside them
_CLASSES = 8  # kinds of made-up people: what makes their attributes depend on each other
_SKEW = 0.1  # gamma shape of the weights of values: few are frequent, many are rare
_LIKENESS = 5.0  # gamma shape of what a kind makes of them; both chosen on adult, titanic, msnbc, fire (wide)
_ATTRIBUTES = 300  # at most, evenly spaced among all, that such pairs are of
_PAIRS = 100  # pairs that the error is computed from
_ABSOLUTE = 0.4  # of a standard deviation: half the mean absolute error, which total variation counts
_CELLS = 10**6  # of a pair that the error is computed from


@dataclass(frozen=True, slots=True)
class Plan(Shown):
    """What a mechanism would measure and how far its answers would be off.

    Attributes
    ----------
    mechanism : str
        Its name.
    n_records : int
        How many there are said to be.
    cliques : tuple of tuple of str
        What would be measured; a mechanism that chooses by the records chooses others of the same kind.
    numbers : tuple of int
        How many numbers of each clique.
    stddev : tuple of float
        Standard deviation of the noise in each number, in records: of a sum of counts as if it were one count.
    error : float
        Mean total variation distance of pairs of attributes between model and records, 0 .. 1, of the rehearsal.
    seconds : float
        Wall time of the rehearsal; reading and counting more records than were rehearsed comes on top.
    bytes : float or None
        Most memory the process has had, and the codes of all records; None where the system does not say.
    distances : mapping of tuple of str to float
        The same distance of each attribute, and of the pairs that were looked at.
    """

    mechanism: str
    n_records: int
    cliques: tuple[Clique, ...]
    numbers: tuple[int, ...]
    stddev: tuple[float, ...]
    error: float
    seconds: float
    bytes: float | None
    distances: Mapping[Clique, float] = field(default_factory=dict)

    def __str__(self) -> str:
        wide = max((len(escaped(", ".join(c))) for c in self.cliques), default=0)
        rows = together(zip(self.cliques, self.numbers, self.stddev, strict=True))
        lines = [
            f"{self.mechanism} on {self.n_records:,} records would measure {len(set(self.cliques)):,} marginals",
            *(f"  {escaped(', '.join(c)):<{wide}}  {n:>9,} numbers  noise {s:.3g} records" for c, n, s in rows),
            f"expected error of pairs: {100 * self.error:.2g} percentage points (mean total variation)",
            "  of the model, on made-up records of few frequent values that hardly depend on each other: of a table",
            "  with evener values or more dependence two to three times as much where tried; records add to it",
            f"time: {self.seconds:.1f} s beside reading the table",
        ]
        return "\n".join([*lines, *([] if self.bytes is None else [f"memory: {self.bytes / 2**20:,.0f} MiB"])])


def plan(
    mechanism: str,
    domain: Domain | Schema | Dataset,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    budget: Budget | None = None,
    workload: WorkloadLike | None = None,
    n_records: int = 10_000,
    neighbours: Neighbours | None = None,
    privacy: Privacy | None = None,
) -> Plan:
    """Return what a mechanism would do, from public knowledge alone: no record is read and nothing is spent.

    The mechanism is rehearsed on records made up over the domain, a mixture of eight kinds of people with skewed
    distributions. What it measures at which noise is what it would do on any table like that; how large its error is
    depends on the table: on adult, titanic, msnbc and fire the prediction is within a factor of two of it.
    Attributes of the made-up records have few frequent values, and depend on each other only as far as they depend on
    the kind of person: of tables with evener values, or more dependence, the error was two to three times as large
    where tried. It is that of the model: what drawing records adds is not in it.

    Parameters
    ----------
    mechanism : str
        Its name in `pypgm.mechanisms`.
    domain : Domain, Schema or Dataset
        Attributes and sizes; of a dataset no record is read.
    epsilon, delta : number, optional
        What would be spent.
    budget : Budget, optional
        Instead of both.
    workload : Workload, int, str or list of clique, optional
        Where the mechanism takes one.
    n_records : int
        How many records there are, as publicly known or guessed; never counted in the table.
    neighbours, privacy
        The relation, as in `pypgm.mechanisms.Options`.

    Raises
    ------
    ValueError
        If there is no such mechanism, it takes no workload or no such budget, or the number is not positive.
    ModelTooLargeError
        If its estimate would not fit.

    References
    ----------
    Noise and exponential mechanisms depend on budget and records by their product: ``k`` times the records with ``k^2``
    times less rho give the same answers in proportion.

    Examples
    --------
    >>> import pypgm
    >>> domain = pypgm.Domain({"age": 10, "sex": 2, "job": 5})
    >>> found = plan("hdmm", domain, epsilon=1, delta=1e-9, n_records=5000)
    >>> found.cliques
    (('age', 'sex'), ('age', 'job'), ('sex', 'job'))
    >>> [round(s) for s in found.stddev], 0 < found.error < 0.2
    ([11, 8, 13], True)
    """
    from pypgm.mechanisms.registry import mechanism_named  # that package has this function

    n_records = checked_integer("n_records", n_records, 1)
    domain = domain.domain if isinstance(domain, Schema | Dataset) else domain
    check_domain(domain)
    whole, relation = as_budget(epsilon, delta, budget), one_relation(neighbours, privacy)
    options: dict[str, Any] = {} if workload is None else {"workload": workload}
    rows = min(n_records, _RECORDS)
    factor = Fraction(n_records, rows)
    data = Dataset(_made_up(domain, rows), domain)
    started = now()
    options |= {"privacy" if isinstance(relation, Privacy) else "neighbours": relation, "unsafe_seed": 0}
    release = mechanism_named(mechanism)(data, budget=_scaled(whole, factor), **options)
    seconds = now() - started
    measured = release.measurements
    stddev = tuple(float(noise_of(m) * factor) for m in measured)
    distances = {c: _distance(release.project(c), data.project(c)) for c in _looked_at(domain)}
    largest = max(map(len, distances), default=0)
    error = float(np.mean([d for c, d in distances.items() if len(c) == largest])) if distances else float("nan")
    if factor > 1:  # noise in whole records may have vanished beside few of them
        shares = [_ABSOLUTE * s * m.values.size / n_records for s, m in zip(stddev, measured, strict=True)]
        error = max(error, float(np.mean([min(1.0, share) for share in shares])))
    return Plan(
        mechanism=mechanism,
        n_records=n_records,
        cliques=tuple(m.clique for m in measured),
        numbers=tuple(m.values.size for m in measured),
        stddev=stddev,
        error=error,
        seconds=seconds,
        bytes=_bytes(domain, n_records),
        distances=distances,
    )


def _scaled(budget: Budget, factor: Fraction) -> Budget:
    """Return the budget that is to fewer records what another one is to `factor` times as many."""
    if budget.unit == "rho":
        return Budget(rho=budget.limit * factor**2, reserved_delta=budget.reserved_delta)
    return Budget(epsilon=budget.limit * factor, reserved_delta=budget.reserved_delta)


def _made_up(domain: Domain, rows: int) -> dict[str, NDArray[np.int64]]:
    """Return columns of records of several kinds of people; each kind has distributions of its own."""
    rng = np.random.default_rng(0)
    kind = np.sort(rng.choice(_CLASSES, rows, p=rng.dirichlet(np.ones(_CLASSES))))
    members = np.bincount(kind, minlength=_CLASSES)
    columns = {}
    for attribute, size in zip(domain.attributes, domain.shape, strict=True):
        base = rng.gamma(_SKEW, size=min(size, 10**6)) + 1e-12
        parts = [
            rng.choice(base.size, n, p=(own := base * rng.gamma(_LIKENESS, size=base.size) + 1e-300) / own.sum())
            for n in members
        ]
        columns[attribute] = np.concatenate(parts)
    return columns


def _looked_at(domain: Domain) -> list[Clique]:
    """Return the attributes and the pairs of them that the rehearsal is judged by."""
    names = domain.attributes
    some = names[:: -(-len(names) // _ATTRIBUTES)] if names else ()
    small = [c for c in itertools.combinations(some, 2) if domain.size(c) <= _CELLS]
    chosen = np.random.default_rng(0).permutation(len(small))[:_PAIRS]
    return [*((a,) for a in some if domain.size((a,)) <= _CELLS), *(small[i] for i in sorted(chosen.tolist()))]


def _distance(model: Factor, records: Factor) -> float:
    """Return the total variation distance of two tables as shares."""
    a, b = (t.datavector() / max(1.0, float(t.datavector().sum())) for t in (model, records))
    return 0.5 * float(np.abs(a - b).sum())


def _bytes(domain: Domain, n_records: int) -> float | None:
    """Return the most memory this process has had, and what the codes of all records take."""
    try:
        resource: Any = importlib.import_module("resource")
    except ImportError:  # Windows
        return None
    peak = float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * 1024
    return peak + n_records * sum(np.min_scalar_type(max(size - 1, 0)).itemsize for size in domain.shape)
