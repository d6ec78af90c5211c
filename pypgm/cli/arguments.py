"""Arguments that several verbs of the command share, and the parsing of each."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from pypgm import load, workloads
from pypgm._base.file_kind import check_suffix
from pypgm._base.numeric import fraction_of, whole_of
from pypgm.data.columns.codebook import read_json
from pypgm.data.columns.derived_images import codes_giving
from pypgm.data.schema.evidence import codes_of_text, split_text
from pypgm.data.schema.schema import OpenSchema, Schema, read_schema
from pypgm.data.sources.dialect import DIALECT_DEFAULTS, MARKS, Dialect
from pypgm.data.sources.files import as_path, check_encoding, check_local, has_contents, open_stream
from pypgm.data.sources.parquet import check_parquet
from pypgm.data.sources.paths import holds
from pypgm.domain import Clique, Domain, Label, as_clique, listed, nearest
from pypgm.mechanisms.tables import BEST, mechanism_names, needs_more
from pypgm.models.sampling import MAX_RECORDS
from pypgm.release import Release
from pypgm.workloads import Workload

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

    from pypgm.files.stored_model import ReleasedModel


HELP = (
    "marginals to answer well: a number K for all marginals of K attributes, up-to-K for those of at most K, or a "
    '.json file with a list of marginals such as [["age", "sex"], ["income"]] (default: all pairs)'
)


def workload_named(domain: Domain, text: str) -> Workload:
    """Return the workload of a text: ``2``, ``up-to-3`` or the name of a JSON file.

    Parameters
    ----------
    domain : Domain
        The domain of the attributes.
    text : str
        See `HELP`.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the text or the file is not a workload over the domain.

    Examples
    --------
    >>> list(workload_named(Domain({"a": 2, "b": 3}), "up-to-2"))
    [('a',), ('b',), ('a', 'b')]
    """
    number = text.removeprefix("up-to-")
    if (order := whole_of(number)) is not None:
        try:
            return (workloads.all_k_way if number == text else workloads.up_to_k_way)(domain, order)
        except ValueError as error:
            raise ValueError(f"--workload {text}: {error}") from None
    if not text.endswith(".json"):
        raise ValueError(f"--workload needs a number, up-to-K or a .json file, got {text[:40]!r}")
    listed = read_json(text)
    if not isinstance(listed, list) or not all(
        isinstance(c, list) and c and all(isinstance(a, str) for a in c) for c in listed
    ):
        raise ValueError(f'{text} needs a list of marginals, such as [["age", "sex"], ["income"]]')
    try:
        return Workload(domain, [domain.canonical(clique) for clique in listed])
    except ValueError as error:
        raise ValueError(f"{text}: {error}") from None


Verbs: TypeAlias = "argparse._SubParsersAction[Any]"
"""The object to which a parser's verbs are added."""


class Parser(argparse.ArgumentParser):
    """Parser that answers wrong usage with one line."""

    def error(self, message: str) -> NoReturn:
        """Raise the error that the command answers with status 2."""
        raise ValueError(f"{message} (see {self.prog} --help)")

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Write help or the version; a failed write is an error, which argparse would drop."""
        (file or sys.stdout).write(message)


RUNNABLE = [name for name in mechanism_names() if not needs_more(name)]
"""Mechanisms that a command can run."""


def add_verb(
    commands: Verbs,
    name: str,
    run: Callable[[argparse.Namespace], int | None],
    *,
    summary: str,
    about: str | None = None,
    examples: str | None = None,
    has_json: bool = True,
) -> argparse.ArgumentParser:
    """Add a verb that runs a function of its arguments, and return its parser; verbs that print facts have --json."""
    parser: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=about, epilog=examples)
    parser.set_defaults(run=run, verb=parser.prog.partition(" ")[2])
    if has_json:
        parser.add_argument("--json", action="store_true", help="for programs: one JSON object, see docs/command.md")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.allow_abbrev = False
    return parser


def add_budget(command: argparse.ArgumentParser, epsilon: str | None = None, delta: str | None = None) -> None:
    """Add the privacy parameters; they stay decimal text until they are exact rationals."""
    for name, default, about in (("epsilon", epsilon, "privacy loss, more than 0"), ("delta", delta, "slack, below 1")):
        command.add_argument(
            f"--{name}",
            metavar=name[0].upper(),
            type=as_number,
            default=default,
            required=default is None,
            help=about if default is None else f"{about} (default {default})",
        )


def add_mechanism(command: argparse.ArgumentParser) -> None:
    """Add the choice of a mechanism that needs only a table and a budget."""
    command.add_argument(
        "--mechanism", choices=RUNNABLE, default=BEST, help=f"how to choose what is measured (default {BEST})"
    )


def add_target(command: argparse.ArgumentParser) -> None:
    """Add the option for columns to be predicted."""
    command.add_argument(
        "--target",
        metavar="NAME",
        action="append",
        help="a column to be predicted from the others: its pairs count as much as all others; repeat it for more",
    )


def add_given(command: argparse.ArgumentParser) -> None:
    """Add the option for evidence."""
    command.add_argument(
        "--given",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="evidence, such as sex=F; a number or a date stands for its bin, whose label is accepted too: "
        "hired=2020-Q1; several values mean any of them: job=cook,nurse, or repeat the option; a range has all values, "
        "in their order, from one to another: age=30..40, age=65.. (both ends with their whole bins)",
    )


def add_reading(command: argparse.ArgumentParser) -> None:
    """Add the options for reading a table."""
    command.add_argument("--ignore-extra", action="store_true", help="leave out columns that are not declared")
    add_dialect(command)


def add_table(command: argparse.ArgumentParser) -> None:
    """Add the option that names a table in a DuckDB file."""
    command.add_argument(
        "--table", dest="duckdb_table", metavar="NAME", help="name of a table in a .duckdb file, or of a sheet"
    )


def add_dialect(command: argparse.ArgumentParser) -> None:
    """Add the options for the dialect of a table."""
    for name, text in MARKS.items():
        default = DIALECT_DEFAULTS[name]
        kind: dict[str, Any] = {"type": as_lines, "metavar": "N"} if isinstance(default, int) else {"metavar": "C"}
        kind = {} if name == "encoding" else kind
        command.add_argument(f"--{name.replace('_', '-')}", default=default, help=text, **kind)


def reading(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the keywords of `pypgm.read_table` for a table."""
    return dialect(arguments)._asdict() | {"ignore_extra": arguments.ignore_extra}


