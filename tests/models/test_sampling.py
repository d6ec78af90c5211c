"""Synthetic records: every count against the model's, computed by brute force in NumPy."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lock import lets_others_in

import pypgm
from pypgm import _core
from pypgm._base.clock import Clock
from pypgm.domain import Domain
from pypgm.factor import Factor
from pypgm.graphs.junction_tree import JunctionTree, TreeNode
from pypgm.inference.region_index import RegionIndex
from pypgm.models.sampling import draw_records, refined_records, stages

MEASURED_SIZES = [85, 9, 100, 16, 7, 15, 6, 5, 2, 42]


class Step(NamedTuple):
    """A node of a junction tree and the belief over its clique."""

    clique: tuple[str, ...]
    separator: tuple[str, ...]
    table: np.ndarray


def draw(domain, steps, rows, seed=None):
    """Draw along a tree whose nodes are given: one that is built chooses its root itself."""
    tree = SimpleNamespace(domain=domain, nodes=[TreeNode(s.clique, s.separator, -1) for s in steps])
    return draw_records(tree, [Factor(domain.project(s.clique), s.table) for s in steps], rows, seed)


def chain(rng, sizes, width, *, concentration=1.0, sticky=0.0):
    """Beliefs of a Markov chain of order width - 1; with probability `sticky` it repeats an earlier value."""
    current = rng.dirichlet(np.full(int(np.prod(sizes[: width - 1])), concentration)).reshape(sizes[: width - 1])
    tables = []
    for size in sizes[width - 1 :]:
        conditional = rng.dirichlet(np.full(size, concentration), size=current.shape)
        copy = np.eye(size)[np.indices(current.shape)[0] % size]
        tables.append(current[..., None] * ((1 - sticky) * conditional + sticky * copy))
        current = tables[-1].sum(axis=0)
    return tables


def chain_steps(tables, width):
    cliques = [tuple(f"x{j}" for j in range(i, i + width)) for i in range(len(tables))]
    return [Step(c, c[:-1] if i else (), t.ravel()) for i, (c, t) in enumerate(zip(cliques, tables, strict=True))]


def counts(domain, records, clique):
    codes = np.zeros(len(next(iter(records.values()))), dtype=np.int64)
    for name in clique:
        codes = codes * domain.size((name,)) + records[name]
    return np.bincount(codes, minlength=domain.size(clique)).reshape(domain.sizes(clique))


def scaled(step, domain, rows):
    table = np.asarray(step.table, dtype=float)
    return (table / table.sum() * rows).reshape(domain.sizes(step.clique))


def sum_to(table, clique, kept):
    return table.sum(axis=tuple(i for i, a in enumerate(clique) if a not in kept))


def assert_pairs_close(domain, steps, rows, records):
    for step in steps:
        expected = scaled(step, domain, rows)
        assert np.abs(counts(domain, records, step.clique) - expected).max(initial=0) < 2
        for name in step.clique:
            one_way = counts(domain, records, (name,))
            assert np.abs(one_way - sum_to(expected, step.clique, (name,))).max() < 1 + 1e-6


def assert_conditionals_close(domain, steps, rows, records):
    for step in steps:
        table = np.asarray(step.table).reshape(domain.sizes(step.clique))
        found = counts(domain, records, step.clique)
        fresh = tuple(i for i, a in enumerate(step.clique) if a not in step.separator)
        if not fresh:
            continue
        n = found.sum(axis=fresh, keepdims=True)
        below = table.sum(axis=fresh, keepdims=True)
        expected = n * np.divide(table, below, out=np.zeros_like(table), where=below > 0)
        assert np.abs(found - expected).max() < 2
        assert not found[table == 0].any()
        assert found.sum() == rows


def independent_records(rng, tables, rows):
    first = tables[0]
    cells = rng.choice(first.size, size=rows, p=first.ravel() / first.sum())
    columns = list(np.unravel_index(cells, first.shape))
    for table in tables[1:]:
        shape = table.shape[:-1]
        flat = table.reshape(-1, table.shape[-1])
        shares = np.cumsum(flat / flat.sum(axis=1, keepdims=True), axis=1)
        group = np.ravel_multi_index(columns[-len(shape) :], shape)
        new = (shares[group] < rng.random(rows)[:, None]).sum(axis=1)
        columns.append(np.minimum(new, table.shape[-1] - 1))
    return {f"x{i}": c for i, c in enumerate(columns)}


def mean_total_variation(domain, steps, rows, records):
    distances = [np.abs(counts(domain, records, s.clique) - scaled(s, domain, rows)).sum() / (2 * rows) for s in steps]
    return np.mean(distances)


@st.composite
def random_trees(draw, largest_clique=2):
    """A junction forest with random tables that agree on separators; zeros only where they are harmless."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=8))
    domain = Domain([f"x{i}" for i in range(len(sizes))], sizes)
    order = rng.permutation(len(sizes))
    cliques, tables, steps = [], [], []
    for i in order:
        name = f"x{i}"
        separator, mass = (), np.ones(())
        if cliques and draw(st.booleans()):
            parent = rng.integers(len(cliques))
            keep = rng.permutation(len(cliques[parent]))[: draw(st.integers(1, largest_clique - 1))]
            separator = domain.canonical([cliques[parent][j] for j in keep])
            mass = sum_to(tables[parent], cliques[parent], separator)
        clique = domain.canonical((*separator, name))
        conditional = rng.dirichlet(np.full(domain.size((name,)), draw(st.sampled_from([0.1, 1.0]))), mass.shape)
        conditional = (conditional + 1e-12) / (conditional + 1e-12).sum(axis=-1, keepdims=True)
        table = np.moveaxis(mass[..., None] * conditional, -1, clique.index(name))
        cliques.append(clique)
        tables.append(table)
        steps.append(Step(clique, separator, 3.7 * table.ravel()))
    return domain, steps


