"""Facts of a release as text: reports, summaries and the output of the command.

A row is a title and a text, as `laid_out` takes it.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from pypgm._base.student import LEVEL_TEXT
from pypgm._base.terminal import NO_BREAK, WIDEST, aligned, escaped, laid_out
from pypgm.report import caveat_lines, measurement_lines, model_lines, unpaired_lines
from pypgm.reporting.facts import shares_of
from pypgm.reporting.quality import rounded
from pypgm.reporting.shares import ledger_lines, purposes_alike
from pypgm.reporting.words import labels_of, many, percent, reach_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pypgm.data import Schema
    from pypgm.domain import Clique
    from pypgm.files.stored_model import ReleasedModel
    from pypgm.privacy.ledger_report import LedgerReport
    from pypgm.privacy.promise import Promise
    from pypgm.released import Released
    from pypgm.reporting.as_values import AsValues
    from pypgm.reporting.facts import Facts, Losses
    from pypgm.reporting.quality import Quality
    from pypgm.reporting.shares import Share

Rows = list[tuple[str, str]]

_DIGITS = 16  # of a digest that are shown: two files in 10^19 agree in them by chance
_LABELS = 6  # of a column, at most
_LAWS = 20  # below each purpose in a summary, at most
_NAMED = 4  # columns that are named together, at most; fewer where the report is long
_LINES = 25  # of a report as wide as `WIDEST`, at most, unless single names are very long
_MAX_COLUMNS = 5  # columns that all stand in the table of a report
_OF_TABLE = 10  # lines on the columns of each of several tables, at most
_POINTS = "points: % of records to change to match the real table, by the release alone"


def release_lines(facts: Facts, width: int = WIDEST, *, model: bool = False, ledger: bool = False) -> list[str]:
    """Return the guarantee of a release, its expected errors, its losses and the shares of its budget.

    Columns that are alike are named together, and the worst of many, the fewer the longer it is: it fits a screen.

    Parameters
    ----------
    facts : Facts
    width : int
        Columns of text.
    model, ledger : bool
        Whether to add the measurements with the model, and the law of each draw; each adds all columns and losses.
    """
    release, most = facts.release, _LINES * WIDEST // width
    n_columns = len(release.model.domain)
    of_table = n_columns + 2 if n_columns <= _MAX_COLUMNS else 0  # many columns have what is left
    for named in range(_NAMED, 0, -1):
        rows = [*promise_rows(release.promise), *_table_rows(facts, named), *_budget_row(facts.shares, named)]
        lines = [*_wrapped_warnings(facts.warnings, width), *laid_out([*rows, *_last_rows(release)], width)]
        if len(lines) + of_table <= most:
            break
    lines += column_lines(release.model, release.schema, facts.quality, width, most - len(lines))
    lines += _whole_lines(facts, width) if model or ledger else []
    lines += ["", *_measured_lines(release), *model_lines(release.model)] if model else []
    lines += ["", *ledger_text(release.ledger, facts.shares, width)] if ledger else []
    return [*map(escaped, lines)]


def related_lines(
    tables: Mapping[str, Facts], ledger: LedgerReport, promise: Promise, *, whole: bool = False
) -> list[str]:
    """Return the text of several tables under one promise, with the shares of their common budget.

    Parameters
    ----------
    tables : mapping of str to Facts
        Facts of each table by its name.
    ledger : LedgerReport
        Common ledger.
    promise : Promise
        Common promise.
    whole : bool
        Whether to add the measurements, the models and the law of each draw.
    """
    shares = shares_of(tables, ledger)
    remarks = [f"{name}: {text}" for name, facts in tables.items() for text in facts.remarks]
    lines = [
        *_wrapped_warnings([*promise.caveats, *remarks], WIDEST),
        *laid_out([*promise_rows(promise), *_budget_row(shares)], WIDEST),
    ]
    for name, facts in tables.items():
        release = facts.release
        lines += ["", f"{name}:", *laid_out([*_table_rows(facts), *_last_rows(release)], WIDEST)]
        lines += column_lines(release.model, release.schema, facts.quality, WIDEST, _OF_TABLE)
        lines += _whole_lines(facts, WIDEST) if whole else []
        lines += ["", *_measured_lines(release), *model_lines(release.model)] if whole else []
    lines += ["", *ledger_text(ledger, shares, WIDEST)] if whole else []
    return [*map(escaped, lines)]


def summary_lines(facts: Facts) -> list[str]:
    """Return the guarantee of a release, the number of measurements, and its ledger draw by draw."""
    release = facts.release
    head = f"{facts.made_by}: {many(len(release.measurements), 'measurement')}, {facts.records_text}"
    first = [*caveat_lines(release.promise), f"guarantee: {release.promise.guarantee}", head]
    more = [*unpaired_lines(release), *release._details, *(f"{name}: {text}" for name, text in _account_row(release))]
    return [*map(escaped, [*first, *more]), *ledger_text(release.ledger, facts.shares, WIDEST, _LAWS)]


def promise_rows(promise: Promise) -> Rows:
    """Return the rows of the guarantee."""
    return [("guarantee", promise.strength), ("protects", promise.covered)]


def quality_rows(quality: Quality | None, values: AsValues | None = None, named: int = _NAMED) -> Rows:
    """Return the rows of the expected errors, for columns, their values as files have them, and pairs.

    The `named` columns with the largest errors are named, and the last one.
    """
    if quality is None:
        return [("columns", "their errors are not known for this kind of release")]
    columns, pairs = quality.of("columns"), quality.of("pairs")
    mean, of_pairs = quality.mean("columns"), quality.mean("pairs")
    unknown = [("", text) for text in quality.unknown_texts(named)]
    if mean is None:
        return [("columns", "no error is known"), *unknown]
    shown = _worst({name: points for (name,), points in columns.items()}, named)
    of = f" of {len(columns):,} of {len(columns) + len(quality.unknown('columns')):,}" if unknown else ""
    rows = [("columns", f"{rounded(mean)} points off on average{of}: {shown}"), *unknown]
    if values is not None and rounded(values.mean) != rounded(mean):
        text = f'{rounded(values.mean)} points off on average with what "other" and bins lose: '
        rows.append(("as values", text + _worst(values.points, named)))
    if of_pairs is not None:
        text = f"{rounded(of_pairs)} points off on average"
        if len(pairs) > 1:
            worst, *_, best = pairs
            text += f", from {pair_text(best, pairs)} to {pair_text(worst, pairs)}"
        rows += [("pairs", "; ".join([text, *_guessed(quality)]))]
    return [*rows, ("", _POINTS)]


def _worst(points: Mapping[str, float], most: int) -> str:
    """Return the points of the first columns and of the last one, given the worst first."""
    named = [f"{name}{NO_BREAK}{rounded(off)}" for name, off in points.items()]
    return ", ".join(named if len(named) <= most + 1 else [*named[:most], f"… {named[-1]}"])


def pair_text(pair: Clique, points: Mapping[Any, float]) -> str:
    """Return a pair and the points that it is off."""
    return f"{f'{NO_BREAK}×{NO_BREAK}'.join(pair)}{NO_BREAK}{rounded(points[pair])}"


def _guessed(quality: Quality) -> Iterator[str]:
    n_pairs, unknown = len(quality.looked_at("pairs")), len(quality.unknown("pairs"))
    if n_pairs < quality.n_pairs:
        yield f"{n_pairs:,} of {quality.n_pairs:,} looked at"
    if unknown:
        yield f"{unknown:,} of {n_pairs:,} have a column of unknown error, and are left out"
    if guessed := len(quality.pairs_on("unmeasured")):
        yield f"{guessed:,} of {n_pairs:,} were not counted together: how they depend is a guess"


def _table_rows(facts: Facts, named: int = _NAMED) -> Rows:
    """Return the rows of the mechanism, the records, the expected errors and the losses."""
    rows = [
        ("made by", facts.made_by),
        ("records", facts.records_text),
        *quality_rows(facts.quality, facts.as_values, named),
    ]
    if facts.quality and facts.quality.largest_error:
        column, records = facts.quality.largest_error
        rows.append(("largest error", f"± {reach_text(records)} ({LEVEL_TEXT}) records, in a count of {column[0]}"))
    warned = facts.remarks
    return [*[row for row in rows if row[1] not in warned], *lost_rows(facts.losses, named)]


def lost_rows(losses: Losses, named: int = _NAMED) -> Rows:
    """Return the row of the losses, in few words: of columns that are alike, the first `named`."""
    lost = "; ".join(losses.sentences(named))
    return [("lost", lost)] if lost else []


def _last_rows(release: Released) -> Rows:
    """Return the rows of measurements without a charge, charges without a measurement, account and digest."""
    return [*(("", line) for line in unpaired_lines(release)), *_account_row(release), digest_row(release.digest)]


def _account_row(release: Released) -> Rows:
    """Return the row of the account that the release was charged to, if there is one."""
    return [] if release.account is None else [("account", release.account.text)]


def digest_row(digest: str) -> tuple[str, str]:
    """Return the row of a digest, shortened."""
    return "digest", f"{digest[:_DIGITS]}, of everything in the file"


def column_lines(
    model: ReleasedModel, schema: Schema | None, quality: Quality | None, width: int, most: int | None = None
) -> list[str]:
    """Return a table of the columns: number of values, points off, first values.

    If it has more than `most` lines, the columns with the largest errors are shown, and the others are counted; if it
    then had no column, it is left out.
    """
    names, left = [*model.domain], ""
    if most is not None and len(names) > most - 2:
        names, left = _first_columns(names, quality, most - 3)
    if not names:
        return []
    rows: list[Sequence[str]] = [("column", "values", *(("points off",) if quality else ()), "")]
    for name in names:
        off = (quality.shown((name,)),) if quality else ()
        labelled, size = name in model.domain.labels, model.domain.size((name,))
        labels = labels_of(model.domain, name, schema)[:_LABELS] if labelled else []
        rows.append((name, f"{size:,}", *off, ", ".join([*labels, *(["…"] if labelled and size > _LABELS else [])])))
    return ["", *aligned(rows, width, numbers=[1]), *([left] if left else [])]


def _first_columns(names: Sequence[str], quality: Quality | None, most: int) -> tuple[list[str], str]:
    """Return `most` columns, those with the largest errors where they are known, and a line on the others."""
    points = {} if quality is None else {name: off for (name,), off in quality.of("columns").items()}
    worst = [*points, *(name for name in names if name not in points)]
    shown, others = worst[: max(most, 0)], worst[max(most, 0) :]
    known = [points[name] for name in others if name in points]
    return shown, f"and {len(others):,} more" + (f", at most {rounded(max(known))} points off" if known else "")


def _budget_row(shares: Sequence[Share], named: int = _NAMED) -> Rows:
    """Return the row of the shares of the budget; columns whose values or bins were found are counted."""
    return [("budget", ", ".join(f"{percent(part)} {purpose}" for purpose, part in purposes_alike(shares, named)))]


def _whole_lines(facts: Facts, width: int) -> list[str]:
    """Return all columns and all losses."""
    release, lost = facts.release, [("lost", text) for text in facts.losses.sentences()]
    columns = column_lines(release.model, release.schema, facts.quality, width)
    return [*columns, *(["", *laid_out(lost, width)] if lost else [])]


def ledger_text(ledger: LedgerReport, shares: Sequence[Share], width: int, most: int | None = None) -> list[str]:
    """Return a ledger: each purpose with its share of the budget, and the exact laws below it, `most` at most."""
    privacy = ledger.privacy
    relation = ""
    if privacy:
        of_unit = f"at most {privacy.records_per_person} times a record" if privacy.weight else ""
        relation = f"{privacy.neighbours} neighbours, {of_unit or f'{privacy.records_per_person} record(s) a person'}, "
    lines = laid_out([("spent", f"shares of {ledger.budget!r}, {relation}and the law of each draw:")], width)
    for head, laws in ledger_lines(ledger, shares, most):
        lines.append(escaped(head))
        lines += laid_out([(" " * 10, law) for law in laws], width)
    return lines


def _measured_lines(release: Released) -> list[str]:
    """Return the measurements with their noise, and the options of the mechanism."""
    counted = len({m.clique for m in release.measurements})
    head = f"measured: {len(release.measurements):,} counts of {counted:,} groups of columns"
    options = ", ".join(f"{name} {_shown(value)}" for name, value in release.options.items())
    lines = [head, *measurement_lines(release.measurements), *([f"options: {options}"] if options else [])]
    return [*lines, *release._details]


def _shown(value: object) -> str:
    """Return an option in a few words."""
    if isinstance(value, dict) and "cliques" in value:
        return f"of {len(value['cliques']):,} marginals"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def warning_lines(warnings: Sequence[str]) -> list[str]:
    """Return warnings, each on one line whose first word a program can look for."""
    return [f"warning: {text}" for text in warnings]


def _wrapped_warnings(warnings: Sequence[str], width: int) -> list[str]:
    """Return warnings for a reader, wrapped to a width."""
    indent = " " * len("warning: ")
    return [line for text in warning_lines(warnings) for line in textwrap.wrap(text, width, subsequent_indent=indent)]
