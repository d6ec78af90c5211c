"""Records with weights as a model: those of a table, or public ones whose marginals become those measured."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm._base.clock import Clock
from pypgm._base.numeric import as_generator, checked_integer, checked_real
from pypgm.clique_vector import CliqueVector
from pypgm.data import Dataset
from pypgm.domain import Clique, as_clique, check_kind
from pypgm.errors import ImpossibleEvidenceError
from pypgm.estimation import LinearMeasurement
from pypgm.estimation.fit import Fit
from pypgm.estimation.total import estimate_total
from pypgm.factor import Factor
from pypgm.files.stored_model import CountedModel, domain_of, fields_of
from pypgm.graphs.evidence import Evidence, log_likelihoods
from pypgm.reconstruction.marginals import at_least_one


def reweight(
    public: Dataset,
    measurements: Iterable[LinearMeasurement],
    total: float | None = None,
    *,
    iterations: int = 100,
    time_limit: float | None = None,
    progress: bool = False,
) -> WeightedRecords:
    r"""Return public records with the weights that explain measurements of private ones best.

    The loss :math:`\frac12 \sum_i \lVert (Q_i \mu_i - y_i) / \sigma_i \rVert^2` is minimised over positive weights of a
    given sum, by L-BFGS in their logarithms from equal weights. Few iterations keep them near these. Combinations
    without a public record stay impossible.

    Parameters
    ----------
    public : Dataset
        Public records, at least one; weights of theirs are where the minimisation starts.
    measurements : sequence of LinearMeasurement
        Measurements of any queries.
    total : float, optional
        Number of private records; estimated from the measurements by default.
    iterations : int
        At most, at least 1.
    time_limit : float, optional
        Seconds, after which the weights are returned as they are.
    progress : bool
        Whether iterations are shown on standard error.

    Returns
    -------
    WeightedRecords

    Raises
    ------
    ValueError
        If there is no record or no measurement, a measurement does not fit the domain, no measurement determines the
        total, or a number is out of range.

    References
    ----------
    Liu, Vietri, Steinke, Ullman and Wu 2021, "Leveraging Public Data for Practical Private Query Release".

    Examples
    --------
    >>> from pypgm import Dataset, Domain, LinearMeasurement
    >>> public = Dataset({"a": [0, 0, 1], "b": [0, 1, 1]}, Domain({"a": 2, "b": 2}))
    >>> reweight(public, [LinearMeasurement([6, 2], "a")]).project("a").values.round(3)
    array([6., 2.])
    """
    from scipy.optimize import minimize

    check_kind("public", public, Dataset, "pypgm.Dataset(columns, domain)")
    if public.n_records == 0:
        raise ValueError("reweight needs at least one public record, got none")
    most = checked_integer("iterations", iterations, 1)
    with Clock("reweight", time_limit, progress) as clock, suppress(StopIteration):
        objective = _Objective(public, at_least_one(public.domain, measurements), total, clock)
        options: Any = {"maxiter": most}
        minimize(objective.look, np.zeros(public.n_records), jac=True, method="L-BFGS-B", options=options)
    return WeightedRecords(Dataset(public.columns, public.domain, weights=objective.weights(objective.best)))


class _Objective:
    """The loss of weights, as a function of their logarithms, and the best of these so far."""

    def __init__(
        self, public: Dataset, measurements: list[LinearMeasurement], total: float | None, clock: Clock
    ) -> None:
        domain = public.domain
        self._total = estimate_total(domain, measurements)[0] if total is None else checked_real("total", total)
        self._measured = [(m, _cells(public, m.clique)) for m in measurements]
        start = np.ones(public.n_records) if public.weights is None else public.weights
        self._start = start / start.sum()
        self.best = np.zeros(public.n_records)
        self._least = np.inf
        self._looks = 0
        self._clock = clock

    def weights(self, logs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return weights whose sum is the total."""
        raw = self._start * np.exp(logs - logs.max())
        return np.asarray(raw * (self._total / raw.sum()))

    def look(self, logs: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the loss and its gradient; ``StopIteration`` once the time is over."""
        weights = self.weights(logs)
        loss, slope = 0.0, np.zeros(weights.size)
        for m, cells in self._measured:
            query, precision = m.linear_map, m.weights()
            residual = query.matvec(np.bincount(cells, weights, query.shape[1])) - m.values
            loss += 0.5 * float((precision * residual**2).sum())
            slope += query.rmatvec(precision * residual)[cells]
        if loss < self._least:
            self._least, self.best = loss, logs.copy()
        self._looks += 1
        if self._clock.tick(lambda: f"{self._looks} looks, loss {self._least:.6g}"):
            raise StopIteration
        return loss, weights * (slope - weights @ slope / self._total)


def _cells(data: Dataset, clique: Clique) -> NDArray[np.int64]:
    """Return the cell of each record in the table of a clique."""
    cells = np.zeros(data.n_records, dtype=np.int64)
    for a in clique:
        cells = cells * data.domain.size((a,)) + data.columns[a]
    return cells


_KIND = "weighted records"


class WeightedRecords(CountedModel):
    """Records, each with a weight; none may be of a person to protect.

    Synthetic records are drawn from them with probabilities in proportion to their weights.

    Parameters
    ----------
    data : Dataset
        Records, each with its weight or with weight 1.

    Attributes
    ----------
    data : Dataset
    domain : Domain
    total : float
        Sum of the weights: the number of private records, estimated.
    fit : Fit or None
        Status of the mechanism if Ctrl-C ended it, without a loss; not in its file.
    not_private : str
        Why the model protects nobody; kept in its file.

    Examples
    --------
    >>> import pypgm
    >>> data = pypgm.Dataset({"a": [0, 1], "b": [1, 1]}, pypgm.Domain({"a": 2, "b": 2}), weights=[3.0, 1.0])
    >>> model = WeightedRecords(data)
    >>> model.project("a").values, model.query("a", {"b": 1}).values
    (array([3., 1.]), array([0.75, 0.25]))
    """

    def __init__(self, data: Dataset) -> None:
        self.data = data
        self.fit: Fit | None = None
        self.domain = data.domain
        self._weights = np.ones(data.n_records) if data.weights is None else data.weights
        self.total = float(self._weights.sum())
        self.not_private = ""

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """None: the records are no product of tables."""
        return ()

    @property
    def potentials(self) -> CliqueVector:
        """Potentials of no clique."""
        return CliqueVector(self.domain, [])

    def project(self, clique: str | Iterable[str]) -> Factor:
        """Return the table of any clique in counts, axes in the given order."""
        return self.data.project(clique)

    def query(self, targets: str | Iterable[str], evidence: Evidence | None = None) -> Factor:
        """Return the joint probabilities of some attributes, given evidence on others.

        Raises
        ------
        ImpossibleEvidenceError
            If no record agrees with the evidence.
        ValueError
            If an attribute, label or code is unknown.
        """
        self.domain.indices(as_clique(targets))
        counts = Dataset(self.data.columns, self.domain, self._given(evidence)).project(targets)
        return Factor.over(counts.domain, counts.datavector() / counts.datavector().sum())

    def _drawn(self, rows: int, rng: np.random.Generator | int | None, evidence: Evidence | None) -> Dataset:
        """Draw records with probabilities in proportion to their weights."""
        if rows == self.total == 0:  # the table has publicly no records
            return Dataset({a: column[:0] for a, column in self.data.columns.items()}, self.domain)
        weights = self._given(evidence)
        drawn = as_generator(rng).choice(weights.size, rows, p=weights / weights.sum())
        return Dataset({a: column[drawn] for a, column in self.data.columns.items()}, self.domain)

    def _given(self, evidence: Evidence | None) -> NDArray[np.float64]:
        """Return the weights of the records given the evidence."""
        weights: NDArray[np.float64] = self._weights.copy()
        for index, logs in log_likelihoods(self.domain, evidence):
            weights *= np.exp(logs)[self.data.columns[self.domain.attributes[index]]]
        if not weights.sum() > 0:
            raise ImpossibleEvidenceError("no record agrees with the evidence")
        return weights

    def archive(self) -> dict[str, Any]:
        """Return the fields of the file."""
        return fields_of(self, _KIND) | {"columns": [*self.data.columns.values()], "weights": self._weights}

    def __repr__(self) -> str:
        return f"WeightedRecords({self.data.n_records} records, total {self.total:.6g})"


def weighted_records(fields: dict[str, Any]) -> WeightedRecords:
    """Return the records of the fields of a file."""
    domain = domain_of(fields)
    columns = dict(zip(domain, fields["columns"], strict=True))
    return WeightedRecords(Dataset(columns, domain, fields["weights"]))
