"""Mechanisms that enter with another budget or relation than was asked for."""

from __future__ import annotations

from functools import partial

from mutate import Mutant

from pypgm.audit.budgets import check_budgets
from pypgm.audit.refusals import check_refusals
from pypgm.audit.shapes import SHAPES, check_shapes
from pypgm.audit.spellings import check_spelling
from pypgm.audit.subjects import MECHANISMS, SPELLED
from pypgm.privacy import Privacy

BUDGET, ARGUMENTS = "pypgm.privacy.budget", "pypgm.privacy.arguments"
MST, RUN = "pypgm.mechanisms._mst", "pypgm.mechanisms.run"
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
        "zcdp_rho(exact_epsilon, exact_delta - reserved)",
        "zcdp_rho(exact_epsilon, exact_delta)",
        spelled["reserved_delta="],
        "overspent",
    ),
    Mutant(
        "a reserved delta allows more rho than none",
        BUDGET,
        "zcdp_rho(exact_epsilon, exact_delta - reserved)",
        "zcdp_rho(exact_epsilon, exact_delta + reserved)",
        check_budgets,
        "wrong budget",
    ),
    Mutant(
        "rho is epsilon^2 / (4 ln 1/delta)",
        BUDGET,
        "zcdp_rho(exact_epsilon, exact_delta - reserved)",
        "Fraction(float(exact_epsilon) ** 2 / (4 * __import__('math').log(1 / (exact_delta - reserved))))",
        check_budgets,
        "wrong budget",
    ),
    Mutant(
        "rho is epsilon^2 / (4 ln 1/delta) in a whole run",
        BUDGET,
        "zcdp_rho(exact_epsilon, exact_delta - reserved)",
        "Fraction(float(exact_epsilon) ** 2 / (4 * __import__('math').log(1 / (exact_delta - reserved))))",
        wide,
        "overspent",
    ),
    Mutant(
        "epsilon is read as rho",
        ARGUMENTS,
        "        return Budget(epsilon=epsilon, delta=delta)",
        "        return Budget(rho=epsilon)",
        spelled["epsilon, delta, privacy"],
        "overspent",
    ),
    Mutant(
        "delta is read as its square root",
        ARGUMENTS,
        "        return Budget(epsilon=epsilon, delta=delta)",
        "        return Budget(epsilon=epsilon, delta=str(float(delta) ** 0.5))",
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
        "zcdp_rho(exact_epsilon, exact_delta - reserved)",
        "zcdp_rho(exact_epsilon, exact_delta - reserved) * (1 if exact_epsilon <= 4 else Fraction(11, 10))",
        wide,
        "overspent",
    ),
    Mutant(
        "budgets of small epsilon get a little more",
        BUDGET,
        "zcdp_rho(exact_epsilon, exact_delta - reserved)",
        "zcdp_rho(exact_epsilon, exact_delta - reserved) * (1 if exact_epsilon > 1 else Fraction(1001, 1000))",
        check_budgets,
        "wrong budget",
    ),
    Mutant(
        "the relation named by its word is ignored",
        ARGUMENTS,
        'Privacy("add-remove" if relation is None else relation, stated or 1)',
        'Privacy("add-remove", stated or 1)',
        spelled["neighbours="],
        "wrong relation",
    ),
    Mutant(
        "no relation means substitution",
        ARGUMENTS,
        'Privacy("add-remove" if relation is None else relation, stated or 1)',
        'Privacy("replace" if relation is None else relation, stated or 1)',
        spelled["no relation"],
        "records counted exactly",
    ),
    Mutant(
        "records a person are dropped at the entry",
        ARGUMENTS,
        "    return relation\n",
        "    return Privacy(relation.neighbours)\n",
        spelled["epsilon, delta, privacy"],
        "lost user bound",
    ),
    Mutant(
        "records a person are lost between schema and charge",
        ARGUMENTS,
        'Privacy("add-remove" if relation is None else relation, stated or 1)',
        'Privacy("add-remove" if relation is None else relation)',
        spelled["the schema's number"],
        "lost user bound",
    ),
    Mutant(
        "records a person are lost where a learner meets the schema",
        "pypgm.bayes.private_learning",
        "    table = PrivateTable(data, relation, ledger,",
        "    table = PrivateTable(data, Privacy() if relation is None else Privacy(relation), ledger,",
        partial(
            check_spelling, "learn_private", SPELLED["learn_private"], "the schema's number", [Privacy("replace", 3)]
        ),
        "no release",
    ),
    Mutant(
        "records a person are those of a schema of one record for more than two",
        ARGUMENTS,
        "stated = None if schema is None else schema.stated_records_per_person",
        "stated = None if schema is None or schema.records_per_person > 2 else schema.stated_records_per_person",
        partial(check_spelling, "aim", SPELLED["aim"], "the schema's number", (SEVERAL,)),
        "lost user bound",
    ),
    Mutant(
        "another number of records a person than the schema's is taken",
        ARGUMENTS,
        "if stated is not None and relation.records_per_person != stated:",
        "if stated is not None and relation.records_per_person > stated:",
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
        "pypgm.report",
        'f"{release.privacy.neighbours} neighbours, ',
        'f"replace neighbours, ',
        spelled["no relation"],
        "wrong claim",
    ),
    Mutant(
        "a ledger's report names another relation than its run had",
        "pypgm.privacy.ledger",
        "return LedgerReport(self._budget, self.lines, self.privacy, self.not_private)",
        "return LedgerReport(self._budget, self.lines, Privacy(self.privacy.neighbours), self.not_private)",
        spelled["epsilon, delta, privacy"],
        "wrong claim",
    ),
    Mutant(
        "a release drops the last line of its ledger",
        "pypgm.privacy.ledger",
        "return LedgerReport(self._budget, self.lines, self.privacy, self.not_private)",
        "return LedgerReport(self._budget, self.lines[:-1], self.privacy, self.not_private)",
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
        "    rho = run.rho / (3 if len(domain) > 1 else 1)",
        "    rho = run.rho / (2 if len(domain) > 1 else 1)",
        spelled["budget="],
        "no release",
    ),
    Mutant(
        "a run on several threads counts on the relation of one record a person",
        RUN,
        "            relation = one_relation(neighbours, privacy)\n",
        "            relation = one_relation(neighbours, privacy) if n_threads != 2 else Privacy()\n",
        spelled["n_threads="],
        "wrong relation",
    ),
]
