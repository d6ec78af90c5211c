"""Mappings of columns: the value of a derived column for each of their values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import EllipsisType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.bins import Binned, UnreadableError
from pypgm.data.columns.categorical import Categorical
from pypgm.data.columns.column import Column
from pypgm.data.columns.made import Cells
from pypgm.data.schema.rules import cells_named
from pypgm.domain import Label, listed

MOST_CELLS = 1 << 24
"""Combinations of values that a mapping of several columns may have."""


class Mapped:
    """A mapping of columns of listed values.

    Parameters
    ----------
    names : sequence of str
        The columns that it is of.
    sources : sequence of Column
        Declarations of the sources.
    pairs : sequence of (entries, image)
        An entry for each of them.
    other : label, None or ...
        Image of all values besides; ``...`` where they have none.
    nulls : tuple of str
        The text of missing values.
    """

    def __init__(
        self,
        names: Sequence[str],
        sources: Sequence[Column],
        pairs: Sequence[tuple[Sequence[Any], Any]],
        other: Label | EllipsisType | None,
        nulls: tuple[str, ...],
    ) -> None:
        self._names, self._sources, self._pairs, self._other = names, sources, pairs, other
        all_images = [image for _, image in pairs] + [other] * (other is not ...)
        self._nulls = nulls or (("",) if None in all_images else ())
        values = [v for v in dict.fromkeys(map(_typed, all_images)) if not self._is_null(v[1])]
        self._codes = {value: code for code, value in enumerate(values)}
        self.column = Categorical([value for _, value in values], null=self._nulls)

    @property
    def splits_bins(self) -> bool:
        """True if values differ within a bin."""
        return False

    def _is_null(self, image: object) -> bool:
        return image is None or image in self._nulls

    def _code(self, image: Label | None) -> int:
        """Return the code of an image; -1 if it is not declared."""
        return self.column.size - 1 if self._is_null(image) else self._codes[_typed(image)]

    @property
    def _of_other(self) -> int:
        return -1 if isinstance(self._other, EllipsisType) else self._code(self._other)

    def check(self) -> None:
        """Raise ``ValueError`` if a value of the sources has no image, or an entry is not a value of theirs."""
        for name, source in zip(self._names, self._sources, strict=True):
            if isinstance(source, Binned):
                raise ValueError(f"a mapping of several columns needs listed values, and {name!r} has bins")  # noqa: TRY004
            is_open = isinstance(source, Categorical) and not source.values
            if (is_open or source.other_code is not None) and self._of_other < 0:
                raise ValueError(f"needs other, what it has for the values of {name!r} that are not listed")
        if all(source.other_code is None for source in self._sources) and (self._images() < 0).any():
            values = [source.labels or range(source.size) for source in self._sources]
            lost = [
                [labels[i] for labels, i in zip(values, at, strict=True)] for at in np.argwhere(self._images() < 0)[:10]
            ]
            unmapped = listed([repr(one[0] if len(one) == 1 else one) for one in lost])
            raise ValueError(f"the mapping has no entry for {unmapped}; other gives the result for all such values")

    def cells(self, given: Sequence[Cells]) -> Cells:
        """Return the images of the cells of the sources."""
        return Cells(self.column, self._images()[tuple(np.asarray(cells.codes, dtype=np.int64) for cells in given)])

    def _images(self) -> NDArray[np.int64]:
        """Return the code for each combination of codes of the sources; -1 where it has none."""
        sizes = [source.size for source in self._sources]
        if math.prod(sizes) > MOST_CELLS:
            raise ValueError(f"a mapping needs columns of at most {MOST_CELLS:,} combinations")
        codes_of_cells = np.full(sizes, self._of_other)
        for axis, source in enumerate(self._sources):
            if source.null_codes:
                np.moveaxis(codes_of_cells, axis, 0)[[*source.null_codes]] = self.column.size - 1
        pairs = self._pairs[::-1]
        named = cells_named(self._names, self._sources, [entries for entries, _ in pairs])
        for codes, (entries, image) in zip(named, pairs, strict=True):
            parts = zip(self._sources, entries, codes, strict=True)
            codes_of_cells[np.ix_(*(_listed(*part) for part in parts))] = self._code(image)
        return codes_of_cells


class MappedBins(Mapped):
    """A mapping of a column of numbers or dates."""

    @property
    def splits_bins(self) -> bool:
        """True if values differ within a bin."""
        first, last = self._source.ends()
        return any(
            bool((((first < low) & (low <= last)) | ((first <= high) & (high < last))).any())
            for low, high, _ in self._spans()
        )

    def check(self) -> None:
        """Raise ``ValueError`` if numbers between the bounds have no image, or an entry is not a value."""
        source = self._source
        if self._of_other >= 0:
            self._spans()
        elif source.other_code is not None:
            raise ValueError(f"needs other, what it has for the values of {self._names[0]!r} that are not listed")
        else:
            self._check_covered(source)

    def cells(self, given: Sequence[Cells]) -> Cells:
        """Return the images of the cells of the source."""
        (cells,) = given
        codes = np.asarray(cells.codes, dtype=np.int64)
        source = self._source
        steps = source.steps_of(np.asarray(cells.values))
        mapped_codes = np.full(len(codes), self._of_other)
        for low, high, code in reversed(self._spans()):
            mapped_codes[(steps >= low) & (steps <= high)] = code
        mapped_codes[codes >= source.n_values] = self._of_other
        mapped_codes[source.is_null(codes)] = self.column.size - 1
        return Cells(self.column, mapped_codes)

    @property
    def _source(self) -> Binned:
        (source,) = self._sources
        assert isinstance(source, Binned)
        return source

    def _spans(self) -> list[tuple[Any, Any, int]]:
        """Return the first and the last steps of each entry of a mapping of numbers or dates, and its code."""
        first, last = self._source.ends()
        ranges = []
        for (entry,), image in self._pairs:
            code = self._code(image)
            if isinstance(entry, Mapping):
                if not entry or set(entry) - {"from", "to"}:
                    raise ValueError("the mapping has a range that is not {'from': value, 'to': value}")
                low = self._steps(entry["from"]) if "from" in entry else first[0]
                ranges.append((low, self._steps(entry["to"]) if "to" in entry else last[-1], code))
            else:
                values = entry if isinstance(entry, tuple) else (entry,)
                ranges += [(steps, steps, code) for steps in map(self._steps, values)]
        return ranges

    def _steps(self, value: object) -> Any:  # noqa: ANN401 - of numbers as dense as doubles no integer
        try:
            place = self._source.place_of(value)
        except UnreadableError:
            raise ValueError(f"the mapping of {self._names[0]!r} needs {self._source.allowed}") from None
        unit = self._source.per_unit
        return place if unit == 0 else round(place * unit)

    def _check_covered(self, source: Binned) -> None:
        """Raise ``ValueError`` where numbers or dates between the bounds are in no entry."""
        first, last = source.ends()
        spans = sorted((low, high) for low, high, _ in self._spans())
        step = 1 if source.per_unit else 0
        ends = np.maximum.accumulate([first[0] - step, *(high for _, high in spans)])
        begins = [*(low for low, _ in spans), last[-1] + step]
        if any(begin > end + step for begin, end in zip(begins, ends, strict=True)):
            raise ValueError(f"the mapping has no entry for some values: it needs all, {source.allowed}, or other")


def _listed(source: Column, entry: Any, codes: NDArray[np.int64]) -> NDArray[np.int64]:  # noqa: ANN401
    """Return the codes of an entry, without the code of other values for a value that was not found."""
    is_other = source.other_code is not None and entry != source.other_label
    return codes[codes != source.other_code] if is_other else codes


def _typed(image: Any) -> tuple[type, Any]:  # noqa: ANN401
    """Return a value that differs from others of other types: to Python 1 and True are one."""
    return type(image), image
