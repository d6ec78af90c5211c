"""Intervals of any statistic: what they are made of, what they say of themselves, and how often they hold."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest

import pypgm
from pypgm import Dataset, Domain, Schema, mechanisms, queries
from pypgm._base.student import upper_end
from pypgm.data import Integer, Real
from pypgm.errors import EstimateInterruptedWarning
from pypgm.estimation.total import estimate_total
from pypgm.intervals import scales
from pypgm.intervals.scales import TAUS, PairAnswer, PairTable, Side, pair_answers
from pypgm.mechanisms.tables import mechanism_named, mechanism_names, needs_more
from pypgm.privacy import Ledger, PrivateTable

DOMAIN = Domain({"a": 4, "b": 5, "c": 3, "d": 2})
FEW = {"worlds": 3, "truths": 4}


def people(n=2000, seed=0):
    """Return records of three kinds: all attributes depend on each other."""
    rng = np.random.default_rng(seed)
    kind, columns = rng.integers(0, 3, n), {}
    for name, size in zip(DOMAIN.attributes, DOMAIN.shape, strict=True):
        own = rng.dirichlet(np.full(size, 0.7), 3).cumsum(axis=1)
        columns[name] = (rng.random(n)[:, None] > own[kind]).sum(axis=1).clip(0, size - 1)
    return Dataset(columns, DOMAIN)


def released(mechanism="mst", seed=0, epsilon=1, **options):
    return getattr(mechanisms, mechanism)(people(seed=seed), epsilon=epsilon, delta=1e-9, unsafe_seed=seed, **options)


@pytest.fixture(scope="module")
def release():
    return released()


def mean(records):
    return np.mean(records["a"])


def correlation(records):
    return np.corrcoef(records["a"], records["b"])[0, 1]


RENAMED = Domain({"a": 4, "b": 4, "c": 4, "d": 2})


def a_release_of_some_pairs(mechanism, seed):
    """Return a release of which some pairs are measured and some are not: one pair depends much, others hardly."""
    rng = np.random.default_rng(seed)
    columns = {a: rng.integers(0, size, 600) for a, size in zip(RENAMED, RENAMED.shape, strict=True)}
    columns["b"] = np.where(rng.random(600) < 0.95, columns["a"], columns["b"])
    options = {"budget": pypgm.Budget(rho=0.02), "unsafe_seed": seed}
    return getattr(mechanisms, mechanism)(Dataset(columns, RENAMED), **options)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("mechanism", ["wide", "mst", "aim", "privbayes", "mwem"])
def test_errors_and_intervals_do_not_depend_on_the_name_of_the_mechanism(mechanism, seed):
    """Nor does anything else of a release but what says its name."""
    release = a_release_of_some_pairs(mechanism, seed)
    pairs = list(itertools.combinations(RENAMED, 2))
    assert "unmeasured" in {release.model.basis(pair) for pair in pairs}
    for name in ({"wide", "our_wide", "mst"}) - {mechanism}:
        other = replace(release, mechanism=name)
        for own, found in zip(*(r.expected_error_many(pairs, draws=3) for r in (release, other)), strict=True):
            np.testing.assert_array_equal(own.values, found.values)
        for names in ("ab", "ac"):
            ends = [
                (found.low, found.high)
                for r in (release, other)
                for found in [r.interval(lambda t, n=names: np.corrcoef(t[n[0]], t[n[1]])[0, 1], worlds=2, truths=3)]
            ]
            assert ends[0] == ends[1]


def test_pairs_that_noise_would_hide_are_less_uncertain_than_those_that_nobody_asked():
    release = a_release_of_some_pairs("wide", 0)
    assert release.unmeasured == "hidden by noise"
    unscreened = replace(release, screen=None)  # which would bound both
    other = replace(unscreened, unmeasured="not asked")
    narrow, wide = (r.expected_error(("a", "c"), draws=3).values.mean() for r in (unscreened, other))
    assert narrow < wide
    with pytest.raises(ValueError, match="unmeasured must be"):
        replace(release, unmeasured="wide")


def side(counts, variance):
    values = np.arange(len(counts))
    return Side(np.array(counts, dtype=float), np.full(values.size, variance), values, values)


@pytest.mark.parametrize("is_interaction", [False, True])
def test_the_table_of_a_pair_has_the_conditional_distribution(is_interaction, monkeypatch):
    """By dense linear algebra on the joint distribution of table and answers, every entry written out."""
    rng, tau, predicted = np.random.default_rng(0), float(TAUS[3]), np.array([[40.0, 30, 90], [60, 20, 70]])
    groups = (np.array([0, 1]), np.array([0, 1, 2]))
    size, stddev = (3 if is_interaction else 6), 4.0
    values = rng.normal(0 if is_interaction else 50, 30, size)
    sides = [side([150, 160], 9.0), side([95, 60, 155], 16.0)]
    table = PairTable([PairAnswer(values, groups, is_interaction, stddev)], predicted, sides)

    cells = list(itertools.product(range(2), range(3)))
    rows = []  # each answer as a sum over cells
    if is_interaction:
        rows += [[(1 - 2 * i) * (3 * (j == k) - 1) for i, j in cells] for k in range(3)]
    else:
        rows += [[float(own == cell) for own in cells] for cell in cells]
    rows += [[float(i == k) for i, _ in cells] for k in range(2)] + [
        [float(j == k) for _, j in cells] for k in range(3)
    ]
    noise = [stddev**2] * size + [9.25] * 2 + [16.25] * 3
    asked, y = np.array(rows), np.concatenate([values, sides[0].counts, sides[1].counts])
    blocks = [[(i, j * 2 // 3) for i, j in cells], cells]  # two runs of both axes, then each value
    prior = np.zeros((6, 6))
    for m, n in itertools.product(range(6), repeat=2):
        p, q = predicted.ravel()[[m, n]]
        prior[m, n] = (p if m == n else 0) + tau**2 * p * q * sum(b[m] == b[n] for b in blocks)
    of_answers = asked @ prior @ asked.T + np.diag(noise)
    gain = prior @ asked.T @ np.linalg.inv(of_answers)
    expected = predicted.ravel() + gain @ (y - asked @ predicted.ravel())
    covariance = prior - gain @ asked @ prior

    _, found, variances = table.posterior(3)
    assert found == pytest.approx(expected)
    assert variances == pytest.approx(np.diag(covariance))
    left = y - asked @ predicted.ravel()
    logs = [-0.5 * (np.linalg.slogdet(v)[1] + left @ np.linalg.solve(v, left)) for v in (of_answers,)]
    at_0 = asked @ np.diag(predicted.ravel()) @ asked.T + np.diag(noise)
    blocks_of = (of_answers - at_0) / tau**2
    other = at_0 + TAUS[1] ** 2 * blocks_of
    logs.append(-0.5 * (np.linalg.slogdet(other)[1] + left @ np.linalg.solve(other, left)))
    assert np.diff(table.log_likelihoods[[3, 1]]) == pytest.approx(np.diff(logs))

    monkeypatch.setattr(scales, "positive", lambda drawn, *_: drawn)
    drawn = np.array([table.drawn(3, rng) for _ in range(4000)])
    assert drawn.mean(axis=0) == pytest.approx(expected, abs=6 * np.sqrt(variances.max() / 4000))
    assert np.cov(drawn.T) == pytest.approx(covariance, abs=0.1 * variances.max())


def test_a_large_table_is_read_cell_by_cell():
    n = 30
    sides = [side(np.full(n, 30.0), 1.0)] * 2
    groups, predicted = (np.arange(n), np.arange(n)), np.ones((n, n))
    seen = np.random.default_rng(0).poisson(1.0, (n, n)) + np.random.default_rng(1).normal(0, 0.1, (n, n))
    both = [PairTable([PairAnswer(seen.ravel(), groups, False, 0.1)], predicted, sides)]
    query = pypgm.queries.Contrasts([n, n])
    both.append(PairTable([PairAnswer(query.matvec(seen.ravel()), groups, True, 0.1 * n * n)], predicted, sides))
    for table in both:
        drawn = np.mean([table.drawn(4, np.random.default_rng(i)) for i in range(20)], axis=0).reshape(n, n)
        off = drawn - seen
        if table is both[1]:  # of which an interaction says all but the margins
            off = off - off.mean(axis=0) - off.mean(axis=1, keepdims=True) + off.mean()
        assert np.sqrt(np.mean(off[seen > 0.5] ** 2)) < 0.3


@pytest.mark.parametrize("attributes", [None, "a"])
def test_a_statistic_that_ignores_its_table_is_warned_of(release, attributes):
    """It may read the real records, whose answer would come out with the promise of an interval."""
    real = people().columns["a"]
    with pytest.warns(UserWarning, match="without its table"):
        found = release.interval(lambda records: real.mean(), attributes=attributes, **FEW)
    assert (found.low, found.high) == (real.mean(), real.mean())
    with pytest.warns(UserWarning, match="without its table"):
        found = release.interval(lambda records: 3.0, **FEW)
    assert (found.low, found.answer, found.high, found.attributes, found.basis) == (3, 3, 3, (), "measured")
    assert "nothing is known of its error" in found.promise


def test_the_number_of_records_is_no_answer_of_another_table(release):
    found = release.interval(len, **FEW)
    assert found.attributes == ()
    assert found.low < found.high
    assert "as often as the level says" in found.promise


def test_what_is_read_is_found(release):
    assert release.interval(mean, **FEW).attributes == ("a",)
    found = release.interval(correlation, **FEW)
    assert (found.attributes, found.basis) == (("a", "b"), release.model.basis(("a", "b")))
    for names in (("a", "b"), ("b", "a")):
        given = release.interval(correlation, attributes=names, **FEW)
        assert (given.low, given.high, given.attributes) == (found.low, found.high, ("a", "b"))
    all_read = release.interval(lambda records: [np.mean(records[a]) for a in reversed(DOMAIN.attributes)], **FEW)
    assert all_read.attributes == DOMAIN.attributes
    assert all_read.low.shape == (4,)
    assert (all_read.low < all_read.high).all()


def test_nothing_but_the_release_is_used(release, tmp_path):
    """A file gives the same, on any number of threads, and nothing is charged."""
    spent, lines = release.ledger.spent(), len(release.ledger.lines)
    found = release.interval(correlation, **FEW)
    release.save(tmp_path / "r.pgm")
    read = pypgm.load(tmp_path / "r.pgm")
    same = read.interval(correlation, n_threads=1, **FEW)
    assert (found.answer, found.low, found.high) == (same.answer, same.low, same.high)
    assert (release.ledger.spent(), len(release.ledger.lines)) == (spent, lines)
    assert release.interval(correlation, rng=1, **FEW).high != found.high


@pytest.mark.parametrize("mechanism", [name for name in mechanism_names() if not needs_more(name)])
def test_releases_of_every_mechanism_know_their_errors(mechanism):
    """A clique may hold all attributes, and answers about single ones may be missing, as of `privbayes`."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, 500)
    data = Dataset({"a": first, "b": (first + rng.integers(0, 2, 500)) % 2}, Domain({"a": 3, "b": 2}))
    own = mechanism_named(mechanism)(data, epsilon=1, delta=1e-9, unsafe_seed=0)
    if own.model.recipe is None:  # of drawn queries no measurements are kept
        with pytest.raises(ValueError, match="its errors are not known"):
            own.interval(mean, **FEW)
        return
    assert (own.expected_error("a", draws=2).values > 0).all()
    assert np.isfinite(own.expected_error(("a", "b"), draws=2).values).all()
    assert (own.standard_error("a", draws=2).values > 0).all()
    found = own.interval(mean, **FEW)
    assert found.low < found.answer < found.high


