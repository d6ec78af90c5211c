import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from pypgm.privacy.noise import drawable_rate
from pypgm.privacy.sampler import Sampler


def test_chi_square_against_the_exact_law():
    scores = np.array([5, 0, -3, 7, 7, 2])
    weights = np.exp(0.3 * (scores - 7))
    expected = 20_000 * weights / weights.sum()
    observed = np.bincount([Sampler().select(scores, Fraction(3, 10)) for _ in range(20_000)], minlength=6)
    assert stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), 5) > 1e-9


def test_a_large_rate_takes_the_best_and_ties_are_even():
    scores = np.array([-(2**63), 2**63 - 1, 0])
    assert {Sampler().select(scores, Fraction(10**15)) for _ in range(200)} == {1}
    seen = {Sampler().select(np.zeros(3, dtype=np.int64), Fraction(1)) for _ in range(200)}
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
        Sampler().select(np.array([1]), Fraction(2**70, 3))


@pytest.mark.parametrize(
    ("scores", "error"),
    [(np.array([1.0]), TypeError), ([1], TypeError), (np.array([], dtype=np.int64), ValueError)],
)
def test_refusals(scores, error):
    with pytest.raises(error):
        Sampler().select(scores, Fraction(1))


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


def permute_and_flip_law(scores, rate):
    """Probabilities of each index, over all orders of the candidates."""
    accept = np.exp(rate * (np.asarray(scores) - max(scores)))
    law = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        reached = 1.0
        for i in order:
            law[i] += reached * accept[i] / len(orders)
            reached *= 1 - accept[i]
    return law


def test_permute_and_flip_follows_its_exact_law_and_never_scores_less():
    scores = np.array([5, 0, -3, 7, 7])
    law = permute_and_flip_law(scores, 0.3)
    observed = np.bincount([Sampler().permute_and_flip(scores, Fraction(3, 10)) for _ in range(20_000)], minlength=5)
    assert stats.chi2.sf(((observed - 20_000 * law) ** 2 / (20_000 * law)).sum(), 4) > 1e-9
    exponential = np.exp(0.3 * scores)
    assert law @ scores > exponential @ scores / exponential.sum()


def test_permute_and_flip_keeps_epsilon_but_not_the_range():
    epsilon, rng, widest = 1.0, np.random.default_rng(0), 0.0
    for _ in range(500):
        scores = rng.integers(-4, 5, size=4)
        other = scores + rng.integers(-1, 2, size=4)
        loss = np.log(permute_and_flip_law(scores, epsilon / 2)) - np.log(permute_and_flip_law(other, epsilon / 2))
        assert np.abs(loss).max() <= epsilon + 1e-9
        widest = max(widest, loss.max() - loss.min())
    assert widest > epsilon  # why it is charged epsilon^2 / 2


def test_top_is_peeling():
    scores = np.array([4, 1, 0, 3])
    weights = np.exp(0.5 * scores)
    expected = np.zeros((4, 4))
    for i, j in itertools.permutations(range(4), 2):
        expected[i, j] = weights[i] / weights.sum() * weights[j] / (weights.sum() - weights[i])
    observed = np.zeros((4, 4))
    for _ in range(20_000):
        i, j = Sampler().select_top(scores, Fraction(1, 2), 2)
        observed[i, j] += 1
    filled = expected > 0
    expected *= 20_000
    assert observed[~filled].sum() == 0
    assert stats.chi2.sf(((observed - expected)[filled] ** 2 / expected[filled]).sum(), 11) > 1e-9
    assert sorted(Sampler().select_top(scores, Fraction(1), 4)) == [0, 1, 2, 3]
    assert Sampler().select_top(scores, Fraction(1000), 4) == [0, 3, 1, 2]


@pytest.mark.parametrize("count", [0, 3])
def test_top_counts_are_checked(count):
    with pytest.raises(ValueError, match=r"takes 1\.\.2"):
        Sampler().select_top(np.array([1, 2]), Fraction(1), count)


@pytest.mark.parametrize("draw", [Sampler().permute_and_flip, lambda s, r: Sampler().select_top(s, r, 1)])
def test_the_other_selections_check_as_well(draw):
    with pytest.raises(TypeError):
        draw(np.array([1.0]), Fraction(1))
    with pytest.raises(ValueError, match="exactly"):
        draw(np.array([1]), Fraction(2**70, 3))
    with pytest.raises(ValueError, match=r"at least one candidate|takes 1"):
        draw(np.array([], dtype=np.int64), Fraction(1))
