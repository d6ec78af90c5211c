"""Schemas: public declarations of the columns of a table, made before it is read, and relations between columns."""

from __future__ import annotations

import copy
import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pypgm._base.numeric import as_generator
from pypgm._base.signatures import with_options
from pypgm.data.columns.bins import Binned
from pypgm.data.columns.categorical import Categorical
from pypgm.data.columns.column import Column, Readable
from pypgm.data.columns.derived import Derived
from pypgm.data.columns.difference import Difference, Steps
from pypgm.data.columns.listed_numbers import ListedNumbers, line_of, listed_line
from pypgm.data.columns.made import Cells, Fake, Made, in_order, made_in_order
from pypgm.data.columns.open_columns import OpenColumn
from pypgm.data.columns.within import values_within
from pypgm.data.dataset import Dataset
from pypgm.data.schema.declaration import Declaration
from pypgm.data.schema.one_of import Block, Member, OneOf, blocks_of
from pypgm.data.schema.person import Person
from pypgm.data.schema.rule_comparison import check_together
from pypgm.data.schema.rules import AnyRule, Blank, Counted, broken_rules
from pypgm.data.schema.schema_file import declarations, read_object, with_mappings
from pypgm.data.schema.weight import Weight
from pypgm.data.sources.dialect import DIALECT_DEFAULTS, DialectOptions
from pypgm.data.sources.encoding import columns_of, encoded, problems_error, refuse
from pypgm.data.sources.frames import Frame
from pypgm.data.sources.source import open_source
from pypgm.domain import Domain, Label, LaterLabels, listed, nearest
from pypgm.errors import DraftWarning

if TYPE_CHECKING:
    from typing_extensions import Unpack


_CIRCULAR = "is the difference from itself, by way of others"


