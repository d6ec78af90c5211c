"""Records: columns of codes, tables of files, and how they are counted."""

from __future__ import annotations

from pypgm.data.categorical import Categorical
from pypgm.data.closed import Boolean, Codes
from pypgm.data.codebook import read_domain
from pypgm.data.columns import Column
from pypgm.data.dataset import Dataset
from pypgm.data.dates import Date
from pypgm.data.derived import Derived
from pypgm.data.difference import Difference
from pypgm.data.engine import EngineTable
from pypgm.data.frames import as_frame
from pypgm.data.made import Fake, Id
from pypgm.data.numbers import Integer, Real
from pypgm.data.open_columns import OpenSet, QuantileBins
from pypgm.data.person import Person
from pypgm.data.rule_comparison import Comparison
from pypgm.data.rules import Blank, Rule
from pypgm.data.schema import OpenSchema, Schema, read_schema
from pypgm.data.schema_file import JSON_SCHEMA
from pypgm.data.streamed import StreamedTable, scan
from pypgm.data.table import read_table, write_table

__all__ = [
    "JSON_SCHEMA",
    "Blank",
    "Boolean",
    "Categorical",
    "Codes",
    "Column",
    "Comparison",
    "Dataset",
    "Date",
    "Derived",
    "Difference",
    "EngineTable",
    "Fake",
    "Id",
    "Integer",
    "OpenSchema",
    "OpenSet",
    "Person",
    "QuantileBins",
    "Real",
    "Rule",
    "Schema",
    "StreamedTable",
    "as_frame",
    "read_domain",
    "read_schema",
    "read_table",
    "scan",
    "write_table",
]
