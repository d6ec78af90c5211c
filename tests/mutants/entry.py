"""Mechanisms that enter with another budget or relation than was asked for."""

from __future__ import annotations

from functools import partial

from mutate import Mutant
from operators import instead, no_addend, one_less
from refusals import check_refusals
from selfcheck.shapes import SHAPES, check_shapes
from selfcheck.spellings import check_spelling

from pypgm.audit.budgets import check_budgets
from pypgm.audit.subjects import MECHANISMS, SPELLED
from pypgm.privacy import Privacy

BUDGET, ARGUMENTS = "pypgm.privacy.budget", "pypgm.privacy.arguments"
MST, ENTRY = "pypgm.mechanisms._mst", "pypgm.privacy.entry"
REPLACE = (Privacy("replace"),)
SEVERAL = Privacy(records_per_person=3)
spelled = {
    name: partial(check_spelling, "mst", SPELLED["mst"], name, privacies)
    for name, privacies in (
        ("epsilon, delta, privacy", (Privacy("replace", 2),)),
        ("budget=", REPLACE),
        ("reserved_delta=", REPLACE),
        ("neighbours=", REPLACE),
        ("the schema's number", (Privacy("replace", 3),)),
        ("no relation", (Privacy(),)),
        ("noise=", REPLACE),
        ("n_threads=", REPLACE),
        ("progress=", (Privacy(),)),
    )
}
wide = partial(check_shapes, "mst", MECHANISMS["mst"], SHAPES[2:3])

