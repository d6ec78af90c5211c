"""Edited copies of a network, and the part of a network that an answer depends on."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pypgm._base.clock import Clock
from pypgm.bayes.batch import Posteriors, posteriors, posteriors_by
from pypgm.bayes.conditional_tables import ConditionalTables, relevant
from pypgm.bayes.division import divided
from pypgm.bayes.structure import Structure
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain, Label, as_clique, listed
from pypgm.errors import ModelTooLargeError
from pypgm.factor import Factor
from pypgm.graphs import JunctionTree
from pypgm.graphs.evidence import Evidence, codes_of
from pypgm.inference._variable_elimination import Elimination, Given
from pypgm.inference.conditioned import keep
from pypgm.inference.oracles import Answers, Oracle

_CELLS_AT_ONCE = 1 << 14  # of a tree that is passed in the time in which a dozen attributes are drawn by tables

_T = TypeVar("_T", bound="EditedTables")


class EditedTables(ConditionalTables):
    """Base of networks with edited copies; see `BayesianNetwork`."""

    def copy(self: _T) -> _T:
        """Return an equal network."""
        return copy.copy(self)

    def do(self: _T, values: Mapping[str, Any]) -> _T:
        """Return the network after an intervention that sets some attributes to a value, independent of their parents.

        Parameters
        ----------
        values : mapping of str to label or code

        Raises
        ------
        ValueError
            If an attribute or value is unknown.

        Examples
        --------
        >>> from pypgm.bayes import BayesianNetwork
        >>> domain = {"rain": ["no", "yes"], "wet": ["no", "yes"]}
        >>> net = BayesianNetwork(domain, [("rain", "wet")], {"rain": [0.75, 0.25], "wet": [[1, 0], [0.5, 0.5]]})
        >>> net.query("rain", {"wet": "yes"}).values, net.do({"wet": "yes"}).query("rain").values
        (array([0., 1.]), array([0.75, 0.25]))
        """
        codes = codes_of(self.domain, values, "an intervention")
        units = {a: np.eye(self.domain.size(a))[code] for a, code in codes.items()}
        return self._changed(self.domain, {**self.parents, **dict.fromkeys(units, ())}, {**self.tables, **units})

    def replace_table(
        self: _T,
        attribute: str,
        table: Any,  # noqa: ANN401 - as of the constructor
        parents: str | Iterable[str] | None = None,
    ) -> _T:
        """Return the network with another table of an attribute, and other parents if these are given.

        Examples
        --------
        >>> from pypgm.bayes import BayesianNetwork
        >>> net = BayesianNetwork({"a": 2, "b": 2}, [("a", "b")], {"a": [0.5, 0.5], "b": [[1, 0], [0, 1]]})
        >>> net.replace_table("b", [0.25, 0.75], parents=()).query("b").values
        array([0.25, 0.75])
        """
        self.domain.index(attribute)
        families = dict(self.parents) if parents is None else {**self.parents, attribute: as_clique(parents)}
        return self._changed(self.domain, families, {**self.tables, attribute: table})

    def add(
        self: _T,
        attribute: str,
        values: int | Sequence[Label],
        table: Any,  # noqa: ANN401 - as of the constructor
        parents: str | Iterable[str] = (),
    ) -> _T:
        """Return the network with another attribute, the last one: its size or labels, its table, its parents.

        Examples
        --------
        >>> from pypgm.bayes import BayesianNetwork
        >>> net = BayesianNetwork({"a": 2}, [], {"a": [0.5, 0.5]})
        >>> net.add("b", ["no", "yes"], [[0.5, 0.5], [0, 1]], parents="a").query("b").values
        array([0.25, 0.75])
        """
        if attribute in self.domain:
            raise ValueError(f"the network has an attribute {attribute!r}: `replace_table` changes its table")
        domain = Domain({**{a: self.domain[a] for a in self.domain}, attribute: values})
        return self._changed(domain, {**self.parents, attribute: as_clique(parents)}, {**self.tables, attribute: table})

    def rename(
        self: _T, names: Mapping[str, str] | None = None, labels: Mapping[str, Sequence[Label]] | None = None
    ) -> _T:
        """Return the network with other names of some attributes, or other labels of their values.

        Parameters
        ----------
        names : mapping of str to str, optional
            New names by old ones.
        labels : mapping of str to sequence of labels, optional
            Labels by the name that the attribute has now, in the order of its values.

        Raises
        ------
        ValueError
            If an attribute is unknown, two attributes get one name, or labels are not as many as the values.

        Examples
        --------
        >>> from pypgm.bayes import BayesianNetwork
        >>> net = BayesianNetwork({"a": 2, "b": 2}, [("a", "b")], {"a": [0.5, 0.5], "b": [[1, 0], [0, 1]]})
        >>> net.rename({"a": "rain"}, labels={"a": ["no", "yes"]}).query("b", {"rain": "yes"}).values
        array([0., 1.])
        """
        new, texts = dict(names or {}), dict(labels or {})
        self.domain.indices(tuple(new))
        self.domain.indices(tuple(texts))
        for a, given in texts.items():
            if len(given) != self.domain.size(a):
                raise ValueError(f"{a!r} has {self.domain.size(a)} values and needs as many labels, got {len(given)}")
        at = {a: new.get(a, a) for a in self.domain}
        if repeated := [a for a, name in at.items() if list(at.values()).count(name) > 1]:
            raise ValueError(f"attributes need different names, but {listed(repeated)} would have one")
        domain = Domain({at[a]: texts.get(a, self.domain[a]) for a in self.domain})
        return self._changed(
            domain,
            {at[a]: tuple(at[p] for p in parents) for a, parents in self.parents.items()},
            {at[a]: table.values for a, table in self.tables.items()},
        )

    def remove(self: _T, attributes: str | Iterable[str]) -> _T:
        """Return the network without some attributes; their children go with them, or need another table before.

        The distribution of the other attributes stays the same.

        Examples
        --------
        >>> from pypgm.bayes import BayesianNetwork
        >>> net = BayesianNetwork({"a": 2, "b": 2}, [("a", "b")], {"a": [0.5, 0.5], "b": [[1, 0], [0, 1]]})
        >>> net.remove("b")
        BayesianNetwork('unknown': 1 attributes, 0 arcs, 2 probabilities)
        """
        gone = as_clique(attributes)
        self.domain.indices(gone)
        kept = [a for a in self.domain if a not in gone]
        for a in gone:
            if left := [c for c in self.children[a] if c not in gone]:
                what = f"{a!r} has the children {listed(left)}: remove them too, or replace their tables before"
                raise ValueError(what)
        return self._changed(
            self.domain.project(kept), {a: self.parents[a] for a in kept}, {a: self.tables[a] for a in kept}
        )

    def _changed(self: _T, domain: Domain, parents: Structure, tables: Mapping[str, Any]) -> _T:
        return type(self)(domain, parents, tables, name=self.name)


@dataclass(frozen=True, eq=False)
class Part:
    """Tables of some attributes of a network, and their plan.

    Attributes
    ----------
    domain : Domain
        The attributes.
    tables : sequence of Factor
        One for each attribute, over it and its parents; rows sum to 1.
    """

    domain: Domain
    tables: Sequence[Factor]

    @cached_property
    def potentials(self) -> CliqueVector:
        """Natural logs of the tables."""
        return CliqueVector.from_factors(self.domain, self.tables).log()

    @cached_property
    def answers(self) -> Answers:
        """Answers by any oracle."""
        return Answers(self.potentials)

    @cached_property
    def eliminations(self) -> dict[tuple[object, ...], Elimination]:
        """Plans of answers, by targets and known attributes."""
        return {}

    def marginal(self, clique: Clique, evidence: Evidence | None, max_bytes: float | None) -> Factor:
        """Return the joint probabilities of some attributes; its plan is kept for other values of the evidence."""
        given = Given(self.domain, clique, evidence)
        key = clique, given.pattern
        plan = self.eliminations.get(key)
        if plan is None:
            plan = Elimination(self.potentials, clique, given, max_bytes=max_bytes)
            keep(self.eliminations, key, plan)
        return plan.marginal(given, 1.0, Clock(), max_bytes)

    def posteriors(
        self, columns: Mapping[str, NDArray[np.intp]], n_rows: int, targets: Sequence[str], oracle: Oracle
    ) -> Posteriors:
        """Return the posteriors of targets in each row of codes by an oracle."""
        if oracle == "auto":
            with suppress(ModelTooLargeError):
                return posteriors(self.domain, self.tables, columns, n_rows, targets)
        elif oracle == "exact":
            return posteriors(self.domain, self.tables, columns, n_rows, targets)
        return posteriors_by(lambda evidence: self.answers.by(oracle, evidence), self.domain, columns, n_rows, targets)


class PlannedTables(EditedTables):
    """A network with the plans of its answers; see `BayesianNetwork`."""

    @cached_property
    def _whole(self) -> Part:
        return Part(self.domain, list(self._distributions.values()))

    @cached_property
    def _parts(self) -> dict[frozenset[str], Part]:
        return {}

    @cached_property
    def _divisions(self) -> dict[frozenset[str], list[Answers]]:
        return {}

    @cached_property
    def _parts_asked(self) -> dict[Clique, Part]:
        return {}

    @property
    def potentials(self) -> CliqueVector:
        """Natural logs of the tables, whose rows sum to 1; one clique for each attribute in the order of the domain."""
        return self._whole.potentials

    @property
    def tree(self) -> JunctionTree:
        """The junction tree of all attributes; print it to see the cost of an answer."""
        return self._whole.answers.tree

    def _drawn_part(self, evidence: Evidence) -> Part:
        """Return the part that is drawn together: all attributes if that takes less than to draw the rest by tables."""
        whole = self._whole.answers
        few = whole.fits and whole.tree.cost.cells <= _CELLS_AT_ONCE
        return self._whole if few else self._part(evidence)

    def _part(self, attributes: Iterable[str]) -> Part:
        """Return the part of the network that an answer on some attributes depends on.

        Attributes without a descendant that is a target or known are left out: their rows sum to 1.
        """
        names = tuple(attributes)
        part = self._parts_asked.get(names)
        if part is None:
            self.domain.indices(tuple(dict.fromkeys(names)))
            part = self._part_of(relevant(names, self.parents))
            keep(self._parts_asked, names, part)
        return part

    def _part_of(self, attributes: frozenset[str]) -> Part:
        if len(attributes) == len(self.domain):
            return self._whole
        part = self._parts.get(attributes)
        if part is None:
            names = [a for a in self.domain if a in attributes]
            part = Part(self.domain.project(names), [self._distributions[a] for a in names])
            keep(self._parts, attributes, part)
        return part

    def _divided(self, known: Collection[str]) -> list[Answers]:
        """Return answers that hold every attribute, given what is known; made once for all its values."""
        pattern = frozenset(known)
        return self._divisions.get(pattern) or keep(
            self._divisions, pattern, divided(self._whole.answers, self.parents, pattern)
        )

    def _row_posteriors(
        self, columns: Mapping[str, NDArray[np.intp]], n_rows: int, targets: Sequence[str], oracle: Oracle = "exact"
    ) -> Posteriors:
        """Return the posteriors of targets in each row of codes by an oracle."""
        part = self._part((*targets, *columns))
        if part is not self._whole or oracle != "exact":
            return part.posteriors(columns, n_rows, targets, oracle)
        probabilities: dict[str, NDArray[np.float64]] = {}
        for answers in self._divided(columns):
            left = [t for t in targets if t in answers.domain and t not in probabilities]
            some = self._part_of(frozenset(answers.domain)).posteriors(columns, n_rows, left, oracle)
            probabilities |= some.probabilities
        return Posteriors({t: probabilities[t] for t in targets}, some.log_evidence)
