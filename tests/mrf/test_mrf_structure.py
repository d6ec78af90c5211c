"""Private graphs of Markov random fields: by threshold, and by votes of blocks."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from pypgm import Budget, CliqueVector, Dataset, Domain, Ledger, Privacy, PrivateTable, mrf
from pypgm.mrf.stability import Stability, blocks_of
from pypgm.privacy.noise import laplace_threshold
from pypgm.privacy.sampler import Sampler

P = 6
DIAMOND = [(0, i) for i in range(1, P - 1)] + [(i, P - 1) for i in range(1, P - 1)]
DOMAIN = Domain([f"x{i}" for i in range(P)], [2] * P)
EDGES = {(f"x{i}", f"x{j}") for i, j in DIAMOND}
POTENTIALS = CliqueVector(
    DOMAIN, [(f"x{i}", f"x{j}") for i, j in DIAMOND], np.tile([0.2, -0.2, -0.2, 0.2], len(DIAMOND))
)
EMPTY = Dataset({a: np.zeros(0, dtype=int) for a in DOMAIN}, DOMAIN)


def test_a_threshold_finds_the_graph():
    data = mrf.sample(POTENTIALS, 100_000, rng=0).data
    found = mrf.learn_structure(data, radius=0.9, eta=0.2, epsilon=6, delta=1e-6, steps=150, unsafe_seed=1)
    assert set(found.edges) == EDGES
    assert {frozenset(e) for e in found.graph.edges} == {frozenset(e) for e in EDGES}
    assert all(0.1 <= attributes["weight"] <= 0.3 for *_, attributes in found.graph.edges(data=True))
    assert set(found.graph.nodes) == set(DOMAIN)
    assert found.edges == found.release.edges(0.1)
    assert found.ledger.lines == found.release.ledger.lines
    with pytest.raises(ValueError, match="of 0 blocks"):
        found.none_probability([1])


def test_blocks_agree_on_the_graph():
    data = mrf.sample(POTENTIALS, 100_000, rng=1).data
    found = mrf.learn_structure(data, radius=1.0, eta=0.2, epsilon=1, delta=1e-6, method="stability", unsafe_seed=1)
    assert set(found.edges) == EDGES
    assert found.threshold == 1 + laplace_threshold(Fraction(2), Fraction(1, 10**6))
    assert found.n_blocks == 3 * found.threshold
    (line,) = found.ledger.lines
    assert (line.cost, line.delta) == (1, Fraction(1, 10**6))
    assert found.ledger.epsilon() == 1
    assert found.release is None
    assert found.none_probability([found.n_blocks]) < 1e-9


@pytest.mark.slow
def test_blocks_agree_nine_times_of_ten_at_the_simulated_size():
    def learn(block):
        strengths = mrf.fit_logistic(block, 1.0, tolerance=1e-4).strengths()
        return {(f"x{i}", f"x{j}") for i, j in np.argwhere(np.triu(strengths >= 0.1, 1)).tolist()}

    size = mrf.simulated_block_size(POTENTIALS, learn, EDGES, budget=Budget(epsilon=1, delta=1e-6), rng=0)
    hits = 0
    for seed in range(10):
        data = mrf.sample(POTENTIALS, size.total, rng=seed).data
        found = mrf.learn_structure(
            data, radius=1.0, eta=0.2, epsilon=1, delta=1e-6, method="stability", unsafe_seed=seed
        )
        hits += found.edges is not None and set(found.edges) == EDGES
    assert hits >= 9


@pytest.mark.parametrize("votes", ["all alike", "all different"])
def test_no_graph_is_released_as_often_as_is_stated(votes):
    """Of records that are all alike no edge is learned; blocks whose votes are all different hardly ever pass."""
    runs = 400
    table = PrivateTable(EMPTY, Privacy(), Ledger(Budget(epsilon=10**6, reserved_delta="1/2")))
    numbers = iter(range(10**9))
    voter = (lambda _: ()) if votes == "all alike" else (lambda _: ((0, next(numbers)),))
    epsilon, delta = Fraction(1), Fraction(1, 1000 if votes == "all alike" else 20)
    n_blocks = 1 + laplace_threshold(2 / epsilon, delta) + (0 if votes == "all alike" else 8)
    none = 0
    for seed in range(runs):
        table = PrivateTable(EMPTY, Privacy(), Ledger(Budget(epsilon=1, reserved_delta=delta)), unsafe_seed=seed)
        found = Stability(table, voter, n_blocks).release(epsilon=epsilon, delta=delta)
        none += found.edges is None
    stated = mrf.Structure((), None, table.ledger, None, found.threshold, n_blocks, 2.0).none_probability(
        [n_blocks] if votes == "all alike" else [1] * n_blocks
    )
    assert 0.2 < stated < 0.8
    assert abs(none / runs - stated) < 3.3 * math.sqrt(stated * (1 - stated) / runs)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_thin_data_say_nothing(neighbours):
    data = mrf.sample(POTENTIALS, 500, rng=0).data
    found = mrf.learn_structure(
        data,
        radius=1.0,
        eta=0.2,
        epsilon=1,
        delta=1e-6,
        method="stability",
        neighbours=neighbours,
        n_blocks=40,
        unsafe_seed=0,
    )
    assert found.edges is None
    assert found.graph is None
    with pytest.raises(ValueError, match="no graph was stable"):
        found.plot()
    with pytest.raises(ValueError, match="those of 40 blocks"):
        found.none_probability([39])


def test_several_records_a_person_move_several_votes():
    found = mrf.learn_structure(
        EMPTY,
        radius=1.0,
        eta=0.2,
        epsilon=1,
        delta=1e-6,
        method="stability",
        privacy=Privacy(records_per_person=3),
        unsafe_seed=0,
    )
    assert found.scale == 6
    assert found.threshold == 3 + laplace_threshold(Fraction(6), Fraction(1, 3 * 10**6))
    assert found.edges == {}  # no record, no edge: all blocks agree


def test_an_open_table_with_rho_pays_half_of_the_square():
    table = PrivateTable(EMPTY, Privacy(), Ledger(Budget(rho="1/2", reserved_delta="1/1000")))
    found = mrf.learn_structure(table, radius=1.0, eta=0.2, method="stability", n_blocks=60)
    assert float(found.scale) == pytest.approx(2)
    assert 0.499 < table.ledger.spent() <= Fraction(1, 2)
    assert not table.closed


def test_blocks_are_uniform_and_independent_of_order():
    found = blocks_of(60_000, 7, Sampler(3))
    counts = np.bincount(found, minlength=7)
    assert ((counts - 60_000 / 7) ** 2 / (60_000 / 7)).sum() < 30
    pairs = np.bincount(7 * found[:-1] + found[1:], minlength=49)
    assert ((pairs - 60_000 / 49) ** 2 / (60_000 / 49)).sum() < 100


def test_a_learner_that_fails_votes_for_no_edge():
    def vote(block):
        if len(block):
            raise RuntimeError(f"{len(block)} records")
        return ()

    data = mrf.sample(POTENTIALS, 50, rng=0).data
    table = PrivateTable(data, Privacy(), Ledger(Budget(epsilon=1, reserved_delta="1/1000")), unsafe_seed=1)
    assert Stability(table, vote, 80).release(epsilon=Fraction(1), delta=Fraction(1, 1000)).edges == ()


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"eta": 0}, ValueError, "eta must be positive"),
        ({"radius": -1}, ValueError, "radius must be positive"),
        ({"method": "luck"}, ValueError, "method must be"),
        ({"n_blocks": 3}, ValueError, "n_blocks for 'stability'"),
        ({"method": "stability", "steps": 3}, ValueError, "steps are for"),
        ({"method": "stability", "n_blocks": 0}, ValueError, "n_blocks must be"),
        ({"method": "stability", "delta": None}, ValueError, "needs a delta"),
        ({"method": "stability", "epsilon": None}, TypeError, "needs a budget"),
    ],
)
def test_what_cannot_be_is_refused(options, error, text):
    given = {"radius": 1.0, "eta": 0.2, "epsilon": 1, "delta": 1e-6, **options}
    with pytest.raises(error, match=text):
        mrf.learn_structure(EMPTY, **given)


def test_counts_without_records_are_refused():
    class Tables:
        n_records, weights, domain = 3, None, DOMAIN

    table = PrivateTable(Tables(), Privacy(), Ledger(Budget(epsilon=1, reserved_delta="1/10")))
    with pytest.raises(TypeError, match="records of a Dataset"):
        Stability(table, lambda _: (), 3)
    with pytest.raises(ValueError, match="at least one block"):
        Stability(PrivateTable(EMPTY, Privacy(), Ledger(Budget(epsilon=1))), lambda _: (), 0)


def test_graphs_are_drawn_with_the_strengths_of_their_edges():
    pytest.importorskip("matplotlib")
    data = mrf.sample(POTENTIALS, 50_000, rng=0).data
    found = mrf.learn_structure(data, radius=0.9, eta=0.2, epsilon=2, delta=1e-6, steps=30, unsafe_seed=1)
    ax = found.plot()
    assert len(ax.lines) == len(found.edges)
    widest = max(ax.lines, key=lambda line: line.get_linewidth())
    (a, b), _ = max(found.edges.items(), key=lambda edge: edge[1])
    angle = {name: np.pi / 2 - 2 * np.pi * i / P for i, name in enumerate(DOMAIN)}
    np.testing.assert_allclose(widest.get_xdata(), [np.cos(angle[a]), np.cos(angle[b])])
    again = found.release.plot(0.1)
    assert len(again.lines) == len(found.edges)
    assert {t.get_text() for t in ax.texts} >= set(DOMAIN)
    assert mrf.Structure(("a",), {}, found.ledger, None, 1.0).plot(again) is again
