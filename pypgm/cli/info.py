"""``pypgm info``: what a release guarantees, measured and holds."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pypgm.cli.arguments import add_verb, model_in
from pypgm.report import domain_lines, model_lines

if TYPE_CHECKING:
    import argparse

    from pypgm.cli.arguments import Verbs

__all__ = ["add_to"]


def add_to(commands: Verbs) -> None:
    """Add the verb."""
    info = add_verb(commands, "info", _info, summary="what a model holds", about="Print what a model holds.")
    info.add_argument("model", metavar="MODEL", help="a file that synth --model wrote")


def _info(arguments: argparse.Namespace) -> None:
    model = model_in(arguments.model)
    lines = [*model_lines(model), f"total: {model.total:,.0f} records", "attributes:", *domain_lines(model.domain)]
    sys.stdout.write("\n".join([*lines, ""]))
