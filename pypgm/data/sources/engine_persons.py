"""Selection of some of each person's records by a query of the engine that holds them."""

from __future__ import annotations

from pypgm.data.schema.person import Person
from pypgm.data.sources.engine_codes import UnfitError, bytes_of
from pypgm.data.sources.engine_numbers import Expression, call
from pypgm.data.sources.frames import imported

_WITH_MD5 = {"duckdb", "postgres", "risingwave", "pyspark", "databricks", "snowflake"}


def key_of(table: Expression, name: str) -> tuple[Expression, str | None]:
    """Return the key of the person of each value of a column, NULL for none, and the problem of the column, if any.

    Texts are compared by their bytes: no collation may take two persons for one.

    Parameters
    ----------
    table : ibis.Table
    name : str
    """
    ibis = imported("ibis", "a table of an engine", "ibis")
    value, engine = table[name], table.get_backend().name
    kind = value.type()
    try:
        _hashed(engine, value)
        if kind.is_string():
            return bytes_of(ibis, engine, value.strip()).nullif(""), None
    except UnfitError as error:
        return value, str(error)
    if kind.is_integer() or kind.is_uuid():
        return value.cast("string"), None
    return value, f"is of the engine's type {kind}; a person is named by texts or whole numbers, made in a query"


def kept_in_engine(records: Expression, n_codes: int, person: Person, secret: bytes) -> Expression:
    """Return the records that are kept of each person, see `pypgm.data.schema.person.Selection`.

    Parameters
    ----------
    records : ibis.Table
        Codes ``c0``, ``c1``, … and keys ``p0``, ….
    n_codes : int
    person : Person
    secret : bytes
    """
    ibis = imported("ibis", "a table of an engine", "ibis")
    keys = [f"p{i}" for i in range(len(person.columns))]
    codes = [f"c{i}" for i in range(n_codes)]
    placed = records.mutate(place=ibis.row_number().over(group_by=keys, order_by=codes))
    parts = [ibis.literal(secret.hex()), *(placed[key].fill_null("") for key in keys), placed.place.cast("string")]
    drawn = placed.mutate(drawn=_hashed(records.get_backend().name, ibis.literal("|").join(parts)))
    ranked = drawn.mutate(rank=ibis.row_number().over(group_by=keys, order_by=["drawn", "place"]))
    is_kept = ranked["rank"] < person.at_most
    for key in keys:
        is_kept |= ranked[key].isnull()
    return ranked.filter(is_kept).select(*codes)


def _hashed(engine: str, text: Expression) -> Expression:
    """Return a hash of a text; `UnfitError` where the engine is known to have none."""
    if engine in _WITH_MD5:
        return call("md5", "string", text)
    if engine == "bigquery":
        return call("to_hex", "string", call("md5", "binary", text))
    if engine in {"trino", "athena"}:
        return call("to_hex", "string", call("md5", "binary", call("to_utf8", "binary", text)))
    raise UnfitError(f"names persons, and {engine} has no hash to choose among their records: read them elsewhere")
