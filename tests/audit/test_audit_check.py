"""Audit of your own mechanism in one call: the page's example passes, planted defects are named."""

import re
from pathlib import Path

import pytest
from page_blocks import blocks_of, run

import pypgm
from pypgm import Budget, Ledger, PrivateTable, audit
from pypgm.estimation.measurement import LinearMeasurement

PAGE = Path(__file__).parents[2] / "docs" / "own_mechanism.md"
BUDGET = Budget(rho=2)


def test_the_page_runs_as_it_stands(capsys):
    names = run(PAGE)
    said = capsys.readouterr().out
    assert re.search(r"^guarantee +epsilon 1\.0, delta 1e-09: ", said, re.MULTILINE)  # behind warnings, if it has some
    assert re.findall(r"^(\S+) ok ", said, re.MULTILINE) == ["calibration", "charges", "answers", "non-interference"]
    release = names["release"]
    assert release.ledger.remaining() < release.ledger.budget.limit / 1000
    assert len(release.measurements) > 3


def test_the_example_has_40_lines_of_public_names():
    example = blocks_of(PAGE)[0]
    assert len(example.splitlines()) <= 40
    assert set(re.findall(r"pypgm\.(\w+)", example)) <= set(pypgm.__all__)
    assert not re.search(r"\._|from pypgm", example)


def hidden(table):
    """Return the records, as who reads past the door would."""
    return table._PrivateTable__records()


def unnoised(table):
    table.measure("b", rho=1)
    return [LinearMeasurement(hidden(table).count([("a",)])[0], ("a",), 1.0)]


class OfAnotherTable:
    """Measures, at every call, the table of the one before."""

    last = None

    def __call__(self, table):
        records, self.last = self.last, hidden(table)
        records = self.last if records is None else records
        return PrivateTable(records, table.privacy, table.ledger).measure(("a", "b"), rho=2)


def over_budget(table):
    again = PrivateTable(hidden(table), table.privacy, Ledger(BUDGET))
    return [table.measure("a", rho=2), again.measure("b", rho=1)]


def tells_n(table):
    print(len(hidden(table).count([()])), hidden(table).n_records)
    return table.measure("a", rho=2)


class Cached:
    """Hands out again what the first table gave."""

    def __init__(self):
        self.answers = {}

    def __call__(self, table):
        if not self.answers:
            self.answers["a"] = table.measure("a", rho=2)
        return self.answers["a"]


def chosen_exactly(table):
    counts = hidden(table).count([("a",)])[0]
    return table.measure(("a", "b") if counts[0] > 5 else ("b", "c"), rho=2)


def gains(number, counts):
    """Return what changes by three, and is stated to change by one."""
    return 3 * int(counts[0]) * (-1) ** number


def raises_for_some(table):
    answer = table.measure("a", rho=2)
    if not hidden(table).count([("a",)])[0].any():
        raise ValueError("nobody is there")
    return answer


@pytest.mark.parametrize(
    ("mechanism", "defect"),
    [
        (unnoised, "unnoised answer"),
        (OfAnotherTable(), "answer of another table"),
        (over_budget, "overspent"),
        (tells_n, "text tells"),
        (tells_n, "records counted exactly"),
        (Cached(), "cached answer"),
        (chosen_exactly, "path depends on the data"),
        (raises_for_some, "exception tells"),
        (lambda table: (table, table.measure("a", rho=2)), "records kept"),
        (lambda table: table.measure("a", rho=3), "no release"),
        (lambda table: table.selector([("a",), ("b",)], gains, sensitivity=1).select(rho=1), "score sensitivity"),
        (lambda table: table.selector([("a",), ("b",)], gains, sensitivity=1).screen(rho=1), "sensitivity"),
    ],
)
def test_a_planted_defect_is_named(mechanism, defect):
    assert defect in [name for finding in audit.check(mechanism, BUDGET) for name in finding.defects]


def everything(table):
    sample = [] if table.privacy != pypgm.Privacy() else [table.subsample("1/2", epsilon=1).measure("a", scale=2)]
    table.l1_selector([("a", "b"), ("c",)], lambda c: [1.0] * table.domain.size(c)).select([0, 1], rho=0.1)
    return [*sample, *table.measure_many(["a", ("c", "b")], rho=1), table.measure_total(scale=9)]


def rounds(table):
    """Selections by all kinds of scores, in rounds that depend on one another."""
    pairs = [("a", "b"), ("c", "b"), ("a", "c")]
    selector = table.l1_selector(pairs, lambda c: [2.5] * table.domain.size(c))
    screen = selector.screen(rho="1/2", weights=[1, 0.5, 1])
    best = pairs[int(screen.scores.argmax())]
    contrasts = table.measure(best, pypgm.queries.Contrasts(table.domain.sizes(best)), rho="1/4")
    selector.compare(lambda c: [1.0 + abs(contrasts.values[0]) % 3] * table.domain.size(c), [*pairs, ("a", "b", "c")])
    top = selector.select_top(None, 2, rho="1/4", weights=[1, 2, 3, 4], offsets=[0, -1, 0.5, -7])
    last = table.selector(pairs, lambda i, counts: int(counts.max()), sensitivity=1).permute_and_flip(rho="1/4")
    return [contrasts, table.measure(pairs[last], rho="1/4"), table.measure_total(variance=40)], screen, top


@pytest.mark.parametrize("mechanism", [everything, rounds])
def test_a_sound_mechanism_of_all_parts_passes(mechanism):
    findings = audit.check(mechanism, BUDGET)
    assert [(f.check, f.detail) for f in findings if f.result != "ok"] == []
    assert {f.subject for f in findings} == {mechanism.__name__}


def test_pairs_of_ones_own():
    domain = pypgm.Domain({"x": 5})
    one, other = (pypgm.Dataset({"x": codes}, domain) for codes in ([1, 2], [1, 2, 4]))
    pairs = [audit.Pair("own", one, other, pypgm.Privacy(), neighbours=True)]
    assert [f.result for f in audit.check(lambda table: table.measure("x", rho=2), BUDGET, pairs=pairs)] == ["ok"] * 4


def test_what_is_no_mechanism_or_budget_is_refused():
    for given in ((BUDGET, everything), (everything, 1.0), ("everything", BUDGET)):
        with pytest.raises(TypeError, match=r"a function of a PrivateTable, and a pypgm\.Budget, got "):
            audit.check(*given)


def test_pairs_of_records_that_have_a_schema():
    schema = pypgm.Schema({"x": 3}, records_per_person=3)
    one, other = schema.encode({"x": [0, 1]}), schema.encode({"x": [0, 1, 2, 2, 2]})
    for privacy, defects in ((pypgm.Privacy(records_per_person=3), set()), (pypgm.Privacy(), {"no release"})):
        pairs = [audit.Pair("a person", one, other, privacy, True)]
        findings = audit.check(lambda table: table.measure("x", rho=2), BUDGET, pairs=pairs)
        assert {name for each in findings for name in each.defects} == defects
