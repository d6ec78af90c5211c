"""Private tables from outside: nothing tells of their records."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Sequence
from typing import Any

from pypgm.audit.finding import Finding, finding
from pypgm.audit.pairs import neighbour_pairs
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.relation import Privacy

__all__ = ["check_open_table"]


def check_open_table(make: Callable[..., Any] = PrivateTable) -> Finding:
    """Ask a private table for its length, records, text and copies: nothing may tell records."""
    pair = neighbour_pairs([Privacy()])[0]
    tables = [make(data, Privacy(), Ledger(Budget(rho=1))) for data in (pair.one, pair.other)]
    defects = []
    asks: Sequence[tuple[str, Callable[[Any], Any]]] = (
        ("len", len),
        ("iteration", iter),
        ("indexing", lambda t: t["a"]),
        ("pickling", pickle.dumps),
        ("copying", copy.copy),
        ("deep copying", copy.deepcopy),
        ("vars", vars),
        ("counting", lambda t: t.count([("a",)])),
        ("the data", lambda t: t.data),
    )
    for name, ask in asks:
        try:
            ask(tables[0])
        except (TypeError, AttributeError):
            continue
        defects.append(("open table", f"{name} is answered"))
    tells: Sequence[tuple[str, Callable[[Any], Any]]] = (
        ("truth", bool),
        ("text", repr),
        ("printing", str),
        ("total", lambda t: t.public_total),
    )
    for name, tell in tells:
        if tell(tables[0]) != tell(tables[1]):
            defects.append(("records counted exactly", f"{name} tells tables of different length apart"))
    return finding("private table", "PrivateTable", defects, f"{len(asks)} ways in are shut")
