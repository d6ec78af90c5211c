"""Records: columns of codes, tables of files, and how they are counted."""

from __future__ import annotations

from pypgm.data.columns.categorical import Categorical
from pypgm.data.columns.closed import Boolean, Codes
from pypgm.data.columns.codebook import read_domain
from pypgm.data.columns.column import Column
from pypgm.data.columns.dates import Date
from pypgm.data.columns.derived import Derived
from pypgm.data.columns.difference import Difference
from pypgm.data.columns.made import Fake, Id
from pypgm.data.columns.numbers import Integer, Real
from pypgm.data.columns.open_columns import OpenSet, QuantileBins
from pypgm.data.dataset import Dataset
from pypgm.data.schema.one_of import OneOf
from pypgm.data.schema.person import Person
from pypgm.data.schema.rule_comparison import Comparison
from pypgm.data.schema.rules import Blank, Rule
from pypgm.data.schema.schema import OpenSchema, Schema, read_schema
from pypgm.data.schema.schema_file import JSON_SCHEMA
from pypgm.data.schema.weight import Weight
from pypgm.data.sources.counted_table import CountedTable, checked_counts
from pypgm.data.sources.engine import EngineTable
from pypgm.data.sources.frames import as_frame
from pypgm.data.sources.streamed import StreamedTable, scan
from pypgm.data.sources.table import read_table, write_table

__all__ = [
    "JSON_SCHEMA",
    "Blank",
    "Boolean",
    "Categorical",
    "Codes",
    "Column",
    "Comparison",
    "CountedTable",
    "Dataset",
    "Date",
    "Derived",
    "Difference",
    "EngineTable",
    "Fake",
    "Id",
    "Integer",
    "OneOf",
    "OpenSchema",
    "OpenSet",
    "Person",
    "QuantileBins",
    "Real",
    "Rule",
    "Schema",
    "StreamedTable",
    "Weight",
    "as_frame",
    "checked_counts",
    "read_domain",
    "read_schema",
    "read_table",
    "scan",
    "write_table",
]
