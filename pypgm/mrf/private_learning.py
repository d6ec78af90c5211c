"""Markov random fields learned from records under differential privacy, and the common part of their learners."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, TypedDict

from pypgm._base.numeric import checked_integer, checked_real
from pypgm.domain import Domain
from pypgm.estimation import LinearMeasurement
from pypgm.estimation.limits import LIMIT_DEFAULTS
from pypgm.mrf.field import MarkovRandomField
from pypgm.mrf.field_release import FieldRelease
from pypgm.mrf.frank_wolfe import MOST_STEPS, FrankWolfe, Regressions
from pypgm.mrf.regression_plans import Plan, ising_plan, pairwise_plan, t_wise_plan
from pypgm.mrf.sample_size import excess_risk, frank_wolfe_steps
from pypgm.privacy.arguments import draws_budget
from pypgm.privacy.budget import Budget
from pypgm.privacy.entry import Entry, Handed, PrivateOptions
from pypgm.privacy.private_table import Counts, PrivateTable
from pypgm.privacy.rational import Number
from pypgm.privacy.tables import takes_any_table

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from pypgm.data.sources.frames import Frame


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
        super().__init__(name, data, epsilon, delta, options, limits=_FieldLimits, budget_of=draws_budget)

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
        return self.table.measure_total(variance=self.table.ledger.variance_of(amount, records**2))


def default_steps(plan: Plan, amounts: list[Fraction], total: float, *, pure: bool) -> int:
    """Return the steps that make the excess risk least, between 10 and 2000; see `frank_wolfe_steps`."""
    if not plan.nodes:
        return _FEWEST_STEPS
    wanted = frank_wolfe_steps(total, len(plan.features), plan.radius, float(_part(plan, amounts)), pure=pure)
    return max(_FEWEST_STEPS, math.ceil(min(wanted, _MOST_STEPS)))


def _part(plan: Plan, amounts: list[Fraction]) -> Fraction:
    """Return the smallest share of the budget of a regression."""
    return min(amount / node.composed for amount, node in zip(amounts, plan.nodes, strict=True))


@takes_any_table(FieldOptions, LIMIT_DEFAULTS)
def learn_ising(
    data: Counts | PrivateTable | Frame,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    radius: float,
    steps: int | None = None,
    **options: Unpack[FieldOptions],
) -> FieldRelease:
    r"""Release an Ising model: the couplings and fields of binary attributes.

    Each attribute has one logistic regression on the signs of all others and an intercept, with
    :math:`\|w\|_1 \le 2 \lambda`, solved by private Frank-Wolfe with an equal part of the budget; halved, its weights
    are the couplings and the field, and both directions of a coupling are averaged. A hundredth of the budget
    measures the number of records, if it is private.

    Parameters
    ----------
    data : Dataset, PrivateTable, or any table with `schema`
        Unweighted records of attributes with two values, possibly none; or a private table, whose budget, relation and
        seed apply, and which stays open. Steps need the records: an Ibis table, which can only count them, is refused,
        as are open columns, whose number of values is not known yet.
    radius : float
        :math:`\lambda`, public: at least the width of the model, the largest sum of a node's absolute couplings and its
        absolute field. A smaller one shrinks the weights, a larger one adds noise.
    epsilon, delta : number
        The guarantee; a float means its shortest decimal. Without `delta` it is pure.
    steps : int, optional
        Number of steps of each regression, chosen without looking at the data. By default
        :math:`(\lambda' n \sqrt\rho / \log 2q)^{2/3}`, between 10 and 2000, with q features, :math:`\rho` of one
        regression and n the (noisy) number of records; under a pure budget
        :math:`(\lambda' n \varepsilon / \log 2q)^{1/2}`.
    **options
        `budget`, instead of epsilon and delta, and all others of `pypgm.privacy.PrivateOptions`; `progress` and
        `n_threads` of `pypgm.estimation.Limits`.

    Returns
    -------
    FieldRelease
        Its model is a `MarkovRandomField`.

    Raises
    ------
    ValueError
        If an attribute does not have two values, the domain has no attributes, a number is out of range, or the records
        are weighted.
    BudgetError
        If all of the budget of an open table was spent.
    TypeError
        If the budget or the relation is given twice or not at all, or a table has only counts and no records. All of
        these are raised before anything is spent.

    References
    ----------
    H. Zhang, G. Kamath, J. Kulkarni, Z. S. Wu, Privately Learning Markov Random Fields, ICML 2020.

    Examples
    --------
    >>> from pypgm import CliqueVector, Domain
    >>> from pypgm.mrf import sample
    >>> ising = CliqueVector(Domain({"a": 2, "b": 2}), [("a", "b")], [0.4, -0.4, -0.4, 0.4])
    >>> release = learn_ising(sample(ising, 100_000, rng=0).data, epsilon=2.0, delta=1e-9, radius=1.0)
    >>> bool(abs(release.model.strengths()[0, 1] - 0.4) < 0.1)
    True
    """
    width = checked_real("radius", radius)
    run = FieldRun("mrf.learn_ising", data, epsilon, delta, options)
    return run.learn(ising_plan(run.domain, width), steps)


@takes_any_table(FieldOptions, LIMIT_DEFAULTS)
def learn_pairwise(
    data: Counts | PrivateTable | Frame,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    radius: float,
    steps: int | None = None,
    **options: Unpack[FieldOptions],
) -> FieldRelease:
    r"""Release a pairwise Markov random field of attributes with any number of values.

    Each two codes of an attribute have one logistic regression on the records that have one of them: which of the two
    it is, from indicators of the other attributes' codes, with :math:`\|w\|_1 \le 2 k \lambda` and k the largest
    number of values. A record takes part in k - 1 of an attribute's regressions, so that each costs that part of the
    attribute's budget, not one of k (k - 1) / 2. Weights are read in the centred gauge, and both directions of a pair
    are averaged. Attributes of two values only are learned as an Ising model, which is the same.

    Parameters
    ----------
    data, epsilon, delta, steps, **options
        See `learn_ising`; attributes have up to 256 values, and columns may be open.
    radius : float
        :math:`\lambda`, public: at least the width of the model, the largest sum over a node's pairs of their largest
        absolute weight, and its largest absolute field.

    Returns
    -------
    FieldRelease
        Its model is a `MarkovRandomField`.

    Raises
    ------
    ValueError
        If an attribute has more than 256 values, the domain has no attributes, a number is out of range, or the records
        are weighted.
    TypeError
        As in `learn_ising`.

    References
    ----------
    H. Zhang, G. Kamath, J. Kulkarni, Z. S. Wu, Privately Learning Markov Random Fields, ICML 2020.

    Examples
    --------
    >>> from pypgm import Dataset, Domain
    >>> data = Dataset({"a": [0, 1, 2] * 9000, "b": [0, 1, 2] * 9000}, Domain({"a": 3, "b": 3}))
    >>> release = learn_pairwise(data, epsilon=4.0, delta=1e-9, radius=2.0)
    >>> bool(release.model.query(["a", "b"]).values.diagonal().sum() > 0.5)
    True
    """
    width = checked_real("radius", radius)
    run = FieldRun("mrf.learn_pairwise", data, epsilon, delta, options)
    return run.learn(pairwise_plan(run.domain, width), steps)


@takes_any_table(FieldOptions, LIMIT_DEFAULTS)
def learn_t_wise(
    data: Counts | PrivateTable | Frame,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    radius: float,
    order: int,
    steps: int | None = None,
    **options: Unpack[FieldOptions],
) -> FieldRelease:
    r"""Release a binary Markov random field with interactions of up to `order` attributes.

    The log-density is a multilinear polynomial h of the signs. Each attribute has one logistic regression on the
    products of up to order - 1 signs of others, with :math:`\|w\|_1 \le 2 \lambda`, whose weights are twice the
    derivative of h; a coefficient is the mean over its attributes.

    Parameters
    ----------
    data, epsilon, delta, steps, **options
        See `learn_ising`.
    radius : float
        :math:`\lambda`, public: at least the largest sum of the absolute coefficients of h that share an attribute.
    order : int
        Largest number of attributes that interact, at least 1; 2 is an Ising model.

    Returns
    -------
    FieldRelease
        Its model is a `MarkovRandomField`.

    Raises
    ------
    ValueError
        If an attribute does not have two values, there are more than 65,536 products of signs, or as in `learn_ising`.
    TypeError
        As in `learn_ising`.

    References
    ----------
    H. Zhang, G. Kamath, J. Kulkarni, Z. S. Wu, Privately Learning Markov Random Fields, ICML 2020.

    Examples
    --------
    >>> from pypgm import CliqueVector, Domain
    >>> from pypgm.mrf import sample
    >>> domain = Domain({"a": 2, "b": 2, "c": 2})
    >>> parity = CliqueVector(domain, [("a", "b", "c")], [-0.5, 0.5, 0.5, -0.5, 0.5, -0.5, -0.5, 0.5])
    >>> release = learn_t_wise(sample(parity, 100_000, rng=0).data, epsilon=2.0, delta=1e-9, radius=1.0, order=3)
    >>> bool(abs(release.model.strengths()[0, 2] - 0.5) < 0.2)
    True
    """
    most = checked_integer("order", order, 1)
    width = checked_real("radius", radius)
    run = FieldRun("mrf.learn_t_wise", data, epsilon, delta, options)
    return run.learn(t_wise_plan(run.domain, width, most), steps)
