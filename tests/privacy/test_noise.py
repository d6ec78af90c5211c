import os
import threading
from fractions import Fraction

import numpy as np
import pytest
from lock import lets_others_in
from scipy import stats

from pypgm import _core
from pypgm.privacy.noise import drawable_scale, drawable_variance, laplace_stddev
from pypgm.privacy.sampler import Sampler

ALPHA = 1e-9  # of one test: no seed exists, so a sound sampler fails once in 1e9 runs
SCALES = [Fraction(3, 10), Fraction(1), Fraction(27, 10), Fraction(10), Fraction(1234567, 12345), Fraction(10**4)]
LAWS = ["gaussian", "laplace"]


def draw(law, scale, n):
    counts = np.zeros(n, dtype=np.int64)
    return Sampler().laplace(scale)(counts) if law == "laplace" else Sampler().gaussian(scale**2)(counts)


def cell_probabilities(law, scale, edges):
    """Exact probabilities of [edge, next edge), summed from the pmf over all integers that carry any mass."""
    reach = int(40 * scale) + 40 if law == "laplace" else int(12 * scale) + 12
    z = np.arange(-reach, reach + 1)
    log_weight = -np.abs(z) / float(scale) if law == "laplace" else -(z**2) / (2 * float(scale) ** 2)
    cumulated = np.concatenate([[0], np.cumsum(np.exp(log_weight))])
    at = np.clip(np.asarray(edges) + reach, 0, z.size)
    return np.diff(cumulated[at]) / cumulated[-1]


def chi_square(law, scale, n):
    spread = laplace_stddev(scale) if law == "laplace" else float(scale)
    step = max(1, int(spread / 8))
    inner = np.arange(-int(4 * spread) // step * step, int(4 * spread) + step + 1, step)
    edges = np.concatenate([[-(10**9)], inner, [10**9]])
    expected = n * cell_probabilities(law, scale, edges)
    observed = np.histogram(draw(law, scale, n), edges)[0]
    # Cells too rare for the chi-square law are joined with their neighbours from both ends.
    while expected.size > 2 and expected[0] < 10:
        expected = np.concatenate([[expected[0] + expected[1]], expected[2:]])
        observed = np.concatenate([[observed[0] + observed[1]], observed[2:]])
    while expected.size > 2 and expected[-1] < 10:
        expected = np.concatenate([expected[:-2], [expected[-2] + expected[-1]]])
        observed = np.concatenate([observed[:-2], [observed[-2] + observed[-1]]])
    statistic = ((observed - expected) ** 2 / expected).sum()
    return stats.chi2.sf(statistic, expected.size - 1)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_chi_square_against_the_exact_law(law, scale):
    assert chi_square(law, scale, 100_000) > ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", [*SCALES, Fraction(1, 2), Fraction(7, 10), Fraction(100), Fraction(3333)], ids=str)
def test_chi_square_against_the_exact_law_with_a_million_draws(law, scale):
    assert chi_square(law, scale, 1_000_000) > ALPHA


def test_a_wrong_scale_fails_the_chi_square_test():
    edges = np.arange(-40, 42)
    expected = 100_000 * cell_probabilities("gaussian", Fraction(10), edges)
    observed = np.histogram(draw("gaussian", Fraction(21, 2), 100_000), edges)[0]
    assert stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), expected.size - 1) < ALPHA


def test_noise_is_added_and_the_input_is_left_alone():
    counts = np.arange(1000, dtype=np.int64) * 10**12
    for noisy in (Sampler().gaussian(Fraction(4))(counts), Sampler().laplace(Fraction(2))(counts)):
        assert noisy.dtype == np.int64
        assert 0 < np.abs(noisy - counts).max() < 200
    assert counts.tolist() == [i * 10**12 for i in range(1000)]
    assert Sampler().gaussian(Fraction(1))(counts[::2]).shape == (500,)
    assert Sampler().gaussian(Fraction(1))(counts[:0]).shape == (0,)


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_threads_each_draw_their_own_noise(law):
    counts = np.zeros(300_000, dtype=np.int64)
    drawn = getattr(Sampler(n_threads=2), law)(Fraction(2**40))(counts)
    starts = [drawn[i : i + 8].tobytes() for i in range(0, drawn.size, 4096)]
    assert len(set(starts)) == len(starts)  # a shared stream would repeat whole chunks
    edges = np.quantile(drawn, np.linspace(0, 1, 9))
    assert getattr(Sampler(n_threads=0), law)(Fraction(4))(counts).std() > 0
    assert abs(np.searchsorted(edges, 0) - 4) <= 1
    with pytest.raises(ValueError, match="n_threads"):
        Sampler(n_threads=-1)


