"""Calls of a learner up to its first look at the records: they are refused before anything is spent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NoReturn

from pypgm.data import OpenSchema, Schema
from pypgm.data.open_columns import OpenSet
from pypgm.data.source import Source
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.relation import Privacy
from pypgm.privacy.sampler import Sampler
from pypgm.queries import Neighbours


class _Nobody(Source):
    """A table without records that cannot be read, and notes an attempt to."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema)
        self._n_records = 0
        self.was_read = False

    def kept(self, secret: bytes) -> _Nobody:
        """Return the same table, in which nobody has too many records."""
        del secret
        return self

    def _scan(self, cliques: object, tables: object, n_threads: int) -> NoReturn:
        del cliques, tables, n_threads
        self._refuse()

    def _refuse(self) -> NoReturn:
        """Note that all checks have been passed, and go no further."""
        self.was_read = True
        raise RuntimeError("a dry run reads no records")


class _NobodyInRows(_Nobody):
    """A table like `_Nobody` for learners that read single records."""

    def codes_of(self, names: Sequence[str]) -> NoReturn:
        """Note that all checks have been passed, and go no further."""
        del names
        self._refuse()


def check_call(
    learner: Callable[..., object],
    schema: OpenSchema,
    neighbours: Neighbours | Privacy | None,
    budget: Budget,
    options: Mapping[str, Any],
    *,
    has_rows: bool = True,
) -> None:
    """Raise the error of a learner that refuses a call, with the budget that open columns leave, before it is spent.

    A learner checks everything before it reads a record, so it is called on a table that cannot be read, over the
    schema as it is before open columns are settled. A table without rows offers counts alone.

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
        if not nobody.was_read:
            raise
