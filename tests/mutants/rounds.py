"""Defects planted in mechanisms that choose round by round."""

from __future__ import annotations

from mutate import Mutant

from pypgm.audit.mechanisms import run_pairs
from pypgm.audit.pairs import neighbour_pairs
from pypgm.audit.subjects import FEWER, LEARNERS
from pypgm.audit.whole import followed
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy


def _followed(name, mechanism):
    pairs = neighbour_pairs((Privacy(),))
    return followed("mutant", name, [run_pairs("rounds", mechanism, Budget(rho=2), pairs)])


def rounds():
    """Follow AIM on tables of pairs."""
    return _followed("aim", FEWER["aim"])


def beside_public():
    """Follow JAM on tables of pairs."""
    return _followed("jam", FEWER["jam"])


def equal_rounds():
    """Follow MWEM on tables of pairs."""
    return _followed("mwem", LEARNERS["mwem"])


_RECORDS = "_PrivateTable__data"  # behind the door, where no mechanism looks

AIM = "pypgm.mechanisms._aim"
JAM = "pypgm.mechanisms._jam"
MWEM = "pypgm.mechanisms._mwem"

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
    Mutant(
        "the number of rounds follows the number of records",
        MWEM,
        "n_rounds = min(rounds, len(self.questions))",
        f"n_rounds = min(rounds, 1 + self.run.table.{_RECORDS}.n_records % 2)",
        equal_rounds,
        "path depends on the data",
    ),
    Mutant(
        "the first model has as many records as there are",
        MWEM,
        "self.model = self.run.estimate(self.measured)\n        self.selector",
        f"self.run.total = self.run.table.{_RECORDS}.n_records; "
        "self.model = self.run.estimate(self.measured)\n        self.selector",
        equal_rounds,
        "records counted exactly",
    ),
    Mutant(
        "both distances of a public table count as one",
        JAM,
        "_CHANGES = 2 ",
        "_CHANGES = 1 ",
        beside_public,
        "score sensitivity",
    ),
    Mutant(
        "what public tables are scaled to is the exact number of records",
        JAM,
        "self.total = self.model.total",
        f"self.total = float(table.{_RECORDS}.n_records)",
        beside_public,
        "records counted exactly",
    ),
]
