"""Noisy measurements, and losses that compare marginals with them."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import pypgm
from pypgm.compat.mbi._engine import Bridge
from pypgm.compat.mbi.clique_utils import Cliques, clique_mapping, maximal_subset
from pypgm.compat.mbi.clique_vector import CliqueVector
from pypgm.compat.mbi.domain import Clique, Domain, as_clique
from pypgm.compat.mbi.factor import Factor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.estimation.loss import Loss

_MIN_STDDEV = 1e-12  # stands for exact answers, as in mbi
_MAX_PROBED_CELLS = 20_000  # cells of a table for which a foreign query is made a matrix


@dataclass(frozen=True, eq=False)
class DatavectorQuery:
    """All cells of a marginal."""

    use_for_total_estimation: bool = True

    def __call__(self, factor: Factor) -> NDArray[np.float64]:
        return factor.datavector()

    def op_norm_sq(self) -> float:
        return 1.0

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DatavectorQuery):
            return self.use_for_total_estimation == other.use_for_total_estimation
        return self.use_for_total_estimation and other is Factor.datavector  # the default of mbi 1.1

    def __hash__(self) -> int:
        return hash(Factor.datavector) if self.use_for_total_estimation else 0


@dataclass(frozen=True, eq=False)
class WeightedQuery:
    """All cells of a marginal, each times a weight."""

    weights: Any

    def __call__(self, factor: Factor) -> NDArray[np.float64]:
        return factor.datavector() * np.asarray(self.weights, dtype=np.float64).reshape(-1)

    def op_norm_sq(self) -> float:
        return float(np.square(np.asarray(self.weights)).max(initial=0.0))


@dataclass(frozen=True)
class SlicedQuery:
    """The cells of a marginal from a position on."""

    start: int = 1

    def __call__(self, factor: Factor) -> NDArray[np.float64]:
        return factor.datavector()[self.start :]

    def op_norm_sq(self) -> float:
        return 1.0


@dataclass(frozen=True, eq=False)
class LinearMeasurement:
    """Noisy answers to a linear query on the marginal of a clique.

    Examples
    --------
    >>> LinearMeasurement([3.0, 5.0], "a", 2.0).clique
    ('a',)
    """

    noisy_measurement: Any
    clique: Any
    stddev: float = 1.0
    query: Callable[[Factor], Any] = field(default_factory=DatavectorQuery)

    def __post_init__(self) -> None:
        object.__setattr__(self, "clique", as_clique(self.clique))

    def compress(self, mapping: Mapping[Any, Any], domain: Domain) -> LinearMeasurement:
        """Return the measurement of values mapped together: sums of cells, scaled to the same noise."""
        if not any(a in mapping for a in self.clique):
            return self
        images = [np.asarray(mapping.get(a, np.arange(domain[a]))) for a in self.clique]
        sizes = [int(image.max()) + 1 for image in images]
        cells = np.ravel_multi_index(np.meshgrid(*images, indexing="ij"), sizes).reshape(-1)
        sums = np.bincount(cells, np.asarray(self.noisy_measurement, dtype=np.float64).reshape(-1), np.prod(sizes))
        scale = 1 / np.sqrt(np.maximum(1, np.bincount(cells, minlength=sums.size)))
        return replace(self, noisy_measurement=sums * scale, query=WeightedQuery(scale))

    def engine(self, bridge: Bridge) -> pypgm.LinearMeasurement:
        """Return the measurement in the engine's form; ``ValueError`` if it does not fit or is not linear."""
        table = bridge.domain.project(self.clique)
        values = np.asarray(self.noisy_measurement, dtype=np.float64).reshape(-1)
        query = _as_query(self.query, table)
        answers = table.size() if query is None else query.shape[0]
        if values.size != answers:
            raise ValueError(f"the query on {self.clique} has {answers} answers, got {values.size}")
        stddev = float(self.stddev)
        if stddev == 0:
            warnings.warn(f"stddev 0 of {self.clique} is taken for {_MIN_STDDEV}", stacklevel=2)
            stddev = _MIN_STDDEV
        return pypgm.LinearMeasurement(values, bridge.clique(self.clique), stddev, query)


