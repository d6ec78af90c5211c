"""Costs, conversions and amounts left of Gaussian differential privacy that are wrong in one place."""

from __future__ import annotations

from functools import partial

from mutate import at
from operators import never
from selfcheck.accounting import check_conversions
from selfcheck.composition import check_charged_loss, check_composed_loss, check_exported_events
from selfcheck.gdp import check_bounded_steps, check_game, check_gdp_rho, check_inverses, check_steps_fall
from selfcheck.ledgers import check_amounts_left

from pypgm.privacy.costs import gaussian_cost
from pypgm.privacy.gdp import gdp_delta, gdp_epsilon, gdp_rho

# Not what these functions kept.
steps_fall = partial(check_steps_fall, gaussian_cost.__wrapped__)
budgets = partial(check_gdp_rho, gdp_rho.__wrapped__)
conversions = partial(check_conversions, gdp_epsilon, gdp_rho, gdp_delta, 50)


def charged(*cases):
    """Return the check of the losses of some ledgers in Gaussian differential privacy."""
    return partial(check_charged_loss, [*cases])


def left(place):
    """Return a function from a change, of what is left or what it costs, to its row."""
    return at(place, check_amounts_left, "wrong charge")


def forged(place):
    """Return a function from a change, by which files and lines are less checked, to its row."""
    return at(place, check_amounts_left, "unchecked import")


COST, PURE, BEFORE = (f"privacy.costs:{name}" for name in ("gaussian_cost", "pure_cost", "cost_before"))

