"""Pictures: what is drawn where, on whose axes, and that graphs are laid out without boxes on boxes."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest

import pypgm
from pypgm import Budget, Dataset, Domain, JunctionTree, RegionGraph, plot
from pypgm.bayes import BayesianNetwork, learn_private
from pypgm.estimation import Fit
from pypgm.graphs.layout import laid_out
from pypgm.graphs.pictures import draw_graph
from pypgm.privacy.laws import Stated
from pypgm.reporting.facts import Facts

pytest.importorskip("matplotlib")

DOMAIN = Domain({"$a$": ["x", "$\\frac", ""], "b": 2, "c": 3})
NET = BayesianNetwork(Domain({"a": 2, "b": 2}), {"b": ["a"]}, {"a": [0.5, 0.5], "b": [[0.9, 0.1], [0.2, 0.8]]})


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return Dataset({a: rng.integers(0, DOMAIN.size(a), 400) for a in DOMAIN}, DOMAIN)


@pytest.fixture(scope="module")
def release(data):
    return pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9, unsafe_seed=0)


@pytest.fixture(scope="module")
def private_network():
    return learn_private(NET.sample(300, rng=0), NET, epsilon=1, unsafe_seed=0)


PICTURES = {
    "marginal": lambda r, n, ax: plot.marginal(r, ("$a$", "b"), ax),
    "pairs": lambda r, n, ax: plot.pairs(r, ax),
    "budget": lambda r, n, ax: plot.budget(r, ax),
    "privacy": lambda r, n, ax: plot.privacy(r, ax),
    "convergence": lambda r, n, ax: plot.convergence(r, ax),
    "tree": lambda r, n, ax: plot.tree(r, ax),
    "regions": lambda r, n, ax: plot.regions(RegionGraph.saturated(DOMAIN, [("$a$", "b"), ("b", "c")]), ax),
    "network": lambda r, n, ax: plot.network(n, ax),
    "table": lambda r, n, ax: plot.table(n, "b", ax),
}


def test_every_picture_is_here():
    assert set(PICTURES) == set(plot.__all__) - {"bars"}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_on_the_axes_given_or_on_new_ones(name, release, private_network, tmp_path):
    from matplotlib.figure import Figure

    drawn = PICTURES[name](release, private_network, None)
    drawn.figure.savefig(tmp_path / "own.png")  # a dollar sign begins no formula
    ax = Figure().subplots(1, 2)[1]
    assert PICTURES[name](release, private_network, ax) is ax
    ax.figure.savefig(tmp_path / "given.svg")


def test_a_marginal_has_model_synthetic_and_real_bars_with_errors(release, data):
    synthetic = release.synthetic_data(rng=0)
    ax = plot.marginal(release, "b", synthetic=synthetic, unsafe_data=data)
    legend = [t.get_text() for t in ax.get_legend().get_texts()]
    assert legend == ["model", "synthetic", "real (not private)"]
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(widths[:2], release.project("b").values)
    np.testing.assert_allclose(widths[4:], data.project("b").values * release.model.total / len(data))
    ends = np.array([segment[:, 0] for segment in ax.collections[0].get_segments()])
    errors = 1.6448536 * release.expected_error("b").values
    np.testing.assert_allclose(ends[:, 1] - widths[:2], errors)
    assert not plot.marginal(release, "b", errors=False).collections


def test_a_large_marginal_shows_its_largest_cells():
    domain = Domain({"a": 200})
    data = Dataset({"a": np.repeat(np.arange(200), np.arange(200))}, domain)
    release = pypgm.mechanisms.mst(data, epsilon=5, delta=1e-9, unsafe_seed=0)
    ax = plot.marginal(release, "a", errors=False)
    assert len(ax.patches) == 60
    assert "the largest 60 of 200" in ax.get_title(loc="left")


def test_pairs_are_in_percentage_points_and_mark_what_was_not_measured(release, data):
    real = plot.pairs(release, unsafe_data=data)
    grid = np.asarray(real.images[0].get_array())
    distance = pypgm.evaluate(release, unsafe_data=data, cliques=[("b", "c")]).values[0]
    assert grid[1, 2] == grid[2, 1] == pytest.approx(100 * distance)
    assert "not private" in real.get_title(loc="left")
    apart = {(a, b) for a, b in itertools.combinations(DOMAIN, 2) if release.model.basis((a, b)) == "unmeasured"}
    assert len(real.collections[0].get_offsets()) == 2 * len(apart) == 2
    assert "Expected error" in plot.pairs(release, attributes=["b", "c"]).get_title(loc="left")
    shown = np.asarray(plot.pairs(release).images[0].get_array())
    quality = Facts(release).quality  # of which texts and pages are made
    points = quality.of("columns") | quality.of("pairs")
    for (i, a), (j, b) in itertools.combinations_with_replacement(enumerate(release.model.domain), 2):
        assert shown[i, j] == pytest.approx(points[tuple(dict.fromkeys((a, b)))])
    with pytest.raises(ValueError, match="unknown attribute"):
        plot.pairs(release, attributes=["z"])


def test_the_bar_of_a_budget_is_whole(release):
    widths = [bar.get_width() for bar in plot.budget(release).patches]
    assert sum(widths) == pytest.approx(1)
    many = pypgm.Ledger(Budget(rho=1))
    for i in range(12):
        many.charge(f"step {i}", "x", Stated(rho="1/20"))
    texts = [t.get_text() for t in plot.budget(many).get_legend().get_texts()]
    assert texts[-2:] == ["30 %  6 more", "40 %  not spent"]
    with pytest.raises(TypeError, match="needs a release or a ledger"):
        plot.budget(3)


def test_the_privacy_curve_goes_through_the_guarantee():
    ax = plot.privacy(Budget(epsilon=1, delta=1e-9))
    deltas, epsilons = ax.lines[0].get_data()
    assert np.interp(-9, np.log10(deltas), epsilons) == pytest.approx(1, rel=0.01)
    assert (np.diff(epsilons) < 0).all()


def test_convergence_ends_at_the_loss_with_its_gap():
    fit = Fit("time", 2.0, 0.5, 40, 0.1, (100.0, 10.0, 2.0))
    ax = plot.convergence(fit)
    assert ax.lines[1].get_data()[1] == [2.0]
    texts = [t.get_text() for t in ax.get_legend().get_texts()]
    assert texts == ["loss", "ran out of time, 40 iterations", "gap: the optimum is at most 0.5 below"]
    assert ax.get_yscale() == "log"
    for wrong, draw in ((3, plot.convergence), (3, plot.tree), (3, plot.regions), (3, plot.network)):
        with pytest.raises(TypeError, match="needs a"):
            draw(wrong)


def test_a_tree_says_cells_and_what_is_shared():
    tree = JunctionTree(Domain({"a": 2, "b": 3, "c": 4}), [("a", "b"), ("b", "c")])
    texts = [t.get_text() for t in tree.plot().texts]
    assert sorted(texts) == ["a\nb\n6", "b", "b\nc\n12"]


@pytest.mark.parametrize("graphviz", [False, True])
def test_boxes_lie_apart_and_arcs_go_down(graphviz):
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 7, 30):
        sizes = [(float(w), 0.3) for w in rng.uniform(0.3, 2, n)]
        arcs = [(i, j) for i, j in itertools.combinations(range(n), 2) if rng.random() < 3 / n]
        drawing = laid_out(sizes, arcs, graphviz=graphviz)
        assert len(drawing.places) == n
        for i, j in itertools.combinations(range(n), 2):
            (x, y), (u, v) = drawing.places[i], drawing.places[j]
            assert abs(x - u) >= (sizes[i][0] + sizes[j][0]) / 2 - 1e-3 or abs(y - v) >= 0.3 - 1e-3
        for (tail, head), curve in zip(arcs, drawing.curves, strict=True):
            assert drawing.places[tail][1] > drawing.places[head][1]
            assert len(curve) % 3 == 1
            assert np.hypot(*(curve[-1] - drawing.places[head])) < 1.5
        for x, y in drawing.places:
            assert -1e-6 <= x <= drawing.width + 1e-6
            assert -1e-6 <= y <= drawing.height + 1e-6


def test_what_has_no_parents_stands_above_its_first_child_and_in_its_order():
    drawing = laid_out([(0.5, 0.3)] * 6, [(2, 4), (0, 5), (1, 3), (3, 4)], graphviz=False)
    rows = [round(y, 3) for _, y in drawing.places]
    assert rows[1] > rows[2] == rows[3] > rows[4]
    assert rows[0] == rows[1]
    x = [x for x, _ in drawing.places]
    assert x[0] == pytest.approx(x[5], abs=0.5)


def test_long_texts_are_wrapped_and_cut():
    ax = draw_graph(["x" * 100, ", ".join(f"attribute{i}" for i in range(60))], [(0, 1)])
    lines = [line for t in ax.texts for line in t.get_text().split("\n")]
    assert max(map(len, lines)) <= 28
    assert len(lines) <= 8


def test_figures_are_of_pyplot_where_that_shows_them_and_of_nobody_elsewhere(tmp_path):
    code = """
