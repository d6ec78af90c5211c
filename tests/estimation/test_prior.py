"""What an estimate starts from: a prior it stays near, an earlier model it saves time by."""

from __future__ import annotations

import numpy as np
import pytest
import reference

import pypgm
from pypgm import Constraint, Domain, LinearMeasurement
from pypgm.models.tree_estimate import _not_held as not_held
from pypgm.models.tree_estimate import start_from

DOMAIN = Domain({"a": 8, "b": 7, "c": 6, "d": 5})
TIGHT = {"stop": "optimum", "tolerance": 1e-6, "iterations": 20000}


def table(seed, concentration=0.5):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(DOMAIN.size(), concentration)).reshape(DOMAIN.shape) * 2000


def measured(truth, cliques, spread, seed=0):
    rng = np.random.default_rng(seed + 100)
    exact = {c: reference.project(DOMAIN, truth, c) for c in cliques}
    return [LinearMeasurement(t + spread * rng.normal(size=t.shape), c, spread) for c, t in exact.items()]


def error(model, truth, cliques):
    return np.mean([np.abs(model.project(c).values - reference.project(DOMAIN, truth, c)).sum() for c in cliques])


PAIRS = [("a", "b"), ("b", "c"), ("c", "d")]


def test_a_good_prior_makes_a_weak_measurement_better():
    errors = {"independent": [], "prior": []}
    for seed in range(5):
        truth = table(seed, 0.3)
        public = pypgm.estimate(DOMAIN, measured(truth, PAIRS, 2.0, seed))
        private = measured(truth, PAIRS, 60.0, seed + 50)
        errors["independent"].append(error(pypgm.estimate(DOMAIN, private), truth, PAIRS))
        errors["prior"].append(error(pypgm.estimate(DOMAIN, private, prior=public), truth, PAIRS))
    assert np.mean(errors["prior"]) < 0.5 * np.mean(errors["independent"])


def test_a_bad_prior_is_left_behind_where_measurements_are_good():
    truth = table(0, 0.3)
    wrong = pypgm.estimate(DOMAIN, measured(table(99, 0.3), PAIRS, 2.0))
    ms = measured(truth, PAIRS, 1.0)
    with_prior, without = (error(pypgm.estimate(DOMAIN, ms, prior=p), truth, PAIRS) for p in (wrong, None))
    assert with_prior < 2 * without
    assert with_prior < 0.1 * error(wrong, truth, PAIRS)


def test_a_prior_keeps_what_nothing_measured_contradicts():
    truth = table(1)
    prior = pypgm.estimate(DOMAIN, measured(truth, [("a", "b", "c")], 0.5))
    model = pypgm.estimate(DOMAIN, measured(truth, [("c", "d")], 5.0), prior=prior)
    assert set(model.cliques) == {("c", "d"), ("a", "b", "c")}
    given_c = [m.project(("c", "a", "b")).values for m in (model, prior)]
    shares = [t / t.sum((1, 2), keepdims=True) for t in given_c]
    np.testing.assert_allclose(*shares, rtol=1e-6)


def test_at_the_optimum_a_prior_decides_what_the_loss_leaves_open():
    # Measuring the one-ways of a strong pair moves its margins and keeps its interaction: proportional fitting.
    prior = pypgm.estimate(DOMAIN, measured(table(2), [("a", "b")], 1.0), 2000.0)
    target = {("a",): np.arange(1.0, 9) * 2000 / 36, ("b",): np.arange(7.0, 0, -1) * 2000 / 28}
    ms = [LinearMeasurement(v, c, 1.0) for c, v in target.items()]
    model = pypgm.estimate(DOMAIN, ms, 2000.0, prior=prior, stop="optimum", tolerance=1e-10, iterations=50000)
    fitted = prior.project(("a", "b")).values.copy()
    for _ in range(500):
        fitted *= (target["a",] / fitted.sum(1))[:, None]
        fitted *= (target["b",] / fitted.sum(0))[None, :]
    np.testing.assert_allclose(model.project(("a", "b")).values, fitted, rtol=1e-3, atol=1e-2)


# Warm starts.


@pytest.mark.parametrize("before", [PAIRS[:2], [*PAIRS, ("a", "d")]])
@pytest.mark.parametrize(("method", "tolerance"), [("mirror_descent", 1e-2), ("accelerated", 1e-4)])
def test_a_warm_start_saves_iterations_when_cliques_come_and_go(before, method, tolerance):
    # The gap of an accelerated path is looked at every 50 steps: to a looser tolerance it ends at the first look.
    cold, warm = 0, 0
    options = {"method": method, "stop": "optimum", "tolerance": tolerance}
    for seed in range(12):
        truth = table(seed)
        earlier = pypgm.estimate(DOMAIN, measured(truth, before, 3.0, seed), 2000.0, stop="optimum", tolerance=1e-3)
        ms = measured(truth, PAIRS, 3.0, seed)
        cold += pypgm.estimate(DOMAIN, ms, 2000.0, **options).fit.iterations
        warm += pypgm.estimate(DOMAIN, ms, 2000.0, warm_start=earlier, **options).fit.iterations
    assert warm < 0.85 * cold