@given(random_trees(), st.integers(0, 300), st.integers(0, 2**63))
def test_pair_trees_stay_within_two_records(tree, rows, seed):
    domain, steps = tree
    records = draw(domain, steps, rows, seed)
    assert all(c.shape == (rows,) for c in records.values())
    assert tuple(records) == domain.attributes
    assert_pairs_close(domain, steps, rows, records)
    assert_conditionals_close(domain, steps, rows, records)


@given(random_trees(largest_clique=4), st.integers(0, 300), st.integers(0, 2**63))
def test_larger_cliques_stay_within_two_records_given_their_separator(tree, rows, seed):
    domain, steps = tree
    assert_conditionals_close(domain, steps, rows, draw(domain, steps, rows, seed))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("sizes", "width"), [([2] * 12, 2), (MEASURED_SIZES, 2), ([2] * 12, 3), ([7] * 8, 3), ([3] * 8, 4)]
)
@pytest.mark.parametrize(("concentration", "sticky"), [(1.0, 0.0), (0.2, 0.0), (1.0, 0.99), (1.0, 1.0 - 1e-9)])
def test_chains(sizes, width, concentration, sticky, seed):
    rng = np.random.default_rng(seed)
    domain = Domain([f"x{i}" for i in range(len(sizes))], sizes)
    steps = chain_steps(chain(rng, sizes, width, concentration=concentration, sticky=sticky), width)
    rows = 5_003
    records = draw(domain, steps, rows, seed)
    assert_conditionals_close(domain, steps, rows, records)
    if width == 2 and sticky < 1 - 1e-6:
        assert_pairs_close(domain, steps, rows, records)


def test_root_pair_and_star_are_within_two_records():
    rng = np.random.default_rng(5)
    domain = Domain({"a": 11, "b": 13, "c": 4, "d": 6})
    root = rng.dirichlet(np.full(143, 0.3)).reshape(11, 13)
    given_a = rng.dirichlet(np.ones(4), 11) * root.sum(1)[:, None]
    given_b = rng.dirichlet(np.ones(6), 13) * root.sum(0)[:, None]
    steps = [
        Step(("a", "b"), (), root.ravel()),
        Step(("a", "c"), ("a",), given_a.ravel()),
        Step(("b", "d"), ("b",), given_b.ravel()),
    ]
    for seed in range(20):
        assert_pairs_close(domain, steps, 777, draw(domain, steps, 777, seed))


