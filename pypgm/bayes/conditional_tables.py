"""Directed graphs with a table for each attribute given its parents: checked, read, written, drawn from."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pypgm._base.html import Shown
from pypgm.bayes.bif import Unseen, format_bif, parse_bif
from pypgm.bayes.checks import EXACT, NetworkError, checked_table, normalised, ordered, row_error
from pypgm.bayes.structure import Structure, parents_of
from pypgm.bayes.xmlbif import format_xmlbif, parse_xmlbif
from pypgm.data.columns.codebook import label_texts
from pypgm.data.sources.files import read_text, replacing_text
from pypgm.domain import Clique, Domain, Label, as_clique
from pypgm.factor import Factor

if TYPE_CHECKING:
    import networkx
    from matplotlib.axes import Axes


def relevant(attributes: Iterable[str], parents: Mapping[str, Clique]) -> frozenset[str]:
    """Return some attributes and all their ancestors.

    Examples
    --------
    >>> sorted(relevant(["b"], {"a": (), "b": ("a",), "c": ("b",)}))
    ['a', 'b']
    """
    waiting = list(attributes)
    kept: set[str] = set()
    while waiting:
        attribute = waiting.pop()
        if attribute not in kept:
            kept.add(attribute)
            waiting.extend(parents[attribute])
    return frozenset(kept)


def separated(parents: Mapping[str, Clique], here: Clique, there: Clique, known: Clique) -> bool:
    """Return whether attributes are d-separated from others by a third set.

    Examples
    --------
    >>> separated({"a": (), "b": ("a",), "c": ("b",)}, ("a",), ("c",), ("b",))
    True
    """
    # In the moral graph of their ancestors each path from one to the other meets a known attribute.
    kept = relevant((*here, *there, *known), parents)
    families = [{child, *parents[child]} for child in kept]
    waiting, seen = list(here), set(here)
    while waiting:
        at = waiting.pop()
        near = {a for family in families if at in family for a in family} - seen
        seen |= near
        waiting += near - set(known)
    return not seen & set(there)


_T = TypeVar("_T", bound="ConditionalTables")


class ConditionalTables(Shown):
    """Graph and tables of a `BayesianNetwork`, which describes them."""

    name: str
    domain: Domain
    parents: Mapping[str, Clique]
    tables: Mapping[str, Factor]
    notes: tuple[str, ...]

    def __init__(
        self,
        domain: Domain | Mapping[str, int | Sequence[Label]],
        parents: Structure,
        tables: Mapping[str, Any],
        *,
        name: str = "unknown",
    ) -> None:
        domain = domain if isinstance(domain, Domain) else Domain(domain)
        families = parents_of(domain, parents)
        domain.indices(tuple(tables))
        missing = [a for a in domain if a not in tables]
        if missing:
            raise NetworkError(missing[0], f"each attribute needs a table of probabilities; {missing[0]!r} has none")
        self.name = name
        self.domain = domain
        self.parents = MappingProxyType(families)
        self._order = ordered(domain, families)
        self.tables = MappingProxyType({a: checked_table(domain, a, families[a], tables[a]) for a in domain})
        errors = {a: row_error(table.values) for a, table in self.tables.items()}
        self._inexact = tuple(a for a, error in errors.items() if error > EXACT)
        self.notes = tuple(
            f"{a!r}: rows sum to 1 within {errors[a]:.1e}, not exactly; answers divide each by its sum"
            for a in self._inexact
        )

    @cached_property
    def _distributions(self) -> Mapping[str, Factor]:
        """The tables that answers come from: rows that do not sum to 1 exactly are divided by their sums."""
        return {**self.tables, **{a: normalised(self.tables[a]) for a in self._inexact}}

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        made = partial(type(self), name=self.name)
        return made, (self.domain, dict(self.parents), {a: table.values for a, table in self.tables.items()})

    @classmethod
    def read_bif(
        cls: type[_T], path: str | os.PathLike[str], *, encoding: str = "utf-8", unseen: Unseen = "refuse"
    ) -> _T:
        r"""Read a network in the interchange format BIF.

        Numbers are read to the last bit. Rows may come in any order, as each names the values of the parents; omitted
        rows take the ``default``, or the noisy maximum if ``property function max`` is given; in a ``table`` the
        attribute's own value varies slowest. Properties and comments are skipped.

        Parameters
        ----------
        path : str or path-like
            A ``.bif`` file, plain or compressed with gzip.
        encoding : str, default "utf-8"
            Python's name of the encoding, such as "latin-1".
        unseen : {"refuse", "uniform"}
            Whether a row of NaN, as R's bnlearn writes one for values that no record had, is an error, or uniform, with
            a note.

        Raises
        ------
        OSError
            If the file cannot be read.
        ValueError
            If the text is not a whole network; the message names the line, the text needed and the text found.

        References
        ----------
        F. G. Cozman, The interchange format for Bayesian networks, version 0.15.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from pypgm.bayes import BayesianNetwork
        >>> path = pathlib.Path(tempfile.mkdtemp(), "rain.bif")
        >>> _ = path.write_text("variable rain { type discrete[2] { no, yes }; } probability (rain) { table 0.8 0.2; }")
        >>> BayesianNetwork.read_bif(path).marginals()["rain"].values
        array([0.8, 0.2])
        """
        description = parse_bif(read_text(path, encoding), os.fspath(path), unseen)
        try:
            net = cls(Domain(description.labels), description.parents, description.tables, name=description.name)
        except NetworkError as error:
            message = f"{os.fspath(path)}, line {description.lines[error.attribute]}: {error}"
            raise NetworkError(error.attribute, message) from None
        net.notes = (*description.notes, *net.notes)
        return net

    @classmethod
    def read_xmlbif(cls: type[_T], path: str | os.PathLike[str], *, encoding: str = "utf-8") -> _T:
        """Read a network in the format XMLBIF, version 0.3; numbers are read to the last bit.

        Raises
        ------
        OSError
            If the file cannot be read.
        ValueError
            If the text is not a whole network.
        """
        description = parse_xmlbif(read_text(path, encoding), os.fspath(path))
        return cls(description.labels, description.parents, description.tables, name=description.name)

    def write_xmlbif(self, path: str | os.PathLike[str]) -> None:
        """Write the network in the format XMLBIF, version 0.3; `read_xmlbif` reads it back to the last bit.

        Labels are written as text; attributes without labels get their codes as labels.

        Raises
        ------
        OSError
            If the file cannot be written.
        ValueError
            If two labels of an attribute read the same as text.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from pypgm.bayes import BayesianNetwork
        >>> net = BayesianNetwork({"rain": ["no", "yes"]}, [], {"rain": [0.8, 0.2]})
        >>> path = pathlib.Path(tempfile.mkdtemp(), "rain.xml")
        >>> net.write_xmlbif(path)
        >>> BayesianNetwork.read_xmlbif(path) == net
        True
        """
        with replacing_text(path) as file:
            file.writelines(format_xmlbif(self.name, self._texts(), self.tables))

    def _texts(self) -> dict[str, list[str]]:
        """Return the labels of each attribute as text; its codes if it has none."""
        return {a: label_texts(self.domain, a) or list(map(str, range(self.domain.size(a)))) for a in self.domain}

    def write_bif(self, path: str | os.PathLike[str]) -> None:
        """Write the network in the interchange format BIF; `read_bif` reads the same network back, to the last bit.

        Labels are written as text; attributes without labels get their codes as labels.

        Parameters
        ----------
        path : str or path-like
            A name that ends in ``.gz`` compresses the file. It appears whole or not at all.

        Raises
        ------
        OSError
            If the file cannot be written.
        ValueError
            If a name or label holds a double quote or a line break, or two labels read the same as text.
        """
        values = {a: table.values for a, table in self.tables.items()}
        with replacing_text(path) as file:
            for block in format_bif(self.name, self._texts(), self.parents, values):
                file.write(block)

    @classmethod
    def from_networkx(
        cls: type[_T], graph: networkx.DiGraph[str], tables: Mapping[str, Any], *, name: str = "unknown"
    ) -> _T:
        """Return the network of a graph such as `to_networkx` makes: nodes have their ``size``, or ``labels``.

        Raises
        ------
        ValueError
            If a node has neither, or the graph and the tables do not form a network.

        Examples
        --------
        >>> from pypgm.bayes import BayesianNetwork
        >>> net = BayesianNetwork({"a": 2, "b": ["x", "y"]}, [("a", "b")], {"a": [0.5, 0.5], "b": [[1, 0], [0, 1]]})
        >>> BayesianNetwork.from_networkx(net.to_networkx(), net.tables) == net
        True
        """
        nodes: dict[str, Any] = {
            a: attributes.get("labels", attributes.get("size")) for a, attributes in graph.nodes(data=True)
        }
        for a, values in nodes.items():
            if values is None:
                raise NetworkError(a, f"node {a!r} of the graph needs a size, or labels")
        return cls(nodes, graph, tables, name=name)

    @cached_property
    def children(self) -> Mapping[str, Clique]:
        """The children of each attribute, in the order of the domain."""
        return MappingProxyType({a: tuple(c for c in self.domain if a in self.parents[c]) for a in self.domain})

    def markov_blanket(self, attribute: str) -> Clique:
        """Return the attributes that, once known, make one attribute independent of all others, in domain order.

        Examples
        --------
        >>> from pypgm.bayes import BayesianNetwork
        >>> half = [0.5, 0.5]
        >>> tables = {"a": half, "b": half, "c": [[half, half], [half, half]]}
        >>> net = BayesianNetwork({"a": 2, "b": 2, "c": 2}, [("a", "c"), ("b", "c")], tables)
        >>> net.markov_blanket("a"), net.children["a"], net.is_d_separated("a", "b"), net.is_d_separated("a", "b", "c")
        (('b', 'c'), ('c',), True, False)
        """
        self.domain.index(attribute)
        children = self.children[attribute]
        near = {*self.parents[attribute], *children, *(p for c in children for p in self.parents[c])}
        return self.domain.canonical(near - {attribute})

    def is_d_separated(
        self, one: str | Iterable[str], other: str | Iterable[str], given: str | Iterable[str] = ()
    ) -> bool:
        """Return whether the graph alone makes some attributes independent of others, given a third set.

        Raises
        ------
        ValueError
            If an attribute is unknown, or in two of the sets.
        """
        here, there, known = map(as_clique, (one, other, given))
        self.domain.indices((*here, *there, *known))
        return separated(self.parents, here, there, known)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConditionalTables):
            return NotImplemented
        if self.domain != other.domain or any(
            set(parents) != set(other.parents[a]) for a, parents in self.parents.items()
        ):
            return False
        pairs = ((t.values, other.tables[a].transpose(t.domain.attributes).values) for a, t in self.tables.items())
        return all(np.array_equal(mine, theirs) for mine, theirs in pairs)

    def __hash__(self) -> int:
        return hash((self.domain, frozenset((a, frozenset(parents)) for a, parents in self.parents.items())))

    def to_networkx(self) -> networkx.DiGraph[str]:
        """Return the directed graph: arcs run from parents to children, nodes have their ``size``, and ``labels``."""
        import networkx

        graph: networkx.DiGraph[str] = networkx.DiGraph()
        graph.add_nodes_from(
            (a, {"size": n, **({"labels": labels} if (labels := self.domain.labels.get(a)) else {})})
            for a, n in zip(self.domain.attributes, self.domain.shape, strict=True)
        )
        graph.add_edges_from((p, child) for child, parents in self.parents.items() for p in parents)
        return graph

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the graph from the top down.

        Raises
        ------
        ImportError
            If matplotlib, the extra ``plot``, is not installed.
        """
        from pypgm.bayes.pictures import arcs_of
        from pypgm.graphs.pictures import draw_graph

        return draw_graph(list(self.domain), arcs_of(self.domain, self.parents), ax)

    def __repr__(self) -> str:
        arcs = sum(map(len, self.parents.values()))
        cells = sum(table.domain.size() for table in self.tables.values())
        return (
            f"{type(self).__name__}({self.name!r}: {len(self.domain)} attributes, {arcs} arcs, {cells} probabilities)"
        )
