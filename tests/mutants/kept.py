"""Releases that are saved or resumed as others than they were."""

from __future__ import annotations

from mutate import Mutant

from pypgm.audit.kept import check_kept
from pypgm.audit.subjects import SPELLED

RELEASE, REPORT, CHARGE = "pypgm.release", "pypgm.privacy.ledger_report", "pypgm.privacy.charge"


def kept():
    """Return the check of what is kept of the one mechanism there is."""
    return check_kept("mst", SPELLED["mst"])


MUTANTS = [
    Mutant(
        "a resumed ledger opens empty",
        RELEASE,
        "            ledger.charge(line.what, line.on, line.law, within=within)",
        "            pass",
        kept,
        "ledger sums",
    ),
    Mutant(
        "a resumed ledger opens with each different line once",
        RELEASE,
        "        for line in self.ledger.lines:\n",
        "        for line in {line.cost: line for line in self.ledger.lines}.values():\n",
        kept,
        "ledger sums",
    ),
    Mutant(
        "a smaller total is taken for the release and all that follows",
        RELEASE,
        "        if budget.limit < granted.limit or budget.reserved_delta < granted.reserved_delta:\n",
        "        if budget.limit < self.ledger.spent() / 9:\n",
        kept,
        "not refused",
    ),
    Mutant(
        "reserved delta is not carried into a resumed ledger",
        RELEASE,
        "        if budget.limit < granted.limit or budget.reserved_delta < granted.reserved_delta:\n",
        "        if budget.limit < granted.limit:\n",
        kept,
        "not refused",
    ),
    Mutant(
        "a resumed ledger forgets that its release is not private",
        RELEASE,
        "        if self.not_private:\n            ledger.mark_not_private(self.not_private)\n",
        "",
        kept,
        "mark lost",
    ),
    Mutant(
        "a release is resumed under another relation",
        RELEASE,
        "PrivateTable(data, self.privacy, ledger,",
        "PrivateTable(data, Privacy(), ledger,",
        kept,
        "mark lost",
    ),
    Mutant(
        "a release is resumed with records over another domain",
        RELEASE,
        "        if table.domain != self.model.domain:\n",
        "        if len(table.domain) > len(self.model.domain):\n",
        kept,
        "not refused",
    ),
    Mutant(
        "a stored ledger loses its mark",
        REPORT,
        '            **({"not_private": self.not_private} if self.not_private else {}),\n',
        "",
        kept,
        "mark lost",
    ),
    Mutant(
        "a stored ledger loses its records a person",
        REPORT,
        '            privacy = Privacy(**stored["privacy"]) if "privacy" in stored else None',
        '            privacy = Privacy(stored["privacy"]["neighbours"]) if "privacy" in stored else None',
        kept,
        "wrong claim",
    ),
    Mutant(
        "a stored ledger loses the last charge",
        REPORT,
        '            lines = [Charge.from_dict(line) for line in stored["lines"]]',
        '            lines = [Charge.from_dict(line) for line in stored["lines"][:-1]]',
        kept,
        "wrong claim",
    ),
    Mutant(
        "a stored budget loses its reserved delta",
        "pypgm.privacy.budget",
        '        named["reserved_delta"] = self.reserved_delta\n',
        "",
        kept,
        "wrong claim",
    ),
    Mutant(
        "a stored charge loses the part it was made in",
        CHARGE,
        '            **({"within": self.within} if self.within else {}),\n',
        "",
        kept,
        "wrong claim",
    ),
    Mutant(
        "a release's model is not marked",
        RELEASE,
        "        self.model.not_private = joined_marks([self.ledger, self.model, *self.measurements])",
        "        self.model.not_private = ''",
        kept,
        "mark lost",
    ),
]
