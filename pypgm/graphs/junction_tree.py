"""Junction trees: a plan for exact inference, built once and run often."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

import numpy as np

from pypgm import _core
from pypgm._base.constraints import THREADS, AtLeast, Positive
from pypgm._base.html import Shown
from pypgm._base.memory import check_fits, hopeless_refused
from pypgm._base.numeric import as_generator
from pypgm._base.signatures import checked
from pypgm._base.terminal import escaped
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain, Label, check_domain, listed
from pypgm.errors import ImpossibleEvidenceError
from pypgm.factor import Factor
from pypgm.graphs.evidence import Evidence, log_likelihoods

if TYPE_CHECKING:
    import networkx
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from pypgm._base.clock import Clock

    _Likelihoods = list[tuple[int, NDArray[np.float64]]]


_DRAW_BYTES = 12  # of an attribute of a drawn record: a uniform and a code


@dataclass(frozen=True, slots=True)
class TreeCost:
    """Cost of one propagation, known before any table is made.

    Attributes
    ----------
    width : int
        Attributes of the widest clique, less one.
    largest_clique : tuple of str
        The clique with the largest table.
    largest_cells : float
        Cells of that table.
    cells : float
        Cells of the tables of all tree cliques.
    bytes : float
        Bytes a call that brings back marginals, log Z or an assignment takes, its answer counted.
    table_bytes : float
        Bytes a call takes that brings back the tables of all tree cliques.
    operations : float
        Reads and writes of a cell in one propagation, roughly.
    """

    width: int
    largest_clique: Clique
    largest_cells: float
    cells: float
    bytes: float
    table_bytes: float
    operations: float


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A clique of the tree, the attributes it shares with its parent, and the parent's position (-1: root)."""

    clique: Clique
    separator: Clique
    parent: int


class _Model(Protocol):
    """A Bayesian network, a Markov random field or another model."""

    @property
    def potentials(self) -> CliqueVector:
        """Natural logs of its tables."""


