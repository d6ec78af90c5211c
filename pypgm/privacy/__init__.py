"""Differential privacy: neighbour relations, budgets, ledgers, exact noise, and access to records that is charged."""

from __future__ import annotations

from pypgm.privacy.account import Account, AccountRun
from pypgm.privacy.account_entry import AccountEntry
from pypgm.privacy.account_run import Reservation
from pypgm.privacy.budget import Budget
from pypgm.privacy.charge import Charge
from pypgm.privacy.entry import PrivateOptions
from pypgm.privacy.l1_selector import L1Selector
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.ledger_report import LedgerReport, dp_events
from pypgm.privacy.pld import realised_pld_epsilon
from pypgm.privacy.private_column import PrivateColumn, sparse_histogram
from pypgm.privacy.private_table import PrivateTable, RealAnswers, measure_real
from pypgm.privacy.quantiles import private_bounds, private_quantiles
from pypgm.privacy.relation import Privacy
from pypgm.privacy.selector import Screen, Selector, StatedSelector
from pypgm.privacy.settling import settle
from pypgm.privacy.zcdp import zcdp_delta, zcdp_epsilon, zcdp_rho

__all__ = [
    "Account",
    "AccountEntry",
    "AccountRun",
    "Budget",
    "Charge",
    "L1Selector",
    "Ledger",
    "LedgerReport",
    "Privacy",
    "PrivateColumn",
    "PrivateOptions",
    "PrivateTable",
    "RealAnswers",
    "Reservation",
    "Screen",
    "Selector",
    "StatedSelector",
    "dp_events",
    "measure_real",
    "private_bounds",
    "private_quantiles",
    "realised_pld_epsilon",
    "settle",
    "sparse_histogram",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_rho",
]
