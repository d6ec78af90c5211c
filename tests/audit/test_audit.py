"""The audit passes on what is shipped, says what it could not look at, and writes its report."""

from __future__ import annotations

import builtins
import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from mutants import MUTANTS
from scipy import stats
from selfcheck.accounting import check_accounting_library
from selfcheck.engines import check_engine
from selfcheck.everything import suite

from pypgm import audit
from pypgm.audit import DEFECTS, MECHANISMS, run
from pypgm.audit.__main__ import main
from pypgm.audit.attacks import (
    audit_pairs,
    check_gaussian_audit,
    check_other_sampler,
    check_precision_of_draws,
    check_precision_of_releases,
    largest_mu,
    lower_bound,
)
from pypgm.audit.budgets import check_conservation
from pypgm.audit.contents import contents, differences, reaches
from pypgm.audit.finding import Finding, finding, skipped
from pypgm.audit.laws import GAUSSIAN, LAPLACE
from pypgm.audit.report import failures, row
from pypgm.audit.samplers import check_chi_square
from pypgm.audit.subjects import FEWER, LEARNERS
from pypgm.audit.tiers import MEASUREMENTS
from pypgm.audit.trace import all_output
from pypgm.mechanisms.tables import mechanism_names
from pypgm.privacy import Ledger
from pypgm.privacy.private_table import PrivateTable
from pypgm.reporting.audited import AuditReport, write_audit


@pytest.mark.slow
def test_tier_0_passes():
    findings = run(suite(0))
    assert failures(findings) == []
    assert len(findings) > 25


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_tier_1_passes(part):
    # It begins with tier 0, which has a test of its own. What is left is shared among processes.
    assert failures(run(suite(1)[len(suite(0)) :][part::4])) == []


@pytest.mark.parametrize("suite", [audit.suite, suite], ids=["wheel", "everything"])
def test_tiers_grow_and_others_are_refused(suite):
    assert len(suite(0)) < len(suite(1)) == len(suite(2))
    with pytest.raises(ValueError, match="tier must be 0, 1 or 2, got 3"):
        suite(3)


def functions(checks):
    """Return the names of the functions that make checks."""
    return {str(check).partition("function ")[2].partition(" ")[0] for check in checks}


@pytest.mark.parametrize("tier", range(3))
def test_everything_has_the_checks_of_a_wheel_and_more(tier):
    assert functions(audit.suite(tier)) < functions(suite(tier))
    assert len(suite(tier)) > 2 * len(audit.suite(tier))


WHOLE = {**MECHANISMS, **FEWER, **LEARNERS}


def test_every_mechanism_is_looked_at_and_has_a_defect_planted():
    assert set(mechanism_names()) <= WHOLE.keys()
    homes = {name: f"pypgm.mechanisms._{name}" for name in mechanism_names()} | {"": "pypgm.mechanisms.related"}
    homes |= dict.fromkeys(("dualquery", "fem"), "pypgm.mechanisms.drawn_queries")
    assert set(homes.values()) <= {mutant.module for mutant in MUTANTS}


@pytest.mark.parametrize("name", WHOLE)
def test_statistical_checks_pass_with_few_runs(name):
    for pair in audit_pairs():
        assert check_gaussian_audit(name, WHOLE[name], pair, 5000 if name in MECHANISMS else 500).result == "ok"
    assert check_precision_of_releases(name, WHOLE[name], 20).result == "ok"
    assert check_conservation(name, WHOLE[name], 10).result == "ok"
    for subject, measure in MEASUREMENTS.items():
        assert check_precision_of_draws(subject, measure, 1000).result == "ok"
    assert check_chi_square(GAUSSIAN, Fraction(3), 20_000).result == "ok"


def test_what_tells_nothing_is_not_drawn_again():
    drawn = []

    def noted(source, private, runs):
        drawn.append((source.law.name, private.size))
        return np.zeros((runs, private.size), dtype=np.int64)

    def some(data, budget, privacy):
        table = PrivateTable(data, privacy, Ledger(budget))
        table.measure("cell", rho=budget.limit / 2)  # one of 16 cells differs
        table.selector([("cell",)] * 2, lambda i, counts: 0, sensitivity=1).select(rho=budget.limit / 4)

    check_gaussian_audit("some", some, audit_pairs(1)[0], 10, noted)
    assert drawn == [("discrete Gaussian", 1)] * 2


