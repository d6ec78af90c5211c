"""Records with weights as a model: the contents of a table, and no more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm._base.numeric import as_generator
from pypgm.clique_vector import CliqueVector
from pypgm.data import Dataset
from pypgm.domain import Clique, as_clique
from pypgm.errors import ImpossibleEvidenceError
from pypgm.estimation.fit import Fit
from pypgm.factor import Factor
from pypgm.files.stored_model import CountedModel, domain_of, fields_of
from pypgm.graphs.evidence import Evidence, log_likelihoods

_KIND = "weighted records"


class WeightedRecords(CountedModel):
    """Records, each with a weight; none may be of a person to protect.

    Synthetic records are drawn from them with probabilities in proportion to their weights.

    Parameters
    ----------
    data : Dataset
        With weights, or one for each record.

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
