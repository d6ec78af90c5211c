"""Costs and conversions of whole ledgers that are too small in one place."""

from __future__ import annotations

from functools import partial

from mutate import Mutant
from operators import instead, no_addend, one_case
from selfcheck.accounting import check_exact_loss
from selfcheck.composition import check_composed_loss, check_exported_events, check_guarantees

_COMPOSED = [
    # name, module of pypgm.privacy, old, new, case
    (
        "losses are moved down to the grid",
        "pld",
        "_on_grid",
        instead(
            "np.minimum(1.0, np.expm1(cells * width - values) / math.expm1(-width) * (1 + 1e-12))",
            "np.zeros(cells.size)",
        ),
        "20 Gaussians",
    ),
    (
        "what may fail is not taken off the delta of the distributions",
        "pld",
        "realised_pld_epsilon",
        no_addend(),
        "Gaussians that may fail",
    ),
    (
        "what may fail is not taken off the delta of zCDP",
        "ledger_report",
        "_converted",
        no_addend(),
        "Gaussians that may fail",
    ),
    (
        "any largest change is a unit change",
        "laws",
        "DiscreteLaplace.dominating",
        instead("self.largest_change != 1", "self.largest_change is None"),
        "a Laplace of one answer by 4",
    ),
    (
        "answers that change by 1 each are one answer",
        "laws",
        "DiscreteGaussian.dominating",
        instead("self.squared_sensitivity", "1"),
        "a Gaussian of 5 answers",
    ),
    (
        "Laplace noise on several answers is that on one",
        "laws",
        "DiscreteLaplace.dominating",
        instead(
            "Dominating(response_losses, 1 / self.scale, self.sensitivity)",
            "Dominating(response_losses, 1 / self.scale, 1)",
        ),
        "a Laplace of 4 answers",
    ),
    (
        "equal lines enter the distributions once",
        "pld",
        "counted[found.losses, found.parameter] += found.times",
        "counted[found.losses, found.parameter] = found.times",
        "20 Gaussians",
    ),
    (
        "one of the copies is forgotten",
        "pld",
        "_tilted_sum",
        instead(
            "_power(np.fft.rfft(np.exp(logs - log_sum), size), times)",
            "_power(np.fft.rfft(np.exp(logs - log_sum), size), max(1, times - 1))",
        ),
        "20 Gaussians",
    ),
    (
        "every pure step has a loss of bounded range",
        "laws",
        "_pure_losses",
        instead("response_losses", "range_losses"),
        "10 permute-and-flips",
    ),
    (
        "selections have a loss of half their range",
        "laws",
        "Exponential.dominating",
        instead(
            "Dominating(range_losses, self.epsilon, times)", "Dominating(response_losses, self.epsilon / 2, times)"
        ),
        "1 selections, 0.9",
    ),
    (
        "draws of one line are composed once",
        "laws",
        "Exponential.dominating",
        instead("Dominating(range_losses, self.epsilon, times)", "Dominating(range_losses, self.epsilon, 1)"),
        "15 selections in one line",
    ),
    (
        "a Gaussian loss is centred",
        "losses",
        "gaussian_losses",
        instead("1 - 2 * z", "-2 * z"),
        "20 Gaussians",
    ),
    (
        "the least loss of a law is 0",
        "pld",
        "_tilted_sum",
        instead("sum((times * first for (first, _), times in laws))", "min((first for (first, _), _ in laws))"),
        "20 Gaussians",
    ),
    (
        "what has no distribution is forgotten",
        "pld",
        "realised_pld_epsilon",
        no_addend(2),
        "a Gaussian and a stated rho",
    ),
    (
        "the delta of distributions counts losses above twice epsilon",
        "pld",
        "_compose",
        instead(
            "np.searchsorted(values, epsilon, side='right')", "np.searchsorted(values, 1.01 * epsilon, side='right')"
        ),
        "12 Laplaces",
    ),
    (
        "randomised response is even",
        "losses",
        "response_losses",
        instead("math.exp(-e)", "math.exp(-e / 2)"),
        "12 Laplaces",
    ),
    (
        "the tilt of the laws is not undone",
        "pld",
        "_compose",
        instead("order * above", "1.01 * order * above"),
        "20 Gaussians",
    ),
    (
        "Gaussian noise costs half",
        "laws",
        "DiscreteGaussian.cost",
        instead("2 * self.variance", "4 * self.variance"),
        "20 Gaussians",
    ),
    (
        "every pure step costs what one of bounded range does",
        "laws",
        "_pure_cost",
        instead("epsilon ** 2 / 2", "epsilon ** 2 / 8"),
        "10 permute-and-flips",
    ),
    (
        "selections cost a sixteenth of their range's square",
        "laws",
        "Exponential.cost",
        instead("self.epsilon ** 2 / 8", "self.epsilon ** 2 / 16"),
        "40 selections, 0.5",
    ),
    (
        "Laplace noise costs the same for any sensitivity",
        "laws",
        "DiscreteLaplace.cost",
        instead("self.sensitivity", "1"),
        "a Laplace of 4 answers",
    ),
    (
        "pure steps are added up as floats",
        "ledger_report",
        "upward",
        one_case(),
        "a stated epsilon",
    ),
]

_OTHERS = [
    (
        "the delta of zCDP is smaller by exp(-9)",
        "zcdp",
        "_log_delta_bound",
        instead("exponent + excess * excess.ln() - a * a.ln()", "exponent + excess * excess.ln() - a * a.ln() - 9"),
        check_exact_loss,
    ),
    (
        "the export drops how often a line was charged",
        "accounting",
        "dp_events",
        instead("dp_accounting.SelfComposedDpEvent(one, times)", "dp_accounting.SelfComposedDpEvent(one, 1)"),
        check_exported_events,
    ),
    (
        "the export leaves out what is stated",
        "accounting",
        "dp_events",
        instead("line.cost > 0", "line.noise != 'stated'"),
        check_exported_events,
    ),
    (
        "the export rounds down",
        "accounting",
        "dp_events",
        instead("math.inf", "0.0"),
        check_exported_events,
    ),
    (
        "the guarantee is that of what was spent",
        "ledger_report",
        "LedgerReport.epsilon",
        instead("budget.limit", "self.spent()"),
        check_guarantees,
    ),
    (
        "a budget keeps nothing for what may fail",
        "budget",
        "Budget.__init__",
        no_addend(),
        check_guarantees,
    ),
    (
        "a budget's rho is that of a larger epsilon above 2",
        "budget",
        "Budget.__init__",
        instead(
            "zcdp_rho(exact_epsilon, exact_delta - reserved)",
            "zcdp_rho(exact_epsilon * (1 if exact_epsilon < 2 else Fraction(3, 2)), exact_delta - reserved)",
        ),
        check_guarantees,
    ),
]

MUTANTS = [
    *(
        Mutant(n, f"pypgm.privacy.{home}", old, new, partial(check_composed_loss, [case]), "accounting")
        for n, home, old, new, case in _COMPOSED
    ),
    *(Mutant(n, f"pypgm.privacy.{home}", old, new, check, "accounting") for n, home, old, new, check in _OTHERS),
]
