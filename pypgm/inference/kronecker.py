"""Kronecker queries of a model: products of blocks, contracted attribute by attribute."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pypgm import _core
from pypgm.errors import ConditionWarning
from pypgm.factor import Factor
from pypgm.inference.calibrated import Ask, Calibrated
from pypgm.inference.contraction import answer_bytes, run_contraction
from pypgm.memory import check_fits
from pypgm.queries import (
    AllRange,
    Identity,
    IntegerMatrix,
    Kronecker,
    KroneckerQuery,
    Partition,
    Prefix,
    RealMatrix,
    SparseMatrix,
    Subset,
    mean,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pypgm.domain import Clique, Domain
    from pypgm.queries import Block

__all__ = ["answer_queries", "expectation"]

_DENSE_ENTRIES = 1 << 22  # a block with more is applied to the answer, not to the tables
_CONDITION = 1e8  # eight of sixteen digits are gone


def answer_queries(
    calibrated: Calibrated,
    queries: Sequence[KroneckerQuery],
    *,
    max_bytes: float | None = None,
    n_threads: int = 0,
) -> list[NDArray[np.float64]]:
    """Return the answers of a calibrated tree to Kronecker queries, in counts.

    A block with fewer rows than its attribute has values is applied as soon as its attribute leaves the tree, another
    one to the answer. Attributes that are summed over, and cliques between no two attributes of a query, are not
    touched; queries share the messages they have in common. Blocks of either sign are contracted as they are; where
    the magnitudes add up to more than 1e8 times an answer, a warning says so.

    Parameters
    ----------
    calibrated : Calibrated
        The tree.
    queries : sequence of KroneckerQuery
        What is asked.
    max_bytes : float, optional
        Memory the tables may take; half of what is available by default.
    n_threads : int
        0 for all threads; the bits of the answers do not depend on it.

    Returns
    -------
    list of ndarray
        For each query a tensor of its shape.

    Warns
    -----
    ConditionWarning
        If cancellation has taken 8 or more digits of an answer.

    Raises
    ------
    ModelTooLargeError
        If a table does not fit.
    ValueError
        If a query does not fit the domain.
    """
    checked = [q.checked(calibrated.domain) for q in queries]
    needed = answer_bytes([q.shape for q in checked])
    check_fits(
        needed, max_bytes, f"the answers ({len(checked)}) need {needed / 8:.3g} cells", "ask for fewer at a time"
    )
    answers = _answers(calibrated, checked, False, max_bytes, n_threads)
    mixed = [i for i, q in enumerate(checked) if any(_has_negative(b) for b in q.blocks.values())]
    if mixed:
        magnitudes = _answers(calibrated, [checked[i] for i in mixed], True, max_bytes, n_threads)
        for i, magnitude in zip(mixed, magnitudes, strict=True):
            _warn_of_cancellation(checked[i], answers[i], magnitude)
    return answers


def expectation(calibrated: Calibrated, attribute: str, given: Clique, levels: ArrayLike | None = None) -> Factor:
    """Return E[attribute | given], nan where 0 / 0; see `GraphicalModel.expectation`."""
    domain = calibrated.domain
    block = mean(_numeric_labels(domain, attribute) if levels is None else levels)
    counts: dict[str, Block] = {a: Identity(domain.size(a)) for a in given}
    domain.indices((attribute, *given))
    # Of positive weights a mean is no worse conditioned than its levels: no warning of cancellation is due.
    queries = [KroneckerQuery({attribute: block, **counts}).checked(domain), KroneckerQuery(counts)]
    sums, records = _answers(calibrated, queries, False, None, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return Factor(domain.project(given), (sums.reshape(records.shape) / records).reshape(-1))


def _numeric_labels(domain: Domain, attribute: str) -> list[float]:
    labels = domain.labels.get(attribute, ()) if attribute in domain else ()
    if not labels or any(isinstance(x, str) for x in labels):
        raise ValueError(f"attribute {attribute!r} has no numeric labels; pass levels=, a number for each value")
    return [float(x) for x in labels]


def _answers(
    calibrated: Calibrated, queries: Sequence[KroneckerQuery], absolute: bool, max_bytes: float | None, n_threads: int
) -> list[NDArray[np.float64]]:
    """Contract all queries at once, with the blocks or with their magnitudes."""
    domain = calibrated.domain
    numbers: dict[tuple[int, Block], int] = {}
    asks: list[Ask] = []
    for query in queries:
        axes = [(domain.index(a), block) for a, block in query.blocks.items() if not _is_total(block)]
        own = [numbers.setdefault((a, b), len(numbers)) if _is_early(b) else -1 for a, b in axes]
        asks.append((tuple(a for a, _ in axes), tuple(own)))
    blocks = [_dense(block, absolute) for _, block in numbers]
    owners = [a for a, _ in numbers]
    flat = calibrated.run(asks, owners, blocks, max_bytes=max_bytes, n_threads=n_threads)
    return [_finished(query, cells, absolute, n_threads) for query, cells in zip(queries, flat, strict=True)]


def _finished(query: KroneckerQuery, cells: NDArray[np.float64], absolute: bool, n_threads: int) -> NDArray[np.float64]:
    """Apply the blocks that wait for the answer, and give it its shape."""
    shape = [1 if _is_total(b) else b.shape[0] if _is_early(b) else b.shape[1] for b in query.blocks.values()]
    for axis, block in enumerate(query.blocks.values()):
        if not (_is_total(block) or _is_early(block) or isinstance(block, Identity)):
            before = int(np.prod(shape[:axis], dtype=np.int64))
            table = cells.reshape(before, block.shape[1], -1)
            cells = _apply(block, table, absolute, n_threads).reshape(-1)
            shape[axis] = block.shape[0]
    return cells.reshape(shape)


def _apply(block: Block, table: NDArray[np.float64], absolute: bool, n_threads: int) -> NDArray[np.float64]:
    """Apply a block to the middle axis of a table."""
    if isinstance(block, Prefix):
        return np.cumsum(table, axis=1)
    if isinstance(block, AllRange):
        ends = np.concatenate([np.zeros_like(table[:, :1]), np.cumsum(table, axis=1)], axis=1)
        first, last = np.triu_indices(block.size)
        sums: NDArray[np.float64] = ends[:, last + 1] - ends[:, first]
        return sums
    if isinstance(block, Partition):
        grouped = np.zeros((block.shape[0], table.shape[0], table.shape[2]))
        np.add.at(grouped, block.groups, np.moveaxis(table, 1, 0))
        return np.moveaxis(grouped, 0, 1)
    sizes = (table.shape[0], table.shape[1], table.shape[2], block.shape[0])
    plan = _core.plan_elimination(sizes, [((0, 1, 2), False), ((3, 1), False)], (0, 3, 2))
    tables = [np.ascontiguousarray(table).reshape(-1), _dense(block, absolute).reshape(-1)]
    return run_contraction(plan, tables, n_threads)[0]


def _is_total(block: Block) -> bool:
    return isinstance(block, Partition) and block.shape[0] == 1


def _is_early(block: Block) -> bool:
    rows, cells = block.shape
    return rows < cells and rows * cells <= _DENSE_ENTRIES


def _has_negative(block: Block) -> bool:
    if isinstance(block, Kronecker):
        return any(map(_has_negative, block.factors))
    if isinstance(block, Subset):
        return bool((block.weights < 0).any())
    if isinstance(block, RealMatrix | SparseMatrix):
        return bool((block.entries.data < 0).any())
    return isinstance(block, IntegerMatrix) and bool((block.entries < 0).any())


def _dense(block: Block, absolute: bool) -> NDArray[np.float64]:
    if isinstance(block, IntegerMatrix):
        entries = block.entries.astype(np.float64)
    elif isinstance(block, RealMatrix | SparseMatrix):
        entries = block.entries.toarray().astype(np.float64)
    else:
        entries = np.stack([block.matvec(unit) for unit in np.eye(block.shape[1])], axis=1)
    return np.abs(entries) if absolute else entries


def _warn_of_cancellation(query: KroneckerQuery, answer: NDArray[np.float64], magnitude: NDArray[np.float64]) -> None:
    lost = magnitude > _CONDITION * np.abs(answer)
    if lost.any():
        with np.errstate(divide="ignore"):
            worst = float(np.max(magnitude[lost] / np.abs(answer[lost])))
        warnings.warn(
            f"terms of opposite sign cancel in {int(lost.sum())} of {answer.size} answers to a query on "
            f"{', '.join(query.attributes)}: they add up in magnitude to {worst:.3g} times the answer, of whose 16 "
            "digits as many are lost; centre the levels, or ask for the parts",
            ConditionWarning,
            stacklevel=4,
        )
