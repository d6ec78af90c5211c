"""DualQuery: draw queries that the records so far answer badly, then add the record that answers them best."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pypgm._base.numeric import checked_integer, checked_real
from pypgm.data.sources.frames import Frame
from pypgm.mechanisms.drawn_queries import DrawnQueries, Estimator, SearchRounds, check_options, release_of
from pypgm.mechanisms.run import Options, Run
from pypgm.mechanisms.tables import of_tables
from pypgm.privacy.arguments import draws_budget
from pypgm.privacy.laws import Exponential
from pypgm.privacy.private_table import Counts, PrivateTable
from pypgm.privacy.rational import Number, as_fraction
from pypgm.reconstruction.best_records import Optimiser, RecordSearch
from pypgm.release import Release

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from pypgm.domain import Clique
    from pypgm.privacy.cell_selector import Drawn
    from pypgm.workloads import WorkloadLike

_SEED = 0x6475616C  # of the first round, which no record has a part in, and of the optimiser's starts
_MOST_ROUNDS = 1000  # a likelihood of as many rounds takes all queries as often


@of_tables
def dualquery(
    data: Counts | PrivateTable | Frame,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    workload: WorkloadLike | None = None,
    rounds: int | None = None,
    samples: int = 50,
    rate: Number = 2,
    estimator: Estimator = "model",
    optimiser: Optimiser = "ascent",
    **options: Unpack[Options],
) -> Release:
    r"""Release a model that learns from queries drawn by the error of synthetic records.

    A query is the share of the records in one cell of a marginal, or in all its other cells. Each round draws some of
    them with probabilities in proportion to exp of `rate` times their total overestimate by all records so far, by
    exact exponential mechanisms, and adds the record that corrects the drawn queries best. Where the number of records
    is private it is measured first.

    Parameters
    ----------
    data, epsilon, delta, workload, optimiser, **options
        See `fem`.
    rounds : int, optional
        Largest number of rounds; by default the number that the budget pays for, 1,000 at most. The first is free, each
        later one dearer. The rest of the budget stays unspent.
    samples : int
        Queries in each round, at least 1.
    rate : number
        More than 0: speed at which badly answered queries become likely.
    estimator : {"model", "records"}
        "model" fits all drawn queries by a graphical model of maximum likelihood; "records" is DualQuery as
        published: the records themselves.

    Returns
    -------
    Release
        Model, measured total if there is one, and ledger; ``release.log`` has a line for each query drawn, with
        its clique, cell, whether it is the complement, and its round.

    Raises
    ------
    ModelTooLargeError, ValueError, TypeError
        As in `fem`.

    References
    ----------
    Gaboardi, Gallego Arias, Hsu, Roth and Wu 2014, "Dual Query: Practical Private Query Release for High Dimensional
    Data"; McKenna, Sheldon and Miklau 2019, "Graphical-model based estimation and inference for differential privacy"
    (the likelihood).

    Examples
    --------
    >>> import pypgm
    >>> domain = pypgm.Domain({"a": 2, "b": 3, "c": 2})
    >>> data = pypgm.Dataset({"a": [0, 1, 1] * 99, "b": [2, 0, 1] * 99, "c": [0] * 297}, domain)
    >>> release = dualquery(data, epsilon=5, rounds=5, samples=10)
    >>> len(release.log), release.ledger.spent() <= 5
    (40, True)
    """
    samples = check_options(estimator, optimiser, samples, options)
    most = _MOST_ROUNDS if rounds is None else checked_integer("rounds", rounds, 1)
    exact = as_fraction("rate", rate)
    checked_real("rate", float(exact))
    run = Run("dualquery", data, epsilon, delta, budget_of=draws_budget, **options)

    def learn(queries: DrawnQueries, total: float) -> None:
        search = RecordSearch(run.domain, _SEED, optimiser)
        _Rounds(run, queries, total, samples, search).go(exact / Fraction(total), most)

    kept = {"rounds": rounds, "rate": float(exact), "optimiser": optimiser}
    return release_of(run, workload, learn, estimator, samples=samples, are_independent=False, **kept)


class _Rounds(SearchRounds):
    """The rounds of one call; in each some queries are drawn, and one record is added."""

    def go(self, rate: Fraction, most: int) -> None:
        """Take the rounds: queries are drawn at a rate for each record that a count differs by."""
        if not self.queries.cliques:
            self._add([])
            return
        selector = self.run.table.cell_selector(self.queries.cliques)
        answered = np.zeros(self.queries.cells)
        self._add(self._first())
        for number in range(1, self._affordable(rate, most)):
            answered += self.queries.shares(self.records[-1])
            spent = rate * number * self.run.table.privacy.cell_score_range
            offsets = self.queries.split(self.total * answered)
            drawn = selector.draw(-number, offsets, self.total, self.samples, epsilon=self.samples * spent)
            scale = float(rate) * self.total
            self.queries.add(-number * scale, scale * answered, drawn)
            self._add(drawn)
            if self.run.clock.tick(f"{number} rounds".__str__):
                return

    def _affordable(self, rate: Fraction, most: int) -> int:
        """Return the number of rounds that the budget pays for, the first of which is free."""
        ledger, left = self.run.table.ledger, self.run.table.ledger.remaining()
        for number in range(1, most):
            epsilon = rate * number * self.run.table.privacy.cell_score_range
            left -= Exponential(epsilon, 1, self.samples, self.samples).price(ledger.budget, left)
            if left < 0:
                return number
        return most

    def _first(self) -> list[Drawn]:
        """Return queries drawn uniformly, without the records."""
        return [self.queries.query(i) for i in self.search.uniform(2 * self.queries.cells, self.samples)]

    def _add(self, drawn: Sequence[Drawn]) -> None:
        """Add the record that satisfies the fewest queries."""
        values: dict[tuple[Clique, int], float] = {}
        for clique, cell, is_complement in drawn:
            place = self.queries.cliques[clique], cell
            values[place] = values.get(place, 0.0) + (1.0 if is_complement else -1.0)
        self.records.append(self.search.best(values))
