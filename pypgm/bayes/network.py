"""Bayesian networks, and their answers on frames: rows predicted, missing values filled in."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from pypgm._base.numeric import as_generator, check_choice, checked_integer
from pypgm.bayes.batch import Posteriors
from pypgm.bayes.frames import MISSING, Frame, Table, as_codes, as_values, column_names, like_frame
from pypgm.bayes.parts import PlannedTables
from pypgm.bayes.sampling import draw_ancestral, draw_rows
from pypgm.data import Dataset
from pypgm.data.sources.frames import Library, as_frame
from pypgm.domain import Domain, Label, as_clique
from pypgm.errors import ImpossibleEvidenceError, ModelTooLargeError
from pypgm.factor import Factor
from pypgm.graphs.evidence import Evidence, check_evidence, log_likelihoods
from pypgm.inference.oracles import Approximation, Oracle


class Probabilities(dict[str, "NDArray[np.float64]"]):
    """Probabilities of the values of each target in each row: an array of shape (n_rows, size) for each.

    Examples
    --------
    >>> from pypgm.bayes import BayesianNetwork
    >>> net = BayesianNetwork({"a": 2, "b": ["no", "yes"]}, [("a", "b")], {"a": [0.5, 0.5], "b": [[1, 0], [0.2, 0.8]]})
    >>> found = net.predict_proba({"a": [1]})
    >>> found["b"]
    array([[0.2, 0.8]])
    >>> found.to_frame()  # doctest: +SKIP
        no  yes
    0  0.2  0.8
    """

    def __init__(self, tables: Mapping[str, NDArray[np.float64]], domain: Domain, index: object = None) -> None:
        super().__init__(tables)
        self._domain, self._index = domain, index

    def to_frame(self, library: Library = "pandas") -> Table:
        """Return the probabilities as a data frame, a column for each value.

        Columns are named by the labels, or codes, of a target; with several targets by pairs of target and label, or by
        texts such as ``rain=yes`` if a library's names are texts. A frame of pandas has the index of the frame that the
        answers are for.

        Raises
        ------
        ValueError
            If the library is unknown, or two labels read the same as text while names are texts.
        ImportError
            If the library is not installed.
        """
        columns: dict[Any, NDArray[np.float64]] = {}
        for target, table in self.items():
            values = self._domain.labels.get(target, range(self._domain.size(target)))
            names: list[Any] = list(values if len(self) == 1 else zip([target] * len(values), values, strict=True))
            if library != "pandas":
                names = [str(v) if len(self) == 1 else f"{target}={v}" for v in values]
                if len(set(names)) < len(names):
                    raise ValueError(
                        f"labels of {target!r} read the same as text, so that columns cannot have their names"
                    )
            columns.update(zip(names, table.T, strict=True))
        frame = as_frame(columns, library)
        if library == "pandas" and self._index is not None:
            frame.index = self._index
        return frame  # type: ignore[no-any-return]  # of a library that may not be installed


class RowAnswers(PlannedTables):
    """Answers on frames; see `BayesianNetwork`."""

    def predict(
        self,
        frame: Frame,
        targets: str | Iterable[str] | None = None,
        *,
        impossible: Literal["raise", "nan"] = "raise",
        oracle: Oracle = "exact",
    ) -> dict[str, NDArray[Any]] | Table:
        """Return the most probable value of each target, on its own, in each row of a frame.

        Parameters
        ----------
        frame : data frame, mapping of str to sequence, or Dataset
            The evidence: columns of labels, or of codes if an attribute has no labels. None, NaN and NA are unknown.
            See `predict_proba` for the work shared between rows.
        targets : str or sequence of str, optional
            Attributes to predict, by default all without a column. A target's own column is ignored; see `impute` for
            filling in missing values.
        impossible : {"raise", "nan"}
            Whether a row of probability zero raises an error, or gets the answer None.
        oracle : {"exact", "region_graph", "sampling", "auto"}
            Approximate answers, one row after the other: see `BayesianNetwork.approximation`.

        Returns
        -------
        data frame or dict of str to ndarray, shape (n_rows,)
            Labels, or codes without labels, in the order of the rows. A data frame is answered by
            a frame of the same kind and index. The first of equally probable values is taken.

        Raises
        ------
        ImpossibleEvidenceError
            If a row is impossible; the message names the first.
        ValueError
            If a column or target is not an attribute, or a value does not belong to its attribute.

        Examples
        --------
        >>> from pypgm.bayes import BayesianNetwork
        >>> domain = {"rain": ["no", "yes"], "grass": ["dry", "wet"]}
        >>> net = BayesianNetwork(domain, {"grass": ["rain"]}, {"rain": [0.8, 0.2], "grass": [[0.9, 0.1], [0.2, 0.8]]})
        >>> net.predict({"grass": ["wet", None, "dry"]})
        {'rain': array(['yes', 'no', 'no'], dtype=object)}
        """
        answers = self._posteriors(frame, targets, impossible, oracle)
        columns = {}
        for target, table in answers.probabilities.items():
            codes = np.where(np.isnan(table[:, 0]), -1, table.argmax(axis=1))
            columns[target] = as_values(self.domain, target, codes)
        return like_frame(frame, columns)

    def predict_proba(
        self,
        frame: Frame,
        targets: str | Iterable[str] | None = None,
        *,
        impossible: Literal["raise", "nan"] = "raise",
        oracle: Oracle = "exact",
    ) -> Probabilities:
        """Return the probabilities of each target's values in each row of a frame.

        Identical rows are answered once, and rows in which the same attributes are known by one plan, so that a frame
        costs little more than its different patterns of missing values.

        Parameters
        ----------
        frame, targets
            See `predict`.
        impossible : {"raise", "nan"}
            Whether a row of probability zero is an error, or its probabilities NaN.
        oracle
            See `predict`.

        Returns
        -------
        dict of str to ndarray of float64, shape (n_rows, size of the target)
            Rows in the order of the frame, values in the order of the domain; its ``to_frame()`` is a data frame with
            the labels as columns.

        Raises
        ------
        ImpossibleEvidenceError
            If a row is impossible; the message names the first.
        ModelTooLargeError
            If a table on the way does not fit even for one row.
        ValueError
            If a column or target is not an attribute, or a value does not belong to its attribute.
        """
        answers = self._posteriors(frame, targets, impossible, oracle)
        return Probabilities(answers.probabilities, self.domain, getattr(frame, "index", None))

    def log_likelihood(self, frame: Frame, *, oracle: Oracle = "exact") -> NDArray[np.float64]:
        """Return the natural log of the probability of each row of a frame; -inf for impossible rows.

        Parameters
        ----------
        frame
            See `predict`; missing values are summed over.
        oracle
            See `predict`.

        Returns
        -------
        ndarray of float64, shape (n_rows,)
        """
        return self._posteriors(frame, (), "nan", oracle).log_evidence

    def _posteriors(
        self, frame: Frame, targets: str | Iterable[str] | None, impossible: str, oracle: Oracle
    ) -> Posteriors:
        check_choice("impossible", impossible, ("raise", "nan"))
        wanted = None if targets is None else as_clique(targets)
        self.domain.indices(wanted or ())
        n_rows, columns = as_codes(self.domain, frame, wanted or ())
        if wanted is None:
            wanted = tuple(a for a in self.domain if a not in columns)
            if not wanted and columns:
                raise ValueError("every attribute has a column: name the targets, or fill missing values with `impute`")
        elif wanted and not columns and column_names(frame):
            raise ValueError("every column is a target, so nothing is known; `impute` fills missing values")
        answers = self._row_posteriors(columns, n_rows, wanted, oracle)
        bad = np.flatnonzero(answers.log_evidence == -np.inf)
        if bad.size and impossible == "raise":
            what = f"{bad.size} of {n_rows} rows have probability zero, the first is row {bad[0]} (the first is 0)"
            raise ImpossibleEvidenceError(f"{what}; impossible='nan' answers the others")
        return answers


_Columns = dict[str, "NDArray[np.intp]"]


class _Network(Protocol):
    """A Bayesian network."""

    domain: Domain

    def _row_posteriors(
        self, columns: Mapping[str, NDArray[np.intp]], n_rows: int, targets: Sequence[str]
    ) -> Posteriors:
        """Return the posteriors of targets in each row of codes."""

    def map(
        self, targets: str | Iterable[str] | None = None, evidence: Evidence | None = None
    ) -> tuple[dict[str, Label], float]:
        """Return the most probable joint values."""


def imputed(
    net: _Network,
    frame: Frame,
    how: Literal["mode", "joint", "sample"],
    rng: np.random.Generator | int | None = None,
) -> dict[str, NDArray[Any]] | Table:
    """Return a frame without missing values; see `BayesianNetwork.impute`.

    Examples
    --------
    >>> from pypgm.bayes import BayesianNetwork
    >>> net = BayesianNetwork({"a": 2, "b": 2}, [("a", "b")], {"a": [0.4, 0.6], "b": [[0, 1], [0.5, 0.5]]})
    >>> imputed(net, {"a": [None], "b": [None]}, "mode"), imputed(net, {"a": [None], "b": [None]}, "joint")
    ({'a': array([1]), 'b': array([1])}, {'a': array([0]), 'b': array([1])})
    """
    check_choice("how", how, ("mode", "joint", "sample"))
    n_rows, columns = as_codes(net.domain, frame)
    gone = np.zeros(n_rows, dtype=bool)
    for column in columns.values():
        gone |= column == MISSING
    rows = np.flatnonzero(gone)
    if len(rows):
        holes = {a: column[rows] for a, column in columns.items()}
        filled = _together(net, holes) if how == "joint" else _by_posteriors(net, holes, how, as_generator(rng))
        for a, column in filled.items():
            columns[a][rows] = column
    return like_frame(frame, {a: as_values(net.domain, a, column) for a, column in columns.items()})


def _by_posteriors(net: _Network, holes: _Columns, how: str, rng: np.random.Generator) -> _Columns:
    """Return columns filled by modes, all at once, or by draws, one attribute after the other given all before."""
    filled = {a: column.copy() for a, column in holes.items()}
    targets = [a for a, column in holes.items() if (column == MISSING).any()]
    at_once = _possible(net, holes, targets) if how == "mode" else None
    for a in targets:
        rows = np.flatnonzero(filled[a] == MISSING)
        if at_once is not None:
            filled[a][rows] = at_once.probabilities[a][rows].argmax(axis=1)
        else:
            answers = _possible(net, {b: column[rows] for b, column in filled.items()}, [a])
            filled[a][rows] = draw_rows(answers.probabilities[a], np.arange(len(rows)), rng)
    return filled


def _together(net: _Network, holes: _Columns) -> _Columns:
    """Return columns filled by the jointly most probable values of each row's missing attributes."""
    _possible(net, holes, [])
    filled = {a: column.copy() for a, column in holes.items()}
    complete = set(holes) == set(net.domain)
    distinct, same = np.unique(np.stack([*holes.values()], axis=1), axis=0, return_inverse=True)
    labels: dict[str, Any] = {a: net.domain.labels.get(a, range(net.domain.size(a))) for a in holes}
    for number, codes in enumerate(distinct.tolist()):
        known = {a: labels[a][code] for a, code in zip(holes, codes, strict=True) if code != MISSING}
        missing = [a for a in holes if a not in known]
        values, _ = net.map(None if complete else missing, known)
        rows = np.flatnonzero(same.reshape(-1) == number)
        for a in missing:
            filled[a][rows] = labels[a].index(values[a])
    return filled