def test_what_was_asked_before_changes_nothing(release):
    read = released()
    first = read.interval(correlation, worlds=2, truths=4)
    read.interval(mean, worlds=4, truths=2)
    assert read.interval(correlation, worlds=2, truths=4).high == first.high


def test_made_up_releases_have_what_is_read_alone(release, monkeypatch):
    """A statistic whose answer is another without the columns that it does not read by name gets all of them."""
    drawn, seen = [], []
    monkeypatch.setattr(
        pypgm.models.model.Model,
        "_records_of",
        lambda *given, whole=pypgm.models.model.Model._records_of: drawn.append(given[1]) or whole(*given),
    )

    def read(records):
        seen.append(tuple(records))
        return np.mean(records["a"]) - np.mean(records["c"])

    release.interval(read, **FEW)
    assert drawn == [("a", "c")] * (1 + FEW["worlds"])  # of the drawn tables, and each made-up one
    assert seen[-2 * FEW["worlds"] - FEW["truths"] :] == [("a", "c")] * (2 * FEW["worlds"] + FEW["truths"])
    drawn.clear()
    release.interval(lambda records: np.mean(records["a"]) if len(list(records)) > 2 else np.nan, **FEW)
    release.interval(len, **FEW)
    assert not drawn


def test_where_rules_relate_columns_all_are_drawn(monkeypatch):
    rng = np.random.default_rng(0)
    rows = {"low": rng.integers(0, 3, 600), "high": rng.integers(3, 6, 600), "other": rng.integers(0, 2, 600)}
    columns = {"low": Integer(0, 5, width=2), "high": Integer(0, 5, width=2), "other": [0, 1]}
    schema = Schema(columns, rules=[pypgm.data.Comparison("low <= high")])
    made = pypgm.synthesize({a: c.tolist() for a, c in rows.items()}, schema, epsilon=3, delta=1e-9, unsafe_seed=0)
    monkeypatch.setattr(pypgm.models.model.Model, "_records_of", None)
    found = made.interval(lambda records: np.mean(records["low"]), **FEW)
    assert found.attributes == ("low",)


