"""Each planted defect is reported by name by the check it is named beside, which finds nothing without it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from mutants import MUTANTS
from mutate import Mutant, checks_by_defect, planted
from operators import instead
from selfcheck.everything import suite

from pypgm.audit.finding import Finding

pytestmark = pytest.mark.slow

NAMED = checks_by_defect(Path(__file__).parents[1] / "caught_by.json")


def findings_of(check):
    findings = check()
    return [findings] if isinstance(findings, Finding) else findings


@pytest.mark.parametrize("mutant", MUTANTS, ids=[m.name for m in MUTANTS])
def test_it_is_reported_by_name(mutant):
    with planted(mutant):
        findings = findings_of(mutant.check)
    if {finding.result for finding in findings} == {"skipped"}:
        pytest.skip(findings[0].detail)
    assert mutant.defect in [name for finding in findings for name in finding.defects]
    assert NAMED[mutant.name] in {finding.check for finding in findings}


# The tests of the tiers make those of the suite; partials of the same are not equal, but are written alike.
_MADE = set(map(repr, suite(1)))
_CHECKS = {repr(m.check): m.check for m in MUTANTS if repr(m.check) not in _MADE}


@pytest.mark.parametrize("check", _CHECKS.values())
def test_what_finds_a_defect_finds_none_without_it(check):
    assert [(f.check, f.detail) for f in findings_of(check) if f.result == "failed"] == []


def test_names_are_different():
    assert [name for name, count in Counter(m.name for m in MUTANTS).items() if count > 1] == []


@pytest.mark.parametrize(("old", "new"), [("no_such_name", "1"), ("self.shape[1]", "self.shape[1]")])
def test_what_changes_nothing_is_no_mutant(old, new):
    change = instead(old, new)
    mutant = Mutant("none", "pypgm.queries.ranges", "Prefix._sensitivity", change, list, "sensitivity")
    with pytest.raises(ValueError, match="none: "), planted(mutant):
        pass