def test_no_drift_along_a_chain_of_triples():
    rng = np.random.default_rng(2)
    tables = chain(rng, [4] * 60, 3, sticky=0.95)
    domain = Domain([f"x{i}" for i in range(60)], [4] * 60)
    steps = chain_steps(tables, 3)
    records = draw(domain, steps, 6_400, 0)
    worst = max(np.abs(counts(domain, records, s.clique) - scaled(s, domain, 6_400)).max() for s in steps)
    assert worst < 4


@pytest.mark.parametrize(
    ("sizes", "width", "concentration", "sticky"),
    [
        ([2] * 20, 2, 1.0, 0.0),
        ([10] * 10, 2, 1.0, 0.0),
        ([10] * 10, 2, 0.3, 0.0),
        ([10] * 10, 2, 1.0, 0.99),
        ([2] * 30, 3, 1.0, 0.99),
        ([6] * 10, 3, 1.0, 0.0),
        ([6] * 10, 3, 0.3, 0.0),
        ([6] * 20, 3, 1.0, 0.99),
    ],
)
def test_a_quarter_of_the_error_of_independent_sampling(sizes, width, concentration, sticky):
    mine, peer = 0.0, 0.0
    domain = Domain([f"x{i}" for i in range(len(sizes))], sizes)
    rows = 10 * sizes[0] ** width
    for seed in range(5):
        rng = np.random.default_rng(seed)
        tables = chain(rng, sizes, width, concentration=concentration, sticky=sticky)
        steps = chain_steps(tables, width)
        mine += mean_total_variation(domain, steps, rows, draw(domain, steps, rows, seed))
        peer += mean_total_variation(domain, steps, rows, independent_records(rng, tables, rows))
    assert mine <= peer / 4


def joint_pair(tables, first, second):
    """Exact marginal of two attributes of a chain of pairs, first < second."""
    out = tables[first]
    for table in tables[first + 1 : second]:
        out = out @ (table / table.sum(axis=1, keepdims=True))
    return out


def test_pairs_outside_the_cliques_are_as_good_as_independent_sampling():
    mine, peer = [], []
    domain = Domain([f"x{i}" for i in range(8)], [5] * 8)
    rows = 2_000
    for seed in range(12):
        rng = np.random.default_rng(seed)
        tables = chain(rng, [5] * 8, 2, concentration=0.5)
        records = draw(domain, chain_steps(tables, 2), rows, seed)
        peers = independent_records(rng, tables, rows)
        for i in range(8):
            for j in range(i + 2, 8):
                exact = rows * joint_pair(tables, i, j)
                mine.append(np.abs(counts(domain, records, (f"x{i}", f"x{j}")) - exact).sum())
                peer.append(np.abs(counts(domain, peers, (f"x{i}", f"x{j}")) - exact).sum())
    assert np.mean(mine) <= 1.05 * np.mean(peer)


def test_attributes_are_independent_given_the_separator():
    """Chi-square of a product of two binary attributes: one degree of freedom, 400 runs."""
    domain = Domain({"a": 2, "b": 2})
    steps = [Step(("a",), (), [1, 1]), Step(("b",), (), [1, 1])]
    rows = 100
    hits = np.array([counts(domain, draw(domain, steps, rows, s), ("a", "b"))[0, 0] for s in range(400)])
    hypergeometric_variance = rows / 16 * rows / (rows - 1)
    assert abs(hits.mean() - 25) < 4 * np.sqrt(hypergeometric_variance / 400)
    assert 0.7 < hits.var() / hypergeometric_variance < 1.35


def test_the_order_of_records_says_nothing():
    domain = Domain({"a": 3, "b": 4})
    table = np.random.default_rng(0).dirichlet(np.ones(12))
    firsts = np.zeros(12)
    for seed in range(3_000):
        records = draw(domain, [Step(("a", "b"), (), table)], 20, seed)
        firsts[4 * records["a"][0] + records["b"][0]] += 1
    expected = 3_000 * table
    assert ((firsts - expected) ** 2 / expected).sum() < 31.3  # 0.999 quantile of chi-square, 11 degrees


