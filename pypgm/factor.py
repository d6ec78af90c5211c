"""A table over named attributes, and its algebra."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from pypgm import _core
from pypgm.domain import Clique, Domain, as_clique, check_domain
from pypgm.memory import check_fits, short

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray

__all__ = ["Factor", "transpose_cells"]

_T = TypeVar("_T", bound=np.generic)


class Factor:
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

    Examples
    --------
    >>> factor = Factor(Domain({"a": 2, "b": 3}), [[1, 2, 3], [4, 5, 6]])
    >>> factor.project("b").values
    array([5., 7., 9.])
    """

    __slots__ = ("_cells", "domain")
    __array_priority__ = 1000.0  # a NumPy number times a factor is a factor

    domain: Domain

    def __init__(self, domain: Domain, values: ArrayLike) -> None:
        check_domain(domain)
        cells = np.array(values, dtype=np.float64, order="C")
        if cells.shape not in {domain.shape, (domain.size(),)}:
            raise ValueError(f"a table over {domain} needs shape {domain.shape}, got {cells.shape}")
        self.domain = domain
        self._cells = cells.reshape(-1)

    @classmethod
    def over(cls, domain: Domain, cells: NDArray[np.float64]) -> Factor:
        """Return a factor that is a view of flat, contiguous float64 cells: what changes one changes the other.

        Examples
        --------
        >>> cells = np.zeros(2)
        >>> factor = Factor.over(Domain({"a": 2}), cells)
        >>> cells[0] = 5
        >>> factor.values
        array([5., 0.])
        """
        if cells.shape != (domain.size(),) or cells.dtype != np.float64 or not cells.flags.c_contiguous:
            raise ValueError(
                f"a view over {domain} needs {domain.size()} contiguous float64 cells, got {cells.dtype} {cells.shape}"
            )
        factor = object.__new__(cls)
        factor.domain = domain
        factor._cells = cells
        return factor

    @property
    def values(self) -> NDArray[np.float64]:
        """The table, one axis an attribute: a view, shape ``domain.shape``."""
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
        """Repeat the table along the attributes of `domain` it does not have; axes come in that domain's order."""
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
        """Sum onto some attributes; axes come in the order asked."""
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
        if mass == (-np.inf if log else 0.0):
            raise ValueError(f"the table over {self.domain.attributes} has no weight to normalize")
        return Factor.over(self.domain, self._cells - mass + np.log(total) if log else self._cells * (total / mass))

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
        return Factor.over(self.domain, _divide(np.asarray(other, dtype=np.float64), self._cells))

    def __neg__(self) -> Factor:
        return Factor.over(self.domain, -self._cells)

    @np.errstate(over="ignore")
    def __repr__(self) -> str:
        with np.printoptions(precision=6, suppress=True, threshold=12, edgeitems=3, linewidth=1000):
            cells = np.array2string(self._cells, separator=", ")
        return f"Factor({self.domain!r}, {cells}, sum {self._cells.sum():.6g})"

    @np.errstate(over="ignore")
    def _combine(
        self, other: Factor | float, op: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
    ) -> Factor:
        if not isinstance(other, Factor):
            number = np.asarray(other, dtype=np.float64)
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
