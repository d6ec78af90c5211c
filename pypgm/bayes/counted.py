"""A Bayesian network of a number of records: the model of a release, in a file with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from pypgm._base.numeric import checked_real
from pypgm.bayes.network import BayesianNetwork
from pypgm.bayes.structure import Structure
from pypgm.data import Dataset
from pypgm.domain import Clique, Domain, Label
from pypgm.estimation.fit import Fit
from pypgm.factor import Factor
from pypgm.files.stored_model import CountedModel, domain_of, fields_of
from pypgm.files.stored_models import stored_fit
from pypgm.graphs.evidence import Evidence
from pypgm.models import GraphicalModel

_KIND = "bayesian network"
_T = TypeVar("_T", bound="CountedNetwork")


class CountedNetwork(CountedModel, BayesianNetwork):
    """A Bayesian network with a number of records: the model in a private release.

    Its answers are probabilities, as those of a `BayesianNetwork`; only `project` returns counts. Records are drawn as
    by `sample`; under evidence by randomised rounding along a junction tree.

    Parameters
    ----------
    domain, parents, tables, name
        See `BayesianNetwork`.
    total : float
        Number of records, at least 0; an estimate need not be whole.
    fit : Fit, optional
        The end of the estimate from which the tables were read.

    Attributes
    ----------
    total : float
    fit : Fit or None
    not_private : str
        The reason why the network protects nobody, if it was made from a release that does not; kept in its file.

    Raises
    ------
    ValueError
        As in `BayesianNetwork`, or if the total is negative or not finite.

    Examples
    --------
    >>> from pypgm import Domain
    >>> net = CountedNetwork(Domain({"a": 2}), {}, {"a": [0.25, 0.75]}, total=8)
    >>> net.project("a").values
    array([2., 6.])
    """

    def __init__(
        self,
        domain: Domain | Mapping[str, int | Sequence[Label]],
        parents: Structure,
        tables: Mapping[str, Any],
        *,
        name: str = "unknown",
        total: float = 1.0,
        fit: Fit | None = None,
    ) -> None:
        super().__init__(domain, parents, tables, name=name)
        self.total = 0.0 if total == 0 else checked_real("total", total)
        self.fit = fit
        self.not_private = ""

    @classmethod
    def of(cls, net: BayesianNetwork) -> CountedNetwork:
        """Return a network as the model of a single record."""
        return cls(net.domain, net.parents, net.tables, name=net.name)

    def _changed(self: _T, domain: Domain, parents: Structure, tables: Mapping[str, Any]) -> _T:
        changed = type(self)(domain, parents, tables, name=self.name, total=self.total)
        changed.not_private = self.not_private
        return changed

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """The cliques of each attribute with its parents, in the order of the domain."""
        return tuple(table.domain.attributes for table in self.tables.values())

    def project(self, clique: str | Iterable[str]) -> Factor:
        """Return the marginal of any clique in counts, which sum to the total; errors as of `query`."""
        probabilities = self.query(clique)
        return Factor(probabilities.domain, probabilities.values * self.total)

    def _drawn(self, rows: int, rng: np.random.Generator | int | None, evidence: Evidence | None) -> Dataset:
        """Draw as `sample` does; under evidence by randomised rounding along a junction tree."""
        if evidence:
            return GraphicalModel(self.potentials, self.total).synthetic_data(rows, rng, evidence=evidence)
        return self.sample(rows, rng)

    def archive(self) -> dict[str, Any]:
        """Return the fields of the network's file."""
        return fields_of(self, _KIND) | {
            "name": self.name,
            "parents": dict(self.parents),
            "total": self.total,
            "fit": None if self.fit is None else dataclasses.asdict(self.fit),
            "tables": [table.values for table in self.tables.values()],
        }


def counted_network(fields: dict[str, Any]) -> CountedNetwork:
    """Return the network of the fields of a file."""
    domain = domain_of(fields)
    tables = dict(zip(domain, fields["tables"], strict=True))
    known = {"name": fields["name"], "total": fields["total"], "fit": stored_fit(fields)}
    return CountedNetwork(domain, fields["parents"], tables, **known)
