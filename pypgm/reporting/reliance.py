"""Uses of a release that a reader may rely on, and others, by name: pairs, columns, combinations of values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pypgm._base.student import REACH
from pypgm.reporting.quality import distances_of, rounded
from pypgm.reporting.words import labels_of, many, percent

if TYPE_CHECKING:
    from pypgm.domain import Clique
    from pypgm.reporting.facts import Facts
    from pypgm.reporting.quality import Quality

_LISTED = 5  # pairs or combinations that are named, at most
_CHANGED = 3  # columns that are named as most changed, at most
_RELATED = 0.01  # share of the records beyond that of independent columns from which on a pair is related
_EXPECTED = 50.0  # records that independent columns would have in a combination of which there are hardly any
_HARDLY = 0.1  # share of those that there may be, at the upper end of the ±


@dataclass(frozen=True)
class Reliance:
    """Uses that a release is good for, and others; pairs and columns by name.

    Attributes
    ----------
    counted : tuple of str
        Pairs that were counted together and are clearly related, the most exact first, with their points.
    unclear : tuple of str
        Other pairs that were counted together: noise hides how they are related, or they are not.
    unrelated : tuple of str
        Pairs that were not counted together, and are about independent in the release.
    implied : tuple of str
        Pairs that were not counted together, and are related as far as follows from others.
    n_counted, n_unclear, n_unrelated, n_implied : int
        Numbers of all such pairs; those are the first few.
    changed : tuple of str
        Columns whose values change most on their way into the records, with their points and the reason.
    hardly : tuple of str
        Combinations of two values with hardly any records: if they cannot occur, a rule of the schema forbids them.
    """

    counted: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()
    unrelated: tuple[str, ...] = ()
    implied: tuple[str, ...] = ()
    n_counted: int = 0
    n_unclear: int = 0
    n_unrelated: int = 0
    n_implied: int = 0
    changed: tuple[str, ...] = ()
    hardly: tuple[str, ...] = ()


def reliance_of(facts: Facts) -> Reliance:
    """Return the uses of a release that a reader may rely on, and others; none where its errors are unknown.

    Parameters
    ----------
    facts : Facts
        Facts of the release.
    """
    quality = facts.quality
    if quality is None:
        return Reliance()
    far = quality.of("pairs")
    counted = [p for p in list(far)[::-1] if quality.basis[p] in {"measured", "merged"}]
    related = [p for p in counted if quality.is_clear(p)]
    unclear = [p for p in counted if not quality.is_clear(p)]
    guessed = sorted((p for p in far if quality.basis[p] == "unmeasured"), key=facts.release.model.domain.size)
    unrelated = [p for p in guessed if distances_of(quality.answers[p])[1] < _RELATED]
    implied = [p for p in guessed if p not in set(unrelated)]
    combinations = sorted(_hardly(facts, quality, counted), reverse=True)
    return Reliance(
        counted=tuple(f"{' and '.join(p)} ({rounded(far[p])})" for p in related[:_LISTED]),
        unclear=tuple(" and ".join(p) for p in unclear[:_LISTED]),
        unrelated=tuple(" and ".join(p) for p in unrelated[:_LISTED]),
        implied=tuple(" and ".join(p) for p in implied[:_LISTED]),
        n_counted=len(related),
        n_unclear=len(unclear),
        n_unrelated=len(unrelated),
        n_implied=len(implied),
        changed=tuple(_changed(facts)),
        hardly=tuple(text for _, text in combinations[:_LISTED]),
    )


def more(number: int, named: tuple[str, ...]) -> str:
    """Return the rest of a list in words.

    Examples
    --------
    >>> more(7, ("a and b",)), more(1, ("a and b",))
    (' and 6 more pairs', '')
    """
    left = number - len(named)
    return f" and {many(left, 'more pair')}" if left else ""


def _hardly(facts: Facts, quality: Quality, counted: list[Clique]) -> Iterator[tuple[float, str]]:
    """Yield the records that independent columns would have, and the name, of combinations with hardly any."""
    release = facts.release
    for pair in counted:
        table, reach = quality.answers[pair].values, REACH * quality.errors[pair].values
        sums = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True)
        expected = sums[0] * sums[1] / max(float(table.sum()), 1e-300)
        labels = [labels_of(release.model.domain, a, release.schema) for a in pair]
        for i, j in zip(*np.nonzero((expected >= _EXPECTED) & (table + reach <= _HARDLY * expected)), strict=True):
            yield float(expected[i, j]), f"{pair[0]} {labels[0][i]} with {pair[1]} {labels[1][j]}"


def _changed(facts: Facts) -> Iterator[str]:
    """Yield the columns whose values change most, with their points and the reason."""
    if facts.as_values is None:
        return
    lost, quality = facts.losses, facts.quality
    for name, points in list(facts.as_values.points.items())[:_CHANGED]:
        noise = None if quality is None else quality.far((name,))
        if noise is not None and points < 2 * noise:
            why = "by noise"
        elif name in lost.other and name not in lost.coarsened:
            why = f"{percent(lost.other[name])} merged into “other”"
        elif name in lost.coarsened:
            why = f"drawn anew within {lost.coarsened[name]}"
        else:
            why = "by noise"
        yield f"{name} ({rounded(points)} points: {why})"
