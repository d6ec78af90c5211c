"""What a long call shows: one bar in a terminal, a line now and then in a log, and nothing that is private."""

from __future__ import annotations

import contextlib
import inspect
import io
import re

import numpy as np
import pytest

import pypgm
from pypgm import CliqueVector, Dataset, Domain
from pypgm._base.clock import Clock
from pypgm._base.progress import Bar
from pypgm.bayes import learn_private

DOMAIN = Domain({"a": 2, "b": 3, "c": 2})


def records(seed=0, rows=300):
    rng = np.random.default_rng(seed)
    return Dataset({a: rng.integers(0, DOMAIN.size(a), rows) for a in DOMAIN}, DOMAIN)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_log_has_a_line_of_the_beginning_and_of_the_end(capsys):
    pypgm.mechanisms.mst(records(), epsilon=1, delta=1e-9, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "mst: measure (a), 11% of the budget"
    assert re.fullmatch(r"mst: estimate, \d+ iterations of at most 5000, loss .*, 100% of the budget", lines[-1])
    assert len(lines) == 2


@pytest.mark.parametrize("has_tqdm", [True, False])
def test_a_terminal_has_one_bar_whatever_shows_it(has_tqdm, monkeypatch):
    if has_tqdm:
        pytest.importorskip("tqdm")
    else:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    terminal = Terminal()
    with contextlib.redirect_stderr(terminal):
        pypgm.mechanisms.aim(records(), epsilon=1, delta=1e-9, progress=True, iterations=50)
    shown = terminal.getvalue()
    assert shown.count("\n") == 1
    assert shown.endswith("\n")
    assert shown.count("\r") > 1
    last = shown.split("\r")[-1]
    assert last.startswith("aim: estimate, ")
    assert re.search(r"100 ?% of the budget", last)


def test_every_step_is_shown_before_it_is_counted(monkeypatch):
    told = []
    monkeypatch.setattr(Bar, "show", lambda self, text, share=None: told.append((text(), share)))
    release = pypgm.mechanisms.mst(records(), epsilon=1, delta=1e-9, progress=True)
    charged = [f"{line.what} {line.on}" for line in release.ledger.lines]
    assert [text for text, share in told if share is not None] == charged
    shares = [share for _, share in told if share is not None]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)
    assert any(text.startswith("estimate, ") for text, _ in told)


def test_what_is_shown_is_the_same_of_any_records(monkeypatch):
    told = []
    monkeypatch.setattr(Bar, "show", lambda self, text, share=None: told.append((text(), share)))
    seen = []
    for seed, rows in ((0, 50), (1, 900)):
        told.clear()
        pypgm.mechanisms.hdmm(records(seed, rows), epsilon=1, delta=1e-9, progress=True)
        seen.append([step for step in told if step[1] is not None])
    assert seen[0] == seen[1] != []


def binary(data):
    return Dataset({a: data[a] for a in "ac"}, DOMAIN.project(("a", "c")))


LEARNERS = {
    "learn_private": lambda data: learn_private(data, [("a", "b")], epsilon=1, progress=True),
    "learn_pairwise": lambda data: pypgm.mrf.learn_pairwise(
        data, radius=1.0, epsilon=1, delta=1e-9, steps=5, progress=True
    ),
    "learn_t_wise": lambda data: pypgm.mrf.learn_t_wise(
        binary(data), radius=1.0, order=2, epsilon=1, delta=1e-9, steps=5, progress=True
    ),
    "learn_structure": lambda data: pypgm.mrf.learn_structure(
        data, radius=1.0, eta=0.2, epsilon=1, delta=1e-9, steps=5, progress=True
    ),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_learners_show_what_they_spend(name, capsys):
    LEARNERS[name](records())
    lines = capsys.readouterr().err.splitlines()
    assert re.match(rf"(bayes|mrf)\.{name}: .*% of the budget", lines[0])
    assert "100% of the budget" in lines[-1]
    with pytest.raises(TypeError, match="progress"):
        pypgm.mrf.learn_ising(records(), radius=1.0, epsilon=1, delta=1e-9, progress="yes")


def test_every_learner_has_the_option():
    for learner in (learn_private, *(getattr(pypgm.mrf, f"learn_{n}") for n in ("ising", "pairwise", "t_wise"))):
        assert inspect.signature(learner).parameters["progress"].default is False


def test_a_release_draws_records_within_a_time_and_shows_how_far_it_is(capsys):
    release = pypgm.mechanisms.mst(records(), epsilon=1, delta=1e-9)
    assert len(release.synthetic_data(50, 0, time_limit=100.0, progress=True)) == 50
    assert capsys.readouterr().err.startswith("synthetic_data: ")
    network = learn_private(records(), [], epsilon=1)
    assert len(network.synthetic_data(50, 0, time_limit=100.0, progress=True)) == 50


def test_an_observer_of_the_process_sees_the_charges_of_a_run_that_is_shown():
    from pypgm.privacy.observer import Observer, observed_by

    class Counting(Observer):
        not_private = ""
        lines = 0

        def charged(self, ledger, line):
            self.lines += 1

    for progress in (False, True):
        counting = Counting()
        with observed_by(counting):
            release = pypgm.mechanisms.mst(records(), epsilon=1, delta=1e-9, progress=progress)
        assert counting.lines == len(release.ledger.lines)


def test_a_part_of_a_call_has_no_line_of_its_own(capsys):
    bar = Bar("outer")
    with Clock("inner", progress=bar) as clock:
        clock.tick(lambda: "3 of 4")
    assert capsys.readouterr().err == "outer: inner, 3 of 4\n"
    bar.close()
    assert capsys.readouterr().err == ""
    with Clock("silent", progress=True):
        pass
    assert capsys.readouterr().err == ""
    tree = CliqueVector(DOMAIN, [("a", "b")])
    assert pypgm.GraphicalModel(tree, 10.0).project("a", progress=False).values.tolist() == [5, 5]
