"""Records in blocks: the counts of one rounding, whatever the blocks, and each block by itself."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from random_models import models

import pypgm
from pypgm import _core
from pypgm._base.clock import Clock
from pypgm.models.record_blocks import RecordBlocks
from pypgm.models.sampling import draw_records

WIDE = [("a", "b", "c"), ("b", "c", "d"), ("d", "e"), ("f",)]


def tree_of(potentials):
    model = pypgm.GraphicalModel(potentials, total=1.0)
    return model.tree, model._drawn_from(1, None, Clock())[1]


@st.composite
def trees(draw):
    potentials = draw(models(least=1, most=5))
    try:
        return tree_of(potentials)
    except ValueError:  # no record is possible
        return reject()


def wide_model(seed=0):
    domain = pypgm.Domain({"a": 7, "b": 5, "c": 9, "d": 4, "e": 3, "f": 2})
    potentials = pypgm.CliqueVector(domain, WIDE)
    potentials.values[:] = np.random.default_rng(seed).normal(size=potentials.values.size)
    return pypgm.GraphicalModel(potentials, total=1000.0)


def joined(blocks):
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def counts(domain, records, clique):
    return pypgm.Dataset(records, domain).project(clique).values


@given(trees(), st.integers(1, 400), st.integers(1, 60), st.integers(0, 2**63 - 1))
def test_any_block_is_drawn_by_itself(drawn_from, rows, size, seed):
    tree, tables = drawn_from
    blocks = RecordBlocks(tree, tables, rows, seed, size=size)
    drawn = [records for records, _ in blocks.drawn()]
    assert [len(next(iter(block.values()))) for block in drawn] == [
        min(size, rows - start) for start in range(0, rows, size)
    ]
    again = RecordBlocks(tree, tables, rows, seed, size=size)
    for first in {0, len(drawn) // 2, len(drawn) - 1}:
        for last in {first, first + 1, len(drawn)}:
            some = [records for records, _ in again.drawn(first, last)]
            assert len(some) == last - first
            for block, same in zip(drawn[first:last], some, strict=True):
                assert all(np.array_equal(block[name], same[name]) for name in block)


@given(trees(), st.integers(1, 400), st.integers(1, 60), st.integers(0, 2**63 - 1))
def test_counts_of_all_blocks_do_not_depend_on_their_size(drawn_from, rows, size, seed):
    tree, tables = drawn_from
    whole = joined([block for block, _ in RecordBlocks(tree, tables, rows, seed, size=rows).drawn()])
    parts = joined([block for block, _ in RecordBlocks(tree, tables, rows, seed, size=size).drawn()])
    for node in tree.nodes:
        domain = tree.domain
        assert np.array_equal(counts(domain, whole, node.clique), counts(domain, parts, node.clique))


@given(trees(), st.integers(1, 400), st.integers(1, 60), st.integers(0, 2**63 - 1))
def test_structural_zeros_have_no_record(drawn_from, rows, size, seed):
    tree, tables = drawn_from
    for block, _ in RecordBlocks(tree, tables, rows, seed, size=size).drawn():
        for node, table in zip(tree.nodes, tables, strict=True):
            there = counts(tree.domain, block, node.clique)
            assert not there[table.transpose(node.clique).values == 0].any()


def distance(model, records, clique):
    shares = model.project(clique).values / model.total
    found = counts(model.domain, records, clique)
    return np.abs(found / found.sum() - shares).sum() / 2


@pytest.mark.parametrize("seed", range(4))
def test_all_blocks_are_as_near_to_the_model_as_one_draw(seed):
    model, rows = wide_model(seed), 20_000
    tree, tables = tree_of(model.potentials)
    one = [draw_records(tree, tables, rows, 10 * seed + k) for k in range(5)]
    parts = [
        joined([block for block, _ in RecordBlocks(tree, tables, rows, 10 * seed + k, size=150).drawn()])
        for k in range(5)
    ]
    apart = [joined([draw_records(tree, tables, 160, 1000 * seed + k) for k in range(125)])]
    for clique in WIDE:
        of_one = np.mean([distance(model, records, clique) for records in one])
        of_parts = np.mean([distance(model, records, clique) for records in parts])
        assert of_parts <= 1.15 * of_one + 0.5 / rows
        if clique == WIDE[0]:
            assert distance(model, apart[0], clique) > 4 * of_parts


@pytest.mark.parametrize("seed", range(4))
def test_a_block_is_nearer_to_the_model_than_independent_records(seed):
    model, size = wide_model(seed), 500
    tree, tables = tree_of(model.potentials)
    alone = [model.synthetic_data(size, k, method="independent").columns for k in range(40)]
    blocks = [block for block, _ in RecordBlocks(tree, tables, 40 * size, seed, size=size).drawn()]
    for clique in WIDE[1:]:  # the first has so many cells that whole records miss them by as much
        of_blocks = np.mean([distance(model, block, clique) for block in blocks])
        assert of_blocks < 0.7 * np.mean([distance(model, records, clique) for records in alone])


def test_expected_counts_of_a_cell_are_those_of_the_model():
    """A cell far below one record has it now and then, in any block."""
    model, found = wide_model(), 0.0
    tree, tables = tree_of(model.potentials)
    for seed in range(300):
        found = found + counts(
            model.domain, next(RecordBlocks(tree, tables, 90, seed, size=30).drawn(1, 2))[0], WIDE[1]
        )
    shares = model.project(WIDE[1]).values / model.total
    error = np.abs(found / (300 * 30) - shares)
    assert (error < 5 * np.sqrt(shares / (300 * 30)) + 1e-3).all()


def test_new_attributes_are_independent_given_the_separator():
    """The order in which values are dealt is random: pairs that no clique has are as the model has them."""
    model, rows = wide_model(), 60_000
    tree, tables = tree_of(model.potentials)
    records = joined([block for block, _ in RecordBlocks(tree, tables, rows, 0, size=1000).drawn()])
    for pair in [("a", "d"), ("a", "e"), ("a", "f"), ("c", "e"), ("d", "f")]:
        cells = model.project(pair).values.size
        assert distance(model, records, pair) < 1.5 * math.sqrt(cells / rows)


def test_blocks_of_a_model_have_its_evidence():
    model = wide_model()
    blocks = [data for data, _ in model.blocks(1000, 0, evidence={"b": 2}, size=300)(0, 4)]
    assert [len(data) for data in blocks] == [300, 300, 300, 100]
    assert all((data.columns["b"] == 2).all() for data in blocks)


def test_no_records_at_all():
    tree, tables = tree_of(wide_model().potentials)
    assert list(RecordBlocks(tree, tables, 0, 0).drawn()) == []


@pytest.mark.parametrize(
    ("cells", "counted", "message"),
    [
        ([0, 1], [2, 2], "differ from the records"),
        ([0], [2**31 - 1], "differ from the records"),
        ([1, 0], [2, 3], "ascend"),
        ([0, 6], [2, 3], "ascend"),
        ([-1, 0], [2, 3], "ascend"),
        ([0, 1], [5, 0], "above 0"),
        ([0], [2, 3], "counts"),
    ],
)
def test_counts_that_are_not_those_of_the_records(cells, counted, message):
    sampler = _core.RecordSampler(5, 2, 0)
    with pytest.raises(ValueError, match=message):
        sampler.deal(np.array(cells), np.array(counted, np.int32), [0, 1], [2, 3], [0, 0])
    sampler.deal(np.array([0, 5]), np.array([2, 3], np.int32), [0, 1], [2, 3], [0, 0])
    assert sorted(sampler.take_column(1)) == [0, 0, 2, 2, 2]


@pytest.mark.parametrize(
    ("present", "message"), [([-1], "at least 0"), ([2**31], "in all"), ([1, 1], "present"), ([], "present")]
)
def test_records_of_separators_that_are_none(present, message):
    with pytest.raises(ValueError, match=message):
        _core.draw_counts(np.ones(6), [2, 3], [0, 0], [1, 0], np.array(present, dtype=np.int64), 0)


def test_refined_blocks_are_about_as_near_to_the_model_as_one_refined_draw():
    """Of a model whose noise is known, as a release has it."""
    rng = np.random.default_rng(0)
    hidden, names = rng.integers(0, 4, 4000), "abcdefg"
    columns = {name: (hidden + rng.integers(0, 3, 4000)) % 6 for name in names}
    data = pypgm.Dataset(columns, pypgm.Domain(dict.fromkeys(names, 6)))
    pairs = list(itertools.combinations(names, 2))
    table = pypgm.PrivateTable(data, "replace", pypgm.Ledger(pypgm.Budget(rho=1)), unsafe_seed=0)
    measured = [table.measure(pair, rho=Fraction(1, len(pairs))) for pair in pairs]
    model = pypgm.estimate(data.domain, measured, oracle="region_graph")
    rows = 40_000
    one = model.synthetic_data(rows, 0).columns
    blocks = joined([block.data.columns for block in model.blocks(rows, 0, size=4000)(0, 10)])
    of_one, of_blocks = (np.mean([distance(model, records, pair) for pair in pairs]) for records in (one, blocks))
    tree, tables, _ = model._drawn_from(rows, None, Clock())
    unrefined = joined([records for records, _ in RecordBlocks(tree, tables, rows, 0).drawn()])
    assert of_blocks < 1.3 * of_one
    assert of_blocks < 0.8 * np.mean([distance(model, unrefined, pair) for pair in pairs])
