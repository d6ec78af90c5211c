"""Variable elimination: the marginal of one clique, measured or not."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from pypgm import _core
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain, as_clique
from pypgm.errors import ImpossibleEvidenceError
from pypgm.factor import Factor
from pypgm.graphs.evidence import Evidence, log_likelihoods
from pypgm.graphs.junction_tree import check_logarithms, checked_total
from pypgm.memory import check_fits, memory_limit, short

__all__ = ["eliminate", "variable_elimination"]


def variable_elimination(
    potentials: CliqueVector,
    clique: str | Iterable[str],
    total: float = 1.0,
    evidence: Evidence | None = None,
    *,
    max_bytes: float | None = None,
) -> Factor:
    r"""Compute the marginal of any clique of :math:`p(x) \propto \exp \sum_C \theta_C(x_C)`.

    Parameters
    ----------
    potentials : CliqueVector
        Natural logs; -inf is a structural zero.
    clique : str or sequence of str
        Attributes of the answer, in any order; they need not share a potential.
    total : float
        Sum of the answer (counts; 1 for probabilities).
    evidence : mapping, optional
        Attribute to label, code, list of them, or likelihood vector; cells against it are 0.
    max_bytes : float, optional
        Memory an intermediate table may take; half of what is available by default.

    Returns
    -------
    Factor
        The marginal, axes in the order asked.

    Raises
    ------
    ImpossibleEvidenceError
        If no joint assignment is left any weight.
    ModelTooLargeError
        If a table would not fit.
    ValueError
        If an attribute is unknown or comes twice, potentials hold NaN or +inf, or `total` is not positive and
        finite.

    Examples
    --------
    >>> import pypgm
    >>> domain = pypgm.Domain({"a": 2, "b": 2, "c": 2})
    >>> potentials = pypgm.CliqueVector(domain, [("a", "b"), ("b", "c")], [1.0, 0, 0, 1, 1, 0, 0, 1])
    >>> pypgm.variable_elimination(potentials, ("c", "a")).values.round(4)
    array([[0.3034, 0.1966],
           [0.1966, 0.3034]])
    """
    domain = potentials.domain
    asked = as_clique(clique)
    check_logarithms(potentials)
    checked_total(total)
    factors = [Factor(domain.project(c), potentials.table(i)) for i, c in enumerate(potentials.cliques)]
    for index, log_likelihood in log_likelihoods(domain, evidence):
        factors.append(Factor(domain.project(domain.attributes[index]), log_likelihood))
    answer = eliminate(domain, factors, domain.canonical(asked), max_bytes)
    if answer.max().datavector()[0] == -np.inf:
        raise ImpossibleEvidenceError("no joint assignment is left any weight")
    return answer.normalize(total, log=True).exp().transpose(asked)


def eliminate(
    domain: Domain, factors: Sequence[Factor], keep: tuple[str, ...], max_bytes: float | None = None
) -> Factor:
    """Sum everything but `keep` (in the domain's order) out of a product given as tables of natural logs.

    Attributes no factor holds are left out of the sum, and out of nothing if they are to be kept. The next
    attribute to go is the one whose product is smallest, ties by position.
    """
    limit = memory_limit(max_bytes)
    live = dict(enumerate(factors))
    numbers = itertools.count(len(live))
    holders: dict[str, dict[int, None]] = {}
    for number, factor in live.items():
        for a in factor.domain.attributes:
            holders.setdefault(a, {})[number] = None

    def scope_of(attribute: str) -> Clique:
        return domain.canonical(dict.fromkeys(a for i in holders[attribute] for a in live[i].domain.attributes))

    cells = {a: domain.size(scope_of(a)) for a in holders if a not in keep}
    queue = [(size, domain.index(a), a) for a, size in cells.items()]
    heapq.heapify(queue)
    while queue:
        size, _, chosen = heapq.heappop(queue)
        # An entry whose size is not the current one was replaced by a later push.
        if cells.get(chosen) != size:
            continue
        scope = scope_of(chosen)
        used = holders[chosen]
        summed = _product(domain, [live.pop(i) for i in used], scope, limit).logsumexp(chosen)
        del cells[chosen]
        number = next(numbers)
        live[number] = summed
        for a in summed.domain.attributes:
            holders[a] = {**{i: None for i in holders[a] if i not in used}, number: None}
        for a in summed.domain.attributes:
            if a in cells:
                cells[a] = domain.size(scope_of(a))
                heapq.heappush(queue, (cells[a], domain.index(a), a))
    return _product(domain, list(live.values()), keep, limit)


def _product(domain: Domain, factors: Sequence[Factor], scope: Clique, limit: float) -> Factor:
    target = domain.project(scope)
    check_fits(16 * target.size(), limit, f"the table over {scope} needs {short(target.size())} cells")
    product = np.zeros(target.size())
    for factor in factors:
        kept = [1 if a in factor.domain else 0 for a in scope]
        _core.expand_add(product, target.shape, factor.datavector(), kept)
    return Factor(target, product)
