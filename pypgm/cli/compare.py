"""``pypgm compare``: how far a release is from its table. Its output is not private."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from pypgm.cli.arguments import add_reading, add_verb, model_in, reading
from pypgm.cli.printing import show
from pypgm.data import read_table
from pypgm.evaluation import evaluate

if TYPE_CHECKING:
    import argparse

    from pypgm.cli.arguments import Verbs
    from pypgm.evaluation import Evaluation

__all__ = ["add_to"]

_ATTRIBUTES = 300  # whose pairs are compared at most, evenly spaced among all
_CELLS = 10**7  # of a pair that is compared
_WORST = 5  # pairs that are named
_ABOUT = """\
Print how far the answers of a release are from the counts of the table, as the share of records that would have to
change: for all attributes, all pairs of them (of more than 300 attributes, the pairs of 300), and the pairs that are
worst.

The numbers printed come from the records themselves and are NOT private. They are for whom the table belongs to, and
--unsafe says that this is understood.
"""
_EXAMPLES = """\
example:
  pypgm compare people.pgm people.csv --unsafe
"""


def add_to(commands: Verbs) -> None:
    """Add the verb."""
    summary = "how far a release is from its table (not private)"
    compare = add_verb(commands, "compare", _compare, summary=summary, about=_ABOUT, examples=_EXAMPLES)
    compare.add_argument("release", metavar="RELEASE", help="a file that synth wrote")
    compare.add_argument("table", metavar="TABLE", help="the records it was made of: a .csv or .csv.gz file")
    compare.add_argument("--unsafe", action="store_true", help="print numbers that are not private")
    add_reading(compare)


def _compare(arguments: argparse.Namespace) -> None:
    if not arguments.unsafe:
        raise ValueError("compare prints numbers that are not private; say --unsafe if they stay with you")
    model, schema = model_in(arguments.release)
    data = read_table(arguments.table, schema or model.domain, **reading(arguments))
    lines = ["NOT PRIVATE: these numbers come from the records themselves; they must not be published"]
    names = model.domain.attributes
    some = names[:: -(-len(names) // _ATTRIBUTES)] if names else ()
    pairs = [c for c in itertools.combinations(some, 2) if model.domain.size(c) <= _CELLS]
    for name, cliques in (("attributes", [(a,) for a in model.domain]), ("pairs", pairs)):
        if cliques:
            found = evaluate(model, cliques=cliques, unsafe_data=data)
            clique, worst = found.worst
            mean = f"mean {100 * found.mean:.2g} %, worst {100 * worst:.2g} % ({', '.join(clique)})"
            among = f" of {len(some):,} attributes" if cliques is pairs and len(some) < len(names) else ""
            lines.append(f"{name}: {mean}, of {len(cliques):,}{among}")
    if pairs:
        lines += ["worst pairs:", *_worst_lines(found)]
    show(lines)


def _worst_lines(found: Evaluation) -> list[str]:
    worst = np.argsort(-found.values, kind="stable")[:_WORST]
    return [f"  {', '.join(found.cliques[i])}: {100 * found.values[i]:.2g} %" for i in worst.tolist()]
