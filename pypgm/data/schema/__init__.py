"""Schemas: public knowledge of a table, its file, its rules, its draft."""
