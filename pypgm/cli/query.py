"""``pypgm query``: marginals and conditional probabilities."""

from __future__ import annotations

import argparse
import csv
import sys
from typing import TYPE_CHECKING, TextIO

from pypgm.bayes import BayesianNetwork
from pypgm.cli.arguments import add_given, add_verb, as_rows, check_places, clique_named, evidence_given, model_in
from pypgm.data.files import replacing_text
from pypgm.models import GraphicalModel
from pypgm.report import cells

if TYPE_CHECKING:
    from pypgm.cli.arguments import Verbs
    from pypgm.factor import Factor

__all__ = ["add_to"]

_ABOUT = """\
Print marginals of a model as CSV: a line for each cell, with its expected number of records and the standard error that
the noise of the measurements leaves it.

With --given it prints conditional probabilities instead. Any attributes can be asked for together, measured or not.
"""
_EXAMPLES = """\
examples:
  pypgm query people.pgm age,sex income
  pypgm query people.pgm income --given sex=F --given age=30 --given age=31   (women of 30 or 31)
  pypgm query people.pgm age,sex --out age-sex.csv
  pypgm query alarm.bif HYPOVOLEMIA --given CVP=LOW
"""


def add_to(commands: Verbs) -> None:
    """Add the verb."""
    summary = "marginals and conditional probabilities"
    query = add_verb(commands, "query", _query, summary=summary, about=_ABOUT, examples=_EXAMPLES)
    query.add_argument("model", metavar="MODEL", help="a file that synth wrote, or a .bif or .bif.gz network")
    query.add_argument("cliques", metavar="ATTRIBUTES", nargs="+", help="names with commas between them: age,sex")
    add_given(query)
    query.add_argument(
        "--draws",
        metavar="N",
        type=_draws,
        default=20,
        help="estimates by which the standard errors are told where there is no formula (default 20, known to 16 %%; "
        "0: no standard errors)",
    )
    query.add_argument("--out", metavar="FILE", help="write the marginal to a .csv or .csv.gz file")


def _draws(text: str) -> int:
    number = as_rows(text) if text.isdigit() else 1
    if number == 1:
        raise argparse.ArgumentTypeError(f"needs a number of estimates, 2 or more, or 0, got {text!r}")
    return number


def _query(arguments: argparse.Namespace) -> None:
    cliques = [clique_named(text) for text in arguments.cliques]
    if arguments.out is not None and len(cliques) != 1:
        raise ValueError(f"--out holds one marginal, got {len(cliques)}; ask for them one at a time")
    is_network = arguments.model.endswith((".bif", ".bif.gz"))
    model = BayesianNetwork.read_bif(arguments.model) if is_network else model_in(arguments.model)
    evidence = evidence_given(model.domain, arguments.given)
    # All are asked before one is shown: an error leaves no half an answer.
    if isinstance(model, BayesianNetwork) or evidence:
        answers, unit = [model.query(clique, evidence) for clique in cliques], "probability"
    else:
        answers, unit = [model.project(clique) for clique in cliques], "count"
    errors: list[Factor | None] = [None] * len(cliques)
    if arguments.draws and isinstance(model, GraphicalModel) and model.origin is not None:
        errors = [*model.standard_errors(cliques, evidence or None, draws=arguments.draws)]
    if arguments.out is not None:
        check_places([arguments.model], [arguments.out])
        with replacing_text(arguments.out) as file:
            _write_answer(file, answers[0], unit, errors[0])
        return
    for i, answer in enumerate(answers):
        sys.stdout.write("\n" if i else "")
        _write_answer(sys.stdout, answer, unit, errors[i])


def _write_answer(file: TextIO, answer: Factor, unit: str, errors: Factor | None) -> None:
    writer = csv.writer(file, lineterminator="\n")
    if errors is None:
        writer.writerow([*answer.domain.attributes, unit])
        writer.writerows(cells(answer))
        return
    writer.writerow([*answer.domain.attributes, unit, "standard_error"])
    beside = (f"{error:.3g}" for error in errors.datavector())
    writer.writerows((*cell, error) for cell, error in zip(cells(answer), beside, strict=True))
