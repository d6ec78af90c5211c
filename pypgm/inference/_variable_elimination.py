"""Variable elimination: the marginal of one clique, measured or not, straight from the potentials."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from pypgm import _core
from pypgm.clique_vector import CliqueVector
from pypgm.clock import Clock
from pypgm.domain import Clique, as_clique, check_kind
from pypgm.factor import Factor
from pypgm.graphs.evidence import Evidence, log_likelihoods
from pypgm.graphs.junction_tree import check_logarithms, check_possible, checked_total
from pypgm.inference.contraction import answer_bytes, check_contraction, exact_tick
from pypgm.memory import hopeless_refused

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.domain import Domain

__all__ = ["log_elimination", "max_elimination", "variable_elimination"]

_Term = tuple[tuple[int, ...], "NDArray[np.float64]"]
"""Attribute indices, and the natural logs of a table over them."""
_NOTHING: _Term = ((), np.zeros(1))  # a product of nothing is 1


def variable_elimination(
    potentials: CliqueVector,
    clique: str | Iterable[str],
    total: float = 1.0,
    evidence: Evidence | None = None,
    *,
    order: Sequence[str] | None = None,
    max_bytes: float | None = None,
    n_threads: int = 0,
    clock: Clock | None = None,
) -> Factor:
    r"""Compute the marginal of any clique of :math:`p(x) \propto \exp \sum_C \theta_C(x_C)`.

    One pass: tables are multiplied in pairs and summed at once, as scaled weights, and as logarithms only if
    underflow might have cost anything. Known values are taken out of the tables first. Parts of the model that no
    path joins to the clique are left alone unless they may be impossible.

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
    order : sequence of str, optional
        An elimination order of all attributes to follow as far as `clique` allows, instead of a search.
    max_bytes : float, optional
        Memory the tables may take; half of what is available by default.
    n_threads : int
        0 for all threads; the bits of the answer do not depend on it.
    clock : Clock, optional
        Shows the run, which takes its threads then, and ends it with ``TimeoutError`` once its time is over.

    Returns
    -------
    Factor
        The marginal, axes in the order asked.

    Raises
    ------
    ImpossibleEvidenceError
        If no joint assignment is left any weight.
    ModelTooLargeError
        If the tables would not fit.
    ValueError
        If an attribute is unknown or comes twice, potentials hold NaN or +inf, or `total` is not positive and
        finite.

    References
    ----------
    Koller and Friedman, Probabilistic Graphical Models (2009), chapter 9.

    Examples
    --------
    >>> import pypgm
    >>> domain = pypgm.Domain({"a": 2, "b": 2, "c": 2})
    >>> potentials = pypgm.CliqueVector(domain, [("a", "b"), ("b", "c")], [1.0, 0, 0, 1, 1, 0, 0, 1])
    >>> pypgm.variable_elimination(potentials, ("c", "a")).values.round(4)
    array([[0.3034, 0.1966],
           [0.1966, 0.3034]])
    """
    check_kind("potentials", potentials, CliqueVector, "pypgm.CliqueVector(domain, cliques, values)")
    asked = as_clique(clique)
    checked_total(total)
    keep = set(potentials.domain.indices(asked))
    terms = _relevant(_terms(potentials, evidence, keep), keep)
    clock = clock or Clock(n_threads=n_threads)
    answer = _eliminated(potentials.domain, terms, asked, "sum", clock, order=order, max_bytes=max_bytes)
    mass = float(answer.datavector().sum())
    check_possible(math.log(mass) if mass > 0 else -math.inf, evidence)
    return answer.normalize(total)


def max_elimination(
    potentials: CliqueVector,
    clique: str | Iterable[str],
    evidence: Evidence | None = None,
    *,
    order: Sequence[str] | None = None,
    max_bytes: float | None = None,
    n_threads: int = 0,
) -> Factor:
    r"""Compute for each cell of a clique the largest log-weight :math:`\sum_C \theta_C(x_C)` a joint assignment has.

    Parameters
    ----------
    potentials : CliqueVector
        Natural logs; -inf is a structural zero.
    clique : str or sequence of str
        Attributes of the answer, in any order; the empty clique gives the value of the most likely assignment.
    evidence : mapping, optional
        Attribute to label, code, list of them, or likelihood vector, whose natural logs are added.
    order, max_bytes, n_threads
        As for `variable_elimination`.

    Returns
    -------
    Factor
        Natural logs, axes in the order asked; -inf where no joint assignment has any weight.

    Raises
    ------
    ModelTooLargeError
        If the tables would not fit.
    ValueError
        If an attribute is unknown or comes twice, or potentials hold NaN or +inf.

    Examples
    --------
    >>> import pypgm
    >>> from pypgm.inference import max_elimination
    >>> domain = pypgm.Domain({"a": 2, "b": 2, "c": 2})
    >>> potentials = pypgm.CliqueVector(domain, [("a", "b"), ("b", "c")], [1.0, 0, 0, 1, 1, 0, 0, 3])
    >>> max_elimination(potentials, "a").values
    array([3., 4.])
    """
    asked = as_clique(clique)
    terms = _terms(potentials, evidence, set(potentials.domain.indices(asked)))
    clock = Clock(n_threads=n_threads)
    return _eliminated(potentials.domain, terms, asked, "max", clock, order=order, max_bytes=max_bytes)


def log_elimination(domain: Domain, factors: Sequence[Factor], keep: Clique, *, n_threads: int = 0) -> Factor:
    """Sum everything but `keep` out of a product of tables of natural logs.

    Parameters
    ----------
    domain : Domain
        All attributes of the tables.
    factors : sequence of Factor
        Natural logs.
    keep : tuple of str
        Attributes of the answer.
    n_threads
        As for `variable_elimination`.

    Returns
    -------
    Factor
        Natural logs, however far apart, axes in the order of `keep`.

    Raises
    ------
    ModelTooLargeError
        If the tables would not fit.

    Examples
    --------
    >>> import numpy as np, pypgm
    >>> domain = pypgm.Domain({"a": 2, "b": 2})
    >>> log_elimination(domain, [pypgm.Factor(domain, np.log([[1.0, 2.0], [0.5, 0.25]]))], ("a",)).exp().values
    array([3.  , 0.75])
    """
    terms = [_NOTHING, *((domain.indices(f.domain.attributes), f.datavector()) for f in factors)]
    return _eliminated(domain, terms, keep, "log_sum", Clock(n_threads=n_threads))


def _eliminated(
    domain: Domain,
    terms: Sequence[_Term],
    keep: Clique,
    how: Literal["sum", "max", "log_sum"],
    clock: Clock,
    *,
    order: Sequence[str] | None = None,
    max_bytes: float | None = None,
) -> Factor:
    """Return the answer of a product of terms: weights up to a common factor, or natural logs of maxima or of sums."""
    scopes, tables = [(scope, True) for scope, _ in terms], [cells for _, cells in terms]
    sequence = () if order is None else domain.indices(order)
    if order is not None and len(sequence) != len(domain):
        raise ValueError(f"an elimination order needs all {len(domain)} attributes, got {len(sequence)}")
    with hopeless_refused(domain, max_bytes, "best order" if order is None else "given order"):
        plan = _core.plan_elimination(domain.shape, scopes, domain.indices(keep), sequence)
    check_contraction(domain, plan, answer_bytes([domain.sizes(keep)]), max_bytes)
    answers, _ = plan.run(tables, how, clock.n_threads, exact_tick(plan, clock))
    return Factor.over(domain.project(keep), answers[0])


def _terms(potentials: CliqueVector, evidence: Evidence | None, keep: set[int]) -> list[_Term]:
    """Return the potentials and the evidence, attributes with one possible value taken out unless they are kept."""
    check_logarithms(potentials)
    domain = potentials.domain
    known: dict[int, int] = {}
    weight = _NOTHING[1]
    terms: list[_Term] = []
    for index, log_likelihood in log_likelihoods(domain, evidence):
        possible = np.flatnonzero(log_likelihood > -np.inf)
        if index in keep or possible.size != 1:
            terms.append(((index,), log_likelihood))
        else:
            known[index] = int(possible[0])
            weight = weight + log_likelihood[possible]
    for position, scope in enumerate(potentials.scopes):
        left, cells = scope, potentials.table(position)
        if not known.keys().isdisjoint(scope):
            left = tuple([i for i in scope if i not in known])
            for axis in reversed([k for k, i in enumerate(scope) if i in known]):  # NumPy has no tables of 70 axes
                after = math.prod([domain.shape[i] for i in scope[axis + 1 :] if i not in known])
                cells = cells.reshape(-1, domain.shape[scope[axis]], after)[:, known[scope[axis]], :]
            cells = cells.ravel()
        terms.append((left, cells))
    return [((), weight), *terms]


def _relevant(terms: list[_Term], keep: set[int]) -> list[_Term]:
    """Leave out parts that share no attribute with the rest, nor one to be kept, and that surely have weight."""
    group: dict[int, int] = {}

    def find(attribute: int) -> int:
        while group.setdefault(attribute, attribute) != attribute:
            group[attribute] = group[group[attribute]]
            attribute = group[attribute]
        return attribute

    for scope, _ in terms:
        for other in scope[1:]:
            group[find(other)] = find(scope[0])
    needed = {find(i) for i in keep} | {-1}
    groups = [find(scope[0]) if scope else -1 for scope, _ in terms]  # -1: a number, which stays
    needed |= {g for g, (_, cells) in zip(groups, terms, strict=True) if g not in needed and cells.min() == -np.inf}
    return [term for g, term in zip(groups, terms, strict=True) if g in needed]
