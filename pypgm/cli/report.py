"""``pypgm report``: one page to show, of a release or of two related ones."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

from pypgm.cli.arguments import Verbs, add_reading, add_verb, check_new, check_places, reading
from pypgm.cli.printing import present, tell
from pypgm.comparison import is_table
from pypgm.data import read_table
from pypgm.data.sources.files import has_contents
from pypgm.errors import table_checked
from pypgm.jobs.claim import Claim
from pypgm.mechanisms.related_release import RelatedRelease
from pypgm.release import Release, load
from pypgm.reporting.compared import NOT_PRIVATE
from pypgm.reporting.facts import Facts, related_dict
from pypgm.reporting.page import TITLE
from pypgm.reporting.text import warning_lines

_DESCRIPTION = """\
Write one page of HTML: what a release promises in plain words, what the budget was spent on, how far each column and
each pair of columns may be from the real table, what was lost, what not to use it for, and the ledger. The page loads
nothing and runs nothing, and is as public as the release.

With --audit the page has a folded part with the findings of an audit of the program, such as the one that "python -m
pypgm.audit wide --out audit.json" makes of the mechanism wide in about a minute.

With TABLE and --unsafe the real counts are drawn beside the others, in red. That page is NOT private.
"""
_USAGE = """\
examples:
  pypgm report people.pgm --out report.html
  pypgm report people.pgm people.csv --unsafe --out for-us-alone.html
  pypgm report people.pgm --audit audit.json --out report.html
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
    report.add_argument("--out", metavar="FILE", required=True, help="where the page goes: .html")
    add_reading(report)


def _report(arguments: argparse.Namespace) -> None:
    if (arguments.table is not None) != arguments.unsafe:
        needed = "a report with the real records is not private: TABLE and --unsafe go together"
        raise ValueError(f"{needed}; leave both out for a page to publish")
    inputs = [path for path in (arguments.release, arguments.table, arguments.audit) if path]
    check_places(inputs, [arguments.out], (".html", ".htm"), may_exist=True)
    if not Path(arguments.release).is_dir() and is_table(arguments.release):
        other = arguments.table or "TABLE"
        command = shlex.join(["pypgm", "compare", arguments.release, other, "--unsafe", "--out", arguments.out])
        raise ValueError(f"{arguments.release} is a table, but a report needs a release; for two tables: {command}")
    release = RelatedRelease.load(arguments.release) if Path(arguments.release).is_dir() else load(arguments.release)
    if not isinstance(release, Release | RelatedRelease):
        raise ValueError(f"{arguments.release} holds only a model: a report needs a release, with its ledger")  # noqa: TRY004
    facts: dict[str, Any]
    if isinstance(release, Release) and _is_made(arguments, release):
        facts = Facts(release).to_dict() if arguments.json else {}
        facts |= {"files": {"report": arguments.out}, "done": "already"}
        present(arguments, facts, [f"done already: {arguments.out} is a page of this release"], tell)
        return
    check_new(arguments.out)
    with Claim(arguments.out):
        try:
            if isinstance(release, Release):
                facts = Facts(release).to_dict() if arguments.json else {}
                records = None
                if arguments.table is not None:
                    known = release.model.domain if release.schema is None else release.schema.of_records()
                    with table_checked():
                        records = read_table(arguments.table, known, **reading(arguments))
                release.report_html(arguments.out, unsafe_data=records, audit=arguments.audit, title=arguments.title)
            else:
                if arguments.unsafe:
                    raise ValueError("a report of two related tables takes no real records")
                facts = related_dict(release._facts, release.ledger, release.promise) if arguments.json else {}
                release.report_html(arguments.out, audit=arguments.audit, title=arguments.title)
        except ImportError as error:
            raise ValueError(str(error)) from None
    kind = f"NOT PRIVATE: {NOT_PRIVATE}" if arguments.unsafe else "as public as the release"
    lines = [*warning_lines(release.promise.caveats), f"wrote {arguments.out}, {kind}"]
    present(arguments, facts | {"files": {"report": arguments.out}, "done": "now"}, lines, tell)


def _is_made(arguments: argparse.Namespace, release: Release) -> bool:
    """Return whether the page of a release is there already; one with real counts or an audit is not."""
    if not has_contents(arguments.out) or arguments.unsafe or arguments.audit:
        return False
    text = Path(arguments.out).read_text(encoding="utf-8", errors="replace")
    return f"digest {release.digest[:16]}" in text and "It follows from the release alone" in text
