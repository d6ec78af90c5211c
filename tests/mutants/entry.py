"""Mechanisms that enter with another budget or relation than was asked for."""

from __future__ import annotations

from functools import partial

from mutate import Mutant

from pypgm.audit.budgets import check_budgets
from pypgm.audit.shapes import SHAPES, check_shapes
from pypgm.audit.spellings import check_spelling
from pypgm.audit.subjects import MECHANISMS, SPELLED
from pypgm.privacy import Privacy

BUDGET, ARGUMENTS = "pypgm.privacy.budget", "pypgm.privacy.arguments"
MST, RUN = "pypgm.mechanisms._mst", "pypgm.mechanisms.run"
REPLACE = (Privacy("replace"),)
spelled = {
    name: partial(check_spelling, "mst", SPELLED["mst"], name, privacies)
    for name, privacies in (
        ("epsilon, delta, privacy", (Privacy("replace", 2),)),
        ("budget=", REPLACE),
        ("reserved_delta=", REPLACE),
        ("neighbours=", REPLACE),
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
        "return Privacy() if neighbours is None else Privacy(neighbours)",
        "return Privacy()",
        spelled["neighbours="],
        "wrong relation",
    ),
    Mutant(
        "no relation means substitution",
        ARGUMENTS,
        "return Privacy() if neighbours is None else Privacy(neighbours)",
        "return Privacy('replace' if neighbours is None else neighbours)",
        spelled["no relation"],
        "records counted exactly",
    ),
    Mutant(
        "records a person are dropped at the entry",
        ARGUMENTS,
        "    return privacy\n",
        "    return Privacy(privacy.neighbours)\n",
        spelled["epsilon, delta, privacy"],
        "lost user bound",
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
        "            relation = as_privacy(neighbours, privacy)\n",
        "            relation = as_privacy(neighbours, privacy) if n_threads != 2 else Privacy()\n",
        spelled["n_threads="],
        "wrong relation",
    ),
]
