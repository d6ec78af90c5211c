"""A model of pseudo-marginals over a region graph: answers beyond its regions, synthetic records, a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from pypgm.clique_vector import CliqueVector, read_only
from pypgm.clock import Clock
from pypgm.data import Dataset
from pypgm.domain import Clique, Domain, as_clique, as_cliques
from pypgm.errors import ImpossibleEvidenceError
from pypgm.estimation.fit import Fit
from pypgm.factor import Factor
from pypgm.graphs.evidence import log_likelihoods
from pypgm.graphs.junction_tree import JunctionTree, checked_total
from pypgm.graphs.region_graph import RegionGraph
from pypgm.inference.calibrated import Calibrated
from pypgm.inference.kronecker import answer_queries
from pypgm.inference.local import LocalAnswer, local_answers
from pypgm.inference.out_of_model import combined_answers, expanded_answers, submodel_answers
from pypgm.inference.region_index import RegionIndex
from pypgm.models.answer import Answer
from pypgm.models.prior import bounded_tree
from pypgm.models.queryable import Queryable
from pypgm.models.refinement import refined_records
from pypgm.models.region_parts import affordable_cells, check_answers_fit, check_marginals, oversaturated_answers
from pypgm.models.sampling import Step, draw_records
from pypgm.models.storage import model_header
from pypgm.numeric import checked_real

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.estimation.measurement import LinearMeasurement
    from pypgm.graphs.evidence import Evidence
    from pypgm.inference.bounded_tree import BoundedTree
    from pypgm.queries import KroneckerQuery

__all__ = ["Method", "RegionGraphModel"]

Method = Literal["combined", "local", "submodel", "expanded", "oversaturated"]

_HOLDERS = 16  # regions whose tables are compared with an answer from one of them


class RegionGraphModel(Queryable):
    r"""Pseudo-marginals :math:`\tau_r` over the regions of a graph, which agree where regions meet.

    No joint distribution need have them. A clique that a region holds is answered by that region; any other by one of
    five methods:

    - ``"combined"`` (the default): a junction tree within a budget of cells is fitted to the pseudo-marginals, and its
      answer is corrected, as little as possible in relative entropy, to violate least what the regions say of parts of
      the clique. If the tree holds all regions this is the exact graphical model.
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
        How an estimate ended.
    measurements : sequence of LinearMeasurement
        What was estimated from; ``"oversaturated"`` needs them.
    previous : RegionGraphModel, optional
        In adaptive measuring, the model before the last measurement: its junction tree is grown, in the order of
        measurement, and never loses a pair.
    prior_cells : float, optional
        Cells the junction tree may have. By default 1e6 (8 MB), or, where the measurements are noisy, twice the total
        over their median standard deviation: a wider tree would fit noise. 4e6 makes noise-free answers better still.

    Attributes
    ----------
    not_private : str
        Why the model protects nobody, if it was made from a release that does not; kept in its file.

    Raises
    ------
    ValueError
        If the marginals do not lie over the regions, hold a negative, infinite or NaN entry, or do not sum to the
        total (to 1e-3 of it); if `total` or `prior_cells` is not positive and finite; if `previous` is of another
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

    def __init__(
        self,
        graph: RegionGraph,
        marginals: CliqueVector,
        total: float,
        *,
        potentials: CliqueVector | None = None,
        fit: Fit | None = None,
        measurements: Sequence[LinearMeasurement] = (),
        previous: RegionGraphModel | None = None,
        prior_cells: float | None = None,
    ) -> None:
        self.graph = graph
        self.total = checked_total(total)
        check_marginals(graph, marginals, self.total)
        if prior_cells is not None:
            checked_real("prior_cells", prior_cells)
        if previous is not None and previous.domain != graph.domain:
            raise ValueError(f"previous needs a model over {graph.domain}, got one over {previous.domain}")
        if potentials is None:
            with np.errstate(divide="ignore"):
                potentials = CliqueVector(graph.domain, graph.regions, np.log(marginals.values / self.total))
        elif potentials.cliques != graph.regions:
            raise ValueError(f"potentials need a table for each of {graph.regions[:6]} …, got {potentials!r}")
        self.marginals = read_only(marginals)
        self.potentials = read_only(potentials)
        self.fit = fit
        self.measurements = tuple(measurements)
        self.prior_cells = (
            affordable_cells(self.measurements, self.total) if prior_cells is None else float(prior_cells)
        )
        self.not_private = ""
        self._prior: BoundedTree | None = None
        # A tree that was never asked for has kept nothing.
        self._grown_from: BoundedTree | None = None if previous is None else previous._prior or previous._grown_from
        self._index = RegionIndex(marginals, self.total)

    @property
    def domain(self) -> Domain:
        """All attributes."""
        return self.graph.domain

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """The measured cliques, in the order of measurement."""
        return self.graph.cliques

    @property
    def prior(self) -> BoundedTree:
        """The junction tree within the budget, fitted to the pseudo-marginals; made when first needed."""
        return self._prior_within(Clock())

    def _prior_within(self, clock: Clock) -> BoundedTree:
        """Return the prior; one that ran out of time serves a single answer."""
        if self._prior is not None:
            return self._prior
        cells = self.prior_cells
        tree = bounded_tree(self._index, self.cliques, max_cells=cells, previous=self._grown_from, clock=clock)
        if not clock.over:
            self._prior = tree
        return tree

    def project(
        self,
        clique: str | Iterable[str],
        evidence: Evidence | None = None,
        *,
        method: Method | None = None,
        time_limit: float | None = None,
        progress: bool = False,
    ) -> Answer:
        """Return the marginal of any clique, in counts that sum to `total`.

        Parameters
        ----------
        clique : str or sequence of str
            Attributes, in any order; axes come in the order asked. The empty clique gives the total.
        evidence : mapping, optional
            Attribute to label, code, list of them, or likelihood vector: counts as if all records agreed with it. They
            come from the answer to the clique and the attributes of the evidence together.
        method : {"combined", "local", "submodel", "expanded", "oversaturated"}, optional
            How to answer where no region holds the clique; see the class.
        time_limit : float, optional
            Seconds after which the answer is the best so far.
        progress : bool
            Whether to show on standard error how far the answer is.

        Returns
        -------
        Answer
            A `Factor` that says which method found it and, in ``violation``, how far it is from the regions.

        Warns
        -----
        TimeLimitWarning
            If the time limit ended the answer.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        ValueError
            If an attribute is unknown or comes twice, the method is unknown, or "oversaturated" lacks measurements.
        ModelTooLargeError
            If the table would not fit.
        """
        with Clock("project", time_limit, progress) as clock:
            return self._project([as_clique(clique)], evidence, method, 0, clock)[0]

    def project_many(
        self,
        cliques: Sequence[str | Iterable[str]],
        evidence: Evidence | None = None,
        *,
        method: Method | None = None,
        n_threads: int = 0,
        time_limit: float | None = None,
        progress: bool = False,
    ) -> list[Answer]:
        """Return the marginals of many cliques, in the order asked; see `project`.

        Cliques are answered beside each other on `n_threads` threads (0 for all); the bits do not depend on it.
        """
        with Clock("project", time_limit, progress) as clock:
            return self._project(as_cliques(cliques), evidence, method, n_threads, clock)

    def _project(
        self, asked: list[Clique], evidence: Evidence | None, method: Method | None, n_threads: int, clock: Clock
    ) -> list[Answer]:
        """Answer under evidence, and warn the caller of the caller if time was over."""
        if method is not None and method not in get_args(Method):
            raise ValueError(f"method must be one of {', '.join(get_args(Method))}, got {method!r}")
        for clique in asked:
            self.domain.indices(clique)
        known = log_likelihoods(self.domain, evidence)
        given = {self.domain.attributes[i] for i, _ in known}
        wider = [self.domain.canonical({*clique, *given}) for clique in asked]
        joint = self._joint(list(dict.fromkeys(wider)), method, n_threads, clock)
        clock.warn_if_over(f"the answers to {len(asked)} cliques", stacklevel=4)
        answers = []
        for clique, scope in zip(asked, wider, strict=True):
            table, found_by, violation = joint[scope]
            for index, log_likelihood in known:
                own = self.domain.project((self.domain.attributes[index],))
                table = table * Factor(own, np.exp(log_likelihood))
            if known:
                if not table.datavector().sum() > 0:
                    raise ImpossibleEvidenceError(f"the evidence on {', '.join(evidence or {})} has probability zero")
                table = table.project(clique).normalize(self.total)
            turned = table.transpose(clique)
            answers.append(Answer(turned.domain, turned.datavector(), found_by, violation))
        return answers

    def _joint(
        self, cliques: list[Clique], method: Method | None, n_threads: int, clock: Clock
    ) -> dict[Clique, tuple[Factor, str, float]]:
        """Return counts, method and violation of distinct cliques in the domain's order."""
        check_answers_fit(self.domain, cliques)
        found = {c: self._from_region(c) for c in cliques if self._index.holds(c)}
        outside = [c for c in cliques if c not in found]
        if outside:
            chosen = method or "combined"
            for clique, answer in zip(outside, self._solver(chosen)(outside, n_threads, clock), strict=True):
                counts = np.multiply(answer.values, self.total, out=answer.values)
                found[clique] = Factor.over(self.domain.project(clique), counts), chosen, answer.violation
        return found

    def _counts(self, clique: Clique, evidence: Evidence | None) -> Factor:
        return self.project(clique, evidence)

    def _answers(
        self, queries: Sequence[KroneckerQuery], evidence: Evidence | None, n_threads: int
    ) -> list[NDArray[np.float64]]:
        answers = []
        for q in queries:
            table = self.project(self.domain.canonical(tuple(q.checked(self.domain).blocks)), evidence)
            tree = JunctionTree(table.domain, [table.domain.attributes])
            answers += answer_queries(Calibrated(tree, partial(list, [table]), self.total), [q], n_threads=n_threads)
        return answers

    def synthetic_data(
        self,
        rows: int | None = None,
        rng: np.random.Generator | int | None = None,
        *,
        time_limit: float | None = None,
        progress: bool = False,
    ) -> Dataset:
        """Draw synthetic records: along the junction tree of `prior`, then refined towards all pseudo-marginals.

        Parameters
        ----------
        rows : int, optional
            Number of records; the rounded total by default.
        rng : Generator or int, optional
            Source of the rounding; the operating system's entropy by default.
        time_limit : float, optional
            Seconds after which records are refined no further; drawing them takes the time it takes.
        progress : bool
            Whether to show on standard error how far the records are.

        Warns
        -----
        TimeLimitWarning
            If the time limit ended the refinement.

        Raises
        ------
        ValueError
            If `rows` is negative.
        """
        source = np.random.default_rng(rng)
        n_rows = round(self.total) if rows is None else rows
        with Clock("synthetic_data", time_limit, progress) as clock:
            prior = self._prior_within(clock)
            nodes = prior.tree.nodes
            steps = [Step(n.clique, n.separator, prior.table(i).datavector()) for i, n in enumerate(nodes)]
            records = draw_records(self.domain, steps, n_rows, source, clock=clock)
            refined = refined_records(records, self._index, n_rows, source, clock=clock)
            clock.warn_if_over("the refinement of the records", stacklevel=3)
        return Dataset(refined, self.domain)

    def archive(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the header and the arrays of the model's file: graph, potentials and marginals, no measurements."""
        header = model_header(self) | {
            "kind": "region graph",
            "regions": self.graph.regions,
            "edges": self.graph.edges,
            "prior_cells": self.prior_cells,
        }
        return header, {"potentials": self.potentials.values, "marginals": self.marginals.values}

    def __repr__(self) -> str:
        private = ", not private" if self.not_private else ""
        return (
            f"RegionGraphModel({len(self.domain)} attributes, {len(self.graph.regions)} regions, "
            f"total {self.total:.6g}, {self.marginals.values.size} cells{private})"
        )

    def _from_region(self, clique: Clique) -> tuple[Factor, str, float]:
        """Project the smallest region that holds a clique, and compare it with the next ones."""
        if not clique:
            return Factor(self.domain.project(()), [self.total]), "region", 0.0
        holders = self._index.holders(clique)[:_HOLDERS]
        tables = [self._index.project(int(i), clique) for i in holders]
        others = [float(np.abs(t - tables[0]).sum()) / self.total for t in tables[1:]]
        violation = sum(others) / len(others) if others else 0.0
        return Factor.over(self.domain.project(clique), tables[0]), "region", violation

    def _solver(self, method: Method) -> Callable[[Sequence[Clique], int, Clock], list[LocalAnswer]]:
        index = self._index
        solvers: dict[str, Callable[[Sequence[Clique], int, Clock], list[LocalAnswer]]] = {
            "local": lambda c, n, t: local_answers(index, c, n_threads=n, clock=t),
            "combined": lambda c, n, t: combined_answers(index, self._prior_within(t), c, n_threads=n, clock=t),
            "submodel": lambda c, n, t: submodel_answers(index, c, n_threads=n, clock=t),
            "expanded": lambda c, n, t: expanded_answers(self.graph, index, c, n_threads=n, clock=t),
            "oversaturated": lambda c, n, t: oversaturated_answers(self, index, c, n_threads=n, clock=t),
        }
        return solvers[method]
