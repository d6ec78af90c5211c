"""Tables that a class of one's own counts: nothing is counted before the charge, and no false counts get through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pypgm.audit.finding import Finding, finding
from pypgm.data import OpenSchema, OpenSet, Schema
from pypgm.domain import Clique, Domain
from pypgm.errors import ReleaseError
from pypgm.mechanisms import mst
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.observer import Observer, observed_by
from pypgm.privacy.private_table import PrivateTable

__all__ = ["check_counted_tables"]

_DOMAIN = Domain({"a": 2, "b": 3})
_OPEN = OpenSchema({"a": 2, "b": 3, "c": OpenSet("0.1")})


class _Charges(Observer):
    """Observer of the kinds of lines that were charged."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def charged(self, ledger: object, line: Any) -> None:
        self.lines.append(line.what)


class _Table:
    """Equal counts of each cell; it notes what had been charged at each call."""

    domain = _DOMAIN

    def __init__(self, charges: _Charges, factor: float = 1) -> None:
        self._charges, self._factor = charges, factor
        self.early: list[str] = []

    def count(self, cliques: Sequence[Clique], schema: Schema) -> Iterator[Any]:
        if "measure" not in self._charges.lines:
            self.early.append(f"counts of {list(cliques)}")
        return ((6 // schema.domain.size(c)) * self._factor * np.ones(schema.domain.size(c), int) for c in cliques)

    def distinct(self, column: str) -> list[tuple[str, int]]:
        if "histogram" not in self._charges.lines:
            self.early.append(f"values of {column}")
        return [("x", 6)]


def check_counted_tables() -> Finding:
    """Run a mechanism on counts that note when they are read, and measure a table of false ones."""
    defects = []
    for schema in (None, _OPEN):
        with observed_by(charges := _Charges()):
            table = _Table(charges)
            mst(table, epsilon=1, delta=1e-9, schema=schema)
        defects += [("read before the charge", f"{what} were read before a charge") for what in table.early]
    for factor in (-1, 0.5):
        with observed_by(charges := _Charges()):
            try:
                PrivateTable(_Table(charges, factor), None, Ledger(Budget(rho=1))).measure("a", rho=1)
            except (ReleaseError, ValueError):
                continue
        defects.append(("not refused", f"counts times {factor} were measured"))
    return finding("counted tables", "CountedTable", defects, "4 runs")
