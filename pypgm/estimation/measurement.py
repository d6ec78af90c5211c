"""Noisy linear measurements of marginals: all that an estimate sees of the data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm._base.html import Shown
from pypgm._base.numeric import real_array, shown
from pypgm._base.terminal import escaped
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain, as_clique
from pypgm.factor import Factor, transpose_cells
from pypgm.queries import Identity, LinearQuery, Products, UserOperator
from pypgm.queries.folded import folded

Noise = Literal["gaussian", "laplace"]
Unmeasured = Literal["not asked", "hidden by noise"]
"""Why a mechanism left out the pairs that it did not measure."""


@dataclass(frozen=True, slots=True)
class NoiseLaw:
    """Law of the noise on measurements, as far as estimates know it.

    Attributes
    ----------
    incredible : float
        Standard errors below zero to which sums of such noise go less than once in 1e9 times.
    draw : callable
        Returns noise without rounding, from a generator, a standard deviation and a number of answers.
    """

    incredible: float
    draw: Callable[[np.random.Generator, float | NDArray[np.float64], int], NDArray[np.float64]]


NOISE_LAWS: Mapping[Noise, NoiseLaw] = {
    "gaussian": NoiseLaw(7.0, lambda rng, stddev, size: rng.normal(0.0, stddev, size)),
    # Beyond x standard deviations the tail of a draw is exp(-sqrt(2) x) / 2; its Chernoff bound holds for all sums.
    "laplace": NoiseLaw(17.5, lambda rng, stddev, size: rng.laplace(0.0, stddev / np.sqrt(2), size)),
}
"""Laws by their names in measurements."""

_BETWEEN = "; "  # reasons why something protects nobody

_every_cell = lru_cache(Identity)  # by number of cells: measurements are asked for their query often


@dataclass(frozen=True, slots=True, init=False, eq=False)
class LinearMeasurement(Shown):
    """Noisy answers to linear queries on the marginal of one clique.

    Parameters
    ----------
    values : array_like of real, shape (rows of the query,) or the shape of the marginal
        The noisy answers, in counts; integers stay integers. They follow the clique as it is written.
    clique : str or sequence of str
        The attributes of the marginal.
    stddev : float or array_like of float, shape (rows of the query,)
        Standard deviation of the noise, in counts: one for all answers, or one each.
    query : LinearQuery, optional
        Query of `pypgm.queries`, or any object with ``shape``, ``matvec``, ``rmatvec`` and ``column_norms(norm)``,
        which becomes a `UserOperator`; None for every cell.
    noise : {"gaussian", "laplace"}
        The law of the noise.
    not_private : str
        Why the answers protect nobody, such as noise from a seed; it follows them into models and files.

    Attributes
    ----------
    values : ndarray of int64 or float64
        The noisy answers, flat, in counts.
    clique : tuple of str
        The attributes of the marginal, as given.
    stddev : float or ndarray of float64
        Standard deviation of the noise, in counts.
    query : LinearQuery or None
        The linear query; None for every cell.
    noise : str
        The law of the noise.
    not_private : str
        Reason why the answers protect nobody; empty if none is known.

    Raises
    ------
    ValueError
        If a value is NaN or infinite, a standard deviation is not positive and finite, or lengths do not fit.
    TypeError
        If values or standard deviations are not real numbers.

    Examples
    --------
    >>> m = LinearMeasurement([10, -2, 7], "a", stddev=2.0)
    >>> m.clique, m.values.dtype
    (('a',), dtype('int64'))
    """

    values: NDArray[np.int64] | NDArray[np.float64]
    clique: Clique
    stddev: float | NDArray[np.float64]
    query: LinearQuery | None
    noise: Noise
    not_private: str
    _shape: tuple[int, ...] = field(repr=False)

    def __init__(
        self,
        values: ArrayLike,
        clique: str | Iterable[str],
        stddev: float | ArrayLike = 1.0,
        query: LinearQuery | Products | None = None,
        noise: Noise = "gaussian",
        *,
        not_private: str = "",
    ) -> None:
        names = as_clique(clique)
        if not all(isinstance(name, str) for name in names):
            raise TypeError(f"the clique of a measurement needs names of attributes, got {shown(names)}")
        if len(set(names)) < len(names):
            raise ValueError(f"the clique of a measurement names each attribute once, got {names}")
        answers = real_array(f"values of the measurement of {names}", values)
        if answers.dtype.kind == "u" and (answers > np.iinfo(np.int64).max).any():
            raise ValueError(f"values of the measurement of {names} must fit int64, got {answers.max()}")
        shape = answers.shape
        answers = answers.astype(np.int64 if answers.dtype.kind in "iu" else np.float64).reshape(-1)
        if answers.dtype.kind == "f" and not np.isfinite(answers).all():
            raise ValueError(f"values of the measurement of {names} must be finite, got NaN or infinity")
        linear_query = None if query is None else _as_query(query, names)
        if linear_query is not None and answers.size != linear_query.shape[0]:
            raise ValueError(f"the query on {names} has {linear_query.shape[0]} rows, got {answers.size} values")
        if noise not in NOISE_LAWS:
            raise ValueError(f"noise of the measurement of {names} must be one of {tuple(NOISE_LAWS)}, got {noise!r}")
        answers.setflags(write=False)
        each = _checked_stddev(stddev, names, answers.size)
        fields = (answers, names, each, linear_query, noise, str(not_private), shape)
        for name, value in zip(self.__slots__, fields, strict=True):
            object.__setattr__(self, name, value)

    @property
    def linear_map(self) -> LinearQuery:
        """The linear query, `Identity` where every cell is measured."""
        return _every_cell(self.values.size) if self.query is None else self.query

    def weights(self) -> NDArray[np.float64]:
        """Return 1 / variance of each answer."""
        return 1.0 / np.square(self.spread())

    def spread(self) -> NDArray[np.float64]:
        """Return the standard deviation of each answer, counts."""
        return np.full(self.values.size, self.stddev)

    def answered(
        self, values: NDArray[np.int64] | NDArray[np.float64], clique: Clique | None = None
    ) -> LinearMeasurement:
        """Return the same queries with the same noise, answered by other values, perhaps on another clique."""
        other = object.__new__(LinearMeasurement)  # nothing of it needs to be checked again
        put = object.__setattr__
        put(other, "values", values)
        put(other, "clique", self.clique if clique is None else clique)
        put(other, "stddev", self.stddev)
        put(other, "query", self.query)
        put(other, "noise", self.noise)
        put(other, "not_private", self.not_private)
        put(other, "_shape", self._shape)
        return other

    def checked(self, domain: Domain) -> LinearMeasurement:
        """Return the measurement itself if it fits a domain, else raise ``ValueError``."""
        self._positions_in(domain)
        return self

    def _positions_in(self, domain: Domain) -> tuple[int, ...]:
        """Return the positions of the clique in a domain that the measurement fits."""
        positions = domain.indices(self.clique)
        cells = math.prod([domain.shape[i] for i in positions])
        columns = cells if self.query is None else self.query.shape[1]
        if columns != cells:
            raise ValueError(f"clique {self.clique} has {cells} cells, its query is for {columns}")
        if self.query is None and self.values.size != cells:
            raise ValueError(f"clique {self.clique} has {cells} cells, its measurement {self.values.size} values")
        if self.query is None and len(self._shape) > 1 and self._shape != domain.sizes(self.clique):
            raise ValueError(f"clique {self.clique} has shape {domain.sizes(self.clique)}, its values {self._shape}")
        return positions

    def ordered(self, domain: Domain) -> LinearMeasurement:
        """Return the measurement, checked, with its clique in the domain's order if its cells are the answers."""
        positions = self._positions_in(domain)
        if not self.linear_map.is_identity or list(positions) == sorted(positions):
            return self
        table, canonical = domain.project(self.clique), domain.canonical(self.clique)
        values, stddev = transpose_cells(self.values, table, canonical), self.stddev
        if not isinstance(stddev, float):
            stddev = transpose_cells(stddev, table, canonical)
        return LinearMeasurement(values, canonical, stddev, None, self.noise, not_private=self.not_private)

    def on(self, tables: CliqueVector) -> tuple[int, LinearQuery]:
        """Return the position of the table that holds the clique, the first smallest, and the query on its cells."""
        home = tables.home(self.clique)
        held, query = tables.cliques[home], self.linear_map
        return home, query if self.clique == held else folded(query, cells_of(tables.domain, self.clique, held))

    def __repr__(self) -> str:
        text = "" if self.query is None else f", {self.query!r}"
        spread = f"stddev {self.stddev:.4g}" if isinstance(self.stddev, float) else "stddev each"
        law = f"{self.noise}, not private" if self.not_private else self.noise
        return f"LinearMeasurement({escaped(', '.join(self.clique))}: {self.values.size} values, {spread}{text}, {law})"


