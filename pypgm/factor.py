"""A table over named attributes, and its algebra."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from pypgm import _core
from pypgm._base.html import Shown
from pypgm._base.memory import check_fits, short
from pypgm._base.numeric import float_array
from pypgm._base.terminal import escaped, label_text
from pypgm.domain import Clique, Domain, Label, as_clique, check_domain, listed

_T = TypeVar("_T", bound=np.generic)

Frame: TypeAlias = Any
"""A data frame of a library that may not be installed."""

_FLOAT64 = np.dtype(np.float64)
_LEAST_MASS = 1e-300  # below it, a quotient may leave the doubles
_KEYS = 1000  # of cells that completion offers
_SHOWN = 12  # cells that a printed table shows with their labels


class Factor(Shown):
    """A table of real numbers with one axis for each attribute of its domain.

    Whether the numbers are counts, probabilities or their natural logarithms is up to the caller. A factor is
    not changed by its methods; each returns a new one. Beyond 1.8e308 numbers are inf.

    Parameters
    ----------
    domain : Domain
        The attributes, in the order of the axes.
    values : array_like of float, shape ``domain.shape`` or ``(domain.size(),)``
        The table, or its cells in C order; copied.

    Raises
    ------
    ValueError
        If the number of values does not fit the domain.
    TypeError
        If the values are complex or masked.

    Examples
    --------
    >>> factor = Factor(Domain({"a": 2, "b": 3}), [[1, 2, 3], [4, 5, 6]])
    >>> factor.project("b").values
    array([5., 7., 9.])
    """

    __slots__ = ("_cells", "domain")
    __array_priority__ = 1000.0  # a NumPy number times a factor is a factor
    __iter__ = None  # cells are asked for by their labels, not one after the other

    domain: Domain

    def __init__(self, domain: Domain, values: ArrayLike) -> None:
        check_domain(domain)
        cells = np.array(float_array("values of a table", values), order="C")
        if cells.shape not in {domain.shape, (domain.size(),)}:
            raise ValueError(f"a table over {domain} needs shape {domain.shape}, got {cells.shape}")
        self.domain = domain
        self._cells = cells.reshape(-1)

    @classmethod
    def over(cls, domain: Domain, cells: NDArray[np.float64]) -> Factor:
        """Return a factor that is a view of flat, contiguous float64 cells: a change of one changes the other.

        Examples
        --------
        >>> cells = np.zeros(2)
        >>> factor = Factor.over(Domain({"a": 2}), cells)
        >>> cells[0] = 5
        >>> factor.values
        array([5., 0.])
        """
        if cells.shape != (math.prod(domain.shape),) or cells.dtype != _FLOAT64 or not cells.flags.c_contiguous:
            raise ValueError(
                f"a view over {domain} needs {domain.size()} contiguous float64 cells, got {cells.dtype} {cells.shape}"
            )
        factor = object.__new__(cls)
        factor.domain = domain
        factor._cells = cells
        return factor

    @property
    def values(self) -> NDArray[np.float64]:
        """The table, one axis per attribute: a view, shape ``domain.shape``."""
        return self._cells.reshape(self.domain.shape)

    def datavector(self) -> NDArray[np.float64]:
        """Return the cells in C order, for any number of attributes: a view, shape ``(domain.size(),)``."""
        return self._cells

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[np.float64]:
        if dtype is None or np.dtype(dtype) == np.float64:
            return self.values.copy() if copy else self.values
        if copy is False:
            raise ValueError(f"a table of float64 cannot become {np.dtype(dtype)} without a copy")
        return self.values.astype(dtype)

    def transpose(self, attributes: Iterable[str]) -> Factor:
        """Return the same table with its axes in another order."""
        clique = as_clique(attributes)
        if sorted(self.domain.indices(clique)) != list(range(len(self.domain))):
            raise ValueError(f"a transpose needs all of {self.domain.attributes}, got {clique}")
        return Factor.over(self.domain.project(clique), transpose_cells(self._cells, self.domain, clique))

    def expand(self, domain: Domain) -> Factor:
        """Repeat the table along the attributes of `domain` that it lacks; axes come in the order of `domain`."""
        kept = [1 if a in self.domain else 0 for a in domain.attributes]
        if sum(kept) != len(self.domain):
            raise ValueError(f"cannot expand a table over {self.domain.attributes} to {domain.attributes}")
        _check_same_sizes(self.domain, domain)
        small = self._reordered(a for a in domain.attributes if a in self.domain)
        check_fits(
            8 * domain.size(), None, f"the table over {domain.attributes} needs {short(domain.size())} cells", ""
        )
        large = np.empty(domain.size())
        _core.expand_assign(large, domain.shape, small, kept)
        return Factor.over(domain, large)

    def project(self, attributes: str | Iterable[str]) -> Factor:
        """Sum onto some attributes; axes come in the given order."""
        return self._reduce(_core.reduce_sum, as_clique(attributes))

    def sum(self, attributes: str | Iterable[str] | None = None) -> Factor:
        """Sum some attributes out (all of them by default)."""
        return self._reduce(_core.reduce_sum, self._without(attributes))

    def max(self, attributes: str | Iterable[str] | None = None) -> Factor:
        """Maximise some attributes out (all of them by default)."""
        return self._reduce(_core.reduce_max, self._without(attributes))

    def logsumexp(self, attributes: str | Iterable[str] | None = None) -> Factor:
        """Sum some attributes out of a table of logarithms (all of them by default), without overflow."""
        return self._reduce(_core.reduce_logsumexp, self._without(attributes))

    @np.errstate(over="ignore")
    def exp(self) -> Factor:
        """Return exp of every cell."""
        return Factor.over(self.domain, np.exp(self._cells))

    def log(self) -> Factor:
        """Return the natural log of every cell; log 0 is -inf."""
        with np.errstate(divide="ignore"):
            return Factor.over(self.domain, np.log(self._cells))

    def normalize(self, total: float = 1.0, *, log: bool = False) -> Factor:
        """Scale the table to a sum of `total`; with `log`, a table of logarithms is shifted likewise.

        Raises
        ------
        ValueError
            If the table has no weight.
        """
        mass = float(self.logsumexp().datavector()[0]) if log else float(self.sum().datavector()[0])
        if not log and (mass == np.inf or 0 < mass < _LEAST_MASS) and (top := self._cells.max()) < np.inf:
            return Factor.over(self.domain, self._cells / top).normalize(total)
        if mass == (-np.inf if log else 0.0):
            raise ValueError(f"the table over {self.domain.attributes} has no weight to normalize")
        if log:
            return Factor.over(self.domain, self._cells - mass + np.log(total))
        at_once = total / mass
        return Factor.over(self.domain, self._cells * at_once if at_once < np.inf else self._cells / mass * total)

    def dot(self, other: Factor) -> float:
        """Return the sum of cell-wise products with a table over the same attributes."""
        return float(self._cells @ other._reordered(self.domain.attributes))

    def __add__(self, other: Factor | float) -> Factor:
        return self._combine(other, np.add)

    def __sub__(self, other: Factor | float) -> Factor:
        return self._combine(other, np.subtract)

    def __mul__(self, other: Factor | float) -> Factor:
        return self._combine(other, np.multiply)

    def __truediv__(self, other: Factor | float) -> Factor:
        """Divide cell by cell; 0 / 0 is 0."""
        return self._combine(other, _divide)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: float) -> Factor:
        return -self + other

    def __rtruediv__(self, other: float) -> Factor:
        """Divide a number by each cell; 0 / 0 is 0."""
        return Factor.over(self.domain, _divide(float_array("what a table combines with", other), self._cells))

    def __neg__(self) -> Factor:
        return Factor.over(self.domain, -self._cells)

    def __getitem__(self, values: Label | tuple[Label, ...]) -> float:
        """Return the number of one cell, by a label of each attribute, or a code of one without labels.

        Raises
        ------
        KeyError
            If the numbers of values and attributes differ, or a value is not its attribute's.

        Examples
        --------
        >>> factor = Factor(Domain({"sex": ["F", "M"], "income": ["low", "high"]}), [[3, 4], [5, 6]])
        >>> factor["F", "low"], factor["M", "high"]
        (3.0, 6.0)
        """
        given = values if isinstance(values, tuple) else (values,)
        if len(given) != len(self.domain):
            raise KeyError(f"a cell needs a value of each of {self.domain.attributes}, got {given!r}")
        return float(self.values[tuple(_code(self.domain, a, v) for a, v in zip(self.domain, given, strict=True))])

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the frame of `to_frame` as a stream of Arrow: ``polars.DataFrame(factor)`` and others take it."""
        return self.to_frame("pyarrow").__arrow_c_stream__(requested_schema)

    def _ipython_key_completions_(self) -> list[Label | tuple[Label, ...]]:
        """Return the keys of the first cells, for the completion of ``factor["``."""
        labels = [self.domain.labels.get(a, range(self.domain.size(a))) for a in self.domain]
        keys = itertools.islice(itertools.product(*labels), _KEYS)
        return [key[0] if len(key) == 1 else key for key in keys]

    def to_frame(self, library: str = "pandas", *, value: str = "value") -> Frame:
        """Return a data frame with a row for each cell: a column of labels or codes an attribute, and the numbers.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}
            Library of the frame; it must be installed.
        value : str
            The column of the numbers.

        Raises
        ------
        ValueError
            If the library is another one, or an attribute has the name of the column.
        ImportError
            If the library is not installed.

        Examples
        --------
        >>> Factor(Domain({"sex": ["F", "M"]}), [3, 4]).to_frame(value="count")  # doctest: +SKIP
          sex  count
        0   F    3.0
        1   M    4.0
        """
        return cells_frame(self.domain, {value: self._cells}, library)

    @np.errstate(over="ignore")
    def __repr__(self) -> str:
        with np.printoptions(precision=6, suppress=True, threshold=12, edgeitems=3, linewidth=1000):
            cells = np.array2string(self._cells, separator=", ")
        if self.domain.labels:
            shown = [*range(self._cells.size)] if self._cells.size <= _SHOWN else [0, 1, 2, -3, -2, -1]
            texts = [f"{self._name(i % self._cells.size)}: {self._cells[i]:.6g}" for i in shown]
            cells = ", ".join(texts if self._cells.size <= _SHOWN else [*texts[:3], "...", *texts[3:]])
            cells = f"{{{cells}}}"
        return f"Factor({self.domain!r}, {cells}, sum {self._cells.sum():.6g})"

    def _name(self, cell: int) -> str:
        """Return the labels and codes of a cell."""
        codes = []
        for size in reversed(self.domain.shape):
            cell, code = divmod(cell, size)
            codes.append(code)
        named = zip(self.domain.attributes, reversed(codes), strict=True)
        labels = self.domain.labels
        return "/".join(escaped(label_text(labels[a][c]) if a in labels else c) for a, c in named)

    @np.errstate(over="ignore")
    def _combine(
        self, other: Factor | float, op: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
    ) -> Factor:
        if not isinstance(other, Factor):
            number = float_array("what a table combines with", other)
            if number.ndim and number.shape != self.domain.shape:
                raise ValueError(f"a table over {self.domain} combines with a number, got shape {number.shape}")
            return Factor.over(self.domain, op(self._cells, number.reshape(-1) if number.ndim else number))
        domain = _merge(self.domain, other.domain)
        return Factor.over(domain, op(self.expand(domain)._cells, other.expand(domain)._cells))

    def _reduce(self, reduce: Callable[..., NDArray[np.float64]], clique: Clique) -> Factor:
        self.domain.indices(clique)
        kept = [1 if a in clique else 0 for a in self.domain.attributes]
        own_order = [a for a in self.domain.attributes if a in clique]
        result = Factor.over(self.domain.project(own_order), reduce(self._cells, self.domain.shape, kept))
        return result if tuple(own_order) == clique else result.transpose(clique)

    def _without(self, attributes: str | Iterable[str] | None) -> Clique:
        if attributes is None:
            return ()
        gone = self.domain.indices(attributes)
        return tuple(a for i, a in enumerate(self.domain.attributes) if i not in gone)

    def _reordered(self, attributes: Iterable[str]) -> NDArray[np.float64]:
        clique = tuple(attributes)
        return self._cells if clique == self.domain.attributes else self.transpose(clique)._cells


