"""Tables as HTML: domains, schemas, records, factors and answers, comparisons of workloads."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pypgm._base.html import Markup, bar, heading, shaded, table, text, warning, written
from pypgm._base.student import level_text
from pypgm._base.terminal import label_text
from pypgm.clique_vector import CliqueVector
from pypgm.data import Column, Dataset
from pypgm.data.schema.declaration import Declaration
from pypgm.domain import Clique, Domain, listed
from pypgm.estimation import LinearMeasurement
from pypgm.evaluation import Evaluation
from pypgm.factor import Factor
from pypgm.models.marginal import Marginal
from pypgm.report import noise_of
from pypgm.reporting.compared import NOT_PRIVATE, ComparedTables
from pypgm.reporting.quality import rounded
from pypgm.workloads import Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROWS, _COLUMNS, _RECORDS, _LABELS, _LONGEST = 30, 12, 8, 6, 40
_BARS = 40  # bars in a small picture of a marginal


@written.register(Domain)
def domain(shown: Domain) -> Markup:
    """Return the attributes of a domain, with their first labels."""
    rows = [
        [a, size, few_labels(shown, a)] for a, size in itertools.islice(zip(shown, shown.shape, strict=True), _ROWS)
    ]
    left = len(shown) - len(rows)
    summary = f"{len(shown):,} attributes, {_size(shown.size())} cells"
    return Markup(heading("Domain", summary) + table(["attribute", "values", "labels"], rows, left))


@written.register(Declaration)
def _declaration(shown: Declaration) -> Markup:
    """Return the declared columns of a schema."""
    rows: list[list[object]] = []
    for name, column in itertools.islice(shown.declared.items(), _ROWS):
        said = column.to_dict()
        kind = said.pop("kind", "")
        options = ", ".join(f"{k} {_short(v)}" for k, v in said.items())
        size: object = column.size if isinstance(column, Column) else "to be found"
        rows.append([name, kind, size, options])
    parts = [f"{len(shown.declared):,} columns"]
    if (k := shown.stated_records_per_person) is not None:
        people = f"kept of each {listed(list(map(repr, shown.key_columns)))}" if shown.key_columns else "a person"
        weighted = f"weighted by {shown.weight.column!r}, at most {k} a record" if shown.weight else ""
        parts.append(weighted or f"at most {k} record{'' if k == 1 else 's'} {people}")
    parts += [f"dropped: {', '.join(shown.drop)}"] * bool(shown.drop)
    parts += [f"{len(shown.rules):,} rules"] * bool(shown.rules)
    whole = heading("Schema", "; ".join(parts))
    return Markup(whole + table(["column", "kind", "codes", "declared"], rows, len(shown.declared) - len(rows)))


@written.register(Dataset)
def dataset(shown: Dataset) -> Markup:
    """Return the first records, as labels where there are some."""
    names = shown.domain.attributes[:_COLUMNS]
    labels = {a: shown.domain.labels[a] for a in names if a in shown.domain.labels}
    n = min(len(shown), _RECORDS)
    rows: list[list[object]] = []
    for i in range(n):
        codes = {a: int(shown.columns[a][i]) for a in names}
        cells: list[object] = [named(labels[a][c]) if a in labels else c for a, c in codes.items()]
        rows.append(cells + ([] if shown.weights is None else [float(shown.weights[i])]))
    head = [*names, *([] if shown.weights is None else ["weight"])]
    summary = f"{len(shown):,} records of {len(shown.domain):,} attributes"
    summary += "" if len(names) == len(shown.domain) else f", of which the first {len(names)} are shown"
    return Markup(heading("Dataset", summary) + table(head, rows, len(shown) - n))


@written.register(Factor)
def factor(shown: Factor) -> Markup:
    """Return a table of numbers, the last attribute across."""
    total = float(shown.datavector().sum())
    method = getattr(shown, "method", "")
    summary = f"{' × '.join(shown.domain) or 'one number'}, sum {text(total)}{f', {method}' if method else ''}"
    return Markup(heading(type(shown).__name__, summary) + _pivot(shown))


@written.register(Marginal)
def _marginal(shown: Marginal) -> Markup:
    """Return an answer with the ± of each number."""
    summary = f"{' × '.join(shown.counts.domain)}, {shown.basis}; ± holds {level_text(shown.level)} of errors"
    return Markup(heading("Marginal", summary) + _pivot(shown.counts, shown.reach))


@written.register(CliqueVector)
def _clique_vector(shown: CliqueVector) -> Markup:
    """Return the cliques of a vector, with the sizes of their tables."""
    rows = []
    for i, clique in enumerate(shown.cliques[:_ROWS]):
        cells = shown.table(i)
        rows.append([", ".join(clique), cells.size, float(cells.min()), float(cells.max())])
    head = ["clique", "cells", "least", "largest"]
    summary = f"{len(shown.cliques):,} cliques, {shown.values.size:,} cells"
    return Markup(heading("CliqueVector", summary) + table(head, rows, len(shown.cliques) - len(rows)))


@written.register(Evaluation)
def _evaluation(shown: Evaluation) -> Markup:
    """Return the distances of a workload, the largest first."""
    order = np.argsort(-shown.values, kind="stable")[:_ROWS]
    top = float(np.max(shown.values, initial=0.0)) or 1.0
    far = [(shown.cliques[i], float(shown.values[i])) for i in order]
    rows = [[names_of(clique), float(f"{value:.3g}"), bar(value / top)] for clique, value in far]
    summary = f"{shown.metric} over {len(shown.cliques):,} cliques: mean {shown.mean:.4g}, pooled {shown.pooled:.4g}"
    parts = [heading("Evaluation", summary)]
    parts += [warning(f"not private: {shown.not_private}")] if shown.not_private else []
    parts.append(table(["clique", shown.metric, ""], rows, len(shown.cliques) - len(rows)))
    return Markup("".join(parts))


@written.register(ComparedTables)
def _compared_tables(shown: ComparedTables) -> Markup:
    """Return the score of two tables, and the points that each column is off, the worst first."""
    order = sorted(shown.columns, key=lambda c: -c.points)[:_ROWS]
    rows = [[c.name, rounded(c.points), rounded(c.chance), bar(c.points / 100)] for c in order]
    whole = heading("ComparedTables", f"score {shown.score:.1f} of 100") + warning(f"not private: {NOT_PRIVATE}")
    return Markup(whole + table(["column", "points off", "by chance", ""], rows, len(shown.columns) - len(rows)))


@written.register(LinearMeasurement)
def _linear_measurement(shown: LinearMeasurement) -> Markup:
    """Return the answers of a measurement, and their noise."""
    summary = f"{names_of(shown.clique)}: {shown.values.size:,} numbers, noise {noise_of(shown):.3g} records"
    rows = [[f"{v:,.10g}"] for v in shown.values[:_LABELS]]
    return Markup(heading("LinearMeasurement", summary) + table(["values"], rows, shown.values.size - len(rows)))


@written.register(Workload)
def _workload(shown: Workload) -> Markup:
    """Return the marginals of a workload, with their weights."""
    marginals = itertools.islice(zip(shown.cliques, shown.queries, shown.weights, strict=True), _ROWS)
    rows = [
        [names_of(c), shown.domain.size(c), "every cell" if q is None else repr(q), str(w)] for c, q, w in marginals
    ]
    summary = f"{len(shown.cliques):,} marginals"
    head = ["clique", "cells", "asked", "weight"]
    return Markup(heading("Workload", summary) + table(head, rows, len(shown.cliques) - len(rows)))


def named(label: object) -> str:
    """Return a label for a reader, cut if it is long."""
    shown = label_text(label)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"


def spark(values: NDArray[np.float64], *, average: bool = False) -> Markup:
    """Return numbers as small bars; sums or means of neighbours if there are many."""
    shown = np.maximum(np.nan_to_num(values, posinf=0.0), 0.0)
    parts = [float(p.mean() if average else p.sum()) for p in np.array_split(shown, _BARS) if p.size]
    top = max(parts, default=0.0) or 1.0
    wide = 120 / max(1, len(parts))
    bars = [
        f'<rect x="{wide * i:.1f}" y="{20 - 20 * p / top:.1f}" width="{0.85 * wide:.1f}" height="{20 * p / top:.1f}"/>'
        for i, p in enumerate(parts)
    ]
    return Markup(f'<svg width="120" height="20" fill="#2563a8" role="img" aria-label="counts">{"".join(bars)}</svg>')


def _pivot(counts: Factor, reach: Factor | None = None) -> Markup:
    """Return a table with the last attribute across if it is short, otherwise with a row for each cell."""
    domain, cells = counts.domain, counts.datavector()
    spread = None if reach is None else reach.datavector()
    across = len(domain) > 1 and domain.shape[-1] <= _COLUMNS
    width = domain.shape[-1] if across else 1
    down = domain.attributes[:-1] if across else domain.attributes
    head = [*down, *(_labels(domain, domain.attributes[-1], width) if across else ["number"])]
    positive = cells[np.isfinite(cells) & (cells > 0)]
    top = float(positive.max()) if positive.size else 1.0

    def cell(i: int) -> Markup:
        content = text(float(cells[i])) if spread is None else _with_error(float(cells[i]), float(spread[i]))
        return shaded(content, float(cells[i]) / top)

    n_rows = cells.size // width
    keys = itertools.islice(_keys(domain, down), min(n_rows, _ROWS))
    rows = [[*key, *(cell(r * width + c) for c in range(width))] for r, key in enumerate(keys)]
    return table(head, rows, n_rows - len(rows))


def _with_error(value: float, error: float) -> str:
    """Return a number with its ±, both to the second digit of the ±."""
    if not (math.isfinite(value) and math.isfinite(error)):
        return f"{value:,.6g} ± {'unknown' if math.isinf(error) else f'{error:.2g}'}"
    digits = min(6, max(0, 1 - math.floor(math.log10(error)))) if error > 0 else 6
    return f"{value:,.{digits}f} ± {error:,.{digits}f}"


def _keys(domain: Domain, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    sizes = domain.sizes(names)
    labels = [domain.labels.get(a) for a in names]
    for codes in itertools.product(*(range(size) for size in sizes)):
        yield tuple(str(c) if t is None else named(t[c]) for c, t in zip(codes, labels, strict=True))


def _labels(domain: Domain, name: str, most: int) -> list[str]:
    labels = domain.labels.get(name)
    return list(map(str, range(most))) if labels is None else [*map(named, labels[:most])]


def few_labels(domain: Domain, name: str) -> str:
    """Return the first labels of an attribute as text; nothing where it has none."""
    labels = domain.labels.get(name)
    if labels is None:
        return ""
    return ", ".join(map(named, labels[:_LABELS])) + (", …" if len(labels) > _LABELS else "")


def names_of(clique: Clique) -> str:
    """Return the attributes of a clique as text."""
    return ", ".join(clique) or "(all records)"


def _short(value: Any) -> str:  # noqa: ANN401 - any value of JSON
    shown = listed([*map(named, value[: _LABELS + 1])], _LABELS) if isinstance(value, list | tuple) else str(value)
    return shown if len(shown) <= 2 * _LONGEST else shown[: 2 * _LONGEST - 1] + "…"


def _size(cells: int) -> str:
    return f"{cells:,}" if cells < 10**9 else f"about 10^{round(math.log10(cells))}"