class JunctionTree(Shown):
    """A junction tree over all attributes of a domain, compiled for exact inference.

    Parameters
    ----------
    domain : Domain
        All attributes; those in no clique become cliques of their own.
    cliques : sequence of cliques
        The scopes potentials will come on; they may repeat, nest and be disconnected.
    effort : {"auto", "best"}
        Effort to find a small tree: until the search costs as much as one propagation, or until all rules
        and restarts have been tried. Work is counted, not timed, so a tree depends only on its input.
    order : sequence of str, optional
        An elimination order of all attributes, instead of a search.
    max_bytes : float, optional
        Memory the tables may take; half of the available memory by default.

    Raises
    ------
    ModelTooLargeError
        If the tables do not fit; nothing has been allocated then.
    ValueError
        If a clique or the order does not fit the domain, or `effort` is unknown.

    Examples
    --------
    >>> domain = Domain({"a": 2, "b": 3, "c": 4})
    >>> tree = JunctionTree(domain, [("a", "b"), ("b", "c")])
    >>> tree.cost.cells
    18.0
    """

    @checked()
    def __init__(
        self,
        domain: Domain,
        cliques: Iterable[str | Iterable[str]],
        *,
        effort: Literal["auto", "best"] = "auto",
        order: Sequence[str] | None = None,
        max_bytes: float | None = None,
    ) -> None:
        check_domain(domain)
        if order is not None and sorted(domain.indices(order)) != list(range(len(domain))):
            raise ValueError(f"an elimination order needs all {len(domain)} attributes, got {len(order)}")
        scopes = [sorted(domain.indices(c)) for c in cliques]
        self.domain, self._max_bytes = domain, max_bytes
        self.cliques = tuple([domain.names(scope) for scope in scopes])
        self._compile(scopes, None if order is None else domain.indices(order), exhaustive=effort == "best")

    @classmethod
    def of(cls, potentials: CliqueVector | _Model) -> JunctionTree:
        """Return the tree for the cliques of some potentials, or of a model's; all options at their defaults."""
        given: Any = potentials
        vector: CliqueVector = getattr(given, "potentials", given)
        return tree_of_scopes(vector.domain, vector.scopes)

    def _compile(
        self, scopes: Sequence[Sequence[int]], order: Sequence[int] | None = None, *, exhaustive: bool = False
    ) -> None:
        """Make the plan for the cliques, given as ascending positions in the domain."""
        with hopeless_refused(self.domain, self._max_bytes):
            self.plan = _core.JunctionTree(self.domain.shape, scopes, order, exhaustive)
        self._check_fits(self.plan.cost["bytes"])

    def __reduce__(self) -> tuple[Any, ...]:
        # The order makes the same tree again.
        return partial(JunctionTree, order=self.order, max_bytes=self._max_bytes), (self.domain, self.cliques)

    @cached_property
    def cost(self) -> TreeCost:
        """Cost of one propagation."""
        cost = self.plan.cost
        return TreeCost(largest_clique=self.domain.names(cost.pop("largest")), **cost)

    @property
    def given_cells(self) -> float:
        """Cells of the tables of the given cliques, each as often as it was given."""
        return self.plan.given_cells

    @cached_property
    def nodes(self) -> tuple[TreeNode, ...]:
        """The cliques of the tree, parents before children, the root first."""
        return tuple(
            TreeNode(self.domain.names(clique), self.domain.names(separator), parent)
            for clique, separator, parent, _ in self.plan.nodes
        )

    @property
    def order(self) -> Clique:
        """The elimination order the tree came from."""
        return self.domain.names(self.plan.order)

    @checked()
    def marginals(
        self,
        potentials: CliqueVector,
        total: Annotated[float, Positive()] = 1.0,
        evidence: Evidence | None = None,
        *,
        n_threads: Annotated[int, THREADS] = 0,
    ) -> CliqueVector:
        """Return the exact marginals of the tree's given cliques, in counts that sum to `total`.

        Parameters
        ----------
        potentials : CliqueVector
            Natural logs over the same cliques; -inf is a structural zero.
        total : float
            Sum of each marginal.
        evidence : mapping, optional
            Attribute to label, code, list of them, or likelihood vector; cells against it are 0.
        n_threads : int
            0 for all threads; the bits of the answer do not depend on it.

        Raises
        ------
        ImpossibleEvidenceError
            If no joint assignment keeps any weight.
        ValueError
            If potentials hold NaN or +inf or lie over other cliques, or `total` is not positive and finite.
        """
        known = self._checked(potentials, evidence)
        cells, log_z = self.plan.marginals(*known, total, n_threads)
        check_possible(log_z, evidence)
        return CliqueVector(self.domain, self.cliques, cells)

    @checked()
    def attribute_marginals(
        self,
        potentials: CliqueVector,
        total: Annotated[float, Positive()] = 1.0,
        evidence: Evidence | None = None,
        *,
        n_threads: Annotated[int, THREADS] = 0,
    ) -> dict[str, NDArray[np.float64]]:
        """Return the exact marginal of every single attribute, in counts that sum to `total`.

        Takes less than `marginals`: no other table is brought back.

        Parameters
        ----------
        potentials, total, evidence, n_threads
            See `marginals`.

        Returns
        -------
        dict of str to ndarray of float64, shape (size of the attribute,)
            In the order of the domain.

        Raises
        ------
        ImpossibleEvidenceError
            If no joint assignment keeps any weight.
        ValueError
            If potentials hold NaN or +inf or lie over other cliques, or `total` is not positive and finite.

        Examples
        --------
        >>> domain = Domain({"a": 2, "b": 2})
        >>> tree = JunctionTree(domain, [("a", "b")])
        >>> tree.attribute_marginals(CliqueVector(domain, [("a", "b")], [0, 0, 0, np.log(5)]), 8.0)["a"].round(6)
        array([2., 6.])
        """
        known = self._checked(potentials, evidence)
        tables, log_z = self.plan.attribute_marginals(*known, total, n_threads)
        check_possible(log_z, evidence)
        return dict(zip(self.domain.attributes, tables, strict=True))

    @checked()
    def log_partition(
        self, potentials: CliqueVector, evidence: Evidence | None = None, *, n_threads: Annotated[int, THREADS] = 0
    ) -> float:
        """Return log Z: the natural log of the summed weights of all joint assignments; -inf if none has any."""
        return self.plan.log_partition(*self._checked(potentials, evidence), n_threads)

    def map(self, potentials: CliqueVector, evidence: Evidence | None = None) -> tuple[dict[str, Label], float]:
        """Return the most probable joint assignment, and the natural log of its weight.

        The weight of an assignment is the sum of its potentials and log-likelihoods, rounded as the plan adds them up.
        Of several assignments with the largest such sum, without any tolerance, the answer is the one found from the
        root of the tree down, which takes the smallest codes at each step: always the same of a tree. Sums that are
        equal but for rounding are no ties; where potentials are integers (or halves, quarters, …) no sum is rounded.

        Parameters
        ----------
        potentials : CliqueVector
            Natural logs over the tree's cliques; -inf is a structural zero.
        evidence : mapping, optional
            Attribute to label, code, list of them, or likelihood vector.

        Returns
        -------
        assignment : dict of str to label or code
            Value of each attribute, in the order of the domain: its label, or its code if it has no labels.
        log_weight : float
            Subtract `log_partition` (without evidence, or given the same) for the log-probability.

        Raises
        ------
        ImpossibleEvidenceError
            If no joint assignment keeps any weight.
        ValueError
            If potentials hold NaN or +inf or lie over other cliques.

        Examples
        --------
        >>> domain = Domain({"a": ["no", "yes"], "b": 3})
        >>> tree = JunctionTree(domain, [("a", "b")])
        >>> tree.map(CliqueVector(domain, [("a", "b")], [0, 1, 2, 0, 5, 4]))
        ({'a': 'yes', 'b': 1}, 5.0)
        """
        codes, log_weight = self.plan.most_probable(*self._checked(potentials, evidence))
        check_possible(log_weight, evidence)
        return self.domain.labelled(codes), log_weight

    @checked()
    def draw(
        self,
        potentials: CliqueVector,
        rows: Annotated[int, AtLeast(0)],
        rng: np.random.Generator | int | None = None,
        evidence: Evidence | None = None,
        *,
        n_threads: Annotated[int, THREADS] = 0,
    ) -> dict[str, NDArray[np.int32]]:
        """Draw independent joint assignments; their tables are not made, so that few draws cost about what log Z does.

        Parameters
        ----------
        potentials : CliqueVector
            Natural logs over the same cliques; -inf is a structural zero.
        rows : int
            Number of assignments.
        rng : Generator or int, optional
            The operating system's entropy by default.
        evidence : mapping, optional
            See `marginals`: all assignments agree with it.
        n_threads : int
            0 for all threads; the bits of the answer do not depend on it.

        Returns
        -------
        dict of str to ndarray of int32, shape (rows,)
            Codes of each attribute, in the order of the domain.

        Raises
        ------
        ImpossibleEvidenceError
            If no joint assignment keeps any weight.
        ModelTooLargeError
            If the assignments do not fit in memory.
        ValueError
            If potentials hold NaN or +inf or lie over other cliques.

        Examples
        --------
        >>> domain = Domain({"a": 2, "b": 2})
        >>> tree = JunctionTree(domain, [("a", "b")])
        >>> tree.draw(CliqueVector(domain, [("a", "b")], np.log([1, 1e-9, 1e-9, 1])), 5, rng=0, evidence={"a": 1})
        {'a': array([1, 1, 1, 1, 1], dtype=int32), 'b': array([1, 1, 1, 1, 1], dtype=int32)}
        """
        known, n = self._checked(potentials, evidence), len(self.domain)
        check_fits(_DRAW_BYTES * rows * n, None, f"{rows} records of {n} attributes", "ask for fewer")
        codes, log_z = self.plan.draw(*known, as_generator(rng).random((rows, n)), n_threads)
        check_possible(log_z, evidence)
        return dict(zip(self.domain.attributes, codes, strict=True))

    @checked()
    def tables(
        self,
        potentials: CliqueVector,
        total: Annotated[float, Positive()] = 1.0,
        evidence: Evidence | None = None,
        *,
        n_threads: Annotated[int, THREADS] = 0,
        clock: Clock | None = None,
    ) -> list[Factor]:
        """Return the exact marginal of each clique of the tree itself, in the order of `nodes`; see `marginals`.

        A clock shows that they are being computed, and ends it.

        Raises
        ------
        ModelTooLargeError
            If the tables do not fit, though the tree does; nothing has been allocated then.
        TimeoutError
            If the time of the clock is over before the tables are ready.
        """

        def tick(steps: int) -> bool:
            if clock is not None:
                clock.check(lambda: f"{steps}/{2 * len(self.nodes)} cliques passed, {self.cost.cells:.3g} cells")
            return False

        self._check_fits(self.cost.table_bytes)
        known = self._checked(potentials, evidence)
        cells, log_z = self.plan.tables(*known, total, n_threads, tick)
        check_possible(log_z, evidence)
        return self.split(cells)

    def split(self, cells: NDArray[np.float64]) -> list[Factor]:
        """Return the tables of the tree's cliques, which are packed in the order of `nodes`."""
        domains = [self.domain.project(node.clique) for node in self.nodes]
        parts = np.split(cells, np.cumsum([domain.size() for domain in domains])[:-1])
        return [Factor.over(domain, part) for domain, part in zip(domains, parts, strict=True)]

    def _check_fits(self, needed: float) -> None:
        def largest() -> str:
            named, cells = listed(self.cost.largest_clique), self.cost.largest_cells
            whole = " if it were held whole" if 8 * cells > needed else ""
            return f"clique ({named}) of the junction tree needs {cells:.3g} cells ({cells / 2**27:.3g} GiB{whole})"

        check_fits(needed, self._max_bytes, largest)

    def to_networkx(self) -> networkx.Graph[Clique]:
        """Return the tree as a graph: nodes are cliques, edges carry their ``separator``."""
        import networkx

        graph: networkx.Graph[Clique] = networkx.Graph()
        graph.add_nodes_from(node.clique for node in self.nodes)
        edges = [n for n in self.nodes if n.separator]
        graph.add_edges_from((self.nodes[n.parent].clique, n.clique, {"separator": n.separator}) for n in edges)
        return graph

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the cliques with the cells of their tables, and the shared attributes of two of them in grey.

        Raises
        ------
        ImportError
            If matplotlib, the extra ``plot``, is not installed.
        """
        from pypgm._base.canvas import PALE
        from pypgm.graphs.pictures import draw_graph, names_and_cells

        texts = [names_and_cells(node.clique, self.domain.size(node.clique)) for node in self.nodes]
        joined = [i for i, node in enumerate(self.nodes) if node.separator]
        between = range(len(texts), len(texts) + len(joined))
        arcs = [(self.nodes[i].parent, k) for i, k in zip(joined, between, strict=True)]
        arcs += [(k, i) for i, k in zip(joined, between, strict=True)]
        colours = ["white"] * len(texts) + [PALE] * len(joined)
        texts += [", ".join(self.nodes[i].separator) for i in joined]
        return draw_graph(texts, arcs, ax, colours=colours, arrows=False)

    def __str__(self) -> str:
        cost = self.cost
        return (
            f"JunctionTree of {len(self.nodes)} cliques over {len(self.domain)} attributes\n"
            f"  width       {cost.width}\n"
            f"  largest     {escaped(', '.join(cost.largest_clique))} ({cost.largest_cells:.4g} cells)\n"
            f"  cells       {cost.cells:.4g}\n"
            f"  memory      {cost.bytes / 2**20:.4g} MiB\n"
            f"  operations  {cost.operations:.4g} a propagation"
        )

    def __repr__(self) -> str:
        return f"JunctionTree({len(self.nodes)} cliques, width {self.cost.width}, {self.cost.cells:.4g} cells)"

    def _checked(self, potentials: CliqueVector, evidence: Evidence | None) -> tuple[NDArray[np.float64], _Likelihoods]:
        """Return potentials and evidence as the plan takes them."""
        if potentials.cliques != self.cliques or potentials.domain.shape != self.domain.shape:
            raise ValueError(f"the tree was built for {self.cliques[:6]} …, got potentials over {potentials!r}")
        check_logarithms(potentials)
        return potentials.values, log_likelihoods(self.domain, evidence)


def check_logarithms(potentials: CliqueVector) -> None:
    """Raise ``ValueError``, naming the first table with a NaN or +inf, unless all entries are finite or -inf."""
    if not (potentials.values < np.inf).all():
        bad = next(c for i, c in enumerate(potentials.cliques) if not (potentials.table(i) < np.inf).all())
        raise ValueError(f"potentials need finite logarithms or -inf; the table over {bad} holds NaN or +inf")


def check_possible(log_z: float, evidence: Evidence | None) -> None:
    """Raise ``ImpossibleEvidenceError`` if log Z is -inf, no joint assignment has any weight; refuse an overflow."""
    if log_z == -np.inf:
        what = f"the evidence on {escaped(', '.join(evidence))}" if evidence else "the potentials"
        raise ImpossibleEvidenceError(f"no joint assignment keeps any weight under {what}")
    if not log_z < np.inf:
        raise ValueError("the potentials of a joint assignment must add up to less than 1.8e308")


def tree_of_scopes(domain: Domain, scopes: Iterable[Sequence[int]], max_bytes: float | None = None) -> JunctionTree:
    """Return the tree for cliques given as ascending positions in the domain, which are not checked again.

    Examples
    --------
    >>> tree_of_scopes(Domain({"a": 2, "b": 3, "c": 4}), [(0, 1), (1, 2)]).cost.cells
    18.0
    """
    tree, given = object.__new__(JunctionTree), list(scopes)
    tree.domain, tree._max_bytes = domain, max_bytes
    tree.cliques = tuple(map(domain.names, given))
    tree._compile(given)
    return tree
