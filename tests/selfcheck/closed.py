"""Private tables once they are closed: nothing that was made of one charges, answers or holds its records."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from pypgm.audit.contents import contents, differences
from pypgm.audit.finding import Finding, finding
from pypgm.audit.pairs import DOMAIN, table
from pypgm.audit.trace import core_with
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_column import sparse_histogram
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.quantiles import private_bounds, private_quantiles
from pypgm.privacy.relation import Privacy

_DELTA = Fraction(1, 10**5)


def check_closed() -> Finding:
    """Close a table: nothing made of it may charge, answer or hold its records."""
    defects: list[tuple[str, str]] = []
    held: list[dict[str, Any]] = []
    uses: dict[str, Callable[[dict[str, Any]], Any]] = {
        "a measurement": lambda made: made["table"].measure("a", variance=9),
        "a selection": lambda made: made["selector"].select([0, 1], rho=1),
        "a fresh selection": lambda made: made["unused"].permute_and_flip([0, 1], rho=1),
        "a screen": lambda made: made["selector"].screen(rho=1),
        "scores of one's own": lambda made: made["stated"].select(rho=1),
        "a draw among cells": lambda made: made["cells"].draw(1, [[0, 0, 0]], 9, rho=1),
        "a selection of signs": lambda made: made["signs"].select([0], rho=1),
        "unknown keys": lambda made: sparse_histogram(made["column"], delta=_DELTA, variance=9),
        "a measurement of a sample": lambda made: made["sample"].measure("a", scale=9),
        "a measurement of a view": lambda made: made["view"].measure("a", variance=9),
        "many measurements": lambda made: made["table"].measure_many(["a", "b"], rho=1),
        "the total": lambda made: made["table"].measure_total(variance=9),
        "quantiles": lambda made: private_quantiles(made["column"], ["1/2"], [0, 1], rho=1),
        "bounds": lambda made: private_bounds(made["column"], [0, 1], rho=1),
        "a selector": lambda made: made["table"].l1_selector([("a",)], lambda _: [0, 0, 0]),
        "a sample": lambda made: made["table"].subsample("1/2", epsilon=1),
    }
    for records in ([[0, 0, 0]] * 9, [[0, 0, 0]] * 8 + [[2, 1, 1]] * 5):
        made = _made(records)
        before = [made["table"].ledger.lines, made["sample"].ledger.lines]
        for name, use in uses.items():
            try:
                use(made)
            except Exception:  # any error will do: nothing was answered
                continue
            defects.append(("open after the end", f"{name} is answered after the table was closed"))
        if before != [made["table"].ledger.lines, made["sample"].ledger.lines]:
            defects.append(("open after the end", "a step is charged after the table was closed"))
        held.append(contents(made))
    kept = differences(*held)
    if kept:
        defects.append(("open after the end", f"{kept[0]} depends on the records of a closed table"))
    return finding(
        "closed tables", "table, selectors, columns, samples", defects, f"{len(uses)} uses refused, uncharged"
    )


def _made(records: list[list[int]]) -> dict[str, Any]:
    """Return everything that can be made of a table, used once on scripted outcomes; the table is closed."""
    private = PrivateTable(table(np.array(records)), Privacy(), Ledger(Budget(rho=100, reserved_delta=Fraction(1, 10))))
    selectors = [private.l1_selector([("a",), ("b", "c")], lambda c: [2.5] * DOMAIN.size(c)) for _ in range(2)]
    with core_with(select_exponential=lambda *_: 0):
        selectors[0].select([0, 1], rho=1)
        stated = private.selector([("a",), ("b",)], lambda _, counts: int(counts[0]), sensitivity=1)
        stated.select(rho=1)
        cells = private.cell_selector([("a",)])
        cells.draw(1, [[0, 0, 0]], 9, rho=1)
        signs = private.sign_selector({"a": [[0, 1, 1]]}, [np.zeros((1, 1), int)])
        signs.select([0], rho=1)
    sample = private.subsample("1/2", epsilon=1)
    made = {
        "table": private,
        "selector": selectors[0],
        "unused": selectors[1],
        "column": private.column("a"),
        "sample": sample,
    }
    made |= {"stated": stated, "cells": cells, "signs": signs, "view": private.over(DOMAIN.project(("a",)))}
    private.close()
    return made
