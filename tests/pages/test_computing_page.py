"""The page on what may be computed from synthetic records: its blocks run, and its figures are what they give."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from page_blocks import blocks_of, run

from pypgm import mechanisms, workloads

PAGE = Path(__file__).parents[2] / "docs" / "computing.md"


@pytest.mark.slow
def test_the_page_runs_and_its_table_is_what_it_gives(capsys):
    pytest.importorskip("pandas")
    text = PAGE.read_text(encoding="utf-8")
    names = run(PAGE)
    shown = {
        name: [float(x) for x in row.split("|")]
        for name, row in re.findall(r"^\| `?([a-z ]+)`? \| ([-\d. |]+) \|$", text, flags=re.MULTILINE)
    }
    assert shown.pop("real records") == pytest.approx(names["true"], abs=0.006)
    assert set(shown) == {"wide", "aim", "mst"}
    for name, row in shown.items():
        assert row == pytest.approx(names["found"][name], abs=0.03)
    assert np.abs(names["found"]["mst"]).max() < np.abs(names["true"]).max() * 2 / 3
    ends_shown = re.search(
        r"It runs from (\S+) to (\S+) for age, from (\S+) to (\S+) for school and from (\S+) to (\S+) for", text
    )
    ends = np.stack([names["interval"].low, names["interval"].high], axis=1).ravel()
    assert [float(x) for x in ends_shown.groups()] == pytest.approx(ends, abs=0.03)
    held = (names["interval"].low <= names["true"]) & (names["true"] <= names["interval"].high)
    assert held.tolist() == [False, False, True]  # as the page says
    assert (names["interval"].basis, names["interval"].in_bins) == ("merged", False)
    assert "the true error may be larger than these intervals" in capsys.readouterr().out
    school, wage = (names["people"].columns[a] for a in ("school", "wage"))
    counts = np.bincount(2 * (school > 3) + (wage > 9), minlength=4)
    assert np.abs(names["direct"].values - counts).max() < 5 * names["direct"].stddev
    true = np.log(counts[0] * counts[3] / (counts[1] * counts[2]))
    assert names["odds_ratio"] == pytest.approx(true, abs=0.15)


@pytest.mark.slow
def test_a_workload_helps_a_regression_if_covariates_are_asked_together():
    pytest.importorskip("pandas")
    text, names = PAGE.read_text(encoding="utf-8"), run(PAGE, blocks_of(PAGE)[:1])
    people, slopes, four = names["people"], names["slopes"], ("age", "school", "woman", "wage")
    workloads_shown = {
        "all pairs, the default": {},
        "workloads.with_target": {"workload": workloads.with_target(people.domain, "wage", 2)},
        "workloads.causal": {"workload": workloads.causal(people.domain, "woman", "wage", ["school", "age"])},
        "all six pairs": {"workload": list(itertools.combinations(four, 2))},
    }
    for begin, options in workloads_shown.items():
        row = re.search(rf"^\| `?{begin}.* \| (\S+) \| (\S+) \| (\S+) \|$", text, flags=re.MULTILINE)
        off = [
            slopes(mechanisms.wide(people, epsilon=1, delta=1e-9, unsafe_seed=seed, **options).to_frame(rng=0))
            - names["true"]
            for seed in range(10)
        ]
        errors = np.sqrt(np.mean(np.square(off), axis=0))
        assert [float(x) for x in row.groups()] == pytest.approx(errors, abs=0.03)
