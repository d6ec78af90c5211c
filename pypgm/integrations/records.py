"""Synthetic records straight into PostgreSQL and Spark; other engines read `Release.to_batches` themselves."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pypgm._base.numeric import as_generator, checked_integer
from pypgm.data.sources.frames import imported

if TYPE_CHECKING:
    from pypgm.graphs.evidence import Evidence
    from pypgm.release import Release

__all__ = ["copy_to_postgres", "to_spark"]

_TYPES = (  # of Arrow, and of PostgreSQL
    (r"bool", "boolean"),
    (r"u?int8|int16", "smallint"),
    (r"uint16|int32", "integer"),
    (r"uint32|int64", "bigint"),
    (r"uint64", "numeric(20)"),
    (r"halffloat|float", "real"),
    (r"double", "double precision"),
    (r"decimal\d+(\(\d+, \d+\))", r"numeric\1"),
    (r"date32\[day\]|date64\[ms\]", "date"),
    (r"timestamp\[\w+\]", "timestamp"),
    (r"timestamp\[\w+, tz=.+\]", "timestamptz"),
    (r"time(32|64)\[\w+\]", "time"),
    (r"(large_)?string|string_view", "text"),
)


def copy_to_postgres(
    release: Release[Any],
    connection: Any,
    table: str,
    rows: int | None = None,
    rng: np.random.Generator | int | None = None,
    *,
    evidence: Evidence | None = None,
) -> int:
    """Copy synthetic records into a table of PostgreSQL, in little memory; return how many.

    The table is made if it is not there. It gets all records or, where anything fails, none.

    Parameters
    ----------
    release : Release
    connection : psycopg.Connection
    table : str
        Its name, in the schema that the connection looks in.
    rows, rng, evidence
        See `Release.synthetic_data`.

    Raises
    ------
    ValueError
        If PostgreSQL has no type for a column.
    ImportError
        If psycopg or pyarrow is not installed.

    Examples
    --------
    >>> with psycopg.connect("postgresql://publisher@db/synthetic") as connection:  # doctest: +SKIP
    ...     copy_to_postgres(release, connection, "people", rows=10**7)
    """
    sql = imported("psycopg.sql", "copying to PostgreSQL", "postgres")
    csv = imported("pyarrow.csv", "copying to PostgreSQL", "postgres")
    batches = release.to_batches(rows, rng, evidence=evidence)
    plain = _plain(batches.schema)
    columns = sql.SQL(", ").join(map(sql.Identifier, plain.names))
    types = [sql.SQL("{} {}").format(sql.Identifier(f.name), sql.SQL(_type(f))) for f in plain]
    name, n_records = sql.Identifier(table), 0
    # Whatever is valid is quoted, so that an empty text is none that is missing.
    options = csv.WriteOptions(include_header=False, quoting_style="all_valid")
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(sql.SQL("CREATE TABLE IF NOT EXISTS {} ({})").format(name, sql.SQL(", ").join(types)))
        with cursor.copy(sql.SQL("COPY {} ({}) FROM STDIN (FORMAT csv)").format(name, columns)) as copy:
            for batch in batches:
                text = io.BytesIO()
                csv.write_csv(batch.cast(plain), text, options)
                copy.write(text.getvalue())
                n_records += batch.num_rows
    return n_records


def _plain(schema: Any) -> Any:
    """Return a schema of Arrow with values in the place of dictionaries."""
    for i, field in enumerate(schema):
        if hasattr(field.type, "value_type"):
            schema = schema.set(i, field.with_type(field.type.value_type))
    return schema


def _type(field: Any) -> str:
    """Return the type of PostgreSQL for a column of Arrow."""
    for arrow, postgres in _TYPES:
        if match := re.fullmatch(arrow, str(field.type)):
            return match.expand(postgres)
    raise ValueError(f"PostgreSQL has no type for column {field.name!r} of {field.type}")


def to_spark(
    release: Release[Any],
    session: Any,
    rows: int | None = None,
    rng: np.random.Generator | int | None = None,
    *,
    parts: int,
    evidence: Evidence | None = None,
) -> Any:
    """Return synthetic records as a data frame of Spark, whose executors draw them: a partition for each part.

    The records are those of `Release.to_batches`, whatever the number of parts, and are drawn again whenever the frame
    is read: write it, or cache it. The executors need pypgm and pyarrow.

    Parameters
    ----------
    release : Release
    session : pyspark.sql.SparkSession
    rows, rng, evidence
        See `Release.synthetic_data`.
    parts : int
        Number of partitions.

    Raises
    ------
    ValueError
        If `parts` is not positive.
    ImportError
        If pyspark or pyarrow is not installed.

    Examples
    --------
    >>> to_spark(release, spark, 10**9, parts=1000).write.parquet("hdfs:///synthetic")  # doctest: +SKIP
    """
    n = checked_integer("parts", parts, 1)
    types = imported("pyspark.sql.pandas.types", "records in Spark", "spark")
    seed = rng if isinstance(rng, int) else int(as_generator(rng).integers(2**63))  # the same for all executors
    plain = _plain(release.to_batches(0, seed).schema)
    draw = partial(release.to_batches, rows, seed, evidence=evidence, parts=n)

    def drawn(numbers: Iterable[Any]) -> Iterator[Any]:
        for batch in numbers:
            for part in batch.column(0).to_pylist():
                yield from (records.cast(plain) for records in draw(part=part))

    return session.range(0, n, 1, n).mapInArrow(drawn, types.from_arrow_schema(plain))
