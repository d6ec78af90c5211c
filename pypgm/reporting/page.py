"""Report of a release as one HTML file: its promise, its expected errors, and its limits of use."""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm._base.student import LEVEL_TEXT
from pypgm.data import Dataset, Schema
from pypgm.data.columns.bins import Binned
from pypgm.data.sources.files import write_text
from pypgm.domain import Clique, Domain
from pypgm.factor import Factor
from pypgm.privacy.ledger_report import LedgerReport
from pypgm.privacy.promise import Promise, budget_text
from pypgm.released import Released
from pypgm.reporting.audited import AuditReport, audit_facts
from pypgm.reporting.drawings import Bars, Graph, Grid, bars, graph, grid, squares_of
from pypgm.reporting.facts import Facts, shares_of
from pypgm.reporting.quality import Quality, rounded
from pypgm.reporting.sentences import advice_of, promised
from pypgm.reporting.shares import ledger_lines
from pypgm.reporting.template import rendered
from pypgm.reporting.words import TITLE, labels_of, many, percent

_PICTURES = 120  # columns that are drawn, at most
_DRAWN = 3  # best pairs, and as many of the worst
_LISTED = 100  # pairs that are listed, at most
_LAWS = 3000  # draws listed for each purpose of a ledger, at most
_ABSOLUTE = math.sqrt(2 / math.pi)  # mean absolute value of a normal variable, in standard deviations


@dataclass(frozen=True)
class Part:
    """A table of a page.

    Parameters
    ----------
    name : str
        Name of the table; empty where there is only one.
    facts : Facts
        Facts of its release.
    unsafe_data : Dataset, optional
        The real records, whose counts are drawn too: the page is not private then.
    """

    name: str
    facts: Facts
    unsafe_data: Dataset | None = field(default=None, repr=False)


def write_page(
    path: str | os.PathLike[str],
    parts: Sequence[Part],
    ledger: LedgerReport,
    promise: Promise,
    *,
    title: str = TITLE,
    audit: AuditReport | None = None,
) -> None:
    """Write a page, whole or not at all.

    Parameters
    ----------
    path : str or path-like
    parts : sequence of Part
        The tables, one or two.
    ledger : LedgerReport
        Common ledger.
    promise : Promise
        Common promise.
    title : str
    audit : AuditReport, optional
        Audit of the version that made the release, folded in.

    Raises
    ------
    ImportError
        If jinja2, the extra ``report``, is not installed.
    OSError
        If the file cannot be written.
    """
    write_text(path, page_of(parts, ledger, promise, title=title, audit=audit))


def page_of(
    parts: Sequence[Part],
    ledger: LedgerReport,
    promise: Promise,
    *,
    title: str = TITLE,
    audit: AuditReport | None = None,
) -> str:
    """Return a page as text; the arguments are those of `write_page`."""
    shares = parts[0].facts.shares if len(parts) == 1 else shares_of({p.name: p.facts for p in parts}, ledger)
    releases = [part.facts.release for part in parts]
    by = [release.mechanism for release in releases], releases[0].version
    is_unsafe = any(part.unsafe_data is not None for part in parts)
    return rendered(
        "page.html",
        title=title,
        is_unsafe=is_unsafe,
        budget=budget_text(ledger.budget),
        unit=ledger.budget.unit,
        account=releases[0].account,
        level=LEVEL_TEXT,
        limit=f"{float(ledger.budget.limit):.6g}",
        promise=promise,
        promised=promised(promise, "the release" if is_unsafe else "this page", is_public=not is_unsafe),
        shares=[(share, i) for i, share in enumerate(shares)],
        ledger=ledger_lines(ledger, shares, _LAWS),
        parts=[_part(part) for part in parts],
        today=datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat(),
        audit=None if audit is None else audit_facts(audit, *by),
    )


def _part(part: Part) -> dict[str, Any]:
    """Return the arguments of the template for one table."""
    facts = part.facts
    release, quality = facts.release, facts.quality
    domain = release.model.domain
    names = list(domain.attributes)
    pairs = [] if quality is None else list(quality.of("pairs"))
    unknown = [] if quality is None else quality.unknown("pairs")
    counted = [] if quality is None else quality.pairs_on("measured", "merged")
    worst = pairs[:_DRAWN]
    best = [p for p in pairs[::-1] if p in counted and p not in worst][:_DRAWN]
    return {
        "name": part.name,
        "made_by": facts.made_by,
        "digest": release.digest,
        "records": release.model.total,
        "reach": facts.total_reach if math.isfinite(facts.total_reach) else None,
        "is_public": release.privacy.total_is_public,
        "warnings": facts.remarks,
        "quality": quality,
        "as_values": facts.as_values,
        "columns": [_column(part, name) for name in names[:_PICTURES]],
        "n_columns": len(names),
        "pairs": [(p, quality.shown(p), quality.basis[p]) for p in [*pairs, *unknown][:_LISTED]] if quality else [],
        "n_pairs": len(pairs) + len(unknown),
        "n_unknown": len(unknown),
        "unknown": [] if quality is None else quality.unknown_texts(),
        "squares": _squares(facts, names),
        "worst": [_pair(part, quality, p) for p in worst] if quality else [],
        "best": [_pair(part, quality, p) for p in best] if quality else [],
        "losses": facts.losses.sentences(),
        "at_most": facts.losses.at_most,
        "advice": advice_of(facts),
        "weight": release.privacy.weight,
        "network": _network(release),
    }


