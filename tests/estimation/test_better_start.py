"""The start of an estimate: a tree of pairs where that explains held-out answers better, the independent model else."""

from __future__ import annotations

import numpy as np
import pytest

import pypgm
from pypgm import Budget, Dataset, Domain, workloads
from pypgm.estimation.path import Path
from pypgm.mechanisms import better_start, wide
from pypgm.mechanisms.run import Run


def chain(n, strength, attributes=6, values=8, seed=0):
    """Return records of attributes each of which copies the one before with a probability."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, values, n)]
    for _ in range(attributes - 1):
        columns.append(np.where(rng.random(n) < strength, columns[-1], rng.integers(0, values, n)))
    domain = Domain({f"x{i}": values for i in range(attributes)})
    return Dataset(dict(zip(domain, columns, strict=True)), domain)


@pytest.fixture
def fits(monkeypatch):
    """Count the estimates of a run, with the potentials of the pairs that each started from."""
    own, found = Run.fit, []

    def fit(run, measurements, prior=None, part=1.0, **how):
        found.append(max(map(len, prior.cliques)))
        return own(run, measurements, prior, part, **how)

    monkeypatch.setattr(Run, "fit", fit)
    return found


def test_pairs_that_depend_much_are_estimated_from_a_tree_of_them(fits, monkeypatch):
    data = chain(20_000, 0.9)
    release = wide(data, epsilon=1, delta=1e-9, unsafe_seed=3)
    assert fits == [1, 1, 1, 2, 1, 2]  # from the first answers; from all; a tree and from it, held out, and of all
    pairs = workloads.all_k_way(data.domain, 2)
    error = pypgm.evaluate(release.model, cliques=pairs, unsafe_data=data).mean
    monkeypatch.setattr(better_start, "_held_out", lambda _: 0.0)
    from_independent = wide(data, epsilon=1, delta=1e-9, unsafe_seed=3)
    assert fits[6:] == [1, 1, 1, 2]
    assert error < 0.95 * pypgm.evaluate(from_independent.model, cliques=pairs, unsafe_data=data).mean


def test_pairs_that_noise_hides_are_estimated_from_the_independent_model(fits):
    wide(chain(2000, 0.3, values=20), epsilon=1, delta=1e-9, unsafe_seed=1)
    assert fits == [1, 1, 1, 2]


def test_each_start_takes_a_path_on_thinned_answers_and_one_on_all(monkeypatch):
    """Starts are compared by the very paths that validate their estimates."""
    paths, own = [], Path.follow

    def follow(self, watch, limit):
        paths.append((bool(self.problem.held_out), self.problem.loss.measurements[-1].values[0], len(fitted)))
        return own(self, watch, limit)

    fitted, fit = [], Run.fit

    def counted(run, *given, **how):
        fitted.append(how)
        return fit(run, *given, **how)

    monkeypatch.setattr(Path, "follow", follow)
    monkeypatch.setattr(Run, "fit", counted)
    release = wide(chain(20_000, 0.9), epsilon=1, delta=1e-9, unsafe_seed=3)
    answer = [m for m in release.measurements if len(m.clique) == 2][-1].values[0]
    assert [validates for validates, _, n in paths if n > 1] == [True, False, True, True, False, False]
    after = {n: value for validates, value, n in paths if n in {2, 4} and validates}
    assert after[2] == after[4] != answer  # thinned alike: what is held out is independent of both
    assert paths[-1][1] == answer


def test_where_all_pairs_are_a_tree_or_an_estimate_was_ended_there_is_one_start(fits, monkeypatch):
    wide(chain(500, 0.9, attributes=2), epsilon=1, delta=1e-9)
    assert fits == [1, 1]  # from the first answers, and from all
    fits.clear()
    release = wide(chain(500, 0.9), epsilon=1, delta=1e-9, callback=lambda _: True)
    assert release.model.fit.status == "callback"
    assert wide(chain(500, 0.9), epsilon=1, delta=1e-9, time_limit=1e-6).model.fit.status == "time"
    assert wide(chain(500, 0.9), epsilon=1, delta=1e-9, iterations=5).model.fit.status == "iterations"
    domain = chain(1, 1).domain
    empty = Dataset({a: [] for a in domain}, domain)
    wide(empty, epsilon=1, delta=1e-9, neighbours="replace")
    monkeypatch.setattr(better_start, "MAX_PAIRS", 14)
    wide(chain(500, 0.9), epsilon=1, delta=1e-9)
    assert set(fits) == {1}
    assert len(fits) <= 10  # two of each at most


@pytest.mark.parametrize("ended", [2, 3, 4, 5])
def test_an_estimate_that_is_ended_later_leaves_the_first_answer(monkeypatch, ended):
    """Whichever estimate but the first of all answers does not end by itself, the answer is that one."""
    data, own, models = chain(20_000, 0.9), Run.fit, []

    def fit(run, measurements, prior=None, part=1.0, **how):
        model = own(run, measurements, prior, part, **how)
        if len(models) == ended:
            model.fit = None
        models.append(model)
        return model

    monkeypatch.setattr(Run, "fit", fit)
    release = wide(data, epsilon=1, delta=1e-9, unsafe_seed=3)
    trees = {2, 4}  # whose estimates are starts, whatever ended them
    assert (release.model is models[1]) == (ended not in trees)


def test_earlier_measurements_are_explained_too():
    data = chain(20_000, 0.9)
    first = wide(data, budget=Budget(rho="1/2"), unsafe_seed=1)
    table = first.resume(data, Budget(rho=1), unsafe_seed=2)
    second = wide(table, measurements=first.measurements)
    assert second.measurements[: len(first.measurements)] == first.measurements
    pairs = workloads.all_k_way(data.domain, 2)
    errors = [pypgm.evaluate(r.model, cliques=pairs, unsafe_data=data).mean for r in (first, second)]
    assert errors[1] < errors[0]


def test_ctrl_c_between_two_estimates_leaves_the_first(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(better_start, "_held_out", interrupted)
    with pytest.warns(pypgm.errors.EstimateInterruptedWarning):
        release = wide(chain(20_000, 0.9), epsilon=1, delta=1e-9)
    assert release.model.fit.status == "interrupted"
    assert len(release.measurements) > 15
