"""``pypgm query``: marginals and conditional probabilities."""

from __future__ import annotations

import argparse
import functools
import io
import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pypgm._base.terminal import aligned, escaped, label_text, terminal_width
from pypgm.bayes.network import BayesianNetwork
from pypgm.cli.arguments import (
    Verbs,
    add_given,
    add_verb,
    as_rows,
    check_places,
    clique_named,
    evidence_given,
    model_in,
)
from pypgm.cli.printing import json_text
from pypgm.data.columns.derived_images import read_names
from pypgm.data.sources.files import write_rows, write_text
from pypgm.domain import Domain, Label
from pypgm.factor import Factor
from pypgm.graphs.evidence import Evidence
from pypgm.io.networks import is_network_file, read_network
from pypgm.jobs.claim import Claim
from pypgm.models import GraphicalModel, RegionGraphModel
from pypgm.models.derived_answers import answered, conditioned
from pypgm.models.estimated_again import ERROR_DRAWS
from pypgm.release import Release
from pypgm.report import cells

if TYPE_CHECKING:
    from pypgm.files.stored_model import ReleasedModel

_DESCRIPTION = """\
Print marginals of a model: for each cell its expected number of records, and its expected error, due to the noise and
to everything that was not measured; inf for an attribute that was never measured. The basis of the answer follows:
measured, merged (only together with other values), unmeasured (the attributes were never measured together) or unknown.

In a terminal answers are a table, in which a missing value is "(missing)" and counts have their total; to a file or
another program they are CSV.

Counts of derived columns come from the columns they are derived from, without errors.

With --given it prints conditional probabilities instead. Any attributes can be asked for together, measured or not.

Control characters in labels are printed as escapes; --out writes them unchanged.
"""
_USAGE = """\
examples:
  pypgm query people.pgm age,sex income
  pypgm query people.pgm income --given sex=F --given age=30..40   (women from 30 to 40)
  pypgm query people.pgm age,sex --out age-sex.csv
  pypgm query people.pgm age sex --json
  pypgm query alarm.bif HYPOVOLEMIA --given CVP=LOW
  pypgm query wide.bif x --oracle auto   (where no exact answer fits into memory)
"""


def add_to(commands: Verbs) -> None:
    """Add the subcommand to the command line."""
    summary = "marginals and conditional probabilities"
    query = add_verb(commands, "query", _query, summary=summary, about=_DESCRIPTION, examples=_USAGE)
    query.add_argument(
        "model", metavar="MODEL", help="a file written by synth, or a network: .bif, .net, .dsc, .xdsl, .xml or .uai"
    )
    query.add_argument("cliques", metavar="ATTRIBUTES", nargs="+", help="names with commas between them: age,sex")
    add_given(query)
    query.add_argument(
        "--draws",
        metavar="N",
        type=_draws,
        default=ERROR_DRAWS,
        help="estimates from which expected errors are computed "
        f"(default {ERROR_DRAWS}, within {100 / math.sqrt(2 * ERROR_DRAWS):.0f} %%; 0: no errors)",
    )
    query.add_argument(
        "--oracle",
        choices=["exact", "auto", "region_graph", "sampling"],
        default="exact",
        help="approximate answers of a network that is too wide for exact ones: auto chooses the better known of "
        "region_graph and sampling",
    )
    query.add_argument("--encoding", default="utf-8", help="encoding of a network, as latin-1 (default utf-8)")
    query.add_argument("--out", metavar="FILE", help="write the marginal to a .csv, .csv.gz or .json file")
    query.add_argument(
        "--format",
        choices=["table", "csv"],
        help="how answers are printed (default: a table in a terminal, else csv; JSON with --json, or where --out ends "
        "in .json)",
    )


def _draws(text: str) -> int:
    number = as_rows(text) if text.isdigit() else 1
    if number == 1:
        raise argparse.ArgumentTypeError(f"needs a number of estimates, 2 or more, or 0, got {text!r}")
    return number


