"""Graph on which most blocks of the records agree, released if it is stable: subsample and aggregate."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pypgm._base.numeric import checked_integer
from pypgm.data import Dataset
from pypgm.privacy.access import ChargedNoise
from pypgm.privacy.counts import has_rows, in_rows
from pypgm.privacy.fixed_errors import fixed_errors, unheard
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.rational import Number, as_fraction
from pypgm.privacy.relation import Privacy
from pypgm.privacy.sampler import Sampler
from pypgm.queries import Identity

Edges = tuple[tuple[int, int], ...]
"""A graph: pairs of positions, ascending, each once and in order."""

MOST_BLOCKS = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Agreement:
    """The graph with most votes by noisy counts, if it has enough.

    Attributes
    ----------
    edges : tuple of (int, int), optional
        None where no graph has enough votes.
    threshold : int
        Noisy votes that are needed.
    scale : Fraction
        Scale of the discrete Laplace noise on votes.
    """

    edges: Edges | None
    threshold: int
    scale: Fraction


class Stability:
    r"""Votes of blocks of the records for graphs; on the records of a private table.

    Every record gets a block by itself, uniformly, from the secure source. Given all assignments, a person with k
    records, added, removed or replaced, changes at most k blocks, and each of them moves one vote from a graph to
    another: votes are neighbours under "replace" with k records per person, whatever the relation of the records. They
    get discrete Laplace noise of scale 2 k / epsilon, and a graph is released if it has the most noisy votes, at least
    a threshold that a graph with votes of only one person reaches with probability at most delta.

    A vote must depend only on its block. It is read as a graph of plain integers, `Edges`, whatever holds them, before
    it is counted, so that equal votes are one and the same. Any other result counts as the vote for no edge, as does a
    vote that raises: any refusal would reveal that some block is unusual. Warnings are not heard.

    References
    ----------
    Nissim, Raskhodnikova and Smith 2007, "Smooth Sensitivity and Sampling" (subsample and aggregate); Thakurta and
    Smith 2013, "Differentially Private Feature Selection via Stability Arguments".
    """

    def __init__(self, table: PrivateTable, vote: Callable[[Dataset], Edges], n_blocks: int) -> None:
        access = table.trusted_access
        if not has_rows(access.records()):
            raise TypeError("blocks need the records of a Dataset, a table of counts is not enough")
        count = checked_integer("the number of blocks", n_blocks)
        if not 1 <= count <= MOST_BLOCKS:
            raise ValueError(f"stability needs at least one block and at most {MOST_BLOCKS}, got {count}")
        self._access = access
        self._vote = vote
        self._n_blocks = count

    def release(self, *, epsilon: Number, delta: Number) -> Agreement:
        """Charge, let every block vote, add noise.

        Parameters
        ----------
        epsilon, delta : number
            Most that it costs, in pure epsilon and in probability of failure.

        Raises
        ------
        BudgetError
            If the charge does not fit; then nothing was read.
        ValueError
            If epsilon is not above 0, or delta not between 0 and 1.
        """
        access, loss, fails = self._access, as_fraction("epsilon", epsilon), as_fraction("delta", delta)
        if loss <= 0 or not 0 < fails < 1:
            raise ValueError(f"stability needs an epsilon above 0 and a delta between 0 and 1, got {loss} and {fails}")
        votes_of = Privacy("replace", access.privacy.records_per_person)
        access.check_open()
        scale = Fraction(votes_of.l1_sensitivity(Identity(2))) / loss
        on = f"graphs of {self._n_blocks} blocks"
        noise = access.charge_noise(Identity(2), "stability", on, scale=scale, delta=fails, privacy=votes_of)
        with fixed_errors:
            return self._agreement(noise)

    def _agreement(self, noise: ChargedNoise) -> Agreement:
        votes = Counter(self.votes())
        graphs = sorted(votes)
        noisy = noise.add(np.array([votes[graph] for graph in graphs], dtype=np.int64))
        best, threshold, scale = int(np.argmax(noisy)), noise.law.threshold or 0, noise.law.parameters["scale"]
        return Agreement(graphs[best] if noisy[best] >= threshold else None, threshold, scale)

    def votes(self) -> list[Edges]:
        """Return the exact vote of each block; to be called only after the charge."""
        records = in_rows(self._access.records())
        blocks = blocks_of(records.n_records, self._n_blocks, self._access.sampler)
        of_block = partial(Dataset, domain=records.domain, schema=self._access.schema)
        return [
            self._voted(of_block({name: column[blocks == b] for name, column in records.columns.items()}))
            for b in range(self._n_blocks)
        ]

    def _voted(self, block: Dataset) -> Edges:
        """Return the vote of a block, or one for no edge if it has none: neither errors nor warnings may reveal it."""
        return unheard(lambda: _as_graph(self._vote(block)), ())


def _as_graph(vote: Iterable[tuple[int, int]]) -> Edges:
    """Return a graph as the one tuple it is counted and released as: True is 1, and who came first says nothing."""
    pairs = ((int(operator.index(i)), int(operator.index(j))) for i, j in vote)
    return tuple(sorted({(min(pair), max(pair)) for pair in pairs if min(pair) >= 0}))


def blocks_of(n_records: int, n_blocks: int, sampler: Sampler) -> NDArray[np.int64]:
    """Return a block for each record, independent and uniform: exact coins split blocks in halves."""
    blocks = np.zeros(n_records, dtype=np.int64)

    def split(of: NDArray[np.int64], first: int, count: int) -> None:
        if count == 1:
            blocks[of] = first
            return
        left = count // 2
        coins = sampler.coins(of.size, Fraction(left, count))
        split(of[coins], first, left)
        split(of[~coins], first + left, count - left)

    split(np.arange(n_records), 0, n_blocks)
    return blocks
