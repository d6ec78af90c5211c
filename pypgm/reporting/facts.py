"""Facts about a release, each computed once: for a terminal, a program, a page or a notebook."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pypgm._base.student import LEVEL, REACH
from pypgm.domain import Clique
from pypgm.models.model import Model
from pypgm.privacy.ledger_report import law_text
from pypgm.privacy.promise import Promise, odds
from pypgm.released import Released
from pypgm.report import warned_lines
from pypgm.reporting.losses import Losses, losses_of
from pypgm.reporting.quality import Kind, Quality, quality_of
from pypgm.reporting.shares import Share, budget_shares
from pypgm.reporting.words import records_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pypgm.privacy.ledger_report import LedgerReport


@dataclass(frozen=True)
class Facts:
    """A release and all figures that its views show.

    Parameters
    ----------
    release : Release
    progress : bool
        Whether to show progress on standard error.
    """

    release: Released
    progress: bool = False

    @cached_property
    def quality(self) -> Quality | None:
        """Expected errors of its answers, if they are known."""
        model, emptied = self.release.model, self.losses.emptied
        known = self.release._known if isinstance(model, Model) and model.recipe is not None else None
        return quality_of(model, progress=self.progress, known=known, emptied=emptied)

    @property
    def made_by(self) -> str:
        """Mechanism and version of pypgm that made it, as far as the file says."""
        return " ".join(part for part in (self.release.mechanism, "of pypgm", self.release.version) if part)

    @property
    def records_text(self) -> str:
        """Number of real records in words, with its ± where the measurements are known."""
        model, is_public = self.release.model, self.release.privacy.total_is_public
        reach = math.nan
        if not is_public and isinstance(model, Model) and model.recipe is not None and not model.recipe.total_is_known:
            known = self.release._known
            reach = math.nan if known is None else REACH * known.total_stddev
        return records_text(model.total, is_public=is_public, reach=reach, at_most=self.losses.at_most)

    @cached_property
    def losses(self) -> Losses:
        """Losses of the table on its way into the release."""
        return losses_of(self.release.model, self.release.schema, self.release.privacy)

    @cached_property
    def shares(self) -> list[Share]:
        """Shares of the budget by purpose."""
        return budget_shares(self.release.ledger, self.release.measurements)

    @cached_property
    def remarks(self) -> list[str]:
        """Warnings that are not about the promise."""
        return [*warned_lines(self.release), *(self.quality.warnings if self.quality else ())]

    @property
    def warnings(self) -> list[str]:
        """All warnings, those about the promise first."""
        return [*self.release.promise.caveats, *self.remarks]

    def to_dict(self, *, ledger: bool = False) -> dict[str, Any]:
        """Return the facts for JSON; `ledger` adds every charge."""
        release, budget, lost = self.release, self.release.ledger.budget, self.losses
        epsilon, delta = budget.epsilon, budget.delta or budget.reserved_delta
        return {
            **promise_dict(release.promise),
            "epsilon": None if epsilon is None else float(epsilon),
            "delta": float(delta or 0),
            "rho": float(budget.limit) if budget.unit == "rho" else None,
            "odds": odds(release.ledger.budget),
            "neighbours": release.privacy.neighbours,
            "records_per_person": release.privacy.records_per_person,
            "person": list(release.privacy.person),
            "mechanism": release.mechanism,
            "version": release.version,
            "records": float(release.model.total),
            "records_are_public": release.privacy.total_is_public,
            "columns": {a: release.model.domain.size((a,)) for a in release.model.domain},
            "quality": quality_dict(self.quality),
            "lost": {name: list(v) if isinstance(v, tuple) else dict(v) for name, v in lost._asdict().items()},
            "budget": shares_dict(self.shares, laws=ledger),
            "warnings": self.warnings,
        }


def promise_dict(promise: Promise) -> dict[str, Any]:
    """Return a promise for JSON."""
    return {
        "guarantee": promise.guarantee,
        "protects": promise.sentence,
        "caveats": list(promise.caveats),
        "not_private": promise.not_private,
    }


def quality_dict(quality: Quality | None) -> dict[str, Any] | None:
    """Return a quality for JSON, in percentage points."""
    if quality is None:
        return None

    def of_kind(kind: Kind) -> dict[str, Any]:
        return {
            "points": quality.mean(kind),
            "each": [_far_dict(quality, clique) for clique in [*quality.of(kind), *quality.unknown(kind)]],
        }

    largest = quality.largest_error
    return {
        "columns": of_kind("columns"),
        "pairs": {**of_kind("pairs"), "all": quality.n_pairs},
        "largest_error": largest and {"column": largest[0][0], "records": largest[1], "level": LEVEL},
    }


def _far_dict(quality: Quality, clique: Clique) -> dict[str, Any]:
    return {"columns": list(clique), "points": quality.far(clique), "basis": quality.basis[clique]}


def shares_dict(shares: Sequence[Share], *, laws: bool = False) -> list[dict[str, Any]]:
    """Return shares of a budget for JSON; `laws` adds every charge."""
    return [
        {"purpose": share.purpose, "share": float(share.share)}
        | ({"charges": [{"law": law_text(c), **c.to_dict()} for c in share.lines]} if laws else {})
        for share in shares
    ]


def related_dict(tables: Mapping[str, Facts], ledger: LedgerReport, promise: Promise) -> dict[str, Any]:
    """Return the facts of several tables under one promise for JSON; shares are of their common budget."""
    budget = shares_dict(shares_of(tables, ledger))
    return {**promise_dict(promise), "budget": budget, "parts": [facts.to_dict() for facts in tables.values()]}


def shares_of(tables: Mapping[str, Facts], ledger: LedgerReport) -> list[Share]:
    """Return the shares of the common budget of several tables; each purpose begins with the name of its table.

    Parameters
    ----------
    tables : mapping of str to Facts
        Facts of each table by its name.
    ledger : LedgerReport
        Common ledger.
    """
    shares = []
    for name, facts in tables.items():
        part = facts.release.ledger.budget.limit / ledger.budget.limit
        shares += [Share(f"{name}: {s.purpose}", s.share * part, s.lines) for s in facts.shares]
    return sorted(shares, key=lambda share: -share.share)
