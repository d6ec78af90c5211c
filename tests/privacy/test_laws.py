"""Laws of noise: each with its cost by another formula, its tail, its losses and the place of its proof."""

import copy
import itertools
import math
import pickle
import re
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from pypgm.estimation.measurement import NOISE_LAWS
from pypgm.estimation.measurement import Noise as MeasuredNoise
from pypgm.privacy import Budget, Charge, Ledger, LedgerReport
from pypgm.privacy.laws import (
    LAWS,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Noise,
    PermuteAndFlip,
    PoissonSample,
    Stated,
    law_of,
)
from pypgm.privacy.sampler import Sampler

THRESHOLD = {"largest_change": 2, "threshold": 99, "records_per_person": 2, "delta": "1/1000"}
# law, epsilon of one draw where it is pure, draws that compose
CASES = [
    (DiscreteGaussian("7/3", squared_sensitivity=5, largest_change=1), None, 1),
    (DiscreteGaussian(40, squared_sensitivity=1), None, 1),
    (DiscreteGaussian(4, squared_sensitivity=4, **THRESHOLD), None, 1),
    (DiscreteLaplace("9/4", sensitivity=3, largest_change=1), Fraction(4, 3), 1),
    (DiscreteLaplace(3, sensitivity=4, largest_change=2), Fraction(4, 3), 1),
    (DiscreteLaplace(3, sensitivity=2, **THRESHOLD), Fraction(2, 3), 1),
    (Exponential("3/5", score_range=4), Fraction(3, 5), 1),
    (Exponential("3/5", score_range=4, draws=6, composed=6), Fraction(3, 5), 6),
    (Exponential("3/5", score_range=4, draws=9, composed=6), Fraction(3, 5), 6),
    (PermuteAndFlip("1/2", score_range=2), Fraction(1, 2), 1),
    (PoissonSample("1/3", inner_epsilon=2), "amplified", 1),
    (PoissonSample(1, inner_epsilon=2), Fraction(2), 1),
    (Stated(epsilon="1/3"), Fraction(1, 3), 1),
    (Stated(epsilon="1/3", delta="1/10000"), Fraction(1, 3), 1),
    (Stated(rho="1/7"), None, 1),
]
# log weight of noise z, exactly
EXPONENTS = {
    DiscreteGaussian: lambda law, z: -z * z / (2 * law.variance),
    DiscreteLaplace: lambda law, z: -abs(z) / law.scale,
}
LAWS_AT = pytest.mark.parametrize(("law", "epsilon", "times"), CASES, ids=[repr(law) for law, _, _ in CASES])


def renyi(p, q, order):
    """The divergence of one finite law from another."""
    terms = [b * (a / b) ** order for a, b in zip(p, q, strict=True) if a > 0]
    return math.log(math.fsum(terms)) / (order - 1)


def noisy_pair(law, change):
    """Probabilities of noise on a count and on the same count moved, on a range that holds all but 1e-30."""
    width = float(law.stddev)
    z = range(-math.ceil(25 * width) - 3, math.ceil(25 * width) + 4)
    log, log_moved = (np.array([float(EXPONENTS[type(law)](law, k - by)) for k in z]) for by in (0, change))
    total = np.exp(log).sum()
    return np.exp(log) / total, np.exp(log_moved) / total


@LAWS_AT
def test_a_cost_is_that_of_another_formula(law, epsilon, times):
    """The worst pair's Rényi divergence, worked out from probabilities, never above order times rho."""
    orders = (1.5, 2.0, 4.0, 20.0)
    rho = float(law.cost("rho"))
    if epsilon == "amplified":  # randomised response on a record that is kept with the rate's chance
        higher = 1 / (1 + math.exp(-float(law.inner_epsilon)))
        there = float(law.rate) * higher + (1 - float(law.rate)) * (1 - higher)
        worst = math.log(there / (1 - higher))
        assert worst <= float(law.cost("epsilon")) <= worst * (1 + 1e-12)
        pairs = [([there, 1 - there], [1 - higher, higher])]
    elif law.name == "discrete Gaussian":
        pairs = [noisy_pair(law, 1)]
        rho /= law.squared_sensitivity  # of one answer that changes by 1
    elif isinstance(law, Stated) and epsilon is None:
        assert law.cost("rho") == law.rho
        pairs = []
    elif isinstance(law, Exponential):
        e = float(epsilon)
        ps = [-math.expm1(t * e - e) / -math.expm1(-e) for t in (0.1, 0.5, 0.9)]
        pairs = [
            ([p, 1 - p], [p * math.exp(-t * e), (1 - p) * math.exp(e - t * e)])
            for p, t in zip(ps, (0.1, 0.5, 0.9), strict=True)
        ]
        rho /= times
    else:
        higher = 1 / (1 + math.exp(-float(epsilon)))
        pairs = [([higher, 1 - higher], [1 - higher, higher])]
        pairs += [noisy_pair(law, law.sensitivity)] if isinstance(law, Noise) else []
    for (p, q), order in itertools.product(pairs, orders):
        assert renyi(p, q, order) <= order * rho * (1 + 1e-9)
    if epsilon is None:
        with pytest.raises(ValueError, match="no pure guarantee"):
            law.cost("epsilon")
    elif epsilon != "amplified":
        assert law.cost("epsilon") == times * epsilon


