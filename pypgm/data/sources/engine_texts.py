"""Columns of texts in an engine: texts are told apart by their bytes, and encoded as those of a file are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pypgm.data.columns.column import Column
from pypgm.data.sources.engine_codes import UnfitError, bytes_of, code_of
from pypgm.data.sources.engine_numbers import Expression, call
from pypgm.data.sources.frames import imported

MAX_TEXTS = 20_000
"""Distinct texts of a column at most; a query of codes contains all of them."""

_SHORT = 800  # characters of a comparison with all texts of a column; more are joined with a list of them
_MISFIT = -1


class Texts:
    """The columns of a table that have texts, and the code of each text that they have.

    A key of a value is the text's bytes in hexadecimal digits, or ``=`` and the code of a value that is no text.

    Parameters
    ----------
    table : ibis.Table
    columns : mapping from str to Column
        Columns that are read.

    Attributes
    ----------
    keys : dict from str to ibis.Value
        Key of each value of the columns with texts.
    problems : dict from str to str
        Problem of each column whose texts the engine does not compare.
    columns : frozenset of str
        Columns with texts.
    """

    def __init__(self, table: Expression, columns: Mapping[str, Column]) -> None:
        self._ibis = imported("ibis", "a table of an engine", "ibis")
        self._table, self._declared, self._engine = table, columns, table.get_backend().name
        self.keys: dict[str, Expression] = {}
        self.problems: dict[str, str] = {}
        self._bytes: dict[str, Expression] = {}
        self._codes: dict[str, dict[str, int]] = {}
        for name, column in columns.items():
            if self._engine == "sqlite" or table[name].type().is_string():
                self._add(name, column)
        self.columns = frozenset(self.keys) | frozenset(self.problems)

    def _add(self, name: str, column: Column) -> None:
        value = self._table[name]
        try:
            key = bytes_of(self._ibis, self._engine, value)
        except UnfitError as error:
            self.problems[name] = str(error)
            return
        if self._engine == "sqlite":
            key = self._ibis.cases((call("typeof", "string", value) == "text", key), else_=None)
        code, _ = code_of(self._table, name, column)
        self._bytes[name] = key
        self.keys[name] = key.fill_null(self._ibis.literal("=") + code.cast("string"))

    def encode(self, name: str, keys: Iterable[str]) -> dict[str, int]:
        """Return the code of each key of a column, and know it from now on.

        Raises
        ------
        UnfitError
            If a text does not fit, or there are too many of them.
        """
        codes = {key: int(key[1:]) for key in keys if key.startswith("=")}
        of_texts = [key for key in keys if key not in codes]
        if len(of_texts) > MAX_TEXTS:
            raise UnfitError(f"has more than {MAX_TEXTS:,} texts; give them codes in a query of the engine")
        try:
            texts = [bytes.fromhex(key).decode() for key in of_texts]
        except ValueError:
            texts = None
        if texts is None:  # raised here, the error has no context, which holds the text
            raise UnfitError("has text that is not UTF-8")
        encoded, problem = self._declared[name].encode(texts)
        if problem is not None:
            raise UnfitError(problem.what)
        self._codes[name] = dict(zip(of_texts, encoded.tolist(), strict=True))
        return codes | self._codes[name]

    def n_characters(self, names: Iterable[str]) -> int:
        """Return about how many characters a query has for the texts of some columns."""
        lists = [self._codes[name] for name in names if name in self._codes]
        return sum(len(text) + len(" WHEN '' THEN 00") for of_texts in lists for text in of_texts)

    def joined(self, names: Collection[str]) -> tuple[Expression, dict[str, Expression], dict[str, str]]:
        """Return the table, the code of each text of some columns, and SQL for the tables that it is joined with.

        A list of many texts is such a table: a record is compared with one of them, where ``CASE`` tries all.
        """
        table, lists = self._table, dict[str, str]()
        codes: dict[str, Any] = {}
        for name, of_texts in self._codes.items():
            if name not in names:
                continue
            key = self._bytes[name]
            if self.n_characters([name]) <= _SHORT:
                codes[name] = key.cases(*of_texts.items(), else_=_MISFIT) if of_texts else self._ibis.literal(_MISFIT)
                continue
            i = len(lists)
            columns = {f"pypgm_key_{i}": "string", f"pypgm_code_{i}": "int64"}
            other = self._ibis.table(columns, name=f"pypgm_list_{i}")
            table = table.left_join(other, [key == other[f"pypgm_key_{i}"]])
            codes[name] = f"pypgm_code_{i}"
            lists[f"pypgm_list_{i}"] = list_in_sql(self._engine, [*columns], of_texts)
        return table, {n: table[c].fill_null(_MISFIT) if isinstance(c, str) else c for n, c in codes.items()}, lists


def list_in_sql(engine: str, names: list[str], codes: Mapping[str, int]) -> str:
    """Return a table of hexadecimal digits and codes as a query, without its parentheses.

    Examples
    --------
    >>> list_in_sql("postgres", ["k", "c"], {"61": 0, "62": 1})
    "SELECT * FROM (VALUES ('61',0),('62',1)) AS listed(k, c)"
    """
    key, code = names
    values = ",".join(f"('{text}',{number})" for text, number in codes.items())
    if engine == "bigquery":
        return f"SELECT * FROM UNNEST(ARRAY<STRUCT<{key} STRING, {code} INT64>>[{values}])"
    if engine == "sqlite":
        return f"SELECT column1 AS {key}, column2 AS {code} FROM (VALUES {values})"
    if engine == "clickhouse":  # which parses 50,000 expressions at most
        lines = "\n".join(f"{text},{number}" for text, number in codes.items())
        return f"SELECT * FROM format('CSV', '{key} String, {code} Int64', '{lines}')"
    if engine == "mysql":  # MariaDB names no columns of VALUES, and looks grouped keys up by an index
        pairs = ",".join(f'["{text}",{number}]' for text, number in codes.items())
        width = max(map(len, codes))
        kinds = f"{key} VARCHAR({width}) PATH '$[0]', {code} BIGINT PATH '$[1]'"
        listed = f"JSON_TABLE('[{pairs}]', '$[*]' COLUMNS({kinds})) AS listed"
        return f"SELECT CAST({key} AS BINARY) AS {key}, MAX({code}) AS {code} FROM {listed} GROUP BY 1"
    # Snowflake folds names that are not quoted to upper case, and Spark quotes in another way.
    quoted = f'"{key}", "{code}"' if engine == "snowflake" else f"{key}, {code}"
    return f"SELECT * FROM (VALUES {values}) AS listed({quoted})"
