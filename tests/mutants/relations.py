"""Sensitivities that are those of another relation or of fewer records."""

from __future__ import annotations

from mutate import Mutant

from pypgm.audit.operators import check_sensitivities
from pypgm.audit.related import check_related

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

_OF_TWO_TABLES = [
    (
        "how many children are kept follows the mean number of children",
        "np.arange(len(order)) - begins < most",
        "np.arange(len(order)) - begins < min(most, len(order) // max(1, n_parents))",
        "sensitivity",
    ),
    (
        "whose children are kept depends on how many others have",
        "np.searchsorted(rows[order], rows[order])",
        "np.searchsorted(rows[order], rows[order]) // most * most",
        "sensitivity",
    ),
    (
        "children are released for one record a parent",
        "Privacy(records_per_person=people * bound))",
        "Privacy())",
        "lost user bound",
    ),
    (
        "each of two tables gets the whole budget",
        "amounts = (first, budget.limit - first)",
        "amounts = (budget.limit, budget.limit)",
        "overspent",
    ),
    (
        "children of a parent count as three records at most",
        "Privacy(records_per_person=people * bound))",
        "Privacy(records_per_person=min(bound, 3)))",
        "lost user bound",
    ),
    (
        "more than three children of a parent count as one record",
        "Privacy(records_per_person=people * bound))",
        "Privacy(records_per_person=bound) if bound <= 3 else Privacy())",
        "lost user bound",
    ),
    (
        "children are released for one record a parent by all mechanisms but one",
        "Privacy(records_per_person=people * bound))",
        'Privacy(records_per_person=bound) if mechanism == "mst" else Privacy())',
        "lost user bound",
    ),
    (
        "children get the whole of a pure budget",
        "Budget(epsilon=amounts[1])",
        "Budget(epsilon=budget.limit)",
        "overspent",
    ),
    (
        "a release says how many children were kept",
        "return RelatedRelease(first, second, whole, bound, used, count)",
        'second.options["kept"] = len(tables[1]); return RelatedRelease(first, second, whole, bound, used, count)',
        "private state kept",
    ),
    (
        "one child more is kept than is declared",
        "np.arange(len(order)) - begins < most",
        "np.arange(len(order)) - begins <= most",
        "no release",
    ),
    (
        "children are kept by their place among those of all parents",
        "np.arange(len(order)) - begins < most",
        "np.arange(len(order)) < most * n_parents",
        "no release",
    ),
]

MUTANTS = [
    Mutant(name, "pypgm.privacy.relation", old, new, check_sensitivities, defect) for name, old, new, defect in _PLACES
]
MUTANTS += [
    Mutant(name, "pypgm.mechanisms.related", old, new, check_related, defect)
    for name, old, new, defect in _OF_TWO_TABLES
]