@pytest.mark.parametrize("law", [case[0] for case in CASES if isinstance(case[0], Noise)], ids=repr)
@pytest.mark.parametrize("probability", [Fraction(1, 3), Fraction(1, 10**4), Fraction(1, 10**9)], ids=str)
def test_a_tail_is_that_of_an_enumeration(law, probability):
    """All atoms summed with 50 digits: the count that is reached is safe, and not far above the least that is."""
    reached = law.reach(probability)
    width = math.ceil(40 * float(law.stddev)) + 40
    with localcontext() as context:
        context.prec = 50
        exponents = {z: EXPONENTS[type(law)](law, z) for z in range(-width, width + 1)}
        atoms = {z: (Decimal(e.numerator) / e.denominator).exp() for z, e in exponents.items()}
        total = sum(atoms.values())
        tail = [sum(atoms[z] for z in range(at, width + 1)) / total for at in (reached, max(1, reached - 2))]
        wanted = Decimal(probability.numerator) / probability.denominator
    assert tail[0] <= wanted
    assert reached == 1 or tail[1] > wanted / 3 or reached <= 3


@LAWS_AT
@pytest.mark.parametrize("unit", ["rho", "epsilon"])
def test_atoms_of_losses_sum_to_one_and_dominate(law, epsilon, times, unit):
    if unit == "epsilon" and epsilon is None:
        return
    found = law.dominating(unit)
    if found is None:  # rho alone is known
        assert unit == "rho"
        assert not isinstance(law, DiscreteLaplace | PermuteAndFlip | PoissonSample)
        return
    losses = found.losses(found.parameter)
    mass = losses.masses.sum() + losses.infinite
    assert mass * (1 + 1e-15) >= 1
    assert mass <= 1 + 1e-9
    assert abs(float(losses.masses @ np.exp(-losses.values)) - 1) < 1e-6  # E[exp(-loss)]: it is a pair of laws
    if unit == "epsilon":
        assert found.times * losses.values.max() >= float(law.cost("epsilon")) * (1 - 1e-12)


@LAWS_AT
def test_a_law_goes_through_a_file(law, epsilon, times):
    for again in (
        law_of(law.name, law.parameters, law.delta),
        law_of(law.name, {name: str(value) for name, value in law.parameters.items()}, str(law.delta)),
        pickle.loads(pickle.dumps(law)),
        copy.copy(law),
        copy.deepcopy(law),
    ):
        assert again == law
        assert hash(again) == hash(law)
    ledger = Ledger(Budget(rho=100, reserved_delta="1/2"))
    line = ledger.charge("do", "it", law)
    assert line.law == law
    assert line.law is not law  # nothing the caller does to its own changes the line
    assert (line.noise, line.parameters, line.delta, line.cost) == (
        law.name,
        law.parameters,
        law.delta,
        law.cost("rho"),
    )
    stored = ledger.to_dict()
    assert LedgerReport.from_dict(stored).lines == ledger.lines == (Charge("do", "it", law),)
    assert LedgerReport.from_dict(stored).to_dict() == stored


def test_each_law_of_noise_has_its_exponent_here():
    assert set(EXPONENTS) == {law for law in LAWS.values() if issubclass(law, Noise)}


def test_estimates_know_the_noise_of_every_law():
    assert {law.measured for law in EXPONENTS} == set(NOISE_LAWS) == set(get_args(MeasuredNoise))


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_each_law_says_what_it_guarantees_and_where_that_is_proven(law):
    page = Path(__file__).parents[2] / "docs" / "privacy.md"
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert law.proof in anchors
    assert len(law.guarantee) > 30
    assert law.guarantee[0].islower()
    assert not law.guarantee.endswith(".")
    assert any(isinstance(case, law) for case, _, _ in CASES)


def test_noise_is_drawn_by_its_law():
    counts = np.arange(5)
    assert (
        DiscreteGaussian(9, 1).adder(Sampler(3))(counts).tolist() == Sampler(3).gaussian(Fraction(9))(counts).tolist()
    )
    assert DiscreteLaplace(9, 1).adder(Sampler(3))(counts).tolist() == Sampler(3).laplace(Fraction(9))(counts).tolist()
    law, scores = Exponential(1, score_range=2), np.array([0, 3, 5, 1])
    assert law.draw(scores, Sampler(5)) == Sampler(5).select(scores, Fraction(1, 2))
    assert law.draw_top(scores, 2, Sampler(5), steps=8) == Sampler(5).select_top(scores, Fraction(1, 16), 2)
    flip = PermuteAndFlip(1, score_range=2)
    assert flip.draw(scores, Sampler(5), steps=2) == Sampler(5).permute_and_flip(scores, Fraction(1, 4))
    kept = PoissonSample("1/3", 1).kept(100, Sampler(5))
    assert kept.tolist() == Sampler(5).coins(100, Fraction(1, 3)).tolist()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DiscreteGaussian(0, 1), "variance .* more than 0"),
        (lambda: DiscreteGaussian(1, -1), "squared_sensitivity .* at least 0"),
        (lambda: DiscreteGaussian(1, "1/2"), "squared_sensitivity .* integer"),
        (lambda: DiscreteGaussian(1, 1, delta=1e-9), "does not fail"),
        (lambda: DiscreteLaplace(1, 1, 1, threshold=9, delta=1e-3), "needs the parameters"),
        (lambda: DiscreteLaplace(1, 1, threshold=9, records_per_person=1, delta=1e-3), "needs the parameters"),
        (lambda: DiscreteLaplace(1, 1, 1, threshold=9, records_per_person=1), "fails with a probability"),
        (lambda: DiscreteLaplace(1, 1, 1, threshold=2, records_per_person=1, delta=1e-9), "fails with more"),
        (lambda: Exponential(1, 1, draws=3), "needs the parameters"),
        (lambda: Exponential(1, 1, draws=3, composed=4), "cannot compose"),
        (lambda: PoissonSample("1/2", 1, epsilon="1/100"), "amplified"),
        (lambda: PoissonSample(2, 1), "sampling rate"),
        (Stated, "exactly one"),
        (lambda: Stated(rho=1, delta=1), r"\[0, 1\)"),
    ],
)
def test_what_is_no_law_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
