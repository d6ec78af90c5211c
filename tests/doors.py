"""Public calls that take raw records, each in every container: one record more is counted by itself alone.

A case is a door, two declared columns, some records and an odd one. The exact counts that a door hands on, to a
mechanism or to the noise, are those of each record alone, added up; and it refuses records if it refuses one of them
alone. So one record changes each count by what a charge says, whatever it is. Doors that release are run again on one
run's noise.
"""

from __future__ import annotations

import atexit
import csv
import datetime as dt
import importlib
import math
import shutil
import tempfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from raw_values import COLUMNS, ODD, VALUES, objects

import pypgm
from pypgm import mechanisms
from pypgm.audit.cases import Outcome
from pypgm.audit.finding import finding
from pypgm.audit.mechanisms import Runs, check_calibration, check_charges, same_run
from pypgm.audit.pairs import Pair
from pypgm.audit.trace import observe
from pypgm.bayes.frames import as_codes
from pypgm.compat import mbi
from pypgm.data import EngineTable, Schema, StreamedTable, scan
from pypgm.data.encoding import columns_of
from pypgm.integrations import sdv, smartnoise
from pypgm.mechanisms.related import joined
from pypgm.privacy import Budget, Privacy

NAMES = ("0", "1")
SECRET = "zq7-of-one-person"
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


def by_smartnoise(make: Callable[[Raw], Any], schema: Schema, raw: Raw) -> Any:
    synthesizer = smartnoise.Synthesizer(1.0, 1e-9, schema=schema, **RELEASE)
    synthesizer.fit(make(raw))
    return synthesizer.release


def by_sdv(make: Callable[[Raw], Any], schema: Schema, raw: Raw) -> Any:
    metadata = {"columns": {name: {"sdtype": "categorical"} for name in NAMES}}
    synthesizer = sdv.Synthesizer(metadata, 1.0, 1e-9, schema=schema, **RELEASE)
    synthesizer.fit(make(raw))
    return synthesizer.release


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
    parents, found = pypgm.Dataset({"a": [0] * 5}, pypgm.Domain({"a": 1})), []
    for rows in raw.values.values():
        children = pypgm.Dataset({"b": [0] * len(rows)}, pypgm.Domain({"b": 1}))
        found.append(joined(parents, children, rows, max_children=50)[0].columns["children"])
    return found


def _doors(prefix: str, door: Callable[..., Any], containers: dict[str, Callable[..., Any]]) -> dict[str, Door]:
    return {f"{prefix}: {name}": partial(door, make) for name, make in containers.items()}


