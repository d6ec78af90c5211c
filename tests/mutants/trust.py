"""Trust in what callers hand over, errors that tell of records, and interrupts that lose a charge."""

from __future__ import annotations

from mutate import Mutant

from pypgm.audit.trust import check_errors_behind, check_interrupts, check_trust, check_votes

_PLACES = [
    # name, module, old, new, check, defect
    (
        "a subclass of a ledger is charged",
        "guarded",
        "if type(ledger) is not Ledger:",
        "if not isinstance(ledger, Ledger):",
        check_trust,
        "not refused",
    ),
    (
        "a subclass of a budget is believed",
        "budget",
        "if type(budget) is not Budget:",
        "if not isinstance(budget, Budget):",
        check_trust,
        "not refused",
    ),
    (
        "a budget and a ledger can begin again",
        "budget",
        "    if hasattr(thing, field):",
        "    if False:",
        check_trust,
        "not refused",
    ),
    (
        "a relation is the caller's own",
        "guarded",
        "self._privacy = replace(privacy)",
        "self._privacy = privacy",
        check_trust,
        "trusted object",
    ),
    (
        "a query is the caller's own",
        "trusted_query",
        "return make(*arguments) if",
        "return query if",
        check_trust,
        "trusted object",
    ),
    (
        "a radius may be anything",
        "mrf.frank_wolfe",
        'checked_real("radius", asked.radius)',
        "float(asked.radius)",
        check_trust,
        "not refused",
    ),
    (
        "codes of a pair may be anything",
        "mrf.frank_wolfe",
        "    if own >= most:",
        "    if False:",
        check_trust,
        "not refused",
    ),
    (
        "a node says how many of its regressions compose",
        "mrf.frank_wolfe",
        "return Node(attribute, pairs, candidates)",
        "return given",
        check_trust,
        "trusted object",
    ),
    (
        "an estimate may compare anew in its own selector",
        "selector",
        "        if self._now is not now:",
        "        if False:",
        check_trust,
        "not refused",
    ),
    (
        "an estimate may select in its own selector",
        "selector",
        "        if now.is_asking:",
        "        if False:",
        check_trust,
        "not refused",
    ),
    (
        "votes are counted as they come",
        "mrf.stability",
        "unheard(lambda: _as_graph(self._vote(block)), ())",
        "unheard(lambda: self._vote(block), ())",
        check_votes,
        "private state kept",
    ),
    (
        "equal votes are of whoever came first",
        "mrf.stability",
        "((int(operator.index(i)), int(operator.index(j))) for i, j in vote)",
        "((i, j) for i, j in vote)",
        check_votes,
        "private state kept",
    ),
    (
        "what is no Exception comes out of a vote",
        "fixed_errors",
        "        except BaseException:",
        "        except Exception:",
        check_votes,
        "exception tells",
    ),
    (
        "the kind of an error behind a charge is told",
        "fixed_errors",
        "else ReleaseError(_TEXT)",
        "else ReleaseError(kind.__name__)",
        check_errors_behind,
        "exception tells",
    ),
    (
        "an error behind a charge has the other one behind it",
        "fixed_errors",
        "            told.__context__ = None",
        "            pass",
        check_errors_behind,
        "exception tells",
    ),
    (
        "errors of many measurements come out",
        "private_table",
        "        with fixed_errors:\n            values = self.__noisy(",
        "        if True:\n            values = self.__noisy(",
        check_errors_behind,
        "exception tells",
    ),
    (
        "errors of cells come out",
        "cell_selector",
        "        with fixed_errors:",
        "        if True:",
        check_errors_behind,
        "exception tells",
    ),
    (
        "errors of keys come out",
        "unknown_keys",
        "    with fixed_errors:",
        "    if True:",
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
        "        self._sums = seen, cost, fails\n",
        "        self._sums = seen, *self._sums[1:]\n        self._sums = seen, cost, fails\n",
        check_interrupts,
        "interrupt",
    ),
    (
        "an allocation that nobody got is held",
        "ledger",
        "            part._open = False  # nobody got it",
        "            pass  # nobody got it",
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
