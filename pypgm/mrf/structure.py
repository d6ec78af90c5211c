"""The graph of a Markov random field, learned under differential privacy: by thresholds, or stable over blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from pypgm._base.html import Shown
from pypgm._base.numeric import check_choice, checked_integer, checked_real
from pypgm.data import Dataset
from pypgm.estimation.limits import LIMIT_DEFAULTS
from pypgm.mrf.field import draw_edges
from pypgm.mrf.nonprivate_learning import fit_logistic
from pypgm.mrf.private_learning import FieldOptions, FieldRun
from pypgm.mrf.regression_plans import pairwise_plan
from pypgm.mrf.stability import Edges, Stability
from pypgm.privacy.budget import Budget
from pypgm.privacy.noise import laplace_threshold
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.rational import Number
from pypgm.privacy.tables import takes_any_table

if TYPE_CHECKING:
    import networkx
    from matplotlib.axes import Axes
    from typing_extensions import Unpack

    from pypgm.data.sources.frames import Frame
    from pypgm.data.sources.layout import Layout
    from pypgm.mrf.field_release import FieldRelease
    from pypgm.privacy.ledger_report import LedgerReport
    from pypgm.privacy.private_table import Counts


_BLOCKS_A_THRESHOLD = 3
_BITS = 40
_TOLERANCE = 1e-4  # of a block's regressions, in nats a record: edges differ by far more


@dataclass(frozen=True, slots=True, eq=False)
class Structure(Shown):
    """A released graph.

    Attributes
    ----------
    attributes : tuple of str
    edges : mapping of (str, str) to float, optional
        The strength of each edge: its largest absolute weight in the centred gauge, or 1 where only the graph was
        released. None where no graph was stable.
    ledger : LedgerReport
        Charges of the learner.
    release : FieldRelease, optional
        The field that the graph was read from.
    threshold : float
        Strength, or number of noisy votes, required.
    n_blocks : int
        Number of blocks that voted, possibly 0.
    scale : float
        Scale of the noise on votes; 0 without votes.
    """

    attributes: tuple[str, ...]
    edges: dict[tuple[str, str], float] | None
    ledger: LedgerReport
    release: FieldRelease | None
    threshold: float
    n_blocks: int = 0
    scale: float = 0.0

    @property
    def graph(self) -> networkx.Graph[str] | None:
        """The graph, edges with their strength as ``weight``; None where no graph was stable."""
        import networkx

        if self.edges is None:
            return None
        graph: networkx.Graph[str] = networkx.Graph()
        graph.add_nodes_from(self.attributes)
        graph.add_edges_from((a, b, {"weight": strength}) for (a, b), strength in self.edges.items())
        return graph

    def none_probability(self, votes: Sequence[int]) -> float:
        """Return the probability that no graph is released, for supposed votes of blocks.

        Parameters
        ----------
        votes : sequence of int
            Supposed votes of each graph that has some, at least 1 each, all blocks together.

        Raises
        ------
        ValueError
            If no blocks voted, or the votes do not come from `n_blocks` blocks.
        """
        counts = [checked_integer("votes", v, 1) for v in votes]
        if self.n_blocks == 0 or sum(counts) != self.n_blocks:
            raise ValueError(f"votes must be those of {self.n_blocks} blocks, at least one, got {sum(counts)}")
        return math.prod(1 - _reaches(self.scale, int(self.threshold) - count) for count in counts)

    def of_table(self, layout: Layout, places: tuple[str, ...]) -> Structure:
        """Return the graph with a release that knows the layout of its table and the paths of its files."""
        return self if self.release is None else replace(self, release=self.release.of_table(layout, places))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the attributes on a circle, with stronger edges wider.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New axes by default.

        Raises
        ------
        ValueError
            If no graph was stable.
        ImportError
            If matplotlib, the extra ``plot``, is not installed.
        """
        if self.edges is None:
            raise ValueError("no graph was stable: there is none to draw")
        return draw_edges(self.attributes, self.edges, ax)


def _reaches(scale: float, t: int) -> float:
    """Return P(Z >= t) of discrete Laplace noise."""
    q = math.exp(-1 / scale)
    return q**t / (1 + q) if t >= 1 else 1 - q ** (1 - t) / (1 + q)


