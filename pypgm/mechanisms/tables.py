"""Mechanisms by their names, called with tables that are still as they are."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

import numpy as np

from pypgm.data.columns.derived_images import read_names
from pypgm.data.schema.schema import OpenSchema, Schema, SchemaLike, as_any_schema
from pypgm.data.sources.source import CountedRecords, EncodedRecords, Source
from pypgm.domain import Domain, as_cliques
from pypgm.files.members import line_of, plain_array, sha256
from pypgm.files.stored_measurements import packed_query
from pypgm.mechanisms.run import DEFAULTS, Options
from pypgm.privacy.budget import Budget
from pypgm.privacy.rational import Number
from pypgm.privacy.relation import Privacy
from pypgm.privacy.tables import check_call, left_of, takes_any_table
from pypgm.privacy.tables import prepared as prepared_call
from pypgm.queries import LinearQuery, Neighbours
from pypgm.release import Release
from pypgm.workloads import Workload, as_workload

MECHANISMS: Mapping[str, tuple[str, ...]] = {
    "adaptive_grid": (),
    "aim": (),
    "dualquery": (),
    "fem": (),
    "hdmm": (),
    "jam": ("public",),
    "mst": (),
    "mwem": (),
    "privbayes": (),
    "screen": (),
    "wide": (),
}
"""Required options of each mechanism, besides records and a budget: known without importing all mechanisms.

The mechanism of a name is the function of that name in the module `_NAME`.
"""

BEST = "wide"
"""The default: the least error on every table tried."""


def mechanism_names() -> list[str]:
    """Return the names of all mechanisms.

    Examples
    --------
    >>> "mst" in mechanism_names()
    True
    """
    return sorted(MECHANISMS)


def mechanism_named(name: str) -> Callable[..., Release]:
    """Return the mechanism of a name.

    Raises
    ------
    ValueError
        If no mechanism has the name.

    Examples
    --------
    >>> mechanism_named("mst").__name__
    'mst'
    """
    if name not in MECHANISMS:
        raise ValueError(f"mechanism must be one of {', '.join(mechanism_names())}, got {name!r}")
    mechanism: Callable[..., Release] = getattr(sys.modules[__package__], name)
    return mechanism


def needs_more(name: str) -> bool:
    """Return whether a mechanism needs more than records and a budget, such as public records.

    Examples
    --------
    >>> needs_more("jam"), needs_more("mst")
    (True, False)
    """
    return bool(MECHANISMS[name])


def takes(name: str, option: str) -> bool:
    """Return whether a mechanism has a specific option, such as ``workload``.

    Examples
    --------
    >>> takes("wide", "workload"), takes("mst", "workload")
    (True, False)
    """
    return option in inspect.signature(mechanism_named(name)).parameters


M = TypeVar("M", bound=Callable[..., Release])

_COMPLETED = """\
Complete it with what is publicly known, never from the records: {}. Pass it as schema=, as it is or from a file; or
pypgm.Schema.from_types(table, bounds={{"age": (0, 120)}}) does it in one call."""
_NULLS = """\
Take out "null" where no value is missing, as is publicly known: else noise may make a few missing.
"""
_WAYS = """\
pypgm.Schema.draft(table), and pypgm schema init, draft more of it from the records, and mark what they read there."""


def of_tables(mechanism: M) -> M:
    """Return a mechanism that takes any table `pypgm.synthesize` takes, by the `schema` that comes with it.

    Examples
    --------
    >>> from pypgm import mechanisms
    >>> people = {"age": [31, 7, 44] * 100, "sex": ["F", "M", "F"] * 100}
    >>> schema = {"age": {"kind": "integer", "low": 0, "high": 99, "width": 10}, "sex": ["F", "M"]}
    >>> mechanisms.mst(people, epsilon=1, delta=1e-9, schema=schema).model.domain
    Domain(age: 10, sex: 2)
    """
    return takes_any_table(Options, DEFAULTS, options_for=partial(_options, mechanism.__name__))(mechanism)


def prepared(
    source: Source,
    schema: SchemaLike | None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    mechanism: str,
    budget: Budget | None = None,
    neighbours: Neighbours | Privacy | None,
    ignore_extra: bool,
    options: Mapping[str, Any],
) -> Callable[[], Release[Any]]:
    """Check the arguments, as of `pypgm.synthesize`, read the table, and return the function that spends the budget."""
    declared = declared_schema(source, schema)
    relation = {"privacy" if isinstance(neighbours, Privacy) else "neighbours": neighbours}
    call = {"epsilon": epsilon, "delta": delta, "budget": budget, **relation, **options}
    how: dict[str, Any] = {"ignore_extra": ignore_extra, "options_for": partial(_options, mechanism)}
    return prepared_call(mechanism_named(mechanism), source, declared, call, **how)


def check_options(
    source: Source,
    schema: Schema | OpenSchema,
    budget: Budget,
    *,
    mechanism: str,
    neighbours: Neighbours | Privacy | None,
    options: Mapping[str, Any],
) -> None:
    """Raise the error of a call that `prepared` or its function would refuse, before anything is reserved or read."""
    known = schema.provisional
    adapted = _options(mechanism, known.domain, known, options)
    check_call(mechanism_named(mechanism), schema, neighbours, budget, left_of(adapted), has_rows=source.has_rows)


def request_of(schema: Schema, mechanism: str, options: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the workload and the targets among the options of a call, in any order and form.

    Parameters
    ----------
    schema : Schema
    mechanism : str
    options : mapping of str to object

    Raises
    ------
    ValueError
        If the mechanism takes none, or they do not fit the schema.

    Examples
    --------
    >>> one, other = ({"workload": 2}, {"workload": [("c", "a"), ("a", "b"), ("b", "c")]})
    >>> schema = Schema({"a": 2, "b": 3, "c": 2})
    >>> request_of(schema, "aim", one) == request_of(schema, "aim", other)
    True
    """
    adapted = _options(mechanism, schema.domain, schema, options)
    workload, lines = adapted.get("workload"), []
    if workload is not None:
        marginals = zip(workload.cliques, workload.queries, workload.weights, strict=True)
        for clique, query, weight in marginals:
            names = workload.domain.canonical(clique) if query is None else clique
            lines.append(json.dumps([names, "" if query is None else _text_of(query), str(weight)]))
    targets = sorted(adapted.get("targets") or ())
    return sha256(json.dumps([targets, sorted(lines) if workload is not None else None]).encode())


