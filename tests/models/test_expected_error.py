"""Expected errors: they cover on both oracles, say what they rest on, and are honest about what was never measured."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import pypgm
from pypgm import Budget, Constraint, Dataset, Domain, LinearMeasurement, demo, mechanisms, queries
from pypgm._base.student import upper_end
from pypgm.inference.conditioned import ExactAnswers
from pypgm.models import expected_error, region_model
from pypgm.models.estimated_again import _log_shares, _start
from pypgm.reporting.quality import quality_of
from pypgm.reporting.text import quality_rows

DOMAIN = Domain({"a": 4, "b": 5, "c": 3, "d": 2})
CYCLE = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]


def people(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    columns = {}
    for name, size in zip(DOMAIN.attributes, DOMAIN.shape, strict=True):
        own = rng.dirichlet(np.full(size, 0.5), 3)
        columns[name] = (rng.random(n)[:, None] > own[kind].cumsum(axis=1)).sum(axis=1).clip(0, size - 1)
    return Dataset(columns, DOMAIN)


def chain(seed):
    """Records in which each attribute depends on the one before it alone."""
    rng = np.random.default_rng(seed)
    columns, before, n_before = {}, np.zeros(3000, dtype=int), 1
    for name, size in zip(DOMAIN.attributes, DOMAIN.shape, strict=True):
        table = rng.dirichlet(np.full(size, 0.5), n_before).cumsum(axis=1)
        before, n_before = (rng.random(3000)[:, None] > table[before]).sum(axis=1).clip(0, size - 1), size
        columns[name] = before
    return Dataset(columns, DOMAIN)


def measured(data, cliques, stddev, seed):
    rng = np.random.default_rng(seed)
    counts = [data.project(c).values for c in cliques]
    return [
        LinearMeasurement(t + rng.normal(0, stddev, t.shape), c, stddev) for c, t in zip(cliques, counts, strict=True)
    ]


@pytest.mark.parametrize("oracle", ["exact", "region_graph"])
@pytest.mark.parametrize("stddev", [5.0, 60.0])
def test_intervals_hold_the_truth(oracle, stddev):
    """Of measured pairs; of others, where the model's independences hold, more: some dependence could be hidden."""
    pairs = list(itertools.combinations(DOMAIN, 2))
    held, squares = {}, {}
    for seed in range(16):
        data = chain(seed)
        model = pypgm.estimate(DOMAIN, measured(data, CYCLE[:3], stddev, seed), len(data), oracle=oracle)
        for clique, errors in zip(pairs, model.expected_error_many(pairs, draws=12), strict=True):
            off = np.abs(model.project(clique).values - data.project(clique).values)
            held.setdefault(model.basis(clique), []).extend((off <= 1.645 * errors.values).ravel())
            squares.setdefault(model.basis(clique), []).append([np.square(off).sum(), np.square(errors.values).sum()])
    for basis, most in (("measured", 0.97), ("unmeasured", 0.99)):
        assert 0.8 <= np.mean(held[basis]) <= most
        true, expected = np.sum(squares[basis], axis=0)
        assert 0.4 < expected / true < 2.5


@pytest.mark.parametrize(("draws", "quantile"), [(3, 2.353), (5, 2.015), (20, 1.725), (10**6, 1.645)])
def test_few_tables_widen_intervals_by_students_quantiles(draws, quantile):
    assert 1.645 * upper_end(draws) / upper_end(math.inf) == pytest.approx(quantile, abs=2e-3)


def test_intervals_from_few_tables_hold_as_often():
    """Without Student's quantiles those from 3 tables hold 80 %."""
    held = []
    for seed in range(12):
        data = chain(seed)
        model = pypgm.estimate(DOMAIN, measured(data, CYCLE[:3], 20.0, seed), len(data), stop="optimum")
        for clique, errors in zip(CYCLE[:3], model.expected_error_many(CYCLE[:3], draws=3, rng=seed), strict=True):
            off = np.abs(model.project(clique).values - data.project(clique).values)
            held.extend((off <= 1.645 * errors.values).ravel())
    assert 0.86 < np.mean(held) < 0.95


