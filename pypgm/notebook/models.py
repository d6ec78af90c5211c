"""Models and graphs as HTML: a picture where matplotlib is there and the graph is small, and tables."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from pypgm._base.canvas import svg_of, unshown
from pypgm._base.html import Markup, folded, heading, table, warning, written
from pypgm.bayes import AnswerComparison, BayesianNetwork, TableComparison
from pypgm.graphs import JunctionTree, RegionGraph
from pypgm.io.uai import UaiModel
from pypgm.models.model import Model
from pypgm.mrf import MarkovRandomField, Sample
from pypgm.notebook.releases import fit
from pypgm.notebook.tables import dataset, domain, factor, names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NODES, _ROWS, _TABLES = 60, 40, 8


@written.register(Model)
def _model(shown: Model[Any]) -> Markup:
    """Return the size of a model, its cliques, and the end of its estimate."""
    over = shown.domain
    summary = f"{shown.total:,.6g} records, {len(over):,} attributes, {len(shown.cliques):,} cliques, "
    summary += f"{shown.potentials.values.size:,} parameters{'' if shown.is_exact else ';'}"
    exact = "" if shown.is_exact else "answers are of a region graph, each consistent with its neighbours"
    largest = sorted(shown.cliques, key=over.size, reverse=True)[:_ROWS]
    rows = [[names_of(c), over.size(c)] for c in largest]
    parts = [heading(type(shown).__name__, summary, exact)]
    parts += [warning(f"protects nobody: {shown.not_private}")] if shown.not_private else []
    parts.append(folded("Attributes", domain(over)))
    parts.append(folded("Cliques", table(["clique", "cells"], rows, len(shown.cliques) - len(rows))))
    parts += [] if shown.fit is None else [folded("Estimate", fit(shown.fit))]
    return Markup("".join(parts))


@written.register(JunctionTree)
def _junction_tree(shown: JunctionTree) -> Markup:
    """Return a junction tree as a picture and as a table."""
    cost = shown.cost
    memory = f"{cost.cells:,.4g} cells, {cost.bytes / 2**20:,.3g} MiB"
    summary = f"{len(shown.nodes):,} cliques, width {cost.width}, {memory}"
    rows = [[names_of(n.clique), ", ".join(n.separator), shown.domain.size(n.clique)] for n in shown.nodes[:_ROWS]]
    cliques = table(["clique", "shared with its parent", "cells"], rows, len(shown.nodes) - len(rows))
    return _pictured(heading("JunctionTree", summary), len(shown.nodes), shown.plot, "Cliques", cliques)


@written.register(RegionGraph)
def _region_graph(shown: RegionGraph) -> Markup:
    """Return a region graph as a picture and as a table."""
    summary = f"{len(shown.regions):,} regions, {len(shown.edges):,} edges, {shown.cells:,} cells"
    rows = [[names_of(r), shown.domain.size(r)] for r in shown.regions[:_ROWS]]
    regions = table(["region", "cells"], rows, len(shown.regions) - len(rows))
    return _pictured(heading("RegionGraph", summary), len(shown.regions), shown.plot, "Regions", regions)


@written.register(BayesianNetwork)
def _bayesian_network(shown: BayesianNetwork) -> Markup:
    """Return a network as a picture, its arcs, and its first tables."""
    arcs = sum(map(len, shown.parents.values()))
    summary = f"{shown.name}: {len(shown.domain):,} attributes, {arcs:,} arcs"
    rows = [[a, ", ".join(p), shown.tables[a].datavector().size] for a, p in shown.parents.items()]
    arcs_of = table(["attribute", "parents", "probabilities"], rows[:_ROWS], len(rows) - len(rows[:_ROWS]))
    tables = [
        folded(f"P({a}{' | ' * bool(shown.parents[a])}{', '.join(shown.parents[a])})", factor(t))
        for a, t in itertools.islice(shown.tables.items(), _TABLES)
    ]
    head = heading(type(shown).__name__, summary)
    return Markup(_pictured(head, len(shown.domain), shown.plot, "Attributes", arcs_of) + "".join(tables))


@written.register(MarkovRandomField)
def _markov_random_field(shown: MarkovRandomField) -> Markup:
    """Return a field with its strongest pairs."""
    strengths, names = shown.strengths(), shown.domain.attributes
    pairs = np.argwhere(np.triu(strengths > 0, 1)).tolist()
    pairs.sort(key=lambda pair: -strengths[pair[0], pair[1]])
    rows = [[names[i], names[j], float(strengths[i, j])] for i, j in pairs[:_ROWS]]
    summary = f"{shown.total:,.6g} records, {len(names):,} attributes, {len(shown.cliques):,} tables"
    whole = heading("MarkovRandomField", summary) + table(["", "", "strength"], rows, len(pairs) - len(rows))
    return Markup(whole + folded("Attributes", domain(shown.domain)))


@written.register(Sample)
def _sample(shown: Sample) -> Markup:
    """Return drawn records, and the method of drawing them."""
    how = f"method {shown.method}, {shown.n_chains:,} chains, {shown.sweeps:,} sweeps"
    return Markup(heading("Sample", how) + dataset(shown.data))


@written.register(UaiModel)
def _uai_model(shown: UaiModel) -> Markup:
    """Return the tables of a UAI file."""
    rows = [[names_of(t.domain.attributes), t.datavector().size] for t in shown.tables[:_ROWS]]
    summary = f"{shown.kind}: {len(shown.domain):,} attributes, {len(shown.tables):,} tables"
    return Markup(heading("UaiModel", summary) + table(["table", "cells"], rows, len(shown.tables) - len(rows)))


@written.register(TableComparison)
def _table_comparison(shown: TableComparison) -> Markup:
    """Return the distance of each table, the largest first."""
    order = sorted(shown.mean_l1, key=lambda a: -shown.mean_l1[a])
    rows = [[a, float(shown.mean_l1[a]), float(shown.mean_kl[a]), int(shown.unsupported[a])] for a in order[:_ROWS]]
    head = ["attribute", "mean L1 of a row", "mean KL", "unsupported"]
    return Markup(heading("TableComparison") + table(head, rows, len(order) - len(rows)))


@written.register(AnswerComparison)
def _answer_comparison(shown: AnswerComparison) -> Markup:
    """Return the distances of answers, query by query."""
    n = min(len(shown.l1), _ROWS)
    rows = [[i, *(float(v[i]) for v in (shown.l1, shown.mean_l1, shown.kl, shown.map_agreement))] for i in range(n)]
    head = ["query", "L1", "mean L1", "KL", "MAP agreement"]
    return Markup(heading("AnswerComparison") + table(head, rows, len(shown.l1) - n))


def _pictured(head: Markup, nodes: int, plot: Callable[[], Axes], title: str, rows: Markup) -> Markup:
    """Return a heading, a picture where possible, and a table, which is folded below a picture."""
    picture = _picture(plot) if 0 < nodes <= _NODES else Markup("")
    return Markup(head + picture + folded(title, rows, is_open=not picture))


def _picture(plot: Callable[[], Axes]) -> Markup:
    with contextlib.suppress(ImportError), unshown():  # without matplotlib the table is enough
        return Markup(svg_of(plot()))
    return Markup("")