def _possible(net: _Network, columns: _Columns, targets: list[str]) -> Posteriors:
    """Return posteriors of rows; all the rows have to be possible."""
    answers = net._row_posteriors(columns, len(next(iter(columns.values()))), targets)
    if (answers.log_evidence == -np.inf).any():
        raise ImpossibleEvidenceError("the known values of a row with missing ones have probability zero")
    return answers


class BayesianNetwork(RowAnswers):
    r"""The distribution :math:`p(x) = \prod_i \theta_i(x_i \mid x_{\mathrm{pa}(i)})`, immutable.

    Rows of :math:`\theta_i` that sum to 1 within 1e-4 but not exactly (printed digits) are accepted with a note:
    `tables` and files keep them as given, answers divide them by their sums.

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
        or NaN, a row does not sum to 1 within 1e-4, or the arcs form a cycle.

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

    def marginals(
        self, evidence: Evidence | None = None, *, oracle: Oracle = "exact", n_threads: int = 0
    ) -> dict[str, Factor]:
        """Return the probabilities of every attribute, given evidence on some.

        Parameters
        ----------
        evidence : mapping, optional
            Attribute to label, code, list of them, or likelihoods (`pypgm.Likelihood`, or a NumPy float array).
        oracle : {"exact", "region_graph", "sampling", "auto"}
            Approximate answers, where no junction tree fits: see `approximation`, which also says how good they are.
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
            If neither a junction tree of what the evidence leaves fits, nor the part that each attribute depends on.
        ValueError
            If an attribute, label or code is unknown.
        """
        if oracle not in ("exact", "auto"):
            return dict(self.approximation(evidence, oracle=oracle).marginals)
        check_evidence(evidence)
        self.domain.indices(tuple(evidence or ()))
        tables: dict[str, NDArray[np.float64]] = {}
        try:
            for answers in self._divided(evidence or ()):
                tables |= answers.marginals(evidence, n_threads=n_threads)
        except ModelTooLargeError:  # each attribute alone may depend on few others
            if oracle == "auto":
                return dict(self.approximation(evidence).marginals)
            tables = {a: self.query(a, evidence).datavector() for a in reversed(self._order)}  # a part too large first
        return {a: Factor.over(domain, tables[a]) for domain, a in zip(self._singles, self.domain, strict=True)}

    def query(
        self,
        targets: str | Iterable[str],
        evidence: Evidence | None = None,
        *,
        oracle: Oracle = "exact",
        max_bytes: float | None = None,
    ) -> Factor:
        """Return the joint probabilities of some attributes, given evidence on others.

        Parameters
        ----------
        targets : str or sequence of str
            Attributes of the answer, in any order; they need not share a table.
        evidence : mapping, optional
            Attribute to label, code, list of them, or likelihoods (`pypgm.Likelihood`, or a NumPy float array).
        oracle : {"exact", "region_graph", "sampling", "auto"}
            Approximate answers, where no junction tree fits: see `approximation`, which also says how good they are.
        max_bytes : float, optional
            Memory a table may take; half of the available memory by default.

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
        check_evidence(evidence)
        part = self._part((*clique, *(evidence or ())))
        if oracle == "auto":
            with suppress(ModelTooLargeError):
                return part.marginal(clique, evidence, max_bytes)
        elif oracle == "exact":
            return part.marginal(clique, evidence, max_bytes)
        return part.answers.by(oracle, evidence, clique, max_bytes=max_bytes).joint(clique)

    def map(
        self,
        targets: str | Iterable[str] | None = None,
        evidence: Evidence | None = None,
        *,
        oracle: Literal["exact", "auto"] = "exact",
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
        oracle : {"exact", "auto"}
            "auto": of all attributes, the best values that are found where no junction tree fits, with an
            `ApproximationWarning` that says how much more probable others may be.
        max_bytes : float, optional
            Memory a table may take; half of the available memory by default.

        Returns
        -------
        values : dict of str to label or code
            The value of each target, in the order of the targets; a label if the attribute has them. Among equally
            probable values of some targets the first in lexicographic order of the codes; of all attributes always the
            same, see `JunctionTree.map`.
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
            likeliest, log_weight = self._whole.answers.map_by(oracle, evidence)
            return {a: likeliest[a] for a in wanted}, log_weight
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
        oracle: Literal["exact", "sampling", "auto"] = "exact",
    ) -> Dataset:
        """Draw independent records: each attribute given its parents.

        With evidence, the attributes that it depends on are drawn first, down a junction tree.

        Parameters
        ----------
        rows : int
            Number of records, at least 0.
        rng : Generator or int, optional
            The operating system's entropy by default.
        evidence : mapping, optional
            Known values, see `query`: the records follow the distribution given the evidence.
        do : mapping of str to label or code, optional
            Interventions before the draw, see `do`.
        oracle : {"exact", "sampling", "auto"}
            "sampling": given evidence, weighted draws are drawn again by their weights, as their distribution is only
            near to that given the evidence; "auto": where no junction tree fits. See `approximation`.

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
        array([328., 672.])
        >>> net.sample(1000, 0, do={"grass": "wet"}).project("rain").values
        array([788., 212.])
        """
        net, n_rows, source = self.do(do) if do else self, checked_integer("rows", rows), as_generator(rng)
        known: Mapping[str, NDArray[np.integer]] = {}
        if evidence:
            known = net._drawn_part(evidence).answers.records(n_rows, source, evidence, oracle)
        return Dataset._of_codes(draw_ancestral(net.tables, net._order, n_rows, source, known), net.domain)

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
            See `predict`; attributes without a column get none.
        how : {"mode", "joint", "sample"}
            "mode": each cell by its own most probable value; "joint": those of a row by the values that are most
            probable together; "sample": by a draw from their joint posterior.
        rng : Generator or int, optional
            Source of the draws; the operating system's entropy by default.

        Returns
        -------
        data frame or dict of str to ndarray
            See `predict`.

        Raises
        ------
        ImpossibleEvidenceError
            If the known values of a row are impossible.
        ValueError
            If a column is not an attribute, or a value does not belong to its attribute.

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
        """Write the network to a file, whole or not at all; `pypgm.load` reads it as the model of a single record.

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

    def log_probability(self, evidence: Evidence | None, *, oracle: Oracle = "exact") -> float:
        """Return the natural log of the probability of evidence; -inf if it is impossible.

        Parameters
        ----------
        evidence : mapping
            Attribute to label, code, list of them, or likelihood vector, whose expectation counts.
        oracle : {"exact", "region_graph", "sampling", "auto"}
            Approximate answers, where no junction tree fits: see `approximation`, which also says how good they are.

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
        if oracle == "auto":
            with suppress(ModelTooLargeError):
                return part.answers.log_partition(evidence)
        elif oracle == "exact":
            return part.answers.log_partition(evidence)
        try:
            return part.answers.by(oracle, evidence).log_z
        except ImpossibleEvidenceError:
            return -np.inf

    def approximation(
        self,
        evidence: Evidence | None = None,
        *,
        oracle: Oracle = "auto",
        max_bytes: float | None = None,
    ) -> Approximation:
        """Return the probabilities of every attribute, given evidence, and what bounds the error of the answers.

        Known values are taken out of the tables first. What is left is answered by generalised belief propagation on
        a region graph, or by weighted draws from mini-buckets. Both are done: the draws give an interval for the
        probability of the evidence that does not depend on regions, and a region graph counts only if it agrees.

        Parameters
        ----------
        evidence : mapping, optional
            See `query`.
        oracle : {"exact", "region_graph", "sampling", "auto"}
            "auto": exact where a junction tree of what the evidence leaves fits, else the region graph that agrees with
            the draws, else the draws if they are worth at least a hundred.
        max_bytes : float, optional
            Memory that tables may take; half of the available memory by default.

        Returns
        -------
        Approximation
            Its log Z is the log-probability of the evidence.

        Warns
        -----
        ApproximationWarning
            If no region graph agrees with the draws, or these are worth less than a hundred.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero, or no draw agrees with it.
        ModelTooLargeError
            If the tables themselves do not fit.

        Examples
        --------
        >>> net = BayesianNetwork({"a": 2, "b": 2}, [("a", "b")], {"a": [0.5, 0.5], "b": [[0.9, 0.1], [0.2, 0.8]]})
        >>> found = net.approximation({"b": 1}, oracle="sampling")
        >>> found.marginals["a"].values.round(1), round(float(np.exp(found.log_z)), 2)
        (array([0.1, 0.9]), 0.45)
        """
        return self._whole.answers.by(oracle, evidence, max_bytes=max_bytes)
