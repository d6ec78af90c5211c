"""What goes to another process, or is copied, comes back the same."""

from __future__ import annotations

import copy
import inspect
import pickle
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from operator import methodcaller

import numpy as np
import pytest

import pypgm
from pypgm import CliqueVector, Domain, Factor, GraphicalModel, JunctionTree, RegionGraph, RegionGraphModel, _core

DOMAIN = Domain({"a": 2, "sex": ["F", "M"], "c": 3})
CLIQUES = [("a", "sex"), ("sex", "c")]


@pytest.fixture(scope="module")
def model():
    measured = [
        pypgm.LinearMeasurement([[41.0, 9], [8, 42]], CLIQUES[0], stddev=2.0),
        pypgm.LinearMeasurement([[20.0, 20, 9], [11, 20, 20]], CLIQUES[1], stddev=2.0),
    ]
    return pypgm.estimate(DOMAIN, measured)


COPIES = [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy]


@pytest.mark.parametrize("copied", COPIES, ids=["pickle", "copy", "deepcopy"])
class TestCopies:
    def test_models_are_what_their_file_holds(self, model, copied):
        again = copied(model)
        assert type(again) is GraphicalModel
        assert again.total == model.total
        assert again.fit == model.fit
        assert again.marginals.values.tobytes() == model.marginals.values.tobytes()
        assert (
            again.standard_error("a", draws=2).values.tobytes() == model.standard_error("a", draws=2).values.tobytes()
        )

    def test_region_graphs_and_their_models(self, copied):
        graph = RegionGraph.saturated(DOMAIN, CLIQUES)
        again = copied(graph)
        assert again.regions == graph.regions
        assert again.edges == graph.edges
        tables = [np.full(DOMAIN.size(r), 12.0 / DOMAIN.size(r)) for r in graph.regions]
        own = RegionGraphModel(graph, CliqueVector(DOMAIN, graph.regions, np.concatenate(tables)), 12.0)
        own.not_private = "made up"
        other = copied(own)
        assert type(other) is RegionGraphModel
        assert other.not_private == "made up"
        assert other.project(("a", "c")).values.tolist() == own.project(("a", "c")).values.tolist()

    def test_trees_keep_their_order(self, copied):
        tree = JunctionTree(DOMAIN, CLIQUES, effort="best", max_bytes=10_000)
        again = copied(tree)
        assert again.order == tree.order
        assert again.nodes == tree.nodes
        assert again.cost == tree.cost
        with pytest.raises(pypgm.ModelTooLargeError):
            copied(again)._check_fits(20_000)

    def test_networks(self, copied):
        net = pypgm.bayes.BayesianNetwork(
            DOMAIN,
            {"c": ["a", "sex"]},
            {"a": [0.5, 0.5], "sex": [0.25, 0.75], "c": np.full((2, 2, 3), 1 / 3)},
            name="x",
        )
        again = copied(net)
        assert (type(again), again.name, again.domain, dict(again.parents)) == (
            type(net),
            "x",
            DOMAIN,
            dict(net.parents),
        )
        assert all(again.tables[a].values.tobytes() == net.tables[a].values.tobytes() for a in DOMAIN)

    def test_the_vocabulary(self, copied):
        assert copied(DOMAIN) == DOMAIN
        factor = Factor(DOMAIN.project(("a",)), [1, 2])
        assert copied(factor).domain == factor.domain
        assert copied(factor).values.tolist() == [1, 2]
        vector = CliqueVector(DOMAIN, CLIQUES, np.arange(10.0))
        assert copied(vector).cliques == vector.cliques
        assert copied(vector)["c", "sex"].values.tolist() == vector["c", "sex"].values.tolist()

    def test_errors(self, copied):
        kinds = [e for _, e in inspect.getmembers(pypgm.errors, inspect.isclass) if issubclass(e, Exception)]
        assert kinds
        for kind in kinds:
            again = copied(kind("what was needed, what came"))
            assert type(again) is kind
            assert str(again) == "what was needed, what came"


@pytest.mark.slow
def test_models_go_to_spawned_workers(model):
    ask = methodcaller("project", ("c", "a"))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = pool.submit(ask, model).result()
    assert found.values.tobytes() == ask(model).values.tobytes()


def test_values_of_a_model_cannot_be_changed(model):
    for vector in (model.marginals, model.potentials):
        with pytest.raises(ValueError, match="read-only"):
            vector.values[0] = 1.0
        with pytest.raises(ValueError, match="read-only"):
            vector["a", "sex"].values[0, 0] = 1.0


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, *(partial(pickle.dumps, protocol=p) for p in range(6))])
def test_what_is_the_core_s_own_is_neither_pickled_nor_copied(again):
    with pytest.raises(TypeError, match="cannot pickle"):
        again(_core.SeededWords(1))
    with pytest.raises(TypeError, match="cannot pickle"):
        _core.SeededWords(1).__reduce__()
