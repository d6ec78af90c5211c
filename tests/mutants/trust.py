"""Trust in what callers hand over, errors that tell of records, and interrupts that lose a charge."""

from __future__ import annotations

from checks.trust import check_errors_behind, check_interrupts, check_trust, check_votes
from mutate import at
from operators import as_given, never, not_kept, unguarded

MUTANTS = {
    "a subclass of a ledger is charged": at("privacy.private_column:Guarded.__init__", check_trust, "not refused")(
        "type(ledger) is not Ledger", "not isinstance(ledger, Ledger)"
    ),
    "a subclass of a budget is believed": at("privacy.budget:own_budget", check_trust, "not refused")(
        "type(budget) is not Budget", "not isinstance(budget, Budget)"
    ),
    "a budget and a ledger can begin again": at("privacy.budget:check_new", check_trust, "not refused")(never()),
    "a relation is the caller's own": at("privacy.private_column:Guarded.__init__", check_trust, "trusted object")(
        "privacy.copy()", "privacy"
    ),
    "a query is the caller's own": at("privacy.trusted_query:_copied", check_trust, "trusted object")(
        "make(*arguments)", "query"
    ),
    "a radius may be anything": at("mrf.frank_wolfe:_copied", check_trust, "not refused")(
        "checked_real('radius', X)", "float(X)"
    ),
    "codes of a pair may be anything": at("mrf.frank_wolfe:_below", check_trust, "not refused")(never()),
    "a node says how many of its regressions compose": at("mrf.frank_wolfe:_node", check_trust, "trusted object")(
        "Node(attribute, pairs, candidates)", "given"
    ),
    "an estimate may compare anew in its own selector": at(
        "privacy.selector:Selector._ask", check_trust, "not refused"
    )(never()),
    "an estimate may select in its own selector": at("privacy.selector:Selector._checked", check_trust, "not refused")(
        never(1)
    ),
    "votes are counted as they come": at("mrf.stability:Stability._voted", check_votes, "private state kept")(
        as_given(2)
    ),
    "equal votes are of whoever came first": at("mrf.stability:_as_graph", check_votes, "private state kept")(
        "(int(operator.index(i)), int(operator.index(j)))", "(i, j)"
    ),
    "what is no Exception comes out of a vote": at("privacy.fixed_errors:unheard", check_votes, "exception tells")(
        "BaseException", "Exception"
    ),
    "the kind of an error behind a charge is told": at(
        "privacy.fixed_errors:_FixedErrors.__exit__", check_errors_behind, "exception tells"
    )("_TEXT", "kind.__name__"),
    "an error behind a charge has the other one behind it": at(
        "privacy.fixed_errors:_FixedErrors.__exit__", check_errors_behind, "exception tells"
    )(not_kept()),
    "errors of many measurements come out": at(
        "privacy.private_table:PrivateTable.measure_many", check_errors_behind, "exception tells"
    )(unguarded()),
    "errors of cells come out": at("privacy.cell_selector:CellSelector.draw", check_errors_behind, "exception tells")(
        unguarded()
    ),
    "errors of keys come out": at("privacy.private_column:sparse_histogram", check_errors_behind, "exception tells")(
        unguarded()
    ),
    "a line is entered in a part first and in the whole afterwards": at(
        "privacy.ledger:Ledger._enter", check_interrupts, "interrupt"
    )("self._journal.append(X)", "self._journal.append({self: line})\nself._journal[-1].update(X)"),
    "what is summed is noted before the sum": at("privacy.ledger:Ledger._summed", check_interrupts, "interrupt")(
        "self._sums = X, Y, Z", "self._sums = X, *self._sums[1:]\nself._sums = X, Y, Z"
    ),
    "an allocation that nobody got is held": at("privacy.ledger:Ledger.allocate", check_interrupts, "interrupt")(
        not_kept(3)
    ),
    "an interrupt within an allocation leaves it open": at(
        "privacy.ledger:Ledger.__exit__", check_interrupts, "interrupt"
    )("self._open = False", "self.close()"),
}
