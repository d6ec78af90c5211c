"""The map of pairs of a page: a row for each column, a shade for each pair."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pypgm.domain import Clique
from pypgm.reporting.quality import rounded
from pypgm.reporting.words import many
from pypgm.terminal import escaped

_SQUARES = 45  # columns of the map


def squares_of(
    names: Sequence[str],
    far: Mapping[Any, float],
    guessed: Collection[Clique] = (),
    unknown: Mapping[Clique, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the map of pairs, as its template takes it.

    Parameters
    ----------
    names : sequence of str
        Columns.
    far : mapping of (str, str) to float
        How many points each pair is off.
    guessed : collection of (str, str)
        Those that were not counted together.
    unknown : mapping of (str, str) to str
        Pairs of which it is not known how far they are off, and why.
    """
    pairs = {*far, *unknown}
    shown = [a for a in names if any(a in pair for pair in pairs)][:_SQUARES]
    most = max(far.values(), default=0.0) or 1.0
    rows = []
    for a in shown:
        cells: list[dict[str, Any] | None] = []
        for b in shown:
            pair = next((p for p in ((a, b), (b, a)) if p in pairs), None)
            if pair is None:
                cells.append(None)
            else:
                points, why = far.get(pair, 0.0), unknown.get(pair, "")
                told = {"shade": points / most, "points": points, "why": why, "pair": pair}
                cells.append({**told, "guessed": bool(why) or pair in guessed})
        rows.append((a, cells))
    also = f", {len(guessed)} of them not counted together" if guessed else ""
    worst = max(far, key=lambda pair: far[pair], default=())
    text = f"{len(far)} pairs of columns{also}; the worst is {' × '.join(worst)}, {rounded(most)} points off"
    text += f"; nothing is known of {many(len(unknown), 'more pair')}" if unknown else ""
    return {"rows": rows, "most": most, "guessed": len(guessed), "unknown": len(unknown), "text": escaped(text)}
