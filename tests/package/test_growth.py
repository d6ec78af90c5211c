"""Growth of work, counted in calls, plans and passes, never in seconds."""

import itertools
import subprocess
import sys
import tracemalloc
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import pypgm
from pypgm import _core, queries
from pypgm._base.clock import Clock
from pypgm.data import scan
from pypgm.data.schema.schema import Relations
from pypgm.data.sources import counted
from pypgm.estimation import accelerated, estimate_total, problem
from pypgm.estimation.oracle import Oracle
from pypgm.estimation.tree_problem import TreeEngine
from pypgm.inference import bounded_tree
from pypgm.inference.bounded_tree import fit_proportionally, joined_within, plan_bounded_tree
from pypgm.inference.calibrated import Calibrated
from pypgm.inference.region_index import RegionIndex
from pypgm.mechanisms import aim, better_start, drawn_queries, mst, pair_forecasts, wide
from pypgm.mechanisms.rank_products import rho_of_products
from pypgm.mechanisms.run import Run
from pypgm.models import graphical_model, region_model, request
from pypgm.privacy import selector
from pypgm.privacy.l1_selector import L1Selector
from pypgm.privacy.laws import DiscreteGaussian
from pypgm.reconstruction import best_records
from pypgm.reporting.quality import quality_of

DOMAIN = pypgm.Domain({f"x{i}": 2 + i % 2 for i in range(8)})
PAIRS = list(itertools.combinations(DOMAIN, 2))


class Calls:
    """Counts the calls of a function that is put in another's place."""

    def __init__(self, monkeypatch, owner, name):
        self.taken, original = [], getattr(owner, name)

        def counted(*arguments, **options):
            self.taken.append(arguments)
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, counted)

    def __len__(self):
        return len(self.taken)


def measured(cliques, query=lambda clique: None, stddev=3.0):
    rng = np.random.default_rng(4)
    rows = []
    for clique in cliques:
        operator = query(clique)
        counts = rng.multinomial(900, np.full(DOMAIN.size(clique), 1 / DOMAIN.size(clique)))
        answers = counts if operator is None else operator.matvec(counts)
        rows.append(pypgm.LinearMeasurement(answers + rng.normal(0, stddev, answers.size), clique, stddev, operator))
    return rows


@pytest.mark.parametrize("oracle", ["exact", "region_graph"])
def test_a_start_over_regions_asks_the_earlier_model_once(oracle, monkeypatch):
    prior = pypgm.estimate(DOMAIN, measured(PAIRS[:7]), oracle=oracle)
    rows = measured(PAIRS)
    many, single = (Calls(monkeypatch, type(prior), name) for name in ("project_many", "query"))
    option = {"prior" if oracle == "exact" else "warm_start": prior}
    pypgm.estimate(DOMAIN, rows, 900, oracle="region_graph", iterations=1, stop="optimum", **option)
    assert (len(many), len(single)) == (1, 0)


def test_pairs_that_ask_the_same_share_one_compiled_query(monkeypatch):
    rows = measured(PAIRS, lambda pair: queries.Contrasts(DOMAIN.sizes(pair)))
    singles = measured([(a,) for a in DOMAIN])
    lowered = Calls(monkeypatch, problem, "lowered")
    pypgm.estimate(DOMAIN, singles + rows, 900, oracle="region_graph", iterations=1, stop="optimum")
    contrasts = [query for (query,) in lowered.taken if isinstance(query, queries.Contrasts)]
    assert len(contrasts) == len(set(contrasts)) == len({DOMAIN.sizes(pair) for pair in PAIRS})


def test_totals_of_tables_measured_twice_are_not_searched_for(monkeypatch):
    """The best combination of cells measured twice, and of groups of as many cells, is known."""
    halves = queries.Partition([0, 0, 0, 1, 1, 1])
    rows = [
        *measured([("x0",)], stddev=2.0),
        *measured([("x0",)], stddev=5.0),
        *measured([("x0", "x1")], stddev=4.0),
        *measured([("x0", "x1")], lambda _: halves, 7.0),
        *measured([("x0", "x1")], lambda _: queries.Contrasts([2, 3])),
    ]
    monkeypatch.setattr("scipy.sparse.linalg.lsmr", None)
    total, variance = estimate_total(DOMAIN, rows)
    # The sum over a table of n answers has the variance n stddev^2; the contrasts tell nothing of it.
    precisions = np.array([1 / (2 * 4), 1 / (2 * 25), 1 / (6 * 16), 1 / (2 * 49)])
    sums = [m.values.sum() for m in rows[:4]]
    assert variance == pytest.approx(1 / precisions.sum())
    assert total == pytest.approx(precisions @ sums / precisions.sum())


