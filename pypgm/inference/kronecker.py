"""Kronecker queries of a model: products of blocks, contracted attribute by attribute."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm._base.clock import Clock
from pypgm._base.terminal import escaped
from pypgm.errors import ConditionWarning
from pypgm.inference.calibrated import Ask, Calibrated
from pypgm.inference.contraction import check_answers, run_contraction
from pypgm.inference.folding import Folding
from pypgm.queries import KroneckerQuery, LinearQuery

_DENSE_ENTRIES = 1 << 22  # a block with more is applied to the answer, not to the tables
_CHUNK_CELLS = 1 << 22  # of an answer between two looks at the clock
_TABLES = 2  # beside an answer, while blocks are applied to it
_MOST_AXES = 32  # that every NumPy supported takes
_CONDITION = 1e8  # eight of sixteen digits are gone


def answer_queries(
    calibrated: Calibrated, folding: Folding, queries: Sequence[KroneckerQuery], clock: Clock
) -> list[NDArray[np.float64]]:
    """Return the answers of a calibrated tree to Kronecker queries, in counts.

    A block with fewer rows than its attribute has values is applied as soon as its attribute leaves the tree, another
    one to the answer. Attributes that are summed over, and cliques between no two attributes of a query, are not
    touched; queries share the messages they have in common. Blocks of either sign are contracted as they are; where
    the magnitudes add up to more than 1e8 times an answer, a warning says so.

    Parameters
    ----------
    calibrated : Calibrated
        The tree, over inner attributes.
    folding : Folding
        The attributes that follow from these.
    queries : sequence of KroneckerQuery
        Queries on any attributes; checked.
    clock : Clock
        Shows the run, and ends it with ``TimeoutError`` once its time is over.

    Returns
    -------
    list of ndarray
        Tensor of the shape of each query.

    Warns
    -----
    ConditionWarning
        If cancellation has taken 8 or more digits of an answer.

    Raises
    ------
    ModelTooLargeError
        If a table does not fit.
    OverflowError
        If terms of either sign are beyond doubles; where all have one sign the answer is inf.
    ValueError
        If a query is on more attributes than a tensor may have axes.
    """
    widest = max([len(q.blocks) for q in queries], default=0)
    if widest > _MOST_AXES:
        raise ValueError(f"an answer has an axis for each attribute, {_MOST_AXES} at most, got a query on {widest}")
    check_answers([q.shape for q in queries], beside=_TABLES)
    inner = [folding.query(q) for q in queries]
    answers = _answers(calibrated, inner, clock)
    if sum([np.count_nonzero(np.isnan(answer)) for answer in answers]):
        raise OverflowError("terms of an answer are beyond 1.8e308, some of either sign: ask for the parts")
    mixed = [i for i, q in enumerate(inner) if not all(b.is_non_negative for b in q.blocks.values())]
    if mixed:
        absolute = [KroneckerQuery({a: b.magnitudes(1) for a, b in inner[i].blocks.items()}) for i in mixed]
        for i, magnitude in zip(mixed, _answers(calibrated, absolute, clock), strict=True):
            _warn_of_cancellation(queries[i], answers[i], magnitude)
    return [folding.answer(q, answer) for q, answer in zip(queries, answers, strict=True)]


@np.errstate(over="ignore", invalid="ignore")
def _answers(calibrated: Calibrated, queries: Sequence[KroneckerQuery], clock: Clock) -> list[NDArray[np.float64]]:
    """Contract all queries at once."""
    domain = calibrated.domain
    numbers: dict[tuple[int, LinearQuery], int] = {}
    asks: list[Ask] = []
    for query in queries:
        axes = [(domain.index(a), block) for a, block in query.blocks.items() if not _is_total(block)]
        places = [numbers.setdefault((a, b), len(numbers)) if _is_early(b) else -1 for a, b in axes]
        asks.append((tuple(a for a, _ in axes), tuple(places)))
    blocks = [_dense(block) for _, block in numbers]
    flat = calibrated.run(asks, [a for a, _ in numbers], blocks, clock)
    return [_finished(query, cells, clock) for query, cells in zip(queries, flat, strict=True)]


def _finished(query: KroneckerQuery, cells: NDArray[np.float64], clock: Clock) -> NDArray[np.float64]:
    """Apply the blocks that wait for the answer, and give it its shape."""
    late = [not (_is_total(b) or _is_early(b)) for b in query.blocks.values()]
    table = cells.reshape([b.shape[waits] for b, waits in zip(query.blocks.values(), late, strict=True)])
    for axis, block in enumerate(query.blocks.values()):
        if late[axis] and not block.is_identity:
            table = _apply(block, table, axis, clock)
    return np.asarray(table, order="C")


def _apply(block: LinearQuery, table: NDArray[np.float64], axis: int, clock: Clock) -> NDArray[np.float64]:
    """Apply a block to an axis of a table."""
    rows, cells = block.shape
    before, after = table.shape[:axis], table.shape[axis + 1 :]
    if 2 * block.cost <= rows * cells:
        step = max(1, _CHUNK_CELLS // (rows * math.prod(after)))
        if math.prod(before) <= step:
            return block.apply(table, axis)
        parts = table.reshape(-1, cells, *after)
        answers = np.empty((len(parts), rows, *after))
        for i in range(0, len(parts), step):
            clock.check(partial("{}/{} tables of {} answers".format, i, len(parts), rows))
            answers[i : i + step] = block.apply(parts[i : i + step], 1)
        return answers.reshape(*before, rows, *after)
    sizes = (math.prod(before), cells, math.prod(after), rows)
    plan = _core.plan_elimination(sizes, [((0, 1, 2), False), ((3, 1), False)], (0, 3, 2))
    tables = [np.ascontiguousarray(table).reshape(-1), _dense(block).reshape(-1)]
    return run_contraction(plan, tables, clock)[0].reshape(*before, rows, *after)


def _is_total(block: LinearQuery) -> bool:
    return block.shape[0] == 1 and block.groups is not None


def _is_early(block: LinearQuery) -> bool:
    rows, cells = block.shape
    return rows < cells and rows * cells <= _DENSE_ENTRIES


def _dense(block: LinearQuery) -> NDArray[np.float64]:
    return np.asarray(block.to_sparse().toarray(), dtype=np.float64)


def _warn_of_cancellation(query: KroneckerQuery, answer: NDArray[np.float64], magnitude: NDArray[np.float64]) -> None:
    lost = magnitude > _CONDITION * np.abs(answer)
    if lost.any():
        with np.errstate(divide="ignore"):
            worst = float(np.max(magnitude[lost] / np.abs(answer[lost])))
        warnings.warn(
            f"terms of opposite sign cancel in {int(lost.sum())} of {answer.size} answers to a query on "
            f"{escaped(', '.join(query.attributes))}: they add up in magnitude to {worst:.3g} times the answer, of "
            "whose 16 digits as many are lost; centre the levels, or ask for the parts",
            ConditionWarning,
            stacklevel=4,
        )
