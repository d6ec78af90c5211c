"""Answers of a network for the rows of a frame: their likelihood, and their missing attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pypgm.bayes.batch import Posteriors, posteriors
from pypgm.bayes.frames import Frame, Table, as_codes, as_values, column_names, like_frame
from pypgm.bayes.parts import Part, PlannedTables
from pypgm.data.frames import Library, as_frame
from pypgm.domain import Domain, as_clique
from pypgm.errors import ImpossibleEvidenceError


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
        self, frame: Frame, targets: str | Iterable[str] | None = None, *, impossible: Literal["raise", "nan"] = "raise"
    ) -> dict[str, NDArray[Any]] | Table:
        """Return the most probable value of each target, on its own, in each row of a frame.

        Parameters
        ----------
        frame : data frame, mapping of str to sequence, or Dataset
            The evidence: columns of labels, or of codes if an attribute has no labels. None, NaN and NA are unknown.
            See `predict_proba` for the work shared between rows.
        targets : str or sequence of str, optional
            By default all attributes without a column. A target's own column is ignored; see `impute` for filling in
            missing values.
        impossible : {"raise", "nan"}
            Whether a row of probability zero is an error, or its answer None.

        Returns
        -------
        data frame or dict of str to ndarray, shape (n_rows,)
            Labels, or codes without labels, in the order of the rows. A data frame comes back as one of its kind and
            index. Of equally probable values the first is taken.

        Raises
        ------
        ImpossibleEvidenceError
            If a row is impossible; the message names the first.
        ValueError
            If a column or target is no attribute, or a value none of its attribute's.

        Examples
        --------
        >>> from pypgm.bayes import BayesianNetwork
        >>> domain = {"rain": ["no", "yes"], "grass": ["dry", "wet"]}
        >>> net = BayesianNetwork(domain, {"grass": ["rain"]}, {"rain": [0.8, 0.2], "grass": [[0.9, 0.1], [0.2, 0.8]]})
        >>> net.predict({"grass": ["wet", None, "dry"]})
        {'rain': array(['yes', 'no', 'no'], dtype=object)}
        """
        answers, _ = self._posteriors(frame, targets, impossible)
        columns = {}
        for target, table in answers.probabilities.items():
            codes = np.where(np.isnan(table[:, 0]), -1, table.argmax(axis=1))
            columns[target] = as_values(self.domain, target, codes)
        return like_frame(frame, columns)

    def predict_proba(
        self, frame: Frame, targets: str | Iterable[str] | None = None, *, impossible: Literal["raise", "nan"] = "raise"
    ) -> Probabilities:
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
            Rows in the order of the frame, values in the order of the domain; its ``to_frame()`` is a data frame with
            the labels as columns.

        Raises
        ------
        ImpossibleEvidenceError
            If a row is impossible; the message names the first.
        ModelTooLargeError
            If a table on the way does not fit even for one row.
        ValueError
            If a column or target is no attribute, or a value none of its attribute's.
        """
        answers, _ = self._posteriors(frame, targets, impossible)
        return Probabilities(answers.probabilities, self.domain, getattr(frame, "index", None))

    def log_likelihood(self, frame: Frame) -> NDArray[np.float64]:
        """Return the natural log of the probability of each row of a frame; -inf for impossible rows.

        Parameters
        ----------
        frame
            As for `predict`; missing values are summed over.

        Returns
        -------
        ndarray of float64, shape (n_rows,)
        """
        answers, part = self._posteriors(frame, (), "nan")
        return answers.log_evidence - part.log_total

    def _posteriors(
        self, frame: Frame, targets: str | Iterable[str] | None, impossible: str
    ) -> tuple[Posteriors, Part]:
        if impossible not in {"raise", "nan"}:
            raise ValueError(f"impossible must be 'raise' or 'nan', got {impossible!r}")
        wanted = None if targets is None else as_clique(targets)
        self.domain.indices(wanted or ())
        n_rows, columns = as_codes(self.domain, frame, wanted or ())
        if wanted is None:
            wanted = tuple(a for a in self.domain if a not in columns)
            if not wanted and columns:
                raise ValueError("every attribute has a column: name the targets, or fill what is missing by `impute`")
        elif wanted and not columns and column_names(frame):
            raise ValueError("every column is a target's, so that nothing is known; `impute` fills what is missing")
        part = self._part((*wanted, *columns))
        answers = posteriors(part.domain, part.tables, columns, n_rows, wanted)
        bad = np.flatnonzero(answers.log_evidence == -np.inf)
        if bad.size and impossible == "raise":
            what = f"{bad.size} of {n_rows} rows have probability zero, the first is row {bad[0]} (the first is 0)"
            raise ImpossibleEvidenceError(f"{what}; impossible='nan' answers the others")
        return answers, part
