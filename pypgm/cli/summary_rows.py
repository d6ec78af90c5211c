"""A release in words for whom the table belongs to: rows of a title and a text, as `laid_out` takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pypgm.report import measurement_lines, model_lines
from pypgm.reporting.quality import rounded
from pypgm.reporting.shares import ledger_lines, share_text
from pypgm.terminal import NO_BREAK, laid_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pypgm.domain import Clique
    from pypgm.models.stored_model import ReleasedModel
    from pypgm.privacy.promise import Promise
    from pypgm.release import Release
    from pypgm.reporting.facts import Facts
    from pypgm.reporting.quality import Quality

Rows = list[tuple[str, str]]

_NAMED = 4  # columns that are named, the worst
_POINTS = "points: % of records to change to agree with the table, as expected by the release alone"


def promise_rows(promise: Promise) -> Rows:
    """Return what is not protected, and then what is guaranteed to whom."""
    return [("guarantee", promise.strength), ("protects", promise.covered)]


def quality_rows(quality: Quality | None) -> Rows:
    """Return how good the result is, for columns and for pairs of them."""
    if quality is None:
        return [("columns", "how far they may be from the table is not known of this kind of release")]
    columns, pairs = quality.of("columns"), quality.of("pairs")
    mean, of_pairs = quality.mean("columns"), quality.mean("pairs")
    unknown = [("", text) for text in quality.unknown_texts()]
    if mean is None:
        return [("columns", "how far they may be from the table is not known of any"), *unknown]
    named = [f"{name}{NO_BREAK}{rounded(points)}" for (name,), points in columns.items()]
    shown = named if len(named) <= _NAMED + 1 else [*named[:_NAMED], f"… {named[-1]}"]
    of = f" of {len(columns):,} of {len(columns) + len(quality.unknown('columns')):,}" if unknown else ""
    rows = [("columns", f"{rounded(mean)} points off on average{of}: {', '.join(shown)}"), *unknown]
    if of_pairs is not None:
        text = f"{rounded(of_pairs)} points off on average"
        if len(pairs) > 1:
            worst, *_, best = pairs
            text += f", from {pair_text(best, pairs)} to {pair_text(worst, pairs)}"
        rows += [("pairs", "; ".join([text, *_guessed(quality)]))]
    return [*rows, ("", _POINTS)]


def pair_text(pair: Clique, points: Mapping[Any, float]) -> str:
    """Return a pair and how far it is off."""
    return f"{f'{NO_BREAK}×{NO_BREAK}'.join(pair)}{NO_BREAK}{rounded(points[pair])}"


def _guessed(quality: Quality) -> Iterator[str]:
    n_pairs, unknown = len(quality.looked_at("pairs")), len(quality.unknown("pairs"))
    if n_pairs < quality.n_pairs:
        yield f"{n_pairs:,} of {quality.n_pairs:,} looked at"
    if unknown:
        yield f"{unknown:,} of {n_pairs:,} are of a column of which nothing is known, and left out"
    if guessed := len(quality.pairs_on("unmeasured")):
        yield f"{guessed:,} of {n_pairs:,} were not counted together: how they depend is a guess"


def budget_row(facts: Facts) -> Rows:
    """Return what the budget was spent on, in one text."""
    return [("budget", ", ".join(f"{share_text(s.share)} {s.purpose}" for s in facts.shares))]


def ledger_text(facts: Facts, width: int) -> list[str]:
    """Return the whole ledger: each purpose with its share of the budget, and the exact laws below it."""
    ledger = facts.release.ledger
    lines = ["", *laid_out([("spent", f"shares of {ledger.budget!r}, and the law of each draw:")], width)]
    for head, laws in ledger_lines(ledger, facts.shares):
        lines.append(head)
        lines += laid_out([(" " * 10, law) for law in laws], width)
    return lines


def model_text(model: ReleasedModel, release: Release | None) -> list[str]:
    """Return what is inside: what was measured at which noise, the size of the model and how its estimate ended."""
    if release is None:
        return model_lines(model)
    counted = len({m.clique for m in release.measurements})
    head = f"measured: {len(release.measurements):,} counts of {counted:,} groups of columns"
    told = ", ".join(f"{name} {_shown(value)}" for name, value in release.options.items())
    options = [f"options: {told}"] if told else []
    return ["", head, *measurement_lines(release.measurements), *options, *model_lines(model)]


def _shown(value: object) -> str:
    """Return an option in a few words."""
    if isinstance(value, dict) and "cliques" in value:
        return f"of {len(value['cliques']):,} marginals"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def warning_lines(warnings: Sequence[str]) -> list[str]:
    """Return warnings, each on one line, that a program finds by its first word."""
    return [f"warning: {text.removeprefix('warning: ')}" for text in warnings]