class Relations:
    """The columns of a schema, those that are read and those that are made.

    Parameters
    ----------
    columns : mapping of str to Column
        Columns that are read; open ones are provisional.
    made : mapping of str to Made
    rules : sequence
        Rules, of which comparisons hold for decoded values.

    Attributes
    ----------
    written : mapping of str to Column
        Kind of the values in a table: the dates or numbers of a difference itself, the results of a derived column.

    Raises
    ------
    ValueError
        If a column is made of one that is missing or unsuitable, or of itself by way of others.
    """

    def __init__(self, columns: Mapping[str, Column], made: Mapping[str, Made], rules: Sequence[object]) -> None:
        self._columns, self._made, self._rules = columns, made, rules
        firsts = {name: column.first for name, column in columns.items() if isinstance(column, Difference)}
        self._differences = in_order({name: (first,) for name, first in firsts.items()}, _CIRCULAR)
        whole = dict(columns)
        for name in self._differences:
            whole[name] = _second(name, firsts[name], columns, whole)
        bases = set(firsts.values())
        self._steps = {
            name: Steps(column, null=column.null)
            for name, column in whole.items()
            if isinstance(column, Binned) and (name in bases or name in firsts)
        }
        self._starts: dict[str, Steps | ListedNumbers] = {
            **self._steps,
            **{n: line for n in bases if (line := listed_line(whole[n])) is not None},
        }
        self._order, self.written = made_in_order(made, columns), whole
        for name in self._order:
            made[name].check(whole, name)
            column = made[name]
            if isinstance(column, Derived | Member):
                whole[name] = column.column(whole) if isinstance(column, Derived) else column.column

    @property
    def reading(self) -> dict[str, Column]:
        """Encoders of the columns that are read."""
        reading: dict[str, Column | Steps] = {}
        for name, column in self._columns.items():
            members = self._members(name)
            reading |= {member: self.written[member] for member in members} or {name: self._steps.get(name, column)}
        return reading

    def _members(self, name: str) -> tuple[str, ...]:
        """Return the columns of a table that an attribute stands for, if it stands for several."""
        column = self._columns.get(name)
        return tuple(map(str, column.values)) if isinstance(column, Block) else ()

    def needed(self, names: Sequence[str]) -> list[str]:
        """Return the columns of a table that are read to compute the codes of some attributes."""
        return [column for name in self.attributes(names) for column in self._members(name) or (name,)]

    def attributes(self, names: Sequence[str]) -> list[str]:
        """Return some attributes, and those that they are differences from."""
        attributes = dict.fromkeys(names)
        for name in names:
            if isinstance(column := self._columns.get(name), Difference):
                attributes[column.first] = None
        return list(attributes)

    def combined(
        self,
        codes: Mapping[str, NDArray[Any]],
        table: str = "the table",
        first_row: int = 0,
        begin: str = "the first is 0",
    ) -> dict[str, NDArray[Any]]:
        """Return the codes of columns, given those that `reading` gave.

        Raises
        ------
        ValueError
            With column and row, where a difference does not fit.
        """
        combined, problems = dict(codes), []
        for name in filter(codes.__contains__, self._steps):
            column, steps = self._columns[name], self._steps[name]
            if not isinstance(column, Difference):
                combined[name] = steps.binned(codes[name])
            elif column.first in codes:  # else it is there for the difference from it alone
                first = codes[column.first]
                combined[name], problem = column.coded(self._starts[column.first], first, steps, codes[name])
                if problem is not None:
                    problems.append(problem.of(name, first_row, begin))
        for name, block in self._columns.items():
            if isinstance(block, Block) and str(block.values[0]) in codes:
                combined[name], problem = block.coded(combined)
                for member in self._members(name):
                    del combined[member]
                if problem is not None:
                    problems.append(problem.of(name, first_row, begin))
        refuse(table, problems)
        return combined

    def scattered(self, rng: np.random.Generator) -> Relations:
        """Return the relations with a drawn distribution of values within each bin."""
        other = copy.copy(self)
        other._columns = {name: column.scattered(rng) for name, column in self._columns.items()}
        return other

    def cells(self, codes: Mapping[str, NDArray[Any]], rng: np.random.Generator, start: int = 0) -> dict[str, Cells]:
        """Return the cells of all columns for some records, numbered from a first row.

        Parameters
        ----------
        codes : mapping of str to ndarray of int, shape (n_records,)
        rng : numpy.random.Generator
        start : int
            Number of records before.
        """
        values = values_within(self._rules, self._columns, codes, rng)
        cells = {n: Cells(c, np.asarray(codes[n]), values.get(n)) for n, c in self._columns.items()}
        for name in self._differences:
            column: Any = self._columns[name]
            cells[name] = column.cells(cells[column.first], np.asarray(codes[name], dtype=np.int64), rng)
        rows = range(start, start + len(next(iter(codes.values()))))
        for name in self._order:
            cells[name] = self._made[name].made(cells, rows, rng)
        return cells

    def check_there(self) -> None:
        """Raise ``ImportError`` or ``ValueError`` where a column cannot be made here, such as for a missing package."""
        for column in self._made.values():
            if isinstance(column, Fake):
                column.check_there()


def _second(name: str, first: str, columns: Mapping[str, Column], whole: Mapping[str, Column]) -> Column:
    """Return the column of dates or numbers that a difference is decoded to."""
    column, base = columns[name], line_of(whole.get(first))
    if first not in whole:
        lost = f"no such column is read{nearest(first, columns)}"
        raise ValueError(f"column {name!r} is the difference from {first!r}, and {lost}")
    if base is None:
        message = f"column {name!r} is a difference from {first!r}"
        raise ValueError(f"{message}, which needs numbers or dates")
    assert isinstance(column, Difference)
    try:
        return column.second(base)
    except ValueError as error:
        raise ValueError(f"column {name!r}: {error}") from None


SchemaLike: TypeAlias = "Schema | OpenSchema | Domain | Mapping[str, Any] | str | os.PathLike[str]"
"""Types accepted as a schema by `as_schema` and every argument `schema`."""

_MAX_LABELS = 10_000  # labels of a column that are made at once
_BIN = re.compile(r"[\[0-9-]")  # how the label of a bin begins, and that of nulls that may be one


