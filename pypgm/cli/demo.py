"""``pypgm demo``: all steps on a built-in table."""

from __future__ import annotations

import argparse

from pypgm import demo, mechanisms
from pypgm._base.terminal import laid_out, terminal_width
from pypgm.cli.arguments import Verbs, add_budget, add_verb
from pypgm.cli.printing import present
from pypgm.cli.synth import stop_if_interrupted
from pypgm.privacy import Budget
from pypgm.report import caveat_lines
from pypgm.reporting.facts import Facts
from pypgm.reporting.text import promise_rows, quality_rows


def add_to(commands: Verbs) -> None:
    """Add the subcommand to the command line."""
    summary = "all steps on a small built-in table"
    show = add_verb(commands, "demo", _demo, summary=summary, about=demo.__doc__)
    add_budget(show, epsilon="1", delta="1e-9")


def _demo(arguments: argparse.Namespace) -> None:
    people = demo.titanic()
    release = mechanisms.wide(people, budget=Budget(epsilon=arguments.epsilon, delta=arguments.delta))
    stop_if_interrupted(release)
    synthetic = release.synthetic_data()
    shown = f"ε = {float(arguments.epsilon):g}, δ = {float(arguments.delta):g}".replace("e-0", "e-")
    title = f"The people of the Titanic, real and private synthetic ({shown})"
    facts = Facts(release)
    rows = [*promise_rows(release.promise), *quality_rows(facts.quality)]
    errors, names = demo.errors(release, synthetic), demo.titles(release)
    lines = [*caveat_lines(release.promise), title, ""]
    lines += [*demo.table_lines(synthetic, errors, names, unsafe_data=people), ""]
    try:
        picture: str | None = str(demo.draw(synthetic, title, errors, names, unsafe_data=people))
        note = f"picture: {picture}"
    except ImportError:
        picture, note = None, 'picture: needs matplotlib; pip install "pypgm[plot]"'
    files = {"files": {"picture": picture}}
    present(arguments, facts.to_dict() | files, [*lines, *laid_out(rows, terminal_width()), note])
