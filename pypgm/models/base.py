"""What models of both kinds have in common: parts, the joint distribution, records, a file."""

from __future__ import annotations

import contextlib
import dataclasses
from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from pypgm.clique_vector import CliqueVector
from pypgm.clock import Clock
from pypgm.data import Dataset
from pypgm.errors import ImpossibleEvidenceError
from pypgm.estimation.constraint import Constraint
from pypgm.graphs.junction_tree import checked_total
from pypgm.inference.folding import Folding
from pypgm.inference.region_index import RegionIndex
from pypgm.models.origin import QueryTooLargeError
from pypgm.models.refinement import refined_records, stages
from pypgm.models.sampling import draw_records
from pypgm.models.stored_model import Stored, fields_of
from pypgm.numeric import as_generator, checked_integer
from pypgm.terminal import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pypgm.domain import Clique, Domain, Label
    from pypgm.estimation.constraint import Masks
    from pypgm.estimation.fit import Fit
    from pypgm.factor import Factor
    from pypgm.graphs.evidence import Evidence
    from pypgm.graphs.junction_tree import JunctionTree
    from pypgm.models.origin import Origin
    from pypgm.models.region_answer import Method

__all__ = ["Model", "Table"]

Table = TypeVar("Table", bound="Factor")


class Model(Stored, Generic[Table]):
    """A model over a domain; its marginals are counts that sum to `total`.

    Attributes
    ----------
    is_exact : bool
        Whether marginals are those of one joint distribution.
    domain : Domain
        All attributes.
    cliques : tuple of tuple of str
        The cliques the model was made for.
    total : float
        Number of records.
    marginals : CliqueVector
        Counts, over the cliques or regions of the model.
    potentials : CliqueVector
        Natural logs over the same.
    fit : Fit or None
        How an estimate ended.
    origin : Origin or None
        What it was estimated from, and how.
    not_private : str
        Why the model protects nobody, if it was made from a release that does not; kept in its file.
    """

    is_exact: ClassVar[bool]
    cliques: tuple[Clique, ...]
    marginals: CliqueVector
    potentials: CliqueVector

    def __init__(
        self,
        domain: Domain,
        total: float,
        *,
        fit: Fit | None,
        folding: Folding | None,
        masks: Masks,
        origin: Origin | None,
    ) -> None:
        self.folding = Folding(domain) if folding is None else folding
        self.domain = self.folding.domain
        self.total = 0.0 if total == 0 and self.is_exact else checked_total(total)
        self.fit = fit
        self.masks = masks
        self.origin = origin
        self.not_private = ""

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The structural zeros and mappings that the model keeps to; `pypgm.estimate` takes them."""
        mappings = [Constraint((f, c), mapping=codes) for c, (f, codes) in self.folding.sources.items()]
        zeros = [Constraint(c, allowed=mask.reshape(self.domain.sizes(c))) for c, mask in self.masks]
        return (*mappings, *zeros)

    def log_partition(self, evidence: Evidence | None = None) -> float:
        """Return log Z: the natural log of the summed weights of all joint assignments, by exact elimination.

        Weights are those of the potentials. On a region graph they are products of the marginals (as probabilities) to
        the power of their Bethe counting numbers, the distribution whose generalised belief propagation has these
        marginals: log Z is 0 where the regions are those of a junction tree, and says else how far they are from one.

        Parameters
        ----------
        evidence : mapping, optional
            As for `project`; log Z is -inf where it has probability zero.

        Raises
        ------
        ModelTooLargeError
            If a junction tree of the regions does not fit.
        """
        if not evidence:
            return self._log_z
        tree, potentials = self._joint
        return tree.log_partition(potentials, self.folding.evidence(evidence))

    def log_probability(self, evidence: Evidence) -> float:
        """Return the natural log of the probability of evidence (of its expected likelihood); see `log_partition`.

        Raises
        ------
        ImpossibleEvidenceError
            If it has probability zero.
        ModelTooLargeError
            If a junction tree of the regions does not fit.

        Examples
        --------
        >>> import pypgm
        >>> model = pypgm.GraphicalModel(pypgm.CliqueVector(pypgm.Domain({"a": 4}), ["a"]), total=10.0)
        >>> round(model.log_probability({"a": [0, 1]}), 6), round(model.log_partition(), 6)
        (-0.693147, 1.386294)
        """
        log_weight = self.log_partition(evidence)
        if log_weight == -np.inf:
            raise ImpossibleEvidenceError(f"the evidence on {escaped(', '.join(evidence))} has probability zero")
        return log_weight - self._log_z

    def map(self, evidence: Evidence | None = None) -> tuple[dict[str, Label], float]:
        """Return the most probable joint assignment, and the natural log of its weight; see `JunctionTree.map`.

        Subtract `log_partition`, which says what weights are, for its log-probability; for evidence see `project`.
        Attributes that are functions of others follow: of equal assignments the smallest is that of the others.

        Returns
        -------
        assignment : dict of str to label or code
            One value for each attribute, in the order of the domain.
        log_weight : float

        Raises
        ------
        ImpossibleEvidenceError
            If no joint assignment is left any weight.
        ModelTooLargeError
            If a junction tree of the regions does not fit.

        Examples
        --------
        >>> import pypgm
        >>> domain = pypgm.Domain({"a": 2, "sex": ["F", "M"]})
        >>> pypgm.GraphicalModel(pypgm.CliqueVector(domain, [("a", "sex")], [0.0, 1.0, 3.0, 0.0]), total=9.0).map()
        ({'a': 1, 'sex': 'F'}, 3.0)
        """
        tree, potentials = self._joint
        found, log_weight = tree.map(potentials, self.folding.evidence(evidence))
        return self.folding.assignment(found), log_weight

    def synthetic_data(
        self,
        rows: int | None = None,
        rng: np.random.Generator | int | None = None,
        *,
        evidence: Evidence | None = None,
        time_limit: float | None = None,
        progress: bool = False,
    ) -> Dataset:
        """Draw synthetic records by randomised rounding along a junction tree.

        In a tree of pairs every 1- and 2-way count of a clique is within 2 of the model's: far closer than by chance.
        On a region graph the tree is `RegionGraphModel.bounded_tree`, and records are refined towards all marginals;
        in a tree they are refined towards those of the model's cliques where a larger one has more cells than records.
        Before that they are refined towards what the model says of other pairs as well, of as many as it has cliques.

        Parameters
        ----------
        rows : int, optional
            Number of records; the rounded total by default.
        rng : Generator or int, optional
            Source of the rounding; the operating system's entropy by default.
        evidence : mapping, optional
            As for `project`: all records agree with it.
        time_limit : float, optional
            Seconds after which records are refined no further; drawing them takes the time it takes.
        progress : bool
            Whether to show on standard error how far the records are.

        Warns
        -----
        TimeLimitWarning
            If the time limit ended the refinement.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        ValueError
            If `rows` is negative.
        """
        n_rows, source = round(self.total) if rows is None else rows, as_generator(rng)
        with Clock("synthetic_data", time_limit, progress) as clock:
            tree, tables, own = self._drawn_from(checked_integer("rows", n_rows), evidence, clock)
            columns = draw_records(tree, tables, n_rows, source, clock=clock)
            for cliques in stages(tree.domain, own, alone=bool(evidence)):
                clock.ends = "the refinement of the records"
                answers = CliqueVector.from_factors(tree.domain, self._projected(cliques, evidence, None, clock))
                columns = refined_records(columns, RegionIndex(answers, self.total), n_rows, source, clock)
        return Dataset(self.folding.records(columns), self.domain)

    def archive(self) -> dict[str, Any]:
        """Return the fields of the model's file."""
        fields = fields_of(self, "junction tree") | {
            "cliques": self.cliques,
            "total": self.total,
            "fit": None if self.fit is None else dataclasses.asdict(self.fit),
            "functions": self.folding.as_lists(),
            "masks": [{"clique": clique, "allowed": mask} for clique, mask in self.masks],
            "potentials": self.potentials.values,
        }
        if self.origin is not None:
            with contextlib.suppress(QueryTooLargeError):
                fields["origin"] = self.origin.packed()
        return fields

    @cached_property
    def _log_z(self) -> float:
        tree, potentials = self._joint
        return tree.log_partition(potentials)

    @property
    @abstractmethod
    def _joint(self) -> tuple[JunctionTree, CliqueVector]:
        """A joint distribution over the inner attributes: a junction tree and log-potentials over its cliques."""

    @abstractmethod
    def _projected(
        self, cliques: list[Clique], evidence: Evidence | None, method: Method | None, clock: Clock
    ) -> list[Table]:
        """Return the marginals of cliques as they are written, counts; probabilities where there is no record."""

    @abstractmethod
    def _drawn_from(
        self, rows: int, evidence: Evidence | None, clock: Clock
    ) -> tuple[JunctionTree, Sequence[Factor], Sequence[Clique]]:
        """Return the tree that records are drawn along, its tables, and the cliques that they are refined towards."""

    def __repr__(self) -> str:
        scopes, numbers = ("cliques", "parameters") if self.is_exact else ("regions", "cells")
        private = ", not private" if self.not_private else ""
        return (
            f"{type(self).__name__}({len(self.domain)} attributes, {len(self.potentials.cliques)} {scopes}, "
            f"total {self.total:.6g}, {self.potentials.values.size} {numbers}{private})"
        )
