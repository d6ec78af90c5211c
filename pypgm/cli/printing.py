"""Lines for people: whatever is in a name, a label or a path, each stays one line of printable characters."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from pypgm.terminal import escaped

__all__ = ["show", "tell"]


def show(lines: Iterable[str]) -> None:
    """Write lines to the standard output."""
    sys.stdout.write("".join(f"{escaped(line)}\n" for line in lines))


def tell(lines: Iterable[str]) -> None:
    """Write lines to the standard error."""
    sys.stderr.write("".join(f"{escaped(line)}\n" for line in lines))
