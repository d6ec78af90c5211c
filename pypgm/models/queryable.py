"""What models of both kinds share: conditional probabilities, products of queries on single attributes, a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, overload

from pypgm.domain import as_clique
from pypgm.models.storage import write_archive
from pypgm.queries import KroneckerQuery

if TYPE_CHECKING:
    import os

    import numpy as np
    from numpy.typing import NDArray

    from pypgm.domain import Clique
    from pypgm.factor import Factor
    from pypgm.graphs.evidence import Evidence

__all__ = ["Queryable"]


class Queryable(ABC):
    """A model that answers queries given evidence."""

    def query(self, targets: str | Iterable[str], evidence: Evidence | None = None) -> Factor:
        """Return the probabilities of some attributes, given what is known of others.

        Parameters
        ----------
        targets : str or sequence of str
            Attributes of the answer, in any order.
        evidence : mapping, optional
            Attribute to label, code, list of them, or likelihood vector (a NumPy float array).

        Returns
        -------
        Factor
            Conditional probabilities that sum to 1, axes in the order asked; on a region graph from the answer to the
            clique of targets and evidence together.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        ValueError
            If an attribute, label or code is unknown.
        ModelTooLargeError
            If an intermediate table would not fit: on a region graph that over targets and evidence.
        """
        return self._counts(as_clique(targets), evidence).normalize()

    @overload
    def answer(
        self, query: KroneckerQuery, evidence: Evidence | None = ..., *, n_threads: int = ...
    ) -> NDArray[np.float64]: ...
    @overload
    def answer(
        self, query: Sequence[KroneckerQuery], evidence: Evidence | None = ..., *, n_threads: int = ...
    ) -> list[NDArray[np.float64]]: ...
    def answer(
        self,
        query: KroneckerQuery | Sequence[KroneckerQuery],
        evidence: Evidence | None = None,
        *,
        n_threads: int = 0,
    ) -> NDArray[np.float64] | list[NDArray[np.float64]]:
        """Return the answer to a product of queries on single attributes, in counts.

        A graphical model makes no joint table for it; on a region graph it comes from the answer to its clique.

        Parameters
        ----------
        query : KroneckerQuery or sequence of them
            The queries; several share what they have in common.
        evidence : mapping, optional
            Attribute to label, code, list of them, or likelihood vector: counts as if all records agreed with it.
        n_threads : int
            0 for all threads; the bits of the answers do not depend on it.

        Returns
        -------
        ndarray, or list of ndarray
            A tensor with an axis for each attribute of the query, in its order.

        Warns
        -----
        ConditionWarning
            If terms of opposite sign cancel to less than 1e-8 of their size.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        ModelTooLargeError
            If an intermediate table would not fit: on a region graph that over the attributes of query and evidence.
        ValueError
            If an attribute is unknown, or a block is not for as many values as it has.

        Examples
        --------
        >>> import pypgm
        >>> domain = pypgm.Domain({"age": 4, "sex": ["F", "M"]})
        >>> model = pypgm.GraphicalModel(pypgm.CliqueVector(domain, [("age", "sex")]), total=80.0)
        >>> model.answer(pypgm.KroneckerQuery({"age": pypgm.queries.RangeList(4, [(1, 2)])}), {"sex": "F"}).round(6)
        array([40.])
        """
        if isinstance(query, KroneckerQuery):
            return self._answers([query], evidence, n_threads)[0]
        return self._answers(list(query), evidence, n_threads)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, whole or not at all; `pypgm.load` reads it.

        Measurements go with a graphical model, for its standard errors, unless a user's own query is too large to be
        written as a matrix; a region-graph model is saved without them.

        Raises
        ------
        OSError
            If the file cannot be written; nothing is left behind then.
        """
        write_archive(path, *self.archive())

    @abstractmethod
    def archive(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the header and the arrays of the model's file."""

    @abstractmethod
    def _counts(self, clique: Clique, evidence: Evidence | None) -> Factor:
        """Return the counts of a clique in proportion, given evidence, axes as asked."""

    @abstractmethod
    def _answers(
        self, queries: Sequence[KroneckerQuery], evidence: Evidence | None, n_threads: int
    ) -> list[NDArray[np.float64]]:
        """Return the answers to queries in counts, in the order asked."""
