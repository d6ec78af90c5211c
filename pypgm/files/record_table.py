"""Tables of synthetic records, drawn block by block: any part of one can be written by itself, in little memory."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from pypgm._base.numeric import as_generator, checked_integer
from pypgm.data.schema.rules import drawn_by_rules
from pypgm.data.schema.schema import as_schema
from pypgm.data.sources.frames import imported
from pypgm.data.sources.layout import Layout
from pypgm.data.sources.table import Piece, arrow_pieces, pieces_of, write_pieces
from pypgm.models.model import Model
from pypgm.models.record_blocks import BLOCK, Block

if TYPE_CHECKING:
    from pypgm.data import Dataset, Schema
    from pypgm.files.stored_model import ReleasedModel
    from pypgm.graphs.evidence import Evidence


@dataclass(frozen=True)
class RecordTable:
    """Synthetic records of a model as a table.

    Up to `BLOCK` records are those of `synthetic_data`. Larger tables are drawn in blocks, each from a generator of its
    own (see `Model.blocks`); models that draw records independently draw each block so.

    Attributes
    ----------
    model : ReleasedModel
    rows : int
        Number of records.
    rng : numpy.random.Generator or int
        Source of the records. Several parts are those of one table if it is a seed.
    schema, layout
        Values of the records, and the look of the table; codes and a plain look by default.
    evidence : mapping, optional
        See `Model.project`.
    """

    model: ReleasedModel
    rows: int
    rng: np.random.Generator | int
    schema: Schema | None = None
    layout: Layout | None = None
    evidence: Evidence | None = None

    @classmethod
    def of(
        cls,
        content: Any,  # noqa: ANN401 - a release or a model
        rows: int | None = None,
        rng: np.random.Generator | int | None = None,
        evidence: Evidence | None = None,
    ) -> RecordTable:
        """Return the records of a release or a model; by default as many as its total, from any seed."""
        model = getattr(content, "model", content)
        n = checked_integer("rows", round(model.total) if rows is None else rows)
        source = as_generator(rng) if rng is None else rng
        return cls(model, n, source, getattr(content, "schema", None), getattr(content, "layout", None), evidence)

    def write(self, path: str | os.PathLike[str], start: int = 0, stop: int | None = None) -> None:
        """Write the records from one number up to another to a file, as `write_table` does."""
        pieces = partial(self.pieces, start=start, stop=stop)
        write_pieces(pieces, path, self.model.domain, self.schema, layout=self.layout)

    def batches(self, start: int = 0, stop: int | None = None) -> Any:  # noqa: ANN401 - of a package that may be missing
        """Return a reader of pyarrow, which draws the records from one number up to another as it is read."""
        arrow = imported("pyarrow", "a reader of record batches", "parquet")
        whole = as_schema(self.schema or self.model.domain)
        tables = arrow_pieces(partial(self.pieces, start=start, stop=stop), whole, self.layout or Layout())
        first = next(tables)
        batches = (batch for table in chain([first], tables) for batch in table.to_batches() if batch.num_rows)
        return arrow.RecordBatchReader.from_batches(first.schema, batches)

    def part(self, part: int, parts: int) -> tuple[int, int]:
        """Return the numbers of the first record of a part, and of the first one after it."""
        return part * self.rows // parts, (part + 1) * self.rows // parts

    def pieces(self, size: int, start: int = 0, stop: int | None = None) -> Iterator[Piece]:
        """Yield the records from one number up to another, in pieces of whole blocks of which some records are kept."""
        end = self.rows if stop is None else stop
        if start >= end:
            yield Piece(
                {name: np.zeros(0, dtype=np.int64) for name in self.model.domain}, start, np.random.default_rng(0)
            )
            return
        first = start // BLOCK
        for number, block in enumerate(self._blocks(first, -(-end // BLOCK)), first):
            for piece in pieces_of(block.data, block.rng, size, number * BLOCK):
                if piece.start >= end:
                    return
                before, after = max(start - piece.start, 0), min(end - piece.start, size)
                whole = (before, after) == (0, size)
                yield piece if whole else piece._replace(kept=slice(before, max(before, after)))

    def _blocks(self, first: int, last: int) -> Iterator[Block]:
        """Yield blocks of records that keep the rules of the schema."""
        if self.drawn_at_once is not None:
            data, rng = self.drawn_at_once.data, copy.deepcopy(self.drawn_at_once.rng)
            yield Block(self._by_rules(data, rng), rng)
            return
        for data, rng in self._drawn(first, last):
            yield Block(self._by_rules(data, rng), rng)

    @cached_property
    def drawn_at_once(self) -> Block | None:
        """All records if they are one block, before others replace those that break rules, and the generator after."""
        if self.rows > BLOCK:
            return None
        rng = as_generator(self.rng)
        return Block(self.model.synthetic_data(self.rows, rng, **self._given), rng)

    @cached_property
    def _given(self) -> dict[str, Any]:
        return {"evidence": self.evidence} if self.evidence else {}

    @cached_property
    def _drawn(self) -> Callable[[int, int], Iterator[Block]]:
        """A function of two block numbers, which yields the blocks from one up to the other."""
        seed = int(as_generator(self.rng).integers(2**63))
        if isinstance(self.model, Model):
            return self.model.blocks(self.rows, seed, evidence=self.evidence)
        return partial(self._independent, seed)

    def _independent(self, seed: int, first: int, last: int) -> Iterator[Block]:
        for number in range(first, last):
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
            rows = min(BLOCK, self.rows - number * BLOCK)
            yield Block(self.model.synthetic_data(rows, rng, **self._given), rng)

    def _by_rules(self, data: Dataset, rng: np.random.Generator) -> Dataset:
        """Return the records of a block, with others for those that break rules."""
        if self.schema is None:
            return data
        more = partial(self.model.synthetic_data, rng=rng, **self._given)
        return drawn_by_rules(self.schema.rules, self.schema.columns, lambda n: data if n is None else more(rows=n))
