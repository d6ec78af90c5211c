"""The audit looks at all options of mechanisms, and at stated scores on other tables; it says what it missed."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from mutate import Mutant, planted
from operators import instead
from selfcheck import everything
from selfcheck.__main__ import FullReport
from selfcheck.__main__ import main as selfcheck
from selfcheck.cases import case_of, run_case
from selfcheck.fuzz import fuzz
from selfcheck.options import check_options
from selfcheck.settings import SETTINGS, Choose

import pypgm
from pypgm import Budget, audit
from pypgm.audit.__main__ import main
from pypgm.audit.finding import Finding, finding
from pypgm.audit.mechanisms import Runs, check_calibration, check_charges
from pypgm.audit.stated import Effort, largest_move
from pypgm.audit.tiers import check_claims
from pypgm.bayes.private_structure import dependence, largest_change
from pypgm.mechanisms.tables import mechanism_names

BUDGET = Budget(rho=2)


def results(mechanism, **more):
    return {f.check: f for f in audit.check(mechanism, BUDGET, **more)}


# --- no false alarms ---


def test_selections_after_the_best_two_have_lines_of_their_own():
    def mine(table):
        selector = table.l1_selector([(a,) for a in table.domain], lambda c: np.zeros(table.domain.size(c)))
        return selector.select_top(None, 2, rho="1/2"), selector.select(rho=1)

    assert {f.result for f in results(mine).values()} == {"ok"}


GIVEN = pypgm.LinearMeasurement([3, 4], "b", stddev=2.0)


def test_measurements_that_were_handed_over_are_the_first_of_a_release():
    def mine(table):
        return [GIVEN, table.measure("a", rho=2)]

    assert results(mine)["answers"].defects == ("cached answer",)
    assert results(mine, given=[GIVEN])["answers"].result == "ok"
    assert results(lambda table: [table.measure("a", rho=2)], given=[GIVEN])["answers"].defects == ("cached answer",)


@pytest.mark.parametrize("rho", ["1/7", "1/10", "2", "1/3"])
def test_a_report_states_the_budget_rounded_up(rho):
    case = case_of("mst", Choose(1))
    budget = Budget(rho=rho)
    release = pypgm.mechanisms.mst(case.pairs[0].one, budget=budget, privacy=case.pairs[0].privacy, iterations=2)

    def claims(limit):
        trace = audit.mechanisms.observe(lambda *_: release, case.pairs[0].one, limit, case.pairs[0].privacy)
        trace.entries.extend((release.ledger, line) for line in release.ledger.lines)
        return check_claims(Runs("mst", limit, ((case.pairs[0], trace, trace),)))

    assert claims(budget).result == "ok"
    assert claims(Budget(rho=budget.limit + 1)).defects == ("wrong claim",)


# --- nothing is a pass that was not looked at ---


def test_what_draws_nothing_is_not_exercised():
    findings = results(lambda table: None)
    assert [findings[name].result for name in ("calibration", "charges", "answers")] == ["not exercised"] * 3


def test_a_score_that_raises_is_not_exercised():
    def mine(table):
        return table.selector([("a",), ("b",)], lambda i, counts: 1 // 0, sensitivity=1).select(rho=1)

    finding = results(mine)["calibration"]
    assert (finding.result, "ZeroDivisionError" in finding.detail) == ("not exercised", True)


def test_what_was_found_is_told_though_little_was_exercised():
    assert finding("a", "b", [("overspent", "x")], "", exercised=0).result == "failed"
    assert finding("a", "b", [], "none", exercised=0) == Finding("a", "b", "not exercised", "none")


def test_the_command_does_not_pass_what_was_not_exercised(monkeypatch, capsys, tmp_path):
    idle = Finding("idle", "x", "not exercised", "nothing")
    monkeypatch.setattr("pypgm.audit.__main__.suite", lambda *_: [lambda: idle])
    assert main(["--out", str(tmp_path / "report.md")]) == 1
    assert "0 failed, 1 not exercised, 0 skipped" in capsys.readouterr().out
    assert "- not exercised: 1" in (tmp_path / "report.md").read_text()


def test_a_mechanism_that_is_refused_with_an_option_is_not_exercised(monkeypatch):
    def refusing(data, *, compress, **more):
        if not compress:
            raise ValueError("not today")
        return pypgm.mechanisms.mst(data, **more)

    monkeypatch.setattr("pypgm.mechanisms.mst", refusing)
    finding = check_options("mst", 4, 6)
    assert (finding.result, "compress=False" in finding.detail) == ("not exercised", True)


# --- stated scores ---


def test_scores_are_looked_at_beyond_the_tables_of_the_run():
    def steep(number, counts):
        return 3 * max(0, int(counts[0]) - 1000) + number

    def mine(table):
        return table.selector([("a",), ("b",)], steep, sensitivity=2).select(rho=1)

    finding = results(mine)["calibration"]
    assert finding.defects == ("score sensitivity",)
    assert "a record more or less changes it by 3, 2 is stated" in finding.detail


def every_table(cells, total):
    return [np.array(t) for t in itertools.product(range(total + 1), repeat=cells) if sum(t) == total]


@pytest.mark.parametrize("total", [2, 4])
@pytest.mark.parametrize("score", ["R", "MI"])
@pytest.mark.parametrize("shape", [(2, 2), (3, 2)])
def test_the_largest_move_is_that_of_all_tables(score, shape, total):
    def of(counts):
        return dependence(score, counts.reshape(shape))

    size = shape[0] * shape[1]
    tables = {t.tobytes(): of(t) for t in every_table(size, total)}
    steps = [a - b for a, b in itertools.permutations(np.eye(size, dtype=np.int64), 2)]
    moved = [(t, t + s) for t in every_table(size, total) for s in steps if (t + s).min() >= 0]
    brute = max(abs(tables[a.tobytes()] - tables[b.tobytes()]) for a, b in moved)
    table = every_table(size, total)[0]
    largest = max(largest_move(of, table, total, Effort(climbs=8), seed)[0] for seed in range(4))
    assert largest == brute <= largest_change(score, "replace", total, binary=shape == (2, 2))


# --- options and random cases ---


def test_every_mechanism_has_settings():
    assert set(mechanism_names()) <= SETTINGS.keys()


def test_values_that_ran_less_often_go_first():
    choose = Choose(0, evenly=True)
    seen = []
    for ran in (True, True, True, False, True, True):
        seen.append(choose.one_of("x", "abc"))
        choose.tried(ran=ran)
    assert sorted(seen[:3]) == ["a", "b", "c"]
    assert choose.ran == {"x='a'", "x='b'", "x='c'"}
    assert seen[3] != seen[4]


@pytest.mark.slow
def test_lines_are_attained():
    """Cases are at the worst: what is charged for does change by that much in some."""
    done = fuzz(range(400), only=["questions", "mwem"])  # some fifty cases
    for kind in ("measure", "select"):
        assert done.attained["mwem"][kind] == done.attained["questions"][kind] == 1.0
    assert done.attained["questions"]["screen"] > 0.9
    assert done.attained["mwem"]["stated add-remove"] == done.attained["mwem"]["stated replace"] == 1.0


def test_a_seed_makes_its_case_again_whatever_else_is_run():
    one, other = (fuzz(range(80), only=only) for only in (["hdmm", "mst"], ["mst"]))
    assert one.ran["mst"] == other.ran["mst"] > 0
    assert one.attained["mst"] == other.attained["mst"]
    with pytest.raises(ValueError, match=r"only takes names among mst, .* got 'msst'"):
        fuzz(range(1), only=["msst"])


CHANGES = Mutant(
    "what an estimate would save changes under replace as under add-remove",
    "pypgm.mechanisms._aim",
    "_Search.begin",
    instead("GRID * (2 if table.privacy.total_is_public else 1)", "GRID"),
    list,
    "score sensitivity",
)


def test_the_checks_of_the_tree_are_a_command_of_their_own():
    command = [sys.executable, Path(everything.__file__).parent, "-h"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "--fuzz MINUTES" in done.stdout
    assert FullReport((), ("mst",), 1).command == "python tests/selfcheck mst --tier 1"


def test_nothing_of_the_package_imports_tests():
    names = {path.stem for path in Path(everything.__file__).parents[1].iterdir()} - {"__pycache__"}
    for path in Path(pypgm.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        imports = re.findall(r"^ *from (\w+)[\w.]* import |^ *import (\w+)", text, re.MULTILINE)
        assert names.isdisjoint(itertools.chain(*imports)), path


@pytest.mark.slow
def test_the_command_fuzzes_and_tells_the_seed_of_a_failure(capsys):
    assert selfcheck(["--fuzz", "1", "--only", "hdmm", "--cases", "40"]) == 0
    assert "0 failed" in capsys.readouterr().out
    with planted(CHANGES):
        assert selfcheck(["--fuzz", "1", "--only", "aim", "--cases", "200"]) == 1
        said = capsys.readouterr().out
        seed = said[said.index("seed ") + 5 : said.index(":")]
        assert selfcheck(["--fuzz", "1", "--seed", seed, "--cases", "1"]) == 1
        assert said.splitlines()[0] in capsys.readouterr().out
    assert selfcheck(["--fuzz", "1", "--seed", seed, "--cases", "1"]) == 0


@pytest.mark.slow
def test_options_find_what_no_pair_of_tables_shows():
    """Neither of the runs' own tables need be where a score moves most."""
    with planted(CHANGES):
        assert "score sensitivity" in check_options("aim").defects


def test_outcomes_of_a_case():
    case = case_of("mst", Choose(4))
    outcome = run_case(case, Effort())
    assert (outcome.finding.defects, outcome.refused) == ((), "")
    assert max(part for _, part in outcome.attained) <= 1
    assert str(case).startswith("mst(")
    runs = Runs("none", BUDGET, ())
    assert [check(runs).result for check in (check_calibration, check_charges)] == ["not exercised"] * 2
