"""Trust in what callers hand over, errors that tell of records, and interrupts that lose a charge."""

from __future__ import annotations

from checks.trust import check_errors_behind, check_interrupts, check_trust, check_votes
from mutate import Mutant
from operators import as_given, instead, never, not_kept, unguarded

_PLACES = [
    # name, module, old, new, check, defect
    (
        "a subclass of a ledger is charged",
        "guarded",
        "Guarded.__init__",
        instead("type(ledger) is not Ledger", "not isinstance(ledger, Ledger)"),
        check_trust,
        "not refused",
    ),
    (
        "a subclass of a budget is believed",
        "budget",
        "own_budget",
        instead("type(budget) is not Budget", "not isinstance(budget, Budget)"),
        check_trust,
        "not refused",
    ),
    (
        "a budget and a ledger can begin again",
        "budget",
        "check_new",
        never(),
        check_trust,
        "not refused",
    ),
    (
        "a relation is the caller's own",
        "guarded",
        "Guarded.__init__",
        instead("privacy.copy()", "privacy"),
        check_trust,
        "trusted object",
    ),
    (
        "a query is the caller's own",
        "trusted_query",
        "_copied",
        instead("make(*arguments)", "query"),
        check_trust,
        "trusted object",
    ),
    (
        "a radius may be anything",
        "mrf.frank_wolfe",
        "_copied",
        instead("checked_real('radius', asked.radius)", "float(asked.radius)"),
        check_trust,
        "not refused",
    ),
    (
        "codes of a pair may be anything",
        "mrf.frank_wolfe",
        "_below",
        never(),
        check_trust,
        "not refused",
    ),
    (
        "a node says how many of its regressions compose",
        "mrf.frank_wolfe",
        "_node",
        instead("Node(attribute, pairs, candidates)", "given"),
        check_trust,
        "trusted object",
    ),
    (
        "an estimate may compare anew in its own selector",
        "selector",
        "Selector._ask",
        never(),
        check_trust,
        "not refused",
    ),
    (
        "an estimate may select in its own selector",
        "selector",
        "Selector._checked",
        never(1),
        check_trust,
        "not refused",
    ),
    (
        "votes are counted as they come",
        "mrf.stability",
        "Stability._voted",
        as_given(2),
        check_votes,
        "private state kept",
    ),
    (
        "equal votes are of whoever came first",
        "mrf.stability",
        "_as_graph",
        instead("(int(operator.index(i)), int(operator.index(j)))", "(i, j)"),
        check_votes,
        "private state kept",
    ),
    (
        "what is no Exception comes out of a vote",
        "fixed_errors",
        "unheard",
        instead("BaseException", "Exception"),
        check_votes,
        "exception tells",
    ),
    (
        "the kind of an error behind a charge is told",
        "fixed_errors",
        "_FixedErrors.__exit__",
        instead("_TEXT", "kind.__name__"),
        check_errors_behind,
        "exception tells",
    ),
    (
        "an error behind a charge has the other one behind it",
        "fixed_errors",
        "_FixedErrors.__exit__",
        not_kept(),
        check_errors_behind,
        "exception tells",
    ),
    (
        "errors of many measurements come out",
        "private_table",
        "PrivateTable.measure_many",
        unguarded(),
        check_errors_behind,
        "exception tells",
    ),
    (
        "errors of cells come out",
        "cell_selector",
        "CellSelector.draw",
        unguarded(),
        check_errors_behind,
        "exception tells",
    ),
    (
        "errors of keys come out",
        "unknown_keys",
        "sparse_histogram",
        unguarded(),
        check_errors_behind,
        "exception tells",
    ),
    (
        "a line is entered in a part first and in the whole afterwards",
        "ledger",
        "        self._journal.append(told)",
        "        self._journal.append({self: line})\n        self._journal[-1].update(told)",
        check_interrupts,
        "interrupt",
    ),
    (
        "what is summed is noted before the sum",
        "ledger",
        "            self._sums = seen + len(new), cost, fails\n",
        "            self._sums = seen + len(new), *self._sums[1:]\n"
        "            self._sums = seen + len(new), cost, fails\n",
        check_interrupts,
        "interrupt",
    ),
    (
        "an allocation that nobody got is held",
        "ledger",
        "Ledger.allocate",
        not_kept(2),
        check_interrupts,
        "interrupt",
    ),
    (
        "an interrupt within an allocation leaves it open",
        "ledger",
        "            self._open = False  # allocations of its own",
        "            self.close()  # allocations of its own",
        check_interrupts,
        "interrupt",
    ),
]

MUTANTS = [
    Mutant(name, f"pypgm.{home if '.' in home else f'privacy.{home}'}", old, new, check, d)
    for name, home, old, new, check, d in _PLACES
]
