"""What pairs are asked: what draws may cost, and what a model tells."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import pypgm
from pypgm.mechanisms.choices import Choices, rho_of_choices
from pypgm.mechanisms.one_way import Independent
from pypgm.mechanisms.resolution import risk
from pypgm.mechanisms.run import Run
from pypgm.privacy import Budget, Privacy

DOMAIN = pypgm.Domain({"a": 12, "b": 12, "c": 3})
PAIRS = [("a", "b"), ("a", "c"), ("b", "c")]
SHARES = {a: np.full(n, 1 / n) for a, n in zip(DOMAIN.attributes, DOMAIN.shape, strict=True)}
SAME = pypgm.Dataset({"a": np.arange(9000) % 12, "b": np.arange(9000) % 12, "c": np.arange(9000) // 3000}, DOMAIN)


def choices(rho=1e-3, data=SAME):
    run = Run("wide", data, budget=Budget(rho=1), unsafe_seed=1)
    return run, Choices(run, dict.fromkeys(PAIRS, 1 / 3), Independent(SHARES, 9000.0), {"a", "b", "c"}, rho)


def model(strength):
    """Return a model of 9,000 records in which a and b are the same with some weight, and c is on its own."""
    logs = np.concatenate([np.log1p(strength * np.eye(12)).ravel(), np.zeros(3)])
    return pypgm.GraphicalModel(pypgm.CliqueVector(DOMAIN, [("a", "b"), ("c",)], logs), 9000.0)


@pytest.mark.parametrize("rho", [1e-8, 1e-4, 1e-2])
def test_a_model_suggests_the_answer_of_least_risk(rho):
    run, asked = choices(rho)
    right = model(200.0)
    suggested = asked.suggested(right)
    assert set(suggested) <= {("a", "b")}
    assert (rho < 1e-7) == (not suggested)
    noise, counts = run.stddev(rho / 3), np.rint(right.project(("a", "b")).datavector()).astype(np.int64)
    independent = np.full(144, 9000 / 144)
    for resolution, worth in suggested.values():
        least = risk(counts, independent, resolution.query, noise)
        assert least <= risk(counts, independent, asked.blind()["a", "b"].query, noise)
        assert least < risk(counts, independent, None, noise)
        assert worth == max(least - risk(counts, independent, resolution.query, 0.0), 1)


def test_where_a_model_says_that_all_is_independent_nothing_is_asked():
    assert not choices()[1].suggested(model(0.0))


def test_the_less_noise_hides_the_less_an_answer_is_worth():
    (_, much), (_, little) = (choices(rho)[1].suggested(model(200.0))["a", "b"] for rho in (1e-3, 1))
    assert much > 5 * little


def test_draws_are_of_each_pair_and_of_least_risk_where_the_budget_is_large():
    run, asked = choices()
    drawn = asked.drawn(Fraction(9, 10))
    assert set(drawn) == {("a", "b")}
    assert [line.what for line in run.table.ledger.lines] == ["select"] * 3
    assert run.table.ledger.spent() <= Fraction(9, 10)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_nothing_is_drawn_where_noise_would_decide_or_records_are_too_many(relation):
    def cost(rho, total):
        return rho_of_choices(Privacy(relation), rho, 100, total)

    assert cost(1e-9, 1000.0) == 0
    assert cost(1.0, 3000.0) == pytest.approx(0.05)
    assert 0 < cost(1.0, 1e7) < 1e-4  # noise of a hundredth of the records is low enough
    assert cost(1.0, 2.0**36) == 0
