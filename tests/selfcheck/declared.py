"""Schemas from the declared types of tables: a further record with a new value must not change them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest.mock import patch

from pypgm._synthesize import synthesize
from pypgm.audit.finding import Finding, finding
from pypgm.data import Schema
from pypgm.integrations import sdv, smartnoise
from selfcheck.containers import TYPED, UNTYPED, Typed, is_there, reading_of

_OTHERS = ["cook", "clerk", "cook"] * 9
_NEW = "astronaut"
_DECLARED = ["cook", "clerk", "nurse", _NEW]  # values listed by a type

Table = Callable[[Sequence[str]], Any]


def _of(container: str) -> Table:
    """Return a column of texts in a container; types of frames and files are read while it exists."""

    def made(values: Sequence[str]) -> Any:
        return {**TYPED, **UNTYPED}[container]({"job": Typed(values, str)})

    return made


def _pandas(convert: Callable[[Any], Any]) -> Table:
    def made(values: Sequence[str]) -> Any:
        pandas: Any = importlib.import_module("pandas")
        return pandas.DataFrame({"job": convert(pandas.Series(list(values)))})

    return made


def _polars(convert: Callable[[Any], Any]) -> Table:
    def made(values: Sequence[str]) -> Any:
        polars: Any = importlib.import_module("polars")
        return polars.DataFrame({"job": polars.Series(list(values)).cast(convert(polars))})

    return made


def _dictionary(values: Sequence[str]) -> Any:
    arrow: Any = importlib.import_module("pyarrow")
    return arrow.table({"job": arrow.array(list(values)).dictionary_encode()})


def _relation(kind: str) -> Table:
    def made(values: Sequence[str]) -> Any:
        connection = importlib.import_module("duckdb").connect()
        connection.execute(f"CREATE TABLE people (job {kind})")
        connection.executemany("INSERT INTO people VALUES (?)", [[value] for value in values])
        return connection.table("people")

    return made


def _dtype(*, is_ordered: bool) -> Any:
    return importlib.import_module("pandas").CategoricalDtype(_DECLARED, ordered=is_ordered)


_TYPES: dict[str, Table] = {
    "pandas, category": _pandas(lambda s: s.astype("category")),
    "pandas, ordered category": _pandas(lambda s: s.astype("category").cat.as_ordered()),
    "pandas, as Arrow gives a dictionary": lambda values: _dictionary(values).to_pandas(),
    "pandas, category of a list": _pandas(lambda s: s.astype(_dtype(is_ordered=False))),
    "pandas, ordered category of a list": _pandas(lambda s: s.astype(_dtype(is_ordered=True))),
    "pandas, dictionary of Arrow": lambda values: _dictionary(values).to_pandas(
        types_mapper=importlib.import_module("pandas").ArrowDtype
    ),
    "polars, Categorical": _polars(lambda polars: polars.Categorical),
    "polars, Enum": _polars(lambda polars: polars.Enum(_DECLARED)),
    "Arrow, dictionary": _dictionary,
    "DuckDB, ENUM": _relation(f"ENUM ({', '.join(map(repr, _DECLARED))})"),
}
"""Columns whose type lists values, from the records or from a definition."""


def check_declared() -> Finding:
    """Make schemas of the types of a table and of its neighbour with one more value: both and their output are equal.

    What a type lists is public where it stands in a definition; what a library makes of the records is not.
    """
    defects: list[tuple[str, str]] = []
    count = 0
    for name, source in _cases():
        count += 1
        for what, call in _ASKED.items():
            one, other = (_answer(call, source, values) for values in (_OTHERS, [*_OTHERS, _NEW]))
            if one != other:
                defects.append(("domain from the data", f"{name}: {what} depends on a value that one record has"))
    return finding("types", "Schema.from_types", defects, f"{count} types, equal schemas", exercised=count)


def _cases() -> Iterator[tuple[str, Callable[[Sequence[str]], Any]]]:
    for name, container in {**TYPED, **UNTYPED}.items():
        if is_there(container):
            yield name, _of(name)
    for name, made in _TYPES.items():
        try:
            made(_OTHERS)
        except ImportError:
            continue
        yield name, made


def _fitted(fit: Callable[..., Any], source: Any, **how: Any) -> Any:
    """Return the schema that a synthesizer uses by default."""
    made: list[Any] = []

    def noted(_: Any, schema: Any, *__: Any, **___: Any) -> None:
        made.append(schema)

    with patch("pypgm._synthesizer.synthesize", noted):
        fit(source, **how)
    return made[0].to_dict()


_ASKED: dict[str, Callable[[Any], Any]] = {
    "the schema": lambda source: Schema.from_types(source, **reading_of(source)).to_dict(),
    "the schema with bounds": lambda source: Schema.from_types(
        source, {"job": _DECLARED}, **reading_of(source)
    ).to_dict(),
    "the refusal without a schema": lambda source: synthesize(source, epsilon=1, delta=1e-9, **reading_of(source)),
    "the schema of SmartNoise's synthesizer": lambda source: _fitted(
        smartnoise.Synthesizer().fit, source, categorical_columns=["job"]
    ),
    "the schema of SDV's synthesizer": lambda source: _fitted(
        sdv.Synthesizer({"columns": {"job": {"sdtype": "categorical"}}}).fit, source
    ),
}


def _answer(call: Callable[[Any], Any], made: Table, values: Sequence[str]) -> Any:
    held = made(values)
    try:
        if hasattr(held, "__enter__"):
            with held as source:
                return call(source)
        return call(held)
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