@pytest.mark.parametrize("width", [2, 3])
def test_expected_counts_are_the_model_s(width):
    rng = np.random.default_rng(3)
    sizes = [3, 4, 2, 5, 3]
    tables = chain(rng, sizes, width, concentration=0.5)
    domain = Domain([f"x{i}" for i in range(5)], sizes)
    steps = chain_steps(tables, width)
    runs, rows = 3_000, 37
    sums = [np.zeros(domain.sizes(s.clique)) for s in steps]
    for seed in range(runs):
        records = draw(domain, steps, rows, seed)
        for i, step in enumerate(steps):
            sums[i] += counts(domain, records, step.clique)
    for total, step in zip(sums, steps, strict=True):
        # Repairing row sums biases a count by some hundredths of a record; 0.03 is the noise of 3,000 runs.
        assert np.abs(total / runs - scaled(step, domain, rows)).max() < 0.12


def test_structural_zeros_stay_zero_even_where_they_break_the_margins():
    # b is a function of a: its counts are sums of those of a, whatever they are.
    domain = Domain({"a": 101, "b": 2, "c": 3})
    pair = np.zeros((101, 2))
    pair[np.arange(101), np.arange(101) % 2] = 1 / 101
    triple = np.random.default_rng(0).dirichlet(np.ones(3), 2) * pair.sum(0)[:, None]
    steps = [Step(("a",), (), pair.sum(1)), Step(("a", "b"), ("a",), pair), Step(("b", "c"), ("b",), triple)]
    for seed in range(10):
        records = draw(domain, steps, 50, seed)
        assert_conditionals_close(domain, steps, 50, records)
        assert (records["a"] % 2 == records["b"]).all()


def test_chains_of_moves_keep_margins_where_zeros_block_direct_moves():
    # A band matrix: rows far apart share no column, but a chain of rows connects them.
    size = 40
    band = np.abs(np.subtract.outer(np.arange(size), np.arange(size))) <= 1
    domain = Domain({"a": size, "b": size})
    for seed in range(20):
        rng = np.random.default_rng(seed)
        table = np.where(band, rng.gamma(1.0, size=band.shape) + 0.2, 0)
        steps = [Step(("a",), (), table.sum(1)), Step(("a", "b"), ("a",), table)]
        records = draw(domain, steps, 1_000, seed)
        assert_pairs_close(domain, steps, 1_000, records)
        assert not counts(domain, records, ("a", "b"))[~band].any()


def test_codes_have_the_smallest_type():
    domain = Domain({"a": 128, "b": 129, "c": 32_768, "d": 32_769, "one": 1})
    steps = [Step((n,), (), np.ones(s)) for n, s in zip(domain.attributes, domain.shape, strict=True)]
    records = draw(domain, steps, 40_000, 0)
    assert [c.dtype.name for c in records.values()] == ["int8", "int16", "int16", "int32", "int8"]
    assert records["d"].max() == 32_768
    assert (records["one"] == 0).all()
    assert np.unique(records["c"]).size == 32_768


def test_huge_attribute_and_many_attributes():
    domain = Domain({"id": 2_000_000} | {f"x{i}": 2 for i in range(40)})
    steps = [Step(("id",), (), np.ones(2_000_000))]
    cliques = [(f"x{i}", f"x{i + 1}") for i in range(39)]
    steps += [Step(c, c[:1] if i else (), [4, 1, 1, 4]) for i, c in enumerate(cliques)]
    records = draw(domain, steps, 1_000, 0)
    assert len(records) == 41
    assert np.unique(records["id"]).size == 1_000
    for i in range(39):
        assert np.abs(counts(domain, records, (f"x{i}", f"x{i + 1}")) - [[400, 100], [100, 400]]).max() < 2


def test_no_limit_on_the_attributes_of_a_clique():
    domain = Domain({f"x{i}": 1 for i in range(70)} | {"a": 3, "b": 2})
    table = np.array([1.0, 2, 3, 4, 5, 6])
    records = draw(domain, [Step(domain.attributes, (), table)], 210, 0)
    assert counts(domain, records, ("a", "b")).ravel().tolist() == [10, 20, 30, 40, 50, 60]
    separator = domain.attributes[:-1]
    steps = [Step(separator, (), [3, 7, 11]), Step(domain.attributes, separator, table)]
    assert counts(domain, draw(domain, steps, 210, 0), ("a", "b")).ravel().tolist() == [10, 20, 30, 40, 50, 60]


