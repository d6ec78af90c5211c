from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from pypgm.privacy.selection import drawable_rate, select_exponential


def test_chi_square_against_the_exact_law():
    scores = np.array([5, 0, -3, 7, 7, 2])
    weights = np.exp(0.3 * (scores - 7))
    expected = 20_000 * weights / weights.sum()
    observed = np.bincount([select_exponential(scores, Fraction(3, 10)) for _ in range(20_000)], minlength=6)
    assert stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), 5) > 1e-9


def test_a_large_rate_takes_the_best_and_ties_are_even():
    scores = np.array([-(2**63), 2**63 - 1, 0])
    assert {select_exponential(scores, Fraction(10**15)) for _ in range(200)} == {1}
    seen = {select_exponential(np.zeros(3, dtype=np.int64), Fraction(1)) for _ in range(200)}
    assert seen == {0, 1, 2}


def test_rates_are_rounded_down():
    awkward = Fraction(3**50, 2**90 + 1)
    assert 0 <= 1 - drawable_rate(awkward) / awkward < 1e-12
    assert drawable_rate(Fraction(1, 7)) == Fraction(1, 7)
    assert drawable_rate(Fraction(2**80)) < Fraction(2**62)
    with pytest.raises(ValueError, match="at least"):
        drawable_rate(Fraction(1, 2**80))


def test_a_rate_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="exactly"):
        select_exponential(np.array([1]), Fraction(2**70, 3))


@pytest.mark.parametrize(
    ("scores", "error"),
    [(np.array([1.0]), TypeError), ([1], TypeError), (np.array([], dtype=np.int64), ValueError)],
)
def test_refusals(scores, error):
    with pytest.raises(error):
        select_exponential(scores, Fraction(1))


def test_exact_privacy_loss_between_neighbouring_scores():
    # Closed form: scores of neighbours differ by -1..1 each, the rate is epsilon / R with R = 2.
    epsilon, rng = 1.0, np.random.default_rng(0)
    for _ in range(500):
        scores = rng.integers(-20, 20, size=4)
        other = scores + rng.integers(-1, 2, size=4)
        logs = [stats_log_softmax(epsilon / 2 * s) for s in (scores, other)]
        loss = logs[0] - logs[1]
        assert np.abs(loss).max() <= epsilon + 1e-12
        assert loss.max() - loss.min() <= epsilon + 1e-12


def stats_log_softmax(x):
    return x - np.logaddexp.reduce(x)
