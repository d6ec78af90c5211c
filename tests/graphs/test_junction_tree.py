"""Junction trees as plans: structure, cost, refusals, determinism, threads."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
import time

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lock import lets_others_in
from peak_memory import printed_numbers
from random_models import chain, cliques_of, domains, models
from reference import log_joint

import pypgm
from pypgm import CliqueVector, Domain, ImpossibleEvidenceError, JunctionTree, ModelTooLargeError


@st.composite
def structures(draw, **sizes):
    domain = draw(domains(**sizes))
    return domain, draw(cliques_of(domain))


@st.composite
def larger_structures(draw):
    domain = draw(domains(least=8, most=25, largest=9))
    pairs = st.lists(st.sampled_from(domain.attributes), min_size=2, max_size=3, unique=True).map(tuple)
    return domain, draw(st.lists(pairs, min_size=5, max_size=40))


@given(st.one_of(structures(), larger_structures()))
def test_every_tree_is_a_junction_tree(structure):
    domain, cliques = structure
    tree = JunctionTree(domain, cliques)
    sets = [set(node.clique) for node in tree.nodes]
    for clique in cliques:
        assert any(set(clique) <= s for s in sets), "each given clique lies in a node"
    assert set().union(*sets) == set(domain.attributes)
    for a, b in itertools.combinations(range(len(sets)), 2):
        assert not sets[a] <= sets[b]
        assert not sets[b] <= sets[a]
    assert tree.nodes[0].parent == -1
    for i, node in enumerate(tree.nodes[1:], 1):
        assert 0 <= node.parent < i
        assert set(node.separator) == sets[i] & sets[node.parent]
        assert node.separator == domain.canonical(node.separator)
    for attribute in domain.attributes:
        holding = {i for i, s in enumerate(sets) if attribute in s}
        tops = [i for i in holding if tree.nodes[i].parent not in holding]
        assert len(tops) == 1, "the nodes of an attribute hang together"


@given(structures())
def test_cost_is_that_of_the_nodes(structure):
    domain, cliques = structure
    tree = JunctionTree(domain, cliques)
    cells = [domain.size(node.clique) for node in tree.nodes]
    separators = [domain.size(node.separator) for node in tree.nodes]
    given_cells = sum(domain.size(c) for c in cliques)
    assert tree.cost.cells == sum(cells)
    assert tree.cost.largest_cells == max(cells) == domain.size(tree.cost.largest_clique)
    assert tree.cost.width == max(len(node.clique) for node in tree.nodes) - 1
    assert tree.cost.bytes >= 8 * (3 * given_cells + 4 * sum(separators))
    assert tree.cost.table_bytes >= 8 * (sum(cells) + 3 * given_cells + 4 * sum(separators))
    assert tree.cost.operations >= tree.cost.cells
    assert sorted(tree.order) == sorted(domain.attributes)


@given(larger_structures())
def test_best_effort_is_never_worse(structure):
    domain, cliques = structure
    auto = JunctionTree(domain, cliques, max_bytes=1e300)
    best = JunctionTree(domain, cliques, effort="best", max_bytes=1e300)
    assert best.cost.cells <= auto.cost.cells


@given(larger_structures(), st.randoms(use_true_random=False))
def test_elimination_order_is_the_one_given(structure, random):
    domain, cliques = structure
    order = list(domain.attributes)
    random.shuffle(order)
    tree = JunctionTree(domain, cliques, order=order, max_bytes=1e300)
    assert tree.order == tuple(order)
    # Eliminated by hand, the bags give the tree's cliques.
    graph = networkx.Graph()
    graph.add_nodes_from(domain.attributes)
    for clique in cliques:
        graph.add_edges_from(itertools.combinations(clique, 2))
    bags = []
    for attribute in order:
        near = set(graph[attribute])
        bags.append(near | {attribute})
        graph.add_edges_from(itertools.combinations(near, 2))
        graph.remove_node(attribute)
    maximal = {domain.canonical(b) for b in bags if not any(b < other for other in bags)}
    assert {node.clique for node in tree.nodes} == maximal


def test_order_and_effort_change_the_tree():
    domain = Domain(dict.fromkeys("habcdefg", 2))
    star = [("h", leaf) for leaf in "abcdefg"]
    assert JunctionTree(domain, star).cost.width == 1
    assert JunctionTree(domain, star, order=domain.attributes).cost.width == 7


def test_best_effort_finds_smaller_trees():
    rng = np.random.RandomState(0)
    domain = Domain({f"x{i}": int(rng.randint(2, 6)) for i in range(40)})
    pairs = list(itertools.combinations(domain.attributes, 2))
    cliques = [pairs[i] for i in rng.choice(len(pairs), 70, replace=False)]
    auto = JunctionTree(domain, cliques, max_bytes=1e300).cost
    best = JunctionTree(domain, cliques, effort="best", max_bytes=1e300).cost
    assert best.cells <= auto.cells


def test_tree_of_a_chain():
    tree = JunctionTree(Domain({"a": 2, "b": 3, "c": 4}), [("b", "c"), ("a", "b")])
    assert {node.clique for node in tree.nodes} == {("a", "b"), ("b", "c")}
    assert tree.nodes[0].clique == ("b", "c"), "the largest table is the root"
    assert tree.nodes[1].separator == ("b",)
    graph = tree.to_networkx()
    assert graph.edges[("a", "b"), ("b", "c")]["separator"] == ("b",)
    text = str(tree)
    for part in ("2 cliques over 3 attributes", "width       1", "b, c (12 cells)", "cells       18", "operations"):
        assert part in text
    assert repr(tree) == "JunctionTree(2 cliques, width 1, 18 cells)"


def test_graph_leaves_empty_separators_out():
    graph = JunctionTree(Domain({"a": 2, "b": 3, "c": 4}), [("b", "c")]).to_networkx()
    assert sorted(graph.nodes) == [("a",), ("b", "c")]
    assert not graph.edges


REFUSED = [
    ({"order": ("a", "b")}, "an elimination order needs all 3 attributes, got 2"),
    ({"order": ("a", "b", "b")}, "'b' more than once"),
    ({"order": ("a", "b", "zip")}, "unknown attribute 'zip'"),
    ({"max_bytes": 0}, "max_bytes must be positive, got 0"),
    ({"max_bytes": float("nan")}, "max_bytes must be positive, got nan"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_refused_options(options, message):
    with pytest.raises(ValueError, match=message):
        JunctionTree(Domain({"a": 2, "b": 3, "c": 4}), [("a", "b")], **options)


@pytest.mark.parametrize(
    ("clique", "message"), [(("a", "zip"), "unknown attribute 'zip'"), (("a", "a"), "'a' more than once")]
)
def test_refused_cliques(clique, message):
    with pytest.raises(ValueError, match=message):
        JunctionTree(Domain({"a": 2, "b": 3}), [clique])


def test_forty_attributes_are_refused_with_their_size():
    domain = Domain({f"x{i}": 10 for i in range(40)})
    with pytest.raises(ModelTooLargeError) as caught:
        JunctionTree(domain, [domain.attributes])
    message = str(caught.value)
    assert "(x0, x1, " in message
    assert "needs 1e+40 cells (7.45e+31 GiB)" in message
    assert "the limit is" in message
    assert "fewer or smaller cliques" in message
    assert "max_bytes" in message
    grid = [(f"x{i}", f"x{j}") for i, j in itertools.combinations(range(40), 2)]
    with pytest.raises(ModelTooLargeError, match=r"1e\+40 cells"):
        JunctionTree(domain, grid)
    measurements = [pypgm.LinearMeasurement(np.zeros(100), pair) for pair in grid]
    with pytest.raises(ModelTooLargeError, match=r"1e\+40 cells"):
        pypgm.estimate(domain, measurements, total=1.0)


def test_sizes_beyond_every_float_are_refused_too():
    domain = Domain({f"x{i}": 10**7 for i in range(60)})
    with pytest.raises(ModelTooLargeError, match=r"needs 1e\+420 cells"):
        JunctionTree(domain, [domain.attributes])


def pairs_over(n_values, pairs):
    domain = Domain({f"x{i}": n_values for i in range(1 + max(max(pair) for pair in pairs))})
    return domain, [(f"x{i}", f"x{j}") for i, j in pairs]


BIPARTITE = [(i, 60 + j) for i in range(60) for j in range(60)]
DENSE = np.argwhere(np.triu(np.random.default_rng(0).random((2000, 2000)) < 0.05, 1)).tolist()


@pytest.mark.parametrize(("n_values", "pairs"), [(10**6, BIPARTITE), (2, DENSE)], ids=["bipartite", "dense"])
@pytest.mark.parametrize(
    "plan",
    [
        JunctionTree,
        lambda domain, cliques: JunctionTree(domain, cliques, effort="best"),
        lambda domain, cliques: JunctionTree(domain, cliques, order=domain.attributes),
    ],
    ids=["auto", "best", "order"],
)
def test_where_no_order_has_a_table_that_fits_it_is_refused_without_planning_on(plan, n_values, pairs):
    domain, cliques = pairs_over(n_values, pairs)
    with pytest.raises(ModelTooLargeError, match=r"the table over \(x.* in all\)\) needs .* GiB.*oracle=.region_graph"):
        plan(domain, cliques)


def test_elimination_of_one_variable_is_refused_like_a_tree():
    domain, cliques = pairs_over(2, DENSE)
    potentials = CliqueVector(domain, cliques)
    with pytest.raises(ModelTooLargeError, match=r"the table over .* GiB"):
        pypgm.variable_elimination(potentials, "x0")


def test_the_limit_is_the_one_given():
    domain = Domain({"a": 100, "b": 100})
    needed = JunctionTree(domain, [("a", "b")]).cost.bytes
    JunctionTree(domain, [("a", "b")], max_bytes=needed)
    with pytest.raises(ModelTooLargeError, match=r"clique \(a, b\) of the junction tree needs 1e\+04 cells"):
        JunctionTree(domain, [("a", "b")], max_bytes=needed - 1)


def test_tables_are_refused_on_their_own():
    domain = Domain({f"x{i}": 10 for i in range(6)})
    pairs = [(f"x{i}", f"x{j}") for i in range(3) for j in range(3, 6)]
    needed = JunctionTree(domain, pairs).cost
    assert needed.bytes < needed.table_bytes
    tree = JunctionTree(domain, pairs, max_bytes=needed.bytes)
    potentials = CliqueVector(domain, pairs)
    assert tree.log_partition(potentials) == pytest.approx(6 * np.log(10))
    with pytest.raises(ModelTooLargeError, match=r"of the junction tree needs 1e\+04 cells \(7.45e-05 GiB\)"):
        tree.tables(potentials)
    wide = Domain({f"x{i}": 10 for i in range(12)})
    with pytest.raises(ModelTooLargeError, match=r"needs 1e\+12 cells \(7.45e\+03 GiB if it were held whole\)"):
        JunctionTree(wide, list(itertools.combinations(wide.attributes, 2)), max_bytes=1e6)


MEASURED = """
import sys, numpy as np, pypgm
kind, call = sys.argv[1:]
if kind == "implicit":
    domain = pypgm.Domain([f"x{i}" for i in range(34)], [2] * 34)
    cliques = [(f"x{i}", f"x{j}") for i in range(17) for j in range(17, 34)]
