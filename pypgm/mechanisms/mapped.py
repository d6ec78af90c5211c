"""Attributes that follow from others: a mechanism runs without them, and its model answers for them all the same."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TypeVar, cast

from pypgm.data import Dataset
from pypgm.domain import Clique, Domain
from pypgm.estimation import Constraint, LinearMeasurement
from pypgm.estimation.constraint import fold, folded_measurement
from pypgm.models.model import Model
from pypgm.models.stored_model import ReleasedModel
from pypgm.privacy.private_table import PrivateTable
from pypgm.queries import LinearQuery
from pypgm.queries.folded import folded
from pypgm.reconstruction.weighted_records import WeightedRecords
from pypgm.workloads import Workload

Released = TypeVar("Released", bound="ReleasedModel")


class Mapped:
    """Domain without the attributes that mappings determine, which are put back into the model.

    Parameters
    ----------
    domain : Domain
        Of the records.
    constraints : iterable of Constraint
        Mappings and structural zeros.

    Attributes
    ----------
    domain : Domain
        Of all attributes.
    constraints : tuple of Constraint
        The zeros, over the attributes that are left.

    Raises
    ------
    ValueError
        If a constraint does not fit the domain, or an attribute follows from two others, or from itself.
    TypeError
        If something is not a constraint.
    """

    def __init__(self, domain: Domain, constraints: Iterable[Constraint]) -> None:
        given = tuple(constraints)
        self.domain = domain
        self._folding, masks = fold(domain, given)
        self.constraints = given
        if self._folding.sources:
            inner = self._folding.inner
            self.constraints = tuple(Constraint(c, allowed=mask.reshape(inner.sizes(c))) for c, mask in masks)

    def __bool__(self) -> bool:
        return bool(self._folding.sources)

    def table(self, table: PrivateTable) -> PrivateTable:
        """Return the records without the attributes that follow from others, which are never counted."""
        return table.over(self._folding.inner) if self else table

    def names(self, names: Iterable[str] | None) -> tuple[str, ...] | None:
        """Return the attributes among these that are left."""
        return None if names is None else tuple(name for name in names if name not in self._folding.sources)

    def records(self, records: Dataset) -> Dataset:
        """Return public records over all attributes without those that follow from others."""
        if not self or records.domain != self.domain:
            return records
        inner = self._folding.inner
        return Dataset({name: records.columns[name] for name in inner}, inner, records.weights)

    def measurements(self, given: Sequence[LinearMeasurement]) -> Sequence[LinearMeasurement]:
        """Return measurements restated for the attributes that are left."""
        return [folded_measurement(self._folding, m) for m in given] if self else given

    def workload(self, requested: Workload) -> Workload:
        """Return the workload on the attributes that are left whose answers determine those of a workload."""
        if not self or requested.domain != self.domain:
            return requested
        whole: dict[Clique, Fraction] = {}
        others: list[tuple[Clique, LinearQuery, Fraction]] = []
        for clique, query, weight in zip(requested.cliques, requested.queries, requested.weights, strict=True):
            inner = self._folding.clique(clique)
            if query is None:
                whole[inner] = whole.get(inner, Fraction(0)) + weight
            elif self._folding.sources.keys().isdisjoint(clique):
                others.append((clique, query, weight))
            else:
                others.append((inner, folded(query, self._folding.cells(clique)), weight))
        cliques, queries = [*whole, *(c for c, _, _ in others)], [*[None] * len(whole), *(q for _, q, _ in others)]
        return Workload(self._folding.inner, cliques, queries, [*whole.values(), *(w for _, _, w in others)])

    def model(self, model: Released) -> Released:
        """Return a model of the attributes that are left as one of all."""
        if not self:
            return model
        if isinstance(model, WeightedRecords):
            whole = WeightedRecords(self._whole(model.data))
            whole.fit, whole.not_private = model.fit, model.not_private
            return cast("Released", whole)
        assert isinstance(model, Model)  # of which there are no others where there are mappings
        copied = copy.copy(model)
        copied.folding, copied.domain = self._folding, self.domain
        return cast("Released", copied)

    def _whole(self, records: Dataset) -> Dataset:
        return Dataset(self._folding.records(records.columns), self.domain, records.weights)
