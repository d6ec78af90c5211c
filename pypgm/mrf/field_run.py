"""Common part of private learners of fields: a budget, a private table, and the shares of the budget."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypedDict

from pypgm._base.numeric import checked_integer
from pypgm.domain import Domain
from pypgm.estimation import LinearMeasurement
from pypgm.mrf.field import MarkovRandomField
from pypgm.mrf.field_release import FieldRelease
from pypgm.mrf.frank_wolfe import MOST_STEPS, FrankWolfe, Regressions
from pypgm.mrf.regression_plans import Plan
from pypgm.mrf.sample_size import excess_risk, frank_wolfe_steps
from pypgm.privacy.budget import Budget
from pypgm.privacy.entry import Entry, Handed, PrivateOptions
from pypgm.privacy.private_table import Counts, PrivateTable
from pypgm.privacy.rational import Number

_TOTAL = Fraction(1, 100)  # of the budget, for a private number of records
_FEWEST_STEPS, _MOST_STEPS = 10, 2000


class _FieldLimits(TypedDict, total=False):
    """Limits that learning a field takes; its steps are counted beforehand."""

    progress: bool
    n_threads: int


class FieldOptions(PrivateOptions, _FieldLimits, total=False):
    """Keywords of every learner of a field; `progress` and `n_threads` as in `pypgm.estimation.Limits`."""


class FieldRun(Entry):
    """The table and the budget of one call of a learner of fields."""

    def __init__(
        self,
        name: str,
        data: Counts | PrivateTable | Handed,
        epsilon: Number | None,
        delta: Number | None,
        options: FieldOptions,
    ) -> None:
        super().__init__(name, data, epsilon, delta, options, limits=_FieldLimits)

    @property
    def domain(self) -> Domain:
        """Attributes and sizes."""
        return self.table.domain

    def learn(self, plan: Plan, steps: int | None) -> FieldRelease:
        """Spend the budget: a hundredth on the total if it is private, equal parts of the rest on all nodes."""
        wanted = None if steps is None else checked_integer("steps", steps, 1)
        FrankWolfe(self.table, Regressions(plan.features, plan.nodes, plan.radius, wanted or MOST_STEPS))  # as a check
        budget = self.table.ledger.remaining()
        measured = [] if self.table.public_total is not None else [self._measured_total(budget * _TOTAL)]
        total = self.table.public_total if not measured else max(0, int(measured[0].values[0]))
        amounts = [self.table.ledger.remaining() / len(plan.nodes) for _ in plan.nodes]
        n_steps = wanted or default_steps(plan, amounts, float(total or 0), pure=self._pure)
        regressions = Regressions(plan.features, plan.nodes, plan.radius, n_steps)
        weights = FrankWolfe(self.table, regressions).solve(amounts) if plan.nodes else []
        self.close()
        model = MarkovRandomField(plan.read(weights), float(total or 0))
        facts = self._facts(plan, amounts, n_steps, float(total or 0)) if plan.nodes else {}
        return self.issued(FieldRelease, model, measured, options=facts)

    def _facts(self, plan: Plan, amounts: list[Fraction], n_steps: int, total: float) -> dict[str, float]:
        """Return facts on the regressions for the release: their steps, and a bound on their excess risk."""
        part = _part(plan, amounts)
        budget = Budget(epsilon=part) if self._pure else Budget(rho=part)
        risk = excess_risk(max(total, 1.0), len(plan.features), plan.radius, budget, steps=n_steps)
        return {"radius": plan.radius, "steps": n_steps, "excess_risk": risk}

    @property
    def _pure(self) -> bool:
        return self.table.ledger.budget.unit == "epsilon"

    def _measured_total(self, amount: Fraction) -> LinearMeasurement:
        """Measure the number of records with Gaussian noise, or with Laplace noise under a pure budget."""
        records = self.table.privacy.records_per_person
        if self._pure:
            return self.table.measure_total(scale=Fraction(records) / amount)
        return self.table.measure_total(variance=Fraction(records**2) / (2 * amount))


def default_steps(plan: Plan, amounts: list[Fraction], total: float, *, pure: bool) -> int:
    """Return the steps that make the excess risk least, between 10 and 2000; see `frank_wolfe_steps`."""
    if not plan.nodes:
        return _FEWEST_STEPS
    wanted = frank_wolfe_steps(total, len(plan.features), plan.radius, float(_part(plan, amounts)), pure=pure)
    return max(_FEWEST_STEPS, math.ceil(min(wanted, _MOST_STEPS)))


def _part(plan: Plan, amounts: list[Fraction]) -> Fraction:
    """Return the smallest share of the budget of a regression."""
    return min(amount / node.composed for amount, node in zip(amounts, plan.nodes, strict=True))
