"""Mechanisms called with tables that are still as they are: a schema encodes them, and what is open is found first."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

from pypgm.data.dataset import Dataset
from pypgm.data.derived_images import read_names
from pypgm.data.frames import Frame
from pypgm.data.open_columns import OpenSet
from pypgm.data.opened import opened
from pypgm.data.schema import OpenSchema, Schema, SchemaLike, as_any_schema
from pypgm.data.typed_draft import draft_text, typed_draft
from pypgm.domain import Domain, as_cliques, listed
from pypgm.mechanisms.dry_run import check_call
from pypgm.mechanisms.registry import mechanism_named, mechanism_names, takes
from pypgm.mechanisms.run import DEFAULTS, Options
from pypgm.privacy.arguments import as_budget, one_relation
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.rational import Number
from pypgm.privacy.relation import Privacy
from pypgm.privacy.sampler import Sampler
from pypgm.privacy.settling import settle
from pypgm.queries import Neighbours
from pypgm.release import Release
from pypgm.signatures import with_options
from pypgm.workloads import Workload, as_workload

M = TypeVar("M", bound=Callable[..., Release])

_RESERVED = 10  # part of delta that finding values which nobody lists may take: a tenth
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

    @functools.wraps(mechanism)
    def called(
        data: Any,  # noqa: ANN401 - a table of any kind
        epsilon: Number | None = None,
        delta: Number | None = None,
        *,
        schema: SchemaLike | None = None,
        **options: Any,  # noqa: ANN401 - those of the mechanism
    ) -> Release:
        held = [data]  # until a mechanism has it: a traceback shows no records
        del data
        if schema is None or isinstance(held[0], PrivateTable):
            domain = getattr(held[0], "domain", None)  # what has none is refused by the mechanism
            known = getattr(held[0], "schema", None)
            own = options if domain is None else _options(mechanism.__name__, domain, known, options)
            return mechanism(held.pop(), epsilon, delta, **own, **({} if schema is None else {"schema": schema}))
        relation = one_relation(options.pop("neighbours", None), options.pop("privacy", None))
        name, budget = mechanism.__name__, options.pop("budget", None)
        asked: dict[str, Any] = {"mechanism": name, "budget": budget, "neighbours": relation}
        return prepared(held.pop(), schema, epsilon, delta, **asked, reading={}, options=options)()

    return with_options(Options, DEFAULTS)(cast("M", called))


def prepared(
    source: Frame,
    schema: SchemaLike | None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    mechanism: str,
    budget: Budget | None = None,
    neighbours: Neighbours | Privacy | None,
    reading: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Callable[[], Release[Any]]:
    """Check all, read the table, and return what spends the budget: the arguments are those of `pypgm.synthesize`."""
    declared = _declared(source, schema, reading)
    known = declared.provisional
    known.check_there()
    run, asked = mechanism_named(mechanism), budget_for(declared, epsilon, delta, budget)
    own = _options(mechanism, known.domain, known, options)
    if isinstance(declared, OpenSchema):  # what is open is paid for before the mechanism is called
        check_call(run, declared, neighbours, asked, own)
    held = opened(source, declared, **reading)
    place = os.path.abspath(source) if isinstance(source, str | os.PathLike) else ""

    def closed() -> Release[Any]:
        relation = {"privacy" if isinstance(neighbours, Privacy) else "neighbours": neighbours}
        release = run(held.records(known), budget=asked, **relation, **own)
        return release.of_table(held.layout, place)

    def settled(schema: OpenSchema) -> Release[Any]:
        ledger = Ledger(asked)
        found = settle(schema, held.values, neighbours, ledger)
        with PrivateTable(held.records(found), neighbours, ledger, sampler=Sampler(n_threads=0)) as table:
            release = run(table, **_options(mechanism, found.domain, found, options))
        return release.of_table(held.layout, place)

    def read_to_the_end() -> Release[Any]:
        try:
            return settled(declared) if isinstance(declared, OpenSchema) else closed()
        finally:
            held.close()

    return read_to_the_end


def _declared(source: Frame, schema: SchemaLike | None, reading: Mapping[str, Any]) -> Schema | OpenSchema:
    """Return a schema of what was given for one."""
    if schema is None and isinstance(source, Dataset):
        return source.schema or Schema.of(source.domain)
    if schema is None:
        known = {name: reading[name] for name in ("table", "delimiter", "encoding") if name in reading}
        draft, missing = typed_draft(source, {}, **known)
        told = "a schema is needed, what is publicly known of each column; a draft of its names and types"
        ways = f"{_COMPLETED.format(', '.join(missing))}\n" if missing else ""
        ways += _NULLS if any("null" in column for column in draft["columns"].values()) else ""
        raise TypeError(f"{told}:\n{draft_text(draft)}{ways}{_WAYS}")
    return as_any_schema(schema)


def budget_for(
    schema: Schema | OpenSchema, epsilon: Number | None, delta: Number | None = None, budget: Budget | None = None
) -> Budget:
    """Return the budget that is asked for, a part of delta kept for values that have to be found."""
    if schema.open_share >= 1:
        raise ValueError("the shares of open columns leave nothing of the budget for the records")
    asked = as_budget(epsilon, delta, budget)
    sets = [repr(name) for name, column in schema.open.items() if isinstance(column, OpenSet)]
    if not sets or budget is not None:
        return asked
    if not asked.delta:
        told = f"values of {listed(sets)} are open in the schema, and found with a probability of failure"
        raise ValueError(f"delta must be more than 0: {told}")
    return Budget(epsilon=asked.epsilon, delta=asked.delta, reserved_delta=asked.delta / _RESERVED)


def _options(mechanism: str, domain: Domain, schema: Schema | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the mechanism takes beside records and budget, with a workload over the domain.

    In the place of columns that are derived stand those that they follow from.
    """
    if options.get("targets"):
        options = {**options, "targets": read_names(schema, options["targets"])}
    if options.get("workload") is None:
        return {name: value for name, value in options.items() if name != "workload"}
    if not takes(mechanism, "workload"):
        able = ", ".join(name for name in mechanism_names() if takes(name, "workload"))
        raise ValueError(f"{mechanism} chooses what it measures itself and takes no workload; these do: {able}")
    asked = options["workload"]
    if isinstance(asked, Iterable) and not isinstance(asked, str | Workload):
        asked = [read_names(schema, clique) for clique in as_cliques(asked)]
    return {**options, "workload": asked(domain) if callable(asked) else as_workload(domain, asked)}
