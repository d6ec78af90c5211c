"""Attributes that are functions of others: inference goes on without them, answers speak of them all the same."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pypgm.domain import Clique, Domain, as_clique
from pypgm.graphs.evidence import Evidence, log_likelihoods
from pypgm.inference.calibrated import Ask, Calibrated
from pypgm.memory import check_fits, short
from pypgm.queries import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.clock import Clock

__all__ = ["FoldedCalibrated", "Folding"]


class Folding:
    """Coarse attributes of a domain, each a function of a fine one.

    Inference runs on the fine attributes alone, so that a function costs as much as it has values. A cell of a clique
    over the fine attributes lies in one cell of a clique that names coarse ones.

    Parameters
    ----------
    domain : Domain
        All attributes.
    sources : mapping of str to (str, ndarray of int64)
        For each coarse attribute the fine one it follows from, which is none of the coarse, and the coarse code of
        each fine code.
    """

    def __init__(self, domain: Domain, sources: Mapping[str, tuple[str, NDArray[np.int64]]]) -> None:
        self.domain = domain
        self.sources = dict(sources)

    @cached_property
    def inner(self) -> Domain:
        """The attributes that inference runs on."""
        return self.domain.project([a for a in self.domain if a not in self.sources])

    def source(self, attribute: str) -> tuple[str, NDArray[np.int64] | None]:
        """Return the inner attribute one follows from, and its code for each of that one's; None: itself."""
        self.domain.index(attribute)
        return self.sources.get(attribute, (attribute, None))

    def clique(self, clique: str | Iterable[str]) -> Clique:
        """Return the inner attributes that a clique follows from, in the domain's order."""
        return self.inner.canonical({self.source(a)[0] for a in as_clique(clique)})

    def cells(self, clique: str | Iterable[str]) -> NDArray[np.int64]:
        """Return for each cell over the inner attributes the cell of a clique, as it is written, that holds it."""
        written = as_clique(clique)
        self.domain.indices(written)
        own = self.clique(written)
        shape = self.inner.sizes(own)
        check_fits(16 * math.prod(shape), None, f"the table over {own} needs {short(math.prod(shape))} cells")
        cells = np.zeros(shape, dtype=np.int64)
        for attribute in written:
            name, codes = self.source(attribute)
            along = np.arange(self.inner.size(name)) if codes is None else codes
            cells *= self.domain.size(attribute)
            cells += along.reshape([-1 if a == name else 1 for a in own])
        return cells.reshape(-1)

    def evidence(self, evidence: Evidence | None) -> dict[str, NDArray[np.float64]]:
        """Return the likelihoods that evidence gives the values of inner attributes."""
        likelihoods: dict[str, NDArray[np.float64]] = {}
        for index, log_likelihood in log_likelihoods(self.domain, evidence):
            name, codes = self.source(self.domain.attributes[index])
            own = np.exp(log_likelihood if codes is None else log_likelihood[codes])
            likelihoods[name] = likelihoods[name] * own if name in likelihoods else own
        return likelihoods

    def records(self, columns: Mapping[str, NDArray[np.signedinteger]]) -> dict[str, NDArray[np.signedinteger]]:
        """Return columns of codes of all attributes, given those of the inner ones."""
        found = {}
        for attribute in self.domain:
            name, codes = self.source(attribute)
            column = columns[name]
            if codes is not None:
                column = codes.astype(np.min_scalar_type(-self.domain.size(attribute)))[column]
            found[attribute] = column
        return found

    def as_lists(self) -> dict[str, list[Any]]:
        """Return for each coarse attribute its fine one and the codes, as plain lists."""
        return {coarse: [fine, codes.tolist()] for coarse, (fine, codes) in self.sources.items()}

    @classmethod
    def from_lists(cls, domain: Domain, lists: Mapping[str, list[Any]]) -> Folding | None:
        """Undo `as_lists`; None if there are none.

        Raises
        ------
        ValueError
            If the codes do not fit the domain.
        """
        sources = {}
        for coarse, (fine, codes) in lists.items():
            own = np.asarray(codes, dtype=np.int64)
            fits = own.shape == domain.sizes((fine,)) and own.min() >= 0 and own.max() < domain.size(coarse)
            if not fits or fine in lists:
                raise ValueError(f"attribute {coarse!r} is no function of {fine!r}")
            sources[coarse] = (fine, own)
        return cls(domain, sources) if sources else None


