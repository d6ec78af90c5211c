"""HDMM on workloads of marginals: measure the strategy of least expected error, estimate."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, get_args

from pypgm.mechanisms.strategies import contrast_strategy, marginal_strategy
from pypgm.models._estimate import estimate
from pypgm.privacy.arguments import as_privacy, gaussian_budget
from pypgm.privacy.budget import Budget
from pypgm.privacy.charged_noise import NoiseBackend
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_table import Counts, PrivateTable
from pypgm.privacy.rational import Number
from pypgm.privacy.relation import Privacy
from pypgm.queries import Contrasts, LinearQuery, Neighbours
from pypgm.release import Release
from pypgm.workloads import Workload, all_k_way

if TYPE_CHECKING:
    from pypgm.domain import Clique, Domain
    from pypgm.estimation import FitState

__all__ = ["Kind", "hdmm"]

Kind = Literal["marginals", "contrasts"]


def hdmm(
    data: Counts,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    budget: Budget | None = None,
    workload: Workload | None = None,
    strategy: Kind = "marginals",
    neighbours: Neighbours | None = None,
    privacy: Privacy | None = None,
    oracle: Literal["exact", "region_graph"] = "region_graph",
    time_limit: float | None = None,
    max_bytes: float | None = None,
    callback: Callable[[FitState], object] | None = None,
    progress: bool = False,
    n_threads: int = 0,
    noise: NoiseBackend = "pypgm",
    unsafe_seed: int | None = None,
) -> Release:
    """Release a model of the records from the measurements that answer a workload of marginals with least error.

    What is measured depends on the workload alone, and the whole budget goes into one pass over the records with exact
    discrete Gaussian noise. The model is then estimated from all measurements at once.

    Parameters
    ----------
    data : Dataset
        Unweighted records, possibly none.
    epsilon, delta : number
        The guarantee; a float means its shortest decimal. `delta` must be more than 0.
    budget : Budget
        Instead of both.
    workload : Workload, optional
        Of whole marginals; all pairs of attributes by default.
    strategy : {"marginals", "contrasts"}
        What is measured: whole marginals, or their contrasts, whose least squares answers err least of all but whose
        estimates by maximum entropy often err more. Of single attributes the counts are measured either way: an
        estimate begins with them. See `pypgm.mechanisms.strategies`.
    neighbours : {"add-remove", "replace"}, optional
        Whose presence is protected: "add-remove" (the default) keeps the number of records private.
    privacy : Privacy, optional
        Instead of `neighbours`; also says how many records a person may have.
    oracle, time_limit, max_bytes, callback, progress, n_threads
        As in `pypgm.estimate`. A callback sees released quantities only.
    noise : {"pypgm", "opendp"}
        Whose samplers draw the noise; OpenDP's need the extra ``[opendp]``.
    unsafe_seed : int, optional
        For tests and demonstrations: draw all noise from this number. The release is then the same every time and
        private for nobody, and its ledger and its model say so.

    Returns
    -------
    Release
        Model, measurements (smaller cliques first) and ledger.

    Raises
    ------
    ValueError
        If the budget is pure or out of range, the records are weighted, the workload is over another domain or asks
        other queries than every cell, or the contrasts of a clique have entries of 2^18 or more.
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
    limit, relation = gaussian_budget("hdmm", epsilon, delta, budget), as_privacy(neighbours, privacy)
    if strategy not in get_args(Kind):
        raise ValueError(f"strategy must be one of {get_args(Kind)}, got {strategy!r}")
    table = PrivateTable(data, relation, Ledger(limit), n_threads=n_threads, noise=noise, unsafe_seed=unsafe_seed)
    del data  # tracebacks from here on do not hold the records
    cliques, queries, shares = _measured(table.domain, workload, strategy, relation)
    measurements = table.measure_many(cliques, queries, rho=limit.limit, weights=shares) if cliques else []
    total = table.public_total
    table.close()
    fitted = measurements if total != 0 else []  # where there are publicly no records the answers are noise alone
    options: dict[str, Any] = {"time_limit": time_limit, "max_bytes": max_bytes, "callback": callback}
    model = estimate(
        table.domain,
        fitted,
        total,
        oracle=oracle if any(m.clique for m in fitted) else "exact",
        progress=progress,
        n_threads=n_threads,
        **{name: value for name, value in options.items() if value is not None},
    )
    return Release(model, tuple(measurements), table.ledger, "hdmm")


def _measured(
    domain: Domain, workload: Workload | None, strategy: Kind, relation: Privacy
) -> tuple[list[Clique], list[LinearQuery | None], list[float]]:
    """Return cliques, what is measured of each, and its part of rho."""
    asked = all_k_way(domain, min(2, len(domain))) if workload is None else workload
    if asked.domain != domain:
        raise ValueError(f"the workload is over {asked.domain!r}, the records are over {domain!r}")
    if strategy == "marginals":
        best = marginal_strategy(asked)
        # Under replace nobody changes a single cell, the public number of records: it needs no noise.
        kept = [i for i, c in enumerate(best.cliques) if domain.size(c) > 1 or not relation.total_is_public]
        return [best.cliques[i] for i in kept], [None] * len(kept), [float(best.shares[i]) for i in kept]
    best = contrast_strategy(asked, relation)
    queries: list[LinearQuery | None] = [Contrasts(domain.sizes(c)) if len(c) > 1 else None for c in best.cliques]
    return list(best.cliques), queries, best.shares.tolist()
