"""Releases that are saved or resumed as others than they were."""

from __future__ import annotations

from checks.kept import check_kept
from mutate import at
from operators import not_kept, one_case, skipped

from pypgm.audit.subjects import SPELLED


def kept():
    """Return the check of what is kept of the one mechanism there is."""
    return check_kept("mst", SPELLED["mst"])


MUTANTS = {
    "a resumed ledger opens empty": at("release:Release.resume", kept, "ledger sums")(skipped()),
    "a resumed ledger opens with each different line once": at("release:Release.resume", kept, "ledger sums")(
        "self.ledger.lines", "{line.cost: line for line in self.ledger.lines}.values()"
    ),
    "a smaller total is taken for the release and all that follows": at("release:Release.resume", kept, "not refused")(
        "budget.limit < granted.limit or budget.reserved_delta < granted.reserved_delta",
        "budget.limit < self.ledger.spent() / 9",
    ),
    "reserved delta is not carried into a resumed ledger": at("release:Release.resume", kept, "not refused")(
        one_case(3)
    ),
    "a resumed ledger forgets that its release is not private": at("release:Release.resume", kept, "mark lost")(
        "if self.not_private:\n    ...", ""
    ),
    "a release is resumed under another relation": at("release:Release.resume", kept, "mark lost")(
        "PrivateTable(data, self.privacy, ledger, account=run, **how)",
        "PrivateTable(data, type(self.privacy)(), ledger, account=run, **how)",
    ),
    "a release is resumed with records over another domain": at("release:Release.resume", kept, "not refused")(
        "table.domain != self.model.domain", "len(table.domain) > len(self.model.domain)"
    ),
    "a stored ledger loses its mark": at("privacy.ledger_report:LedgerReport.to_dict", kept, "mark lost")(
        "{'not_private': self.not_private}", "{}"
    ),
    "a stored ledger loses its records a person": at(
        "privacy.ledger_report:LedgerReport.from_dict", kept, "wrong claim"
    )("Privacy(**fields['privacy'])", "Privacy(fields['privacy']['neighbours'])"),
    "a stored ledger loses the last charge": at("privacy.ledger_report:LedgerReport.from_dict", kept, "wrong claim")(
        "fields['lines']", "fields['lines'][:-1]"
    ),
    "a stored budget loses its reserved delta": at("privacy.budget:Budget.arguments", kept, "wrong claim")(not_kept()),
    "a stored charge loses the part it was made in": at("privacy.charge:Charge.to_dict", kept, "wrong claim")(
        "{'within': self.within}", "{}"
    ),
    "a release's model is not marked": at("released:Released.__post_init__", kept, "mark lost")(
        "joined_marks([self.ledger, self.model, *self.measurements])", "''"
    ),
}
