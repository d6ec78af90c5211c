"""Model of pseudo-marginals over a region graph: answers beyond its regions, synthetic records, a file."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Annotated, Any, get_args

import numpy as np
from numpy.typing import NDArray

from pypgm._base.clock import Clock
from pypgm._base.constraints import Positive
from pypgm._base.memory import check_fits, check_tables_fit, short
from pypgm._base.signatures import checked
from pypgm.clique_vector import CliqueVector, read_only
from pypgm.domain import Clique, Domain, other_labels
from pypgm.errors import ImpossibleEvidenceError, ModelTooLargeError
from pypgm.estimation.accelerated import accelerated
from pypgm.estimation.constraint import Masks
from pypgm.estimation.fit import Fit, FitState
from pypgm.estimation.independence import independent_potentials
from pypgm.estimation.limits import SolverOptions
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.estimation.region_descent import region_descent
from pypgm.estimation.residual_losses import L2
from pypgm.estimation.tree_problem import TreeProblem
from pypgm.factor import Factor
from pypgm.graphs.evidence import Evidence, log_likelihoods
from pypgm.graphs.junction_tree import JunctionTree
from pypgm.graphs.region_graph import RegionGraph
from pypgm.inference.bounded_tree import BoundedTree, fit_proportionally, plan_bounded_tree
from pypgm.inference.calibrated import Calibrated
from pypgm.inference.folding import Folding
from pypgm.inference.kronecker import answer_queries
from pypgm.inference.out_of_model import (
    LocalAnswer,
    combined_answers,
    expanded_answers,
    local_answers,
    submodel_answers,
    violation_of,
)
from pypgm.inference.region_index import RegionIndex, maximal
from pypgm.models.estimated_again import requested_again
from pypgm.models.estimated_model import EstimatedModel
from pypgm.models.graphical_model import prior_tree, solved_on_tree
from pypgm.models.marginal import Method, RegionAnswer
from pypgm.models.model import Model
from pypgm.models.recipe import Recipe
from pypgm.models.region_estimate import RegionOracle, region_problem
from pypgm.models.request import Request
from pypgm.queries import KroneckerQuery

_NEAR_ENOUGH = 2e-3  # mean L1 distance of the constraints, for a total of 1, that fitting may leave: noise leaves more
_NOISE = 0.1  # of the noise that counts as many as a constraint's were measured with, which fitting may leave ...
_MOST_NOISE = 1e-2  # ... at most
_ITERATIONS = 200
_TOLERANCE = 1e-3


def bounded_tree(
    index: RegionIndex,
    measured: Iterable[Clique],
    *,
    max_cells: float,
    previous: BoundedTree | None = None,
    noise: float = 0.0,
    clock: Clock,
) -> BoundedTree:
    """Return a junction tree of at most about `max_cells` cells, fitted to the regions.

    Fitting is proportional; where the constraints are at odds with each other, by least squares.

    Parameters
    ----------
    index : RegionIndex
        The pseudo-marginals.
    measured : iterable of cliques
        The measured regions, in the order of measurement.
    max_cells : float
        Cells of the tree's cliques; a spanning forest of the measured pairs is kept whatever it needs.
    previous : BoundedTree, optional
        The tree of the model before the last measurement: its pairs are kept, pairs are ranked in the order of
        measurement, and the fit starts from it. Without one pairs are ranked by mutual information.
    noise : float
        Standard deviation of the counts that the regions were estimated from.
    clock : Clock
        Shows the fit, and ends it once its time is over.
    """
    kept = None if previous is None else previous.pairs
    plan = plan_bounded_tree(index, measured, max_cells=max_cells, kept=kept, clock=clock)
    cells = plan.targets.values.size / max(1, len(plan.targets.cliques))
    enough = min(_MOST_NOISE, _NOISE * noise * cells / index.total)
    tree, realisable = fit_proportionally(plan, previous, clock, enough=enough)
    if realisable or tree.distance <= _NEAR_ENOUGH or clock.over:
        return tree
    return _least_squares(tree, index, clock)


def _least_squares(tree: BoundedTree, index: RegionIndex, clock: Clock) -> BoundedTree:
    """Fit the targets, in counts of equal variance, with the exact estimator: some steps from independence.

    The optimum would fit the noise best: at the boundary, with possible cells ruled out.
    """
    domain, total = index.domain, index.total
    stddev = float(np.sqrt(total))
    goals = [LinearMeasurement(total * tree.targets.table(i), c, stddev) for i, c in enumerate(tree.targets.cliques)]
    start = independent_potentials(domain, tree.targets.cliques, goals, total)
    ruled_out = CliqueVector(domain, start.cliques, np.where(tree.targets.values == 0, -np.inf, start.values))
    if tree.tree.log_partition(ruled_out) > -np.inf:
        start = ruled_out

    def watch(state: FitState) -> bool:
        return clock.tick(lambda: f"{state.iteration} iterations of the junction tree, loss {state.loss:.3g}")

    options = SolverOptions(
        iterations=_ITERATIONS, tolerance=_TOLERANCE, callback=watch, n_threads=clock.n_threads, keeps=False
    )
    problem = TreeProblem(tree=tree.tree, loss=L2(goals), total=total, start=start)
    potentials, marginals, *_ = accelerated(problem, options)
    tables = tree.tree.tables(potentials, 1.0, n_threads=clock.n_threads)
    distance = np.abs(marginals.values / total - tree.targets.values).sum() / max(1, len(goals))
    return replace(tree, potentials=potentials, tables=tables, distance=float(distance))


def kikuchi_potentials(graph: RegionGraph, marginals: CliqueVector, total: float) -> CliqueVector:
    r"""Return the natural logs of :math:`\prod_r \tau_r^{c_r}`, :math:`c_r` the Bethe counting numbers.

    It is the one set of joint weights whose generalised belief propagation has these marginals for a fixed point; on
    the regions of a junction tree it is the distribution itself. Where a larger region rules a cell out, a smaller one
    of negative number need not say so too.
    """
    logs = (marginals / total).log()
    for i, number in enumerate(graph.counting_numbers("bethe")):
        cells = logs.table(i)
        held = cells > -np.inf
        cells[held] *= number
        if number <= 0:
            cells[~held] = 0.0
    return logs


_METHODS = get_args(Method)[1:]
_LEAST_LOG = -1e3  # below that of any positive double
_HOLDERS = 16  # regions whose tables are compared with an answer from one of them
_ANSWER_BYTES = 48  # for each cell of a table that is solved for
_KEPT_BYTES = 24  # for each cell of all tables asked for at a time
_AGAIN_CELLS = (
    2e5  # of the junction tree of one estimated again: errors of its answers are within 2 % of a larger one's
)
_SUM = 1e-3  # of the total, by which the sum of a region's table may differ from it


class RegionGraphModel(Model[RegionAnswer]):
    r"""Pseudo-marginals :math:`\tau_r` over the regions of a graph, which agree where regions meet.

    No joint distribution need have them. A clique that a region holds is answered by that region; any other by one of
    five methods, by default the second where regions hold each pair of the clique's attributes, else the first:

    - ``"combined"``: a junction tree within a budget of cells is fitted to the pseudo-marginals, and its
      answer is corrected, as little as possible in relative entropy, to violate the regions' marginals of parts of the
      clique least. If the tree holds all regions this is the exact graphical model.
    - ``"local"``: the same correction of a uniform table; it sees only regions that share attributes with the clique.
    - ``"submodel"``: the table of largest entropy over the clique and the attributes that tie it together.
    - ``"expanded"``: one run of convex belief propagation on the graph with the clique added.
    - ``"oversaturated"``: the estimate done again with the clique among the regions; the most consistent, the slowest.

    Parameters
    ----------
    graph : RegionGraph
        The regions; ``graph.cliques`` are the measured ones, in the order of measurement.
    marginals : CliqueVector
        A table for each of ``graph.regions``, counts.
    total : float
        Number of records; all tables sum to it.
    potentials : CliqueVector, optional
        Natural logs over the regions; those of :math:`\theta_r = \log \tau_r` by default.
    fit : Fit, optional
        End of the estimate.
    folding : Folding, optional
        Attributes that are functions of those of the graph, and can be asked for like them.
    masks : sequence of (clique, ndarray of bool), optional
        Structural zeros: cliques, and whether each cell may hold records.
    recipe : Recipe, optional
        The measurements it was estimated from, and how; ``"oversaturated"`` needs them.
    previous : RegionGraphModel, optional
        In adaptive measuring, the model before the last measurement: its junction tree is grown, in the order of
        measurement, and never loses a pair.
    tree_cells : float, optional
        Cells the junction tree may have; 1e6 (8 MB) by default. 4e6 makes noise-free answers better still.

    Attributes
    ----------
    domain : Domain
        All attributes.
    cliques : tuple of tuple of str
        The measured cliques, in the order of measurement.

    Raises
    ------
    ValueError
        If the marginals do not lie over the regions, hold a negative, infinite or NaN entry, or do not sum to the
        total (to 1e-3 of it); if `total` or `tree_cells` is not positive and finite; if `previous` is of another
        domain.

    References
    ----------
    McKenna, Pradhan, Sheldon, Miklau: Relaxed marginal consistency for differentially private query answering,
    NeurIPS 2021.

    Examples
    --------
    >>> import pypgm
    >>> domain = pypgm.Domain({"a": 2, "b": 2, "c": 2})
    >>> graph = pypgm.RegionGraph.saturated(domain, [("a", "b"), ("b", "c")])
    >>> graph.regions
    (('a', 'b'), ('b', 'c'), ('b',))
    >>> tables = pypgm.CliqueVector(domain, graph.regions, [40, 10, 10, 40, 30, 20, 20, 30, 50, 50])
    >>> model = RegionGraphModel(graph, tables, 100.0)
    >>> model.project(("a", "c")).values.round(3)
    array([[28., 22.],
           [22., 28.]])
    >>> model.project(("a", "c"), method="local").values.round(3)
    array([[25., 25.],
           [25., 25.]])
    """

    is_exact = False

    @checked()
    def __init__(
        self,
        graph: RegionGraph,
        marginals: CliqueVector,
        total: float,
        *,
        potentials: CliqueVector | None = None,
        fit: Fit | None = None,
        folding: Folding | None = None,
        masks: Masks = (),
        recipe: Recipe | None = None,
        previous: RegionGraphModel | None = None,
        tree_cells: Annotated[float, Positive()] = 1e6,
    ) -> None:
        super().__init__(graph.domain, total, fit=fit, folding=folding, masks=masks, recipe=recipe)
        self.graph = graph
        self.cliques = graph.cliques
        _check_marginals(graph, marginals, self.total)
        if previous is not None and previous.graph.domain != graph.domain:
            labels = other_labels(graph.domain, previous.graph.domain)
            raise ValueError(
                f"previous needs a model over {graph.domain}, got one over {previous.graph.domain}{labels}"
            )
        if potentials is None:
            potentials = (marginals / self.total).log()
        elif potentials.cliques != graph.regions:
            raise ValueError(f"potentials need a table for each of {graph.regions[:6]} …, got {potentials!r}")
        self.marginals = read_only(marginals)
        self.potentials = read_only(potentials)
        self.tree_cells = tree_cells
        self._bounded: BoundedTree | None = None
        # A tree that was never asked for has kept nothing.
        self._grown_from: BoundedTree | None = None if previous is None else previous._bounded or previous._grown_from
        self._index = RegionIndex(marginals, self.total)

    @property
    def bounded_tree(self) -> BoundedTree:
        """The junction tree within the budget, fitted to the pseudo-marginals; made when first needed."""
        return self._bounded_within(Clock())

    def _bounded_within(self, clock: Clock) -> BoundedTree:
        """Return the bounded tree; one that ran out of time serves a single answer."""
        if self._bounded is not None:
            return self._bounded
        tree = bounded_tree(
            self._index,
            self.cliques,
            max_cells=self.tree_cells,
            previous=self._grown_from,
            noise=self._noise,
            clock=clock,
        )
        if not clock.over:
            self._bounded = tree
        return tree

    @cached_property
    def _log_weights(self) -> CliqueVector:
        return kikuchi_potentials(self.graph, self.marginals, self.total)

    @cached_property
    def _joint(self) -> tuple[JunctionTree, CliqueVector]:
        try:
            tree = JunctionTree(self.graph.domain, self.graph.regions)
        except ModelTooLargeError as error:
            raise ModelTooLargeError(
                "what rests on all joint assignments needs a junction tree of all regions; `bounded_tree` is one of as "
                f'many as fit, with the same methods; oracle="auto" approximates. {str(error).rpartition(": ")[0]}'
            ) from None
        return tree, self._log_weights

    def _projected(
        self, cliques: list[Clique], evidence: Evidence | None, method: Method | None, clock: Clock
    ) -> list[RegionAnswer]:
        if method is not None and method not in _METHODS:
            raise ValueError(f"method must be one of {', '.join(_METHODS)}, got {method!r}")
        domain = self.graph.domain
        inner = [self.folding.clique(c) for c in cliques]
        known = {
            domain.attributes[i]: Factor(
                domain.project((domain.attributes[i],)), np.exp(logs - max(logs.max(), _LEAST_LOG))
            )
            for i, logs in log_likelihoods(domain, self.folding.evidence(evidence))
        }
        wider = [domain.canonical({*clique, *known}) for clique in inner] if known else inner
        joint = self._joint_tables(list(dict.fromkeys(wider)), method, clock)
        answers = []
        for clique, part, scope in zip(cliques, inner, wider, strict=True):
            table, found_by, violation = joint[scope]
            if known:
                for likelihood in known.values():
                    table = table * likelihood
                    if not table.datavector().sum() > 0:
                        known_of = ", ".join(evidence or {})
                        raise ImpossibleEvidenceError(f"the evidence on {known_of} has probability zero")
                    table = table.normalize(self.total)
                table = table.project(part)
            turned = self.folding.unfolded(table, clique)
            answers.append(RegionAnswer(turned.domain, turned.datavector(), found_by, violation))
        return answers

    def _joint_tables(
        self, cliques: list[Clique], method: Method | None, clock: Clock
    ) -> dict[Clique, tuple[Factor, str, float]]:
        """Return counts, method and violation of distinct cliques in the domain's order."""
        domain, index = self.graph.domain, self._index
        solvers: dict[Method, Callable[[Sequence[Clique], Clock], list[LocalAnswer]]] = {
            "local": partial(local_answers, index),
            "combined": lambda cliques, clock: combined_answers(index, self._bounded_within(clock), cliques, clock),
            "submodel": partial(submodel_answers, index),
            "expanded": partial(expanded_answers, self.graph, index),
            "oversaturated": self._oversaturated,
        }
        _check_answers_fit(domain, cliques)
        answers = {c: self._from_region(c) for c in cliques if index.holds(c)}
        outside_of: dict[Method, list[Clique]] = {}
        for clique in cliques:
            if clique not in answers:
                outside_of.setdefault(method or self._method_for(clique), []).append(clique)
        for chosen, outside in outside_of.items():
            for clique, answer in zip(outside, solvers[chosen](outside, clock), strict=True):
                counts = np.multiply(answer.values, self.total, out=answer.values)
                answers[clique] = Factor.over(domain.project(clique), counts), chosen, answer.violation
        return answers

    def _method_for(self, clique: Clique) -> Method:
        """Return the default method for a clique; if regions hold all its pairs, a tree adds only noise."""
        pairs = set(itertools.combinations(clique, 2))
        return "local" if len(pairs) > 1 and pairs <= self._pairs else "combined"

    @cached_property
    def _pairs(self) -> set[Clique]:
        """The pairs of attributes that regions hold."""
        return {pair for region in self.graph.regions for pair in itertools.combinations(region, 2)}

    def _answers(
        self, queries: Sequence[KroneckerQuery], evidence: Evidence | None, clock: Clock
    ) -> list[NDArray[np.float64]]:
        cliques = [self.folding.clique(q.attributes) for q in queries]
        answers = []
        for q, table in zip(queries, self._projected(cliques, evidence, None, clock), strict=True):
            tree = JunctionTree(table.domain, [table.domain.attributes])
            calibrated = Calibrated.of(tree, [table], self.total)
            answers += answer_queries(calibrated, self.folding, [q], Clock(n_threads=clock.n_threads))
        return answers

    def _drawn_from(
        self, rows: int, evidence: Evidence | None, clock: Clock
    ) -> tuple[JunctionTree, Sequence[Factor], Sequence[Clique]]:
        del rows
        bounded = self._bounded_within(clock)
        tables = bounded.tables
        if evidence:
            tables = bounded.tree.tables(bounded.potentials, 1.0, self.folding.evidence(evidence))
        return bounded.tree, tables, maximal(self.graph.regions)

    def _oversaturated(self, cliques: Sequence[Clique], clock: Clock) -> list[LocalAnswer]:
        """Estimate again from the measurements, on the saturated graph with the cliques among its regions."""
        if self.recipe is None:
            raise ValueError("method 'oversaturated' needs a model with its measurements, estimated with a named loss")
        graph = RegionGraph.saturated(self.graph.domain, self.cliques, extra=cliques)
        request = requested_again(self, self.recipe, clock)(self.recipe.measurements, self.recipe.prior, None)
        wider, _ = solved_on_regions(replace(request, how=request.how.on(graph, self.graph)), graph)
        sweeps = 0 if wider.fit is None else wider.fit.iterations
        clock.over = wider.fit is not None and wider.fit.status == "time"
        answers = []
        for clique in cliques:
            values = wider.marginals[clique].datavector() / wider.total
            answers.append(LocalAnswer(values, violation_of(self._index, clique, values), np.inf, sweeps))
        return answers

    def estimated_again(
        self, request: Request, *, is_prior: bool = False, like: EstimatedModel | None = None
    ) -> Model[Any]:
        """Return the model of another request, on the same graph; a prior of it on a junction tree."""
        if is_prior:
            return solved_on_tree(request, prior_tree(like))[0]
        model = solved_on_regions(request, self.graph)[0]
        model._noise, model.tree_cells = self._noise, min(self.tree_cells, _AGAIN_CELLS)
        return model

    def archive(self) -> dict[str, Any]:
        """Return the fields of the model's file."""
        fields = {"regions": self.graph.regions, "edges": self.graph.edges, "tree_cells": self.tree_cells}
        return super().archive() | fields | {"kind": "region graph", "marginals": self.marginals.values}

    def _from_region(self, clique: Clique) -> tuple[Factor, str, float]:
        """Project the smallest region that holds a clique, and compare it with the next ones."""
        if not clique:
            return Factor(self.graph.domain.project(()), [self.total]), "region", 0.0
        holders = self._index.holders(clique)[:_HOLDERS]
        tables = [self._index.project(i, clique) for i in holders]
        others = [float(np.abs(t - tables[0]).sum()) / self.total for t in tables[1:]]
        violation = sum(others) / len(others) if others else 0.0
        return Factor.over(self.graph.domain.project(clique), tables[0]), "region", violation


