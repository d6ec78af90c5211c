"""Exact answers from the calibrated tables of a junction tree: marginals of any cliques, queries on any attributes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm._base.clock import Clock
from pypgm._base.memory import fits, memory_limit
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Domain, as_cliques, check_kind
from pypgm.factor import Factor
from pypgm.graphs.evidence import Evidence
from pypgm.graphs.junction_tree import JunctionTree
from pypgm.inference.contraction import answer_bytes, check_answers, check_contraction, run_contraction


def marginals(
    potentials: CliqueVector, total: float = 1.0, *, evidence: Evidence | None = None, n_threads: int = 0
) -> CliqueVector:
    r"""Compute the marginals of :math:`p(x) \propto \exp \sum_C \theta_C(x_C)` over the cliques of its potentials.

    Parameters
    ----------
    potentials : CliqueVector
        Natural logs :math:`\theta_C`; -inf is a structural zero. Tables over the same scope add up.
    total : float
        Sum of each marginal (counts; 1 for probabilities).
    evidence : mapping, optional
        Attribute to label, code, list of them, or likelihood vector. Marginals keep their shape; cells against
        the evidence are 0.
    n_threads : int
        0 for all threads; the bits of the answer do not depend on it.

    Returns
    -------
    CliqueVector
        Marginals over the same cliques.

    Raises
    ------
    ImpossibleEvidenceError
        If no joint assignment keeps any weight.
    ModelTooLargeError
        If the junction tree does not fit the memory available.
    ValueError
        If potentials hold NaN or +inf, or `total` is not positive and finite.

    Examples
    --------
    >>> import pypgm
    >>> potentials = pypgm.CliqueVector(pypgm.Domain({"a": 2, "b": 2}), [("a", "b")], [0.0, 0.0, 0.0, 1.0])
    >>> pypgm.marginals(potentials).project("a").values.round(4)
    array([0.3498, 0.6502])
    """
    check_kind("potentials", potentials, CliqueVector, "pypgm.CliqueVector(domain, cliques, values)")
    tree = JunctionTree.of(potentials)
    return tree.marginals(potentials, total, evidence, n_threads=n_threads)


Ask = tuple[tuple[int, ...], tuple[int, ...]]
"""Attribute indices, and for each the position of its block, -1 for its values themselves."""

_NEGLIGIBLE = 1e-200  # of the total: below, a conditional would rest on what underflow left, and nothing depends on it
_FEWEST = 100  # pairs that no clique holds, from which on they are made by attribute, or all at once


@dataclass(eq=False)
class Calibrated:
    """The marginals of a junction tree's cliques, and all that follows from them.

    Parameters
    ----------
    tree : JunctionTree
        The tree.
    compute : callable
        Returns, within a clock, the marginals of its cliques, counts, in the order of its nodes; called once, when one
        is needed.
    total : float
        Sum of each of them.
    known : CliqueVector, optional
        More marginals that are at hand.
    """

    tree: JunctionTree
    compute: Callable[[Clock], Sequence[Factor]]
    total: float
    known: CliqueVector | None = None
    _tables: Sequence[Factor] | None = field(default=None, init=False)
    _inverses: dict[int, NDArray[np.float64]] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, tree: JunctionTree, tables: Sequence[Factor], total: float) -> Calibrated:
        """Return a tree whose tables are at hand."""
        return cls(tree, lambda _: tables, total)

    def __post_init__(self) -> None:
        self.domain: Domain = self.tree.domain

    def tables(self, clock: Clock) -> Sequence[Factor]:
        """Return the marginals of the tree's cliques."""
        if self._tables is None:
            self._tables = self.compute(clock)
        return self._tables

    @cached_property
    def _plans(self) -> _core.CalibratedTree:
        return _core.CalibratedTree(self.tree.plan, () if self.known is None else self.known.scopes)

    def project_many(
        self, cliques: Sequence[str | Iterable[str]], clock: Clock, *, max_bytes: float | None = None
    ) -> list[Factor]:
        """Return the marginals of any cliques, in counts, axes and cliques in the given order.

        Messages and marginals that several of them need are computed once. Where all together would take too much
        memory they are computed in parts.

        Raises
        ------
        ModelTooLargeError
            If the answers, or the tables one of them needs, do not fit.
        ValueError
            If an attribute is unknown or repeated.
        """
        wanted = list(map(self.domain.indices, as_cliques(cliques)))
        pairs = self._pairs(wanted, clock, max_bytes)
        rest = [c for c in wanted if c not in pairs]
        answers = iter(self.run([(c, (-1,) * len(c)) for c in rest], [], [], clock, max_bytes=max_bytes))
        return [Factor.over(self.domain.part(c), pairs[c] if c in pairs else next(answers)) for c in wanted]

    def _pairs(
        self, wanted: Sequence[tuple[int, ...]], clock: Clock, max_bytes: float | None
    ) -> dict[tuple[int, ...], NDArray[np.float64]]:
        """Return the tables of pairs that no clique holds, where many are asked for: all at once, or by attribute."""
        pairs = list({(min(c), max(c)): None for c in wanted if len(c) == 2})
        shape = self.domain.shape
        if len(pairs) < _FEWEST or len(set(wanted)) < len(wanted):  # each answer is a table of its own
            return {}
        apart = [p for p, held in zip(pairs, self._plans.held(pairs), strict=True) if not held]
        if len(apart) < _FEWEST:
            return {}
        limit = memory_limit(max_bytes) - check_answers([[shape[a] for a in c] for c in wanted], max_bytes)
        in_turn, cost = self._by_attribute(apart), self.tree.cost
        if self._plans.pair_operations <= self._plans.operations_in_turn(in_turn) and self._plans.pair_bytes <= limit:
            solve = self._plans.pairs
        elif 8 * cost.largest_cells + max(shape) * cost.bytes / 4 <= limit:  # a table and messages
            solve, apart = self._plans.pairs_in_turn, in_turn
        else:
            return {}

        def tick(done: int) -> bool:
            clock.check(lambda: f"{len(apart)} pairs, {done} cliques passed")
            return False

        tables = [table.datavector() for table in self.tables(clock)]
        answers = solve(tables, apart, _NEGLIGIBLE * self.total, tick if clock.is_watched else None)
        by_pair: dict[tuple[int, ...], NDArray[np.float64]] = dict(zip(apart, answers, strict=True))
        turned = [c for c in wanted if c[::-1] in by_pair]
        return by_pair | {c: by_pair[c[::-1]].reshape([shape[a] for a in c[::-1]]).T.flatten() for c in turned}

    def _by_attribute(self, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Put first the attribute of each pair that has fewer values than its partners, in groups."""
        shape, worth = self.domain.shape, dict.fromkeys(itertools.chain.from_iterable(pairs), 0.0)
        for a, b in pairs:
            worth[a] += shape[b] / shape[a]
            worth[b] += shape[a] / shape[b]
        return sorted((a, b) if worth[a] >= worth[b] else (b, a) for a, b in pairs)

    def run(
        self,
        asks: Sequence[Ask],
        owners: Sequence[int],
        blocks: Sequence[NDArray[np.float64]],
        clock: Clock,
        *,
        max_bytes: float | None = None,
    ) -> list[NDArray[np.float64]]:
        """Return the flat answers to products of blocks, in counts.

        Parameters
        ----------
        asks : sequence of Ask
            Questions.
        owners : sequence of int
            The attribute of each block.
        blocks : sequence of ndarray, shape (rows, values)
            Matrices, each applied to its attribute.
        clock : Clock
            Shows the run, and ends it with ``TimeoutError`` once its time is over.
        max_bytes : float, optional
            Memory it may take; half of the available memory by default.
        """
        shapes = [
            [self.domain.shape[a] if b < 0 else len(blocks[b]) for a, b in zip(*ask, strict=True)] for ask in asks
        ]
        returned = check_answers(shapes, max_bytes)
        if self._tables is None:
            returned += answer_bytes([self.domain.sizes(node.clique) for node in self.tree.nodes])
        rows = [(a, len(block)) for a, block in zip(owners, blocks, strict=True)]
        answers: list[NDArray[np.float64]] = []
        parts = [list(asks)]
        while parts:
            part = parts.pop()
            plan = self._plans.plan(rows, part)
            if len(part) > 1 and not fits(plan.cost["bytes"] + returned, max_bytes):
                parts += [part[len(part) // 2 :], part[: len(part) // 2]]
                continue
            check_contraction(self.domain, plan, returned, max_bytes)
            tables = [self._leaf(kind, index, blocks, clock) for kind, index in plan.sources]
            answers += run_contraction(plan, tables, clock)
        return answers

    def _leaf(self, kind: str, index: int, blocks: Sequence[NDArray[np.float64]], clock: Clock) -> NDArray[np.float64]:
        if kind == "block":
            return np.ascontiguousarray(blocks[index]).reshape(-1)
        if kind == "known" and self.known is not None:
            return self.known.table(index)
        if kind == "clique":
            return self.tables(clock)[index].datavector()
        if index not in self._inverses:
            separator = self.tables(clock)[index].project(self.tree.nodes[index].separator).datavector()
            counts = separator > _NEGLIGIBLE * self.total
            self._inverses[index] = np.divide(1.0, separator, out=np.zeros(separator.size), where=counts)
        return self._inverses[index]