def _query(arguments: argparse.Namespace) -> None:
    if arguments.out is not None and len(arguments.cliques) != 1:
        raise ValueError(f"--out holds one marginal, got {len(arguments.cliques)}; ask for them one at a time")
    check_places([arguments.model], [arguments.out], (".csv", ".csv.gz", ".json"))
    model, schema, whole = (
        (read_network(arguments.model, encoding=arguments.encoding), None, None)
        if is_network_file(arguments.model)
        else model_in(arguments.model)
    )
    query = _conditional(model, arguments)
    names = [*model.domain, *(() if schema is None else schema.made)]
    cliques = [clique_named(text, names) for text in arguments.cliques]
    evidence = evidence_given(model.domain, arguments.given, schema)
    # All are computed before one is shown: an error leaves no half answers.
    if isinstance(model, BayesianNetwork) or evidence:
        answers = [conditioned(schema, clique, evidence, query) for clique in cliques]
        unit = "probability"
    else:
        answers, unit = [answered(schema, clique, model.project) for clique in cliques], "count"
    errors: list[Factor | None] = [None] * len(cliques)
    bases = [""] * len(cliques)
    if arguments.draws and isinstance(model, GraphicalModel | RegionGraphModel) and model.recipe is not None:
        talks = sys.stderr.isatty()
        read = {i: clique for i, clique in enumerate(cliques) if clique == read_names(schema, clique)}
        knows = whole if isinstance(whole, Release) else model
        bounds = knows.expected_error_many([*read.values()], evidence or None, draws=arguments.draws, progress=talks)
        for (i, clique), error in zip(read.items(), bounds, strict=True):
            errors[i], bases[i] = error, model.basis(tuple(dict.fromkeys([*clique, *evidence])))
    file = io.StringIO()  # written whole or not at all
    is_file = arguments.out is not None
    if arguments.json or (arguments.format is None and (arguments.out or "").endswith(".json")):
        tables = zip(answers, errors, bases, strict=True)
        file.write(json_text(arguments.verb, {"answers": [_json_table(*table, unit, evidence) for table in tables]}))
    else:
        as_table = arguments.format == "table" or (arguments.format is None and not is_file and sys.stdout.isatty())
        for i, answer in enumerate(answers):
            file.write("\n" if i else "")
            rows = _rows(answer, unit, errors[i], bases[i])
            if as_table:
                file.write("".join(f"{line}\n" for line in _table_lines(rows, len(cliques[i]), unit, evidence)))
            else:
                write_rows(file, rows if is_file else (map(escaped, row) for row in rows))
    if not is_file:
        sys.stdout.write(file.getvalue())
        return
    with Claim(arguments.out):
        write_text(arguments.out, file.getvalue())


def _conditional(model: ReleasedModel | BayesianNetwork, arguments: argparse.Namespace) -> Callable[..., Factor]:
    """Return the function that answers given evidence, by the oracle that was asked for."""
    if isinstance(model, BayesianNetwork):
        return functools.partial(model.query, oracle=arguments.oracle)
    if arguments.oracle != "exact":
        raise ValueError(f"--oracle needs the file of a network, got {arguments.model}")
    return model.query


def _table_lines(rows: Iterable[Sequence[str]], n_names: int, unit: str, evidence: Evidence) -> list[str]:
    """Return an answer as a table for people, under its evidence."""
    known = [f"given {a} = {' or '.join(map(label_text, values))}" for a, values in dict(evidence).items()]
    header, *cells_ = rows
    number = "{:,.1f}" if unit == "count" else "{:.4f}"
    shown = [header] + [
        [*map(label_text, row[:n_names]), number.format(float(row[n_names])), *row[n_names + 1 :]] for row in cells_
    ]
    if unit == "count":
        total = sum(float(row[n_names]) for row in cells_)
        shown.append(["(total)", *[""] * (n_names - 1), number.format(total), *[""] * (len(header) - n_names - 1)])
    return [*map(escaped, known), *aligned(shown, terminal_width(), numbers=(n_names, n_names + 1))]


def _json_table(answer: Factor, errors: Factor | None, basis: str, unit: str, evidence: Evidence) -> dict[str, Any]:
    """Return an answer as JSON: unchanged labels, a number for each cell."""
    unit, expected = (_beside(name, answer.domain) for name in (unit, "expected_error"))
    numbers = {unit: answer.datavector()} | ({} if errors is None else {expected: errors.datavector()})
    values = [_values(answer.domain, a) for a in answer.domain]
    rows = [
        dict(zip(answer.domain.attributes, cell, strict=True)) | {n: float(v[i]) for n, v in numbers.items()}
        for i, cell in enumerate(itertools.product(*values))
    ]
    known = {"given": dict(evidence)} | ({"basis": basis} if basis else {})
    return {"attributes": list(answer.domain.attributes), **known, "cells": rows}


def _beside(name: str, domain: Domain) -> str:
    """Return the name of a column of numbers, followed by an underscore if an attribute has the name."""
    while name in domain:
        name += "_"
    return name


def _values(domain: Domain, attribute: str) -> Sequence[Label]:
    labels = domain.labels.get(attribute)
    return range(domain.size((attribute,))) if labels is None else labels


def _rows(answer: Factor, unit: str, errors: Factor | None, basis: str) -> Iterator[Sequence[str]]:
    """Yield the names of the columns of an answer, and its cells."""
    names = [_beside(name, answer.domain) for name in (unit, "expected_error", "basis")]
    if errors is None:
        yield [*answer.domain.attributes, names[0]]
        yield from cells(answer)
        return
    yield [*answer.domain.attributes, *names]
    for cell, error in zip(cells(answer), errors.datavector(), strict=True):
        yield (*cell, f"{error:.3g}", basis)
