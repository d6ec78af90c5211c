"""The page of the papers' figures says what their kept results do, and a run that was stopped goes on."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
if not (ROOT / "bench" / "paper").is_dir():
    pytest.skip("bench/ is not here", allow_module_level=True)
pytest.importorskip("matplotlib")
sys.path.append(str(ROOT))  # last: pypgm is the one that is installed, in what this process starts too

from bench.paper import figure, page  # noqa: E402 - found from the root
from bench.paper.__main__ import FIGURES  # noqa: E402


def test_the_page_is_made_from_the_results_that_are_kept():
    assert (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8") == page.text(FIGURES)


def test_every_figure_that_was_run_has_a_plot():
    plots = {plot.stem for plot in (ROOT / "docs" / "reproduction").iterdir()}
    assert plots == {some.name for some, _ in page.complete(FIGURES)}


def test_runs_that_were_made_are_not_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(figure, "RESULTS", tmp_path)
    made = []

    def run(seed, place):
        made.append((seed, place))
        if len(made) == 2:
            raise KeyboardInterrupt
        return {("panel", "line", place): seed + place}

    some = figure.Figure("some", "paper", "title", "", ("x", "y"), jobs={(1,): 2, (2,): 1}, run=run)
    with pytest.raises(KeyboardInterrupt):
        some.measure()
    some.measure()
    assert made == [(0, 1), (0, 2), (0, 2), (1, 1)]
    assert figure.Results.read("some").ours == {("panel", "line", 1): [1.0, 2.0], ("panel", "line", 2): [2.0]}
