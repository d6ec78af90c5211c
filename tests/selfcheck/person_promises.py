"""Promises to whole persons: contradictions of the column that names them are refused before anything is charged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from pypgm.audit.finding import Finding, finding
from pypgm.data import Dataset, Person, Schema
from pypgm.domain import Domain
from pypgm.mechanisms.related import synthesize_related
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.relation import Privacy

_SCHEMA = Schema({"a": 2}, person=Person("id", 2))
_RAW = {"id": [1, 1, 2], "a": [0, 1, 1]}
_NOT_NAMED = Dataset({"a": _RAW["a"]}, _SCHEMA.domain, schema=_SCHEMA)


def _entered(privacy: Any, ledger: Ledger) -> PrivateTable:
    return PrivateTable(_SCHEMA.encode(_RAW), privacy, ledger)


def _entered_after_others(ledger: Ledger) -> PrivateTable:
    ledger.bind(Privacy(records_per_person=2, person=["name"]))
    return _entered(None, ledger)


_REFUSED: dict[str, Callable[[Ledger], Any]] = {
    "a relation of fewer records": lambda ledger: _entered(Privacy(records_per_person=1), ledger),
    "a relation of more records": lambda ledger: _entered(Privacy(records_per_person=3), ledger),
    "other persons": lambda ledger: _entered(Privacy(records_per_person=2, person=["name"]), ledger),
    "persons who are replaced": lambda ledger: _entered("replace", ledger),
    "records of nobody who was named": lambda ledger: PrivateTable(_NOT_NAMED, None, ledger),
    "a ledger of other persons": _entered_after_others,
}


def check_promises() -> Finding:
    """Enter records of persons with options that contradict their schema, and release related tables of persons."""
    wrong = [*_taken(), *_of_both(), *_of_children()]
    return finding("persons", "promises", wrong, f"{len(_REFUSED)} contradictions refused, nothing charged")


def _taken() -> Iterator[tuple[str, str]]:
    for name, enter in _REFUSED.items():
        ledger = Ledger(Budget(rho=1))
        try:
            enter(ledger)
        except ValueError:
            if ledger.lines:
                yield "charged for nothing", f"{name}: a refusal is charged"
            continue
        yield "not refused", f"{name} is taken with records of persons"


def _of_both() -> Iterator[tuple[str, str]]:
    """Charge a ledger for persons with one record each, and for single records: it promises only the latter."""
    for relations in ((Privacy(records_per_person=1), Privacy()), (Privacy(), Privacy(records_per_person=1))):
        ledger = Ledger(Budget(rho=1))
        for relation in relations:
            ledger.bind(relation)
        if ledger.privacy is None or ledger.privacy.is_of_people:
            yield "wrong claim", "a ledger for single records promises something to persons"


def _of_children() -> Iterator[tuple[str, str]]:
    children = Dataset({"b": [0, 1, 1]}, Domain({"b": 2}))
    how: dict[str, Any] = {"max_children": 3, "mechanism": "mst", "budget": Budget(rho=1)}
    try:
        release = synthesize_related(_SCHEMA.encode(_RAW), children, [0, 1, 2], **how)
    except ValueError:
        yield "lost user bound", "children are not released for as many records as the parents of a person have"
        return
    if release.children.privacy.records_per_person != _SCHEMA.records_per_person * 3:
        yield "lost user bound", "children are released for fewer records than the parents of a person have"
    once = Schema({"a": 2}, person=Person("id", 1))
    fewer = synthesize_related(once.encode(_RAW), children, [0, 1, 2], **how)
    try:
        replace(release, children=fewer.children)
    except ValueError:
        return
    yield "not refused", "children that were released for fewer records stand beside parents of more"
