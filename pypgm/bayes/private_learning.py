"""Private learning of the conditional tables of a known structure, each with its share of the budget."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pypgm._base.numeric import check_choice
from pypgm.bayes.checks import children_of, ordered
from pypgm.bayes.conditional_tables import ConditionalTables
from pypgm.bayes.counted import CountedNetwork
from pypgm.bayes.learning import checked_families, rows_of
from pypgm.bayes.network import BayesianNetwork
from pypgm.bayes.network_release import NAME, NetworkRelease, pooled
from pypgm.bayes.private_structure import MOST_EPSILON, PrivateStructure, measured_total, select_parents
from pypgm.bayes.structure import Structure, parents_of
from pypgm.domain import Clique, Domain
from pypgm.errors import ModelTooLargeError
from pypgm.estimation import LinearMeasurement
from pypgm.estimation.limits import LIMIT_DEFAULTS, Limits
from pypgm.estimation.methods import check_estimate_fits
from pypgm.estimation.total import estimate_total
from pypgm.graphs import JunctionTree, RegionGraph
from pypgm.models._estimate import estimated
from pypgm.privacy.arguments import as_budget, gaussian_budget
from pypgm.privacy.entry import Entry, LearnerOptions
from pypgm.privacy.laws import amplified_epsilon
from pypgm.privacy.private_table import Counts, PrivateTable
from pypgm.privacy.rational import Number, as_fraction, round_down
from pypgm.privacy.tables import takes_any_table
from pypgm.queries import Identity
from pypgm.reconstruction.consistency import consistent

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from pypgm.data.sources.frames import Frame


ErrorModel = Literal["delta", "paper"]

_SHARE_BITS = 32  # shares are multiples of 2^-32: as near to the optimum, and scales that the sampler takes exactly
_MIN_SHARE = 1e-3  # part of an equal share: no table is left without any budget


def structural_weights(
    domain: Domain, parents: Mapping[str, Clique], derivatives: Mapping[str, float]
) -> NDArray[np.float64]:
    r"""Return the weight W = (h + 1)(o + 1)(Delta + 1) of each attribute: how much of the network rests on its table.

    Parameters
    ----------
    domain, parents
        The structure; h is the length of the longest directed path down from an attribute, o its number of children.
    derivatives : mapping of str to float
        Delta: how much the children's probabilities change with the table, see `mean_derivatives` and `co_varied`.

    Examples
    --------
    >>> from pypgm import Domain
    >>> structural_weights(Domain({"a": 2, "b": 2}), {"a": (), "b": ("a",)}, {"a": 0.5, "b": 0.0})
    array([6., 1.])
    """
    children = children_of(domain, parents)
    height: dict[str, int] = {}
    for a in reversed(ordered(domain, parents)):
        height[a] = max((height[c] + 1 for c in children[a]), default=0)
    return np.array([(height[a] + 1.0) * (len(children[a]) + 1) * (derivatives[a] + 1) for a in domain])


def mean_derivatives(domain: Domain, parents: Mapping[str, Clique]) -> dict[str, float]:
    r"""Return the mean of :math:`\partial P(y) / \partial\theta(x \mid p)` over p, x, children Y and y; 0 of a leaf.

    The derivatives of one child sum to P(p) over y, and over p to 1: the mean is the mean of 1 / size over the
    children, divided by the number of the parents' values. It depends only on the structure.
    """
    means = {}
    for a, children in children_of(domain, parents).items():
        inverse = [1 / domain.size(c) for c in children]
        means[a] = sum(inverse) / len(inverse) / domain.size(parents[a]) if children else 0.0
    return means


def co_varied(network: BayesianNetwork, max_bytes: float | None = None) -> dict[str, float]:
    r"""Return the mean of :math:`|\mathrm d P(y) / \mathrm d\theta(x \mid p)|` when the rest of a row compensates.

    The other values of the row shrink or grow in proportion, so that it keeps its sum:
    :math:`P(p)\,|P(y \mid x, p) - P(y \mid \lnot x, p)|`, in the mean over p, x, children Y and y; 0 of a leaf.

    Raises
    ------
    ModelTooLargeError
        If the table of a family and a child does not fit; that depends only on the structure.
    """
    averages = {}
    for a, children in children_of(network.domain, network.parents).items():
        means = []
        for child in children:
            scope = (*network.parents[a], a, child)
            joint = network.query(scope, max_bytes=max_bytes).values
            means.append(_co_varied(joint.reshape(-1, *joint.shape[-2:])))
        averages[a] = float(np.mean(means)) if means else 0.0
    return averages


def _co_varied(joint: NDArray[np.float64]) -> float:
    """Return the mean for probabilities of axes (values of the parents, x, y)."""
    of_parents = joint.sum(axis=(1, 2), keepdims=True)
    with_x = joint.sum(axis=2, keepdims=True)
    rest = joint.sum(axis=1, keepdims=True) - joint
    without_x = of_parents - with_x
    both = (with_x > 0) & (without_x > 1e-12 * of_parents)  # else no other value can compensate
    difference = joint / np.where(both, with_x, 1.0) - rest / np.where(both, without_x, 1.0)
    return float((of_parents * np.where(both, np.abs(difference), 0.0)).mean())


def error_coefficient(counts: NDArray[np.float64], stddev: float, model: ErrorModel) -> float:
    r"""Return the mean standard deviation of a conditional table, up to a factor that all tables share.

    "delta" is :math:`\sqrt{(1 - \theta)^2 + (|X| - 1) \theta^2} / T_p`, that of the ratio of a cell to its row if each
    cell has independent noise; "paper" is :math:`\sqrt{1 + \theta^2} / T_p`, which ignores the correlation.

    Parameters
    ----------
    counts : ndarray of float64, shape (sizes of the parents, size of the attribute)
        Noisy counts, of any sign.
    stddev : float
        Standard deviation of their noise, in counts; a row's T is at least that of its sum, and at least 1.
    model : {"delta", "paper"}
    """
    positive = np.maximum(counts, 0.0)
    theta, size = rows_of(positive), counts.shape[-1]
    rows = np.maximum(positive.sum(axis=-1, keepdims=True), max(1.0, stddev * size**0.5))
    squared = 1 + theta**2 if model == "paper" else (1 - theta) ** 2 + (size - 1) * theta**2
    return float((np.sqrt(squared) / rows).mean())


def shares(weights: Sequence[float] | NDArray[np.float64], unit: Literal["epsilon", "rho"]) -> list[Fraction]:
    r"""Return the parts of a budget that minimise the sum of weight / epsilon over tables.

    If epsilons sum to the budget, parts are in proportion to the square root of the weights; if their squares do (rho),
    to the power 2/3. No part is below a thousandth of an equal part, but for rounding.

    Parameters
    ----------
    weights : sequence of float, at least 0
    unit : {"epsilon", "rho"}
        Unit of the budget.

    Returns
    -------
    list of Fraction
        Multiples of 2^-32, more than 0, whose sum is exactly 1.

    Examples
    --------
    >>> shares([1, 4, 4], "epsilon")[0] == Fraction(round(2**32 / 5), 2**32)
    True
    """
    return _in_proportion(np.asarray(weights, dtype=np.float64) ** (1 / 2 if unit == "epsilon" else 2 / 3))


def shares_by_size(cells: Sequence[int], records: float, stddev: float) -> list[Fraction]:
    r"""Return parts of a budget in proportion to :math:`\min(c, N / 4\sigma)^{1/3}` for tables of c cells.

    A table of more cells has fewer records in each, and gets more, up to the size that noise would fill anyway. The sum
    of all errors of equal-sized cells alone would suggest a power of 1/2, which is too steep, since counts that noise
    makes negative are known to be 0.

    Parameters
    ----------
    cells : sequence of int
        Number of cells of each table.
    records : float
        Number of records, N; of any sign if it is a noisy count.
    stddev : float
        Standard deviation of the noise in a cell if all parts were equal, in counts.

    Returns
    -------
    list of Fraction
        See `shares`.

    Examples
    --------
    >>> small, large = shares_by_size([2, 16], 10**6, 10.0)
    >>> round(float(large / small), 6)
    2.0
    """
    most = max(1.0, records / (4 * stddev))
    return _in_proportion(np.minimum(np.asarray(cells, dtype=np.float64), most) ** (1 / 3))


def _in_proportion(power: NDArray[np.float64]) -> list[Fraction]:
    """Return parts in proportion to numbers, as `shares` describes them."""
    wanted = power / power.sum() if power.sum() > 0 else np.full(power.size, 1 / power.size)
    wanted = np.maximum(wanted, _MIN_SHARE / wanted.size)
    parts = [max(1, round(w * 2**_SHARE_BITS)) for w in wanted / wanted.sum()]
    parts[int(np.argmax(parts))] += 2**_SHARE_BITS - sum(parts)
    return [Fraction(part, 2**_SHARE_BITS) for part in parts]


Allocation = Literal["sizes", "data-dependent", "uniform"]
Consistency = Literal["variance", "epsilon"]
Sensitivity = Literal["covary", "paper"]
Estimator = Literal["model", "tables"]
Law = Literal["laplace", "gaussian"]

_BITS = 40
_TOTAL = Fraction(1, 200)  # share of the budget for the number of records if that is private: shares hardly need it
_EXACT_BYTES = 1 << 28  # cells of a junction tree: an estimate makes hundreds of passes over it


@dataclass(frozen=True, slots=True)
class _Scheme:
    """Scheme of a private learner: its use of the budget and of the measurements."""

    stage_one: Fraction
    sampling: Fraction
    allocation: Allocation
    consistency: Consistency | None
    error_model: ErrorModel
    sensitivity: Sensitivity | None
    estimator: Estimator
    noise: Law | None
    paper: bool = False

    def __post_init__(self) -> None:
        for name, choices in (
            ("allocation", get_args(Allocation)),
            ("consistency", (*get_args(Consistency), None)),
            ("error_model", get_args(ErrorModel)),
            ("sensitivity", (*get_args(Sensitivity), None)),
            ("estimator", get_args(Estimator)),
            ("noise", (*get_args(Law), None)),
        ):
            check_choice(name, getattr(self, name), choices)
        if not 0 < self.stage_one < 1:
            raise ValueError(f"stage_one must lie between 0 and 1, got {self.stage_one}")
        if not 0 < self.sampling <= 1:
            raise ValueError(f"sampling must lie in (0, 1], got {self.sampling}")
        if self.allocation != "data-dependent" and not self.paper:
            names = ("stage_one", "sampling", "error_model", "sensitivity")
            given = [name for name in names if getattr(self, name) != _STAGES[name]]
            if given:
                options = f"{', '.join(given)} {'is' if len(given) == 1 else 'are'} of allocation='data-dependent'"
                raise ValueError(f"{options}, got allocation={self.allocation!r}")

    def with_noise_of(self, unit: str) -> _Scheme:
        """Return the scheme with the noise of least error under a budget of a unit, unless one was requested."""
        if self.noise is not None:
            return self
        return replace(self, noise="gaussian" if unit == "rho" and self.sampling == 1 else "laplace")


_STAGES = {"stage_one": Fraction(1, 10), "sampling": Fraction(1), "error_model": "delta", "sensitivity": None}
_DEFAULT = _Scheme(Fraction(1, 10), Fraction(1), "sizes", "variance", "delta", None, "model", None)
_PAPER = _Scheme(
    Fraction(1, 10), Fraction(1, 10), "data-dependent", "epsilon", "paper", "paper", "tables", "laplace", True
)


def _known_by_network(call: Mapping[str, Any]) -> Domain | None:
    """Return the domain of a structure that is a network or its file, whose values are public."""
    structure = call.get("structure")
    if isinstance(structure, str | os.PathLike):
        structure = ConditionalTables.read_bif(structure)
    return structure.domain if isinstance(structure, ConditionalTables) else None


@takes_any_table(LearnerOptions, LIMIT_DEFAULTS, known_by=_known_by_network)
def learn_private(
    data: Counts | PrivateTable | Frame,
    structure: Structure | PrivateStructure,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    stage_one: Number = _DEFAULT.stage_one,
    sampling: Number = _DEFAULT.sampling,
    allocation: Allocation = _DEFAULT.allocation,
    consistency: Consistency | None = _DEFAULT.consistency,
    error_model: ErrorModel = _DEFAULT.error_model,
    sensitivity: Sensitivity | None = _DEFAULT.sensitivity,
    estimator: Estimator = _DEFAULT.estimator,
    noise: Law | None = _DEFAULT.noise,
    paper: bool = False,
    **options: Unpack[LearnerOptions],
) -> NetworkRelease:
    r"""Release the conditional tables of a structure, each with the part of the budget it deserves.

    The counts of every attribute with its parents are measured, larger tables with more of the budget: in proportion to
    :math:`\min(c, N / 4\sigma)^{1/3}` for a table of c cells, N records and noise :math:`\sigma` under equal parts. The
    conditional tables are read from one model of all measurements, or one by one.

    Parameters
    ----------
    data : Dataset, PrivateTable, or any table with `schema`
        Unweighted records, possibly none; an open table spends all that its ledger has left. The values of a table
        are public: those of `schema` or, without one, of a structure that is a network or its file; values are learned
        from the records only privately, if the schema leaves them open.
    structure : BayesianNetwork, networkx.DiGraph, mapping, sequence of pairs, or path
        Public: a network or the path of a BIF file, whose tables are ignored; a directed graph; the parents of each
        child; or arcs (parent, child). With a `PrivateStructure` it is chosen from the records first, for part of the
        budget; the budget below is then the rest.
    epsilon, delta : number
        The guarantee; a float means its shortest decimal. Without `delta` it is pure.
    stage_one : number
        Part of the budget that the first stage of a data-dependent allocation gets, between 0 and 1.
    sampling : number
        Chance of each record to take part in the first stage. Below 1, the first stage has the noise of a larger
        epsilon, but its counts shrink even more; needs add-remove neighbours with one record per person.
    allocation : {"sizes", "data-dependent", "uniform"}
        "sizes" gives larger tables more, and a two-hundredth of the budget to the number of records if that is private.
        "uniform" gives every table the same. "data-dependent" has two stages: the first measures all tables with equal
        parts of a small budget; these noisy counts show how far noise moves each conditional table, and the second
        stage measures all tables again, with parts of the rest that minimise the sum of their errors, weighted by
        `sensitivity` if given. Each row of a table counts the same; under a pure budget the first stage costs more than
        the second gains.
    consistency : {"variance", "epsilon"}, optional
        Weights of the tables when they are made to agree, if the estimator is "tables": by the inverse of their
        variance or by the square root of it. None leaves them unchanged.
    error_model : {"delta", "paper"}
        Forecast of a table's error: with or without the correlation of a cell with its row.
    sensitivity : {"covary", "paper"}, optional
        None gives the errors of all tables the same weight. Otherwise a table weighs more if it has more children and
        descendants, and if the probabilities of its children change more with it: "covary" takes the change when the
        other values of a row compensate, "paper" the mean of the partial derivatives, which depends on the structure
        alone.
    estimator : {"model", "tables"}
        Whether conditional tables are read from one model estimated from all measurements, or each from its own counts:
        made consistent, negative ones set to 0, rows divided by their sums. "tables" replaces a model that does not fit
        the memory if the structure was chosen, and budget spent, before that was known.
    noise : {"laplace", "gaussian"}, optional
        Exact discrete noise; "gaussian" needs a `delta` or a rho, and is the default there unless `sampling` is below
        1. A sampled first stage has Laplace noise in any case.
    paper : bool
        The algorithm as published, with the noise its guarantee needs: a first stage on a tenth of the records,
        "epsilon" consistency of normalised tables, the paper's error and sensitivity, tables one by one, Laplace noise.
        All options above then stay at their defaults, except ``allocation="uniform"``: the paper's D-Ind, equal parts
        for all tables of all records.
    **options
        `schema`, public knowledge of the columns of a table; `budget`, instead of epsilon and delta,
        `neighbours`, `privacy` and `unsafe_seed`, see `pypgm.privacy.PrivateOptions`; and the limits of the
        estimate, `time_limit` and all others of `pypgm.estimation.Limits`. `max_bytes` and `n_threads` are those of
        everything else too.

    Returns
    -------
    NetworkRelease
        A release whose model is a `CountedNetwork`, with `allocation` and `standard_error(attribute)`.

    Raises
    ------
    ValueError
        If the structure does not fit the domain or has a circle, the domain has no attributes, an option is out of
        range or set beside `paper`, the records are weighted, sampling is asked for neighbours it does not protect,
        Gaussian noise for a pure budget, or "covary" for a structure that is not known yet.
    BudgetError
        If all of the budget of an open table was spent.
    TypeError
        If the budget or the relation is given twice or not at all, the structure is of another type, or nothing states
        the values of a table.
    ModelTooLargeError
        If a table does not fit the memory available. All of these are raised before anything is spent.

    References
    ----------
    Chowdhury, Rekatsinas and Jha 2020, "Data-Dependent Differentially Private Parameter Learning for Directed
    Graphical Models".

    Examples
    --------
    >>> from pypgm import Dataset, Domain
    >>> data = Dataset({"rain": [0, 0, 0, 1] * 250, "wet": [0, 0, 1, 1] * 250}, Domain({"rain": 2, "wet": 2}))
    >>> release = learn_private(data, [("rain", "wet")], epsilon=1)
    >>> release.model.parents["wet"], sum(release.allocation.values())
    (('rain',), Fraction(199, 200))
    """
    numbers = as_fraction("stage_one", stage_one), as_fraction("sampling", sampling)
    scheme = _Scheme(*numbers, allocation, consistency, error_model, sensitivity, estimator, noise)
    if paper:
        if replace(scheme, allocation="sizes") != _DEFAULT or allocation == "data-dependent":
            needed = "paper=True sets the options of the scheme itself: leave them at their defaults"
            raise ValueError(f"{needed}, but for allocation='uniform'")
        scheme = replace(_PAPER, allocation="uniform", sampling=Fraction(1)) if allocation == "uniform" else _PAPER
    budget_of = partial(gaussian_budget, NAME) if scheme.noise == "gaussian" else as_budget
    entry = Entry(NAME, data, epsilon, delta, options, names=_Scheme.__slots__, budget_of=budget_of)
    table, limits = entry.table, entry.limits
    scheme = scheme.with_noise_of(table.ledger.budget.unit)
    if scheme.sampling < 1 and (table.privacy.total_is_public or table.privacy.records_per_person != 1):
        raise ValueError("sampling below 1 (paper=True has it) needs neighbours='add-remove' and one record per person")
    learner, measurements = _prepared(table, structure, scheme, limits.max_bytes)
    measurements += learner.measure(table, measurements)
    total = table.public_total
    entry.close()
    return entry.issued(NetworkRelease, learner.estimate(measurements, total, limits), measurements)


def _prepared(
    table: PrivateTable, structure: Structure | PrivateStructure, scheme: _Scheme, max_bytes: float | None
) -> tuple[_Learner, list[LinearMeasurement]]:
    """Return the learner of a table, and the measurements made to choose the structure; all checks come before."""
    if not isinstance(structure, PrivateStructure):
        return _Learner(table.domain, structure, scheme, max_bytes), []
    if scheme.sensitivity == "covary":
        raise ValueError("sensitivity='covary' needs a known structure: its memory depends on it")
    _Learner(table.domain, {}, scheme, max_bytes)
    parents, measured = select_parents(table, structure)
    try:
        return _Learner(table.domain, parents, scheme, max_bytes), measured
    except ModelTooLargeError:  # budget has been spent by now: the estimator of least memory takes the model's place
        return _Learner(table.domain, parents, replace(scheme, estimator="tables"), max_bytes), measured


def measure_family(table: PrivateTable, family: Clique, amount: Fraction, law: Law) -> LinearMeasurement:
    """Measure a table for an amount of the budget."""
    cells = max(2, table.domain.size(family))  # a table of one cell, which would cost nothing, gets the same noise
    if law == "gaussian":
        squared = table.privacy.squared_l2_sensitivity(Identity(cells))
        return table.measure(family, variance=table.ledger.variance_of(amount, squared))
    epsilon = table.ledger.epsilon_of(amount)
    return table.measure(family, scale=table.privacy.l1_sensitivity(Identity(cells)) / min(epsilon, MOST_EPSILON))


def _stddev(table: PrivateTable, amount: Fraction, law: Law) -> float:
    """Return the standard deviation of the noise on a count that is measured for an amount of the budget."""
    cell = Identity(2)
    if law == "gaussian":
        return math.sqrt(table.ledger.variance_of(amount, table.privacy.squared_l2_sensitivity(cell)))
    return math.sqrt(2) * float(table.privacy.l1_sensitivity(cell) / table.ledger.epsilon_of(amount))


class _Learner:
    """The structure and the scheme; it holds no records."""

    def __init__(self, domain: Domain, structure: Structure, scheme: _Scheme, max_bytes: float | None) -> None:
        if len(domain) == 0:
            raise ValueError("a network needs at least one attribute")
        self._domain, self._scheme, self._max_bytes = domain, scheme, max_bytes
        self._parents = parents_of(domain, structure)
        self._families = list(checked_families(domain, self._parents, max_bytes).values())
        # Tables beyond the memory raise here, on uniform tables, before anything is spent.
        self._importance([np.ones(domain.sizes(f)) for f in self._families])
        self._oracle = self._planned() if scheme.estimator == "model" else "exact"

    def measure(self, table: PrivateTable, known: Sequence[LinearMeasurement] = ()) -> list[LinearMeasurement]:
        """Measure in one or two stages; return the measurements of all records, apart from the known ones."""
        law = self._scheme.noise
        assert law is not None
        n, unit, limit = len(self._families), table.ledger.budget.unit, table.ledger.remaining()
        if self._scheme.allocation == "uniform":
            return [measure_family(table, f, limit / n, law) for f in self._families]
        if self._scheme.allocation == "sizes":
            totals = [m for m in known if not m.clique]
            counted = [] if totals or table.public_total is not None else [measured_total(table, limit * _TOTAL)]
            # A likely lower bound of a noisy number: if it is noise alone, parts are equal.
            known_well = [float(m.values[0] - np.mean(m.stddev)) for m in (*totals, *counted)]
            records = known_well[0] if known_well else float(table.public_total or 0)
            cells, rest = [self._domain.size(f) for f in self._families], table.ledger.remaining()
            parts = shares_by_size(cells, records, _stddev(table, rest / n, law))
            families = zip(self._families, parts, strict=True)
            return counted + [measure_family(table, f, rest * p, law) for f, p in families]
        first = limit * self._scheme.stage_one
        if self._scheme.sampling < 1:
            seen, kept = self._sampled(table, first), []
        else:
            seen = [measure_family(table, f, first / n, law) for f in self._families]
            kept = seen
        parts, rest = shares(self._weights(seen), unit), table.ledger.remaining()
        return kept + [measure_family(table, f, rest * p, law) for f, p in zip(self._families, parts, strict=True)]

    def _sampled(self, table: PrivateTable, amount: Fraction) -> list[LinearMeasurement]:
        """Measure one sample of the records, all tables on the same one, for an amount of the budget."""
        rate = self._scheme.sampling
        epsilon = table.ledger.epsilon_of(amount)
        inner = _inner_epsilon(rate, epsilon)
        with table.subsample(rate, epsilon=inner) as sample:
            scale = 1 / min(inner / len(self._families), MOST_EPSILON)
            return [sample.measure(f, scale=scale) for f in self._families]

    def _weights(self, seen: list[LinearMeasurement]) -> list[float]:
        """Return the weights of the shares, from noisy counts only."""
        counts = [m.values.reshape(self._domain.sizes(m.clique)).astype(np.float64) for m in seen]
        weights = self._importance(counts)
        coefficients = [
            error_coefficient(c, float(np.mean(m.stddev)), self._scheme.error_model)
            for c, m in zip(counts, seen, strict=True)
        ]
        return [float(w * c) for w, c in zip(weights, coefficients, strict=True)]

    def _importance(self, counts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the importance of each table for the network; equal unless a sensitivity is requested."""
        domain, parents, sensitivity = self._domain, self._parents, self._scheme.sensitivity
        if sensitivity is None or self._scheme.allocation != "data-dependent":
            return np.ones(len(self._families))
        if sensitivity == "paper":
            return structural_weights(domain, parents, mean_derivatives(domain, parents))
        network = BayesianNetwork(domain, parents, self._rows(counts))
        return structural_weights(domain, parents, co_varied(network, self._max_bytes))

    def _rows(self, counts: list[NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
        return {a: rows_of(np.maximum(c, 0.0)) for a, c in zip(self._domain, counts, strict=True)}

    def estimate(self, measurements: list[LinearMeasurement], total: int | None, limits: Limits) -> CountedNetwork:
        """Return the network that explains released counts best."""
        # Where there are publicly no records the answers are noise alone. Tables come first: what validates them is
        # then the same with and without a noisy total.
        fitted = [] if total == 0 else sorted(measurements, key=lambda m: not m.clique)
        records = float(total) if total is not None else estimate_total(self._domain, measurements)[0]
        fit = None
        if self._scheme.estimator == "tables":
            counts = self._tables(measurements)
        else:
            model = estimated(self._domain, fitted, total, self._oracle if fitted else "exact", limits)
            counts, fit = [model.project(f).values for f in self._families], model.fit
        return CountedNetwork(self._domain, self._parents, self._rows(counts), total=records, fit=fit)

    def _planned(self) -> Literal["exact"] | RegionGraph:
        """Return the plan of the estimate: exact, or on a graph of regions if the junction tree is large."""
        allowed = _EXACT_BYTES if self._max_bytes is None else min(_EXACT_BYTES, self._max_bytes / 4)
        try:
            tree = JunctionTree(self._domain, self._families, max_bytes=allowed)
            each = [LinearMeasurement(np.zeros(self._domain.size(f)), f) for f in self._families]
            check_estimate_fits(tree, 2 * each, "accelerated", self._max_bytes)
        except ModelTooLargeError:
            return RegionGraph.saturated(self._domain, self._families, max_bytes=self._max_bytes)
        return "exact"

    def _tables(self, measurements: list[LinearMeasurement]) -> list[NDArray[np.float64]]:
        """Return the counts of each family on its own, made consistent as the scheme says."""
        pools = [pooled(measurements, f) for f in self._families]
        counts = [c.reshape(self._domain.sizes(f)) for f, (c, _) in zip(self._families, pools, strict=True)]
        if self._scheme.consistency is None:
            return counts
        if self._scheme.paper:
            counts = [_normalised(c) for c in counts]
        precisions = [v**-1.0 if self._scheme.consistency == "variance" else v**-0.5 for _, v in pools]
        if self._scheme.consistency == "epsilon":  # the weights are for tables, not for their sums
            return consistent(self._domain, self._families, counts, precisions, by_cells=False)
        return consistent(self._domain, self._families, counts, precisions)


def _normalised(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return rows_of(np.maximum(counts, 0.0).reshape(-1)).reshape(counts.shape)


def _inner_epsilon(rate: Fraction, epsilon: Fraction) -> Fraction:
    """Return an epsilon on a sample that costs the records at most `epsilon`, and little less."""
    outer, share = float(epsilon), float(rate)
    amplified = outer - math.log(share) + math.log1p((share - 1) * math.exp(-outer))
    inner = round_down(Fraction(amplified), _BITS)
    while amplified_epsilon(rate, inner) > epsilon:
        inner = round_down(inner * (1 - Fraction(1, 1 << 20)), _BITS)
    return inner
