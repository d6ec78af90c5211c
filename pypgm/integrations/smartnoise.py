"""A synthesizer with the methods of SmartNoise's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pypgm._base.numeric import as_generator, numpy_seed
from pypgm.data.schema.schema import SchemaLike, as_schema
from pypgm.integrations._synthesizer import Source, TableSynthesizer
from pypgm.mechanisms.tables import mechanism_names, needs_more
from pypgm.privacy.rational import Number, as_fraction

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
    >>> _ = synthesizer.fit(rows)
    >>> len(synthesizer.sample(3))
    3
    """

    _is_frame, _dtype = True, None

    def __init__(self, epsilon: Number = 1.0, delta: Number = 1e-9, *, verbose: bool = False, **options: Any) -> None:
        super().__init__(epsilon, delta, **({"progress": True} if verbose else {}), **options)

    @classmethod
    def create(cls, synth: str, epsilon: Number = 1.0, delta: Number = 1e-9, **options: Any) -> Self:
        """Return a synthesizer by the name of its mechanism, as `snsynth.Synthesizer.create` does.

        Parameters
        ----------
        synth : str
            One of `list_synthesizers`, in upper or lower case.
        epsilon, delta, **options
            Parameters of the synthesizer.

        Raises
        ------
        ValueError
            If there is no such mechanism.

        Examples
        --------
        >>> Synthesizer.create("mst", epsilon=1.0).get_params()["mechanism"]
        'mst'
        """
        if str(synth).lower() not in cls.list_synthesizers():
            raise ValueError(f"synth must be one of {', '.join(cls.list_synthesizers())}, got {synth!r}")
        return cls(epsilon, delta, mechanism=str(synth).lower(), **options)

    @classmethod
    def list_synthesizers(cls) -> list[str]:
        """Return the names that `create` takes.

        Examples
        --------
        >>> {"aim", "mst", "mwem", "wide"} <= {*Synthesizer.list_synthesizers()}
        True
        """
        return [name for name in mechanism_names() if not needs_more(name)]

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
        continuous_columns, nullable
            Not used: types say which columns have numbers, and missing values are kept.
        preprocessor_eps : number
            What of `epsilon` may be spent on the bounds of columns of numbers that have neither a schema nor bounds;
            without it they are refused. Of each column, half is for bounds among powers of 2, and half for bins of
            about equally many records.
        """
        del ignore, continuous_columns, nullable
        part = as_fraction("preprocessor_eps", preprocessor_eps) / as_fraction("epsilon", self.epsilon or 1)
        if not 0 <= part < 1:
            raise ValueError(
                f"preprocessor_eps must be from 0 to below epsilon, {self.epsilon}, got {preprocessor_eps}"
            )
        if type(transformer).__module__.startswith("snsynth"):
            raise TypeError("fit needs a schema of pypgm as transformer: SmartNoise's have read the records")
        self._dtype = data.dtype if isinstance(data, np.ndarray) else None
        self._is_frame = not isinstance(data, np.ndarray | list)
        for columns in (categorical_columns, ordinal_columns):
            if isinstance(columns, str | bytes) or not isinstance(columns, Iterable):
                raise TypeError(f"fit needs lists of columns, got {columns!r}")
        listed = map(str, [*categorical_columns, *ordinal_columns])
        return self._fit(data if self._is_frame else _columns(data), transformer, listed, (), for_bounds=part)

    def sample(
        self,
        n_rows: int | None = None,
        conditions: Evidence | None = None,
        *,
        samples: int | None = None,
        rng: Source = None,
    ) -> Any:
        """Return records of the kind given to `fit`, frames in their library; by default as many as were counted.

        `samples` is another name of `n_rows`.
        """
        n_rows = samples if n_rows is None else n_rows
        if self._is_frame:
            return self._sampled(n_rows, conditions, rng)
        release, seed = self._fitted, as_generator(numpy_seed() if rng is None else rng)
        schema = as_schema(release.schema or release.model.domain)
        records = release.synthetic_data(n_rows, seed, evidence=conditions)
        rows = [*zip(*schema.decode(records, seed).values(), strict=True)]
        return rows if self._dtype is None else np.array(rows, dtype=self._dtype)

    def sample_conditional(
        self, n_rows: int, condition: str | Evidence, max_tries: int = 100, column_names: Sequence[str] | None = None
    ) -> Any:
        """Return records that meet a condition, distributed as the model's that meet it; no draw is rejected.

        Parameters
        ----------
        n_rows : int
        condition : str or mapping
            ``"sex = 'F' AND region = 'north'"``, or values of columns as for `sample`.
        max_tries, column_names
            Not used.

        Raises
        ------
        ValueError
            If a text has anything but equalities joined by AND.
        """
        del max_tries, column_names
        return self.sample(n_rows, _conditions(condition) if isinstance(condition, str) else condition)


_EQUALITY = re.compile(  # linear in the text: no two repetitions that meet can take the same character
    r"""\s*(?:"([^"]+)"|`([^`]+)`|\[([^]]+)\]|(\w+(?:[ ]+\w+)*))\s*==?\s*(?:'((?:[^']|'')*)'|"([^"]*)"|([^\s'"]+))\s*"""
)
_AND = re.compile("and(?!\\w)", re.IGNORECASE)


def _conditions(text: str) -> dict[str, str]:
    """Return the values of columns in equalities of SQL."""
    values: dict[str, str] = {}
    end = 0
    while match := _EQUALITY.match(text, end):
        name, value = (part for part in match.groups() if part is not None)
        value = value if match[5] is None else value.replace("''", "'")
        if values.setdefault(name, value) != value:
            raise ValueError(f"condition needs one value of {name!r}, got {values[name]!r} and {value!r}")
        if match.end() == len(text):
            return values
        if (joined := _AND.match(text, match.end())) is None:
            break
        end = joined.end()
    raise ValueError("condition needs equalities joined by AND, as \"sex = 'F' AND region = 'north'\", or a mapping")


def _columns(data: NDArray[Any] | list[Any]) -> dict[str, Any]:
    """Return the columns of rows or of an array; values of rows keep their types, whatever the others are."""
    if isinstance(data, np.ndarray) and data.ndim == 2:
        return {str(i): column for i, column in enumerate(data.T)}
    if not all(hasattr(row, "__len__") and not isinstance(row, str | bytes) for row in data):
        raise TypeError("a list of rows needs a sequence of values for each, such as ('F', 31)")
    if len(lengths := {len(row) for row in data}) > 1:
        raise ValueError(f"rows need equal lengths, got {min(lengths)} to {max(lengths)} values")
    return {str(i): list(column) for i, column in enumerate(zip(*data, strict=True))}
