"""Ledgers that lose count: what is charged, held, returned, copied or marked is wrong in one place."""

from __future__ import annotations

from functools import partial

from mutate import Mutant

from pypgm.audit.ledger import check_ledger, check_ledger_files, check_ledger_threads, check_second_budgets

LEDGER, REPORT, CHARGE = "pypgm.privacy.ledger", "pypgm.privacy.ledger_report", "pypgm.privacy.charge"
model = partial(check_ledger, 40, 30)

MUTANTS = [
    Mutant(
        "the ledger never refuses", LEDGER, "        if cost > left:", "        if False:", model, "overdrawn ledger"
    ),
    Mutant(
        "a line within a rounding error of what is left fits",
        LEDGER,
        "        if cost > left:",
        "        if float(cost) > 1.001 * float(left):",
        partial(check_ledger, 200, 30),
        "overdrawn ledger",
    ),
    Mutant(
        "closing returns the whole limit",
        LEDGER,
        "self._parent._held -= self._budget.limit - self._spent",
        "self._parent._held -= self._budget.limit",
        model,
        "ledger sums",
    ),
    Mutant(
        "closing returns the whole reserved delta",
        LEDGER,
        "self._parent._held_delta -= self._budget.reserved_delta - self._spent_delta",
        "self._parent._held_delta -= self._budget.reserved_delta",
        model,
        "ledger sums",
    ),
    Mutant(
        "charges to a part are not entered in the parent",
        LEDGER,
        "            self._parent._enter(replace(line, within=within))",
        "            pass",
        model,
        "ledger sums",
    ),
    Mutant(
        "an equal line is free",
        LEDGER,
        "            self._check(what, line.cost, line.delta)\n            self._enter(line)",
        "            self._check(what, line.cost, line.delta)\n            line in self._lines or self._enter(line)",
        model,
        "ledger sums",
    ),
    Mutant(
        "the last line's cost is counted once however often it comes",
        LEDGER,
        "        self._spent += line.cost\n",
        "        self._spent += line.cost * (len(self._lines) < 2 or self._lines[-2] != line)\n",
        model,
        "ledger sums",
    ),
    Mutant(
        "a report is not checked against its budget",
        REPORT,
        "if cost > budget.limit or fails > budget.reserved_delta:",
        "if False:",
        check_ledger_files,
        "unchecked import",
    ),
    Mutant(
        "a stored cost is believed",
        CHARGE,
        'if line.cost != as_fraction("cost", stored["cost"]):',
        "if False:",
        check_ledger_files,
        "unchecked import",
    ),
    Mutant(
        "a line is entered with whatever cost it says",
        REPORT,
        "    Charge.from_dict(line.to_dict())\n",
        "",
        check_ledger_files,
        "unchecked import",
    ),
    Mutant(
        "lines of another unit are added up",
        REPORT,
        "    if line.unit != budget.unit:",
        "    if False:",
        check_ledger_files,
        "unchecked import",
    ),
    Mutant(
        "the reserved delta is never checked",
        LEDGER,
        "        if delta > self.remaining_delta():",
        "        if False:",
        model,
        "overdrawn ledger",
    ),
    Mutant(
        "probabilities of failure are not added up",
        LEDGER,
        "        self._spent_delta += line.delta\n",
        "        self._spent_delta = max(self._spent_delta, line.delta)\n",
        model,
        "ledger sums",
    ),
    Mutant("allocations are not held", LEDGER, "            self._held += wanted\n", "", model, "ledger sums"),
    Mutant(
        "the delta of allocations is not held",
        LEDGER,
        "            self._held_delta += delta\n",
        "",
        model,
        "ledger sums",
    ),
    Mutant(
        "a mark on a part leaves the whole unmarked",
        LEDGER,
        "            root._not_private = root._not_private or reason",
        "            self._not_private = self._not_private or reason",
        model,
        "mark lost",
    ),
    Mutant(
        "a copy loses the mark",
        REPORT,
        'stored.get("not_private", "")',
        '""',
        model,
        "mark lost",
    ),
    Mutant(
        "a second table may bring another relation",
        LEDGER,
        "            if root._privacy is not None and root._privacy != privacy:",
        "            if False:",
        model,
        "mark lost",
    ),
    Mutant(
        "a second table may bring more records a person",
        LEDGER,
        "root._privacy != privacy:",
        "root._privacy.neighbours != privacy.neighbours:",
        model,
        "mark lost",
    ),
    Mutant(
        "charges are not locked",
        LEDGER,
        "        with self._lock:\n            self._check(what, line.cost, line.delta)",
        "        if self._lock:\n            self._check(what, line.cost, line.delta)",
        check_ledger_threads,
        "ledger race",
    ),
    Mutant(
        "allocations are not locked",
        LEDGER,
        '        with self._lock:\n            self._check(f"allocation',
        '        if self._lock:\n            self._check(f"allocation',
        check_ledger_threads,
        "ledger race",
    ),
    Mutant(
        "a closed part goes on",
        LEDGER,
        "        if not self._open:\n            raise BudgetError",
        "        if False:\n            raise BudgetError",
        model,
        "second budget",
    ),
    Mutant(
        "a part never closes", LEDGER, "            self._open = False\n", "", check_second_budgets, "second budget"
    ),
    Mutant(
        "a part closes while parts of its own are open",
        LEDGER,
        "            if self._parts:",
        "            if False:",
        model,
        "second budget",
    ),
    Mutant(
        "a forked child is a second ledger",
        LEDGER,
        "if self._process != (os.getpid(), len(_FORKS)):",
        "if False:",
        check_second_budgets,
        "second budget",
    ),
    Mutant(
        "a forked child may allocate",
        LEDGER,
        '        self._check_process(f"allocation {name!r}")\n',
        "",
        check_second_budgets,
        "second budget",
    ),
    Mutant(
        "a pickle is a new ledger",
        REPORT,
        "        return (LedgerReport.from_dict, (self.to_dict(),))",
        "        return (type(self), (self._budget,))",
        check_second_budgets,
        "second budget",
    ),
]