import pypgm, matplotlib
tree = pypgm.JunctionTree(pypgm.Domain({"a": 2}), [("a",)])
tree.plot()
import sys; print("matplotlib.pyplot" in sys.modules)
from matplotlib import pyplot
tree.plot(); print(pyplot.get_fignums())
matplotlib.get_backend = lambda: "TkAgg"
tree.plot(); print(pyplot.get_fignums())
tree._repr_html_(); print(pyplot.get_fignums())
"""
    environment = {"MPLBACKEND": "agg", "PATH": ""}
    # Not where the tests are started: the source tree must not shadow the installed package.
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment, cwd=tmp_path
    )
    assert done.stdout.split("\n")[:4] == ["False", "[]", "[1]", "[1]"]


def test_missing_values_have_their_name_in_every_picture():
    domain = Domain({"a": ["x", "", "y"], "b": [" ", "u"]})
    data = Dataset({"a": [0, 1, 2] * 50, "b": [0, 1] * 75}, domain)
    model = pypgm.estimate(domain, [pypgm.LinearMeasurement(np.full(6, 25.0), ("a", "b"))])
    for clique in (("a",), ("b",), ("a", "b")):
        labels = [label.get_text() for label in plot.marginal(model, clique, synthetic=data).get_yticklabels()]
        assert all("(missing)" in label or {"x", "y", "u"} & set(label.split(" · ")) for label in labels)
        assert sum("(missing)" in label for label in labels) == {1: 1, 2: 4}[len(clique)]


def test_a_colour_means_the_same_error_in_every_picture():
    from pypgm.reporting.drawings import squares_of

    for points in (0.3, 4.0, 60.0):
        ax = plot.counts._heat_map(np.full((2, 2), points), ["a", "b"], [], False, None)
        colour = ax.images[0].norm(points)
        square = squares_of(["a", "b"], {("a", "b"): points})["rows"][0][1][1]
        assert float(colour) == pytest.approx(square["shade"])
