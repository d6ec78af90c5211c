"""Columns that depend on others: what is read of them, what is counted, and who learns of it."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.audit.finding import Finding, finding
from pypgm.data import Blank, Categorical, Dataset, Date, Derived, Difference, Id, Integer, Schema
from pypgm.domain import Clique, Domain
from pypgm.estimation import Constraint
from pypgm.mechanisms import mst, wide
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_table import PrivateTable

__all__ = ["check_dependent"]

_SCHEMA = Schema(
    {
        "id": Id(),
        "born": Date("1960-01-01", "1999-12-31", "year", null=True),
        "hired": Difference("born", 16, 40, "year", edges=[18, 25], outside="clip", null=True),
        "paid": Integer(-20, 60, 10),
        "due": Difference("paid", 0, 9, width=3, outside="clip"),
        "place": ["a", "b", "c"],
        "region": Derived("place", {"a": "n", "b": "n", "c": "s"}),
        "plan": Categorical(["x", "y"], null=True),
    },
    rules=[Blank("plan", {"place": "a"})],
)
_PAIRS = [("born", "hired"), ("paid", "due"), ("due", "plan")]
_DOMAIN = Domain({"region": 2, "place": 3, "plan": 3})
_REGION = Constraint(("place", "region"), mapping=[0, 0, 1])
_FIRST_DAY = datetime.date(1960, 1, 1)


class _Unread(Sequence[Any]):
    """Values that nobody may look at."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __len__(self) -> int:
        return self._number

    def __getitem__(self, place: Any) -> Any:
        raise AssertionError("a column that is made anew was read")


class _Watched:
    """Records that note which attributes were counted."""

    weights, n_records = None, 60

    def __init__(self) -> None:
        place = np.arange(60) % 3
        self.domain, self.seen = _DOMAIN, set[str]()
        self._data = Dataset({"region": (place == 2).astype(int), "place": place, "plan": place}, _DOMAIN)

    def count(self, cliques: Sequence[Clique], n_threads: int = 0) -> list[NDArray[np.int64]]:
        """Count the records of each cell of some cliques' tables."""
        self.seen |= {name for clique in cliques for name in clique}
        return self._data.count(cliques, n_threads)


def check_dependent(tables: int = 40) -> Finding:
    """Encode tables of dependent columns, and let mechanisms run on attributes that follow from others.

    The code of each record follows from that record alone, and is that of its definition, computed apart; what is made
    anew is not read, an attribute that follows from another is not counted, and what is measured is charged to the
    ledger at hand. A refusal is the same for any value.
    """
    defects = [defect for seed in range(tables) for defect in _encoded(random.Random(seed))]
    for mechanism in (mst, wide):
        watched, ledger = _Watched(), Ledger(Budget(rho=1))
        with PrivateTable(watched, "add-remove", ledger) as table:
            mechanism(table, constraints=[_REGION])
        if "region" in watched.seen:
            defects.append(("records counted exactly", "an attribute that follows from another was counted"))
        if ledger.remaining() > ledger.budget.limit / 2:
            defects.append(("uncharged draw", "what was measured is not in the ledger of the table"))
    texts = {_refusal(due) for due in (12, 15)}
    if len(texts) != 1:
        defects.append(("exception tells", "a difference that does not fit is told"))
    return finding("dependent columns", "schema", defects, f"{tables} tables, 2 mechanisms, 2 refusals")


def _encoded(draw: random.Random) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the codes of a table that is drawn."""
    rows = [_row(draw) for _ in range(draw.randrange(1, 12))]
    made = {"id": _Unread(len(rows)), "region": _Unread(len(rows))}
    try:
        whole = _SCHEMA.encode(made | _columns(rows))
    except AssertionError as error:
        yield "read before the charge", str(error)
        return
    expected = [_codes(row) for row in rows]
    for name in ("born", "hired", "paid", "due"):
        if whole.columns[name].tolist() != [codes[name] for codes in expected]:
            yield "wrong counts", f"codes of {name} are not those of their records"
    gone = draw.randrange(len(rows))
    less = _SCHEMA.encode(_columns(rows[:gone] + rows[gone + 1 :]))
    for one, other in zip(whole.count(_PAIRS), less.count(_PAIRS), strict=True):
        if np.abs(one - other).sum() != 1:
            yield "sensitivity", "one record changes more than one count by one"


def _row(draw: random.Random) -> dict[str, Any]:
    born = _FIRST_DAY + datetime.timedelta(draw.randrange(14_000))
    hired = born + datetime.timedelta(draw.randrange(10 * 365, 45 * 365))
    if draw.random() < 0.5:  # about a birthday on which a bin begins
        hired = datetime.date(born.year + draw.choice([18, 25]), born.month, min(born.day, 28))
        hired += datetime.timedelta(draw.randrange(-1, 2))
    paid, place = draw.randrange(-20, 61), draw.choice("abc")
    row = {"born": draw.choice([born, born, None]), "hired": draw.choice([hired, hired, None]), "paid": paid}
    return row | {"due": paid + draw.randrange(-3, 15), "place": place, "plan": "x" if place == "a" else ""}


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: [row[name] for row in rows] for name in ("born", "hired", "paid", "due", "place", "plan")}


def _codes(row: Mapping[str, Any]) -> dict[str, int]:
    """Return codes by the definition, without the package."""
    born, hired, apart = row["born"], row["hired"], row["due"] - row["paid"]
    codes = {"paid": (row["paid"] + 20) // 10, "due": min(max(apart, 0), 9) // 3}
    codes |= {"born": 40 if born is None else born.year - 1960, "hired": 3}
    if born is not None and hired is not None:
        age = hired.year - born.year - ((hired.month, hired.day) < (born.month, born.day))
        codes["hired"] = 0 if age < 18 else 1 if age < 25 else 2
    return codes


def _refusal(due: int) -> str:
    strict = Schema({"paid": Integer(0, 9), "due": Difference("paid", 0, 9)})
    try:
        strict.encode({"paid": [1, 2], "due": [3, due]})
    except ValueError as error:
        return str(error)
    return ""
