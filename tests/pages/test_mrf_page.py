"""The page on Markov random fields: its blocks run, in order, and do what the text says."""

from __future__ import annotations

from pathlib import Path

from page_blocks import blocks_of, run

PAGE = Path(__file__).parents[2] / "docs" / "mrf.md"


def test_the_page_runs(capsys):
    assert len(blocks_of(PAGE)) == 4
    names = run(PAGE)
    assert "theory asks for 1e+" in capsys.readouterr().out
    true = {frozenset(edge) for edge in names["edges"]}
    assert {frozenset(c) for c in names["field"].pruned(0.15).cliques if len(c) == 2} == true
    assert {frozenset(edge) for edge in names["structure"].edges} == true
    assert abs(names["private"].model.strengths()[0, 1] - 0.3) < 0.1
    assert names["drawn"].method == "exact"
