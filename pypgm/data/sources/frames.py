"""Data frames in and out: pandas, polars, pyarrow, and whatever speaks Arrow."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Set
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.values import EXACT, Values, beyond_unit, is_missing
from pypgm.data.sources.foreign import guarded

Library = Literal["pandas", "polars", "pyarrow"]
Frame: TypeAlias = Any


def as_columns(frame: object) -> dict[str, Values]:
    """Return the columns of a table: arrays, with None, NaN or NaT for missing values.

    Times in a zone are read as its clocks show them.

    Parameters
    ----------
    frame : mapping of str to sequence, or data frame
        Frame of pandas, polars, pyarrow, or any other library that narwhals knows or that offers the Arrow C stream
        (which needs pyarrow).

    Raises
    ------
    TypeError
        If it is not of one of these kinds, or a name is not a text.
    ValueError
        If two columns of a frame have one name.
    ImportError
        If it is a frame, and narwhals is not installed.

    Examples
    --------
    >>> as_columns({"age": [31, 7]})
    {'age': [31, 7]}
    """
    if isinstance(frame, Mapping):
        check_columns(frame)
        return {name: _guarded(name, partial(as_values, values)) for name, values in frame.items()}
    frame = collected(frame)
    check_frame(frame)
    narwhals = imported("narwhals", "a data frame", "frames")
    try:
        known = narwhals.from_native(frame, eager_only=True)
    except TypeError:
        known = narwhals.from_arrow(frame, backend=imported("pyarrow", "the Arrow C stream", "frames"))
    return {name: _guarded(name, partial(_values, known[name])) for name in known.columns}


def check_columns(columns: Mapping[str, object]) -> None:
    """Raise ``TypeError`` if a column is not a sequence of values, as a set or a text is none."""
    for name, values in columns.items():
        is_series = hasattr(values, "__len__") or hasattr(values, "__array__")
        if isinstance(values, str | bytes | Mapping | Set) or not is_series or getattr(values, "ndim", 1) == 0:
            kind = type(values).__name__
            raise TypeError(f"column {name!r} needs a list or an array, a value for each record, got {kind}")


def check_frame(frame: object) -> None:
    """Raise an error, as `as_columns` does, unless an object is a frame whose columns have different names."""
    narwhals = imported("narwhals", "a data frame", "frames")
    if not hasattr(frame, "collect_schema"):  # libraries without it allow a name twice
        columns = getattr(frame, "columns", ())
        is_index = type(columns).__name__.endswith("Index")
        _check_names(columns if is_index else getattr(frame, "column_names", ()))
    is_series = narwhals.from_native(frame, series_only=True, pass_through=True) is not frame
    is_frame = not is_series and narwhals.from_native(frame, pass_through=True) is not frame
    if is_series or not (is_frame or hasattr(frame, "__arrow_c_stream__")):
        needed = "a mapping of columns, or a data frame of pandas, polars, pyarrow or the Arrow C stream"
        way_in = "; a series is one column: its to_frame() is a table" if is_series else _way_in(frame)
        raise TypeError(f"a table needs {needed}, got {type(frame).__name__}{way_in}")


def collected(frame: Frame) -> Frame:
    """Return the frame, collected if it is lazy."""
    is_lazy = hasattr(frame, "collect_schema") and hasattr(frame, "collect") and not isinstance(frame, type)
    return guarded("collecting the frame", frame.collect) if is_lazy else frame


def _way_in(given: object) -> str:
    """Return a hint how to make a frame of an array or of a list of records."""
    if isinstance(given, np.ndarray):
        return "; an array has no names of columns: pandas.DataFrame(array, columns=[...]) gives them"
    if isinstance(given, list | tuple) and given and isinstance(given[0], Mapping):
        return " of records; pandas.DataFrame(records) makes a frame of them"
    return ""


def _guarded(name: object, step: Callable[[], Values]) -> Values:
    return guarded(f"reading column {name!r}", step)


def _check_names(names: Iterable[object]) -> None:
    """Raise an error unless the names of a frame are different texts; pandas allows any objects."""
    seen: set[object] = set()
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"names of columns are text, got {name!r}: rename the columns of the frame")
        if name in seen:
            raise ValueError(f"the frame has more than one column {name!r}")
        seen.add(name)


def as_frame(
    columns: Mapping[str, NDArray[Any]],
    library: Library = "pandas",
    *,
    places: Mapping[str, NDArray[np.intp]] | None = None,
) -> Frame:
    """Return columns as a data frame; mixed columns, such as "other" and numbers, become texts.

    Parameters
    ----------
    columns : mapping of str to ndarray
        None, NaN and NaT are nulls.
    library : {"pandas", "polars", "pyarrow"}
        Library of the frame; it must be installed.
    places : mapping of str to ndarray of int, optional
        For columns that hold each value once, the place of the value of each row.

    Raises
    ------
    ValueError
        If the library is another one.
    ImportError
        If the library is not installed.
    """
    check_library(library)
    module = imported(library, "such a frame", "frames")
    make = module.table if library == "pyarrow" else module.DataFrame
    if library == "polars":  # which has no times in whole seconds
        columns = {n: c.astype("M8[ms]") if c.dtype == "M8[s]" else c for n, c in columns.items()}
    made = {n: _of_objects(module, c) if c.dtype == object else c for n, c in columns.items()}
    for name, rows in (places or {}).items():
        values = made[name]
        if isinstance(values, list):
            values = module.Series(values) if library == "polars" else module.array(values)
        made[name] = getattr(values, "array", values).take(rows) if library != "polars" else values[rows]
    return make(made)


def check_library(library: object) -> None:
    """Raise ``ValueError`` unless frames of the library are supported."""
    if library not in get_args(Library):
        raise ValueError(f"library must be 'pandas', 'polars' or 'pyarrow', got {library!r}")


def _of_objects(module: Any, column: NDArray[Any]) -> Any:  # noqa: ANN401 - of a package that may be missing
    """Return objects as an array or list that a frame makes a column of their kind from."""
    values = column.tolist()
    kinds = {type(value) for value in values if value is not None}
    if str in kinds and len(kinds) > 1:
        values = [value if value is None else str(value) for value in values]
    if module.__name__ != "pandas":
        return values  # Arrow and polars infer types of objects from a list alone
    nullable = {int: "Int64", bool: "boolean"}.get(*kinds) if len(kinds) == 1 else None
    return module.array(values, nullable) if nullable else module.Series(values, dtype=object).infer_objects()


def imported(module: str, what: str, extra: str) -> Any:  # noqa: ANN401 - a module that may be missing has no type
    """Import a package that is an extra; ``ImportError`` says which one."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f"{what} needs {module.partition('.')[0]}: pip install pypgm[{extra}]") from None


