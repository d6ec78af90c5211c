"""Workloads: the marginals a release is to answer well, and how much each of them counts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from pypgm._base.html import Shown
from pypgm._base.memory import check_fits, short
from pypgm.domain import Clique, Domain, as_clique, as_cliques, check_domain, listed
from pypgm.privacy.rational import Number, as_fraction
from pypgm.queries import AllRange, Identity, Kronecker, LinearQuery, Prefix

__all__ = [
    "Workload",
    "WorkloadLike",
    "all_k_way",
    "as_workload",
    "causal",
    "from_queries",
    "prefixes",
    "random_k_way",
    "ranges",
    "up_to_k_way",
    "with_target",
]

WorkloadLike: TypeAlias = "Workload | int | str | Iterable[str | Iterable[str]]"
"""Forms of a workload that `as_workload` and every mechanism with a workload take."""

_MARGINAL_BYTES = 500  # of a marginal in a workload, and of its weight and query beside it


class Workload(Shown):
    """Cliques with the queries on their marginals and their weights; iterating gives the cliques.

    Parameters
    ----------
    domain : Domain
        Domain of the cliques.
    cliques : sequence of clique
        Attributes; answers follow their order.
    queries : sequence of LinearQuery or None, optional
        Query on each marginal; every cell by default.
    weights : sequence of number, optional
        Weight of each marginal, above 0; 1 by default. A float means its shortest decimal.

    Attributes
    ----------
    domain : Domain
        Domain, as given.
    cliques : tuple of tuple of str
        Cliques, as given.
    queries : tuple of LinearQuery or None
        None for every cell.
    weights : tuple of Fraction
        Exact, so that scores multiplied by them are.

    Raises
    ------
    ValueError
        If there is no clique, a clique does not fit its domain or query, lengths differ, or a weight is not positive.

    Examples
    --------
    >>> from pypgm import Domain
    >>> work = Workload(Domain({"a": 2, "b": 3, "c": 4}), [("a", "b"), ("b", "c")], weights=[1, 0.5])
    >>> work.cells(), [str(w) for w in work.weights]
    (18, ['1', '1/2'])
    >>> {clique: str(weight) for clique, weight in work.closure().items()}
    {('a',): '1', ('b',): '3/2', ('c',): '1/2', ('a', 'b'): '5/2', ('b', 'c'): '2'}
    """

    __slots__ = ("cliques", "domain", "queries", "weights")

    def __init__(
        self,
        domain: Domain,
        cliques: Iterable[str | Iterable[str]],
        queries: Sequence[LinearQuery | None] | None = None,
        weights: Sequence[Number] | None = None,
    ) -> None:
        check_domain(domain)
        self.domain = domain
        self.cliques: tuple[Clique, ...] = tuple(as_cliques(cliques))
        if not self.cliques:
            raise ValueError("a workload needs at least one clique")
        self.queries: tuple[LinearQuery | None, ...] = (None,) * len(self) if queries is None else tuple(queries)
        given = (1,) * len(self) if weights is None else tuple(weights)
        if not len(self.queries) == len(given) == len(self):
            raise ValueError(
                f"{len(self)} cliques need as many queries and weights, got {len(self.queries)} and {len(given)}"
            )
        self.weights = tuple(as_fraction("a weight", w) for w in given)
        if min(self.weights) <= 0:
            raise ValueError(f"weights must be more than 0, got {listed(given)}")
        for clique, query in zip(self.cliques, self.queries, strict=True):
            cells = domain.size(clique)
            if query is not None and query.shape[1] != cells:
                raise ValueError(f"the marginal of {clique} has {cells} cells, its query is on {query.shape[1]}")

    def __len__(self) -> int:
        return len(self.cliques)

    def __iter__(self) -> Iterator[Clique]:
        return iter(self.cliques)

    def cells(self) -> int:
        """Return the number of cells of its marginals together."""
        return sum(self.domain.size(c) for c in self.cliques)

    def answers(self) -> int:
        """Return the number of answers it asks for."""
        return sum(
            self.domain.size(c) if q is None else q.shape[0] for c, q in zip(self.cliques, self.queries, strict=True)
        )

    def closure(self) -> dict[Clique, Fraction]:
        """Return every non-empty subset of a clique, smaller ones first, with its weight.

        The weight of r is the sum of ``weight(s) |r ∩ s|`` over the cliques s: its share of the workload.
        Attributes are in the domain's order.

        References
        ----------
        McKenna, Mullins, Sheldon and Miklau 2022, "AIM: An Adaptive and Iterative Mechanism for Differentially Private
        Synthetic Data".
        """
        of_attribute = dict.fromkeys(self.domain, Fraction(0))
        subsets: set[Clique] = set()
        for clique, weight in zip(self.cliques, self.weights, strict=True):
            ordered = self.domain.canonical(clique)
            for attribute in ordered:
                of_attribute[attribute] += weight
            for k in range(1, len(ordered) + 1):
                subsets.update(itertools.combinations(ordered, k))
        ordered_subsets = sorted(subsets, key=lambda c: (len(c), self.domain.indices(c)))
        return {c: sum((of_attribute[a] for a in c), Fraction(0)) for c in ordered_subsets}

    def __repr__(self) -> str:
        return f"Workload({len(self)} marginals, {self.cells()} cells)"


def all_k_way(domain: Domain, k: int, *, max_cells: int | None = None) -> Workload:
    """Return every marginal of k attributes.

    Parameters
    ----------
    domain : Domain
        Its attributes.
    k : int
        Number of attributes in a clique, from 1 to all.
    max_cells : int, optional
        Leave out marginals of more cells.

    Raises
    ------
    ValueError
        If k is out of range, or no marginal is small enough.
    ModelTooLargeError
        If there are more cliques than memory can list.

    Examples
    --------
    >>> list(all_k_way(Domain({"a": 2, "b": 3, "c": 4}), 2, max_cells=8))
    [('a', 'b'), ('a', 'c')]
    """
    return Workload(domain, _all_of_size(domain, k, max_cells))


def up_to_k_way(domain: Domain, k: int, *, max_cells: int | None = None) -> Workload:
    """Return every marginal of 1, 2, ..., k attributes; otherwise as `all_k_way`.

    Examples
    --------
    >>> len(up_to_k_way(Domain({"a": 2, "b": 3, "c": 4}), 2))
    6
    """
    _check_order(domain, k)
    return Workload(domain, [c for j in range(1, k + 1) for c in _all_of_size(domain, j, max_cells)])


def random_k_way(
    domain: Domain, k: int, count: int, rng: np.random.Generator | int | None = 0, *, max_cells: int | None = None
) -> Workload:
    """Return `count` different marginals of k attributes, drawn at random; otherwise as `all_k_way`.

    For a number they are ``numpy.random.RandomState(rng).choice(n, count, replace=False)`` of the n that `all_k_way`
    gives, a stream that NumPy keeps as it is: published workloads are drawn like this.

    Raises
    ------
    ValueError
        As in `all_k_way`, or if there are fewer cliques than `count`.

    Examples
    --------
    >>> list(random_k_way(Domain({"a": 2, "b": 3, "c": 4}), 2, 2, rng=0))
    [('b', 'c'), ('a', 'c')]
    """
    among = _all_of_size(domain, k, max_cells)
    if not 1 <= count <= len(among):
        raise ValueError(f"count must be 1..{len(among)}, the number of marginals, got {count}")
    source = rng if isinstance(rng, np.random.Generator) else np.random.RandomState(rng)
    return Workload(domain, [among[i] for i in source.choice(len(among), count, replace=False)])


def with_target(domain: Domain, target: str | Sequence[str], k: int, *, max_cells: int | None = None) -> Workload:
    """Return every marginal of k attributes that has all of the target's; otherwise as `all_k_way`.

    Examples
    --------
    >>> list(with_target(Domain({"a": 2, "b": 3, "c": 4}), "b", 2))
    [('a', 'b'), ('b', 'c')]
    """
    wanted = set(domain.canonical(target))
    cliques = [c for c in _all_of_size(domain, k, max_cells) if wanted <= set(c)]
    if not cliques:
        raise ValueError(f"no marginal of {k} attributes has all of {sorted(wanted)}")
    return Workload(domain, cliques)


def causal(domain: Domain, treatment: str, outcome: str, covariates: Iterable[str]) -> Workload:
    """Return the marginals for effects of a treatment on an outcome, adjusted for one covariate each.

    The marginal of all three for each covariate, over which standardisation sums: rates of the outcome under each
    treatment and value, and how frequent the values are.

    Parameters
    ----------
    domain : Domain
        Attributes and sizes.
    treatment, outcome : str
        Different attributes.
    covariates : iterable of str
        Covariates to adjust for; without any, only treatment and outcome are included.

    Raises
    ------
    ValueError
        If an attribute is unknown or repeated.

    Examples
    --------
    >>> list(causal(Domain({"drug": 2, "age": 9, "cured": 2}), "drug", "cured", ["age"]))
    [('drug', 'age', 'cured')]
    """
    given = [covariates] if isinstance(covariates, str) else list(covariates)
    check_domain(domain)
    domain.canonical((treatment, outcome, *given))
    cliques = [domain.canonical((treatment, outcome, covariate)) for covariate in given]
    return Workload(domain, cliques or [domain.canonical((treatment, outcome))])


def from_queries(domain: Domain, queries: Iterable[tuple[str | Sequence[str], LinearQuery | None]]) -> Workload:
    """Return the workload of a list of queries, each a clique and a query on its marginal.

    A clique that comes several times with the same attributes stays several entries.

    Examples
    --------
    >>> from_queries(Domain({"a": 2, "b": 3}), [("b", Prefix(3)), (("a", "b"), None)]).queries
    (Prefix(size=3), None)
    """
    pairs = [(as_clique(c), q) for c, q in queries]
    return Workload(domain, [c for c, _ in pairs], [q for _, q in pairs])


def prefixes(domain: Domain, cliques: Iterable[str | Iterable[str]], ordinal: Iterable[str]) -> Workload:
    """Return marginals as running sums along ordered attributes, and cell by cell along the others.

    Parameters
    ----------
    domain : Domain
        Attributes and sizes.
    cliques : sequence of clique
        The marginals; a `Workload` gives its own.
    ordinal : sequence of str
        Attributes whose codes have an order, numbers in bins for example.

    Examples
    --------
    >>> prefixes(Domain({"a": 2, "b": 3}), [("a", "b"), "a"], ["b"]).queries
    (Kronecker(Identity(size=2), Prefix(size=3)), None)
    """
    return _along(domain, cliques, ordinal, Prefix)


def ranges(domain: Domain, cliques: Iterable[str | Iterable[str]], ordinal: Iterable[str]) -> Workload:
    """Return marginals as all ranges of ordered attributes; otherwise like `prefixes`.

    Examples
    --------
    >>> ranges(Domain({"a": 2, "b": 3}), ["b"], ["b"]).queries
    (AllRange(size=3),)
    """
    return _along(domain, cliques, ordinal, AllRange)


def _along(
    domain: Domain,
    cliques: Iterable[str | Iterable[str]],
    ordinal: Iterable[str],
    query: type[Prefix] | type[AllRange],
) -> Workload:
    ordered = set(domain.canonical(ordinal))

    def query_of(clique: Clique) -> LinearQuery | None:
        if not ordered & set(clique):
            return None
        factors = [query(domain.size((a,))) if a in ordered else Identity(domain.size((a,))) for a in clique]
        return factors[0] if len(factors) == 1 else Kronecker(factors)

    own_cliques = as_cliques(cliques)
    return Workload(domain, own_cliques, [query_of(c) for c in own_cliques])


def as_workload(domain: Domain, workload: WorkloadLike) -> Workload:
    """Return the workload from a workload argument.

    Parameters
    ----------
    domain : Domain
        Its attributes.
    workload : Workload, int, str or sequence of clique
        A number K for all marginals of K attributes, ``"up-to-K"`` for those of at most K, a list of marginals, or a
        workload.

    Raises
    ------
    ValueError
        If the workload is not over the domain.
    TypeError
        If the argument is of another type.

    Examples
    --------
    >>> list(as_workload(Domain({"a": 2, "b": 3}), "up-to-2"))
    [('a',), ('b',), ('a', 'b')]
    """
    if isinstance(workload, Workload):
        return workload
    if isinstance(workload, int) and not isinstance(workload, bool):
        return all_k_way(domain, workload)
    if not isinstance(workload, str | Iterable):
        raise TypeError(f"a workload needs a number K, up-to-K or a list of marginals, got {workload!r}")
    if not isinstance(workload, str):
        return Workload(domain, [domain.canonical(clique) for clique in as_cliques(workload)])
    number = workload.removeprefix("up-to-")
    if not (number.isascii() and number.isdigit() and len(number) < 10):
        raise ValueError(f"a workload needs a number K, up-to-K or a list of marginals, got {workload!r}")
    return (all_k_way if number == workload else up_to_k_way)(domain, int(number))


def check_listable(domain: Domain, k: int) -> None:
    """Raise ``ModelTooLargeError`` where the marginals of k attributes are more than memory can list."""
    number = math.comb(len(domain), k)
    what = f"{len(domain):,} attributes have {short(number)} marginals of {k}"
    check_fits(_MARGINAL_BYTES * number, None, what, "drop attributes, or pass a workload of fewer marginals")


def _all_of_size(domain: Domain, k: int, max_cells: int | None) -> list[Clique]:
    _check_order(domain, k)
    check_listable(domain, k)
    cliques = list(itertools.combinations(domain.attributes, k))
    small = cliques if max_cells is None else [c for c in cliques if domain.size(c) <= max_cells]
    if not small:
        raise ValueError(f"no marginal of {k} attributes has at most {max_cells} cells")
    return small


def _check_order(domain: Domain, k: int) -> None:
    check_domain(domain)
    if not isinstance(k, int):
        raise TypeError(f"k must be an int, got {k!r}")
    if not 1 <= k <= len(domain):
        raise ValueError(f"k must be 1..{len(domain)}, the number of attributes, got {k}")