def solved_on_regions(request: Request, oracle: RegionOracle) -> tuple[RegionGraphModel, CliqueVector]:
    """Return the model that minimises the loss of a request over a region graph, and where the search started."""
    steps = request.method == "mirror_descent"
    if not (steps or request.method == "accelerated"):
        needed = "an estimate over a region graph needs method='accelerated' or 'mirror_descent'"
        raise ValueError(f"{needed}, got {request.method!r}")
    if not steps and not (request.how.inner is None and request.how.damping is None):
        raise ValueError("inner and damping are options of method='mirror_descent'; 'accelerated' chooses its own")
    problem = region_problem(request, oracle)
    solve = partial(region_descent, how=request.how) if steps else accelerated
    potentials, marginals, fit, validated = solve(problem, request.options)
    model = RegionGraphModel(
        problem.graph,
        marginals,
        request.total,
        potentials=potentials,
        fit=fit,
        folding=request.folding,
        masks=request.masks,
        previous=request.first if isinstance(request.first, RegionGraphModel) else None,
    )
    model.validated = validated
    return model, problem.start


def _check_marginals(graph: RegionGraph, marginals: CliqueVector, total: float) -> None:
    """Raise ``ValueError`` unless there is a non-negative table for each region, all with the same sum."""
    if marginals.cliques != graph.regions:
        raise ValueError(f"marginals need a table for each of {graph.regions[:6]} …, got {marginals!r}")
    if not (np.isfinite(marginals.values).all() and (marginals.values >= 0).all()):
        raise ValueError("marginals need finite entries of at least 0")
    for i, region in enumerate(graph.regions):
        mass = float(marginals.table(i).sum())
        if abs(mass - total) > _SUM * total:
            raise ValueError(f"the marginal of region {region} needs the sum {total:.6g}, got {mass:.6g}")


def _check_answers_fit(domain: Domain, cliques: Sequence[Clique]) -> None:
    """Raise ModelTooLargeError, naming a clique and its largest attribute, unless tables over cliques fit."""
    sizes = {clique: domain.size(clique) for clique in cliques}
    check_tables_fit(domain, sorted(sizes, key=sizes.__getitem__)[-1:], _ANSWER_BYTES)
    needed = sum(sizes.values())
    what = f"{len(sizes)} answers need {short(needed)} cells"
    check_fits(_KEPT_BYTES * needed, None, what, "ask for fewer at a time")
