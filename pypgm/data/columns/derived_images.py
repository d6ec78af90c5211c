"""Images of derived columns: their value for each combination of codes of their sources."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import numpy as np

from pypgm._base.terminal import label_text
from pypgm.data.columns.bins import Binned
from pypgm.data.columns.column import Column
from pypgm.data.columns.derived import Derived
from pypgm.data.columns.difference import Difference
from pypgm.data.columns.made import Cells, Made, in_order
from pypgm.data.columns.mapped import MOST_CELLS
from pypgm.data.schema.one_of import Member
from pypgm.data.schema.schema import Schema
from pypgm.domain import Clique, as_clique, listed


def read_names(schema: Schema | None, clique: str | Iterable[str]) -> Clique:
    """Return attributes with derived ones replaced by the columns that they follow from.

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
    read: dict[str, None] = {}
    for name in names:
        chain = _chain(made, [name]) if name in made else []
        read |= dict.fromkeys([source for derived in chain for source in made[derived].sources if source not in made])
        read |= {} if chain else {name: None}
    return tuple(read)


Image: TypeAlias = tuple[Clique, Cells]
"""Columns that are read, and the value of a derived column for each combination of their codes, in C order."""


def images_of(schema: Schema, names: Iterable[str]) -> Iterator[tuple[str, Image]]:
    """Yield the images of made columns that are mappings constant within each bin.

    They come in the order in which they are made, each from the images of its sources: an image is made once, and
    dropped when no column needs it any more.
    """
    made, wanted = schema.made, set(names)
    order = in_order({name: made[name].sources for name in _chain(made, wanted)}, "is made of itself")
    uses = Counter(source for name in order for source in set(made[name].sources))
    held: dict[str, Image] = {}
    for name in order:
        image = _image(schema.columns, made[name], held)
        for source in set(made[name].sources):
            uses[source] -= 1
            if not uses[source]:
                held.pop(source, None)
        if image is not None and uses[name]:
            held[name] = image
        if image is not None and name in wanted:
            yield name, image


def image_of(schema: Schema, name: str) -> Image:
    """Return the sources of a mapping, and its values for each combination of their codes, in C order.

    Raises
    ------
    ValueError
        If the column is not a mapping, or is a mapping that separates values within one bin; the message names its
        sources.
    """
    for _, image in images_of(schema, [name]):
        return image
    sources = listed([repr(source) for source in read_names(schema, name)]) or "no other column"
    raise ValueError(f"column {name!r} is made when records are decoded, of {sources}")


def codes_giving(schema: Schema, name: str, text: str) -> tuple[str, list[int]]:
    """Return the source of a mapped column, and the codes of it that give a value.

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
        sources = listed([repr(label) for label in (source, *others)])
        raise ValueError(f"column {name!r} follows from {sources} together: give those")
    texts = cells.texts().tolist()
    known = text if text in texts else next((label for label in texts if label_text(label) == text), text)
    codes = [code for code, label in enumerate(texts) if label == known]
    if not codes:
        raise ValueError(f"column {name!r} needs one of {listed([*map(repr, dict.fromkeys(texts))])}")
    return source, codes


def _chain(made: Mapping[str, Made], names: Iterable[str]) -> list[str]:
    """Return made columns, and the made columns that they follow from."""
    reached = dict.fromkeys(names)
    chain = list(reached)
    for name in chain:
        new = dict.fromkeys(source for source in made[name].sources if source in made and source not in reached)
        reached |= new
        chain += new
    return chain


def _image(columns: Mapping[str, Column], column: Made, held: Mapping[str, Image]) -> Image | None:
    """Return the image of a column, given the images of its made sources; None if it has none."""
    if not isinstance(column, Member) and not (isinstance(column, Derived) and column.source):
        return None
    images: dict[str, Image] = {}
    for name in column.sources:
        if name not in held and (name not in columns or isinstance(columns[name], Difference)):
            return None
        images[name] = held.get(name) or ((name,), _first_values(columns[name]))
    parents = tuple(dict.fromkeys(cell for of, _ in images.values() for cell in of))
    sizes = {name: columns[name].size for name in parents}
    if math.prod(sizes.values()) > MOST_CELLS:
        return None
    if isinstance(column, Derived) and column.splits_bins({n: c.column for n, (_, c) in images.items()}):
        return None
    axes = dict(zip(parents, np.indices([*sizes.values()]).reshape(len(parents), -1), strict=True))
    cells = {}
    for name, (of, cell) in images.items():
        at = np.ravel_multi_index([axes[a] for a in of], [sizes[a] for a in of])
        cells[name] = Cells(cell.column, cell.codes[at], None if cell.values is None else cell.values[at])
    return parents, column.made(cells, range(math.prod(sizes.values())), np.random.default_rng(0))


def _first_values(column: Column) -> Cells:
    """Return all codes, with the first value of each bin, where there are bins."""
    codes = np.arange(column.size)
    if not isinstance(column, Binned):
        return Cells(column, codes)
    first, _ = column.ends()
    steps = np.array([*first, *[first[0]] * (column.size - len(first))], dtype=first.dtype)
    return Cells(column, codes, column.of_steps(steps))
