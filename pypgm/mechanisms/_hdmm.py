"""HDMM: measure the marginals, and runs of ordered attributes, that answer a workload with least error; estimate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, get_args

from pypgm._base.numeric import check_choice
from pypgm.data.sources.frames import Frame
from pypgm.mechanisms.run import Options, Run
from pypgm.mechanisms.strategies import contrast_strategy, marginal_strategy
from pypgm.mechanisms.tables import of_tables
from pypgm.privacy.private_table import Counts, PrivateTable
from pypgm.privacy.rational import Number
from pypgm.privacy.relation import Privacy
from pypgm.queries import Contrasts, LinearQuery
from pypgm.release import ModelRelease
from pypgm.workloads import Workload, WorkloadLike

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from pypgm.domain import Clique

Kind = Literal["marginals", "contrasts"]


@of_tables
def hdmm(
    data: Counts | PrivateTable | Frame,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    workload: WorkloadLike | None = None,
    strategy: Kind = "marginals",
    **options: Unpack[Options],
) -> ModelRelease:
    """Release a model of the records from the measurements that answer a workload with least error.

    The measured queries depend only on the workload. The whole budget goes into one pass over the records with exact
    discrete Gaussian noise, and the model is estimated from all measurements at once.

    Parameters
    ----------
    data : Dataset, PrivateTable, or any table with `schema`
        Unweighted records, possibly none; an open table spends all that its ledger has left.
    epsilon, delta : number
        The guarantee; a float means its shortest decimal. `delta` must be more than 0.
    workload : Workload, int, str or list of clique, optional
        Workload of marginals, all pairs of attributes by default; a query on several attributes is a product of
        queries, one for each. Prefixes and ranges (`pypgm.workloads.prefixes`, `ranges`) are answered by runs of
        codes, 1, 2, 4 and so on of each ordered attribute, beside single ones.
    strategy : {"marginals", "contrasts"}
        Kind of queries: marginals, or the contrasts of whole ones, whose least squares answers err least of all but
        whose estimates by maximum entropy often err more. The counts of single attributes are measured either way: an
        estimate begins with them. See `pypgm.mechanisms.strategies`.
    **options
        `budget`, `neighbours`, `privacy`, `time_limit` and all others of `pypgm.mechanisms.Options`.

    Returns
    -------
    Release
        Model, measurements (smaller cliques first) and ledger.

    Raises
    ------
    ValueError
        If the budget is pure or out of range, the records are weighted, the workload is over another domain, has a
        query on several attributes that is not a product, or, with contrasts, queries other than whole marginals; or
        if the contrasts of a clique have entries of 2^18 or more.
    ModelTooLargeError
        If the estimate does not fit; then nothing was spent.
    TypeError
        If the budget or the relation is given twice or not at all.

    References
    ----------
    McKenna, Miklau, Hay and Machanavajjhala 2018, "Optimizing error of high-dimensional statistical queries under
    differential privacy"; Xiao, He, Zhang and Kifer 2023, "An Optimal and Scalable Matrix Mechanism for Noisy Marginals
    under Convex Loss Functions" (contrasts).

    Examples
    --------
    >>> import pypgm
    >>> domain = pypgm.Domain({"a": 2, "b": 3})
    >>> data = pypgm.Dataset({"a": [0, 1, 1], "b": [2, 0, 1]}, domain)
    >>> release = hdmm(data, epsilon=1, delta=1e-9)
    >>> [m.clique for m in release.measurements]
    [('a', 'b')]
    """
    check_choice("strategy", strategy, get_args(Kind))
    run = Run("hdmm", data, epsilon, delta, **options)
    cliques, queries, shares = _measured(run.checked_workload(workload), strategy, run.table.privacy)
    run.check_fits(cliques)
    measurements = run.table.measure_many(cliques, queries, rho=run.rho, weights=shares) if cliques else []
    run.close()
    return run.release(run.estimate(measurements), measurements, workload=workload, strategy=strategy)


def _measured(
    workload: Workload, strategy: Kind, relation: Privacy
) -> tuple[list[Clique], Sequence[LinearQuery | None], list[float]]:
    """Return cliques, with the query on each and its part of rho."""
    domain = workload.domain
    queries: Sequence[LinearQuery | None]
    if strategy == "marginals":
        best = marginal_strategy(workload)
        # Under replace nobody changes a single cell, the public number of records: it needs no noise.
        kept = [i for i, c in enumerate(best.cliques) if domain.size(c) > 1 or not relation.total_is_public]
        queries = [best.queries[i] for i in kept]
        return [best.cliques[i] for i in kept], queries, [float(best.shares[i]) for i in kept]
    best = contrast_strategy(workload, relation)
    queries = [Contrasts(domain.sizes(c)) if len(c) > 1 else None for c in best.cliques]
    return list(best.cliques), queries, best.shares.tolist()
