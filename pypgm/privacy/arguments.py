"""Arguments that every mechanism spells alike: a budget and a neighbour relation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from pypgm.data import OpenSchema, Schema
from pypgm.domain import listed
from pypgm.errors import DraftWarning, WeakGuaranteeWarning, warn_caller
from pypgm.privacy.budget import Budget
from pypgm.privacy.promise import is_large, weakness
from pypgm.privacy.rational import Number
from pypgm.privacy.relation import Privacy
from pypgm.queries import Neighbours

BudgetOf: TypeAlias = "Callable[[Number | None, Number | None, Budget | None], Budget]"
"""Function of epsilon, delta and a budget, of which one form is given: see `as_budget`."""


def as_budget(epsilon: Number | None, delta: Number | None, budget: Budget | None) -> Budget:
    """Return the budget that is given in one of two forms; ``TypeError`` unless exactly one is."""
    if budget is None:
        if epsilon is None:
            raise TypeError("a mechanism needs a budget: epsilon and delta, or budget=, such as Budget(rho=0.1)")
        return Budget(epsilon=epsilon, delta=delta)
    if epsilon is not None or delta is not None:
        raise TypeError("pass either epsilon and delta or budget=, not both")
    if not isinstance(budget, Budget):
        raise TypeError(f"budget needs a Budget, got {type(budget).__name__}")
    return budget


def draws_budget(epsilon: Number | None, delta: Number | None, budget: Budget | None) -> Budget:
    """Return the budget as `as_budget` does, in zCDP if it has epsilon and delta, for steps that all are draws.

    Without Gaussian noise among them, fewer than some hundred draws cost more in Gaussian differential privacy.
    """
    named = as_budget(epsilon, delta, budget)
    if named.epsilon is not None and named.accounting == "gdp":
        return Budget(**named.arguments(), accounting="zcdp")
    return named


def gaussian_budget(name: str, epsilon: Number | None, delta: Number | None, budget: Budget | None) -> Budget:
    """Return the budget as `as_budget` does; ``ValueError``, naming the mechanism, for a pure one."""
    named = as_budget(epsilon, delta, budget)
    if named.unit == "epsilon":
        raise ValueError(
            f"{name} draws Gaussian noise, which gives no pure guarantee: delta must be more than 0 (for example 1e-9)"
        )
    return named


def one_relation(neighbours: Neighbours | None, privacy: Privacy | None) -> Privacy | Neighbours | None:
    """Return the relation that is given in one of two forms, for a private table; ``TypeError`` if both are given."""
    if neighbours is not None and privacy is not None:
        raise TypeError("pass either neighbours or privacy=, not both")
    if not isinstance(privacy, Privacy | None):
        raise TypeError(f"privacy needs a Privacy, got {type(privacy).__name__}")
    return privacy if neighbours is None else neighbours


def relation_of(relation: Privacy | Neighbours | None, schema: Schema | OpenSchema | None) -> Privacy:
    """Return the neighbour relation for records of a schema: the one place where both are brought together.

    Parameters
    ----------
    relation : Privacy, "add-remove" or "replace", optional
        Given by name or left out, the schema says how many records a person has.
    schema : Schema or OpenSchema, optional
        The schema of the records.

    Raises
    ------
    ValueError
        If a `Privacy` has another number of records per person than the schema states, or other persons.
    TypeError
        If the relation is neither a name nor a `Privacy`.

    Examples
    --------
    >>> from pypgm import Schema
    >>> relation_of("replace", Schema({"a": 2}, records_per_person=3))
    Privacy(neighbours='replace', records_per_person=3)
    """
    stated = None if schema is None else schema.stated_records_per_person
    person = () if schema is None else schema.key_columns
    weight = "" if schema is None or schema.weight is None else schema.weight.column
    if relation is None or isinstance(relation, str):
        return Privacy("add-remove" if relation is None else relation, stated, person, weight)
    if not isinstance(relation, Privacy):
        raise TypeError(f"privacy needs a Privacy, got {type(relation).__name__}")
    if stated is not None and relation.records_per_person != stated:
        raise ValueError(
            f"the schema of the records states records_per_person={stated}, and privacy has "
            f"{relation.records_per_person}: the schema sets the number, so pass neighbours= without privacy="
        )
    if person and relation.person not in {(), person}:
        raise ValueError(
            f"the schema of the records identifies persons by {listed(list(map(repr, person)))}, and privacy by "
            f"{listed(list(map(repr, relation.person)))}: leave person out there"
        )
    if weight:
        return Privacy(relation.neighbours, stated, relation.person, weight)
    return Privacy(relation.neighbours, stated, person) if person else relation


def warn_at_door(schema: Schema | OpenSchema | None, budget: Budget) -> None:
    """Warn the caller of the package of a draft that nobody has reviewed, or of a delta that is too large."""
    if schema is not None and schema.draft_warning:
        warn_caller(schema.draft_warning, DraftWarning)
    if is_large(budget.delta):
        advice = "delta has to be far below one in the number of people, such as 1e-9"
        warn_caller(f"{weakness(budget)}; {advice}", WeakGuaranteeWarning)
