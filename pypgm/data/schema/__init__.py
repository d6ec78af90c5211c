"""Schemas: what is public about a table, its file, its rules, its draft."""
