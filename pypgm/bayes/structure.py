"""Directed graphs in any of their usual forms, turned into checked parents of each attribute."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard

from pypgm.bayes.bif import parse_bif
from pypgm.bayes.checks import NetworkError, check_family, ordered
from pypgm.data.sources.files import read_text
from pypgm.domain import Clique, Domain, as_clique

if TYPE_CHECKING:
    import networkx


class Network(Protocol):
    """A Bayesian network."""

    parents: Mapping[str, Clique]
    tables: Mapping[str, Any]


Structure: TypeAlias = (
    "Network | networkx.DiGraph[str] | Mapping[str, str | Iterable[str]] | Iterable[tuple[str, str]] "
    "| str | os.PathLike[str]"
)


def parents_of(domain: Domain, structure: Structure) -> dict[str, Clique]:
    """Return the parents of each attribute of a domain, in the order of the structure's arcs.

    Parameters
    ----------
    domain : Domain
    structure : BayesianNetwork, networkx.DiGraph, mapping, sequence of pairs, or path
        A network or the path of a BIF file, whose tables are ignored; a directed graph; the parents of each child; or
        arcs (parent, child). Attributes that are not named have no parents and no children.

    Raises
    ------
    ValueError
        If an attribute is unknown, an arc occurs twice or leads to its own node, or the arcs form a cycle.
    TypeError
        If the structure is not of one of these kinds, or a graph is not directed.

    Examples
    --------
    >>> parents_of(Domain({"a": 2, "b": 2, "c": 2}), [("a", "c"), ("b", "c")])
    {'a': (), 'b': (), 'c': ('a', 'b')}
    """
    if isinstance(structure, str | os.PathLike):
        structure = parse_bif(read_text(structure), os.fspath(structure)).parents
    given = structure.parents if _is_network(structure) else structure
    named = {c: as_clique(p) for c, p in given.items()} if isinstance(given, Mapping) else _of_arcs(given)
    domain.indices(tuple(named))
    parents = {a: named.get(a, ()) for a in domain}
    for child, members in parents.items():
        check_family(domain, child, members)
    ordered(domain, parents)
    return parents


def _of_arcs(structure: object) -> dict[str, Clique]:
    """Return the parents of each node in a list of arcs, or in a graph."""
    by_child: dict[str, list[str]] = {}
    if _is_graph(structure):
        if not structure.is_directed():
            raise TypeError("a structure needs a directed graph, got an undirected one")
        by_child = {node: [] for node in structure.nodes}
        structure = structure.edges()
    if not isinstance(structure, Iterable):
        raise TypeError(f"a structure is a network, a directed graph, parents or arcs, got {structure!r}")
    for arc in structure:
        parent, child = arc_of(arc)
        by_child.setdefault(parent, [])
        parents = by_child.setdefault(child, [])
        if parent in parents:
            raise NetworkError(child, f"the arc from {parent!r} to {child!r} comes twice")
        parents.append(parent)
    return {child: tuple(parents) for child, parents in by_child.items()}


def arc_of(given: object) -> tuple[str, str]:
    """Return a parent and its child.

    Raises
    ------
    TypeError
        If it is not a pair.
    """
    pair = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else ()
    if len(pair) != 2:
        raise TypeError(f"an arc is a pair (parent, child), got {given!r}")
    return pair


def _is_graph(value: object) -> TypeGuard[networkx.DiGraph[str]]:
    return hasattr(value, "nodes") and hasattr(value, "edges") and hasattr(value, "is_directed")


def _is_network(value: object) -> TypeGuard[Network]:
    return isinstance(getattr(value, "tables", None), Mapping)
