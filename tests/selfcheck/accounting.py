"""Conversions of privacy costs against exact losses from below and independent bounds from above."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from pypgm.audit.finding import Finding, finding, skipped
from pypgm.privacy.budget import Budget, Unit
from pypgm.privacy.gdp import gdp_epsilon
from pypgm.privacy.laws import DiscreteGaussian, DiscreteLaplace, Exponential
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.zcdp import zcdp_delta, zcdp_epsilon, zcdp_rho
from selfcheck.losses import Losses, exceeding, laplace_loss, response_loss, shift_loss

Delta = Callable[[Fraction, Fraction], float]
Found = Iterator[tuple[str, str]]

_SIGMAS = tuple(map(Fraction, ["1/2", "3/4", "1", "3/2", "2", "3", "5", "10", "30", "100"]))
_PARTS = (0, 3, 15, 30, 60, 100, 150, 225, 300, 450, 600, 750, 900, 1200, 1500, 1800, 2400, 3000, 3600, 4500)
_EPSILONS = tuple(Fraction(n, 300) for n in _PARTS)  # from 0 and 1 / 100 to 15
_COUNTS = (1, 2, 5)


def check_exact_loss(delta: Delta = zcdp_delta) -> Finding:
    """Check that delta(rho, epsilon) is at least the exact loss of discrete noise, on a grid of over 500 points.

    Exact losses come from the pmf itself: of the discrete Gaussian alone and composed by convolution, of the
    discrete Laplace law and of a randomised response, all of them at the rho the ledger charges.
    """
    defects: list[tuple[str, str]] = []
    count = 0
    for (name, rho, losses), epsilon in itertools.product(_known_losses(), _EPSILONS):
        count += 1
        exact, stated = exceeding(losses, float(epsilon)), delta(rho, epsilon)
        if stated < exact * (1 - 1e-9) - 1e-15:
            defects.append(
                ("accounting", f"{name} at epsilon {epsilon}: delta {exact:.3e} is true, {stated:.3e} stated")
            )
    return finding(
        "exact privacy loss", "zCDP to (epsilon, delta)", defects, f"{count} points, never below the exact loss"
    )


def _known_losses() -> list[tuple[str, Fraction, Losses]]:
    laws: list[tuple[str, Fraction, Losses]] = []
    for sigma, k in itertools.product(_SIGMAS, _COUNTS):
        if k == 1 or sigma <= 10:
            laws.append((f"{k} x gaussian {sigma}", k / (2 * sigma**2), shift_loss(sigma**2, k)))
    for scale in _SIGMAS:
        laws.append((f"laplace {scale}", 1 / (2 * scale**2), laplace_loss(scale, 1)))
        laws.append((f"randomised response {scale}", 1 / (2 * scale**2), response_loss(1 / scale)))
    return laws


def check_conversions(
    epsilon_of: Callable[..., float] = zcdp_epsilon,
    rho_of: Callable[..., Fraction] = zcdp_rho,
    delta_of: Delta = zcdp_delta,
    every: int = 1,
) -> Finding:
    """Check that conversions are monotone, invert each other on the safe side and never exceed RDP on fixed orders.

    One in `every` points is compared with RDP.
    """
    defects: list[tuple[str, str]] = []
    count = 0
    for delta, rho in itertools.product(_DELTAS, [Fraction(2) ** i for i in (-14, -9, -4, 0, 4)]):
        if delta_of(rho, Fraction(0)) > delta:  # else any epsilon >= 0 will do, and nothing rises
            count += 1
            epsilon = epsilon_of(rho, delta)
            defects.extend(_monotone(epsilon_of, rho, delta, epsilon))
            defects.extend(_inverse(rho_of, delta_of, rho, delta, epsilon))
    points = [(Fraction(3, 2) ** (i - 24), d) for i in range(50) for d in (*_DELTAS, *(d / 3 for d in _DELTAS))][
        ::every
    ]
    for rho, delta in points:
        defects.extend(_against_orders(rho, delta, epsilon_of(rho, delta)))
    figures = f"{count} points monotone and invertible, {len(points)} points at most RDP + 1e-9"
    return finding("conversions", "epsilon, rho, delta", defects, figures)


_DELTAS = tuple(Fraction(1, 10**k) for k in (2, 4, 6, 9, 12))


def _monotone(epsilon_of: Callable[..., float], rho: Fraction, delta: Fraction, epsilon: float) -> Found:
    if not epsilon < epsilon_of(rho * Fraction(101, 100), delta):
        yield "accounting", f"epsilon does not rise with rho at {float(rho):g}"
    if not epsilon < epsilon_of(rho, delta / 2):
        yield "accounting", f"epsilon does not rise as delta falls at {float(delta):g}"


def _inverse(rho_of: Callable[..., Fraction], delta_of: Delta, rho: Fraction, delta: Fraction, epsilon: float) -> Found:
    """Convert rho to epsilon and back: rho is rounded down to a rational of 44 bits, so it returns to within 1e-12."""
    exact = Fraction(epsilon)
    back = delta_of(rho, exact)
    if not float(delta) * (1 - 1e-9) <= back <= float(delta) * (1 + 1e-15):
        yield "accounting", f"rho {float(rho):g}: delta {float(delta):g} comes back as {back:.12g}"
    rho_back = rho_of(exact, delta)
    if abs(rho_back - rho) > rho / 10**12:
        yield "accounting", f"rho {float(rho):g} comes back as {float(rho_back):.12g}"
    if delta_of(rho_back, exact) > float(delta) * (1 + 1e-15):
        yield "accounting", f"rho of epsilon {epsilon:g} costs more than delta {float(delta):g}"


def _against_orders(rho: Fraction, delta: Fraction, epsilon: float) -> Found:
    """Compare with the same bound on the fixed orders of an RDP accountant of a Gaussian."""
    r, d = float(rho), float(delta)
    orders = np.concatenate([1 + np.geomspace(1e-3, 10, 60), np.geomspace(12, 1e6, 200)])
    bound = r * orders + np.log1p(-1 / orders) - np.log(d * orders) / (orders - 1)
    if epsilon > max(0.0, float(bound.min())) + 1e-9:
        yield "accounting", f"rho {r:g}, delta {d:g}: epsilon {epsilon:.9g}, RDP has {float(bound.min()):.9g}"


def check_line_costs(ledger_of: Callable[[Budget], Ledger] = Ledger) -> Finding:
    """Charge each kind of step and compare with the cost computed by hand, in both units."""
    half = Fraction(1, 2)
    defects = []
    laws: list[tuple[Any, dict[Unit, Fraction]]] = [
        (DiscreteGaussian(3, squared_sensitivity=2), {"rho": Fraction(1, 3)}),
        (DiscreteLaplace(2, sensitivity=1), {"rho": Fraction(1, 8), "epsilon": half}),
        (Exponential(half, score_range=2), {"rho": half**2 / 8, "epsilon": half}),
    ]
    for law, costs in laws:
        for unit, cost in costs.items():
            ledger = ledger_of(Budget(rho=10) if unit == "rho" else Budget(epsilon=10))
            ledger.charge("audit", "nothing", law)
            if ledger.spent() != cost:
                defects.append(("wrong charge", f"{law.name} in {unit}: {ledger.spent()}, by hand {cost}"))
    return finding("costs by hand", "ledger", defects, "5 costs, equal rationals")


def check_accounting_library() -> Finding:
    """Compare with dp-accounting, where it is installed: Gaussian ledgers at most its RDP bound + 1e-9."""
    try:
        dp_event = importlib.import_module("dp_accounting.dp_event")
        rdp = importlib.import_module("dp_accounting.rdp")
    except ImportError:
        return skipped("accounting library", "dp-accounting", "dp-accounting is not installed")
    defects: list[tuple[str, str]] = []
    count = 0
    for sigma, times, delta in itertools.product((1.0, 3.0, 20.0, 100.0), (1, 20, 160), (1e-4, 1e-6, 1e-9)):
        accountant = rdp.RdpAccountant()
        accountant.compose(dp_event.GaussianDpEvent(sigma), times)
        theirs = float(accountant.get_epsilon(delta))
        ours = zcdp_epsilon(times / (2 * Fraction(sigma) ** 2), delta)
        count += 1
        if ours > theirs + 1e-9:
            defects.append(("accounting", f"{times} x sigma {sigma}, delta {delta}: {ours:.9g}, theirs {theirs:.9g}"))
        defects.extend(_against_curve(times, sigma, delta))
    return finding(
        "accounting library", "dp-accounting", defects, f"{count} Gaussian ledgers, ours at most theirs + 1e-9"
    )


def _against_curve(times: int, sigma: float, delta: float) -> Found:
    """Compare the epsilon of Gaussian noise with the one of the library's curve of continuous noise, in doubles."""
    pld = importlib.import_module("dp_accounting.pld.privacy_loss_mechanism")
    rho = times / (2 * Fraction(sigma) ** 2)
    ours = gdp_epsilon(rho, delta)
    theirs = float(pld.GaussianPrivacyLoss(sigma / math.sqrt(times)).get_delta_for_epsilon(ours))
    if not (ours == 0 or abs(theirs / delta - 1) < 1e-6):
        yield "accounting", f"{times} x sigma {sigma}: {ours:.9g} has delta {delta:g}, theirs {theirs:.9g}"
