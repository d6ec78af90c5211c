"""Variable elimination: the marginal of one clique, measured or not, straight from the potentials."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm._base.clock import Clock
from pypgm._base.constraints import Positive
from pypgm._base.memory import hopeless_refused
from pypgm._base.signatures import checked
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain, as_clique, check_kind
from pypgm.factor import Factor
from pypgm.graphs.evidence import Evidence, codes_or_logs, one_possible
from pypgm.graphs.junction_tree import check_logarithms, check_possible
from pypgm.inference.contraction import answer_bytes, check_contraction, exact_tick

_ONE = np.zeros(1)  # the log of a product of nothing
ALL = slice(None)
_LARGE_WEIGHT = 1e300


@checked()
def variable_elimination(
    potentials: CliqueVector,
    clique: str | Iterable[str],
    total: Annotated[float, Positive()] = 1.0,
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
        Attribute to label, code, list of them, or likelihood vector; cells that contradict it are 0.
    order : sequence of str, optional
        An elimination order of all attributes to follow as far as `clique` allows, instead of a search.
    max_bytes : float, optional
        Memory the tables may take; half of the available memory by default.
    n_threads : int
        Number of threads, 0 for all; the answer does not depend on it.
    clock : Clock, optional
        Clock that shows the run, gives it its threads, and ends it with ``TimeoutError`` once its time is over.

    Returns
    -------
    Factor
        The marginal, axes in the given order.

    Raises
    ------
    ImpossibleEvidenceError
        If no joint assignment keeps any weight.
    ModelTooLargeError
        If the tables would not fit.
    ValueError
        If an attribute is unknown or repeated, potentials hold NaN or +inf, or `total` is not positive and
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
    wanted = as_clique(clique)
    given = Given(potentials.domain, wanted, evidence)
    plan = Elimination(potentials, wanted, given, order=order, max_bytes=max_bytes)
    return plan.marginal(given, total, clock or Clock(n_threads=n_threads), max_bytes)


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
        See `variable_elimination`.

    Returns
    -------
    Factor
        Natural logs, axes in the given order; -inf where no joint assignment has any weight.

    Raises
    ------
    ModelTooLargeError
        If the tables would not fit.
    ValueError
        If an attribute is unknown or repeated, or potentials hold NaN or +inf.

    Examples
    --------
    >>> import pypgm
    >>> from pypgm.inference import max_elimination
    >>> domain = pypgm.Domain({"a": 2, "b": 2, "c": 2})
    >>> potentials = pypgm.CliqueVector(domain, [("a", "b"), ("b", "c")], [1.0, 0, 0, 1, 1, 0, 0, 3])
    >>> max_elimination(potentials, "a").values
    array([3., 4.])
    """
    wanted = as_clique(clique)
    given = Given(potentials.domain, wanted, evidence)
    plan = Elimination(potentials, wanted, given, order=order, max_bytes=max_bytes, is_whole=True)
    return plan.run(given, "max", Clock(n_threads=n_threads), max_bytes)


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
        See `variable_elimination`.

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
    scopes = [(), *(domain.indices(f.domain.attributes) for f in factors)]
    plan = _planned(domain, scopes, keep)
    check_contraction(domain, plan, answer_bytes([domain.sizes(keep)]))
    answers, _ = plan.run([_ONE, *(f.datavector() for f in factors)], "log_sum", Clock(n_threads=n_threads).n_threads)
    return Factor.over(domain.project(keep), answers[0])