def test_of_interactions_alone_no_total_is_sought(monkeypatch):
    groups = [[0, 1, 1], [0, 1, 0]]
    contrasts = [queries.Contrasts([2, 2], groups=[[0, 1], g]) for g in groups]
    rows = measured([("x0",)]) + [m for query in contrasts for m in measured([("x0", "x1")], lambda _, q=query: q)]
    joined = Calls(monkeypatch, queries.Union, "total_weights")
    assert estimate_total(DOMAIN, rows)[0] == pytest.approx(rows[0].values.sum())
    assert not joined


@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_fitting_begins_from_the_average_of_the_path_which_is_near(loss, monkeypatch):
    """Potentials averaged as the marginals are, are nearer the averaged marginals than those of the last point."""
    misses = []
    original = Oracle.with_marginals

    def compared(self, average, potentials, **options):
        misses.append(np.abs(self.marginals(potentials) - average).sum())
        return original(self, average, potentials, **options)

    monkeypatch.setattr(Oracle, "with_marginals", compared)
    lasts, answer = [], TreeEngine.answer

    def recorded(self, *given, **options):
        core, tree = self._core, self._problem.tree
        lasts.append(
            np.abs(tree.marginals(self._problem.tables.like(core.potentials), 900).values - core.average).sum()
        )
        return answer(self, *given, **options)

    monkeypatch.setattr(TreeEngine, "answer", recorded)
    pypgm.estimate(DOMAIN, measured(PAIRS[:7], stddev=9.0), 900, loss=loss)
    assert len(misses) == len(lasts) > 0
    assert sum(misses) < 0.5 * sum(lasts)


def test_potentials_are_fitted_roughly_to_the_end_of_a_path_that_another_estimate_starts_from(monkeypatch):
    data = pypgm.Dataset(dict(zip(DOMAIN, np.random.default_rng(1).integers(0, 2, (8, 500)), strict=True)), DOMAIN)
    run = Run("wide", data, 1, 1e-9)
    rows = measured(PAIRS[:7])
    fitted = Calls(monkeypatch, Oracle, "fitted")
    start = run.fit(rows, oracle="exact", is_start=True)
    assert [sweeps for *_, sweeps in fitted.taken] == [4]
    whole = run.fit(rows, oracle="exact")
    assert fitted.taken[1][-1] == 10
    distance = np.abs(start.marginals.values - whole.marginals.values).sum() / whole.marginals.values.sum()
    assert distance < 0.02


def test_aim_plans_no_tree_for_what_fits_and_asks_the_model_at_once(monkeypatch):
    rng = np.random.default_rng(6)
    hidden = rng.integers(0, 2, 400)
    columns = {
        a: np.where(rng.random(400) < 0.7, hidden, rng.integers(0, n, 400))
        for a, n in zip(DOMAIN, DOMAIN.shape, strict=True)
    }
    data = pypgm.Dataset(columns, DOMAIN)
    planned, answered = (Calls(monkeypatch, Run, "tree"), Calls(monkeypatch, pypgm.GraphicalModel, "project_many"))
    single = Calls(monkeypatch, pypgm.GraphicalModel, "project")
    release = aim(data, 10, 1e-9, rounds=16, unsafe_seed=2, tree_bytes=2.0**11)
    rounds = len(release.log)
    assert rounds >= 6
    # The selection takes one call for the candidates that fit, and what was learnt of the chosen one another.
    assert len(single) == rounds
    fits = [entry["candidates"] for entry in release.log]
    assert [len(cliques) for _, cliques in answered.taken] == fits
    # Of all candidates in each round most are inside the tree, or known to be too large.
    assert len(planned) < 0.4 * rounds * len(PAIRS)
    assert max(fits) > min(fits)


def test_aim_validates_one_round_in_eight_and_the_last(monkeypatch):
    data = pypgm.Dataset({a: [0, 1] * 200 for a in DOMAIN}, DOMAIN)
    fits, original = [], Run.fit

    def fit(run, *args, **how):
        fits.append((how.get("pace"), original(run, *args, **how)))
        return fits[-1][1]

    monkeypatch.setattr(Run, "fit", fit)
    release = aim(data, 1, 1e-9, rounds=16, unsafe_seed=2)
    _, *rounds, (last, model) = fits
    assert last is None
    assert model.fit.status in {"validated", "converged"}
    assert release.model is model
    for i, (pace, rough) in enumerate(rounds):
        assert (pace is None) == (i % 8 == 0)
        if pace is not None:  # it takes as many iterations as the last validated one did
            assert len(rough.fit.history) - 1 == pace.iterations == len(rounds[i - i % 8][1].fit.history) - 1