else:
    domain = pypgm.Domain([f"x{i}" for i in range(8)], [20, 30] * 4)
    cliques = [domain.attributes[i : i + 4] for i in range(5)]
potentials = pypgm.CliqueVector(domain, cliques)
potentials.values[:] = np.random.default_rng(0).normal(size=potentials.values.size)
tree = pypgm.JunctionTree(domain, cliques)
small = pypgm.CliqueVector(pypgm.Domain({"a": 2, "b": 2}), [("a", "b")])
getattr(pypgm.JunctionTree(small.domain, small.cliques), call)(small)
before = peak()
getattr(tree, call)(potentials)
announced = tree.cost.table_bytes if call == "tables" else tree.cost.bytes
print(peak() - before, announced)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak where Linux tells it")
@pytest.mark.parametrize("call", ["marginals", "attribute_marginals", "log_partition", "map", "tables"])
@pytest.mark.parametrize("kind", ["implicit", "filled"])
def test_peak_is_the_one_announced(kind, call):
    peak, announced = printed_numbers(MEASURED, kind, call)
    assert announced > 2**22
    assert 0 < peak <= 1.3 * announced


def test_elimination_refuses_large_answers():
    potentials = chain(60, 10)
    message = r"the table over \(x0, .*60 in all\)\) needs 1e\+60 cells"
    with pytest.raises(ModelTooLargeError, match=message):
        pypgm.variable_elimination(potentials, potentials.domain.attributes)
    with pytest.raises(ModelTooLargeError, match=r"the answers \(1\) need 1e\+60 cells"):
        pypgm.GraphicalModel(potentials, 1.0).project(potentials.domain.attributes)
    with pytest.raises(ModelTooLargeError, match="needs 100 cells"):
        pypgm.variable_elimination(potentials, ("x0", "x9"), max_bytes=100)
    with pytest.raises(ModelTooLargeError, match=r"needs 1e\+1200 cells"):
        pypgm.variable_elimination(chain(1200, 10), chain(1200, 10).domain.attributes)


