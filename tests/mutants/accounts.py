"""Accounts that lose count: what is reserved, settled or resumed is wrong in one place."""

from __future__ import annotations

from mutate import at
from operators import never
from selfcheck.accounts import check_accounts

MUTANTS = {
    "an account never refuses a run": at("privacy.account_rows:check_left", check_accounts, "overdrawn ledger")(
        "amount <= left", "True"
    ),
    "what a run reserves is compared as a float": at(
        "privacy.account_rows:check_left", check_accounts, "overdrawn ledger"
    )("amount <= left", "float(amount) <= float(left)"),
    "open runs hold only what they charged": at("privacy.account_rows:AccountRun.taken", check_accounts, "ledger sums")(
        "self.is_settled", "True"
    ),
    "a settled run gives back what it charged": at(
        "privacy.account_rows:AccountRun.taken", check_accounts, "ledger sums"
    )("self.spent", "Fraction(0)"),
    "a settled run gives back the delta that it charged": at(
        "privacy.account_rows:AccountRun.taken", check_accounts, "overdrawn ledger"
    )("self.spent_delta", "Fraction(0)"),
    "a run charges more than it reserved": at(
        "privacy.account_run:Reservation.enter", check_accounts, "overdrawn ledger"
    )("cost > X", "False"),
    "a run charges more delta than it reserved": at(
        "privacy.account_run:Reservation.enter", check_accounts, "overdrawn ledger"
    )("delta > X", "False"),
    "a run charges after it was settled": at(
        "privacy.account_run:Reservation._amounts", check_accounts, "overdrawn ledger"
    )("f\"{statement} WHERE run = ? AND token = ? AND state = 'open'\"", 'f"{statement} WHERE run = ? OR token = ?"'),
    "lines are not entered in an account": at("privacy.ledger:Ledger._charge", check_accounts, "uncharged draw")(
        "(self._observer or the_observer()).entering(self, lines)", "None"
    ),
    "what a run charged before is forgotten": at(
        "privacy.account_run:Reservation.enter", check_accounts, "overdrawn ledger"
    )("[charged, *X]", "[*X]"),
    "a run that a person settled stays open": at("privacy.account:Account.settle", check_accounts, "ledger sums")(
        "\"UPDATE account_runs SET state = 'settled', token = '' WHERE run = ?\"",
        "'UPDATE account_runs SET token = token WHERE run = ?'",
    ),
    "a resumed release reserves nothing": at("privacy.account:Account.reserve", check_accounts, "second budget")(
        "price(X, Y, Z, earlier[0])", "price(X, Y, Z, earlier[0]) if not earlier[0] else Fraction(0)"
    ),
    "a release is resumed in another account for nothing": at(
        "privacy.account_use:resumed", check_accounts, "second budget"
    )("not is_there and ledger.lines", "False"),
    "an account takes other neighbours": at("privacy.account_rows:AccountHead.check", check_accounts, "mark lost")(
        never()
    ),
    "an account takes other persons": at("privacy.account_rows:AccountHead.check", check_accounts, "mark lost")(
        "columns is not None and privacy.person != columns", "False"
    ),
    "an account takes fewer records a person": at(
        "privacy.account_rows:AccountHead.check", check_accounts, "mark lost"
    )("privacy.records_per_person < X", "False"),
}
