"""Attributes that are functions of others: inference goes on without them, answers speak of them all the same."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm._base.memory import check_fits, short
from pypgm.domain import Clique, Domain, Label, as_clique
from pypgm.factor import Factor
from pypgm.graphs.evidence import Evidence, LogLikelihood, code_of, log_likelihoods
from pypgm.queries import Kronecker, KroneckerQuery, LinearQuery
from pypgm.queries.folded import folded


class Folding:
    """Coarse attributes of a domain, each a function of a fine one; most domains have none.

    Inference runs only on the fine attributes, so that a function costs as much as it has values. A cell of a clique
    over the fine attributes lies in one cell of a clique that names coarse ones.

    Parameters
    ----------
    domain : Domain
        All attributes.
    sources : mapping of str to (str, ndarray of int64)
        Fine attribute that each coarse attribute follows from, which must not itself be coarse, and the
        coarse code of each fine code; no coarse attributes by default.
    """

    def __init__(self, domain: Domain, sources: Mapping[str, tuple[str, NDArray[np.int64]]] | None = None) -> None:
        self.domain = domain
        self.sources = dict(sources or {})

    @cached_property
    def inner(self) -> Domain:
        """The attributes that inference runs on."""
        return self.domain.project([a for a in self.domain if a not in self.sources]) if self.sources else self.domain

    def source(self, attribute: str) -> tuple[str, NDArray[np.int64] | None]:
        """Return the inner attribute that one follows from, and the code for each inner code; None if it is inner."""
        self.domain.index(attribute)
        return self.sources.get(attribute, (attribute, None))

    def clique(self, clique: str | Iterable[str]) -> Clique:
        """Return the inner attributes that a clique follows from, in the domain's order."""
        written = self.domain.canonical(clique)
        return self.inner.canonical({self.source(a)[0] for a in written}) if self.sources else written

    def cells(self, clique: str | Iterable[str]) -> NDArray[np.int64]:
        """Return, for each cell over the inner attributes, the cell of the clique as written that contains it."""
        written = as_clique(clique)
        inner_clique = self.clique(written)
        shape = self.inner.sizes(inner_clique)
        check_fits(16 * math.prod(shape), None, f"the table over {inner_clique} needs {short(math.prod(shape))} cells")
        cells = np.zeros(shape, dtype=np.int64)
        for attribute in written:
            name, codes = self.source(attribute)
            along = np.arange(self.inner.size(name)) if codes is None else codes
            cells *= self.domain.size(attribute)
            cells += along.reshape([-1 if a == name else 1 for a in inner_clique])
        return cells.reshape(-1)

    def unfolded(self, table: Factor, clique: Clique) -> Factor:
        """Return a table over the inner attributes of a clique as one over the clique as it is written."""
        if self.sources.keys().isdisjoint(clique):
            return table if table.domain.attributes == clique else table.transpose(clique)
        size = self.domain.size(clique)
        check_fits(8 * size, None, f"the table over {clique} needs {short(size)} cells")
        sums = np.bincount(self.cells(clique), weights=table.datavector(), minlength=size)
        return Factor(self.domain.project(clique), sums)

    def query(self, query: KroneckerQuery) -> KroneckerQuery:
        """Return the query on inner attributes whose answer has, in some order, the cells of the requested answer."""
        if not self.sources:
            return query
        blocks: dict[str, LinearQuery] = {}
        for name, members in self._by_source(query).items():
            members_blocks = [query.blocks[a] for a in members]
            blocks[name] = members_blocks[0] if len(members) == 1 else Kronecker(members_blocks)
            if members != [name]:
                codes = [np.arange(self.inner.size(name)) if c is None else c for _, c in map(self.source, members)]
                cells = np.ravel_multi_index(codes, self.domain.sizes(members)).astype(np.int64)
                blocks[name] = folded(blocks[name], cells)
        return KroneckerQuery(blocks)

    def answer(self, query: KroneckerQuery, answer: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the answer of the query on inner attributes with an axis for each attribute of the requested one."""
        if not self.sources:
            return answer
        order = [a for members in self._by_source(query).values() for a in members]
        cells = answer.reshape([query.blocks[a].shape[0] for a in order])
        return np.asarray(cells.transpose([order.index(a) for a in query.blocks]), order="C")

    def _by_source(self, query: KroneckerQuery) -> dict[str, list[str]]:
        """Return the attributes of a query by the inner attribute each follows from."""
        by_source: dict[str, list[str]] = {}
        for attribute in query.blocks:
            by_source.setdefault(self.source(attribute)[0], []).append(attribute)
        return by_source

    def evidence(self, evidence: Evidence | None) -> Evidence:
        """Return the likelihoods that evidence gives the values of inner attributes."""
        logs: dict[str, NDArray[np.float64]] = {}
        for index, log_likelihood in log_likelihoods(self.domain, evidence):
            name, codes = self.source(self.domain.attributes[index])
            log_values = log_likelihood if codes is None else log_likelihood[codes]
            logs[name] = logs[name] + log_values if name in logs else log_values
        return {a: LogLikelihood(log_values) for a, log_values in logs.items()} if self.sources else evidence or {}

    def assignment(self, inner_values: Mapping[str, Label]) -> dict[str, Label]:
        """Return a value, label or code, of each attribute, given those of the inner ones."""
        values = {}
        for attribute in self.domain:
            name, codes = self.source(attribute)
            values[attribute] = inner_values[name]
            if codes is not None:
                code = int(codes[code_of(self.domain, name, inner_values[name])])
                labels = self.domain.labels.get(attribute)
                values[attribute] = code if labels is None else labels[code]
        return values

    def records(
        self, columns: Mapping[str, NDArray[np.signedinteger]], attributes: Iterable[str] | None = None
    ) -> dict[str, NDArray[np.signedinteger]]:
        """Return columns of codes of all attributes, or of some, given those of the inner ones they follow from."""
        records = {}
        for attribute in self.domain if attributes is None else attributes:
            name, codes = self.source(attribute)
            column = columns[name]
            if codes is not None:
                column = codes.astype(np.min_scalar_type(-self.domain.size(attribute)))[column]
            records[attribute] = column
        return records

    def as_lists(self) -> dict[str, list[Any]]:
        """Return the fine attribute and the codes of each coarse attribute, as plain lists."""
        return {coarse: [fine, codes.tolist()] for coarse, (fine, codes) in self.sources.items()}

    @classmethod
    def from_lists(cls, domain: Domain, lists: Mapping[str, list[Any]]) -> Folding:
        """Undo `as_lists`.

        Raises
        ------
        ValueError
            If the codes do not fit the domain.
        """
        sources = {}
        for coarse, given in lists.items():
            if [type(part) for part in given] != [str, list]:
                raise ValueError(f"attribute {coarse!r} needs the attribute that it is a function of, and its codes")
            fine, codes = given
            array = np.asarray(codes, dtype=np.int64)
            fits = array.shape == domain.sizes((fine,)) and array.min() >= 0 and array.max() < domain.size(coarse)
            if not fits or fine in lists:
                raise ValueError(f"attribute {coarse!r} is not a function of {fine!r}")
            sources[coarse] = (fine, array)
        return cls(domain, sources)
