"""Selection by any integer scores: weights, offsets, new models without a new count, stated scores, joint screens."""

import math
import traceback
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from privacy.test_selection_cost import divergences

from pypgm import Budget, Dataset, Domain, Ledger, LedgerReport, Privacy, PrivateTable, _core
from pypgm.errors import BudgetError
from pypgm.privacy import Screen, realised_pld_epsilon
from pypgm.privacy.observer import Observer
from pypgm.privacy.selector import GRID_BITS, SCORE_LIMIT, SCREEN_BITS, Weights, fitted
from pypgm.queries import Partition

DOMAIN = Domain({"a": 2, "b": 3, "c": 2})
CLIQUES = [("a",), ("b",), ("c", "a"), ("b", "c")]
RECORDS = np.random.default_rng(3).integers(0, [2, 3, 2], size=(40, 3))


class Passes(Dataset):
    """Notes what is counted."""

    passes: list

    def count(self, cliques, n_threads=0):
        if not hasattr(self, "passes"):
            self.passes = []
        self.passes.append(list(cliques))
        return super().count(cliques, n_threads)


def dataset(records=RECORDS, kind=Passes):
    return kind(dict(zip("abc", np.asarray(records).reshape(-1, 3).T, strict=True)), DOMAIN)


def table(data=None, privacy=None, budget=None, **more):
    data = dataset() if data is None else data
    return PrivateTable(data, privacy or Privacy(), Ledger(budget or Budget(rho=10**40)), **more)


def zero(clique):
    return np.zeros(DOMAIN.size(clique))


def distances(data, estimate=zero):
    return np.array([np.abs(data.count([c])[0] - estimate(c)).sum() for c in CLIQUES])


# --- weights, offsets, rounds ---


def test_weights_and_offsets_decide():
    def estimate(clique):
        return np.full(DOMAIN.size(clique), 10.0 + len(clique) / 4 + (clique[0] == "b") / 8)

    scores, own = distances(dataset(), estimate), table().l1_selector(CLIQUES, estimate)
    for weights, offsets in (
        (None, None),
        ([1, 5, 0.1, 0], None),
        ([0.001, 1e-6, 0.003, 0.002], [0.01, 0.2, -0.3, 0.001]),
        (None, [0, -1000.5, 3, 500]),
    ):
        wanted = scores * (weights or 1) + (offsets or 0)
        for draw in (own.select, own.permute_and_flip):
            assert draw(epsilon=10**9, weights=weights, offsets=offsets) == wanted.argmax()
        assert own.select_top(None, 4, epsilon=10**10, weights=weights, offsets=offsets) == np.argsort(-wanted).tolist()
    assert own.select([0, 2], epsilon=10**9, weights=[0, 1]) == 2
    assert own.select([2, 0], epsilon=10**9, weights=[1, 0], offsets=[0, 10**6]) == 0


def test_another_model_is_compared_without_counting_again():
    data = dataset()
    own = table(data).l1_selector(CLIQUES[:3], zero)
    own.select([0, 1], rho=1)
    assert data.passes == [[("a",), ("b",)]]
    own.select(rho=1)
    assert data.passes[1:] == [[("c", "a")]]
    truth = {c: data.count([c])[0] for c in CLIQUES}
    data.passes.clear()
    own.compare(lambda c: truth[c] + (7 if c == ("b",) else 0))
    assert own.select(epsilon=10**9) == 1
    own.compare(lambda c: truth[c] + (7 if c == ("c", "a") else 0), [("c", "a"), ("b",)])
    assert own.select(epsilon=10**9) == 0
    own.screen(rho=1)
    assert data.passes == []
    own.compare(zero, CLIQUES)
    own.select(rho=1)
    assert data.passes == [[("b", "c")]]


def test_counts_beyond_what_is_kept_are_counted_again(monkeypatch):
    monkeypatch.setattr(Observer, "kept_cells", 6)
    data = dataset()
    own = table(data).l1_selector(CLIQUES, zero, lambda c: Partition([0] * DOMAIN.size(c)) if len(c) > 1 else None)
    for _ in range(2):
        own.compare(lambda c: [0] if len(c) > 1 else zero(c))
        assert own.select(epsilon=10**9) in range(4)
    assert data.passes == [CLIQUES, [("b", "c")]]  # 2 + 3 + 1 numbers are kept


def test_estimates_of_another_model_are_asked_for_before_the_charge():
    private = table()
    own = private.l1_selector(CLIQUES, zero)
    own.select(rho=1)
    own.compare(lambda c: [math.nan] * DOMAIN.size(c))
    with pytest.raises(ValueError, match="finite"):
        own.select(rho=1)
    with pytest.raises(ValueError, match="unknown attribute"):
        own.compare(zero, [("z",)])
    assert len(private.ledger.lines) == 1


