"""Defects by subject; `MUTANTS` has them all."""

from __future__ import annotations

from mutants import accounting, sensitivity

MUTANTS = [*accounting.MUTANTS, *sensitivity.MUTANTS]
