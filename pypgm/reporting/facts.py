"""Facts about a release, each computed once, and the losses of a table on its way into it."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pypgm._base.student import LEVEL, REACH
from pypgm._base.terminal import escaped
from pypgm.data import Schema
from pypgm.data.columns.bins import Binned
from pypgm.data.columns.derived import Derived
from pypgm.data.columns.derived_images import images_of
from pypgm.data.columns.made import Made
from pypgm.domain import Clique
from pypgm.files.stored_model import ReleasedModel
from pypgm.intervals.heavy_bins import heavy_bins
from pypgm.models.model import Model
from pypgm.models.record_blocks import Block
from pypgm.privacy.ledger_report import law_text
from pypgm.privacy.promise import Promise, odds
from pypgm.privacy.relation import Privacy
from pypgm.released import Released
from pypgm.report import warned_lines
from pypgm.reporting.as_values import AsValues, as_values, is_written_once
from pypgm.reporting.quality import Kind, Quality, quality_of
from pypgm.reporting.shares import Share, budget_shares
from pypgm.reporting.words import first_of, many, percent, records_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pypgm.privacy.ledger_report import LedgerReport


class Losses(NamedTuple):
    """Losses of a table, by its schema and the release.

    Attributes
    ----------
    coarsened : mapping of str to str
        Columns of which only bins are known, and the number of bins.
    cut : mapping of str to str
        Columns of numbers or dates beyond whose bounds values were moved, or have become missing or "other".
    other : mapping of str to float
        Columns in which values became "other", and the share of such records, 0 .. 1, by the release.
    kept : mapping of str to int
        Number of the other values of these columns.
    made : mapping of str to str
        Columns that were not read, the source of their values, and the share that a mapping turns into its "other".
    dropped : tuple of str
        Columns that were left out.
    missing : mapping of str to float
        Columns that may have missing values, and their share, 0 .. 1, by the release: partly noise.
    heavy : mapping of str to str
        Columns of which one bin holds more than a third of the records, by the release: their share and the bin.
    persons : mapping of str to int
        The columns that name persons, as one text, and the most records kept of each person.
    weights : mapping of str to int
        The column of weights, and the most that a record counts.
    """

    coarsened: Mapping[str, str]
    cut: Mapping[str, str]
    other: Mapping[str, float]
    kept: Mapping[str, int]
    made: Mapping[str, str]
    dropped: tuple[str, ...]
    missing: Mapping[str, float] = MappingProxyType({})
    heavy: Mapping[str, str] = MappingProxyType({})
    persons: Mapping[str, int] = MappingProxyType({})
    weights: Mapping[str, int] = MappingProxyType({})

    @property
    def emptied(self) -> tuple[str, ...]:
        """Columns of which no value was kept."""
        return tuple(name for name, values in self.kept.items() if not values)

    @property
    def at_most(self) -> int | None:
        """Number of records of each person that were kept at most; None where all were."""
        return next(iter(self.persons.values()), None)

    def sentences(self, most: int | None = None) -> list[str]:
        """Return the losses in words; everything else was kept.

        Parameters
        ----------
        most : int, optional
            Largest number of columns, or groups of like ones, that a sentence names; those that lost most come first.

        Examples
        --------
        >>> Losses({"age": "10 bins"}, {}, {"city": 0.253}, {"city": 16}, {}, ("name",)).sentences()
        ['coarsened: age (10 bins)', '"other": city (25 % of records; 16 values kept)', 'left out: name']
        >>> Losses(dict.fromkeys("abcd", "10 bins"), {}, {}, {}, {}, ()).sentences(2)
        ['coarsened: a, b and 2 more (10 bins)']
        """
        sentences = [
            f"records: at most {k:,} of each person, by {names}, were kept, and all counts are of these; how many were "
            "left out is private"
            for names, k in self.persons.items()
        ]
        sentences += [
            f"weights: a record counts as often as {name} says, at most {k:,} times; how many weigh more is private"
            for name, k in self.weights.items()
        ]
        if self.coarsened:
            sentences.append(f"coarsened: {_listed(self.coarsened, most)}")
        if self.heavy:
            sentences.append(f"in one bin: {_listed(self.heavy, most)}: medians and means are coarse")
        if self.cut:
            sentences.append(f"beyond their bounds: {_listed(self.cut, most)}")
        if self.other:
            columns = {n: f"{percent(s)} of records; {many(self.kept[n], 'value')} kept" for n, s in self.other.items()}
            order = columns if most is None else sorted(columns, key=lambda name: -self.other[name])
            sentences.append(f'"other": {_listed({name: columns[name] for name in order}, most)}')
        if self.missing:
            sentences.append(_missing_text(self.missing, most))
        if self.made:
            sentences.append(f"made anew: {_listed(self.made, most)}")
        if self.dropped:
            sentences.append(f"left out: {first_of(self.dropped, most)}")
        return sentences


def losses_of(model: ReleasedModel, schema: Schema | None, privacy: Privacy) -> Losses:
    """Return the losses of a table; without a schema its values were codes of unknown meaning.

    Parameters
    ----------
    model : GraphicalModel, RegionGraphModel or CountedNetwork
    schema : Schema or None
        Schema of the release, without open columns.
    privacy : Privacy
        Columns that name persons, and the most records kept of each, or the weight of a record and its limit.
    """
    persons = {", ".join(privacy.person): privacy.records_per_person} if privacy.person else {}
    weights = {privacy.weight: privacy.records_per_person} if privacy.weight else {}
    if schema is None:
        return Losses({}, {}, {}, {}, {}, (), persons=persons, weights=weights)
    columns = schema.columns
    coarse = {
        name: bins
        for name, column in columns.items()
        if (bins := column.coarseness) and not (isinstance(column, Binned) and is_written_once(column))
    }
    cut = {n: _moved(c) for n, c in columns.items() if isinstance(c, Binned) and c.outside != "refuse"}
    total = max(model.total, 1e-300)
    other = {
        n: float(model.project(n).values[c.other_code]) / total for n, c in columns.items() if c.other_code is not None
    }
    missing = _missing_shares(model, schema)
    lost = dict(_lost_to_other(model, schema))
    unread = set(schema.unread)
    made = {name: _made_of(column, lost.get(name)) for name, column in schema.made.items() if name in unread}
    kept = {n: columns[n].n_values for n in other}
    heavy = dict(_heavy_texts(model, schema))
    return Losses(coarse, cut, other, kept, made, tuple(schema.drop), missing, heavy, persons, weights)


def _heavy_texts(model: ReleasedModel, schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield each column of which one bin of several values holds more than a third of the records."""
    for name, code in heavy_bins(model, schema):
        share = percent(float(model.project(name).values[code]) / max(model.total, 1e-300))
        yield name, f"{share} of records in {model.domain.labels[name][code]}"