def _as_query(query: Callable[[Factor], Any], table: Domain) -> pypgm.queries.LinearQuery | None:
    """Return a query of mbi as one of the engine's, None for every cell; a foreign callable is probed."""
    from scipy import sparse

    cells = table.size()
    if isinstance(query, DatavectorQuery) or query is Factor.datavector:
        return None
    if isinstance(query, WeightedQuery):
        return pypgm.queries.Matrix(sparse.diags_array(np.asarray(query.weights, dtype=np.float64).reshape(-1)).tocsr())

    def answers(values: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(query(Factor(table, values)), dtype=np.float64).reshape(-1)

    if answers(np.zeros(cells)).any():
        raise ValueError(f"the query on {table.attributes} is not linear: it does not send 0 to 0")
    chosen = answers(np.arange(1, cells + 1))
    matrix: pypgm.queries.Matrix
    if (
        (chosen == np.round(chosen)).all()
        and set(chosen) <= set(range(1, cells + 1))
        and len(set(chosen)) == chosen.size
    ):
        matrix = pypgm.queries.Subset(chosen.astype(np.int64) - 1, cells)
    elif cells <= _MAX_PROBED_CELLS:
        columns = [sparse.csc_array(answers(unit)[:, None]) for unit in np.eye(cells)]
        matrix = pypgm.queries.Matrix(sparse.hstack(columns).tocsr())
    else:
        raise ValueError(f"the query on {table.attributes} is foreign, and {cells} cells are too many to probe it")
    for seed in range(2):
        values = np.random.default_rng(seed).normal(size=cells)
        if not np.allclose(matrix.matvec(values), answers(values), atol=1e-6 * np.sqrt(cells)):
            raise ValueError(f"the query on {table.attributes} is not linear")
    return matrix


class Stated(NamedTuple):
    """A loss in the engine's form."""

    measurements: list[pypgm.LinearMeasurement]
    loss: Loss


@dataclass(frozen=True, eq=False)
class MarginalLossFn:
    """A loss of marginals over cliques: of the marginals, or of these and data.

    A user's own loss is used if it returns its value and its gradient, a number and a `CliqueVector`.
    """

    cliques: Any
    loss_fn: Callable[..., Any]
    data: Any = ()
    lipschitz: float | None = 1.0
    stated: Callable[[Bridge], Stated] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cliques", Cliques(map(as_clique, self.cliques)))

    def __call__(self, marginals: Any) -> Any:
        wanted = [p for p in inspect.signature(self.loss_fn).parameters.values() if p.default is p.empty]
        return self.loss_fn(marginals) if len(wanted) < 2 else self.loss_fn(marginals, self.data)


def from_linear_measurements(
    measurements: Iterable[LinearMeasurement],
    *options: Any,
    norm: str = "l2",
    normalize: bool = False,
    domain: Domain | None = None,
) -> MarginalLossFn:
    """Return half the squares, or the absolute values, of residuals in units of the noise, as a loss.

    Parameters
    ----------
    measurements : list of LinearMeasurement
    *options
        A domain, the norm and whether to normalise, in the order of either release.
    norm : {"l2", "l1"}
    normalize : bool
        Whether the loss is divided by the numbers of records and measurements.
    domain : Domain, optional
        The domain, from which the smoothness follows.
    """
    answers = list(measurements)
    domain = next((o for o in options if isinstance(o, Domain)), domain)
    norm = next((o for o in options if isinstance(o, str)), norm)
    normalize = next((o for o in options if isinstance(o, bool)), normalize)
    if norm not in {"l1", "l2"}:
        raise ValueError(f"Unknown norm {norm}.")

    def loss(marginals: Any) -> Any:
        parts = [np.asarray(m.query(marginals.project(m.clique))) - np.asarray(m.noisy_measurement) for m in answers]
        scaled = [part / max(float(m.stddev), _MIN_STDDEV) for part, m in zip(parts, answers, strict=True)]
        value = sum(float((np.square(r) / 2 if norm == "l2" else np.abs(r)).sum()) for r in scaled)
        if not normalize or not answers:
            return np.float64(value)
        value /= len(answers) * float(marginals.project(()))
        return np.float64(np.sqrt(value) if norm == "l2" else value)

    def stated(bridge: Bridge) -> Stated:
        engine = [m.engine(bridge) for m in answers if m.clique]
        return Stated(engine, pypgm.losses.L2(engine) if norm == "l2" else pypgm.losses.L1(engine))

    loss_fn = MarginalLossFn(maximal_subset(m.clique for m in answers), loss, stated=stated)
    if norm != "l2" or normalize or domain is None:
        return loss_fn
    smoothness = calculate_l2_lipschitz_from_metadata(domain, answers)
    if smoothness is None:
        smoothness = calculate_l2_lipschitz(domain, list(loss_fn.cliques), loss_fn)
    return replace(loss_fn, lipschitz=smoothness)


def calculate_l2_lipschitz_from_metadata(domain: Domain, measurements: Sequence[LinearMeasurement]) -> float | None:
    """Return a bound of the largest curvature from the norms of queries; None if one norm is unknown."""
    homes = clique_mapping(maximal_subset(m.clique for m in measurements), [m.clique for m in measurements], domain)
    sums = dict.fromkeys(homes.values(), 0.0)
    for m in measurements:
        norm = 1.0 if m.query is Factor.datavector else getattr(m.query, "op_norm_sq", lambda: None)()
        if norm is None:
            return None
        home = homes[m.clique]
        variance = max(float(m.stddev), _MIN_STDDEV) ** 2
        sums[home] += norm / variance * domain.size(home) / domain.size(m.clique)
    return max(sums.values(), default=1.0)


def calculate_l2_lipschitz(domain: Domain, cliques: Sequence[Clique], loss_fn: MarginalLossFn) -> float:
    """Return the largest curvature of a measured L2 loss over tables of cliques, by Lanczos' method."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    bridge = Bridge.of(domain)
    if loss_fn.stated is None:
        raise TypeError("the largest curvature is known only for losses from measurements")
    tables = bridge.vector(Factor.zeros(domain.project(c)) for c in cliques)
    evaluate = loss_fn.stated(bridge).loss.on(bridge.engine, tables.cliques)
    at_zero, n = evaluate(tables.values)[1].copy(), tables.values.size
    curvature = LinearOperator((n, n), matvec=lambda x: evaluate(x.reshape(-1))[1] - at_zero)
    if n < 2:
        return float(curvature.matvec(np.ones(n)).sum())
    return float(eigsh(curvature, 1, v0=np.linspace(0.5, 1.5, n), return_eigenvectors=False)[0])


def mle_loss_fn(marginals: CliqueVector) -> MarginalLossFn:
    """Return the negative log-likelihood of records with given marginals."""
    cliques = list(marginals.cliques)

    def loss(estimated: Any) -> float:
        return -sum(marginals[c].dot(estimated.project(c).log()) for c in cliques)

    def stated(bridge: Bridge) -> Stated:
        target = bridge.vector(marginals[c] for c in cliques)

        def surprise(estimated: pypgm.CliqueVector) -> tuple[float, pypgm.CliqueVector]:
            known = np.maximum(estimated.values, 1e-100)
            return -float(target.values @ np.log(known)), estimated.like(-target.values / known)

        return Stated([], pypgm.losses.Custom(surprise, target.cliques))

    return MarginalLossFn(cliques, loss, stated=stated)


def primal_feasibility(mu: CliqueVector) -> float:
    """Return the disagreement of marginals on shared attributes: mean L1 distance by mean sum."""
    distances, sums = [], []
    for i, a in enumerate(mu.cliques):
        for b in mu.cliques[:i]:
            shared = tuple(x for x in a if x in b)
            if shared:
                one, other = (mu[c].project(shared).datavector() for c in (a, b))
                distances.append(np.abs(one - other).sum())
                sums.append(one.sum())
    return float(np.mean(distances) / np.mean(sums)) if distances else 0.0