def test_errors_of_answers_of_a_size_whose_counts_are_above_0_raise_those_of_cells():
    seen = expected_error.SquaredErrors(5)
    seen.add(np.array([5.0, 4.0, 100.0, 0.0, 0.1]), np.array([6.0, 4.0, 98.0, 0.0, 0.0]))
    seen.add(np.array([2.0, 7.0, 70.0, 0.0, 0.1]), np.array([0.0, 4.0, 74.0, 0.0, 1.0]))
    # Answers of 4 to 8 had the squares 1, 0 and 9, of 64 to 128 had 4 and 16, of a tenth of counts above 0 had .81.
    assert seen.squared(np.array([4.5, 4.0, 100.0, 0.0, 0.1]), 2) == pytest.approx([10 / 3, 4.5, 10, 0, 0.81])
    assert seen.squared(np.full(5, 20.0), 2) == pytest.approx([2.5, 4.5, 10, 0, 0.41])
    # Of a cell that was never wrong as far as to one record, and of others to twice their own.
    assert seen.squared(np.full(5, 0.1), 2) == pytest.approx([2.5, 4.5, 10, 0.81, 0.81])
    assert seen.squared(np.full(5, 70.0), 2) == pytest.approx([10, 10, 10, 0, 1.64])


def test_squared_errors_of_several_tables_are_those_of_each():
    rng, sizes = np.random.default_rng(0), (5, 1, 40)
    answers, true = rng.gamma(0.3, 20, (2, 3, sum(sizes)))
    together, parts = expected_error.SquaredErrors(*sizes), np.cumsum(sizes)[:-1]
    for a, t in zip(answers[:2], np.floor(true[:2]), strict=True):
        together.add(a, t)
    found = together.tables(together.squared(answers[2], 2))
    for own, *tables in zip(found, *(np.split(a, parts) for a in [*answers, *np.floor(true)]), strict=True):
        alone = expected_error.SquaredErrors(own.size)
        alone.add(tables[0], tables[3])
        alone.add(tables[1], tables[4])
        assert own == pytest.approx(alone.squared(tables[2], 2))


def sparse(seed):
    """Return 400 records, of whose pairs most do not occur, and a model that measured two of the three pairs."""
    rng = np.random.default_rng(seed)
    domain = Domain({"a": 30, "b": 20, "c": 30})
    kind = rng.integers(0, 6, 400)
    columns = {a: rng.dirichlet(np.full(n, 0.15), 6).cumsum(axis=1) for a, n in zip(domain, domain.shape, strict=True)}
    columns = {a: (rng.random(400)[:, None] > t[kind]).sum(axis=1).clip(0, len(t[0]) - 1) for a, t in columns.items()}
    data = Dataset(columns, domain)
    return data, pypgm.estimate(domain, measured(data, [("a", "b"), ("b", "c")], 1.0, seed), len(data))


def test_intervals_hold_rare_records():
    """A cell of a tenth of a record is one record in ten: intervals held that of two thirds of the cells above 0."""
    held, at_0 = [], []
    for seed in range(6):
        data, model = sparse(seed)
        pairs = [("a", "b"), ("b", "c")]
        for clique, errors in zip(pairs, model.expected_error_many(pairs, draws=10), strict=True):
            true = data.project(clique).values
            within = np.abs(model.project(clique).values - true) <= 1.645 * errors.values
            held.extend(within[true > 0])
            at_0.extend(errors.values[true == 0])
    assert 0.85 <= np.mean(held) <= 0.97
    assert max(at_0) < 6
    assert np.mean(at_0) < 1.5


def test_a_cell_that_cannot_be_has_no_error():
    rule = Constraint(("a", "b"), allowed=np.arange(20).reshape(4, 5) != 7)
    m = [LinearMeasurement(np.where(np.arange(20) % 7 == 0, 0.4, 3.0), ("a", "b"), 1.0)]
    errors = pypgm.estimate(DOMAIN, m, constraints=[rule]).expected_error(("a", "b"), draws=5).datavector()
    assert errors[7] == 0
    assert (np.delete(errors, 7) > 0.2).all()