def test_views_are_combined(release):
    larger, both, population = (
        release.interval(correlation, **FEW, **own) for own in ({}, {"combine": "both"}, {"target": "population"})
    )
    views = larger.views
    assert larger.high - larger.answer == pytest.approx(max(views.values()))
    assert both.high - both.answer == pytest.approx(np.hypot(*views.values()))
    assert set(population.views) == {"worlds", "truths", "sampling"}
    assert population.high - population.answer == pytest.approx(
        np.hypot(max(views.values()), population.views["sampling"])
    )
    assert (larger.worlds, larger.truths) == (3, 4)
    narrower = release.interval(correlation, 0.5, **FEW)
    assert larger.low < narrower.low < narrower.answer < narrower.high < larger.high


def test_the_promise_depends_on_what_is_read(release):
    assert "as often as the level says" in release.interval(mean, **FEW).promise
    found = release.interval(correlation, **FEW)
    assert "nothing is promised of odds ratios" in found.promise
    assert found.promise in repr(found)
    assert "three columns" not in found.promise
    of_three = release.interval(lambda r: np.mean(r["c"][(np.asarray(r["a"]) == 0) & (np.asarray(r["b"]) == 0)]), **FEW)
    assert "three columns depend on each other beyond their pairs" in of_three.promise


def test_an_attribute_that_was_never_measured():
    privately = PrivateTable(people(), "add-remove", Ledger(pypgm.Budget(rho=1)), unsafe_seed=0)
    measured = [privately.measure("b", rho="1/2"), privately.measure(("b", "c"), rho="1/2")]
    model = pypgm.estimate(DOMAIN, measured)
    release = pypgm.Release(model, tuple(measured), privately.ledger, "own")
    found = release.interval(mean, **FEW)
    assert (found.low, found.high, found.basis) == (-np.inf, np.inf, "unknown")
    assert "never measured" in found.promise
    assert np.isfinite(release.interval(lambda records: np.mean(records["b"]), **FEW).high)


