"""What is publicly known of a table before it is read: a declaration of each column."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pypgm.data.bins import Binned
from pypgm.data.columns import Column
from pypgm.data.dataset import Dataset
from pypgm.data.draft import draft_schema
from pypgm.data.encoding import as_column, check_writable, columns_of, encoded, problems_error
from pypgm.data.files import replacing_text
from pypgm.data.frames import Frame
from pypgm.data.made import Cells, Made
from pypgm.data.mapping_file import with_mappings
from pypgm.data.number_text import DecimalMark
from pypgm.data.relations import Relations
from pypgm.data.rule_comparison import Comparison, check_together
from pypgm.data.rules import AnyRule, Blank, Counted, broken_rules
from pypgm.data.schema_file import declarations, read_object
from pypgm.data.typed_draft import draft_text, typed_draft
from pypgm.data.unsettled import Unsettled
from pypgm.domain import Domain, Label, LaterLabels, listed, nearest
from pypgm.html import Shown
from pypgm.numeric import as_generator, fraction_of
from pypgm.terminal import escaped

__all__ = ["Schema", "SchemaLike", "as_schema", "read_schema"]

SchemaLike: TypeAlias = "Schema | Domain | Mapping[str, Any] | str | os.PathLike[str]"
"""What `as_schema` takes for a schema, and everything that has the argument `schema`."""

_MOST_MADE = 10_000  # labels of a column that are made at once
_BIN = re.compile(r"[\[0-9-]")  # how the label of a bin begins, and a text of null that may be one


class Schema(Shown):
    """What is publicly known of a table: how the values of each column become codes, and codes values again.

    Nothing of it may come from the records: it is not protected.

    Parameters
    ----------
    columns : mapping of str to Column, int or sequence
        A declaration for each column: `Integer`, `Real`, `Boolean`, `Date`, `Categorical` or `Codes` of `pypgm.data`;
        `Difference` from another one; to be found privately, `OpenSet` or `QuantileBins`; or, never read and made when
        records are decoded, `Derived`, `Id` or `Fake`. A size stands for `Codes`, a list of labels for `Categorical`.
        Their order is that of the attributes.
    drop : sequence of str
        Columns of the table that are left out, such as names and numbers of persons.
    rules : sequence of Rule, Comparison, Blank or str
        Combinations of values that no record can have: a table that has one is refused, and `pypgm synth` makes none. A
        text such as ``start <= end`` stands for a `Comparison`.
    records_per_person : int, optional
        Records that one person has at most: every private release of the records takes it from here, and refuses
        another. Left out, it is 1, and a release may be given another.
    warned : sequence of str, or mapping of str to str
        Columns of a draft that have their warning still.

    Attributes
    ----------
    notes : mapping of str to str
        What a draft says of columns, of those that are dropped too. Nothing protects it: it is in files that `save`
        writes, and in no release.

    Raises
    ------
    ValueError
        If there are no columns, one is dropped too, or open ones cost more than the budget.
    TypeError
        If a declaration is none.

    Examples
    --------
    >>> from pypgm.data import Date, Integer
    >>> schema = Schema({"age": Integer(0, 99, width=10), "sex": ["F", "M"], "hired": Date("2020-01-01", "2024-12-31")})
    >>> schema.domain
    Domain(age: 10, sex: 2, hired: 1827)
    >>> data = schema.encode({"age": ["31", "7"], "sex": ["M", "M"], "hired": ["2024-02-29", "2020-01-01"]})
    >>> data.columns["age"].tolist(), schema.decode(data, rng=0)["age"].tolist()
    ([3, 0], [38, 6])
    """

    __slots__ = ("_domain", "_relations", "declared", "drop", "notes", "rules", "stated_records_per_person", "warned")

    declared: Mapping[str, Column | Unsettled | Made]
    drop: tuple[str, ...]
    notes: Mapping[str, str]
    stated_records_per_person: int | None
    rules: tuple[AnyRule, ...]
    warned: tuple[str, ...]

    def __init__(
        self,
        columns: Mapping[str, Column | Unsettled | Made | int | Sequence[Label]],
        *,
        drop: Iterable[str] = (),
        rules: Iterable[AnyRule | str] = (),
        records_per_person: int | None = None,
        warned: Iterable[str] | Mapping[str, str] = (),
    ) -> None:
        if not isinstance(columns, Mapping):
            raise TypeError(f"a schema needs a mapping of names to columns, got {type(columns).__name__}")
        self.declared = {name: as_column(name, given) for name, given in columns.items()}
        self.drop = (drop,) if isinstance(drop, str) else tuple(drop)
        self.stated_records_per_person = k = records_per_person
        self.warned = tuple(warned)
        noted = [given for given in (drop, warned) if isinstance(given, Mapping)]
        self.notes = {name: str(note) for given in noted for name, note in given.items()}
        self.rules = tuple(Comparison(rule) if isinstance(rule, str) else rule for rule in rules)
        if not self._known:
            raise ValueError(f"a schema needs at least one column{' that is read' if self.declared else ''}")
        check_writable(self.declared)
        both = [name for name in self.drop if name in self.declared]
        if both:
            raise ValueError(f"column {both[0]!r} is declared and dropped")
        if k is not None and (type(k) is not int or k < 1):
            raise ValueError(f"records_per_person needs a whole number, 1 or more, got {k!r}")
        if sum(fraction_of(str(column.share)) for column in self.open.values()) > 1:
            raise ValueError("the shares of open columns come to more than the budget")
        closed = self._closed
        labels = {n: found for n, c in closed.items() if (found := _labels_of(c)) is not None}
        self._domain = Domain(tuple(closed), [c.size for c in closed.values()], labels)
        for rule in self.rules:
            self._check_names(rule.columns)
            rule.mask(self._columns_for(rule))
        check_together(self.rules)
        self._relations = Relations(self._known, self.made, self.rules)

    @property
    def records_per_person(self) -> int:
        """Records that one person has at most: as stated, else 1."""
        return self.stated_records_per_person or 1

    @property
    def columns(self) -> Mapping[str, Column]:
        """The declaration of each column; ``ValueError`` where one is open still."""
        self._check_settled()
        return self._closed

    @property
    def domain(self) -> Domain:
        """Names, sizes and labels of the codes; ``ValueError`` where a column is open still."""
        self._check_settled()
        return self._domain

    @property
    def open(self) -> dict[str, Unsettled]:
        """Columns of which something has to be found privately before records can be encoded."""
        return {name: column for name, column in self.declared.items() if isinstance(column, Unsettled)}

    @property
    def made(self) -> dict[str, Made]:
        """Columns that are never read: they are made when records are decoded."""
        return {name: column for name, column in self.declared.items() if isinstance(column, Made)}

    @property
    def unread(self) -> tuple[str, ...]:
        """Columns of a table that are left out: those that are dropped, and those that are made anew."""
        return (*self.drop, *self.made)

    @property
    def reading(self) -> Mapping[str, Column]:
        """What encodes each column of a table that is read; `combined` takes all that it gave."""
        self._check_settled()
        return self._relations.reading

    @property
    def provisional(self) -> Schema:
        """The schema with open columns as they are before anything is found."""
        return self.settled({name: column.provisional for name, column in self.open.items()})

    def made_up(self, n_values: int) -> Schema:
        """Return the schema as if so many values of each open set had been found, and bins of even width.

        Examples
        --------
        >>> from pypgm.data import OpenSet
        >>> Schema({"employer": OpenSet(share="0.05")}).made_up(30).domain.shape
        (31,)
        """
        return self.settled({name: column.made_up(n_values) for name, column in self.open.items()})

    def settled(self, found: Mapping[str, Column]) -> Schema:
        """Return the schema with other declarations of some columns."""
        columns = {name: found.get(name, column) for name, column in self.declared.items()}
        rest: dict[str, Any] = {"drop": self.drop, "rules": self.rules, "warned": self.warned}
        return Schema(columns, **rest, records_per_person=self.stated_records_per_person)

    def extended(
        self,
        columns: Mapping[str, Column],
        records_per_person: int | None,
        rules: Iterable[AnyRule] = (),
    ) -> Schema:
        """Return the schema with further columns and rules, for another number of records per person."""
        drop, both = [name for name in self.drop if name not in columns], (*self.rules, *rules)
        known = {**self.declared, **columns}
        return Schema(known, drop=drop, rules=both, records_per_person=records_per_person, warned=self.warned)

    def _check_names(self, names: Iterable[str]) -> None:
        unknown = [name for name in names if name not in self.declared]
        made = [name for name in names if name in self.made]
        if made:
            raise ValueError(f"a rule names {made[0]!r}, which is made of other columns: name those")
        if unknown:
            near = nearest(str(unknown[0]), self.declared)
            raise ValueError(f"a rule names {unknown[0]!r}, and no such column is declared{near}")

    def _check_settled(self) -> None:
        if self.open:
            raise ValueError(
                f"what is open in {listed([repr(n) for n in self.open])} has to be found privately first: "
                "pypgm.privacy.settle does it, and pypgm synth"
            )

    @property
    def _closed(self) -> dict[str, Column]:
        return {name: column for name, column in self.declared.items() if isinstance(column, Column)}

    @property
    def _known(self) -> dict[str, Column]:
        """The columns that are read, open ones as they are before anything is found."""
        read = {name: column for name, column in self.declared.items() if not isinstance(column, Made)}
        return {name: column if isinstance(column, Column) else column.provisional for name, column in read.items()}

    def _columns_for(self, rule: AnyRule) -> Mapping[str, Column]:
        """Return the columns that a rule may name: what is blank may be open, values must be known."""
        return self._known if isinstance(rule, Blank) else self._closed

    @property
    def ordinal(self) -> tuple[str, ...]:
        """Columns whose values are in an order that means something."""
        return tuple(name for name, column in self.columns.items() if column.is_ordinal)

    def encode(self, frame: Frame, *, ignore_extra: bool = False) -> Dataset:
        """Return the records of raw columns as codes.

        Parameters
        ----------
        frame : data frame, or mapping of str to sequence or ndarray of shape (n_records,)
            Texts, numbers, dates; a column for each of the schema. A frame is one of pandas, polars, pyarrow, or what
            else offers the Arrow C stream, and needs the extra ``[frames]``.
        ignore_extra : bool
            Leave out columns that the schema has not, instead of refusing them. Those of `drop` are left out always.

        Raises
        ------
        ValueError
            With all that is wrong: columns missing or unknown, and for each column the first row whose value does not
            fit. The value is never told.

        Examples
        --------
        >>> from pypgm.data import Codes
        >>> Schema({"a": Codes(2, null=True), "b": Codes(85, null=True)}).encode({"a": [1, 2], "b": ["", 99]})
        Traceback (most recent call last):
        ValueError: the table has 2 problems:
          column 'a', row 1 (the first is 0): needs an integer from 0 to 1, and has another value;
          column 'b', row 1 (the first is 0): needs an integer from 0 to 84, and has another value
        """
        data = self.records(self.combined(encoded(self.reading, frame, drop=self.unread, ignore_extra=ignore_extra)))
        self.check_rules(data)
        return data

    def records(self, codes: Mapping[str, NDArray[Any]]) -> Dataset:
        """Return the records of columns of codes, which know the schema."""
        return Dataset(codes, self.domain, schema=self)

    def decode(self, data: Dataset, rng: np.random.Generator | int | None = None) -> dict[str, NDArray[Any]]:
        """Return records as columns of values, drawn within bins as each column declares, and such that rules hold.

        Columns that are made are made of these.

        Parameters
        ----------
        data : Dataset
            Over the domain of the schema.
        rng : numpy.random.Generator or int, optional
            Where values within bins are drawn from.

        Raises
        ------
        ValueError
            If the records are over another domain.
        """
        self.check_domain(data.domain)
        return {name: cells.decoded() for name, cells in self.cells(data.columns, as_generator(rng)).items()}

    def cells(self, codes: Mapping[str, NDArray[Any]], rng: np.random.Generator, start: int = 0) -> dict[str, Cells]:
        """Return what all columns hold of some records, so many after the first, in the order of the schema.

        Values are drawn within bins such that rules hold, and columns are made of them that are made.
        """
        self._check_settled()
        found = self._relations.cells(codes, rng, start)
        return {name: found[name] for name in self.declared}

    def example(self, rng: np.random.Generator | int | None = None) -> dict[str, Cells]:
        """Return what all columns hold of one record: what they are, whatever it holds."""
        return self.cells({name: np.zeros(1, dtype=np.int64) for name in self.columns}, as_generator(rng))

    def combined(
        self, codes: Mapping[str, NDArray[Any]], table: str = "the table", first_row: int = 0, begin: str = ""
    ) -> dict[str, NDArray[Any]]:
        """Return the codes of columns, given those that `reading` gave; ``ValueError`` where a difference misfits."""
        return self._relations.combined(codes, table, first_row, begin)

    def needed(self, names: Sequence[str]) -> list[str]:
        """Return which columns of a table have to be read for the codes of some."""
        return self._relations.needed(names)

    def check_there(self) -> None:
        """Raise an error where columns cannot be made here, such as for a package that is missing."""
        self._relations.check_there()

    def check_domain(self, domain: Domain) -> None:
        """Raise ``ValueError`` where a domain is not that of the schema."""
        if domain != self.domain:
            raise ValueError(f"the schema is of {self.domain!r}, the records are over {domain!r}")

    def check_rules(self, table: Counted, name: str = "the table", first_row: int = 0) -> None:
        """Raise ``ValueError`` where records, wherever they are, have a combination that a rule forbids."""
        problems = broken_rules(self.rules, self._known, table, first_row) if self.rules else []
        if problems:
            raise problems_error(name, problems)

    def to_dict(self) -> dict[str, Any]:
        """Return what a schema file has; `Schema.from_dict` reads it."""
        told: dict[str, Any] = {"columns": {name: column.to_dict() for name, column in self.declared.items()}}
        for name in self.warned:
            told["columns"][name]["warning"] = "drafted from a table, and not reviewed"
        if self.drop:
            told["drop"] = list(self.drop)
        if self.rules:
            told["rules"] = [rule.to_dict() for rule in self.rules]
        k = self.stated_records_per_person
        return told | ({} if k is None else {"records_per_person": k})

    @classmethod
    def from_dict(
        cls, fields: object, name: str = "the schema", folder: str | os.PathLike[str] | None = None
    ) -> Schema:
        """Return the schema of a parsed file.

        Parameters
        ----------
        fields : mapping
            ``{"columns": {…}, "drop": […], "records_per_person": 1}``, or the columns alone.
        name : str
            What errors call it.
        folder : str or path-like, optional
            Where the files of mappings are that it names; without it none is read, and such a name is refused.

        Raises
        ------
        ValueError
            With all that is wrong.

        Examples
        --------
        >>> Schema.from_dict({"age": {"kind": "integer", "low": 0, "high": 99, "width": 10}, "sex": ["F", "M"]})
        Schema(age: integer 10, sex: categorical 2)
        """
        columns, rest, problems = declarations(fields if folder is None else with_mappings(fields, folder))
        if problems:
            raise problems_error(name, problems)
        try:
            return cls(columns, **rest)
        except (TypeError, ValueError) as error:
            raise problems_error(name, [str(error)]) from None

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a schema from a file, see `read_schema`."""
        return cls.from_dict(read_object(path), os.fspath(path), Path(path).parent)

    @classmethod
    def from_types(
        cls, source: Frame, bounds: Mapping[str, Sequence[Any]] | None = None, *, table: str | None = None
    ) -> Schema:
        """Return a schema from what a table says of itself, its names and types, without reading a record.

        Booleans, and the categories that a type declares, are known by it; values of texts are found privately.

        Parameters
        ----------
        source : data frame, mapping of str to sequence, path, DuckDB relation or ibis.Table
            A path is one of a CSV, Parquet or DuckDB file. Columns of a CSV file have names alone.
        bounds : mapping of str to sequence
            What is publicly known: the lowest and the highest value of each column of numbers or dates; of texts, if
            it is known, a list of all. Where there is no type it is that of the bounds: whole numbers, numbers, dates
            as ``2024-01-31``, or a list of texts.
        table : str, optional
            Which table of a DuckDB file.

        Raises
        ------
        ValueError
            If bounds are missing: the message has a draft of the schema, to be completed. Or if they name no column.

        Examples
        --------
        >>> import pandas  # doctest: +SKIP
        >>> frame = pandas.DataFrame({"age": [31, 7], "smokes": [True, False]})  # doctest: +SKIP
        >>> Schema.from_types(frame, bounds={"age": (0, 120)})  # doctest: +SKIP
        Schema(age: integer 41, smokes: boolean 2)
        """
        draft, missing = typed_draft(source, bounds or {}, table)
        if missing:
            needed = f"bounds of {listed([repr(name) for name in missing])}, which types do not tell"
            raise ValueError(f"a schema from types needs {needed}. Their draft, to be completed:\n{draft_text(draft)}")
        return cls.from_dict(draft)

    @classmethod
    def draft(
        cls,
        source: Frame,
        *,
        table: str | None = None,
        delimiter: str = ",",
        encoding: str = "utf-8",
        decimal: DecimalMark = ".",
        thousands: str = "",
    ) -> Schema:
        """Return a first draft of the schema of a table, made from its records. It is NOT private.

        What it has from the records is in `warned`, and `notes` say what to do about it: replace it by what is publicly
        known, in the file that `save` writes, and delete the warning.

        Parameters
        ----------
        source : data frame, mapping of str to sequence, path, DuckDB relation or ibis.Table
        table, delimiter, encoding, decimal, thousands
            As for `pypgm.synthesize`. Marks of numbers are found, column by column, where none are given.

        Raises
        ------
        OSError
            If a file cannot be read.
        ValueError
            If it is no table with names, or there is no column to declare.

        Examples
        --------
        >>> people = {"id": [f"P{i}" for i in range(99)], "age": [18 + i % 60 for i in range(99)]}
        >>> draft = Schema.draft(people)
        >>> draft, draft.drop, draft.warned
        (Schema(age: integer 60), ('id',), ('age',))
        >>> draft.notes["age"]
        'low and high are about those of the records: replace them by what is publicly known'
        """
        marks: dict[str, Any] = {"decimal": decimal, "thousands": thousands}
        return cls.from_dict(draft_schema(source, table=table, delimiter=delimiter, encoding=encoding, **marks))

    @classmethod
    def of(cls, domain: Domain) -> Schema:
        """Return the schema of a domain: labels are values, sizes are codes."""
        return cls(columns_of(domain))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the schema to a JSON file, whole or not at all; ``OSError`` if it cannot be written."""
        given = self.to_dict()
        for name in self.warned:
            given["columns"][name]["warning"] = self.notes.get(name, given["columns"][name]["warning"])
        if any(name in self.notes for name in self.drop):
            given["drop"] = {name: self.notes.get(name, "") for name in self.drop}
        with replacing_text(path) as file:
            json.dump(given, file, indent=1, ensure_ascii=False)
            file.write("\n")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        return self._said == other._said

    @property
    def _said(self) -> tuple[object, ...]:
        return list(self.declared.items()), self.drop, self.rules, self.stated_records_per_person

    def __hash__(self) -> int:
        return hash((tuple(self.declared), self.drop))

    def __repr__(self) -> str:
        told = {n: f"{c.kind} {c.size}" if isinstance(c, Column) else "open" for n, c in self.declared.items()}
        told |= {name: column.kind for name, column in self.made.items()}
        return f"Schema({listed([f'{escaped(name)}: {what}' for name, what in told.items()], 12)})"


def read_schema(path: str | os.PathLike[str]) -> Schema:
    """Read a schema from a JSON or YAML file.

    A schema is public: write it from what is known about the columns, never from the records. A file of `read_domain`
    is one too.

    Parameters
    ----------
    path : str or path-like
        YAML where the name ends in ``.yaml`` or ``.yml``, which needs the extra ``[yaml]``. For example ``{"columns":
        {"age": {"kind": "integer", "low": 0, "high": 99, "width": 10}, "sex": ["F", "M"]}, "drop": ["id"]}``. Each
        kind takes what its class takes: "categorical", "boolean", "codes", "integer", "real", "date". A "comment" or a
        "warning" may stand anywhere.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        With all that is wrong with it.
    ImportError
        If the file is YAML, and PyYAML is not installed.

    Examples
    --------
    >>> read_schema("schema.json")  # doctest: +SKIP
    Schema(age: integer 10, sex: categorical 2)
    """
    return Schema.read(path)


def _labels_of(column: Column) -> tuple[Label, ...] | LaterLabels | None:
    """Return the labels of a column's codes: of many bins, which are known to differ, made when they are read."""
    if isinstance(column, Binned) and column.size > _MOST_MADE and not any(map(_BIN.match, column.nulls)):
        return LaterLabels(column, column.size)
    return column.labels


def as_schema(schema: SchemaLike) -> Schema:
    """Return a schema: as it is, of a file, of what a file holds, or of the labels and sizes of a domain.

    Raises
    ------
    TypeError
        If it is none of them.

    Examples
    --------
    >>> as_schema({"age": 85, "sex": ["F", "M"]})
    Schema(age: codes 85, sex: categorical 2)
    """
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, Domain):
        return Schema.of(schema)
    if isinstance(schema, str | os.PathLike):
        return read_schema(schema)
    if isinstance(schema, Mapping):
        return Schema.from_dict(schema, folder=".")
    raise TypeError(f"schema needs a Schema, a Domain, a mapping or a path, got {type(schema).__name__}")
