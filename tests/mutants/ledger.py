"""Ledgers that lose count: what is charged, held, returned, copied or marked is wrong in one place."""

from __future__ import annotations

from functools import partial

from checks.ledger import check_ledger, check_ledger_files, check_ledger_threads, check_second_budgets
from mutate import at
from operators import as_given, never, no_addend, not_kept, unguarded
from selfcheck.ledgers import check_ledger_races

model = partial(check_ledger, 40, 30)

MUTANTS = {
    "the ledger never refuses": at("privacy.ledger:Ledger._check", model, "overdrawn ledger")(never(1)),
    "a line within a rounding error of what is left fits": at(
        "privacy.ledger:Ledger._check", partial(check_ledger, 200, 30), "overdrawn ledger"
    )("cost > left", "float(cost) > 1.001 * float(left)"),
    "costs are compared as floats": at("privacy.ledger:Ledger._check", model, "overdrawn ledger")(
        "cost > left", "float(cost) > float(left)"
    ),
    "sums are kept for more lines than were summed": at(
        "privacy.ledger:Ledger._summed", check_ledger_races, "ledger race"
    )("seen + len(new)", "len(self._journal)"),
    "a line that comes while others are summed is left out of the sums of a part": at(
        "privacy.ledger:Ledger._summed", model, "ledger sums"
    )("seen + len(new)", "len(self._journal) if self._parent else seen + len(new)"),
    "what a part spent is held as well": at("privacy.ledger:Ledger._held", model, "ledger sums")(no_addend()),
    "the delta that a part spent is held as well": at("privacy.ledger:Ledger._held", model, "ledger sums")(
        no_addend(1)
    ),
    "charges to a part are not entered in the parent": at("privacy.ledger:Ledger._enter", model, "ledger sums")(
        not_kept()
    ),
    "an equal line is free": at("privacy.ledger:Ledger._charge", model, "ledger sums")(
        "self._enter(line)", "line in self.lines or self._enter(line)"
    ),
    "the last line's cost is counted once however often it comes": at(
        "privacy.ledger:Ledger._summed", model, "ledger sums"
    )("self in X", "self in X and (not seen or self._journal[seen - 1].get(self) != X[self])"),
    "a report is not checked against its budget": at(
        "privacy.ledger_report:LedgerReport.__init__", check_ledger_files, "unchecked import"
    )(never()),
    "a stored cost is believed": at("privacy.charge:Charge.from_dict", check_ledger_files, "unchecked import")(never()),
    "a line is entered with whatever cost it says": at(
        "privacy.ledger_report:_checked_lines", check_ledger_files, "unchecked import"
    )("copies(X)", "X"),
    "the reserved delta is never checked": at("privacy.ledger:Ledger._check", model, "overdrawn ledger")(never(2)),
    "probabilities of failure are not added up": at("privacy.ledger:Ledger._summed", model, "ledger sums")(
        "exact_sum((line.delta for line in X))", "max(exact_sum((line.delta for line in X)) - fails, 0)"
    ),
    "allocations are not held": at("privacy.ledger:Ledger._held", model, "ledger sums")(as_given(1)),
    "the delta of allocations is not held": at("privacy.ledger:Ledger._held", model, "ledger sums")(as_given(3)),
    "a mark on a part leaves the whole unmarked": at("privacy.ledger:Ledger.mark_not_private", model, "mark lost")(
        "root", "self", 1
    ),
    "a copy loses the mark": at("privacy.ledger_report:LedgerReport.from_dict", model, "mark lost")(
        "fields.get('not_private', '')", "''"
    ),
    "a second table may bring another relation": at("privacy.ledger:Ledger.bind", model, "mark lost")(never(1)),
    "a second table may bring more records a person": at("privacy.ledger:Ledger.bind", model, "mark lost")(
        "root._privacy != privacy", "root._privacy.neighbours != privacy.neighbours"
    ),
    "charges are not locked": at("privacy.ledger:Ledger._charge", check_ledger_threads, "ledger race")(unguarded()),
    "allocations are not locked": at("privacy.ledger:Ledger.allocate", check_ledger_threads, "ledger race")(
        unguarded()
    ),
    "a closed part goes on": at("privacy.ledger:Ledger._check", model, "second budget")(never()),
    "a part never closes": at("privacy.ledger:Ledger.close", check_second_budgets, "second budget")(not_kept()),
    "a part closes while parts of its own are open": at("privacy.ledger:Ledger.close", model, "second budget")(
        never(1)
    ),
    "a forked child is a second ledger": at(
        "privacy.ledger:Ledger._check_process", check_second_budgets, "second budget"
    )(never()),
    "a forked child may allocate": at("privacy.ledger:Ledger.allocate", check_second_budgets, "second budget")(
        "self._check_process(X)", "None"
    ),
    "a pickle is a new ledger": at(
        "privacy.ledger_report:LedgerReport.__reduce__", check_second_budgets, "second budget"
    )("(LedgerReport.from_dict, (self.to_dict(),))", "(type(self), (self._budget,))"),
}
