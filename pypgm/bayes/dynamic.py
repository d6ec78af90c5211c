"""Dynamic networks: one slice after the other, filtered and smoothed through what the slices share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pypgm._base.html import Shown
from pypgm._base.memory import check_fits, short
from pypgm._base.numeric import checked_integer
from pypgm.bayes.checks import check_network
from pypgm.bayes.network import BayesianNetwork
from pypgm.bayes.structure import Structure, parents_of
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.errors import ImpossibleEvidenceError
from pypgm.factor import Factor
from pypgm.graphs import JunctionTree
from pypgm.graphs.evidence import Evidence, log_likelihoods
from pypgm.inference._variable_elimination import log_elimination

_ATTRIBUTE_BYTES = 1300  # of an attribute in an unrolled network, beside the cells of its table (tracemalloc)


def before(attribute: str) -> str:
    """Return the name of an attribute of the slice before, as parents of a `DynamicNetwork` use it.

    Examples
    --------
    >>> before("rain")
    'rain[t-1]'
    """
    return f"{attribute}[t-1]"


def slice_before(domain: Domain) -> dict[str, Any]:
    """Return the sizes or labels of the attributes of the slice before; ``ValueError`` if a name is one of them.

    Examples
    --------
    >>> from pypgm import Domain
    >>> slice_before(Domain({"rain": 2}))
    {'rain[t-1]': 2}
    """
    earlier = {before(a): domain[a] for a in domain}
    if clash := [a for a in domain if a in earlier]:
        raise ValueError(f"{clash[0]!r} is how an attribute of the slice before is named: rename it")
    return earlier


class DynamicNetwork(Shown):
    r"""A Bayesian network repeated in time: a first slice, and tables of every later one given the one before.

    Parameters
    ----------
    first : BayesianNetwork
        The slice at time 0, with all attributes.
    parents : mapping of str to sequence of str, sequence of pairs
        Parents of the attributes of a later slice: attributes of the same slice, or of the slice before, named
        ``"rain[t-1]"`` (see `before`).
    tables : mapping of str to array_like of float
        For each attribute, as those of a `BayesianNetwork`.

    Attributes
    ----------
    first : BayesianNetwork
    domain : Domain
        That of a slice.
    parents : mapping of str to tuple of str
    tables : mapping of str to Factor
    interface : tuple of str
        The attributes that the next slice depends on.

    Raises
    ------
    ValueError
        As of `BayesianNetwork`.

    References
    ----------
    Murphy 2002, "Dynamic Bayesian networks: representation, inference and learning".

    Examples
    --------
    >>> first = BayesianNetwork({"rain": 2, "wet": 2}, [("rain", "wet")], {"rain": [0.5, 0.5], "wet": [[1, 0], [0, 1]]})
    >>> tables = {"rain": [[0.9, 0.1], [0.2, 0.8]], "wet": [[0.75, 0.25], [0, 1]]}
    >>> net = DynamicNetwork(first, {"rain": ["rain[t-1]"], "wet": ["rain"]}, tables)
    >>> [slice["rain"].values.round(3).tolist() for slice in net.filter([{"wet": 1}, {"wet": 0}, {}])]
    [[0.0, 1.0], [1.0, 0.0], [0.9, 0.1]]
    >>> net.unroll(3).query("rain[2]", {"wet[0]": 1, "wet[1]": 0}).values
    array([0.9, 0.1])
    """

    def __init__(self, first: BayesianNetwork, parents: Structure, tables: Mapping[str, Any]) -> None:
        check_network(first)
        self.first, self.domain = first, first.domain
        earlier = slice_before(self.domain)
        if not isinstance(tables, Mapping):
            raise TypeError(f"tables need a mapping of attribute to table, got {type(tables).__name__}")
        names: dict[str, Any] = {**{a: self.domain[a] for a in self.domain}, **earlier}
        families = parents_of(Domain(names), parents)
        for name in earlier:
            if families[name]:
                raise ValueError(f"{name!r} is of the slice before, and can have no parents in the next one")
        used = {p for family in families.values() for p in family}
        self.interface: Clique = tuple(a for a in self.domain if before(a) in used)
        kept = {name: names[name] for name in (*map(before, self.interface), *self.domain)}
        uniform = {before(a): np.full(self.domain.size(a), 1 / self.domain.size(a)) for a in self.interface}
        # The attributes before have tables that are not used: the message from their slice takes their place.
        self._step = BayesianNetwork(kept, {a: families[a] for a in kept}, {**tables, **uniform})
        self.parents = {a: self._step.parents[a] for a in self.domain}
        self.tables = {a: self._step.tables[a] for a in self.domain}

    def __repr__(self) -> str:
        return f"DynamicNetwork({len(self.domain)} attributes, {len(self.interface)} of them carried on)"

    def unroll(self, n_slices: int) -> BayesianNetwork:
        """Return the network of so many slices, at least 1; its attributes are named ``"rain[0]"``, ``"rain[1]"``, ….

        Raises
        ------
        ValueError
            If the number of slices is less than 1.
        ModelTooLargeError
            If so many slices do not fit into memory; `filter` and `smooth` need that of one slice.
        """
        n_slices = checked_integer("n_slices", n_slices, 1)
        cells = sum(table.values.size for table in self.tables.values())
        what = f"{short(n_slices)} slices of {len(self.domain)} attributes are too many to unroll"
        way_out = "unroll fewer; filter, smooth and log_probability take one slice after the other"
        check_fits(n_slices * (8 * cells + _ATTRIBUTE_BYTES * len(self.domain)), None, what, way_out)
        sizes: dict[str, Any] = {f"{a}[{t}]": self.domain[a] for t in range(n_slices) for a in self.domain}
        parents: dict[str, Clique] = {}
        tables: dict[str, Any] = {}
        for t in range(n_slices):
            net = self.first if t == 0 else self._step
            at = {a: f"{a}[{t}]" for a in self.domain} | {before(a): f"{a}[{t - 1}]" for a in self.domain}
            parents |= {at[a]: tuple(at[p] for p in net.parents[a]) for a in self.domain}
            tables |= {at[a]: net.tables[a].values for a in self.domain}
        return BayesianNetwork(sizes, parents, tables, name=self.first.name)

    def filter(self, evidence: Sequence[Evidence | None]) -> list[dict[str, Factor]]:
        """Return the probabilities of each attribute in each slice, given what was seen until then.

        Slices without evidence at the end are predictions. Time and memory of a slice do not depend on their number.

        Parameters
        ----------
        evidence : sequence of mapping or None
            For each slice, see `BayesianNetwork.query`.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero; the message names the first slice at which it has.
        ModelTooLargeError
            If the tables of a slice, or of what it shares with the next, do not fit.
        ValueError
            If an attribute, label or code is unknown.
        TypeError
            If the evidence is no sequence.
        """
        return [self._marginals(t, e, message) for t, e, message, _ in self._forward(evidence)]

    def smooth(self, evidence: Sequence[Evidence | None]) -> list[dict[str, Factor]]:
        """Return the probabilities of each attribute in each slice, given what was seen in all slices.

        Parameters and errors are those of `filter`.
        """
        forward = list(self._forward(evidence))
        later: list[Factor] = []
        smoothed = []
        for t, e, message, _ in reversed(forward):
            smoothed.append(self._marginals(t, e, [*message, *later]))
            if t:
                factors = [*self._logs(t), *self._known(e), *later]
                back = log_elimination(self._step.domain, factors, tuple(map(before, self.interface)))
                values = back.values - _total(back)
                later = [Factor(self.domain.project(self.interface), values)]
        return smoothed[::-1]

    def log_probability(self, evidence: Sequence[Evidence | None]) -> float:
        """Return the natural log of the probability of the evidence of all slices; -inf if it is impossible."""
        try:
            return sum(level for *_, level in self._forward(evidence))
        except ImpossibleEvidenceError:
            return -np.inf

    def _forward(
        self, evidence: Sequence[Evidence | None]
    ) -> Iterator[tuple[int, Evidence | None, list[Factor], float]]:
        """Yield each slice with its evidence, the message from the one before, and the log of what it adds."""
        _check_slices(evidence)
        message: list[Factor] = []
        for t, e in enumerate(evidence):
            factors = [*self._logs(t), *self._known(e), *message]
            log = log_elimination(self._net(t).domain, factors, self.interface)
            level = _total(log)
            if level == -np.inf:
                raise ImpossibleEvidenceError(f"the evidence until slice {t} (the first is 0) has probability zero")
            yield t, e, message, level
            scope = self._step.domain.project(tuple(map(before, self.interface)))
            message = [Factor(scope, log.values - level)]

    def _marginals(self, t: int, evidence: Evidence | None, messages: Sequence[Factor]) -> dict[str, Factor]:
        net = self._net(t)
        potentials = CliqueVector.from_factors(net.domain, [*self._logs(t), *messages])
        key = potentials.cliques
        if (t > 0, key) not in self._trees:
            self._trees[t > 0, key] = JunctionTree.of(potentials)
        marginals = self._trees[t > 0, key].attribute_marginals(potentials, 1.0, evidence)
        return {a: Factor(self.domain.project((a,)), marginals[a]) for a in self.domain}

    @cached_property
    def _trees(self) -> dict[tuple[bool, tuple[Clique, ...]], JunctionTree]:
        return {}

    def _net(self, t: int) -> BayesianNetwork:
        return self._step if t else self.first

    def _logs(self, t: int) -> list[Factor]:
        tables = self._net(t)._distributions
        with np.errstate(divide="ignore"):
            return [Factor(tables[a].domain, np.log(tables[a].values)) for a in self.domain]

    def _known(self, evidence: Evidence | None) -> list[Factor]:
        return [Factor(self.domain.part([i]), logs) for i, logs in log_likelihoods(self.domain, evidence)]


def _check_slices(evidence: object) -> None:
    if isinstance(evidence, str) or not isinstance(evidence, Sequence):
        needed = "evidence of slices needs a sequence, with a mapping or None for each"
        raise TypeError(f"{needed}, got {type(evidence).__name__}")


def _total(logs: Factor) -> float:
    top = float(logs.values.max())
    return top if top == -np.inf else top + float(np.log(np.exp(logs.values - top).sum()))
