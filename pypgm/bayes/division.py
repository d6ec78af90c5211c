"""Parts of a network that together hold every attribute, where they take less than the junction tree of the whole."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

import numpy as np

from pypgm.bayes.conditional_tables import relevant
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.errors import ModelTooLargeError
from pypgm.graphs import JunctionTree
from pypgm.inference.oracles import Answers

_BYTES_PLANNED = 40_000  # of a tree that is passed in the time in which an attribute is planned: 15 us


def divided(whole: Answers, parents: Mapping[str, Clique], known: Collection[str]) -> list[Answers]:
    """Return answers in which every attribute is, given what is known: of the whole, or of parts that take less.

    Without evidence on their descendants, attributes depend on their ancestors alone, while the junction tree of the
    whole joins the parents of each attribute. A part is that of some attributes without children, of their ancestors
    and of those of what is known. It may be halved for as long as to plan all smaller parts takes less than to pass
    its tree once.

    Parameters
    ----------
    whole : Answers
        Of the natural logs of the tables, whose rows sum to 1, one for each attribute in the order of the domain.
    parents : mapping of str to tuple of str
    known : collection of str
        Attributes with evidence.

    Examples
    --------
    >>> parents = {"a": (), "b": (), **{f"c{i}": ("a", "b") for i in range(3)}}
    >>> domain = Domain(dict.fromkeys(parents, 2))
    >>> potentials = CliqueVector(domain, [(*parents[a], a) for a in domain], np.zeros(28))
    >>> len(divided(Answers(potentials), parents, ()))
    1
    """
    return _Division(whole, parents, frozenset(known)).answers()


class _Division:
    def __init__(self, whole: Answers, parents: Mapping[str, Clique], known: frozenset[str]) -> None:
        self.whole, self.domain, self.parents, self.known = whole, whole.domain, parents, known

    def answers(self) -> list[Answers]:
        tree = self.whole.tree if self.whole.fits else None
        always = relevant(self.known, self.parents)
        with_children = {p for parents in self.parents.values() for p in parents}
        last = [a for a in self.domain if a not in with_children and a not in always]
        trees = []
        if self._is_plannable(len(self.domain), tree, last):
            # Every part has what is known and its ancestors.
            repeated = len(last) * self._bytes(self._tree(always)) if always else 0.0
            if repeated < self._bytes(tree):
                trees = self._halved(frozenset(self.domain), tree, last)
        return [Answers(self._potentials(t.domain), t) for t in trees] if len(trees) > 1 else [self.whole]

    def _halved(self, attributes: frozenset[str], tree: JunctionTree | None, last: Sequence[str]) -> list[JunctionTree]:
        """Return the trees of parts of a part, or its own if that takes no more; none where some part does not fit."""
        undivided = [] if tree is None else [tree]
        if not self._is_plannable(len(attributes), tree, last):
            return undivided
        middle = len(last) // 2
        halves: list[JunctionTree] = []
        for some in (last[:middle], last[middle:]):
            within = relevant((*some, *self.known), self.parents)
            trees = self._halved(within, self._tree(within), some)
            if not trees:
                return undivided
            halves += trees
        return halves if sum(map(self._bytes, halves)) < self._bytes(tree) else undivided

    def _tree(self, attributes: Collection[str]) -> JunctionTree | None:
        names = [a for a in self.domain if a in attributes]
        with suppress(ModelTooLargeError):
            return JunctionTree(self.domain.project(names), [(*self.parents[a], a) for a in names])
        return None

    def _potentials(self, domain: Domain) -> CliqueVector:
        whole, indices = self.whole.potentials, self.domain.indices(domain.attributes)
        cells = np.concatenate([whole.table(i) for i in indices])
        return CliqueVector(domain, [whole.cliques[i] for i in indices], cells)

    def _is_plannable(self, n_attributes: int, tree: JunctionTree | None, last: Sequence[str]) -> bool:
        """Return whether halving a part down to single attributes takes less than to pass its tree."""
        least = _BYTES_PLANNED * n_attributes * len(last).bit_length()
        return len(last) > 1 and (tree is None or tree.cost.bytes > least) and self._bytes(tree) > least

    def _bytes(self, tree: JunctionTree | None) -> float:
        """Return what a tree takes where values are known, as if all its tables shrank as those of its cliques do."""
        if tree is None:
            return math.inf
        if not self.known:
            return tree.cost.bytes
        known, shape = {i for i, a in enumerate(tree.domain) if a in self.known}, tree.domain.shape
        left = sum(math.prod([shape[i] for i in clique if i not in known]) for clique, *_ in tree.plan.nodes)
        return tree.cost.bytes * left / tree.cost.cells
