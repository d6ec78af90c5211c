"""Layouts of tables: library, order of the columns and their types; records in the same layout."""

from __future__ import annotations

import contextlib
import datetime
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.bins import Binned
from pypgm.data.columns.categorical import Categorical
from pypgm.data.columns.column import Column
from pypgm.data.columns.made import Cells
from pypgm.data.columns.values import is_missing
from pypgm.data.sources.dialect import COMMAS, Dialect, DialectOptions
from pypgm.data.sources.files import check_encoding
from pypgm.data.sources.frames import Frame, Library, as_frame, check_columns, check_frame, check_library, imported
from pypgm.data.sources.objects import clocks_of, is_of_objects, objects_of
from pypgm.data.sources.type_values import in_natural_order, values_in_arrow, with_enums
from pypgm.domain import Label

Family = Literal["bool", "int", "float", "decimal", "date", "time", "text", "category", "any"]

_FAMILIES: tuple[tuple[str, Family], ...] = (  # how the names of types begin, in all three libraries
    (r"bool", "bool"),
    (r"u?int\d", "int"),
    (r"float|double|halffloat", "float"),
    (r"decimal", "decimal"),
    (r"date(32|64)?(\[(day|ms)\].*)?$", "date"),
    (r"datetime|timestamp", "time"),
    (r"str|large_string|utf8", "text"),
    (r"(ordered )?category|categorical|enum|dictionary", "category"),
)
PANDAS_ORDERED = "ordered category"
"""Type of categories of pandas that have an order."""
_ENUM = " (Enum)"  # behind a type of Arrow that Polars notes to be one
_OWN = re.compile(r"U?Int\d+|Float\d+|boolean|string(\[\w+\])?")  # of pandas, and of nobody else
_NO_NULLS = re.compile(r"u?int\d+|bool")  # types of NumPy
_OFFSET = re.compile(r"(?:UTC)?([+-])(\d\d):(\d\d)")
_PANDAS_TIME = re.compile(r"datetime64\[(\w+), (.+)\]")
_POLARS_TIME = re.compile(r"Datetime\(time_unit='(\w+)', time_zone=(?:None|'(.+)')\)")
_POLARS_SPAN = re.compile(r"Duration\(time_unit='(\w+)'\)")
_POLARS_DECIMAL = re.compile(r"Decimal\(precision=(\d+|None), scale=(\d+)\)")
_ARROW_TIME = re.compile(r"timestamp\[(\w+)(?:, tz=(.+))?\]")
_ARROW_DECIMAL = re.compile(r"decimal(\d+)\((\d+), (-?\d+)\)")
_ARROW_DICTIONARY = re.compile(r"dictionary<values=(.+), indices=(\w+), ordered=([01])>")
_INDICES = re.compile(r"(?<=, indices=)\w+(?=, ordered=)")  # of a dictionary, as wide as its number of values needs


