"""Adaptive grid: rule out rare values, measure pairs coarsely, and then a spanning tree of the rest."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pypgm._base.numeric import checked_real
from pypgm.data.sources.frames import Frame
from pypgm.domain import Clique, Domain
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.mechanisms._mst import low_values_merged, select_tree
from pypgm.mechanisms.better_start import estimate_from_better_start
from pypgm.mechanisms.one_way import independent
from pypgm.mechanisms.run import Options, Run
from pypgm.mechanisms.strategies import Groups, query_of_groups
from pypgm.mechanisms.tables import of_tables
from pypgm.privacy.private_table import Counts, PrivateTable
from pypgm.privacy.rational import Number, as_fraction
from pypgm.queries import Identity, Partition
from pypgm.release import ModelRelease
from pypgm.workloads import check_listable

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from pypgm.models import GraphicalModel, RegionGraphModel

_CHOOSING = Fraction(1, 10)  # of the third step, for the choice of its tree, as in a round of AIM


@of_tables
def adaptive_grid(
    data: Counts | PrivateTable | Frame,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    targets: str | Sequence[str] = (),
    split: Sequence[Number] = (0.1, 0.1, 0.8),
    threshold: float = 3.0,
    **options: Unpack[Options],
) -> ModelRelease:
    r"""Release a model of the records in three steps, each on the cells that are plausible after the step before.

    The first step measures every attribute; values whose noisy count is low are implausible. The second measures all
    pairs of attributes, or those with a target, over the products of plausible values. The third selects a spanning
    tree of the pairs that the model of both explains worst and measures its pairs, each together with all targets.

    Parameters
    ----------
    data : Dataset, PrivateTable, or any table with `schema`
        Unweighted records, possibly none; an open table spends all that its ledger has left.
    epsilon, delta : number
        The guarantee; a float means its shortest decimal. `delta` must be more than 0.
    targets : str or sequence of str
        Attributes that are measured together with every pair of the tree, such as the one to be predicted from the
        others; none by default. Their tables are as many times larger as the targets have plausible values.
    split : three numbers
        Shares of the budget of the steps; they sum to 1.
    threshold : float
        Standard deviations of the first step's noise, below which a counted value is implausible. By the noise alone,
        one value in 740 that nobody has reaches 3, the default.
    **options
        `budget`, `neighbours`, `privacy`, `time_limit` and all others of `pypgm.mechanisms.Options`. The model that
        pairs of the tree are compared with takes at most half of the time; if its estimate ends early, as by Ctrl-C,
        the measurements stay as they are.

    Returns
    -------
    Release
        Model, measurements (attributes, pairs, then cliques of the tree in the order they were selected) and ledger;
        ``release.log`` has a line for each measurement, with its step.

    Raises
    ------
    ValueError
        If the budget is pure or out of range, the records are weighted, a target is unknown or repeated, another
        option is out of range, or the domain has no attributes.
    ModelTooLargeError
        If the estimate does not fit, whichever tree is selected; then nothing was spent.
    TypeError
        If the budget or the relation is given twice or not at all.

    Notes
    -----
    The implausible values of an attribute are one group, if they are two or more and not all; a clique is measured on
    the products of its attributes' groups. So each cell of plausible values is measured by itself, and the others are
    summed such that each answer on a smaller clique over the same groups is a sum of answers on the larger. Every cell
    is in exactly one sum, so a record changes the answers as it changes a histogram: one by 1, or two if it is
    replaced. Measuring the smaller cliques as well would spend budget on sums that the partition already has.

    Each step's measurements have equal shares of its budget; the selections have a tenth of the third. The answers of
    the second step rule no value out: the third has so much less noise that it can tell more cells apart. With two
    attributes besides the targets, or fewer, there is nothing to select; with one in all, nothing else to measure.

    References
    ----------
    McKenna, Miklau and Sheldon 2021, "Winning the NIST Contest: A scalable and general approach to differentially
    private synthetic data" (the spanning tree).

    Examples
    --------
    >>> import pypgm
    >>> domain = pypgm.Domain({"a": 2, "b": 3, "c": 2})
    >>> data = pypgm.Dataset({"a": [0, 1, 1] * 99, "b": [2, 0, 1] * 99, "c": [0, 1, 0] * 99}, domain)
    >>> release = adaptive_grid(data, epsilon=1, delta=1e-9, targets="c")
    >>> [m.clique for m in release.measurements]
    [('a',), ('b',), ('c',), ('a', 'c'), ('b', 'c'), ('a', 'b', 'c')]
    """
    shares = _checked_split(split)
    threshold = checked_real("threshold", threshold, zero=True)
    run = Run("adaptive_grid", data, epsilon, delta, **options)
    domain, table = run.domain, run.table
    if len(domain) == 0:
        raise ValueError("adaptive_grid needs at least one attribute")
    targets = run.mapped.clique(run.whole.domain.canonical(targets))
    check_listable(domain, min(2, len(domain)))
    pairs = [p for p in itertools.combinations(domain.attributes, 2) if not targets or set(p) & set(targets)]
    run.check_fits([*((a,) for a in domain), *pairs, *(_largest_tree(domain, targets) if pairs else [])])
    groups: Groups = {a: Partition(np.arange(domain.size((a,)))) for a in domain}
    singles = _measure(table, [(a,) for a in domain], groups, run.rho * shares[0] if pairs else run.rho)
    groups |= {m.clique[0]: _plausible(m, threshold) for m in singles}
    doubles = _measure(table, pairs, groups, run.rho * shares[1])
    start = independent(run, singles).model(domain)
    tree: list[LinearMeasurement] = []
    if pairs:
        model = run.fit([*run.given, *singles, *doubles], start, part=0.5)
        cliques = _select(table, model, groups, run.rho * shares[2] * _CHOOSING, targets)
        tree = _measure(table, cliques, groups, table.ledger.remaining())
    run.close()
    released = estimate_from_better_start(run, [*singles, *doubles, *tree], start)
    log = [_line(m, step) for step, taken in enumerate((singles, doubles, tree), 1) for m in taken]
    split = ", ".join(map(str, shares))
    return run.release(
        released, [*singles, *doubles, *tree], log, targets=targets or None, split=split, threshold=threshold
    )


def _checked_split(split: Sequence[Number]) -> list[Fraction]:
    shares = [as_fraction("a part of split", part) for part in split]
    if len(shares) != 3 or min(shares) <= 0 or sum(shares) != 1:
        raise ValueError(f"split needs three parts above 0 that sum to 1, got {split!r}")
    return shares


def _plausible(measured: LinearMeasurement, threshold: float) -> Partition:
    """Return an attribute's groups: implausible values make one, unless noise hides all values."""
    groups = low_values_merged(measured, threshold)
    return groups if groups.shape[0] > 1 else Partition(np.arange(measured.values.size))


