"""``pypgm report``: one page to show, of a release or of two related ones."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pypgm.cli.arguments import Verbs, add_reading, add_verb, check_new, check_places, reading
from pypgm.cli.printing import present, tell
from pypgm.comparison import is_table
from pypgm.data import read_table
from pypgm.data.sources.files import has_contents, read_text, write_text
from pypgm.errors import table_checked
from pypgm.jobs.claim import Claim
from pypgm.mechanisms.related_release import RelatedRelease
from pypgm.release import Release, load
from pypgm.released import Released
from pypgm.reporting.card_file import CARDS, card_text, is_same_card
from pypgm.reporting.compared import NOT_PRIVATE
from pypgm.reporting.facts import Facts, related_dict
from pypgm.reporting.text import warning_lines
from pypgm.reporting.words import TITLE

_DESCRIPTION = """\
Write one page of HTML: what a release promises in plain words, what the budget was spent on, how far each column and
each pair of columns may be from the real table, what was lost, what not to use it for, and the ledger. The page loads
nothing and runs nothing, and is as public as the release.

With --audit the page has a folded part with the findings of an audit of the program, such as the one that "python -m
pypgm.audit wide --out audit.json" makes of the mechanism wide in about a minute.

With --card the command writes a card to lie beside the file of synthetic records, which --file names: README.md, a
page of Markdown whose header data catalogues read, or croissant.json, JSON-LD in the vocabulary Croissant. It may be
given twice, with or without --out.

With TABLE and --unsafe the real counts are drawn beside the others, in red. That page is NOT private.
"""
_USAGE = """\
examples:
  pypgm report people.pgm --out report.html
  pypgm report people.pgm people.csv --unsafe --out for-us-alone.html
  pypgm report people.pgm --audit audit.json --out report.html
  pypgm report people.pgm --card README.md --file people.csv --license CC-BY-4.0 --title "People of Aba"
  pypgm report DIRECTORY --out report.html   (of two related tables: the directory of RelatedRelease.save)