def test_a_cell_measured_far_better_than_others_keeps_its_error():
    """Errors of cells of its size at most double its own."""
    data = people()
    exact = data.project(("a", "b")).datavector()
    stddev = np.where(np.arange(20) % 2, 50.0, 1.0)
    noise = stddev * np.random.default_rng(0).normal(size=20)
    model = pypgm.estimate(DOMAIN, [LinearMeasurement(exact + noise, ("a", "b"), stddev)], stop="optimum")
    errors = model.expected_error(("a", "b")).datavector()
    assert (errors[::2] < 4).all()
    assert np.median(errors[1::2]) > 20


def test_the_noise_of_a_prior_made_of_the_answers_is_counted():
    """What `wide` starts from are its own answers: without their noise errors of attributes were half as large."""
    found = []
    for seed in range(4):
        data = people(seed=seed)
        release = mechanisms.wide(data, budget=Budget(rho=2e-4), unsafe_seed=seed)
        singles = [(a,) for a in DOMAIN]
        for clique, errors in zip(singles, release.model.expected_error_many(singles, draws=12), strict=True):
            off = release.project(clique).values - data.project(clique).values
            found.append([np.square(off).sum(), np.square(errors.values).sum()])
    true, expected = np.sum(found, axis=0)
    assert 0.5 < expected / true < 2.5


PAIRS = list(itertools.combinations(DOMAIN, 2))


def from_a_tree(seed, stddev, oracle="exact"):
    """Return records and their model, which starts from that of some of the same answers."""
    data = chain(seed)
    answers = measured(data, PAIRS, stddev, seed)
    tree = pypgm.estimate(DOMAIN, [m for m in answers if m.clique in CYCLE[:3]], len(data))
    return data, pypgm.estimate(DOMAIN, answers, len(data), prior=tree, oracle=oracle)


@pytest.mark.parametrize("oracle", ["exact", "region_graph"])
@pytest.mark.parametrize("stddev", [10.0, 40.0])
def test_a_prior_from_some_of_the_answers_is_estimated_again(oracle, stddev):
    """With the prior as it was, intervals held 80 % at the smaller noise and 65 % at the larger."""
    held = []
    for seed in range(6):
        data, model = from_a_tree(seed, stddev, oracle)
        for clique, errors in zip(PAIRS, model.expected_error_many(PAIRS, draws=10), strict=True):
            off = np.abs(model.project(clique).values - data.project(clique).values)
            held.extend((off <= 1.645 * errors.values).ravel())
    assert 0.86 <= np.mean(held) <= 0.97


def test_a_prior_from_other_answers_stays():
    data = chain(0)
    public = pypgm.estimate(DOMAIN, measured(data, CYCLE[:3], 5.0, 1), len(data))
    answers = measured(data, PAIRS, 40.0, 2)
    for other in (public, pypgm.GraphicalModel(public.potentials, public.total)):
        assert pypgm.estimate(DOMAIN, answers, prior=other).recipe.prior_recipe is None
    both = pypgm.estimate(DOMAIN, [*answers, *public.recipe.measurements], prior=public)
    assert both.recipe.prior_recipe.measurement_indices == (6, 7, 8)


def test_total_variation_is_foretold():
    data = demo.titanic()
    pairs = list(itertools.combinations(data.domain.attributes, 2))
    ratios = []
    for seed in range(24):
        model = mechanisms.wide(data, epsilon=1, delta=1e-9, unsafe_seed=seed).model
        with pypgm._base.clock.Clock() as clock:
            expected = expected_error.expected_total_variation(model, pairs, 2, clock).mean()
        ratios.append(expected / pypgm.evaluate(model, cliques=pairs, unsafe_data=data).mean)
    assert 0.7 < np.median(ratios) < 1.4


def estimate_of(*given, **options):
    return pypgm.estimate(DOMAIN, [LinearMeasurement(np.ones(q.shape[0]), c, query=q) for c, q in given], 10, **options)


def test_what_answers_rest_on():
    groups = queries.Partition([0, 0, 1, 1, 1])
    contrasts = queries.Contrasts([2, 3], groups=[[0, 0, 1, 1], [0, 1, 2]])
    whole, single = queries.Contrasts([5, 3]), queries.Identity(3)
    model = estimate_of((("b",), groups), (("a", "c"), contrasts), (("b", "c"), whole), (("c",), single))
    kinds = {c: model.basis(c) for c in ["b", "c", "a", ("c", "a"), ("c", "b"), ("a", "b"), ("a", "d"), "d", ()]}
    assert kinds == {
        "b": "merged",
        "c": "measured",
        "a": "unmeasured",
        ("c", "a"): "merged",
        ("c", "b"): "measured",
        ("a", "b"): "unmeasured",
        ("a", "d"): "unknown",
        "d": "unknown",
        (): "measured",
    }
    assert (model.expected_error("d", draws=2).values == np.inf).all()
    assert np.isfinite(model.expected_error(("a", "b"), draws=2).values).all()
    with pytest.raises(ValueError, match="unknown attribute"):
        model.basis("z")