def test_what_is_not_installed_is_skipped_with_a_reason(monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **named):
        if name.startswith(("opendp", "dp_accounting", "ibis")):
            raise ImportError(name)
        return real(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setattr("importlib.import_module", without)
    for each in (check_other_sampler(LAPLACE, Fraction(2), 10), check_accounting_library(), check_engine("sqlite")):
        assert each.result == "skipped"
        assert "is not installed" in each.detail


def test_the_lower_bound_of_a_gaussian_pair():
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=400_000), rng.normal(size=400_000) + 0.65
    assert 0.6 < lower_bound(one, other) < 0.65
    assert lower_bound(one, one) < 0.01


class Slotted:
    __slots__ = ("__hidden", "seconds")

    def __init__(self, hidden):
        self.__hidden = hidden
        self.seconds = id(self)


def test_everything_reachable_is_compared():
    columns = np.arange(3)

    def closure():
        return columns

    for hold in (lambda x: [x], lambda x: {"a": (x,)}, Slotted, lambda x: x[:2], lambda x: np.array([x, None], object)):
        assert reaches(hold(columns), lambda thing: thing is columns)
        assert differences(contents(hold(columns)), contents(hold(columns))) == []
        assert differences(contents(hold(columns)), contents(hold(columns + 1)))
    assert differences(contents({"a": 1, "b": 2}), contents({"b": 2, "a": 1}))
    assert reaches(closure, lambda thing: thing is columns) == "release.columns"
    loop = []
    loop.append(loop)
    assert reaches(loop, lambda thing: thing is columns) == ""


def test_findings():
    assert finding("a", "b", [], "fine") == Finding("a", "b", "ok", "fine")
    failed = finding("a", "b", [("overspent", "one"), ("overspent", "two"), ("precision", "three")], "")
    assert failed.defects == ("overspent", "precision")
    assert failed.detail == "overspent: one; precision: three"
    assert skipped("a", "b", "why").result == "skipped"
    with pytest.raises(ValueError, match="names from DEFECTS"):
        finding("a", "b", [("nonsense", "")], "")
    assert all(DEFECTS.values())


@pytest.mark.parametrize("name", ["report.md", "report.json"])
def test_reports(tmp_path, name):
    findings = [Finding("one", "this | that", "ok", "3 draws", (), 0.5), skipped("two", "other", "not installed")]
    write_audit(tmp_path / name, AuditReport(tuple(findings), tier=1))
    text = (tmp_path / name).read_text()
    if name.endswith("json"):
        stored = json.loads(text)
        assert (stored["tier"], stored["mechanisms"]) == (1, [])
        assert [f["check"] for f in stored["findings"]] == ["one", "two"]
    else:
        assert "| one | this \\| that | ok | 0.50 | 3 draws |" in text
        assert "- skipped: 1" in text


def test_the_command(monkeypatch, capsys, tmp_path):
    good, bad = Finding("good", "x", "ok", "fine"), Finding("bad", "y", "failed", "broken", ("overspent",))
    monkeypatch.setattr("pypgm.audit.__main__.suite", lambda tier, _: [lambda: good] + [lambda: bad] * tier)
    assert main(["--out", str(tmp_path / "r.md")]) == 0
    assert "1 checks, 0 failed, 0 not exercised, 0 skipped" in capsys.readouterr().out
    assert main(["--tier", "1"]) == 1
    assert row(bad).split()[0] in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--tier", "7"])


@pytest.mark.parametrize("sigma", ["1/2", "1", "37/20", "4", "20"])
def test_a_whole_step_tells_a_little_more_than_the_density(sigma):
    # The two errors of the test "z >= t" for every t, from the sampler's law in rationals of exp(-1 / (2 sigma^2)).
    variance = Fraction(sigma) ** 2
    z = range(-300, 301)
    weights = [math.exp(-(x**2) / (2 * variance)) for x in z]
    tails = [math.fsum(weights[i:]) / math.fsum(weights) for i in range(len(weights))]
    pairs = [(a, b) for b, a in itertools.pairwise(tails) if a > 1e-3 and b < 1 - 1e-3]
    exact = max([1 / float(variance) ** 0.5, *(stats.norm.isf(a) - stats.norm.isf(b) for a, b in pairs)])
    assert largest_mu(1 / (2 * variance)) == pytest.approx(exact, rel=1e-9)
    assert largest_mu(1 / (2 * variance)) >= float(1 / variance) ** 0.5


def test_warnings_of_numpy_are_heard_whatever_was_ignored_before():
    with np.errstate(all="ignore"), all_output() as said:
        np.array([1e308]) * 10
    assert "overflow" in said.getvalue()
