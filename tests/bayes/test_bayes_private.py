"""Private conditional tables: what is spent, what is released, what is refused."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import pypgm
from pypgm import Budget, Dataset, Domain, ModelTooLargeError, Privacy
from pypgm.bayes import BayesianNetwork, CountedNetwork, NetworkRelease, PrivateStructure, learn, learn_private
from pypgm.privacy.laws import amplified_epsilon
from pypgm.reconstruction.consistency import consistent

DOMAIN = Domain({"rain": ["no", "yes"], "wet": 2, "cold": 3, "far": 2})
ARCS = [("rain", "wet"), ("wet", "cold"), ("rain", "cold")]  # far is alone
HUGE = 10**6


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    tables = {"rain": [0.7, 0.3], "wet": [[0.9, 0.1], [0.2, 0.8]], "cold": rng.dirichlet(np.ones(3), (2, 2))}
    parents = {"wet": ["rain"], "cold": ["wet", "rain"]}
    return BayesianNetwork(DOMAIN, parents, tables | {"far": [0.4, 0.6]}).sample(2000, 1)


STAGES = {"allocation": "data-dependent"}
SCHEMES = {
    "ours": {},
    "tables": {"estimator": "tables"},
    "epsilon": {"estimator": "tables", "consistency": "epsilon"},
    "apart": {"estimator": "tables", "consistency": None},
    "uniform": {"allocation": "uniform"},
    "stages": STAGES,
    "weighted": {**STAGES, "sensitivity": "covary"},
    "old coefficients": {**STAGES, "error_model": "paper", "sensitivity": "paper"},
    "sampled": {**STAGES, "sampling": "1/4", "stage_one": "1/5"},
    "paper": {"paper": True},
    "D-Ind": {"paper": True, "allocation": "uniform"},
}
BUDGETS = {"pure": Budget(epsilon=1), "rho": Budget(rho="1/2")}


@pytest.mark.parametrize("options", SCHEMES.values(), ids=SCHEMES)
@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
def test_every_scheme_spends_its_budget_and_no_more(data, options, budget):
    release = learn_private(data, ARCS, budget=budget, **options)
    assert isinstance(release, NetworkRelease)
    assert isinstance(release.model, CountedNetwork)
    spent = sum(line.cost for line in release.ledger.lines)
    assert spent <= budget.limit
    assert float(spent) == pytest.approx(float(budget.limit), rel=1e-6)
    kind = options.get("allocation", "data-dependent" if "paper" in options else "sizes")
    one = {"uniform": 0, "sizes": 1, "data-dependent": 1 if "sampling" in options or "paper" in options else 4}
    assert len(release.ledger.lines) == one[kind] + 4
    for a in DOMAIN:
        table = release.model.tables[a].values
        assert (table >= 0).all()
        np.testing.assert_allclose(table.sum(axis=-1), 1)


@pytest.mark.parametrize("scheme", ["stages", "old coefficients"])
def test_a_pure_ledger_sums_exactly(data, scheme):
    release = learn_private(data, ARCS, 1.5, stage_one=0.2, **SCHEMES[scheme])
    costs = [line.cost for line in release.ledger.lines]
    assert costs[:4] == [Fraction(3, 10) / 4] * 4
    assert sum(costs[4:]) == sum(release.allocation.values()) == Fraction(6, 5)
    assert list(release.allocation) == list(DOMAIN)


def test_a_uniform_allocation_is_the_whole_budget_in_equal_parts(data):
    release = learn_private(data, ARCS, 2, allocation="uniform")
    assert set(release.allocation.values()) == {Fraction(1, 2)}
    assert len(release.measurements) == 4


def test_a_sample_is_charged_with_what_amplification_leaves(data):
    release = learn_private(data, ARCS, 1, sampling="1/10", **STAGES)
    sample = release.ledger.lines[0]
    assert sample.parameters["rate"] == Fraction(1, 10)
    assert sample.cost == amplified_epsilon(Fraction(1, 10), sample.parameters["inner_epsilon"]) <= Fraction(1, 10)
    assert float(sample.parameters["inner_epsilon"]) == pytest.approx(math.log1p(math.expm1(0.1) * 10), rel=1e-5)
    assert len(release.measurements) == 4  # those of the sample count other records


def test_a_sampled_first_stage_is_laplace_under_rho(data):
    release = learn_private(data, ARCS, budget=Budget(rho=1), sampling="1/2", noise="gaussian", **STAGES)
    sample, *tables = release.ledger.lines
    assert sample.cost == sample.parameters["epsilon"] ** 2 / 2 <= Fraction(1, 10)
    assert {line.noise for line in tables} == {"discrete Gaussian"}


def test_the_law_of_the_noise_is_the_one_that_errs_least_or_is_asked_for(data):
    def laws(*budget, **options):
        return {line.noise for line in learn_private(data, ARCS, *budget, **options).ledger.lines if line.cost}

    assert laws(1) == laws(1, 1e-6, noise="laplace", neighbours="replace") == {"discrete Laplace"}
    assert laws(1, 1e-6) == laws(budget=Budget(rho=1)) == laws(1, 1e-6, noise="gaussian") == {"discrete Gaussian"}
    assert "discrete Laplace" in laws(1, 1e-6, sampling="1/2", **STAGES)
    assert "discrete Gaussian" not in laws(1, 1e-6, paper=True)


def test_options_of_stages_are_refused_without_them(data):
    for options in ({"sampling": "1/2"}, {"stage_one": 0.2}, {"sensitivity": "paper", "allocation": "uniform"}):
        with pytest.raises(ValueError, match="is of allocation='data-dependent', got allocation"):
            learn_private(data, ARCS, 1, **options)
    with pytest.raises(ValueError, match="but for allocation='uniform'"):
        learn_private(data, ARCS, 1, paper=True, allocation="data-dependent")


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_parts_follow_sizes_up_to_where_noise_fills_a_table(data, budget, neighbours):
    def release(budget):
        return learn_private(data, ARCS, budget=budget, neighbours=neighbours, unsafe_seed=0)

    def ratios(budget):
        found = release(budget).allocation
        return [float(found[a] / found["rain"]) for a in DOMAIN]

    assert ratios(Budget(rho=1000)) == pytest.approx([1, 2 ** (1 / 3), 6 ** (1 / 3), 1], rel=1e-6)  # 2, 4, 12, 2 cells
    assert ratios(Budget(epsilon="1/10000")) == pytest.approx([1, 1, 1, 1], rel=1e-6)
    made = release(budget)
    lost = 0 if neighbours == "replace" else 1 / 200
    assert float(sum(made.allocation.values())) == pytest.approx(float(budget.limit) * (1 - lost), rel=1e-6)
    assert sum(not m.clique for m in made.measurements) == (neighbours == "add-remove")


def test_d_ind_is_the_tables_of_equal_parts_normalised_and_made_consistent(data):
    release = learn_private(data, ARCS, 1, paper=True, allocation="uniform", unsafe_seed=0)
    assert set(release.allocation.values()) == {Fraction(1, 4)}
    tables, families = [], []
    for m in release.measurements:
        counts = np.maximum(m.values, 0.0)
        tables.append((counts / counts.sum()).reshape(DOMAIN.sizes(m.clique)))
        families.append(m.clique)
    agreed = consistent(DOMAIN, families, tables, [1.0] * 4, by_cells=False)
    for a, table in zip(DOMAIN, agreed, strict=True):
        positive = np.maximum(table, 0.0)
        np.testing.assert_allclose(release.model.tables[a].values, positive / positive.sum(axis=-1, keepdims=True))


@pytest.mark.parametrize("scheme", ["ours", "tables", "uniform", "paper"])
def test_with_a_huge_budget_the_tables_are_those_of_maximum_likelihood(data, scheme):
    release = learn_private(data, ARCS, HUGE, **SCHEMES[scheme])
    best = learn(data, ARCS)
    for a in DOMAIN:
        np.testing.assert_allclose(release.model.tables[a].values, best.tables[a].values, atol=2e-3)
    assert release.model.total == pytest.approx(2000, abs=1)


def test_a_single_attribute_gets_all_that_is_left():
    data = Dataset({"a": [0, 1, 2, 2] * 20}, Domain({"a": 3}))
    release = learn_private(data, [], 1)
    assert release.allocation == {"a": Fraction(199, 200)}


def test_more_budget_than_noise_can_be_drawn_for_is_left_over():
    data = Dataset({"a": [0, 1, 2, 2] * 20}, Domain({"a": 3}))
    for options in ({}, {"paper": True}):
        release = learn_private(data, [], HUGE, **options)
        assert release.allocation == {"a": 300}
        assert release.measurements[-1].values.tolist() == [20, 20, 40]


def test_equal_tables_of_equal_weight_get_equal_parts():
    data = Dataset({"a": [0, 1] * 50, "b": [0, 1] * 50}, Domain({"a": 2, "b": 2}))
    release = learn_private(data, [], HUGE, sensitivity="paper", error_model="paper", **STAGES)
    first, second = release.allocation.values()
    assert float(first / second) == pytest.approx(1, rel=1e-3)


def test_without_weights_a_place_in_the_network_counts_for_nothing():
    domain = Domain(dict.fromkeys("abc", 2))
    data = Dataset({"a": [0, 0, 1, 1] * 1000, "b": [0, 1, 0, 1] * 1000, "c": [1, 0, 0, 1] * 1000}, domain)
    arcs = [("a", "b"), ("a", "c")]
    alike, weighted = (learn_private(data, arcs, 100, sensitivity=s, **STAGES).allocation for s in (None, "covary"))
    # Half the records in each row of b and c, where noise does the more harm.
    assert float(alike["b"] / alike["a"]) == pytest.approx(2**0.5, rel=0.02)
    assert float(alike["b"] / alike["c"]) == pytest.approx(1, rel=0.02)
    assert weighted["a"] / weighted["b"] > alike["a"] / alike["b"]


def test_a_table_that_much_rests_on_gets_more():
    chain = Domain(dict.fromkeys("abcdef", 2))
    rng = np.random.default_rng(0)
    data = Dataset({a: rng.integers(0, 2, 4000) for a in chain}, chain)
    found = learn_private(data, list(itertools.pairwise("abcdef")), 100, sensitivity="paper", **STAGES).allocation
    assert found["b"] > found["f"]  # the same shape of a table, but five attributes below it
    assert found["b"] > found["d"] > found["f"]


def test_all_forms_of_a_structure_are_one(data, tmp_path):
    learn(data, ARCS).write_bif(tmp_path / "net.bif")
    graph = nx.DiGraph(ARCS)
    graph.add_node("far")
    forms = [ARCS, graph, {"wet": "rain", "cold": ("wet", "rain")}, learn(data, ARCS), tmp_path / "net.bif"]
    assert {frozenset(learn_private(data, form, 1).model.parents["cold"]) for form in forms} == {
        frozenset(("wet", "rain"))
    }


def test_all_zero_tables_are_uniform_and_an_empty_table_is_learned_from():
    none = Dataset({a: np.zeros(0, dtype=int) for a in DOMAIN}, DOMAIN)
    for scheme in SCHEMES.values():
        release = learn_private(none, ARCS, 1, **scheme)
        assert release.model.total >= 1
        assert np.isfinite(release.table_error("cold").values).all()
    public = learn_private(none, ARCS, 1, neighbours="replace")
    assert public.model.total == 0
    assert public.model.synthetic_data().n_records == 0


def test_a_value_of_the_parents_without_records_is_as_uncertain_as_can_be():
    data = Dataset({"a": np.zeros(3000, dtype=int), "b": [0, 1, 1] * 1000}, Domain({"a": 2, "b": 2}))
    release = learn_private(data, [("a", "b")], 5, unsafe_seed=0)
    error = release.table_error("b").values
    assert (error[0] < 0.01).all()
    assert (error[1] > 0.1).all()
    assert release.table_error("b").domain.attributes == ("a", "b")


def test_standard_errors_are_those_of_the_noise(data):
    truth, n = learn(data, ARCS).tables["wet"].values, 300
    drawn = [learn_private(data, ARCS, 4, estimator="tables", consistency=None, unsafe_seed=i) for i in range(n)]
    spread = np.sqrt(np.mean([(r.model.tables["wet"].values - truth) ** 2 for r in drawn], axis=0))
    said = np.sqrt(np.mean([r.table_error("wet").values ** 2 for r in drawn], axis=0))
    np.testing.assert_allclose(said, spread, rtol=0.25)


@pytest.mark.parametrize("privacy", [Privacy("replace"), Privacy(records_per_person=3), Privacy("replace", 2)])
def test_noise_follows_the_relation(data, privacy):
    relations = (Privacy(), privacy)
    plain, wide = (learn_private(data, ARCS, 1, allocation="uniform", privacy=p, unsafe_seed=1) for p in relations)
    times = privacy.records_per_person * (2 if privacy.neighbours == "replace" else 1)
    for one, other in zip(plain.ledger.lines, wide.ledger.lines, strict=True):
        assert other.parameters["scale"] == times * one.parameters["scale"]
    assert (wide.model.total == 2000) == (privacy.neighbours == "replace")


def test_an_attribute_of_one_value_costs_nothing_it_does_not_tell():
    data = Dataset({"a": np.zeros(50, dtype=int), "b": [0, 1] * 25}, Domain({"a": 1, "b": 2}))
    for privacy in (Privacy(), Privacy("replace")):
        release = learn_private(data, [("a", "b")], 1, privacy=privacy)
        assert release.model.tables["a"].values.tolist() == [1.0]
        assert release.ledger.budget.limit >= sum(line.cost for line in release.ledger.lines)


def test_a_release_is_saved_loaded_and_written_to_bif(data, tmp_path):
    release = learn_private(data, ARCS, 1)
    release.save(tmp_path / "release.pgm")
    again = pypgm.load(tmp_path / "release.pgm")
    assert type(again) is NetworkRelease
    assert again.allocation == release.allocation
    assert again.report() == release.report()
    np.testing.assert_array_equal(again.table_error("cold").values, release.table_error("cold").values)
    release.model.write_bif(tmp_path / "net.bif")
    read = BayesianNetwork.read_bif(tmp_path / "net.bif")
    for a in DOMAIN:
        np.testing.assert_array_equal(read.tables[a].values, release.model.tables[a].values)
    assert read.parents == release.model.parents


def test_a_wide_network_is_estimated_on_regions():
    names = [f"x{i}" for i in range(30)]
    rng = np.random.default_rng(2)
    data = Dataset({a: rng.integers(0, 4, 500) for a in names}, Domain(dict.fromkeys(names, 4)))
    arcs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 : i + 30 : 9]]
    release = learn_private(data, {b: [a for a, c in arcs if c == b][:3] for b in names}, 5, max_bytes=2**19)
    assert release.model.fit is not None
    assert len(release.model.tables) == 30


REFUSED = {
    "a circle": ({"structure": [("rain", "wet"), ("wet", "rain")]}, ValueError, "circle"),
    "an unknown attribute": ({"structure": [("rain", "snow")]}, ValueError, "snow"),
    "no graph": ({"structure": 7}, TypeError, "structure"),
    "no budget": ({"epsilon": None}, TypeError, "budget"),
    "a budget twice": ({"budget": Budget(rho=1)}, TypeError, "budget"),
    "epsilon 0": ({"epsilon": 0}, ValueError, "epsilon"),
    "a relation twice": ({"neighbours": "replace", "privacy": Privacy()}, TypeError, "privacy"),
    "stage_one 0": ({"stage_one": 0}, ValueError, "stage_one"),
    "stage_one 1": ({"stage_one": 1}, ValueError, "stage_one"),
    "sampling 0": ({"sampling": 0}, ValueError, "sampling"),
    "sampling 2": ({"sampling": 2}, ValueError, "sampling"),
    "sampling under replace": ({"sampling": 0.5, "neighbours": "replace"}, ValueError, "sampling"),
    "paper under replace": ({"paper": True, "neighbours": "replace"}, ValueError, "sampling"),
    "sampling of persons": ({"sampling": 0.5, "privacy": Privacy(records_per_person=2)}, ValueError, "sampling"),
    "paper with options": ({"paper": True, "estimator": "tables"}, ValueError, "paper"),
    "Gaussian and pure": ({"noise": "gaussian"}, ValueError, "Gaussian"),
    "allocation": ({"allocation": "even"}, ValueError, "allocation"),
    "consistency": ({"consistency": "all"}, ValueError, "consistency"),
    "error_model": ({"error_model": "l1"}, ValueError, "error_model"),
    "sensitivity": ({"sensitivity": "none"}, ValueError, "sensitivity"),
    "estimator": ({"estimator": "em"}, ValueError, "estimator"),
    "noise": ({"noise": "uniform"}, ValueError, "noise"),
}


@pytest.mark.parametrize(("changed", "error", "match"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_refused_before_anything_is_spent(data, monkeypatch, changed, error, match):
    monkeypatch.setattr(pypgm.Ledger, "charge", lambda *_: pytest.fail("something was charged"))
    with pytest.raises(error, match=match):
        learn_private(data, **({"structure": ARCS, "epsilon": 1} | changed))


def test_tables_that_do_not_fit_are_refused_before_anything_is_spent(monkeypatch):
    monkeypatch.setattr(pypgm.Ledger, "charge", lambda *_: pytest.fail("something was charged"))
    names = [f"x{i}" for i in range(31)]
    data = Dataset({a: [0, 1] for a in names}, Domain(dict.fromkeys(names, 4)))
    with pytest.raises(ModelTooLargeError, match="'x30', of 30 parents"):
        learn_private(data, {"x30": names[:30]}, 1)
    with pytest.raises(ModelTooLargeError):
        learn_private(data, {"x8": names[:8]}, 1, max_bytes=1000)


def test_an_estimate_that_does_not_fit_is_refused_before_anything_is_spent(monkeypatch):
    names = [f"x{i}" for i in range(12)]
    data = Dataset({a: [0, 1] for a in names}, Domain(dict.fromkeys(names, 4)))
    chain = list(itertools.pairwise(names))
    charged, charge = [], pypgm.Ledger.charge
    monkeypatch.setattr(pypgm.Ledger, "charge", lambda *given: charged.append(0) or charge(*given))
    refused = []
    for max_bytes in np.geomspace(1e3, 1e6, 13):
        try:
            learn_private(data, chain, 1, max_bytes=max_bytes)
        except ModelTooLargeError:
            refused.append(max_bytes)
            assert not charged
        charged.clear()
    assert 2 <= len(refused) <= 9
    assert learn_private(data, chain, 1, max_bytes=max(refused), estimator="tables").model.fit is None


def test_weighted_records_and_an_empty_domain_are_refused(data):
    weighted = Dataset({"a": [0, 1]}, Domain({"a": 2}), weights=[1.0, 2.0])
    with pytest.raises(ValueError, match="weight"):
        learn_private(weighted, [], 1)
    with pytest.raises(ValueError, match="at least one attribute"):
        learn_private(Dataset({}, Domain({})), [], 1)


def test_two_seeded_releases_are_one_and_say_they_protect_nobody(data):
    one, other = (learn_private(data, ARCS, 1, paper=True, unsafe_seed=4) for _ in range(2))
    assert one.not_private
    assert one.model.not_private == other.not_private
    np.testing.assert_array_equal(one.model.tables["cold"].values, other.model.tables["cold"].values)


def table_of(library):
    """Return a network whose labels read as numbers, a sample, and the same as a frame."""
    pytest.importorskip(library)
    tables = {"t": [0.3, 0.7], "u": [[0.9, 0.1], [0.2, 0.8]]}
    net = BayesianNetwork({"t": ["1", "0"], "u": [2, 1]}, [("t", "u")], tables)
    records = net.sample(400, 0)
    return net, records, records.to_frame(library)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_is_learned_from_by_what_is_public_of_it(library, tmp_path):
    net, records, frame = table_of(library)
    path = tmp_path / "net.bif"
    net.write_bif(path)
    wanted = learn_private(records, net, 1, unsafe_seed=0).model
    assert learn_private(frame, net, 1, unsafe_seed=0).model == wanted
    told = {"t": ["1", "0"], "u": [2, 1]}
    assert learn_private(frame, [("t", "u")], 1, schema=told, unsafe_seed=0).model == wanted
    assert learn_private(frame, PrivateStructure(), 1, schema=net.domain, unsafe_seed=0).schema is not None
    of_file = learn_private(frame, path, 1, unsafe_seed=0).model  # whose labels are texts
    np.testing.assert_array_equal(of_file.tables["u"].values, wanted.tables["u"].values)


def test_labels_are_never_learned_from_private_records(monkeypatch):
    net, records, frame = table_of("pandas")
    monkeypatch.setattr(pypgm.Ledger, "charge", lambda *_: pytest.fail("something was charged"))
    with pytest.raises(TypeError, match="schema="):
        learn_private(frame, [("t", "u")], 1)
    with pytest.raises(TypeError, match="schema="):
        learn_private(frame, PrivateStructure(), 1)
    with pytest.raises(ValueError, match="the records are over"):
        learn_private(records, net, 1, schema={"t": ["1", "0"]})
    with pytest.raises(ValueError, match="column 'u', row 0") as refused:
        learn_private(frame.assign(u=777), net, 1)
    assert "777" not in str(refused.value)