def test_scores_and_counts_end_with_the_table():
    with table() as private:
        own = private.l1_selector(CLIQUES, zero)
        stated = private.selector(CLIQUES, lambda i, counts: int(counts[0]), sensitivity=1)
        own.select(rho=1)
        stated.select(rho=1)
    assert [s._Selector__kept or s._now.scores.any() or s._now.is_scored.any() for s in (own, stated)] == [False, False]
    for ask in (own.select, own.screen, stated.permute_and_flip, stated.screen):
        with pytest.raises(ValueError, match="closed"):
            ask(rho=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": [1, 1]}, "as many weights"),
        ({"offsets": [1]}, "as many weights and offsets"),
        ({"weights": [0, 0, 0, 0]}, "one of them more"),
        ({"weights": [1, 1, 1, -1]}, "at least 0"),
        ({"weights": [1, 1, 1, math.inf]}, "finite"),
        ({"offsets": [0, 0, 0, math.nan]}, "finite"),
        ({"among": [4]}, "positions"),
        ({"among": []}, "positions"),
        ({"among": np.array([4])}, "positions"),
        ({"among": np.array([-1, 0])}, "positions"),
    ],
)
def test_refusals_read_and_charge_nothing(arguments, message):
    data = dataset()
    private = table(data)
    own = private.l1_selector(CLIQUES, zero)
    asks = [own.select, own.permute_and_flip, lambda **a: own.select_top(a.pop("among", None), 1, **a)]
    for ask in asks if "offsets" in arguments else [*asks, own.screen]:
        with pytest.raises(ValueError, match=message):
            ask(rho=1, **arguments)
    assert private.ledger.lines == ()
    assert not hasattr(data, "passes")


# Each of many below the limit, and values that cancel: int64 holds no sum of distances from those.
@pytest.mark.parametrize(
    "estimate", [[1.0], [math.nan] * 12, [2.0**44] * 12, [2.0**43] * 12, [2.0**44, -(2.0**44)] * 6, [-(2.0**45)] * 12]
)
def test_estimates_of_another_size_or_too_large_are_refused_before_the_charge(estimate):
    private = table()
    with pytest.raises(ValueError, match="the estimate of clique"):
        private.l1_selector([("a", "b", "c")], lambda _: estimate).select(rho=1)
    assert private.ledger.lines == ()


def test_positions_are_a_list_and_no_table():
    own = table().l1_selector(CLIQUES, zero)
    with pytest.raises(TypeError):
        own.select(np.array([[0, 1]]), rho=1)
    assert type(own.select(np.array([0, 1]), rho=1)) is type(own.permute_and_flip(rho=1)) is int
    assert type(own.select_top(None, 1, rho=1)[0]) is int


# --- what neighbours change ---


def handed(monkeypatch, sampler):
    """Return the list of what a sampler of the core is given."""
    given = []

    def noted(private, *rest):
        given.append((private.tolist(), *rest[:2]))
        return private if "gaussian" in sampler else 0

    monkeypatch.setattr(_core, sampler, noted)
    return given


records = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=5)
weightings = st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 10)), min_size=4, max_size=4).filter(any)


@settings(max_examples=40)
@given(records, records, weightings, st.sampled_from(["add-remove", "replace"]), st.integers(0, 99))
def test_no_neighbour_changes_weighted_scores_by_more_than_is_charged(base, extra, weights, neighbours, seed):
    rng = np.random.default_rng(seed)
    estimates = {c: rng.uniform(0, 4, DOMAIN.size(c)) for c in CLIQUES}
    k = len(extra)
    pair = (base, base + extra) if neighbours == "add-remove" else (base + [(0, 0, 0)] * k, base + extra)
    with pytest.MonkeyPatch.context() as patched:
        drawn = [handed(patched, name) for name in ("select_exponential", "add_discrete_gaussian")]
        for rows in pair:
            private = table(dataset(rows, Dataset), Privacy(neighbours, k))
            own = private.l1_selector(CLIQUES, estimates.get)
            own.select(rho=1, weights=weights, offsets=[seed, -seed, 0.3, 7])
            own.screen(rho=1, weights=weights)
            lines = private.ledger.lines
        scores = [np.array([given[0] for given in calls], dtype=object) for calls in drawn]
    selection, screen = (s[1] - s[0] for s in scores)
    assert max(selection) - min(selection) <= lines[0].parameters["score_range"] * 2**GRID_BITS
    assert sum(c * c for c in screen) <= lines[1].parameters["squared_sensitivity"]
    assert max(map(abs, screen)) <= lines[1].parameters["largest_change"]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("k", [1, 3])
