"""A table goes in, a private release comes out: all between them in one call."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from pypgm.data.frames import Frame
from pypgm.data.number_text import DecimalMark
from pypgm.data.opened import opened
from pypgm.data.schema import Schema, read_schema
from pypgm.data.typed_draft import draft_text, typed_draft
from pypgm.data.unsettled import OpenSet
from pypgm.domain import listed
from pypgm.mechanisms.dry_run import check_call
from pypgm.mechanisms.registry import BEST, mechanism_named, mechanism_names, takes
from pypgm.privacy import Budget, Ledger, PrivateTable, settle
from pypgm.privacy.arguments import as_budget
from pypgm.privacy.rational import Number
from pypgm.queries import Neighbours
from pypgm.release import Release
from pypgm.workloads import as_workload

__all__ = ["budget_for", "prepared", "synthesize"]

_RESERVED = 10  # part of delta that finding values which nobody lists may take: a tenth


def synthesize(
    source: Frame,
    schema: Schema | Mapping[str, Any] | str | os.PathLike[str],
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    mechanism: str = BEST,
    budget: Budget | None = None,
    neighbours: Neighbours = "add-remove",
    table: str | None = None,
    ignore_extra: bool = False,
    delimiter: str = ",",
    encoding: str = "utf-8",
    decimal: DecimalMark = ".",
    thousands: str = "",
    **options: Any,  # noqa: ANN401 - those of the mechanism
) -> Release:
    """Spend a privacy budget once on a table, and return the release: records that look like it, and any answer.

    What the schema leaves open, values that nobody can list and bins by quantiles, is found privately first, for the
    share of the budget that it names; the records are then encoded and the mechanism spends the rest on them. All that
    is wrong with the table, the schema or the options is refused before anything is spent.

    Parameters
    ----------
    source : data frame, mapping of str to sequence, path, DuckDB relation, ibis.Table or Dataset
        The records, one a row. Frames are those of pandas, polars and pyarrow, lazy ones too, and what else narwhals
        knows; a path is one of a CSV, Parquet or DuckDB file, by its name.
    schema : Schema, mapping or path
        What is publicly known of its columns: a schema, what a schema file has, or the path of one. It says how many
        records a person has, and which combinations none can have.
    epsilon, delta : number, optional
        The guarantee; natural logs for epsilon. Where values have to be found that nobody can list, a tenth of delta
        is kept for the probability that it fails.
    mechanism : str
        Its name, see `pypgm.mechanisms`.
    budget : Budget, optional
        Instead of epsilon and delta.
    neighbours : {"add-remove", "replace"}
        What is protected: whether a person is in the table at all, or what a person's records hold.
    table : str, optional
        Which table of a DuckDB file.
    ignore_extra : bool
        Leave out columns that are not declared, instead of refusing the table.
    delimiter, encoding, decimal, thousands
        Of a CSV file, as for `pypgm.read_table`.
    **options
        Of the mechanism, such as ``time_limit`` or ``progress``. ``workload`` may be a number K for all marginals of
        K attributes, ``"up-to-3"`` or a list of marginals, besides a `Workload`.

    Returns
    -------
    Release
        ``to_frame()`` gives synthetic records in the library, the order and the types of the source, and ``write``
        writes them to a file.

    Raises
    ------
    OSError
        If a file cannot be read.
    ValueError
        With all that is wrong with the table: column and row, never a value; or if the budget or an option is out of
        range, or the mechanism is unknown.
    TypeError
        If there is no schema: the message holds a draft of one.

    References
    ----------
    The guide "Your table" (docs/tables.md) leads through a whole example.

    Examples
    --------
    >>> people = {"age": [31, 7, 44] * 100, "sex": ["F", "M", "F"] * 100}
    >>> schema = {"age": {"kind": "integer", "low": 0, "high": 99, "width": 10}, "sex": ["F", "M"]}
    >>> release = synthesize(people, schema, epsilon=1, delta=1e-9)
    >>> release.guarantee
    'epsilon 1.0, delta 1e-09'
    >>> sorted(set(release.synthetic_data(rng=0).columns))
    ['age', 'sex']
    """
    return prepared(
        source,
        schema,
        epsilon,
        delta,
        mechanism=mechanism,
        budget=budget,
        neighbours=neighbours,
        reading={"table": table, "ignore_extra": ignore_extra}
        | {"delimiter": delimiter, "encoding": encoding, "decimal": decimal, "thousands": thousands},
        options=options,
    )()


def prepared(
    source: Frame,
    schema: Schema | Mapping[str, Any] | str | os.PathLike[str] | None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    mechanism: str,
    budget: Budget | None = None,
    neighbours: Neighbours,
    reading: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Callable[[], Release]:
    """Check all, read the table, and return what spends the budget: the arguments are those of `synthesize`."""
    declared = _declared(source, schema)
    declared.check_there()
    run, asked = mechanism_named(mechanism), budget_for(declared, epsilon, delta, budget)
    own = _options(mechanism, declared.provisional, options)
    if declared.open:  # what is open is paid for before the mechanism is called
        check_call(run, declared, neighbours, asked, own)
    held = opened(source, declared, **reading)

    def closed() -> Release:
        own = _options(mechanism, declared, options)
        release = run(held.records(declared), budget=asked, neighbours=neighbours, **own)
        return replace(release, layout=held.layout)

    def settled() -> Release:
        ledger = Ledger(asked)
        found = settle(declared, held.values, neighbours, ledger)
        with PrivateTable(held.records(found), neighbours, ledger) as table:
            release = run(table, **_options(mechanism, found, options))
        return replace(release, layout=held.layout)

    return settled if declared.open else closed


def _declared(source: Frame, schema: object) -> Schema:
    """Return a schema of what was given for one."""
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, str | os.PathLike):
        return read_schema(schema)
    if isinstance(schema, Mapping):
        return Schema.from_dict(schema, folder=".")
    if schema is None:
        told = "synthesize needs a schema, what is publicly known of each column. A draft, to be completed"
        raise TypeError(f"{told}:\n{draft_text(typed_draft(source, {})[0])}")
    raise TypeError(f"schema needs a Schema, a mapping or a path, got {type(schema).__name__}")


def budget_for(
    schema: Schema, epsilon: Number | None, delta: Number | None = None, budget: Budget | None = None
) -> Budget:
    """Return the budget that is asked for, a part of delta kept for values that have to be found."""
    if sum(Fraction(str(column.share)) for column in schema.open.values()) >= 1:
        raise ValueError("the shares of open columns leave nothing of the budget for the records")
    asked = as_budget(epsilon, delta, budget)
    sets = [repr(name) for name, column in schema.open.items() if isinstance(column, OpenSet)]
    if not sets or budget is not None:
        return asked
    if not asked.delta:
        told = f"values of {listed(sets)} are open in the schema, and found with a probability of failure"
        raise ValueError(f"delta must be more than 0: {told}")
    return Budget(epsilon=asked.epsilon, delta=asked.delta, reserved_delta=asked.delta / _RESERVED)


def _options(mechanism: str, schema: Schema, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the mechanism takes beside records and budget, with a workload over the schema's domain."""
    if options.get("workload") is None:
        return {name: value for name, value in options.items() if name != "workload"}
    if not takes(mechanism, "workload"):
        able = ", ".join(name for name in mechanism_names() if takes(name, "workload"))
        raise ValueError(f"{mechanism} chooses what it measures itself and takes no workload; these do: {able}")
    asked = options["workload"]
    return {**options, "workload": asked(schema.domain) if callable(asked) else as_workload(schema.domain, asked)}