_FEW = {name: FREE[name] for name in ("lists", "pandas")}
_ROWS: dict[str, Callable[[Raw], Any]] = {"rows": lambda raw: raw.rows, "lists of rows": lambda r: [*map(list, r.rows)]}
_FILES = {"Parquet": parquet, "relation": relation}
FAMILIES: dict[str, tuple[str, dict[str, Door]]] = {  # by name which values they take, and the doors
    "encode": ("any", _doors("encode", encoded, FREE)),
    "from_frame": ("any", {**_doors("from_frame", from_frame, FREE), "pieces": in_pieces}),
    "labels": ("any", _doors("labels", by_labels, FREE)),
    "network": ("any", _doors("network", of_network, _FEW | {"objects": FREE["objects"], "series": of_series})),
    "keys": ("any", _doors("keys", by_keys, {"list": list, "tuple": tuple, "objects": objects})),
    "release": (
        "any",
        {
            **_doors("synthesize", released, _FEW),
            **_doors("mechanism", by_mechanism, _FEW),
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

# Cases


class Case(NamedTuple):
    """A door, what is declared, records, and another one with its place."""

    subject: str
    family: str
    schema: Schema
    raw: Raw
    odd: tuple[Any, ...]
    at: int

    def __str__(self) -> str:
        kinds = ", ".join(map(repr, self.schema.columns.values()))
        return f"{self.subject} of {kinds}: {self.raw.rows!r}, and {self.odd!r} at {self.at}"


@cache
def odd_values() -> list[Any]:
    """Return values of every kind, of pandas too; two are known again in a text."""
    pandas = importlib.import_module("pandas")
    more = [SECRET, " a ", "1e0", "01", "TRUE", "NA", dt.time(9, 30), np.str_("a"), np.float64("nan"), (1, 2), {1: 2}]
    more += [pandas.NaT, pandas.NA, pandas.Timestamp("2020-01-31 05:00", tz="Europe/Berlin"), pandas.Timedelta("1D")]
    more += [np.timedelta64(1, "D"), np.longdouble(1), np.uint64(2**63), 2**63, -(2**63), math.inf, -0.0, object()]
    return [*ODD, *more, *(value for values in VALUES.values() for value in values)]


def drawn(rng: np.random.Generator, pool: str) -> Any:
    """Return a value of a pool, one of those that stand there or another of the same type."""
    known = VALUES[pool]
    if rng.random() < 0.6:
        return known[int(rng.integers(len(known)))]
    n = int(rng.integers(-2, 12))
    made: dict[str, Callable[[], Any]] = {
        "int": lambda: n,
        "wide": lambda: 2**53 + n,
        "float": lambda: n / 4 if n % 3 else n * 1e-7,
        "decimal": lambda: Decimal(n) / 4,
        "boolean": lambda: n % 2 == 0,
        "text": lambda: [f"{n}", f"{n}.0", f"0{n}", f" {n / 4} ", SECRET, "yes", f"2020-01-{abs(n) + 1:02}"][n % 7],
        "date": lambda: dt.date(2020, 1, 30) + dt.timedelta(n),
        "time": lambda: dt.datetime(2020, 1, 30, 5) + dt.timedelta(hours=7 * n),
        "zone": lambda: dt.datetime(2020, 1, 30, 5, tzinfo=dt.timezone.utc) + dt.timedelta(hours=7 * n),
        "day": lambda: 20200100 + abs(n),
    }
    return made[pool]()


def case_of(family: str, choose: Any) -> Case:
    """Choose a door and records: most of what the columns take, and one of any kind that may come there."""
    takes, doors = FAMILIES[family]
    subject, rng = choose.one_of("door", tuple(doors)), choose.rng
    names = {name: choose.one_of("column", tuple(COLUMNS)) for name in NAMES}
    schema = Schema({name: COLUMNS[own] for name, own in names.items()})
    is_labelled = family in {"labels", "network"}
    among = ("text",) if takes == "texts" else ("text", "int", "float", "decimal") if is_labelled else tuple(VALUES)
    pools = {name: choose.one_of("pool", among) for name in NAMES}
    n = int(rng.integers(1, 7))
    columns = columns_of(SIZES if takes == "codes" else LABELS) if takes == "codes" or is_labelled else schema.columns
    values: dict[str, list[Any]] = {}
    odd = []
    for name in NAMES:
        made = [_given(rng, takes, pools[name]) for _ in range(9 * n)]
        fit = [value for value in made if columns[name].encode([value])[1] is None]
        known = (fit or made) if rng.random() < 0.97 else made
        values[name] = [known[i % len(known)] for i in range(n)]
        fits = rng.random() < (0.4 if takes == "any" and not is_labelled else 0.7)
        strange = _given(rng, takes, pools[name]) if takes in {"typed", "texts"} else _one_of(rng, odd_values())
        odd.append(_one_of(rng, [*known, None] if takes != "codes" else known) if fits else strange)
    return Case(subject, family, schema, Raw(values, pools), tuple(odd), int(rng.integers(n + 1)))


def _one_of(rng: np.random.Generator, values: list[Any]) -> Any:
    return values[int(rng.integers(len(values)))]


def _given(rng: np.random.Generator, takes: str, pool: str) -> Any:
    """Return a value of a pool, or a code."""
    whole = (int, np.int64, np.uint64, np.int8)
    return _one_of(rng, list(whole))(rng.integers(5)) if takes == "codes" else drawn(rng, pool)


# What a case comes to

Handed = tuple[list[Any] | None, str]
"""Counts that were handed on, None where the records were refused; and the refusal."""


def run_case(case: Case) -> Outcome:
    """Hand records to a door, with and without the odd one, and that one alone."""
    door = FAMILIES[case.family][1][case.subject]
    more = case.raw.inserted(case.at, case.odd)
    lone = case.raw._replace(values={name: [value] for name, value in zip(NAMES, case.odd, strict=True)})
    found: list[tuple[str, str]] = []
    if _releases(case):
        handed = _observed(door, case, (case.raw, more, lone), found)
    else:
        handed = [_handed(door, case.schema, raw, found) for raw in (case.raw, more, lone)]
    found += _wrong(case, handed)
    refused = handed[1][1]
    return Outcome(finding("doors", case.subject, found, "counted by themselves", exercised=True), refused)


def _releases(case: Case) -> bool:
    return case.family in {"release", "CSV released"} or case.subject.startswith(("synthesize", "SmartNoise"))


def _wrong(case: Case, handed: list[Handed]) -> Iterator[tuple[str, str]]:
    (base, _), (more, text), (lone, _) = handed
    if (more is None) != (base is None or lone is None):
        yield "exception tells", f"records are {'refused' if more is None else 'taken'}, and not each by itself"
    if SECRET in text or "np.timedelta64" in text:
        yield "exception tells", "a refusal tells a value"
    if more is None or base is None or lone is None:
        return
    for name, one, other, own in zip(NAMES, base, more, lone, strict=True):
        change = other.astype(np.int64) - one
        if not np.array_equal(change, own):
            yield (
                "sensitivity",
                f"column {name}: counts change by {change.tolist()}, {own.tolist()} for one alone",
            )
        elif int(np.abs(change).sum()) != 1 and case.subject != "parent_of":
            yield "sensitivity", f"column {name}: one record changes counts by {change.tolist()}"
    for name, column in _columns(case).items():
        every = case.raw.inserted(case.at, case.odd).values[name]
        codes = [int(column.encode([value])[0][0]) for value in every]
        if np.bincount(codes, minlength=column.size).tolist() != more[NAMES.index(name)].tolist():
            yield "wrong counts", f"column {name}: not the codes that values have alone"


def _columns(case: Case) -> dict[str, Any]:
    """Return the columns by which the values of a case are encoded; none where codes or keys are given."""
    if case.family in {"codes", "mbi", "keys", "network"}:
        return {}
    return dict(columns_of(LABELS) if case.family == "labels" else case.schema.columns)


def _handed(door: Door, schema: Schema, raw: Raw, found: list[tuple[str, str]]) -> Handed:
    try:
        return door(schema, raw), ""
    except (TypeError, ValueError) as error:
        return None, f"{type(error).__name__}: {error}"
    except Exception as error:
        found.append(("no release", f"{type(error).__name__} is raised"))
        return None, ""


def _observed(door: Door, case: Case, tables: tuple[Raw, ...], found: list[tuple[str, str]]) -> list[Handed]:
    """Observe releases, that of the second table on the noise of the first; return what they handed to the noise."""
    nobody, budget = pypgm.Dataset({"a": [0]}, pypgm.Domain({"a": 1})), Budget(epsilon=1, delta=Fraction(1, 10**9))
    traces: list[Any] = []
    for raw in tables:
        like = traces[0] if len(traces) == 1 and not traces[0].error else None
        traces.append(observe(lambda *_, raw=raw: door(case.schema, raw), nobody, budget, Privacy(), like=like))
    one, other = traces[:2]
    if not one.error and not other.error:
        runs = Runs(case.subject, budget, ((Pair("a record more", nobody, nobody, Privacy(), True), one, other),))
        for checked in (check_calibration(runs), check_charges(runs)):
            found += [(name, checked.detail) for name in checked.defects]
        found += same_run(one, other)
    found += [("charged for nothing", trace.error) for trace in traces if trace.error and trace.charges]
    return [(None, t.error) if t.error else ([d.private for d in t.draws], "") for t in traces]


def tried(family: str, choose: Any) -> tuple[Case, Outcome]:
    """Choose a case and run it."""
    case = case_of(family, choose)
    return case, run_case(case)


SUBJECTS = {family: partial(tried, family) for family in FAMILIES}
