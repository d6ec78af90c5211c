"""The call that turns a table into a private release."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, cast

from pypgm._base.signatures import with_options
from pypgm._base.text import checked_text
from pypgm.data.schema.schema import SchemaLike
from pypgm.data.sources.counted_table import as_counted
from pypgm.data.sources.dialect import DIALECT_DEFAULTS, Dialect, DialectOptions
from pypgm.data.sources.frames import Frame
from pypgm.data.sources.source import open_source
from pypgm.jobs.job import Job
from pypgm.jobs.place import Place
from pypgm.mechanisms.run import DEFAULTS, Options
from pypgm.mechanisms.tables import BEST, check_options, declared_schema, prepared, request_of
from pypgm.privacy.account_run import Reservation
from pypgm.privacy.account_use import on_table
from pypgm.privacy.arguments import one_relation, relation_of
from pypgm.privacy.budget import Budget
from pypgm.privacy.rational import Number
from pypgm.privacy.relation import Privacy
from pypgm.privacy.tables import budget_for
from pypgm.queries import Neighbours
from pypgm.release import ModelRelease


@with_options(Options, DEFAULTS, more=True)
@with_options(DialectOptions, DIALECT_DEFAULTS, more=True)
def synthesize(
    source: Frame,
    schema: SchemaLike | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    mechanism: str = BEST,
    budget: Budget | None = None,
    neighbours: Neighbours | None = None,
    privacy: Privacy | None = None,
    table: str | None = None,
    ignore_extra: bool = False,
    key: str | None = None,
    release: str | os.PathLike[str] | None = None,
    **options: Any,  # noqa: ANN401 - those of a dialect and of the mechanism
) -> ModelRelease:
    """Spend a privacy budget once on a table, and return the release: records that look like it, and any answer.

    Open columns of the schema, with values that nobody can list or bins by quantiles, are settled privately first, for
    the share of the budget that it names; the records are then encoded and the mechanism spends the rest on them. Any
    fault of the table, the schema or the options is refused before anything is spent.

    Parameters
    ----------
    source : data frame, mapping of str to sequence, path, list of paths, DuckDB relation, ibis.Table, Dataset or scan
        The records, one per row. Frames of pandas, polars and pyarrow, lazy ones and datasets too, and others that
        narwhals knows; a path names a CSV, Parquet, JSON or DuckDB file or a workbook, by its ending, or a folder or a
        pattern such as ``"visits/*.csv"``, whose files are one table. Or their counts: a `pypgm.data.CountedTable`.
    schema : Schema, Domain, mapping or path
        Public knowledge of its columns: a schema, the contents of a schema file, or the path of one. It states how many
        records a person has, and impossible combinations. A Dataset has its own; any other source needs one, and the
        refusal shows a draft of names and types, which reads no record, and how to complete it.
    epsilon, delta : number, optional
        The guarantee; epsilon in natural logs. If unlisted values have to be found, a tenth of delta is reserved for
        the probability that this fails.
    mechanism : str
        Name of the mechanism, see `pypgm.mechanisms`.
    budget : Budget, optional
        Instead of epsilon and delta.
    neighbours : {"add-remove", "replace"}, optional
        The protected fact: whether a person is in the table at all (the default), or the contents of a person's
        records.
    privacy : Privacy, optional
        Instead of `neighbours`.
    table : str, optional
        The table in a DuckDB file, or the sheet of a workbook with several.
    ignore_extra : bool
        Leave out columns that are not declared, instead of refusing the table.
    key : str, optional
        Key of a job that may be repeated: the first call with it keeps its release at the path `release`, and in the
        account, if there is one; later ones return that release and spend nothing. Under the same key, another schema,
        mechanism, budget, neighbour relation or workload, or other targets are refused.
    release : path, optional
        Where a release with a key is kept; without an account it is all that a later call looks at.
    **options
        Marks of a CSV file, such as ``delimiter``, as for `pypgm.read_table`, and options of the mechanism, such as
        ``time_limit`` or ``progress``. ``workload`` may be a number K for all
        marginals of K attributes, ``"up-to-3"`` or a list of marginals, besides a `Workload`; ``targets`` are the
        columns that others are to predict, which `wide` and `adaptive_grid` take.

    Returns
    -------
    Release
        ``to_frame()`` gives synthetic records in the library, the order and the types of the source, and ``write``
        writes them to a file.

    Raises
    ------
    OSError
        If a file cannot be read, or the release not be kept.
    ValueError
        With all faults of the table, by column and row, never by value; or if the budget or an option is out of range,
        or the mechanism is unknown.
    TypeError
        If there is no schema: the message holds a draft of one.

    References
    ----------
    The guide "Your table" (docs/your_table.md) has a section for each kind of table.

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
    if options.get("account") is not None:
        options["account"] = on_table(options["account"], source, table)
    marks = {name: options.pop(name) for name in Dialect._fields if name in options}
    opened, relation = open_source(as_counted(source), table, Dialect(**marks)), one_relation(neighbours, privacy)
    del source  # from here on no traceback holds the records
    how: dict[str, Any] = {
        "mechanism": mechanism,
        "budget": budget,
        "neighbours": relation,
        "ignore_extra": ignore_extra,
    }
    if (key is None) != (release is None):
        raise ValueError("a job has a key and a place for its release: pass both key= and release=, or neither")
    if key is None or release is None:
        spend = prepared(opened, schema, epsilon, delta, **how, options=options)
        del opened
        return spend()
    known = declared_schema(opened, schema)
    # Options are read more than once.
    options = {name: [*value] if isinstance(value, Iterator) else value for name, value in options.items()}
    account = options.get("account")
    if isinstance(account, Reservation):
        raise TypeError("a job reserves for itself, once it knows that no release is there: pass the account")
    whole = budget_for(known, epsilon, delta, budget)
    job = Job(
        _key(key),
        os.fspath(release),
        known,
        mechanism=mechanism,
        budget=whole,
        privacy=relation_of(relation, known.provisional),
        account=account,
        request=request_of(known.provisional, mechanism, options),
        is_test=options.get("unsafe_seed") is not None,
    )
    if (earlier := job.earlier()) is not None:
        return cast("ModelRelease", earlier[0])
    check_options(opened, known, whole, mechanism=mechanism, neighbours=relation, options=options)
    with Place(job.file) as place, job.reserved() as reservation:
        spend = prepared(opened, known, epsilon, delta, **how, options={**options, "account": reservation})
        del opened
        made = replace(spend(), key=job.key, request=job.request)
        place.keep(made, partial(job.keep, made))
    return made


def _key(given: object) -> str:
    if not (key := checked_text("key", given)):
        raise ValueError("a key needs a character")
    return key
