"""At which resolution pairs are asked: what draws may cost, and what a model tells."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import pypgm
from pypgm.mechanisms.choices import Choices, rho_of_choices
from pypgm.mechanisms.one_way import Independent
from pypgm.mechanisms.pair_allocation import Question
from pypgm.mechanisms.resolution import Values, resolutions, risk
from pypgm.mechanisms.run import Run
from pypgm.privacy import Budget, Privacy

DOMAIN = pypgm.Domain({"a": 12, "b": 12, "c": 3})
PAIRS = [("a", "b"), ("a", "c"), ("b", "c")]
SHARES = {a: np.full(n, 1 / n) for a, n in zip(DOMAIN.attributes, DOMAIN.shape, strict=True)}
SAME = pypgm.Dataset({"a": np.arange(9000) % 12, "b": np.arange(9000) % 12, "c": np.arange(9000) // 3000}, DOMAIN)


def choices(rho=1e-3):
    run = Run("wide", SAME, budget=Budget(rho=1), unsafe_seed=1)
    stddev = run.stddev(rho / 3)
    values = {a: Values(shares, True) for a, shares in SHARES.items()}
    asked = {}
    for pair in PAIRS:
        options = resolutions(*(values[a] for a in pair), 0.25 * 9000 / stddev)
        asked[pair] = Question(options, options[-1], stddev, 1.0)
    return run, asked, Choices(run, asked, Independent(SHARES, 9000.0))


def model(strength):
    """Return a model of 9,000 records in which a and b are the same with some weight, and c is on its own."""
    logs = np.concatenate([np.log1p(strength * np.eye(12)).ravel(), np.zeros(3)])
    return pypgm.GraphicalModel(pypgm.CliqueVector(DOMAIN, [("a", "b"), ("c",)], logs), 9000.0)


@pytest.mark.parametrize("rho", [1e-5, 1e-4, 1e-2])
def test_a_model_suggests_the_answer_of_least_risk(rho):
    _, asked, chosen = choices(rho)
    right = model(200.0)
    suggested = chosen.suggested(right)
    assert list(suggested) == PAIRS
    for pair, (resolution, worth) in suggested.items():
        counts = np.rint(right.project(pair).datavector()).astype(np.int64)
        independent = np.full(counts.size, 9000 / counts.size)
        risks = [risk(counts, independent, r.query, asked[pair].stddev) for r in asked[pair].options]
        least = risk(counts, independent, resolution.query, asked[pair].stddev)
        assert least == min(risks)
        assert worth == max(least - risk(counts, independent, resolution.query, 0.0), 1)


def test_the_less_noise_hides_the_less_an_answer_is_worth():
    (_, much), (_, little) = (choices(rho)[2].suggested(model(200.0))["a", "b"] for rho in (1e-3, 1))
    assert much > 5 * little


def test_draws_are_of_pairs_with_a_choice_and_of_least_risk_where_the_budget_is_large():
    run, asked, chosen = choices(1e-5)
    drawn = chosen.drawn(Fraction(9, 10))
    assert list(drawn) == PAIRS
    assert [line.what for line in run.table.ledger.lines] == ["select"] * sum(
        len(a.options) > 1 for a in asked.values()
    )
    assert 0 < run.table.ledger.spent() <= Fraction(9, 10)
    assert drawn == {pair: resolution for pair, (resolution, _) in chosen.suggested(model(1e9)).items()}
    assert chosen.forecast() == {pair: a.options[-1] for pair, a in asked.items()}


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_nothing_is_drawn_where_noise_would_decide(relation):
    def cost(rho, total):
        return rho_of_choices(Privacy(relation), rho, 100, total)

    assert cost(1e-9, 1000.0) == 0
    assert cost(1.0, 3000.0) == pytest.approx(0.05)
    assert 0 < cost(1.0, 1e7) < 1e-4  # noise of a hundredth of the records is low enough
