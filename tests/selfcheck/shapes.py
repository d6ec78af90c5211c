"""Tables of several shapes: many attributes, cells and records, several records a person, budgets small and large."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pypgm.audit.finding import Finding
from pypgm.audit.mechanisms import run_pairs
from pypgm.audit.pairs import Pair, table
from pypgm.audit.tiers import followed
from pypgm.audit.trace import Mechanism
from pypgm.domain import Domain
from pypgm.privacy.budget import Budget
from pypgm.privacy.observer import Observer, observed_by
from pypgm.privacy.relation import Privacy


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of attributes, number of records, relation and budget."""

    sizes: tuple[int, ...]
    n_records: int
    privacy: Privacy
    epsilon: str
    delta: str

    @property
    def name(self) -> str:
        """Text of sizes, records and relation."""
        sizes = " x ".join(map(str, self.sizes))
        relation = f"{self.privacy.neighbours}, k = {self.privacy.records_per_person}"
        return f"{sizes} cells, {self.n_records} records, {relation}, epsilon {self.epsilon}"

    @property
    def budget(self) -> Budget:
        """Epsilon and delta."""
        return Budget(epsilon=self.epsilon, delta=self.delta)

    @property
    def pure_budget(self) -> Budget:
        """Epsilon alone."""
        return Budget(epsilon=self.epsilon)

    def pairs(self) -> list[Pair]:
        """Return neighbours that differ in an empty cell, and two tables with nothing in common."""
        domain = Domain([f"x{i}" for i in range(len(self.sizes))], list(self.sizes))
        rng = np.random.default_rng(self.n_records)
        sizes, k = np.array(self.sizes), self.privacy.records_per_person
        low = rng.integers(0, sizes, size=(self.n_records, sizes.size))
        low[:, 0] %= np.maximum(1, sizes[0] - 1)  # nobody has the last value of the first attribute
        low[: self.n_records // 2, 1:] = 0  # and half of the records are in few cells
        new = np.tile(sizes - 1, (k, 1))
        kept = low if self.privacy.neighbours == "add-remove" else low[:-k]
        far = rng.integers(0, sizes, size=(self.n_records, sizes.size))
        far = far if self.privacy.neighbours == "replace" else far[: self.n_records // 2]
        one, other = table(low, domain), table(np.vstack([kept, new]), domain)
        return [
            Pair(self.name, one, other, self.privacy, neighbours=True),
            Pair(f"{self.name}, far", one, table(far, domain), self.privacy, neighbours=False),
        ]


SHAPES = (
    Shape((2,) * 8, 1000, Privacy(), "3", "1/100000"),
    Shape((70, 3, 2), 150, Privacy("replace"), "9/2", "1/1000000000"),
    Shape((65, 64, 2), 300, Privacy(records_per_person=5), "30", "1/7777777"),
    Shape((3, 2, 4, 2, 3), 1000, Privacy("replace", 3), "22/7", "1/99991"),
    Shape((5, 3, 2, 2), 20, Privacy(records_per_person=2), "1/100", "1/1000"),
    Shape((2, 2, 2, 2), 40, Privacy("replace", 5), "355/113", "1/1000000"),
)
"""Shapes besides the three attributes and 12 cells of `pairs`."""

CHOOSING = (
    Shape((40, 20, 2), 2000, Privacy(), "47/10", "1/1000000"),
    Shape((30, 20), 2000, Privacy("replace"), "15/4", "1/1000000"),
)
"""Shapes with enough records and budget for choosing the resolution of pairs."""


def check_batches(subject: str, mechanism: Mechanism, shapes: Sequence[Shape] = SHAPES[1::4]) -> Finding:
    """Check a mechanism that counts only a few cells in one pass, and keeps few counts."""
    with observed_by(_FewCells()):
        finding = check_shapes(subject, mechanism, shapes)
    return replace(finding, check="batches")


class _FewCells(Observer):
    """Observer that allows a few cells a pass, and few kept counts."""

    not_private = ""
    batch_cells = 5
    kept_cells = 10


def check_shapes(
    subject: str, mechanism: Mechanism, shapes: Sequence[Shape] = SHAPES, *, pure: bool = False
) -> Finding:
    """Check a mechanism on tables of several shapes, with a pure budget or one with delta."""
    budgets = [shape.pure_budget if pure else shape.budget for shape in shapes]
    runs = [run_pairs(s.name, mechanism, budget, s.pairs()) for s, budget in zip(shapes, budgets, strict=True)]
    return followed("shapes", subject, runs)