def test_chi_square_of_draws_from_many_threads():
    drawn = Sampler(n_threads=2).gaussian(Fraction(4))(np.zeros(200_000, dtype=np.int64))
    expected = drawn.size * cell_probabilities("gaussian", Fraction(2), np.arange(-7, 9))
    observed = np.histogram(drawn, np.arange(-7, 9))[0]
    assert stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), expected.size - 1) > ALPHA


def test_laplace_stddev_is_that_of_the_law():
    for scale in (Fraction(3, 10), Fraction(5)):
        z = np.arange(-400, 401)
        p = np.exp(-np.abs(z) / float(scale))
        assert laplace_stddev(scale) == pytest.approx(np.sqrt((p * z**2).sum() / p.sum()))


def test_parameters_are_rounded_to_more_noise_and_kept_where_they_fit():
    assert drawable_variance(Fraction(7, 3)) == Fraction(7, 3)
    awkward = Fraction(3**50, 2**80 + 1)
    assert 0 <= drawable_variance(awkward) / awkward - 1 < 1e-12
    assert 0 <= drawable_scale(awkward) / awkward - 1 < 1e-9
    assert 0 < drawable_variance(Fraction(1, 2**200)) < Fraction(1, 2**60)
    Sampler().gaussian(drawable_variance(awkward))(np.zeros(1, dtype=np.int64))
    Sampler().laplace(drawable_scale(awkward))(np.zeros(1, dtype=np.int64))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Sampler().gaussian(Fraction(1))(np.zeros(2)), TypeError, "int64"),
        (lambda: Sampler().laplace(Fraction(1))([1, 2]), TypeError, "int64"),
        (lambda: Sampler().gaussian(Fraction(1))(np.zeros((2, 2), dtype=np.int64)), TypeError, "one-dimensional"),
        (lambda: Sampler().gaussian(Fraction(1, 2**70))(np.zeros(2, dtype=np.int64)), ValueError, "exactly"),
        (lambda: Sampler().laplace(Fraction(1, 2**70))(np.zeros(2, dtype=np.int64)), ValueError, "exactly"),
        (lambda: drawable_variance(Fraction(0)), ValueError, "more than 0"),
        (lambda: drawable_scale(Fraction(-1)), ValueError, "more than 0"),
        (lambda: drawable_variance(Fraction(2**70)), ValueError, "beyond what can be drawn"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


def wide_noise(n=1000):
    """Noise so wide that two equal draws among thousands would be a sign of a shared stream."""
    return Sampler().gaussian(Fraction(2**60))(np.zeros(n, dtype=np.int64))


def test_threads_never_share_noise():
    drawn = [None] * 4

    def work(i):
        drawn[i] = wide_noise()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    streams = [*drawn, wide_noise()]
    for i, a in enumerate(streams):
        for b in streams[i + 1 :]:
            assert np.intersect1d(a, b).size < 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_children_never_share_noise():
    wide_noise(3)  # the parent's stream is open and buffered
    streams = []
    for _ in range(2):
        out, into = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(into, wide_noise().tobytes())
            os._exit(0)
        os.close(into)
        with os.fdopen(out, "rb") as pipe:
            streams.append(np.frombuffer(pipe.read(), dtype=np.int64))
        assert os.waitpid(child, 0)[1] == 0
    streams.append(wide_noise())
    assert [s.size for s in streams] == [1000] * 3
    for i, a in enumerate(streams):
        for b in streams[i + 1 :]:
            assert not np.array_equal(a[:5], b[:5])
            assert np.intersect1d(a, b).size < 10


def test_the_lock_is_released_while_noise_is_drawn():
    counts = np.zeros(100_000, dtype=np.int64)
    assert lets_others_in(lambda: _core.add_discrete_gaussian(counts, 2**60, 1))