@dataclass(frozen=True)
class Layout:
    """Library of a table, its columns in their order, and their types.

    It counts as public, as a schema does, and holds nothing of the records: the categories of a categorical type are
    left out, since they may be values of the records, and so is the width of a dictionary's indices, which tells their
    number. Of a type that declares them in an order, the order of those in the schema is kept. Types that a reader
    guesses from the records are not public: read with declared ones.

    Attributes
    ----------
    library : {"pandas", "polars", "pyarrow"}
        Library of the frame; "pyarrow" for a file or an engine's table that knows its types.
    types : mapping of str to str
        Type of each column, by the library's name; empty if there is none, as in a CSV file.
    dialect : Dialect
        Marks of a CSV file.
    pandas : mapping of str to str
        Types that only pandas has, such as "Int64" and "boolean", of columns of a Parquet file that it wrote.
    orders : mapping of str to sequence
        Values of the schema in the order of a type that declares one: see `with_orders`.
    crlf : bool
        Whether lines of a CSV file end in CR and LF.

    Raises
    ------
    ValueError
        If the library is another one, no CSV file is written like that, or pandas has no such types.

    Examples
    --------
    >>> import pandas  # doctest: +SKIP
    >>> Layout.of(pandas.DataFrame({"age": [31, 7]}))  # doctest: +SKIP
    Layout(library='pandas', types={'age': 'int64'})
    """

    library: Library = "pandas"
    types: Mapping[str, str] = field(default_factory=dict)
    dialect: Dialect = COMMAS
    pandas: Mapping[str, str] = field(default_factory=dict)
    orders: Mapping[str, Sequence[Label]] = field(default_factory=dict)
    crlf: bool = False

    def __post_init__(self) -> None:
        check_library(self.library)
        if not all(map(_OWN.fullmatch, self.pandas.values())):
            raise ValueError("pandas needs types that only it has, such as 'Int64'")
        self.dialect.check()
        check_encoding(self.dialect.encoding)
        object.__setattr__(self, "orders", {name: tuple(values) for name, values in self.orders.items()})
        for name in ("types", "pandas", "orders"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @classmethod
    def of(cls, frame: Frame) -> Layout:
        """Return the layout of a data frame, with rows or without; others than the three have that of Arrow."""
        root = type(frame).__module__.partition(".")[0]
        if root == "pandas":
            return cls("pandas", {name: _of_pandas(frame[name].dtype) for name in frame.columns})
        if root == "polars":
            return cls("polars", {name: _of_polars(kind) for name, kind in frame.collect_schema().items()})
        if root != "pyarrow":
            narwhals = imported("narwhals", "a data frame", "frames")
            frame = narwhals.from_native(frame, eager_only=True).head(0).to_arrow()
        return cls.of_arrow(frame.schema)

    @classmethod
    def of_arrow(cls, schema: Any) -> Layout:  # noqa: ANN401 - of a package that may be missing
        """Return the layout of an Arrow schema."""
        pandas_types: dict[str, str] = {}
        with contextlib.suppress(Exception):  # a note of pandas that is none
            noted = (schema.pandas_metadata or {}).get("columns", ())
            pandas_types = {entry["field_name"]: entry["numpy_type"] for entry in noted}
            pandas_types = {
                name: kind for name, kind in pandas_types.items() if name in schema.names and _OWN.fullmatch(kind)
            }
        enums = values_in_arrow(schema)
        types = {entry.name: _of_arrow(entry.type) + _ENUM * (entry.name in enums) for entry in schema}
        return cls("pyarrow", types, pandas=pandas_types)

    def frame(self, cells: Mapping[str, Cells], *, keeps_nulls: bool | None = None) -> Frame:
        """Return records as a frame of this layout.

        A column whose type cannot hold every value gets one that can: texts, if "other" may stand between numbers.

        Parameters
        ----------
        cells : mapping of str to Cells
            Cells of the columns, as from `Schema.cells`.
        keeps_nulls : bool, optional
            Whether kinds of missing values that are told apart are written as they were, where a type holds that; by
            default where a type has no nulls.
        """
        module = imported(self.library, "such a frame", "frames")
        made = {
            name: _series(module, self.types.get(name, ""), cells[name], keeps_nulls, self.orders.get(name, ()))
            for name in self.order(cells)
        }
        if self.library != "pyarrow":
            return module.DataFrame(made)
        pandas_types = {name: kind for name, kind in self.pandas.items() if name in made}
        noted = [{"name": n, "field_name": n, "pandas_type": k, "numpy_type": k} for n, k in pandas_types.items()]
        note = {"columns": noted, "index_columns": [], "column_indexes": []}
        table = module.table(made, metadata={"pandas": json.dumps(note)} if noted else None)
        enums = [name for name in made if _is_enum(self.types.get(name, "")) and hasattr(made[name], "dictionary")]
        return table.cast(with_enums(table.schema, {name: made[name].dictionary.to_pylist() for name in enums}))

    @property
    def line_end(self) -> str:
        """End of the lines of a CSV file."""
        return "\r\n" if self.crlf else "\n"

    def order(self, names: Iterable[str]) -> list[str]:
        """Return names of columns in the order of the layout, unknown ones at the end.

        Examples
        --------
        >>> Layout(types={"b": "", "a": ""}).order(["a", "b", "c"])
        ['b', 'a', 'c']
        """
        places = {name: i for i, name in enumerate(self.types)}
        return sorted(names, key=lambda name: places.get(name, len(places)))

    def with_orders(self, listed: Mapping[str, Sequence[Label]], example: Mapping[str, Cells]) -> Layout:
        """Return this layout with the order that types declare of values in a schema; of others nothing is kept.

        Parameters
        ----------
        listed : mapping of str to sequence
            Values of each column whose type lists them, see `values_of_types`.
        example : mapping of str to Cells
            Cells of the columns for any records.
        """
        # A type that lists some of the values only may list those of the records: its order is not kept.
        labels = {name: {str(label) for label in cells.column.value_labels or ()} for name, cells in example.items()}
        orders = {
            name: tuple(value for value in values if str(value) in labels[name])
            for name, values in listed.items()
            if name in labels and labels[name] <= set(map(str, values))
        }
        return replace(self, orders={name: values for name, values in orders.items() if values})

    def in_library(self, library: Library, example: Mapping[str, Cells]) -> Layout:
        """Return this layout converted to another library's types.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}
        example : mapping of str to Cells
            Cells of the columns for any records.
        """
        if library == self.library:
            return self
        pandas_types = self.pandas if library == "pandas" else {}
        types = {name: pandas_types.get(name) or self._type_in(library, name, example) for name in self.types}
        noted = {n: k for n, k in self.types.items() if _OWN.fullmatch(k)} if self.library == "pandas" else {}
        return replace(self, library=library, types=types, pandas=noted)

    def _type_in(self, library: Library, name: str, example: Mapping[str, Cells]) -> str:
        """Return the type of a column in a library; empty if it has none."""
        if not self.types[name] or name not in example:
            return ""
        if library == "polars" and _is_enum(self.types[name]):
            return "Enum"
        with contextlib.suppress(Exception):  # a package is missing, or a library has an error of its own
            narwhals = imported("narwhals", "such a frame", "frames")
            frame = replace(self, pandas={}).frame({name: example[name]})
            table = narwhals.from_native(frame, eager_only=True).to_arrow()
            if library == "polars":
                return Layout.of(imported("polars", "such a frame", "frames").from_arrow(table)).types[name]
            kind = Layout.of_arrow(table.schema).types[name]
            if library == "pyarrow" or family_of(kind) == "decimal":
                return kind if library == "pyarrow" else f"{kind}[pyarrow]"
            return Layout.of(table.to_pandas(date_as_object=False)).types[name]
        return ""

    def in_arrow(self, example: Mapping[str, Cells]) -> Layout:
        """Return the layout of a Parquet file: every column has a type."""
        arrow = imported("pyarrow", "a Parquet file", "parquet")
        arrow_layout = self.in_library("pyarrow", example)
        columns = {name: example[name].column for name in self.order(example)}
        held = {n: kind for n, c in columns.items() if (kind := arrow_layout.types.get(n)) and _holds(arrow, kind, c)}
        types = {name: held.get(name) or _natural(arrow, column) for name, column in columns.items()}
        pandas_types = {name: kind for name, kind in arrow_layout.pandas.items() if name in held}
        return Layout("pyarrow", types, pandas=pandas_types, orders=self.orders)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of a release file."""
        pandas = {"pandas": dict(self.pandas)} if self.pandas else {}
        orders = {"orders": {name: list(values) for name, values in self.orders.items()}} if self.orders else {}
        crlf = {"crlf": True} if self.crlf else {}
        return {"library": self.library, "types": dict(self.types), **self.dialect.stored, **pandas, **orders, **crlf}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Layout:
        """Return the layout that a release file has stored."""
        marks = {name: value for name, value in fields.items() if name in DialectOptions.__annotations__}
        rest = {name: value for name, value in fields.items() if name not in marks}
        return cls(**rest, dialect=Dialect(**marks))


def layout_of(source: Frame) -> Layout:
    """Return the layout of a frame, a relation or an engine's table; no record is read."""
    if isinstance(source, Mapping):
        check_columns(source)
        kinds = {name: _of_arrow(getattr(values, "dtype", "")) for name, values in source.items()}
        return Layout(types={name: kind if family_of(kind) != "any" else "" for name, kind in kinds.items()})
    package = type(source).__module__.partition(".")[0]
    if package == "ibis":
        return Layout.of_arrow(source.schema().to_pyarrow())
    if package in {"duckdb", "_duckdb"}:
        return Layout.of(source.limit(0).to_arrow_table())
    check_frame(source)
    return Layout.of(source)


def _of_pandas(kind: object) -> str:
    return PANDAS_ORDERED if getattr(kind, "ordered", False) else _of_arrow(kind)


def _of_arrow(kind: object) -> str:
    return _INDICES.sub("int32", str(kind))


def _of_polars(kind: object) -> str:
    name = str(kind)
    return name.partition("(")[0] if name.startswith(("Enum", "Categorical")) else name


def family_of(kind: str) -> Family:
    """Return the family of a type; "any" if it is unknown and the column decides."""
    return next((family for start, family in _FAMILIES if re.match(start, kind.lower())), "any")


def is_ordered(kind: str) -> bool:
    """Return whether a type is that of categories in an order, in any library.

    Examples
    --------
    >>> is_ordered("ordered category"), is_ordered("dictionary<values=string, indices=int32, ordered=0>")
    (True, False)
    """
    return kind in {PANDAS_ORDERED, "Enum"} or kind.removesuffix(_ENUM).endswith(", ordered=1>")


def _is_enum(kind: str) -> bool:
    return kind == "Enum" or kind.endswith(_ENUM)


def decimals_of(kind: str) -> int | None:
    """Return the number of decimals of a type; None if it has none.

    Examples
    --------
    >>> decimals_of("decimal128(10, 2)"), decimals_of("Decimal(precision=10, scale=2)"), decimals_of("double")
    (2, 2, None)
    """
    match = _ARROW_DECIMAL.match(kind) or _POLARS_DECIMAL.match(kind)
    return int(match[match.lastindex or 0]) if match else None


def _series(module: Any, kind: str, cells: Cells, keeps_nulls: bool | None, order: Sequence[Label]) -> Any:  # noqa: ANN401
    """Return the values of codes as a series of a library, of a type if that holds all values of the column."""
    column = cells.column
    if kind == "object" and column.objects:
        kind = f"object[{column.objects}]"
    if family_of(kind) == "category" and cells.values is not None and not isinstance(column, Binned):
        distinct = {text: code for code, text in enumerate(dict.fromkeys(cells.values.tolist()))}
        column = Categorical(list(distinct), other=not distinct)
        cells = Cells(column, np.array([distinct[text] for text in cells.values.tolist()], dtype=np.int64))
    if keeps_nulls is None:  # a type without nulls had the numbers that mean them
        is_full = module.__name__ == "pandas" and bool(_NO_NULLS.fullmatch(kind))
        keeps_nulls = is_full and None not in column.null_values(family_of(kind))
    keeps_nulls = bool(kind and keeps_nulls) and _holds(module, kind, column, keeps_nulls=True)
    if kind and not keeps_nulls and not _holds(module, kind, column):
        kind = "object" if is_of_objects(kind) else ""
    if not kind and _is_mixed(column):
        kind = {"pandas": "str", "polars": "String", "pyarrow": "string"}[module.__name__]
    if not kind:
        return as_frame({"": _values(cells, "", ())}, module.__name__)[""]
    return _typed(module, kind, cells, keeps_nulls, order)


def _holds(module: Any, kind: str, column: Column, *, keeps_nulls: bool = False) -> bool:  # noqa: ANN401
    """Return whether a type holds every value of a column: tried with those it may have, not with those it has."""
    if not column.fits(family_of(kind)):
        return False
    try:
        _typed(module, kind, Cells(column, *column.extremes()), keeps_nulls)
    except Exception:  # each library has errors of its own
        return False
    return True


def _typed(module: Any, kind: str, cells: Cells, keeps_nulls: bool, order: Sequence[Label] = ()) -> Any:  # noqa: ANN401
    """Return the values of codes as a series of a type, or of the one like it that has nulls."""
    column = cells.column
    nulls = column.null_values(family_of(kind)) if keeps_nulls else [None] * len(column.null_codes)
    if module.__name__ == "pandas" and None in nulls and _NO_NULLS.fullmatch(kind):
        kind = "boolean" if kind == "bool" else kind.replace("i", "I").replace("u", "U")
    make = {"pandas": _pandas, "polars": _polars, "pyarrow": _arrow}[module.__name__]
    return make(module, kind, _values(cells, kind, nulls), _Declared(column, order))


def _in_line(values: Collection[Any]) -> list[Any]:
    """Return numbers or dates in their order, and texts such as that of other values after them."""
    return sorted(values, key=lambda value: (isinstance(value, str), value))


class _Declared(NamedTuple):
    """Declaration of a column, and the order that its type declares of its values, if it does."""

    column: Column
    order: Sequence[Label] = ()

    def labels(self, values: NDArray[Any], kind: str) -> tuple[NDArray[Any], bool]:
        """Return the categories of a type in their order, and whether that is the order of the type."""
        column, places = self.column, {str(value): place for place, value in enumerate(self.order)}
        labels = column.decode(np.arange(column.size - len(column.null_codes)), 0).tolist()
        present = {value for value in values.tolist() if not is_missing(value)}
        if not present <= {*labels}:  # drawn within bins, or kinds of missing values
            labels = (
                _in_line(present) if isinstance(column, Binned) else [*labels, *sorted(present - {*labels}, key=str)]
            )
        is_in_order = False
        if places:
            labels.sort(key=lambda label: places.get(str(label), len(places)))
            is_in_order = all(str(label) in places for label in labels)
        elif column.is_ordinal:
            is_in_order = column.other_label is None
        elif is_ordered(kind) and kind != "Enum" and (in_order := in_natural_order(labels)):
            labels, is_in_order = in_order, column.other_label is None
        return np.array([*labels, None], dtype=object)[:-1], is_in_order


def _natural(arrow: Any, column: Column) -> str:  # noqa: ANN401
    """Return the Arrow type of the values that a column has by itself."""
    if _is_mixed(column):
        return "string"
    values = column.decode(np.arange(column.size), 0)
    return str(arrow.array(values if values.dtype != object else values.tolist()).type)


def _is_mixed(column: Column) -> bool:
    """Return whether the values of a column are of several kinds, as 1 and "other" are."""
    return len(column.value_types | (set() if column.other_label is None else {str})) > 1


def _values(cells: Cells, kind: str, nulls: Sequence[object]) -> NDArray[Any]:
    """Return values of codes that a type is made of; nulls are None, NaN or NaT, or as given by kind."""
    column, family = cells.column, family_of(kind)
    values: NDArray[Any] | None
    if is_of_objects(kind):
        values = objects_of(cells, kind)
    elif family == "decimal":
        values = cells.plain().texts().astype(object)
    else:
        values = column.of_family(cells.codes, cells.values, family)
    is_decoded = values is None
    values = cells.decoded() if values is None else values
    if column.null_codes and not (is_decoded and all(null is None for null in nulls)):
        values = values.astype(object)
        is_text = isinstance(next(iter(values), None), str)
        for code, null in zip(column.null_codes, nulls or [None] * len(column.null_codes), strict=True):
            values[np.asarray(cells.codes) == code] = str(null) if is_text and null is not None else null
    return values


def _pandas(pandas: Any, kind: str, values: NDArray[Any], declared: _Declared) -> Any:  # noqa: ANN401
    if family_of(kind) == "category":
        labels, is_in_order = declared.labels(values, kind)
        places = {label: code for code, label in enumerate(labels.tolist())}
        codes = [places.get(value, -1) for value in values.tolist()]
        is_kept = is_ordered(kind) and is_in_order
        return pandas.Series(pandas.Categorical.from_codes(codes, categories=labels, ordered=is_kept))
    if is_of_objects(kind):
        return pandas.Series(values, dtype=object)
    if zoned := _PANDAS_TIME.fullmatch(kind):
        clocks = pandas.Series(_in_zone(values, zoned[2])).dt.tz_localize("UTC")
        return clocks.dt.tz_convert(zoned[2]).astype(kind)
    if kind.endswith("[pyarrow]") and kind != "string[pyarrow]":
        arrow = imported("pyarrow", f"the type {kind}", "frames")
        array = _arrow(arrow, kind.removesuffix("[pyarrow]"), values, declared)
        return pandas.Series(pandas.arrays.ArrowExtensionArray(array))
    return pandas.Series(values, dtype=object if values.dtype == object else None).astype(kind)


def _polars(polars: Any, kind: str, values: NDArray[Any], declared: _Declared) -> Any:  # noqa: ANN401
    if family_of(kind) == "category":
        texts = [None if v is None else str(v) for v in values]
        labels, _ = declared.labels(values, kind)
        return polars.Series(texts, dtype=polars.Enum(list(map(str, labels))) if kind == "Enum" else polars.Categorical)
    if time := _POLARS_TIME.fullmatch(kind):
        made = polars.Series(_in_zone(values, time[2])).cast(polars.Datetime(time[1]))
        return made.dt.replace_time_zone("UTC").dt.convert_time_zone(time[2]) if time[2] else made
    if decimal := _POLARS_DECIMAL.fullmatch(kind):
        precision = None if decimal[1] == "None" else int(decimal[1])
        return polars.Series(values.tolist()).cast(polars.Decimal(precision, int(decimal[2])))
    if kind == "Time" or kind.startswith("Duration"):
        made = polars.Series(clocks_of(kind, values).tolist())
        unit = _POLARS_SPAN.fullmatch(kind)
        return made.cast(polars.Duration(unit[1]) if unit else polars.Time)
    if values.dtype.kind == "M":
        values = values.astype("datetime64[us]")
    plain = values.tolist() if values.dtype == object else values
    if family_of(kind) == "float":  # of listed numbers some are whole
        plain = [value if value is None else float(value) for value in values.tolist()]
    return polars.Series(plain, nan_to_null=True).cast(getattr(polars, kind))


def _arrow(arrow: Any, kind: str, values: NDArray[Any], declared: _Declared) -> Any:  # noqa: ANN401
    made = _arrow_type(arrow, kind)
    if family_of(kind) == "time":
        clocks = _in_zone(values, made.tz).astype("datetime64[us]")
        return arrow.array(clocks).cast(arrow.timestamp(made.unit)).cast(made)
    if family_of(kind) == "category":
        labels, is_in_order = declared.labels(values, kind)
        known = arrow.array(labels.tolist())
        places = {label: i for i, label in enumerate(known.to_pylist())}
        codes = arrow.array([places.get(value) for value in values.tolist()], made.index_type)
        is_kept = made.ordered and is_in_order
        return arrow.DictionaryArray.from_arrays(codes, known.cast(made.value_type), ordered=is_kept)
    values = clocks_of(kind, values)
    return arrow.array(values.tolist() if values.dtype == object else values, from_pandas=True).cast(made)


def _arrow_type(arrow: Any, kind: str) -> Any:  # noqa: ANN401
    """Return the Arrow type of a name."""
    kind = kind.removesuffix(_ENUM)
    if time := _ARROW_TIME.fullmatch(kind):
        return arrow.timestamp(time[1], time[2])
    if decimal := _ARROW_DECIMAL.fullmatch(kind):
        return getattr(arrow, f"decimal{decimal[1]}")(int(decimal[2]), int(decimal[3]))
    if keys := _ARROW_DICTIONARY.fullmatch(kind):
        return arrow.dictionary(_arrow_type(arrow, keys[2]), _arrow_type(arrow, keys[1]), ordered=keys[3] == "1")
    return arrow.type_for_alias(kind)


def _in_zone(values: NDArray[Any], zone: str | None) -> NDArray[np.datetime64]:
    """Return times that the clocks of a zone show as times of UTC; one that they skip is that much later."""
    shown = values.astype("datetime64[us]")
    if zone is None or zone == "UTC":
        return shown
    import zoneinfo  # takes a while, and few columns have zones

    offset = _OFFSET.fullmatch(zone)
    place: datetime.tzinfo = (
        zoneinfo.ZoneInfo(zone)
        if offset is None
        else datetime.timezone(
            (1 if offset[1] == "+" else -1) * datetime.timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        )
    )
    distinct, places = np.unique(shown, return_inverse=True)
    times = [None if time is None else time.replace(tzinfo=place) for time in distinct.tolist()]
    utc = [None if time is None else time.astimezone(datetime.timezone.utc).replace(tzinfo=None) for time in times]
    return np.array(utc, dtype="datetime64[us]")[places]
