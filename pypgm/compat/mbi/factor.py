"""Tables over domains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pypgm.compat.mbi.domain import Domain, as_clique, every_spelling


def refuse_mesh(mesh: object) -> None:
    """Raise ``TypeError`` for any mesh: arrays of NumPy are in one place."""
    if mesh is not None:
        raise TypeError("a mesh shards arrays of JAX; pypgm's tables are NumPy arrays: leave it out")


def log_sum(values: NDArray[np.float64], axes: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the logarithm of summed exponentials; -inf for an empty sum."""
    if not axes:
        return values
    top = values.max(axis=axes, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        summed: NDArray[np.float64] = np.log(np.exp(values - top).sum(axis=axes)) + top.squeeze(axes)
    return summed


@every_spelling
@dataclass(frozen=True, eq=False)
class Factor:
    """A table of numbers over a domain, axes in its order.

    Examples
    --------
    >>> table = Factor(Domain(["a", "b"], [2, 2]), np.array([1.0, 2.0, 3.0, 4.0]))
    >>> table.project("b").datavector()
    array([4., 6.])
    """

    domain: Domain
    values: NDArray[np.float64]

    def __post_init__(self) -> None:
        cells = np.asarray(self.values, dtype=np.float64)
        if cells.size != self.domain.size():
            raise ValueError(f"{self.domain} has {self.domain.size()} cells, got values of shape {cells.shape}")
        object.__setattr__(self, "values", cells.reshape(self.domain.shape))

    @classmethod
    def zeros(cls, domain: Domain) -> Factor:
        return cls(domain, np.zeros(domain.shape))

    @classmethod
    def ones(cls, domain: Domain) -> Factor:
        return cls(domain, np.ones(domain.shape))

    @classmethod
    def random(cls, domain: Domain) -> Factor:
        return cls(domain, np.random.rand(*domain.shape))  # noqa: NPY002 - seeded as mbi's

    @classmethod
    def uniform(cls, domain: Domain) -> Factor:
        return cls(domain, np.full(domain.shape, 1 / domain.size()))

    @classmethod
    def active(cls, domain: Domain, structural_zeros: Iterable[tuple[int, ...]]) -> Factor:
        """Return a table of 0, with -inf in the named cells."""
        values = np.zeros(domain.shape)
        values[tuple(np.array(list(structural_zeros)).T)] = -np.inf
        return cls(domain, values)

    abstract = zeros

    def transpose(self, attributes: object) -> Factor:
        """Return the table with its axes in another order."""
        order = as_clique(attributes)
        if len(order) != len(self.domain) or not self.domain.supports(order):
            raise ValueError(f"attrs must be same as domain attributes, {self.domain.attributes}; got {order}")
        return Factor(self.domain.project(order), self.values.transpose(self.domain.axes(order)))

    def expand(self, domain: Domain) -> Factor:
        """Return the table over a larger domain, repeated along the further axes."""
        if not domain.contains(self.domain):
            raise ValueError(f"Expanded domain must contain domain. Got {domain} for {self.domain}.")
        ordered = self.transpose(domain.canonical(self.domain.attributes))
        shape = tuple(n if a in self.domain else 1 for a, n in domain.config.items())
        return Factor(domain, np.broadcast_to(ordered.values.reshape(shape), domain.shape))

    def _reduced(self, how: Callable[..., Any], attributes: object) -> Factor:
        over = self.domain.attributes if attributes is None else as_clique(attributes)
        return Factor(self.domain.marginalize(over), how(self.values, self.domain.axes(over)))

    def sum(self, attributes: object = None) -> Factor:
        return self._reduced(np.sum, attributes)

    def max(self, attributes: object = None) -> Factor:
        return self._reduced(np.max, attributes)

    def logsumexp(self, attributes: object = None) -> Factor:
        return self._reduced(log_sum, attributes)

    def project(self, attributes: object, log: bool = False, agg: Literal["sum", "logsumexp"] = "sum") -> Factor:
        """Return the marginal, axes in the given order; of a table of logarithms if `log`, or by "logsumexp"."""
        if agg not in {"sum", "logsumexp"}:
            raise ValueError(f"agg must be 'sum' or 'logsumexp', got {agg!r}")
        names = as_clique(attributes)
        if not self.domain.supports(names):
            raise ValueError(f"Cannot project {self.domain} onto {names}.")
        others = tuple(self.domain.invert(names))
        return (self.logsumexp(others) if log or agg == "logsumexp" else self.sum(others)).transpose(names)

    def supports(self, attributes: object) -> bool:
        return self.domain.supports(attributes)

    def slice(self, evidence: Mapping[Any, int]) -> Factor:
        """Return the part of the table in which attributes have given values; unknown attributes are ignored."""
        known = {a: np.asarray(v) for a, v in evidence.items() if a in self.domain}
        if any(v.ndim for v in known.values()):
            raise ValueError(f"evidence needs one value for each attribute, got several for {[*known]}")
        where = tuple(int(known[a]) if a in known else slice(None) for a in self.domain)
        return Factor(self.domain.marginalize(tuple(known)), self.values[where])

    condition = slice  # noqa: A003 - the method above

    def _written(self, values: NDArray[np.float64], out: Factor | None) -> Factor:
        """Return a table of values; `out`, if it is given, with them in place of its own."""
        if out is None:
            return Factor(self.domain, values)
        np.copyto(out.values, values)
        return out

    def exp(self, out: Factor | None = None) -> Factor:
        return self._written(np.exp(self.values), out)

    def log(self, out: Factor | None = None) -> Factor:
        with np.errstate(divide="ignore"):
            return self._written(np.log(self.values), out)

    def normalize(self, total: float = 1.0, log: bool = False) -> Factor:
        """Return the table scaled to a sum; nan where it sums to 0."""
        if log:
            return Factor(self.domain, self.values + (np.log(total) - self.logsumexp().values))
        with np.errstate(all="ignore"):
            return Factor(self.domain, self.values * (total / self.values.sum()))

    def copy(self, out: Factor | None = None) -> Factor:
        return self._written(self.values.copy(), out)

    def datavector(self, flatten: bool = True) -> NDArray[np.float64]:
        """Return the cells, flat or not."""
        return self.values.reshape(-1) if flatten else self.values

    def dot(self, other: Factor) -> float:
        """Return the sum of products; 0 times infinity is 0."""
        if self.domain != other.domain:
            raise ValueError(f"both tables need the same domain, got {self.domain} and {other.domain}")
        with np.errstate(invalid="ignore"):
            terms = np.where((self.values == 0) | (other.values == 0), 0.0, self.values * other.values)
        return float(terms.sum())

    def pad(self, mesh: object = None, pad_value: object = 0.0) -> Factor:
        del pad_value
        refuse_mesh(mesh)
        return self

    apply_sharding = pad

    def _with(self, other: Any, how: Callable[[Any, Any], Any], *, reflected: bool = False) -> Factor:
        if isinstance(other, Factor):
            domain = self.domain if self.domain == other.domain else self.domain.merge(other.domain)
            left, right = (f if f.domain == domain else f.expand(domain) for f in (self, other))
            a, b = left.values, right.values
        elif np.ndim(other) == 0:
            domain, a, b = self.domain, self.values, np.asarray(other, dtype=np.float64)
        else:
            raise TypeError(f"a Factor goes with a Factor or a number, got {type(other).__name__}: make it a Factor")
        with np.errstate(all="ignore"):
            return Factor(domain, how(b, a) if reflected else how(a, b))

    __array_ufunc__ = None  # NumPy's operators defer to ours

    def __add__(self, other: object) -> Factor:
        return self._with(other, np.add)

    def __sub__(self, other: object) -> Factor:
        return self._with(other, np.subtract)

    def __mul__(self, other: object) -> Factor:
        return self._with(other, np.multiply)

    def __truediv__(self, other: object) -> Factor:
        return self._with(other, np.divide)

    def __rsub__(self, other: object) -> Factor:
        return self._with(other, np.subtract, reflected=True)

    def __rtruediv__(self, other: object) -> Factor:
        return self._with(other, np.divide, reflected=True)

    __radd__, __rmul__ = __add__, __mul__

    def logaddexp(self, other: object) -> Factor:
        return self._with(other, np.logaddexp)

    def __neg__(self) -> Factor:
        return Factor(self.domain, -self.values)

    def __float__(self) -> float:
        if len(self.domain):
            raise ValueError(f"Domain must be empty to convert to float. Got {self.domain}.")
        return float(self.values)


@runtime_checkable
class Projectable(Protocol):
    """Object with marginals."""

    @property
    def domain(self) -> Domain: ...
    def project(self, attributes: Any) -> Factor: ...
    def supports(self, attributes: Any) -> bool: ...
