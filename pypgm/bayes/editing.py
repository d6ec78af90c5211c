"""Edited copies of a network: with an attribute set, another table, or an attribute added or removed."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from pypgm.bayes.conditional_tables import ConditionalTables
from pypgm.bayes.structure import Structure
from pypgm.domain import Domain, Label, as_clique, listed
from pypgm.graphs.evidence import code_of

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
        units = {a: np.eye(self.domain.size(a))[code_of(self.domain, a, value)] for a, value in values.items()}
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
