"""``pypgm synth``: private synthetic records from a table, and a place for the release, reserved beforehand."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pypgm._base.file_kind import TABLES
from pypgm._base.terminal import laid_out, terminal_width
from pypgm.cli.arguments import (
    HELP,
    Verbs,
    add_budget,
    add_mechanism,
    add_reading,
    add_table,
    add_verb,
    as_rows,
    as_seconds,
    check_json_alone,
    check_places,
    check_rows,
    dialect,
    reading_options,
    schema_in,
    workload_named,
)
from pypgm.cli.claim import Claim
from pypgm.cli.printing import json_text, tell
from pypgm.cli.stopping import STOPPING
from pypgm.data import Dataset, OpenSchema, Schema, write_table
from pypgm.data.sources.source import open_source
from pypgm.domain import Domain
from pypgm.files.file import file_bytes
from pypgm.mechanisms.tables import prepared
from pypgm.privacy.promise import budget_text
from pypgm.release import Release
from pypgm.reporting.facts import Facts
from pypgm.reporting.text import ledger_text, promise_rows, quality_rows, warning_lines

if TYPE_CHECKING:
    from types import TracebackType


_DESCRIPTION = """\
Read a table, spend a privacy budget on it once, and write synthetic records.

TABLE is a CSV file with a header, plain or gzip, a Parquet file, or a DuckDB file with --table. SCHEMA is a JSON or
YAML file that declares its columns, written from what is publicly known and never from the records; pypgm schema init
drafts one:

    {"columns": {"age": {"kind": "integer", "low": 0, "high": 99, "width": 5}, "sex": ["F", "M"]}, "drop": ["name"]}

Columns are matched by name. The synthetic table looks like the real one; numbers and dates are drawn within their bins.
A file with only a size or a list of labels for each attribute, {"age": 85, "sex": ["F", "M"]}, is a schema too: one
with a size has the codes 0 .. size - 1 in the table.
"""
_USAGE = """\
examples:
  pypgm synth people.csv --schema schema.json --epsilon 1 --delta 1e-9 --out synthetic.csv
  pypgm synth people.csv.gz --schema schema.json --epsilon 0.5 --delta 1e-9 --out synthetic.csv.gz \\
      --model people.pgm --rows 10000 --neighbours replace
  pypgm synth people.csv --schema schema.json --epsilon 1 --delta 1e-9 --out synthetic.csv \\
      --mechanism hdmm --workload up-to-2
