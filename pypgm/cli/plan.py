"""``pypgm plan``: the errors a budget would buy, before anything is spent."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from pypgm import mechanisms
from pypgm._base.terminal import NO_BREAK, aligned, laid_out, terminal_width
from pypgm.cli.arguments import (
    HELP,
    add_budget,
    add_mechanism,
    add_target,
    add_verb,
    as_rows,
    schema_in,
    workload_named,
)
from pypgm.cli.printing import present
from pypgm.data import OpenSchema, Schema
from pypgm.privacy import Budget
from pypgm.privacy.arguments import relation_of
from pypgm.privacy.ledger_report import LedgerReport
from pypgm.privacy.promise import Promise
from pypgm.privacy.settling import counts_needed
from pypgm.privacy.tables import budget_for
from pypgm.report import together
from pypgm.reporting.quality import rounded
from pypgm.reporting.text import pair_text, promise_rows
from pypgm.reporting.words import many

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pypgm.cli.arguments import Verbs
    from pypgm.planning import Plan

_NAMED = 4  # number of the worst columns, which are named
_DESCRIPTION = """\
Rehearse a mechanism on simulated records and print how far its answers would be off, the counts it would measure with
their noise, time and memory. No table is read and nothing is spent: the number of records is public knowledge or a
guess. Errors are a range, from two simulated tables: an easy one, with few frequent values that hardly depend on each
other, and a hard one, with even values that depend much. Bins of quantiles are taken to be of even width. A value of
an open column is found only if enough records have it, and the number is printed. Without --open-values, or where the
values are too many for the records, such a column is forecast as all "other".
"""
_USAGE = """\
examples:
  pypgm plan schema.json --records 50000 --epsilon 1 --delta 1e-9
  pypgm plan schema.json --records 50000 --epsilon 1 --delta 1e-9 --mechanism hdmm --workload up-to-2
