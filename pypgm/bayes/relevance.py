"""The attributes that an answer depends on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pypgm.domain import Clique


def relevant(attributes: Iterable[str], parents: Mapping[str, Clique]) -> frozenset[str]:
    """Return some attributes and all their ancestors.

    Examples
    --------
    >>> sorted(relevant(["b"], {"a": (), "b": ("a",), "c": ("b",)}))
    ['a', 'b']
    """
    waiting = list(attributes)
    kept: set[str] = set()
    while waiting:
        attribute = waiting.pop()
        if attribute not in kept:
            kept.add(attribute)
            waiting.extend(parents[attribute])
    return frozenset(kept)
