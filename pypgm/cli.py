"""The command ``pypgm``: private synthetic records from a table, and answers from a model."""

from __future__ import annotations

import argparse
import contextlib
import csv
import os
import sys
import traceback
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import NoReturn, TextIO

from pypgm import __version__, demo, load, mechanisms
from pypgm.bayes import BayesianNetwork
from pypgm.data import read_domain, read_table, write_table
from pypgm.data.files import replacing_text
from pypgm.data.schema import Codebook
from pypgm.domain import Domain, Label, as_clique
from pypgm.factor import Factor
from pypgm.models import GraphicalModel
from pypgm.models.kinds import ReleasedModel
from pypgm.privacy import Budget
from pypgm.release import Release
from pypgm.report import cells, domain_lines, model_lines

__all__ = ["main"]

_ABOUT = """\
Private synthetic records, and answers from the model behind them.

A table of records is read once, a few of its marginals are measured with exact noise, and one graphical model is fitted
to what was measured. The model answers any question and draws records; nothing of this costs privacy again.
"""
_EXAMPLES = """\
examples:
  pypgm demo
      the whole way on a small table that is built in; nothing to prepare
  pypgm synth people.csv --domain domain.json --epsilon 1 --delta 1e-9 --out synthetic.csv --model people.pgm
      synthetic records, and the model for later questions
  pypgm query people.pgm age,sex --given income=high
      the probabilities of age and sex among people of high income
  pypgm info people.pgm
      what a model holds

exit status: 0 done, 2 wrong usage or bad input, 1 anything else, 130 interrupted
"""
_SYNTH = """\
Read a table, spend a privacy budget on it once, and write synthetic records.

TABLE is a CSV file with a header, plain or gzip. DOMAIN is a JSON file with a size or a list of labels for each
attribute, written from what is publicly known and never from the records:

    {"age": 85, "sex": ["F", "M"]}

Columns are matched by name. An attribute with labels has labels in the table, one with a size has the codes
0 .. size - 1. The synthetic table looks like the real one.
"""
_SYNTH_EXAMPLES = """\
examples:
  pypgm synth people.csv --domain domain.json --epsilon 1 --delta 1e-9 --out synthetic.csv
  pypgm synth people.csv.gz --domain domain.json --epsilon 0.5 --delta 1e-9 --out synthetic.csv.gz \\
      --model people.pgm --rows 10000 --neighbours replace
"""
_QUERY = """\
Print marginals of a model as CSV: a line for each cell, with its expected number of records and the standard error that
the noise of the measurements leaves it.

With --given it prints conditional probabilities instead. Any attributes can be asked for together, measured or not.
"""
_QUERY_EXAMPLES = """\
examples:
  pypgm query people.pgm age,sex income
  pypgm query people.pgm income --given sex=F --given age=30 --given age=31   (women of 30 or 31)
  pypgm query people.pgm age,sex --out age-sex.csv
  pypgm query alarm.bif HYPOVOLEMIA --given CVP=LOW
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        0 done, 2 wrong usage or bad input, 1 anything else, 130 interrupted.

    Examples
    --------
    >>> main(["query", "no-such-model", "age"])
    2
    """
    try:
        arguments = _parser().parse_args(argv)
        arguments.run(arguments)
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        status, message = _verdict(error)
        if message:
            sys.stderr.write(f"pypgm: {' '.join(message.split())}\n")
        return status
    return 0


def _verdict(error: BaseException) -> tuple[int, str]:
    """Return the exit status that an error means, and what to say about it."""
    if isinstance(error, KeyboardInterrupt):
        return 130, "interrupted; no unfinished file was left"
    if isinstance(error, BrokenPipeError):
        # Whoever read the output has left; point the rest nowhere, so that closing it does not complain.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1, ""
    if isinstance(error, OSError) and error.filename is not None:
        return 2, f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError | ValueError):
        return 2, str(error)
    if isinstance(error, MemoryError):
        return 1, str(error) or "out of memory"
    # What an unforeseen error says may be private: the terminal gets its kind and its place alone.
    place = traceback.extract_tb(error.__traceback__)[-1]
    return 1, f"unexpected {type(error).__name__} at {Path(place.filename).name}:{place.lineno}, a defect of pypgm"


