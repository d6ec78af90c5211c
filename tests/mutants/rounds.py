"""Defects planted in mechanisms that choose round by round."""

from __future__ import annotations

from mutate import Mutant

from pypgm.audit.mechanisms import run_pairs
from pypgm.audit.pairs import neighbour_pairs
from pypgm.audit.subjects import FEWER
from pypgm.audit.whole import followed
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy


def rounds():
    """Follow AIM on tables of pairs."""
    pairs = neighbour_pairs((Privacy(),))
    return followed("mutant", "aim", [run_pairs("rounds", FEWER["aim"], Budget(rho=2), pairs)])


_RECORDS = "_PrivateTable__data"  # behind the door, where no mechanism looks

AIM = "pypgm.mechanisms._aim"

MUTANTS = [
    Mutant(
        "the choices of rounds are charged to another ledger",
        AIM,
        "self.selector = table.l1_selector(",
        f"table = type(table)(table.{_RECORDS}, table.privacy, type(table.ledger)(table.ledger.budget)); "
        "self.selector = table.l1_selector(",
        rounds,
        "overspent",
    ),
    Mutant(
        "what a round has learnt is told from the exact counts",
        AIM,
        "np.abs(self._answer(clique) - before)",
        f"np.abs(getattr(table, '{_RECORDS}').project(clique).datavector() - before)",
        rounds,
        "read before the charge",
    ),
]
