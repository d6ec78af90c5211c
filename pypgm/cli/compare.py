"""``pypgm compare``: the distance of a release, or a synthetic table, from the real one. Its output is not private."""

from __future__ import annotations

import itertools
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pypgm._base.terminal import aligned, cells_wide, laid_out, terminal_width
from pypgm.cli.arguments import add_reading, add_table, add_verb, check_places, dialect, reading, schema_in
from pypgm.cli.printing import present
from pypgm.comparison import is_table, synthetic_texts, text_table
from pypgm.data import read_table
from pypgm.data.sources.source import open_source
from pypgm.errors import table_checked
from pypgm.evaluation import evaluate
from pypgm.jobs.claim import Claim
from pypgm.release import Release, load
from pypgm.reporting.compared import NOT_PRIVATE, SCORE, compare_texts, shown_number, shown_quantile
from pypgm.reporting.quality import rounded

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from pypgm.cli.arguments import Verbs
    from pypgm.domain import Clique
    from pypgm.files.stored_model import ReleasedModel
    from pypgm.reporting.compared import ColumnPair, ComparedTables
    from pypgm.reporting.text import Rows

_ATTRIBUTES = 300  # columns at most whose pairs are compared, evenly spaced among all
_CELLS = 10**7  # cells at most of a pair that is compared
_WORST = 5  # pairs that are named
_DESCRIPTION = """\
Print how far synthetic records are from the real ones: one score, then for each column and for the worst pairs of them
the percentage of records that would have to change ("points"), beside it the same for two tables of the same people
("chance"), means, medians, quantiles and missing values. Values are compared as files have them: a change to
"other", or a draw within a bin, counts too. The answers of a release are compared as well, in the bins of its schema.

The numbers printed come from the records themselves and are NOT private. They are for the owner of the table, and
--unsafe confirms that this is understood.
"""
_USAGE = """\
examples:
  pypgm compare people.pgm people.csv --unsafe
  pypgm compare synthetic.csv people.csv --unsafe
  pypgm compare synthetic.csv people.csv --unsafe --out for-us-alone.html
"""


def add_to(commands: Verbs) -> None:
    """Add the subcommand to the command line."""
    summary = "how far synthetic records are from the real ones (not private)"
    compare = add_verb(commands, "compare", _compare, summary=summary, about=_DESCRIPTION, examples=_USAGE)
    compare.add_argument("release", metavar="SYNTHETIC", help="a file written by synth: a release, or a table")
    compare.add_argument(
        "table", metavar="TABLE", help="the real records: a .csv, .parquet, .jsonl, .xlsx or .duckdb file, or a folder"
    )
    compare.add_argument(
        "--schema", metavar="SCHEMA", help="for two tables: missing texts, formats of numbers and dates"
    )
    compare.add_argument("--unsafe", action="store_true", help="print numbers that are not private")
    compare.add_argument("--out", metavar="FILE", help="also write a page of HTML, no more private than the output")
    compare.add_argument("--sdmetrics", action="store_true", help="SDV's scores too; needs the extra sdmetrics")
    add_table(compare)
    add_reading(compare)


def _compare(arguments: argparse.Namespace) -> None:
    if arguments.out:
        check_places([arguments.release, arguments.table], [arguments.out], (".html", ".htm"))
    if not arguments.unsafe:
        raise ValueError("compare prints numbers that are not private; pass --unsafe if they stay with you")
    schema = None if arguments.schema is None else schema_in(arguments.schema)
    content: Release | ReleasedModel | None = None
    if is_table(arguments.release):
        synthetic = text_table(open_source(arguments.release, dialect=dialect(arguments)), schema)
        known = schema
    else:
        if schema is not None:
            raise ValueError("--schema is for two tables: a release knows its own")
        content = load(arguments.release)
        known = content.schema if isinstance(content, Release) else None
        synthetic = synthetic_texts(content)
    source = open_source(arguments.table, arguments.duckdb_table, dialect(arguments))
    with table_checked():
        compared = compare_texts(text_table(source, known), synthetic, known)
    answers = {} if content is None or arguments.duckdb_table is not None else _of_answers(content, arguments)
    try:
        scores = compared.sdmetrics_scores() if arguments.sdmetrics else {}
        if arguments.out:
            with Claim(arguments.out):
                compared.report_html(arguments.out)
    except ImportError as error:
        raise ValueError(str(error)) from None
    more: Rows = [("sdmetrics", ", ".join(f"{n} {100 * s:.1f} %" for n, s in scores.items()))] if scores else []
    more += [("file", f"{arguments.out}  the same as a page: not private")] if arguments.out else []
    facts = _facts(compared, answers) | {"sdmetrics": scores or None, "files": {"report": arguments.out}}
    present(arguments, facts, _lines(compared, answers, more, terminal_width()))