def test_an_earlier_model_that_lost_cliques_never_starts_worse_than_independence():
    for seed in range(3):
        truth = table(seed)
        ms = measured(truth, PAIRS, 3.0, seed)
        other = measured(table(seed + 50), [("a", "b", "c"), ("c", "d")], 3.0)
        for before in (other, measured(truth, [("a", "b", "c"), ("c", "d")], 3.0, seed + 9)):
            earlier = pypgm.estimate(DOMAIN, before, 2000.0)
            cold, warm = (
                pypgm.estimate(DOMAIN, ms, 2000.0, warm_start=w, stop="optimum", iterations=30, tolerance=0).fit
                for w in (None, earlier)
            )
            assert warm.history[0] <= cold.history[0] * (1 + 1e-12)


def test_a_start_without_its_largest_clique_leads_to_the_same_optimum():
    truth = table(7)
    earlier = pypgm.estimate(
        DOMAIN, measured(truth, [("a", "b", "c"), ("c", "d")], 3.0), 2000.0, stop="optimum", tolerance=1e-3
    )
    ms = measured(truth, PAIRS, 3.0)
    tighter = TIGHT | {"tolerance": 1e-5}  # what rounding leaves of a gap is below it
    cold, warm = (pypgm.estimate(DOMAIN, ms, 2000.0, warm_start=w, **tighter) for w in (None, earlier))
    assert warm.fit.loss == pytest.approx(cold.fit.loss, rel=1e-5)
    assert warm.fit.iterations < 1.5 * cold.fit.iterations


def test_the_same_model_again_takes_no_iterations():
    ms = measured(table(3), PAIRS, 10.0)
    model = pypgm.estimate(DOMAIN, ms, 2000.0, **TIGHT)
    again = pypgm.estimate(DOMAIN, ms, 2000.0, warm_start=model, stop="optimum", tolerance=1e-5)
    assert again.fit.iterations <= 1
    assert again.fit.loss == pytest.approx(model.fit.loss, rel=1e-6)


def test_a_start_is_the_earlier_model_where_its_cliques_are_held():
    earlier = pypgm.estimate(DOMAIN, measured(table(4), [*PAIRS, ("a",)], 20.0))
    tree = pypgm.JunctionTree(DOMAIN, [("b", "c", "d"), ("a", "b"), ("a", "d")])
    start = start_from(tree, earlier.potentials, 1.0, 1)
    for clique in tree.cliques:
        wanted = earlier.project(clique).values / earlier.total
        np.testing.assert_allclose(tree.marginals(start).project(clique).values, wanted, rtol=1e-9)


def test_a_start_has_the_earlier_marginals_where_a_clique_is_gone():
    earlier = pypgm.estimate(DOMAIN, measured(table(5), [("a", "b", "c"), ("c", "d")], 20.0))
    tree = pypgm.JunctionTree(DOMAIN, [*PAIRS, ("a", "c")])
    start = start_from(tree, earlier.potentials, 500.0, 1)
    found = tree.marginals(start, 500.0)
    for clique in tree.cliques:
        wanted = earlier.project(clique).values * 500 / earlier.total
        assert np.abs(found.project(clique).values - wanted).sum() < 2 * 0.01 * 500


def test_zeros_of_constraints_hold_in_every_start():
    constraint = Constraint(("a", "b"), forbidden=[(0, 0), (3, 4)])
    free = pypgm.estimate(DOMAIN, measured(table(6), PAIRS, 10.0))
    for options in ({"prior": free}, {"warm_start": free}):
        model = pypgm.estimate(DOMAIN, measured(table(6), PAIRS, 10.0), constraints=[constraint], **options)
        assert model.project(("a", "b")).values[[0, 3], [0, 4]].tolist() == [0, 0]