class Schema(Declaration):
    """Public declaration of a table: how the values of each column become codes, and codes values again.

    Nothing of it may come from the records: it is not protected.

    Parameters
    ----------
    columns : mapping of str to Column, int or sequence
        A declaration for each column: `Integer`, `Real`, `Boolean`, `Date`, `Categorical` or `Codes` of `pypgm.data`;
        `Difference` from another one; or, never read and made when records are decoded, `Derived`, `Id` or `Fake`. A
        size stands for `Codes`, a list of labels for `Categorical`. Their order is that of the attributes. Open
        declarations need an `OpenSchema`.
    drop : sequence of str
        Columns of the table that are left out, such as names and numbers of persons.
    rules : sequence of Rule, Comparison, Blank, OneOf or str
        Combinations of values that no record can have: a table that has one is refused, and `pypgm synth` makes none. A
        text such as ``start <= end`` stands for a `Comparison`.
    records_per_person : int, optional
        The most records that one person has: every private release of the records takes it from here, and refuses
        another. If it is left out, any one record is protected, and a release may be given another number.
    person : Person or mapping, optional
        Columns that name the person of a record, and the number of records kept for each: every private release
        keeps no more, and `records_per_person` follows from it.
    weight : Weight or mapping, optional
        Column of the weight of a record, and the most that it counts: every private release is of the weighted
        population, and protects any one record of that weight; `records_per_person` is that many equal records.
    warned : sequence of str, or mapping of str to str
        Columns of a draft that have their warning still.
    warning : str
        Warning of a draft about the whole table, if it is left.
    proposals : mapping of str to mapping, optional
        Rules and declarations of a draft that would answer its warnings, by column and warning. They are not applied,
        and in files that `save` writes.

    Attributes
    ----------
    columns : mapping of str to Column
        Columns that are read.
    domain : Domain
        Names, sizes and labels of their codes.
    notes : mapping of str to str
        Warnings of a draft about columns, dropped ones included, in whole sentences. Nothing protects it: it is in
        files that `save` writes, and in no release.

    Raises
    ------
    ValueError
        If there are no columns, or one is dropped too.
    TypeError
        If a declaration is of another type, or of a column that is open.

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

    __slots__ = ("_relations", "columns", "domain")

    def _complete(self) -> None:
        if self.open:
            raise TypeError(f"columns {_names(self.open)} are open: pypgm.OpenSchema takes open columns")
        self.columns = self._columns_read()
        labels = {n: column_labels for n, c in self.columns.items() if (column_labels := _labels_of(c)) is not None}
        self.domain = Domain(tuple(self.columns), [c.size for c in self.columns.values()], labels)
        for rule in self.rules:
            rule.mask(self.columns)
        check_together(self.rules)
        self._relations = Relations(self.columns, self.made, self.rules)

    def _columns_read(self) -> dict[str, Column]:
        """Return the columns that are read; the attribute of a rule `one_of` stands where its first column does."""
        columns: dict[str, Column] = {}
        blocks = blocks_of(self.one_of)
        for name, column in self.declared.items():
            member = self.made.get(name)
            if isinstance(member, Member):
                columns.setdefault(member.block, blocks[member.block])
            elif isinstance(column, Column):
                columns[name] = column
        return columns

    @property
    def reading(self) -> Mapping[str, Readable]:
        """Encoders of the columns that are read, including those of the person and the weight of each record.

        `combined` takes the codes that they give.
        """
        keys: dict[str, Readable] = {} if self.person is None else {**self.person.reading}
        keys |= {} if self.weight is None else self.weight.reading
        return {**keys, **self._relations.reading}

    @property
    def written(self) -> Mapping[str, Column]:
        """Columns of the values in a table: the dates or numbers of a difference, the results of a derived column."""
        return self._relations.written

    @property
    def provisional(self) -> Schema:
        """The schema itself, which has no open columns."""
        return self

    def extended(
        self,
        columns: Mapping[str, Column],
        records_per_person: int | None,
        rules: Iterable[AnyRule | OneOf] = (),
        source: Schema | None = None,
    ) -> Schema:
        """Return the schema with further columns and rules, for another number of records per person.

        If they come from another schema, its warnings about them, or about the whole table, come along.
        """
        drop, both = [name for name in self.drop if name not in columns], (*self.every_rule, *rules)
        others = () if source is None else source.warned
        # A block of another schema's rule is here one column, whose values are the names of that schema's columns.
        plain = {n: Categorical(c.values) if isinstance(c, Block) else c for n, c in columns.items()}
        known = {**self.declared, **plain}
        warned = (*self.warned, *(name for name in columns if name in others))
        warning = self.whole_warning or ("" if source is None else source.whole_warning)
        k = records_per_person
        return Schema(known, drop=drop, rules=both, records_per_person=k, warned=warned, warning=warning)

    def of_records(self) -> Schema:
        """Return the schema of single records, whoever they are of: columns of persons and weights are dropped."""
        drop = (*self.drop, *(name for name in self.unit_columns if name not in self.unread))
        k = self.stated_records_per_person if self.weight is None else None
        warned, warning = self.warned, self.whole_warning
        every = self.every_rule
        return Schema(self.declared, drop=drop, rules=every, records_per_person=k, warned=warned, warning=warning)

    @property
    def ordinal(self) -> tuple[str, ...]:
        """Columns whose values are in an order that means something."""
        return tuple(name for name, column in self.columns.items() if column.is_ordinal)

    def encode(self, frame: Frame, *, ignore_extra: bool = False) -> Dataset:
        """Return the records of raw columns as codes.

        Parameters
        ----------
        frame : data frame, or mapping of str to sequence or ndarray of shape (n_records,)
            Texts, numbers, dates; a column for each column of the schema. A frame is a frame of pandas, polars or
            pyarrow, or any other object with the Arrow C stream interface, and needs the extra ``[frames]``.
        ignore_extra : bool
            Leave out columns that the schema does not have, instead of refusing them. Columns of `drop` are always left
            out.

        Raises
        ------
        ValueError
            With all faults: missing or unknown columns, and for each column the first row whose value does not
            fit. The error never shows the value.

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
        """Return the records of columns of codes, keys of persons and weights, as `combined` gives them."""
        persons = None if self.person is None else self.person.keys(codes)
        weights = None if self.weight is None else codes[self.weight.column]
        columns = {name: codes[name] for name in self.columns}
        return Dataset(columns, self.domain, weights, schema=self, persons=persons)

    def decode(self, data: Dataset, rng: np.random.Generator | int | None = None) -> dict[str, NDArray[Any]]:
        """Return records as columns of values, drawn within bins as each column declares, and such that rules hold.

        Columns that are made are made of these.

        Parameters
        ----------
        data : Dataset
            Over the domain of the schema.
        rng : numpy.random.Generator or int, optional
            Source of the values within bins.

        Raises
        ------
        ValueError
            If the records are over another domain.
        """
        self.check_domain(data.domain)
        return {name: cells.decoded() for name, cells in self.cells(data.columns, as_generator(rng)).items()}

    def cells(
        self,
        codes: Mapping[str, NDArray[Any]],
        rng: np.random.Generator,
        start: int = 0,
        scattered: np.random.Generator | None = None,
    ) -> dict[str, Cells]:
        """Return the cells of all columns for some records, numbered from a first row, in the order of the schema.

        Values are drawn within bins such that rules hold, and derived columns are made of them. With a source of such
        draws, each bin has a drawn distribution of its values.
        """
        relations = self._relations if scattered is None else self._relations.scattered(scattered)
        all_cells = relations.cells(codes, rng, start)
        return {name: all_cells[name] for name in self.declared}

    def example(self, rng: np.random.Generator | int | None = None) -> dict[str, Cells]:
        """Return the cells of all columns for one example record."""
        return self.cells({name: np.zeros(1, dtype=np.int64) for name in self.columns}, as_generator(rng))

    def combined(
        self,
        codes: Mapping[str, NDArray[Any]],
        table: str = "the table",
        first_row: int = 0,
        begin: str = "the first is 0",
    ) -> dict[str, NDArray[Any]]:
        """Return the codes of columns, given those that `reading` gave; ``ValueError`` where a difference misfits."""
        return self._relations.combined(codes, table, first_row, begin)

    def needed(self, names: Sequence[str]) -> list[str]:
        """Return the columns of a table that must be read for the codes of some attributes."""
        return self._relations.needed(names)

    def attributes(self, names: Sequence[str]) -> list[str]:
        """Return some attributes, and those that they are differences from."""
        return self._relations.attributes(names)

    def check_there(self) -> None:
        """Raise an error if columns cannot be made here, such as for lack of a package."""
        self._relations.check_there()

    def check_domain(self, domain: Domain) -> None:
        """Raise ``ValueError`` if a domain is not that of the schema, by its labels or those of earlier versions."""
        if domain != self.domain and domain != self._earlier_domain():
            raise ValueError(f"the schema is over {self.domain!r}, the records are over {domain!r}")

    def _earlier_domain(self) -> Domain:
        """Return the domain with the labels that releases of earlier versions have."""
        labels = dict(self.domain.labels)
        for name, column in self.columns.items():
            if column.earlier_labels != column.value_labels:
                labels[name] = (*(column.earlier_labels or ()), *labels[name][column.n_values :])
        return Domain(self.domain.attributes, self.domain.shape, labels)

    def check_rules(self, table: Counted, name: str = "the table", first_row: int = 0) -> None:
        """Raise ``ValueError`` if records have a combination that a rule forbids."""
        problems = broken_rules(self.rules, self.columns, table, first_row) if self.rules else []
        refuse(name, problems)

    @classmethod
    def from_dict(
        cls, fields: object, name: str = "the schema", folder: str | os.PathLike[str] | None = None
    ) -> Schema | OpenSchema:
        """Return the schema of a parsed file: an `OpenSchema` if one of its columns is open.

        Parameters
        ----------
        fields : mapping
            ``{"columns": {…}, "drop": […], "records_per_person": 1}``, or the columns alone.
        name : str
            Name of the schema in errors.
        folder : str or path-like, optional
            Folder of the mapping files that the schema names; without a folder, a schema that names such a file is
            refused.

        Raises
        ------
        ValueError
            If anything is wrong; the message lists every fault.

        Examples
        --------
        >>> Schema.from_dict({"age": {"kind": "integer", "low": 0, "high": 99, "width": 10}, "sex": ["F", "M"]})
        Schema(age: integer 10, sex: categorical 2)
        """
        columns, rest, problems = declarations(fields if folder is None else with_mappings(fields, folder))
        refuse(name, problems)
        try:
            is_open = any(isinstance(column, OpenColumn) for column in columns.values())
            return (OpenSchema if is_open else cls)(columns, **rest)
        except (TypeError, ValueError) as error:
            raise problems_error(name, [str(error)]) from None

    @classmethod
    def from_types(
        cls,
        source: Frame,
        bounds: Mapping[str, Sequence[Any]] | None = None,
        *,
        null: bool | Sequence[str] = True,
        outside: Literal["clip", "refuse"] = "clip",
        drop: Sequence[str] = (),
        ids: Sequence[str] = (),
        ordinal: Sequence[str] = (),
        person: Person | Mapping[str, Any] | None = None,
        weight: Weight | Mapping[str, Any] | None = None,
        table: str | None = None,
    ) -> Schema | OpenSchema:
        """Return a schema from the names and types of a table, without reading a record.

        Booleans, and the values of a polars ``Enum``, are known by their type. Values of texts are found privately
        unless `bounds` lists them, and so are categories of all other types, which may have been made of the records,
        but for ordered ones of pandas in an order that is not that of numbers or letters.

        Parameters
        ----------
        source : data frame, mapping of str to sequence, path, DuckDB relation or ibis.Table
            A path is one of a CSV, Parquet or DuckDB file. Columns of a CSV file have only names.
        bounds : mapping of str to sequence
            Public knowledge: the lowest and the highest value of each column of numbers or dates; for texts and
            categories, if it is known, a list of all, as more than two numbers are. If there is no type, or that of
            texts, it follows from the bounds: whole numbers, numbers, dates as ``2024-01-31``, or a list of texts.
            Booleans need none.
        null : bool or sequence of str
            Columns that are publicly known to have missing values; missing values in any other are refused.
            True is each whose type lets it: synthetic records then may have a few of them, from noise, in columns that
            have none in the table.
        outside : {"clip", "refuse"}
            Treatment of numbers and dates beyond the bounds: they move to the nearest bound, or the table is refused.
        drop : sequence of str
            Columns that are left out.
        ids : sequence of str
            Columns of numbers of records, which are never read: each synthetic record has a new one.
        ordinal : sequence of str
            Columns whose values in `bounds`, or by their type, are in an order that means something.
        person : Person or mapping, optional
            Columns that name the person of a record, and how many records are kept of each.
        weight : Weight or mapping, optional
            Column of the weight of a record, and the most that it counts.
        table : str, optional
            Table of a DuckDB file.

        Raises
        ------
        ValueError
            If bounds are missing: the message has a draft of the schema, to be completed. Or if an argument names a
            column that the table has not, or one that another argument excludes, or a type has no kind of column, as
            that of spans of time.
        TypeError
            If it is not a table, or bounds are no list.

        Examples
        --------
        >>> import pandas  # doctest: +SKIP
        >>> frame = pandas.DataFrame({"age": [31, 7], "smokes": [True, False]})  # doctest: +SKIP
        >>> Schema.from_types(frame, bounds={"age": (0, 120)})  # doctest: +SKIP
        Schema(age: integer 41, smokes: boolean 2)
        >>> people = {"age": [31, 7], "job": ["cook", "clerk"]}
        >>> jobs = ["cook", "clerk", "nurse"]
        >>> Schema.from_types(people, {"age": (0, 120), "job": jobs}, null=["age"])
        Schema(age: integer 42, job: categorical 3)
        """
        from pypgm.data.draft.typed import Stated, draft_text, typed_draft  # few calls draft anything

        stated = Stated(outside, drop, ids, ordinal, person, weight)
        draft, missing = typed_draft(open_source(source, table), bounds or {}, null=null, stated=stated)
        if missing:
            names = listed([repr(name) for name in missing])
            needed = f"bounds of {names}, the lowest and the highest value or a list of all, which types do not tell"
            others = "drop= leaves columns out, and ids= has those of numbers of records"
            draft_of = f"Their draft, to be completed:\n{draft_text(draft)}"
            raise ValueError(f"a schema from types needs {needed}; {others}. {draft_of}")
        return cls.from_dict(draft)

    @classmethod
    @with_options(DialectOptions, DIALECT_DEFAULTS)
    def draft(
        cls,
        source: Frame,
        *,
        table: str | None = None,
        **dialect: Unpack[DialectOptions],
    ) -> Schema | OpenSchema:
        """Return a first draft of the schema of a table, made from its records. It is NOT private.

        Facts taken from the records are in `warned`, and `notes` say what to do about them: replace them by what is
        publicly known, in the file that `save` writes, and delete the warning. Releases made with it, and a
        `DraftWarning`, say which warnings are left. A column that looks like the key of persons is not declared, and
        offered as `person`.

        Parameters
        ----------
        source : data frame, mapping of str to sequence, path, DuckDB relation or ibis.Table
        table, **dialect
            As for `pypgm.synthesize`. Marks of numbers are found, column by column, where none are given.

        Raises
        ------
        OSError
            If a file cannot be read.
        ValueError
            If it is not a table with names, or there is no column to declare.

        Examples
        --------
        >>> people = {"id": [f"P{i}" for i in range(99)], "age": [18 + i % 60 for i in range(99)]}
        >>> draft = Schema.draft(people)
        >>> draft, draft.drop, draft.warned
        (Schema(age: integer 60), ('id',), ('age',))
        >>> draft.notes["age"]
        'low and high were read from the records: replace them by publicly known limits'
        """
        from pypgm.data.draft.draft import draft_schema  # few calls draft anything
        from pypgm.data.draft.warnings import notes_of

        fields = draft_schema(source, table, **dialect)
        for about_header in (note for note in notes_of(fields.get("warning")) if note.code.startswith("header")):
            warnings.warn(about_header.sentence, DraftWarning, stacklevel=2)
        return cls.from_dict(fields)

    @classmethod
    def of(cls, domain: Domain) -> Schema:
        """Return the schema of a domain: labels are values, sizes are codes."""
        return cls(columns_of(domain))