class _Parser(argparse.ArgumentParser):
    """A parser that answers wrong usage with one line."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message} (see {self.prog} --help)")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="pypgm", description=_ABOUT, epilog=_EXAMPLES)
    parser.add_argument("--version", action="version", version=f"pypgm {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    synth = commands.add_parser(
        "synth", help="private synthetic records from a table", description=_SYNTH, epilog=_SYNTH_EXAMPLES
    )
    _add_synth_arguments(synth)
    synth.set_defaults(run=_synth)

    query = commands.add_parser(
        "query", help="marginals and conditional probabilities", description=_QUERY, epilog=_QUERY_EXAMPLES
    )
    query.add_argument("model", metavar="MODEL", help="a file that synth --model wrote, or a .bif or .bif.gz network")
    query.add_argument("cliques", metavar="ATTRIBUTES", nargs="+", help="names with commas between them: age,sex")
    query.add_argument(
        "--given",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="what is known; may be repeated, and several values of one attribute mean any of them",
    )
    query.add_argument(
        "--draws",
        metavar="N",
        type=_draws,
        default=20,
        help="estimates by which the standard errors are told where there is no formula (default 20, known to 16 %%; "
        "0: no standard errors)",
    )
    query.add_argument("--out", metavar="FILE", help="write the marginal to a .csv or .csv.gz file")
    query.set_defaults(run=_query)

    info = commands.add_parser("info", help="what a model holds", description="Print what a model holds.")
    info.add_argument("model", metavar="MODEL", help="a file that synth --model wrote")
    info.set_defaults(run=_info)

    show = commands.add_parser("demo", help="the whole way on a small built-in table", description=demo.__doc__)
    _add_budget_arguments(show, epsilon="1", delta="1e-9")
    show.set_defaults(run=_demo)
    for each in (parser, synth, query, info, show):
        each.formatter_class = argparse.RawDescriptionHelpFormatter
        each.allow_abbrev = False
    return parser


def _add_synth_arguments(synth: argparse.ArgumentParser) -> None:
    synth.add_argument("table", metavar="TABLE", help="the records: a .csv or .csv.gz file with a header")
    synth.add_argument("--domain", metavar="DOMAIN", required=True, help="the attributes: a .json file")
    synth.add_argument("--out", metavar="FILE", required=True, help="where synthetic records go: .csv or .csv.gz")
    _add_budget_arguments(synth)
    synth.add_argument("--model", metavar="MODEL", help="where to keep the model, for query and info")
    synth.add_argument(
        "--rows",
        metavar="N",
        type=_rows,
        help="synthetic records (default: the model's number, noisy under add-remove)",
    )
    synth.add_argument(
        "--neighbours",
        choices=["add-remove", "replace"],
        default="add-remove",
        help="what is protected: whether a person is in the table at all (add-remove, the default: the number of "
        "records stays private), or what a person's record holds (replace: the number is public)",
    )
    synth.add_argument("--ignore-extra", action="store_true", help="leave out columns that the domain does not name")
    synth.add_argument("--time-limit", metavar="SECONDS", type=_seconds, help="end the estimate after so long")
    synth.add_argument("--quiet", action="store_true", help="no progress and no summary")


def _add_budget_arguments(
    command: argparse.ArgumentParser, epsilon: str | None = None, delta: str | None = None
) -> None:
    """Add the privacy parameters; they stay decimal text until they are exact rationals."""
    for name, default, about in (("epsilon", epsilon, "privacy loss, more than 0"), ("delta", delta, "slack, below 1")):
        command.add_argument(
            f"--{name}",
            metavar=name[0].upper(),
            type=_number,
            default=default,
            required=default is None,
            help=about if default is None else f"{about} (default {default})",
        )


def _number(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise argparse.ArgumentTypeError(f"needs a number such as 0.1 or 1e-9, got {text!r}") from None


def _rows(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"needs a number of records, 0 or more, got {text!r}")
    return int(text)


def _draws(text: str) -> int:
    number = _rows(text) if text.isdigit() else 1
    if number == 1:
        raise argparse.ArgumentTypeError(f"needs a number of estimates, 2 or more, or 0, got {text!r}")
    return number


def _seconds(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < float(text) < float("inf"):
            return float(text)
    raise argparse.ArgumentTypeError(f"needs seconds, more than 0, got {text!r}")


def _synth(arguments: argparse.Namespace) -> None:
    budget = Budget(epsilon=arguments.epsilon, delta=arguments.delta)
    _check_places([arguments.table, arguments.domain], [arguments.out, arguments.model])
    talks = sys.stderr.isatty() and not arguments.quiet
    domain = read_domain(arguments.domain)
    data = read_table(arguments.table, domain, ignore_extra=arguments.ignore_extra)
    release = mechanisms.mst(
        data, budget=budget, neighbours=arguments.neighbours, time_limit=arguments.time_limit, progress=talks
    )
    # From here on nothing depends on the records but through the release.
    del data
    _stop_if_interrupted(release)
    synthetic = release.synthetic_data(arguments.rows)
    if arguments.model is not None:
        release.model.save(arguments.model)
    write_table(synthetic, arguments.out)
    if not arguments.quiet:
        lines = release.report().splitlines()
        lines += [f"wrote {path}" for path in (arguments.out, arguments.model) if path is not None]
        sys.stderr.write("\n".join([*lines, ""]))


def _check_places(inputs: Sequence[str], outputs: Sequence[str | None]) -> None:
    """Refuse, before any work is done, to write where nothing can be written or something precious is."""
    given = [path for path in outputs if path is not None]
    taken = [Path(path).resolve() for path in inputs]
    for path in given:
        place = Path(path).resolve()
        if place in taken:
            raise ValueError(f"{path} would be written over; give the result another name")
        taken.append(place)
        if place.is_dir():
            raise ValueError(f"{path} must be a file to write, and is a directory")
        if not place.parent.is_dir():
            raise ValueError(f"{path}: there is no directory {place.parent}")


def _stop_if_interrupted(release: Release) -> None:
    """Turn an estimate that Ctrl-C ended early into the end of the command: nothing was shown, so nothing was spent."""
    if release.model.fit is not None and release.model.fit.status == "interrupted":
        raise KeyboardInterrupt


def _query(arguments: argparse.Namespace) -> None:
    cliques = [as_clique(next(csv.reader([text]))) for text in arguments.cliques]
    if arguments.out is not None and len(cliques) != 1:
        raise ValueError(f"--out holds one marginal, got {len(cliques)}; ask for them one at a time")
    is_network = arguments.model.endswith((".bif", ".bif.gz"))
    model = BayesianNetwork.read_bif(arguments.model) if is_network else _model(arguments.model)
    evidence = _evidence(model.domain, arguments.given)
    # All are asked before one is shown: an error leaves no half an answer.
    if isinstance(model, BayesianNetwork) or evidence:
        answers, unit = [model.query(clique, evidence) for clique in cliques], "probability"
    else:
        answers, unit = [model.project(clique) for clique in cliques], "count"
    errors: list[Factor | None] = [None] * len(cliques)
    if arguments.draws and isinstance(model, GraphicalModel) and model.origin is not None:
        errors = [*model.standard_errors(cliques, evidence or None, draws=arguments.draws)]
    if arguments.out is not None:
        _check_places([arguments.model], [arguments.out])
        with replacing_text(arguments.out) as file:
            _write_answer(file, answers[0], unit, errors[0])
        return
    for i, answer in enumerate(answers):
        sys.stdout.write("\n" if i else "")
        _write_answer(sys.stdout, answer, unit, errors[i])


def _model(path: str) -> ReleasedModel:
    """Return the model in a file, of a release the one that explains it."""
    found = load(path)
    return found.model if isinstance(found, Release) else found


def _evidence(domain: Domain, given: Sequence[str]) -> dict[str, list[Label]]:
    """Return the values each attribute may have, as labels where it has them, else as codes."""
    evidence: dict[str, list[Label]] = {}
    for text in given:
        # An attribute's own name may hold "=".
        name = max((a for a in domain if text.startswith(f"{a}=")), key=len, default=None)
        if name is None:
            raise ValueError(f"--given needs NAME=VALUE with an attribute of the model, got {text!r}")
        book = Codebook(domain, name)
        try:
            code = book[text[len(name) + 1 :]]
        except KeyError:
            raise ValueError(f"--given {text!r}: attribute {name!r} needs {book.allowed}") from None
        labels = domain.labels.get(name)
        evidence.setdefault(name, []).append(code if labels is None else labels[code])
    return evidence


def _write_answer(file: TextIO, answer: Factor, unit: str, errors: Factor | None) -> None:
    writer = csv.writer(file, lineterminator="\n")
    if errors is None:
        writer.writerow([*answer.domain.attributes, unit])
        writer.writerows(cells(answer))
        return
    writer.writerow([*answer.domain.attributes, unit, "standard_error"])
    beside = (f"{error:.3g}" for error in errors.datavector())
    writer.writerows((*cell, error) for cell, error in zip(cells(answer), beside, strict=True))


def _info(arguments: argparse.Namespace) -> None:
    model = _model(arguments.model)
    lines = [*model_lines(model), f"total: {model.total:,.0f} records", "attributes:", *domain_lines(model.domain)]
    sys.stdout.write("\n".join([*lines, ""]))


def _demo(arguments: argparse.Namespace) -> None:
    people = demo.titanic()
    release = mechanisms.mst(people, budget=Budget(epsilon=arguments.epsilon, delta=arguments.delta))
    _stop_if_interrupted(release)
    synthetic = release.synthetic_data()
    shown = f"ε = {float(arguments.epsilon):g}, δ = {float(arguments.delta):g}".replace("e-0", "e-")
    title = f"The people of the Titanic, real and private synthetic ({shown})"
    lines = [title, "", *demo.table_lines(synthetic, unsafe_data=people), ""]
    lines += release.report().splitlines()
    sys.stdout.write("\n".join([*lines, ""]))
    try:
        picture = demo.draw(synthetic, title, unsafe_data=people)
    except ImportError:
        sys.stdout.write('picture: needs matplotlib; pip install "pypgm[plot]"\n')
    else:
        sys.stdout.write(f"picture: {picture}\n")
