"""Counterfactuals: two worlds with common causes, one as it was seen, one after an intervention."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pypgm.bayes.checks import check_network
from pypgm.bayes.network import BayesianNetwork
from pypgm.bayes.separation import descendants
from pypgm.domain import Domain, as_clique
from pypgm.factor import Factor
from pypgm.graphs.evidence import Evidence


def twin_network(net: BayesianNetwork, do: Mapping[str, Any]) -> tuple[BayesianNetwork, dict[str, str]]:
    """Return a network of two worlds, and the name in the second of each attribute that may differ there.

    In the second world an intervention has set some attributes. Attributes that do not descend from them are the same
    in both; the descendants have copies, with a prime after their names.

    Parameters
    ----------
    net : BayesianNetwork
    do : mapping of str to label or code

    Raises
    ------
    ValueError
        If an attribute or value is unknown.

    References
    ----------
    Balke and Pearl 1994, "Probabilistic evaluation of counterfactual queries".

    Examples
    --------
    >>> from pypgm.bayes import BayesianNetwork
    >>> net = BayesianNetwork({"a": 2, "b": 2}, [("a", "b")], {"a": [0.5, 0.5], "b": [[1, 0], [0, 1]]})
    >>> twin, names = twin_network(net, {"a": 1})
    >>> names, twin.query(("b", "b'")).values
    ({'a': "a'", 'b': "b'"}, array([[0. , 0.5],
           [0. , 0.5]]))
    """
    check_network(net)
    changed = net.do(do)
    below = descendants(net.parents, do)
    names: dict[str, str] = {}
    for a in (a for a in net.domain if a in below):
        names[a] = f"{a}'"
        while names[a] in net.domain or list(names.values()).count(names[a]) > 1:
            names[a] += "'"
    domain = Domain({**{a: net.domain[a] for a in net.domain}, **{new: net.domain[a] for a, new in names.items()}})
    parents = dict(net.parents) | {new: tuple(names.get(p, p) for p in changed.parents[a]) for a, new in names.items()}
    tables: dict[str, Any] = {a: table.values for a, table in net.tables.items()}
    tables |= {new: changed.tables[a].values for a, new in names.items()}
    return BayesianNetwork(domain, parents, tables, name=net.name), names


def counterfactual(
    net: BayesianNetwork, targets: str | Iterable[str], evidence: Evidence | None, do: Mapping[str, Any]
) -> Factor:
    """Return the probabilities that targets would have had, given what was seen, had some attributes been set.

    The network has to be a functional model: attributes that are not known for certain given their parents are causes
    of their own (noise), without parents. Where a descendant of the intervention has other noise in its table, this
    noise is drawn anew in the other world, and the answer is that of this reading.

    Parameters
    ----------
    net : BayesianNetwork
    targets : str or sequence of str
    evidence : mapping
        What was seen in the world as it is, see `BayesianNetwork.query`.
    do : mapping of str to label or code
        The intervention in the other world.

    Returns
    -------
    Factor
        Probabilities that sum to 1, axes in the order of the targets.

    Raises
    ------
    ImpossibleEvidenceError
        If the evidence has probability zero.
    ValueError
        If an attribute or value is unknown.

    Examples
    --------
    The patient had the drug and died; would she have lived without it?

    >>> from pypgm.bayes import BayesianNetwork
    >>> tables = {"type": [0.9, 0.1], "drug": [0.5, 0.5], "dies": [[[1, 0], [1, 0]], [[1, 0], [0, 1]]]}
    >>> arcs = [("type", "dies"), ("drug", "dies")]
    >>> net = BayesianNetwork({"type": ["robust", "frail"], "drug": 2, "dies": 2}, arcs, tables)
    >>> counterfactual(net, "dies", {"drug": 1, "dies": 1}, do={"drug": 0}).values
    array([1., 0.])
    """
    check_network(net)
    wanted = as_clique(targets)
    net.domain.indices(wanted)
    twin, names = twin_network(net, do)
    answer = twin.query([names.get(a, a) for a in wanted], evidence)
    return Factor(net.domain.project(wanted), answer.values)