class Given:
    """Evidence beside a requested clique: codes of attributes known for certain, and natural logs of the rest.

    Attributes
    ----------
    codes : dict of int to int
        Position in the domain to the only possible code; attributes of the clique are never among them.
    logs : dict of int to ndarray of float64
        Position to natural logs of likelihoods.
    weight : ndarray of float64, shape (1,)
        Natural log of the likelihood of the codes.
    """

    __slots__ = ("codes", "evidence", "logs", "weight")

    def __init__(self, domain: Domain, clique: Clique, evidence: Evidence | None) -> None:
        keep = domain.indices(clique)
        self.evidence, self.weight = evidence, _ONE
        self.codes: dict[int, int] = {}
        self.logs: dict[int, NDArray[np.float64]] = {}
        for index, known in codes_or_logs(domain, evidence):
            if isinstance(known, int):
                if index in keep:
                    self.logs[index] = one_possible(domain.shape[index], known)
                else:
                    self.codes[index] = known
                continue
            possible = np.flatnonzero(known > -np.inf)
            if index in keep or possible.size != 1:
                self.logs[index] = known
            else:
                self.codes[index] = int(possible[0])
                self.weight = self.weight + known[possible]

    @property
    def pattern(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The attributes known for certain and the others with evidence: what an `Elimination` depends on."""
        return tuple(self.codes), tuple(self.logs)


class Elimination:
    """The plan of the table of a clique given the evidence: made once, run for any values of the same attributes.

    Parameters
    ----------
    potentials : CliqueVector
        Natural logs, which do not change.
    clique : tuple of str
    given : Given
        Known values of its pattern.
    order, max_bytes
        See `variable_elimination`.
    is_whole : bool
        Whether tables that no path joins to the clique take part, although their weight is surely positive.
    """

    def __init__(
        self,
        potentials: CliqueVector,
        clique: Clique,
        given: Given,
        *,
        order: Sequence[str] | None = None,
        max_bytes: float | None = None,
        is_whole: bool = False,
    ) -> None:
        check_logarithms(potentials)
        domain = potentials.domain
        self._domain, self._answer_domain = domain, domain.project(clique)
        parts = [
            sliced(domain.shape, scope, potentials.table(i), given.codes) for i, scope in enumerate(potentials.scopes)
        ]
        if not is_whole:
            joined = _joined([left for left, _, _ in parts], {*domain.indices(clique), *given.logs})
            parts = [s for s, needed in zip(parts, joined, strict=True) if needed or s[1].min() == -np.inf]
        evidence = [(), *((i,) for i in given.logs)]
        scopes = [*evidence, *(left for left, _, _ in parts)]
        self._tables = [*(_ONE for _ in evidence), *(cells for _, cells, _ in parts)]
        self._sliced = [
            (place, c, axes) for place, (_, c, axes) in enumerate(parts, len(evidence)) if c.ndim != 1 or axes
        ]
        self._plan = _planned(domain, scopes, clique, order, max_bytes)

    def run(self, given: Given, how: Literal["sum", "max"], clock: Clock, max_bytes: float | None = None) -> Factor:
        """Return the weights of the clique, up to a common factor, or natural logs of the largest ones."""
        check_contraction(self._domain, self._plan, answer_bytes([self._answer_domain.shape]), max_bytes)
        codes = given.codes
        tables = self._tables.copy()
        tables[: 1 + len(given.logs)] = given.weight, *given.logs.values()
        for place, cells, axes in self._sliced:
            tables[place] = cells[tuple([ALL if a < 0 else codes[a] for a in axes])].ravel()
        answers, _ = self._plan.run(tables, how, clock.n_threads, exact_tick(self._plan, clock))
        return Factor.over(self._answer_domain, answers[0])

    def marginal(self, given: Given, total: float, clock: Clock, max_bytes: float | None = None) -> Factor:
        """Return the marginal of the clique; raise as `variable_elimination` does."""
        answer = self.run(given, "sum", clock, max_bytes)
        mass = float(answer.datavector().sum())
        check_possible(math.log(mass) if mass > 0 else -math.inf, given.evidence)
        if mass < 1 / _LARGE_WEIGHT or total / mass > _LARGE_WEIGHT:
            return answer.normalize(total)
        return Factor.over(self._answer_domain, answer.datavector() * (total / mass))


def _planned(
    domain: Domain,
    scopes: Sequence[tuple[int, ...]],
    keep: Clique,
    order: Sequence[str] | None = None,
    max_bytes: float | None = None,
) -> _core.Contraction:
    sequence = () if order is None else domain.indices(order)
    if order is not None and len(sequence) != len(domain):
        raise ValueError(f"an elimination order needs all {len(domain)} attributes, got {len(sequence)}")
    with hopeless_refused(domain, max_bytes, "best order" if order is None else "given order"):
        return _core.plan_elimination(domain.shape, [(s, True) for s in scopes], domain.indices(keep), sequence)


def sliced(
    shape: Sequence[int], scope: tuple[int, ...], cells: NDArray[np.float64], known: Collection[int]
) -> tuple[tuple[int, ...], NDArray[np.float64], list[int]]:
    """Return the rest of a scope, a view of its table, and for each axis the attribute whose code it takes, or -1.

    Axes of one value are left out and others that stay are joined, as NumPy has no tables of 70 axes; there are none
    where the table is taken as it is.
    """
    left = tuple([i for i in scope if i not in known])
    if len(left) == len(scope):
        return left, cells, []
    axes, sizes = [], []
    for i in scope:
        if i in known and shape[i] > 1:
            axes.append(i)
            sizes.append(shape[i])
        elif shape[i] > 1 and axes and axes[-1] < 0:
            sizes[-1] *= shape[i]
        elif shape[i] > 1:
            axes.append(-1)
            sizes.append(shape[i])
    return left, cells.reshape(sizes), axes


def _joined(scopes: Sequence[tuple[int, ...]], keep: Collection[int]) -> list[bool]:
    """Return whether shared attributes join each scope to some attributes; an empty scope counts as joined."""
    group: dict[int, int] = {}

    def find(attribute: int) -> int:
        while group.setdefault(attribute, attribute) != attribute:
            group[attribute] = group[group[attribute]]
            attribute = group[attribute]
        return attribute

    for scope in scopes:
        for other in scope[1:]:
            group[find(other)] = find(scope[0])
    needed = {find(i) for i in keep}
    return [not scope or find(scope[0]) in needed for scope in scopes]