"""


def add_to(commands: Verbs) -> None:
    """Add the subcommand to the command line."""
    summary = "private synthetic records from a table"
    synth = add_verb(commands, "synth", _synth, summary=summary, about=_DESCRIPTION, examples=_USAGE)
    synth.add_argument(
        "table", metavar="TABLE", help="the records: a .csv, .parquet, .jsonl, .xlsx or .duckdb file, or a folder"
    )
    add_table(synth)
    synth.add_argument(
        "--schema", "--domain", dest="schema", metavar="SCHEMA", required=True, help="the columns: .json or .yaml"
    )
    synth.add_argument(
        "--out", metavar="FILE", required=True, help="where synthetic records go: .csv, .csv.gz, .parquet or .jsonl"
    )
    add_budget(synth)
    synth.add_argument(
        "--release",
        "--model",
        dest="model",
        metavar="RELEASE",
        help="where to keep the release, for sample, query and info (default: beside the records)",
    )
    add_mechanism(synth)
    synth.add_argument("--workload", metavar="WORKLOAD", help=HELP)
    synth.add_argument(
        "--rows",
        metavar="N",
        type=as_rows,
        help="synthetic records (default: the model's number, noisy under add-remove)",
    )
    synth.add_argument(
        "--neighbours",
        choices=["add-remove", "replace"],
        default="add-remove",
        help="what is protected: whether a person is in the table at all (add-remove, the default: the number of "
        "records stays private), or what a person's record holds (replace: the number is public)",
    )
    add_reading(synth)
    synth.add_argument("--time-limit", metavar="SECONDS", type=as_seconds, help="seconds after which the estimate ends")
    synth.add_argument("--ledger", action="store_true", help="list what the budget was spent on, draw by draw")
    synth.add_argument("--quiet", action="store_true", help="no progress and no summary, only warnings")


class PaidError(Exception):
    """Error after the release was paid for and kept, with advice on how to go on."""

    def __init__(self, cause: BaseException, kept: Path, price: str, way_on: str) -> None:
        super().__init__(f"the release, paid for with {price}, is whole in {kept}, its ledger too{way_on}")
        self.cause = cause


def _synth(arguments: argparse.Namespace) -> None:
    check_places([arguments.table, arguments.schema], [arguments.out], TABLES)
    check_json_alone(arguments)
    file = arguments.model or default_place(arguments.table, arguments.out)
    check_places([arguments.table, arguments.schema, arguments.out], [file])
    schema = schema_in(arguments.schema)
    domain = schema.provisional.domain
    check_rows(domain, arguments.rows or 0)
    mechanism_run = _prepared(arguments, schema)
    with Claim(arguments.out), Place(file, _bytes_of_pairs(domain), partial(_way_on, arguments)) as place:
        release = mechanism_run()
        # From here on everything depends on the records through the release alone.
        del mechanism_run
        stop_if_interrupted(release)
        with STOPPING.held():
            kept = place.keep(release)
        try:
            STOPPING.check()
            synthetic = release.synthetic_data(arguments.rows)
            write_table(synthetic, arguments.out, release.schema, layout=release.layout)
        except (Exception, KeyboardInterrupt) as error:
            raise PaidError(error, kept, budget_text(release.ledger.budget), _way_on(arguments, kept)) from error
    facts = Facts(release, progress=_talks(arguments))
    if arguments.quiet and not arguments.json:
        tell(warning_lines(facts.warnings))
    else:
        _present(arguments, facts, synthetic, kept)


def _way_on(arguments: argparse.Namespace, kept: Path) -> str:
    """Return the command that draws the requested records from a release in a file, as the end of a sentence."""
    rest = [] if arguments.rows is None else ["--rows", str(arguments.rows)]
    words = ["pypgm", "sample", str(kept), "--out", arguments.out, *rest, *(["--quiet"] if arguments.quiet else [])]
    return f"; go on with: {shlex.join(words)}"


def _present(arguments: argparse.Namespace, facts: Facts, synthetic: Dataset, kept: Path) -> None:
    """Write a summary of the release, as JSON to the standard output or as lines to the terminal."""
    if arguments.json:
        fields = facts.to_dict(ledger=arguments.ledger)
        files = {"records": arguments.out, "release": str(kept)}
        fields |= {"synthetic_records": synthetic.n_records, "files": files}
        sys.stdout.write(json_text(arguments.verb, fields))
        return
    width = terminal_width()
    rows = [
        *promise_rows(facts.release.promise),
        ("records", f"{synthetic.n_records:,} synthetic, of {facts.records_text}"),
        *quality_rows(facts.quality, facts.as_values),
        ("lost", "; ".join(facts.losses.sentences()) or "nothing: every value is as it was"),
        ("files", f"{arguments.out}  the synthetic records"),
        ("", f"{kept}  the release, as public as they are: more records, any answer"),
        ("next", shlex.join(["pypgm", "compare", str(kept), arguments.table, *reading_options(arguments), "--unsafe"])),
        ("", shlex.join(["pypgm", "report", str(kept), "--out", f"{kept.stem}.html"])),
    ]
    ledger = ["", *ledger_text(facts.release.ledger, facts.shares, width)] if arguments.ledger else []
    tell([*warning_lines(facts.warnings), *laid_out(rows, width), *ledger])


def _talks(arguments: argparse.Namespace) -> bool:
    return sys.stderr.isatty() and not arguments.quiet


def _prepared(arguments: argparse.Namespace, schema: Schema | OpenSchema) -> Callable[[], Release]:
    """Read the table, and return a function that spends the budget on it."""
    workload = None if arguments.workload is None else partial(workload_named, text=arguments.workload)
    return prepared(
        open_source(arguments.table, arguments.duckdb_table, dialect(arguments)),
        schema,
        arguments.epsilon,
        arguments.delta,
        mechanism=arguments.mechanism,
        neighbours=arguments.neighbours,
        ignore_extra=arguments.ignore_extra,
        options={"workload": workload, "time_limit": arguments.time_limit, "progress": _talks(arguments)},
    )


def _bytes_of_pairs(domain: Domain) -> int:
    """Return the bytes of two numbers for each cell of each pair: about a release file before compression."""
    sizes = domain.shape
    return 8 * (sum(sizes) ** 2 - sum(n * n for n in sizes))


def stop_if_interrupted(release: Release) -> None:
    """End the command after an estimate that Ctrl-C ended early: the release is discarded unseen."""
    if STOPPING.number or (release.model.fit is not None and release.model.fit.status == "interrupted"):
        raise KeyboardInterrupt("the release was discarded, and no file was left")


_MIN_BYTES = 1 << 20  # bytes reserved for any release: ledger, measurements and options of a small table
_MAX_BYTES = 1 << 26  # bytes reserved at most: a file of all pairs of 100 attributes is smaller


def default_place(table: str, out: str) -> str:
    """Return the default path of a release: beside the records, or by the name of the table.

    Examples
    --------
    >>> default_place("people.csv", "made/out.csv.gz"), default_place("people.csv", "/dev/stdout")
    ('made/out.pgm', 'people.pgm')
    """
    path = Path(out)
    if path.parts[:2] in {("/", "dev"), ("/", "proc")} or (path.exists() and not path.is_file()):
        return f"{re.sub(r'[*?[]', '', Path(table).name.split('.')[0]) or 'release'}.pgm"
    return str(path.with_name(f"{path.name.split('.')[0] or 'release'}.pgm"))


class Place:
    """The file of a release: its name and its space on the disk are reserved at once, and nothing there is replaced.

    Leaving the context without a release leaves nothing behind.

    Parameters
    ----------
    path : str
        The file, in an existing folder.
    expected : int
        Bytes that the release may take; between 1 and 64 MiB are reserved.
    go_on : callable, optional
        Gives the advice on how to go on with a release in a file.

    Raises
    ------
    ValueError
        If the file exists already, another run makes it, or it is not a regular file.
    OSError
        If the file cannot be made, or the disk has no space for it.
    """

    def __init__(self, path: str, expected: int = 0, go_on: Callable[[Path], str] = lambda _: "") -> None:
        self._claim = Claim(path)
        if not self._claim.is_held:  # replacing a device or a pipe would remove it from the system
            raise ValueError(f"{path} must be a regular file, to keep the release, but is a device, a pipe or a stream")
        self.path, self._go_on = Path(path), go_on
        self._draft = self._claim.path.with_name(f".{self._claim.path.name}.part")
        try:
            self._draft.unlink(missing_ok=True)  # of a killed run: no other uses it while this one holds the name
            with self._draft.open("xb") as file:
                left = min(max(expected, _MIN_BYTES), _MAX_BYTES)
                for _ in range(0, left, _MIN_BYTES):
                    file.write(bytes(_MIN_BYTES))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            self._clear()
            raise OSError(error.errno, f"{error.strerror}; nothing was spent", path) from None
        except BaseException:
            self._clear()
            raise

    def __enter__(self) -> Place:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clear()

    def keep(self, release: Release) -> Path:
        """Write a release, whole and flushed to the disk, and return its path.

        If its own place is full or gone, the release goes to the working directory, the directory for temporary files
        or home, and the error names the path.

        Raises
        ------
        OSError
            If the release is in another place, or in none.
        """
        packed = file_bytes(release.archive())
        try:
            _fill(self._draft, packed)
            self._draft.replace(self._claim.path)
        except OSError as error:
            self._clear()
            raise OSError(f"{self.path}: {error.strerror}; {self._elsewhere(packed, release)}") from None
        return self.path

    def _elsewhere(self, packed: bytes, release: Release) -> str:
        """Keep a release in another place, and return the message."""
        price = budget_text(release.ledger.budget)
        for folder in (Path.cwd(), Path(tempfile.gettempdir()), Path.home()):
            path = folder / f"{self.path.stem}-{os.urandom(4).hex()}.pgm"
            try:
                _fill(path, packed)
            except OSError:
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)
            else:
                return f"the release, paid for with {price}, is whole in {path}{self._go_on(path)}"
        return f"no other disk takes the release either, for which {price} is spent"

    def _clear(self) -> None:
        with contextlib.suppress(OSError):
            self._draft.unlink(missing_ok=True)
        self._claim.close()


def _fill(path: Path, packed: bytes) -> None:
    """Write bytes over the contents of a file, in its own space, and flush them to the disk."""
    with path.open("r+b" if path.exists() else "xb") as file:
        file.write(packed)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
