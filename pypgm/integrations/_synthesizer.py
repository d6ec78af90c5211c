"""Base of synthesizers in the style of other packages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pypgm._base.numeric import numpy_seed
from pypgm._synthesizer import Synthesizer
from pypgm.data.draft.column import share_of_each
from pypgm.data.draft.typed import check_there, draft_text, typed_draft
from pypgm.data.schema.schema import Schema, SchemaLike, as_any_schema
from pypgm.data.sources.frames import Frame
from pypgm.data.sources.source import open_source
from pypgm.privacy.rational import Number

if TYPE_CHECKING:
    from typing_extensions import Self

    from pypgm.graphs.evidence import Evidence

_QUANTILES = 16  # bins of a column whose bounds nobody states
Source: TypeAlias = np.random.Generator | int | None


class TableSynthesizer(Synthesizer):
    """A `pypgm.Synthesizer` with a default guarantee, which finds the values of columns without bounds privately.

    Parameters
    ----------
    epsilon, delta : number
        The guarantee for the presence of one person; epsilon in natural logs.
    **options
        ``schema``, ``bounds`` and the other parameters of `pypgm.Synthesizer`.
    """

    def __init__(self, epsilon: Number = 1.0, delta: Number = 1e-9, **options: Any) -> None:
        super().__init__(epsilon, delta, **options)

    def _fit(
        self,
        frame: Frame,
        schema: SchemaLike | None,
        listed: Iterable[str],
        ids: Iterable[str],
        *,
        for_bounds: Fraction = Fraction(0),
        person: Mapping[str, Any] | None = None,
    ) -> Self:
        """Make the release; values of `listed` columns without bounds are found privately, `ids` are never read.

        Bounds of numbers that nobody states are found for a part of the budget, if `for_bounds` is above 0.
        """
        schema = self.schema if schema is None else schema
        if schema is None:
            draft, missing = typed_draft(open_source(frame), self.bounds or {})
            columns = draft["columns"] | {name: {"kind": "id"} for name in ids}
            listed = set(listed)
            check_there("the columns listed name", listed, columns)
            sought = {*listed, *(n for n, c in columns.items() if c["kind"] == "open")} - {*(self.bounds or ())}
            share = share_of_each(len(sought))
            is_open = {n for n in sought if columns[n]["kind"] not in {"boolean", "categorical", "id"}}
            draft["columns"] = columns | {n: {"kind": "open", "share": share, "null": True} for n in is_open}
            unbounded = [n for n in missing if draft["columns"][n]["kind"] in {"integer", "real"} and for_bounds]
            for name in unbounded:
                draft["columns"][name] |= _wide(draft["columns"][name], for_bounds / len(unbounded))
            draft |= {} if person is None else {"person": person}
            missing = [name for name in missing if name not in unbounded]
            left = [name for name in missing if draft["columns"][name]["kind"] not in {"open", "id"}]
            if left:
                needed = f"a schema, or bounds of {', '.join(map(repr, left))}"
                raise ValueError(f"fit needs {needed}. The draft of one, to be completed:\n{draft_text(draft)}")
            schema = Schema.from_dict(draft)
        schema = as_any_schema(schema)
        if isinstance(frame, dict) and not frame:  # a table without rows has no columns here
            frame = {name: [] for name in schema.provisional.reading}
        return self._spend(frame, schema)

    def _sampled(self, rows: int | None, conditions: Evidence | None = None, rng: Source = None) -> Frame:
        """Return records; without `rng` from the random state of NumPy, which users of these packages seed."""
        return Synthesizer.sample(self, rows, conditions, rng=numpy_seed() if rng is None else rng)

    def fit_sample(self, data: Any, *ignore: Any, **options: Any) -> Any:
        """Fit the table, and return about as many records as it has: their exact number is private."""
        self.fit(data, *ignore, **options)
        return self.sample(None)


_WIDEST = 10**15  # whole numbers that a double tells apart


def _wide(column: Mapping[str, Any], share: Fraction) -> dict[str, Any]:
    """Return the bounds and bins of a column of numbers of any magnitude, both to be found privately."""
    bins = {"quantiles": _QUANTILES, "share": str(share), "find_bounds": True}
    return {"kind": column["kind"], "low": -_WIDEST, "high": _WIDEST, "outside": "clip", "bins": bins}