def test_what_was_measured_is_decided_by_what_the_answers_tell():
    counts = [1000.0, 2000, 3000]
    domain = Domain({"fine": 6, "coarse": 3, "b": 4})
    codes = np.repeat(np.arange(3), 2)
    kinds = {
        "coarse": LinearMeasurement(counts, "coarse"),
        "sums": LinearMeasurement(
            counts, ("coarse", "b"), query=queries.Kronecker([queries.Identity(3), queries.total(4)])
        ),
        "total": LinearMeasurement([6000.0], "coarse", query=queries.Matrix([[1, 1, 1]])),
        "merged": LinearMeasurement([3000.0, 3000.0], "coarse", query=queries.Partition([0, 0, 1])),
    }
    for name, measurement in kinds.items():
        mapping = Constraint(("fine", "coarse"), mapping=codes)
        model = pypgm.estimate(domain, [measurement], 6000.0, constraints=[mapping])
        assert model.basis("coarse") == ("measured" if name in {"coarse", "sums"} else "merged"), name
        assert model.basis("fine") == "merged"


def test_a_report_asks_once_what_answers_rest_on_and_takes_small_trees_for_made_up_tables(monkeypatch):
    measured = [LinearMeasurement(people().project(c).datavector(), c, stddev=20.0) for c in CYCLE]
    model = pypgm.estimate(DOMAIN, measured, oracle="region_graph")
    asked, budgets, bases, planned = [], [], expected_error.bases, region_model.plan_bounded_tree

    def counted(model, cliques):
        asked.append(len(cliques))
        return bases(model, cliques)

    def plan(*arguments, max_cells, **options):
        budgets.append(max_cells)
        return planned(*arguments, max_cells=max_cells, **options)

    monkeypatch.setattr(expected_error, "bases", counted)
    monkeypatch.setattr(region_model, "plan_bounded_tree", plan)
    quality = quality_of(model)
    assert asked == [4 + 6]
    assert budgets == [1e6, 2e5, 2e5, 2e5, 2e5]  # the model's own, for its records, and one of each made-up table
    assert [quality.basis[c] for c in CYCLE] == ["measured"] * 4


def test_a_function_rests_on_what_it_follows_from():
    coarse = Constraint(("b", "d"), mapping=[0, 0, 1, 1, 1])
    m = [LinearMeasurement([5, 1, 2, 3, 4], "b", 2.0)]
    model = pypgm.estimate(DOMAIN, m, 15, constraints=[coarse])
    assert (model.basis("d"), model.basis("a")) == ("measured", "unknown")
    assert np.isfinite(model.expected_error("d", draws=3).values).all()


def test_the_same_every_time_and_from_a_file(tmp_path):
    data = people()
    model = pypgm.estimate(DOMAIN, measured(data, CYCLE, 20.0, 1))
    model.save(tmp_path / "m.pgm")
    first = model.expected_error(("b", "a"), draws=3).values
    assert first.shape == (5, 4)
    assert np.array_equal(first, model.expected_error(("b", "a"), draws=3, n_threads=1).values)
    assert np.array_equal(first, pypgm.load(tmp_path / "m.pgm").expected_error(("b", "a"), draws=3).values)
    assert not np.array_equal(first, model.expected_error(("b", "a"), draws=3, rng=1).values)


def test_a_file_holds_what_a_prior_was_estimated_from(tmp_path):
    model = from_a_tree(0, 40.0)[1]
    model.save(tmp_path / "m.pgm")
    read = pypgm.load(tmp_path / "m.pgm")
    assert read.recipe.prior_recipe.measurement_indices == model.recipe.prior_recipe.measurement_indices == (0, 3, 5)
    same = (m.expected_error("c", draws=3).values for m in (model, read))
    assert np.array_equal(*same)


