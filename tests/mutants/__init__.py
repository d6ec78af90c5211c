"""Defects by subject, a table in each module: by name their place, check, the check's word for them, and change."""

from __future__ import annotations

import importlib
import pkgutil

from mutate import Mutant

_TABLES = [importlib.import_module(f"mutants.{module.name}") for module in pkgutil.iter_modules(__path__)]

MUTANTS = [Mutant(name, *row) for table in _TABLES for name, row in table.MUTANTS.items()]
