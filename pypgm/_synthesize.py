"""The call that turns a table into a private release."""

from __future__ import annotations

from typing import Any

from pypgm._base.signatures import with_options
from pypgm.data.schema.schema import SchemaLike
from pypgm.data.sources.dialect import DIALECT_DEFAULTS, Dialect, DialectOptions
from pypgm.data.sources.frames import Frame
from pypgm.data.sources.source import open_source
from pypgm.mechanisms.run import DEFAULTS, Options
from pypgm.mechanisms.tables import BEST, prepared
from pypgm.privacy.account_use import as_account
from pypgm.privacy.arguments import one_relation
from pypgm.privacy.budget import Budget
from pypgm.privacy.rational import Number
from pypgm.privacy.relation import Privacy
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
        pattern such as ``"visits/*.csv"``, whose files are one table.
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
        If a file cannot be read.
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
    if (account := as_account(options.get("account"))) is not None:
        account.check_table(table)
    marks = {name: options.pop(name) for name in Dialect._fields if name in options}
    spend = prepared(
        open_source(source, table, Dialect(**marks)),
        schema,
        epsilon,
        delta,
        mechanism=mechanism,
        budget=budget,
        neighbours=one_relation(neighbours, privacy),
        ignore_extra=ignore_extra,
        options=options,
    )
    del source  # from here on no traceback holds the records
    return spend()