def test_evidence():
    data = people()
    model = pypgm.estimate(DOMAIN, measured(data, CYCLE, 20.0, 1), len(data))
    known = {"a": [0, 1]}
    errors = model.expected_error("b", known, draws=10).values
    chosen = np.isin(data.columns["a"], [0, 1])
    true = np.bincount(np.asarray(data.columns["b"])[chosen], minlength=5) / chosen.sum()
    off = np.abs(model.query("b", known).values - true)
    assert (off < 4 * errors).all()
    assert errors.max() < 0.1


def test_no_records():
    model = pypgm.estimate(DOMAIN, [], 0)
    assert (model.expected_error((), draws=2).values == 0).all()


def test_refused():
    data = people(100)
    model = pypgm.estimate(DOMAIN, measured(data, CYCLE, 20.0, 1))
    with pytest.raises(TimeoutError, match="two estimates of made-up records"):
        model.expected_error("a", time_limit=1e-9)
    bare = pypgm.GraphicalModel(model.potentials, 10.0)
    with pytest.raises(ValueError, match="does not hold the measurements"):
        bare.expected_error("a")


def test_the_error_of_records():
    release = mechanisms.mst(people(), epsilon=1, delta=1e-9, unsafe_seed=1)
    records = release.synthetic_data(rng=0)
    found = release.expected_error(("b", "a"), synthetic=records, draws=3).values
    counts = records.project(("b", "a")).values * release.model.total / len(records)
    model = release.expected_error(("b", "a"), draws=3).values
    assert found == pytest.approx(np.sqrt(model**2 + (counts - release.project(("b", "a")).values) ** 2))
    with pytest.raises(ValueError, match="the records are over"):
        release.expected_error("a", synthetic=Dataset({"a": [0]}, Domain({"a": 2})))
    network = pypgm.bayes.learn_private(people(), [("a", "b")], epsilon=1)
    with pytest.raises(TypeError, match="does not know its errors"):
        network.expected_error("a", synthetic=records)


@pytest.mark.parametrize(
    ("epsilon", "warning"), [(10, ""), (0.03, "could not be measured"), (1e-4, "nearly all of this")]
)
def test_the_report_warns_of_noise(epsilon, warning):
    lines = mechanisms.wide(demo.titanic(), epsilon=epsilon, delta=1e-9, unsafe_seed=3).report().splitlines()
    assert [line.split() for line in lines if line.startswith("protects")] == [["protects", "nobody"]]
    first, *others = [line for line in lines if line.startswith("warning: ")]
    assert "protects nobody" in first
    assert [warning in line for line in others] == ([True] if warning else [])


SIX = Domain({f"x{i}": 6 for i in range(6)})


@pytest.mark.parametrize(
    ("dependent", "stddev", "said"),
    [
        (0, 3000.0, "nearly all of this release is noise"),
        (0, 50.0, "relations between columns could not be measured"),
        (
            1,
            50.0,
            "for most pairs the noise hides any relation; of 15 looked at, only 1 is clearly related",
        ),
        (5, 3.0, None),
    ],
)
def test_the_report_says_what_noise_hides(dependent, stddev, said):
    """Of six attributes so many follow the one before them, others are independent."""
    rng = np.random.default_rng(0)
    columns = rng.choice(6, size=(6, 2000), p=[0.4, 0.3, 0.1, 0.1, 0.05, 0.05])
    for i in range(dependent):
        columns[i + 1] = np.where(rng.random(2000) < 0.8, columns[i], columns[i + 1])
    data = pypgm.Dataset(dict(zip(SIX, columns, strict=True)), SIX)
    pairs = list(itertools.combinations(data.domain, 2))
    warnings = quality_of(pypgm.estimate(data.domain, measured(data, pairs, stddev, 1))).warnings
    assert len(warnings) == (said is not None)
    assert all(text.startswith(said) for text in warnings)


