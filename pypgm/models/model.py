"""A graphical model: answers to any query, synthetic records, a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pypgm.clique_vector import CliqueVector, read_only
from pypgm.clock import Clock
from pypgm.data import Dataset
from pypgm.domain import Clique, Domain, Label, as_clique, as_cliques, check_kind
from pypgm.errors import ImpossibleEvidenceError
from pypgm.estimation.fit import Fit
from pypgm.graphs.evidence import code_of
from pypgm.graphs.junction_tree import JunctionTree, checked_total
from pypgm.inference._variable_elimination import variable_elimination
from pypgm.inference.calibrated import Calibrated
from pypgm.inference.folding import FoldedCalibrated, Folding
from pypgm.inference.kronecker import answer_queries, expectation
from pypgm.models.origin import Origin
from pypgm.models.sampling import Step, draw_records
from pypgm.models.storage import model_header
from pypgm.models.uncertain import Uncertain

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pypgm.factor import Factor
    from pypgm.graphs.evidence import Evidence
    from pypgm.queries import KroneckerQuery

__all__ = ["GraphicalModel"]


class GraphicalModel(Uncertain):
    r"""The distribution :math:`p(x) \propto \exp \sum_C \theta_C(x_C)` over a domain, times a number of records.

    Parameters
    ----------
    potentials : CliqueVector
        Natural logs :math:`\theta_C`; -inf is a structural zero.
    total : float
        Number of records; all marginals sum to it.
    marginals : CliqueVector, optional
        Marginals over the cliques of the potentials, counts, if they are known already.
    fit : Fit, optional
        How an estimate ended.
    tree : JunctionTree, optional
        Built for the cliques of the potentials, if there is one already.
    folding : Folding, optional
        Attributes that are functions of those the potentials are over, and are answered for all the same.
    origin : Origin, optional
        The measurements it was estimated from, and how.

    Attributes
    ----------
    not_private : str
        Why the model protects nobody, if it was made from a release that does not; kept in its file.

    Examples
    --------
    >>> import pypgm
    >>> domain = pypgm.Domain({"a": 2, "sex": ["F", "M"]})
    >>> model = GraphicalModel(pypgm.CliqueVector(domain, [("a", "sex")], [0.0, 1.0, 1.0, 0.0]), total=100.0)
    >>> model.query("a", {"sex": "F"}).values.round(4)
    array([0.2689, 0.7311])
    """

    def __init__(
        self,
        potentials: CliqueVector,
        total: float,
        *,
        marginals: CliqueVector | None = None,
        fit: Fit | None = None,
        tree: JunctionTree | None = None,
        folding: Folding | None = None,
        origin: Origin | None = None,
    ) -> None:
        check_kind("potentials", potentials, CliqueVector, "pypgm.CliqueVector(domain, cliques, values)")
        self.potentials = read_only(potentials)
        self.origin = origin
        self.folding = folding
        self.total = checked_total(total)
        self.fit = fit
        self.not_private = ""
        self.tree = JunctionTree(potentials.domain, potentials.cliques) if tree is None else tree
        self.marginals = read_only(self.tree.marginals(potentials, total) if marginals is None else marginals)

    @property
    def domain(self) -> Domain:
        """All attributes."""
        return self.potentials.domain if self.folding is None else self.folding.domain

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """The cliques that have a potential."""
        return self.potentials.cliques

    @cached_property
    def _tables(self) -> list[Factor]:
        return self.tree.tables(self.potentials, self.total)

    @cached_property
    def _calibrated(self) -> Calibrated:
        return self._unfolding(Calibrated(self.tree, lambda: self._tables, self.total, self.marginals))

    @cached_property
    def _log_z(self) -> float:
        return self.tree.log_partition(self.potentials)

    def project(
        self,
        clique: str | Iterable[str],
        evidence: Evidence | None = None,
        *,
        method: Literal["exact"] | None = None,
        time_limit: float | None = None,
        progress: bool = False,
    ) -> Factor:
        """Return the marginal of any clique, measured or not, in counts that sum to `total`.

        Parameters
        ----------
        clique : str or sequence of str
            Attributes, in any order; axes come in the order asked. The empty clique gives the total.
        evidence : mapping, optional
            Attribute to label, code, list of them, or likelihood vector: counts as if all records agreed with it.
        method : {"exact"}, optional
            There is no other one; see `RegionGraphModel.project`.
        time_limit : float, optional
            Seconds after which it raises.
        progress : bool
            Whether to show on standard error how far the answer is.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        ValueError
            If an attribute is unknown or comes twice, or the method is another one.
        ModelTooLargeError
            If an intermediate table would not fit.
        TimeoutError
            If the answer takes longer than the time limit: half an exact answer is none.
        """
        _check_exact(method)
        with Clock("project", time_limit, progress) as clock:
            if evidence and self.folding is None:
                order = self.tree.order
                return variable_elimination(self.potentials, clique, self.total, evidence, order=order, clock=clock)
            return self._given(evidence).project_many([as_clique(clique)], clock=clock)[0]

    def project_many(
        self,
        cliques: Sequence[str | Iterable[str]],
        evidence: Evidence | None = None,
        *,
        method: Literal["exact"] | None = None,
        n_threads: int = 0,
        time_limit: float | None = None,
        progress: bool = False,
    ) -> list[Factor]:
        """Return the marginals of many cliques in counts, in the order asked; see `project`.

        What several of them need is computed once, so that all 3-way marginals cost little more than their cells.

        Parameters
        ----------
        cliques : sequence of cliques
            What is asked, in any order; cliques may repeat.
        evidence, method, time_limit, progress
            As for `project`.
        n_threads : int
            0 for all threads; the bits of the answers do not depend on it.

        Examples
        --------
        >>> import itertools, pypgm
        >>> domain = pypgm.Domain({"a": 2, "b": 2, "c": 2})
        >>> model = GraphicalModel(pypgm.CliqueVector(domain, [("a", "b"), ("b", "c")]), total=8.0)
        >>> [f.values.tolist() for f in model.project_many(itertools.combinations("abc", 2))][:2]
        [[[2.0, 2.0], [2.0, 2.0]], [[2.0, 2.0], [2.0, 2.0]]]
        """
        _check_exact(method)
        with Clock("project", time_limit, progress) as clock:
            return self._given(evidence).project_many(as_cliques(cliques), n_threads=n_threads, clock=clock)

    def expectation(
        self,
        attribute: str,
        given: str | Iterable[str] = (),
        levels: ArrayLike | None = None,
        evidence: Evidence | None = None,
    ) -> Factor:
        """Return the mean of a numeric attribute for each combination of values of others.

        Parameters
        ----------
        attribute : str
            The attribute averaged.
        given : str or sequence of str
            Attributes of the answer, in any order; none for the mean over all records.
        levels : array_like of float, shape (values,), optional
            The number each value stands for; its labels by default, if they are numbers.
        evidence : mapping, optional
            As for `project`.

        Returns
        -------
        Factor
            Means, axes in the order of `given`; nan where no record is expected.

        Raises
        ------
        ValueError
            If an attribute is unknown or comes twice, or the attribute has no numeric levels.

        Examples
        --------
        >>> import pypgm
        >>> domain = pypgm.Domain({"age": [20, 40], "sex": ["F", "M"]})
        >>> model = GraphicalModel(pypgm.CliqueVector(domain, [("age", "sex")], [0.0, 1.0, 1.0, 0.0]), total=9.0)
        >>> model.expectation("age", "sex").values.round(3)
        array([34.621, 25.379])
        """
        return expectation(self._given(evidence), attribute, as_clique(given), levels)

    def log_probability(self, evidence: Evidence) -> float:
        """Return the natural log of the probability of evidence (of its expected likelihood); see `project`.

        Raises
        ------
        ImpossibleEvidenceError
            If it has probability zero.

        Examples
        --------
        >>> import pypgm
        >>> model = GraphicalModel(pypgm.CliqueVector(pypgm.Domain({"a": 4}), ["a"]), total=10.0)
        >>> round(model.log_probability({"a": [0, 1]}), 6), round(model.log_partition(), 6)
        (-0.693147, 1.386294)
        """
        log_weight = self.tree.log_partition(self.potentials, self._inner(evidence))
        if log_weight == -np.inf:
            raise ImpossibleEvidenceError(f"the evidence on {', '.join(evidence)} has probability zero")
        return log_weight - self._log_z

    def log_partition(self, evidence: Evidence | None = None) -> float:
        """Return log Z of the potentials: the natural log of the summed weights of all joint assignments.

        It is -inf where evidence (see `project`) has probability zero.
        """
        return self.tree.log_partition(self.potentials, self._inner(evidence)) if evidence else self._log_z

    def map(self, evidence: Evidence | None = None) -> tuple[dict[str, Label], float]:
        """Return the most probable joint assignment, and the natural log of its weight; see `JunctionTree.map`.

        Subtract `log_partition` for its log-probability; for evidence see `project`.

        Returns
        -------
        assignment : dict of str to label or code
            One value for each attribute, in the order of the domain.
        log_weight : float

        Raises
        ------
        ImpossibleEvidenceError
            If no joint assignment is left any weight.

        Examples
        --------
        >>> import pypgm
        >>> domain = pypgm.Domain({"a": 2, "sex": ["F", "M"]})
        >>> GraphicalModel(pypgm.CliqueVector(domain, [("a", "sex")], [0.0, 1.0, 3.0, 0.0]), total=9.0).map()
        ({'a': 1, 'sex': 'F'}, 3.0)
        """
        found, log_weight = self.tree.map(self.potentials, self._inner(evidence))
        if self.folding is None:
            return found, log_weight
        inner = self.potentials.domain
        codes = self.folding.records({a: np.array([code_of(inner, a, value)]) for a, value in found.items()})
        labels = self.domain.labels
        return {a: labels[a][int(c[0])] if a in labels else int(c[0]) for a, c in codes.items()}, log_weight

    def _counts(self, clique: Clique, evidence: Evidence | None) -> Factor:
        return self.project(clique, evidence)

    def _answers(
        self, queries: Sequence[KroneckerQuery], evidence: Evidence | None, n_threads: int
    ) -> list[NDArray[np.float64]]:
        return answer_queries(self._given(evidence), queries, n_threads=n_threads)

    def _given(self, evidence: Evidence | None) -> Calibrated:
        """Return the calibrated tree, that of the evidence where there is some."""
        if not evidence:
            return self._calibrated
        tables = self.tree.tables(self.potentials, self.total, self._inner(evidence))
        return self._unfolding(Calibrated(self.tree, lambda: tables, self.total))

    def _inner(self, evidence: Evidence | None) -> Evidence | None:
        return evidence if self.folding is None else self.folding.evidence(evidence)

    def _unfolding(self, calibrated: Calibrated) -> Calibrated:
        return calibrated if self.folding is None else FoldedCalibrated(calibrated, self.folding)

    def synthetic_data(self, rows: int | None = None, rng: np.random.Generator | int | None = None) -> Dataset:
        """Draw synthetic records by randomised rounding along the junction tree.

        In a tree of pairs every 1- and 2-way count of a clique is within 2 of the model's: far closer than by chance.

        Parameters
        ----------
        rows : int, optional
            Number of records; the rounded total by default.
        rng : Generator or int, optional
            Source of the rounding; the operating system's entropy by default.

        Raises
        ------
        ValueError
            If `rows` is negative.
        """
        steps = [
            Step(node.clique, node.separator, table.datavector())
            for node, table in zip(self.tree.nodes, self._tables, strict=True)
        ]
        columns = draw_records(self.potentials.domain, steps, round(self.total) if rows is None else rows, rng)
        return Dataset(columns if self.folding is None else self.folding.records(columns), self.domain)

    def archive(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the header and the arrays of the model's file.

        The measurements go with it, for their standard errors, unless a user's own query is too large for a matrix.
        """
        functions = {} if self.folding is None else self.folding.as_lists()
        header = model_header(self) | {"functions": functions}
        arrays: dict[str, NDArray[Any]] = {"potentials": self.potentials.values}
        packed = None if self.origin is None else self.origin.packed()
        if packed is not None:
            header["origin"] = packed[0]
            arrays |= packed[1]
        return header, arrays

    def __repr__(self) -> str:
        private = ", not private" if self.not_private else ""
        return (
            f"GraphicalModel({len(self.domain)} attributes, {len(self.cliques)} cliques, "
            f"total {self.total:.6g}, {self.potentials.values.size} parameters{private})"
        )


def _check_exact(method: str | None) -> None:
    if method not in {None, "exact"}:
        raise ValueError(f"method must be 'exact', got {method!r}: a region-graph model has other ones")
