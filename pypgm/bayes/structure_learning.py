"""The structure of a network from records, without privacy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pypgm._base.memory import check_sizes
from pypgm._base.numeric import as_generator, check_choice, checked_integer, checked_real
from pypgm.bayes.checks import ordered
from pypgm.bayes.family_scores import FamilyScores, Score, members, set_of
from pypgm.bayes.frames import MISSING, Frame, as_codes, domain_of
from pypgm.bayes.learning import learn
from pypgm.bayes.structure import Structure, arc_of, parents_of
from pypgm.bayes.structure_search import Limits, best_forest, best_of_all, climb
from pypgm.data import Dataset
from pypgm.domain import Clique, Domain, as_clique, check_domain, listed
from pypgm.errors import ModelTooLargeError

Method = Literal["hill_climbing", "tree", "exact", "naive", "tan"]

_MIN_STRENGTH, _MAX_STRENGTH = 1e-100, 1e9  # strengths whose scores doubles tell apart: at 1e9 to about 1e-6 a cell
_MAX_EXACT = 20  # attributes of an exact search, whose tables have a cell for each set of them


@dataclass(frozen=True, eq=False)
class LearnedStructure(Mapping[str, Clique]):
    """Parents of each attribute, found in records; passed in place of a structure, to `learn` for one.

    Attributes
    ----------
    domain : Domain
    parents : mapping of str to tuple of str
        In the order of the domain; the object itself is this mapping.
    score : float
        In nats, larger is better; where values were missing, of the last completed records.
    n_families : int
        Number of families scored by the search.
    strengths : mapping of (str, str) to float
        With `bootstrap`: the share of resamples in whose structure an arc is; arcs that never occur are left out.
    """

    domain: Domain
    parents: Mapping[str, Clique]
    score: float
    n_families: int
    strengths: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def __getitem__(self, attribute: str) -> Clique:
        return self.parents[attribute]

    def __iter__(self) -> Iterator[str]:
        return iter(self.parents)

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def arcs(self) -> list[tuple[str, str]]:
        """All (parent, child), by child in the order of the domain."""
        return [(p, child) for child, parents in self.parents.items() for p in parents]

    def __repr__(self) -> str:
        return f"LearnedStructure({len(self)} attributes, {len(self.arcs)} arcs, score {self.score:.6g})"


def learn_structure(
    data: Frame,
    method: Method = "hill_climbing",
    *,
    domain: Domain | None = None,
    score: Score = "bdeu",
    strength: float = 1.0,
    target: str | None = None,
    max_parents: int = 4,
    required: Iterable[tuple[str, str]] = (),
    forbidden: Iterable[tuple[str, str]] = (),
    tiers: Sequence[str | Iterable[str]] = (),
    restarts: int = 3,
    rounds: int = 5,
    bootstrap: int = 0,
    rng: np.random.Generator | int = 0,
) -> LearnedStructure:
    r"""Search for the structure of the largest score on records. **Not private**: it reveals the records.

    The methods:

    - "hill_climbing": arcs are added, removed and reversed, whichever gains most, past local maxima by a list of
      forbidden steps, and again from structures without a third of the arcs of the best one;
    - "tree": the best network in which no attribute has two parents (Chow and Liu; arcs that lose score are left out);
    - "exact": a network of the largest score of all, of at most 20 attributes (Silander and Myllymäki), families that
      cannot be part of it being skipped (de Campos and Ji);
    - "naive": the target is the only parent of every other attribute;
    - "tan": the target is a parent of every other attribute, and these form the best tree (Friedman, Geiger and
      Goldszmidt).

    Where values are missing, rounds of structural expectation maximisation complete the records by a draw from the
    network of the last round, and search again.

    Parameters
    ----------
    data : Dataset, data frame, or mapping of str to sequence
        Unweighted records, as for `learn`; every attribute needs a column.
    method : {"hill_climbing", "tree", "exact", "naive", "tan"}
    domain : Domain, optional
        By default that of a Dataset, or the values of the frame, in their order.
    score : {"bdeu", "bic", "aic", "k2"}
        Score to be maximised, as of `fit_score`. The trees need one that does not depend on directions: not "k2".
    strength : float
        Equivalent number of records of the prior "bdeu", or of a cell of "k2".
    target : str, optional
        The class of "naive" and "tan"; the root of "tree", by default the first attribute.
    max_parents : int
        Largest number of parents of an attribute, for "hill_climbing" and "exact".
    required, forbidden : iterable of (parent, child)
        Arcs that the structure must or may not have, for "hill_climbing" and "exact".
    tiers : sequence of str or sequence of str
        Groups of attributes in the order of time, for the same methods: no arc leads from a group to an earlier one.
        Attributes in no group are free.
    restarts : int
        Further climbs of "hill_climbing": more of them cost little, as most families have been scored by then.
    rounds : int
        At least 1: rounds where values are missing; they end at a structure that a round leaves as it is.
    bootstrap : int
        Number of searches in records drawn with replacement, for `LearnedStructure.strengths`; 0 for none.
    rng : Generator or int
        Randomness of restarts, completions and resamples.

    Returns
    -------
    LearnedStructure

    Raises
    ------
    ValueError
        If an attribute or value is unknown, a column is missing, an option is out of range or not of this method,
        records are weighted or there are none, or required arcs form a cycle, are forbidden or too many.
    ModelTooLargeError
        If there are too many attributes for "exact", or an attribute has 2**63 values or more.

    References
    ----------
    Chow and Liu 1968, "Approximating discrete probability distributions with dependence trees". Friedman, Geiger and
    Goldszmidt 1997, "Bayesian network classifiers". Silander and Myllymäki 2006, "A simple approach for finding the
    globally optimal Bayesian network structure". de Campos and Ji 2011, "Efficient structure learning of Bayesian
    networks using constraints". Friedman 1998, "The Bayesian structural EM algorithm".

    Examples
    --------
    >>> from pypgm.bayes import learn
    >>> frame = {"rain": ["no", "yes"] * 50, "wet": ["no", "yes"] * 50, "day": ["mon"] * 50 + ["tue"] * 50}
    >>> found = learn_structure(frame, tiers=["day", "rain", "wet"])
    >>> found.arcs
    [('rain', 'wet')]
    >>> learn(frame, found).query("rain", {"wet": "yes"}).values
    array([0., 1.])
    """
    check_choice("method", method, get_args(Method))
    check_choice("score", score, get_args(Score))
    strength = checked_real("strength", strength)
    if not _MIN_STRENGTH <= strength <= _MAX_STRENGTH:
        raise ValueError(f"strength must be from {_MIN_STRENGTH} to {_MAX_STRENGTH}, got {strength}")
    restarts, bootstrap = checked_integer("restarts", restarts), checked_integer("bootstrap", bootstrap)
    rounds = checked_integer("rounds", rounds, 1)
    generator = as_generator(rng)
    for name, several in (("forbidden arcs", forbidden), ("tiers", tiers)):
        if not isinstance(several, Iterable):
            raise TypeError(f"{name} need a sequence, got {several!r}")
    domain = _checked_domain(data, domain)
    _check_options(domain, method, score, target, (required, forbidden, tiers))
    limits = _limits(domain, checked_integer("max_parents", max_parents), required, forbidden, tiers)
    root = 0 if target is None else domain.index(target)

    def search(columns: Mapping[str, NDArray[Any]]) -> tuple[list[int], float, int]:
        scores = FamilyScores(domain, columns, score, strength)
        if method == "hill_climbing":
            parents, reached = climb(scores, limits, restarts, generator)
        elif method == "exact":
            parents, reached = best_of_all(scores, limits)
        else:
            parents = _tree(scores, method, root)
            reached = scores.total(parents)
        return parents, reached, scores.n_computed

    columns = _checked_columns(domain, data)
    parents, reached, computed = _completed_search(domain, columns, search, rounds, generator)
    seen: dict[tuple[str, str], float] = {}
    for _ in range(bootstrap):
        rows = generator.integers(len(next(iter(columns.values()))), size=len(next(iter(columns.values()))))
        again, _, _ = _completed_search(
            domain, {a: column[rows] for a, column in columns.items()}, search, rounds, generator
        )
        for arc in ((p, child) for child, names in _named(domain, again).items() for p in names):
            seen[arc] = seen.get(arc, 0.0) + 1 / bootstrap
    return LearnedStructure(domain, _named(domain, parents), reached, computed, seen)


def _named(domain: Domain, parents: Sequence[int]) -> dict[str, Clique]:
    return {child: domain.names(members(p)) for child, p in zip(domain, parents, strict=True)}


def _checked_domain(data: Frame, domain: Domain | None) -> Domain:
    if domain is not None:
        check_domain(domain)
    else:
        domain = data.domain if isinstance(data, Dataset) else domain_of(data)
    if not len(domain):
        raise ValueError("a structure needs at least one attribute, got none")
    check_sizes(domain)
    return domain


def _checked_columns(domain: Domain, data: Frame) -> dict[str, NDArray[np.intp]]:
    """Return the codes of every attribute, -1 where a value is missing."""
    if getattr(data, "weights", None) is not None:
        raise ValueError("structures are learned from unweighted records")
    n_rows, columns = as_codes(domain, data)
    if missing := [a for a in domain if a not in columns]:
        raise ValueError(f"every attribute needs a column; {listed(missing)} has none")
    if not n_rows:
        raise ValueError("a structure needs at least one record, got none")
    return {a: columns[a] for a in domain}


def _check_options(
    domain: Domain, method: Method, score: Score, target: str | None, limits: Sequence[Iterable[object]]
) -> None:
    """Raise ``ValueError`` for options that do not suit the method."""
    searched = method in {"hill_climbing", "exact"}
    if method in {"naive", "tan"} and target is None:
        raise ValueError(f"method={method!r} needs a target, the class of the records")
    if searched and target is not None:
        raise ValueError(f"method={method!r} takes no target: 'naive', 'tan' and 'tree' do")
    if not searched and not all(isinstance(limit, Sized) and len(limit) == 0 for limit in limits):
        raise ValueError(f"method={method!r} takes no required or forbidden arcs and no tiers: 'hill_climbing' does")
    if method in {"tree", "tan"} and score == "k2":
        raise ValueError(f"method={method!r} needs a score that does not depend on directions: 'bdeu', 'bic' or 'aic'")
    if method == "exact" and len(domain) > _MAX_EXACT:
        advice = f"exact search takes at most {_MAX_EXACT}: use method='hill_climbing'"
        raise ModelTooLargeError(f"the sets of {len(domain)} attributes are too many; {advice}")


def _limits(
    domain: Domain,
    max_parents: int,
    required: Structure,
    forbidden: Iterable[tuple[str, str]],
    tiers: Sequence[str | Iterable[str]],
) -> Limits:
    allowed = ~np.eye(len(domain), dtype=bool)
    tier = np.full(len(domain), -1)
    for number, group in enumerate(tiers):
        for a in domain.indices(as_clique(group)):
            if tier[a] >= 0:
                raise ValueError(f"{domain.attributes[a]!r} is in two tiers")
            tier[a] = number
    allowed &= (tier[:, None] <= tier[None, :]) | (tier[:, None] < 0) | (tier[None, :] < 0)
    for arc in forbidden:
        allowed[domain.indices(arc_of(arc))] = False
    needed = parents_of(domain, required)
    ordered(domain, needed)
    for child, parents in needed.items():
        if len(parents) > max_parents:
            raise ValueError(f"{child!r} has {len(parents)} required parents, more than max_parents={max_parents}")
        for p in parents:
            if not allowed[domain.indices((p, child))]:
                raise ValueError(f"the arc from {p!r} to {child!r} is required, and forbidden or against the tiers")
    return Limits(max_parents, allowed, tuple(set_of(domain.indices(needed[a])) for a in domain))


def _tree(scores: FamilyScores, method: Method, root: int) -> list[int]:
    """Return the parents in the best tree, or those of a class and the best tree besides."""
    n = len(scores.sizes)
    base = 0 if method == "tree" else 1 << root
    parents = [base if a != root else 0 for a in range(n)]
    if method == "naive":
        return parents
    gains = np.zeros((n, n))
    inner = [a for a in range(n) if method == "tree" or a != root]
    for i, child in enumerate(inner):
        scored = scores.of(child, [base, *(base | 1 << p for p in inner[:i])])
        gains[child, inner[:i]] = gains[inner[:i], child] = scored[1:] - scored[0]
    first = root if method == "tree" else next(iter(inner), root)
    return [p | 1 << up if up >= 0 else p for p, up in zip(parents, best_forest(gains, first), strict=True)]


def _completed_search(
    domain: Domain,
    columns: Mapping[str, NDArray[np.intp]],
    search: Callable[[Mapping[str, NDArray[Any]]], tuple[list[int], float, int]],
    rounds: int,
    rng: np.random.Generator,
) -> tuple[list[int], float, int]:
    """Search in records whose missing values, if any, are drawn given the known ones and the structure found before."""
    if not any((column == MISSING).any() for column in columns.values()):
        return search(columns)
    parents: list[int] = [0] * len(domain)
    coded = Domain(domain.attributes, domain.shape)  # codes instead of labels
    holed = {a: [None if v == MISSING else v for v in column.tolist()] for a, column in columns.items()}
    computed = 0
    for _ in range(rounds):
        net = learn(holed, _named(coded, parents), domain=coded, prior="bdeu")
        whole = as_codes(coded, net.impute(holed, how="sample", rng=rng))[1]
        again, reached, more = search(whole)
        computed += more
        if again == parents:
            break
        parents = again
    return again, reached, computed
