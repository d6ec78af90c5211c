"""Expected errors of a release, for each column and for pairs, computed only from the release."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from pypgm._base.clock import Clock
from pypgm._base.student import REACH
from pypgm._base.terminal import escaped
from pypgm.domain import Clique, Domain
from pypgm.estimation.pair_screen import dependence_of
from pypgm.factor import Factor
from pypgm.files.stored_model import ReleasedModel
from pypgm.intervals.counts import errors_by_truths
from pypgm.models.estimated_again import Simulation
from pypgm.models.expected_error import Basis, expectation, rows_made_up, usual_draws
from pypgm.models.model import Model
from pypgm.models.record_blocks import Block
from pypgm.report import uncounted_text
from pypgm.reporting.words import first_of

if TYPE_CHECKING:
    from pypgm.intervals.known import ReleaseErrors

SEED = 0
"""Seed of the records from which tables are made up."""

_NAMED = 2  # pairs in a warning, at most
_TRUTHS = 20  # drawn true tables of a column
_SLOW = 20.0  # seconds of an estimate that is not repeated
_PAIRS = 1000  # that are looked at, evenly spaced among all; all pairs of 45 columns
_CELLS = 3 * 10**6  # of all pairs together, at most
_CLEAR = 2  # errors that a clearly related pair is from independence, at least

Kind = Literal["columns", "pairs"]


@dataclass(frozen=True, eq=False)
class Quality:
    """Expected errors of the answers of a release, computed only from the release.

    Attributes
    ----------
    cliques : tuple of tuple of str
        Columns, then pairs of them.
    tables : ndarray, shape (made-up tables, cliques)
        Total variation distances, 0 .. 1.
    answers : mapping of tuple of str to Factor
        Counts of each clique.
    of_worlds : mapping of tuple of str to Factor
        Expected error of each count, by the made-up tables.
    basis : mapping of tuple of str to str
        Basis of the counts of each clique, see `Model.basis`.
    n_pairs : int
        Number of all pairs, of which only some may have been looked at.
    warnings : tuple of str
        Warnings about answers that are mostly noise.
    emptied : tuple of str
        Columns whose values all became "other", so that an error of 0 means nothing.
    known : ReleaseErrors, optional
        Errors of the release.
    """

    cliques: tuple[Clique, ...]
    tables: NDArray[np.float64]
    answers: Mapping[Clique, Factor]
    of_worlds: Mapping[Clique, Factor]
    basis: Mapping[Clique, Basis]
    n_pairs: int
    warnings: tuple[str, ...]
    emptied: tuple[str, ...] = ()
    known: ReleaseErrors | None = None

    @cached_property
    def errors(self) -> Mapping[Clique, Factor]:
        """Expected error of each count; for columns the larger one of `Release.expected_error`.

        Drawn true tables of columns need no further estimates; drawn tables of pairs would.
        """
        columns = self.looked_at("columns")
        if self.known is None or not columns:
            return self.of_worlds
        draws = np.random.default_rng(0)
        with Clock("how good it is") as clock:
            by_truths = errors_by_truths(self.known, Simulation(self.known.model, columns, None, _TRUTHS, draws, clock))
        larger = {c: np.maximum(self.of_worlds[c].datavector(), e) for c, e in zip(columns, by_truths, strict=True)}
        return {**self.of_worlds, **{c: Factor(self.of_worlds[c].domain, e) for c, e in larger.items()}}

    def of(self, kind: Kind) -> dict[Clique, float]:
        """Return the percentage points of each column or pair with a known error, the worst first."""
        means = dict(zip(self.cliques, (100 * self.tables.mean(axis=0)).tolist(), strict=True))
        points = {c: means[c] for c in self.looked_at(kind) if not self.reason(c)}
        return dict(sorted(points.items(), key=lambda entry: -entry[1]))

    def looked_at(self, kind: Kind) -> list[Clique]:
        """Return the columns, or the pairs that were looked at."""
        return [c for c in self.cliques if len(c) == (1 if kind == "columns" else 2)]

    def unknown(self, kind: Kind) -> list[Clique]:
        """Return the columns or pairs without a known error."""
        return [c for c in self.looked_at(kind) if self.reason(c)]

    def reason(self, clique: Clique) -> str:
        """Return the reason why the error of a clique is unknown; nothing if it is known."""
        if self.basis[clique] == "unknown":
            return "never counted"
        return "nothing kept" if any(a in self.emptied for a in clique) else ""

    def far(self, clique: Clique) -> float | None:
        """Return the error of a column or pair in points, if it is known."""
        return None if self.reason(clique) else 100 * float(self.tables[:, self.cliques.index(clique)].mean())

    def is_clear(self, pair: Clique) -> bool:
        """Return whether a pair with a known error is clearly related: noise alone would hardly put it so far."""
        far = self.far(pair)
        return far is not None and _CLEAR * far < 100 * distances_of(self.answers[pair])[1]

    def shown(self, clique: Clique) -> str:
        """Return the points that a clique is off as text, or why they are unknown."""
        far = self.far(clique)
        return self.reason(clique) if far is None else rounded(far)

    def mean(self, kind: Kind) -> float | None:
        """Return the mean points of the columns, or pairs that were looked at, with a known error."""
        known = self.of(kind).values()
        return sum(known) / len(known) if known else None

    def means_by_basis(self) -> str:
        """Return the mean points of pairs that were counted together and of the others in words, if there are both."""
        points, counted = self.of("pairs"), self.pairs_on("measured", "merged")
        means = [[p for c, p in points.items() if (c in counted) == wanted] for wanted in (True, False)]
        if not all(means):
            return ""
        together, others = (rounded(sum(each) / len(each)) for each in means)
        return f"{together} where the two were counted together, {others} where they were not"

    def unknown_texts(self, most: int | None = None) -> list[str]:
        """Return the columns without a known error, `most` by name, and why, in words."""
        uncounted = [c[0] for c in self.unknown("columns") if self.basis[c] == "unknown"]
        texts = [uncounted_text(uncounted, whole=most is None)] if uncounted else []
        emptied = f'{first_of(self.emptied, most)}: all values "other", nothing kept'
        return [*texts, emptied] if self.emptied else texts

    def pairs_on(self, *bases: Basis) -> list[Clique]:
        """Return the pairs that were looked at and rest on one of some bases."""
        return [c for c in self.cliques if len(c) == 2 and self.basis[c] in bases]

    @property
    def largest_error(self) -> tuple[Clique, float] | None:
        """Column with the largest error of a count, and its ± in records, where known."""
        reaches = {c: REACH * float(self.errors[c].values.max()) for c in self.of("columns")}
        worst = max(reaches, key=lambda c: reaches[c], default=None)
        return None if worst is None else (worst, reaches[worst])


def quality_of(
    model: ReleasedModel,
    *,
    progress: bool = False,
    known: ReleaseErrors | None = None,
    emptied: tuple[str, ...] = (),
    drawn: Block | None = None,
) -> Quality | None:
    """Return the expected errors of a model's answers; None if they are unknown or would take long.

    Tables are made up from the model, measured with the same noise and estimated from again, as for
    `Model.expected_error`; the same every time.

    Parameters
    ----------
    model : GraphicalModel, RegionGraphModel or CountedNetwork
    progress : bool
        Whether to show progress on standard error.
    known : ReleaseErrors, optional
        Errors of the release of the model.
    emptied : tuple of str
        Columns whose values all became "other".
    drawn : Block, optional
        Records of the model drawn with `SEED`, and the generator after them. If they are as many as a made-up table
        has, they are not drawn again.

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
    looked_at, n_pairs = _looked_at(model.domain)
    rng, population = np.random.default_rng(SEED), None
    if drawn is not None and len(drawn.data) == rows_made_up(model):
        rng, population = copy.deepcopy(drawn.rng), drawn.data
    with Clock("how good it is", progress=progress) as clock:
        draws = usual_draws(model)
        simulation = Simulation(model, looked_at, None, draws, rng, clock, population=population)
        expected = expectation(simulation if known is None else known.informed(simulation))
    mean = expected.distances.mean(axis=0).tolist()
    entries = zip(looked_at, expected.rest_on, expected.answers, mean, strict=True)
    return Quality(
        looked_at,
        expected.distances,
        dict(zip(looked_at, expected.answers, strict=True)),
        dict(zip(looked_at, expected.errors, strict=True)),
        dict(zip(looked_at, expected.rest_on, strict=True)),
        n_pairs,
        tuple(_noise_warnings([(table, m) for c, on, table, m in entries if len(c) == 2 and on != "unknown"])),
        emptied,
        known,
    )


