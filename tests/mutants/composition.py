"""Costs and conversions of whole ledgers that are too small in one place."""

from __future__ import annotations

from functools import partial

from mutate import Mutant

from pypgm.audit.accounting import check_exact_loss
from pypgm.audit.composition import check_composed_loss, check_exported_events, check_guarantees

_COMPOSED = [
    # name, module of pypgm.privacy, old, new, case
    (
        "losses are moved down to the grid",
        "pld",
        "up = np.minimum(1.0, np.expm1(cells * width - values) / math.expm1(-width) * (1 + 1e-12))",
        "up = np.zeros(cells.size)",
        "20 Gaussians",
    ),
    (
        "what may fail is not taken off the delta of the distributions",
        "pld",
        'left = as_fraction("delta", wanted) - ledger.spent_delta()',
        'left = as_fraction("delta", wanted)',
        "Gaussians that may fail",
    ),
    (
        "what may fail is not taken off the delta of zCDP",
        "ledger_report",
        "return upward(amount) if pure else zcdp_epsilon(amount, wanted - fails)",
        "return upward(amount) if pure else zcdp_epsilon(amount, wanted)",
        "Gaussians that may fail",
    ),
    (
        "any largest change is a unit change",
        "laws",
        "if self.largest_change != 1:\n",
        "if self.largest_change is None:\n",
        "a Laplace of one answer by 4",
    ),
    (
        "answers that change by 1 each are one answer",
        "laws",
        "return Dominating(gaussian_losses, self.variance, self.squared_sensitivity)",
        "return Dominating(gaussian_losses, self.variance, 1)",
        "a Gaussian of 5 answers",
    ),
    (
        "Laplace noise on several answers is that on one",
        "laws",
        "return Dominating(response_losses, 1 / self.scale, self.sensitivity)",
        "return Dominating(response_losses, 1 / self.scale, 1)",
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
        "spectrum *= _power(np.fft.rfft(np.exp(logs - log_sum), size), times)",
        "spectrum *= _power(np.fft.rfft(np.exp(logs - log_sum), size), max(1, times - 1))",
        "20 Gaussians",
    ),
    (
        "every pure step has a loss of bounded range",
        "laws",
        "return Dominating(response_losses, epsilon)",
        "return Dominating(range_losses, epsilon)",
        "10 permute-and-flips",
    ),
    (
        "selections have a loss of half their range",
        "laws",
        "return Dominating(range_losses, self.epsilon, times)",
        "return Dominating(response_losses, self.epsilon / 2, times)",
        "1 selections, 0.9",
    ),
    (
        "draws of one line are composed once",
        "laws",
        "return Dominating(range_losses, self.epsilon, times)",
        "return Dominating(range_losses, self.epsilon, 1)",
        "15 selections in one line",
    ),
    (
        "a Gaussian loss is centred",
        "losses",
        "return Losses((1 - 2 * z) / (2 * s), masses,",
        "return Losses(-2 * z / (2 * s), masses,",
        "20 Gaussians",
    ),
    (
        "the least loss of a law is 0",
        "pld",
        "start = sum(times * first for (first, _), times in laws)",
        "start = min(first for (first, _), _ in laws)",
        "20 Gaussians",
    ),
    (
        "what has no distribution is forgotten",
        "pld",
        "return min(plain, math.nextafter(epsilon + composed, math.inf) if composed or rest else 0.0)",
        "return min(plain, math.nextafter(composed, math.inf) if composed or rest else 0.0)",
        "a Gaussian and a stated rho",
    ),
    (
        "the delta of distributions counts losses above twice epsilon",
        "pld",
        'first = int(np.searchsorted(values, epsilon, side="right"))',
        'first = int(np.searchsorted(values, 1.01 * epsilon, side="right"))',
        "12 Laplaces",
    ),
    (
        "randomised response is even",
        "losses",
        "higher = 1 / (1 + math.exp(-e))",
        "higher = 1 / (1 + math.exp(-e / 2))",
        "12 Laplaces",
    ),
    (
        "the tilt of the laws is not undone",
        "pld",
        "tail = np.exp(logs[first:] - order * above) @ -np.expm1(epsilon - above)",
        "tail = np.exp(logs[first:] - 1.01 * order * above) @ -np.expm1(epsilon - above)",
        "20 Gaussians",
    ),
    (
        "Gaussian noise costs half",
        "laws",
        "return self.squared_sensitivity / (2 * self.variance)",
        "return self.squared_sensitivity / (4 * self.variance)",
        "20 Gaussians",
    ),
    (
        "every pure step costs what one of bounded range does",
        "laws",
        'return epsilon if unit == "epsilon" else epsilon**2 / 2',
        'return epsilon if unit == "epsilon" else epsilon**2 / 8',
        "10 permute-and-flips",
    ),
    (
        "selections cost a sixteenth of their range's square",
        "laws",
        "self.epsilon**2 / 8)",
        "self.epsilon**2 / 16)",
        "40 selections, 0.5",
    ),
    (
        "Laplace noise costs the same for any sensitivity",
        "laws",
        "return _pure_cost(self.sensitivity / self.scale, unit)",
        "return _pure_cost(1 / self.scale, unit)",
        "a Laplace of 4 answers",
    ),
    (
        "pure steps are added up as floats",
        "ledger_report",
        "return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)",
        "return nearest",
        "a stated epsilon",
    ),
]

_OTHERS = [
    (
        "the delta of zCDP is smaller by exp(-9)",
        "zcdp",
        "return exponent + excess * excess.ln() - a * a.ln() + MARGIN",
        "return exponent + excess * excess.ln() - a * a.ln() - 9 + MARGIN",
        check_exact_loss,
    ),
    (
        "the export drops how often a line was charged",
        "accounting",
        "dp_accounting.SelfComposedDpEvent(one, times)",
        "dp_accounting.SelfComposedDpEvent(one, 1)",
        check_exported_events,
    ),
    (
        "the export leaves out what is stated",
        "accounting",
        "for line in ledger.lines if line.cost > 0",
        'for line in ledger.lines if line.noise != "stated"',
        check_exported_events,
    ),
    (
        "the export rounds down",
        "accounting",
        "upper = math.nextafter(float(cost), math.inf)",
        "upper = math.nextafter(float(cost), 0.0)",
        check_exported_events,
    ),
    (
        "the guarantee is that of what was spent",
        "ledger_report",
        "return _converted(budget, budget.limit, budget.reserved_delta, delta)",
        "return _converted(budget, self.spent(), budget.reserved_delta, delta)",
        check_guarantees,
    ),
    (
        "a budget keeps nothing for what may fail",
        "budget",
        "limit = zcdp_rho(exact_epsilon, exact_delta - reserved)",
        "limit = zcdp_rho(exact_epsilon, exact_delta)",
        check_guarantees,
    ),
    (
        "a budget's rho is that of a larger epsilon above 2",
        "budget",
        "limit = zcdp_rho(exact_epsilon, exact_delta - reserved)",
        "limit = zcdp_rho(exact_epsilon * (1 if exact_epsilon < 2 else Fraction(3, 2)), exact_delta - reserved)",
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
