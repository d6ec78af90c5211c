"""The command: its streams, its verbs, the meaning of its errors, and its end."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO, cast

from pypgm import __version__
from pypgm.cli.arguments import Parser
from pypgm.cli.log import Log
from pypgm.cli.printing import json_text, tell
from pypgm.cli.spelling import spelled
from pypgm.cli.synth import PaidError
from pypgm.errors import (
    BudgetError,
    DraftWarning,
    EstimateInterruptedWarning,
    ImpossibleEvidenceError,
    ReadingError,
    ReleaseError,
    SourceError,
    TableError,
    WeakGuaranteeWarning,
)
from pypgm.jobs.claim import TakenError
from pypgm.jobs.stopping import STOPPING

_DESCRIPTION = """\
Private synthetic records, and answers from the model behind them.

A table of records is read once, a few of its marginals are measured with exact noise, and one graphical model is fitted
to these measurements. The model answers any question and draws records, at no further cost of privacy.
"""
_USAGE = """\
examples:
  pypgm demo
      all steps on a small built-in table; nothing to prepare
  pypgm schema init people.csv --out schema.json
      a draft of a table's schema, to be confirmed
  pypgm schema check schema.json
      what the draft left open, one question at a time
  pypgm synth people.csv --schema schema.json --epsilon 1 --delta 1e-9 --out synthetic.csv --model people.pgm
      synthetic records, and the release for later questions
  pypgm sample people.pgm --rows 1000 --given sex=F --out women.csv
      more records, at no cost
  pypgm query people.pgm age,sex --given income=high
      the probabilities of age and sex among people of high income
  pypgm plan schema.json --records 50000 --epsilon 1 --delta 1e-9
      what that budget would buy, before anything is spent
  pypgm account create people.account --epsilon 3 --delta 1e-8
      a budget from which all runs on a table take theirs
  pypgm info people.pgm
      what a release guarantees, measured and holds
  pypgm report people.pgm --out report.html
      one page to show

exit status:
"""
STATUSES = {
    0: "done, or done already",
    1: "schema check: questions are open; else out of memory, or a defect of pypgm",
    2: "the call is wrong",
    3: "the table does not fit its schema",
    4: "the budget is not there, or held by a run that was killed",
    5: "interrupted, or another run is at work: may be tried again",
    6: "a file, a disk or a database failed: may be tried again",
}
"""Exit statuses of all commands."""
_STATUSES_OF: tuple[tuple[type[BaseException], int], ...] = (
    (KeyboardInterrupt, 5),
    (TakenError, 5),
    (BudgetError, 4),
    (TableError, 3),
    (ReadingError, 6),
    (SourceError, 6),
    (ReleaseError, 6),
    (FileNotFoundError, 2),
    (FileExistsError, 2),
    (IsADirectoryError, 2),
    (NotADirectoryError, 2),
    (PermissionError, 2),
    (TimeoutError, 2),
    (OSError, 6),
    (ValueError, 2),
    (ImportError, 2),
)
"""Exit status of the first class that an error is of; 1 for others."""
_EXPONENT = re.compile(r"-[\d.]+[eE][+-]?\d+")  # a negative number with one
_VERBS = (
    *("schema", "plan", "account", "synth", "sample", "query", "info", "report", "compare", "demo", "completion"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default the arguments of the process.

    Returns
    -------
    int
        One of `STATUSES`.

    Examples
    --------
    >>> main(["query", "no-such-model", "age"])
    2
    """
    arguments, status, message = argparse.Namespace(json=False, steps=Log(None)), 0, ""
    with open_streams(), STOPPING.listening():
        try:
            arguments = _parsed(sys.argv[1:] if argv is None else argv)
            arguments.steps = Log(getattr(arguments, "log", None))
            with warnings.catch_warnings():
                warnings.showwarning = lambda message, *_, **__: _print_message(spelled(f"{message}", vars(arguments)))
                for said in (DraftWarning, WeakGuaranteeWarning):  # the release itself says so too
                    warnings.simplefilter("ignore", said)
                # A command ended by Ctrl-C hands out nothing, and says so.
                warnings.simplefilter("ignore", EstimateInterruptedWarning)
                status = arguments.run(arguments) or 0
            sys.stdout.flush()
        except (Exception, KeyboardInterrupt) as error:
            status, message = _verdict(error.cause if isinstance(error, PaidError) else error)
            message = spelled(message, vars(arguments))
            if isinstance(error, PaidError):
                message = f"{message or 'the reader of the output has closed it'}; {error}"
            if message:
                _print_message(message)
            if getattr(arguments, "json", False):
                _print_json(arguments, status, message)
        arguments.steps.end(status, message)
    return status


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    """Return the parsed arguments; ``SystemExit`` after help or the version is printed."""
    try:
        # Only the requested verb is imported, as imports take time.
        return _parser_of([argv[0]] if argv and argv[0] in _VERBS else _VERBS).parse_args(_joined(argv))
    except SystemExit:
        sys.stdout.flush()
        raise


