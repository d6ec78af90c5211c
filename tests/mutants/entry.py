"""Mechanisms that enter with another budget or relation than was asked for."""

from __future__ import annotations

from functools import partial

from mutate import at
from operators import no_addend, one_less
from refusals import check_refusals
from selfcheck.shapes import SHAPES, check_shapes
from selfcheck.spellings import check_spelling

from pypgm.audit.budgets import check_budgets
from pypgm.audit.subjects import MECHANISMS, SPELLED
from pypgm.privacy import Privacy

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

MUTANTS = {
    "the reserved delta is spent twice": at("privacy.budget:Budget.__init__", spelled["reserved_delta="], "overspent")(
        no_addend()
    ),
    "a reserved delta allows more rho than none": at("privacy.budget:Budget.__init__", check_budgets, "wrong budget")(
        "exact_delta - reserved", "exact_delta + reserved"
    ),
    "rho is epsilon^2 / (4 ln 1/delta)": at("privacy.budget:Budget.__init__", check_budgets, "wrong budget")(
        "convert(exact_epsilon, exact_delta - reserved)",
        "Fraction(float(exact_epsilon) ** 2 / (4 * __import__('math').log(1 / (exact_delta - reserved))))",
    ),
    "rho is epsilon^2 / (4 ln 1/delta) in a whole run": at("privacy.budget:Budget.__init__", wide, "overspent")(
        "convert(exact_epsilon, exact_delta - reserved)",
        "Fraction(float(exact_epsilon) ** 2 / (4 * __import__('math').log(1 / (exact_delta - reserved))))",
    ),
    "epsilon is read as rho": at("privacy.arguments:as_budget", spelled["epsilon, delta, privacy"], "overspent")(
        "Budget(epsilon=epsilon, delta=delta)", "Budget(rho=epsilon)"
    ),
    "delta is read as its square root": at(
        "privacy.arguments:as_budget", spelled["epsilon, delta, privacy"], "overspent"
    )("Budget(epsilon=epsilon, delta=delta)", "Budget(epsilon=epsilon, delta=str(float(delta) ** 0.5))"),
    "a budget is doubled where it is passed as one": at("privacy.arguments:as_budget", spelled["budget="], "overspent")(
        "return budget", "return Budget(epsilon=2 * budget.epsilon, delta=budget.delta) if budget.delta else budget"
    ),
    "only budgets above epsilon 4 are converted wrongly": at("privacy.budget:Budget.__init__", wide, "overspent")(
        "convert(exact_epsilon, exact_delta - reserved)",
        "convert(exact_epsilon, exact_delta - reserved) * (1 if exact_epsilon <= 4 else Fraction(11, 10))",
    ),
    "budgets of small epsilon get a little more": at("privacy.budget:Budget.__init__", check_budgets, "wrong budget")(
        "convert(exact_epsilon, exact_delta - reserved)",
        "convert(exact_epsilon, exact_delta - reserved) * (1 if exact_epsilon > 1 else Fraction(1001, 1000))",
    ),
    "the relation named by its word is ignored": at(
        "privacy.arguments:relation_of", spelled["neighbours="], "wrong relation"
    )("'add-remove' if relation is None else relation", "'add-remove'"),
    "no relation means substitution": at(
        "privacy.arguments:relation_of", spelled["no relation"], "records counted exactly"
    )("'add-remove' if relation is None else relation", "'replace' if relation is None else relation"),
    "records a person are dropped at the entry": at(
        "privacy.arguments:relation_of", spelled["epsilon, delta, privacy"], "lost user bound"
    )("Privacy(relation.neighbours, stated, person) if person else relation", "Privacy(relation.neighbours)"),
    "records a person are lost between schema and charge": at(
        "privacy.arguments:relation_of", spelled["the schema's number"], "lost user bound"
    )(
        "Privacy('add-remove' if relation is None else relation, stated, person, weight)",
        "Privacy('add-remove' if relation is None else relation)",
    ),
    "records a person are lost where a learner meets the schema": at(
        "privacy.entry:entered",
        partial(
            check_spelling, "learn_private", SPELLED["learn_private"], "the schema's number", [Privacy("replace", 3)]
        ),
        "no release",
    )(
        "PrivateTable(X, relation, ...)",
        "PrivateTable(X, Privacy() if relation is None else Privacy(relation), ...)",
    ),
    "records a person are those of a schema of one record for more than two": at(
        "privacy.arguments:relation_of",
        partial(check_spelling, "aim", SPELLED["aim"], "the schema's number", (SEVERAL,)),
        "lost user bound",
    )("schema is None", "schema is None or schema.records_per_person > 2"),
    "another number of records a person than the schema's is taken": at(
        "privacy.arguments:relation_of", check_refusals, "not refused"
    )("relation.records_per_person != stated", "relation.records_per_person > stated"),
    "the schema of the records is not looked at by the table": at(
        "privacy.counts:schema_of", check_refusals, "not refused"
    )("return schema", "return schema if schema.rules else None"),
    "a release names another relation than its run had": at(
        "reporting.text:ledger_text", spelled["no relation"], "wrong claim"
    )("privacy.neighbours", "'replace'"),
    "a ledger's report names another relation than its run had": at(
        "privacy.ledger:Ledger.snapshot", spelled["epsilon, delta, privacy"], "wrong claim"
    )("self.privacy", "Privacy(self.privacy.neighbours)"),
    "a release drops the last line of its ledger": at(
        "privacy.ledger:Ledger.snapshot", spelled["budget="], "wrong claim"
    )("self.lines", "self.lines[:-1]"),
    "a release claims another epsilon": at("privacy.ledger:Ledger.snapshot", spelled["budget="], "wrong claim")(
        "return LedgerReport(self._budget, X, Y, Z)",
        "half = Budget(epsilon=self._budget.epsilon * 2, delta=self._budget.delta)\n"
        "return LedgerReport(half, X, Y, '')",
    ),
    "thirds of the budget are halves": at("mechanisms._mst:mst", spelled["budget="], "no release")(one_less(1)),
    "a run on several threads counts on the relation of one record a person": at(
        "privacy.entry:entered", spelled["n_threads="], "wrong relation"
    )("one_relation(neighbours, privacy)", "one_relation(neighbours, privacy) if n_threads != 2 else Privacy()"),
}
