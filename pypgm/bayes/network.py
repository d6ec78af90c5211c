"""Bayesian networks: a directed graph and a table for each attribute given its parents."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pypgm.bayes.batch import Posteriors, posteriors
from pypgm.bayes.conditional_tables import ConditionalTables
from pypgm.bayes.frames import Frame, Table, as_codes, as_values, column_names, like_frame
from pypgm.bayes.relevance import Part, relevant
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Domain, Label, as_clique
from pypgm.errors import ImpossibleEvidenceError
from pypgm.factor import Factor
from pypgm.graphs import JunctionTree
from pypgm.graphs.evidence import log_likelihoods
from pypgm.inference._variable_elimination import variable_elimination

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.graphs.evidence import Evidence

__all__ = ["BayesianNetwork"]

_PLANS_KEPT = 32


class BayesianNetwork(ConditionalTables):
    r"""The distribution :math:`p(x) \propto \prod_i \theta_i(x_i \mid x_{\mathrm{pa}(i)})`; it does not change.

    Tables are used as they are: rows that sum to 1 within 1e-4 but not exactly (printed digits) are accepted with a
    note, and answers are normalised at the end.

    Parameters
    ----------
    domain : Domain
        The attributes, in the order answers come in.
    parents : mapping of str to sequence of str
        Parents of an attribute, in the order of its table's axes; an attribute that is left out has none.
    tables : mapping of str to array_like of float, shape (sizes of the parents, size of the attribute)
        Probabilities of each attribute given its parents; a `Factor` over both, axes in any order; a mapping of labels,
        those of the parents first; or a series or frame of pandas, aligned by its index and columns.
    name : str, optional
        Of the network; kept in files.

    Attributes
    ----------
    name : str
    domain : Domain
    parents : mapping of str to tuple of str
    tables : mapping of str to Factor
        Axes (parents, attribute); read-only.
    notes : tuple of str
        What a user should know of how the network was read or written.

    Raises
    ------
    ValueError
        If an attribute or parent is unknown, a table is missing or has the wrong shape, an entry is negative, infinite
        or NaN, a row does not sum to 1 within 1e-4, or the arcs run in a circle.

    Examples
    --------
    >>> from pypgm import Domain
    >>> domain = Domain({"rain": ["no", "yes"], "grass": ["dry", "wet"]})
    >>> net = BayesianNetwork(domain, {"grass": ["rain"]}, {"rain": [0.8, 0.2], "grass": [[0.9, 0.1], [0.2, 0.8]]})
    >>> net.query("rain", {"grass": "wet"}).values.round(4)
    array([0.3333, 0.6667])
    """

    @cached_property
    def _whole(self) -> Part:
        return Part(self.domain, list(self.tables.values()), not self._inexact)

    @cached_property
    def _parts(self) -> dict[frozenset[str], Part]:
        return {}

    def marginals(self, evidence: Evidence | None = None, *, n_threads: int = 0) -> dict[str, Factor]:
        """Return the probabilities of every attribute, given what is known of some.

        Parameters
        ----------
        evidence : mapping, optional
            Attribute to label, code, list of them, or likelihoods (`pypgm.Likelihood`, or a NumPy float array).
        n_threads : int
            0 for all threads; the bits of the answer do not depend on it.

        Returns
        -------
        dict of str to Factor
            Probabilities that sum to 1, in the order of the domain; values against the evidence have 0.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        ModelTooLargeError
            If the junction tree does not fit the memory available.
        ValueError
            If an attribute, label or code is unknown.
        """
        found = self.tree.attribute_marginals(self.potentials, 1.0, evidence, n_threads=n_threads)
        return {a: Factor.over(own, cells) for own, (a, cells) in zip(self._singles, found.items(), strict=True)}

    def query(
        self, targets: str | Iterable[str], evidence: Evidence | None = None, *, max_bytes: float | None = None
    ) -> Factor:
        """Return the joint probabilities of some attributes, given what is known of others.

        Parameters
        ----------
        targets : str or sequence of str
            Attributes of the answer, in any order; they need not share a table.
        evidence : mapping, optional
            Attribute to label, code, list of them, or likelihoods (`pypgm.Likelihood`, or a NumPy float array).
        max_bytes : float, optional
            Memory a table may take; half of what is available by default.

        Returns
        -------
        Factor
            Probabilities that sum to 1, axes in the order asked.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        ModelTooLargeError
            If a table on the way would not fit.
        ValueError
            If an attribute, label or code is unknown.
        """
        asked = as_clique(targets)
        self.domain.indices(asked)
        part = self._part((*asked, *(evidence or ())))
        return variable_elimination(part.potentials, asked, 1.0, evidence, max_bytes=max_bytes)

    def map(
        self,
        targets: str | Iterable[str] | None = None,
        evidence: Evidence | None = None,
        *,
        max_bytes: float | None = None,
    ) -> tuple[dict[str, Label], float]:
        r"""Return the most probable joint values of some attributes, given what is known of others.

        This is :math:`\arg\max_t P(t, e)`, the values that are most probable together, all attributes that are neither
        targets nor known being summed over. It is not the most probable value of each alone (see `predict`).

        Parameters
        ----------
        targets : str or sequence of str, optional
            All attributes by default, by max-product on the junction tree. Otherwise the answer is exact too, and needs
            the table of all targets that are not known for certain.
        evidence : mapping, optional
            Attribute to label, code, list of them, or likelihoods (`pypgm.Likelihood`, or a NumPy float array).
        max_bytes : float, optional
            Memory a table may take; half of what is available by default.

        Returns
        -------
        values : dict of str to label or code
            Of each target, in the order asked; a label where the attribute has them. Of equally probable ones the first
            in lexicographic order of the codes.
        log_probability : float
            Natural log of :math:`P(t, e)`.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        ModelTooLargeError
            If a table would not fit; the message holds its size.
        ValueError
            If an attribute, label or code is unknown.

        Examples
        --------
        >>> from pypgm import Domain
        >>> domain = Domain({"rain": ["no", "yes"], "grass": ["dry", "wet"]})
        >>> net = BayesianNetwork(domain, {"grass": ["rain"]}, {"rain": [0.6, 0.4], "grass": [[0.5, 0.5], [0.1, 0.9]]})
        >>> net.map("rain")[0], net.map(evidence={"grass": "wet"})[0]
        ({'rain': 'no'}, {'rain': 'yes', 'grass': 'wet'})
        """
        asked = self.domain.attributes if targets is None else as_clique(targets)
        self.domain.indices(asked)
        if set(asked) == set(self.domain):
            found, log_weight = self.tree.map(self.potentials, evidence)
            return {a: found[a] for a in asked}, log_weight - self._whole.log_total
        # What is known for certain takes no room in the table.
        known = {i: v for i, v in log_likelihoods(self.domain, evidence) if np.count_nonzero(v > -np.inf) == 1}
        codes = {self.domain.attributes[i]: int(v.argmax()) for i, v in known.items()}
        table = self.query([a for a in asked if a not in codes], evidence, max_bytes=max_bytes)
        # Ties go by the domain's order, as they do where all attributes are asked for.
        table = table.transpose(self.domain.canonical(table.domain.attributes))
        best = int(table.datavector().argmax())
        cell = np.unravel_index(best, table.domain.shape) if len(table.domain) else ()
        codes.update(zip(table.domain.attributes, map(int, cell), strict=True))
        labels = self.domain.labels
        values = {a: labels[a][codes[a]] if a in labels else codes[a] for a in asked}
        return values, float(np.log(table.datavector()[best])) + self.log_probability(evidence)

    def log_probability(self, evidence: Evidence | None) -> float:
        """Return the natural log of the probability of what is known; -inf if it is impossible.

        Parameters
        ----------
        evidence : mapping
            Attribute to label, code, list of them, or likelihood vector, of which the expectation counts.

        Examples
        --------
        >>> from pypgm import Domain
        >>> net = BayesianNetwork(Domain({"a": 2}), {}, {"a": [0.25, 0.75]})
        >>> round(net.log_probability({"a": 1}), 4)
        -0.2877
        """
        if not evidence:
            return 0.0
        part = self._part(evidence)
        return part.tree.log_partition(part.potentials, evidence) - part.log_total

    def predict(
        self, frame: Frame, targets: str | Iterable[str] | None = None, *, impossible: Literal["raise", "nan"] = "raise"
    ) -> dict[str, NDArray[Any]] | Table:
        """Return the most probable value of each target, on its own, in each row of a frame.

        Parameters
        ----------
        frame : data frame, mapping of str to sequence, or Dataset
            What is known: columns of labels, or of codes where an attribute has no labels. None, NaN and NA are not
            known. See `predict_proba` for what is shared between rows.
        targets : str or sequence of str, optional
            By default all attributes without a column. A target's own column is left aside; see `impute` for filling
            what is missing.
        impossible : {"raise", "nan"}
            Whether a row of probability zero is an error, or its answer None.

        Returns
        -------
        data frame or dict of str to ndarray, shape (n_rows,)
            Labels, or codes where there are no labels; in the order of the rows. A data frame comes back as one of its
            kind and index. Of equally probable values the first is taken.

        Raises
        ------
        ImpossibleEvidenceError
            If a row is impossible; the message names the first.
        ValueError
            If a column or target is no attribute, or a value none of its attribute's.

        Examples
        --------
        >>> from pypgm import Domain
        >>> domain = Domain({"rain": ["no", "yes"], "grass": ["dry", "wet"]})
        >>> net = BayesianNetwork(domain, {"grass": ["rain"]}, {"rain": [0.8, 0.2], "grass": [[0.9, 0.1], [0.2, 0.8]]})
        >>> net.predict({"grass": ["wet", None, "dry"]})
        {'rain': array(['yes', 'no', 'no'], dtype=object)}
        """
        found, _ = self._posteriors(frame, targets, impossible)
        columns = {}
        for target, table in found.probabilities.items():
            codes = np.where(np.isnan(table[:, 0]), -1, table.argmax(axis=1))
            columns[target] = as_values(self.domain, target, codes)
        return like_frame(frame, columns)

    def predict_proba(
        self, frame: Frame, targets: str | Iterable[str] | None = None, *, impossible: Literal["raise", "nan"] = "raise"
    ) -> dict[str, NDArray[np.float64]]:
        """Return the probabilities of each target's values in each row of a frame.

        Identical rows are answered once, and rows in which the same attributes are known by one plan, so that a frame
        costs little more than its different patterns of missing values.

        Parameters
        ----------
        frame, targets
            As for `predict`.
        impossible : {"raise", "nan"}
            Whether a row of probability zero is an error, or its probabilities NaN.

        Returns
        -------
        dict of str to ndarray of float64, shape (n_rows, size of the target)
            Rows in the order of the frame, values in the order of the domain.

        Raises
        ------
        ImpossibleEvidenceError
            If a row is impossible; the message names the first.
        ModelTooLargeError
            If a table on the way does not fit even for one row.
        ValueError
            If a column or target is no attribute, or a value none of its attribute's.
        """
        return self._posteriors(frame, targets, impossible)[0].probabilities

    def log_likelihood(self, frame: Frame) -> NDArray[np.float64]:
        """Return the natural log of the probability of each row of a frame; -inf where it is impossible.

        Parameters
        ----------
        frame
            As for `predict`; what is missing is summed over.

        Returns
        -------
        ndarray of float64, shape (n_rows,)
        """
        found, part = self._posteriors(frame, (), "nan")
        return found.log_evidence - part.log_total

    def _posteriors(
        self, frame: Frame, targets: str | Iterable[str] | None, impossible: str
    ) -> tuple[Posteriors, Part]:
        if impossible not in {"raise", "nan"}:
            raise ValueError(f"impossible must be 'raise' or 'nan', got {impossible!r}")
        asked = None if targets is None else as_clique(targets)
        self.domain.indices(asked or ())
        n_rows, columns = as_codes(self.domain, frame, asked or ())
        if asked is None:
            asked = tuple(a for a in self.domain if a not in columns)
            if not asked and columns:
                raise ValueError("every attribute has a column: name the targets, or fill what is missing by `impute`")
        elif asked and not columns and column_names(frame):
            raise ValueError("every column is a target's, so that nothing is known; `impute` fills what is missing")
        part = self._part((*asked, *columns))
        found = posteriors(part.domain, part.tables, columns, n_rows, asked)
        bad = np.flatnonzero(found.log_evidence == -np.inf)
        if bad.size and impossible == "raise":
            what = f"{bad.size} of {n_rows} rows have probability zero, the first is row {bad[0]} (the first is 0)"
            raise ImpossibleEvidenceError(f"{what}; impossible='nan' answers the others")
        return found, part

    @property
    def potentials(self) -> CliqueVector:
        """Natural logs of the tables, one clique for each attribute in the order of the domain."""
        return self._whole.potentials

    @property
    def tree(self) -> JunctionTree:
        """The junction tree of all attributes; print it to see what an answer costs."""
        return self._whole.tree

    @cached_property
    def _singles(self) -> list[Domain]:
        return self.domain.singles()

    def _part(self, attributes: Iterable[str]) -> Part:
        """Return the part of the network that an answer on some attributes depends on.

        Others, none of whose descendants is asked for or known, are summed out first; where their rows sum to 1 the
        sum is 1 and they are left out. Where they do not, they stay, with all their ancestors.
        """
        asked = dict.fromkeys(attributes)
        self.domain.indices(tuple(asked))
        kept = relevant([*asked, *self._inexact], self.parents)
        if len(kept) == len(self.domain):
            return self._whole
        if kept not in self._parts:
            names = [a for a in self.domain if a in kept]
            if len(self._parts) >= _PLANS_KEPT:
                self._parts.clear()
            self._parts[kept] = Part(self.domain.project(names), [self.tables[a] for a in names], not self._inexact)
        return self._parts[kept]
