"""A table goes in, a private release comes out: all between them in one call."""

from __future__ import annotations

from typing import Any

from pypgm.data.frames import Frame
from pypgm.data.number_text import DecimalMark
from pypgm.data.schema import SchemaLike
from pypgm.mechanisms.registry import BEST
from pypgm.mechanisms.run import DEFAULTS, Options
from pypgm.mechanisms.tables import prepared
from pypgm.privacy.arguments import one_relation
from pypgm.privacy.budget import Budget
from pypgm.privacy.rational import Number
from pypgm.privacy.relation import Privacy
from pypgm.queries import Neighbours
from pypgm.release import ModelRelease
from pypgm.signatures import with_options


@with_options(Options, DEFAULTS, more=True)
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
    delimiter: str = ",",
    encoding: str = "utf-8",
    decimal: DecimalMark = ".",
    thousands: str = "",
    **options: Any,  # noqa: ANN401 - those of the mechanism
) -> ModelRelease:
    """Spend a privacy budget once on a table, and return the release: records that look like it, and any answer.

    What the schema leaves open, values that nobody can list and bins by quantiles, is found privately first, for the
    share of the budget that it names; the records are then encoded and the mechanism spends the rest on them. All that
    is wrong with the table, the schema or the options is refused before anything is spent.

    Parameters
    ----------
    source : data frame, mapping of str to sequence, path, DuckDB relation, ibis.Table or Dataset
        The records, one a row. Frames are those of pandas, polars and pyarrow, lazy ones too, and what else narwhals
        knows; a path is one of a CSV, Parquet or DuckDB file, by its name.
    schema : Schema, Domain, mapping or path
        What is publicly known of its columns: a schema, what a schema file has, or the path of one. It says how many
        records a person has, and which combinations none can have. A Dataset has its own; of all else it is needed,
        and the refusal shows a draft of names and types, which reads no record, and how to complete it.
    epsilon, delta : number, optional
        The guarantee; natural logs for epsilon. Where values have to be found that nobody can list, a tenth of delta
        is kept for the probability that it fails.
    mechanism : str
        Its name, see `pypgm.mechanisms`.
    budget : Budget, optional
        Instead of epsilon and delta.
    neighbours : {"add-remove", "replace"}, optional
        What is protected: whether a person is in the table at all (the default), or what a person's records hold.
    privacy : Privacy, optional
        Instead of `neighbours`.
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
    spend = prepared(
        source,
        schema,
        epsilon,
        delta,
        mechanism=mechanism,
        budget=budget,
        neighbours=one_relation(neighbours, privacy),
        reading={"table": table, "ignore_extra": ignore_extra}
        | {"delimiter": delimiter, "encoding": encoding, "decimal": decimal, "thousands": thousands},
        options=options,
    )
    del source  # tracebacks from here on do not hold the records
    return spend()