"""


def add_to(commands: Verbs) -> None:
    """Add the subcommand to the command line."""
    summary = "one page to show: promise, quality, losses"
    report = add_verb(commands, "report", _report, summary=summary, about=_DESCRIPTION, examples=_USAGE)
    report.add_argument("release", metavar="RELEASE", help="a file written by synth")
    report.add_argument("table", metavar="TABLE", nargs="?", help="the real records, with --unsafe")
    report.add_argument("--unsafe", action="store_true", help="draw counts of the real records: not private")
    report.add_argument("--audit", metavar="FILE", help="a .json file written by python -m pypgm.audit")
    report.add_argument("--title", default=TITLE, help="title of the page: its data, its author")
    report.add_argument("--out", metavar="FILE", help="where the page goes: .html")
    report.add_argument(
        "--card", metavar="FILE", action="append", default=[], help="a card of the records: .md, or Croissant in .json"
    )
    report.add_argument(
        "--file",
        metavar="FILE",
        help="the synthetic records that the card lies beside; never the real ones, whose number is private",
    )
    report.add_argument("--license", metavar="NAME", default="", help="licence on the card: CC-BY-4.0, an address, …")
    add_reading(report)


def _report(arguments: argparse.Namespace) -> None:
    release = _checked(arguments)
    facts = Facts(release) if isinstance(release, Release) else None
    writers: dict[str, Callable[[], None]] = {}  # of each file that is not there yet
    try:
        if arguments.out and not (facts and _is_made(arguments, facts.release)):
            writers[arguments.out] = partial(_write_page, arguments, release)
        for path in arguments.card:
            text = _card(arguments, facts, path)
            if not (has_contents(path) and is_same_card(read_text(path), text)):
                writers[path] = partial(write_text, path, text)
        for path in writers:
            check_new(path)
        for path, write in writers.items():
            with Claim(path):
                write()
    except ImportError as error:
        raise ValueError(str(error)) from None
    pages = [arguments.out] if arguments.out else []
    lines = warning_lines(release.promise.caveats) if writers else []
    for path in [*pages, *arguments.card]:
        what = "card" if path in arguments.card else "page"
        kind = f"NOT PRIVATE: {NOT_PRIVATE}" if arguments.unsafe and what == "page" else "as public as the release"
        is_new = path in writers
        lines.append(f"wrote {path}, {kind}" if is_new else f"done already: {path} is a {what} of this release")
    files = ({"report": arguments.out} if pages else {}) | ({"cards": arguments.card} if arguments.card else {})
    shown: dict[str, Any] = {}
    if arguments.json and isinstance(release, RelatedRelease):
        shown = related_dict(release._facts, release.ledger, release.promise)
    elif arguments.json and facts:
        shown = facts.to_dict()
    present(arguments, shown | {"files": files, "done": "now" if writers else "already"}, lines, tell)


def _checked(arguments: argparse.Namespace) -> Release | RelatedRelease:
    """Return the release, once all arguments and places fit."""
    if not arguments.out and not arguments.card:
        raise ValueError("report needs --out FILE for a page, or --card FILE for a card of the records")
    if (arguments.file or arguments.license) and not arguments.card:
        raise ValueError("--file and --license are for a card: name it with --card")
    if (arguments.table is not None) != arguments.unsafe or (arguments.unsafe and not arguments.out):
        needed = "a report with the real records is not private: TABLE and --unsafe go together, with --out"
        raise ValueError(f"{needed}; leave TABLE and --unsafe out for a page to publish")
    inputs = [path for path in (arguments.release, arguments.table, arguments.audit, arguments.file) if path]
    check_places(inputs, [arguments.out], (".html", ".htm"), may_exist=True)
    check_places([*inputs, *([arguments.out] if arguments.out else [])], arguments.card, CARDS, may_exist=True)
    if not Path(arguments.release).is_dir() and is_table(arguments.release):
        other, out = arguments.table or "TABLE", arguments.out or "compare.html"
        command = shlex.join(["pypgm", "compare", arguments.release, other, "--unsafe", "--out", out])
        raise ValueError(f"{arguments.release} is a table, but a report needs a release; for two tables: {command}")
    release = RelatedRelease.load(arguments.release) if Path(arguments.release).is_dir() else load(arguments.release)
    if not isinstance(release, Release | RelatedRelease):
        raise ValueError(f"{arguments.release} holds only a model: a report needs a release, with its ledger")  # noqa: TRY004
    if isinstance(release, RelatedRelease) and (arguments.unsafe or arguments.card):
        what = "real records" if arguments.unsafe else "card"
        raise ValueError(f"a report of two related tables takes no {what}")
    return release


def _write_page(arguments: argparse.Namespace, release: Release | RelatedRelease) -> None:
    if isinstance(release, RelatedRelease):
        release.report_html(arguments.out, audit=arguments.audit, title=arguments.title)
        return
    records = None
    if arguments.table is not None:
        known = release.model.domain if release.schema is None else release.schema.of_records()
        with table_checked():
            records = read_table(arguments.table, known, **reading(arguments))
    release.report_html(arguments.out, unsafe_data=records, audit=arguments.audit, title=arguments.title)


def _card(arguments: argparse.Namespace, facts: Facts | None, path: str) -> str:
    assert facts is not None  # related tables have been refused
    return card_text(facts, path, file=arguments.file, license=arguments.license, title=arguments.title)


def _is_made(arguments: argparse.Namespace, release: Released) -> bool:
    """Return whether the page of a release is there already; one with real counts or an audit is not."""
    if not has_contents(arguments.out) or arguments.unsafe or arguments.audit:
        return False
    text = Path(arguments.out).read_text(encoding="utf-8", errors="replace")
    return f"digest {release.digest[:16]}" in text and "It follows from the release alone" in text
