"""FEM: records by follow-the-perturbed-leader, and in each round one query that they answer badly."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, get_args

from pypgm._base.numeric import check_choice, checked_integer, checked_real
from pypgm.data.sources.frames import Frame
from pypgm.mechanisms.drawn_queries import DrawnQueries, Estimator, SearchRounds, check_options, release_of
from pypgm.mechanisms.run import Options, Run
from pypgm.mechanisms.tables import of_tables
from pypgm.privacy.arguments import draws_budget
from pypgm.privacy.private_table import Counts, PrivateTable
from pypgm.privacy.rational import Number
from pypgm.reconstruction.best_records import CostLaw, Optimiser, RecordSearch
from pypgm.release import Release

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from pypgm.domain import Clique
    from pypgm.workloads import WorkloadLike

_SEED = 0x66656D  # of perturbations, which protect nobody, and of the optimiser's starts
_SHARPNESS, _ROUNDS = 200, (50, 500)  # the published rounds for triples of adult at epsilon 1 have 195
_BITS = 30  # of an epsilon after the point


@of_tables
def fem(
    data: Counts | PrivateTable | Frame,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    workload: WorkloadLike | None = None,
    rounds: int | None = None,
    samples: int = 50,
    perturbation: float = 0.16,
    law: CostLaw = "exponential",
    estimator: Estimator = "model",
    optimiser: Optimiser = "ascent",
    **options: Unpack[Options],
) -> Release:
    r"""Release a model that learns from one query a round, drawn by the error of perturbed best records.

    A query is the share of the records in one cell of a marginal, or in all its other cells. Each round takes some
    records, each chosen to satisfy most of the queries so far, less a random cost of its values. An exact exponential
    mechanism then draws the query whose answer on these records is too low. All rounds cost equal parts of the budget.
    A private number of records is measured first.

    Parameters
    ----------
    data : Dataset, PrivateTable, or any table with `schema`
        Unweighted records, possibly none; an open table spends all that its ledger has left.
    epsilon, delta : number
        The guarantee; a float means its shortest decimal. Without `delta` it is pure.
    workload : Workload, int, str or list of clique, optional
        Workload of whole marginals; all pairs of attributes by default. Weights are ignored.
    rounds : int, optional
        At least 1. By default the number, from 50 to 500, at which a share of all records is exp(200) times as likely
        to be drawn as a share of none.
    samples : int
        Records a round, at least 1.
    perturbation : float
        More than 0: the mean cost of a value, in queries, relative to the root of the number of rounds.
    law : {"exponential", "laplace"}
        Distribution of the costs: "exponential" is FEM, "laplace" sepFEM, whose separator set is the values of the
        attributes.
    estimator : {"model", "records"}
        "model" fits all drawn queries by a graphical model of maximum likelihood; "records" is FEM as published: the
        records of all rounds.
    optimiser : {"ascent", "exact"}
        Search for records, see `pypgm.reconstruction.best_records`.
    **options
        `budget`, `neighbours`, `privacy`, `time_limit` and all others of `pypgm.mechanisms.Options`; `measurements`,
        `constraints`, `oracle` and the options of an estimate are only for the estimator "model", with `iterations`
        of 150 by default. When time runs out, or Ctrl-C ends the rounds, no round follows, and the rest of the budget
        stays unspent; the queries drawn still go into the estimate, and a second Ctrl-C raises.

    Returns
    -------
    Release
        Model, the measured total where there is one, and ledger; ``release.log`` has a line for each round, with the
        query's clique, cell, and whether it is the complement.

    Raises
    ------
    ModelTooLargeError
        If the queries, or an estimate, would not fit; then nothing was spent.
    ValueError
        If the budget is out of range, the records are weighted, the workload is over another domain or has queries
        other than whole marginals, or an option is out of range.
    TypeError
        If the budget or the relation is given twice or not at all.

    References
    ----------
    Vietri, Tian, Bun, Steinke and Wu 2020, "New Oracle-Efficient Algorithms for Private Synthetic Data Release";
    McKenna, Pradhan, Sheldon and Miklau 2021, "Relaxed Marginal Consistency for Differentially Private Query Answering"
    (the likelihood).

    Examples
    --------
    >>> import pypgm
    >>> domain = pypgm.Domain({"a": 2, "b": 3, "c": 2})
    >>> data = pypgm.Dataset({"a": [0, 1, 1] * 99, "b": [2, 0, 1] * 99, "c": [0] * 297}, domain)
    >>> release = fem(data, epsilon=5, rounds=5, samples=10)
    >>> len(release.log), release.ledger.spent() <= 5
    (5, True)
    """
    samples = check_options(estimator, optimiser, samples, options)
    check_choice("law", law, get_args(CostLaw))
    scale = checked_real("perturbation", perturbation)
    if rounds is not None:
        rounds = checked_integer("rounds", rounds, 1)
    run = Run("fem", data, epsilon, delta, budget_of=draws_budget, **options)

    def learn(queries: DrawnQueries, total: float) -> None:
        learner = _Rounds(run, queries, total, samples, RecordSearch(run.domain, _SEED, optimiser))
        n_rounds = learner.default_rounds() if rounds is None else rounds
        learner.go(n_rounds, scale * math.sqrt(n_rounds), law)

    kept = {"rounds": rounds, "perturbation": perturbation, "law": law, "optimiser": optimiser}
    return release_of(run, workload, learn, estimator, samples=samples, are_independent=True, **kept)


class _Rounds(SearchRounds):
    """The rounds of one call; in each some records are found, and one query is drawn."""

    def default_rounds(self) -> int:
        """Return the rounds whose scores range over `_SHARPNESS`, within limits."""
        table = self.run.table
        left, ratio = float(table.ledger.remaining()), self.total / float(table.privacy.cell_score_range) / _SHARPNESS
        sharp = left * ratio if table.ledger.budget.unit == "epsilon" else 8 * left * ratio**2
        return round(min(max(sharp, _ROUNDS[0]), _ROUNDS[1]))

    def go(self, rounds: int, scale: float, law: CostLaw) -> None:
        """Take the rounds, each for an equal part of the remaining budget."""
        table = self.run.table
        if not self.queries.cliques:
            self.records.append(self.search.best({}))
            return
        selector = table.cell_selector(self.queries.cliques)
        spent = table.ledger.epsilon_of(table.ledger.remaining(), rounds, has_range=True)
        rate = float(spent / table.privacy.cell_score_range) * self.total
        leader: dict[tuple[Clique, int], float] = {}
        for number in range(rounds):
            self.records.append(self.search.best(leader, self.search.costs(self.samples, scale, law)))
            answered = self.queries.shares(self.records[-1])
            ((clique, cell, flag),) = drawn = selector.draw(
                1, self.queries.split(-self.total * answered), self.total, epsilon=spent
            )
            self.queries.add(rate, -rate * answered, drawn)
            place = self.queries.cliques[clique], cell
            leader[place] = leader.get(place, 0.0) + (-1.0 if flag else 1.0)
            if self.run.clock.tick(f"{number + 1}/{rounds} rounds".__str__):
                return
