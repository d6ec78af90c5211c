"""Long calls of models: Ctrl-C ends them, a time limit ends them with the best so far, they show how far they are."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import pypgm
from pypgm import CliqueVector, Domain, RegionGraph, RegionGraphModel, _core
from pypgm._base.clock import Clock
from pypgm.errors import TimeLimitWarning
from pypgm.inference import max_elimination
from pypgm.inference.bounded_tree import joined_within
from pypgm.models import expected_error

SOON = 1.0  # seconds into a job of minutes
LATE = 10.0  # seconds, of the clock or of the processor: long for an interruption, short for the job

INTERRUPTED = f"""
import os, signal, sys, threading, time
from models import test_watched as jobs
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
job = jobs.JOBS[sys.argv[1]]()
clocks = time.monotonic, time.process_time
threading.Timer({SOON}, lambda: (sent.extend(c() for c in clocks), os.kill(os.getpid(), signal.SIGINT))).start()
sent = []
try:
    job()
except KeyboardInterrupt:
    print("interrupted", min(c() - then for c, then in zip(clocks, sent, strict=True)))
"""


def at_odds(attributes, values):
    """Return a model whose regions are all pairs of attributes, each with a table of its own."""
    domain = Domain({f"x{i}": values for i in range(attributes)})
    graph = RegionGraph.factor_graph(domain, list(itertools.combinations(domain.attributes, 2)))
    rng = np.random.default_rng(0)
    cells = [1e6 * rng.dirichlet(np.ones(domain.size(r))) for r in graph.regions]
    return RegionGraphModel(graph, CliqueVector(domain, graph.regions, np.concatenate(cells)), 1e6, tree_cells=1.0)


def answers():
    """Return what takes minutes: answers to many cliques, none of which agrees with its regions."""
    model = at_odds(10, 20)
    cliques = list(itertools.combinations(model.domain.attributes, 4))
    return lambda **options: model.project_many(cliques, **options)


def records():
    """Return what takes minutes: records refined towards tables that contradict each other."""
    model = at_odds(12, 20)
    model.synthetic_data(10)
    return lambda **options: model.synthetic_data(4_000_000, rng=0, **options)


def errors():
    """Return what takes minutes: a bootstrap of a model of millions of cells."""
    domain = Domain({"a": 100, "b": 100, "c": 100})
    rng = np.random.default_rng(0)
    exact = 1e6 * rng.dirichlet(np.ones(domain.size()))
    measured = pypgm.LinearMeasurement(exact + rng.normal(scale=10, size=exact.size), domain.attributes, 10.0)
    pair = pypgm.LinearMeasurement(np.full(10_000, 100.0), ("a", "b"), 1.0)
    model = pypgm.estimate(domain, [measured, pair], iterations=3)
    model.recipe.options["iterations"] = 10_000
    return lambda **options: model.standard_error("a", method="bootstrap", draws=100_000, **options)


def step():
    """Return what takes a minute: one product of two tables, on one thread."""
    domain = Domain({"a": 3000, "b": 3000, "c": 3000})
    potentials = CliqueVector(domain, [("a", "b"), ("b", "c")])
    return lambda: max_elimination(potentials, ("a", "c"), n_threads=1)


def triangle():
    """Return a tree and potentials for which a pass takes a minute on one thread, and their total is a tie."""
    domain = Domain({"a": 3000, "b": 3000, "c": 3000})
    potentials = CliqueVector(domain, [("a", "b"), ("b", "c"), ("a", "c")])
    return pypgm.JunctionTree(domain, potentials.cliques, max_bytes=2**40), potentials


def propagation():
    """Return what takes minutes: marginals by a tree whose clique is never made."""
    tree, potentials = triangle()
    return lambda: tree.marginals(potentials, n_threads=1)


def pairs():
    """Return what takes minutes: trials which of 80,000 pairs a small tree can hold."""
    domain = Domain({f"x{i}": 2 for i in range(400)})
    ranked = list(itertools.combinations(domain.attributes, 2))
    np.random.default_rng(0).shuffle(ranked)
    return lambda: joined_within(domain, list(map(tuple, ranked)), 1e6)


def ties():
    """Return what takes minutes: the first of assignments that are all equally probable."""
    tree, potentials = triangle()
    return lambda: tree.map(potentials)


JOBS = {
    "step": step,
    "propagation": propagation,
    "ties": ties,
    "pairs": pairs,
    "answers": answers,
    "records": records,
    "errors": errors,
}


@pytest.mark.parametrize("name", JOBS)
def test_ctrl_c_goes_through(name):
    # Where the tests lie: the process imports it, and the package that is installed, not the one in the tree.
    here = Path(__file__).parents[1]
    command = [sys.executable, "-c", INTERRUPTED, name]
    run = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=300, check=True)
    word, seconds = run.stdout.split()
    assert word == "interrupted"
    assert float(seconds) < LATE


def test_a_time_limit_ends_answers_with_the_best_so_far(capsys):
    model = at_odds(8, 20)
    cliques = list(itertools.combinations(model.domain.attributes, 4))
    with pytest.warns(TimeLimitWarning, match=r"time_limit=0.3 ended the answers to 70 cliques") as caught:
        found = model.project_many(cliques, time_limit=0.3, progress=True)
    assert caught[0].filename == __file__
    assert [f.domain.attributes for f in found] == cliques
    assert all(f.datavector().sum() == pytest.approx(1e6) and f.violation > 0 for f in found)
    shown = capsys.readouterr().err
    assert shown.startswith("project: ")
    assert "sweeps over" in shown
    assert shown.endswith("\n")
    with pytest.warns(TimeLimitWarning, match="the answers to 1 cliques"):
        assert model.project(cliques[0], time_limit=1e-9).datavector().sum() == pytest.approx(1e6)


@pytest.mark.parametrize("method", ["local", "combined", "submodel", "expanded"])
def test_every_method_ends_in_time(method):
    model = at_odds(6, 8)
    with pytest.warns(TimeLimitWarning):
        answer = model.project(model.domain.attributes[:5], method=method, time_limit=1e-9)
    assert answer.datavector().sum() == pytest.approx(1e6)
    assert model.project(("x0", "x1"), method=method, time_limit=1e-9).method == "region"  # no work, no warning


def test_a_time_limit_ends_the_refinement_of_records(capsys):
    model = at_odds(6, 10)
    with pytest.warns(TimeLimitWarning, match="the refinement of the records") as caught:
        records = model.synthetic_data(1_500_000, rng=0, time_limit=0.3, progress=True)
    assert caught[0].filename == __file__
    assert len(records) == 1_500_000
    assert "sweeps over 1500000 records" in capsys.readouterr().err
    refined = model.synthetic_data(3_000, rng=0, time_limit=1e6)
    with pytest.warns(TimeLimitWarning):
        drawn = model.synthetic_data(3_000, rng=0, time_limit=1e-9)
    far, near = (
        np.mean([np.abs(r.project(c).values / 3e3 - model.project(c).values / 1e6).sum() for c in model.cliques])
        for r in (drawn, refined)
    )
    assert near < 0.7 * far


def test_a_tree_that_ran_out_of_time_serves_one_answer():
    model = at_odds(4, 5)
    model = RegionGraphModel(model.graph, model.marginals, model.total)
    with pytest.warns(TimeLimitWarning):
        model.project(("x0", "x1", "x2"), time_limit=1e-9)
    fresh = RegionGraphModel(model.graph, model.marginals, model.total)
    wanted = fresh.project(("x0", "x1", "x2")).values
    np.testing.assert_array_equal(model.project(("x0", "x1", "x2")).values, wanted)


def time_goes_by_looks(monkeypatch):
    """Let every look at the clock take a time, so that what is done until a limit is the same on every machine."""
    looks = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: 1e-4 * next(looks))


def test_a_time_limit_ends_a_bootstrap(capsys, monkeypatch):
    time_goes_by_looks(monkeypatch)
    domain = Domain({"a": 4})
    model = pypgm.estimate(domain, [pypgm.LinearMeasurement([10.0, 20, 30, 40], "a", 5.0)])
    with pytest.warns(TimeLimitWarning, match="time_limit=0.5 ended the bootstrap") as caught:
        found = model.standard_error("a", method="bootstrap", draws=10**6, rng=0, time_limit=0.5, progress=True)
    assert caught[0].filename == __file__
    np.testing.assert_allclose(found.values, model.standard_error("a", draws=30, rng=1).values, rtol=0.7)
    assert "/1000000 estimates" in capsys.readouterr().err
    with pytest.raises(TimeoutError, match="two estimates of the bootstrap take longer than time_limit=1e-09"):
        model.standard_error_many(["a"], draws=5, time_limit=1e-9)


def test_a_time_limit_ends_made_up_tables(monkeypatch):
    time_goes_by_looks(monkeypatch)
    domain = Domain({"a": 4})
    model = pypgm.estimate(domain, [pypgm.LinearMeasurement([10.0, 20, 30, 40], "a", 5.0)])
    with pytest.warns(TimeLimitWarning, match="time_limit=0.5 ended the made-up tables") as caught:
        model.expected_error("a", draws=10**6, time_limit=0.5)
    assert caught[0].filename == __file__
    ended = SimpleNamespace(fit=SimpleNamespace(status="time"))
    monkeypatch.setattr(expected_error, "EstimatedAgain", lambda *_: lambda _: ended)
    with pytest.raises(TimeoutError, match="two estimates of made-up records take longer than time_limit=60"):
        model.expected_error("a", time_limit=60)


@pytest.mark.parametrize("evidence", [None, {"c": 1}])
def test_an_exact_answer_that_takes_too_long_is_none(evidence, capsys):
    domain = Domain({"a": 3, "b": 3, "c": 2})
    model = pypgm.GraphicalModel(CliqueVector(domain, [("a", "b"), ("b", "c")]), 18.0)
    with pytest.raises(TimeoutError, match="the exact answer takes longer than time_limit=1e-09"):
        model.project(("a", "c"), evidence, time_limit=1e-9, progress=True)
    assert "/" in capsys.readouterr().err
    found = model.project(("a", "b"), evidence, method="exact", time_limit=1e6)
    np.testing.assert_allclose(found.values, 2.0)
    with pytest.raises(TimeoutError):
        model.project_many([("a", "c")], evidence, time_limit=1e-9)
    with pytest.raises(ValueError, match="method must be 'exact', got 'local'"):
        model.project("a", method="local")


def test_tables_of_a_tree_end_with_their_clock(capsys):
    domain = Domain({"a": 3, "b": 3, "c": 2})
    potentials = CliqueVector(domain, [("a", "b"), ("b", "c")])
    tree = pypgm.JunctionTree(domain, potentials.cliques)
    with (
        Clock("tables", 1e-9, progress=True) as clock,
        pytest.raises(TimeoutError, match="the exact answer takes longer than time_limit=1e-09"),
    ):
        tree.tables(potentials, clock=clock)
    assert "0/4 cliques passed, 15 cells" in capsys.readouterr().err
    model = pypgm.GraphicalModel(potentials, 18.0)
    with pytest.raises(TimeoutError):
        model.project(("a", "c"), time_limit=1e-9)
    np.testing.assert_allclose(model.project(("a", "c"), time_limit=1e6).values, 3.0)  # what ran out is not kept


def test_a_limit_is_a_time():
    model = at_odds(3, 2)
    with pytest.raises(ValueError, match="time_limit must be positive, got 0"):
        model.project("x0", time_limit=0)
    with pytest.raises(ValueError, match="time_limit must be positive, got -1"):
        model.synthetic_data(5, time_limit=-1)


def test_what_a_callback_of_the_core_raises_goes_through():
    def fails(_):
        raise ArithmeticError("broken")

    columns = [np.zeros(500_000, np.int32) for _ in range(8)]
    targets = [([a], np.full(50, 1.0)) for a in range(8)]
    with pytest.raises(ArithmeticError, match="broken"):
        _core.refine_records(columns, [50] * 8, targets, 20, 0.0, 0, fails)
