"""The command ``pypgm``: private synthetic records from a table, and answers from a release."""

from __future__ import annotations

from pypgm.cli.command import main

__all__ = ["main"]
