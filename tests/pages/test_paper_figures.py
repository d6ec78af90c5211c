"""The pages of the papers' figures say what the kept results do, and a run that was stopped goes on."""

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


def test_the_page_of_measurements_says_what_the_kept_results_do():
    text = (ROOT / "docs" / "measured.md").read_text(encoding="utf-8")
    assert " ".join(page.digest(FIGURES).split()) in " ".join(text.split())


def test_the_page_of_the_site_has_every_figure_that_was_run_with_its_plot(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(page, "draw", lambda some, results, path: drawn.append((some.name, path)))
    page.write(FIGURES, tmp_path)
    text = (tmp_path / "reproduction.md").read_text(encoding="utf-8")
    assert {name for name, _ in drawn} == {some.name for some, _ in page.complete(FIGURES)} != set()
    assert all(path == tmp_path / "reproduction" / f"{name}.png" for name, path in drawn)
    assert all(f"](reproduction/{name}.png)" in text for name, _ in drawn)


def test_a_plot_is_drawn(tmp_path):
    some, results = page.complete(FIGURES)[0]
    page.draw(some, results, tmp_path / "plots" / "a.png")
    assert (tmp_path / "plots" / "a.png").read_bytes()[:4] == b"\x89PNG"


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