def _joined(argv: Sequence[str]) -> list[str]:
    """Return arguments with negative numbers such as -1e-6, which look like options, joined to the option before.

    Examples
    --------
    >>> _joined(["plan", "--delta", "-1e-6", "--records", "5"])
    ['plan', '--delta=-1e-6', '--records', '5']
    """
    joined: list[str] = []
    for argument in argv:
        if joined and re.fullmatch("--[a-z]+", joined[-1]) and _EXPONENT.fullmatch(argument):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def _print_message(message: str) -> None:
    """Write a warning or an error as one line."""
    tell([f"pypgm: {' '.join(message.split())}"])


def _print_json(arguments: argparse.Namespace, status: int, message: str) -> None:
    """Write an error as JSON to the standard output, if that takes anything."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.write(json_text(arguments.verb, {"error": message}, status))
        sys.stdout.flush()


def _verdict(error: BaseException) -> tuple[int, str]:
    """Return the exit status of an error, and its message."""
    status = next((status for kind, status in _STATUSES_OF if isinstance(error, kind)), 1)
    if isinstance(error, KeyboardInterrupt):
        return status, f"{STOPPING.word}; {str(error) or 'no unfinished file was left'}"
    if isinstance(error, BrokenPipeError):  # the reader of the output has left
        return status, ""
    if isinstance(error, OSError) and error.filename is not None:
        return status, f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError):
        return status, str(error) or "out of memory"
    if status > 1:
        why = "the model, or a rule of its schema, gives this combination no probability: "
        return status, f"{why if isinstance(error, ImpossibleEvidenceError) else ''}{error}"
    # The text of an unforeseen error may be private: the terminal gets its type and place alone.
    place = traceback.extract_tb(error.__traceback__)[-1]
    return status, f"unexpected {type(error).__name__} at {Path(place.filename).name}:{place.lineno}, a defect of pypgm"


def parser_of_all() -> argparse.ArgumentParser:
    """Return the parser of the command with all its verbs."""
    return _parser_of(_VERBS)


def _statuses_text() -> str:
    return "".join(f"  {status}  {meaning}\n" for status, meaning in STATUSES.items())


def _parser_of(verbs: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of the command with some of its verbs, each a module of its name."""
    parser = Parser(prog="pypgm", description=_DESCRIPTION, epilog=_USAGE + _statuses_text(), allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--version", action="version", version=f"pypgm {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for verb in verbs:
        importlib.import_module(f"pypgm.cli.{verb}").add_to(commands)
    return parser


_FLAGS = (os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)  # writing to a closed output fails, to a closed error it is ignored


@contextlib.contextmanager
def open_streams() -> Iterator[None]:
    """Open both streams for this context, even if the process started with them closed.

    A full output raises an ``OSError`` that names it, or `BrokenPipeError`. A full error stream never ends anything: no
    paid release is lost for a line about it.
    """
    for number, flags in enumerate(_FLAGS):
        if _is_closed(number):  # else the next opened file would get the number, and the text meant for the terminal
            os.open(os.devnull, flags)
    out = cast("TextIO | None", sys.stdout) or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    error = cast("TextIO | None", sys.stderr) or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    with contextlib.redirect_stdout(_Output(out)), contextlib.redirect_stderr(_Error(error)):
        yield


def _is_closed(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return True
    return False


class _Stream:
    """A wrapper of a stream that handles its failing writes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the stream has
        return getattr(self._stream, name)

    def _abandon(self) -> None:
        """Point the stream to the null device, so that its unwritten rest raises no complaint when the process ends."""
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


class _Output(_Stream):
    def write(self, text: str) -> int:
        with self._explained():
            return self._stream.write(text)

    def flush(self) -> None:
        with self._explained():
            self._stream.flush()

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except UnicodeEncodeError as error:
            advice = "--out FILE writes UTF-8, and so does PYTHONIOENCODING=utf-8"
            raise ValueError(f"standard output is {error.encoding} and cannot hold a label: {advice}") from None
        except BrokenPipeError:
            self._abandon()
            raise
        except OSError as error:
            self._abandon()
            raise OSError(error.errno, error.strerror, "standard output") from None


class _Error(_Stream):
    def write(self, text: str) -> int:
        with self._unheard():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._unheard():
            self._stream.flush()

    @contextlib.contextmanager
    def _unheard(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            self._abandon()