def cells_of(domain: Domain, clique: str | Iterable[str], table: Clique) -> NDArray[np.int64]:
    """Return, for each cell of a table, the cell of a clique that holds it; axes of both are as written.

    Examples
    --------
    >>> cells_of(Domain({"a": 2, "b": 2}), ("b", "a"), ("a", "b")).tolist()
    [0, 2, 1, 3]
    """
    cells = domain.project(clique)
    return Factor(cells, np.arange(cells.size())).expand(domain.project(table)).datavector().astype(np.int64)


def joined_marks(things: Iterable[object]) -> str:
    """Return the different reasons why measurements, models or ledgers protect nobody; empty where all do."""
    reasons = (reason for thing in things for reason in getattr(thing, "not_private", "").split(_BETWEEN))
    return _BETWEEN.join(dict.fromkeys(reason for reason in reasons if reason))


def _as_query(query: LinearQuery | Products, clique: Clique) -> LinearQuery:
    """Return a query as it is, and a user's operator as one."""
    if isinstance(query, LinearQuery):
        return query
    if not isinstance(query, Products):
        raise TypeError(f"the query on {clique} needs shape, matvec and rmatvec, got {_kind(query)}")
    return UserOperator.of(query, f"the query on {clique}")


def _kind(query: object) -> str:
    kind = type(query).__name__
    return kind + "; measure its factors as a queries.Kronecker" * (kind == "KroneckerQuery")


def _checked_stddev(stddev: float | ArrayLike, clique: Clique, n_values: int) -> float | NDArray[np.float64]:
    if type(stddev) is float and 0 < stddev < math.inf:
        return stddev
    spread: NDArray[np.float64] = real_array(f"stddev of the measurement of {clique}", stddev).astype(np.float64)
    if spread.shape not in {(), (n_values,)}:
        raise ValueError(f"the measurement of {clique} needs one stddev or {n_values}, got shape {spread.shape}")
    if not (np.isfinite(spread).all() and (spread > 0).all()):
        raise ValueError(f"the measurement of {clique} needs a positive finite stddev")
    if spread.ndim == 0:
        return float(spread)
    spread.setflags(write=False)
    return spread
