"""The command ``pypgm``: private synthetic records from a table, and answers from a release."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Import the command and run it, as `pypgm.cli.command.main` says; Ctrl-C while it starts is one line too."""
    try:
        from pypgm.cli import command
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write("pypgm: interrupted\n")
        return 130
    return command.main(argv)
