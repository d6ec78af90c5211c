"""JAM: round by round, measure a marginal privately or take it from public records of about the same kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pypgm._base.numeric import checked_integer, checked_real
from pypgm.data import Dataset
from pypgm.data.sources.frames import Frame
from pypgm.domain import check_kind
from pypgm.estimation import LinearMeasurement
from pypgm.mechanisms.run import Options, Run
from pypgm.mechanisms.tables import of_tables
from pypgm.mechanisms.tree_limit import TREE_BYTES, check_any_fits, check_compared, may_fit, that_fit, warn_left_out
from pypgm.privacy.noise import drawable_variance
from pypgm.privacy.private_table import Counts, PrivateTable
from pypgm.privacy.rational import Number
from pypgm.release import ModelRelease

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from pypgm.domain import Clique
    from pypgm.models import GraphicalModel, RegionGraphModel
    from pypgm.workloads import WorkloadLike

_TOTAL = Fraction(1, 100)  # of the budget, for a private number of records
_SELECTING = Fraction(1, 5)  # of the cost of a round
_FINEST = math.sqrt(drawable_variance(Fraction(1, 1 << 99)))  # least noise that is drawn, whatever the budget allows
_GRID = 1 << 10  # scores are integers in units of 2^-10 records
_COUNT_LIMIT = 2.0**44  # of records, below which int64 holds them
_CHANGES = 2  # of a score, in records, by one record more or less: two distances, and each moves by 1


@of_tables
def jam(
    data: Counts | PrivateTable | Frame,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    public: Dataset,
    workload: WorkloadLike | None = None,
    rounds: int = 30,
    tree_bytes: float = TREE_BYTES,
    **options: Unpack[Options],
) -> ModelRelease:
    r"""Release a model that learns some marginals from public records and the rest from private measurements.

    Each round selects one marginal and its source by an exact exponential mechanism. The score of a private measurement
    is the error of the model minus the error of the noise; the score of the public table, scaled to as many records,
    is the error of the model minus the error of the public table. A table taken from public records costs only its
    selection: the rest of its share goes to later rounds, and stays unspent after the last one.

    Parameters
    ----------
    data : Dataset, PrivateTable, or any table with `schema`
        Unweighted records, possibly none; an open table spends all that its ledger has left.
    epsilon, delta : number
        The guarantee; a float means its shortest decimal. `delta` must be more than 0.
    public : Dataset
        Records that need no protection, over the same domain, at least one.
    workload : Workload, int, str or list of clique, optional
        Marginals to be answered well, all pairs of attributes by default. They and all smaller marginals within them
        may be selected; queries and weights are ignored.
    rounds : int
        Number of rounds, at least 1.
    tree_bytes : float
        See `aim`: the most memory that the tables of the junction tree may take in the last round; earlier rounds get a
        proportional part. A marginal whose own table exceeds it is left out, with a warning if it is in `workload`.
    **options
        `budget`, `neighbours`, `privacy`, `time_limit` and all others of `pypgm.mechanisms.Options`; `oracle="auto"`
        means "exact" here. When time or memory (with a warning) runs out, or Ctrl-C ends an estimate, no round
        follows, and the rest of the budget stays unspent.

    Returns
    -------
    Release
        Model, private measurements in the order they were taken, and ledger; ``release.log`` has a line for each round,
        with its ``source``.

    Raises
    ------
    ValueError
        If the budget is pure or out of range, the records are weighted, the public records are empty or have a
        different domain, the workload is over another domain, an option is out of range, or the domain has no
        attributes.
    ModelTooLargeError
        If the single attributes, or all candidates together, do not fit in memory; then nothing was spent.
    TypeError
        If `public` is not a Dataset, or the budget or the relation is given twice or not at all.

    Notes
    -----
    Public tables enter the estimate as if they had the noise of the round, because their error is private.

    References
    ----------
    Fuentes, Mullins, McKenna, Miklau and Sheldon 2024, "Joint Selection: Adaptively Incorporating Public Information
    for Private Synthetic Data".

    Examples
    --------
    >>> import pypgm
    >>> domain = pypgm.Domain({"a": 2, "b": 3})
    >>> data = pypgm.Dataset({"a": [0, 1, 1] * 99, "b": [2, 0, 1] * 99}, domain)
    >>> public = pypgm.Dataset({"a": [0, 1, 1] * 9, "b": [2, 0, 1] * 9}, domain)
    >>> release = jam(data, epsilon=1, delta=1e-9, public=public, rounds=3)
    >>> [row["source"] in {"public", "private"} for row in release.log]
    [True, True, True]
    """
    check_kind("public", public, Dataset, "pypgm.Dataset(columns, domain) makes one")
    rounds = checked_integer("rounds", rounds, 1)
    tree_bytes = checked_real("tree_bytes", tree_bytes, infinite=True)
    run = Run("jam", data, epsilon, delta, auto="exact", **options)
    public = run.mapped.records(public)
    if public.domain != run.domain:
        raise ValueError(f"the public records are over {public.domain!r}, the private ones over {run.domain!r}")
    if public.n_records == 0 or len(run.domain) == 0:
        raise ValueError("jam needs at least one attribute and one public record")
    marginals = list(run.checked_workload(workload).closure())
    cliques = [c for c in marginals if may_fit(run, c, tree_bytes)]
    run.check_fits([()])  # the first estimate, of the total alone
    run.check_fits([(a,) for a in run.domain])
    check_any_fits(run, marginals, that_fit(run, [m.clique for m in run.given], cliques, tree_bytes), tree_bytes)
    check_compared(run, cliques)
    warn_left_out(run, workload, tree_bytes)
    search = _Search(run, cliques, public)
    search.go(rounds, tree_bytes)
    run.close()
    return run.release(
        search.model, search.measured, search.log, workload=workload, rounds=rounds, tree_bytes=tree_bytes
    )


class _Search:
    """Marginals measured or taken so far, and their model."""

    def __init__(self, run: Run, cliques: list[Clique], public: Dataset) -> None:
        self.run = run
        # Under replace nobody changes a single cell.
        self.cliques = [c for c in cliques if run.domain.size(c) > 1 or run.total is None]
        self.public = [public.project(c).datavector() / public.n_records for c in self.cliques]
        self.measured: list[LinearMeasurement] = []
        self.taken: list[LinearMeasurement] = []
        self.used: set[int] = set()
        self.log: list[dict[str, object]] = []
        self.model: GraphicalModel | RegionGraphModel

    def go(self, rounds: int, tree_bytes: float) -> None:
        """Measure the total if it is private, then take the rounds; each may cost an equal part of the rest."""
        table = self.run.table
        if self.run.total is None:
            self.measured.append(table.measure_total(rho=self.run.rho * _TOTAL))
        self.model = self.run.estimate(self.measured)
        self.total = self.model.total
        # A candidate is a position of the cliques: its private form, and behind all of these its public one.
        twice = [*self.cliques, *self.cliques]
        sensitivity = _GRID * _CHANGES * (2 if table.privacy.total_is_public else 1)
        self.selector = table.selector(twice, self._gain(math.inf), sensitivity=sensitivity) if twice else None
        for number in range(rounds if twice else 0):
            if self.run.ended(self.model):
                return
            known = [m.clique for m in (*self.run.given, *self.measured, *self.taken)]
            limit = tree_bytes * (number + 1) / rounds
            fit = that_fit(self.run, known, self.cliques, limit) or that_fit(self.run, known, self.cliques, tree_bytes)
            if not fit:
                self.run.end_where_nothing_fits()
                return
            with self.run.last_that_fits():
                self._round(fit, table.ledger.remaining() / (rounds - number))

    def _round(self, fit: Sequence[int], amount: Fraction) -> None:
        table, n = self.run.table, len(self.cliques)
        measuring = amount * (1 - _SELECTING)
        stddev = max(self.run.stddev(measuring), _FINEST)
        assert self.selector is not None
        self.selector.compare(self._gain(stddev))
        among = [*fit, *(n + i for i in fit if i not in self.used)]
        chosen = self.selector.select(among, rho=amount * _SELECTING)
        clique, is_public = self.cliques[chosen % n], chosen >= n
        if is_public:
            self.used.add(chosen - n)
            self.taken.append(LinearMeasurement(self.total * self.public[chosen - n], clique, stddev))
        else:
            self.measured.append(table.measure(clique, rho=measuring))
        self.model = self.run.estimate([*self.measured, *self.taken])
        source = "public" if is_public else "private"
        self.log.append({"clique": clique, "source": source, "stddev": stddev, "candidates": len(among)})

    def _gain(self, stddev: float) -> Callable[[int, NDArray[np.int64]], int]:
        """Return the score of a candidate: how much nearer it would bring the model, in units of the grid."""
        n = len(self.cliques)
        expected = [_on_grid(c, self.model.project(c).datavector()) for c in self.cliques]
        public = [_on_grid(c, self.total * p) for c, p in zip(self.cliques, self.public, strict=True)]
        noise = math.sqrt(2 / math.pi) * min(stddev, 2.0**40)
        penalties = [round(_GRID * noise * self.run.domain.size(c)) for c in self.cliques]

        def gain(number: int, counts: NDArray[np.int64]) -> int:
            secret = counts if float(counts.sum(dtype=np.float64)) < _COUNT_LIMIT else counts.astype(object)
            lacking = int(np.abs(_GRID * secret - expected[number % n]).sum())
            if number < n:
                return lacking - penalties[number]
            return lacking - int(np.abs(_GRID * secret - public[number - n]).sum())

        return gain


def _on_grid(clique: Clique, counts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return released counts in units of the grid; ``ValueError`` where int64 would not hold their distances."""
    if not np.isfinite(counts).all() or float(np.abs(counts).sum()) >= _COUNT_LIMIT:
        raise ValueError(f"the model's counts of {clique} must be finite and sum to less than 2^44")
    return np.rint(_GRID * counts).astype(np.int64)
