"""``pypgm info``: the guarantee, the quality and the contents of a release."""

from __future__ import annotations

import argparse
from typing import Any

from pypgm import load
from pypgm._base.terminal import laid_out, terminal_width
from pypgm.cli.arguments import Verbs, add_verb
from pypgm.cli.printing import present
from pypgm.files.stored_model import ReleasedModel
from pypgm.privacy.account import Account
from pypgm.release import Release
from pypgm.report import model_lines
from pypgm.reporting.facts import Facts
from pypgm.reporting.text import column_lines, digest_row, release_lines

_DESCRIPTION = """\
Print the guarantee of a release, how far its answers may be from the table it was made from, and its contents.

"points" are percentage points: the share of the records that would have to change for a column, or a pair of columns,
to agree with the table. They are computed from the release alone, at no privacy cost.
"""


def add_to(commands: Verbs) -> None:
    """Add the subcommand to the command line."""
    info = add_verb(commands, "info", _info, summary="what a release guarantees, how good it is", about=_DESCRIPTION)
    info.add_argument("release", metavar="RELEASE", help="a file written by synth, or a model")
    info.add_argument("--ledger", action="store_true", help="what the budget was spent on, draw by draw")
    info.add_argument("--account", metavar="ACCOUNT", help="check the release against the account that paid for it")
    info.add_argument(
        "--model", action="store_true", help="all columns, the measurements with their noise, the model's size"
    )


def _info(arguments: argparse.Namespace) -> None:
    content = load(arguments.release)
    if arguments.account and not isinstance(content, Release):
        raise ValueError(f"{arguments.release} holds only a model, which no account has")
    width = terminal_width()
    if not isinstance(content, Release):
        facts: dict[str, Any] = {"records": content.total, "columns": _sizes(content)}
        rows = [("total", f"{content.total:,.0f} records"), digest_row(content.digest)]
        lines = [*model_lines(content), *laid_out(rows, width), *column_lines(content, None, None, width)]
    else:
        of_release = Facts(content)
        facts = of_release.to_dict(ledger=arguments.ledger)
        lines = release_lines(of_release, width, model=arguments.model, ledger=arguments.ledger)
        if arguments.account:
            facts["checked"] = Account(arguments.account).check_release(content)
            lines += ["", facts["checked"]]
    present(arguments, {**facts, "digest": content.digest}, lines)


def _sizes(model: ReleasedModel) -> dict[str, int]:
    return {a: model.domain.size((a,)) for a in model.domain}
