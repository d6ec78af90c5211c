"""``pypgm demo``: the whole way on a table that is built in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypgm import demo, mechanisms
from pypgm.cli.arguments import add_budget, add_verb
from pypgm.cli.printing import show
from pypgm.cli.synth import stop_if_interrupted
from pypgm.privacy import Budget

if TYPE_CHECKING:
    import argparse

    from pypgm.cli.arguments import Verbs

__all__ = ["add_to"]


def add_to(commands: Verbs) -> None:
    """Add the verb."""
    summary = "the whole way on a small built-in table"
    show = add_verb(commands, "demo", _demo, summary=summary, about=demo.__doc__)
    add_budget(show, epsilon="1", delta="1e-9")


def _demo(arguments: argparse.Namespace) -> None:
    people = demo.titanic()
    release = mechanisms.mst(people, budget=Budget(epsilon=arguments.epsilon, delta=arguments.delta))
    stop_if_interrupted(release)
    synthetic = release.synthetic_data()
    shown = f"ε = {float(arguments.epsilon):g}, δ = {float(arguments.delta):g}".replace("e-0", "e-")
    title = f"The people of the Titanic, real and private synthetic ({shown})"
    lines = [title, "", *demo.table_lines(synthetic, unsafe_data=people), ""]
    lines += release.report().splitlines()
    show(lines)
    try:
        picture = demo.draw(synthetic, title, unsafe_data=people)
    except ImportError:
        show(['picture: needs matplotlib; pip install "pypgm[plot]"'])
    else:
        show([f"picture: {picture}"])