"""
_ALL_OTHER = 'all values are forecast to become "other", 100 points off'
_CAUTION = "estimated on two simulated tables, an easy and a hard one; sampling records adds a little more"


def add_to(commands: Verbs) -> None:
    """Add the subcommand to the command line."""
    plan = add_verb(commands, "plan", _plan, summary="what a budget would buy", about=_DESCRIPTION, examples=_USAGE)
    plan.add_argument("domain", metavar="SCHEMA", help="the columns: a .json or .yaml file")
    plan.add_argument("--records", metavar="N", type=_records, required=True, help="approximate number of records")
    add_budget(plan)
    add_mechanism(plan)
    plan.add_argument(
        "--open-values",
        metavar="N",
        type=as_rows,
        help='approximate number of values that each open column has; without it they are forecast as all "other"',
    )
    plan.add_argument("--workload", metavar="WORKLOAD", help=HELP)
    add_target(plan)
    plan.add_argument(
        "--neighbours", choices=["add-remove", "replace"], default="add-remove", help="what is protected, as for synth"
    )
    plan.add_argument("--ledger", action="store_true", help="list the measurements with their noise")


def _records(text: str) -> int:
    number = as_rows(text)
    if number == 0:
        raise argparse.ArgumentTypeError("needs a number of records, 1 or more, got 0")
    return number


def _left(budget: Budget, share: Fraction) -> Budget:
    """Return the rest of a budget after values and bins are found for a share of it."""
    return budget.of_amount(budget.limit * (1 - share))


def _plan(arguments: argparse.Namespace) -> None:
    declared = schema_in(arguments.domain)
    budget = budget_for(declared, arguments.epsilon, arguments.delta)
    opened = _opened(declared, budget, arguments)
    schema = declared if isinstance(declared, Schema) else _assumed(declared, opened)
    domain = schema.domain
    work = None if arguments.workload is None else workload_named(domain, arguments.workload)
    privacy = relation_of(arguments.neighbours, schema)
    left = _left(budget, declared.open_share) if declared.open else budget
    plan = mechanisms.plan(
        arguments.mechanism,
        schema,
        budget=left,
        workload=work,
        targets=arguments.target or (),
        n_records=arguments.records,
        privacy=privacy,
    )
    width = terminal_width()
    rows = [
        *promise_rows(Promise.of(LedgerReport(budget), privacy.sentence, [declared])),
        *_quality_rows(plan),
        *_open_rows(opened),
        *_measured_rows(plan),
        ("time", f"{plan.seconds:.1f} s beside reading the table{_memory(plan)}"),
        ("next", f"pypgm synth TABLE --schema {arguments.domain} --epsilon … --delta … --out synthetic.csv"),
    ]
    present(
        arguments, _facts(plan, opened), [*laid_out(rows, width), *(_listed(plan, width) if arguments.ledger else [])]
    )


class _Opened(NamedTuple):
    """Forecast of an open column whose values are found privately.

    Attributes
    ----------
    column : str
    found_from : int
        Noisy count that a value needs to be found.
    values : int or None
        Number of its values by ``--open-values``.
    records : int
        Number of records.
    """

    column: str
    found_from: int
    values: int | None
    records: int

    @property
    def n_found(self) -> int:
        """Number of values that are found if all are equally frequent: all or none."""
        return self.values if self.values and self.records >= self.values * self.found_from else 0

    @property
    def reason(self) -> str:
        """Reason for the number of values that are supposed to be found."""
        if not self.values:
            return f"without --open-values {_ALL_OTHER}"
        each = f"{many(self.values, 'value')} have about {self.records / self.values:,.3g} each"
        return f"{each}, and are supposed to be found" if self.n_found else f"{each}: {_ALL_OTHER}"


def _opened(declared: Schema | OpenSchema, budget: Budget, arguments: argparse.Namespace) -> list[_Opened]:
    """Return the open columns whose values are found, in the order of the schema."""
    if isinstance(declared, Schema):
        return []
    needed = counts_needed(declared, budget, arguments.neighbours)
    return [_Opened(name, n, arguments.open_values, arguments.records) for name, n in needed.items()]


def _assumed(declared: OpenSchema, opened: Sequence[_Opened]) -> Schema:
    """Return the schema with the values that are supposed to be found."""
    n_found = {column.column: column.n_found for column in opened}
    return declared.closed({name: column.assumed(n_found.get(name, 0)) for name, column in declared.open.items()})


def _open_rows(opened: Sequence[_Opened]) -> list[tuple[str, str]]:
    """Return rows on the records that a value of each open column needs, and the values supposed to be found."""
    needed = _by(opened, lambda c: f"a value is found where about {many(c.found_from, 'record')} have it")
    said = [*needed.items(), *_by(opened, lambda c: c.reason).items()]
    return [("" if i else "open", f"{', '.join(names)}: {text}") for i, (text, names) in enumerate(said)]


def _by(opened: Sequence[_Opened], said: Callable[[_Opened], str]) -> dict[str, list[str]]:
    """Return the names of the columns of which each text is said."""
    names: dict[str, list[str]] = {}
    for column in opened:
        names.setdefault(said(column), []).append(column.column)
    return names


def _quality_rows(plan: Plan) -> list[tuple[str, str]]:
    """Return rows on the errors of answers, for columns and for pairs."""
    points = {c: 100 * d for c, d in plan.distances.items()}
    columns = {c: p for c, p in sorted(points.items(), key=lambda e: -e[1]) if len(c) == 1}
    pairs = {c: p for c, p in sorted(points.items(), key=lambda e: -e[1]) if len(c) == 2}
    rows = []
    for name, of in (("columns", columns), ("pairs", pairs)):
        if of:
            worst = ", ".join(pair_text(c, of) for c in list(of)[:_NAMED])
            if of is pairs or not pairs:
                mean = f"{rounded(100 * plan.low)} to {rounded(100 * plan.high)}"
            else:
                mean = f"about {rounded(sum(of.values()) / len(of))}"
            rows.append((name, f"{mean} points off on average; most{NO_BREAK}of{NO_BREAK}all {worst}"))
    of_targets = {c: p for c, p in pairs.items() if not set(c).isdisjoint(plan.targets)}
    if of_targets:
        worst = ", ".join(pair_text(c, of_targets) for c in list(of_targets)[:_NAMED])
        about = f"about {rounded(100 * plan.target_error)} points off on average"
        rows.append(("target", f"pairs with {', '.join(plan.targets)} {about}; most{NO_BREAK}of{NO_BREAK}all {worst}"))
    rows += [("", "points: % of records to change to agree with the table"), ("", _CAUTION)]
    return [*rows, ("", plan.interactions_found())] if plan.interactions_found() else rows


def _measured_rows(plan: Plan) -> list[tuple[str, str]]:
    """Return rows on the measured cliques, by size, and their noise."""
    sizes = [len(c) for c in set(plan.cliques)]
    nouns = {0: "count of all records", 1: "single column", 2: "pair"}
    groups = [many(sizes.count(n), nouns.get(n, f"group of {n} columns")) for n in sorted(set(sizes))]
    if not groups:
        return []
    noise = [stddev for *_, stddev in together(zip(plan.cliques, plan.numbers, plan.stddev, strict=True))]
    return [
        (
            "counts",
            f"{', '.join(groups)} by {plan.mechanism}, with noise of {min(noise):.3g} to {max(noise):.3g} records",
        )
    ]


def _memory(plan: Plan) -> str:
    return "" if plan.bytes is None else f", {plan.bytes / 2**20:,.0f} MiB of memory"


def _listed(plan: Plan, width: int) -> list[str]:
    rows = [("columns", "counts", "noise in each, records")]
    measured = together(zip(plan.cliques, plan.numbers, plan.stddev, strict=True))
    rows += [(", ".join(c) or "(all records)", f"{n:,}", f"{s:.3g}") for c, n, s in measured]
    return ["", *aligned(rows, width, numbers=[1, 2])]


def _facts(plan: Plan, opened: Sequence[_Opened]) -> dict[str, Any]:
    """Return a plan as JSON, distances in percentage points: all of them where no value of a column is found."""
    fields = asdict(plan)
    measured = zip(fields.pop("cliques"), fields.pop("numbers"), fields.pop("stddev"), strict=True)
    points = [{"columns": list(c), "points": 100 * d} for c, d in fields.pop("distances").items()]
    counts = [{"columns": list(c), "numbers": n, "noise": s} for c, n, s in measured]
    fields |= {name: 100 * fields[name] for name in ("error", "low", "high")}
    fields |= {"target_error": 100 * plan.target_error} if plan.targets else {}
    points += [{"columns": [column.column], "points": 100.0} for column in opened if not column.n_found]
    columns = [{k: v for k, v in c._asdict().items() if k != "records"} | {"n_found": c.n_found} for c in opened]
    return fields | {"points": points, "counts": counts, "open": columns}
