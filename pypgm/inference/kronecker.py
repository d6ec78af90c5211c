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
from pypgm.queries import Identity, KroneckerQuery, LinearQuery, mean

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pypgm.domain import Clique, Domain

__all__ = ["answer_queries", "expectation"]

_DENSE_ENTRIES = 1 << 22  # a block with more is applied to the answer, not to the tables
_MOST_AXES = 32  # that every NumPy supported takes
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
    widest = max((len(q.blocks) for q in checked), default=0)
    if widest > _MOST_AXES:
        raise ValueError(f"an answer has an axis for each attribute, {_MOST_AXES} at most, got a query on {widest}")
    needed = answer_bytes([q.shape for q in checked])
    check_fits(
        needed, max_bytes, f"the answers ({len(checked)}) need {needed / 8:.3g} cells", "ask for fewer at a time"
    )
    answers = _answers(calibrated, checked, max_bytes, n_threads)
    mixed = [i for i, q in enumerate(checked) if not all(b.is_non_negative for b in q.blocks.values())]
    if mixed:
        absolute = [KroneckerQuery({a: b.magnitudes(1) for a, b in checked[i].blocks.items()}) for i in mixed]
        magnitudes = _answers(calibrated, absolute, max_bytes, n_threads)
        for i, magnitude in zip(mixed, magnitudes, strict=True):
            _warn_of_cancellation(checked[i], answers[i], magnitude)
    return answers


def expectation(calibrated: Calibrated, attribute: str, given: Clique, levels: ArrayLike | None = None) -> Factor:
    """Return E[attribute | given], nan where 0 / 0; see `GraphicalModel.expectation`."""
    domain = calibrated.domain
    block = mean(_numeric_labels(domain, attribute) if levels is None else levels)
    counts: dict[str, LinearQuery] = {a: Identity(domain.size(a)) for a in given}
    domain.indices((attribute, *given))
    # Of positive weights a mean is no worse conditioned than its levels: no warning of cancellation is due.
    queries = [KroneckerQuery({attribute: block, **counts}).checked(domain), KroneckerQuery(counts)]
    sums, records = _answers(calibrated, queries, None, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return Factor(domain.project(given), (sums.reshape(records.shape) / records).reshape(-1))


def _numeric_labels(domain: Domain, attribute: str) -> list[float]:
    labels = domain.labels.get(attribute, ()) if attribute in domain else ()
    if not labels or any(isinstance(x, str) for x in labels):
        raise ValueError(f"attribute {attribute!r} has no numeric labels; pass levels=, a number for each value")
    return [float(x) for x in labels]


def _answers(
    calibrated: Calibrated, queries: Sequence[KroneckerQuery], max_bytes: float | None, n_threads: int
) -> list[NDArray[np.float64]]:
    """Contract all queries at once."""
    domain = calibrated.domain
    numbers: dict[tuple[int, LinearQuery], int] = {}
    asks: list[Ask] = []
    for query in queries:
        axes = [(domain.index(a), block) for a, block in query.blocks.items() if not _is_total(block)]
        own = [numbers.setdefault((a, b), len(numbers)) if _is_early(b) else -1 for a, b in axes]
        asks.append((tuple(a for a, _ in axes), tuple(own)))
    blocks = [_dense(block) for _, block in numbers]
    owners = [a for a, _ in numbers]
    flat = calibrated.run(asks, owners, blocks, max_bytes=max_bytes, n_threads=n_threads)
    return [_finished(query, cells, n_threads) for query, cells in zip(queries, flat, strict=True)]


def _finished(query: KroneckerQuery, cells: NDArray[np.float64], n_threads: int) -> NDArray[np.float64]:
    """Apply the blocks that wait for the answer, and give it its shape."""
    shape = [1 if _is_total(b) else b.shape[0] if _is_early(b) else b.shape[1] for b in query.blocks.values()]
    for axis, block in enumerate(query.blocks.values()):
        if not (_is_total(block) or _is_early(block) or block.is_identity):
            before = int(np.prod(shape[:axis], dtype=np.int64))
            table = cells.reshape(before, block.shape[1], -1)
            cells = _apply(block, table, n_threads).reshape(-1)
            shape[axis] = block.shape[0]
    return cells.reshape(shape)


def _apply(block: LinearQuery, table: NDArray[np.float64], n_threads: int) -> NDArray[np.float64]:
    """Apply a block to the middle axis of a table."""
    rows, cells = block.shape
    if 2 * block.cost <= rows * cells:
        return block.apply(table, axis=1)
    sizes = (table.shape[0], table.shape[1], table.shape[2], block.shape[0])
    plan = _core.plan_elimination(sizes, [((0, 1, 2), False), ((3, 1), False)], (0, 3, 2))
    tables = [np.ascontiguousarray(table).reshape(-1), _dense(block).reshape(-1)]
    return run_contraction(plan, tables, n_threads)[0]


def _is_total(block: LinearQuery) -> bool:
    return block.groups is not None and block.shape[0] == 1


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
            f"{', '.join(query.attributes)}: they add up in magnitude to {worst:.3g} times the answer, of whose 16 "
            "digits as many are lost; centre the levels, or ask for the parts",
            ConditionWarning,
            stacklevel=4,
        )
