"""Public calls that take raw records, by what they take, each with every container that it may be given them in."""

from __future__ import annotations

import atexit
import csv
import datetime as dt
import importlib
import shutil
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from raw_values import objects

import pypgm
from pypgm import mechanisms
from pypgm.bayes import learn_private
from pypgm.bayes.frames import as_codes
from pypgm.compat import mbi
from pypgm.data import EngineTable, Schema, StreamedTable, scan
from pypgm.integrations import sdv, smartnoise
from pypgm.mechanisms.related import joined

NAMES = ("0", "1")
LABELS = pypgm.Domain({"0": ["a", "1", "01", "2.5", "True"], "1": [1, 2.5, 4]})
SIZES = pypgm.Domain({"0": 3, "1": 5})
KEYS = (1, 2**53 + 1, 2.5, "1", "a", True, dt.date(2020, 1, 1), b"k", (1, 2))
RELEASE = {"mechanism": "hdmm", "workload": 1, "iterations": 2, "n_threads": 1}


class Raw(NamedTuple):
    """Records as they are given: values by column, and of which pool those of each are."""

    values: dict[str, list[Any]]
    pools: dict[str, str]

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The records."""
        return list(zip(*self.values.values(), strict=True))

    def inserted(self, at: int, odd: tuple[Any, ...]) -> Raw:
        """Return the records with one more."""
        columns = zip(self.values.items(), odd, strict=True)
        return self._replace(values={name: [*values[:at], value, *values[at:]] for (name, values), value in columns})


Door = Callable[[Schema, Raw], Any]
"""Returns counts of each attribute, or the release of a run that is observed."""


# Containers of any values


def of_pandas(raw: Raw) -> Any:
    pandas = importlib.import_module("pandas")
    return pandas.DataFrame({name: pandas.Series(objects(v), dtype=object) for name, v in raw.values.items()})


def of_polars(raw: Raw) -> Any:
    polars = importlib.import_module("polars")
    return polars.DataFrame([polars.Series(name, v, dtype=polars.Object) for name, v in raw.values.items()])


def of_series(raw: Raw) -> Any:
    frame = of_pandas(raw)
    return {name: frame[name] for name in raw.values}


FREE: dict[str, Callable[[Raw], Any]] = {
    "lists": lambda raw: raw.values,
    "tuples": lambda raw: {name: tuple(values) for name, values in raw.values.items()},
    "objects": lambda raw: {name: objects(values) for name, values in raw.values.items()},
    "series": of_series,
    "pandas": of_pandas,
    "polars": of_polars,
}

# Containers of a declared type


def of_arrow(raw: Raw) -> Any:
    arrow = importlib.import_module("pyarrow")
    types = dict.fromkeys(("int", "wide", "day"), arrow.int64()) | {"float": arrow.float64()}
    types |= {"decimal": arrow.decimal128(12, 2), "boolean": arrow.bool_(), "text": arrow.string()}
    types |= {"date": arrow.date32(), "time": arrow.timestamp("us"), "zone": arrow.timestamp("us", "UTC")}
    return arrow.table({name: arrow.array(values, types[raw.pools[name]]) for name, values in raw.values.items()})


def of_pandas_types(raw: Raw) -> Any:
    pandas = importlib.import_module("pandas")
    types = dict.fromkeys(("int", "wide"), "Int64") | dict.fromkeys(("decimal", "date"), object)
    types |= {"day": "Int32", "float": "float64", "boolean": "boolean", "text": "string"}
    types |= {"time": "datetime64[us]", "zone": "datetime64[us, UTC]"}
    return pandas.DataFrame({n: pandas.Series(v, dtype=types[raw.pools[n]]) for n, v in raw.values.items()})


TYPED: dict[str, Callable[[Raw], Any]] = {
    "Arrow": of_arrow,
    "Arrow dictionary": lambda raw: (table := of_arrow(raw)).set_column(
        0, NAMES[0], table[NAMES[0]].dictionary_encode()
    ),
    "pandas types": of_pandas_types,
    "pandas category": lambda raw: of_pandas_types(raw).astype("category"),
    "polars types": lambda raw: importlib.import_module("polars").from_arrow(of_arrow(raw)),
}


def parquet(raw: Raw) -> Path:
    """Return a Parquet file of records, in row groups of three."""
    path = _folder() / "t.parquet"
    importlib.import_module("pyarrow.parquet").write_table(of_arrow(raw), path, row_group_size=3)
    return path


def csv_file(raw: Raw) -> Path:
    path = _folder() / "t.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([NAMES, *(["" if v is None else v for v in row] for row in raw.rows)])
    return path


@cache
def _folder() -> Path:
    path = Path(tempfile.mkdtemp(prefix="doors"))
    atexit.register(shutil.rmtree, path)
    return path


def relation(raw: Raw) -> Any:
    return _connection().from_arrow(of_arrow(raw))


@cache
def _connection() -> Any:
    connection = importlib.import_module("duckdb").connect()
    connection.execute("set TimeZone = 'UTC'")
    return connection


def engine_table(raw: Raw) -> Any:
    connection = _ibis()
    connection.con.register("given", of_arrow(raw))
    connection.raw_sql("create or replace table t as select * from given")
    return connection.table("t")


@cache
def _ibis() -> Any:
    return importlib.import_module("ibis").duckdb.connect()


# Doors


def counted(records: Any) -> list[Any]:
    """Return exact counts of each attribute."""
    return list(records.count([(name,) for name in NAMES]))


def bincounts(codes: dict[str, Any], sizes: dict[str, int], first: int = 0) -> list[Any]:
    return [np.bincount(np.asarray(codes[n], np.int64) - first, minlength=sizes[n] - first) for n in NAMES]


def encoded(make: Callable[[Raw], Any], schema: Schema, raw: Raw) -> list[Any]:
    return counted(schema.encode(make(raw)))


def from_frame(make: Callable[[Raw], Any], schema: Schema, raw: Raw) -> list[Any]:
    return counted(pypgm.Dataset.from_frame(make(raw), schema))


def by_labels(make: Callable[[Raw], Any], _: Schema, raw: Raw) -> list[Any]:
    return counted(pypgm.Dataset.from_frame(make(raw), LABELS))


def of_network(make: Callable[[Raw], Any], _: Schema, raw: Raw) -> list[Any]:
    return bincounts(as_codes(LABELS, make(raw))[1], dict(zip(NAMES, LABELS.shape, strict=True)), first=-1)


def in_pieces(schema: Schema, raw: Raw) -> list[Any]:
    pieces = [{name: values[i : i + 2] for name, values in raw.values.items()} for i in range(0, len(raw.rows), 2)]
    return counted(StreamedTable(lambda *_: pieces, list(NAMES), schema))


def read(make: Callable[[Raw], Path], schema: Schema, raw: Raw) -> list[Any]:
    return counted(pypgm.read_table(make(raw), schema))


def scanned(make: Callable[[Raw], Any], schema: Schema, raw: Raw) -> list[Any]:
    return counted(scan(make(raw), schema))


def in_engine(schema: Schema, raw: Raw) -> list[Any]:
    return counted(EngineTable(engine_table(raw), schema))


def released(make: Callable[[Raw], Any], schema: Schema, raw: Raw) -> Any:
    return pypgm.synthesize(make(raw), schema, epsilon=1, delta=1e-9, **RELEASE)


def by_mechanism(make: Callable[[Raw], Any], schema: Schema, raw: Raw) -> Any:
    return mechanisms.hdmm(make(raw), schema=schema, epsilon=1, delta=1e-9, workload=1, iterations=2, n_threads=1)


def by_learner(make: Callable[[Raw], Any], schema: Schema, raw: Raw) -> Any:
    return learn_private(
        make(raw), {}, schema=schema, epsilon=1, delta=1e-9, allocation="uniform", iterations=2, n_threads=1
    )


def by_smartnoise(make: Callable[[Raw], Any], schema: Schema, raw: Raw) -> Any:
    synthesizer = smartnoise.Synthesizer(1.0, 1e-9, schema=schema, **RELEASE)
    synthesizer.fit(make(raw))
    return synthesizer.release_


def by_sdv(make: Callable[[Raw], Any], schema: Schema, raw: Raw) -> Any:
    metadata = {"columns": {name: {"sdtype": "categorical"} for name in NAMES}}
    synthesizer = sdv.Synthesizer(metadata, 1.0, 1e-9, schema=schema, **RELEASE)
    synthesizer.fit(make(raw))
    return synthesizer.release_


def object_rows(raw: Raw) -> Any:
    table = np.empty((len(raw.rows), len(NAMES)), dtype=object)
    for i, name in enumerate(NAMES):
        table[:, i] = objects(raw.values[name])
    return table


def as_dataset(_: Schema, raw: Raw) -> list[Any]:
    return counted(pypgm.Dataset(raw.values, SIZES))


def as_mbi(make: Callable[[Raw], Any], _: Schema, raw: Raw) -> list[Any]:
    data = mbi.Dataset(make(raw), mbi.Domain(NAMES, SIZES.shape))
    return [data.project((name,)).datavector().astype(np.int64) for name in NAMES]


def mbi_file(_: Schema, raw: Raw) -> list[Any]:
    data = mbi.Dataset.load(str(csv_file(raw)), mbi.Domain(NAMES, SIZES.shape))
    return [data.project((name,)).datavector().astype(np.int64) for name in NAMES]


def by_keys(make: Callable[[list[Any]], Any], _: Schema, raw: Raw) -> list[Any]:
    rows = {name: mechanisms.parent_rows(KEYS, make(values)) for name, values in raw.values.items()}
    return bincounts(rows, dict.fromkeys(NAMES, len(KEYS)), first=-1)


def by_parent(_: Schema, raw: Raw) -> list[Any]:
    parents, counts = pypgm.Dataset({"a": [0] * 5}, pypgm.Domain({"a": 1})), []
    for rows in raw.values.values():
        children = pypgm.Dataset({"b": [0] * len(rows)}, pypgm.Domain({"b": 1}))
        counts.append(joined(parents, children, rows, max_children=50)[0].columns["children"])
    return counts


def _doors(prefix: str, door: Callable[..., Any], containers: dict[str, Callable[..., Any]]) -> dict[str, Door]:
    return {f"{prefix}: {name}": partial(door, make) for name, make in containers.items()}


_TWO = {name: FREE[name] for name in ("lists", "pandas")}
_ROWS: dict[str, Callable[[Raw], Any]] = {"rows": lambda raw: raw.rows, "lists of rows": lambda r: [*map(list, r.rows)]}
_FILES = {"Parquet": parquet, "relation": relation}
FAMILIES: dict[str, tuple[str, dict[str, Door]]] = {  # by name which values they take, and the doors
    "encode": ("any", _doors("encode", encoded, FREE)),
    "from_frame": ("any", {**_doors("from_frame", from_frame, FREE), "pieces": in_pieces}),
    "labels": ("any", _doors("labels", by_labels, FREE)),
    "network": ("any", _doors("network", of_network, _TWO | {"objects": FREE["objects"], "series": of_series})),
    "keys": ("any", _doors("keys", by_keys, {"list": list, "tuple": tuple, "objects": objects})),
    "release": (
        "any",
        {
            **_doors("synthesize", released, _TWO),
            **_doors("mechanism", by_mechanism, _TWO),
            "learner": partial(by_learner, FREE["lists"]),
            **_doors("SmartNoise", by_smartnoise, {**_ROWS, "array": object_rows, "frame": of_pandas}),
            **_doors("SDV", by_sdv, {"frame": of_pandas, "polars": of_polars}),
        },
    ),
    "types": ("typed", _doors("types", encoded, TYPED)),
    "typed": (
        "typed",
        {
            "read Parquet": partial(read, parquet),
            **_doors("scan", scanned, _FILES),
            "engine": in_engine,
            **_doors("synthesize", released, {**_FILES, "engine": engine_table, "typed": of_pandas_types}),
            **_doors("SmartNoise", by_smartnoise, {"typed": of_pandas_types, "relation": relation}),
        },
    ),
    "CSV": ("texts", {"read CSV": partial(read, csv_file), "scan CSV": partial(scanned, csv_file)}),
    "CSV released": ("texts", {"synthesize CSV": partial(released, csv_file)}),
    "codes": ("codes", {"Dataset": as_dataset, "parent_of": by_parent}),
    "mbi": ("codes", _doors("mbi", as_mbi, {"columns": FREE["lists"], **_ROWS}) | {"mbi file": mbi_file}),
}
