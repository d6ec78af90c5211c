"""A call of a learner up to its first look at the records: its refusals come before anything is spent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NoReturn

from pypgm.data import OpenSchema, Schema
from pypgm.data.counted import CountedTable
from pypgm.data.open_columns import OpenSet
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.relation import Privacy
from pypgm.privacy.sampler import Sampler
from pypgm.queries import Neighbours


class _Nobody(CountedTable):
    """A table of no records that cannot be read, and knows whether somebody tried."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema)
        self._n_records = 0
        self.was_asked = False

    def kept(self, secret: bytes) -> _Nobody:
        """Return the same table: nobody has too many records."""
        del secret
        return self

    def _scan(self, cliques: object, tables: object, n_threads: int) -> NoReturn:
        del cliques, tables, n_threads
        self._asked()

    def _asked(self) -> NoReturn:
        """Note that all checks have been passed, and go no further."""
        self.was_asked = True
        raise RuntimeError("a dry run reads no records")


class _NobodyInRows(_Nobody):
    """A table as above, that a learner may ask for its records too."""

    def codes_of(self, names: Sequence[str]) -> NoReturn:
        """Note that all checks have been passed, and go no further."""
        del names
        self._asked()


def check_call(
    learner: Callable[..., object],
    schema: OpenSchema,
    neighbours: Neighbours | Privacy | None,
    budget: Budget,
    options: Mapping[str, Any],
    *,
    has_rows: bool = True,
) -> None:
    """Raise what a learner refuses of a call, with what open columns leave of a budget, before any of it is spent.

    A learner checks everything before it reads a record, so that it is called on a table that cannot be read: over
    the schema as it is before anything is found. Of one without rows nothing is known but counts.

    Examples
    --------
    >>> from pypgm import OpenSchema, mechanisms
    >>> from pypgm.data import OpenSet
    >>> schema = OpenSchema({"a": 2, "b": OpenSet("1/4")})
    >>> check_call(mechanisms.mst, schema, None, Budget(rho=1), {"iterations": 0})
    Traceback (most recent call last):
    ValueError: iterations must be at least 1, got 0
    """
    nobody = (_NobodyInRows if has_rows else _Nobody)(schema.provisional)
    finds = any(isinstance(column, OpenSet) for column in schema.open.values())
    amount = {budget.unit: budget.limit * (1 - schema.open_share)}
    ledger = Ledger(Budget(**amount, reserved_delta=Fraction(0) if finds else budget.reserved_delta))
    try:
        with PrivateTable(nobody, neighbours, ledger, sampler=Sampler()) as table:
            learner(table, **options)
    except Exception:
        if not nobody.was_asked:
            raise