def test_sparse_separators_cost_only_the_rows_in_use():
    rng = np.random.default_rng(0)
    domain = Domain({"a": 100, "b": 100, "c": 20, "d": 3})
    table = rng.gamma(0.3, size=(100, 100, 20))
    last = rng.dirichlet(np.ones(3), (100, 20)) * table.sum(0)[..., None]
    steps = [
        Step(("a", "b"), (), table.sum(2)),
        Step(("a", "b", "c"), ("a", "b"), table),
        Step(("b", "c", "d"), ("b", "c"), last),
    ]
    records = draw(domain, steps, 500, 0)
    for step in steps:
        given_s = tuple(i for i, a in enumerate(step.clique) if a not in step.separator)
        found, wanted = counts(domain, records, step.clique), np.asarray(step.table)
        expected = found.sum(axis=given_s, keepdims=True) * wanted / wanted.sum(axis=given_s, keepdims=True)
        limit = 1 + 1e-6 if step.clique == ("a", "b", "c") else 2
        assert np.abs(found - expected).max() < limit


def test_no_rows_and_no_attributes():
    domain = Domain({"a": 2, "b": 3})
    records = draw(domain, [Step(("a", "b"), (), np.ones(6))], 0, 0)
    assert [c.shape for c in records.values()] == [(0,), (0,)]
    assert draw_records(JunctionTree(Domain({}), []), [Factor(Domain({}), [2.0])], 5, 0) == {}


def test_the_seed_alone_decides():
    domain = Domain({"a": 5, "b": 7})
    steps = [Step(("a", "b"), (), np.random.default_rng(0).random(35))]
    one = draw(domain, steps, 100, 7)
    same = draw(domain, steps, 100, np.random.default_rng(7))
    other = draw(domain, steps, 100, 8)
    assert all((one[n] == same[n]).all() for n in one)
    assert any((one[n] != other[n]).any() for n in one)
    fresh = [draw(domain, steps, 100) for _ in range(2)]
    assert any((fresh[0][n] != fresh[1][n]).any() for n in one)


@pytest.mark.parametrize("n_threads", [2, 5])
def test_records_are_the_same_on_any_number_of_threads(n_threads):
    domain = Domain({"a": 3, "b": 200, "c": 4, "d": 2})
    tree = JunctionTree(domain, [("a", "b"), ("b", "c", "d")])
    joint = Factor(domain, np.random.default_rng(0).random(domain.size()))
    tables = [joint.project(node.clique) for node in tree.nodes]
    for rows in (0, 1, 40_000, 200_001):
        one, more = (draw_records(tree, tables, rows, 1, clock=Clock(n_threads=n)) for n in (1, n_threads))
        assert all(np.array_equal(one[a], more[a]) and len(one[a]) == rows for a in domain)


def test_other_threads_run_while_records_are_drawn():
    sampler, table = _core.RecordSampler(300_000, 1, 0), np.ones(1_000)
    assert lets_others_in(lambda: sampler.draw(table, [0], [1_000], [0], [0]))


AB = Domain({"a": 2, "b": 2})
ONES = np.ones(4)


