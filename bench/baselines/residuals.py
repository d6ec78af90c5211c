"""Selected marginals and their pure interactions, in closed form, each table made nonnegative by itself.

Source: Mullins and others 2024, "Efficient and Private Marginal Reconstruction with Local Non-Negativity" (GReM), under
the rounds of AIM (2026).
"""

from __future__ import annotations

from functools import partial

from baselines import rounds
from pypgm import Budget, Dataset
from pypgm.reconstruction import residual_least_squares


def release(data: Dataset, budget: Budget, seed: int) -> Dataset:
    """Return records that follow from marginals of up to three attributes, in as many rounds as attributes twice."""
    explain = partial(residual_least_squares, nonnegative=True)
    return rounds.records(data, budget, seed, explain, order=3, rounds=2 * len(data.domain))