@takes_any_table(FieldOptions, LIMIT_DEFAULTS)
def learn_structure(
    data: Counts | PrivateTable | Frame,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    radius: float,
    eta: float,
    method: Literal["threshold", "stability"] = "threshold",
    steps: int | None = None,
    n_blocks: int | None = None,
    **options: Unpack[FieldOptions],
) -> Structure:
    r"""Release the graph of a pairwise Markov random field: which attributes interact, given all others.

    "threshold" learns a field by `learn_pairwise` and keeps the edges of at least half of the least strength.
    "stability" learns no weights: the records are split at random into blocks, and in each block `fit_logistic` votes
    for a graph without privacy; the graph with the most noisy votes is released if it has enough of them, otherwise
    none. If blocks are large enough to be right, this takes far fewer records. Smaller blocks disagree, and no graph is
    released; but blocks of a dozen records may all vote for too many edges, which are then released: a vote says that
    blocks agree, not that they are right. `simulated_block_size` estimates the records that a block needs.

    Parameters
    ----------
    data, epsilon, delta, steps, **options
        Arguments of `learn_pairwise`. `steps` is for "threshold". For "stability" epsilon and delta are spent as pure
        noise and a probability of failure, ``Budget(epsilon=epsilon, reserved_delta=delta)``; a budget, an open table
        or a schema with open columns needs a `reserved_delta`.
    radius : float
        :math:`\lambda`, public: at least the width of the model.
    eta : float
        Public: the least strength that an edge has, its largest absolute weight in the centred gauge.
    method : {"threshold", "stability"}
    n_blocks : int, optional
        Number of blocks for "stability"; by default three times the votes that are needed. `simulated_block_size`
        estimates the records that a block needs.

    Returns
    -------
    Structure
        Its `graph` is None where no graph was stable; `Structure.none_probability` is the probability of that.

    Raises
    ------
    ValueError
        If a number is out of range, an option is of the other method, "stability" has no delta, or as in
        `learn_pairwise`.
    TypeError
        As in `learn_pairwise`.

    References
    ----------
    H. Zhang, G. Kamath, J. Kulkarni, Z. S. Wu, Privately Learning Markov Random Fields, ICML 2020.

    Examples
    --------
    >>> from pypgm import CliqueVector, Domain
    >>> from pypgm.mrf import sample
    >>> domain = Domain({"a": 2, "b": 2, "c": 2})
    >>> ising = CliqueVector(domain, [("a", "b"), ("b", "c")], [0.4, -0.4, -0.4, 0.4] * 2)
    >>> data = sample(ising, 200_000, rng=0).data
    >>> sorted(learn_structure(data, epsilon=2, delta=1e-6, radius=1.0, eta=0.4).edges or {})
    [('a', 'b'), ('b', 'c')]
    >>> sorted(learn_structure(data, epsilon=2, delta=1e-6, radius=1.0, eta=0.4, method="stability").edges or {})
    [('a', 'b'), ('b', 'c')]
    """
    width, least = checked_real("radius", radius), checked_real("eta", eta) / 2
    stable = method == "stability"
    check_choice("method", method, ("threshold", "stability"))
    if (steps if stable else n_blocks) is not None:
        raise ValueError("steps are for the method 'threshold', n_blocks for 'stability'")
    if stable and options.get("budget") is None and epsilon is not None:
        options["budget"], epsilon, delta = Budget(epsilon=epsilon, reserved_delta=delta or 0), None, None
    run = FieldRun("mrf.learn_structure", data, epsilon, delta, options)
    if stable:
        return _stable(run, _voter(width, least), n_blocks)
    release = run.learn(pairwise_plan(run.domain, width), steps)
    return Structure(run.domain.attributes, release.edges(least), release.ledger, release, least)


def _voter(radius: float, least: float) -> Callable[[Dataset], Edges]:
    def vote(block: Dataset) -> Edges:
        strengths = fit_logistic(block, radius, tolerance=_TOLERANCE).strengths()
        return tuple((i, j) for i, j in np.argwhere(np.triu(strengths >= least, 1)).tolist())

    return vote


def _stable(run: FieldRun, vote: Callable[[Dataset], Edges], given: int | None) -> Structure:
    table = run.table
    ledger, fail = table.ledger, table.ledger.remaining_delta()
    if fail <= 0:
        raise ValueError("stability fails with a probability: it needs a delta above 0, reserved by the budget")
    epsilon = ledger.epsilon_of(ledger.remaining())
    k = table.privacy.records_per_person
    needed = k + laplace_threshold(2 * k / epsilon, fail / k)
    n_blocks = _BLOCKS_A_THRESHOLD * needed if given is None else checked_integer("n_blocks", given, 1)
    outcome = Stability(table, vote, n_blocks).release(epsilon=epsilon, delta=fail)
    run.close()
    run.end()
    names = table.domain.attributes
    edges = None if outcome.edges is None else {(names[i], names[j]): 1.0 for i, j in outcome.edges}
    return Structure(names, edges, ledger.snapshot(), None, outcome.threshold, n_blocks, float(outcome.scale))
