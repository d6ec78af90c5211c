"""Made-up tables and their releases: the same on any number of threads, and none is begun that nobody needs."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import pypgm
from pypgm import Dataset, Domain, mechanisms
from pypgm._base import clock
from pypgm._base.ahead import Workers
from pypgm.errors import EstimateInterruptedWarning
from pypgm.intervals import made_up
from pypgm.intervals.known import ReleaseErrors
from pypgm.intervals.left_out import CrossValidatedPairs
from pypgm.intervals.truths import TrueTables, _Places

DOMAIN = Domain({"a": 3, "b": 4, "c": 2, "d": 5})
MANY = 40  # tables


def released(mechanism, seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, 600)
    columns = {
        a: (kind * rng.integers(0, 2, 600) + rng.integers(0, 2, 600)) % n
        for a, n in zip(DOMAIN, DOMAIN.shape, strict=True)
    }
    return getattr(mechanisms, mechanism)(Dataset(columns, DOMAIN), epsilon=1, delta=1e-9, unsafe_seed=0)


@pytest.fixture
def at_work(monkeypatch):
    """Return the threads that estimate from made-up tables, of which any number of records is worth some."""
    monkeypatch.setattr(made_up, "_GRAIN", 1)
    estimated, seen = made_up.MadeUpTables._estimated, []

    def noted(tables, number):
        here = threading.current_thread()
        seen.append(here)
        while number >= 6 and here is not threading.main_thread() and tables._n == MANY and not tables._within.over:
            threading.Event().wait(0.001)  # until it is told to end
        return estimated(tables, number)

    monkeypatch.setattr(made_up.MadeUpTables, "_estimated", noted)
    return seen


@pytest.mark.parametrize("mechanism", ["wide", "mst"])
def test_threads_do_not_show(mechanism, at_work):
    """Whether all models are estimated, or some are kept of an earlier question, of all columns or of few."""
    found = []
    for n_threads in (1, 2, 5):
        own = released(mechanism)
        rng = np.random.default_rng(5)
        of_one = own.interval(lambda t: np.mean(t["a"]), worlds=3, truths=3, n_threads=n_threads, rng=rng)
        of_all = own.interval(
            lambda t: [np.mean(np.asarray(t[a]) > 0) for a in DOMAIN], worlds=6, truths=4, n_threads=n_threads
        )
        found.append([of_one.low, of_one.high, *of_all.low, *of_all.high, rng.random()])
    assert found[0] == found[1] == found[2]
    assert len({thread for thread in at_work if thread is not threading.main_thread()}) > 1


@pytest.mark.parametrize("source", [np.random.default_rng, np.random.PCG64, int])
def test_any_source_of_draws_gives_the_same_on_threads(source, at_work, monkeypatch):
    """No other thread draws from what the caller draws from."""
    drawn, own, found, another = TrueTables.records, released("mst"), [], threading.Event()

    def noted(*arguments):
        if threading.current_thread() is not threading.main_thread():
            another.set()
        elif n_threads > 1:
            assert another.wait(30)
        return drawn(*arguments)

    monkeypatch.setattr(TrueTables, "records", noted)
    for n_threads in (1, 2):
        rng = source(3)
        given = own.interval(lambda t: np.mean(t["a"]), worlds=2, truths=6, n_threads=n_threads, rng=rng)
        found.append((given.high, given.views["truths"], np.random.default_rng(rng).random()))
    assert found[0] == found[1]


@pytest.mark.parametrize("n_threads", [0, 1, 3])
def test_threads_set_up_all_that_true_tables_draw_from(n_threads, monkeypatch):
    """Draws are as from what one thread makes when it is first needed, and they make nothing anew."""
    monkeypatch.setattr(ReleaseErrors, "total_stddev", 300.0)
    known, lazy = released("wide")._known, released("wide")._known
    with Workers(n_threads) as workers:
        truths = known.truths(tuple(DOMAIN), 8, 1, workers=workers)
    made = dict(known._left_out._trees)
    assert all(pair._gains or pair._by_cell for pair in known._left_out.pairs.values())
    monkeypatch.setattr(CrossValidatedPairs, "prepare", lambda *_: None)
    alone = lazy.truths(tuple(DOMAIN), 8, 1)
    for i in range(8):
        assert np.array_equal(*(t.drawn(i, np.random.default_rng(i)) for t in (truths, alone)))
    assert known._left_out._trees == made
    assert len(made) > len(DOMAIN)


@pytest.mark.parametrize("seed", range(8))
def test_groups_are_cut_into_runs_of_neighbours(seed):
    rng = np.random.default_rng(seed)
    k, n = int(rng.integers(1, 40)), 2 ** int(rng.integers(0, 5))
    groups, counts, ranks = rng.integers(0, 3, k), rng.exponential(size=k) + 1e-6, rng.permutation(k)
    groups = np.unique(groups, return_inverse=True)[1]
    runs = _Places(groups, counts, ranks).runs(n)
    assert sorted(set(runs)) == list(range(max(runs) + 1))
    for group in set(groups):
        members = np.flatnonzero(groups == group)
        members = members[np.argsort(ranks[members])]
        cut, share = runs[members], counts[members] / counts[members].sum()
        assert not set(cut) & set(runs[groups != group])
        if members.size <= n:
            assert len(set(cut)) == members.size
        else:
            assert (np.diff(cut) >= 0).all()
            assert len(set(cut)) <= n
            assert np.bincount(cut, share).max() <= 1 / n + share.max() + 1e-9


@pytest.mark.parametrize("n_threads", [1, 3])
def test_ctrl_c_keeps_what_is_made_and_ends_the_rest(n_threads, at_work):
    own, calls = released("mst"), itertools.count()

    def interrupted(table):
        if next(calls) == 11:
            raise KeyboardInterrupt
        return np.mean(table["a"])

    limits = {"attributes": "a", "truths": 2, "n_threads": n_threads}
    with pytest.warns(EstimateInterruptedWarning, match="after 2 made-up tables"):
        found = own.interval(interrupted, worlds=MANY, **limits)
    for thread in at_work:
        if thread is not threading.main_thread():
            thread.join(30)
            assert not thread.is_alive()
    assert len(at_work) < MANY
    assert found.high == released("mst").interval(lambda t: np.mean(t["a"]), worlds=2, **limits).high


def test_an_error_of_a_made_up_table_is_raised(at_work, monkeypatch):
    def fails(*_):
        raise MemoryError("too many")

    monkeypatch.setattr(made_up.MadeUpTables, "_rows", fails)
    for n_threads in (1, 2):
        with pytest.raises(MemoryError, match="too many"):
            released("mst").interval(lambda t: np.mean(t["a"]), n_threads=n_threads)


@pytest.mark.parametrize("n_threads", [0, 1, 2, 7])
def test_jobs_ahead_are_few_and_in_order(n_threads):
    begun, lock = [], threading.Lock()

    def job(i):
        with lock:
            begun.append(i)
        return i * i

    with Workers(n_threads) as workers:
        results = workers.ahead(job, 20)
        for i in range(12):
            assert next(results) == i * i
            assert len(begun) <= i + 1 + (n_threads + 2 if n_threads else 0)
        results.close()
        assert len(begun) < 20 or n_threads == 7
        assert list(workers.ahead(job, 0)) == []
    assert len(set(begun)) == len(begun)


def test_jobs_wait_until_they_may_overlap():
    running, most, overlapping = [], [0, 0], [False]
    lock = threading.Lock()

    def job(i):
        with lock:
            running.append(i)
            most[overlapping[0]] = max(most[overlapping[0]], len(running))
        threading.Event().wait(0.002)
        with lock:
            running.remove(i)
            overlapping[0] = i >= 3
        return i

    with Workers(3) as workers:
        assert list(workers.ahead(job, 12, lambda: overlapping[0])) == list(range(12))
    assert most[0] == 1


def test_whoever_waits_does_what_no_thread_has_begun():
    """A thread is held by the first job until the last is done, by this one."""
    last, doing = threading.Event(), []

    def job(i):
        doing.append((i, threading.current_thread()))
        assert last.wait(30) if i == 0 else True
        if i == 3:
            last.set()
        return i

    with Workers(1) as workers:
        jobs = [workers.begin(lambda i=i: job(i)) for i in range(4)]
        while not doing:
            last.wait(0.001)
        dropped = workers.begin(lambda: job(9))
        dropped.cancel()
        assert [workers.result(one) for one in jobs] == [0, 1, 2, 3]
    assert [i for i, _ in doing] == [0, 1, 2, 3]
    assert {thread for i, thread in doing if i} == {threading.current_thread()}


def test_jobs_that_wait_for_others_end():
    """With errors where they belong, on any number of threads."""

    def inner(i):
        threading.Event().wait(0.001 * (i % 3))
        if i == 7:
            raise LookupError(i)
        return i

    for n_threads in (0, 1, 3):
        with Workers(n_threads) as workers:
            first = [workers.begin(lambda i=i: inner(i)) for i in range(12)]
            results = workers.ahead(lambda i, first=first, workers=workers: workers.result(first[i]) ** 2, 12)
            assert [next(results) for _ in range(7)] == [i * i for i in range(7)]
            with pytest.raises(LookupError, match="7"):
                next(results)


def test_a_job_is_done_once_whoever_waits_for_it():
    """Also while another thread that is not of the pool does it, and while its own job waits for others."""
    held, first, done, waiting, lock = threading.Event(), threading.Event(), [], [], threading.Lock()

    def job(name, *others):
        with lock:
            done.append(name)
        if name == "shared":
            first.set()
            assert held.wait(30)
        return name, *(workers.result(other) for other in others)

    for n_threads in (0, 1, 3):
        held.clear(), first.clear(), done.clear(), waiting.clear()
        with Workers(n_threads) as workers:
            busy = [workers.begin(lambda: held.wait(30)) for _ in range(n_threads)]
            shared = workers.begin(lambda: job("shared"))
            last = workers.begin(lambda shared=shared: job("last", shared))
            one = threading.Thread(target=lambda shared=shared: waiting.append(shared.result()))
            one.start()
            assert first.wait(30)
            threading.Timer(0.02, held.set).start()
            assert workers.result(last) == ("last", ("shared",))
            assert shared.result() == ("shared",)
            one.join(30)
            assert waiting == [("shared",)]
            assert all(workers.result(b) for b in busy)
        assert sorted(done) == ["last", "shared"]


def test_clocks_of_workers_stand_where_those_of_their_caller_do(monkeypatch):
    """Time for which the caller's clocks stood still is no time of theirs."""
    ticks = itertools.count(0, 100)
    monkeypatch.setattr(clock, "time", SimpleNamespace(perf_counter=lambda: float(next(ticks))))
    with clock.standing_still:
        pass
    started = clock.now()
    with Workers(2) as workers:
        for job in [workers.begin(clock.now) for _ in range(4)]:
            while not job.is_done:
                threading.Event().wait(0.001)
            assert job.result() - started in range(100, 401, 100)
    assert clock.now() == started + 500


