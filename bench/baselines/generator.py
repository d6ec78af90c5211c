"""A generator fitted to marginals: a mixture of products, whose logits follow the gradient, instead of a network.

Source: Liu, Vietri and Wu 2021, "Iterative Methods for Private Synthetic Data" (GEM), with a table of logits for each
of a hundred fixed inputs in place of the network; Fu and others 2025, "MargNet", selects and fits alike.
"""

from __future__ import annotations

from functools import partial

from baselines import rounds
from pypgm import Budget, Dataset
from pypgm.reconstruction import relaxed_projection


def release(data: Dataset, budget: Budget, seed: int) -> Dataset:
    """Return records of a mixture that was fitted to marginals of up to three attributes, in thirty rounds."""
    explain = partial(relaxed_projection, iterations=150)
    return rounds.records(data, budget, seed, explain, order=3, rounds=30)
