"""The map of pairs of a page: a row for each column, a shade for each pair."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pypgm.domain import Clique
from pypgm.reporting.quality import rounded
from pypgm.terminal import escaped

_SQUARES = 45  # columns of the map


def squares_of(names: Sequence[str], far: Mapping[Any, float], guessed: Collection[Clique] = ()) -> dict[str, Any]:
    """Return the map of pairs, as its template takes it.

    Parameters
    ----------
    names : sequence of str
        Columns.
    far : mapping of (str, str) to float
        How many points each pair is off.
    guessed : collection of (str, str)
        Those that were not counted together.
    """
    shown = [a for a in names if any(a in pair for pair in far)][:_SQUARES]
    most = max(far.values(), default=0.0) or 1.0
    unknown = set(guessed)
    rows = []
    for a in shown:
        cells: list[dict[str, Any] | None] = []
        for b in shown:
            pair = next((p for p in ((a, b), (b, a)) if p in far), None)
            if pair is None:
                cells.append(None)
            else:
                shade = far[pair] / most
                cells.append({"shade": shade, "points": far[pair], "guessed": pair in unknown, "pair": pair})
        rows.append((a, cells))
    told = f", {len(unknown)} of them not counted together" if unknown else ""
    worst = max(far, key=lambda pair: far[pair], default=())
    text = f"{len(far)} pairs of columns{told}; the worst is {' × '.join(worst)}, {rounded(most)} points off"
    return {"rows": rows, "most": most, "guessed": len(unknown), "text": escaped(text)}