def _missing_shares(model: ReleasedModel, schema: Schema) -> dict[str, float]:
    """Return the share of missing values, 0 .. 1, of each column that may have some."""
    codes = {name: column.null_codes for name, column in schema.columns.items() if column.null_codes}
    total = max(model.total, 1e-300)
    return {name: float(model.project(name).values[[*of]].sum()) / total for name, of in codes.items()}


def _missing_text(shares: Mapping[str, float], most: int | None = None) -> str:
    """Return shares of missing values in words, of at most `most` columns.

    Examples
    --------
    >>> _missing_text({"job": 0.0213, "sex": 0.0})
    'missing (allowed by the schema; a few come from noise): job 2.1 %, sex 0 % of records'
    """
    order = shares if most is None else sorted(shares, key=lambda name: -shares[name])
    shown = first_of([f"{escaped(name)} {percent(shares[name])}" for name in order], most)
    return f"missing (allowed by the schema; a few come from noise): {shown} of records"


def _lost_to_other(model: ReleasedModel, schema: Schema) -> Iterator[tuple[str, float]]:
    """Yield the share of records of each mapped column whose value is not in its mapping."""
    mapped = {name: column for name, column in schema.made.items() if isinstance(column, Derived)}
    other_of = {n: c.other for n, c in mapped.items() if c.other not in (..., None, *(image for _, image in c.pairs))}
    for name, (parents, cells) in images_of(schema, other_of):
        labels: list[object] = list(cells.column.labels or ())
        is_other = np.asarray(cells.codes) == labels.index(other_of[name])
        with contextlib.suppress(ValueError, MemoryError):  # it is of too many columns
            yield name, float(model.project(parents).values.ravel()[is_other].sum()) / max(model.total, 1e-300)


