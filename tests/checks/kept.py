"""Releases that are saved, pickled and resumed: ledger, relation, marks and measurements stay what they were."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import pypgm
from pypgm.audit.finding import Finding, finding
from pypgm.audit.pairs import PRIVACIES, neighbour_pairs, table
from pypgm.data import Dataset
from pypgm.domain import Domain
from pypgm.errors import BudgetError
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger_report import LedgerReport
from pypgm.privacy.private_table import PrivateTable

__all__ = ["check_kept"]

Found = Iterator[tuple[str, str]]

_BUDGET = Budget(epsilon=1, delta="1/1000000", reserved_delta="1/10000000")


def check_kept(subject: str, function: Callable[..., Any]) -> Finding:
    """Save, pickle and resume releases of a mechanism, seeded ones too, and compare each with the one it came from."""
    defects: list[tuple[str, str]] = []
    count = 0
    for privacy in PRIVACIES:
        data = neighbour_pairs([privacy])[-1].one
        for seed in (None, 3):
            release = function(data, budget=_BUDGET, privacy=privacy, unsafe_seed=seed)
            count += 1
            for place, keep in (("a file", _saved), ("a pickle", lambda kept: pickle.loads(pickle.dumps(kept)))):
                defects += [(name, f"{place}: {what}") for name, what in _kept(release, keep)]
            defects.extend(_resumed(release, data))
    return finding("kept releases", subject, defects, f"{count} releases saved, pickled and resumed")


def _saved(release: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.pgm"
        release.save(path)
        return pypgm.load(path)


def _kept(release: Any, keep: Callable[[Any], Any]) -> Found:
    try:
        again = keep(release)
    except ValueError as error:
        yield "wrong claim", f"what was kept is refused: {error}"
    else:
        yield from _compared(release, again)


def _compared(release: Any, again: Any) -> Found:
    yield from _same_ledger(release.ledger, again.ledger)
    if again.privacy != release.privacy:
        yield "wrong claim", "the relation is another one"
    marks = [(bool(r.not_private), bool(r.model.not_private)) for r in (release, again)]
    if marks[0] != marks[1] or [bool(m.not_private) for m in again.measurements] != [marks[0][0]] * len(
        release.measurements
    ):
        yield "mark lost", "the mark of what is not private is another one"
    pairs = zip(release.measurements, again.measurements, strict=True)
    if not all(a.clique == b.clique and np.array_equal(a.values, b.values) for a, b in pairs):
        yield "wrong claim", "the measurements are others"


def _same_ledger(one: LedgerReport, other: LedgerReport) -> Found:
    budgets = [(b.unit, b.limit, b.epsilon, b.delta, b.reserved_delta) for b in (one.budget, other.budget)]
    lines = [
        [(line.within, line.what, line.on, line.noise, line.parameters, line.cost, line.delta) for line in ledger.lines]
        for ledger in (one, other)
    ]
    if budgets[0] != budgets[1] or lines[0] != lines[1] or one.privacy != other.privacy:
        yield "wrong claim", "budget, lines or relation of the ledger are others"
    if one.not_private != other.not_private:
        yield "mark lost", "the ledger's mark is another one"


def _resumed(release: Any, data: Dataset) -> Found:
    more = Budget(epsilon=2, delta="1/1000000", reserved_delta="1/10000000")
    resumed = release.resume(data, more)
    yield from _same_ledger(resumed.ledger, LedgerReport.from_dict(resumed.ledger.to_dict()))
    earlier, again = release.ledger.lines, resumed.ledger.lines
    # In Gaussian differential privacy a step costs less where more is left.
    costs = [(new.cost, old.cost) for new, old in zip(again, earlier, strict=False)]
    grows = more.accounting == "gdp" and all(old * Fraction(1, 2) <= new <= old for new, old in costs)
    if [(line.law, line.delta) for line in again] != [(line.law, line.delta) for line in earlier] or not (
        grows or all(new == old for new, old in costs)
    ):
        yield "ledger sums", "a resumed ledger does not open with what was spent"
    if any(line.within.partition(" / ")[0] != release.mechanism for line in resumed.ledger.lines):
        yield "wrong claim", "lines of a resumed ledger do not say which release they are of"
    if resumed.ledger.remaining() != resumed.ledger.budget.limit - sum((cost for cost, _ in costs), Fraction(0)):
        yield "ledger sums", "a resumed ledger leaves more than the total less what was spent"
    if resumed.privacy != release.privacy or resumed.ledger.privacy != release.privacy:
        yield "mark lost", "resumed under another relation"
    if bool(resumed.ledger.not_private) != bool(release.not_private):
        yield "mark lost", "a resumed ledger forgets that the release is not private"
    try:
        resumed.measure("a", rho=more.limit)
    except BudgetError:
        pass
    else:
        yield "overdrawn ledger", "the whole of the total is spent once more"
    other = table(np.zeros((3, 2), dtype=np.int64), Domain({"a": 3, "z": 2}))
    refused: dict[str, Callable[[], PrivateTable]] = {
        "a smaller total": lambda: release.resume(data, Budget(epsilon="1/2", delta="1/1000000")),
        "a total in another unit": lambda: release.resume(data, Budget(epsilon=9)),
        "less reserved delta": lambda: release.resume(data, Budget(epsilon=2, delta="1/1000000")),
        "records over another domain": lambda: release.resume(other, more),
    }
    for name, resume in refused.items():
        try:
            resume()
        except ValueError:
            continue
        yield "not refused", f"resumed with {name}"
