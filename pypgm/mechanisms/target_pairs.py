"""Pairs of the attributes to be predicted, in halves: for few records or little budget."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from pypgm.mechanisms.resolution import Values
from pypgm.queries import Contrasts

if TYPE_CHECKING:
    from fractions import Fraction

    from pypgm.domain import Clique
    from pypgm.estimation.measurement import LinearMeasurement
    from pypgm.mechanisms.one_way import Independent
    from pypgm.mechanisms.run import Run

# A half: pairs of targets count as much as all other answers together. A quarter predicts less on made-up tables; .7
# predicts more on two of five and less on three, and other pairs err more: see bench/README.md.
TARGETS_SHARE = 0.5  # of rho, at least, for pairs where there are targets


def measure_halves(
    run: Run, pairs: Sequence[Clique], start: Independent, ordered: Collection[str], rho: Fraction
) -> list[LinearMeasurement]:
    """Measure the interaction of the halves of both attributes of each pair, with equal parts of rho.

    One number each tells most of a dependence where noise would hide it in more. Halves follow from released counts:
    those of an ordered attribute are cut at its median, of another one its most frequent values are one half.
    """
    values = {a: Values(start.shares[a], a in ordered) for pair in pairs for a in pair}
    halves = {a: v.groups(2)[0] for a, v in values.items()}
    telling = [p for p in pairs if all(halves[a].max() == 1 for a in p)]
    queries = [Contrasts([2, 2], [halves[a] for a in p]) for p in telling]
    return run.table.measure_many(telling, queries, rho=rho) if telling else []
