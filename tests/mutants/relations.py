"""Sensitivities that are those of another relation or of fewer records."""

from __future__ import annotations

from mutate import Mutant
from operators import instead, no_factor, off_by_one
from selfcheck.operators import check_sensitivities
from selfcheck.related import check_related

_PLACES = [
    (
        "records per person are not squared",
        "Privacy.squared_l2_sensitivity",
        no_factor(2),
        "lost user bound",
    ),
    (
        "L1 sensitivities forget the records per person",
        "Privacy.l1_sensitivity",
        no_factor(),
        "lost user bound",
    ),
    (
        "more than three records per person count as three",
        "Privacy.l1_sensitivity",
        instead("self.records_per_person", "min(3, self.records_per_person)"),
        "lost user bound",
    ),
    (
        "the largest change forgets the records per person",
        "Privacy.largest_change",
        no_factor(),
        "lost user bound",
    ),
    (
        "squared sensitivities are those of add-remove",
        "Privacy.squared_l2_sensitivity",
        instead("self.neighbours", "'add-remove'"),
        "sensitivity",
    ),
    (
        "the largest change is that of add-remove",
        "Privacy.largest_change",
        instead("self.neighbours", "'add-remove'"),
        "sensitivity",
    ),
]

_OF_TWO_TABLES = [
    (
        "how many children are kept follows the mean number of children",
        "_kept",
        instead("most", "min(most, len(order) // max(1, n_parents))"),
        "sensitivity",
    ),
    (
        "whose children are kept depends on how many others have",
        "_kept",
        instead(
            "np.searchsorted(rows[order], rows[order])", "np.searchsorted(rows[order], rows[order]) // most * most"
        ),
        "sensitivity",
    ),
    (
        "children are released for one record a parent",
        "synthesize_related",
        instead("(people, people * bound)", "(people, people)"),
        "lost user bound",
    ),
    (
        "each of two tables gets the whole budget",
        "_parts",
        instead("(first, budget.limit - first)", "(budget.limit, budget.limit)"),
        "overspent",
    ),
    (
        "children of a parent count as three records at most",
        "synthesize_related",
        instead("people * bound", "min(bound, 3)"),
        "lost user bound",
    ),
    (
        "more than three children of a parent count as one record",
        "synthesize_related",
        instead("(people, people * bound)", "(people, bound if bound <= 3 else 1)"),
        "lost user bound",
    ),
    (
        "children are released for one record a parent by all mechanisms but one",
        "synthesize_related",
        instead("(people, people * bound)", "(people, bound if mechanism == 'mst' else 1)"),
        "lost user bound",
    ),
    (
        "children get the whole of a pure budget",
        "_parts",
        instead("Budget(epsilon=amounts[1])", "Budget(epsilon=budget.limit)"),
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
        "_kept",
        off_by_one(2),
        "no release",
    ),
    (
        "children are kept by their place among those of all parents",
        "_kept",
        instead("np.arange(len(order)) - begins < most", "np.arange(len(order)) < most * n_parents"),
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
