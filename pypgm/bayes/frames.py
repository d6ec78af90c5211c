"""Frames of partly known records: columns in, codes out, and back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pypgm.data import Dataset
from pypgm.data.columns.values import as_list, bare
from pypgm.data.sources.encoding import columns_of
from pypgm.data.sources.foreign import guarded
from pypgm.data.sources.frames import as_values as column_values
from pypgm.domain import Domain, Label, listed
from pypgm.graphs.evidence import code_of

MISSING = -1
"""The code of an unknown value."""


class Table(Protocol):
    """Interface of a data frame, such as that of pandas: names of columns, and a column by its name."""

    @property
    def columns(self) -> Iterable[Any]:
        """Names of the columns."""

    def __getitem__(self, name: str, /) -> Any:  # noqa: ANN401 - a column of any library
        ...

    def __len__(self) -> int: ...


Frame: TypeAlias = "Dataset | Mapping[str, Any] | Table"


def as_codes(domain: Domain, frame: Frame, ignored: Collection[str] = ()) -> tuple[int, dict[str, NDArray[np.intp]]]:
    """Return the number of rows of a frame, and codes of its columns, with -1 for missing values.

    Parameters
    ----------
    domain : Domain
    frame : Dataset, data frame, or mapping of str to sequence
        Columns of labels, matched as `Dataset.from_frame` does, or of codes where an attribute has no labels; None,
        NaN, NA, masked entries and empty texts are missing. A data frame is any object that has ``columns`` and gives a
        column by its name, such as that of pandas, or an Arrow table.
    ignored : collection of str
        Columns to leave out.

    Raises
    ------
    ValueError
        If a column is not an attribute, columns differ in length, or a value is not its attribute's; the message names
        column and row, never the value.
    TypeError
        If the object is not a frame.

    Examples
    --------
    >>> as_codes(Domain({"a": ["x", "y"], "b": 3}), {"a": ["y", None], "b": [2, 0]})
    (2, {'a': array([ 1, -1]), 'b': array([2, 0])})
    """
    if isinstance(frame, Dataset):
        extra = [name for name in frame.domain if name not in domain]
        _check_extra(extra, domain)
        return len(frame), {n: _from_dataset(domain, frame, n) for n in frame.columns if n not in ignored}
    names = column_names(frame)
    _check_extra([name for name in names if name not in domain], domain)
    lengths = {name: len(frame[name]) for name in names}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns need equal lengths, got {lengths}")
    codes = {name: _encode(domain, name, frame[name]) for name in names if name not in ignored}
    return (next(iter(lengths.values())) if lengths else len(frame)), codes


def domain_of(frame: Frame) -> Domain:
    """Return the domain of the values in a frame; **not private**: the labels reveal the records.

    Examples
    --------
    >>> dict(domain_of({"a": ["y", None, "x"], "b": [2.0, 1.0, float("nan")]}).labels)
    {'a': ('x', 'y'), 'b': (1, 2)}
    """
    labels_of = {}
    for name in column_names(frame):
        values = {(type(v), v): v for v in map(_label, as_list(column_values(frame[name]))) if v is not None}.values()
        if not values:
            raise ValueError(f"column {name!r} has no value: pass domain=, with its labels")
        is_whole = all(isinstance(v, float) and v.is_integer() for v in values)  # integers with missing values
        labels = [int(v) for v in values if isinstance(v, float)] if is_whole else list(values)
        labels_of[name] = sorted(labels, key=lambda v: (type(v).__name__, v))
    return Domain(labels_of)


def _label(value: object) -> Any:  # noqa: ANN401 - of any kind that can be a label
    given = bare(value.item() if isinstance(value, np.generic) else value)
    return None if given == "" else given if isinstance(given, Label | None) else str(given)


def as_values(domain: Domain, attribute: str, codes: NDArray[np.intp]) -> NDArray[Any]:
    """Return codes as labels, if an attribute has them; codes of -1 become None."""
    labels = domain.labels.get(attribute)
    if labels is None and (codes >= 0).all():
        return codes
    values = np.empty(domain.size(attribute) + 1, dtype=object)
    values[:-1] = labels if labels is not None else range(domain.size(attribute))
    values[-1] = None
    return values[codes]


def like_frame(frame: Frame, columns: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]] | Table:
    """Return columns in a data frame of the same kind and index; unchanged, if the frame was a mapping or Dataset."""
    if isinstance(frame, Mapping | Dataset):
        return columns
    index = getattr(frame, "index", None)
    kind: Any = getattr(type(frame), "from_pydict", type(frame))  # an Arrow table is not made by its class
    made: Table = kind(columns) if index is None else kind(columns, index=index)
    return made


def column_names(frame: Frame) -> list[str]:
    """Return the names of the columns; ``ValueError`` for equal names, ``TypeError`` for any object but a frame."""
    if isinstance(frame, Mapping):
        return list(frame)
    columns = getattr(frame, "columns", None)
    if not isinstance(columns, Iterable):
        raise TypeError(f"a frame must be a mapping of columns, a data frame or a Dataset, got {type(frame)}")
    names = list(columns)
    if not any(isinstance(name, str) for name in names):  # the columns of an Arrow table are the columns themselves
        names = list(getattr(frame, "column_names", names))
    if len(set(names)) != len(names):
        raise ValueError(f"a frame needs columns of different names, got {listed(names)}")
    return names


def _check_extra(extra: list[Any], domain: Domain) -> None:
    if extra:
        raise ValueError(
            f"columns without an attribute in the network: {listed([repr(n) for n in extra])}; it has "
            f"{listed(domain.attributes)}"
        )


def _from_dataset(domain: Domain, data: Dataset, name: str) -> NDArray[np.intp]:
    """Return a column of codes by its labels, which the two domains may have in different orders."""
    mine, theirs = domain.labels.get(name), data.domain.labels.get(name)
    column = data.columns[name].astype(np.intp)
    if mine is None or theirs is None or mine == theirs:
        if data.domain.size(name) != domain.size(name):
            raise ValueError(f"attribute {name!r} needs {domain.size(name)} values, got {data.domain.size(name)}")
        return column
    return np.array([code_of(domain, name, label) for label in theirs], dtype=np.intp)[column]


def _encode(domain: Domain, name: str, column: Sequence[Any] | NDArray[Any]) -> NDArray[np.intp]:
    column_kind = columns_of(domain.project((name,)), with_nulls=True)[name]
    if (n_axes := getattr(column, "ndim", 1)) != 1:  # each element of a list is one value, whatever it is
        raise ValueError(f"column {name!r} needs one dimension, got {n_axes}")
    codes, problem = column_kind.encode(guarded(f"reading column {name!r}", partial(column_values, column)))
    if problem is not None:
        # The column's own words name options of a schema, which a network has not.
        labels = [repr(str(label)) for label in domain.labels.get(name, ())]
        values = f"one of {listed(labels)}" if labels else f"a code from 0 to {domain.size(name) - 1}"
        what = f"needs {values}, or None where it is unknown, and has none of these"
        raise ValueError(problem._replace(what=what).of(name))
    return np.where(codes == column_kind.null_code, MISSING, codes.astype(np.intp))
