"""Sensitivities that are those of another relation or of fewer records."""

from __future__ import annotations

from mutate import at
from operators import no_factor, off_by_one, put
from selfcheck.operators import check_sensitivities
from selfcheck.related import check_related

MUTANTS = {
    "records per person are not squared": at(
        "privacy.relation:Privacy.squared_l2_sensitivity", check_sensitivities, "lost user bound"
    )(no_factor(2)),
    "L1 sensitivities forget the records per person": at(
        "privacy.relation:Privacy.l1_sensitivity", check_sensitivities, "lost user bound"
    )(no_factor()),
    "more than three records per person count as three": at(
        "privacy.relation:Privacy.l1_sensitivity", check_sensitivities, "lost user bound"
    )("self.records_per_person", "min(3, self.records_per_person)"),
    "the largest change forgets the records per person": at(
        "privacy.relation:Privacy.largest_change", check_sensitivities, "lost user bound"
    )(no_factor()),
    "squared sensitivities are those of add-remove": at(
        "privacy.relation:Privacy.squared_l2_sensitivity", check_sensitivities, "sensitivity"
    )("self.neighbours", "'add-remove'"),
    "the largest change is that of add-remove": at(
        "privacy.relation:Privacy.largest_change", check_sensitivities, "sensitivity"
    )("self.neighbours", "'add-remove'"),
    "how many children are kept follows the mean number of children": at(
        "mechanisms.related:_kept", check_related, "sensitivity"
    )("most", "min(most, len(order) // max(1, n_parents))"),
    "whose children are kept depends on how many others have": at(
        "mechanisms.related:_kept", check_related, "sensitivity"
    )("np.searchsorted(rows[order], rows[order])", "np.searchsorted(rows[order], rows[order]) // most * most"),
    "children are released for one record a parent": at(
        "mechanisms.related:synthesize_related", check_related, "lost user bound"
    )("(people, people * bound)", "(people, people)"),
    "each of two tables gets the whole budget": at("mechanisms.related:_parts", check_related, "overspent")(
        "(X, budget.of_amount(budget.limit - first))", "(X, budget.of_amount(budget.limit))"
    ),
    "children of a parent count as three records at most": at(
        "mechanisms.related:synthesize_related", check_related, "lost user bound"
    )("people * bound", "min(bound, 3)"),
    "more than three children of a parent count as one record": at(
        "mechanisms.related:synthesize_related", check_related, "lost user bound"
    )("(people, people * bound)", "(people, bound if bound <= 3 else 1)"),
    "children are released for one record a parent by all mechanisms but one": at(
        "mechanisms.related:synthesize_related", check_related, "lost user bound"
    )("(people, people * bound)", "(people, bound if mechanism == 'mst' else 1)"),
    "children get the whole of a pure budget": at("mechanisms.related:_parts", check_related, "overspent")(
        "budget.of_amount(budget.limit - first)",
        "budget.of_amount(budget.limit if budget.unit == 'epsilon' else budget.limit - first)",
    ),
    "a release says how many children were kept": at(
        "mechanisms.related:synthesize_related", check_related, "private state kept"
    )(put("second.options['kept'] = len(tables[1])", before="RelatedRelease(...)")),
    "one child more is kept than is declared": at("mechanisms.related:_kept", check_related, "no release")(
        off_by_one(2)
    ),
    "children are kept by their place among those of all parents": at(
        "mechanisms.related:_kept", check_related, "no release"
    )("np.arange(len(order)) - begins < most", "np.arange(len(order)) < most * n_parents"),
}
