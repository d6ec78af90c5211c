"""Graphs of networks alone: the moral graph, independencies, adjustment for causes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping

from pypgm.bayes.checks import check_network
from pypgm.bayes.conditional_tables import ConditionalTables, relevant, separated
from pypgm.domain import Clique, as_clique


def moral_edges(net: ConditionalTables) -> list[tuple[str, str]]:
    """Return the edges of the moral graph: attributes in a common table, in the order of the domain.

    Examples
    --------
    >>> from pypgm.bayes import BayesianNetwork
    >>> half = [0.5, 0.5]
    >>> tables = {"a": half, "b": half, "c": [[half, half], [half, half]]}
    >>> moral_edges(BayesianNetwork({"a": 2, "b": 2, "c": 2}, [("a", "c"), ("b", "c")], tables))
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    check_network(net)
    families = (net.domain.canonical((*parents, child)) for child, parents in net.parents.items())
    pairs = {pair for family in families for pair in itertools.combinations(family, 2)}
    return sorted(pairs, key=net.domain.indices)


def independencies(net: ConditionalTables) -> dict[str, tuple[Clique, Clique]]:
    """Return what each attribute is independent of given its parents, and these parents: all others but descendants.

    Every independence that the graph implies follows from these (`is_d_separated` decides any). Attributes without
    one are left out.

    Examples
    --------
    >>> from pypgm.bayes import BayesianNetwork
    >>> flip = [[0.9, 0.1], [0.1, 0.9]]
    >>> chain = BayesianNetwork({"a": 2, "b": 2, "c": 2}, [("a", "b"), ("b", "c")], {"a": [1, 0], "b": flip, "c": flip})
    >>> independencies(chain)
    {'c': (('a',), ('b',))}
    """
    check_network(net)
    implied = {}
    for a, parents in net.parents.items():
        near = {*parents, *descendants(net.parents, [a])}
        if others := tuple(b for b in net.domain if b not in near):
            implied[a] = (others, parents)
    return implied


def is_adjustment_set(
    net: ConditionalTables, cause: str | Iterable[str], effect: str | Iterable[str], given: str | Iterable[str]
) -> bool:
    """Return whether a set meets the backdoor criterion: the effect of `do` is then the mean over the set's values.

    No attribute of the set descends from the cause, and the set blocks all paths from the cause to the effect that
    enter the cause.

    Raises
    ------
    ValueError
        If an attribute is unknown, or in two of the sets.

    References
    ----------
    Pearl 2009, "Causality", section 3.3.
    """
    check_network(net)
    causes, effects, known = map(as_clique, (cause, effect, given))
    net.domain.indices((*causes, *effects, *known))
    if set(known) & descendants(net.parents, causes):
        return False
    without = {a: tuple(p for p in parents if p not in causes) for a, parents in net.parents.items()}
    return separated(without, causes, effects, known)


def adjustment_sets(
    net: ConditionalTables,
    cause: str | Iterable[str],
    effect: str | Iterable[str],
    observed: str | Iterable[str] | None = None,
) -> Iterator[Clique]:
    r"""Return an iterator over the minimal sets of attributes that meet the backdoor criterion, smaller ones first.

    With such a set z, :math:`P(y \mid do(x)) = \sum_z P(z) P(y \mid x, z)`: an effect can be read from records in
    which only these attributes were observed. Take the first; all are as many as subsets of the ancestors at worst.

    Parameters
    ----------
    net : BayesianNetwork
    cause, effect : str or sequence of str
    observed : str or sequence of str, optional
        Attributes that a set may have; all by default.

    Raises
    ------
    ValueError
        If an attribute is unknown, or is both cause and effect.

    Examples
    --------
    >>> from pypgm.bayes import BayesianNetwork
    >>> flip = [[0.9, 0.1], [0.1, 0.9]]
    >>> arcs = [("age", "drug"), ("age", "cured"), ("drug", "cured")]
    >>> tables = {"age": [0.5, 0.5], "drug": flip, "cured": [flip, flip]}
    >>> next(adjustment_sets(BayesianNetwork({"age": 2, "drug": 2, "cured": 2}, arcs, tables), "drug", "cured"))
    ('age',)
    """
    check_network(net)
    causes, effects = as_clique(cause), as_clique(effect)
    net.domain.indices((*causes, *effects))  # different ones, too
    allowed = set(net.domain) if observed is None else set(as_clique(observed))
    net.domain.indices(tuple(allowed))
    # Minimal sets consist of ancestors of causes or effects.
    near = relevant((*causes, *effects), net.parents) & allowed
    near = near - descendants(net.parents, causes) - {*causes, *effects}
    return _minimal(net, causes, effects, net.domain.canonical(near))


def _minimal(net: ConditionalTables, causes: Clique, effects: Clique, near: Clique) -> Iterator[Clique]:
    minimal: list[set[str]] = []
    for size in range(len(near) + 1):
        for given in itertools.combinations(near, size):
            if not any(smaller <= set(given) for smaller in minimal) and is_adjustment_set(net, causes, effects, given):
                minimal.append(set(given))
                yield given


def descendants(parents: Mapping[str, Clique], attributes: Iterable[str]) -> set[str]:
    """Return some attributes and all that descend from them.

    Examples
    --------
    >>> sorted(descendants({"a": (), "b": ("a",), "c": ()}, ["a"]))
    ['a', 'b']
    """
    reached = set(attributes)
    waiting = list(reached)
    while waiting:
        at = waiting.pop()
        children = [a for a, members in parents.items() if at in members and a not in reached]
        reached.update(children)
        waiting += children
    return reached