def test_what_a_tree_was_given_is_added_up_with_its_plan(monkeypatch):
    data = pypgm.Dataset({a: [0, 1] for a in DOMAIN}, DOMAIN)
    run = Run("aim", data, 1, 1e-9)
    sized = Calls(monkeypatch, pypgm.Domain, "size")
    tree = run.tree(map(DOMAIN.indices, PAIRS[:7]))
    assert not len(sized)
    assert tree.given_cells == sum(map(DOMAIN.size, PAIRS[:7]))


def test_regions_of_a_clique_are_looked_for_among_those_of_its_rarest_attribute():
    tables = [pypgm.Factor(DOMAIN.project(p), np.ones(DOMAIN.size(p))) for p in [*PAIRS[:9], ("x1", "x2", "x3")]]
    index = RegionIndex(pypgm.CliqueVector.from_factors(DOMAIN, tables), 1.0)
    for clique in [(), *((a,) for a in DOMAIN), *PAIRS, ("x1", "x2", "x3"), ("x0", "x1", "x2")]:
        held = [i for i, table in enumerate(tables) if set(clique) <= set(table.domain)]
        holders = index.holders(clique)
        assert sorted(holders) == held
        assert [tables[i].values.size for i in holders] == sorted(tables[i].values.size for i in held)
        assert index.holds(clique) == bool(held)


def test_the_tree_of_noisy_regions_is_fitted_no_nearer_than_the_noise(monkeypatch):
    noises, original = [], region_model.bounded_tree

    def planned(*arguments, noise, **options):
        noises.append(noise)
        return original(*arguments, noise=noise, **options)

    monkeypatch.setattr(region_model, "bounded_tree", planned)
    model = pypgm.estimate(DOMAIN, measured(PAIRS[::2], stddev=5.0), oracle="region_graph")
    model.expected_error_many(PAIRS, draws=2)
    assert noises == pytest.approx([5.0] * 3)  # also of what is estimated again
    # Pairs that contradict each other come nearer by less and less.
    domain, rng = pypgm.Domain({"a": 8, "b": 9, "c": 7}), np.random.default_rng(0)
    pairs = list(itertools.combinations(domain, 2))
    tables = [pypgm.Factor(domain.project(p), rng.dirichlet(np.full(domain.size(p), 0.3))) for p in pairs]
    plan = plan_bounded_tree(RegionIndex(pypgm.CliqueVector.from_factors(domain, tables), 1.0), pairs)
    shown = [[], []]
    for seen, enough in zip(shown, (1.0, 0.0), strict=True):
        clock = Clock()
        monkeypatch.setattr(clock, "tick", lambda line, seen=seen: seen.append(line()))
        fit_proportionally(plan, None, clock, enough=enough)
    assert len(shown[0]) == 8 < len(shown[1])


def test_what_is_told_of_a_release_is_made_up_of_records_that_are_drawn_once(monkeypatch):
    model = pypgm.estimate(DOMAIN, measured(PAIRS[::2]), oracle="region_graph")
    drawn = Calls(monkeypatch, type(model), "synthetic_data")
    quality = quality_of(model)
    assert len(drawn) == 1
    assert quality.mean("pairs") == quality_of(model).mean("pairs")  # the same every time


def test_made_up_tables_share_what_does_not_rest_on_their_answers(monkeypatch):
    """A path and a count is taken of each; queries, the sum of all cells and the tree's pairs are handled once."""
    halves = queries.Kronecker([queries.Identity(2), queries.Partition([0, 0, 1])])
    rows = measured(PAIRS[::2], lambda c: halves if c == ("x0", "x1") else None)
    model = pypgm.estimate(DOMAIN, rows, oracle="region_graph")
    taken = model.fit.history
    paths = Calls(monkeypatch, accelerated, "Path")
    lowered, summed = Calls(monkeypatch, problem, "lowered"), Calls(monkeypatch, queries.Identity, "total_weights")
    counts, ranked = Calls(monkeypatch, pypgm.Dataset, "count"), Calls(monkeypatch, bounded_tree, "mutual_information")
    fits, original = [], region_model.solved_on_regions

    def solved(*arguments):
        fits.append(original(*arguments))
        return fits[-1]

    monkeypatch.setattr(region_model, "solved_on_regions", solved)
    quality_of(model)
    assert len(paths) == len(counts) == len(fits) == 4
    assert {len(estimate.fit.history) for estimate, _ in fits} == {len(taken)}  # validated once, when it was estimated
    assert len(lowered) == len(rows)
    assert len(summed) <= len(rows)
    assert 0 < len(ranked) <= len(PAIRS)


def test_an_answer_of_the_bounded_tree_is_found_once(monkeypatch):
    model = pypgm.estimate(DOMAIN, measured(PAIRS[::2]), oracle="region_graph")
    answered = Calls(monkeypatch, Calibrated, "run")
    outside = [("x0", "x2"), ("x1", "x4")]
    assert not set(outside) & set(PAIRS[::2])
    first = model.project_many(outside)
    once = len(answered)
    first[0].datavector()[:] = -1.0  # tables are the caller's own
    again = model.project_many(outside)
    requests = [ask for _, asks, *_ in answered.taken[once:] for ask in asks]
    assert not requests
    np.testing.assert_array_equal(again[1].values, first[1].values)
    assert (again[0].values >= 0).all()


