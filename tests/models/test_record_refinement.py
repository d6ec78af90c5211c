"""Records refined by the core: counts by brute force, structural zeros, and the same bits for any threads and types."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypgm import _core


def counts(columns, sizes, attributes):
    shape = [sizes[a] for a in attributes]
    cells = np.ravel_multi_index([columns[a].astype(np.int64) for a in attributes], shape)
    return np.bincount(cells, minlength=int(np.prod(shape))).astype(float)


def distance(columns, sizes, targets):
    return sum(np.abs(counts(columns, sizes, a) - values).sum() for a, values in targets)


def loss(columns, sizes, targets):
    return sum(((counts(columns, sizes, a) - values) ** 2).sum() for a, values in targets)


def cell(columns, sizes, attributes, row):
    return int(np.ravel_multi_index([int(columns[a][row]) for a in attributes], [sizes[a] for a in attributes]))


def excess(columns, sizes, attributes, values, row):
    """Return by how much the cell of a record holds more records than it should."""
    return (counts(columns, sizes, attributes) - values)[cell(columns, sizes, attributes, row)]


def smallest(columns, sizes):
    return [c.astype(np.min_scalar_type(-n)) for c, n in zip(columns, sizes, strict=True)]


@st.composite
def problems(draw):
    """Records, and targets of one to four attributes: the counts of other records, some of them moved a little."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 5, 17, 40]), min_size=1, max_size=5))
    rows = draw(st.integers(1, 200))
    goal, start = ([rng.integers(0, rng.integers(1, n + 1), rows) for n in sizes] for _ in range(2))
    targets = []
    for _ in range(draw(st.integers(1, 5))):
        width = int(rng.integers(1, min(4, len(sizes)) + 1))
        attributes = sorted(rng.choice(len(sizes), width, replace=False).tolist())
        values = counts(goal, sizes, attributes)
        if rng.random() < 0.5:
            values += rng.random(values.size)
        targets.append((attributes, values))
    return start, sizes, targets


@given(problems(), st.integers(0, 2**64 - 1), st.integers(1, 5))
def test_records_come_nearer_and_never_move_into_structural_zeros(problem, seed, sweeps):
    start, sizes, targets = problem
    refined, left = _core.refine_records(smallest(start, sizes), sizes, targets, sweeps, 0.0, seed)
    assert left == pytest.approx(distance(refined, sizes, targets), rel=1e-5, abs=1e-3)
    zeros = [(a, values == 0) for a, values in targets]
    inside = [(counts(c, sizes, a) * zero).sum() for c in (start, refined) for a, zero in zeros]
    n = len(zeros)
    assert all(after <= before for before, after in zip(inside[:n], inside[n:], strict=True))
    if not any(inside[:n]):
        assert loss(refined, sizes, targets) <= loss(start, sizes, targets) * (1 + 1e-6) + 1e-6


@given(problems(), st.integers(0, 2**64 - 1))
def test_the_type_of_codes_changes_nothing_and_arguments_stay(problem, seed):
    start, sizes, targets = problem
    narrow = smallest(start, sizes)
    before = [c.copy() for c in narrow]
    refined, left = _core.refine_records(narrow, sizes, targets, 3, 0.0, seed)
    wide, same = _core.refine_records([c.astype(np.int32) for c in start], sizes, targets, 3, 0.0, seed)
    assert left == same
    assert [c.dtype for c in refined] == [c.dtype for c in narrow]
    for a, b in zip((*refined, *narrow), (*wide, *before), strict=True):
        np.testing.assert_array_equal(a, b)


@given(problems(), st.integers(0, 2**64 - 1))
def test_after_the_last_sweep_no_record_with_an_excess_has_a_better_value(problem, seed):
    start, sizes, targets = problem
    refined, _ = _core.refine_records(smallest(start, sizes), sizes, targets, 1, 0.0, seed)
    again, _ = _core.refine_records(refined, sizes, targets, 200, 0.0, seed)
    for _ in range(200):
        more, _ = _core.refine_records(again, sizes, targets, 1, 0.0, seed)
        if all((a == b).all() for a, b in zip(more, again, strict=True)):
            break
        again = more
    else:
        pytest.fail("single changes of values have an end: each lowers the loss")
    least = loss(again, sizes, targets)
    for row, a in itertools.product(range(min(5, len(again[0]))), range(len(sizes))):
        own = [(t, values) for t, values in targets if a in t]
        if all(excess(again, sizes, t, values, row) <= 0 for t, values in own):
            continue
        for value in range(sizes[a]):
            moved = [c.copy() for c in again]
            moved[a][row] = value
            zeros = any(values.flat[cell(moved, sizes, t, row)] == 0 for t, values in own)
            assert zeros or loss(moved, sizes, targets) >= least - 1e-2