def test_a_table_of_three_tells_of_its_pairs():
    privately = PrivateTable(people(), "add-remove", Ledger(pypgm.Budget(rho=1)), unsafe_seed=0)
    measured = [privately.measure(c, rho="1/2") for c in (("c", "b", "a"), ("d",))]
    model = pypgm.estimate(DOMAIN, measured)
    release = pypgm.Release(model, tuple(measured), privately.ledger, "own")
    inside, outside = (
        release.interval(f, worlds=3, truths=20) for f in (correlation, lambda r: np.corrcoef(r["a"], r["d"])[0, 1])
    )
    assert 5 * inside.views["truths"] < outside.views["truths"]


@pytest.mark.parametrize(
    ("statistic", "said"),
    [
        (lambda records: "much", "needs to give a number"),
        (lambda records: None, "needs to give a number"),
        (lambda records: 10**400, "needs to give a number"),
        (lambda records: records["z"], "failed on the synthetic records: KeyError"),
        (
            lambda records: np.unique(np.asarray(records["a"]) * 100 + np.arange(len(records["a"])) % 97),
            "answers of one shape: it was ",
        ),
    ],
)
def test_statistics_that_are_none(release, statistic, said):
    with pytest.raises(ValueError, match=said):
        release.interval(statistic, attributes="a", **FEW)


@pytest.mark.parametrize("answer", [np.nan, np.inf, -np.inf])
def test_no_interval_is_about_what_is_no_number(release, answer):
    found = release.interval(lambda records: answer, **FEW)
    assert np.isnan([found.low, found.high]).all()
    assert found.basis == "unknown"
    assert "no finite number" in found.promise
    assert found.promise in repr(found)
    some = release.interval(lambda records: [mean(records), answer], **FEW)
    assert np.isnan([some.low, some.high]).tolist() == [[False, True]] * 2
    assert some.basis == "measured"


@pytest.mark.parametrize("mechanism", ["wide", "mst"])
def test_the_total_has_the_noise_of_the_answers(mechanism):
    """A model of `wide` follows denoised counts, which share the error of the total."""
    own = released(mechanism)
    stddev = estimate_total(DOMAIN, own.measurements)[1] ** 0.5
    found = own.interval(lambda records: len(records["a"]), attributes="a")
    assert found.views["truths"] == pytest.approx(upper_end(20) * stddev, rel=0.05)
    assert 0.7 < found.views["worlds"] / (upper_end(20) * stddev) < 1.5


def test_a_rare_value_has_its_part_of_the_error_of_the_total():
    """Where contrasts tell what two values differ by, one record more is half a record more of either."""
    data = Dataset({"flag": (np.arange(2000) % 5 == 0).astype(int)}, Domain({"flag": 2}))
    privately = PrivateTable(data, "add-remove", Ledger(pypgm.Budget(rho=1)), unsafe_seed=0)
    measured = [privately.measure("flag", rho="1/5000"), privately.measure("flag", queries.Contrasts([2]), rho="1/10")]
    own = pypgm.Release(pypgm.estimate(data.domain, measured), tuple(measured), privately.ledger, "own")
    truths, rng = own._known.truths(("flag",), 20, 0), np.random.default_rng(0)
    drawn = np.array([truths.drawn(i, rng) for i in range(20)])
    assert np.std(drawn.sum(axis=1)) > 40
    assert np.polyfit(drawn.sum(axis=1), drawn[:, 1], 1)[0] == pytest.approx(0.5, abs=0.1)


