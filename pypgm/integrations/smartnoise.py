"""A synthesizer with the methods of SmartNoise's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pypgm._base.numeric import as_generator, numpy_seed
from pypgm.data.schema.schema import SchemaLike, as_schema
from pypgm.integrations._synthesizer import Source, TableSynthesizer

if TYPE_CHECKING:
    from typing_extensions import Self

    from pypgm.graphs.evidence import Evidence

__all__ = ["Synthesizer"]


class Synthesizer(TableSynthesizer):
    """A mechanism of pypgm with the methods of `snsynth.Synthesizer`: ``fit``, ``sample`` and ``fit_sample``.

    ``snsynth.base.synth_map["pypgm"] = {"class": "pypgm.integrations.smartnoise.Synthesizer"}`` lets SmartNoise's own
    ``Synthesizer.create("pypgm", epsilon=1.0)`` make it.

    Examples
    --------
    >>> rows = [("F", True), ("M", False)] * 200
    >>> synthesizer = Synthesizer(epsilon=5.0, schema={"0": ["F", "M"], "1": {"kind": "boolean"}})
    >>> synthesizer.fit(rows)
    >>> len(synthesizer.sample(3))
    3
    """

    _is_frame, _dtype = True, None

    def fit(
        self,
        data: Any,
        *ignore: Any,
        transformer: SchemaLike | None = None,
        categorical_columns: Sequence[Any] = (),
        ordinal_columns: Sequence[Any] = (),
        continuous_columns: Sequence[Any] = (),
        preprocessor_eps: float = 0.0,
        nullable: bool = False,
    ) -> Self:
        """Spend the budget on a table: a data frame, an array, or a list of rows, with columns "0", "1", ….

        Parameters
        ----------
        data : data frame, array or list of tuples
        *ignore
            Not used.
        transformer : schema, mapping or path, optional
            A schema of pypgm, in place of that of the synthesizer.
        categorical_columns, ordinal_columns : list
            Columns whose values are found privately, without a schema and without bounds.
        continuous_columns, preprocessor_eps, nullable
            Not used: bounds are stated, values are found within the budget, and missing values are kept.
        """
        del ignore, continuous_columns, preprocessor_eps, nullable
        if type(transformer).__module__.startswith("snsynth"):
            raise TypeError("fit needs a schema of pypgm as transformer: SmartNoise's have read the records")
        self._dtype = data.dtype if isinstance(data, np.ndarray) else None
        self._is_frame = not isinstance(data, np.ndarray | list)
        listed = map(str, [*categorical_columns, *ordinal_columns])
        return self._fit(data if self._is_frame else _columns(data), transformer, listed, ())

    def sample(self, n_rows: int | None = None, conditions: Evidence | None = None, *, rng: Source = None) -> Any:
        """Return records of the kind given to `fit`, frames in their library; by default as many as were counted."""
        if self._is_frame:
            return self._sampled(n_rows, conditions, rng)
        release, seed = self._fitted, as_generator(numpy_seed() if rng is None else rng)
        schema = as_schema(release.schema or release.model.domain)
        records = release.synthetic_data(n_rows, seed, evidence=conditions)
        rows = [*zip(*schema.decode(records, seed).values(), strict=True)]
        return rows if self._dtype is None else np.array(rows, dtype=self._dtype)


def _columns(data: NDArray[Any] | list[Any]) -> dict[str, Any]:
    """Return the columns of rows or of an array; values of rows keep their types, whatever the others are."""
    if isinstance(data, np.ndarray) and data.ndim == 2:
        return {str(i): column for i, column in enumerate(data.T)}
    return {str(i): list(column) for i, column in enumerate(zip(*data, strict=True))}
