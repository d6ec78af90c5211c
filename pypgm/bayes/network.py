"""Bayesian networks: a directed graph and a table for each attribute given its parents."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pypgm.bayes.frames import Frame, Table
from pypgm.bayes.imputation import imputed
from pypgm.bayes.rows import RowAnswers
from pypgm.bayes.sampling import draw_ancestral
from pypgm.data import Dataset
from pypgm.domain import Domain, Label, as_clique
from pypgm.factor import Factor
from pypgm.graphs.evidence import Evidence, log_likelihoods


class BayesianNetwork(RowAnswers):
    r"""The distribution :math:`p(x) \propto \prod_i \theta_i(x_i \mid x_{\mathrm{pa}(i)})`, immutable.

    Tables are used as given: rows that sum to 1 within 1e-4 but not exactly (printed digits) are accepted with a note,
    and answers are normalised at the end.

    Parameters
    ----------
    domain : Domain, or mapping of str to size or labels
        The attributes, in the order of answers.
    parents : mapping of str to sequence of str, or networkx.DiGraph, sequence of pairs, network, path
        Parents of an attribute, in the order of its table's axes; an attribute that is left out has none. Or a
        structure in another of the forms that `learn` takes.
    tables : mapping of str to array_like of float, shape (sizes of the parents, size of the attribute)
        Probabilities of each attribute given its parents; a `Factor` over both, axes in any order; a mapping of labels,
        those of the parents first; or a series or frame of pandas, aligned by its index and columns.
    name : str, optional
        Name of the network; kept in files.

    Attributes
    ----------
    name : str
    domain : Domain
    parents : mapping of str to tuple of str
    tables : mapping of str to Factor
        Axes (parents, attribute); read-only.
    notes : tuple of str
        Remarks on how the network was read or written.

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
    def _singles(self) -> list[Domain]:
        return self.domain.singles()

    def marginals(self, evidence: Evidence | None = None, *, n_threads: int = 0) -> dict[str, Factor]:
        """Return the probabilities of every attribute, given evidence on some.

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
        tables = self.tree.attribute_marginals(self.potentials, 1.0, evidence, n_threads=n_threads)
        return {a: Factor.over(domain, cells) for domain, (a, cells) in zip(self._singles, tables.items(), strict=True)}

    def query(
        self, targets: str | Iterable[str], evidence: Evidence | None = None, *, max_bytes: float | None = None
    ) -> Factor:
        """Return the joint probabilities of some attributes, given evidence on others.

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
            Probabilities that sum to 1, axes in the order of the targets.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        ModelTooLargeError
            If a table on the way would not fit.
        ValueError
            If an attribute, label or code is unknown.
        """
        clique = as_clique(targets)
        self.domain.indices(clique)
        return self._part((*clique, *(evidence or ()))).marginal(clique, evidence, max_bytes)

    def map(
        self,
        targets: str | Iterable[str] | None = None,
        evidence: Evidence | None = None,
        *,
        max_bytes: float | None = None,
    ) -> tuple[dict[str, Label], float]:
        r"""Return the most probable joint values of some attributes, given evidence on others.

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
        wanted = self.domain.attributes if targets is None else as_clique(targets)
        self.domain.indices(wanted)
        if set(wanted) == set(self.domain):
            likeliest, log_weight = self.tree.map(self.potentials, evidence)
            return {a: likeliest[a] for a in wanted}, log_weight - self._whole.log_total
        # Attributes known for certain take no space in the table.
        known = {i: v for i, v in log_likelihoods(self.domain, evidence) if np.count_nonzero(v > -np.inf) == 1}
        codes = {self.domain.attributes[i]: int(v.argmax()) for i, v in known.items()}
        table = self.query([a for a in wanted if a not in codes], evidence, max_bytes=max_bytes)
        # Ties are broken by the domain's order, as they are if all attributes are targets.
        table = table.transpose(self.domain.canonical(table.domain.attributes))
        best = int(table.datavector().argmax())
        cell = np.unravel_index(best, table.domain.shape) if len(table.domain) else ()
        codes.update(zip(table.domain.attributes, map(int, cell), strict=True))
        labels = self.domain.labels
        values = {a: labels[a][codes[a]] if a in labels else codes[a] for a in wanted}
        return values, float(np.log(table.datavector()[best])) + self.log_probability(evidence)

    def sample(
        self,
        rows: int,
        rng: np.random.Generator | int | None = None,
        *,
        evidence: Evidence | None = None,
        do: Mapping[str, Any] | None = None,
    ) -> Dataset:
        """Draw independent records: each attribute given its parents or, with evidence, down the junction tree.

        Rows that do not sum to 1 exactly are treated as if they did.

        Parameters
        ----------
        rows : int
            Number of records, at least 0.
        rng : Generator or int, optional
            The operating system's entropy by default.
        evidence : mapping, optional
            As for `query`: the records are distributed as those that agree with it.
        do : mapping of str to label or code, optional
            Interventions before the draw, see `do`.

        Returns
        -------
        Dataset

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        ValueError
            If `rows` is negative, or an attribute or value is unknown.
        TypeError
            If `rows` is not an integer.

        Examples
        --------
        >>> from pypgm import Domain
        >>> domain = Domain({"rain": ["no", "yes"], "grass": ["dry", "wet"]})
        >>> net = BayesianNetwork(domain, {"grass": ["rain"]}, {"rain": [0.8, 0.2], "grass": [[0.9, 0.1], [0.2, 0.8]]})
        >>> net.sample(1000, 0, evidence={"grass": "wet"}).project("rain").values
        array([302., 698.])
        >>> net.sample(1000, 0, do={"grass": "wet"}).project("rain").values
        array([788., 212.])
        """
        net = self.do(do) if do else self
        if evidence:
            from pypgm.models import GraphicalModel  # a package that networks do not need elsewhere

            model = GraphicalModel(net.potentials, 1.0)
            return model.synthetic_data(rows, rng, method="independent", evidence=evidence)
        return Dataset(draw_ancestral(net.tables, net._order, rows, rng), net.domain)

    def impute(
        self,
        frame: Frame,
        how: Literal["mode", "joint", "sample"] = "mode",
        rng: np.random.Generator | int | None = None,
    ) -> dict[str, NDArray[Any]] | Table:
        """Return a frame with its missing values filled in, given the known values of each row.

        Parameters
        ----------
        frame
            As for `predict`; attributes without a column get none.
        how : {"mode", "joint", "sample"}
            "mode": each cell by its own most probable value; "joint": those of a row by the values that are most
            probable together; "sample": by a draw from their joint posterior.
        rng : Generator or int, optional
            Of the draws; the operating system's entropy by default.

        Returns
        -------
        data frame or dict of str to ndarray
            As of `predict`.

        Raises
        ------
        ImpossibleEvidenceError
            If the known values of a row are impossible.
        ValueError
            If a column is no attribute, or a value none of its attribute's.

        Examples
        --------
        >>> from pypgm.bayes import BayesianNetwork
        >>> domain = {"rain": ["no", "yes"], "grass": ["dry", "wet"]}
        >>> net = BayesianNetwork(domain, {"grass": ["rain"]}, {"rain": [0.8, 0.2], "grass": [[0.9, 0.1], [0.2, 0.8]]})
        >>> net.impute({"rain": ["yes", None], "grass": [None, "wet"]})
        {'rain': array(['yes', 'yes'], dtype=object), 'grass': array(['wet', 'wet'], dtype=object)}
        """
        return imputed(self, frame, how, rng)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the network to a file, whole or not at all; `pypgm.load` reads it as that of a single record.

        Examples
        --------
        >>> import pathlib, tempfile, pypgm
        >>> net = BayesianNetwork({"a": 2}, [], {"a": [0.25, 0.75]})
        >>> path = pathlib.Path(tempfile.mkdtemp(), "net.pgm")
        >>> net.save(path)
        >>> pypgm.load(path) == net
        True
        """
        importlib.import_module("pypgm.bayes.counted").CountedNetwork.of(self).save(path)

    def log_probability(self, evidence: Evidence | None) -> float:
        """Return the natural log of the probability of evidence; -inf if it is impossible.

        Parameters
        ----------
        evidence : mapping
            Attribute to label, code, list of them, or likelihood vector, whose expectation counts.

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