@pytest.mark.slow
def test_the_number_of_records_is_held():
    held = []
    for seed in range(40):
        found = mechanisms.wide(people(), epsilon=1, delta=1e-9, unsafe_seed=seed).interval(len, worlds=4)
        held.append(found.low <= 2000 <= found.high)
    assert np.mean(held) >= 0.85


def test_infinite_errors_count(release):
    """Of an answer that is infinite on about every other table nothing is known."""
    parity = int(np.sum(release.synthetic_data(rng=0).columns["a"])) % 2

    def odd(records):
        return mean(records) if int(np.sum(records["a"])) % 2 == parity else np.inf

    found = release.interval(odd, attributes="a", worlds=6, truths=6)
    assert (found.low, found.high) == (-np.inf, np.inf)


def test_what_is_named_is_all_that_is_read(release):
    with pytest.raises(ValueError, match="reads b too, which attributes does not name"):
        release.interval(correlation, attributes="a", **FEW)
    with pytest.raises(ValueError, match="reads a, b too"):
        release.interval(correlation, attributes=["c"], **FEW)
    assert release.interval(mean, attributes=["a", "c"], **FEW).attributes == ("a", "c")


def test_what_is_drawn_anew_each_time_is_refused(release):
    rng = np.random.default_rng(0)
    for attributes in (None, "a"):
        with pytest.raises(ValueError, match="another answer for the same records"):
            release.interval(lambda records: rng.random(), attributes=attributes, **FEW)
    drawn = release.interval(lambda r: np.random.default_rng(0).choice(np.asarray(r["a"]), 50).mean(), **FEW)
    assert drawn.attributes == ("a",)


def test_errors_on_other_tables_say_what_to_return(release):
    size = release.synthetic_data(rng=0).n_records
    with pytest.raises(ValueError, match=r"failed on a drawn table: ZeroDivisionError: .*return NaN"):
        release.interval(lambda records: 1 / int(len(records) == size) * mean(records), **FEW)
    with pytest.raises(ValueError, match=r"failed on the synthetic records: KeyError: .*'z'\W*$"):
        release.interval(lambda records: records["z"], **FEW)


def test_a_dict_of_numbers_keeps_its_labels(release):
    def shares(records):
        values, counts = np.unique(np.asarray(records["a"]), return_counts=True)
        return {f"a={value}": count / len(records) for value, count in zip(values, counts, strict=True)}

    found = release.interval(shares, **FEW)
    assert found.attributes == ("a",)
    for own in (found.answer, found.low, found.high, *found.views.values()):
        assert list(own) == [f"a={value}" for value in range(4)]
    assert all(found.low[label] < found.answer[label] < found.high[label] for label in found.answer)
    assert f"a=0: {found.answer['a=0']:.6g}, {found.low['a=0']:.6g} to {found.high['a=0']:.6g}; a=1: " in repr(found)
    size = release.synthetic_data(rng=0).n_records
    some = release.interval(lambda r: {"a": mean(r)} | ({"b": 1.0} if len(r) == size else {}), **FEW)
    assert np.isfinite(some.high["a"])


def test_texts_of_several_answers_have_numbers(release):
    many = release.interval(lambda r: [np.mean(np.asarray(r["a"]) == i % 4) for i in range(9)], attributes="a", **FEW)
    assert f"Interval(0: {many.answer[0]:.6g}, {many.low[0]:.6g} to {many.high[0]:.6g}; 1: " in repr(many)
    assert "; and 3 more; " in repr(many)
    pandas = pytest.importorskip("pandas")
    table = release.interval(lambda r: pandas.DataFrame({"a": [mean(r)], "n": [len(r)]}, index=["all"]), **FEW)
    assert f"all, a: {table.answer.loc['all', 'a']:.6g}, " in repr(table)


def test_moments_have_to_be_numbers(release):
    pandas = pytest.importorskip("pandas")
    for made in (pandas.Timestamp, pandas.Timedelta, lambda days: np.datetime64(days, "D")):
        with pytest.raises(ValueError, match="turn it into a number"):
            release.interval(lambda records, made=made: made(int(np.sum(records["a"]))), **FEW)


def test_extremes_are_not_promised():
    """They are known by following the next value where the records that hold them are left out."""
    own, _ = wages_of(WAGES["equal"], n=1000)
    for statistic in (
        lambda t: t["wage"].max(),
        lambda t: t["wage"].min(),
        lambda t: t.groupby("sex")["wage"].max(),
        lambda t: t["wage"].quantile([0.5, 1]),
    ):
        found = own.interval(statistic, **FEW)
        assert found.is_extreme
        assert found.promise.startswith("extremes are not held")
    assert "; of other answers, more than a third" in found.promise
    top = own.to_frame(rng=0)["wage"].max()
    for statistic in (
        lambda t: t["wage"].quantile(0.98),
        lambda t: t["wage"].mean(),
        lambda t: (t["sex"] == "F").max(),
        lambda t: float(top) + 0 * t["wage"].mean(),  # by chance
    ):
        found = own.interval(statistic, **FEW)
        assert not found.is_extreme
        assert "extremes are not held" not in found.promise