def test_the_worst_neighbours_use_all_that_a_screen_is_charged(monkeypatch, neighbours, k):
    """Every candidate one-sided: all scores change by as much as they can, at once."""
    given, weights = handed(monkeypatch, "add_discrete_gaussian"), [1, 0.5, 0.25, 0.125]
    base, extra = [[1, 2, 1]] * 9, [[0, 0, 0]] * k
    pair = (base, base + extra) if neighbours == "add-remove" else (base + [[1, 2, 1]] * k, base + extra)
    if neighbours == "add-remove":
        estimate = zero
    else:  # at the cell that loses already too small, at the one that gains too large

        def estimate(clique):
            return [0, *[0] * (DOMAIN.size(clique) - 2), 99]

    for rows in pair:
        private = table(dataset(rows, Dataset), Privacy(neighbours, k))
        private.l1_selector(CLIQUES, estimate).screen(rho=2, weights=weights)
    changes = np.array(given[1][0]) - np.array(given[0][0])
    (line,) = private.ledger.lines
    size = k * (2 if neighbours == "replace" else 1) << SCREEN_BITS
    assert changes.tolist() == [size, size // 2, size // 4, size // 8]
    assert (changes**2).sum() == line.parameters["squared_sensitivity"]
    assert Fraction(given[0][1], given[0][2]) == line.parameters["variance"] == Fraction(int((changes**2).sum()), 4)
    assert line.cost == 2


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 3.0])
def test_a_weighted_selection_costs_at_most_what_it_is_charged(monkeypatch, epsilon):
    """The exact Rényi divergence where one score rises and another falls, the latter with a smaller weight."""
    given = handed(monkeypatch, "select_exponential")
    estimate = {("a",): [0.0, 0.0], ("b",): [10.0, 10.0, 10.0]}
    for extra in ([], [(1, 1, 0)]):
        private = table(dataset([(0, 0, 0)] * 10 + extra, Dataset))
        own = private.l1_selector(list(estimate), estimate.get)
        own.select(epsilon=epsilon, weights=[8, 4])
    (one, n, d), (other, *_) = given
    assert (np.array(other) - one).tolist() == [1 << GRID_BITS, -(1 << GRID_BITS) // 2]
    spent = divergences(one, other, float(Fraction(n, d)))
    assert 0 < spent <= float(private.ledger.lines[0].cost) * (1 + 1e-9)


huge = st.integers(-(2**70), 2**70)


@given(st.lists(st.tuples(huge, st.integers(-50, 50)), min_size=1, max_size=5))
def test_scores_made_to_fit_change_within_the_same_interval(pairs):
    before, after = [s for s, _ in pairs], [s + c for s, c in pairs]
    changes = [c for _, c in pairs]
    for screen in (False, True):
        one, other = (fitted(np.array(s, dtype=object), screen=screen).astype(object) for s in (before, after))
        moved = list(other - one)
        if screen:
            assert all(abs(m) <= abs(c) for m, c in zip(moved, changes, strict=True))
        else:
            assert max(moved) - min(moved) <= max(changes) - min(changes)
            assert one.argmax() == before.index(max(before))
    small = [s for s in before if abs(s) < SCORE_LIMIT // 2]
    for dtype in (object, np.int64):
        assert fitted(np.array(small or [0], dtype=dtype)).tolist() == (small or [0])


def test_weights_are_relative_and_never_lost():
    assert Weights.of(3, [2, 1e-9, 0], [1, 0, -2], 4) == ([16, 1, 0], [8, 0, -16], 0.125, False)
    assert Weights.of(2, None, None, 16).applied(np.array([5, -7])).tolist() == [5, -7]


# --- screens ---


def test_a_screen_has_the_noise_of_its_joint_sensitivity():
    data = dataset()
    private = table(data, budget=Budget(rho=1))
    shown = private.l1_selector(CLIQUES, zero).screen([3, 0, 1], rho="1/2")
    assert isinstance(shown, Screen)
    assert shown.values.dtype == np.int64
    assert shown.stddev == pytest.approx(math.sqrt(3))  # sqrt(candidates / (2 rho))
    assert shown.scores.tolist() == (shown.values / 4096).tolist()
    (line,) = private.ledger.lines
    assert (line.what, line.on, line.noise, line.cost) == ("screen", "3 cliques", "discrete Gaussian", Fraction(1, 2))
    assert LedgerReport.from_dict(private.ledger.to_dict()).lines == (line,)
    assert private.ledger.report().splitlines()[1].split()[:5] == ["screen", "3", "cliques", "discrete", "Gaussian,"]
    assert realised_pld_epsilon(private.ledger, 1e-6) <= private.ledger.realised_epsilon(1e-6)
    with pytest.raises(BudgetError, match=r"screen on 4 cliques needs rho 0\.6"):
        private.l1_selector(CLIQUES, zero).screen(rho=0.6)


def test_a_screen_shows_weighted_scores():
    data = dataset()
    weights = np.array([2.0, 1.0, 0.5, 0.0])
    own = table(data).l1_selector(CLIQUES, lambda c: np.full(DOMAIN.size(c), 3.25))
    shown = own.screen(rho=10**9, weights=weights)
    exact = distances(data, lambda c: np.full(DOMAIN.size(c), 3.25))
    np.testing.assert_allclose(shown.scores, weights * exact, atol=0.01)
    assert shown.stddev == pytest.approx(math.sqrt((weights**2).sum() / 2e9))
    many = table().l1_selector(CLIQUES * 2500, zero).screen(rho=1e-6, weights=np.linspace(1e-3, 1, 10**4))
    assert many.stddev == pytest.approx(math.sqrt((np.linspace(1e-3, 1, 10**4) ** 2).sum() / 2e-6), rel=1e-3)


def test_the_noise_of_a_screen_has_its_law():
    own = table(unsafe_seed=4).l1_selector(CLIQUES * 5000, zero)
    shown = own.screen(rho=100)
    residuals = (shown.scores - np.tile(distances(dataset()), 5000)) / shown.stddev
    assert abs(residuals.mean()) < 0.05
    assert residuals.std() == pytest.approx(1, abs=0.02)
    assert shown.not_private == "noise drawn from a seed"
    assert table().l1_selector(CLIQUES, zero).screen(rho=1).not_private == ""


@pytest.mark.parametrize(("rho", "message"), [(0, "more than 0"), (-1, "more than 0"), (1e-30, "beyond what can be")])
def test_screens_that_cannot_be_drawn(rho, message):
    private = table()
    with pytest.raises(ValueError, match=message):
        private.l1_selector(CLIQUES, zero).screen(rho=rho)
    pure = table(budget=Budget(epsilon=1))
    with pytest.raises(ValueError, match="no pure guarantee"):
        pure.l1_selector(CLIQUES, zero).screen(rho=0.1)
    assert private.ledger.lines == pure.ledger.lines == ()


# --- scores of one's own ---


def test_a_score_of_ones_own():
    data = dataset()
    private = table(data, Privacy(records_per_person=2))
    own = private.selector(CLIQUES, lambda i, counts: int(counts.max()) * (i != 1), sensitivity=1, score_range=1)
    best = [int(data.count([c])[0].max()) * (i != 1) for i, c in enumerate(CLIQUES)]
    assert own.select(epsilon=10**9) == np.argmax(best)
    line = private.ledger.lines[0]
    assert (line.on, line.parameters["score_range"]) == ("4 cliques by a stated score", 2)
    np.testing.assert_allclose(own.screen(rho=10**9).scores, best, atol=0.01)
    assert private.ledger.lines[1].parameters["largest_change"] == 2 << SCREEN_BITS
    own.compare(lambda i, counts: -int(counts.min()))
    data.passes.clear()
    assert own.select(epsilon=10**9, weights=[1, 2, 3, 4], offsets=[100, 0, 0, 0]) == 0
    assert data.passes == []
    wide = private.selector(CLIQUES, lambda i, counts: 2**80 * i, sensitivity=2**80)
    assert wide.select(epsilon=2**60) == 3


def test_a_score_that_fails_tells_nothing():
    """Neither its error nor the counts leave; it is 0, and so is what is no integer."""

    def broken(number, counts):
        if number == 2:
            return 10**6
        if number == 1:
            return 2.5
        counts[:] = -1
        raise RuntimeError(f"the counts are {counts}")

    own = table().selector(CLIQUES, broken, sensitivity=1)
    assert own.select(epsilon=10**6) == 2
    np.testing.assert_allclose(own.screen([0, 1], rho=10**9).scores, 0, atol=0.01)
    own.compare(lambda i, counts: int(counts.sum()))
    np.testing.assert_allclose(own.screen(rho=10**9).scores, 40, atol=0.01)  # it was given a copy


def test_no_frame_holds_counts_where_a_callable_raises():
    def broken(clique):
        raise RuntimeError("no estimate")

    own = table().l1_selector(CLIQUES, zero)
    own.select(rho=1)
    own.compare(broken)
    with pytest.raises(RuntimeError) as failure:
        own.select(rho=1)
    frames = [frame.f_locals for frame, _ in traceback.walk_tb(failure.value.__traceback__)]
    arrays = [v for own in frames for name, v in own.items() if isinstance(v, np.ndarray) and name != "chosen"]
    assert arrays == []


@pytest.mark.parametrize("stated", [(0, 1), (-1, 2), (2, 1), (1, 3)])
def test_what_is_stated_is_checked(stated):
    with pytest.raises(ValueError, match="one to two times"):
        table().selector(CLIQUES, lambda i, counts: 0, sensitivity=stated[0], score_range=stated[1])
    with pytest.raises(TypeError, match="integer"):
        table().selector(CLIQUES, lambda i, counts: 0, sensitivity=1.5)
