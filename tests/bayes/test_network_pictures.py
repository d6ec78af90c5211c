"""Pictures of private networks: what is drawn where, in which colour, with which error bars."""

from __future__ import annotations

import numpy as np
import pytest

from pypgm import Dataset, Domain, load
from pypgm.bayes import learn_private

pytest.importorskip("matplotlib")

DOMAIN = Domain({"a": ["x", "y"], "b": 3, "c": 2, "alone": 2})
ARCS = [("a", "b"), ("a", "c"), ("b", "c")]


@pytest.fixture(scope="module")
def release():
    rng = np.random.default_rng(0)
    data = Dataset({a: rng.integers(0, DOMAIN.size(a), 500) for a in DOMAIN}, DOMAIN)
    return learn_private(data, ARCS, epsilon=2, unsafe_seed=0)


def test_a_graph_has_a_node_of_its_colour_for_each_attribute(release, tmp_path):
    ax = release.plot()
    texts = {t.get_text(): t for t in ax.texts}
    assert set(DOMAIN) <= set(texts)
    heights = {a: texts[a].get_position()[1] for a in DOMAIN}
    assert heights["a"] > heights["b"] > heights["c"]
    blue = {a: box.get_facecolor()[0] for a, box in zip(DOMAIN, ax.patches[-4:], strict=True)}  # the more, the less red
    assert sorted(DOMAIN, key=blue.get) == sorted(DOMAIN, key=lambda a: -release.allocation[a])
    assert ax.figure.axes[1].get_ylabel() == "ε of the table"
    ax.figure.savefig(tmp_path / "graph.png")
    assert release.plot(ax) is ax


def test_a_table_has_its_probabilities_and_errors(release, tmp_path):
    release.save(tmp_path / "release")
    for own in (release, load(tmp_path / "release")):
        ax = own.plot_table("c")
        bars = [bar.get_width() for bar in ax.patches]
        np.testing.assert_allclose(bars, release.model.tables["c"].datavector())
        ends = np.array([segment[:, 0] for segment in ax.collections[0].get_segments()])
        spread = 1.6448536 * release.table_error("c").datavector()
        np.testing.assert_allclose(ends, np.stack([np.maximum(bars - spread, 0), np.minimum(bars + spread, 1)], axis=1))
        assert "a = x, b = 2" in [t.get_text() for t in ax.texts]
        assert ax.get_title(loc="left") == "P(c | a, b); whiskers hold 90 % of errors"
        ax.figure.savefig(tmp_path / "table.png")
    assert release.plot_table("alone", ax) is ax
    with pytest.raises(ValueError, match="'z'"):
        release.plot_table("z")


def test_a_large_table_is_cut_and_says_so():
    domain = Domain({"a": 30, "b": 2})
    data = Dataset({"a": [0] * 60, "b": [0, 1] * 30}, domain)
    ax = learn_private(data, [("a", "b")], epsilon=1, unsafe_seed=0).plot_table("b")
    assert len(ax.patches) == 48
    assert "(first 24 of 30 groups)" in ax.get_title(loc="left")
