"""What differential privacy needs: a neighbour relation, a budget, a ledger, exact noise, and one door to the data."""

from __future__ import annotations

from pypgm.privacy.budget import Budget
from pypgm.privacy.charge import Charge
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.pld import pld_epsilon
from pypgm.privacy.relation import Privacy
from pypgm.privacy.zcdp import zcdp_delta, zcdp_epsilon, zcdp_rho

__all__ = ["Budget", "Charge", "Ledger", "Privacy", "pld_epsilon", "zcdp_delta", "zcdp_epsilon", "zcdp_rho"]