MUTANTS = [
    Mutant(
        "the reserved delta is spent twice",
        BUDGET,
        "Budget.__init__",
        no_addend(),
        spelled["reserved_delta="],
        "overspent",
    ),
    Mutant(
        "a reserved delta allows more rho than none",
        BUDGET,
        "Budget.__init__",
        instead("exact_delta - reserved", "exact_delta + reserved"),
        check_budgets,
        "wrong budget",
    ),
    Mutant(
        "rho is epsilon^2 / (4 ln 1/delta)",
        BUDGET,
        "Budget.__init__",
        instead(
            "zcdp_rho(exact_epsilon, exact_delta - reserved)",
            "Fraction(float(exact_epsilon) ** 2 / (4 * __import__('math').log(1 / (exact_delta - reserved))))",
        ),
        check_budgets,
        "wrong budget",
    ),
    Mutant(
        "rho is epsilon^2 / (4 ln 1/delta) in a whole run",
        BUDGET,
        "Budget.__init__",
        instead(
            "zcdp_rho(exact_epsilon, exact_delta - reserved)",
            "Fraction(float(exact_epsilon) ** 2 / (4 * __import__('math').log(1 / (exact_delta - reserved))))",
        ),
        wide,
        "overspent",
    ),
    Mutant(
        "epsilon is read as rho",
        ARGUMENTS,
        "as_budget",
        instead("Budget(epsilon=epsilon, delta=delta)", "Budget(rho=epsilon)"),
        spelled["epsilon, delta, privacy"],
        "overspent",
    ),
    Mutant(
        "delta is read as its square root",
        ARGUMENTS,
        "as_budget",
        instead("Budget(epsilon=epsilon, delta=delta)", "Budget(epsilon=epsilon, delta=str(float(delta) ** 0.5))"),
        spelled["epsilon, delta, privacy"],
        "overspent",
    ),
    Mutant(
        "a budget is doubled where it is passed as one",
        ARGUMENTS,
        "    return budget\n",
        "    return Budget(epsilon=2 * budget.epsilon, delta=budget.delta) if budget.delta else budget\n",
        spelled["budget="],
        "overspent",
    ),
    Mutant(
        "only budgets above epsilon 4 are converted wrongly",
        BUDGET,
        "Budget.__init__",
        instead(
            "zcdp_rho(exact_epsilon, exact_delta - reserved)",
            "zcdp_rho(exact_epsilon, exact_delta - reserved) * (1 if exact_epsilon <= 4 else Fraction(11, 10))",
        ),
        wide,
        "overspent",
    ),
    Mutant(
        "budgets of small epsilon get a little more",
        BUDGET,
        "Budget.__init__",
        instead(
            "zcdp_rho(exact_epsilon, exact_delta - reserved)",
            "zcdp_rho(exact_epsilon, exact_delta - reserved) * (1 if exact_epsilon > 1 else Fraction(1001, 1000))",
        ),
        check_budgets,
        "wrong budget",
    ),
    Mutant(
        "the relation named by its word is ignored",
        ARGUMENTS,
        "relation_of",
        instead("'add-remove' if relation is None else relation", "'add-remove'"),
        spelled["neighbours="],
        "wrong relation",
    ),
    Mutant(
        "no relation means substitution",
        ARGUMENTS,
        "relation_of",
        instead("'add-remove' if relation is None else relation", "'replace' if relation is None else relation"),
        spelled["no relation"],
        "records counted exactly",
    ),
    Mutant(
        "records a person are dropped at the entry",
        ARGUMENTS,
        "relation_of",
        instead("Privacy(relation.neighbours, stated, person) if person else relation", "Privacy(relation.neighbours)"),
        spelled["epsilon, delta, privacy"],
        "lost user bound",
    ),
    Mutant(
        "records a person are lost between schema and charge",
        ARGUMENTS,
        "relation_of",
        instead(
            "Privacy('add-remove' if relation is None else relation, stated, person)",
            "Privacy('add-remove' if relation is None else relation)",
        ),
        spelled["the schema's number"],
        "lost user bound",
    ),
    Mutant(
        "records a person are lost where a learner meets the schema",
        ENTRY,
        "entered",
        instead(
            "PrivateTable(handed.take(), relation, ledger, n_threads=n_threads, backend=backend, unsafe_seed=seed)",
            "PrivateTable(handed.take(), Privacy() if relation is None else Privacy(relation), ledger, "
            "n_threads=n_threads, backend=backend, unsafe_seed=seed)",
        ),
        partial(
            check_spelling, "learn_private", SPELLED["learn_private"], "the schema's number", [Privacy("replace", 3)]
        ),
        "no release",
    ),
    Mutant(
        "records a person are those of a schema of one record for more than two",
        ARGUMENTS,
        "relation_of",
        instead("schema is None", "schema is None or schema.records_per_person > 2"),
        partial(check_spelling, "aim", SPELLED["aim"], "the schema's number", (SEVERAL,)),
        "lost user bound",
    ),
    Mutant(
        "another number of records a person than the schema's is taken",
        ARGUMENTS,
        "relation_of",
        instead("relation.records_per_person != stated", "relation.records_per_person > stated"),
        check_refusals,
        "not refused",
    ),
    Mutant(
        "the schema of the records is not looked at by the table",
        "pypgm.privacy.counts",
        "    schema.check_domain(data.domain)\n    return schema\n",
        "    schema.check_domain(data.domain)\n    return schema if schema.rules else None\n",
        check_refusals,
        "not refused",
    ),
    Mutant(
        "a release names another relation than its run had",
        "pypgm.reporting.text",
        "ledger_text",
        instead(
            "f'{privacy.neighbours} neighbours, {privacy.records_per_person} record(s) a person, '",
            "f'replace neighbours, {privacy.records_per_person} record(s) a person, '",
        ),
        spelled["no relation"],
        "wrong claim",
    ),
    Mutant(
        "a ledger's report names another relation than its run had",
        "pypgm.privacy.ledger",
        "Ledger.snapshot",
        instead("self.privacy", "Privacy(self.privacy.neighbours)"),
        spelled["epsilon, delta, privacy"],
        "wrong claim",
    ),
    Mutant(
        "a release drops the last line of its ledger",
        "pypgm.privacy.ledger",
        "Ledger.snapshot",
        instead("self.lines", "self.lines[:-1]"),
        spelled["budget="],
        "wrong claim",
    ),
    Mutant(
        "a release claims another epsilon",
        "pypgm.privacy.ledger",
        "return LedgerReport(self._budget, self.lines, self.privacy, self.not_private)",
        "half = Budget(epsilon=self._budget.epsilon * 2, delta=self._budget.delta)\n"
        "        return LedgerReport(half, self.lines, self.privacy, '')",
        spelled["budget="],
        "wrong claim",
    ),
    Mutant(
        "thirds of the budget are halves",
        MST,
        "mst",
        one_less(1),
        spelled["budget="],
        "no release",
    ),
    Mutant(
        "a run on several threads counts on the relation of one record a person",
        ENTRY,
        "entered",
        instead(
            "one_relation(neighbours, privacy)", "one_relation(neighbours, privacy) if n_threads != 2 else Privacy()"
        ),
        spelled["n_threads="],
        "wrong relation",
    ),
]
