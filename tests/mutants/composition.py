"""Costs and conversions of whole ledgers that are too small in one place."""

from __future__ import annotations

from functools import partial

from mutate import at
from operators import no_addend, one_case
from selfcheck.accounting import check_exact_loss
from selfcheck.composition import check_composed_loss, check_exported_events, check_guarantees


def composed(*cases):
    """Return the check of the losses of some composed charges."""
    return partial(check_composed_loss, [*cases])


MUTANTS = {
    "losses are moved down to the grid": at("privacy.pld:_on_grid", composed("20 Gaussians"), "accounting")(
        "np.minimum(1.0, np.expm1(cells * width - values) / math.expm1(-width) * (1 + 1e-12))", "np.zeros(cells.size)"
    ),
    "what may fail is not taken off the delta of the distributions": at(
        "privacy.pld:realised_pld_epsilon", composed("Gaussians that may fail"), "accounting"
    )(no_addend()),
    "what may fail is not taken off the delta of zCDP": at(
        "privacy.ledger_report:_converted", composed("Gaussians that may fail"), "accounting"
    )(no_addend()),
    "any largest change is a unit change": at(
        "privacy.laws:DiscreteLaplace.dominating", composed("a Laplace of one answer by 4"), "accounting"
    )("self.largest_change != 1", "self.largest_change is None"),
    "Laplace noise on several answers is that on one": at(
        "privacy.laws:DiscreteLaplace.dominating", composed("a Laplace of 4 answers"), "accounting"
    )(
        "Dominating(response_losses, 1 / self.scale, self.sensitivity)",
        "Dominating(response_losses, 1 / self.scale, 1)",
    ),
    "equal lines enter the distributions once": at("privacy.pld:_steps", composed("12 Laplaces"), "accounting")(
        "counted[X] += Y", "counted[X] = Y"
    ),
    "one of the copies is forgotten": at("privacy.pld:_tilted_sum", composed("12 Laplaces"), "accounting")(
        "_power(np.fft.rfft(np.exp(logs - log_sum), size), times)",
        "_power(np.fft.rfft(np.exp(logs - log_sum), size), max(1, times - 1))",
    ),
    "every pure step has a loss of bounded range": at(
        "privacy.laws:_pure_losses", composed("10 permute-and-flips"), "accounting"
    )("response_losses", "range_losses"),
    "selections have a loss of half their range": at(
        "privacy.laws:Exponential.dominating", composed("1 selections, 0.9"), "accounting"
    )("Dominating(range_losses, self.epsilon, times)", "Dominating(response_losses, self.epsilon / 2, times)"),
    "draws of one line are composed once": at(
        "privacy.laws:Exponential.dominating", composed("15 selections in one line"), "accounting"
    )("Dominating(range_losses, self.epsilon, times)", "Dominating(range_losses, self.epsilon, 1)"),
    "a Gaussian loss is centred": at("privacy.losses:gaussian_losses", composed("20 Gaussians"), "accounting")(
        "mean + mu * X", "mu * X"
    ),
    "the least loss of a law is 0": at("privacy.pld:_tilted_sum", composed("12 Laplaces"), "accounting")(
        "sum((times * first for (first, _), times in laws))", "min((first for (first, _), _ in laws))"
    ),
    "what has no distribution is forgotten": at(
        "privacy.pld:realised_pld_epsilon", composed("a Gaussian and a stated rho"), "accounting"
    )(no_addend(2)),
    "the delta of distributions counts losses above twice epsilon": at(
        "privacy.pld:_compose", composed("12 Laplaces"), "accounting"
    )("np.searchsorted(values, epsilon, side='right')", "np.searchsorted(values, 1.01 * epsilon, side='right')"),
    "randomised response is even": at("privacy.losses:response_losses", composed("12 Laplaces"), "accounting")(
        "math.exp(-e)", "math.exp(-e / 2)"
    ),
    "the tilt of the laws is not undone": at("privacy.pld:_compose", composed("20 Gaussians"), "accounting")(
        "order * above", "1.01 * order * above"
    ),
    "Gaussian noise costs half": at("privacy.laws:DiscreteGaussian.cost", composed("20 Gaussians"), "accounting")(
        "2 * self.variance", "4 * self.variance"
    ),
    "every pure step costs what one of bounded range does": at(
        "privacy.laws:_pure_cost", composed("10 permute-and-flips"), "accounting"
    )("epsilon ** 2 / 2", "epsilon ** 2 / 8"),
    "selections cost a sixteenth of their range's square": at(
        "privacy.laws:Exponential.cost", composed("40 selections, 0.5"), "accounting"
    )("self.epsilon ** 2 / 8", "self.epsilon ** 2 / 16"),
    "Laplace noise costs the same for any sensitivity": at(
        "privacy.laws:DiscreteLaplace.cost", composed("a Laplace of 4 answers"), "accounting"
    )("self.sensitivity", "1"),
    "pure steps are added up as floats": at("privacy.ledger_report:upward", composed("a stated epsilon"), "accounting")(
        one_case()
    ),
    "the delta of zCDP is smaller by exp(-9)": at("privacy.zcdp:_log_delta_bound", check_exact_loss, "accounting")(
        "exponent + excess * excess.ln() - a * a.ln()", "exponent + excess * excess.ln() - a * a.ln() - 9"
    ),
    "the export drops how often a line was charged": at(
        "privacy.ledger_report:dp_events", check_exported_events, "accounting"
    )("dp_accounting.SelfComposedDpEvent(one, times)", "dp_accounting.SelfComposedDpEvent(one, 1)"),
    "the export leaves out what is stated": at("privacy.ledger_report:dp_events", check_exported_events, "accounting")(
        "line.cost > 0", "line.noise != 'stated'"
    ),
    "the export rounds down": at("privacy.ledger_report:dp_events", check_exported_events, "accounting")(
        "math.inf", "0.0"
    ),
    "the guarantee is that of what was spent": at(
        "privacy.ledger_report:LedgerReport.epsilon", check_guarantees, "accounting"
    )("budget.limit", "self.spent()"),
    "a budget keeps nothing for what may fail": at("privacy.budget:Budget.__init__", check_guarantees, "accounting")(
        no_addend()
    ),
    "a budget's rho is that of a larger epsilon above 2": at(
        "privacy.budget:Budget.__init__", check_guarantees, "accounting"
    )(
        "convert(exact_epsilon, exact_delta - reserved)",
        "convert(exact_epsilon * (1 if exact_epsilon < 2 else Fraction(3, 2)), exact_delta - reserved)",
    ),
}