def test_the_report_says_that_unmeasured_pairs_hide_dependence():
    measurements = [LinearMeasurement([60.0, 40.0], a, 5.0) for a in "abc"]
    domain = Domain({"a": 2, "b": 2, "c": 2})
    said = "3 of 3 were not counted together: how they depend is a guess"
    assert any(said in text for _, text in quality_rows(quality_of(pypgm.estimate(domain, measurements))))
    pairs = [LinearMeasurement([30, 30, 20, 20], p, 5.0) for p in itertools.combinations("abc", 2)]
    assert not [text for _, text in quality_rows(quality_of(pypgm.estimate(domain, pairs))) if "guess" in text]


RARE = Domain({"a": 2, "b": 2})


def test_of_evidence_that_made_up_tables_lack_nothing_is_known():
    model = pypgm.estimate(RARE, [LinearMeasurement([[500, 500], [1e-3, 0]], ("a", "b"), stddev=0.01)], 1000)
    assert np.isinf(model.expected_error("b", {"a": 1}, draws=3).values).all()
    assert np.isfinite(model.expected_error("b", {"a": 0}, draws=3).values).all()
    with pytest.raises(pypgm.ImpossibleEvidenceError):
        model.expected_error("b", {"a": np.array([0.0, 0.0])})


@pytest.mark.parametrize("scale", [1e-300, 1e307])
def test_the_scale_of_a_likelihood_changes_no_error(scale):
    model = pypgm.estimate(RARE, [LinearMeasurement([[500, 300], [200, 100]], ("a", "b"), stddev=5.0)], 1100)
    errors = (model.expected_error("b", {"a": c * np.array([1.0, 0.5])}, draws=3).values for c in (1.0, scale))
    assert np.allclose(*errors)


@pytest.mark.parametrize("oracle", ["exact", "region_graph"])
@pytest.mark.parametrize("ask", ["expected_error", "standard_error"])
def test_errors_of_a_huge_clique_are_refused_before_memory_is_taken(oracle, ask, monkeypatch):
    domain = Domain({f"x{i}": 30 + i for i in range(12)})
    measured = [LinearMeasurement(np.ones(domain.size((a,))), a, 1.0) for a in domain]
    model = pypgm.estimate(domain, measured, 100, oracle=oracle, iterations=2)
    with pytest.raises(
        pypgm.ModelTooLargeError, match=r"error .*over \(.*'x3'.*\) needs .* cells.*'x11' \(41 values\)"
    ):
        getattr(model, ask)(tuple(domain))
    small = domain.attributes[:4]  # of which the answers alone fit
    monkeypatch.setattr("pypgm._base.memory._available", lambda: 2.0 * 30 * domain.size(small))
    with pytest.raises(pypgm.ModelTooLargeError, match=r"error .*over \(.*leave out 'x3' \(33 values\)"):
        getattr(model, ask)(small, draws=60)


def test_the_report_of_many_attributes_looks_at_a_part_of_their_pairs(monkeypatch):
    domain = Domain({f"x{i}": 2 for i in range(700)})
    model = pypgm.estimate(domain, [LinearMeasurement([60.0, 40.0], a, 5.0) for a in domain])
    sizes, size = [], Domain.size
    monkeypatch.setattr(Domain, "size", lambda own, *clique: sizes.append(clique) or size(own, *clique))
    assert len(quality_of(model).looked_at("pairs")) <= 1000
    assert len(sizes) < 80_000  # of 244,650 pairs


@pytest.mark.parametrize("seed", range(6))
def test_a_start_with_an_attribute_read_off_other_answers_has_its_shares_and_the_rest_of_the_prior(seed):
    """Of any potentials on a tree, not of single attributes alone: beside pairs, theirs are no logs of marginals."""
    rng = np.random.default_rng(seed)
    domain = pypgm.Domain({"a": 3, "b": 4, "c": 2})
    potentials = pypgm.CliqueVector(domain, [("a",), ("b",), ("a", "b"), ("b", "c")], rng.normal(size=27))
    counts = rng.dirichlet(np.ones(4)) * 900 + 25
    moved = _start(potentials, [LinearMeasurement(counts, ("b",), 5.0)], 1000, _log_shares(potentials))
    np.testing.assert_allclose(ExactAnswers(moved).marginals()["b"], counts / 1000, rtol=1e-9)
    for code in range(4):
        before, after = (ExactAnswers(p).marginals({"b": code}) for p in (potentials, moved))
        for attribute, shares in before.items():
            np.testing.assert_allclose(after[attribute], shares, rtol=1e-9)
