"""A synthesizer with the methods of SDV's synthesizers of one table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pypgm
from pypgm.data.sources.frames import Frame
from pypgm.domain import as_clique
from pypgm.integrations._synthesizer import Source, TableSynthesizer

if TYPE_CHECKING:
    from typing_extensions import Self

    from pypgm.graphs.evidence import Evidence

__all__ = ["Synthesizer"]

_READ = {"categorical", "boolean", "numerical", "datetime", "unknown"}  # all other kinds are keys or made up


class Synthesizer(TableSynthesizer):
    """A mechanism of pypgm with the methods of SDV's synthesizers of one table.

    Parameters
    ----------
    metadata : sdv.metadata.Metadata, or mapping
        Metadata of one table, or the result of its ``to_dict``. Columns that are neither categorical, boolean,
        numerical nor dates are never read: they get numbers. It has no bounds of numbers and dates. A primary key is
        the person of its record: who comes again, against the metadata, is protected too.
    *budget, **options
        ``epsilon``, ``delta``, ``schema``, ``bounds`` and the other options of `TableSynthesizer`.

    Examples
    --------
    >>> import pandas  # doctest: +SKIP
    >>> frame = pandas.DataFrame({"age": [31, 7, 44] * 100, "sex": ["F", "M", "F"] * 100})  # doctest: +SKIP
    >>> metadata = {"columns": {"age": {"sdtype": "numerical"}, "sex": {"sdtype": "categorical"}}}
    >>> synthesizer = Synthesizer(metadata, epsilon=5.0, bounds={"age": (0, 99)})
    >>> _ = synthesizer.fit(frame)  # doctest: +SKIP
    >>> len(synthesizer.sample(num_rows=5))  # doctest: +SKIP
    5
    """

    _of_schema = TableSynthesizer._of_schema | {"metadata"}

    def __init__(self, metadata: Any, *budget: Any, **options: Any) -> None:
        super().__init__(*budget, **options)
        self.metadata = metadata
        _kinds(metadata)

    def get_metadata(self) -> Any:
        """Return the metadata unchanged."""
        return self.metadata

    def fit(self, data: Frame, y: None = None) -> Self:
        """Spend the budget on a table."""
        del y
        kinds = _kinds(self.metadata)
        listed = [name for name, kind in kinds.items() if kind == "categorical"]
        key, ids = _primary_key(self.metadata), [name for name, kind in kinds.items() if kind not in _READ]
        person = None if key is None else {"column": key, "at_most": 1}
        return self._fit(data, None, listed, {*ids, *as_clique(() if key is None else key)}, person=person)

    def sample(self, num_rows: int | None = None, conditions: Evidence | None = None, *, rng: Source = None) -> Frame:
        """Return records, in the library and with the types of the table; by default about as many as it had."""
        return self._sampled(num_rows, conditions, rng)

    def sample_from_conditions(self, conditions: Iterable[Any]) -> Frame:
        """Return records that meet conditions, distributed as the model's records that meet them; no draw is rejected.

        Parameters
        ----------
        conditions : iterable of sdv.sampling.Condition
            Each with `get_num_rows` and `get_column_values`.
        """
        import pandas

        parts = [
            self._sampled(c.get_num_rows(), {name: str(value) for name, value in c.get_column_values().items()})
            for c in conditions
        ]
        return pandas.concat(parts, ignore_index=True)

    def save(self, filepath: str | os.PathLike[str]) -> None:
        """Write the release, which `pypgm.load` reads; metadata and options are not in it."""
        self._fitted.save(filepath)

    @classmethod
    def load(cls, filepath: str | os.PathLike[str]) -> Synthesizer:
        """Return a synthesizer of a saved release, without metadata, to draw records from."""
        made = cls({"columns": {}})
        release = pypgm.load(filepath)
        if not isinstance(release, pypgm.Release):
            raise ValueError(f"load needs a release with its schema, got a {type(release).__name__}")  # noqa: TRY004
        made.release_ = release
        return made


def _kinds(metadata: Any) -> dict[str, str]:
    """Return the kind of each column of metadata."""
    return {name: column.get("sdtype", "unknown") for name, column in _table(metadata)["columns"].items()}


def _primary_key(metadata: Any) -> str | list[str] | None:
    """Return the column, or columns, that metadata name as the primary key."""
    key: str | list[str] | None = _table(metadata).get("primary_key")
    return key


def _table(metadata: Any) -> Mapping[str, Any]:
    """Return what metadata say of their one table."""
    description = metadata.to_dict() if hasattr(metadata, "to_dict") else metadata
    if not isinstance(description, Mapping):
        raise TypeError(f"metadata needs an object of SDV or a mapping, got {type(metadata).__name__}")
    tables = description.get("tables", {"": description})
    if not isinstance(tables, Mapping) or len(tables) != 1:
        raise ValueError("metadata needs one table")
    table: Mapping[str, Any] = next(iter(tables.values()))
    columns = table.get("columns") if isinstance(table, Mapping) else None
    if not isinstance(columns, Mapping) or not all(isinstance(column, Mapping) for column in columns.values()):
        raise ValueError(
            'metadata needs the columns of its table, such as {"columns": {"age": {"sdtype": "numerical"}}}'
        )
    return table
