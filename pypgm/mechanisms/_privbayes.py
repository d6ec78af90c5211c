"""PrivBayes: select a network parent set by parent set, measure its tables, estimate."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from pypgm._base.numeric import check_choice
from pypgm.bayes.counted import CountedNetwork
from pypgm.bayes.learning import rows_of
from pypgm.bayes.private_learning import Law, measure_family
from pypgm.bayes.private_structure import PrivateStructure, select_parents
from pypgm.data.sources.frames import Frame
from pypgm.domain import Clique
from pypgm.errors import ModelTooLargeError
from pypgm.estimation.total import estimate_total
from pypgm.factor import Factor
from pypgm.mechanisms.run import Options, Run
from pypgm.mechanisms.tables import of_tables
from pypgm.mechanisms.tree_limit import estimate_that_fits
from pypgm.privacy.arguments import as_budget
from pypgm.privacy.private_table import Counts, PrivateTable
from pypgm.privacy.rational import Number
from pypgm.release import Release

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from pypgm.domain import Domain
    from pypgm.estimation.measurement import LinearMeasurement

Estimator = Literal["model", "tables"]


@of_tables
def privbayes(
    data: Counts | PrivateTable | Frame,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    structure: PrivateStructure | None = None,
    estimator: Estimator = "model",
    **options: Unpack[Options],
) -> Release:
    """Release a model of the records that rests on a Bayesian network chosen from them.

    A share of the budget selects the network, one attribute with its parents after the other; the rest measures the
    table of each attribute with its parents, in equal shares. A table that is part of another one is read from it.

    Parameters
    ----------
    data : Dataset, PrivateTable, or any table with `schema`
        Unweighted records, possibly none; an open table spends all that its ledger has left.
    epsilon, delta : number
        The guarantee; a float means its shortest decimal. Without `delta` it is pure and the noise exact discrete
        Laplace, otherwise exact discrete Gaussian.
    structure : PrivateStructure, optional
        Selection of the network: score, share of the budget, least usefulness of a table, most parents.
    estimator : {"model", "tables"}
        "model" explains all measurements by one graphical model. "tables" is PrivBayes as published: conditional
        tables, each from its own counts with negative ones set to 0, from which records are drawn parents first. It
        also takes the place of a model that does not fit the memory, unless there are constraints: then the model is
        that of the first tables that fit.
    **options
        `budget`, `neighbours`, `privacy`, `time_limit` and all others of `pypgm.mechanisms.Options`; those of an
        estimate change nothing where the estimator is "tables", which takes no `measurements`.

    Returns
    -------
    Release
        Model, measurements and ledger. The first measurement is the number of records, if it is private and needed to
        judge the usefulness of tables; then come the tables, cliques in the order (parents, attribute). The model of
        the estimator "tables" is a `pypgm.bayes.CountedNetwork`.

    Raises
    ------
    ValueError
        If the budget is out of range, the records are weighted, the domain has no attributes, the score does not suit
        these attributes or this relation, or `measurements` or constraints (a schema's rules too) come with "tables".
    TypeError
        If the budget or the relation is given twice or not at all.

    See Also
    --------
    pypgm.bayes.learn_private : takes a `PrivateStructure` too, and gives each table the budget it deserves.

    References
    ----------
    Zhang, Cormode, Procopiuc, Srivastava and Xiao 2017, "PrivBayes: Private Data Release via Bayesian Networks".

    Examples
    --------
    >>> import pypgm
    >>> domain = pypgm.Domain({"a": 2, "b": 2, "c": 2})
    >>> data = pypgm.Dataset({"a": [0, 1] * 300, "b": [0, 1] * 300, "c": [0, 0, 1, 1] * 150}, domain)
    >>> release = privbayes(data, epsilon=10, structure=pypgm.bayes.PrivateStructure(max_parents=1))
    >>> release.measurements[1].clique
    ('a', 'b')
    """
    how = PrivateStructure() if structure is None else structure
    if not isinstance(how, PrivateStructure):
        raise TypeError(f"structure needs a PrivateStructure, got {type(how).__name__}")
    check_choice("estimator", estimator, get_args(Estimator))
    if estimator == "tables" and options.get("measurements"):
        raise ValueError("conditional tables are read from the measurements of the run alone: estimator='model'")
    run = Run("privbayes", data, epsilon, delta, budget_of=as_budget, **options)
    if estimator == "tables":
        run.refuse_constraints("conditional tables take no constraints", mappings=True)
    if len(run.domain) == 0:
        raise ValueError("privbayes needs at least one attribute")
    run.check_fits([(a,) for a in run.domain])
    parents, measurements = select_parents(run.table, how)
    measurements += _measured(run.table, parents)
    run.close()
    if run.constraints or run.mapped:  # which conditional tables break
        return run.release(estimate_that_fits(run, measurements), measurements)
    if estimator == "model":
        with contextlib.suppress(ModelTooLargeError):
            return run.release(run.estimate(measurements), measurements)
    return run.release(_network(run.domain, parents, measurements, run.total), measurements)


def _measured(table: PrivateTable, parents: Mapping[str, Clique]) -> list[LinearMeasurement]:
    """Measure the tables that are part of no other one, with equal parts of the rest of the budget."""
    families = [(*given, child) for child, given in parents.items()]
    largest = [f for f in families if not any(set(f) < set(other) for other in families)]
    law: Law = "laplace" if table.ledger.budget.unit == "epsilon" else "gaussian"
    each = table.ledger.remaining() / len(largest)
    return [measure_family(table, f, each, law) for f in largest]


def _network(
    domain: Domain, parents: Mapping[str, Clique], measurements: list[LinearMeasurement], total: int | None
) -> CountedNetwork:
    """Return conditional tables, each from the counts that were measured of it."""
    counts = [Factor(domain.project(m.clique), m.values.reshape(domain.sizes(m.clique))) for m in measurements]
    tables = {}
    for child, given in parents.items():
        family = (*given, child)
        source = next(c for c in counts if set(family) <= set(c.domain))
        tables[child] = rows_of(np.maximum(source.project(family).transpose(family).values, 0.0))
    records = float(total) if total is not None else estimate_total(domain, measurements)[0]
    return CountedNetwork(domain, parents, tables, total=records)
