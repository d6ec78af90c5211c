"""Records of Markov random fields against enumeration, and the diagnostics of chains."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pypgm import CliqueVector, Domain, JunctionTree, ModelTooLargeError, mrf
from pypgm.mrf.sampling import as_spins

# A correct sampler fails one of these tests with this probability; seeds are fixed.
LEAST_P = 1e-4
RINGS = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"), ("d",), ("b",)]


def ising(sign=1.0, domain=None):
    """A ring of four with couplings of one sign but for their size, and two fields."""
    tables = [sign * j * np.array([1, -1, -1, 1]) for j in (0.3, 0.5, 0.2, 0.4)]
    return CliqueVector(
        domain or Domain(dict.fromkeys("abcd", 2)), RINGS, np.concatenate([*tables, [0, 0.4], [0.3, 0]])
    )


def three_way():
    domain = Domain({"a": 3, "b": 2, "c": 4})
    cliques = [("a", "b", "c"), ("a", "c"), ("b",)]
    values = np.random.default_rng(3).normal(size=sum(domain.size(c) for c in cliques))
    return CliqueVector(domain, cliques, values)


def p_value(potentials, drawn):
    """Return the chi-square p-value of records against all cells of the joint distribution."""
    domain = potentials.domain
    joint = CliqueVector(
        domain, [*potentials.cliques, tuple(domain)], np.append(potentials.values, np.zeros(domain.size()))
    )
    expected = JunctionTree(domain, joint.cliques).marginals(joint)[tuple(domain)].datavector()
    observed = drawn.data.project(tuple(domain)).datavector()
    assert observed[expected == 0].sum() == 0
    positive = expected > 0
    return stats.chisquare(observed[positive], expected[positive] * observed.sum()).pvalue


@pytest.mark.parametrize("method", ["exact", "coupling", "gibbs"])
def test_binary_pairwise_records_follow_the_model(method):
    drawn = mrf.sample(ising(), 40_003, method=method, thin=12, burn_in=50, rng=1)
    assert drawn.method == method
    assert len(drawn.data) == 40_003
    assert p_value(ising(), drawn) > LEAST_P


def test_coupling_takes_models_that_swapped_values_make_attractive():
    # A ring of even length is attractive after every second spin has been flipped; one of odd length is not.
    assert p_value(ising(-1.0), mrf.sample(ising(-1.0), 30_000, method="coupling", rng=2)) > LEAST_P
    odd = CliqueVector(Domain(dict.fromkeys("abc", 2)), [("a", "b"), ("b", "c"), ("a", "c")], [-1, 1, 1, -1] * 3)
    with pytest.raises(ValueError, match="attractive interactions"):
        mrf.sample(odd, 10, method="coupling")


@pytest.mark.parametrize("method", ["exact", "gibbs"])
def test_records_of_larger_tables_follow_the_model(method):
    drawn = mrf.sample(three_way(), 50_000, method=method, thin=8, burn_in=50, rng=4)
    assert p_value(three_way(), drawn) > LEAST_P


def test_exact_records_keep_structural_zeros():
    domain = Domain({"a": 2, "b": 3, "c": 2})
    zeros = CliqueVector(
        domain, [("a", "b"), ("b", "c")], [0, -np.inf, 1, -np.inf, -np.inf, 0, 0.5, 0, 0, -np.inf, 1, 0]
    )
    drawn = mrf.sample(zeros, 20_000, method="exact", rng=0)
    assert p_value(zeros, drawn) > LEAST_P
    assert mrf.sample(zeros, 10).method == "exact"
    with pytest.raises(ValueError, match="method='exact'"):
        mrf.sample(zeros, 10, method="gibbs")


def test_spins_have_the_densities_of_the_potentials():
    potentials = ising(0.7)
    spins = as_spins(potentials)
    states = np.array(list(np.ndindex(2, 2, 2, 2)))
    signs = 2 * states - 1
    energy = signs @ spins.fields + 0.5 * np.einsum("ri,ij,rj->r", signs, spins.couplings.toarray(), signs)
    tables = [potentials.table(i).reshape([2] * len(s)) for i, s in enumerate(potentials.scopes)]
    direct = sum(t[tuple(states[:, s].T)] for t, s in zip(tables, map(list, potentials.scopes), strict=True))
    np.testing.assert_allclose(np.ptp(energy - direct), 0, atol=1e-12)
    assert as_spins(three_way()) is None


@pytest.mark.parametrize("method", ["exact", "coupling", "gibbs"])
def test_records_depend_on_the_seed_alone(method):
    def columns(seed, n_threads):
        data = mrf.sample(ising(), 5000, method=method, rng=seed, n_threads=n_threads).data
        return np.array(list(data.columns.values()))

    np.testing.assert_array_equal(columns(7, 1), columns(7, 2))
    assert (columns(7, 1) != columns(8, 1)).any()


def grid(side, coupling):
    names = {f"{i},{j}": 2 for i in range(side) for j in range(side)}
    right = [(f"{i},{j}", f"{i},{j + 1}") for i in range(side) for j in range(side - 1)]
    down = [(f"{i},{j}", f"{i + 1},{j}") for i in range(side - 1) for j in range(side)]
    cells = coupling * np.tile([1.0, -1.0, -1.0, 1.0], len(right + down))
    return CliqueVector(Domain(names), right + down, cells)


def test_auto_takes_what_applies_and_is_fast():
    assert mrf.sample(grid(3, 0.2), 100, rng=0).method == "exact"
    coupled = mrf.sample(grid(30, 0.2), 100, rng=0)
    assert (coupled.method, coupled.data.columns["0,0"].dtype) == ("coupling", np.uint8)
    assert 8 <= coupled.sweeps <= 1024
    assert mrf.sample(grid(30, 2.0), 100, burn_in=10, rng=0).method == "gibbs"
    with pytest.raises(ModelTooLargeError):
        mrf.sample(grid(60, 0.2), 100, method="exact")


def test_a_frozen_model_shows_in_r_hat():
    warm = mrf.sample(grid(8, 0.1), 64_000, method="gibbs", rng=0)
    assert max(warm.r_hat().values()) < 1.01
    assert 10_000 < min(warm.effective_size().values()) <= max(warm.effective_size().values()) < 200_000
    frozen = mrf.sample(grid(8, 3.0), 64_000, method="gibbs", rng=0)
    assert min(frozen.r_hat().values()) > 1.5
    assert max(frozen.effective_size().values()) < 200
    with pytest.raises(ValueError, match="independent"):
        mrf.sample(ising(), 100, method="exact").r_hat()


def autoregression(phi, n_chains, n_draws):
    noise = np.random.default_rng(5).normal(size=(n_chains, n_draws))
    noise[:, 0] /= (1 - phi**2) ** 0.5
    for t in range(1, n_draws):
        noise[:, t] += phi * noise[:, t - 1]
    return noise


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9, -0.5])
def test_effective_size_of_an_autoregression(phi):
    # The mean of an AR(1) process has the variance of n (1 - phi) / (1 + phi) independent draws.
    found = mrf.effective_sample_size(autoregression(phi, 8, 5000))
    assert found == pytest.approx(40_000 * (1 - phi) / (1 + phi), rel=0.15)


def test_r_hat_against_its_formula():
    draws = autoregression(0.3, 3, 101)
    halves = [half for chain in draws for half in (chain[:50], chain[51:])]
    within = np.mean([half.var(ddof=1) for half in halves])
    between = 50 * np.var([half.mean() for half in halves], ddof=1)
    assert mrf.split_r_hat(draws) == pytest.approx(((49 / 50 * within + between / 50) / within) ** 0.5)


def test_constant_chains():
    assert mrf.split_r_hat(np.ones((2, 10))) == 1
    assert mrf.effective_sample_size(np.ones((2, 10))) == 20
    assert mrf.split_r_hat([[0] * 4, [1] * 4]) == np.inf


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "metropolis"}, "method must be"),
        ({"rows": 0}, "rows must be at least 1"),
        ({"n_chains": 0}, "n_chains must be at least 1"),
        ({"burn_in": -1}, "burn_in must be at least 0"),
        ({"thin": 0}, "thin must be at least 1"),
        ({"potentials": ising() * np.nan}, "finite logarithms"),
        ({"potentials": CliqueVector(Domain({"a": 257}), ["a"])}, "'a' has 257"),
        ({"potentials": three_way(), "method": "coupling"}, "needs binary attributes"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        mrf.sample(**{"potentials": ising(), "rows": 10} | options)


@pytest.mark.parametrize("draws", [np.zeros(5), np.zeros((2, 3)), [[0, 1, 2, np.nan]]])
def test_diagnostics_refuse(draws):
    for function in (mrf.split_r_hat, mrf.effective_sample_size):
        with pytest.raises(ValueError, match="draws"):
            function(draws)