def test_where_an_earlier_model_knows_all_attributes_no_measurement_is_asked_about_them(monkeypatch):
    rows = measured([*((a,) for a in DOMAIN), *PAIRS[::2]])
    start = pypgm.estimate(DOMAIN, rows[: len(DOMAIN)])
    suggested = Calls(monkeypatch, request, "independent_potentials")
    pypgm.estimate(DOMAIN, rows, oracle="region_graph", prior=start)
    assert len(suggested) == 0


def test_the_noise_of_rank_products_takes_no_matrix(monkeypatch):
    data = pypgm.Dataset({a: [0, 1] * 200 for a in DOMAIN}, DOMAIN)
    made = Calls(monkeypatch, queries.Matrix, "__init__")
    run = Run("wide", data, 1, 1e-9)
    assert 0 < rho_of_products(run, len(PAIRS), 400.0) <= 0.05 * run.rho
    assert len(made) == 0


def test_one_answer_is_the_sum_of_all_cells_or_tells_nothing_of_it(monkeypatch):
    monkeypatch.setattr("scipy.sparse.linalg.lsmr", None)
    assert queries.Matrix([[2, 2, 2]]).total_weights(np.ones(1)) == pytest.approx(0.5)
    assert queries.Matrix([[1, 2, 2]]).total_weights(np.ones(1)) is None
    # An interaction beside it is left out.
    product = queries.Kronecker([queries.Matrix([[-1, 1]]), queries.Matrix([[-2, 1, 3]])])
    rows = measured([("x0",)]) + measured([("x0", "x1")], lambda _: product)
    rows += measured([("x0", "x1")], lambda _: queries.Contrasts([2, 3]))
    assert estimate_total(DOMAIN, rows)[0] == pytest.approx(rows[0].values.sum())


def test_regions_that_agree_but_for_their_last_digits_take_few_sweeps():
    """Regions agree as far as their own search went: 1e-8 of all records, which no answer needs to explain."""
    rng = np.random.default_rng(1)
    joint = rng.dirichlet(np.full(432, 0.1)).reshape(12, 9, 4)
    targets = []
    for mask in ([1, 1, 0], [1, 0, 1], [0, 1, 1]):
        pair = joint.sum(mask.index(0)).ravel()
        targets.append((mask, pair * (1 + 1e-7 * rng.normal(size=pair.size))))
    (solved,) = _core.solve_locally([([12, 9, 4], np.full(432, 1 / 432), targets)], 400, 1, lambda _: False)
    answer, violation, _, sweeps = solved
    assert sweeps < 100
    assert 1e-9 < violation < 1e-6
    for mask, pair in targets:
        np.testing.assert_allclose(answer.reshape(12, 9, 4).sum(mask.index(0)).ravel(), pair, atol=1e-6)


class Name(str):
    """A name that counts how often it is compared with others."""

    __slots__ = ()
    __hash__ = str.__hash__
    compared = 0

    def __eq__(self, other):
        Name.compared += 1
        return str.__eq__(self, other)


