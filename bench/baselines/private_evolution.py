"""Private evolution of records: random records change and stay where many real ones are near.

Each round varies the records, and every real record votes for the nearest of them; noise is added to the votes. The
first rounds draw records in proportion to their votes, the later ones keep those that have most of them.

Source: Lin and others 2024, "Differentially Private Synthetic Data via Foundation Model APIs", and its rules for tables
(2026): numbers at distances within their range, categories a third apart, mutation rates from a half to a hundredth.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pypgm import Budget, Dataset, Domain, Ledger, PrivateTable

Codes = NDArray[np.int64]

ROUNDS, DRAWN_ROUNDS = 20, 5
RECORDS = 1_000  # that vote is held on: with more of them each gets fewer votes, and noise decides
VARIED = 3  # copies of each record in a later round
APART = 1 / 3  # of two categories, beside numbers from 0 to 1


def release(data: Dataset, budget: Budget, seed: int) -> Dataset:
    """Return records that evolved from random ones."""
    rng, ledger = np.random.default_rng(seed), Ledger(budget)
    domain, sizes = data.domain, np.array(data.domain.shape)
    named = np.array([a in domain.labels for a in domain])
    real = _places(np.stack([np.asarray(data.columns[a]) for a in domain], axis=1), sizes, named)
    each = ledger.remaining() / ROUNDS
    kept = records = np.stack([rng.integers(0, k, RECORDS) for k in sizes], axis=1)
    for i in range(ROUNDS):
        rate = 0.5 - 0.49 * ((i + 1) / ROUNDS) ** 0.2
        near = _nearest(real, _places(records, sizes, named))
        votes = Dataset({"record": near}, Domain({"record": len(records)}))
        with PrivateTable(votes, "add-remove", ledger, unsafe_seed=seed + i) as table:
            counts = table.measure("record", rho=each).values
        if i < DRAWN_ROUNDS:
            shares = np.maximum(counts, 0) + (counts.max() <= 0)
            kept = records[rng.choice(len(records), RECORDS, p=shares / shares.sum())]
            records = _varied(kept, sizes, named, rate, rng)
        else:
            kept = records[np.argsort(-counts, kind="stable")[:RECORDS]]
            records = np.concatenate([kept, *(_varied(kept, sizes, named, rate, rng) for _ in range(VARIED))])
    drawn = kept[rng.integers(0, len(kept), len(real))]
    return Dataset({a: drawn[:, i] for i, a in enumerate(domain)}, domain)


def _places(codes: Codes, sizes: Codes, named: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return points whose distances are those of records."""
    numbers = codes[:, ~named] / np.maximum(sizes[~named] - 1, 1)
    categories = [APART * (codes[:, [i]] == np.arange(sizes[i])) for i in np.flatnonzero(named)]
    return np.concatenate([numbers, *categories], axis=1).astype(np.float32)


def _nearest(real: NDArray[np.float32], records: NDArray[np.float32], rows: int = 2_000) -> Codes:
    """Return the position of the nearest record to each real one."""
    half = (records**2).sum(axis=1) / 2
    blocks = [(real[i : i + rows] @ records.T - half).argmax(axis=1) for i in range(0, len(real), rows)]
    return np.concatenate(blocks) if blocks else np.zeros(0, np.int64)


def _varied(codes: Codes, sizes: Codes, named: NDArray[np.bool_], rate: float, rng: np.random.Generator) -> Codes:
    """Draw some categories again, and move numbers by a part of their range."""
    anew, shape = rng.integers(0, sizes, codes.shape), codes.shape
    moved = np.rint(codes + rng.uniform(-rate, rate, shape) * (sizes - 1)).clip(0, sizes - 1).astype(np.int64)
    return np.where(named, np.where(rng.random(shape) < rate, anew, codes), moved)
