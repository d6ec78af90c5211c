"""Defects by subject; `MUTANTS` has them all."""

from __future__ import annotations

from mutants import accounting, queries, relations, sensitivity

MUTANTS = [*accounting.MUTANTS, *queries.MUTANTS, *relations.MUTANTS, *sensitivity.MUTANTS]
