"""What all tables have in common that are counted where they are."""

from __future__ import annotations

from pypgm.data.schema import Schema
from pypgm.domain import Domain

__all__ = ["Source"]


class Source:
    """Records of a schema that are not held here: their domain and number, as a private table asks for them.

    Attributes
    ----------
    schema : Schema
        What the columns hold.
    """

    schema: Schema
    _n_records: int

    @property
    def domain(self) -> Domain:
        """Attributes and sizes."""
        return self.schema.domain

    @property
    def n_records(self) -> int:
        """Number of records, when the table was opened."""
        return self._n_records

    @property
    def weights(self) -> None:
        """None: every record counts once."""
        return

    def __len__(self) -> int:
        return self._n_records

    def __repr__(self) -> str:
        inside = repr(self.domain).removeprefix("Domain(")
        return f"{type(self).__name__}({self._n_records} records; {inside}"
