"""Dependence of an attribute on others: integer scores of exact counts, and their sensitivity to one record."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.queries import Neighbours

Score = Literal["R", "F", "MI"]

_FINE = 256  # units per record of R and MI; F is a multiple of 1/2
_INT64_RECORDS = 1 << 30  # number of records up to which products of counts fit in int64
_SLACK_BITS = 40  # logarithms and sums are within N 2^-46: 64 times less than the allowance


def dependence(score: Score, counts: NDArray[np.int64]) -> int:
    r"""Return a score of N records, in units of 1/256 record ("R", "MI") or 1/2 record ("F"); 0 without records.

    With P for the relative frequencies of an attribute x and its parents p:

    - "R", N times the total variation distance from independence, :math:`\tfrac N2 \sum |P(x, p) - P(x) P(p)|`,
      exact before it is rounded down;
    - "F", of binary attributes, -N times the least
      :math:`(\tfrac12 - K_0)_+ + (\tfrac12 - K_1)_+` where each value of the parents gives its records with x = 0 to
      :math:`K_0` or its records with x = 1 to :math:`K_1`; exact. It takes O(values of the parents times N) steps;
    - "MI", N times the mutual information in bits, within 2^-46 N.

    Parameters
    ----------
    score : {"R", "F", "MI"}
    counts : ndarray of int64, shape (values of the parents, values of the attribute)

    References
    ----------
    Zhang, Cormode, Procopiuc, Srivastava and Xiao 2017, "PrivBayes: Private Data Release via Bayesian Networks".

    Examples
    --------
    >>> dependence("R", np.array([[5, 0], [0, 5]])) / 256, dependence("F", np.array([[5, 0], [0, 5]])) / 2
    (5.0, 0.0)
    """
    return {"R": _distance, "F": _shortfall, "MI": _information}[score](counts)


def _distance(counts: NDArray[np.int64]) -> int:
    total = int(counts.sum())
    if total == 0:
        return 0
    exact = counts.astype(object) if total > _INT64_RECORDS else counts
    independent = exact.sum(axis=1, keepdims=True) * exact.sum(axis=0, keepdims=True)
    return _FINE * int(np.abs(exact * total - independent).sum()) // (2 * total)


def _shortfall(counts: NDArray[np.int64]) -> int:
    total = int(counts.sum())
    half = (total + 1) // 2  # more than half of the records counts as half of them
    best = np.full(half + 1, -1, dtype=np.int64)  # the largest K1 for each K0; -1 if there is none
    best[0] = 0
    for zeros, ones in counts[counts.any(axis=1)].tolist():
        with_zeros = np.full_like(best, -1)
        shift = min(zeros, half)
        with_zeros[shift:] = best[: half + 1 - shift]
        with_zeros[half] = best[half - shift :].max()
        best = np.maximum(np.where(best >= 0, best + ones, -1), with_zeros)
    reached = np.flatnonzero(best >= 0)
    return -int((np.maximum(total - 2 * reached, 0) + np.maximum(total - 2 * best[reached], 0)).min())


def _information(counts: NDArray[np.int64]) -> int:
    total = int(counts.sum())
    if total == 0:
        return 0
    with_parents, with_value = (np.broadcast_to(counts.sum(axis=a, keepdims=True), counts.shape) for a in (1, 0))
    some = counts > 0
    logs = np.log2(counts[some]) + math.log2(total) - np.log2(with_parents[some]) - np.log2(with_value[some])
    return round(_FINE * math.fsum(counts[some] * logs))


def chance(score: Score, records: int, shape: tuple[int, ...]) -> float:
    r"""Return the score of independent attributes of N records by chance, in the units of `dependence`.

    With :math:`k = \prod (n_i - 1)` and many records: "R", :math:`\sqrt{N k / 2 \pi}` records, the mean for
    uniform attributes, more than for others. "MI", :math:`\tfrac k2 \log_2 N` bits, the penalty of the BIC. "F", 0:
    skewed attributes have more of it the more cells there are, whether they depend on each other or not.

    Examples
    --------
    >>> round(chance("R", 20_000, (2, 2)) / 256), round(chance("MI", 1024, (3, 2)) / 256)
    (56, 10)
    """
    free, n = math.prod(size - 1 for size in shape), max(records, 1)
    of = {"R": math.sqrt(n * free / (2 * math.pi)), "F": 0.0, "MI": free / 2 * math.log2(n)}
    return _FINE * of[score]


def largest_change(score: Score, neighbours: Neighbours, total: int | None, *, binary: bool) -> int:
    r"""Return the most that one record changes `dependence`, in its units, upward or downward.

    - "R": 2 records under add-remove: one more moves the counts by 1 and the products of their margins over N by at
      most :math:`1 + 2N / (N + 1)`, half of the sum counts. 3 under replace: 2 for the counts and 2 for each margin,
      by the triangle inequality. Rounding exact numbers down keeps a whole bound.
    - "F": 1 record: :math:`(N - 2K)_+` falls by at most 1 where the record counts, else rises by at most 1.
    - "MI", under replace alone, where N is public:
      :math:`\log_2 N + (N - 1) \log_2 \tfrac{N}{N - 1}` records if all attributes are binary, else
      :math:`2 \log_2 \tfrac{N + 1}{2} + (N - 1) \log_2 \tfrac{N + 1}{N - 1}`; and what rounding may add.

    Parameters
    ----------
    score : {"R", "F", "MI"}
    neighbours : {"add-remove", "replace"}
    total : int or None
        Number of records, if it is public.
    binary : bool
        Whether all attributes have two values.

    Raises
    ------
    ValueError
        If the score is "MI" and the number of records is not public: there is no useful bound then.
    """
    if score == "F":
        return 2
    if score == "R":
        return (2 if neighbours == "add-remove" else 3) * _FINE
    if total is None or neighbours == "add-remove":
        raise ValueError("the score 'MI' needs neighbours='replace': else a record may change it by any amount")
    n = max(total, 2)
    if binary:
        bound = math.log2(n) + (n - 1) * math.log2(n / (n - 1))
    else:
        bound = 2 * math.log2((n + 1) / 2) + (n - 1) * math.log2((n + 1) / (n - 1))
    return math.ceil(_FINE * (bound * (1 + 1e-9) + n * 2.0**-_SLACK_BITS)) + 1