@pytest.mark.slow
@pytest.mark.parametrize(("n_attributes", "n_values", "order"), [(17, 2, 5), (150, 1, 2)])
def test_thousands_of_tables_that_meet_in_one_clique_are_planned_at_once(n_attributes, n_values, order):
    domain = Domain({f"x{i}": n_values for i in range(n_attributes)})
    cliques = list(itertools.combinations(domain.attributes, order))
    potentials = CliqueVector(domain, cliques, np.random.default_rng(0).normal(size=len(cliques) * n_values**order))
    begun = time.process_time()
    log_z = JunctionTree(domain, cliques).log_partition(potentials)
    assert time.process_time() - begun < 10  # a choice among all pairs at every step takes minutes
    joint = np.zeros((n_values,) * (n_attributes if n_values > 1 else 0))
    for axes in itertools.combinations(range(n_attributes), order):
        table = potentials[tuple(f"x{i}" for i in axes)].values
        joint += table.reshape([n_values if i in axes else 1 for i in range(joint.ndim)])
    assert log_z == pytest.approx(np.logaddexp.reduce(joint, axis=None), rel=1e-9)


# Same input, same bits.


def large_model():
    """Tables large enough that a second thread starts, shapes that cut a table in each way, many small tables."""
    rng = np.random.default_rng(7)
    sizes = {"a": 40, "b": 50, "c": 60, "d": 3, "e": 70, "f": 41, "g": 43}
    domain = Domain({**sizes, **{f"y{i}": 5 for i in range(40)}})
    cliques = [("a", "b", "c"), ("c", "d", "e"), ("a",), ("b", "c"), ("c", "f", "g"), ("e",)]
    cliques += [(f"y{i}", f"y{i + 1}") for i in range(39)]
    size = sum(domain.size(c) for c in cliques)
    return CliqueVector(domain, cliques, rng.normal(size=size))