ENDING = """
import threading
{imported}
from pypgm._base.ahead import Workers

def jobs():
    threading.main_thread().join()
    print(*Workers(2).ahead(lambda i: i * i, 5))

def begun():
    for i, square in enumerate(Workers(2).ahead(lambda i: i * i, 5)):
        if i == 1:
            threading.main_thread().join()
        print(square)

threading.Thread(target={job}).start()
"""


@pytest.mark.parametrize(
    ("imported", "job"), [("", "jobs"), ("import concurrent.futures.thread", "jobs"), ("", "begun")]
)
def test_jobs_are_done_while_the_interpreter_ends(imported, job, tmp_path):
    """Where no thread can start any more."""
    script = ENDING.format(imported=imported, job=job)
    command = [sys.executable, "-c", script]  # beside no source tree
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert (run.stdout.split(), run.stderr) == (["0", "1", "4", "9", "16"], "")


@pytest.mark.parametrize("seed", range(20))
def test_factors_are_those_of_numpy(seed):
    rng = np.random.default_rng(seed)
    n, inner, more = rng.integers(1, 60, 3)
    root, others = rng.normal(size=(n, n + inner)), rng.normal(size=(more, n))
    matrix = pypgm._core.product_of_rows(root, root)
    assert matrix == pytest.approx(root @ root.T)
    factor = pypgm._core.cholesky(np.vstack([matrix, others]))
    lower = np.linalg.cholesky(matrix)
    assert factor[:n] == pytest.approx(lower, abs=1e-8)
    assert factor[n:] == pytest.approx(np.linalg.solve(lower, others.T).T, abs=1e-6)


@pytest.mark.parametrize(
    ("call", "needed"),
    [
        (lambda c: c.product_of_rows(np.ones((2, 3)), np.ones((2, 4))), "a row of right must hold 3 entries, got 4"),
        (lambda c: c.product_of_rows(np.ones(3), np.ones((1, 3))), "left must be a matrix"),
        (lambda c: c.product_of_rows(np.ones((2, 0)), np.ones((1, 0))), "at least one entry"),
        (lambda c: c.cholesky(np.ones((2, 3))), "at least as many rows as columns"),
        (lambda c: c.cholesky(np.ones((0, 0))), "at least one entry"),
    ],
)
def test_matrices_that_do_not_fit_are_refused(call, needed):
    with pytest.raises(ValueError, match=needed):
        call(pypgm._core)
