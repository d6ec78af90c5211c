"""Drafts of schemas of tables of any kind."""

from __future__ import annotations

from pypgm.data.schema import draft
from pypgm.data.sources.dialect import Dialect
from pypgm.data.sources.source import open_source


def draft_schema(source, table=None, **dialect):
    """Return the draft of a table as it is handed over."""
    return draft.draft_schema(open_source(source, table, Dialect(**dialect)))
