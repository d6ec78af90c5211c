"""Sensitivities that are those of another relation or of fewer records."""

from __future__ import annotations

from mutate import Mutant

from pypgm.audit.operators import check_sensitivities

_PLACES = [
    (
        "records per person are not squared",
        "return query.squared_l2_sensitivity(self.neighbours) * self.records_per_person**2",
        "return query.squared_l2_sensitivity(self.neighbours) * self.records_per_person",
        "lost user bound",
    ),
    (
        "L1 sensitivities forget the records per person",
        "return query.l1_sensitivity(self.neighbours) * self.records_per_person",
        "return query.l1_sensitivity(self.neighbours)",
        "lost user bound",
    ),
    (
        "more than three records per person count as three",
        "return query.l1_sensitivity(self.neighbours) * self.records_per_person",
        "return query.l1_sensitivity(self.neighbours) * min(3, self.records_per_person)",
        "lost user bound",
    ),
    (
        "the largest change forgets the records per person",
        "return query.largest_change(self.neighbours) * self.records_per_person",
        "return query.largest_change(self.neighbours)",
        "lost user bound",
    ),
    (
        "squared sensitivities are those of add-remove",
        "return query.squared_l2_sensitivity(self.neighbours) * self.records_per_person**2",
        'return query.squared_l2_sensitivity("add-remove") * self.records_per_person**2',
        "sensitivity",
    ),
    (
        "the largest change is that of add-remove",
        "return query.largest_change(self.neighbours) * self.records_per_person",
        'return query.largest_change("add-remove") * self.records_per_person',
        "sensitivity",
    ),
]

MUTANTS = [
    Mutant(name, "pypgm.privacy.relation", old, new, check_sensitivities, defect) for name, old, new, defect in _PLACES
]