def _made_of(column: Made, lost: float | None) -> str:
    """Return the source of a column's values, and the share of records whose value is not in its mapping."""
    if not column.sources:
        return "no real values"
    text = f"from {', '.join(column.sources)}"
    if lost is None or not isinstance(column, Derived):
        return text
    return f"{text}; {percent(lost)} of records have {str(column.other)!r}, for values that the mapping has not"


def _moved(column: Binned) -> str:
    texts = {"clip": "moved to the nearest bound", "null": "missing", "other": '"other"'}
    return texts[column.outside]


def _listed(columns: Mapping[str, str], most: int | None) -> str:
    """Return columns, those with the same text together; `most` limits the names of a text, and the texts."""
    alike: dict[str, list[str]] = {}
    for name, what in columns.items():
        alike.setdefault(what, []).append(name)
    texts = [f"{first_of(names, most)} ({what})" for what, names in alike.items()]
    left = sum(map(len, [*alike.values()][len(texts[:most]) :]))
    return ", ".join(texts[:most]) + (f" and {left:,} more" if left else "")


@dataclass(frozen=True)
class Facts:
    """A release and all figures that its views show.

    Parameters
    ----------
    release : Release
    progress : bool
        Whether to show progress on standard error.
    drawn : Block, optional
        Records of the release, if there are any; see `quality_of`.
    """

    release: Released
    progress: bool = False
    drawn: Block | None = None

    @cached_property
    def quality(self) -> Quality | None:
        """Expected errors of its answers, if they are known."""
        model, emptied = self.release.model, self.losses.emptied
        known = self.release._known if isinstance(model, Model) and model.recipe is not None else None
        return quality_of(model, progress=self.progress, known=known, emptied=emptied, drawn=self.drawn)

    @cached_property
    def as_values(self) -> AsValues | None:
        """Expected errors of columns as files have them, where a schema and errors are known."""
        schema, quality = self.release.schema, self.quality
        return None if schema is None or quality is None else as_values(quality, schema)

    @property
    def made_by(self) -> str:
        """Mechanism and version of pypgm that made it, as far as the file says."""
        return " ".join(part for part in (self.release.mechanism, "of pypgm", self.release.version) if part)

    @property
    def total_reach(self) -> float:
        """Error of the number of real records, where it is noisy and the measurements are known; otherwise NaN."""
        model, is_public = self.release.model, self.release.privacy.total_is_public
        if not is_public and isinstance(model, Model) and model.recipe is not None and not model.recipe.total_is_known:
            known = self.release._known
            return math.nan if known is None else REACH * known.total_stddev
        return math.nan

    @property
    def records_text(self) -> str:
        """Number of real records in words, with its ± where the measurements are known."""
        is_public = self.release.privacy.total_is_public
        return records_text(self.release.model.total, is_public=is_public, reach=self.total_reach, **self._counted)

    @property
    def _counted(self) -> dict[str, Any]:
        """Records that were counted, if not all alike: some of each person, or a weighted population."""
        return {"at_most": self.losses.at_most, "weight": self.release.privacy.weight}

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
            "weight": release.privacy.weight,
            "mechanism": release.mechanism,
            "version": release.version,
            "account": release.account and release.account.to_dict(),
            "records": float(release.model.total),
            "records_are_public": release.privacy.total_is_public,
            "columns": {a: release.model.domain.size((a,)) for a in release.model.domain},
            "quality": quality_dict(self.quality),
            "as_values": self.as_values and self.as_values.to_dict(),
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
