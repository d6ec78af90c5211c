"""Imputation: missing values of a frame, filled in given the known values of their row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from pypgm.bayes.batch import Posteriors, posteriors
from pypgm.bayes.frames import MISSING, Frame, Table, as_codes, as_values, like_frame
from pypgm.bayes.sampling import draw_rows
from pypgm.errors import ImpossibleEvidenceError
from pypgm.numeric import as_generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.bayes.parts import Part
    from pypgm.domain import Domain, Label
    from pypgm.graphs.evidence import Evidence

_Columns = dict[str, "NDArray[np.intp]"]


class _Network(Protocol):
    """A Bayesian network."""

    domain: Domain

    def _part(self, attributes: Iterable[str]) -> Part:
        """Return the part of the network that an answer on some attributes depends on."""

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
    if how not in {"mode", "joint", "sample"}:
        raise ValueError(f"how must be 'mode', 'joint' or 'sample', got {how!r}")
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
    """Return posteriors of rows, all of which have to be possible."""
    part = net._part(columns)
    answers = posteriors(part.domain, part.tables, columns, len(next(iter(columns.values()))), targets)
    if (answers.log_evidence == -np.inf).any():
        raise ImpossibleEvidenceError("what is known of a row with missing values has probability zero")
    return answers