@pytest.mark.parametrize(
    ("steps", "rows", "error", "match"),
    [
        ([Step(("a", "b"), (), ONES)], 2**31, ValueError, "at most 2147483647 records"),
        ([Step(("a", "b"), (), [1, -1, 1, 1])], 1, ValueError, "least entry -1"),
        ([Step(("a", "b"), (), [1, np.nan, 1, 1])], 1, ValueError, "finite entries"),
        ([Step(("a", "b"), (), [1, np.inf, 1, 1])], 1, ValueError, "sum inf"),
        ([Step(("a", "b"), (), [1e308, 1e308, 1, 1])], 1, ValueError, "sum inf"),
        ([Step(("a", "b"), (), np.zeros(4))], 1, ValueError, "positive, finite sum"),
        ([Step(("a",), (), [1, 1]), Step(("a", "b"), ("a",), [0, 0, 1, 1])], 9, ValueError, "clique .* probability 0"),
    ],
)
def test_refusals(steps, rows, error, match):
    with pytest.raises(error, match=match):
        draw(AB, steps, rows, 0)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (([0], [2, 2], [0], [0]), "sizes must hold 1"),
        (([0], [2], [0, 0], [0]), "in_separator must hold 1"),
        (([0], [2], [0], []), "in_margin must hold 1"),
        (([0], [0], [0], [0]), "at least one entry"),
        (([1], [2], [0], [0]), "attribute 1 is out of range"),
        (([0], [2], [1], [0]), "has not been drawn"),
        (([0], [3], [0], [0]), "table must hold 3 entries, got 2"),
    ],
)
def test_the_binding_checks_shapes(arguments, match):
    with pytest.raises(ValueError, match=match):
        _core.RecordSampler(3, 1, 0).draw(np.ones(2), *arguments)
    with pytest.raises(ValueError, match="attribute 1 is out of range"):
        _core.RecordSampler(3, 1, 0).take_column(1)


def test_pairs_that_no_clique_holds_stay_near_the_model():
    domain = pypgm.Domain(dict.fromkeys("abcd", 20))
    own, outside = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")], [("a", "c"), ("b", "d")]
    model = pypgm.GraphicalModel(
        pypgm.CliqueVector(domain, own, np.random.default_rng(0).normal(0, 2, 1600)), total=400.0
    )

    def distance(columns, pairs):
        data = pypgm.Dataset(columns, domain)
        return sum(np.abs(data.project(p).values - model.project(p).values).sum() for p in pairs)

    drawn = draw_records(model.tree, model.tree.tables(model.potentials, 400.0), 400, rng=1)
    index = RegionIndex(pypgm.CliqueVector.from_factors(domain, model.project_many(own)), 400.0)
    alone = refined_records(drawn, index, 400, np.random.default_rng(1), Clock())
    refined = model.synthetic_data(rng=1).columns
    assert distance(refined, outside) < 0.9 * distance(alone, outside)
    assert distance(refined, own) < 1.02 * distance(alone, own)


def test_few_records_of_a_large_clique_are_refined():
    """A cycle of pairs has cliques of three: 20 times as many cells as records, and its pairs come out right."""
    names = ("a", "b", "c", "d")
    domain = pypgm.Domain(dict.fromkeys(names, 20))
    pairs = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]
    draws = np.random.default_rng(0).normal(0, 2, 400 * len(pairs))
    draws[:20] = -np.inf
    model = pypgm.GraphicalModel(pypgm.CliqueVector(domain, pairs, draws), 400.0)

    def distance(columns):
        data = pypgm.Dataset(columns, domain)
        return sum(np.abs(data.project(p).values - model.project(p).values).sum() for p in pairs) / 800

    tables = model.tree.tables(model.potentials, 400.0)
    drawn = draw_records(model.tree, tables, 400, rng=1)
    refined = model.synthetic_data(rng=1)
    assert distance(refined.columns) < 0.6 * distance(drawn)
    assert refined.project(("a", "b")).values[0].sum() == 0
    given = model.synthetic_data(rng=1, evidence={"c": 3})
    assert set(given.columns["c"]) == {3}
    assert given.project(("a", "b")).values[0].sum() == 0


def test_records_that_do_not_fit_are_refused_before_they_are_drawn():
    tree = JunctionTree(Domain({f"x{i}": 2 for i in range(1000)}), [])
    with pytest.raises(pypgm.ModelTooLargeError, match="2000000000 records of 1000 attributes"):
        draw_records(tree, [Factor(tree.domain.project(n.clique), [1.0, 1.0]) for n in tree.nodes], 2_000_000_000, 0)


