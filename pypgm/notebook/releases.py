"""Releases, budgets and plans as HTML."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pypgm._base.html import Markup, bar, element, folded, heading, table, warning, written
from pypgm.errors import ModelTooLargeError
from pypgm.estimation import Fit
from pypgm.mechanisms.related_release import RelatedRelease
from pypgm.mrf.structure import Structure
from pypgm.notebook.tables import few_labels, names_of, spark
from pypgm.planning import Plan
from pypgm.privacy.ledger_report import LedgerReport
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.promise import Promise, strength_text
from pypgm.release import Release
from pypgm.report import caveat_lines, measured_rows, together
from pypgm.reporting.facts import Facts, shares_of
from pypgm.reporting.shares import budget_shares, ledger_lines
from pypgm.reporting.words import percent

if TYPE_CHECKING:
    from pypgm.domain import Domain
    from pypgm.reporting.shares import Share

_ATTRIBUTES, _MEASURED, _LAWS = 30, 40, 200


@written.register(Release)
def release(shown: Release) -> Markup:
    """Return the promise of a release and its attributes, and folded its measurements and its ledger."""
    domain = shown.model.domain
    title = f"{shown.mechanism}: {shown.model.total:,.0f} records of {len(domain):,} attributes"
    parts = [heading(type(shown).__name__, title), *_promise(shown.promise)]
    rows = [[a, s, few_labels(domain, a), _picture(shown, a)] for a, s in _first(domain)]
    parts.append(table(["attribute", "values", "labels", "model"], rows, len(domain) - len(rows)))
    noise = measured_rows(shown.measurements)
    noise.sort(key=lambda row: (len(row[0]), row[2]))
    measured = [[names_of(c), n, float(f"{s:.3g}")] for c, n, s in noise[:_MEASURED]]
    head = ["measured", "numbers", "noise (records)"]
    summary = f"What was measured: {len(shown.measurements):,} measurements"
    parts.append(folded(summary, table(head, measured, len(noise) - len(measured))))
    parts.append(folded("What it cost", ledger_report(shown.ledger, Facts(shown).shares)))
    return Markup("".join(parts))


@written.register(RelatedRelease)
def _related_release(shown: RelatedRelease) -> Markup:
    """Return the releases of two tables."""
    summary = f"at most {shown.max_children} children; context: {', '.join(shown.context) or 'none'}"
    whole = "".join([heading("RelatedRelease", summary), *_promise(shown.promise)])
    opened = folded("Parents", release(shown.parents), is_open=True) + folded("Children", release(shown.children))
    shares = shares_of(shown._facts, shown.ledger)
    return Markup(whole + opened + folded("What both cost", ledger_report(shown.ledger, shares)))


@written.register(LedgerReport)
def ledger_report(shown: LedgerReport, shares: Sequence[Share] | None = None) -> Markup:
    """Return the shares of a budget by purpose, and folded the exact law of each draw."""
    shares = budget_shares(shown) if shares is None else shares
    rows = [[s.purpose, Markup(percent(s.share)), bar(float(s.share))] for s in shares]
    whole = heading(type(shown).__name__, Promise.of(shown, "").guarantee) + table(["spent on", "share", ""], rows)
    charges = [table([head], [[law] for law in laws]) for head, laws in ledger_lines(shown, shares, _LAWS) if laws]
    return Markup(whole + folded(f"{len(shown.lines):,} charges", *charges) * bool(charges))


@written.register(Plan)
def _plan(shown: Plan) -> Markup:
    """Return the planned measurements of a mechanism, and the expected errors of its answers."""
    summary = f"{shown.mechanism} on {shown.n_records:,} records"
    measured = together(zip(shown.cliques, shown.numbers, shown.stddev, strict=True))
    rows = [[names_of(c), n, float(f"{s:.3g}")] for c, n, s in measured[:_MEASURED]]
    head = ["would be measured", "numbers", "noise (records)"]
    parts = [
        heading("Plan", summary),
        element("div", f"{shown.expected()} (mean total variation)"),
        *([element("div", shown.interactions_found())] if shown.interactions_found() else []),
        table(head, rows, len(measured) - len(rows)),
    ]
    took = f"time: {shown.seconds:.1f} s beside reading the table"
    took += "" if shown.bytes is None else f"; memory: {shown.bytes / 2**20:,.0f} MiB"
    return Markup("".join([*parts, element("div", took, style="opacity:.75")]))


@written.register(Fit)
def fit(shown: Fit) -> Markup:
    """Return the end of an estimate, and the course of its loss."""
    gap = "unknown" if shown.gap is None else f"{shown.gap:.3g}"
    rows = [
        ["ended", shown.status],
        ["loss", f"{shown.loss:.6g}"],
        ["at most above the optimum", gap],
        ["iterations", f"{shown.iterations:,}"],
        ["seconds", f"{shown.seconds:.3g}"],
    ]
    losses = np.log1p(np.maximum(np.nan_to_num(np.array(shown.history, dtype=np.float64)), 0.0))
    picture = [["loss, step by step", spark(losses, average=True)]] if losses.size > 1 else []
    return Markup(heading("Fit") + table(["", ""], [*rows, *picture]))


@written.register(Structure)
def _structure(shown: Structure) -> Markup:
    """Return the edges of a released graph, the strongest first."""
    edges = sorted((shown.edges or {}).items(), key=lambda edge: -edge[1])
    rows = [[a, b, float(s)] for (a, b), s in edges[:_MEASURED]]
    outcome = "no graph was stable" if shown.edges is None else f"{len(edges):,} edges"
    summary = f"{outcome} among {len(shown.attributes):,} attributes"
    whole = heading("Structure", summary) + table(["", "", "strength"], rows, len(edges) - len(rows))
    return Markup(whole + folded("What it cost", ledger_report(shown.ledger)))


@written.register(PrivateTable)
def _private_table(shown: PrivateTable) -> Markup:
    """Return the public facts of a table behind a ledger: its attributes, the relation and the budget."""
    domain = shown.domain
    rows = [[a, s, few_labels(domain, a)] for a, s in _first(domain)]
    parts = [heading(type(shown).__name__, "its records are not shown")]
    parts += _promise(Promise.of(shown.ledger, shown.privacy.sentence, [shown.schema]))
    parts.append(table(["attribute", "values", "labels"], rows, len(domain) - len(rows)))
    return Markup("".join([*parts, folded("What was spent", ledger_report(shown.ledger))]))


def _promise(promise: Promise) -> list[Markup]:
    """Return the line on the missing protection, then the guarantee in words."""
    first = [warning(element("b", line)) for line in caveat_lines(promise)]
    if promise.not_private:
        return first
    protects = "Otherwise protects" if first else "Protects"
    return [*first, element("div", f"{protects} {promise.protects}. Guarantee: {strength_text(promise.budget)}.")]


def _first(domain: Domain) -> list[tuple[str, int]]:
    return list(itertools.islice(zip(domain.attributes, domain.shape, strict=True), _ATTRIBUTES))


def _picture(shown: Release, attribute: str) -> Markup:
    """Return a small picture of an attribute's counts in the model, if it has them at hand."""
    with contextlib.suppress(ModelTooLargeError, ValueError):
        return spark(shown.model.project(attribute).datavector())
    return Markup("")