@pytest.mark.parametrize("read", [pypgm.read_table, pypgm.data.scan])
def test_each_column_of_a_file_is_found_at_once(tmp_path, read, monkeypatch):
    n, path = 300, tmp_path / "wide.csv"
    path.write_text(",".join(f"x{i}" for i in range(n)) + "\n" + ",".join("01" * (n // 2)) + "\n")
    schema = pypgm.Schema({Name(f"x{i}"): 2 for i in range(n)})
    began, made, listed = Name.compared, Relations.reading.fget, []
    monkeypatch.setattr(Relations, "reading", property(lambda self: listed.append(0) or made(self)))
    assert read(path, schema).count([("x7", "x8")])[0].tolist() == [0, 0, 1, 0]
    assert Name.compared - began < 40 * n
    assert len(listed) < 12
    before = Name.compared
    pypgm.Dataset({name: [0, 1] for name in schema.declared}, pypgm.Domain({f"x{i}": 2 for i in range(n)}))
    assert Name.compared - before < 10 * n


def test_charges_of_one_law_are_checked_once(monkeypatch):
    data = pypgm.Dataset({a: np.zeros(9, dtype=int) for a in DOMAIN}, DOMAIN)
    table = pypgm.PrivateTable(data, pypgm.Privacy(), pypgm.Ledger(pypgm.Budget(rho=1)))
    made = Calls(monkeypatch, DiscreteGaussian, "_with_threshold")
    table.measure_many(PAIRS, rho="1/2")
    report = table.ledger.snapshot()
    assert len(made) == 3 * 3  # of 4, 6 and 9 cells: that which is drawn from, the ledger's own, and the report's
    assert len(report.lines) == len(PAIRS)
    assert len({line.on for line in report.lines}) == len(PAIRS)
    assert {line.within for line in report.lines} == {"28 cliques"}
    assert report.spent() == sum(line.cost for line in report.lines) == Fraction(1, 2)


def test_many_tables_over_one_attribute_are_multiplied_one_by_one():
    """A star of more pairs than are compared with each other: messages over its centre are of one scope."""
    n = 200
    domain = pypgm.Domain({"c": 3} | {f"x{i}": 2 for i in range(n)})
    rng = np.random.default_rng(8)
    tables = rng.normal(0, 0.3, (n, 3, 2))
    potentials = pypgm.CliqueVector(domain, [("c", f"x{i}") for i in range(n)], tables.ravel())
    messages = np.exp(tables).sum(axis=2)
    centre = messages.prod(axis=0)
    model = pypgm.GraphicalModel(potentials, 1.0)
    assert model.log_partition() == pytest.approx(np.log(centre.sum()))
    np.testing.assert_allclose(model.query("c").values, centre / centre.sum())
    given = centre * np.exp(tables[7, :, 1]) / messages[7]
    np.testing.assert_allclose(model.query("c", {"x7": 1}).values, given / given.sum())
    assert model.log_partition({"x7": 1}) == pytest.approx(np.log(given.sum()))
    joint = np.exp(tables[3]) * (given / messages[3])[:, None]
    np.testing.assert_allclose(model.query(("c", "x3"), {"x7": 1}).values, joint / joint.sum())


def test_evidence_that_comes_again_is_not_propagated_again(monkeypatch):
    n = 40
    domain = pypgm.Domain({"c": 3} | {f"x{i}": 2 for i in range(n)})
    cliques = [("c", f"x{i}") for i in range(n)]
    tables = np.random.default_rng(8).normal(0, 0.3, (n, 3, 2))
    model = pypgm.GraphicalModel(pypgm.CliqueVector(domain, cliques, tables.ravel()), 10.0)
    eliminated = Calls(monkeypatch, graphical_model, "variable_elimination")
    known, all_at_once, sums = (
        {"x7": 1, "x9": [0]},
        pypgm.JunctionTree.attribute_marginals,
        pypgm.JunctionTree.log_partition,
    )
    passes = [Calls(monkeypatch, pypgm.JunctionTree, method.__name__) for method in (all_at_once, sums)]
    for _ in range(3):
        for attribute in ("c", "x0", "x7"):
            wanted = pypgm.variable_elimination(model.potentials, attribute, 1.0, known).values
            answer = model.query(attribute, known)
            np.testing.assert_allclose(answer.values, wanted, rtol=1e-12)
            answer.values[:] = -1.0
        log_z = model.log_partition(known)
    assert list(map(len, passes)) == [1, 1]
    assert model.log_partition({"x7": 0, "x9": [0]}) != log_z == model.log_partition(known)
    assert model.query(("c", "x3"), known).values.sum() == pytest.approx(1.0)
    assert len(eliminated) == 1


def test_a_first_estimate_and_its_records_load_no_package_they_do_not_need(tmp_path):
    source = """
import itertools, sys, numpy, pypgm
domain = pypgm.Domain({"a": 3, "b": 4, "c": 2})
pairs = [pypgm.LinearMeasurement(numpy.ones(domain.size(p)), p) for p in itertools.combinations(domain, 2)]
pypgm.estimate(domain, pairs).project("a")
pypgm.estimate(domain, pairs, oracle="region_graph").synthetic_data(9)
pypgm.estimate(domain, pairs).expected_error("a")
print(*{"networkx", "scipy", "pandas", "numpy.f2py", "matplotlib"}.intersection(sys.modules))
"""
    # Not from the source tree, which would shadow the installed package.
    ran = subprocess.run([sys.executable, "-c", source], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []


def test_a_draw_among_equal_candidates_makes_no_fraction_of_each_and_compares_no_groups(monkeypatch):
    monkeypatch.setattr(np, "array_equal", None)  # whether the groups of an attribute are its values is known
    monkeypatch.setattr(selector, "Fraction", None)
    monkeypatch.setattr(selector, "as_fraction", None)
    data = pypgm.Dataset(dict(zip(DOMAIN, np.random.default_rng(1).integers(0, 2, (8, 500)), strict=True)), DOMAIN)
    assert len(mst(data, 1, 1e-9, unsafe_seed=1).measurements) == 15


def test_scores_that_fit_are_moved_as_those_beyond_are():
    rng = np.random.default_rng(3)
    for size in (1 << 20, 1 << 61, (1 << 62) - 1, 1 << 62, 1 << 80):
        scores = [int(rng.integers(-(2**40), 2**40)) * size // 2**40 for _ in range(50)]
        best = max(scores)
        fitted = selector.fitted(np.array(scores, dtype=np.int64 if size < 1 << 62 else object))
        assert [int(x) - int(fitted.max()) for x in fitted] == [max(s - best, -selector.SCORE_LIMIT) for s in scores]
        assert fitted.max() == (best if max(map(abs, scores)) < selector.SCORE_LIMIT else 0)


def test_a_draw_takes_its_candidates_as_arrays_and_scores_each_once(monkeypatch):
    """Each draw of a spanning tree is among nearly all pairs: no work is repeated pair by pair."""
    data = pypgm.Dataset(dict(zip(DOMAIN, np.random.default_rng(1).integers(0, 2, (8, 500)), strict=True)), DOMAIN)
    scored, checked = Calls(monkeypatch, L1Selector, "_score"), Calls(monkeypatch, selector, "checked_integer")
    applied = Calls(monkeypatch, selector.Weights, "applied")
    mst(data, 1, 1e-9, unsafe_seed=1)
    assert len(scored) == len(PAIRS)
    assert [scores.dtype for _, scores in applied.taken] == [np.int64] * 7
    assert all(count != "a position" for count, *_ in checked.taken)


def test_all_pairs_of_a_tree_take_one_pass_over_its_cliques(monkeypatch):
    """Each alone is a chain of products; of all the tables that an edge carries are one."""
    n = 24
    domain = pypgm.Domain({f"x{i}": 2 + i % 2 for i in range(n)})
    cliques = [*zip(domain, list(domain)[1:], strict=False), *zip(domain, list(domain)[2:], strict=False)]
    rng = np.random.default_rng(5)
    potentials = pypgm.CliqueVector(domain, cliques, rng.normal(0, 1, sum(map(domain.size, cliques))))
    potentials.table(3)[:2] = -np.inf
    model = pypgm.GraphicalModel(potentials, 90.0)
    pairs = list(itertools.combinations(domain, 2))
    targets = (
        [pair if i % 3 else pair[::-1] for i, pair in enumerate(pairs)] + pairs[:1] + [("x1",), ("x0", "x9", "x20")]
    )
    planned = Calls(monkeypatch, Calibrated, "run")
    together = model.project_many(targets)
    assert sum(len(asks) for _, asks, *_ in planned.taken) < 60  # of what a clique holds, and of the triple
    for clique, table in zip(targets, together, strict=True):
        alone = model.project(clique)
        assert table.domain == alone.domain
        np.testing.assert_allclose(table.values, alone.values, rtol=1e-11)
    with pytest.raises(pypgm.ModelTooLargeError):
        model._calibrated.project_many(pairs, Clock(), max_bytes=900)


def test_pairs_of_few_attributes_with_many_are_planned_as_no_products(monkeypatch):
    """Messages of the few attributes are carried through the cliques once for each of them."""
    rng = np.random.default_rng(7)
    domain = pypgm.Domain({f"x{i}": 2 + i % 3 for i in range(60)})
    chain = list(itertools.pairwise(domain))
    potentials = pypgm.CliqueVector(domain, chain, rng.normal(0, 1, sum(map(domain.size, chain))))
    potentials.table(9)[:2] = -np.inf
    model = pypgm.GraphicalModel(potentials, 90.0)
    targets = [(f"x{i}", f"x{j}")[:: 1 - 2 * (j % 2)] for i in (0, 1, 30) for j in range(60) if abs(i - j) > 1]
    targets = list(dict.fromkeys(targets))
    planned = Calls(monkeypatch, Calibrated, "run")
    together = model.project_many(targets)
    assert sum(len(asks) for _, asks, *_ in planned.taken) == 0
    for clique, table in zip(targets, together, strict=True):
        alone = model.project(clique)
        assert table.domain == alone.domain
        np.testing.assert_allclose(table.values, alone.values, rtol=1e-11)
    with pytest.raises(pypgm.ModelTooLargeError):
        model._calibrated.project_many(targets, Clock(), max_bytes=900)


def test_pairs_take_one_pass_over_a_tree_or_one_an_attribute_whichever_is_less_work():
    """Messages of an attribute are no longer carried separately if most edges are passed anyway."""

    class Plans:
        def __init__(self, wrapped):
            self.wrapped, self.taken = wrapped, []

        def __getattr__(self, name):
            self.taken.append(name)
            return getattr(self.wrapped, name)

    rng = np.random.default_rng(8)
    domain = pypgm.Domain({f"x{i}": 2 for i in range(60)})
    names = list(domain)
    cliques = [(a, b) for k in (1, 2, 3) for a, b in zip(names, names[k:], strict=False)]
    model = pypgm.GraphicalModel(pypgm.CliqueVector(domain, cliques, rng.normal(0, 1, 4 * len(cliques))), 90.0)
    far = [(a, b) for a, b in itertools.combinations(names, 2) if names.index(b) - names.index(a) > 3]
    some = [far[i] for i in rng.permutation(len(far))[: len(far) // 6]]
    near = [(a, b) for k in (4, 5) for a, b in zip(names, names[k:], strict=False)]
    for targets, method in ((some, "pairs"), (near, "pairs_in_turn")):
        plans = model._calibrated._plans = Plans(model._calibrated._plans)
        together = model.project_many(targets)
        assert [name for name in plans.taken if name in ("pairs", "pairs_in_turn")] == [method]
        for clique, table in zip(targets, together, strict=True):
            np.testing.assert_allclose(table.values, model.project(clique).values, rtol=1e-11)


def test_what_sums_over_a_pair_tell_is_found_once_for_all_noises(monkeypatch):
    rng = np.random.default_rng(6)
    hidden, domain = rng.integers(0, 2, 4000), pypgm.Domain({f"x{i}": 2 for i in range(12)})
    data = pypgm.Dataset({a: hidden ^ (rng.random(4000) < 0.2) for a in domain}, domain)
    owner = pair_forecasts.PairForecasts
    parts, looks = (Calls(monkeypatch, owner, name) for name in ("_part", "_best"))
    wide(data, 1, 1e-9, unsafe_seed=0)
    assert len(looks) >= 6  # at all pairs for each noise, and at those that are asked
    assert 1 <= len(parts) <= 4  # of all pairs of a shape at once


def test_an_index_of_regions_grows_with_what_they_hold():
    domain = pypgm.Domain({f"x{i}": 2 for i in range(6000)})
    marginals = pypgm.CliqueVector(domain, list(itertools.pairwise(domain)))
    tracemalloc.start()
    index = RegionIndex(marginals, 1.0)
    assert tracemalloc.get_traced_memory()[1] < 2000 * len(domain)  # a bit for each region and attribute is more
    tracemalloc.stop()
    assert index.intersections(("x5", "x6", "x9")) == [("x5", "x6"), ("x9",)]


def test_pairs_that_join_a_forest_are_told_from_others_by_a_look_each():
    looks = []

    class Pair(tuple):
        def __hash__(self):
            looks.append(self)
            return super().__hash__()

    domain = pypgm.Domain({f"x{i}": 2 for i in range(200)})
    pairs = [Pair((f"x{i}", f"x{i + k}")) for k in (1, 2, 3) for i in range(200 - k)]
    assert joined_within(domain, pairs, 1e6) == pairs
    assert len(looks) <= 4 * len(pairs)


def test_the_likelihood_of_rounds_takes_the_exponentials_of_its_offsets_once(monkeypatch):
    rng = np.random.default_rng(8)
    rounds = drawn_queries.RoundsLikelihood(40)
    for number in range(30):
        offsets = np.where(rng.random(40) < 0.3, rng.normal(0, 60, 40), 0.0)
        rounds.add(offsets, [(number, bool(number % 2))])
    made = Calls(monkeypatch, drawn_queries, "_Terms")
    base = rng.normal(0, 15, 40)
    for step in range(20):
        rounds.loss(base * (1 - step / 40))  # no cell becomes large
    assert len(made) == 1
    rounds.loss(base * 2)
    assert len(made) == 2


def test_ascents_look_at_all_values_of_all_cells_once(monkeypatch):
    """The distance of a record from a cell is kept, and corrected when one of its values changes."""
    rng = np.random.default_rng(9)
    values = {(pair, int(rng.integers(DOMAIN.size(pair)))): 1.0 for pair in PAIRS}
    compared = Calls(monkeypatch, best_records._Cells, "missed")
    ascended = best_records.best_records(DOMAIN, values, rng.exponential(0.2, (5, sum(DOMAIN.shape))), rng)
    assert (len(compared), ascended.shape) == (1, (5, len(DOMAIN)))


def test_a_search_goes_on_from_the_model_before(monkeypatch):
    rng = np.random.default_rng(0)
    bits = {f"x{i}": rng.integers(0, 2, 4_000) for i in range(4)}
    targets = {f"y{k}": bits[f"x{k}"] ^ bits[f"x{k + 1}"] ^ (rng.random(4_000) < 0.1) for k in (0, 2)}
    pairs = {f"z{k}": bits[f"x{k}"] ^ (rng.random(4_000) < 0.2) for k in range(3)}
    columns = bits | targets | pairs
    fits, original = [], Run.fit

    def fit(run, rows, prior=None, *rest, **options):
        fits.append((sum(len(m.clique) > 2 for m in rows), prior, original(run, rows, prior, *rest, **options)))
        return fits[-1][2]

    monkeypatch.setattr(Run, "fit", fit)
    wide(pypgm.Dataset(columns, pypgm.Domain(dict.fromkeys(columns, 2))), 10, 1e-9, unsafe_seed=1)
    first = next(i for i, (n_sets, *_) in enumerate(fits) if n_sets)
    last = max(i for i in range(first, len(fits)) if fits[i][0] == fits[first][0] + 2 * (i - first))
    assert last - first >= 1
    for (_, _, before), (_, prior, _) in itertools.pairwise(fits[first - 1 : last + 1]):
        assert prior is before


def dependent(sizes, n):
    rng = np.random.default_rng(0)
    hidden = rng.random(n)
    columns = {f"x{i}": (np.where(rng.random(n) < 0.5, hidden, rng.random(n)) * d) for i, d in enumerate(sizes)}
    return pypgm.Dataset({a: c.astype(np.int64) for a, c in columns.items()}, pypgm.Domain(list(columns), list(sizes)))


def released(sizes, n=1_000, epsilon=1):
    data = dependent(sizes, n)
    return lambda: wide(data, epsilon, 1e-9, unsafe_seed=0).synthetic_data(rng=0)


def estimated(n_cliques):
    domain = pypgm.Domain({f"x{i}": 2 for i in range(100)})
    pairs = [pair for i, pair in enumerate(itertools.combinations(domain, 2)) if i * n_cliques % 4950 < n_cliques]
    rows = [pypgm.LinearMeasurement(np.full(4, 25.0), pair, 3.0) for pair in pairs]
    return lambda: pypgm.estimate(domain, rows, 100, oracle="region_graph", iterations=3, stop="optimum")


AXES = {  # a job, two sizes, and by what the second one's work is larger
    "records": (lambda n: released([2, 3, 4, 5], n), 500, 8_000, 16),
    "columns": (lambda n: released([2] * n), 6, 14, 91 / 15),
    "values": (lambda n: released([n, 3, 4]), 50, 2_000, 40),
    "cliques": (estimated, 40, 400, 10),
    "epsilon": (lambda epsilon: released([2, 3, 4, 5, 6], epsilon=epsilon), 10, 100, 3),
}


@pytest.mark.parametrize("axis", AXES)
def test_calls_and_memory_grow_no_faster_than_an_axis(axis):
    """Of Python and C functions, and bytes that are held at most: by the power 1.3 of the work."""
    made, small, large, work = AXES[axis]
    made(small)()  # imports and tables that are made once
    used = []
    for size in (small, large):
        job, calls = made(size), itertools.count()
        tracemalloc.start()
        sys.setprofile(lambda frame, event, argument, calls=calls: next(calls) if "return" not in event else None)
        try:
            job()
        finally:
            sys.setprofile(None)
            used.append((next(calls), tracemalloc.get_traced_memory()[1]))
            tracemalloc.stop()
    (few, little), (many, much) = used
    assert many <= few * work**1.3
    assert much <= little * work**1.3


@pytest.mark.parametrize("attributes", [16, 48])
def test_the_tree_of_a_second_start_answers_all_pairs_in_as_many_operations_whatever_the_attributes(attributes):
    domain = pypgm.Domain({f"x{i}": 2 for i in range(attributes)})
    rows = [pypgm.LinearMeasurement(np.ones(4), pair) for pair in itertools.combinations(domain, 2)]
    singles = pypgm.GraphicalModel(pypgm.CliqueVector(domain, [(a,) for a in domain]), 9.0)
    held = better_start._on_tree(SimpleNamespace(domain=domain), rows, singles)
    cells = pypgm.JunctionTree(domain, [rows[i].clique for i in held]).cost.cells
    assert attributes <= cells <= 1.6e7 / attributes


def test_pairs_of_a_table_of_many_columns_are_not_listed_before_they_are_asked(tmp_path, monkeypatch):
    """Nor are they where tables of single attributes, or of some pairs, are counted."""
    domain, listed = pypgm.Domain({f"x{i}": 2 for i in range(300)}), []
    combinations = itertools.combinations
    monkeypatch.setattr(
        counted, "combinations", lambda names, n: (listed.append(c) or c for c in combinations(names, n))
    )
    monkeypatch.setattr(counted, "_KEPT_CELLS", 20_000)  # less than all pairs have
    path = tmp_path / "many.csv"
    path.write_text("\n".join(map(",".join, [domain.attributes, ["0"] * 300, ["1"] * 300])), encoding="utf-8")
    table = scan(path, domain)
    for cliques in ([("x0",)], [("x1",)], [("x0", "x1")], [("x1", "x2")], [("x3", "x2")]):
        assert [counts.sum() for counts in table.count(cliques)] == [2]
    assert len(listed) < 5 * len(domain)
