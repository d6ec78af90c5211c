"""The audit knows what one record does to stated scores, and that steps are handed the same on the same noise."""

from __future__ import annotations

import numpy as np
import pytest
from mutants import MUTANTS
from mutate import planted
from selfcheck.scores import Stated, check_scores, scores
from selfcheck.settings import Choose

from pypgm import Budget, audit

KINDS = sorted({each.kind for each in scores()})


@pytest.mark.parametrize("kind", KINDS)
def test_stated_changes_hold_and_are_attained(kind):
    assert check_scores([kind]).result == "ok"


@pytest.mark.parametrize(
    ("kind", "defect"),
    [
        ("R", "a distance from independence changes under replace as under add-remove"),
        ("F", "a record counts half in a shortfall"),
        ("MI of binary attributes", "the mutual information of binary attributes changes by a tenth less"),
        ("risk", "a risk is said to change by one record and nine tenths"),
    ],
)
def test_a_change_that_is_stated_too_small_is_reported(kind, defect):
    mutant = next(m for m in MUTANTS if m.name == defect)
    with planted(mutant):
        assert check_scores([kind]).defects == ("score sensitivity",)


def test_what_is_never_attained_is_not_exercised(monkeypatch):
    loose = Stated("x", "x", lambda counts: int(counts[0]), "replace", lambda _: 2, lambda: [(0, 1), (3, 0)])
    monkeypatch.setattr("selfcheck.scores.scores", lambda: [loose])
    assert check_scores().result == "not exercised"
    monkeypatch.setattr("selfcheck.scores.scores", list)
    assert check_scores().result == "not exercised"


def unseen(table, clique):
    """Return exact counts as who reads behind the audit's back."""
    return table._PrivateTable__data._data.count([clique])[0]


def compares_with_counts(table):
    return table.l1_selector([("a",), ("b",)], lambda c: unseen(table, c)).select(rho=2)


def weighs_by_counts(table):
    count = int(unseen(table, ("a",))[0])
    return table.l1_selector([("a",), ("b",)], lambda c: np.zeros(table.domain.size(c))).select(
        rho=2, weights=[1, count]
    )


def scores_beside_counts(table):
    exact = unseen(table, ("a",))
    return table.selector([("a",)] * 2, lambda i, counts: i * int(np.abs(counts - exact).sum()), sensitivity=2).select(
        rho=2
    )


def draws_beside_counts(table):
    return table.cell_selector([("a",)]).draw(1, [-unseen(table, ("a",))], 30, rho=2)


def guesses(table):
    first = table.l1_selector([("a",), ("b",)], lambda c: np.ones(table.domain.size(c))).select(rho=1)
    table.selector([("a",), ("b",)], lambda i, counts: i * int(counts[first]), sensitivity=1).select(rho="1/2")
    return table.cell_selector([("a",)]).draw(-1, [np.full(3, first)], 30, rho="1/2")


@pytest.mark.parametrize("mine", [compares_with_counts, weighs_by_counts, scores_beside_counts, draws_beside_counts])
def test_what_is_handed_as_public_may_not_follow_the_records(mine):
    findings = {f.check: f for f in audit.check(mine, Budget(rho=2))}
    assert "path depends on the data" in findings["non-interference"].defects
    assert "handed" in findings["non-interference"].detail


def test_what_is_handed_may_follow_noisy_outcomes():
    findings = {f.check: f for f in audit.check(guesses, Budget(rho=2))}
    assert findings["non-interference"].result == "ok"


def test_what_follows_from_options_together_is_taken_down():
    choose = Choose(0, evenly=True)
    choose.meets("both", (0, True), [(0, True), (0, False)])
    choose.tried(ran=True)
    assert (list(choose.offered), choose.ran) == (["both=(0, True)", "both=(0, False)"], {"both=(0, True)"})