class OpenSchema(Declaration):
    """A schema with open columns, whose values or bins have still to be found privately.

    `pypgm.synthesize` and every mechanism find them for a part of their budget; `pypgm.privacy.settle` does no more.

    Parameters
    ----------
    columns : mapping of str to Column, OpenSet, QuantileBins, int or sequence
        See `Schema`; at least one is an `OpenSet` or has `QuantileBins`.
    drop, rules, records_per_person, person, weight, warned, warning, proposals
        As for `Schema`. No rule names a value of an open column.

    Attributes
    ----------
    open : mapping of str to OpenSet or QuantileBins
        The columns that are open.
    provisional : Schema
        The schema before anything is found: an open set has "other" alone, and quantiles are one bin.

    Raises
    ------
    ValueError
        As in `Schema`, or if no column is open, or the open ones cost more than the budget.

    Examples
    --------
    >>> from pypgm.data import OpenSet
    >>> schema = OpenSchema({"employer": OpenSet(share="0.05"), "sex": ["F", "M"]})
    >>> schema, schema.provisional.domain
    (OpenSchema(employer: open, sex: categorical 2), Domain(employer: 1, sex: 2))
    """

    __slots__ = ("provisional",)

    def _complete(self) -> None:
        if not self.open:
            raise ValueError("an OpenSchema needs a column that is open: pypgm.Schema takes these")
        if self.open_share > 1:
            raise ValueError("the shares of open columns come to more than the budget")
        known = {name: column for name, column in self.declared.items() if isinstance(column, Column)}
        for rule in self.rules:  # rules on blanks hold for open columns, too, and no other rules
            if not isinstance(rule, Blank) or (rule.names_values and rule.columns[0] not in known):
                rule.mask(known)
        self.provisional = self.closed({name: column.provisional for name, column in self.open.items()})

    def assumed(self, n_values: int) -> Schema:
        """Return the schema as if each open set had `n_values` values, with bins of even width.

        Examples
        --------
        >>> from pypgm.data import OpenSet
        >>> OpenSchema({"employer": OpenSet(share="0.05")}).assumed(30).domain.shape
        (31,)
        """
        return self.closed({name: column.assumed(n_values) for name, column in self.open.items()})

    def closed(self, columns: Mapping[str, Column]) -> Schema:
        """Return the schema with each open column replaced by the one that was settled."""
        all_columns, k = {**self.declared, **columns}, self.stated_records_per_person
        of_records: dict[str, Any] = {"drop": self.drop, "rules": self.every_rule, "warned": self.warned}
        whose: dict[str, Any] = {"records_per_person": k, "person": self.person, "weight": self.weight}
        return Schema(all_columns, **of_records, **whose, warning=self.warning)


