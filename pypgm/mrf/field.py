"""A Markov random field of a number of records: the model of a release, in a file with it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pypgm._base.canvas import BLUE, INK, axes_of
from pypgm._base.html import Shown
from pypgm._base.numeric import as_generator, checked_real
from pypgm._base.terminal import escaped
from pypgm.clique_vector import CliqueVector
from pypgm.data import Dataset
from pypgm.domain import Clique, Domain, Label, as_clique
from pypgm.errors import ImpossibleEvidenceError
from pypgm.factor import Factor
from pypgm.files.stored_model import CountedModel, domain_of, fields_of
from pypgm.inference._variable_elimination import variable_elimination
from pypgm.inference.oracles import Answers, Approximation, Oracle
from pypgm.models.graphical_model import GraphicalModel
from pypgm.mrf.encoding import Field, centred_field
from pypgm.mrf.sampling import sample

if TYPE_CHECKING:
    import networkx
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from pypgm.graphs.evidence import Evidence


_WIDEST = 6.0


def draw_edges(attributes: Sequence[str], edges: Mapping[tuple[str, str], float], ax: Axes | None = None) -> Axes:
    """Draw attributes on a circle and edges between them, the wider the stronger, with the strength beside the widest.

    Parameters
    ----------
    attributes : sequence of str
    edges : mapping of (str, str) to float
        Strengths, at least 0.
    ax : matplotlib Axes, optional
        New axes by default.

    Raises
    ------
    ImportError
        If matplotlib, the extra ``plot``, is not installed.
    """
    n = max(len(attributes), 1)
    side = float(np.clip(1.0 + 0.45 * n, 4.0, 14.0))
    ax = axes_of(ax, side, side)
    angles = {a: np.pi / 2 - 2 * np.pi * i / n for i, a in enumerate(attributes)}
    places = {a: (float(np.cos(t)), float(np.sin(t))) for a, t in angles.items()}
    strongest = max(edges.values(), default=0.0) or 1.0
    for (a, b), strength in sorted(edges.items(), key=lambda edge: edge[1]):
        (x, y), (u, v) = places[a], places[b]
        share = strength / strongest
        ax.plot([x, u], [y, v], color=BLUE, lw=0.5 + (_WIDEST - 0.5) * share, alpha=0.35 + 0.6 * share, zorder=1)
        if strength == strongest and strongest != 1.0:
            ax.text((x + u) / 2, (y + v) / 2, f"{strength:.2g}", color=INK, ha="center", va="center", zorder=3)
    size = float(np.clip(160 / n, 5, 10))
    for a, (x, y) in places.items():
        box = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": BLUE}
        ax.text(
            x, y, escaped(a), ha="center", va="center", fontsize=size, color=INK, bbox=box, zorder=2, parse_math=False
        )
    ax.set_xlim(-1.3, 1.3)
    ax.set_ylim(-1.2, 1.2)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


_KIND = "markov random field"


class MarkovRandomField(Shown, CountedModel):
    """A distribution with a number of records, whose log-density is a sum of tables.

    Records are drawn exactly where the junction tree fits, else as `mrf.sample` does; given evidence, exactly, with a
    `ModelTooLargeError` where no junction tree of the other attributes fits.

    Parameters
    ----------
    potentials : CliqueVector
        Natural logs, up to a constant; -inf is a structural zero. `from_factors` takes weights.
    total : float
        Number of records, at least 0; an estimate need not be whole.

    Attributes
    ----------
    potentials : CliqueVector
    total : float
    fit : None
    not_private : str
        Why the field protects nobody, if it was made from a release that does not; kept in its file.

    Raises
    ------
    ValueError
        If a potential is NaN or +inf, or the total is negative or not finite.

    Examples
    --------
    >>> domain = Domain({"a": 2, "b": 2})
    >>> field = MarkovRandomField(CliqueVector(domain, [("a", "b")], [0.4, -0.4, -0.4, 0.4]), total=1000)
    >>> field.strengths().tolist()
    [[0.0, 0.4], [0.4, 0.0]]
    >>> field.query("b", {"a": 1}).values.round(4)
    array([0.31, 0.69])
    """

    fit = None

    def __init__(self, potentials: CliqueVector, total: float = 1.0) -> None:
        if not (potentials.values < np.inf).all():
            raise ValueError("the potentials of a field must be finite, or -inf")
        self.potentials = potentials
        self.total = 0.0 if total == 0 else checked_real("total", total)
        self.not_private = ""

    @property
    def domain(self) -> Domain:
        """Attributes and sizes."""
        return self.potentials.domain

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """The cliques that have a potential."""
        return self.potentials.cliques

    @classmethod
    def from_factors(cls, domain: Domain, factors: Iterable[Factor], total: float = 1.0) -> MarkovRandomField:
        """Return the field whose density is proportional to a product of tables of weights of at least 0.

        Examples
        --------
        >>> from pypgm import Factor
        >>> domain = Domain({"a": 2, "b": 2})
        >>> field = MarkovRandomField.from_factors(domain, [Factor(domain, [30.0, 5.0, 1.0, 10.0])])
        >>> round(np.exp(field.log_partition())), field.map()[0]
        (46, {'a': 0, 'b': 0})
        """
        return cls(CliqueVector.from_factors(domain, list(factors)).log(), total)

    def to_potentials(self) -> CliqueVector:
        """Return the log-potentials, up to a constant: for junction trees, region graphs, sampling and MAP."""
        return self.potentials

    @cached_property
    def _centred(self) -> Field:
        """The same field in the centred gauge; ``ValueError`` of zeros, and of tables over more than two attributes."""
        if not np.isfinite(self.potentials.values).all():
            raise ValueError("weights are logarithms of a field without structural zeros")
        offsets = np.cumsum([0, *self.domain.shape])
        weights, fields = np.zeros((offsets[-1],) * 2), np.zeros(offsets[-1])
        for i, scope in enumerate(self.potentials.scopes):
            if len(scope) > 2:
                raise ValueError(f"weights are defined for pairs; the field has a table over {len(scope)} attributes")
            codes = [slice(offsets[a], offsets[a + 1]) for a in scope]
            table = self.potentials.table(i).reshape([self.domain.shape[a] for a in scope])
            if len(scope) == 2:
                weights[codes[0], codes[1]] += table
                weights[codes[1], codes[0]] += table.T
            elif len(scope) == 1:
                fields[codes[0]] += table
        return centred_field(self.domain, weights, fields)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weights of pairs, shape (D, D), D the sum of sizes: W_ij(a, b) at (offset of i + a, offset of j + b).

        Symmetric; rows and columns of each block sum to 0. ``ValueError`` if a table is over more than two attributes.
        """
        return self._centred.weights

    @property
    def fields(self) -> NDArray[np.float64]:
        """Fields, shape (D,); those of an attribute sum to 0. ``ValueError`` as for `weights`."""
        return self._centred.fields

    def strengths(self) -> NDArray[np.float64]:
        """Return the largest absolute weight between each two attributes, shape (n, n).

        In a field of higher order or with zeros, a table counts for each of its pairs, by its largest absolute entry.
        """
        if np.isfinite(self.potentials.values).all() and all(len(scope) <= 2 for scope in self.potentials.scopes):
            return self._centred.strengths()
        strengths = np.zeros((len(self.domain),) * 2)
        for i, scope in enumerate(self.potentials.scopes):
            if len(scope) > 1:
                at = np.ix_(scope, scope)
                strengths[at] = np.maximum(strengths[at], np.abs(self.potentials.table(i)).max())
        np.fill_diagonal(strengths, 0.0)
        return strengths

    def pruned(self, threshold: float) -> MarkovRandomField:
        """Return the field without the tables between attributes whose `strengths` are below a threshold.

        A field of a hundred attributes with all its pairs has no junction tree that fits; with its edges alone it may.

        Raises
        ------
        ValueError
            If the threshold is not positive and finite.
        """
        least, strengths = checked_real("threshold", threshold), self.strengths()
        kept = [
            i
            for i, scope in enumerate(self.potentials.scopes)
            if all(strengths[a, b] >= least for a in scope for b in scope if a < b)
        ]
        tables = [self.potentials.table(i).ravel() for i in kept]
        values = np.concatenate(tables) if tables else np.zeros(0)
        sparser = MarkovRandomField(CliqueVector(self.domain, [self.cliques[i] for i in kept], values), self.total)
        sparser.not_private = self.not_private
        return sparser

    @cached_property
    def graphical_model(self) -> GraphicalModel:
        """The same as a `GraphicalModel`, whose answers are exact.

        Raises
        ------
        ModelTooLargeError
            If the junction tree does not fit; see `pruned`.
        """
        return GraphicalModel(self.potentials, self.total)

    def project(self, clique: str | Iterable[str]) -> Factor:
        """Return the marginal of any clique, in counts; errors as of `graphical_model`."""
        return self.graphical_model.project(clique)

    @cached_property
    def _answers(self) -> Answers:
        return Answers(self.potentials)

    def query(
        self, targets: str | Iterable[str], evidence: Evidence | None = None, *, oracle: Oracle = "exact"
    ) -> Factor:
        """Return the joint probabilities of some attributes, given evidence on others.

        Parameters
        ----------
        targets : str or sequence of str
        evidence : mapping, optional
        oracle : {"exact", "region_graph", "sampling", "auto"}
            Approximate answers, where no junction tree fits: see `approximation`, which also says how good they are.
        """
        if self._answers.fits and oracle in {"exact", "auto"}:
            return self.graphical_model.query(targets, evidence)
        if oracle == "exact":
            return variable_elimination(self.potentials, targets, 1.0, evidence)
        clique = as_clique(targets)
        self.domain.indices(clique)
        return self._answers.by(oracle, evidence, clique).joint(clique)

    def marginals(self, evidence: Evidence | None = None, *, oracle: Oracle = "exact") -> dict[str, Factor]:
        """Return the probabilities of every attribute, given evidence on some, as for a `BayesianNetwork`.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        ModelTooLargeError
            If no junction tree of what the evidence leaves fits; so too for the other exact answers.
        """
        if oracle != "exact":
            return dict(self.approximation(evidence, oracle=oracle).marginals)
        tables = self._answers.marginals(evidence)
        return {a: Factor.over(single, tables[a]) for a, single in zip(self.domain, self.domain.singles(), strict=True)}

    def map(
        self, evidence: Evidence | None = None, *, oracle: Literal["exact", "auto"] = "exact"
    ) -> tuple[dict[str, Label], float]:
        """Return the most probable values of all attributes together, and the natural log of their weight.

        With ``oracle="auto"`` these are the best values that are found where no junction tree fits, with an
        `ApproximationWarning` that says how much more probable others may be.
        """
        return self._answers.map_by(oracle, evidence)

    def log_partition(self, evidence: Evidence | None = None, *, oracle: Oracle = "exact") -> float:
        """Return log Z, the natural log of the sum of the weights of all states that agree with the evidence."""
        if oracle == "exact":
            return self._answers.log_partition(evidence)
        return self._answers.log_z(oracle, evidence)

    def log_probability(self, evidence: Evidence, *, oracle: Oracle = "exact") -> float:
        """Return the natural log of the probability of the evidence."""
        log_weight = self.log_partition(evidence, oracle=oracle)
        if log_weight == -np.inf:
            raise ImpossibleEvidenceError(f"the evidence on {escaped(', '.join(evidence))} has probability zero")
        return log_weight - (self._log_z if oracle == "exact" else self.log_partition(oracle=oracle))

    def approximation(
        self, evidence: Evidence | None = None, *, oracle: Oracle = "auto", max_bytes: float | None = None
    ) -> Approximation:
        """Return the probabilities of every attribute, given evidence, and what bounds the error of the answers.

        See `pypgm.bayes.BayesianNetwork.approximation`; its log Z is that of the states that agree with the evidence.

        Examples
        --------
        >>> from pypgm import Factor
        >>> domain = Domain({"a": 2, "b": 2})
        >>> field = MarkovRandomField.from_factors(domain, [Factor(domain, [30.0, 5.0, 1.0, 10.0])])
        >>> round(float(np.exp(field.approximation(oracle="region_graph").log_z)), 3)
        46.0
        """
        return self._answers.by(oracle, evidence, max_bytes=max_bytes)

    @cached_property
    def _log_z(self) -> float:
        return self._answers.log_partition()

    def to_networkx(self) -> networkx.Graph[str]:
        """Return the graph: an edge between each two attributes of a table, with their `strengths` as ``weight``."""
        import networkx

        graph: networkx.Graph[str] = networkx.Graph()
        graph.add_nodes_from((a, {"size": n}) for a, n in zip(self.domain.attributes, self.domain.shape, strict=True))
        graph.add_weighted_edges_from((a, b, weight) for (a, b), weight in self._edges().items())
        return graph

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the attributes on a circle, with stronger edges wider; new axes by default.

        Raises
        ------
        ImportError
            If matplotlib, the extra ``plot``, is not installed.
        """
        return draw_edges(self.domain.attributes, self._edges(), ax)

    def _edges(self) -> dict[tuple[str, str], float]:
        strengths, names = self.strengths(), self.domain.attributes
        pairs = sorted({pair for scope in self.potentials.scopes for pair in itertools.combinations(sorted(scope), 2)})
        return {(names[i], names[j]): float(strengths[i, j]) for i, j in pairs}

    def _drawn(self, rows: int, rng: np.random.Generator | int | None, evidence: Evidence | None) -> Dataset:
        """Draw exactly where a junction tree fits, else as `mrf.sample` does, or by weights if there is evidence."""
        if evidence and self._answers.fits:
            return self.graphical_model.synthetic_data(rows, rng, evidence=evidence)
        if evidence:
            codes = self._answers.records(rows, as_generator(rng), evidence, "auto")
            return Dataset._of_codes(codes, self.domain)
        if rows == 0:
            return Dataset({name: np.zeros(0, dtype=np.uint8) for name in self.domain}, self.domain)
        return sample(self.potentials, rows, rng=rng).data

    def archive(self) -> dict[str, Any]:
        """Return the fields of the field's file."""
        fields = {"cliques": self.cliques, "total": self.total, "potentials": self.potentials.values}
        return fields_of(self, _KIND) | fields

    def __repr__(self) -> str:
        return f"MarkovRandomField({len(self.domain)} attributes, {len(self.cliques)} tables, total {self.total:.6g})"


def markov_random_field(fields: dict[str, Any]) -> MarkovRandomField:
    """Return the field of the fields of a file."""
    domain = domain_of(fields)
    cliques = [tuple(clique) for clique in fields["cliques"]]
    if fields["potentials"].size != sum(map(domain.size, cliques)):
        raise ValueError("the potentials are not those of the cliques")
    return MarkovRandomField(CliqueVector(domain, cliques, fields["potentials"]), fields["total"])
