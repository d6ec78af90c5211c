"""``pypgm account``: the budget of a table that outlives single runs: made, looked at, settled, closed."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from pypgm._base.terminal import laid_out, terminal_width
from pypgm.cli.arguments import Verbs, add_verb, as_number, as_rows
from pypgm.cli.printing import present
from pypgm.cli.spelling import spelled
from pypgm.privacy.account import Account
from pypgm.privacy.account_rows import MOST_FITTING
from pypgm.privacy.account_use import paid_for
from pypgm.privacy.budget import Budget, short
from pypgm.privacy.promise import budget_text

_DESCRIPTION = """\
Keep the budget of a table: each run takes its own from it before it reads a record, in any process, and all of them
together never exceed it.

ACCOUNT is a file on a disk of this machine, or a postgresql:// URL. It holds no value of a record.
"""
_USAGE = """\
examples:
  pypgm account create people.account --epsilon 3 --delta 1e-8 --table people.csv
  pypgm synth people.csv --account people.account --schema schema.json --epsilon 1 --delta 1e-9 --out synthetic.csv
  pypgm account show people.account
  pypgm account settle people.account 2 --by "A. Smith" --why "the machine was restarted"
"""
_CREATE = """\
Make an account; one that is there with the same budget stays as it is. If a table is named, runs have to give the same
name. The columns that name a person and the neighbour relation are those of the first run, unless they are given.
"""
_RESERVE = """\
Pay for a release that will be made by other means, and that is epsilon-DP, (epsilon, delta)-DP or rho-zCDP. It counts
as spent for good. Reserve first, release then: in an account of epsilon and delta the cost counts on this order. A
delta is taken from the account's --reserved-delta.
"""
_SETTLE = """\
Settle a run whose process was killed: what it charged stays spent, the rest goes back. The lines of a run are entered
before records are read for them, so nothing that it has shown is left out. A process that still works is refused from
then on.
"""
_WIDEN = """\
Replace the budget by a larger one. What was published before has then promised more than holds from now on.
"""


def add_to(commands: Verbs) -> None:
    """Add the subcommand to the command line."""
    summary = "the budget of a table, from which all runs take"
    account = commands.add_parser("account", help=summary, description=_DESCRIPTION, epilog=_USAGE, allow_abbrev=False)
    account.formatter_class = argparse.RawDescriptionHelpFormatter
    steps = account.add_subparsers(metavar="STEP", required=True)
    create = _added(steps, "create", _create, "make an account", _CREATE)
    _add_amounts(create)
    create.add_argument("--table", metavar="NAME", help="name of the table, as each run gives it")
    create.add_argument(
        "--person", metavar="COLUMN", action="append", help="column that names a person; may be repeated"
    )
    create.add_argument(
        "--neighbours", choices=["add-remove", "replace"], help="what every run protects, see pypgm synth"
    )
    _added(steps, "show", _show, "what is left, and which runs are open")
    _added(steps, "history", _history, "all runs and changes")
    reserve = _added(steps, "reserve", _reserve, "pay for a release made by other means", _RESERVE)
    for name, about in (("epsilon", "privacy loss of the release"), ("delta", "slack beside it"), ("rho", "or a rho")):
        reserve.add_argument(f"--{name}", metavar=name[0].upper(), type=as_number, help=about)
    reserve.add_argument("--what", metavar="TEXT", required=True, help="name of the release")
    reserve.add_argument("--key", metavar="TEXT", default="", help="key, under which nothing more can be reserved")
    settle = _added(steps, "settle", _settle, "settle a run that was killed", _SETTLE)
    settle.add_argument("number", metavar="RUN", type=as_rows, help="number of the run, see show")
    widen = _added(steps, "widen", _widen, "replace the budget by a larger one", _WIDEN)
    _add_amounts(widen)
    close = _added(steps, "close", _close, "let no run begin any more")
    for step in (settle, widen, close):
        step.add_argument("--by", metavar="NAME", required=True, help="name of the person who decides; kept for good")
        step.add_argument("--why", metavar="TEXT", required=True, help="the reason; kept for good")


def _added(
    steps: Verbs, name: str, run: Callable[[argparse.Namespace], None], summary: str, about: str | None = None
) -> argparse.ArgumentParser:
    step = add_verb(steps, name, run, summary=summary, about=about)
    step.add_argument("account", metavar="ACCOUNT", help="a file, or a postgresql:// URL")
    return step


def _add_amounts(step: argparse.ArgumentParser) -> None:
    for name, about in (
        ("epsilon", "privacy loss of all runs together"),
        ("delta", "slack, below 1"),
        ("rho", "zero-concentrated privacy loss, instead of epsilon and delta"),
        ("reserved-delta", "part of delta, or slack beside rho, for runs that find unlisted values"),
    ):
        step.add_argument(f"--{name}", metavar=name[0].upper(), type=as_number, help=about)


def _budget(arguments: argparse.Namespace) -> Budget:
    names = ("epsilon", "delta", "rho", "reserved_delta")
    given = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    if not {"epsilon", "rho"} & {*given}:
        raise ValueError("a budget needs --epsilon, mostly with --delta, or --rho")
    try:
        return Budget(**given)
    except TypeError as error:
        raise ValueError(str(error)) from None


def _create(arguments: argparse.Namespace) -> None:
    how: dict[str, Any] = {"table": arguments.table, "person": arguments.person, "neighbours": arguments.neighbours}
    account = Account(arguments.account, budget=_budget(arguments), **how)
    lines = [
        spelled(f"{account.name} has {account.budget!r}", ()),
        "next  pypgm synth with --account and the same name",
    ]
    present(arguments, _state(account), lines)


def _state(account: Account) -> dict[str, Any]:
    """Return the amounts of an account that are spent, reserved and left, as "a/b", and its open runs."""
    facts = account.to_dict()
    runs = [{name: value for name, value in run.items() if name != "lines"} for run in facts.pop("runs")]
    del facts["changes"]
    amounts: dict[str, Any] = {"spent": str(account.spent()), "reserved": str(account.reserved())}
    if last := account.runs()[-1:]:
        amounts["more_runs"] = {"like": last[0].run, "fit": account.n_fitting(last[0].budget)}
    return facts | amounts | {"open": [run for run in runs if run["state"] == "reserved"]}


def _show(arguments: argparse.Namespace) -> None:
    account = Account(arguments.account)
    facts = _state(account)
    unit, limit = facts["unit"], short(Fraction(facts["limit"]))
    rows = [("account", spelled(f"{facts['name']}, {facts['state']}: {account.budget!r}", ()))]
    rows += [(name, f"{short(Fraction(facts[name]))} of {unit} {limit}") for name in ("spent", "reserved", "remaining")]
    rows += [("more runs", _more_text(account, **facts["more_runs"]))] if "more_runs" in facts else []
    rows += [
        ("open", f"run {run.run}, {run.what}, since {run.day}: {run.state}")
        for run in account.runs()
        if not run.is_settled
    ]
    present(arguments, facts, laid_out(rows, terminal_width()))


def _more_text(account: Account, like: int, fit: int) -> str:
    """Return how many more runs like the last one fit, as text."""
    number = f"{fit} or more" if fit == MOST_FITTING else f"{fit}"
    return f"{number} like run {like}, with {budget_text(account.runs()[like - 1].budget)}"


def _history(arguments: argparse.Namespace) -> None:
    account = Account(arguments.account)
    present(arguments, account.to_dict(), account.report().splitlines())


def _reserve(arguments: argparse.Namespace) -> None:
    if (arguments.epsilon is None) == (arguments.rho is None):
        raise ValueError("a release has either --epsilon, with --delta or without, or --rho")
    how = {"epsilon": arguments.epsilon, "rho": arguments.rho, "delta": arguments.delta or 0}
    run = paid_for(Account(arguments.account), arguments.what, key=arguments.key, **how)
    present(arguments, run.to_dict(), [run.text])


def _settle(arguments: argparse.Namespace) -> None:
    account = Account(arguments.account)
    run = account.settle(arguments.number, by=arguments.by, why=arguments.why)
    spent = f"{account.unit} {short(run.spent)} spent, {short(run.amount - run.spent)} given back"
    present(arguments, run.to_dict(), [f"run {run.run} is settled: {spent}"])


def _widen(arguments: argparse.Namespace) -> None:
    account = Account(arguments.account)
    account.widen(_budget(arguments), by=arguments.by, why=arguments.why)
    present(arguments, _state(account), [spelled(f"{account.name} has {account.budget!r}", ())])


def _close(arguments: argparse.Namespace) -> None:
    account = Account(arguments.account)
    account.close(by=arguments.by, why=arguments.why)
    present(arguments, _state(account), [f"{account.name} is closed: no run can begin any more"])
