"""Variable elimination: the marginal of one clique, measured or not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from pypgm import _core
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Domain, as_clique
from pypgm.errors import ImpossibleEvidenceError
from pypgm.factor import Factor
from pypgm.graphs.evidence import Evidence, log_likelihoods
from pypgm.memory import check_fits

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
        If an attribute is unknown or comes twice.

    Examples
    --------
    >>> import pypgm
    >>> domain = pypgm.Domain({"a": 2, "b": 2, "c": 2})
    >>> potentials = pypgm.CliqueVector(domain, [("a", "b"), ("b", "c")], [1.0, 0, 0, 1, 1, 0, 0, 1])
    >>> pypgm.variable_elimination(potentials, ("c", "a")).values.round(4)
    array([[0.3032, 0.1968],
           [0.1968, 0.3032]])
    """
    domain = potentials.domain
    asked = as_clique(clique)
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
    live = list(factors)
    gone = {a for f in live for a in f.domain.attributes} - set(keep)
    while gone:
        scopes = {a: _joint(domain, [f for f in live if a in f.domain]) for a in gone}
        chosen = min(gone, key=lambda a: (domain.size(scopes[a]), domain.index(a)))
        product = _product(domain, [f for f in live if chosen in f.domain], scopes[chosen], max_bytes)
        live = [f for f in live if chosen not in f.domain] + [product.logsumexp(chosen)]
        gone.remove(chosen)
    return _product(domain, live, keep, max_bytes)


def _joint(domain: Domain, factors: Sequence[Factor]) -> tuple[str, ...]:
    return domain.canonical({a for f in factors for a in f.domain.attributes})


def _product(domain: Domain, factors: Sequence[Factor], scope: tuple[str, ...], max_bytes: float | None) -> Factor:
    target = domain.project(scope)
    check_fits(16.0 * target.size(), max_bytes, f"the table over {scope} needs {target.size():.3g} cells")
    product = np.zeros(target.size())
    for factor in factors:
        kept = [1 if a in factor.domain else 0 for a in scope]
        _core.expand_add(product, target.shape, factor.datavector(), kept)
    return Factor(target, product)
