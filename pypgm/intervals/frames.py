"""Frames that a statistic is computed on: synthetic records that look like the table of the release."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pypgm.data import Dataset
from pypgm.data.columns.derived_images import read_names
from pypgm.data.columns.made import Cells
from pypgm.data.schema.schema import as_schema
from pypgm.data.sources.frames import imported
from pypgm.data.sources.layout import Layout

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.data import Schema
    from pypgm.domain import Domain


class DrawnRecords:
    """Records drawn once, which give the same frame of any of their columns each time.

    Parameters
    ----------
    columns : mapping of str to Cells or ndarray
        Values of the records.
    frame : callable
        Makes a frame of columns.
    """

    def __init__(self, columns: Mapping[str, Any], frame: Callable[[dict[str, Any]], Any]) -> None:
        self._columns, self._frame = columns, frame

    def __call__(self, names: Iterable[str]) -> Any:  # noqa: ANN401 - of any library
        """Return a frame of some of the columns."""
        return self._frame({name: self._columns[name] for name in names})

    def kept(self, rows: NDArray[np.bool_]) -> Any:  # noqa: ANN401
        """Return a frame of some of the records."""
        return self._frame({name: _rows(column, rows) for name, column in self._columns.items()})

    def placed(self, name: str, code: int, value: float) -> DrawnRecords:
        """Return the same records with one value in place of all of a column's values in a bin."""
        cells = self._columns[name]
        values = np.where(np.asarray(cells.codes) == code, value, cells.decoded()).astype(cells.decoded().dtype)
        return DrawnRecords({**self._columns, name: cells._replace(values=values)}, self._frame)

    def values(self, name: str) -> NDArray[Any]:
        """Return the values of a column."""
        column = self._columns[name]
        return np.asarray(column.decoded() if isinstance(column, Cells) else column)


def _rows(column: Any, rows: NDArray[np.bool_]) -> Any:  # noqa: ANN401
    if not isinstance(column, Cells):
        return np.asarray(column)[rows]
    values = None if column.values is None else column.values[rows]
    return column._replace(codes=column.codes[rows], values=values)


class Frames:
    """Maker of frames of records, all alike; without the library, records are returned as they are.

    Parameters
    ----------
    domain : Domain
        Domain of the records.
    schema : Schema, optional
        Decoder of the records.
    layout : Layout, optional
        Look of the original table.
    """

    def __init__(self, domain: Domain, schema: Schema | None, layout: Layout | None) -> None:
        self._domain, self._schema = domain, as_schema(schema or domain)
        self._layout = layout or Layout()
        try:
            imported(self._layout.library, "such a frame", "frames")
        except ImportError:
            self._is_plain = True
        else:
            self._is_plain = False
        self.names = tuple(domain) if self._is_plain else tuple(self._schema.declared)

    @property
    def has_bins(self) -> bool:
        """Return whether some bin holds several values."""
        rng = np.random.default_rng(0)
        return not self._is_plain and any(c.scattered(rng) is not c for c in self._schema.columns.values())

    def some(
        self, records: Dataset, rng: np.random.Generator, scattered: np.random.Generator | None = None
    ) -> DrawnRecords:
        """Return drawn records, which give frames of any of their columns.

        Values lie within bins as declared, or by drawn distributions. Records may lack attributes that no rule relates
        to their own: columns of these are without meaning.
        """
        codes = {a: records.columns.get(a, np.zeros(len(records), dtype=np.int8)) for a in self._domain}
        if self._is_plain:
            return DrawnRecords(codes, lambda columns: Dataset(columns, self._domain.project(tuple(columns))))
        # A number that means a missing value would count as one.
        with_nulls = partial(self._layout.frame, keeps_nulls=False)
        return DrawnRecords(self._schema.cells(codes, rng, scattered=scattered), with_nulls)

    def of(
        self,
        names: Sequence[str],
        records: Dataset,
        rng: np.random.Generator,
        scattered: np.random.Generator | None = None,
    ) -> Any:  # noqa: ANN401 - of any library
        """Return a frame of the records with some columns."""
        return self.some(records, rng, scattered)(names)

    def made_of(self, attributes: Iterable[str]) -> tuple[str, ...]:
        """Return the columns made only of these attributes."""
        given = set(attributes)
        return tuple(name for name in self.names if given.issuperset(self.attributes((name,))))

    def attributes(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the attributes that columns are made of, in the order of the domain; ``ValueError`` names others."""
        columns = tuple(names)
        self._domain.canonical([name for name in columns if name not in self._schema.made])
        return self._domain.canonical(self._schema.attributes(read_names(self._schema, columns)))