def many(columns=256, rows=40_000):
    """Return records that are refined in blocks beside each other."""
    rng = np.random.default_rng(0)
    sizes = [3] * columns
    goal = [rng.integers(0, 3, rows) for _ in range(8)]
    goal += [np.where(rng.random(rows) < 0.7, goal[i], rng.integers(0, 3, rows)) for i in range(8)]
    start = [rng.permutation(c) for c in goal]
    start += [np.zeros(rows, np.int64)] * (columns - 16)
    targets = [([i, i + 8], counts(goal, sizes, [i, i + 8])) for i in range(8)]
    return smallest(start, sizes), sizes, targets


def test_blocks_of_records_reach_their_targets_with_any_number_of_threads():
    start, sizes, targets = many()
    far = distance(start, sizes, targets)
    one, left = _core.refine_records(start, sizes, targets, 20, 0.0, 1, n_threads=1)
    assert left == pytest.approx(distance(one, sizes, targets), abs=0.5)
    assert left < 1e-2 * far
    for threads in (2, 3):
        more, same = _core.refine_records(start, sizes, targets, 20, 0.0, 1, n_threads=threads)
        assert same == left
        assert all((a == b).all() for a, b in zip(one, more, strict=True))


@pytest.mark.parametrize("size", [600, 5_000])
def test_a_column_of_many_values_reaches_its_target(size):
    rng = np.random.default_rng(3)
    goal = [rng.integers(0, size, 4_000), rng.integers(0, 4, 4_000)]
    start = [rng.permutation(c) for c in goal]
    sizes = [size, 4]
    targets = [([0, 1], counts(goal, sizes, [0, 1]) + 1e-6)]
    refined, left = _core.refine_records(smallest(start, sizes), sizes, targets, 20, 0.0, 1)
    assert distance(refined, sizes, targets) == pytest.approx(left, abs=1)
    assert left < 0.3 * distance(start, sizes, targets)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2)])
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_columns_that_determine_each_other_move_together(order, noise):
    """Of x and its functions no single value can change where all other values are structural zeros, or rare."""
    rng = np.random.default_rng(1)
    x, z = rng.integers(0, 6, 3_000), rng.integers(0, 3, 3_000)
    goal = [x, x // 2, (x + z) % 6, z]
    start = [0 * x, 0 * x, z, z]
    sizes = [6, 3, 6, 3]
    targets = []
    for named in ([0, 1], [0, 2, 3]):
        attributes = sorted(order.index(a) for a in named)
        values = counts([goal[a] for a in order], [sizes[a] for a in order], attributes)
        targets.append((attributes, values + noise))
    start, sizes = [start[a] for a in order], [sizes[a] for a in order]
    refined, _ = _core.refine_records(smallest(start, sizes), sizes, targets, 20, 0.0, 1)
    assert distance(refined, sizes, targets) < 2e-2 * distance(start, sizes, targets)


SCRIPT = """
import numpy as np
from pypgm import _core
rng = np.random.default_rng(0)
sizes = [2, 5, 17, 40]
columns = [rng.integers(0, n, 3000).astype(np.int8) for n in sizes]
pairs = [(a, b) for a in range(4) for b in range(a)]
targets = [([b, a], 3000 * rng.dirichlet(np.ones(sizes[a] * sizes[b]))) for a, b in pairs]
refined, left = _core.refine_records(columns, sizes, targets, 3, 0.0, 1)
print([int((c.astype(np.int64) * np.arange(3000)).sum()) for c in refined], left.hex())
"""


def test_every_instruction_set_gives_the_same_bits(tmp_path):
    best = _core.build_info()["instruction_set"]
    sets = ["baseline", "avx2", "avx512"]
    printed = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=os.environ | {"PYPGM_ISA": isa},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for isa in sets[: sets.index(best) + 1]
    ]
    assert printed.count(printed[0]) == len(printed)