def test_records_are_refined_once_and_not_much_nearer_than_noise_leaves_the_model(monkeypatch):
    """One call of the core for all that records are refined towards, which may leave a part of what noise leaves."""
    domain = pypgm.Domain(dict.fromkeys("abcd", 6))
    pairs = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]
    rng = np.random.default_rng(0)
    true = pypgm.Dataset({a: rng.binomial(5, 0.3 + 0.1 * i, 4000) for i, a in enumerate("abcd")}, domain)
    core, allowed = _core.refine_records, []

    def counted(columns, sizes, targets, sweeps, enough, *rest, **options):
        allowed.append((len(targets), enough))
        return core(columns, sizes, targets, sweeps, enough, *rest, **options)

    monkeypatch.setattr(_core, "refine_records", counted)
    for stddev in (0.5, 1.0, 1000.0):
        noisy = [pypgm.LinearMeasurement(true.project(p).datavector(), p, stddev) for p in pairs]
        pypgm.estimate(domain, noisy, 4000, oracle="region_graph").synthetic_data(rng=0)
    assert [n for n, _ in allowed] == [6, 6, 6]
    little, more, most = (enough / 6 / 4000 for _, enough in allowed)
    assert 0.001 / 6 < little < 0.8 * more < more < most == pytest.approx(0.01)


@pytest.mark.parametrize(("coarse", "seed"), [(20.0, 0), (20.0, 1), (100.0, 0), (100.0, 1)])
def test_noise_of_coarse_triples_does_not_keep_records_from_pairs(coarse, seed):
    """A chain of near copies, whose pairs are measured well: with triples there is more to follow, however coarse."""
    names, rng, n = "abcdefg", np.random.default_rng(seed), 8000
    columns = [rng.integers(0, 5, n)]
    for _ in names[1:]:
        columns.append(np.where(rng.random(n) < 0.02, rng.integers(0, 5, n), (columns[-1] + 1) % 5))
    domain = pypgm.Domain(dict.fromkeys(names, 5))
    true = pypgm.Dataset(dict(zip(names, columns, strict=True)), domain)
    pairs, triples = (list(itertools.combinations(names, width)) for width in (2, 3))

    def measured(cliques, stddev):
        tables = [true.project(c).datavector() for c in cliques]
        noisy = [table + rng.normal(0, stddev, table.size) for table in tables]
        return [pypgm.LinearMeasurement(v, c, stddev) for v, c in zip(noisy, cliques, strict=True)]

    def distance(measurements):
        model = pypgm.estimate(domain, measurements, n, oracle="region_graph")
        records, wanted = model.synthetic_data(rng=seed), model.project_many(pairs)
        return sum(np.abs(records.project(p).values - t.values).sum() for p, t in zip(pairs, wanted, strict=True))

    of_pairs = measured(pairs, 4.0)
    assert distance([*of_pairs, *measured(triples, coarse)]) < 0.65 * distance(of_pairs)


def test_records_given_evidence_look_at_no_other_pairs(monkeypatch):
    domain = pypgm.Domain({f"x{i}": 2 for i in range(200)})
    cliques = [(f"x{i}", f"x{i + 1}") for i in range(199)]
    monkeypatch.setattr(Domain, "__iter__", None)  # what all pairs come from
    assert stages(domain, cliques, alone=True, noisy=True) == [cliques]


def test_a_value_that_counts_lack_is_found_among_many():
    """Of 500 values one is lacking: half of the records take it in one sweep, which four random draws hardly do."""
    columns, target = [np.zeros(1000, np.int32)], np.zeros(500)
    target[[0, 321]] = 500
    [refined], distance = _core.refine_records(columns, [500], [([0], target)], 1, 0.0, 0)
    assert np.bincount(refined)[321] == 500
    assert distance == 0
    [unchanged], left = _core.refine_records(columns, [500], [([0], target)], 1, 1000.0, 0)
    assert left == 1000
    assert (unchanged == 0).all()


def test_records_of_an_empty_table():
    domain, pairs = pypgm.Domain(["a", "b", "c"], [3, 3, 3]), [("a", "b"), ("b", "c"), ("a", "c")]
    model = pypgm.estimate(domain, [pypgm.LinearMeasurement(np.zeros(9), pair, 1.0) for pair in pairs], 0)
    assert len(model.synthetic_data(5, 0)) == 5
