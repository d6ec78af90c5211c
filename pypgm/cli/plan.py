"""``pypgm plan``: what a budget would buy, before anything is spent."""

from __future__ import annotations

import argparse
from fractions import Fraction
from typing import TYPE_CHECKING

from pypgm import mechanisms
from pypgm._synthesize import budget_for
from pypgm.cli.arguments import add_budget, add_mechanism, add_verb, as_rows, schema_in
from pypgm.cli.printing import show
from pypgm.cli.workload import HELP, workload_named
from pypgm.privacy import Budget
from pypgm.privacy.arguments import relation_of
from pypgm.privacy.rational import as_fraction

if TYPE_CHECKING:
    from pypgm.cli.arguments import Verbs
    from pypgm.data.schema import Schema

__all__ = ["add_to"]

_VALUES = 20
_ABOUT = """\
Rehearse a mechanism on made-up records and print what it would measure at which noise, the error to expect of pairs of
attributes, time and memory. No table is read and nothing is spent: the number of records is what is publicly known or
guessed of it. Attributes of made-up records depend on each other little: of a table with more dependence the error is
larger. Open columns are taken to have so many values, bins of quantiles to be of even width, and what finding
them costs is left out of the budget.
"""
_EXAMPLES = """\
examples:
  pypgm plan schema.json --records 50000 --epsilon 1 --delta 1e-9
  pypgm plan schema.json --records 50000 --epsilon 1 --delta 1e-9 --mechanism hdmm --workload up-to-2
"""


def add_to(commands: Verbs) -> None:
    """Add the verb."""
    plan = add_verb(commands, "plan", _plan, summary="what a budget would buy", about=_ABOUT, examples=_EXAMPLES)
    plan.add_argument("domain", metavar="SCHEMA", help="the columns: a .json or .yaml file")
    plan.add_argument("--records", metavar="N", type=_records, required=True, help="how many records there are, about")
    add_budget(plan)
    add_mechanism(plan)
    plan.add_argument(
        "--open-values",
        metavar="N",
        type=as_rows,
        default=_VALUES,
        help=f"how many values of each open column will be found, about (default {_VALUES})",
    )
    plan.add_argument("--workload", metavar="WORKLOAD", help=HELP)
    plan.add_argument(
        "--neighbours", choices=["add-remove", "replace"], default="add-remove", help="what is protected, as for synth"
    )


def _records(text: str) -> int:
    number = as_rows(text)
    if number == 0:
        raise argparse.ArgumentTypeError("needs a number of records, 1 or more, got 0")
    return number


def _left(schema: Schema, budget: Budget) -> Budget:
    """Return what finding values and bins leaves of a budget."""
    if not schema.open:
        return budget
    shares = sum((as_fraction("share", column.share) for column in schema.open.values()), Fraction(0))
    left = budget.limit * (1 - shares)
    return Budget(rho=left) if budget.unit == "rho" else Budget(epsilon=left)


def _plan(arguments: argparse.Namespace) -> None:
    declared = schema_in(arguments.domain)
    budget = _left(declared, budget_for(declared, arguments.epsilon, arguments.delta))
    schema = declared.made_up(arguments.open_values)
    domain = schema.domain
    work = None if arguments.workload is None else workload_named(domain, arguments.workload)
    privacy = relation_of(arguments.neighbours, schema)
    found = mechanisms.plan(arguments.mechanism, domain, budget, work, arguments.records, privacy=privacy)
    show(str(found).splitlines())