def test_the_largest_of_few_codes_is_no_extreme(release):
    found = release.interval(lambda records: np.max(np.asarray(records["a"])), **FEW)
    assert not found.is_extreme
    assert "nothing is promised of what a few records decide" in found.promise


def test_refused(release):
    with pytest.raises(TypeError, match="needs a function"):
        release.interval("a")
    for wrong in ({"level": 1.0}, {"level": 0}, {"target": "people"}, {"combine": "all"}, {"worlds": 1}, {"truths": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            release.interval(mean, **wrong)
    with pytest.raises(ValueError, match="'z'"):
        release.interval(mean, attributes=("a", "z"))
    network = pypgm.bayes.learn_private(people(200), [("a", "b")], epsilon=1)
    with pytest.raises(TypeError, match="does not know its errors"):
        network.interval(mean)


def test_time_and_ctrl_c_leave_what_there_is():
    own = released()
    with pytest.raises(TimeoutError, match="two drawn tables"):
        own.interval(mean, time_limit=1e-9)
    calls = itertools.count()

    def interrupted(records):
        if next(calls) == 17:  # one more than before the tables: of the columns that it reads
            raise KeyboardInterrupt
        return mean(records)

    with pytest.warns(EstimateInterruptedWarning, match="Ctrl-C ended the interval after 4 made-up tables"):
        found = own.interval(interrupted, attributes="a", truths=5, worlds=9)
    assert (found.truths, found.worlds) == (5, 4)
    assert found.high == own.interval(mean, attributes="a", truths=5, worlds=4).high

    def at_once(records):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        own.interval(at_once)


def test_frames_are_those_of_the_table():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pandas.DataFrame({"age": rng.integers(20, 80, 900), "city": rng.choice(["Ash", "Elm"], 900)})
    region = {"kind": "derived", "from": "city", "mapping": {"Ash": "North", "Elm": "South"}}
    age = {"kind": "integer", "low": 20, "high": 79, "width": 10}
    schema = Schema.from_dict({"age": age, "city": ["Ash", "Elm"], "region": region})
    made = pypgm.synthesize(table, schema, epsilon=3, delta=1e-9, unsafe_seed=0)
    found = made.interval(lambda frame: frame.groupby("region")["age"].mean(), **FEW)
    assert found.attributes == ("age", "city")
    own = made.to_frame(rng=0)
    assert found.answer.to_numpy() == pytest.approx(own.groupby("region")["age"].mean().to_numpy())
    assert (found.low < found.answer).all()
    for own in (found.answer, found.low, found.high, *found.views.values()):
        assert (own.index.tolist(), own.index.name, own.name) == (["North", "South"], "region", "age")
    both = made.interval(lambda frame: frame.groupby("region")[["age"]].agg(["mean", "min"]), **FEW)
    assert both.low.loc["North", ("age", "mean")] < both.answer.loc["North", ("age", "mean")]
    missing = made.interval(lambda frame: frame[frame["age"] >= 79].groupby("city")["age"].size(), **FEW)
    assert missing.answer.shape == missing.low.shape


WAGES = {
    "equal": Real(0, 100_000, 50),
    "uneven": Real(0, 100_000, edges=[400, 700, 1100, 1800, 3500], within="tapered"),
    "decimals": Real(0, 100_000, edges=[400, 700, 1100, 1800, 3500], decimals=2, within="tapered"),
}


def wages_of(column, seed=0, n=4000):
    """Return a release of wages in bins, and the wages."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    frame = pandas.DataFrame({"wage": rng.lognormal(7, 1, n).clip(0, 100_000), "sex": rng.choice(["F", "M"], n)})
    frame = frame.round(2) if column.decimals else frame
    schema = Schema({"wage": column, "sex": ["F", "M"]})
    return pypgm.synthesize(frame, schema, epsilon=1, delta=1e-9, unsafe_seed=seed), frame


@pytest.mark.parametrize("bins", WAGES)
def test_intervals_are_as_wide_as_bins_make_them(bins):
    """Made-up tables know nothing of how values lie in bins; drawn ones held none of these quantiles either."""
    own, frame = wages_of(WAGES[bins])
    found = own.interval(lambda t: t["wage"].quantile([0.1, 0.3, 0.5, 0.7, 0.9]), worlds=4)
    true = frame["wage"].quantile([0.1, 0.3, 0.5, 0.7, 0.9])
    assert ((found.low <= true) & (true <= found.high)).mean() >= 0.8
    assert (found.in_bins, found.basis, found.attributes) == (True, "merged", ("wage",))
    assert "within bins" in found.promise
    assert "were not where bounds are far beyond nearly all values" in found.promise
    above = own.interval(lambda t: (t["sex"] == "F").mean(), **FEW)
    assert (above.in_bins, above.basis) == (False, "measured")
    mean_wage = own.interval(lambda t: t["wage"].mean(), worlds=4)
    assert mean_wage.low < frame["wage"].mean() < mean_wage.high
    assert mean_wage.high - mean_wage.answer == pytest.approx(
        np.hypot(max(mean_wage.views["worlds"], mean_wage.views["truths"]), mean_wage.views["bins"])
    )


@pytest.mark.slow
@pytest.mark.parametrize("tail", ["lognormal", "exponential"])
def test_means_of_long_tails_in_equal_bins_are_held(tail):
    """Most bins are empty: their noise adds to the answer, on top of how values lie within the bins that are not."""
    pandas = pytest.importorskip("pandas")
    held = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        wages = rng.lognormal(7, 1, 12_000) if tail == "lognormal" else rng.exponential(2000, 12_000)
        frame = pandas.DataFrame({"wage": wages.clip(0, 100_000), "sex": rng.choice(["F", "M"], 12_000)})
        schema = Schema({"wage": WAGES["equal"], "sex": ["F", "M"]})
        own = pypgm.synthesize(frame, schema, epsilon=1, delta=1e-9, unsafe_seed=seed)
        found = own.interval(lambda t: t["wage"].mean())
        held.append(found.low <= frame["wage"].mean() <= found.high)
    assert np.mean(held) >= 0.85


def test_bins_of_one_value_each_make_nothing_wider():
    """Whether the schema knows of bins or not, the interval is the same, to the last bit."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({name: np.asarray(own) for name, own in people().columns.items()})
    columns = {name: Integer(0, size - 1) for name, size in zip(DOMAIN, DOMAIN.shape, strict=True)}
    found, plain = (
        pypgm.synthesize(frame, schema, epsilon=1, delta=1e-9, unsafe_seed=0, mechanism="mst").interval(
            lambda t: t["a"].astype(float).mean(), **FEW
        )
        for schema in (Schema(columns), Schema({n: list(range(c.size)) for n, c in columns.items()}))
    )
    assert (found.low, found.high, found.in_bins) == (plain.low, plain.high, False)


def strong(seed, n=3000):
    """Return records of eight kinds, which nearly decide each of seven columns."""
    rng = np.random.default_rng(seed)
    domain = Domain({f"x{i}": size for i, size in enumerate([2, 3, 4, 5, 6, 3, 4])})
    kind, columns = rng.integers(0, 8, n), {}
    for name, size in zip(domain, domain.shape, strict=True):
        own = rng.dirichlet(np.full(size, 0.2), 8).cumsum(axis=1)
        columns[name] = (rng.random(n)[:, None] > own[kind]).sum(axis=1).clip(0, size - 1)
    return Dataset(columns, domain)


def test_errors_of_counts_take_the_larger_view():
    """Of unmeasured pairs of strongly structured tables made-up ones alone hold a third."""
    held, by_worlds = [], []
    for seed in range(2):
        data = strong(seed)
        own = mechanisms.mst(data, epsilon=1, delta=1e-9, unsafe_seed=seed)
        pairs = [p for p in itertools.combinations(data.domain, 2) if own.model.basis(p) == "unmeasured"][:10]
        both = own.expected_error_many(pairs, draws=6), own.model.expected_error_many(pairs, draws=6)
        for clique, larger, worlds in zip(pairs, *both, strict=True):
            assert (larger.values >= worlds.values).all()
            true = data.project(clique).values
            off = np.abs(own.project(clique).values - true)[true > 0]
            held.append(np.mean(off <= 1.645 * larger.values[true > 0]))
            by_worlds.append(np.mean(off <= 1.645 * worlds.values[true > 0]))
    assert np.mean(by_worlds) < 0.5
    assert np.mean(held) > 0.75


def test_errors_under_evidence_take_the_larger_view(release):
    larger, worlds = (x.expected_error("a", {"b": [0, 1]}, draws=6).values for x in (release, release.model))
    assert (larger >= worlds).all()
    assert 0 < larger.max() < 0.5
    likelihood = release.expected_error("a", {"b": pypgm.Likelihood([1, 1, 0, 0, 0])}, draws=6).values
    assert likelihood == pytest.approx(larger)
    found = release.marginal("a", {"b": [0, 1]}, draws=6)
    assert found.errors.values == pytest.approx(larger)
    assert found.counts.values.sum() == pytest.approx(1)
    with pytest.raises(TimeoutError, match="longer than time_limit"):
        release.expected_error("a", time_limit=1e-9)


def test_values_that_were_measured_together_may_share_unevenly():
    """As `mst` merges what noise hides: neither a view of values alone nor of pairs counted how they share a group."""
    privately = PrivateTable(people(), "add-remove", Ledger(pypgm.Budget(rho=1)), unsafe_seed=0)
    groups = queries.Partition([0, 1, 1, 1, 1])
    pair = queries.Partition(
        np.add.outer(5 * np.arange(3), [0, 1, 1, 1, 1]).ravel() // 5 * 2 + np.tile([0, 1, 1, 1, 1], 3)
    )
    measured = [privately.measure("b", groups, rho="1/4000"), privately.measure("c", rho="1/4")]
    measured += [privately.measure(("c", "b"), pair, rho="1/4")]
    own = pypgm.Release(pypgm.estimate(DOMAIN, measured), tuple(measured), privately.ledger, "own")
    assert "measured in groups" in own.interval(lambda records: np.mean(records["b"]), **FEW).promise
    truths, rng = own._known.truths(("b",), 20, 0), np.random.default_rng(0)
    drawn = np.array([truths.drawn(i, rng) for i in range(20)])
    assert (drawn[:, 1:] / drawn[:, 1:].sum(axis=1, keepdims=True)).std(axis=0).min() > 0.001
    (answer,) = [answer for clique, answer in pair_answers(DOMAIN, measured[2]) if clique == ("b", "c")]
    true = people().project(("b", "c")).values
    expected = np.stack([true[0], true[1:].sum(axis=0)])
    assert answer.values.reshape(2, 3) == pytest.approx(expected, abs=5 * answer.stddev)
    assert (answer.groups[0].tolist(), answer.groups[1].tolist()) == ([0, 1, 1, 1, 1], [0, 1, 2])
    odd = queries.Partition(np.arange(15) % 4)
    other = pypgm.LinearMeasurement(np.ones(4), ("b", "c"), 1.0, query=odd)
    assert list(pair_answers(DOMAIN, other)) == []


def test_a_single_pair_tells_little_of_how_far_others_depend():
    """Sizes of effects in pairs that nobody measured, after one exact pair of independent attributes."""
    even = Dataset(dict(zip(DOMAIN, np.unravel_index(np.arange(2400) % 120, DOMAIN.shape), strict=True)), DOMAIN)
    privately = PrivateTable(even, "add-remove", Ledger(pypgm.Budget(rho=1000)), unsafe_seed=0)
    measured = [privately.measure(c, rho=100) for c in ["a", "b", "c", "d", ("a", "b")]]
    own = pypgm.Release(pypgm.estimate(DOMAIN, measured), tuple(measured), privately.ledger, "own")
    own._known.truths(("a",), 20, 0)
    rng = np.random.default_rng(0)
    drawn = TAUS[[own._known._left_out.size(None, rng) for _ in range(500)]]
    assert np.mean(drawn >= 0.5) > 0.3


def statistics(records):
    """Return a mean, a rate, a cell, and a correlation, of which the last is held less often."""
    a, b, c, d = (np.asarray(records[name]) for name in DOMAIN)
    rates = [np.mean(d[c == j]) if (c == j).any() else np.nan for j in range(3)]
    return np.array([a.mean(), b.mean(), *rates, np.sum((a == 1) & (b == 1)), np.sum((a == 0) & (c == 1) & (d == 1))])


@pytest.mark.slow
def test_intervals_hold_the_truth():
    """Of the made-up tables alone, as expected errors of a release by mst were, 64 % are held."""
    held, worlds = [], []
    for seed, mechanism in itertools.product(range(6), ["mst", "wide"]):
        own = released(mechanism, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = own.interval(statistics, worlds=8, truths=20)
        off = np.abs(statistics(people(seed=seed)) - found.answer)
        held.append(off <= found.high - found.answer)
        worlds.append(off <= found.views["worlds"])
    assert 0.85 <= np.mean(held) <= 0.99
    assert np.mean(worlds) < np.mean(held)


def test_several_numbers_under_a_name_are_shown(release):
    found = release.interval(lambda records: {"ends": [mean(records), 1.0], "more": [2.0, 3.0]}, worlds=2, truths=2)
    assert all(f"{label}: " in repr(found) for label in ("ends, 0", "ends, 1", "more, 0", "more, 1"))


def test_no_number_of_drawn_tables_passes_the_time_limit(release):
    with pytest.raises(TimeoutError, match="take longer than time_limit"):
        release.interval(mean, worlds=2, truths=10**9, time_limit=1e-6)


def test_a_level_that_is_one_is_refused(release):
    with pytest.raises(ValueError, match="level needs a share below 1 by"):
        repr(release.marginal("a", level=1 - 1e-16).low)
    with pytest.raises(TypeError, match="rounded must be True or False, got 'no'"):
        release.marginal("a", rounded="no")