def dialect(arguments: argparse.Namespace) -> Dialect:
    """Return the dialect of a table; ``ValueError`` if there is no such encoding."""
    check_encoding(arguments.encoding)
    marks = {name: getattr(arguments, name) for name in Dialect._fields}
    return Dialect(**marks | {"delimiter": {"tab": "\t", "\\t": "\t"}.get(arguments.delimiter, arguments.delimiter)})


def reading_options(arguments: argparse.Namespace) -> list[str]:
    """Return the options by which a table was read, for another command that reads it."""
    given = {name: getattr(arguments, name) for name in Dialect._fields} | {"table": arguments.duckdb_table}
    plain = {**DIALECT_DEFAULTS, "table": None}
    options = [(name, value) for name, value in given.items() if value != plain[name]]
    texts = [text for name, value in options for text in (f"--{name.replace('_', '-')}", str(value))]
    return texts + ["--ignore-extra"] * arguments.ignore_extra


def as_number(text: str) -> Fraction:
    """Return the exact number of a decimal text."""
    with contextlib.suppress(ValueError, OverflowError):
        number = fraction_of(text)
        float(number)
        return number
    raise argparse.ArgumentTypeError(f"needs a number such as 0.1 or 1e-9, got {text[:40]!r}")


def as_rows(text: str, what: str = "a number of records") -> int:
    """Return a number of records, or of other things."""
    if (number := whole_of(text)) is None:
        raise argparse.ArgumentTypeError(f"needs {what}, 0 or more, got {text[:40]!r}")
    return number


def as_lines(text: str) -> int:
    """Return a number of lines."""
    return as_rows(text, "a number of lines")


def as_seed(text: str) -> int:
    """Return the seed of draws."""
    return as_rows(text, "a whole number")


def as_seconds(text: str) -> float:
    """Return a time limit."""
    with contextlib.suppress(ValueError):
        if 0 < float(text) < float("inf"):
            return float(text)
    raise argparse.ArgumentTypeError(f"needs seconds, more than 0, got {text!r}")


def check_new(path: str) -> None:
    """Refuse to write over a file with contents: it may be somebody's table."""
    if has_contents(path):
        raise ValueError(f"{path} already exists and is not overwritten: name another file, or move it away")


def check_places(
    inputs: Sequence[str], outputs: Sequence[str | None], suffixes: Sequence[str] = (), *, may_exist: bool = False
) -> None:
    """Refuse output paths, before any work is done, that cannot be written or would replace something precious.

    If suffixes are given, a name has to end in one of them, since any other ending would mean another format. Unless
    `may_exist`, a file with contents is then refused.
    """
    given = [path for path in outputs if path is not None]
    try:
        check_parquet([*inputs, *given])
    except ImportError as error:
        raise ValueError(str(error)) from None
    taken = [Path(os.path.realpath(as_path(path))) for path in inputs]
    for path in given:
        if path == "-":
            raise ValueError("standard output is /dev/stdout, and a file named - is ./-")
        check_local(path)
        place = Path(os.path.realpath(as_path(path)))
        if place in taken or any(place.exists() and other.exists() and place.samefile(other) for other in taken):
            raise ValueError(f"{path} would be overwritten; give the result another name")
        taken.append(place)
        _check_outside(path, inputs)
        if place.is_dir():
            raise ValueError(f"{path or repr(path)} must be a file to write, but is a directory")
        if not place.parent.is_dir():
            raise ValueError(f"{path}: there is no directory {place.parent}")
        if suffixes:
            check_suffix(path, suffixes)
        stream = open_stream(path)
        if stream is not None:
            _check_stream(path, stream)
        elif suffixes and not may_exist:
            check_new(path)


