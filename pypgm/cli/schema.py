"""``pypgm schema``: schemas of tables."""

from __future__ import annotations

import argparse
import sys

from pypgm.cli.arguments import Verbs, add_dialect, add_table, add_verb, check_places, dialect
from pypgm.cli.claim import Claim
from pypgm.cli.printing import present, tell
from pypgm.data.draft.draft import draft_schema
from pypgm.data.draft.typed import draft_text
from pypgm.data.sources.files import write_text

_DESCRIPTION = """\
Draft the schema of a table, to be edited. The draft comes from the records and is NOT private: everything that was read
from them carries a warning. Replace it by public knowledge, delete the warning, and give the file to
pypgm synth --schema. Columns with a different value in nearly every record are dropped.
"""
_SUMMARY = "draft the schema of a table (not private)"
_USAGE = """\
example:
  pypgm schema init people.csv --out schema.json
"""


def add_to(commands: Verbs) -> None:
    """Add the subcommand to the command line."""
    schema = add_verb(commands, "schema", _init, summary=_SUMMARY, about=_DESCRIPTION, has_json=False)
    steps = schema.add_subparsers(metavar="COMMAND", required=True)
    init = add_verb(steps, "init", _init, summary="draft a schema from a table", about=_DESCRIPTION, examples=_USAGE)
    init.add_argument(
        "table", metavar="TABLE", help="the records: a .csv, .parquet, .jsonl, .xlsx or .duckdb file, or a folder"
    )
    add_table(init)
    init.add_argument("--out", metavar="FILE", help="where the draft goes: a .json file (default: it is printed)")
    add_dialect(init)


def _init(arguments: argparse.Namespace) -> None:
    if arguments.out is not None:
        check_places([arguments.table], [arguments.out], (".json", ".yaml", ".yml"))
    draft = draft_schema(arguments.table, arguments.duckdb_table, **dialect(arguments)._asdict())
    if arguments.json and arguments.out is None:
        present(arguments, {"schema": draft}, ())
        return
    text = draft_text(draft)
    if arguments.out is None:
        sys.stdout.write(text)
        return
    with Claim(arguments.out):
        write_text(arguments.out, text)
    warned = [name for name, column in draft["columns"].items() if "warning" in column]
    lines = [f"wrote {arguments.out}, NOT private: edit what has a warning: {', '.join(warned)}"]
    lines += [f"warning: {draft['warning']}"] if "warning" in draft else []
    if person := draft.get("person"):
        lines += [f"person: {person['column']}, at most {person['at_most']} records of each: {person['warning']}"]
    lines += [f"dropped: {name}, {why}" for name, why in draft.get("drop", {}).items()]
    present(arguments, {"schema": draft, "files": {"schema": arguments.out}}, lines, tell)
