"""``pypgm info``: what a release guarantees, how good it is, and what it holds."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from pypgm import load
from pypgm.cli.arguments import Verbs, add_verb
from pypgm.cli.printing import present
from pypgm.cli.summary_rows import Rows, budget_row, ledger_text, model_text, promise_rows, quality_rows, warning_lines
from pypgm.data import Schema
from pypgm.models.stored_model import ReleasedModel
from pypgm.release import Release
from pypgm.report import unpaired_lines
from pypgm.reporting.facts import Facts
from pypgm.reporting.quality import Quality
from pypgm.reporting.words import labels_of
from pypgm.terminal import aligned, laid_out, terminal_width

_DIGITS = 16  # of a digest, for the eye: by chance two files in 10^19 have the same
_ABOUT = """\
Print what a release guarantees to whom, how far its answers may be from the table it was made of, and what it holds.

"points" are percentage points: the share of the records that would have to change for a column, or a pair of columns,
to agree with the table. They are told by the release alone, and cost no privacy.
"""
_LABELS = 6  # of a column that are shown


def add_to(commands: Verbs) -> None:
    """Add the verb."""
    info = add_verb(commands, "info", _info, summary="what a release guarantees, how good it is", about=_ABOUT)
    info.add_argument("release", metavar="RELEASE", help="a file that synth wrote, or a model")
    info.add_argument("--ledger", action="store_true", help="what the budget was spent on, draw by draw")
    info.add_argument("--model", action="store_true", help="what was measured at which noise, and the model's size")


def _info(arguments: argparse.Namespace) -> None:
    found = load(arguments.release)
    width = terminal_width()
    if not isinstance(found, Release):
        facts: dict[str, Any] = {"records": found.total, "columns": _sizes(found)}
        lines = [*model_text(found, None), *laid_out([_holds(found.total), _digest(found.digest)], width)]
        lines += _columns(found, None, None, width)
    else:
        told = Facts(found)
        model = found.model
        facts = told.to_dict(ledger=arguments.ledger)
        lines = [*warning_lines(told.warnings), *laid_out(_rows(told), width)]
        lines += _columns(model, found.schema, told.quality, width)
        lines += model_text(model, found) if arguments.model else []
        lines += ledger_text(told, width) if arguments.ledger else []
    present(arguments, {**facts, "digest": found.digest}, lines)


def _rows(facts: Facts) -> Rows:
    """Return the guarantee, how good it is, what was lost and what was paid for what."""
    release = facts.release
    made = " ".join(part for part in (release.mechanism, "of pypgm", release.version) if part)
    rows = [*promise_rows(release.promise), ("made by", made), ("records", facts.records_text)]
    rows += quality_rows(facts.quality)
    if facts.quality and facts.quality.largest_error:
        column, records = facts.quality.largest_error
        rows.append(("largest error", f"± {records:,.3g} records, in a count of {column[0]}"))
    rows += [("lost", "; ".join(facts.losses.sentences()))] if facts.losses.sentences() else []
    rows += [*budget_row(facts), *(("", line) for line in unpaired_lines(release)), _digest(release.digest)]
    return rows


def _holds(total: float) -> tuple[str, str]:
    return "total", f"{total:,.0f} records"


def _digest(digest: str) -> tuple[str, str]:
    return "digest", f"{digest[:_DIGITS]}, of all that is in the file"


def _columns(model: ReleasedModel, schema: Schema | None, quality: Quality | None, width: int) -> list[str]:
    """Return a table of the columns: how many values, how far off, the first values."""
    rows: list[Sequence[str]] = [("column", "values", *(("points off",) if quality else ()), "")]
    for name, size in _sizes(model).items():
        off = (quality.shown((name,)),) if quality else ()
        labelled = name in model.domain.labels
        labels = labels_of(model.domain, name, schema)[:_LABELS] if labelled else []
        rows.append((name, f"{size:,}", *off, ", ".join([*labels, *(["…"] if labelled and size > _LABELS else [])])))
    return ["", *aligned(rows, width, numbers=[1])]


def _sizes(model: ReleasedModel) -> dict[str, int]:
    return {a: model.domain.size((a,)) for a in model.domain}