def cells_frame(domain: Domain, numbers: Mapping[str, NDArray[np.float64]], library: str) -> Frame:
    """Return a data frame with a row for each cell of a domain: its labels or codes, and columns of numbers."""
    if library not in {"pandas", "polars", "pyarrow"}:
        raise ValueError(f"library must be 'pandas', 'polars' or 'pyarrow', got {library!r}")
    for value in numbers:
        if value in domain:
            raise ValueError(f"the table has an attribute {value!r}; name the column of numbers differently")
    columns: dict[str, Any] = {}
    before, after = 1, domain.size()
    for name, size in zip(domain.attributes, domain.shape, strict=True):
        after //= size
        labels = domain.labels.get(name, range(size))
        columns[name] = [v for _ in range(before) for v in labels for _ in range(after)]
        before *= size
    module = importlib.import_module(library)
    make = module.table if library == "pyarrow" else module.DataFrame
    return make({**columns, **{name: cells.copy() for name, cells in numbers.items()}})


def transpose_cells(cells: NDArray[_T], domain: Domain, attributes: Sequence[str]) -> NDArray[_T]:
    """Return the cells of a table over `domain`, flat and in C order, with its axes in another order."""
    if tuple(attributes) == domain.attributes:
        return np.ascontiguousarray(cells).reshape(-1)
    # Axes of size 1 do not move cells; without them no table in memory has more axes than NumPy allows.
    shape = domain.shape
    wide = [i for i, size in enumerate(shape) if size > 1]
    axis = {i: k for k, i in enumerate(wide)}
    order = [axis[i] for i in domain.indices(attributes) if shape[i] > 1]
    table: NDArray[_T] = cells.reshape([shape[i] for i in wide]).transpose(order)
    return np.ascontiguousarray(table).reshape(-1)


def _code(domain: Domain, attribute: str, value: Label) -> int:
    """Return the code of a label; where an attribute has no labels, of a code."""
    labels = domain.labels.get(attribute)
    size = domain.size((attribute,))
    if labels is not None and value in labels:
        return labels.index(value)
    if labels is None and isinstance(value, int | np.integer) and 0 <= value < size:
        return int(value)
    needed = f"a code from 0 to {size - 1}" if labels is None else f"one of {listed(labels)}"
    raise KeyError(f"attribute {attribute!r} needs {needed}, got {value!r}")


def _merge(a: Domain, b: Domain) -> Domain:
    """Return the attributes of two domains, those of the first one first; sizes must agree."""
    _check_same_sizes(a, b)
    names = a.attributes + tuple(n for n in b.attributes if n not in a)
    sizes = [(a if n in a else b).size(n) for n in names]
    return Domain(names, sizes, {**b.labels, **a.labels})


def _check_same_sizes(a: Domain, b: Domain) -> None:
    for name, size in zip(a.attributes, a.shape, strict=True):
        if name in b and b.size(name) != size:
            raise ValueError(f"attribute {name!r} has {size} values in one table, {b.size(name)} in the other")


def _divide(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((a == 0) & (b == 0), 0.0, a / b)