class FoldedCalibrated(Calibrated):
    """Answers about coarse attributes from a calibrated tree over fine ones.

    Parameters
    ----------
    inner : Calibrated
        Over the folding's inner attributes.
    folding : Folding
    """

    def __init__(self, inner: Calibrated, folding: Folding) -> None:
        self.domain = folding.domain
        self._inner = inner
        self._folding = folding

    def run(
        self,
        asks: Sequence[Ask],
        owners: Sequence[int],
        blocks: Sequence[NDArray[np.float64]],
        *,
        max_bytes: float | None = None,
        n_threads: int = 0,
        clock: Clock | None = None,
    ) -> list[NDArray[np.float64]]:
        """Return the flat answers to products of blocks, in counts; see `Calibrated`."""
        del owners  # follow from the asks
        inner = self._folding.inner
        plans = [self._axes(ask) for ask in asks]
        # A block alone on its inner attribute is applied in the tree, the others to what the tree returns.
        early = dict.fromkeys(p[0] for axes in plans for p in axes.values() if len(p) == 1 and p[0][1] >= 0)
        numbers = {pair: i for i, pair in enumerate(early)}
        inner_asks: list[Ask] = [
            (
                tuple(inner.index(name) for name in axes),
                tuple(numbers.get(p[0], -1) if len(p) == 1 else -1 for p in axes.values()),
            )
            for axes in plans
        ]
        inner_blocks = [blocks[b][:, self._source(a)[1]] for a, b in early]
        inner_owners = [inner.index(self._source(a)[0]) for a, _ in early]
        tables = self._inner.run(
            inner_asks, inner_owners, inner_blocks, max_bytes=max_bytes, n_threads=n_threads, clock=clock
        )
        return [
            self._unfolded(ask, axes, applied, table, blocks)
            for ask, axes, (_, applied), table in zip(asks, plans, inner_asks, tables, strict=True)
        ]

    def _source(self, attribute: int) -> tuple[str, NDArray[np.int64]]:
        """Return the inner attribute that one follows from, and its code for each of that one's."""
        name, codes = self._folding.source(self.domain.attributes[attribute])
        return name, np.arange(self._folding.inner.size(name)) if codes is None else codes

    def _axes(self, ask: Ask) -> dict[str, list[tuple[int, int]]]:
        """Return the (attribute, block) pairs asked for, by the inner attribute each follows from."""
        axes: dict[str, list[tuple[int, int]]] = {}
        for attribute, block in zip(*ask, strict=True):
            axes.setdefault(self._source(attribute)[0], []).append((attribute, block))
        return axes

    def _unfolded(
        self,
        ask: Ask,
        axes: Mapping[str, list[tuple[int, int]]],
        applied: Sequence[int],
        table: NDArray[np.float64],
        blocks: Sequence[NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """Turn an answer over inner attributes, an axis each, into one with an axis for each pair asked for."""
        inner = zip(axes.items(), applied, strict=True)
        cells = table.reshape([len(blocks[p[0][1]]) if b >= 0 else self._folding.inner.size(n) for (n, p), b in inner])
        shape: list[int] = []
        for axis, (parts, block) in enumerate(zip(axes.values(), applied, strict=True)):
            rows = [self.domain.shape[a] if b < 0 else len(blocks[b]) for a, b in parts]
            cells = cells if block >= 0 else self._along(axis, parts, rows, cells, blocks)
            shape += rows
        order = [attribute for parts in axes.values() for attribute, _ in parts]
        return np.ascontiguousarray(cells.reshape(shape).transpose([order.index(a) for a in ask[0]])).reshape(-1)

    def _along(
        self,
        axis: int,
        parts: Sequence[tuple[int, int]],
        rows: Sequence[int],
        cells: NDArray[np.float64],
        blocks: Sequence[NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """Replace an axis, an inner attribute's values, by the product of the pairs asked for."""
        codes = [self._source(a)[1] for a, _ in parts]
        if all(block < 0 for _, block in parts):
            return Partition(np.ravel_multi_index(codes, rows), math.prod(rows)).apply(cells, axis)
        from scipy.linalg import khatri_rao

        # Blocks on attributes of one source multiply value by value.
        factors = [
            blocks[block][:, own] if block >= 0 else (np.arange(n)[:, None] == own).astype(np.float64)
            for own, (_, block), n in zip(codes, parts, rows, strict=True)
        ]
        product = functools.reduce(khatri_rao, factors)
        return np.moveaxis(np.tensordot(product, cells, (1, axis)), 0, axis)