@pytest.mark.parametrize("oracle", ["exact", "region_graph"])
@pytest.mark.parametrize("role", ["prior", "warm_start"])
def test_a_model_of_no_records_is_a_start_like_any_other(role, oracle):
    domain = Domain({"a": 2, "b": 2})
    potentials = pypgm.CliqueVector(domain, ["a", "b"], [0, np.log(2), 0, np.log(3)])
    answers = [LinearMeasurement([10.0, 20.0], "a", 0.1)]
    stop = {"stop": "optimum"} if role == "warm_start" else {}
    found = [
        pypgm.estimate(domain, answers, oracle=oracle, **stop, **{role: pypgm.GraphicalModel(potentials, total)})
        for total in (0.0, 30.0)
    ]
    np.testing.assert_allclose(found[0].project("a").values, [10, 20], atol=0.5)
    if (role, oracle) == ("prior", "exact"):
        np.testing.assert_allclose(found[0].project("b").values, [7.5, 22.5], atol=0.5)
    np.testing.assert_allclose(found[0].project(("a", "b")).values, found[1].project(("a", "b")).values, rtol=1e-6)


def test_a_mapping_goes_with_its_prior():
    domain = Domain({"fine": 6, "coarse": 2, "x": 3})
    inside = [Constraint(("fine", "coarse"), mapping=[0, 0, 1, 1, 1, 0])]
    ms = [LinearMeasurement(np.arange(6.0).reshape(2, 3) * 10, ("coarse", "x"), 1.0)]
    first = pypgm.estimate(domain, ms, constraints=inside)
    again = pypgm.estimate(domain, ms, constraints=inside, warm_start=first)
    np.testing.assert_allclose(again.project("coarse").values, [30, 120], rtol=0.02)
    with pytest.raises(ValueError, match="same mappings"):
        pypgm.estimate(domain, ms, prior=first)


@pytest.mark.parametrize("oracle", ["exact", "region_graph"])
@pytest.mark.parametrize("name", ["prior", "warm_start"])
def test_a_start_of_other_labels_is_refused_by_the_attribute(name, oracle):
    sizes = {"a": 3, "b": ["x", "y"]}
    ms = [LinearMeasurement([10, 20, 30], "a")]
    cases = [
        (["x", "z"], "of code 1 'y' is needed, got 'z'"),
        (2, "of code 0 'x' is needed, got no label"),
    ]
    for labels, message in cases:
        other = pypgm.estimate(Domain({**sizes, "b": labels}), ms, oracle=oracle)
        with pytest.raises(ValueError, match=f"whose labels of 'b' differ: {message}"):
            pypgm.estimate(Domain(sizes), ms, oracle=oracle, **{name: other})
    own = pypgm.estimate(Domain({**sizes, "b": 2}), ms, oracle=oracle)
    with pytest.raises(ValueError, match="of code 0 no label is needed, got 'x'"):
        pypgm.estimate(own.domain, ms, oracle=oracle, **{name: pypgm.estimate(Domain(sizes), ms, oracle=oracle)})


@pytest.mark.parametrize("name", ["prior", "warm_start"])
def test_refusals(name):
    ms = measured(table(0), PAIRS, 5.0)
    other = pypgm.estimate(Domain({"a": 8}), [LinearMeasurement(np.ones(8), "a")])
    with pytest.raises(ValueError, match=f"{name} needs a model over"):
        pypgm.estimate(DOMAIN, ms, **{name: other})
    with pytest.raises(TypeError, match=f"{name} needs a GraphicalModel"):
        pypgm.estimate(DOMAIN, ms, **{name: other.potentials.values})
    own = pypgm.estimate(DOMAIN, ms)
    with pytest.raises(ValueError, match="one"):
        pypgm.estimate(DOMAIN, ms, prior=own, warm_start=own)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"warm_start": None}, "warm_start"),
        ({"method": "lbfgs"}, "method='lbfgs'"),
        ({"stepsize": 1.0}, "method='mirror_descent'"),
        ({"loss": lambda m: (0.5 * m.dot(m), m)}, "does not rest on measurements"),
    ],
)
def test_what_goes_to_the_optimum_is_not_validated(options, named):
    ms = measured(table(4), PAIRS, 10.0)
    if "warm_start" in options:
        options = {"warm_start": pypgm.estimate(DOMAIN, ms, 2000.0)}
    with pytest.raises(ValueError, match=rf'stop="validated" cannot go with .*{named}'):
        pypgm.estimate(DOMAIN, ms, 2000.0, stop="validated", **options)
    assert pypgm.estimate(DOMAIN, ms, 2000.0, iterations=20, **options).fit.status != "validated"


def test_scopes_that_no_clique_holds_are_found_among_those_that_share_an_attribute():
    rng = np.random.default_rng(0)
    names = "abcdef"
    for _ in range(200):
        scopes, cliques = ([tuple(rng.permutation([*names])[: rng.integers(0, 4)]) for _ in range(n)] for n in (6, 4))
        for held in (cliques, []):
            assert not_held(scopes, held) == [s for s in scopes if not any(set(s) <= set(c) for c in held)]
