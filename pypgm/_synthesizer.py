"""A synthesizer with the methods of scikit-learn's estimators: fitted once, then sampled."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pypgm._synthesize import synthesize
from pypgm.data.schema.schema import OpenSchema, Schema, SchemaLike
from pypgm.data.sources.frames import Frame
from pypgm.privacy.rational import Number
from pypgm.release import Release

if TYPE_CHECKING:
    import numpy as np
    from typing_extensions import Self

    from pypgm.graphs.evidence import Evidence

_OF_TYPES = frozenset({"drop", "ids", "outside", "person", "weight"})  # of `Schema.from_types` that no mechanism has


class Synthesizer:
    """A table's private release as an estimator: parameters, then `fit`, then `sample` as often as needed.

    `fit` does what `pypgm.synthesize` does, and `sample` what `Release.to_frame` does. Parameters are attributes,
    which nothing checks before `fit`, so `sklearn.base.clone` and pipelines take it; scikit-learn is not needed.

    Parameters
    ----------
    epsilon, delta : number, optional
        The guarantee; epsilon in natural logs. Each `fit` spends it anew: fitted twice about the same people, the two
        costs add up.
    schema : Schema, Domain, mapping or path, optional
        Public knowledge of the columns; without one, `fit` refuses the table and shows a draft.
    bounds : mapping of str to sequence, optional
        Instead of a schema: lowest and highest value, or all values, of the columns, as for `Schema.from_types`.
    **options
        Further arguments of `pypgm.synthesize`, such as ``mechanism``, ``neighbours``, ``workload`` and ``budget``;
        with bounds also ``drop``, ``ids``, ``person``, ``weight`` and ``outside`` of `Schema.from_types`.

    Attributes
    ----------
    release_ : Release
        The release of the last `fit`: answers, errors, the ledger; ``release_.save(path)`` keeps it. A pickle holds its
        file.

    Examples
    --------
    >>> people = {"age": [31, 7, 44] * 100, "sex": ["F", "M", "F"] * 100}
    >>> schema = {"age": {"kind": "integer", "low": 0, "high": 99, "width": 10}, "sex": ["F", "M"]}
    >>> synthesizer = Synthesizer(epsilon=1, delta=1e-9, schema=schema, mechanism="mst").fit(people)
    >>> synthesizer.release_.guarantee
    'epsilon 1.0, delta 1e-09'
    >>> synthesizer.sample(5, {"sex": "F"})["sex"].tolist()  # doctest: +SKIP
    ['F', 'F', 'F', 'F', 'F']
    """

    release_: Release[Any]
    _of_schema: ClassVar = frozenset({"schema", "bounds"})  # parameters that `synthesize` does not take as options

    def __init__(
        self,
        epsilon: Number | None = None,
        delta: Number | None = None,
        *,
        schema: SchemaLike | None = None,
        bounds: Mapping[str, Sequence[Any]] | None = None,
        **options: Any,  # noqa: ANN401 - those of `synthesize`
    ) -> None:
        if wrong := [name for name in options if name.strip("_") != name or hasattr(type(self), name)]:
            raise TypeError(f"{type(self).__name__} has no parameter {wrong[0]!r}")
        self.epsilon, self.delta, self.schema, self.bounds = epsilon, delta, schema, bounds
        vars(self).update(options)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items() if value is not None)
        return f"{type(self).__name__}({given})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters that were given, and the defaults of the named ones; `deep` changes nothing.

        Examples
        --------
        >>> Synthesizer(1, 1e-9, workload=2).get_params()
        {'epsilon': 1, 'delta': 1e-09, 'schema': None, 'bounds': None, 'workload': 2}
        """
        del deep
        return {name: value for name, value in vars(self).items() if name.strip("_") == name}

    def set_params(self, **params: Any) -> Self:  # noqa: ANN401 - those of the constructor
        """Set parameters, and return the synthesizer; a release that is there stays until the next `fit`.

        Examples
        --------
        >>> Synthesizer(1, 1e-9).set_params(epsilon=2, mechanism="aim")
        Synthesizer(epsilon=2, delta=1e-09, mechanism='aim')
        """
        vars(self).update(vars(type(self)(**self.get_params() | params)))
        return self

    def fit(self, data: Frame, y: None = None) -> Self:
        """Spend the budget on a table, and return the synthesizer.

        Parameters
        ----------
        data : data frame, mapping of str to sequence, path, or whatever else `pypgm.synthesize` takes
        y : None
            For pipelines. A column that others are to predict is a column of the table.

        Raises
        ------
        TypeError
            If there is neither a schema nor bounds, with a draft of a schema; if `y` is given, or an option is unknown.
        ValueError
            As `pypgm.synthesize`, before anything is spent.
        """
        if y is not None:
            raise TypeError("fit takes one table: leave y out, and the target among the columns")
        known = self.schema
        if known is None and self.bounds is not None:
            known = Schema.from_types(data, self.bounds, **self._given(_OF_TYPES))
        return self._spend(data, known)

    def _spend(self, data: Frame, schema: SchemaLike | OpenSchema | None) -> Self:
        """Make the release of a table by a schema, with all parameters but those that the schema comes from."""
        by_types = self.schema is None and self.bounds is not None
        apart = self._of_schema | (_OF_TYPES if by_types else frozenset())
        self.release_ = synthesize(data, schema, **self._given(self.get_params().keys() - apart))
        return self

    def _given(self, names: Collection[str]) -> dict[str, Any]:
        """Return those of some parameters that were given."""
        return {name: value for name, value in self.get_params().items() if name in names}

    def sample(
        self,
        rows: int | None = None,
        conditions: Evidence | None = None,
        *,
        rng: np.random.Generator | int | None = None,
    ) -> Frame:
        """Return synthetic records in the library, the order and the types of the table.

        Parameters
        ----------
        rows : int, optional
            How many; by default about as many as the table had, whose number is private.
        conditions : mapping, optional
            Values of some columns, such as ``{"sex": "F", "age": "30..40"}``: the records are distributed as the
            model's that meet them, and no draw is rejected; see `Release.query`.
        rng : Generator, int or None
            Source of the draws, or its seed.

        Raises
        ------
        ValueError
            Before `fit`.
        """
        return self._fitted.to_frame(rows, rng, evidence=conditions)

    @property
    def _fitted(self) -> Release[Any]:
        if "release_" not in vars(self):
            raise ValueError("records can be drawn after fit")
        return self.release_

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 - of a package that only its caller needs
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(None, TargetTags(required=False), input_tags=InputTags(categorical=True, allow_nan=True))