def _looked_at(domain: Domain) -> tuple[tuple[Clique, ...], int]:
    """Return all columns and some pairs, evenly spaced among all, and the number of all pairs."""
    names = domain.attributes
    n_pairs = math.comb(len(names), 2)
    step = max(1, -(-n_pairs // _PAIRS))
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
    """Return percentage points to two digits, at most two decimals.

    Examples
    --------
    >>> rounded(12.34), rounded(2.34), rounded(0.234), rounded(0.0234)
    ('12', '2.3', '0.23', '0.02')
    """
    return f"{points:.{0 if points >= 9.95 else 1 if points >= 0.995 else 2}f}"


def _noise_warnings(pairs: Sequence[tuple[Factor, float]]) -> list[str]:
    """Return a warning if a release holds little besides noise.

    Parameters
    ----------
    pairs : sequence of (Factor, float)
        Counts of each pair that was looked at, and their expected total variation distance.
    """
    if not pairs:
        return []
    uniform, independent = np.transpose([distances_of(table) for table, _ in pairs])
    error = float(np.mean([e for _, e in pairs]))
    seen = zip(pairs, independent, strict=True)
    dependent = [escaped(" and ".join(table.domain)) for (table, e), far in seen if _CLEAR * e < far]
    if error >= uniform.mean():
        return ["nearly all of this release is noise; its answers say next to nothing"]
    if error >= independent.mean() and dependent:
        named = first_of(dependent, _NAMED)
        number = f"only {len(dependent):,} {'is' if len(dependent) == 1 else 'are'}"
        related = f"of {len(pairs):,} looked at, {number} clearly related, and details are lost: {named}"
        return [f"for most pairs the noise hides any relation; {related}"]
    if error >= independent.mean():
        return ["relations between columns could not be measured: treat the columns as independent"]
    return []


def distances_of(pair: Factor) -> tuple[float, float]:
    """Return the total variation distances of a table from the uniform one and from the product of its sums.

    Examples
    --------
    >>> from pypgm import Domain
    >>> distances_of(Factor(Domain({"a": 2, "b": 2}), [[1, 0], [0, 1]]))
    (0.5, 0.5)
    """
    shares = pair.values / max(float(pair.values.sum()), 1e-300)
    return 0.5 * float(np.abs(shares - 1 / shares.size).sum()), dependence_of(pair.values)