def _counts(release: Released, facts: Facts, clique: Clique) -> Factor:
    """Return the counts of a clique by the model."""
    if facts.quality is not None and clique in facts.quality.answers:
        return facts.quality.answers[clique]
    return release.model.project(clique)


def _column(part: Part, name: str) -> dict[str, Any]:
    """Return a column: its picture, its expected error, its losses."""
    facts = part.facts
    release, quality = facts.release, facts.quality
    schema, domain = release.schema, release.model.domain
    counts = _counts(release, facts, (name,)).datavector()
    errors = None if quality is None else quality.errors[name,].datavector()
    real = None if part.unsafe_data is None else part.unsafe_data.project(name).datavector()
    is_ordinal = _is_ordinal(schema, domain, name)
    places = _places(schema, name)
    labels = labels_of(domain, name, schema)
    if schema is not None and (merged := schema.columns[name].other_code) is not None:
        labels[merged] += " (merged)"
    picture: Bars = bars(name, labels, counts, errors, real, is_ordinal=is_ordinal, **places)
    lost = facts.losses
    notes = [*([f"coarsened: {lost.coarsened[name]}"] if name in lost.coarsened else [])]
    if name in lost.other:
        notes.append(f"{percent(lost.other[name])} merged into “other”; {many(lost.kept[name], 'value')} kept")
    if quality is not None and quality.basis[name,] == "unknown":
        notes.append("even shares, nothing is known")
    if name in lost.cut:
        notes.append(f"values beyond its bounds: {lost.cut[name]}")
    if name in lost.heavy:
        notes.append(f"in one bin: {lost.heavy[name]}: medians and means are coarse")
    off = "" if quality is None else quality.reason((name,)) or f"{quality.shown((name,))} points off"
    if facts.as_values is not None and name in facts.as_values.points:
        values = rounded(facts.as_values.points[name])
        notes += [] if off == f"{values} points off" else [f"{values} as values"]
    return {"name": name, "picture": picture, "off": off, "notes": notes, "size": domain.size((name,))}


def _is_ordinal(schema: Any, domain: Domain, name: str) -> bool:  # noqa: ANN401 - a schema or None
    """Return whether the values of a column have an order; codes without labels are taken to have one."""
    if schema is not None:
        return bool(schema.columns[name].is_ordinal)
    return name not in domain.labels


def _places(schema: Schema | None, name: str) -> dict[str, Any]:
    """Return how many values a column has beside missing and other ones, and where its bins begin and end."""
    if schema is None:
        return {}
    column = schema.columns[name]
    places: dict[str, Any] = {"n_values": column.n_values}
    if isinstance(column, Binned) and column.is_ordinal:
        first, last = column.ends()
        starts = np.append(first, last[-1] + (first.dtype.kind in "iu")).astype(np.float64)
        places |= {"starts": starts} if np.all(np.diff(starts) > 0) else {}
    return places


def _pair(part: Part, quality: Quality, clique: Clique) -> dict[str, Any]:
    """Return two columns: pictures of their counts."""
    facts = part.facts
    release = facts.release
    domain = release.model.domain
    # The column with more values goes down the page, where there is room for its names.
    turned = domain.size(clique[:1]) < domain.size(clique[1:])
    places = clique[::-1] if turned else clique
    labels = [labels_of(domain, name, release.schema) for name in places]

    def picture(counts: Factor) -> Grid:
        return grid(places, labels, counts.values.T if turned else counts.values)

    return {
        "names": clique,
        "places": places,
        "ends": [(values[0], values[-1]) for values in labels],
        "far": quality.shown(clique),
        "basis": quality.basis[clique],
        "drawn": picture(_counts(release, facts, clique)),
        "real": None if part.unsafe_data is None else picture(part.unsafe_data.project(clique)),
    }


def _squares(facts: Facts, names: Sequence[str]) -> dict[str, Any] | None:
    """Return the map of pairs; None where too few were looked at."""
    quality = facts.quality
    if quality is None or len(names) < 2:
        return None
    guessed = [p for p in quality.pairs_on("unmeasured") if not quality.reason(p)]
    return squares_of(names, quality.of("pairs"), guessed, {p: quality.reason(p) for p in quality.unknown("pairs")})


def _network(release: Released) -> dict[str, Any] | None:
    """Return the tables of a network, their shares of the budget and expected errors; None for another model."""
    parents: Mapping[str, Sequence[str]] | None = getattr(release.model, "parents", None)
    if parents is None or not hasattr(release, "allocation"):
        return None
    costs = release.allocation
    whole = sum(costs.values()) or 1
    known = {a: tuple(parents.get(a, ())) for a in release.model.domain}
    drawn: Graph = graph(known)
    rows = [
        {"name": a, "parents": sources, "share": costs[a] / whole, "points": _table_points(release, a)}
        for a, sources in known.items()
    ]
    return {"graph": drawn, "rows": rows, "mean": float(np.mean([row["points"] for row in rows]))}


def _table_points(release: Any, name: str) -> float:  # noqa: ANN401 - a release of a network
    """Return the expected error of a conditional table by noise, in percentage points, averaged over records."""
    errors: NDArray[np.float64] = release.table_error(name).values
    rows = 50 * _ABSOLUTE * errors.reshape(-1, errors.shape[-1]).sum(axis=1)
    parents = release.model.tables[name].domain.attributes[:-1]
    weights = release.model.query(parents).datavector() if parents else np.ones(1)
    return float(rows @ weights / max(float(weights.sum()), 1e-300))
