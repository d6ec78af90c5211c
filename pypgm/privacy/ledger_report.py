"""Reports of ledgers: budget, relation and charges, to which nothing can be charged."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pypgm._base.fields import check_fields
from pypgm._base.html import Shown
from pypgm._base.terminal import escaped
from pypgm.errors import BudgetError
from pypgm.files.format import LEDGER
from pypgm.privacy.budget import Budget, check_new, own_budget, short
from pypgm.privacy.charge import Charge, copies, fixed_amount
from pypgm.privacy.gdp import gdp_epsilon
from pypgm.privacy.losses import response_losses
from pypgm.privacy.rational import Number, as_fraction, exact_sum
from pypgm.privacy.relation import Privacy
from pypgm.privacy.zcdp import zcdp_epsilon

if TYPE_CHECKING:
    from dp_accounting import DpEvent


_LONGEST = 40  # characters of a fraction that is shown exactly

_Entry = tuple[str, str, str, Fraction]


class LedgerReport(Shown):
    """The budget, the relation and the charges of a ledger; it cannot be charged.

    A finished release holds one, and a copy, a pickle or a file of a ledger gives one: a budget is spent once.

    Parameters
    ----------
    budget : Budget
        The most that could be charged.
    lines : sequence of Charge
        The charges, in the order they came.
    privacy : Privacy, optional
        The neighbour relation they were made for.
    not_private : str
        Reason why they protect nobody; empty if they protect.

    Raises
    ------
    BudgetError
        If the lines overdraw the budget.
    ValueError
        If a line is in another unit.
    TypeError
        If an argument is of the wrong type.

    Examples
    --------
    >>> from pypgm.privacy.laws import DiscreteGaussian
    >>> line = Charge("measure", "(age)", DiscreteGaussian(variance=2, squared_sensitivity=1))
    >>> LedgerReport(Budget(rho=1), [line]).remaining()
    Fraction(3, 4)
    """

    __slots__ = ("_budget", "_lines", "_not_private", "_privacy")

    _budget: Budget
    _lines: Sequence[Charge]
    _privacy: Privacy | None
    _not_private: str

    def __init__(
        self, budget: Budget, lines: Sequence[Charge] = (), privacy: Privacy | None = None, not_private: str = ""
    ) -> None:
        check_new(self, "_budget")
        self._budget = own_budget(budget)
        self._lines = tuple(_checked_lines(list(lines), self._budget))
        self._privacy = privacy
        self._not_private = str(not_private)
        cost, fails = exact_sum(line.cost for line in self._lines), exact_sum(line.delta for line in self._lines)
        if cost > budget.limit or fails > budget.reserved_delta:
            raise BudgetError(f"the lines of a stored ledger cost more than {budget!r}")

    @property
    def budget(self) -> Budget:
        """The budget of the ledger."""
        return self._budget

    @property
    def privacy(self) -> Privacy | None:
        """The neighbour relation that the charges assume; None where no table has named it."""
        return self._privacy

    @property
    def not_private(self) -> str:
        """The reason why the charges protect nobody; empty if they protect."""
        return self._not_private

    @property
    def lines(self) -> tuple[Charge, ...]:
        """The charges, in the order they came."""
        return tuple(self._lines)

    def spent(self) -> Fraction:
        """Return the sum of the charges, in the budget's unit."""
        return exact_sum(line.cost for line in self.lines)

    def spent_delta(self) -> Fraction:
        """Return the sum of the probabilities of failure that were charged."""
        return exact_sum(line.delta for line in self.lines)

    def remaining(self) -> Fraction:
        """Return the uncharged part of the budget, in its unit."""
        return self._budget.limit - self.spent()

    def remaining_delta(self) -> Fraction:
        """Return the uncharged part of the budget's `reserved_delta`."""
        return self._budget.reserved_delta - self.spent_delta()

    def report(self, most: int | None = None) -> str:
        """Return a table of the charges, one per line, and the sum.

        Parameters
        ----------
        most : int, optional
            Largest number of lines, kept for the largest costs; equal charges then share one line with their number.
        """
        entries = [(*_described(line), line.cost) for line in self.lines]
        entries = entries if most is None else _shortened(entries, most)
        rows: list[tuple[str, str, str, str]] = [("what", "on", "noise", self._budget.unit)]
        rows += [(what, on, noise, short(cost)) for what, on, noise, cost in entries]
        left = f"{short(self.remaining())} left" + self._allocated()
        left += f"; delta {short(self.spent_delta())} spent" if self.spent_delta() else ""
        rows.append(("spent", f"of {self._budget!r}", left, short(self.spent())))
        if self.not_private:
            rows.append(("not private", escaped(self.not_private), "", ""))
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)

    def _allocated(self) -> str:
        return ""

    def epsilon(self, delta: Number | None = None) -> float:
        """Return the guarantee: an epsilon for which all that the budget allows is (epsilon, delta)-DP, rounded up.

        The guarantee holds however the steps, parameters and end of a mechanism depend on earlier answers, because the
        ledger refuses any charge beyond its budget.

        Parameters
        ----------
        delta : number, optional
            In [0, 1); by default the budget's own, or under a pure budget the delta it reserves for failures.

        Raises
        ------
        ValueError
            If no delta is named, or it leaves nothing after the budget's `reserved_delta`.

        Examples
        --------
        >>> report = LedgerReport(Budget(epsilon=1, delta=1e-9))
        >>> report.epsilon(), report.realised_epsilon()
        (1.0, 0.0)
        """
        budget = self._budget
        if delta is None and budget.epsilon is not None:
            return upward(budget.epsilon)
        return _converted(budget, budget.limit, budget.reserved_delta, delta)

    def realised_epsilon(self, delta: Number | None = None) -> float:
        """Return the epsilon of the amount spent, rounded up; the guarantee is `epsilon`.

        The amount spent is a guarantee if the laws of all steps, their order and the end were fixed beforehand. If an
        earlier answer decided on one of these, the amount spent is itself an answer, and only the budget's guarantee
        is proven. Probabilities of failure are subtracted from delta first. In Gaussian differential privacy the amount
        is that of the steps alone: what is left made them cost less, as noise to come, and may never be spent.

        Raises
        ------
        ValueError
            If no delta is named, or it leaves nothing after what was charged in probabilities of failure.
        """
        amount = self.spent()
        if self._budget.accounting == "gdp":
            amount = min(self._budget.limit, fixed_amount(self.lines))
        return _converted(self._budget, amount, self.spent_delta(), delta)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that `from_dict` takes: text, numbers and lists only, rationals as "a/b"."""
        named = {} if self.privacy is None else self.privacy.to_dict()
        return {
            **({"not_private": self.not_private} if self.not_private else {}),
            **({"privacy": named} if named else {}),
            "budget": {name: str(value) for name, value in self._budget.arguments().items()}
            | ({"accounting": "gdp"} if self._budget.accounting == "gdp" else {}),
            "lines": [line.to_dict() for line in self.lines],
        }

    @staticmethod
    def from_dict(fields: Mapping[str, Any]) -> LedgerReport:
        """Return the report of the ledger that `to_dict` described; every cost is computed again.

        Raises
        ------
        BudgetError
            If the lines overdraw the budget.
        ValueError
            If a field is missing or not a number, or a cost is not that of its line.
        """
        try:
            check_fields(fields, LEDGER, "ledger")
        except ValueError as error:
            raise ValueError(f"not a stored ledger: {error}") from None
        try:
            lines = [Charge.from_dict(line) for line in fields["lines"]]
            privacy = Privacy(**fields["privacy"]) if "privacy" in fields else None
            budget = _stored_budget(fields["budget"])
            return LedgerReport(budget, lines, privacy, fields.get("not_private", ""))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a stored ledger: {error!r}") from error

    def __reduce__(self) -> tuple[Callable[..., LedgerReport], tuple[dict[str, Any]]]:
        return (LedgerReport.from_dict, (self.to_dict(),))

    def __str__(self) -> str:
        return self.report()

    def __repr__(self) -> str:
        unit = self._budget.unit
        spent = f"{len(self.lines)} charges, {unit} {short(self.spent())} spent"
        return f"{type(self).__name__}({self._budget!r}: {spent}{', not private' if self.not_private else ''})"


def _described(line: Charge) -> tuple[str, str, str]:
    """Return the step of a charge, the object it is on, and its law, as texts."""
    what = f"{line.within}: {line.what}" if line.within else line.what
    return escaped(what), escaped(line.on), law_text(line, short)


def exact_text(value: Fraction) -> str:
    """Return a rational exactly if that is short, else to six digits."""
    text = str(value)
    return text if len(text) <= _LONGEST else f"about {short(value)}"


def law_text(line: Charge, number: Callable[[Fraction], str] = exact_text) -> str:
    """Return the law of a draw and its parameters, by default exactly if that is short.

    Examples
    --------
    >>> from pypgm.privacy.laws import DiscreteGaussian
    >>> law_text(Charge("measure", "(age)", DiscreteGaussian(variance=2, squared_sensitivity=1)))
    'discrete Gaussian, variance 2, squared sensitivity 1'
    """
    law = "stated by the caller" if line.noise == "stated" else line.noise
    parameters = [f"{name.replace('_', ' ')} {number(value)}" for name, value in line.parameters.items()]
    return ", ".join([law, *parameters, *([f"delta {number(line.delta)}"] if line.delta else [])])


def _shortened(entries: Sequence[_Entry], most: int) -> list[_Entry]:
    """Return equal entries merged into one, then the costliest of these in their order, and one for the rest."""
    costs: dict[tuple[str, str, str], list[Fraction]] = {}
    for *named, cost in entries:
        costs.setdefault((named[0], named[1], named[2]), []).append(cost)
    groups = [
        (what if len(amounts) == 1 else f"{what}, {len(amounts):,} times", on, noise, sum(amounts, Fraction(0)))
        for (what, on, noise), amounts in costs.items()
    ]
    kept = sorted(sorted(range(len(groups)), key=lambda i: -groups[i][3])[:most])
    rest = sum((cost for *_, cost in groups), Fraction(0)) - sum((groups[i][3] for i in kept), Fraction(0))
    more = [(f"{len(groups) - len(kept):,} more, each of less", "", "", rest)] if len(groups) > len(kept) else []
    return [*(groups[i] for i in kept), *more]


def _checked_lines(lines: Sequence[Charge], budget: Budget) -> Sequence[Charge]:
    """Return copies of lines; raise unless each is a `Charge` in the budget's unit with the cost of its law."""
    for line in lines:
        if type(line) is not Charge:
            raise TypeError(f"a ledger takes lines of Charge, got {type(line).__name__}")
        if line.unit != budget.unit:
            raise ValueError(f"{line.what} on {line.on} is charged in {line.unit}, the budget is in {budget.unit}")
        if (line.left is None) == (budget.accounting == "gdp"):
            needed = "needs" if line.left is None else "has"
            raise ValueError(f"{line.what} on {line.on} {needed} an amount left, and the budget is {budget!r}")
    recharged, left = copies(lines), budget.limit
    for line, made in zip(lines, recharged, strict=True):
        if made.cost != line.cost:
            raise ValueError(f"{line.what} on {line.on} costs {made.cost}, not {line.cost} as stored")
        if made.left is not None and made.left > left:
            raise ValueError(f"{line.what} on {line.on} counts on {short(made.left)} left, of {short(left)}")
        left -= made.cost
    return recharged


