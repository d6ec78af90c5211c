"""Messages of the package in the words of the command: options as they are typed, and no call of Python."""

from __future__ import annotations

import re
from collections.abc import Collection

_BUDGET = re.compile(r"Budget\(([^()]*)\)")
_TWICE = re.compile(r"\b[a-z_]+=(?:'[^']*'|\S+) or (?=--[a-z])")  # as "delimiter=';' or --delimiter"
_ARGUMENT = re.compile(r"(?<![\w'\"=.-])([a-z][a-z_]*)=('[^']*'|\"[^\"]*\"|[\w./-]*)")
_NAME = re.compile(r"(?<![\w'\"=./-])[a-z]+(?:_[a-z]+)+(?![\w'\"=./(-])")
_PHRASES = {
    "pass budget= to create one": "pypgm account create makes one",
    "a schema names the column by person=": 'a schema names the column by "person"',
    "state records_per_person=": 'state "records_per_person": ',
    "state records_per_person without": 'state "records_per_person" without',
    "n_records must": "--records must",
    ", or max_bytes": "",
    "; pass max_bytes": "",
}
"""What the command says where it has no option of the name."""


def spelled(message: str, options: Collection[str]) -> str:
    """Return a message for a command with these options, by the names that its parsed arguments have.

    Examples
    --------
    >>> spelled("a is for neighbours='replace', and has Budget(rho=1): time_limit", ["time_limit", "neighbours"])
    'a is for --neighbours replace, and has rho 1: --time-limit'
    """
    if message.startswith("--given"):  # whose names and values are those of the table
        return message
    for phrase, words in _PHRASES.items():
        message = message.replace(phrase, words)
    message = _TWICE.sub("", _BUDGET.sub(lambda match: match[1].replace("=", " "), message))

    def option(name: str, otherwise: str) -> str:
        return f"--{name.replace('_', '-')}" if name in options else otherwise

    def argument(match: re.Match[str]) -> str:
        value = match[2].strip("'\"")
        return f"{option(match[1], match[1])} {value}".rstrip()

    message = _ARGUMENT.sub(argument, message)
    return _NAME.sub(lambda match: option(match[0], match[0]), message)