def _of_answers(content: Release | ReleasedModel, arguments: argparse.Namespace) -> dict[str, float]:
    """Return the errors of a model's own answers, in percentage points, for its columns and their pairs."""
    model, known = (content.model, content.schema) if isinstance(content, Release) else (content, None)
    with table_checked():
        schema = model.domain if known is None else known if known.weight else known.of_records()
        data = read_table(arguments.table, schema, **reading(arguments))
    names = model.domain.attributes
    some = names[:: -(-len(names) // _ATTRIBUTES)] if names else ()
    pairs = [c for c in itertools.combinations(some, 2) if model.domain.size(c) <= _CELLS]
    groups: dict[str, list[Clique]] = {"columns": [(a,) for a in names], "pairs": [*pairs]}
    return {
        n: 100 * evaluate(model, cliques=cliques, unsafe_data=data).mean for n, cliques in groups.items() if cliques
    }


def _lines(compared: ComparedTables, answers: dict[str, float], more: Rows, width: int) -> list[str]:
    rows: Rows = [("NOT PRIVATE", NOT_PRIVATE), ("score", f"{compared.score:.1f} of 100: {SCORE}")]
    in_bins = "" if compared.in_bins is None else f"; {rounded(compared.in_bins)} in the bins and values of the schema"
    rows.append(("columns", f"{rounded(100 - compared.column_score)} points off on average, as values{in_bins}"))
    if compared.pairs:
        worst = sorted(compared.pairs.items(), key=lambda entry: -entry[1][0])[:_WORST]
        named = ", ".join(f"{a} × {b} {rounded(points)} (chance {rounded(by)})" for (a, b), (points, by) in worst)
        rows.append(("pairs", f"{rounded(100 - compared.pair_score)} points off on average; the worst: {named}"))
    if compared.made:
        rows.append(("left out", f"{', '.join(compared.made)}: made up, and like no real value but by chance"))
    if answers:
        text = " and ".join(f"{rounded(points)} points of {name}" for name, points in answers.items())
        rows.append(("answers", f"of the release itself, in the bins of its schema: {text}"))
    rows += [
        (f"only {where}", ", ".join(names))
        for where, names in zip(("real", "synthetic"), compared.only, strict=True)
        if names
    ]
    rows += [(f"in {c.name}", c.note) for c in compared.columns if c.note]
    return [*laid_out([*rows, *more], width), "", *_table(compared.columns, width)]


def _table(columns: Iterable[ColumnPair], width: int) -> list[str]:
    """Return a table of the columns: for each one line of real values and one of synthetic values.

    A table that is too wide loses its last columns.
    """
    rows: list[Sequence[str]] = [
        ("column", "points", "", "missing %", "values", "mean", "median", "5 %", "95 %"),
        ("", "(chance)", "", "", "", "", "", "", ""),
    ]
    for c in columns:
        heads = [(c.name, rounded(c.points), "real"), ("", f"({rounded(c.chance)})", "synthetic")]
        for i, head in enumerate(heads):
            mean = shown_number(c.mean[i]) if c.mean else ""
            low, median, high = (shown_quantile(c, q) for q in c.quantiles[i]) if c.quantiles else ("", "", "")
            rows.append((*head, f"{100 * c.missing[i]:.3g}", f"{c.distinct[i]:,}", mean, median, low, high))
    for n in range(len(rows[0]), 3, -1):
        lines = aligned([row[:n] for row in rows], 10**6, numbers=(1, *range(3, n)))
        if max(map(cells_wide, lines)) <= width:
            return lines
    return aligned([row[:3] for row in rows], width, numbers=[1])


def _facts(compared: ComparedTables, answers: dict[str, float]) -> dict[str, Any]:
    """Return a comparison as JSON: the first of two numbers is of the real table."""
    columns = [asdict(c) for c in compared.columns]
    pairs = [{"columns": list(pair), "points": p, "chance": by} for pair, (p, by) in compared.pairs.items()]
    only = dict(zip(("real", "synthetic"), compared.only, strict=True))
    scores = {"score": compared.score, "column_score": compared.column_score, "pair_score": compared.pair_score}
    records = dict(zip(("real", "synthetic"), compared.records, strict=True))
    fields = {"not_private": NOT_PRIVATE, **scores, "records": records, "columns": columns, "pairs": pairs}
    fields |= {"only": only, "made": list(compared.made), "in_bins": compared.in_bins}
    return {**fields, "answers": answers or None}
