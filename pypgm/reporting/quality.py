"""How far a release may be from the records, for each column and for pairs, told by the release alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pypgm.clock import Clock
from pypgm.data import Dataset
from pypgm.domain import Clique, Domain
from pypgm.factor import Factor
from pypgm.models.estimated_again import Simulation
from pypgm.models.expected_error import Basis, expectation
from pypgm.models.model import Model
from pypgm.models.stored_model import ReleasedModel
from pypgm.report import noise_warnings
from pypgm.student import upper_end

_TABLES = 4  # made-up tables from which errors are computed
_FEW = 2  # of them where an estimate is slow
_QUICK, _SLOW = 2.0, 20.0  # seconds of an estimate: above the first it is done again but twice, above the second never
_CELLS = 3 * 10**6  # of all pairs that are looked at, at most

Kind = Literal["columns", "pairs"]


@dataclass(frozen=True, slots=True)
class Far:
    """A mean distance in percentage points, and how much it varies from release to release.

    Attributes
    ----------
    points : float
        Share of the records that would have to change, in percent.
    bar : float
        Half of an interval that holds nine in ten.
    """

    points: float
    bar: float

    def __str__(self) -> str:
        if self.bar > self.points:
            return f"up to {rounded(min(self.points + self.bar, 100.0))}"
        return f"{rounded(self.points)} ± {rounded(self.bar)}"


@dataclass(frozen=True, slots=True, eq=False)
class Quality:
    """How far the answers of a release are to be expected from the records, told by the release alone.

    Attributes
    ----------
    cliques : tuple of tuple of str
        Columns, then pairs of them.
    tables : ndarray, shape (made-up tables, cliques)
        Total variation distances, 0 .. 1.
    answers : mapping of tuple of str to Factor
        The counts of each clique.
    errors : mapping of tuple of str to Factor
        The error to expect of each of them.
    basis : mapping of tuple of str to str
        What the counts of each clique rest on, see `Model.basis`.
    n_pairs : int
        How many pairs there are, of which some may have been looked at.
    warnings : tuple of str
        Where noise is about all there is.
    emptied : tuple of str
        Columns whose values all became "other": that nothing of them is off says nothing.
    """

    cliques: tuple[Clique, ...]
    tables: NDArray[np.float64]
    answers: Mapping[Clique, Factor]
    errors: Mapping[Clique, Factor]
    basis: Mapping[Clique, Basis]
    n_pairs: int
    warnings: tuple[str, ...]
    emptied: tuple[str, ...] = ()

    def of(self, kind: Kind) -> dict[Clique, float]:
        """Return the percentage points of each column or pair of which they are known, the worst first."""
        means = dict(zip(self.cliques, (100 * self.tables.mean(axis=0)).tolist(), strict=True))
        found = {c: means[c] for c in self.looked_at(kind) if not self.reason(c)}
        return dict(sorted(found.items(), key=lambda entry: -entry[1]))

    def looked_at(self, kind: Kind) -> list[Clique]:
        """Return the columns, or the pairs that were looked at."""
        return [c for c in self.cliques if len(c) == (1 if kind == "columns" else 2)]

    def unknown(self, kind: Kind) -> list[Clique]:
        """Return those of which no error is known."""
        return [c for c in self.looked_at(kind) if self.reason(c)]

    def reason(self, clique: Clique) -> str:
        """Return why no error of a clique is known; nothing where it is."""
        if self.basis[clique] == "unknown":
            return "never counted"
        return "nothing kept" if any(a in self.emptied for a in clique) else ""

    def far(self, clique: Clique) -> Far | None:
        """Return how far one column or pair is off, where that is known."""
        return None if self.reason(clique) else _far(100 * self.tables[:, self.cliques.index(clique)])

    def shown(self, clique: Clique) -> str:
        """Return how many points it is off, or why that is not known."""
        return self.reason(clique) or str(self.far(clique))

    def mean(self, kind: Kind) -> Far | None:
        """Return the mean over the columns, or the pairs that were looked at, of which it is known."""
        known = set(self.of(kind))
        own = 100 * self.tables[:, [c in known for c in self.cliques]]
        return _far(own.mean(axis=1)) if known else None

    def unknown_texts(self) -> list[str]:
        """Return the columns of which no error is known, and why, in words."""
        uncounted = [c[0] for c in self.unknown("columns") if self.basis[c] == "unknown"]
        told = [f"never counted: {', '.join(uncounted)}: even shares, nothing is known"] if uncounted else []
        return told + [f'{name}: all values "other", nothing kept' for name in self.emptied]

    def of_records(self, records: Dataset) -> Quality:
        """Return how far synthetic records may be: they are drawn from the answers, and a little off them."""
        shares = [f.values / max(float(f.values.sum()), 1e-300) for f in self.answers.values()]
        counts = (c.reshape(s.shape) for c, s in zip(records.count(self.cliques), shares, strict=True))
        drawn = [0.5 * float(np.abs(c / max(len(records), 1) - s).sum()) for c, s in zip(counts, shares, strict=True)]
        return replace(self, tables=np.minimum(np.hypot(self.tables, drawn), 1.0))

    def pairs_on(self, *bases: Basis) -> list[Clique]:
        """Return the pairs that were looked at and rest on one of some bases."""
        return [c for c in self.cliques if len(c) == 2 and self.basis[c] in bases]

    @property
    def largest_error(self) -> tuple[Clique, float] | None:
        """The column of which some count may be farthest from the truth, and that error in records, where known."""
        found = {c: float(self.errors[c].values.max()) for c in self.of("columns")}
        worst = max(found, key=lambda c: found[c], default=None)
        return None if worst is None else (worst, found[worst])


def quality_of(
    model: ReleasedModel,
    most_pairs: int = 100,
    *,
    progress: bool = False,
    records: Dataset | None = None,
    emptied: tuple[str, ...] = (),
) -> Quality | None:
    """Return how far a model's answers may be from the records; None where it does not know, or it would take long.

    Tables are made up of the model, measured with the same noise and estimated from again, as for
    `Model.expected_error`; the same every time.

    Parameters
    ----------
    model : GraphicalModel, RegionGraphModel or CountedNetwork
    most_pairs : int
        Pairs of columns that are looked at, evenly spaced among all.
    progress : bool
        Whether to show on standard error how far it is.
    records : Dataset, optional
        Synthetic records that tables are made up of; if there are fewer than the model's total, others are drawn.
    emptied : tuple of str
        Columns whose values all became "other".

    Examples
    --------
    >>> import pypgm
    >>> data = pypgm.Dataset({"a": [0, 1, 1] * 100, "b": [0, 1, 0] * 100}, pypgm.Domain({"a": 2, "b": 2}))
    >>> found = quality_of(pypgm.mechanisms.wide(data, epsilon=1, delta=1e-9, unsafe_seed=0).model)
    >>> assert found is not None
    >>> list(found.of("pairs")), 0 < found.of("columns")["a",] < 5
    ([('a', 'b')], True)
    """
    seconds = 0.0 if model.fit is None else model.fit.seconds
    if not isinstance(model, Model) or model.recipe is None or not model.domain.attributes or seconds > _SLOW:
        return None
    looked_at, n_pairs = _looked_at(model.domain, most_pairs)
    with Clock("how good it is", progress=progress) as clock:
        draws = _TABLES if seconds <= _QUICK else _FEW
        drawn = None if records is None or len(records) < round(model.total) else records
        asked = Simulation(model, looked_at, None, draws, np.random.default_rng(0), clock, drawn)
        found = expectation(asked)
    mean = found.distances.mean(axis=0).tolist()
    told = zip(looked_at, found.rest_on, found.answers, mean, strict=True)
    return Quality(
        looked_at,
        found.distances,
        dict(zip(looked_at, found.answers, strict=True)),
        dict(zip(looked_at, found.errors, strict=True)),
        dict(zip(looked_at, found.rest_on, strict=True)),
        n_pairs,
        tuple(noise_warnings([(table, m) for c, on, table, m in told if len(c) == 2 and on != "unknown"])),
        emptied,
    )


def _looked_at(domain: Domain, most_pairs: int) -> tuple[tuple[Clique, ...], int]:
    """Return all columns and some pairs of them, evenly spaced among all, and how many pairs there are."""
    names = domain.attributes
    n_pairs = math.comb(len(names), 2)
    step = max(1, -(-n_pairs // most_pairs))
    chosen: list[Clique] = [(a,) for a in names]
    left = _CELLS
    for pair in itertools.islice(itertools.combinations(names, 2), 0, None, step):
        left -= domain.size(pair)
        if left < 0:
            left += domain.size(pair)
        else:
            chosen.append(pair)
    return tuple(chosen), n_pairs


def rounded(points: float) -> str:
    """Return percentage points with two digits, none of them behind 0.01.

    Examples
    --------
    >>> rounded(12.34), rounded(2.34), rounded(0.234), rounded(0.0234)
    ('12', '2.3', '0.23', '0.02')
    """
    return f"{points:.{0 if points >= 9.95 else 1 if points >= 0.995 else 2}f}"


def _far(values: NDArray[np.float64]) -> Far:
    """Return the mean of values, and half of the interval that holds nine in ten of values like these."""
    bar = float(upper_end(values.size - 1) * values.std(ddof=1)) if values.size > 1 else math.inf
    return Far(float(values.mean()), bar)
