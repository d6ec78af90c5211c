"""``pypgm schema``: a first schema from a table, to be edited and confirmed; it is not private."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pypgm.cli.arguments import Verbs, add_dialect, add_table, add_verb, check_places, dialect
from pypgm.cli.checking import Checking
from pypgm.cli.printing import present, show, tell
from pypgm.data.draft.draft import draft_schema
from pypgm.data.draft.questions import Question, questions_of
from pypgm.data.draft.text import schema_text
from pypgm.data.draft.warnings import meaning
from pypgm.data.sources.files import write_text
from pypgm.domain import listed
from pypgm.errors import table_checked
from pypgm.jobs.claim import Claim
from pypgm.reporting.form import form_page

_DESCRIPTION = """\
Draft the schema of a table, and confirm it. The draft comes from the records and is NOT private: everything that was
read from them carries a warning, a question to be answered by public knowledge. Columns with a different value in
nearly every record are dropped.
"""
_SUMMARY = "draft the schema of a table (not private), and confirm it"
_USAGE = """\
examples:
  pypgm schema init people.csv --out schema.json
      the draft
  pypgm schema check schema.json
      its questions, one at a time; each answer is saved
  pypgm schema form schema.json --out form.html
      the same on a page that saves the finished schema
"""
_CHECK = """\
Ask what a draft left open, one question at a time, on the terminal. Each answer is saved at once: Ctrl-C keeps the
answers so far, and the same command goes on with the others. No record is read. With --list, or without a terminal, the
open questions are printed.

exit status: 0 if nothing is open, 1 if anything is
"""
_FORM = """\
Write a page on which a schema is finished in a browser: each column with what was read from the records, its questions,
and a button that saves the finished schema. The page loads nothing and sends nothing. It is as little private as the
draft.
"""


def add_to(commands: Verbs) -> None:
    """Add the subcommand to the command line."""
    schema = add_verb(commands, "schema", _init, summary=_SUMMARY, about=_DESCRIPTION, examples=_USAGE, has_json=False)
    steps = schema.add_subparsers(metavar="COMMAND", required=True)
    init = add_verb(steps, "init", _init, summary="draft a schema from a table", about=_DESCRIPTION, examples=_USAGE)
    init.add_argument(
        "table", metavar="TABLE", help="the records: a .csv, .parquet, .jsonl, .xlsx or .duckdb file, or a folder"
    )
    add_table(init)
    init.add_argument("--out", metavar="FILE", help="where the draft goes: a .json file (default: it is printed)")
    add_dialect(init)
    check = add_verb(steps, "check", _check, summary="answer what a draft left open", about=_CHECK)
    check.add_argument("schema", metavar="SCHEMA", help="a .json file, such as of schema init")
    check.add_argument("--list", action="store_true", help="print what is open, and ask nothing")
    form = add_verb(steps, "form", _form, summary="a page that finishes a schema", about=_FORM)
    form.add_argument("schema", metavar="SCHEMA", help="a .json file, such as of schema init")
    form.add_argument("--out", metavar="FILE", required=True, help="where the page goes: .html")


def _init(arguments: argparse.Namespace) -> None:
    check_places([arguments.table], [arguments.out], (".json", ".yaml", ".yml"))
    with table_checked():
        draft = draft_schema(arguments.table, arguments.duckdb_table, **dialect(arguments)._asdict())
    if arguments.json and arguments.out is None:
        present(arguments, {"schema": draft}, ())
        return
    text = schema_text(draft)
    if arguments.out is None:
        sys.stdout.write(text)
        return
    with Claim(arguments.out):
        write_text(arguments.out, text)
    questions = questions_of(draft)
    lines = [f"wrote {arguments.out}, NOT private: {_open_text(questions)}"]
    lines += [f"answer them: pypgm schema check {arguments.out}"] if questions else []
    lines += [f"warning: {meaning(draft['warning'])}"] if "warning" in draft else []
    if person := draft.get("person"):
        lines.append(f"person: {person['column']}, at most {person['at_most']} records of each: {_meaning_of(person)}")
    lines += [f"dropped: {name}, {meaning(why)}" for name, why in draft.get("drop", {}).items()]
    present(arguments, {"schema": draft, "files": {"schema": arguments.out}}, lines, tell)


def _meaning_of(entry: dict[str, Any]) -> str:
    return meaning(entry.get("warning"))


def _open_text(questions: Sequence[Question]) -> str:
    """Return how many questions are open, and what they are about."""
    if not questions:
        return "no question is open"
    about = listed(list(dict.fromkeys(question.subject for question in questions)), 12)
    return f"{len(questions)} question{'s are' if len(questions) > 1 else ' is'} open, about {about}"


def _check(arguments: argparse.Namespace) -> int:
    """Ask the open questions of a schema, or print them; return 1 if any is left."""
    checking = Checking(arguments.schema)
    has_terminal = sys.stdin is not None and sys.stdin.isatty()
    if not (arguments.list or arguments.json) and has_terminal:
        if arguments.schema.endswith((".yaml", ".yml")):
            raise ValueError(f"{arguments.schema} is YAML, and answers are saved as JSON: --list prints what is open")
        checking.run()
        after = [] if checking.left else [f"next  pypgm plan {arguments.schema}, or pypgm synth with --schema"]
        show([f"{arguments.schema}: {_open_text(checking.left)}", *after])
        return min(1, len(checking.left))
    if not (arguments.list or arguments.json) and checking.left:
        tell(["standard input is no terminal, so that nothing is asked: this is what is open"])
    lines = [f"{question.subject}: {question.note.sentence}" for question in checking.left]
    status = min(1, len(checking.left))
    present(arguments, {"status": status, "open": [_facts(question) for question in checking.left]}, lines)
    return status


def _facts(question: Question) -> dict[str, Any]:
    """Return a question for programs."""
    return {
        "place": question.place,
        "name": question.name,
        "code": question.note.code,
        "details": list(question.note.details),
        "question": question.note.sentence,
        "proposals": list(question.proposals),
    }


def _form(arguments: argparse.Namespace) -> None:
    check_places([arguments.schema], [arguments.out], (".html", ".htm"))
    fields = Checking(arguments.schema).fields
    with Claim(arguments.out):
        try:
            write_text(arguments.out, form_page(fields, Path(arguments.schema).name))
        except ImportError as error:
            raise ValueError(str(error)) from None
    lines = [f"wrote {arguments.out}, as little private as {arguments.schema}: open it in a browser"]
    present(arguments, {"files": {"form": arguments.out}}, lines, tell)
