"""Answers of models of both kinds: marginals, conditional probabilities, products of queries, means."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict, overload

import numpy as np

from pypgm.clock import Clock
from pypgm.domain import as_clique, as_cliques, check_kind
from pypgm.factor import Factor
from pypgm.models.base import Model, Table
from pypgm.numeric import float_array
from pypgm.queries import KroneckerQuery

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Unpack

    from pypgm.domain import Domain
    from pypgm.graphs.evidence import Evidence
    from pypgm.models.region_answer import Method

__all__ = ["Queryable"]


class _Limits(TypedDict, total=False):
    """The options of `Queryable.answer`."""

    n_threads: int
    time_limit: float | None
    progress: bool


class Queryable(Model[Table]):
    """A model that answers queries given evidence."""

    def project(
        self,
        clique: str | Iterable[str],
        evidence: Evidence | None = None,
        *,
        method: Method | None = None,
        time_limit: float | None = None,
        progress: bool = False,
    ) -> Table:
        """Return the marginal of any clique, measured or not, in counts that sum to `total`.

        Parameters
        ----------
        clique : str or sequence of str
            Attributes, in any order; axes come in the order asked. The empty clique gives the total.
        evidence : mapping, optional
            Attribute to label, code, list of them, or likelihood vector: counts as if all records agreed with it. A
            plain number is a code, or a label that is a number; a value of the table, as ``--given`` of the command
            takes it, it is not: of bins of ten from 20 on, 35 is in the one with the code 1 and the label
            ``"[30, 40)"``. On a region graph they come from the answer to the clique and the attributes of the evidence
            together.
        method : str, optional
            On a region graph how to answer where no region holds the clique, see `RegionGraphModel`; else "exact".
        time_limit : float, optional
            Seconds after which an exact answer raises, and one of a region graph is the best so far.
        progress : bool
            Whether to show on standard error how far the answer is.

        Returns
        -------
        Factor or RegionAnswer
            Of a region-graph model a `RegionAnswer`: which method found it, and how far it is from the regions.

        Warns
        -----
        TimeLimitWarning
            If the time limit ended the answer of a region-graph model.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        ValueError
            If an attribute is unknown or comes twice, or the model does not answer by that method.
        ModelTooLargeError
            If a table would not fit.
        TimeoutError
            If an exact answer takes longer than the time limit: half of one is none.
        """
        with Clock("project", time_limit, progress, ends="the answers to 1 cliques") as clock:
            return self._counts(self._projected([as_clique(clique)], evidence, method, clock))[0]

    def project_many(
        self,
        cliques: Sequence[str | Iterable[str]],
        evidence: Evidence | None = None,
        *,
        method: Method | None = None,
        n_threads: int = 0,
        time_limit: float | None = None,
        progress: bool = False,
    ) -> list[Table]:
        """Return the marginals of many cliques in counts, in the order asked; see `project`.

        What several of them need is computed once, so that all 3-way marginals of a tree cost little more than their
        cells; on a region graph cliques are answered beside each other.

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
        >>> model = pypgm.GraphicalModel(pypgm.CliqueVector(domain, [("a", "b"), ("b", "c")]), total=8.0)
        >>> [f.values.tolist() for f in model.project_many(itertools.combinations("abc", 2))][:2]
        [[[2.0, 2.0], [2.0, 2.0]], [[2.0, 2.0], [2.0, 2.0]]]
        """
        asked = as_cliques(cliques)
        ends = f"the answers to {len(asked)} cliques"
        with Clock("project", time_limit, progress, n_threads=n_threads, ends=ends) as clock:
            return self._counts(self._projected(asked, evidence, method, clock))

    def query(
        self,
        targets: str | Iterable[str],
        evidence: Evidence | None = None,
        *,
        time_limit: float | None = None,
        progress: bool = False,
    ) -> Factor:
        """Return the probabilities of some attributes, given what is known of others.

        Parameters
        ----------
        targets : str or sequence of str
            Attributes of the answer, in any order.
        evidence, time_limit, progress
            As for `project`, whose warnings and errors it shares.

        Returns
        -------
        Factor
            Conditional probabilities that sum to 1, axes in the order asked.
        """
        with Clock("query", time_limit, progress, ends="the answer") as clock:
            return self._projected([as_clique(targets)], evidence, None, clock)[0].normalize()

    @overload
    def answer(
        self, query: KroneckerQuery, evidence: Evidence | None = ..., **limits: Unpack[_Limits]
    ) -> NDArray[np.float64]: ...
    @overload
    def answer(
        self, query: Sequence[KroneckerQuery], evidence: Evidence | None = ..., **limits: Unpack[_Limits]
    ) -> list[NDArray[np.float64]]: ...
    def answer(
        self,
        query: KroneckerQuery | Sequence[KroneckerQuery],
        evidence: Evidence | None = None,
        *,
        n_threads: int = 0,
        time_limit: float | None = None,
        progress: bool = False,
    ) -> NDArray[np.float64] | list[NDArray[np.float64]]:
        """Return the answer to a product of queries on single attributes, in counts.

        A graphical model makes no joint table for it; on a region graph it comes from the answer to its clique.

        Parameters
        ----------
        query : KroneckerQuery or sequence of them
            The queries; several share what they have in common.
        evidence, time_limit, progress
            As for `project`, whose warnings and errors it shares.
        n_threads : int
            0 for all threads; the bits of the answers do not depend on it.

        Returns
        -------
        ndarray, or list of ndarray
            A tensor with an axis for each attribute of the query, in its order; inf beyond 1.8e308.

        Warns
        -----
        ConditionWarning
            If terms of opposite sign cancel to less than 1e-8 of their size.

        Raises
        ------
        ValueError
            If an attribute is unknown, or a block is not for as many values as it has.
        TypeError
            If something is no `KroneckerQuery`.

        Examples
        --------
        >>> import pypgm
        >>> domain = pypgm.Domain({"age": 4, "sex": ["F", "M"]})
        >>> model = pypgm.GraphicalModel(pypgm.CliqueVector(domain, [("age", "sex")]), total=80.0)
        >>> model.answer(pypgm.KroneckerQuery({"age": pypgm.queries.RangeList(4, [(1, 2)])}), {"sex": "F"}).round(6)
        array([40.])
        """
        checked = [q.checked(self.domain) for q in _several(query)]
        ends = f"the answers to {len(checked)} queries"
        with Clock("answer", time_limit, progress, n_threads=n_threads, ends=ends) as clock:
            answers = self._answers(checked, evidence, clock)
        counts = answers if self.total else [0.0 * answer for answer in answers]
        return counts[0] if isinstance(query, KroneckerQuery) else counts

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
            The number each value stands for; its labels by default, if they are numbers. That of a value of
            probability 0 does not count, be it infinite or NaN.
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
        >>> model = pypgm.GraphicalModel(pypgm.CliqueVector(domain, [("age", "sex")], [0.0, 1.0, 1.0, 0.0]), total=9.0)
        >>> model.expectation("age", "sex").values.round(3)
        array([34.621, 25.379])
        """
        numbers = _levels(self.domain, attribute, levels)
        clique = as_clique(given)
        with Clock() as clock:
            table = self._projected([(*clique, attribute)], evidence, None, clock)[0]
        cells = table.datavector().reshape(-1, numbers.size)
        with np.errstate(all="ignore"):
            shares = cells / cells.sum(axis=1, keepdims=True)
            if np.isfinite(numbers).all():
                return Factor(self.domain.project(clique), shares @ numbers)
            return Factor(self.domain.project(clique), np.where(shares == 0, 0.0, shares * numbers).sum(axis=1))

    def _counts(self, tables: list[Table]) -> list[Table]:
        """Return tables as counts, where there is no record those they would have if there were one."""
        if not self.total:
            for table in tables:
                table.datavector()[:] = 0.0
        return tables

    @abstractmethod
    def _answers(
        self, queries: Sequence[KroneckerQuery], evidence: Evidence | None, clock: Clock
    ) -> list[NDArray[np.float64]]:
        """Return the answers to checked queries in counts, in the order asked."""