def _stored_budget(fields: Mapping[str, Any]) -> Budget:
    """Return the budget of a file; where it does not name the accounting, amounts in rho are of zCDP."""
    pure = "rho" not in fields and "delta" not in fields
    return Budget(**({} if pure else {"accounting": "zcdp"}) | dict(fields))


def upward(value: Fraction) -> float:
    """Return the least float that is not below a rational."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def _converted(budget: Budget, amount: Fraction, fails: Fraction, delta: Number | None) -> float:
    """Return the epsilon of an amount in the budget's unit beside a probability of failure."""
    pure = budget.unit == "epsilon"
    wanted = (fails if pure else budget.delta) if delta is None else as_fraction("delta", delta)
    if wanted is None:
        raise ValueError("a budget in rho names no delta; pass delta")
    if not 0 <= wanted < 1 or wanted < fails or (wanted == fails > 0 and not pure):
        least = f"at least {short(fails)}" if pure else f"more than {short(fails)}"
        raise ValueError(f"delta must be {least}, the probability of failure, and below 1, got {delta}")
    if pure:
        return upward(amount)
    return (gdp_epsilon if budget.accounting == "gdp" else zcdp_epsilon)(amount, wanted - fails)


def dp_events(ledger: LedgerReport) -> DpEvent:
    """Return the charges as one composed event of dp-accounting, to be accounted for there once more.

    For `dp_accounting.pld.PLDAccountant`, under a budget of epsilon and delta, discrete Gaussian noise and exponential
    mechanisms are one event of Gaussian noise that dominates them together, as in `realised_epsilon`, and any other
    line is as many unit changes of discrete Laplace noise as dominate it. Under a pure budget each line is such a
    change, the worst case of its epsilon. For `dp_accounting.rdp.RdpAccountant`, under a budget in zCDP, every line is
    an event of zCDP. Events of exponential mechanisms, whose number one of its accountants ignores, are not used.
    Probabilities of failure are not in the event: subtract `Ledger.spent_delta()` from delta.

    Parameters
    ----------
    ledger : Ledger or LedgerReport

    Returns
    -------
    dp_accounting.DpEvent
        The composition of all lines.

    Raises
    ------
    ImportError
        If dp-accounting is not installed.
    """
    try:
        import dp_accounting
    except ImportError as error:
        raise ImportError("dp_events needs dp-accounting: pip install 'pypgm[accounting]'") from error
    if ledger.budget.accounting == "gdp":
        counted, amount = _responses(ledger.lines)
    else:
        counted, amount = Counter(line.cost for line in ledger.lines if line.cost > 0), Fraction(0)
    events = []
    for cost, times in counted.items():
        upper = math.nextafter(float(cost), math.inf)
        zcdp = ledger.budget.accounting == "zcdp"
        one = dp_accounting.ZCDpEvent(upper) if zcdp else dp_accounting.dp_event.DiscreteLaplaceDpEvent(upper, 1)
        events.append(dp_accounting.SelfComposedDpEvent(one, times))
    if amount:
        events.append(dp_accounting.GaussianDpEvent((1 - 1e-15) / math.sqrt(2 * upward(amount))))
    return dp_accounting.ComposedDpEvent(events)


def _responses(lines: Sequence[Charge]) -> tuple[Counter[Fraction], Fraction]:
    """Return randomized responses, by epsilon, and an amount of Gaussian noise, that together dominate lines."""
    counted: Counter[Fraction] = Counter()
    others = []
    for line in lines:
        pair = line.law.dominating(line.unit)
        if pair is not None and pair.losses is response_losses:
            if pair.parameter > 0 and pair.times > 0:
                counted[pair.parameter] += pair.times
        else:
            others.append(line)
    return counted, fixed_amount(others)
