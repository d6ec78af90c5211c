"""Subsample and aggregate: changes of votes between neighbours, and the threshold of a release."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm.audit.finding import Finding, finding
from pypgm.audit.laws import LAPLACE
from pypgm.audit.pairs import PRIVACIES, Pair, neighbour_pairs
from pypgm.audit.trace import core_with
from pypgm.data import Dataset
from pypgm.mrf.stability import Agreement, Edges, Stability
from pypgm.privacy.budget import Budget
from pypgm.privacy.charge import Charge
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.relation import Privacy
from selfcheck.columns import lone_key_passes

_EPSILON, _DELTA = Fraction(3, 2), Fraction(1, 10**5)
_BLOCKS = 5

Found = Iterator[tuple[str, str]]


def check_stability(privacies: Sequence[Privacy] = PRIVACIES) -> Finding:
    """Let blocks vote on neighbours with the same coins, and find the threshold from scripted outcomes.

    Votes may move by no more than the charge says in the L1 norm, noise must be of the scale charged, and a graph with
    votes of one person alone may be released with a probability of at most delta.
    """
    defects: list[tuple[str, str]] = []
    pairs = [pair for pair in neighbour_pairs(privacies) if pair.name.startswith(("mixed", "crossed", "across"))]
    for pair in pairs:
        line, drawn = _line_and_draw(pair.one, pair.privacy)
        moved = _moved(pair)
        where = f"tables {pair.name}, {pair.privacy}"
        if moved > line.parameters["sensitivity"]:
            wide = "lost user bound" if pair.privacy.records_per_person > 1 else "sensitivity"
            defects.append((wide, f"{where}: votes move by {moved}, not as charged"))
        if drawn != line.parameters["scale"]:
            defects.append(("scale differs from the charge", f"{where}: drawn with scale {drawn}"))
        if line.cost > _EPSILON or line.delta > _DELTA:
            defects.append(("overspent", f"{where}: {line.cost} and delta {line.delta} are charged"))
    for privacy in privacies:
        defects.extend(_threshold(privacy))
    return finding("stability", "blocks", defects, f"{len(pairs)} pairs of tables, {len(privacies)} exact thresholds")


def _vote(block: Dataset) -> Edges:
    """Return a vote that every record changes."""
    columns = np.stack([np.asarray(block.columns[name]) for name in block.domain])
    weights = 7 ** np.arange(len(columns))
    return ((len(block), int((weights @ columns).sum())),)


def _opened(data: Dataset, privacy: Privacy) -> PrivateTable:
    return PrivateTable(data, privacy, Ledger(Budget(epsilon=9 * _EPSILON, reserved_delta=9 * _DELTA)))


def _coins(*given: Any) -> NDArray[np.uint8]:
    """Return coins that depend on their number alone, as a prefix of one sequence."""
    return _core.flip_coins(given[0], given[1], given[2], _core.SeededWords(0))


def _moved(pair: Pair) -> int:
    with core_with(flip_coins=_coins):
        one, other = (
            Counter(Stability(_opened(data, pair.privacy), _vote, _BLOCKS).votes()) for data in (pair.one, pair.other)
        )
    return sum(abs(one[graph] - other[graph]) for graph in {**one, **other})


def _released(data: Dataset, privacy: Privacy, outcome: int) -> tuple[Agreement, Charge, Fraction]:
    """Release with a given noisy number of votes; return the charge and the scale of the draw too."""
    table, scales = _opened(data, privacy), []

    def noisy(counts: NDArray[np.int64], *parameter: int, **_: Any) -> NDArray[np.int64]:
        scales.append(Fraction(*parameter[:2]))
        return np.full_like(counts, outcome)

    with core_with(flip_coins=_coins, add_discrete_laplace=noisy):
        released = Stability(table, _vote, _BLOCKS).release(epsilon=_EPSILON, delta=_DELTA)
    return released, table.ledger.lines[0], scales[0]


def _line_and_draw(data: Dataset, privacy: Privacy) -> tuple[Charge, Fraction]:
    return _released(data, privacy, 0)[1:]


def _threshold(privacy: Privacy) -> Found:
    data = neighbour_pairs([privacy])[-1].one
    least = next((n for n in itertools.count(-3) if _released(data, privacy, n)[0].edges is not None), 0)
    line = _released(data, privacy, least)[1]
    passes = lone_key_passes(LAPLACE, line.parameters["scale"], least, privacy.records_per_person)
    if passes > float(_DELTA) * (1 + 1e-9):
        yield "threshold", f"{privacy}: a lone graph passes with {passes:.3e}, {float(_DELTA):.3e} charged"
