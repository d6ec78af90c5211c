"""Base of synthesizers in the style of other packages: first fitted, then sampled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pypgm
from pypgm._base.numeric import numpy_seed
from pypgm.data.draft.column import share_of_each
from pypgm.data.draft.typed import draft_text, typed_draft
from pypgm.data.schema.schema import SchemaLike, as_any_schema
from pypgm.data.sources.frames import Frame
from pypgm.data.sources.source import open_source


class TableSynthesizer:
    """A mechanism of pypgm that is fitted once and sampled as often as needed.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee for the presence of one person; epsilon in natural logs.
    schema : schema, mapping or path, optional
        Public knowledge of the columns, as `pypgm.synthesize` takes it.
    bounds : mapping of str to sequence, optional
        Without a schema: the lowest and the highest value of each column of numbers or dates; for other columns a list
        of all values, which are otherwise found privately.
    **options
        Options of `pypgm.synthesize`, such as ``mechanism``, ``neighbours`` and ``workload``.
    """

    _release: pypgm.Release[Any] | None = None

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-9,
        *,
        schema: SchemaLike | None = None,
        bounds: Mapping[str, Sequence[Any]] | None = None,
        **options: Any,
    ) -> None:
        self.epsilon, self.delta, self.schema, self.bounds, self.options = epsilon, delta, schema, bounds, options

    def _fit(self, frame: Frame, schema: SchemaLike | None, listed: Iterable[str], ids: Iterable[str]) -> None:
        """Make the release; values of `listed` columns without bounds are found privately, `ids` are never read."""
        schema = self.schema if schema is None else schema
        if schema is None:
            draft, missing = typed_draft(open_source(frame), self.bounds or {})
            columns = draft["columns"] | {name: {"kind": "id"} for name in ids}
            sought = {*listed, *(n for n, c in columns.items() if c["kind"] == "open")} - {*(self.bounds or ())}
            share = share_of_each(len(sought))
            is_open = {n for n in sought if columns[n]["kind"] not in {"boolean", "categorical", "id"}}
            draft["columns"] = columns | {n: {"kind": "open", "share": share, "null": True} for n in is_open}
            left = [name for name in missing if draft["columns"][name]["kind"] not in {"open", "id"}]
            if left:
                needed = f"a schema, or bounds of {', '.join(map(repr, left))}"
                raise ValueError(f"fit needs {needed}. The draft of one, to be completed:\n{draft_text(draft)}")
            schema = pypgm.Schema.from_dict(draft)
        schema = as_any_schema(schema)
        if isinstance(frame, dict) and not frame:  # a table without rows has no columns here
            frame = {name: [] for name in schema.provisional.reading}
        self._release = pypgm.synthesize(frame, schema, self.epsilon, self.delta, **self.options)

    @property
    def release(self) -> pypgm.Release[Any]:
        """The release of the last fit; ``ValueError`` before."""
        if self._release is None:
            raise ValueError("records can be drawn after fit")
        return self._release

    def _sampled(self, rows: int | None, evidence: Mapping[str, Any] | None = None) -> Frame:
        return self.release.to_frame(rows, numpy_seed(), evidence=evidence)