MUTANTS = {
    "discrete Gaussian noise is as good as continuous": at(COST, steps_fall, "accounting")(
        "(1 + X) / variance", "1 / variance"
    ),
    "the third term of the cost of noise is left out": at(COST, steps_fall, "accounting")(
        "Fraction(3, 20) / variance", "0"
    ),
    "the sharp cost of noise is that of any variance": at(COST, steps_fall, "accounting")(never(1)),
    "noise of little variance costs half": at(COST, steps_fall, "accounting")(
        "4 / variance - _BELOW", "2 / variance - _BELOW / 2"
    ),
    "noise costs the same for any sensitivity": at(COST, charged("a Gaussian of 5 answers"), "accounting")(
        "squared_sensitivity * squared_mu / 2", "squared_mu / 2"
    ),
    "selections cost their rho of zCDP": at(BEFORE, check_game, "accounting")(
        "significant_up(cost, BITS)", "significant_up(rho, BITS)"
    ),
    "all that is left comes after a step": at(BEFORE, check_bounded_steps, "accounting")("rho * largest / X", "0"),
    "a step of bounded loss costs half of what it has beyond zCDP": at(BEFORE, check_bounded_steps, "accounting")(
        "4 * after", "8 * after"
    ),
    "a step alone costs three halves of its rho": at(BEFORE, check_bounded_steps, "accounting")(
        "_HALF_PI * rho", "Fraction(3, 2) * rho"
    ),
    "what is bought may cost more, by what its difference to the rest cancels": at(PURE, check_inverses, "accounting")(
        "BITS", "8"
    ),
    "steps that nothing follows cost their rho of zCDP": at(
        "privacy.charge:fixed_amount", charged("1 selections, 0.5"), "accounting"
    )("cost_before(amount, *X)", "line.law.cost('rho')"),
    "noise that follows steps is counted before them": at(
        "privacy.charge:fixed_amount", charged("15 selections, 0.5"), "accounting"
    )("cost_before(amount, *X)", "cost_before(Fraction(1), *X)"),
    "noise that is bought has the variance of continuous noise": at(
        "privacy.costs:gaussian_variance", check_inverses, "accounting"
    )("1 / squared_mu + Fraction(1, 12) + X", "1 / squared_mu"),
    "noise that is bought is not rounded up": at("privacy.costs:gaussian_variance", check_inverses, "accounting")(
        "1 - _NEWTON", "1 + _NEWTON"
    ),
    "noise of little variance is bought too cheap": at("privacy.costs:gaussian_variance", check_inverses, "accounting")(
        "squared_mu + _BELOW", "squared_mu + 2 * _BELOW"
    ),
    "noise of little variance is bought by the sharp cost": at(
        "privacy.costs:gaussian_variance", check_inverses, "accounting"
    )("squared_mu > _DEAREST", "squared_mu > 4"),
    "steps that take most of what is left are bought at their rho of zCDP": at(
        "privacy.costs:pure_steps", check_inverses, "accounting"
    )("amount / _HALF_PI", "amount"),
    "equal steps are bought as if smaller ones": at("privacy.costs:pure_steps", check_inverses, "accounting")(
        "steps * after + amount", "steps * after + 2 * amount"
    ),
    "delta is smaller by exp(-1)": at("privacy.gdp:_log_delta", budgets, "accounting")("X + MARGIN", "X - 1"),
    "the mean of the loss is forgotten": at("privacy.gdp:_log_delta", budgets, "accounting")(
        "X - mu / 2", "X + mu / 2"
    ),
    "half of delta is said": at("privacy.gdp:gdp_delta", conversions, "accounting")("X.exp()", "X.exp() / 2"),
    "epsilon is that of a larger delta": at("privacy.gdp:gdp_epsilon", conversions, "accounting")(
        "as_decimal(exact_delta).ln()", "as_decimal(2 * exact_delta).ln()"
    ),
    "an amount left may be negative": forged("privacy.charge:Charge.__init__")("exact < 0", "False"),
    "a pure budget has an amount left": forged("privacy.charge:Charge.__init__")("unit == 'epsilon' or X", "X"),
    "a cost is that of zCDP whatever is left": left("privacy.charge:Charge.__init__")(
        "kept.cost(unit) if X else Y", "kept.cost(unit)"
    ),
    "an equal law costs what it did before": left("privacy.charge:Charge._like")("X if Y else Z", "X"),
    "lines of a batch count on what was left before the first": left("privacy.charge:charges")(
        "left - lines[-1].cost", "left"
    ),
    "what is left is rounded up": left("privacy.charge:charges")("significant_down(left, X)", "left * Fraction(9, 8)"),
    "what was spent is still left": left("privacy.ledger:Ledger._left")("X - self.spent()", "X"),
    "a part counts on all that its ledger had": left("privacy.ledger:Ledger._left")(
        "self._parent._left()", "self._parent._budget.limit"
    ),
    "a part has the accounting of zCDP": left("privacy.budget:Budget.of_amount")("self.accounting", "None"),
    "lines of a file may count on more than was left": forged("privacy.ledger_report:_checked_lines")(
        "made.left > left", "False"
    ),
    "lines of a file may count on what was spent": forged("privacy.ledger_report:_checked_lines")(
        "left -= made.cost", "left -= 0"
    ),
    "lines may have another accounting than their budget": forged("privacy.ledger_report:_checked_lines")(
        "(line.left is None) == X", "False"
    ),
    "a file without accounting is of Gaussian differential privacy": forged("privacy.ledger_report:_stored_budget")(
        "{'accounting': 'zcdp'}", "{}"
    ),
    "a rho of zCDP is converted as Gaussian": at(
        "privacy.ledger_report:_converted", partial(check_composed_loss, ["1 selections, 0.9"]), "accounting"
    )("gdp_epsilon if X else zcdp_epsilon", "gdp_epsilon"),
    "realised epsilons count on noise that never came": at(
        "privacy.ledger_report:LedgerReport.realised_epsilon", charged("1 selections, 0.5"), "accounting"
    )(never()),
    "the export of noise has twice its variance": at(
        "privacy.ledger_report:dp_events", check_exported_events, "accounting"
    )("math.sqrt(2 * X)", "math.sqrt(X)"),
    "the export of equal pure steps has one of them": at(
        "privacy.ledger_report:_responses", check_exported_events, "accounting"
    )("counted[X] += Y", "counted[X] = Y"),
    "draws of one line are smaller than they are": left("privacy.laws:Exponential.bounded")(
        "self.epsilon ** 2 / 8", "self.epsilon ** 2 / 800"
    ),
    "answers of Laplace noise change by 1": left("privacy.laws:DiscreteLaplace.bounded")(
        "self.sensitivity if X else Y", "1"
    ),
    "the largest change alone is charged": at(
        "privacy.laws:DiscreteLaplace.bounded", check_amounts_left, "wrong charge"
    )("self.sensitivity * of_change", "of_change"),
    "a stated rho is a step of bounded loss": at(
        "privacy.laws:Stated.gdp_cost", charged("a Gaussian and a stated rho"), "accounting"
    )(never()),
    "noise enters the distributions as if it had none": at(
        "privacy.pld:_steps", partial(check_composed_loss, ["many kinds"]), "accounting"
    )("gaussian += X", "gaussian += 0 * X"),
}