def _measure(table: PrivateTable, cliques: Iterable[Clique], groups: Groups, rho: Fraction) -> list[LinearMeasurement]:
    """Measure the groups of cliques for equal parts of rho, except those that no record changes."""
    questions = [(c, query_of_groups(groups, c)) for c in cliques]
    kept = [
        (clique, query)
        for clique, query in questions
        if table.privacy.squared_l2_sensitivity(Identity(table.domain.size(clique)) if query is None else query)
    ]
    return table.measure_many([c for c, _ in kept], [q for _, q in kept], rho=rho) if kept else []


def _select(
    table: PrivateTable,
    model: GraphicalModel | RegionGraphModel,
    groups: Groups,
    rho: Fraction,
    targets: Clique,
) -> list[Clique]:
    """Return the cliques of the third step, selected against a model if there is more than one choice."""
    domain = table.domain

    def estimate(clique: Clique) -> NDArray[np.float64]:
        counts, query = model.project(clique).datavector(), query_of_groups(groups, clique)
        return counts if query is None else np.asarray(query.matvec(counts))

    if len(domain) - len(targets) <= 2:
        return [domain.attributes]
    return [domain.canonical((*pair, *targets)) for pair in select_tree(table, estimate, groups, rho, targets)]


def _largest_tree(domain: Domain, targets: Clique) -> list[Clique]:
    """Return the cliques of the spanning tree that takes the most cells."""
    others = [a for a in domain if a not in targets]
    if len(others) <= 2:
        return [domain.attributes]
    # A product of sizes is largest with the largest attribute: a star around it is a tree of the most cells.
    centre = max(others, key=lambda a: domain.size((a,)))
    return [domain.canonical((a, centre, *targets)) for a in others if a != centre]


def _line(measured: LinearMeasurement, step: int) -> dict[str, object]:
    return {"step": step, "clique": measured.clique, "answers": measured.values.size, "stddev": measured.stddev}