@pytest.mark.parametrize("space", ["linear", "logarithms"])
def test_threads_do_not_change_a_bit(space):
    potentials = large_model()
    if space == "logarithms":
        potentials["a"].datavector()[0] = 2000.0
        potentials["a", "b", "c"].values[0] -= 2500.0
    tree = JunctionTree(potentials.domain, potentials.cliques)
    assert tree.cost.largest_cells > 65536
    evidence = {"f": [1, 2, 3], "y0": np.linspace(0, 1, 5)}
    one = tree.marginals(potentials, 1e5, evidence, n_threads=1)
    assert np.isfinite(one.values).all()
    for n_threads in (0, 2, 3):
        assert tree.marginals(potentials, 1e5, evidence, n_threads=n_threads).values.tobytes() == one.values.tobytes()
        assert tree.log_partition(potentials, n_threads=n_threads) == tree.log_partition(potentials, n_threads=1)


PROGRAM = """
import sys, hashlib, numpy as np, pypgm
rng = np.random.default_rng(0)
domain = pypgm.Domain({f"x{i}": int(s) for i, s in enumerate(rng.integers(1, 7, 12))})
cliques = [tuple(rng.choice(domain.attributes, 3, replace=False)) for _ in range(9)]
measurements = [pypgm.LinearMeasurement(rng.normal(50, 20, domain.size(c)), c) for c in cliques]
model = pypgm.estimate(domain, measurements, iterations=60, n_threads=int(sys.argv[1]))
digest = hashlib.sha256()
digest.update(repr((model.total, model.tree.order, model.fit.history)).encode())
for table in (model.potentials, model.marginals):
    digest.update(table.values.tobytes())
asked = [tuple(rng.choice(domain.attributes, 3, replace=False)) for _ in range(5)]
for c in asked:
    digest.update(model.project(c).datavector().tobytes())
    digest.update(model.query(c, {"x3": {0}, "x4": 0}).datavector().tobytes())
    digest.update(pypgm.variable_elimination(model.potentials, c).datavector().tobytes())
print(digest.hexdigest())
"""


