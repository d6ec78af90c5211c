"""A graphical model: answers to any query, synthetic records, a file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm._base.clock import Clock
from pypgm.clique_vector import CliqueVector, read_only
from pypgm.domain import Clique, check_kind
from pypgm.estimation.constraint import Masks
from pypgm.estimation.fit import Fit
from pypgm.estimation.methods import METHODS
from pypgm.factor import Factor
from pypgm.graphs.evidence import Evidence
from pypgm.graphs.junction_tree import JunctionTree
from pypgm.inference._variable_elimination import variable_elimination
from pypgm.inference.calibrated import Calibrated
from pypgm.inference.folding import Folding
from pypgm.inference.kronecker import answer_queries
from pypgm.models.estimated_model import EstimatedModel
from pypgm.models.marginal import Method
from pypgm.models.model import Model
from pypgm.models.recipe import Recipe
from pypgm.models.request import Request
from pypgm.models.tree_estimate import tree_problem
from pypgm.queries import KroneckerQuery

_ALL_AT_ONCE = 1 << 17
"""Cells of trees, in which one attribute given evidence takes longer to plan than all attributes take to compute."""


class GraphicalModel(Model[Factor]):
    r"""The distribution :math:`p(x) \propto \exp \sum_C \theta_C(x_C)` over a domain, times a number of records.

    Parameters
    ----------
    potentials : CliqueVector
        Natural logs :math:`\theta_C`; -inf is a structural zero.
    total : float
        Number of records; all marginals sum to it. 0 is allowed: probabilities are then those of the potentials.
    marginals : CliqueVector, optional
        Marginals over the cliques of the potentials, counts, if they are known already.
    fit : Fit, optional
        End of the estimate.
    tree : JunctionTree, optional
        Junction tree of the cliques of the potentials, if there is one already.
    folding : Folding, optional
        Attributes that are functions of those of the potentials, and can be asked for like them.
    masks : sequence of (clique, ndarray of bool), optional
        Structural zeros that the potentials hold: cliques, and whether each cell may hold records.
    recipe : Recipe, optional
        The measurements it was estimated from, and how.

    Attributes
    ----------
    domain : Domain
        All attributes.
    cliques : tuple of tuple of str
        The cliques that have a potential.
    not_private : str
        Why the model protects nobody, if it was made from a release that does not; kept in its file.

    Examples
    --------
    >>> import pypgm
    >>> domain = pypgm.Domain({"a": 2, "sex": ["F", "M"]})
    >>> model = GraphicalModel(pypgm.CliqueVector(domain, [("a", "sex")], [0.0, 1.0, 1.0, 0.0]), total=100.0)
    >>> model.query("a", {"sex": "F"}).values.round(4)
    array([0.2689, 0.7311])
    """

    is_exact = True

    def __init__(
        self,
        potentials: CliqueVector,
        total: float = 1.0,
        *,
        marginals: CliqueVector | None = None,
        fit: Fit | None = None,
        tree: JunctionTree | None = None,
        folding: Folding | None = None,
        masks: Masks = (),
        recipe: Recipe | None = None,
    ) -> None:
        check_kind("potentials", potentials, CliqueVector, "pypgm.CliqueVector(domain, cliques, values)")
        super().__init__(potentials.domain, total, fit=fit, folding=folding, masks=masks, recipe=recipe)
        self.potentials = read_only(potentials)
        self.cliques = potentials.cliques
        self.tree = JunctionTree.of(potentials) if tree is None else tree
        self._mass = self.total or 1.0  # of tables that answers come from
        tables = self.tree.marginals(potentials, self._mass) if marginals is None else marginals
        self.marginals = read_only(tables if self.total else tables * 0.0)

    @property
    def _log_weights(self) -> CliqueVector:
        return self.potentials

    @property
    def _joint(self) -> tuple[JunctionTree, CliqueVector]:
        return self.tree, self.potentials

    @cached_property
    def _calibrated(self) -> Calibrated:
        tree, potentials, mass = self.tree, self.potentials, self._mass

        # Not of the model, which would hold itself, and its tables, until garbage is collected.
        def tables(clock: Clock) -> list[Factor]:
            return tree.tables(potentials, mass, n_threads=clock.n_threads, clock=clock)

        return Calibrated(tree, tables, mass, self.marginals if self.total else None)

    def _given(self, evidence: Evidence | None, clock: Clock) -> Calibrated:
        """Return the calibrated tree, with the evidence if there is some."""
        if not evidence:
            return self._calibrated
        # At once: evidence of probability zero is refused, whatever is asked.
        known = self.folding.evidence(evidence)
        tables = self.tree.tables(self.potentials, self._mass, known, n_threads=clock.n_threads, clock=clock)
        return Calibrated.of(self.tree, tables, self._mass)

    def _projected(
        self, cliques: list[Clique], evidence: Evidence | None, method: Method | None, clock: Clock
    ) -> list[Factor]:
        if method not in {None, "exact"}:
            raise ValueError(f"method must be 'exact', got {method!r}: a region-graph model has other ones")
        inner = [self.folding.clique(c) for c in cliques] if self.folding.sources else cliques
        if evidence and len(cliques) == 1:
            known = self.folding.evidence(evidence)
            if len(inner[0]) == 1 and self.tree.cost.cells <= _ALL_AT_ONCE:
                answer = self._single(inner[0], evidence, known, clock)
            else:
                order = self.tree.order
                answer = variable_elimination(self.potentials, inner[0], self._mass, known, order=order, clock=clock)
            return [self.folding.unfolded(answer, cliques[0])]
        tables = self._given(evidence, clock).project_many(inner, clock)
        return [self.folding.unfolded(table, clique) for table, clique in zip(tables, cliques, strict=True)]

    def _single(self, clique: Clique, evidence: Evidence, known: Evidence, clock: Clock) -> Factor:
        """Return the marginal of one attribute, and keep the marginals of the others for later."""
        tree, potentials, mass = self.tree, self.potentials, self._mass
        marginals = self._last.recalled(
            "marginals", evidence, lambda: tree.attribute_marginals(potentials, mass, known, n_threads=clock.n_threads)
        )
        return Factor.over(tree.domain.project(clique), marginals[clique[0]].copy())

    def _answers(
        self, queries: Sequence[KroneckerQuery], evidence: Evidence | None, clock: Clock
    ) -> list[NDArray[np.float64]]:
        return answer_queries(self._given(evidence, clock), self.folding, queries, clock)

    def _drawn_from(
        self, rows: int, evidence: Evidence | None, clock: Clock
    ) -> tuple[JunctionTree, Sequence[Factor], Sequence[Clique]]:
        clock = Clock(n_threads=clock.n_threads)  # its time ends the refinement: without tables there are no records
        tables = self._given(evidence, clock).tables(clock)
        return self.tree, tables, self.cliques if self._is_sparse(rows) else ()

    def estimated_again(
        self, request: Request, *, is_prior: bool = False, like: EstimatedModel | None = None
    ) -> Model[Any]:
        """Return the model of another request, on the same junction tree; a prior of it on one of its own."""
        return solved_on_tree(request, prior_tree(like) if is_prior else self.tree)[0]

    def _is_sparse(self, rows: int) -> bool:
        """Return whether records are rarer than the cells of a clique that joins others: rounding it is all noise."""
        joined = {node.clique for node in self.tree.nodes} - set(self.cliques)
        return any(self.tree.domain.size(clique) > rows for clique in joined)


def prior_tree(like: EstimatedModel | None) -> JunctionTree | None:
    """Return the junction tree of an earlier prior, if there is one."""
    return like.tree if isinstance(like, GraphicalModel) else None


def solved_on_tree(request: Request, tree: JunctionTree | None = None) -> tuple[GraphicalModel, CliqueVector]:
    """Return the model that minimises the loss of a request on a junction tree, and where the search started."""
    problem = tree_problem(request, tree)
    potentials, marginals, fit, validated = METHODS[request.method].solve(problem, request.options)
    model = GraphicalModel(
        potentials,
        request.total,
        marginals=marginals,
        fit=fit,
        tree=problem.tree,
        folding=request.folding,
        masks=request.masks,
    )
    model.validated = validated
    return model, problem.start