def _check_outside(path: str, inputs: Sequence[str]) -> None:
    """Raise ``ValueError`` if an output would be one of the files that an input stands for."""
    if whole := next((table for table in inputs if holds(table, path)), ""):
        raise ValueError(f"{path} would become a part of the table {whole}; write it into another folder")


def check_json_alone(arguments: argparse.Namespace) -> None:
    """Refuse to write both records and JSON to the standard output."""
    if arguments.json and open_stream(arguments.out) is not None:
        raise ValueError(f"--json is written to the standard output: {arguments.out} has to be a file")


def _check_stream(path: str, stream: int) -> None:
    """Raise ``OSError`` if an open stream takes no bytes, because it was closed."""
    try:
        os.write(stream, b"")
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None


def check_rows(rows: int) -> None:
    """Refuse more records than are drawn, before anything is spent."""
    if rows > MAX_RECORDS:
        raise ValueError(f"--rows {rows:,}: at most {MAX_RECORDS:,} records are drawn")


def clique_named(text: str, names: Collection[str]) -> Clique:
    """Return the attributes of a text such as ``age,sex``; white space is stripped unless a name has it."""
    return as_clique([part if part in names else part.strip() for part in split_text(text)])


def model_in(path: str) -> tuple[ReleasedModel, Schema | None, Release | ReleasedModel]:
    """Return the model in a file, or of the release in it, the schema of its table, and the release or model itself."""
    content = load(path)
    return (content.model, content.schema, content) if isinstance(content, Release) else (content, None, content)


def evidence_given(domain: Domain, given: Sequence[str], schema: Schema | None = None) -> dict[str, list[Label]]:
    """Return the values each attribute may have, as labels if it has them, else as codes.

    With a schema a value stands for the label of its bin, and a value of a column that is mapped from an attribute for
    all values of that attribute that map to it.
    """
    codes_of: dict[str, set[int]] = {}
    mapped: list[tuple[str, set[int]]] = []
    for text in given:
        # An attribute's own name may hold "=".
        made = () if schema is None else schema.made
        name = max((a for a in (*domain, *made) if text.startswith(f"{a}=")), key=len, default=None)
        if name is None:
            near = "" if text in domain else _meant(text, [*domain, *made])
            raise ValueError(f"--given needs NAME=VALUE with an attribute of the model, got {text!r}{near}")
        try:
            if schema is not None and name in made:
                source, codes = codes_giving(schema, name, text[len(name) + 1 :])
                mapped.append((source, set(codes)))
            else:
                codes_of.setdefault(name, set()).update(codes_of_text(domain, name, text[len(name) + 1 :], schema))
        except ValueError as error:
            raise ValueError(f"--given {text!r}: {error}") from None
    for source, known in mapped:
        codes_of[source] = codes_of.get(source, known) & known
        if not codes_of[source]:
            raise ValueError(f"--given: no value of {source!r} agrees with all the given values")
    labels = domain.labels
    return {a: [labels[a][code] if a in labels else code for code in sorted(codes)] for a, codes in codes_of.items()}


def _meant(text: str, names: Sequence[str]) -> str:
    """Return the evidence that may have been meant, or the attributes of the model, as the end of a sentence.

    Examples
    --------
    >>> _meant("age >= 70", ["age"]), _meant("age = 7", ["age"])
    ('; a range with both its ends is age=70..', '; without blanks it is age=7')
    """
    for name in sorted(filter(text.startswith, names), key=len, reverse=True):
        if match := re.fullmatch(r"\s*([<>=])=?\s*(.+)", text[len(name) :]):
            spelling = "without blanks it" if match[1] == "=" else "a range with both its ends"
            return f"; {spelling} is {name}={'..' * (match[1] == '<')}{match[2]}{'..' * (match[1] == '>')}"
    return nearest(text.partition("=")[0], names) or f"; it has {listed([*map(repr, names)])}"


def schema_in(path: str) -> Schema | OpenSchema:
    """Return the schema in a file; if a package for it is missing, the error is one line as well."""
    try:
        return read_schema(path)
    except ImportError as error:
        raise ValueError(str(error)) from None