def as_values(values: Any) -> Values:  # noqa: ANN401 - a column of any library
    """Return a column of a mapping: a series as an array, anything else unchanged."""
    if isinstance(values, list | tuple | np.ndarray) or not hasattr(values, "__array__"):
        given: Values = values
        return given
    if hasattr(values, "__arrow_c_array__"):  # one array of Arrow
        values = imported("pyarrow", "an array of Arrow", "frames").chunked_array([values])
    try:
        narwhals = importlib.import_module("narwhals")
        return _values(narwhals.from_native(values, series_only=True))
    except (ImportError, TypeError):
        return list(values)


def _values(series: Any) -> Values:  # noqa: ANN401 - a column of any library
    """Return a column as an array; of objects where it holds text, exact decimals, or large integers with nulls.

    The type of the array may depend on the values, the meaning of each value does not.
    """
    array: NDArray[Any]
    if str(series.dtype) == "Categorical" and (decoded := _decoded(series.to_native())) is not None:
        return decoded
    is_wide = str(series.dtype).startswith(("Decimal", "Int128", "UInt128"))  # which no array of numbers holds
    is_plain = not is_wide and (series.dtype.is_numeric() or str(series.dtype) == "Boolean")
    if is_plain and series.null_count() == 0:
        array = series.to_numpy()
        if array.dtype.kind in "biuf":
            return array
    elif is_plain and _are_doubles(series):
        array = (series * 1.0).to_numpy()
        return array
    if str(series.dtype) == "Date" and (array := series.to_numpy()).dtype.kind == "M":
        return array.astype("datetime64[D]")
    if _has_times(series):
        array = series.dt.replace_time_zone(None).to_numpy()
        return array if beyond_unit(array, "us").any() else array.astype("datetime64[us]")
    values = np.empty(len(series), dtype=object)
    values[:] = series.to_list()
    if series.null_count():
        values[series.is_null().to_numpy()] = None  # of one type, as nulls of several kinds take longer to look up
    return values


def _decoded(native: Any) -> Values | None:  # noqa: ANN401 - a column of any library
    """Return the values of a categorical column of pandas or Arrow, of the type of its categories."""
    if hasattr(getattr(native, "type", None), "value_type"):
        return as_values(native.cast(native.type.value_type))
    if not hasattr(getattr(native, "cat", None), "codes"):
        return None
    values = [*native.cat.categories.tolist(), None]
    labels = np.empty(len(values), dtype=object)
    labels[:] = values
    decoded: NDArray[Any] = labels[native.cat.codes.to_numpy()]
    return decoded


def _are_doubles(series: Any) -> bool:  # noqa: ANN401 - a column of any library
    """Return whether doubles hold all numbers of a column with nulls exactly."""
    if series.dtype.is_float():
        return str(series.dtype) != "Float16"  # Arrow multiplies no halves
    lowest, highest = (series.min(), series.max()) if series.dtype.is_integer() else (None, None)
    if lowest is None or highest is None or is_missing(lowest):  # pandas' NA where all are missing
        return False
    return bool(lowest > -EXACT and highest < EXACT)


def _has_times(series: Any) -> bool:  # noqa: ANN401 - a column of any library
    """Return whether a column holds times; narwhals does not know those of every zone of pandas."""
    zone = getattr(getattr(series.to_native(), "dtype", None), "tz", None)
    return zone is not None or str(series.dtype).startswith("Datetime")
