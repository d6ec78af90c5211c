"""The order in which columns can be made of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def in_order(sources: Mapping[str, Sequence[str]], circular: str) -> list[str]:
    """Return names such that each comes after its sources, otherwise in the given order.

    It takes time in proportion to the names and their sources, and no recursion, however long a chain is.

    Parameters
    ----------
    sources : mapping of str to sequence of str
        Sources of each name; sources without an entry come before all.
    circular : str
        Text of the error for a column that follows from itself.

    Raises
    ------
    ValueError
        If one follows from itself, by way of others or directly.

    Examples
    --------
    >>> in_order({"c": ["b", "a"], "b": ["a"], "d": ["c"]}, "is made of itself")
    ['b', 'c', 'd']
    """
    ordered: dict[str, None] = {}
    for name in sources:
        path = {} if name in ordered else {name: iter(sources[name])}  # each waits for the next one
        while path:
            last, left = next(reversed(path.items()))
            source = next((other for other in left if other in sources and other not in ordered), None)
            if source is None:
                del path[last]
                ordered[last] = None
            elif source in path:
                raise ValueError(f"column {source!r} {circular}")
            else:
                path[source] = iter(sources[source])
    return list(ordered)
