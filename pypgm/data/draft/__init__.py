"""Drafts of schemas, from the records of a table or from its types alone."""

from pypgm.data.draft.draft import draft_schema as draft_schema
