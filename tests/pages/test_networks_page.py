"""The page on Bayesian networks: its blocks run, in order, and do what the text says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from page_blocks import blocks_of, run

PAGE = Path(__file__).parents[2] / "docs" / "networks.md"


def test_the_page_runs(capsys):
    assert len(blocks_of(PAGE)) == 13
    names = run(PAGE)
    assert "epsilon 1 spent" in capsys.readouterr().out
    exact, private = (names[n].tables["rain"].values for n in ("learned", "from_frame"))
    assert np.allclose(exact, [[0.9, 0.1], [0.4, 0.6]], atol=0.05)
    assert private.shape == (2, 2)
    assert names["bounds"].factors == 3
    assert len(names["shape"].arcs) == 4
    assert names["years"].tables["ill"].values.round(2).tolist() == [[0.64, 0.36], [0.17, 0.83]]
    assert names["worth"] == sorted(names["worth"], key=lambda pair: -pair[1])
    assert names["wider"].remove("umbrella") == names["mended"]
    assert np.isclose(np.exp(names["field"].log_partition()), 30 * 101 + 5 + 101 + 10)