def read_schema(path: str | os.PathLike[str]) -> Schema | OpenSchema:
    """Read a schema from a JSON or YAML file: an `OpenSchema` if one of its columns is open.

    A schema is public: write it from public knowledge of the columns, never from the records. A file of `read_domain`
    is one too.

    Parameters
    ----------
    path : str or path-like
        YAML where the name ends in ``.yaml`` or ``.yml``, which needs the extra ``[yaml]``. For example ``{"columns":
        {"age": {"kind": "integer", "low": 0, "high": 99, "width": 10}, "sex": ["F", "M"]}, "drop": ["id"]}``. Each
        kind takes the arguments of its class: "categorical", "boolean", "codes", "integer", "real", "date". A
        "comment" or a "warning" may stand anywhere; a release says of a warning that it is there still.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If anything in it is wrong; the message lists every fault.
    ImportError
        If the file is YAML, and PyYAML is not installed.

    Examples
    --------
    >>> read_schema("schema.json")  # doctest: +SKIP
    Schema(age: integer 10, sex: categorical 2)
    """
    return Schema.from_dict(read_object(path), os.fspath(path), Path(path).parent)


def _labels_of(column: Column) -> tuple[Label, ...] | LaterLabels | None:
    """Return the labels of a column's codes; those of many bins are made when they are read."""
    if (
        isinstance(column, Binned)
        and column.size > _MAX_LABELS
        and not any(_BIN.match(kind.label) for kind in column.null_kinds)
    ):
        return LaterLabels(column, column.size)
    return column.labels


