"""Region graphs: closure, covering relation, minimal edges, other kinds, refusals."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import cliques_of, domains

import pypgm
from pypgm import Domain, ModelTooLargeError, RegionGraph, _core

ABCD = Domain({"a": 2, "b": 3, "c": 4, "d": 5})
TWENTY = Domain({f"x{i}": 2 for i in range(20)})


def closure(cliques):
    """The slow and obvious way: intersect all pairs until nothing new comes."""
    found = {frozenset(c) for c in cliques if c}
    while True:
        more = found | {a & b for a in found for b in found} - {frozenset()}
        if more == found:
            return found
        found = more


def covering(regions):
    sets = [frozenset(r) for r in regions]
    return {
        (i, j)
        for i, p in enumerate(sets)
        for j, c in enumerate(sets)
        if c < p and not any(c < between < p for between in sets)
    }


def constraint_matrix(graph, edges):
    """One row a cell of each edge's child: the parent's marginal less the child."""
    offsets = np.cumsum([0, *(graph.domain.size(r) for r in graph.regions)])
    rows = []
    for p, c in edges:
        parent, child = graph.regions[p], graph.regions[c]
        kept = np.arange(graph.domain.size(child)).reshape(graph.domain.sizes(child))
        shape = [s if a in child else 1 for a, s in zip(parent, graph.domain.sizes(parent), strict=True)]
        place = np.broadcast_to(kept.reshape(shape), graph.domain.sizes(parent)).ravel()
        block = np.zeros((graph.domain.size(child), offsets[-1]))
        block[place, offsets[p] + np.arange(place.size)] = 1
        block[np.arange(kept.size), offsets[c] + np.arange(kept.size)] -= 1
        rows.append(block)
    return np.concatenate([np.zeros((0, offsets[-1])), *rows])


@given(st.data())
def test_saturated_is_the_closure_with_its_covering_relation(data):
    domain = data.draw(domains(largest=3))
    cliques = data.draw(cliques_of(domain, least=1).filter(any))
    graph = RegionGraph.saturated(domain, cliques)
    assert {frozenset(r) for r in graph.regions} == closure(cliques)
    assert set(graph.edges) == covering(graph.regions)
    assert list(graph.regions) == sorted(graph.regions, key=lambda r: (-len(r), domain.indices(r)))
    assert graph.cliques == tuple(dict.fromkeys(domain.canonical(c) for c in cliques))
    assert graph.cells == sum(domain.size(r) for r in graph.regions)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_wide_cliques_are_closed_too(seed):
    rng = np.random.default_rng(seed)
    domain = Domain({f"x{i}": 2 for i in range(16)})
    cliques = [tuple(rng.choice(domain.attributes, rng.integers(8, 13), replace=False)) for _ in range(4)]
    graph = RegionGraph.saturated(domain, cliques)
    assert {frozenset(r) for r in graph.regions} == closure(cliques)
    assert set(graph.edges) == covering(graph.regions)


@settings(max_examples=30)
@given(st.data())
def test_minimal_edges_leave_the_polytope_as_it_is(data):
    domain = data.draw(domains(least=2, largest=2))
    cliques = data.draw(cliques_of(domain, least=1, width=3).filter(any))
    full = RegionGraph.saturated(domain, cliques)
    small = RegionGraph.saturated(domain, cliques, minimal=True)
    assert small.regions == full.regions
    assert set(small.edges) <= set(full.edges)
    # The rows of a child's sum say that both sum to one: a polytope of distributions has them anyway.
    total = np.zeros((len(full.regions) - 1, full.cells))
    ends = np.cumsum([0, *(domain.size(r) for r in full.regions)])
    for i in range(len(full.regions) - 1):
        total[i, ends[i] : ends[i + 1]] = 1
        total[i, ends[i + 1] : ends[i + 2]] = -1
    rows = [np.concatenate([total, constraint_matrix(full, g.edges)]) for g in (full, small)]
    ranks = [np.linalg.matrix_rank(r) if r.size else 0 for r in rows]
    assert ranks[0] == ranks[1]


def test_a_region_keeps_one_parent_of_those_with_a_common_ancestor():
    domain = Domain({"a": 2, "b": 2, "c": 2, "d": 2})
    cliques = [("a", "b", "c"), ("a", "b"), ("b", "c"), ("b", "d")]
    full = RegionGraph.saturated(domain, cliques)
    small = RegionGraph.saturated(domain, cliques, minimal=True)
    b = full.regions.index(("b",))
    assert sorted(full.regions[p] for p, c in full.edges if c == b) == [("a", "b"), ("b", "c"), ("b", "d")]
    assert sorted(small.regions[p] for p, c in small.edges if c == b) == [("a", "b"), ("b", "d")]


@given(st.data())
def test_sweeps_visit_every_child_once_and_no_two_of_a_stage_share_a_parent(data):
    domain = data.draw(domains(least=2, largest=2))
    graph = RegionGraph.saturated(domain, data.draw(cliques_of(domain, least=1).filter(any)))
    stages = graph.plan.stages
    assert sorted(r for s in stages for r in s) == sorted({c for _, c in graph.edges})
    widths = [len(graph.regions[s[0]]) for s in stages]
    assert widths == sorted(widths, reverse=True)
    for stage in stages:
        parents = [p for r in stage for p, c in graph.edges if c == r]
        assert len(parents) == len(set(parents))
        assert len({len(graph.regions[r]) for r in stage}) == 1


def test_factor_graph_joins_cliques_by_single_attributes():
    graph = RegionGraph.factor_graph(ABCD, [("b", "a"), ("b", "c"), ("c",)])
    assert graph.regions == (("a", "b"), ("b", "c"), ("a",), ("b",), ("c",))
    assert {(graph.regions[p], graph.regions[c]) for p, c in graph.edges} == {
        (("a", "b"), ("a",)),
        (("a", "b"), ("b",)),
        (("b", "c"), ("b",)),
        (("b", "c"), ("c",)),
    }


@given(st.data())
def test_junction_tree_regions_are_cliques_and_separators(data):
    domain = data.draw(domains())
    cliques = data.draw(cliques_of(domain, least=1).filter(any))
    graph = RegionGraph.junction_tree(domain, cliques)
    tree = pypgm.JunctionTree(domain, graph.cliques)
    assert set(graph.regions) == {n.clique for n in tree.nodes} | {n.separator for n in tree.nodes if n.separator}
    for clique in cliques:
        assert set(clique) <= set(graph.regions[graph.region_of(clique)])


def test_own_graph_and_extra_regions():
    graph = RegionGraph.from_edges(ABCD, [("b", "a")], [(("c", "b", "a"), ("a", "b")), (("a", "b"), "a")])
    assert graph.regions == (("a", "b", "c"), ("a", "b"), ("a",))
    assert graph.edges == ((0, 1), (1, 2))
    assert graph.region_of(("c", "a")) == 0
    more = RegionGraph.saturated(ABCD, [("a", "b"), ("b", "c")], extra=[("a", "c")])
    assert ("a", "c") in more.regions
    assert more.cliques == (("a", "b"), ("b", "c"))


def test_print_draw_and_networkx():
    graph = RegionGraph.saturated(ABCD, [("a", "b"), ("b", "c"), ("c", "d")])
    assert "5 regions" in str(graph)
    assert "4 edges" in repr(graph)
    drawn = graph.to_networkx()
    assert drawn.nodes["a", "b"]["cells"] == 6
    assert set(drawn.edges) == {(graph.regions[p], graph.regions[c]) for p, c in graph.edges}
    pytest.importorskip("matplotlib")
    axes = graph.plot()
    assert {t.get_text() for t in axes.texts} == {"\n".join((*r, str(ABCD.size(r)))) for r in graph.regions}
    assert graph.plot(axes) is axes


def test_the_same_graph_in_another_process(tmp_path):
    code = (
        "import pypgm; d = pypgm.Domain({f'x{i}': 3 for i in range(7)});"
        "c = [(f'x{i}', f'x{(i + 1) % 7}', f'x{(i + 3) % 7}') for i in range(7)];"
        "g = pypgm.RegionGraph.saturated(d, c, minimal=True); print(g.regions, g.edges, g.plan.stages)"
    )
    seen = set()
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", code]
        # Not from the source tree, which would shadow the installed package.
        seen.add(subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True).stdout)
    assert len(seen) == 1


BAD = {
    "no cliques": (lambda: RegionGraph.saturated(ABCD, []), ValueError, "needs a clique with an attribute"),
    "empty clique": (lambda: RegionGraph.factor_graph(ABCD, [()]), ValueError, "needs a clique with an attribute"),
    "unknown": (lambda: RegionGraph.saturated(ABCD, [("a", "z")]), ValueError, "unknown attribute 'z'"),
    "too many": (
        lambda: RegionGraph.saturated(ABCD, [("a", "b"), ("b", "c")], max_regions=2),
        ModelTooLargeError,
        "more than 2 regions",
    ),
    "too many wide": (
        lambda: RegionGraph.saturated(TWENTY, [TWENTY.attributes[i : i + 12] for i in range(9)], max_regions=20),
        ModelTooLargeError,
        "more than 20 regions",
    ),
    "too large": (
        lambda: RegionGraph.saturated(ABCD, [("a", "b"), ("c", "d")], max_bytes=100),
        ModelTooLargeError,
        r"2 regions have 26 cells .* largest region \(c, d\) has 20",
    ),
    "far too large": (
        lambda: RegionGraph.factor_graph(Domain({f"x{i}": 1000 for i in range(40)}), [[f"x{i}" for i in range(40)]]),
        ModelTooLargeError,
        r"1e\+120|cells",
    ),
    "outside its parent": (
        lambda: RegionGraph.from_edges(ABCD, [], [(("a", "b"), ("b", "c"))]),
        ValueError,
        r"\('b', 'c'\) is not a proper part of \('a', 'b'\)",
    ),
    "cycle": (
        lambda: RegionGraph.from_edges(ABCD, [], [(("a", "b"), "a"), ("a", ("a", "b"))]),
        ValueError,
        "form a cycle",
    ),
    "itself": (lambda: RegionGraph.from_edges(ABCD, [], [(("a", "b"), ("b", "a"))]), ValueError, "form a cycle"),
    "unsupported": (
        lambda: RegionGraph.from_edges(ABCD, [("a", "b")], [], cliques=[("a", "c")]),
        ValueError,
        r"no region holds clique \('a', 'c'\)",
    ),
    "nothing": (lambda: RegionGraph.from_edges(ABCD, [], []), ValueError, "needs a region"),
    "core: order": (lambda: _core.RegionGraph([2, 2], [[1, 0]], []), ValueError, "ascending"),
    "core: edge": (lambda: _core.RegionGraph([2, 2], [[0, 1]], [(0, 1)]), ValueError, "not there"),
    "core: part": (lambda: _core.RegionGraph([2, 2], [[0], [1]], [(0, 1)]), ValueError, "proper part"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_graphs_are_refused_by_name(name):
    make, error, message = BAD[name]
    with pytest.raises(error, match=message):
        make()


def test_ten_thousand_triples():
    domain = Domain({f"x{i}": 10 for i in range(100)})
    rng = np.random.default_rng(0)
    cliques = [tuple(f"x{i}" for i in rng.choice(100, 3, replace=False)) for _ in range(10_000)]
    graph = RegionGraph.saturated(domain, cliques)
    assert sum(len(r) == 1 for r in graph.regions) == 100
    assert graph.cells > 1e7
