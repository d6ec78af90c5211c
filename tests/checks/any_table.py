"""Tables of any kind, as they are handed to `pypgm.synthesize`: what comes of them tells nothing but noisy answers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pypgm
from pypgm.audit.finding import Finding, finding
from pypgm.audit.mechanisms import check_noninterference, run_pairs
from pypgm.audit.pairs import PRIVACIES, far_pairs, neighbour_pairs
from pypgm.data import Boolean, Categorical, Integer, OpenSchema, QuantileBins, Schema
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy

__all__ = ["check_any_table"]

_VALUES: Mapping[str, list[Any]] = {"a": ["x", "a long name", None], "b": [7, 2**40], "c": [True, False]}
"""What the codes of the audit's tables stand for; a null is one of them."""

_KNOWN = {"a": Categorical(["x", "a long name"], null=True), "c": Boolean()}
_SCHEMAS: Mapping[str, Schema | OpenSchema] = {
    "closed": Schema(_KNOWN | {"b": Integer(0, 2**41, edges=[9])}),
    "open": OpenSchema(_KNOWN | {"b": QuantileBins(Integer(0, 2**41, edges=[9]), 2, "1/4")}),
}

Columns = Mapping[str, NDArray[Any]]


def _lists(columns: Columns) -> object:
    return {name: values.tolist() for name, values in columns.items()}


def _masked(columns: Columns) -> object:
    texts = np.ma.masked_array(
        [value or "" for value in columns["a"]], [value is None for value in columns["a"]], "U20"
    )
    return {"a": texts, "b": columns["b"].astype(np.int64), "c": columns["c"].astype(bool)}


def _arrow(columns: Columns) -> Any:
    arrow: Any = import_module("pyarrow")
    types = {"a": arrow.string(), "b": arrow.int64(), "c": arrow.bool_()}
    return arrow.table({name: arrow.array(columns[name].tolist(), kind) for name, kind in types.items()})


def _pandas(columns: Columns) -> object:
    pandas, table = import_module("pandas"), _arrow(columns)
    own = dict(zip(table.schema.types, (pandas.StringDtype(), pandas.Int64Dtype(), None), strict=True))
    return table.to_pandas(types_mapper=own.get)


def _polars(columns: Columns) -> object:
    return import_module("polars").from_arrow(_arrow(columns))


def _relation(columns: Columns) -> object:
    return import_module("duckdb").connect().from_arrow(_arrow(columns))


_WAYS: tuple[Callable[[Columns], object], ...] = (dict, _lists, _masked, _arrow, _pandas, _polars, _relation)


def check_any_table() -> Finding:
    """Release tables of any kind, closed schemas and open ones: on the same noisy outcomes all is the same.

    Their values differ in length, size, type and place, and are null or are not; what a release says of how its table
    looks, what is printed and warned, and all else is equal, byte by byte.
    """
    found: list[tuple[str, str]] = []
    near = [p for p in neighbour_pairs(PRIVACIES[:1]) if p.name.startswith(("crossed", "a rare record, [0"))]
    pairs = [*far_pairs(PRIVACIES[:1]), *near]
    ways = [way for way in _WAYS if _is_there(way)]
    for way in ways:
        for name, schema in _SCHEMAS.items():
            told = f"{way.__name__.strip('_')}, {name}"
            runs = run_pairs(told, partial(_release, way=way, schema=schema), Budget(rho=2), pairs)
            found += [(defect, f"{told}: {f.detail}") for f in [check_noninterference(runs)] for defect in f.defects]
    return finding("tables of any kind", "synthesize", found, f"{len(ways)} kinds, {len(pairs)} pairs, identical bytes")


def _is_there(way: Callable[[Columns], object]) -> bool:
    with contextlib.suppress(ImportError):
        way({name: np.array(values[:1], object) for name, values in _VALUES.items()})
        return True
    return False


def _release(
    data: Any,
    budget: Budget,
    privacy: Privacy,
    *,
    way: Callable[[Columns], object],
    schema: Schema | OpenSchema,
) -> object:
    columns = {n: np.array([*values, 0], object)[data.unnoted(n)] for n, values in _VALUES.items()}
    return pypgm.synthesize(way(columns), schema, budget=budget, privacy=privacy, mechanism="mst")