def as_any_schema(schema: SchemaLike) -> Schema | OpenSchema:
    """Return a schema that may have open columns: given as a schema, a file, the content of one, or a domain.

    Raises
    ------
    TypeError
        If it is none of these four.
    """
    if isinstance(schema, Schema | OpenSchema):
        return schema
    if isinstance(schema, Domain):
        return Schema.of(schema)
    if isinstance(schema, str | os.PathLike):
        return read_schema(schema)
    if isinstance(schema, Mapping):
        return Schema.from_dict(schema, folder=".")
    raise TypeError(f"schema needs a Schema, a Domain, a mapping or a path, got {type(schema).__name__}")


def as_schema(schema: SchemaLike) -> Schema:
    """Return a schema without open columns: given as a schema, a file, the content of one, or a domain.

    Raises
    ------
    TypeError
        If it is none of these four.
    ValueError
        If something of it has to be found first.

    Examples
    --------
    >>> as_schema({"age": 85, "sex": ["F", "M"]})
    Schema(age: codes 85, sex: categorical 2)
    """
    known = as_any_schema(schema)
    if isinstance(known, Schema):
        return known
    raise ValueError(
        f"open columns {_names(known.open)} have to be found privately first: "
        "pypgm.privacy.settle does it, and pypgm synth"
    )


def _names(columns: Iterable[str]) -> str:
    return listed([repr(name) for name in columns])