def test_processes_and_hash_seeds_do_not_change_a_bit(tmp_path):
    answers = set()
    for seed, n_threads in (("0", "1"), ("1", "2"), ("77", "0")):
        # Started elsewhere, so that the child imports the installed package, not the source tree.
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, n_threads],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=tmp_path,
            check=True,
            capture_output=True,
            text=True,
        )
        answers.add(done.stdout.strip())
    assert len(answers) == 1
    assert len(answers.pop()) == 64


def test_the_lock_is_released():
    potentials = large_model()
    tree = JunctionTree(potentials.domain, potentials.cliques)
    assert lets_others_in(lambda: tree.plan.marginals(potentials.values, [], 1.0, 1))


def test_two_threads_may_use_one_tree():
    potentials = large_model()
    tree = JunctionTree(potentials.domain, potentials.cliques)
    wanted = tree.marginals(potentials).values.tobytes()
    found = []
    workers = [threading.Thread(target=lambda: found.append(tree.marginals(potentials).values.tobytes())) for _ in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [wanted, wanted]


@given(models(), st.integers(0, 2**32 - 1))
def test_ties_have_one_most_probable_assignment(shape, seed):
    """Sums of few small integers are equal all over, and exact: any with the largest will do, but always the same."""
    values = np.random.default_rng(seed).choice([0.0, 1.0, 2.0, -np.inf], shape.values.size, p=[0.5, 0.3, 0.1, 0.1])
    potentials = CliqueVector(shape.domain, shape.cliques, values)
    tree, joint = JunctionTree(shape.domain, shape.cliques), log_joint(potentials)
    if joint.max() == -np.inf:
        with pytest.raises(ImpossibleEvidenceError):
            tree.map(potentials)
        return
    found, log_weight = tree.map(potentials)
    assert log_weight == joint.max() == joint[tuple(found.values())]
    assert JunctionTree(shape.domain, shape.cliques).map(potentials) == (found, log_weight)
