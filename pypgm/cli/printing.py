"""Lines for people, and JSON for programs; control characters in names, labels and paths are escaped."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pypgm._base.terminal import escaped, escaped_json
from pypgm._core import __version__

if TYPE_CHECKING:
    import argparse


def show(lines: Iterable[str]) -> None:
    """Write lines to the standard output."""
    sys.stdout.write("".join(f"{escaped(line)}\n" for line in lines))


def tell(lines: Iterable[str]) -> None:
    """Write lines to the standard error."""
    sys.stderr.write("".join(f"{escaped(line)}\n" for line in lines))


def json_text(verb: str, facts: dict[str, Any], status: int = 0) -> str:
    """Return facts as JSON: one object, with the verb, the version and the exit status in front."""
    whole = _finite({"verb": verb, "pypgm": __version__, "status": status, **facts})
    return escaped_json(json.dumps(whole, ensure_ascii=False, indent=1, allow_nan=False)) + "\n"


def present(
    arguments: argparse.Namespace,
    facts: dict[str, Any],
    lines: Iterable[str],
    write: Callable[[Iterable[str]], None] = show,
) -> None:
    """Write facts as JSON to the standard output if --json is given, else the lines that say the same."""
    if arguments.json:
        sys.stdout.write(json_text(arguments.verb, facts))
    else:
        write(lines)


def _finite(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return a value that JSON can hold: numbers that are not finite become null."""
    if isinstance(value, dict):
        return {str(name): _finite(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
