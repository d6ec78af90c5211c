"""Weighted records: changes by one more record of any weight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pypgm.audit.finding import Finding, finding
from pypgm.audit.pairs import DOMAIN
from pypgm.data import Integer, OpenSchema, OpenSet, QuantileBins, Schema, Weight
from pypgm.privacy.relation import Privacy
from selfcheck.persons import Raw, of_csv, of_mapping, of_releases

_AT_MOST = 3
_WEIGHT = Weight("w", _AT_MOST)
SCHEMA = Schema({a: DOMAIN.size(a) for a in DOMAIN}, weight=_WEIGHT)
OPEN = OpenSchema({"a": OpenSet("1/4"), "b": QuantileBins(Integer(0, 1), 2, "1/8"), "c": 2}, weight=_WEIGHT)
_OTHERS: Raw = {
    "w": [i % 5 for i in range(24)],
    **{a: [i * (1 + j) % DOMAIN.size(a) for i in range(24)] for j, a in enumerate(DOMAIN)},
}
_SAMPLED: Mapping[str, Sequence[int]] = {"a": [2], "b": [1], "c": [0]}


def neighbours(weight: int) -> tuple[Raw, Raw]:
    """Return a table with one more record of a weight, in the middle, and the table without it."""
    new = {"w": [weight], **_SAMPLED}
    return {name: [*values[:9], *new[name], *values[9:]] for name, values in _OTHERS.items()}, _OTHERS


def check_weights(mechanisms: Sequence[str] = ("mst", "wide", "mwem")) -> Finding:
    """Compare releases of tables with and without one record, of no weight, some and more than may count.

    On equal outcomes hidden numbers change by no more than was charged for, and open columns, too, are found so.
    """
    wrong: list[tuple[str, str]] = []
    for weight in (0, 1, _AT_MOST, 40):
        tables = neighbours(weight)
        for mechanism in mechanisms:
            wrong += list(of_releases(f"weight {weight}", of_mapping, mechanism, SCHEMA, tables))
        wrong += list(of_releases(f"open, weight {weight}", of_mapping, "mst", OPEN, tables))
    wrong += list(of_releases("CSV", of_csv, mechanisms[0], SCHEMA, neighbours(40)))
    wrong += list(_promises())
    return finding("persons", "weights of records", wrong, f"{len(mechanisms)} mechanisms, 4 weights")


def _promises() -> Iterator[tuple[str, str]]:
    """Yield relations of weights that nobody may claim: neither a public sum, nor persons of several records."""
    for what, how in (("replaced", {"neighbours": "replace"}), ("of persons", {"person": ["id"]})):
        try:
            Privacy(**{"neighbours": "add-remove", "records_per_person": _AT_MOST, "weight": "w", **how})
        except ValueError:
            continue
        yield "not refused", f"weighted records are {what}"