def _text_of(query: LinearQuery) -> str:
    return json.dumps(packed_query(query), default=lambda value: line_of("", plain_array(np.asarray(value))))


def declared_schema(source: Source, schema: SchemaLike | None) -> Schema | OpenSchema:
    """Return the schema from a schema argument; ``TypeError`` with a draft of one where there is none."""
    if schema is None and isinstance(source, EncodedRecords):
        return source.frame.schema or Schema.of(source.frame.domain)
    if schema is None and isinstance(source, CountedRecords):
        known: Schema = source.table.schema
        of_scan: OpenSchema | None = getattr(source.table, "open_schema", None)
        return of_scan or known
    if schema is None:
        from pypgm.data.draft.typed import draft_text, typed_draft  # few calls draft anything

        draft, missing = typed_draft(source, {})
        message = "a schema is needed, with the public knowledge of each column; a draft with its names and types"
        ways = f"{_COMPLETED.format(', '.join(missing))}\n" if missing else ""
        ways += _NULLS if any("null" in column for column in draft["columns"].values()) else ""
        raise TypeError(f"{message}:\n{draft_text(draft)}{ways}{_WAYS}")
    return as_any_schema(schema)


def _options(mechanism: str, domain: Domain, schema: Schema | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the mechanism, with a workload over the domain.

    Derived columns are replaced by the columns that they follow from.
    """
    options = {name: value for name, value in options.items() if name != "workload" or value is not None}
    for name in ("workload", "targets"):
        if name in options and not takes(mechanism, name):
            able = ", ".join(m for m in mechanism_names() if takes(m, name))
            raise ValueError(f"{mechanism} chooses what it measures itself and takes no {name}; these do: {able}")
    if options.get("targets"):
        options = {**options, "targets": read_names(schema, options["targets"])}
    if "workload" not in options:
        return options
    workload = options["workload"]
    if isinstance(workload, Iterable) and not isinstance(workload, str | Workload):
        workload = [read_names(schema, clique) for clique in as_cliques(workload)]
    return {**options, "workload": workload(domain) if callable(workload) else as_workload(domain, workload)}