def _several(query: KroneckerQuery | Sequence[KroneckerQuery]) -> list[KroneckerQuery]:
    """Return one query or several as a list; ``TypeError`` if something else was given for one."""
    made = "pypgm.KroneckerQuery({attribute: a query of pypgm.queries}) makes one"
    if isinstance(query, KroneckerQuery):
        return [query]
    if isinstance(query, Mapping | str) or not isinstance(query, Iterable):
        raise TypeError(f"query needs a pypgm.KroneckerQuery or a sequence of them, got {type(query).__name__}: {made}")
    queries = list(query)
    for i, one in enumerate(queries):
        check_kind(f"query[{i}]", one, KroneckerQuery, made)
    return queries


def _levels(domain: Domain, attribute: str, levels: ArrayLike | None) -> NDArray[np.float64]:
    """Return the number each value of an attribute stands for."""
    size = domain.size((attribute,))
    if levels is None:
        labels = domain.labels.get(attribute, ())
        if not labels or any(isinstance(x, str) for x in labels):
            raise ValueError(f"attribute {attribute!r} has no numeric labels; pass levels=, a number for each value")
        levels = [float(x) for x in labels]
    numbers = float_array("levels", levels)
    if numbers.shape != (size,):
        raise ValueError(f"attribute {attribute!r} has {size} values, got levels of shape {numbers.shape}")
    return numbers
