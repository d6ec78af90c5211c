"""Records: columns of codes, tables of files, and how they are counted."""

from __future__ import annotations

from pypgm.data.dataset import Dataset
from pypgm.data.schema import read_domain
from pypgm.data.table import read_table, write_table

__all__ = ["Dataset", "read_domain", "read_table", "write_table"]
