"""Releases that are saved or resumed as others than they were."""

from __future__ import annotations

from checks.kept import check_kept
from mutate import Mutant
from operators import instead, one_case, skipped

from pypgm.audit.subjects import SPELLED

RELEASE, RELEASED = "pypgm.release", "pypgm.released"
REPORT, CHARGE = "pypgm.privacy.ledger_report", "pypgm.privacy.charge"


def kept():
    """Return the check of what is kept of the one mechanism there is."""
    return check_kept("mst", SPELLED["mst"])


MUTANTS = [
    Mutant(
        "a resumed ledger opens empty",
        RELEASE,
        "Release.resume",
        skipped(),
        kept,
        "ledger sums",
    ),
    Mutant(
        "a resumed ledger opens with each different line once",
        RELEASE,
        "Release.resume",
        instead("self.ledger.lines", "{line.cost: line for line in self.ledger.lines}.values()"),
        kept,
        "ledger sums",
    ),
    Mutant(
        "a smaller total is taken for the release and all that follows",
        RELEASE,
        "Release.resume",
        instead(
            "budget.limit < granted.limit or budget.reserved_delta < granted.reserved_delta",
            "budget.limit < self.ledger.spent() / 9",
        ),
        kept,
        "not refused",
    ),
    Mutant(
        "reserved delta is not carried into a resumed ledger",
        RELEASE,
        "Release.resume",
        one_case(1),
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
        "Release.resume",
        instead("self.privacy", "type(self.privacy)()"),
        kept,
        "mark lost",
    ),
    Mutant(
        "a release is resumed with records over another domain",
        RELEASE,
        "Release.resume",
        instead("table.domain != self.model.domain", "len(table.domain) > len(self.model.domain)"),
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
        "LedgerReport.from_dict",
        instead("Privacy(**fields['privacy'])", "Privacy(fields['privacy']['neighbours'])"),
        kept,
        "wrong claim",
    ),
    Mutant(
        "a stored ledger loses the last charge",
        REPORT,
        "LedgerReport.from_dict",
        instead("fields['lines']", "fields['lines'][:-1]"),
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
        RELEASED,
        "Released.__post_init__",
        instead("joined_marks([self.ledger, self.model, *self.measurements])", "''"),
        kept,
        "mark lost",
    ),
]
