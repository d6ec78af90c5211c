"""What derived columns have for the codes of the columns that they follow from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from pypgm.data.bins import Binned
from pypgm.data.columns import Column
from pypgm.data.derived import Derived
from pypgm.data.difference import Difference
from pypgm.data.made import Cells, Made, made_in_order
from pypgm.data.schema import Schema
from pypgm.domain import Clique, as_clique, listed
from pypgm.terminal import label_text


def read_names(schema: Schema | None, clique: str | Iterable[str]) -> Clique:
    """Return the columns that are read which some follow from, in the place of those.

    Examples
    --------
    >>> from pypgm import Schema
    >>> schema = Schema({"a": ["x", "y"], "b": Derived("a", {"x": 1, "y": 2}), "c": 3})
    >>> read_names(schema, ("b", "c"))
    ('a', 'c')
    """
    names, made = as_clique(clique), {} if schema is None else schema.made
    if not any(name in made for name in names):
        return names
    found: dict[str, None] = {}
    for name in names:
        chain = _chain(made, name) if name in made else []
        found |= dict.fromkeys([source for own in chain for source in made[own].sources if source not in made])
        found |= {} if chain else {name: None}
    return tuple(found)


def image_of(schema: Schema, name: str) -> tuple[Clique, Cells]:
    """Return the columns that a mapping is of, and what it has for each combination of their codes, in C order.

    Raises
    ------
    ValueError
        If the column is no mapping, or one that tells values within a bin apart: with the names of its sources.
    """
    made, columns = schema.made, schema.columns
    chain, parents = _chain(made, name), read_names(schema, name)
    told = listed([repr(own) for own in parents]) or "no other column"
    refused = ValueError(f"column {name!r} is made when records are decoded, of {told}")
    is_mapping = all(isinstance(column := made[own], Derived) and column.source for own in chain)
    if not is_mapping or any(isinstance(columns[own], Difference) for own in parents):
        raise refused
    sizes = [columns[own].size for own in parents]
    codes = np.indices(sizes).reshape(len(sizes), -1)
    cells = {own: _first_values(columns[own], codes[i]) for i, own in enumerate(parents)}
    rows, draws = range(codes.shape[1]), np.random.default_rng(0)
    for own in made_in_order({own: made[own] for own in chain}, parents):
        column = made[own]
        if isinstance(column, Derived) and column.splits_bins({n: c.column for n, c in cells.items()}):
            raise refused
        cells[own] = column.made(cells, rows, draws)
    return parents, cells[name]


def codes_giving(schema: Schema, name: str, text: str) -> tuple[str, list[int]]:
    """Return the column that one is mapped from, and which of its codes give a value.

    Raises
    ------
    ValueError
        If the column is not a mapping of one that is read, or none of the codes gives the value.

    Examples
    --------
    >>> from pypgm import Schema
    >>> mapping = {"Ash": "North", "Elm": "North", "Fox": "South"}
    >>> schema = Schema({"city": ["Ash", "Elm", "Fox"], "region": Derived("city", mapping)})
    >>> codes_giving(schema, "region", "North")
    ('city', [0, 1])
    """
    (source, *others), cells = image_of(schema, name)
    if others:
        told = listed([repr(own) for own in (source, *others)])
        raise ValueError(f"column {name!r} follows from {told} together: give those")
    texts = cells.texts().tolist()
    known = text if text in texts else next((own for own in texts if label_text(own) == text), text)
    found = [code for code, own in enumerate(texts) if own == known]
    if not found:
        raise ValueError(f"column {name!r} needs one of {listed([*map(repr, dict.fromkeys(texts))])}")
    return source, found


def _chain(made: Mapping[str, Made], name: str) -> list[str]:
    """Return a column that is made and those that are made which it follows from."""
    chain = [name]
    for own in chain:
        chain += [source for source in made[own].sources if source in made and source not in chain]
    return chain


def _first_values(column: Column, codes: NDArray[np.int64]) -> Cells:
    """Return codes with the first value of each bin, where there are bins."""
    if not isinstance(column, Binned):
        return Cells(column, codes)
    first, _ = column.ends()
    steps = np.array([*first, *[first[0]] * (column.size - len(first))], dtype=first.dtype)
    return Cells(column, codes, column.of_steps(steps)[codes])
