"""Measurements lowered for the compiled solvers: they minimise the same loss as the general ones."""

import numpy as np
import pytest

import pypgm
from pypgm import queries
from pypgm.estimation import problem
from pypgm.estimation import problem as compiled_terms
from pypgm.estimation.region_problem import RegionEngine
from pypgm.estimation.tree_problem import TreeEngine

DOMAIN = pypgm.Domain({"a": 3, "b": 4, "c": 2, "d": 3})
RNG = np.random.default_rng(5)
ASKED = {
    "real": (("b", "a"), queries.Matrix(RNG.normal(size=(5, 12)))),
    "prefix": (("b", "a"), queries.Prefix(12)),
    "kronecker": (("a", "b"), queries.Kronecker([queries.Prefix(3), queries.Matrix(RNG.normal(size=(2, 4)))])),
    "ranges": (("b", "c"), queries.AllRange(8)),
    "groups": (("b", "c"), queries.Partition([0, 1, 2, 0, 1, 2, 0, 0])),
    "union": (("c", "b"), queries.Union([queries.Identity(8), queries.Prefix(8)])),
    "weights": (("b", "c", "a"), queries.Subset([0, 7, 20], 24, weights=[1, -2, 3])),
}


def measured(asked):
    """Pairs measured cell by cell, one of them again by the query; a triple stays so that regions are larger."""
    rng = np.random.default_rng(1)
    counts = pypgm.Factor(DOMAIN, rng.gamma(0.5, 20, size=DOMAIN.shape))
    rows = []
    for clique in [("a", "b", "c"), ("b", "c", "d"), ("d", "a")]:
        cells = counts.project(clique).datavector()
        rows.append(pypgm.LinearMeasurement(cells + rng.normal(0, 5, cells.size), clique, 5.0))
    clique, query = asked
    answers = query.matvec(counts.project(clique).datavector())
    rows.append(pypgm.LinearMeasurement(answers + rng.normal(0, 2, answers.size), clique, 2.0, query))
    return rows


# A graph of which larger regions hold the pairs and what is asked of them.
LARGER = pypgm.RegionGraph.saturated(DOMAIN, [("a", "b", "c"), ("b", "c", "d"), ("a", "c", "d")])


@pytest.mark.parametrize("oracle", ["exact", "region_graph", LARGER], ids=["exact", "region_graph", "larger"])
@pytest.mark.parametrize("name", ASKED)
def test_compiled_and_general_solvers_take_the_same_path(name, oracle, monkeypatch):
    rows = measured(ASKED[name])
    engine = TreeEngine if oracle == "exact" else RegionEngine
    taken, advance = [], engine.advance

    def recorded(self, s, a):
        taken.append(advance(self, s, a))
        return taken[-1]

    monkeypatch.setattr(engine, "advance", recorded)
    options = {"total": 1000.0, "oracle": oracle, "stop": None, "iterations": 40}
    pypgm.estimate(DOMAIN, rows, **options)
    compiled = [tuple(step) for step in taken]
    taken.clear()
    monkeypatch.setattr(problem, "is_compiled", lambda m: False)
    pypgm.estimate(DOMAIN, rows, **options)
    assert len(compiled) > 10
    np.testing.assert_allclose(compiled, [tuple(step) for step in taken], rtol=1e-6)


def test_a_loss_of_ones_own_reads_cliques_inside_larger_regions():
    rows = measured(ASKED["real"])
    squares = pypgm.losses.L2(rows)
    cliques = [DOMAIN.canonical(m.clique) for m in rows]

    def halves(marginals):
        value, slopes = squares.on(DOMAIN, cliques)(marginals.values)
        return value, marginals.like(slopes)

    own = pypgm.losses.Custom(halves, cliques)
    tables = [("a", "b", "c"), ("a", "c", "d"), ("b", "c", "d")]
    at = np.random.default_rng(2).uniform(1, 9, sum(map(DOMAIN.size, tables)))
    found, wanted = own.on(DOMAIN, tables)(at), squares.on(DOMAIN, tables)(at)
    assert found[0] == pytest.approx(wanted[0])
    np.testing.assert_allclose(found[1], wanted[1], atol=1e-9)
    assert pypgm.losses.check_gradient(own, pypgm.CliqueVector(DOMAIN, tables, at)) < 1e-4


def test_all_queries_of_the_field_are_compiled_but_those_with_much_faster_products():
    for clique, query in ASKED.values():
        assert compiled_terms.is_compiled(pypgm.LinearMeasurement(np.zeros(query.shape[0]), clique, 1.0, query))
    slow = queries.AllRange(200)
    assert slow.nnz > 8 * slow.cost
    assert not compiled_terms.is_compiled(pypgm.LinearMeasurement(np.zeros(slow.shape[0]), ("x",), 1.0, slow))
