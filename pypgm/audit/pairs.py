"""Pairs of tables to run a mechanism on: worst-case neighbours, and tables as different as possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pypgm.data import Dataset
from pypgm.domain import Domain
from pypgm.privacy.relation import Privacy

DOMAIN = Domain({"a": 3, "b": 2, "c": 2})
PRIVACIES = (Privacy(), Privacy(records_per_person=3), Privacy("replace"), Privacy("replace", records_per_person=2))

Records = NDArray[np.int64]  # shape (records, attributes)

_EMPTY = np.empty((0, 3), dtype=np.int64)
_RARE = np.array([[0, 0, 0]] * 60 + [[2, 1, 1]])  # duplicates and one rare record
_CONSTANT = np.array([[1, 0, 1]] * 40)
_MIXED = np.random.default_rng(5).integers(0, [3, 2, 2], size=(30, 3))
_NEW = ([0, 0, 0], [2, 1, 1], [0, 0, 1])


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two tables, the neighbour relation, and whether they are neighbours under it."""

    name: str
    one: Dataset
    other: Dataset
    privacy: Privacy
    neighbours: bool


def table(records: Records, domain: Domain = DOMAIN) -> Dataset:
    """Return a table of records, one per row."""
    return Dataset({a: records[:, i].copy() for i, a in enumerate(domain.attributes)}, domain)


def neighbour_pairs(privacies: Sequence[Privacy] = PRIVACIES) -> list[Pair]:
    """Return pairs that differ in all the records of one person."""
    pairs = []
    for privacy in privacies:
        k = privacy.records_per_person
        for name, base in (("empty", _EMPTY), ("a rare record", _RARE), ("constant", _CONSTANT), ("mixed", _MIXED)):
            pairs += [_pair(name, base, new, privacy) for new in _NEW if len(base) or privacy.neighbours != "replace"]
        # (a, b) goes from a rare cell to a frequent one, (b, c) from a frequent one to a rare one: scores of the two
        # change as much as possible, in opposite directions.
        crossed = np.array([[1, 1, 0]] * 10 + [[2, 0, 0]] * 10 + [[0, 0, 0]] * k)
        pairs.append(_pair("crossed", crossed, [1, 1, 1], privacy))
        # A person goes from below all others to above all: ranks on either side of them change in opposite directions.
        across = np.array([[1, 0, 0]] * 20 + [[0, 0, 0]] * k)
        pairs.append(_pair("across", across, [2, 1, 1], privacy))
    return pairs


def binary_pairs() -> list[Pair]:
    """Return neighbours over attributes with two values: a new record among constant ones, and one unlike any other."""
    domain = Domain({"a": 2, "b": 2, "c": 2})
    pairs = []
    for privacy in PRIVACIES:
        for name, base in (("constant", _CONSTANT), ("mixed", _MIXED % 2)):
            pairs.append(_pair(name, base, [0, 0, 1], privacy, domain))
    return pairs


def _pair(name: str, base: Records, new: list[int], privacy: Privacy, domain: Domain = DOMAIN) -> Pair:
    """Return a table, and the same with new records, which replace its last ones under "replace"."""
    k = privacy.records_per_person
    kept = base if privacy.neighbours == "add-remove" else base[:-k]
    other = np.vstack([kept, [new] * k])
    return Pair(f"{name}, {new}", table(base, domain), table(other, domain), privacy, neighbours=True)


def far_pairs(privacies: Sequence[Privacy] = PRIVACIES[::2]) -> list[Pair]:
    """Return pairs that share only the facts that the neighbour relation makes public."""
    pairs = []
    for privacy in privacies:
        if privacy.neighbours == "add-remove":
            pairs.append(Pair("empty, mixed", table(_EMPTY), table(_MIXED), privacy, neighbours=False))
        pairs.append(Pair("constant, mixed", table(_CONSTANT[:30]), table(_MIXED), privacy, neighbours=False))
    return pairs
